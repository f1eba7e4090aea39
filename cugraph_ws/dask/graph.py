"""`Graph` of a Dask frame: its shares are with the workers, here is who has them.

Nothing of the graph's size is ever on the client: results are Dask frames whose partitions lie where
they were computed.
"""

from __future__ import annotations

import functools
import math
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, get_args

from dask.tokenize import tokenize
from distributed import Client, Future, wait
from distributed.protocol.pickle import dumps, loads
from distributed.scheduler import KilledWorker

from cugraph_ws.arguments import check_choice, check_columns
from cugraph_ws.dask.client import (
    Crewed,
    LeftBeforeError,
    ask_workers,
    current_client,
    placed,
    run_crew,
    workers_of,
)
from cugraph_ws.dask.faults import (
    FrameLostError,
    OfTheFrameError,
    PausedWorkers,
    refuse_killed_for_memory,
    translated,
)
from cugraph_ws.dask.probe import cluster_scan
from cugraph_ws.dask.tasks import (
    Call,
    Carried,
    build_member,
    call_member,
    early_work,
    meta_of,
    report_member,
)
from cugraph_ws.errors import InputError, WorkerLostError
from cugraph_ws.execution.options import Options
from cugraph_ws.execution.progress import ProgressUpdate, Reporter, reporter
from cugraph_ws.execution.trace import Trace
from cugraph_ws.frames.base import FrameKind, open_frame
from cugraph_ws.graph.columns import AUTO, named_columns, weight_column
from cugraph_ws.graph.edges import Duplicates, Loops
from cugraph_ws.graph.graph import Balance, GraphReport, check_as_built, warn_of_pairs
from cugraph_ws.graph.vertices import id_columns
from cugraph_ws.partition.known_vertices import KnownVertices
from cugraph_ws.program.decorator import VertexProgram
from cugraph_ws.runtime.dispatch import is_dask_frame

__all__ = ["ClusterGraph", "ClusterResult"]

RESTARTS = 5  # of a build, or of a run with a checkpoint, after lost workers
LOOK = 0.5  # seconds between two looks whether a frame's partitions can still be waited for


@dataclass
class ClusterResult:
    """What a run on a cluster returns; see `cugraph_ws.Result`.

    Attributes
    ----------
    frame : dask.dataframe.DataFrame
        The vertex frame, a partition for each worker, on the worker that computed it; sorted by
        vertex over all partitions.
    iterations : int
    converged : bool
    residual : float
    stopped : str
    synchronous : bool
    trace : DataFrame
        One row a superstep, over all workers; made where it is asked for.
    """

    frame: Any
    iterations: int
    converged: bool
    residual: float
    stopped: str
    rows: Trace = field(repr=False)
    kind: FrameKind = field(repr=False)
    synchronous: bool = True

    @functools.cached_property
    def trace(self) -> Any:
        """One row a superstep, over all workers, as a frame of the same kind."""
        return self.kind.make(self.rows.columns())


class ClusterGraph:
    """A graph spread over the workers of a Dask cluster; made by `Graph` of a Dask frame.

    Parameters
    ----------
    edges : dask.dataframe.DataFrame
        One row for each edge.
    client : Client, optional
        The current one if not given.
    workers : sequence of str, optional
        Addresses of the workers to use; all if not given.
    balance : {"even", "auto"} or sequence of float
        How much of the work each worker gets, in their order.
    consume : bool
        Forget `edges` once the graph is built.  After the loss of a worker it cannot be built anew.
    **options : Any
        What `Graph` takes beside.
    """

    is_spread = True

    def __init__(
        self,
        edges: Any,
        source: Any = "source",
        destination: Any = "destination",
        weight: str | None = AUTO,
        directed: bool = True,
        *,
        vertices: Any = None,
        attributes: Any = (),
        duplicates: str = "keep",
        self_loops: str = "keep",
        consume: bool = False,
        client: Client | None = None,
        workers: Sequence[str] | None = None,
        balance: Balance = "even",
    ) -> None:
        self._client = current_client() if client is None else client
        self._edges, self._vertices = edges, vertices
        self._workers, self._balance = workers, balance
        weight = weight_column(edges, weight, source, destination)
        self._nccl = type(edges._meta).__module__.partition(".")[0] == "cudf"
        self.directed, self.weight = directed, weight
        self._options = {
            "source": source,
            "destination": destination,
            "weight": weight,
            "directed": directed,
            "attributes": attributes,
            "duplicates": duplicates,
            "self_loops": self_loops,
        }
        self._addresses: list[str] = []
        self._facts: list[dict[str, Any]] = []
        self._lock = threading.RLock()  # members meet in the same order in every run
        self._shares: list[Future[Any]] | None = None
        # By columns and dtypes of results: an empty frame, and whether there is something of Python's
        self._metas: dict[bytes, tuple[Any, bool]] = {}
        self._took: dict[str, float] = {}  # seconds of the last call of each function
        self._open = True
        self._check()
        self._build()
        self._wanted = len(self._addresses)
        warn_of_pairs(sum(fact["both_ways"] for fact in self._facts), self.number_of_edges)
        if consume:
            self._edges = self._vertices = None

    # --------------------------------------------------------------------------------- the graph

    def _check(self) -> None:
        """Refuse, before any worker has heard of it, what the frames' columns show to be wrong."""
        options = self._options
        check_choice("duplicates", options["duplicates"], get_args(Duplicates))
        check_choice("self_loops", options["self_loops"], get_args(Loops))
        source, destination, attributes = (
            options[name] for name in ("source", "destination", "attributes")
        )
        names, carried = named_columns(source, destination, self.weight, attributes)
        edges = open_frame(self._edges._meta, "edges", on_device=True)
        for ends in zip(*names, strict=True):
            for name, argument in zip(ends, ("source", "destination"), strict=True):
                edges.column(name, argument)
        for name in carried:
            edges.column(name, "weight" if name == self.weight else "attributes")
        if self._vertices is not None:
            spread = is_dask_frame(self._vertices)
            vertices = self._vertices._meta if spread else self._vertices
            id_columns(open_frame(vertices, "vertices", on_device=True), names[0])

    def _build(self) -> None:
        """Have the workers build the graph; if some are lost meanwhile, by those that are left."""
        for attempt in range(RESTARTS + 1):
            try:
                with translated(self._client, "graph"):
                    self._build_once()
                return
            except WorkerLostError as error:
                refuse_killed_for_memory(self._client, "graph", self._addresses, error)
                if attempt == RESTARTS or isinstance(error, FrameLostError):
                    raise

    def _build_once(self) -> None:
        """Have the workers that are there build the graph."""
        if self._edges is None:
            raise FrameLostError(
                "a worker was lost, and the frame that the graph was built of is not kept "
                "(consume=True); make the graph again"
            )
        client = self._client
        self._addresses = workers_of(client, self._workers)
        options = {**self._options, "weights": self._weights()}
        parts = _partitions(client, self._edges)
        shares = placed(client, parts, self._addresses)
        vertices, extra = self._vertices, None
        if is_dask_frame(vertices):
            extra = _partitions(client, vertices)
            theirs = placed(client, extra, self._addresses)
        self._shares = run_crew(
            client,
            self._addresses,
            build_member,
            [
                (
                    places,
                    [parts[place] for place in places],
                    self._edges._meta,
                    None if extra is not None else vertices,
                    None
                    if extra is None
                    else [vertices._meta, *(extra[place] for place in theirs[rank])],
                    options,
                )
                for rank, places in enumerate(shares)
            ],
            "graph",
            [f"{len(places)} of {len(parts)} partitions of the edge frame" for places in shares],
            nccl=self._nccl,
            advice=f"It has been tried {RESTARTS + 1} times; see why workers are lost, and run it again",
        )
        self._facts = client.gather(self._shares)
        self._report: GraphReport | None = None
        self._free = weakref.finalize(self, _release, self._shares)

    def _weights(self) -> list[float] | None:
        """Return how much of the work each worker gets; None: as much as any other."""
        balance: Any = self._balance
        if balance == "even":
            return None
        if balance == "auto":
            return cluster_scan(self._client, workers=self._addresses).speeds
        listed = isinstance(balance, Iterable) and not isinstance(balance, str)
        given: list[Any] = list(balance) if listed else []
        usable = all(isinstance(one, (int, float)) and 0 < one < math.inf for one in given)
        if len(given) != len(self._addresses) or not usable:
            raise InputError(
                f"balance={balance!r}: give 'even', 'auto', or a number above 0 for each of the "
                f"{len(self._addresses)} workers"
            )
        return [float(one) for one in given]

    def _whole(self) -> None:
        """Build the graph again if a worker that had a share of it is gone."""
        if not self._open:
            raise InputError("the graph is closed; use it before close() or inside its `with`")
        if self._is_broken():
            self._let_go()
            self._build()

    def _is_broken(self) -> bool:
        """Tell whether a share is lost, or workers that had been lost have come back for one.

        The client hears of a lost share by itself; to ask takes longer than a small graph's run.
        """
        if self._shares is None or any(share.status != "finished" for share in self._shares):
            return True
        if self._edges is None or self._workers is not None or self._wanted <= len(self._addresses):
            return False
        return len(self._addresses) < min(self._wanted, len(self._client.nthreads()))

    def _with_all(self, work: Callable[[], Any]) -> Any:
        """Have all members do something, on a graph that is whole."""
        for _ in range(RESTARTS):
            self._whole()
            try:
                return work()
            except LeftBeforeError:  # one that is retired leaves its task's result to another
                self._let_go()
        self._whole()
        return work()

    def _let_go(self) -> None:
        """Have the workers free their shares."""
        self._shares = None
        self._free()

    def close(self) -> None:
        """Give the graph's memory back; using the graph afterwards raises InputError."""
        self._open = False
        self._let_go()
        self._edges = self._vertices = None

    def __enter__(self) -> ClusterGraph:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if not self._open:
            return "<Graph, closed>"
        direction = "directed" if self.directed else "undirected"
        return (
            f"<Graph, {direction}, {self.number_of_vertices:,} vertices, "
            f"{self.number_of_edges:,} edges, on {len(self._addresses)} workers>"
        )

    @property
    def number_of_vertices(self) -> int:
        """Number of vertices, isolated ones included."""
        return int(self._fact("vertices"))

    @property
    def number_of_edges(self) -> int:
        """Number of edges kept; an undirected edge counts once."""
        return int(self._fact("edges"))

    @property
    def edge_attributes(self) -> tuple[str, ...]:
        """Names of the edge columns that were kept, the weight among them."""
        return tuple(self._fact("attributes"))

    @property
    def report(self) -> GraphReport:
        """What the build did, counted when first read; `bytes` are those of all workers."""
        with self._lock:
            self._whole()
            if self._report is None:
                with translated(self._client, "report"):
                    self._report = self._with_all(self._reported)
            return self._report

    def _reported(self) -> GraphReport:
        assert self._shares is not None
        tasks = [(share.key, share) for share in self._shares]
        told: GraphReport = run_crew(
            self._client,
            self._addresses,
            report_member,
            tasks,
            "report",
            self._held(),
            nccl=self._nccl,
        )[0].result()
        return told

    def _held(self) -> list[str]:
        """Return what is lost with each worker, in words."""
        return [
            f"{fact['owned']:,} of {fact['vertices']:,} vertices with {fact['arcs']:,} arcs"
            for fact in self._facts
        ]

    @property
    def partitions(self) -> list[dict[str, Any]]:
        """What each worker holds: `worker`, `owned` vertices, `ghosts`, `arcs`, `bytes`."""
        names = ("owned", "ghosts", "arcs", "bytes")
        self._fact("vertices")
        return [
            {"worker": address, **{name: fact[name] for name in names}}
            for address, fact in zip(self._addresses, self._facts, strict=True)
        ]

    def _fact(self, name: str) -> Any:
        if not self._open:
            raise InputError("the graph is closed; use it before close() or inside its `with`")
        return self._facts[0][name]

    # --------------------------------------------------------------------------------------- runs

    def call(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
        """Call a function on every member's share.

        Parameters
        ----------
        function : callable
            One of the library's, that takes a `graph`.
        arguments : mapping
            Its other arguments, by name; Dask frames among them are shared out.

        Returns
        -------
        dask.dataframe.DataFrame, ClusterResult, or tuple of frames
            Where the function returns a frame, a `Result`, or several frames.

        Raises
        ------
        WorkerLostError
            If a worker is lost, unless there is a `checkpoint` to go on from.
        """
        options, others = Options.taken_from(arguments, "run")
        with self._lock:
            name = function.__name__
            for attempt in range(RESTARTS + 1):
                try:
                    with translated(self._client, name):
                        return self._with_all(
                            functools.partial(self._call, function, others, options)
                        )
                except WorkerLostError as error:
                    refuse_killed_for_memory(self._client, name, self._addresses, error)
                    path = options.checkpoint
                    if path is None or attempt == RESTARTS or isinstance(error, FrameLostError):
                        raise
                    if os.path.exists(path):
                        options = replace(options, resume=path)
        raise AssertionError("unreachable")

    def _call(
        self, function: Callable[..., Any], arguments: Mapping[str, Any], options: Options
    ) -> Any:
        client, shares = self._client, self._shares
        assert shares is not None
        self._check_call(arguments)
        divided = {
            name: _partitions(client, one) for name, one in arguments.items() if is_dask_frame(one)
        }
        metas = {name: arguments[name]._meta for name in divided}
        carried = {
            name: Carried(dumps(one)) if isinstance(one, VertexProgram) else one
            for name, one in arguments.items()
            if name not in divided
        }
        where = {name: placed(client, parts, self._addresses) for name, parts in divided.items()}
        own = [
            {name: [parts[place] for place in where[name][rank]] for name, parts in divided.items()}
            for rank in range(len(shares))
        ]
        name = function.__name__
        topic = f"cugraph_ws-{id(self)}-{threading.get_ident()}" if options.progress else None
        shown = reporter(options.progress, name)
        theirs = replace(options, progress=False)  # what shows it is here
        calls = [Call(share.key, function, carried, theirs, topic) for share in shares]
        begun = time.perf_counter()
        crewed = Crewed(
            client,
            self._addresses,
            call_member,
            [
                (call, share, {one: [metas[one], *some] for one, some in parts.items()})
                for call, share, parts in zip(calls, shares, own, strict=True)
            ],
            name,
            self._held(),
            nccl=self._nccl,
            frames=True,
            early=[
                (
                    early_work,
                    call,
                    {one: [part.key for part in some] for one, some in parts.items()},
                )
                for call, parts in zip(calls, own, strict=True)
            ],
            lasts=self._took.get(name, 0.0) if self._nccl else 0.0,
        )
        try:
            with _Listener(client, topic, shown, crewed):
                crewed.join()
        except BaseException:
            crewed.abandon()  # members that nobody waits for would wait for each other
            crewed.release()  # the error's traceback holds this frame
            raise
        self._took[name] = time.perf_counter() - begun
        try:
            return self._assembled(crewed)
        finally:
            crewed.release()

    def _check_call(self, arguments: Mapping[str, Any]) -> None:
        """Refuse columns and vertices that are not the graph's, before the workers hear of a call."""
        # run() has other names for columns, since a program may have parameters of these
        end = "_column" if "program" in arguments else ""
        source = arguments.get(f"source{end}", "source")
        destination = arguments.get(f"destination{end}", "destination")
        weight, directed = arguments.get(f"weight{end}", AUTO), arguments.get("directed", True)
        check_columns(source, destination, weight, directed)
        # weight=None is refused by the functions that read weights
        check_as_built(self, weight, directed, weighted=weight is not None)
        # made for each call: kept, it would keep the graph from being freed with its last reference
        KnownVertices(self._facts[0]["directory"], self._ask_owners).check(arguments)

    def _ask_owners(self, boxes: Mapping[int, Sequence[Any]]) -> dict[int, Any] | None:
        """Ask ranks for the numbers of ids that they would own; None if one does not answer."""
        assert self._shares is not None
        op = "cugraph_ws_find"
        messages = [
            (self._addresses[rank], {"op": op, "key": self._shares[rank].key, "ids": dumps(box)})
            for rank, box in boxes.items()
        ]
        told = [next(iter(one.values()), None) for one in ask_workers(self._client, messages)]
        if any(one is None for one in told):
            return None
        return {rank: loads(one) for rank, one in zip(boxes, told, strict=True)}

    def _assembled(self, crewed: Crewed) -> Any:
        """Make Dask frames of the members' frames.

        Their parts need not be there yet: they are taken out on the workers that have them.
        """
        schemas, facts, error = crewed.summary()
        frames = []
        for which, schema in enumerate(schemas):
            if schema not in self._metas:  # cuDF's take longer to travel than the rest of a call
                asked = self._client.submit(meta_of, crewed.futures[0], which, pure=False)
                meta = asked.result()
                kinds = {getattr(dtype, "kind", "O") for dtype in meta.dtypes}
                self._metas[schema] = meta, "O" in kinds
            number = facts.get("searches", 0)  # of which the frame has rows, in their order
            parts = crewed.searches(number) if number > 1 else crewed.parts(which)
            frames.append(_frame(parts, *self._metas[schema]))
        facts.pop("searches", None)
        if "iterations" in facts:
            result = ClusterResult(frame=frames[0], **facts)
            if error is not None:
                kind, message = error
                raise kind(message, result)
            return result
        return tuple(frames) if facts["tuple"] else frames[0]


def _release(futures: list[Future[Any]]) -> None:
    """Let go of tasks, whoever may still refer to them."""
    for future in futures:
        future.release()


class _Listener:
    """Shows the progress that the first member reports, and carries the user's answer back."""

    def __init__(self, client: Client, topic: str | None, shown: Reporter, crewed: Crewed) -> None:
        self._client, self._topic, self._crewed = client, topic, crewed
        self._reporter = shown
        self._wished = False
        self._error: BaseException | None = None  # of the user's callback

    def __enter__(self) -> _Listener:
        self._reporter.__enter__()
        if self._topic is not None:
            self._client.subscribe_topic(self._topic, self._show)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._topic is not None:
            self._client.unsubscribe_topic(self._topic)
        self._reporter.__exit__(kind, error, trace)
        if kind is None and self._error is not None:
            raise self._error

    def _show(self, event: tuple[float, dict[str, Any]]) -> None:
        _, told = event
        told.pop("worker", None)
        if self._wished:
            return
        try:
            self._wished = not self._reporter.update(ProgressUpdate(**told))
        except BaseException as error:
            self._error, self._wished = error, True
        if self._wished:
            threading.Thread(target=self._crewed.wish, args=("callback",), daemon=True).start()


def _frame(parts: list[Future[Any]], meta: Any, objects: bool) -> Any:
    """Return a Dask frame of futures."""
    import dask.dataframe as dd

    if objects:  # Dask may make strings of them
        return dd.from_delayed(parts, meta=meta, verify_meta=False)
    keys = [part.key for part in parts]  # as of a frame that is persisted; five times as fast
    layer = dict(zip(keys, parts, strict=True))
    return _from_graph(layer, meta, (None,) * (len(parts) + 1), keys, "cugraph_ws")


def _from_graph(layer: Any, meta: Any, divisions: Any, keys: list[Any], prefix: str) -> Any:
    """Return what `dask.dataframe.from_graph` does, named by its keys alone.

    Dask names a frame by its columns too, for which cuDF copies them to the host, though there are no
    rows.  It has no public way to say the name; where this one is gone, it finds one by itself.
    """
    import dask.dataframe as dd

    operands = (layer, meta, divisions, keys, prefix)
    try:
        from dask.dataframe.dask_expr._collection import (  # type: ignore[attr-defined]  # imported there
            new_collection,
        )
        from dask.dataframe.dask_expr.io.io import FromGraph

        named = FromGraph(*operands, _determ_token=tokenize(keys))
    except (ImportError, TypeError):
        return dd.from_graph(*operands)
    return new_collection(named)


def _partitions(client: Client, frame: Any) -> list[Future[Any]]:
    """Have a Dask frame's partitions computed where they fall, and kept."""
    parts = _kept_partitions(client, frame)
    if parts is None:
        parts = client.compute(frame.to_delayed())
    workers = PausedWorkers(client, "graph")
    while any(part.status in ("pending", "lost") for part in parts):
        if any(part.status == "cancelled" for part in parts) or _are_lost_for_good(client, parts):
            break  # to wait for those would never end
        with suppress(TimeoutError, CancelledError), client.as_current():  # wait() looks for one
            wait(parts, timeout=LOOK)
        # Where one still works, it may have the others' partitions.
        workers.refuse(lambda paused: paused if len(paused) == len(client.nthreads()) else [])
    for place, part in enumerate(parts):
        if part.status == "error":
            _raise(part)
        if part.status in ("lost", "cancelled"):
            raise FrameLostError(
                f"graph: partition {place} of {len(parts)} of a frame is {part.status}: it was held by a "
                "worker that is gone, and nothing tells how to compute it again; load the frame again"
            )
    return parts


def _raise(part: Future[Any]) -> None:
    """Raise what went wrong with a partition."""
    try:
        part.result()
    except (KilledWorker, CancelledError):
        raise
    except Exception as error:
        raise OfTheFrameError(error) from error


def _are_lost_for_good(client: Client, parts: Sequence[Future[Any]]) -> bool:
    """Tell whether some partitions are lost that the scheduler cannot have computed again."""
    keys = [part.key for part in parts if part.status == "lost"]
    scheduler: Any = client.scheduler
    states = client.sync(scheduler.get_task_status, keys=keys) if keys else {}
    return any(state in (None, "released", "forgotten") for state in states.values())


def _kept_partitions(client: Client, frame: Any) -> list[Future[Any]] | None:
    """Return the futures that a frame is made of, as `persist` makes it; None of any other.

    To have them computed once more would take a way to the workers and back.
    """
    expression: Any = getattr(frame, "expr", None)
    if type(expression).__name__ != "FromGraph":
        return None
    layer = expression.operand("layer")
    parts = [layer.get(key) for key in expression.operand("keys")]
    for part in parts:
        if not isinstance(part, Future) or part.client is not client or part.cancelled():
            return None
    return parts
