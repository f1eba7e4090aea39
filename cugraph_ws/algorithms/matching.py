"""A maximal matching of a bipartite graph, by mutual proposals."""

from __future__ import annotations

from typing import Any, ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from cugraph_ws.algorithms.options import Columns, RunOptions, Weight
from cugraph_ws.arguments import check_count
from cugraph_ws.cluster.spread import spreads
from cugraph_ws.engines.threads import cut_evenly, cut_offsets, number_of_threads, parallel
from cugraph_ws.errors import InputError
from cugraph_ws.frame_types import FrameT
from cugraph_ws.frames import VertexNumbers
from cugraph_ws.graph import Graph
from cugraph_ws.kernels.cpu.matching import UNDECIDED, accept, find_inside, propose
from cugraph_ws.run import Loop, Step, run
from cugraph_ws.saved_state import SavedState

__all__ = ["MaximalBipartiteMatching", "maximal_bipartite_matching"]

Array = npt.NDArray[Any]

GRAIN = 1 << 12  # vertices that are worth a task of their own
GREATEST_SEED = 2**128 - 1


@spreads
def maximal_bipartite_matching(
    graph: Graph[FrameT] | FrameT,
    left: Any,
    *,
    seed: int = 0,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = None,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Match vertices on the left with neighbours on the right until no edge could be added.

    The matching is maximal: every edge has an end that is matched.  It need not be of maximum
    size, but is at least half of that.  The direction of edges does not matter.

    Parameters
    ----------
    graph : Graph or DataFrame
        The graph, or an edge frame.
    left : sequence, ndarray, Series, frame or str
        The ids of the vertices on the left, or the name of a vertex attribute that is true (or 1)
        for them; all others are on the right.
    seed : int
        Another seed gives another matching; the same one gives the same, on any machine.
    source, destination : str or list of str
        Id columns of an edge frame.
    weight : str, optional
        Weight column of an edge frame; it does not matter here.
    directed : bool
        How an edge frame is read; it makes no difference to the result.
    **options
        engine, progress, timeout, checkpoint, every, resume: see `run`.

    Returns
    -------
    DataFrame
        Columns `vertex` and `mate`; null for a vertex that is not matched.

    Raises
    ------
    InputError
        If an edge joins two vertices of one side, or the frame or an argument cannot be used.
    ConvergenceError
        If the run was stopped early; `.result` has the state so far.

    References
    ----------
    .. [1] G. E. Blelloch, J. T. Fineman and J. Shun, "Greedy sequential maximal independent set
       and matching are parallel on average", SPAA 2012.
    """
    result = run(
        MaximalBipartiteMatching(left, seed),
        graph,
        source_column=source,
        destination_column=destination,
        weight_column=weight,
        directed=directed,
        **options,
    )
    return result.require_convergence("maximal_bipartite_matching").frame


class MaximalBipartiteMatching:
    """The algorithm as a loop for `run`: each step is a round of proposals.

    Parameters
    ----------
    left : sequence, ndarray, Series, frame or str
        Ids of the vertices on the left, or the name of a vertex attribute.
    seed : int
        Seed of the edges' ranks.
    """

    name = "maximal_bipartite_matching"
    outputs: ClassVar = {"mate": True}
    by_vertex = True
    diverged = False
    max_iter: int | None = None
    tol: float | None = None
    _free: Array  # vertices that may still find a mate

    def __init__(self, left: Any, seed: int = 0) -> None:
        check_count("seed", seed, most=GREATEST_SEED)
        self._left, self._seed = left, seed
        self._key = int(np.random.SeedSequence(int(seed)).generate_state(1, np.uint64)[0] >> 1)

    def on_cuda(self) -> Loop:
        """Return the same loop for the CUDA engine."""
        from cugraph_ws.cuda.matching import DeviceMatching

        return DeviceMatching(self._left, self._seed, self._key)

    def on_crew(self) -> Loop:
        """Return the same loop for a share of a graph."""
        from cugraph_ws.cluster.matching import CrewMatching

        return CrewMatching(self._left, self._seed, self._key)

    def start(self, graph: Graph) -> None:
        """Read which vertices are on the left, and refuse edges within a side."""
        vertices, rows = graph.number_of_vertices, graph.csc
        if isinstance(self._left, str):
            left, _ = graph.vertex_values(self._left, "left", np.bool_, default=False)
        else:
            left = np.zeros(vertices, np.bool_)
            left[graph.numbers(self._left, "left")] = True
        _check_sides(graph, left)
        self._is_left = left
        back = graph.csr
        more = back.indices if graph.directed else back.indices[:0]
        self._adjacency = rows.offsets, rows.indices, back.offsets, more
        self._mate = np.full(vertices, -1, rows.indices.dtype)
        self._best = np.full(vertices, UNDECIDED, rows.indices.dtype)
        self._find_free()

    @property
    def converged(self) -> bool:
        """Whether no free vertex has a free neighbour."""
        return len(self._free) == 0

    def step(self) -> Step:
        """Let free vertices propose, and match those whose proposals are mutual."""
        mate, best, free = self._mate, self._best, self._free
        read = self._propose()
        parallel(accept, [(mate, best, free, *cut) for cut in self._ranges()])
        active = len(free)
        self._free = free[(mate[free] < 0) & (best[free] >= 0)]
        return Step(active, read, direction="pull", filter="list")

    def inputs(self) -> dict[str, Any]:
        """Return which vertices are on the left, and the seed."""
        return {"left": self._is_left, "seed": self._seed}

    def state(self) -> dict[str, Array]:
        """Return the mates, and what each vertex proposed last."""
        return {"mate": self._mate, "best": self._best}

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse what is no state of such a run; alone."""
        check_mates(state, self._is_left)

    def restore(self, state: dict[str, Array]) -> None:
        """Go on with some vertices matched."""
        self._mate = state["mate"].astype(self._mate.dtype)
        # Proposals are made again: one that is not the best would never be mutual.  So it is looked
        # whether those who found nobody have nobody.
        self._best[:] = UNDECIDED
        alone = np.flatnonzero((self._mate < 0) & (state["best"] == -1))
        self._free = alone.astype(self._mate.dtype)
        self._propose()
        self._find_free()

    def columns(self) -> dict[str, VertexNumbers]:
        """Return the mate of each vertex."""
        return {"mate": VertexNumbers(self._mate, nullable=True)}

    def _propose(self) -> int:
        """Let free vertices propose; return the arcs read."""
        head = self._adjacency, self._mate, self._best, self._free, self._key
        return int(sum(parallel(propose, [(*head, *cut) for cut in self._ranges()])))

    def _ranges(self) -> list[tuple[int, int]]:
        """Cut the free vertices into ranges."""
        size = len(self._free)
        return cut_evenly(size, min(8 * number_of_threads(), 1 + size // GRAIN))

    def _find_free(self) -> None:
        """List the vertices that may still find a mate."""
        free = np.flatnonzero((self._mate < 0) & (self._best != -1))
        self._free = free.astype(self._mate.dtype)


def check_mates(state: SavedState, left: npt.NDArray[np.bool_]) -> None:
    """Refuse mates and proposals within a side, and mates of which one does not know.

    Parameters
    ----------
    state : SavedState
    left : ndarray of bool, shape (vertices,)
        The side of each vertex.

    Raises
    ------
    InputError
    """
    vertices = len(left)
    for name, least in (("mate", -1), ("best", UNDECIDED)):
        chosen = state.integers(name, vertices, least, vertices - 1)
        known = np.flatnonzero(chosen >= 0)
        across = left[chosen[known]] != left[known]
        state.require(name, across.all(), "joins two vertices of one side")
        if name == "mate":
            state.require(name, (chosen[chosen[known]] == known).all(), "has a mate of nobody")


def _check_sides(graph: Graph, left: npt.NDArray[np.bool_]) -> None:
    """Raise InputError naming an edge whose ends are on one side."""
    rows = graph.csc
    pieces = min(4 * number_of_threads(), 1 + rows.number_of_arcs // (1 << 16))
    tasks = [(rows.offsets, rows.indices, left, *cut) for cut in cut_offsets(rows.offsets, pieces)]
    for destination, source in parallel(find_inside, tasks):
        if destination < 0:
            continue
        raise side_error(
            graph.describe(source), graph.describe(destination), on_left=bool(left[source])
        )


def side_error(source: str, destination: str, *, on_left: bool) -> InputError:
    """Return the error about an edge within a side.

    Parameters
    ----------
    source, destination : str
        The ids of its ends, as text.
    on_left : bool
        Which side it is.

    Returns
    -------
    InputError
    """
    side = "left" if on_left else "right"
    return InputError(
        f"left: the edge {source} -> {destination} has both "
        f"ends on the {side}; every edge must join the left with the right: correct `left`, "
        f"or leave such edges out"
    )
