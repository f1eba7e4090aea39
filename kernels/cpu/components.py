"""Union-find over edges, by any number of threads at once.

ECL-CC (Jaiganesh and Burtscher, HPDC 2018): trees are hooked, the larger root under the smaller,
by compare-and-swap; parents are only ever smaller numbers, so no cycle can arise, and a tree's
root is the smallest vertex of what has been joined so far whatever the order of the threads.
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
def link(parent: Array, one: int, other: int) -> None:
    """Join the trees of two vertices, climbing from both only as far as it takes."""
    first, second = load(parent, one), load(parent, other)
    while first != second:
        high, low = max(first, second), min(first, second)
        above = load(parent, high)
        if above == low:
            return
        if above == high and compare_and_swap(parent, high, high, low):
            return
        first, second = load(parent, load(parent, high)), load(parent, low)


@jit
def link_samples(
    offsets: npt.NDArray[np.int64], indices: Array, parent: Array, nth: int, lo: int, hi: int
) -> int:
    """Link the vertices from `lo` to `hi` with the `nth` neighbour of each, where it has one.

    Parameters
    ----------
    offsets, indices : ndarray
        Rows of neighbours.
    parent : ndarray of int, shape (vertices,)
        The forest; every vertex its own parent at first.
    nth : int
        Counted from 0.
    lo, hi : int
        Range of vertices.

    Returns
    -------
    int
        Arcs read.
    """
    read = 0
    for vertex in range(lo, hi):
        arc = offsets[vertex] + nth
        if arc < offsets[vertex + 1]:
            link(parent, vertex, indices[arc])
            read += 1
    return read


@jit
def link_arcs(
    offsets: npt.NDArray[np.int64],
    indices: Array,
    parent: Array,
    done: int,
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
    done : int
        Leading arcs of every row that have been linked.
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
        # `skipped` itself is asked for by number: its parent may have changed a moment ago.
        if row != skipped and load(parent, row) != skipped:
            first = max(lo, offsets[row] + done)
            for arc in range(first, end):
                link(parent, row, indices[arc])
            read += max(end - first, 0)
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
