"""The tasks that ranks execute; the client submits each to one Dask worker."""

from __future__ import annotations

import asyncio
import copy
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import pandas as pd
from distributed import Status, Worker, get_worker, secede
from distributed.protocol.pickle import dumps, loads

from cugraph_ws.dask.started_tasks import StartedTask
from cugraph_ws.dask.worker import SPLIT, DaskCommunicator, rank_plugin
from cugraph_ws.errors import ConvergenceError, GraphMemoryError, Interrupted, WorkerLostError
from cugraph_ws.execution.loop import Result
from cugraph_ws.execution.options import Options
from cugraph_ws.execution.profile import Profile
from cugraph_ws.execution.progress import ProgressUpdate
from cugraph_ws.graph.report import GraphReport
from cugraph_ws.partition.build import build_shard
from cugraph_ws.partition.partitioned_frame import Partitions
from cugraph_ws.partition.shard import ShardGraph
from cugraph_ws.runtime.communicator import Communicator, WantedLinks, total
from cugraph_ws.runtime.dispatch import provider
from cugraph_ws.runtime.threads import threads_at_most
from cugraph_ws.runtime.warn import Warnings, collected

__all__ = [
    "SPLIT",
    "TOPIC",
    "CachedProgram",
    "Call",
    "CallResult",
    "RankContext",
    "at_work",
    "build_rank",
    "call_directly",
    "call_rank",
    "derive_rank",
    "direct_build",
    "direct_derive",
    "direct_work",
    "meta_of",
    "part_of",
    "report_rank",
    "search_of",
    "sum_of",
    "summary_of",
    "take_rank",
]

TOPIC = "cugraph_ws"  # topic of the events by which rank 0 sends its summary to clients
LONGEST_EVENT = 1 << 14  # most bytes of such an event, since the scheduler keeps a thousand of them
BY_SOURCE = (
    "multi_source_bfs",
    "multi_source_sssp",
    "personalized_pagerank",
)  # functions that return the rows of one search after the other
ANSWER = 30.0  # seconds in which the scheduler must unpin a task


Held = dict[str, list[Any]]  # partitions that a worker has, by the argument's name
# Makes a shard; returns it with the facts about it, and the facts, pickled
MakeDirectly = Callable[[], tuple[tuple[ShardGraph, dict[str, Any]], bytes]]


@dataclass(frozen=True)
class RankContext:
    """The context of a rank.

    Attributes
    ----------
    run : str
        The run's name.
    rank : int
    addresses : tuple of str
        The workers, by rank.
    links : {"", "auto", "nccl", "hub"}
        How the ranks' GPUs exchange; empty if arrays are on the host.
    """

    run: str
    rank: int
    addresses: tuple[str, ...]
    links: WantedLinks | Literal[""] = ""


@dataclass(frozen=True)
class CachedProgram:
    """A program sent to workers, which cache it for the next run.

    Attributes
    ----------
    content : bytes
        The program, pickled.
    """

    content: bytes


@dataclass
class CallResult:
    """The call result of a rank.

    Attributes
    ----------
    frames : list of DataFrame
        This rank's rows of each frame that the function returned.
    facts : dict
        For a run: iterations, converged, residual, stopped, synchronous, rank 0's rows of the trace,
        and the kind of the frames.  For a function that returns a number: that number.  If they are wanted,
        the profiles of its runs.  Warnings, if there are any.
    error : tuple of (type, str), optional
        The type and message of an error that carries a result.
    """

    frames: list[Any]
    facts: dict[str, Any] = field(default_factory=dict)
    error: tuple[type[BaseException], str] | None = None


@contextmanager
def at_work(context: RankContext) -> Iterator[Any]:
    """Join a communicator outside the worker's thread pool, so that other tasks and runs go on.

    Parameters
    ----------
    context : RankContext

    Yields
    ------
    DaskCommunicator or NcclCommunicator
    """
    worker = get_worker()
    address = worker.address
    if address != context.addresses[context.rank]:
        raise _lost(context.addresses[context.rank])
    secede()
    freeing = _unpinned(worker)
    with _joined(worker, context) as comm:
        yield comm
    _wait_for(freeing, worker)


def _wait_for(freeing: Future[Any], worker: Worker) -> None:
    """Wait until the scheduler has unpinned a task; see `_unpinned`."""
    try:
        freeing.result(ANSWER)
    except (OSError, CancelledError) as error:  # TimeoutError is an OSError
        raise WorkerLostError(
            f"worker {worker.address} cannot reach the scheduler ({type(error).__name__}: {error})"
        ) from error


@contextmanager
def _joined(worker: Worker, context: RankContext) -> Iterator[Any]:
    """Join a communicator on the current thread."""
    plugin = rank_plugin(worker)
    plugin.begin(context.run)
    try:
        with threads_at_most(max(1, worker.state.nthreads)):  # other workers use the other cores
            comm = DaskCommunicator(plugin, context.run, context.rank, context.addresses)
            if context.links and comm.size > 1:
                with plugin.links.lend(
                    comm, context.addresses, context.run, context.links
                ) as linked:
                    yield linked
            else:
                yield comm
    except GraphMemoryError:
        raise  # has an estimate, the same for all ranks
    except MemoryError as error:
        raise GraphMemoryError(
            f"worker {worker.address} has run out of memory ({error}); use more workers, or larger ones"
        ) from error
    finally:
        plugin.end(context.run)


def _unpinned(worker: Worker) -> Future[Any]:
    """Allow the scheduler to run this task on any worker if its result is lost.

    On another worker the task raises WorkerLostError; pinned to a lost worker, it would wait forever.
    The request is sent while the rank works, and must be answered before the rank returns.
    """
    free = worker.scheduler.set_restrictions(worker={worker.get_current_task(): ()})
    loop = worker.loop.asyncio_loop  # type: ignore[attr-defined]  # not in Tornado's types
    return asyncio.run_coroutine_threadsafe(free, loop)


def build_rank(
    context: RankContext,
    places: Sequence[int],
    frames: Sequence[Any],
    meta: Any,
    vertices: Any,
    vertex_parts: Sequence[Any] | None,
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Build this rank's shard of a graph; the worker keeps it.

    Parameters
    ----------
    context : RankContext
    places : sequence of int
        Indices of this rank's partitions in the edge frame.
    frames : sequence of DataFrame
        This rank's partitions.
    meta : DataFrame
        An edge frame without rows.
    vertices : frame, optional
        The whole vertex frame; with `vertex_parts` it is not read.
    vertex_parts : sequence of frame, optional
        This rank's partitions of the vertex frame, instead of `vertices`.
    options : mapping
        Further arguments of `build_shard`.

    Returns
    -------
    dict
        Facts about the shard for the client.
    """
    return _kept(context, partial(_built, places, frames, meta, vertices, vertex_parts, options))


def _built(
    places: Sequence[int],
    frames: Sequence[Any],
    meta: Any,
    vertices: Any,
    vertex_parts: Sequence[Any] | None,
    options: Mapping[str, Any],
    worker: Worker,
    comm: Communicator,
) -> ShardGraph:
    """Build this rank's shard; see `build_rank`."""
    provider("accelerators").require_agreement(comm)
    return build_shard(
        comm,
        list(zip(places, frames, strict=True)),
        meta=meta,
        vertices=vertices if vertex_parts is None else Partitions(list(vertex_parts)),
        **options,
    )


def _kept(
    context: RankContext, make: Callable[[Worker, Communicator], ShardGraph]
) -> dict[str, Any]:
    """Make a shard, or take over one that a direct start makes; keep it for this task, and return its facts."""
    worker = get_worker()
    key = worker.get_current_task()
    plugin = rank_plugin(worker)
    started = plugin.started.take(key)
    if started is not None:

        def keep(shard_and_facts: tuple[ShardGraph, dict[str, Any]]) -> None:
            plugin.shards[key] = shard_and_facts[0]

        facts: dict[str, Any] = _taken_over(worker, started, keep)[1]
        return facts
    with at_work(context) as comm:
        shard = plugin.shards[key] = make(worker, comm)
    return _facts(shard, context.rank)


def direct_build(
    context: RankContext,
    places: Sequence[int],
    keys: Mapping[str, Sequence[Any]],
    content: bytes,
    worker: Worker,
) -> MakeDirectly | None:
    """Return a function that builds this rank's shard before the task has come; see `direct_work`.

    Parameters
    ----------
    context : RankContext
    places : sequence of int
        Indices of this rank's partitions in the edge frame.
    keys : mapping of str to sequence of key
        The keys of this rank's partitions of the edge frame, "edges", and if it is partitioned of the
        vertex frame, "vertices".
    content : bytes
        The edge frame and the vertex frame, if there is one, without their rows, and the options of
        `build_shard`; pickled.
    worker : Worker

    Returns
    -------
    callable or None
        It returns the shard with the facts about it, and the facts, pickled.  None if the worker is paused,
        or partitions are on other workers.
    """

    def make(partitions: Held, comm: Communicator) -> ShardGraph:
        meta, vertices, options = loads(content)
        parts = [vertices, *partitions["vertices"]] if "vertices" in partitions else None
        return _built(places, partitions["edges"], meta, vertices, parts, options, worker, comm)

    return _made_directly(context, keys, make, worker)


def _made_directly(
    context: RankContext,
    keys: Mapping[str, Sequence[Any]],
    make: Callable[[Held, Communicator], ShardGraph],
    worker: Worker,
) -> MakeDirectly | None:
    """Return a function that makes a shard of partitions, for `_kept`; None if that must wait for the task."""
    partitions = None if worker.status != Status.running else _held_here(worker, keys)
    return (
        None if partitions is None else partial(_make_directly, context, make, partitions, worker)
    )


def _make_directly(
    context: RankContext,
    make: Callable[[Held, Communicator], ShardGraph],
    partitions: Held,
    worker: Worker,
) -> tuple[tuple[ShardGraph, dict[str, Any]], bytes]:
    with _joined(worker, context) as comm:
        shard = make(partitions, comm)
    facts = _facts(shard, context.rank)
    return (shard, facts), dumps(facts)


def _held_here(worker: Worker, keys: Mapping[str, Sequence[Any]]) -> Held | None:
    """Return partitions by their keys; None if the worker lacks one of them."""
    data = worker.data
    if not all(key in data for part_keys in keys.values() for key in part_keys):
        return None
    return {name: [data[key] for key in part_keys] for name, part_keys in keys.items()}


def derive_rank(
    context: RankContext,
    key: Any,
    share: Mapping[str, Any],
    method: str,
    arguments: Mapping[str, Any],
    parts: Mapping[str, Sequence[Any]],
) -> dict[str, Any]:
    """Derive a new shard from a shard by one of its methods; the worker keeps it.

    Parameters
    ----------
    context : RankContext
    key : str
        The key of the task that built the other shard.
    share : mapping
        The result of that task; as an argument it keeps the shard.
    method : str
        Name of a method of `GraphView` that returns a graph.
    arguments : mapping
        Its arguments, by name.
    parts : mapping of str to sequence of frame
        Partitioned arguments, by name: this rank's partitions of each, after an empty one.

    Returns
    -------
    dict
        Facts about the new shard for the client.
    """
    return _kept(context, partial(_derived, key, method, arguments, parts))


def _derived(
    key: Any,
    method: str,
    arguments: Mapping[str, Any],
    parts: Mapping[str, Sequence[Any]],
    worker: Worker,
    comm: Communicator,
) -> ShardGraph:
    """Derive a new shard; see `derive_rank`."""
    divided = {name: Partitions(list(some)) for name, some in parts.items()}
    shard: ShardGraph = getattr(_share(worker, key, comm), method)(**arguments, **divided)
    return shard


def direct_derive(
    context: RankContext,
    key: Any,
    keys: Mapping[str, Sequence[Any]],
    content: bytes,
    worker: Worker,
) -> MakeDirectly | None:
    """Return a function that derives a new shard before the task has come; see `direct_build`.

    Parameters
    ----------
    context : RankContext
    key : str
        The key of the task that built the other shard.
    keys : mapping of str to sequence of key
        Partitioned arguments, by name: the keys of this rank's partitions.
    content : bytes
        The method's name; its other arguments, by name; and of each partitioned one a frame without rows;
        pickled.
    worker : Worker
    """

    def make(partitions: Held, comm: Communicator) -> ShardGraph:
        method, arguments, metas = loads(content)
        parts = {name: [metas[name], *frames] for name, frames in partitions.items()}
        return _derived(key, method, arguments, parts, worker, comm)

    return _made_directly(context, keys, make, worker)


def _facts(shard: ShardGraph, rank: int) -> dict[str, Any]:
    """Return facts about a shard for the client."""
    return {
        "vertices": shard.number_of_vertices,
        "edges": shard.number_of_edges,
        "attributes": shard.edge_attributes,
        "owned": shard.owned,
        "ghosts": shard.length - shard.owned,
        "arcs": shard.own_arcs,
        "bytes": shard.nbytes,
        "both_ways": shard.own_both_ways,
        "directory": shard._vertices.directory() if rank == 0 else None,
    }


def report_rank(context: RankContext, key: Any, share: Mapping[str, Any]) -> GraphReport:
    """Return the report on the build of a graph.

    Parameters
    ----------
    context : RankContext
    key : str
        The key of the task that built the shard.
    share : mapping
        The result of that task; as an argument it keeps the shard.

    Returns
    -------
    GraphReport
        The same on all ranks.
    """
    with at_work(context) as comm:
        return _share(get_worker(), key, comm).report


@dataclass(frozen=True)
class Call:
    """A call of a function on a shard of a graph.

    Attributes
    ----------
    key : str
        The key of the task that built this rank's shard.
    function : callable
        Takes a `graph`.
    arguments : mapping
        Its other arguments, by name; programs are `CachedProgram`.
    options : Options
        The run's options.
    topic : str, optional
        The topic under which rank 0 reports its progress.
    agrees : bool
        Whether ranks first agree on the cached results of their shards; needed only after a call has
        failed on a rank.
    known : sequence of (list of ndarray, ndarray of int64)
        Ids that the client has looked up, encoded, and their vertex numbers.
    share : (int, int)
        See `GraphView.share`.
    """

    key: Any
    function: Callable[..., Any]
    arguments: Mapping[str, Any]
    options: Options
    topic: str | None
    agrees: bool = True
    known: Sequence[Any] = ()
    share: tuple[int, int] = (0, 1)


def call_rank(
    context: RankContext, call: Call, share: Mapping[str, Any], parts: Mapping[str, Sequence[Any]]
) -> CallResult:
    """Call a function on this rank's shard, or take over a call that a direct start began.

    Parameters
    ----------
    context : RankContext
    call : Call
    share : mapping
        The result of the task that built the shard; as an argument it keeps the shard.
    parts : mapping of str to sequence of frame
        Partitioned arguments, by name: this rank's partitions of each.

    Returns
    -------
    CallResult
    """
    worker = get_worker()
    key = worker.get_current_task()
    started = rank_plugin().started.take(key)
    if started is not None:
        result: CallResult = _taken_over(worker, started)
        return result
    with at_work(context) as comm:
        returned = _called(worker, comm, call, parts)
    if context.rank == 0:
        summary = summary_of(returned)
        if len(summary) <= LONGEST_EVENT:  # otherwise the client requests it
            rank_plugin().events[key] = TOPIC, {"run": context.run, "summary": summary}
    return returned


def take_rank(key: str, address: str) -> CallResult:
    """Take over the result of a call that was started directly, and is done.

    Parameters
    ----------
    key : str
        The key of the direct start.
    address : str
        The worker that has the result.  Dask may run this task on another worker, for example if that
        one is paused.

    Returns
    -------
    CallResult

    Raises
    ------
    WorkerLostError
        If that worker is lost, or has started again.
    """
    worker = get_worker()
    result: CallResult | None
    if worker.address == address:
        started = rank_plugin(worker).started.take(key)
        result = None
        if started is not None:
            started.owned.set_result(None)
            result = started.outcome.result()[0]
    else:
        secede()
        result = _fetched(worker, key, address)
    if result is None:
        raise _lost(address)
    return result


def _fetched(worker: Worker, key: str, address: str) -> CallResult | None:
    """Fetch the result of a direct start from another worker; None if it is lost."""

    async def fetch() -> CallResult | None:
        if address not in await worker.scheduler.ncores():  # Dask would try for long to reach it
            return None
        fetched: CallResult | None = await worker.rpc(address).cugraph_ws_take(key=key)
        return fetched

    loop = worker.loop.asyncio_loop  # type: ignore[attr-defined]  # not in Tornado's types
    try:
        return asyncio.run_coroutine_threadsafe(fetch(), loop).result(ANSWER)
    except OSError:  # TimeoutError is an OSError
        return None


def _lost(address: str) -> WorkerLostError:
    """Return the error of a rank whose worker is lost."""
    return WorkerLostError(
        f"worker {address} was lost, with its partitions of a graph or a "
        "result; run the algorithm again, or continue from its checkpoint with resume="
    )


def direct_work(
    context: RankContext, call: Call, keys: Mapping[str, Sequence[Any]], worker: Worker
) -> Callable[[], tuple[CallResult, bytes | None]] | None:
    """Return the function that does `call_directly` here; None if partitions are on other workers.

    Parameters
    ----------
    context : RankContext
    call : Call
    keys : mapping of str to sequence of key
        Partitioned arguments, by name: the keys of this rank's partitions.
    worker : Worker
        The worker; this runs on its event loop.
    """
    parts = _held_here(worker, keys) if all(keys.values()) else None
    return None if parts is None else partial(call_directly, context, call, parts, worker)


def call_directly(
    context: RankContext, call: Call, parts: Mapping[str, Sequence[Any]], worker: Worker
) -> tuple[CallResult, bytes | None]:
    """Do the work of `call_rank` before its task has come, in a thread of its own.

    Returns
    -------
    returned : CallResult
    summary : bytes or None
        See `summary_of`; None on ranks above 0.
    """
    with _joined(worker, context) as comm:
        returned = _called(worker, comm, call, parts)
    return returned, summary_of(returned) if context.rank == 0 else None


def _taken_over(
    worker: Worker, started: StartedTask, keep: Callable[[Any], None] | None = None
) -> Any:
    """Return the result of a direct start, once the scheduler has unpinned its task.

    `keep` is given the result before the client hears that the task is here.
    """
    freeing = _unpinned(worker)
    if not started.outcome.done():
        secede()
    try:
        _wait_for(freeing, worker)
        if keep is not None:
            keep(started.outcome.result()[0])
    except BaseException as error:
        started.owned.set_exception(error)
        raise
    started.owned.set_result(None)
    return started.outcome.result()[0]


def _called(
    worker: Worker, comm: Communicator, call: Call, parts: Mapping[str, Sequence[Any]]
) -> CallResult:
    """Call the function on this rank's shard."""
    graph = _share(worker, call.key, comm, agrees=call.agrees)
    graph.share = call.share
    graph.know(call.known)
    named = {
        name: rank_plugin(worker).program(value.content)
        if isinstance(value, CachedProgram)
        else value
        for name, value in call.arguments.items()
    }
    named |= {name: Partitions(list(frames)) for name, frames in parts.items()}
    options = call.options
    if comm.rank > 0:
        options = replace(options, timeout=None)  # rank 0 keeps the time
    elif call.topic is not None:
        options = replace(options, progress=_publisher(worker, call.topic))
    profiles: list[Profile] = []
    if options.profile is not False:
        options = replace(options, profile=profiles.append)
    messages: Warnings = []
    token = collected.set(messages)
    try:
        returned = _returned(call.function(**named, **options.chosen(), graph=graph))
    except (ConvergenceError, Interrupted) as error:
        if error.result is None:
            raise
        returned = replace(_returned(error.result), error=(type(error), str(error)))
    finally:
        collected.reset(token)
    if profiles:
        returned.facts["profiles"] = [profile.alone() for profile in profiles]
    if messages:
        returned.facts["warnings"] = messages
    if call.function.__name__ in BY_SOURCE and call.arguments.get("top") is None:
        rows = total(comm, len(returned.frames[0]))
        returned.facts["searches"] = rows // max(1, graph.number_of_vertices)
    return returned


def part_of(returned: CallResult, which: int) -> Any:
    """Return one frame of a call result."""
    return returned.frames[which]


def search_of(rows: Any, which: int, searches: int) -> Any:
    """Return a rank's rows of one of several searches, all of which have the same number of rows.

    Parameters
    ----------
    rows : DataFrame
        The rows of all searches, one search after the other.
    which, searches : int
        The index of the search, and the number of searches.

    Returns
    -------
    DataFrame
    """
    size = len(rows) // searches
    return rows.iloc[which * size : (which + 1) * size].reset_index(drop=True)


def meta_of(returned: CallResult, which: int) -> Any:
    """Return one frame of a call result without its rows."""
    return returned.frames[which].iloc[:0]


def summary_of(returned: CallResult) -> bytes:
    """Return the part of rank 0's call result that the client reads, pickled; of rows it has only the trace's.

    Parameters
    ----------
    returned : CallResult

    Returns
    -------
    bytes
        The columns and dtypes of each frame, pickled separately; the facts; and the error.
    """
    schemas = [pickle.dumps(_schema(frame)) for frame in returned.frames]
    summary: bytes = dumps((schemas, returned.facts, returned.error))
    return summary


def sum_of(frames: Sequence[Any], column: str) -> Any:
    """Return the first of frames that differ in a column only, with the sums of that column.

    Parameters
    ----------
    frames : sequence of DataFrame
    column : str

    Returns
    -------
    DataFrame
    """
    first, *others = frames
    total = first[column]
    for frame in others:
        total = total + frame[column]
    return first.assign(**{column: total})


def _schema(frame: Any) -> list[tuple[Any, Any]]:
    """Return a frame's columns with their dtypes.

    cuDF's public `dtypes` and `columns` make pandas objects, which takes as long as a small superstep.
    """
    if hasattr(type(frame), "_dtypes"):
        return list(frame._dtypes)
    return list(zip(frame.columns, frame.dtypes, strict=True))


def _share(worker: Worker, key: Any, comm: Communicator, *, agrees: bool = True) -> ShardGraph:
    """Return the shard that a task has built, joined to a communicator; collective if `agrees`."""
    kept_shard = rank_plugin(worker).shards.get(key)
    if kept_shard is None:
        raise WorkerLostError(
            f"worker {worker.address} no longer holds its shard of the graph; build the graph again"
        )
    shard: ShardGraph = copy.copy(kept_shard)
    shard.join(comm)
    if agrees:
        shard.agree_on_what_is_kept()
    return shard


def _publisher(worker: Worker, topic: str) -> Callable[[ProgressUpdate], None]:
    """Return a callback that publishes progress under a topic."""

    def report(update: ProgressUpdate) -> None:
        fields = {name: getattr(update, name) for name in update.__slots__}
        worker.loop.add_callback(worker.log_event, topic, fields)

    return report


def _returned(value: Any) -> CallResult:
    """Make a call result from a function's return value: a `Result`, a number, a frame, or several frames."""
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
        more = [value.edges] if value.edge_arrays else []
        return CallResult([frame, *more], facts)
    if isinstance(value, (int, float)):  # the same on all ranks
        return CallResult([pd.DataFrame()], {"number": value})  # every call has a first frame
    frames = list(value) if isinstance(value, tuple) else [value]
    facts = {"tuple": isinstance(value, tuple)}
    return CallResult(frames, facts)
