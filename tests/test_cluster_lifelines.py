"""Connections by which members notice that another one is gone, beside Dask's own."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import socket
import threading
from collections.abc import Iterator
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
            line.sendall(lifelines.HELLO.pack(b"0" * 32, 1))
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
    assert [sorted(one._lines) for one in made] == [[1, 2], [0, 2], [0, 1]]
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
