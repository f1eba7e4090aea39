"""Steps over vertices alone, and phases that have them between programs that send messages."""

from __future__ import annotations

import math

from phased import Entry
from zoo import RATE

import cugraph_ws as ws

__all__ = ["STEPS", "Halvings", "Normalised", "Walked"]


@ws.vertex_program
class Passed:
    """What the in-neighbours have, and a little of one's own."""

    rank: ws.float64
    combine = sum
    max_iter = 1

    def init(vertex):
        return 1.0 + vertex % 4

    def compute(src):
        return src.rank

    def apply(old, gathered):
        return gathered + 0.25


@ws.vertex_step
class Normalised:
    """Ranks as shares of their sum, and which is the greatest."""

    rank: ws.float64
    is_first: ws.boolean

    @ws.aggregate
    def total(state):
        return state.rank

    @ws.aggregate(max)
    def most(state):
        return state.rank

    def init(vertex):
        return 0.0, False

    def apply(old, p):
        return old.rank / p.total, old.rank == p.most


@ws.vertex_step
class Walked:
    """Bookkeeping: the rounds that a vertex was not first, by its number, its degrees and a parameter."""

    is_first: ws.boolean
    notes: ws.int64
    me: ws.vertex_number
    outward: ws.out_degree
    inward: ws.in_degree
    step = ws.parameter(ws.int64, default=RATE)

    def init():
        return False, 0

    def apply(old, p):
        if old.is_first:
            return False, old.notes
        return False, old.notes * 3 + p.step * old.me + old.outward - 2 * old.inward


@ws.vertex_step
class Halvings:
    """How often a number is halved, until all are below 1; `until` reads an aggregate."""

    x: ws.float64
    times: ws.int32
    share = ws.vertex_value(ws.float64, default=3.0)
    max_iter = None

    @ws.aggregate(max)
    def most(state):
        return state.x

    def init(vertex, own):
        return own.share + vertex, 0

    def until(p):
        return p.most < 1.0

    def apply(old):
        return (old.x * 0.5, old.times + 1) if old.x >= 1.0 else (old.x, old.times)


@ws.vertex_step
class Roots:
    """The root of each tree, by jumps, in five supersteps; distances that may be infinite go along."""

    parent: ws.vertex_id
    depth: ws.nullable(ws.int64, math.inf)
    grand: ws.vertex_id
    far = ws.at("parent", "parent")
    deep = ws.at("depth", "parent")
    max_iter = 5

    def init(vertex):
        return vertex * 2 // 3, math.inf if vertex % 5 == 4 else min(vertex, 1), -1

    def apply(old):
        return old.far, old.depth + old.deep if old.far != old.parent else old.depth, old.parent


STEPS = [
    Entry("normalised", ws.phases(Passed, Normalised, rounds=3), (float, int), tolerance=1e-12),
    Entry(
        "bookkeeping",
        ws.phases(Passed, Normalised, Walked, ws.phase(Walked, "out"), rounds=3),
        (float, int, int, int),
        tolerance=1e-12,
    ),
    Entry("halvings", ws.phases(Halvings, rounds=1), (int,)),
    Entry("roots", ws.phases(Roots, rounds=1), (int,), needs_vertex=True),
]
