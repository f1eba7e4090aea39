"""Forces of a layout: a tree of cells over vertices sorted along a Z-curve, repulsion, attraction, and moves.

The tree is that of `kernels.cpu.layout`: ranges of vertices in preorder, each with the node after those below.  A thread
finds the nodes whose ranges begin with its vertex.  Centres of mass are differences of running sums of integers, which
do not depend on the order of additions, so positions repeat bit by bit.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    block,
    blocks,
    inline,
    kernel,
    lane,
    shuffle_down,
    thread,
    threads,
)

__all__ = [
    "attract",
    "count_nodes",
    "move_vertices",
    "order_vertices",
    "repel",
    "write_codes",
    "write_nodes",
]

CELLS = 1 << 16  # as in kernels/cpu/layout.py, as all of these
LEAF = 6
LEAST = 1e-12
WIDE = 1.44
NUMBER = (1 << 31) - 1  # the bits of a code that are the vertex's number


@inline
def spread(value: Any) -> Any:
    """Put a zero bit before each of the 16 bits of a number."""
    value = (value | (value << 8)) & 0x00FF00FF
    value = (value | (value << 4)) & 0x0F0F0F0F
    value = (value | (value << 2)) & 0x33333333
    return (value | (value << 1)) & 0x55555555


@kernel
def write_codes(x: Any, y: Any, left: Any, bottom: Any, side: Any, codes: Any, size: Any) -> None:
    """Write the place of each vertex on a Z-curve, times 2**31, plus its number.

    Parameters
    ----------
    x, y : float64[size]
    left, bottom, side : float64
        The least coordinates, and the side of a cell of the finest grid.
    codes : int64[size]
        Written.
    size : int
    """
    for vertex in range(block() * threads() + thread(), size, blocks() * threads()):
        last = np.int64(CELLS - 1)
        column = min(np.int64((x[vertex] - left) / side), last)
        row = min(np.int64((y[vertex] - bottom) / side), last)
        codes[vertex] = ((spread(row) << 1 | spread(column)) << 31) | np.int64(vertex)


@kernel
def order_vertices(
    codes: Any, positions: Any, masses: Any, left: Any, bottom: Any, unit: Any, ordered: Any, sums: Any, size: Any
) -> None:  # fmt: skip
    """Copy vertices in the order of their codes, and write what running sums add up.

    Parameters
    ----------
    codes : int64[size]
        Ascending.
    positions : (float64[size], float64[size])
        x and y, by vertex.
    masses : float64[size]
        Integers, by vertex.
    left, bottom, unit : float64
        The least coordinates, and the length that is 1 in sums.
    ordered : (float64[size], float64[size], float64[size])
        x, y and masses in that order.  Written.
    sums : (int64[size + 1], int64[size + 1], int64[size + 1])
        Masses, and products with x and y; from the second entry on.  Written.
    size : int
    """
    x, y = positions
    ordered_x, ordered_y, ordered_masses = ordered
    of_masses, of_x, of_y = sums
    for place in range(block() * threads() + thread(), size, blocks() * threads()):
        vertex = np.int64(codes[place]) & np.int64(NUMBER)
        across, up, mass = x[vertex], y[vertex], masses[vertex]
        ordered_x[place], ordered_y[place], ordered_masses[place] = across, up, mass
        whole = np.int64(mass)
        of_masses[place + 1] = whole
        of_x[place + 1] = whole * np.int64((across - left) / unit)
        of_y[place + 1] = whole * np.int64((up - bottom) / unit)


@inline
def cell_end(codes: Any, place: Any, shift: Any, size: Any) -> Any:
    """Return the place after the last whose code is that of `place` from the bit `shift` on."""
    cell = codes[place] >> shift
    low, high = place + 1, np.int64(size)
    while low < high:
        middle = (low + high) // 2
        if codes[middle] >> shift == cell:
            low = middle + 1
        else:
            high = middle
    return low


@inline
def first_bit(codes: Any, one: Any, other: Any) -> Any:
    """Return the first bit of a code that two vertices in neighbouring quarters share, or 0 if they share the cell."""
    differing = (codes[one] ^ codes[other]) >> 31
    shift = np.int64(0)
    if differing != 0:
        shift = np.int64(31)
        while differing > 3:
            differing >>= 2
            shift += 2
    return shift


@inline
def is_divided(codes: Any, place: Any, shift: Any, size: Any) -> Any:
    """Return whether a cell has more than `LEAF` vertices."""
    cell, count = codes[place] >> shift, np.int64(1)
    at = place - 1
    while at >= 0 and count <= LEAF and codes[at] >> shift == cell:
        count += 1
        at -= 1
    at = place + 1
    while at < size and count <= LEAF and codes[at] >> shift == cell:
        count += 1
        at += 1
    return count > LEAF


@inline
def widest_end(codes: Any, place: Any, size: Any) -> Any:
    """Return where the largest node ends that begins at a place; the place itself if there is none."""
    end = np.int64(size)
    if place > 0:
        end = place
        shift = first_bit(codes, place - 1, place)
        if shift > 0 and is_divided(codes, place, shift + 2, size):
            end = cell_end(codes, place, shift, size)
    return end


@inline
def end_below(codes: Any, place: Any, end: Any, size: Any) -> Any:
    """Return where the next node ends that begins at the same place; the place itself if this is not divided."""
    below = place
    if end - place > LEAF:
        shift = first_bit(codes, place, end - 1)
        if shift > 0:
            below = cell_end(codes, place, shift, size)
    return below


@kernel
def count_nodes(codes: Any, counts: Any, size: Any) -> None:
    """Write how many nodes of the tree begin at each place.

    Parameters
    ----------
    codes : int64[size]
        Ascending.
    counts : int64[size + 1]
        From the second entry on.  Written.
    size : int
    """
    for at in range(block() * threads() + thread(), size, blocks() * threads()):
        place, count = np.int64(at), np.int64(0)
        end = widest_end(codes, place, size)
        while end > place:
            count += 1
            end = end_below(codes, place, end, size)
        counts[place + 1] = count


@kernel
def write_nodes(
    codes: Any, firsts: Any, sums: Any, left: Any, bottom: Any, unit: Any, ranges: Any, cells: Any, size: Any
) -> None:  # fmt: skip
    """Write the tree in preorder.

    Parameters
    ----------
    codes : int64[size]
        Ascending.
    firsts : int64[size + 1]
        The number of nodes that begin before each place.
    sums : (int64[size + 1], int64[size + 1], int64[size + 1])
        Running sums of masses, and of their products with x and y.
    left, bottom, unit : float64
        See `order_vertices`.
    ranges : int32[3 * nodes]
        Written: the first vertex and the one after the last, and the node after those below.
    cells : float64[4 * nodes]
        Written: the centre of mass, the mass, and the squared side of the cell times `WIDE`.
    size : int
    """
    of_masses, of_x, of_y = sums
    for at in range(block() * threads() + thread(), size, blocks() * threads()):
        place = np.int64(at)
        node, end = np.int64(firsts[place]), widest_end(codes, place, size)
        while end > place:
            mass = of_masses[end] - of_masses[place]
            ranges[3 * node], ranges[3 * node + 1] = np.int32(place), np.int32(end)
            ranges[3 * node + 2] = np.int32(firsts[end])
            cells[4 * node] = left + unit * (np.float64(of_x[end] - of_x[place]) / mass)
            cells[4 * node + 1] = bottom + unit * (np.float64(of_y[end] - of_y[place]) / mass)
            cells[4 * node + 2] = np.float64(mass)
            shift = first_bit(codes, place, end - 1)
            width = unit * 32768.0  # the side of a cell of the finest grid, which is as many units
            while shift > 29:
                width *= 2.0
                shift -= 2
            cells[4 * node + 3] = WIDE * width * width
            node += 1
            end = end_below(codes, place, end, size)


@kernel
def repel(
    codes: Any, ordered: Any, firsts: Any, ranges: Any, cells: Any, across: Any, up: Any, size: Any
) -> None:  # fmt: skip
    """Write the force of all others on each vertex, a thread for a vertex in the order of the tree.

    Parameters
    ----------
    codes : int64[size]
        Ascending.
    ordered : (float64[size], float64[size], float64[size])
        x, y and masses in their order.
    firsts, ranges, cells : int64[size + 1], int32[3 * nodes], float64[4 * nodes]
        See `write_nodes`.
    across, up : float64[size]
        By vertex.  Written.
    size : int
    """
    xs, ys, masses = ordered
    nodes = np.int64(firsts[size])
    for place in range(block() * threads() + thread(), size, blocks() * threads()):
        here_x, here_y = xs[place], ys[place]
        force_x = force_y = 0.0
        node = np.int64(0)
        while node < nodes:
            dx, dy = here_x - cells[4 * node], here_y - cells[4 * node + 1]
            square = dx * dx + dy * dy
            after = np.int64(ranges[3 * node + 2])
            if cells[4 * node + 3] < square:
                push = cells[4 * node + 2] / square
                force_x += push * dx
                force_y += push * dy
                node = after
            else:
                if after == node + 1:
                    for at_peer in range(ranges[3 * node], ranges[3 * node + 1]):
                        peer = np.int64(at_peer)
                        dx, dy = here_x - xs[peer], here_y - ys[peer]
                        square = dx * dx + dy * dy
                        if square > LEAST:
                            push = masses[peer] / square
                            force_x += push * dx
                            force_y += push * dy
                node += 1
        vertex = np.int64(codes[place]) & np.int64(NUMBER)
        across[vertex] = force_x * masses[place]
        up[vertex] = force_y * masses[place]


@kernel
def attract(
    rows: Any, unit: Any, positions: Any, across: Any, up: Any, size: Any
) -> None:  # fmt: skip
    """Add the force of its neighbours on each vertex, a warp for a vertex.

    Parameters
    ----------
    rows : (int64[size + 1], int[arcs], int64[arcs])
        Neighbours, and the weights of edges, in `unit`.
    unit : float64
    positions : (float64[size], float64[size])
        x and y.
    across, up : float64[size]
        Added to.
    size : int
    """
    offsets, indices, weights = rows
    x, y = positions
    warps = threads() // 32
    for at in range(block() * warps + thread() // 32, size, blocks() * warps):
        vertex = np.int64(at)
        here_x, here_y = x[vertex], y[vertex]
        force_x = force_y = 0.0
        for at_arc in range(np.int64(offsets[vertex]) + lane(), np.int64(offsets[vertex + 1]), 32):
            arc = np.int64(at_arc)
            neighbour = np.int64(indices[arc])
            dx, dy = x[neighbour] - here_x, y[neighbour] - here_y
            pull = unit * np.float64(weights[arc]) * math.sqrt(dx * dx + dy * dy)
            force_x += pull * dx
            force_y += pull * dy
        distance = 16
        while distance > 0:
            force_x += shuffle_down(FULL, force_x, distance)
            force_y += shuffle_down(FULL, force_y, distance)
            distance //= 2
        if lane() == 0:
            across[vertex] += force_x
            up[vertex] += force_y


@kernel
def move_vertices(
    positions: Any, across: Any, up: Any, masses: Any, step: Any, energies: Any, size: Any
) -> None:  # fmt: skip
    """Move every vertex by a step in the direction of its force, and write its energy before that.

    Parameters
    ----------
    positions : (float64[size], float64[size])
        x and y.  Written.
    across, up, masses : float64[size]
    step : float64
    energies : float64[size]
        Written.
    size : int
    """
    x, y = positions
    for vertex in range(block() * threads() + thread(), size, blocks() * threads()):
        force_x, force_y, mass = across[vertex], up[vertex], masses[vertex]
        square = force_x * force_x + force_y * force_y
        energies[vertex] = square / mass
        if square > 0:
            length = step * math.sqrt(mass / square)
            x[vertex] += length * force_x
            y[vertex] += length * force_y
