"""Connections between members that a thread of its own looks at while GPUs wait.

A GPU that waits for the message of a member that is gone does nothing else.  Whoever copies to it waits
too, and that may be the worker's event loop, reading a frame that Dask has sent: then no news come over
Dask any more, that the member is gone among them.  So members hold connections to each other beside
Dask's.  They break when a process ends or its machine is cut off, and carry words about runs: that a
member has left one that others are still in, and before that whether its GPU is free for it.

Beside each there is another one for what members tell each other in a run and no GPU needs to see: over
Dask's connections, or by a copy to the GPU and one back, a word takes longer than a small superstep.  Who
does not know the crew's token, which travels over Dask's own connections, is turned away.
"""

from __future__ import annotations

import hashlib
import secrets
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from distributed.comm.addressing import get_address_host

from cugraph_ws.cluster.crew import RunAbandonedError
from cugraph_ws.errors import WorkerLostError

if TYPE_CHECKING:
    from cugraph_ws.cluster.worker import DaskCrew

__all__ = ["Lifelines"]

PATIENCE = 30.0  # seconds until all are connected
CALLED = 0.02  # seconds between two looks whether a member asks in another way
GLANCE = 0.1  # seconds between two looks whether who waits for mail shall still wait
LOOK = 0.5  # seconds between two looks whether who waits for others shall still wait
HEARING = 5.0  # seconds that one who has called has to say who it is
GRACE = 1.0  # seconds that a member has to leave a run by itself, once another one has left it
SILENCE = (
    5  # seconds after which the other machine is asked whether it is there, and between questions
)
QUESTIONS = 2  # that go without an answer
HELLO = struct.Struct("32sIB")  # the crew's token, who connects, and for what
WATCHED, MAIL = range(2)
RUN = 16  # bytes that stand for a run
LETTER = struct.Struct(f"{RUN}sQ")  # what comes before a text: its run and length
CHUNK = 1 << 16  # bytes that are read at a time
WORD = struct.Struct(f"{RUN}sB")  # a run, and what is said of it
LEFT, BUSY, FREE = range(3)  # it is left; the GPU is another run's; the GPU is for it
HEARD = 1024  # runs of whose GPUs is remembered who has told what


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
        self._mail: dict[int, socket.socket] = {}
        self._read: dict[int, bytearray] = {}  # mail that has come, perhaps in part
        self._run = b""  # what stands for the run that goes on
        self._speaking = threading.Lock()
        self._news = threading.Condition()
        self._free: dict[bytes, dict[int, bool]] = {}  # what others have told, by run
        self._over = False  # whether nobody listens any more
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
                for what, lines in enumerate((self._lines, self._mail)):
                    hello = HELLO.pack(token, crew.rank, what)
                    lines[rank] = self._called(rank, told[rank][0], hello)
            later = set(range(crew.rank + 1, crew.size))
            while missing := later - (self._lines.keys() & self._mail.keys()):
                crew.check()
                if time.monotonic() > deadline:
                    raise WorkerLostError(f"worker {self._addresses[min(missing)]} does not come")
                with suppress(TimeoutError):
                    line, _ = server.accept()
                    self._welcome(line, token, missing)
        for line in (*self._lines.values(), *self._mail.values()):
            _notice_silence(line)
        for rank, line in self._mail.items():
            line.setblocking(False)
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._read[rank] = bytearray()

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
            shown, rank, what = HELLO.unpack(hello)
            lines = self._mail if what == MAIL else self._lines
            if secrets.compare_digest(shown, token) and rank in missing and rank not in lines:
                lines[rank] = line
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
        run, self._run = self._run, b""
        if failed:
            self._say(run, LEFT)

    def _say(self, run: bytes, what: int) -> None:
        """Tell all others something of a run."""
        with self._speaking:
            for line in self._lines.values():
                with suppress(OSError):  # gone itself, which its own end of the line tells
                    line.sendall(WORD.pack(run, what))

    def are_free(self, run: str, here: bool, is_called: Callable[[], bool]) -> bool | None:
        """Tell whether the GPUs of all members are free for a run, together.

        Parameters
        ----------
        run : str
        here : bool
            Whether this member's is.
        is_called : callable
            Tells whether a member asks in another way, since it holds no lines, or raises when the
            others no longer come; called now and then.

        Returns
        -------
        bool or None
            None where a member is gone or asks in another way, as all must do then.
        """
        word, others = _word(run), len(self._lines)
        self._say(word, FREE if here else BUSY)

        def is_known() -> bool:
            return self._over or len(self._free.get(word, ())) == others

        known = called = False
        while not (known or called):
            with self._news:
                known = self._news.wait_for(is_known, CALLED)
            called = is_called()
        with self._news:
            told = self._free.pop(word, {})
        return here and all(told.values()) if len(told) == others else None

    # ------------------------------------------------------------------------------------- mail

    def swap(self, texts: Mapping[int, bytes], check: Callable[[], None]) -> dict[int, bytes]:
        """Give every other member a text, and take one from each, together, within a run.

        Parameters
        ----------
        texts : mapping of int to bytes
            By rank.
        check : callable
            Raises when the others no longer come; called now and then.

        Returns
        -------
        dict of int to bytes
            By rank.
        """
        run = self._run
        going = {
            rank: memoryview(LETTER.pack(run, len(text)) + text) for rank, text in texts.items()
        }
        came: dict[int, bytes] = {}
        while going or len(came) < len(texts):
            going = {rank: rest for rank, text in going.items() if (rest := self._sent(rank, text))}
            for rank in texts.keys() - came.keys():
                if (text := self._taken(rank, run)) is not None:
                    came[rank] = text
            waiting = texts.keys() - came.keys()
            if (going or waiting) and not self._is_ready(going.keys(), waiting):
                check()
        return came

    def _is_ready(self, going: Iterable[int], coming: Iterable[int]) -> bool:
        """Wait until some mail can go or has come; tell whether that is so."""
        poller = select.poll()
        events = dict.fromkeys(coming, select.POLLIN)
        for rank in going:
            events[rank] = events.get(rank, 0) | select.POLLOUT
        for rank, event in events.items():
            poller.register(self._mail[rank], event)
        return bool(poller.poll(GLANCE * 1e3))

    def _sent(self, rank: int, text: memoryview) -> memoryview:
        """Send what goes at once; return the rest."""
        try:
            return text[self._mail[rank].send(text) :]
        except BlockingIOError:
            return text
        except OSError as error:
            raise self._gone(rank) from error

    def _taken(self, rank: int, run: bytes) -> bytes | None:
        """Return the text that has come from a member, None if not all of it is here."""
        read = self._read[rank]
        while True:
            while len(read) >= LETTER.size:
                of, length = LETTER.unpack_from(read)
                end = LETTER.size + length
                if len(read) < end:
                    break
                text = bytes(memoryview(read)[LETTER.size : end])
                del read[:end]
                if of == run:  # and no letter of a run that somebody gave up
                    return text
            try:
                some = self._mail[rank].recv(CHUNK)
            except BlockingIOError:
                return None
            except OSError as error:
                raise self._gone(rank) from error
            if not some:
                raise self._gone(rank)
            read += some

    def _gone(self, rank: int) -> WorkerLostError:
        return WorkerLostError(f"worker {self._addresses[rank]} is gone")

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
        try:
            error = self._first_error()
        finally:
            with self._news:
                self._over = True
                self._news.notify_all()
        if error is not None:
            tell(error)

    def _first_error(self) -> Exception | None:
        """Return what ends all this: a member is gone or has left a run; None if it is closed."""
        ranks = {line.fileno(): rank for rank, line in self._lines.items()}
        poller = select.poll()
        for descriptor in (*ranks, self._woken.fileno()):
            poller.register(descriptor, select.POLLIN)
        left, until = b"", 0.0  # the run that a member has left, and until when others may follow
        while True:
            pause = max(0.0, until - time.monotonic()) * 1e3 if left else None
            for descriptor, _ in poller.poll(pause):
                if descriptor not in ranks:
                    return None
                heard = self._heard(ranks[descriptor])
                if heard is None:
                    return self._gone(ranks[descriptor])
                run, what = heard
                if what == LEFT:
                    left, until = run, time.monotonic() + GRACE
                else:
                    self._note(ranks[descriptor], run, what == FREE)
            if left and time.monotonic() >= until:
                if left == self._run:
                    return RunAbandonedError("another member has left the run")
                left = b""

    def _heard(self, rank: int) -> tuple[bytes, int] | None:
        """Return what has come from a member, None if it is gone."""
        try:
            word = self._lines[rank].recv(WORD.size, socket.MSG_WAITALL)
        except OSError:
            return None
        return WORD.unpack(word) if len(word) == WORD.size else None

    def _note(self, rank: int, run: bytes, free: bool) -> None:
        """Remember whether a member's GPU is free for a run, until that is asked for."""
        with self._news:
            self._free.setdefault(run, {})[rank] = free
            while len(self._free) > HEARD:  # of runs that never began here
                del self._free[next(iter(self._free))]
            self._news.notify_all()

    def close(self) -> None:
        """Let go of the others, who take this member for gone."""
        self._wake.close()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(LOOK)
        for line in (*self._lines.values(), *self._mail.values(), self._woken):
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
    return hashlib.blake2b(run.encode(), digest_size=RUN).digest()
