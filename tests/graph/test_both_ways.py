"""Undirected graphs whose frames list edges in both directions: counted, and warned of."""

import itertools
import warnings

import dask.dataframe as dd
import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import stand_in_cudf
from clusters import complaints
from distributed import Client, LocalCluster
from emulator.device import emulated
from hypothesis import given, settings
from hypothesis import strategies as st
from thread_ranks import on_ranks, over_links

import cugraph_ws as ws
from cugraph_ws.backends.cuda import shard_build as device_build
from cugraph_ws.backends.cuda.shard import DeviceShard
from cugraph_ws.graph.generators import rmat
from cugraph_ws.partition.build import build_shard


def frame_of(pairs, **columns):
    return pd.DataFrame(pairs, columns=["source", "destination"], dtype="int64").assign(**columns)


@pytest.fixture(params=["host", "device"])
def made(request):
    """What makes a frame of pandas one of the host, or of an emulated device."""
    if request.param == "host":
        yield lambda frame: frame
        return
    with emulated(), stand_in_cudf.installed():
        yield stand_in_cudf.DataFrame


def graph_without_warning(*arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return ws.Graph(*arguments, **options)


KARATE = np.array(nx.karate_club_graph().edges())
BOTH = np.concatenate([KARATE, KARATE[:, ::-1]])


def test_edges_listed_both_ways_are_noticed_and_said(made):
    frame = made(frame_of(BOTH, w=1.5))
    for options in ({}, {"weight": "w"}):
        with pytest.warns(ws.GraphWarning, match="78 pairs of vertices have edges in both") as told:
            graph = ws.Graph(frame, directed=False, **options)
        assert [one.filename for one in told] == [__file__]
        assert graph.report.both_ways == 78
        assert "78 pairs given both ways" in str(graph.report)
        assert ws.core_number(graph)["core_number"].max() == 8


def test_the_remedies_give_the_graph_that_was_meant(made):
    expected = pd.Series(nx.core_number(nx.karate_club_graph())).sort_index().tolist()
    for policy in ("first", "mean"):
        graph = graph_without_warning(
            made(frame_of(BOTH, w=1.5)), weight="w", directed=False, duplicates=policy
        )
        assert graph.report.both_ways == 0
        assert graph.number_of_edges == 78
        assert pd.Series(ws.core_number(graph)["core_number"]).tolist() == expected
    graph = graph_without_warning(made(frame_of(KARATE)), directed=False)
    assert pd.Series(ws.core_number(graph)["core_number"]).tolist() == expected


@pytest.mark.parametrize(
    "pairs",
    [
        [(0, 1), (2, 1), (2, 0)],
        [(0, 1), (0, 1), (2, 1), (2, 1)],  # parallel, but in one direction
        [(1, 1), (1, 1)],
        [],
        [(5, 900), (900, 7), (5, 900), (2**40, 7)],
    ],
)
def test_no_false_alarm(made, pairs):
    for options in ({}, {"weight": "w"}):
        graph = graph_without_warning(made(frame_of(pairs, w=1)), directed=False, **options)
        assert graph.report.both_ways == 0
        assert "both ways" not in str(graph.report)


def test_directed_graphs_and_symmetric_matrices_are_not_asked(made):
    graph = graph_without_warning(made(frame_of(BOTH)))
    assert graph.report.both_ways == 0
    matrix = sp.csr_array(nx.to_scipy_sparse_array(nx.karate_club_graph()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ws.Graph.from_matrix(matrix, directed=False).report.both_ways == 0


def test_functions_and_accessors_warn_at_the_callers_line():
    frame = frame_of([(0, 1), (1, 0), (1, 2)])
    for call in (
        lambda: ws.pagerank(frame, directed=False),
        lambda: frame.ws.core_number(directed=False),
        lambda: frame.ws.graph(directed=False),
        lambda: ws.Graph.from_arrays([0, 1], [1, 0], directed=False),
    ):
        with pytest.warns(ws.GraphWarning, match=r"1 pair of vertices has .*'first'") as told:
            call()
        assert [one.filename for one in told] == [__file__]


@settings(deadline=None, max_examples=25)
@given(data=st.data(), weighted=st.booleans(), step=st.sampled_from([1, 3, 10**10]))
def test_both_builds_count_equally(data, weighted, step):
    number = st.integers(0, 5).map(lambda one: 7 + step * one)
    pairs = data.draw(st.lists(st.tuples(number, number), max_size=25))
    frame = frame_of(pairs, w=1.0)
    options = {"directed": False, **({"weight": "w"} if weighted else {})}
    expected = sum((d, s) in pairs for s, d in set(pairs) if s < d)
    assert ws.Graph(frame, **options).report.both_ways == expected
    with emulated(), stand_in_cudf.installed():
        made = ws.Graph(stand_in_cudf.DataFrame(frame), **options)
        assert made.report.both_ways == expected
        assert ws.Graph(frame, **options).on_device().both_ways == 0  # a copy's rows are the host's


def test_many_threads_count_them_all(monkeypatch):
    frame = rmat(9, 16, seed=1, frame="pandas")
    pairs = set(zip(frame["source"], frame["destination"], strict=True))
    expected = sum((d, s) in pairs for s, d in pairs if s < d)
    for threads in ("1", "3"):
        monkeypatch.setenv("CUGRAPH_WS_THREADS", threads)
        monkeypatch.setattr("cugraph_ws.graph.adjacency._EDGES_A_THREAD", 1)
        assert ws.Graph(frame, directed=False).report.both_ways == expected > 0


# spread over a cluster


def pairs_of(pairs):
    return sum((d, s) in pairs for s, d in {tuple(pair) for pair in pairs} if s < d)


def parts_of(frame, size, make=lambda frame: frame):
    """Deal a frame's rows out to so many ranks, each with two partitions."""
    cuts = np.linspace(0, len(frame), 2 * size + 1).astype(int)
    parts = [
        (place, make(frame.iloc[first:last].reset_index(drop=True)))
        for place, (first, last) in enumerate(itertools.pairwise(cuts))
    ]
    return [parts[rank::size] for rank in range(size)]


def counts_of_members(frame, size, on_gpu, **options):
    """Return what each rank of a communicator says of a graph that all of them build."""
    make = stand_in_cudf.DataFrame if on_gpu else pd.DataFrame
    hands = parts_of(frame, size, make)

    def work(comm):
        shard = build_shard(comm, hands[comm.rank], meta=make(frame.iloc[:0]), **options)
        assert isinstance(shard, DeviceShard) == on_gpu
        return shard.own_both_ways, shard.report.both_ways

    if not on_gpu:
        return on_ranks(size, work)
    with emulated(), stand_in_cudf.installed():
        return over_links(size, work)


@settings(deadline=None, max_examples=25)
@given(
    data=st.data(),
    size=st.integers(1, 3),
    weighted=st.booleans(),
    step=st.sampled_from([1, 3, 10**10]),
    loops=st.sampled_from(["keep", "drop"]),
)
def test_ranks_count_each_pair_once(data, size, weighted, step, loops):
    number = st.integers(0, 5).map(lambda one: 7 + step * one)
    pairs = data.draw(st.lists(st.tuples(number, number), min_size=1, max_size=25))
    frame = frame_of(pairs, w=1.0)
    options = {"directed": False, "self_loops": loops, "weight": "w" if weighted else None}
    found = counts_of_members(frame, size, on_gpu=False, **options)
    assert {total for _, total in found} == {pairs_of(pairs)}
    assert sum(own for own, _ in found) == pairs_of(pairs)
    for more in ({"directed": True}, {"duplicates": "first"}):
        again = counts_of_members(frame, size, on_gpu=False, **{**options, **more})
        assert again == [(0, 0)] * size


@pytest.mark.parametrize("rounds", [1, 4])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_ranks_with_gpus_count_each_pair_once(size, rounds, monkeypatch):
    monkeypatch.setattr(device_build, "LEAST_ROUND", 1)
    monkeypatch.setattr(device_build, "ROUNDS", rounds)
    ends = np.random.default_rng(size).integers(0, 9, (40, 2))
    for pairs, options in (
        (3 * ends - 5, {}),
        (ends, {"weight": "w"}),
        (np.sort(ends, axis=1), {}),  # parallel, but in one direction
        (KARATE, {"weight": "w"}),
    ):
        expected = pairs_of(list(map(tuple, pairs.tolist())))
        assert (expected > 0) == (pairs.shape == ends.shape and (np.diff(pairs) < 0).any())
        frame = frame_of(pairs, w=1.0)
        found = counts_of_members(frame, size, on_gpu=True, directed=False, **options)
        assert {total for _, total in found} == {expected}
        assert sum(own for own, _ in found) == expected
    found = counts_of_members(frame_of(ends), size, on_gpu=True, directed=True)
    assert found == [(0, 0)] * size


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def test_a_cluster_warns_once_and_in_the_client(client):
    lazy = dd.from_pandas(frame_of(BOTH, w=1.5), npartitions=3, sort=False)
    with pytest.warns(ws.GraphWarning, match="78 pairs of vertices have edges in both") as told:
        graph = ws.Graph(lazy, weight="w", directed=False)
    assert [one.filename for one in told] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert graph.report.both_ways == 78
        assert "78 pairs given both ways" in str(graph.report)
        graph._let_go()  # as after the loss of a worker: it is built once more
        assert ws.core_number(graph)["core_number"].compute().max() == 8
        graph.close()
        for options in ({"duplicates": "first"}, {"duplicates": "mean", "weight": "w"}):
            with ws.Graph(lazy, directed=False, **options) as merged:
                assert merged.report.both_ways == 0
                assert merged.number_of_edges == 78
        with ws.Graph(lazy) as directed:
            assert directed.report.both_ways == 0
    assert not complaints(client, "edges in both directions")


def test_functions_of_a_dask_frame_warn_at_the_callers_line(client):
    lazy = dd.from_pandas(frame_of([(0, 1), (1, 0), (1, 2)]), npartitions=2, sort=False)
    for call in (
        lambda: ws.core_number(lazy, directed=False),
        lambda: lazy.ws.pagerank(directed=False),
        lambda: lazy.ws.graph(directed=False).close(),
    ):
        with pytest.warns(ws.GraphWarning, match=r"1 pair of vertices has .*'first'") as told:
            call()
        assert [one.filename for one in told] == [__file__]
