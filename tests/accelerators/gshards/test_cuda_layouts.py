"""Dense supersteps over every layout, in the emulator: the answers of the CSC, bit for bit where order is free."""

from __future__ import annotations

from types import SimpleNamespace

import hypothesis
import numpy as np
import pytest
from cuda_cases import CASES, SUMS, Case, check_same, graph_of, medley, stable
from emulator.device import emulated
from hypothesis import strategies as st
from plans import planned
from programs import Hops, Rank
from shapes import SHAPES, hub, random_edges, rmat, undirected
from test_cuda_engine import BATTERY, small_classes  # noqa: F401 - a fixture
from thread_ranks import on_ranks, over_links, share

import cugraph_ws as ws
from cugraph_ws.accelerators.gshards import arc_shards
from cugraph_ws.backends.cuda.schedule import layout_of
from cugraph_ws.contract import LayoutCost
from cugraph_ws.errors import EngineError, GraphMemoryError, InputError
from cugraph_ws.kernels.cuda.layout import GROUP, NO_PLACE

SHARDED = ("gshards", "windows")
BY_NAME = {case.name: case for case in CASES}
DENSE = [  # programs that may gather from all
    "minimum gathered", "custom combine from an outbox", "custom combine of tuples", "sums of flags",
    "sums with aggregates", "superstep, parameter, aggregates", "maximum with predecessors",
    "shortest paths",
]  # fmt: skip


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    """Let small graphs have several shards and windows, some of them without slots."""
    set_shards(monkeypatch, shared=96, least=1)


def set_shards(monkeypatch, *, shared, least, task=2):
    monkeypatch.setattr(arc_shards, "SHARED", shared)
    monkeypatch.setattr(arc_shards, "LEAST", least)
    monkeypatch.setattr(arc_shards, "TASK", task)
    monkeypatch.setattr(arc_shards, "BLOCK", 32)


def over(layout, case, graph, seed=0, multiprocessors=1, **options):
    with emulated(seed, multiprocessors=multiprocessors):
        return case.run(graph, engine="cuda", layout=layout, **options)


def gathered(case):
    """Return a case that gathers over the CSC, as shards do, and not in place."""
    free = case.program in (Hops, ws.SSSP, ws.WidestPath) or "minimum" in case.name
    options = {"direction": "gather", "in_place": False} if free or "maximum" in case.name else {}
    kept = {name: one for name, one in case.options.items() if name not in options}
    return Case(case.name, case.program, case.given, {**kept, **options}, case.tolerance)


def values_of(result):
    return {
        name: np.asarray(getattr(one, "values", getattr(one, "numbers", one)))
        for name, one in result.arrays.items()
    }


# ------------------------------------------------------------------------------------------ answers


@pytest.mark.parametrize("name", DENSE)
def test_programs(name):
    """Several fields, edge attributes, outboxes, aggregates, constants, predecessors."""
    layout = SHARDED[DENSE.index(name) % 2]
    case = BY_NAME[name]
    shared = Case(
        case.name, case.program, case.given,
        {key: one for key, one in case.options.items() if key != "direction"}, case.tolerance,
    )  # fmt: skip
    with graph_of(medley((26, 12, 7, 5, 4, 3, 1), 30)) as graph:
        found = over(layout, shared, graph, seed=len(name))
        check_same(found, gathered(case).run(graph, engine="python"), case)
        assert set(found.rows.layout) == {layout}


@pytest.mark.parametrize("layout", SHARDED)
def test_shards_of_many_arcs(layout, monkeypatch):
    """Places that are skewed, past the first 32, fold to what the CSC gives."""
    set_shards(monkeypatch, shared=640, least=1)
    case = BY_NAME["minimum gathered"]
    with graph_of(medley((26, 12, 7, 5, 4, 3, 1), 40)) as graph:
        found = over(layout, case, graph, direction="gather")
        check_same(found, gathered(case).run(graph, engine="python"), case)
    with emulated() as device:
        assert arc_shards.sizes_of(device, ("float32",), 100).capacity > 64


@pytest.mark.parametrize("name", BATTERY)
def test_every_shape(name):
    """Sums within their bound, and minima as the CSC has them, over one layout or the other."""
    place = list(BATTERY).index(name)
    case = Case(name, Rank, {}, {"max_iter": 2}, SUMS, counted=True)
    if place // 2 % 2:
        case = Case(name, ws.SSSP, {"source": [0] if BATTERY[name].n else []}, {"max_iter": 2})
    with graph_of(BATTERY[name]) as graph:
        found = over(SHARDED[place % 2], case, graph, seed=place)
        check_same(found, gathered(case).run(graph, engine="python"), case)


@pytest.mark.parametrize(
    ("program", "given"),
    [
        (ws.Heat, {"temperature": 1.5, "fixed": [0, 3]}),
        (ws.Circuit, {"sources": {0: 1.0, 4: 12.0}}),
        (ws.NeuralNetwork, {"activation": 0.5, "fixed": [0]}),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_programs_of_the_library(program, given):
    """Edge attributes, constants that are uniform, flags, and two fields of which one is read."""
    case = Case(program.name, program, given, {"max_iter": 2}, 1e-10)
    layout = SHARDED[len(program.name) % 2]
    with graph_of(stable(medley((26, 12, 7, 5, 4, 3, 1), 30))) as graph:
        check_same(over(layout, case, graph, seed=5), case.run(graph, engine="cpu"), case)


@pytest.mark.parametrize("layout", SHARDED)
def test_functions_take_a_layout(layout):
    options = {"max_iter": 2, "fail_on_nonconvergence": False, "nstart": {0: 1.0, 3: 2.0}}
    with graph_of(medley((7, 5, 4, 3, 1), 15)) as graph:
        with emulated(5):
            found = ws.pagerank(graph, **planned(engine="cuda", layout=layout, **options))
        expected = ws.pagerank(graph, **planned(engine="cpu", **options))
        np.testing.assert_allclose(found["pagerank"], expected["pagerank"], 1e-6)


@pytest.mark.parametrize("layout", SHARDED)
def test_undirected(layout):
    case = Case("undirected", Rank, {}, {"max_iter": 3}, SUMS, counted=True)
    with graph_of(undirected(random_edges(20, 50, seed=9))) as graph:
        check_same(over(layout, case, graph), case.run(graph, engine="python"), case)


def test_integers_are_those_of_the_csc_bit_by_bit(monkeypatch):
    """Whatever the sizes of shards, the order of threads, and the number of blocks."""
    edges = rmat(4, 4, seed=3)
    case = BY_NAME["sums of flags"]
    tuples = BY_NAME["custom combine of tuples"]
    with graph_of(edges) as graph:
        for seed, (one, shared) in enumerate(((case, 64), (case, 600), (tuples, 160))):
            expected = values_of(over("csc", one, graph))
            set_shards(monkeypatch, shared=shared, least=seed)
            for layout in SHARDED[seed % 2 :]:
                found = values_of(over(layout, one, graph, seed, multiprocessors=1 + seed))
                for name, column in expected.items():
                    np.testing.assert_array_equal(found[name], column, err_msg=name)


@pytest.mark.parametrize("layout", SHARDED)
def test_sums_repeat_bit_by_bit(layout):
    """Whatever thread and block goes first."""
    case = Case("sums", Rank, {}, {"max_iter": 2}, counted=True)
    with graph_of(medley((40, 9, 5, 3, 1), 24)) as graph:
        first, other = (values_of(over(layout, case, graph, seed)) for seed in range(2))
        for name, column in first.items():
            assert column.tobytes() == other[name].tobytes()


@pytest.mark.parametrize("layout", SHARDED)
def test_a_hub_of_many_shards(layout, monkeypatch):
    """Its parts are folded in the order of the shards, by more than the lanes of a warp."""
    set_shards(monkeypatch, shared=64, least=1)
    edges = hub(300)
    case = Case("hub", Rank, {}, {"max_iter": 1}, SUMS, counted=True)
    with graph_of(edges) as graph:
        check_same(over(layout, case, graph), case.run(graph, engine="python"), case)


@hypothesis.given(
    st.integers(0, 1 << 30), st.sampled_from(SHARDED), st.sampled_from((64, 104, 640))
)
@hypothesis.settings(max_examples=4)
def test_random_graphs(seed, layout, shared):
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 14))
    edges = random_edges(n, int(random.integers(0, 50)), seed=seed)
    case = Case("random", Rank, {}, {"max_iter": 2}, SUMS, counted=True)
    with pytest.MonkeyPatch.context() as patch, graph_of(edges) as graph:
        set_shards(patch, shared=shared, least=int(random.integers(0, 3)))
        found = over(layout, case, graph, seed)
        check_same(found, case.run(graph, engine="python"), case)


# --------------------------------------------------------------------------------------- partitions


@pytest.mark.parametrize(
    ("name", "layout"),
    [("sums with aggregates", "windows"), ("custom combine from an outbox", "gshards")],
)
def test_partitions_with_ghosts(name, layout):
    case = BY_NAME[name]
    with graph_of(medley((14, 7, 5, 4, 3, 1), 24)) as graph:
        found = over(layout, case, graph, partitions=3)
        check_same(found, case.run(graph, engine="python"), case)


@pytest.mark.parametrize(("ranks", "layout"), [(on_ranks, "gshards"), (over_links, "windows")])
def test_ranks(ranks, layout):
    edges = rmat(3, 3, seed=11)
    with emulated(1), graph_of(edges) as graph:

        def work(comm):
            result = ws.run(
                Rank,
                share(graph, comm),
                engine="cuda",
                plan=ws.Plan(layout=layout),
                max_iter=2,
                tol=0.0,
            )
            return result.frame

        shares = ranks(2, work)
        expected = ws.run(Rank, graph, engine="cpu", max_iter=2, tol=0.0).frame
    found = {
        vertex: rank
        for one in shares
        for vertex, rank in zip(one["vertex"], one["rank"], strict=True)
    }
    for vertex, rank in zip(expected["vertex"], expected["rank"], strict=True):
        np.testing.assert_allclose(found[vertex], rank, 1e-12)


@pytest.mark.parametrize("layout", SHARDED)
def test_weights_hubs_both_ways_and_partitions_together(layout):
    """Rows of several shards, edge attributes of undirected edges, and ghosts among the sources."""
    edges = undirected(hub(24))
    case = Case("together", ws.SSSP, {"source": 3}, {"max_iter": 3})
    with graph_of(edges) as graph:
        rows = case.run(graph, engine="python", direction="gather", in_place=False)
        for options in ({}, {"partitions": 3}):
            check_same(over(layout, case, graph, **options), rows, case)
        ranks = {"max_iter": 2, "tol": 0.0, "engine": "cuda"}
        with emulated(2):
            found, whole = (
                ws.run(ws.PageRank, graph, **planned(layout=layout, **ranks, **options)).frame
                for options in ({"partitions": 2}, {})
            )
        expected = ws.run(ws.PageRank, graph, **planned(**{**ranks, "engine": "python"})).frame
        np.testing.assert_allclose(found["pagerank"], expected["pagerank"], 1e-6)
        np.testing.assert_allclose(whole["pagerank"], expected["pagerank"], 1e-6)


# ------------------------------------------------------------------------------- what is stored


def arcs_of(shards, csc, size):
    """Return the arcs that shards hold, as pairs of the CSC's place and the source."""
    capacity, width = shards.sizes
    pairs = []
    for shard in range(shards.count):
        first, last = shards.firsts[shard : shard + 2]
        sources = shards.sources[first:last]
        assert (np.diff(sources) >= 0).all(), "by source"
        pairs += zip(shard * capacity + shards.places[first:last].astype(int), sources, strict=True)
    if shards.slots is not None:
        slots = shards.slots
        source_of = np.full(len(slots.places), -1)
        windows, firsts, lasts, count = slots.tasks
        for task in range(count):
            items = np.arange(firsts[task], lasts[task])
            places = GROUP * slots.mapper[items // GROUP].astype(int) + items % GROUP
            assert (source_of[places] == -1).all(), "a slot for each item"
            source_of[places] = windows[task] * width + slots.sources[items]
        assert (source_of >= 0).all()
        shard_of = np.repeat(np.arange(shards.count), GROUP * np.diff(slots.firsts))
        kept = slots.places != NO_PLACE
        places = (shard_of * capacity)[kept] + slots.places[kept].astype(int)
        pairs += zip(places, source_of[kept], strict=True)
    return sorted((int(place), int(source)) for place, source in pairs)


@pytest.mark.parametrize(("windows", "least"), [(False, 0), (True, 0), (True, 2)])
@pytest.mark.parametrize("name", ["rmat", "hub", "rows", "all isolated"])
def test_every_arc_is_stored_once(name, windows, least, monkeypatch):
    set_shards(monkeypatch, shared=96, least=least)
    with emulated() as device, graph_of(BATTERY[name]) as graph:
        laid = graph.on_device()
        sizes = arc_shards.sizes_of(device, ("float32",), laid.arcs)
        assert sizes == (24, 24)
        shards = arc_shards.make(device, laid, sizes, windows=windows)
        indices = laid.csc.indices.tolist()
        assert arcs_of(shards, laid.csc, laid.size) == list(enumerate(indices))
        offsets = laid.csc.offsets
        inner = np.arange(24, laid.arcs, 24)
        cut = {
            int(np.searchsorted(offsets, one, "right")) - 1 for one in inner if one not in offsets
        }
        assert shards.cuts.tolist() == sorted(cut)
        assert shards.nbytes == sum(one.nbytes for one in shards.arrays.values()) > 0


def test_places_have_sixteen_bits(monkeypatch):
    monkeypatch.setattr(arc_shards, "SHARED", 1 << 20)
    with emulated() as device:
        device.shared_memory = 1 << 20
        sizes = arc_shards.sizes_of(device, ("uint8",), 1 << 30)
        assert sizes.capacity == 0xFFF8
        assert arc_shards.sizes_of(device, ("float64", "float32"), 1 << 30).capacity % GROUP == 0
        assert arc_shards.sizes_of(device, (), 1 << 30).capacity == 0xFFF8


def test_shards_of_a_graph_of_few_arcs_are_smaller(monkeypatch):
    monkeypatch.undo()
    with emulated() as device:
        device.shared_memory = 1 << 17
        few, many = (
            arc_shards.sizes_of(device, ("float32",), arcs).capacity
            for arcs in (6_000_000, 7_000_000)
        )
    assert few * 4 < 24 << 10 < many * 4 < 48 << 10


@pytest.mark.parametrize("layout", SHARDED)
def test_the_size_of_shards_can_be_given(layout, monkeypatch):
    monkeypatch.undo()
    case = Case("sized", Rank, {}, {"max_iter": 4}, SUMS)
    with emulated() as device, graph_of(rmat(6, 8, seed=2)) as graph:
        device.shared_memory = 1 << 17
        shards, ranks = [], []
        for given in (None, 2048, 1024):
            found = case.run(graph, engine="cuda", layout=layout, shard_bytes=given)
            ranks.append(found.frame.drop(columns="vertex").to_numpy())
            shards.append(graph.on_device()._layouts[layout][1].count)
    assert shards[0] == 1 < shards[1] < shards[2]
    for one in ranks[1:]:
        np.testing.assert_allclose(one, ranks[0], rtol=1e-12)


def test_a_layout_is_kept_with_the_graph():
    case = Case("kept", Rank, {}, {"max_iter": 1}, SUMS)
    with emulated() as device, graph_of(rmat(4, 4, seed=2)) as graph:
        before = device.launches
        case.run(graph, engine="cuda", layout="windows")
        first = device.launches - before
        laid = graph.on_device()
        held = laid.nbytes
        case.run(graph, engine="cuda", layout="windows")
        assert device.launches - before < 2 * first, "it is made once"
        assert laid.nbytes == held
        case.run(graph, engine="cuda", layout="gshards")
        layouts = graph.report.layouts
        assert {"csc", "gshards", "windows"} <= set(layouts)
        assert laid.nbytes == held + layouts["gshards"]
        assert set(case.run(graph, engine="cuda").rows.layout) == {"csc"}, "though there are shards"
        assert all(size > 0 for size in layouts.values())


# ----------------------------------------------------------------------------- options and errors


def test_a_size_that_no_block_has_or_without_shards_is_refused():
    case = Case("sized", Rank, {}, {"max_iter": 1}, SUMS)
    with graph_of(rmat(4, 4, seed=2)) as graph:
        with pytest.raises(
            ws.InputError, match="shard_bytes=1,073,741,824: a block of this GPU has"
        ):
            over("gshards", case, graph, shard_bytes=1 << 30)
        for layout in ("csc", "auto"):
            with pytest.raises(ws.InputError, match="shard_bytes=4096 is for layout='gshards' and"):
                over(layout, case, graph, shard_bytes=4096)
        with pytest.raises(ws.InputError, match="shard_bytes=10 must be"):
            over("gshards", case, graph, shard_bytes=10)


@pytest.mark.parametrize("layout", SHARDED)
def test_the_cpu_refuses_shards(layout):
    with (
        graph_of(SHAPES["star"]) as graph,
        pytest.raises(EngineError, match=rf"layout='{layout}' is not available .* leave it out"),
    ):
        ws.run(Rank, graph, engine="cpu", plan=ws.Plan(layout=layout))
    with graph_of(SHAPES["star"]) as graph:
        found = ws.run(Rank, graph, engine="cpu", plan=ws.Plan(layout="csc"), max_iter=1)
        assert found.rows.layout == ["csc"]


@pytest.mark.parametrize(
    ("program", "options", "words"),
    [
        (
            "sums of a frontier",
            {"direction": "auto"},
            "counts the messages of active vertices only",
        ),
        ("minimum gathered", {"direction": "push"}, "not by direction='push'"),
        ("minimum gathered", {"direction": "pull"}, "not by direction='pull'"),
        ("minimum gathered", {"in_place": True}, "not in place; leave in_place= out"),
        ("minimum gathered", {"method": "vwc-8", "direction": "auto"}, "method= is a schedule"),
        ("destinations read", {}, "takes `dst`"),
    ],
)
def test_what_shards_do_not_do(program, options, words):
    with graph_of(medley()) as graph, pytest.raises(InputError, match=words):
        over("gshards", BY_NAME[program], graph, **options)


def test_too_little_memory():
    with emulated() as device, graph_of(rmat(5, 8, seed=1)) as graph:
        graph.on_device()
        device.memory = 100
        with pytest.raises(GraphMemoryError, match=r"layout='windows' needs .* leave layout= out"):
            ws.run(Rank, graph, engine="cuda", plan=ws.Plan(layout="windows"), max_iter=1)


def test_rows_are_a_layout():
    """What the CSC stores, and that it costs nothing."""
    with emulated() as device, graph_of(medley()) as graph:
        laid = graph.on_device()
        part = SimpleNamespace(
            laid=laid, csc=laid.csc, owned=laid.size, vertices=laid.size, arcs=laid.arcs
        )  # fmt: skip
        made = layout_of("csc")(device, part, ("float64",), ())
        assert made.blocks == made.schedule.launch[0]
        assert made.name == "csc"
        assert set(made.arrays) == {"offsets", "indices"}
        assert made.nbytes == sum(one.nbytes for one in made.arrays.values())
        assert made.cost(laid.arcs, laid.size) == LayoutCost()


@pytest.mark.parametrize("layout", SHARDED)
def test_costs_are_bounds(layout):
    """Of graphs of which each window has many arcs."""
    with emulated() as device, graph_of(rmat(6, 12, seed=4)) as graph:
        laid = graph.on_device()
        kind = layout_of(layout)
        cost = kind.cost(laid.arcs, laid.size)
        made = arc_shards.make(device, laid, arc_shards.Sizes(400, 400), windows=kind.windows)
        assert made.nbytes <= cost.kept + 8 * (5 * made.count + 20)
        assert cost.kept <= cost.peak


def test_estimates_know_layouts():
    sizes = {"number_of_edges": 10**6, "number_of_vertices": 10**5}
    with emulated():
        plain, sharded = (
            ws.estimate_memory(**sizes, engine="cuda", layout=one) for one in ("csc", "windows")
        )
    assert plain.layout == 0
    assert "layout" not in str(plain)
    assert sharded.layout == layout_of("windows").cost(10**6, 10**5).peak
    assert ", layout " in str(sharded)
    assert (plain.csc, plain.peak) == (sharded.csc, sharded.peak)
    with pytest.raises(InputError, match="layout='gshards' is for GPUs; give engine='cuda'"):
        ws.estimate_memory(**sizes, layout="gshards")
