"""What ends a run early, and where: between steps, within them, before a compilation, in the start."""

from __future__ import annotations

import threading
import time
from typing import Any

import numba
import numpy as np
import pytest
from programs import Rank
from shapes import SHAPES, build
from thread_ranks import ThreadCommunicator, on_ranks

import cugraph_ws as ws
from cugraph_ws.execution import driver, stop_requests
from cugraph_ws.execution.loop import Loop, Step
from cugraph_ws.execution.progress import ProgressUpdate, reporter
from cugraph_ws.execution.stop_requests import (
    EVERY,
    LEAST_START,
    HeldInterrupts,
    StopRequests,
    StopVote,
)
from cugraph_ws.execution.vertex_loop import VertexLoop
from cugraph_ws.kernels.cpu.jit import jit
from cugraph_ws.runtime import looks
from cugraph_ws.runtime.looks import (
    StepAbandoned,
    awaited,
    look,
    look_together,
    watched_by,
    without_looks,
)
from cugraph_ws.runtime.saved_state import SavedState
from cugraph_ws.runtime.threads import parallel, serial

FIRST = ProgressUpdate(0, 0, 0, 0.0, None, None, 0.0)


class EndsAt:
    """A watch by which a run ends at its n-th look."""

    def __init__(self, number: int) -> None:
        self.left = number

    def look(self) -> None:
        self.left -= 1
        if self.left <= 0:
            raise StepAbandoned("timeout")

    def look_together(self) -> None:
        self.look()


class Clock:
    """Stands for the module `time`: its time passes by hand."""

    now = 100.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(stop_requests, "time", made)
    return made


def begun(timeout: float | None, progress: Any = False) -> StopRequests:
    made = StopRequests(timeout, None, reporter(progress, "bfs"))
    made.begin_steps(HeldInterrupts(), FIRST)
    return made


# ------------------------------------------------------------------------------------------- looks


def test_nobody_watches_outside_a_run() -> None:
    look()
    look_together()


def test_looks_ask_the_watch_of_their_block() -> None:
    with watched_by(EndsAt(2)):
        look()
        with without_looks():
            look()
            look_together()
        with pytest.raises(StepAbandoned, match="timeout"):
            look_together()
    look()


@pytest.mark.parametrize("count", ["1", "2", "3"])
@pytest.mark.parametrize("number", [1, 4])
def test_no_task_begins_after_the_look_that_ends_the_run(
    monkeypatch: pytest.MonkeyPatch, count: str, number: int
) -> None:
    monkeypatch.setenv("CUGRAPH_WS_THREADS", count)
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 0)
    done: list[int] = []
    with watched_by(EndsAt(number)), pytest.raises(StepAbandoned):
        parallel(done.append, [(task,) for task in range(1000)])
    assert len(done) < number
    with watched_by(EndsAt(1)):
        assert parallel(abs, [(-1,), (-2,)], looks=False) == [1, 2], "the pool still works"
        assert serial(abs, [(-1,), (-2,)], looks=False) == [1, 2]


@pytest.mark.parametrize("of_caller", [True, False], ids=["caller", "helper"])
def test_after_an_error_no_further_task_begins(
    monkeypatch: pytest.MonkeyPatch, of_caller: bool
) -> None:
    monkeypatch.setenv("CUGRAPH_WS_THREADS", "2")
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 0)
    caller, both, done = threading.current_thread(), threading.Barrier(2), []

    def work(task: int) -> None:
        fails = (threading.current_thread() is caller) == of_caller
        if fails or not done:
            both.wait(30)
        if fails:
            raise ZeroDivisionError
        time.sleep(1e-3)
        done.append(task)

    with pytest.raises(ZeroDivisionError):
        parallel(work, [(task,) for task in range(2000)])
    assert len(done) < 1999


def test_a_run_ends_while_a_long_call_of_numpy_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The call is in another thread; an array below the bound, and a call that nobody watches, are not."""
    monkeypatch.setattr(looks, "GLANCE", 1e-3)
    monkeypatch.setattr(looks, "LEAST_AWAITED", 100)
    caller, callers = threading.current_thread(), []
    begun, let_go = threading.Event(), threading.Event()

    def ordered(keys: Any, *, kind: str) -> Any:
        callers.append(threading.current_thread() is caller)
        if not callers[-1]:
            begun.set()
            assert let_go.wait(30)
        return np.argsort(keys, kind=kind)

    keys = np.arange(100)[::-1]
    assert awaited(ordered, keys, kind="stable")[0] == 99
    with watched_by(EndsAt(3)):
        assert awaited(ordered, keys[1:], kind="stable")[0] == 98
        with pytest.raises(StepAbandoned):
            awaited(ordered, keys, kind="stable")
    assert begun.wait(30)
    let_go.set()
    with watched_by(EndsAt(1 << 60)):
        assert awaited(ordered, keys, kind="stable")[0] == 99
        with pytest.raises(TypeError):
            awaited(ordered, keys)
    assert callers == [True, True, False, False]


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_a_run_ends_before_a_function_is_compiled(tmp_path: Any, monkeypatch: Any) -> None:
    path = tmp_path / "module.py"
    path.write_text("def twice(value):\n    return 2 * value\n")
    namespace: dict[str, Any] = {"__name__": "module"}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    twice: Any = jit(namespace["twice"])
    with watched_by(EndsAt(1)), pytest.raises(StepAbandoned):
        twice(21)
    assert not twice.signatures
    with watched_by(EndsAt(2)), pytest.raises(StepAbandoned):
        twice(21)
    assert twice.signatures, "the look after it ended the run"
    with watched_by(EndsAt(1)):
        assert twice(21) == 42


# ---------------------------------------------------------------------------------- stop requests


def test_time_runs_out_within_a_step(clock: Clock) -> None:
    stops = begun(1.0)
    clock.now += 0.9
    stops.look()
    assert stops.between_steps() is None
    clock.now += 0.2
    with pytest.raises(StepAbandoned, match="timeout"):
        stops.look()
    assert stops.between_steps() == "timeout"


def test_a_start_of_little_time_is_not_abandoned(clock: Clock) -> None:
    stops = StopRequests(1e-9, None, reporter(False, "bfs"))
    clock.now += LEAST_START / 2
    stops.look()
    clock.now += LEAST_START
    with pytest.raises(StepAbandoned, match="timeout"):
        stops.look()


def test_ctrl_c_ends_a_step() -> None:
    interrupts = HeldInterrupts()
    stops = StopRequests(None, None, reporter(False, "bfs"))
    stops.look()
    stops.begin_steps(interrupts, FIRST)
    stops.look()
    interrupts.pressed = True
    with pytest.raises(StepAbandoned, match="interrupt"):
        stops.look_together()


def test_a_callback_is_called_within_long_steps(clock: Clock) -> None:
    seen: list[float] = []

    def callback(update: ProgressUpdate) -> bool:
        assert (update.superstep, update.edges) == (3, 77)
        seen.append(round(update.seconds, 3))
        return len(seen) < 3

    stops = begun(None, callback)
    stops.report(ProgressUpdate(3, 5, 77, 0.0, None, None, 0.0))
    for _ in range(3):
        stops.look()
    clock.now += EVERY / 2
    stops.look()
    assert seen == [0.0], "that of the complete step"
    clock.now += EVERY
    stops.look()
    stops.look()
    assert len(seen) == 2
    clock.now += 1.5 * EVERY
    with pytest.raises(StepAbandoned, match="callback"):
        stops.look()
    assert stops.between_steps() == "callback"


def test_a_callback_is_called_in_a_long_start(clock: Clock) -> None:
    stops = StopRequests(None, None, reporter(lambda update: update.superstep > 0, "bfs"))
    stops.look()
    clock.now += 2 * EVERY
    with pytest.raises(StepAbandoned, match="callback"):
        stops.look()


def test_only_the_thread_of_the_run_calls_its_callback(clock: Clock) -> None:
    stops = begun(None, lambda update: False)
    clock.now += 2 * EVERY
    other = threading.Thread(target=stops.look)
    other.start()
    other.join(30)
    assert stops.between_steps() is None
    with pytest.raises(StepAbandoned, match="callback"):
        stops.look()


def test_ranks_abandon_a_step_together() -> None:
    def work(comm: ThreadCommunicator) -> int:
        timeout = 1e-9 if comm.rank == 0 else None
        stops = StopRequests(timeout, StopVote(comm), reporter(False, "bfs"))
        stops.begin_steps(HeldInterrupts(), FIRST)
        stops.look()  # a rank alone never ends
        for number in range(1000):
            try:
                stops.look_together()
            except StepAbandoned:
                return number
        raise AssertionError

    assert len(set(on_ranks(3, work))) == 1


# ------------------------------------------------------------------------------------- whole runs


class Summing(Loop):
    """Each step looks some times and then adds 1; `start` looks once."""

    name = "summing"
    ends_within_steps = True
    converged = False
    max_iter = 4

    def memory(self, sizes: Any) -> float:
        return 0

    def start(self, graph: Any, *, on_device: bool = False) -> None:
        look()
        self._graph, self._total, self._half_done = graph, 0, []

    def step(self) -> Step:
        self._half_done = [1]
        self._note = "half done"
        for _ in range(3):
            look()
        self._total += 1
        self._half_done = []
        return Step(1, 1)

    def inputs(self) -> dict[str, Any]:
        return {}

    def state(self) -> dict[str, Any]:
        return {"total": np.array([self._total])}

    def check(self, state: SavedState, graph: Any) -> None:
        state.integers("total", 1, 0, 4)

    def restore(self, state: dict[str, Any]) -> None:
        self._total = int(state["total"][0])

    def columns(self) -> dict[str, Any]:
        assert not self._half_done
        return {"total": np.full(self._graph.number_of_vertices, self._total)}


def ending_at(number: int, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let runs end at the n-th look, of those in steps and in the start."""

    class Ending(StopRequests):
        looks = 0

        def _note(self, *, within: bool = False) -> None:
            self.looks += within
            if self.looks == number:
                self._request = reason

    monkeypatch.setattr(driver, "StopRequests", Ending)


@pytest.mark.parametrize(("number", "complete"), [(2, 0), (4, 0), (5, 1), (9, 2)])
def test_a_run_returns_the_state_before_the_step(
    monkeypatch: pytest.MonkeyPatch, number: int, complete: int
) -> None:
    ending_at(number, "callback", monkeypatch)
    with build(SHAPES["cycle"]) as graph:
        result = ws.run(Summing(), graph)
        assert len(result.trace) == complete
    assert (result.stopped, result.iterations, result.converged) == ("callback", complete, False)
    assert set(result.arrays["total"]) == {complete}


def test_a_run_ends_while_its_memory_is_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    """The estimate asks for types of columns, for which a graph makes its rows."""

    class Estimating(Summing):
        def memory(self, sizes: Any) -> float:
            look()
            raise AssertionError

    ending_at(1, "timeout", monkeypatch)
    with build(SHAPES["cycle"]) as graph:
        result = ws.run(Estimating(), graph)
    assert (result.stopped, result.iterations) == ("timeout", 0)


def test_ctrl_c_within_a_step_keeps_the_state_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ending_at(6, "interrupt", monkeypatch)
    with build(SHAPES["cycle"]) as graph, pytest.raises(ws.Interrupted, match="after 1 supersteps"):
        ws.run(Summing(), graph)


def test_a_run_that_ends_in_its_start_has_no_state(monkeypatch: pytest.MonkeyPatch) -> None:
    ending_at(1, "timeout", monkeypatch)
    with build(SHAPES["cycle"]) as graph:
        result = ws.run(Summing(), graph)
        assert (result.stopped, result.iterations, dict(result.arrays)) == ("timeout", 0, {})
        assert list(result.frame.columns) == ["vertex"]
        assert result.trace.empty
        with pytest.raises(ws.ConvergenceError, match="stopped by timeout after 0 supersteps"):
            result.require_convergence("summing")


@pytest.mark.parametrize("partitions", [1, 3])
def test_predecessors_of_a_search_that_was_stopped_are_computed_when_read(
    monkeypatch: pytest.MonkeyPatch, partitions: int
) -> None:
    calls: list[int] = []
    arrays = VertexLoop.arrays
    monkeypatch.setattr(VertexLoop, "arrays", lambda loop: (calls.append(1), arrays(loop))[1])
    plan = ws.Plan(partitions=partitions, fused=False)
    with build(SHAPES["path"]) as graph:
        expected = ws.run(ws.BFS, graph, start=0, plan=plan, max_iter=3)
        assert len(calls) == partitions
        result = ws.run(
            ws.BFS, graph, start=0, plan=plan, progress=lambda update: update.superstep < 3
        )
        assert (result.stopped, result.iterations) == ("callback", 3)
        assert len(calls) == partitions, "nobody has read them"
        for _ in range(2):
            assert result.frame.equals(expected.frame)
            assert list(result.arrays) == list(expected.arrays)
        assert len(calls) == 2 * partitions
        unread = ws.run(ws.BFS, graph, start=0, plan=plan, progress=lambda _: False)
        assert len(calls) == 2 * partitions
    assert len(calls) == 3 * partitions, "the graph is closed"
    assert unread.arrays["distance"].values[0] == 0


def test_steps_of_other_loops_are_completed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Whole(Summing):
        ends_within_steps = False

    ending_at(2, "timeout", monkeypatch)  # no look of a step is counted
    with build(SHAPES["cycle"]) as graph:
        assert ws.run(Whole(), graph).iterations == 4


@pytest.mark.parametrize("engine", ["cpu", "python"])
def test_a_superstep_that_is_abandoned_leaves_the_state_before_it(
    monkeypatch: pytest.MonkeyPatch, engine: Any
) -> None:
    from cugraph_ws.backends.cpu.context import Context

    monkeypatch.setattr(Context, "pieces", lambda self, work: 5)
    with build(SHAPES["rmat"]) as graph:
        ends = [ws.run(Rank, graph, engine=engine, max_iter=n, tol=None).frame for n in range(4)]
        for number in range(2, 14):
            ending_at(number, "timeout", monkeypatch)
            result = ws.run(Rank, graph, engine=engine, max_iter=9, tol=None)
            assert result.stopped == "timeout"
            np.testing.assert_array_equal(result.frame, ends[result.iterations])
