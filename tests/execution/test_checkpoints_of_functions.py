"""Every function with an option `checkpoint` resumes to the answer of a whole run, or refuses it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from fuzz.arguments import WITHOUT_RUN
from stopping import EndsAfter
from thread_ranks import on_ranks, share

import cugraph_ws as ws
from cugraph_ws.algorithms import betweenness, closeness
from cugraph_ws.algorithms.registry import ALGORITHMS
from cugraph_ws.backends.cpu.loops import (
    belief_propagation,
    biconnectivity,
    label_propagation,
    spanning_tree,
)
from cugraph_ws.execution import driver
from cugraph_ws.execution.stop_requests import StopRequests

SIZE = 40
NUMBERS = np.arange(SIZE)
MORE: dict[str, dict[str, Any]] = {  # beside the examples that functions declare
    "bipartite_projection": {"vertices": NUMBERS[::2].tolist()},
    "maximal_bipartite_matching": {"left": NUMBERS[::2].tolist()},
    "heat": {"temperature": dict(enumerate(NUMBERS / 4)), "tol": 0.5},
    "circuit": {"sources": {0: 1.0, 5: 0.0}},
}
FUNCTIONS = [name for name in ALGORITHMS if name not in WITHOUT_RUN]


def given(name: str) -> dict[str, Any]:
    return ALGORITHMS[name].arguments(NUMBERS.tolist()) | MORE.get(name, {})


def has_none(name: str, run: Any) -> bool:
    """Whether a function declares that such runs have no checkpoints."""
    where = ALGORITHMS[name].checkpoints
    return where == "nowhere" or (where == "on one machine" and run is on_two_ranks)


def graph_for(name: str) -> ws.Graph:
    ends = np.random.default_rng(3).integers(0, SIZE, (2, 150))
    edges = pd.DataFrame(
        {"source": ends[0], "destination": ends[1], "weight": np.arange(150) % 8 / 64}
    )
    if name in ("bipartite_projection", "maximal_bipartite_matching"):
        edges["source"] &= ~1
        edges["destination"] |= 1
    if name == "topological_levels":
        edges = edges[edges["source"] < edges["destination"]]
    directed = name != "maximal_bipartite_matching"
    vertices = pd.DataFrame({"vertex": NUMBERS})
    return ws.Graph(edges, vertices=vertices, weight="weight", directed=directed, duplicates="keep")


def parts_of(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [result]


def on_two_ranks(name: str, graph: ws.Graph, **options: Any) -> list[Any]:
    function = getattr(ws, name)
    shares = on_ranks(
        2, lambda comm: parts_of(function(share(graph, comm), **given(name), **options))
    )
    return [
        pd.concat(parts, ignore_index=True) if isinstance(parts[0], pd.DataFrame) else parts[0]
        for parts in zip(*shares, strict=True)
    ]


def on_one(name: str, graph: ws.Graph, **options: Any) -> list[Any]:
    return parts_of(getattr(ws, name)(graph, **given(name), **options))


@pytest.fixture(autouse=True)
def short_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (betweenness, closeness):
        monkeypatch.setattr(module, "WIDTH", 8)


@pytest.mark.parametrize("run", [on_one, on_two_ranks])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_run_is_resumed_or_has_no_checkpoints(name: str, run: Any, tmp_path: Path) -> None:
    graph, path = graph_for(name), tmp_path / "state"
    if has_none(name, run):
        for option in ("checkpoint", "resume"):
            with pytest.raises(ws.InputError, match=rf"^{option}=?: .* no checkpoints"):
                run(name, graph, **{option: path})
        assert not path.exists()
        return
    expected = run(name, graph)
    for steps in (1, 2):
        with suppress(ws.ConvergenceError):
            run(name, graph, checkpoint=path, every=1, progress=EndsAfter(steps))
        for one, other in zip(run(name, graph, resume=path), expected, strict=True):
            if isinstance(one, pd.DataFrame):
                pd.testing.assert_frame_equal(one, other)
            else:
                assert one == other


@pytest.mark.parametrize("run", [on_one, on_two_ranks])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_finished_run_is_resumed_without_a_superstep(name: str, run: Any, tmp_path: Path) -> None:
    if has_none(name, run):
        return
    graph, path = graph_for(name), tmp_path / "state"
    expected = run(name, graph, checkpoint=path)
    updates: list[Any] = []
    resumed = run(name, graph, resume=path, progress=updates.append)
    for one, other in zip(resumed, expected, strict=True):
        if isinstance(one, pd.DataFrame):
            pd.testing.assert_frame_equal(one, other, check_exact=True)
        else:
            assert one == other
    assert not any(update.superstep for update in updates)


def test_a_finished_run_on_an_undirected_graph_is_resumed_without_a_superstep(
    tmp_path: Path,
) -> None:
    ends = graph_for("").edge_frame()
    graph, path = ws.Graph(ends, weight=None, directed=False), tmp_path / "state"
    expected = ws.eigenvector_centrality(graph, checkpoint=path)
    updates: list[Any] = []
    resumed = ws.eigenvector_centrality(graph, resume=path, progress=updates.append)
    pd.testing.assert_frame_equal(resumed, expected, check_exact=True)
    assert not any(update.superstep for update in updates)


def test_a_finished_run_goes_on_with_a_smaller_tolerance(tmp_path: Path) -> None:
    graph, path = graph_for("hits"), tmp_path / "state"
    ws.hits(graph, tol=1e-2, checkpoint=path)
    resumed = ws.run(ws.HITS(tol=1e-9), graph, resume=path)
    assert resumed.converged
    assert resumed.residual <= 1e-9
    assert np.allclose(resumed.frame["hubs"], ws.hits(graph, tol=1e-9)["hubs"], atol=1e-8)


def ends_at_look(number: int | None, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let runs end where a step looks for the n-th time; return the list of looks of later runs."""
    looks = [0]

    class Ending(StopRequests):
        def look(self, *, report: bool = True) -> None:
            self._count()
            super().look(report=report)

        def look_together(self) -> None:
            self._count()
            super().look_together()

        def _count(self) -> None:
            if self._interrupts is not None:  # the loop has started
                looks[0] += 1
                if looks[0] == number:
                    self._request = "timeout"

    monkeypatch.setattr(driver, "StopRequests", Ending)
    return looks


# Functions whose steps are searches from many vertices, or pass over all edges or pairs
OF_LONG_STEPS = {
    *("articulation_points", "betweenness_centrality", "bridges", "closeness_centrality"),
    *("edge_betweenness_centrality", "harmonic_centrality", "minimum_spanning_forest"),
    *("minimum_spanning_tree", "multi_source_bfs", "multi_source_sssp"),
    *("belief_propagation", "label_propagation", "personalized_pagerank"),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_run_that_ends_within_a_step_says_so_and_resumes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for loops in (belief_propagation, label_propagation):
        monkeypatch.setattr(loops, "MOST_A_TASK", 8)
    monkeypatch.setattr(biconnectivity, "ARCS_AT_ONCE", 8)
    monkeypatch.setattr(spanning_tree, "EDGES_AT_ONCE", 8)
    graph, path = graph_for(name), tmp_path / "state"
    looks = ends_at_look(None, monkeypatch)
    expected = on_one(name, graph)  # everything is compiled afterwards
    looks[0] = 0
    on_one(name, graph)
    assert looks[0] > 1 or name not in OF_LONG_STEPS
    saved = {} if has_none(name, on_one) else {"checkpoint": path}
    for number in sorted({1 + looks[0] * part // 5 for part in range(5)} if looks[0] else ()):
        ends_at_look(number, monkeypatch)
        with pytest.raises(ws.ConvergenceError, match="stopped by timeout") as raised:
            on_one(name, graph, **saved)
        assert raised.value.result.stopped == "timeout"
        if saved:
            ends_at_look(None, monkeypatch)
            for one, other in zip(on_one(name, graph, resume=path), expected, strict=True):
                if isinstance(one, pd.DataFrame):
                    pd.testing.assert_frame_equal(one, other)
                else:
                    assert one == other


def test_loops_that_have_none_refuse_them() -> None:
    graph = graph_for("")
    for loop in (ws.SpanningForest(), ws.PersonalizedPageRank([0]), ws.Betweenness(edges=True)):
        with pytest.raises(
            ws.InputError, match=r"^checkpoint=: .* has no checkpoints; leave it out"
        ):
            ws.run(loop, graph, checkpoint="state.parquet")


def test_loops_that_have_none_on_ranks_refuse_them() -> None:
    graph = graph_for("")

    def work(comm: Any) -> None:
        for loop in (ws.Louvain(), ws.Leiden(), ws.Similarity("jaccard"), ws.TrussNumber()):
            with pytest.raises(
                ws.InputError, match=r"^resume=: .* on a cluster has no checkpoints"
            ):
                ws.run(loop, share(graph, comm), resume="state.parquet")

    on_ranks(2, work)
