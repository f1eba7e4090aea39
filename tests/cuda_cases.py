"""What the CUDA engine's tests run, in the emulator and on a GPU: programs, graphs, comparisons."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from plans import planned
from programs import Hops, Labels, Nearest, Paths, Peel, Rank, Reached, Widest
from shapes import build, vertex_frame
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.backends.cuda import predecessors, schedule

__all__ = [
    "CASES",
    "EXACT",
    "FUNCTIONS",
    "METHODS",
    "PUSHES",
    "SUMS",
    "WORKLISTS",
    "Case",
    "Cooling",
    "Counted",
    "Descent",
    "Friction",
    "Growth",
    "Haggle",
    "Levelled",
    "Pairs",
    "Shout",
    "Steps",
    "Votes",
    "check_same",
    "graph_of",
    "medley",
    "outcome",
    "set_classes",
    "stable",
]

METHODS = ("ws", *(f"vwc-{lanes}" for lanes in (2, 4, 8, 16, 32)))
EXACT = 0.0
SUMS = 1e-12  # relative: what another order of the additions may change


@ws.vertex_program
class Pairs:
    """Tuple messages of three types, combined by a function, and a state of three."""

    least: ws.int32
    most: ws.float32
    odd: ws.boolean
    weight: ws.edge(ws.float64, default=1.0)
    max_iter = 4

    def init(vertex):
        return 100 + vertex, 0.5, vertex % 2 == 1

    def compute(src, edge):
        return src.least + 1, src.most + edge.weight, src.odd

    def combine(first, second):
        return min(first[0], second[0]), max(first[1], second[1]), first[2] != second[2]

    identity = (1 << 40, 0.0, False)

    def apply(old, gathered):
        return min(old.least, gathered[0]), gathered[1], gathered[2]


@ws.vertex_program
class Steps:
    """Reads the number of the superstep, a parameter and two aggregates wherever it may."""

    value: ws.float64
    base: ws.parameter(ws.float64, default=2.0)
    degree: ws.in_degree
    residual = ws.l1_norm("value")
    max_iter = 6

    @ws.aggregate
    def mass(state):
        return state.value

    @ws.aggregate
    def empty(state, p):
        return p.base if state.degree == 0 else 0.0

    def init(vertex, p, own):
        return p.base + own.degree + vertex / p.number_of_vertices

    def compute(src, edge, p):
        return src.value / (1.0 + p.superstep)

    combine = sum

    def apply(old, gathered, p):
        return (gathered + p.superstep + p.mass / 64.0 + p.empty) / 32.0


@ws.vertex_program
class Shout:
    """Which vertices are reached: `any`, with a message of two fields, which is kept in an outbox."""

    heard: ws.boolean
    loudness: ws.int64
    start: ws.vertex_set
    contributors = "active"

    def init(vertex, p, own):
        return own.start, 4 if own.start else 0

    def starts(state):
        return state.heard

    def compute(src):
        return src.heard and src.loudness > 0

    combine = any

    def apply(old, gathered):
        return old.heard or gathered, 7 if gathered else old.loudness

    def active(old, new):
        return new.heard and not old.heard


@ws.vertex_program
class Votes:
    """A vertex is on if an odd number of its in-neighbours is: never at rest."""

    on: ws.boolean
    max_iter = 6

    def init(vertex):
        return vertex % 3 == 0

    def compute(src):
        return 1 if src.on else 0

    combine = sum

    def apply(old, gathered):
        return gathered % 2 == 1


@ws.vertex_program
class Growth:
    """Beyond the finite numbers sooner or later."""

    amount: ws.float64
    residual = ws.max_norm("amount")
    tol = 1e-6

    def init(vertex):
        return 1.0

    def compute(src):
        return src.amount * 1e100

    combine = sum

    def apply(old, gathered):
        return gathered


@ws.vertex_program
class Cooling:
    """A search with a residual, which counts only where all in-neighbours are gathered from."""

    distance: ws.float64
    weight: ws.edge(ws.float64, default=1.0)
    start: ws.vertex_parameter
    residual = ws.max_norm("distance")

    def init(vertex, p):
        return 0.0 if vertex == p.start else math.inf

    def compute(src, edge):
        return src.distance + edge.weight

    combine = min

    def apply(old, gathered):
        return min(old.distance, gathered)


@ws.vertex_program
class Rise:
    """A maximum that starts low at one vertex: vertices with equal states are active, or make it active."""

    value: ws.int64
    start: ws.vertex_parameter
    step: ws.parameter(ws.int64)

    def init(vertex, p):
        return -5 if vertex == p.start else 0

    def compute(src, edge, p):
        return min(src.value + p.step, 6)

    combine = max

    def apply(old, gathered):
        return max(old.value, gathered)


@ws.vertex_program
class Toll:
    """A minimum to which each vertex adds its own: its constant decides what it sends."""

    paid: ws.int64
    degree: ws.out_degree
    start: ws.vertex_parameter

    def init(vertex, p):
        return 0 if vertex == p.start else 1 << 40

    def compute(src):
        return src.paid + src.degree

    combine = min

    def apply(old, gathered):
        return min(old.paid, gathered)


@ws.vertex_program
class Rumour:
    """Never converges: its own combine, vertices with new messages, an aggregate and the superstep."""

    heard: ws.boolean
    count: ws.int64
    height: ws.float64
    weight: ws.edge(ws.float64, default=1.0)
    start: ws.vertex_set
    contributors = "active"
    max_iter = 5

    @ws.aggregate
    def told(state):
        return 1.0 if state.heard else 0.0

    def init(vertex, p, own):
        return own.start, 0, 0.0

    def starts(state):
        return state.heard

    def compute(src, edge):
        return 1, src.height + edge.weight

    def combine(first, second):
        return first[0] + second[0], max(first[1], second[1])

    identity = (0, -math.inf)

    def apply(old, gathered, p):
        return True, old.count + gathered[0] + (1 if p.told > 4.0 else 0) + p.superstep, gathered[1]

    def active(old, new):
        return new.count % 4 != 3


@ws.vertex_program
class Routes:
    """Shortest paths of the fewest edges, with predecessors: two fields."""

    distance: ws.nullable(ws.float64, math.inf)
    hops: ws.int64
    before: ws.predecessor
    weight: ws.edge(ws.float64, default=1.0)
    start: ws.vertex_parameter

    def init(vertex, p):
        return (0.0, 0) if vertex == p.start else (math.inf, 1 << 40)

    def compute(src, edge):
        return src.distance + edge.weight, src.hops + 1

    combine = min
    asynchronous = True

    def apply(old, gathered):
        return gathered if gathered < (old.distance, old.hops) else (old.distance, old.hops)


@ws.vertex_program
class Counted:
    """Labels, and how many vertices have the least one."""

    label: ws.int64

    @ws.aggregate
    def least(state):
        return 1.0 if state.label == 0 else 0.0

    def init(vertex):
        return vertex

    def compute(src):
        return src.label

    combine = min

    def apply(old, gathered):
        return min(old.label, gathered)


@ws.vertex_program
class Levelled:
    """Messages of two fields that read the destination's state, its degree, and the edge."""

    level: ws.float64
    ahead: ws.int32
    degree: ws.in_degree
    weight: ws.edge(ws.float64, default=1.0)
    max_iter = 5

    def init(vertex):
        return float(vertex % 7), vertex % 3

    def compute(src, dst, edge):
        share = (src.level - dst.level) * edge.weight / (1.0 + dst.degree)
        return share, 1 if src.ahead > dst.ahead else 0

    combine = sum

    def apply(old, gathered):
        return old.level + gathered[0] / 4.0, old.ahead + min(gathered[1], 2)


@ws.vertex_program
class Haggle:
    """Sums of what active vertices offer above the destination's price, up to its limit."""

    price: ws.int64
    limit: ws.vertex_value(ws.int64, default=3)
    start: ws.vertex_set
    contributors = "active"
    max_iter = 6

    def init(vertex, own):
        return 40 + vertex % 3 if own.start else vertex % 5

    def starts(state):
        return state.start

    def compute(dst, src):
        return min(src.price - dst.price, dst.limit) if src.price > dst.price else 0

    combine = sum

    def apply(old, gathered):
        return old.price + gathered % 11

    def active(old, new):
        return new.price != old.price


@ws.vertex_program
class Descent:
    """A flag that only lower vertices take: `any`, of which messages differ by destination."""

    on: ws.boolean
    height: ws.int64
    start: ws.vertex_set
    contributors = "active"

    def init(vertex, own):
        return own.start, 50 if own.start else vertex * 7 % 23

    def starts(state):
        return state.on

    def compute(src, dst):
        return src.on and dst.height < src.height

    combine = any

    def apply(old, gathered):
        return old.on or gathered, old.height

    def active(old, new):
        return new.on and not old.on


@ws.vertex_program
class Friction:
    """State of three types on edges, from both ends, the edge's weight and the superstep."""

    level: ws.float64
    kept: ws.int64
    degree: ws.in_degree
    weight: ws.edge(ws.float64, default=1.0)
    flow = ws.edge_state(ws.float32)
    turns = ws.edge_state(ws.int32)
    stuck = ws.edge_state(ws.boolean, default=True)
    max_iter = 5

    def init(vertex):
        return float(vertex % 7), vertex % 3

    def init_edge(src, dst, edge):
        return edge.weight, src.kept - dst.kept, src.degree > dst.degree

    def compute(src, edge):
        return 0.0 if edge.stuck else edge.flow * src.level

    combine = sum

    def apply(old, gathered):
        return old.level / 2.0 + gathered / 64.0, old.kept

    def update_edge(src, dst, edge, p):
        slope = src.level - dst.level
        return (
            edge.flow / 2.0 + slope / 8.0,
            edge.turns + (p.superstep if edge.stuck else 1),
            (edge.turns + p.superstep) % 3 == 0,
        )


@dataclass(frozen=True)
class Case:
    """A program, its arguments, options of the run, and how closely results must agree."""

    name: str
    program: Any
    given: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    tolerance: float = EXACT
    # Whether the number of supersteps is the same on every engine: on the CPU, searches go on with what
    # a superstep has just found.
    counted: bool = False

    def run(self, graph: ws.Graph, **options: Any) -> ws.Result:
        """Run it on a graph."""
        return ws.run(self.program, graph, **planned(**self.given, **{**self.options, **options}))


PULLED = {"direction": "pull"}
CASES = [
    Case("minimum in place", Hops, {"start": 0}),
    Case("minimum not in place", Hops, {"start": 0}, {"in_place": False}),
    Case("minimum gathered", Hops, {"start": 0}, {"direction": "gather"}),
    Case("minimum pulled", Hops, {"start": 0}, PULLED),
    Case("tuple messages", Nearest, {"seeds": [1, 9]}),
    Case("tuple messages pulled", Nearest, {"seeds": [1, 9]}, PULLED),
    Case("labels", Labels),
    Case("labels pulled", Labels, {}, PULLED),
    Case("news for all", Rise, {"start": 3, "step": 1}, PULLED),
    Case("changes for one", Rise, {"start": 0, "step": 0}, PULLED),
    Case("constants sent", Toll, {"start": 0}, PULLED),
    Case("sums of a frontier", Peel, {"k": 3}, PULLED, counted=True),
    Case("any", Reached, {"start": 0}),
    Case("any from an outbox", Shout, {"start": [0, 5]}, PULLED, counted=True),
    Case("maximum with predecessors", Widest, {"start": 0}),
    Case("custom combine from an outbox", Paths, tolerance=SUMS, counted=True),
    Case("custom combine of tuples", Pairs, counted=True),
    Case("sums of flags", Votes, counted=True),
    Case("sums with aggregates", Rank, {}, {"max_iter": 5}, SUMS, counted=True),
    Case("superstep, parameter, aggregates", Steps, tolerance=SUMS, counted=True),
    Case("a residual that a search ignores", Cooling, {"start": 0}, {"tol": 100.0}),
    Case("hops", ws.BFS, {"start": [0, 3]}),
    Case("shortest paths", ws.SSSP, {"source": 0}),
    Case("widest paths", ws.WidestPath, {"source": [0]}),
    Case("destinations read", Levelled, tolerance=SUMS, counted=True),
    Case("state on edges", Friction, tolerance=1e-6, counted=True),
    Case("destinations read by pulls", Haggle, {"start": [0, 5]}, PULLED, counted=True),
]

PUSHED = {"direction": "push"}
PUSHES = [
    Case("hops pushed", Hops, {"start": 0}, PUSHED),
    Case("labels pushed, all at first", Labels, {}, PUSHED),
    Case("news for all pushed", Rise, {"start": 3, "step": 1}, PUSHED),
    Case("a constant pushed", Toll, {"start": 0}, PUSHED),
    Case("maximum pushed, with predecessors", Widest, {"start": 0}, PUSHED),
    Case("the library's hops pushed", ws.BFS, {"start": [0, 3]}, PUSHED),
    Case("shortest paths pushed", ws.SSSP, {"source": 0}, PUSHED),
    Case("widest paths pushed", ws.WidestPath, {"source": [0]}, PUSHED),
]

# Programs that neither gather from all nor can be swapped.
WORKLISTS = [
    Case("pairs", Nearest, {"seeds": [1, 9]}, counted=True),
    Case("routes, with predecessors", Routes, {"start": 0}, counted=True),
    Case("labels, counted", Counted),
    Case("sums of those who go", Peel, {"k": 3}, counted=True),
    Case("any, of a flag", Reached, {"start": 0}),
    Case("any, of two fields", Shout, {"start": [0, 5]}, counted=True),
    Case("custom combine, never at rest", Rumour, {"start": [0, 3]}, counted=True),
    Case("sums of floats", ws.DeltaPageRank, {"tolerance": 1e-3}, {}, SUMS, counted=True),
    Case("destinations read by those called", Haggle, {"start": [0, 5]}, counted=True),
    Case("any, of destinations", Descent, {"start": [0, 5]}, counted=True),
]


def stable(edges: Edges, share: float = 0.9) -> Edges:
    """Scale the weights so that those into the busiest vertex sum to `share`."""
    inward = np.bincount(edges.arcs()[1], np.abs(edges.arcs()[2]), edges.n)
    largest = inward.max(initial=0.0)
    return replace(edges, weight=edges.weight * (share / largest if largest else 1.0))


def _pagerank(graph: ws.Graph, edges: Edges, **options: Any) -> Any:
    return ws.pagerank(graph, **planned(extrapolate="never", tol=1e-6, **options))


def _pagerank_with_everything(graph: ws.Graph, edges: Edges, **options: Any) -> Any:
    number = np.arange(edges.n)
    return ws.pagerank(
        graph,
        **planned(
            alpha=0.7,
            personalization=vertex_frame(edges, values=(number % 3 + 1) / 1.0),
            dangling={0: 1.0, 1: 3.0},
            nstart=vertex_frame(edges, values=number + 1.0),
            precomputed_vertex_out_weight=vertex_frame(edges, values=20.0 + number),
            tol=1e-8,
            **options,
        ),
    )


def _heat(graph: ws.Graph, edges: Edges, **options: Any) -> Any:
    first = vertex_frame(edges, temperature=np.arange(edges.n) * 37 % 101 / 10.0)
    return ws.heat(graph, first, **planned(fixed=[0, 3], tol=0.1, **options))


def _circuit(graph: ws.Graph, edges: Edges, **options: Any) -> Any:
    return ws.circuit(graph, {0: 1.0, 4: 12.0}, **planned(tol=0.2, **options))


def _neural_network(graph: ws.Graph, edges: Edges, **options: Any) -> Any:
    first = vertex_frame(edges, activation=np.cos(np.arange(edges.n)))
    return ws.neural_network(graph, first, **planned(fixed=[0], tol=1e-4, **options))


# Name: function of a graph with stable weights, and how closely results must agree.  What PageRank's
# edges read has 24 bits on the device, but for the finest tolerances.
FUNCTIONS: dict[str, tuple[Callable[..., Any], float]] = {
    "pagerank": (_pagerank, 1e-6),
    "pagerank with everything": (_pagerank_with_everything, 1e-10),
    "heat": (_heat, 1e-10),
    "circuit": (_circuit, 1e-10),
    "neural network": (_neural_network, 1e-10),
    "bfs": (lambda graph, edges, **options: ws.bfs(graph, [0, 3], **planned(**options)), EXACT),
    "sssp": (lambda graph, edges, **options: ws.sssp(graph, 0, **planned(**options)), EXACT),
    "widest path": (
        lambda graph, edges, **options: ws.widest_path(graph, 0, **planned(**options)),
        EXACT,
    ),
}


def medley(degrees: tuple[int, ...] = (40, 26, 12, 7, 6, 5, 5, 4, 3, 2, 1), n: int = 36,
           seed: int = 5) -> Edges:  # fmt: skip
    """Rows of every class of degrees, empty ones, parallel edges that tie, loops, zero weights."""
    generator = np.random.default_rng(seed)
    rows = generator.permutation(n)[: len(degrees)]
    destination = np.repeat(rows, degrees)
    source = generator.integers(0, n, len(destination))
    source[generator.integers(0, len(source), 4)] = destination[0]
    chain = np.arange(6)
    return Edges(
        np.concatenate([source, chain, chain, [7, 7]]),
        np.concatenate([destination, chain + 1, chain + 1, [7, 8]]),
        n,
        np.concatenate([generator.integers(0, 5, len(source)) / 2, chain / 4, chain / 4, [0, 0]]),
    )


def graph_of(edges: Edges, **options: Any) -> ws.Graph:
    """Build a graph with all vertices."""
    return build(edges, **options)


def set_classes(monkeypatch: Any, *, block: int, hub: int, chunk: int, middle: int) -> None:
    """Let small graphs have several blocks, and vertices of every class."""
    monkeypatch.setattr(schedule, "BLOCK", block)
    monkeypatch.setattr(schedule, "HUB", hub)
    monkeypatch.setattr(schedule, "CHUNK", chunk)
    monkeypatch.setattr(schedule, "MIDDLE_OF_FEW", middle)
    halves = [(max(1, middle >> order), 32 >> order) for order in range(5)]
    monkeypatch.setattr(predecessors, "WIDEST", hub)
    monkeypatch.setattr(predecessors, "CLASSES", (*halves, (1, 1)))


def _plain(column: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return a column's values and which of them are valid, on the host."""
    values = getattr(column, "values", getattr(column, "numbers", column))
    valid = getattr(column, "valid", None)
    values = np.asarray(values.get() if hasattr(values, "get") else values)
    if valid is None:
        return values, np.ones(len(values), np.bool_)
    return values, np.asarray(valid.get() if hasattr(valid, "get") else valid)


def check_same(found: ws.Result, expected: ws.Result, case: Case) -> None:
    """Compare two runs: every column, how they ended, and after how many supersteps."""
    assert list(found.arrays) == list(expected.arrays)
    for name, column in expected.arrays.items():
        (mine, valid), (other, kept) = _plain(found.arrays[name]), _plain(column)
        assert np.array_equal(valid, kept), name
        assert mine.dtype == other.dtype, name
        if case.tolerance == EXACT or mine.dtype.kind != "f":
            assert np.array_equal(mine[valid], other[kept], equal_nan=mine.dtype.kind == "f"), name
        else:
            np.testing.assert_allclose(mine[valid], other[kept], case.tolerance, err_msg=name)
    assert list(found.edge_arrays) == list(expected.edge_arrays)
    for name, column in expected.edge_arrays.items():
        mine, other = _plain(found.edge_arrays[name])[0], _plain(column)[0]
        assert mine.dtype == other.dtype, name
        np.testing.assert_allclose(mine, other, case.tolerance, err_msg=name)
    assert (found.stopped, found.converged) == (expected.stopped, expected.converged)
    if case.counted:
        assert found.iterations == expected.iterations
        # A difference of sums, each right to some 1e-16 of itself.
        np.testing.assert_allclose(found.residual, expected.residual, 1e-8, 1e-12)


def outcome(ask: Callable[[], tuple[Any, Any]]) -> Any:
    """Return values with their type and which are given, or what is wrong."""
    try:
        values, marks = ask()
    except ws.InputError as error:
        return str(error)
    return values.tolist(), values.dtype, marks.tolist()
