"""Loops of a force-directed layout: groups of vertices, a tree of cells, forces, and moves.

Vertices repel each other and edges attract their ends, as in Fruchterman and Reingold's model with masses and
weights:

    force on i  =  sum over j of mass_i mass_j (p_i - p_j) / |p_i - p_j|^2
                -  sum over neighbours j of weight_ij |p_i - p_j| (p_i - p_j)

Repulsion is computed as Barnes and Hut do: a cell that is small from where it is seen counts as one vertex.  The
cells are ranges of vertices sorted along a Z-curve, so that a tree is a list of ranges in preorder and a walk
needs no stack.  Every force is computed by one thread alone, so positions do not depend on their number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import inline, jit

__all__ = [
    "build_tree",
    "cell_codes",
    "component_rows",
    "contract_rows",
    "forces",
    "group_neighbours",
    "list_components",
    "move",
    "relax",
    "shelve",
]

Integers = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

CELLS = 1 << 16  # along a side of the finest grid
LEAF = 6  # most vertices of a cell that is not divided
LEAST = 1e-12  # squared distance below which two vertices do not repel each other
WIDE = 1.44  # squared ratio of the distance and the side of a cell that counts as one vertex
PATIENCE = 5  # moves that each lower the energy before steps become longer
COOLING = 0.9


@jit
def list_components(offsets: Integers, indices: Integers, label: Integers, order: Integers) -> int:
    """List the vertices by connected component, each in order of a search; return the number of components.

    `label` begins at -1, and is then the component of each vertex.
    """
    components, filled, read = 0, 0, 0
    for start in range(len(label)):
        if label[start] >= 0:
            continue
        label[start] = components
        order[filled] = start
        filled += 1
        while read < filled:
            vertex = order[read]
            read += 1
            for arc in range(offsets[vertex], offsets[vertex + 1]):
                neighbour = indices[arc]
                if label[neighbour] < 0:
                    label[neighbour] = components
                    order[filled] = neighbour
                    filled += 1
        components += 1
    return components


@jit
def component_rows(
    rows: tuple[Integers, Integers, Floats], order: Integers, place: Integers, lo: int, hi: int
) -> tuple[Integers, Integers, Floats]:
    """Return the rows of the vertices order[lo:hi], numbered from 0; place[order[i]] is i."""
    offsets, indices, weights = rows
    begins = np.zeros(hi - lo + 1, np.int64)
    for row in range(lo, hi):
        vertex = order[row]
        begins[row - lo + 1] = begins[row - lo] + offsets[vertex + 1] - offsets[vertex]
    columns, pulls = np.empty(begins[-1], np.int32), np.empty(begins[-1], np.float64)
    for row in range(lo, hi):
        write = begins[row - lo]
        for arc in range(offsets[order[row]], offsets[order[row] + 1]):
            columns[write] = place[indices[arc]] - lo
            pulls[write] = weights[arc]
            write += 1
    return begins, columns, pulls


@jit
def group_neighbours(
    offsets: Integers,
    indices: Integers,
    weights: Floats,
    masses: Floats,
    order: Integers,
    group: Integers,
) -> int:
    """Group each vertex with its ungrouped neighbour of greatest weight by mass, or join a neighbour's group.

    Vertices take turns in `order`.  `group` begins at -1; the number of groups is returned.
    """
    groups = 0
    for place in range(len(order)):
        vertex = order[place]
        if group[vertex] >= 0:
            continue
        best, greatest, joined, most = -1, -1.0, -1, -1.0
        for arc in range(offsets[vertex], offsets[vertex + 1]):
            neighbour = indices[arc]
            pull = weights[arc] / masses[neighbour]
            if group[neighbour] < 0:
                if pull > greatest:
                    best, greatest = neighbour, pull
            elif pull > most:
                joined, most = neighbour, pull
        if best >= 0 or joined < 0:
            group[vertex] = groups
            if best >= 0:
                group[best] = groups
            groups += 1
        else:
            group[vertex] = group[joined]
    return groups


@jit
def contract_rows(
    offsets: Integers, indices: Integers, weights: Floats, group: Integers, groups: int
) -> tuple[Integers, Integers, Floats]:
    """Return the rows of the groups of vertices; weights between two groups are added up."""
    begins = np.zeros(groups + 1, np.int64)
    for vertex in range(len(group)):
        begins[group[vertex] + 1] += 1
    for row in range(groups):
        begins[row + 1] += begins[row]
    members = np.empty(len(group), np.int64)
    filled = begins[:-1].copy()
    for vertex in range(len(group)):
        members[filled[group[vertex]]] = vertex
        filled[group[vertex]] += 1
    contracted = np.zeros(groups + 1, np.int64)
    columns = np.empty(len(indices), np.int32)
    sums = np.empty(len(indices), np.float64)
    slot = np.full(groups, -1, np.int64)
    write = 0
    for row in range(groups):
        first = write
        for member in range(begins[row], begins[row + 1]):
            vertex = members[member]
            for arc in range(offsets[vertex], offsets[vertex + 1]):
                column = group[indices[arc]]
                if column == row:
                    continue
                if slot[column] < first:
                    slot[column] = write
                    columns[write] = column
                    sums[write] = 0.0
                    write += 1
                sums[slot[column]] += weights[arc]
        contracted[row + 1] = write
    return contracted, columns[:write].copy(), sums[:write].copy()


@inline
def spread(value: int) -> int:
    """Put a zero bit before each of the 16 bits of a number."""
    value = (value | (value << 8)) & 0x00FF00FF
    value = (value | (value << 4)) & 0x0F0F0F0F
    value = (value | (value << 2)) & 0x33333333
    return (value | (value << 1)) & 0x55555555


@jit
def cell_codes(x: Floats, y: Floats, codes: Integers) -> float:
    """Write the place of each vertex on a Z-curve, times 2**31, plus its number; return the side of a cell."""
    left, bottom, side = x.min(), y.min(), max(x.max() - x.min(), y.max() - y.min())
    side = max(side * (1 + 1e-9), 1e-9) / CELLS
    for vertex in range(len(x)):
        column = min(int((x[vertex] - left) / side), CELLS - 1)
        row = min(int((y[vertex] - bottom) / side), CELLS - 1)
        codes[vertex] = ((spread(row) << 1 | spread(column)) << 31) | vertex
    return float(side)


@jit
def build_tree(
    codes: Integers,
    x: Floats,
    y: Floats,
    masses: Floats,
    side: float,
    ranges: Integers,
    cells: Floats,
) -> int:
    """Write the tree of cells of sorted vertices in preorder; return its number of nodes.

    Parameters
    ----------
    codes : ndarray of int64, shape (n,)
        Ascending, as from `cell_codes`.
    x, y, masses : ndarray of float64, shape (n,)
        In the order of `codes`.
    side : float
        Of a cell of the finest grid.
    ranges : ndarray of int32, shape (nodes, 3)
        Written: the first vertex and the one after the last, and the node after those below.
    cells : ndarray of float64, shape (nodes, 4)
        Written: the centre of mass, the mass, and the squared side of the cell times `WIDE`.
    """
    stack = np.empty((80, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, len(codes)
    top, nodes = 1, 0
    while top:
        top -= 1
        lo, hi = stack[top, 0], stack[top, 1]
        ranges[nodes, 0], ranges[nodes, 1] = lo, hi
        total = across = up = 0.0
        for vertex in range(lo, hi):
            total += masses[vertex]
            across += masses[vertex] * x[vertex]
            up += masses[vertex] * y[vertex]
        cells[nodes, 0], cells[nodes, 1], cells[nodes, 2] = across / total, up / total, total
        differing = (codes[lo] >> 31) ^ (codes[hi - 1] >> 31)
        digit = -1
        while differing:
            differing >>= 2
            digit += 1
        width = side * 2.0 ** (digit + 1)
        cells[nodes, 3] = WIDE * width * width
        nodes += 1
        if hi - lo <= LEAF or digit < 0:
            continue
        end, shift = hi, 31 + 2 * digit
        while end > lo:  # the last quarter is written last
            quarter, begin = codes[end - 1] >> shift, end - 1
            while begin > lo and codes[begin - 1] >> shift == quarter:
                begin -= 1
            stack[top, 0], stack[top, 1] = begin, end
            top += 1
            end = begin
    following = np.empty(len(codes) + 1, np.int64)
    following[len(codes)] = nodes
    for node in range(nodes - 1, -1, -1):
        ranges[node, 2] = following[ranges[node, 1]]
        following[ranges[node, 0]] = node
    return nodes


@jit
def forces(
    rows: tuple[Integers, Integers, Floats],
    positions: tuple[Floats, Floats],
    order: Integers,
    ordered: tuple[Floats, Floats, Floats],
    tree: tuple[Integers, Floats, int],
    force: tuple[Floats, Floats],
    cut: tuple[int, int],
) -> None:
    """Write the forces on the vertices order[cut[0]:cut[1]].

    Parameters
    ----------
    rows : (offsets, indices, weights)
    positions : (x, y)
        By vertex.
    order : ndarray of int64
        Vertices in the order of the tree.
    ordered : (x, y, masses)
        In that order.
    tree : (ranges, cells, nodes)
        From `build_tree`.
    force : (across, up)
        Written.
    cut : (first, last)
        Range of `order`.
    """
    offsets, indices, weights = rows
    x, y = positions
    xs, ys, masses = ordered
    ranges, cells, nodes = tree
    for place in range(cut[0], cut[1]):
        here_x, here_y = xs[place], ys[place]
        across = up = 0.0
        node = 0
        while node < nodes:
            dx, dy = here_x - cells[node, 0], here_y - cells[node, 1]
            square = dx * dx + dy * dy
            if cells[node, 3] < square:
                push = cells[node, 2] / square
                across += push * dx
                up += push * dy
                node = ranges[node, 2]
            elif ranges[node, 2] == node + 1:
                for peer in range(ranges[node, 0], ranges[node, 1]):
                    dx, dy = here_x - xs[peer], here_y - ys[peer]
                    square = dx * dx + dy * dy
                    if square > LEAST:
                        push = masses[peer] / square
                        across += push * dx
                        up += push * dy
                node += 1
            else:
                node += 1
        vertex = order[place]
        across *= masses[place]
        up *= masses[place]
        for arc in range(offsets[vertex], offsets[vertex + 1]):
            dx, dy = x[indices[arc]] - here_x, y[indices[arc]] - here_y
            pull = weights[arc] * np.sqrt(dx * dx + dy * dy)
            across += pull * dx
            up += pull * dy
        force[0][vertex] = across
        force[1][vertex] = up


@jit
def move(x: Floats, y: Floats, force: tuple[Floats, Floats], masses: Floats, state: Floats) -> None:
    """Move every vertex by a step in the direction of its force, and choose the next step's length.

    The step becomes shorter whenever the energy grows, and longer after several moves that lower it (Hu,
    "Efficient, high-quality force-directed graph drawing", The Mathematica Journal 10, 2005).

    `state` has the length of the step, the energy before this move, and the moves that lowered it in turn.
    """
    step, energy = state[0], 0.0
    for vertex in range(len(x)):
        across, up = force[0][vertex], force[1][vertex]
        square = across * across + up * up
        energy += square / masses[vertex]
        if square > 0:
            length = step * np.sqrt(masses[vertex] / square)
            x[vertex] += length * across
            y[vertex] += length * up
    if energy < state[1]:
        state[2] += 1
        if state[2] >= PATIENCE:
            state[0], state[2] = step / COOLING, 0.0
    else:
        state[0], state[2] = step * COOLING, 0.0
    state[1] = energy


@jit
def relax(
    rows: tuple[Integers, Integers, Floats],
    masses: Floats,
    x: Floats,
    y: Floats,
    step: float,
    iterations: int,
) -> None:
    """Move the vertices of a small graph, with forces between all pairs."""
    offsets, indices, weights = rows
    size = len(x)
    across, up = np.empty(size), np.empty(size)
    state = np.array([step, np.inf, 0.0])
    for _ in range(iterations):
        across[:] = 0.0
        up[:] = 0.0
        for vertex in range(size):
            for peer in range(vertex):
                dx, dy = x[vertex] - x[peer], y[vertex] - y[peer]
                square = dx * dx + dy * dy
                if square > LEAST:
                    push = masses[vertex] * masses[peer] / square
                    across[vertex] += push * dx
                    up[vertex] += push * dy
                    across[peer] -= push * dx
                    up[peer] -= push * dy
            for arc in range(offsets[vertex], offsets[vertex + 1]):
                dx, dy = x[indices[arc]] - x[vertex], y[indices[arc]] - y[vertex]
                pull = weights[arc] * np.sqrt(dx * dx + dy * dy)
                across[vertex] += pull * dx
                up[vertex] += pull * dy
        move(x, y, (across, up), masses, state)


@jit
def shelve(widths: Floats, heights: Floats, row_width: float, x: Floats, y: Floats) -> None:
    """Place boxes on shelves from left to right and downwards: write their upper left corners."""
    left = top = height = 0.0
    for box in range(len(widths)):
        if left > 0 and left + widths[box] > row_width:
            left, top, height = 0.0, top - height, 0.0
        x[box], y[box] = left, top
        left += widths[box]
        height = max(height, heights[box])
