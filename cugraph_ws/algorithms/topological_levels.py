"""Topological levels of a directed acyclic graph, by supersteps."""

# A vertex program: its annotations are declarations, and its functions no methods.
# ruff: noqa: D102, N805
# mypy: disable-error-code="valid-type, misc, no-untyped-def, arg-type, operator"

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack

import cugraph_ws.program.declarations as ws
from cugraph_ws.algorithms.options import Columns, RunOptions, Weight
from cugraph_ws.algorithms.registry import algorithm
from cugraph_ws.errors import InputError
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.driver import run_on
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.part import Part
from cugraph_ws.program.decorator import vertex_program
from cugraph_ws.runtime.arrays import as_host

__all__ = ["TopologicalLevels", "topological_levels"]

SHOWN = 10  # vertices of a cycle that an error names


@vertex_program
class TopologicalLevels:
    """Most edges on a path to every vertex; in a cycle, and after it, -1.

    Examples
    --------
    Where tasks wait for each other, `topological_levels` raises an error; the program shows which wait:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> tasks = {"source": ["plan", "build", "test", "test"], "destination": ["build", "test", "build", "ship"]}
    >>> frame = ws.run(ws.TopologicalLevels, pd.DataFrame(tasks)).frame
    >>> frame.vertex[frame.level < 0].tolist()
    ['build', 'ship', 'test']
    """

    level: ws.int64
    pending = ws.hidden(ws.int64)  # in-edges from vertices that have no level yet
    degree: ws.in_degree
    contributors = "active"

    def init(vertex, p, own):
        return 0 if own.degree == 0 else -1, own.degree

    def starts(state):
        return state.pending == 0

    def compute(src):
        return 1

    combine = sum

    def apply(old, gathered, p):
        pending = old.pending - gathered
        return p.superstep + 1 if pending == 0 and old.pending > 0 else old.level, pending

    def active(old, new):
        return new.pending == 0 and old.pending > 0


@algorithm(
    group="structure",
    columns="vertex, level",
    note="If the graph has a cycle, the error names it.",
    program=TopologicalLevels,
    by_group=True,
)
@accepts_dask_frames
def topological_levels(
    graph: Graph[FrameT] | FrameT,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = None,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Give every vertex of a graph without cycles its level: the most edges on a path to it.

    Every edge leads to a higher level, so an order by level is a topological order.

    Parameters
    ----------
    graph : Graph or DataFrame
        The graph, or an edge frame; it must be directed and have no cycle.
    directed : bool
        Whether the edges of an edge frame are directed; they must be.

    Returns
    -------
    DataFrame
        Columns `vertex` and `level` (int64, from 0).

    Raises
    ------
    InputError
        If the graph has a cycle (the error names its vertices) or is undirected; or if the frame
        or an argument is invalid.
    ConvergenceError
        If the run is stopped early.

    References
    ----------
    .. [1] A. B. Kahn, "Topological sorting of large networks", Communications of the ACM 5, 1962.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "a"], "destination": ["b", "c", "c"]})
    >>> ws.topological_levels(edges).level.tolist()
    [0, 1, 2]
    """
    opened = as_graph(
        graph, source=source, destination=destination, weight=weight, directed=directed
    )
    if not opened.directed:
        raise InputError("directed=False: only a directed graph has levels; give directed=True")
    result = run_on(TopologicalLevels, opened, **options).require_convergence("topological_levels")
    level: Any = result.arrays["level"]
    refuse_cycles(opened, as_host(level) < 0)
    return replace(result, arrays={"level": level}).frame


def refuse_cycles(graph: GraphView, unleveled: Any) -> None:
    """Raise an error that names a cycle, if there is one; collective.

    Parameters
    ----------
    graph : Graph
    unleveled : ndarray of bool, shape (owned,)
        The vertices without a level; each has an in-neighbour without a level.

    Raises
    ------
    InputError
    """
    unleveled_of_ranks = graph.comm.allgather(
        int(graph.owners.number_at(int(unleveled.argmax()))) if unleveled.any() else -1
    )
    walk = [max(unleveled_of_ranks)]
    if walk[0] < 0:
        return
    marks = Part(graph, on_device=False).with_ghosts(unleveled)
    place: dict[int, int] = {}
    while walk[-1] not in place:
        place[walk[-1]] = len(walk) - 1
        walk.append(_before(graph, marks, walk[-1]))
        if walk[-1] < 0:
            (vertex,) = graph.describe_vertices(walk[-2:-1])
            raise InputError(
                f"resume=: the checkpoint has no level for vertex {vertex}, though all in-neighbours have "
                "one; no run of this program has such a state: start again"
            )
    cycle = walk[place[walk[-1]] :][::-1]
    cycle = [*cycle[:-1]] * 2
    first, length = cycle.index(min(cycle)), len(cycle) // 2
    cycle = [*cycle[first : first + length], cycle[first]]
    names = graph.describe_vertices(cycle[:SHOWN])
    more = f" … ({len(cycle) - 1} vertices)" if len(cycle) > SHOWN else ""
    raise InputError(
        f"the graph has a cycle, so there are no levels: {' -> '.join(names)}{more}; leave out one "
        "of its edges, or contract the strongly connected components"
    )


def _before(graph: GraphView, marks: Any, number: int) -> int:
    """Return the least in-neighbour of a vertex among those marked, or -1; collective."""
    least, place = -1, graph.owners.place(number)
    if place >= 0:
        rows = graph.csc
        predecessors = rows.indices[rows.offsets[place] : rows.offsets[place + 1]]
        marked = graph.positions[predecessors[marks[predecessors]]]
        least = int(marked.min()) if len(marked) else -1
    return max(graph.comm.allgather(least))
