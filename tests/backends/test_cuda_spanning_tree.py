"""Minimum spanning forests by the CUDA kernels, in the emulator, against the CPU's."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from emulator.device import emulated, launches
from shapes import build, random_edges
from thread_ranks import on_ranks, share
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.backends.cuda.loops import spanning_tree
from cugraph_ws.frames.values import read_numbers
from cugraph_ws.runtime.ordered_words import weight_words

SPECIAL = [-2.5, -1.0, -0.0, 0.0, 0.5, 3.0, 3.4e38, -3.4e38]
WEIGHTS: dict[str, Any] = {
    "random": lambda draw, count: draw.random(count).astype(np.float32),
    "signs and zeros": lambda draw, count: draw.choice(SPECIAL, count),
    "narrow signs and zeros": lambda draw, count: draw.choice(SPECIAL, count).astype(np.float32),
    "integers": lambda draw, count: draw.integers(-3, 4, count),
    "great integers": lambda draw, count: draw.choice([-(2**63), 0, 2**63 - 1], count),
    "equal": lambda draw, count: np.ones(count),
    "none": None,
}


def weighted(edges: Edges, kind: str, seed: int, *, directed: bool) -> Edges:
    draw = WEIGHTS[kind]
    weight = draw and draw(np.random.default_rng(seed), len(edges.source))
    return Edges(edges.source, edges.destination, edges.n, weight, directed)


def compare(edges: Edges, seed: int = 0, **options: Any) -> list[str]:
    """Compare the emulated GPU's forest with the CPU's; return the kernels that were launched for it."""
    weights = {"weighted": edges.weight is not None}
    with build(edges, **weights) as graph:
        expected = ws.minimum_spanning_forest(graph, engine="cpu")
    with emulated(seed, **options), build(edges, **weights) as graph, launches() as names:
        found = ws.minimum_spanning_forest(graph, engine="cuda")
    pd.testing.assert_frame_equal(found, expected)
    return [name for name in names if name in ("list_edges", "join_trees")]


@pytest.mark.filterwarnings("ignore:directed=False:cugraph_ws.GraphWarning")
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("kind", WEIGHTS)
def test_edges_are_ordered_as_on_the_cpu(kind: str, directed: bool) -> None:
    for seed in (1, 2):
        edges = random_edges(30, 90, seed=seed)
        compare(weighted(edges, kind, seed, directed=directed), seed, multiprocessors=seed)


def test_light_edges_come_first() -> None:
    """With more than one chunk of arcs; with too little room, they are listed again."""
    edges = random_edges(40, 1_100, seed=3)
    weight = np.random.default_rng(3).random(1_101).astype(np.float32)
    weight[-1] = 2.0  # of the only edge of the last vertex
    edges = Edges(np.append(edges.source, 40), np.append(edges.destination, 7), 41, weight)
    with patch.multiple(spanning_tree, SPARE=1.5, LEAST=0):
        assert compare(edges) == 2 * ["list_edges", "join_trees"]
    with patch.multiple(spanning_tree, SPARE=0.3, LEAST=0):
        assert compare(edges) == ["list_edges", *2 * ["list_edges", "join_trees"]]


def test_many_light_edges_are_not_taken_first() -> None:
    edges = weighted(random_edges(20, 200, seed=4), "equal", 4, directed=True)
    with patch.object(spanning_tree, "LIGHT", 1):
        assert compare(edges) == ["list_edges", "join_trees"]


def test_a_long_chain_is_a_tree_after_a_round() -> None:
    """Every vertex but one joins the one before it: a longer chain than is climbed at once."""
    weight = np.arange(150.0)
    for order in (weight, weight[::-1]):
        edges = Edges(np.arange(150), np.arange(1, 151), 151, order)
        assert compare(edges) == ["list_edges", "join_trees"]


@pytest.mark.filterwarnings("ignore:directed=False:cugraph_ws.GraphWarning")
@pytest.mark.parametrize("kind", ["random", "integers", "none"])
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_ranks_find_the_forest_of_their_forests(kind: str, directed: bool) -> None:
    edges = weighted(random_edges(16, 40, seed=5), kind, 5, directed=directed)
    with emulated(), build(edges, weighted=edges.weight is not None) as graph:
        expected = ws.minimum_spanning_forest(graph, engine="cpu")
        for engine in ("cpu", "cuda"):
            parts = on_ranks(
                2, lambda comm, e=engine: ws.minimum_spanning_forest(share(graph, comm), engine=e)
            )
            pd.testing.assert_frame_equal(pd.concat(parts, ignore_index=True), expected)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_weights_that_are_no_numbers_come_last(kind: Any) -> None:
    """Frames with them are refused, but sums of weights may overflow."""
    odd = {1: np.inf, 2: np.nan, 3: -np.nan, 4: -np.inf}

    def read(*given: Any, **named: Any) -> Any:
        values = read_numbers(*given, **named).copy()
        for number, weight in odd.items():
            values[values == number] = weight
        return values

    edges = random_edges(12, 40, seed=7)
    weight = np.random.default_rng(7).integers(0, 5, 40).astype(kind)
    with patch("cugraph_ws.graph.edges.read_numbers", read):
        compare(Edges(edges.source, edges.destination, 12, weight))


def test_graphs_without_edges_or_vertices() -> None:
    none = np.zeros(0, np.int64)
    compare(Edges(none, none, 3, np.zeros(0)))
    compare(Edges(np.array([1]), np.array([1]), 3, np.ones(1)))  # a self-loop


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_words_are_ordered_like_weights(dtype: Any) -> None:
    least = np.finfo(dtype).tiny if dtype != np.int64 else 1
    weights = np.array([-7, -least, 0, least, 3, 2**40], dtype)
    words = weight_words(weights)
    assert words.dtype == np.int64
    assert (np.diff(words) > 0).all()
    if dtype != np.int64:
        odd = weight_words(np.array([-np.inf, -0.0, 0.0, np.inf, np.nan, -np.nan], dtype))
        assert odd[0] < words[0] < odd[1] == odd[2] == words[2] < words[-1] < odd[3] < odd[4]
        assert odd[4] == odd[5]
