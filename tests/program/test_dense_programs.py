"""Heat, circuits and neural networks: against dense iteration and linear solves."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import numpy as np
import oracles
import pandas as pd
import pytest
from shapes import FRAME_KINDS, SHAPES, build, column, edge_frame, frame, undirected, vertex_frame
from verify import Array, Edges, check_circuit, check_heat, check_neural_network

import cugraph_ws as ws
from cugraph_ws.backends.cpu import executor

TIGHT = {"tol": 1e-13, "max_iter": 100_000}


def solve(function, edges: Edges, *arguments, result: str, **options) -> Array:
    graph = build(edges)  # left open: an error's result is read after the call
    answer = function(graph, *arguments, **{**TIGHT, **options})
    assert column(answer, "vertex").tolist() == list(range(edges.n))
    return column(answer, result)


def stable(edges: Edges, share: float = 0.9) -> Edges:
    """Scale the weights so that those into the busiest vertex sum to `share`."""
    inward = np.bincount(edges.arcs()[1], edges.arcs()[2], edges.n)
    largest = inward.max(initial=0.0)
    return replace(edges, weight=edges.weight * (share / largest if largest else 1.0))


def first_temperatures(edges: Edges) -> Array:
    return np.arange(edges.n) * 37 % 101 / 10.0


# Heat

CONNECTED = ("one edge", "short path", "cycle", "clique", "star", "31 vertices", "32 vertices")


@pytest.mark.parametrize("name", CONNECTED)
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_heat_settles_where_the_matrix_does(name, directed):
    edges = stable(SHAPES[name] if directed else undirected(SHAPES[name]))
    start = first_temperatures(edges)
    fixed = [0, edges.n - 1]
    found = solve(
        ws.heat, edges, vertex_frame(edges, temperature=start), result="temperature", fixed=fixed
    )
    expected = oracles.heat_equilibrium(edges, start, fixed)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7)
    check_heat(edges, found, {v: start[v] for v in fixed}, 1e-12)


SOON_AT_REST = [n for n, s in SHAPES.items() if s.n <= 100 and not n.startswith("path")]


@pytest.mark.parametrize("name", SOON_AT_REST)  # along a path, heat takes the square of its length
def test_heat_on_every_shape(name):
    edges = stable(undirected(SHAPES[name]))
    start = first_temperatures(edges)
    frame = vertex_frame(edges, temperature=start)
    found = solve(ws.heat, edges, frame, result="temperature")
    check_heat(edges, found, {}, 1e-12)
    assert found.sum() == pytest.approx(start.sum())  # symmetric flow loses none


def test_heat_of_a_given_number_of_steps():
    edges = stable(SHAPES["random"])
    start = first_temperatures(edges)
    for steps in (0, 1, 2, 7):
        with pytest.raises(ws.ConvergenceError) as caught:
            solve(ws.heat, edges, vertex_frame(edges, temperature=start), result="temperature",
                  fixed=[3], max_iter=steps)  # fmt: skip
        found = column(caught.value.result.frame, "temperature")
        expected = oracles.heat(edges, start, [3], steps)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_heat_engines_agree(tiny_shape):
    edges = stable(undirected(tiny_shape), 0.5)
    start = vertex_frame(edges, temperature=first_temperatures(edges))
    answers = [
        solve(ws.heat, edges, start, result="temperature", engine=engine, tol=1e-3)
        for engine in ("cpu", "python")
    ]
    np.testing.assert_allclose(answers[0], answers[1], rtol=1e-12)


def test_unstable_heat_is_refused_even_beyond_floats():
    edges = Edges(np.array([0, 0]), np.array([1, 1]), 2, np.full(2, 1e308))
    with pytest.raises(ws.InputError, match=r"weight|add up"):
        solve(ws.heat, edges, 1.0, result="temperature")


def test_unstable_heat_is_refused():
    edges = stable(SHAPES["random"], 1.01)
    with pytest.raises(ws.InputError, match=r"add up to 1\.01"):
        solve(ws.heat, edges, 1.0, result="temperature")
    solve(ws.heat, stable(SHAPES["star inwards"], 1.0), 1.0, result="temperature")


def test_temperatures_come_in_any_form():
    edges = stable(SHAPES["path"])
    by_number = solve(ws.heat, edges, 4.5, result="temperature")
    assert by_number.tolist() == [4.5] * 50
    by_mapping = solve(ws.heat, edges, dict.fromkeys(range(50), 4.5), result="temperature")
    assert by_mapping.tolist() == by_number.tolist()
    vertices = vertex_frame(edges, degrees=np.full(50, 4.5))
    with ws.Graph(edge_frame(edges), weight="weight", vertices=vertices) as graph:
        by_attribute = column(ws.heat(graph, "degrees"), "temperature")
    assert by_attribute.tolist() == by_number.tolist()


@pytest.mark.parametrize("temperature", [{0: 1.0}, {99: 1.0}, float("nan"), "nowhere", None])
def test_bad_temperatures_are_refused(temperature):
    with pytest.raises(ws.InputError, match="temperature"):
        solve(ws.heat, stable(SHAPES["path"]), temperature, result="temperature")


@pytest.mark.parametrize("weight", [-0.1, np.nan, np.inf])
def test_bad_coefficients_are_refused(weight):
    edges = Edges(np.array([0, 1]), np.array([1, 0]), 2, np.array([0.1, weight]))
    with pytest.raises(ws.InputError, match="weight"):
        solve(ws.heat, edges, 1.0, result="temperature")


def test_an_unknown_fixed_vertex_is_refused():
    with pytest.raises(ws.InputError, match=r"fixed.*99|99.*fixed"):
        solve(ws.heat, stable(SHAPES["path"]), 1.0, result="temperature", fixed=[99])


# Circuits


@pytest.mark.parametrize("name", [*CONNECTED, "33 vertices"])
def test_circuits_against_a_linear_solve(name):
    edges = undirected(SHAPES[name])
    sources = {0: 0.0, edges.n - 1: 12.0}
    found = solve(ws.circuit, edges, sources, result="voltage")
    np.testing.assert_allclose(found, oracles.circuit(edges, sources), rtol=0, atol=1e-6)
    check_circuit(edges, found, sources, 1e-11)


def test_circuits_on_every_shape(tiny_shape):
    edges = undirected(tiny_shape)
    sources = {0: 5.0, edges.n - 1: 5.0} if edges.n else {}
    found = solve(ws.circuit, edges, sources, result="voltage", tol=1e-9)
    check_circuit(edges, found, sources, 1e-8)
    reached = np.isfinite(oracles.bfs_levels(edges, list(sources))) if edges.n else found > 0
    np.testing.assert_allclose(found[reached], 5.0, rtol=0, atol=1e-3)


def test_a_circuit_in_one_direction_only():
    edges = Edges(np.array([0, 1, 2]), np.array([1, 2, 1]), 3, np.array([1.0, 2.0, 3.0]))
    assert solve(ws.circuit, edges, {0: 8.0}, result="voltage") == pytest.approx([8.0] * 3)


def test_circuit_engines_agree():
    edges = undirected(SHAPES["31 vertices"])
    sources = {0: 1.0, 30: 3.0}
    compiled, plain = (
        solve(ws.circuit, edges, sources, result="voltage", engine=engine, tol=1e-4)
        for engine in ("cpu", "python")
    )
    np.testing.assert_allclose(compiled, plain, rtol=1e-12)


@pytest.mark.parametrize("sources", [{99: 1.0}, {0: float("nan")}, {0: "high"}, None])
def test_bad_sources_are_refused(sources):
    with pytest.raises(ws.InputError, match="sources"):
        solve(ws.circuit, undirected(SHAPES["path"]), sources, result="voltage")


@pytest.mark.parametrize("weight", [-0.1, np.nan, np.inf])
def test_bad_conductances_are_refused(weight):
    edges = Edges(np.array([0, 1]), np.array([1, 0]), 2, np.array([0.1, weight]))
    with pytest.raises(ws.InputError, match="weight"):
        solve(ws.circuit, edges, {0: 1.0}, result="voltage")


@pytest.mark.parametrize("conductance", [5e-324, 1e-310, 1e300, 1e308])
def test_conductances_at_the_ends_of_floats_are_refused_or_solved_right(conductance):
    one_edge = Edges(np.array([0]), np.array([1]), 2, np.full(1, conductance))
    with contextlib.suppress(ws.InputError, ws.ConvergenceError):
        assert solve(ws.circuit, one_edge, {0: 4.0}, result="voltage") == pytest.approx([4.0, 4.0])
    edges = Edges(np.array([0, 1, 1]), np.array([1, 2, 2]), 3, np.full(3, conductance), False)
    with contextlib.suppress(ws.InputError, ws.ConvergenceError):
        found = solve(ws.circuit, edges, {0: 4.0, 2: 1.0}, result="voltage")
        assert found == pytest.approx([4.0, 2.0, 1.0])


# Neural networks


def contracting(edges: Edges) -> Edges:
    """Shift and scale the weights, some below 0, so that there is one fixpoint."""
    shifted = replace(edges, weight=edges.weight - 3.0)
    magnitude = np.bincount(shifted.arcs()[1], np.abs(shifted.arcs()[2]), edges.n)
    return replace(shifted, weight=shifted.weight * 0.9 / max(magnitude.max(initial=0), 1.0))


def test_networks_against_dense_iteration(tiny_shape):
    edges = contracting(tiny_shape)
    start = np.cos(np.arange(edges.n))
    fixed = [0] if edges.n else []
    found = solve(
        ws.neural_network, edges, vertex_frame(edges, activation=start),
        result="activation", fixed=fixed,
    )  # fmt: skip
    expected = oracles.neural_network(edges, start, fixed)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)
    check_neural_network(edges, found, {v: start[v] for v in fixed}, 1e-12)


def test_a_few_steps_of_a_large_network():
    edges = replace(SHAPES["rmat"], weight=SHAPES["rmat"].weight / 40 - 0.1)
    start = np.cos(np.arange(edges.n))
    for steps in (1, 3):
        with pytest.raises(ws.ConvergenceError) as caught:
            solve(ws.neural_network, edges, vertex_frame(edges, activation=start),
                  result="activation", max_iter=steps)  # fmt: skip
        found = column(caught.value.result.frame, "activation")
        expected = oracles.neural_network(edges, start, steps=steps)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-13)


def test_network_engines_agree():
    edges = contracting(SHAPES["random"])
    start = vertex_frame(edges, activation=np.cos(np.arange(edges.n)))
    compiled, plain = (
        solve(ws.neural_network, edges, start, result="activation", engine=engine, tol=1e-6)
        for engine in ("cpu", "python")
    )
    np.testing.assert_allclose(compiled, plain, rtol=1e-9)


@pytest.mark.parametrize("activation", [{0: 1.0}, {99: 1.0}, float("inf"), None])
def test_bad_activations_are_refused(activation):
    with pytest.raises(ws.InputError, match="activation"):
        solve(ws.neural_network, SHAPES["path"], activation, result="activation")


# All three


@ws.vertex_program
class Growth:
    """A hundred times more in every step."""

    amount: ws.float64
    residual = ws.max_norm("amount")
    tol = 1e-6

    def init(vertex, p):
        return 1.0

    def compute(src):
        return src.amount * 100.0

    combine = sum

    def apply(old, gathered):
        return gathered


def test_a_program_that_blows_up_has_not_converged(engine):
    edges = edge_frame(undirected(SHAPES["one edge"]))
    result = ws.run(Growth, edges, directed=False, engine=engine, max_iter=400)
    assert np.isinf(column(result.frame, "amount")).all()
    assert not result.converged
    assert not result.residual <= 1e-6


@pytest.mark.parametrize("kind", FRAME_KINDS)
def test_the_frame_that_went_in_comes_out(kind):
    edges = frame({"source": ["a", "b"], "destination": ["b", "c"], "w": [0.5, 0.25]}, kind)
    options = {"weight": "w", "directed": False}
    for function, argument in (
        (ws.heat, 1.0),
        (ws.circuit, {"a": 1.0, "c": 0.0}),
        (ws.neural_network, 0.5),
    ):
        result = function(edges, argument, **options)
        assert type(result) is type(edges)
        assert column(result, "vertex").tolist() == ["a", "b", "c"]


def test_a_source_keeps_its_value_exactly():
    edges = pd.DataFrame({"source": [0, 1], "destination": [1, 2], "w": [0.3, 0.3]})
    heat = ws.heat(edges, {0: 0.1, 1: 5.0, 2: 0.7}, fixed=[0, 2], weight="w", directed=False)
    assert heat["temperature"].tolist()[::2] == [0.1, 0.7]
    circuit = ws.circuit(edges, {0: 0.1, 2: 0.7}, weight="w", directed=False)
    assert circuit["voltage"].tolist()[::2] == [0.1, 0.7]


def test_a_run_goes_on_while_only_a_hub_changes(monkeypatch):
    """Its row is split among threads; those of the others end nowhere."""
    monkeypatch.setattr(executor, "LONG_ROW", 4)
    monkeypatch.setenv("CUGRAPH_WS_THREADS", "2")

    @ws.vertex_program
    class Filling:
        level = ws.float64
        combine = sum

        def init(vertex):
            return 1.0

        def compute(src):
            return 0.125

        def apply(old, gathered):
            return old.level if old.level >= 4.0 else old.level + gathered

    leaves = np.arange(1, 9)
    edges = pd.DataFrame({"source": leaves, "destination": 0})
    result = ws.run(Filling, edges, engine="cpu")
    assert result.converged
    assert column(result.frame, "level").tolist() == [4.0, *[1.0] * 8]
