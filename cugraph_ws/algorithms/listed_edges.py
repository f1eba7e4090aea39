"""Loops with a single step that list every edge once and choose some of the edges."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from cugraph_ws.algorithms.neighbourhood import ArrayLoop, Neighbourhood, row_of_arcs
from cugraph_ws.algorithms.options import RunOptions
from cugraph_ws.backends import loops
from cugraph_ws.execution.driver import run_on
from cugraph_ws.execution.loop import Step
from cugraph_ws.graph.view import GraphView
from cugraph_ws.runtime.looks import look

__all__ = ["ListedEdges"]

Array = Any  # NumPy's or CuPy's


class ListedEdges(ArrayLoop):
    """Base of these loops for `run`; a subclass has `step`, which returns `self.end(…)`."""

    checkpoints = "none"
    ends_within_steps = True
    outputs: ClassVar[dict[str, bool]] = {}
    saved: ClassVar[dict[str, Any]] = {}
    converged = False
    name: str
    _finish: Any = None  # called with the arguments of `end`

    def start(self, graph: GraphView, *, on_device: bool = False) -> None:
        """Read the edges."""
        self.near = Neighbourhood(graph, on_device=on_device)
        self.lower = loops("jumps", on_device=on_device).lower

    @abstractmethod
    def step(self) -> Step:
        """Find the edges."""

    def found(self, graph: GraphView, name: str, options: RunOptions) -> tuple[Any, ...]:
        """Run the loop; return the part and the arguments of `end`; collective.

        Parameters
        ----------
        graph : GraphView
        name : str
            The function, for errors.
        options : dict
            Options of `run`.

        Returns
        -------
        part : Part
        arcs : array of int64
        *others
        total : int
        """
        results: list[tuple[Any, ...]] = []
        self._finish = lambda *result: results.append(result)
        run_on(self, graph, **options).require_convergence(name)
        return results[0]

    def edges_once(self) -> tuple[Array, Array, Array, Array, Array]:
        """List every edge once, except self-loops.

        Returns
        -------
        arcs, tail, head, one, other : array of int64, shape (edges,)
            Index in the CSC, positions of both ends, and vertex numbers of both ends.
        """
        part, xp = self.near.part, self.near.xp
        directed, tail, head = part.graph.directed, part.csc.indices, row_of_arcs(part)
        look()
        # An undirected edge is two arcs; its arc to the greater vertex is taken.
        if part.numbers_are_positions:
            arcs = xp.flatnonzero(tail != head if directed else tail < head)
            look()
            tail = tail[arcs].astype(np.int64)
            look()
            head = head[arcs]
            return arcs, tail, head, tail, head
        tail = tail.astype(np.int64)
        tails, heads = part.numbers[tail].astype(np.int64), part.numbers[head].astype(np.int64)
        arcs = xp.flatnonzero(tails != heads if directed else tails < heads)
        return arcs, tail[arcs], head[arcs], tails[arcs], heads[arcs]

    def of_all_ranks(self, *columns: Array) -> tuple[list[Array], int]:
        """Return columns of all ranks' edges, and the index of this rank's first edge; collective."""
        part, xp = self.near.part, self.near.xp
        comm = part.graph.comm
        received = part.halo.exchange([list(columns)] * comm.size)
        first = sum(len(columns_of_rank[0]) for columns_of_rank in received[: comm.rank])
        return [xp.concatenate(column) for column in zip(*received, strict=True)], first

    def end(self, arcs: Array, *values: Any, count: int = 0) -> Step:
        """End the loop with this rank's chosen arcs and other results; collective.

        `count` is summed over the ranks.
        """
        part = self.near.part
        total, bytes_sent = part.halo.totals(count)
        self.converged, self.done = True, 1
        if self._finish is not None:
            self._finish(part, arcs, *values, total)
        read = part.graph.number_of_arcs
        return Step(0, read, direction="link", filter="all", bytes_sent=bytes_sent)
