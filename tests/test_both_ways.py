"""Undirected graphs whose frames list edges in both directions: counted, and warned of."""

import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import stand_in_cudf
from emulator.device import emulated
from hypothesis import given, settings
from hypothesis import strategies as st

import cugraph_ws as ws
from cugraph_ws.generators import rmat


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
def test_both_places_count_alike(data, weighted, step):
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
        monkeypatch.setattr("cugraph_ws.adjacency._EDGES_A_THREAD", 1)
        assert ws.Graph(frame, directed=False).report.both_ways == expected > 0
