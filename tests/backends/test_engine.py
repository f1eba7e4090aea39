"""The engine: whatever the plan chooses and however the work is cut, the answer is the same."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from conftest import COMPILED
from hypothesis import given
from hypothesis import strategies as st
from plans import planned
from programs import (
    Hops,
    Labels,
    Nearest,
    Paths,
    Peel,
    Rank,
    Reached,
    Widest,
    hops,
    labels,
    nearest,
    peeled,
    product_of_widths,
    values_of,
)
from shapes import SHAPES, build, hub, random_edges, rmat, undirected
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.backends.cpu import context
from cugraph_ws.backends.cpu import executor as cpu
from cugraph_ws.backends.cpu import setup as plan
from cugraph_ws.contract import BoundaryUpdate, choose_engine
from cugraph_ws.partition.cut import even_offsets
from cugraph_ws.partition.refinement import Refinement

ENGINES = ["cpu", "python"]
# A skewed graph, a long one, one with ties and zeros, and one without edges.
GRAPHS = {
    "rmat": rmat(6, 4, seed=11),
    "path": SHAPES["path"],
    "ties": SHAPES["ties and zeros"],
    "sparse, undirected": undirected(SHAPES["random sparse"]),
    "all isolated": SHAPES["all isolated"],
}
FRONTIER_MODES: list[dict[str, Any]] = [
    {"direction": "auto"},
    {"direction": "push"},
    {"direction": "push", "fused": False},
    {"direction": "pull"},
    {"fused": False, "priorities": False},
    {"partitions": 3},
    {"partitions": 3, "exchange": "ms", "direction": "pull"},
]
mark_threads = pytest.mark.skipif(
    not COMPILED, reason="plain Python has no atomics for several threads"
)


def answer(program: Any, edges: Edges, **options: Any) -> dict[str, list[Any]]:
    with build(edges) as graph:
        result = ws.run(program, graph, **planned(**options))
    assert result.converged or result.stopped == "max_iter"
    return values_of(result)


@pytest.fixture
def tiny_tasks(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Make a handful of arcs worth a thread, a pull and a split row."""
    monkeypatch.setattr(context, "SMALL_WORK", 1)
    monkeypatch.setattr(cpu, "LONG_ROW", 4)
    monkeypatch.setattr(plan, "FUSED_ARCS", 8)
    return monkeypatch


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", GRAPHS)
class TestEveryModeGivesTheSame:
    """Programs that the plan may run in any direction, against plain loops."""

    @pytest.mark.parametrize("mode", [*FRONTIER_MODES, {"direction": "gather"}], ids=str)
    def test_hops(self, name, engine, mode):
        edges = GRAPHS[name]
        found = answer(Hops, edges, start=0, engine=engine, **mode)
        assert found == {"hops": hops(edges, 0)}

    @pytest.mark.parametrize("mode", [*FRONTIER_MODES, {"direction": "gather"}], ids=str)
    def test_a_state_of_two_fields(self, name, engine, mode):
        edges = GRAPHS[name]
        found = answer(Nearest, edges, seeds=[1, 3], engine=engine, **mode)
        expected = nearest(edges, [1, 3])
        assert found["distance"] == [None if d == math.inf else d for d, _ in expected]
        assert found["seed"] == [seed for _, seed in expected]

    @pytest.mark.parametrize("mode", FRONTIER_MODES, ids=str)
    def test_sums_over_active_neighbours(self, name, engine, mode):
        edges = GRAPHS[name]
        found = answer(Peel, edges, k=3, engine=engine, **mode)
        assert found["alive"] == peeled(edges, 3)

    @pytest.mark.parametrize("mode", [{}, {"direction": "pull"}, {"direction": "gather"}], ids=str)
    def test_labels(self, name, engine, mode):
        edges = GRAPHS[name]
        assert answer(Labels, edges, engine=engine, **mode) == {"label": labels(edges)}

    @pytest.mark.parametrize("mode", FRONTIER_MODES, ids=str)
    def test_any_message(self, name, engine, mode):
        edges = GRAPHS[name]
        found = answer(Reached, edges, start=[0, 2], engine=engine, **mode)
        from_first, from_second = hops(edges, 0), hops(edges, 2)
        reached = [min(a, b) < edges.n for a, b in zip(from_first, from_second, strict=True)]
        assert found == {"reached": reached}

    @pytest.mark.parametrize("mode", [{}, {"partitions": 2}], ids=str)
    def test_a_combine_of_the_users_own(self, name, engine, mode):
        edges = GRAPHS[name]
        found = answer(Paths, edges, engine=engine, **mode)["value"]
        assert found == pytest.approx(product_of_widths(edges).tolist(), rel=1e-14)


@pytest.mark.parametrize(
    ("program", "given"),
    [(Hops, {"start": 5}), (Nearest, {"seeds": [5]}), (Labels, {}), (Reached, {"start": 5})],
)
def test_cpu_and_python_agree_bit_by_bit(program, given):
    for edges in (rmat(7, 8, seed=12), random_edges(200, 300, seed=13)):
        compiled = answer(program, edges, engine="cpu", **given)
        assert compiled == answer(program, edges, engine="python", **given)


@pytest.mark.parametrize("options", [{"max_iter": 7}, {"tol": 1e-3}, {"max_iter": 2}], ids=str)
@pytest.mark.parametrize("name", GRAPHS)
def test_dense_supersteps_in_one_call_are_those_one_by_one(name, options, monkeypatch):
    with build(GRAPHS[name]) as graph:
        expected = ws.run(Rank, graph, engine="cpu", **planned(fused=False, **options))
        monkeypatch.setattr(plan, "LONG_RUN", 0)
        monkeypatch.delattr(cpu.CpuExecutor, "_gather")
        found = ws.run(Rank, graph, engine="cpu", **options)
    assert (
        np.asarray(found.arrays["rank"]).tobytes() == np.asarray(expected.arrays["rank"]).tobytes()
    )
    assert found.stopped == expected.stopped
    for name in ("residual", "active", "edges", "superstep", "layout"):
        assert getattr(found.rows, name) == getattr(expected.rows, name)


def test_a_users_program_is_compiled_for_several_supersteps_once_it_runs_long(monkeypatch):
    monkeypatch.setattr(plan, "LONG_RUN", 3)
    with build(GRAPHS["rmat"]) as graph:
        choices = []
        real = cpu.CpuExecutor.superstep
        monkeypatch.setattr(
            cpu.CpuExecutor, "superstep",
            lambda self, choice, sums: choices.append(choice.supersteps) or real(self, choice, sums),
        )  # fmt: skip
        ws.run(Rank, graph, engine="cpu", max_iter=9)
        assert choices == [1, 1, 1, 6]
        choices.clear()
        ws.run(ws.PageRank, graph, engine="cpu", max_iter=9, tol=0.0)
        assert choices == [9]


@pytest.mark.parametrize("partitions", [1, 2, 3, 7])
@pytest.mark.parametrize("program", [Rank, Widest, Peel])
def test_partitions_change_nothing(program, partitions):
    for edges in (rmat(6, 4, seed=14), SHAPES["two components"], SHAPES["one edge"]):
        given = {"start": 0} if program is Widest else {}
        whole = answer(program, edges, engine="python", **given)
        cut = answer(program, edges, engine="python", partitions=partitions, **given)
        if program is Rank:  # its residual and its aggregate are added up in another order
            assert cut["rank"] == pytest.approx(whole["rank"], rel=1e-12)
        else:
            assert cut == whole


@pytest.mark.parametrize("exchange", ["auto", "vr", "ms", "all"])
def test_partitions_of_dense_programs(exchange):
    edges = rmat(6, 4, seed=24)
    whole = answer(Rank, edges, engine="python", tol=1e-12)["rank"]
    options = {"engine": "python", "tol": 1e-12, "partitions": 4, "exchange": exchange}
    assert answer(Rank, edges, **options)["rank"] == pytest.approx(whole, rel=1e-9)
    found = answer(Hops, edges, start=0, direction="gather", **(options | {"tol": None}))
    assert found["hops"] == hops(edges, 0)


def test_an_exchange_that_is_not_known():
    with build(SHAPES["path"]) as graph, pytest.raises(ws.InputError, match="exchange='some'"):
        ws.run(Hops, graph, start=0, plan=ws.Plan(partitions=2, exchange="some"))


def crossing(edges: Edges, cuts: list[int]) -> list[tuple[int, list[int]]]:
    """For each pair of partitions, the first, and its vertices that the second has arcs from."""
    source, target, _ = edges.arcs()
    owner = np.searchsorted(cuts, np.arange(edges.n), side="right") - 1
    pairs = [(one, other) for one in range(len(cuts) - 1) for other in range(len(cuts) - 1)]
    return [
        (one, np.unique(source[(owner[source] == one) & (owner[target] == other)]).tolist())
        for one, other in pairs
        if one != other
    ]


@pytest.mark.parametrize("exchange", ["vr", "ms", "all"])
def test_bytes_of_a_search_over_partitions(exchange):
    """A search that pulls: vertices reached in a superstep are active after it."""
    edges = rmat(6, 4, seed=14)
    with build(edges) as graph:
        cuts = even_offsets(graph, 3).tolist()
        options = {"start": [0], "engine": "python", "direction": "pull", "in_place": False}
        result = ws.run(ws.BFS, graph, **planned(partitions=3, exchange=exchange, **options))
        level, trace = result.arrays["distance"], result.trace
        reached = np.where(level.valid, level.values, -1)
    expected = []
    for step in range(1, result.iterations + 1):
        sent = useful = 0
        for one, boundary in crossing(edges, cuts):
            told = sum(reached[vertex] == step for vertex in boundary)
            owned = range(cuts[one], cuts[one + 1])
            if exchange == "all":
                sent += 5 * len(owned)  # four bytes for a level, one for the active flag
                told = sum(reached[vertex] == step for vertex in owned)
            else:
                sent += 8 * told if exchange == "vr" else 5 * len(boundary)
            useful += 4 * told
        expected.append((sent, useful))
    found = zip(trace["bytes_sent"].tolist(), trace["bytes_useful"].tolist(), strict=True)
    assert list(found) == expected
    assert sum(useful for _, useful in expected) > 0


@pytest.mark.parametrize(
    ("program", "given"),
    [(ws.BFS, {"start": [0]}), (Nearest, {"seeds": [0]}), (Rank, {"max_iter": 9, "tol": 0.0})],
)
def test_auto_exchange_sends_the_smaller_message(program, given):
    def sent(exchange: str) -> Any:
        options = {"engine": "python", "partitions": 2, "exchange": exchange, **given}
        return ws.run(program, graph, **planned(**options)).trace["bytes_sent"].to_numpy()

    with build(rmat(6, 4, seed=14)) as graph:
        free, refined, subset = sent("auto"), sent("vr"), sent("ms")
    if program is Rank:  # computes all vertices, and lists take longer than what they save
        assert (free == subset).all()
    else:
        assert (free <= np.minimum(refined, subset)).all()
    assert free.sum() > 0


def test_the_exchange_follows_what_changes():
    """By itself an update of a frontier is the subset while most of it changes, then refined."""
    chosen = Refinement("auto")
    assert chosen.refines(1)
    field, active = (np.zeros(10),), np.ones(10, bool)
    for useful, refined in ((10, False), (7, True), (8, False), (0, True)):
        chosen.learn(1, BoundaryUpdate(None, field, active, useful), 10)
        assert chosen.refines(1) is refined, "12 bytes for each of those against 90"
        assert chosen.refines(2), "each peer by itself"
    dense = Refinement("auto", dense=True)
    dense.learn(1, BoundaryUpdate(None, field, None, 0), 10)
    assert not dense.refines(1)
    assert [Refinement(one).refines(0) for one in ("vr", "ms", "all")] == [True, False, False]
    assert Refinement("all").everything


@given(
    st.integers(1, 40),
    st.lists(st.tuples(st.integers(0, 39), st.integers(0, 39), st.integers(0, 16)), max_size=120),
    st.booleans(),
    st.sampled_from([1, 1, 2, 5]),
    st.sampled_from(["auto", "push", "pull", "gather"]),
    st.booleans(),
)
def test_any_graph_in_any_mode(n, arcs, directed, partitions, direction, priorities):
    arcs = [(u % n, v % n, w / 8) for u, v, w in arcs]
    source, destination, weight = (np.array(part) for part in zip(*arcs, strict=True)) if arcs else (
        np.empty(0, int), np.empty(0, int), np.empty(0)
    )  # fmt: skip
    edges = Edges(source, destination, n, weight, directed=directed)
    options = {"engine": "python", "partitions": partitions, "direction": direction}
    found = answer(Nearest, edges, seeds=[0, n // 2], priorities=priorities, fused=False, **options)
    expected = nearest(edges, [0, n // 2])
    assert found["distance"] == [None if d == math.inf else d for d, _ in expected]
    assert found["seed"] == [seed for _, seed in expected]
    if direction != "gather":
        assert answer(Peel, edges, k=2, **options)["alive"] == peeled(edges, 2)


def test_ranks_are_those_of_the_builtin(engine):
    with build(rmat(6, 4, seed=15), weighted=False) as graph:
        ranks = ws.run(Rank, graph, engine=engine)
        builtin = ws.run(ws.PageRank, graph, tol=1e-9)
    assert ranks.converged
    assert ranks.residual <= 1e-9
    np.testing.assert_allclose(ranks.arrays["rank"], builtin.arrays["pagerank"], rtol=1e-7)
    assert list(ranks.arrays) == ["rank"], "hidden fields are no columns"


@mark_threads
@pytest.mark.parametrize("threads", ["1", "2", "3"])
@pytest.mark.parametrize("direction", ["auto", "push", "pull"])
def test_any_number_of_threads(tiny_tasks, threads, direction):
    tiny_tasks.setenv("CUGRAPH_WS_THREADS", threads)
    edges = rmat(8, 8, seed=16)
    found = answer(Nearest, edges, seeds=[1, 9], fused=False, direction=direction)
    assert found == answer(Nearest, edges, seeds=[1, 9], engine="python")
    assert answer(Hops, edges, start=3, direction=direction)["hops"] == hops(edges, 3)
    reached = answer(Reached, edges, start=3, fused=False, direction=direction)["reached"]
    assert reached == [distance < edges.n for distance in hops(edges, 3)]
    alive = answer(Peel, edges, k=5, direction=direction)["alive"]
    assert alive == answer(Peel, edges, k=5, engine="python")["alive"]


@mark_threads
@pytest.mark.parametrize("threads", ["1", "2", "3"])
def test_hubs_are_split(tiny_tasks, threads):
    tiny_tasks.setenv("CUGRAPH_WS_THREADS", threads)
    edges = hub(200)
    expected = answer(Rank, edges, engine="python")["rank"]
    assert answer(Rank, edges)["rank"] == pytest.approx(expected, rel=1e-12)
    product = answer(Paths, edges)["value"]
    assert product == pytest.approx(product_of_widths(edges).tolist(), rel=1e-12)
    assert answer(Hops, edges, start=0, direction="gather")["hops"] == hops(edges, 0)


@mark_threads
def test_sums_are_rounded_equally_for_any_number_of_threads(tiny_tasks):
    edges = random_edges(300, 2000, seed=17)
    tiny_tasks.setattr(cpu, "LONG_ROW", 1 << 16)
    ranks = []
    for threads in ("1", "2", "3"):
        tiny_tasks.setenv("CUGRAPH_WS_THREADS", threads)
        ranks.append(answer(Rank, edges, tol=0.0, max_iter=20))
    assert ranks[0] == ranks[1] == ranks[2]


@pytest.mark.parametrize("partitions", [1, 3])
def test_in_place_reaches_the_same_fixpoint(partitions):
    edges = rmat(6, 4, seed=18)
    options = {"in_place": True, "direction": "gather", "partitions": partitions}
    assert answer(Hops, edges, start=1, **options)["hops"] == hops(edges, 1)


class TestPriorities:
    """Buckets change the order of work, never the answer."""

    @pytest.mark.parametrize("engine", ENGINES)
    @pytest.mark.parametrize("fused", [True, False])
    def test_many_buckets(self, engine, fused):
        n = 60
        heavy = Edges(  # a ladder whose every rung is far away, and a crowd behind each
            np.repeat(np.arange(n - 1), 2),
            np.stack([np.arange(1, n), np.full(n - 1, n - 1)], axis=1).ravel(),
            n,
            np.stack([np.full(n - 1, 1.0), np.linspace(1000.0, 10.0, n - 1)], axis=1).ravel(),
        )
        for edges in (heavy, random_edges(300, 900, seed=19, weights="uniform")):
            plain = answer(ws.SSSP, edges, source=0, engine=engine, fused=fused, priorities=False)
            assert answer(ws.SSSP, edges, source=0, engine=engine, fused=fused) == plain

    @pytest.mark.parametrize("engine", ENGINES)
    def test_a_rank_that_rises_as_states_improve(self, engine):
        @ws.vertex_program
        class Backwards:
            distance: ws.nullable(ws.float64, math.inf)
            weight: ws.edge(ws.float64)
            start: ws.vertex_parameter

            def init(vertex, p):
                return 0.0 if vertex == p.start else math.inf

            def compute(src, edge):
                return src.distance + edge.weight

            combine = min

            def apply(old, gathered):
                return min(old.distance, gathered)

            def priority(state):
                return -state.distance

        for edges in (SHAPES["random"], random_edges(120, 500, seed=20), SHAPES["clique"]):
            for fused in (True, False):
                found = answer(Backwards, edges, start=0, engine=engine, fused=fused)
                expected = answer(ws.SSSP, edges, source=0, engine="python")
                assert found["distance"] == expected["distance"]


class TestQuietBackground:
    """Vertices with nothing to say are left out of the first frontier, and only those."""

    def first_active(self, program, edges, **options):
        with build(edges) as graph:
            trace = ws.run(program, graph, **planned(engine="python", fused=False, **options)).trace
        return int(trace["active"].iloc[0])

    def test_a_search_starts_from_its_start(self):
        edges = random_edges(400, 800, seed=21)
        assert self.first_active(ws.SSSP, edges, source=3) == 1
        assert self.first_active(Widest, edges, start=3) == 1
        assert self.first_active(Reached, edges, start=[3, 4, 5]) == 3

    def test_labels_all_have_something_to_say(self):
        assert self.first_active(Labels, random_edges(400, 800, seed=21)) == 400

    def test_a_background_that_speaks_to_itself_is_not_quiet(self):
        @ws.vertex_program
        class Growing:
            """All vertices but the start count up to 3."""

            level: ws.int64
            start: ws.vertex_parameter

            def init(vertex, p):
                return 5 if vertex == p.start else 0

            def compute(src):
                return min(src.level + 1, 3)

            combine = max

            def apply(old, gathered):
                return max(old.level, gathered)

        edges = SHAPES["cycle"]
        assert self.first_active(Growing, edges, start=0) == edges.n
        assert set(answer(Growing, edges, start=0, engine="python")["level"]) == {3, 5}

    def test_a_background_that_speaks_to_the_others_is_not_quiet(self):
        @ws.vertex_program
        class Lifted:
            """The background's 3 changes only the start, whose 1 changes no vertex."""

            level: ws.int64
            start: ws.vertex_parameter

            def init(vertex, p):
                return 1 if vertex == p.start else 3

            def compute(src):
                return src.level

            combine = max

            def apply(old, gathered):
                return max(old.level, gathered)

        edges = SHAPES["cycle"]
        assert self.first_active(Lifted, edges, start=0) == edges.n
        assert set(answer(Lifted, edges, start=0, engine="python")["level"]) == {3}

    def test_a_vertex_constant_may_make_it_active(self):
        @ws.vertex_program
        class Gifted:
            """A vertex sends its gift as well as its level."""

            level: ws.int64
            gift: ws.vertex_value(ws.int64, default=0)

            def init(vertex):
                return 0

            def compute(src):
                return max(src.level, src.gift)

            combine = max

            def apply(old, gathered):
                return max(old.level, gathered)

        found = answer(Gifted, SHAPES["path"], gift={40: 7}, engine="python")
        assert found["level"] == [0] * 41 + [7] * 9


class TestThePlan:
    """What the trace says was chosen."""

    def directions(self, program, edges, *, engine="python", **options):
        with build(edges) as graph:
            trace = ws.run(program, graph, **planned(engine=engine, **options)).trace
        return list(trace["direction"]), list(trace["filter"]), list(trace["fused"])

    def test_a_search_pushes_pulls_and_pushes_again(self, tiny_tasks):
        # A tail, a crowd of two levels, and a tail: narrow, wide, narrow.
        crowd = [(4, v) for v in range(5, 45)] + [
            (u, v) for u in range(5, 45) for v in range(45, 55)
        ]
        tail = [(54, 55)] + [(v, v + 1) for v in range(55, 75)]
        pairs = [(v, v + 1) for v in range(4)] + crowd + tail
        source, destination = np.array(pairs).T
        edges = Edges(source, destination, 76, None)
        directions, filters, _ = self.directions(ws.BFS, edges, start=0, fused=False)
        assert directions[0] == "push"
        assert "pull" in directions
        assert directions[-1] == "push"
        assert [how for way, how in zip(directions, filters, strict=True) if way == "pull"] == [
            "bitmap"
        ] * directions.count("pull")
        assert answer(ws.BFS, edges, start=0)["distance"] == hops(edges, 0)

    def test_small_frontiers_are_fused(self):
        directions, filters, fused = self.directions(Hops, SHAPES["path"], engine="cpu", start=0)
        assert directions == ["push"] * 50
        assert filters == ["list"] * 50
        assert all(fused)

    def test_sums_over_all_vertices_gather(self):
        directions, filters, fused = self.directions(Rank, SHAPES["cycle"], max_iter=2, tol=0.0)
        assert set(directions) == {"gather"}
        assert set(filters) == {"all"}
        assert not any(fused)

    def test_sums_over_the_active_scatter_and_pull_where_that_is_much(self, tiny_tasks):
        edges = random_edges(60, 240, seed=22)
        directions, _, _ = self.directions(Peel, edges, k=5)
        assert set(directions) == {"scatter", "pull"}
        directions, _, _ = self.directions(Peel, edges, k=5, direction="push")
        assert set(directions) == {"scatter"}

    def test_a_minimum_pulls_where_the_frontier_is_heavy(self, tiny_tasks):
        edges = random_edges(60, 240, seed=23)
        directions, _, _ = self.directions(Labels, edges)
        assert directions[0] == "pull"

    @pytest.mark.parametrize(
        ("program", "direction", "given"),
        [
            (Rank, "push", {}),
            (Rank, "pull", {}),
            (Peel, "gather", {}),
            (Reached, "gather", {"start": [0]}),
            (Hops, "sideways", {"start": 0}),
        ],
    )
    def test_a_direction_that_cannot_be_is_refused(self, program, direction, given):
        with (
            build(SHAPES["path"]) as graph,
            pytest.raises(ws.InputError, match=f"direction='{direction}'"),
        ):
            ws.run(program, graph, **planned(direction=direction, **given))


@ws.vertex_program
class Shares:
    """Every vertex sends the same on all its out-arcs, and it takes a division to know what."""

    value: ws.float64
    degree: ws.out_degree
    combine = sum

    def init(vertex, p):
        return float(vertex)

    def compute(src):
        return src.value / src.degree

    def apply(old, gathered):
        return 0.5 * old.value + gathered


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("options", [{}, {"partitions": 3}], ids=str)
def test_messages_computed_for_each_vertex_are_those_computed_for_each_arc(
    name, options, monkeypatch
):
    apart = answer(Shares, GRAPHS[name], engine="python", max_iter=3)["value"]
    monkeypatch.setattr(cpu, "LONG_ROW", 4)
    for threads in ("1", "2"):
        monkeypatch.setenv("CUGRAPH_WS_THREADS", threads)
        together = answer(Shares, GRAPHS[name], max_iter=3, **options)["value"]
        np.testing.assert_allclose(together, apart, rtol=1e-14)


@pytest.mark.parametrize("weighted", [False, True])
def test_gathers_from_all_make_no_rows_of_out_neighbours(weighted):
    edges = random_edges(20, 70, seed=3)
    with build(edges, weighted=weighted) as graph:
        ws.run(Paths, graph, engine="python", max_iter=3)
        assert set(graph.report.layouts) == {"csc"}
        ws.run(ws.BFS, graph, start=0, engine="python")
        assert set(graph.report.layouts) == {"csc", "csr"}


def test_choose_engine():
    assert [choose_engine(name) for name in ("auto", "cpu", "python")] == ["cpu", "cpu", "python"]
    with pytest.raises(ws.InputError, match="engine='gpu'"):
        choose_engine("gpu")


def test_predecessors_without_an_active_function_lead_back_to_the_start():
    edges = SHAPES["ties and zeros"]
    for start in range(0, edges.n, 7):
        found = answer(Widest, edges, start=start, engine="python")
        for vertex, width in enumerate(found["width"]):
            trail, at = [vertex], found["before"][vertex]
            while at != -1:
                assert at not in trail, f"a cycle: {trail}"
                trail.append(at)
                at = found["before"][at]
            assert trail[-1] == start or width is None
