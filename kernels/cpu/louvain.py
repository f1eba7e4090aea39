"""Moves of vertices to the community of a neighbour that raises modularity most."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import inline, jit

__all__ = ["choose_communities"]

Integers = npt.NDArray[np.int64]

FREE = -1  # a slot of a table without a community


@inline
def slot_of(keys: Integers, mask: int, label: int) -> int:
    """Return the slot of a community in a table, or the free one where it belongs."""
    slot: int = (label * 5 + (label >> 12)) & mask
    while keys[slot] != FREE and keys[slot] != label:
        slot = (slot + 1) & mask
    return slot


@jit
def choose_communities(
    rows: tuple[Integers, Integers, Integers],
    degrees: Integers,
    communities: tuple[Integers, Integers, Integers],
    factor: float,
    strict: bool,
    listed: Integers,
    chosen: Integers,
    lo: int,
    hi: int,
) -> None:
    """Choose for listed vertices the best community, from the same state for all.

    The gain of a community is the weight of the edges to it, minus the degree times `factor` times
    the community's total, the vertex itself left out.  A vertex moves only if the gain is greater
    than that of its own community; of several with the greatest gain, to the least.  Of two vertices
    alone in their communities, only the one with the greater label moves; if strict, neither.

    Parameters
    ----------
    rows : tuple of (offsets, indices, weights)
        Neighbours without self-loops.
    degrees : ndarray of int64, shape (vertices,)
    communities : tuple of (labels, totals, sizes)
        By vertex; by community: sum of degrees, and number of vertices.
    factor : float
    strict : bool
    listed : ndarray of int64
    chosen : ndarray of int64
        Written: a community for each listed vertex.
    lo, hi : int
        Range of the list.
    """
    offsets, indices, weights = rows
    labels, totals, sizes = communities
    longest = 0
    for place in range(lo, hi):
        vertex = listed[place]
        longest = max(longest, offsets[vertex + 1] - offsets[vertex])
    size = 4
    while size < 2 * longest:
        size *= 2
    keys, sums = np.empty(size, np.int64), np.empty(size, np.int64)
    for place in range(lo, hi):
        vertex = listed[place]
        first, last = offsets[vertex], offsets[vertex + 1]
        size = 4
        while size < 2 * (last - first):
            size *= 2
        keys[:size] = FREE
        own, inside = labels[vertex], 0
        for arc in range(first, last):
            label = labels[indices[arc]]
            if label == own:
                inside += weights[arc]
                continue
            slot = slot_of(keys, size - 1, label)
            if keys[slot] == FREE:
                keys[slot], sums[slot] = label, 0
            sums[slot] += weights[arc]
        rate = degrees[vertex] * factor
        best, most = own, inside - rate * (totals[own] - degrees[vertex])
        for slot in range(size):
            label = keys[slot]
            if label == FREE:
                continue
            if (strict or label > own) and sizes[own] == 1 and sizes[label] == 1:
                continue
            gain = sums[slot] - rate * totals[label]
            if gain > most or (gain == most and best != own and label < best):
                best, most = label, gain
        chosen[place] = best
