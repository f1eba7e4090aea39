"""Union-find over edges, a thread for each arc.

ECL-CC (Jaiganesh and Burtscher, HPDC 2018), as in `kernels.cpu.components`: trees are hooked, the
larger root under the smaller, by compare-and-swap, and `find` halves paths.  The forest is one of
positions, so a root is its tree's vertex of the highest in-degree; `least_numbers` finds the labels
afterwards.

Parents are read and written while others hook and halve.  That does no harm: a parent changes
only from an ancestor to a higher one, so whichever is read is an ancestor.  Where a stale one decides
nothing, it may come from the multiprocessor's cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.bitmaps import has, put_word
from cugraph_ws.kernels.cuda.layout import PIECE
from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    any_of,
    atomic_add,
    atomic_compare_and_swap,
    atomic_min,
    block,
    blocks,
    ffs,
    inline,
    jit,
    kernel,
    lane,
    load_cached,
    load_fresh,
    load_once,
    shuffle,
    store_fresh,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import (
    arc_at,
    first_from,
    least_of_lanes,
    queue_row,
    row_between,
    row_of,
    scan,
    sum_of_lanes,
    take_pieces,
)

__all__ = [
    "adopt",
    "compress",
    "find_first",
    "join_pairs",
    "least_numbers",
    "link_pieces",
    "link_rows",
    "link_samples",
    "link_strays",
    "mark_tree",
    "show_tree",
]

READ, OUTSIDE, PIECES = 0, 1, 2  # places among the counts
ARCS = 4096  # that a warp takes in turn


@jit
def find(parent: Any, vertex: Any) -> Any:
    """Return the root of a vertex, and halve its path."""
    below = np.int64(vertex)
    above = np.int64(load_fresh(parent, below))
    higher = np.int64(load_fresh(parent, above))
    while higher != above:
        # Only a root is ever hooked, and `below` is none: a shortcut may be lost, but no hook.
        store_fresh(parent, below, higher)
        below, above = above, higher
        higher = np.int64(load_fresh(parent, above))
    return above


@inline
def link(parent: Any, vertex: Any, neighbour: Any) -> None:
    """Join the trees of two vertices."""
    if load_cached(parent, vertex) != load_cached(parent, neighbour):
        first, second = find(parent, vertex), find(parent, neighbour)
        while first != second:
            high, low = max(first, second), min(first, second)
            if atomic_compare_and_swap(parent, high, high, low) == high:
                first = second
            else:
                first, second = find(parent, high), low  # another thread has hooked `high`


@kernel
def link_samples(
    offsets: Any, indices: Any, parent: Any, size: Any, last: Any, lead: Any, tree: Any
) -> None:
    """Link each vertex with its first neighbour or, with `last`, its last one if that is another.

    Parameters
    ----------
    offsets, indices : int64[size + 1], int[arcs]
        Rows of neighbours, ascending.
    parent : int[size]
        The forest; every vertex its own parent at first.
    size : int
        Vertices.
    last : int
        0 or 1.
    lead : int
        The first neighbour is the first from this position on, if there is one.
    tree : uint32[words]
        Bits of vertices that are in one tree already, so that an arc between two of them need not be
        linked.
    """
    for vertex in range(block() * threads() + thread(), size, blocks() * threads()):
        first, end = offsets[vertex], offsets[vertex + 1]
        if end - first > last:
            arc = first
            if last != 0:
                arc = end - 1
            elif lead > 0:
                arc = first + first_from(lead, indices, first, end - first)
            neighbour = np.int64(load_once(indices, arc))
            if not has(tree, vertex) or not has(tree, neighbour):
                link(parent, vertex, neighbour)


@inline
def link_shares(
    share: Any, row: Any, begin: Any, indices: Any, parent: Any
) -> None:  # fmt: skip
    """Link along the arcs of the lanes' rows: `share` of each, int32, from arc `begin` on."""
    ends = scan(share)
    start = np.int32(ends - share)
    total = shuffle(FULL, ends, 31)
    for at in range(np.int32(0), total, np.int32(32)):
        place = np.int32(at + lane())
        vertex, arc = arc_at(place, ends, start, row, begin, 1)
        if place < total:
            link(parent, vertex, np.int64(load_once(indices, arc)))


@kernel
def link_rows(
    offsets: Any, indices: Any, parent: Any, first: Any, last: Any, tree: Any, root: Any, queue: Any,
    counts: Any,
) -> None:  # fmt: skip
    """Link the vertices of a range that are outside a tree to all their neighbours.

    A warp takes the rows of 32 vertices, and its lanes share out their arcs; longer rows than `PIECE`
    are queued for `link_pieces`.

    Parameters
    ----------
    offsets, indices : int64[size + 1], int[arcs]
        Rows of neighbours.
    parent : int[size]
        The forest, compressed.
    first, last : int
        Vertices.
    tree : uint32[words]
        Bits of vertices that `mark_tree` has found in a tree: 1/32 of the bytes of `parent`, so that
        they are read from the L2 cache.
    root : int
        Root of that tree; rows of vertices that have joined it since are skipped, too.
    queue : tuple of (int[n], int32[n])
        Room for the pieces of all rows that are longer than a piece.
    counts : int64[3]
        Arcs read are added to the first, pieces to the last.
    """
    warp, warps = (block() * threads() + thread()) // 32, blocks() * threads() // 32
    read = np.int64(0)
    for base in range(first + 32 * warp, last, 32 * warps):
        row = np.int64(base + lane())
        wanted = False
        if row < last:
            wanted = not has(tree, row)
        if any_of(FULL, wanted):
            begin, length = np.int64(0), np.int64(0)
            # Its bit may be stale: it may have been hooked a moment ago
            if wanted and row != root and load_fresh(parent, row) != root:
                begin = offsets[row]
                length = offsets[row + 1] - begin
            read += length
            if any_of(FULL, length > PIECE):
                queue_row(
                    counts, PIECES, queue[0], queue[1], np.int64(0), row,
                    length if length > PIECE else 0,
                )  # fmt: skip
            share = np.int32(0 if length > PIECE else length)
            if any_of(FULL, share > 0):
                link_shares(share, row, begin, indices, parent)
    read = sum_of_lanes(read)
    if lane() == 0 and read > 0:
        atomic_add(counts, READ, read)


@kernel
def link_pieces(offsets: Any, indices: Any, parent: Any, queue: Any, counts: Any) -> None:
    """Link along the pieces of long rows that `link_rows` has queued.

    Parameters
    ----------
    offsets, indices, parent, queue, counts
        As for `link_rows`.
    """
    warp, warps = (block() * threads() + thread()) // 32, blocks() * threads() // 32
    size = counts[PIECES]
    for base in range(warp, size, 32 * warps):
        row, begin, share = take_pieces(offsets, queue, size, base, warps)
        link_shares(share, row, begin, indices, parent)


@kernel
def link_strays(
    offsets: Any, indices: Any, parent: Any, size: Any, first: Any, stop: Any, tree: Any,
    counts: Any,
) -> None:  # fmt: skip
    """Link along the arcs from `first` to `stop` that lead to vertices outside a tree.

    For rows that have an edge at one of its ends only; launched after `link_rows`.  The row of an arc is
    searched for these arcs only, among the few rows of a warp's arcs.

    Parameters
    ----------
    offsets, indices : int64[size + 1], int[arcs]
        Rows of neighbours.
    parent : int[size]
        The forest.
    size : int
        Vertices.
    first, stop : int
        Range of arcs.
    tree : uint32[words]
        As for `link_rows`.
    counts : int64[3]
        Arcs read are added to the first.
    """
    warp, warps = (block() * threads() + thread()) // 32, blocks() * threads() // 32
    read = np.int64(0)
    for low in range(first + warp * ARCS, stop, warps * ARCS):
        high = min(low + ARCS, stop)
        begin, end = np.int64(-1), np.int64(0)  # rows, once they are needed
        for base in range(low + lane(), high + lane(), 128):
            neighbour_0 = np.int64(load_once(indices, min(base, high - 1)))  # all loads at once
            neighbour_1 = np.int64(load_once(indices, min(base + 32, high - 1)))
            neighbour_2 = np.int64(load_once(indices, min(base + 64, high - 1)))
            neighbour_3 = np.int64(load_once(indices, min(base + 96, high - 1)))
            in_tree_0, in_tree_1, in_tree_2, in_tree_3 = (
                has(tree, neighbour_0), has(tree, neighbour_1), has(tree, neighbour_2), has(tree, neighbour_3),
            )  # fmt: skip
            if any_of(FULL, not (in_tree_0 and in_tree_1 and in_tree_2 and in_tree_3)):
                if begin < 0:
                    begin = row_of(offsets, size, low)
                    end = row_between(offsets, begin, size, high - 1) + 1
                if not in_tree_0 and base < high:
                    link(parent, row_between(offsets, begin, end, base), neighbour_0)
                if not in_tree_1 and base + 32 < high:
                    link(parent, row_between(offsets, begin, end, base + 32), neighbour_1)
                if not in_tree_2 and base + 64 < high:
                    link(parent, row_between(offsets, begin, end, base + 64), neighbour_2)
                if not in_tree_3 and base + 96 < high:
                    link(parent, row_between(offsets, begin, end, base + 96), neighbour_3)
        if lane() == 0:
            read += high - low
    if lane() == 0 and read > 0:
        atomic_add(counts, READ, read)


@kernel
def mark_tree(parent: Any, size: Any, root: Any, tree: Any) -> None:
    """Write a bit for each vertex: whether it is a child of a root, or the root itself.

    Parameters
    ----------
    parent : int[size]
        The forest, compressed.
    size : int
        Vertices.
    root : int
    tree : uint32[words]
        A word for 32 vertices.
    """
    for first in range(block() * threads() + thread() - lane(), size, blocks() * threads()):
        vertex = first + lane()
        put_word(tree, first, vertex < size and parent[min(vertex, size - 1)] == root)


@kernel
def show_tree(tree: Any, positions: Any, count: Any, words: Any) -> None:
    """Write a bit for each of some vertices: whether `mark_tree` has found it in the tree.

    Parameters
    ----------
    tree : uint32[words]
    positions : int[count]
    count : int
    words : uint32[ceil(count / 32)]
    """
    for first in range(block() * threads() + thread() - lane(), count, blocks() * threads()):
        entry = first + lane()
        inside = has(tree, np.int64(positions[min(entry, count - 1)]))
        put_word(words, first, entry < count and inside)


@kernel
def find_first(words: Any, size: Any, first: Any) -> None:
    """Find the first bit that is set.

    Parameters
    ----------
    words : uint32[size]
    size : int
    first : int64[1]
        Lowered to its place, if there is one.
    """
    least = np.int64(32 * size)
    for word in range(block() * threads() + thread(), size, blocks() * threads()):
        bits = np.uint32(words[word])
        if bits != 0:
            least = min(least, np.int64(32 * word + ffs(bits) - 1))
    least = least_of_lanes(least, 32)
    if lane() == 0 and least < 32 * size:
        atomic_min(first, 0, least)


@kernel
def adopt(parent: Any, ghosts: Any, count: Any, words: Any, first: Any) -> None:
    """Link the ghosts that their owner has found in one tree.

    Parameters
    ----------
    parent : int[size]
        The forest.
    ghosts, count : int
        Their first position, and how many there are.
    words : uint32[ceil(count / 32)]
        A bit for each: whether it is in its owner's tree.
    first : int64[1]
        The first of those ghosts; the others are hooked under it.
    """
    root = np.int64(ghosts + first[0])
    for entry in range(block() * threads() + thread(), count, blocks() * threads()):
        ghost = np.int64(ghosts + entry)
        if ghost != root and has(words, entry):
            if load_fresh(parent, ghost) == ghost:
                # Only to this tree is anything hooked meanwhile: whichever parent stays leads there.
                store_fresh(parent, ghost, root)
            else:
                link(parent, ghost, root)


@kernel
def compress(parent: Any, size: Any, watched: Any, counts: Any) -> None:
    """Make every vertex a child of its root; nothing may be hooked meanwhile.

    Parameters
    ----------
    parent : int[size]
        The forest.
    size : int
        Vertices.
    watched : int
        A root, or -1.
    counts : int64[3]
        Vertices that are not below `watched` are added to the second.
    """
    outside = np.int64(0)
    for vertex in range(block() * threads() + thread(), size, blocks() * threads()):
        above = np.int64(load_cached(parent, vertex))
        root = np.int64(load_cached(parent, above))
        if root != above:
            while root != above:
                above = root
                root = np.int64(load_cached(parent, above))
            store_fresh(parent, vertex, root)  # others read a parent or the root: both lead up
        outside += root != watched
    outside = sum_of_lanes(outside)
    if lane() == 0 and outside > 0:
        atomic_add(counts, OUTSIDE, outside)


@kernel
def least_numbers(parent: Any, numbers: Any, least: Any, size: Any) -> None:
    """Find the least vertex number in each tree.

    Parameters
    ----------
    parent : int[size]
        The forest, compressed.
    numbers : int[size]
        The number of the vertex at each position.
    least : int[size]
        A copy of `numbers`; that of every root is lowered to the least in its tree.
    size : int
        Vertices.
    """
    for vertex in range(block() * threads() + thread(), size, blocks() * threads()):
        root, number = parent[vertex], numbers[vertex]
        # Nearly always it is not the least so far, and the giant tree's root no bottleneck.
        if number < load_fresh(least, root):
            atomic_min(least, root, number)


@kernel
def join_pairs(parent: Any, partners: Any, size: Any) -> None:
    """Link every vertex with the one that `partners` gives for it.

    Parameters
    ----------
    parent : int[size]
        The forest.
    partners : int[size]
        Positions.
    size : int
        Vertices.
    """
    for vertex in range(block() * threads() + thread(), size, blocks() * threads()):
        link(parent, vertex, partners[vertex])
