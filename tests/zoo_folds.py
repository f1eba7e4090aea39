"""Programs with a fold for each part of their messages."""

from __future__ import annotations

import math

from zoo import Entry, entry

import cugraph_ws as ws

__all__ = ["BY_PART", "NeighbourStatistics", "PartsOfSome"]

BY_PART: list[Entry] = []  # that are run on one graph only


@entry(message=(int, int, int, int), into=BY_PART)
class NeighbourStatistics:
    """How many in-neighbours there are, their mean rounded down, and the range of their states."""

    x: ws.int64
    count: ws.int32
    spread: ws.int64
    combine = (sum, sum, min, max)
    max_iter = 4

    def init(vertex):
        return vertex * 7 % 11, 0, 0

    def compute(src):
        return 1, src.x, src.x, src.x - src.spread

    def apply(old, gathered):
        count, total, least, greatest = gathered
        if count == 0:
            return old.x, 0, -1
        return total // count, count, greatest - least


@entry(message=(float, float, bool, float))
class PartsOfSome:
    """A sum, the two greatest, a flag and a minimum, of messages with NaN, along some arcs only."""

    x: ws.float64
    second: ws.float64
    told: ws.boolean
    weight: ws.edge(ws.float64, default=1.0)
    combine = (sum, ws.top(2), any, min)
    contributors = "active"
    max_iter = 3

    def init(vertex):
        return vertex * 0.5 - 1.0, math.nan if vertex == 2 else 0.25, False

    def compute(src, edge):
        if edge.weight == 0.5:
            return ws.no_message
        return src.x * 0.5, src.second, src.x > 1.0, src.second + edge.weight

    def apply(old, gathered):
        best = gathered[1]
        second = best[1] if best[1] > -8.0 else -8.0
        return gathered[0] + min(gathered[3], 4.0), second + max(best[0], -2.0), gathered[2]


@entry(message=(int, int, bool), into=BY_PART)
class CountsAndBits:
    """A histogram, a set in two words, and a count of flags."""

    x: ws.int64
    y: ws.int64
    combine = (ws.histogram(3), ws.bitset(70), sum)
    max_iter = 4

    def init(vertex):
        return vertex, vertex * 5 % 7

    def compute(src):
        return src.x % 3, src.x * 7 % 70, src.y > 2

    def apply(old, gathered):
        counts, bits, flags = gathered
        return counts[0] + 2 * counts[2] + flags, (bits[0] % 31 + bits[1]) % 19


@entry(message=(bool, bool, bool), into=BY_PART)
class AllSomeOrNone:
    """Whether all, and whether some, of the messages are True; of none, all and not one."""

    every: ws.boolean
    some: ws.boolean
    combine = (min, max, any)
    max_iter = 3

    def init(vertex):
        return vertex % 3 != 1, vertex % 4 == 0

    def compute(src):
        return src.every, src.some, src.every != src.some

    def apply(old, gathered):
        return gathered[0] != gathered[2], gathered[1] or not old.every


@entry(message=(int, int, int), into=BY_PART)
class FarthestOfReached:
    """Distances that may be infinite integers, and how many of the in-neighbours are reached."""

    d: ws.nullable(ws.int64, math.inf)
    reached: ws.int64
    farthest: ws.nullable(ws.int64, math.inf)
    combine = (min, sum, max)
    max_iter = 4

    def init(vertex):
        return 0 if vertex == 0 else math.inf, 0, math.inf

    def compute(src):
        return src.d + 1, 1 if src.d < math.inf else 0, src.d

    def apply(old, gathered):
        return min(old.d, gathered[0]), gathered[1], max(gathered[2], 0)


@entry(message=(float, float), tolerance=1e-5, into=BY_PART)
class SinglesAndDoubles:
    """Parts of float32: both are combined in float64, the widest type of the state."""

    x: ws.float32
    y: ws.float64
    combine = (sum, max)
    max_iter = 3

    def init(vertex):
        return vertex * 0.1, 0.0

    def compute(src):
        return src.x, src.x

    def apply(old, gathered):
        return gathered[0] * 0.1, max(gathered[1], -1.0) + old.y * 0.5
