"""The bytes in profiles of all loops of the registry's functions, against the loads and stores of the emulator."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from emulator.device import emulated
from loads import moved_in_steps
from shapes import build, rmat
from zoo import graph_of
from zoo_edges import EDGE_ZOO
from zoo_vectors import WIDE, Beliefs, K, MinHash, Smoothed

import cugraph_ws as ws
from cugraph_ws.algorithms import independent_set, louvain
from cugraph_ws.algorithms.registry import ALGORITHMS

EDGES = rmat(6, 4, seed=61)
IDS = np.unique(np.concatenate([EDGES.source, EDGES.destination])).tolist()
RARE = 0.05  # share of a run's loads in steps without bytes
LEAST = 0.85  # of the bytes of distinct elements
MOST = 3.0  # in so small a graph neighbours are read again and again, and every load of one counts
# The searches of a batch read the same rows, level by level in one launch
HIGHEST = {"betweenness_centrality": 9.0, "distance_sums": 4.0, "eccentricities": 4.0}
# Loops that have no bytes, or only in some steps, and why
UNKNOWN = {
    "biconnectivity": "how often a path is followed depends on the forest",
    "maximum_spanning_forest": "a launch has as many rounds as the trees need",
    "minimum_spanning_forest": "a launch has as many rounds as the trees need",
    "strongly_connected_components": "a launch follows paths as far as they lead",
    "node2vec": "a program reads what it likes of an edge",
    "uniform": "a program reads what it likes of an edge",
    "weighted": "a program reads what it likes of an edge",
    "weighted_node2vec": "a program reads what it likes of an edge",
}


SHORT = ("core_number", "weakly_connected_components", "triangle_count", "label_propagation")
CALLS = [
    name if name in SHORT else pytest.param(name, marks=pytest.mark.long)
    for name, entry in ALGORITHMS.items()
    if entry.program is None and "profile" in entry.described(r"\*\*options")
]


def frame_for(name: str) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return edges that a function takes, and its arguments."""
    source, destination = EDGES.source, EDGES.destination
    arguments = ALGORITHMS[name].arguments(IDS)
    if name == "maximal_bipartite_matching":
        source, destination = 2 * source, 2 * destination + 1
        arguments = {"left": np.unique(source).tolist()}
    elif name == "bipartite_projection":
        source, destination = 2 * source, 2 * destination + 1
        arguments = {"vertices": np.unique(source).tolist()}
    elif name == "topological_levels":
        ends = np.minimum(source, destination), np.maximum(source, destination) + 1
        source, destination = ends
    weight = np.random.default_rng(1).integers(1, 9, len(source)) / 4096
    return pd.DataFrame({"source": source, "destination": destination, "weight": weight}), arguments


def assert_between(steps: Any) -> None:
    """Compare the bytes of runs' steps with those of distinct elements, and of all accesses."""
    for loop, rows in steps.items():
        known = [row for row in rows if not math.isnan(row[0])]
        everything = sum(accesses for _, _, accesses in rows)
        silent = everything - sum(accesses for _, _, accesses in known)
        if loop in UNKNOWN and not known:
            continue
        assert silent <= RARE * everything, loop
        said, once, accesses = (sum(column) for column in zip(*known, strict=True))
        assert LEAST * once <= said <= HIGHEST.get(loop, MOST) * once, (loop, said / once)
        assert said <= max(accesses, once), loop


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("name", CALLS)
def test_bytes_are_between_those_of_distinct_elements_and_of_all_accesses(
    name, directed, monkeypatch
):
    """As if a cache held everything, and as if there were none: a loop without bytes fails, unless it is listed."""
    monkeypatch.setattr(independent_set, "FEW_ARCS", 0)
    monkeypatch.setattr(louvain, "ON_HOST", 0)
    monkeypatch.setattr(louvain, "ONE_BY_ONE", 8)
    frame, arguments = frame_for(name)
    call = partial(ALGORITHMS[name].function, **arguments, engine="cuda")
    with emulated(), ws.Graph(frame, directed=directed or name == "reciprocity") as graph:
        call(graph)  # makes what the graph keeps: the CSR, weights
        with moved_in_steps() as steps:
            call(graph, profile=True)
    assert_between(steps)


@pytest.mark.parametrize("partitions", [1, 2])
@pytest.mark.parametrize(
    ("program", "given"),
    [
        (MinHash, {}),
        (Beliefs, {"prior": np.random.default_rng(6).random((EDGES.n, WIDE)) + 0.1}),
        (Smoothed, {"features": np.random.default_rng(6).random((EDGES.n, K))}),
        *[(entry.program, entry.given(EDGES.n)) for entry in EDGE_ZOO[:4]],
    ],
    ids=lambda value: getattr(value, "name", getattr(value, "__name__", "")),
)
def test_bytes_of_programs_with_vectors_and_of_edges(program, given, partitions):
    plan = ws.Plan(partitions=partitions)
    with emulated(), graph_of(EDGES) as graph:
        run = partial(ws.run, program, graph, engine="cuda", plan=plan, **given)
        run()
        with moved_in_steps() as steps:
            run(profile=True)
    assert steps
    assert_between(steps)


@pytest.mark.parametrize("engine", ["cpu", "cuda"])
def test_bytes_in_partitions_are_those_of_the_whole(engine):
    """But for supersteps' directions, which the plan sets."""
    plans = [ws.Plan(direction="gather", partitions=partitions) for partitions in (1, 3)]
    with emulated(), build(EDGES) as graph:
        one, three = (
            ws.run(ws.PageRank, graph, engine=engine, plan=plan, max_iter=4, profile=True).profile
            for plan in plans
        )
    for name in ("bytes_read", "bytes_written"):
        assert np.nansum(getattr(one, name)) == np.nansum(getattr(three, name)) > 0
    assert np.nansum(one.bytes_sent) == 0 < np.nansum(three.bytes_sent)
