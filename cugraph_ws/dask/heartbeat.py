"""Connections between members that a thread of its own looks at while GPUs wait.

A GPU that waits for the message of a member that is gone does nothing else.  Whoever copies to it waits
too, and that may be the worker's event loop, reading a frame that Dask has sent: then no news come over
Dask any more, that the member is gone among them.  So members hold connections to each other beside
Dask's.  They break when a process ends or its machine is cut off, and carry words about runs: that a
member has left one that others are still in, and before that whether its GPU is free for it.

Beside each there is another one for what members tell each other in a run and no GPU needs to see: over
Dask's connections, or by a copy to the GPU and one back, a word takes longer than a small superstep.  Who
may open a connection, and how its bytes go, is in `cugraph_ws.dask.control_channel`.
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

__all__ = ["Lifelines"]

PATIENCE = 30.0  # seconds until all are connected
CALLED = 0.02  # seconds between two looks whether a member asks in another way
GLANCE = 0.1  # seconds between two looks whether who waits for mail shall still wait
LOOK = 0.5  # seconds between two looks whether who waits for others shall still wait
GRACE = 1.0  # seconds that a member has to leave a run by itself, once another one has left it
SILENCE = (
    5  # seconds after which the other machine is asked whether it is there, and between questions
)
QUESTIONS = 2  # that go without an answer
SPEAK = 5.0  # seconds in which a word must go, or the other one is taken for gone
WATCHED, MAIL = range(2)
RUN = 16  # bytes that stand for a run
LETTER = struct.Struct(f"{RUN}sQ")  # what comes before a text: its run and length
LONGEST = 1 << 31  # bytes of a text
WORD = struct.Struct(f"{RUN}sB")  # a run, and what is said of it
LEFT, BUSY, FREE = range(3)  # it is left; the GPU is another run's; the GPU is for it
HEARD = 1024  # runs of whose GPUs is remembered who has told what


class Lifelines:
    """A connection to each other member of a crew, made together.

    Parameters
    ----------
    crew : DaskCommunicator
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

    def __init__(self, comm: DaskCommunicator, addresses: Sequence[str]) -> None:
        self._addresses = list(addresses)
        self._size, self._rank = comm.size, comm.rank
        self._lines: dict[int, Channel] = {}
        self._mail: dict[int, Channel] = {}
        self._read: dict[int, bytearray] = {}  # mail that has come, perhaps in part
        self._words: dict[int, bytearray] = {}  # words that have come in part
        self._run = b""  # what stands for the run that goes on
        self._speaking = threading.Lock()
        self._news = threading.Condition()
        self._free: dict[bytes, dict[int, bool]] = {}  # what others have told, by run
        self._over = False  # whether nobody listens any more
        self._unreached: WorkerLostError | None = None  # why a member cannot be called
        self._wake, self._woken = socket.socketpair()
        self._thread: threading.Thread | None = None
        try:
            self._connect(comm)
        except BaseException:
            self.close()
            raise
        for rank in self._lines:
            self._read[rank], self._words[rank] = bytearray(), bytearray()

    def _connect(self, comm: DaskCommunicator) -> None:
        """Have each member call those before it, and take the calls of those after it."""
        transport, keys = comm.transport, PairKeys()
        with listen(transport) as server:
            port = server.getsockname()[1]
            shown = comm.allgather((port, keys.public, transport.encrypts))
            ports = [one[0] for one in shown]
            if not all(one[2] for one in shown):
                transport = replace(transport, server=None, client=None)
            try:
                keys.learn(transport.run, [one[1] for one in shown])
            except HandshakeError as error:
                raise WorkerLostError(f"workers cannot agree on keys ({error})") from error
            door = Door(server, transport, keys, comm.rank, self._take)
            try:
                for rank in range(comm.rank):
                    for what in (WATCHED, MAIL):
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
        """Wait until there are connections with everybody."""
        until = time.monotonic() + PATIENCE

        def is_settled() -> bool:
            return self._unreached is not None or not self._missing()

        while True:
            with self._news:
                settled = self._news.wait_for(is_settled, LOOK)
            if self._unreached is not None:
                raise self._unreached
            if settled:
                return
            comm.check()
            if time.monotonic() > until:
                late = self._addresses[min(self._missing())]
                raise WorkerLostError(f"worker {late} does not come")

    def _missing(self) -> set[int]:
        """Return the ranks to which there are not both connections yet."""
        return set(range(self._size)) - {self._rank} - (self._lines.keys() & self._mail.keys())

    def _take(self, rank: int, what: int, line: Channel) -> bool:
        """Keep a connection with a member, if there is none yet; tell whether it is kept."""
        lines = {WATCHED: self._lines, MAIL: self._mail}.get(what)
        with self._news:
            if lines is None or rank in lines or self._over:
                return False
            line.notice_silence(SILENCE, QUESTIONS)
            lines[rank] = line
            self._news.notify_all()
        return True

    def _call(self, rank: int, what: int, reach: Callable[[], Channel]) -> None:
        """Make a connection and keep it, or remember why there is none."""
        try:
            line = reach()
        except Exception as error:
            lost = WorkerLostError(f"worker {self._addresses[rank]} cannot be reached ({error})")
            lost.__cause__ = error
            with self._news:
                self._unreached = self._unreached or lost
                self._news.notify_all()
            return
        if not self._take(rank, what, line):
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
                try:
                    line.send_all(WORD.pack(run, what), SPEAK)
                except OSError:  # gone itself, or takes nothing: its own end of the line tells
                    line.shut()

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
        except OSError as error:
            raise self._gone(rank) from error

    def _taken(self, rank: int, run: bytes) -> bytes | None:
        """Return the text that has come from a member, None if not all of it is here."""
        read = self._read[rank]
        while True:
            while len(read) >= LETTER.size:
                of, length = LETTER.unpack_from(read)
                if length > LONGEST:
                    raise self._gone(rank)  # nobody sends that
                end = LETTER.size + length
                if len(read) < end:
                    break
                text = bytes(memoryview(read)[LETTER.size : end])
                del read[:end]
                if of == run:  # and no letter of a run that somebody gave up
                    return text
            try:
                some = self._mail[rank].receive()
            except OSError as error:
                raise self._gone(rank) from error
            if some is None:
                return None
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
        ready = list(ranks)  # at first all: what is here, decrypted, wakes nobody
        while True:
            for descriptor in ready:
                if descriptor not in ranks:
                    return None
                words, gone = self._heard(ranks[descriptor])
                for run, what in words:
                    if what == LEFT:
                        left, until = run, time.monotonic() + GRACE
                    else:
                        self._note(ranks[descriptor], run, what == FREE)
                if gone:
                    return self._gone(ranks[descriptor])
            if left and time.monotonic() >= until:
                if left == self._run:
                    return RunAbandonedError("another member has left the run")
                left = b""
            pause = max(0.0, until - time.monotonic()) * 1e3 if left else None
            ready = [descriptor for descriptor, _ in poller.poll(pause)]

    def _heard(self, rank: int) -> tuple[list[tuple[bytes, int]], bool]:
        """Return the words that have come from a member, and whether it is gone."""
        read, gone = self._words[rank], False
        try:
            while some := self._lines[rank].receive():
                read += some
            gone = some is not None
        except OSError:
            gone = True
        size = len(read) // WORD.size * WORD.size
        words = list(WORD.iter_unpack(read[:size]))
        del read[:size]
        return words, gone

    def _note(self, rank: int, run: bytes, free: bool) -> None:
        """Remember whether a member's GPU is free for a run, until that is asked for."""
        with self._news:
            self._free.setdefault(run, {})[rank] = free
            while len(self._free) > HEARD:  # of runs that never began here
                del self._free[next(iter(self._free))]
            self._news.notify_all()

    def close(self) -> None:
        """Let go of the others, who take this member for gone."""
        with self._news:
            self._over = True  # no connection is kept any more
        self._wake.close()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(LOOK)
        for line in (*self._lines.values(), *self._mail.values()):
            line.close()
        self._woken.close()


def _word(run: str) -> bytes:
    """Return what stands for a run."""
    return hashlib.blake2b(run.encode(), digest_size=RUN).digest()
