"""The vertices of a graph partitioned across ranks: ids, attributes and values, by owner."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cugraph_ws.errors import InputError
from cugraph_ws.frames.base import Column, VertexNumbers, on_host
from cugraph_ws.frames.ids import IdType, conform, read_ids
from cugraph_ws.frames.values import cast_numbers, is_one_number, number_for_all, numbered_values
from cugraph_ws.graph.owners import Owners
from cugraph_ws.graph.vertices import PAIR, Vertices, id_columns, value_column
from cugraph_ws.partition import id_encoding
from cugraph_ws.partition.ghost_ids import ghost_ids
from cugraph_ws.partition.halo import Halo
from cugraph_ws.partition.identities import Distinct, send_ids_to_owners
from cugraph_ws.partition.known_vertices import Directory
from cugraph_ws.partition.partitioned_frame import OpenedPartition, OpenedPartitions, Partitions
from cugraph_ws.runtime.arrays import array_module, count_true
from cugraph_ws.runtime.communicator import Communicator, in_order, total

if TYPE_CHECKING:
    from cugraph_ws.partition.shard import ShardGraph

__all__ = ["ShardVertices"]

Array = npt.NDArray[Any]
Numbers = npt.NDArray[np.int64]


class ShardVertices(Vertices):
    """All vertices of a graph; each rank stores the ids of those it owns.  See `Vertices`.

    Methods that take or return ids or numbers are collective.  All ranks pass the same lists,
    dicts and frames of vertices; a `Partitions` has only the partitions of its rank.

    Parameters
    ----------
    comm : Communicator
    sources : sequence of str
        Names of the edge frame's source columns.
    types : sequence of IdType
        One for each column of the id; the same on all ranks.
    ids : Distinct
        The ids of all vertices.
    """

    def __init__(
        self, comm: Communicator, sources: Sequence[str], types: Sequence[IdType], ids: Distinct
    ) -> None:
        super().__init__(sources, types, ids)
        self._comm, self.has_all_ids = comm, False
        self._shard: Any = None
        self._owned_ids: list[Any] | None = None  # if this rank's range has other ids
        self._kept: dict[str, list[tuple[Sequence[int], Column | InputError]]] = {}
        self._kept_rows: Numbers = np.empty(0, np.int64)

    # ------------------------------------------------------------------------------ building

    def keep_parts(self, parts: OpenedPartitions, rows: Sequence[Numbers]) -> None:
        """Copy the attributes in this rank's partitions of a vertex frame; collective.

        Attributes stay on the rank that read them; `values` sends them to the vertices' owners.

        Parameters
        ----------
        parts : OpenedPartitions
        rows : sequence of ndarray of int64
            The vertex numbers of the rows of each of this rank's partitions.

        Raises
        ------
        InputError
            If a vertex has more than one row.
        """
        self._kept_rows = np.concatenate([np.empty(0, np.int64), *rows])
        self._check_repeated(self._kept_rows, "vertices")
        ids = id_columns(parts, self.sources)
        for name in parts.names:
            if name not in ids:
                self._kept[name] = [(part.place, _copied(part, name)) for part in parts.own]

    def groups_of(self, name: str, argument: str) -> Numbers:
        """Return the index by vertex of an attribute's value among the distinct ones; collective."""
        rows, columns = self._own_pairs(name, argument, None)
        steps = [(place, partial(numbered_values, column)) for place, column in columns]
        values: list[str] = []
        for indices, distinct in in_order(self._comm, steps):
            values += map(str, distinct.take(indices).to_pylist())
        everyone = {*chain(*self._comm.allgather(sorted(set(values))))}
        code_of = {value: code for code, value in enumerate(sorted(everyone))}
        codes = np.array([code_of[value] for value in values], np.int64)
        received = self._comm.alltoall([[rows, codes]] * self._comm.size)
        all_rows, all_codes = map(np.concatenate, zip(*received, strict=True))
        groups = np.full(self.size, -1, np.int64)
        groups[all_rows] = all_codes
        if len(all_rows) < self.size:
            self._refuse_missing(int(groups.argmin()), self.size - len(all_rows), argument)
        return groups

    def move(self, owners: Owners) -> None:
        """Send ids to the ranks of their ranges and, if these do not own them, to owners too; collective."""
        self.numbering = send_ids_to_owners(self._comm, self.numbering, owners.cuts)
        if not owners.in_ranges:
            self._owned_ids = self.numbering.decode(owners.numbers())

    def _own_ids(self, places: Any) -> list[Any]:
        """Return the parts of the ids of some owned vertices.  Not collective."""
        if self._owned_ids is None:
            return list(self.numbering.own(places))
        return [part.take(pa.array(places)) for part in self._owned_ids]

    def align_to(self, shard: ShardGraph) -> None:
        """Set the shard whose positions values are aligned to."""
        self._shard = weakref.ref(shard)

    def join(self, comm: Communicator) -> ShardVertices:
        """Return a copy that uses another communicator.

        Parameters
        ----------
        comm : Communicator
            A communicator of the same ranks in the same order.

        Returns
        -------
        ShardVertices
            It has no shard until its `align_to` is called.
        """
        joined = copy(self)
        joined._comm, joined._shard = comm, None
        joined.numbering = self.numbering.join(comm)
        return joined

    @staticmethod
    def _refuse_unknown(shown: str, count: int, argument: str, near: str = "") -> NoReturn:
        """Raise InputError for ids that are not vertices; all ranks do, as they know the same ones."""
        try:
            Vertices._refuse_unknown(shown, count, argument, near)
        except InputError as error:
            error.on_all_ranks = True
            raise

    # ----------------------------------------------------------------------------- describing

    def _plain(self, number: int) -> list[Any]:
        """Return the parts of an id as Python objects; collective."""
        numbers = np.array([number])
        decoded = hasattr(self.numbering, "decode")
        parts = self.numbering.decode(numbers) if decoded else self.numbering.take(numbers)
        return [kind.plain(part)[0].as_py() for kind, part in zip(self.types, parts, strict=True)]

    def describe_own(self, place: int) -> str:
        """Return the id of an owned vertex as text for errors.  Not collective."""
        parts = self._own_ids(np.array([place]))
        values = [kind.plain(part)[0].as_py() for kind, part in zip(self.types, parts, strict=True)]
        return repr(values[0] if len(values) == 1 else tuple(values))

    @property
    def attribute_bytes(self) -> int:
        """Bytes of the attributes stored by this rank."""
        pieces = [piece for column in self._kept.values() for _, piece in column]
        column_bytes = sum(self._bytes(piece) for piece in pieces if isinstance(piece, Column))
        return column_bytes + int(self._kept_rows.nbytes)

    def directory(self) -> Directory:
        """Return the data that a client needs to look up vertices."""
        ranges = None if self.numbering.renumbered == "no" else self.numbering.ranges
        return Directory(self.sources, self.types, self.size, ranges, list(self._kept))

    def own_columns(self, owners: Owners) -> dict[str, Any]:
        """Return the ids of the vertices of this rank's range as result columns.  Not collective."""
        low, high = owners.cuts[owners.rank : owners.rank + 2].tolist()
        parts = self.numbering.own(np.arange(high - low))
        shown = (
            kind.output(part, nullable=False) for kind, part in zip(self.types, parts, strict=True)
        )
        return dict(zip(self.names, shown, strict=True))

    def _outputs(self, numbers: VertexNumbers) -> list[Any]:
        """Return the parts of ids as result columns; collective, unless all are known on this rank."""
        if not numbers.near or self.numbering.renumbered == "no":
            return super()._outputs(numbers)
        shard, wanted = self._shard(), np.asarray(on_host(numbers.numbers))
        of_ghosts = ghost_ids(shard, self.numbering)
        if of_ghosts is None:
            return super()._outputs(numbers)
        places = pa.array(shard.place(wanted), mask=wanted < 0)
        of_owned = self._own_ids(np.arange(shard.owned))
        return [
            kind.output(pa.concat_arrays(parts).take(places), nullable=numbers.nullable)
            for kind, *parts in zip(self.types, of_owned, of_ghosts, strict=True)
        ]

    # --------------------------------------------------------------------------------- values

    def _look_up(self, parts: Sequence[Any]) -> Any:
        return self.numbering.encode_same(parts)

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
        """Return the values given for vertices as an array by position; collective.

        Parameters
        ----------
        data : frame, dict, number, str or Partitions
            See `Graph.vertex_values`; the same on all ranks, except `Partitions`.
        argument : str
        dtype : dtype
        default : number or None
        column : str or None
        on_device : bool

        Returns
        -------
        values : array of `dtype`, shape (length,)
        has_value : array of bool, shape (length,)
            By position, ghosts included.

        Raises
        ------
        InputError
            As `Graph.vertex_values`; raised on all ranks.
        """
        shard = self._shard()
        partitioned = isinstance(
            data, (str, Partitions)
        )  # partitioned across ranks, and sent through the host
        xp = array_module(on_device and not partitioned)
        values, has_value = (
            xp.zeros(shard.length, np.dtype(dtype)),
            xp.zeros(shard.length, np.bool_),
        )
        if is_one_number(data):
            values[:] = number_for_all(data, argument, dtype)
            has_value[:] = True
            return self._place(values, on_device), self._place(has_value, on_device)
        if partitioned:
            self._receive(
                *self._own_pairs(data, argument, column), dtype, values, has_value, argument
            )
        else:
            rows, source = self._pairs(data, argument, column)
            numbers = cast_numbers(source, dtype)
            places = shard.place(rows)
            is_local = places >= 0
            which = xp.asarray(places[is_local])
            values[which] = xp.asarray(numbers[is_local])
            has_value[which] = True
        self._fill(values, has_value, argument, default)
        return self._place(values, on_device), self._place(has_value, on_device)

    def pairs(self, data: Any, argument: str) -> tuple[Any, Any]:
        """Return the numbers of this rank's share of pairs of vertices; collective.

        Parameters
        ----------
        data : frame or Partitions
            See `Vertices.pairs`; a frame is the same on all ranks, each of which takes a range of
            its rows.
        argument : str

        Returns
        -------
        firsts, seconds : array of int64
        """
        if not isinstance(data, Partitions):
            firsts, seconds = super().pairs(data, argument)
            size, rank = self._comm.size, self._comm.rank
            own_rows = slice(len(firsts) * rank // size, len(firsts) * (rank + 1) // size)
            return firsts[own_rows], seconds[own_rows]
        parts = OpenedPartitions(self._comm, data, argument)

        def read(
            names: list[str], part: OpenedPartition
        ) -> tuple[OpenedPartition, list[Column], list[Any]]:
            columns = [part.column(name, argument) for name in names]
            kinds = zip(map(read_ids, columns), self.types, strict=True)
            return part, columns, [conform(id_values, kind) for id_values, kind in kinds]

        firsts, seconds = (
            self._find(
                in_order(self._comm, parts.steps(0, partial(read, self.names_of(end))))
                if parts.rows
                else [],
                argument,
            )
            for end in PAIR
        )
        return firsts, seconds

    def _own_pairs(
        self, data: str | Partitions, argument: str, column: str | None
    ) -> tuple[Numbers, list[tuple[Sequence[int], Column]]]:
        """Return vertex numbers, without repeats on any ranks, and columns of as many values."""
        if isinstance(data, str):
            if data not in self._kept:
                self._refuse_name(data, argument, list(self._kept))
            columns = in_order(
                self._comm,
                [(place, partial(_readable, place, piece)) for place, piece in self._kept[data]],
            )
            return self._kept_rows, columns
        parts = OpenedPartitions(self._comm, data, argument)
        ids = id_columns(parts, self.sources)
        chosen = column or value_column(parts.names, ids, argument)

        def read(part: OpenedPartition) -> tuple[OpenedPartition, list[Column], list[Any], Column]:
            columns = [part.column(name, argument) for name in ids]
            read = map(read_ids, columns)
            converted = [
                conform(id_values, kind) for id_values, kind in zip(read, self.types, strict=True)
            ]
            return part, columns, converted, part.column(chosen, argument)

        read_parts = in_order(self._comm, parts.steps(0, read)) if parts.rows else []
        rows = self._find([read_part[:3] for read_part in read_parts], argument)
        self._check_repeated(rows, argument)
        return rows, [(part.place, values) for part, _, _, values in read_parts]

    def _find(
        self, read: Sequence[tuple[OpenedPartition, list[Column], list[Any]]], argument: str
    ) -> Numbers:
        """Return the numbers of ids in this rank's partitions; refuse unknown ids; collective."""
        forms = [id_encoding.form_of(kind) for kind in self.types]
        fitted = [
            [id_encoding.fit(part, form) for part, form in zip(ids, forms, strict=True)]
            for _, _, ids in read
        ]
        joined = [
            id_encoding.join([partition[which][0] for partition in fitted], form)
            for which, form in enumerate(forms)
        ]
        numbers: Numbers = self.numbering.encode(joined)
        for which in range(len(forms)):
            fitting = np.concatenate(
                [np.empty(0, np.bool_), *(partition[which][1] for partition in fitted)]
            )
            numbers[~fitting] = -1
        unknown = np.flatnonzero(numbers < 0)
        first_unknown: Any = None
        if len(unknown):
            ends = np.cumsum([len(columns[0]) for _, columns, _ in read])
            which = int(np.searchsorted(ends, unknown[0], side="right"))
            part, columns, _ = read[which]
            row = int(unknown[0] - ends[which]) + len(columns[0])
            first_unknown = [part.first_row + row, self._shown(columns, row)]
        count = total(self._comm, len(unknown))
        shown = [report for report in self._comm.allgather(first_unknown) if report is not None]
        if shown:
            self._refuse_unknown(min(shown)[1], count, argument)
        return numbers

    def _receive(
        self,
        rows: Numbers,
        columns: Sequence[tuple[Sequence[int], Column]],
        dtype: npt.DTypeLike,
        values: Array,
        has_value: npt.NDArray[np.bool_],
        argument: str,
    ) -> None:
        """Send values to the owners of their vertices, then update ghosts; collective."""
        converted = in_order(
            self._comm, [(place, partial(cast_numbers, column, dtype)) for place, column in columns]
        )
        shard = self._shard()
        values_sent = np.concatenate([np.empty(0, np.dtype(dtype)), *converted])
        halo = Halo.of(shard)
        numbers, received = halo.send_to_owners(rows, values_sent)
        places = shard.owners.places(numbers)
        values[places] = received
        has_value[places] = True
        halo.update(values, has_value)

    def _fill(self, values: Any, has_value: Any, argument: str, default: Any) -> None:
        """Set the default for vertices without a value, or refuse them; collective."""
        if default is not None:
            values[~has_value] = default
            return
        shard = self._shard()
        owned_has_value = has_value[: shard.owned]
        lacking = len(owned_has_value) - count_true(owned_has_value)
        missing = total(self._comm, lacking)
        first = int(shard.owners.number_at(int(owned_has_value.argmin()))) if lacking else None
        shown = [vertex for vertex in self._comm.allgather(first) if vertex is not None]
        if shown:
            self._refuse_missing(min(shown), missing, argument)

    def _distinct(self, rows: Any, argument: str) -> Any:
        """Return vertex numbers, the same on all ranks; refuse repeated ones."""
        numbers, counts = np.unique(rows, return_counts=True)
        twice = np.flatnonzero(counts > 1)
        if len(twice):
            self._refuse_repeated(int(numbers[twice[0]]), int(counts[twice[0]]), argument)
        return rows

    def _check_repeated(self, rows: Numbers, argument: str) -> None:
        """Refuse vertices given more than once, on one rank or several; collective."""
        comm, size = self._comm, max(1, self.size)
        counters = (
            rows * comm.size // size
        )  # any rank may count a vertex, as long as all ranks choose the same one
        order = np.argsort(counters, kind="stable")
        cuts = np.searchsorted(counters[order], np.arange(comm.size + 1))
        buffers = [[rows[order[first:last]]] for first, last in pairwise(cuts.tolist())]
        received = np.concatenate([array for (array,) in comm.alltoall(buffers)])
        numbers, counts = np.unique(received, return_counts=True)
        twice = np.flatnonzero(counts > 1)
        first_repeated = [int(numbers[twice[0]]), int(counts[twice[0]])] if len(twice) else None
        shown = [list(report) for report in comm.allgather(first_repeated) if report is not None]
        if shown:
            number, times = min(shown)
            self._refuse_repeated(number, times, argument)


def _copied(part: OpenedPartition, name: str) -> Column | InputError:
    """Return a copy of a column, or the error to raise when it is requested."""
    try:
        column = part.column(name, "vertices")
    except InputError as error:
        return error
    if isinstance(column.values, np.ndarray):  # Arrow's arrays are immutable
        return replace(column, values=column.values.copy())
    return column


def _readable(place: Sequence[int], column: Column | InputError) -> tuple[Sequence[int], Column]:
    """Return a column with its place, or raise the error of one that could not be read."""
    if isinstance(column, InputError):
        raise column
    return place, column
