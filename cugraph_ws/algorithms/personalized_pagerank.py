"""Personalised PageRank of many seeds: a superstep reads the edges once for a block of seeds."""

from __future__ import annotations

from operator import length_hint
from typing import Any, Literal, Unpack

import numpy as np

from cugraph_ws.algorithms.footprints import RESULTS, ROWS
from cugraph_ws.algorithms.neighbourhood import ArrayLoop, Neighbourhood
from cugraph_ws.algorithms.options import (
    Columns,
    RunOptions,
    Weight,
    refuse_checkpoints,
    refuse_negative,
)
from cugraph_ws.algorithms.registry import algorithm
from cugraph_ws.arguments import (
    check_choice,
    check_count,
    check_flag,
    check_number,
    is_one_vertex,
    shown,
)
from cugraph_ws.errors import ConvergenceError, InputError
from cugraph_ws.execution.batch_width import width_of_batch
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.driver import run_on
from cugraph_ws.execution.loop import Column, Step
from cugraph_ws.frames.base import Masked, VertexNumbers
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.edges import AUTO
from cugraph_ws.graph.footprints import Sizes
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.runtime.arrays import any_true, as_host
from cugraph_ws.runtime.looks import look

__all__ = ["PersonalizedPageRank", "personalized_pagerank"]

Array = Any  # NumPy's or CuPy's
Format = Literal["long", "columns"]

WIDTH = 32  # most seeds in a block
CELLS = 1 << 27  # most entries of a matrix by vertex and seed
BLOCK = 33  # bytes of a block by vertex and seed
UPLOADED, BEGUN = (
    16,
    17,
)  # bytes of an arc while a GPU gets the weights, and of a block at that time
MEMORY = ROWS["personalized_pagerank"]


@algorithm(
    group="centrality",
    columns="seed, vertex, pagerank",
    example=lambda ids: {"seeds": ids[:2]},
    weights="read",
    checkpoints="nowhere",
    note='Many seeds share each pass over the edges; `top=` limits the vertices of each; `format="columns"` gives a column for each seed.',
    divides="seeds",
)
@accepts_dask_frames
def personalized_pagerank(
    graph: Graph[FrameT] | FrameT,
    seeds: Any,
    alpha: float = 0.85,
    max_iter: int = 100,
    tol: float = 1e-6,
    fail_on_nonconvergence: bool = True,
    *,
    top: int | None = None,
    format: Format = "long",  # noqa: A002 - a frame is long or wide
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = AUTO,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Compute a PageRank for each of many seeds, the vertices at which the random surfer restarts.

    The ranks of a seed are those of `pagerank` with a personalization of 1 at the seed, to which the
    rank of vertices without out-edges goes too.  Up to 32 seeds share a pass over the edges.

    Parameters
    ----------
    seeds : list of ids
        The seeds; each gets ranks of its own.
    alpha : float
        Probability of following an edge, 0 to 1.
    max_iter : int
        Maximum number of supersteps for a seed.
    tol : float
        A seed's ranks are final when their absolute changes in one superstep sum to this or less.
    fail_on_nonconvergence : bool
        Whether to raise if `max_iter` is reached first; otherwise the ranks so far are returned.
    top : int, optional
        Number of vertices to return for each seed: those of highest rank that the seed reaches.
    format : {"long", "columns"}
        One row for each seed and vertex, or one row for each vertex and a column for each seed.
        `top` needs "long".

    Returns
    -------
    DataFrame
        Long: `seed`, `vertex` and `pagerank` (float64); seeds in the given order, then vertices
        ascending or, with `top`, by falling rank and then ascending.  Columns: `vertex`, and
        `pagerank_0`, `pagerank_1` and so on by the place of the seed.

    Raises
    ------
    InputError
        If a seed is unknown, or the frame or an argument is invalid, or a checkpoint is requested.
    ConvergenceError
        If `max_iter` or `timeout` is reached first; `.result` has the ranks so far, or after a
        time-out only those of finished seeds.

    References
    ----------
    .. [1] G. Jeh and J. Widom, "Scaling personalized web search", WWW 2003.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": list("abc"), "destination": list("bca")})
    >>> ws.personalized_pagerank(edges, ["c", "a"], top=1).to_dict("list")["vertex"]
    ['c', 'a']
    """
    check_flag("fail_on_nonconvergence", fail_on_nonconvergence)
    refuse_checkpoints(options, "personalized_pagerank has")
    loop = PersonalizedPageRank(seeds, alpha, max_iter, tol, top=top, format=format)
    opened = as_graph(
        graph,
        source=source,
        destination=destination,
        weight=weight,
        directed=directed,
        weighted=True,
    )
    unfinished: list[int] = []
    loop.finish = unfinished.append
    result = run_on(loop, opened, **options).require_convergence(loop.name)
    if sum(unfinished) and fail_on_nonconvergence:
        raise ConvergenceError(
            f"personalized_pagerank did not converge for {sum(unfinished):,} seeds within "
            f"max_iter={max_iter} supersteps; raise max_iter or tol, or take the error's .result",
            result,
        )
    return result.frame


class PersonalizedPageRank(ArrayLoop):
    """The algorithm as a loop for `run`: each step is a superstep of a block of seeds.

    Parameters
    ----------
    seeds : list of ids
    alpha : float
        Probability of following an edge.
    max_iter : int
        Maximum number of supersteps for a seed.
    tol : float
        Bound on the L1 norm of a seed's change.
    top : int, optional
        Number of vertices to return for each seed.
    format : {"long", "columns"}
        Format of the result.

    Examples
    --------
    A column for each seed, in their order:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "c", "c"], "destination": ["b", "c", "a", "d"]})
    >>> loop = ws.PersonalizedPageRank(["a", "d"], format="columns")
    >>> frame = ws.run(loop, edges, directed=False).frame
    >>> frame.pagerank_0.round(3).tolist(), frame.pagerank_1.round(3).tolist()
    ([0.344, 0.238, 0.326, 0.092], [0.185, 0.185, 0.375, 0.256])
    """

    name = "personalized_pagerank"
    ends_within_steps = True
    checkpoints = "none"
    less_memory = "give top= (the highest vertices of each seed) or fewer seeds at a time"
    reads_weights = True
    _rank: Array  # of owned vertices, by position and seed of the block
    _sent: Array  # message of each vertex along an edge of weight 1, by position and seed
    _taken: int  # supersteps that the block has done
    finish: Any = None  # called with the number of seeds that reach `max_iter`, block by block

    def __init__(
        self,
        seeds: Any,
        alpha: float = 0.85,
        max_iter: int = 100,
        tol: float = 1e-6,
        *,
        top: int | None = None,
        format: Format = "long",  # noqa: A002 - as the function has it
    ) -> None:
        check_number("alpha", alpha, finite=True)
        if not 0.0 <= alpha <= 1.0:
            raise InputError(f"alpha={float(alpha)!r} must be between 0 and 1")
        check_count("max_iter", max_iter)
        check_number("tol", tol, finite=True)
        if top is not None:
            check_count("top", top, 1)
        check_choice("format", format, ("long", "columns"))
        if top is not None and format == "columns":
            raise InputError("top= returns different vertices for each seed; use format='long'")
        self._seeds, self._alpha, self._bound = seeds, float(alpha), float(tol)
        self._limit, self._top = int(max_iter), top
        self._wide = format == "columns"

    @property
    def by_vertex(self) -> bool:
        """Whether each seed's ranks are a column."""
        return self._wide

    @property
    def rows_by(self) -> tuple[str, bool] | None:
        """The vertices, each with a row for each seed, unless only the highest are wanted."""
        return None if self._wide or self._top is not None else ("vertex", True)

    @property
    def vertices_given(self) -> dict[str, Any]:
        """Arguments that contain vertices, by name; they are looked up before the run."""
        return {"seeds": self._seeds}

    @property
    def outputs(self) -> dict[str, bool]:
        """The columns of a result by vertex."""
        if not self.by_vertex:
            return {}
        return {f"pagerank_{place}": False for place in range(length_hint(self._seeds))}

    @property
    def converged(self) -> bool:
        """Whether all seeds are done."""
        return self.done >= len(self._numbers)

    def memory(self, sizes: Sizes) -> float:
        """Return the bytes of a block of seeds, and of the ranks of all as rows of a result."""
        seeds = length_hint(self._seeds, 1)
        ranks_bytes = 0 if self._top is not None else 8 * seeds
        graph = MEMORY.of(sizes) + (0 if sizes.directed else sizes.cast_weights)
        rest = graph + ranks_bytes * sizes.vertices
        width = sizes.columns(min(WIDTH, seeds), BLOCK, rest=rest)
        block = BLOCK * width
        if sizes.on_device and not sizes.framed:
            graph += 8 * sizes.arcs * (sizes.edge_type("weight") == "int64")  # as floats
            begun = UPLOADED * sizes.arcs * sizes.weighted + BEGUN * width * sizes.vertices
            return max(graph + (block + ranks_bytes) * sizes.vertices, begun)
        if self.by_vertex:
            listed = RESULTS["personalized_pagerank columns"] * seeds + 2 * sizes.id_bytes
        else:
            listed = (
                (RESULTS["personalized_pagerank"] + 2 * sizes.wide_ids) * seeds * (ranks_bytes > 0)
            )
        return graph + max(block + ranks_bytes, listed) * sizes.vertices

    def start(self, graph: GraphView, *, on_device: bool = False) -> None:
        """Look up the seeds, and sum the out-weights of each vertex."""
        if is_one_vertex(self._seeds):
            raise InputError(f"seeds={shown(self._seeds)} must be a list of vertices")
        refuse_negative(graph)
        self._numbers = np.asarray(as_host(graph.numbers(self._seeds, "seeds")))
        self.near = near = Neighbourhood(graph, on_device=on_device)
        part, xp = near.part, near.xp
        weight = as_host(graph.weight_sums(graph.weight, incoming=False))[: part.owned]
        _refuse_tiny(graph, weight)
        out = part.by_position(weight)[: part.owned]
        self._dangling = xp.flatnonzero(out == 0.0)
        self._share = xp.where(out > 0.0, 1.0 / xp.where(out > 0.0, out, 1.0), 0.0)[:, None]
        self._sent = xp.empty((part.size, 0))
        self._found: list[Array] = [None] * len(self._numbers)
        ranks_bytes = 0 if self._top is not None else 8 * len(self._numbers) * part.size
        most = min(WIDTH, len(self._numbers))
        self._width = width_of_batch(part, most, BLOCK, CELLS, MEMORY, kept=ranks_bytes)
        self._begin()

    def step(self) -> Step:
        """Let the surfers of the block take a step."""
        near, part, xp = self.near, self.near.part, self.near.xp
        rank, owned = self._rank, self.near.part.owned
        columns = rank.shape[1]
        if self._taken < self._limit:
            lost = rank[self._dangling].sum(axis=0)
            if self._sent.shape[1] != columns:
                self._sent = xp.empty((part.size, columns))
            xp.multiply(rank, self._share, out=self._sent[:owned])
            look()
            near.update(self._sent)
            new = near.sums(self._sent, "in", weight=part.graph.weight)
            look()
            new *= self._alpha
            look()
            new[self._rows, self._columns] += 1.0 - self._alpha
            restart = self._alpha * xp.asarray(self._over_ranks(lost))
            new[self._rows, self._columns] += restart[self._columns]
            rank -= new  # in place: the matrices are larger than caches
            change = self._over_ranks(xp.abs(rank, out=rank).sum(axis=0))
            self._rank, self._taken = new, self._taken + 1
        else:
            change = np.full(columns, np.inf)
        arcs, bytes_sent = part.halo.totals(len(part.csc.indices))
        self._remove_converged(change)
        seeds_left = len(self._numbers) - self.done
        residual = float(change.max()) if self._taken else np.nan
        return Step(
            seeds_left, arcs, residual, direction="gather", filter="all", bytes_sent=bytes_sent
        )

    def columns(self) -> dict[str, Column]:
        """Return the ranks of the finished seeds; collective."""
        part, xp = self.near.part, self.near.xp
        places = np.flatnonzero([ranks_of_seed is not None for ranks_of_seed in self._found])
        if self.by_vertex:
            none = Masked(xp.zeros(part.owned), xp.zeros(part.owned, np.bool_))
            return {
                f"pagerank_{place}": none if ranks_of_seed is None else ranks_of_seed
                for place, ranks_of_seed in enumerate(self._found)
            }
        if self._top is None:
            vertices = part.owners.numbers(xp)
            seeds = xp.repeat(xp.asarray(self._numbers[places]), part.owned)
            vertices = xp.tile(vertices, len(places))
            ranks = [self._found[place] for place in places]
            ranks = xp.concatenate(ranks) if ranks else xp.zeros(0)
        else:
            seeds, vertices, ranks = self._best(places)
        return {
            "seed": VertexNumbers(seeds),
            "vertex": VertexNumbers(vertices),
            "pagerank": ranks,
        }

    def _begin(self) -> None:
        """Start a block: all of a seed's rank is at the seed."""
        near, xp = self.near, self.near.xp
        block = self._numbers[self.done : self.done + self._width]
        self._places = np.arange(self.done, self.done + len(block))
        owned_seeds, self._rows = near.owned_among(block)
        self._columns = xp.asarray(owned_seeds)
        self._rank = xp.zeros((near.part.owned, len(block)))
        self._rank[self._rows, self._columns] = 1.0
        self._taken = 0

    def _remove_converged(self, change: Array) -> None:
        """Remove the seeds that are final from the block; start the next block when none is left."""
        xp = self.near.xp
        final = change <= self._bound
        if self._taken >= self._limit:
            if self.finish is not None:
                self.finish(int((~final).sum()))
            final = np.ones_like(final)
        if not final.any():
            return
        for column in np.flatnonzero(final).tolist():
            values = self.near.part.by_number(self._rank[:, column])
            self._found[self._places[column]] = self._kept(values)
        self.done += int(final.sum())
        unfinished = np.flatnonzero(~final)
        if not len(unfinished):
            self._begin()
            return
        self._places, self._rank = self._places[unfinished], self._rank[:, xp.asarray(unfinished)]
        place = xp.full(len(final), -1, np.int64)
        place[xp.asarray(unfinished)] = xp.arange(len(unfinished))
        columns = place[self._columns]
        self._rows, self._columns = self._rows[columns >= 0], columns[columns >= 0]

    def _kept(self, values: Array) -> Any:
        """Return a seed's ranks or, with `top`, the numbers and ranks of its highest vertices."""
        xp = self.near.xp
        if self._top is None:
            return xp.ascontiguousarray(values)
        least = 0.0
        if self._top < len(values):
            least = float(xp.partition(values, len(values) - self._top)[len(values) - self._top])
        places = xp.flatnonzero((values >= least) & (values > 0.0))
        ranks = values[places]
        if not len(places):
            return places, ranks
        order = xp.lexsort(xp.stack((places.astype(np.float64), -ranks)))[: self._top]
        return self.near.part.owners.number_at(places[order]), ranks[order]

    def _best(self, places: Array) -> tuple[Array, Array, Array]:
        """Return seeds, vertices and ranks of the highest vertices on all ranks, for this rank's seeds."""
        part, xp = self.near.part, self.near.xp
        best_of_seeds = [self._found[place] for place in places]
        lengths = np.array([len(ranks) for _, ranks in best_of_seeds], np.int64)
        place = xp.asarray(np.repeat(np.arange(len(places)), lengths))
        empty = [(xp.zeros(0, np.int64), xp.zeros(0))]
        numbers, ranks = (
            xp.concatenate(pieces) for pieces in zip(*(best_of_seeds or empty), strict=True)
        )
        if not part.halo.alone:
            size, rank = part.graph.comm.size, part.graph.comm.rank
            received = part.halo.exchange([[place, numbers, ranks]] * size)
            place, numbers, ranks = (
                xp.concatenate(pieces) for pieces in zip(*received, strict=True)
            )
            # Each rank takes a range of seeds, all of about equal length.
            low, high = (len(places) * bound // size for bound in (rank, rank + 1))
            mine = (place >= low) & (place < high)
            place, numbers, ranks = place[mine], numbers[mine], ranks[mine]
            keys = (numbers.astype(np.float64), -ranks, place.astype(np.float64))
            order = xp.lexsort(xp.stack(keys)) if len(place) else xp.arange(0)
            place, numbers, ranks = place[order], numbers[order], ranks[order]
            first = xp.searchsorted(place, place)  # the first row of each row's seed
            high_enough = xp.arange(len(place)) - first < self._top
            place, numbers, ranks = place[high_enough], numbers[high_enough], ranks[high_enough]
        seeds = xp.asarray(self._numbers[places])
        return seeds[place], numbers, ranks

    def _over_ranks(self, values: Array) -> Any:
        """Sum an array over all ranks, in their order; on the host."""
        own_sums = as_host(values)
        comm = self.near.part.graph.comm
        return own_sums if comm.size == 1 else np.sum(comm.allgather(own_sums.tolist()), axis=0)


def _refuse_tiny(graph: GraphView, weight: Array) -> None:
    """Refuse sums of out-weights that cannot be divided by; collective."""
    tiny = (weight > 0.0) & (weight < np.finfo(np.float64).tiny)
    if graph.any_rank(any_true(tiny)):
        raise InputError(
            "the weights out of a vertex have a sum too small to divide by; scale the weights up"
        )
