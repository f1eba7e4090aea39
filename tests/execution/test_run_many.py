"""Several programs on one graph: each result is that of a run alone, at once and one after the other."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

import pandas as pd
import pytest
from emulator.device import emulated
from programs import Endless
from shapes import build, edge_frame, random_edges, rmat
from thread_ranks import on_ranks, share

import cugraph_ws as ws
from cugraph_ws.execution import run_many as module
from cugraph_ws.execution.driver import drive

EDGES = rmat(8, 8, seed=61)
PROGRAMS: list[Any] = [
    (ws.SSSP, {"start": 0}),
    ws.PageRank,
    (ws.PageRank, {"alpha": 0.5, "max_iter": 7}),
    (ws.BFS, {"start": [1, 2], "predecessors": False}),
    ws.CoreNumber(),
    (ws.SSSP, {"start": 5}),
]


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have small graphs run several programs at once, on any machine."""
    monkeypatch.setattr(module, "LEAST_ARCS", 0)
    monkeypatch.setattr(module, "number_of_threads", lambda: 3)


def assert_as_alone(results: list[Any], programs: list[Any], graph: Any, **options: Any) -> None:
    """Check that results are the bits of runs alone, after as many supersteps."""
    assert len(results) == len(programs)
    for result, given in zip(results, programs, strict=True):
        program, arguments = given if isinstance(given, tuple) else (given, {})
        alone = ws.run(program, graph, **arguments, **options)
        pd.testing.assert_frame_equal(result.frame, alone.frame, check_exact=True)
        assert (result.iterations, result.stopped) == (alone.iterations, alone.stopped)
        assert result.rows.columns()["edges"].tolist() == alone.rows.columns()["edges"].tolist()


def test_results_at_once_are_those_of_runs_alone(at_once, monkeypatch):
    threads = set()

    def driven(*arguments: Any, **named: Any) -> Any:
        threads.add(threading.get_ident())
        return drive(*arguments, **named)

    monkeypatch.setattr(module, "drive", driven)
    with build(EDGES) as graph:  # the first run transposes it while others wait
        results = ws.run_many(PROGRAMS * 3, graph)
        assert_as_alone(results, PROGRAMS * 3, graph)
        assert 1 < len(threads) <= 3
        threads.clear()
        followed: list[Any] = []
        assert_as_alone(graph.run_many(PROGRAMS[:2], progress=followed.append), PROGRAMS[:2], graph)
        assert followed
        assert threads == {threading.get_ident()}


def test_frames_are_made_a_graph_with_all_columns_that_are_read():
    @ws.vertex_program
    class Widest:
        width: ws.float64
        root: ws.vertex_parameter

        def init(vertex, p):
            return 9.0 if vertex == p.root else 0.0

        def compute(src, edge):
            return min(src.width, edge.strength)

        combine = max

        def apply(old, gathered):
            return max(old.width, gathered)

        strength = ws.edge()

    frame = edge_frame(EDGES).assign(strength=2.0)
    programs = [(Widest, {"root": 0}), (ws.SSSP, {"start": 0}), (ws.BFS, {"start": 0})]
    assert_as_alone(ws.run_many(programs, frame), programs, frame)
    assert_as_alone(frame.ws.run_many(programs), programs, frame)
    named = frame.rename(columns={"source": "from", "weight": "km"})
    given = {"source": "from", "weight": "km"}
    assert_as_alone(ws.run_many(programs[1:], named, **given), programs[1:], frame)
    assert ws.run_many([], frame) == []


def test_an_emulated_gpu_and_partitions_give_the_same():
    edges = random_edges(6, 10, seed=3)
    programs = [(ws.BFS, {"start": 0}), (ws.PageRank, {"max_iter": 3}), (ws.BFS, {"start": 3})]
    with emulated(), build(edges) as graph:
        assert_as_alone(ws.run_many(programs, graph, engine="cuda"), programs, graph, engine="cuda")
    with build(EDGES) as graph:
        plan = ws.Plan(partitions=3)
        assert_as_alone(ws.run_many(programs, graph, plan=plan), programs, graph, plan=plan)
        ranks = on_ranks(2, lambda comm: ws.run_many(programs, share(graph, comm)))
        for place, (program, given) in enumerate(programs):
            joined = pd.concat([results[place].frame for results in ranks], ignore_index=True)
            pd.testing.assert_frame_equal(joined, ws.run(program, graph, **given).frame)


@pytest.mark.parametrize(
    ("programs", "options", "said"),
    [
        ([ws.PageRank, (ws.SSSP, {"begin": 0})], {}, "begin"),
        ([(ws.BFS, {"start": 0}), (ws.SSSP, {"start": 999})], {}, "999"),
        ([(ws.BFS, {"start": 0}), (ws.SSSP, {"start": 0, "tol": 0.1})], {}, "tol=0.1"),
        ([(ws.BFS, {"start": 0}), (ws.BFS, {"start": 0, "engine": "gpu"})], {}, "engine='gpu'"),
        ([(ws.BFS, {"start": 0}), "bfs"], {}, "'bfs'"),
        ([(ws.BFS, {"start": 0}), (ws.BFS, 0)], {}, "arguments=0"),
        ([(ws.BFS, {"start": 0}), ws.bfs], {}, "bfs is a function"),
        ("bfs", {}, "list of programs"),
        ({"start": 0}, {}, "list of programs"),
        ([ws.PageRank], {"checkpoint": "state.parquet"}, "file of its own"),
        ([ws.PageRank], {"alpha": 0.5}, "alpha"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_before_the_first_run(monkeypatch, programs, options, said):
    monkeypatch.setattr(module, "drive", None)
    with build(EDGES) as graph, pytest.raises(ws.InputError, match=said) as caught:
        ws.run_many(programs, graph, **options)
    if len(programs) == 2:
        assert caught.value.__notes__[0].startswith("in programs[1], ")


def test_programs_come_first():
    with build(EDGES) as graph, pytest.raises(ws.InputError, match="exchange the two"):
        ws.run_many(graph, [ws.PageRank])


def when_others_run(what: Any, first: str = "") -> Any:
    """Return `drive` that calls `what` in the place of a search, 0.2 s after others have begun, and `first` has ended."""
    ended = threading.Event()

    def driven(loop: Any, *arguments: Any, **named: Any) -> Any:
        if loop.name == "SSSP":
            assert not first or ended.wait(60)
            time.sleep(0.2)
            what()
        result = drive(loop, *arguments, **named)
        if loop.name == first:
            ended.set()
        return result

    return driven


def test_an_error_in_one_run_ends_the_others(at_once, monkeypatch):
    def fail() -> None:
        raise ws.ConvergenceError("planned")

    monkeypatch.setattr(module, "drive", when_others_run(fail))
    for programs, place in (
        ([Endless, (ws.SSSP, {"start": 0})], 1),
        ([(ws.SSSP, {"start": 0}), Endless], 0),
    ):
        with build(EDGES) as graph, pytest.raises(ws.ConvergenceError, match="planned") as caught:
            ws.run_many(programs, graph)
        assert caught.value.__notes__ == [f"in programs[{place}], SSSP"]


@pytest.mark.usefixtures("usual_handler")
def test_an_interrupt_ends_all_runs_and_keeps_results(at_once, monkeypatch):
    def press() -> None:
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(module, "drive", when_others_run(press, first="BFS"))
    programs = [(ws.BFS, {"start": 0}), Endless, (ws.SSSP, {"start": 0}), Endless, ws.PageRank]
    with build(EDGES) as graph:
        with pytest.raises(
            ws.Interrupted, match=r"run_many was interrupted after . of 5"
        ) as caught:
            ws.run_many(programs, graph)
        results = caught.value.results
        assert results[1] is results[3] is None
        pd.testing.assert_frame_equal(results[0].frame, ws.run(ws.BFS, graph, start=0).frame)
        monkeypatch.setattr(module, "LEAST_ARCS", 1 << 40)  # one after the other
        with pytest.raises(ws.Interrupted, match="run_many was interrupted after 1 of 3") as caught:
            ws.run_many(programs[::2], graph)
        assert [result is None for result in caught.value.results] == [False, True, True]


def test_runs_at_once_fit_in_memory_together(at_once):
    with build(EDGES, memory_limit=1 << 30) as graph:
        calls = module._calls([(ws.SSSP, {"start": 0})] * 4, {})
        assert module._checked(calls, graph) == 3
        one = calls[0].loop().memory(module.sizes_of(graph))
        kept = 4 * 2 * module.VALUE * graph.number_of_vertices
        for runs, room in ((2, 2.9 * one), (1, 1.5 * one)):
            graph.memory_limit = graph.nbytes + int(room + kept)
            assert module._checked(calls, graph) == runs
        graph.memory_limit = graph.nbytes + int(one + kept / 2)
        with pytest.raises(ws.GraphMemoryError, match="run_many of 4 programs needs"):
            ws.run_many([(ws.SSSP, {"start": 0})] * 4, graph)
