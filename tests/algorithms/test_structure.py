"""Components, levels, sets, colours, trees and subgraphs: on every engine and any number of ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import oracles
import pandas as pd
import pytest
from emulator.device import emulated
from every_engine import the_answer
from shapes import SHAPES, build, column, edge_frame, grid, random_edges, rmat, undirected
from thread_ranks import on_ranks, share
from verify import Array, Edges

import cugraph_ws as ws
from cugraph_ws.algorithms import independent_set
from cugraph_ws.algorithms.neighbourhood import numbers_of, priorities
from cugraph_ws.algorithms.spanning_tree import LIGHT, _lightest, lightest_forest
from cugraph_ws.backends.cpu.loops import coloring as in_order
from cugraph_ws.backends.cpu.loops import strong_components as cpu_strong_components
from cugraph_ws.partition.part import Part

NAMES = [
    "empty", "one vertex", "all isolated", "star", "short path", "two components", "self-loops",
    "duplicates", "clique", "random sparse", "ties and zeros",
]  # fmt: skip
LARGE = {"chains": None, "rmat": rmat(9, 2, seed=8), "grid": grid(20, 20, 0.5, seed=9)}


def chains(length: int, rings: int) -> Edges:
    """Return rings of two vertices, each leading to the next."""
    one = 2 * np.arange(rings)
    source = np.concatenate([one, one + 1, one[:-1] + 1])
    destination = np.concatenate([one + 1, one, one[1:]])
    order = np.random.default_rng(length).permutation(2 * rings)
    return Edges(order[source], order[destination], 2 * rings)


LARGE["chains"] = chains(3, 60)


def neighbours(edges: Edges) -> list[set[int]]:
    found: list[set[int]] = [set() for _ in range(edges.n)]
    for one, other in zip(edges.source.tolist(), edges.destination.tolist(), strict=True):
        if one != other:
            found[one].add(other)
            found[other].add(one)
    return found


def order_of(edges: Edges, seed: int) -> list[int]:
    """Return the vertices by falling priority."""
    with build(edges) as graph:
        values = priorities(Part(graph, on_device=False), seed)
        assert numbers_of(values, seed).tolist() == list(range(edges.n))
    return np.argsort(values)[::-1].tolist()


def by_degree(edges: Edges) -> list[int]:
    """Return the vertices by falling number of neighbours, then by number."""
    beside = neighbours(edges)
    return sorted(range(edges.n), key=lambda vertex: (-len(beside[vertex]), vertex))


def greedy_colors(edges: Edges, order: list[int]) -> list[int]:
    """Color the vertices one after the other."""
    beside, color = neighbours(edges), [-1] * edges.n
    for vertex in order:
        taken = {color[other] for other in beside[vertex]}
        color[vertex] = next(free for free in range(edges.n) if free not in taken)
    return color


# --------------------------------------------------------------------------------- components


def strong_labels(edges: Edges) -> Array:
    label = np.arange(edges.n)
    for members in nx.strongly_connected_components(oracles.networkx_graph(edges)):
        label[list(members)] = min(members)
    return label


@pytest.mark.parametrize("name", NAMES)
def test_strongly_connected_components(name: str) -> None:
    found = the_answer(SHAPES[name], ws.strongly_connected_components)
    assert column(found, "labels").tolist() == strong_labels(SHAPES[name]).tolist()


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("ranks", [1, 3])
def test_larger_strong_components(name: str, ranks: int) -> None:
    edges = LARGE[name]
    with build(edges) as graph:
        parts = on_ranks(
            ranks, lambda comm: ws.strongly_connected_components(share(graph, comm)).labels
        )
    assert np.concatenate(parts).tolist() == strong_labels(edges).tolist()


def with_a_hub(spokes: int) -> Edges:
    """Return a vertex whose rows are queued in several pieces, on rings and on dead ends."""
    left = np.arange(1, spokes + 1)
    source = np.concatenate([np.zeros(spokes, np.int64), left[::2], [5, 6, 0]])
    destination = np.concatenate([left, np.zeros(len(left[::2]), np.int64), [6, 5, 0]])
    return Edges(source, destination, spokes + 1)


ROUNDS = {
    "few arcs": random_edges(90, 70, seed=1),
    "more": random_edges(90, 110, seed=2),
    "many": random_edges(90, 170, seed=3),
    "chains": LARGE["chains"],
    "hub": with_a_hub(1200),
}


@pytest.mark.parametrize("name", ROUNDS)
def test_strong_components_by_launches_of_many_rounds(name: str) -> None:
    """Each step settles the vertices that it settles on two ranks of the CPU."""
    edges = ROUNDS[name]
    with build(edges) as graph:
        expected = on_ranks(
            2, lambda comm: ws.run(ws.StronglyConnectedComponents(), share(graph, comm)).trace
        )
        with emulated(seed=3):
            found = ws.run(ws.StronglyConnectedComponents(), graph, engine="cuda")
        assert found.trace["active"].tolist() == expected[0]["active"].tolist()
        assert column(found.frame, "labels").tolist() == strong_labels(edges).tolist()


def test_strong_components_of_an_undirected_graph_are_components() -> None:
    edges = undirected(SHAPES["random sparse"])
    with build(edges) as graph:
        strong = ws.strongly_connected_components(graph)
        assert strong.equals(ws.weakly_connected_components(graph))


@pytest.mark.parametrize("most", [1, 5, 50])
def test_a_depth_first_search_goes_on(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(cpu_strong_components, "ARCS_A_STEP", most)
    edges = ROUNDS["many"]
    with build(edges) as graph:
        found = ws.run(ws.StronglyConnectedComponents(), graph, engine="cpu")
        assert len(found.trace) >= len(edges.source) // (most + 10)
        assert (np.diff(found.trace["active"]) <= 0).all()
        assert column(found.frame, "labels").tolist() == strong_labels(edges).tolist()


def test_strong_components_go_on_from_a_checkpoint(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpu_strong_components, "ARCS_A_STEP", 100)
    path = tmp_path / "state.parquet"
    with build(LARGE["chains"]) as graph:
        with pytest.raises(ws.ConvergenceError) as caught:
            ws.strongly_connected_components(
                graph, checkpoint=path, progress=lambda update: update.superstep < 2
            )
        assert caught.value.result.frame.labels.isna().any()
        resumed = ws.strongly_connected_components(graph, resume=path)
        assert resumed.equals(ws.strongly_connected_components(graph))


# ------------------------------------------------------------------------------------- levels


def acyclic(edges: Edges) -> Edges:
    kept = edges.source < edges.destination
    return Edges(edges.source[kept], edges.destination[kept], edges.n)


@pytest.mark.parametrize("name", NAMES)
def test_topological_levels(name: str) -> None:
    edges = acyclic(SHAPES[name])
    found = column(the_answer(edges, ws.topological_levels), "level")
    expected = [0] * edges.n
    for one, other in sorted(zip(edges.source.tolist(), edges.destination.tolist(), strict=True)):
        expected[other] = max(expected[other], expected[one] + 1)
    assert found.tolist() == expected


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize(
    ("edges", "cycle"),
    [
        (Edges(np.array([0, 1, 2, 3, 4]), np.array([1, 2, 3, 1, 0]), 6), "1 -> 2 -> 3 -> 1;"),
        (Edges(np.array([0, 1]), np.array([0, 0]), 2), "0 -> 0;"),
        (SHAPES["cycle"], r"\(20 vertices\)"),
    ],
    ids=["ring", "loop", "long"],
)
def test_a_cycle_is_named(edges: Edges, cycle: str, ranks: int) -> None:
    with build(edges) as graph, pytest.raises(ws.InputError, match=cycle):
        on_ranks(ranks, lambda comm: ws.topological_levels(share(graph, comm)))


def test_an_undirected_graph_has_no_levels() -> None:
    with pytest.raises(ws.InputError, match="directed"):
        ws.topological_levels(edge_frame(SHAPES["one edge"]), directed=False)


# --------------------------------------------------------------------------- sets and colours


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("directed", [True, False])
def test_sets_and_colors_are_greedy(name: str, directed: bool) -> None:
    edges = SHAPES[name] if directed else undirected(SHAPES[name])
    expected = greedy_colors(edges, order_of(edges, seed=1))
    colors = column(the_answer(edges, ws.coloring, seed=1), "color")
    assert colors.tolist() == expected
    chosen = column(the_answer(edges, ws.maximal_independent_set, seed=1), "in_set")
    assert chosen.tolist() == [color == 0 for color in expected]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("directed", [True, False])
def test_colors_are_those_of_sequential_greedy_by_degree(
    name: str, directed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    edges = SHAPES[name] if directed else undirected(SHAPES[name])
    expected = greedy_colors(edges, by_degree(edges))
    # Then calls are cut, and a GPU's host goes on, or does all of it
    for arcs, rounds, few in ((1 << 23, 256, 0), (8, 2, 0), (8, 256, 1 << 20)):
        monkeypatch.setattr(in_order, "ARCS_A_CALL", arcs)
        monkeypatch.setattr(independent_set, "MOST_ROUNDS", rounds)
        monkeypatch.setattr(independent_set, "FEW_ARCS", few)
        assert column(the_answer(edges, ws.coloring), "color").tolist() == expected
    peer = nx.Graph(oracles.networkx_graph(edges))
    peer.remove_edges_from([*nx.selfloop_edges(peer)])
    known = nx.greedy_color(peer, "largest_first")
    assert [known[vertex] for vertex in range(edges.n)] == expected


def test_more_colors_than_a_word_has_bits() -> None:
    one, other = np.triu_indices(130, 1)
    edges = Edges(one, other, 130, None, False)
    with build(edges) as graph:
        color = ws.coloring(graph).color
        assert sorted(color) == list(range(130))
        assert not color.equals(ws.coloring(graph, seed=5).color)


@pytest.mark.parametrize("function", [ws.coloring, ws.maximal_independent_set])
def test_rounds_go_on_from_a_checkpoint(
    function: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_order, "ARCS_A_CALL", 8)
    path = tmp_path / "state.parquet"
    with build(SHAPES["path"]) as graph:
        with pytest.raises(ws.ConvergenceError):
            function(graph, checkpoint=path, progress=lambda update: update.superstep < 1)
        assert function(graph, resume=path).equals(function(graph))
    with pytest.raises(ws.InputError, match="seed"):
        function(edge_frame(SHAPES["clique"]), seed=-1)


# -------------------------------------------------------------------------------------- trees


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("directed", [True, False])
def test_minimum_spanning_forests(name: str, directed: bool) -> None:
    edges = SHAPES[name] if directed else undirected(SHAPES[name])
    forest = the_answer(edges, ws.minimum_spanning_forest)
    peer = oracles.networkx_graph(undirected(SHAPES[name]))
    expected = nx.minimum_spanning_tree(peer).size(weight="weight")
    assert np.isclose(column(forest, "weight").sum(), expected)
    assert len(forest) == edges.n - nx.number_connected_components(peer)
    joined = nx.Graph(zip(forest.source, forest.destination, strict=True))
    assert nx.is_forest(joined) if len(joined) else not len(forest)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("directed", [True, False])
def test_maximum_spanning_forests(name: str, directed: bool) -> None:
    edges = SHAPES[name] if directed else undirected(SHAPES[name])
    forest = the_answer(edges, ws.maximum_spanning_forest)
    peer = oracles.networkx_graph(undirected(SHAPES[name]))
    expected = nx.maximum_spanning_tree(peer).size(weight="weight")
    assert np.isclose(column(forest, "weight").sum(), expected)
    assert len(forest) == edges.n - nx.number_connected_components(peer)
    joined = nx.Graph(zip(forest.source, forest.destination, strict=True))
    assert nx.is_forest(joined) if len(joined) else not len(forest)


@pytest.mark.filterwarnings("ignore:directed=False:cugraph_ws.GraphWarning")
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("greatest", [True, False])
def test_a_run_of_the_loop_has_the_ends_of_the_forest(greatest: bool, directed: bool) -> None:
    edges = random_edges(40, 150, seed=6)
    edges = edges if directed else undirected(edges)
    function = ws.maximum_spanning_forest if greatest else ws.minimum_spanning_forest

    def ends(graph: ws.Graph, **options: Any) -> pd.DataFrame:
        return ws.run(ws.SpanningForest(greatest=greatest), graph, **options).frame

    frame, names = the_answer(edges, ends), ["destination", "source"]
    forest = the_answer(edges, function).sort_values(names, ignore_index=True)
    assert frame.equals(frame.sort_values(names, ignore_index=True))
    assert np.array_equal(frame.to_numpy(), forest[["source", "destination"]].to_numpy())


def test_of_equal_weights_both_forests_take_the_first_edges() -> None:
    edges = edge_frame(random_edges(40, 150, seed=6), weighted=False).assign(
        weight=1, place=range(150)
    )
    with ws.Graph(edges, attributes=["place"]) as graph:
        assert ws.maximum_spanning_forest(graph).equals(ws.minimum_spanning_forest(graph))


def test_trees_of_text_without_weights_and_of_two_components() -> None:
    edges = pd.DataFrame({"source": ["a", "b", "c", "a"], "destination": ["b", "c", "a", "b"]})
    tree = ws.minimum_spanning_tree(edges)
    assert tree.to_dict("list") == {"source": ["c", "a"], "destination": ["a", "b"]}
    apart = edge_frame(SHAPES["two components"]).iloc[:4]
    assert ws.minimum_spanning_tree(apart).equals(ws.minimum_spanning_forest(apart))
    for name in ("checkpoint", "resume"):
        with pytest.raises(ws.InputError, match=name):
            ws.minimum_spanning_forest(edges, **{name: "state.parquet"})


@pytest.mark.parametrize("dtype", [np.int64, np.float32])
def test_ties_go_to_the_first_edge(dtype: Any) -> None:
    edges = random_edges(40, 150, seed=6)
    frame = edge_frame(edges, weighted=False).assign(weight=np.ones(150, dtype), place=range(150))
    with ws.Graph(frame, attributes=["place"], directed=False, duplicates="first") as graph:
        forest = ws.minimum_spanning_forest(graph)
        listed = graph.edge_frame()
    parent = list(range(40))

    def root(vertex: int) -> int:
        return vertex if parent[vertex] == vertex else root(parent[vertex])

    kept = []
    for row in listed.itertuples():
        one, other = root(row.source), root(row.destination)
        if one != other:
            parent[one] = other
            kept.append(row.place)
    assert sorted(forest.place) == sorted(kept)


# ---------------------------------------------------------------------------------- subgraphs


@pytest.mark.parametrize("name", ["star", "two components", "self-loops", "random sparse"])
@pytest.mark.parametrize("directed", [True, False])
def test_subgraphs_and_ego_graphs(name: str, directed: bool) -> None:
    edges = SHAPES[name] if directed else undirected(SHAPES[name])
    peer = oracles.networkx_graph(edges)
    half = list(range(0, edges.n, 2))
    found = the_answer(edges, ws.subgraph, half)
    assert ends_of(found) == sorted(map(ordered(directed), peer.subgraph(half).edges()))
    for radius, center in ((0, True), (1, True), (2, False)):
        found = the_answer(edges, ws.ego_graph, 1, radius, center)
        expected = nx.ego_graph(peer, 1, radius, center)
        assert ends_of(found) == sorted(map(ordered(directed), expected.edges()))


def ends_of(frame: pd.DataFrame) -> list[tuple[int, int]]:
    return sorted(zip(frame.source, frame.destination, strict=True))


def ordered(directed: bool) -> Callable[[tuple[int, int]], tuple[int, int]]:
    return lambda ends: ends if directed else (min(ends), max(ends))


def test_unknown_vertices_of_subgraphs() -> None:
    edges = pd.DataFrame({"source": ["a"], "destination": ["b"], "weight": [2.5]})
    assert ws.ego_graph(edges, "a").weight.tolist() == [2.5]
    with pytest.raises(ws.InputError, match="vertices"):
        ws.subgraph(edges, ["c"])
    with pytest.raises(ws.InputError, match="radius"):
        ws.ego_graph(edges, "a", -1)


@pytest.mark.parametrize("k", [0, 1, 2, 3, 9])
def test_a_core_is_known_before_the_peeling_ends(k: int) -> None:
    edges = undirected(SHAPES["random"])
    core = oracles.core_numbers(edges)
    found = the_answer(edges, ws.k_core, k)
    inside = (core[edges.source] >= k) & (core[edges.destination] >= k)
    assert len(found) == inside.sum()


def test_peeling_stops_at_the_core() -> None:
    edges = undirected(SHAPES["random"])

    def steps(k: int | None) -> int:
        with build(edges) as graph:
            return on_ranks(
                2, lambda comm: ws.run(ws.CoreNumber("both", k), share(graph, comm)).iterations
            )[0]

    assert steps(0) == 0
    assert 0 < steps(4) < steps(None)


@pytest.mark.parametrize("seed", range(4))
def test_the_forest_of_light_edges_comes_first(seed: int) -> None:
    """Of many edges a vertex, with ties, negative weights and both zeros: Kruskal's forest."""
    draw = np.random.default_rng(seed)
    tail, head = draw.integers(0, 12, (2, 200))
    weight = draw.choice([-2.5, -1.0, -0.0, 0.0, 0.5, 3.0, np.inf, np.nan][: 5 + seed], 200)
    weight[:90] = draw.normal(size=90)
    light = _lightest(np, weight, LIGHT * 12)
    assert 0 < light.sum() <= 100
    ends = tail, head
    found = lightest_forest(12, ends, ends, weight)
    order = np.lexsort((tail, head))
    of_sorted = lightest_forest(12, (tail[order], head[order]), None, weight[order])
    assert sorted(order[of_sorted]) == sorted(found)
    label, kept = np.arange(12), []
    for place in np.lexsort((np.arange(200), tail, head, weight)):
        one, other = label[tail[place]], label[head[place]]
        if one != other:
            label[label == one] = other
            kept.append(place)
    assert sorted(found) == sorted(kept)


def test_equal_weights_are_not_filtered() -> None:
    assert _lightest(np, np.ones(500), 10).all()
    assert _lightest(np, np.arange(10.0), 6).all()
