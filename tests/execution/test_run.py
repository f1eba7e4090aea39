"""The loop over supersteps: how runs end, what they return, what may stop them."""

from __future__ import annotations

import math
import os
import signal
import sys
import threading

import numpy as np
import pandas as pd
import polars as pl
import pytest
from emulator.device import emulated
from plans import planned
from programs import Hops, Paths, Peel, Rank, values_of
from shapes import SHAPES, build, edge_frame, rmat
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.arguments import check_count, check_number

PATH = SHAPES["path"]


def search(edges: Edges = PATH, **options) -> ws.Result:
    options.setdefault("engine", "python")
    with build(edges) as graph:
        return ws.run(ws.BFS, graph, **planned(start=0, fused=False, **options))


class TestHowRunsEnd:
    """Converged, or stopped by one of four."""

    def test_converged(self):
        result = search()
        assert result.converged
        assert result.stopped == "converged"
        assert result.iterations == 50
        assert math.isnan(result.residual)

    @pytest.mark.parametrize("most", [0, 1, 7, 49])
    @pytest.mark.parametrize("fused", [True, False])
    def test_max_iter(self, most, fused, engine):
        with build(PATH) as graph:
            result = ws.run(
                ws.BFS, graph, start=0, plan=ws.Plan(fused=fused), max_iter=most, engine=engine
            )
        assert result.stopped == "max_iter"
        assert result.iterations == most
        assert not result.converged
        reached = [distance for distance in values_of(result)["distance"] if distance is not None]
        assert reached == list(range(most + 1))

    def test_the_programs_own_max_iter_and_tol(self):
        with build(SHAPES["clique"]) as graph:
            assert ws.run(Paths, graph, engine="python").iterations <= Paths.max_iter
            assert ws.run(Paths, graph, engine="python", max_iter=1).iterations == 1
            loose = ws.run(Rank, graph, engine="python", tol=0.1)
            tight = ws.run(Rank, graph, engine="python", tol=1e-12)
        assert loose.residual <= 0.1
        assert loose.iterations <= tight.iterations

    def test_norms(self):
        first = {"value": ws.float64, "start": ws.vertex_value(ws.float64)}
        residuals = {}
        for norm in (ws.l1_norm, ws.max_norm):
            program = ws.vertex_program(
                type("Shift", (), {
                    "__annotations__": first, "__module__": __name__, "init": from_start,
                    "compute": value_of, "combine": sum, "apply": take,
                    "residual": norm("value"), "max_iter": 1,
                })
            )  # fmt: skip
            with build(SHAPES["cycle"]) as graph:
                start = dict(enumerate([0.0, 5.0, 6.0] + [6.0] * 17))
                residuals[norm] = ws.run(program, graph, start=start, engine="python").residual
        assert residuals == {ws.l1_norm: 12.0, ws.max_norm: 6.0}

    def test_timeout(self):
        result = search(timeout=1e-9)
        assert result.stopped == "timeout"
        assert not result.converged
        assert result.iterations < 50
        assert len(values_of(result)["distance"]) == 50

    def test_a_callback_that_says_false(self, only_after_steps):
        seen = []

        def callback(update):
            seen.append((update.superstep, update.active, update.edges))
            return update.superstep < 5

        result = search(progress=callback)
        assert result.stopped == "callback"
        assert result.iterations == 5
        assert seen == [(step, 1, 1) for step in range(1, 6)]
        assert values_of(result)["distance"][:7] == [0, 1, 2, 3, 4, 5, None]

    def test_a_callback_that_stops_after_the_last_superstep_stops_nothing(self):
        result = search(progress=lambda update: update.superstep < 50)
        assert result.stopped == "converged"
        assert result.converged

    def test_an_exception_in_a_callback_is_the_users(self):
        def callback(update):
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            search(progress=callback)

    def test_diverged(self, engine):
        program = ws.vertex_program(
            type("Explosion", (), {
                "__annotations__": {"value": ws.float64}, "__module__": __name__,
                "init": as_it_is, "compute": a_thousandfold, "combine": sum, "apply": take,
                "residual": ws.max_norm("value"), "tol": 1e-3, "max_iter": 10_000,
            })
        )  # fmt: skip
        with build(SHAPES["cycle"]) as graph:
            result = ws.run(program, graph, engine=engine)
        assert result.stopped == "diverged"
        assert not result.converged
        assert 50 < result.iterations < 200
        with pytest.raises(
            ws.ConvergenceError, match=r"diverged: its values grow .*scale down the weights"
        ):
            result.require_convergence("explosion")

    def test_an_empty_graph(self, engine):
        with build(SHAPES["empty"]) as graph:
            for program, given in ((Rank, {}), (Peel, {})):
                result = ws.run(program, graph, **planned(engine=engine, **given))
                assert result.converged
                assert result.iterations == 0
                assert len(result.frame) == 0


def from_start(vertex, p, own):
    return own.start


def value_of(src):
    return src.value


def take(old, gathered):
    return gathered


def as_it_is(vertex):
    return float(vertex)


def a_thousandfold(src):
    return 1000.0 * src.value


@pytest.mark.usefixtures("usual_handler")
class TestInterrupts:
    """Ctrl-C keeps the state so far."""

    def interrupt_at(self, superstep):
        def callback(update):
            if update.superstep == superstep:
                raise KeyboardInterrupt

        return callback

    def test_the_error_carries_the_result(self):
        with pytest.raises(
            ws.Interrupted, match="BFS was interrupted after 3 supersteps"
        ) as caught:
            search(progress=self.interrupt_at(3))
        assert isinstance(caught.value, KeyboardInterrupt)
        result = caught.value.result
        assert result.stopped == "interrupt"
        assert result.iterations == 3
        assert values_of(result)["distance"][:5] == [0, 1, 2, 3, None]

    def test_a_checkpoint_is_written_and_can_be_resumed(self, tmp_path):
        path = tmp_path / "state.parquet"
        with pytest.raises(ws.Interrupted):
            search(progress=self.interrupt_at(3), checkpoint=path, every=1000)
        resumed = search(resume=path)
        assert resumed.iterations == 50
        assert values_of(resumed) == values_of(search())

    def test_a_signal_in_the_middle_of_a_superstep_loses_nothing(self, tmp_path, monkeypatch):
        """It arrives when the state is new and the frontier old, as after a compiled loop."""
        from cugraph_ws.backends.cpu.frontier import Frontier

        path, calls, set_list = tmp_path / "state.parquet", [], Frontier.set_list

        def interrupted(self, vertices):
            calls.append(len(vertices))
            if len(calls) == 5:
                signal.raise_signal(signal.SIGINT)
            set_list(self, vertices)

        monkeypatch.setattr(Frontier, "set_list", interrupted)
        with pytest.raises(ws.Interrupted) as caught:
            search(checkpoint=path)
        assert 0 < caught.value.result.iterations < 50
        monkeypatch.undo()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert values_of(search(resume=path)) == values_of(search())

    def test_a_second_signal_breaks_in(self, monkeypatch):
        from cugraph_ws.backends.cpu.frontier import Frontier

        def stuck(self, vertices):
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

        with build(PATH) as graph:
            loop_begun = []

            def callback(update):
                loop_begun.append(update)
                monkeypatch.setattr(Frontier, "set_list", stuck)

            with pytest.raises(KeyboardInterrupt):
                ws.run(
                    ws.BFS,
                    graph,
                    start=0,
                    engine="python",
                    plan=ws.Plan(fused=False),
                    progress=callback,
                )
            assert len(loop_begun) == 1
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def test_a_handler_of_the_users_own_stays(self):
        received = []
        before = signal.signal(signal.SIGINT, lambda number, frame: received.append(number))
        try:
            result = search(progress=lambda update: os.kill(os.getpid(), signal.SIGINT))
        finally:
            signal.signal(signal.SIGINT, before)
        assert result.converged
        assert received

    def test_runs_in_another_thread(self):
        results = []
        worker = threading.Thread(target=lambda: results.append(search()))
        worker.start()
        worker.join()
        assert results[0].converged


def test_convergence_error():
    result = search(max_iter=4)
    with pytest.raises(
        ws.ConvergenceError, match="bfs did not converge: stopped by max_iter after 4"
    ) as caught:
        result.require_convergence("bfs")
    assert caught.value.result is result
    assert search().require_convergence("bfs").converged


def test_the_functions_raise_it():
    with build(rmat(6, 4, seed=51)) as graph, pytest.raises(ws.ConvergenceError) as caught:
        ws.pagerank(graph, max_iter=2, tol=1e-15)
    assert caught.value.result.iterations == 2
    assert len(caught.value.result.arrays["pagerank"]) == 64


class TestFrames:
    """Frames in place of graphs."""

    def test_columns_by_name(self):
        frame = pl.DataFrame({"from": ["a", "b"], "to": ["b", "c"]})
        result = ws.run(
            Hops, frame, source_column="from", destination_column="to", start="b", engine="python"
        )
        assert isinstance(result.frame, pl.DataFrame)
        assert result.frame["vertex"].to_list() == ["a", "b", "c"]
        assert result.frame["hops"].to_list()[1:] == [0, 1]

    def test_undirected(self):
        frame = pd.DataFrame({"source": [0, 1], "destination": [1, 2]})
        result = ws.run(Hops, frame, directed=False, start=2, engine="python")
        assert result.frame["hops"].tolist() == [2, 1, 0]

    def test_the_trace_is_a_frame_of_the_same_kind(self):
        for kind in ("pandas", "polars", "pyarrow"):
            result = ws.run(Hops, edge_frame(PATH, kind), start=0, engine="python")
            assert type(result.trace) is type(result.frame) is type(edge_frame(PATH, kind))


class TestPlainPython:
    """`engine="python"` runs code of the user's own files and lines, where a debugger can stop."""

    def test_the_users_lines_run(self):
        seen = set()
        codes = {name: function.__code__ for name, function in Hops.functions.items()}
        places = {(code.co_filename, code.co_firstlineno): name for name, code in codes.items()}

        def tracer(frame, event, argument):
            place = frame.f_code.co_filename, frame.f_code.co_firstlineno
            if place in places:
                seen.add(places[place])

        with build(PATH) as graph:
            before = sys.getprofile()
            sys.setprofile(tracer)
            try:
                ws.run(Hops, graph, start=0, engine="python")
            finally:
                sys.setprofile(before)
        assert seen == {"init", "compute", "apply"}


class TestSupersteps:
    """What a program may know of the run."""

    def test_the_number_of_the_superstep(self, engine):
        @ws.vertex_program
        class When:
            """The superstep in which the wave arrives."""

            when: ws.nullable(ws.int64, math.inf)
            start: ws.vertex_parameter

            def init(vertex, p):
                return 0 if vertex == p.start else math.inf

            def compute(src, edge, p):
                return p.superstep + 1 if src.when < 1 << 40 else 1 << 40

            combine = min

            def apply(old, gathered):
                return min(old.when, gathered)

        with build(PATH) as graph:
            for options in ({}, {"fused": False}, {"direction": "gather"}):
                result = ws.run(
                    When, graph, **planned(start=0, engine=engine, max_iter=100, **options)
                )
                assert values_of(result)["when"] == list(range(50)), options

    def test_an_aggregate_is_of_the_superstep_before(self, engine):
        @ws.vertex_program
        class Cap:
            """Labels spread while they add up to more than a bound."""

            label: ws.int64
            max_iter = 10

            @ws.aggregate
            def total(state):
                return state.label

            def init(vertex):
                return vertex

            def compute(src, edge, p):
                return src.label if p.total > 900.0 else 10**6

            combine = min

            def apply(old, gathered):
                return min(old.label, gathered)

        labels = np.arange(50)
        while labels.sum() > 900:
            labels = np.minimum(labels, np.concatenate([[0], labels[:-1]]))
        with build(PATH) as graph:
            for options in ({}, {"fused": False}):
                found = ws.run(Cap, graph, **planned(engine=engine, **options))
                assert found.arrays["label"].tolist() == labels.tolist()


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("max_iter", -1), ("max_iter", 1.5), ("max_iter", True), ("max_iter", "3"),
        ("tol", -0.1), ("tol", math.nan), ("tol", "small"), ("timeout", 0), ("timeout", -1),
        ("timeout", "1s"), ("every", 0), ("every", 2.0), ("partitions", 0), ("engine", "gpu"),
        ("direction", "up"), ("progress", "yes"),
    ],
)  # fmt: skip
def test_arguments_that_make_no_sense(argument, value):
    with build(PATH) as graph, pytest.raises(ws.InputError, match=argument):
        ws.run(Rank, graph, **planned(**{"engine": "python", argument: value}))


def test_a_tol_without_a_residual_is_refused():
    with build(PATH) as graph, pytest.raises(ws.InputError, match="tol"):
        ws.run(Hops, graph, start=0, tol=0.1, engine="python")


@pytest.mark.parametrize(
    "given",
    [{"max_iter": 1}, {"tol": 0.1}, {"direction": "push"}, {"engine": "gpu"}, {"start": 0}, {"partitions": 2}],
    ids=str,
)  # fmt: skip
def test_a_loop_of_its_own_takes_nothing_that_it_would_ignore(given):
    with build(PATH) as graph, pytest.raises(ws.InputError, match=next(iter(given))):
        ws.run(ws.WeaklyConnectedComponents(), graph, **planned(**given))


LOOPS = {
    "components": lambda: ws.WeaklyConnectedComponents(),
    "cores": lambda: ws.CoreNumber(),
    "matching": lambda: ws.MaximalBipartiteMatching(range(0, 50, 2)),
    "beliefs": lambda: ws.BeliefPropagation(
        pd.DataFrame({"vertex": [0], "a": [0.3], "b": [0.7]}), [[2.0, 1.0], [1.0, 2.0]], max_iter=3
    ),
    "searches": lambda: ws.MultiSource(ws.BFS, "start", [0, 3], engine="cpu"),
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_of_its_own_may_be_run_again_on_another_engine(name):
    """What was given is not changed by a run: it holds neither its graph nor where it was."""
    loop = LOOPS[name]()
    before = dict(vars(loop))
    with build(PATH) as graph:
        with emulated():
            first = ws.run(loop, graph, engine="cuda").frame
        second = ws.run(loop, graph, engine="cpu").frame
    assert vars(loop).keys() == before.keys()
    assert all(vars(loop)[name] is value for name, value in before.items())
    pd.testing.assert_frame_equal(first, second)


def test_check_count_and_check_number():
    check_count("n", np.int64(3))
    check_number("x", np.float32(0.0))
    check_number("x", 1, positive=True)
    with pytest.raises(ws.InputError, match=r"n=2 must be a whole number, 3 or more"):
        check_count("n", 2, least=3)
    with pytest.raises(ws.InputError, match=r"x=0 must be a number, above 0"):
        check_number("x", 0, positive=True)
