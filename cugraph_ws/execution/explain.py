"""`explain`: how a run of a vertex program would go, and why, without taking a superstep."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cugraph_ws.arguments import shown
from cugraph_ws.errors import InputError
from cugraph_ws.execution.dask_frames import refuse_cluster
from cugraph_ws.execution.options import Options, Plan
from cugraph_ws.execution.run import program_graph
from cugraph_ws.execution.run_memory import sizes_of
from cugraph_ws.execution.vertex_loop import VertexLoop
from cugraph_ws.graph.edges import AUTO
from cugraph_ws.program.conventions import names_columns
from cugraph_ws.program.vector_program import VectorProgram
from cugraph_ws.program.vertex_program import VertexProgram

if TYPE_CHECKING:
    from cugraph_ws.execution.options import Engine

__all__ = ["Explanation", "explain"]


@dataclass(frozen=True)
class Explanation:
    """How a run of a program would go; `explain` returns it.  As text, it is a table.

    Attributes
    ----------
    program : str
        Its name.
    vertices, arcs : int
        Of the graph; an undirected edge is two arcs.
    engine : {"cpu", "cuda", "python"}
    schedule : {"dense", "frontier", "worklist"}
        Of supersteps.  "dense": every vertex gathers from its in-neighbours.  "frontier": active vertices push
        messages, or their out-neighbours pull them.  "worklist": the out-neighbours of active vertices are
        listed, and gather.
    why : str
        Reason for the schedule.
    layout : str
        The layout of the arcs that supersteps read.
    why_layout : str
    in_order : str
        Why messages are taken superstep by superstep; empty if any order gives the same answer, or the program
        declares `asynchronous`.
    state : dict of str
        By field, the type in which it is kept.
    nbytes : int
        Memory that the run takes besides the graph, estimated.
    code : str
        The module that was generated for the program and is compiled: adaptors around its functions, and the
        loops or kernels.

    Examples
    --------
    >>> import cugraph_ws as ws
    >>> plan = ws.explain(ws.PageRank, ws.datasets.karate_club())
    >>> plan.schedule, plan.engine, plan.state
    ('dense', 'cpu', {'pagerank': 'float64', 'share': 'float64'})
    """

    program: str
    vertices: int
    arcs: int
    engine: str
    schedule: str
    why: str
    layout: str
    why_layout: str
    in_order: str
    state: dict[str, str]
    nbytes: int
    code: str = field(repr=False)

    def __str__(self) -> str:
        order = f"superstep by superstep: {self.in_order}" if self.in_order else "any"
        rows = {
            "engine": self.engine,
            "supersteps": f"{self.schedule}: {self.why}",
            "layout": f"{self.layout}: {self.why_layout}",
            "order of messages": order,
            "state": ", ".join(f"{name} {kind}" for name, kind in self.state.items()),
            "memory": f"{self.nbytes:,} bytes besides the graph",
            "code": f"{len(self.code.splitlines())} lines, in .code",
        }
        lines = [f"{self.program} on {self.vertices:,} vertices and {self.arcs:,} arcs"]
        lines += [f"  {name:<19}{text}" for name, text in rows.items()]
        return "\n".join(lines)


@names_columns
def explain(
    program: VertexProgram | type[Any],
    graph: Any,
    *,
    source_column: str | list[str] = "source",
    destination_column: str | list[str] = "destination",
    weight_column: str | None = AUTO,
    directed: bool = True,
    engine: Engine = "auto",
    max_iter: int | None = None,
    tol: float | None = None,
    plan: Plan = Plan(),
    **parameters: Any,
) -> Explanation:
    """Say how a run of a vertex program would go, and why.

    The program is bound to the graph and compiled, and its states are initialised; no superstep is taken.

    Parameters
    ----------
    program : VertexProgram
        A class decorated with `ws.vertex_program`, or one of the library's programs.
    graph : Graph or DataFrame
        The graph, or an edge frame.
    source_column, destination_column, weight_column, directed
        For an edge frame: see `run`.
    engine, max_iter, tol, plan
        As for `run`.
    **parameters : Any
        The program's own parameters, as for `run`.

    Returns
    -------
    Explanation

    Raises
    ------
    InputError
        If an argument is invalid, the program is no vertex program, or the graph is on a cluster.
    ProgramError
        If the program is invalid.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": [0, 1, 2], "destination": [1, 2, 3]})
    >>> plan = ws.explain(ws.BFS, edges, start=0)
    >>> plan.schedule, plan.in_order, plan.state
    ('frontier', '', {'distance': 'int32'})
    """
    if not isinstance(program, VertexProgram):
        raise InputError(
            f"program={shown(program)} is no vertex program; give a class decorated with @ws.vertex_program, "
            "such as one of the programs of phases"
        )
    if isinstance(program, VectorProgram):
        raise InputError(
            f"{program.name} has vectors: in every superstep every vertex gathers, in order; there is no plan to explain"
        )
    refuse_cluster(graph)
    opened = program_graph(
        program, graph, source_column, destination_column, weight_column, directed
    )
    options = Options(engine=engine, max_iter=max_iter, tol=tol, plan=plan)
    loop = VertexLoop(program, parameters, options)
    loop.start(opened)
    on_device = loop.engine == "cuda"
    strategy, bound = loop.strategy, loop.bound
    return Explanation(
        program=loop.name,
        vertices=opened.number_of_vertices,
        arcs=opened.number_of_arcs,
        engine=loop.engine,
        schedule=strategy.schedule,
        why=strategy.why if bound.program.reads_edges else "vertices alone, no edge is read",
        layout=strategy.layout,
        why_layout=strategy.why_layout,
        in_order=bound.in_order or "",
        state=dict(zip(bound.program.state, bound.types.state, strict=True)),
        nbytes=int(loop.memory(sizes_of(opened, on_device=on_device))),
        code=loop.source,
    )
