"""What a program remembers is bounded, however many values its parameters take."""

from __future__ import annotations

import pandas as pd
import pytest

import cugraph_ws as ws
from cugraph_ws.program import snapshot
from cugraph_ws.program.snapshot import Memory


def test_the_oldest_results_are_forgotten_and_named_ones_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(snapshot, "REMEMBERED", 3)
    results = Memory()
    results["identity"] = "a.b"
    for number in range(9):
        results["types", number] = number
    assert list(results) == ["identity", *(("types", number) for number in (6, 7, 8))]
    made: list[int] = []
    for _ in range(2):
        assert results.recall(("types", 0), lambda: made.append(0)) is None
    assert made == [0]


def bounded(memory: Memory) -> int:
    """Return how many results there are but those with a name, of which there are few."""
    return sum(isinstance(key, tuple) for key in memory)


def test_a_service_with_ever_new_parameters_does_not_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "REMEMBERED", 20)
    edges = pd.DataFrame({"source": [0, 1, 2], "destination": [1, 2, 0], "weight": [1.0, 2.0, 3.0]})
    with ws.Graph(edges, weight="weight") as graph:
        lengths = []
        for number in range(30):
            ws.pagerank(graph, alpha=0.5 + number / 100)
            ws.sssp(graph, 0, cutoff=1.0 + number)
            lengths.append([bounded(program.memory) for program in (ws.PageRank, ws.SSSP)])
        far = ws.sssp(graph, 0, cutoff=3.0)  # was forgotten
    assert max(max(pair) for pair in lengths) <= 20
    assert far["distance"].tolist() == [0.0, 1.0, 3.0]
