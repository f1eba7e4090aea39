"""`Graph` of a Dask frame: the workers hold its shards, the client knows which worker holds which.

The client never holds data of the graph's size.  Results are Dask frames whose partitions stay on
the workers that computed them.
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
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Literal, get_args

import dask
from dask.tokenize import tokenize
from distributed import Client, Future, wait
from distributed.protocol.pickle import dumps, loads
from distributed.scheduler import KilledWorker

from cugraph_ws.arguments import check_choice, check_columns, check_word, listed, shown
from cugraph_ws.contract import WorkerRequests
from cugraph_ws.dask.client import (
    ANSWER,
    SHORT,
    LeftBeforeError,
    RankTasks,
    ask_workers,
    current_client,
    held_bytes,
    placed,
    run_on_ranks,
    workers_of,
)
from cugraph_ws.dask.copies import division
from cugraph_ws.dask.faults import (
    FrameLostError,
    OfTheFrameError,
    PausedWorkers,
    refuse_killed_for_memory,
    translated,
)
from cugraph_ws.dask.probe import cluster_scan
from cugraph_ws.dask.tasks import (
    CachedProgram,
    Call,
    build_rank,
    call_rank,
    derive_rank,
    direct_build,
    direct_derive,
    direct_work,
    meta_of,
    report_rank,
    sum_of,
)
from cugraph_ws.errors import GraphMemoryError, InputError, WorkerLostError
from cugraph_ws.execution.loop import NO_EDGE_STATE
from cugraph_ws.execution.options import Engine, Options
from cugraph_ws.execution.profile import Profile
from cugraph_ws.execution.progress import ProgressUpdate, Reporter, reporter
from cugraph_ws.execution.readable import ReadableResult
from cugraph_ws.execution.trace import Trace
from cugraph_ws.frames.base import FrameKind, is_dask_frame, is_frame, open_frame
from cugraph_ws.graph.edges import (
    AUTO,
    WEIGHT,
    Loops,
    check_duplicates,
    named_columns,
    weight_column,
)
from cugraph_ws.graph.graph import Balance, Spread, check_as_built, check_ends_as_built
from cugraph_ws.graph.methods import GraphMethods
from cugraph_ws.graph.owners import CUTS
from cugraph_ws.graph.report import GraphReport, warn_of_pairs
from cugraph_ws.graph.vertices import id_columns
from cugraph_ws.graph.view import edges_of, vertices_of
from cugraph_ws.partition.known_vertices import SENT, KnownVertices
from cugraph_ws.program.phases import Phases
from cugraph_ws.program.snapshot import Snapshot
from cugraph_ws.runtime.communicator import WantedLinks
from cugraph_ws.runtime.dispatch import provider
from cugraph_ws.runtime.warn import warn_caller

__all__ = ["ClusterGraph", "ClusterResult"]

# Bytes of an edge frame up to which one worker computes on the whole graph sooner than several on their parts; the
# second for graphs on GPUs that are kept, so that moving the edges to one of them pays.  See `docs/decisions/063`.
ON_ONE = 64 << 20
KEPT_ON_ONE_GPU = 2 << 30
RESTARTS = 5  # how often a build, or a run with a checkpoint, is restarted after workers are lost
LOOK = 0.5  # seconds between two checks whether a frame's partitions can still be computed


@dataclass
class ClusterResult(ReadableResult):
    """Result of a run on a cluster; see `cugraph_ws.Result`.

    Attributes
    ----------
    frame : dask.dataframe.DataFrame
        The vertex frame: one partition for each worker, on the worker that computed it; sorted by
        vertex across all partitions.
    iterations : int
    converged : bool
    residual : float
    stopped : str
    synchronous : bool
    trace : DataFrame
        One row per superstep, for all workers; made when first read.
    profile : Profile or None
        The first worker's kernels and times, with the bytes of all, if the run was asked for it.
    """

    frame: Any
    iterations: int
    converged: bool
    residual: float
    stopped: str
    rows: Trace = field(repr=False)
    kind: FrameKind = field(repr=False)
    synchronous: bool = True
    edge_frame: Any = field(default=None, repr=False)
    profile: Profile | None = field(default=None, repr=False)

    @property
    def edges(self) -> Any:
        """The state that the program keeps on edges, as a Dask frame; see `cugraph_ws.Result.edges`."""
        if self.edge_frame is None:
            raise InputError(NO_EDGE_STATE)
        return self.edge_frame

    @functools.cached_property
    def trace(self) -> Any:
        """One row per superstep, for all workers, as a frame of the same kind."""
        return self.kind.make(self.rows.columns())


class ClusterGraph(GraphMethods[Any]):
    """A graph partitioned across the workers of a Dask cluster; made by `Graph` of a Dask frame.

    Parameters
    ----------
    edges : dask.dataframe.DataFrame
        One row for each edge.
    client : Client, optional
        The current one if not given.
    workers : sequence of str, optional
        Addresses of the workers to use; all if not given.
    balance : {"even", "auto"} or sequence of float
        The relative work of each worker, in the order of `workers`.
    links : {"auto", "nccl", "hub"}
        How the workers' GPUs exchange; see `Graph`.
    spread : {"auto", "one", "copies", "parts"}
        How many workers hold the graph; see `Graph`.
    cut : {"ranges", "arcs"} or str
        Which vertices go together; see `Graph`.
    once : bool
        Whether the graph is for one call.
    consume : bool
        Release `edges` once the graph is built.  The graph then cannot be rebuilt after the loss of
        a worker.
    **options : Any
        Further arguments of `Graph`.
    """

    is_partitioned = True

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
        duplicates: str | Mapping[str, str] = "keep",
        self_loops: str = "keep",
        consume: bool = False,
        client: Client | None = None,
        workers: Sequence[str] | None = None,
        balance: Balance = "even",
        links: WantedLinks = "auto",
        spread: Spread = "auto",
        cut: str = "ranges",
        once: bool = False,
    ) -> None:
        self._client = current_client() if client is None else client
        self._edges, self._vertices = edges, vertices
        self._workers, self._balance = workers, balance
        weight = weight_column(edges, weight, source, destination)
        check_choice("links", links, get_args(WantedLinks))
        on_device = type(edges._meta).__module__.partition(".")[0] == "cudf"
        used = links if on_device or links != "auto" else ""
        self._set_up(self._client, directed, weight, links=used)
        self._once = once
        self._spread = _wanted_spread(spread, is_divided=balance != "even" or links != "auto")
        self._copied = self._spread == "copies"
        self._options = {
            "source": source,
            "destination": destination,
            "weight": weight,
            "directed": directed,
            "attributes": attributes,
            "duplicates": duplicates,
            "self_loops": self_loops,
            "cut": cut,
        }
        self._check()
        self._build()
        self._wanted = len(self._addresses)
        if pairs := sum(fact["both_ways"] for fact in self._facts):
            warn_of_pairs(pairs, self.number_of_edges)
        if consume:
            self._edges = self._vertices = None

    def _set_up(
        self,
        client: Client,
        directed: bool,
        weight: str | None,
        *,
        links: WantedLinks | Literal[""],
    ) -> None:
        """Set what a graph has before it is built."""
        self._client, self._links = client, links
        self.directed, self.weight = directed, weight
        self._addresses: list[str] = []
        self._facts: list[dict[str, Any]] = []
        self._lock = threading.RLock()  # one run at a time, so that collectives keep their order
        self._shares: list[Future[Any]] | None = None
        self._settled = True  # whether Dask is known to have the results of a build
        # For the columns and dtypes of a result: an empty frame, and whether it has Python objects
        self._metas: dict[bytes, tuple[Any, bool]] = {}
        self._took: dict[str, float] = {}  # seconds of the last call of each function
        self._open = True
        self._copied = False  # whether each worker holds the whole graph
        # Whether a call has failed on a rank, so that shards may keep different cached results
        self._unlike = False

    # --------------------------------------------------------------------------------- the graph

    def _check(self) -> None:
        """Check options and the frames' columns before any worker starts."""
        options = self._options
        check_choice("self_loops", options["self_loops"], get_args(Loops))
        check_word("cut", options["cut"])
        if options["cut"] != "ranges" and self._balance != "even":
            raise InputError(
                f"cut={options['cut']!r} and balance={shown(self._balance)}: shares of work are for ranges of ids; leave out one of the two"
            )
        source, destination, attributes = (
            options[name] for name in ("source", "destination", "attributes")
        )
        names, carried = named_columns(source, destination, self.weight, attributes)
        check_duplicates(options["duplicates"], carried)
        edges = open_frame(self._edges._meta, "edges", on_device=True)
        for ends in zip(*names, strict=True):
            for name, argument in zip(ends, ("source", "destination"), strict=True):
                edges.column(name, argument)
        for name in carried:
            edges.column(name, "weight" if name == self.weight else "attributes")
        named: list[str] = []
        if self._vertices is not None:
            partitioned = is_dask_frame(self._vertices)
            vertices = self._vertices._meta if partitioned else self._vertices
            opened = open_frame(vertices, "vertices", on_device=True)
            ids = id_columns(opened, names[0])
            named = [name for name in opened.names if name not in ids]
        if options["cut"] not in (*CUTS, *named):
            raise InputError(
                f"cut={options['cut']!r}: give 'ranges', 'arcs', or a column of vertices= besides the ids; there is "
                f"{listed(named) if named else 'none'}"
            )

    def _build(self) -> None:
        """Build the graph on the workers; if some are lost meanwhile, on the remaining ones."""
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
        """Build the graph on the current workers."""
        if self._edges is None:
            raise FrameLostError(
                "a worker was lost, and the frame that the graph was built from was not kept "
                "(consume=True); make the graph again"
            )
        client = self._client
        addresses = workers_of(client, self._workers)
        parts = _partitions(client, self._edges)
        if self._spread in ("parts", "copies") or len(addresses) == 1:
            self._build_on(addresses, parts)
            return
        limit = KEPT_ON_ONE_GPU if self._links and not self._once else ON_ONE
        held, size = held_bytes(client, parts, addresses)
        if self._spread == "auto" and size > limit:
            self._build_on(addresses, parts)
            return
        try:
            self._build_on([max(addresses, key=lambda address: held[address])], parts)
        except GraphMemoryError:
            if self._spread == "one":
                raise
            self._build_on(addresses, parts)

    def _build_on(self, addresses: list[str], parts: list[Future[Any]]) -> None:
        """Build the graph on some workers from the partitions of its edge frame."""
        client, self._addresses = self._client, addresses
        options = {**self._options, "cut": self._weights() or self._options["cut"]}
        shares = self._placed(parts)
        meta, vertices = self._edges._meta, self._vertices
        theirs: list[list[Future[Any]]] | None = None
        if is_dask_frame(vertices):
            more = _partitions(client, vertices)
            theirs = [[more[place] for place in places] for places in self._placed(more)]
            vertices = vertices._meta
        tasks, direct = [], []
        # A whole vertex frame may be long: it is not sent twice
        brief = theirs is not None or vertices is None
        content = dumps((meta, vertices, options)) if brief else b""
        for rank, places in enumerate(shares):
            own_parts = [parts[place] for place in places]
            some = None if theirs is None else theirs[rank]
            divided = None if some is None else [vertices, *some]
            tasks.append((places, own_parts, meta, vertices, divided, options))
            keys = {"edges": [part.key for part in own_parts]}
            if some is not None:
                keys["vertices"] = [part.key for part in some]
            direct.append((direct_build, places, keys, content))
        rank_tasks = RankTasks(
            client,
            self._addresses,
            build_rank,
            tasks,
            "graph",
            [f"{len(places)} of {len(parts)} partitions of the edge frame" for places in shares],
            links=self._links,
            direct=direct if brief else None,
            lasts=math.inf if self._links else 0.0,
            apart=self._copied,
        )
        rank_tasks.advice = f"The build was tried {RESTARTS + 1} times; find out why workers are lost, and run it again"
        rank_tasks.join()
        rank_tasks.end_if_interrupted()
        self._keep(rank_tasks)
        self._unlike = False

    def _placed(self, parts: list[Future[Any]]) -> list[list[int]]:
        """Return, by rank, the indices of the partitions that it gets; a copy of the graph needs all."""
        if self._copied:
            return [list(range(len(parts)))] * len(self._addresses)
        return placed(self._client, parts, self._addresses)

    def _keep(self, rank_tasks: RankTasks) -> None:
        """Keep the shards that tasks have made."""
        self._shares, self._facts = rank_tasks.futures, rank_tasks.results()
        self._settled = False
        self._report: GraphReport | None = None
        self._free = weakref.finalize(self, _release, self._shares)

    def _weights(self) -> list[float] | None:
        """Return the relative work of each worker; None if it is even."""
        balance: Any = self._balance
        if balance == "even":
            return None
        if balance == "auto":
            engine: Engine = "cuda" if self._links else "cpu"  # which computes runs on this graph
            return cluster_scan(self._client, workers=self._addresses, engine=engine).speeds
        listed = isinstance(balance, Iterable) and not isinstance(balance, str)
        numbers: list[Any] = list(balance) if listed else []
        usable = all(
            isinstance(number, (int, float)) and 0 < number < math.inf for number in numbers
        )
        if len(numbers) != len(self._addresses) or not usable:
            raise InputError(
                f"balance={shown(balance)}: give 'even', 'auto', or a number above 0 for each of the "
                f"{len(self._addresses)} workers"
            )
        return [float(number) for number in numbers]

    def _whole(self) -> None:
        """Build the graph again if a worker that holds a shard of it is lost."""
        if not self._open:
            raise InputError("the graph is closed; use it before close() or inside its `with`")
        if self._is_broken():
            self._let_go()
            self._build()

    def _is_broken(self) -> bool:
        """Return whether a shard is lost, or lost workers have come back and could hold one.

        Dask reports a lost shard to the client; a request would take longer than a run on a small graph.
        """
        if self._shares is None:
            return True
        # Ranks have replied; the messages that their tasks are done come later
        if not self._settled:
            with suppress(TimeoutError, CancelledError), self._client.as_current():
                wait(self._shares, timeout=LOOK)
            self._settled = True
        if any(share.status != "finished" for share in self._shares):
            return True
        if self._edges is None or self._workers is not None or self._wanted <= len(self._addresses):
            return False
        return len(self._addresses) < min(self._wanted, len(self._client.nthreads()))

    def _with_all(self, work: Callable[[], Any]) -> Any:
        """Do work that needs all shards; build the graph again whenever a worker has left."""
        for _ in range(RESTARTS):
            self._whole()
            try:
                return work()
            except LeftBeforeError:  # a retired worker's results move, but its shard is lost
                self._let_go()
        self._whole()
        return work()

    def _let_go(self) -> None:
        """Free the shards on the workers."""
        self._shares = None
        self._free()

    def close(self) -> None:
        """Free the graph's memory; using the graph afterwards raises InputError."""
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
            f"{self.number_of_edges:,} edges, on {len(self._addresses)} "
            f"worker{'s' * (len(self._addresses) > 1)}>"
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
        """Names of the edge columns that were kept, including the weight."""
        return tuple(self._fact("attributes"))

    @property
    def report(self) -> GraphReport:
        """Report on the build, counted when first read; `bytes` is the sum over all workers."""
        with self._lock:
            self._whole()
            if self._report is None:
                with translated(self._client, "report"):
                    self._report = self._with_all(self._reported)
            return self._report

    def _reported(self) -> GraphReport:
        assert self._shares is not None
        tasks = [(share.key, share) for share in self._shares]
        unlike, self._unlike = self._unlike, True
        answers: GraphReport = run_on_ranks(
            self._client,
            self._addresses,
            report_rank,
            tasks,
            "report",
            self._held(),
            links=self._links,
            apart=self._copied,
        )[0].result()
        self._unlike = unlike
        return answers

    def _held(self) -> list[str]:
        """Return descriptions of what would be lost with each worker."""
        return [
            f"{fact['owned']:,} of {fact['vertices']:,} vertices with {fact['arcs']:,} arcs"
            for fact in self._facts
        ]

    @property
    def partitions(self) -> list[dict[str, Any]]:
        """The shard of each worker: `worker`, number of `owned` vertices, `ghosts` and `arcs`, `bytes`."""
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

    @property
    def vertices(self) -> Any:
        """The ids of all vertices, as a Dask frame, sorted."""
        return self.call(vertices_of, {})

    def _id_frame(self) -> Any:
        return self.vertices

    @property
    def edges(self) -> Any:
        """The edges as a Dask frame; see `Graph.edge_frame`."""
        return self.call(edges_of, {})

    def _has(self, vertex: Any) -> bool:
        self._fact("vertices")
        KnownVertices(self._facts[0]["directory"], self._ask_owners, 0).check({"start": vertex})
        return True

    # ------------------------------------------------------------------------------ other graphs

    def mask(self, edges: Any) -> ClusterGraph:
        """Return the graph with some of the edges; see `Graph.mask`."""
        return DerivedGraph(self, "mask", self.weight, {"edges": edges})

    def contract(self, labels: Any, weight: str = "sum", self_loops: bool = False) -> ClusterGraph:
        """Return the graph of labels; see `Graph.contract`."""
        arguments = {"labels": labels, "weight": weight, "self_loops": self_loops}
        return DerivedGraph(self, "contract", self.weight or WEIGHT, arguments)

    def subgraph(self, vertices: Any) -> ClusterGraph:
        """Return the graph of some vertices; see `Graph.subgraph`."""
        return DerivedGraph(self, "subgraph", self.weight, {"vertices": vertices})

    def _divide(
        self, arguments: Mapping[str, Any]
    ) -> tuple[dict[str, Any], list[dict[str, list[Future[Any]]]]]:
        """Divide the Dask frames among arguments; return each without rows, and by rank its partitions."""
        client = self._client
        metas = {name: value._meta for name, value in arguments.items() if is_dask_frame(value)}
        parts = {name: _partitions(client, arguments[name]) for name in metas}
        where = {name: self._placed(some) for name, some in parts.items()}
        return metas, [
            {name: [some[place] for place in where[name][rank]] for name, some in parts.items()}
            for rank in range(len(self._addresses))
        ]

    def _derived(self, method: str, arguments: Mapping[str, Any]) -> RankTasks:
        """Make a new shard from each shard by one of its methods; return the tasks that keep them, joined."""
        client, shares = self._client, self._shares
        assert shares is not None
        metas, divided = self._divide(arguments)
        same = {name: value for name, value in arguments.items() if name not in metas}
        brief = not any(map(is_frame, same.values()))
        content = dumps((method, same, metas)) if brief else b""
        tasks, direct = [], []
        for share, own_parts in zip(shares, divided, strict=True):
            parts = {name: [metas[name], *some] for name, some in own_parts.items()}
            tasks.append((share.key, share, method, same, parts))
            keys = {name: [part.key for part in some] for name, some in own_parts.items()}
            direct.append((direct_derive, share.key, keys, content))
        unlike, self._unlike = self._unlike, True
        rank_tasks = RankTasks(
            client,
            self._addresses,
            derive_rank,
            tasks,
            method,
            self._held(),
            links=self._links,
            direct=direct if brief else None,
            lasts=math.inf if self._links else 0.0,
            apart=self._copied,
        )
        rank_tasks.join()
        self._unlike = unlike
        rank_tasks.end_if_interrupted()
        return rank_tasks

    # --------------------------------------------------------------------------------------- runs

    def call(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
        """Call a function on every rank's shard.

        Parameters
        ----------
        function : callable
            A function of the library that takes a `graph`.
        arguments : mapping
            Its other arguments, by name; Dask frames are divided among the ranks.

        Returns
        -------
        dask.dataframe.DataFrame, ClusterResult, number, or tuple of frames
            If the function returns a frame, a `Result`, a number, or several frames, respectively.

        Raises
        ------
        WorkerLostError
            If a worker is lost, unless the run can resume from a `checkpoint`.
        """
        options, call_arguments = Options.taken_from(arguments, "run")
        with self._lock:
            name = function.__name__
            for attempt in range(RESTARTS + 1):
                try:
                    with translated(self._client, name):
                        return self._with_all(
                            functools.partial(self._call, function, call_arguments, options)
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
        known = self._check_call(arguments)
        metas, parts_by_rank = self._divide(arguments)
        carried = {
            name: CachedProgram(dumps(value)) if isinstance(value, Snapshot | Phases) else value
            for name, value in arguments.items()
            if name not in metas
        }
        name = function.__name__
        divided: list[dict[str, Any]] = [{}] * len(
            shares
        )  # by rank, the arguments that are its alone
        if self._copied:
            divided = division(name, arguments, options, len(shares), lambda: self.vertices)
        used = len(divided)
        topic = f"cugraph_ws-{id(self)}-{threading.get_ident()}" if options.progress else None
        _refuse_profile(options, copied=self._copied)
        # The client shows the progress, and passes profiles on
        theirs = replace(options, progress=False, profile=options.profile is not False)
        calls = [
            Call(
                share.key, function, {**carried, **own}, theirs, None if rank else topic,
                self._unlike, known, (rank, used) if self._copied else (0, 1),
            )
            for rank, (share, own) in enumerate(zip(shares, divided, strict=False))
        ]  # fmt: skip
        shares, parts_by_rank = shares[:used], parts_by_rank[:used]
        unlike, self._unlike = self._unlike, True
        begun = time.perf_counter()
        rank_tasks = RankTasks(
            client,
            self._addresses[:used],
            call_rank,
            [
                (
                    call,
                    share,
                    {argument: [metas[argument], *some] for argument, some in parts.items()},
                )
                for call, share, parts in zip(calls, shares, parts_by_rank, strict=True)
            ],
            name,
            self._held(),
            links=self._links,
            frames=True,
            direct=[
                (
                    direct_work,
                    call,
                    {argument: [part.key for part in some] for argument, some in parts.items()},
                )
                for call, parts in zip(calls, parts_by_rank, strict=True)
            ],
            lasts=self._took.get(name, 0.0) if self._links else 0.0,
            # A call that reports progress is heard from once its tasks are submitted.
            short=topic is None and 0 < self._took.get(name, 0.0) <= SHORT,
            apart=self._copied,
        )
        try:
            with (
                nullcontext()
                if topic is None
                else _Listener(client, topic, reporter(options.progress, name), rank_tasks)
            ):
                rank_tasks.join()
        except BaseException:
            rank_tasks.abandon()  # otherwise ranks would keep waiting for each other
            rank_tasks.release()  # otherwise the error's traceback would keep the tasks
            raise
        self._took[name] = time.perf_counter() - begun
        self._unlike = unlike
        try:
            summed = self._copied and used > 1 and not divided[0]
            return self._assembled(rank_tasks, options.profile, summed=summed)
        finally:
            rank_tasks.release()

    def _check_call(self, arguments: Mapping[str, Any]) -> list[Any]:
        """Refuse columns and vertices that are not the graph's, before the workers start.

        Return the vertices looked up; see `KnownVertices.found`.
        """
        # run() has other names for its column arguments, since a program may use the plain names
        end = "_column" if "program" in arguments else ""
        source = arguments.get(f"source{end}", "source")
        destination = arguments.get(f"destination{end}", "destination")
        weight, directed = arguments.get(f"weight{end}", AUTO), arguments.get("directed", True)
        check_columns(source, destination, weight, directed)
        check_as_built(self, weight, directed)
        options = getattr(self, "_options", None)  # a derived graph has none
        if options is not None:
            names, _ = named_columns(options["source"], options["destination"], None, ())
            check_ends_as_built(source, destination, *names)
        # made for each call: an attribute would be a cycle, and delay the freeing of the graph
        left_to_ranks = SENT if self._links else 0
        vertices = KnownVertices(self._facts[0]["directory"], self._ask_owners, left_to_ranks)
        vertices.check(arguments)
        return vertices.found

    def _ask_owners(self, buffers: Mapping[int, Sequence[Any]]) -> dict[int, Any] | None:
        """Look up ids on the ranks that would own them; return None if one does not answer."""
        assert self._shares is not None
        op = "cugraph_ws_find"
        messages = [
            (self._addresses[rank], {"op": op, "key": self._shares[rank].key, "ids": dumps(buffer)})
            for rank, buffer in buffers.items()
        ]
        requests: WorkerRequests | None = provider("accelerators").worker_requests()
        answers = None if requests is None else requests.ask(self._client, messages, ANSWER)
        if answers is None:
            answers = [
                next(iter(answer.values()), None) for answer in ask_workers(self._client, messages)
            ]
        if any(answer is None for answer in answers):
            return None
        return {rank: loads(answer) for rank, answer in zip(buffers, answers, strict=True)}

    def _assembled(self, rank_tasks: RankTasks, profile: Any, *, summed: bool) -> Any:
        """Combine the ranks' frames to Dask frames, whose partitions may still be pending; or return their number.

        If `profile` is a function, it is called with the profile of each run.  If the frames are summed, they differ in their last column only, and its sums are the result.
        """
        schemas, facts, error = rank_tasks.summary()
        if error is None:
            rank_tasks.end_if_interrupted()
        profiles = facts.pop("profiles", [])
        for each in profiles if callable(profile) else ():
            profile(each)
        for message, category in facts.pop("warnings", ()):
            warn_caller(message, category)
        if "number" in facts:
            return facts["number"]
        frames = []
        for which, schema in enumerate(schemas):
            if (
                schema not in self._metas
            ):  # cuDF's frames take longer to send than the rest of a call
                asked = self._client.submit(meta_of, rank_tasks.futures[0], which, pure=False)
                meta = asked.result()
                kinds = {getattr(dtype, "kind", "O") for dtype in meta.dtypes}
                self._metas[schema] = meta, "O" in kinds
            number = facts.get(
                "searches", 0
            )  # the frame has the rows of one search after the other
            by_search = number > 1 and not self._copied
            parts = rank_tasks.searches(number) if by_search else rank_tasks.parts(which)
            if summed:
                column = self._metas[schema][0].columns[-1]
                parts = [self._client.submit(sum_of, parts, column, pure=False)]
            frames.append(_frame(parts, *self._metas[schema]))
        facts.pop("searches", None)
        if "iterations" in facts:
            edge_frame = frames[1] if len(frames) > 1 else None
            last = profiles[-1] if profiles else None
            result = ClusterResult(frame=frames[0], edge_frame=edge_frame, profile=last, **facts)
            if error is not None:
                kind, message = error
                raise kind(message, result)
            return result
        return tuple(frames) if facts["tuple"] else frames[0]


class DerivedGraph(ClusterGraph):
    """A graph derived from another, on the workers that hold the other's shards.

    Parameters
    ----------
    parent : ClusterGraph
        If a worker is lost, both are built again.
    method : str
        The name of the shard's method that derives it.
    weight : str, optional
        Its weight column.
    arguments : mapping
        The method's arguments, by name.
    """

    def __init__(
        self,
        parent: ClusterGraph,
        method: str,
        weight: str | None,
        arguments: Mapping[str, Any],
    ) -> None:
        self._parent, self._method, self._arguments = parent, method, arguments
        self._set_up(parent._client, parent.directed, weight, links=parent._links)
        self._edges, self._workers, self._wanted = parent._edges, parent._workers, 0
        self._copied = parent._copied
        self._build()
        self._wanted = len(self._addresses)

    def _build_once(self) -> None:
        """Derive the graph from the parent's shards, which are built again if some are lost."""
        parent = self._parent
        with parent._lock:
            rank_tasks = parent._with_all(
                functools.partial(parent._derived, self._method, self._arguments)
            )
            self._addresses = parent._addresses
        self._keep(rank_tasks)

    def close(self) -> None:
        """Free the graph's memory, but not its parent's."""
        super().close()
        self._arguments = {}


def _wanted_spread(spread: Spread, *, is_divided: bool) -> Spread:
    """Return how many workers are to hold a graph, by an argument or else by Dask's configuration.

    `is_divided` says that other arguments are about several workers.
    """
    if spread == "auto":
        spread = dask.config.get("cugraph_ws.spread", "auto")
    check_choice("spread", spread, get_args(Spread))
    if is_divided and spread in ("one", "copies"):
        raise InputError(
            f"spread={spread!r}: balance= and links= are about several workers that each hold a part of a "
            "graph; leave them out"
        )
    return "parts" if is_divided else spread


def _release(futures: list[Future[Any]]) -> None:
    """Release tasks, even if other references to the futures are left."""
    for future in futures:
        future.release()


def _refuse_profile(options: Options, *, copied: bool) -> None:
    """Refuse to profile a run on copies, of which each worker may do another part."""
    if copied and options.profile is not False:
        raise InputError(
            "profile=: a run on workers that each have a copy of the graph has no profile; leave it out, or build the "
            "graph with spread='one' or spread='parts'"
        )


class _Listener:
    """Shows the progress that rank 0 reports, and sends the user's stop request to the run."""

    def __init__(self, client: Client, topic: str, shown: Reporter, rank_tasks: RankTasks) -> None:
        self._client, self._topic, self._rank_tasks = client, topic, rank_tasks
        self._reporter = shown
        self._requested = False
        self._error: BaseException | None = None  # of the user's callback

    def __enter__(self) -> _Listener:
        self._reporter.__enter__()
        self._client.subscribe_topic(self._topic, self._show)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client.unsubscribe_topic(self._topic)
        self._reporter.__exit__(kind, error, trace)
        if kind is None and self._error is not None:
            raise self._error

    def _show(self, event: tuple[float, dict[str, Any]]) -> None:
        _, update = event
        update.pop("worker", None)
        if self._requested:
            return
        try:
            self._requested = not self._reporter.update(ProgressUpdate(**update))
        except BaseException as error:
            self._error, self._requested = error, True
        if self._requested:
            threading.Thread(
                target=self._rank_tasks.request, args=("callback",), daemon=True
            ).start()


def _frame(parts: list[Future[Any]], meta: Any, objects: bool) -> Any:
    """Return a Dask frame of futures."""
    import dask.dataframe as dd

    if objects:  # Dask may turn them into strings
        return dd.from_delayed(parts, meta=meta, verify_meta=False)
    keys = [part.key for part in parts]  # like `persist`, but five times as fast
    layer = dict(zip(keys, parts, strict=True))
    return _from_graph(layer, meta, (None,) * (len(parts) + 1), keys, "cugraph_ws")


def _from_graph(layer: Any, meta: Any, divisions: Any, keys: list[Any], prefix: str) -> Any:
    """Do the same as `dask.dataframe.from_graph`, but derive the frame's name from its keys only.

    Dask derives the name from the columns too, and cuDF then copies these to the host, although
    they have no rows.  There is no public way to set the name.  If a version of Dask lacks the one
    used here, Dask derives the name.
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
    """Compute a Dask frame's partitions, on workers that Dask chooses, and keep them there."""
    parts = _kept_partitions(client, frame)
    if parts is None:
        parts = client.compute(frame.to_delayed())
    workers = PausedWorkers(client, "graph")
    while any(part.status in ("pending", "lost") for part in parts):
        if any(part.status == "cancelled" for part in parts) or _are_lost_for_good(client, parts):
            break  # otherwise the wait would never end
        with suppress(TimeoutError, CancelledError), client.as_current():  # wait() uses it
            wait(parts, timeout=LOOK)
        workers.refuse(lambda paused: [] if _is_any_at_work(client, paused) else paused)
    for place, part in enumerate(parts):
        if part.status == "error":
            _raise(part)
        if part.status in ("lost", "cancelled"):
            raise FrameLostError(
                f"graph: partition {place} of {len(parts)} of a frame is {part.status}: its worker is "
                "lost, and Dask cannot compute it again; load the frame again"
            )
    return parts


def _is_any_at_work(client: Client, paused: Sequence[str]) -> bool:
    """Return whether any worker runs a task, or can begin one that it has.

    Dask gives a task that a worker has been sent to no other worker when that one is paused.
    """
    if any(keys for worker, keys in client.processing().items() if worker not in paused):
        return True
    workers = client.scheduler_info(n_workers=-1)["workers"]
    return any(workers[worker]["metrics"]["task_counts"].get("executing") for worker in paused)


def _raise(part: Future[Any]) -> None:
    """Raise the error of a partition."""
    try:
        part.result()
    except (KilledWorker, CancelledError):
        raise
    except Exception as error:
        raise OfTheFrameError(error) from error


def _are_lost_for_good(client: Client, parts: Sequence[Future[Any]]) -> bool:
    """Return whether some partitions are lost and the scheduler cannot compute them again."""
    keys = [part.key for part in parts if part.status == "lost"]
    scheduler: Any = client.scheduler
    states = client.sync(scheduler.get_task_status, keys=keys) if keys else {}
    return any(state in (None, "released", "forgotten") for state in states.values())


def _kept_partitions(client: Client, frame: Any) -> list[Future[Any]] | None:
    """Return the futures of a frame made by `persist`, or of futures unchecked; None for any other frame.

    Computing them again would take a round trip to the workers.
    """
    expression: Any = getattr(frame, "expr", None)
    kind = type(expression).__name__
    if kind == "FromGraph":
        layer = expression.operand("layer")
        parts = [layer.get(key) for key in expression.operand("keys")]
    elif kind == "FromDelayed" and not expression.operand("verify_meta"):
        if expression.operand("_partitions") is not None:
            return None
        parts = expression.operand("delayed_container").operands
    else:
        return None
    for part in parts:
        if not isinstance(part, Future) or part.client is not client or part.cancelled():
            return None
    return list(parts)
