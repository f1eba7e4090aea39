"""A maximal matching of a graph that a crew holds: the one that one machine finds.

Ranks of edges are those of their ends' numbers, so the outcome, which is that of the greedy
algorithm on edges in the order of rank, does not depend on who owns what.  In a round members tell
each other what the vertices at their boundaries have newly proposed, and who of them is matched.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.algorithms.matching import side_error
from cugraph_ws.cluster.mirror import both_ways
from cugraph_ws.cluster.post import Post
from cugraph_ws.cluster.shard import ShardGraph
from cugraph_ws.engines.threads import cut_evenly, number_of_threads, parallel
from cugraph_ws.frames import VertexNumbers
from cugraph_ws.kernels.cpu.matching import UNDECIDED, find_inside, propose_share
from cugraph_ws.run import Step
from cugraph_ws.saved_state import SavedState

__all__ = ["CrewMatching", "refuse_inside"]

Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]

GRAIN = 1 << 12  # vertices that are worth a task of their own


class CrewMatching:
    """The loop on a share of a graph: each step is a round of proposals.

    Parameters
    ----------
    left : sequence, ndarray, Series, frame or str
        Ids of the vertices on the left, or the name of a vertex attribute.
    seed : int
        Seed of the edges' ranks.
    key : int
        What is made of the seed.
    """

    name = "maximal_bipartite_matching"
    by_vertex = True
    by_vertex_state: tuple[str, ...] = ("mate", "best")
    by_arc_state: tuple[str, ...] = ()
    diverged = False
    max_iter: int | None = None
    tol: float | None = None
    _free: Integers  # own vertices that may still find a mate
    _all_free: int  # of all members

    def __init__(self, left: Any, seed: int, key: int) -> None:
        self._left, self._seed, self._key = left, seed, key

    def on_cuda(self) -> CrewMatching:
        """Return the loop for members that have a GPU each."""
        from cugraph_ws.cluster.device_matching import DeviceCrewMatching

        return DeviceCrewMatching(self._left, self._seed, self._key)

    def on_crew(self) -> CrewMatching:
        """Return the loop itself."""
        return self

    def start(self, graph: Any) -> None:
        """Read which vertices are on the left, refuse edges within a side, and list neighbours."""
        if isinstance(self._left, str):
            left, _ = graph.vertex_values(self._left, "left", np.bool_, default=False)
        else:
            left = graph.members(self._left, "left")
        _check_sides(graph, left)
        self._is_left = left
        self._shard: ShardGraph = both_ways(graph)
        self._post = Post(self._shard)
        self._mate = np.full(self._shard.length, -1, np.int64)
        self._best = np.full(self._shard.length, UNDECIDED, np.int64)  # numbers, ghosts' as well
        self._choice = np.full(self._shard.owned, UNDECIDED, np.int64)  # the same as positions
        self._find_free()

    @property
    def converged(self) -> bool:
        """Whether no free vertex has a free neighbour."""
        return self._all_free == 0

    def step(self) -> Step:
        """Let free vertices propose, and match those whose proposals are mutual."""
        active = self._all_free
        numbers, free, choice = self._shard.positions, self._free, self._choice
        read, chosen = self._choose()
        changed = np.zeros(self._shard.owned, np.bool_)
        # Who proposes to nobody has no free neighbour left to be told.
        changed[free] = (chosen != self._best[free]) & (chosen >= 0)
        self._best[free] = chosen
        self._post.tell(changed, self._best)
        free = free[chosen >= 0]
        mutual = free[self._best[choice[free]] == numbers[free]]
        self._mate[mutual] = self._best[mutual]
        changed[:] = False
        changed[mutual] = True
        self._post.tell(changed, self._mate)
        self._free = free[self._mate[free] < 0]
        self._all_free, read, sent = self._post.totals(len(self._free), read)
        return Step(active, read, direction="pull", filter="list", bytes_sent=sent)

    def inputs(self) -> dict[str, Any]:
        """Return which vertices are on the left, and the seed."""
        return {"left": self._is_left, "seed": self._seed}

    def state(self) -> dict[str, Array]:
        """Return own vertices' mates, and what each proposed last, as numbers."""
        own = slice(self._shard.owned)
        return {"mate": self._mate[own], "best": self._best[own]}

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse what is no state of such a run; alone."""
        for name, least in (("mate", -1), ("best", UNDECIDED)):
            state.integers(name, graph.owned, least, graph.number_of_vertices - 1)

    def restore(self, state: dict[str, Array]) -> None:
        """Go on with some vertices matched."""
        self._mate = self._shard.with_ghosts(state["mate"].astype(np.int64))
        # Proposals are made again: one that is not the best would never be mutual.  So it is looked
        # whether those who found nobody have nobody.
        self._best[:] = UNDECIDED
        self._choice[:] = UNDECIDED
        self._free = np.flatnonzero((self._mate[: self._shard.owned] < 0) & (state["best"] == -1))
        _, self._best[self._free] = self._choose()
        self._best = self._shard.with_ghosts(self._best[: self._shard.owned])
        self._find_free()

    def columns(self) -> dict[str, VertexNumbers]:
        """Return the mate of each own vertex."""
        return {"mate": VertexNumbers(self._mate[: self._shard.owned], nullable=True)}

    def _choose(self) -> tuple[int, Integers]:
        """Let free own vertices choose; return the arcs read, and the numbers of whom they chose."""
        numbers, free, choice = self._shard.positions, self._free, self._choice
        rows = self._shard.csc
        ranges = cut_evenly(len(free), min(8 * number_of_threads(), 1 + len(free) // GRAIN))
        head = rows.offsets, rows.indices, numbers, self._mate, choice, free, self._key
        read = sum(parallel(propose_share, [(*head, *cut) for cut in ranges]))
        chosen: Integers = np.where(choice[free] >= 0, numbers[choice[free]], -1)
        return int(read), chosen

    def _find_free(self) -> None:
        """List the own vertices that may still find a mate, together."""
        own = slice(self._shard.owned)
        self._free = np.flatnonzero((self._mate[own] < 0) & (self._best[own] != -1))
        self._all_free, _ = self._post.totals(len(self._free))


def _check_sides(shard: ShardGraph, left: npt.NDArray[np.bool_]) -> None:
    """Raise InputError naming an edge whose ends are on one side, together."""
    rows, own = shard.csc, None
    destination, source = find_inside(rows.offsets, rows.indices, left, 0, shard.owned)
    if destination >= 0:
        first, second = shard.positions[[source, destination]].tolist()
        own = first, second, bool(left[source])
    refuse_inside(shard, own)


def refuse_inside(shard: ShardGraph, own: tuple[int, int, bool] | None) -> None:
    """Raise InputError for the first edge within a side that a member has found, together.

    Parameters
    ----------
    shard : ShardGraph
    own : (int, int, bool), optional
        The numbers of the ends of the one that was found here, and whether they are on the left.

    Raises
    ------
    InputError
        For all members, where one has found any.
    """
    shown = [one for one in shard.crew.allgather(own) if one is not None]
    if shown:
        first, second, on_left = shown[0]
        names = [shard._vertices.describe(end) for end in (first, second)]
        raise side_error(*names, on_left=on_left)
