"""Work that runs on one GPU and on several: functions with their results, and the paper's eight programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import cugraph_ws as ws
from bench.graphs import Weights
from bench.programs import PROGRAMS, SUPERSTEPS, Program

__all__ = ["BUILD", "EXCHANGED", "JOBS", "KINDS", "MANY", "ONE", "PAGERANK", "REPEATS", "Answer", "Job",
           "superstep_seconds", "taken"]  # fmt: skip

ONE = "one GPU"
BUILD = "build from a frame"
REPEATS = 3  # at most: machines with several GPUs are expensive
MANY = 9  # of short calls, whose times vary by a third from one to the next
FEW = 1000  # one in so many ids has an initial value, where only a few have

Graph = Any
Answer = tuple[Any, Any]  # a result, or None, and its frame
Values = Callable[[int], Any]


@dataclass(frozen=True)
class Job:
    """Some work on a graph, the same on one GPU and on several.

    Attributes
    ----------
    name : str
    weights : str or None
        Kind of the edges' weights.
    call : callable
        Takes the graph, the vertex to start from, and a callable that returns a frame of first values of
        some vertices, given how far apart they are; and options of `ws.run`, if it runs a program.
    dense : bool
        Whether it takes 20 supersteps over all edges.
    """

    name: str
    weights: Weights | None
    call: Callable[..., Any]
    dense: bool = False


def _run(work: Program, graph: Graph, start: int, values: Values, **options: Any) -> Any:
    """Run a program: a dense one for 20 supersteps, any other to its end, from `start` if it needs one."""
    given = work.arguments(start, lambda few: values(FEW if few else 1))
    plain = {} if work.dense else {"predecessors": False}
    return ws.run(work.program, graph, **given, **plain, **work.stop(), **options)


def _program(name: str, work: Program) -> Job:
    # Weights of either sign would need a separate graph, which no other program uses.
    kind: Weights | None = "coefficients" if work.weights == "synapses" else work.weights
    return Job(name, kind, partial(_run, work), work.dense)


PAGERANK = partial(_run, PROGRAMS["pagerank"])
JOBS = (
    _program(f"PageRank, {SUPERSTEPS} supersteps", PROGRAMS["pagerank"]),
    Job("bfs", None, lambda graph, start, values: ws.bfs(graph, start)),
    Job("components", None, lambda graph, start, values: ws.weakly_connected_components(graph)),
    Job("sssp", "lengths", lambda graph, start, values: ws.sssp(graph, start)),
    Job("widest path", "lengths", lambda graph, start, values: ws.widest_path(graph, start)),
    *(
        _program(f"{name}, {SUPERSTEPS} supersteps", PROGRAMS[name])
        for name in ("heat", "neural network")
    ),
)
EXCHANGED = tuple(_program(work.label, work) for work in PROGRAMS.values())
KINDS: tuple[Weights | None, ...] = (None, "lengths", "coefficients")


def taken(found: Any) -> Answer:
    """Return a result and its frame, or None and a frame."""
    return (found, found.frame) if hasattr(found, "iterations") else (None, found)


def superstep_seconds(answer: Answer) -> float:
    """Return the seconds that a result's supersteps took."""
    return float(answer[0].trace["milliseconds"].sum()) / 1e3
