"""Core numbers on the device; see `cugraph_ws.algorithms.core`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.cuda.device import device
from cugraph_ws.kernels.cuda.layout import PIECE
from cugraph_ws.loop import Loop, Step
from cugraph_ws.saved_state import SavedState

if TYPE_CHECKING:
    from cugraph_ws.algorithms.core import DegreeType
    from cugraph_ws.cuda.graph import DeviceGraph, Rows
    from cugraph_ws.graph import Graph

__all__ = ["COUNTS", "DeviceCores", "Peeler", "count_self_loops"]

BLOCK = 256
WORK_A_STEP = 1 << 26  # vertices sifted and rows peeled
LEAST, CONTROL = 11, 14  # of the control block, as in kernels/cuda/core.py
COUNTS = slice(3, 5)  # vertices peeled, arcs read
NOTHING = np.iinfo(np.int64).max


def count_self_loops(graph: Any) -> Any:
    """Count the self-loops of each vertex.

    Parameters
    ----------
    graph : DeviceGraph

    Returns
    -------
    device array of int64, shape (vertices,), by position
    """
    here = device()
    loops = here.xp.zeros(graph.size, np.int64)
    blocks = here.blocks_for(graph.size, BLOCK)
    here.module("core").launch("count_loops", blocks, BLOCK, *graph.csc, loops, graph.size)
    return loops


class Peeler:
    """Launches the kernel that peels vertices of rows on the device.

    Parameters
    ----------
    graph : DeviceGraph
    rows : list of Rows
        One or two; of the neighbours whose degree each vertex counts in.
    """

    def __init__(self, graph: DeviceGraph, rows: list[Rows]) -> None:
        self._device = device()
        xp = self._device.xp
        index = graph.csc.indices.dtype
        pieces = graph.size + graph.arcs * len(rows) // PIECE
        self._adjacency = *rows[0], *rows[-1]
        self._parts = len(rows)
        self._items = graph.arcs // 32
        self._queue = xp.empty(pieces, index), xp.empty(pieces, np.int32)
        self.spare = xp.empty(graph.size, index)

    def launch(self, core: Any, alive: Any, count: int, level: int, budget: int) -> Any:
        """Peel level after level until enough work is done.

        Parameters
        ----------
        core : device array of int32 or int64, shape (vertices,)
            Degrees among the vertices that are left.
        alive : device array
            The first `count` are those left, and perhaps some that were peeled.
        count, level, budget : int
            As the kernel has them.

        Returns
        -------
        device array of int64, shape (CONTROL,)
            Whether the list is in `spare` now, what was done, and so on.
        """
        here = self._device
        first = np.zeros(CONTROL, np.int64)
        first[LEAST] = NOTHING
        control = here.xp.asarray(first)
        arguments = (
            self._adjacency, self._parts, core, alive, self.spare, self._queue, control, count,
            level, budget,
        )  # fmt: skip
        items = max(count, self._items)
        here.module("core").prepare_together("peel", items, BLOCK, *arguments)()
        return control

    def peel(self, core: Any, listed: Any, level: int) -> Any:
        """Peel vertices that have fallen to a level, and whatever falls to it by that.

        Parameters
        ----------
        core : device array of int32 or int64, shape (vertices,)
        listed : device array
            Vertices, all of them of the degree `level`.
        level : int

        Returns
        -------
        device array of int64, shape (CONTROL,)
            See `COUNTS`.
        """
        if len(listed) == 0:
            return self._device.xp.zeros(CONTROL, np.int64)
        # No list is left beside the one given, so the launch ends with the level.
        return self.launch(core, listed.astype(self.spare.dtype), len(listed), level - 1, 1)


class DeviceCores:
    """The loop on the CUDA engine: each step peels many levels in one launch.

    Parameters
    ----------
    degree_type : {"both", "in", "out"}
        Which edges count where the graph is directed.
    """

    name = "core_number"
    by_vertex = True
    diverged = False
    max_iter: int | None = None
    tol: float | None = None
    _alive: Any  # the first `_count` are the vertices left, and perhaps some of `_level`
    _count: int
    _left: int
    _level: int  # the last one peeled

    def __init__(self, degree_type: DegreeType = "both") -> None:
        self._degree_type = degree_type

    def on_cuda(self) -> DeviceCores:
        """Return the loop itself."""
        return self

    def on_crew(self) -> Loop:
        """Return the same algorithm for a share of a graph."""
        from cugraph_ws.cluster.core import CrewCores

        return CrewCores(self._degree_type)

    def start(self, graph: Graph) -> None:
        """Count the degrees."""
        self._device = device()
        self._graph = there = graph.on_device()
        xp = self._device.xp
        counted, lowered = self._adjacencies()
        arcs = there.arcs * len(counted)
        dtype = np.int32 if arcs <= np.iinfo(np.int32).max else np.int64
        degrees = -len(counted) * count_self_loops(there)
        for rows in counted:
            degrees += xp.diff(rows.offsets)
        self._core = degrees.astype(dtype)
        del degrees
        self._peeler = Peeler(there, lowered)
        self._enter(-1)

    @property
    def converged(self) -> bool:
        """Whether every vertex is peeled."""
        return self._left == 0

    def step(self) -> Step:
        """Peel levels until enough work is done."""
        active, peeler = self._left, self._peeler
        control = peeler.launch(self._core, self._alive, self._count, self._level, WORK_A_STEP)
        done = self._device.to_host(control)[: COUNTS.stop].tolist()
        self._count, self._level, swapped, peeled, read = done
        if swapped:
            self._alive, peeler.spare = peeler.spare, self._alive
        self._left -= peeled
        return Step(active, read, direction="peel", filter="list")

    def inputs(self) -> dict[str, Any]:
        """Return which degrees count."""
        return {"degree_type": self._degree_type}

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return degrees and core numbers, and the level up to which they are core numbers."""
        core = self._device.to_host(self._graph.by_number(self._core))
        return {"core": core, "level": np.array([self._level], np.int64)}

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse what is no state of such a run; alone."""
        highest = self._device.to_host(self._graph.by_number(self._core))  # degrees, after `start`
        state.integers("core", len(highest), 0, highest)
        state.number("level", -1, int(highest.max(initial=0)) + 1)  # a GPU's end is above all

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Go on above a level."""
        self._core = self._graph.by_position(state["core"].astype(self._core.dtype))
        self._enter(int(state["level"][0]))

    def columns(self) -> dict[str, Any]:
        """Return the core number of each vertex (the degree that is left, while it runs)."""
        return {"core_number": self._graph.by_number(self._core).astype(np.int64)}

    def _enter(self, level: int) -> None:
        """List the vertices that are left above a level."""
        self._level = level
        left = self._device.xp.flatnonzero(self._core > level)
        self._count = self._left = len(left)
        # Of full length: lists change places with the spare one.
        self._alive = self._device.xp.empty_like(self._peeler.spare)
        self._alive[: self._left] = left

    def _adjacencies(self) -> tuple[list[Rows], list[Rows]]:
        """Return the rows that count for a vertex's degree, and those whose degrees it is in."""
        graph = self._graph
        if graph.undirected:
            return [graph.csc], [graph.csc]
        if self._degree_type == "both":
            return [graph.csc, graph.csr], [graph.csc, graph.csr]
        if self._degree_type == "in":
            return [graph.csc], [graph.csr]
        return [graph.csr], [graph.csc]
