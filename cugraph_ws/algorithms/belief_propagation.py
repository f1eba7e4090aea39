"""Loopy belief propagation: sum-product on a pairwise Markov random field, in logarithms."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from cugraph_ws.algorithms.options import Columns, RunOptions, Weight
from cugraph_ws.arguments import check_count, check_number
from cugraph_ws.cluster.agreement import attempt
from cugraph_ws.cluster.parts import Partitions, Parts
from cugraph_ws.cluster.shard import ShardGraph
from cugraph_ws.cluster.spread import spreads
from cugraph_ws.engines.threads import cut_offsets, number_of_threads, parallel
from cugraph_ws.errors import InputError
from cugraph_ws.frame_types import FrameT
from cugraph_ws.frames import is_frame, open_frame
from cugraph_ws.graph import Graph, as_graph
from cugraph_ws.kernels.cpu.belief import add_messages, pair_arcs, send_coupled, send_potts
from cugraph_ws.run import Loop, Step, run
from cugraph_ws.saved_state import SavedState
from cugraph_ws.vertices import id_columns

__all__ = ["BeliefPropagation", "belief_propagation"]

Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

LEAST_RATIO = 1e-300  # of a coupling's entries: what float64 can multiply without losing them
GREATEST_STRENGTH = 690.0  # its logarithm
LEAST_MESSAGE = -800.0  # below the logarithm of the least ratio, shared out among many states


@spreads
def belief_propagation(
    graph: Graph[FrameT] | FrameT,
    priors: Any,
    coupling: Any,
    damping: float = 0.0,
    tol: float = 1e-6,
    max_iter: int = 100,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = None,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Estimate the marginal distribution of each vertex's state.

    The vertices' states x have the joint probability, up to a factor, of the product of the
    priors p_v(x_v) over vertices and of the couplings c(x_u, x_v) over edges.  The beliefs are
    the exact marginals where the graph is a forest, and an approximation otherwise.

    Parameters
    ----------
    graph : Graph or DataFrame
        The graph, or an edge frame.  Each edge is one coupling, and parallel edges are several.
        Messages go both ways along it, whether the graph is directed or not; the direction says
        only which end is the row of the coupling.
    priors : frame or sequence of str
        A frame of the vertices' ids and one column for each of the K states, in order: not
        negative, with a positive one in every row, of any sum.  Or the names of K vertex
        attributes.  A vertex that is not given has an even prior.
    coupling : array_like of shape (K, K), or str
        Positive; the row is the state of an edge's source, the column that of its destination.
        It must be symmetric where the graph is undirected.  Or the name of an edge column of
        strengths s between -690 and 690: the coupling of an edge is exp(s) between equal states
        and 1 between others (the Potts model).
    damping : float
        Share of each old message that stays, at least 0 and below 1; it helps where messages
        oscillate.  Messages are mixed as logarithms.
    tol : float
        The run ends when no message has changed by more than this.  A message is the logarithms
        of K numbers of which the largest is 1, so this is their relative error.
    max_iter : int
        The most iterations.
    source, destination : str or list of str
        Id columns of an edge frame.
    weight : str, optional
        Weight column of an edge frame; it does not matter here unless `coupling` names it.
    directed : bool
        Whether the edges of an edge frame have a direction.
    **options
        engine, progress, timeout, checkpoint, every, resume: see `run`.

    Returns
    -------
    DataFrame
        Columns `vertex`, `belief_0` ... `belief_{K-1}`, float64; the beliefs of a vertex sum to 1.

    Raises
    ------
    InputError
        If the frame or an argument cannot be used.
    ConvergenceError
        If messages still change after `max_iter` iterations, or the run was stopped early;
        `.result` has the beliefs so far.

    References
    ----------
    .. [1] J. Pearl, "Probabilistic Reasoning in Intelligent Systems", Morgan Kaufmann 1988.
    """
    loop = BeliefPropagation(priors, coupling, damping, tol, max_iter)
    attributes = [coupling] if isinstance(coupling, str) and coupling != weight else []
    opened = as_graph(
        graph,
        source=source,
        destination=destination,
        weight=weight,
        directed=directed,
        attributes=attributes,
    )
    result = run(
        loop,
        opened,
        **options,
    )
    return result.require_convergence("belief_propagation").frame


class BeliefPropagation:
    """The algorithm as a loop for `run`: each step sends all messages once.

    Parameters
    ----------
    priors : frame or sequence of str
        Columns of prior probabilities.
    coupling : array_like or str
        One coupling, or an edge column of strengths.
    damping, tol : float
        Share of the old messages, and the largest change at the end.
    max_iter : int
        The most iterations.
    """

    name = "belief_propagation"
    by_vertex = True
    diverged = False

    def __init__(
        self,
        priors: Any,
        coupling: Any,
        damping: float = 0.0,
        tol: float = 1e-6,
        max_iter: int = 100,
    ) -> None:
        check_number("damping", damping)
        if damping >= 1:
            raise InputError(f"damping={damping!r} must be below 1, or messages never change")
        check_number("tol", tol, finite=True)
        check_count("max_iter", max_iter)
        self.tol: float | None = float(tol)
        self.max_iter: int | None = int(max_iter)
        self.priors, self.coupling, self.damping = priors, coupling, float(damping)

    def on_cuda(self) -> Loop:
        """Return the same loop for the CUDA engine."""
        from cugraph_ws.cuda.belief_propagation import DeviceBelief

        return DeviceBelief(self)

    def on_crew(self) -> Loop:
        """Return the same loop for a share of a graph."""
        from cugraph_ws.cluster.belief_propagation import CrewBelief

        return CrewBelief(self)

    def read(
        self, graph: Graph, to_host: Callable[[Any], Any] | None = None
    ) -> tuple[Any, Floats | None]:
        """Read priors and coupling.

        Parameters
        ----------
        graph : Graph
        to_host : callable, optional
            Copies arrays from the device; if given, priors are read and stay there.

        Returns
        -------
        log_priors : array of float64, shape (vertices, states)
            By vertex number, of a share of its own vertices, without the self-loops' couplings.
        coupling : ndarray of float64, shape (states, states), or None
            The one for all edges; None if each has a strength of its own.

        Raises
        ------
        InputError
            If one of them cannot be used.
        """
        priors = _read_priors(graph, self.priors, to_host)
        graph.check_outputs({f"belief_{state}": False for state in range(priors.shape[1])})
        with np.errstate(divide="ignore"):  # a state of probability 0
            log_priors = np.log(priors)
        if isinstance(self.coupling, str):
            return log_priors, None
        symmetric = not graph.directed
        return log_priors, _read_coupling(self.coupling, priors.shape[1], symmetric=symmetric)

    def start(self, graph: Graph) -> None:
        """Pair the arcs, read priors and couplings, and start from messages that say nothing."""
        self._rows = _Rows.of(graph)
        self._log_priors, matrix = self.read(graph)
        if matrix is None:
            self._send, self._factor = send_potts, self._rows.strengths(graph, self.coupling)
        else:
            self._send, self._factor = send_coupled, matrix
            loops = np.bincount(self._rows.self_loops(graph), minlength=len(self._log_priors))
            self._log_priors += loops[:, np.newaxis] * np.log(np.diagonal(matrix))
        self._messages = np.zeros((len(self._rows.senders), self._log_priors.shape[1]))
        self._next = np.zeros_like(self._messages)
        self._residual = math.inf if len(self._messages) else 0.0

    @property
    def converged(self) -> bool:
        """Whether no message changed by more than the tolerance."""
        assert self.tol is not None
        return self._residual <= self.tol

    def step(self) -> Step:
        """Send all messages once, from those of the last step."""
        rows = self._rows
        totals = self._totals()
        arrays = rows.offsets, rows.senders, rows.splits, rows.reverse
        tasks = [
            (arrays, totals, self._messages, self._next, self._factor, self.damping, low, high)
            for low, high in rows.ranges
        ]
        self._residual = max(parallel(self._send, tasks))
        self._messages, self._next = self._next, self._messages
        return Step(
            len(totals), len(rows.senders), self._residual, direction="gather", filter="all"
        )

    def inputs(self) -> dict[str, Any]:
        """Return priors, couplings and damping."""
        return {
            "priors": self._log_priors,
            "coupling": self._factor,
            "damping": self.damping,
        }

    def state(self) -> dict[str, Array]:
        """Return the messages."""
        return {"messages": self._messages.ravel(), "residual": np.array([self._residual])}

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse what is no state of such a run; alone."""
        state.floats("messages", self._messages.size, LEAST_MESSAGE, 0.0)
        state.floats("residual", 1, 0.0)

    def restore(self, state: dict[str, Array]) -> None:
        """Go on from messages."""
        self._messages = state["messages"].astype(np.float64).reshape(self._messages.shape)
        self._residual = float(state["residual"][0])

    def columns(self) -> dict[str, Floats]:
        """Return the beliefs of each vertex."""
        return beliefs_of(self._totals())

    def _totals(self) -> Floats:
        """Return what each vertex believes, as logarithms, up to a constant."""
        rows = self._rows
        totals: Floats = np.empty_like(self._log_priors)
        tasks = [
            (rows.offsets, self._messages, self._log_priors, totals, low, high)
            for low, high in rows.ranges
        ]
        parallel(add_messages, tasks)
        return totals


@dataclass(frozen=True)
class _Rows:
    """Where the messages that each vertex receives are; see `kernels.cpu.belief`."""

    offsets: Integers
    senders: Array
    splits: Integers
    reverse: Integers
    along: Array | slice
    against: Array | None
    """Places of the CSC's and, of a directed graph, of the CSR's arcs."""

    @classmethod
    def of(cls, graph: Graph) -> _Rows:
        """Lay out a graph: the CSC's rows and, where it is directed, the CSR's after them."""
        csc = graph.csc
        along: Array | slice = slice(None)
        against: Array | None = None
        if graph.directed:
            csr = graph.csr
            number = np.arange(csc.number_of_arcs)
            along = number + np.repeat(csr.offsets[:-1], csc.degrees)
            against = number + np.repeat(csc.offsets[1:], csr.degrees)
            offsets = csc.offsets + csr.offsets
            splits = offsets[:-1] + csc.degrees
            senders = np.empty(2 * len(number), csc.indices.dtype)
            senders[along], senders[against] = csc.indices, csr.indices
            cursors = splits.copy()
        else:
            offsets, senders, splits = csc.offsets, csc.indices, csc.offsets[1:]
            cursors = offsets[:-1].copy()
        reverse = np.empty(len(senders), np.int64)
        pair_arcs(offsets, senders, splits, cursors, reverse)
        return cls(offsets, senders, splits, reverse, along, against)

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """Ranges of vertices for the threads."""
        pieces = min(4 * number_of_threads(), 1 + len(self.senders) // (1 << 12))
        return cut_offsets(self.offsets, pieces)

    def strengths(self, graph: Graph, name: str) -> Floats:
        """Return an edge column in the order of the messages."""
        values = graph.edge_values(name)
        wrong = ~(np.abs(values) <= GREATEST_STRENGTH)
        if wrong.any():
            raise strength_error(name, values[np.argmax(wrong)])
        strengths = np.empty(len(self.senders))
        strengths[self.along] = values
        if self.against is not None:
            strengths[self.against] = graph.edge_values(name, "csr")
        return strengths

    def self_loops(self, graph: Graph) -> Array:
        """Return the vertex of each self-loop."""
        rows = graph.csc.rows()
        vertices: Array = rows[rows == graph.csc.indices]
        return vertices


def strength_error(name: str, value: Any) -> InputError:
    """Return the error about a strength that cannot be used.

    Parameters
    ----------
    name : str
        The edge column.
    value : number

    Returns
    -------
    InputError
    """
    return InputError(
        f"coupling={name!r}: a strength is {value}; they are logarithms "
        f"and must lie between -{GREATEST_STRENGTH:g} and {GREATEST_STRENGTH:g}"
    )


def beliefs_of(totals: Floats) -> dict[str, Floats]:
    """Return the result's columns.

    Parameters
    ----------
    totals : ndarray of float64, shape (vertices, states)
        What each vertex believes, as logarithms, up to a constant; overwritten.

    Returns
    -------
    dict of str to ndarray of float64, each of shape (vertices,)
        Of a vertex, they add up to 1.
    """
    totals -= totals.max(axis=1, keepdims=True)
    np.exp(totals, out=totals)
    totals /= totals.sum(axis=1, keepdims=True)
    return {f"belief_{state}": column.copy() for state, column in enumerate(totals.T)}


def _read_priors(graph: Graph, priors: Any, to_host: Callable[[Any], Any] | None) -> Any:
    """Return prior probabilities, float64 of shape (vertices, states)."""
    names: list[str]
    there = to_host is not None
    download = np.asarray if to_host is None else to_host
    if is_frame(priors) or isinstance(priors, Partitions):
        frame: Any
        if isinstance(priors, Partitions):
            assert isinstance(graph, ShardGraph)
            frame = Parts(graph.crew, priors, "priors")
        else:
            frame = open_frame(priors, "priors", on_device=there)
        ids = id_columns(frame, graph._source_names)
        names = [name for name in frame.names if name not in ids]
        read = [
            graph.vertex_values(priors, "priors", np.float64, 0.0, name, on_device=there)
            for name in names
        ]
    elif isinstance(priors, (list, tuple)) and all(isinstance(name, str) for name in priors):
        names = list(priors)
        read = [
            graph.vertex_values(name, "priors", np.float64, 0.0, on_device=there) for name in names
        ]
    else:
        raise InputError(
            f"priors: a frame of vertices and a column for each state is needed, or a list of "
            f"names of vertex attributes, not {type(priors).__name__}"
        )
    if len(names) < 2:
        raise InputError(f"priors: two states or more are needed, but there are {len(names)}")
    values = np.column_stack([column for column, _ in read])
    values[~read[0][1]] = 1.0
    values = values[: graph.owned]
    if isinstance(graph, ShardGraph):
        attempt(graph.crew, lambda: _check_priors(graph, values, download))
    else:
        _check_priors(graph, values, download)
    return values


def _check_priors(graph: Graph, values: Any, download: Callable[[Any], Any]) -> None:
    """Raise InputError naming a vertex whose prior probabilities are none."""
    usable = (values >= 0).all(axis=1) & np.isfinite(values).all(axis=1) & values.any(axis=1)
    if not download(usable.all()):
        vertex = int(download(usable.argmin()))
        raise InputError(
            f"priors: vertex {graph.describe(vertex)} has {download(values[vertex]).tolist()}; "
            f"probabilities must be finite, not negative, and not all 0"
        )


def _read_coupling(coupling: Any, states: int, *, symmetric: bool) -> Floats:
    """Return a coupling whose largest entry is 1."""
    try:
        matrix = np.array(coupling, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"coupling: a matrix of numbers or the name of an edge column is needed: {error}"
        ) from error
    if matrix.shape != (states, states):
        raise InputError(
            f"coupling has the shape {matrix.shape}, but there are {states} states in the priors: "
            f"it must be ({states}, {states})"
        )
    if not (np.isfinite(matrix).all() and (matrix > 0).all()):
        wrong = matrix[~((matrix > 0) & np.isfinite(matrix))][0]
        raise InputError(f"coupling has the entry {wrong}; all must be positive and finite")
    scaled: Floats = matrix / matrix.max()
    if scaled.min() < LEAST_RATIO:
        raise InputError(
            f"coupling: the least entry is {scaled.min():g} of the largest; make the ratio at "
            f"least {LEAST_RATIO:g}"
        )
    if symmetric and not np.allclose(matrix, matrix.T, rtol=1e-9, atol=0.0):
        raise InputError(
            "coupling is not symmetric, and an edge of an undirected graph has no source: make it "
            "symmetric, or give directed=True to use the columns' order"
        )
    return scaled
