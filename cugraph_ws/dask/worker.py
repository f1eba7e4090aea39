"""The state of a Dask worker: shards of graphs, and the messages between ranks.

Both belong to a plugin of the worker and end with it; the process keeps nothing.  Messages go from
worker to worker over Dask's own connections, with TLS if the cluster has it.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import hashlib
import logging
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import psutil
from dask import config
from distributed import Worker, get_worker
from distributed.comm.addressing import get_address_host
from distributed.diagnostics.plugin import WorkerPlugin
from distributed.protocol.pickle import dumps, loads
from distributed.protocol.serialize import to_serialize

from cugraph_ws.dask.control_channel import Transport
from cugraph_ws.dask.links import LinkPool
from cugraph_ws.dask.started_tasks import StartedTask, StartedTasks, run_of
from cugraph_ws.errors import CugraphWsError, WorkerLostError
from cugraph_ws.program.phases import programs_of
from cugraph_ws.program.snapshot import IDENTITY
from cugraph_ws.runtime.communicator import RunAbandonedError, plain

__all__ = ["DaskCommunicator", "RankPlugin", "rank_plugin"]

NAME = "cugraph_ws"
# Dask's configuration lists this name prefix as a short task, so other workers do not steal it
SPLIT = "split-stage"
FAILED = "Compute Failed"  # prefix of Dask's log record of a failed task
LOOK = 1.0  # seconds between two checks for errors
PATIENCE = 5.0  # seconds without messages, after which the other ranks are pinged
MISSES = 2  # unanswered pings, of PATIENCE seconds each, after which a worker counts as lost
REMEMBERED = 4096  # ended runs whose late messages are discarded
PROGRAMS = 64  # most cached programs of a worker
OWNED = 30.0  # seconds in which the task of a direct start must reach the worker


class QuietErrors(logging.Filter):
    """Keeps Dask's long failure records out of the worker's log for errors of the library.

    The client raises these errors, which explain the remedy or report that another rank has failed.
    Errors in the user's own functions are still logged.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is logged."""
        fields = record.args
        if (
            not str(record.msg).startswith(FAILED)
            or not isinstance(fields, tuple)
            or len(fields) < 4
        ):
            return True
        ours = str(fields[0]).startswith((f"{NAME}-", f"{SPLIT}-{NAME}-"))
        return not (ours and str(fields[3]).lstrip("\"'").startswith(_names_of(CugraphWsError)))


def _names_of(kind: type[BaseException]) -> tuple[str, ...]:
    """Return the prefixes of the library's errors as text."""
    names = [f"{RunAbandonedError.__name__}("]
    kinds = [kind]
    while kinds:
        error_kind = kinds.pop()
        names.append(f"{error_kind.__name__}(")
        kinds += error_kind.__subclasses__()
    return tuple(names)


QUIET = QuietErrors()  # one for all workers of a process


def _awaitable(future: concurrent.futures.Future[Any]) -> asyncio.Future[Any]:
    """Wrap a future for the event loop, which then logs no error that nothing awaits.

    The task raises the error.
    """
    wrapped: asyncio.Future[Any] = asyncio.wrap_future(future)
    wrapped.add_done_callback(lambda finished: finished.cancelled() or finished.exception())
    return wrapped


class RankPlugin(WorkerPlugin):
    """The state that a worker keeps for runs; the client registers this plugin with every worker.

    Attributes
    ----------
    shards : dict
        Shards of graphs, by the key of the task that built them.  A shard is freed when Dask
        releases the result of that task.
    events : dict
        For the key of a task: a topic, and the event to log under it once the task is done.  The
        event is sent together with, and arrives before, the message that the task is done.
    links : LinkPool
        Links between this worker's GPU and others.
    started : StartedTasks
        Work that began by a direct task start.
    programs : dict
        Cached programs by their pickled form, the latest last.  Results of binding are cached with
        the program.
    """

    name = NAME
    idempotent = True

    def __init__(self) -> None:
        self.shards: dict[Any, Any] = {}
        self.events: dict[Any, tuple[str, Any]] = {}

    def setup(self, worker: Worker) -> None:
        """Create the state of a worker and register the handlers of messages."""
        self.worker = worker
        logging.getLogger("distributed.worker").addFilter(QUIET)
        self.links = LinkPool()
        self.started = StartedTasks()
        self.programs: dict[bytes, Any] = {}
        self._changed = threading.Condition()
        self._messages: dict[tuple[str, int], dict[int, Any]] = {}
        self._requests: dict[str, str] = {}
        self._abandoned: dict[str, str] = {}
        self._begun: set[str] = set()  # runs with a rank at work here
        self._ended: deque[str] = deque(maxlen=REMEMBERED)
        self._waiting: set[asyncio.Task[bool]] = set()  # for tasks of direct starts
        worker.handlers["cugraph_ws_call"] = self.call
        worker.handlers["cugraph_ws_take"] = self.take
        worker.handlers["cugraph_ws_message"] = self.receive
        worker.handlers["cugraph_ws_ping"] = self.ping
        worker.handlers["cugraph_ws_begun"] = self.has_begun
        worker.handlers["cugraph_ws_request"] = self.request
        worker.handlers["cugraph_ws_abandon"] = self.abandon
        worker.handlers["cugraph_ws_end"] = self.forget
        worker.handlers["cugraph_ws_find"] = self.find

    def teardown(self, worker: Worker) -> None:
        """Close the links and free the shards."""
        self.links.close()
        self.shards.clear()

    def transition(self, key: Any, start: str, finish: str, **facts: Any) -> None:
        """Log the event of a finished task; free the shard of a released task."""
        event = self.events.pop(key, None)
        if event is not None and finish == "memory":
            self.worker.log_event(*event)
        if finish in ("released", "forgotten", "cancelled"):
            self.shards.pop(key, None)
            if str(key).startswith(NAME):
                self.started.drop(key)
            elif str(key).startswith(f"{SPLIT}-{NAME}"):  # it would have taken the result over
                self.started.drop_begun(str(key).removeprefix(f"{SPLIT}-"))
        at_work = start in ("executing", "long-running")
        if at_work and finish in ("released", "cancelled") and str(key).startswith(NAME):
            # The client is gone, so ranks must stop waiting for each other.
            self.abandon(run_of(key), "its client has left")

    def program(self, content: bytes) -> Any:
        """Return the cached program with this pickled form; unpickle it if there is none."""
        with self._changed:
            program = self.programs.pop(content, None)
            if program is None:
                program = loads(content)
                digest = hashlib.blake2b(content).hexdigest()
                for place, member in enumerate(programs_of(program)):
                    member.memory[IDENTITY] = f"{digest} {place}"
            self.programs[content] = program
            while len(self.programs) > PROGRAMS:
                del self.programs[next(iter(self.programs))]
        return program

    async def call(self, key: str, work: bytes, owned: bool = True) -> list[Any] | None:
        """Start the work of a task directly, before Dask's scheduler does.

        Parameters
        ----------
        key : str
            The task's key.
        work : bytes
            A pickled function of the worker.  It returns None, or a function that returns the
            task's result and its summary for the client.
        owned : bool
            Whether to reply only once the task is here and may run elsewhere.  Otherwise the client
            submits a task that takes the result over; see `take_rank`.

        Returns
        -------
        list or None
            The summary.  None if the work must wait for the task, if the task has come already, or
            if the work failed; the task then raises the error.
        """
        do = loads(work)(self.worker)
        started = None if do is None else self.started.begin(key, do)
        if started is None:
            return None
        waiting = asyncio.create_task(self._is_owned(key, started))
        self._waiting.add(waiting)
        waiting.add_done_callback(self._waiting.discard)
        outcome = _awaitable(started.outcome)
        if owned:
            if not await waiting:
                return None
        else:
            await asyncio.wait([outcome, waiting], return_when=asyncio.FIRST_COMPLETED)
        if not outcome.done() or outcome.exception() is not None:
            return None
        _, reply = outcome.result()
        return [reply]

    async def _is_owned(self, key: str, started: StartedTask) -> bool:
        """Wait until work that was started directly is done and has its task; drop work without."""
        outcome, owned = map(_awaitable, (started.outcome, started.owned))
        takes = f"{SPLIT}-{key}"
        while (await asyncio.wait([outcome, owned], timeout=OWNED))[1]:
            if not owned.done() and not self.worker.state.tasks.keys() & {key, takes}:
                self.started.drop(key)  # its task will not come
                if not outcome.done():
                    self.abandon(run_of(key), "its client has left")
                return False  # otherwise the worker's threads are busy, or the call takes long
        return outcome.exception() is None and owned.exception() is None

    async def take(self, key: str) -> Any:
        """Return the result of work that was started directly; None if it is not here."""
        started = self.started.take(key)
        if started is None or not started.outcome.done():
            return None
        started.owned.set_result(None)
        return to_serialize(started.outcome.result()[0])

    async def find(self, key: str, ids: bytes) -> bytes | None:
        """Look up ids among the owned vertices of a shard.

        Parameters
        ----------
        key : str
            The key of the task that built the shard.
        ids : bytes
            The ids that `IdRanges.split` returns for this rank, pickled.

        Returns
        -------
        bytes or None
            The vertex numbers, −1 where unknown, pickled; None if the shard is no longer here.
        """
        shard = self.shards.get(key)
        if shard is None:
            return None
        look = partial(shard._vertices.numbering.find_own, loads(ids))
        numbers: bytes = dumps(await asyncio.get_running_loop().run_in_executor(None, look))
        return numbers

    async def receive(
        self, run: str, step: int, source: int, arrays: Sequence[Any], value: Any
    ) -> bool:
        """Keep a message until its run reads it; return False if the run is over here."""
        with self._changed:
            if run in self._ended:
                return False
            self._messages.setdefault((run, step), {})[source] = (arrays, value)
            self._changed.notify_all()
        return True

    async def ping(self) -> bool:
        """Answer a ping."""
        return True

    def begin(self, run: str) -> None:
        """Record that a rank of a run is at work here."""
        with self._changed:
            self._begun.add(run)

    def has_begun(self, run: str) -> bool:
        """Return whether a rank of a run is at work here, or has been."""
        return run in self._begun or run in self._ended

    def request(self, run: str, request: str) -> None:
        """Request that a run ends at its next collective."""
        with self._changed:
            if run not in self._ended:
                self._requests[run] = request

    def requested(self, run: str) -> str | None:
        """Return the stop request for a run, if there is one."""
        return self._requests.get(run)

    def abandon(self, run: str, reason: str) -> None:
        """Wake the rank here, which would otherwise wait for others forever.

        Where no rank is at work, nothing would ever forget the reason: the run only ends.
        """
        with self._changed:
            if run in self._begun:
                self._abandoned[run] = reason
                self._changed.notify_all()
            else:
                self.end(run)

    def forget(self, run: str) -> None:
        """End a run that its client has left, and free what it began directly."""
        self.end(run)
        self.started.drop_run(run)

    def end(self, run: str) -> None:
        """Forget a run; a rank that starts later ends at once."""
        with self._changed:
            if run not in self._ended:
                self._ended.append(run)
            self._changed.notify_all()
            self._begun.discard(run)
            self._requests.pop(run, None)
            self._abandoned.pop(run, None)
            for key in [key for key in self._messages if key[0] == run]:
                del self._messages[key]

    def wait_for(self, run: str, step: int, number: int, seconds: float) -> dict[int, Any] | None:
        """Return the messages of a collective once all are here; None if they are late.

        Raises
        ------
        RunAbandonedError
            If the run is abandoned.
        """
        key = run, step

        def is_over() -> bool:
            given_up = run in self._abandoned or run in self._ended
            return given_up or len(self._messages.get(key, ())) == number

        with self._changed:
            self._changed.wait_for(is_over, seconds)
            if run in self._abandoned or run in self._ended:
                raise RunAbandonedError(self._abandoned.get(run, "the run is over"))
            return (
                self._messages.pop(key, {}) if len(self._messages.get(key, ())) == number else None
            )

    def missing(self, run: str, step: int, ranks: Sequence[int]) -> list[int]:
        """Return the ranks whose messages have not come."""
        with self._changed:
            return [rank for rank in ranks if rank not in self._messages.get((run, step), {})]


def rank_plugin(worker: Worker | None = None) -> RankPlugin:
    """Return the plugin of a worker, by default of the worker that runs this task."""
    plugin = (get_worker() if worker is None else worker).plugins[NAME]
    assert isinstance(plugin, RankPlugin)
    return plugin


class DaskCommunicator:
    """One rank's communicator over Dask; see `cugraph_ws.runtime.communicator.Communicator`.

    Parameters
    ----------
    plugin : RankPlugin
        The plugin of this worker.
    run : str
        The run's name, part of each of its messages.
    rank : int
        This rank's index in `addresses`.
    addresses : sequence of str
        The workers, by rank.
    """

    def __init__(self, plugin: RankPlugin, run: str, rank: int, addresses: Sequence[str]) -> None:
        self.rank, self.size = rank, len(addresses)
        self._plugin, self._run = plugin, run
        self._addresses = list(addresses)
        self._others = [peer for peer in range(self.size) if peer != rank]
        self._step = 0
        self._unheard: set[int] = set()  # ranks that have not received this collective's message

    @property
    def on_device(self) -> bool:
        """Whether arrays on the GPU arrive on the GPU; over Dask's connections they do not."""
        return self.size == 1

    @property
    def request(self) -> str | None:
        """The stop request from outside the run, if there is one."""
        return self._plugin.requested(self._run)

    @property
    def room(self) -> int | None:
        """Bytes that the worker may still allocate before its nanny kills it; None without a limit."""
        manager = self._plugin.worker.memory_manager
        limit, share = manager.memory_limit, config.get("distributed.worker.memory.terminate")
        if not limit or not share:
            return None
        in_use: int = psutil.Process().memory_info().rss
        return max(0, int(limit * share) - in_use)

    @property
    def transport(self) -> Transport:
        """How the control channel opens connections: the worker's hosts and TLS contexts."""
        worker = self._plugin.worker
        security = worker.security
        return Transport(
            self._run,
            [get_address_host(self._addresses[self.rank]), get_address_host(worker.listen_address)],
            security.get_listen_args("worker")["ssl_context"],
            security.get_connection_args("worker")["ssl_context"],
        )

    def check(self) -> None:
        """Raise RunAbandonedError if the run has been abandoned."""
        self._plugin.wait_for(self._run, -1, 1, 0.0)

    def is_called(self) -> bool:
        """Return whether another rank has reached the next collective; raise as `check` does."""
        self.check()
        return len(self._plugin.missing(self._run, self._step + 1, self._others)) < len(
            self._others
        )

    def alltoall(self, buffers: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """Send each rank its arrays, and return those received, by rank."""
        received = self._exchange({rank: (buffers[rank], None) for rank in self._others})
        return [
            list(buffers[rank]) if rank == self.rank else list(received[rank][0])
            for rank in range(self.size)
        ]

    def allgather(self, value: Any) -> list[Any]:
        """Send a small value to every rank, and return all values, by rank."""
        own_value = plain(value)
        received = self._exchange(dict.fromkeys(self._others, ((), own_value)))
        return [own_value if rank == self.rank else received[rank][1] for rank in range(self.size)]

    def swap(self, rank: int, arrays: Sequence[Any]) -> list[Any]:
        """Exchange arrays with one other rank.

        It counts as a collective for both.  A rank without a partner must call it with its own rank,
        so that the numbers of collectives stay equal.

        Parameters
        ----------
        rank : int
            The partner.  With its own rank, a rank gets its own arrays.
        arrays : sequence of ndarray

        Returns
        -------
        list of ndarray
            Read-only.
        """
        if rank == self.rank:
            self._step += 1
            return list(arrays)
        return list(self._exchange({rank: (arrays, None)})[rank][0])

    def _exchange(self, messages: Mapping[int, tuple[Sequence[Any], Any]]) -> dict[int, Any]:
        """Send each rank its message, and wait for the message of each."""
        if not messages:
            return {}
        self._step += 1
        self._unheard = set(messages)
        loop = self._plugin.worker.loop.asyncio_loop  # type: ignore[attr-defined]
        sending = asyncio.run_coroutine_threadsafe(self._send_all(self._step, messages), loop)
        asked = time.monotonic()
        misses = dict.fromkeys(self._others, 0)
        received = None
        try:
            while received is None or not sending.done():
                if received is None:
                    received = self._plugin.wait_for(self._run, self._step, len(messages), LOOK)
                else:  # the caller may write to its arrays once they are sent
                    self._wait_for_sending(sending)
                if sending.done():
                    sending.result()
                if time.monotonic() - asked > PATIENCE:
                    self._ask_whether_alive(misses, loop, waits=received is None)
                    if not any(misses.values()):  # otherwise ping again at once
                        asked = time.monotonic()
            return received
        except BaseException:
            sending.cancel()
            raise

    def _wait_for_sending(self, sending: Any) -> None:
        """Wait a little for messages being sent; raise if the run is abandoned meanwhile."""
        try:
            sending.result(LOOK)
        except TimeoutError:
            self.check()

    def _ask_whether_alive(self, misses: dict[int, int], loop: Any, *, waits: bool) -> None:
        """Ping the ranks whose messages are missing, or that have not received ours.

        Raises WorkerLostError if one has left several pings in turn unanswered.
        """
        missing = set(self._plugin.missing(self._run, self._step, self._others)) if waits else set()
        silent = sorted(missing | self._unheard)
        asking = asyncio.run_coroutine_threadsafe(self._ping_all(silent), loop)
        for rank, lives in zip(silent, asking.result(), strict=True):
            misses[rank] = 0 if lives else misses[rank] + 1
            if misses[rank] >= MISSES:
                raise self._lost(rank, "does not answer")

    async def _ping_all(self, ranks: Sequence[int]) -> list[bool]:
        async def lives(rank: int) -> bool:
            try:
                remote = self._plugin.worker.rpc(self._addresses[rank])
                await asyncio.wait_for(remote.cugraph_ws_ping(), PATIENCE)
            except Exception:
                return False
            return True

        return list(await asyncio.gather(*map(lives, ranks)))

    async def _send_all(self, step: int, messages: Mapping[int, tuple[Sequence[Any], Any]]) -> None:
        # Within a process, objects are passed by reference, and this rank may modify them later.
        by_reference = self._plugin.worker.address.startswith("inproc:")
        packed = np.array if by_reference else np.asarray

        async def send(rank: int) -> None:
            arrays, value = messages[rank]
            try:
                goes_on = await self._plugin.worker.rpc(self._addresses[rank]).cugraph_ws_message(
                    run=self._run,
                    step=step,
                    source=self.rank,
                    arrays=[to_serialize(packed(array, order="C")) for array in arrays],
                    value=value,
                )
            except OSError as error:
                raise self._lost(rank, f"cannot be reached ({error})") from error
            self._unheard.discard(rank)
            if not goes_on:  # for instance, a worker restarted at the same address
                raise RunAbandonedError(f"the run is over for worker {self._addresses[rank]}")

        await asyncio.gather(*map(send, messages))

    def _lost(self, rank: int, how: str) -> WorkerLostError:
        return WorkerLostError(f"worker {self._addresses[rank]} {how}")
