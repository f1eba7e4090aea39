"""Searches from many sources on a graph that a crew holds on GPUs: up to 32 of them at once.

The kernels are those of one GPU, a superstep a launch; they push along own arcs, and after each one
members tell each other what has changed at vertices that others hold, with a bit for each search.
So a superstep is what it is on one GPU, and it takes two meetings for all searches together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.cluster.device_post import DevicePost
from cugraph_ws.cluster.multi_source import OwnRows
from cugraph_ws.cluster.shard import ShardGraph
from cugraph_ws.cuda.device import as_host, device
from cugraph_ws.cuda.multi_source import (
    CONTROL,
    ENDLESS,
    LISTED,
    READ,
    Batch,
    DeviceSearches,
)
from cugraph_ws.cuda.order import arc_rows
from cugraph_ws.cuda.rows import Rows
from cugraph_ws.frames import VertexNumbers
from cugraph_ws.run import Column, Step

if TYPE_CHECKING:
    from cugraph_ws.cuda.graph import DeviceGraph
    from cugraph_ws.graph import Graph

__all__ = ["DeviceCrewSearches"]

DeviceArray = Any  # CuPy's or NumPy's


class DeviceCrewSearches(OwnRows, DeviceSearches):
    """The loop on a share of a graph: each step is a batch of searches; see `DeviceSearches`.

    Rows of results are those of own vertices, as `CrewSearches` has them.
    """

    _shard: ShardGraph

    def on_cuda(self) -> DeviceCrewSearches:
        """Return the loop itself."""
        return self

    def start(self, graph: Graph) -> None:
        """Look the sources up and make room for the results, together."""
        assert isinstance(graph, ShardGraph)
        self._shard, self._first = graph, graph.low
        self._post = DevicePost(graph)
        super().start(graph)

    def step(self) -> Step:
        """Search from the next sources, together."""
        self._sent = 0
        step = super().step()
        step.bytes_sent = self._sent
        return step

    def inputs(self) -> dict[str, Any]:
        """Return what the searches depend on beside the graph."""
        return {**super().inputs(), "sources": self._numbers.tolist()}  # no array by vertex

    def columns(self) -> dict[str, Column]:
        """Return one row for each source searched from, in their order, and own vertex."""
        predecessors = self._predecessor[: self._done].ravel().astype(np.int64)
        return {**super().columns(), "predecessor": VertexNumbers(predecessors, nullable=True)}

    # ------------------------------------------------------------------------------ beginning

    def _laid_out(self, graph: Any) -> tuple[DeviceGraph, DeviceArray]:
        there, numbers, _ = graph.laid_out()
        return there, numbers

    def _members(self, graph: Any, number: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Mark one vertex, by position of the share, where it is known."""
        members = np.zeros(graph.length, np.bool_)
        places = graph.place(number)
        members[places[places >= 0]] = True
        return members

    def _begin(self, batch: Batch, numbers: npt.NDArray[np.int64]) -> int:
        """Put the searches at their starts, ghosts among them; return how many vertices these are."""
        places = self._shard.place(numbers)
        known = np.flatnonzero(places >= 0)
        positions = device().xp.take(self._graph.positions, device().xp.asarray(places[known]))
        return self._set_out(batch, as_host(positions), known)

    # -------------------------------------------------------------------------------- searches

    def _search(self, batch: Batch, listed: int) -> int:
        """Find all distances, together; return the arcs that all have read."""
        by_hops = self._program.name == "BFS"
        limit = ENDLESS if self._limit is None else self._limit
        waiting, marks, _ = self._words
        if by_hops:  # whoever starts is reached already
            places = self._listed[:listed]
            waiting[places] &= ~marks[places]
        done, read = 0, 0
        everywhere, *_ = self._totals(listed)
        while everywhere and done < limit:
            done += 1
            if by_hops:
                listed, more = self._hop(batch, listed, done)
            else:
                listed, more = self._shorten(batch, listed)
            everywhere, more = self._totals(listed, more)
            read += more
        return read

    def _hop(self, batch: Batch, listed: int, hops: int) -> tuple[int, int]:
        """Do a superstep of a search for hops; return who goes on, and the arcs read."""
        new, control = self._pushed(
            listed, lambda control: self._advance(batch, listed, 1, control)
        )
        marks, came = self._words[1], self._told(new)
        mine = device().xp.flatnonzero(new)
        marks[mine] = new[mine]
        for places in (mine, *came):
            bits = _bits(marks[places], batch.width)
            self._put(batch, places, device().xp.where(bits, hops, self._rows(batch, places)))
        return self._list(mine, *came), int(as_host(control)[READ])

    def _shorten(self, batch: Batch, listed: int) -> tuple[int, int]:
        """Do a superstep of a search for lengths; return who goes on, and the arcs read."""
        xp, marks = device().xp, self._words[1]
        control = xp.zeros(CONTROL, np.int64)
        if listed:
            self._advance(batch, listed, 1, control)

        def pack(places: DeviceArray) -> list[DeviceArray]:
            words = marks[places]
            return [words, self._rows(batch, places)[_bits(words, batch.width)]]

        came = []
        for places, (words, lengths) in self._post.spread(marks[self._post.ends] != 0, pack):
            rows = self._rows(batch, places)
            rows[_bits(words, batch.width)] = lengths
            self._put(batch, places, rows)
            marks[places] = words
            came.append(places)
        numbers = as_host(control)
        mine = self._listed[: int(numbers[LISTED + 1])].copy()  # of the second stage, the last
        return self._list(mine, *came), int(numbers[READ])

    # ---------------------------------------------------------------------------- predecessors

    def _choose(self, batch: Batch) -> None:
        """Find all predecessors, together: nearer neighbours first, then arcs of no length."""
        self._choose_nearer(batch)
        if self._program.name == "BFS":
            return  # every hop is nearer
        xp, shard = device().xp, self._shard
        waiting, marks, _ = self._words
        undecided, _ = self._sort_out(batch, shard.owned)
        everywhere, *_ = self._totals(undecided)
        if everywhere == 0:
            return
        self._post.refresh(marks)
        ties = _Ties(self, batch, waiting[: shard.owned])
        while everywhere:
            new = ties.decide(marks)
            marks[:] = 0
            came, mine = self._told(new), xp.flatnonzero(new)
            marks[mine] = new[mine]
            everywhere, *_ = self._totals(len(mine) + sum(map(len, came)))
        ties.finish()

    # ----------------------------------------------------------------------------- supersteps

    def _pushed(
        self, listed: int, launch: Callable[[DeviceArray], None]
    ) -> tuple[DeviceArray, DeviceArray]:
        """Launch what closes bits of own vertices; return those, and the control block."""
        xp, waiting, owned = device().xp, self._words[0], self._shard.owned
        control = xp.zeros(CONTROL, np.int64)
        if listed == 0:
            return xp.zeros(owned, np.uint32), control
        before = waiting[:owned].copy()
        launch(control)
        return before & ~waiting[:owned], control

    def _told(self, new: DeviceArray) -> list[DeviceArray]:
        """Tell others the new bits of own vertices, together; return ghosts that got marks so."""
        marks = self._words[1]
        came = []
        for places, (words,) in self._post.spread(
            new[self._post.ends] != 0, lambda own: [new[own]]
        ):
            marks[places] = words
            came.append(places)
        return came

    def _list(self, *places: DeviceArray) -> int:
        """List vertices that are marked; return how many."""
        listed = device().xp.concatenate(places)
        self._listed[: len(listed)] = listed
        return len(listed)

    def _rows(self, batch: Batch, places: DeviceArray) -> DeviceArray:
        """Return the distances of some vertices, those of one vertex in a row."""
        return batch.distance.reshape(-1, batch.width)[places]

    def _put(self, batch: Batch, places: DeviceArray, rows: DeviceArray) -> None:
        """Replace the distances of some vertices."""
        batch.distance.reshape(-1, batch.width)[places] = rows

    def _totals(self, *numbers: int) -> list[int]:
        """Add up numbers over all members, and keep count of the bytes sent, together."""
        *sums, sent = self._post.totals(*numbers)
        self._sent += sent
        return sums


class _Ties:
    """The arcs into undecided vertices, apart from the others: their ends are numbered anew.

    Whoever is decided has no arcs out of what it is as a destination, so a launch of the kernel that
    goes level by level ends with the first one.

    Parameters
    ----------
    searches : DeviceCrewSearches
    batch : Batch
        Who lacks predecessors has `nobody` before it.
    waiting : device array of uint32, shape (owned,)
        The searches in which own vertices are undecided.
    """

    def __init__(self, searches: DeviceCrewSearches, batch: Batch, waiting: DeviceArray) -> None:
        xp, graph = device().xp, searches._graph
        self._searches, self._batch, self._owned = searches, batch, len(waiting)
        places = self._places = xp.flatnonzero(waiting)
        csc = graph.csc
        begins = csc.offsets[places]
        offsets = _offsets(csc.offsets[places + 1] - begins)
        count = int(as_host(offsets[-1:])[0])
        rows = arc_rows(offsets, count) if count else xp.empty(0, np.int64)
        arcs = begins[rows] + xp.arange(count) - offsets[rows]
        self._sources, ranks = xp.unique(csc.indices[arcs], return_inverse=True)
        order = xp.argsort(ranks)
        sources, size = len(self._sources), len(self._sources) + len(places)
        weights = searches._weights["csc"]
        self._weights = weights[arcs[order]] if searches._stride else weights
        counts = xp.bincount(ranks, minlength=size) if count else xp.zeros(size, np.int64)
        indices = (rows[order] + sources).astype(csc.indices.dtype)
        self._rows = Rows(_offsets(counts), indices)
        both = xp.concatenate([self._sources, places])
        self._named = searches._named[both]
        self._distance = searches._rows(batch, both).ravel()
        self._before = xp.full(size * batch.width, searches._nobody, batch.before.dtype)
        self._words = tuple(xp.zeros(size, np.uint32) for _ in range(3))
        self._words[0][sources:] = waiting[places]

    def decide(self, marks: DeviceArray) -> DeviceArray:
        """Go on from who has been decided last; return the bits of own vertices that are so by that.

        Parameters
        ----------
        marks : device array of uint32, shape (size,)

        Returns
        -------
        device array of uint32, shape (owned,)
        """
        xp, searches = device().xp, self._searches
        new = xp.zeros(self._owned, np.uint32)
        fresh = marks[self._sources]
        listed = searches._list(xp.flatnonzero(fresh))
        if listed:
            count, waiting = len(self._sources), self._words[0]
            self._words[1][:count] = fresh
            before = waiting[count:].copy()
            searches._together(
                "search_ties", self._rows, self._weights, searches._stride, self._named,
                self._words, searches._queue, searches._listed, self._distance, self._before,
                self._batch.width, listed, xp.zeros(CONTROL, np.int64),
            )  # fmt: skip
            new[self._places] = before & ~waiting[count:]
        return new

    def finish(self) -> None:
        """Put the predecessors that have been found where the others are."""
        width, count = self._batch.width, len(self._sources)
        before = self._batch.before.reshape(-1, width)
        found = self._before.reshape(-1, width)[count:]
        before[self._places] = device().xp.minimum(before[self._places], found)


def _bits(words: DeviceArray, width: int) -> DeviceArray:
    """Return the bits of words as truths, shape (words, width)."""
    searches = device().xp.arange(width, dtype=np.uint32)
    return (words[:, None] >> searches) & np.uint32(1) != 0


def _offsets(lengths: DeviceArray) -> DeviceArray:
    """Return where rows of such lengths begin, and the end."""
    xp = device().xp
    offsets = xp.zeros(len(lengths) + 1, np.int64)
    offsets[1:] = xp.cumsum(lengths)
    return offsets
