"""The pairs of vertices that have a common neighbour, listed in pieces, and those of them that are kept.

A vertex of degree d makes a pair of every two of its neighbours, so a star of 60,000 leaves has 1.8 billion
pairs.  They are therefore never listed all at once: a piece is the pairs of a range of vertices.  How many
there are is bounded from below by the pairs of the vertex of greatest degree, which are all different, and
from above by the lengths of the neighbours' rows.  If the bounds do not decide whether the result fits, the
pairs are counted first, piece by piece.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cugraph_ws.errors import GraphMemoryError
from cugraph_ws.execution.run_memory import room_for_runs
from cugraph_ws.partition.neighbourhoods import (
    Neighbourhoods,
    NeighbourRows,
    batches,
    flattened,
)
from cugraph_ws.runtime.arrays import as_host
from cugraph_ws.runtime.looks import awaited, look
from cugraph_ws.runtime.memory import format_bytes

__all__ = ["ENTRIES", "ENTRY", "ROW", "ROW_ON_GPU", "SHARE", "AllPairs", "Kept"]

Array = Any  # NumPy's or CuPy's
ENTRY = 80  # bytes of each entry of the rows that a piece lists, at the maximum
ROW = 72  # bytes of each row of the result, at the maximum: as parts, joined, and with 64-bit ids
ROW_ON_GPU = 56  # the same on a GPU, if the frame is on the host
ENTRIES = 1 << 18  # most entries of a piece on the CPU: a sixth of a second
ENTRIES_ON_DEVICE = 1 << 23  # so that a GPU is filled
SHARE = 4  # a piece takes at most this part of the available memory


class Kept(NamedTuple):
    """Pairs and their coefficients.

    Attributes
    ----------
    firsts, seconds : array of int64, shape (pairs,)
        Vertex numbers.
    scores : array of float64, shape (pairs,)
    """

    firsts: Array
    seconds: Array
    scores: Array


class AllPairs:
    """The pieces of all pairs with a common neighbour whose first vertex is owned.

    Parameters
    ----------
    name : str
        The measure, for errors.
    near : Neighbourhoods
    rows : NeighbourRows
        Its rows, some of which may be emptied: those vertices are in no pair as the first.
    top : int or None
        Number of pairs to keep of each vertex: those of the greatest coefficients.  Pairs are then
        listed for both of their vertices, else for the smaller one.
    at_least : float or None
        The least coefficient to keep; 0 keeps all.
    row : float
        Bytes of each row of the result.

    Attributes
    ----------
    counts : bool
        Whether the pairs are still to be counted, before any coefficient is computed.
    """

    def __init__(
        self,
        name: str,
        near: Neighbourhoods,
        rows: NeighbourRows,
        top: int | None,
        at_least: float | None,
        row: float = ROW,
    ) -> None:
        self._name, self._near, self._rows, self._top, self._row = name, near, rows, top, row
        self._at_least = None if at_least is None or at_least <= 0 else at_least
        xp = near.xp
        heads = rows.indices.astype(np.int64)
        ends = xp.zeros(len(heads) + 1, np.int64)
        look()
        lengths = near.halo.fetch(near.rows.degrees, heads)
        look()
        ends[1:] = xp.cumsum(lengths)
        look()
        greatest = int(lengths.max()) if len(lengths) else 0
        del heads, lengths  # before it is asked what is free
        ends = xp.take(ends, rows.offsets)
        self._lengths = ends[1:] - ends[:-1]  # entries to list, by owned vertex
        on_device = xp is not np
        self._room = room_for_runs(on_device=on_device, comm=near.halo.comm)
        wanted = ENTRIES_ON_DEVICE if on_device else ENTRIES
        self._entries = max(1, min(wanted, self._room // (SHARE * ENTRY)))
        self._counted = self._held = 0
        self.counts = self._must_count(greatest)
        self.rewind(0)

    def rewind(self, first: int) -> None:
        """Let the next piece begin with the pairs of an owned vertex; collective."""
        bounds = batches(self._lengths[first:], self._entries)
        self._bounds = [(first + low, first + high) for low, high in bounds]
        rounds = max(self._near.halo.comm.allgather(len(bounds)))
        last = (self._near.owned, self._near.owned)
        self._bounds += [last] * (rounds - len(bounds))
        self._next = 0

    @property
    def remaining(self) -> int:
        """The number of pieces still to be listed, equal on all ranks."""
        return len(self._bounds) - self._next

    @property
    def vertex(self) -> int:
        """The first owned vertex whose pairs are still to be listed."""
        return self._bounds[self._next][0] if self.remaining else self._near.owned

    def next(self) -> tuple[Array, Array]:
        """Return the pairs of the next piece: ascending and distinct; collective."""
        near, xp = self._near, self._near.xp
        low, high = self._bounds[self._next]
        self._next += 1
        bounds = as_host(self._rows.offsets[low : high + 1])
        arcs = [(int(bounds[0]), int(bounds[-1]))]
        if high == low + 1 and near.halo.alone:  # the neighbours of one vertex may have long rows
            lengths = near.rows.degrees[self._rows.indices[arcs[0][0] : arcs[0][1]]]
            begin = arcs[0][0]
            arcs = [(begin + a, begin + b) for a, b in batches(lengths, self._entries)] or arcs
        rows = xp.asarray(np.repeat(np.arange(low, high), np.diff(bounds)))
        owner = near.owners.number_at(rows)
        parts: list[Array] = []
        for first, last in arcs:
            some = self._keys(first, last, owner[first - int(bounds[0]) : last - int(bounds[0])])
            parts = [some] if not parts else [xp.union1d(parts[0], some)]
            look()
        keys = parts[0]
        return keys // max(near.vertices, 1), keys % max(near.vertices, 1)

    def _keys(self, first: int, last: int, owner: Array) -> Array:
        """Return the pairs of the owners of some arcs and their neighbours' neighbours, as distinct keys."""
        near, xp = self._near, self._near.xp
        rows, which = near.of_distinct(self._rows.indices[first:last].astype(np.int64))
        begins = rows.offsets[which]
        _, arc, places = flattened(xp, begins, rows.offsets[which + 1] - begins)
        firsts = xp.take(owner, arc)
        seconds = xp.take(rows.indices, places).astype(np.int64)
        chosen = firsts < seconds if self._top is None else firsts != seconds
        return awaited(xp.unique, firsts[chosen] * near.vertices + seconds[chosen])

    def count(self) -> int:
        """Count the pairs of the next piece; refuse the run once all are counted; collective."""
        self._counted += len(self.next()[0])
        read = self._entries
        if not self.remaining:
            total = self._near.halo.totals(self._counted)[0]
            if total > self._capacity:
                self._refuse(f"{total:,} pairs")
            self.counts = False
            self.rewind(0)
        return read

    def keep(self, pairs: Kept) -> Kept:
        """Choose among the pairs of a piece; refuse the run if those kept so far do not fit; collective."""
        xp = self._near.xp
        if self._at_least is not None:
            enough = pairs.scores >= self._at_least
            pairs = Kept(*(column[enough] for column in pairs))
        if self._top is not None and len(pairs.scores):
            order = xp.lexsort(xp.stack((-pairs.scores, pairs.firsts.astype(np.float64))))
            pairs = Kept(*(column[order] for column in pairs))
            begins = xp.searchsorted(pairs.firsts, pairs.firsts)
            best = xp.arange(len(begins)) - begins < self._top
            pairs = Kept(*(column[best] for column in pairs))
        self._held += len(pairs.scores)
        halo = self._near.halo
        if halo.totals(int(self._row * self._held > self._room))[0]:
            self._refuse(f"{halo.totals(self._held)[0]:,} pairs so far")
        return pairs

    def _must_count(self, greatest: int) -> bool:
        """Refuse the run if its result cannot fit; return whether only counting decides; collective.

        `greatest` is the greatest degree of a neighbour of an owned vertex.
        """
        xp, halo, comm = self._near.xp, self._near.halo, self._near.halo.comm
        self._capacity = halo.totals(int(max(self._room - ENTRY * self._entries, 0) // self._row))[
            0
        ]
        most_pairs = xp.minimum(self._lengths - self._rows.degrees, self._near.vertices - 1)
        if self._top is not None:
            most = halo.totals(int(xp.minimum(most_pairs, self._top).sum()))[0]
            if self._at_least is None and most > self._capacity:
                self._refuse(f"up to {most:,} pairs with top={self._top}")
            return False
        if self._at_least is not None:
            return False
        most = halo.totals(int(most_pairs.sum()))[0] // 2
        greatest = max(comm.allgather(greatest))
        least = greatest * (greatest - 1) // 2
        if least > self._capacity:
            self._refuse(f"{least:,} or more pairs")
        return most > self._capacity

    def _refuse(self, pairs: str) -> None:
        """Raise GraphMemoryError."""
        given = ", or the pairs in vertex_pair=" if self._rows is self._near.rows else ""
        raise GraphMemoryError(
            f"{self._name} of all pairs with a common neighbour has {pairs}, of {self._row:.0f} bytes each, and "
            f"{format_bytes(self._room)} are available; give a smaller top= (the most similar vertices of "
            f"each), a greater at_least= (the least coefficient){given}"
        )
