"""Loopy belief propagation: sum-product on a pairwise Markov random field, in logarithms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import length_hint
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from cugraph_ws.algorithms.footprints import ROWS
from cugraph_ws.algorithms.options import Columns, RunOptions, Weight
from cugraph_ws.algorithms.registry import algorithm
from cugraph_ws.arguments import check_count, check_number, shown
from cugraph_ws.backends import loops
from cugraph_ws.errors import InputError
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.driver import run_on
from cugraph_ws.execution.loop import Loop, Step
from cugraph_ws.frames.base import without_mask
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.footprints import Sizes
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.arrays import all_true, as_host
from cugraph_ws.runtime.launch_times import OFFSET, note_bytes
from cugraph_ws.runtime.looks import without_looks
from cugraph_ws.runtime.saved_state import SavedState

__all__ = ["BeliefPropagation", "belief_propagation"]

Array = Any  # NumPy's or CuPy's
Floats = npt.NDArray[np.float64]

LEAST_RATIO = 1e-300  # smallest to largest coupling entry; products do not underflow in float64
GREATEST_STRENGTH = 690.0  # -log(LEAST_RATIO), rounded down
LEAST_MESSAGE = -800.0  # less than log(LEAST_RATIO), to allow for normalisation over many states


def _example(ids: Sequence[Any]) -> dict[str, Any]:
    import pyarrow as pa

    places = np.arange(1.0, len(ids) + 1)
    priors = pa.table({"vertex": list(ids), "no": places, "yes": places[::-1]})
    return {"priors": priors, "coupling": [[2.0, 1.0], [1.0, 2.0]]}


@algorithm(
    group="simulation",
    columns="vertex, belief_0, …",
    example=_example,
    note="Loopy sum-product; exact on trees.",
)
@accepts_dask_frames
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

    The joint probability of the states x is proportional to the product of the priors p_v(x_v) over
    all vertices and the couplings c(x_u, x_v) over all edges.  The beliefs are the exact marginals
    if the graph is a forest, and an approximation otherwise.

    Parameters
    ----------
    graph : Graph or DataFrame
        The graph, or an edge frame.  Each edge is one coupling; parallel edges are separate
        couplings.  Messages are sent both ways along every edge, also if the graph is directed.
        The direction only determines which end indexes the rows of the coupling.
    priors : frame or sequence of str
        A frame with the vertices' ids and one column for each of the K states, in order.  Priors
        must not be negative, and each row needs a positive one; rows need not sum to 1.  Or the
        names of K vertex attributes.  Vertices that are left out have a uniform prior.
    coupling : array_like of shape (K, K), or str
        A positive matrix: rows are states of an edge's source, columns states of its destination.
        It must be symmetric if the graph is undirected.  Or the name of an edge column of
        strengths s between -690 and 690: the coupling of an edge is exp(s) between equal states
        and 1 between different ones (the Potts model).
    damping : float
        Fraction of each old message that is kept, at least 0 and below 1.  It helps if messages
        oscillate.  Messages are mixed as logarithms.
    tol : float
        The run ends when no message changes by more than this.  A message has the logarithms of
        K numbers, the largest of which is 1, so `tol` bounds the relative change of these numbers.
    max_iter : int
        Maximum number of iterations.
    weight : str, optional
        Weight column of an edge frame; ignored unless `coupling` names it.

    Returns
    -------
    DataFrame
        Columns `vertex`, `belief_0` ... `belief_{K-1}`, float64; the beliefs of a vertex sum to 1.

    Raises
    ------
    InputError
        If the frame or an argument is invalid.
    ConvergenceError
        If messages still change after `max_iter` iterations, or the run is stopped early;
        `.result` has the beliefs so far.

    References
    ----------
    .. [1] J. Pearl, "Probabilistic Reasoning in Intelligent Systems", Morgan Kaufmann 1988.

    Examples
    --------
    Neighbours agree three times as often as they differ; Ann says yes with probability 0.9:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> friends = pd.DataFrame({"source": ["Ann", "Bob"], "destination": ["Bob", "Cy"]})
    >>> priors = pd.DataFrame({"vertex": ["Ann"], "no": [0.1], "yes": [0.9]})
    >>> beliefs = ws.belief_propagation(friends, priors, coupling=[[3, 1], [1, 3]])
    >>> beliefs.belief_1.round(3).tolist()
    [0.9, 0.7, 0.6]
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
    result = run_on(loop, opened, **options)
    return result.require_convergence("belief_propagation").frame


VALUE, PLACE = 8, 8  # bytes of a message for one state, and of the place of the reverse one


class BeliefPropagation(Loop):
    """The algorithm as a loop for `run`: each step sends all messages once.

    The checkpoint of a whole graph stores messages by receiver.  Ranks store them by arc, so that a
    different number of ranks can resume.

    Parameters
    ----------
    priors : frame or sequence of str
        Columns of prior probabilities.
    coupling : array_like or str
        One coupling, or an edge column of strengths.
    damping, tol : float
        Fraction of the old messages that is kept, and the largest change at convergence.
    max_iter : int
        Maximum number of iterations.

    Examples
    --------
    What Ann says reaches Bob in the first step and Cy in the second; in the third nothing changes:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> friends = pd.DataFrame({"source": ["Ann", "Bob"], "destination": ["Bob", "Cy"]})
    >>> priors = pd.DataFrame({"vertex": ["Ann"], "no": [0.1], "yes": [0.9]})
    >>> result = ws.run(ws.BeliefPropagation(priors, coupling=[[3, 1], [1, 3]]), friends)
    >>> result.iterations, result.trace.residual.round(2).tolist()
    (3, [0.85, 0.41, 0.0])
    """

    name = "belief_propagation"
    ends_within_steps = True  # until all messages are sent
    by_arc_state: tuple[str, ...] = ()

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
            raise InputError(f"damping={shown(damping)} must be below 1, or messages never change")
        check_number("tol", tol, finite=True)
        check_count("max_iter", max_iter)
        self.tol: float | None = float(tol)
        self.max_iter: int | None = int(max_iter)
        self.priors, self.coupling, self.damping = priors, coupling, float(damping)

    @property
    def vertices_given(self) -> dict[str, Any]:
        """Arguments that contain vertices, by name; they are looked up before the run."""
        return {"priors": self.priors}

    def memory(self, sizes: Sizes) -> float:
        """Return the bytes that a run takes: messages along both ways of each edge, for each state."""
        more = _number_of_states(self.priors, self.coupling) - 2
        messages = sizes.arcs * (2 if sizes.directed else 1)
        return ROWS["belief_propagation"].of(sizes) + more * (16 * messages + 40 * sizes.vertices)

    def start(self, graph: GraphView, *, on_device: bool = False) -> None:
        """Read priors and couplings, pair the arcs, and start from uniform messages."""
        self._backend = loops("belief_propagation", on_device=on_device)
        self._part = part = Part(graph, on_device=on_device)
        log_priors, matrix = self._read(on_device=on_device and graph.binds_on_device)
        log_priors = part.xp.asarray(log_priors)
        self._states = log_priors.shape[1]
        self._arcs = graph.number_of_arcs * (2 if graph.directed else 1)
        if matrix is None:
            self._check_strengths()
        else:
            _weigh_self_loops(log_priors, self._backend.self_loops(part), matrix, part.xp)
        if not part.whole:
            ways = ("along", "against") if graph.directed else ("along",)
            self.by_arc_state = tuple(
                f"{way}_{state}" for way in ways for state in range(self._states)
            )
        coupling = self.coupling if matrix is None else matrix
        self._messages = self._backend.Messages(part, log_priors, coupling, self.damping)
        self._messages.add_up()
        self._residual = math.inf if self._arcs else 0.0

    @property
    def converged(self) -> bool:
        """Whether no message changed by more than the tolerance."""
        assert self.tol is not None
        return self._residual <= self.tol

    def step(self) -> Step:
        """Send all messages once, computed from those of the last step, and update the beliefs."""
        halo, vertices = self._part.halo, self._part.graph.number_of_vertices
        change = self._messages.send()
        with without_looks():  # these beliefs belong to the messages that were sent
            self._messages.add_up()
        self._residual = max(halo.comm.allgather(_number(change)))
        (bytes_sent,) = halo.totals()
        self._note()
        return Step(
            vertices,
            self._arcs,
            self._residual,
            direction="gather",
            filter="all",
            bytes_sent=bytes_sent,
        )

    def _note(self) -> None:
        """Note three old messages and a new one for each message that is sent, and the beliefs."""
        part, states = self._part, VALUE * self._states
        ways = 2 if part.directed else 1
        messages, owned = ways * len(part.csc.indices), part.owned
        arc = (
            4 * states + PLACE + part.csc.indices.itemsize + VALUE * isinstance(self.coupling, str)
        )
        vertex = 2 * states + 2 * ways * 2 * OFFSET
        note_bytes(messages * arc + owned * vertex, (messages + owned) * states)

    @property
    def arc_inputs(self) -> tuple[str, ...]:
        """Names of the arrays of `inputs` with an entry for each arc."""
        return (self.coupling,) if isinstance(self.coupling, str) else ()

    def inputs(self) -> dict[str, Any]:
        """Return priors, couplings and damping, bitwise equal on all engines; collective."""
        part, messages = self._part, self._messages
        priors, matrix = self._read(on_device=False)
        if part.whole:
            if matrix is not None:
                _weigh_self_loops(priors, as_host(self._backend.self_loops(part)), matrix, np)
            coupling = as_host(messages.strengths[messages.order()]) if matrix is None else matrix
            return {"priors": priors, "coupling": coupling, "damping": self.damping}
        by_position = np.zeros((part.size, self._states))  # ghosts are ignored
        by_position[: part.owned] = priors
        named = {f"prior_{state}": column for state, column in enumerate(by_position.T)}
        if matrix is None:
            named[self.coupling] = part.graph.edge_values(self.coupling)
        else:
            named["coupling"] = matrix.tolist()
        return {**named, "damping": self.damping}

    def state(self) -> dict[str, Array]:
        """Return the messages."""
        messages, residual = self._messages, np.array([self._residual])
        if self._part.whole:
            saved = as_host(messages.table[messages.order()])
            return {"messages": saved.ravel(), "residual": residual}
        ways = messages.by_arc()[: len(self.by_arc_state) // self._states]
        columns = [column.copy() for way in ways for column in as_host(messages.table[way]).T]
        return {**dict(zip(self.by_arc_state, columns, strict=True)), "residual": residual}

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse a state that this run cannot have saved; not collective."""
        if self._part.whole:
            state.floats("messages", self._arcs * self._states, LEAST_MESSAGE, 0.0)
        for name in self.by_arc_state:
            state.floats(name, graph.csc.number_of_arcs, LEAST_MESSAGE, 0.0)
        state.floats("residual", 1, 0.0)

    def restore(self, state: dict[str, Array]) -> None:
        """Resume from saved messages."""
        messages, states = self._messages, self._states
        if self._part.whole:
            saved = state["messages"].astype(np.float64).reshape(-1, states)
            messages.table[messages.order()] = self._part.xp.asarray(saved)
        else:
            saved = np.column_stack([state[name] for name in self.by_arc_state]).astype(np.float64)
            against = saved[:, states:] if len(self.by_arc_state) > states else None
            messages.restore(saved[:, :states], against)
        self._residual = float(state["residual"][0])
        messages.add_up()

    def columns(self) -> dict[str, Array]:
        """Return the beliefs of each owned vertex; they sum to 1."""
        xp = self._part.xp
        beliefs = self._part.by_number(self._messages.believed)
        if len(beliefs):
            beliefs = beliefs - beliefs.max(axis=1, keepdims=True)
        beliefs = xp.exp(beliefs)
        beliefs /= beliefs.sum(axis=1, keepdims=True)
        return {f"belief_{state}": beliefs[:, state].copy() for state in range(self._states)}

    def _read(self, *, on_device: bool) -> tuple[Any, Floats | None]:
        """Return the owned vertices' log priors and the coupling; collective.

        The priors are float64, of shape (owned, states), by vertex number, and exclude the
        couplings of self-loops.  The coupling is None if each edge has its own strength.
        """
        graph = self._part.graph
        priors = _read_priors(self._part, self.priors, on_device=on_device)
        graph.check_outputs({f"belief_{state}": False for state in range(priors.shape[1])})
        with np.errstate(divide="ignore"):  # a state of probability 0
            log_priors = np.log(priors)
        if isinstance(self.coupling, str):
            return log_priors, None
        symmetric = not graph.directed
        return log_priors, _read_coupling(self.coupling, priors.shape[1], symmetric=symmetric)

    def _check_strengths(self) -> None:
        """Refuse strengths that a message cannot hold; collective."""
        name, graph, text = self.coupling, self._part.graph, None
        if not all_true(_are_strengths(self._part.arc_values(name))):
            values = graph.edge_values(name)  # by vertex number
            text = (
                f"coupling={shown(name)}: a strength is {values[~_are_strengths(values)][0]}; they are "
                f"logarithms and must lie between -{GREATEST_STRENGTH:g} and {GREATEST_STRENGTH:g}"
            )
        self._part.halo.refuse(text)


def _are_strengths(values: Any) -> Any:
    """Return a mask of the values that a message can hold."""
    return (values >= -GREATEST_STRENGTH) & (values <= GREATEST_STRENGTH)


def _number(value: Any) -> float:
    """Convert a scalar of an array module to a Python number."""
    return float(value if isinstance(value, (float, np.generic)) else as_host(value))


def _weigh_self_loops(log_priors: Any, self_loops: Any, matrix: Floats, xp: Any) -> None:
    """Multiply the priors by the couplings of self-loops, which send no messages."""
    log_priors += self_loops[:, np.newaxis] * xp.asarray(np.log(np.diagonal(matrix)))


def _read_priors(part: Part, priors: Any, *, on_device: bool) -> Any:
    """Return prior probabilities, float64 of shape (owned, states); collective."""
    graph, as_device_arrays = part.graph, on_device
    names = graph.value_columns(priors, "priors", on_device=as_device_arrays)
    if names is not None:
        read = [
            graph.vertex_values(priors, "priors", np.float64, 0.0, name, on_device=as_device_arrays)
            for name in names
        ]
    elif isinstance(priors, (list, tuple)) and all(isinstance(name, str) for name in priors):
        names = list(priors)
        read = [
            graph.vertex_values(name, "priors", np.float64, 0.0, on_device=as_device_arrays)
            for name in names
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
    usable = (values >= 0).all(axis=1) & np.isfinite(values).all(axis=1) & values.any(axis=1)
    text = None
    if not all_true(usable):
        vertex = int(_number(usable.argmin()))
        text = (
            f"priors: vertex {graph.describe(vertex)} has {as_host(values[vertex]).tolist()}; "
            f"probabilities must be finite, not negative, and not all 0"
        )
    part.halo.refuse(text)
    return values


def _read_coupling(coupling: Any, states: int, *, symmetric: bool) -> Floats:
    """Return the coupling scaled so that its largest entry is 1."""
    try:
        matrix = np.array(without_mask(coupling, "coupling"))
        if matrix.dtype.kind == "c":
            raise TypeError("complex numbers have no order")
        matrix = matrix.astype(np.float64)
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


def _number_of_states(priors: Any, coupling: Any) -> int:
    """Return the number of states as far as arguments that are still to be checked say it, at least 2."""
    known: Any = coupling
    if isinstance(coupling, str):  # one strength for each edge
        known = (
            priors
            if isinstance(priors, (list, tuple))
            else list(getattr(priors, "columns", ()))[1:]
        )
    return max(2, length_hint(known))
