"""How many workers hold a graph: one, or each a part; and that parts exchange."""

from __future__ import annotations

from collections.abc import Iterator

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from clusters import Workers, assert_same, eventually, on_workers, workers
from shapes import build, rmat

import cugraph_ws as ws
from cugraph_ws.dask import graph as cluster_graph
from cugraph_ws.errors import GraphMemoryError

pytestmark = pytest.mark.xdist_group("cluster")

EDGES = rmat(8, 5, seed=61)


@pytest.fixture(scope="module")
def pair() -> Iterator[Workers]:
    with workers(2) as started, dask.config.set({"cugraph_ws.spread": "auto"}):
        yield started


def holders(graph: ws.Graph) -> list[str]:
    return [part["worker"] for part in graph.partitions]


def text_edges() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    ends = rng.integers(0, 40, (2, 200))
    names = np.array([f"v{number}" for number in range(40)], object)
    return pd.DataFrame({"source": names[ends[0]], "destination": names[ends[1]]})


@pytest.mark.parametrize(
    ("spread", "number"), [("auto", 1), ("one", 1), ("parts", 2)], ids=["auto", "one", "parts"]
)
def test_a_small_graph_is_on_one_worker_unless_parts_are_asked_for(pair, spread, number):
    with on_workers(EDGES, spread=spread) as graph, build(EDGES) as whole:
        assert len(holders(graph)) == number
        assert_same(ws.bfs(graph, 0), ws.bfs(whole, 0))
        result = ws.run(ws.PageRank, graph, max_iter=5, tol=0.0)
        assert result.frame.npartitions == number
        rows = result.trace
        assert set(rows["partitions"]) == {number}
        assert (rows["bytes_sent"].sum() > 0) == (number > 1)  # parts exchange


def test_functions_of_one_worker_give_the_same(pair):
    values = pd.DataFrame({"vertex": range(EDGES.n), "value": np.arange(EDGES.n) % 3})
    calls = [
        ws.weakly_connected_components,
        lambda graph: ws.pagerank(graph, personalization=values),
        lambda graph: ws.multi_source_bfs(graph, [0, 5]),
        lambda graph: ws.closeness_centrality(graph, [0, 1]),
        ws.label_propagation,
        ws.triangle_count,
        ws.triangle_count,  # by rows that the first call has kept
        ws.clustering_coefficient,
    ]
    with on_workers(EDGES, spread="one") as graph, build(EDGES) as whole:
        for call in calls:
            assert_same(call(graph), call(whole))
        assert ws.louvain(graph)[1] == ws.louvain(whole)[1]
        divided = dd.from_pandas(values, npartitions=3)
        assert_same(
            ws.pagerank(graph, personalization=divided), ws.pagerank(whole, personalization=values)
        )


def test_text_ids_are_looked_up_on_the_one_worker(pair):
    divided = dd.from_pandas(text_edges(), npartitions=3)
    edges = divided.compute()
    with ws.Graph(divided, spread="one") as graph:
        assert_same(ws.bfs(graph, "v3"), ws.bfs(edges, "v3"))
        with pytest.raises(ws.InputError, match="nowhere"):
            ws.bfs(graph, "nowhere")
    assert_same(ws.pagerank(divided), ws.pagerank(edges))


def test_larger_frames_and_arguments_about_several_workers_mean_parts(pair, monkeypatch):
    with on_workers(EDGES, balance=[1, 2]) as graph:
        assert len(holders(graph)) == 2
    for spread in ("one", "copies"):
        with pytest.raises(ws.InputError, match=f"spread='{spread}': balance= and links="):
            on_workers(EDGES, balance=[1, 2], spread=spread)
    monkeypatch.setattr(cluster_graph, "ON_ONE", 100)
    with on_workers(EDGES) as graph:
        assert len(holders(graph)) == 2


def test_what_does_not_fit_one_worker_is_divided(pair, monkeypatch):
    """With "auto"; "one" is what the caller wants, and is refused."""
    build_on = cluster_graph.ClusterGraph._build_on

    def full(graph: ws.Graph, addresses: list[str], parts: list[object]) -> None:
        if len(addresses) == 1:
            raise GraphMemoryError("too little memory")
        build_on(graph, addresses, parts)

    monkeypatch.setattr(cluster_graph.ClusterGraph, "_build_on", full)
    with on_workers(EDGES) as graph:
        assert len(holders(graph)) == 2
    with pytest.raises(GraphMemoryError, match="too little memory"):
        on_workers(EDGES, spread="one")


def test_the_worker_with_most_of_the_frame_is_chosen(pair):
    first, second = pair.pids()
    rows = text_edges()
    for most, least in ((first, second), (second, first)):
        parts = [
            pair.client.submit(lambda part: part, part, workers=[address], pure=False)
            for part, address in ((rows, most), (rows[:9], least))
        ]
        frame = dd.from_delayed(parts, meta=rows[:0], verify_meta=False)
        with ws.Graph(frame) as graph:
            assert holders(graph) == [most]


def test_the_configuration_replaces_auto(pair):
    with dask.config.set({"cugraph_ws.spread": "parts"}), on_workers(EDGES) as graph:
        assert len(holders(graph)) == 2
    with (
        dask.config.set({"cugraph_ws.spread": "some"}),
        pytest.raises(ws.InputError, match="spread='some': choose one of"),
    ):
        on_workers(EDGES)


def test_spread_is_for_dask_frames():
    with pytest.raises(ws.InputError, match="spread= is for Dask frames"):
        ws.Graph(text_edges(), spread="one")


def test_a_lost_worker_is_replaced_by_another():
    with workers(2) as started, on_workers(EDGES, spread="one") as graph:
        (gone,) = holders(graph)
        started.client.retire_workers([gone])
        eventually(lambda: gone not in started.client.nthreads())
        with build(EDGES) as whole:
            assert_same(ws.bfs(graph, 0), ws.bfs(whole, 0))
        assert holders(graph) != [gone]


@pytest.fixture(scope="module")
def copies(pair) -> Iterator[ws.Graph]:
    with on_workers(EDGES, spread="copies") as graph:
        yield graph


DIVIDED = {
    "betweenness": lambda graph: ws.betweenness_centrality(graph),
    "sampled": lambda graph: ws.betweenness_centrality(graph, k=7, seed=2),
    "one source": lambda graph: ws.betweenness_centrality(graph, k=[3]),
    "endpoints": lambda graph: ws.betweenness_centrality(graph, endpoints=True, weighted=True),
    "edge betweenness": lambda graph: ws.edge_betweenness_centrality(graph, k=[1, 5, 9]),
    "closeness": lambda graph: ws.closeness_centrality(graph),
    "closeness of some": lambda graph: ws.closeness_centrality(graph, [9, 0, 4, 5, 2]),
    "harmonic": lambda graph: ws.harmonic_centrality(graph, np.arange(20)),
    "eccentricity": lambda graph: ws.eccentricity(graph, pd.Series([8, 3, 1]), connected=False),
    "searches": lambda graph: ws.multi_source_bfs(graph, [5, 0, 17, 0, 2]),
    "weighted searches": lambda graph: ws.multi_source_sssp(graph, [4, 3]),
    "ranks of seeds": lambda graph: ws.personalized_pagerank(graph, [7, 0, 2], top=5),
}


@pytest.mark.parametrize("call", DIVIDED.values(), ids=DIVIDED)
def test_copies_divide_the_sources(copies, call):
    assert [part["owned"] for part in copies.partitions] == [EDGES.n] * 2
    with build(EDGES) as whole:
        frame = call(copies)
        assert_same(frame, call(whole), rtol=1e-12)


def test_each_copy_searches_from_its_part_of_the_sources(pair, copies):
    found = ws.multi_source_bfs(copies, [1, 2, 3, 4, 5])
    assert found.npartitions == 2
    sources = [found.get_partition(which).compute()["source"].unique() for which in range(2)]
    assert [part.tolist() for part in sources] == [[1, 2, 3], [4, 5]]


def test_what_copies_do_not_divide_one_of_them_does(copies):
    with build(EDGES) as whole:
        for call in (
            lambda graph: ws.bfs(graph, 0),
            ws.pagerank,
            lambda graph: ws.closeness_centrality(graph, k=4),
            lambda graph: ws.multi_source_bfs(graph, [3]),
            lambda graph: ws.random_walks(graph, [3, 0], 5, seed=1),
            lambda graph: ws.neighbor_sample(graph, [3, 0], [3, 2], seed=1),
            lambda graph: ws.personalized_pagerank(graph, [0, 1], format="columns"),
        ):
            frame = call(copies)
            assert frame.npartitions == 1
            assert_same(frame, call(whole))
        assert copies.report.vertices == whole.report.vertices


def test_a_frame_of_a_cluster_is_read_with_the_columns_that_a_sample_names(pair):
    numbers = np.arange(300)
    edges = pd.DataFrame(
        {"source": numbers % 31, "destination": numbers % 17, "row": numbers, "day": numbers % 7}
    )
    divided = dd.from_pandas(edges, npartitions=3)
    given = {"attributes": "row", "time": "day", "before": 3, "seed": 1}
    found = ws.neighbor_sample(divided, [3], [4, 2], **given)
    assert found.npartitions == 1
    assert_same(found, ws.neighbor_sample(edges, [3], [4, 2], **given))
    with (
        ws.Graph(divided, spread="parts") as graph,
        pytest.raises(ws.InputError, match="spread='one'"),
    ):
        ws.neighbor_sample(graph, [3], [4])


def test_errors_and_graphs_of_copies(copies):
    with pytest.raises(ws.InputError, match="999"):
        ws.multi_source_bfs(copies, [0, 1, 999])
    labels = pd.DataFrame({"vertex": range(EDGES.n), "label": np.arange(EDGES.n) % 9})
    with (
        copies.contract(dd.from_pandas(labels, npartitions=3)) as small,
        build(EDGES) as whole,
        whole.contract(labels) as expected,
    ):
        assert [part["owned"] for part in small.partitions] == [9, 9]
        assert_same(
            ws.betweenness_centrality(small), ws.betweenness_centrality(expected), rtol=1e-12
        )


def test_a_copy_that_stops_early_makes_the_call_fail(copies, monkeypatch):
    with pytest.raises(ws.ConvergenceError, match="betweenness"):
        ws.betweenness_centrality(copies, timeout=1e-9)


def test_text_ids_are_divided_among_copies(pair):
    divided = dd.from_pandas(text_edges(), npartitions=3)
    edges = divided.compute()
    with ws.Graph(divided, spread="copies") as graph:
        assert_same(ws.closeness_centrality(graph), ws.closeness_centrality(edges))
        starts = ["v9", "v1", "v3"]
        assert_same(ws.multi_source_bfs(graph, starts), ws.multi_source_bfs(edges, starts))


def test_vertices_that_go_together_give_the_same(pair, tmp_path):
    """Whoever owns a vertex, results are in the order of ids over all workers; and less is sent."""
    rng = np.random.default_rng(5)
    side = 24
    ids = rng.permutation(side * side).reshape(side, side)
    tails = np.concatenate([ids[:, :-1].ravel(), ids[:-1].ravel()])
    heads = np.concatenate([ids[:, 1:].ravel(), ids[1:].ravel()])
    frame = pd.DataFrame({"source": tails, "destination": heads})
    column = np.empty(side * side, np.int64)
    column[ids.ravel()] = np.arange(side * side) % side // 8
    vertices = pd.DataFrame({"vertex": range(side * side), "third": column})
    edges = dd.from_pandas(frame, npartitions=3)
    sent = {}
    for cut in ("ranges", "arcs", "third"):
        options = {"directed": False, "vertices": vertices, "spread": "parts"}
        with ws.Graph(edges, cut=cut, **options) as graph, ws.Graph(frame, directed=False) as whole:
            assert_same(ws.bfs(graph, 3), ws.bfs(whole, 3))
            assert_same(
                ws.weakly_connected_components(graph), ws.weakly_connected_components(whole)
            )
            assert_same(ws.jaccard(graph), ws.jaccard(whole))
            path = tmp_path / cut
            ws.run(ws.PageRank, graph, max_iter=4, tol=0.0, checkpoint=path)
            result = ws.run(ws.PageRank, graph, max_iter=8, tol=0.0, resume=path)
            assert_same(result.frame, ws.run(ws.PageRank, whole, max_iter=8, tol=0.0).frame)
            sent[cut] = int(result.trace["bytes_sent"].sum())
    assert 10 * sent["arcs"] <= sent["ranges"]
    assert sent["third"] < sent["ranges"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cut": "country"}, "cut='country': give 'ranges', 'arcs', or a column of vertices="),
        ({"cut": "arcs", "balance": [1, 2]}, "leave out one of the two"),
        ({"cut": 4}, "cut=4 must be text"),
    ],
)
def test_cuts_that_cannot_be_made(pair, options, message):
    with pytest.raises(ws.InputError, match=message):
        ws.Graph(dd.from_pandas(text_edges(), npartitions=2), **options)
