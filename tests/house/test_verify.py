"""The verifiers accept right answers, and refuse them once mangled."""

from __future__ import annotations

import re

import numpy as np
import oracles
import pytest
import verify
from shapes import SHAPES, undirected
from verify import Edges, Mismatch

NONE = -1


def tree(edges: Edges, value: np.ndarray, extend, roots) -> np.ndarray:
    """For every vertex the first in-neighbour that explains its value and is strictly nearer."""
    predecessor = np.full(edges.n, NONE)
    for source, destination, weight in zip(*edges.arcs(), strict=True):
        explains = np.isfinite(value[source]) and extend(value[source], weight)
        if destination not in roots and explains == value[destination]:
            predecessor[destination] = source
    return predecessor


def shortest(name: str = "random", start: int = 0):
    edges = SHAPES[name]
    distance = oracles.dijkstra(edges, start)
    return edges, distance, tree(edges, distance, lambda d, w: d + w, {start})


def changed(values: np.ndarray, index, value) -> np.ndarray:
    copy = values.copy()
    copy[index] = value
    return copy


# Shortest paths


def test_shortest_paths_are_accepted(shape):
    if shape.n == 0:
        verify.check_shortest_paths(shape, [], np.empty(0), np.empty(0, int))
        return
    for edges in (shape, undirected(shape)):
        ends = [0, edges.n - 1]
        verify.check_shortest_paths(edges, 0, oracles.dijkstra(edges, 0))
        verify.check_shortest_paths(edges, ends, oracles.dijkstra(edges, ends))


def test_trees_of_shortest_paths_are_accepted():
    for name in ("random", "grid", "rmat", "two components"):
        edges, distance, predecessor = shortest(name)
        verify.check_shortest_paths(edges, 0, distance, predecessor)


def test_integer_distances_are_accepted_in_either_convention():
    edges = SHAPES["path"]
    distance = np.arange(50)
    hops = Edges(edges.source, edges.destination, 50)
    verify.check_shortest_paths(hops, 0, distance, distance - 1)
    for unreached in (-1, np.iinfo(np.int64).max):
        near = np.where(distance > 20, unreached, distance)
        predecessor = np.where(distance > 20, NONE, distance - 1)
        verify.check_shortest_paths(hops, 0, near, predecessor, limit=20)


def test_a_distance_too_long_is_refused():
    edges, distance, predecessor = shortest()
    vertex = int(np.argmax(np.where(np.isfinite(distance), distance, 0)))
    longer = changed(distance, vertex, distance[vertex] + 1)
    with pytest.raises(Mismatch, match=rf"edge \d+ -> {vertex} would shorten"):
        verify.check_shortest_paths(edges, 0, longer, predecessor)


def test_a_distance_too_short_is_refused():
    edges, distance, _ = shortest("path")
    with pytest.raises(Mismatch, match="vertex 49 has no path that explains"):
        verify.check_shortest_paths(edges, 0, changed(distance, 49, distance[49] - 0.125))


def test_a_reachable_vertex_left_out_is_refused():
    edges, distance, _ = shortest("path")
    with pytest.raises(Mismatch, match="edge 48 -> 49 would shorten"):
        verify.check_shortest_paths(edges, 0, changed(distance, 49, np.inf))


def test_a_distance_beyond_the_limit_is_refused():
    edges, distance, predecessor = shortest("path")
    with pytest.raises(Mismatch, match="beyond the limit"):
        verify.check_shortest_paths(edges, 0, distance, predecessor, limit=1.0)


def test_a_distance_that_no_path_has_is_refused():
    edges = SHAPES["two components"]
    distance = oracles.dijkstra(edges, 0)
    circle = distance.copy()
    circle[[3, 4, 5]] = 100.0  # each below the next by the weight: but no arc leads there
    with pytest.raises(Mismatch):
        verify.check_shortest_paths(edges, 0, circle)


def test_a_start_not_at_0_and_a_negative_distance_are_refused():
    edges, distance, _ = shortest()
    with pytest.raises(Mismatch, match="start 0 is not at distance 0"):
        verify.check_shortest_paths(edges, 0, changed(distance, 0, 0.125))
    with pytest.raises(Mismatch, match="negative distance"):
        verify.check_shortest_paths(edges, 0, changed(distance, 3, -1.0))


@pytest.mark.parametrize(
    ("vertex", "predecessor", "message"),
    [
        (0, 3, "vertex 0 should have no predecessor"),
        (6, 0, "vertex 6 should have no predecessor"),
        (2, NONE, "vertex 2 has no predecessor"),
        (2, 0, "the predecessor of vertex 2 does not explain"),
        (2, 2, "the predecessor of vertex 2 does not explain"),
    ],
)
def test_a_wrong_predecessor_is_refused(vertex, predecessor, message):
    edges, distance, predecessors = shortest("two components")
    wrong = changed(predecessors, vertex, predecessor)
    with pytest.raises(Mismatch, match=message):
        verify.check_shortest_paths(edges, 0, distance, wrong)


def test_predecessors_in_a_circle_are_refused():
    edges = Edges(np.array([2, 1, 0]), np.array([1, 0, 1]), 3, np.array([1.0, 0.0, 0.0]))
    distance = np.array([1.0, 1.0, 0.0])
    verify.check_shortest_paths(edges, 2, distance, np.array([1, 2, NONE]))
    with pytest.raises(Mismatch, match="run in a circle"):
        verify.check_shortest_paths(edges, 2, distance, np.array([1, 0, NONE]))


def test_sums_beyond_floats_shorten_nothing_but_must_not_pass_for_unreached():
    edges = Edges(np.array([0, 1, 1]), np.array([1, 0, 2]), 3, np.full(3, 1e308))
    with pytest.raises(Mismatch, match="edge 1 -> 2 would shorten"):
        verify.check_shortest_paths(edges, 0, np.array([0.0, 1e308, np.inf]))
    back = Edges(edges.source[:2], edges.destination[:2], 2, edges.weight[:2])
    verify.check_shortest_paths(back, 0, np.array([0.0, 1e308]))


def test_a_circle_that_explains_itself_is_refused():
    edges = Edges(np.array([1, 0]), np.array([0, 1]), 3, np.zeros(2))
    distance = np.array([5.0, 5.0, 0.0])
    with pytest.raises(Mismatch, match="vertex 0 has no path"):
        verify.check_shortest_paths(edges, 2, distance)


def test_a_result_of_another_length_is_refused():
    with pytest.raises(Mismatch, match=re.escape("distance has shape (3,), not (2,)")):
        verify.check_shortest_paths(SHAPES["one edge"], 0, np.zeros(3))


# Widest paths


def widest(name: str = "random", start: int = 0):
    edges = SHAPES[name]
    return edges, oracles.widest_path(edges, start)


def test_widest_paths_are_accepted(shape):
    for edges in (shape, undirected(shape)):
        if edges.n:
            width = oracles.widest_path(edges, 0)
            verify.check_widest_paths(edges, 0, width)
            verify.check_widest_paths(edges, 0, np.nan_to_num(width, nan=0.0, posinf=np.inf))


def test_a_width_too_large_or_too_small_is_refused():
    edges, width = widest()
    vertex = int(np.flatnonzero(np.isfinite(width))[-1])
    with pytest.raises(Mismatch):
        verify.check_widest_paths(edges, 0, changed(width, vertex, width[vertex] + 0.125))
    with pytest.raises(Mismatch, match=f"-> {vertex} would widen"):
        verify.check_widest_paths(edges, 0, changed(width, vertex, width[vertex] - 0.125))


def test_a_width_without_a_path_and_a_path_without_a_width_are_refused():
    edges, width = widest("two components")
    with pytest.raises(Mismatch, match="vertex 6 has a width"):
        verify.check_widest_paths(edges, 0, changed(width, 6, 0.5))
    with pytest.raises(Mismatch, match="vertex 2 is reached"):
        verify.check_widest_paths(edges, 0, changed(width, 2, np.nan))


def test_wide_predecessors_in_a_circle_are_refused():
    edges = Edges(np.array([2, 1, 0]), np.array([1, 0, 1]), 3, np.array([3.0, 9.0, 9.0]))
    width = np.array([3.0, 3.0, np.inf])
    verify.check_widest_paths(edges, 2, width, np.array([1, 2, NONE]))
    with pytest.raises(Mismatch, match="run in a circle"):
        verify.check_widest_paths(edges, 2, width, np.array([1, 0, NONE]))


# Ranks


def test_ranks_are_accepted(shape):
    for edges in (shape, undirected(shape)):
        verify.check_pagerank(edges, oracles.pagerank(edges), 1e-11)
        if edges.n > 1:
            parameters = {"alpha": 0.6, "personalization": np.arange(edges.n) % 3.0,
                          "dangling": np.arange(edges.n) % 2.0}  # fmt: skip
            verify.check_pagerank(edges, oracles.pagerank(edges, **parameters), 1e-11, **parameters)


def test_given_out_weights_are_honoured():
    edges = SHAPES["random"]
    out_weight = np.bincount(edges.source, edges.weight, edges.n)
    ranks = oracles.pagerank(edges, out_weight=out_weight)
    assert verify.pagerank_residual(edges, ranks) == pytest.approx(
        verify.pagerank_residual(edges, ranks, out_weight=out_weight), abs=1e-13
    )
    with pytest.raises(Mismatch, match="one more step"):
        verify.check_pagerank(edges, ranks, 1e-6, out_weight=2 * out_weight)


def test_mangled_ranks_are_refused():
    edges = SHAPES["random"]
    ranks = oracles.pagerank(edges)
    swapped = ranks.copy()
    swapped[[0, 1]] = swapped[[1, 0]]
    with pytest.raises(Mismatch, match="one more step"):
        verify.check_pagerank(edges, swapped, 1e-6)
    with pytest.raises(Mismatch, match="sum to"):
        verify.check_pagerank(edges, ranks * 1.001, 1e-6)
    for wrong in (-ranks[0], np.nan):
        with pytest.raises(Mismatch, match="vertex 0 has a negative or undefined rank"):
            verify.check_pagerank(edges, changed(ranks, 0, wrong), 1e-6)


@pytest.mark.parametrize("other", [{"alpha": 0.8}, {"dangling": np.arange(80.0)},
                                   {"personalization": np.arange(80.0)}])  # fmt: skip
def test_ranks_of_other_parameters_are_refused(other):
    edges = SHAPES["random sparse"]
    with pytest.raises(Mismatch, match="one more step"):
        verify.check_pagerank(edges, oracles.pagerank(edges), 1e-6, **other)


# Components, cores, matchings


def test_components_are_accepted(shape):
    verify.check_components(shape, oracles.components(shape))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 0, 0, 0, 0, 0, 6], "2 components, not 3"),
        ([0, 1, 0, 3, 3, 3, 6], "joins two labels"),
        ([2, 2, 2, 3, 3, 3, 6], "label of vertex 0 is above its number"),
        ([0, 0, 1, 3, 3, 3, 6], "label of vertex 2 does not label itself"),
        ([0, 0, 0, -1, 3, 3, 6], "label of vertex 3 is above"),
    ],
)
def test_mangled_components_are_refused(labels, message):
    with pytest.raises(Mismatch, match=message):
        verify.check_components(SHAPES["two components"], np.array(labels))


@pytest.mark.parametrize("degree_type", ["both", "in", "out"])
def test_core_numbers_are_accepted(shape, degree_type):
    verify.check_core_numbers(shape, oracles.core_numbers(shape, degree_type), degree_type)
    edges = undirected(shape)
    verify.check_core_numbers(edges, oracles.core_numbers(edges))


@pytest.mark.parametrize("name", ["clique", "rmat", "grid", "random", "path"])
def test_mangled_core_numbers_are_refused(name):
    edges = undirected(SHAPES[name])
    core = oracles.core_numbers(edges)
    highest = int(np.argmax(core))
    with pytest.raises(Mismatch, match="too few neighbours"):
        verify.check_core_numbers(edges, changed(core, highest, core[highest] + 1))
    with pytest.raises(Mismatch, match="belongs to a higher core"):
        verify.check_core_numbers(edges, np.where(core == core.max(), core - 1, core))


def test_core_numbers_of_another_degree_are_refused():
    edges = SHAPES["rmat"]
    with pytest.raises(Mismatch):
        verify.check_core_numbers(edges, oracles.core_numbers(edges, "in"), "out")


def test_a_maximal_matching_is_accepted():
    edges = Edges(np.array([0, 0, 1, 1]), np.array([2, 3, 2, 3]), 6)
    left = np.array([True, True, False, False, False, True])
    verify.check_matching(edges, left, np.array([3, 2, 1, 0, NONE, NONE]))
    empty = Edges(np.empty(0, int), np.empty(0, int), 0)
    verify.check_matching(empty, np.empty(0, bool), np.empty(0, int))


@pytest.mark.parametrize(
    ("mate", "message"),
    [
        ([3, NONE, NONE, 0, NONE, NONE], "edge 1 -> 2 could join"),
        ([3, 3, NONE, 0, NONE, NONE], "vertex 1 is not the mate of its mate"),
        ([3, 2, 1, 0, 5, 4], "vertex 4 is matched without an edge"),
        ([1, 0, NONE, NONE, NONE, NONE], "vertex 0 is matched on its own side"),
    ],
)
def test_mangled_matchings_are_refused(mate, message):
    edges = Edges(np.array([0, 0, 1, 1]), np.array([2, 3, 2, 3]), 6)
    left = np.array([True, True, False, False, False, True])
    with pytest.raises(Mismatch, match=message):
        verify.check_matching(edges, left, np.array(mate))


# Steady states

ROD = Edges(np.arange(9), np.arange(1, 10), 10, np.full(9, 0.25), directed=False)


@pytest.mark.parametrize("check", [verify.check_heat, verify.check_circuit])
def test_steady_states_are_accepted_and_mangled_ones_refused(check):
    ends = {0: 1.0, 9: 10.0}
    value = np.arange(1.0, 11.0)
    check(ROD, value, ends, 1e-12)
    with pytest.raises(Mismatch, match=r"one more step moves vertex [345]"):
        check(ROD, changed(value, 4, 5.1), ends, 1e-3)
    with pytest.raises(Mismatch, match=r"vertex 9 has 10\.0, not the given 11\.0"):
        check(ROD, value, {0: 1.0, 9: 11.0}, 1e-3)


def test_a_network_at_rest_is_accepted_and_a_mangled_one_refused():
    edges = SHAPES["random sparse"]
    small = Edges(edges.source, edges.destination, edges.n, edges.weight / 64 - 0.05)
    fixed = {0: 1.0, 7: -0.5}
    start = np.zeros(edges.n)
    start[list(fixed)] = list(fixed.values())
    value = oracles.neural_network(small, start, fixed)
    verify.check_neural_network(small, value, fixed, 1e-12)
    for wrong in (changed(value, 3, value[3] + 0.01), changed(value, 3, np.nan)):
        with pytest.raises(Mismatch, match="one more step moves"):
            verify.check_neural_network(small, wrong, fixed, 1e-3)
