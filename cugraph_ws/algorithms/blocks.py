"""Spanning forests, bridges and blocks of an undirected graph, in whole-array steps.

Blocks are found by Tarjan's and Vishkin's method: a spanning forest, which may be any, is rooted by its
Euler tours, and the blocks are the components of a graph whose vertices are the edges of the forest.
Each step is over whole arrays of vertices or edges.  The number of steps grows with the logarithm of
the number of vertices and does not depend on the diameter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cugraph_ws.runtime.arrays import all_true
from cugraph_ws.runtime.bins import bin_counts
from cugraph_ws.runtime.looks import awaited, look

__all__ = ["Blocks", "Lower", "certificate", "find_blocks", "spanning_forest"]

Array = Any  # NumPy's or CuPy's
Lower = Callable[[Array, Array, Array], None]  # `lower` of the backend's loops `jumps`

GREATEST = np.iinfo(np.int64).max


class Blocks(NamedTuple):
    """The bridges, articulation points and blocks of a graph, and the rooted forest used to find them.

    Attributes
    ----------
    tree : array of int64, shape (edges of the forest,)
        Indices of the forest's edges.
    child : array of int64, shape (edges of the forest,)
        The lower end of each edge; every vertex but the roots is the lower end of one edge.
    parent : array of int64, shape (vertices,)
        Parent of each vertex; a root is its own parent.
    bridge : array of bool, shape (vertices,)
        Whether the edge to the parent is a bridge.
    block : array of int64, shape (vertices,)
        Label of the block that contains the edge to the parent; a root has a label of its own.
    cut : array of bool, shape (vertices,)
        Whether a vertex is an articulation point.
    """

    tree: Array
    child: Array
    parent: Array
    bridge: Array
    block: Array
    cut: Array


def spanning_forest(
    xp: Any, size: int, tails: Array, heads: Array, lower: Lower
) -> tuple[Array, Array]:
    """Return the edges and the trees of the minimum spanning forest, by Borůvka's method.

    Parameters
    ----------
    xp : module
        NumPy or CuPy.
    size : int
        Number of vertices.
    tails, heads : array of int64, shape (edges,)
        Ends of the edges, by ascending weight.
    lower : callable
        Takes an array, indices and values; lowers each entry to the least value given for it.

    Returns
    -------
    places : array of int64
        Indices of the edges of the minimum spanning forest, ascending.
    label : array of int64, shape (size,)
        A label for each vertex: one vertex of its tree, the same for the whole tree.

    References
    ----------
    .. [1] O. Borůvka, "O jistém problému minimálním", 1926.
    """
    numbers = xp.arange(size)
    label, places = numbers, xp.arange(len(tails))
    chosen = xp.zeros(len(tails), np.bool_)
    near, far = tails, heads
    while True:
        look()
        near = label[near]
        look()
        far = label[far]
        look()
        crossing = xp.flatnonzero(near != far)
        if not len(crossing):
            return xp.flatnonzero(chosen), label
        look()
        places = places[crossing]
        look()
        near = near[crossing]
        look()
        far = far[crossing]
        # The first edge out of each tree is its lightest.
        first, order = xp.full(size, GREATEST), xp.arange(len(places))
        lower(first, near, order)
        look()
        lower(first, far, order)
        trees = xp.flatnonzero(first != GREATEST)
        lightest = first[trees]
        chosen[places[lightest]] = True
        parent = numbers.copy()
        parent[trees] = xp.where(near[lightest] == trees, far[lightest], near[lightest])
        mutual = (parent[parent] == numbers) & (numbers < parent)
        label = _roots(xp, xp.where(mutual, numbers, parent))[label]


def find_blocks(xp: Any, size: int, sources: Array, destinations: Array, lower: Lower) -> Blocks:
    """Find the bridges, articulation points and blocks of an undirected graph.

    Parameters
    ----------
    xp : module
        NumPy or CuPy.
    size : int
        Number of vertices.
    sources, destinations : array of int64, shape (edges,)
        Ends of the edges, without self-loops.  Parallel edges are allowed; they are not bridges.
    lower : callable
        As for `spanning_forest`.

    Returns
    -------
    Blocks

    References
    ----------
    .. [1] R. E. Tarjan and U. Vishkin, "An efficient parallel biconnectivity algorithm", SIAM
       Journal on Computing 14, 1985.
    """
    numbers = xp.arange(size)
    if not len(sources):
        none, nowhere = xp.zeros(0, np.int64), xp.zeros(size, np.bool_)
        return Blocks(none, none, numbers, nowhere, numbers, nowhere)
    tree, label = spanning_forest(xp, size, sources, destinations, lower)
    child, parent, first, count = _rooted(xp, sources[tree], destinations[tree], label)
    rest = xp.ones(len(sources), np.bool_)
    rest[tree] = False
    look()
    tails = first[sources[rest]]
    look()
    ends = tails, first[destinations[rest]]
    look()
    # From here on vertices are preorder numbers: the subtree of v is the range [v, v + count[v]).
    order = xp.argsort(first)
    above, below = first[parent[order]], count[order]
    least, most = numbers.copy(), (GREATEST - numbers)
    for tail, head in (ends, ends[::-1]):
        look()
        lower(least, tail, head)
        look()
        lower(most, tail, GREATEST - head)
    least = _least_of_ranges(xp, least, below)
    most = GREATEST - _least_of_ranges(xp, most, below)
    look()
    root = above == numbers
    inside = (least >= numbers) & (most < numbers + below)
    # Two edges of the forest are in the same block if an edge joins the two disjoint subtrees below
    # them; or if they meet at a vertex, and an edge leads from below the lower one out of that
    # vertex's subtree.
    low = xp.minimum(*ends)
    look()
    high = xp.maximum(*ends)
    look()
    apart = low + below[low] <= high
    look()
    joined = xp.flatnonzero(
        ~root & ~root[above] & ((least < above) | (most >= above + below[above]))
    )
    down = xp.concatenate([low[apart], joined])
    look()
    up = xp.concatenate([high[apart], above[joined]])
    _, block = spanning_forest(xp, size, down, up, lower)
    # A vertex is an articulation point if some child's block differs from its own.  A root is in the
    # blocks of its children alone.
    cut = xp.zeros(size, np.bool_)
    joints = xp.flatnonzero(~root & ~root[above] & (block != block[above]))
    cut[above[joints]] = True
    tops = xp.flatnonzero(~root & root[above])
    smallest = xp.full(size, GREATEST)
    lower(smallest, above[tops], block[tops])
    cut[above[tops[block[tops] != smallest[above[tops]]]]] = True
    return Blocks(tree, child, parent, (~root & inside)[first], block[first], cut[first])


def certificate(xp: Any, blocks: Blocks) -> tuple[Array, Array, Array]:
    """Return a certificate of biconnectivity: fewer than two edges per vertex.

    If any further edges are added to both, the certificate has the same articulation points and
    bridges as the graph.

    Parameters
    ----------
    xp : module
        NumPy or CuPy.
    blocks : Blocks
        The blocks of the graph.

    Returns
    -------
    places : array of int64
        Indices of the bridges in `blocks.tree`; these are the first edges of the certificate.
    one, other : array of int64
        Ends of the edges: the bridges, then a cycle through each other block.
    """
    places = xp.flatnonzero(blocks.bridge[blocks.child])
    bridges = blocks.child[places]
    rest = xp.flatnonzero((blocks.parent != xp.arange(len(blocks.parent))) & ~blocks.bridge)
    if not len(rest):
        return places, bridges, blocks.parent[bridges]
    block, order = blocks.block[rest], xp.argsort(blocks.block[rest], kind="stable")
    rest, block = rest[order], block[order]
    begins = xp.ones(len(rest), np.bool_)
    begins[1:] = block[1:] != block[:-1]
    starts = xp.flatnonzero(begins)
    # A block's vertices are the lower ends of its forest edges, and the vertex above all of them.
    member = xp.cumsum(begins) - 1
    outside = blocks.block[blocks.parent[rest]] != block
    outside |= blocks.parent[blocks.parent[rest]] == blocks.parent[rest]
    top = xp.zeros(len(starts), np.int64)
    top[member[outside]] = blocks.parent[rest[outside]]
    before = xp.where(begins, top[member], xp.concatenate([rest[:1], rest[:-1]]))
    last = xp.concatenate([starts[1:] - 1, xp.full(1, len(rest) - 1)])
    tails = xp.concatenate([bridges, rest, rest[last]])
    heads = xp.concatenate([blocks.parent[bridges], before, top])
    return places, tails, heads


def _rooted(xp: Any, tails: Array, heads: Array, label: Array) -> tuple[Array, Array, Array, Array]:
    """Root trees at the vertices that are their own label, by Euler tours.

    Returns
    -------
    child : array of int64, shape (edges,)
    parent, first, count : array of int64, shape (vertices,)
        Parent, preorder number, and number of vertices of the subtree.
    """
    size, edges = len(label), len(tails)
    numbers = xp.arange(size)
    tail, head = xp.concatenate([tails, heads]), xp.concatenate([heads, tails])
    arcs = xp.arange(2 * edges)
    look()
    back = xp.concatenate([arcs[edges:], arcs[:edges]])
    order = awaited(xp.argsort, tail, kind="stable")
    look()
    offsets = xp.searchsorted(tail[order], xp.arange(size + 1))
    look()
    place = xp.empty_like(arcs)
    place[order] = arcs
    # An arc into a vertex is followed by the vertex's next arc in cyclic order; a tour ends at its root.
    following = place[back] + 1
    ends = following == offsets[head + 1]
    look()
    final = ends & (label[head] == head)
    look()
    following = xp.where(ends, offsets[head], following)
    look()
    after = xp.where(final, arcs, order[following])
    distances = _ranks(xp, after, final)
    look()
    members = bin_counts(label, size)
    roots = xp.flatnonzero(label == numbers)
    begins = xp.zeros(size, np.int64)  # first preorder number of each tree
    begins[roots] = xp.cumsum(members[roots]) - members[roots]
    parent, first, count = numbers.copy(), xp.empty(size, np.int64), xp.ones(size, np.int64)
    first[roots], count[roots] = begins[roots], members[roots]
    down = distances > distances[back]
    child = xp.where(down[:edges], heads, tails)
    ahead = xp.where(down[:edges], arcs[:edges], back[:edges])
    parent[child] = tail[ahead]
    count[child] = (distances[ahead] - distances[back[ahead]] + 1) // 2
    look()
    # A tour's arcs have consecutive indices.  The vertex entered by the n-th downward arc is numbered n.
    tree = label[tail]
    start = 2 * (begins - xp.cumsum(xp.where(label == numbers, 1, 0)) + 1)
    look()
    spot = start[tree] + 2 * (members[tree] - 1) - 1 - distances
    look()
    ways = xp.zeros(2 * edges, np.int64)
    ways[spot] = down
    ways = xp.cumsum(ways)
    first[child] = begins[label[child]] + ways[spot[ahead]] - start[label[child]] // 2
    return child, parent, first, count


def _ranks(xp: Any, after: Array, final: Array) -> Array:
    """Return for each item of linked lists the number of items after it, by pointer jumping."""
    distances = xp.where(final, 0, 1)
    while True:
        look()
        beyond = after[after]
        if all_true(beyond == after):
            return distances
        look()
        distances = distances + distances[after]
        after = beyond


def _roots(xp: Any, parent: Array) -> Array:
    """Return the root above each vertex, by pointer jumping."""
    while True:
        look()
        above = parent[parent]
        if all_true(above == parent):
            return parent
        parent = above


def _least_of_ranges(xp: Any, values: Array, lengths: Array) -> Array:
    """Return the least of values[i : i + lengths[i]] for every i; lengths are 1 or more."""
    least = values.copy()
    numbers = xp.arange(len(values))
    width, window = 1, values
    longest = int(lengths.max())
    while width <= longest:
        look()
        # A range of width to 2 * width - 1 entries is covered by two windows of width entries.
        rows = numbers[(lengths >= width) & (lengths < 2 * width)]
        least[rows] = xp.minimum(window[rows], window[rows + lengths[rows] - width])
        window = xp.concatenate(
            [xp.minimum(window[:-width], window[width:]), window[len(window) - width :]]
        )
        width *= 2
    return least
