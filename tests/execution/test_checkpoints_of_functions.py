"""Every function with an option `checkpoint` resumes to the answer of a whole run, or refuses it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from fuzz.arguments import NEEDED, WITHOUT_RUN
from thread_ranks import on_ranks, share

import cugraph_ws as ws
from cugraph_ws.algorithms import betweenness, closeness

SIZE = 40
NUMBERS = np.arange(SIZE)
GIVEN: dict[str, dict[str, Any]] = {  # where the arguments of other tests are not for this graph
    "belief_propagation": {
        "priors": pd.DataFrame({"vertex": NUMBERS, "no": NUMBERS + 1.0, "yes": SIZE - NUMBERS}),
        "coupling": [[2.0, 1.0], [1.0, 2.0]],
    },
    "maximal_bipartite_matching": {"left": NUMBERS[::2].tolist()},
    "heat": {"temperature": dict(enumerate(NUMBERS / 4)), "tol": 0.5},
    "circuit": {"sources": {0: 1.0, 5: 0.0}},
    "neural_network": {"activation": 0.5},
    "topological_levels": {},
}
NOWHERE = {
    *("articulation_points", "bridges", "degree", "degrees", "edge_betweenness_centrality"),
    *("minimum_spanning_forest", "minimum_spanning_tree", "personalized_pagerank", "subgraph"),
}
ON_ONE_MACHINE = {
    *("adamic_adar", "cosine", "jaccard", "k_truss", "leiden", "louvain", "overlap", "sorensen"),
    "truss_number",
}
FUNCTIONS = [*(name for name in NEEDED if name not in WITHOUT_RUN), "topological_levels"]


def graph_for(name: str) -> ws.Graph:
    ends = np.random.default_rng(3).integers(0, SIZE, (2, 150))
    edges = pd.DataFrame(
        {"source": ends[0], "destination": ends[1], "weight": np.arange(150) % 8 / 64}
    )
    if name == "maximal_bipartite_matching":
        edges["source"] &= ~1
        edges["destination"] |= 1
    if name == "minimum_spanning_tree":
        edges = pd.concat(
            [edges, pd.DataFrame({"source": NUMBERS[1:], "destination": 0, "weight": 9.0})]
        )
    if name == "topological_levels":
        edges = edges[edges["source"] < edges["destination"]]
    directed = name != "maximal_bipartite_matching"
    vertices = pd.DataFrame({"vertex": NUMBERS})
    return ws.Graph(edges, vertices=vertices, weight="weight", directed=directed, duplicates="keep")


def parts_of(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [result]


def on_two_ranks(name: str, graph: ws.Graph, **options: Any) -> list[Any]:
    function, given = getattr(ws, name), GIVEN.get(name, NEEDED.get(name))
    shares = on_ranks(2, lambda comm: parts_of(function(share(graph, comm), **given, **options)))
    return [
        pd.concat(parts, ignore_index=True) if isinstance(parts[0], pd.DataFrame) else parts[0]
        for parts in zip(*shares, strict=True)
    ]


def on_one(name: str, graph: ws.Graph, **options: Any) -> list[Any]:
    return parts_of(getattr(ws, name)(graph, **GIVEN.get(name, NEEDED.get(name)), **options))


@pytest.fixture(autouse=True)
def short_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (betweenness, closeness):
        monkeypatch.setattr(module, "WIDTH", 8)


class After:
    """A callback that ends a run after some steps."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def __call__(self, update: ws.execution.progress.ProgressUpdate) -> bool:
        self.left -= 1
        return self.left > 0


@pytest.mark.parametrize("run", [on_one, on_two_ranks])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_run_is_resumed_or_has_no_checkpoints(name: str, run: Any, tmp_path: Path) -> None:
    graph, path = graph_for(name), tmp_path / "state"
    if name in NOWHERE or (name in ON_ONE_MACHINE and run is on_two_ranks):
        for option in ("checkpoint", "resume"):
            with pytest.raises(ws.InputError, match=rf"^{option}=?: .* no checkpoints"):
                run(name, graph, **{option: path})
        assert not path.exists()
        return
    expected = run(name, graph)
    for steps in (1, 2):
        with suppress(ws.ConvergenceError):
            run(name, graph, checkpoint=path, every=1, progress=After(steps))
        for one, other in zip(run(name, graph, resume=path), expected, strict=True):
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
