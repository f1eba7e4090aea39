"""Paths: every one leads from a start to its target over edges that add up to the distance."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import oracles
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapes import (
    FRAME_KINDS,
    SHAPES,
    build,
    column,
    edge_frame,
    frame,
    grid,
    random_edges,
    undirected,
)
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.algorithms.components import WeaklyConnectedComponents
from cugraph_ws.algorithms.paths import shortest_path

CHAIN = {"source": ["a", "b", "a", "x"], "destination": ["b", "c", "d", "y"]}


def paths_of(found) -> dict[int, list[tuple[int, float]]]:
    """Return vertices and values by target; positions count from 0."""
    name = "width" if "width" in found else "distance"
    paths: dict[int, list[tuple[int, float]]] = {}
    rows = [column(found, each).tolist() for each in ("target", "position", "vertex", name)]
    for target, position, vertex, value in zip(*rows, strict=True):
        assert position == len(paths.setdefault(target, []))
        paths[target].append((vertex, value))
    return paths


def check_lengths(edges: Edges, start: int, found) -> None:
    shortest = oracles.dijkstra(edges, start)
    length = {}
    for u, v, w in zip(*map(np.ndarray.tolist, edges.arcs()), strict=True):
        length[u, v] = min(w, length.get((u, v), np.inf))
    paths = paths_of(found)
    assert set(paths) == set(np.flatnonzero(np.isfinite(shortest)).tolist())
    for target, path in paths.items():
        assert path[0] == (start, 0)
        assert path[-1] == (target, shortest[target])
        for (u, before), (v, after) in itertools.pairwise(path):
            assert before + length[u, v] == after


@pytest.mark.parametrize("weighted", [True, False], ids=["sssp", "bfs"])
@pytest.mark.parametrize("text", [True, False], ids=["text", "numbers"])
def test_a_graph_is_searched_without_a_frame(tiny_shape, weighted, text, monkeypatch):
    edges = edge_frame(tiny_shape, weighted=weighted)
    if edges.empty:
        return
    if text:
        edges = edges.assign(**{end: edges[end].astype(str) for end in ("source", "destination")})
    graph, start = ws.Graph(edges), edges["source"][0]
    targets = edges["destination"].tolist()
    expected = shortest_path((ws.sssp if weighted else ws.bfs)(graph, start), targets)
    with monkeypatch.context() as patch:
        patch.setattr(ws.Graph, "vertex_frame", None)
        found = shortest_path(graph, start, targets)
    pd.testing.assert_frame_equal(found, expected)


@pytest.mark.parametrize("whole", [True, False], ids=["result", "frame"])
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_every_target_of_every_shape(tiny_shape, directed, whole):
    edges = tiny_shape if directed else undirected(tiny_shape)
    if edges.n == 0:
        return
    with build(edges) as graph:
        result = ws.run(ws.SSSP, graph, source=0) if whole else ws.sssp(graph, 0)
        check_lengths(edges, 0, shortest_path(result, np.arange(edges.n)))


@pytest.mark.parametrize("unreachable", ["null", "max"])
def test_a_larger_grid(unreachable):
    edges = grid(40, 40, 0.3, seed=5)
    with build(edges) as graph:
        found = shortest_path(ws.sssp(graph, 7, unreachable=unreachable), np.arange(edges.n))
    check_lengths(edges, 7, found)


@given(st.integers(1, 12), st.integers(0, 40), st.integers(0, 10**6), st.booleans())
def test_random_graphs_with_ties_and_zeros(n, m, seed, directed):
    edges = random_edges(n, m, seed, weights="ties")
    edges = edges if directed else undirected(edges)
    with build(edges) as graph:
        check_lengths(edges, 0, shortest_path(ws.sssp(graph, 0), np.arange(n)))


def test_hops_against_networkx():
    graph = nx.karate_club_graph()
    source, destination = np.array(graph.edges).T
    edges = frame({"source": source, "destination": destination})
    found = shortest_path(ws.bfs(edges, 0, directed=False), list(range(34)))
    lengths = nx.single_source_shortest_path_length(graph, 0)
    assert {v: len(path) - 1 for v, path in paths_of(found).items()} == dict(lengths)


def test_widest_paths():
    edges = SHAPES["random"]
    with build(edges) as graph:
        found = shortest_path(ws.widest_path(graph, 0), np.arange(edges.n))
    widths = oracles.widest_path(edges, 0)
    widest = {}
    for u, v, w in zip(*map(np.ndarray.tolist, edges.arcs()), strict=True):
        widest[u, v] = max(w, widest.get((u, v), -np.inf))
    paths = paths_of(found)
    assert set(paths) == set(np.flatnonzero(~np.isnan(widths)).tolist())
    for target, path in paths.items():
        steps = [widest[u, v] for (u, _), (v, _) in itertools.pairwise(path)]
        assert min(steps, default=np.inf) == widths[target] == path[-1][1]


@pytest.mark.parametrize("kind", FRAME_KINDS)
def test_the_kind_and_the_ids_of_the_result(kind):
    edges = frame(CHAIN, kind)
    found = shortest_path(ws.bfs(edges, "a"), ["c", "y", "a", "c", "d"])
    assert type(found) is type(edges)
    assert column(found, "target").tolist() == ["c", "c", "c", "a", "d", "d"]
    assert column(found, "position").tolist() == [0, 1, 2, 0, 0, 1]
    assert column(found, "vertex").tolist() == ["a", "b", "c", "a", "a", "d"]
    assert column(found, "distance").tolist() == [0, 1, 2, 0, 0, 1]


def test_types_of_pandas_columns():
    edges = frame({"source": np.array([1, 2], np.int32), "destination": np.array([2, 9], np.int32)})
    found = shortest_path(ws.sssp(edges, 1), 9)
    assert found.dtypes.astype(str).to_dict() == {
        "target": "int32", "position": "int64", "vertex": "int32", "distance": "int64",
    }  # fmt: skip


@pytest.mark.parametrize(
    "targets",
    ["c", ["c"], np.array(["c"], object), pd.Series(["c"]), pl.Series(["c"]), pd.DataFrame({"vertex": ["c"]})],
    ids=["id", "list", "array", "Series", "Polars Series", "frame"],
)  # fmt: skip
def test_targets_of_any_kind(targets):
    found = shortest_path(ws.bfs(frame(CHAIN), "a"), targets)
    assert column(found, "vertex").tolist() == ["a", "b", "c"]


def test_ids_of_several_columns():
    edges = frame({"a": [1, 1], "b": ["x", "y"], "c": [1, 2], "d": ["y", "z"]})
    columns = {"source": ["a", "b"], "destination": ["c", "d"]}
    result = ws.bfs(edges, [(1, "x")], **columns)
    for given_targets in ((2, "z"), [(2, "z")]):
        found = shortest_path(result, given_targets)
        assert list(found.columns) == [
            "target_a", "target_b", "position", "vertex_a", "vertex_b", "distance",
        ]  # fmt: skip
        assert column(found, "vertex_b").tolist() == ["x", "y", "z"]
        assert column(found, "target_a").tolist() == [2, 2, 2]


def test_nothing_to_do():
    result = ws.bfs(frame(CHAIN), "a")
    assert len(shortest_path(result, [])) == 0
    assert len(shortest_path(result, ["x", "y"])) == 0
    assert len(shortest_path(result.head(0), [])) == 0


def test_a_result_without_values_has_paths_too():
    @ws.vertex_program
    class Reach:
        seen: ws.int32
        predecessor: ws.predecessor
        start: ws.vertex_set

        def init(vertex, p, own):
            return 1 if own.start else 0

        def compute(src):
            return src.seen

        combine = max

        def apply(old, gathered):
            return max(old.seen, gathered)

        def active(old, new):
            return new.seen > old.seen

    result = ws.run(Reach, frame(CHAIN), start="a")
    for given_result in (result, result.frame):
        found = shortest_path(given_result, ["c"])
        assert list(found.columns) == ["target", "position", "vertex"]
        assert column(found, "vertex").tolist() == ["a", "b", "c"]


# What cannot be


def test_unknown_targets_are_refused():
    result = ws.bfs(frame(CHAIN), "a")
    for targets in ("z", ["c", "z"]):
        with pytest.raises(ws.InputError, match="targets: 'z' is not a vertex"):
            shortest_path(result, targets)


def test_results_without_predecessors_are_refused():
    edges = frame(CHAIN)
    with pytest.raises(ws.InputError, match="no column 'predecessor', only 'vertex', 'pagerank'"):
        shortest_path(ws.pagerank(edges), "c")
    found = ws.bfs(ws.Graph.from_arrays([0], [1]), 0, engine="python").set_index("vertex")
    with pytest.raises(ws.InputError, match=r"no column 'vertex', only .*reset_index"):
        ws.shortest_path(found, 1)
    with pytest.raises(ws.InputError, match="no column 'predecessor', only 'labels'; run a"):
        shortest_path(ws.run(WeaklyConnectedComponents(), edges), "c")
    with pytest.raises(ws.InputError, match=r"result: .* DataFrame"):
        shortest_path({"vertex": [1]}, 1)


def test_rows_of_two_searches_are_refused():
    result = ws.bfs(frame(CHAIN), "a")
    with pytest.raises(ws.InputError, match=r"given 2 times.*rows of one search"):
        shortest_path(pd.concat([result, result]), "c")


def test_one_of_many_searches():
    edges = frame(CHAIN)
    result = ws.multi_source_bfs(edges, ["a", "b"])
    found = shortest_path(result[result["source"] == "b"], ["a", "c"])
    assert column(found, "vertex").tolist() == ["b", "c"]
    with ws.Graph(edges) as graph:
        searches = ws.run(ws.MultiSource(ws.BFS, "start", ["a", "b"]), graph)
        for several in (result, searches):
            with pytest.raises(ws.InputError, match="rows of one"):
                shortest_path(several, "c")


def test_a_column_named_by_a_number_that_cannot_be_written_is_refused():
    odd = pd.DataFrame([[0]], columns=pd.Index([10**5000], dtype=object))
    with pytest.raises(ws.InputError, match="a column <int>, which no search returns"):
        ws.shortest_path(odd, [0])


def test_a_part_of_a_result_is_refused():
    result = ws.bfs(frame(CHAIN), "a")
    with pytest.raises(ws.InputError, match=r"predecessors are missing.*all rows"):
        shortest_path(result[result["vertex"] != "b"], "c")


@pytest.mark.parametrize("before", [["b", "a", "b"], ["c", "a", "b"], ["a", "a", "b"]])
def test_predecessors_in_a_circle_are_refused(before):
    result = frame({"vertex": ["a", "b", "c"], "distance": [0, 1, 2], "predecessor": before})
    with pytest.raises(ws.InputError, match="form a cycle"):
        shortest_path(result, "c")


def test_distances_that_are_no_numbers_are_refused():
    result = frame({"vertex": [0, 1], "distance": ["near", "far"], "predecessor": [None, 0]})
    with pytest.raises(ws.InputError, match=r"'distance'.*numbers"):
        shortest_path(result.astype({"predecessor": "Int64"}), 1)
