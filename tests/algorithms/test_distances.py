"""Eccentricities, diameters and mean distances, on every engine and on ranks, against all searches of NetworkX."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import oracles
import pandas as pd
import pytest
from emulator.device import emulated
from shapes import SHAPES, build, grid, random_edges, undirected
from stopping import EndsAfter
from thread_ranks import on_ranks, share
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.algorithms import distances

WAYS = [("cpu", 1), ("cuda", 1), ("cpu", 3), ("cuda", 2)]
GRAPHS = {
    **{name: edges for name, edges in SHAPES.items() if 0 < edges.n < 100},
    **{
        f"{name}, undirected": undirected(edges)
        for name, edges in SHAPES.items()
        if 0 < edges.n < 100
    },
    "many components": undirected(random_edges(150, 110, seed=11)),
    "streets": undirected(grid(9, 9, 0.1, seed=4)),
    "a few streets": undirected(grid(6, 6, 0.1, seed=4)),
}
SOME = ["one vertex", "two components, undirected", "self-loops"]
LONG = {
    "cpu": ["cycle", "streets"],
    "cuda": ["33 vertices", "a few streets"],
}  # the emulator is slow


def answers(edges: Edges, way: tuple[str, int], function: Callable[..., Any], **given: Any) -> Any:
    """Call a function on an engine; on several ranks return the answer of all."""
    engine, ranks = way
    with emulated(), build(edges) as graph:
        if ranks == 1:
            return function(graph, engine=engine, **given)
        found = on_ranks(ranks, lambda comm: function(share(graph, comm), engine=engine, **given))
    if isinstance(found[0], pd.DataFrame):
        return pd.concat(found, ignore_index=True)
    assert len(set(map(str, found))) == 1
    return found[0]


def check(edges: Edges, way: tuple[str, int]) -> None:
    graph = oracles.networkx_graph(edges)
    hops = dict(nx.all_pairs_shortest_path_length(graph))
    longest = [max(hops[vertex].values()) for vertex in range(edges.n)]
    pairs = [hop for reached in hops.values() for hop in reached.values() if hop]
    mean = sum(pairs) / len(pairs) if pairs else 0.0 if edges.n == 1 else math.nan
    if all(len(reached) == edges.n for reached in hops.values()):
        assert nx.diameter(graph) == max(longest)
        assert answers(edges, way, ws.diameter) == max(longest)
        assert answers(edges, way, ws.average_shortest_path_length) == mean
        assert answers(edges, way, ws.eccentricity).eccentricity.tolist() == longest
    else:
        for function in (ws.diameter, ws.average_shortest_path_length, ws.eccentricity):
            with pytest.raises(
                ws.InputError, match="other vertices, so that a distance is infinite"
            ):
                answers(edges, way, function)
    given: Any = {"connected": False}
    found = answers(edges, way, ws.diameter, **given)
    assert (found, type(found)) == (max(longest), int)
    assert answers(edges, way, ws.average_shortest_path_length, **given) == pytest.approx(
        mean, nan_ok=True
    )
    some = [0, edges.n - 1]
    table = answers(edges, way, ws.eccentricity, vertices=some, **given)
    assert table.vertex.tolist() == sorted(set(some))
    assert table.eccentricity.tolist() == [longest[vertex] for vertex in sorted(set(some))]
    assert table.eccentricity.dtype == np.int64


@pytest.mark.parametrize("name", GRAPHS)
def test_every_shape(name: str) -> None:
    check(GRAPHS[name], ("cpu", 1))


@pytest.mark.parametrize(
    ("way", "name"),
    [(way, name) for way in WAYS[1:] for name in (*SOME, *LONG[way[0]])],
    ids=lambda value: value if isinstance(value, str) else f"{value[0]} {value[1]}",
)
def test_engines_and_ranks(name: str, way: tuple[str, int]) -> None:
    check(GRAPHS[name], way)


@pytest.mark.parametrize("directed", [False, True])
def test_a_diameter_takes_few_searches(directed: bool) -> None:
    streets = grid(30, 30, 0.0, seed=1)
    edges = streets if directed else undirected(streets)
    with build(edges) as graph:
        result = ws.run(distances.Diameter(), graph)
    assert result.arrays["least"].max() == 58
    assert result.iterations < 40
    assert (result.arrays["least"] <= result.arrays["most"]).all()


@pytest.mark.parametrize("name", ["streets", "many components"])
def test_a_diameter_resumes(name: str, tmp_path: Path) -> None:
    with build(GRAPHS[name]) as graph:
        expected = ws.diameter(graph, connected=False)
        for steps in (1, 3, 5):
            path = tmp_path / f"{steps}.npz"
            with pytest.raises(ws.ConvergenceError):
                ws.diameter(graph, connected=False, checkpoint=path, progress=EndsAfter(steps))
            assert ws.diameter(graph, connected=False, resume=path) == expected
            with pytest.raises(ws.InputError):
                ws.diameter(graph, resume=path)


def test_what_is_refused() -> None:
    path = pd.DataFrame({"source": ["a", "b"], "destination": ["b", "c"]})
    with pytest.raises(ws.InputError, match="vertex 'c' reaches 0 of the 2 other vertices"):
        ws.eccentricity(path, ["a", "c"])
    assert ws.eccentricity(path, ["a"]).eccentricity.tolist() == [2]
    with pytest.raises(
        ws.InputError, match=r"vertex 'c' reaches 0 of the 2 .* give connected=False"
    ):
        ws.average_shortest_path_length(path)
    with pytest.raises(ws.InputError, match=r"is reached from|reaches"):
        ws.diameter(path)
    with build(SHAPES["empty"]) as graph:
        for function in (ws.diameter, ws.average_shortest_path_length):
            with pytest.raises(ws.InputError, match="of a graph of 0 vertices is undefined"):
                function(graph)
