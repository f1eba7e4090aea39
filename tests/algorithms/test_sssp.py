"""Shortest paths: distances against igraph and exact integers, trees by the verifier."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import oracles
import pandas as pd
import pytest
from every_engine import the_answer
from shapes import FRAME_KINDS, SHAPES, build, column, edge_frame, grid, rmat, undirected
from verify import Array, Edges, check_shortest_paths

import cugraph_ws as ws


def search(edges: Edges, source, kind: str = "pandas", **options) -> tuple[Array, Array]:
    """Return distances, infinite or -1 for none, and predecessors, -1 for none."""
    with build(edges, kind) as graph:
        result = ws.sssp(graph, source, **options)
    assert column(result, "vertex").tolist() == list(range(edges.n))
    floating = edges.weight is not None and edges.weight.dtype.kind == "f"
    distance = column(result, "distance", np.inf if floating else -1)
    return distance, column(result, "predecessor", -1)


def check(edges: Edges, source, *, rtol: float = 0.0, **options) -> Array:
    distance, predecessor = search(edges, source, **options)
    cutoff = options.get("cutoff")
    expected = oracles.dijkstra(edges, source)
    if cutoff is not None:
        expected = np.where(expected <= cutoff, expected, np.inf)
    found = np.where(distance < 0, np.inf, distance)
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=0)
    check_shortest_paths(edges, source, distance, predecessor, limit=cutoff)
    return distance


def weighted(edges: Edges, dtype: str) -> Edges:
    """Return the edges with weights of another type, exact in it."""
    scale = 8 if np.dtype(dtype).kind in "iu" else 1
    return replace(edges, weight=(edges.weight * scale).astype(dtype))


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_every_shape(shape, directed):
    edges = shape if directed else undirected(shape)
    for source in {0, edges.n // 2} if edges.n else ():
        check(edges, source, rtol=1e-12)


def test_engines_agree(tiny_shape):
    for source in {0, tiny_shape.n // 2} if tiny_shape.n else ():
        compiled = search(tiny_shape, source, engine="cpu")
        plain = search(tiny_shape, source, engine="python")
        assert np.array_equal(compiled, plain)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint16", "int32", "int64"])
def test_types_of_weights(dtype):
    edges = weighted(SHAPES["random sparse"], dtype)
    distance = check(edges, 5)
    assert distance.dtype == (dtype if np.dtype(dtype).kind == "f" else "int64")


@pytest.mark.parametrize("cutoff", [0, 0.5, 3.125, 1e9])
@pytest.mark.parametrize("name", ["path", "random sparse", "ties and zeros"])
def test_cutoff(name, cutoff):
    check(SHAPES[name], 0, cutoff=cutoff)


def test_zero_weights_make_no_circles():
    circle = Edges(np.array([2, 1, 0]), np.array([1, 0, 1]), 3, np.array([1.0, 0.0, 0.0]))
    check(circle, 2)
    free = replace(SHAPES["random"], weight=np.zeros(len(SHAPES["random"].source)))
    for edges in (free, undirected(free)):
        check(edges, 0)


def test_weights_too_small_to_move_a_float_make_no_circles():
    tiny = Edges(np.array([3, 1, 0]), np.array([1, 0, 1]), 4, np.array([1.0, 1e-30, 1e-30]))
    check(tiny, 3)


def test_unweighted_edges_count_as_one():
    edges = replace(SHAPES["random sparse"], weight=None)
    distance = check(edges, 0)
    assert distance.dtype == np.int64


def test_integers_beyond_doubles_are_exact():
    generator = np.random.default_rng(10)
    weight = generator.integers(2**52, 2**56, 120)
    edges = Edges(generator.integers(0, 30, 120), generator.integers(0, 30, 120), 30, weight)
    distance, _ = search(edges, 0)
    assert distance.tolist() == [-1 if d is None else d for d in oracles.exact_dijkstra(edges, 0)]


@pytest.mark.parametrize(
    "weight", [2**62, 1e308, np.float32(3e38)], ids=["int64", "float64", "float32"]
)
def test_paths_longer_than_their_type_holds_are_refused(weight):
    edges = Edges(np.arange(4), np.arange(1, 5), 5, np.full(4, weight))
    with pytest.raises(ws.InputError, match="weight"):
        search(edges, 0)


def test_long_and_skewed_graphs():
    check(grid(50, 50, 0.28, seed=11), 0)
    check(undirected(rmat(11, 16, seed=12)), 1)


def test_rounding_weights_on_a_larger_graph():
    generator = np.random.default_rng(13)
    edges = rmat(11, 8, seed=13)
    for dtype, rtol in (("float64", 1e-12), ("float32", 1e-5)):
        random = replace(edges, weight=generator.random(len(edges.source)).astype(dtype))
        check(random, int(edges.source[0]), rtol=rtol)


@pytest.mark.parametrize("kind", FRAME_KINDS)
def test_the_frame_that_went_in_comes_out(kind):
    edges = SHAPES["two components"]
    given = edge_frame(edges, kind)
    result = ws.sssp(given, 0, weight="weight")
    assert type(result) is type(given)
    assert column(result, "distance", np.inf).tolist() == [0, 0.125, 0.375] + [np.inf] * 3
    assert column(result, "predecessor", -1).tolist() == [-1, 0, 1, -1, -1, -1]


def test_unreachable_can_be_the_largest_number():
    edges = edge_frame(SHAPES["two components"])
    result = ws.sssp(edges, 0, weight="weight", unreachable="max")
    assert column(result, "distance").tolist()[3:] == [np.finfo(np.float64).max] * 3
    hops = ws.bfs(edges, 0, unreachable="max")
    assert column(hops, "distance").tolist()[3:] == [np.iinfo(np.int32).max] * 3
    with pytest.raises(ws.InputError, match="unreachable"):
        ws.sssp(edges, 0, weight="weight", unreachable="inf")


def test_the_columns_of_a_frame_can_be_named():
    edges = pd.DataFrame({"from": ["b", "a"], "to": ["c", "b"], "km": [2.5, 1.0]})
    result = ws.sssp(edges, "a", source="from", destination="to", weight="km")
    assert result["vertex"].tolist() == ["a", "b", "c"]
    assert result["distance"].tolist() == [0.0, 1.0, 3.5]


@pytest.mark.parametrize("weight", [-1.0, -1e-300, np.nan, np.inf, -np.inf])
def test_bad_weights_are_refused(weight):
    edges = pd.DataFrame({"source": [0, 1], "destination": [1, 2], "weight": [1.0, weight]})
    with pytest.raises(ws.InputError, match="weight"):
        ws.sssp(edges, 0, weight="weight")


def test_negative_weights_are_refused_even_out_of_reach():
    edges = pd.DataFrame({"source": [0, 5], "destination": [1, 6], "weight": [1, -2]})
    with pytest.raises(ws.InputError, match="-2"):
        ws.sssp(edges, 0, weight="weight")


@pytest.mark.parametrize("cutoff", [-1, "far", float("nan")])
def test_a_senseless_cutoff_is_refused(cutoff):
    with pytest.raises(ws.InputError, match="cutoff"):
        ws.sssp(edge_frame(SHAPES["path"]), 0, weight="weight", cutoff=cutoff)


def test_an_unknown_start_is_refused():
    with pytest.raises(ws.InputError, match=r"start.*99"):
        ws.sssp(edge_frame(SHAPES["path"]), 99, weight="weight")


def test_of_equally_near_predecessors_the_least_is_named() -> None:
    """Edges of weight 0 lead from 1 and 2 to 3."""
    edges = Edges(np.array([0, 0, 1, 2]), np.array([1, 2, 3, 3]), 4, np.array([1, 1, 0, 0]))
    found = the_answer(edges, ws.sssp, 0)
    assert found.distance.tolist() == [0, 1, 1, 1]
    assert found.predecessor.fillna(-1).tolist() == [-1, 0, 0, 1]
