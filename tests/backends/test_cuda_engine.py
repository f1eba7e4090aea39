"""The CUDA engine in the emulator, lane by lane, against the CPU engine's plain Python."""

from __future__ import annotations

import math
from functools import lru_cache

import hypothesis
import numpy as np
import pandas as pd
import pytest
from cuda_cases import (
    CASES,
    EXACT,
    FUNCTIONS,
    METHODS,
    SUMS,
    Case,
    Growth,
    Pairs,
    check_same,
    graph_of,
    medley,
    set_classes,
    stable,
)
from emulator.device import emulated
from hypothesis import strategies as st
from plans import planned
from programs import Fading, Hops, Nearest, Paths, Peel, Rank, Widest
from shapes import SHAPES, column, grid, hub, random_edges, rmat, undirected
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.backends.cuda import predecessors
from cugraph_ws.backends.cuda.planner import FIRST_BATCH
from cugraph_ws.kernels.cuda import layout
from cugraph_ws.runtime import device as devices

BY_NAME = {case.name: case for case in CASES}
BATTERY = {  # smaller than elsewhere, where every thread is not a coroutine
    **{name: edges for name, edges in SHAPES.items() if len(edges.source) < 80},
    "clique": SHAPES["clique"],
    "rmat": rmat(4, 5, seed=1),
    "grid": grid(4, 4, drop=0.2, seed=2),
    "rows": medley((65, 33, 32, 31, 1, 0), 70),
    "hub": hub(90),
    "random": random_edges(20, 70, seed=3),
    "ties and zeros": random_edges(20, 70, seed=6, weights="ties"),
    "integer weights": random_edges(20, 70, seed=5, weights="integers"),
    "uniform weights": random_edges(20, 70, seed=7, weights="uniform"),
}


@pytest.fixture(autouse=True)
def small_classes(monkeypatch):
    """Let small graphs have hubs in chunks, vertices with a warp each, and several blocks."""
    set_classes(monkeypatch, block=64, hub=24, chunk=16, middle=6)


@lru_cache
def medley_graph() -> ws.Graph:
    return graph_of(medley())


@lru_cache
def expected_of(name: str) -> ws.Result:
    return BY_NAME[name].run(medley_graph(), engine="python", fused=False)


def on_device(case: Case, graph: ws.Graph, seed: int = 0, multiprocessors: int = 1, **options):
    with emulated(seed, multiprocessors=multiprocessors):
        return case.run(graph, engine="cuda", **options)


# -------------------------------------------------------------------------- programs, schedules


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_programs(case):
    found = on_device(case, medley_graph(), seed=len(case.name))
    check_same(found, expected_of(case.name), case)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "name", ["minimum pulled", "custom combine of tuples", "sums with aggregates"]
)
def test_methods(name, method):
    found = on_device(BY_NAME[name], medley_graph(), seed=3, method=method)
    check_same(found, expected_of(name), BY_NAME[name])


@pytest.mark.parametrize("seed", range(6))
def test_any_thread_order(seed, monkeypatch):
    block, chunk = (32, 64, 96)[seed % 3], (7, 33, 16)[seed % 3]
    set_classes(monkeypatch, block=block, hub=20 + seed, chunk=chunk, middle=3 + seed)
    for name in ("minimum in place", "superstep, parameter, aggregates", "any from an outbox"):
        if seed % 2 and "minimum" not in name:
            continue
        found = on_device(BY_NAME[name], medley_graph(), seed, multiprocessors=1 + seed % 3)
        check_same(found, expected_of(name), BY_NAME[name])


@pytest.mark.parametrize("middle", [1, 4096], ids=["warps only", "segments only"])
def test_a_single_class(middle, monkeypatch):
    set_classes(monkeypatch, block=64, hub=4096, chunk=4096, middle=middle)
    for name in ("minimum gathered", "sums with aggregates"):
        found = on_device(BY_NAME[name], medley_graph(), multiprocessors=2)
        check_same(found, expected_of(name), BY_NAME[name])


def test_long_rows(monkeypatch):
    """Rows that every lane goes through several times: hubs, warps, and segments."""
    set_classes(monkeypatch, block=32, hub=700, chunk=300, middle=260)
    edges = medley((900, 300, 200, 150, 64, 33, 32, 31, 1), 40)
    case = Case("long rows", Rank, {}, {"max_iter": 2}, SUMS, counted=True)
    with graph_of(edges) as graph:
        check_same(on_device(case, graph), case.run(graph, engine="python"), case)


# --------------------------------------------------------------------------------- every shape


@pytest.mark.parametrize("name", BATTERY)
def test_sums_on_every_shape(name):
    case = Case(name, Rank, {}, {"max_iter": 3}, SUMS, counted=True)
    with graph_of(BATTERY[name]) as graph:
        check_same(on_device(case, graph, seed=1), case.run(graph, engine="python"), case)


@pytest.mark.parametrize("name", BATTERY)
def test_searches_on_every_shape(name):
    edges = undirected(BATTERY[name]) if "path" in name else BATTERY[name]
    case = Case(name, ws.SSSP, {"source": [0] if edges.n else []})
    with graph_of(edges) as graph:
        check_same(on_device(case, graph, seed=2), case.run(graph, engine="python"), case)


@pytest.mark.parametrize("name", ["empty", "one vertex", "all isolated", "self-loops"])
@pytest.mark.parametrize("method", ["ws", "vwc-4"])
def test_nothing_to_read(name, method):
    for case in (BY_NAME["sums of a frontier"], BY_NAME["custom combine from an outbox"]):
        with graph_of(SHAPES[name]) as graph:
            found = on_device(case, graph, method=method)
            check_same(found, case.run(graph, engine="python"), case)


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name, directed):
    function, tolerance = FUNCTIONS[name]
    edges = stable(SHAPES["two components"] if directed else undirected(SHAPES["cycle"]))
    with graph_of(edges) as graph:
        expected = function(graph, edges, engine="python")
        with emulated(seed=4):
            found = function(graph, edges, engine="cuda")
    assert list(found) == list(expected)
    if tolerance == EXACT:
        pd.testing.assert_frame_equal(found, expected)
    else:
        pd.testing.assert_frame_equal(found, expected, rtol=tolerance, atol=0)


# --------------------------------------------------------------------------------- predecessors


# How tight arcs are searched: from waiting vertices or from attached ones, by one block or by all.
GROWN = {
    "who wait": {"direction": "pull"},
    "branches": {"ALONE": 2, "ALONE_ARCS": 9},
    "branches, one block": {},
    "branches, all blocks": {"ALONE": -1},
    "branches along ties": {"TIGHT_FROM": 0, "TIGHT_PART": 1},
    "branches, too many ties": {"TIGHT_FROM": 0, "TIGHT_PART": 1 << 30},
}


def grown(monkeypatch, how: str) -> dict[str, str]:
    """Set how tight arcs are searched; return options for that."""
    options = {}
    for name, value in GROWN[how].items():
        if name == "direction":
            options[name] = value
        else:
            monkeypatch.setattr(predecessors, name, value)
    monkeypatch.setattr(predecessors, "FRONTIER_BLOCK", 64)
    return options


@pytest.mark.parametrize("how", GROWN)
@pytest.mark.parametrize(
    ("program", "weights"),
    [(ws.SSSP, "ties"), (ws.WidestPath, "ties"), (ws.WidestPath, "eighths")],
)
def test_predecessors_where_paths_tie(program, weights, how, monkeypatch):
    set_classes(monkeypatch, block=64, hub=9, chunk=4, middle=4)
    options = grown(monkeypatch, how)
    edges = random_edges(24, 110, seed=6, weights=weights)
    if weights == "ties":
        edges = Edges(edges.source, edges.destination, edges.n, np.minimum(edges.weight, 0.5))
    case = Case(weights, program, {"source": [3]})
    with graph_of(edges) as graph:
        found = on_device(case, graph, seed=7, multiprocessors=2, **options)
        check_same(found, case.run(graph, engine="python"), case)


@hypothesis.settings(max_examples=12)
@hypothesis.given(
    ends=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=40),
    how=st.sampled_from(list(GROWN)),
    seed=st.integers(0, 9),
    directed=st.booleans(),
)
def test_predecessors_of_random_graphs(ends, how, seed, directed):
    """Weights of two kinds, so that most paths tie."""
    source, destination = np.array(ends).T
    edges = Edges(source, destination, 10, (source + destination) % 2 / 1.0, directed)
    case = Case("", (ws.SSSP, ws.WidestPath)[seed % 2], {"source": [seed]})
    with pytest.MonkeyPatch.context() as patch, graph_of(edges) as graph:
        options = grown(patch, how)
        found = on_device(case, graph, seed, multiprocessors=1 + seed % 2, **options)
        check_same(found, case.run(graph, engine="python"), case)


@pytest.mark.parametrize("how", GROWN)
def test_predecessors_of_a_tie_far_from_the_start(how, monkeypatch):
    """A chain of no weight: one level of the forest for each link."""
    options = grown(monkeypatch, how)
    chain = np.arange(7)
    case = Case("chain", ws.SSSP, {"source": [0]})
    with graph_of(Edges(chain, chain + 1, 9, np.zeros(7))) as graph:
        found = on_device(case, graph, **options)
        check_same(found, case.run(graph, engine="python"), case)
    assert found.arrays["predecessor"].numbers.tolist() == [-1, 0, 1, 2, 3, 4, 5, 6, -1]


@pytest.mark.parametrize(
    ("how", "most"),
    [
        ("who wait", 1),
        ("branches", 2),
        ("branches, one block", 1024),
        ("branches, all blocks", 1),
        ("branches along ties", 1024),
    ],
)
def test_predecessors_of_a_tie_with_many(most, how, monkeypatch):
    """Vertices with rows divided into pieces, and one after them, for any number of rows per launch."""
    monkeypatch.setattr(predecessors, "LEVELS_A_LAUNCH", most)
    options = grown(monkeypatch, how)
    many = layout.PIECE + 1
    middle = np.arange(1, many + 1)
    source = np.concatenate([np.zeros(many, np.int64), middle, [many + 1]])
    target = np.concatenate([middle, np.full(many, many + 1), [many + 2]])
    case = Case("many", ws.SSSP, {"source": [0]})
    with graph_of(Edges(source, target, many + 3, np.zeros(2 * many + 1))) as graph:
        found = on_device(case, graph, seed=most, **options)
    assert found.arrays["predecessor"].numbers.tolist() == [-1] + [0] * many + [1, many + 1]


@pytest.mark.parametrize("hub", [200, 1000])
@pytest.mark.parametrize("part", [2, 99])
def test_predecessors_in_rows_shared_by_lanes(part, hub, monkeypatch):
    """Of 300 neighbours one in so many is on a shortest path; a block looks at them, or a warp."""
    set_classes(monkeypatch, block=64, hub=hub, chunk=64, middle=32)
    many = 300
    middle = np.random.default_rng(part).permutation(many) + 1
    weights = np.concatenate([np.ones(many), np.where(middle % part == part - 1, 1.0, 2.0)])
    edges = Edges(
        np.concatenate([np.zeros(many, np.int64), middle]),
        np.concatenate([middle, np.full(many, many + 1)]),
        many + 2,
        weights,
    )
    with graph_of(edges) as graph:
        found = on_device(Case("many", ws.SSSP, {"source": [0]}), graph, seed=part)
    assert found.arrays["predecessor"].numbers.tolist() == [-1] + [0] * many + [part - 1]


def test_without_predecessors():
    case = Case("", Widest, {"start": 0}, {"predecessors": False})
    found = on_device(case, medley_graph())
    assert list(found.arrays) == ["width"]


# ------------------------------------------------------------------------------ when runs end


def test_a_run_longer_than_the_ring_of_records():
    case = Case("", Rank, {}, {"tol": 1e-11}, SUMS, counted=True)
    with graph_of(SHAPES["short path"]) as graph:
        expected = case.run(graph, engine="python")
        assert expected.iterations > 64
        check_same(on_device(case, graph), expected, case)


@pytest.mark.parametrize("tol", [0.3, 0.03, 0.003, 1e-4])
def test_the_device_stops_at_the_tolerance(tol):
    case = Case("", Rank, {}, {"tol": tol}, SUMS, counted=True)
    with graph_of(SHAPES["duplicates"]) as graph:
        expected = case.run(graph, engine="python")
        found = on_device(case, graph)
    assert expected.converged
    check_same(found, expected, case)


@pytest.mark.parametrize("most", [0, 1, 3, 4, 5, 12, 13])
def test_the_device_stops_at_the_most_supersteps(most):
    case = Case("", Rank, {}, {"max_iter": most, "tol": 0.0}, SUMS, counted=True)
    with graph_of(SHAPES["two components"]) as graph:
        expected = case.run(graph, engine="python")
        assert (expected.stopped, expected.iterations) == ("max_iter", most)
        check_same(on_device(case, graph), expected, case)


def test_the_device_stops_beyond_the_finite_numbers():
    case = Case("", Growth, counted=True)
    with graph_of(undirected(SHAPES["one edge"])) as graph:
        expected = case.run(graph, engine="python")
        found = on_device(case, graph)
    assert found.stopped == expected.stopped == "diverged"
    assert found.iterations == expected.iterations
    assert math.isinf(found.residual)


def test_the_device_stops_where_nothing_changes():
    case = Case("", Pairs, {}, {"max_iter": 50}, counted=True)
    with graph_of(SHAPES["short path"]) as graph:
        expected = case.run(graph, engine="python")
        assert expected.stopped == "converged"
        check_same(on_device(case, graph), expected, case)


def test_a_callback_stops_between_batches():
    case = BY_NAME["sums with aggregates"]
    found = on_device(case, medley_graph(), progress=lambda update: update.superstep < 1)
    assert (found.stopped, found.iterations) == ("callback", FIRST_BATCH)
    assert found.trace["superstep"].tolist() == list(range(FIRST_BATCH))


def test_downloads_do_not_grow_with_supersteps():
    counted = {}
    for most in (0, 4, 12, 28):
        with graph_of(SHAPES["two components"]) as graph, emulated() as device:
            ws.run(Rank, graph, engine="cuda", max_iter=most, tol=0.0)
            counted[most] = device.downloads
    batch = counted[4] - counted[0]
    assert 0 < batch <= 2
    assert counted[12] - counted[4] == counted[28] - counted[12] == batch


# --------------------------------------------------------------------------------------- trace


def test_the_trace_of_dense_supersteps():
    case = BY_NAME["superstep, parameter, aggregates"]
    found = on_device(case, medley_graph()).trace
    expected = expected_of(case.name).trace
    assert list(found) == list(expected)
    told = [name for name in expected if name not in ("milliseconds", "residual")]
    pd.testing.assert_frame_equal(found[told], expected[told])
    np.testing.assert_allclose(found["residual"], expected["residual"], 1e-9)
    assert (found["milliseconds"] > 0).all()


def test_the_trace_of_a_frontier():
    case = BY_NAME["sums of a frontier"]
    found = on_device(case, medley_graph()).trace
    expected = expected_of(case.name).trace
    assert found["active"].tolist() == expected["active"].tolist()
    assert found["direction"].unique().tolist() == ["pull"]
    assert found["filter"].unique().tolist() == ["bitmap"]
    assert (found["edges"] == medley_graph().csc.number_of_arcs).all()
    assert found["residual"].isna().all()


# --------------------------------------------------------------------------------- checkpoints


RESUMED = {
    "sums": Case("", Rank, {}, {"tol": 1e-3}, SUMS, counted=True),
    "superstep": Case("", BY_NAME["superstep, parameter, aggregates"].program, tolerance=SUMS),
    "aggregate of the number": Case("", Fading, tolerance=SUMS),
    "custom combine": Case("", Paths, {}, {"max_iter": 8}, SUMS, counted=True),
    "frontier": Case("", Peel, {"k": 2}, {"direction": "pull"}),
    "tuples": Case("", Nearest, {"seeds": [0]}, {"priorities": False}),
    "any": Case("", ws.BFS, {"start": [0]}),
}


ENGINES = (("cuda", "cuda"), ("cuda", "python"), ("python", "cuda"))


@pytest.mark.parametrize("place", range(len(RESUMED)), ids=list(RESUMED))
def test_checkpoints_go_from_engine_to_engine(place, tmp_path, monkeypatch):
    """One program each, from one engine to another; all pairs over the programs."""
    name, engines = list(RESUMED)[place], ENGINES[place % 3]
    monkeypatch.setattr("cugraph_ws.backends.cuda.planner.FIRST_BATCH", 2)
    case, path = RESUMED[name], tmp_path / "state.parquet"
    with graph_of(undirected(SHAPES["short path"])) as graph, emulated(seed=8):
        expected = case.run(graph, engine="python", fused=False)
        first = case.run(
            graph,
            engine=engines[0],
            fused=False,
            progress=lambda update: update.superstep < 2,
            checkpoint=path,
        )
        assert first.stopped == "callback"
        resumed = case.run(graph, engine=engines[1], fused=False, resume=path)
    assert resumed.iterations > first.iterations
    check_same(resumed, expected, case)


# -------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"direction": "back"}, "direction='back' is not known"),
        ({"method": "vwc-3"}, "method='vwc-3' is not known"),
        ({"program": Rank, "direction": "pull"}, "gathers from all"),
        ({"program": Peel, "direction": "gather"}, "active vertices only"),
        ({"engine": "cpu", "method": "vwc-8"}, "schedule of engine='cuda'"),
        ({"tol": 0.1}, "declares no residual"),
    ],
)
def test_impossible_runs_are_refused(options, told):
    options = {"program": Hops, "engine": "cuda", **options}
    program = options.pop("program")
    given = {"start": 0} if program is Hops else {}
    with emulated(), pytest.raises(ws.InputError, match=told):
        ws.run(program, medley_graph(), **planned(**given, **options))


def test_a_checkpoint_of_another_program_is_refused(tmp_path):
    path = tmp_path / "state.parquet"
    with emulated():
        ws.run(Rank, medley_graph(), engine="cuda", max_iter=1, checkpoint=path)
        with pytest.raises(ws.InputError):
            ws.run(Paths, medley_graph(), engine="cuda", resume=path)


def test_without_a_gpu(monkeypatch):
    monkeypatch.setattr(devices, "installed_gpus", list)
    with pytest.raises(ws.CugraphWsError, match="engine='cpu'"):
        ws.run(Hops, medley_graph(), start=0, engine="cuda")


# -------------------------------------------------------------------------------- random graphs

FEW = ("minimum in place", "minimum pulled", "tuple messages", "sums of a frontier", "any",
       "custom combine of tuples", "sums of flags", "superstep, parameter, aggregates")  # fmt: skip


@hypothesis.settings(max_examples=15)
@hypothesis.given(data=st.data())
def test_random_graphs(data):
    n = data.draw(st.integers(2, 12), label="vertices")
    ends = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), st.integers(0, 6))
    arcs = data.draw(st.lists(ends, max_size=30), label="arcs")
    source, destination, weight = np.array(arcs, np.int64).reshape(-1, 3).T
    edges = Edges(source, destination, n, weight / 2, data.draw(st.booleans(), label="directed"))
    case = BY_NAME[data.draw(st.sampled_from(FEW), label="program")]
    given = {name: min(value, n - 1) if name == "start" else value
             for name, value in case.given.items()}  # fmt: skip
    if "seeds" in given:
        given["seeds"] = [n - 1]
    method = data.draw(st.sampled_from(("auto", *METHODS)), label="method")
    seed = data.draw(st.integers(0, 99), label="seed")
    with pytest.MonkeyPatch.context() as patch, graph_of(edges) as graph:
        set_classes(
            patch,
            block=data.draw(st.sampled_from((32, 64)), label="block"),
            hub=data.draw(st.integers(2, 9), label="hub"),
            chunk=data.draw(st.integers(1, 5), label="chunk"),
            middle=2,
        )
        expected = ws.run(
            case.program, graph, **planned(engine="python", fused=False, **given, **case.options)
        )
        with emulated(seed, multiprocessors=1 + seed % 2):
            found = ws.run(
                case.program,
                graph,
                **planned(engine="cuda", method=method, **given, **case.options),
            )
        check_same(found, expected, case)


def test_the_frame_that_went_in_comes_out():
    frame = pd.DataFrame({"source": ["a", "b"], "destination": ["b", "c"], "w": [0.5, 0.25]})
    with emulated():
        found = ws.sssp(frame, "a", weight="w", engine="cuda")
    assert found["vertex"].tolist() == ["a", "b", "c"]
    assert column(found, "distance").tolist() == [0.0, 0.5, 0.75]
