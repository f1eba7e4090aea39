"""Moves of vertices between communities on the CPU; see `cugraph_ws.algorithms.louvain`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cugraph_ws.backends.cpu.loops.components import join_rows
from cugraph_ws.kernels.cpu.louvain import (
    apply_moves,
    choose_communities,
    count_within,
    list_movable,
    list_within,
    merge_rows,
    move_classes,
    transpose_rows,
    weight_inside,
)
from cugraph_ws.kernels.cpu.louvain import sum_moves as sum_listed_moves
from cugraph_ws.partition.fixed_point import squares_of_shares
from cugraph_ws.runtime.mixing import salted
from cugraph_ws.runtime.threads import cut_offsets, number_of_threads, parallel

__all__ = [
    "Classes",
    "Mover",
    "components_within",
    "merged",
    "sum_by",
    "sum_inside",
    "sum_moves",
    "sum_squares",
    "within",
]

Integers = npt.NDArray[np.int64]
Rows = tuple[Integers, Integers, Integers]

ARCS_A_TASK = 1 << 14
MOST_READING = 8  # threads that transpose: each reads all arcs


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
    return 2 * int(sum(parallel(weight_inside, [(rows, labels, *cut) for cut in _cuts(rows)])))


def sum_squares(totals: Integers, twice: int) -> int:
    """Return the sum of the squares of communities' shares of all degrees, in multiples of 1 / `UNIT`.

    Parameters
    ----------
    totals : ndarray of int64
        By community: the sum of degrees.
    twice : int
        The sum of all degrees.
    """
    return int(squares_of_shares(totals, twice).sum())


def sum_moves(
    rows: Rows,
    sources: Integers,
    listed: Integers,
    labels: tuple[Integers, Integers],
    stirred: Integers,
) -> int:
    """Return what moves add to the sum of the weights of arcs within communities.

    Parameters
    ----------
    rows : tuple of (offsets, indices, weights)
        Both ways, without self-loops.
    sources : ndarray of int64, shape (arcs,)
    listed : ndarray of int64
        The vertices that may have moved, each once.
    labels : tuple of (ndarray of int64, ndarray of int64), shape (vertices,)
        Communities before and after the moves.
    stirred : ndarray of int64, shape (vertices,)
        Added to: for each vertex, the weights, 1 at least, to neighbours that moved and are in
        another community.
    """
    pieces = min(number_of_threads(), 1 + len(sources) // ARCS_A_TASK)
    if pieces == 1:
        return int(sum_listed_moves(rows, listed, labels, stirred, 0, len(listed)))
    offsets: Any = np.zeros(len(listed) + 1, np.int64)
    np.cumsum(rows[0][listed + 1] - rows[0][listed], out=offsets[1:])
    tasks = [
        (rows, listed, labels, np.zeros_like(stirred), *cut) for cut in cut_offsets(offsets, pieces)
    ]
    sums = parallel(sum_listed_moves, tasks)
    for task in tasks:
        stirred += task[3]
    return int(sum(sums))


def within(rows: Rows, sources: Integers, labels: Integers) -> Rows:
    """Return rows of the arcs of positive weight whose ends have the same label.

    Parameters
    ----------
    rows : tuple of (offsets, indices, weights)
    sources : ndarray of int64, shape (arcs,)
    labels : ndarray of int64, shape (vertices,)
    """
    offsets, cuts = np.zeros(len(labels) + 1, np.int64), _cuts(rows)
    parallel(count_within, [(rows, labels, offsets, *cut) for cut in cuts])
    np.cumsum(offsets, out=offsets)
    rows_within = offsets, np.empty(offsets[-1], np.int64), np.empty(offsets[-1], np.int64)
    parallel(list_within, [(rows, labels, rows_within, *cut) for cut in cuts])
    return rows_within


def components_within(rows: Rows, sources: Integers, labels: Integers) -> Integers:
    """Return the least vertex of the part of its community in which each vertex is.

    Vertices are in one part if a path of arcs of positive weight within their community joins them.

    Parameters
    ----------
    rows, sources, labels
        As for `within`.
    """
    offsets, indices, _ = within(rows, sources, labels)
    least: Integers = join_rows(offsets, indices)
    return least


def merged(rows: Rows, sources: Integers, labels: Integers, count: int, *, weighted: bool) -> Rows:
    """Add up the weights of arcs between communities.

    Parameters
    ----------
    rows : tuple of (offsets, indices, weights)
        Both ways, so that the merged rows are their own transpose, which needs no sort.
    sources : ndarray of int64, shape (arcs,)
    labels : ndarray of int64, shape (vertices,)
        From 0 to `count` - 1; none is missing.
    count : int
    weighted : bool
        As for `Mover`.

    Returns
    -------
    tuple of (offsets, indices, weights)
        Rows of the communities without themselves, ascending.
    """
    vertices = np.argsort(labels, kind="stable")
    ends = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(labels, minlength=count), out=ends[1:])
    room = np.zeros(len(labels) + 1, np.int64)
    np.cumsum(np.diff(rows[0])[vertices], out=room[1:])
    begins = room[ends]
    lengths, to, added = (np.empty(size, np.int64) for size in (count, room[-1], room[-1]))
    merged_rows = begins, lengths, to, added
    scratch = Scratch(count)

    def merge(low: int, high: int) -> None:
        with scratch.lent() as buffers:
            merge_rows(rows, labels, (vertices, ends), merged_rows, buffers, low, high)

    cuts = cut_offsets(begins, min(4 * number_of_threads(), 1 + int(room[-1]) // ARCS_A_TASK))
    parallel(merge, cuts)
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    ordered = offsets, np.empty(offsets[-1], np.int64), np.empty(offsets[-1], np.int64)
    pieces = min(number_of_threads(), MOST_READING, 1 + int(offsets[-1]) // ARCS_A_TASK)
    parallel(transpose_rows, [(merged_rows, ordered, *cut) for cut in cut_offsets(offsets, pieces)])
    return ordered


class Scratch:
    """Lends threads the arrays of sums by community: zeros, and room for a list of communities."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._free: list[tuple[Integers, Integers]] = []

    @contextmanager
    def lent(self) -> Iterator[tuple[Integers, Integers]]:
        """Lend two arrays of int64; the first must be zeros again at the end."""
        try:
            buffers = self._free.pop()
        except IndexError:  # all arrays are lent to other threads
            buffers = np.zeros(self._size, np.int64), np.empty(self._size + 1, np.int64)
        yield buffers
        self._free.append(buffers)


def _cuts(rows: Rows) -> list[tuple[int, int]]:
    """Return ranges of vertices for tasks."""
    return cut_offsets(rows[0], min(4 * number_of_threads(), 1 + len(rows[1]) // ARCS_A_TASK))


class Classes(NamedTuple):
    """Vertices by the class in which they move.

    Attributes
    ----------
    vertices : ndarray of int64
        The vertices that may move, each once.
    classes : ndarray of uint8
        The class of each; one class moves after the other.
    number : int
        Of classes.
    """

    vertices: Integers
    classes: npt.NDArray[np.uint8]
    number: int


class Mover:
    """Moves the vertices of a level, class after class.

    Parameters
    ----------
    rows : tuple of (offsets, indices, weights)
        Neighbours of each vertex without itself; int64.
    degrees : ndarray of int64, shape (vertices,)
    weighted : bool
        Whether not every weight is known to be 1, which matters on a GPU alone.
    """

    def __init__(self, rows: Rows, degrees: Integers, *, weighted: bool) -> None:
        self._rows, self._degrees = rows, degrees
        self._scratch = Scratch(len(degrees))

    def one_by_one(self, salt: int) -> Classes:
        """Return classes of one vertex each, at most 256, in an order that depends on a salt."""
        vertices = np.arange(len(self._degrees))
        classes = np.empty(len(vertices), np.uint8)
        order = np.argsort(salted(vertices, salt), kind="stable")
        classes[order] = np.arange(len(vertices), dtype=np.uint8)
        return Classes(vertices, classes, len(vertices))

    def by_hash(
        self, salt: int, most: int, stirred: tuple[Integers, Integers, bool] | None = None
    ) -> Classes:
        """Return classes by a hash of the vertex and a salt.

        Parameters
        ----------
        salt : int
            Of 64 bits.
        most : int
            Number of classes, at most 256.
        stirred : tuple of (ndarray of int64, ndarray of int64, bool), optional
            By vertex: how much it is stirred; how much is enough.  Whether only vertices that are
            stirred enough are listed; listed ones are calmed.
        """
        vertices = np.arange(len(self._degrees))
        if stirred is not None:
            weights, enough, called = stirred
            if called:
                vertices = np.flatnonzero(weights >= enough)
            weights[vertices] = 0
        return Classes(vertices, (salted(vertices, salt) % most).astype(np.uint8), most)

    def sweep(
        self,
        communities: tuple[Integers, Integers, Integers],
        before: Integers,
        factor: float,
        classes: Classes,
        sources: Integers,
        stirred: Integers,
        twice: int,
    ) -> tuple[int, int, int, int]:
        """Let classes of vertices move.

        Parameters
        ----------
        communities, factor, classes
            See `move`.
        before : ndarray of int64, shape (vertices,)
            A copy of the labels.
        sources, stirred
            See `sum_moves`.
        twice : int
            See `sum_squares`.

        Returns
        -------
        tuple of int
            How many vertices are listed, and how many moved; then, if any did, what `sum_moves` and
            `sum_squares` return.
        """
        moved, change, squares = self.move(communities, factor, classes), 0, 0
        if moved:
            labels = before, communities[0]
            change = sum_moves(self._rows, sources, classes.vertices, labels, stirred)
            squares = sum_squares(communities[1], twice)
        return len(classes.vertices), moved, change, squares

    def move(
        self,
        communities: tuple[Integers, Integers, Integers],
        factor: float,
        classes: Classes,
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
        classes : Classes
        may : ndarray of int64, shape (vertices,), optional
            Nonzero for vertices that may move: only those alone in a community, and not to one another.
        """
        labels, totals, sizes = communities
        strict = may is not None
        order = classes.vertices[np.argsort(classes.classes, kind="stable")]
        ends = np.cumsum(np.bincount(classes.classes, minlength=classes.number))
        marks = np.zeros(len(sizes), np.int64) if strict else sizes
        allowed = marks if may is None else may
        if number_of_threads() == 1 or len(self._rows[1]) <= ARCS_A_TASK * len(ends):
            with self._scratch.lent() as scratch:
                return int(
                    move_classes(
                        self._rows, self._degrees, communities, marks, allowed, factor, strict,
                        order, ends, scratch,
                    )
                )  # fmt: skip
        moved, first, movable = 0, 0, np.empty(len(order), np.int64)
        for end in ends:
            members = order[first:end]
            if strict:
                members = movable[: list_movable(communities, marks, allowed, members, movable)]
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
            with self._scratch.lent() as scratch:
                choose_communities(
                    rows, self._degrees, communities, factor, strict, listed, chosen, scratch, low,
                    high,
                )  # fmt: skip

        parallel(choose, cut_offsets(offsets, pieces))
        return chosen
