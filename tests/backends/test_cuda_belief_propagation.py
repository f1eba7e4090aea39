"""Belief propagation on the CUDA engine, its kernels in the emulator, against the CPU engine."""

from __future__ import annotations

import numpy as np
import pytest
from emulator import device
from emulator.device import emulated
from shapes import SHAPES, edge_frame, hub, random_edges, vertex_frame
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.backends.cuda import grouping
from cugraph_ws.errors import ConvergenceError, InputError

BATTERY = {**SHAPES, "hub": hub(200)}
EQUAL = {"rtol": 1e-10, "atol": 1e-13}  # sums are taken in another order


def priors_of(n, states, seed=0):
    values = np.random.default_rng(seed).random((n, states)) + 0.1
    if n > 2:
        values[1, 0] = 0.0  # a state that a vertex cannot be in
    return {f"p{state}": column for state, column in enumerate(values.T)}


def coupling_of(states, *, symmetric):
    matrix = np.random.default_rng(states).random((states, states)) + 0.5
    return matrix + matrix.T if symmetric else matrix


def graph_of(edges, states, strengths=None, priors=None):
    weight = np.zeros(len(edges.source)) if strengths is None else strengths
    frame = edge_frame(Edges(edges.source, edges.destination, edges.n, weight))
    priors = priors_of(edges.n, states) if priors is None else priors
    return ws.Graph(
        frame, weight="weight", directed=edges.directed, vertices=vertex_frame(edges, **priors)
    )


def beliefs(graph, states, coupling, **options):
    settings = {"damping": 0.3, "tol": 1e-9, "max_iter": 4}
    settings |= {name: options.pop(name) for name in list(options) if name in settings}
    names = [f"p{state}" for state in range(states)]
    result = ws.run(ws.BeliefPropagation(names, coupling, **settings), graph, **options)
    return np.column_stack([np.asarray(one) for one in result.arrays.values()]), result


def both(edges, states, coupling, strengths=None, seed=0, **options):
    """Return what both engines find after a few iterations."""
    with graph_of(edges, states, strengths) as graph, emulated(seed=seed):
        expected, one = beliefs(graph, states, coupling, **options)
        found, other = beliefs(graph, states, coupling, engine="cuda", **options)
        assert other.iterations == one.iterations
        for name in ("active", "edges", "direction", "filter"):
            assert other.trace[name].tolist() == one.trace[name].tolist()
        np.testing.assert_allclose(other.trace["residual"], one.trace["residual"], **EQUAL)
    return found, expected


def turned(edges, directed):
    return Edges(edges.source, edges.destination, edges.n, None, directed)


@pytest.mark.parametrize("name", BATTERY)
def test_every_shape(name):
    directed = bool(list(BATTERY).index(name) % 2)
    edges = turned(BATTERY[name], directed)
    found, expected = both(
        edges, 2, coupling_of(2, symmetric=not directed), seed=1, max_iter=2
    )  # fmt: skip
    assert found.shape == (edges.n, 2)
    np.testing.assert_allclose(found, expected, **EQUAL)


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("states", [2, 3, 8, 10])
def test_any_number_of_states(states, directed):
    edges = turned(random_edges(20, 45, seed=2), directed)
    found, expected = both(
        edges, states, coupling_of(states, symmetric=not directed), seed=2, max_iter=3
    )  # fmt: skip
    np.testing.assert_allclose(found, expected, **EQUAL)


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("states", [2, 3, 9])
def test_strengths_of_edges(states, directed):
    edges = turned(random_edges(14, 60, seed=3), directed)  # with parallel edges and self-loops
    strengths = np.random.default_rng(4).normal(0, 0.7, 60)
    found, expected = both(edges, states, "weight", strengths, seed=3)
    np.testing.assert_allclose(found, expected, **EQUAL)


@pytest.mark.parametrize("seed", range(4))
def test_any_thread_order(seed, monkeypatch):
    monkeypatch.setattr(device, "THREADS", (32, 64, 96, 128)[seed])
    edges = turned(random_edges(40, 70, seed=seed), directed=bool(seed % 2))
    found, expected = both(edges, 3, coupling_of(3, symmetric=True), seed=seed)
    np.testing.assert_allclose(found, expected, **EQUAL)


def test_a_hub_that_a_block_adds_up():
    leaf = np.arange(1, 4400)
    edges = Edges(leaf, np.zeros_like(leaf), 4400)
    with graph_of(edges, 2) as graph, emulated(seed=4):
        expected, _ = beliefs(graph, 2, coupling_of(2, symmetric=False), max_iter=1)
        found, _ = beliefs(graph, 2, coupling_of(2, symmetric=False), max_iter=1, engine="cuda")
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-12)


def test_evidence_of_any_weight_keeps_its_digits():
    """Logarithms far from 0 neither overflow nor vanish: of the most likely state is 0 what is compared."""
    path = Edges(np.arange(3), np.arange(1, 4), 4, directed=True)
    priors = {"p0": [1.0, 1e-280, 1e-3, 0.5], "p1": [0.0, 1.0, 1e300, 0.5]}
    strengths = np.array([690.0, -690.0, 30.0])
    with graph_of(path, 2, strengths, priors) as graph, emulated():
        expected, _ = beliefs(graph, 2, "weight")
        on_gpu, _ = beliefs(graph, 2, "weight", engine="cuda")
    assert expected[0].tolist() == [1.0, 0.0]
    np.testing.assert_allclose(on_gpu, expected, **EQUAL)


def test_until_it_converges_and_wide_positions(monkeypatch):
    monkeypatch.setattr(grouping, "INT32_NUMBERS", 0)
    edges = turned(random_edges(30, 40, seed=5), directed=True)
    with graph_of(edges, 2) as graph, emulated(seed=5):
        assert graph.on_device().numbers.dtype == np.int64
        coupling = [[0.6, 0.4], [0.4, 0.6]]
        options = {"max_iter": 50, "tol": 1e-4, "damping": 0.0}
        expected, one = beliefs(graph, 2, coupling, **options)
        found, other = beliefs(graph, 2, coupling, engine="cuda", **options)
    assert one.converged
    assert other.converged
    assert other.iterations == one.iterations
    np.testing.assert_allclose(found, expected, **EQUAL)


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("coupling", ["weight", "matrix"])
@pytest.mark.parametrize(
    "engines", [("cuda", "cuda"), ("cuda", "cpu"), ("cpu", "cuda")], ids="to".join
)
def test_checkpoints_go_from_engine_to_engine(engines, coupling, directed, tmp_path):
    path = tmp_path / "state.parquet"
    edges = turned(random_edges(14, 50, seed=6), directed)
    strengths = np.random.default_rng(7).normal(0, 0.5, 50)
    if coupling == "matrix":
        coupling = coupling_of(3, symmetric=not directed)
    with graph_of(edges, 3, strengths) as graph, emulated(seed=6):
        expected, _ = beliefs(graph, 3, coupling)
        _, first = beliefs(
            graph,
            3,
            coupling,
            engine=engines[0],
            checkpoint=path,
            progress=lambda made: made.superstep < 1,
        )
        assert first.iterations == 1
        found, second = beliefs(graph, 3, coupling, engine=engines[1], resume=path)
    assert second.iterations == 4
    np.testing.assert_allclose(found, expected, **EQUAL)


def test_invalid_arguments_are_refused():
    edges = turned(SHAPES["path"], directed=True)
    strengths = np.zeros(49)
    strengths[7] = 700.0
    with graph_of(edges, 2, strengths) as graph, emulated(seed=7):
        messages = set()
        for engine in ("cpu", "cuda"):
            with pytest.raises(InputError, match=r"a strength is 700\.0") as refusal:
                beliefs(graph, 2, "weight", engine=engine)
            messages.add(str(refusal.value))
        assert len(messages) == 1
        wrong = ws.BeliefPropagation(["p0", "p1"], np.ones((3, 3)))
        with pytest.raises(InputError, match="has the shape"):
            ws.run(wrong, graph, engine="cuda")
        with pytest.raises(ConvergenceError, match="did not converge"):
            ws.belief_propagation(graph, ["p0", "p1"], [[2, 1], [1, 2]], max_iter=1, engine="cuda")


def test_priors_in_a_frame_with_a_wrong_row():
    edges = turned(SHAPES["star"], directed=True)
    wrong = vertex_frame(edges, a=np.ones(9), b=np.ones(9))
    wrong.loc[3, ["a", "b"]] = 0.0
    with graph_of(edges, 2) as graph, emulated(seed=8):
        for engine in ("cpu", "cuda"):
            with pytest.raises(InputError, match="priors: vertex 3 has"):
                ws.run(ws.BeliefPropagation(wrong, [[2, 1], [1, 2]]), graph, engine=engine)
