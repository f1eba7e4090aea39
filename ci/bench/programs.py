"""The measured vertex programs: the Warp Segmentation paper's eight, and programs as users write them."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from programs import Labels

import cugraph_ws as ws

PAGERANK_TOL = 1e-6  # bound of the L1 norm of the last change, which every library uses
SUPERSTEPS = 20  # of programs whose every superstep reads all edges


@ws.vertex_program
class Steps:
    """Steps from one end of the path; those from the other end are kept."""

    there: ws.int64
    back: ws.int64
    end: ws.vertex_parameter
    other_end: ws.vertex_parameter

    def init(vertex, p):
        return 0 if vertex == p.end else -1, 0 if vertex == p.other_end else -1

    def starts(state):
        return state.there == 0

    def compute(src):
        return src.there + 1

    combine = max

    def apply(old, gathered):
        return max(old.there, gathered), old.back


@ws.vertex_program
class StepsBack:
    """Steps from the other end, against the edges."""

    there: ws.int64
    back: ws.int64

    def init(vertex):
        return -1, -1

    def starts(state):
        return state.back == 0

    def compute(src):
        return src.back + 1

    combine = max

    def apply(old, gathered):
        return old.there, max(old.back, gathered)


STEPS_AND_BACK = ws.phases(Steps, ws.phase(StepsBack, direction="out"), rounds=1)


@ws.vertex_program
class SumAndGreatest:
    """Add up the neighbours' values, and take the greatest."""

    x = ws.vertex_value(ws.float32)
    total = ws.float32
    greatest = ws.float32
    combine = (sum, max)

    def init(own):
        return 0.0, 0.0

    def compute(src):
        return src.x, src.x

    def apply(old, gathered):
        return gathered


@ws.vertex_program
class Majority:
    """Label propagation (LDBC's): each vertex takes the most frequent label of its neighbours, of several the least."""

    label: ws.vertex_id
    contributors = "all"
    max_iter = 10

    def init(vertex):
        return vertex

    def compute(src):
        return src.label

    combine = ws.mode()

    def apply(old, gathered):
        return gathered


@ws.edge_program
class Likeness:
    """Jaccard similarity of the ends of each edge."""

    coefficient: ws.float64
    degree: ws.neighbour_count
    combine = sum

    def common(w, u, v):
        return 1

    def value(u, v, common):
        return common / (u.degree + v.degree - common)


@dataclass(frozen=True)
class Program:
    """One of the paper's programs, and the arguments that it needs.

    Attributes
    ----------
    name, label : str
        Our name, and the paper's.
    program : VertexProgram
    weights : str or None
        The form of the graph, if it has weights; see `bench.forms`.
    start : bool
        Whether it starts from a vertex.
    values : str or None
        Name of the argument for initial values.
    few : bool
        Whether only a few vertices have initial values.
    dense : bool
        Whether every superstep reads all edges; then the number of supersteps is given.
    """

    name: str
    label: str
    program: ws.VertexProgram
    weights: str | None = None
    start: bool = False
    values: str | None = None
    few: bool = False
    dense: bool = False

    def arguments(self, start: int, values: Callable[[bool], Any]) -> dict[str, Any]:
        """Return its arguments for `ws.run`.

        Parameters
        ----------
        start : int
            The vertex to start from.
        values : callable
            Returns a frame of initial values; takes whether they are for a few vertices only.
        """
        first = {} if self.values is None else {self.values: values(self.few)}
        return {"start": start, **first} if self.start else first

    def stop(self, supersteps: int = SUPERSTEPS) -> dict[str, Any]:
        """Return the options that end a dense program after some supersteps; others end by themselves."""
        return {"max_iter": supersteps, "tol": 0.0} if self.dense else {}


PROGRAMS = {
    program.name: program
    for program in (
        Program("bfs", "BFS", ws.BFS, start=True),
        Program("sssp", "SSSP", ws.SSSP, "weighted", start=True),
        Program("widest path", "SSWP", ws.WidestPath, "weighted", start=True),
        Program("components", "CC", Labels),
        Program("pagerank", "PR", ws.PageRank, dense=True),
        Program("heat", "HS", ws.Heat, "coefficients", values="temperature", dense=True),
        Program("circuit", "CS", ws.Circuit, "weighted", values="sources", few=True, dense=True),
        Program(
            "neural network", "NN", ws.NeuralNetwork, "synapses", values="activation", dense=True
        ),
    )
}


# ----------------------------------------------------------------------- programs as users write them


@ws.vertex_program
class Ranks:
    """PageRank of a graph, dangling vertices' mass spread evenly."""

    rank: ws.float64
    degree: ws.out_degree
    combine = sum
    residual = ws.l1_norm("rank")
    tol = PAGERANK_TOL

    def init(vertex, p):
        return 1.0 / p.number_of_vertices

    @ws.aggregate
    def lost(state):
        return state.rank if state.degree == 0 else 0.0

    def compute(src):
        return src.rank / src.degree

    def apply(old, gathered, p):
        return 0.15 / p.number_of_vertices + 0.85 * (gathered + p.lost / p.number_of_vertices)


@ws.vertex_program
class Distances:
    """Length of the shortest path from `source` to every vertex."""

    distance: ws.nullable(ws.like("weight"), math.inf)
    weight: ws.edge()
    source: ws.vertex_parameter
    before: ws.predecessor
    combine = min

    def init(vertex, p):
        return 0 if vertex == p.source else math.inf

    def compute(src, edge):
        return src.distance + edge.weight

    def apply(old, gathered):
        return min(old.distance, gathered)

    def priority(state):
        return state.distance


@ws.vertex_program
class Widths:
    """Width of the widest path from `source` to every vertex."""

    width: ws.float64
    weight: ws.edge()
    source: ws.vertex_parameter
    before: ws.predecessor
    combine = max

    def init(vertex, p):
        return math.inf if vertex == p.source else 0

    def compute(src, edge):
        return min(src.width, edge.weight)

    def apply(old, gathered):
        return max(old.width, gathered)

    def priority(state):
        return -state.width


def source_of(*names: str) -> str:
    """Return the text of a module with some of the programs, as users would write it."""
    text = Path(__file__).read_text("utf-8")
    lines = text.splitlines()
    classes = [
        "\n".join(lines[node.lineno - 2 : node.end_lineno])
        for node in ast.parse(text).body
        if isinstance(node, ast.ClassDef) and node.name in names
    ]
    head = f"import math\n\nimport cugraph_ws as ws\n\nPAGERANK_TOL = {PAGERANK_TOL!r}"
    return "\n\n\n".join([head, *classes]) + "\n"
