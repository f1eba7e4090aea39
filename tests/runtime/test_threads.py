"""Ranges of equal work, and the pool that runs them."""

from __future__ import annotations

import os
import threading

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cugraph_ws.backends.cpu.frontier import on_words
from cugraph_ws.errors import InputError
from cugraph_ws.runtime import threads
from cugraph_ws.runtime.threads import cut_evenly, cut_offsets, number_of_threads, parallel


@pytest.fixture(autouse=True)
def as_if_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a run without the compiler have threads too: these tests share no memory."""
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 0)


def covers(ranges: list[tuple[int, int]], size: int) -> bool:
    """Return whether the ranges follow each other from 0 to `size`, none empty."""
    bounds = [0, *(high for _, high in ranges)]
    return (
        [low for low, _ in ranges] == bounds[:-1]
        and bounds[-1] == size
        and all(low < high for low, high in ranges)
    )


@given(st.integers(0, 500), st.integers(1, 40))
def test_cut_evenly(size, pieces):
    ranges = cut_evenly(size, pieces)
    assert covers(ranges, size)
    assert len(ranges) == min(size, pieces)
    lengths = [high - low for low, high in ranges]
    assert max(lengths, default=0) - min(lengths, default=0) <= 1


@given(st.lists(st.integers(0, 50), max_size=80), st.integers(1, 12))
def test_cut_offsets(degrees, pieces):
    offsets = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
    ranges = cut_offsets(offsets, pieces)
    assert covers(ranges, len(degrees))
    assert len(ranges) <= pieces
    share = (offsets[-1] + len(degrees)) / max(min(pieces, len(degrees)), 1)
    for low, high in ranges:
        work = offsets[high] - offsets[low] + high - low
        assert work <= share + max(degrees) + 2, "no range exceeds its share by more than a row"


@given(st.lists(st.integers(0, 200), min_size=1, max_size=20).map(sorted))
def test_on_words(bounds):
    ranges = [(low, high) for low, high in zip([0, *bounds], bounds, strict=False) if low < high]
    words = on_words(ranges)
    assert covers(words, ranges[-1][1] if ranges else 0)
    assert all(low % 32 == 0 for low, _ in words)


@pytest.mark.parametrize("count", ["1", "2", "3"])
def test_results_come_in_the_order_of_the_tasks(monkeypatch, count):
    monkeypatch.setenv("CUGRAPH_WS_THREADS", count)
    assert parallel(pow, [(base, 2) for base in range(50)]) == [base**2 for base in range(50)]
    assert parallel(pow, []) == []
    assert parallel(pow, iter([(3, 2)])) == [9]


def test_a_single_task_stays_in_the_callers_thread(monkeypatch):
    monkeypatch.setenv("CUGRAPH_WS_THREADS", "3")
    assert parallel(threading.get_ident, [()]) == [threading.get_ident()]


def test_tasks_run_at_the_same_time(monkeypatch):
    monkeypatch.setenv("CUGRAPH_WS_THREADS", "2")
    monkeypatch.setattr(threads, "_pool", None)
    meeting = threading.Barrier(2, timeout=30)
    assert sorted(parallel(meeting.wait, [(), ()])) == [0, 1]


@pytest.mark.parametrize("count", ["1", "2"])
def test_an_exception_reaches_the_caller(monkeypatch, count):
    monkeypatch.setenv("CUGRAPH_WS_THREADS", count)
    with pytest.raises(ZeroDivisionError):
        parallel(divmod, [(1, 0), (1, 1), (1, 0)])
    assert parallel(divmod, [(7, 2), (9, 2)]) == [(3, 1), (4, 1)], "the pool still works"


def test_a_forked_process_makes_its_own_pool(monkeypatch):
    monkeypatch.setenv("CUGRAPH_WS_THREADS", "2")
    parallel(pow, [(2, 2), (3, 2)])
    before = threads._pool
    monkeypatch.setattr(threads, "_pool_owner", -7)  # as a child process finds it
    assert parallel(pow, [(2, 2), (3, 2)]) == [4, 9]
    assert threads._pool is not before


class TestNumberOfThreads:
    """As asked, else the cores that the process may use."""

    def test_plain_python_gets_one(self, monkeypatch):
        monkeypatch.setenv("CUGRAPH_WS_THREADS", "4")
        monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
        assert number_of_threads() == 1

    @pytest.mark.parametrize(("asked", "expected"), [("5", 5), ("1", 1)])
    def test_as_asked(self, monkeypatch, asked, expected):
        monkeypatch.setenv("CUGRAPH_WS_THREADS", asked)
        assert number_of_threads() == expected

    def test_else_the_cores(self, monkeypatch):
        monkeypatch.setenv("CUGRAPH_WS_THREADS", "")
        monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 4, 5}, raising=False)
        assert number_of_threads() == 3

    @pytest.mark.parametrize(
        "asked", ["0", "-2", "many", "2.5", "1000000000", "9" * 5000, "²", "65"]
    )
    def test_no_number_that_makes_sense_is_refused(self, monkeypatch, asked):
        monkeypatch.setenv("CUGRAPH_WS_THREADS", asked)
        monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 4, 5}, raising=False)
        with pytest.raises(InputError, match=r"CUGRAPH_WS_THREADS=.*from 1 to 64; .*3 cores"):
            number_of_threads()

    def test_more_cores_more_threads(self, monkeypatch):
        monkeypatch.setenv("CUGRAPH_WS_THREADS", "80")
        monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(20)), raising=False)
        assert number_of_threads() == 80

    @pytest.mark.parametrize(("cores", "expected"), [(6, 6), (None, 1)])
    def test_without_an_affinity_from_the_system(self, monkeypatch, cores, expected):
        monkeypatch.delenv("CUGRAPH_WS_THREADS", raising=False)
        monkeypatch.delattr(os, "sched_getaffinity", raising=False)
        monkeypatch.setattr(os, "cpu_count", lambda: cores)
        assert number_of_threads() == expected
