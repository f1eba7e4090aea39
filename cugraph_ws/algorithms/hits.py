"""HITS: hub and authority scores, by power iteration over the edges in both directions."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Unpack

import numpy as np

from cugraph_ws.algorithms.eigenvector import check_start
from cugraph_ws.algorithms.neighbourhood import ArrayLoop, Neighbourhood
from cugraph_ws.algorithms.options import (
    Columns,
    RunOptions,
    Weight,
    refuse_great,
    refuse_negative,
)
from cugraph_ws.arguments import check_count, check_flag, check_number
from cugraph_ws.backends import loops
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.loop import Column, Step
from cugraph_ws.execution.run import run
from cugraph_ws.frames.types import FrameT
from cugraph_ws.frames.values import is_one_number, number_for_all
from cugraph_ws.graph.columns import AUTO
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.runtime.device import as_host

__all__ = ["HITS", "hits"]

Array = Any  # NumPy's or CuPy's


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
    graph : Graph or DataFrame
        The graph, or an edge frame.
    max_iter : int
        Maximum number of supersteps.
    tol : float
        The run ends when no hub score changes by more than this.
    nstart : frame, mapping, number or column name, optional
        First hub scores, 0 or more; by default all equal.
    normalized : bool
        Whether the hub scores, and the authority scores, sum to 1; otherwise the greatest of each is 1.
    source, destination : str or list of str
        Id columns of an edge frame.
    weight : str or None
        Weight column of an edge frame, 0 or more; by default the column named `weight`, if there
        is one. None for no weights.
    directed : bool
        Whether the edges of an edge frame are directed.
    **options
        engine, progress, timeout, checkpoint, every, resume: see `run`.

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
    """
    result = run(
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


class HITS(ArrayLoop):
    """The algorithm as a loop for `run`: a step computes the authorities, then the hubs.

    The iteration is on the product of the adjacency matrix and its transpose, which has no negative
    eigenvalues; so it converges on every graph, also on a bipartite one.

    Parameters
    ----------
    max_iter : int
        Maximum number of supersteps.
    tol : float
        The run ends when no hub value changes by more than this.
    nstart : frame, mapping, number or column name, optional
        First hub values.
    normalized : bool
        Whether the results sum to 1.
    """

    name = "hits"
    reads_weights = True
    outputs: ClassVar = {"hubs": False, "authorities": False}
    kept: ClassVar = {"hubs": None, "authorities": None}

    def __init__(
        self,
        max_iter: int = 1000,
        tol: float = 1e-6,
        nstart: Any = None,
        normalized: bool = True,
    ) -> None:
        check_count("max_iter", max_iter)
        check_number("tol", tol)
        check_flag("normalized", normalized)
        self.max_iter, self.tol, self._nstart, self._normalized = max_iter, tol, nstart, normalized

    @property
    def vertices_given(self) -> dict[str, Any]:
        """Arguments that contain vertices, by name; they are looked up before the run."""
        return {}

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
        self._queue: Any = None  # made by the first step: `restore` replaces the arrays
        self.converged = near.part.graph.number_of_arcs == 0
        if self.converged:
            self._hubs[:] = 0.0

    def step(self) -> Step:
        """Compute authorities from hubs, and hubs from authorities; on one GPU a few times."""
        part = self.near.part
        changes = self._queued() if part.on_device and part.halo.alone else [self._superstep()]
        self.done += len(changes)
        self.converged = changes[-1] <= (self.tol or 0.0)
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
        )

    def _superstep(self) -> float:
        """Run a superstep; return the greatest change of a hub value, infinite at first; collective."""
        near, weight = self.near, self.near.part.graph.weight
        before, owned = self._hubs[: near.part.owned].copy(), near.part.owned
        self._authorities[:owned] = self._largest_one(near.sums(self._hubs, "in", weight=weight))
        near.update(self._authorities)
        self._hubs[:owned] = self._largest_one(near.sums(self._authorities, "out", weight=weight))
        near.update(self._hubs)
        change = near.part.graph.comm.allgather(
            float(abs(self._hubs[:owned] - before).max()) if owned else 0.0
        )
        return max(change) if self.done else math.inf

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
        changes: list[float] = self._queue.run(max(1, self.max_iter - self.done))
        return changes

    def inputs(self) -> dict[str, Any]:
        """Return the first values."""
        return {"nstart": self._first}

    def columns(self) -> dict[str, Column]:
        """Return hubs and authorities of owned vertices; collective."""
        found: dict[str, Any] = super().columns()
        if not self._normalized:
            return found
        comm = self.near.part.graph.comm
        totals = {name: sum(comm.allgather(float(one.sum()))) for name, one in found.items()}
        return {name: one / (totals[name] or 1.0) for name, one in found.items()}

    def _largest_one(self, own: Array) -> Array:
        """Scale values so that the greatest on all ranks is 1; collective."""
        of_ranks = self.near.part.graph.comm.allgather(float(own.max()) if len(own) else 0.0)
        return own / (max(of_ranks) or 1.0)
