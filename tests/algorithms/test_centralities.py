"""Degrees and centralities: on every engine and any number of ranks the values of dense algebra and igraph."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import oracles
import pandas as pd
import pytest
from emulator.device import emulated
from shapes import SHAPES, build, column, grid, undirected
from thread_ranks import on_ranks, share
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.algorithms import betweenness
from cugraph_ws.backends.cpu.loops import batched_searches as words
from cugraph_ws.backends.cpu.loops import betweenness as queues
from cugraph_ws.backends.cuda.loops import betweenness as levels
from cugraph_ws.backends.cuda.loops import folds
from cugraph_ws.backends.cuda.loops import hits as queued

WAYS = [("cpu", 1), ("cuda", 1), ("cpu", 3), ("cuda", 2)]
SMALL = ["star", "cycle", "two components", "self-loops", "duplicates", "33 vertices", "random"]
GRAPHS = {
    **{name: SHAPES[name] for name in SMALL},
    **{f"{name}, undirected": undirected(SHAPES[name]) for name in SMALL},
    "grid, undirected": undirected(grid(5, 6, 0.0, seed=1)),
}
NAMES = sorted(GRAPHS)
ENDS = ["source", "destination"]
SLOW = ("cycle, undirected", "grid, undirected")  # their greatest eigenvalues are close together


def found(edges: Edges, way: tuple[str, int], function: Callable[..., Any], **given: Any) -> Any:
    """Call a function on an engine, on so many ranks; return its frame."""
    engine, ranks = way
    with emulated(), build(edges) as graph:
        if ranks == 1:
            return function(graph, engine=engine, **given)
        parts = on_ranks(ranks, lambda comm: function(share(graph, comm), engine=engine, **given))
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(params=WAYS, ids=lambda way: f"{way[0]} {way[1]}")
def way(request: pytest.FixtureRequest) -> tuple[str, int]:
    return request.param


def _letters(edges: pd.DataFrame) -> pd.DataFrame:
    """Give the vertices ids of text, in the same order."""
    return edges.assign(
        **{name: edges[name].map("v{:03}".format) for name in ("source", "destination")}
    )


# ------------------------------------------------------------------------------------- degrees


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("weighted", [False, True], ids=["edges", "weights"])
def test_degrees(name: str, weighted: bool, way: tuple[str, int]) -> None:
    edges = GRAPHS[name]
    source, destination, weight = edges.arcs()
    weight = weight if weighted else np.ones(len(source), np.int64)
    into = np.bincount(destination, weight, edges.n)
    out = np.bincount(source, weight, edges.n)
    result = found(edges, way, ws.degrees, weighted=weighted)
    assert list(result.columns) == ["vertex", "in_degree", "out_degree"]
    assert result.in_degree.dtype == (np.float64 if weighted else np.int64)
    assert result.in_degree.tolist() == into.tolist()
    assert result.out_degree.tolist() == out.tolist()
    both = into + out if edges.directed else into
    for kind, expected in (("both", both), ("in", into), ("out", out)):
        result = found(edges, way, ws.degree, weighted=weighted, degree_type=kind)
        assert result.degree.tolist() == expected.tolist()


def test_degrees_of_some_vertices(way: tuple[str, int]) -> None:
    edges = SHAPES["random"]
    whole = found(edges, way, ws.degree)
    some = found(edges, way, ws.degree, vertices=[41, 3, 3, 7])
    assert some.vertex.tolist() == [3, 7, 41]
    assert some.degree.tolist() == whole.degree[[3, 7, 41]].tolist()


def test_degrees_in_text_and_their_errors() -> None:
    edges = pd.DataFrame({"source": ["b", "a"], "destination": ["c", "c"]})
    assert ws.degree(edges, ["c"]).to_dict("list") == {"vertex": ["c"], "degree": [2]}
    with pytest.raises(ws.InputError, match="vertices"):
        ws.degree(edges, ["d"])
    with pytest.raises(ws.InputError, match="weights"):
        ws.degree(edges, weighted=True)
    with pytest.raises(ws.InputError, match="degree_type"):
        ws.degree(edges, degree_type="all")


# --------------------------------------------------------------------------------- eigenvectors


@pytest.mark.parametrize("name", [one for one in NAMES if one.endswith("undirected")])
def test_eigenvector_centrality(name: str) -> None:
    edges = GRAPHS[name]
    with build(edges) as graph:
        value = column(ws.eigenvector_centrality(graph, 10_000, tol=1e-9), "eigenvector_centrality")
    matrix = edges.matrix().toarray().T
    greatest = np.linalg.eigvalsh(matrix).max()
    assert np.abs(matrix @ value - greatest * value).max() < 1e-5
    assert abs(np.linalg.norm(value) - 1) < 1e-12
    assert (value >= 0).all()


@pytest.mark.parametrize("name", NAMES)
def test_katz_centrality(name: str) -> None:
    edges = GRAPHS[name]
    matrix = edges.matrix().toarray().T
    alpha = 1 / (1 + matrix.sum(axis=1).max())
    expected = np.linalg.solve(np.eye(edges.n) - alpha * matrix, np.ones(edges.n))
    with build(edges) as graph:
        value = column(ws.katz_centrality(graph, tol=1e-10), "katz_centrality")
        assert np.abs(value - expected / np.linalg.norm(expected)).max() < 1e-7
        given = {"alpha": 0.01, "beta": 2.0, "normalized": False}
        value = column(ws.katz_centrality(graph, **given), "katz_centrality")
    expected = np.linalg.solve(np.eye(edges.n) - 0.01 * matrix, np.full(edges.n, 2.0))
    assert np.abs(value - expected).max() < 1e-5


@pytest.mark.parametrize("function", [ws.eigenvector_centrality, ws.katz_centrality, ws.hits])
@pytest.mark.parametrize("name", ["two components", "star, undirected"])
def test_every_engine_has_the_same_values(name: str, function: Any, way: tuple[str, int]) -> None:
    edges = GRAPHS[name]
    given = {"tol": 0.02, "nstart": {v: 1.0 + v % 3 for v in range(edges.n)}}
    if function is ws.katz_centrality:
        given["alpha"] = 0.01
    expected = found(edges, ("cpu", 1), function, **given)
    result = found(edges, way, function, **given)
    assert list(result.columns) == list(expected.columns)
    assert result.vertex.tolist() == list(range(edges.n))
    rounded = function is ws.katz_centrality and way[0] == "cuda"  # messages, to 24 bits
    near = 1e-7 if rounded else 1e-12
    np.testing.assert_allclose(result.iloc[:, 1:], expected.iloc[:, 1:], rtol=near, atol=1e-15)


def test_an_alpha_that_is_too_great_is_named() -> None:
    with (
        build(SHAPES["cycle"]) as graph,
        pytest.raises(ws.ConvergenceError, match=r"^katz_centrality diverged.*alpha=5.0 is above"),
    ):
        ws.katz_centrality(graph, alpha=5.0)


# Of 16 leaves: its greatest eigenvalue is 4
STAR = Edges(np.zeros(16, np.int64), np.arange(1, 17), 17, None, False)


@pytest.mark.parametrize("max_iter", [40, 1000])
def test_an_alpha_above_the_reciprocal_of_the_eigenvalue_is_named(max_iter: int) -> None:
    edges, eigenvalue = STAR, 4.0
    with build(edges) as graph, pytest.raises(ws.ConvergenceError) as caught:
        ws.katz_centrality(graph, alpha=1.2 / eigenvalue, max_iter=max_iter)
    assert caught.value.result.stopped == "diverged"
    message = str(caught.value)
    assert "is above 1/λ" in message
    assert "λ is about 4;" in message
    usable = float(re.search(r"give an alpha below ([\d.]+),", message)[1])
    assert 0.9 / eigenvalue < usable < 1 / eigenvalue
    with build(edges) as graph:
        ws.katz_centrality(graph, alpha=usable, max_iter=10_000)


def test_an_alpha_below_it_needs_more_supersteps() -> None:
    with build(STAR) as graph, pytest.raises(ws.ConvergenceError, match="raise max_iter"):
        ws.katz_centrality(graph, alpha=0.9 / 4.0, max_iter=20)


def test_a_small_tol_rounds_no_message_of_katz() -> None:
    edges = GRAPHS["two components"]
    given = {"alpha": 0.01, "tol": 9e-8, "nstart": {v: 1.0 + v % 3 for v in range(edges.n)}}
    one, other = (
        found(edges, (engine, 1), ws.katz_centrality, **given) for engine in ("cpu", "cuda")
    )
    np.testing.assert_allclose(other.iloc[:, 1:], one.iloc[:, 1:], rtol=1e-12)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in SLOW])
def test_hits(name: str) -> None:
    edges = GRAPHS[name]
    hubs, authorities = oracles.hubs_and_authorities(edges)
    with build(edges) as graph:
        result = ws.hits(graph, 10_000, tol=1e-9)
        assert np.abs(column(result, "hubs") - hubs).max() < 1e-5
        assert np.abs(column(result, "authorities") - authorities).max() < 1e-5
        greatest = ws.hits(graph, tol=1e-3, normalized=False)
    assert column(greatest, "hubs").max() == 1.0


def test_hits_without_edges_and_from_a_start() -> None:
    empty = found(SHAPES["all isolated"], ("cpu", 1), ws.hits)
    assert column(empty, "hubs").tolist() == [0.0] * 5
    edges = SHAPES["two components"]
    one = found(edges, ("cpu", 1), ws.hits, nstart={0: 1.0, **dict.fromkeys(range(1, 7), 0.0)})
    assert column(one, "authorities")[3:].tolist() == [0.0] * 4


def test_checkpoints_of_hits(tmp_path: Any) -> None:
    path = tmp_path / "state.parquet"
    with build(SHAPES["random"]) as graph:
        with pytest.raises(ws.ConvergenceError):
            ws.hits(graph, max_iter=3, checkpoint=path)
        resumed = ws.hits(graph, resume=path)
        assert np.allclose(resumed.hubs, ws.hits(graph).hubs, atol=1e-12)


@pytest.mark.parametrize("name", ["two components", "two components, undirected"])
def test_queued_supersteps_of_hits(
    name: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many are queued on a GPU, the run ends after the same one, with the same values."""
    path, given = tmp_path / "state.parquet", {"tol": 2e-4, "normalized": False}
    found = []
    with emulated() as device, build(GRAPHS[name]) as graph:
        for number in (1, 4):
            monkeypatch.setattr(queued, "QUEUED", number)
            seen = device.downloads
            result = ws.run(ws.HITS(**given), graph, engine="cuda")
            waits = -(-result.iterations // number)
            assert waits <= device.downloads - seen <= waits + 3, "the result is copied, too"
            trace = result.trace.drop(columns="milliseconds")
            found.append((result.frame.to_numpy().tobytes(), trace.to_csv(), result.stopped))
        assert found[0] == found[1]
        assert 4 < result.iterations != 8
        with pytest.raises(ws.ConvergenceError) as raised:
            ws.hits(graph, 4, engine="cuda", checkpoint=path, **given)
        assert raised.value.result.iterations == 4
        assert len(raised.value.result.trace) == 4
        resumed = ws.hits(graph, engine="cuda", resume=path, **given)
        assert resumed.to_numpy().tobytes() == found[0][0]
        early = ws.run(ws.HITS(tol=1e9), graph, engine="cuda")
        assert early.iterations == 2, "the change of the first superstep counts as infinite"


def test_row_classes_are_kept_by_a_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    with emulated(), build(GRAPHS["random"]) as graph:
        before, first = graph.nbytes, ws.hits(graph, 2, tol=1.0, engine="cuda")
        kept = [graph.derived["row classes", order] for order in ("csc", "csr")]
        assert graph.nbytes >= before + sum(one.nbytes for one in kept) > before
        monkeypatch.setattr(folds, "classes_of", lambda *_: pytest.fail("found again"))
        assert ws.hits(graph, 2, tol=1.0, engine="cuda").equals(first)


@pytest.mark.parametrize("function", [ws.eigenvector_centrality, ws.katz_centrality, ws.hits])
def test_values_that_are_refused(function: Any) -> None:
    edges = pd.DataFrame({"source": ["a"], "destination": ["b"], "weight": [-1.0]})
    with pytest.raises(ws.InputError, match=r"weight|-1"):
        function(edges)
    given = {"a": np.inf, "b": 0.0}
    with pytest.raises(ws.InputError, match="nstart"):
        function(edges, weight=None, nstart=given)
    if function is not ws.katz_centrality:
        with pytest.raises(ws.InputError, match="nstart"):
            function(edges, weight=None, nstart=-1.0)
        with pytest.raises(ws.InputError, match="nstart"):
            function(edges, weight=None, nstart=0.0)
    text = function(_letters(pd.DataFrame({"source": [1, 2], "destination": [2, 1]})))
    assert text.vertex.tolist() == ["v001", "v002"]


# ----------------------------------------------------------------------- distances and betweenness

FEW = ["two components", "self-loops, undirected", "duplicates"]


@pytest.mark.parametrize("name", NAMES)
def test_closeness_and_harmonic_centrality(name: str) -> None:
    edges = GRAPHS[name]
    peer = oracles.networkx_graph(edges)
    plain = nx.closeness_centrality(peer, wf_improved=False)
    with build(edges) as graph:
        for given in ({}, {"k": edges.n}):
            near = column(ws.closeness_centrality(graph, **given), "closeness_centrality")
            np.testing.assert_allclose(near, [*nx.closeness_centrality(peer).values()])
            near = ws.closeness_centrality(graph, wf_improved=False, **given)
            np.testing.assert_allclose(column(near, "closeness_centrality"), [*plain.values()])
            sums = column(ws.harmonic_centrality(graph, **given), "harmonic_centrality")
            expected = nx.harmonic_centrality(peer)
            np.testing.assert_allclose(sums, [expected[v] for v in range(edges.n)])


@pytest.mark.parametrize("name", ["33 vertices", "grid, undirected", "duplicates"])
def test_levels_of_one_call_are_those_of_array_operations(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are the same bits for sums and distances, however many levels or arcs a call may have."""
    functions: list[tuple[Any, dict[str, Any]]] = [
        (ws.closeness_centrality, {}),
        (ws.harmonic_centrality, {"k": 3}),
        (ws.eccentricity, {"connected": False}),
        (ws.diameter, {"connected": False}),
    ]
    calls: dict[str, dict[str, int]] = {
        "arrays": {"SMALL": -1},
        "many": {},
        "one level": {"LEVELS": 1},
        "small ones": {"SMALL": 6},
    }
    edges = undirected(GRAPHS[name])  # of other graphs the diameter may be infinite
    with build(edges) as graph:
        for function, given in functions:
            found = {}
            for way, constants in calls.items():
                with monkeypatch.context() as patched:
                    for constant, value in constants.items():
                        patched.setattr(words, constant, value)
                    found[way] = function(graph, **given)
            for way, answer in found.items():
                is_frame = isinstance(answer, pd.DataFrame)
                equal = answer.equals(found["arrays"]) if is_frame else answer == found["arrays"]
                assert equal, (function.__name__, way)


@pytest.mark.parametrize("name", NAMES)
def test_betweenness(name: str) -> None:
    edges = GRAPHS[name]
    peer = oracles.igraph_graph(edges)
    with build(edges) as graph:
        result = ws.betweenness_centrality(graph, normalized=False)
        expected = np.array(peer.betweenness())
        np.testing.assert_allclose(result.betweenness_centrality, expected, atol=1e-9)
        result = ws.betweenness_centrality(graph, k=edges.n)
        pairs = (edges.n - 1) * (edges.n - 2) / (1 if edges.directed else 2)
        np.testing.assert_allclose(result.betweenness_centrality, expected / pairs, atol=1e-9)
        result = ws.edge_betweenness_centrality(graph, normalized=False)
        found = {}
        for one, other, value in result[[*ENDS, "betweenness_centrality"]].itertuples(index=False):
            found.setdefault((one, other), []).append(value)
    expected = {}
    for edge, value in zip(peer.es, peer.edge_betweenness(), strict=True):
        ends = edge.tuple if edges.directed else tuple(sorted(edge.tuple))
        expected.setdefault(ends, []).append(value)
    assert found.keys() == expected.keys()
    for ends, values in found.items():
        np.testing.assert_allclose(sorted(values), sorted(expected[ends]), atol=1e-9)


@pytest.mark.parametrize("k", [None, 3, [0, 2]])
@pytest.mark.parametrize("directed", [True, False])
def test_ends_of_paths_and_samples_are_those_of_networkx(directed: bool, k: Any) -> None:
    edges = SHAPES["two components"] if directed else undirected(SHAPES["short path"])
    kind = nx.DiGraph if directed else nx.Graph
    peer = kind(oracles.networkx_graph(edges))
    with build(edges) as graph:
        for normalized in (True, False):
            found = ws.betweenness_centrality(graph, k, normalized, endpoints=True)
            if k is None:
                expected = nx.betweenness_centrality(peer, normalized=normalized, endpoints=True)
                np.testing.assert_allclose(found.betweenness_centrality, [*expected.values()])
            edge = ws.edge_betweenness_centrality(graph, None, normalized)
            ends = zip(edge.source, edge.destination, strict=True)
            expected = nx.edge_betweenness_centrality(peer, normalized=normalized)
            np.testing.assert_allclose(
                edge.betweenness_centrality, [expected[pair] for pair in ends]
            )
        twice = [ws.betweenness_centrality(graph, k, seed=4) for _ in range(2)]
        assert twice[0].equals(twice[1])


def test_sampled_sources_add_up_to_all() -> None:
    with build(SHAPES["random"]) as graph:
        halves = [
            ws.betweenness_centrality(
                graph, list(half), normalized=False, endpoints=True
            ).betweenness_centrality
            for half in (range(30), range(30, 60))
        ]
        whole = ws.betweenness_centrality(
            graph, normalized=False, endpoints=True
        ).betweenness_centrality
    np.testing.assert_allclose(sum(halves) / 2, whole)


def test_numbers_of_paths_beyond_floats(monkeypatch: pytest.MonkeyPatch) -> None:
    edges = undirected(grid(6, 7, 0.0, seed=1))
    with build(edges) as graph:
        expected = ws.betweenness_centrality(graph)
        monkeypatch.setattr(betweenness, "HIGH", 3.0)
        scaled = ws.betweenness_centrality(graph)
    np.testing.assert_allclose(scaled.betweenness_centrality, expected.betweenness_centrality)


def test_few_paths_beside_very_many_reach_as_far() -> None:
    """64 ** 270 paths lead along one chain, and one along the other."""
    length = 270
    many = [(place, place + 1) for place in range(length)] * 64
    few = [(0, length + 1), *((length + place, length + place + 1) for place in range(1, length))]
    source, destination = np.array(many + few).T
    edges = Edges(source, destination, 2 * length + 1, None, True)
    with build(edges) as graph:
        found = ws.betweenness_centrality(graph, [0], False, endpoints=True, engine="cpu")
    reached = found.betweenness_centrality / edges.n
    assert reached[0] == 2 * length
    assert reached[edges.n - 1] == 1


@pytest.mark.parametrize("function", [ws.betweenness_centrality, ws.edge_betweenness_centrality])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["33 vertices", "grid, undirected", "duplicates, undirected"])
def test_searches_with_a_queue_find_what_array_operations_find(
    name: str, weighted: bool, function: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are interrupted after each vertex, and scores are the same bits for any number of threads."""
    monkeypatch.setattr(betweenness, "HIGH", 3.0)
    edges = GRAPHS[name]
    lengths = np.random.default_rng(3).integers(1, 4, len(edges.source)) / 2
    edges = Edges(edges.source, edges.destination, edges.n, lengths, edges.directed)
    ones = {"ARCS_AT_ONCE": 8, "VERTICES_AT_ONCE": 1, "PART_OF_A_THREAD": 1}
    found = {}
    with build(edges) as graph:
        for threads in ("1", "3"):
            with monkeypatch.context() as patched:
                patched.setenv("CUGRAPH_WS_THREADS", threads)
                for constant, value in ones.items():
                    patched.setattr(queues, constant, value)
                found[threads] = function(graph, weighted=weighted)
        for loop in (betweenness.Betweenness, betweenness.WeightedBetweenness):
            monkeypatch.setattr(loop, "_searches_of_one_cpu", lambda _: [])
        expected = function(graph, weighted=weighted)
    pd.testing.assert_frame_equal(found["1"], expected, rtol=1e-12)
    assert found["3"].equals(found["1"])


@pytest.mark.parametrize(
    ("name", "high"), [("33 vertices", 3.0), ("grid, undirected", 3.0), ("duplicates", 1e150)]
)
def test_levels_of_one_gpu_are_those_of_array_operations(
    name: str, high: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are the same bits, by entries and by rows, and however many batches are searched at once."""
    monkeypatch.setattr(betweenness, "HIGH", high)
    monkeypatch.setattr(betweenness, "WIDTH", 3)
    monkeypatch.setattr(levels, "LEVELS", 2)  # of a launch: the next goes on
    monkeypatch.setattr(folds, "LONG", 4)  # arcs of a row of a block
    ways: dict[str, dict[str, int]] = {
        "by entries": {},
        "crowded": {"FEW": 6, "PART": 1 << 30},
        "by rows": {"LONG": 0},
        "by listed rows": {"LONG": 0, "MANY": 1},
    }
    with emulated(seed=1), build(GRAPHS[name]) as graph:
        sources = [0, 1, 2, 5] if graph.owned > 5 else [0, 1]
        found = {}
        for way, constants in ways.items():
            with monkeypatch.context() as patched:
                for constant, value in constants.items():
                    patched.setattr(levels, constant, value)
                found[way] = ws.betweenness_centrality(graph, sources, engine="cuda")
        expected = ws.betweenness_centrality(graph, sources, engine="cpu")
        start = ws.Betweenness.start

        def start_in_arrays(loop: Any, *given: Any, **options: Any) -> None:
            start(loop, *given, **options)
            loop._alone, loop._width = False, loop._group

        monkeypatch.setattr(ws.Betweenness, "start", start_in_arrays)
        arrays = ws.betweenness_centrality(graph, sources, engine="cuda")
    for way, frame in found.items():
        assert frame.equals(arrays), way
    pd.testing.assert_frame_equal(arrays, expected, rtol=1e-12)


@pytest.mark.parametrize("name", FEW)
@pytest.mark.parametrize(
    ("function", "given"),
    [
        (ws.closeness_centrality, {}),
        (ws.closeness_centrality, {"vertices": [2, 0]}),
        (ws.harmonic_centrality, {"k": 2, "normalized": True}),
        (ws.betweenness_centrality, {"endpoints": True}),
        (ws.edge_betweenness_centrality, {"k": 2}),
    ],
    ids=["closeness", "closeness of some", "harmonic", "betweenness", "of edges"],
)
def test_engines_and_ranks_agree(
    name: str, function: Any, given: dict[str, Any], way: tuple[str, int]
) -> None:
    expected = found(GRAPHS[name], ("cpu", 1), function, **given)
    result = found(GRAPHS[name], way, function, **given)
    pd.testing.assert_frame_equal(result, expected, rtol=1e-12)


def test_searches_in_text_their_checkpoints_and_errors(tmp_path: Any) -> None:
    edges = _letters(pd.DataFrame({"source": [1, 2], "destination": [2, 3]}))
    found = ws.closeness_centrality(edges, ["v003"])
    assert found.to_dict("list") == {"vertex": ["v003"], "closeness_centrality": [2 / 3]}
    assert ws.betweenness_centrality(edges).betweenness_centrality.tolist() == [0, 0.5, 0]
    path = tmp_path / "state.parquet"
    for function in (ws.betweenness_centrality, ws.harmonic_centrality):
        with build(SHAPES["33 vertices"]) as graph:
            function(graph, checkpoint=path)
            assert function(graph, resume=path).equals(function(graph))
    for function in (ws.closeness_centrality, ws.harmonic_centrality):
        with pytest.raises(ws.InputError, match="exclude"):
            function(edges, ["v001"], k=1)
    for function in (ws.harmonic_centrality, ws.betweenness_centrality):
        with pytest.raises(ws.InputError, match="at most"):
            function(edges, k=4)
        with pytest.raises(ws.InputError, match="k=0"):
            function(edges, k=0)
    with pytest.raises(ws.InputError, match="checkpoint"):
        ws.edge_betweenness_centrality(edges, checkpoint=path)
    with pytest.raises(ws.InputError, match="overwritten"):
        ws.edge_betweenness_centrality(
            edges.assign(betweenness_centrality=1.0), weight="betweenness_centrality"
        )


def test_the_trace_of_hits_counts_bytes() -> None:
    with build(GRAPHS["random"]) as graph:
        trace = ws.run(ws.HITS(), graph).trace
    assert set(trace["layout"]) == {""}
    assert set(trace["bytes_sent"]) == {0}
