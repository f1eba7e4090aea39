"""The vertices of a graph: ids in the caller's types to numbers and back, and their attributes."""

from __future__ import annotations

import numbers as abstract
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.errors import InputError
from cugraph_ws.frames import Column, Frame, Ids, VertexNumbers, is_frame, open_frame, open_values
from cugraph_ws.ids import IdType, conform, read_ids
from cugraph_ws.numbering import Numbering
from cugraph_ws.values import cast_numbers

__all__ = ["Vertices", "id_columns"]

Array = npt.NDArray[Any]


class Vertices:
    """All vertices of a graph.

    Parameters
    ----------
    sources : sequence of str
        Names of the edge frame's source columns.
    types : sequence of IdType
        One for each column of the id.
    numbering : Numbering
    """

    def __init__(
        self, sources: Sequence[str], types: Sequence[IdType], numbering: Numbering
    ) -> None:
        self.sources = list(sources)
        self.types = list(types)
        self.numbering = numbering
        self._attributes: dict[str, Column | InputError] = {}
        self._attribute_rows: npt.NDArray[np.int64] = np.empty(0, np.int64)

    @property
    def size(self) -> int:
        """Number of vertices."""
        return self.numbering.size

    @property
    def names(self) -> list[str]:
        """Names of a result's id columns."""
        return ["vertex"] if len(self.types) == 1 else self.sources

    def number(self, value: Any, argument: str) -> int:
        """Return the number of one id."""
        return int(self.numbers([value], argument)[0])

    def numbers(self, values: Any, argument: str) -> npt.NDArray[np.int64]:
        """Return the numbers of ids in a frame, a Series, an array or a list."""
        if is_frame(values):
            frame = open_frame(values, argument)
            names = id_columns(frame, self.sources)
            return self._encode([frame.column(name, argument) for name in names], argument)
        if len(self.types) == 1:
            return self._encode([open_values(values, argument)], argument)
        rows = list(values)
        for row in rows:
            if not isinstance(row, (tuple, list)) or len(row) != len(self.types):
                raise InputError(
                    f"{argument}: {row!r} is no id; give a tuple of ({', '.join(self.sources)})"
                )
        parts = zip(*rows, strict=True) if rows else [[] for _ in self.types]
        return self._encode([open_values(list(part), argument) for part in parts], argument)

    def columns(self, name: str | None, numbers: VertexNumbers) -> dict[str, Ids]:
        """Return vertex numbers as result columns of ids.

        Parameters
        ----------
        name : str or None
            Name of the result column (with several id columns, the start of their names);
            None for the vertices themselves.
        numbers : VertexNumbers

        Returns
        -------
        dict of str to Ids
        """
        if name is None:
            names = self.names
        elif len(self.types) == 1:
            names = [name]
        else:
            names = [f"{name}_{part}" for part in self.sources]
        parts = self.numbering.decode(np.asarray(numbers.numbers))
        return {
            part_name: kind.output(part, nullable=numbers.nullable)
            for part_name, kind, part in zip(names, self.types, parts, strict=True)
        }

    def describe(self, number: int) -> str:
        """Return the id of a vertex, for errors."""
        parts = self.numbering.decode(np.array([number]))
        values = [kind.plain(part)[0].as_py() for kind, part in zip(self.types, parts, strict=True)]
        return repr(values[0] if len(values) == 1 else tuple(values))

    def keep_attributes(self, frame: Frame, rows: npt.NDArray[np.int64]) -> None:
        """Copy the attributes of a vertex frame whose rows are the vertices `rows`.

        A column that cannot be read is an error only once it is asked for.
        """
        ids = id_columns(frame, self.sources)
        self._attribute_rows = _distinct(rows, frame.argument, self)
        for name in frame.names:
            if name in ids:
                continue
            try:
                column = frame.column(name, frame.argument)
            except InputError as error:
                self._attributes[name] = error
                continue
            values = column.values
            copy = values.copy() if isinstance(values, np.ndarray) else values
            self._attributes[name] = Column(name, frame.argument, copy, column.dtype)

    def values(
        self, data: Any, argument: str, dtype: npt.DTypeLike, default: Any, column: str | None
    ) -> tuple[Array, npt.NDArray[np.bool_]]:
        """Align numbers that are given for vertices; see `Graph.vertex_values`."""
        given = np.zeros(self.size, np.bool_)
        values = np.zeros(self.size, np.dtype(dtype))
        if isinstance(data, (abstract.Real, np.generic)):
            scalar = open_values([data], argument)
            values[:], given[:] = cast_numbers(scalar, dtype), True
            return values, given
        rows, source = self._pairs(data, argument, column)
        values[rows] = cast_numbers(source, dtype)
        given[rows] = True
        if default is not None:
            values[~given] = default
        elif not given.all():
            missing = self.describe(int(np.argmin(given)))
            raise InputError(
                f"{argument}: vertex {missing} has no value, nor have {int((~given).sum()) - 1} "
                f"others; give one for every vertex"
            )
        return values, given

    @property
    def attribute_bytes(self) -> int:
        """Bytes of the attributes kept."""
        kept = [one for one in self._attributes.values() if isinstance(one, Column)]
        return sum(int(one.values.nbytes) for one in kept) + self._attribute_rows.nbytes

    def _pairs(
        self, data: Any, argument: str, column: str | None
    ) -> tuple[npt.NDArray[np.int64], Column]:
        """Return vertex numbers, none twice, and a column of as many values."""
        if isinstance(data, str):
            found = self._attributes.get(data)
            if found is None:
                have = ", ".join(map(repr, self._attributes)) or "none"
                raise InputError(
                    f"{argument}={data!r}: the graph has no such vertex attribute, it has {have}; "
                    f"give the column in Graph(vertices=...), or values as a frame or a dict"
                )
            if isinstance(found, InputError):
                raise found
            return self._attribute_rows, found
        if isinstance(data, Mapping) and not is_frame(data):
            rows = self.numbers(list(data), argument) if data else np.empty(0, np.int64)
            values = open_values(list(data.values()), argument) if data else _no_values(argument)
            return _distinct(rows, argument, self), values
        if not is_frame(data):
            raise InputError(
                f"{argument}: a frame of vertices and values, a dict, a number or the name of a "
                f"vertex attribute is needed, not {type(data).__name__}"
            )
        frame = open_frame(data, argument)
        ids = id_columns(frame, self.sources)
        rows = self._encode([frame.column(name, argument) for name in ids], argument)
        if column is None:
            others = [name for name in frame.names if name not in ids]
            if len(others) != 1:
                raise InputError(
                    f"{argument}: one column of values is needed beside {', '.join(ids)}, not "
                    f"{len(others)} ({', '.join(map(repr, others)) or 'none'}); leave out the rest"
                )
            column = others[0]
        return _distinct(rows, argument, self), frame.column(column, argument)

    def _encode(self, columns: Sequence[Column], argument: str) -> npt.NDArray[np.int64]:
        """Return the numbers of ids, all of which must be vertices."""
        if any(len(column) == 0 for column in columns):
            return np.empty(0, np.int64)
        parts = [
            conform(read_ids(column), kind)
            for column, kind in zip(columns, self.types, strict=True)
        ]
        numbers = self.numbering.encode(parts)
        unknown = numbers < 0
        if unknown.any():
            row = int(np.argmax(unknown))
            value = [column.value(row) for column in columns]
            shown = repr(value[0] if len(value) == 1 else tuple(value))
            more = f", and {int(unknown.sum()) - 1} more" if unknown.sum() > 1 else ""
            raise InputError(
                f"{argument}: {shown} is not a vertex of the graph{more}; vertices without edges "
                f"come in through Graph(vertices=...)"
            )
        return numbers


def id_columns(frame: Frame, sources: Sequence[str]) -> list[str]:
    """Find the id columns of a frame of vertices.

    Parameters
    ----------
    frame : Frame
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
    names = frame.names
    if len(sources) == 1 and "vertex" in names:
        return ["vertex"]
    if all(source in names for source in sources):
        return list(sources)
    if len(sources) == 1 and len(names) == 1:
        return names
    wanted = (
        "'vertex' or " + repr(sources[0]) if len(sources) == 1 else ", ".join(map(repr, sources))
    )
    raise InputError(
        f"{frame.argument}: the ids must be in {wanted}, but the columns are "
        f"{', '.join(map(repr, names)) or 'none'}; rename the id column"
    )


def _no_values(argument: str) -> Column:
    return Column(argument, argument, np.empty(0), None)


def _distinct(
    rows: npt.NDArray[np.int64], argument: str, vertices: Vertices
) -> npt.NDArray[np.int64]:
    """Return vertex numbers, having refused repeated ones."""
    counts = np.bincount(rows, minlength=1)
    if counts.max() > 1:
        twice = int(np.argmax(counts > 1))
        raise InputError(
            f"{argument}: vertex {vertices.describe(twice)} is given {int(counts[twice])} times; "
            f"keep one row for each vertex"
        )
    return rows
