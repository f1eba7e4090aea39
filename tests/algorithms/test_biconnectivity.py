"""Bridges and articulation points: on every engine and any number of ranks."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from every_engine import the_answer
from shapes import SHAPES, build, grid, random_edges, undirected
from thread_ranks import on_ranks, share
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.algorithms.blocks import certificate, find_blocks, spanning_forest
from cugraph_ws.backends.cpu.loops.jumps import lower

NAMES = [
    "empty", "one vertex", "all isolated", "star", "short path", "two components", "self-loops",
    "duplicates", "clique", "random sparse", "ties and zeros",
]  # fmt: skip


def rings(count: int, length: int) -> Edges:
    """Return rings in a row, each of which shares a vertex with the next, and tails of two edges."""
    graph = nx.Graph()
    for ring in range(count):
        first = ring * (length - 1)
        nx.add_cycle(graph, range(first, first + length))
        nx.add_path(graph, [first, f"{ring} a", f"{ring} b"])
    return relabelled(graph, 5)


def relabelled(graph: nx.Graph, seed: int) -> Edges:
    """Return a graph whose vertices are numbered at random."""
    order = np.random.default_rng(seed).permutation(len(graph))
    number = dict(zip(graph, order.tolist(), strict=True))
    ends = np.array([(number[one], number[other]) for one, other in graph.edges()], np.int64)
    return Edges(ends[:, 0], ends[:, 1], len(graph))


LARGE = {
    "rings": rings(9, 4),
    "tree": relabelled(nx.random_labeled_tree(200, seed=2), 3),
    "long path": relabelled(nx.path_graph(700), 4),
    "sparse": random_edges(300, 330, seed=11),
    "grid": grid(15, 15, 0.4, seed=3),
}


def expected(edges: Edges) -> tuple[list[tuple[int, int]], list[int]]:
    """Return the bridges and the articulation points by NetworkX."""
    every = nx.MultiGraph()
    every.add_nodes_from(range(edges.n))
    every.add_edges_from(zip(edges.source.tolist(), edges.destination.tolist(), strict=True))
    simple = nx.Graph(every)
    lone = [ends for ends in nx.bridges(simple) if every.number_of_edges(*ends) == 1]
    return sorted(map(sides, lone)), sorted(nx.articulation_points(simple))


def sides(ends: tuple[int, int]) -> tuple[int, int]:
    return min(ends), max(ends)


def listed(frame: pd.DataFrame) -> list[tuple[int, int]]:
    return sorted(map(sides, zip(frame.source, frame.destination, strict=True)))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("directed", [True, False])
def test_shapes(name: str, directed: bool) -> None:
    edges = SHAPES[name] if directed else undirected(SHAPES[name])
    bridges, points = expected(SHAPES[name])
    assert listed(the_answer(edges, ws.bridges)) == bridges
    assert the_answer(edges, ws.articulation_points).vertex.tolist() == points


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_larger_graphs(name: str, ranks: int) -> None:
    edges = LARGE[name]
    bridges, points = expected(edges)
    with build(edges) as graph:
        found: Any = on_ranks(
            ranks,
            lambda comm: (
                ws.bridges(share(graph, comm)),
                ws.articulation_points(share(graph, comm)),
            ),
        )
    assert listed(pd.concat(one for one, _ in found)) == bridges
    assert pd.concat(one for _, one in found).vertex.tolist() == points


def test_random_graphs_and_their_certificates() -> None:
    for seed in range(150):
        chance = np.random.default_rng(seed)
        n = int(chance.integers(2, 14))
        ends = chance.integers(0, n, (2, int(chance.integers(0, 18))))
        one, other = ends[:, ends[0] != ends[1]]
        bridges, points = expected(Edges(one, other, n))
        blocks = find_blocks(np, n, one, other, lower)
        where = blocks.tree[blocks.bridge[blocks.child]]
        assert (
            sorted(map(sides, zip(one[where].tolist(), other[where].tolist(), strict=True)))
            == bridges
        )
        assert np.flatnonzero(blocks.cut).tolist() == points
        # Half of the edges may be replaced by their certificate.
        half = len(one) // 2
        places, near, far = certificate(np, find_blocks(np, n, one[:half], other[:half], lower))
        assert len(near) < 2 * n
        assert len(places) <= len(near)
        near, far = np.append(near, one[half:]), np.append(far, other[half:])
        again = find_blocks(np, n, near, far, lower)
        where = again.tree[again.bridge[again.child]]
        assert (
            sorted(map(sides, zip(near[where].tolist(), far[where].tolist(), strict=True)))
            == bridges
        )
        assert np.array_equal(again.cut, blocks.cut)


def test_forests_are_of_the_first_edges() -> None:
    one, other = np.array([0, 1, 2, 0, 4]), np.array([1, 2, 0, 3, 5])
    places, label = spanning_forest(np, 7, one, other, lower)
    assert places.tolist() == [0, 1, 3, 4]
    assert len(set(label[:4])) == len(set(label[4:6])) == 1
    assert len(set(label)) == 3
    assert (label[label] == label).all()


def test_kept_columns_text_and_refusals() -> None:
    edges = pd.DataFrame(
        {
            "from": ["a", "b", "c", "c", "d"],
            "to": ["b", "c", "a", "d", "c"],
            "weight": [1.5, 2, 3, 4, 5],
        }
    )
    ends = {"source": "from", "destination": "to"}
    assert ws.bridges(edges, **ends).empty
    assert ws.bridges(edges[:4], **ends).to_dict("list") == {
        "from": ["c"],
        "to": ["d"],
        "weight": [4.0],
    }
    assert ws.articulation_points(edges, **ends).vertex.tolist() == ["c"]
    for function in (ws.bridges, ws.articulation_points):
        for option in ("checkpoint", "resume"):
            with pytest.raises(ws.InputError, match=option):
                function(edges, **ends, **{option: "state.parquet"})
