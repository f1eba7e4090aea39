"""Frames of random shape, kind and content: a right answer, or an error of the library's own.

The library sees frames; the judge sees the Python lists that they were made of, and decides
first whether an answer is owed, an error is owed, or either will do.  Answers are checked by the
verifiers.  Anything else (another exception, a warning, a crash, a hang) fails the test.
"""

from __future__ import annotations

import contextlib
import datetime
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import oracles
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import verify
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from shapes import FRAME_KINDS, column
from verify import Edges

import cugraph_ws as ws

RIGHT, ERROR, EITHER = "right", "error", "either"
EPOCH = datetime.datetime(2024, 2, 29)


@dataclass(frozen=True)
class Content:
    """Values of a column: what they are, as which Arrow type, and what they deserve."""

    values: st.SearchStrategy[Any]
    type: pa.DataType | None
    deserves: str = RIGHT
    categories: bool = False


IDS = {
    "small integers": Content(st.integers(0, 9), pa.int64()),
    "bytes": Content(st.integers(-128, 127), pa.int8()),
    "huge integers": Content(
        st.sampled_from([-(2**63), -(2**63) + 1, -1, 0, 1, 2**53 + 1, 2**63 - 1]), pa.int64()
    ),
    "unsigned": Content(st.sampled_from([0, 1, 2**63 - 1, 2**63, 2**64 - 1]), pa.uint64()),
    "strings": Content(st.text(max_size=2), pa.string()),
    "large strings": Content(st.sampled_from(["", "a", "ä", "\x00", "😀"]), pa.large_string()),
    "categories": Content(st.sampled_from(["z", "a", "ä", ""]), pa.string(), categories=True),
    "timestamps": Content(
        st.integers(0, 5).map(lambda days: EPOCH + datetime.timedelta(days)), pa.timestamp("us")
    ),
    "booleans": Content(st.booleans(), pa.bool_(), EITHER),
    "floats": Content(st.sampled_from([0.0, 1.0, 2.5, -0.0]), pa.float64(), EITHER),
    "floats with NaN": Content(st.sampled_from([1.0, math.nan]), pa.float64(), ERROR),
    "integers with nulls": Content(st.none() | st.integers(0, 9), pa.int64(), ERROR),
    "strings with nulls": Content(st.none() | st.text(max_size=1), pa.string(), ERROR),
    "integers and strings": Content(st.sampled_from([1, "1", 2, "x"]), None, EITHER),
    "lists": Content(st.just([1, 2]), pa.list_(pa.int64()), ERROR),
}
WEIGHTS = {
    "floats": Content(st.integers(0, 80).map(lambda n: n / 8), pa.float64()),
    "single floats": Content(st.integers(0, 80).map(lambda n: n / 8), pa.float32()),
    "integers": Content(st.integers(0, 100), pa.int64()),
    "small integers": Content(st.integers(0, 255), pa.uint8()),
    "booleans": Content(st.booleans(), pa.bool_(), EITHER),
    "negative": Content(st.integers(-5, -1), pa.int64(), EITHER),
    "huge integers": Content(st.sampled_from([0, 1, 2**62, 2**63 - 1]), pa.int64(), EITHER),
    "unsigned": Content(st.sampled_from([0, 2**63 - 1, 2**63]), pa.uint64(), EITHER),
    "huge floats": Content(st.sampled_from([0.0, 5e-324, 1e-310, 1e308]), pa.float64(), EITHER),
    "NaN": Content(st.sampled_from([1.0, math.nan]), pa.float64(), ERROR),
    "infinite": Content(st.sampled_from([0.5, math.inf, -math.inf]), pa.float32(), ERROR),
    "nulls": Content(st.none() | st.integers(0, 9), pa.int64(), ERROR),
    "strings": Content(st.sampled_from(["1", "x"]), pa.string(), ERROR),
}


FLOATS = WEIGHTS["floats"]


@dataclass
class Case:
    """A frame, and the lists that it was made of."""

    what: str
    kind: str
    ids: Content
    frame: Any
    source: list[Any]
    destination: list[Any]
    weight: list[Any] | None
    deserves: str
    directed: bool
    as_graph: bool

    def call(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Call a function of the library with the frame, or with a graph made of it."""
        columns = {"destination": "to", "directed": self.directed}
        if self.weight is not None:
            columns["weight"] = "weight"
        if self.as_graph:
            with ws.Graph(self.frame, source="from", **columns) as graph:
                return function(graph, *arguments, **options)
        return function(self.frame, *arguments, source="from", **columns, **options)

    def edges(self, vertices: list[Any]) -> Edges:
        """Return the edges between the positions of their ends in `vertices`."""
        number = {vertex: position for position, vertex in enumerate(vertices)}
        assert len(number) == len(vertices) == len({*self.source, *self.destination})
        ends = [[number[vertex] for vertex in side] for side in (self.source, self.destination)]
        weight = None if self.weight is None else np.array(self.weight)
        if weight is not None and weight.dtype.kind == "b":
            weight = weight.astype(np.int64)
        source, destination = np.array(ends, np.int64)
        return Edges(source, destination, len(vertices), weight, self.directed)


def make_frame(columns: dict[str, tuple[list[Any], Content]], kind: str) -> Any:
    """Make a frame of a kind; values without an Arrow type stay Python objects, in pandas."""
    if any(content.type is None for _, content in columns.values()):
        return pd.DataFrame({name: pd.Series(v, dtype=object) for name, (v, _) in columns.items()})
    arrays = {}
    for name, (values, content) in columns.items():
        array = pa.array(values, content.type)
        arrays[name] = array.dictionary_encode() if content.categories else array
    table = pa.table(arrays)
    if kind == "polars":
        return pl.from_arrow(table)
    if kind == "pandas":
        return table.to_pandas()
    return table if kind == "pyarrow" else table.to_pandas(types_mapper=pd.ArrowDtype)


def judge(values: list[Any], content: Content) -> str:
    """What a column deserves: an error only if a bad value is among those drawn."""
    if content.deserves != ERROR:
        return content.deserves
    is_weight = content in WEIGHTS.values()
    return ERROR if any(spoilt(value, is_weight) for value in values) else EITHER


def spoilt(value: Any, is_weight: bool) -> bool:
    """Whether no id, or no weight, can be made of a value."""
    if isinstance(value, float):
        return not math.isfinite(value)
    return value is None or isinstance(value, list) or (is_weight and isinstance(value, str))


@st.composite
def cases(draw: st.DrawFn, weights: Sequence[str] = sorted(WEIGHTS)) -> Case:
    """Draw a frame of edges, some with weights of the named contents."""
    ids = [IDS[draw(st.sampled_from(sorted(IDS)))]] * 2
    if draw(st.integers(0, 9)) == 0:
        ids[1] = IDS[draw(st.sampled_from(sorted(IDS)))]
    length = draw(st.integers(0, 12))
    ends = [draw(st.lists(end.values, min_size=length, max_size=length)) for end in ids]
    columns = {"from": (ends[0], ids[0]), "to": (ends[1], ids[1])}
    weight = None
    if weights and draw(st.integers(0, 3)):
        content = WEIGHTS[draw(st.sampled_from(weights))]
        weight = draw(st.lists(content.values, min_size=length, max_size=length))
        columns["weight"] = (weight, content)
    kind = draw(st.sampled_from(FRAME_KINDS))
    frame = make_frame(columns, kind)
    what = ", ".join([kind, *(str(content.type) for _, content in columns.values())])
    judgements = {judge(values, content) for values, content in columns.values()}
    if ids[0] is not ids[1]:
        judgements.add(EITHER)
    deserves = next(word for word in (ERROR, EITHER, RIGHT) if word in judgements)
    directed, as_graph = draw(st.booleans()), draw(st.booleans())
    return Case(what, kind, ids[0], frame, *ends, weight, deserves, directed, as_graph)


def answer(case: Case, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Return the frame of an answer yet to be verified, or None after an error."""
    result, refusal = None, ""
    try:
        result = case.call(function, *arguments, **options)
    except ws.CugraphWsError as error:
        refusal = str(error)
    assert result is not None or refusal
    assert case.deserves == EITHER or (result is None) == (case.deserves == ERROR), refusal
    return result


def read(case: Case, result: Any, *names: str) -> tuple[Edges, list[Any], list[np.ndarray]]:
    """Return edges between positions, the ids at the positions, and the columns asked for."""
    ids = plain(result, "vertex")
    if not pa.types.is_dictionary(arrow(result, "vertex").type):  # categories have their own order
        assert ids == sorted(ids)
    return case.edges(ids), ids, [column(result, name, -1) for name in names]


def plain(frame: Any, name: str) -> list[Any]:
    """Return a column as Python objects, None for null."""
    return arrow(frame, name).to_pylist()


def arrow(frame: Any, name: str) -> pa.Array | pa.ChunkedArray:
    """Return a column as Arrow has it."""
    if isinstance(frame, pd.DataFrame):
        return pa.Array.from_pandas(frame[name])
    return (frame.to_arrow() if isinstance(frame, pl.DataFrame) else frame)[name]


def numbers(ids: list[Any], values: list[Any]) -> np.ndarray:
    """Return positions of ids among `ids`, -1 for null."""
    position = {vertex: number for number, vertex in enumerate(ids)} | {None: -1}
    return np.array([position[value] for value in values], np.int64)


def a_vertex(case: Case, pick: int) -> Any:
    """Return one of the ids in the frame, or an id of no vertex if there are none."""
    known = case.source + case.destination
    if not known:
        case.deserves = ERROR if case.deserves == RIGHT else case.deserves
        return 0
    return known[pick % len(known)]


picks = st.integers(0, 1000)


@given(cases(()), picks, st.none() | st.integers(0, 4))
def test_bfs(case, pick, limit):
    start = a_vertex(case, pick)
    result = answer(case, ws.bfs, start, depth_limit=limit)
    if result is not None:
        edges, ids, (distance,) = read(case, result, "distance")
        predecessor = numbers(ids, plain(result, "predecessor"))
        verify.check_shortest_paths(edges, ids.index(start), distance, predecessor, limit=limit)


@given(cases(), picks)
def test_sssp(case, pick):
    source = a_vertex(case, pick)
    if any(isinstance(weight, int) and weight < 0 for weight in case.weight or ()):
        case.deserves = ERROR
    result = answer(case, ws.sssp, source)
    if result is None:
        return
    edges, ids, _ = read(case, result)
    predecessor = numbers(ids, plain(result, "predecessor"))
    missing = [value is None or math.isnan(value) for value in plain(result, "distance")]
    if edges.weight is None or edges.weight.dtype.kind in "iu":
        both = zip(missing, plain(result, "distance"), strict=True)
        found = [None if gone else int(value) for gone, value in both]
        assert found == oracles.exact_dijkstra(edges, ids.index(source))
    else:
        distance = column(result, "distance", math.inf)
        exact = Edges(edges.source, edges.destination, edges.n,
                      edges.weight.astype(distance.dtype), edges.directed)  # fmt: skip
        verify.check_shortest_paths(exact, ids.index(source), distance, predecessor)


@given(cases(), picks)
def test_widest_path(case, pick):
    source = a_vertex(case, pick)
    result = answer(case, ws.widest_path, source)
    if result is not None:
        edges, ids, _ = read(case, result)
        predecessor = numbers(ids, plain(result, "predecessor"))
        width = [math.nan if value is None else value for value in plain(result, "width")]
        verify.check_widest_paths(edges, ids.index(source), np.array(width, float), predecessor)


@given(cases(), st.sampled_from([0.0, 0.5, 0.85]))
def test_pagerank(case, alpha):
    if any(isinstance(weight, int) and weight < 0 for weight in case.weight or ()):
        case.deserves = ERROR
    result = answer(case, ws.pagerank, alpha=alpha)
    if result is not None:
        edges, _, (rank,) = read(case, result, "pagerank")
        verify.check_pagerank(edges, rank, 1e-5, alpha=alpha)


@given(cases(()))
def test_weakly_connected_components(case):
    result = answer(case, ws.weakly_connected_components)
    if result is not None:
        edges, ids, _ = read(case, result)
        verify.check_components(edges, numbers(ids, plain(result, "labels")))


@given(cases(()), st.sampled_from(["both", "in", "out"]))
def test_core_number(case, degree_type):
    result = answer(case, ws.core_number, degree_type=degree_type)
    if result is not None:
        edges, _, (core,) = read(case, result, "core_number")
        verify.check_core_numbers(edges, core, degree_type)


@given(cases(()), st.integers(0, 4))
def test_k_core(case, k):
    result = answer(case, ws.k_core, k)
    if result is not None:
        ids = sorted({*case.source, *case.destination})
        edges = case.edges(ids)
        core = oracles.core_numbers(edges)
        kept = (core[edges.source] >= k) & (core[edges.destination] >= k)
        found = zip(plain(result, "from"), plain(result, "to"), strict=True)
        expected = zip(
            [ids[v] for v in edges.source[kept]], [ids[v] for v in edges.destination[kept]],
            strict=True,
        )  # fmt: skip
        if not case.directed:  # an undirected edge may come back the other way round
            found, expected = ([sorted(ends) for ends in edges] for edges in (found, expected))
        assert sorted(found, key=str) == sorted(expected, key=str)


STEADY = ("floats", "integers", "single floats", "negative", "huge floats", "nulls")


@given(cases(STEADY), st.sampled_from([0.0, 1.5]))
def test_heat(case, temperature):
    if case.deserves == RIGHT:
        case.deserves = EITHER  # refused where unstable, unsettled where it swings
    result = answer(case, ws.heat, temperature)
    if result is not None:
        edges, _, (found,) = read(case, result, "temperature")
        verify.check_heat(edges, found, {}, 1e-3)


@given(cases(STEADY), picks)
def test_circuit(case, pick):
    if case.deserves == RIGHT:
        case.deserves = EITHER
    source = a_vertex(case, pick)
    result = answer(case, ws.circuit, {source: 2.0} if hashable(case) else 2.0)
    if result is not None:
        edges, ids, (found,) = read(case, result, "voltage")
        verify.check_circuit(edges, found, {ids.index(source): 2.0}, 1e-3)


@given(cases(STEADY), st.sampled_from([0.0, 0.5]))
def test_neural_network(case, activation):
    if case.deserves == RIGHT:
        case.deserves = EITHER
    result = answer(case, ws.neural_network, activation)
    if result is not None:
        edges, _, (found,) = read(case, result, "activation")
        verify.check_neural_network(edges, found, {}, 1e-3)


@given(cases(()), st.sets(picks))
def test_maximal_bipartite_matching(case, chosen):
    left = {a_vertex(case, pick) for pick in chosen} if case.source and hashable(case) else set()
    crossing = all(
        (u in left) != (v in left) for u, v in zip(case.source, case.destination, strict=True)
    ) if hashable(case) else False  # fmt: skip
    if not crossing and case.deserves == RIGHT:
        case.deserves = ERROR
    result = answer(case, ws.maximal_bipartite_matching, list(left))
    if result is not None:
        edges, ids, _ = read(case, result)
        side = np.array([vertex in left for vertex in ids], bool)
        verify.check_matching(edges, side, numbers(ids, plain(result, "mate")))


@given(cases(()), picks)
def test_belief_propagation(case, pick):
    assume(case.source)
    chosen = case.source[pick % len(case.source)]
    biased = {"vertex": ([chosen], case.ids), "heads": ([1.0], FLOATS), "tails": ([3.0], FLOATS)}
    coupling = np.array([[2.0, 1.0], [1.0, 2.0]])
    if case.deserves == RIGHT:
        case.deserves = EITHER  # messages may go on changing
    result = answer(case, ws.belief_propagation, make_frame(biased, case.kind), coupling)
    if result is not None:
        edges, ids, beliefs = read(case, result, "belief_0", "belief_1")
        assert np.sum(beliefs, axis=0) == pytest.approx(np.ones(edges.n))
        forest = len(edges.source) == edges.n - len(set(oracles.components(edges)))
        if forest and edges.n <= 10:
            priors = np.ones((edges.n, 2))
            priors[ids.index(chosen)] = 1.0, 3.0
            expected = oracles.marginals(edges, priors, coupling)
            np.testing.assert_allclose(np.transpose(beliefs), expected, rtol=1e-4)


def hashable(case: Case) -> bool:
    return not any(isinstance(vertex, list) for vertex in case.source + case.destination)


FUNCTIONS = [
    (ws.bfs, (0,)),
    (ws.sssp, (0,)),
    (ws.widest_path, (0,)),
    (ws.pagerank, ()),
    (ws.weakly_connected_components, ()),
    (ws.core_number, ()),
    (ws.k_core, (2,)),
    (ws.heat, (1.0,)),
    (ws.circuit, ({0: 1.0},)),
    (ws.neural_network, (0.5,)),
    (ws.belief_propagation, ({0: [0.5, 0.5]}, [[1.0, 2.0], [2.0, 1.0]])),
    (ws.maximal_bipartite_matching, ([0],)),
]
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3),
    st.binary(max_size=3), st.builds(object),
)  # fmt: skip
anything = st.one_of(
    scalars, st.lists(st.integers(0, 3), max_size=3), st.just(np.arange(3)), st.just(np.eye(2)),
    st.dictionaries(st.integers(0, 3), st.floats()),
    st.just(pd.DataFrame({"vertex": [0, 0], "values": [1.0, np.nan]})),
    st.just(pl.DataFrame({"vertex": ["a"], "values": [[1]]})),
)  # fmt: skip


@pytest.mark.parametrize("function", [f for f, _ in FUNCTIONS], ids=lambda f: f.__name__)
@given(data=st.data())
def test_senseless_frames_are_refused(function, data):
    arguments = dict(FUNCTIONS)[function]
    with pytest.raises(ws.CugraphWsError):
        function(data.draw(anything), *arguments)


@pytest.mark.parametrize("function", [f for f, _ in FUNCTIONS], ids=lambda f: f.__name__)
@settings(max_examples=60)
@given(data=st.data())
def test_senseless_arguments_never_crash(function, data):
    edges = pd.DataFrame({"source": [0, 1, 0], "destination": [1, 2, 2], "w": [0.5, 0.25, 0.125]})
    arguments = [data.draw(anything) for _ in dict(FUNCTIONS)[function]]
    known = {
        ws.bfs: ("depth_limit", "unreachable"),
        ws.sssp: ("cutoff", "unreachable"),
        ws.pagerank: ("alpha", "personalization", "nstart", "dangling", "tol", "max_iter",
                      "precomputed_vertex_out_weight"),
        ws.core_number: ("degree_type",),
        ws.heat: ("fixed", "tol"),
        ws.circuit: ("tol",),
        ws.neural_network: ("fixed", "tol"),
        ws.belief_propagation: ("damping", "tol"),
    }  # fmt: skip
    names = (*known.get(function, ()), "engine", "every", "directed")
    options = data.draw(st.dictionaries(st.sampled_from(names), scalars, max_size=2))
    if "weight" in inspect.signature(function).parameters:
        options["weight"] = "w"
    with contextlib.suppress(ws.CugraphWsError):
        assert isinstance(function(edges, *arguments, **options), pd.DataFrame)
