"""Connected communities of high modularity by the Leiden method.

Vertices begin in the communities that the levels of `louvain` find.  Then the levels start again, and
the communities of each are refined: every vertex begins alone and may join others of its community.
The refined communities become the vertices of the next level, and begin it in the communities from
which they were refined.  In a refinement only vertices that are alone join others, and never one that
may move at the same time, so refined communities are connected.  At the end the vertices of the graph
move once more, as in `louvain`, and communities that are not connected are split.
"""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from cugraph_ws.algorithms.louvain import (
    Communities,
    Louvain,
    Objective,
    communities,
    levels_wanted,
    merge,
    row_sums,
    without_gaps,
)
from cugraph_ws.algorithms.options import Columns, RunOptions, Weight
from cugraph_ws.algorithms.registry import algorithm
from cugraph_ws.arguments import shown
from cugraph_ws.errors import InputError
from cugraph_ws.execution.keywords import REFUSED, takes_names_of_others
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.edges import AUTO
from cugraph_ws.graph.graph import Graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.runtime.arrays import as_host, module_of
from cugraph_ws.runtime.saved_state import SavedState

__all__ = ["Leiden", "leiden"]

Array = Any  # NumPy's or CuPy's

TURNS = 1 << 32  # the first turn of refinements, beyond those of sweeps


@algorithm(
    group="communities",
    columns="vertex, partition",
    weights="read",
    directions=False,
    checkpoints="on one machine",
    note="Returned with the modularity, as by `louvain`.",
)
@takes_names_of_others
def leiden(
    graph: Graph[FrameT] | FrameT,
    max_iter: int | None = None,
    resolution: float = 1.0,
    random_state: int | None = None,
    theta: float | None = None,
    *,
    max_level: int | None = None,
    threshold: float = 1e-7,
    objective: Objective = "modularity",
    hierarchy: bool = False,
    seed: int = 0,
    initial: Any = None,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = AUTO,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> Communities[FrameT]:
    """Find connected communities of high modularity: the Leiden method.

    A first iteration finds communities by Louvain's levels, without refinements; a second one starts
    from them, as leidenalg's does by default; and at the end the vertices of the graph move once
    more, and a small graph is searched, as in `louvain`.  The direction of edges does not matter.  Every community is connected by
    edges of positive weight within it.  A vertex joins the community with the greatest gain, not a
    random one.

    Parameters
    ----------
    graph : Graph or DataFrame
        The graph, or an edge frame.  On a cluster every worker receives all edges, and needs about
        150 bytes of memory for each.
    max_iter : int, optional
        Another name for `max_level`, as in cuGraph.
    resolution : float
        Higher values give smaller communities; see `modularity`.
    random_state : int, optional
        Another name for `seed`, as in cuGraph.
    theta : float, optional
        cuGraph's randomness of refinements; refused, since refinements here are not random.
    max_level : int, optional
        Maximum number of levels of each iteration, at least 1; 100 by default.
    threshold : float
        A level's moves end when a sweep raises modularity by less than this or, in a level of more
        than 256 vertices, by less than 0.01 times what the level has gained so far.
    objective : {"modularity", "cpm"}
        What is made great: "cpm" is the constant Potts model [2]_, the sum over communities of the weight
        inside minus resolution n (n − 1) / 2, where n is the number of vertices.  Communities are then at
        least as dense inside as `resolution`, whatever the size of the graph.
    hierarchy : bool
        Whether the frame also has the refined communities of each level of the second iteration.
    seed : int
        Different seeds give different communities; the same seed gives the same on any machine.
    initial : frame, mapping, list of sets or str, optional
        Communities to start from, as `modularity` takes them, such as an earlier result; a vertex that
        is left out starts alone.  There is no first
        iteration then.  The modularity of the result is not below theirs.

    Returns
    -------
    frame : DataFrame
        Columns `vertex` and `partition`, int64: communities are numbered from 0 in the order of
        their least vertices.  With `hierarchy`, also `level_0`, `level_1` and so on, from the
        smallest communities to the largest, which are those of `partition`; of the levels before,
        each is cut into the connected parts of what its communities have in common with those.
    modularity : float
        Modularity of the undirected graph; NaN if the weights of all edges sum to 0.  With
        `objective="cpm"` the quality instead, as of leidenalg's `CPMVertexPartition`.

    Raises
    ------
    InputError
        If the frame or an argument is invalid, or a weight is negative.
    GraphMemoryError
        If the edges of a graph on a cluster do not fit into the memory of a worker.
    ConvergenceError
        If the run is stopped early; `.result` has the communities so far, which may not be
        connected.

    References
    ----------
    .. [1] V. A. Traag, L. Waltman and N. J. van Eck, "From Louvain to Leiden: guaranteeing
       well-connected communities", Scientific Reports 9, 2019.
    .. [2] V. A. Traag, P. Van Dooren and Y. Nesterov, "Narrow scope for resolution-limit-free community
       detection", Physical Review E 84, 2011.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "c"], "destination": ["b", "d"]})
    >>> frame, modularity = ws.leiden(edges)
    >>> frame.partition.tolist(), modularity
    ([0, 0, 1, 1], 0.5)
    """
    if theta is not None:
        raise InputError(f"leiden: theta={shown(theta)}: {REFUSED['theta']}")
    if random_state is not None:
        if not (type(seed) is int and seed == 0):
            raise InputError(
                f"seed={shown(seed)} and random_state={shown(random_state)} are names of the same number; give one"
            )
        seed = random_state
    levels = levels_wanted(max_level, max_iter)
    result = communities(
        graph,
        Leiden(
            levels,
            threshold,
            resolution,
            objective=objective,
            hierarchy=hierarchy,
            seed=seed,
            initial=initial,
        ),
        source=source,
        destination=destination,
        weight=weight,
        directed=directed,
        **options,
    )
    return Communities(result.frame, -result.residual)


class Leiden(Louvain):
    """The algorithm as a loop for `run`; see `Louvain`.

    Parameters
    ----------
    max_level, threshold, resolution, objective, hierarchy, seed, initial
        See `leiden`.

    Examples
    --------
    Communities by the constant Potts model, and their quality:

    >>> import cugraph_ws as ws
    >>> result = ws.run(ws.Leiden(objective="cpm", resolution=0.5), ws.datasets.karate_club())
    >>> result.frame.partition.nunique(), -result.residual
    (12, 113.0)
    """

    name = "leiden"
    _refines: bool  # whether levels do, as those of the second iteration
    _begun: Array  # by vertex of the graph: the community in which it began the level

    def start(self, graph: GraphView, *, on_device: bool = False) -> None:
        """Read the weights, and put every vertex into a community of its own, or the given one."""
        super().start(graph, on_device=on_device)
        self._refines, self._begun = False, self._member
        if self._start_labels is not None:
            self._refines, self._begun = True, self._part.xp.asarray(self._start_labels)
            self._place(self._begun)

    def state(self) -> dict[str, Any]:
        """Return what `Louvain` does, and the communities in which the level began."""
        refines = np.array([self._refines])
        return {**super().state(), "refines": refines, "begun": as_host(self._begun)}

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse a state that this run cannot have saved; not collective."""
        super().check(state, graph)
        vertices, levels = graph.number_of_vertices, state.number("finished", 0, self._max_level)
        begun = state.integers("begun", vertices, 0, vertices - 1)
        saved = state.integers("levels", levels * vertices, 0, vertices - 1)
        refines, final = state.flags("refines", 1)[0], state.flags("final", 1)[0]
        if levels and refines and not final:
            refined = saved[(levels - 1) * vertices :]
            parent = np.empty(vertices, np.int64)
            parent[refined] = begun
            state.require("begun", (parent[refined] == begun).all(), "splits a community")
            most = refined.max(initial=-1)  # the last community of the level
            state.require("begun", begun.max(initial=-1) <= most, "skips a community")

    def restore(self, state: dict[str, Any]) -> None:
        """Resume after the finished levels."""
        self._read(state)
        self._refines = bool(state["refines"][0])
        self._begun = self._part.xp.asarray(state["begun"].astype(np.int64))
        if self.converged:
            return
        if self._final and self._finished:
            self._begin_final_moves()
            return
        if self._finished:
            self._merge_graph()
        if self._refines:
            self._place(self._begun)

    def _levels(self, last: Array) -> list[Array]:
        """Return the levels of a hierarchy whose last is given."""
        *before, last = super()._levels(last)
        return [*(self._split(level) for level in before), last] if self._final else [*before, last]

    def _end_level(self) -> None:
        """Make refined communities the vertices of the next level; end the levels if none merge."""
        if self._final or not self._refines:
            super()._end_level()
            return
        xp, level = self._xp, self._level
        community, _ = without_gaps(xp, self._label)
        refined, count = without_gaps(xp, self._refined())
        last = len(self._finished) + 1 >= self._max_level
        begun = self._of_vertices(community)
        if count == len(level.degrees) or last:
            self._member = begun
            self._finished = [*self._finished, begun]
            self._end_levels()
            return
        self._member = self._of_vertices(refined)
        self._finished = [*self._finished, self._member]
        self._begin(merge(xp, self._backend, level, refined, count, self._twice))
        self._begun = begun
        self._place(begun)

    def _end_levels(self) -> None:
        """Begin levels with refinements in the communities of those without, or the final moves."""
        if self._refines:
            self._begin_final_moves()
            return
        self._refines = True
        self._begun, self._finished = self._finished[-1], []
        self._begin_graph(self._first)
        self._place(self._begun)

    def _improved(self, labels: Array) -> Array:
        """Return the best communities, and split those that are not connected."""
        labels = super()._improved(labels)
        parts = self._split(labels)
        if len(module_of(parts).unique(parts)) > len(module_of(labels).unique(labels)):
            self._put(self._here(parts))
            self._best = self._quality()
        return parts

    def _place(self, begun: Array) -> None:
        """Put the level's vertices into the communities in which they begin it."""
        parent = self._part.xp.empty(len(self._level.degrees), np.int64)
        parent[self._member] = begun
        self._begin_in(self._here(parent))

    def _split(self, labels: Array) -> Array:
        """Return the connected parts of communities of the graph's vertices, numbered from 0."""
        level = self._first
        parts = self._backend.components_within(level.rows, level.sources, self._here(labels))
        return self._part.xp.asarray(without_gaps(self._xp, parts)[0])

    def _refined(self) -> Array:
        """Return communities within those of the level, from vertices that begin alone."""
        xp, level, count = self._xp, self._level, len(self._label)
        rows = self._backend.within(level.rows, level.sources, self._label)
        offsets, _, weights = rows
        totals = self._totals[self._label]
        expected = level.degrees.astype(np.float64) * self._factor
        expected = expected * (totals - level.degrees).astype(np.float64)
        linked = row_sums(xp, weights, offsets).astype(np.float64) >= expected
        refined = xp.arange(count)
        communities = refined, level.degrees.copy(), xp.ones(count, np.int64)
        mover = self._backend.Mover(rows, level.degrees, weighted=level.weighted)
        classes = self._classes(mover, TURNS + len(self._finished))
        mover.move(communities, self._factor, classes, may=linked.astype(np.int64))
        return refined
