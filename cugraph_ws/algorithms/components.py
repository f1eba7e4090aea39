"""Weakly connected components: union-find, mostly on a sample of the edges.

If a graph has a giant component, linking two neighbours of every vertex joins most of it.  Where
both ends of an edge have it in their rows, the other rows of that component need not be read
(Afforest: Sutton, Ben-Nun and Barak, IPDPS 2018).  The two sampled neighbours are the first and
the last of the row, which differ most: in meshes and road networks these two alone join nearly
everything.  Hooking follows ECL-CC (Jaiganesh and Burtscher, HPDC 2018).

Each rank links its own arcs, ghosts included.  The label of a tree is its smallest vertex.  If
skipping arcs saves much work, ranks first exchange their largest trees, one bit for each vertex
that two ranks hold, and each rank joins the vertices that it receives.  Rounds follow, in which
labels are exchanged between ranks; two are usually enough.  If more are needed, pairs of labels that
share a vertex are contracted instead.
"""

from __future__ import annotations

from typing import Any, ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from cugraph_ws.algorithms.footprints import ROWS
from cugraph_ws.algorithms.options import Columns, RunOptions, Weight
from cugraph_ws.algorithms.registry import algorithm
from cugraph_ws.backends import loops
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.driver import run_on
from cugraph_ws.execution.loop import Loop, Step
from cugraph_ws.frames.base import VertexNumbers
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.footprints import Sizes
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.part import Part
from cugraph_ws.partition.shared_labels import SharedLabels
from cugraph_ws.runtime.arrays import as_host
from cugraph_ws.runtime.launch_times import OFFSET, note_bytes
from cugraph_ws.runtime.saved_state import SavedState

__all__ = ["WeaklyConnectedComponents", "weakly_connected_components"]

Array = Any  # NumPy's or CuPy's

SAMPLED = 2  # neighbours of each vertex that are linked first
FEWEST = 2  # rounds before their progress is checked
SHARED = 1 << 20  # pairs of labels that every rank can hold at once
LEAST_SHOWN = 1 << 20  # ranks exchange their largest trees if the graph has at least so many arcs


@algorithm(
    group="structure",
    columns="vertex, labels",
    directions=False,
    by_group=True,
)
@accepts_dask_frames
def weakly_connected_components(
    graph: Graph[FrameT] | FrameT,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = None,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Label every vertex with the smallest vertex of its component.

    The direction of edges does not matter.

    Returns
    -------
    DataFrame
        Columns `vertex` and `labels`: the smallest vertex id of the component.

    Raises
    ------
    InputError
        If the frame or an argument is invalid.
    ConvergenceError
        If the run is stopped early; `.result` has the labels so far.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["b", "d"], "destination": ["a", "c"]})
    >>> ws.weakly_connected_components(edges).labels.tolist()
    ['a', 'a', 'c', 'c']
    """
    result = run_on(
        WeaklyConnectedComponents(),
        as_graph(graph, source=source, destination=destination, weight=weight, directed=directed),
        **options,
    )
    return result.require_convergence("weakly_connected_components").frame


class WeaklyConnectedComponents(Loop):
    """The algorithm as a loop for `run`: samples, then all arcs, then labels between ranks.

    On a whole graph each step links samples, or a range of rows or arcs.  On shards the last
    linking step also does the first round; each later step is a round or a contraction.  Labels are
    contracted after a round that leaves more than half as many undecided labels as the round before,
    so the number of rounds is small for every graph.

    Examples
    --------
    The sizes of the components, by their least vertices:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "c", "e"], "destination": ["b", "b", "d"]})
    >>> result = ws.run(ws.WeaklyConnectedComponents(), edges)
    >>> result.frame.groupby("labels").size().to_dict(), result.converged
    ({'a': 3, 'd': 2}, True)
    """

    name = "weakly_connected_components"
    outputs: ClassVar = {"labels": True}
    by_vertex_state: tuple[str, ...] = ("labels",)
    converged = False
    _shared: SharedLabels  # vertices that other ranks hold too, once all own arcs are linked
    _least: Array  # the label of each root
    _found: Array | None  # labels of owned vertices, once they are known
    _pairs: int | None  # pairs of labels of all ranks, once contracted

    def memory(self, sizes: Sizes) -> float:
        """Return the bytes that a run takes; see `footprints`."""
        return ROWS["weakly_connected_components"].of(sizes)

    def start(self, graph: GraphView, *, on_device: bool = False) -> None:
        """Make every vertex a tree by itself."""
        self._backend = loops("components", on_device=on_device)
        self._shared_ends = loops("shared_ends", on_device=on_device).SharedEnds
        self._part = Part(graph, on_device=on_device)
        lead, self._to_link = (0, 0) if graph.whole else self._plan()
        self._forest = self._backend.Forest(self._part, lead)
        self._found = self._pairs = None
        self._rounds = self._unsettled = 0  # labels that another rank may improve
        self._slow = False  # whether labels are contracted from now on
        self.converged = graph.number_of_arcs == 0

    def step(self) -> Step:
        """Link own arcs, send labels one rank farther, or contract pairs of labels."""
        if self._part.whole:
            direction = "sample" if self._forest.sampling else "link"
            active, read, rows = self._forest.step()
            self.converged = self._forest.converged
            self._note(read, active, sampled=direction == "sample")
            return Step(active, read, direction=direction, filter=rows)
        if self._to_link:
            return self._link()
        return self._contract() if self._slow else self._round(len(self._shared))

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return for each owned vertex a vertex of its component, and how much of the work is done.

        The state of a whole graph also records which edges are linked.  On a shard most of the work
        is linking own arcs, which may belong to another rank after a restart; so its state records
        only whether the labels are final.
        """
        labels = as_host(self._labels())
        if self._part.whole:
            return {"parent": labels, **self._forest.progress()}
        labels = labels.astype(np.int64, copy=False)
        return {"labels": labels, "converged": np.array([self.converged])}

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse a state that this run cannot have saved; not collective."""
        vertices, arcs = graph.number_of_vertices, graph.number_of_arcs
        if not graph.whole:
            state.integers("labels", graph.owned, 0, vertices - 1)
            state.flags("converged", 1)
            return
        parent = state.integers("parent", vertices, 0, np.arange(vertices))  # never a larger number
        ends = np.array([SAMPLED, arcs, vertices - 1])
        sampled, arc, largest = state.integers("reached", 3, [0, 0, -1], ends).tolist()
        state.require(
            "reached",
            sampled == SAMPLED or arc == 0,
            "counts linked arcs before sampling has ended",
        )
        root = largest < 0 or parent[largest] == largest
        state.require("reached", root, "names a largest tree that is not a root")
        if "linked" in state:  # absent on a GPU, which samples differently
            state.number("linked", 0, SAMPLED)

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Resume from saved trees; on shards, from final labels."""
        if self._part.whole:
            self._forest.restore(state)
            self.converged = self._forest.converged
        elif state["converged"][0]:
            self._found, self.converged = state["labels"].astype(np.int64), True

    def columns(self) -> dict[str, VertexNumbers]:
        """Return the label of each owned vertex."""
        return {"labels": VertexNumbers(self._labels())}

    def _note(self, read: int, outside: int, *, sampled: bool) -> None:
        """Note a neighbour and its parent for each arc; and parents as they are compressed.

        A sample reads the rows of all vertices, and marks the largest tree; links read the rows outside of it.
        """
        size, index = self._part.size, self._part.index.itemsize
        rows = size if sampled else outside
        parents = (1 + sampled) * size * index
        note_bytes(read * 2 * index + rows * 2 * OFFSET + parents, sampled * size * index)

    def _labels(self) -> Array:
        """Return for each owned vertex the smallest vertex of its component found so far."""
        part, trees = self._part, self._forest.trees
        if self._found is not None:
            return self._found
        if self._to_link:
            return part.owners.numbers(part.xp, part.numbers.dtype)
        if part.numbers_are_positions:
            return trees
        least = self._forest.least(part) if part.whole else self._least
        return part.by_number(part.xp.take(least, trees))

    # ------------------------------------------------------------------------- across ranks

    def _plan(self) -> tuple[int, int]:
        """Return the first position of the rank with the longest rows, and the linking steps."""
        graph, rank = self._part.graph, self._part.halo.comm.rank
        if "rows" not in graph.learned:
            graph.learned["rows"] = graph.comm.allgather([graph.own_arcs, graph.owned])
        rows = graph.learned["rows"]
        longest = int(np.argmax([arcs / max(1, owned) for arcs, owned in rows]))
        lead = 0 if longest == rank else self._part.ghosts[longest][0]
        return lead, max(self._backend.steps_of(arcs) for arcs, _ in rows)

    def _link(self) -> Step:
        """Link some own arcs, as every rank does; after the last, find labels and run round one."""
        forest, halo, read = self._forest, self._part.halo, 0
        if forest.sampling or (self._to_link > 1 and not forest.converged):
            _, read, _ = forest.step()
        self._to_link -= 1
        if self._to_link:
            vertices = self._part.graph.number_of_vertices
            read, bytes_sent = halo.totals(read)
            return Step(vertices, read, direction="link", filter="all", bytes_sent=bytes_sent)
        if not halo.alone and self._part.graph.number_of_arcs >= LEAST_SHOWN:
            for _ in range(self._backend.SHOWN):
                self._show_trees()
        while not forest.converged:
            read += forest.step()[1]
        self._least = forest.least(self._part)
        if halo.alone:
            self.converged = True
            return Step(0, read, direction="link", filter="all")
        ends = self._shared_ends(self._part, forest.trees)
        self._shared = SharedLabels(self._part, self._least, forest.lower, ends)
        return self._round(read, "link", "all")

    def _show_trees(self) -> None:
        """Send each rank those of its vertices that are in the largest tree of this rank.

        All vertices of a tree are in one component, so other ranks can join them as well.  Samples
        come from own rows, and ghosts have none: without this exchange most arcs out of ghosts
        would have to be linked.
        """
        part, forest = self._part, self._forest
        shown = part.halo.exchange([[forest.shown(boundary)] for boundary in part.halo.boundaries])
        forest.adopt(part.ghosts, [words for (words,) in shown])

    def _round(self, read: int, direction: str = "exchange", rows: str = "boundary") -> Step:
        """Exchange labels and keep the smaller ones."""
        before = self._unsettled
        unsettled = self._shared.round()
        self._unsettled, read, bytes_sent = self._part.halo.totals(unsettled, read)
        self._rounds += 1
        self._slow = self._rounds >= FEWEST and 2 * self._unsettled > before
        self.converged = self._unsettled == 0
        return Step(self._unsettled, read, direction=direction, filter=rows, bytes_sent=bytes_sent)

    def _contract(self) -> Step:
        """Join pairs of labels: completely if every rank can hold all pairs, else by hooking."""
        halo, shared, bytes_sent = self._part.halo, self._shared, 0
        if self._pairs is None:
            self._pairs, bytes_sent = halo.totals(shared.find_pairs())
        pairs, few = self._pairs, self._pairs <= SHARED
        if few:
            shared.solve(loops("components", on_device=False).join_pairs)
        else:
            shared.hook()
        self._pairs, more = halo.totals(0 if few else shared.find_pairs())
        self.converged = self._pairs == 0
        bytes_sent += more
        return Step(self._pairs, pairs, direction="contract", filter="pairs", bytes_sent=bytes_sent)
