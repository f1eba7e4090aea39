"""Batches of searches on the GPU; see `cugraph_ws.algorithms.multi_source`.

Up to 32 searches run at once.  Searches for hops use a word of bits for each vertex, a bit for each
search (MS-BFS: Then et al., VLDB 2015).  Searches for lengths shorten paths until none can be
shortened.  Distances do not depend on the order, and predecessors are chosen afterwards, so both
are the same as on the CPU.

A single rank searches in one launch.  With several ranks, each launches one superstep at a time and
pushes along its own arcs.  After each superstep, ranks exchange what has changed at boundaries,
with a bit for each search.  So a superstep takes two collectives for all searches of a batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.backends.cuda.order import arc_rows
from cugraph_ws.backends.cuda.rows import Rows
from cugraph_ws.kernels.cuda.layout import PIECE
from cugraph_ws.partition.part import Part
from cugraph_ws.program.infinity import STORED
from cugraph_ws.runtime.bins import bin_counts
from cugraph_ws.runtime.device import device
from cugraph_ws.runtime.launch_times import OFFSET, note_bytes

if TYPE_CHECKING:
    from cugraph_ws.algorithms.multi_source import Search

__all__ = ["Searches"]

Array = Any  # CuPy's

BLOCK = 256
MOST_WIDTH = 32  # a bit of a word for each search
READ, UNDECIDED, LISTED, CONTROL = 0, 1, 6, 9  # as in kernels/cuda/sources.py; CONTROL is a length
ENDLESS = np.iinfo(np.int64).max


@dataclass
class Batch:
    """Arrays of a batch of searches: a row of `width` entries for each vertex, by position."""

    width: int
    distance: Array
    before: Array  # predecessors: −1 for starts, the greatest number for none
    scratch: Array = None  # for lengths: a number for each thread


BITS = 4  # bytes of a word


class Searches:
    """Runs the searches of a step.

    Parameters
    ----------
    part : Part
    search : Search
        The settings of all searches, of `BFS` or `SSSP`.

    Attributes
    ----------
    width : int
        Maximal number of searches of a step.
    number : dtype
        Dtype of predecessors.
    """

    def __init__(self, part: Part, search: Search) -> None:
        bound, laid, xp = search.bound, part.laid, part.xp
        self._part, self.width = part, MOST_WIDTH
        self._by_hops = bound.program.name == "BFS"
        self._limit = ENDLESS if search.limit is None else search.limit
        self._cutoff = float(bound.values[0]) if bound.values else np.inf
        self._kind = kind = np.dtype(bound.types.state[0])
        self._infinity = STORED.get(kind.name, np.inf)
        self.number: np.dtype[Any] = part.numbers.dtype
        self._nobody = int(np.iinfo(self.number).max)
        column = bound.edge_columns[0] if bound.edge_columns else None
        self._stride = 0 if column is None else 1
        if column is None:
            hop = xp.ones(1, np.int64)
            self._weights = {"csc": hop, "csr": hop}
        else:
            self._weights = {order: laid.values(column, order) for order in ("csc", "csr")}
        # A bit for each vertex and search: pending, marked, spreading
        self._words = tuple(xp.zeros(part.size, np.uint32) for _ in range(3))
        index, pieces = laid.numbers.dtype, part.size + laid.arcs // PIECE
        self._queue = xp.empty(pieces, index), xp.empty(pieces, np.int32)
        self._listed = xp.empty(part.size, index)
        self._batch: Batch | None = None
        self._sent = 0  # bytes, in this step

    def run(
        self, numbers: npt.NDArray[np.int64], distance: Array, valid: Array, predecessor: Array
    ) -> tuple[int, int]:
        """Search from the next starts; collective.

        Parameters
        ----------
        numbers : ndarray of int64, shape (searches,)
            The starts.
        distance, valid, predecessor : array, each of shape (searches, owned)
            Written: distances, whether the vertex is reached, and predecessors' numbers or −1.

        Returns
        -------
        arcs, bytes_sent : int
        """
        self._sent = 0
        batch = self._batch_for(len(numbers))
        read = self._search(batch, self._begin(batch, numbers))
        self._choose(batch)
        self._note(batch, read)
        searches = slice(len(numbers))
        distance[:] = lengths = self._part.by_number(batch.distance)[:, searches].T
        before = self._part.by_number(batch.before)[:, searches].T
        valid[:] = lengths < self._infinity
        predecessor[:] = self._part.xp.where(before == self._nobody, -1, before)
        return read, self._sent

    # ------------------------------------------------------------------------------ beginning

    def _batch_for(self, count: int) -> Batch:
        """Return arrays for `count` searches; those of the last batch if they fit."""
        width = 1 << (count - 1).bit_length()
        if self._batch is None or self._batch.width != width:
            self._batch = None  # free its memory first
            xp, shape = self._part.xp, (self._part.size, width)
            self._batch = Batch(width, xp.empty(shape, self._kind), xp.empty(shape, self.number))
        return self._batch

    def _begin(self, batch: Batch, numbers: npt.NDArray[np.int64]) -> int:
        """Set the searches to their starts, ghosts included; return how many vertices start."""
        part, xp = self._part, self._part.xp
        wanted = xp.asarray(numbers)
        alone = part.halo.alone
        places = device().to_host(xp.take(part.order, wanted) if alone else part.placed(wanted))
        searches = np.flatnonzero(places < part.size)  # searches with starts in this part
        places = places[searches].astype(np.int64)
        waiting, marks, _ = self._words
        waiting[:] = np.uint32(0xFFFFFFFF)
        marks[:] = 0
        batch.distance[:] = self._infinity
        batch.before[:] = self._nobody
        starts, which = np.unique(places, return_inverse=True)
        bits = np.zeros(len(starts), np.uint32)
        np.bitwise_or.at(bits, which, np.uint32(1) << searches.astype(np.uint32))
        sources = xp.asarray(starts)
        marks[sources] = xp.asarray(bits)
        entries = xp.asarray(places * batch.width + searches)
        batch.distance.ravel()[entries] = 0
        batch.before.ravel()[entries] = -1  # less than any number, so it is never replaced
        return self._list(sources)

    def _note(self, batch: Batch, read: int) -> None:
        """Note what searches read of their arcs, and the choice of predecessors from all of them."""
        part, laid, words = self._part, self._part.laid, len(self._words) * BITS
        number, index = self.number.itemsize, laid.numbers.dtype.itemsize
        length, cells = self._kind.itemsize, batch.width * self._kind.itemsize
        weight = 0 if not self._stride else self._weights["csc"].itemsize
        arc = index + (BITS if self._by_hops else weight + length)
        note_bytes(read / part.halo.comm.size * arc + part.size * (2 * OFFSET + words))
        vertex = 2 * OFFSET + cells + number
        written = batch.width * (length + number) + words
        note_bytes(laid.arcs * (index + weight + cells) + laid.size * vertex, part.size * written)

    # -------------------------------------------------------------------------------- searches

    def _search(self, batch: Batch, listed: int) -> int:
        """Find all distances; return the arcs that all ranks have read."""
        if self._part.halo.alone:
            return int(device().to_host(self._advance(batch, listed, self._limit))[READ])
        if self._by_hops:  # starts are reached already
            waiting, marks, _ = self._words
            places = self._listed[:listed]
            waiting[places] &= ~marks[places]
        hops, read = 0, 0
        (everywhere,) = self._totals(listed)
        while everywhere and hops < self._limit:
            hops += 1
            if self._by_hops:
                listed, more = self._hop(batch, listed, hops)
            else:
                listed, more = self._shorten(batch, listed)
            everywhere, more = self._totals(listed, more)
            read += more
        return read

    def _advance(self, batch: Batch, listed: int, steps: int) -> Array:
        """Run some supersteps from the listed vertices; return the control block."""
        xp, laid = self._part.xp, self._part.laid
        control = xp.zeros(CONTROL, np.int64)
        if listed == 0:
            return control
        shared, distance = (self._words, self._queue, self._listed), batch.distance.ravel()
        if self._by_hops:
            self._launch_cooperative(
                "search_hops", laid.csr, *shared, distance, batch.width, listed, steps, control,
            )  # fmt: skip
            return control
        integer = np.dtype(f"int{8 * self._kind.itemsize}")
        if batch.scratch is None:
            most = device().blocks_for(max(laid.size, laid.arcs), BLOCK)
            batch.scratch = xp.empty(BLOCK * most, self._kind)
        self._launch_cooperative(
            "search_lengths", laid.csr, self._weights["csr"], self._stride, *shared,
            (distance, distance.view(integer)), (batch.scratch, batch.scratch.view(integer)),
            batch.width, listed, self._cutoff, steps, control,
        )  # fmt: skip
        return control

    def _hop(self, batch: Batch, listed: int, hops: int) -> tuple[int, int]:
        """Run a superstep for hops; return the number of active vertices, and of arcs read."""
        xp, owned = self._part.xp, self._part.owned
        waiting, marks, _ = self._words
        before = waiting[:owned].copy()
        control = self._advance(batch, listed, 1)
        reached = self._send_reached(before & ~waiting[:owned])
        for places in reached:
            bits = _bits(marks[places], batch.width)
            batch.distance[places] = xp.where(bits, hops, batch.distance[places])
        return self._list(*reached), int(device().to_host(control)[READ])

    def _shorten(self, batch: Batch, listed: int) -> tuple[int, int]:
        """Run a superstep for lengths; return the number of active vertices, and of arcs read."""
        halo, marks, width = self._part.halo, self._words[1], batch.width
        control = self._advance(batch, listed, 1)

        def pack(places: Array) -> list[Array]:
            words = marks[places]
            return [words, batch.distance[places][_bits(words, width)]]

        received = []
        for places, (words, lengths) in halo.update_changed(marks[halo.ends] != 0, pack):
            rows = batch.distance[places]
            rows[_bits(words, width)] = lengths
            batch.distance[places] = rows
            marks[places] = words
            received.append(places)
        numbers = device().to_host(control)
        mine = self._listed[: int(numbers[LISTED + 1])].copy()  # of the second stage, the last
        return self._list(mine, *received), int(numbers[READ])

    # ---------------------------------------------------------------------------- predecessors

    def _choose(self, batch: Batch) -> None:
        """Find all predecessors: nearer neighbours first, then along arcs of length zero."""
        part, laid, gpu = self._part, self._part.laid, device()
        module = gpu.module("sources")
        module.launch(
            "choose_nearer", gpu.blocks_for(laid.arcs * batch.width, BLOCK), BLOCK, laid.csc,
            self._weights["csc"], self._stride, part.numbers, batch.distance.ravel(),
            batch.before.ravel(), batch.width, laid.size, laid.arcs,
        )  # fmt: skip
        if self._by_hops:
            return  # every hop has length one, so a nearer neighbour exists
        control = part.xp.zeros(CONTROL, np.int64)
        module.launch(
            "list_decided", gpu.blocks_for(part.owned, BLOCK), BLOCK, self._words, self._listed,
            batch.distance.ravel(), batch.before.ravel(), self._infinity, self._nobody, batch.width,
            part.owned, control,
        )  # fmt: skip
        figures = device().to_host(control)
        (undecided,) = self._totals(figures[UNDECIDED])
        if undecided and part.halo.alone:
            listed, weights = int(figures[LISTED]), self._weights["csr"]
            self._decide(laid.csr, weights, part.numbers, self._words, batch, listed)
        elif undecided:
            self._decide_by_levels(batch)

    def _decide(
        self, rows: Rows, weights: Array, numbers: Array, words: Any, batch: Batch, listed: int
    ) -> None:
        """Attach vertices that listed ones reach along arcs of length zero."""
        self._launch_cooperative(
            "search_ties", rows, weights, self._stride, numbers, words, self._queue, self._listed,
            batch.distance.ravel(), batch.before.ravel(), batch.width, listed,
            self._part.xp.zeros(CONTROL, np.int64),
        )  # fmt: skip

    def _decide_by_levels(self, batch: Batch) -> None:
        """Find predecessors along arcs of length zero, level by level; collective."""
        part, xp, (waiting, marks, _) = self._part, self._part.xp, self._words
        places = xp.flatnonzero(waiting[: part.owned])
        sources, rows, weights = self._arcs_into(places)
        count, both = len(sources), xp.concatenate([sources, places])
        before = xp.full((len(both), batch.width), self._nobody, self.number)
        apart, numbers = Batch(batch.width, batch.distance[both], before), part.numbers[both]
        undecided, decided, _ = words = tuple(xp.zeros(len(both), np.uint32) for _ in range(3))
        undecided[count:] = waiting[places]
        part.halo.update(marks)
        more = 1
        while more:
            fresh, missing = marks[sources], undecided[count:].copy()
            listed = self._list(xp.flatnonzero(fresh))
            if listed:
                decided[:count] = fresh
                self._decide(rows, weights, numbers, words, apart, listed)
            new = xp.zeros(part.owned, np.uint32)
            new[places] = missing & ~undecided[count:]
            marks[:] = 0
            (more,) = self._totals(sum(map(len, self._send_reached(new))))
        batch.before[places] = xp.minimum(batch.before[places], before[count:])

    def _arcs_into(self, places: Array) -> tuple[Array, Rows, Array]:
        """Return the arcs into the vertices at `places` as a separate graph.

        Each end gets a new number, one as a source and one as a destination.  Only sources have
        arcs, so the kernel, which goes level by level, ends after one level.

        Returns
        -------
        sources : array of int
            Positions of the sources, which come first; the vertices at `places` follow.
        rows : Rows
            Out-neighbours of both.
        weights : array
        """
        xp, csc, weights = self._part.xp, self._part.csc, self._weights["csc"]
        begins = csc.offsets[places]
        offsets = _offsets(xp, csc.offsets[places + 1] - begins)
        count = int(device().to_host(offsets[-1:])[0])
        rows = arc_rows(offsets, count) if count else xp.empty(0, np.int64)
        arcs = begins[rows] + xp.arange(count) - offsets[rows]
        sources, ranks = xp.unique(csc.indices[arcs], return_inverse=True)
        order, size = xp.argsort(ranks), len(sources) + len(places)
        counts = bin_counts(ranks, size)
        indices = (rows[order] + len(sources)).astype(csc.indices.dtype)
        apart = weights[arcs[order]] if self._stride else weights
        return sources, Rows(_offsets(xp, counts), indices), apart

    # --------------------------------------------------------------------------------- shared

    def _send_reached(self, new: Array) -> list[Array]:
        """Mark owned vertices with new bits, and update their ghosts; collective.

        Returns
        -------
        list of array
            Positions of the marked vertices: owned vertices, then ghosts.
        """
        halo, marks = self._part.halo, self._words[1]
        received = halo.update_changed(new[halo.ends] != 0, lambda own: [new[own]])
        mine = self._part.xp.flatnonzero(new)
        marks[mine] = new[mine]
        for places, (words,) in received:
            marks[places] = words
        return [mine, *(places for places, _ in received)]

    def _list(self, *places: Array) -> int:
        """List marked vertices; return how many."""
        listed = places[0] if len(places) == 1 else self._part.xp.concatenate(places)
        self._listed[: len(listed)] = listed
        return len(listed)

    def _totals(self, *numbers: int) -> list[int]:
        """Sum numbers over all ranks, and count the bytes sent; collective."""
        *sums, bytes_sent = self._part.halo.totals(*numbers)
        self._sent += bytes_sent
        return sums

    def _launch_cooperative(self, name: str, *arguments: Any) -> None:
        """Launch a cooperative kernel."""
        items = max(self._part.laid.size, self._part.laid.arcs)
        device().module("sources").prepare_together(name, items, BLOCK, *arguments)()


def _bits(words: Array, width: int) -> Array:
    """Return the bits of words as bool, shape (words, width)."""
    searches = device().xp.arange(width, dtype=np.uint32)
    return (words[:, None] >> searches) & np.uint32(1) != 0


def _offsets(xp: Any, lengths: Array) -> Array:
    """Return the offsets of rows with the given lengths."""
    offsets = xp.zeros(len(lengths) + 1, np.int64)
    offsets[1:] = xp.cumsum(lengths)
    return offsets
