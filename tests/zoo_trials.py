"""Programs that are right on the values that occur, and would fail or never end on others."""

from __future__ import annotations

import math

from zoo import ZOO, entry

import cugraph_ws as ws

__all__ = ["TRIED"]

_before = len(ZOO)


@entry()
class Odd:
    """A loop without an end for 0, which never occurs."""

    x: ws.int64
    max_iter = 3

    def init(vertex):
        return vertex * 4 + 4

    def compute(src):
        x = src.x
        while x % 2 == 0:
            x //= 2
        return x

    combine = max

    def apply(old, gathered):
        return max(old.x, gathered)


@entry()
class Digits:
    """A loop without an end for a factor of 1, which never occurs."""

    x: ws.int64
    base: ws.int64
    max_iter = 3

    def init(vertex):
        return vertex + 9, vertex % 3 + 2

    def compute(src):
        x = src.x
        while x >= src.base:
            x //= src.base
        return x

    combine = sum

    def apply(old, gathered):
        return gathered + 1, old.base


@entry()
class OwnBin:
    """A bin of a histogram by number: 0 to 3 occur."""

    kind: ws.int64
    same: ws.int64
    combine = ws.histogram(4)
    max_iter = 2

    def init(vertex):
        return vertex % 4, 0

    def compute(src):
        return src.kind

    def apply(old, gathered):
        return old.kind, gathered[old.kind]


@entry(message=float)
class Table:
    """A table by number: 0 to 2 occur."""

    kind: ws.int64
    x: ws.float64
    max_iter = 2

    def init(vertex):
        return vertex % 3, 1.0

    def compute(src):
        return (0.5, 2.0, 0.25)[src.kind] * src.x

    combine = sum

    def apply(old, gathered):
        return old.kind, gathered


@entry()
class OneBin:
    """A histogram of one bin counts messages."""

    x: ws.int64
    combine = ws.histogram(1)
    max_iter = 2

    def compute(src):
        return 0

    def init(vertex):
        return vertex

    def apply(gathered):
        return gathered[0]


@entry()
class OneGreatest:
    """The greatest message, as a row of one."""

    x: ws.int64
    combine = ws.top(1)
    max_iter = 2

    def init(vertex):
        return vertex * 5 % 7

    def compute(src):
        return src.x

    def apply(old, gathered):
        return max(old.x, gathered[0])


@entry(message=(float, float))
class Boxes:
    """An identity that is neutral for the pairs that occur: the second is never less than the first."""

    low: ws.float64
    high: ws.float64
    max_iter = 3
    identity = (math.inf, math.inf)

    def combine(first, second):
        if first[0] == math.inf:
            return second
        if second[0] == math.inf:
            return first
        return min(first[0], second[0]), max(first[1], second[1])

    def init(vertex):
        return vertex * 1.0, vertex + 1.0

    def compute(src):
        return src.low, src.high

    def apply(old, gathered):
        if gathered[0] == math.inf:
            return old.low, old.high
        return min(old.low, gathered[0]), max(old.high, gathered[1])


@entry(message=float)
class Roots:
    """A root of what is positive wherever it occurs."""

    x: ws.float64
    max_iter = 2

    def init(vertex):
        return 4.0 * (vertex % 2 + 1) * (vertex % 2 + 1)

    def compute(src):
        return math.sqrt(src.x)

    combine = max

    def apply(old, gathered):
        return max(old.x, gathered)


@entry()
class CollatzSteps:
    """Steps until 1: a loop that takes long for some, and ends for all that occur."""

    x: ws.int64
    max_iter = 2

    def init(vertex):
        return vertex + 1

    def compute(src):
        x, steps = src.x, 0
        while x != 1:
            x = x // 2 if x % 2 == 0 else 3 * x + 1
            steps += 1
        return steps

    combine = sum

    def apply(gathered):
        return gathered + 1


@entry()
class Remainders:
    """Euclid's algorithm: its divisor is 0 where no message is sent from."""

    x: ws.int64
    step: ws.int64
    contributors = "active"
    max_iter = 2

    def init(vertex):
        return vertex * 6 % 8, vertex % 3

    def starts(state):
        return state.step > 0

    def compute(src):
        a, b = src.x, src.step
        while b != 0:
            a, b = b, a % b
        return a

    combine = sum

    def apply(old, gathered):
        return gathered, old.step

    def active(old, new):
        return new.step > 0 and new.x != old.x


TRIED = ZOO[_before:]
