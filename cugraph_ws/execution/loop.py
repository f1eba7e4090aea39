"""The loop interface that `run` drives, the outcome of a step, and the result of a run."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, Literal, Self

import numpy as np
import numpy.typing as npt

from cugraph_ws.errors import ConvergenceError, InputError
from cugraph_ws.execution.profile import Profile, Traffic
from cugraph_ws.execution.readable import ReadableResult
from cugraph_ws.execution.trace import Trace
from cugraph_ws.frames.base import Below, Masked, VertexNumbers
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.footprints import Sizes
from cugraph_ws.graph.graph import Graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.runtime.arrays import as_host
from cugraph_ws.runtime.looks import without_looks
from cugraph_ws.runtime.saved_state import SavedState

__all__ = [
    "NOT_COMPARABLE",
    "Checkpointed",
    "Column",
    "ColumnsWhenRead",
    "Loop",
    "Result",
    "Step",
    "Stopped",
]

Column = npt.NDArray[Any] | VertexNumbers | Masked
NOT_COMPARABLE = "supersteps are not comparable: messages were taken out of order"
Checkpointed = Literal["everywhere", "on one machine", "none"]
Stopped = Literal["converged", "max_iter", "timeout", "callback", "interrupt", "diverged"]


@dataclass
class Step:
    """Outcome of one call of `Loop.step`.

    Attributes
    ----------
    active : int
        Vertices that are active next.
    edges : int
        Arcs read.
    residual : float
        Norm of the change; NaN if the algorithm has none.
    direction, filter, layout : str
        For the trace.
    residuals : list of float
        Norm of each superstep's change, if the call ran several supersteps; else empty.
    bytes_sent : int
        Bytes exchanged between partitions.
    bytes_useful : int
        The part of those bytes that are values of changed vertices.
    partitions : int
        Number of partitions of the graph in this step; 0 for one per rank.
    history : list of (int, int)
        Active vertices and arcs of each superstep in the call; empty for one superstep.
    modes : list of (str, str)
        Direction and filter of each superstep, if they may differ; else empty.
    exchanges : sequence of (int, int)
        Bytes sent and useful bytes of each superstep, if they may differ; else empty.
    phase : str
        Name of the phase, in a run of phases.
    extrapolated : bool
        Whether an extrapolation has replaced the state that the last superstep left, or an accelerated
        superstep has left it.
    exchange : sequence of str
        What the messages between ranks consisted of, for each superstep or for all; see `Trace`.
    """

    active: int
    edges: int
    residual: float = math.nan
    direction: str = ""
    filter: str = ""
    layout: str = ""
    bytes_sent: int = 0
    bytes_useful: int = 0
    partitions: int = 0
    residuals: list[float] = field(default_factory=list)
    history: list[tuple[int, int]] = field(default_factory=list)
    modes: list[tuple[str, str]] = field(default_factory=list)
    exchanges: Sequence[tuple[int, int]] = ()
    phase: str = ""
    extrapolated: bool = False
    exchange: Sequence[str] = ("",)


NO_EDGE_STATE = (
    "the program keeps no state on edges; declare a field, as in `flow = ws.edge_state(ws.float64)`"
)


class Loop(ABC):
    """An algorithm in supersteps; each instance runs once.

    Attributes
    ----------
    name : str
        For messages and checkpoints.
    max_iter, tol : int or None, float or None
        Limits of the run.
    less_memory : str
        What a caller can do if a run does not fit in memory, for the error.
    phased : bool
        Whether steps have names of phases, for the trace.
    ends_within_steps : bool
        Whether a run may end where a step looks (`cugraph_ws.runtime.looks`).  The attributes are then
        those from before the step, so it must not write into arrays that `state` or `columns` returns
        before its last look.
    may_not_end : bool
        Whether a run without a limit may go on for ever, so that a long one is warned of.
    """

    name: str
    max_iter: int | None = None
    tol: float | None = None
    less_memory: str = ""
    phased: bool = False
    ends_within_steps: bool = False
    may_not_end: bool = False

    @property
    def by_vertex(self) -> bool:
        """Whether the result has one row for each vertex; else its columns only have equal length."""
        return True

    @property
    def rows_by(self) -> tuple[str, bool] | None:
        """The column with a vertex of the rank that has the row, and whether all of these are repeated.

        Else rows ascend by it.  None if the result is by vertex, or its rows belong to no vertex.
        """
        return None

    @property
    def reads_weights(self) -> bool:
        """Whether the result depends on the graph's weights, for the fingerprint of checkpoints."""
        return False

    @property
    def traffic(self) -> Traffic | None:
        """The bytes that the next superstep moves, for a profile; None if they are not known."""
        return None

    @property
    def outputs(self) -> Mapping[str, bool]:
        """For a result by vertex, its columns besides the ids, and whether each holds vertices.

        If they are given, ids that a column would overwrite are refused before the run starts.
        """
        return {}

    @property
    def checkpoints(self) -> Checkpointed:
        """Where a run has checkpoints."""
        return "everywhere"

    @property
    @abstractmethod
    def converged(self) -> bool:
        """Whether no further step is needed."""

    @property
    def diverged(self) -> bool:
        """Whether the state is no longer finite, so that further steps are pointless."""
        return False

    @property
    def synchronous(self) -> bool:
        """Whether the states are those after the given number of supersteps."""
        return True

    @abstractmethod
    def memory(self, sizes: Sizes) -> float:
        """Return what the run takes beside the built graph, at its maximum, with the result as a frame.

        It is asked before `start`, of every run: a few operations on numbers.  A run that would not fit
        is refused.

        Parameters
        ----------
        sizes : Sizes
            Of the graph, and whether the GPU's memory is asked for.

        Returns
        -------
        float
            Bytes.
        """

    @abstractmethod
    def start(self, graph: Any, *, on_device: bool = False) -> None:
        """Check the arguments against the graph and allocate the state; collective.

        Parameters
        ----------
        graph : GraphView
            A graph, or a rank's shard of one.
        on_device : bool
            Whether the loop computes on the GPU.
        """

    @abstractmethod
    def step(self) -> Step:
        """Do a bounded amount of work: a superstep, or a few.

        A step that may take longer than about 0.2 s looks in between whether the run is to end.
        """

    @abstractmethod
    def columns(self) -> Mapping[str, Column]:
        """Return the result's columns; by vertex number if there is one row for each vertex."""

    @property
    def columns_take_long(self) -> bool:
        """Whether `columns` reads all arcs; it is then called late if the run is stopped."""
        return False

    def edges(self) -> dict[str, Any]:
        """Return the state of edges by field, by arc."""
        return {}

    # ----------------------------------------------------------------------- for checkpoints

    @property
    def by_vertex_state(self) -> tuple[str, ...]:
        """Names of the arrays of `state` with an entry for each vertex."""
        return ()

    @property
    def by_arc_state(self) -> tuple[str, ...]:
        """Names of the arrays of `state` with an entry for each arc."""
        return ()

    @property
    def arc_inputs(self) -> Collection[str]:
        """Names of the arrays of `inputs` with an entry for each arc."""
        return ()

    def inputs(self) -> dict[str, Any]:
        """Return by name the arrays and values that the result depends on besides the graph."""
        return {}

    @abstractmethod
    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return all arrays that are needed to resume from this point."""

    @abstractmethod
    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse a state that `state` cannot have returned; not collective, after `start`."""

    @abstractmethod
    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Resume from what `state` returned and `check` accepted, after `start`."""


class ColumnsWhenRead(Mapping[str, Column]):
    """The columns of a loop that was stopped: predecessors may take longer than the run.

    They are computed when first read, or when the graph is closed.

    Parameters
    ----------
    loop : Loop
        Takes no further step.
    graph : Graph
    """

    def __init__(self, loop: Loop, graph: Graph) -> None:
        self._loop: Loop | None = loop
        graph.unread[id(self)] = self

    @cached_property
    def _columns(self) -> dict[str, Column]:
        assert self._loop is not None
        with without_looks():
            columns = dict(self._loop.columns())
        self._loop = None
        return columns

    def __getitem__(self, name: str) -> Column:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


@dataclass
class Result(ReadableResult, Generic[FrameT]):
    """Result of a run.

    Attributes
    ----------
    frame : DataFrame
        The vertex frame, of the kind of the edge frame, sorted by vertex.
    arrays : mapping
        The frame's columns by vertex number, before ids are decoded; those of a search that was stopped on a
        host are computed when first read.
    iterations : int
        Number of supersteps, including those before a resumed checkpoint.
    converged : bool
        Whether the run converged: no vertex is active, or the residual is within `tol`.
    residual : float
        Norm of the last superstep's change; NaN if the program has none.
    stopped : {"converged", "max_iter", "timeout", "callback", "interrupt", "diverged"}
        Why the run ended.
    trace : DataFrame
        One row per superstep: superstep, direction, filter, active, edges, milliseconds, residual, bytes_sent, bytes_useful,
        partitions, fused, layout, extrapolated, exchange; also phase (of phases), and given_back (GPU memory).
    synchronous : bool
        Whether the states are those after `iterations` supersteps, each of which read only the
        states after the previous one.  If not, messages were taken out of order: the fixpoint is
        the same, but supersteps are not comparable, and a state before the end mixes several
        supersteps.
    profile : Profile or None
        What ran, for how long, and the bytes that it moved, if the run was asked for it.

    Examples
    --------
    >>> import cugraph_ws as ws
    >>> result = ws.run(ws.BFS, ws.datasets.karate_club(), start=0)
    >>> result.iterations, result.stopped, result.trace["active"].tolist()
    (3, 'converged', [1, 16, 7])
    """

    graph: GraphView[FrameT] = field(repr=False)
    arrays: Mapping[str, Column] = field(repr=False)
    iterations: int
    converged: bool
    residual: float
    stopped: Stopped
    rows: Trace = field(repr=False)
    by_vertex: bool = field(default=True, repr=False)
    rows_by: tuple[str, bool] | None = field(default=None, repr=False)
    synchronous: bool = True
    edge_arrays: Mapping[str, Any] = field(default_factory=dict, repr=False)
    profile: Profile | None = field(default=None, repr=False)

    @property
    def edges(self) -> FrameT:
        """The state that the program keeps on edges, as a frame of the same kind; collective.

        One row for each edge: the ids of its source and destination under the edge frame's names,
        and each field of `ws.edge_state`.  Sorted by destination, then source; parallel edges are in
        input order.  Each direction of an undirected edge has a row, since it has its own state.

        Raises
        ------
        InputError
            If the program keeps no state on edges.
        """
        if not self.edge_arrays:
            raise InputError(NO_EDGE_STATE)
        return self.graph.frame_of_arcs(self.edge_arrays)

    @property
    def frame(self) -> FrameT:
        """The vertex frame, of the kind of the edge frame, sorted by vertex."""
        if self.by_vertex:
            return self.graph.vertex_frame(self.arrays)
        return self.graph.frame_of_rows(self.arrays, self.rows_by)

    @property
    def trace(self) -> FrameT:
        """One row per superstep, as a frame of the same kind."""
        return self.graph.frame_like(self.rows.columns())

    @property
    def teps(self) -> float:
        """Traversed edges per second of a search, as Graph500 counts them [1]_.

        The edges of the graph with an end that was reached, each once however often it was read, over the time of
        all supersteps.  Edges of a directed graph count if their source was reached.

        Raises
        ------
        InputError
            If no column of the result is null at the vertices that were not reached.

        References
        ----------
        .. [1] Graph500, "Benchmark specification", version 2.0, section 8.
        """
        reached = next((c.valid for c in self.arrays.values() if isinstance(c, Below)), None)
        if reached is None or not isinstance(self.graph, Graph):
            raise InputError(
                "teps: the result is not that of a search on one machine: no column of it is null where nothing "
                "was reached; run ws.BFS or ws.SSSP on a Graph"
            )
        graph, reached = self.graph, as_host(reached)
        edges = int(graph.out_degrees[reached].sum())
        if not graph.directed:  # two arcs, but a self-loop is one
            rows = graph.csc.rows()
            loops = rows[rows == graph.csc.indices]
            edges = (edges + int(np.count_nonzero(reached[loops]))) // 2
        return 1000.0 * edges / math.fsum(self.rows.milliseconds)

    @property
    def _caveat(self) -> str:
        return "" if self.synchronous else f" ({NOT_COMPARABLE})"

    def require_convergence(
        self, name: str, diverged: str = "scale down the weights or the first values"
    ) -> Self:
        """Return the result itself, or raise if the run did not converge.

        Parameters
        ----------
        name : str
            Name of the algorithm, for the error message.
        diverged : str
            What to do if values grow without bound, for the error message.

        Returns
        -------
        Result
            This result.

        Raises
        ------
        ConvergenceError
            If `converged` is false; `.result` is this result.
        """
        if self.converged:
            return self
        if self.stopped == "diverged":
            how, remedy = "diverged: its values grow without bound", diverged
        else:
            how = f"did not converge: stopped by {self.stopped}"
            remedy = "raise max_iter, tol or timeout"
        raise ConvergenceError(
            f"{name} {how} after {self.iterations} supersteps, residual {self.residual:.3g}"
            f"{self._caveat}; {remedy}, or take the error's .result",
            self,
        )
