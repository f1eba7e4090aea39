"""Union-find over edges, by any number of threads at once.

ECL-CC (Jaiganesh and Burtscher, HPDC 2018): a compare-and-swap hooks the larger root of two trees
under the smaller root.  A parent always has a smaller number, so there are no cycles.  A tree's
root is its smallest vertex, whatever the order of the threads.  Climbing to a root shortens the
path ("intermediate pointer jumping").
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
    """Return the root of a vertex, and halve the path to it for later calls.

    A hook changes the parent of a root, and this function only parents of vertices that are not
    roots.  So another thread can undo the shortcut, but no hook is lost.
    """
    below, above = vertex, int(load(parent, vertex))
    while True:
        next_above = int(load(parent, above))
        if next_above == above:
            return above
        store(parent, below, next_above)
        below, above = above, next_above


@inline
def link(parent: Array, vertex: int, neighbour: int) -> None:
    """Join the trees of two vertices."""
    if load(parent, vertex) == load(parent, neighbour):
        return
    first, second = find(parent, vertex), find(parent, neighbour)
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
        The forest; at first every vertex is its own parent.
    last : bool
        Whether to link the last neighbour, unless it is also the first.
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
    """Link the ends of the arcs from `lo` to `hi`, except those known to be joined.

    Ranges are of arcs, so that the row of a hub is split among threads too.

    Parameters
    ----------
    offsets, indices : ndarray
        Rows of neighbours.
    parent : ndarray of int, shape (vertices,)
        The forest, compressed.
    ends : int
        How many arcs at each end of every row have been linked.
    skipped : int
        Rows of this root's tree are skipped; -1 for none.  Every edge that leaves the tree must
        also be in the row of its other end.
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
        # Read now, not before: the row may have just joined the skipped tree.
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
        The forest; no other thread may hook at the same time.
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
