"""Union-find over edges, by any number of threads at once.

ECL-CC (Jaiganesh and Burtscher, HPDC 2018): trees are hooked, the larger root under the smaller,
by compare-and-swap; parents are only ever smaller numbers, so no cycle can arise, and a tree's
root is the smallest vertex of what has been joined so far whatever the order of the threads.
Climbing to a root shortens the way ("intermediate pointer jumping").
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.atomics import compare_and_swap, load, store
from cugraph_ws.kernels.cpu.jit import inline, jit

__all__ = ["compress", "link_arcs", "link_samples"]

Array = npt.NDArray[Any]


@inline
def find(parent: Array, vertex: int) -> int:
    """Return the root of a vertex, and halve the way there for whoever comes next.

    Only a root's parent is ever hooked, and what is written here is the parent of a vertex that
    is none: another thread can undo the shortcut, but lose no hook.
    """
    below, above = vertex, int(load(parent, vertex))
    while True:
        next_above = int(load(parent, above))
        if next_above == above:
            return above
        store(parent, below, next_above)
        below, above = above, next_above


@inline
def link(parent: Array, one: int, other: int) -> None:
    """Join the trees of two vertices."""
    if load(parent, one) == load(parent, other):
        return
    first, second = find(parent, one), find(parent, other)
    while first != second:
        high, low = max(first, second), min(first, second)
        if compare_and_swap(parent, high, high, low):
            return
        first, second = find(parent, high), low  # another thread has hooked `high`


@jit
def link_samples(
    offsets: npt.NDArray[np.int64], indices: Array, parent: Array, last: bool, lo: int, hi: int
) -> int:
    """Link each vertex from `lo` to `hi` with its first or last neighbour, if it has one.

    Parameters
    ----------
    offsets, indices : ndarray
        Rows of neighbours.
    parent : ndarray of int, shape (vertices,)
        The forest; every vertex its own parent at first.
    last : bool
        Take the last one, where it is not also the first.
    lo, hi : int
        Range of vertices.

    Returns
    -------
    int
        Arcs read.
    """
    read = 0
    for vertex in range(lo, hi):
        first, end = offsets[vertex], offsets[vertex + 1]
        if end - first > (1 if last else 0):
            link(parent, vertex, indices[end - 1 if last else first])
            read += 1
    return read


@jit
def link_arcs(
    offsets: npt.NDArray[np.int64],
    indices: Array,
    parent: Array,
    ends: int,
    skipped: int,
    row: int,
    lo: int,
    hi: int,
) -> int:
    """Link the ends of the arcs from `lo` to `hi`, but for those that are known to be joined.

    Ranges are of arcs, so that the row of a hub is shared out as well.

    Parameters
    ----------
    offsets, indices : ndarray
        Rows of neighbours.
    parent : ndarray of int, shape (vertices,)
        The forest, compressed.
    ends : int
        How many arcs at each end of every row have been linked.
    skipped : int
        Rows of this root's tree are skipped (every edge that leaves it must also be in the row
        of its other end); -1 for none.
    row : int
        Row of arc `lo`.
    lo, hi : int
        Range of arcs.

    Returns
    -------
    int
        Arcs read.
    """
    read = 0
    while lo < hi:
        end = min(offsets[row + 1], hi)
        # Its root is asked for by number: it may have been hooked a moment ago.
        if row != skipped and load(parent, row) != skipped:
            first = max(lo, offsets[row] + ends)
            last = min(end, offsets[row + 1] - ends)
            for arc in range(first, last):
                link(parent, row, indices[arc])
            read += max(last - first, 0)
        lo = max(lo, end)
        row += 1
    return read


@jit
def compress(parent: Array, lo: int, hi: int) -> None:
    """Make every vertex from `lo` to `hi` a child of its root.

    Parameters
    ----------
    parent : ndarray of int, shape (vertices,)
        The forest; nothing may be hooked meanwhile.
    lo, hi : int
        Range of vertices.
    """
    for vertex in range(lo, hi):
        above = load(parent, vertex)
        root = load(parent, above)
        if root == above:
            continue
        while root != above:
            above = root
            root = load(parent, above)
        store(parent, vertex, root)
