"""Walks on the CPU; see `cugraph_ws.execution.walk_loop`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.backends.cpu.context import running
from cugraph_ws.backends.cpu.loops.sampling import sums_of
from cugraph_ws.graph.view import GraphView
from cugraph_ws.program.plain_walk import PlainWalk
from cugraph_ws.program.walk_binding import BoundWalk
from cugraph_ws.program.walk_codegen import compiled_walk
from cugraph_ws.runtime.threads import cut_evenly, number_of_tasks, parallel, serial

__all__ = ["STEPS_AT_ONCE", "Walkers"]

Array = npt.NDArray[Any]

STEPS_AT_ONCE = 1 << 22  # of all walkers
LEAST, MOST = 1 << 10, 1 << 16  # steps of a task


class Walkers:
    """The walkers of a run, which take steps.

    Parameters
    ----------
    bound : BoundWalk
    graph : GraphView
    starts : array of int64, shape (walkers,)
        Vertex numbers.
    length : int
        Most steps of a walk.
    seed : int
    plain : bool
        Whether the user's function is executed as plain Python.

    Attributes
    ----------
    paths : array of int, shape (length + 1, walkers)
        Vertex numbers; -1 once a walk has ended.
    """

    def __init__(
        self,
        bound: BoundWalk,
        graph: GraphView,
        starts: Array,
        length: int,
        seed: int,
        *,
        plain: bool = False,
    ) -> None:
        self._program, self._plain = bound.program, plain
        self._module: Any = PlainWalk(bound) if plain else compiled_walk(bound.program, bound.types)
        csr = graph.csr
        self.paths = np.full((length + 1, len(starts)), -1, csr.indices.dtype)
        self.paths[0] = starts
        self._arcs = np.full(len(starts), -1, np.int64)
        self._beyond = np.zeros(1, np.int64)
        named = dict(zip(bound.program.edges, bound.columns, strict=True))
        self._head = (
            (csr.offsets, csr.indices, np.int64(graph.number_of_vertices)),
            tuple(graph.edge_values(column, "csr") for column in bound.columns),
            tuple(_sums(graph, named[column]) for column in bound.program.weights),
            bound.values, np.int64(seed), self.paths, self._arcs, self._beyond,
        )  # fmt: skip

    def advance(self, walkers: range, steps: range) -> int:
        """Let some walkers take some steps, which follow those they have taken.

        Parameters
        ----------
        walkers, steps : range

        Returns
        -------
        int
            Number of edges taken.
        """
        some = (np.int64(steps.start), np.int64(steps.stop))
        pieces = number_of_tasks(len(walkers) * len(steps), LEAST, MOST)
        cuts = cut_evenly(len(walkers), pieces)
        tasks = [
            (*self._head, *some, walkers.start + low, walkers.start + high) for low, high in cuts
        ]
        run = serial if self._plain else parallel
        with running(self._program):
            return sum(run(self._module.advance, tasks))

    @property
    def beyond(self) -> bool:
        """Whether a walk has read or returned an edge that is not there."""
        return bool(self._beyond[0])


def _sums(graph: GraphView, column: str) -> Array:
    """Return the running sums of a column's values within rows, which are kept with the graph."""
    key = f"sums of {column} in rows"
    if key not in graph.derived:
        graph.derived[key] = sums_of(graph.csr.offsets, graph.edge_values(column, "csr"))
    kept: Array = graph.derived[key]
    return kept
