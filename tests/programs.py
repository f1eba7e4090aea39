"""Vertex programs that several tests run, and oracles for them in plain loops.

They are few, because each is compiled for every direction that a test asks for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from verify import Array, Edges

import cugraph_ws as ws

__all__ = [
    "Endless",
    "Hops",
    "Labels",
    "Nearest",
    "Paths",
    "Peel",
    "Rank",
    "Reached",
    "Widest",
    "hops",
    "labels",
    "nearest",
    "peeled",
    "product_of_widths",
    "values_of",
]

FAR = 1 << 40


@ws.vertex_program
class Hops:
    """Hops from a vertex: a minimum over one integer field."""

    hops: ws.int64
    start: ws.vertex_parameter

    def init(vertex, p):
        return 0 if vertex == p.start else FAR

    def compute(src):
        return src.hops + 1

    combine = min

    def apply(old, gathered):
        return min(old.hops, gathered)


@ws.vertex_program
class Nearest:
    """The nearest of some seeds: a minimum over pairs, and a state of two fields."""

    distance: ws.nullable(ws.float64, math.inf)
    seed: ws.vertex_id
    weight: ws.edge(ws.float64, default=1.0)
    seeds: ws.vertex_set

    def init(vertex, p, own):
        return (0.0, vertex) if own.seeds else (math.inf, p.number_of_vertices - 1)

    def compute(src, edge):
        return src.distance + edge.weight, src.seed

    combine = min
    asynchronous = True

    def apply(old, gathered):
        better = gathered < (old.distance, old.seed) and gathered[0] < math.inf
        return gathered if better else (old.distance, old.seed)

    def active(old, new):
        return new.distance < old.distance or new.seed < old.seed

    def priority(state):
        return state.distance


@ws.vertex_program
class Peel:
    """Whether a vertex survives when those of fewer than k in-edges go, again and again."""

    left: ws.int64
    alive: ws.boolean
    degree: ws.in_degree
    k: ws.parameter(ws.int64, default=2)
    contributors = "active"

    def init(vertex, p, own):
        return own.degree, own.degree >= p.k

    def starts(state):
        return not state.alive

    def compute(src):
        return 1

    combine = sum

    def apply(old, gathered, p):
        left = old.left - gathered
        return left, left >= p.k

    def active(old, new):
        return old.alive and not new.alive


@ws.vertex_program
class Labels:
    """The least vertex of which a path leads here."""

    label: ws.vertex_id

    def init(vertex):
        return vertex

    def compute(src):
        return src.label

    combine = min

    def apply(old, gathered):
        return min(old.label, gathered)


@ws.vertex_program
class Reached:
    """Whether a path leads here from one of some vertices: any message will do."""

    reached: ws.boolean
    start: ws.vertex_set

    def init(vertex, p, own):
        return own.start

    def compute(src):
        return src.reached

    combine = any

    def apply(old, gathered):
        return old.reached or gathered

    def settled(state):
        return state.reached


@ws.vertex_program
class Widest:
    """The widest path, with priorities that are the negative of the state."""

    width: ws.nullable(ws.float64, -math.inf)
    before: ws.predecessor
    weight: ws.edge(ws.float64, default=1.0)
    start: ws.vertex_parameter

    def init(vertex, p):
        return math.inf if vertex == p.start else -math.inf

    def compute(src, edge):
        return min(src.width, edge.weight)

    combine = max

    def apply(old, gathered):
        return max(old.width, gathered)

    def priority(state):
        return -state.width


@ws.vertex_program
class Paths:
    """Product over in-neighbours of 1 + x/16, three times: a combine of the user's own."""

    value: ws.float64
    scale: ws.parameter(ws.float64, default=16.0)
    max_iter = 3
    residual = ws.max_norm("value")

    def init(vertex):
        return 1.0

    def compute(src, edge, p):
        return 1.0 + src.value / p.scale

    def combine(first, second):
        return first * second

    identity = 1.0

    def apply(old, gathered):
        return min(gathered, 4.0)


@ws.vertex_program
class Rank:
    """PageRank without a damping of its own: sums, an aggregate, a residual."""

    rank: ws.float64
    share: ws.hidden(ws.float64)
    degree: ws.out_degree
    residual = ws.l1_norm("rank")
    tol = 1e-9
    max_iter = 200

    @ws.aggregate
    def lost(state):
        return state.rank if state.degree == 0 else 0.0

    def init(vertex, p, own):
        rank = 1.0 / p.number_of_vertices
        return rank, rank / max(own.degree, 1)

    def compute(src):
        return src.share

    combine = sum

    def apply(old, gathered, p):
        n = p.number_of_vertices
        rank = 0.15 / n + 0.85 * (gathered + p.lost / n)
        return rank, rank / max(old.degree, 1)


@ws.vertex_program
class Fading:
    """An aggregate that is of the number of the superstep."""

    value: ws.float64
    residual = ws.l1_norm("value")
    max_iter = 6

    @ws.aggregate
    def faded(state, p):
        return state.value / (2.0 + p.superstep)

    def init(vertex, p):
        return 1.0 + vertex / p.number_of_vertices

    def compute(src):
        return src.value

    combine = sum

    def apply(old, gathered, p):
        return (gathered + p.faded / p.number_of_vertices) / 8.0


@ws.vertex_program
class Endless:
    """Flips all values between 0 and 1: only a limit ends it."""

    value: ws.float64
    residual = ws.max_norm("value")
    tol = 0.0
    max_iter = 1 << 40

    def init(vertex):
        return 0.0

    def compute(src):
        return 0.0

    combine = sum

    def apply(old, gathered):
        return 1.0 - old.value


def _arcs(edges: Edges) -> list[tuple[int, int, float]]:
    """Return (source, destination, weight) of every arc; an undirected edge gives two."""
    weight = np.ones(len(edges.source)) if edges.weight is None else edges.weight
    arcs = list(
        zip(edges.source.tolist(), edges.destination.tolist(), weight.tolist(), strict=True)
    )
    return arcs if edges.directed else arcs + [(v, u, w) for u, v, w in arcs if u != v]


def _fixpoint(
    edges: Edges, first: list[Any], better: Callable[[Any, float], Any], pick: Callable[..., Any]
) -> list[Any]:
    """Apply every arc until nothing changes (Bellman and Ford)."""
    arcs, state, changed = _arcs(edges), list(first), True
    while changed:
        changed = False
        for u, v, w in arcs:
            new = pick(state[v], better(state[u], w))
            if new != state[v]:
                state[v], changed = new, True
    return state


def hops(edges: Edges, start: int) -> list[int]:
    """Return what `Hops` should."""
    first = [0 if v == start else FAR for v in range(edges.n)]
    return _fixpoint(edges, first, lambda state, _: state + 1, min)


def nearest(edges: Edges, seeds: list[int]) -> list[tuple[float, int]]:
    """Return what `Nearest` should."""
    first = [(0.0, v) if v in seeds else (math.inf, edges.n - 1) for v in range(edges.n)]

    def pick(old: Any, new: Any) -> Any:
        return new if new < old and new[0] < math.inf else old

    return _fixpoint(edges, first, lambda state, w: (state[0] + w, state[1]), pick)


def labels(edges: Edges) -> list[int]:
    """Return what `Labels` should."""
    return _fixpoint(edges, list(range(edges.n)), lambda state, _: state, min)


def peeled(edges: Edges, k: int) -> list[bool]:
    """Return what `Peel` should, one vertex at a time."""
    arcs = _arcs(edges)
    left = [0] * edges.n
    for _, v, _ in arcs:
        left[v] += 1
    alive = [True] * edges.n
    while (weak := next((v for v in range(edges.n) if alive[v] and left[v] < k), None)) is not None:
        alive[weak] = False
        for u, v, _ in arcs:
            left[v] -= u == weak
    return alive


def product_of_widths(edges: Edges, supersteps: int = 3) -> Array:
    """Return what `Paths` should."""
    value = np.ones(edges.n)
    for _ in range(supersteps):
        product = np.ones(edges.n)
        for u, v, _ in _arcs(edges):
            product[v] *= 1.0 + value[u] / 16.0
        value = np.minimum(product, 4.0)
    return value


def values_of(result: ws.Result) -> dict[str, list[Any]]:
    """Return a result's columns as lists, None for null: equal for equal results, bit by bit."""
    columns: dict[str, list[Any]] = {}
    for name, column in result.arrays.items():
        values = getattr(column, "values", getattr(column, "numbers", column))
        valid = getattr(column, "valid", np.ones(len(values), np.bool_))
        columns[name] = [
            value if kept else None
            for value, kept in zip(values.tolist(), valid.tolist(), strict=True)
        ]
    return columns
