"""Triangles on the CPU; see `cugraph_ws.algorithms.triangles`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.triangles import count_triangles, support_edges, weigh_triangles
from cugraph_ws.partition.neighbourhoods import NeighbourRows
from cugraph_ws.partition.oriented import Heads, Oriented
from cugraph_ws.runtime.looks import look
from cugraph_ws.runtime.threads import number_of_threads, parallel

__all__ = ["Lister"]

Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]

TASKS_A_THREAD = 16  # ranges of the pivots, so that no thread waits for long
PIVOTS_A_TASK = 1 << 8  # at least
OF_THREADS = 64  # most bytes that threads take for marks and sums, for each arc: less than making the rows took
MOST_A_TASK = 1 << 25  # of the cost of a range: a run may end between two


class Lister:
    """Lists triangles; each thread has marks and sums of its own.

    Parameters
    ----------
    oriented : Oriented
    """

    def __init__(self, oriented: Oriented) -> None:
        self._oriented = oriented

    def count(self, heads: Heads, pivots: Integers, counts: Integers) -> int:
        """Count the triangles of each vertex whose least vertex is a pivot.

        In a directed graph, the directions of the edge opposite to the vertex are counted.

        Parameters
        ----------
        heads : Heads
            Only triangles whose middle vertex has a row here are found.
        pivots : array of int64
            Labels of owned vertices.
        counts : array of int64, shape (size,)
            By label; added to.

        Returns
        -------
        int
            Number of arcs read.
        """
        rows, head_rows = _arrays(self._oriented.rows), _arrays(heads.rows)
        kernel: Any = count_triangles if self._oriented.rows.values is None else weigh_triangles
        kind: Any = (
            self._oriented.rows.indices.dtype if self._oriented.rows.values is None else np.int64
        )
        threads = self._threads(pivots, (8 + np.dtype(kind).itemsize) * len(counts))
        sums = [np.zeros(len(counts), np.int64) for _ in range(threads)]

        def prepare(sum_: Array) -> Callable[[Integers], int]:
            marks = np.full(len(counts), -1, kind)
            return lambda some: int(kernel(*rows, *head_rows, some, marks, sum_))

        read = _shared_out(
            self._oriented.rows, pivots, [prepare(thread_sums) for thread_sums in sums]
        )
        for thread_sums in sums:
            counts += thread_sums
        return read

    def support(
        self, heads: Heads, pivots: Integers, supports: Integers, head_supports: Integers
    ) -> int:
        """Count the triangles of each edge whose least vertex is a pivot.

        Parameters
        ----------
        heads, pivots
            See `count`.
        supports : array of int64, shape (arcs,)
            By arc of the oriented rows; added to.
        head_supports : array of int64
            By arc of `heads.rows`; added to.  The same array if those are the oriented rows.

        Returns
        -------
        int
            Number of arcs read.
        """
        arrays = (*_arrays(self._oriented.rows)[:2], *_arrays(heads.rows)[:2])
        kernel: Any = support_edges
        same = head_supports is supports
        sums = []
        each = 8 * (len(supports) + self._oriented.size + (0 if same else len(head_supports)))
        for _ in range(self._threads(pivots, each)):
            own_sums = np.zeros(len(supports), np.int64)
            sums.append((own_sums, own_sums if same else np.zeros(len(head_supports), np.int64)))

        def prepare(own_sums: Array, theirs: Array) -> Callable[[Integers], int]:
            places = np.full(self._oriented.size, -1, np.int64)
            return lambda some: int(kernel(*arrays, some, places, own_sums, theirs))

        read = _shared_out(
            self._oriented.rows, pivots, [prepare(*thread_sums) for thread_sums in sums]
        )
        for own_sums, theirs in sums:
            supports += own_sums
            if not same:
                head_supports += theirs
        return read

    def _threads(self, pivots: Integers, each: int) -> int:
        """Return how many threads share some pivots, given the bytes that each takes."""
        fit = OF_THREADS * len(self._oriented.rows.indices) // max(1, each)
        return max(1, min(number_of_threads(), 1 + len(pivots) // PIVOTS_A_TASK, fit))


def _arrays(rows: NeighbourRows) -> tuple[Array, ...]:
    return (rows.offsets, rows.indices, *([] if rows.values is None else [rows.values]))


def _shared_out(
    rows: NeighbourRows, pivots: Integers, workers: list[Callable[[Integers], int]]
) -> int:
    """Let workers take ranges of the pivots until none is left; return the sum of the results.

    A range has neighbouring pivots, so that rows are read one after the other; the cost of a pivot is
    taken to be the square of its row's length.
    """
    lengths = rows.offsets[pivots + 1] - rows.offsets[pivots]
    costs = np.concatenate([[0], np.cumsum(1 + lengths * lengths)])
    pieces = TASKS_A_THREAD * len(workers) if len(workers) > 1 else 1
    pieces = max(pieces, int(costs[-1]) // MOST_A_TASK)
    bounds = np.searchsorted(costs, np.linspace(0, costs[-1], pieces + 1)).tolist()
    bounds[0], bounds[-1] = 0, len(pivots)
    numbers = iter(range(pieces))  # next() on a range iterator is atomic under the GIL

    def work(worker: Callable[[Integers], int]) -> int:
        read = 0
        for number in numbers:
            look()
            read += worker(pivots[bounds[number] : bounds[number + 1]])
        return read

    return sum(parallel(work, [(worker,) for worker in workers]))
