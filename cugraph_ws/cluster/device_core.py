"""Core numbers of a graph that a crew holds on GPUs.

The steps are those of the host's loop.  What falls here is peeled by the kernel of one GPU, which is
given a list and follows what falls next; ghosts have degrees out of its reach, and what is missing
from them is reported.  Then it takes what fell elsewhere out of counters of losses, which no level
is reached by: those who fall by that have to be told of first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.cluster.core import NONE_LEFT, CrewCores
from cugraph_ws.cluster.device_post import DevicePost
from cugraph_ws.cluster.shard import ShardGraph
from cugraph_ws.cuda.core import COUNTS, Peeler, count_self_loops
from cugraph_ws.cuda.device import as_host, device
from cugraph_ws.cuda.order import arc_rows, sort_ends
from cugraph_ws.frames import VertexNumbers
from cugraph_ws.loop import Step

__all__ = ["DeviceCrewCores", "edges_among"]

DeviceArray = Any  # CuPy's or NumPy's

GONE = -1  # the degree of a ghost that has fallen, from which nobody takes any more


class DeviceCrewCores(CrewCores):
    """The loop on a share of a graph on a GPU; see `CrewCores`.

    Arrays by vertex are by position as laid out.

    Parameters
    ----------
    degree_type : {"both", "in", "out"}
        Which edges count where the graph is directed.
    """

    _post: DevicePost
    _waiting: DeviceArray
    _alive: DeviceArray  # own vertices above the level, and perhaps some that have fallen to it

    def on_cuda(self) -> DeviceCrewCores:
        """Return the loop itself."""
        return self

    def start(self, graph: Any) -> None:
        """Count the degrees."""
        self._shard: ShardGraph = graph
        self._post = DevicePost(graph)
        xp = device().xp
        there, *_ = graph.laid_out()
        incoming, outgoing = self._counted(graph)
        # As on the host: where in-arcs count, holders are told; where out-arcs do, owners are.
        rows = [*([there.csr] if incoming else []), *([there.csc] if outgoing else [])]
        self._peeler = Peeler(there, rows)
        degrees = -len(rows) * count_self_loops(there)
        if outgoing:
            degrees += there.out_degrees
            self._post.add_up(degrees)
        if incoming:
            degrees += there.in_degrees
        # Degrees, and losses, are at most as many as arcs: from the top no loss leads to a level.
        narrow = 2 * (graph.number_of_arcs + 1) <= np.iinfo(np.int32).max
        dtype = np.int32 if narrow else np.int64
        self._top = int(np.iinfo(dtype).max)
        self._core = degrees.astype(dtype)
        self._core[graph.owned :] = self._top
        self._left_of = xp.full(there.size, self._top, dtype)  # what losses leave of the top
        self._own = there.positions[: graph.owned]
        self._tells = incoming
        self._enter(-1, xp.zeros(graph.owned, np.bool_))

    def step(self) -> Step:
        """Peel what falls here at this level, or at the next one, and exchange what fell."""
        active, shard, post = self._left, self._shard, self._post
        if self._all_waiting == 0:
            self._rise()
        core, given = self._core, len(self._waiting)
        control = self._peeler.peel(core, self._waiting, self._level)
        fell = (core[post.ends] <= self._level) & ~self._told
        self._told |= fell
        ghosts = core[shard.owned :]
        lost = (ghosts >= 0) & (ghosts < self._top)
        news, reports, (peeled, read) = post.swap(fell, lost, self._top - ghosts, control[COUNTS])
        ghosts[lost] = self._top
        self._left_here -= peeled - given
        read += self._take_out(news)
        self._waiting = self._settle(reports) if len(news) or reports else self._waiting[:0]
        self._left_here -= len(self._waiting)
        self._left, self._all_waiting, read, sent = post.totals(
            self._left_here, len(self._waiting), read
        )
        return Step(active, read, direction="peel", filter="list", bytes_sent=sent)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return degrees and core numbers, the last level, and who fell without being peeled yet."""
        waiting = device().xp.zeros(self._shard.owned, np.bool_)
        waiting[self._waiting] = True
        own = {"core": self._core, "waiting": waiting}
        level = np.array([self._level], np.int64)
        return {name: as_host(array[self._own]) for name, array in own.items()} | {"level": level}

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Go on at a level."""
        xp = device().xp
        waiting = xp.zeros(self._shard.owned, np.bool_)
        waiting[self._own] = xp.asarray(state["waiting"].astype(np.bool_))
        self._core[self._own] = xp.asarray(state["core"].astype(self._core.dtype))
        self._enter(int(state["level"][0]), waiting)

    def _own_degrees(self) -> npt.NDArray[Any]:
        """Return own vertices' degrees, as they are after `start`."""
        return as_host(self._core[self._own])

    def columns(self) -> dict[str, DeviceArray]:
        """Return the core number of each own vertex (the degree that is left, while it runs)."""
        return {"core_number": self._core[self._own].astype(np.int64)}

    def _enter(self, level: int, waiting: DeviceArray) -> None:
        """List the own vertices that are left above a level, together."""
        xp, core, ends = device().xp, self._core, self._post.ends
        self._level = level
        self._waiting = xp.flatnonzero(waiting)
        # By entry of the boundaries: whether there is nothing to tell of it any more.
        self._told = (core[ends] <= level) & ~waiting[ends] if self._tells else ends >= 0
        self._alive = xp.flatnonzero(core[: self._shard.owned] > level)
        self._left_here = len(self._alive)
        self._left, self._all_waiting, _ = self._post.totals(self._left_here, len(self._waiting))

    def _rise(self) -> None:
        """Go to the next level that has vertices, and queue those, together."""
        self._alive = self._alive[self._core[self._alive] > self._level]
        degrees = self._core[self._alive]
        least = int(as_host(degrees.min())) if len(degrees) else NONE_LEFT
        self._level = min(self._shard.crew.allgather(least))
        self._waiting = self._alive[degrees == self._level]
        self._left_here -= len(self._waiting)

    def _take_out(self, news: DeviceArray) -> int:
        """Note what own vertices lose by ghosts that have fallen; return the arcs read."""
        if len(news) == 0:
            return 0
        self._core[news] = GONE
        self._left_of[news] = 0
        control = self._peeler.peel(self._left_of, news, 0)
        self._left_of[news] = self._top
        return int(as_host(control[COUNTS])[1])

    def _settle(self, reports: list[tuple[DeviceArray, DeviceArray]]) -> DeviceArray:
        """Take losses from degrees, reported ones too; return who falls to the level by them."""
        xp, alive, level = device().xp, self._alive, self._level
        for places, lost in reports:
            self._left_of[places] -= lost
        degrees, lost = self._core[alive], self._top - self._left_of[alive]
        open_ = degrees > level  # the others keep the numbers they fell with
        now = xp.where(open_, xp.maximum(degrees - lost, level), degrees)
        self._core[alive] = now
        self._left_of[alive] = self._top
        return alive[open_ & (now == level)]


def edges_among(shard: ShardGraph, own: Any) -> Any:
    """Return the edges into own vertices of which both ends are marked, together.

    Only what is kept is put in order, on the device.

    Parameters
    ----------
    shard : ShardGraph
        Made on the device.
    own : array of bool, shape (owned,)

    Returns
    -------
    DataFrame
        See `ShardGraph.edge_frame`.
    """
    xp = device().xp
    there, numbers, _ = shard.laid_out()
    marks = xp.zeros(there.size, np.bool_)
    marks[there.positions[: shard.owned]] = xp.asarray(own)
    DevicePost(shard).refresh(marks)
    csc = there.csc
    rows = arc_rows(csc.offsets, there.arcs)
    kept = marks[csc.indices] & marks[rows]
    if not shard.directed:  # an edge is two arcs, of which that from the smaller vertex counts
        kept &= numbers[csc.indices] <= numbers[rows]
    which = xp.flatnonzero(kept)
    sources, destinations = numbers[csc.indices[which]], numbers[rows[which]]
    order = sort_ends(destinations, sources, shard.number_of_vertices)
    columns: dict[str, Any] = {}
    for names, ends in (
        (shard._source_names, sources),
        (shard._destination_names, destinations),
    ):
        parts = shard._vertices.columns(None, VertexNumbers(ends[order].astype(np.int64)))
        columns.update(zip(names, parts.values(), strict=True))
    for name in there.edge_attributes:
        columns.setdefault(name, there.values(name)[which[order]])
    return shard._kind.make(columns)
