"""Core numbers of a graph that a crew holds, and the edges of a core.

Every member peels what it can of a level by itself, one vertex drawing down the next; then members
tell each other which of the vertices at their boundaries have fallen, or by how much the degrees of
ghosts have.  A level is done when nothing more falls anywhere, and the next one is the least degree
that is left at any member, so that levels without vertices take no time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.algorithms.core import DegreeType
from cugraph_ws.cluster.post import Post
from cugraph_ws.cluster.shard import ShardGraph
from cugraph_ws.cuda.device import as_host
from cugraph_ws.kernels.cpu.core import add_degrees, peel_share
from cugraph_ws.loop import Step
from cugraph_ws.saved_state import SavedState

__all__ = ["CrewCores", "edges_of_core"]

Array = npt.NDArray[Any]

NONE_LEFT = np.iinfo(np.int64).max  # no degree: a member's least where it has no vertex left


class CrewCores:
    """The loop on a share of a graph: each step peels what falls without news, then exchanges it.

    Parameters
    ----------
    degree_type : {"both", "in", "out"}
        Which edges count where the graph is directed.
    """

    name = "core_number"
    by_vertex = True
    by_vertex_state: tuple[str, ...] = ("core", "waiting")
    by_arc_state: tuple[str, ...] = ()
    diverged = False
    max_iter: int | None = None
    tol: float | None = None
    _level: int  # the last one that was begun
    _waiting: Array  # own vertices that have fallen to it, which their neighbours do not know yet
    _all_waiting: int  # of all members
    _left_here: int  # own vertices above the level
    _left: int  # those of all members

    def __init__(self, degree_type: DegreeType = "both") -> None:
        self._degree_type: DegreeType = degree_type

    def on_cuda(self) -> CrewCores:
        """Return the loop for members that have a GPU each."""
        from cugraph_ws.cluster.device_core import DeviceCrewCores

        return DeviceCrewCores(self._degree_type)

    def on_crew(self) -> CrewCores:
        """Return the loop itself."""
        return self

    def start(self, graph: Any) -> None:
        """Count the degrees."""
        self._shard: ShardGraph = graph
        self._post = Post(graph)
        counts_in, counts_out = self._counted(graph)
        csc, csr = graph.csc, graph.csr
        dtype = np.int32 if 2 * graph.number_of_arcs <= np.iinfo(np.int32).max else np.int64
        degrees = np.zeros(graph.length, dtype)
        if counts_out:
            add_degrees(csr.offsets, csr.indices, degrees, 0, graph.length)
            graph.reduce(degrees)  # each member has some of the arcs out of a vertex
        if counts_in:
            add_degrees(csc.offsets, csc.indices, degrees, 0, graph.owned)
        self._core = degrees[: graph.owned].copy()
        # Arcs into a vertex are where it is.  Where these count, whoever holds it as a ghost asks
        # to be told of its fall; where those out of it count, it takes reports of its losses.
        self._tells, self._reports = counts_in, counts_out
        forth = csr.indices if counts_in else csr.indices[:0]
        back = csc.indices if counts_out else csc.indices[:0]
        self._adjacency = csr.offsets, forth, csc.offsets, back
        self._lost = np.zeros(graph.length - graph.owned, dtype)
        self._queue = np.empty(graph.length + 1, csc.indices.dtype)
        self._enter(-1, np.zeros(graph.owned, np.bool_))

    @property
    def converged(self) -> bool:
        """Whether nothing is left anywhere."""
        return self._left == 0

    def step(self) -> Step:
        """Peel what falls here at this level, or at the next one, and exchange what fell."""
        active = self._left
        if self._all_waiting == 0:
            self._rise()
        read, queue = 0, self._queue
        core, level = self._core, self._level
        size = len(self._waiting)
        queue[:size] = self._waiting
        peeled, read = peel_share(
            self._adjacency, core, self._lost, queue, size, level, follow=True
        )
        self._left_here -= peeled - size
        fell = queue[:peeled].copy()
        waiting = []
        if self._tells:
            changed = np.zeros(self._shard.owned, np.bool_)
            changed[fell] = True
            ghosts = self._post.tell(changed)
            queue[: len(ghosts)] = ghosts
            size, more = peel_share(
                self._adjacency, core, self._lost, queue, len(ghosts), level, follow=False
            )
            read += more
            waiting.append(queue[len(ghosts) : size].copy())
        if self._reports:
            reports = self._post.report(self._lost != 0, self._lost)
            self._lost[:] = 0
            waiting += [self._lower(*report) for report in reports]
        self._waiting = np.concatenate(waiting)
        self._left_here -= len(self._waiting)
        self._left, self._all_waiting, read, sent = self._post.totals(
            self._left_here, len(self._waiting), read
        )
        return Step(active, read, direction="peel", filter="list", bytes_sent=sent)

    def inputs(self) -> dict[str, Any]:
        """Return which degrees count."""
        return {"degree_type": self._degree_type}

    def state(self) -> dict[str, Array]:
        """Return degrees and core numbers, the last level, and who fell without being peeled yet."""
        waiting = np.zeros(self._shard.owned, np.bool_)
        waiting[self._waiting] = True
        level = np.array([self._level], np.int64)
        return {"core": self._core, "waiting": waiting, "level": level}

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse what is no state of such a run; alone."""
        highest = self._own_degrees()
        core = state.integers("core", graph.owned, 0, highest)
        most = 2 * graph.number_of_arcs
        level = state.number("level", -1, most)
        waiting = state.flags("waiting", graph.owned)
        at_level = core[waiting] == level
        state.require("waiting", at_level.all(), "names a vertex that has not fallen to the level")

    def restore(self, state: dict[str, Array]) -> None:
        """Go on at a level."""
        self._core = state["core"].astype(self._core.dtype)
        self._enter(int(state["level"][0]), state["waiting"].astype(np.bool_))

    def columns(self) -> dict[str, npt.NDArray[np.int64]]:
        """Return the core number of each own vertex (the degree that is left, while it runs)."""
        return {"core_number": self._core.astype(np.int64)}

    def _counted(self, graph: ShardGraph) -> tuple[bool, bool]:
        """Tell whether arcs into a vertex count for its degree, and whether those out of it do."""
        incoming = not graph.directed or self._degree_type != "out"
        return incoming, graph.directed and self._degree_type != "in"

    def _own_degrees(self) -> Array:
        """Return own vertices' degrees, as they are after `start`."""
        return self._core

    def _enter(self, level: int, waiting: npt.NDArray[np.bool_]) -> None:
        """List the own vertices that are left above a level, together."""
        self._level = level
        self._waiting = np.flatnonzero(waiting)
        self._alive = np.flatnonzero(self._core > level)
        self._left_here = len(self._alive)
        self._left, self._all_waiting, _ = self._post.totals(self._left_here, len(self._waiting))

    def _rise(self) -> None:
        """Go to the next level that has vertices, and queue those, together."""
        self._alive = self._alive[self._core[self._alive] > self._level]
        degrees = self._core[self._alive]
        least = int(degrees.min(initial=np.iinfo(degrees.dtype).max)) if len(degrees) else NONE_LEFT
        self._level = min(self._shard.crew.allgather(least))
        self._waiting = self._alive[degrees == self._level]
        self._left_here -= len(self._waiting)

    def _lower(self, places: npt.NDArray[np.int64], lost: Array) -> Array:
        """Take reported losses from degrees; return who falls to the level."""
        open_ = self._core[places] > self._level  # the others keep the numbers they fell with
        places = places[open_]
        degrees = np.maximum(self._core[places] - lost[open_], self._level)
        self._core[places] = degrees
        fallen: Array = places[degrees == self._level]
        return fallen


def edges_of_core(shard: ShardGraph, core: Any, k: int | None) -> Any:
    """Return the edges into own vertices between the vertices of a core, together.

    Parameters
    ----------
    shard : ShardGraph
    core : array of int64, shape (owned,)
        Core numbers, on the host or the device.
    k : int or None
        The core; None for the innermost of the whole graph that is not empty.

    Returns
    -------
    DataFrame
        See `ShardGraph.edge_frame`.
    """
    if k is None:
        k = max(shard.crew.allgather(int(core.max()) if len(core) else 0))
    if shard.binds_on_device:
        from cugraph_ws.cluster.device_core import edges_among

        return edges_among(shard, core >= k)
    return shard.edge_frame(among=shard.with_ghosts(as_host(core) >= k))
