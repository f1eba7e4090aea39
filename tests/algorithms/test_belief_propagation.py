"""Belief propagation: brute-force marginals on forests, messages edge by edge on the rest."""

from __future__ import annotations

import itertools
import math

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapes import FRAME_KINDS, SHAPES, column, edge_frame, frame, random_edges, vertex_frame
from verify import Array, Edges

import cugraph_ws as ws
from cugraph_ws.algorithms.belief_propagation import BeliefPropagation, belief_propagation
from cugraph_ws.kernels.cpu.belief import add_messages, pair_arcs, send_coupled, send_potts


def forest(n: int, seed: int, *, trees: int = 1, directed: bool = True) -> Edges:
    """Every vertex but the first few hangs on an earlier one; edges lead either way."""
    generator = np.random.default_rng(seed)
    child = np.arange(trees, n)
    above = np.array([generator.integers(0, vertex) for vertex in child], np.int64)
    turned = generator.random(len(child)) < 0.5
    source, destination = np.where(turned, child, above), np.where(turned, above, child)
    return Edges(source, destination, n, generator.normal(0, 1.5, len(child)), directed)


def potts(states: int, strength: float) -> Array:
    return np.where(np.eye(states) > 0, math.exp(strength), 1.0)


def couplings(edges: Edges, coupling, states: int) -> list[Array]:
    """Return the coupling of each edge; `coupling` is None for strengths in the weights."""
    if coupling is None:
        return [potts(states, strength) for strength in edges.weight]
    return [np.asarray(coupling)] * len(edges.source)


def marginals(edges: Edges, priors: Array, coupling=None) -> Array:
    """Sum over all states of all vertices."""
    n, states = priors.shape
    total = np.zeros((n, states))
    factors = couplings(edges, coupling, states)
    for state in itertools.product(range(states), repeat=n):
        weight = math.prod(priors[v, x] for v, x in enumerate(state))
        for u, v, factor in zip(edges.source, edges.destination, factors, strict=True):
            weight *= factor[state[u], state[v]]
        total[np.arange(n), state] += weight
    return total / total.sum(axis=1, keepdims=True)


def sum_product(edges: Edges, priors: Array, coupling, damping: float, iterations: int) -> Array:
    """Send messages edge by edge, as probabilities, without sums that are corrected."""
    states = priors.shape[1]
    factors = couplings(edges, coupling, states)
    ends = list(zip(edges.source.tolist(), edges.destination.tolist(), strict=True))
    ways = [(e, way) for e, (u, v) in enumerate(ends) if u != v for way in (0, 1)]
    messages = {way: np.ones(states) for way in ways}
    own = priors.copy()
    for (u, v), factor in zip(ends, factors, strict=True):
        if u == v:
            own[u] = own[u] * np.diagonal(factor)

    def received(vertex: int, without: int) -> Array:
        product = own[vertex].copy()
        for e, way in ways:
            if ends[e][1 - way] == vertex and e != without:
                product = product * messages[e, way]
        return product

    for _ in range(iterations):
        fresh = {}
        for e, way in ways:
            factor = factors[e] if way == 0 else factors[e].T
            message = received(ends[e][way], e) @ factor
            fresh[e, way] = (message / message.max()) ** (1 - damping) * messages[e, way] ** damping
        messages = fresh
    beliefs = np.array([received(vertex, -1) for vertex in range(edges.n)])
    return beliefs / beliefs.sum(axis=1, keepdims=True)


def priors_of(n: int, states: int, seed: int) -> Array:
    return np.random.default_rng(seed).uniform(0.05, 1.0, (n, states))


def prior_frame(priors: Array, kind: str = "pandas"):
    named = {f"state {state}": values for state, values in enumerate(priors.T)}
    return frame({"vertex": np.arange(len(priors)), **named}, kind)


def graph_of(edges: Edges, kind: str = "pandas", **attributes) -> ws.Graph:
    return ws.Graph(
        edge_frame(edges, kind),
        weight=None if edges.weight is None else "weight",
        directed=edges.directed,
        vertices=vertex_frame(edges, kind, **attributes),
    )


def table(result, states: int) -> Array:
    return np.column_stack([column(result, f"belief_{state}") for state in range(states)])


def beliefs(edges: Edges, priors: Array, coupling=None, **options) -> Array:
    with graph_of(edges) as graph:
        given_coupling = "weight" if coupling is None else coupling
        result = belief_propagation(graph, prior_frame(priors), given_coupling, **options)
    assert column(result, "vertex").tolist() == list(range(edges.n))
    found = table(result, priors.shape[1])
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-14)
    return found


SKEWED = [[1.0, 0.2, 3.0], [0.7, 2.0, 0.1], [0.5, 0.4, 5.0]]
EVEN = [[4.0, 1.0, 0.5], [1.0, 2.0, 0.25], [0.5, 0.25, 9.0]]


# Exact on forests


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("states", [2, 3])
@pytest.mark.parametrize("trees", [1, 3])
def test_strengths_on_forests(states, trees, directed):
    for seed in range(4):
        edges = forest(7, seed, trees=trees, directed=directed)
        priors = priors_of(7, states, seed)
        np.testing.assert_allclose(
            beliefs(edges, priors, tol=1e-12), marginals(edges, priors), rtol=1e-10
        )


@pytest.mark.parametrize("seed", range(4))
def test_a_shared_coupling_follows_the_direction_of_edges(seed):
    edges, priors = forest(7, seed), priors_of(7, 3, seed)
    expected = marginals(edges, priors, SKEWED)
    np.testing.assert_allclose(beliefs(edges, priors, SKEWED, tol=1e-12), expected, rtol=1e-10)
    turned = Edges(edges.destination, edges.source, 7, edges.weight)
    assert not np.allclose(beliefs(turned, priors, SKEWED), expected, rtol=1e-3)


def test_a_symmetric_coupling_knows_no_direction():
    edges, priors = forest(7, 5, directed=False), priors_of(7, 3, 5)
    expected = marginals(edges, priors, EVEN)
    np.testing.assert_allclose(beliefs(edges, priors, EVEN, tol=1e-12), expected, rtol=1e-10)


@given(st.integers(1, 6), st.integers(0, 10**6), st.booleans(), st.floats(0.0, 0.5))
def test_random_forests(n, seed, directed, damping):
    edges, priors = forest(n, seed, directed=directed), priors_of(n, 2, seed)
    found = beliefs(edges, priors, damping=damping, tol=1e-11, max_iter=1000)
    np.testing.assert_allclose(found, marginals(edges, priors), rtol=1e-8)


def test_a_long_path_is_exact_too():
    """Against the products of transfer matrices."""
    n = 200
    edges = Edges(np.arange(n - 1), np.arange(1, n), n, None)
    priors, matrix = priors_of(n, 3, 11), np.array(SKEWED)
    forward, backward = [np.ones(3)], [np.ones(3)]
    for vertex in range(n - 1):
        ahead = (forward[-1] * priors[vertex]) @ matrix
        behind = matrix @ (backward[-1] * priors[n - 1 - vertex])
        forward.append(ahead / ahead.sum())
        backward.append(behind / behind.sum())
    expected = np.array(forward) * priors * np.array(backward[::-1])
    expected /= expected.sum(axis=1, keepdims=True)
    found = beliefs(edges, priors, SKEWED, tol=1e-13, max_iter=300)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_self_loops_weigh_the_states_of_their_vertex():
    edges = Edges(np.array([0, 1, 1, 2]), np.array([1, 1, 1, 1]), 3, np.ones(4))
    for directed, matrix in ((True, SKEWED), (False, EVEN)):
        edges = Edges(edges.source, edges.destination, 3, edges.weight, directed)
        priors = priors_of(3, 3, 1)
        expected = marginals(edges, priors, matrix)
        np.testing.assert_allclose(beliefs(edges, priors, matrix), expected, rtol=1e-9)
        np.testing.assert_allclose(beliefs(edges, priors), marginals(edges, priors), rtol=1e-9)


# Messages on any graph


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("iterations", [1, 2, 7])
@pytest.mark.parametrize("damping", [0.0, 0.3])
def test_messages_edge_by_edge(directed, iterations, damping):
    """Parallel edges of different strengths, self-loops and cycles among them."""
    generator = np.random.default_rng(21)
    source, destination = generator.integers(0, 9, 40), generator.integers(0, 9, 40)
    edges = Edges(source, destination, 10, generator.normal(0, 1, 40), directed)
    priors = priors_of(10, 3, 2)
    for coupling in (None, SKEWED if directed else EVEN):
        with graph_of(edges) as graph:
            loop = BeliefPropagation(
                prior_frame(priors),
                "weight" if coupling is None else coupling,
                damping,
                max_iter=iterations,
                tol=0.0,
            )
            result = ws.run(loop, graph)
            found = table(result.frame, 3)
        assert result.converged or result.iterations == iterations
        expected = sum_product(edges, priors, coupling, damping, iterations)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("name", ["cycle", "clique", "duplicates", "self-loops", "hub"])
def test_one_more_step_moves_little(shape_of, name):
    edges = shape_of(name)
    weak = Edges(edges.source, edges.destination, edges.n, np.full(len(edges.source), 0.05))
    found = beliefs(weak, priors_of(edges.n, 2, 3), tol=1e-9)
    again = beliefs(weak, priors_of(edges.n, 2, 3), tol=1e-13)
    np.testing.assert_allclose(found, again, atol=1e-8)


@pytest.fixture
def shape_of():
    def find(name: str) -> Edges:
        if name == "hub":
            leaves = np.arange(1, 301)
            return Edges(np.zeros(300, np.int64), leaves, 301)
        return SHAPES[name]

    return find


@pytest.mark.parametrize("threads", ["1", "3"])
def test_the_number_of_threads_does_not_matter(monkeypatch, threads):
    edges = random_edges(2000, 6000, seed=12)
    edges = Edges(edges.source, edges.destination, 2000, edges.weight / 100, False)
    priors = priors_of(2000, 2, 8)
    expected = beliefs(edges, priors, tol=1e-4)
    monkeypatch.setenv("CUGRAPH_WS_THREADS", threads)
    assert np.array_equal(beliefs(edges, priors, tol=1e-4), expected)


def test_damping_settles_what_swings():
    edges = Edges(np.array([0, 1, 2]), np.array([1, 2, 0]), 3, np.full(3, -8.0), False)
    priors = np.array([[0.6, 0.4], [0.4, 0.6], [0.5, 0.5]])
    with pytest.raises(ws.ConvergenceError, match="belief_propagation did not converge"):
        beliefs(edges, priors, max_iter=40)
    beliefs(edges, priors, damping=0.5, max_iter=1000)


def test_evidence_of_any_weight_keeps_its_digits():
    """Certain states, tiny priors and the strongest couplings neither overflow nor vanish."""
    edges = Edges(np.arange(3), np.arange(1, 4), 4, np.array([690.0, -690.0, 30.0]))
    priors = np.array([[1.0, 0.0], [1e-280, 1.0], [1e-3, 1e300], [0.5, 0.5]])
    with graph_of(edges) as graph:
        result = belief_propagation(graph, prior_frame(priors), "weight")
    found = table(result, 2)
    assert found[0].tolist() == [1.0, 0.0]
    assert found[1, 0] == 1.0  # exp(690) outweighs 1e-280
    assert found[2, 1] == 1.0
    np.testing.assert_allclose(found[3, 0], math.exp(-30), rtol=1e-9)


# Arguments


@pytest.mark.parametrize("kind", FRAME_KINDS)
def test_the_frame_that_went_in_comes_out(kind):
    edges = frame({"source": ["a", "b"], "destination": ["b", "c"], "s": [1.0, -0.5]}, kind)
    priors = frame({"vertex": ["c", "a"], "x": [1, 3], "y": [4, 1]}, kind)
    result = belief_propagation(edges, priors, "s")
    assert type(result) is type(edges)
    assert column(result, "vertex").tolist() == ["a", "b", "c"]
    numbered = Edges(np.array([0, 1]), np.array([1, 2]), 3, np.array([1.0, -0.5]))
    given_priors = np.array([[3.0, 1.0], [1.0, 1.0], [1.0, 4.0]])  # even where none is given
    np.testing.assert_allclose(table(result, 2), marginals(numbered, given_priors), rtol=1e-9)


def test_priors_may_be_vertex_attributes_and_strengths_the_weight():
    edges, priors = forest(6, 2), priors_of(6, 2, 2)
    with graph_of(edges, p=priors[:, 0], q=priors[:, 1]) as graph:
        found = table(belief_propagation(graph, ["p", "q"], "weight"), 2)
    np.testing.assert_allclose(found, marginals(edges, priors), rtol=1e-9)
    from_frame = belief_propagation(
        edge_frame(edges), prior_frame(priors), "weight", weight="weight"
    )
    np.testing.assert_allclose(table(from_frame, 2), found, rtol=1e-12)


def test_priors_of_vertices_with_several_id_columns():
    edges = frame({"a": [1, 1], "b": ["x", "y"], "c": [1, 2], "d": ["y", "y"]})
    priors = frame({"a": [1, 2], "b": ["x", "y"], "no": [1.0, 1.0], "yes": [3.0, 1.0]})
    options = {"source": ["a", "b"], "destination": ["c", "d"]}
    result = belief_propagation(edges, priors, [[2.0, 1.0], [1.0, 2.0]], **options)
    numbered = Edges(np.array([0, 1]), np.array([1, 2]), 3)
    expected = marginals(numbered, np.array([[1.0, 3], [1, 1], [1, 1]]), [[2.0, 1], [1, 2]])
    np.testing.assert_allclose(table(result, 2), expected, rtol=1e-9)


def test_no_edges():
    priors = np.array([[1.0, 3.0], [2.0, 2.0], [0.0, 5.0], [1.0, 1.0], [3.0, 1.0]])
    found = beliefs(Edges(np.empty(0, int), np.empty(0, int), 5), priors, [[1.0, 2], [2, 1]])
    np.testing.assert_allclose(found, priors / priors.sum(axis=1, keepdims=True))
    nothing = belief_propagation(
        edge_frame(SHAPES["empty"]), prior_frame(np.empty((0, 2))), [[1.0, 2.0], [2.0, 1.0]]
    )
    assert len(nothing) == 0


@pytest.mark.parametrize(
    ("priors", "message"),
    [
        ([[1.0, -0.5], [1.0, 1.0]], r"vertex 0 has \[1.0, -0.5\]"),
        ([[1.0, 1.0], [0.0, 0.0]], r"vertex 1 has \[0.0, 0.0\]"),
        ([[1.0, math.inf], [1.0, 1.0]], r"vertex 0 has \[1.0, inf\]"),
        ([[1.0, math.nan], [1.0, 1.0]], "nan"),
        ([[1.0], [1.0]], "two states or more are needed, but there are 1"),
    ],
)
def test_priors_that_cannot_be_are_refused(priors, message):
    with pytest.raises(ws.InputError, match=message):
        beliefs(Edges(np.array([0]), np.array([1]), 2), np.array(priors), np.ones((2, 2)))


@pytest.mark.parametrize(
    ("priors", "message"),
    [
        (prior_frame(np.ones((3, 2))), "2 is not a vertex"),
        (frame({"vertex": [0, 0], "p": [1, 1], "q": [1, 1]}), "vertex 0 is given 2 times"),
        (frame({"vertex": [0], "p": ["x"], "q": [1]}), "numbers are needed"),
        (["p", "q"], "no such vertex attribute"),
        ([1, 2], "frame of vertices and a column for each state"),
        ({0: [0.5, 0.5]}, "frame of vertices and a column for each state .* not dict"),
        ([], "two states or more are needed, but there are 0"),
    ],
)
def test_priors_of_another_kind_are_refused(priors, message):
    with pytest.raises(ws.InputError, match=message):
        belief_propagation(edge_frame(SHAPES["one edge"]), priors, np.ones((2, 2)))


@pytest.mark.parametrize(
    ("coupling", "message"),
    [
        (np.ones((3, 3)), r"shape \(3, 3\), but there are 2 states"),
        ([[1.0, 2.0], [3.0]], "matrix of numbers"),
        (object(), "matrix of numbers"),
        ([[1.0, 0.0], [1.0, 1.0]], "entry 0.0; all must be positive"),
        ([[1.0, math.inf], [1.0, 1.0]], "entry inf"),
        ([[1.0, math.nan], [1.0, 1.0]], "entry nan"),
        ([[1.0, 1e-290], [1e290, 1.0]], "least entry"),
        ([[1.0, 2.0], [1.0, 1.0]], "not symmetric"),
        ("strength", "'strength'"),
        ("weight", "a strength is 1000.0"),
    ],
)
def test_couplings_that_cannot_be_are_refused(coupling, message):
    edges = frame({"source": [0], "destination": [1], "weight": [1000.0]})
    priors = prior_frame(np.ones((2, 2)))
    with pytest.raises(ws.InputError, match=message):
        belief_propagation(edges, priors, coupling, directed=False)


@pytest.mark.parametrize(
    ("name", "value"),
    [("damping", 1.0), ("damping", -0.1), ("damping", "x"), ("damping", math.nan),
     ("tol", -1.0), ("tol", None), ("tol", math.nan), ("max_iter", -1), ("max_iter", 1.5),
     ("max_iter", True)],
)  # fmt: skip
def test_senseless_numbers_are_refused(name, value):
    edges, priors = edge_frame(SHAPES["one edge"]), prior_frame(np.ones((2, 2)))
    with pytest.raises(ws.InputError, match=f"{name}="):
        belief_propagation(edges, priors, np.ones((2, 2)), **{name: value})


def test_a_polars_frame_of_priors_goes_with_a_pandas_graph():
    edges, priors = forest(5, 1), priors_of(5, 2, 1)
    with graph_of(edges) as graph:
        found = belief_propagation(
            graph, pl.DataFrame(prior_frame(priors).to_dict("list")), "weight"
        )
    assert isinstance(found, pd.DataFrame)
    np.testing.assert_allclose(table(found, 2), marginals(edges, priors), rtol=1e-9)


# Runs


def test_a_run_goes_on_from_a_checkpoint(tmp_path):
    edges, priors, path = forest(30, 4), priors_of(30, 2, 4), tmp_path / "state.parquet"
    with graph_of(edges) as graph:
        whole = ws.run(BeliefPropagation(prior_frame(priors), "weight", tol=1e-12), graph)
        ws.run(
            BeliefPropagation(prior_frame(priors), "weight", tol=1e-12),
            graph,
            progress=lambda update: update.superstep < 3,
            checkpoint=path,
        )
        resumed = ws.run(
            BeliefPropagation(prior_frame(priors), "weight", tol=1e-12), graph, resume=path
        )
        pd.testing.assert_frame_equal(resumed.frame, whole.frame, check_exact=True)
        assert resumed.iterations == whole.iterations
        assert whole.residual <= 1e-12


def test_messages_across_a_tree_need_its_diameter():
    edges = Edges(np.arange(9), np.arange(1, 10), 10, np.ones(9))
    assert nx.diameter(nx.path_graph(10)) == 9
    with graph_of(edges) as graph:
        result = ws.run(BeliefPropagation(prior_frame(priors_of(10, 2, 0)), "weight"), graph)
        assert column(result.trace, "edges").tolist() == [18] * result.iterations
    assert result.iterations == 10  # 9, and one in which nothing changes


# Kernels


def test_arcs_pair_up():
    # rows of an undirected graph with edges 0-1, 0-1, 1-1, 1-2
    offsets, senders = np.array([0, 2, 6, 7]), np.array([1, 1, 0, 0, 1, 2, 1], np.int32)
    reverse = np.empty(7, np.int64)
    pair_arcs(offsets, senders, offsets[1:], offsets[:-1].copy(), reverse)
    assert reverse.tolist() == [2, 3, 0, 1, 4, 6, 5]


def test_one_message_by_hand():
    offsets, senders = np.array([0, 1, 2]), np.array([1, 0], np.int32)
    rows = offsets, senders, offsets[1:], np.array([1, 0])
    log_priors = np.log([[0.25, 0.75], [0.5, 0.5]])
    old, new, totals = np.zeros((2, 2)), np.zeros((2, 2)), np.empty((2, 2))
    add_messages(offsets, old, log_priors, totals, 0, 2)
    assert np.array_equal(totals, log_priors)
    change = send_coupled(rows, totals, old, new, np.array([[1.0, 0.5], [0.5, 1.0]]), 0.0, 0, 2)
    expected = np.log([0.25 + 0.375, 0.125 + 0.75])
    np.testing.assert_allclose(new, [[0, 0], expected - expected.max()], atol=1e-15)
    assert change == pytest.approx(-new[1, 0])
    same = np.empty((2, 2))
    send_potts(rows, totals, old, same, np.full(2, math.log(2.0)), 0.0, 0, 2)
    np.testing.assert_allclose(same, new, atol=1e-15)
    half = np.zeros((2, 2))
    send_coupled(rows, totals, old, half, np.array([[1.0, 0.5], [0.5, 1.0]]), 0.5, 1, 2)
    np.testing.assert_allclose(half[1], new[1] / 2)
