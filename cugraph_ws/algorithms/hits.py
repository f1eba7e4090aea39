"""HITS: hub and authority scores, by power iteration over the edges in both directions.

Where power iteration would need many supersteps, later ones follow the locally optimal method of
`cugraph_ws.algorithms.rayleigh_ritz`; the last superstep is always one of power iteration.
"""

from __future__ import annotations

import math
from contextlib import nullcontext
from typing import Any, ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from cugraph_ws.algorithms.eigenvector import check_start
from cugraph_ws.algorithms.footprints import ROWS
from cugraph_ws.algorithms.neighbourhood import ArrayLoop, Neighbourhood
from cugraph_ws.algorithms.options import (
    Columns,
    RunOptions,
    Weight,
    refuse_great,
    refuse_negative,
)
from cugraph_ws.algorithms.rayleigh_ritz import Improved, has_room
from cugraph_ws.algorithms.registry import algorithm
from cugraph_ws.arguments import check_count, check_flag, check_number
from cugraph_ws.backends import loops
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.driver import run_on
from cugraph_ws.execution.loop import Column, Step
from cugraph_ws.frames.types import FrameT
from cugraph_ws.frames.values import is_one_number, number_for_all
from cugraph_ws.graph.edges import AUTO
from cugraph_ws.graph.footprints import Sizes
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.runtime.arrays import as_host
from cugraph_ws.runtime.launch_times import is_profiled, note_bytes, note_rows
from cugraph_ws.runtime.looks import without_looks
from cugraph_ws.runtime.saved_state import SavedState

__all__ = ["HITS", "hits"]

Array = Any  # NumPy's or CuPy's

EARLIEST, EVERY = 16, 8  # supersteps before the first decision to accelerate, and between two
LEFT = 32  # supersteps that power iteration must still need, at the rate of the last two
FAILURES = 8  # of superstep that were to end the run, after which it ends by power iteration
IDLE = 128  # accelerated supersteps without a smaller residual, after which it does as well
GREATEST = 1e200  # sums of weights above which, and below whose inverse, products could overflow


@algorithm(
    group="centrality",
    columns="vertex, hubs, authorities",
    weights="read",
    note="Each sums to 1.",
)
@accepts_dask_frames
def hits(
    graph: Graph[FrameT] | FrameT,
    max_iter: int = 1000,
    tol: float = 1e-6,
    nstart: Any = None,
    normalized: bool = True,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = AUTO,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Compute hub and authority scores: hubs have edges to authorities, authorities edges from hubs.

    Parameters
    ----------
    tol : float
        The run ends when no hub score, of which the greatest is 1, changes by more than this in a
        superstep of power iteration.  Where that would take many supersteps, the locally optimal
        method [2]_ replaces most of them, unless `tol` is 0.
    nstart : frame, mapping, number or column name, optional
        First hub scores, 0 or more; by default all equal.
    normalized : bool
        Whether the hub scores, and the authority scores, sum to 1; otherwise the greatest of each is 1.

    Returns
    -------
    DataFrame
        Columns `vertex`, `hubs` and `authorities` (float64).  In a graph without edges all are 0.

    Raises
    ------
    InputError
        If the frame or an argument is invalid.
    ConvergenceError
        If `max_iter` or `timeout` is reached first; `.result` has the values so far.

    References
    ----------
    .. [1] J. M. Kleinberg, "Authoritative sources in a hyperlinked environment", Journal of the ACM
       46, 1999.
    .. [2] A. V. Knyazev, "Toward the optimal preconditioned eigensolver: locally optimal block
       preconditioned conjugate gradient method", SIAM Journal on Scientific Computing 23, 2001.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "b", "c"], "destination": ["b", "c", "d", "a"]})
    >>> ws.hits(edges).authorities.round(3).tolist()
    [0.0, 0.0, 0.5, 0.5]
    """
    result = run_on(
        HITS(max_iter, tol, nstart, normalized),
        as_graph(
            graph,
            source=source,
            destination=destination,
            weight=weight,
            directed=directed,
            weighted=True,
        ),
        **options,
    )
    return result.require_convergence("hits").frame


VALUE = 8  # bytes


class HITS(ArrayLoop):
    """The algorithm as a loop for `run`: a step computes the authorities, then the hubs.

    The iteration is on the product of the adjacency matrix and its transpose, which has no negative
    eigenvalues; so it converges on every graph, also on a bipartite one.  It is slow where the
    greatest eigenvalues are close together, as on grids and roads.  There, later supersteps improve
    the hubs by the locally optimal method, which also has one product with each matrix; their
    residual is an estimate of what a superstep of power iteration would change, and one of those
    ends the run.  Hubs may have negative entries in between, which are 0 in results.

    Parameters
    ----------
    max_iter : int
        Maximum number of supersteps.
    tol : float
        The run ends when no hub value changes by more than this in power iteration.
    nstart : frame, mapping, number or column name, optional
        First hub values.
    normalized : bool
        Whether the results sum to 1.

    Examples
    --------
    Not normalized, the best hub and the best authority have 1:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> sites = ["blog", "blog", "forum"], ["shop", "wiki", "wiki"]
    >>> links = pd.DataFrame({"source": sites[0], "destination": sites[1]})
    >>> result = ws.run(ws.HITS(normalized=False), links)
    >>> result.frame.hubs.round(3).tolist(), result.frame.authorities.round(3).tolist()
    ([1.0, 0.618, 0.0, 0.0], [0.0, 0.0, 0.618, 1.0])
    """

    name = "hits"
    reads_weights = True
    ends_within_steps = True  # in supersteps of power iteration on the host
    converged = False
    outputs: ClassVar = {"hubs": False, "authorities": False}
    saved: ClassVar = {"hubs": None, "authorities": None}

    def __init__(
        self,
        max_iter: int = 1000,
        tol: float = 1e-6,
        nstart: Any = None,
        normalized: bool = True,
    ) -> None:
        check_count("max_iter", max_iter)
        check_number("tol", tol, finite=True)
        check_flag("normalized", normalized)
        self.max_iter, self.tol, self._nstart, self._normalized = max_iter, tol, nstart, normalized

    @property
    def vertices_given(self) -> dict[str, Any]:
        """Arguments that contain vertices, by name; they are looked up before the run."""
        return {}

    def memory(self, sizes: Sizes) -> float:
        """Return the bytes that a run takes; see `footprints`."""
        return ROWS["hits"].of(sizes) + sizes.cast_weights

    def start(self, graph: GraphView, *, on_device: bool = False) -> None:
        """Read the weights and the first values."""
        refuse_negative(graph, "weights must be 0 or more: shift them, or give weight=None")
        refuse_great(graph, float(graph.number_of_arcs))
        nstart = 1.0 if self._nstart is None else self._nstart
        everywhere = is_one_number(nstart)
        if everywhere:
            self._first = np.full(1, number_for_all(nstart, "nstart", np.float64))
        else:
            self._first = as_host(graph.vertex_values(nstart, "nstart", np.float64)[0])
        check_start(graph, self._first)
        self.near = near = Neighbourhood(graph, on_device=on_device)
        if everywhere:
            self._hubs = near.xp.full(near.part.size, float(self._first[0]))
        else:
            self._hubs = near.part.with_ghosts(self._first[: near.part.owned])
        self._authorities = near.xp.zeros(near.part.size)
        if not on_device:
            _ = near.part.csr  # a run cannot end while the first step makes it
        self._queue: Any = None  # made by the first step: `restore` replaces the arrays
        self._products: Any = None  # likewise, for accelerated ones on one GPU
        self._improved: Improved | None = None  # while supersteps are accelerated
        self._checks = False  # whether the next superstep begins that, or is to end the run
        self._never = not self.tol  # whether supersteps are plain for good
        self._change = math.inf  # the last superstep's
        self._share = 1.0  # of `tol`: estimated change at which a plain superstep is to end the run
        self._failures = 0
        self.converged = near.part.graph.number_of_arcs == 0
        if self.converged:
            self._hubs[:] = 0.0

    def step(self) -> Step:
        """Compute authorities from hubs, and hubs from authorities; on one GPU a few times."""
        part = self.near.part
        accelerated = self._improved is not None and not self._checks
        queued = part.on_device and part.halo.alone
        with without_looks() if accelerated or self._checks or queued else nullcontext():
            if accelerated:
                changes = [self._accelerated()]
            elif self._checks:
                changes = [self._checked()]
            else:
                changes = self._queued() if queued else [self._superstep()[0]]
        self.done += len(changes)
        self.converged = not accelerated and changes[-1] <= (self.tol or 0.0)
        if not accelerated and self._improved is None:
            self._checks = self._is_slow(*([self._change, *changes][-2:]))
        self._change = changes[-1]
        graph = part.graph
        work = graph.number_of_vertices, 2 * graph.number_of_arcs
        return Step(
            *work,
            changes[-1],
            "gather",
            "all",
            bytes_sent=part.halo.totals(0)[1],
            residuals=changes,
            history=[work] * len(changes),
            extrapolated=accelerated,
        )

    def _superstep(self) -> tuple[float, float]:
        """Run a superstep of power iteration; collective.

        Returns
        -------
        change : float
            The greatest change of a hub value; infinite at first.
        scale : float
            What the product of both matrices was divided by.
        """
        near, weight = self.near, self.near.part.graph.weight
        before, owned = self._hubs[: near.part.owned].copy(), near.part.owned
        authorities = near.xp.zeros(near.part.size)
        sums = near.sums(self._hubs, "in", weight=weight)
        authorities[:owned], first = self._largest_one(sums)
        near.update(authorities)
        sums = near.sums(authorities, "out", weight=weight)
        self._authorities[:] = authorities  # after the last look
        self._hubs[:owned], second = self._largest_one(sums)
        near.update(self._hubs)
        change = near.part.graph.comm.allgather(
            float(abs(self._hubs[:owned] - before).max()) if owned else 0.0
        )
        return max(change) if self.done else math.inf, first * second

    def _queued(self) -> list[float]:
        """Run supersteps without ghosts on the GPU; return the changes, as `_superstep` does."""
        near, weight = self.near, self.near.part.graph.weight
        if self._queue is None:
            self._queue = loops("hits", on_device=True).QueuedSupersteps(
                near.folded("in", weight),
                near.folded("out", weight),
                self._hubs,
                self._authorities,
                tol=float(self.tol or 0.0),
                first=self.done == 0,
            )
        assert self.max_iter is not None
        most = max(1, min(self.max_iter - self.done, EVERY - self.done % EVERY))
        changes: list[float] = self._queue.run(most)
        for _ in changes if is_profiled() else ():
            self._note_products(vertex=2 * VALUE, written=2 * VALUE)  # scaled by the greatest
            note_bytes(VALUE * near.part.owned)  # hubs are compared with those before
        return changes

    def _note_products(self, *, vertex: float, written: float) -> None:
        """Note a product with each matrix, and bytes of each vertex besides."""
        near, weight = self.near, self.near.part.graph.weight
        for rows, _, weights in (near.folded("in", weight), near.folded("out", weight)):
            arc = VALUE * (1 + (weights is not None))
            note_rows(rows, arc=arc, vertex=vertex, written=written)

    # ------------------------------------------------------------------------------ acceleration

    def _is_slow(self, before: float, change: float) -> bool:
        """Return whether power iteration would need many more supersteps; the same on all ranks."""
        if self._never or self.converged or self.done < EARLIEST or self.done % EVERY:
            return False
        assert self.tol
        if not 0.0 < before < math.inf:
            return False
        rate = change / before
        return rate >= 1.0 or math.log(self.tol / change) < LEFT * math.log(rate)

    def _checked(self) -> float:
        """Run a superstep of power iteration, from which acceleration begins or goes on; collective."""
        near, owned = self.near, self.near.part.owned
        if self._improved is not None:
            self._hubs[:owned] = self._shown_hubs()
            near.update(self._hubs)
        before = self._hubs[:owned].copy()
        change, scale = self._superstep()
        tol = self.tol or 0.0
        self._checks = False
        if change <= tol:
            self._improved = None
            return change
        if self._improved is None:
            possible = has_room(near.part) and 1.0 / GREATEST < scale < GREATEST
            self._never = near.total(not possible) > 0
            if not self._never:
                self._products = None
                self._improved = Improved(near, self._hubs, scale)
        else:
            self._failures += 1
            self._never = self._never or self._failures > FAILURES
            self._share *= min(1.0, max(0.1, 0.9 * tol / change))
        if self._never:
            self._improved = None
        else:
            assert self._improved is not None
            image = self._hubs[:owned] * (scale / self._improved.scale)
            self._improved.begin(before, image)
        return change

    def _accelerated(self) -> float:
        """Run an accelerated superstep; return an estimate of what a plain one would have changed."""
        assert self._improved is not None
        change = self._improved.step(self._product)
        if change is None:
            self._improved.forget()
            self._checks = True
            return self._change
        self._never = self._improved.idle >= IDLE
        self._checks = self._never or change <= self._share * (self.tol or 0.0)
        return change

    def _product(self, values: Array) -> Array:
        """Multiply the residual by both matrices; the authorities are overwritten; collective."""
        near, weight = self.near, self.near.part.graph.weight
        if near.part.on_device and near.part.halo.alone:
            if self._products is None:
                self._products = loops("hits", on_device=True).Products(
                    near.folded("in", weight),
                    near.folded("out", weight),
                    values,
                    self._authorities,
                )
            if is_profiled():
                self._note_products(vertex=0, written=VALUE)
            return self._products()
        near.update(values)
        self._authorities[: near.part.owned] = near.sums(values, "in", weight=weight)
        near.update(self._authorities)
        return near.sums(self._authorities, "out", weight=weight)

    def _shown_hubs(self) -> Array:
        """Return owned hubs of which none is negative and the greatest is 1; collective."""
        hubs = self._hubs[: self.near.part.owned]
        ends = (float(hubs.max()), float(hubs.min())) if len(hubs) else (0.0, 0.0)
        greatest, least = zip(*self.near.part.graph.comm.allgather(ends), strict=True)
        top, bottom = max(greatest), min(least)
        if top < -bottom:
            hubs, top = -hubs, -bottom
        return self.near.xp.maximum(hubs, 0.0) / (top or 1.0)

    # ---------------------------------------------------------------------------- state and result

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return the scores, the vectors of accelerated supersteps, or zeros, and the counts."""
        part, improved = self.near.part, self._improved
        saved = super().state()
        for name in Improved.names:
            saved[name] = np.zeros(part.owned)
            if improved is not None:
                saved[name] = as_host(part.by_number(improved.vectors[name]))
        progress = (0.0, 0.0, 0.0, 0)
        if improved is not None:
            progress = improved.scale, improved.quotient, improved.least, improved.idle
        flags = improved is not None, self._checks, self._never and bool(self.tol)
        return {
            **saved,
            "flags": np.array(flags, np.bool_),
            "figures": np.array([self._change, self._share, self._failures, *progress], np.float64),
        }

    @property
    def by_vertex_state(self) -> tuple[str, ...]:
        """Names of the arrays of `state` with an entry for each owned vertex."""
        return *super().by_vertex_state, *Improved.names

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse a state that this run cannot have saved; not collective."""
        super().check(state, graph)
        for name in Improved.names:
            state.floats(name, graph.owned)
        accelerated = state.flags("flags", 3)[0]
        _, _, failures, scale, quotient, _, idle = state.floats("figures", 7, 0.0)
        counted = np.isfinite([failures, idle]).all()
        state.require("figures", counted, "counts supersteps without an end")
        state.require("figures", not accelerated or (scale > 0.0 and quotient > 0.0), "has a 0")

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Resume from what `state` returned."""
        super().restore(state)
        part = self.near.part
        accelerated, self._checks, self._never = map(bool, state["flags"].tolist())
        self._change, self._share, failures, scale, quotient, least, idle = state[
            "figures"
        ].tolist()
        self._failures = int(failures)
        if not self.tol:  # unlike that of the run which wrote the checkpoint
            self._never, self._checks = True, accelerated
        if accelerated:
            self._improved = Improved(self.near, self._hubs, scale)
            self._improved.quotient, self._improved.least = quotient, least
            self._improved.idle = int(idle)
            for name, vector in self._improved.vectors.items():
                vector[:] = part.with_ghosts(state[name])
        elif self.done:
            self.converged = self._change <= (self.tol or 0.0)

    def inputs(self) -> dict[str, Any]:
        """Return the first values."""
        return {"nstart": self._first}

    def columns(self) -> dict[str, Column]:
        """Return hubs and authorities of owned vertices; collective."""
        near = self.near
        scores_by_vertex: dict[str, Any] = super().columns()
        if self._improved is not None:
            hubs = near.xp.zeros(near.part.size)
            hubs[: near.part.owned] = self._shown_hubs()
            near.update(hubs)
            sums = near.sums(hubs, "in", weight=near.part.graph.weight)
            scores = {"hubs": hubs, "authorities": self._largest_one(sums)[0]}
            scores_by_vertex = {
                name: near.part.by_number(values) for name, values in scores.items()
            }
        if not self._normalized:
            return scores_by_vertex
        comm = near.part.graph.comm
        totals = {
            name: sum(comm.allgather(float(values.sum())))
            for name, values in scores_by_vertex.items()
        }
        return {name: values / (totals[name] or 1.0) for name, values in scores_by_vertex.items()}

    def _largest_one(self, own: Array) -> tuple[Array, float]:
        """Scale values so that the greatest on all ranks is 1; return it, too; collective."""
        of_ranks = self.near.part.graph.comm.allgather(float(own.max()) if len(own) else 0.0)
        greatest = max(of_ranks) or 1.0
        return own / greatest, greatest
