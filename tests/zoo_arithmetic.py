"""Programs of the zoo whose answers depend on types: integer infinity, flags, small integers, shifts, float32."""

from __future__ import annotations

import math

import numpy as np
from zoo import SINGLE, entry, from_first, from_some

import cugraph_ws as ws

__all__: list[str] = []


@entry(from_first, compiled=True)
class InfiniteProduct:
    """The least product along a path: infinity times a factor stays infinite."""

    d: ws.nullable(ws.int64, math.inf)
    whole: ws.edge(ws.int64)
    start: ws.vertex_parameter
    max_iter = 6

    def init(vertex, p):
        return 1 if vertex == p.start else math.inf

    def compute(src, edge):
        return src.d * max(edge.whole, 1)

    combine = min

    def apply(old, gathered):
        return min(old.d, gathered)


@entry(from_first, compiled=True)
class NegativeEdges:
    """Bellman and Ford's algorithm: infinity less a weight stays infinite."""

    d: ws.nullable(ws.int64, math.inf)
    whole: ws.edge(ws.int64)
    start: ws.vertex_parameter
    max_iter = 5

    def init(vertex, p):
        return 0 if vertex == p.start else math.inf

    def compute(src, edge):
        return src.d + edge.whole

    combine = min

    def apply(old, gathered):
        return gathered if gathered < old.d else old.d


@entry(from_some, message=(int, int), compiled=True)
class TwoInfinities:
    """Two fields of 32 bits that may be infinite, and a flag that compares one with math.inf."""

    near: ws.nullable(ws.int32, math.inf)
    hops: ws.nullable(ws.int32, math.inf)
    lost: ws.boolean
    whole: ws.edge(ws.int64)
    start: ws.vertex_set
    max_iter = 4

    def init(vertex, p, own):
        return (0, 0, False) if own.start else (math.inf, math.inf, True)

    def compute(src, edge):
        if src.near == math.inf:
            return math.inf, src.hops
        return src.near - edge.whole, src.hops + 1

    combine = min

    def apply(old, gathered):
        near, hops = gathered
        if near < old.near:
            return near, hops, not near < math.inf
        return old.near, old.hops, old.near == math.inf


@entry(from_some, compiled=True)
class InfiniteSum:
    """A sum of which one part is infinite."""

    d: ws.nullable(ws.int64, math.inf)
    half: ws.float64
    start: ws.vertex_set
    max_iter = 3

    def init(vertex, p, own):
        return math.inf if own.start else vertex, 0.0

    def compute(src):
        return src.d // 2 + 1

    combine = sum

    def apply(old, gathered):
        return gathered - 1, gathered / 4 + 0.5


@entry(from_some, message=(int, int))
class Unreached:
    """Counts the in-neighbours that no path reaches, by a comparison with math.inf."""

    d: ws.hidden(ws.int64)
    lost: ws.int64
    start: ws.vertex_set
    max_iter = 4

    def init(vertex, p, own):
        return 0 if own.start else math.inf, 0

    def compute(src):
        return src.d != math.inf, src.d == math.inf

    combine = sum

    def apply(old, gathered):
        return (0 if gathered[0] > 0 else old.d), gathered[1]


@entry(from_some)
class FromTheFarthest:
    """A maximum in which infinity wins, and a limit that it passes on as a float."""

    d: ws.nullable(ws.int32, math.inf)
    start: ws.vertex_set
    limit: ws.parameter(ws.float64, default=6.5)
    max_iter = 3

    def init(vertex, p, own):
        return math.inf if own.start else vertex

    def compute(src, p):
        return src.d if src.d > p.limit else src.d + 1

    combine = max

    def apply(old, gathered):
        return max(old.d, gathered)


def lesser(a, b):
    return a if a < b else b


@entry(from_some)
class LeastByHand:
    """A combine by hand whose identity is infinite, a helper, and a variable that begins as math.inf."""

    d: ws.nullable(ws.int64, math.inf)
    start: ws.vertex_set

    def init(vertex, p, own):
        first = math.inf
        if own.start:
            first = vertex
        return first

    def compute(src):
        return src.d + 3

    def combine(a, b):
        return lesser(a, b)

    identity = math.inf

    def apply(old, gathered):
        return lesser(old.d, gathered)


@entry(compiled=True)
class FlagsAdded:
    """Flags are added up as numbers: two that are set are 2."""

    n: ws.int64
    max_iter = 3

    def init(vertex):
        return vertex * 5 % 11

    def compute(src):
        return (src.n >= 0) + (src.n < 9) - (src.n % 2 == 0) * 3

    combine = sum

    def apply(old, gathered):
        return gathered + (-(gathered > old.n))


@entry(message=(int, int, int), compiled=True)
class SmallIntegers:
    """Products and sums of small integers are computed in 64 bits, conversions wrap around."""

    a: ws.int64
    b: ws.int64
    c: ws.int64
    max_iter = 2

    def init(vertex):
        return vertex * 77, vertex + 200, -vertex

    def compute(src):
        wide = np.int32(src.a + 2147483000) * np.int32(3)
        return wide, np.uint8(src.b) + np.uint8(250), np.int8(src.b) * np.int64(2)

    combine = sum

    def apply(old, gathered):
        return gathered[0] % 100003, gathered[1], gathered[2] - old.c


@entry(message=(int, int), compiled=True)
class Shifts:
    """Shifts to the sign bit and back, and bits of negative numbers."""

    x: ws.int64
    y: ws.int64
    max_iter = 3

    def init(vertex):
        return (1 << 61) + vertex, vertex - 4

    def compute(src):
        return (src.x << 2) >> 3, (src.y ^ 5) & ~3 | 1

    combine = max

    def apply(old, gathered):
        return gathered[0] ^ (old.x >> 7), gathered[1] - (old.y >> 1)


@entry(message=(float, float), tolerance=SINGLE, compiled=True)
class SingleBesideLiterals:
    """A float32 beside a number of the source is a float64; beside another it stays one."""

    x: ws.float32
    y: ws.float64
    single: ws.edge(ws.float32)
    max_iter = 3

    def init(vertex):
        return vertex / 3, 0.0

    def compute(src, edge):
        return src.x * edge.single, edge.single * 0.1 + src.y

    combine = max

    def apply(old, gathered):
        return gathered[0] / 7, gathered[1]


@entry(compiled=True)
class FloorsOfNegatives:
    """Floor division and remainders of negative numbers, and absolute values."""

    x: ws.int64
    max_iter = 4

    def init(vertex):
        return -7 * vertex + 3

    def compute(src):
        return src.x // 4 - src.x % -5 + abs(src.x) % 3

    combine = sum

    def apply(old, gathered):
        return int(gathered / 2) - round(gathered * 0.3)


@entry()
class Widened:
    """A variable that is a whole number on one path and a fraction on another."""

    x: ws.float64
    max_iter = 3

    def init(vertex):
        return float(vertex)

    def compute(src):
        step = 1
        if src.x > 3:
            step = 0.5
        scale = 4 if src.x < 2 else 0.25
        return src.x / step + scale * (src.x > 1 and src.x < 5)

    combine = max

    def apply(old, gathered):
        return gathered / 2 if gathered > 8 else gathered
