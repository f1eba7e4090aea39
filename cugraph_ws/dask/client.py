"""The client's side of a run: submitting tasks, collecting results, handling lost workers.

Every rank is a Dask task pinned to its worker.  So Dask's scheduler starts it, and Dask holds its
result and frees it when it is no longer referenced.
"""

from __future__ import annotations

import asyncio
import re
import time
import uuid
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NoReturn

from dask._task_spec import Task, TaskRef, parse_input
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer
from distributed import Client, Future, get_client, wait
from distributed.protocol.pickle import loads

from cugraph_ws.contract import StartedRun, WorkerRequests
from cugraph_ws.dask.faults import BROKEN, PausedWorkers
from cugraph_ws.dask.tasks import (
    SPLIT,
    TOPIC,
    RankContext,
    part_of,
    search_of,
    summary_of,
    take_rank,
)
from cugraph_ws.dask.worker import RankPlugin
from cugraph_ws.errors import EngineError, GraphMemoryError, WorkerLostError
from cugraph_ws.execution.stop_requests import HeldInterrupts
from cugraph_ws.runtime.communicator import RunAbandonedError, WantedLinks
from cugraph_ws.runtime.dispatch import provider

__all__ = [
    "ANSWER",
    "SHORT",
    "LeftBeforeError",
    "Piece",
    "RankTasks",
    "ask_workers",
    "current_client",
    "held_bytes",
    "placed",
    "run_on_ranks",
    "submit_tasks",
    "workers_of",
]

# Clients whose workers have the plugin (it also reaches workers that join later), each with the
# summaries received from rank 0 of its runs
_EQUIPPED: weakref.WeakKeyDictionary[Client, dict[str, list[bytes]]] = weakref.WeakKeyDictionary()

FIRST_LOOK = 0.1  # seconds until the first check that all workers exist
LOOK = 0.5  # seconds between later checks
ANSWER = 3.0  # seconds in which a worker must answer a question
GRACE = 20.0  # seconds in which the remaining ranks must leave a failed run
START = 10.0  # seconds to wait for a first worker
LONG = 3e-2  # seconds above which a call spends most of its time waiting for GPUs
LATER = 1e-2  # seconds by which the tasks of such a call are delayed
SHORT = 0.1  # seconds; a call that takes no longer is disturbed by its tasks while they come
PATIENCE = 0.2  # seconds by which the tasks of a short call are delayed, unless it is done

AGAIN = (
    "Run it again: the remaining workers build the graph again from its frame; with checkpoint=, "
    "a run continues by itself"
)


class LeftBeforeError(WorkerLostError):
    """A worker had already left when the run began."""


@dataclass(frozen=True)
class Piece:
    """A task to submit.

    Attributes
    ----------
    key : str
        Its name.
    function : callable
        What it runs.
    arguments : tuple
        Arguments of the function.  Futures, also those in lists and dicts, are replaced by their
        values; so is a `TaskRef` to another piece.
    worker : str, optional
        The only worker that may run it.  If not given, Dask chooses one that has its arguments.
    loose : bool
        Whether another worker may run it if this one is lost.
    """

    key: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    worker: str | None = None
    loose: bool = False


def submit_tasks(client: Client, pieces: Sequence[Piece]) -> list[Future[Any]]:
    """Submit tasks in one message, since a client waits ten milliseconds between two messages.

    Parameters
    ----------
    client : Client
    pieces : sequence of Piece

    Returns
    -------
    list of Future
        One for each piece.
    """
    layers, needed = {}, {}
    for piece in pieces:
        task = Task(piece.key, piece.function, *map(parse_input, piece.arguments))
        pinned = {} if piece.worker is None else {"workers": [piece.worker]}
        layers[piece.key] = MaterializedLayer(
            {piece.key: task},
            annotations={"allow_other_workers": piece.loose, "retries": 0, **pinned},
        )
        needed[piece.key] = {key for key in task.dependencies if key in layers}
    graph = HighLevelGraph(layers, needed)
    futures: list[Future[Any]] = client.get(graph, list(layers), sync=False, fifo_timeout="100 ms")
    _hasten(client)
    return futures


def _hasten(client: Client) -> None:
    """Send a client's queued messages to the scheduler at once.

    Dask delays a message by up to ten milliseconds after the previous one, which often is the
    release of a frame.  There is no public way to skip the delay.  If a version of Dask lacks the
    attributes used here, the message is delayed.
    """
    comm: Any = getattr(client, "scheduler_comm", None)
    loop: Any = client.loop

    def now() -> None:
        if hasattr(comm, "next_deadline") and hasattr(comm, "waker"):
            comm.next_deadline = None
            comm.waker.set()

    loop.add_callback(now)  # runs after the callback that queues the message


class RankTasks:
    """The tasks of one run, one per rank.

    Parameters
    ----------
    client : Client
    addresses : sequence of str
        The workers, by rank.
    task : callable
        The function that a rank executes; its first argument is a `RankContext`.
    arguments : sequence of tuple
        The further arguments, by rank; futures, also those in lists, are replaced by their values.
    name : str
        For messages and the names of tasks.
    losses : sequence of str
        Descriptions of what would be lost with each worker.
    links : {"", "auto", "nccl", "hub"}
        How the ranks' GPUs exchange; empty if arrays are on the host.
    frames : bool
        Whether the tasks return `CallResult`.
    direct : sequence of tuple, optional
        The direct task start, by rank: a callable, and its arguments between the `RankContext` and the
        worker.  It returns a function that does the task's work, or None; see `RankPlugin.call`.
    lasts : float
        The expected seconds of the run.  Receiving a task keeps a worker's interpreter busy for two
        milliseconds; in a long run that is best done while the rank waits for its GPU.
    short : bool
        Whether the run is expected to take little longer than tasks take to come.  If it is done when
        it was started directly, tasks only take its results over.
    apart : bool
        Whether each worker does its task by itself, as rank 0 of one.

    Attributes
    ----------
    futures : list of Future
        The results, by rank.
    first : list of Future
        The partitions of the first frame returned, by rank, if `frames`.
    advice : str
        What to do if a worker is lost.
    """

    def __init__(
        self,
        client: Client,
        addresses: Sequence[str],
        task: Callable[..., Any],
        arguments: Sequence[tuple[Any, ...]],
        name: str,
        losses: Sequence[str],
        *,
        links: WantedLinks | Literal[""] = "",
        frames: bool = False,
        direct: Sequence[tuple[Any, ...]] | None = None,
        lasts: float = 0.0,
        short: bool = False,
        apart: bool = False,
    ) -> None:
        self.run = f"cugraph_ws-{name}-{uuid.uuid4().hex}"
        self._client, self._addresses = client, tuple(addresses)
        self._name, self._losses, self.advice = name, losses, AGAIN
        self._unanswered: str | None = None  # a stop request that is not yet delivered
        self._over = False  # whether all ranks are done, or were asked to abandon the run
        self._seconds = FIRST_LOOK  # until the next check of the workers
        self._paused = PausedWorkers(client, name)
        if client not in _EQUIPPED:
            _equip(client)
        if frames:
            _EQUIPPED[client][self.run] = []
        contexts = [
            RankContext(self.run, 0, (address,), links)
            if apart
            else RankContext(self.run, rank, self._addresses, links)
            for rank, address in enumerate(self._addresses)
        ]
        self._leading = self._addresses if apart else self._addresses[:1]  # workers of ranks 0
        keys = [f"{self.run}-{rank}" for rank in range(len(contexts))]
        self._interrupted = False
        self._direct: StartedRun | None = None  # while a direct reply may precede Dask's
        requests: WorkerRequests | None = provider("accelerators").worker_requests()
        if direct is not None and requests is not None:
            work = [
                partial(function, context, *rank_arguments)
                for context, (function, *rank_arguments) in zip(contexts, direct, strict=True)
            ]
            self._direct = requests.start(client, self._addresses, keys, work, owned=not short)
        if self._direct is not None and (short or lasts > LONG):
            with HeldInterrupts() as interrupts:
                self._direct.wait(PATIENCE if short else LATER)
            self._unanswered = "interrupt" if interrupts.pressed else None
        if self._direct is not None and self._direct.done and short:
            if self._unanswered is not None:
                _EQUIPPED[client].pop(self.run, None)
                self._ask(self._addresses, op="cugraph_ws_end", run=self.run)
                raise KeyboardInterrupt
            pieces = [
                Piece(f"{SPLIT}-{key}", take_rank, (key, address), address, loose=True)
                for key, address in zip(keys, self._addresses, strict=True)
            ]
        else:
            pieces = [
                Piece(key, task, (context, *rank_arguments), address)
                for key, context, rank_arguments, address in zip(
                    keys, contexts, arguments, self._addresses, strict=True
                )
            ]
            if short:  # replies do not wait for tasks; Dask reports when these are done
                self._direct = None
        # Submitted with the tasks, so that workers take partitions out without another request.
        references = [TaskRef(piece.key) for piece in pieces if frames]
        parts = self._parts(references, 0)
        futures = submit_tasks(client, pieces + parts)
        self.futures, self.first = futures[: len(pieces)], futures[len(pieces) :]

    def parts(self, which: int) -> list[Future[Any]]:
        """Submit the tasks that take one frame out of each result, on the worker that has it."""
        if which == 0:
            return self.first
        return submit_tasks(self._client, self._parts(self.futures, which))

    def searches(self, number: int) -> list[Future[Any]]:
        """Split the first frame by search: the first search's rows of all ranks, then the second's.

        Parameters
        ----------
        number : int
            The number of searches.  Each rank has their rows one search after the other.
        """
        run_id = self.run.rpartition("-")[2]
        pieces = [
            Piece(f"{SPLIT}-cugraph_ws-{run_id}-{rank}-0-{which}", search_of, (rows, which, number))
            for which in range(number)
            for rank, rows in enumerate(self.first)
        ]
        return submit_tasks(self._client, pieces)

    def _parts(self, returned: Sequence[Any], which: int) -> list[Piece]:
        """Return the tasks that take one frame out of each rank's result.

        They run on the worker that has the frame, even if it is busy.
        """
        run_id = self.run.rpartition("-")[2]
        return [
            Piece(f"{SPLIT}-cugraph_ws-{run_id}-{rank}-{which}", part_of, (result, which))
            for rank, result in enumerate(returned)
        ]

    def summary(self) -> tuple[list[bytes], dict[str, Any], Any]:
        """Return the contents of `summary_of` for rank 0's result, or for the first of ranks 0 that has an error."""
        if len(self._leading) > 1:
            asked = [self._client.submit(summary_of, each, pure=False) for each in self.futures]
            unpacked = [loads(each) for each in self._client.gather(asked)]
            summary: tuple[list[bytes], dict[str, Any], Any]
            summary = next((each for each in unpacked if each[2] is not None), unpacked[0])
            return summary
        summaries = _EQUIPPED[self._client].get(self.run)
        if self._direct is not None and self._direct.replies[0] is not None:
            summaries = [self._direct.replies[0]]
        if not summaries:
            summaries = [self._client.submit(summary_of, self.futures[0], pure=False).result()]
        summary = loads(summaries[0])
        return summary

    def results(self) -> list[Any]:
        """Return what the ranks' tasks return, after `join`; by the direct replies, if all have come."""
        if self._direct is not None and self._direct.done:
            return [loads(reply) for reply in self._direct.replies if reply is not None]
        gathered: list[Any] = self._client.gather(self.futures)
        return gathered

    def request(self, request: str) -> None:
        """Request that the run ends at its next collective; `join` repeats a lost request."""
        answered = self._ask(self._leading, op="cugraph_ws_request", run=self.run, request=request)
        self._unanswered = None if all(answered) else request

    def join(self) -> list[Future[Any]]:
        """Wait until every rank is done.

        Returns
        -------
        list of Future
            By rank, all finished; after a direct task start they finish soon.

        Raises
        ------
        WorkerLostError
            If a worker is lost; the remaining ranks have then left the run.
        Exception
            What a rank raised.
        """
        interrupted = done = False
        # Ctrl-C is delayed: an exception that is raised just anywhere may be lost in a finalizer.
        with HeldInterrupts() as interrupts:
            while not done:
                try:
                    if self._unanswered is not None:
                        self.request(self._unanswered)
                    done = self._look()
                    pressed = interrupts.pressed
                except KeyboardInterrupt:
                    if interrupted:
                        self._give_up("the run was interrupted")
                        raise
                    pressed = True
                if pressed and not interrupted:
                    interrupted = True
                    self._unanswered = "interrupt"
        self._over = True
        self._interrupted = interrupted
        return self.futures

    def end_if_interrupted(self) -> None:
        """Raise KeyboardInterrupt if there was a Ctrl-C that the ranks had not heard of, or that cannot end a build."""
        if self._interrupted:
            self.release()
            raise KeyboardInterrupt

    @property
    def _scheduler(self) -> Any:
        """The scheduler's remote interface."""
        return self._client.scheduler

    def _look(self) -> bool:
        """Wait a little; return whether all ranks are done; raise if a rank or worker failed."""
        waiting = [future for future in self.futures if not future.done()]
        if waiting and self._direct is not None:
            if self._direct.wait(self._seconds):
                if self._direct.done:
                    return True
                self._direct = None  # wait for Dask's tasks instead
                return False
        elif waiting:
            with suppress(TimeoutError), self._client.as_current():  # wait() uses the current one
                wait(waiting, timeout=self._seconds)
        finished = all(future.status == "finished" for future in self.futures)
        if finished:
            return True
        failed = any(future.status in ("error", "cancelled", "lost") for future in self.futures)
        present = set(self._client.nthreads())
        lost = [address for address in self._addresses if address not in present]
        if failed or lost:
            early = bool(lost) and self._seconds == FIRST_LOOK
            self._fail(lost, LeftBeforeError if early else WorkerLostError)
        self._seconds = LOOK
        try:
            self._paused.refuse(self._not_begun)
        except GraphMemoryError:
            self._give_up("a worker is paused", self._paused.stuck)
            self.release()
            raise
        return False

    def _not_begun(self, paused: Sequence[str]) -> list[str]:
        """Return the paused workers whose ranks have not begun."""
        theirs = [address for address in paused if address in self._addresses]
        if not theirs:
            return []
        asking = self._scheduler.broadcast
        alive = self._client.sync(
            asking,
            msg={"op": "cugraph_ws_begun", "run": self.run},
            workers=theirs,
            on_error="return",
        )
        return [address for address in theirs if alive.get(address) is False]

    def _fail(self, lost: list[str], kind: type[WorkerLostError]) -> None:
        """End the remaining ranks, and raise the error that explains the failure."""
        lost = lost + self._forget_silent(lost)
        self._give_up("another rank failed", lost)
        try:
            self._explain(lost, kind)
        finally:
            self.release()  # else this frame, in the error's traceback, would keep the tasks

    def _errors(self) -> list[BaseException]:
        """Return the errors that ranks have raised."""
        return [future.exception() for future in self.futures if future.status == "error"]

    def _blamed(self) -> list[str]:
        """Return the workers that ranks have reported as lost."""
        losses = [str(error) for error in self._errors() if isinstance(error, WorkerLostError)]
        named = [re.compile(rf"{re.escape(address)}(?!\d)") for address in self._addresses]
        return [
            address
            for address, name in zip(self._addresses, named, strict=True)
            if any(name.search(text) for text in losses)
        ]

    def _forget_silent(self, lost: Sequence[str]) -> list[str]:
        """Unregister workers that ranks report as lost and that do not answer; return them.

        A worker that is suspended or cut off keeps its connection, so Dask would give it tasks for
        minutes.
        """
        blamed = [address for address in self._blamed() if address not in lost]
        answers = self._ask(blamed, op="cugraph_ws_ping")
        silent = [address for address, answer in zip(blamed, answers, strict=True) if not answer]
        for address in silent:
            self._client.sync(self._scheduler.unregister, address=address, stimulus_id=self.run)
        return silent

    def _ask(self, addresses: Sequence[str], **message: Any) -> list[bool]:
        """Send workers a message; return which of them answer in time."""
        answers = ask_workers(self._client, [(address, message) for address in addresses])
        return [bool(answer) for answer in answers]

    def abandon(self) -> None:
        """Ask ranks that are still at work to abandon the run."""
        if not self._over:
            self._give_up("the client has abandoned the run")

    def release(self) -> None:
        """Release the ranks' tasks and their results; frames have tasks of their own."""
        _EQUIPPED[self._client].pop(self.run, None)
        for future in self.futures:
            future.release()
        # Dask keeps progress callbacks, which refer to this object: frames would never be freed.
        self.futures, self.first = [], []

    def _explain(self, lost: list[str], kind: type[WorkerLostError]) -> NoReturn:
        """Raise the error that explains a failure best."""
        errors = self._errors()
        causes = [
            error for error in errors if not isinstance(error, (RunAbandonedError, WorkerLostError))
        ]
        losses = [error for error in errors if isinstance(error, WorkerLostError)]
        if not lost:
            broken = [error for error in causes if isinstance(error, BROKEN)]
            if len(causes) > len(broken):
                raise next(error for error in causes if error not in broken)
            losses += [_broken(self._name, error) for error in broken]
            lost = self._blamed()
        if not lost:
            raise (losses or [WorkerLostError(f"{self._name} was cancelled")])[0]
        ranks = [self._addresses.index(address) for address in lost]
        what = "; ".join(
            f"worker {address} was lost, and with it {self._losses[rank]}"
            for address, rank in zip(lost, ranks, strict=True)
        )
        raise kind(f"{self._name}: {what}. {self.advice}") from next(iter(losses), None)

    def _give_up(self, reason: str, lost: Sequence[str] = ()) -> None:
        """Wake all remaining ranks, wait for them, and release their results."""
        self._over = True
        present = set(self._client.nthreads()) - set(lost)
        alive = [address for address in self._addresses if address in present]
        self._ask(alive, op="cugraph_ws_abandon", run=self.run, reason=reason)
        theirs = [
            future
            for future, address in zip(self.futures, self._addresses, strict=True)
            if address in present and not future.done()
        ]
        if theirs:
            # Results of ranks that compute longer than this are discarded.
            with suppress(TimeoutError), self._client.as_current():
                wait(theirs, timeout=GRACE)
        self._client.cancel([future for future in self.futures if not future.done()], force=True)
        self._ask(
            alive, op="cugraph_ws_end", run=self.run
        )  # also to workers where no rank has begun


def ask_workers(
    client: Client, messages: Sequence[tuple[str, Mapping[str, Any]]]
) -> list[dict[str, Any]]:
    """Send one message to each worker through the scheduler, and wait a short time for answers.

    Parameters
    ----------
    client : Client
    messages : sequence of (str, mapping)
        The worker's address, and the message.

    Returns
    -------
    list of dict
        For each message the answer by address; empty if none came in time.
    """
    scheduler: Any = client.scheduler

    async def answer(address: str, message: Mapping[str, Any]) -> dict[str, Any]:
        broadcast = scheduler.broadcast(msg=message, workers=[address], on_error="raise")
        asking = asyncio.ensure_future(broadcast)
        until = time.monotonic() + ANSWER
        is_present = True
        while is_present and not asking.done() and time.monotonic() < until:
            await asyncio.wait([asking], timeout=FIRST_LOOK)
            # Dask keeps trying to reach a worker that is known to have left.
            is_present = asking.done() or address in await scheduler.ncores()
        if not asking.done():
            asking.cancel()
        with suppress(Exception, asyncio.CancelledError):
            reply: dict[str, Any] = await asking
            return reply
        return {}

    async def ask() -> list[dict[str, Any]]:
        return list(await asyncio.gather(*(answer(*request) for request in messages)))

    answers: list[dict[str, Any]] = client.sync(ask) if messages else []
    return answers


def _equip(client: Client) -> None:
    """Register the plugin with all workers of a client, and subscribe the client to summaries."""
    client.register_plugin(RankPlugin())
    summaries: dict[str, list[bytes]] = {}

    def receive(event: tuple[float, dict[str, Any]]) -> None:
        _, message = event
        received = summaries.get(message["run"])
        if received is not None:  # None: another client's run, or one that is over
            received.append(message["summary"])

    client.subscribe_topic(TOPIC, receive)
    _EQUIPPED[client] = summaries


def run_on_ranks(
    client: Client,
    addresses: Sequence[str],
    task: Callable[..., Any],
    arguments: Sequence[tuple[Any, ...]],
    name: str,
    losses: Sequence[str],
    *,
    links: WantedLinks | Literal[""] = "",
    apart: bool = False,
) -> list[Future[Any]]:
    """Run a task on every rank and wait; see `RankTasks`."""
    return RankTasks(
        client, addresses, task, arguments, name, losses, links=links, apart=apart
    ).join()


def _broken(name: str, error: BaseException) -> WorkerLostError:
    """Return the error for a connection that broke on a worker, if no other error explains it."""
    return WorkerLostError(f"{name}: a worker's connection broke ({error}); run it again")


def current_client() -> Client:
    """Return the current Dask client.

    Returns
    -------
    Client

    Raises
    ------
    EngineError
        If there is none; the message shows how to make one.
    """
    try:
        return get_client()
    except ValueError:
        raise EngineError(
            "a Dask frame needs a Dask client: `from distributed import Client; client = Client()`, or "
            "`with cugraph_ws.local_cluster():`"
        ) from None


def workers_of(client: Client, wanted: Sequence[str] | None = None) -> list[str]:
    """Return the addresses of the workers to use.

    Parameters
    ----------
    client : Client
    wanted : sequence of str, optional
        Their addresses; all workers of the cluster if not given.

    Returns
    -------
    list of str
        In a fixed order.

    Raises
    ------
    EngineError
        If the cluster has no workers, or lacks one of the given workers.
    """
    present = sorted(client.nthreads())
    if not present:
        with suppress(TimeoutError):
            client.wait_for_workers(1, timeout=START)
        present = sorted(client.nthreads())
    if not present:
        raise EngineError(
            f"the cluster has no workers, and none joined within {START:.0f} s; start workers"
        )
    if wanted is None:
        return present
    missing = [address for address in wanted if address not in present]
    if missing:
        raise EngineError(
            f"worker {missing[0]} is not in the cluster, which has: {', '.join(present) or 'none'}"
        )
    return list(wanted)


def held_bytes(
    client: Client, parts: Sequence[Future[Any]], addresses: Sequence[str]
) -> tuple[dict[str, int], int]:
    """Return how many bytes of partitions each worker holds, and how many there are.

    Parameters
    ----------
    client : Client
    parts : sequence of Future
        Finished.
    addresses : sequence of str
    """
    holders: Mapping[Any, Sequence[str]] = client.who_has(list(parts))
    sizes = client.nbytes([part.key for part in parts], summary=False)
    held = dict.fromkeys(addresses, 0)
    for key, size in sizes.items():
        for address in holders.get(key, ()):
            if address in held:
                held[address] += size
    return held, sum(sizes.values())


def placed(
    client: Client, parts: Sequence[Future[Any]], addresses: Sequence[str]
) -> list[list[int]]:
    """Assign partitions to ranks: each to the rank whose worker holds it, all others evenly.

    Parameters
    ----------
    client : Client
    parts : sequence of Future
        Finished.
    addresses : sequence of str

    Returns
    -------
    list of list of int
        Indices of the partitions of each rank, ascending.
    """
    if len(addresses) == 1:
        return [list(range(len(parts)))]
    holders: Mapping[Any, Sequence[str]] = client.who_has(list(parts))
    shares: list[list[int]] = [[] for _ in addresses]
    for place, part in enumerate(parts):
        holding_ranks = [
            addresses.index(address)
            for address in holders.get(part.key, ())
            if address in addresses
        ]
        candidates = holding_ranks or range(len(addresses))
        shares[min(candidates, key=lambda rank: len(shares[rank]))].append(place)
    return shares
