"""Core numbers: by the verifier and igraph; the edges of a core against its definition."""

from __future__ import annotations

import networkx as nx
import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapes import FRAME_KINDS, SHAPES, build, column, edge_frame, frame, rmat, undirected
from verify import Array, Edges, check_core_numbers

import cugraph_ws as ws
from cugraph_ws.algorithms.core import CoreNumber, core_number, k_core
from cugraph_ws.backends.cpu.loops import core as loops
from cugraph_ws.kernels.cpu.core import add_degrees, peel


def cores(edges: Edges, kind: str = "pandas", **options) -> Array:
    with build(edges, kind) as graph:
        result = core_number(graph, **options)
    assert column(result, "vertex").tolist() == list(range(edges.n))
    return column(result, "core_number")


@pytest.mark.parametrize("degree_type", ["both", "in", "out"])
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_every_shape(shape, directed, degree_type):
    edges = shape if directed else undirected(shape)
    found = cores(edges, degree_type=degree_type)
    assert found.dtype == np.int64
    check_core_numbers(edges, found, degree_type)
    assert np.array_equal(found, oracles.core_numbers(edges, degree_type))


def test_a_simple_graph_against_networkx():
    graph = nx.karate_club_graph()
    source, destination = np.array(graph.edges).T
    found = cores(Edges(source, destination, 34, None, False))
    assert dict(enumerate(found.tolist())) == nx.core_number(graph)


@pytest.mark.parametrize("budget", [1, 500])
@pytest.mark.parametrize("degree_type", ["both", "in"])
def test_levels_in_several_steps(monkeypatch, budget, degree_type):
    monkeypatch.setattr(loops, "WORK_A_STEP", budget)
    edges = rmat(8, 8, seed=5)
    with build(edges) as graph:
        result = ws.run(CoreNumber(degree_type), graph)
        check_core_numbers(edges, column(result.frame, "core_number"), degree_type)
        active = column(result.trace, "active")
    assert result.iterations > 1
    assert active[0] == edges.n
    assert (np.diff(active) < 0).all()


@pytest.mark.parametrize("k", [None, 3])
def test_a_run_that_stops_within_a_level_is_resumed(monkeypatch, tmp_path, k):
    monkeypatch.setattr(loops, "WORK_A_STEP", 50)
    edges = rmat(7, 8, seed=5)
    restore, has_waiting = CoreNumber.restore, []

    def noting_restore(self, state):
        has_waiting.append("waiting" in state)
        restore(self, state)

    monkeypatch.setattr(CoreNumber, "restore", noting_restore)
    with build(edges) as graph:
        expected = ws.run(CoreNumber(k=k), graph)
        for steps in range(1, expected.iterations):
            stopped = ws.run(
                CoreNumber(k=k),
                graph,
                checkpoint=tmp_path / "core.ws",
                progress=lambda update, steps=steps: update.superstep < steps,
            )
            assert stopped.stopped == "callback"
            assert (stopped.arrays["core_number"] >= oracles.core_numbers(edges, "both")).all()
            resumed = ws.run(CoreNumber(k=k), graph, resume=tmp_path / "core.ws")
            cores = resumed.arrays["core_number"]
            if k is None:
                check_core_numbers(edges, cores, "both")
            assert np.array_equal(cores >= 3, expected.arrays["core_number"] >= 3)
    assert True in has_waiting


@given(
    st.integers(1, 20).flatmap(
        lambda n: st.tuples(
            st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)))
        )
    ),
    st.booleans(),
    st.sampled_from(["both", "in", "out"]),
)
def test_random_graphs(drawn, directed, degree_type):
    n, pairs = drawn
    source, destination = np.array(pairs, np.int64).reshape(-1, 2).T
    edges = Edges(source, destination, n, None, directed)
    found = cores(edges, degree_type=degree_type)
    assert np.array_equal(found, oracles.core_numbers(edges, degree_type))


@pytest.mark.parametrize("kind", FRAME_KINDS)
def test_the_frame_that_went_in_comes_out(kind):
    edges = frame({"source": ["a", "b", "c"], "destination": ["b", "c", "a"]}, kind)
    result = core_number(edges, directed=False)
    assert type(result) is type(edges)
    assert column(result, "vertex").tolist() == ["a", "b", "c"]
    assert column(result, "core_number").tolist() == [2, 2, 2]


def test_no_edges():
    assert column(core_number(edge_frame(SHAPES["empty"])), "core_number").tolist() == []
    assert cores(SHAPES["all isolated"]).tolist() == [0] * 5


@pytest.mark.parametrize("degree_type", ["all", None, np.eye(2)])
def test_an_unknown_degree_type_is_refused(degree_type):
    with pytest.raises(ws.InputError, match=r"(?s)degree_type=.*choose 'both', 'in' or 'out'"):
        core_number(edge_frame(SHAPES["path"]), degree_type=degree_type)


def test_a_run_goes_on_from_a_checkpoint(monkeypatch, tmp_path):
    monkeypatch.setattr(loops, "WORK_A_STEP", 300)
    edges, path = rmat(8, 8, seed=5), tmp_path / "state.parquet"
    with build(edges) as graph:
        for after in (1, 3):
            ws.run(
                CoreNumber(),
                graph,
                progress=lambda update, last=after: update.superstep < last,
                checkpoint=path,
            )
            found = column(core_number(graph, resume=path), "core_number")
            assert np.array_equal(found, oracles.core_numbers(edges))
        with pytest.raises(ws.InputError, match="another degree_type"):
            core_number(graph, degree_type="in", resume=path)


def test_a_run_that_was_stopped_is_no_answer(monkeypatch):
    monkeypatch.setattr(loops, "WORK_A_STEP", 1)
    with build(SHAPES["rmat"]) as graph:
        for function in (core_number, k_core):
            with pytest.raises(ws.ConvergenceError):
                function(graph, progress=lambda update: update.superstep < 1)


# The edges of a core


def expected_core(edges: Edges, k: int) -> list[tuple[int, int]]:
    core = oracles.core_numbers(edges)
    ends = zip(edges.source.tolist(), edges.destination.tolist(), strict=True)
    inside = [(u, v) for u, v in ends if core[u] >= k and core[v] >= k]
    return sorted(inside if edges.directed else [(min(ends), max(ends)) for ends in inside])


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_the_edges_of_every_core(tiny_shape, directed):
    edges = tiny_shape if directed else undirected(tiny_shape)
    with build(edges) as graph:
        for k in range(6):
            found = k_core(graph, k)
            pairs = zip(column(found, "source"), column(found, "destination"), strict=True)
            assert sorted((int(u), int(v)) for u, v in pairs) == expected_core(edges, k)


def test_the_innermost_core_is_the_default():
    edges = frame({"from": ["a", "b", "c", "c"], "to": ["b", "c", "a", "d"], "w": [1.0, 2, 3, 4]})
    found = k_core(edges, source="from", destination="to", weight="w", directed=False)
    expected = {"from": ["a", "a", "b"], "to": ["b", "c", "c"], "w": [1.0, 3.0, 2.0]}
    pd.testing.assert_frame_equal(found, pd.DataFrame(expected), check_dtype=False)


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_edges_of_a_core_are_sorted_by_destination_then_source(directed):
    ends = np.random.default_rng(8).integers(0, 9, (2, 60))
    edges = pd.DataFrame({"source": ends[0], "destination": ends[1], "row": np.arange(60)})
    found = k_core(edges, 0, weight="row", directed=directed)
    if not directed:
        edges["source"], edges["destination"] = ends.min(axis=0), ends.max(axis=0)
    expected = edges.sort_values(["destination", "source", "row"], ignore_index=True)
    pd.testing.assert_frame_equal(found, expected)
    assert found.duplicated(["source", "destination"]).any()


def test_a_core_keeps_the_self_loops_of_its_vertices():
    edges = frame({"source": [0, 0, 1, 2], "destination": [0, 1, 0, 2]})
    found = k_core(edges, 2)
    assert column(found, "source").tolist() == [0, 1, 0]
    assert len(k_core(edges, 3)) == 0


def test_cores_by_in_degree():
    edges = SHAPES["rmat"]
    core = oracles.core_numbers(edges, "in")
    inside = (core[edges.source] >= 3) & (core[edges.destination] >= 3)
    assert len(k_core(edge_frame(edges), 3, degree_type="in")) == inside.sum()


def test_the_core_of_no_edges_is_empty():
    assert len(k_core(edge_frame(SHAPES["empty"]))) == 0


@pytest.mark.parametrize("k", [-1, 1.5, "2", True])
def test_a_senseless_k_is_refused(k):
    with pytest.raises(ws.InputError, match=r"k=.*whole number"):
        k_core(edge_frame(SHAPES["path"]), k)


# Kernels


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_peeling_stops_between_vertices(dtype):
    edges = undirected(SHAPES["two components"])  # 0 1 2 in a triangle, 3 4 5 with an edge doubled
    with build(edges) as graph:
        offsets, indices = graph.csc.offsets, graph.csc.indices
    core = np.zeros(edges.n, dtype)
    add_degrees(offsets, indices, core, 0, 4)
    add_degrees(offsets, indices, core, 4, edges.n)
    assert core.tolist() == [2, 2, 2, 3, 3, 2, 0]
    alive = np.arange(edges.n, dtype=indices.dtype)
    queue = np.empty(edges.n + 1, indices.dtype)
    adjacency = offsets, indices, offsets, indices[:0]
    begun = peel(adjacency, core, alive, edges.n, queue, 0, -1, 1)
    # Vertex 6, of level 0, has no arcs; then the first of level 2, of two arcs, exceeds the budget.
    assert begun == (6, 2, 1, 4, 5, 2)
    count, level, place, size, reached, read = begun
    assert queue[:size].tolist() == [0, 1, 2, 5]
    queue[: size - place] = queue[place:size].copy()
    count, level, place, size, more, rest = peel(
        adjacency, core, alive, count, queue, size - place, level, 100
    )
    assert (count, level, place, size) == (0, 2, 0, 0)
    assert (reached + more, read + rest) == (7, len(indices))
    assert core.tolist() == [2, 2, 2, 2, 2, 2, 0]
