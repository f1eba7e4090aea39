"""Ranks that are threads: turns, collectives, errors and interrupts."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar

import numpy as np
import pytest

from cugraph_ws.runtime import thread_ranks
from cugraph_ws.runtime.communicator import RunAbandonedError
from cugraph_ws.runtime.looks import StepAbandoned, look, watched_by
from cugraph_ws.runtime.thread_ranks import ThreadRanks

setting: ContextVar[str] = ContextVar("setting", default="usual")


def test_ranks_take_turns_in_the_same_order():
    def work(comm):
        for number in range(3):
            seen.append((comm.rank, number))
            comm.allgather(number)
        return comm.rank

    ranks = ThreadRanks(3)
    for _ in range(2):
        seen = []
        assert ranks.call(work) == [0, 1, 2]
        assert [one for one in seen if one[1] == 0] == [(0, 0), (1, 0), (2, 0)]
        # The last rank to call a collective continues: it is the first one after it.
        assert seen == [(0, 0), (1, 0), (2, 0), (2, 1), (0, 1), (1, 1), (1, 2), (2, 2), (0, 2)]


@pytest.mark.parametrize("size", [1, 2, 5])
def test_values_and_arrays_of_many_collectives(size):
    def work(comm):
        for number in range(20):
            told = comm.allgather((number, comm.rank))
            assert told == [(number, rank) for rank in range(size)]
            own = np.full(3, number * size + comm.rank)
            boxes = comm.alltoall([[own]] * size)
            own += 100  # what has been sent does not change
            for rank, (box,) in enumerate(boxes):
                assert (box is own) is (rank == comm.rank)
                assert rank == comm.rank or box.tolist() == [number * size + rank] * 3

    ThreadRanks(size).call(work)


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_the_error_of_one_rank_is_the_error_of_the_call(failing):
    ends = {}

    def work(comm):
        try:
            comm.allgather(None)
            if comm.rank == failing:
                raise ValueError(f"of rank {failing}")
            while True:
                comm.allgather(None)
        except Exception as error:
            ends[comm.rank] = type(error)
            raise

    with pytest.raises(ValueError, match=f"of rank {failing}"):
        ThreadRanks(3).call(work)
    others = dict.fromkeys(set(range(3)) - {failing}, RunAbandonedError)
    assert ends == {failing: ValueError, **others}


def test_ranks_that_have_not_begun_do_not_begin_after_an_error():
    begun = []

    def work(comm):
        begun.append(comm.rank)
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        ThreadRanks(3).call(work)
    assert begun == [0]


def test_a_collective_that_a_rank_does_not_call_is_an_error():
    with pytest.raises(RuntimeError, match="rank 1 called a collective"):
        ThreadRanks(2).call(lambda comm: comm.rank and comm.allgather(None))


@pytest.mark.usefixtures("usual_handler")
def test_an_interrupt_ends_all_ranks():
    ended = []

    def work(comm):
        try:
            comm.allgather(None)  # all have begun
            if comm.rank == 1:
                os.kill(os.getpid(), signal.SIGINT)
            while True:
                comm.allgather(None)
        finally:
            ended.append(comm.rank)

    with pytest.raises(KeyboardInterrupt):
        ThreadRanks(3).call(work)
    assert sorted(ended) == [0, 1, 2]
    assert ThreadRanks(3).call(lambda comm: comm.allgather(comm.rank)) == [[0, 1, 2]] * 3


def test_the_waiting_caller_looks_whether_its_run_is_to_end(monkeypatch):
    """Only the caller's thread asks a callback, so the ranks' own looks do not."""
    caller, ended = threading.current_thread(), []

    class EndsAtTheCaller:
        def look(self):
            if threading.current_thread() is caller:
                raise StepAbandoned("callback")

    def work(comm):
        try:
            while True:
                look()
                comm.allgather(None)
        finally:
            ended.append(comm.rank)

    monkeypatch.setattr(thread_ranks, "GLANCE", 1e-3)
    with watched_by(EndsAtTheCaller()), pytest.raises(StepAbandoned, match="callback"):
        ThreadRanks(3).call(work)
    deadline = time.monotonic() + 30  # the caller does not wait for them
    while len(ended) < 3 and time.monotonic() < deadline:
        time.sleep(1e-3)
    assert sorted(ended) == [0, 1, 2]


def test_an_interrupt_before_the_caller_waits_ends_all_ranks(monkeypatch):
    """Ranks run as soon as the first one is woken."""
    ranks = ThreadRanks(2)
    ranks.call(lambda comm: None)  # its threads are there
    wake = thread_ranks._idle[os.getpid()][-1].wake
    ended, begun = [], threading.Event()

    class Interrupted:
        acquire, locked = wake.acquire, wake.locked

        def release(self):
            wake.release()
            monkeypatch.undo()
            assert begun.wait(60)
            raise KeyboardInterrupt

    def work(comm):
        try:
            comm.allgather(None)
            begun.set()
            while True:
                comm.allgather(None)
        finally:
            ended.append(comm.rank)

    monkeypatch.setattr(thread_ranks._idle[os.getpid()][-1], "wake", Interrupted())
    with pytest.raises(KeyboardInterrupt):
        ranks.call(work)
    assert sorted(ended) == [0, 1]


def test_an_interrupt_after_the_last_rank_has_ended_is_raised(monkeypatch):
    """It may come while the caller wakes up."""
    ranks = ThreadRanks(2)
    plain = threading.Lock

    class Interrupted:
        def __init__(self):
            self._lock = plain()
            self.release, self._calls = self._lock.release, 0

        def acquire(self, timeout=-1):
            assert self._lock.acquire(timeout=timeout)
            self._calls += 1
            if self._calls == 2:  # the first one closes it
                raise KeyboardInterrupt

    ranks.call(lambda comm: None)  # its threads are there
    monkeypatch.setattr("cugraph_ws.runtime.thread_ranks.threading.Lock", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        ranks.call(lambda comm: None)


def test_threads_are_used_again():
    def work(comm):
        comm.allgather(None)
        return threading.current_thread()

    first = ThreadRanks(3).call(work)
    assert len(set(first)) == 3
    assert threading.current_thread() not in first
    before = set(threading.enumerate())
    for _ in range(5):
        assert set(ThreadRanks(3).call(work)) <= before


def test_groups_of_several_callers_do_not_mix():
    def called(number):
        ranks = ThreadRanks(3)
        return [
            ranks.call(lambda comm, turn=turn: comm.allgather((number, turn, comm.rank)))
            for turn in range(20)
        ]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(called, range(4)))
    for number, calls in enumerate(found):
        for turn, told in enumerate(calls):
            assert told == [[(number, turn, rank) for rank in range(3)]] * 3


def test_ranks_see_the_callers_context():
    token = setting.set("changed")
    try:
        with np.errstate(divide="raise"):
            found = ThreadRanks(2).call(lambda comm: (setting.get(), np.geterr()["divide"]))
    finally:
        setting.reset(token)
    assert found == [("changed", "raise")] * 2
    assert ThreadRanks(2).call(lambda comm: setting.get()) == ["usual"] * 2
