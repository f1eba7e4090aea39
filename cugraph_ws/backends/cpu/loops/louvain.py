"""Moves of vertices between communities on the CPU; see `cugraph_ws.algorithms.louvain`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.louvain import (
    apply_moves,
    choose_communities,
    list_movable,
    mark_near_moved,
    move_classes,
    weight_inside,
)
from cugraph_ws.runtime.threads import cut_offsets, number_of_threads, parallel

__all__ = ["Mover", "near_moved", "sum_by", "sum_inside"]

Integers = npt.NDArray[np.int64]
Rows = tuple[Integers, Integers, Integers]

ARCS_A_TASK = 1 << 14


def sum_by(labels: Integers, values: Integers, count: int) -> Integers:
    """Return the sum of the values of each label.

    Parameters
    ----------
    labels, values : ndarray of int64, shape (vertices,)
    count : int
        Labels are below it.

    Returns
    -------
    ndarray of int64, shape (count,)
    """
    sums = np.zeros(count, np.int64)
    np.add.at(sums, labels, values)
    return sums


def sum_inside(rows: Rows, sources: Integers, labels: Integers) -> int:
    """Return the sum of the weights of arcs whose ends have the same label.

    Parameters
    ----------
    rows : tuple of (offsets, indices, weights)
    sources : ndarray of int64, shape (arcs,)
    labels : ndarray of int64, shape (vertices,)
    """
    return int(sum(parallel(weight_inside, [(rows, labels, *cut) for cut in _cuts(rows)])))


def near_moved(
    rows: Rows, sources: Integers, before: Integers, labels: Integers
) -> npt.NDArray[np.bool_]:
    """Mark the neighbours, in other communities, of vertices that have moved.

    Parameters
    ----------
    rows : tuple of (offsets, indices, weights)
    sources : ndarray of int64, shape (arcs,)
    before, labels : ndarray of int64, shape (vertices,)

    Returns
    -------
    ndarray of bool, shape (vertices,)
    """
    offsets, indices, _ = rows
    called = np.zeros(len(labels), np.bool_)
    tasks = [(offsets, indices, before, labels, called, *cut) for cut in _cuts(rows)]
    parallel(mark_near_moved, tasks)
    return called


def _cuts(rows: Rows) -> list[tuple[int, int]]:
    """Return ranges of vertices for tasks."""
    return cut_offsets(rows[0], min(4 * number_of_threads(), 1 + len(rows[1]) // ARCS_A_TASK))


class Mover:
    """Moves the vertices of a level, class after class.

    Parameters
    ----------
    rows : tuple of (offsets, indices, weights)
        Neighbours of each vertex without itself; int64.
    degrees : ndarray of int64, shape (vertices,)
    """

    def __init__(self, rows: Rows, degrees: Integers) -> None:
        self._rows, self._degrees = rows, degrees
        self._scratch: list[tuple[Integers, Integers]] = []  # what no thread uses now

    def move(
        self,
        communities: tuple[Integers, Integers, Integers],
        factor: float,
        order: Integers,
        ends: list[int],
        *,
        may: Integers | None = None,
    ) -> int:
        """Let classes of vertices move, and return how many did.

        Parameters
        ----------
        communities : tuple of (labels, totals, sizes)
            By vertex; by community: sum of degrees, and number of vertices.  Updated.
        factor : float
            See `kernels.cpu.louvain.choose_communities`.
        order : ndarray of int64, shape (vertices,)
            The vertices of the first class, then of the second, and so on.
        ends : list of int
            Where each class ends.
        may : ndarray of int64, shape (vertices,), optional
            Which vertices may move: only those that are alone, and none to another that may.
        """
        labels, totals, sizes = communities
        strict = may is not None
        marks = np.zeros(len(sizes), np.int64) if strict else sizes
        allowed = marks if may is None else may
        if number_of_threads() == 1 or len(self._rows[1]) <= ARCS_A_TASK * len(ends):
            with self._room() as scratch:
                return int(
                    move_classes(
                        self._rows, self._degrees, communities, marks, allowed, factor, strict,
                        order, np.array(ends, np.int64), scratch,
                    )
                )  # fmt: skip
        moved, first, listed = 0, 0, np.empty(len(order), np.int64)
        for end in ends:
            members = order[first:end]
            if strict:
                members = listed[: list_movable(communities, marks, allowed, members, listed)]
            chosen = self._choose((labels, totals, marks), factor, members, strict=strict)
            moved += apply_moves(self._degrees, communities, marks, strict, members, chosen)
            first = end
        return int(moved)

    def _choose(
        self, communities: Rows, factor: float, listed: Integers, *, strict: bool
    ) -> Integers:
        """Choose communities for a class, in several threads."""
        rows, chosen = self._rows, np.empty(len(listed), np.int64)
        offsets: Any = np.zeros(len(listed) + 1, np.int64)
        np.cumsum(rows[0][listed + 1] - rows[0][listed], out=offsets[1:])
        pieces = min(4 * number_of_threads(), 1 + int(offsets[-1]) // ARCS_A_TASK)

        def choose(low: int, high: int) -> None:
            with self._room() as scratch:
                choose_communities(
                    rows, self._degrees, communities, factor, strict, listed, chosen, scratch, low,
                    high,
                )  # fmt: skip

        parallel(choose, cut_offsets(offsets, pieces))
        return chosen

    @contextmanager
    def _room(self) -> Iterator[tuple[Integers, Integers]]:
        """Lend a thread the arrays that `choose_communities` needs."""
        try:
            scratch = self._scratch.pop()
        except IndexError:  # other threads have all there are
            size = len(self._degrees)
            scratch = np.zeros(size, np.int64), np.empty(size, np.int64)
        yield scratch
        self._scratch.append(scratch)
