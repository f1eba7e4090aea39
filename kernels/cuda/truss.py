"""Truss numbers by peeling edges, a round of edges that fall to the level in each launch.

As in `intersect`, the lanes of a warp take 32 edges and the elements of the shorter row of each.  A
triangle with several edges of a round is taken off once, by the least of them (PKT: Kabir and
Madduri, "Shared-memory graph truss decomposition", HiPC 2017).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.intersect import find, row_bounds
from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    atomic_add,
    block,
    blocks,
    inline,
    kernel,
    lane,
    load_fresh,
    shuffle,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import owner, scan, sum_of_lanes

__all__ = ["drop_edges"]

LEFT, FALLING, REMOVED = 0, 1, 2  # what an edge's mark says
QUEUED, READ = 0, 1  # places in the control block


@inline
def lower_support(supports: Any, edge: Any, level: Any, queue: Any, control: Any) -> None:
    """Take one from the support of an edge that is left; queue it if it falls to the level."""
    if load_fresh(supports, edge) > level:
        before = atomic_add(supports, edge, -1)
        if before == level + 1:
            queue[atomic_add(control, QUEUED, 1)] = edge
        if before <= level:
            atomic_add(supports, edge, 1)


@kernel
def drop_edges(
    rows: Any, ends: Any, marks: Any, supports: Any, falling: Any, count: Any, level: Any,
    queue: Any, control: Any,
) -> None:  # fmt: skip
    """Take the triangles of falling edges from the supports of the edges that are left.

    Parameters
    ----------
    rows : tuple of (int64[n + 1], int[2 edges], int64[2 edges])
        All neighbours of each vertex, ascending, and the edge to each.
    ends : tuple of (int64[edges], int[edges])
        The vertices of each edge.
    marks : int8[edges]
        Whether each edge is left, falling or removed.
    supports : int64[edges]
        Lowered, but not below the level.
    falling : int64[count]
        The edges of this round.
    count : int
    level : int
    queue : int64[edges]
        Written: edges that have fallen to the level.
    control : int64[2]
        Added to: how many those are, and elements read.
    """
    offsets, indices, edges = rows
    tails, heads = ends
    warp, warps = (block() * threads() + thread()) // 32, blocks() * threads() // 32
    read = np.int64(0)
    for first in range(warp * 32, count, warps * 32):
        edge = np.int64(0)
        begin, length, low, high = np.int64(0), np.int32(0), np.int64(0), np.int64(0)
        if first + lane() < count:
            edge = np.int64(falling[first + lane()])
            begin, length, low, high, _ = row_bounds(offsets, offsets, tails[edge], heads[edge])
        read += length
        sums = scan(length)
        begin += length - sums
        total = shuffle(FULL, sums, 31)
        for at in range(0, total, 32):
            mine = owner(sums, at + lane())
            element = shuffle(FULL, begin, mine) + at + lane()
            bottom, top = shuffle(FULL, low, mine), shuffle(FULL, high, mine)
            falling_edge = shuffle(FULL, edge, mine)
            if at + lane() < total:
                near = np.int64(edges[element])
                if marks[near] != REMOVED and not (marks[near] == FALLING and near < falling_edge):
                    place = find(indices, bottom, top, indices[element])
                    if place >= 0:
                        far = np.int64(edges[place])
                        if marks[far] != REMOVED and not (
                            marks[far] == FALLING and far < falling_edge
                        ):
                            if marks[near] == LEFT:
                                lower_support(supports, near, level, queue, control)
                            if marks[far] == LEFT:
                                lower_support(supports, far, level, queue, control)
    read = sum_of_lanes(read)
    if lane() == 0:
        atomic_add(control, READ, read)
