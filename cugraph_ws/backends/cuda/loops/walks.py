"""Walks on the GPU; see `cugraph_ws.execution.walk_loop`.

Arguments and results are as in `cugraph_ws.backends.cpu.loops.walks`, but on the device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.backends.cuda.walk_codegen import walk_kernels
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.neighbourhoods import row_numbers
from cugraph_ws.partition.part import Part
from cugraph_ws.program.walk_binding import BoundWalk
from cugraph_ws.runtime.device import device

__all__ = ["STEPS_AT_ONCE", "Walkers"]

Array = Any  # CuPy's

STEPS_AT_ONCE = 1 << 26  # of all walkers
BLOCK = 128


class Walkers:
    """The walkers of a run, which take steps.

    Parameters
    ----------
    bound : BoundWalk
    graph : GraphView
    starts : array of int64, shape (walkers,)
    length, seed : int
    plain : bool
        Must be False: plain Python does not run on a GPU.
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
        assert not plain
        gpu, xp = device(), device().xp
        self._kernels = walk_kernels(gpu, bound.program, bound.types)
        rows = _Rows(graph)
        self.paths = xp.full((length + 1, len(starts)), -1, rows.indices.dtype)
        self.paths[0] = starts
        self._arcs = xp.full(len(starts), -1, np.int64)
        self._beyond = xp.zeros(1, np.int64)
        named = dict(zip(bound.program.edges, bound.columns, strict=True))
        self._head = (
            (rows.offsets, rows.indices, np.int64(graph.number_of_vertices)),
            tuple(map(rows.values, bound.columns)),
            tuple(rows.sums(named[column]) for column in bound.program.weights),
            bound.values, np.int64(seed), self.paths.reshape(-1), self._arcs, self._beyond,
            np.int64(len(starts)),
        )  # fmt: skip

    def advance(self, walkers: range, steps: range) -> int:
        """Let some walkers take some steps, which follow those they have taken."""
        bounds = (steps.start, steps.stop, walkers.start, walkers.stop)
        blocks = device().blocks_for(len(walkers), BLOCK)
        self._kernels.launch("advance", blocks, BLOCK, *self._head, *map(np.int64, bounds))
        after = self.paths[steps.start + 1 : steps.stop + 1, walkers.start : walkers.stop]
        return int((after >= 0).sum())

    @property
    def beyond(self) -> bool:
        """Whether a walk has read or returned an edge that is not there."""
        return bool(int(self._beyond[0]))


class _Rows:
    """Rows of out-edges by vertex number, in the order of the destinations' numbers.

    The graph's own rows are by position, in which vertices are sorted by degree.  What is made of them is kept
    with the graph.

    Parameters
    ----------
    graph : GraphView
    """

    def __init__(self, graph: GraphView) -> None:
        self._kept, self._part = graph.derived, Part(graph, on_device=True)
        made = self._kept.get("rows by number")
        if made is None:
            made = self._kept["rows by number"] = self._made()
        self.offsets, self.indices, self._order = made.arrays

    def _made(self) -> _Kept:
        """Sort the arcs by the numbers of their sources, then of their destinations."""
        part, xp = self._part, self._part.xp
        rows = part.csr
        sources = xp.take(part.numbers, row_numbers(xp, rows.offsets, len(rows.indices)))
        destinations = xp.take(part.numbers, rows.indices)
        # Sorts are stable, so parallel edges stay in the order of the frame.
        order = xp.argsort(destinations, kind="stable")
        order = order[xp.argsort(xp.take(sources, order), kind="stable")]
        offsets = xp.zeros(part.size + 1, np.int64)
        offsets[1:] = xp.cumsum(part.by_number(xp.diff(rows.offsets)))
        indices = xp.take(destinations, order).astype(rows.indices.dtype)
        return _Kept(offsets, indices, order)

    def values(self, column: str) -> Array:
        """Return an edge column in the order of the rows."""
        xp = self._part.xp
        return self._recall(
            f"{column} by number",
            lambda: xp.take(self._part.arc_values(column, "csr"), self._order),
        )

    def sums(self, column: str) -> Array:
        """Return the running sums of a column's values within rows."""
        return self._recall(f"sums of {column} by number", lambda: self._summed(column))

    def _summed(self, column: str) -> Array:
        gpu, values, rows = device(), self.values(column), len(self.offsets) - 1
        sums = gpu.xp.empty(len(values), np.float64)
        if rows:
            gpu.module("running_sums").launch(
                "sum_rows",
                gpu.blocks_for(rows, BLOCK),
                BLOCK,
                self.offsets,
                values,
                sums,
                np.int64(rows),
            )
        return sums

    def _recall(self, key: str, make: Any) -> Array:
        """Return an array that is kept with the graph, made when first needed."""
        if key not in self._kept:
            self._kept[key] = _Kept(make())
        return self._kept[key].arrays[0]


class _Kept:
    """Arrays that are kept with a graph, and their bytes."""

    def __init__(self, *arrays: Array) -> None:
        self.arrays = arrays
        self.nbytes = sum(int(array.nbytes) for array in arrays)
