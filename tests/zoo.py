"""A zoo of vertex programs: each is a case in which an engine might take a liberty that it hasn't.

States and weights are multiples of powers of two, and numbers stay small, so that answers are
exact whatever order additions are made in; where they are not, the entry names a tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
from programs import values_of
from reference import Graph, Outcome, run
from shapes import frame, vertex_frame
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.backends.cpu import context
from cugraph_ws.runtime.arrays import as_host

__all__ = [
    "PERMUTED",
    "RATE",
    "ZOO",
    "Entry",
    "check_by_reference",
    "difference",
    "edges_found",
    "edges_shown",
    "found_by",
    "graph_of",
    "reference_graph",
    "remembering",
    "shown",
]

EXACT = 0.0
SINGLE, DOUBLE = 1e-5, 1e-12  # what rounding may change, relatively
REMEMBERED = 150
RATE = 2  # a global that a program reads

Given = Callable[[int], dict[str, Any]]


@dataclass(frozen=True)
class Entry:
    """A program, and what a test must know of it.

    Attributes
    ----------
    program : VertexProgram
        The program.
    given : callable
        Its arguments for a graph of n vertices.
    message : type or tuple of type
        What its messages are.
    tolerance : float
        How far floats may be off, relatively.
    compiled : bool
        Whether it is one of the few that tests compile.
    needs_vertex : bool
        Whether it has no meaning on a graph without vertices.
    """

    program: Any
    given: Given
    message: Any
    tolerance: float
    compiled: bool
    needs_vertex: bool

    def __str__(self) -> str:
        return str(self.program.name)


ZOO: list[Entry] = []
PERMUTED: list[Entry] = []  # whose functions take their arguments in another order


def entry(
    given: Given | None = None,
    *,
    message: Any = int,
    tolerance: float = EXACT,
    compiled: bool = False,
    into: list[Entry] = ZOO,
) -> Callable[[type], Any]:
    """Make a vertex program of a class, and list it."""

    def add(cls: type) -> Any:
        program = ws.vertex_program(cls)
        needs = any(repr(one) == "VertexParameter()" for one in program.parameters.values())
        into.append(Entry(program, given or nothing, message, tolerance, compiled, needs))
        return program

    return add


def nothing(n: int) -> dict[str, Any]:
    return {}


def from_first(n: int) -> dict[str, Any]:
    return {"start": 0}


def from_some(n: int) -> dict[str, Any]:
    return {"start": [v for v in (0, 4, 6) if v < n]}


def attributes_of(edges: Edges) -> dict[str, Any]:
    """Give every edge an attribute of each kind."""
    place = np.arange(len(edges.source))
    return {
        "weight": (place * 5 % 11 + 1) / 8,
        "signed": (place * 7 % 9 - 4) / 2,
        "whole": place * 5 % 7 - 2,
        "single": ((place * 3 % 13) / 4).astype(np.float32),
    }


def graph_of(edges: Edges, kind: str = "pandas") -> ws.Graph:
    """Build a graph with all vertices and an attribute of each kind; ids are numbers."""
    attributes = attributes_of(edges)
    return ws.Graph(
        frame({"source": edges.source, "destination": edges.destination, **attributes}, kind),
        weight="weight",
        attributes=[name for name in attributes if name != "weight"],
        directed=edges.directed,
        vertices=vertex_frame(edges, kind),
    )


def reference_graph(edges: Edges) -> Graph:
    """Return the same for the reference interpreter."""
    pairs = list(zip(edges.source.tolist(), edges.destination.tolist(), strict=True))
    return Graph(edges.n, pairs, attributes_of(edges), "weight", edges.directed)


def shown(program: Any, states: dict[str, list[Any]], n: int) -> dict[str, list[Any]]:
    """Return states as a result has them: visible fields, None for null."""
    columns = {}
    for name, declared in program.state.items():
        values = [value.item() for value in states[name]]
        if getattr(declared.type, "holds_vertex", False):
            values = [int(value) if 0 <= value < n else None for value in values]
        elif declared.null == math.inf:
            values = [value if value < math.inf else None for value in values]
        elif declared.null is not None:
            values = [None if value == declared.null else value for value in values]
        if declared.visible:
            columns[name] = values
    return columns


def found_by(program: Any, result: ws.Result) -> dict[str, list[Any]]:
    """Return a result's state fields, None for null."""
    columns = values_of(result)
    for name, declared in program.state.items():
        if getattr(declared.type, "holds_vertex", False) and declared.visible:
            columns[name] = [None if number < 0 else number for number in columns[name]]
    return columns


def edges_found(result: ws.Result) -> dict[str, list[Any]]:
    """Return a result's state of edges, by arc."""
    return {name: as_host(column).tolist() for name, column in result.edge_arrays.items()}


def edges_shown(outcome: Outcome) -> dict[str, list[Any]]:
    """Return the reference's state of edges, by arc."""
    return {name: [one.item() for one in column] for name, column in outcome.edges.items()}


def difference(
    found: dict[str, list[Any]], expected: dict[str, list[Any]], tolerance: float
) -> str | None:
    """Say where two results first differ; None if they don't."""
    for name, values in expected.items():
        if len(found[name]) != len(values):
            return f"{name} has {len(found[name])} values, not {len(values)}"
        for v, (mine, other) in enumerate(zip(found[name], values, strict=True)):
            if mine == other or (mine != mine and other != other):
                continue
            near = isinstance(other, float) and isinstance(mine, float)
            if not near or not math.isclose(mine, other, rel_tol=tolerance, abs_tol=tolerance):
                return f"{name} of vertex {v} is {mine}, not {other}: {found[name]}, not {values}"
    return None


def check_by_reference(entry: Entry, edges: Edges) -> None:
    """Compare a run of plain Python, in one partition and in two, with the reference interpreter."""
    graph, given = graph_of(edges), entry.given(edges.n)
    outcome = run(entry.program, reference_graph(edges), given, message=entry.message)
    expected = shown(entry.program, outcome.states, edges.n)
    for plan in (ws.Plan(), ws.Plan(partitions=2)):
        result = ws.run(entry.program, graph, engine="python", plan=plan, **given)
        assert difference(found_by(entry.program, result), expected, entry.tolerance) is None


@contextmanager
def remembering() -> Iterator[None]:
    """Have the plain Python of a program's loops made once, not for every run and partition."""
    made: dict[Any, Any] = {}
    original = context.python_module

    def remembered(program: Any, types: Any) -> Any:
        key = (id(program), types)
        if key not in made:
            made[key] = program, original(program, types)
            if len(made) > REMEMBERED:
                made.pop(next(iter(made)))
        return made[key][1]

    with patch.object(context, "python_module", remembered):
        yield


# ------------------------------------------------- apply that must not take messages one by one


def amounts(n: int) -> dict[str, Any]:
    return {
        "first": {v: (50, 900, 10, 620, 480)[v % 5] for v in range(n)},
        "limit": {v: (500, 700)[v % 2] for v in range(n)},
    }


@entry(amounts, compiled=True)
class Limited:
    """A maximum that is not taken if it is above a limit: of 50 and 900 neither counts."""

    x: ws.int64
    first: ws.vertex_value(ws.int64)
    limit: ws.vertex_value(ws.int64)

    def init(vertex, p, own):
        return own.first

    def compute(src):
        return src.x

    combine = max

    def apply(old, gathered):
        if gathered > old.limit:
            return old.x
        return max(old.x, gathered)


@entry(amounts)
class LimitedBelow:
    """A minimum that is not taken if it is below a limit, in one expression."""

    x: ws.float64
    first: ws.vertex_value(ws.float64)
    limit: ws.vertex_value(ws.float64)

    def init(vertex, p, own):
        return own.first

    def compute(src, edge, p):
        return src.x + 30.0

    combine = min

    def apply(old, gathered):
        return min(old.x, gathered) if gathered >= old.limit - 400.0 else old.x


@entry()
class SmallJumps:
    """A maximum that is taken only if it is near: the threshold moves with the state."""

    x: ws.int32

    def init(vertex):
        return vertex * 5 % 7

    def compute(src):
        return src.x

    combine = max

    def apply(old, gathered):
        return max(old.x, gathered) if gathered - old.x <= 3 else old.x


@entry()
class CountedMinimum:
    """A minimum, and how often it was looked for: messages that come apart would be counted."""

    x: ws.int64
    times: ws.int32

    def init(vertex):
        return vertex * 3 % 8, 0

    def compute(src):
        return src.x

    combine = min

    def apply(old, gathered):
        return min(old.x, gathered), old.times + 1

    def active(old, new):
        return new.x < old.x


@entry(message=float)
class Halfway:
    """Half the way to the maximum, each superstep."""

    x: ws.float64

    def init(vertex):
        return float(vertex * 16)

    def compute(src):
        return src.x

    combine = max

    def apply(old, gathered):
        return (old.x + gathered) / 2.0


@entry()
class Overwriting:
    """A maximum that replaces the state, whatever that was: a new state may be worse."""

    x: ws.int64

    def init(vertex):
        return vertex * 7 % 10

    def compute(src):
        return src.x - 1

    combine = max

    def apply(old, gathered):
        return max(gathered, 0)


@entry()
class OneStepTowards:
    """One down if the minimum is below: where it was doesn't matter, that it was does."""

    x: ws.int64

    def init(vertex):
        return 4 + vertex * 5 % 9

    def compute(src):
        return src.x

    combine = min

    def apply(old, gathered):
        return old.x - 1 if gathered < old.x else old.x


@entry()
class Refused:
    """A minimum that is refused by vertices of odd state."""

    x: ws.int64

    def init(vertex):
        return 3 + vertex * 5 % 11

    def compute(src):
        return src.x + 1

    combine = min

    def apply(old, gathered):
        return old.x if old.x % 2 == 1 else min(old.x, gathered)


@entry()
class OffByTwo:
    """A minimum of which a vertex adds one of its own at every change."""

    x: ws.int64

    def init(vertex):
        return 40 - vertex * 3 % 8

    def compute(src):
        return src.x - 2

    combine = min

    def apply(old, gathered):
        return gathered + 1 if gathered + 1 < old.x and gathered > 0 else old.x


# ------------------------------------------------------ messages that only look as if monotone


@entry(compiled=True)
class Decreasing:
    """A minimum of what is left: a state that is skipped takes its message along."""

    x: ws.int64

    def init(vertex):
        return vertex * 7 % 12

    def compute(src):
        return 10 - src.x

    combine = min

    def apply(old, gathered):
        return min(old.x, gathered)


@entry(message=float)
class DecreasingMaximum:
    """A maximum of what is left."""

    x: ws.float64
    top: ws.parameter(ws.float64, default=6.0)

    def init(vertex):
        return float(vertex * 3 % 5)

    def compute(src, edge, p):
        return p.top - src.x

    combine = max

    def apply(old, gathered):
        return max(old.x, gathered)


@entry(message=float)
class Negated:
    """A maximum of the opposite: it comes to rest at the absolute value."""

    x: ws.float32

    def init(vertex):
        return vertex * 5 % 9 - 4.0

    def compute(src):
        return -src.x

    combine = max

    def apply(old, gathered):
        return max(old.x, gathered)


@entry(compiled=True)
class Distance:
    """A minimum of distances from 5: falls, then grows."""

    x: ws.int64

    def init(vertex):
        return 6 + vertex * 7 % 13

    def compute(src):
        return abs(src.x - 5) + 1

    combine = min

    def apply(old, gathered):
        return min(old.x, gathered)


@entry()
class Remainder:
    """A minimum of remainders: they start anew at every multiple."""

    x: ws.int64

    def init(vertex):
        return 30 + vertex * 11 % 17

    def compute(src):
        return src.x * 3 % 5 + src.x % 7

    combine = min

    def apply(old, gathered):
        return min(old.x, gathered)


@entry(message=float)
class SignedProduct:
    """A minimum of products, some with what is below zero."""

    x: ws.float64
    signed: ws.edge(ws.float64)

    def init(vertex):
        return float(vertex * 3 % 4)

    def compute(src, edge):
        return max(src.x * edge.signed, -64.0)

    combine = min

    def apply(old, gathered):
        return min(old.x, gathered)


@entry()
class BranchOnState:
    """A minimum whose message branches on the state: one more below 4, two less above."""

    x: ws.int64

    def init(vertex):
        return vertex * 5 % 13

    def compute(src):
        if src.x < 4:
            return src.x + 1
        return src.x - 2

    combine = min

    def apply(old, gathered):
        return min(old.x, gathered)


@entry()
class Square:
    """A minimum of squares."""

    x: ws.int64

    def init(vertex):
        return vertex * 5 % 9 + 2

    def compute(src):
        return (src.x - 3) ** 2

    combine = min

    def apply(old, gathered):
        return min(old.x, gathered)


@entry()
class TwoOccurrences:
    """A maximum of x * (8 - x), which rises and falls."""

    x: ws.int32

    def init(vertex):
        return vertex % 3

    def compute(src):
        return src.x * (8 - src.x) + 1

    combine = max

    def apply(old, gathered):
        return max(old.x, min(gathered, 9))


@entry(message=float)
class Reciprocal:
    """A minimum of reciprocals of powers of two."""

    x: ws.float64

    def init(vertex):
        return 2.0 ** (vertex % 5)

    def compute(src):
        return 4.0 / src.x

    combine = min

    def apply(old, gathered):
        return min(old.x, gathered)


@entry(message=bool)
class Contradiction:
    """A flag that is set by vertices without one."""

    on: ws.boolean

    def init(vertex):
        return vertex % 4 == 0

    def compute(src):
        return not src.on

    combine = max

    def apply(old, gathered):
        return max(old.on, gathered)


@entry(compiled=True)
class OnTheWay:
    """A minimum to which the number of the superstep is added."""

    x: ws.int64

    def init(vertex):
        return 20 + vertex * 3 % 7

    def compute(src, edge, p):
        return src.x - 3 + 2 * p.superstep

    combine = min

    def apply(old, gathered):
        return min(old.x, gathered)


@entry()
class LaterWorse:
    """A minimum that `apply` makes worse with every superstep."""

    x: ws.int64

    def init(vertex):
        return vertex * 9 % 14

    def compute(src):
        return src.x

    combine = min

    def apply(old, gathered, p):
        return min(old.x, gathered + p.superstep)


@entry()
class ActiveForAWhile:
    """A minimum without active vertices after the second superstep."""

    x: ws.int64

    def init(vertex):
        return vertex * 9 % 14

    def compute(src):
        return src.x

    combine = min

    def apply(old, gathered):
        return min(old.x, gathered)

    def active(old, new, p):
        return new.x < old.x and p.superstep < 1


@entry(message=float)
class BelowTheMean:
    """A minimum of which the message reads an aggregate."""

    x: ws.float64

    @ws.aggregate
    def total(state):
        return state.x

    def init(vertex):
        return 16.0 + vertex * 5 % 8

    def compute(src, edge, p):
        return src.x - 1.0 if src.x * p.number_of_vertices > p.total else src.x + 1.0

    combine = min

    def apply(old, gathered):
        return min(old.x, gathered)


@entry()
class AllAtOnce:
    """A minimum of which `active` reads an aggregate."""

    x: ws.int64

    @ws.aggregate
    def zeros(state):
        return 1.0 if state.x == 0 else 0.0

    def init(vertex):
        return vertex * 5 % 7

    def compute(src):
        return src.x

    combine = min

    def apply(old, gathered):
        return min(old.x, gathered)

    def active(old, new, p):
        return new.x < old.x and p.zeros < 3.0


@entry(compiled=True)
class WorthTelling:
    """A minimum of which small changes do not count: a threshold in `active`."""

    x: ws.int64

    def init(vertex):
        return vertex * 11 % 16

    def compute(src):
        return src.x

    combine = min

    def apply(old, gathered):
        return min(old.x, gathered)

    def active(old, new):
        return old.x - new.x >= 3


@entry()
class WorthTellingActive:
    """The same where only the active are heard: small changes are lost."""

    x: ws.int64
    contributors = "active"

    def init(vertex):
        return vertex * 11 % 16

    def compute(src):
        return src.x

    combine = min

    def apply(old, gathered):
        return min(old.x, gathered)

    def active(old, new):
        return old.x - new.x >= 3


@entry(from_first)
class NoFurther:
    """Hops, passed on only within three: a limit in `active`."""

    hops: ws.int32
    start: ws.vertex_parameter
    contributors = "active"

    def init(vertex, p):
        return 0 if vertex == p.start else 1000

    def starts(state):
        return state.hops == 0

    def compute(src):
        return src.hops + 1

    combine = min

    def apply(old, gathered):
        return min(old.hops, gathered)

    def active(old, new):
        return new.hops < old.hops and new.hops < 3


@entry(message=float)
class Urgent:
    """Has a priority, and a message that falls: no order but the supersteps' will do."""

    x: ws.float64
    weight: ws.edge(ws.float64)

    def init(vertex):
        return float(vertex * 5 % 8)

    def compute(src, edge):
        return 4.0 - src.x + edge.weight

    combine = min

    def apply(old, gathered):
        return min(old.x, gathered)

    def priority(state):
        return state.x


# --------------------------------------------------------------- minima that are what they seem


@entry(from_first, compiled=True)
class Hops:
    """Monotone: min(old, gathered)."""

    x: ws.int64
    start: ws.vertex_parameter

    def init(vertex, p):
        return 0 if vertex == p.start else 1000

    def compute(src):
        return src.x + 1

    combine = min

    def apply(old, gathered):
        return min(old.x, gathered)


@entry(from_first)
class HopsSwapped:
    """Monotone: min(gathered, old)."""

    x: ws.int64
    start: ws.vertex_parameter

    def init(vertex, p):
        return 0 if vertex == p.start else 1000

    def compute(src):
        return 1 + src.x

    combine = min

    def apply(old, gathered):
        return min(gathered, old.x)


@entry(from_first, message=float)
class HopsChosen:
    """Monotone: a conditional expression, and `active` in full."""

    x: ws.float64
    start: ws.vertex_parameter
    weight: ws.edge(ws.float64)

    def init(vertex, p):
        return 0.0 if vertex == p.start else math.inf

    def compute(src, edge):
        return src.x + edge.weight

    combine = min

    def apply(old, gathered):
        return gathered if gathered < old.x else old.x

    def active(old, new):
        return new.x < old.x


@entry(from_first)
class HopsBranched:
    """Monotone: statements, a local variable, and `active` as a difference."""

    x: ws.int64
    start: ws.vertex_parameter

    def init(vertex, p):
        return 0 if vertex == p.start else 1000

    def compute(src):
        further = src.x
        further += 1
        return further

    combine = min

    def apply(old, gathered):
        nearest = old.x
        if gathered < nearest:
            nearest = gathered
        return nearest

    def active(old, new):
        return new.x != old.x


def lesser(one, other):
    """Return the lesser of two numbers."""
    return one if one <= other else other


@entry(from_first)
class HopsHelped:
    """Monotone: a helper function outside."""

    x: ws.int64
    start: ws.vertex_parameter

    def init(vertex, p):
        return 0 if vertex == p.start else 1000

    def compute(src):
        return lesser(src.x + 1, 1000)

    combine = min

    def apply(old, gathered):
        return lesser(old.x, gathered)


@entry(compiled=True)
class MaximumBranched:
    """Monotone: a maximum, by an if and two returns."""

    x: ws.int64

    def init(vertex):
        return vertex * 5 % 9

    def compute(src):
        return src.x

    combine = max

    def apply(old, gathered):
        if gathered > old.x:
            return gathered
        return old.x

    def active(old, new):
        return new.x > old.x


@entry(message=float)
class Composed:
    """Monotone: sums, min, max, floor, and products with what is not negative."""

    x: ws.float64
    weight: ws.edge(ws.float64, least=0.0)
    scale: ws.parameter(ws.float64, default=0.5)

    def init(vertex):
        return 8.0 + vertex * 7 % 10

    def compute(src, edge, p):
        return max(math.floor(src.x * 0.5), min(src.x - 2.0, 6.0)) + edge.weight * 2.0

    combine = min

    def apply(old, gathered):
        return min(old.x, gathered)


@entry(from_first, message=float)
class Halved:
    """Monotone to the end of floats: halves until a floor is reached."""

    x: ws.float32
    start: ws.vertex_parameter

    def init(vertex, p):
        return 64.0 if vertex == p.start else 1024.0

    def compute(src):
        return max(src.x / 2.0, 1.0)

    combine = min

    def apply(old, gathered):
        return min(old.x, gathered)


@entry()
class Downhill:
    """Monotone, and always on its way: only a limit ends it on a cycle."""

    x: ws.int64

    def init(vertex):
        return vertex % 5

    def compute(src):
        return src.x - 1

    combine = min

    def apply(old, gathered):
        return min(old.x, gathered)


@entry()
class BackAndForth:
    """Monotone: negative numbers, integer division and remainder of constants."""

    x: ws.int64
    whole: ws.edge(ws.int64)

    def init(vertex):
        return 7 - vertex * 5 % 16

    def compute(src, edge):
        return src.x // 2 + (edge.whole - 9) // 4 + edge.whole % 3

    combine = min

    def apply(old, gathered):
        return min(old.x, gathered)


@entry(from_some, message=float, compiled=True)
class Nearby:
    """Shortest paths by priority, with weights that are zero at times; a predecessor."""

    distance: ws.nullable(ws.float64, math.inf)
    before: ws.predecessor
    weight: ws.edge(ws.floating, default=1.0, least=0.0)
    start: ws.vertex_set

    def init(vertex, p, own):
        return 0.0 if own.start else math.inf

    def starts(state):
        return state.distance == 0.0

    def compute(src, edge):
        return src.distance + edge.weight

    combine = min

    def apply(old, gathered):
        return min(old.distance, gathered)

    def active(old, new):
        return new.distance < old.distance

    def priority(state):
        return state.distance


@entry(from_some, message=float)
class Wide:
    """Widest paths: inf at the start, -inf elsewhere, the type of an edge attribute."""

    width: ws.nullable(ws.like("single"), -math.inf)
    single: ws.edge()
    start: ws.vertex_set

    def init(vertex, p, own):
        return math.inf if own.start else -math.inf

    def compute(src, edge):
        return min(src.width, edge.single)

    combine = max

    def apply(old, gathered):
        return max(old.width, gathered)

    def priority(state):
        return -state.width


@entry(from_some, compiled=True)
class Levels:
    """Breadth-first search: any message of a superstep will do, and settles a vertex."""

    level: ws.nullable(ws.int32, math.inf)
    start: ws.vertex_set

    def init(vertex, p, own):
        return 0 if own.start else math.inf

    def starts(state):
        return state.level == 0

    def compute(src):
        return src.level + 1

    combine = ws.any_message

    def apply(old, gathered):
        return min(old.level, gathered)

    def active(old, new):
        return new.level < old.level

    def settled(state):
        return state.level < 2**30


@entry(from_some, message=bool, compiled=True)
class Reached:
    """A flag that is never taken back: old or gathered."""

    on: ws.boolean
    start: ws.vertex_set

    def init(vertex, p, own):
        return own.start

    def starts(state):
        return state.on

    def compute(src):
        return src.on

    combine = any

    def apply(old, gathered):
        return old.on or gathered


@entry(from_some, message=bool)
class ReachedSettled:
    """A flag by a conditional expression, settled where it is on."""

    on: ws.boolean
    start: ws.vertex_set

    def init(vertex, p, own):
        return own.start

    def starts(state):
        return state.on

    def compute(src):
        return True

    combine = any

    def apply(old, gathered):
        return True if gathered else old.on

    def settled(state):
        return state.on


@entry(from_some, message=bool)
class FewSay:
    """A flag that is heard if one of the active says so, of which some don't."""

    on: ws.boolean
    degree: ws.out_degree
    start: ws.vertex_set
    contributors = "active"
    max_iter = 5

    def init(vertex, p, own):
        return own.start

    def compute(src, edge, p):
        return src.on and (src.degree + p.superstep) % 2 == 0

    combine = any

    def apply(old, gathered):
        return gathered

    def active(old, new):
        return new.on or old.on


@entry()
class Frozen:
    """A state that is settled though it could still be improved: it takes no more messages."""

    x: ws.int64

    def init(vertex):
        return 12 - vertex * 5 % 9

    def compute(src):
        return src.x - 1

    combine = min

    def apply(old, gathered):
        return min(old.x, gathered)

    def active(old, new):
        return old.x - new.x >= 1

    def settled(state):
        return state.x < 7


@entry(message=float)
class FrozenSum:
    """A sum of which settled vertices still send, and receive nothing."""

    x: ws.float64
    max_iter = 5

    def init(vertex):
        return float(vertex)

    def compute(src):
        return src.x * 0.5

    combine = sum

    def apply(old, gathered):
        return gathered + 0.25

    def settled(state, p):
        return state.x > 3.0 or p.superstep > 3


@entry(from_some, message=bool)
class TakenBack:
    """A flag that a message of a set flag clears."""

    on: ws.boolean
    start: ws.vertex_set

    def init(vertex, p, own):
        return own.start

    def starts(state):
        return state.on

    def compute(src):
        return True

    combine = any

    def apply(old, gathered):
        return not old.on

    def active(old, new):
        return new.on


@entry(from_some, message=bool)
class Sometimes:
    """A flag of two fields, that counts the supersteps with a message."""

    on: ws.boolean
    heard: ws.int32
    start: ws.vertex_set
    max_iter = 5

    def init(vertex, p, own):
        return own.start, 0

    def starts(state):
        return state.on

    def compute(src):
        return True

    combine = any

    def apply(old, gathered):
        return gathered, old.heard + 1

    def active(old, new):
        return new.heard % 3 != 2


@entry(compiled=True)
class LabelsUp:
    """The greatest vertex of which a path leads here: with two vertices both have one."""

    label: ws.vertex_id

    def init(vertex):
        return vertex

    def compute(src):
        return src.label

    combine = max

    def apply(old, gathered):
        return max(old.label, gathered)


@entry()
class LabelsDown:
    """The least vertex of which a path leads here."""

    label: ws.vertex_id

    def init(vertex):
        return vertex

    def compute(src):
        return src.label

    combine = min

    def apply(old, gathered):
        return min(old.label, gathered)


@entry()
class LabelsNotAtFirst:
    """Labels that begin as no vertex at every second one."""

    label: ws.vertex_id

    def init(vertex):
        return vertex if vertex % 2 == 0 else math.inf

    def compute(src):
        return src.label

    combine = min

    def apply(old, gathered):
        return min(old.label, gathered)


@entry()
class HalfOfThem:
    """A maximum that is 1 at first in the first half: each partition by itself is all alike."""

    x: ws.int64

    def init(vertex, p):
        return 1 if 2 * vertex < p.number_of_vertices else 0

    def compute(src):
        return src.x

    combine = max

    def apply(old, gathered):
        return max(old.x, gathered)


@entry()
class AlikeAndGrowing:
    """All equal at first, though messages change them."""

    x: ws.int64

    def init(vertex):
        return 0

    def compute(src):
        return min(src.x + 1, 4)

    combine = max

    def apply(old, gathered):
        return max(old.x, gathered)


@entry(message=float)
class AlikeAcross:
    """All alike, but for what some edges carry."""

    x: ws.float64
    signed: ws.edge(ws.float64)

    def init(vertex):
        return 0.0

    def compute(src, edge):
        return src.x + max(edge.signed, 0.0) if edge.signed > 1.5 else src.x

    combine = max

    def apply(old, gathered):
        return min(max(old.x, gathered), 9.0)


@entry(from_first)
class TwoHops:
    """A limit of the program's own: messages travel two edges."""

    x: ws.int64
    start: ws.vertex_parameter
    max_iter = 2

    def init(vertex, p):
        return 0 if vertex == p.start else 1000

    def compute(src):
        return src.x + 1

    combine = min

    def apply(old, gathered):
        return min(old.x, gathered)


# ------------------------------------------------------------------ declared to be asynchronous


@entry(from_some, message=(float, int), compiled=True)
class NearestSeed:
    """Declared asynchronous: pairs in lexicographic order, two fields, and a priority."""

    distance: ws.nullable(ws.float64, math.inf)
    seed: ws.vertex_id
    weight: ws.edge(ws.float64, default=1.0)
    start: ws.vertex_set
    asynchronous = True

    def init(vertex, p, own):
        return (0.0, vertex) if own.start else (math.inf, math.inf)

    def compute(src, edge):
        return src.distance + edge.weight, src.seed

    combine = min

    def apply(old, gathered):
        return gathered if gathered < (old.distance, old.seed) else (old.distance, old.seed)

    def active(old, new):
        return new.distance < old.distance or new.seed < old.seed

    def priority(state):
        return state.distance


@entry(from_some)
class TollAsynchronous:
    """Declared asynchronous: each destination asks a toll, and takes no more than a limit."""

    paid: ws.int64
    degree: ws.in_degree
    start: ws.vertex_set
    asynchronous = True

    def init(vertex, p, own):
        return 0 if own.start else 1000

    def compute(src):
        return src.paid

    combine = min

    def apply(old, gathered):
        return min(old.paid, gathered + old.degree) if gathered < 30 else old.paid


@entry(from_some, message=bool)
class ReachedAsynchronous:
    """Declared asynchronous: a flag that passes through vertices of some degree only."""

    on: ws.boolean
    degree: ws.out_degree
    start: ws.vertex_set
    asynchronous = True

    def init(vertex, p, own):
        return own.start

    def starts(state):
        return state.on

    def compute(src):
        return src.on and src.degree > 1

    combine = any

    def apply(old, gathered):
        return old.on or gathered


# ------------------------------------------------------------------- types of messages and sums


@entry(message=float, compiled=True)
class Due:
    """A sum of messages that are 0 on one way through `compute`, a fraction on the other."""

    due: ws.float64
    weight: ws.edge(ws.float64)
    max_iter = 4

    def init(vertex):
        return 1.0

    def compute(src, edge):
        return 0 if edge.weight < 0.3 or edge.weight >= 1.0 else edge.weight * 0.25

    combine = sum

    def apply(old, gathered):
        return gathered


@entry(message=float)
class DueBySource:
    """A maximum of messages that are whole for most sources, and no fraction on the first edge."""

    due: ws.float64

    def init(vertex):
        return 8.0 + vertex

    def compute(src):
        if src.due > 14.0:
            return src.due / 64.0
        if src.due > 10.0:
            return 3
        return True

    combine = max

    def apply(old, gathered):
        return old.due + gathered if old.due < 16.0 else old.due


@entry(message=(float, int))
class DueTwice:
    """A sum of pairs of which each is whole on another way through `compute`."""

    total: ws.float64
    count: ws.int64
    weight: ws.edge(ws.float64)
    max_iter = 3

    def init(vertex):
        return 0.0, 0

    def compute(src, edge):
        if edge.weight < 0.3 or edge.weight >= 1.0:
            return 0, 1
        return edge.weight / 2.0, True

    combine = sum

    def apply(old, gathered):
        return gathered[0], old.count + gathered[1]


@entry(message=float, compiled=True)
class ManySmall:
    """float32 messages into a float64 sum: 1 is lost beside 2 ** 24 unless it is added in float64."""

    total: ws.float64
    x: ws.hidden(ws.float32)
    max_iter = 2

    def init(vertex):
        return 0.0, 16777216.0 if vertex % 3 == 0 else 1.0

    def compute(src):
        return src.x

    combine = sum

    def apply(old, gathered):
        return gathered, old.x


@entry(message=float, tolerance=SINGLE)
class Single:
    """A sum of float32 messages into a float32 field."""

    x: ws.float32
    single: ws.edge(ws.float32)
    max_iter = 4

    def init(vertex):
        return vertex / 3.0

    def compute(src, edge):
        return src.x * edge.single / 8.0

    combine = sum

    def apply(old, gathered):
        return 0.25 + gathered


@entry()
class Census:
    """A sum of flags, which is a count, into int32; in-degrees by hand."""

    count: ws.int32
    max_iter = 2

    def init(vertex):
        return vertex

    def compute(src):
        return src.count % 2 == 0

    combine = sum

    def apply(old, gathered):
        return gathered


@entry()
class Majority:
    """A flag by the sign of a sum of integers below zero and above."""

    on: ws.boolean
    whole: ws.edge(ws.int64)
    max_iter = 4

    def init(vertex):
        return vertex % 3 == 0

    def compute(src, edge):
        return edge.whole if src.on else -edge.whole

    combine = sum

    def apply(old, gathered):
        return gathered > 0


@entry()
class Following:
    """A vertex id as a state that is overwritten, of the least in-neighbour's."""

    leader: ws.vertex_id
    max_iter = 3

    def init(vertex, p):
        return p.number_of_vertices - 1 - vertex

    def compute(src):
        return src.leader

    combine = min

    def apply(old, gathered):
        return gathered


@entry(from_some)
class Unreachable:
    """math.inf in an int64 field, which is null in the result; even levels are heard only."""

    level: ws.nullable(ws.int64, math.inf)
    start: ws.vertex_set
    contributors = "active"

    def init(vertex, p, own):
        return 0 if own.start else math.inf

    def starts(state):
        return state.level == 0

    def compute(src):
        return src.level + 1 if src.level % 3 != 2 else src.level + 5

    combine = min

    def apply(old, gathered):
        return min(old.level, gathered)


@entry(message=float)
class Beyond:
    """inf as a state and a message: sums that stay infinite once they are."""

    x: ws.float64
    max_iter = 4

    def init(vertex):
        return math.inf if vertex == 3 else 1.0

    def compute(src):
        return src.x * 0.5

    combine = sum

    def apply(old, gathered):
        return gathered


@entry(message=float)
class NotANumber:
    """NaN is like NaN: a vertex that has one is not active for that."""

    x: ws.float64
    degree: ws.in_degree

    def init(vertex):
        return 4.0

    def compute(src):
        return 1.0

    combine = sum

    def apply(old, gathered):
        return math.nan if old.degree == 0 else gathered


# ------------------------------------------------------------ which vertices send, and which get no message


@entry(lambda n: {"k": 2}, compiled=True)
class Peel:
    """A sum of the active only: vertices of fewer than k in-edges go, again and again."""

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


@entry(from_some)
class Echo:
    """Active without a change: vertices with messages in the first supersteps send again."""

    times: ws.int64
    start: ws.vertex_set
    contributors = "active"

    def init(vertex, p, own):
        return 1 if own.start else 0

    def starts(state):
        return state.times == 1

    def compute(src):
        return 1

    combine = max

    def apply(old, gathered):
        return max(old.times, gathered)

    def active(old, new, p):
        return p.superstep < 2


@entry(from_some, compiled=True)
class EchoCounted:
    """Active without a change, in a sum."""

    times: ws.int64
    start: ws.vertex_set
    contributors = "active"

    def init(vertex, p, own):
        return 5 if own.start else 0

    def starts(state):
        return state.times == 5

    def compute(src):
        return 1 if src.times > 2 else 0

    combine = sum

    def apply(old, gathered):
        return min(old.times + gathered, 5)

    def active(old, new, p):
        return p.superstep < 3 and new.times >= old.times


@entry(from_some)
class ChangedAndSilent:
    """A maximum of the active, where a rise counts at even values only."""

    x: ws.int64
    start: ws.vertex_set
    contributors = "active"

    def init(vertex, p, own):
        return 2 if own.start else 0

    def compute(src):
        return src.x + 1 if src.x < 12 else src.x

    combine = max

    def apply(old, gathered):
        return max(old.x, gathered)

    def active(old, new):
        return new.x > old.x and new.x % 2 == 0


@entry(message=float)
class MinimumOfAll:
    """contributors = "all" with a minimum: a vertex without in-edges sees inf."""

    x: ws.float64
    weight: ws.edge(ws.float64)
    contributors = "all"
    max_iter = 4

    def init(vertex):
        return float(vertex)

    def compute(src, edge):
        return src.x + edge.weight

    combine = min

    def apply(old, gathered):
        return -1.0 if gathered == math.inf else gathered


@entry(message=int)
class MaximumOfAll:
    """contributors = "all" with a maximum of integers: silence is the least of them."""

    x: ws.int64
    contributors = "all"
    max_iter = 4

    def init(vertex):
        return vertex * 3 % 7 - 3

    def compute(src):
        return src.x - 1

    combine = max

    def apply(old, gathered):
        return 100 if gathered < -1000 else gathered


@entry(message=bool)
class FlagsOfAll:
    """contributors = "all" with flags: silence is True for a minimum."""

    on: ws.boolean
    contributors = "all"
    max_iter = 5

    def init(vertex):
        return vertex % 2 == 0

    def compute(src):
        return src.on

    combine = min

    def apply(old, gathered):
        return not gathered


@entry(message=(int, float))
class PairsOfAll:
    """contributors = "all" with a maximum of pairs: silence is a pair as well."""

    x: ws.int64
    y: ws.float64
    contributors = "all"
    max_iter = 3

    def init(vertex):
        return vertex % 4, vertex / 2.0

    def compute(src):
        return src.x, src.y + 0.5

    combine = max

    def apply(old, gathered):
        return (7, 0.0) if gathered[0] < 0 else gathered


@entry(compiled=True)
class KeptInSilence:
    """A minimum that overwrites: a vertex without in-edges keeps its state."""

    x: ws.int64
    max_iter = 4

    def init(vertex):
        return 100 + vertex * 3 % 8

    def compute(src):
        return src.x - 50

    combine = min

    def apply(old, gathered):
        return gathered


@entry()
class SilenceIsZero:
    """A sum: a vertex without in-edges applies, to 0, in every superstep."""

    x: ws.int64
    max_iter = 4

    def init(vertex):
        return vertex

    def compute(src):
        return src.x % 5

    combine = sum

    def apply(old, gathered):
        return old.x - 3 if gathered == 0 else gathered


@entry()
class NeverActive:
    """A sum without active vertices: one superstep."""

    x: ws.int64

    def init(vertex):
        return vertex

    def compute(src):
        return src.x

    combine = sum

    def apply(old, gathered):
        return gathered + 1

    def active(old, new):
        return False


@entry()
class NobodyStarts:
    """No vertex starts, which does not matter if all send."""

    x: ws.int64
    contributors = "all"
    max_iter = 3

    def init(vertex):
        return vertex * 3

    def starts(state):
        return state.x < 0

    def compute(src):
        return src.x

    combine = sum

    def apply(old, gathered):
        return gathered + 1


@entry()
class OneStarts:
    """One starts, and all send: in a sum of all `starts` does not matter."""

    x: ws.int64
    contributors = "all"
    max_iter = 3

    def init(vertex):
        return vertex + 1

    def starts(state):
        return state.x == 2

    def compute(src):
        return src.x

    combine = sum

    def apply(old, gathered):
        return gathered % 50


# -------------------------------------------------------------------- combines of the user's own


@entry(message=float, tolerance=DOUBLE)
class LogSumExp:
    """A custom combine with the identity -inf: the logarithm of a sum of exponentials."""

    x: ws.float64
    weight: ws.edge(ws.float64)
    max_iter = 3

    def init(vertex):
        return vertex / 4.0

    def compute(src, edge):
        return src.x - edge.weight

    def combine(a, b):
        if a == -math.inf:
            return b
        if b == -math.inf:
            return a
        high = max(a, b)
        return high + math.log(math.exp(a - high) + math.exp(b - high))

    identity = -math.inf

    def apply(old, gathered):
        return max(gathered, -8.0)


@entry(message=float, compiled=True)
class Product:
    """A custom combine: a product of powers of two."""

    x: ws.float64
    max_iter = 3

    def init(vertex):
        return 2.0 ** (vertex % 3 - 1)

    def compute(src):
        return src.x

    def combine(a, b):
        return a * b

    identity = 1.0

    def apply(old, gathered):
        return min(max(gathered, 0.25), 4.0)


@entry()
class BitOr:
    """A custom combine: the union of sets as bits."""

    known: ws.int64

    def init(vertex):
        return 1 << (vertex % 30)

    def compute(src):
        return src.known

    def combine(a, b):
        return a | b

    identity = 0

    def apply(old, gathered):
        return old.known | gathered


def divisor(a, b):
    """Return the greatest common divisor."""
    a = abs(a)
    b = abs(b)
    while b != 0:
        a, b = b, a % b
    return a


@entry()
class CommonDivisor:
    """A custom combine by a helper with a loop, which may be applied twice."""

    x: ws.int64
    start: ws.vertex_value(ws.int64, default=360)

    def init(vertex, p, own):
        return own.start // (vertex % 5 + 1)

    def compute(src):
        return src.x

    def combine(a, b):
        return divisor(a, b)

    identity = 0

    def apply(old, gathered):
        return divisor(old.x, gathered)


@entry(message=(int, float))
class LeastPair:
    """A custom combine: the lexicographically least pair, with an identity of two types."""

    x: ws.int64
    y: ws.float64
    weight: ws.edge(ws.float64)
    max_iter = 4

    def init(vertex):
        return vertex % 3, float(vertex)

    def compute(src, edge):
        return src.x, src.y + edge.weight

    def combine(a, b):
        return a if a < b else b

    identity = (1 << 40, math.inf)

    def apply(old, gathered):
        if gathered[0] == 1 << 40:
            return old.x + 1, old.y
        return gathered


@entry(message=(int, int))
class TopTwo:
    """A custom combine: the greatest two values heard, of which the second is kept."""

    x: ws.int64
    second: ws.int64
    max_iter = 3

    def init(vertex):
        return vertex * 7 % 10, 0

    def compute(src):
        return src.x, -1000

    def combine(a, b):
        first = max(a[0], b[0])
        return first, max(min(a[0], b[0]), a[1], b[1])

    identity = (-1000, -1000)

    def apply(old, gathered):
        return max(gathered[0], 0), max(gathered[1], -1)


@entry(from_some)
class ParityActive:
    """A custom combine of the active only: exclusive or."""

    x: ws.int64
    start: ws.vertex_set
    contributors = "active"
    max_iter = 6

    def init(vertex, p, own):
        return 5 if own.start else 0

    def starts(state):
        return state.x > 0

    def compute(src):
        return src.x * 3 % 16

    def combine(a, b):
        return a ^ b

    identity = 0

    def apply(old, gathered):
        return old.x ^ gathered


# ------------------------------------------------------------------------------ tuples, fields


@entry(message=(int, float))
class MeanOfNeighbours:
    """A sum of pairs: how many there are, and their total."""

    mean: ws.float64
    heard: ws.int32
    max_iter = 3

    def init(vertex):
        return float(vertex * 3 % 8), 0

    def compute(src):
        return 1, src.mean

    combine = sum

    def apply(old, gathered):
        if gathered[0] == 0:
            return old.mean, 0
        return math.floor(gathered[1] / gathered[0] * 4.0) / 4.0, gathered[0]


@entry(message=(int, int))
class ShortestThenFewest:
    """A minimum of pairs, not declared asynchronous: two fields are not proved."""

    cost: ws.int64
    hops: ws.int64
    whole: ws.edge(ws.int64)

    def init(vertex):
        return (0, 0) if vertex == 0 else (1000, 1000)

    def compute(src, edge):
        return src.cost + abs(edge.whole), src.hops + 1

    combine = min

    def apply(old, gathered):
        return gathered if gathered < (old.cost, old.hops) else (old.cost, old.hops)


@entry(message=(int, int))
class Crossed:
    """A maximum of pairs of which the parts change places on the way."""

    x: ws.int64
    y: ws.int64

    def init(vertex):
        return vertex % 4, vertex * 3 % 5

    def compute(src):
        return src.y, src.x

    combine = max

    def apply(old, gathered):
        return max((old.x, old.y), gathered)


@entry(message=float)
class Mixed:
    """Five fields of five types, of which one is hidden."""

    a: ws.float64
    b: ws.float32
    c: ws.int32
    d: ws.boolean
    e: ws.hidden(ws.int64)
    max_iter = 5

    def init(vertex):
        return vertex / 2.0, vertex / 4.0, vertex, vertex % 2 == 0, 0

    def compute(src):
        return src.b + src.c if src.d else src.a

    combine = max

    def apply(old, gathered):
        return (
            min(old.a + 1.0, 99.0),
            min(gathered, 64.0),
            old.e,
            gathered > old.a,
            old.c % 7 + 1,
        )


# ---------------------------------------------------------------------- combines that have a name


@entry(compiled=True)
class ColoursAround:
    """A histogram of neighbours' colours, of which the least seldom one is taken."""

    colour: ws.int64
    seen: ws.int64
    max_iter = 4

    def init(vertex):
        return vertex * 7 % 4, 0

    def compute(src):
        return src.colour

    combine = ws.histogram(4)

    def apply(old, gathered):
        taken = 0
        for colour in range(4):
            if gathered[colour] < gathered[taken]:
                taken = colour
        seen = gathered[0] + 10 * gathered[1] + 100 * gathered[2] + 1000 * gathered[3]
        return taken, seen


@entry(from_some)
class HistogramOfActive:
    """A histogram of flags, of the active only."""

    x: ws.int64
    start: ws.vertex_set
    contributors = "active"
    max_iter = 6

    def init(own):
        return 1 if own.start else 0

    def starts(state):
        return state.start

    def compute(src, edge):
        return src.x > edge.whole

    whole = ws.edge(ws.int64)
    combine = ws.histogram(2)

    def apply(old, gathered):
        return old.x + 2 * gathered[1] - gathered[0]

    def active(old, new):
        return new.x > old.x


@entry(message=float)
class TopThree:
    """The three greatest messages, equal ones each counted; fewer are padded with -inf."""

    first: ws.float64
    third: ws.float64
    weight: ws.edge(ws.float64)
    max_iter = 3

    def init(vertex):
        return vertex * 3 % 8 / 4, 0.0

    def compute(src, edge):
        return src.first - edge.weight

    combine = ws.top(3)

    def apply(old, gathered):
        return max(old.first, gathered[0]), gathered[2] + gathered[1]


@entry()
class TopTwoWhole:
    """The two greatest of integers, padded with the least int64."""

    x: ws.int64
    least: ws.boolean
    max_iter = 3

    def init(vertex):
        return vertex * 5 % 9, False

    def compute(src):
        return src.x + 1

    combine = ws.top(2)

    def apply(old, gathered):
        return max(gathered[0] // 2, 0), gathered[1] < -(1 << 60)


@entry()
class ReachedFrom:
    """A bitset: the kinds of vertices that reach one; a superstep sends one kind of each."""

    kinds: ws.int64
    max_iter = 12

    def init(vertex):
        return 1 << vertex % 5

    def compute(src, p):
        for step in range(5):
            place = (p.superstep + step) % 5
            if src.kinds >> place & 1:
                return place
        return 0

    combine = ws.bitset(5)

    def apply(old, gathered):
        return old.kinds | gathered

    def active(old, new, p):
        return p.superstep < 9 or new.kinds != old.kinds


@entry()
class WideBits:
    """A bitset of several integers."""

    low: ws.int64
    middle: ws.int64
    high: ws.int64
    max_iter = 2

    def init(vertex):
        return vertex * 41 % 130, 0, 0

    def compute(src):
        return src.low % 130

    combine = ws.bitset(130)

    def apply(old, gathered):
        return gathered[0] >> 1, gathered[1], gathered[2]


@entry(message=(int, float), compiled=True)
class NearestByWeight:
    """The message with the least field that has a name, ties by what comes before it."""

    label: ws.int64
    far: ws.float64
    weight: ws.edge(ws.float64)
    max_iter = 5

    def init(vertex):
        return vertex * 5 % 7, vertex % 2 / 2

    def compute(src, edge):
        return src.label, src.far + edge.weight

    combine = ws.first_by("far", names=("label", "far"))

    def apply(old, gathered):
        if gathered.far > old.far + 1.0:
            return old.label, old.far + 0.125
        return gathered.label, gathered.far


@entry(message=(int, int, bool))
class FirstByPlace:
    """The message with the least third part, a flag; without a message parts are the greatest."""

    x: ws.int64
    y: ws.int64
    max_iter = 4

    def init(vertex):
        return vertex % 3, vertex * 3 % 5

    def compute(src):
        return src.x, src.y, src.x < src.y

    combine = ws.first_by(2)

    def apply(old, gathered):
        if gathered[0] > 1000:
            return old.y, old.x + 1
        return (gathered[1] + 1) % 6, (gathered[0] + 2) % 5 if gathered[2] else 4


# ------------------------------------------------------------------------- messages in lists


@entry()
class Communities:
    """Label propagation: the most frequent label, ties to the least; a count of those that agree."""

    label: ws.int64
    max_iter = 6

    def init(vertex):
        return vertex * 5 % 8

    def compute(src):
        return src.label

    combine = ws.mode()

    def apply(gathered):
        return gathered


@entry(message=(float, float), compiled=True)
class WeighedCommunities:
    """The label of the greatest total weight, of floats; who hears nothing has the greatest one."""

    label: ws.float64
    weight: ws.edge(ws.float64)
    signed: ws.edge(ws.float64)
    contributors = "all"
    max_iter = 5

    def init(vertex):
        return vertex * 3 % 5 / 2

    def compute(src, edge):
        return src.label, edge.weight - edge.signed

    combine = ws.mode(weighted=True)

    def apply(old, gathered):
        return old.label + 0.25 if math.isinf(gathered) else gathered


@entry(message=(bool, int))
class WeighedFlags:
    """Flags with whole weights, from sources that the destination likes."""

    x: ws.int64
    whole: ws.edge(ws.int64)
    max_iter = 4

    def init(vertex):
        return vertex % 5

    def compute(src, dst, edge):
        return src.x > dst.x, edge.whole

    combine = ws.mode(weighted=True)

    def apply(old, gathered):
        return (old.x + (1 if gathered else 2)) % 6


@entry(message=float)
class Median:
    """The lower median of all messages, by their values."""

    x: ws.float64
    weight: ws.edge(ws.float64)
    message_order = "value"
    max_iter = 4

    def init(vertex):
        return vertex * 5 % 9 / 2

    def compute(src, edge):
        return src.x + edge.weight

    def gather_list(messages):
        return messages[(len(messages) - 1) // 2]

    def apply(old, gathered):
        return (old.x + math.floor(4 * gathered) / 4) / 2


@entry(message=(int, float), compiled=True)
class InOrder:
    """All messages in the order of sources and edges, read from both ends; who hears nothing too."""

    hash: ws.int64
    last: ws.float64
    weight: ws.edge(ws.float64)
    contributors = "all"
    max_iter = 3

    def init(vertex):
        return vertex + 1, 0.0

    def compute(src, dst, edge):
        return src.hash + dst.hash % 3, edge.weight

    def gather_list(old, messages, p):
        found = old.hash % 7
        for one in messages:
            if one[1] > 1.25:
                continue
            found = (found * 31 + one[0] + p.superstep) % 1009
        last = messages[-1][1] if len(messages) > 0 else -1.0
        for place in range(len(messages)):
            last = last / 2 + messages[place][1]
        return found, last

    def apply(gathered):
        return gathered[0], gathered[1] - math.floor(gathered[1])


@entry(message=(int, bool))
class SortedPairs:
    """Pairs by value, the second part too."""

    x: ws.int64
    degree: ws.in_degree
    message_order = "value"
    max_iter = 3

    def init(vertex):
        return vertex * 7 % 5

    def compute(src, edge):
        return src.x % 3, edge.whole > 1

    whole = ws.edge(ws.int64)

    def settled(state):
        return state.x > 500

    def gather_list(messages):
        found = 0
        for one in messages:
            found = found * 3 + one[0] + (1 if one[1] else 0)
        return found % 997

    def apply(gathered):
        return gathered


@entry()
class ListedWithEdgeState:
    """The most frequent of messages that read the state of edges, which changes."""

    x: ws.int64
    whole: ws.edge(ws.int64)
    seen: ws.edge_state(ws.int64)
    max_iter = 4

    def init(vertex):
        return vertex

    def init_edge(edge):
        return edge.whole

    def compute(src, edge):
        return (src.x + edge.seen) % 4

    combine = ws.mode()

    def update_edge(src, dst, edge):
        return (edge.seen + src.x * dst.x) % 11

    def apply(old, gathered):
        return (old.x * 2 + gathered) % 13


@entry()
class CountedFromAfar:
    """A histogram of what sources read at other vertices."""

    x: ws.int64
    at: ws.hidden(ws.int64)
    far: ws.at("x", "at")
    max_iter = 4

    def init(vertex, p):
        return vertex + 1, (vertex * 3 + 1) % p.number_of_vertices

    def compute(src):
        return (src.x + src.far) % 3

    combine = ws.histogram(3)

    def apply(old, gathered):
        return old.x % 5 + gathered[0] + 2 * gathered[2], old.at


# ------------------------------------------------------ constants, parameters, aggregates, edges


@entry(lambda n: {"toll": {v: v % 3 for v in range(n)}, "start": 0})
class TollAtTheGate:
    """The destination's constant is added by `apply`."""

    paid: ws.int64
    toll: ws.vertex_value(ws.int64)
    start: ws.vertex_parameter

    def init(vertex, p):
        return 0 if vertex == p.start else 1000

    def compute(src):
        return src.paid

    combine = min

    def apply(old, gathered):
        return min(old.paid, gathered + old.toll + 1)


@entry(lambda n: {"capacity": {v: 4 - v % 4 for v in range(n)}})
class Capacity:
    """The destination's constant is the most that it holds."""

    x: ws.int64
    capacity: ws.vertex_value(ws.int64)

    def init(vertex, p, own):
        return own.capacity

    def compute(src):
        return src.x + 1

    combine = max

    def apply(old, gathered):
        return max(old.x, min(gathered, 2 * old.capacity))


@entry(from_first)
class TollOnTheWay:
    """The source's constant is added by `compute`."""

    paid: ws.int64
    degree: ws.out_degree
    start: ws.vertex_parameter

    def init(vertex, p):
        return 0 if vertex == p.start else 1000

    def compute(src):
        return src.paid + src.degree

    combine = min

    def apply(old, gathered):
        return min(old.paid, gathered)


@entry(message=float, tolerance=DOUBLE, compiled=True)
class Rank:
    """Sums with a residual, a tolerance, an aggregate, out-weights and a distribution."""

    rank: ws.float64
    share: ws.hidden(ws.float64)
    weight: ws.edge(ws.float64, default=1.0, least=0.0)
    total: ws.out_weight
    start: ws.distribution
    residual = ws.l1_norm("rank")
    tol = 1e-4

    @ws.aggregate
    def lost(state):
        return state.rank if state.total == 0.0 else 0.0

    def init(vertex, p, own):
        return own.start, own.start / own.total if own.total > 0.0 else 0.0

    def compute(src, edge):
        return src.share * edge.weight

    combine = sum

    def apply(old, gathered, p):
        rank = 0.25 * old.start + 0.75 * (gathered + p.lost * old.start)
        return rank, rank / old.total if old.total > 0.0 else 0.0


@entry(lambda n: {"start": {v: v % 3 + 1 for v in range(n)}}, message=float, tolerance=DOUBLE)
class Preferred:
    """A distribution that is given, and in-weights."""

    x: ws.float64
    weight: ws.edge(ws.float64)
    start: ws.distribution
    into: ws.in_weight
    residual = ws.max_norm("x")
    tol = 1e-3
    max_iter = 20

    def init(vertex, p, own):
        return own.start

    def compute(src, edge):
        return src.x * edge.weight

    combine = sum

    def apply(old, gathered):
        return 0.5 * old.start + 0.5 * gathered / max(old.into, 1.0)


@entry(from_some, message=float, tolerance=DOUBLE)
class Spread:
    """A vertex set that keeps its state; vertex values from a column with a default."""

    x: ws.float64
    start: ws.optional_vertex_set
    cold: ws.vertex_value(ws.float32, default=0.5)
    degree: ws.in_degree
    max_iter = 4

    def init(vertex, p, own):
        return 8.0 if own.start else own.cold

    def compute(src):
        return src.x

    combine = sum

    def apply(old, gathered):
        if old.start or old.degree == 0:
            return old.x
        return gathered / old.degree


@entry(message=float)
class Weighed:
    """Several edge attributes of several types, one of which the graph lacks."""

    x: ws.float64
    weight: ws.edge(ws.float64)
    whole: ws.edge(ws.int64)
    single: ws.edge()
    missing: ws.edge(ws.int64, default=3)
    max_iter = 3

    def init(vertex):
        return 1.0

    def compute(src, edge):
        return src.x * edge.weight + edge.whole * edge.missing - edge.single

    combine = sum

    def apply(old, gathered):
        return min(max(gathered, -8.0), 8.0)


@entry(from_first)
class WholeWeights:
    """The type of an integer edge attribute, and a sum of weights of either sign."""

    x: ws.like("whole")
    whole: ws.edge()
    start: ws.vertex_parameter
    max_iter = 3

    def init(vertex, p):
        return 1 if vertex == p.start else 0

    def compute(src, edge):
        return src.x * edge.whole

    combine = sum

    def apply(old, gathered):
        return old.x + gathered


def toll_of(vertex, road, p):
    """Return a message; it is given the arguments whole."""
    return vertex.x * road.whole + p.superstep


def taken_by(vertex, toll):
    """Return the state after a message."""
    return (vertex.x + toll) % (20 + vertex.degree)


@entry(compiled=True)
class Delegated:
    """`compute` and `apply` hand their arguments to helpers, which read what they don't."""

    x: ws.int64
    whole: ws.edge(ws.int64)
    degree: ws.in_degree
    max_iter = 4

    def init(vertex):
        return vertex

    def compute(src, edge, p):
        return toll_of(src, edge, p)

    combine = sum

    def apply(old, gathered):
        return taken_by(old, gathered)


@entry()
class DelegatedMinimum:
    """A minimum of which a helper sees that the message depends on the superstep, or falls."""

    x: ws.int64
    whole: ws.edge(ws.int64)

    def init(vertex):
        return 9 - vertex % 5

    def compute(src, edge, p):
        return toll_of(src, edge, p)

    combine = min

    def apply(old, gathered):
        return lesser(old.x, max(gathered, -99))


@entry()
class GlobalRate:
    """Reads a global of its module."""

    x: ws.int64
    max_iter = 3

    def init(vertex):
        return vertex

    def compute(src):
        return src.x * RATE

    combine = max

    def apply(old, gathered):
        return max(old.x, gathered + RATE)


def with_rate(rate: int, limit: float) -> type:
    """Return a class whose functions read variables of the function that made it."""

    class Closure:
        """Reads variables of the enclosing function."""

        x: ws.float64
        max_iter = 3

        def init(vertex):
            return float(vertex)

        def compute(src):
            return src.x * rate

        combine = sum

        def apply(old, gathered):
            return min(gathered, limit)

    return Closure


ClosureOfTwo = entry(message=float)(with_rate(2, 50.0))
ClosureOfThree = entry(message=float)(with_rate(3, 40.5))


@entry(message=float, tolerance=DOUBLE, compiled=True)
class Aggregated:
    """Two aggregates, a parameter, the superstep and the number of vertices."""

    x: ws.float64
    base: ws.parameter(ws.float64, default=2.0)
    on: ws.parameter(ws.boolean, default=True)
    degree: ws.in_degree
    max_iter = 5

    @ws.aggregate
    def mass(state):
        return state.x

    @ws.aggregate
    def sources(state, p):
        return p.base if state.degree == 0 else 0

    def init(vertex, p, own):
        return p.base + own.degree + vertex

    def compute(src, edge, p):
        return src.x / (1.0 + p.superstep) + p.mass / 64.0

    combine = sum

    def apply(old, gathered, p):
        grown = gathered + p.superstep + p.sources / p.number_of_vertices
        return grown / 16.0 if p.on else 0.0


@entry(message=float)
class SumOfAggregate:
    """An aggregate that counts flags, read by the active only."""

    on: ws.boolean
    when: ws.float64
    contributors = "active"

    @ws.aggregate
    def lit(state):
        return state.on

    def init(vertex):
        return vertex == 0, 0.0

    def starts(state):
        return state.on

    def compute(src):
        return 1.0

    combine = sum

    def apply(old, gathered, p):
        return True, old.when if old.on else p.lit + gathered / 4.0

    def active(old, new):
        return not old.on


@entry()
class Clock:
    """Nothing but the number of the superstep."""

    x: ws.int32
    max_iter = 5

    def init(vertex):
        return -1

    def compute(src, edge, p):
        return p.superstep

    combine = sum

    def apply(old, gathered, p):
        return 10 * p.superstep + gathered


@entry()
class Alternating:
    """`compute` takes turns by the superstep; states that never come to rest."""

    x: ws.int64
    max_iter = 6

    def init(vertex):
        return vertex % 6

    def compute(src, edge, p):
        if p.superstep % 2 == 0:
            return src.x + 1
        else:
            return -src.x

    combine = max

    def apply(old, gathered):
        return gathered % 100


# ------------------------------------------------------------ messages that read their destination


def limits(n: int) -> dict[str, Any]:
    return {"limit": {v: (5, 2, 9)[v % 3] for v in range(n)}}


@entry(compiled=True)
class Selective:
    """A maximum of which each vertex hears only what is little above its own."""

    x: ws.int64

    def init(vertex):
        return vertex * 5 % 11

    def compute(src, dst):
        return src.x if dst.x < src.x < dst.x + 4 else -1

    combine = max

    def apply(old, gathered):
        return max(old.x, gathered)


@entry(compiled=True)
class Conflicts:
    """Colours: whoever has a neighbour of the same colour and a higher rank takes the next one."""

    colour: ws.int32
    rank: ws.int64
    max_iter = 7

    def init(vertex):
        return vertex % 2, vertex * 7 % 13

    def compute(edge, dst, src):
        return src.colour == dst.colour and src.rank > dst.rank

    combine = sum

    def apply(old, gathered):
        return old.colour + (1 if gathered > 0 else 0), old.rank


@entry(message=float, tolerance=DOUBLE)
class Flow:
    """What flows along an edge is the difference of its ends' levels times its weight."""

    level: ws.float64
    weight: ws.edge(ws.float64)
    residual = ws.max_norm("level")
    max_iter = 5

    def init(vertex):
        return float(vertex * 3 % 8)

    def compute(src, dst, edge):
        return (src.level - dst.level) * edge.weight

    combine = sum

    def apply(old, gathered):
        return old.level + gathered / 16.0


@entry(limits, compiled=True)
class UpToTheLimit:
    """Senders are active ones: each sends no more than the destination's limit and in-degree allow."""

    x: ws.int64
    limit: ws.vertex_value(ws.int64)
    degree: ws.in_degree
    whole: ws.edge(ws.int64)
    contributors = "active"
    max_iter = 6

    def init(vertex):
        return vertex % 4

    def starts(state):
        return state.x > 1

    def compute(dst, src, edge, p):
        return min(src.x + edge.whole, dst.limit) // dst.degree - p.superstep

    combine = sum

    def apply(old, gathered):
        return (old.x + gathered) % 17

    def active(old, new):
        return new.x != old.x


@entry(message=bool)
class Passage:
    """A flag that passes to those whose own weight, of in-arcs, is below the source's; any is enough."""

    on: ws.boolean
    inward: ws.in_weight

    def init(vertex):
        return vertex % 3 == 0

    def starts(state):
        return state.on

    def compute(src, dst):
        return src.on and dst.inward <= src.inward + 0.5

    combine = any

    def apply(old, gathered):
        return old.on or gathered


@entry(limits, message=(int, float))
class Offers:
    """Messages of two fields, combined by a function: the best offer for each destination."""

    held: ws.int64
    price: ws.float64
    limit: ws.vertex_value(ws.int64)
    weight: ws.edge(ws.float64)
    identity = (-1, -math.inf)
    max_iter = 5

    def init(vertex):
        return vertex % 5, float(vertex % 4)

    def compute(dst, src, edge):
        if src.held > dst.limit:
            return -1, -math.inf
        return src.held, edge.weight - dst.price

    def combine(a, b):
        return a if a[1] > b[1] or (a[1] == b[1] and a[0] >= b[0]) else b

    def apply(old, gathered):
        if gathered[1] <= 0.0:
            return old.held, old.price
        return gathered[0], old.price + 0.5


# ------------------------------------------------------------------------------- state on edges


@entry(message=float, compiled=True)
class Draining:
    """A flow that edges keep: it follows the difference of levels, slowly, and less than it can carry."""

    level: ws.float64
    whole: ws.edge(ws.int64)
    flow = ws.edge_state(ws.float64)
    max_iter = 5

    def init(vertex):
        return float(vertex * 8 % 24)

    def compute(src, edge):
        return edge.flow

    combine = sum

    def apply(old, gathered):
        return old.level + gathered / 8.0

    def update_edge(src, dst, edge):
        return min(edge.flow / 2.0 + max(src.level - dst.level, 0.0), 4.0 + edge.whole)


@entry(message=(float, float), tolerance=DOUBLE, compiled=True)
class Beliefs:
    """Belief propagation of two states: messages are the state of edges, in logarithms."""

    zero: ws.float64
    one: ws.float64
    weight: ws.edge(ws.float64)
    to_zero = ws.edge_state(ws.float64)
    to_one = ws.edge_state(ws.float64)
    max_iter = 4

    def init(vertex):
        return vertex % 3 / 4.0, vertex % 2 / 2.0

    def init_edge(src, edge):
        return src.zero * edge.weight, src.one

    def compute(edge):
        return edge.to_zero, edge.to_one

    combine = sum

    def apply(old, gathered):
        return old.zero / 2.0 + gathered[0] / 4.0, old.one / 2.0 + gathered[1] / 4.0

    def update_edge(src, edge):
        low = max(src.zero + edge.weight, src.one) - edge.to_zero / 8.0
        high = max(src.zero, src.one + edge.weight) - edge.to_one / 8.0
        return low - max(low, high), high - max(low, high)


@entry(compiled=True)
class Hesitation:
    """A maximum that an edge lets through one superstep after its source has it: no vertex is active."""

    x: ws.int64
    open = ws.edge_state(ws.boolean, default=False)
    seen = ws.edge_state(ws.int32, default=-3)

    def init(vertex):
        return vertex * 5 % 7

    def compute(src, edge):
        return src.x if edge.open else -1

    combine = max

    def apply(old, gathered):
        return max(old.x, gathered)

    def update_edge(dst, src, edge):
        return edge.seen == src.x and src.x >= dst.x, src.x


@entry(limits, message=float)
class Worn:
    """Edges wear out with what they carry: the superstep, a parameter and constants of both ends."""

    x: ws.float64
    limit: ws.vertex_value(ws.int64)
    degree: ws.in_degree
    weight: ws.edge(ws.float64)
    toll: ws.parameter(ws.float64, default=0.25)
    strength = ws.edge_state(ws.float32)
    uses = ws.edge_state(ws.int64)
    max_iter = 4

    def init(vertex):
        return float(vertex % 5)

    def init_edge(src, dst, edge, p):
        return edge.weight + src.degree - dst.x * p.toll, dst.limit

    def compute(src, dst, edge, p):
        return min(src.x - dst.x, edge.strength) + p.superstep

    combine = min

    def apply(old, gathered):
        return max(old.x, gathered)

    def update_edge(p, dst, src, edge):
        carried = 1 if src.x > dst.x else 0
        return edge.strength - carried * p.toll, edge.uses + carried * (p.superstep + 1)


@entry(message=int, compiled=True)
class Trusted:
    """The most frequent label among those that edges let through; they learn from what they carried."""

    x: ws.int64
    trust = ws.edge_state(ws.int32, default=1)
    max_iter = 5

    def init(vertex):
        return vertex * 5 % 4

    def compute(src, dst, edge):
        return src.x if edge.trust > 0 else dst.x

    combine = ws.mode()

    def apply(old, gathered):
        return gathered if gathered != old.x else (old.x + 1) % 4

    def update_edge(src, dst, edge):
        return edge.trust + (1 if src.x == dst.x else -1)


@entry(message=(int, int))
class Listened:
    """All messages of a vertex in order, of edges that take turns."""

    x: ws.int64
    turn = ws.edge_state(ws.int64)
    max_iter = 4

    def init(vertex):
        return vertex % 5

    def init_edge(src, dst):
        return (src.x + 2 * dst.x) % 3

    def compute(src, edge):
        return src.x, edge.turn

    def gather_list(messages):
        total = 0
        for place in range(len(messages)):
            total = (3 * total + messages[place][0] * (messages[place][1] == 0)) % 101
        return total

    def apply(old, gathered):
        return (old.x + gathered) % 17

    def update_edge(edge):
        return (edge.turn + 1) % 3


@entry()
class Rooted:
    """Pointer jumping: messages read the root's state, and edges count the supersteps apart."""

    x: ws.int64
    parent: ws.hidden(ws.int64)
    above = ws.at("x", "parent")
    apart = ws.edge_state(ws.int64)
    max_iter = 5

    def init(vertex):
        return vertex * 3 % 7, vertex // 2

    def compute(src, dst, edge):
        return min(src.x, src.above) + (edge.apart if dst.above > dst.x else 0)

    combine = min

    def apply(old, gathered):
        return max(old.x - 1, min(gathered, old.x + 1)), old.parent

    def update_edge(src, dst, edge):
        return edge.apart + (src.x != dst.x)


# -------------------------------------------------------------------------------- plain Python


@entry()
class Collatz:
    """Loops, branches, integer division and remainder."""

    x: ws.int64
    max_iter = 4

    def init(vertex):
        return vertex + 1

    def compute(src):
        x = src.x
        for step in range(3):
            if x % 2 == 0:
                x = x // 2
            elif x > 1:
                x = 3 * x + 1 + step
        return x

    combine = sum

    def apply(old, gathered):
        left = gathered
        while left > 40:
            left -= 17
        return left


@entry()
class NegativeDivision:
    """Division and remainder of negative numbers, by negative numbers."""

    x: ws.int64
    whole: ws.edge(ws.int64)
    max_iter = 4

    def init(vertex):
        return vertex * 7 % 15 - 7

    def compute(src, edge):
        quotient, rest = divmod(src.x - 3, -4)
        return quotient * 2 - rest + edge.whole // -2 + edge.whole % -3

    combine = sum

    def apply(old, gathered):
        return -(gathered % 9) if gathered < 0 else gathered % 11


@entry(message=float, tolerance=1e-9)
class Mathematics:
    """Functions of math and NumPy."""

    x: ws.float64
    weight: ws.edge(ws.float64)
    max_iter = 4

    def init(vertex):
        return math.sin(float(vertex)) + math.pi

    def compute(src, edge):
        return math.exp(-abs(src.x)) * math.sqrt(edge.weight) + math.log1p(edge.weight)

    combine = sum

    def apply(old, gathered):
        return math.tanh(gathered) + math.hypot(old.x, 1.0) / 8.0 + math.atan2(gathered, 2.0)


@entry(message=float)
class Rounded:
    """round, int, floor, ceil and their negative halves."""

    x: ws.int64
    signed: ws.edge(ws.float64)
    max_iter = 4

    def init(vertex):
        return vertex - 3

    def compute(src, edge):
        return int(src.x * edge.signed / 4.0) + math.ceil(edge.signed) - round(edge.signed / 2.0)

    combine = max

    def apply(old, gathered):
        return min(max(int(gathered), -9), 9)


@entry()
class ShortCircuit:
    """and, or, not, chained comparisons, and conversions of flags."""

    x: ws.int32
    on: ws.boolean
    max_iter = 4

    def init(vertex):
        return vertex, vertex % 3 != 1

    def compute(src):
        return int(src.on and 1 < src.x <= 6) + int(not src.on or src.x == 3)

    combine = sum

    def apply(old, gathered):
        return (old.x + gathered) % 8, bool(gathered % 2) != old.on


@entry(lambda n: {"n": 3, "rate": 0.5, "turn": 1}, message=float)
class Parameters:
    """Parameters of every type, and two parameters for vertices."""

    x: ws.float64
    n: ws.parameter(ws.int32)
    rate: ws.parameter(ws.float32)
    on: ws.parameter(ws.boolean, default=True)
    turn: ws.parameter(ws.int64, default=7)
    max_iter = 3

    def init(vertex, p):
        return float(vertex % p.n)

    def compute(src, edge, p):
        return src.x * p.rate + p.turn if p.on else 0.0

    combine = sum

    def apply(old, gathered, p):
        return min(gathered, float(p.n * 8))


# -------------------------------------------------------------------- arguments in other orders


@entry(from_first, into=PERMUTED)
class EdgeFirst:
    """compute(edge, src) and apply(gathered, old)."""

    x: ws.int64
    whole: ws.edge(ws.int64)
    start: ws.vertex_parameter

    def init(p, vertex):
        return 0 if vertex == p.start else 1000

    def compute(edge, src):
        return src.x + abs(edge.whole) + 1

    combine = min

    def apply(gathered, old):
        return min(old.x, gathered)

    def active(new, old):
        return new.x < old.x


@entry(message=float, into=PERMUTED)
class ParametersFirst:
    """p comes first everywhere, and arguments in the middle are left out."""

    x: ws.float64
    degree: ws.in_degree
    max_iter = 4

    @ws.aggregate
    def total(p, state):
        return state.x / p.number_of_vertices

    def init(own, vertex):
        return float(own.degree + vertex % 3)

    def compute(p, src):
        return src.x * (p.superstep + 1)

    combine = sum

    def apply(p, gathered):
        return math.floor(min(gathered, 32.0)) + (1.0 if p.total > 4.0 else 0.0)


@entry(message=float, into=PERMUTED)
class OnlyWhatIsNeeded:
    """compute(edge) without a source, init(own), apply(gathered), starts(p, state)."""

    x: ws.float64
    contributors = "all"
    weight: ws.edge(ws.float64)
    degree: ws.out_degree
    least: ws.parameter(ws.float64, default=0.0)
    max_iter = 2

    def init(own):
        return float(own.degree)

    def starts(p, state):
        return state.x >= p.least

    def compute(edge):
        return edge.weight

    combine = sum

    def apply(gathered):
        return gathered


@entry(into=PERMUTED)
class Silent:
    """compute(p) of the superstep alone, and active(new)."""

    x: ws.int64
    max_iter = 5

    def init(vertex):
        return vertex % 4

    def compute(p):
        return p.superstep

    combine = max

    def apply(old, gathered):
        return old.x + gathered

    def active(new):
        return new.x < 6


# ------------------------------------------------------------------------------ pointer jumping


@entry(compiled=True)
class Hooking:
    """Components: a tree hooks its root below the least tree around, and pointers are halved."""

    parent: ws.vertex_id
    least: ws.vertex_id
    grand: int = ws.at("parent", "parent")
    hook: int = ws.least_at("least", "parent")

    def init(vertex):
        return vertex, vertex

    def compute(src):
        return src.grand

    combine = min

    def apply(old, gathered):
        return min(old.grand, old.hook), min(old.grand, gathered)


@entry(message=float, compiled=True)
class LightestOfTree:
    """The lightest arc out of each group, as a step of Boruvka's: named by its members."""

    home: ws.int32
    best: ws.float64
    weight: ws.edge(ws.float64, default=1.0)
    lightest: float = ws.least_at("best", "home")
    heaviest: float = ws.greatest_at("best", "home")
    of_home: float = ws.at("best", "home", default=-2.0)

    def init(vertex):
        return vertex // 2 - 1, 8.0 - vertex

    def compute(src, edge):
        return edge.weight + src.of_home

    combine = min

    def apply(old, gathered):
        return old.home, min(min(gathered, old.best) + 0.25, min(old.lightest, 64.0)) + max(
            old.heaviest, 0.0
        )

    max_iter = 4


@entry(message=int, compiled=True)
class Named:
    """Counts and sums of those that name a vertex, which name others by what they count."""

    to: ws.int64
    value: ws.int32
    share: ws.float32
    on: ws.boolean
    named: int = ws.sum_at("value", "to")
    flags: int = ws.sum_at("on", "to")
    shares: float = ws.sum_at("share", "to")
    all_on: bool = ws.least_at("on", "to")
    one_on: bool = ws.greatest_at("on", "to")
    most: int = ws.greatest_at("value", "to")

    def init(vertex, p):
        return vertex * 3 % p.number_of_vertices, vertex % 4 - 1, vertex * 0.1, vertex % 3 == 0

    def compute(src, dst):
        return src.flags + src.value + (1 if dst.one_on else 0)

    combine = sum

    def apply(old, gathered, p):
        to = (old.to + old.named + gathered) % (p.number_of_vertices + 1) - 1
        share = old.shares * 0.5 + 0.1
        return to, max(old.most, -5) % 7, share, old.one_on != old.all_on or gathered % 2 == 0

    def active(old, new):
        return new.to != old.to or old.flags > 1

    max_iter = 5


@entry(message=float)
class SharedHome:
    """A jump alone: messages are only counted, and vertices without any apply too."""

    home: ws.int64
    x: ws.float64
    there: float = ws.at("x", "home", default=0.5)

    def init(vertex, p):
        return vertex - 1, float(vertex * 5 % 8)

    def compute(src):
        return src.x

    combine = max

    def apply(old, gathered, p):
        return old.home, (old.there + old.x) / 2.0 if p.superstep < 3 else old.x
