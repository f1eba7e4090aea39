"""Peeling on the CPU; see `cugraph_ws.algorithms.core`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.graph.adjacency import Adjacency
from cugraph_ws.kernels.cpu.core import add_degrees, lower_rows, peel
from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.threads import cut_offsets, number_of_threads, parallel

__all__ = ["Peeler", "count_degrees"]

Array = npt.NDArray[Any]

WORK_A_STEP = 1 << 20  # arcs
UNLIMITED = np.iinfo(np.int64).max
ARCS_A_TASK = 1 << 16


def count_degrees(part: Part, dtype: Any, *, incoming: bool, outgoing: bool) -> Array:
    """Count the arcs into and out of owned vertices, self-loops left out; collective.

    Parameters
    ----------
    part : Part
    dtype : dtype
    incoming, outgoing : bool
        Which arcs count.

    Returns
    -------
    ndarray of `dtype`, shape (size,), by position
        Entries of ghosts are undefined.
    """
    degrees = np.zeros(part.size, dtype)
    if outgoing:
        _add_degrees(part.csr, degrees)
        part.halo.reduce(degrees)  # each rank has some of the arcs out of a vertex
    if incoming:
        _add_degrees(part.csc, degrees)
    return degrees


def _add_degrees(rows: Adjacency, degrees: Array) -> None:
    pieces = min(4 * number_of_threads(), 1 + rows.number_of_arcs // ARCS_A_TASK)
    cuts = cut_offsets(rows.offsets, pieces)
    parallel(add_degrees, [(rows.offsets, rows.indices, degrees, *cut) for cut in cuts])


class Peeler:
    """Removes vertices from the degrees of their neighbours.

    Parameters
    ----------
    part : Part
    rows : list of Adjacency
        One or two: the neighbours in whose degree each vertex counts.
    """

    def __init__(self, part: Part, rows: list[Adjacency]) -> None:
        first, second = rows[0], rows[-1]
        more = second.indices if len(rows) > 1 else second.indices[:0]
        self._adjacency = first.offsets, first.indices, second.offsets, more
        self._queue = np.empty(part.size + 1, part.index)

    def peel_levels(
        self, core: Array, alive: Array, level: int, waiting: Array
    ) -> tuple[Array, int, Array, int, int]:
        """Peel level after level until the budget of arcs is read, perhaps in the middle of a level.

        Parameters
        ----------
        core : ndarray of int, shape (size,)
            Degrees among the vertices that are left; lowered.
        alive : ndarray of int
            The vertices that are left, and perhaps some that have been peeled; overwritten.
        level : int
            The last level that was begun.
        waiting : ndarray of int
            Vertices that have reached it, but whose neighbours' degrees are not lowered yet.

        Returns
        -------
        alive, level, waiting
            The new values of the arguments; the last is valid until the next call.
        reached, read : int
            Vertices that have reached a level, and arcs.
        """
        alive, queue = alive.astype(self._queue.dtype, copy=False), self._queue
        queue[: len(waiting)] = waiting
        count, level, place, size, reached, read = peel(
            self._adjacency, core, alive, len(alive), queue, len(waiting), level, WORK_A_STEP
        )
        return alive[:count], level, queue[place:size], reached, read

    def peel(self, core: Array, listed: Array, level: int) -> Array:
        """Peel vertices that have fallen to a level, and those that fall to it as a result.

        Parameters
        ----------
        core : ndarray of int, shape (size,)
        listed : ndarray of int
            Vertices of degree `level`.
        level : int

        Returns
        -------
        ndarray of int64, shape (2,)
            Vertices that were peeled, and arcs read.
        """
        count, queue = len(listed), self._queue
        queue[:count] = listed
        # No other vertex is listed, so the kernel ends after this level.
        *_, reached, read = peel(
            self._adjacency, core, queue[:0], 0, queue, count, level, UNLIMITED
        )
        return np.array([count + reached, read], np.int64)

    def take_out(
        self,
        core: Array,
        alive: Array,
        peeled_ghosts: Array,
        reports: Sequence[tuple[Array, Array]],
        level: int,
    ) -> tuple[Array, int]:
        """Lower degrees by the neighbours that other ranks have peeled; peel no vertex.

        Parameters
        ----------
        core : ndarray of int, shape (size,)
        alive : ndarray of int
            Owned vertices above the level, and perhaps some that have been peeled.
        peeled_ghosts : ndarray of int
            Ghosts that have been peeled.
        reports : sequence of (positions, losses)
            Losses in degree of owned vertices, by other ranks' peeling.
        level : int

        Returns
        -------
        fallen : ndarray of int
            Owned vertices that have fallen to the level.
        read : int
            Arcs.
        """
        size, read = lower_rows(*self._adjacency[:2], peeled_ghosts, core, level, self._queue)
        fallen = [self._queue[:size].copy()]
        for places, losses in reports:
            open_ = core[places] > level  # the others keep their core numbers
            still_open = places[open_]
            core[still_open] = np.maximum(core[still_open] - losses[open_], level)
            fallen.append(still_open[core[still_open] == level])
        return np.concatenate(fallen), read
