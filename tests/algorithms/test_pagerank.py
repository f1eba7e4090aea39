"""PageRank: against a sparse linear solve and NetworkX, its residual by the verifier."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import networkx as nx
import numpy as np
import oracles
import pandas as pd
import pytest
import stand_in_cudf
from emulator.device import emulated
from pagerank_cases import CASES, PageRankCase
from shapes import (
    FRAME_KINDS,
    SHAPES,
    build,
    column,
    edge_frame,
    frame,
    rmat,
    undirected,
    vertex_frame,
)
from thread_ranks import on_ranks, share
from verify import Array, Edges, check_pagerank

import cugraph_ws as ws
from cugraph_ws.backends.cuda.graph import DeviceGraph
from cugraph_ws.graph.arcs import Arcs

# Ranks are at most (residual / (1 - alpha)) away from the true ones, in the L1 norm.
TIGHT = {"tol": 1e-12, "max_iter": 1000}


def rank(edges: Edges, *, weighted: bool = True, **options) -> Array:
    with build(edges, weighted=weighted) as graph:
        result = ws.pagerank(graph, **{**TIGHT, **options})
    assert column(result, "vertex").tolist() == list(range(edges.n))
    return column(result, "pagerank")


WEIGHTED = {"source": [0, 0, 1], "destination": [1, 2, 2], "weight": [1.0, 2.0, 1.0]}


def graph_of_case(case: PageRankCase) -> ws.Graph:
    ends = np.array(case.edges, np.int64).reshape(-1, 2)
    frame = pd.DataFrame({"source": ends[:, 0], "destination": ends[:, 1]})
    if case.weights is not None:
        frame["weight"] = case.weights
    return ws.Graph(
        frame,
        weight=None if case.weights is None else "weight",
        directed=case.directed,
        vertices=pd.DataFrame({"vertex": list(case.vertices)}),
    )


def values(edges: Edges, numbers: Array) -> pd.DataFrame:
    return vertex_frame(edges, values=numbers)


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_every_shape(shape, directed):
    edges = shape if directed else undirected(shape)
    ranks = rank(edges)
    np.testing.assert_allclose(ranks, oracles.pagerank(edges), rtol=0, atol=1e-11)
    check_pagerank(edges, ranks, 1e-11)


def test_unweighted(tiny_shape):
    edges = replace(tiny_shape, weight=None)
    ranks = rank(edges, tol=1e-6)
    check_pagerank(edges, ranks, 2e-6)
    assert len(ranks) == edges.n


def test_engines_agree(tiny_shape):
    compiled = rank(tiny_shape, engine="cpu")
    plain = rank(tiny_shape, engine="python")
    np.testing.assert_allclose(compiled, plain, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.5, 0.99])
def test_alpha(alpha):
    for name in ("random", "star", "rmat"):
        edges = SHAPES[name]
        ranks = rank(edges, alpha=alpha, max_iter=10_000)
        expected = oracles.pagerank(edges, alpha)
        np.testing.assert_allclose(ranks, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["random sparse", "star", "two components", "grid"])
def test_personalization_and_dangling(name):
    edges = SHAPES[name]
    restart, spread = np.arange(edges.n) % 4.0, (np.arange(edges.n) + 1) % 3.0
    for parameters in (
        {"personalization": restart},
        {"dangling": spread},
        {"personalization": restart, "dangling": spread, "alpha": 0.7},
    ):
        frames = {
            name: values(edges, given) if isinstance(given, np.ndarray) else given
            for name, given in parameters.items()
        }
        ranks = rank(edges, **frames)
        expected = oracles.pagerank(edges, **parameters)
        np.testing.assert_allclose(ranks, expected, rtol=0, atol=1e-10)
        check_pagerank(edges, ranks, 1e-10, **parameters)


def test_personalization_may_name_a_few_vertices():
    edges = SHAPES["random"]
    few = pd.DataFrame({"vertex": [7, 3], "values": [1.0, 3.0]})
    restart = np.zeros(edges.n)
    restart[[7, 3]] = 1.0, 3.0
    expected = oracles.pagerank(edges, personalization=restart)
    np.testing.assert_allclose(rank(edges, personalization=few), expected, rtol=0, atol=1e-11)
    by_name = rank(edges, personalization={7: 1.0, 3: 3.0})
    np.testing.assert_allclose(by_name, expected, rtol=0, atol=1e-11)


def test_precomputed_out_weights():
    edges = SHAPES["random"]
    out_weight = np.bincount(edges.source, edges.weight, edges.n)
    ranks = rank(edges, precomputed_vertex_out_weight=values(edges, out_weight))
    np.testing.assert_allclose(ranks, rank(edges), rtol=0, atol=1e-12)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("engine", ["cpu", "python"])
def test_the_ranks_of_other_libraries(case, engine):
    with graph_of_case(case) as graph:
        result = ws.pagerank(graph, engine=engine, **TIGHT, **case.arguments)
    assert result["vertex"].tolist() == list(case.vertices)
    np.testing.assert_allclose(result["pagerank"], case.ranks, rtol=0, atol=1e-9)


def test_the_golden_ranks_of_a_personalised_path():
    path = pd.DataFrame({"source": [0, 1, 2], "destination": [1, 2, 3]})
    ranks = ws.pagerank(path, personalization={0: 0.1, 1: 0.2, 2: 0.3, 3: 0.4})["pagerank"]
    np.testing.assert_allclose(ranks, [0.0559, 0.1594, 0.3032, 0.4815], rtol=0, atol=1e-4)


def test_the_ranks_of_other_libraries_on_a_cluster():
    for case in CASES:
        with graph_of_case(case) as graph:
            found = pd.concat(
                on_ranks(
                    2,
                    lambda comm, graph=graph, case=case: ws.pagerank(
                        share(graph, comm), **TIGHT, **case.arguments
                    ),
                )
            )
        np.testing.assert_allclose(found["pagerank"], case.ranks, rtol=0, atol=1e-9)


def test_the_ranks_of_other_libraries_on_a_gpu():
    for case in CASES[::6]:
        with emulated(), graph_of_case(case) as graph:
            found = ws.pagerank(graph, engine="cuda", **TIGHT, **case.arguments)
        np.testing.assert_allclose(found["pagerank"], case.ranks, rtol=0, atol=1e-9)


def test_out_weights_that_are_left_out_are_those_of_the_graph():
    edges = SHAPES["random sparse"]
    out_weight = np.bincount(edges.source, edges.weight, edges.n)
    there = np.flatnonzero(out_weight)  # as users of cuGraph give them: sinks are left out
    few = pd.DataFrame({"vertex": there, "sums": out_weight[there]})
    assert len(few) < edges.n
    np.testing.assert_allclose(
        rank(edges, precomputed_vertex_out_weight=few), rank(edges), rtol=0, atol=1e-12
    )
    one = {int(there[0]): 2.0 * out_weight[there[0]]}
    doubled = out_weight.copy()
    doubled[there[0]] *= 2.0
    expected = oracles.pagerank(edges, out_weight=doubled)
    found = rank(edges, precomputed_vertex_out_weight=one)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)
    with build(edges) as graph:
        parts = on_ranks(
            2,
            lambda comm: ws.pagerank(
                share(graph, comm), precomputed_vertex_out_weight=one, **TIGHT
            ),
        )
    np.testing.assert_allclose(pd.concat(parts)["pagerank"], expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("argument", ["personalization", "nstart", "dangling"])
def test_shares_may_add_up_to_more_than_a_float_holds(argument):
    edges = SHAPES["random sparse"]
    shares = np.arange(edges.n) % 3.0
    huge = values(edges, shares * 8e307)
    expected = rank(edges, **{argument: values(edges, shares)})
    np.testing.assert_allclose(rank(edges, **{argument: huge}), expected, rtol=0, atol=1e-11)
    with build(edges) as graph:
        parts = on_ranks(
            2, lambda comm: ws.pagerank(share(graph, comm), **{argument: huge}, **TIGHT)
        )
    np.testing.assert_allclose(pd.concat(parts)["pagerank"], expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("weighted", [True, False])
def test_out_weights_are_added_up_once_for_a_graph(weighted, monkeypatch):
    counted: list[str] = []

    def counting(name):
        original = getattr(Arcs, name)

        def wrapper(self, *arguments, **options):
            counted.append(name)
            return original(self, *arguments, **options)

        return wrapper

    monkeypatch.setattr(Arcs, "weight_sums", counting("weight_sums"))
    with build(SHAPES["random"], weighted=weighted) as graph:
        first = ws.pagerank(graph)
        kept = graph.weight_sums("weight" if weighted else None, incoming=False)
        assert kept is graph.weight_sums("weight" if weighted else None, incoming=False)
        assert graph.degree_array(incoming=True) is graph.degree_array(incoming=True)
        again = ws.pagerank(graph)
    assert counted == (["weight_sums"] if weighted else [])
    assert first.equals(again)
    assert graph._sums == {}  # the graph is closed
    with pytest.raises(ws.InputError, match="closed"):
        graph.degree_array(incoming=True)


def test_out_weights_are_added_up_once_on_a_gpu(monkeypatch):
    counted: list[str] = []
    original = DeviceGraph.out_weight_sums

    def counting(self, name):
        counted.append(name)
        return original(self, name)

    monkeypatch.setattr(DeviceGraph, "out_weight_sums", counting)
    given = stand_in_cudf.DataFrame(WEIGHTED)
    with emulated(), stand_in_cudf.installed(), ws.Graph(given, weight="weight") as graph:
        first = ws.pagerank(graph)
        again = ws.pagerank(graph)
        on_device = graph.weight_sums("weight", incoming=False, on_device=True)
        assert on_device is graph.weight_sums("weight", incoming=False, on_device=True)
        assert graph.weight_sums("weight", incoming=False).tolist() == [3.0, 1.0, 0.0]
    assert counted == ["weight"]
    assert first.equals(again)


def test_sums_cached_on_a_gpu_are_not_needed_after_it_is_freed():
    with build(SHAPES["random"]) as graph:
        with emulated():
            graph.weight_sums("weight", incoming=True, on_device=True)
            graph.degree_array(incoming=True, on_device=True)
        sums = np.bincount(
            SHAPES["random"].destination, SHAPES["random"].weight, graph.number_of_vertices
        )
        assert graph.weight_sums("weight", incoming=True).tolist() == sums.tolist()
        assert graph.degree_array(incoming=True).sum() == graph.number_of_edges


@pytest.mark.parametrize("scale", [1.0, 123.0])
def test_the_starting_point_does_not_matter(scale):
    edges = SHAPES["random"]
    start = values(edges, scale * (np.arange(edges.n) % 7.0))
    np.testing.assert_allclose(rank(edges, nstart=start), rank(edges), rtol=0, atol=1e-11)


def test_starting_at_the_answer_ends_at_once():
    edges = SHAPES["random"]
    with build(edges) as graph:
        near = ws.pagerank(graph, **TIGHT)
        start = near.rename(columns={"pagerank": "values"})
        again = ws.pagerank(graph, nstart=start, tol=1e-6, max_iter=1)
    np.testing.assert_allclose(again["pagerank"], near["pagerank"], rtol=0, atol=1e-11)


def test_a_vertex_of_zero_weights_dangles():
    edges = SHAPES["random sparse"]
    none = replace(edges, weight=np.where(edges.source % 3 == 0, 0.0, edges.weight))
    np.testing.assert_allclose(rank(none), oracles.pagerank(none), rtol=0, atol=1e-11)


def test_the_tolerance_bounds_the_residual():
    edges = rmat(11, 8, seed=16)
    for tol in (1e-3, 1e-6, 1e-9):
        check_pagerank(edges, rank(edges, tol=tol), 2 * tol)


def test_a_larger_graph_against_networkx():
    edges = undirected(rmat(10, 8, seed=17))
    expected = nx.pagerank(oracles.networkx_graph(edges), tol=1e-13, max_iter=1000)
    ranks = rank(edges)
    np.testing.assert_allclose(ranks, [expected[v] for v in range(edges.n)], rtol=0, atol=1e-10)


def test_ranks_do_not_depend_on_the_number_of_threads(monkeypatch):
    edges = rmat(10, 8, seed=18)
    monkeypatch.setenv("CUGRAPH_WS_THREADS", "1")
    serial = rank(edges)
    monkeypatch.setenv("CUGRAPH_WS_THREADS", "3")
    np.testing.assert_allclose(rank(edges), serial, rtol=1e-12)


@pytest.mark.parametrize("kind", FRAME_KINDS)
def test_the_frame_that_went_in_comes_out(kind):
    given = edge_frame(SHAPES["star"], kind)
    result = ws.pagerank(given)
    assert type(result) is type(given)
    ranks = column(result, "pagerank")
    assert ranks.sum() == pytest.approx(1)
    assert ranks[0] < ranks[1]


def test_frames_of_another_kind_may_carry_vertex_values():
    edges = SHAPES["random"]
    given = frame({"vertex": [7], "values": [1.0]}, "pyarrow")
    restart = (np.arange(edges.n) == 7).astype(float)
    expected = oracles.pagerank(edges, personalization=restart)
    np.testing.assert_allclose(rank(edges, personalization=given), expected, rtol=0, atol=1e-11)


def test_not_converging_is_an_error_that_carries_the_ranks_so_far():
    edges = edge_frame(SHAPES["random"])
    with pytest.raises(ws.ConvergenceError, match="max_iter") as caught:
        ws.pagerank(edges, max_iter=2, tol=1e-12)
    assert column(caught.value.result.frame, "pagerank").sum() == pytest.approx(1)
    result = ws.pagerank(edges, max_iter=2, tol=1e-12, fail_on_nonconvergence=False)
    assert column(result, "pagerank").sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("alpha", 1.5),
        ("alpha", -0.1),
        ("alpha", float("nan")),
        ("tol", -1.0),
        ("tol", float("nan")),
        ("max_iter", -1),
        ("max_iter", 2.5),
        ("personalization", {0: -1.0, 1: 3.0}),
        ("personalization", {0: 0.0}),
        ("personalization", {999: 1.0}),
        ("personalization", pd.DataFrame({"vertex": [0, 0], "values": [1.0, 2.0]})),
        ("dangling", {0: float("nan")}),
        ("dangling", {1: -1.0}),
        ("nstart", {0: 0.0}),
        ("precomputed_vertex_out_weight", {0: -1.0}),
    ],
)
def test_senseless_arguments_are_refused(argument, value):
    with pytest.raises(ws.InputError, match=argument):
        ws.pagerank(edge_frame(SHAPES["random"]), weight="weight", **{argument: value})


@pytest.mark.parametrize("weight", [5e-324, 1e-310, 1e300, 1e308])
def test_weights_at_the_ends_of_floats_are_refused_or_ranked_right(weight):
    edges = Edges(np.array([0, 0, 1]), np.array([1, 2, 0]), 3, np.full(3, weight))
    units = replace(edges, weight=np.ones(3))
    with contextlib.suppress(ws.InputError):
        np.testing.assert_allclose(rank(edges), rank(units), rtol=1e-9)


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_bad_weights_are_refused(weight):
    edges = pd.DataFrame({"source": [0, 1], "destination": [1, 2], "weight": [1.0, weight]})
    with pytest.raises(ws.InputError, match="weight"):
        ws.pagerank(edges, weight="weight")
