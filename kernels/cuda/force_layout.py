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
    shared,
    shuffle_down,
    sync_block,
    thread,
    threads,
)

__all__ = [
    "CONTROLS",
    "PARTS",
    "STEP",
    "THREADS",
    "attract",
    "move_vertices",
    "order_vertices",
    "prepare_move",
    "relax_few",
    "repel",
    "write_codes",
    "write_nodes",
]

CELLS = 1 << 16  # as in kernels/cpu/layout.py, as all of these
LEAF = 6
LEAST = 1e-12
WIDE = 1.44
NUMBER = (1 << 31) - 1  # the bits of a code that are the vertex's number
FINE = 1 << 15  # units along the side of a cell of the finest grid, in which masses are summed
PATIENCE, COOLING = 5, 0.9
# Places in `control`: the corner of the grid, the side of its cells, the length of the next step, the energy before the
# last one, and the moves that lowered it in turn
LEFT, BOTTOM, SIDE, STEP, ENERGY, LOWERED, CONTROLS = 0, 1, 2, 3, 4, 5, 6
PARTS = 5  # numbers of a block: its least and greatest x and y, and its energy
THREADS = 256  # of blocks that fold, at most
SUM, LEAST_ONE, GREATEST_ONE = 0, 1, 2


@inline
def spread(value: Any) -> Any:
    """Put a zero bit before each of the 16 bits of a number."""
    value = (value | (value << 8)) & 0x00FF00FF
    value = (value | (value << 4)) & 0x0F0F0F0F
    value = (value | (value << 2)) & 0x33333333
    return (value | (value << 1)) & 0x55555555


@inline
def fold_block(pieces: Any, value: Any, how: Any) -> Any:
    """Return, to all threads of a block, the sum, the least or the greatest of their values."""
    pieces[thread()] = value
    sync_block()
    count = threads()
    while count > 1:
        half = (count + 1) // 2
        if thread() < count - half:
            first, second = pieces[thread()], pieces[thread() + half]
            folded = first + second
            if how == LEAST_ONE:
                folded = min(first, second)
            if how == GREATEST_ONE:
                folded = max(first, second)
            pieces[thread()] = folded
        sync_block()
        count = half
    total = pieces[0]
    sync_block()
    return total


@kernel
def write_codes(positions: Any, control: Any, codes: Any, size: Any) -> None:
    """Write the place of each vertex on a Z-curve, times 2**31, plus its number.

    Parameters
    ----------
    positions : (float64[size], float64[size])
        x and y.
    control : float64[CONTROLS]
    codes : int64[size]
        Written.
    size : int
    """
    x, y = positions
    left, bottom, side = control[LEFT], control[BOTTOM], control[SIDE]
    for vertex in range(block() * threads() + thread(), size, blocks() * threads()):
        last = np.int64(CELLS - 1)
        column = min(np.int64((x[vertex] - left) / side), last)
        row = min(np.int64((y[vertex] - bottom) / side), last)
        codes[vertex] = ((spread(row) << 1 | spread(column)) << 31) | np.int64(vertex)


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
def order_vertices(
    codes: Any, positions: Any, masses: Any, control: Any, ordered: Any, terms: Any, size: Any
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
    control : float64[CONTROLS]
    ordered : (float64[size], float64[size], float64[size])
        x, y and masses in that order.  Written.
    terms : int64[4 * (size + 1)]
        Written but for the first of each fourth: masses, their products with x and with y, in units from the corner,
        and how many nodes of the tree begin at each place.
    size : int
    """
    x, y = positions
    ordered_x, ordered_y, ordered_masses = ordered
    left, bottom, unit = control[LEFT], control[BOTTOM], control[SIDE] / FINE
    length = np.int64(size + 1)
    for at in range(block() * threads() + thread(), size, blocks() * threads()):
        place = np.int64(at)
        vertex = np.int64(codes[place]) & np.int64(NUMBER)
        across, up, mass = x[vertex], y[vertex], masses[vertex]
        ordered_x[place], ordered_y[place], ordered_masses[place] = across, up, mass
        whole, count = np.int64(mass), np.int64(0)
        end = widest_end(codes, place, size)
        while end > place:
            count += 1
            end = end_below(codes, place, end, size)
        terms[place + 1] = whole
        terms[length + place + 1] = whole * np.int64((across - left) / unit)
        terms[2 * length + place + 1] = whole * np.int64((up - bottom) / unit)
        terms[3 * length + place + 1] = count


@kernel
def write_nodes(codes: Any, sums: Any, control: Any, ranges: Any, cells: Any, size: Any) -> None:
    """Write the tree in preorder.

    Parameters
    ----------
    codes : int64[size]
        Ascending.
    sums : int64[4 * (size + 1)]
        Running sums of the terms of `order_vertices`, of which only differences within a fourth count.
    control : float64[CONTROLS]
    ranges : int32[3 * nodes]
        Written: the first vertex and the one after the last, and the node after those below.
    cells : float64[4 * nodes]
        Written: the centre of mass, the mass, and the squared side of the cell times `WIDE`.
    size : int
    """
    left, bottom, side = control[LEFT], control[BOTTOM], control[SIDE]
    unit, length = side / FINE, np.int64(size + 1)
    for at in range(block() * threads() + thread(), size, blocks() * threads()):
        place = np.int64(at)
        nodes_before = sums[3 * length]
        node, end = sums[3 * length + place] - nodes_before, widest_end(codes, place, size)
        while end > place:
            mass = np.float64(sums[end] - sums[place])
            of_x = np.float64(sums[length + end] - sums[length + place])
            of_y = np.float64(sums[2 * length + end] - sums[2 * length + place])
            ranges[3 * node], ranges[3 * node + 1] = np.int32(place), np.int32(end)
            ranges[3 * node + 2] = np.int32(sums[3 * length + end] - nodes_before)
            cells[4 * node] = left + unit * (of_x / mass)
            cells[4 * node + 1] = bottom + unit * (of_y / mass)
            cells[4 * node + 2] = mass
            shift, width = first_bit(codes, place, end - 1), side
            while shift > 29:
                width *= 2.0
                shift -= 2
            cells[4 * node + 3] = WIDE * width * width
            node += 1
            end = end_below(codes, place, end, size)


@kernel
def repel(
    codes: Any, ordered: Any, sums: Any, ranges: Any, cells: Any, across: Any, up: Any, size: Any
) -> None:  # fmt: skip
    """Write the force of all others on each vertex, a thread for a vertex in the order of the tree.

    Parameters
    ----------
    codes : int64[size]
        Ascending.
    ordered : (float64[size], float64[size], float64[size])
        x, y and masses in their order.
    sums, ranges, cells : int64[4 * (size + 1)], int32[3 * nodes], float64[4 * nodes]
        See `write_nodes`.
    across, up : float64[size]
        By vertex.  Written.
    size : int
    """
    xs, ys, masses = ordered
    nodes = np.int64(sums[4 * (size + 1) - 1] - sums[3 * (size + 1)])
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
    positions: Any, across: Any, up: Any, masses: Any, control: Any, parts: Any, size: Any
) -> None:  # fmt: skip
    """Move every vertex by a step in the direction of its force; at most `THREADS` in a block.

    Parameters
    ----------
    positions : (float64[size], float64[size])
        x and y.  Written.
    across, up, masses : float64[size]
    control : float64[CONTROLS]
    parts : float64[PARTS * blocks]
        The least and greatest x and y of a block's vertices, and their energy before the move.  Written.
    size : int
    """
    pieces = shared(THREADS, np.float64)
    x, y = positions
    step, energy = control[STEP], 0.0
    left = bottom = np.inf
    right = top = -np.inf
    for vertex in range(block() * threads() + thread(), size, blocks() * threads()):
        force_x, force_y, mass = across[vertex], up[vertex], masses[vertex]
        at_x, at_y = x[vertex], y[vertex]
        square = force_x * force_x + force_y * force_y
        energy += square / mass
        if square > 0:
            length = step * math.sqrt(mass / square)
            at_x += length * force_x
            at_y += length * force_y
            x[vertex], y[vertex] = at_x, at_y
        left, right = min(left, at_x), max(right, at_x)
        bottom, top = min(bottom, at_y), max(top, at_y)
    left, right = fold_block(pieces, left, LEAST_ONE), fold_block(pieces, right, GREATEST_ONE)
    bottom, top = fold_block(pieces, bottom, LEAST_ONE), fold_block(pieces, top, GREATEST_ONE)
    energy = fold_block(pieces, energy, SUM)
    if thread() == 0:
        first = PARTS * block()
        parts[first], parts[first + 1] = left, right
        parts[first + 2], parts[first + 3] = bottom, top
        parts[first + 4] = energy


@kernel
def prepare_move(parts: Any, control: Any, count: Any) -> None:
    """Lay the grid over the vertices, and choose the length of the next step; one block.

    The step becomes shorter whenever the energy grows, and longer after several moves that lower it.

    Parameters
    ----------
    parts : float64[PARTS * count]
        See `move_vertices`.
    control : float64[CONTROLS]
        Written.
    count : int
        Number of blocks.
    """
    pieces = shared(THREADS, np.float64)
    left = bottom = np.inf
    right = top = -np.inf
    energy = 0.0
    for part in range(thread(), count, threads()):
        left, right = min(left, parts[PARTS * part]), max(right, parts[PARTS * part + 1])
        bottom, top = min(bottom, parts[PARTS * part + 2]), max(top, parts[PARTS * part + 3])
        energy += parts[PARTS * part + 4]
    left, right = fold_block(pieces, left, LEAST_ONE), fold_block(pieces, right, GREATEST_ONE)
    bottom, top = fold_block(pieces, bottom, LEAST_ONE), fold_block(pieces, top, GREATEST_ONE)
    energy = fold_block(pieces, energy, SUM)
    if thread() == 0:
        control[LEFT], control[BOTTOM] = left, bottom
        control[SIDE] = max(max(right - left, top - bottom) * (1 + 1e-9), 1e-9) / CELLS
        choose_step(control, energy)


@inline
def choose_step(control: Any, energy: Any) -> None:
    """Choose the length of the next step."""
    if energy < control[ENERGY]:
        control[LOWERED] += 1.0
        if control[LOWERED] >= PATIENCE:
            control[STEP], control[LOWERED] = control[STEP] / COOLING, 0.0
    else:
        control[STEP], control[LOWERED] = control[STEP] * COOLING, 0.0
    control[ENERGY] = energy


@kernel
def relax_few(
    rows: Any, unit: Any, positions: Any, masses: Any, forces: Any, control: Any, moves: Any, size: Any
) -> None:  # fmt: skip
    """Move the vertices of a small graph several times, with forces between all pairs; one block.

    Parameters
    ----------
    rows : (int64[size + 1], int[arcs], int64[arcs])
        Neighbours, and the weights of edges, in `unit`.
    unit : float64
    positions : (float64[size], float64[size])
        x and y.  Written.
    masses : float64[size]
    forces : (float64[size], float64[size])
        Overwritten.
    control : float64[CONTROLS]
        Overwritten.
    moves, size : int
    """
    pieces = shared(THREADS, np.float64)
    offsets, indices, weights = rows
    x, y = positions
    across, up = forces
    for _ in range(moves):
        energy = 0.0
        for at in range(thread(), size, threads()):
            vertex = np.int64(at)
            here_x, here_y, mass = x[vertex], y[vertex], masses[vertex]
            force_x = force_y = 0.0
            for other in range(size):
                peer = np.int64(other)
                dx, dy = here_x - x[peer], here_y - y[peer]
                square = dx * dx + dy * dy
                if square > LEAST:
                    push = mass * masses[peer] / square
                    force_x += push * dx
                    force_y += push * dy
            for arc in range(np.int64(offsets[vertex]), np.int64(offsets[vertex + 1])):
                neighbour = np.int64(indices[arc])
                dx, dy = x[neighbour] - here_x, y[neighbour] - here_y
                pull = unit * np.float64(weights[arc]) * math.sqrt(dx * dx + dy * dy)
                force_x += pull * dx
                force_y += pull * dy
            across[vertex], up[vertex] = force_x, force_y
            energy += (force_x * force_x + force_y * force_y) / mass
        energy = fold_block(pieces, energy, SUM)
        step = control[STEP]
        for at in range(thread(), size, threads()):
            vertex = np.int64(at)
            force_x, force_y = across[vertex], up[vertex]
            square = force_x * force_x + force_y * force_y
            if square > 0:
                length = step * math.sqrt(masses[vertex] / square)
                x[vertex] += length * force_x
                y[vertex] += length * force_y
        sync_block()
        if thread() == 0:
            choose_step(control, energy)
        sync_block()
