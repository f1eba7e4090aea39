"""Programs whose `compute` sends nothing along some arcs, with each way of gathering messages; and that end by a sum."""

from __future__ import annotations

import math

from zoo import Entry, entry, from_first

import cugraph_ws as ws

__all__ = ["SELECTIVE", "BelowTheLimit", "LightestOffer"]

SELECTIVE: list[Entry] = []  # that are run on one graph only


@entry(from_first, message=float)
class BelowTheLimit:
    """Least sums of weights along light edges: free of order, since the identity changes nothing."""

    x: ws.nullable(ws.float64, math.inf)
    weight: ws.edge(ws.float64, default=1.0)
    signed: ws.edge(ws.float64, default=0.0)
    start: ws.vertex_parameter

    def init(vertex, p):
        return 0 if vertex == p.start else math.inf

    def starts(state):
        return state.x == 0

    def compute(src, edge):
        return src.x + edge.weight if edge.signed < 1.5 else ws.no_message

    combine = min

    def apply(old, gathered):
        return min(old.x, gathered)


@entry(message=float, compiled=True)
class LightestOffer:
    """A minimum that replaces the state, and a count of the supersteps with a message; more are active."""

    x: ws.float64
    times: ws.int64
    weight: ws.edge(ws.float64, default=1.0)
    max_iter = 4

    def init(vertex):
        return vertex * 0.5, 0

    def starts(state):
        return state.x < 4.0

    def compute(src, edge):
        if edge.weight > src.x:
            return ws.no_message
        return src.x - edge.weight

    combine = min

    def apply(old, gathered):
        return gathered * 0.5, (old.times + 1) % 3

    def active(old, new):
        return new.times > 0 or old.x > 2.0


@entry(message=(float, bool), into=SELECTIVE)
class PaidByTheRich:
    """A sum of tuples, with a flag, that only active vertices send, and of these the rich ones."""

    x: ws.float64
    payers: ws.int64
    contributors = "active"
    max_iter = 4

    def init(vertex):
        return float(vertex % 4), 0

    def compute(src):
        return (src.x * 0.5, src.x > 2.0) if src.x > 1.0 else ws.no_message

    combine = sum

    def apply(old, gathered):
        return old.x * 0.5 + gathered[0], old.payers + gathered[1]


@entry(compiled=True)
class UntilHalf:
    """An infection that ends when half of all vertices have it; a count of flags says so."""

    ill: ws.boolean
    day: ws.int64
    contributors = "active"
    combine = sum
    max_iter = 20

    @ws.aggregate
    def infected(state):
        return state.ill

    @ws.aggregate(max)
    def last(state):
        return state.day * 0.5 if state.ill else math.nan

    @ws.aggregate(min)
    def first(state):
        return 3 - state.day

    @ws.aggregate(any)
    def late(state):
        return state.day > 2

    def init(vertex):
        return vertex == 0, 0

    def until(p):
        return p.infected * 2 >= p.number_of_vertices and p.last < 8.0

    def compute(src):
        return src.ill

    def apply(old, gathered, p):
        day = p.superstep + 1 if p.first >= 1.0 else int(p.last * 2.0 + p.late)
        return old.ill or gathered > 0, old.day if old.ill else day


@entry(message=(float, int))
class NearestWitness:
    """The lightest edge from a vertex that differs; who gets no message keeps its state."""

    weight_of: ws.float64
    who: ws.int64
    weight: ws.edge(ws.float64, default=1.0)
    contributors = "active"
    max_iter = 3

    def init(vertex):
        return 8.0, vertex

    def compute(src, dst, edge):
        return ws.no_message if src.who == dst.who else (edge.weight, src.who)

    combine = ws.first_by("cost", names=("cost", "place"))

    def apply(old, gathered):
        return min(old.weight_of, gathered.cost), gathered.place


@entry(message=float, into=SELECTIVE)
class TwoGreatestShares:
    """The second greatest message of those that are sent, least values and NaN among them."""

    x: ws.float64
    weight: ws.edge(ws.float64, default=1.0)
    contributors = "active"
    max_iter = 3

    def init(vertex):
        return math.nan if vertex == 3 else vertex - 1.5

    def compute(src, edge):
        if src.x == 0.5:
            return -math.inf
        return src.x if edge.weight < 1.0 else ws.no_message

    combine = ws.top(2)

    def apply(old, gathered):
        return 1.0 if gathered[1] == -math.inf else gathered[1] * 0.5


@entry()
class CountedVotes:
    """A histogram of the messages that are sent; without any, all counts are 0, as for all who gather."""

    x: ws.int64
    max_iter = 4

    def init(vertex):
        return vertex % 4

    def compute(src):
        return ws.no_message if src.x == 3 else src.x

    combine = ws.histogram(3)

    def apply(old, gathered):
        return (gathered[1] + gathered[2] * 2 + 1) % 4


@entry(into=SELECTIVE)
class AnyOfTheOdd:
    """Any message, and all are alike; the state is replaced, so that 0 is one too."""

    x: ws.int64
    max_iter = 4

    def init(vertex):
        return vertex % 3

    def starts(state):
        return state.x < 2

    def compute(src, p):
        return p.superstep % 3 if src.x != 1 else ws.no_message

    combine = ws.any_message

    def apply(old, gathered):
        return gathered


@entry(message=(int, float), into=SELECTIVE)
class ProductsOfSome:
    """The user's own combine of tuples, with messages of some; vertices without one do not apply."""

    x: ws.int64
    y: ws.float64
    contributors = "active"
    max_iter = 3

    def init(vertex):
        return vertex % 5, 1.0

    def compute(src):
        if src.x % 2:
            if src.y > 4.0:
                return ws.no_message
            return src.x, 0.5
        return ws.no_message if src.x == 2 else (src.x + 1, 2.0)

    identity = (0, math.inf)

    def combine(a, b):
        return (a[0] + b[0]) % 64, min(a[1], b[1])

    def apply(old, gathered):
        return (old.x + gathered[0]) % 7, old.y * gathered[1]


@entry(message=bool, into=SELECTIVE)
class ToldByTheEven:
    """Flags that are replaced: an absent message is not False."""

    x: ws.boolean
    odd: ws.boolean
    max_iter = 3

    def init(vertex):
        return vertex % 3 == 0, vertex % 2 == 1

    def compute(src):
        return ws.no_message if src.odd else src.x

    combine = any

    def apply(old, gathered):
        return gathered, not old.odd


@entry(message=int, into=SELECTIVE)
class WholeDistances:
    """An integer field that may be infinite, whose message is replaced where it is too great."""

    x: ws.nullable(ws.int32, math.inf)
    max_iter = 4

    def init(vertex):
        return math.inf if vertex % 3 else vertex

    def compute(src):
        return src.x + 1 if src.x < 3 or src.x == math.inf else ws.no_message

    combine = min

    def apply(old, gathered):
        return gathered


@entry(from_first, message=int, into=SELECTIVE)
class ChosenByTheGreatest:
    """Whatever its order, a maximum with a predecessor, of the odd."""

    x: ws.int64
    start: ws.vertex_parameter
    before: ws.predecessor
    asynchronous = True

    def init(vertex, p):
        return vertex if vertex != p.start else 4

    def compute(src):
        return src.x if src.x % 2 else ws.no_message

    combine = max

    def apply(old, gathered):
        return max(gathered, old.x)
