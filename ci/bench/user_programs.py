"""Programs as a user would write them, against the functions that do the same."""

# The functions of a vertex program take vertices and edges, and no self.
# ruff: noqa: N805

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import verify
from algorithms import PAGERANK_TOL, Built, Form
from measure import OURS, Contender
from verify import Array

import cugraph_ws as ws

__all__ = ["PROGRAMS", "USERS"]

USERS = "user's program"


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
    def lost(v):
        return v.rank if v.degree == 0 else 0.0

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


def ranks(built: Built, start: int) -> Iterator[Contender]:
    """PageRank: every vertex in every superstep."""
    del start

    def check(frame: Any) -> None:
        verify.check_pagerank(built.edges, frame.iloc[:, 1].to_numpy(), PAGERANK_TOL)

    yield Contender(OURS, lambda: ws.pagerank(built.ours, tol=PAGERANK_TOL), check)
    yield Contender(USERS, lambda: ws.run(Ranks, built.ours).frame, check)


def distances(built: Built, start: int) -> Iterator[Contender]:
    """Shortest paths: few vertices at a time."""

    def check(frame: Any) -> None:
        distance, predecessor = _columns(frame)
        verify.check_shortest_paths(built.edges, start, distance, predecessor)

    yield Contender(OURS, lambda: ws.sssp(built.ours, start), check)
    yield Contender(USERS, lambda: ws.run(Distances, built.ours, source=start).frame, check)


def widths(built: Built, start: int) -> Iterator[Contender]:
    """Widest paths, with `max`."""

    def check(frame: Any) -> None:
        width, predecessor = _columns(frame)
        verify.check_widest_paths(built.edges, start, width, predecessor)

    yield Contender(OURS, lambda: ws.widest_path(built.ours, start), check)
    yield Contender(USERS, lambda: ws.run(Widths, built.ours, source=start).frame, check)


PROGRAMS: dict[str, tuple[Form, Callable[[Built, int], Iterator[Contender]]]] = {
    "pagerank": ("unweighted", ranks),
    "sssp": ("weighted", distances),
    "widest path": ("weighted", widths),
}


def _columns(frame: Any) -> tuple[Array, Array]:
    """Return a search's values and predecessors, whatever the columns' types and names."""
    values = frame.iloc[:, 1].to_numpy(np.float64, na_value=np.nan)
    return values, frame.iloc[:, 2].fillna(-1).to_numpy(np.int64)
