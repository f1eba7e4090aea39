"""Weakly connected components: union-find, most of it on a sample of the edges.

Two neighbours of every vertex are enough to join most of a graph with a giant component; where
edges stand in the rows of both ends, the rest of that component's rows need not be read (Afforest:
Sutton, Ben-Nun and Barak, IPDPS 2018).  They are the first and the last of the row, which differ
most: in meshes and road networks these two alone join nearly everything.  Hooking is that of ECL-CC (Jaiganesh and Burtscher, HPDC
2018), under the smaller root, so a label is its component's smallest vertex by construction.
"""

from __future__ import annotations

from typing import Any, ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from cugraph_ws.algorithms.options import Columns, RunOptions, Weight
from cugraph_ws.cluster.spread import spreads
from cugraph_ws.engines.threads import cut_evenly, number_of_threads, parallel
from cugraph_ws.frame_types import FrameT
from cugraph_ws.frames import VertexNumbers
from cugraph_ws.graph import Graph
from cugraph_ws.kernels.cpu.components import compress, link_arcs, link_samples
from cugraph_ws.run import Loop, Step, run
from cugraph_ws.saved_state import SavedState

__all__ = ["WeaklyConnectedComponents", "weakly_connected_components"]

SAMPLED = 2  # neighbours of each vertex that are linked at first: one at each end of its row
PROBES = 1024  # vertices asked for their label to find the largest component
ARCS_A_STEP = 1 << 24
GRAIN = 1 << 13  # vertices or arcs that are worth a task of their own


@spreads
def weakly_connected_components(
    graph: Graph[FrameT] | FrameT,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = None,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Label every vertex with the smallest vertex that it is connected with.

    The direction of edges does not matter.

    Parameters
    ----------
    graph : Graph or DataFrame
        The graph, or an edge frame.
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
        Columns `vertex` and `labels`: the smallest vertex id of the component.

    Raises
    ------
    InputError
        If the frame or an argument cannot be used.
    ConvergenceError
        If the run was stopped early; `.result` has the state so far.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["b", "d"], "destination": ["a", "c"]})
    >>> ws.weakly_connected_components(edges).labels.tolist()
    ['a', 'a', 'c', 'c']
    """
    result = run(
        WeaklyConnectedComponents(),
        graph,
        source_column=source,
        destination_column=destination,
        weight_column=weight,
        directed=directed,
        **options,
    )
    return result.require_convergence("weakly_connected_components").frame


class WeaklyConnectedComponents:
    """The algorithm as a loop for `run`: sampled neighbours first, then the arcs in blocks."""

    name = "weakly_connected_components"
    outputs: ClassVar = {"labels": True}
    by_vertex = True
    diverged = False
    max_iter: int | None = None
    tol: float | None = None

    def on_cuda(self) -> Loop:
        """Return the same loop for the CUDA engine."""
        from cugraph_ws.cuda.components import DeviceComponents

        return DeviceComponents()

    def on_crew(self) -> Loop:
        """Return the same loop for a share of a graph."""
        from cugraph_ws.cluster.components import CrewComponents

        return CrewComponents()

    def start(self, graph: Graph) -> None:
        """Make every vertex a tree of its own."""
        self._rows = graph.csc
        self._both_ways = not graph.directed
        self._parent = np.arange(graph.number_of_vertices, dtype=self._rows.indices.dtype)
        self._sampled = 0  # neighbours of every vertex linked so far
        self._arc = 0  # arcs before this one are done
        self._largest = -1  # the root whose rows are skipped

    @property
    def converged(self) -> bool:
        """Whether every arc has been linked or skipped."""
        return self._arc >= self._rows.number_of_arcs

    def step(self) -> Step:
        """Link one more neighbour of every vertex, or a block of arcs."""
        return self._sample() if self._sampled < SAMPLED else self._link()

    def inputs(self) -> dict[str, Any]:
        """Return nothing: the graph alone decides."""
        return {}

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return the forest, and how far the edges have been linked."""
        reached = np.array([self._sampled, self._arc, self._largest], np.int64)
        return {"parent": self._parent, "reached": reached}

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse what is no state of such a run; alone."""
        vertices, arcs = len(self._parent), self._rows.number_of_arcs
        parent = state.integers("parent", vertices, 0, np.arange(vertices))  # never a larger number
        ends = np.array([SAMPLED, arcs, vertices - 1])
        sampled, arc, largest = state.integers("reached", 3, [0, 0, -1], ends).tolist()
        state.require("reached", sampled == SAMPLED or arc == 0, "has arcs before all samples")
        root = largest < 0 or parent[largest] == largest
        state.require("reached", root, "skips the rows of a tree that is none")
        if "linked" in state:  # of a GPU, whose samples are others
            state.number("linked", 0, SAMPLED)

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Go on with a forest."""
        self._parent = state["parent"].astype(self._parent.dtype)
        self._sampled, self._arc, self._largest = state["reached"].tolist()

    def columns(self) -> dict[str, VertexNumbers]:
        """Return the label of each vertex."""
        return {"labels": VertexNumbers(self._parent)}

    def _sample(self) -> Step:
        rows, ranges = self._rows, _ranges(len(self._parent))
        tasks = [
            (rows.offsets, rows.indices, self._parent, self._sampled > 0, low, high)
            for low, high in ranges
        ]
        read = sum(parallel(link_samples, tasks))
        self._compress()
        self._sampled += 1
        if self._sampled == SAMPLED and self._both_ways:
            self._largest = self._most_frequent()
        return Step(len(self._parent), read, direction="sample", filter="all")

    def _link(self) -> Step:
        rows, first = self._rows, self._arc
        self._arc = min(first + ARCS_A_STEP, rows.number_of_arcs)
        cuts = [(first + low, first + high) for low, high in _ranges(self._arc - first)]
        starts = np.searchsorted(rows.offsets, [low for low, _ in cuts], side="right") - 1
        tasks = [
            (rows.offsets, rows.indices, self._parent, 1, self._largest, row, low, high)
            for (low, high), row in zip(cuts, starts.tolist(), strict=True)
        ]
        active = int(np.count_nonzero(self._parent != self._largest))
        read = sum(parallel(link_arcs, tasks))
        self._compress()
        if self._largest < 0:
            return Step(active, read, direction="link", filter="all")
        self._largest = int(self._parent[self._largest])  # it may have been hooked itself
        return Step(active, read, direction="link", filter="largest skipped")

    def _compress(self) -> None:
        ranges = _ranges(len(self._parent))
        parallel(compress, [(self._parent, low, high) for low, high in ranges])

    def _most_frequent(self) -> int:
        """Return the most frequent label among a few vertices: a guess that affects time alone."""
        probes = np.random.default_rng(0).integers(0, len(self._parent), PROBES)
        labels, counts = np.unique(self._parent[probes], return_counts=True)
        return int(labels[np.argmax(counts)])


def _ranges(size: int) -> list[tuple[int, int]]:
    return cut_evenly(size, min(4 * number_of_threads(), 1 + size // GRAIN))
