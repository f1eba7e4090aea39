"""The battery is what its names say, and the oracles agree where two can answer."""

import networkx as nx
import numpy as np
import oracles
import pytest
from shapes import FRAME_KINDS, SHAPES, column, edge_frame, hub, undirected, vertex_frame
from verify import Edges, pagerank_residual


def in_degrees(edges: Edges) -> np.ndarray:
    return np.bincount(edges.destination, minlength=edges.n)


def test_every_shape_is_well_formed_and_exact_in_float32(shape):
    assert len(shape.source) == len(shape.destination) == len(shape.weight)
    ends = np.concatenate([shape.source, shape.destination])
    assert not len(ends) or (ends.min() >= 0 and ends.max() < shape.n)
    assert np.all(shape.weight >= 0)


def test_weights_are_exact_unless_the_name_says_otherwise():
    for name, shape in SHAPES.items():
        assert np.array_equal(shape.weight * 8 % 1, np.zeros(len(shape.weight))) == (
            name != "uniform weights"
        )


def test_degrees_are_those_of_the_names():
    assert in_degrees(SHAPES["rows of 0 to 1023"])[:7].tolist() == [0, 1, 31, 32, 33, 1023, 0]
    assert in_degrees(SHAPES["star inwards"])[8] == 8
    assert [SHAPES[f"{n} vertices"].n for n in (31, 32, 33)] == [31, 32, 33]
    assert len(SHAPES["clique"].source) == 12 * 11
    assert sorted(in_degrees(hub(1000)))[-1] == 500
    assert len(SHAPES["all isolated"].source) == 0


def test_the_random_shapes_have_what_they_are_for():
    mixed = SHAPES["random"]
    assert np.any(mixed.source == mixed.destination)
    assert len(set(zip(mixed.source, mixed.destination, strict=True))) < len(mixed.source)
    assert in_degrees(SHAPES["rmat"]).max() > 8 * np.median(in_degrees(SHAPES["rmat"]))
    ties = SHAPES["ties and zeros"]
    assert set(ties.weight) == {0.0, 0.5, 1.0}


@pytest.mark.parametrize("kind", FRAME_KINDS)
def test_columns_survive_every_kind_of_frame(kind):
    edges = SHAPES["random"]
    frame = edge_frame(edges, kind)
    assert column(frame, "source").tolist() == edges.source.tolist()
    assert column(frame, "weight").tolist() == edges.weight.tolist()
    holes = vertex_frame(SHAPES["one edge"], kind, value=[None, 2.5])
    assert column(holes, "value", -1.0).tolist() == [-1.0, 2.5]


def test_an_undirected_edge_is_two_arcs_and_a_self_loop_one():
    edges = undirected(Edges(np.array([0, 1, 1]), np.array([1, 1, 2]), 3))
    source, destination, weight = edges.arcs()
    arcs = sorted(zip(source, destination, strict=True))
    assert arcs == [(0, 1), (1, 0), (1, 1), (1, 2), (2, 1)]
    assert weight.tolist() == [1] * 5


def test_distances_agree_with_networkx(tiny_shape):
    if tiny_shape.n == 0:
        return
    graph = oracles.networkx_graph(tiny_shape)
    levels = nx.single_source_shortest_path_length(graph, 0)
    expected = [levels.get(v, np.inf) for v in range(tiny_shape.n)]
    assert oracles.bfs_levels(tiny_shape, 0).tolist() == expected
    distances = nx.single_source_dijkstra_path_length(graph, 0)
    expected = [distances.get(v, np.inf) for v in range(tiny_shape.n)]
    np.testing.assert_allclose(oracles.dijkstra(tiny_shape, 0), expected, rtol=1e-14)


def test_exact_distances_agree_with_igraph_where_doubles_are_exact():
    edges = SHAPES["integer weights"]
    expected = [None if d == np.inf else int(d) for d in oracles.dijkstra(edges, 3)]
    assert oracles.exact_dijkstra(edges, 3) == expected


def test_several_starts_are_the_minimum_over_each():
    edges = SHAPES["random sparse"]
    each = np.minimum(oracles.dijkstra(edges, 5), oracles.dijkstra(edges, 9))
    assert oracles.dijkstra(edges, [5, 9]).tolist() == each.tolist()


def test_widths_agree_with_those_by_union(tiny_shape):
    edges = undirected(tiny_shape)
    for start in range(0, edges.n, 17):
        expected = oracles.widest_path_by_union(edges, start)
        assert np.array_equal(oracles.widest_path(edges, start), expected, equal_nan=True)


@pytest.mark.parametrize("directed", [True, False])
def test_ranks_agree_with_networkx(tiny_shape, directed):
    edges = tiny_shape if directed else undirected(tiny_shape)
    graph = oracles.networkx_graph(edges)
    expected = nx.pagerank(graph, tol=1e-14, max_iter=2000)
    ranks = oracles.pagerank(edges)
    np.testing.assert_allclose(ranks, [expected[v] for v in range(edges.n)], atol=1e-11)
    assert pagerank_residual(edges, ranks) < 1e-13


def test_personal_ranks_agree_with_networkx():
    edges = SHAPES["random sparse"]
    restart, spread = np.arange(edges.n) % 3.0, np.arange(edges.n) % 5.0
    expected = nx.pagerank(
        oracles.networkx_graph(edges), 0.7, dict(enumerate(restart)),
        tol=1e-14, max_iter=2000, dangling=dict(enumerate(spread)),
    )  # fmt: skip
    ranks = oracles.pagerank(edges, 0.7, restart, spread)
    np.testing.assert_allclose(ranks, [expected[v] for v in range(edges.n)], atol=1e-11)


def test_equilibrium_of_heat_agrees_with_a_linear_solve():
    edges = Edges(np.arange(9), np.arange(1, 10), 10, np.full(9, 0.25), directed=False)
    start, ends = np.zeros(10), {0: 1.0, 9: 10.0}
    start[[0, 9]] = 1.0, 10.0
    expected = np.arange(1.0, 11.0)  # a rod between two ends: linear
    np.testing.assert_allclose(oracles.heat_equilibrium(edges, start, ends), expected)
    np.testing.assert_allclose(oracles.circuit(edges, ends), expected)
    np.testing.assert_allclose(oracles.heat(edges, start, ends, 5000), expected)


def test_one_step_of_heat_is_the_formula():
    edges = Edges(np.array([0, 1]), np.array([1, 2]), 3, np.array([0.5, 0.25]))
    assert oracles.heat(edges, np.array([8.0, 4.0, 0.0]), (), 1).tolist() == [8.0, 6.0, 1.0]


def test_a_network_of_one_neuron_is_tanh():
    edges = Edges(np.array([0]), np.array([1]), 2, np.array([2.0]))
    result = oracles.neural_network(edges, np.array([0.3, 0.0]), fixed=[0])
    np.testing.assert_allclose(result, [0.3, np.tanh(0.6)])


def test_marginals_of_two_coupled_coins():
    edges = Edges(np.array([0]), np.array([1]), 2)
    priors, coupling = np.array([[1.0, 3.0], [1.0, 1.0]]), np.array([[2.0, 1.0], [1.0, 2.0]])
    found = oracles.marginals(edges, priors, coupling)
    np.testing.assert_allclose(found, [[1 / 4, 3 / 4], [5 / 12, 7 / 12]])


def test_components_and_cores_of_known_shapes():
    assert oracles.components(SHAPES["two components"]).tolist() == [0, 0, 0, 3, 3, 3, 6]
    assert oracles.core_numbers(SHAPES["clique"]).tolist() == [22] * 12
    assert oracles.core_numbers(undirected(SHAPES["self-loops"])).tolist() == [1, 1, 1, 0]
    assert oracles.core_numbers(SHAPES["path"], "in").tolist() == [0] * 50
