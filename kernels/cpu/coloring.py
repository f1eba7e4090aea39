"""Greedy colouring in an order of priorities.

Each vertex, by falling priority, takes the least colour that no neighbour of higher priority has.  A
vertex waits if such a neighbour, on another rank, has no colour yet.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import jit

__all__ = ["color_ready"]

Integers = npt.NDArray[np.int64]
Rows = tuple[Integers, npt.NDArray[np.integer]]


@jit
def color_ready(
    rows: Rows,
    other_rows: Rows,
    listed: Integers,
    priority: Integers,
    color: Integers,
    marks: Integers,
    most: int,
) -> tuple[int, int]:
    """Colour the listed vertices whose neighbours of higher priority have colours.

    Parameters
    ----------
    rows, other_rows : tuple of (offsets, indices)
        Neighbours; the second has no indices if the first has all.
    listed : ndarray of int64
        Vertices without colours, by falling priority.  Those that wait are moved to the front, and
        behind them those that were coloured.
    priority : ndarray of int64, shape (size,)
    color : ndarray of int64, shape (size,)
        −1 without a colour.
    marks : ndarray of int64
        Scratch, longer than every vertex has neighbours; no entry is a vertex of the list plus 1.
    most : int
        After so many arcs the other vertices wait.

    Returns
    -------
    waiting, arcs : int
        How many vertices wait, and how many arcs were read.
    """
    waiting, arcs, next_place = 0, 0, len(listed)
    done = np.empty(len(listed), np.int64)
    for place in range(len(listed)):
        vertex, ready = listed[place], True
        for offsets, indices in (rows, other_rows):
            if not len(indices):
                continue
            for arc in range(offsets[vertex], offsets[vertex + 1]):
                beside = indices[arc]
                arcs += 1
                if color[beside] >= 0:
                    if color[beside] < len(marks):
                        marks[color[beside]] = vertex + 1
                elif priority[beside] > priority[vertex]:
                    ready = False
                    break
        if ready:
            free = 0
            while marks[free] == vertex + 1:
                free += 1
            color[vertex] = free
            done[place - waiting] = vertex
        else:
            listed[waiting] = vertex
            waiting += 1
        if arcs > most:
            next_place = place + 1
            break
    colored = next_place - waiting
    for place in range(next_place, len(listed)):
        listed[waiting] = listed[place]
        waiting += 1
    for place in range(colored):  # a slice would have Numba compile seconds of text for an error
        listed[waiting + place] = done[place]
    return waiting, arcs
