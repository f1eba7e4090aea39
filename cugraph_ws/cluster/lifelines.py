"""Connections between members that a thread of its own looks at while GPUs wait.

A GPU that waits for the message of a member that is gone does nothing else.  Whoever copies to it waits
too, and that may be the worker's event loop, reading a frame that Dask has sent: then no news come over
Dask any more, that the member is gone among them.  So members hold connections to each other beside
Dask's.  They break when a process ends or its machine is cut off, and carry the word that a member has
left a run that others are still in; nothing of a graph goes over them, and who does not know the crew's
token, which travels over Dask's own connections, is turned away.
"""

from __future__ import annotations

import hashlib
import secrets
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from distributed.comm.addressing import get_address_host

from cugraph_ws.cluster.crew import RunAbandonedError
from cugraph_ws.errors import WorkerLostError

if TYPE_CHECKING:
    from cugraph_ws.cluster.worker import DaskCrew

__all__ = ["Lifelines"]

PATIENCE = 30.0  # seconds until all are connected
LOOK = 0.5  # seconds between two looks whether who connects shall still wait
HEARING = 5.0  # seconds that one who has called has to say who it is
GRACE = 1.0  # seconds that a member has to leave a run by itself, once another one has left it
SILENCE = (
    5  # seconds after which the other machine is asked whether it is there, and between questions
)
QUESTIONS = 2  # that go without an answer
HELLO = struct.Struct("32sI")  # the crew's token, and who connects
WORD = 16  # bytes that stand for a run


class Lifelines:
    """A connection to each other member of a crew, made together.

    Parameters
    ----------
    crew : DaskCrew
        By which the members find each other.
    addresses : sequence of str
        The workers of all members.

    Raises
    ------
    WorkerLostError
        If one does not come.
    RunAbandonedError
        If the run is given up meanwhile.
    """

    def __init__(self, crew: DaskCrew, addresses: Sequence[str]) -> None:
        self._addresses = list(addresses)
        self._lines: dict[int, socket.socket] = {}
        self._run = b""  # what stands for the run that goes on
        self._wake, self._woken = socket.socketpair()
        self._thread: threading.Thread | None = None
        try:
            self._connect(crew)
        except BaseException:
            self.close()
            raise

    def _connect(self, crew: DaskCrew) -> None:
        """Have each member call those before it, and take the calls of those after it."""
        deadline = time.monotonic() + PATIENCE
        with _server(self._addresses[crew.rank]) as server:
            told = crew.allgather((server.getsockname()[1], secrets.token_hex(16)))
            token = told[0][1].encode()
            for rank in range(crew.rank):
                self._lines[rank] = self._called(rank, told[rank][0], HELLO.pack(token, crew.rank))
            later = set(range(crew.rank + 1, crew.size))
            while missing := later - self._lines.keys():
                crew.check()
                if time.monotonic() > deadline:
                    raise WorkerLostError(f"worker {self._addresses[min(missing)]} does not come")
                with suppress(TimeoutError):
                    line, _ = server.accept()
                    self._welcome(line, token, missing)
        for line in self._lines.values():
            _notice_silence(line)

    def _called(self, rank: int, port: int, hello: bytes) -> socket.socket:
        address = self._addresses[rank]
        try:
            line = socket.create_connection((get_address_host(address), port), PATIENCE)
            line.sendall(hello)
        except OSError as error:
            raise WorkerLostError(f"worker {address} cannot be reached ({error})") from error
        return line

    def _welcome(self, line: socket.socket, token: bytes, missing: set[int]) -> None:
        """Keep a connection that a member has made; strangers are turned away."""
        line.settimeout(HEARING)
        hello = b""
        with suppress(OSError):
            hello = line.recv(HELLO.size, socket.MSG_WAITALL)
        if len(hello) == HELLO.size:
            shown, rank = HELLO.unpack(hello)
            if secrets.compare_digest(shown, token) and rank in missing:
                self._lines[rank] = line
                return
        line.close()

    # ------------------------------------------------------------------------------------- runs

    def begin(self, run: str) -> None:
        """Note which run goes on from now on.

        Parameters
        ----------
        run : str
            The same for all members.
        """
        self._run = _word(run)

    def end(self, *, failed: bool) -> None:
        """Note that this member has left the run.

        Parameters
        ----------
        failed : bool
            Whether others may still wait for it; they are told.
        """
        word, self._run = self._run, b""
        for line in self._lines.values() if failed else ():
            with suppress(OSError):  # gone itself, which its own end of the line tells
                line.sendall(word)

    # --------------------------------------------------------------------------------- watching

    def watch(self, tell: Callable[[Exception], None]) -> None:
        """Look at the connections, in a thread that ends with them.

        Parameters
        ----------
        tell : callable
            Called there, once: with WorkerLostError when a member is gone, or with RunAbandonedError
            when one has left the run, and this one has not followed.
        """
        self._thread = threading.Thread(
            target=self._look, args=(tell,), name="cugraph_ws lifelines", daemon=True
        )
        self._thread.start()

    def _look(self, tell: Callable[[Exception], None]) -> None:
        ranks = {line.fileno(): rank for rank, line in self._lines.items()}
        poller = select.poll()
        for descriptor in (*ranks, self._woken.fileno()):
            poller.register(descriptor, select.POLLIN)
        left, until = b"", 0.0  # the run that a member has left, and until when others may follow
        while True:
            pause = max(0.0, until - time.monotonic()) * 1e3 if left else None
            for descriptor, _ in poller.poll(pause):
                if descriptor not in ranks:
                    return
                word = self._heard(ranks[descriptor])
                if not word:
                    tell(WorkerLostError(f"worker {self._addresses[ranks[descriptor]]} is gone"))
                    return
                left, until = word, time.monotonic() + GRACE
            if left and time.monotonic() >= until:
                if left == self._run:
                    tell(RunAbandonedError("another member has left the run"))
                    return
                left = b""

    def _heard(self, rank: int) -> bytes:
        """Return what has come from a member, nothing if it is gone."""
        try:
            word = self._lines[rank].recv(WORD, socket.MSG_WAITALL)
        except OSError:
            return b""
        return word if len(word) == WORD else b""

    def close(self) -> None:
        """Let go of the others, who take this member for gone."""
        self._wake.close()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(LOOK)
        for line in (*self._lines.values(), self._woken):
            line.close()


def _server(address: str) -> socket.socket:
    """Listen where a worker does, on a port of its own."""
    host = get_address_host(address)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        server = socket.create_server((host, 0), family=family)
    except OSError:  # known to others by an address that is not the machine's own
        server = socket.create_server(("", 0), family=family)
    server.settimeout(LOOK)
    return server


def _notice_silence(line: socket.socket) -> None:
    """Have a connection break when the other machine is cut off."""
    line.settimeout(None)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, SILENCE)
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, SILENCE)
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, QUESTIONS)


def _word(run: str) -> bytes:
    """Return what stands for a run."""
    return hashlib.blake2b(run.encode(), digest_size=WORD).digest()
