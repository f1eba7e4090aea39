"""Breadth-first search: levels against igraph, trees by the verifier."""

from __future__ import annotations

import numpy as np
import oracles
import pandas as pd
import pytest
from shapes import FRAME_KINDS, SHAPES, build, column, edge_frame, frame, grid, rmat, undirected
from verify import Array, Edges, check_shortest_paths

import cugraph_ws as ws


def search(edges: Edges, start, kind: str = "pandas", **options) -> tuple[Array, Array]:
    """Return distances and predecessors, -1 for none."""
    with build(edges, kind, weighted=False) as graph:
        result = ws.bfs(graph, start, **options)
    assert column(result, "vertex").tolist() == list(range(edges.n))
    return column(result, "distance", -1), column(result, "predecessor", -1)


def check(edges: Edges, start, **options) -> None:
    distance, predecessor = search(edges, start, **options)
    levels = oracles.bfs_levels(edges, start)
    limit = options.get("depth_limit")
    if limit is not None:
        levels = np.where(levels <= limit, levels, np.inf)
    assert np.array_equal(np.where(distance < 0, np.inf, distance), levels)
    hops = Edges(edges.source, edges.destination, edges.n, directed=edges.directed)
    check_shortest_paths(hops, start, distance, predecessor, limit=limit)


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_every_shape(shape, directed):
    edges = shape if directed else undirected(shape)
    for start in {0, edges.n // 2} if edges.n else ():
        check(edges, start)


def test_engines_agree(tiny_shape):
    for start in {0, tiny_shape.n // 2} if tiny_shape.n else ():
        compiled = search(tiny_shape, start, engine="cpu")
        plain = search(tiny_shape, start, engine="python")
        assert np.array_equal(compiled, plain)


def test_the_predecessor_is_the_least_neighbour_one_hop_nearer():
    for edges in (SHAPES["rmat"], undirected(SHAPES["grid"]), SHAPES["clique"]):
        distance, predecessor = search(edges, 1)
        source, destination, _ = edges.arcs()
        nearer = (distance[source] >= 0) & (distance[source] + 1 == distance[destination])
        least = np.full(edges.n, edges.n)
        np.minimum.at(least, destination[nearer], source[nearer])
        assert np.array_equal(predecessor, np.where(least < edges.n, least, -1))


@pytest.mark.parametrize("limit", [0, 1, 2, 5, 1000])
@pytest.mark.parametrize("name", ["path", "clique", "random sparse", "grid"])
def test_depth_limit(name, limit):
    check(SHAPES[name], 0, depth_limit=limit)


@pytest.mark.parametrize("starts", [[0], [3, 40], [40, 3, 17], [5, 5]])
def test_several_starts(starts):
    check(SHAPES["random sparse"], starts)
    check(undirected(SHAPES["grid"]), starts)


@pytest.mark.parametrize("directed", [True, False])
def test_larger_graphs_with_growing_and_shrinking_frontiers(directed):
    for edges in (rmat(12, 16, seed=8), grid(60, 60, 0.28, seed=9)):
        check(edges if directed else undirected(edges), int(edges.source[0]))


@pytest.mark.parametrize("kind", FRAME_KINDS)
def test_the_frame_that_went_in_comes_out(kind):
    edges = SHAPES["two components"]
    result = ws.bfs(edge_frame(edges, kind), 0)
    assert type(result) is type(edge_frame(edges, kind))
    assert column(result, "vertex").tolist() == [0, 1, 2, 3, 4, 5]
    assert column(result, "distance", -1).tolist() == [0, 1, 2, -1, -1, -1]
    assert column(result, "predecessor", -1).tolist() == [-1, 0, 1, -1, -1, -1]


def test_distance_is_a_nullable_integer_in_pandas():
    result = ws.bfs(edge_frame(SHAPES["two components"]), 3)
    assert result["distance"].dtype == pd.Int32Dtype()
    assert result["distance"].isna().tolist() == [True] * 3 + [False] * 3


def test_string_ids_and_column_names():
    edges = pd.DataFrame({"from": ["b", "a", "d"], "to": ["c", "b", "a"]})
    result = ws.bfs(edges, "a", source="from", destination="to")
    assert result["vertex"].tolist() == ["a", "b", "c", "d"]
    assert column(result, "distance", -1).tolist() == [0, 1, 2, -1]
    assert column(result, "predecessor", "none").tolist() == ["none", "a", "b", "none"]


def test_undirected_frames():
    edges = frame({"source": [5, 7], "destination": [7, 9]}, "polars")
    result = ws.bfs(edges, 9, directed=False)
    assert column(result, "distance").tolist() == [2, 1, 0]


def test_ids_of_several_columns():
    edges = pd.DataFrame(
        {"city": ["B", "B"], "number": [2, 1], "to_city": ["B", "A"], "to_number": [1, 1]}
    )
    result = ws.bfs(
        edges, ("B", 2), source=["city", "number"], destination=["to_city", "to_number"]
    )
    assert result["city"].tolist() == ["A", "B", "B"]
    assert result["number"].tolist() == [1, 1, 2]
    assert column(result, "distance").tolist() == [2, 1, 0]


@pytest.mark.parametrize(
    ("least", "most", "dtype"),
    [(-(2**63), 2**63 - 1, "int64"), (0, 2**64 - 1, "uint64"), (2**63 - 1, 2**63, "uint64")],
)
@pytest.mark.parametrize("kind", FRAME_KINDS)
def test_ids_at_the_ends_of_their_types(least, most, dtype, kind):
    ends = np.array([[least], [most]], dtype)
    edges = frame({"source": ends[1], "destination": ends[0]}, kind)
    for start, distances in ((most, [1, 0]), (least, [0, -1])):
        result = ws.bfs(edges, start)
        assert column(result, "vertex").tolist() == [least, most]
        assert column(result, "vertex").dtype == dtype
        assert column(result, "distance", -1).tolist() == distances


@pytest.mark.parametrize("start", [99, "0", None, 1.5, [0, 99], float("nan")])
def test_an_unknown_start_is_refused(start):
    with pytest.raises(ws.InputError, match="start"):
        ws.bfs(edge_frame(SHAPES["path"]), start)


@pytest.mark.parametrize("limit", [-1, 1.5, "2", True])
def test_a_senseless_depth_limit_is_refused(limit):
    with pytest.raises(ws.InputError, match="depth_limit"):
        ws.bfs(edge_frame(SHAPES["path"]), 0, depth_limit=limit)


def test_an_empty_graph_has_no_start():
    with pytest.raises(ws.InputError, match="start"):
        search(SHAPES["empty"], 0)
