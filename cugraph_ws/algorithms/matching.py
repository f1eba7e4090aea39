"""A maximal matching of a bipartite graph, by mutual proposals."""

from __future__ import annotations

from typing import Any, ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from cugraph_ws.algorithms.footprints import ROWS
from cugraph_ws.algorithms.options import Columns, RunOptions, Weight
from cugraph_ws.algorithms.registry import algorithm
from cugraph_ws.arguments import check_count
from cugraph_ws.backends import loops
from cugraph_ws.errors import InputError
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.driver import run_on
from cugraph_ws.execution.loop import Loop, Step
from cugraph_ws.frames.base import VertexNumbers
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.footprints import Sizes
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.kernels.cpu.matching import UNDECIDED
from cugraph_ws.partition.part import Part
from cugraph_ws.partition.symmetrise import all_neighbours
from cugraph_ws.runtime.arrays import as_host
from cugraph_ws.runtime.launch_times import OFFSET, note_bytes
from cugraph_ws.runtime.saved_state import SavedState

__all__ = ["MaximalBipartiteMatching", "maximal_bipartite_matching"]

Array = Any  # NumPy's or CuPy's

GREATEST_SEED = 2**128 - 1


@algorithm(
    group="structure",
    columns="vertex, mate",
    example=lambda ids: {"left": ids[::3]},
    note="Deterministic for a seed.",
    directions=False,
)
@accepts_dask_frames
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
    """Match left vertices with right neighbours until no edge can be added.

    The matching is maximal: every edge has a matched end.  It may be smaller than a maximum matching,
    but has at least half its size.  The direction of edges does not matter.

    Parameters
    ----------
    left : sequence, ndarray, Series, frame or str
        Ids of the left vertices, or the name of a vertex attribute that is true (or 1) for
        them; all others are right vertices.
    seed : int
        Different seeds give different matchings; the same seed gives the same on any machine.

    Returns
    -------
    DataFrame
        Columns `vertex` and `mate`; null for an unmatched vertex.

    Raises
    ------
    InputError
        If an edge matches two vertices of one side, or the frame or an argument is invalid.
    ConvergenceError
        If the run is stopped early; `.result` has the matching so far.

    References
    ----------
    .. [1] G. E. Blelloch, J. T. Fineman and J. Shun, "Greedy sequential maximal independent set
       and matching are parallel on average", SPAA 2012.

    Examples
    --------
    Each applicant gets at most one of the jobs that they want:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> applicants, jobs = ["Ann", "Ann", "Bob"], ["baker", "cook", "baker"]
    >>> wishes = pd.DataFrame({"source": applicants, "destination": jobs})
    >>> ws.maximal_bipartite_matching(wishes, left=["Ann", "Bob"]).head(2).to_dict("list")
    {'vertex': ['Ann', 'Bob'], 'mate': ['cook', 'baker']}
    """
    result = run_on(
        MaximalBipartiteMatching(left, seed),
        as_graph(graph, source=source, destination=destination, weight=weight, directed=directed),
        **options,
    )
    return result.require_convergence("maximal_bipartite_matching").frame


class MaximalBipartiteMatching(Loop):
    """The algorithm as a loop for `run`: each step is a round of proposals, on one rank or several.

    Edges are ranked by a hash of their ends' numbers.  The result is that of the greedy algorithm
    on edges in this order, so it does not depend on which rank owns a vertex.  Mates and proposals
    are positions.  For a ghost a rank knows whether it has a mate, and which owned vertex it last
    proposed to, if it has.

    Parameters
    ----------
    left : sequence, ndarray, Series, frame or str
        Ids of the left vertices, or the name of a vertex attribute.
    seed : int
        Seed of the edges' ranks.

    Examples
    --------
    Seeds differ in who gets the job that two want:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> applicants, jobs = ["Ann", "Ann", "Bob"], ["baker", "cook", "baker"]
    >>> wishes = pd.DataFrame({"source": applicants, "destination": jobs})
    >>> for seed in 0, 2:
    ...     result = ws.run(ws.MaximalBipartiteMatching(["Ann", "Bob"], seed), wishes)
    ...     print(result.frame.dropna().vertex.tolist(), result.converged)
    ['Ann', 'Bob', 'baker', 'cook'] True
    ['Ann', 'baker'] True
    """

    name = "maximal_bipartite_matching"
    outputs: ClassVar = {"mate": True}
    by_vertex_state: tuple[str, ...] = ("mate", "best")
    _free: Array  # owned vertices that may still find a mate
    _all_free: int  # number of these on all ranks
    _said: Array  # by entry of the boundaries: the last proposal sent, and whether it is matched
    _matched: Array

    def __init__(self, left: Any, seed: int = 0) -> None:
        check_count("seed", seed, most=GREATEST_SEED)
        self._left, self._seed = left, seed
        self._key = int(np.random.SeedSequence(int(seed)).generate_state(1, np.uint64)[0] >> 1)

    @property
    def vertices_given(self) -> dict[str, Any]:
        """Arguments that contain vertices, by name; they are looked up before the run."""
        return {"left": self._left}

    def memory(self, sizes: Sizes) -> float:
        """Return the bytes that a run takes; see `footprints`."""
        return ROWS["maximal_bipartite_matching"].of(sizes)

    def start(self, graph: GraphView, *, on_device: bool = False) -> None:
        """Read which vertices are on the left, and refuse edges within a side."""
        backend = loops("matching", on_device=on_device)
        made_on_device = on_device and graph.binds_on_device
        if isinstance(self._left, str):
            left, _ = graph.vertex_values(
                self._left, "left", np.bool_, default=False, on_device=made_on_device
            )
        else:
            left = graph.members(self._left, "left", on_device=made_on_device)
        self._is_left = left
        on_graph = Part(graph, on_device=on_device)
        if on_device:
            left = on_graph.laid.by_position(left)
        _refuse_inside(on_graph, backend.edge_inside(on_graph, left))
        self._part = part = all_neighbours(graph, on_device=on_device)
        self._rounds = backend.Rounds(part, self._key)
        # By entry of the boundaries: the range of positions that its holder owns.
        firsts, lasts = zip(*part.ghosts, strict=True)
        self._theirs = part.halo.by_holder(firsts), part.halo.by_holder(lasts)
        self._mate = part.xp.full(part.size, -1, part.index)
        self._best = part.xp.full(part.size, UNDECIDED, part.index)
        self._find_free()

    @property
    def converged(self) -> bool:
        """Whether no free vertex has a free neighbour."""
        return self._all_free == 0

    def step(self) -> Step:
        """Let free vertices propose, and match those with mutual proposals."""
        active, mate, best = self._all_free, self._mate, self._best
        free = self._free
        self._rounds.propose(mate, best, free)
        self._send_proposals()
        self._free, read = self._rounds.accept(mate, best, self._free)
        self._send_mates()
        # An arc loads a neighbour, its mate and its number; a free vertex is listed twice
        index, number, listed = mate.itemsize, self._part.numbers.itemsize, len(free)
        ways = 2 if self._part.directed else 1
        vertex = 2 * OFFSET * ways + number + 5 * index
        note_bytes(read * (2 * index + number) + listed * vertex, listed * 2 * index)
        self._all_free, read, bytes_sent = self._part.halo.totals(len(self._free), read)
        return Step(active, read, direction="pull", filter="list", bytes_sent=bytes_sent)

    def inputs(self) -> dict[str, Any]:
        """Return which vertices are on the left, and the seed."""
        return {"left": as_host(self._is_left), "seed": self._seed}

    def state(self) -> dict[str, Array]:
        """Return owned vertices' mates and last proposals, as vertex numbers."""
        return {
            name: as_host(self._numbers(array)).astype(np.int64)
            for name, array in (("mate", self._mate), ("best", self._best))
        }

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse a state that this run cannot have saved; not collective."""
        if self._part.halo.alone:
            check_mates(state, as_host(self._is_left))
        for name, least in (("mate", -1), ("best", UNDECIDED)):
            state.integers(name, graph.owned, least, graph.number_of_vertices - 1)

    def restore(self, state: dict[str, Array]) -> None:
        """Resume with some vertices matched."""
        part = self._part
        self._mate[:] = part.placed(part.with_ghosts(state["mate"].astype(np.int64)))
        # Proposals are made again, since only a vertex's best proposal can become mutual.  Vertices
        # without a proposal are checked again for free neighbours.
        self._best[:] = UNDECIDED
        alone = part.xp.zeros(part.size, np.bool_)
        alone[part.order] = part.xp.asarray(state["best"] == -1)
        free = part.xp.flatnonzero(alone & (self._mate < 0)).astype(self._mate.dtype)
        self._rounds.propose(self._mate, self._best, free)
        self._best[:] = part.placed(part.with_ghosts(self._numbers(self._best).astype(np.int64)))
        self._find_free()

    def columns(self) -> dict[str, VertexNumbers]:
        """Return the mate of each owned vertex."""
        return {"mate": VertexNumbers(self._numbers(self._mate), nullable=True)}

    def _numbers(self, places: Array) -> Array:
        """Return positions of vertices as vertex numbers, ordered by owned vertex number."""
        return self._part.named(self._part.by_number(places))

    def _send_proposals(self) -> None:
        """Send new proposals to the owners of the proposed vertices only."""
        halo, part, best = self._part.halo, self._part, self._best
        if halo.alone:
            return
        (first, last), mine = self._theirs, best[halo.ends]
        changed = (mine != self._said) & (mine >= first) & (mine < last)
        self._said = mine
        for ghosts, (chosen,) in halo.update_changed(changed, lambda own: [part.named(best[own])]):
            best[ghosts] = part.placed(chosen)

    def _send_mates(self) -> None:
        """Update ghosts of newly matched vertices."""
        halo, mate = self._part.halo, self._mate
        if halo.alone:
            return
        matched = mate[halo.ends] >= 0
        for ghosts, _ in halo.update_changed(matched & ~self._matched, lambda _: []):
            mate[ghosts] = ghosts
        self._matched = matched

    def _find_free(self) -> None:
        """List the owned vertices that may still find a mate; collective."""
        owned, ends = slice(self._part.owned), self._part.halo.ends
        free = self._part.xp.flatnonzero((self._mate[owned] < 0) & (self._best[owned] != -1))
        self._free = free.astype(self._mate.dtype)
        self._said, self._matched = self._best[ends], self._mate[ends] >= 0
        self._all_free, _ = self._part.halo.totals(len(self._free))


def check_mates(state: SavedState, left: npt.NDArray[np.bool_]) -> None:
    """Refuse mates and proposals within a side, and mates that are not mutual.

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
        state.require(name, across.all(), "matches two vertices of one side")
        if name == "mate":
            state.require(
                name,
                (chosen[chosen[known]] == known).all(),
                "names a mate that is matched to another vertex",
            )


def _refuse_inside(part: Part, own: tuple[int, int, bool] | None) -> None:
    """Raise InputError for the first edge within a side that any rank has found; collective."""
    shown = [edge for edge in part.halo.comm.allgather(own) if edge is not None]
    if shown:
        *ends, on_left = shown[0]
        source, destination = part.graph.describe_vertices(ends)
        side = "left" if on_left else "right"
        raise InputError(
            f"left: the edge {source} -> {destination} has both ends on the {side}, but every edge "
            f"must join the left and the right; correct `left`, or leave such edges out"
        )
