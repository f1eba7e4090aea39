"""Widest paths: widths against Dijkstra on (min, max) and union-find, trees by the verifier."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import oracles
import pandas as pd
import pytest
from shapes import FRAME_KINDS, SHAPES, build, column, edge_frame, grid, rmat, undirected
from verify import Array, Edges, check_widest_paths

import cugraph_ws as ws


def search(edges: Edges, source: int, **options) -> tuple[Array, Array]:
    """Return widths, NaN where unreached, and predecessors, -1 for none."""
    with build(edges) as graph:
        result = ws.widest_path(graph, source, **options)
    assert column(result, "vertex").tolist() == list(range(edges.n))
    width = result["width"].astype("Float64").to_numpy(float, na_value=np.nan)
    return width, column(result, "predecessor", -1)


def check(edges: Edges, source: int) -> None:
    width, predecessor = search(edges, source)
    expected = oracles.widest_path(edges, source)
    others = np.arange(edges.n) != source
    assert np.array_equal(width[others], expected[others], equal_nan=True)
    check_widest_paths(edges, source, width, predecessor)


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_every_shape(shape, directed):
    edges = shape if directed else undirected(shape)
    for source in {0, edges.n // 2} if edges.n else ():
        check(edges, source)


def test_widths_by_union(tiny_shape):
    edges = undirected(tiny_shape)
    if edges.n:
        width, _ = search(edges, 0)
        assert np.array_equal(width[1:], oracles.widest_path_by_union(edges, 0)[1:], equal_nan=True)


def test_engines_agree(tiny_shape):
    for source in {0, tiny_shape.n // 2} if tiny_shape.n else ():
        compiled = search(tiny_shape, source, engine="cpu")
        plain = search(tiny_shape, source, engine="python")
        assert np.array_equal(compiled, plain, equal_nan=True)


def test_ties_make_no_circles():
    check(Edges(np.array([2, 1, 0]), np.array([1, 0, 1]), 3, np.array([3.0, 9.0, 9.0])), 2)
    even = replace(SHAPES["random"], weight=np.ones(len(SHAPES["random"].source)))
    for edges in (even, undirected(even)):
        check(edges, 0)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_types_of_widths(dtype):
    edges = SHAPES["random sparse"]
    edges = replace(edges, weight=(edges.weight * 8).astype(dtype))
    check(edges, 3)
    with build(edges) as graph:
        widths = ws.widest_path(graph, 3)["width"]
    assert str(widths.dtype).lower() == ("int64" if dtype.startswith("int") else dtype)


def test_negative_widths():
    edges = SHAPES["random sparse"]
    check(replace(edges, weight=edges.weight - 5), 3)


def test_larger_graphs():
    check(grid(40, 40, 0.28, seed=14), 0)
    check(undirected(rmat(10, 16, seed=15)), 1)


@pytest.mark.parametrize("kind", FRAME_KINDS)
def test_the_frame_that_went_in_comes_out(kind):
    given = edge_frame(SHAPES["two components"], kind)
    result = ws.widest_path(given, 0, weight="weight")
    assert type(result) is type(given)
    assert column(result, "predecessor", -1).tolist() == [-1, 0, 1, -1, -1, -1]


def test_the_columns_of_a_frame_can_be_named():
    edges = pd.DataFrame({"from": ["b", "a"], "to": ["c", "b"], "lanes": [2, 1]})
    result = ws.widest_path(edges, "b", source="from", destination="to", weight="lanes")
    assert result["vertex"].tolist() == ["a", "b", "c"]
    assert column(result, "width", -1).tolist()[2] == 2


@pytest.mark.parametrize("weight", [np.nan, np.inf, -np.inf])
def test_bad_weights_are_refused(weight):
    edges = pd.DataFrame({"source": [0, 1], "destination": [1, 2], "weight": [1.0, weight]})
    with pytest.raises(ws.InputError, match="weight"):
        ws.widest_path(edges, 0, weight="weight")


def test_an_unknown_start_is_refused():
    with pytest.raises(ws.InputError, match=r"start.*99"):
        ws.widest_path(edge_frame(SHAPES["path"]), 99, weight="weight")
