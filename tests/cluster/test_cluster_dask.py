"""Graphs on Dask workers: results equal those of one machine, and stay where they were computed."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from clusters import (
    Workers,
    assert_same,
    complaints,
    eventually,
    on_workers,
    spread_edges,
    workers,
)
from dask._task_spec import Task
from distributed import Client, Event, LocalCluster, Worker, wait
from plans import planned
from programs import Endless, Nearest, Peel
from shapes import SHAPES, build, edge_frame, rmat, undirected
from verify import Edges
from zoo_scatter import SoftmaxWalk
from zoo_vectors import K, Smoothed

import cugraph_ws as ws
from cugraph_ws.accelerators.direct_start.client import DirectStart
from cugraph_ws.dask import graph, local
from cugraph_ws.dask.client import SPLIT, RankTasks
from cugraph_ws.runtime import device as devices
from cugraph_ws.runtime import driver

pytestmark = pytest.mark.xdist_group("cluster")

SKEWED = rmat(9, 6, seed=51)
SKEWED = replace(SKEWED, weight=SKEWED.weight / 4096)  # so that no heat overshoots
GRAPHS = {
    "skewed": SKEWED,
    "skewed, undirected": undirected(rmat(7, 4, seed=52)),
    "fewer vertices than workers": SHAPES["duplicates"],
    "all isolated": SHAPES["all isolated"],
    "ties and zeros": SHAPES["ties and zeros"],
}
CLOSE = {"rtol": 1e-9, "atol": 1e-12}


@pytest.fixture(scope="module", params=[2, 3, 4])
def crowd(request: pytest.FixtureRequest) -> Iterator[Workers]:
    with workers(request.param) as started:
        yield started


@pytest.fixture(scope="module")
def pair() -> Iterator[Workers]:
    """Two workers, for what does not depend on how many there are."""
    with workers(2) as started:
        yield started


def calls(edges: Edges) -> dict[str, tuple[Callable[[Any], Any], dict[str, float]]]:
    """Return every function of the library, called on a graph, and how close answers must be."""
    vertices = np.arange(edges.n)
    left = vertices[: max(1, edges.n // 2)].tolist()
    first = pd.DataFrame({"vertex": vertices, "value": (vertices % 5) / 8})
    priors = pd.DataFrame({"vertex": vertices, "p0": 0.5 + vertices / (2 * edges.n + 1), "p1": 0.5})
    coupling = [[0.6, 0.4], [0.4, 0.6]]
    features = pd.DataFrame({f"f{place}": vertices % (2 + place) / 2 for place in range(K)})
    features = features.assign(vertex=vertices)
    return {
        "bfs": (lambda g: ws.bfs(g, 0, engine="python"), {}),
        "sssp": (lambda g: ws.sssp(g, 1), {}),
        "widest_path": (lambda g: ws.widest_path(g, 0), {}),
        "pagerank": (lambda g: ws.pagerank(g, tol=1e-12, max_iter=500), CLOSE),
        "personal": (lambda g: ws.pagerank(g, personalization={0: 1.0, 2: 3.0}, tol=1e-10), CLOSE),
        "heat": (lambda g: ws.heat(g, first, fixed=[0, 1], tol=1e-3), CLOSE),
        "circuit": (lambda g: ws.circuit(g, {0: 1.0, 1: 0.0}, tol=1e-3), CLOSE),
        "neural_network": (lambda g: ws.neural_network(g, 0.25, [0], max_iter=9), CLOSE),
        "components": (ws.weakly_connected_components, {}),
        "core_number": (ws.core_number, {}),
        "k_core": (lambda g: ws.k_core(g, 2), {}),
        "conductance": (lambda g: ws.conductance(g, first.assign(value=vertices % 5)), CLOSE),
        "labels": (ws.label_propagation, {}),
        "matching": (lambda g: ws.maximal_bipartite_matching(g, left), {}),
        "belief": (lambda g: ws.belief_propagation(g, priors, coupling, max_iter=500), CLOSE),
        "many searches": (lambda g: ws.multi_source_bfs(g, [0, 1]), {}),
        "many paths": (lambda g: ws.multi_source_sssp(g, [1, 0]), {}),
        "many ranks": (lambda g: ws.personalized_pagerank(g, [1, 0], tol=1e-3), CLOSE),
        "highest ranks": (lambda g: ws.personalized_pagerank(g, [2, 0], tol=1e-3, top=2), CLOSE),
        "ancestors": (lambda g: ws.ancestors(g, [0, 1]), {}),
        "bridges": (ws.bridges, {}),
        "articulation points": (ws.articulation_points, {}),
        "settled labels": (lambda g: ws.label_propagation(g, seed=1), {}),
        "lengths": (lambda g: ws.closeness_centrality(g, [0, 1], weighted=True), CLOSE),
        "program": (lambda g: ws.run(Nearest, g, seeds=[0, 2], engine="python"), {}),
        "vectors": (
            lambda g: ws.run(Smoothed, g, features=features, max_iter=2, engine="python"),
            CLOSE,
        ),
        "scatter": (lambda g: ws.run(SoftmaxWalk, g, max_iter=2, engine="python"), CLOSE),
        "another program": (lambda g: ws.run(Peel, g, k=2, engine="python"), {}),
    }


def answer(call: Callable[[Any], Any], graph: Any) -> Any:
    """Return the frame that a function gives, or its error: both must be those of one machine."""
    try:
        found = call(graph)
    except (ws.InputError, ws.ConvergenceError) as error:
        return error
    return found.frame if hasattr(found, "frame") else found


@pytest.mark.parametrize("place", [0, 1])
def test_every_function_gives_the_same(crowd, place):
    """On two of the graphs with each number of workers, and on every graph with one of them."""
    edges = list(GRAPHS.values())[(2 * len(crowd.pids()) + place) % len(GRAPHS)]
    with build(edges) as whole, on_workers(edges) as spread:
        assert spread.number_of_vertices == whole.number_of_vertices
        assert spread.number_of_edges == whole.number_of_edges
        wrong = {}
        for function, (call, tolerance) in calls(edges).items():
            expected, found = answer(call, whole), answer(call, spread)
            try:
                if isinstance(expected, Exception):
                    assert type(found) is type(expected), found
                    assert isinstance(found, ws.ConvergenceError) or str(found) == str(expected)
                else:
                    assert_same(found, expected, **tolerance)
            except AssertionError as difference:
                wrong[function] = str(difference)
        teams = pd.DataFrame({"vertex": range(edges.n), "team": np.arange(edges.n) % 3})
        here, there = (
            [ws.modularity(graph, teams), ws.transitivity(graph), ws.diameter(graph, connected=False),
             ws.is_connected(graph)]
            for graph in (whole, spread)
        )  # fmt: skip
        assert there == pytest.approx(here, abs=1e-12, nan_ok=True)
        assert list(map(type, there)) == list(map(type, here))
    assert not wrong


@pytest.mark.parametrize("method", [ws.louvain, ws.leiden])
def test_communities(pair, method):
    edges = Edges(np.arange(30), np.arange(30) // 3, 30)
    with build(edges) as whole, on_workers(edges) as spread:
        (here, best), (there, found) = (method(graph, 2, seed=1) for graph in (whole, spread))
        assert_same(there, here)
        assert found == best
        with pytest.raises(ws.InputError, match="checkpoint"):
            method(spread, checkpoint="communities")


@pytest.mark.parametrize("exchange", ["vr", "ms"])
def test_every_exchange(crowd, exchange):
    with build(SKEWED) as whole, on_workers(SKEWED) as spread:
        for program, options, tolerance in (
            (ws.PageRank, {"tol": 1e-12}, CLOSE),
            (ws.SSSP, {"source": 0}, {}),
            (ws.SSSP, {"source": 0, "direction": "gather", "max_iter": 500}, {}),
            (Peel, {"k": 3, "engine": "python", "direction": "pull"}, {}),
        ):
            result = ws.run(program, spread, **planned(exchange=exchange, **options))
            assert_same(
                result.frame, ws.run(program, whole, **planned(**options)).frame, **tolerance
            )
            assert result.converged
            assert result.stopped == "converged"
            assert result.synchronous == (program is not ws.SSSP or "max_iter" in options)
            assert len(result.trace) == result.iterations == len(result.rows.superstep)
            assert result.trace is result.trace, "it is made once, and where it is asked for"
            assert (result.trace["bytes_sent"] > 0).any()


def test_a_program_of_the_users_own(crowd):
    """It is defined in a function: nothing that a worker could import."""

    @ws.vertex_program
    class Farthest:
        number: ws.int64
        steps: ws.parameter(ws.int64, default=3)
        max_iter = 4

        def init(vertex):
            return vertex

        def compute(src, edge, p):
            return src.number + p.steps

        combine = max

        def apply(old, gathered):
            return min(max(old.number, gathered), 10_000)

    options = {"steps": 2, "plan": ws.Plan(direction="gather")}
    with build(SKEWED) as whole, on_workers(SKEWED) as spread:
        for engine in ("cpu", "python"):
            found = ws.run(Farthest, spread, engine=engine, **options)
            assert_same(found.frame, ws.run(Farthest, whole, engine=engine, **options).frame)
            assert found.iterations == 4


@pytest.mark.parametrize("told", [True, False])
def test_frames_are_named_by_their_keys(told, monkeypatch):
    """Also if Dask takes no name for a frame, and makes one itself."""

    def gone(keys: list[str]) -> str:
        raise TypeError("unexpected keyword argument '_determ_token'")

    if not told:
        monkeypatch.setattr(graph, "tokenize", gone)
    meta = pd.DataFrame({"x": np.arange(0)})

    def frame(run: str) -> Any:
        keys = [f"{run}-{place}" for place in range(3)]
        layer = {key: Task(key, pd.DataFrame, [[3]], columns=["x"]) for key in keys}
        return graph._from_graph(layer, meta, (None,) * 4, keys, "cugraph_ws")

    one, same, other = frame("1"), frame("1"), frame("2")
    assert one._name == same._name != other._name
    assert one.x.sum().compute() == other.persist().x.sum().compute() == 9


def one_further(src: Any) -> Any:
    return src.steps + 1


def two_further(src: Any) -> Any:
    return src.steps + 2


def far(further: Callable[[Any], Any]) -> Any:
    """Return a program of a name that others have too."""

    @ws.vertex_program
    class Far:
        steps: ws.int64

        def init(vertex):
            return vertex

        compute = further
        combine = max

        def apply(old, gathered):
            return min(max(old.steps, gathered), 1000)

    return Far


def programs_of(dask_worker: Worker) -> dict[int, int]:
    """Return how much is known of each program that a worker keeps, by which object it is."""
    kept = dask_worker.plugins["cugraph_ws"].programs.values()
    return {id(program): len(program.memory) for program in kept if program.name == "Far"}


def test_workers_keep_programs_and_what_they_have_found_out(pair):
    options = {"engine": "python", "max_iter": 3, "plan": ws.Plan(direction="gather")}
    with build(SHAPES["path"]) as whole, on_workers(SHAPES["path"]) as spread:
        known = {}
        for further in (one_further, two_further, one_further, one_further):
            found = ws.run(far(further), spread, **options)
            assert_same(found.frame, ws.run(far(further), whole, **options).frame)
            known = known or pair.client.run(programs_of)
    for worker, programs in pair.client.run(programs_of).items():
        assert len(programs) == 2, "one for each that was sent, however often"
        assert all(programs.values())
        assert known[worker].items() <= programs.items(), "neither made nor bound again"


def test_results_stay_where_they_were_computed_and_are_sorted(crowd):
    with on_workers(SKEWED) as graph:
        frame = ws.pagerank(graph)
        assert isinstance(frame, dd.DataFrame)
        held = graph.partitions
        assert [one["worker"] for one in held] == sorted(crowd.client.nthreads())
        assert sum(one["owned"] for one in held) == graph.number_of_vertices
        kept = crowd.client.persist(frame)
        wait(kept)
        parts = crowd.client.compute(kept.to_delayed())
        wait(parts)
        rows = [len(part) for part in crowd.client.gather(parts)]
        assert rows == [one["owned"] for one in held]
        places = crowd.client.who_has(kept)
        for one in held:
            assert any(one["worker"] in where for where in places.values())
    vertices = frame["vertex"].compute()  # outlives its graph
    assert vertices.is_monotonic_increasing
    assert len(vertices) == SKEWED.n


def test_rows_of_many_searches_are_in_the_order_of_one_machine(pair):
    """By source, as they were given, and vertex; where they were computed, and those that are done of a run that is stopped."""
    sources = [5, 0, 5, 17]
    with build(SKEWED) as whole, on_workers(SKEWED) as graph:
        found = ws.multi_source_bfs(graph, sources)
        assert found.npartitions == len(sources) * len(graph.partitions)
        assert_same(found, ws.multi_source_bfs(whole, sources))
        assert_same(ws.multi_source_bfs(graph, [3]), ws.multi_source_bfs(whole, [3]))
        assert len(ws.multi_source_bfs(graph, []).compute()) == 0
        with pytest.raises(ws.ConvergenceError) as caught:
            ws.multi_source_bfs(graph, sources * 500, progress=lambda update: update.superstep < 1)
        rows = caught.value.result.frame.compute()
        searches = len(rows) // SKEWED.n
        assert 0 < searches < 500 * len(sources)
        some = (sources * 500)[:searches]
        pd.testing.assert_frame_equal(
            rows[["source", "vertex"]].reset_index(drop=True),
            ws.multi_source_bfs(whole, some)[["source", "vertex"]],
        )


@pytest.mark.parametrize("search", ["bfs", "sssp", "widest_path", "run"])
def test_paths_of_a_clusters_result(pair, search):
    calls: dict[str, Callable[[Any], Any]] = {
        "bfs": lambda g: ws.bfs(g, 0),
        "sssp": lambda g: ws.sssp(g, 0),
        "widest_path": lambda g: ws.widest_path(g, 0),
        "run": lambda g: ws.run(ws.SSSP, g, source=0),
    }
    targets = [3, 0, 40, 3, 11]
    with build(SKEWED) as whole, on_workers(SKEWED) as graph:
        expected = ws.shortest_path(calls[search](whole), targets)
        found = ws.shortest_path(calls[search](graph), targets)
        assert len(expected) > len(targets)
        if search == "bfs":  # of equal parents, one is chosen alike
            pd.testing.assert_frame_equal(found, expected)
        else:
            ends = ["target", "position"]
            pd.testing.assert_frame_equal(found[ends], expected[ends])
            value = expected.columns[-1]
            pd.testing.assert_series_equal(found[value], expected[value])
        if search == "sssp":  # the graph has weights
            of_graph = ws.shortest_path(graph, 0, targets)
            pd.testing.assert_frame_equal(of_graph, graph.shortest_path(0, targets))
            pd.testing.assert_frame_equal(of_graph, found)
        lazy = dd.from_pandas(pd.DataFrame({"vertex": targets}), npartitions=2)
        again = ws.shortest_path(calls[search](graph), lazy)
        pd.testing.assert_frame_equal(again[ends := ["target", "position"]], found[ends])


def test_paths_of_a_clusters_result_that_are_not_there(pair):
    with on_workers(SKEWED) as graph:
        tree = ws.bfs(graph, 0)
        with pytest.raises(ws.InputError, match=r"targets: 10000 is not a vertex"):
            ws.shortest_path(tree, 10_000)
        with pytest.raises(ws.InputError, match="no column 'predecessor'"):
            ws.shortest_path(ws.pagerank(graph), 0)
        with pytest.raises(ws.InputError, match="one search"):
            ws.shortest_path(ws.multi_source_bfs(graph, [0, 1]), 0)


def test_the_users_own_mistakes_are_not_logged(pair):
    before = len(complaints(pair.client))
    with on_workers(SKEWED) as graph:
        for call in (
            lambda: ws.bfs(graph, 10_000),
            lambda: ws.sssp(graph, "a"),
            lambda: ws.pagerank(graph, personalization={10_000: 1.0}),
            lambda: ws.shortest_path(ws.bfs(graph, 0), 10_000),
            lambda: ws.multi_source_bfs(graph, [0, 10_000]),
            lambda: ws.heat(graph, {0: 1.0}),  # which the workers find out
        ):
            with pytest.raises(ws.InputError):
                call()
    assert complaints(pair.client)[before:] == []
    failing = dd.from_delayed([dask.delayed(of_the_users_own)()], meta=edge_frame(SKEWED).iloc[:0])
    with pytest.raises(ZeroDivisionError):
        ws.bfs(failing, 0)
    assert "ZeroDivisionError" in "".join(complaints(pair.client)[before:])


@ws.vertex_program
class CountedBelow:
    """Counts messages up to 2, and sends numbers of vertices."""

    x: ws.int64
    combine = ws.histogram(3)
    max_iter = 3

    def init(vertex):
        return vertex

    def compute(src):
        return src.x

    def apply(old, gathered):
        return old.x + gathered[0]


def test_a_message_out_of_range_is_the_same_error_as_on_one_machine(pair):
    with on_workers(SKEWED) as graph, pytest.raises(ws.ProgramError, match="takes 0 to 2; keep"):
        ws.run(CountedBelow, graph)


def of_the_users_own(kind: type[Exception] = ZeroDivisionError) -> Any:
    raise kind("of the user's own")


@pytest.mark.parametrize("kind", [TimeoutError, ConnectionError, OSError])
def test_errors_of_the_users_own_tasks_are_not_taken_for_the_clusters(pair, kind):
    def failing(meta: pd.DataFrame) -> Any:
        return dd.from_delayed([dask.delayed(of_the_users_own)(kind)], meta=meta)

    with pytest.raises(kind, match="of the user's own"):
        ws.bfs(failing(edge_frame(SKEWED).iloc[:0]), 0)
    shares = failing(pd.DataFrame({"vertex": [0], "share": [1.0]}).iloc[:0])
    with (
        on_workers(SKEWED) as graph,
        pytest.raises(kind, match="of the user's own"),
    ):
        ws.pagerank(graph, personalization=shares)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"source": "sourze"}, r"source='sourze'.*did you mean 'source'"),
        ({"destination": ["a", "b"]}, "as many columns"),
        ({"weight": "wait"}, "weight='wait'"),
        ({"attributes": ["x"]}, "attributes='x'"),
        ({"duplicates": "sometimes"}, "duplicates='sometimes'"),
        ({"self_loops": "sometimes"}, "self_loops='sometimes'"),
        ({"vertices": pd.DataFrame({"a": [1], "b": [2]})}, "vertices: the ids must be in"),
        ({"vertices": dd.from_dict({"a": [1], "b": [2]}, npartitions=1)}, "vertices: the ids must"),
    ],
)
def test_columns_are_checked_before_anything_is_sent(pair, monkeypatch, options, told):
    def sent(*given: Any, **named: Any) -> None:
        raise AssertionError("something was sent")

    for name in ("_partitions", "run_on_ranks", "placed", "workers_of"):
        monkeypatch.setattr(f"cugraph_ws.dask.graph.{name}", sent)
    with pytest.raises(ws.InputError, match=told):
        ws.Graph(spread_edges(SKEWED), **options)


def test_a_frame_a_graph_and_a_method_are_alike(crowd):
    edges = spread_edges(SKEWED, 5).rename(columns={"source": "u", "destination": "v"})
    frame = edge_frame(SKEWED).rename(columns={"source": "u", "destination": "v"})
    names = {"source": "u", "destination": "v"}
    expected = ws.pagerank(frame, **names, weight="weight", tol=1e-10)
    assert_same(ws.pagerank(edges, **names, weight="weight", tol=1e-10), expected, **CLOSE)
    assert_same(edges.ws.pagerank(**names, weight="weight", tol=1e-10), expected, **CLOSE)
    with ws.Graph(edges, "u", "v", "weight") as graph:
        assert_same(ws.pagerank(graph, tol=1e-10), expected, **CLOSE)
    with edges.ws.graph("u", "v", weight="weight") as graph:
        assert graph.weight == "weight"
        assert "on" in repr(graph)
    columns = {"source_column": "u", "destination_column": "v"}
    searched = edges.ws.run(ws.SSSP, source=0, weight_column="weight", **columns)
    wanted = ws.run(ws.SSSP, frame, source=0, weight_column="weight", **columns)
    assert_same(searched.frame, wanted.frame)
    both = ws.bfs(edges, 3, **names, directed=False)
    assert_same(both, ws.bfs(frame, 3, **names, directed=False))


def test_a_graph_on_a_cluster_explains_itself(pair):
    edges = SKEWED
    whole = ws.Graph(edge_frame(edges), weight="weight")
    with ws.Graph(spread_edges(edges, 4), weight="weight") as graph:
        assert len(graph) == len(whole)
        assert 0 in graph
        assert edges.n + 5 not in graph
        assert "no id" not in graph
        assert "yes" in graph._repr_html_()
        pd.testing.assert_frame_equal(
            graph.vertices.compute().reset_index(drop=True), whole.vertices
        )
        pd.testing.assert_frame_equal(graph.edges.compute().reset_index(drop=True), whole.edges)
        pd.testing.assert_frame_equal(graph.bfs(0).compute().reset_index(drop=True), whole.bfs(0))
        unweighted = graph.sssp(1, weight=None).compute().reset_index(drop=True)
        pd.testing.assert_frame_equal(unweighted, whole.sssp(1, weight=None))
        result = graph.run(ws.PageRank, max_iter=3)
        assert len(result.head(2)) == 2
        assert len(result.to_pandas()) == len(whole)
        assert "pagerank" in result._repr_html_()
        assert result["vertex"].compute().tolist() == whole.vertices["vertex"].tolist()
        with pytest.raises(AttributeError, match="no 'to_scipy'"):
            graph.to_scipy  # noqa: B018
        assert "to_scipy" not in dir(graph)


def test_ids_of_text_and_of_several_columns(crowd):
    source, destination = SKEWED.source, SKEWED.destination
    frame = pd.DataFrame(
        {
            "name": [f"v{one % 97}" for one in source],
            "to": [f"v{one % 97}" for one in destination],
            "city": source % 7,
            "to_city": destination % 7,
        }
    )
    edges = dd.from_pandas(frame, npartitions=4)
    frame = edges.compute()  # Dask has a type of text of its own
    named = {"source": "name", "destination": "to"}
    assert_same(ws.bfs(edges, "v3", **named), ws.bfs(frame, "v3", **named))
    paired = {"source": ["city", "name"], "destination": ["to_city", "to"]}
    start = (int(frame["city"][0]), frame["name"][0])
    assert_same(ws.bfs(edges, start, **paired), ws.bfs(frame, start, **paired))
    assert_same(ws.pagerank(edges, **paired), ws.pagerank(frame, **paired), **CLOSE)


def test_vertex_values_of_any_kind(crowd):
    rng = np.random.default_rng(53)
    values = pd.DataFrame({"vertex": rng.permutation(SKEWED.n), "t": rng.random(SKEWED.n)})
    spread_values = dd.from_pandas(values, npartitions=3, sort=False)
    options = {"fixed": [0, 1, 2], "max_iter": 20, "tol": 1e-3}
    with build(SKEWED) as whole, on_workers(SKEWED) as spread:
        expected = ws.run(ws.Heat, whole, temperature=values, **options).frame
        for given in (values, dict(zip(values["vertex"], values["t"], strict=True)), spread_values):
            assert_same(
                ws.run(ws.Heat, spread, temperature=given, **options).frame, expected, **CLOSE
            )
        missing = spread_values[spread_values["vertex"] != 5]
        with pytest.raises(ws.InputError, match="5"):
            ws.heat(spread, missing)
    with ws.Graph(spread_edges(SKEWED), weight="weight", vertices=spread_values) as spread:
        found = ws.run(ws.Heat, spread, temperature="t", **options).frame
        assert_same(found, expected, **CLOSE)


def test_a_run_that_does_not_converge_has_a_result(pair):
    with build(SKEWED) as whole, on_workers(SKEWED) as spread:
        with pytest.raises(ws.ConvergenceError, match="max_iter") as raised:
            ws.pagerank(spread, max_iter=3, tol=1e-12)
        result = raised.value.result
        assert result.iterations == 3
        assert not result.converged
        expected = ws.run(ws.PageRank, whole, max_iter=3, tol=1e-12)
        assert_same(result.frame, expected.frame, **CLOSE)
        assert result.residual == pytest.approx(expected.residual)
        assert len(result.trace) == 3
        so_far = ws.pagerank(spread, max_iter=3, tol=1e-12, fail_on_nonconvergence=False)
        assert_same(so_far, expected.frame, **CLOSE)


def test_progress_and_stopping(pair):
    seen: list[Any] = []
    with on_workers(SKEWED) as graph:
        result = ws.run(Endless, graph, max_iter=12, progress=seen.append)
        assert [update.superstep for update in seen] == list(range(1, 13))
        assert seen[-1].residual == result.residual == 1.0
        assert seen[-1].max_iter == 12
        stopped = ws.run(Endless, graph, progress=lambda update: update.superstep < 20)
        assert stopped.stopped == "callback"
        assert stopped.synchronous
        assert stopped.iterations >= 20
        assert stopped.frame["value"].compute().eq(stopped.iterations % 2).all(), (
            "one state for all"
        )
        timed = ws.run(Endless, graph, timeout=0.5)
        assert timed.stopped == "timeout"
        assert len(timed.trace) == timed.iterations
        assert timed.frame["value"].compute().eq(timed.iterations % 2).all()
        with pytest.raises(ws.InputError, match="progress=7 must be"):
            ws.pagerank(graph, progress=7)


def test_a_profile_has_the_bytes_of_all_workers(pair):
    """Those of one machine: arcs and vertices are the same, and each is on one worker."""
    with build(SKEWED) as whole:
        alone = ws.run(ws.PageRank, whole, max_iter=5, profile=True, engine="cpu").profile
    seen: list[Any] = []
    with on_workers(SKEWED) as graph:
        result = ws.run(ws.PageRank, graph, max_iter=5, profile=True)
        ws.core_number(graph, profile=seen.append)
    rows, trace = result.profile.frame, result.trace
    assert rows["superstep"].tolist() == trace["superstep"].tolist()
    for name in ("bytes_read", "bytes_written"):
        assert rows[name].tolist() == alone.frame[name].tolist(), name
    assert rows["bytes_sent"].tolist() == trace["bytes_sent"].tolist()
    assert rows["bytes_sent"].sum() > 0
    assert (rows["bandwidth"] > 0).all()
    assert [set(profile.program) for profile in seen] == [{"core_number"}]
    assert (seen[0].frame["bytes_read"] > 0).all()


def test_an_error_in_a_progress_callback_is_raised(pair):
    def broken(update: Any) -> None:
        raise RuntimeError("a fault of the callback's own")

    with on_workers(SKEWED) as graph:
        with pytest.raises(RuntimeError, match="of the callback's own"):
            ws.run(Endless, graph, progress=broken)
        assert len(ws.bfs(graph, 0)) == SKEWED.n


@pytest.mark.usefixtures("usual_handler")
def test_ctrl_c(pair, tmp_path):
    path = tmp_path / "state.parquet"
    with on_workers(SKEWED) as graph:
        ws.run(Endless, graph, max_iter=1)
        timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(ws.Interrupted) as raised:
            ws.run(Endless, graph, checkpoint=path, every=1 << 20)
        result = raised.value.result
        assert result.iterations > 0
        assert result.stopped == "interrupt"
        assert result.frame["value"].compute().eq(result.iterations % 2).all()
        later = ws.run(Endless, graph, max_iter=result.iterations + 5, resume=path)
        assert len(later.trace) == 5, "it goes on from where it was interrupted"
        assert len(ws.bfs(graph, 0)) == SKEWED.n, "workers can be used as before"


@pytest.mark.usefixtures("usual_handler")
def test_ctrl_c_is_not_lost(pair, monkeypatch):
    """Not in a finalizer, which swallows what is raised, nor where a worker answers too late."""

    class Pressing:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    look, ask = RankTasks._look, RankTasks._ask
    pressing, unheard = [], []

    def looking(self: RankTasks) -> bool:
        pressing.clear()
        return look(self)

    def asking(self: RankTasks, addresses: Any, **message: Any) -> list[bool]:
        if message["op"] == "cugraph_ws_request" and not unheard:
            unheard.append(message["request"])
            return [False]
        return ask(self, addresses, **message)

    with on_workers(SKEWED) as graph:
        pressing.append(Pressing())
        monkeypatch.setattr(RankTasks, "_look", looking)
        monkeypatch.setattr(RankTasks, "_ask", asking)
        with pytest.raises(ws.Interrupted):
            ws.run(Endless, graph, timeout=60.0)
    assert unheard == ["interrupt"]


@pytest.mark.usefixtures("usual_handler")
def test_ctrl_c_ends_a_build(pair, monkeypatch):
    look = RankTasks._look

    def pressed(self: RankTasks) -> bool:
        signal.raise_signal(signal.SIGINT)
        monkeypatch.setattr(RankTasks, "_look", look)
        return look(self)

    monkeypatch.setattr(RankTasks, "_look", pressed)
    with pytest.raises(KeyboardInterrupt), on_workers(SKEWED):
        pass
    with on_workers(SKEWED) as graph:
        assert len(ws.bfs(graph, 0)) == SKEWED.n, "workers can be used as before"


@pytest.mark.parametrize(
    "call",
    [
        lambda g: ws.bfs(g, 10_000),
        lambda g: ws.bfs(g, "text"),
        lambda g: ws.pagerank(g, alpha=1.5),
        lambda g: ws.pagerank(g, personalization={10_000: 1.0}),
        lambda g: ws.sssp(g, 0, weight="other"),
        lambda g: ws.run(ws.SSSP, g, source=0, no_such=3),
        lambda g: ws.run(ws.BFS, g, start=0, plan=ws.Plan(exchange="sometimes")),
        lambda g: ws.heat(g, {0: 1.0}),
        lambda g: ws.circuit(g, {10_000: 1.0}),
        lambda g: ws.bfs(g, 0, directed=False),
        lambda g: ws.run(ws.BFS, g, start=0, timeout=-1),
    ],
)
def test_a_wrong_argument_is_the_same_error_as_on_one_machine(pair, call):
    with build(SKEWED) as whole, on_workers(SKEWED) as spread:
        with pytest.raises(ws.InputError) as expected:
            call(whole)
        with pytest.raises(ws.InputError) as found:
            call(spread)
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize(
    "options",
    [
        {"source": "no such column"},
        {"weight": "no such column"},
        {"duplicates": "error"},
        {"duplicates": "sometimes"},
        {"self_loops": "error"},
        {"attributes": "no such column"},
    ],
    ids=str,
)
def test_a_wrong_graph_is_the_same_error_as_on_one_machine(pair, options):
    with pytest.raises(ws.InputError) as expected:
        ws.Graph(edge_frame(SKEWED), **options)
    with pytest.raises(ws.InputError) as found:
        ws.Graph(spread_edges(SKEWED, 4), **options)
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("balance", ["odd", [1.0], [1.0, 0.0], [1.0, float("inf")], 3])
def test_a_wrong_balance(pair, balance):
    with pytest.raises(ws.InputError, match="balance="):
        ws.Graph(spread_edges(SKEWED), balance=balance)


def test_a_balance_is_kept_to(pair):
    with ws.Graph(spread_edges(SKEWED), balance=[3.0, 1.0]) as graph:
        arcs = [one["arcs"] for one in graph.partitions]
        assert sum(arcs) == graph.number_of_edges
        assert arcs[0] > 2 * arcs[1]


def test_some_of_the_workers(crowd):
    chosen = sorted(crowd.client.nthreads())[-2:]
    with ws.Graph(spread_edges(SKEWED), workers=chosen) as graph:
        assert [one["worker"] for one in graph.partitions] == chosen
        assert_same(ws.bfs(graph, 0), ws.bfs(edge_frame(SKEWED), 0))
    with ws.Graph(spread_edges(SKEWED), workers=chosen[:1]) as alone:
        assert [one["ghosts"] for one in alone.partitions] == [0]
        assert_same(ws.bfs(alone, 0), ws.bfs(edge_frame(SKEWED), 0))
    with pytest.raises(ws.EngineError, match=r"tcp://10\.0\.0\.1:1 is not in the cluster"):
        ws.Graph(spread_edges(SKEWED), workers=["tcp://10.0.0.1:1"])


def test_without_a_client():
    code = """
import dask.dataframe as dd
import pandas as pd
import cugraph_ws as ws
edges = dd.from_pandas(pd.DataFrame({"source": [0], "destination": [1]}), npartitions=1)
try:
    ws.pagerank(edges)
except ws.EngineError as error:
    assert "client = Client()" in str(error) and "local_cluster" in str(error), error
else:
    raise AssertionError("there is no client")
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_a_closed_graph(pair):
    graph = on_workers(SKEWED)
    graph.close()
    for use in (lambda: ws.bfs(graph, 0), lambda: graph.number_of_edges, lambda: graph.partitions):
        with pytest.raises(ws.InputError, match="closed"):
            use()
    assert "closed" in repr(graph)
    graph.close()


# ------------------------------------------------------------------------ what is left behind


def shares(dask_worker: Worker) -> int:
    plugin = dask_worker.plugins.get("cugraph_ws")
    return 0 if plugin is None else len(plugin.shards) + len(plugin._messages)


def resident(dask_worker: Worker) -> int:
    gc.collect()
    return int(dask_worker.monitor.proc.memory_info().rss)


def test_closing_and_dropping_a_graph_free_its_shards(pair):
    gc.collect()
    eventually(lambda: not any(pair.client.run(shares).values()))
    graph = on_workers(SKEWED)
    ws.bfs(graph, 0).compute()
    assert set(pair.client.run(shares).values()) == {1}
    graph.close()
    eventually(lambda: not any(pair.client.run(shares).values()))
    graph = on_workers(SKEWED)
    ranks = ws.pagerank(graph)
    del graph
    gc.collect()
    eventually(lambda: not any(pair.client.run(shares).values()))
    assert len(ranks.compute()) == SKEWED.n
    del ranks
    gc.collect()
    eventually(lambda: not any(pair.client.run(held_results).values()))


def held_results(dask_worker: Worker) -> int:
    return sum("cugraph_ws" in str(key) for key in dask_worker.state.tasks)


def test_memory_is_flat_over_runs(pair):
    with on_workers(rmat(12, 8, seed=54)) as graph:

        def runs(number: int) -> int:
            for _ in range(number):
                ws.bfs(graph, 0)
            return max(pair.client.run(resident).values())

        runs(5)
        before = runs(5)
        assert runs(40) - before < 16 << 20


# ------------------------------------------------------------------------------- what a call takes


def test_a_call_is_one_message_and_asks_nothing(pair, monkeypatch):
    """What follows the ranks' tasks goes with them, and what they returned comes by itself."""
    with on_workers(SKEWED) as graph:
        first = ws.bfs(graph, 0)  # its columns are known from now on
        sent = []

        def sending(self: Client, message: dict[str, Any], usual: Any = Client._send_to_scheduler):
            sent.append(message["op"])
            return usual(self, message)

        def asking(*arguments: Any, **options: Any) -> Any:
            raise AssertionError("nobody need be asked")

        with monkeypatch.context() as patch:
            patch.setattr(Client, "_send_to_scheduler", sending)
            for name in ("nthreads", "gather", "who_has", "submit"):
                patch.setattr(Client, name, asking)
            patch.setattr("cugraph_ws.dask.client.FIRST_LOOK", 60.0)
            second = ws.bfs(graph, 0)
        assert sent.count("update-graph") == 1
        assert_same(second, first.compute().reset_index(drop=True))


def told_at_most(number: int) -> None:
    from cugraph_ws.dask import tasks as rank_tasks

    rank_tasks.LONGEST_EVENT = number


def test_summaries_too_long_for_an_event_are_requested(pair, monkeypatch):
    from cugraph_ws.dask.tasks import LONGEST_EVENT

    monkeypatch.setattr(
        DirectStart, "of", classmethod(lambda *_, **named: None)
    )  # a request gets the whole summary

    with on_workers(SKEWED) as graph, build(SKEWED) as whole:
        pair.client.run(told_at_most, 0)
        try:
            found = ws.run(ws.PageRank, graph, tol=1e-9)
        finally:
            pair.client.run(told_at_most, LONGEST_EVENT)
        expected = ws.run(ws.PageRank, whole, tol=1e-9)
        assert found.iterations == expected.iterations == len(found.trace)
        assert_same(found.frame, expected.frame, **CLOSE)


def results_of(client: Client, frame: Any) -> list[Any]:
    """Return the keys of what a call returned, in the order of the workers."""
    keys = {str(key) for key in client.futures if str(key).startswith(f"{SPLIT}-cugraph_ws-")}
    return sorted(keys & {str(key) for key in frame.__dask_graph__()})


def held_up(name: str) -> None:
    Event(name).wait(30)


def steal(dask_scheduler: Any) -> None:
    """Have the scheduler take tasks for long ones, and move waiting ones to idle workers."""
    for name in {SPLIT, held_up.__name__} & set(dask_scheduler.task_prefixes):
        dask_scheduler.task_prefixes[name].duration_average = 10.0
    dask_scheduler.extensions["stealing"].balance()


def test_a_result_stays_with_its_worker_that_is_busy(pair):
    """No call waits until it is taken out, and it is not sent to an idle worker."""
    busy: list[Any] = []
    with on_workers(SKEWED) as graph:
        addresses = [one["worker"] for one in graph.partitions]
        first = ws.run(Endless, graph, max_iter=1).frame
        wait(pair.client.persist(first))
        pair.client.run_on_scheduler(steal)

        def occupy(update: ws.ProgressUpdate) -> bool:
            if not busy:
                busy.append(pair.client.submit(held_up, "over", workers=addresses[:1], pure=False))
            return True

        frame = ws.run(Endless, graph, max_iter=60, progress=occupy).frame
        assert not busy[0].done()
        keys = results_of(pair.client, frame)
        assert len(keys) == len(addresses)
        for _ in range(5):
            pair.client.run_on_scheduler(steal)
            pair.client.run(int)  # until the worker has answered requests to give tasks away
        Event("over").set()
        wait(busy)
        eventually(lambda: all(pair.client.who_has().get(key) for key in keys))
        held = pair.client.who_has()
        assert [tuple(held[key]) for key in keys] == [(one,) for one in addresses]
        Event("over").clear()
        del first, frame


@pytest.mark.parametrize(
    "call",
    [
        lambda graph: ws.bfs(graph, 0),
        lambda graph: ws.k_core(graph, 2),
        lambda graph: ws.run(Endless, graph, max_iter=2),
        lambda graph: ws.run(Endless, graph, max_iter=2, progress=lambda update: True),
    ],
    ids=["a frame", "k_core", "a result", "progress"],
)
@pytest.mark.parametrize("used", [False, True], ids=["unread", "read"])
def test_results_are_freed_when_the_last_reference_goes(pair, call, used):
    """Only the graph's own shards stay, and on the client nothing of a run."""
    from cugraph_ws.dask import client as driver

    with on_workers(SKEWED) as graph:
        found = call(graph)
        frame = getattr(found, "frame", found)
        first = frame[0] if isinstance(frame, tuple) else frame
        if used:
            assert len(first.compute())
        assert max(pair.client.run(held_results).values()) > 1
        del found, frame, first
        gc.collect()
        eventually(lambda: set(pair.client.run(held_results).values()) == {1})
        assert not driver._EQUIPPED[pair.client]


# ------------------------------------------------------------------------- partitions as they come


def frames_of(edges: Edges, cuts: list[int]) -> Any:
    """Return the edges as a Dask frame, cut at these rows."""
    frame = edge_frame(edges)
    parts = [frame.iloc[a:b] for a, b in zip([0, *cuts], [*cuts, len(frame)], strict=True)]
    return dd.concat([dd.from_pandas(part, npartitions=1) for part in parts])


@pytest.mark.parametrize("cuts", [[], [0, 0, 0], [10_000], [1, 2, 2, 3]], ids=str)
def test_any_partitions(crowd, cuts):
    cuts = [min(cut, len(SKEWED.source)) for cut in cuts]
    parts = dd.from_delayed(
        frames_of(SKEWED, cuts).to_delayed(), meta=edge_frame(SKEWED).iloc[:0], verify_meta=False
    )
    expected = ws.sssp(edge_frame(SKEWED), 0, weight="weight")
    assert_same(ws.sssp(parts, 0, weight="weight"), expected)


def test_partitions_of_mixed_dtypes(crowd):
    import dask

    frame = edge_frame(SKEWED)
    third = len(frame) // 3
    parts = [
        frame.iloc[:third].astype({"source": "int32", "weight": "float32"}),
        frame.iloc[third : 2 * third].astype({"destination": "uint16"}),
        frame.iloc[2 * third :].astype({"source": "uint64"}),
    ]
    mixed = dd.from_delayed(
        [dask.delayed(part) for part in parts], meta=frame.iloc[:0], verify_meta=False
    )
    assert_same(ws.sssp(mixed, 0, weight="weight"), ws.sssp(frame, 0, weight="weight"))
    text = [parts[0], parts[1].astype({"source": "str"}), parts[2]]
    wrong = dd.from_delayed(
        [dask.delayed(part) for part in text], meta=frame.iloc[:0], verify_meta=False
    )
    with pytest.raises(ws.InputError, match="source"):
        ws.bfs(wrong, 0)


def test_a_partition_that_cannot_be_read_is_the_users_error(pair):
    def broken(part: pd.DataFrame) -> pd.DataFrame:
        raise ZeroDivisionError("of the user's own")

    edges = spread_edges(SKEWED).map_partitions(broken, meta=edge_frame(SKEWED).iloc[:0])
    with pytest.raises(ZeroDivisionError, match="of the user's own"):
        ws.bfs(edges, 0)


# ------------------------------------------------------------------------------- workers that go


def test_a_graph_is_built_again_after_its_worker_is_retired():
    """The shard's handle has moved to another worker, so Dask reports no loss."""
    with workers(3) as crowd, build(SKEWED) as whole, on_workers(SKEWED) as graph:
        expected = ws.bfs(whole, 0)
        assert_same(ws.bfs(graph, 0), expected)
        gone = graph.partitions[1]["worker"]
        crowd.client.retire_workers([gone])
        eventually(lambda: gone not in crowd.client.nthreads())
        assert_same(ws.bfs(graph, 0), expected)
        assert gone not in [one["worker"] for one in graph.partitions]
        gone = graph.partitions[0]["worker"]
        crowd.client.retire_workers([gone])
        eventually(lambda: gone not in crowd.client.nthreads())
        assert graph.report.vertices == SKEWED.n


def test_a_graph_is_built_again_after_its_worker_is_killed_between_calls(monkeypatch):
    """Dask informs the client."""
    with workers(2) as crowd, build(SKEWED) as whole, on_workers(SKEWED) as graph:
        expected = ws.bfs(whole, 0)
        frame = ws.bfs(graph, 0)
        gone = graph.partitions[0]["worker"]
        crowd.signal(gone)
        eventually(lambda: gone not in crowd.client.nthreads())
        with monkeypatch.context() as patch:
            patch.setattr("cugraph_ws.dask.client.LeftBeforeError", AssertionError)
            assert_same(ws.bfs(graph, 0), expected)
        with pytest.raises(ws.WorkerLostError, match=gone):
            frame.compute()


# ----------------------------------------------------------------------------- several at once


def test_other_tasks_in_the_only_thread_do_no_harm(pair):
    """Ranks leave the pool: tasks go on beside them, and they beside tasks."""
    with on_workers(SKEWED) as graph:
        with build(SKEWED) as whole:
            expected = ws.bfs(whole, 0)
        busy = [
            pair.client.submit(time.sleep, 0.2, workers=[one], pure=False)
            for one in pair.client.nthreads()
            for _ in range(4)
        ]
        assert_same(ws.bfs(graph, 0), expected)
        wait(busy)


def test_two_runs_at_once_on_one_graph_and_on_two(pair):
    other = rmat(8, 5, seed=55)
    with on_workers(SKEWED) as first, on_workers(other) as second, ThreadPoolExecutor(4) as pool:
        with build(SKEWED) as whole, build(other) as another:
            expected = [
                ws.sssp(whole, 0),
                ws.bfs(whole, 1),
                ws.sssp(another, 0),
                ws.bfs(another, 1),
            ]
        for _ in range(3):
            found = [
                pool.submit(ws.sssp, first, 0),
                pool.submit(ws.bfs, first, 1),
                pool.submit(ws.sssp, second, 0),
                pool.submit(ws.bfs, second, 1),
            ]
            for one, wanted in zip(found, expected, strict=True):
                assert_same(one.result(60), wanted)


def test_several_programs_follow_each_other(pair):
    programs = [(ws.SSSP, {"start": 0}), (ws.BFS, {"start": 1}), (ws.PageRank, {"max_iter": 3})]
    with on_workers(SKEWED) as graph, build(SKEWED) as whole:
        for there, here in ((graph, whole), (spread_edges(SKEWED), edge_frame(SKEWED))):
            found, expected = ws.run_many(programs, there), ws.run_many(programs, here)
            for result, alone in zip(found, expected, strict=True):
                assert_same(result.frame, alone.frame, **CLOSE)
        with pytest.raises(ws.InputError, match="100000") as caught:
            ws.run_many([*programs, (ws.BFS, {"start": 100_000})], graph)
        assert caught.value.__notes__[0] == "in programs[3], BFS"


def test_two_clusters_in_one_process(pair):
    """Each graph stays with its own client, whichever is current."""
    with workers(2) as others:
        here = ws.Graph(spread_edges(SKEWED), weight="weight", client=pair.client)
        there = ws.Graph(spread_edges(SKEWED), weight="weight", client=others.client)
        for graph, own in ((here, pair), (there, others)):
            assert [one["worker"] for one in graph.partitions] == sorted(own.client.nthreads())
        expected = ws.sssp(edge_frame(SKEWED), 0, weight="weight")

        def rows(graph: Any, own: Workers) -> pd.DataFrame:
            found = ws.sssp(graph, 0)
            return own.client.compute(found).result(60).reset_index(drop=True)

        for graph, own in ((here, pair), (there, others), (here, pair)):
            pd.testing.assert_frame_equal(rows(graph, own), expected)
        with ThreadPoolExecutor(2) as pool:
            found = [pool.submit(rows, here, pair), pool.submit(rows, there, others)]
            for one in found:
                pd.testing.assert_frame_equal(one.result(60), expected)
        here.close()
        there.close()


def test_workers_that_are_threads_of_this_process():
    """Nothing is kept by the process: three workers in one do not see each other's."""
    with (
        LocalCluster(
            n_workers=3, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        Client(cluster),
        build(SKEWED) as whole,
        on_workers(SKEWED) as graph,
    ):
        assert_same(ws.sssp(graph, 0), ws.sssp(whole, 0))
        ranks = ws.run(ws.PageRank, graph, tol=1e-12, max_iter=500)
        expected = ws.run(ws.PageRank, whole, tol=1e-12, max_iter=500)
        assert_same(ranks.frame, expected.frame, **CLOSE)
        with pytest.raises(ws.InputError, match="10000"):
            ws.bfs(graph, 10_000)


def test_a_local_cluster():
    with ws.local_cluster(2) as client:
        assert len(client.nthreads()) == 2
        assert_same(ws.bfs(spread_edges(SKEWED), 0), ws.bfs(edge_frame(SKEWED), 0))
    with pytest.raises(ws.InputError, match="workers"), ws.local_cluster(0):
        pass


def test_without_gpus_there_is_a_worker_of_one_thread_for_each_core(monkeypatch):
    """Which Dask makes of one thread a worker, and no number of workers."""
    asked = {}

    def cluster(**options):
        asked.update(options)
        return contextlib.nullcontext("cluster")

    monkeypatch.setattr(devices, "has_device", lambda: False)
    monkeypatch.setattr("distributed.LocalCluster", cluster)
    monkeypatch.setattr("distributed.Client", contextlib.nullcontext)
    with ws.local_cluster():
        pass
    assert (asked["n_workers"], asked["threads_per_worker"]) == (None, 1)


@pytest.mark.parametrize(
    ("given", "pools", "lacking", "expected"),
    [
        ({}, True, (), {"rmm_async": True}),
        ({}, True, ("rmm",), {}),
        ({}, False, (), {"rmm_async": False}),
        ({"rmm_pool_size": 0.5}, True, (), {"rmm_pool_size": 0.5}),
        (
            {"rmm_async": False, "silence_logs": 9},
            True,
            (),
            {"rmm_async": False, "silence_logs": 9},
        ),
    ],
)
def test_memory_of_a_local_cluster_on_gpus(given, pools, lacking, expected, monkeypatch):
    asked = []

    def cluster(**options):
        asked.append(options)
        return contextlib.nullcontext("cluster")

    module = types.ModuleType("dask_cuda")
    module.LocalCUDACluster = cluster
    gpus = [driver.Gpu("GPU of a test", 8 << 30, (9, 0), 132, 60 << 20, pools=one)
            for one in (True, pools)]  # fmt: skip
    monkeypatch.setitem(sys.modules, "dask_cuda", module)
    monkeypatch.setattr(devices, "has_device", lambda: True)
    monkeypatch.setattr(driver, "installed_gpus", lambda: gpus)
    monkeypatch.setattr(
        local.importlib.util, "find_spec", lambda name: None if name in lacking else name
    )
    monkeypatch.setattr("distributed.Client", contextlib.nullcontext)
    with ws.local_cluster(2, **given) as client:
        assert client == "cluster"
    (options,) = asked
    assert options.pop("dashboard_address").startswith("127.0.0.1")
    assert options == {"n_workers": 2, **expected}


def test_importing_the_library_imports_no_dask_and_changes_no_setting():
    code = """
import sys
import pandas as pd
import cugraph_ws as ws
ws.bfs(pd.DataFrame({"source": [0], "destination": [1]}), 0, engine="python")
loaded = {name.partition(".")[0] for name in sys.modules}
assert not loaded & {"dask", "distributed", "dask_expr", "dask_cuda"}, loaded
for name in [name for name in sys.modules if name.startswith("cugraph_ws")]:
    del sys.modules[name]
import dask, dask.config, dask.dataframe, distributed
before = repr(dask.config.config)
import cugraph_ws, cugraph_ws.dask.graph
assert repr(dask.config.config) == before
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


@ws.vertex_program
class Mean:
    """The mean of the messages, which is 0/0 where there are none."""

    x: ws.float64
    combine = sum
    max_iter = 1

    def init(vertex):
        return 1.0

    def compute(src):
        return (src.x, 1.0)

    def apply(gathered):
        total, count = gathered
        return total / count


def test_warnings_of_a_run_reach_the_client(pair):
    frame = pd.DataFrame({"source": ["c", "d", "a"], "destination": ["a", "b", "b"]})
    edges = dd.from_pandas(frame, npartitions=2)
    with pytest.warns(
        ws.GraphWarning, match="`x` is NaN at 2 vertices, such as vertex 'c'"
    ) as caught:
        ws.run(Mean, edges)
    assert [warning.filename for warning in caught] == [__file__]
