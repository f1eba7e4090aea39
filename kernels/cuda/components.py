"""Union-find over edges, a thread for each arc.

ECL-CC (Jaiganesh and Burtscher, HPDC 2018), as in `kernels.cpu.components`: trees are hooked, the
larger root under the smaller, by compare-and-swap, and climbing halves the way.  The forest is one
of positions, so a root is its tree's vertex of the highest in-degree; `least_numbers` finds the
labels afterwards.

Parents are read and written while others hook and halve.  That does no harm: a parent changes
only from an ancestor to a higher one, so whichever is read is an ancestor.  Where a stale one decides
nothing, it may come from the multiprocessor's cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.bitmaps import add_word, has, put_word
from cugraph_ws.kernels.cuda.primitives import (
    atomic_add,
    atomic_compare_and_swap,
    atomic_min,
    block,
    blocks,
    inline,
    jit,
    kernel,
    lane,
    load_cached,
    load_fresh,
    load_once,
    store_fresh,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import row_of, sum_of_lanes

__all__ = [
    "adopt",
    "compress",
    "join_pairs",
    "least_numbers",
    "link_arcs",
    "link_samples",
    "mark_tree",
    "meet",
    "show_tree",
]

READ, OUTSIDE = 0, 1  # places among the counts
ARCS = 1024  # that a warp takes in turn


@jit
def find(parent: Any, vertex: Any) -> Any:
    """Return the root of a vertex, and halve the way there for whoever comes next."""
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
def link(parent: Any, one: Any, other: Any) -> None:
    """Join the trees of two vertices."""
    if load_cached(parent, one) != load_cached(parent, other):
        first, second = find(parent, one), find(parent, other)
        while first != second:
            high, low = max(first, second), min(first, second)
            if atomic_compare_and_swap(parent, high, high, low) == high:
                first = second
            else:
                first, second = find(parent, high), low  # another thread has hooked `high`


@kernel
def link_samples(offsets: Any, indices: Any, parent: Any, size: Any, last: Any, tree: Any) -> None:
    """Link each vertex with its first neighbour or, with `last`, its last one if that is another.

    Parameters
    ----------
    offsets, indices : int64[size + 1], int[arcs]
        Rows of neighbours.
    parent : int[size]
        The forest; every vertex its own parent at first.
    size : int
        Vertices.
    last : int
        0 or 1.
    tree : uint32[words]
        Bits of vertices that are in one tree already; see `link_arcs`.
    """
    for vertex in range(block() * threads() + thread(), size, blocks() * threads()):
        first, end = offsets[vertex], offsets[vertex + 1]
        if end - first > last:
            other = np.int64(load_once(indices, end - 1 if last else first))
            if not has(tree, vertex) or not has(tree, other):
                link(parent, vertex, other)


@kernel
def link_arcs(
    offsets: Any,
    indices: Any,
    parent: Any,
    size: Any,
    first: Any,
    stop: Any,
    skipped: Any,
    tree: Any,
    counts: Any,
) -> None:
    """Link the ends of the arcs from `first` to `stop`.

    Arcs are cut, not rows, so the row of a hub is shared out as well.

    Parameters
    ----------
    offsets, indices : int64[size + 1], int[arcs]
        Rows of neighbours.
    parent : int[size]
        The forest, compressed.
    size : int
        Vertices.
    first, stop : int
        Range of arcs.
    skipped : int
        Rows of the tree that this vertex is the root of are skipped (every edge that leaves it must
        also be in a row of its other end); -1 for none.
    tree : uint32[words]
        Bits of vertices that `mark_tree` has found in one tree, so that an arc between two of them need
        not be linked: they take a 32nd of the room of parents, and are read from the L2.
    counts : int64[2]
        Arcs read are added to the first.
    """
    warp = (block() * threads() + thread()) // 32
    warps = blocks() * threads() // 32
    read = 0
    for low in range(first + warp * ARCS, stop, warps * ARCS):
        high = min(low + ARCS, stop)
        arc = low + lane()
        row, end = np.int64(0), np.int64(-1)
        wanted = inside = False
        if arc < high:
            row = row_of(offsets, size, arc)
        while arc < high:
            if arc >= end:
                while offsets[row + 1] <= arc:
                    row += 1
                end = offsets[row + 1]
                # Its root is asked for by number: it may have been hooked a moment ago.
                wanted = row != skipped and load_fresh(parent, row) != skipped
                inside = has(tree, row)
            if wanted:
                other = np.int64(load_once(indices, arc))
                if not inside or not has(tree, other):
                    link(parent, row, other)
                read += 1
                arc += 32
            else:
                arc += 32 * ((min(end, high) - arc + 31) // 32)
    read = sum_of_lanes(read)
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
    tree : uint32[words of all vertices]
    positions : int[count]
    count : int
    words : uint32[words of count]
    """
    for first in range(block() * threads() + thread() - lane(), count, blocks() * threads()):
        entry = first + lane()
        inside = has(tree, np.int64(positions[min(entry, count - 1)]))
        put_word(words, first, entry < count and inside)


@kernel
def meet(tree: Any, first: Any, count: Any, words: Any, met: Any) -> None:
    """Count vertices both in the tree here and in the one of the member that owns them, in `met[0]`.

    Parameters
    ----------
    tree : uint32[words of all vertices]
    first, count : int
        The ghosts: their first position, and how many there are.
    words : uint32[words of count]
        A bit for each: whether it is in its owner's tree.
    met : int64[1]
    """
    found = np.int64(0)
    for entry in range(block() * threads() + thread(), count, blocks() * threads()):
        if has(words, entry) and has(tree, first + entry):
            found += 1
    found = sum_of_lanes(found)
    if lane() == 0 and found > 0:
        atomic_add(met, 0, found)


@kernel
def adopt(parent: Any, first: Any, count: Any, words: Any, root: Any, tree: Any, met: Any) -> None:
    """Put ghosts that are in their owner's tree into the one here, if the two have met.

    Then both are of one component, whatever the arcs here tell.

    Parameters
    ----------
    parent : int[size]
        The forest.
    first, count, words
        As for `meet`.
    root : int
        Of the tree here.
    tree : uint32[words of all vertices]
        Its bits; those of ghosts taken in are set.
    met : int64[1]
        As `meet` has left it.
    """
    if met[0] == 0:
        return
    for base in range(block() * threads() + thread() - lane(), count, blocks() * threads()):
        ghost = np.int64(first + base + lane())
        new = False
        if base + lane() < count:
            inside = (np.int64(load_fresh(tree, ghost >> 5)) >> (ghost & 31)) & 1 != 0
            new = has(words, base + lane()) and not inside
        if new:
            if ghost > root and load_fresh(parent, ghost) == ghost:
                # Only to this root is anything hooked meanwhile: all who do so write the same.
                store_fresh(parent, ghost, root)
            else:
                link(parent, ghost, root)
        add_word(tree, first + base, new)


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
    counts : int64[2]
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
            store_fresh(parent, vertex, root)  # others meet a parent or the root: both lead up
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
        A copy of `numbers`; that of every root is lowered.
    size : int
        Vertices.
    """
    for vertex in range(block() * threads() + thread(), size, blocks() * threads()):
        root, number = parent[vertex], numbers[vertex]
        # Nearly always it is not the least so far, and the giant tree's root no bottleneck.
        if number < load_fresh(least, root):
            atomic_min(least, root, number)


@kernel
def join_pairs(parent: Any, others: Any, size: Any) -> None:
    """Link every vertex with the one that `others` gives for it.

    Parameters
    ----------
    parent : int[size]
        The forest.
    others : int[size]
        Positions.
    size : int
        Vertices.
    """
    for vertex in range(block() * threads() + thread(), size, blocks() * threads()):
        link(parent, vertex, others[vertex])
