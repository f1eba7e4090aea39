"""Moves of vertices between communities on the GPU; see `cugraph_ws.algorithms.louvain`.

Arguments and results are as in `cugraph_ws.backends.cpu.loops.louvain`, but on the device.  A sweep
is one cooperative launch.  Gains are computed by one operation at a time, so that none is fused with
another: they are bitwise equal to those of the CPU.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cugraph_ws.backends.cuda.label_tables import BLOCK, FAR, KINDS, class_tables, kinds_of
from cugraph_ws.partition.fixed_point import UNIT
from cugraph_ws.runtime.arrays import count_true
from cugraph_ws.runtime.device import device
from cugraph_ws.runtime.launch_times import OFFSET, is_profiled, note_bytes
from cugraph_ws.runtime.mixing import salted

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

Array = Any  # CuPy's
Rows = tuple[Array, Array, Array]

WORD = 8  # bytes of a vertex, a label, a weight or a degree
MOST_NARROW = 1 << 16  # communities of which a pair is a number of 32 bits
MOST_LISTING = 256  # blocks that list vertices: each adds to the size of every group


def sum_by(labels: Array, values: Array, count: int) -> Array:
    """Return the sum of the values of each label."""
    xp = device().xp
    sums = xp.zeros(count, np.int64)
    xp.add.at(sums.view(np.uint64), labels, values.view(np.uint64))
    return sums


def sum_inside(rows: Rows, sources: Array, labels: Array) -> int:
    """Return the sum of the weights of arcs whose ends have the same label."""
    gpu, arcs = device(), len(sources)
    sums = gpu.xp.zeros(1, np.int64)
    if arcs:
        gpu.module("communities").launch(
            "sum_inside", gpu.blocks_for(arcs, BLOCK), BLOCK, rows, sources, arcs, labels, sums
        )
        note_bytes(arcs * 3 * WORD + labels.nbytes)  # weights are read within communities alone
    return int(gpu.to_host(sums)[0])


def sum_moves(
    rows: Rows, sources: Array, listed: Array, labels: tuple[Array, Array], stirred: Array
) -> int:
    """Return by how much moves change the sum of the weights of arcs within communities."""
    change = device().xp.zeros(1, np.int64)
    _sum_moves(rows, sources, labels, stirred, change)
    return int(device().to_host(change)[0])


def sum_squares(totals: Array, twice: int) -> int:
    """Return the sum of the squares of communities' shares of all degrees, in multiples of 1 / `UNIT`."""
    squares = device().xp.zeros(1, np.int64)
    _sum_squares(totals, twice, squares)
    return int(device().to_host(squares)[0])


def components_within(rows: Rows, sources: Array, labels: Array) -> Array:
    """Return the least vertex of the part of its community in which each vertex is."""
    gpu, arcs, size = device(), len(sources), len(labels)
    parent = gpu.xp.arange(size)
    counts = gpu.xp.zeros(3, np.int64)
    gpu.module("communities").launch(
        "join_within", gpu.blocks_for(arcs, BLOCK), BLOCK, sources, *rows[1:], arcs, labels, parent
    )
    gpu.module("components").launch(
        "compress", gpu.blocks_for(size, BLOCK), BLOCK, parent, size, -1, counts
    )
    note_bytes(arcs * 5 * WORD + size * 2 * WORD, size * WORD)
    return parent


def within(rows: Rows, sources: Array, labels: Array) -> Rows:
    """Return rows of the arcs of positive weight whose ends have the same label."""
    xp = device().xp
    inside = xp.flatnonzero((labels[sources] == labels[rows[1]]) & (rows[2] > 0))
    offsets = xp.searchsorted(sources[inside], xp.arange(len(labels) + 1)).astype(np.int64)
    return offsets, rows[1][inside], rows[2][inside]


def merged(rows: Rows, sources: Array, labels: Array, count: int, *, weighted: bool) -> Rows:
    """Add up the weights of arcs between communities, by sorting."""
    xp = device().xp
    kind = np.uint32 if count <= MOST_NARROW else np.int64
    tails, heads = labels[sources], labels[rows[1]]
    up = xp.flatnonzero(tails < heads)  # the other half are the reversed arcs
    keys = (tails[up] * count + heads[up]).astype(kind)
    if weighted:
        order = xp.argsort(keys)  # weights are integers: their order does not matter
        keys, weights = keys[order], rows[2][up[order]]
        ends = xp.concatenate([xp.zeros(1, np.int64), xp.cumsum(weights)])
    else:
        keys, ends = xp.sort(keys), xp.arange(len(keys) + 1)
    first = xp.flatnonzero(
        xp.concatenate([xp.ones(min(1, len(keys)), np.bool_), keys[1:] != keys[:-1]])
    )
    weights = xp.diff(ends[xp.concatenate([first, xp.full(1, len(keys), first.dtype)])])
    keys = keys[first].astype(np.int64)
    low = keys // max(1, count)
    high = keys - low * count
    tails, heads = xp.concatenate([low, high]), xp.concatenate([high, low])
    order = xp.argsort((tails * count + heads).astype(kind))
    offsets = xp.searchsorted(tails[order], xp.arange(count + 1)).astype(np.int64)
    return offsets, heads[order], xp.concatenate([weights, weights])[order]


class Classes(NamedTuple):
    """Vertices by the class in which they move.

    Attributes
    ----------
    by_vertex : array of uint16, shape (vertices,)
        Classes; `number` for vertices that may not move.
    number : int
        Of classes.
    """

    by_vertex: Array
    number: int


class Mover:
    """Moves the vertices of a level, class after class."""

    def __init__(self, rows: Rows, degrees: Array, *, weighted: bool) -> None:
        gpu, self._rows, self._weighted, self._degrees = device(), rows, weighted, degrees
        lengths = gpu.xp.diff(rows[0])
        self._kinds = kinds_of(lengths)
        self._some_are_far = len(lengths) > 0 and int(gpu.to_host(self._kinds.max())) == FAR

    def one_by_one(self, salt: int) -> Classes:
        """Return classes of one vertex each, at most 256, in an order that depends on a salt."""
        xp, count = device().xp, len(self._degrees)
        order = xp.argsort(salted(xp.arange(count), salt), kind="stable")
        classes = xp.empty(count, np.uint16)
        classes[order] = xp.arange(count, dtype=np.uint16)
        return Classes(classes, count)

    def by_hash(
        self, salt: int, most: int, stirred: tuple[Array, Array, bool] | None = None
    ) -> Classes:
        """Return classes by a hash of the vertex and a salt."""
        gpu, count = device(), len(self._degrees)
        classes = gpu.xp.empty(count, np.uint16)
        weights, enough, called = stirred or (gpu.xp.empty(count, np.int64), self._degrees, False)
        signed = salt - (1 << 64) if salt >> 63 else salt
        gpu.module("communities").launch(
            "hash_classes", gpu.blocks_for(count, BLOCK), BLOCK, count, np.int64(signed),
            np.int64(most), not called, weights, enough, classes,
        )  # fmt: skip
        note_bytes(called * 2 * WORD * count, classes.nbytes + (WORD * count if stirred else 0))
        return Classes(classes, most)

    def sweep(
        self,
        communities: tuple[Array, Array, Array],
        before: Array,
        factor: float,
        classes: Classes,
        sources: Array,
        stirred: Array,
        twice: int,
    ) -> tuple[int, int, int, int]:
        """Let classes of vertices move; the host waits once."""
        figures = self._move(communities, factor, classes)
        _sum_moves(self._rows, sources, (before, communities[0]), stirred, figures[2:3])
        _sum_squares(communities[1], twice, figures[3:])
        listed, moved, change, squares = device().to_host(figures).tolist()
        return listed, moved, change, squares

    def move(
        self,
        communities: tuple[Array, Array, Array],
        factor: float,
        classes: Classes,
        *,
        may: Array | None = None,
    ) -> None:
        """Let classes of vertices move."""
        self._move(communities, factor, classes, may)

    def _move(
        self,
        communities: tuple[Array, Array, Array],
        factor: float,
        classes: Classes,
        may: Array | None = None,
    ) -> Array:
        """Let classes of vertices move; return their number, how many moved, and two zeros."""
        gpu, (_, _, sizes), strict = device(), communities, may is not None
        by_vertex, count = classes
        vertices = len(by_vertex)
        order, bounds, figures = self._grouped(classes)
        far = class_tables(self._rows[0], order, bounds, count, some=self._some_are_far)
        marks = gpu.xp.zeros(len(sizes), np.int64) if strict else sizes
        gpu.module("communities").prepare_together(
            "move_classes", BLOCK * vertices, BLOCK, self._rows, self._weighted, self._degrees,
            communities, (marks, marks if may is None else may), factor, strict, count, order,
            bounds, gpu.xp.empty(vertices, np.int64), *far, figures[1:2],
        )()  # fmt: skip
        if is_profiled():
            self._note_moves(classes)
        return figures

    def _note_moves(self, classes: Classes) -> None:
        """Note an arc's label, and its weight if it is read; and what is kept of each listed vertex."""
        listed, lengths = classes.by_vertex < classes.number, device().xp.diff(self._rows[0])
        count, arcs = int(count_true(listed)), int(lengths[listed].sum())
        vertex = (
            2 * OFFSET + 5 * WORD
        )  # its place, degree, label, choice, and the sum of a community
        note_bytes(arcs * (2 + self._weighted) * WORD + count * vertex, 2 * count * WORD)
        groups = classes.by_vertex.itemsize + self._kinds.itemsize
        note_bytes(2 * groups * len(listed))

    def _grouped(self, classes: Classes) -> tuple[Array, Array, Array]:
        """Return listed vertices by class and kind, the bounds of those groups, and what is found.

        The last bound is the first entry of the last array, which has room for three more numbers.
        """
        gpu, (by_vertex, count) = device(), classes
        xp, module, length, groups = (
            gpu.xp,
            gpu.module("communities"),
            len(by_vertex),
            KINDS * count,
        )
        shape = min(MOST_LISTING, gpu.blocks_for(length, BLOCK)), BLOCK
        group_of = by_vertex, length, self._kinds, groups
        numbers, order = xp.zeros(groups + 4, np.int64), xp.empty(length, np.int64)
        bounds = numbers[: groups + 1]
        module.launch("count_groups", *shape, *group_of, bounds[1:])
        xp.cumsum(bounds, out=bounds)
        module.launch("list_groups", *shape, *group_of, bounds[:-1].copy(), order)
        return order, bounds, numbers[groups:]


def _sum_moves(
    rows: Rows, sources: Array, labels: tuple[Array, Array], stirred: Array, change: Array
) -> None:
    """Add to the first entry by how much moves change the weights within communities."""
    gpu, arcs = device(), len(sources)
    gpu.module("communities").launch(
        "sum_moves", gpu.blocks_for(arcs, BLOCK), BLOCK, rows, sources, arcs, *labels, stirred,
        change,
    )  # fmt: skip
    if is_profiled():  # the arcs of vertices that have moved read the rest
        before, after = labels
        moved = int(gpu.xp.diff(rows[0])[before != after].sum())
        note_bytes(arcs * WORD + before.nbytes + after.nbytes + moved * 4 * WORD)


def _sum_squares(totals: Array, twice: int, squares: Array) -> None:
    """Add the squares of shares to the first entry."""
    gpu, count = device(), len(totals)
    gpu.module("communities").launch(
        "sum_squares", gpu.blocks_for(count, BLOCK), BLOCK, totals, count, float(twice), UNIT,
        squares,
    )  # fmt: skip
    note_bytes(totals.nbytes)
