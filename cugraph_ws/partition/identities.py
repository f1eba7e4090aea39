"""All distinct ids of a graph, partitioned across ranks: before vertices have owners, and after."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cugraph_ws.graph.numbering import (
    DenseIntegers,
    IdValues,
    Numbering,
    Renumbered,
    SortedIntegers,
    SortedText,
    number_rows,
)
from cugraph_ws.partition import id_encoding
from cugraph_ws.partition.id_encoding import Form, Values
from cugraph_ws.runtime.communicator import Communicator

__all__ = [
    "Distinct",
    "IdRange",
    "IdRanges",
    "OwnRange",
    "Pairs",
    "ShardNumbering",
    "SortedRun",
    "send_ids_to_owners",
]

Numbers = npt.NDArray[np.int64]


class Distinct(Protocol):
    """Distinct ids in ascending order, before vertices have owners."""

    renumbered: Renumbered

    @property
    def size(self) -> int:
        """Number of distinct ids."""

    @property
    def forms(self) -> list[Form]:
        """The form of each part of the id."""

    def take(self, numbers: Numbers) -> list[Values]:
        """Return the parts of the ids with the given valid numbers; collective."""


class IdRange:
    """A range of integers without gaps; no rank stores them.

    Parameters
    ----------
    comm : Communicator
    low : int
        The least integer.
    size : int
        Number of integers.
    form : dtype
    """

    def __init__(self, comm: Communicator, low: int, size: int, form: Form) -> None:
        self.low, self.size, self.forms = low, size, [form]
        self.renumbered: Renumbered = "no" if low == 0 else "compacted"

    def take(self, numbers: Numbers) -> list[Values]:
        """Return the integers with the given numbers."""
        return [(numbers + self.low).astype(self.forms[0])]


class SortedRun:
    """Distinct values in ascending order; each rank stores a range of them.

    Parameters
    ----------
    comm : Communicator
    values : ndarray or pyarrow.Array
        This rank's range.
    form : dtype or pyarrow.DataType
    counts : sequence of int
        Number of values of each rank.
    renumbered : {"compacted", "sorted"}
    """

    def __init__(
        self,
        comm: Communicator,
        values: Values,
        form: Form,
        counts: Sequence[int],
        renumbered: Renumbered,
    ) -> None:
        self._comm, self._values, self.forms = comm, values, [form]
        self.renumbered = renumbered
        self.cuts = np.concatenate([[0], np.cumsum(np.array(counts, np.int64))])

    @property
    def size(self) -> int:
        """Number of distinct ids."""
        return int(self.cuts[-1])

    def take(self, numbers: Numbers) -> list[Values]:
        """Fetch values from the ranks that store them; collective."""
        low = int(self.cuts[self._comm.rank])

        def answer(wanted: Numbers) -> list[Values]:
            return [_pick(self._values, wanted - low)]

        return _ask(self._comm, self.cuts, numbers, answer, self.forms)


class Pairs:
    """Ids of several parts: pairs of all parts but the last, and the last part."""

    renumbered: Renumbered = "sorted"

    def __init__(self, head: Distinct, last: Distinct, keys: Distinct) -> None:
        self._head, self._last, self._keys = head, last, keys
        self.forms = [*head.forms, *last.forms]

    @property
    def size(self) -> int:
        """Number of distinct ids."""
        return self._keys.size

    def take(self, numbers: Numbers) -> list[Values]:
        """Return the parts of the ids with the given numbers; collective."""
        (keys,) = self._keys.take(numbers)
        head, last = np.divmod(keys, max(1, self._last.size))
        return [*self._head.take(head), *self._last.take(last)]


@dataclass(frozen=True)
class IdRanges:
    """Which rank owns which ids: each rank owns a range, in the order of the ranks.

    Attributes
    ----------
    firsts : list
        For each rank, the parts of its least id, as `id_encoding.compare` takes them; None if it
        owns none.
    forms : list of dtype or pyarrow.DataType
        The form of each part.
    """

    firsts: list[Any]
    forms: list[Form]

    def fit(self, columns: Sequence[IdValues]) -> tuple[list[Values], npt.NDArray[np.bool_]]:
        """Convert ids to these forms; return them, and which of them fit."""
        fitted = [
            id_encoding.fit(column, form) for column, form in zip(columns, self.forms, strict=True)
        ]
        parts = [values for values, _ in fitted]
        return parts, np.logical_and.reduce([fitting for _, fitting in fitted])

    def packed(self, columns: Sequence[IdValues]) -> list[Any]:
        """Return ids encoded as arrays, then an array of which of them fit."""
        parts, fitting = self.fit(columns)
        return [*(array for part in parts for array in id_encoding.pack(part)), fitting]

    def split(self, columns: Sequence[IdValues]) -> list[tuple[Numbers, list[Any]]]:
        """Group ids by the rank that would own them; ids that no rank can own are left out.

        Parameters
        ----------
        columns : sequence of ndarray of integers or pyarrow.ChunkedArray
            The parts of the ids.

        Returns
        -------
        list of (ndarray of int64, list of ndarray)
            For each rank, the places of its ids, and the encoded ids.
        """
        parts, fitting = self.fit(columns)
        owners = np.full(len(fitting), -1, np.int64)
        for rank, first in enumerate(self.firsts):
            if first is not None:
                owners[_not_below(parts, first)] = rank
        owners[~fitting] = -1
        order = np.argsort(owners, kind="stable")
        cuts = np.searchsorted(owners[order], np.arange(len(self.firsts) + 1))
        places = [order[first:last] for first, last in pairwise(cuts.tolist())]
        return [
            (
                places_of_rank,
                [a for part in parts for a in id_encoding.pack(_pick(part, places_of_rank))],
            )
            for places_of_rank in places
        ]


class OwnRange(DenseIntegers):
    """Ids that are 0 … size-1; every rank knows all of them."""

    known: Sequence[Any] = ()

    def __init__(self, size: int, low: int) -> None:
        super().__init__(size)
        self._low = low

    def join(self, comm: Communicator) -> OwnRange:
        """Return this object, none of whose methods communicates."""
        return self

    def own(self, places: Numbers) -> list[pa.Array]:
        """Return the ids of owned vertices."""
        return self.decode(np.asarray(places) + self._low)

    def encode_same(self, columns: Sequence[IdValues]) -> Numbers:
        """Return the same as `encode`; see `ShardNumbering.encode_same`."""
        return self.encode(columns)


class ShardNumbering:
    """Ids stored by the owners of their vertices; encoding and decoding are collective.

    Parameters
    ----------
    comm : Communicator
    cuts : ndarray of int64, shape (comm.size + 1,)
        Rank r owns the vertices numbered cuts[r] to cuts[r + 1] - 1.
    local : Numbering
        Numbering of the ids of owned vertices, from 0.
    forms : sequence of dtype or pyarrow.DataType
        The form of each part.
    renumbered : {"compacted", "sorted"}

    Attributes
    ----------
    ranges : IdRanges
        Which rank owns which ids.
    known : sequence of (list of ndarray, ndarray of int64)
        Ids that were looked up before, as `IdRanges.packed` returns them, and their numbers.
    """

    def __init__(
        self,
        comm: Communicator,
        cuts: Numbers,
        local: Numbering,
        forms: Sequence[Form],
        renumbered: Renumbered,
    ) -> None:
        self._comm, self._cuts, self._local, self._forms = comm, cuts, local, list(forms)
        self.renumbered = renumbered
        self.known: Sequence[Any] = ()
        first = None
        if local.size:
            parts = self._plain(local.decode(np.zeros(1, np.int64)))
            first = [id_encoding.sample(part, [0])[0] for part in parts]
        self.ranges = IdRanges(comm.allgather(first), self._forms)

    @property
    def size(self) -> int:
        """Number of vertices of the whole graph."""
        return int(self._cuts[-1])

    @property
    def nbytes(self) -> int:
        """Bytes of the ids of owned vertices."""
        return self._local.nbytes

    def join(self, comm: Communicator) -> ShardNumbering:
        """Return a copy that uses another communicator of the same ranks."""
        joined = copy(self)
        joined._comm = comm
        return joined

    def own(self, places: Numbers) -> list[pa.Array]:
        """Return the ids of owned vertices; the first one's place is 0.  Not collective."""
        return [pa.array(part) for part in self._plain(self._local.decode(np.asarray(places)))]

    def encode(self, columns: Sequence[IdValues]) -> Numbers:
        """Return the numbers of this rank's ids, -1 where unknown; collective."""
        split = self.ranges.split(columns)
        asked = [
            _unpack(buffer, self._forms)
            for buffer in self._comm.alltoall([buffer for _, buffer in split])
        ]
        ends = np.cumsum([len(buffer[0]) for buffer in asked])
        own_numbers = self._among_own(_joined(asked, self._forms))
        answers = [[answer] for answer in np.split(own_numbers, ends[:-1])]
        numbers = np.full(len(columns[0]), -1, np.int64)
        for (places, _), (answer,) in zip(split, self._comm.alltoall(answers), strict=True):
            numbers[places] = answer
        return numbers

    def find_own(self, buffer: Sequence[Any]) -> Numbers:
        """Return the numbers of ids encoded by `IdRanges.split` for this rank; -1 where unknown."""
        return self._among_own(_unpack(buffer, self._forms))

    def encode_same(self, columns: Sequence[IdValues]) -> Numbers:
        """Return the numbers of ids, -1 where unknown; collective; all ranks pass the same ids.

        Each rank looks all ids up among those it owns, and sends the numbers it finds to all ranks,
        unless they are known.
        """
        if self.known:
            wanted = self.ranges.packed(columns)
            for ids, numbers_found in self.known:
                if all(map(np.array_equal, wanted, ids)):
                    return np.array(numbers_found)
        parts, fitting = self.ranges.fit(columns)
        numbers = self._among_own(parts)
        numbers[~fitting] = -1
        own_places = np.flatnonzero(numbers >= 0)
        for places, numbers_found in self._comm.alltoall(
            [[own_places, numbers[own_places]]] * self._comm.size
        ):
            numbers[places] = numbers_found
        return numbers

    def _among_own(self, parts: Sequence[Values]) -> Numbers:
        """Return the numbers of ids, -1 if their vertices are not owned.  Not collective."""
        numbers = self._local.encode([_column(part) for part in parts])
        return np.where(numbers < 0, -1, numbers + int(self._cuts[self._comm.rank]))

    def decode(self, numbers: Any) -> list[pa.Array]:
        """Return the ids of this rank's numbers, null for -1; collective."""
        low = int(self._cuts[self._comm.rank])

        def answer(wanted: Numbers) -> list[Values]:
            return self._plain(self._local.decode(wanted - low))

        numbers = np.asarray(numbers, np.int64)
        missing = numbers < 0
        valid = np.flatnonzero(~missing)
        parts = _ask(self._comm, self._cuts, numbers[valid], answer, self._forms)
        if not missing.any():
            return [pa.array(part) for part in parts]
        places = np.zeros(len(numbers), np.int64)
        places[valid] = np.arange(len(valid))
        return [pa.array(part).take(pa.array(places, mask=missing)) for part in parts]

    def _plain(self, parts: Sequence[pa.Array]) -> list[Values]:
        return [
            id_encoding.plain(part, form) for part, form in zip(parts, self._forms, strict=True)
        ]


def send_ids_to_owners(
    comm: Communicator, ids: Distinct, cuts: Numbers
) -> ShardNumbering | OwnRange:
    """Send ids to the owners of their vertices; collective.

    Parameters
    ----------
    comm : Communicator
    ids : Distinct
    cuts : ndarray of int64, shape (comm.size + 1,)
        Rank r owns the vertices numbered cuts[r] to cuts[r + 1] - 1.

    Returns
    -------
    ShardNumbering or OwnRange
    """
    low, high = int(cuts[comm.rank]), int(cuts[comm.rank + 1])
    if ids.renumbered == "no":
        return OwnRange(ids.size, low)
    parts = ids.take(np.arange(low, high))
    if len(parts) > 1:
        columns = [[_column(part)] for part in parts]
        local = number_rows(columns, dense_up_to=2 * (high - low)).numbering
    elif isinstance(parts[0], np.ndarray):
        local = SortedIntegers(parts[0], ids.renumbered)
    else:
        local = SortedText(parts[0])
    return ShardNumbering(comm, cuts, local, ids.forms, ids.renumbered)


def _ask(
    comm: Communicator, cuts: Numbers, numbers: Numbers, answer: Any, forms: Sequence[Form]
) -> list[Values]:
    """Fetch ids by number from the ranks that store them, each number once; collective."""
    distinct, back = np.unique(numbers, return_inverse=True)
    bounds = np.searchsorted(distinct, cuts)
    asked = comm.alltoall([[distinct[a:b]] for a, b in pairwise(bounds.tolist())])
    buffers = [
        [a for part in answer(wanted[0]) for a in id_encoding.pack(part)] for wanted in asked
    ]
    parts = _joined([_unpack(buffer, forms) for buffer in comm.alltoall(buffers)], forms)
    if len(distinct) == len(numbers) and (back[1:] > back[:-1]).all():
        return parts  # numbers were strictly ascending, as when ids are sent to their owners
    return [_pick(part, back) for part in parts]


def _unpack(buffer: Sequence[Any], forms: Sequence[Form]) -> list[Values]:
    """Return the parts of ids from their encoded parts, concatenated."""
    parts, first = [], 0
    for form in forms:
        last = first + (1 if isinstance(form, np.dtype) else 2)
        parts.append(id_encoding.unpack(buffer[first:last], form))
        first = last
    return parts


def _joined(buffers: Sequence[Sequence[Values]], forms: Sequence[Form]) -> list[Values]:
    """Concatenate ids from several ranks, part by part."""
    return [
        id_encoding.join([buffer[which] for buffer in buffers], form)
        for which, form in enumerate(forms)
    ]


def _not_below(parts: Sequence[Values], bound: Sequence[Any]) -> npt.NDArray[np.bool_]:
    """Return which ids are not less than a bound, comparing part by part."""
    beyond = np.zeros(len(parts[0]), np.bool_)
    level = np.ones(len(parts[0]), np.bool_)
    for part, limit in zip(parts, bound, strict=True):
        greater, equal = id_encoding.compare(part, limit)
        beyond |= level & greater
        level &= equal
    return beyond | level


def _pick(values: Values, places: Numbers) -> Values:
    if isinstance(values, np.ndarray):
        return values[places]
    return values.take(pa.array(places))


def _column(values: Values) -> IdValues:
    return values if isinstance(values, np.ndarray) else pa.chunked_array([values])
