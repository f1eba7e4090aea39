"""What `run` drives: an algorithm in supersteps, what a step did, and what a run returns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, Protocol, Self

import numpy.typing as npt

from cugraph_ws.errors import ConvergenceError
from cugraph_ws.execution.trace import Trace
from cugraph_ws.frames.base import Masked, VertexNumbers
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.graph import Graph
from cugraph_ws.runtime.saved_state import SavedState

__all__ = ["NOT_COMPARABLE", "Column", "Loop", "Result", "Step", "Stopped"]

Column = npt.NDArray[Any] | VertexNumbers | Masked
NOT_COMPARABLE = "supersteps are not comparable: messages were taken out of order"
Stopped = Literal["converged", "max_iter", "timeout", "callback", "interrupt", "diverged"]


@dataclass
class Step:
    """What one call of `Loop.step` did.

    Attributes
    ----------
    active : int
        Vertices that are active next.
    edges : int
        Arcs read.
    residual : float
        Norm of the change; NaN where the algorithm has none.
    direction, filter : str
        For the trace.
    residuals : list of float
        Norm of each superstep in the call, where it took several; else empty.
    bytes_sent : int
        Bytes exchanged between partitions.
    bytes_useful : int
        Of those, values of vertices that had changed.
    partitions : int
        Into how many the graph was cut in it; 0 for as many as hold a share of it.
    history : list of (int, int)
        Active vertices and arcs of each superstep in the call; empty for one superstep.
    modes : list of (str, str)
        Direction and filter of each, where they may differ; else empty.
    """

    active: int
    edges: int
    residual: float = math.nan
    direction: str = ""
    filter: str = ""
    bytes_sent: int = 0
    bytes_useful: int = 0
    partitions: int = 0
    residuals: list[float] = field(default_factory=list)
    history: list[tuple[int, int]] = field(default_factory=list)
    modes: list[tuple[str, str]] = field(default_factory=list)


class Loop(Protocol):
    """An algorithm in supersteps; one instance is one call.

    Attributes
    ----------
    name : str
        For messages and checkpoints.
    max_iter, tol : int or None, float or None
        When to stop.
    by_vertex : bool
        Whether the result has one row for each vertex; else its columns are all of one length.
    outputs : mapping of str to bool, optional
        Of a result by vertex: its columns beside the ids, and whether each holds vertices.  Where a
        loop has this, ids that a column would overwrite are refused before it starts.
    """

    name: str
    max_iter: int | None
    tol: float | None
    by_vertex: bool

    @property
    def converged(self) -> bool:
        """Whether the last step was the last one needed."""

    @property
    def diverged(self) -> bool:
        """Whether there is no sense in going on: the state is no longer finite."""

    def start(self, graph: Graph, *, on_device: bool = False) -> None:
        """Check the arguments against the graph and allocate the state; collective.

        Parameters
        ----------
        graph : Graph
            A graph, or a rank's shard of one.
        on_device : bool
            Whether the loop computes on the GPU.
        """

    def step(self) -> Step:
        """Do a bounded amount of work: a superstep, or a few."""

    def inputs(self) -> dict[str, Any]:
        """Return by name what the outcome depends on beside the graph: arrays and values."""

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return all arrays that are needed to go on from here."""

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse a checkpoint that has anything else than `state` returns; alone, after `start`."""

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Go on from what `state` returned and `check` has let pass, after `start`."""

    def columns(self) -> Mapping[str, Column]:
        """Return the result's columns; by vertex number if there is one row for each vertex."""


@dataclass
class Result(Generic[FrameT]):
    """What a run returns.

    Attributes
    ----------
    frame : DataFrame
        The vertex frame, of the kind of the edge frame, sorted by vertex.
    arrays : dict
        Its columns by vertex number, before decoding.
    iterations : int
        Supersteps, those before a resumed checkpoint included.
    converged : bool
        Whether the run reached its end: no vertex active, or the residual within `tol`.
    residual : float
        Norm of the last superstep's change; NaN where the program has none.
    stopped : {"converged", "max_iter", "timeout", "callback", "interrupt", "diverged"}
        Why it ended.
    trace : DataFrame
        One row a superstep: superstep, direction, filter, active, edges, milliseconds, residual,
        bytes_sent, bytes_useful, partitions, fused.
    synchronous : bool
        Whether the states are those after `iterations` supersteps, each of which read what the last
        one left. If not, messages were taken out of order: the fixpoint is the same, but supersteps
        are not comparable, and a state before the end is between those of several.
    """

    graph: Graph[FrameT] = field(repr=False)
    arrays: Mapping[str, Column] = field(repr=False)
    iterations: int
    converged: bool
    residual: float
    stopped: Stopped
    rows: Trace = field(repr=False)
    by_vertex: bool = field(default=True, repr=False)
    synchronous: bool = True

    @property
    def frame(self) -> FrameT:
        """The vertex frame, of the kind of the edge frame, sorted by vertex."""
        if self.by_vertex:
            return self.graph.vertex_frame(self.arrays)
        return self.graph.frame_like(self.arrays)

    @property
    def trace(self) -> FrameT:
        """One row a superstep, as a frame of the same kind."""
        return self.graph.frame_like(self.rows.columns())

    @property
    def _caveat(self) -> str:
        return "" if self.synchronous else f" ({NOT_COMPARABLE})"

    def require_convergence(self, name: str) -> Self:
        """Return the result itself, or raise if the run ended early.

        Parameters
        ----------
        name : str
            Of the algorithm, for the message.

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
        remedy = "raise max_iter, tol or timeout"
        if self.stopped == "diverged":
            remedy = "scale the weights or the first values down"
        raise ConvergenceError(
            f"{name} did not converge: stopped by {self.stopped} after {self.iterations} supersteps, "
            f"residual {self.residual:.3g}{self._caveat}; {remedy}, or take the error's .result",
            self,
        )
