"""Many searches at once on the CUDA engine, its kernels in the emulator, against the CPU engine."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from emulator import device, load
from emulator.device import emulated
from shapes import SHAPES, build, edge_frame, grid, hub, random_edges, rmat, undirected
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.backends.cpu.loops import multi_source as on_cores
from cugraph_ws.backends.cuda import grouping
from cugraph_ws.backends.cuda.loops import multi_source as algorithm
from cugraph_ws.errors import InputError
from cugraph_ws.runtime.generated import kernel_file

BATTERY = {**SHAPES, "hub": hub(560)}
TIES = random_edges(40, 120, seed=31, weights="ties")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Let even small graphs have several blocks."""
    monkeypatch.setattr(device, "THREADS", 32)


def search(program, graph, sources, **options):
    given = {name: options.pop(name) for name in ("max_iter", "cutoff") if name in options}
    argument = "start" if program is ws.BFS else "source"
    loop = ws.MultiSource(program, argument, sources, engine="cpu", **given)
    return ws.run(loop, graph, **options)


def assert_same(found, expected):
    for name, column in expected.arrays.items():
        for part in ("numbers", "values", "valid"):
            if hasattr(column, part):
                here, there = getattr(found.arrays[name], part), getattr(column, part)
                assert np.array_equal(here, there), (name, part)
    assert found.arrays["distance"].values.dtype == expected.arrays["distance"].values.dtype


def check(program, graph, sources, seed=1, **options):
    expected = search(program, graph, sources, engine="cpu", **options)
    with emulated(seed=seed):
        found = search(program, graph, sources, engine="cuda", **options)
    assert found.converged
    assert_same(found, expected)
    return found


@pytest.mark.parametrize("name", BATTERY)
def test_every_shape(name):
    edges, program = BATTERY[name], (ws.SSSP, ws.BFS)[list(BATTERY).index(name) % 2]
    with build(edges) as graph:
        check(program, graph, list(range(0, edges.n, 1 + edges.n // 3)))


@pytest.mark.parametrize("name", ["short path", "cycle", "clique", "two components", "self-loops",
                                  "duplicates", "random", "ties and zeros", "hub"])  # fmt: skip
def test_undirected_shapes(name):
    edges, program = undirected(BATTERY[name]), (ws.BFS, ws.SSSP)[list(BATTERY).index(name) % 2]
    with build(edges) as graph:
        check(program, graph, [0, edges.n - 1])


@pytest.mark.parametrize("seed", range(6))
def test_any_thread_order(seed, monkeypatch):
    monkeypatch.setattr(device, "THREADS", (32, 64, 96)[seed % 3])
    edges = (rmat(5, 3, seed=8), TIES, grid(6, 5, drop=0.2, seed=9))[seed % 3]
    sources = np.random.default_rng(seed).integers(0, edges.n, 1 + 2 * seed).tolist()
    with build(undirected(edges) if seed % 2 else edges) as graph:
        check(ws.SSSP, graph, sources, seed=seed)
        check(ws.BFS, graph, sources, seed=seed)


@pytest.mark.parametrize("program", [ws.BFS, ws.SSSP])
@pytest.mark.parametrize("count", [1, 2, 32, 35])
def test_any_number_of_sources(program, count):
    """Of the words all bits are used, and the last batch is narrower."""
    sources = [3 * source % 40 for source in range(count)]  # some of them twice
    with build(TIES) as graph:
        result = check(program, graph, sources, seed=count)
        assert result.iterations == -(-count // 32)
        assert result.trace["active"].tolist() == ([3, 0] if count == 35 else [0])


@pytest.mark.parametrize("kind", ["float32", "float64", "int64"])
@pytest.mark.parametrize("cutoff", [None, 6.0])
def test_weights_of_every_type(kind, cutoff):
    edges = random_edges(40, 140, seed=33, weights="uniform")
    weight = (edges.weight * 10).astype(kind)
    frame = edge_frame(edges).assign(weight=weight)
    with ws.Graph(frame, weight="weight") as graph:
        result = check(ws.SSSP, graph, [0, 7, 11], cutoff=cutoff)
    assert result.arrays["distance"].values.dtype == kind


def test_without_weights_and_wide_positions(monkeypatch):
    monkeypatch.setattr(grouping, "INT32_NUMBERS", 0)
    with build(random_edges(30, 70, seed=34), weighted=False) as graph:
        for program in (ws.BFS, ws.SSSP):
            check(program, graph, [3, 5])


@pytest.mark.parametrize("limit", [0, 1, 3, 60])
def test_limits_of_hops(limit):
    with build(SHAPES["path"], weighted=False) as graph:
        check(ws.BFS, graph, [10, 20], max_iter=limit)


def test_chains_and_rings_of_arcs_without_length():
    chain = np.arange(24)
    source, destination = np.r_[chain, 24, 5, 30], np.r_[chain + 1, 3, 20, 26]
    weight = np.zeros(len(source))
    weight[6] = weight[-1] = 1.0
    edges = Edges(source, destination, 31, weight)
    for shape in (edges, undirected(edges)):
        with build(shape) as graph:
            check(ws.SSSP, graph, [0, 4, 30])


def test_lengths_that_vanish_beside_others():
    """2**60 and 1 add up to 2**60: the vertex after is no farther, and its arc is tight."""
    edges = Edges(np.array([0, 1, 2, 3]), np.array([1, 2, 3, 1]), 4, np.array([2.0**60, 1, 1, 1]))
    with build(edges) as graph:
        result = check(ws.SSSP, graph, [0])
    assert result.arrays["predecessor"].numbers.tolist() == [-1, 0, 1, 2]


def test_frames_ids_and_no_sources():
    frame = pd.DataFrame({"source": ["b", "c", "d"], "destination": ["c", "d", "a"]})
    with emulated(seed=3):
        hops = ws.multi_source_bfs(frame, ["c", "b"], engine="cuda")
        assert hops["source"].tolist() == ["c"] * 4 + ["b"] * 4
        pd.testing.assert_frame_equal(hops, ws.multi_source_bfs(frame, ["c", "b"]))
        with ws.Graph(frame) as graph:
            loop = ws.MultiSource(ws.SSSP, "source", [])
            none = ws.run(loop, graph, engine="cuda").frame
    assert len(none) == 0
    assert list(none.columns) == ["source", "vertex", "distance", "predecessor"]


def test_a_users_program_is_not_taken_for_a_built_in_one_of_its_name():
    """Its kernels would give the other's answer."""
    with build(SHAPES["cycle"]) as graph, emulated():
        loop = ws.MultiSource(a_bfs_of_their_own(), "start", [0])
        with pytest.raises(ws.InputError, match="use engine='cpu'"):
            ws.run(loop, graph, engine="cuda")


def a_bfs_of_their_own():
    @ws.vertex_program
    class BFS:
        distance: ws.nullable(ws.int64, null=math.inf)
        predecessor: ws.predecessor
        start: ws.vertex_set
        combine = min

        def init(own):
            return 0 if own.start else math.inf

        def compute(src):
            return src.distance + 2

        def apply(old, gathered):
            return min(old.distance, gathered)

    return BFS


def test_unreachable_as_the_greatest_number():
    with build(SHAPES["two components"], weighted=False) as graph, emulated(seed=4):
        hops = ws.multi_source_bfs(graph, [0], unreachable="max", engine="cuda")
    assert hops["distance"].tolist() == [0, 1, 2] + [np.iinfo(np.int32).max] * 4


@pytest.mark.parametrize(
    "engines", [("cuda", "cuda"), ("cuda", "cpu"), ("cpu", "cuda")], ids="to".join
)
@pytest.mark.parametrize("program", [ws.BFS, ws.SSSP])
def test_checkpoints_go_from_engine_to_engine(program, engines, tmp_path, monkeypatch):
    monkeypatch.setattr(algorithm, "MOST_WIDTH", 8)
    monkeypatch.setattr(on_cores, "TOGETHER", 8)
    monkeypatch.setenv("CUGRAPH_WS_THREADS", "1")
    path = tmp_path / "state.parquet"
    sources = list(range(20))
    with build(TIES) as graph, emulated(seed=5):
        expected = search(program, graph, sources)
        first = search(
            program,
            graph,
            sources,
            engine=engines[0],
            checkpoint=path,
            progress=lambda made: made.superstep < 1,
        )
        assert first.stopped == "callback"
        assert 0 < len(first.arrays["vertex"].numbers) < 20 * 40
        found = search(program, graph, sources, engine=engines[1], resume=path)
    assert found.converged
    assert_same(found, expected)


def test_invalid_arguments_are_refused():
    negative = Edges(np.array([0, 1]), np.array([1, 2]), 3, np.array([1.0, -1.0]))
    faster = ws.MultiSource(ws.SSSP, "source", [0], speed=3)
    wider = ws.MultiSource(ws.WidestPath, "source", [0])
    with build(negative) as graph, emulated(seed=6):
        with pytest.raises(InputError, match="has the value -1"):
            search(ws.SSSP, graph, [0], engine="cuda")
        with pytest.raises(InputError, match="must be a list"):
            search(ws.BFS, graph, 3, engine="cuda")
        with pytest.raises(InputError, match="starts"):
            search(ws.BFS, graph, [9], engine="cuda")
        with pytest.raises(InputError, match="no parameter 'speed'"):
            ws.run(faster, graph, engine="cuda")
        with pytest.raises(InputError, match="BFS or SSSP"):
            ws.run(wider, graph, engine="cuda")


def test_the_host_knows_the_kernels_layout():
    kernels = load(kernel_file("cuda", "sources"))
    for name in ("READ", "UNDECIDED", "LISTED"):
        assert kernels[name] == getattr(algorithm, name)
    assert kernels["LISTED"] + 3 == algorithm.CONTROL
