"""Whether graphs are connected, and what vertices reach, on every engine and on ranks, against NetworkX."""

from __future__ import annotations

from typing import Any

import networkx as nx
import oracles
import pandas as pd
import pytest
from emulator.device import emulated
from shapes import FRAME_KINDS, SHAPES, build, column, frame, undirected
from thread_ranks import on_ranks, share
from verify import Edges

import cugraph_ws as ws

WAYS = [("cpu", 1), ("cuda", 1), ("cpu", 3), ("cuda", 2)]
GRAPHS = {
    **{name: edges for name, edges in SHAPES.items() if 0 < edges.n < 100},
    **{
        f"{name}, undirected": undirected(edges)
        for name, edges in SHAPES.items()
        if 0 < edges.n < 100
    },
}
SOME = ["one vertex", "cycle", "two components", "two components, undirected", "random"]


def check(edges: Edges, way: tuple[str, int]) -> None:
    engine, ranks = way
    graph = oracles.networkx_graph(edges)
    weak, strong = (
        (nx.is_weakly_connected(graph), nx.is_strongly_connected(graph))
        if edges.directed
        else (nx.is_connected(graph),) * 2
    )
    last = edges.n - 1

    def answers(opened: Any) -> list[Any]:
        return [
            ws.is_connected(opened, engine=engine),
            ws.is_connected(opened, strong=True, engine=engine),
            ws.descendants(opened, last, engine=engine),
            ws.ancestors(opened, [0, last], engine=engine),
        ]

    with emulated(), build(edges) as opened:
        found = (
            on_ranks(ranks, lambda comm: answers(share(opened, comm)))
            if ranks > 1
            else [answers(opened)]
        )
    for one in found:
        assert one[:2] == [weak, strong]
    onward, backward = (pd.concat([one[place] for one in found]) for place in (2, 3))
    hops = nx.single_source_shortest_path_length(graph, last)
    expected = {vertex: hop for vertex, hop in sorted(hops.items()) if hop}
    assert dict(zip(onward.vertex, onward.distance, strict=True)) == expected
    before = (nx.ancestors(graph, 0) | nx.ancestors(graph, last)) - {0, last}
    assert backward.vertex.tolist() == sorted(before)
    assert onward.distance.dtype == backward.distance.dtype == "int32"


@pytest.mark.parametrize("name", GRAPHS)
def test_every_shape(name: str) -> None:
    check(GRAPHS[name], ("cpu", 1))


@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize("way", WAYS[1:], ids=lambda way: f"{way[0]} {way[1]}")
def test_engines_and_ranks(name: str, way: tuple[str, int]) -> None:
    check(GRAPHS[name], way)


@pytest.mark.parametrize("kind", FRAME_KINDS)
def test_frames_of_the_callers_kind(kind: str) -> None:
    edges = frame({"source": ["a", "b", "d"], "destination": ["b", "c", "c"]}, kind)
    found = ws.ancestors(edges, "c")
    assert type(found) is type(edges)
    assert column(found, "vertex").tolist() == ["a", "b", "d"]
    assert column(found, "distance").tolist() == [2, 1, 1]
    assert len(ws.descendants(edges, "c")) == 0


def test_what_is_refused() -> None:
    edges = pd.DataFrame({"source": ["a"], "destination": ["b"]})
    for function in (ws.ancestors, ws.descendants):
        with pytest.raises(ws.InputError, match="'z'"):
            function(edges, "z")
    with (
        build(SHAPES["empty"]) as graph,
        pytest.raises(ws.InputError, match="0 vertices is connected"),
    ):
        ws.is_connected(graph)
    with pytest.raises(ws.InputError, match="strong"):
        ws.is_connected(edges, strong="yes")
