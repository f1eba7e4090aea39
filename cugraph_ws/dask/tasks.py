"""What a member of a crew does: tasks that a driver submits to one Dask worker each."""

from __future__ import annotations

import asyncio
import copy
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from distributed import Worker, get_worker, secede
from distributed.protocol.pickle import dumps

from cugraph_ws.dask.direct_start import Early
from cugraph_ws.dask.worker import DaskCommunicator, office
from cugraph_ws.errors import ConvergenceError, GraphMemoryError, Interrupted, WorkerLostError
from cugraph_ws.execution.loop import Result
from cugraph_ws.execution.options import Options
from cugraph_ws.execution.progress import ProgressUpdate
from cugraph_ws.graph.graph import GraphReport
from cugraph_ws.partition.build import build_shard
from cugraph_ws.partition.partitioned_frame import Partitions
from cugraph_ws.partition.shard import ShardGraph
from cugraph_ws.runtime.communicator import Communicator, total
from cugraph_ws.runtime.threads import threads_at_most

__all__ = [
    "TOPIC",
    "Call",
    "Carried",
    "Duty",
    "Returned",
    "at_work",
    "build_member",
    "call_early",
    "call_member",
    "early_work",
    "meta_of",
    "part_of",
    "report_member",
    "search_of",
    "summary_of",
]

TOPIC = "cugraph_ws"  # under which first members tell drivers what they return
TOLD = 1 << 14  # bytes of it at most, or it has to be asked for: the scheduler keeps a thousand
BY_SOURCE = (
    "multi_source_bfs",
    "multi_source_sssp",
)  # whose rows are of one search after the other
ANSWER = 30.0  # seconds that the scheduler has to let a task go from its worker


@dataclass(frozen=True)
class Duty:
    """Where a member stands.

    Attributes
    ----------
    run : str
        Names the run.
    rank : int
        Its place in the crew.
    addresses : tuple of str
        The workers of all members.
    nccl : bool
        Whether members have a GPU each, and talk by NCCL.
    """

    run: str
    rank: int
    addresses: tuple[str, ...]
    nccl: bool = False


@dataclass(frozen=True)
class Carried:
    """A program on its way to members, whose workers keep it for the next run.

    Attributes
    ----------
    content : bytes
        The program, pickled.
    """

    content: bytes


@dataclass
class Returned:
    """What a member's call returned.

    Attributes
    ----------
    frames : list of DataFrame
        The member's own rows of each frame that the function returned.
    facts : dict
        Of a run: iterations, converged, residual, stopped, synchronous, the first member's rows of the trace, and of
        what kind frames are.
    error : tuple of (type, str), optional
        Of an error that carries a result.
    """

    frames: list[Any]
    facts: dict[str, Any] = field(default_factory=dict)
    error: tuple[type[BaseException], str] | None = None


@contextmanager
def at_work(duty: Duty) -> Iterator[Any]:
    """Join a crew, out of the worker's thread pool: other tasks and crews go on beside it.

    Parameters
    ----------
    duty : Duty

    Yields
    ------
    DaskCommunicator or NcclCommunicator
    """
    worker = get_worker()
    here = worker.address
    if here != duty.addresses[duty.rank]:
        raise WorkerLostError(
            f"worker {duty.addresses[duty.rank]} is gone, and with it what it held of a graph or a "
            "result; run the algorithm again, or go on from its checkpoint with resume="
        )
    secede()
    freeing = _unpinned(worker)
    with _in_crew(worker, duty) as comm:
        yield comm
    _wait_for(freeing, worker)


def _wait_for(freeing: Future[Any], worker: Worker) -> None:
    """Wait until the scheduler has let a task go; see `_unpinned`."""
    try:
        freeing.result(ANSWER)
    except (OSError, CancelledError) as error:  # TimeoutError is an OSError
        raise WorkerLostError(
            f"worker {worker.address} does not reach the scheduler ({type(error).__name__}: {error})"
        ) from error


@contextmanager
def _in_crew(worker: Worker, duty: Duty) -> Iterator[Any]:
    """Join a crew, on whatever thread this is."""
    plugin = office(worker)
    plugin.begin(duty.run)
    try:
        with threads_at_most(max(1, worker.state.nthreads)):  # other workers have the rest
            comm = DaskCommunicator(plugin, duty.run, duty.rank, duty.addresses)
            if duty.nccl and comm.size > 1:
                with plugin.links.lend(comm, duty.addresses, duty.run) as member:
                    yield member
            else:
                yield comm
    except GraphMemoryError:
        raise  # has an estimate, the same for all members
    except MemoryError as error:
        raise GraphMemoryError(
            f"worker {worker.address} has run out of memory ({error}); use more workers, or larger ones"
        ) from error
    finally:
        plugin.end(duty.run)


def _unpinned(worker: Worker) -> Future[Any]:
    """Have the scheduler run this task anywhere, should its result be lost: there it tells so.

    Pinned to a worker that is gone, it would wait for ever.  It is asked for while the member works,
    and done before there is a result.
    """
    free = worker.scheduler.set_restrictions(worker={worker.get_current_task(): ()})
    loop = worker.loop.asyncio_loop  # type: ignore[attr-defined]  # not in Tornado's types
    return asyncio.run_coroutine_threadsafe(free, loop)


def build_member(
    duty: Duty,
    places: Sequence[int],
    frames: Sequence[Any],
    meta: Any,
    vertices: Any,
    vertex_parts: Sequence[Any] | None,
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Build this member's share of a graph; it stays with the worker.

    Parameters
    ----------
    duty : Duty
    places : sequence of int
        Places of the own partitions in the whole edge frame.
    frames : sequence of DataFrame
        The own partitions.
    meta : DataFrame
        An edge frame without rows.
    vertices : frame, optional
        The whole vertex frame.
    vertex_parts : sequence of frame, optional
        Instead of it, the own partitions of one.
    options : mapping
        What `build_shard` takes beside.

    Returns
    -------
    dict
        What the driver wants to know of the share.
    """
    key = get_worker().get_current_task()
    with at_work(duty) as comm:
        shard = build_shard(
            comm,
            list(zip(places, frames, strict=True)),
            meta=meta,
            vertices=vertices if vertex_parts is None else Partitions(list(vertex_parts)),
            **options,
        )
        office().shards[key] = shard
    return {
        "vertices": shard.number_of_vertices,
        "edges": shard.number_of_edges,
        "attributes": shard.edge_attributes,
        "owned": shard.owned,
        "ghosts": shard.length - shard.owned,
        "arcs": shard.own_arcs,
        "bytes": shard.nbytes,
        "both_ways": shard.own_both_ways,
        "directory": shard._vertices.directory() if duty.rank == 0 else None,
    }


def report_member(duty: Duty, key: Any, share: Mapping[str, Any]) -> GraphReport:
    """Return what the build of a graph did.

    Parameters
    ----------
    duty : Duty
    key : str
        Of the task that built the share, whose result, `share`, is here to keep it.
    share : mapping

    Returns
    -------
    GraphReport
        The same for all members.
    """
    with at_work(duty) as comm:
        return _share(get_worker(), key, comm).report


@dataclass(frozen=True)
class Call:
    """A function to be called on members' shares of a graph.

    Attributes
    ----------
    key : str
        Of the task that built this member's share.
    function : callable
        Takes a `graph`.
    arguments : mapping
        Its other arguments, by name; programs are `Carried`.
    options : Options
        Those of the run.
    topic : str, optional
        Under which the first member reports its progress.
    """

    key: Any
    function: Callable[..., Any]
    arguments: Mapping[str, Any]
    options: Options
    topic: str | None


def call_member(
    duty: Duty, call: Call, share: Mapping[str, Any], parts: Mapping[str, Sequence[Any]]
) -> Returned:
    """Call a function on this member's share, or take over what a client has had called early.

    Parameters
    ----------
    duty : Duty
    call : Call
    share : mapping
        Result of the task that built the share, here to keep it.
    parts : mapping of str to sequence of frame
        Named arguments of which every member has its own partitions.

    Returns
    -------
    Returned
    """
    worker = get_worker()
    key = worker.get_current_task()
    early = office().early.claim(key)
    if early is not None:
        return _taken_over(worker, early)
    with at_work(duty) as comm:
        returned = _called(worker, comm, call, parts)
    if duty.rank == 0:
        summary = summary_of(returned)
        if len(summary) <= TOLD:  # or the driver asks for it
            office().news[key] = TOPIC, {"run": duty.run, "summary": summary}
    return returned


def early_work(
    duty: Duty, call: Call, keys: Mapping[str, Sequence[Any]], worker: Worker
) -> Callable[[], tuple[Returned, bytes | None]] | None:
    """Return what does `call_early` here, None where the task has to bring something along.

    Parameters
    ----------
    duty : Duty
    call : Call
    keys : mapping of str to sequence of key
        Named arguments of which every member has its own partitions: these tasks' results.
    worker : Worker
        Whose loop this is called on.
    """
    data = worker.data
    if not all(own and all(key in data for key in own) for own in keys.values()):
        return None
    parts = {name: [data[key] for key in own] for name, own in keys.items()}
    return partial(call_early, duty, call, parts, worker)


def call_early(
    duty: Duty, call: Call, parts: Mapping[str, Sequence[Any]], worker: Worker
) -> tuple[Returned, bytes | None]:
    """Do what `call_member` does, before its task has come, on a thread of one's own.

    Returns
    -------
    returned : Returned
    summary : bytes or None
        See `summary_of`; of the first member.
    """
    with _in_crew(worker, duty) as comm:
        returned = _called(worker, comm, call, parts)
    return returned, summary_of(returned) if duty.rank == 0 else None


def _taken_over(worker: Worker, early: Early) -> Returned:
    """Return what has begun early, once Dask knows what to do should this worker be lost."""
    freeing = _unpinned(worker)
    if not early.outcome.done():
        secede()
    try:
        _wait_for(freeing, worker)
    except BaseException as error:
        early.owned.set_exception(error)
        raise
    early.owned.set_result(None)
    returned: Returned = early.outcome.result()[0]
    return returned


def _called(
    worker: Worker, comm: Communicator, call: Call, parts: Mapping[str, Sequence[Any]]
) -> Returned:
    """Call the function on the share as a member of this crew sees it."""
    graph = _share(worker, call.key, comm)
    named = {
        name: office(worker).program(one.content) if isinstance(one, Carried) else one
        for name, one in call.arguments.items()
    }
    named |= {name: Partitions(list(own)) for name, own in parts.items()}
    options = call.options
    if comm.rank > 0:
        options = replace(options, timeout=None)  # the first member keeps the time
    elif call.topic is not None:
        options = replace(options, progress=_relay(worker, call.topic))
    try:
        returned = _returned(call.function(**named, **options.given(), graph=graph))
    except (ConvergenceError, Interrupted) as error:
        if error.result is None:
            raise
        returned = replace(_returned(error.result), error=(type(error), str(error)))
    if call.function.__name__ in BY_SOURCE:
        rows = total(comm, len(returned.frames[0]))
        returned.facts["searches"] = rows // max(1, graph.number_of_vertices)
    return returned


def part_of(returned: Returned, which: int) -> Any:
    """Return one of the frames of a member's call."""
    return returned.frames[which]


def search_of(rows: Any, which: int, searches: int) -> Any:
    """Return a member's rows of one of several searches, each of which has equally many.

    Parameters
    ----------
    rows : DataFrame
        Of all searches, one after the other.
    which, searches : int
        The search, and how many there are.

    Returns
    -------
    DataFrame
    """
    size = len(rows) // searches
    return rows.iloc[which * size : (which + 1) * size].reset_index(drop=True)


def meta_of(returned: Returned, which: int) -> Any:
    """Return one of the frames of a member's call without its rows."""
    return returned.frames[which].iloc[:0]


def summary_of(returned: Returned) -> bytes:
    """Return what the driver reads of the first member's call, pickled: no rows but the trace's.

    Parameters
    ----------
    returned : Returned

    Returns
    -------
    bytes
        The columns and dtypes of each frame, themselves pickled; the facts; and the error.
    """
    schemas = [pickle.dumps((list(one.columns), list(one.dtypes))) for one in returned.frames]
    summary: bytes = dumps((schemas, returned.facts, returned.error))
    return summary


def _share(worker: Worker, key: Any, comm: Communicator) -> ShardGraph:
    """Return the share that a task has built, as a member of this crew sees it."""
    held = office(worker).shards.get(key)
    if held is None:
        raise WorkerLostError(
            f"worker {worker.address} no longer holds its share of the graph; build the graph again"
        )
    shard: ShardGraph = copy.copy(held)
    shard.join(comm)
    shard.agree_on_what_is_kept()
    return shard


def _relay(worker: Worker, topic: str) -> Callable[[ProgressUpdate], None]:
    """Return what sends progress to whoever listens."""

    def report(update: ProgressUpdate) -> None:
        told = {name: getattr(update, name) for name in update.__slots__}
        worker.loop.add_callback(worker.log_event, topic, told)

    return report


def _returned(value: Any) -> Returned:
    """Take apart what a function returned: a result, a frame, or several."""
    if isinstance(value, Result):
        frame = value.frame
        facts = {
            "iterations": value.iterations,
            "converged": value.converged,
            "residual": value.residual,
            "stopped": value.stopped,
            "synchronous": value.synchronous,
            "rows": value.rows,
            "kind": value.graph._kind,
        }
        return Returned([frame], facts)
    frames = list(value) if isinstance(value, tuple) else [value]
    facts = {"tuple": isinstance(value, tuple)}
    return Returned(frames, facts)
