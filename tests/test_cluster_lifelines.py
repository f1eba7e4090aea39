"""Connections by which members notice that another one is gone, beside Dask's own."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from crews import ThreadCrew, together

from cugraph_ws.cluster import lifelines
from cugraph_ws.cluster.crew import RunAbandonedError
from cugraph_ws.cluster.lifelines import Lifelines
from cugraph_ws.errors import WorkerLostError

WHO = [f"tcp://127.0.0.1:{rank}" for rank in range(3)]
WAIT = 30.0


class Checked(ThreadCrew):
    """A crew that nobody gives up."""

    def check(self) -> None:
        pass


def joined(crew: Any) -> Lifelines:
    checked: Any = Checked(crew.rank, crew.size, crew._board, crew._barrier)  # of threads
    return Lifelines(checked, WHO)


@contextmanager
def lines() -> Iterator[tuple[list[Lifelines], list[queue.Queue[Exception]]]]:
    """Give each member's, watched, and what each is told."""
    made = together(len(WHO), joined)
    told = [queue.Queue[Exception]() for _ in made]
    for one, into in zip(made, told, strict=True):
        one.watch(into.put)
    try:
        yield made, told
    finally:
        for one in made:
            one.close()


def test_a_member_that_is_gone_is_named_to_all() -> None:
    with lines() as (made, told):
        made[1].close()
        for rank in (0, 2):
            error = told[rank].get(timeout=WAIT)
            assert isinstance(error, WorkerLostError)
            assert str(error) == "worker tcp://127.0.0.1:1 is gone"
        assert told[1].empty(), "nobody is told of himself"


def test_a_member_that_leaves_a_run_takes_those_along_who_are_still_in_it(monkeypatch: Any) -> None:
    monkeypatch.setattr(lifelines, "GRACE", 0.2)
    with lines() as (made, told):
        for one in made[:2]:
            one.begin("run 1")
        made[2].begin("run 1")
        made[2].end(failed=False)
        made[0].end(failed=True)
        error = told[1].get(timeout=WAIT)
        assert isinstance(error, RunAbandonedError)
        made[2].close()  # all the rest that it was told has been heard
        assert isinstance(told[0].get(timeout=WAIT), WorkerLostError)
        assert told[2].empty(), "it had left by itself"


def test_who_follows_before_long_is_not_told(monkeypatch: Any) -> None:
    monkeypatch.setattr(lifelines, "GRACE", 0.1)
    with lines() as (made, told):
        for one in made:
            one.begin("run 1")
        for one in made:
            one.end(failed=True)  # the same error for all of them
        for one in made:
            one.begin("run 2")
        passed = threading.Event()
        assert not passed.wait(0.4), "the grace is over"
        assert all(one.empty() for one in told)
        made[0].end(failed=True)
        assert isinstance(told[1].get(timeout=WAIT), RunAbandonedError)


def never() -> Callable[[], bool]:
    """Nobody asks in another way; whoever has waited for too long fails, and lets the test end."""
    until = time.monotonic() + WAIT

    def is_called() -> bool:
        assert time.monotonic() < until, "not all have been told"
        return False

    return is_called


def asked(made: list[Lifelines], run: str, free: list[bool]) -> list[bool | None]:
    """Have each member ask whether all GPUs are free for a run."""
    with ThreadPoolExecutor(len(made)) as executor:
        return list(executor.map(lambda one, here: one.are_free(run, here, never()), made, free))


def test_all_hear_whether_all_are_free() -> None:
    with lines() as (made, told):
        assert asked(made, "run 1", [True, True, True]) == [True, True, True]
        for busy in range(3):
            free = [rank != busy for rank in range(3)]
            assert asked(made, f"run {2 + busy}", free) == [False, False, False]
        assert not any(one._free for one in made), "it is forgotten"
        assert all(one.empty() for one in told)


def test_runs_that_begin_at_once_are_not_confused() -> None:
    with lines() as (made, _), ThreadPoolExecutor(6) as executor:
        answers = [
            executor.submit(made[rank].are_free, run, rank != busy, never())
            for rank, runs in enumerate([("a", "b"), ("b", "a"), ("a", "b")])
            for run, busy in [(one, 1 if one == "a" else None) for one in runs]
        ]
        found = [one.result(WAIT) for one in answers]
    assert found == [False, True, True, False, False, True]


def test_who_asks_hears_of_one_that_is_gone() -> None:
    with lines() as (made, told):
        with ThreadPoolExecutor(2) as executor:
            answers = [executor.submit(one.are_free, "run 1", True, never()) for one in made[:2]]
            made[2].close()
            assert [one.result(WAIT) for one in answers] == [None, None]
        assert isinstance(told[0].get(timeout=WAIT), WorkerLostError)
        assert made[0].are_free("run 2", True, never()) is None


def test_who_asks_can_be_called_off_or_away() -> None:
    def given_up() -> bool:
        raise RunAbandonedError("the run is over")

    with lines() as (made, _):
        with pytest.raises(RunAbandonedError):
            made[0].are_free("run 1", True, given_up)
        assert made[0].are_free("run 1", True, lambda: True) is None


def has_heard_of(one: Lifelines, run: str) -> bool:
    """Wait until a member has been told something of a run."""
    with one._news:
        return one._news.wait_for(lambda: lifelines._word(run) in one._free, WAIT)


def test_runs_that_never_begin_are_forgotten(monkeypatch: Any) -> None:
    monkeypatch.setattr(lifelines, "HEARD", 3)
    with lines() as (made, _):
        for number in range(6):
            made[0]._say(lifelines._word(f"run {number}"), lifelines.FREE)
        # before the others are asked: with so few that are remembered, what they tell of the last run
        # would be forgotten for those that came before it
        assert all(has_heard_of(one, "run 5") for one in made[1:])
        assert [len(one._free) for one in made] == [0, 3, 3]
        assert asked(made, "run 5", [True, True, True]) == [True, True, True]
        assert all(len(one._free) <= 3 for one in made)


def swapped(made: list[Lifelines], texts: Any) -> list[dict[int, bytes]]:
    """Have each member give every other one a text; `texts` takes who gives it, and to whom."""

    def swap(rank: int) -> dict[int, bytes]:
        others = [one for one in range(len(made)) if one != rank]
        return made[rank].swap({one: texts(rank, one) for one in others}, list)

    with ThreadPoolExecutor(len(made)) as executor:
        return list(executor.map(swap, range(len(made))))


@pytest.mark.parametrize("length", [0, 1, lifelines.CHUNK, 5_000_000])
def test_texts_of_any_length_are_swapped(length: int) -> None:
    """Also of more than a connection holds on its way: nobody waits for others to read first."""
    with lines() as (made, told):
        for one in made:
            one.begin("run")
        for turn in range(3):

            def text(a: int, b: int, turn: int = turn) -> bytes:
                return bytes([a, b, turn]) * (length * (a + 1) // 3)

            found = swapped(made, text)
            for rank, came in enumerate(found):
                assert came == {peer: text(peer, rank) for peer in range(3) if peer != rank}
        assert all(one.empty() for one in told)


def test_mail_that_comes_before_it_is_asked_for_waits() -> None:
    """Two members are ahead of the third by one letter."""
    with lines() as (made, _):
        for one in made:
            one.begin("run")
        for letter in (b"first", b"second"):
            for rank in (0, 1):
                packed = lifelines.LETTER.pack(lifelines._word("run"), len(letter)) + letter
                made[rank]._mail[2].send(packed)
        for letter in (b"first", b"second"):
            assert made[2].swap({0: b"", 1: b""}, list) == {0: letter, 1: letter}


def test_mail_of_a_run_that_was_given_up_is_thrown_away() -> None:
    with lines() as (made, _):
        stale = b"half of a meeting"
        made[0].begin("run 1")
        made[0]._mail[1].send(lifelines.LETTER.pack(lifelines._word("run 1"), len(stale)) + stale)
        for one in made:
            one.begin("run 2")
        assert swapped(made, lambda a, b: b"%d to %d" % (a, b))[1] == {0: b"0 to 1", 2: b"2 to 1"}


def test_who_waits_for_mail_hears_of_one_that_is_gone(monkeypatch: Any) -> None:
    with lines() as (made, _), ThreadPoolExecutor(1) as executor:
        answer = executor.submit(made[0].swap, {1: b"", 2: b""}, list)
        made[1].close()
        with pytest.raises(WorkerLostError, match=r"worker tcp://127\.0\.0\.1:1 is gone"):
            answer.result(WAIT)


def test_who_waits_for_mail_can_be_called_off(monkeypatch: Any) -> None:
    monkeypatch.setattr(lifelines, "GLANCE", 0.01)

    def given_up() -> None:
        raise RunAbandonedError("the run is over")

    with lines() as (made, _), pytest.raises(RunAbandonedError):
        made[0].swap({1: b"", 2: b""}, given_up)


def test_strangers_are_turned_away(monkeypatch: Any) -> None:
    """Who is no member, or says he is another one, does not take his place."""
    ports: queue.Queue[int] = queue.Queue()
    listen = lifelines._server

    def server(address: str) -> socket.socket:
        made = listen(address)
        if address == WHO[0]:
            ports.put(made.getsockname()[1])
        return made

    def intrude() -> bytes:
        with socket.create_connection(("127.0.0.1", ports.get(timeout=WAIT)), WAIT) as line:
            line.sendall(lifelines.HELLO.pack(b"0" * 32, 1, lifelines.MAIL))
            return line.recv(1)

    monkeypatch.setattr(lifelines, "_server", server)
    call = Lifelines._called
    with ThreadPoolExecutor(1) as executor:
        answer = executor.submit(intrude)

        def later(own: Lifelines, *given: Any) -> socket.socket:
            answer.exception(WAIT)  # the stranger comes first
            return call(own, *given)

        monkeypatch.setattr(Lifelines, "_called", later)
        made = together(len(WHO), joined)
        assert answer.result() == b""
    for lines_of in ("_lines", "_mail"):
        assert [sorted(getattr(one, lines_of)) for one in made] == [[1, 2], [0, 2], [0, 1]]
    for one in made:
        one.close()


def test_a_member_that_never_comes_is_named(monkeypatch: Any) -> None:
    monkeypatch.setattr(lifelines, "PATIENCE", 0.2)
    monkeypatch.setattr(lifelines, "LOOK", 0.05)

    def member(crew: Any) -> None:
        if crew.rank < 2:
            joined(crew).close()
        else:
            crew.allgather((1, ""))  # and dies

    with pytest.raises(WorkerLostError, match=r"worker tcp://127\.0\.0\.1:2 does not come"):
        together(3, member)


def _live(ports: Any, address: str) -> None:
    """Listen, and wait to be killed."""
    with lifelines._server(address) as server:
        ports.put(server.getsockname()[1])
        server.settimeout(WAIT)
        line, _ = server.accept()
        threading.Event().wait(WAIT)
        line.close()


def test_a_killed_process_is_noticed_at_once() -> None:
    context = multiprocessing.get_context("spawn")
    ports = context.Queue()
    process = context.Process(target=_live, args=(ports, WHO[0]), daemon=True)
    process.start()
    port = ports.get(timeout=WAIT)

    class Second(Checked):
        def allgather(self, value: Any) -> list[Any]:
            return [(port, "0" * 32), value]

    told: queue.Queue[Exception] = queue.Queue()
    second: Any = Second(1, 2, [], threading.Barrier(1))  # of threads
    one = Lifelines(second, WHO[:2])
    one.watch(told.put)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    assert isinstance(told.get(timeout=WAIT), WorkerLostError)
    process.join(WAIT)
    one.close()
