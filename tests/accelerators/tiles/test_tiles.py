"""Dense supersteps on the CPU over tiles of arcs: the bits of the rows, whatever the sizes of tiles and the threads."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import COMPILED
from cuda_cases import CASES, SUMS, Case, check_same, graph_of, medley, stable
from emulator.device import emulated
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import Hops, Rank
from shapes import SHAPES, hub, random_edges, rmat, undirected

import cugraph_ws as ws
from cugraph_ws.accelerators.tiles import gathers, tiling
from cugraph_ws.accelerators.tiles.tiling import Tiling, tiling_of
from cugraph_ws.backends.cpu import executor as cpu
from cugraph_ws.errors import EngineError

BY_NAME = {case.name: case for case in CASES}
DENSE = [  # programs that gather from all
    "minimum gathered", "custom combine from an outbox", "custom combine of tuples", "sums of flags",
    "sums with aggregates", "superstep, parameter, aggregates", "destinations read",
]  # fmt: skip
THREADS = ("1", "3") if COMPILED else ("1",)
plainly = pytest.mark.skipif(
    COMPILED, reason="programs that take seconds to compile run uncompiled"
)


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Let small graphs have many tiles, and several ranges."""
    set_tiles(monkeypatch)


def set_tiles(monkeypatch, *, rows=4, ranges=3, bits=2, most=3, full=2, each=0):
    monkeypatch.setattr(tiling, "ROWS", rows)
    monkeypatch.setattr(tiling, "RANGES", ranges)
    monkeypatch.setattr(tiling, "RANGES_A_THREAD", each)
    monkeypatch.setattr(tiling, "BLOCK_BITS", bits)
    monkeypatch.setattr(tiling, "MOST_BITS", most)
    monkeypatch.setattr(tiling, "FULL", full)


def pay_always(monkeypatch):
    for name in ("LEAST_ARCS", "NEAR", "THIN", "NEW_LINES"):
        monkeypatch.setattr(gathers, name, 0)
    monkeypatch.setattr(
        cpu, "SMALL_WORK", 0
    )  # supersteps of small graphs run in one call, over rows


def check_bits(found, expected):
    """Compare two runs bit by bit."""
    assert list(found.arrays) == list(expected.arrays)
    for name, column in expected.arrays.items():
        one, other = (
            np.asarray(getattr(each, "values", each)) for each in (found.arrays[name], column)
        )
        assert one.tobytes() == other.tobytes(), name
    assert found.rows.residual == pytest.approx(expected.rows.residual, rel=0, abs=0, nan_ok=True)
    assert found.rows.active == expected.rows.active


# ------------------------------------------------------------------------------------------ answers


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name == "sums with aggregates" else plainly) for name in DENSE],
)
def test_programs(name, monkeypatch):
    """Several fields, constants, outboxes, aggregates, targets, and hubs that threads share."""
    monkeypatch.setattr(cpu, "LONG_ROW", 12)
    case = BY_NAME[name]
    options = {"in_place": False} if "minimum" in name else {}
    with graph_of(medley((26, 12, 7, 5, 4, 3, 1), 30)) as graph:
        for threads in THREADS:
            monkeypatch.setenv("CUGRAPH_WS_THREADS", threads)
            rows = case.run(graph, engine="cpu", layout="csc", **options)
            tiles = case.run(graph, engine="cpu", layout="tiles", **options)
            check_bits(tiles, rows)
            assert set(tiles.rows.layout) == {"tiles"}
        check_same(tiles, case.run(graph, engine="python", **options), case)


@pytest.mark.parametrize(
    ("program", "given"),
    [
        pytest.param(ws.Heat, {"temperature": 1.5, "fixed": [0, 3]}, marks=plainly),
        (ws.PageRank, {"nstart": {0: 1.0, 3: 2.0}}),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_edge_attributes_are_carried_once(program, given, monkeypatch):
    case = Case(program.name, program, given, {"max_iter": 3})
    calls = []
    real = tiling.carry_values
    monkeypatch.setattr(tiling, "carry_values", lambda *task: calls.append(task) or real(*task))
    with graph_of(stable(medley((26, 12, 7, 5, 4, 3, 1), 30))) as graph:
        rows = case.run(graph, engine="cpu", layout="csc")
        check_bits(case.run(graph, engine="cpu", layout="tiles"), rows)
        carried = len(calls)
        assert carried == len(tiling_of(graph.csc).shape(graph.number_of_vertices)[0])
        held = tiling_of(graph.csc).nbytes
        check_bits(case.run(graph, engine="cpu", layout="tiles"), rows)
        assert (len(calls), tiling_of(graph.csc).nbytes) == (carried, held)


@pytest.mark.parametrize("name", ["star", "all isolated", "one vertex", "ties and zeros", "path"])
def test_shapes(name):
    case = Case(name, Rank, {}, {"max_iter": 2}, SUMS, counted=True)
    with graph_of(SHAPES[name]) as graph:
        check_bits(*(case.run(graph, engine="cpu", layout=one) for one in ("tiles", "csc")))


@given(st.integers(0, 1 << 30))
@settings(max_examples=25)
def test_random_graphs(seed):
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 40))
    edges = random_edges(n, int(random.integers(0, 120)), seed=seed)
    if seed % 2:
        edges = undirected(edges)
    bits = int(random.integers(0, 4))
    with pytest.MonkeyPatch.context() as patch, graph_of(edges) as graph:
        set_tiles(
            patch, rows=int(random.integers(1, 9)), ranges=int(random.integers(1, 5)), bits=bits,
            most=bits + 1,
        )  # fmt: skip
        case = Case("random", Rank, {}, {"max_iter": 3}, SUMS, counted=True)
        check_bits(*(case.run(graph, engine="cpu", layout=one) for one in ("tiles", "csc")))


# ------------------------------------------------------------------------------- what is stored


@pytest.mark.parametrize("edges", [rmat(6, 4, seed=11), hub(60), SHAPES["all isolated"]], ids=str)
def test_every_arc_is_stored_once_and_in_its_order(edges):
    with graph_of(edges) as graph:
        csc, size = graph.csc, graph.number_of_vertices
        made = tiling_of(csc).tiles(size)
        assert tiling_of(csc).nbytes == made.nbytes == tiling_of(csc).cost(size)
        numbers = tiling_of(csc).carry("number", np.arange(len(csc.indices)), size)
        found = []
        for (low, high), firsts in zip(made.ranges, made.firsts, strict=True):
            assert high - low <= tiling.ROWS
            assert (firsts[0], firsts[-1]) == (csc.offsets[low], csc.offsets[high])
            blocks = np.repeat(np.arange(len(firsts) - 1), np.diff(firsts))
            slots = slice(firsts[0], firsts[-1])
            sources = (blocks << made.bits) + made.sources[slots]
            rows = low + made.places[slots].astype(int)
            assert (made.sources[slots] < 1 << made.bits).all()
            order = np.argsort(rows, kind="stable")  # a row's arcs are in their order
            found += zip(rows[order], sources[order], numbers[slots][order], strict=True)
        assert found == list(zip(csc.rows(), csc.indices, range(len(csc.indices)), strict=True))
        assert [low for low, _ in made.ranges[1:]] == [high for _, high in made.ranges[:-1]]


def test_blocks_grow_until_tiles_are_full(monkeypatch):
    set_tiles(monkeypatch, rows=8, ranges=1, bits=1, most=4, full=4)
    offsets, indices = np.arange(0, 33, 2), np.zeros(32, np.int32)
    assert Tiling(offsets, indices).shape(16) == ([(0, 8), (8, 16)], 2)
    monkeypatch.setattr(tiling, "FULL", 1000)
    assert Tiling(offsets, indices).shape(16)[1] == 4


def test_many_threads_have_many_ranges(monkeypatch):
    set_tiles(monkeypatch, rows=1000, ranges=2, each=4)
    offsets, indices = np.arange(1001), np.zeros(1000, np.int32)
    monkeypatch.setattr(tiling, "number_of_threads", lambda: 1)
    assert len(Tiling(offsets, indices).shape(1000)[0]) == 4
    monkeypatch.setattr(tiling, "number_of_threads", lambda: 5)
    assert len(Tiling(offsets, indices).shape(1000)[0]) == 20


def test_sources_that_are_near_each_other(monkeypatch):
    """An arc of a path reads an eighth of a cache line; one of scattered sources a line."""
    monkeypatch.setattr(tiling, "WINDOW", 256)
    offsets = np.arange(4097)
    assert Tiling(offsets, np.arange(4096, dtype=np.int32)).spread(4096) == 1 / 8
    scattered = (8 * np.arange(4096) % 4096).astype(np.int32)
    assert Tiling(offsets, scattered).spread(4096) == 1
    assert Tiling(np.zeros(5, np.int64), np.zeros(0, np.int32)).spread(4) == 0


# --------------------------------------------------------------------------------------- the choice


def test_tiles_are_made_when_they_pay(monkeypatch):
    """After a few supersteps, of any runs; then all go over them, and `csc` keeps to rows."""
    case = Case("auto", Rank, {}, {"max_iter": 4, "tol": 0.0}, SUMS)
    with graph_of(rmat(6, 4, seed=11)) as graph:
        small = case.run(graph, engine="cpu")
        assert set(small.rows.layout) == {"csc"}
        assert graph.report.choices == {Rank.name: f"csc: {graph.number_of_arcs} arcs are few"}
        assert tiling_of(graph.csc).gathers == 0
        pay_always(monkeypatch)
        before = graph.report.bytes
        first = case.run(graph, engine="cpu")
        assert first.rows.layout == ["csc"] * gathers.FIRST + ["tiles"] * (4 - gathers.FIRST)
        assert set(case.run(graph, engine="cpu").rows.layout) == {"tiles"}
        assert set(case.run(graph, engine="cpu", layout="csc").rows.layout) == {"csc"}
        check_bits(first, small)
        assert graph.report.choices[Rank.name].startswith("tiles: ")
        assert graph.report.layouts["tiles"] == tiling_of(graph.csc).nbytes
        assert graph.report.bytes - before == tiling_of(graph.csc).nbytes


def test_no_tiles_where_memory_is_short_or_reads_are_near(monkeypatch):
    case = Case("auto", Rank, {}, {"max_iter": 5, "tol": 0.0}, SUMS)
    pay_always(monkeypatch)
    with graph_of(rmat(6, 4, seed=11)) as graph:
        for name, value, words in (
            ("available_memory", lambda: 100, "more than a 4th of the available memory"),
            ("NEAR", 1 << 20, "fit a core's cache"),
            ("THIN", 1 << 20, "tiles would have"),
            ("NEW_LINES", 2.0, "new cache lines"),
        ):
            with monkeypatch.context() as patch:
                patch.setattr(gathers, name, value)
                assert set(case.run(graph, engine="cpu").rows.layout) == {"csc"}
                assert words in graph.report.choices[Rank.name]
        assert not tiling_of(graph.csc).made


@pytest.mark.parametrize(
    ("case", "options", "words"),
    [
        ("sums with aggregates", {"partitions": 2}, "partitions combine messages in the order"),
        ("sums with aggregates", {"engine": "python"}, "engine='python' reads rows"),
        ("minimum gathered", {"in_place": True}, "row by row; leave it out"),
        ("state on edges", {}, "keeps state on edges"),
        ("minimum in place", {}, "runs by frontiers"),
    ],
)
def test_what_tiles_do_not_do(case, options, words):
    with (
        graph_of(medley()) as graph,
        pytest.raises(EngineError, match=rf"layout='tiles': .*{words}"),
    ):
        BY_NAME[case].run(graph, **{"engine": "cpu", **options}, layout="tiles")


@ws.vertex_program
class MostFrequent:
    x: ws.float64
    max_iter = 3
    combine = ws.mode()

    def init(vertex):
        return float(vertex)

    def compute(src):
        return src.x

    def apply(gathered):
        return gathered


@ws.vertex_program
class Colours:
    x: ws.int64
    max_iter = 3
    combine = ws.histogram(8)

    def init(vertex):
        return vertex % 8

    def compute(src):
        return src.x

    def apply(gathered):
        return gathered[0] % 8


@plainly
@pytest.mark.parametrize(
    ("program", "words"),
    [(MostFrequent, "lists the messages of a row"), (Colours, "checks the range of its messages")],
    ids=["mode", "histogram"],
)
def test_combines_that_keep_to_rows(program, words, monkeypatch):
    pay_always(monkeypatch)
    with graph_of(undirected(random_edges(12, 30, seed=2))) as graph:
        with pytest.raises(EngineError, match=words):
            ws.run(program, graph, engine="cpu", plan=ws.Plan(layout="tiles"))
        assert set(ws.run(program, graph, engine="cpu").rows.layout) == {"csc"}


def test_the_gpu_refuses_tiles():
    with (
        emulated(),
        graph_of(SHAPES["star"]) as graph,
        pytest.raises(EngineError, match=r"layout='tiles' is not available with engine='cuda'"),
    ):
        ws.run(Hops, graph, start=0, engine="cuda", plan=ws.Plan(layout="tiles"))
