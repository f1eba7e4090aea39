"""Core numbers on the CUDA engine, its kernels in the emulator, against the CPU engine."""

from __future__ import annotations

import numpy as np
import pytest
from emulator import device, load
from emulator.device import emulated
from shapes import SHAPES, build, column, grid, hub, random_edges, rmat, undirected
from verify import Edges, check_core_numbers

import cugraph_ws as ws
from cugraph_ws.backends.cpu.loops import core as on_cpu
from cugraph_ws.backends.cuda import grouping
from cugraph_ws.backends.cuda.loops import core as algorithm
from cugraph_ws.runtime.generated import kernel_file

BATTERY = {**SHAPES, "hub": hub(600)}
DEGREES = ["both", "in", "out"]


def cores(graph, degree_type="both", **options):
    result = ws.run(ws.CoreNumber(degree_type), graph, **options)
    return result.arrays["core_number"], result


@pytest.mark.parametrize("name", BATTERY)
def test_every_directed_shape(name):
    """By one of the kinds of degrees; all of them over the battery."""
    degree_type = DEGREES[list(BATTERY).index(name) % len(DEGREES)]
    with build(BATTERY[name]) as graph, emulated(seed=1):
        expected, _ = cores(graph, degree_type)
        found, _ = cores(graph, degree_type, engine="cuda")
    assert found.dtype == np.int64
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("name", BATTERY)
def test_every_undirected_shape(name):
    edges = undirected(BATTERY[name])
    with build(edges) as graph, emulated(seed=2):
        found, result = cores(graph, engine="cuda")
        trace = result.trace
    assert np.array_equal(found, oracle(edges))
    assert trace["direction"].tolist() == ["peel"] * len(trace)


def oracle(edges):
    with build(edges) as graph:
        return cores(graph)[0]


@pytest.mark.parametrize("seed", range(8))
def test_any_thread_order(seed, monkeypatch):
    monkeypatch.setattr(device, "THREADS", (32, 64, 96, 128)[seed % 4])
    edges = (rmat(6, 6, seed=4), grid(8, 9, drop=0.2, seed=5), random_edges(70, 300, seed=6))[
        seed % 3
    ]
    edges = undirected(edges) if seed % 2 else edges
    with build(edges) as graph:
        with emulated(seed=seed, multiprocessors=1 + seed % 3):
            frame = ws.core_number(graph, engine="cuda")
        check_core_numbers(edges, column(frame, "core_number"), "both")


def test_wide_positions(monkeypatch):
    monkeypatch.setattr(grouping, "INT32_NUMBERS", 0)
    edges = random_edges(60, 200, seed=7)
    with build(edges) as graph, emulated(seed=3):
        assert graph.on_device().numbers.dtype == np.int64
        found, _ = cores(graph, "in", engine="cuda")
        expected, _ = cores(graph, "in")
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("work", [1, 60, 400])
def test_levels_in_several_launches(work, monkeypatch):
    monkeypatch.setattr(algorithm, "WORK_A_STEP", work)
    edges = rmat(6, 5, seed=8)
    with build(edges) as graph, emulated(seed=4):
        expected, _ = cores(graph)
        found, result = cores(graph, engine="cuda")
        active = result.trace["active"].to_numpy()
    assert np.array_equal(found, expected)
    assert result.iterations > 1
    assert active[0] == edges.n
    assert (np.diff(active) <= 0).all()


def test_levels_at_which_no_vertex_falls_are_jumped():
    clique = np.array([(u, v) for u in range(40) for v in range(u)]).T
    edges = Edges(clique[0], clique[1], 42, None, directed=False)
    with build(edges) as graph, emulated(seed=5):
        result = ws.run(ws.CoreNumber(), graph, engine="cuda")
        assert result.arrays["core_number"].tolist() == [39] * 40 + [0, 0]
        assert result.iterations == 1
        assert int(result.trace["edges"].sum()) == 2 * clique.shape[1]


def test_cores_by_out_degree_make_no_rows_of_out_neighbours():
    with build(rmat(5, 4, seed=8)) as graph, emulated(seed=7):
        found, _ = cores(graph, "out", engine="cuda")
        assert len(graph.on_device().at_hand) == 1
        expected, _ = cores(graph, "out")
    assert np.array_equal(found, expected)


@pytest.mark.parametrize(
    "engines", [("cuda", "cuda"), ("cuda", "cpu"), ("cpu", "cuda")], ids="to".join
)
def test_checkpoints_go_from_engine_to_engine(engines, tmp_path, monkeypatch):
    monkeypatch.setattr(algorithm, "WORK_A_STEP", 50)
    monkeypatch.setattr(on_cpu, "WORK_A_STEP", 1)
    path = tmp_path / "state.parquet"
    with build(rmat(6, 4, seed=9)) as graph, emulated(seed=6):
        expected, _ = cores(graph, "in")
        _, first = cores(
            graph,
            "in",
            engine=engines[0],
            checkpoint=path,
            progress=lambda made: made.superstep < 2,
        )
        assert first.stopped == "callback"
        found, second = cores(graph, "in", engine=engines[1], resume=path)
        assert second.iterations > 2
    assert np.array_equal(found, expected)


def test_the_host_knows_the_kernels_layout():
    kernels = load(kernel_file("cuda", "core"))
    assert kernels["LEAST"] == algorithm.LEAST
    assert kernels["LEAST"] + 3 == algorithm.CONTROL
    assert kernels["NOTHING"] == algorithm.NOTHING


@pytest.mark.parametrize("name", ["rows of 0 to 1023", "hub"])
def test_rows_are_queued_in_pieces(name):
    with build(undirected(BATTERY[name])) as graph:
        assert graph.csc.degrees.max() > algorithm.PIECE
