"""Integers above 2**53 stay exact where nothing but integers is computed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from every_engine import the_answer
from plans import planned
from shapes import build
from thread_ranks import on_ranks, share
from verify import Edges

import cugraph_ws as ws

GREAT = 2**53


def edges_of(weights: list[int], directed: bool = True) -> Edges:
    """Return edges from 0 to 1, 2 and so on."""
    ends = np.arange(1, len(weights) + 1)
    return Edges(np.zeros_like(ends), ends, len(weights) + 1, np.array(weights), directed)


@pytest.mark.parametrize("directed", [True, False])
def test_widths(directed: bool) -> None:
    edges = edges_of([GREAT, GREAT + 1, -(2**62) - 1], directed)
    found = the_answer(edges, ws.widest_path, 0)
    assert found.width.tolist() == [2**63 - 1, GREAT, GREAT + 1, -(2**62) - 1]
    assert found.predecessor.fillna(-1).tolist() == [-1, 0, 0, 0]
    away = the_answer(edges_of([GREAT, 1]), ws.widest_path, 1)
    assert away.width.isna().tolist() == [True, False, True]


@pytest.mark.parametrize(
    "weights", [[-(2**63), 1 - 2**63, 2**63 - 1], [GREAT, GREAT + 1, GREAT + 2]]
)
def test_greatest_trees(weights: list[int]) -> None:
    triangle = Edges(np.array([0, 0, 1]), np.array([1, 2, 2]), 3, np.array(weights))
    found = the_answer(triangle, ws.maximum_spanning_forest)
    assert found.weight.tolist() == weights[1:]


@pytest.mark.parametrize("options", [{}, {"engine": "python"}, {"partitions": 2}], ids=str)
def test_widths_of_the_program(options: dict[str, Any]) -> None:
    with build(edges_of([GREAT, GREAT + 1])) as graph:
        found = ws.run(ws.WidestPath, graph, **planned(start=0, **options)).frame
        away = ws.run(ws.WidestPath, graph, **planned(start=1, **options)).frame
    assert found.width.tolist() == [2**63 - 1, GREAT, GREAT + 1]
    assert away.width.isna().tolist() == [True, False, True]


def test_widths_of_the_program_on_ranks() -> None:
    with build(edges_of([GREAT, GREAT + 1, -5])) as graph:
        frames = on_ranks(2, lambda comm: ws.run(ws.WidestPath, share(graph, comm), start=0).frame)
    assert pd.concat(frames).width.tolist() == [2**63 - 1, GREAT, GREAT + 1, -5]


def test_widths_of_the_program_for_floats() -> None:
    edges = replace(edges_of([3, 4]), weight=np.array([0.5, 1.5]))
    with build(edges) as graph:
        found = ws.run(ws.WidestPath, graph, start=0).frame
    assert found.width.tolist() == [np.inf, 0.5, 1.5]


@pytest.mark.parametrize("directed", [True, False])
def test_sums_of_weights(directed: bool) -> None:
    weights = [10**18 + 1, 10**18 + 2, 10**18 + 3, -(10**17) - 1]
    total = sum(weights)
    edges = edges_of(weights, directed)
    found = the_answer(edges, ws.degrees, weighted=True)
    assert found.in_degree.tolist() == [0 if directed else total, *weights]
    assert found.out_degree.tolist() == [total, *([0] * 4 if directed else weights)]
    assert the_answer(edges, ws.degree, weighted=True).degree.tolist() == [total, *weights]


@pytest.mark.parametrize("weights", [[2**62, 2**62], [-(2**62), -(2**62), -1]])
def test_sums_beyond_int64_are_refused(weights: list[int]) -> None:
    with pytest.raises(ws.InputError, match="at vertex 0 add up to more than an int64 holds"):
        the_answer(edges_of(weights), ws.degrees, weighted=True)


def test_a_sum_that_just_fits() -> None:
    found = the_answer(edges_of([2**62, 2**62 - 1]), ws.degree, weighted=True)
    assert found.degree.tolist()[0] == 2**63 - 1


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (ws.betweenness_centrality, {}),
        (ws.closeness_centrality, {}),
        (ws.closeness_centrality, {"k": 3}),
        (ws.harmonic_centrality, {}),
        (ws.edge_betweenness_centrality, {}),
    ],
)
def test_paths_that_floats_cannot_compare_are_refused(function: Any, given: Any) -> None:
    # Both ways from 0 to 2 are as long in float64; in integers one is longer by 1.
    edges = Edges(np.array([0, 1, 0]), np.array([1, 2, 2]), 3, np.array([GREAT, 1, GREAT]))
    with pytest.raises(ws.InputError, match=r"2\*\*53 or longer"):
        the_answer(edges, function, weighted=True, **given)
    exact = Edges(edges.source, edges.destination, 3, np.array([GREAT - 2, 1, GREAT - 2]))
    with build(exact) as graph:
        assert len(function(graph, weighted=True, **given)) == 3
