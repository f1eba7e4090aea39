"""Edges of random graphs, each a function of the seed and of its own number alone.

So any thread can make any range of edges, in any order and in pieces of any size, and the graph is
always the same.  The generator is SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), used as a hash
of a counter.

Compiled integers are 64 bits wide and wrap around.  They are masked to 64 bits, so that the same
source is correct with Python's unbounded integers.  Compiled integers here are signed, since a mix
of signed and unsigned ones would silently give floats.  So constants above 2**63 are written as
negative numbers, and right shifts are masked.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import inline, jit

__all__ = [
    "grid_edges",
    "key_of",
    "mix",
    "permute",
    "preferential_edges",
    "rmat_edges",
    "split_pairs",
    "uniform_floats",
    "uniform_integers",
]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MASK = 0xFFFFFFFFFFFFFFFF
LOW = 0xFFFFFFFF
GOLDEN = 0x9E3779B97F4A7C15 - 2**64
FIRST = 0xBF58476D1CE4E5B9 - 2**64
SECOND = 0x94D049BB133111EB - 2**64
ROUNDS = 6  # of the Feistel network; four already give a pseudo-random permutation
TO_UNIT = 2.0**-53


@inline
def mix(value: int) -> int:
    """Hash 64 bits to 64 bits, one to one: the finalizer of SplitMix64."""
    value = ((value ^ ((value >> 30) & 0x3FFFFFFFF)) * FIRST) & MASK
    value = ((value ^ ((value >> 27) & 0x1FFFFFFFFF)) * SECOND) & MASK
    return value ^ ((value >> 31) & 0x1FFFFFFFF)


@inline
def unit(key: int, counter: int) -> float:
    """Return the uniform float64 in [0, 1) that belongs to `counter`."""
    drawn: float = ((mix((key + counter * GOLDEN) & MASK) >> 11) & 0x1FFFFFFFFFFFFF) * TO_UNIT
    return drawn


@inline
def permuted(value: int, size: int, half: int, key: int) -> int:
    """Return the image of `value` under a pseudo-random permutation of `range(size)`.

    A Feistel network permutes the numbers of 2 * `half` bits, of which there are at least `size`.
    A number outside the range is permuted again until it is inside ("cycle walking"); its cycle
    must return to the range.
    """
    low_bits = (1 << half) - 1
    while True:
        high, right = value >> half, value & low_bits
        for turn in range(ROUNDS):
            hashed = mix((key + right + turn * GOLDEN) & MASK)
            high, right = right, high ^ (hashed & low_bits)
        value = (high << half) | right
        if value < size:
            return value


@jit
def rmat_edges(
    source: Integers,
    destination: Integers,
    first: int,
    lo: int,
    hi: int,
    key: int,
    vertices: int,
    levels: int,
    thresholds: tuple[int, int, int],
) -> None:
    """Write the R-MAT edges numbered `first + lo` to `first + hi` at `lo` to `hi`.

    Parameters
    ----------
    source, destination : ndarray of int64
        Written from `lo` to `hi`.
    first, lo, hi : int
        Edge number of slot 0, and the range of slots to write.
    key : int
        The seed, hashed.
    vertices : int
        Rows and columns of the adjacency matrix; any number, not only powers of two.
    levels : int
        How often a quadrant is chosen: the binary logarithm of `vertices`, rounded up.
    thresholds : tuple of three ints
        a, a + b and a + b + c as fractions of 2**32.
    """
    a, ab, abc = thresholds
    for slot in range(lo, hi):
        state = mix((key + (first + slot) * GOLDEN) & MASK)
        row, rows, column, columns = 0, vertices, 0, vertices
        bits = 0
        for level in range(levels):
            if level & 1 == 0:  # one hash is used for two levels, 32 bits each
                state = (state + GOLDEN) & MASK
                bits = mix(state)
            draw = bits & LOW
            bits = (bits >> 32) & LOW
            below, beside = rows >> 1, columns >> 1
            above, before = rows - below, columns - beside
            # No branches: the next quadrant cannot be predicted.
            down = int(draw >= ab) & int(rows > 1)
            right = ((int(draw >= a) & int(draw < ab)) | int(draw >= abc)) & int(columns > 1)
            row += down * above
            column += right * before
            rows = above + down * (below - above)
            columns = before + right * (beside - before)
        source[slot] = row
        destination[slot] = column


@jit
def permute(values: Integers, lo: int, hi: int, size: int, half: int, key: int) -> None:
    """Apply one permutation to each of `values[lo:hi]`, numbers below `size`.

    `half` is half the bits of the permuted domain: 4 ** half >= size.
    """
    for slot in range(lo, hi):
        values[slot] = permuted(int(values[slot]), size, half, key)


@jit
def split_pairs(
    source: Integers, destination: Integers, lo: int, hi: int, vertices: int, directed: bool
) -> None:
    """Convert the pair numbers in `source[lo:hi]` to pairs of different vertices, in place.

    Directed pairs are numbered 0 to n(n - 1) - 1, row by row.  The n(n - 1) / 2 unordered pairs are
    numbered on a ring of an odd number of vertices, each paired with the next half of the ring.
    For an even n the last vertex is not on the ring, and is paired with all vertices.
    """
    ring = vertices - 1 + (vertices & 1)
    width = vertices - 1 if directed else vertices >> 1
    for slot in range(lo, hi):
        number = int(source[slot])
        first, step = number // width, number % width
        if directed:
            second = step + int(step >= first)
        elif ring < vertices and step == width - 1:
            second = vertices - 1
        else:
            second = (first + 1 + step) % ring
            first, second = min(first, second), max(first, second)
        source[slot] = first
        destination[slot] = second


@jit
def grid_edges(
    source: Integers,
    destination: Integers,
    first: int,
    lo: int,
    hi: int,
    key: int,
    rows: int,
    columns: int,
    drop: float,
) -> None:
    """Write the four edges of each cell of a grid: to the right, left, lower and upper cell.

    An edge's number, `first` plus its slot, is `4 * cell + direction`.  The source is -1 if there
    is no neighbour, or if the edge is left out, with probability `drop`.
    """
    for slot in range(lo, hi):
        counter = first + slot
        cell, direction = counter >> 2, counter & 3
        row, column = cell // columns, cell % columns
        if direction < 2:
            column += 1 - 2 * direction
        else:
            row += 5 - 2 * direction
        inside = 0 <= row < rows and 0 <= column < columns
        source[slot] = cell if inside and unit(key, counter) >= drop else -1
        destination[slot] = row * columns + column


@jit
def preferential_edges(
    source: Integers, destination: Integers, first: int, lo: int, hi: int, key: int, degree: int
) -> None:
    """Write the edges of a graph that grows: each new vertex chooses ends of edges at random.

    Edge `e` belongs to vertex `e // degree + 1`.  It chooses one of the two ends of one of the edges of
    earlier vertices; a target that is not known yet is found by repeating that edge's choice (Sanders and
    Schulz, "Scalable generation of scale-free graphs", Information Processing Letters 116, 2016).
    """
    for slot in range(lo, hi):
        edge = first + slot
        source[slot] = edge // degree + 1
        while True:
            earlier = edge // degree * degree  # edges of earlier vertices
            if earlier == 0:
                destination[slot] = 0
                break
            end = int(unit(key, edge) * (2 * earlier))
            edge = end >> 1
            if end & 1 == 0:
                destination[slot] = edge // degree + 1
                break


@jit
def uniform_floats(
    values: Floats, first: int, lo: int, hi: int, key: int, low: float, width: float
) -> None:
    """Write uniform numbers in [low, low + width)."""
    for slot in range(lo, hi):
        values[slot] = low + width * unit(key, first + slot)


@jit
def uniform_integers(
    values: Integers, first: int, lo: int, hi: int, key: int, low: int, count: int
) -> None:
    """Write uniform integers in [low, low + count); `count` is at most 2**32."""
    for slot in range(lo, hi):
        draw = (mix((key + (first + slot) * GOLDEN) & MASK) >> 32) & LOW
        values[slot] = low + (((draw * count) >> 32) & LOW)


# `mix` for the interpreter: the compiled one types Python's integers by their values.
_mix: Any = getattr(mix, "py_func", mix)


def key_of(seed: int, stream: int) -> int:
    """Return the signed 64-bit key of one stream of random numbers of a seed.

    Edges, weights, left-out edges and permutations each have a stream of their own.

    Parameters
    ----------
    seed : int
        Below 2**64.
    stream : int
        Number of the seed's stream.

    Returns
    -------
    int
        The `key` of the kernels.
    """
    key: int = _mix((_mix(seed & MASK) + stream * GOLDEN) & MASK)
    return key - 2**64 if key >= 2**63 else key
