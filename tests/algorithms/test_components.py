"""Weakly connected components: labels by the verifier and NetworkX, for any number of threads."""

from __future__ import annotations

import numba
import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapes import FRAME_KINDS, SHAPES, build, column, edge_frame, frame, grid, rmat, undirected
from verify import Array, Edges, check_components

import cugraph_ws as ws
from cugraph_ws.algorithms.components import (
    WeaklyConnectedComponents,
    weakly_connected_components,
)
from cugraph_ws.backends.cpu.loops import components
from cugraph_ws.kernels.cpu import components as kernels
from cugraph_ws.kernels.cpu.components import compress, link_arcs, link_samples


def labels(edges: Edges, kind: str = "pandas", **options) -> Array:
    with build(edges, kind) as graph:
        result = weakly_connected_components(graph, **options)
    assert column(result, "vertex").tolist() == list(range(edges.n))
    return column(result, "labels")


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_every_shape(shape, directed):
    edges = shape if directed else undirected(shape)
    found = labels(edges)
    check_components(edges, found)
    assert np.array_equal(found, oracles.components(edges))


@pytest.mark.parametrize("threads", ["1", "2", "5"])
@pytest.mark.parametrize("directed", [True, False])
def test_any_number_of_threads(monkeypatch, threads, directed):
    monkeypatch.setenv("CUGRAPH_WS_THREADS", threads)
    monkeypatch.setattr(components, "GRAIN", 8)
    for edges in (rmat(9, 2, seed=8), grid(20, 20, 0.6, seed=9), SHAPES["rows of 0 to 1023"]):
        edges = edges if directed else undirected(edges)
        assert np.array_equal(labels(edges), oracles.components(edges))


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("arcs", [1, 7, 100])
def test_arcs_in_blocks(monkeypatch, arcs, directed):
    monkeypatch.setattr(components, "ARCS_A_STEP", arcs)
    for name in ("rmat", "random sparse", "star inwards", "two components", "self-loops"):
        edges = SHAPES[name] if directed else undirected(SHAPES[name])
        assert np.array_equal(labels(edges), oracles.components(edges))


@given(
    st.integers(1, 30).flatmap(
        lambda n: st.tuples(
            st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)))
        )
    ),
    st.booleans(),
)
def test_random_graphs(drawn, directed):
    n, pairs = drawn
    source, destination = np.array(pairs, np.int64).reshape(-1, 2).T
    edges = Edges(source, destination, n, None, directed)
    assert np.array_equal(labels(edges), oracles.components(edges))


def test_rows_of_the_largest_component_are_skipped():
    edges = undirected(rmat(10, 16, seed=3))
    with build(edges) as graph:
        result = ws.run(WeaklyConnectedComponents(), graph)
        assert column(result.trace, "edges").sum() < graph.csc.number_of_arcs / 2
        assert column(result.trace, "filter").tolist() == ["all", "all", "largest skipped"]
        check_components(edges, column(result.frame, "labels"))


def test_a_component_joined_to_the_largest_late_gives_it_its_label(monkeypatch):
    # 0 - 1 - 2 hang on the last of many arcs of the hub, after every vertex but those is joined.
    hub = np.full(40, 3)
    leaves = np.arange(4, 44)
    source, destination = np.r_[0, 1, hub, 2], np.r_[1, 2, leaves, 43]
    edges = Edges(source, destination, 44, None, False)
    for arcs in (3, 50, 1000):
        monkeypatch.setattr(components, "ARCS_A_STEP", arcs)
        assert labels(edges).max() == 0


@pytest.mark.parametrize("kind", FRAME_KINDS)
def test_labels_are_ids_of_the_frame_that_went_in(kind):
    edges = frame({"source": ["d", "b", "x"], "destination": ["c", "a", "b"]}, kind)
    result = weakly_connected_components(edges)
    assert type(result) is type(edges)
    assert column(result, "vertex").tolist() == ["a", "b", "c", "d", "x"]
    assert column(result, "labels").tolist() == ["a", "a", "c", "c", "a"]


def test_column_names_and_several_id_columns():
    edges = frame({"a": [1, 2], "b": ["x", "y"], "c": [1, 1], "d": ["y", "z"]})
    result = weakly_connected_components(edges, source=["a", "b"], destination=["c", "d"])
    assert column(result, "a").tolist() == [1, 1, 1, 2]
    assert column(result, "labels_a").tolist() == [1, 1, 1, 1]
    assert column(result, "labels_b").tolist() == ["x", "x", "z", "z"]


def test_no_edges():
    assert len(weakly_connected_components(edge_frame(SHAPES["empty"]))) == 0
    with build(SHAPES["all isolated"]) as graph:
        result = ws.run(WeaklyConnectedComponents(), graph)
    assert (result.iterations, result.converged) == (0, True)


@pytest.mark.parametrize("after", [1, 2, 3, 5])
@pytest.mark.parametrize("directed", [True, False])
def test_a_run_goes_on_from_a_checkpoint(monkeypatch, tmp_path, after, directed):
    monkeypatch.setattr(components, "ARCS_A_STEP", 300)
    edges = SHAPES["rmat"] if directed else undirected(SHAPES["rmat"])
    path = tmp_path / "state.parquet"
    with build(edges) as graph:
        stopped = ws.run(
            WeaklyConnectedComponents(),
            graph,
            progress=lambda update: update.superstep < after,
            checkpoint=path,
        )
        assert stopped.stopped == "callback"
        found = column(weakly_connected_components(graph, resume=path), "labels")
    assert np.array_equal(found, oracles.components(edges))


def test_a_run_that_was_stopped_is_no_answer():
    with build(SHAPES["rmat"]) as graph, pytest.raises(ws.ConvergenceError) as caught:
        weakly_connected_components(graph, progress=lambda update: update.superstep < 1)
    assert not caught.value.result.converged


# Kernels


def rows_of(edges: Edges, dtype=np.int32):
    with build(edges) as graph:
        return graph.csc.offsets, graph.csc.indices.astype(dtype)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_samples_link_the_first_and_the_last_neighbour(dtype):
    offsets, indices = np.array([0, 0, 0, 0, 3, 4]), np.array([0, 1, 2, 0], dtype)
    parent = np.arange(5, dtype=dtype)
    assert link_samples(offsets, indices, parent, False, 0, 5) == 2
    assert parent.tolist() == [0, 1, 2, 0, 0]
    assert link_samples(offsets, indices, parent, True, 0, 5) == 1
    assert parent.tolist() == [0, 1, 0, 0, 0]
    assert link_arcs(offsets, indices, parent, 1, -1, 3, 0, 4) == 1
    assert parent.tolist() == [0, 0, 0, 0, 0]


def test_paths_to_the_root_are_halved_and_then_compressed():
    parent = np.array([0, 0, 1, 2, 3, 4, 5], np.int32)
    offsets, indices = np.array([0] * 7 + [1]), np.array([0], np.int32)  # an arc from 0 to 6
    assert link_arcs(offsets, indices, parent, 0, -1, 6, 0, 1) == 1
    assert parent.tolist() == [0, 0, 0, 1, 2, 3, 4]
    compress(parent, 0, 7)
    assert not parent.any()


def test_a_root_that_another_thread_hooks_first_is_climbed(monkeypatch):
    def come_late(parent, index, expected, value):
        monkeypatch.undo()
        parent[index] = 1
        return False

    if numba.config.DISABLE_JIT:  # compiled, the same link simply succeeds
        monkeypatch.setattr(kernels, "compare_and_swap", come_late)
    parent = np.arange(4, dtype=np.int32)
    offsets, indices = np.array([0, 0, 0, 0, 1]), np.array([0], np.int32)
    assert link_arcs(offsets, indices, parent, 0, -1, 3, 0, 1) == 1
    compress(parent, 0, 4)
    assert parent.tolist() == ([0, 0, 2, 0] if numba.config.DISABLE_JIT else [0, 1, 2, 0])


def test_links_in_any_order_reach_the_smallest_vertex():
    edges = undirected(SHAPES["random"])
    offsets, indices = rows_of(edges)
    rows = np.repeat(np.arange(edges.n), np.diff(offsets))
    generator = np.random.default_rng(7)
    for _ in range(5):
        parent = np.arange(edges.n, dtype=np.int32)
        for arc in generator.permutation(len(indices)):
            link_arcs(offsets, indices, parent, 0, -1, rows[arc], arc, arc + 1)
        compress(parent, 0, edges.n)
        assert np.array_equal(parent, oracles.components(edges))


def test_skipped_rows_are_not_read():
    offsets, indices = rows_of(undirected(SHAPES["star"]))
    parent = np.array([0, 0, 0, 0, 0, 0, 0, 0, 8], np.int32)
    assert link_arcs(offsets, indices, parent, 0, 0, 0, 0, len(indices)) == 1
    assert parent[8] == 0
