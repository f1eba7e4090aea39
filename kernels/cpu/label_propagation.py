"""The most frequent or heaviest label of each vertex's neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import inline, jit

__all__ = ["choose_labels"]

Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]
Rows = tuple[Integers, Array, Integers]

FREE = -1  # a slot of a table without a label


@inline
def length_of(rows: Rows, more: Rows, row: int) -> int:
    """Return the length of a vertex's row, in both parts."""
    length: int = rows[0][row + 1] - rows[0][row]
    if len(more[1]) > 0:
        length += more[0][row + 1] - more[0][row]
    return length


@inline
def count_row(
    rows: Rows,
    row: int,
    labels: Array,
    table: tuple[Integers, Integers],
    mask: int,
    best: int,
    heaviest: int,
) -> tuple[int, int]:
    """Add a row's weights to its labels' sums; return the best label so far, and its sum.

    Weights are 0 or more, so a sum is the greatest when its last weight is added.
    """
    offsets, indices, weights = rows
    keys, sums = table
    for arc in range(offsets[row], offsets[row + 1]):
        label = labels[indices[arc]]
        slot = (label * 5 + (label >> 12)) & mask
        while keys[slot] != FREE and keys[slot] != label:
            slot = (slot + 1) & mask
        if keys[slot] == FREE:
            keys[slot], sums[slot] = label, 0
        total = sums[slot] + (weights[arc] if len(weights) > 0 else 1)
        sums[slot] = total
        if total > heaviest or (total == heaviest and label < best):
            best, heaviest = label, total
    return best, heaviest


@jit
def choose_labels(rows: Rows, more: Rows, labels: Array, chosen: Array, lo: int, hi: int) -> int:
    """Choose for each vertex the heaviest label of its neighbours; ties go to the least label.

    Parameters
    ----------
    rows, more : tuple of (offsets, indices, weights)
        Rows of neighbours in two parts; the second has no indices if there is only one part.
        Weights are int64 of 0 or more, or empty if each neighbour counts as 1.
    labels : ndarray of int, shape (vertices,)
    chosen : ndarray of int
        Written; a vertex without neighbours keeps its label.
    lo, hi : int
        Range of vertices.

    Returns
    -------
    int
        How many vertices have another label than before.
    """
    longest, changed = 0, 0
    for row in range(lo, hi):
        longest = max(longest, length_of(rows, more, row))
    size = 2
    while size < 2 * longest:
        size *= 2
    table = np.empty(size, np.int64), np.empty(size, np.int64)
    for row in range(lo, hi):
        length = length_of(rows, more, row)
        best, heaviest = labels[row], -1
        if length > 0:
            size = 2
            while size < 2 * length:
                size *= 2
            table[0][:size] = FREE
            best, heaviest = count_row(rows, row, labels, table, size - 1, best, heaviest)
            if len(more[1]) > 0:
                best, heaviest = count_row(more, row, labels, table, size - 1, best, heaviest)
        chosen[row] = best
        changed += best != labels[row]
    return changed
