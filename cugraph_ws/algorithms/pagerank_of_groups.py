"""PageRank of every group of a graph of groups, as if each were a graph alone.

Ranks of a group sum to 1, what its vertices without out-edges have goes to its own vertices, and it ends when its own
ranks change by `tol` or less.  So a CPU computes a group to its end before the next one, while its arcs are in the
cache; a GPU computes a superstep of all groups at a time.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy.typing as npt

from cugraph_ws.algorithms.footprints import ROWS
from cugraph_ws.arguments import check_count, check_number
from cugraph_ws.backends import loops
from cugraph_ws.execution.loop import Checkpointed, Loop, Step
from cugraph_ws.graph.footprints import Sizes
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.arrays import as_host
from cugraph_ws.runtime.launch_times import OFFSET, note_bytes
from cugraph_ws.runtime.saved_state import SavedState

__all__ = ["PageRankOfGroups"]


VALUE = 8  # bytes


class PageRankOfGroups(Loop):
    """The algorithm as a loop for `run`; the residual is the greatest of those of all groups.

    Parameters
    ----------
    alpha : float
        Probability of following an edge.
    tol : float
        A group ends when its ranks change by this or less, in L1 norm.
    max_iter : int
        Most supersteps of a group.
    """

    name = "pagerank"
    outputs: ClassVar = {"pagerank": False}
    converged = False

    def __init__(self, alpha: float, tol: float, max_iter: int) -> None:
        check_number("tol", tol, finite=True)
        check_count("max_iter", max_iter)
        self._limits = float(alpha), float(tol), int(max_iter)

    @property
    def reads_weights(self) -> bool:
        """Whether the result depends on the graph's weights: it does."""
        return True

    @property
    def checkpoints(self) -> Checkpointed:
        """Where a run has checkpoints: nowhere."""
        return "none"

    def memory(self, sizes: Sizes) -> float:
        """Return the bytes that a run takes; see `footprints`."""
        return ROWS["pagerank of groups"].of(sizes)

    def start(self, graph: GraphView, *, on_device: bool = False) -> None:
        """Give all vertices of a group the same rank."""
        self._part = Part(graph, on_device=on_device)
        bounds = as_host(graph.first_of_groups())
        out_weight = graph.weight_sums(graph.weight, incoming=False, on_device=on_device)
        ranks = loops("pagerank_of_groups", on_device=on_device).Ranks
        self._ranks = ranks(self._part, bounds, out_weight, graph.weight, self._limits)
        self.converged = self._ranks.done

    def step(self) -> Step:
        """Compute some groups, or some supersteps of all."""
        active, read, change = self._ranks.step()
        self.converged = self._ranks.done
        index = self._part.index.itemsize
        arcs, vertices = self._part.graph.number_of_arcs, self._part.size
        computed = vertices * read / max(1, arcs)
        arc = index + VALUE * (1 + (self._part.graph.weight is not None))
        # Ranks are summed along arcs, and twice by group: what is lost, and what has changed
        note_bytes(read * arc + computed * (2 * OFFSET + 2 * (index + VALUE)), computed * VALUE)
        return Step(active, read, residual=change, direction="gather")

    def columns(self) -> dict[str, Any]:
        """Return the ranks."""
        return {"pagerank": self._part.by_number(self._ranks.ranks)}

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return nothing: there are no checkpoints."""
        return {}

    def check(self, state: SavedState, graph: Any) -> None:
        """Accept nothing: there are no checkpoints."""

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Restore nothing: there are no checkpoints."""
