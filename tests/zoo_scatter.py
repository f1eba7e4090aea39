"""Programs whose `scatter` sees all out-edges of a vertex, and sends along some of them."""

from __future__ import annotations

import math

from zoo import Entry, entry

import cugraph_ws as ws

__all__ = [
    "FORMS",
    "SCATTER",
    "Auction",
    "DividedFlow",
    "Drawn",
    "Lightest",
    "SoftmaxWalk",
    "TwoBest",
]

SCATTER: list[Entry] = []  # that are run on a few graphs
FORMS: list[Entry] = []  # loops over edges of each form, which threads of a GPU may share or not


@entry(message=float, tolerance=1e-9, into=SCATTER)
class DividedFlow:
    """What a vertex has goes out by the edges' capacities, at most what they are; the rest stays."""

    have: ws.float64
    weight: ws.edge(ws.float64, default=1.0)
    combine = sum
    max_iter = 4

    def init(vertex):
        return 1.0 + vertex % 3

    def scatter(own, edges):
        capacity = 0.0
        for edge in edges:
            capacity += edge.weight
        share = min(own.have / capacity, 1.0) if capacity > 0 else 0.0
        for edge in edges:
            if edge.weight > 0:
                edge.send(share * edge.weight)

    def apply(old, gathered):
        return 0.5 * old.have + gathered


@entry(message=(float, int), tolerance=1e-9, into=SCATTER)
class Auction:
    """Bertsekas' auction: who has no object bids on the best one, by as much as it is better than the second."""

    price: ws.float64
    holder: ws.int64
    has: ws.int64
    number: ws.vertex_number
    weight: ws.edge(ws.float64, default=1.0)
    combine = ws.first_by(0)
    max_iter = 5

    def init(vertex):
        return 0.0, -1, -1

    def scatter(own, edges):
        if own.has >= 0 and edges[0].dst.holder == own.number:
            return
        best = 0
        value = second = -math.inf
        for i in range(len(edges)):
            gain = edges[i].weight - edges[i].dst.price
            if gain > value:
                best, value, second = i, gain, value
            elif gain > second:
                second = gain
        step = 0.125 if len(edges) == 1 else value - second + 0.125
        edges[best].send((-(edges[best].dst.price + step), own.number))

    def apply(old, gathered):
        if -gathered[0] > old.price:
            return -gathered[0], gathered[1], old.has
        return old.price, old.holder, old.holder


@entry(message=float, tolerance=1e-9, into=SCATTER)
class SoftmaxWalk:
    """The distribution of a walker whose next vertex is drawn by a softmax of the edges' weights and the vertices' pull."""

    share: ws.float64
    pull: ws.in_degree
    heat: ws.parameter(ws.float64, default=0.5)
    weight: ws.edge(ws.float64, default=1.0)
    combine = sum
    contributors = "all"
    residual = ws.l1_norm("share")
    max_iter = 5

    def init(vertex, p):
        return 1.0 / p.number_of_vertices

    def scatter(own, edges, p):
        most = -math.inf
        for edge in edges:
            most = max(most, edge.weight - 0.25 * edge.dst.pull)
        total = 0.0
        for edge in edges:
            total += math.exp((edge.weight - 0.25 * edge.dst.pull - most) / p.heat)
        for edge in edges:
            edge.send(
                own.share * math.exp((edge.weight - 0.25 * edge.dst.pull - most) / p.heat) / total
            )

    def apply(old, gathered):
        return 0.1 * old.share + 0.9 * gathered


@entry(message=int, into=SCATTER)
class TwoBest:
    """Each vertex tells the two neighbours of least state, of which ties go to the first edge."""

    x: ws.int64
    heard: ws.int64
    combine = min
    max_iter = 4

    def init(vertex):
        return vertex * 5 % 7, -1

    def scatter(own, edges):
        first = 0
        second = -1
        for i in range(1, len(edges)):
            if edges[i].dst.x < edges[first].dst.x:
                second = first
                first = i
            elif second < 0 or edges[i].dst.x < edges[second].dst.x:
                second = i
        edges[first].send(own.x)
        if second >= 0:
            edges[second].send(own.x + 1)

    def apply(old, gathered):
        return (old.x + gathered) % 11, gathered


@entry(message=(int, bool), into=SCATTER)
class Tokens:
    """Every second superstep a vertex passes a token to an edge that it draws; folds by part, and drawn numbers."""

    tokens: ws.int64
    lucky: ws.boolean
    combine = (sum, any)
    max_iter = 5

    @ws.aggregate(max)
    def most(state):
        return state.tokens

    def init(vertex):
        return vertex % 4, False

    def scatter(own, edges, p):
        chosen = p.random_integer(len(edges))
        if own.tokens > 0 and p.superstep % 2 == 0:
            edges[chosen].send((1, own.tokens == p.most))
        else:
            edges[chosen].send((0, False))

    def apply(old, gathered):
        return old.tokens // 2 + gathered[0], gathered[1]


@entry(message=int, into=SCATTER)
class Fives:
    """`active` would go on without changes, but silence keeps a state, so only a vertex that has changed is active."""

    x: ws.int64
    combine = max
    max_iter = 6

    def init(vertex):
        return 3

    def scatter(own, edges):
        edges[len(edges) - 1].send(1 + len(edges))

    def apply(old, gathered, p):
        return max(old.x, gathered, p.superstep) % 5

    def active(new):
        return new.x < 5


@entry(message=int, into=SCATTER)
class Lightest:
    """The least number that comes along lightest out-edges, all of them if several are."""

    x: ws.int64
    whole: ws.edge(ws.int64, default=0)
    combine = min

    def init(vertex):
        return vertex * 5 % 7

    def scatter(own, edges):
        lightest = edges[0]
        for edge in edges:
            if edge.whole < lightest.whole:
                lightest = edge
        for edge in edges:
            if edge.whole == lightest.whole:
                edge.send(own.x)

    def apply(old, gathered):
        return min(old.x, gathered)


def gain(edge, price):
    return edge.whole * 3 - edge.dst.x + price


@entry(message=int, into=FORMS)
class RunningTotals:
    """Each edge is sent what has been added up before it: values are carried from edge to edge."""

    x: ws.int64
    whole: ws.edge(ws.int64, default=2)
    combine = sum
    max_iter = 3

    def init(vertex):
        return vertex * 5 % 7

    def scatter(own, edges):
        total = 0
        for edge in edges:
            total += edge.whole + edge.dst.x
            edge.send(total % 11)

    def apply(old, gathered):
        return (old.x + gathered) % 13


@entry(message=int, into=FORMS)
class LastOnes:
    """What loops leave behind: the last edge, the last of some, the count of passes until one ends early."""

    x: ws.int64
    whole: ws.edge(ws.int64, default=2)
    combine = sum
    max_iter = 3

    def init(vertex):
        return vertex * 5 % 7

    def scatter(own, edges):
        seen = last = 0
        for edge in edges:
            if edge.whole % 3 == 1:
                last = edge.dst.x
        for i in range(len(edges)):
            if edges[i].dst.x > 5:
                break
            seen += 1
        for other in edges:
            share = other.dst.x % 4
            other.send(share)
        edge.send(last + 3 * seen + share)

    def apply(old, gathered):
        return (old.x + gathered) % 13


@entry(message=int, into=FORMS)
class Ranks:
    """Each edge is sent its rank among the edges, by a loop in a loop; one is passed over."""

    x: ws.int64
    whole: ws.edge(ws.int64, default=2)
    combine = max
    max_iter = 3

    def init(vertex):
        return vertex * 5 % 7

    def scatter(own, edges):
        for edge in edges:
            if edge.dst.x == 3:
                continue
            before = 0
            for other in edges:
                if other.whole < edge.whole:
                    before += 1
            edge.send(before % 9 + own.x)

    def apply(old, gathered):
        return min(old.x + 1, gathered % 8)


@entry(message=int, into=FORMS)
class Folds:
    """Several folds in a loop, after values of each edge; one of them only of some edges."""

    x: ws.int64
    even: ws.boolean
    whole: ws.edge(ws.int64, default=2)
    combine = min
    max_iter = 3

    def init(vertex):
        return vertex * 5 % 7, vertex % 2 == 0

    def scatter(own, edges):
        total = worst = some = flags = 0
        for edge in edges:
            worth = edge.whole * 2
            if edge.dst.even:
                worth = edge.dst.x - edge.whole
            total += worth * worth % 5
            worst = max(worst, 3 - worth)
        for edge in edges:
            if edge.whole > 1:
                continue
            some += edge.dst.x
        for edge in edges:
            flags += edge.dst.even
        for edge in edges:
            edge.send((total + 2 * worst + 3 * some + flags + edge.whole) % 17)

    def apply(old, gathered):
        return (old.x + gathered) % 13, gathered % 2 == 0


@entry(message=int, into=FORMS)
class Replaced:
    """Messages that are replaced: by one along another edge, in a loop, or after all."""

    x: ws.int64
    even: ws.boolean
    whole: ws.edge(ws.int64, default=2)
    combine = sum
    max_iter = 3

    def init(vertex):
        return vertex * 5 % 7, vertex % 2 == 0

    def scatter(own, edges):
        best = 0
        for edge in edges:
            edge.send(1)
        for i in range(1, len(edges)):
            if gain(edges[i], own.x) > gain(edges[best], own.x) or edges[i].dst.even:
                best = i
            edges[len(edges) - 1 - i].send(i % 5)
            edges[0].send(i + edges[i].whole)
        i = 0
        while i < len(edges) and edges[i].dst.x < 6:
            i += 2
        if i < len(edges):
            edges[i].send(7)
        edges[best].send(own.x + best)

    def apply(old, gathered):
        return (old.x + gathered) % 13, gathered % 2 == 0


@ws.vertex_program
class Drawn:
    """A number is drawn for each edge, and the first of the edges that draw a 2 ends it."""

    x: ws.int64
    combine = sum
    max_iter = 3

    def init(vertex):
        return vertex * 5 % 7

    def scatter(own, edges, p):
        for edge in edges:
            edge.send(p.random_integer(5) + edge.dst.x)
        for edge in edges:
            if p.random_integer(20) == 2:
                edge.send(9)
                return
            edge.send(own.x)

    def apply(old, gathered):
        return (old.x + gathered) % 13
