"""Programs of the zoo that read tables or numbers of vertices, and whose helpers have defaults or are lambdas."""

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


halved = lambda x: x / 2  # noqa: E731 - helpers may be lambdas
WAYS = {"up": lambda x: x + LEAST, "down": lambda x, by=2: x - by}
LEAST = 1
upwards, downwards = WAYS["up"], WAYS["down"]


def within(x, low=0, high=9, *, offset=0):
    """Bound a number."""
    return min(max(x + offset, low), high)


def farther(d, by=3):
    """Add a length."""
    return upwards(d) + by


between = lambda x, most=6.0: 0 <= x < most  # noqa: E731
scaled = lambda x, by=0.25: within(x * by, high=5)  # noqa: E731


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


@entry(message=float)
class HalvedByLambda:
    """Helpers that are lambdas, in a sum of floats."""

    x: ws.float64
    max_iter = 3
    combine = sum

    def init(vertex):
        return halved(vertex)

    def compute(src):
        return halved(upwards(src.x)) if src.x < 4 else downwards(src.x)

    def apply(gathered):
        return min(gathered, 64.0)


@entry()
class Bounded:
    """A helper's defaults, and arguments by name."""

    x: ws.int64
    max_iter = 4
    combine = max

    def init(vertex):
        return within(vertex, high=4)

    def compute(src, dst):
        return within(downwards(src.x) if dst.x > 2 else upwards(src.x), low=-3)

    def apply(old, gathered):
        return within(high=7, x=gathered - old.x)


@entry(from_first)
class Farther:
    """A default beside an infinity of integers: proved free of order."""

    d: ws.nullable(ws.int64, math.inf)
    start: ws.vertex_parameter

    def init(vertex, p):
        return 0 if vertex == p.start else math.inf

    def compute(src):
        return farther(src.d)

    combine = min

    def apply(old, gathered):
        return min(old.d, gathered)


@entry(message=float)
class Nested:
    """Defaults of a helper that a lambda calls, in functions of all kinds."""

    x: ws.float32
    max_iter = 4
    combine = min

    def init(vertex):
        return scaled(vertex)

    def starts(state):
        return between(state.x)

    def compute(src):
        return scaled(src.x, 0.5)

    def apply(old, gathered):
        return between(gathered) * 4.0 + old.x

    def active(old, new):
        return between(new.x, 8) and new.x != old.x


@entry()
class Ahead:
    """Counts in-neighbours with a smaller number, less those with a greater one, by the numbers of both ends."""

    x: ws.int64
    me: ws.vertex_number
    max_iter = 3
    combine = sum

    def init(own):
        return own.me % 3

    def compute(src, dst):
        return src.x if src.me < dst.me else -1

    def apply(old, gathered):
        return gathered + old.me


@entry()
class Heard:
    """The greatest number among those from which a vertex can be reached, and where it came from; proved free of order."""

    most: ws.int64
    me: ws.integer_id

    def init(vertex, own):
        return own.me - vertex - 1

    def compute(src):
        return max(src.most, src.me)

    combine = max

    def apply(old, gathered):
        return max(old.most, gathered)


@entry(from_first)
class Told:
    """The vertex that told a vertex something first, of several the least number."""

    teller: ws.vertex_id
    me: ws.vertex_number
    start: ws.vertex_parameter
    combine = min

    def init(own, p):
        return own.me if own.me == p.start else math.inf

    def starts(state, p):
        return state.me == p.start

    def compute(src):
        return src.me

    def apply(old, gathered):
        return old.teller if old.teller < math.inf else gathered

    def settled(state):
        return state.teller < math.inf


@entry(message=int)
class Third:
    """The third least of the senders' numbers, less the vertex's own."""

    x: ws.int64
    me: ws.vertex_number
    max_iter = 2

    def init(vertex):
        return 0

    def compute(src):
        return 2 * src.me - src.x

    def gather_list(old, messages):
        return messages[2] - old.me if len(messages) > 2 else old.me

    message_order = "value"

    def apply(gathered):
        return gathered

    def active(old, new):
        return old.me % 2 == 0 and old.x != new.x
