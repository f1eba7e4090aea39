"""Heartbeat: connections between ranks, watched by a thread of their own while GPUs wait.

A GPU that waits for the message of a lost rank does nothing else.  A thread that copies to this GPU
waits too.  If this thread is the worker's event loop, reading a frame that Dask has sent, nothing more
arrives over Dask, not even the message that the rank is lost.  So ranks hold connections to each
other besides Dask's.  They break when a process ends or its machine is cut off.  They carry signals
about runs: that a rank has left a run that others are still in, and whether its GPU is free for a
run that begins.

Each pair of ranks has a second connection for those messages of a run that are not for a GPU.  Over
Dask's connections, or copied to the GPU and back, such a message would take longer than a small
superstep.  `cugraph_ws.dask.control_channel` opens and authenticates the connections.
"""

from __future__ import annotations

import hashlib
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from cugraph_ws.dask.control_channel import Channel, Door, HandshakeError, PairKeys, call, listen
from cugraph_ws.errors import WorkerLostError
from cugraph_ws.runtime.communicator import RunAbandonedError

if TYPE_CHECKING:
    from cugraph_ws.dask.worker import DaskCommunicator

__all__ = ["Heartbeat"]

PATIENCE = 30.0  # seconds until all ranks are connected
CALLED = 0.02  # seconds between two checks whether a rank uses Dask's connections instead
GLANCE = 0.1  # seconds between two checks whether to keep waiting for messages
LOOK = 0.5  # seconds between two checks whether to keep waiting for connections
GRACE = 1.0  # seconds in which a rank must leave a run after another rank has left it
SILENCE = 5  # seconds without traffic until the first keep-alive probe, and between probes
QUESTIONS = 2  # unanswered keep-alive probes until a connection breaks
SEND_LIMIT = 5.0  # seconds to send a signal, after which the other rank counts as lost
WATCHED, MESSAGES = range(2)  # what a connection is for: signals, or messages of a run
RUN = 16  # bytes of a run's digest
HEADER = struct.Struct(f"{RUN}sQ")  # the header of a message: its run and length
LONGEST = 1 << 31  # bytes of a message
SIGNAL = struct.Struct(f"{RUN}sB")  # a signal: a run, and one of the three below
LEFT, BUSY, FREE = range(3)  # the rank has left the run; another run has its GPU; its GPU is free
MOST_RUNS = 1024  # runs for which the state of GPUs is kept


class Heartbeat:
    """Connections to all other ranks of a communicator; making them is collective.

    Parameters
    ----------
    comm : DaskCommunicator
        Exchanges the ports and public keys of the ranks.
    addresses : sequence of str
        The workers, by rank.

    Raises
    ------
    WorkerLostError
        If a rank does not connect.
    RunAbandonedError
        If the run is abandoned meanwhile.
    """

    def __init__(self, comm: DaskCommunicator, addresses: Sequence[str]) -> None:
        self._addresses = list(addresses)
        self._size, self._rank = comm.size, comm.rank
        self._lines: dict[int, Channel] = {}
        self._message_lines: dict[int, Channel] = {}
        self._read: dict[int, bytearray] = {}  # received bytes of messages, perhaps in part
        self._partial: dict[int, bytearray] = {}  # received bytes of an incomplete signal
        self._run = b""  # the digest of the current run
        self._sending = threading.Lock()
        self._changed = threading.Condition()
        self._free: dict[bytes, dict[int, bool]] = {}  # by run and rank: whether its GPU is free
        self._over = False  # whether the watching has ended
        self._unreached: WorkerLostError | None = None  # why a rank cannot be reached
        self._wake, self._woken = socket.socketpair()
        self._thread: threading.Thread | None = None
        try:
            self._connect(comm)
        except BaseException:
            self.close()
            raise
        for rank in self._lines:
            self._read[rank], self._partial[rank] = bytearray(), bytearray()

    def _connect(self, comm: DaskCommunicator) -> None:
        """Connect to the ranks below, and accept the connections of the ranks above."""
        transport, keys = comm.transport, PairKeys()
        with listen(transport) as server:
            port = server.getsockname()[1]
            shown = comm.allgather((port, keys.public, transport.encrypts))
            ports = [facts[0] for facts in shown]
            if not all(facts[2] for facts in shown):
                transport = replace(transport, server=None, client=None)
            try:
                keys.learn(transport.run, [facts[1] for facts in shown])
            except HandshakeError as error:
                raise WorkerLostError(f"workers cannot agree on keys ({error})") from error
            door = Door(server, transport, keys, comm.rank, self._take)
            try:
                for rank in range(comm.rank):
                    for what in (WATCHED, MESSAGES):
                        reach = partial(
                            call, transport, keys, self._addresses[rank], ports[rank],
                            (comm.rank, rank, what), PATIENCE,
                        )  # fmt: skip
                        threading.Thread(
                            target=self._call, args=(rank, what, reach), daemon=True
                        ).start()
                self._wait_for_all(comm)
            finally:
                door.close()

    def _wait_for_all(self, comm: DaskCommunicator) -> None:
        """Wait until there are connections with all ranks."""
        until = time.monotonic() + PATIENCE

        def is_settled() -> bool:
            return self._unreached is not None or not self._missing()

        while True:
            with self._changed:
                settled = self._changed.wait_for(is_settled, LOOK)
            if self._unreached is not None:
                raise self._unreached
            if settled:
                return
            comm.check()
            if time.monotonic() > until:
                late = self._addresses[min(self._missing())]
                raise WorkerLostError(f"worker {late} has not connected")

    def _missing(self) -> set[int]:
        """Return the ranks without both connections."""
        return (
            set(range(self._size))
            - {self._rank}
            - (self._lines.keys() & self._message_lines.keys())
        )

    def _take(self, rank: int, what: int, line: Channel) -> bool:
        """Keep a connection with a rank unless there is one; return whether it is kept."""
        lines = {WATCHED: self._lines, MESSAGES: self._message_lines}.get(what)
        with self._changed:
            if lines is None or rank in lines or self._over:
                return False
            line.notice_silence(SILENCE, QUESTIONS)
            lines[rank] = line
            self._changed.notify_all()
        return True

    def _call(self, rank: int, what: int, reach: Callable[[], Channel]) -> None:
        """Make a connection and keep it, or keep the error."""
        try:
            line = reach()
        except Exception as error:
            lost = WorkerLostError(f"worker {self._addresses[rank]} cannot be reached ({error})")
            lost.__cause__ = error
            with self._changed:
                self._unreached = self._unreached or lost
                self._changed.notify_all()
            return
        if not self._take(rank, what, line):
            line.close()

    # ------------------------------------------------------------------------------------- runs

    def begin(self, run: str) -> None:
        """Set the current run.

        Parameters
        ----------
        run : str
            The same on all ranks.
        """
        self._run = _digest(run)

    def end(self, *, failed: bool) -> None:
        """Leave the current run.

        Parameters
        ----------
        failed : bool
            Whether other ranks may still wait for this one; if so, they get a signal.
        """
        run, self._run = self._run, b""
        if failed:
            self._signal(run, LEFT)

    def _signal(self, run: bytes, what: int) -> None:
        """Send a signal about a run to all other ranks."""
        with self._sending:
            for line in self._lines.values():
                try:
                    line.send_all(SIGNAL.pack(run, what), SEND_LIMIT)
                except OSError:  # broken or blocked: both ends then notice the shutdown
                    line.shut()

    def are_free(self, run: str, is_free: bool, is_called: Callable[[], bool]) -> bool | None:
        """Return whether the GPUs of all ranks are free for a run; collective.

        Parameters
        ----------
        run : str
        is_free : bool
            Whether this rank's GPU is free.
        is_called : callable
            Returns whether a rank without connections asks over Dask instead; raises an error if the run
            is abandoned.  Called repeatedly while waiting.

        Returns
        -------
        bool or None
            None if a rank is lost or asks over Dask; then all ranks must ask over Dask.
        """
        digest, number_of_peers = _digest(run), len(self._lines)
        self._signal(digest, FREE if is_free else BUSY)

        def is_known() -> bool:
            return self._over or len(self._free.get(digest, ())) == number_of_peers

        known = called = False
        while not (known or called):
            with self._changed:
                known = self._changed.wait_for(is_known, CALLED)
            called = is_called()
        with self._changed:
            states = self._free.pop(digest, {})
        return is_free and all(states.values()) if len(states) == number_of_peers else None

    # --------------------------------------------------------------------------------- messages

    def swap(self, texts: Mapping[int, bytes], check: Callable[[], None]) -> dict[int, bytes]:
        """Send a message to each other rank, and return the message of each; collective in a run.

        Parameters
        ----------
        texts : mapping of int to bytes
            By rank.
        check : callable
            Raises an error if the run cannot continue; called repeatedly while waiting.

        Returns
        -------
        dict of int to bytes
            By rank.
        """
        run = self._run
        going = {
            rank: memoryview(HEADER.pack(run, len(text)) + text) for rank, text in texts.items()
        }
        received: dict[int, bytes] = {}
        while going or len(received) < len(texts):
            going = {rank: rest for rank, text in going.items() if (rest := self._sent(rank, text))}
            for rank in texts.keys() - received.keys():
                if (text := self._taken(rank, run)) is not None:
                    received[rank] = text
            waiting = texts.keys() - received.keys()
            if (going or waiting) and not self._is_ready(going.keys(), waiting):
                check()
        return received

    def _is_ready(self, going: Iterable[int], coming: Iterable[int]) -> bool:
        """Wait until some bytes can be sent or received; return False if that takes too long."""
        poller = select.poll()
        events = dict.fromkeys(coming, select.POLLIN)
        for rank in going:
            events[rank] = events.get(rank, 0) | select.POLLOUT
        for rank, event in events.items():
            poller.register(self._message_lines[rank], event)
        return bool(poller.poll(GLANCE * 1e3))

    def _sent(self, rank: int, text: memoryview) -> memoryview:
        """Send what can be sent without blocking; return the rest."""
        try:
            return text[self._message_lines[rank].send(text) :]
        except OSError as error:
            raise self._lost(rank) from error

    def _taken(self, rank: int, run: bytes) -> bytes | None:
        """Return the message received from a rank; None if it is not complete."""
        read = self._read[rank]
        while True:
            while len(read) >= HEADER.size:
                of, length = HEADER.unpack_from(read)
                if length > LONGEST:
                    raise self._lost(rank)  # no rank sends that much
                end = HEADER.size + length
                if len(read) < end:
                    break
                text = bytes(memoryview(read)[HEADER.size : end])
                del read[:end]
                if of == run:  # messages of abandoned runs are discarded
                    return text
            try:
                some = self._message_lines[rank].receive()
            except OSError as error:
                raise self._lost(rank) from error
            if some is None:
                return None
            if not some:
                raise self._lost(rank)
            read += some

    def _lost(self, rank: int) -> WorkerLostError:
        return WorkerLostError(f"worker {self._addresses[rank]} was lost")

    # --------------------------------------------------------------------------------- watching

    def watch(self, on_error: Callable[[Exception], None]) -> None:
        """Watch the connections in a thread that ends with them.

        Parameters
        ----------
        on_error : callable
            Called once in that thread: with WorkerLostError if a rank is lost, or with
            RunAbandonedError if a rank has left the run and this one has not followed.
        """
        self._thread = threading.Thread(
            target=self._look, args=(on_error,), name="cugraph_ws heartbeat", daemon=True
        )
        self._thread.start()

    def _look(self, on_error: Callable[[Exception], None]) -> None:
        try:
            error = self._first_error()
        finally:
            with self._changed:
                self._over = True
                self._changed.notify_all()
        if error is not None:
            on_error(error)

    def _first_error(self) -> Exception | None:
        """Return the error that ends the watching; None if the connections are closed here."""
        ranks = {line.fileno(): rank for rank, line in self._lines.items()}
        poller = select.poll()
        for descriptor in (*ranks, self._woken.fileno()):
            poller.register(descriptor, select.POLLIN)
        run_left, until = b"", 0.0  # the run that a rank has left, and the time by which to follow
        ready = list(ranks)  # at first all, since `poll` does not see bytes already decrypted
        while True:
            for descriptor in ready:
                if descriptor not in ranks:
                    return None
                signals, closed = self._received(ranks[descriptor])
                for run, what in signals:
                    if what == LEFT:
                        run_left, until = run, time.monotonic() + GRACE
                    else:
                        self._note(ranks[descriptor], run, what == FREE)
                if closed:
                    return self._lost(ranks[descriptor])
            if run_left and time.monotonic() >= until:
                if run_left == self._run:
                    return RunAbandonedError("another rank has left the run")
                run_left = b""
            pause = max(0.0, until - time.monotonic()) * 1e3 if run_left else None
            ready = [descriptor for descriptor, _ in poller.poll(pause)]

    def _received(self, rank: int) -> tuple[list[tuple[bytes, int]], bool]:
        """Return the signals received from a rank, and whether it is lost."""
        read, closed = self._partial[rank], False
        try:
            while some := self._lines[rank].receive():
                read += some
            closed = some is not None
        except OSError:
            closed = True
        size = len(read) // SIGNAL.size * SIGNAL.size
        signals = list(SIGNAL.iter_unpack(read[:size]))
        del read[:size]
        return signals, closed

    def _note(self, rank: int, run: bytes, free: bool) -> None:
        """Keep whether a rank's GPU is free for a run, until `are_free` reads it."""
        with self._changed:
            self._free.setdefault(run, {})[rank] = free
            while len(self._free) > MOST_RUNS:  # drop the oldest, of runs that never began here
                del self._free[next(iter(self._free))]
            self._changed.notify_all()

    def close(self) -> None:
        """Close all connections; the other ranks then count this one as lost."""
        with self._changed:
            self._over = True  # `_take` keeps no further connection
        self._wake.close()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(LOOK)
        for line in (*self._lines.values(), *self._message_lines.values()):
            line.close()
        self._woken.close()


def _digest(run: str) -> bytes:
    """Return the digest of a run's name."""
    return hashlib.blake2b(run.encode(), digest_size=RUN).digest()
