"""The eight programs of the Warp Segmentation paper: on which weights, with which arguments, verified how."""

# The functions of a vertex program take vertices and edges, and no self.
# ruff: noqa: N805

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gpu_checks
import numpy as np
from gpu_graphs import Case, Weights

import cugraph_ws as ws
from cugraph_ws.declarations import Like, State

__all__ = ["DENSE", "PROGRAMS", "Program", "run_program"]

Arguments = dict[str, Any]
INDEX_BYTES = 4  # of an in-neighbour's position
OFFSET_BYTES = 8  # of a row's begin
WEIGHT_BYTES = 4  # of an edge attribute; those measured here are float32


@ws.vertex_program
class Labels:
    """The least vertex that leads here: components, of a graph whose edges go both ways."""

    label: ws.vertex_id

    def init(vertex):
        return vertex

    def compute(src):
        return src.label

    combine = min

    def apply(old, gathered):
        return min(old.label, gathered)


@dataclass(frozen=True)
class Program:
    """A program and what it runs on.

    Attributes
    ----------
    name : str
    program : VertexProgram
    weights : str or None
        Kind of the edges' weights.
    arguments : callable
        Returns the arguments of `run` for a case.
    check : callable
        Takes case, result and supersteps; see `gpu_checks`.
    dense : bool
        Whether every superstep reads all edges, for as many supersteps as wanted.
    """

    name: str
    program: ws.VertexProgram
    weights: Weights | None
    arguments: Callable[[Case], Arguments]
    check: Callable[[Case, ws.Result], float | None]
    dense: bool = False

    def bytes_of(self, result: ws.Result) -> float:
        """Return what a superstep has to move: indices, gathered values, weights; every vertex once.

        A superstep reads an index, a neighbour's value and maybe a weight for an edge; and for a
        vertex the row's begin and the old state, and writes the new one.
        """
        fields = self.program.state.values()
        sizes = [_size(one) for one in fields]
        edge = INDEX_BYTES + min(sizes) + (0 if self.weights is None else WEIGHT_BYTES)
        vertex = OFFSET_BYTES + 2 * sum(sizes)
        return edges_of(result) * edge + result.graph.number_of_vertices * vertex


def _size(field: State) -> int:
    """Return the bytes of a state field on the GPU."""
    kept = field.on_gpu or field.type
    if isinstance(kept, Like):
        return WEIGHT_BYTES
    return INDEX_BYTES if kept.holds_vertex else int(np.dtype(kept.name).itemsize)


def edges_of(result: ws.Result) -> float:
    """Return the arcs that a superstep has read, in the mean."""
    return sum(result.rows.edges) / max(1, result.iterations)


def run_program(
    case: Case, work: Program, method: str, supersteps: int, arguments: Arguments
) -> ws.Result:
    """Run a program on a case's graph, which is built if it is not yet.

    Parameters
    ----------
    case : Case
    work : Program
    method : str
        The schedule.
    supersteps : int
        How many, of a dense program; others run to their end.
    arguments : dict
        What `work.arguments` returned.

    Returns
    -------
    Result
    """
    stop: Arguments = {"max_iter": supersteps, "tol": 0.0} if work.dense else {}
    return ws.run(
        work.program, case.graph(work.weights), method=method, predecessors=False,
        **arguments, **stop,
    )  # fmt: skip


# ------------------------------------------------------------------------------- first states


def _temperatures(case: Case) -> Any:
    import cupy

    return (cupy.arange(case.n) % 97 + 1) / 97.0


def _pairs(case: Case, every: int) -> Any:
    """Return a frame of every so-manieth vertex and its value."""
    import cudf
    import cupy

    vertex = cupy.flatnonzero(case.present)[::every].astype(cupy.int32)
    return cudf.DataFrame({"vertex": vertex, "value": _temperatures(case)[vertex]})


def _sources(case: Case) -> Any:
    import cupy

    held = cupy.zeros(case.n, bool)
    held[cupy.flatnonzero(case.present)[::64]] = True
    return held


# -------------------------------------------------------------------------------- verification


def _dense_check(program: str, column: str) -> Callable[[Case, ws.Result], float]:
    def check(case: Case, result: ws.Result) -> float:
        import cupy

        held = _sources(case) if program == "circuit" else cupy.zeros(case.n, bool)
        first = _temperatures(case)
        if program == "circuit":
            first = cupy.where(held, first, 0.0)
        first = cupy.where(case.present, first, 0.0)
        expected = gpu_checks.steps(case, program, result.iterations, first, held)
        found = case.by_id(result.frame, column)
        # Where every edge reads float32, a sum is off by a few of its last digits.
        return gpu_checks.close(found, cupy.where(case.present, expected, 0.0), 1e-5)

    return check


def _hops(case: Case, result: ws.Result) -> None:
    gpu_checks.hops(case, _distances(case, result, "distance"), case.start)


def _lengths(case: Case, result: ws.Result) -> None:
    gpu_checks.lengths(case, _distances(case, result, "distance"), case.start)


def _widths(case: Case, result: ws.Result) -> None:
    import cupy

    frame = result.frame
    width = case.by_id(frame.fillna({"width": -np.inf}), "width", -np.inf)
    gpu_checks.widths(case, cupy.asarray(width, cupy.float64), case.start)


def _labels(case: Case, result: ws.Result) -> None:
    """Check that no edge lowers a label, and that labels come from above: least vertices upstream."""
    import cupy

    label = case.by_id(result.frame, "label")
    assert not bool((label[case.source] < label[case.destination]).any()), "an edge lowers a label"
    ids = cupy.arange(case.n)
    assert bool((label <= ids)[case.present].all()), "a label is above its vertex"
    own = label[label[case.present]]
    assert bool((own <= label[case.present]).all()), "a label's own label is above it"


def _distances(case: Case, result: ws.Result, column: str) -> Any:
    frame = result.frame
    kind = np.dtype(str(frame[column].dtype).lower())
    far = np.iinfo(kind).max if kind.kind == "i" else np.inf
    return case.by_id(frame.fillna({column: far}), column, far)


PROGRAMS = {
    one.name: one
    for one in (
        Program("bfs", ws.BFS, None, lambda case: {"start": case.start}, _hops),
        Program("sssp", ws.SSSP, "lengths", lambda case: {"start": case.start}, _lengths),
        Program(
            "widest path", ws.WidestPath, "lengths", lambda case: {"start": case.start}, _widths
        ),
        Program("components", Labels, None, lambda case: {}, _labels),
        Program(
            "pagerank", ws.PageRank, None, lambda case: {},
            _dense_check("pagerank", "pagerank"), dense=True,
        ),
        Program(
            "heat", ws.Heat, "coefficients", lambda case: {"temperature": _pairs(case, 1)},
            _dense_check("heat", "temperature"), dense=True,
        ),
        Program(
            "circuit", ws.Circuit, "lengths", lambda case: {"sources": _pairs(case, 64)},
            _dense_check("circuit", "voltage"), dense=True,
        ),
        Program(
            "neural network", ws.NeuralNetwork, "synapses",
            lambda case: {"activation": _pairs(case, 1)},
            _dense_check("neural network", "activation"), dense=True,
        ),
    )
}  # fmt: skip
DENSE = tuple(name for name, work in PROGRAMS.items() if work.dense)
