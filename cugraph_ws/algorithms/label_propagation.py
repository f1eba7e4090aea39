"""Communities by label propagation: as LDBC Graphalytics defines it (CDLP), or colour by colour."""

from __future__ import annotations

from typing import Any, ClassVar, Unpack

import numpy as np

from cugraph_ws.algorithms.color_classes import color_classes
from cugraph_ws.algorithms.footprints import ROWS
from cugraph_ws.algorithms.independent_set import GREATEST_SEED
from cugraph_ws.algorithms.options import Columns, RunOptions, Weight, refuse_negative
from cugraph_ws.algorithms.registry import algorithm
from cugraph_ws.arguments import check_count
from cugraph_ws.backends import loops
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.driver import run_on
from cugraph_ws.execution.loop import Loop, Step
from cugraph_ws.frames.base import VertexNumbers
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.arcs import Order
from cugraph_ws.graph.edges import AUTO
from cugraph_ws.graph.footprints import Sizes
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.fixed_point import exponent, fixed_point
from cugraph_ws.partition.symmetrise import all_neighbours
from cugraph_ws.runtime.arrays import as_host
from cugraph_ws.runtime.launch_times import note_bytes, note_rows
from cugraph_ws.runtime.saved_state import SavedState

__all__ = ["LabelPropagation", "label_propagation"]

Array = Any  # NumPy's or CuPy's


@algorithm(
    group="communities",
    columns="vertex, label",
    example={"max_iter": 2},
    weights="read",
    note="LDBC's CDLP, or asynchronous by a seed; heaviest label if there are weights.",
    by_group=lambda arguments: arguments.get("seed") is None and arguments.get("weight") is None,
)
@accepts_dask_frames
def label_propagation(
    graph: Graph[FrameT] | FrameT,
    max_iter: int = 10,
    *,
    seed: int | None = None,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = AUTO,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Find communities: every vertex repeatedly takes the most frequent label of its neighbours.

    At first the label of a vertex is its id.  In each iteration all vertices take new labels at
    once; of equally frequent labels, the least is taken.  In a directed graph both the sources of
    in-edges and the destinations of out-edges are neighbours; a neighbour over two edges counts
    twice.  This is the algorithm CDLP of the LDBC Graphalytics benchmark.

    With a seed it is asynchronous, as first published [2]_: vertices take labels one after the
    other and read the labels just taken, so labels do not oscillate, and the run ends when none
    changes.  The order is that of the colours of `coloring` with this seed.

    Parameters
    ----------
    max_iter : int
        Number of iterations.  The run ends earlier if no label changes.
    seed : int, optional
        Updates labels asynchronously, in an order that depends on the seed alone.
    weight : str, optional
        Weight column of an edge frame, 0 or more; by default the column named `weight`, if there
        is one.  Then the label with the largest sum of weights is taken.  None counts each edge as
        1, as LDBC does.

    Returns
    -------
    DataFrame
        Columns `vertex` and `label`, a vertex id.  Labels are the same on all engines and for any
        number of partitions, since weights are rounded to integer multiples of 2^-62 of the sum of
        all weights, or less, before they are summed.

    Raises
    ------
    InputError
        If the frame or an argument is invalid, or a weight is negative.
    ConvergenceError
        If the run is stopped early; `.result` has the labels so far.

    References
    ----------
    .. [1] A. Iosup et al., "LDBC Graphalytics: a benchmark for large-scale graph analysis on
       parallel and distributed platforms", PVLDB 9(13), 2016.
    .. [2] U. N. Raghavan, R. Albert and S. Kumara, "Near linear time algorithm to detect community
       structures in large-scale networks", Physical Review E 76, 2007.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "d"], "destination": ["b", "c", "e"]})
    >>> ws.label_propagation(edges, 1).label.tolist()
    ['b', 'a', 'b', 'e', 'd']
    """
    result = run_on(
        LabelPropagation(max_iter, seed),
        as_graph(
            graph,
            source=source,
            destination=destination,
            weight=weight,
            directed=directed,
            weighted=True,
        ),
        **options,
    )
    if result.stopped == "max_iter":
        return result.frame
    return result.require_convergence("label_propagation").frame


WEIGHT = 8  # bytes


class LabelPropagation(Loop):
    """The algorithm as a loop for `run`: each step is an iteration, on one rank or several.

    Labels are vertex numbers, by position.  Ranks send each other the labels that changed.

    Parameters
    ----------
    max_iter : int
        Number of iterations.
    seed : int, optional
        Seed of the order in which vertices take labels; if not given, all take them at once.

    Examples
    --------
    The run ends before `max_iter` iterations if no label changes any more:

    >>> import cugraph_ws as ws
    >>> result = ws.run(ws.LabelPropagation(seed=1), ws.datasets.karate_club(), directed=False)
    >>> result.frame.label.nunique(), result.iterations, result.converged
    (3, 4, True)
    """

    name = "label_propagation"
    ends_within_steps = True
    outputs: ClassVar = {"label": True}
    reads_weights = True
    by_vertex_state: tuple[str, ...] = ("label",)

    def __init__(self, max_iter: int = 10, seed: int | None = None) -> None:
        check_count("max_iter", max_iter)
        if seed is not None:
            check_count("seed", seed, most=GREATEST_SEED)
        self.max_iter: int | None = int(max_iter)
        self._seed = seed

    def memory(self, sizes: Sizes) -> float:
        """Return the bytes that a run takes; see `footprints`."""
        return ROWS["label_propagation"].of(sizes)

    def start(self, graph: GraphView, *, on_device: bool = False) -> None:
        """Give every vertex its own number as its label."""
        refuse_negative(graph)
        chooser = loops("label_propagation", on_device=on_device).Chooser
        self._part = part = all_neighbours(graph, on_device=on_device, weighted=True)
        weights: list[Array] = []
        if graph.weight is not None:
            scale = exponent(graph)
            orders: tuple[Order, ...] = ("csc", "csr") if part.directed else ("csc",)
            weights = [fixed_point(part, scale, order) for order in orders]
        (self._arcs, _) = part.halo.totals(
            len(part.csc.indices) + (len(part.csr.indices) if part.directed else 0)
        )
        self._label = part.xp.array(part.numbers)
        if self._seed is None:
            self._chooser = chooser(part, weights)
        else:
            classes = color_classes(graph, part, weights, self._seed)
            self._classes = [
                (color_class.rows, chooser(color_class, color_class.weights))
                for color_class in classes
            ]
        self._changed = graph.number_of_vertices if self._arcs else 0

    @property
    def converged(self) -> bool:
        """Whether no label changed in the last step."""
        return self._changed == 0

    def step(self) -> Step:
        """Choose new labels, all from those of the last step, or colour by colour."""
        active = self._changed
        changed = self._all_at_once() if self._seed is None else self._by_color()
        self._note()
        self._changed, bytes_sent = self._part.halo.totals(changed)
        return Step(active, self._arcs, direction="gather", filter="all", bytes_sent=bytes_sent)

    def _note(self) -> None:
        """Note a label, and a weight if there is one, for each arc; and a new label for each vertex."""
        part, label = self._part, self._label.itemsize
        weight = WEIGHT * (part.graph.weight is not None)
        for rows in (part.csc, part.csr) if part.directed else (part.csc,):
            note_rows(rows, arc=label + weight, vertex=label)
        note_bytes(0.0, part.owned * label)

    def _all_at_once(self) -> int:
        """Choose the labels of all owned vertices; return how many changed."""
        label, owned = self._label, self._part.owned
        chosen, changed = self._chooser.choose(label)
        moved = chosen != label[:owned]
        label[:owned] = chosen
        self._update_ghosts(moved)
        return int(changed)

    def _by_color(self) -> int:
        """Choose the labels of the vertices of each colour in turn; return how many changed."""
        # A run may end between two colours, so the labels from before the step stay as they are.
        self._label = label = self._label.copy()
        xp, total = self._part.xp, 0
        for rows, chooser in self._classes:
            labels = label[rows]
            chosen, changed = chooser.choose(xp.concatenate([labels, label]))
            moved = xp.zeros(self._part.owned, np.bool_)
            moved[rows] = chosen != labels
            label[rows] = chosen
            self._update_ghosts(moved)
            total += int(changed)
        return total

    def _update_ghosts(self, moved: Array) -> None:
        """Send the labels of the owned vertices whose label has changed; collective."""
        part, label = self._part, self._label
        for ghosts, (labels,) in part.halo.update_changed(
            moved[part.halo.ends], lambda places: [label[places]]
        ):
            label[ghosts] = labels

    def inputs(self) -> dict[str, Any]:
        """Return the seed, if there is one."""
        return {} if self._seed is None else {"seed": self._seed}

    def state(self) -> dict[str, Any]:
        """Return the labels of owned vertices, and how many changed last."""
        label = as_host(self._part.by_number(self._label)).astype(np.int64)
        return {"label": label, "changed": np.array([self._changed])}

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse a state that this run cannot have saved; not collective."""
        vertices = graph.number_of_vertices
        state.integers("label", graph.owned, 0, vertices - 1)
        state.integers("changed", 1, 0, vertices)

    def restore(self, state: dict[str, Any]) -> None:
        """Resume from saved labels."""
        self._label = self._part.with_ghosts(state["label"].astype(self._label.dtype))
        self._changed = int(state["changed"][0])

    def columns(self) -> dict[str, VertexNumbers]:
        """Return the label of each owned vertex."""
        return {"label": VertexNumbers(self._part.by_number(self._label))}
