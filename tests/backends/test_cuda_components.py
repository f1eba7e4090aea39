"""Components on the CUDA engine, its kernels in the emulator, against the CPU engine."""

from __future__ import annotations

import numpy as np
import pytest
from emulator import device
from emulator.device import emulated
from shapes import SHAPES, build, grid, hub, random_edges, rmat, undirected

import cugraph_ws as ws
from cugraph_ws.backends.cuda import grouping
from cugraph_ws.backends.cuda.loops import components as algorithm
from cugraph_ws.partition.part import Part

BATTERY = {**SHAPES, "hub": hub(300)}
SPARSE = random_edges(90, 80, seed=11)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Let even small graphs have several blocks, of a width that is no power of two."""
    monkeypatch.setattr(device, "THREADS", 96)


def labels(graph, **options):
    result = ws.run(ws.WeaklyConnectedComponents(), graph, **options)
    return result.arrays["labels"].numbers, result


@pytest.mark.parametrize("turn", [lambda edges: edges, undirected], ids=["directed", "undirected"])
@pytest.mark.parametrize("name", BATTERY)
def test_every_shape(name, turn):
    with build(turn(BATTERY[name])) as graph, emulated(seed=1):
        expected, _ = labels(graph)
        found, _ = labels(graph, engine="cuda")
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_any_thread_order(seed, directed, monkeypatch):
    monkeypatch.setattr(device, "THREADS", (32, 64, 96, 128)[seed % 4])
    monkeypatch.setattr(algorithm, "ARCS_A_STEP", 1 << 30 if seed % 2 else 70)
    edges = (SPARSE, grid(9, 8, drop=0.4, seed=3), rmat(6, 2, seed=4))[seed % 3]
    with build(edges if directed else undirected(edges)) as graph:
        expected, _ = labels(graph)
        with emulated(seed=seed, multiprocessors=1 + seed % 3):
            found, result = labels(graph, engine="cuda")
    assert np.array_equal(found, expected)
    assert (result.iterations > 3 + directed) == (seed % 2 == 0)


def test_wide_positions(monkeypatch):
    monkeypatch.setattr(grouping, "INT32_NUMBERS", 0)
    with build(undirected(SPARSE)) as graph, emulated(seed=2):
        expected, _ = labels(graph)
        found, _ = labels(graph, engine="cuda")
        assert found.dtype == np.int64
    assert np.array_equal(found, expected)


def test_the_largest_components_rows_are_skipped():
    ring = np.arange(200)
    edges = type(SPARSE)(np.r_[ring, ring], np.r_[(ring + 1) % 200, (ring + 7) % 200], 200)
    read = {}
    for directed in (True, False):
        with build(edges if directed else undirected(edges)) as graph, emulated(seed=3):
            trace = labels(graph, engine="cuda")[1].trace
        # The first sample joins all: there is no need of another.
        assert trace["direction"].tolist() == ["sample"] + ["link"] * (1 + directed)
        read[directed] = trace["edges"].tolist()
    # In a row of one end only, an arc may come from a vertex outside the component.
    assert read == {True: [200, 0, 400], False: [200, 0]}


@pytest.mark.parametrize("turn", [lambda edges: edges, undirected], ids=["directed", "undirected"])
def test_long_rows_beside_the_largest_component(turn):
    """A star of 1,100 beside one of 2,000, both with vertices that have no rows of their own."""
    big, little = np.arange(2000), 2001 + np.arange(1100)
    source, destination = np.r_[big, little], np.r_[np.full(2000, 2000), np.full(1100, 3101)]
    edges = turn(type(SPARSE)(source, destination, 3102))
    with build(edges) as graph, emulated(seed=8):
        expected, _ = labels(graph)
        found, result = labels(graph, engine="cuda")
        trace = result.trace
    assert np.array_equal(found, expected)
    assert trace["direction"].tolist()[:3] == ["sample", "sample", "link"]
    # Directed, a leaf has no row to be joined by: either centre may be in the larger tree.
    assert trace["edges"].tolist()[2] in ((1100, 2000) if edges.directed else (2200,))


@pytest.mark.parametrize("name", BATTERY)
def test_with_existing_rows_of_out_neighbours(name, monkeypatch):
    """Each arc is in a row of either end; no others are to be looked for."""
    monkeypatch.setattr(algorithm, "ARCS_A_STEP", 70)
    with build(BATTERY[name]) as graph, emulated(seed=2):
        expected, _ = labels(graph)
        apart, _ = labels(graph, engine="cuda")
        assert len(graph.on_device().at_hand) == 1
        _ = graph.on_device().csr
        kinds = len(graph.on_device().at_hand)
        assert kinds == 2 - graph.on_device().undirected
        found, result = labels(graph, engine="cuda")
        links = result.trace["direction"].tolist().count("link")
        assert links >= kinds * (graph.number_of_arcs > 0)
    assert np.array_equal(found, expected)
    assert np.array_equal(apart, expected)


def test_rows_of_both_kinds_are_skipped():
    """Only the arcs of the little component are read, from both of their ends."""
    ring, few = np.arange(200), np.arange(200, 203)
    source = np.r_[ring, ring, few]
    destination = np.r_[(ring + 1) % 200, (ring + 7) % 200, few + 1]
    with build(type(SPARSE)(source, destination, 204)) as graph, emulated(seed=3):
        _ = graph.on_device().csr
        found, result = labels(graph, engine="cuda")
        trace = result.trace
    assert trace["edges"].tolist() == [203, 3, 3]
    assert trace["active"].tolist()[1:] == [4, 4]
    assert np.array_equal(found, np.r_[np.zeros(200), np.full(4, 200)])


@pytest.mark.parametrize("size", [32, 200])
def test_arcs_within_the_largest_component_so_far_are_not_linked(size, monkeypatch):
    """Where rows are of in-neighbours alone: their ends are compared by their bits."""
    edges = random_edges(size, size, seed=size)
    marked = []

    def step(self):
        made = usual(self)
        if self._sampled == algorithm.SAMPLED and not marked:
            bits = np.unpackbits(np.asarray(self._tree).view(np.uint8), bitorder="little")
            marked.append((bits[: len(self.trees)], np.asarray(self.trees).copy()))
        return made

    usual = algorithm.Forest.step
    monkeypatch.setattr(algorithm.Forest, "step", step)
    with build(edges) as graph, emulated(seed=7):
        expected, _ = labels(graph)
        found, _ = labels(graph, engine="cuda")
    ((bits, trees),) = marked
    roots, counts = np.unique(trees, return_counts=True)
    assert len(roots) > 1
    assert np.array_equal(bits == 1, trees == roots[np.argmax(counts)])
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("steps", [1, 2, 3, 5])
@pytest.mark.parametrize(
    "engines", [("cuda", "cuda"), ("cuda", "cpu"), ("cpu", "cuda")], ids="to".join
)
def test_checkpoints_go_from_engine_to_engine(engines, steps, directed, tmp_path, monkeypatch):
    import cugraph_ws.backends.cpu.loops.components as on_cpu

    monkeypatch.setattr(algorithm, "ARCS_A_STEP", 30)
    monkeypatch.setattr(on_cpu, "ARCS_A_STEP", 30)
    path = tmp_path / "state.parquet"
    with build(SPARSE if directed else undirected(SPARSE)) as graph, emulated(seed=4):
        expected, _ = labels(graph)
        _, first = labels(
            graph, engine=engines[0], checkpoint=path, progress=lambda made: made.superstep < steps
        )
        found, second = labels(graph, engine=engines[1], resume=path)
    assert first.iterations == min(steps, first.iterations)
    assert second.converged
    assert np.array_equal(found, expected)


def test_a_finished_run_has_nothing_left_to_do_elsewhere(tmp_path):
    path = tmp_path / "state.parquet"
    with build(SPARSE) as graph, emulated(seed=5):
        expected, first = labels(graph, engine="cuda", checkpoint=path)
        for engine in ("cpu", "cuda"):
            found, second = labels(graph, engine=engine, resume=path)
            assert second.iterations == first.iterations
            assert np.array_equal(found, expected)


def test_a_loop_that_ran_on_a_gpu_runs_on_a_cpu():
    loop = ws.WeaklyConnectedComponents()
    with build(SPARSE) as graph:
        with emulated(seed=7):
            first = ws.run(loop, graph, engine="cuda").arrays["labels"].numbers
        found = ws.run(loop, graph, engine="cpu").arrays["labels"].numbers
    assert np.array_equal(found, first)


def test_a_run_stopped_early_returns_the_labels_so_far():
    with build(SHAPES["path"]) as graph, emulated(seed=6):
        loop = ws.WeaklyConnectedComponents()  # or the one for all engines
        result = ws.run(loop, graph, engine="cuda", progress=lambda made: made.superstep < 1)
        assert result.stopped == "callback"
        # The first of two in-neighbours is enough to join a path.
        assert np.array_equal(result.arrays["labels"].numbers, np.zeros(50))


@pytest.mark.parametrize("count", [1, 31, 97, 300])
def test_ranks_show_which_of_their_vertices_are_in_the_largest_tree(count):
    ring = np.arange(200)
    with build(type(SPARSE)(ring, (ring + 1) % 200, 300)) as graph, emulated(seed=5):
        part = Part(graph, on_device=True)
        forest = algorithm.Forest(part, 0)
        while forest.sampling:
            forest.step()
        places = np.random.default_rng(count).permutation(300)[:count]
        bits = np.unpackbits(forest.shown(places).view(np.uint8), bitorder="little")
        inside = part.numbers[places] < 200
    assert bits[:count].tolist() == inside.astype(int).tolist()
    assert not bits[count:].any()
