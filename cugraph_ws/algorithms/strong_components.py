"""Strongly connected components: trimming, a forward and a backward search, then colouring.

A single CPU searches depth first instead (Tarjan, 1972): on two cores no parallel method is faster.

Vertices without an edge from, or to, a remaining vertex are components by themselves, and are
trimmed.  The vertices that a vertex of high degree reaches, and that reach it, are usually the giant
component (Fleischer, Hendrickson and Pinar, IPDPS Workshops 2000).  The rest is coloured: every vertex
takes the least colour that reaches it, and the vertices that reach the origin of their colour are its
component (Orzan, 2004; Slota, Rajamanickam and Madduri, IPDPS 2014).  Colours are random numbers, so
the number of rounds is small also for chains of components.
"""

from __future__ import annotations

from typing import Any, ClassVar, Unpack

import numpy as np

from cugraph_ws.algorithms.footprints import ROWS
from cugraph_ws.algorithms.neighbourhood import (
    LEAST,
    MOST,
    ArrayLoop,
    Direction,
    Neighbourhood,
    numbers_of,
    priorities,
)
from cugraph_ws.algorithms.options import Columns, RunOptions, Weight
from cugraph_ws.algorithms.registry import algorithm
from cugraph_ws.backends import loops
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.driver import run_on
from cugraph_ws.execution.loop import Column, Step
from cugraph_ws.frames.base import VertexNumbers
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.footprints import Sizes
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.runtime.arrays import count_true
from cugraph_ws.runtime.saved_state import SavedState

__all__ = ["StronglyConnectedComponents", "strongly_connected_components"]

Array = Any  # NumPy's or CuPy's

NONE = -1  # the root of a vertex whose component is not known yet


@algorithm(
    group="structure",
    columns="vertex, labels",
    by_group=True,
)
@accepts_dask_frames
def strongly_connected_components(
    graph: Graph[FrameT] | FrameT,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = None,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Label every vertex with the smallest vertex of its strongly connected component.

    Two vertices are in one component if there are paths both ways between them.

    Returns
    -------
    DataFrame
        Columns `vertex` and `labels`: the smallest vertex id of the component.

    Raises
    ------
    InputError
        If the frame or an argument is invalid.
    ConvergenceError
        If the run is stopped early; in `.result` the label is null where it is not known.

    References
    ----------
    .. [1] G. M. Slota, S. Rajamanickam and K. Madduri, "BFS and coloring-based parallel algorithms
       for strongly connected components and related problems", IPDPS 2014.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "c", "c"], "destination": ["b", "c", "a", "d"]})
    >>> ws.strongly_connected_components(edges).labels.tolist()
    ['a', 'a', 'a', 'd']
    """
    opened = as_graph(
        graph, source=source, destination=destination, weight=weight, directed=directed
    )
    result = run_on(StronglyConnectedComponents(), opened, **options)
    return result.require_convergence("strongly_connected_components").frame


class StronglyConnectedComponents(ArrayLoop):
    """The algorithm as a loop for `run`: the first step trims and searches, each later one colours.

    Examples
    --------
    The sizes of the components, by their least vertices:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "c", "c"], "destination": ["b", "c", "a", "d"]})
    >>> result = ws.run(ws.StronglyConnectedComponents(), edges)
    >>> result.frame.groupby("labels").size().to_dict(), result.converged
    ({'a': 3, 'd': 1}, True)
    """

    name = "strongly_connected_components"
    outputs: ClassVar = {"labels": True}
    converged = False
    saved: ClassVar = {"root": (NONE, MOST)}  # a vertex number of the component, the same for all

    def memory(self, sizes: Sizes) -> float:
        """Return the bytes that a run takes; see `footprints`."""
        return ROWS["strongly_connected_components"].of(sizes)

    def start(self, graph: GraphView, *, on_device: bool = False) -> None:
        """Mark the component of every vertex as unknown."""
        self.near = near = Neighbourhood(graph, on_device=on_device)
        self._root = near.xp.full(near.part.size, NONE, np.int64)
        self._color = priorities(near.part, 0)
        self._searches = None  # on a single GPU: searches of one launch each
        if on_device and near.part.halo.alone and near.part.directed and near.part.size:
            self._searches = loops("strong_components", on_device=True).Searches(near.part)
        self._depth_first: Any = None
        self._search_depth_first = near.part.halo.alone and not on_device
        if self._search_depth_first:
            _ = near.part.csr  # a run cannot end while the first step makes it
        self.converged = graph.number_of_vertices == 0

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse a state that this run cannot have saved; not collective."""
        super().check(state, graph)
        state.integers("root", graph.owned, NONE, graph.number_of_vertices - 1)

    def restore(self, state: dict[str, Any]) -> None:
        """Resume with the components that are known."""
        super().restore(state)
        self.converged = self.near.total(count_true(self._left())) == 0

    def step(self) -> Step:
        """Trim vertices, then find components by a pivot or by colours."""
        if self._search_depth_first:
            return self._step_depth_first()
        near, before = self.near, self.near.total(count_true(self._left()))
        self._trim()
        if near.total(count_true(self._left())):
            if self.done == 0:
                self._search_from_pivot()
            else:
                self._find_by_color()
        self.done += 1
        undecided, bytes_sent = near.part.halo.totals(count_true(self._left()))
        self.converged = undecided == 0
        return Step(before, before, direction="gather", filter="list", bytes_sent=bytes_sent)

    def _step_depth_first(self) -> Step:
        """Continue the search; a checkpoint keeps only complete components."""
        if self._depth_first is None:
            kernels = loops("strong_components", on_device=False)
            self._depth_first = kernels.DepthFirst(self.near.part, self._root)
        before, read = self._depth_first.left, self._depth_first.step()
        self.done += 1
        self.converged = self._depth_first.left == 0
        return Step(before, read, direction="depth first", filter="all")

    def columns(self) -> dict[str, Column]:
        """Return the label of each owned vertex; collective."""
        near, part = self.near, self.near.part
        root = part.by_number(self._root)
        numbers = part.owners.numbers(near.xp)
        known = root >= 0
        if part.halo.alone:  # faster than a sort
            least = near.xp.full(part.owned, MOST)
            near.xp.minimum.at(least, root[known], numbers[known])
            labels = near.xp.where(known, least[near.xp.maximum(root, 0)], NONE)
            return {"labels": VertexNumbers(labels, nullable=not self.converged)}
        # The owner of each root finds the least vertex that has it.
        roots, members = part.halo.send_to_owners(root[known], numbers[known])
        order = near.xp.lexsort(near.xp.stack((members, roots)))
        roots, members = roots[order], members[order]
        first = near.xp.ones(len(roots), np.bool_)
        first[1:] = roots[1:] != roots[:-1]
        least = near.xp.full(part.owned, NONE, np.int64)
        least[part.owners.places(roots[first])] = members[first]
        labels = near.xp.full(part.owned, NONE, np.int64)
        labels[known] = part.halo.fetch(least, root[known])
        return {"labels": VertexNumbers(labels, nullable=not self.converged)}

    def _left(self) -> Array:
        """Return which owned vertices have no known component."""
        return self._root[: self.near.part.owned] == NONE

    def _assign(self, rows: Array, roots: Array) -> None:
        """Set the component of owned vertices; collective."""
        self._root[rows] = roots
        self.near.update(self._root, rows)

    def _trim(self) -> None:
        """Assign vertices without an edge from, or to, another remaining vertex, until there are none."""
        if self._searches is not None:
            self._searches.trim(self._root)
            return
        near, numbers = self.near, self.near.part.numbers
        rows = near.xp.flatnonzero(self._left())
        while near.total(len(rows)):
            loose = near.xp.zeros(len(rows), np.bool_)
            for direction in ("in", "out"):
                # The greatest or the least remaining neighbour is another vertex than itself.
                numbers_left = near.xp.where(self._root == NONE, numbers.astype(np.int64), LEAST)
                most = near.words(numbers_left, direction, "max", rows)
                numbers_left = near.xp.where(self._root == NONE, numbers_left, MOST)
                least = near.words(numbers_left, direction, "min", rows)
                own_numbers = numbers[rows]
                loose |= ((most == LEAST) | (most == own_numbers)) & (
                    (least == MOST) | (least == own_numbers)
                )
            trimmed = rows[loose]
            self._root[trimmed] = numbers[trimmed]
            changed = near.update(self._root, trimmed)
            readers = [near.followers(changed, way) for way in ("in", "out")]
            rows = near.xp.unique(near.xp.concatenate(readers))
            rows = rows[self._root[rows] == NONE]
            if near.total(len(trimmed)) == 0:
                break

    def _search_from_pivot(self) -> None:
        """Assign the component of the vertex with the most in-edges, by a search in each direction."""
        near, part = self.near, self.near.part
        graph, rows = part.graph, near.xp.flatnonzero(self._left())
        degrees = near.xp.diff(part.csc.offsets[: part.owned + 1])[rows]
        best = (-1, 0)
        if len(rows):
            greatest = degrees.max()
            number = part.numbers[rows[degrees == greatest]].min()
            best = (int(greatest), -int(number))
        pivot = -max(graph.comm.allgather(best))[1]
        start = rows[part.numbers[rows] == pivot]
        if self._searches is not None:
            reached = self._searches.reach(self._root, start)
        else:
            marks = near.xp.where(self._root == NONE, 0, LEAST)
            reached = [self._reach(marks, start, way) for way in ("in", "out")]
        both = near.xp.flatnonzero(reached[0] & reached[1])
        self._assign(both, pivot)

    def _reach(self, marks: Array, start: Array, direction: Direction) -> Array:
        """Return which owned vertices a walk reaches among those not marked LEAST; collective."""
        near = self.near
        reached = marks.copy()
        reached[start] = 1
        self._propagate(reached, start, direction, "max")
        return reached[: near.part.owned] == 1

    def _propagate(self, values: Array, rows: Array, direction: Direction, operation: Any) -> None:
        """Propagate the best value of neighbours until none changes; collective.

        Vertices with the value LEAST (for "max") or MOST (for "min") keep it and pass nothing on.
        """
        near = self.near
        closed = LEAST if operation == "max" else MOST
        while near.total(len(rows)):
            changed = near.update(values, rows)
            readers = near.followers(changed, direction)
            readers = readers[values[readers] != closed]
            words = near.words(values, direction, operation, readers)
            before = values[readers]
            better = words > before if operation == "max" else words < before
            rows = readers[better]
            values[rows] = words[better]

    def _find_by_color(self) -> None:
        """Assign one component or more by colours; its root is the vertex of its colour."""
        near, xp = self.near, self.near.xp
        color = xp.where(self._root == NONE, self._color, MOST)
        rows = xp.flatnonzero(self._left())
        if self._searches is not None:
            self._searches.lower(self._root, color, rows)
            members = self._searches.members(color, rows[color[rows] == self._color[rows]])
            self._assign(members, numbers_of(color[members], 0))
            return
        self._propagate(color, rows, "in", "min")
        # Along an edge colours fall; so of the out-neighbours that reach their colour's vertex, the
        # one of greatest colour has the same colour as the vertex, if any has.
        colors = xp.full(near.part.size, LEAST, np.int64)
        rows = rows[color[rows] == self._color[rows]]
        colors[rows] = color[rows]
        pieces = [rows]
        while near.total(len(rows)):
            changed = near.update(colors, rows)
            readers = near.followers(changed, "out")
            readers = readers[(self._root[readers] == NONE) & (colors[readers] == LEAST)]
            best = near.words(colors, "out", "max", readers)
            rows = readers[best == color[readers]]
            colors[rows] = color[rows]
            pieces.append(rows)
        members = xp.concatenate(pieces)
        self._assign(members, numbers_of(color[members], 0))
