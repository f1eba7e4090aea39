"""The vertices of a graph: ids in the caller's types to numbers and back, and their attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NoReturn, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cugraph_ws.arguments import listed, shown
from cugraph_ws.errors import InputError
from cugraph_ws.frames.base import (
    Column,
    Frame,
    Masked,
    VertexNumbers,
    is_frame,
    on_host,
    open_frame,
    open_values,
)
from cugraph_ws.frames.ids import IdType, conform, read_ids
from cugraph_ws.frames.values import cast_numbers, is_one_number, number_for_all, numbered_values
from cugraph_ws.graph.owners import Owners
from cugraph_ws.runtime.arrays import as_host, count_true
from cugraph_ws.runtime.bins import bin_counts
from cugraph_ws.suggestions import near_id

__all__ = ["Vertices", "id_columns", "value_column"]

PAIR = ("first", "second")  # the columns of pairs of vertices
COMPARED_IDS = 1 << 14  # with more, an unknown one is compared with none
KEPT_IDS = 1 << 12  # vertices of which result columns are kept: with more, other work takes longer


class Vertices:
    """All vertices of a graph.

    Parameters
    ----------
    sources : sequence of str
        Names of the edge frame's source columns.
    types : sequence of IdType
        One for each column of the id.
    numbering : Numbering or DeviceNumbering

    Attributes
    ----------
    groups : int
        How many parts of an id, the first ones, name the group that a vertex is in: 0 for one graph alone.  A
        result has these once, before all other columns.
    has_all_ids : bool
        Whether the ids of all vertices are here, so that an unknown one can be compared with them.
    """

    on_device: ClassVar[bool] = False
    groups = 0
    has_all_ids = True
    _everyone: dict[str, Any] | None = None  # result columns of all vertices

    def __init__(self, sources: Sequence[str], types: Sequence[IdType], numbering: Any) -> None:
        self.sources = list(sources)
        self.types = list(types)
        self.numbering = numbering
        self._attributes: dict[str, Column | InputError] = {}
        self._attribute_rows: Any = np.empty(0, np.int64)

    @property
    def size(self) -> int:
        """Number of vertices."""
        return int(self.numbering.size)

    @property
    def names(self) -> list[str]:
        """Names of a result's id columns."""
        return ["vertex"] if len(self.types) == 1 else self.sources

    def number(self, value: Any, argument: str) -> int:
        """Return the number of one id."""
        return int(self.numbers([value], argument)[0])

    def numbers(self, values: Any, argument: str, *, on_device: bool = False) -> Any:
        """Return the numbers of ids in a frame, a Series, an array or a list."""
        return self._place(self.find(values, argument), on_device)

    def find(self, values: Any, argument: str) -> Any:
        """Return the numbers of ids where they were looked up: on the device, or the host."""
        if is_frame(values):
            frame = open_frame(values, argument, on_device=self.on_device)
            names = id_columns(frame, self.sources)
            return self._encode([frame.column(name, argument) for name in names], argument)
        if self.groups:
            return self._in_each_group(values, argument)
        if len(self.types) == 1:
            column = open_values(values, argument, on_device=self.on_device)
            return self._encode([column], argument)
        try:
            rows = list(values)
        except TypeError:
            raise InputError(
                f"{argument}={shown(values)}: give a list of ids, each a tuple of ({listed(self.sources)})"
            ) from None
        for row in rows:
            if not isinstance(row, (tuple, list)) or len(row) != len(self.types):
                raise InputError(
                    f"{argument}: {shown(row)} is not an id; give a tuple of ({listed(self.sources)})"
                )
        parts = zip(*rows, strict=True) if rows else [[] for _ in self.types]
        return self._encode([open_values(list(part), argument) for part in parts], argument)

    def _in_each_group(self, values: Any, argument: str) -> Any:
        """Return the numbers of ids without a group, in every group."""
        remedy = f"give a frame with the columns {listed(self.sources)}"
        if len(self.types) != self.groups + 1:
            raise InputError(f"{argument}: ids have several columns in each group; {remedy}")
        column = self._here(open_values(values, argument, on_device=self.on_device))
        if not len(column):
            return self._xp.empty(0, np.int64)
        tails = self.numbering.last.encode([conform(read_ids(column), self.types[-1])])
        numbers = self.numbering.in_each_head(tails)
        unknown = numbers < 0
        if count := count_true(unknown):
            group, row = divmod(self._scalar(unknown.argmax()), len(column))
            first = self.numbering.firsts()[group]
            of = listed(self._plain(self._scalar(first))[: self.groups])
            more = f", and {count - 1} more are missing" if count > 1 else ""
            raise InputError(
                f"{argument}: {self._shown([column], row)} is not a vertex of the group {of}{more}; {remedy}"
            )
        return numbers

    def pairs(self, data: Any, argument: str) -> tuple[Any, Any]:
        """Return the numbers of pairs of vertices, in the columns `first` and `second` of a frame.

        Parameters
        ----------
        data : frame
            Ids of several columns are in `first_a`, `first_b`, `second_a` and so on.
        argument : str
            The caller's name for it, for errors.

        Returns
        -------
        firsts, seconds : array of int64
            Where they were looked up: on the device, or the host.

        Raises
        ------
        InputError
            If it is not such a frame, or an id is unknown.
        """
        if not is_frame(data):
            raise InputError(
                f"{argument}: a frame with the columns {', '.join(self._pair_names())} is needed, not "
                f"{type(data).__name__}; pandas.DataFrame(pairs, columns={self._pair_names()}) makes one "
                "of a list of pairs"
            )
        frame = open_frame(data, argument, on_device=self.on_device)
        firsts, seconds = (
            self._encode([frame.column(name, argument) for name in self.names_of(end)], argument)
            for end in PAIR
        )
        return firsts, seconds

    def _pair_names(self) -> list[str]:
        """Return the names of a frame's columns that hold pairs of vertices."""
        return [name for end in PAIR for name in self.names_of(end)]

    def columns(self, name: str | None, numbers: VertexNumbers) -> dict[str, Any]:
        """Return vertex numbers as result columns of ids.

        Parameters
        ----------
        name : str or None
            Name of the result column (with several id columns, the prefix of their names); None for
            the vertices themselves.
        numbers : VertexNumbers

        Returns
        -------
        dict of str to Ids, or to Series of the device
        """
        outputs = self._outputs(numbers)
        if name is None:
            return dict(zip(self.names, outputs, strict=True))
        return dict(zip(self.names_of(name), outputs[self.groups :], strict=True))

    def group_columns(self, numbers: VertexNumbers) -> dict[str, Any]:
        """Return the groups that vertices are in as result columns."""
        names = self.sources[: self.groups]
        return dict(zip(names, self._outputs(numbers)[: self.groups], strict=True))

    def names_of(self, name: str) -> list[str]:
        """Return the names of the result columns of vertices, one for each part of an id without its group."""
        parts = self.sources[self.groups :]
        return [name] if len(parts) == 1 else [f"{name}_{part}" for part in parts]

    def check_outputs(self, outputs: Mapping[str, bool]) -> None:
        """Refuse result columns that would overwrite the ids, or one another.

        Parameters
        ----------
        outputs : mapping of str to bool
            For each column besides the ids, whether it holds vertices.

        Raises
        ------
        InputError
            Names the column and the remedy.
        """
        field_of = dict.fromkeys(self.names, "")
        for name, holds_vertices in outputs.items():
            for column in self.names_of(name) if holds_vertices else [name]:
                if column in field_of:
                    self._refuse_output(column, field_of[column])
                field_of[column] = name

    def _refuse_output(self, column: str, field: str) -> NoReturn:
        """Raise InputError for a result column that has the name of the ids or of another column."""
        if field:
            raise InputError(
                f"source={shown(self.sources)}: two columns of the result would be named {shown(column)}; "
                f"rename the columns of the ids, or the program's field {shown(field)}"
            )
        if len(self.types) == 1:
            raise InputError(
                f"the program's field {shown(column)} has the name of the result's column of ids; rename it"
            )
        raise InputError(
            f"source: the id column {shown(column)} has the name of a column of the result, which would "
            f"overwrite it; rename it in the frame of edges (and of vertices) before the graph is made"
        )

    def own_columns(self, owners: Owners) -> dict[str, Any]:
        """Return the ids of the vertices of a rank's range as result columns.

        Parameters
        ----------
        owners : Owners
        """
        low, high = owners.cuts[owners.rank : owners.rank + 2].tolist()
        return self.columns(None, VertexNumbers(self._xp.arange(low, high)))

    def everyone(self) -> dict[str, Any]:
        """Return the ids of all vertices as result columns, kept if they are few."""
        if self._everyone is not None:
            return dict(self._everyone)
        columns = self.columns(None, VertexNumbers(self._xp.arange(self.size)))
        if self.size <= KEPT_IDS and not self.on_device:
            self._everyone = columns
        return columns

    def _outputs(self, numbers: VertexNumbers) -> list[Any]:
        """Return the parts of ids as result columns."""
        parts = self.numbering.decode(np.asarray(on_host(numbers.numbers)))
        return [
            kind.output(part, nullable=numbers.nullable)
            for kind, part in zip(self.types, parts, strict=True)
        ]

    def describe(self, number: int) -> str:
        """Return the id of a vertex, for errors."""
        values = self._plain(number)
        return repr(values[0] if len(values) == 1 else tuple(values))

    def describe_own(self, place: int) -> str:
        """Return the id of the vertex at a position, for errors; not collective."""
        return self.describe(place)

    def _plain(self, number: int) -> list[Any]:
        """Return the parts of an id as Python objects."""
        return [part[0].as_py() for part in self._plain_parts(self._xp.asarray([number]))]

    def _plain_parts(self, numbers: Any) -> list[pa.Array]:
        """Return the ids of vertices on the host, an array for each part, as the caller wrote them."""
        parts = self.numbering.decode(numbers)
        return [kind.plain(part) for kind, part in zip(self.types, parts, strict=True)]

    def keep_attributes(self, frame: Frame, rows: Any) -> None:
        """Copy the attributes of a vertex frame, in which row i is the vertex `rows[i]`.

        A column that cannot be read raises an error only when it is used.
        """
        ids = id_columns(frame, self.sources)
        self._attribute_rows = self._distinct(rows, frame.argument)
        for name in frame.names:
            if name in ids:
                continue
            try:
                column = self._here(frame.column(name, frame.argument))
            except InputError as error:
                self._attributes[name] = error
                continue
            values = column.values
            if hasattr(values, "copy"):  # Arrow's arrays are immutable
                column = replace(column, values=values.copy())
            self._attributes[name] = column

    def attribute_columns(self) -> dict[str, Any]:
        """Return the attributes that could be read as result columns by vertex, null where there is none."""
        places = np.full(self.size, -1)
        places[as_host(self._attribute_rows)] = np.arange(len(self._attribute_rows))
        rows = pa.array(places, mask=places < 0)
        columns: dict[str, Any] = {}
        for name, column in self._attributes.items():
            if isinstance(column, InputError):
                continue
            taken = _in_arrow(on_host(column.values)).take(rows)
            kind = taken.type
            if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
                valid = taken.is_valid().to_numpy(zero_copy_only=False)
                numbers = taken.fill_null(False if pa.types.is_boolean(kind) else 0)
                columns[name] = Masked(numbers.to_numpy(zero_copy_only=False), valid)
            else:
                columns[name] = taken.to_pylist()
        return columns

    def take_attributes(self, origin: Vertices, numbers: Any) -> None:
        """Copy the attributes of some vertices of another graph.

        Parameters
        ----------
        origin : Vertices
        numbers : ndarray of int64
            The number in the other graph of each vertex of this one; ascending.
        """
        rows = as_host(origin._attribute_rows)
        chosen = np.flatnonzero(np.isin(rows, numbers))
        self._attribute_rows = self._xp.asarray(np.searchsorted(numbers, rows[chosen]))
        places = chosen if origin._xp is np else origin._xp.asarray(chosen)
        for name, column in origin._attributes.items():
            if not isinstance(column, InputError):
                column = replace(column, values=column.values.take(places))
            self._attributes[name] = column

    def values(
        self,
        data: Any,
        argument: str,
        dtype: npt.DTypeLike,
        default: Any,
        column: str | None,
        *,
        on_device: bool = False,
    ) -> tuple[Any, Any]:
        """Return the values given for vertices as an array by vertex; see `Graph.vertex_values`."""
        placed = self._placed(data, argument, np.dtype(dtype), column)
        if placed is not None:
            values, has_value = placed
        else:
            has_value = self._xp.zeros(self.size, np.bool_)
            values = self._xp.zeros(self.size, np.dtype(dtype))
            if is_one_number(data):
                values[:] = number_for_all(data, argument, dtype)
                has_value[:] = True
            else:
                rows, source = self._pairs(data, argument, column)
                values[rows] = cast_numbers(self._here(source), dtype)
                has_value[rows] = True
        self._fill(values, has_value, argument, default)
        return self._place(values, on_device), self._place(has_value, on_device)

    def groups_of(self, name: str, argument: str) -> npt.NDArray[np.int64]:
        """Return the index by vertex of an attribute's value among the distinct ones, on the host."""
        rows, column = self._pairs(name, argument, None)
        indices, _ = numbered_values(replace(column, values=on_host(column.values)))
        if self.size > len(rows):
            has_value = np.bincount(as_host(rows), minlength=self.size) > 0
            self._refuse_missing(int(has_value.argmin()), self.size - len(rows), argument)
        groups = np.empty(self.size, np.int64)
        groups[as_host(rows)] = np.asarray(indices)
        return groups

    def _fill(self, values: Any, has_value: Any, argument: str, default: Any) -> None:
        """Give vertices without a value the default, or refuse them."""
        missing = self.size - count_true(has_value)
        if not missing:
            return
        if default is None:
            self._refuse_missing(self._scalar(has_value.argmin()), missing, argument)
        values[~has_value] = default

    def _refuse_missing(self, number: int, missing: int, argument: str) -> NoReturn:
        """Raise InputError for vertices without a value."""
        further = f", nor have {missing - 1} others" if missing > 1 else ""
        raise InputError(
            f"{argument}: vertex {self.describe(number)} has no value{further}; give one for every vertex"
        )

    @property
    def attribute_bytes(self) -> int:
        """Bytes of the attributes kept."""
        columns = [column for column in self._attributes.values() if isinstance(column, Column)]
        return sum(self._bytes(column) for column in columns) + int(self._attribute_rows.nbytes)

    # What differs if the vertices are on the device:

    @property
    def _xp(self) -> Any:
        """The library of arrays that have an entry for every vertex."""
        return np

    def _here(self, column: Column) -> Column:
        """Return a column on the device or host where the vertices are."""
        return column

    def _placed(
        self, data: Any, argument: str, dtype: np.dtype[Any], column: str | None
    ) -> tuple[Any, Any] | None:
        """Return values by vertex, and which vertices have one, if there is a quicker way for such data."""
        return None

    def _place(self, array: Any, on_device: bool) -> Any:
        """Return an array on the device, or on the host."""
        if not on_device:
            return array
        from cugraph_ws.runtime.device import device

        return device().xp.asarray(array)

    def _scalar(self, value: Any) -> int:
        """Read a number that was computed from arrays."""
        return int(value)

    def _bytes(self, column: Column) -> int:
        """Return the memory that a column takes, in bytes."""
        return int(column.values.nbytes)

    def _pairs(self, data: Any, argument: str, column: str | None) -> tuple[Any, Column]:
        """Return vertex numbers without repetitions, and a column of as many values."""
        if isinstance(data, str):
            attribute = self._attributes.get(data)
            if attribute is None:
                self._refuse_name(data, argument, list(self._attributes))
            if isinstance(attribute, InputError):
                raise attribute
            return self._attribute_rows, attribute
        if isinstance(data, Mapping) and not is_frame(data):
            rows = self.find(list(data), argument) if data else self._xp.empty(0, np.int64)
            values = open_values(list(data.values()), argument) if data else _no_values(argument)
            return self._distinct(rows, argument), values
        if not is_frame(data):
            raise InputError(
                f"{argument}: a frame of vertices and values, a dict, a number or the name of a "
                f"vertex attribute is needed, not {type(data).__name__}"
                + ("; its to_dict() is one, if its index has the ids" * hasattr(data, "to_dict"))
                + ("; a dict is {vertex: value}" * isinstance(data, (list, tuple)))
            )
        frame = open_frame(data, argument, on_device=self.on_device)
        ids = id_columns(frame, self.sources)
        rows = self._encode([frame.column(name, argument) for name in ids], argument)
        if column is None:
            column = value_column(frame.names, ids, argument)
        return self._distinct(rows, argument), frame.column(column, argument)

    def _refuse_name(self, name: str, argument: str, have: Sequence[str]) -> NoReturn:
        """Raise InputError for an unknown attribute name."""
        raise InputError(
            f"{argument}={shown(name)}: the graph has no such vertex attribute; it has: "
            f"{listed(have)}; "
            f"give the column in Graph(vertices=...), or values as a frame or a dict"
        )

    def _encode(self, columns: Sequence[Column], argument: str) -> Any:
        """Return the numbers of ids, all of which must be vertices."""
        if any(len(column) == 0 for column in columns):
            return self._xp.empty(0, np.int64)
        columns = [self._here(column) for column in columns]
        parts = [
            conform(read_ids(column), kind)
            for column, kind in zip(columns, self.types, strict=True)
        ]
        numbers = self._look_up(parts)
        unknown = numbers < 0
        count = count_true(unknown)
        if count:
            row = self._scalar(unknown.argmax())
            near = "" if len(columns) > 1 else self._near(columns[0].value(row))
            self._refuse_unknown(self._shown(columns, row), count, argument, near)
        return numbers

    def _near(self, value: Any) -> str:
        """Return which id an unknown text may stand for, as a remedy; "" if none is like it, or there are many."""
        if not isinstance(value, str) or self.size > COMPARED_IDS or not self.has_all_ids:
            return ""
        (ids,) = self._plain_parts(self._xp.arange(self.size))
        return near_id(value, ids.to_pylist())

    def _look_up(self, parts: Sequence[Any]) -> Any:
        """Return the numbers of ids in their own types, -1 if unknown."""
        return self.numbering.encode(parts)

    @staticmethod
    def _shown(columns: Sequence[Column], row: int) -> str:
        """Return an id of the input, as errors show it."""
        value = [column.value(row) for column in columns]
        return shown(value[0] if len(value) == 1 else tuple(value))

    @staticmethod
    def _refuse_unknown(shown: str, count: int, argument: str, near: str = "") -> NoReturn:
        """Raise InputError for ids that are not vertices."""
        more = f", and {count - 1} more" if count > 1 else ""
        raise InputError(
            f"{argument}: {shown} is not a vertex of the graph{more}"
            + (
                near
                or "; give an id of the edges, or list vertices without edges in Graph(vertices=...)"
            )
        )

    def _distinct(self, rows: Any, argument: str) -> Any:
        """Return vertex numbers on the device or host where the vertices are; refuse repeated ones."""
        rows = self._xp.asarray(rows)
        if not len(rows):
            return rows
        counts = bin_counts(rows, int(self._scalar(rows.max())) + 1)
        if self._scalar(counts.max()) > 1:
            twice = self._scalar((counts > 1).argmax())
            self._refuse_repeated(twice, self._scalar(counts[twice]), argument)
        return rows

    def _refuse_repeated(self, number: int, times: int, argument: str) -> NoReturn:
        """Raise InputError for a vertex that is given several times."""
        raise InputError(
            f"{argument}: vertex {self.describe(number)} is given {times} times; "
            f"keep one row for each vertex"
        )


def _in_arrow(values: Any) -> pa.Array:
    """Return the values of a column, on the host or a Series of the device, as one array of Arrow."""
    if hasattr(values, "to_arrow"):
        values = values.to_arrow()
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else pa.array(values)


def value_column(names: Sequence[str], ids: Sequence[str], argument: str) -> str:
    """Find the only column of a vertex frame besides its ids.

    Parameters
    ----------
    names : sequence of str
        All columns.
    ids : sequence of str
        Id columns.
    argument : str
        The caller's name for the frame, for errors.

    Returns
    -------
    str

    Raises
    ------
    InputError
        If there are no or several such columns.
    """
    value_columns = [name for name in names if name not in ids]
    if len(value_columns) != 1:
        raise InputError(
            f"{argument}: one column of values is needed besides {listed(ids)}, not "
            f"{len(value_columns)} ({listed(value_columns)}); give a frame with exactly one"
        )
    return value_columns[0]


class Named(Protocol):
    """An object with named columns: a frame, or a partitioned frame."""

    argument: str

    @property
    def names(self) -> Any:
        """Names of the columns."""


def id_columns(frame: Named, sources: Sequence[str]) -> list[str]:
    """Find the id columns of a vertex frame.

    Parameters
    ----------
    frame : Frame or OpenedPartitions
    sources : sequence of str
        Names of the edge frame's source columns.

    Returns
    -------
    list of str

    Raises
    ------
    InputError
        If the frame has no column of either name, and more than one column.
    """
    names: list[str] = frame.names
    if len(sources) == 1 and "vertex" in names:
        return ["vertex"]
    if all(source in names for source in sources):
        return list(sources)
    if len(sources) == 1 and len(names) == 1:
        return names
    wanted = f"'vertex' or {shown(sources[0])}" if len(sources) == 1 else listed(sources)
    raise InputError(
        f"{frame.argument}: the ids must be in {wanted}, but the columns are "
        f"{listed(names)}; rename the id column"
    )


def _no_values(argument: str) -> Column:
    return Column(argument, argument, np.empty(0), None)
