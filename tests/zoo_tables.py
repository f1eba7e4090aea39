"""Programs of the zoo that read tables: tuples, lists and arrays of numbers by index."""

from __future__ import annotations

import math

import numpy as np
from zoo import entry, from_first

import cugraph_ws as ws

__all__ = ["ByKind", "ByRoad"]

CHANGE = [0.5, 0.25, 0.125]
FACTOR = (1, 3, 2, 5)
GAIN = np.array([[1, -2, 0], [3, 4, -1]], np.int32)
SINGLES = np.array([0.5, 0.1, 0.25], np.float32)
RIPE = (False, True, True)


class Limits:
    """Numbers that have names in a class."""

    MOST = 5
    STEPS = (2, 0, 1)


def change_of(kind, table_end):
    """Read the table from its end."""
    return CHANGE[-kind - 1] if table_end else CHANGE[kind]


@entry(message=float)
class ByKind:
    """Rates by the kind of a vertex, which changes by a table of a class; read in a helper too."""

    kind: ws.int64
    x: ws.float64
    max_iter = 3
    combine = sum

    def init(vertex):
        return vertex % len(CHANGE), CHANGE[vertex % 3]

    def compute(src):
        return src.x * change_of(src.kind, src.kind == 1)

    def apply(old, gathered):
        return (old.kind + Limits.STEPS[old.kind]) % 3, min(old.x + gathered, Limits.MOST)


@entry(from_first)
class ByRoad:
    """The shortest path by lengths that depend on the kind of an edge: proved free of order if kinds have entries."""

    d: ws.nullable(ws.int64, math.inf)
    whole: ws.edge(ws.int64)
    start: ws.vertex_parameter

    def init(vertex, p):
        return 0 if vertex == p.start else math.inf

    def compute(src, edge):
        return src.d + FACTOR[max(min(edge.whole, 3), 0)]

    combine = min

    def apply(old, gathered):
        return min(old.d, gathered)


@entry(compiled=True)
class Game:
    """Gains of two dimensions, by the strategies of both ends; the better one is taken on, by a table of flags."""

    plan: ws.int64
    total: ws.int64
    max_iter = 5
    combine = sum

    def init(vertex):
        return vertex % 2, 0

    def compute(src, dst):
        return GAIN[dst.plan, src.plan] + GAIN[src.plan][-1]

    def apply(old, gathered):
        total = (old.total + gathered) % 3
        return 1 if RIPE[total] else 0, total


@entry(message=float)
class Smoothed:
    """Weights of float32 in a loop over a table, and which vertices go on by one."""

    x: ws.float32
    max_iter = 3
    combine = max

    def init(vertex):
        return (vertex % 5) / 4

    def compute(src):
        total = src.x
        for i in range(len(SINGLES)):
            total += src.x * SINGLES[i]
        return total

    def apply(old, gathered):
        return min(gathered, 64.0)

    def active(old, new):
        return RIPE[int(new.x) % 3] or new.x != old.x
