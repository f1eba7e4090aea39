"""Neighbours drawn at random, hop by hop from given vertices: the batches that graph neural networks learn from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Unpack, get_args

import numpy as np
import numpy.typing as npt

from cugraph_ws.algorithms.options import (
    Columns,
    RunOptions,
    Weight,
    refuse_checkpoints,
    refuse_great,
    refuse_negative,
)
from cugraph_ws.algorithms.registry import algorithm
from cugraph_ws.arguments import check_choice, check_count, check_flag, is_one_vertex, shown
from cugraph_ws.backends import loops
from cugraph_ws.errors import InputError
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.driver import run_on
from cugraph_ws.execution.loop import Column, Loop, Step
from cugraph_ws.frames.base import VertexNumbers
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.edges import AUTO, labels_of
from cugraph_ws.graph.footprints import Sizes
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.neighbourhoods import row_numbers
from cugraph_ws.program.randomness import philox
from cugraph_ws.runtime.arrays import array_module, as_host
from cugraph_ws.runtime.launch_times import note_bytes
from cugraph_ws.runtime.looks import awaited
from cugraph_ws.runtime.saved_state import SavedState

__all__ = ["NeighborSample", "neighbor_sample"]

Array = Any  # NumPy's or CuPy's
Direction = Literal["in", "out"]

COLUMNS = ("batch", "hop", "source", "destination")
OF_BATCHES = 0x7FFD << 48  # a half of the counter of the draw that is the key of a batch
MOST = (1 << 31) - 1  # edges that a vertex draws, each with a counter of 32 bits
EDGE = 150  # bytes of a sampled edge, at the maximum
SORTED = 44  # bytes of an arc while rows are sorted: on a GPU by number, and by time
WEIGHED = 49  # bytes of an arc while weights are summed: six arrays of eight bytes, and a flag


@algorithm(
    group="paths",
    columns=", ".join(COLUMNS),
    weights="weighted",
    checkpoints="nowhere",
    example=lambda ids: {"starts": ids[:2], "fanouts": [2, 1]},
    note="Batches for graph neural networks.",
)
@accepts_dask_frames
def neighbor_sample(
    graph: Graph[FrameT] | FrameT,
    starts: Any,
    fanouts: Sequence[int],
    *,
    batches: Any = None,
    replace: bool = False,
    weighted: bool = False,
    direction: Direction = "in",
    time: str | None = None,
    before: Any = None,
    attributes: str | Sequence[str] = (),
    seed: int = 0,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = None,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Draw neighbours of vertices, then neighbours of these, and so on: the edges of a mini-batch.

    In hop h, each vertex that hop h - 1 has reached for the first time draws `fanouts[h]` of its edges; in hop
    0 these vertices are the starts.  All edges of a vertex are equally likely unless `weighted` is True.

    Parameters
    ----------
    starts : list, array or frame of ids
        Vertices to begin with.
    fanouts : sequence of int
        Most edges that a vertex draws in each hop; -1 for all of its edges.
    batches : list or array of int, optional
        The batch of each start, any integer.  Each batch is a sample of its own, the same as if it were
        drawn alone.  By default all starts are batch 0; ``range(len(starts))`` gives each its own.
    replace : bool
        Whether a vertex may draw an edge several times.  If not, one of fewer edges draws all of them.
    weighted : bool
        Whether edges are drawn with probabilities in proportion to their weights, 0 or more, and those of weight 0
        never.  Without `replace` each draw is one among the edges that are left.
    direction : {"in", "out"}
        Draw the edges that lead into a vertex, whose sources are then the neighbours, or those out of it.
    time : str, optional
        Column of edges; only edges of a time that is not after `before` are drawn.
    before : number, or list or array of numbers, optional
        With `time`: the latest time, of all starts or of each; starts of a batch have the same one.
    attributes : str or list of str
        Columns of edges that the result has too, of a Graph among those it was built with.
    seed : int
        The same seed gives the same sample on any machine.

    Returns
    -------
    DataFrame
        Columns `batch`, `hop` (from 0), `source` and `destination`, then `attributes`; sorted by batch within
        each hop, and by the vertex that draws.

    Raises
    ------
    InputError
        If the frame or an argument is invalid, a start is no vertex, or the graph is spread over several
        workers.
    ConvergenceError
        If the run is stopped early; `.result` has the hops so far.

    Notes
    -----
    Edges are drawn by Floyd's algorithm [1]_, or by a pass over the edges if many are drawn.  Two probabilities
    differ by less than 2**-60.  By weight they are found in running sums of float64, one draw after the other;
    without `replace` that takes k² steps for k edges [3]_.

    References
    ----------
    .. [1] J. Bentley and B. Floyd, "A sample of brilliance", Communications of the ACM 30, 1987.
    .. [2] W. Hamilton, R. Ying and J. Leskovec, "Inductive representation learning on large graphs", NIPS 2017.
    .. [3] P. Efraimidis and P. Spirakis, "Weighted random sampling with a reservoir", Information Processing
       Letters 97, 2006: what is drawn without replacement has the same distribution.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": list("abcd"), "destination": list("bcda")})
    >>> ws.neighbor_sample(edges, ["c"], [5, 5])
       batch  hop source destination
    0      0    0      b           c
    1      0    1      a           b
    """
    refuse_checkpoints(options, "neighbor_sample has")
    listed = labels_of(attributes, "attributes")
    loop = NeighborSample(
        starts,
        fanouts,
        batches,
        replace=replace,
        weighted=weighted,
        direction=direction,
        time=time,
        before=before,
        attributes=listed,
        seed=seed,
    )
    carried = [*listed, time] if time is not None and time not in listed else listed
    opened = as_graph(
        graph,
        source=source,
        destination=destination,
        weight=AUTO if weighted and weight is None else weight,
        directed=directed,
        attributes=[name for name in carried if name != weight],
        weighted=weighted,
    )
    return run_on(loop, opened, **options).require_convergence("neighbor_sample").frame


class Sampled(NamedTuple):
    """The edges of a hop.

    Attributes
    ----------
    batches, hops : array of int64
        The batch by its place among all, and the hop.
    vertices, neighbours : array of int64
        The numbers of the vertex that draws and of the edge's other end.
    arcs : array of int64
        The edge's place in the rows.
    """

    batches: Array
    hops: Array
    vertices: Array
    neighbours: Array
    arcs: Array


PLACE = 8  # bytes of an arc, a vertex or a key


class NeighborSample(Loop):
    """The algorithm as a loop for `run`: each step is a hop of all batches.

    Parameters
    ----------
    starts, fanouts, batches, replace, weighted, direction, time, before, attributes, seed
        See `neighbor_sample`.

    Examples
    --------
    Each hop is a step, and each batch a sample of its own:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": list("abcd"), "destination": list("bcda")})
    >>> result = ws.run(ws.NeighborSample(["c", "a"], [1, 1], batches=[0, 1]), edges)
    >>> result.iterations, result.frame.groupby("batch").source.apply(list).tolist()
    (2, [['b', 'a'], ['d', 'c']])
    """

    name = "neighbor_sample"
    by_vertex = False
    ends_within_steps = True
    checkpoints = "none"

    def __init__(
        self,
        starts: Any,
        fanouts: Sequence[int] = (25, 10),
        batches: Any = None,
        *,
        replace: bool = False,
        weighted: bool = False,
        direction: Direction = "in",
        time: str | None = None,
        before: Any = None,
        attributes: Sequence[str] = (),
        seed: int = 0,
    ) -> None:
        if starts is None:
            raise InputError(
                "starts=None: name the vertices to begin with, such as a batch of 1,000"
            )
        if isinstance(fanouts, (str, bytes)) or not hasattr(fanouts, "__iter__"):
            raise InputError(
                f"fanouts={shown(fanouts)} must list an integer for each hop: [25, 10]"
            )
        fanouts = list(fanouts)
        for fanout in fanouts:
            check_count("fanouts", fanout, least=-1, most=MOST)
        check_flag("replace", replace)
        check_flag("weighted", weighted)
        check_choice("direction", direction, get_args(Direction))
        check_count("seed", seed)
        if (time is None) != (before is None):
            missing = "before=, the latest time" if before is None else "time=, a column of edges"
            raise InputError(f"neighbor_sample also needs {missing}; or leave out both")
        for name in attributes:
            if name in COLUMNS:
                raise InputError(
                    f"attributes: the result has a column {name!r} of its own; rename that of the edges"
                )
        self._starts = [starts] if is_one_vertex(starts) else starts
        self._fanouts, self._batches, self._replace = [*map(int, fanouts)], batches, replace
        self._direction, self._time, self._before = direction, time, before
        self._attributes, self._seed, self._weighted = attributes, seed, weighted

    def memory(self, sizes: Sizes) -> float:
        """Return the bytes that the run takes: what is drawn, and the rows by number and time."""
        edges, reached = 0.0, float(len(self._starts))
        for fanout in self._fanouts:
            drawn = reached * fanout if fanout >= 0 else float(sizes.arcs)
            reached = drawn if self._batches is not None else min(drawn, sizes.vertices)
            edges += drawn
        if not self._replace and self._batches is None:
            edges = min(edges, sizes.arcs)
        sorts = sizes.on_device + (self._time is not None)
        rows = sizes.csr if self._direction == "out" else 0
        by_arc = SORTED * sorts + WEIGHED * self._weighted
        return float(EDGE * edges + by_arc * sizes.arcs + rows)

    def start(self, graph: GraphView, *, on_device: bool = False) -> None:
        """Place the starts, and find the rows."""
        if (workers := graph.comm.size) > 1:
            raise InputError(
                f"{self.name} reads a whole graph, and this one is spread over {workers} workers; build it with "
                "spread='one', so that one worker holds it"
            )
        xp = self._xp = array_module(on_device)
        numbers = xp.asarray(graph.numbers(self._starts, "starts", on_device=on_device))
        names, which, bounds = self._grouped(len(numbers))
        self._names = xp.asarray(names)
        self._keys = xp.asarray(philox(self._seed, names, OF_BATCHES).view(np.int64))
        self._backend = loops("sampling", on_device=on_device)
        self._vertices = max(graph.number_of_vertices, 1)
        self._rows = self._backend.Rows(graph, "csc" if self._direction == "in" else "csr")
        # Rows of the arcs that may be drawn: where they begin, and for some runs the arcs' places in `_rows`,
        # their times, and the running sums of their weights.
        self._offsets = self._rows.offsets
        self._order: Array | None = None
        self._times: Array | None = None
        self._sums: Array | None = None
        if self._time is not None:
            self._order, self._times = self._rows_by_time(graph)
        if self._weighted:
            self._weigh(graph)
        if self._times is not None:
            is_integer = self._times.dtype.kind == "i"
            bounds = np.floor(bounds).astype(np.int64) if is_integer else bounds.astype(np.float64)
            self._bounds = xp.asarray(bounds)
        # Each vertex of a batch has a code: the batch's place times the number of vertices, plus its own.
        self._reached = xp.unique(xp.asarray(which) * self._vertices + numbers)
        self._frontier = self._reached
        self._hops: list[Sampled] = []

    def _grouped(self, starts: int) -> tuple[npt.NDArray[np.int64], Array, Array]:
        """Return the batches, ascending; the place of each start's batch among them, and the bound of each."""
        given = np.zeros(starts, np.int64)
        if self._batches is not None:
            given = _on_host(self._batches)
            if given.shape != (starts,) or (given.dtype.kind not in "iu" and starts):
                raise InputError(
                    f"batches={shown(self._batches)} must have an integer for each of the {starts} starts"
                )
        names, first, which = np.unique(
            given.astype(np.int64), return_index=True, return_inverse=True
        )
        if self._before is None:
            return names, which, None
        before = _on_host(self._before)
        if before.dtype.kind not in "iuf" or before.shape not in ((), (starts,)):
            raise InputError(
                f"before={shown(self._before)} must be a number, or one for each of the {starts} starts"
            )
        if not np.isfinite(before).all():
            raise InputError(f"before={shown(self._before)} must be finite")
        of_starts = np.broadcast_to(before, (starts,))
        bounds = of_starts[first]
        if (differs := of_starts != bounds[which]).any():
            at = int(differs.argmax())
            raise InputError(
                f"before={of_starts[at]} of start {at} differs from {bounds[which[at]]} of batch "
                f"{names[which[at]]}; give starts of different times different batches, as in "
                "batches=range(len(starts))"
            )
        return names, which, bounds

    def _rows_by_time(self, graph: GraphView) -> tuple[Array, Array]:
        """Return the arcs of each row by time, and their times; kept with the graph."""
        xp, rows = self._xp, self._rows
        key = (self._time, self._direction, xp is np)
        for part in ("order", "times"):
            if (part, *key) in graph.derived:
                continue
            if part == "order":
                times = rows.values(self._time)
                order = awaited(xp.argsort, times, kind="stable")
                row = xp.take(row_numbers(xp, rows.offsets, len(times)), order)
                made = xp.take(order, awaited(xp.argsort, row, kind="stable"))
            else:
                made = xp.take(rows.values(self._time), graph.derived["order", *key])
            graph.derived[part, *key] = made
        return graph.derived["order", *key], graph.derived["times", *key]

    def _weigh(self, graph: GraphView) -> None:
        """Keep the arcs of weights above 0 in the rows, and add up their weights; kept with the graph."""
        if graph.weight is None:
            raise InputError(
                "weighted=True: the graph has no weights; give weight=, a column's name"
            )
        refuse_negative(graph)
        refuse_great(graph, float(graph.number_of_arcs))
        xp, kept = self._xp, graph.derived
        key = "drawn by weight", self._time, self._direction, xp is np
        if ("sums", *key) not in kept:
            weights = self._rows.values(graph.weight)
            weights = weights if self._order is None else xp.take(weights, self._order)
            places = xp.flatnonzero(weights > 0)
            offsets = xp.searchsorted(places, self._offsets)
            order = places if self._order is None else xp.take(self._order, places)
            if self._times is not None:
                kept["times", *key] = xp.take(self._times, places)
            kept["offsets", *key], kept["order", *key] = offsets, order
            kept["sums", *key] = self._backend.sums_of(offsets, xp.take(weights, places))
        self._offsets, self._order = kept["offsets", *key], kept["order", *key]
        self._sums, self._times = kept["sums", *key], kept.get(("times", *key))

    @property
    def converged(self) -> bool:
        """Whether all hops are done."""
        return len(self._hops) >= len(self._fanouts)

    def step(self) -> Step:
        """Let the vertices of the frontier draw."""
        xp, hop = self._xp, len(self._hops)
        fanout = self._fanouts[hop]
        batches = self._frontier // self._vertices
        vertices = self._frontier % self._vertices
        begins = xp.take(self._offsets, vertices)
        ends = xp.take(self._offsets, vertices + 1)
        if self._times is not None:
            ends = self._until(begins, ends, xp.take(self._bounds, batches))
        degrees = ends - begins
        counts = degrees if fanout < 0 else xp.minimum(degrees, fanout)
        replace = self._replace and fanout >= 0
        if replace:
            counts = xp.where(degrees > 0, fanout, 0)
        places = xp.zeros(len(counts) + 1, np.int64)
        places[1:] = xp.cumsum(counts)
        keys = xp.take(self._keys, batches)
        arcs = self._backend.draw(
            begins, degrees, vertices, keys, places, hop, replace=replace, sums=self._sums
        )
        if self._order is not None:
            arcs = xp.take(self._order, arcs)
        if self._sums is not None:
            note_bytes(math.nan)  # searched by weight: what a draw reads depends on it
        note_bytes((6 * len(counts) + len(arcs)) * PLACE, len(arcs) * PLACE)
        which = row_numbers(xp, places, len(arcs))
        drawn = Sampled(
            xp.take(batches, which),
            xp.full(len(arcs), hop, np.int64),
            xp.take(vertices, which),
            xp.take(self._rows.indices, arcs).astype(np.int64),
            arcs,
        )
        frontier, reached = self._frontier[:0], self._reached
        if hop + 1 < len(self._fanouts) and len(arcs):
            frontier = awaited(xp.unique, drawn.batches * self._vertices + drawn.neighbours)
            at = xp.minimum(xp.searchsorted(reached, frontier), len(reached) - 1)
            frontier = frontier[xp.take(reached, at) != frontier]
            reached = awaited(xp.sort, xp.concatenate((reached, frontier)))
        self._frontier, self._reached = frontier, reached
        self._hops.append(drawn)
        return Step(len(frontier), len(arcs), direction="sample", filter="list")

    def _until(self, begins: Array, ends: Array, bounds: Array) -> Array:
        """Return where the arcs of ranges end that are not after a bound: a binary search in each."""
        xp, times = self._xp, self._times
        low, high = begins, ends
        for _ in range(int((ends - begins).max()).bit_length() if len(ends) else 0):
            middle = (low + high) // 2
            searched = low < high
            early = searched & (xp.take(times, xp.where(searched, middle, 0)) <= bounds)
            low = xp.where(early, middle + 1, low)
            high = xp.where(searched & ~early, middle, high)
        return low

    def columns(self) -> dict[str, Column]:
        """Return one row for each edge that was drawn."""
        xp = self._xp
        empty = xp.empty(0, np.int64)
        columns = zip(*(self._hops or [Sampled(*(empty,) * 5)]), strict=True)
        drawn = Sampled(*(xp.concatenate(parts) for parts in columns))
        ends = (drawn.neighbours, drawn.vertices)
        sources, destinations = ends if self._direction == "in" else ends[::-1]
        return {
            "batch": xp.take(self._names, drawn.batches) if len(drawn.arcs) else empty,
            "hop": drawn.hops,
            "source": VertexNumbers(sources),
            "destination": VertexNumbers(destinations),
            **{name: xp.take(self._rows.values(name), drawn.arcs) for name in self._attributes},
        }

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return nothing: a sample has no checkpoints."""
        return {}

    def check(self, state: SavedState, graph: Any) -> None:
        """Accept nothing; see `state`."""

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Restore nothing; see `state`."""


def _on_host(values: Any) -> npt.NDArray[Any]:
    """Return numbers of the caller's as an array on the host."""
    return as_host(values) if hasattr(values, "__cuda_array_interface__") else np.asarray(values)
