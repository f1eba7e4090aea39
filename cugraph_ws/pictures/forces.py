"""Positions of the vertices of a graph by forces, from coarse graphs to fine ones.

A connected graph is contracted again and again, by groups of neighbours, until few vertices are left.  These are
moved from random positions; then each finer graph starts where the coarser one has ended (Walshaw, "A multilevel
algorithm for force-directed graph drawing", Journal of Graph Algorithms and Applications 7, 2003).  Masses and
weights keep the scale the same on all levels.  Components are placed side by side.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.backends import loops
from cugraph_ws.kernels.cpu import layout as kernels
from cugraph_ws.runtime.looks import look

__all__ = ["positions"]

Array = npt.NDArray[Any]
Rows = tuple[Array, Array, Array]  # offsets, indices, weights

COARSEST = 24  # vertices of a graph that is not contracted further
STALLED = 0.8  # share of groups above which contracting does not pay
SMALL = 384  # vertices of a graph whose forces are computed for all pairs
FIRST_MOVES = 6  # times the moves of the finest graph, for the coarsest
MARGIN = 0.8  # between components, in lengths of the mean edge
FEW = 1024  # vertices that a CPU moves sooner than a GPU
MOST_ON_DEVICE = 2**30  # vertices, of which there are up to twice as many nodes, in 32 bits


def positions(
    offsets: Array, indices: Array, iterations: int, seed: int, weights: Array | None = None, *,
    on_device: bool = False,
) -> Array:  # fmt: skip
    """Return the position of each vertex.

    Parameters
    ----------
    offsets : ndarray of int64, shape (n + 1,)
    indices : ndarray of int, shape (arcs,)
        Rows of distinct neighbours: symmetric, without the vertex itself.
    iterations : int
        Moves of every level but the coarsest.
    seed : int
    weights : ndarray of float64, shape (arcs,), optional
        How strongly the ends of an edge attract each other; 1 by default.
    on_device : bool
        Whether a GPU moves the vertices of large levels.

    Returns
    -------
    ndarray of float64, shape (n, 2)
    """
    size = len(offsets) - 1
    pulls = np.ones(len(indices)) if weights is None else weights
    label, order = np.full(size, -1, np.int64), np.empty(size, np.int64)
    components = kernels.list_components(offsets, indices, label, order)
    starts = np.concatenate([[0], np.cumsum(np.bincount(label, minlength=components))])
    place = np.empty(size, np.int64)
    place[order] = np.arange(size)
    random = np.random.default_rng(seed)
    laid = np.zeros((size, 2))  # in the order of `order`
    for lo, hi in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        look()
        if hi - lo == 2:
            laid[lo, 0] = 1.0
        elif hi - lo > 2:
            rows = kernels.component_rows((offsets, indices, pulls), order, place, lo, hi)
            laid[lo:hi] = _upright(_connected(rows, iterations, random, on_device))
    if len(indices):
        ends = place[np.repeat(np.arange(size), np.diff(offsets))], place[indices]
        laid /= np.linalg.norm(laid[ends[0]] - laid[ends[1]], axis=1).mean()
    if components > 1:
        laid += np.repeat(_corners(laid, starts), np.diff(starts), axis=0)
    return laid[place]


def _connected(
    rows: Rows, iterations: int, random: np.random.Generator, on_device: bool
) -> Array:  # fmt: skip
    """Return the positions of a connected graph's vertices, by its levels."""
    levels: list[tuple[Rows, Array]] = [(rows, np.ones(len(rows[0]) - 1))]
    groups: list[Array] = []
    while (size := len(levels[-1][1])) > COARSEST:
        (offsets, indices, weights), masses = levels[-1]
        group = np.full(size, -1, np.int64)
        order = np.argsort(np.diff(offsets), kind="stable")
        count = kernels.group_neighbours(offsets, indices, weights, masses, order, group)
        if count > STALLED * size:
            break
        contracted = kernels.contract_rows(offsets, indices, weights, group, count)
        levels.append((contracted, np.bincount(group, masses, count)))
        groups.append(group)
    rows, masses = levels.pop()
    x, y = random.uniform(-1, 1, (2, len(masses))) * np.sqrt(len(rows[0]) * masses.mean())
    _relax(rows, masses, x, y, np.sqrt(len(masses)) / 2, FIRST_MOVES * iterations, on_device)
    while groups:
        group = groups.pop()
        spread = np.sqrt(masses)[group] / 2
        rows, masses = levels.pop()
        shifts = random.uniform(-1, 1, (2, len(masses))) * spread
        x, y = x[group] + shifts[0], y[group] + shifts[1]
        _relax(rows, masses, x, y, 0.5, iterations, on_device)
    return np.stack([x, y], axis=1)


def _relax(
    rows: Rows, masses: Array, x: Array, y: Array, step: float, iterations: int, on_device: bool
) -> None:  # fmt: skip
    """Move vertices, in place."""
    if len(x) <= SMALL:
        kernels.relax(rows, masses, x, y, step, iterations)
        return
    on_device = on_device and FEW < len(x) < MOST_ON_DEVICE
    loops("layout", on_device=on_device).relax(rows, masses, x, y, step, iterations)


def _upright(laid: Array) -> Array:
    """Turn the longest extent of positions to the x axis."""
    laid = laid - laid.mean(axis=0)
    (xx, xy), (_, yy) = laid.T @ laid
    angle = np.arctan2(2 * xy, xx - yy) / 2
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    turned: Array = laid @ turn
    return turned


def _corners(laid: Array, starts: Array) -> Array:
    """Return by how much to shift each component so that none overlap: boxes on shelves, large ones first."""
    least = np.minimum.reduceat(laid, starts[:-1])
    sizes = np.maximum.reduceat(laid, starts[:-1]) - least + MARGIN
    first = np.argsort(-sizes.max(axis=1), kind="stable")
    row = max(sizes[first[0], 0], 1.2 * np.sqrt(sizes.prod(axis=1).sum()))
    x, y = np.empty(len(first)), np.empty(len(first))
    kernels.shelve(sizes[first, 0].copy(), sizes[first, 1].copy(), row, x, y)
    corners = np.empty_like(least)
    corners[first] = np.stack([x, y - sizes[first, 1]], axis=1)
    return corners - least
