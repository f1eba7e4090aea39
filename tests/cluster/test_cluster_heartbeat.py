"""Connections beside Dask's own, by which ranks notice that another one is lost."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from clusters import certificates
from thread_ranks import ThreadCommunicator, on_ranks

from cugraph_ws.dask import control_channel as channel
from cugraph_ws.dask import heartbeat as heartbeat
from cugraph_ws.dask.control_channel import PairKeys, Transport
from cugraph_ws.dask.heartbeat import Heartbeat
from cugraph_ws.errors import WorkerLostError
from cugraph_ws.runtime.communicator import RunAbandonedError

WHO = [f"tcp://127.0.0.1:{rank}" for rank in range(3)]
WAIT = 30.0


PLAIN = Transport("run", ["127.0.0.1"])


class Checked(ThreadCommunicator):
    """A communicator of a run that is never abandoned."""

    transport = PLAIN

    def check(self) -> None:
        pass


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: Any) -> Transport:
    security = certificates(tmp_path_factory.mktemp("certificates"))
    return Transport(
        "run",
        ["127.0.0.1"],
        security.get_listen_args("worker")["ssl_context"],
        security.get_connection_args("worker")["ssl_context"],
    )


@pytest.fixture(autouse=True, params=["plain", "TLS"])
def transport(request: Any, encrypted: Transport, monkeypatch: Any) -> Transport:
    """Have the test run over connections of one kind, and then of the other."""
    chosen = encrypted if request.param == "TLS" else PLAIN
    monkeypatch.setattr(Checked, "transport", chosen)
    return chosen


def joined(comm: Any) -> Heartbeat:
    checked: Any = Checked(comm.rank, comm.size, comm._board, comm._barrier)  # of threads
    return Heartbeat(checked, WHO)


@contextmanager
def lines() -> Iterator[tuple[list[Heartbeat], list[queue.Queue[Exception]]]]:
    """Give each rank's heartbeat, watched, and the errors that it reports."""
    made = on_ranks(len(WHO), joined)
    told = [queue.Queue[Exception]() for _ in made]
    for one, into in zip(made, told, strict=True):
        one.watch(into.put)
    try:
        yield made, told
    finally:
        for one in made:
            one.close()


def test_a_lost_rank_is_reported_to_all() -> None:
    with lines() as (made, told):
        made[1].close()
        for rank in (0, 2):
            error = told[rank].get(timeout=WAIT)
            assert isinstance(error, WorkerLostError)
            assert str(error) == "worker tcp://127.0.0.1:1 was lost"
        assert told[1].empty(), "nobody is told of himself"


def test_a_rank_that_leaves_a_run_ends_it_for_the_others(monkeypatch: Any) -> None:
    monkeypatch.setattr(heartbeat, "GRACE", 0.2)
    with lines() as (made, told):
        for one in made[:2]:
            one.begin("run 1")
        made[2].begin("run 1")
        made[2].end(failed=False)
        made[0].end(failed=True)
        error = told[1].get(timeout=WAIT)
        assert isinstance(error, RunAbandonedError)
        made[2].close()  # its earlier signals have arrived
        assert isinstance(told[0].get(timeout=WAIT), WorkerLostError)
        assert told[2].empty(), "it had left by itself"


def test_a_rank_that_follows_in_time_gets_no_signal(monkeypatch: Any) -> None:
    monkeypatch.setattr(heartbeat, "GRACE", 0.1)
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
    """No rank asks over Dask; a rank that waits for too long fails, and lets the test end."""
    until = time.monotonic() + WAIT

    def is_called() -> bool:
        assert time.monotonic() < until, "not all ranks have the signal"
        return False

    return is_called


def asked(made: list[Heartbeat], run: str, free: list[bool]) -> list[bool | None]:
    """Have each rank ask whether all GPUs are free for a run."""
    with ThreadPoolExecutor(len(made)) as executor:
        return list(executor.map(lambda one, here: one.are_free(run, here, never()), made, free))


def test_all_ranks_learn_whether_all_gpus_are_free() -> None:
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


def test_a_waiting_request_learns_of_a_lost_rank() -> None:
    with lines() as (made, told):
        with ThreadPoolExecutor(2) as executor:
            answers = [executor.submit(one.are_free, "run 1", True, never()) for one in made[:2]]
            made[2].close()
            assert [one.result(WAIT) for one in answers] == [None, None]
        assert isinstance(told[0].get(timeout=WAIT), WorkerLostError)
        assert made[0].are_free("run 2", True, never()) is None


def test_a_waiting_request_can_be_abandoned_or_called_over_dask() -> None:
    def given_up() -> bool:
        raise RunAbandonedError("the run is over")

    with lines() as (made, _):
        with pytest.raises(RunAbandonedError):
            made[0].are_free("run 1", True, given_up)
        assert made[0].are_free("run 1", True, lambda: True) is None


def has_heard_of(one: Heartbeat, run: str) -> bool:
    """Wait until a rank has received a signal of a run."""
    with one._changed:
        return one._changed.wait_for(lambda: heartbeat._digest(run) in one._free, WAIT)


def test_runs_that_never_begin_are_forgotten(monkeypatch: Any) -> None:
    monkeypatch.setattr(heartbeat, "MOST_RUNS", 3)
    with lines() as (made, _):
        for number in range(6):
            made[0]._signal(heartbeat._digest(f"run {number}"), heartbeat.FREE)
        # before the others are asked: with so few that are remembered, what they tell of the last run
        # would be forgotten for those that came before it
        assert all(has_heard_of(one, "run 5") for one in made[1:])
        assert [len(one._free) for one in made] == [0, 3, 3]
        assert asked(made, "run 5", [True, True, True]) == [True, True, True]
        assert all(len(one._free) <= 3 for one in made)


def swapped(made: list[Heartbeat], texts: Any) -> list[dict[int, bytes]]:
    """Have each rank send every other one a text; `texts` takes the sender and the receiver."""

    def swap(rank: int) -> dict[int, bytes]:
        others = [one for one in range(len(made)) if one != rank]
        return made[rank].swap({one: texts(rank, one) for one in others}, list)

    with ThreadPoolExecutor(len(made)) as executor:
        return list(executor.map(swap, range(len(made))))


@pytest.mark.parametrize("length", [0, 1, channel.CHUNK, 5_000_000])
def test_texts_of_any_length_are_swapped(length: int) -> None:
    """Also with more bytes than a connection buffers: no rank waits for others to read first."""
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


def test_messages_that_arrive_early_are_kept() -> None:
    """Two ranks are ahead of the third by one letter."""
    with lines() as (made, _):
        for one in made:
            one.begin("run")
        for letter in (b"first", b"second"):
            for rank in (0, 1):
                packed = heartbeat.HEADER.pack(heartbeat._digest("run"), len(letter)) + letter
                made[rank]._message_lines[2].send(packed)
        for letter in (b"first", b"second"):
            assert made[2].swap({0: b"", 1: b""}, list) == {0: letter, 1: letter}


def test_messages_of_an_abandoned_run_are_dropped() -> None:
    with lines() as (made, _):
        stale = b"half of a message"
        made[0].begin("run 1")
        made[0]._message_lines[1].send(
            heartbeat.HEADER.pack(heartbeat._digest("run 1"), len(stale)) + stale
        )
        for one in made:
            one.begin("run 2")
        assert swapped(made, lambda a, b: b"%d to %d" % (a, b))[1] == {0: b"0 to 1", 2: b"2 to 1"}


def test_a_wait_for_messages_ends_when_a_rank_is_lost(monkeypatch: Any) -> None:
    with lines() as (made, _), ThreadPoolExecutor(1) as executor:
        answer = executor.submit(made[0].swap, {1: b"", 2: b""}, list)
        made[1].close()
        with pytest.raises(WorkerLostError, match=r"worker tcp://127\.0\.0\.1:1 was lost"):
            answer.result(WAIT)


def test_a_wait_for_messages_can_be_abandoned(monkeypatch: Any) -> None:
    monkeypatch.setattr(heartbeat, "GLANCE", 0.01)

    def given_up() -> None:
        raise RunAbandonedError("the run is over")

    with lines() as (made, _), pytest.raises(RunAbandonedError):
        made[0].swap({1: b"", 2: b""}, given_up)


def test_connections_are_encrypted_where_the_cluster_is(transport: Transport) -> None:
    with lines() as (made, _):
        for one in made:
            for line in (*one._lines.values(), *one._message_lines.values()):
                assert isinstance(line._line, ssl.SSLSocket) == transport.encrypts


def test_one_rank_without_certificates_makes_all_go_without(encrypted: Transport) -> None:
    """Otherwise half of them would wait for a handshake that never comes."""

    def mixed(comm: Any) -> Heartbeat:
        checked: Any = Checked(comm.rank, comm.size, comm._board, comm._barrier)
        checked.transport = PLAIN if comm.rank == 1 else encrypted
        return Heartbeat(checked, WHO)

    made = on_ranks(len(WHO), mixed)
    for one in made:
        assert not any(isinstance(line._line, ssl.SSLSocket) for line in one._lines.values())
        one.close()


@pytest.mark.parametrize("number", [8, 40])
def test_silent_strangers_delay_no_rank(monkeypatch: Any, number: int) -> None:
    """They connect before any rank does, and never authenticate."""
    monkeypatch.setattr(channel, "HANDSHAKE", 3600.0)
    monkeypatch.setattr(channel, "PENDING", 32)
    strangers: list[socket.socket] = []
    listen, call = heartbeat.listen, heartbeat.call
    there = threading.Event()

    def crowded(transport: Transport) -> socket.socket:
        server = listen(transport)
        strangers.extend(
            socket.create_connection(server.getsockname(), WAIT) for _ in range(number)
        )
        if len(strangers) == number * len(WHO):
            there.set()
        return server

    def later(*given: Any) -> Any:
        assert there.wait(WAIT)
        return call(*given)

    monkeypatch.setattr(heartbeat, "listen", crowded)
    monkeypatch.setattr(heartbeat, "call", later)
    try:
        with lines() as (made, told):
            for one in made:
                one.begin("run")
            assert swapped(made, lambda a, b: bytes([a, b]))[0] == {1: b"\1\0", 2: b"\2\0"}
            assert all(one.empty() for one in told)
    finally:
        for stranger in strangers:
            stranger.close()


def test_invalid_lengths_end_a_connection() -> None:
    with lines() as (made, _):
        made[0].begin("run")
        made[1]._message_lines[0].send(
            heartbeat.HEADER.pack(heartbeat._digest("run"), heartbeat.LONGEST + 1)
        )
        with pytest.raises(WorkerLostError, match=r"worker tcp://127\.0\.0\.1:1 was lost"):
            made[0].swap({1: b"", 2: b""}, list)


def test_a_rank_that_reads_nothing_counts_as_lost(monkeypatch: Any) -> None:
    def full(*given: Any) -> None:
        raise TimeoutError("nothing could be sent")

    with lines() as (made, told):
        monkeypatch.setattr(made[0]._lines[1], "send_all", full)
        made[0]._signal(heartbeat._digest("run"), heartbeat.FREE)
        assert str(told[0].get(timeout=WAIT)) == "worker tcp://127.0.0.1:1 was lost"
        assert str(told[1].get(timeout=WAIT)) == "worker tcp://127.0.0.1:0 was lost"


def test_a_rank_that_cannot_be_reached_is_named(monkeypatch: Any) -> None:
    def unreachable(*given: Any) -> None:
        raise OSError("no way there")

    def on_rank(comm: Any) -> None:
        if comm.rank == 1:
            joined(comm)
        else:
            comm.allgather((1, PairKeys().public, False))

    monkeypatch.setattr(heartbeat, "call", unreachable)
    with pytest.raises(WorkerLostError, match=r"tcp://127\.0\.0\.1:0 cannot be reached \(no way"):
        on_ranks(2, on_rank)


def test_a_rank_that_shows_no_public_number_ends_it() -> None:
    def on_rank(comm: Any) -> None:
        if comm.rank < 2:
            joined(comm)
        else:
            comm.allgather((1, b"", False))

    with pytest.raises(WorkerLostError, match="cannot agree on keys"):
        on_ranks(3, on_rank)


def test_a_second_connection_for_the_same_end_is_not_kept() -> None:
    with lines() as (made, _):
        one, other = map(channel.Channel, socket.socketpair())
        kept = made[0]._lines[1]
        assert not made[0]._take(1, heartbeat.WATCHED, one)
        assert not made[0]._take(1, 9, one)
        assert made[0]._lines[1] is kept
        made[0]._call(1, heartbeat.WATCHED, lambda: one)
        assert one.fileno() == -1
        other.close()


def test_a_rank_that_never_comes_is_named(monkeypatch: Any) -> None:
    monkeypatch.setattr(heartbeat, "PATIENCE", 1.5)
    monkeypatch.setattr(heartbeat, "LOOK", 0.05)

    def on_rank(comm: Any) -> None:
        if comm.rank < 2:
            joined(comm).close()
        else:
            comm.allgather((1, PairKeys().public, True))  # and dies

    with pytest.raises(WorkerLostError, match=r"worker tcp://127\.0\.0\.1:2 has not connected"):
        on_ranks(3, on_rank)


class Piped(Checked):
    """One of two ranks, in processes of their own."""

    def __init__(self, rank: int, pipe: Any) -> None:
        super().__init__(rank, 2, [], threading.Barrier(1))
        self._pipe = pipe

    def allgather(self, value: Any) -> list[Any]:
        self._pipe.send(value)
        assert self._pipe.poll(WAIT)
        other = self._pipe.recv()
        return [value, other] if self.rank == 0 else [other, value]


def _live(pipe: Any) -> None:
    """Be the first rank, and wait to be killed."""
    first: Any = Piped(0, pipe)
    one = Heartbeat(first, WHO[:2])
    threading.Event().wait(WAIT)
    one.close()


@pytest.mark.parametrize("transport", ["plain"], indirect=True)  # contexts of TLS stay here
def test_a_killed_process_is_noticed_at_once() -> None:
    context = multiprocessing.get_context("spawn")
    pipe, theirs = context.Pipe()
    process = context.Process(target=_live, args=(theirs,), daemon=True)
    process.start()
    told: queue.Queue[Exception] = queue.Queue()
    second: Any = Piped(1, pipe)
    one = Heartbeat(second, WHO[:2])
    one.watch(told.put)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    assert isinstance(told.get(timeout=WAIT), WorkerLostError)
    process.join(WAIT)
    one.close()
