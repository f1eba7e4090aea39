"""Positions of the vertices of a graph by forces, from coarse graphs to fine ones.

A connected graph is contracted again and again, by groups of neighbours, until few vertices are left.  These are
moved from random positions; then each finer graph starts where the coarser one has ended (Walshaw, "A multilevel
algorithm for force-directed graph drawing", Journal of Graph Algorithms and Applications 7, 2003).  Masses and
weights keep the scale the same on all levels.  Components are placed side by side.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.backends import loops
from cugraph_ws.kernels.cpu import layout as kernels
from cugraph_ws.runtime.arrays import array_module, as_host
from cugraph_ws.runtime.looks import look

__all__ = ["positions"]

Array = npt.NDArray[Any]

COARSEST = 24  # vertices of a graph that is not contracted further
STALLED = 0.8  # share of groups above which contracting does not pay
FIRST_MOVES = 6  # times the moves of the finest graph, for the coarsest
MARGIN = 0.8  # between components, in lengths of the mean edge


def positions(
    offsets: Any, indices: Any, iterations: int, seed: int, weights: Any = None, *, on_device: bool = False
) -> Array:  # fmt: skip
    """Return the position of each vertex.

    Parameters
    ----------
    offsets : array of int64, shape (n + 1,)
    indices : array of int, shape (arcs,)
        Rows of distinct neighbours: symmetric, without the vertex itself.
    iterations : int
        Moves of every level but the coarsest.
    seed : int
    weights : array of float64, shape (arcs,), optional
        How strongly the ends of an edge attract each other; 1 by default, and in the mean.
    on_device : bool
        Whether the arrays are on the GPU.

    Returns
    -------
    ndarray of float64, shape (n, 2)
    """
    parts = loops("layout", on_device=on_device).Components(offsets, indices, weights)
    random = np.random.default_rng(seed)
    laid = np.zeros((len(offsets) - 1, 2))  # in the order of the components
    for lo, hi in pairwise(parts.starts.tolist()):
        look()
        if hi - lo == 2:
            laid[lo, 0] = 1.0
        elif hi - lo > 2:
            rows, unit = parts.rows(lo, hi)
            masses = array_module(unit is not None).ones(hi - lo)
            x, y = map(as_host, _laid(rows, masses, iterations, random, unit))
            laid[lo:hi] = _upright(np.stack([x, y], axis=1))
    if len(indices):
        laid /= parts.mean_length(laid)
    if len(parts.starts) > 2:
        laid += np.repeat(_corners(laid, parts.starts), np.diff(parts.starts), axis=0)
    placed = np.empty_like(laid)
    placed[parts.order] = laid
    return placed


def _laid(
    rows: Any, masses: Any, iterations: int, random: np.random.Generator, unit: float | None = None
) -> tuple[Any, Any]:
    """Return x and y of a level's vertices, which begin where those of the coarser level ended.

    They are on a GPU if there is a `unit`, that of their weights.
    """
    size, on_device = len(masses), unit is not None
    xp, backend = array_module(on_device), loops("layout", on_device=on_device)
    first = size <= COARSEST
    if not first:
        group, coarse_rows, coarse_masses = backend.coarser(rows, masses)
        first = len(coarse_masses) > STALLED * size
    if first:
        radius = np.sqrt((size + 1) * float(masses.mean()))
        at = tuple(map(xp.asarray, random.uniform(-1, 1, (2, size)) * radius))
        backend.relax(rows, masses, at, np.sqrt(size) / 2, FIRST_MOVES * iterations)
        return at
    at = _laid(coarse_rows, coarse_masses, iterations, random, unit)
    spread = xp.take(xp.sqrt(coarse_masses) / 2, group)
    shifts = map(xp.asarray, random.uniform(-1, 1, (2, size)))
    at = tuple(
        xp.take(part, group) + shift * spread for part, shift in zip(at, shifts, strict=True)
    )
    backend.relax(rows, masses, at, 0.5, iterations)
    return at


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
