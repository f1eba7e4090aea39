"""Matchings on the CUDA engine, its kernels in the emulator, against the CPU engine."""

from __future__ import annotations

import numpy as np
import pytest
from emulator import device
from emulator.device import emulated
from shapes import SHAPES, column, edge_frame, hub, vertex_frame
from verify import Edges, check_matching

import cugraph_ws as ws
from cugraph_ws.backends.cuda import grouping
from cugraph_ws.errors import InputError


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Let even small graphs have several blocks, of a width that is no power of two."""
    monkeypatch.setattr(device, "THREADS", 96)


def bipartite(lefts, rights, m, seed, *, directed=True):
    """Edges across, half of them from right to left; numbers of both sides are mixed."""
    generator = np.random.default_rng(seed)
    number = generator.permutation(lefts + rights)
    one = number[generator.integers(0, lefts, m)]
    other = number[lefts + generator.integers(0, rights, m)]
    turned = generator.random(m) < 0.5
    source, destination = np.where(turned, other, one), np.where(turned, one, other)
    left = np.zeros(lefts + rights, bool)
    left[number[:lefts]] = True
    return Edges(source, destination, lefts + rights, None, directed), left


def graph_of(edges, **attributes):
    return ws.Graph(
        edge_frame(edges), directed=edges.directed, vertices=vertex_frame(edges, **attributes)
    )


def mates(graph, left, seed=0, **options):
    result = ws.run(ws.MaximalBipartiteMatching(left, seed), graph, **options)
    return result.arrays["mate"].numbers, result


SIZES = [(1, 1, 1), (1, 9, 9), (5, 5, 0), (8, 8, 20), (40, 60, 90), (60, 40, 400), (3, 90, 300),
         (1, 2500, 2600)]  # fmt: skip


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("size", SIZES)
def test_the_same_mates_as_on_the_cpu(size, directed):
    edges, left = bipartite(*size, seed=1, directed=directed)
    with graph_of(edges) as graph, emulated(seed=1):
        expected, one = mates(graph, np.flatnonzero(left), seed=5)
        found, other = mates(graph, np.flatnonzero(left), seed=5, engine="cuda")
        assert np.array_equal(found, expected)
        for name in ("active", "edges", "direction", "filter"):
            assert other.trace[name].tolist() == one.trace[name].tolist()


@pytest.mark.parametrize("seed", range(6))
def test_any_thread_order(seed, monkeypatch):
    monkeypatch.setattr(device, "THREADS", (32, 64, 96, 128)[seed % 4])
    edges, left = bipartite(30, 40, 160, seed, directed=bool(seed % 2))
    with graph_of(edges) as graph, emulated(seed=seed, multiprocessors=1 + seed % 3):
        frame = ws.maximal_bipartite_matching(graph, np.flatnonzero(left), seed=seed, engine="cuda")
        check_matching(edges, left, column(frame, "mate", -1))


@pytest.mark.parametrize("name", ["empty", "one vertex", "all isolated", "one edge", "star", "path",
                                  "star inwards", "path backwards", "cycle", "hub"])  # fmt: skip
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_shapes_with_two_sides(name, directed):
    shape = {**SHAPES, "hub": hub(300)}[name]
    edges = Edges(shape.source, shape.destination, shape.n, None, directed)
    middle = {"star": 0, "star inwards": 8, "hub": 150}.get(name)
    number = np.arange(edges.n)
    left = np.flatnonzero(number % 2 == 0 if middle is None else number == middle)
    with graph_of(edges) as graph, emulated(seed=2):
        expected, _ = mates(graph, left)
        found, _ = mates(graph, left, engine="cuda")
    assert np.array_equal(found, expected)


def test_wide_positions_and_a_vertex_attribute(monkeypatch):
    monkeypatch.setattr(grouping, "INT32_NUMBERS", 0)
    edges, left = bipartite(20, 20, 90, 3)
    with graph_of(edges, side=left) as graph, emulated(seed=3):
        assert graph.on_device().numbers.dtype == np.int64
        expected, _ = mates(graph, "side")
        loop = ws.MaximalBipartiteMatching("side")
        found = ws.run(loop, graph, engine="cuda").arrays["mate"].numbers
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("pair", [(4, 2), (1, 3)])
def test_an_edge_within_a_side_is_refused_as_on_the_cpu(pair):
    ring = np.arange(6)
    edges = Edges(np.r_[ring, pair[0], 4], np.r_[(ring + 1) % 6, pair[1], 2], 6)
    messages = set()
    with graph_of(edges) as graph, emulated(seed=4):
        for engine in ("cpu", "cuda"):
            with pytest.raises(InputError, match="has both ends on the") as refusal:
                mates(graph, [0, 2, 4], engine=engine)
            messages.add(str(refusal.value))
    assert len(messages) == 1


@pytest.mark.parametrize(
    "engines", [("cuda", "cuda"), ("cuda", "cpu"), ("cpu", "cuda")], ids="to".join
)
def test_checkpoints_go_from_engine_to_engine(engines, tmp_path):
    path = tmp_path / "state.parquet"
    edges, left = bipartite(50, 50, 200, 6)
    with graph_of(edges) as graph, emulated(seed=5):
        expected, whole = mates(graph, np.flatnonzero(left))
        _, first = mates(
            graph, np.flatnonzero(left), engine=engines[0], checkpoint=path,
            progress=lambda made: made.superstep < 1,
        )  # fmt: skip
        assert first.stopped == "callback"
        found, second = mates(graph, np.flatnonzero(left), engine=engines[1], resume=path)
        assert second.iterations == whole.iterations
    assert np.array_equal(found, expected)
