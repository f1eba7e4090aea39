"""Communities of high modularity by the Louvain method, refined at the end.

In the original method vertices move one by one, so the result depends on their order.  Here vertices
are hashed into classes, which move one after the other; the vertices of a class move at once, from
the same state.  Weights are integers, and gains are computed by the same operations everywhere, so every
engine and every number of threads gives the same communities.  At the end the vertices of the graph
move once more, between the communities of the last level.  On a small graph a search from many starts
follows, which is cheap there (`docs/decisions/030`).
"""

from __future__ import annotations

import math
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    Literal,
    NamedTuple,
    NoReturn,
    Unpack,
    get_args,
)

import numpy as np

from cugraph_ws.algorithms.footprints import ROWS
from cugraph_ws.algorithms.neighbourhood import row_of_arcs
from cugraph_ws.algorithms.options import (
    Columns,
    RunOptions,
    Weight,
    refuse_negative,
)
from cugraph_ws.algorithms.registry import algorithm
from cugraph_ws.arguments import check_choice, check_count, check_flag, check_number, shown
from cugraph_ws.backends import loops
from cugraph_ws.errors import GraphMemoryError, InputError
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.driver import run_on
from cugraph_ws.execution.keywords import takes_names_of_others
from cugraph_ws.execution.loop import Loop, Result, Step
from cugraph_ws.frames.base import is_dask_frame
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.edges import AUTO
from cugraph_ws.graph.footprints import Sizes
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.fixed_point import UNIT, exponent, fixed_point
from cugraph_ws.partition.labels import all_labels
from cugraph_ws.partition.neighbourhoods import neighbourhoods, row_numbers
from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.arrays import as_host, count_true, module_of
from cugraph_ws.runtime.bins import bin_counts
from cugraph_ws.runtime.looks import awaited, look
from cugraph_ws.runtime.memory import available_memory
from cugraph_ws.runtime.saved_state import SavedState

__all__ = ["Communities", "Louvain", "louvain"]

Array = Any  # NumPy's or CuPy's
Objective = Literal["modularity", "cpm"]

CLASSES = 8  # number of classes, whose vertices move at once
# Number of classes in the first sweep over a level, in which most moves are made
FIRST_CLASSES = 32
ONE_BY_ONE = 256  # in a level of at most so many vertices, each is a class: the result is better
ON_HOST = 1 << 16  # levels with at most so many arcs are computed on the CPU
MOST_SWEEPS = 100  # most sweeps of a level
# In larger levels, a sweep considers only vertices of which edges with at least 1 / STIRRED of their
# degree lead to moved neighbours, and a sweep that gains less than TAIL of the level's gain is the last.
STIRRED = 50
TAIL = 0.01
MOST_SEED = 2**63 - 1
LEVELS = 100  # most levels, if the user gives no number
BITS = 900  # of a factor, at most: its products with integers are finite
LABELS_OF_VERTEX = 40  # bytes of the communities to start from, while they are read
BYTES_AN_ARC = 72  # bytes of each arc while the arcs of all ranks are sorted


class _Pair(NamedTuple, Generic[FrameT]):
    frame: FrameT
    modularity: float


class Communities(_Pair[FrameT]):
    """What `louvain` and `leiden` return: a pair.

    Attributes
    ----------
    frame : DataFrame
        The community of each vertex.
    modularity : float
        Of the communities.

    Examples
    --------
    >>> import cugraph_ws as ws
    >>> communities = ws.louvain(ws.datasets.karate_club())
    >>> communities.frame.partition.nunique(), round(communities.modularity, 3)
    (4, 0.445)
    >>> frame, modularity = communities
    >>> frame.columns.tolist()
    ['vertex', 'partition']
    """

    __slots__ = ()

    if not TYPE_CHECKING:  # to type checkers other names are errors

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(f"a pair has no {name!r}; {PAIR}", name=name)

        def __getitem__(self, key: Any) -> Any:
            if isinstance(key, str):
                raise InputError(f"a pair has no item {key!r}; {PAIR}")
            return super().__getitem__(key)


PAIR = (
    "write: frame, modularity = ws.louvain(graph), as for leiden; the communities are in the frame"
)


@algorithm(
    group="communities",
    columns="vertex, partition",
    weights="read",
    directions=False,
    checkpoints="on one machine",
    note="Returned with the modularity; the same on every engine and any number of workers, each of which holds all edges; small graphs are searched from many starts.",
)
@takes_names_of_others
def louvain(
    graph: Graph[FrameT] | FrameT,
    max_level: int | None = None,
    max_iter: int | None = None,
    resolution: float = 1.0,
    threshold: float = 1e-7,
    *,
    objective: Objective = "modularity",
    hierarchy: bool = False,
    seed: int = 0,
    initial: Any = None,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = AUTO,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> Communities[FrameT]:
    """Find communities of high modularity: the Louvain method.

    Each level moves vertices to the communities of neighbours as long as modularity rises, then
    makes each community one vertex of the next level.  After the last level the vertices of the
    graph move once more between its communities, which is a refinement [3]_.  In a graph of up to
    2,048 edges a search from many starts follows, unless `max_level` ended the levels.  The
    direction of edges does not matter.

    Parameters
    ----------
    graph : Graph or DataFrame
        The graph, or an edge frame.  On a cluster every worker receives all edges, and needs about
        150 bytes of memory for each.
    max_level : int, optional
        Maximum number of levels, at least 1; 100 by default.
    max_iter : int, optional
        Another name for `max_level`, as in cuGraph.
    resolution : float
        Higher values give smaller communities; see `modularity`.
    threshold : float
        A level ends when a sweep over its vertices raises modularity by less than this or, in a
        level of more than 256 vertices, by less than 0.01 times what the level has gained so far.
        In the last level no vertices merge.
    objective : {"modularity", "cpm"}
        What is made great: "cpm" is the constant Potts model [4]_, the sum over communities of the weight
        inside minus resolution n (n − 1) / 2, where n is the number of vertices.  Communities are then at
        least as dense inside as `resolution`, whatever the size of the graph.
    hierarchy : bool
        Whether the frame also has the communities of each level.
    seed : int
        Different seeds give different communities; the same seed gives the same on any machine.
    initial : frame, mapping, list of sets or str, optional
        Communities to start from, as `modularity` takes them, such as an earlier result; a vertex that
        is left out starts alone.  The modularity of the result is not below theirs.

    Returns
    -------
    frame : DataFrame
        Columns `vertex` and `partition`, int64: communities are numbered from 0 in the order of
        their least vertices.  With `hierarchy`, also `level_0`, `level_1` and so on, from the
        smallest communities to the largest, which are those of `partition`; of the levels before,
        each is split by the communities of `partition`.
    modularity : float
        Modularity of the undirected graph; NaN if the weights of all edges sum to 0.  With
        `objective="cpm"` the quality instead.

    Raises
    ------
    InputError
        If the frame or an argument is invalid, or a weight is negative.
    GraphMemoryError
        If the edges of a graph on a cluster do not fit into the memory of a worker.
    ConvergenceError
        If the run is stopped early; `.result` has the communities so far.

    References
    ----------
    .. [1] V. D. Blondel, J.-L. Guillaume, R. Lambiotte and E. Lefebvre, "Fast unfolding of
       communities in large networks", Journal of Statistical Mechanics, 2008.
    .. [2] H. Lu, M. Halappanavar and A. Kalyanaraman, "Parallel heuristics for scalable community
       detection", Parallel Computing 47, 2015.
    .. [3] R. Rotta and A. Noack, "Multilevel local search algorithms for modularity clustering",
       ACM Journal of Experimental Algorithmics 16, 2011.
    .. [4] V. A. Traag, P. Van Dooren and Y. Nesterov, "Narrow scope for resolution-limit-free community
       detection", Physical Review E 84, 2011.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "c"], "destination": ["b", "d"]})
    >>> frame, modularity = ws.louvain(edges)
    >>> frame.partition.tolist(), modularity
    ([0, 0, 1, 1], 0.5)
    """
    levels = levels_wanted(max_level, max_iter)
    result = communities(
        graph,
        Louvain(
            levels,
            threshold,
            resolution,
            objective=objective,
            hierarchy=hierarchy,
            seed=seed,
            initial=initial,
        ),
        source=source,
        destination=destination,
        weight=weight,
        directed=directed,
        **options,
    )
    return Communities(result.frame, -result.residual)


def levels_wanted(max_level: int | None, max_iter: int | None) -> int:
    """Return the maximum number of levels, which has two names.

    Parameters
    ----------
    max_level, max_iter : int, optional
        At most one of them; `LEVELS` without any.

    Returns
    -------
    int

    Raises
    ------
    InputError
        If both are given.
    """
    if max_level is not None and max_iter is not None:
        raise InputError(
            f"max_level={shown(max_level)} and max_iter={shown(max_iter)} are names of the same limit; give one"
        )
    limits = [limit for limit in (max_level, max_iter) if limit is not None]
    return limits[0] if limits else LEVELS


@accepts_dask_frames
def communities(
    graph: Graph[FrameT] | FrameT,
    loop: Louvain,
    *,
    source: Columns,
    destination: Columns,
    weight: Weight,
    directed: bool,
    **options: Unpack[RunOptions],
) -> Result[FrameT]:
    """Run a method that finds communities; accepts Dask frames and cluster graphs.

    Parameters
    ----------
    graph : Graph or DataFrame
    loop : Louvain
        The method.
    source, destination, weight, directed
        See `louvain`.
    **options
        See `run`.

    Returns
    -------
    Result
        Its residual is the modularity, or the quality of another objective, times −1.
    """
    opened = as_graph(
        graph,
        source=source,
        destination=destination,
        weight=weight,
        directed=directed,
        weighted=True,
    )
    return run_on(loop, opened, **options).require_convergence(loop.name)


class Level(NamedTuple):
    """A graph of communities, in which each edge is two arcs; all arrays are int64.

    Attributes
    ----------
    sources, indices, weights : array, shape (arcs,)
        Sorted by source, then neighbour; each pair once, without self-loops.
    offsets : array, shape (vertices + 1,)
    degrees : array, shape (vertices,)
        Sums of weights, self-loops included; for the constant Potts model the numbers of the graph's
        vertices, which take their place in gains.
    inside : int
        Sum of the weights of self-loops, as they count in degrees.
    weighted : bool
        Whether not every weight is known to be 1.
    """

    sources: Array
    indices: Array
    weights: Array
    offsets: Array
    degrees: Array
    inside: int
    weighted: bool = True

    @property
    def rows(self) -> tuple[Array, Array, Array]:
        """Offsets, neighbours and weights."""
        return self.offsets, self.indices, self.weights


class Louvain(Loop):
    """The algorithm as a loop for `run`: each step is a sweep over the vertices of a level.

    A checkpoint has the finished levels; a resumed run repeats the sweeps of the level after them,
    or those after the last level.  The residual of a step is the negative of the modularity.

    Parameters
    ----------
    max_level, threshold, resolution, objective, hierarchy, seed, initial
        See `louvain`.

    Examples
    --------
    The modularity after each sweep of the first level, and how many communities it leaves:

    >>> import cugraph_ws as ws
    >>> result = ws.run(ws.Louvain(max_level=1), ws.datasets.karate_club())
    >>> (-result.trace.residual).round(3).tolist(), result.frame.partition.nunique()
    ([0.358, 0.412, 0.427, 0.427], 5)
    """

    name = "louvain"
    checkpoints = "on one machine"
    converged = False
    ends_within_steps = True
    outputs: ClassVar = {"partition": False}
    reads_weights = True
    _final: bool  # whether the graph's vertices move between communities of the last level
    _label: Array  # a community for each vertex of the level
    _totals: Array  # by community: the sum of degrees
    _sizes: Array  # by community: the number of vertices
    _inside: int  # the sum of weights of arcs within communities
    _entered: float  # the modularity at the beginning of the level
    _called: bool  # whether a sweep considers only vertices that are stirred enough, or all
    _start_labels: Array | None  # by vertex of the graph: the community in which the run begins
    _stirred: Array  # by vertex: weight of the edges to neighbours that have moved since

    def __init__(
        self,
        max_level: int = 100,
        threshold: float = 1e-7,
        resolution: float = 1.0,
        *,
        objective: Objective = "modularity",
        hierarchy: bool = False,
        seed: int = 0,
        initial: Any = None,
    ) -> None:
        check_choice("objective", objective, get_args(Objective))
        check_count("max_level", max_level, 1)
        check_number("threshold", threshold, finite=True)
        check_number("resolution", resolution, positive=True, finite=True)
        check_flag("hierarchy", hierarchy)
        check_count("seed", seed, most=MOST_SEED)
        self._max_level, self._threshold = int(max_level), float(threshold)
        self._resolution, self._seed = float(resolution), int(seed)
        self._hierarchy, self._cpm = bool(hierarchy), objective == "cpm"
        if is_dask_frame(initial):
            raise InputError(
                "initial: a frame that is in memory is needed, not a Dask frame; compute() it first"
            )
        self._initial = initial

    def memory(self, sizes: Sizes) -> float:
        """Return the bytes that a run takes; see `footprints`."""
        labels = 0 if self._initial is None else LABELS_OF_VERTEX * sizes.vertices
        return ROWS["louvain"].of(sizes) + labels

    def start(self, graph: GraphView, *, on_device: bool = False) -> None:
        """Read the weights, and put every vertex into a community of its own, or the given one."""
        refuse_negative(graph)
        self._start_labels = (
            None if self._initial is None else all_labels(graph, self._initial, "initial")
        )
        self._part = Part(graph, on_device=on_device)
        self._vertices = graph.number_of_vertices
        self._finished: list[Array] = []  # communities of vertices, one array for each level
        self._final = False
        level, self._exponent = self._first_level(), exponent(graph)
        self._twice = _total(level.degrees)
        if self._cpm:
            level = level._replace(degrees=self._part.xp.ones(self._vertices, np.int64))
        self._begin_graph(level)
        self._first = self._level
        if self._start_labels is not None:
            self._put(self._xp.asarray(self._start_labels))
        self._best = self._entered = self._quality()
        self._found = self._member  # the communities, once the run has converged
        self.converged = self._twice == 0

    def step(self) -> Step:
        """Let each vertex of the level move once; end the level if that gains little."""
        level, best, before = self._level, self._best, self._label
        large = len(before) > ONE_BY_ONE
        label = before.copy()
        turn = len(self._finished) * MOST_SWEEPS + self._sweeps
        classes = self._classes(
            self._mover, turn, self._sweeps == 0, (self._stirred, self._enough, self._called)
        )
        listed, moved, change, squares = self._mover.sweep(
            (label, self._totals, self._sizes), before, self._factor, classes,
            level.sources, self._stirred, self._everything,
        )  # fmt: skip
        self._label = label
        if moved:
            self._inside += change
            self._call()
            self._best = self._quality(squares)
        self._sweeps += 1
        if self._best < best:
            self._best = best
            self._put(before)
        least = self._threshold * (self._in_weights(self._twice) if self._cpm else 1.0)
        if large:
            least = max(least, TAIL * (self._best - self._entered))
        if not moved or self._best - best < least or self._sweeps >= MOST_SWEEPS:
            self._end_level()
        return Step(listed, len(level.indices), -self._best, direction="gather", filter="class")

    def inputs(self) -> dict[str, Any]:
        """Return the parameters that the communities depend on."""
        return {
            "max_level": self._max_level,
            "threshold": self._threshold,
            "resolution": self._resolution,
            "seed": self._seed,
            **({"objective": "cpm"} if self._cpm else {}),
            **({} if self._start_labels is None else {"initial": self._start_labels}),
        }

    def state(self) -> dict[str, Any]:
        """Return the communities of the finished levels and of the graph, and what is done."""
        empty = np.empty(0, np.int64)
        levels = np.concatenate([empty, *(as_host(labels) for labels in self._finished)])
        return {
            "levels": levels,
            "finished": np.array([len(self._finished)]),
            "found": as_host(self._found),
            "final": np.array([self._final]),
            "converged": np.array([self.converged]),
        }

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse a state that this run cannot have saved; not collective."""
        vertices = graph.number_of_vertices
        levels = state.number("finished", 0, self._max_level)
        saved = state.integers("levels", levels * vertices, 0, vertices - 1)
        most = -1
        for level in reversed(saved.reshape(levels, vertices)):
            distinct = np.unique(level)
            dense = len(distinct) == 0 or int(distinct[-1]) == len(distinct) - 1
            state.require("levels", dense, "skips a community")
            state.require("levels", len(distinct) >= most, "splits a community")
            most = len(distinct)
        state.integers("found", vertices, 0, vertices - 1)
        state.flags("final", 1)
        state.flags("converged", 1)

    def restore(self, state: dict[str, Any]) -> None:
        """Resume after the finished levels."""
        self._read(state)
        if self.converged or not self._finished:
            return
        if self._final:
            self._begin_final_moves()
        else:
            self._merge_graph()

    def _read(self, state: dict[str, Any]) -> None:
        """Read what `state` returned."""
        xp, vertices = self._part.xp, self._vertices
        saved = state["levels"].astype(np.int64).reshape(-1, max(1, vertices))
        self._finished = [xp.asarray(level.copy()) for level in saved]
        self._found = xp.asarray(state["found"].astype(np.int64))
        self._final = bool(state["final"][0])
        self.converged = bool(state["converged"][0])

    def _merge_graph(self) -> None:
        """Begin the level after the finished ones."""
        part, self._member = self._part, self._finished[-1]
        self._xp, self._on_device = part.xp, part.on_device
        rows, columns, weights = both_ways(part)
        count = int(as_host(self._member).max()) + 1
        level = contract(part.xp, self._member[rows], self._member[columns], weights, count)
        if self._cpm:
            level = level._replace(degrees=bin_counts(self._member, count).astype(np.int64))
        self._begin(level)
        self._best = self._entered = self._quality()

    def columns(self) -> dict[str, Array]:
        """Return the community of each owned vertex, and those of the levels if they are wanted."""
        last = self._found if self.converged else self._of_vertices(self._label)
        levels = self._levels(last) if self._hierarchy else [last]
        owned = self._part.owners.numbers(self._part.xp)
        named = [_in_order(level)[owned] for level in levels]
        columns = {"partition": named[-1]}
        if self._hierarchy:
            columns |= {f"level_{place}": level for place, level in enumerate(named)}
        return columns

    def _levels(self, last: Array) -> list[Array]:
        """Return the levels of a hierarchy whose last is given."""
        before = self._finished
        if self._final or self.converged:
            before = before[:-1]
        return [*(_in_common(level, last) for level in before), last]

    def _of_vertices(self, labels: Array) -> Array:
        """Return for each vertex of the graph the label of the level's vertex that contains it."""
        return self._part.xp.asarray(labels)[self._member]

    def _begin_graph(self, level: Level) -> None:
        """Begin a level of the graph's own vertices."""
        self._xp, self._on_device = self._part.xp, self._part.on_device
        self._member = self._xp.arange(self._vertices)
        self._begin(level)

    def _begin(self, level: Level) -> None:
        """Begin a level, in which every vertex is a community; a small one is moved to the host."""
        if len(level.indices) <= ON_HOST:
            self._xp, self._on_device = np, False
            level = Level(
                as_host(level.sources),
                as_host(level.indices),
                as_host(level.weights),
                as_host(level.offsets),
                as_host(level.degrees),
                level.inside,
                level.weighted,
            )
        self._backend = loops("louvain", on_device=self._on_device)
        self._level, self._sweeps = level, 0
        self._called = False
        self._mover = self._backend.Mover(level.rows, level.degrees, weighted=level.weighted)
        count = len(level.degrees)
        self._label, self._inside = self._xp.arange(count), level.inside
        self._totals, self._sizes = level.degrees.copy(), self._xp.ones(count, np.int64)
        self._stirred = self._xp.zeros(count, np.int64)
        degrees = row_sums(self._xp, level.weights, level.offsets) if self._cpm else level.degrees
        self._enough = self._xp.maximum(degrees // STIRRED, 1)

    def _first_level(self) -> Level:
        """Return the vertices and edges of the graph."""
        part, graph = self._part, self._part.graph
        if graph.whole and not graph.directed and graph.weight is None:
            near = neighbourhoods(graph, on_device=part.on_device).rows
            arcs = len(near.indices)
            if arcs == len(part.csc.indices):  # no self-loop, and no parallel edges
                offsets, indices = (
                    array.astype(np.int64, copy=False) for array in (near.offsets, near.indices)
                )
                sources = row_numbers(part.xp, offsets, arcs)
                ones = part.xp.ones(arcs, np.int64)
                degrees = near.degrees.astype(np.int64)
                return Level(sources, indices, ones, offsets, degrees, 0, weighted=False)
        return contract(part.xp, *both_ways(part), self._vertices)

    def _here(self, labels: Array) -> Array:
        """Return labels of the graph's vertices where the level is: on the host if that is."""
        return as_host(labels) if self._xp is np else labels

    def _assign(self, label: Array) -> None:
        """Put the vertices of the level into communities, of which `_inside` is then to be set."""
        count = len(label)
        self._label = label
        self._totals = self._backend.sum_by(label, self._level.degrees, count)
        self._sizes = self._backend.sum_by(label, self._xp.ones(count, np.int64), count)

    def _put(self, label: Array) -> None:
        """Put the vertices of the level into communities."""
        level = self._level
        self._assign(label)
        inside = self._backend.sum_inside(level.rows, level.sources, label)
        self._inside = level.inside + inside

    def _begin_in(self, label: Array) -> None:
        """Put the vertices of a new level into communities, and call those beside other communities."""
        level, vertices = self._level, self._xp.arange(len(label))
        self._assign(label)
        alone = vertices + len(label)  # as if all came from communities that are no longer there
        self._inside = level.inside + self._backend.sum_moves(
            level.rows, level.sources, vertices, (alone, label), self._stirred
        )
        self._call()
        self._best = self._entered = self._quality()

    def _call(self) -> None:
        """Let the next sweep over a large level consider only vertices beside enough moves."""
        self._called = len(self._label) > ONE_BY_ONE

    def _end_level(self) -> None:
        """Make communities the vertices of the next level; end the run if nothing is gained."""
        xp, level = self._xp, self._level
        dense, count = without_gaps(xp, self._label)
        if self._final:
            self._end(self._of_vertices(dense))
            return
        merges = count < len(level.degrees)
        if merges or not self._finished:
            self._member = self._of_vertices(dense)
            self._finished = [*self._finished, self._member]
        if merges and len(self._finished) < self._max_level:
            self._begin(merge(xp, self._backend, level, dense, count, self._twice))
            self._entered = self._best
        else:
            self._end_levels()

    def _end(self, labels: Array) -> None:
        """End the run with communities of the graph's vertices, or better ones if the graph is small."""
        self._found, self.converged = self._improved(labels), True

    def _improved(self, labels: Array) -> Array:
        """Return the best communities of a small graph that a search from the given ones finds."""
        search, arcs = loops("small_communities", on_device=False), len(self._first.indices)
        if not 0 < arcs <= search.MOST_ARCS or len(self._finished) >= self._max_level:
            return labels
        self._begin_graph(self._first)  # on the host, since it is small
        level = self._level
        better = search.improved(
            level.rows, level.degrees, as_host(labels), self._factor, self._seed
        )
        self._put(as_host(labels) if better is None else better)
        self._best = self._quality()
        return labels if better is None else self._part.xp.asarray(better)

    def _end_levels(self) -> None:
        """Let the vertices of the graph move again, unless those of the only level were they."""
        if len(self._finished) > 1:
            self._begin_final_moves()
        else:
            self._end(self._member)

    def _begin_final_moves(self) -> None:
        """Let the vertices of the graph move between the communities of the last level."""
        self._final = True
        self._begin_graph(self._first)
        self._begin_in(self._here(self._finished[-1]))

    def _in_weights(self, arcs: int) -> float:
        """Return the weight of edges, given that of their arcs, which are two for each, as an integer."""
        return math.ldexp(arcs / 2, -self._exponent)

    @property
    def _everything(self) -> int:
        """The sum of all degrees, or the number of vertices that take their place."""
        return self._vertices if self._cpm else self._twice

    @property
    def _factor(self) -> float:
        """The expected weight between two vertices of degree 1."""
        if self._cpm:  # bounded, so that products are finite whatever the weights are
            bits = self._exponent + math.frexp(self._resolution)[1]
            return math.ldexp(self._resolution, self._exponent) if bits < BITS else 2.0**BITS
        return self._resolution / self._twice

    def _classes(
        self,
        mover: Any,
        turn: int,
        first: bool = False,
        stirred: tuple[Array, Array, bool] | None = None,
    ) -> Any:
        """Return the classes of the vertices of the level, which differ by turn.

        `first` is whether the sweep is the first over the level; `stirred` is as for `by_hash`.
        """
        salt = int(np.random.SeedSequence([self._seed, turn]).generate_state(1, np.uint64)[0])
        if len(self._label) <= ONE_BY_ONE:
            return mover.one_by_one(salt)
        return mover.by_hash(salt, FIRST_CLASSES if first else CLASSES, stirred)

    def _quality(self, squares: int | None = None) -> float:
        """Return the modularity, or the quality; the same on all engines: all sums are of integers."""
        if self._twice == 0:
            return math.nan
        if self._cpm:
            pairs = (_total(self._totals * self._totals) - self._vertices) // 2
            return self._in_weights(self._inside) - self._resolution * pairs
        if squares is None:
            squares = self._backend.sum_squares(self._totals, self._twice)
        return float(self._inside / self._twice - self._resolution * (squares / UNIT))


def both_ways(part: Part) -> tuple[Array, Array, Array]:
    """Return the ends, as vertex numbers, and integer weights of arcs and their reverses; collective.

    Every rank receives the arcs of all ranks, so all find the same communities.  A self-loop counts
    twice in a degree.
    """
    xp, csc = part.xp, part.csc
    numbers = part.numbers.astype(np.int64)
    rows = numbers[row_of_arcs(part)]
    columns = numbers[csc.indices]
    look()
    weights = fixed_point(part, exponent(part.graph))
    look()
    if not part.halo.alone:
        _refuse_too_many(part.graph)
        received = part.halo.exchange([[rows, columns, weights]] * part.graph.comm.size)
        rows, columns, weights = (xp.concatenate(pieces) for pieces in zip(*received, strict=True))
    if part.directed:
        ends = xp.concatenate([rows, columns]), xp.concatenate([columns, rows])
        look()
        return *ends, xp.concatenate([weights, weights])
    return rows, columns, xp.where(rows == columns, 2 * weights, weights)


def _refuse_too_many(graph: GraphView) -> None:
    """Refuse a graph whose arcs do not all fit into the memory of each rank; collective."""
    arcs = sum(graph.comm.allgather(graph.own_arcs)) * (2 if graph.directed else 1)
    if graph.any_rank(arcs * BYTES_AN_ARC > available_memory()):
        raise GraphMemoryError(
            f"every worker needs all {arcs:,} arcs, about {arcs * BYTES_AN_ARC / 1e9:.1f} GB; give "
            f"the workers more memory, or drop edges of little weight"
        )


def contract(xp: Any, rows: Array, columns: Array, weights: Array, count: int) -> Level:
    """Merge arcs with the same ends, by sorting."""
    keys = rows * count + columns  # 3·10^9 vertices or fewer
    look()
    order = awaited(xp.argsort, keys, kind="stable")
    look()
    keys = keys[order]
    look()
    weights = weights[order]
    look()
    rows = keys // max(1, count)
    look()
    columns = keys - rows * count
    look()
    vertices = xp.arange(count + 1)
    degrees = row_sums(xp, weights, xp.searchsorted(rows, vertices))
    look()
    apart = xp.flatnonzero(rows != columns)
    inside = _total(xp.where(rows == columns, weights, 0))
    look()
    rows = rows[apart]
    look()
    columns = columns[apart]
    look()
    weights = weights[apart]
    look()
    leads = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
    look()
    first = xp.flatnonzero(xp.concatenate([xp.ones(min(1, len(rows)), np.bool_), leads]))
    weights = row_sums(xp, weights, xp.concatenate([first, xp.full(1, len(rows), first.dtype)]))
    look()
    rows, columns = rows[first], columns[first]
    offsets = xp.searchsorted(rows, vertices).astype(np.int64)
    return Level(rows, columns, weights, offsets, degrees, inside)


def merge(xp: Any, backend: Any, level: Level, dense: Array, count: int, twice: int) -> Level:
    """Make communities, numbered from 0 to `count` - 1, the vertices of a level; `twice` is the weight of all."""
    degrees = backend.sum_by(dense, level.degrees, count)
    offsets, indices, weights = backend.merged(
        level.rows, level.sources, dense, count, weighted=level.weighted
    )
    inside = twice - _total(weights)
    sources = row_numbers(xp, offsets, len(indices))
    return Level(sources, indices, weights, offsets, degrees, inside)


def _total(values: Array) -> int:
    """Return the sum of integers as a Python number."""
    total = values.sum()
    return int(total if isinstance(total, np.generic) else as_host(total))


def row_sums(xp: Any, weights: Array, offsets: Array) -> Array:
    """Return the sum of each row of integers."""
    sums = xp.cumsum(weights)
    look()
    before = xp.concatenate([xp.zeros(1, np.int64), sums])
    look()
    return before[offsets[1:]] - before[offsets[:-1]]


def without_gaps(xp: Any, labels: Array) -> tuple[Array, int]:
    """Renumber labels, which are below the length of the array, from 0 in the same order; return their count too."""
    occurs = xp.zeros(len(labels), np.bool_)
    occurs[labels] = True
    return xp.cumsum(occurs, dtype=np.int64)[labels] - 1, count_true(occurs)


def _in_common(labels: Array, other_labels: Array) -> Array:
    """Return labels of pairs of labels, each of them less than their number."""
    pairs = other_labels * len(labels) + labels
    return module_of(labels).unique(pairs, return_inverse=True)[1]


def _in_order(labels: Array) -> Array:
    """Renumber communities from 0 in the order of their least vertices."""
    xp, vertices = module_of(labels), len(labels)
    if xp is np:  # this is faster than NumPy's sorts
        least = np.full(vertices, vertices)
        np.minimum.at(least, labels, np.arange(vertices))
        occurring = np.flatnonzero(least < vertices)
        rank = np.empty(vertices, np.int64)
        rank[occurring[np.argsort(least[occurring])]] = np.arange(len(occurring))
        return rank[labels]
    _, first, inverse = xp.unique(labels, return_index=True, return_inverse=True)
    rank = xp.empty(len(first), np.int64)
    rank[xp.argsort(first)] = xp.arange(len(first))
    return rank[inverse]
