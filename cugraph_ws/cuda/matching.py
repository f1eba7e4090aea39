"""A maximal bipartite matching on the device; see `cugraph_ws.algorithms.matching`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.cuda.device import device
from cugraph_ws.frames import VertexNumbers
from cugraph_ws.run import Loop, Step
from cugraph_ws.saved_state import SavedState

if TYPE_CHECKING:
    from cugraph_ws.cuda.graph import DeviceGraph
    from cugraph_ws.graph import Graph

__all__ = ["UNDECIDED", "DeviceMatching", "edge_inside"]

BLOCK = 256
UNDECIDED = -2  # a vertex that has not looked at its neighbours yet
NOTHING = np.iinfo(np.int64).max


def edge_inside(graph: DeviceGraph, left: Any, numbers: Any) -> tuple[int, int, bool] | None:
    """Look for an edge whose ends are on one side.

    Parameters
    ----------
    graph : DeviceGraph
    left : device array of bool, shape (size,), by position
    numbers : device array of int32 or int64, shape (size,)
        The number of the vertex at each position.

    Returns
    -------
    (source, destination, whether they are on the left) or None
        The edge to the least vertex, by number; of those the one from the least.
    """
    here, rows = device(), graph.csc
    found = here.xp.full(1, NOTHING, np.int64)
    here.module("matching").launch(
        "find_inside", here.blocks_for(graph.arcs, BLOCK), BLOCK, *rows, left, numbers, graph.size,
        graph.arcs, found,
    )  # fmt: skip
    destination = int(here.to_host(found)[0])
    if destination == NOTHING:
        return None
    place = int(here.to_host(here.xp.flatnonzero(numbers == destination))[0])
    begin, end = here.to_host(rows.offsets[place : place + 2]).tolist()
    neighbours = rows.indices[begin:end]
    inside = left[neighbours] == left[place]
    source = int(here.to_host(numbers[neighbours[inside]].min()))
    return source, destination, bool(here.to_host(left[place]))


class DeviceMatching:
    """The loop on the CUDA engine: each step is a round of proposals.

    Parameters
    ----------
    left : sequence, ndarray, Series, frame or str
        Ids of the vertices on the left, or the name of a vertex attribute.
    seed : int
        Seed of the edges' ranks.
    key : int
        The seed, hashed.
    """

    name = "maximal_bipartite_matching"
    by_vertex = True
    diverged = False
    max_iter: int | None = None
    tol: float | None = None
    _free: Any  # the first `_count` are the vertices that may still find a mate
    _spare: Any
    _count: int

    def __init__(self, left: Any, seed: int, key: int) -> None:
        self._left, self._seed, self._key = left, seed, key

    def on_cuda(self) -> DeviceMatching:
        """Return the loop itself."""
        return self

    def on_crew(self) -> Loop:
        """Return the same algorithm for a share of a graph."""
        from cugraph_ws.cluster.matching import CrewMatching

        return CrewMatching(self._left, self._seed, self._key)

    def start(self, graph: Graph) -> None:
        """Read which vertices are on the left, and refuse edges within a side."""
        self._device = device()
        self._module = self._device.module("matching")
        self._graph = there = graph.on_device()
        xp = self._device.xp
        if isinstance(self._left, str):
            self._is_left, _ = graph.vertex_values(
                self._left, "left", np.bool_, default=False, on_device=True
            )
        else:
            self._is_left = xp.zeros(there.size, np.bool_)
            self._is_left[graph.numbers(self._left, "left", on_device=True)] = True
        self._check_sides(graph)
        index = there.csc.indices.dtype
        self._parts = 1 if there.undirected else 2
        self._adjacency = *there.csc, *there.csr
        self._mate = xp.full(there.size, -1, index)
        self._best = xp.full(there.size, UNDECIDED, index)
        self._counts = xp.zeros(2, np.int64)
        self._find_free()

    @property
    def converged(self) -> bool:
        """Whether no free vertex has a free neighbour."""
        return self._count == 0

    def step(self) -> Step:
        """Let free vertices propose, and match those whose proposals are mutual."""
        active, here = self._count, self._device
        self._counts[:] = 0
        blocks = here.blocks_for(active, BLOCK)
        self._propose()
        self._module.launch(
            "accept", blocks, BLOCK, self._mate, self._best, self._free, active, self._spare,
            self._counts,
        )  # fmt: skip
        self._free, self._spare = self._spare, self._free
        self._count, read = here.to_host(self._counts).tolist()
        return Step(active, read, direction="pull", filter="list")

    def inputs(self) -> dict[str, Any]:
        """Return which vertices are on the left, and the seed."""
        return {"left": self._device.to_host(self._is_left), "seed": self._seed}

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return the mates, and what each vertex proposed last."""
        to_host = self._device.to_host
        return {name: to_host(self._numbered(array)) for name, array in self._arrays()}

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse what is no state of such a run; alone."""
        from cugraph_ws.algorithms.matching import check_mates

        check_mates(state, self._device.to_host(self._is_left))

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Go on with some vertices matched."""
        graph, xp = self._graph, self._device.xp
        values = graph.by_position(state["mate"].astype(self._mate.dtype))
        known = xp.take(graph.positions, xp.maximum(values, 0)) if graph.size else values
        self._mate[:] = xp.where(values >= 0, known, values)
        # Proposals are made again: one that is not the best would never be mutual.  So it is looked
        # whether those who found nobody have nobody.
        self._best[:] = UNDECIDED
        alone = (graph.by_position(state["best"]) == -1) & (self._mate < 0)
        self._free = xp.flatnonzero(alone).astype(self._mate.dtype)
        self._count = len(self._free)
        if self._count:
            self._propose()
        self._find_free()

    def columns(self) -> dict[str, VertexNumbers]:
        """Return the mate of each vertex."""
        return {"mate": VertexNumbers(self._numbered(self._mate), nullable=True)}

    def _arrays(self) -> tuple[tuple[str, Any], tuple[str, Any]]:
        return ("mate", self._mate), ("best", self._best)

    def _numbered(self, array: Any) -> Any:
        """Return vertices by position as vertex numbers by number; negative ones stay."""
        graph, xp = self._graph, self._device.xp
        known = xp.take(graph.numbers, xp.maximum(array, 0)) if graph.size else array
        return graph.by_number(xp.where(array >= 0, known, array))

    def _propose(self) -> None:
        """Let free vertices propose."""
        self._module.launch(
            "propose", self._device.blocks_for(self._count, BLOCK), BLOCK, self._adjacency,
            self._parts, self._graph.numbers, self._mate, self._best, self._free, self._count,
            self._key, self._counts,
        )  # fmt: skip

    def _find_free(self) -> None:
        """List the vertices that may still find a mate."""
        free = self._device.xp.flatnonzero((self._mate < 0) & (self._best != -1))
        self._free = free.astype(self._mate.dtype)
        self._spare = self._device.xp.empty_like(self._free)
        self._count = len(free)

    def _check_sides(self, graph: Graph) -> None:
        """Raise InputError naming an edge whose ends are on one side."""
        from cugraph_ws.algorithms.matching import side_error

        left = self._graph.by_position(self._is_left)
        found = edge_inside(self._graph, left, self._graph.numbers)
        if found is not None:
            source, destination, on_left = found
            raise side_error(graph.describe(source), graph.describe(destination), on_left=on_left)
