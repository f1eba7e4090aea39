"""Longest and mean shortest paths: eccentricities, the diameter, and the mean distance.

All are in hops.  Eccentricities and the mean take a search from every vertex, in batches of 64; the
diameter takes few: each search bounds the eccentricities of all vertices, and the next starts where the
bounds are greatest or least (Takes and Kosters, 2011).
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from cugraph_ws.algorithms.batched_searches import WIDTH, searches, searching
from cugraph_ws.algorithms.closeness import DistanceSums, vertex_frame
from cugraph_ws.algorithms.components import WeaklyConnectedComponents
from cugraph_ws.algorithms.footprints import ROWS
from cugraph_ws.algorithms.neighbourhood import MOST, ArrayLoop, Direction, Neighbourhood
from cugraph_ws.algorithms.options import Columns, RunOptions, Weight
from cugraph_ws.algorithms.registry import algorithm
from cugraph_ws.arguments import check_flag
from cugraph_ws.errors import InputError
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.driver import run_on
from cugraph_ws.execution.loop import Column, Step
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.footprints import Sizes
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.runtime.arrays import count_true
from cugraph_ws.runtime.bins import bin_sums
from cugraph_ws.runtime.looks import look

__all__ = ["average_shortest_path_length", "diameter", "eccentricity"]

Array = Any  # NumPy's or CuPy's


@algorithm(
    group="paths",
    columns="vertex, eccentricity",
    example={"connected": False},
    note="In hops, for all vertices or given ones.",
    divides="vertices",
)
@accepts_dask_frames
def eccentricity(
    graph: Graph[FrameT] | FrameT,
    vertices: Any = None,
    connected: bool = True,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = None,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Compute the eccentricity of vertices: the greatest number of hops from it to another.

    Parameters
    ----------
    vertices : sequence, array, Series or frame, optional
        The vertices to compute it for, a search from each; by default all.
    connected : bool
        Whether each of them must reach all other vertices, as in NetworkX; else only those count that it
        reaches.

    Returns
    -------
    DataFrame
        Columns `vertex` and `eccentricity` (int64).  Sorted by vertex.

    Raises
    ------
    InputError
        If the frame or an argument is invalid, or a vertex does not reach all others and `connected`
        is true.
    ConvergenceError
        If the run is stopped early; `.result` has the eccentricities so far, 0 where unknown.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b"], "destination": ["b", "c"]})
    >>> ws.eccentricity(edges, directed=False).eccentricity.tolist()
    [2, 1, 2]
    """
    opened = as_graph(
        graph, source=source, destination=destination, weight=weight, directed=directed
    )
    result = run_on(Eccentricities(vertices, connected=connected), opened, **options)
    longest = result.require_convergence("eccentricity").arrays["eccentricity"]
    return vertex_frame(result, "eccentricity", longest, vertices)


@algorithm(
    group="paths", columns="diameter", example={"connected": False}, note="A number of hops."
)
@accepts_dask_frames
def diameter(
    graph: Graph[FrameT] | FrameT,
    connected: bool = True,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = None,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> int:
    """Compute the diameter: the greatest number of hops of a shortest path between two vertices.

    It is exact.  Each search bounds the eccentricities of all vertices, so that most graphs need few of
    them: one along the edges, in a directed graph also one against them.  Random graphs, whose vertices are
    alike, need many.

    Parameters
    ----------
    connected : bool
        Whether every vertex must reach every other, as in NetworkX; else only pairs with a path count.
        A directed graph then takes a search from every vertex.

    Returns
    -------
    int

    Raises
    ------
    InputError
        If the frame or an argument is invalid, the graph has no vertices, or a vertex does not reach all
        others and `connected` is true.
    ConvergenceError
        If the run is stopped early; `.result` has bounds of the eccentricities.

    References
    ----------
    .. [1] F. W. Takes and W. A. Kosters, "Determining the diameter of small world networks", CIKM 2011.
    .. [2] P. Crescenzi et al., "On computing the diameter of real-world undirected graphs", Theoretical
       Computer Science 514, 2013.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b"], "destination": ["b", "c"]})
    >>> ws.diameter(edges, directed=False)
    2
    """
    opened = as_graph(
        graph, source=source, destination=destination, weight=weight, directed=directed
    )
    _refuse_empty(opened, "the diameter")
    bounded = connected or not opened.directed
    loop = Diameter(connected=connected) if bounded else Eccentricities(connected=connected)
    result = run_on(loop, opened, **options).require_convergence("diameter")
    longest: Any = result.arrays["least" if bounded else "eccentricity"]
    return int(opened.vertex_max(longest))


@algorithm(
    group="paths",
    columns="average_shortest_path_length",
    example={"connected": False},
    note="A number of hops.",
)
@accepts_dask_frames
def average_shortest_path_length(
    graph: Graph[FrameT] | FrameT,
    connected: bool = True,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = None,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> float:
    """Compute the mean number of hops of the shortest paths between all pairs of vertices.

    It takes a search from every vertex.

    Parameters
    ----------
    connected : bool
        Whether every vertex must reach every other, as in NetworkX; else only pairs with a path count.

    Returns
    -------
    float
        0 for a single vertex; NaN if no pair counts.

    Raises
    ------
    InputError
        If the frame or an argument is invalid, the graph has no vertices, or a vertex does not reach all
        others and `connected` is true.
    ConvergenceError
        If the run is stopped early; `.result` has the sums so far.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b"], "destination": ["b", "c"]})
    >>> ws.average_shortest_path_length(edges, directed=False)
    1.3333333333333333
    """
    opened = as_graph(
        graph, source=source, destination=destination, weight=weight, directed=directed
    )
    _refuse_empty(opened, "the mean distance")
    if opened.number_of_vertices == 1:
        return 0.0
    result = run_on(Eccentricities(connected=connected), opened, **options)
    sums = result.require_convergence("average_shortest_path_length").arrays
    pairs, hops = (int(opened.vertex_sum(sums[name])) for name in ("reached", "distances"))
    return hops / pairs if pairs else math.nan


def _refuse_unreached(graph: GraphView, vertex: int, reached: int, verb: str = "reaches") -> None:
    """Raise InputError for a vertex that does not reach all others, or is not reached from all; collective."""
    (name,) = graph.describe_vertices([vertex])
    raise InputError(
        f"vertex {name} {verb} {reached:,} of the {graph.number_of_vertices - 1:,} other vertices, so that a "
        "distance is infinite; give connected=False for the pairs with a path, or the graph of a component"
    )


def _refuse_empty(graph: GraphView, what: str) -> None:
    """Refuse a graph without vertices."""
    if not graph.number_of_vertices:
        raise InputError(f"{what} of a graph of 0 vertices is undefined; give one with vertices")


class Eccentricities(DistanceSums):
    """Searches along the edges as a loop for `run`: each step is a batch of them.

    Parameters
    ----------
    vertices : sequence, array, Series or frame, optional
        Where they start; by default everywhere.
    connected : bool
        Whether they must reach all vertices.
    """

    name = "eccentricities"
    outputs: ClassVar = {"eccentricity": False, "reached": False, "distances": False}
    saved: ClassVar = dict.fromkeys(outputs, (0, MOST))
    _eccentricity: Array

    def __init__(self, vertices: Any = None, *, connected: bool = True) -> None:
        super().__init__(vertices)
        check_flag("connected", connected)
        self._connected = bool(connected)

    def memory(self, sizes: Sizes) -> float:
        """Return the bytes that a run takes: as many as other searches in batches."""
        return ROWS["distance_sums"].of(sizes, searching(sizes))

    def inputs(self) -> dict[str, Any]:
        """Return where searches start, and whether they must reach all vertices."""
        return {**super().inputs(), "connected": self._connected}

    def step(self) -> Step:
        """Search from the next vertices."""
        near, part = self.near, self.near.part
        starts = self._starts[self.done : self.done + WIDTH]
        longest, reached, hops = (np.zeros(len(starts), np.int64) for _ in range(3))
        read = 0
        for levels in searches(near, starts, "in"):
            counts, numbers = levels.counts(part, len(starts)), levels.numbers
            longest = np.maximum(longest, (numbers[:, None] * (counts > 0)).max(axis=0))
            reached += counts.sum(axis=0)
            hops += numbers @ counts
            read += len(levels.rows)
            del levels  # before the arrays of the next ones
        of_ranks = np.array(
            part.graph.comm.allgather([longest.tolist(), reached.tolist(), hops.tolist()])
        )
        longest = of_ranks[:, 0].max(axis=0)
        reached, hops = of_ranks[:, 1].sum(axis=0), of_ranks[:, 2].sum(axis=0)
        fewest = int(reached.argmin())
        if self._connected and reached[fewest] + 1 < part.graph.number_of_vertices:
            _refuse_unreached(part.graph, int(starts[fewest]), int(reached[fewest]))
        owned_starts, places = near.owned_among(starts)
        for name, values in zip(self.saved, (longest, reached, hops), strict=True):
            column = getattr(self, f"_{name}")
            column[places] = near.xp.asarray(values[owned_starts])
        self.done += len(starts)
        read, bytes_sent = part.halo.totals(read)
        starts_left = len(self._starts) - self.done
        return Step(starts_left, read, direction="push", filter="list", bytes_sent=bytes_sent)


class Diameter(ArrayLoop):
    """Bounds of eccentricities as a loop for `run`: each step searches from one vertex.

    Let e(v) be the eccentricity of v, and d distances.  For every vertex w, e(w) is at least d(w, v) and at
    least e(v) - d(v, w), and at most d(w, v) + e(v), if v reaches all that w reaches.  In an undirected graph,
    two vertices that are at most k hops from a central one are at most 2 k from each other, so that only
    farther ones remain (Crescenzi et al., 2013).

    Parameters
    ----------
    connected : bool
        Whether searches must reach all vertices; else the graph is undirected.
    """

    name = "diameter"
    ends_within_steps = True
    outputs: ClassVar = {"least": False, "most": False}
    saved: ClassVar = {"least": (0, MOST), "most": (0, MOST), "central": (-1, MOST)}
    converged = False
    _least: Array
    _most: Array
    _central: Array  # hops from the central vertex, -1 if not reached

    def __init__(self, *, connected: bool = True) -> None:
        check_flag("connected", connected)
        self._connected = bool(connected)

    def memory(self, sizes: Sizes) -> float:
        """Return the bytes that a run takes; see `footprints`."""
        return ROWS["diameter"].of(sizes, searching(sizes))

    def inputs(self) -> dict[str, Any]:
        """Return whether searches must reach all vertices."""
        return {"connected": self._connected}

    def start(self, graph: GraphView, *, on_device: bool = False) -> None:
        """Bound nothing yet."""
        self.near = near = Neighbourhood(graph, on_device=on_device)
        self._least = near.xp.zeros(near.part.size, np.int64)
        self._most = near.xp.full(near.part.size, MOST, np.int64)
        self._central = near.xp.full(near.part.size, -1, np.int64)
        degrees = graph.degree_array(incoming=False, on_device=on_device)[: graph.owned]
        self._degrees = near.part.by_position(degrees)
        self._components = None if self._connected else WeaklyConnectedComponents()
        if self._components is not None:
            self._components.start(graph, on_device=on_device)

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Resume from bounds."""
        super().restore(state)
        if self.done:
            self._components = None
        self._undecided()

    def step(self) -> Step:
        """Search from the vertex whose upper bound is greatest or, in turn, whose lower bound is least.

        If the graph may be unconnected, the first steps find its components, whose sizes bound eccentricities.
        """
        if self._components is not None:
            return self._bound_by_components(self._components)
        near, part, xp = self.near, self.near.part, self.near.xp
        start = self._next(self._undecided())
        onward, read = self._distances(start, "in")
        backward = onward
        if part.graph.directed:
            backward, more = self._distances(start, "out")
            read += more
        longest = max(part.graph.comm.allgather(int(onward.max()) if len(onward) else 0))
        reached = (onward >= 0) & (backward >= 0)
        look()
        least = xp.maximum(backward, longest - onward)
        least = xp.where(
            reached, xp.maximum(self._least[: part.owned], least), self._least[: part.owned]
        )
        look()
        most = xp.minimum(self._most[: part.owned], backward + longest)
        most = xp.where(reached, most, self._most[: part.owned])
        look()
        if not part.graph.directed and self._rank(onward) < self._rank(self._central):
            self._central = onward
        self._least, self._most = least, most
        self.done += 1
        read, bytes_sent = part.halo.totals(read)
        undecided = near.total(len(self._undecided()))
        return Step(undecided, read, direction="push", filter="list", bytes_sent=bytes_sent)

    def _bound_by_components(self, components: WeaklyConnectedComponents) -> Step:
        """Do a step of the search for components; after the last, bound eccentricities by their sizes."""
        if not components.converged:
            return components.step()
        part, halo = self.near.part, self.near.part.halo
        labels = part.xp.asarray(components.columns()["labels"].numbers).astype(np.int64)
        numbers, counts = halo.send_to_owners(labels, part.xp.ones_like(labels))
        sizes = bin_sums(part.owners.places(numbers), counts, part.owned).astype(np.int64)
        self._most = part.by_position(halo.fetch(sizes, labels) - 1)
        self._components = None
        return Step(
            self.near.total(len(self._undecided())),
            part.graph.own_arcs,
            direction="bound",
            filter="all",
        )

    def _undecided(self) -> Array:
        """Return the owned positions whose eccentricity may exceed the greatest known one; collective.

        The run has converged if there is none.
        """
        near, part = self.near, self.near.part
        comm = part.graph.comm
        known = max(comm.allgather(int(self._least[: part.owned].max()) if part.owned else 0))
        central = self._central[: part.owned]
        may_exceed = (self._most[: part.owned] > known) & ((central < 0) | (2 * central > known))
        undecided = near.xp.flatnonzero(may_exceed)
        self.converged = not near.total(len(undecided))
        return undecided

    def _rank(self, hops: Array) -> tuple[int, int]:
        """Return what is least for the hops from a central vertex of a large component; collective."""
        part = self.near.part
        hops = hops[: part.owned]
        radius = max(part.graph.comm.allgather(int(hops.max()) if part.owned else -1))
        return -self.near.total(count_true(hops >= 0)), radius

    def columns(self) -> dict[str, Column]:
        """Return the bounds for owned vertices."""
        return {name: values for name, values in super().columns().items() if name in self.outputs}

    def _next(self, undecided: Array) -> int:
        """Return the number of the vertex to search from; of equal bounds that of highest degree; collective."""
        part = self.near.part
        offer = None
        if len(undecided):
            bound = -self._least[undecided] if self.done % 2 else self._most[undecided]
            degrees = self._degrees[undecided]
            best = int(bound.max())
            place = undecided[int(self.near.xp.where(bound == best, degrees, -1).argmax())]
            offer = best, int(self._degrees[place]), -int(part.numbers[place])
        offers = [offer for offer in part.graph.comm.allgather(offer) if offer is not None]
        return -int(max(offers)[2])

    def _distances(self, start: int, direction: Direction) -> tuple[Array, int]:
        """Return the hops from a vertex along the edges ("in") or against them, by owned position; collective.

        Those that it does not reach have -1.
        """
        near, part = self.near, self.near.part
        hops = near.xp.full(part.owned, -1, np.int64)
        reached = 0
        _, places = near.owned_among(np.array([start]))
        hops[places] = 0
        for levels in searches(near, np.array([start]), direction):
            lengths = np.diff(levels.ends, prepend=0)
            hops[levels.rows] = near.xp.asarray(np.repeat(levels.numbers, lengths))
            reached += len(levels.rows)
        total = near.total(reached)
        if self._connected and total + 1 < part.graph.number_of_vertices:
            verb = "reaches" if direction == "in" else "is reached from"
            _refuse_unreached(part.graph, start, total, verb)
        return hops, reached
