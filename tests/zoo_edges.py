"""A zoo of edge programs, one for each thing that they can say."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cugraph_ws as ws

__all__ = ["EDGE_ZOO", "SHARE", "EdgeEntry"]

EXACT, ROUNDED = 0.0, 1e-12
SHARE = 0.1  # a global that a program reads

Given = Callable[[int], dict[str, Any]]


@dataclass(frozen=True)
class EdgeEntry:
    """A program, and what a test must know of it.

    Attributes
    ----------
    program : EdgeProgram
    given : callable
        Its arguments for a graph of n vertices.
    message : type or tuple of type
        What its messages are.
    tolerance : float
        How far floats may be off, relatively: functions of `math` differ on a GPU.
    compiled : bool
        Whether it is one of the few that tests compile.
    """

    program: Any
    given: Given
    message: Any
    tolerance: float
    compiled: bool

    def __str__(self) -> str:
        return str(self.program.name)


EDGE_ZOO: list[EdgeEntry] = []


def entry(
    given: Given | None = None,
    *,
    message: Any = int,
    tolerance: float = EXACT,
    compiled: bool = False,
) -> Callable[[type], Any]:
    """Make an edge program of a class, and list it."""

    def add(cls: type) -> Any:
        program = ws.edge_program(cls)
        EDGE_ZOO.append(EdgeEntry(program, given or nothing, message, tolerance, compiled))
        return program

    return add


def nothing(n: int) -> dict[str, Any]:
    return {}


def numbers(n: int) -> dict[str, Any]:
    return {"number": {v: v for v in range(n)}}


@entry(compiled=True)
class Triangles:
    """The triangles of each edge: common neighbours are counted."""

    triangles: ws.int64
    combine = sum

    def common():
        return 1

    def value(common):
        return common


@entry(compiled=True)
class Jaccard:
    """Jaccard's coefficient."""

    coefficient: ws.float64
    degree: ws.neighbour_count
    combine = sum

    def common(w, u, v, p):
        return 1

    def value(u, v, edge, common, p):
        return common / (u.degree + v.degree - common)


@entry(tolerance=ROUNDED)
class AdamicAdar:
    """Shares of rare neighbours."""

    score: ws.float64
    degree: ws.neighbour_count
    combine = sum

    def common(w):
        return 1.0 / math.log(w.degree) if w.degree > 1 else 0.0

    def value(common):
        return common


@entry(lambda n: {"amount": {v: 0.1 * (v + 1) for v in range(n)}}, message=float, compiled=True)
class InOrder:
    """A sum whose last bits show in which order it was added up."""

    total: ws.float64
    amount: ws.vertex_value(ws.float64)
    combine = sum

    def common(w):
        return w.amount

    def value(common):
        return common


@entry(message=float, compiled=True)
class OfEdges:
    """Attributes of the edges to the common neighbour, and of the edge itself."""

    least: ws.float64
    own: ws.float64
    weight = ws.edge()
    signed = ws.edge(ws.float64)
    combine = sum

    def common(uw, vw):
        return min(uw.weight, vw.weight) + uw.signed

    def value(edge, common):
        return common, edge.weight - edge.signed


@entry(lambda n: {"rank": {v: v * 5 % 7 for v in range(n)}})
class Least:
    """A minimum; without common neighbours the greatest number of all."""

    least: ws.nullable(ws.int64, 2**63 - 1)
    rank: ws.vertex_value(ws.int64)
    combine = min

    def common(w, u):
        return w.rank - u.rank

    def value(common):
        return common


@entry(lambda n: {"rank": {v: v * 3 % 8 for v in range(n)}}, message=float)
class Most:
    """A maximum of floats, in a narrow column."""

    most: ws.nullable(ws.float32, -math.inf)
    rank: ws.vertex_value(ws.float32)
    combine = max

    def common(w, v):
        return w.rank * 0.5 - v.rank

    def value(common):
        return common


@entry(lambda n: {"chosen": [v for v in (0, 2, 5) if v < n]}, message=bool, compiled=True)
class AnyChosen:
    """Whether a common neighbour is in a set."""

    found: ws.boolean
    both: ws.boolean
    chosen: ws.optional_vertex_set
    combine = any

    def common(w):
        return w.chosen

    def value(u, v, common):
        return common, u.chosen and v.chosen


@entry(numbers)
class First:
    """The first common neighbour, since any will do."""

    least: ws.int32
    number: ws.vertex_value(ws.int64)
    combine = any

    def common(w):
        return w.number + 1

    def value(common):
        return common


@entry(numbers, message=(float, int, bool), compiled=True)
class Several:
    """Messages of three numbers, combined by a function; values of three types."""

    mean: ws.float32
    most: ws.int32
    odd: ws.boolean
    number: ws.vertex_value(ws.int64)
    degree: ws.in_degree

    def common(w, p):
        return w.number * 0.25, w.degree, w.number % 2 == 1

    def combine(a, b):
        return a[0] + b[0], max(a[1], b[1]), a[2] != b[2]

    identity = (0.0, 0, False)

    def value(u, common):
        return common[0] + u.degree, common[1], common[2]


@entry(lambda n: {"each": 3})
class CountedTimes:
    """The same whole number from all, which a parameter sets."""

    total: ws.int64
    each: ws.parameter(ws.int64)
    combine = sum

    def common(p):
        return p.each

    def value(common, p):
        return common * p.number_of_vertices


@entry()
class CountedFlags:
    """A sum of flags is a count."""

    count: ws.int64
    combine = sum

    def common():
        return True

    def value(common):
        return common


@entry(numbers)
class CountedHalf:
    """Flags that are not all set."""

    count: ws.int32
    number: ws.vertex_value(ws.int64)
    combine = sum

    def common(w):
        return w.number % 2 == 0

    def value(common):
        return common


def shared(number: int) -> float:
    return number * SHARE


@entry(message=float)
class Outside:
    """Calls a function, which reads a global; a constant that is the same for all vertices."""

    score: ws.float64
    factor: ws.vertex_value(ws.float64, default=0.5)
    degree: ws.out_degree
    combine = sum

    def common(w, p):
        return shared(w.degree) * w.factor

    def value(common, v):
        return common + v.factor


@entry(message=(float, int))
class Permuted:
    """Arguments in another order, branches, and a tuple that is added up."""

    total: ws.float64
    count: ws.int64
    weight = ws.edge(ws.floating)
    sums: ws.in_weight
    combine = sum

    def common(vw, p, w, uw):
        if uw.weight < vw.weight:
            return uw.weight, 1
        return w.sums, 0

    def value(common, edge, v, u):
        return common[0] if u.sums < v.sums else edge.weight, common[1]


@entry(message=float, compiled=True)
class Coupled:
    """What both vertices lead to, with the greatest and the first of parallel edges."""

    total: ws.float64
    own: ws.float64
    reached: ws.int64
    weight = ws.edge(parallel="max")
    signed = ws.edge(parallel="first")
    degree: ws.neighbour_count
    neighbours = "out"
    combine = sum

    def common(uw, vw):
        return uw.weight * 8 + vw.signed

    def value(u, v, edge, common):
        return common, edge.weight - edge.signed, u.degree * 16 + v.degree


@entry()
class Cited:
    """The vertices that lead to both, counted."""

    citing: ws.int64
    neighbours = "in"
    combine = sum

    def common():
        return 1

    def value(common):
        return common


@entry(message=float)
class Detour:
    """The shortest way from one to the other through a third vertex, beside that of the edge itself."""

    length: ws.nullable(ws.float64, math.inf)
    direct: ws.float64
    reached: ws.int64
    weight = ws.edge(parallel="min")
    degree: ws.neighbour_count
    neighbours = "through"
    combine = min

    def common(uw, vw):
        return uw.weight + 3 * vw.weight

    def value(u, v, edge, common):
        return common, edge.weight, u.degree - v.degree


@entry(message=float)
class Widest:
    """The greatest of parallel edges in both directions."""

    widest: ws.float64
    weight = ws.edge(parallel="max")
    combine = sum

    def common(uw, vw):
        return min(uw.weight, vw.weight)

    def value(edge, common):
        return common - edge.weight


@entry(lambda n: {"rank": {v: v * 5 % 7 for v in range(n)}})
class Greatest:
    """The two greatest ranks among common neighbours, the greatest first."""

    greatest: ws.int64
    next_one: ws.int64
    rank: ws.vertex_value(ws.int64)
    combine = ws.top(2)

    def common(w, u):
        return w.rank - u.rank

    def value(common):
        return max(common[0], -9), max(common[1], -9)


@entry(
    lambda n: {"rank": {v: v * 5 % 7 for v in range(n)}}, message=(int, float, int), compiled=True
)
class Facts:
    """How many common neighbours, the least weight to one, and the two greatest ranks."""

    count: ws.int64
    least: ws.nullable(ws.float64, math.inf)
    spread: ws.int64
    rank: ws.vertex_value(ws.int64)
    weight = ws.edge()
    combine = (sum, min, ws.top(2))

    def common(w, uw):
        return 1, uw.weight, w.rank

    def value(common):
        count, least, ranks = common
        return count, least, ranks[0] - ranks[1] if count > 1 else 0


@entry(lambda n: {"rank": {v: v * 5 % 7 for v in range(n)}}, message=(int, int))
class Chosen:
    """The common neighbour of least rank, and its number."""

    chosen: ws.int64
    rank: ws.vertex_value(ws.int64)
    me: ws.vertex_number
    combine = ws.first_by(0)

    def common(w):
        return w.rank, w.me

    def value(common):
        return common[1] if common[0] < 100 else -1
