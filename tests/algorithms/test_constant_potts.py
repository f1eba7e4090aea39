"""Communities by the constant Potts model: the quality, how good it is, and that every engine and a resumed run agree."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from emulator.device import emulated

import cugraph_ws as ws
from cugraph_ws.algorithms import louvain

METHODS = [ws.louvain, ws.leiden]
KARATE = nx.to_pandas_edgelist(nx.karate_club_graph(), "source", "destination", dtype=None)[
    ["source", "destination"]
].assign(weight=1.0)
PLANTED = pd.DataFrame(
    nx.planted_partition_graph(12, 12, 0.6, 0.03, seed=1).edges(), columns=["source", "destination"]
).assign(weight=1.0)
RANDOM = pd.DataFrame(
    nx.gnm_random_graph(200, 900, seed=2).edges(), columns=["source", "destination"]
).assign(weight=lambda edges: 0.5 + np.arange(len(edges)) % 4)


def quality(edges: pd.DataFrame, frame: pd.DataFrame, resolution: float) -> float:
    """The definition, summed over communities."""
    label = dict(zip(frame["vertex"], frame["partition"], strict=True))
    inside = edges["source"].map(label) == edges["destination"].map(label)
    sizes = frame["partition"].value_counts()
    return float(edges["weight"][inside].sum() - resolution * (sizes * (sizes - 1) / 2).sum())


def mean_of_igraph(edges: pd.DataFrame, resolution: float) -> float:
    graph = igraph.Graph.DataFrame(edges, directed=False, use_vids=False)
    ids = graph.vs["name"]
    found = []
    for seed in range(8):
        random.seed(seed)  # igraph draws from Python's generator
        membership = graph.community_leiden(
            objective_function="CPM", weights="weight", resolution=resolution, n_iterations=2
        ).membership
        frame = pd.DataFrame({"vertex": ids, "partition": membership})
        found.append(quality(edges, frame, resolution))
    return float(np.mean(found))


@pytest.mark.parametrize("resolution", [0.05, 0.3])
@pytest.mark.parametrize("edges", [KARATE, PLANTED, RANDOM], ids=["karate", "planted", "random"])
def test_communities_are_as_good_as_those_of_igraph(edges: pd.DataFrame, resolution: float) -> None:
    for method in METHODS:
        frame, returned = method(edges, resolution=resolution, objective="cpm", directed=False)
        assert returned == pytest.approx(quality(edges, frame, resolution), rel=1e-12)
        assert returned >= 0.99 * mean_of_igraph(edges, resolution)


def test_the_quality_is_exact_and_counts_loops_and_parallel_edges_once_each() -> None:
    edges = pd.DataFrame(
        {"source": [0, 1, 2, 0, 3, 3], "destination": [1, 2, 0, 1, 4, 3], "weight": [1.0, 2, 4, 8, 16, 32]}
    )  # fmt: skip
    frame, returned = ws.leiden(edges, resolution=0.25, objective="cpm", directed=False)
    assert frame["partition"].tolist() == [0, 0, 0, 1, 1]
    assert returned == (1 + 2 + 4 + 8 - 0.25 * 3) + (16 + 32 - 0.25 * 1)


def test_above_the_greatest_weight_all_are_alone_and_at_a_tiny_resolution_parts_are_whole() -> None:
    for method in METHODS:
        for scale in (1e-310, 1.0, 1e300):
            edges = KARATE.assign(weight=scale)
            alone, none = method(edges, resolution=1.5 * scale, objective="cpm", directed=False)
            assert (alone["partition"].nunique(), none) == (34, 0.0)
        together, returned = method(KARATE, resolution=1e-9, objective="cpm", directed=False)
        assert together["partition"].nunique() == 1
        assert returned == pytest.approx(78 - 1e-9 * 34 * 33 / 2, rel=1e-15)


def test_a_graph_without_edges_has_no_quality() -> None:
    graph = ws.Graph(KARATE[:0], vertices=pd.DataFrame({"vertex": [3, 4]}))
    frame, returned = ws.leiden(graph, objective="cpm")
    assert frame["partition"].tolist() == [0, 1]
    assert np.isnan(returned)


def test_a_gpu_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(louvain, "ON_HOST", 0)
    monkeypatch.setattr(louvain, "ONE_BY_ONE", 0)
    edges = PLANTED[:240]
    with emulated(seed=1):
        for method in METHODS:
            options: dict[str, Any] = {"resolution": 0.3, "objective": "cpm", "directed": False}
            found = [method(edges, engine=engine, **options) for engine in ("cpu", "cuda")]
            pd.testing.assert_frame_equal(found[0][0], found[1][0])
            assert found[0][1] == found[1][1]


def test_a_resumed_run_ends_alike_and_another_objective_is_refused(tmp_path: Path) -> None:
    options: dict[str, Any] = {"resolution": 0.05, "directed": False}
    for method in METHODS:
        folder = tmp_path / method.__name__
        expected = method(RANDOM, objective="cpm", **options)
        saved = {"checkpoint": folder, "every": 1}
        with pytest.raises(ws.ConvergenceError):
            method(
                RANDOM,
                objective="cpm",
                progress=lambda step: step.superstep < 6,
                **saved,
                **options,
            )
        resumed = method(RANDOM, objective="cpm", resume=folder, **options)
        pd.testing.assert_frame_equal(resumed[0], expected[0])
        assert resumed[1] == expected[1]
        with pytest.raises(ws.InputError, match="objective"):
            method(RANDOM, resume=folder, **options)


def test_a_start_is_not_left_for_worse(tmp_path: Path) -> None:
    first, least = ws.leiden(RANDOM, resolution=0.1, objective="cpm", directed=False)
    for method in METHODS:
        _, returned = method(RANDOM, resolution=0.1, objective="cpm", initial=first, directed=False)
        assert returned >= least


def test_other_names_and_objectives() -> None:
    assert ws.leiden(KARATE, objective_function="cpm", resolution=0.05, directed=False)[1] > 50
    with pytest.raises(ws.InputError, match=r"objective=.CPM.*cpm"):
        ws.leiden(KARATE, objective="CPM")  # type: ignore[arg-type]
