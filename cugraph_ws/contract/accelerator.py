"""Accelerators: code beside the core that makes runs shorter, and that the library works without.

The core has seven places where an accelerator may step in, at most one at each:

- between the supersteps of a vertex program: `BetweenSupersteps`;
- in gathers of all vertices over the CSC on the CPU: `HostGathers`;
- as other layouts of the arcs for such gathers on the GPU: `DeviceLayouts`;
- in the place of a vertex program's loop on the shards of a cluster: `ShardLoops`;
- between a cluster's client and its workers, before the scheduler: `WorkerRequests`;
- as links between the GPUs of one host that need not address each other: `HostLinks`;
- in the place of supersteps of a frontier, and their exchanges, on GPUs that address each other: `LinkedSupersteps`.

The core asks for what is registered there by `provider("accelerators")`, and knows these protocols only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from cugraph_ws.contract.engine import Executor, LayoutName
from cugraph_ws.runtime.saved_state import SavedState

__all__ = [
    "Accelerator",
    "BetweenSupersteps",
    "BetweenSuperstepsOfRun",
    "DeviceLayouts",
    "HostGathers",
    "HostGathersOfRun",
    "HostLinks",
    "HostSums",
    "Layout",
    "LayoutCost",
    "LinkedRun",
    "LinkedSupersteps",
    "ShardLoops",
    "StartedBetweenSupersteps",
    "StartedRun",
    "WorkerRequests",
]

Array = npt.NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class Accelerator:
    """What an accelerator promises and costs, and where it steps in.

    The callables import the code when the core first needs it, so that other calls do not load it.

    Attributes
    ----------
    name : str
        Of its packages under `accelerators`, `kernels/accelerators` and `tests/accelerators`.
    bits : {"same", "within tol", "last bits"}
        `same`: results are equal bit by bit with and without it.  `within tol`: the documented bound of
        the error holds, but supersteps and results differ.  `last bits`: sums of floats may be added up
        in another order.
    memory : str
        What it takes besides the core, and when it does without.
    first_call : str
        What a machine compiles once because of it.
    page : str
        Of `docs/decisions`: gain, cost, what was rejected.
    asked_by : mapping of str to tuple of str
        For each field of a `Plan`, the values that ask for this accelerator by name.
    program_loops : tuple of str
        Modules of `kernels/accelerators` that every program on the CPU is compiled with.
    frontier_loops : tuple of str
        The same of programs on the GPU whose states are changed by compare-and-swap.
    between_supersteps, host_gathers, device_layouts, shard_loops : callable, optional
    worker_requests, host_links, linked_supersteps : callable, optional
        Return what steps in at the place.
    """

    name: str
    bits: Literal["same", "within tol", "last bits"]
    memory: str
    first_call: str
    page: str
    asked_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    program_loops: tuple[str, ...] = ()
    frontier_loops: tuple[str, ...] = ()
    between_supersteps: Callable[[], BetweenSupersteps] | None = None
    host_gathers: Callable[[], HostGathers] | None = None
    device_layouts: Callable[[], DeviceLayouts] | None = None
    shard_loops: Callable[[], ShardLoops] | None = None
    worker_requests: Callable[[], WorkerRequests] | None = None
    host_links: Callable[[], HostLinks] | None = None
    linked_supersteps: Callable[[], LinkedSupersteps] | None = None


# ------------------------------------------------------------------------------ between supersteps


class BetweenSuperstepsOfRun(Protocol):
    """What may replace the state of one run between supersteps, before the run starts.

    Supersteps are then not in place: states before and after a superstep are read.
    """

    @property
    def keeps(self) -> tuple[str, ...]:
        """Names of the arrays of a checkpoint with an entry for each owned vertex."""

    @property
    def inputs(self) -> Mapping[str, Any]:
        """What of the options a result depends on, for the fingerprint of checkpoints."""

    @property
    def bytes_a_vertex(self) -> int:
        """Memory that a run takes for it, if there is enough."""

    def check(self, state: SavedState, owned: int) -> None:
        """Refuse arrays and counts that `state` cannot have returned."""

    def started(
        self, bound: Any, graph: Any, executor: Executor, exchange: Any, *, on_device: bool
    ) -> StartedBetweenSupersteps:
        """Return what steps in while the run lasts; collective.

        Parameters
        ----------
        bound : BoundProgram
        graph : GraphView
        executor : Executor
        exchange : Exchange
        on_device : bool
            Whether the executor computes on the GPU.
        """


class StartedBetweenSupersteps(Protocol):
    """What may replace the state of a run between supersteps, while the run lasts."""

    def supersteps(self, number: int) -> int:
        """Return how many supersteps from `number` on may run before `after` must be called."""

    def after(self, number: int, before: float, residual: float) -> bool:
        """Return whether the state has been replaced; collective.

        Parameters
        ----------
        number : int
            Number of supersteps so far.
        before, residual : float
            The changes of the last two supersteps.
        """

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return what is needed to resume: the arrays that `keeps` names, and others."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned."""


class BetweenSupersteps(Protocol):
    """Decides whether an accelerator steps in between the supersteps of a run."""

    def __call__(
        self, program: Any, options: Any, *, in_place: bool, tol: float | None, max_iter: int | None
    ) -> BetweenSuperstepsOfRun | None:
        """Return what steps in, or None.

        Parameters
        ----------
        program : VertexProgram
        options : Options
        in_place : bool
            Whether supersteps must write into the state that they read.
        tol : float or None
            Bound of the residual.
        max_iter : int or None
            Maximum number of supersteps.

        Raises
        ------
        InputError
            If the options ask for it, but the program does not allow it.
        """


# -------------------------------------------------------------------------------- gathers on the CPU


class HostGathersOfRun(Protocol):
    """Gathers of all vertices in one run on the CPU, over something else than the rows of the CSC.

    Attributes
    ----------
    layout : str
        What the trace calls it.
    """

    layout: LayoutName

    def due(self) -> bool:
        """Return whether the next gather goes over it; called once for each."""

    def gather(
        self, outbox: tuple[Array, ...], fresh: tuple[Array, ...], longest: int,
        ranges: Sequence[tuple[int, int]], totals: npt.NDArray[np.float64],
    ) -> None:  # fmt: skip
        """Compute the new states of all vertices but those of the longest rows, as rows would.

        Parameters
        ----------
        outbox : tuple of ndarray
            The message of each vertex; empty arrays if messages differ by arc.
        fresh : tuple of ndarray
            Where states are written.
        longest : int
            Rows of more arcs are left out.
        ranges : sequence of (int, int)
            Rows that are counted together.
        totals : ndarray of float64, shape (len(ranges) or more, 3)
            Written for each range: active vertices, L1 and maximum norm of the change.
        """


class HostSums(Protocol):
    """Sums of neighbours' values over all rows of an adjacency, with the same bits as over rows."""

    def due(self) -> bool:
        """Return whether the next sums go over it; called once for each."""

    def sums(self, values: Array, weights: Array | None, column: str, totals: Array) -> None:
        """Write the sum of each row to `totals`.

        Parameters
        ----------
        values : ndarray of float64, shape (size,)
        weights : ndarray of float64, shape (arcs,), or None
            Factors by arc; None for ones.
        column : str
            The edge column of the weights.
        totals : ndarray of float64, shape (rows,)
        """


class HostGathers(Protocol):
    """Makes what gathers of all vertices on the CPU go over.

    What it keeps with an adjacency stands in `Adjacency.kept`, with its bytes and choices.
    """

    def of_run(
        self,
        context: Any,
        layout: str,
        *,
        gathers: bool,
        in_place: bool,
        plain: bool,
        prepares: bool,
    ) -> HostGathersOfRun:
        """Return the gathers of a run.

        Parameters
        ----------
        context : Context
            The program on its partition.
        layout : str
            The layout that the caller asks for, or "auto".
        gathers : bool
            Whether every superstep gathers from all in-neighbours.
        in_place : bool
            Whether supersteps write into the state that they read.
        plain : bool
            Whether the program runs as plain Python.
        prepares : bool
            Whether the message of each vertex is computed once.

        Raises
        ------
        EngineError
            If the layout is asked for by name, but the run cannot go over it.
        """

    def of_sums(self, rows: Any, count: int) -> HostSums:
        """Return sums over the first `count` rows of an adjacency of a whole graph."""


# -------------------------------------------------------------------------------- layouts on the GPU


@dataclass(frozen=True)
class LayoutCost:
    """Memory that a layout takes besides the CSC, from which it is made.

    Attributes
    ----------
    kept : int
        Bytes of the layout.
    peak : int
        Most bytes at any time while it is made, including the layout.
    """

    kept: int = 0
    peak: int = 0


class Layout(Protocol):
    """How the arcs of a part of a graph are stored for dense supersteps on the GPU.

    The core's is the CSC (`backends/cuda/schedule`).  Frontiers push along the CSR, which is made from
    the CSC when first needed.

    Attributes
    ----------
    name : str
    compiled_as : str
        The layout whose kernels it shares, itself or another one.
    loops : tuple of str
        Modules of kernels that a program is compiled with, besides those of every program.
    in_parts : bool
        Whether a superstep can be launched in two parts.
    """

    name: LayoutName
    compiled_as: str
    loops: tuple[str, ...]
    in_parts: bool

    @property
    def arrays(self) -> dict[str, Any]:
        """The stored arrays, by name."""

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""

    @property
    def blocks(self) -> int:
        """Number of blocks of a superstep that write partial counts."""

    @classmethod
    def cost(cls, arcs: int, vertices: int) -> LayoutCost:
        """Return an upper bound of the memory, without the buffers of a run."""

    @staticmethod
    def adaptors(program: Any, types: Any, variant: Any) -> list[str]:
        """Write the functions of a program that `loops` need besides those of every program."""

    def superstep(self, kernels: Any, arguments: tuple[Any, ...]) -> Any:
        """Return an object that launches a superstep when it is called.

        Parameters
        ----------
        kernels : KernelModule
            The program's kernels.
        arguments : tuple
            As `kernels/cuda/superstep.py` takes them, from the adjacency on.
        """


class DeviceLayouts(Protocol):
    """Layouts of arcs on the GPU besides the CSC, over which all vertices gather from all."""

    def layout_of(self, name: str) -> Any:
        """Return the class of a layout; see `Layout`."""

    def check(
        self, bound: Any, direction: str, layout: str, *, in_place: bool | None, scheduled: bool
    ) -> None:
        """Raise `InputError` if a program cannot run as the options say over a layout asked for by name."""


# --------------------------------------------------------------------------------- runs on a cluster


class ShardLoops(Protocol):
    """Makes a loop that stands in for a vertex program's loop on the shards of a cluster."""

    def __call__(self, loop: Any, /) -> Any:
        """Return a `Loop` that runs a `VertexLoop`, on all ranks or on some of them; collective."""


class StartedRun(Protocol):
    """The requests that start the tasks of one run, and the replies to them.

    Attributes
    ----------
    replies : list of (bytes or None)
        By rank; a reply may be None.
    done : bool
        Whether all ranks have replied that they are done.
    """

    replies: list[bytes | None]
    done: bool

    def wait(self, seconds: float) -> bool:
        """Wait until all ranks are done or one must be left to Dask; return False on a time-out."""


class WorkerRequests(Protocol):
    """Requests to workers that do not wait for the scheduler of the cluster."""

    def start(
        self, client: Any, addresses: Sequence[str], keys: Sequence[str], work: Sequence[Any], *,
        owned: bool,
    ) -> StartedRun | None:  # fmt: skip
        """Start the tasks of a run on their workers; return None if only the scheduler does.

        Parameters
        ----------
        client : distributed.Client
        addresses, keys : sequence of str
            The workers' addresses, and the keys of their tasks.
        work : sequence of callable
            The work, not yet pickled.
        owned : bool
            Whether workers reply only once their tasks have come too.
        """

    def ask(
        self, client: Any, messages: Sequence[tuple[str, Mapping[str, Any]]], seconds: float
    ) -> list[Any] | None:
        """Send one message to each worker, and return the answers; None if the scheduler must do it.

        Parameters
        ----------
        client : distributed.Client
        messages : sequence of (str, mapping)
            The worker's address, and the message.
        seconds : float
            How long to wait for the answers.
        """


class HostLinks(Protocol):
    """Makes links between the GPUs of one host, which need not address each other, and may be one GPU."""

    def __call__(
        self,
        comm: Any,
        addresses: Sequence[str],
        hosts: Sequence[int] | None = None,
        lead: Any = None,
    ) -> Any:
        """Return `Links` between the GPUs of all ranks; collective.

        Parameters
        ----------
        comm : DaskCommunicator
        addresses : sequence of str
            The workers, by rank.
        hosts : sequence of int, optional
            A number for each rank's host; all are on one if not given.  Arrays go between ranks of one host only.
        lead : object, optional
            The links that these are a part of, which watch for them.

        Raises
        ------
        EngineError
            On all ranks, if they cannot be made.
        WorkerLostError
            If a rank is lost.
        """


class LinkedMemory(Protocol):
    """Memory of all ranks' GPUs that each can address."""

    def begin(self, run: str) -> None:
        """Set the current run; collective."""

    def ring(self) -> None:
        """Make kernels that wait for a lost rank end; called from any thread."""

    def close(self) -> None:
        """Give the memory back."""


class LinkedRun(Protocol):
    """Supersteps of one run's frontiers on GPUs that address each other."""

    @property
    def exchange_class(self) -> Any:
        """The `RankExchange` that completes what launches leave."""

    def plan(self, plan: Any, bound: Any, arcs: int, direction: str) -> Any:
        """Return the plan of a run.

        Parameters
        ----------
        plan : CudaPlanner
            Its plan on one GPU.
        bound : BoundProgram
        arcs : int
            Number of arcs of the graph.
        direction : str
            The direction that the caller asks for.
        """

    def executor(self, bound: Any, part: Any, **options: Any) -> Executor:
        """Return the executor of a rank; collective."""


class LinkedSupersteps(Protocol):
    """Runs supersteps of frontiers, with their exchanges, in one launch on each GPU."""

    def open(self, comm: Any) -> LinkedMemory | None:
        """Return memory of all ranks' GPUs, None if one cannot address another's; collective."""

    def of_run(self, links: Any, options: Any) -> LinkedRun | None:
        """Return the supersteps of a run over `Links`, None if the options ask for others."""
