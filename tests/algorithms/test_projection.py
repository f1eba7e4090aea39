"""`bipartite_projection`: NetworkX's weights, on every engine and on ranks, and what it refuses."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from emulator.device import emulated
from thread_ranks import on_ranks, share

import cugraph_ws as ws
from cugraph_ws.execution import run_memory

RANDOM = np.random.default_rng(4)
EDGES = pd.DataFrame(
    {"source": RANDOM.integers(0, 14, 60), "destination": RANDOM.integers(14, 24, 60)}
)
LEFT = list(range(14))


def projected(ratio: bool) -> dict[tuple[int, int], float]:
    graph = nx.Graph(EDGES.to_numpy().tolist())
    left = [vertex for vertex in LEFT if vertex in graph]
    made = nx.bipartite.weighted_projected_graph(graph, left, ratio=ratio)
    return {(min(a, b), max(a, b)): weight for a, b, weight in made.edges(data="weight")}


def rows(frame: pd.DataFrame) -> dict[tuple[int, int], float]:
    pairs = zip(frame["source"], frame["destination"], strict=True)
    return dict(zip(pairs, frame["weight"], strict=True))


@pytest.mark.parametrize("ratio", [False, True])
@pytest.mark.parametrize("engine", ["cpu", "cuda"])
def test_weights_are_those_of_networkx(engine: Any, ratio: bool) -> None:
    swapped = EDGES.rename(columns={"source": "destination", "destination": "source"})
    expected = projected(ratio)
    with emulated(seed=1):
        for edges in (EDGES, swapped, pd.concat([EDGES, EDGES[:9]])):
            used = [vertex for vertex in LEFT if vertex in set(edges.to_numpy().ravel().tolist())]
            frame = ws.bipartite_projection(edges, used, ratio, engine=engine)
            assert rows(frame) == expected
            assert list(rows(frame)) == sorted(expected)


def test_a_side_is_named_by_a_vertex_attribute() -> None:
    vertices = pd.DataFrame({"vertex": range(24), "is_item": [v >= 14 for v in range(24)]})
    graph = ws.Graph(EDGES, vertices=vertices)
    items = list(range(14, 24))
    pd.testing.assert_frame_equal(
        graph.bipartite_projection("is_item"), graph.bipartite_projection(items)
    )
    assert min(graph.bipartite_projection("is_item")["source"]) >= 14


def test_ranks_give_the_rows_of_one_machine() -> None:
    vertices = pd.DataFrame({"vertex": range(24)})
    graph = ws.Graph(EDGES, vertices=vertices)

    def on_a_rank(comm: Any) -> pd.DataFrame:
        return ws.bipartite_projection(share(graph, comm), LEFT, True)

    parts = pd.concat(on_ranks(3, on_a_rank), ignore_index=True)
    pd.testing.assert_frame_equal(parts, ws.bipartite_projection(graph, LEFT, True))


def test_top_and_at_least_choose_edges() -> None:
    graph = ws.Graph(EDGES, vertices=pd.DataFrame({"vertex": range(24)}))
    frame = graph.bipartite_projection(LEFT)
    strong = graph.bipartite_projection(LEFT, at_least=3)
    assert 0 < len(strong) < len(frame)
    assert rows(strong) == {pair: weight for pair, weight in rows(frame).items() if weight >= 3}
    best = graph.bipartite_projection(LEFT, top=1)
    for vertex, weight in zip(best["source"], best["weight"], strict=True):
        assert weight == max(w for pair, w in rows(frame).items() if vertex in pair)


def test_an_edge_within_a_side_is_refused() -> None:
    with pytest.raises(
        ws.InputError, match=r"an edge joins 1 and 15, .* the same side, .*correct them"
    ):
        ws.bipartite_projection(pd.DataFrame({"source": [1], "destination": [15]}), [1, 15])
    with pytest.raises(ws.InputError, match="ratio=2 must be"):
        ws.bipartite_projection(EDGES, [EDGES["source"][0]], 2)  # type: ignore[arg-type]


def test_too_many_edges_are_refused_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_memory, "available_memory", lambda: 1 << 25)
    leaves = np.arange(1, 5_000)
    star = pd.DataFrame({"source": 0, "destination": leaves})
    with pytest.raises(
        ws.GraphMemoryError, match=r"give a smaller top= .* a greater at_least= "
    ) as e:
        ws.bipartite_projection(star, leaves)
    assert "vertex_pair" not in str(e.value)
