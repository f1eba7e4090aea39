"""Communities of a small graph by local search from many starts; see `kernels.cpu.small_communities`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.small_communities import improve

__all__ = ["MOST_ARCS", "improved"]

Integers = npt.NDArray[np.int64]

MOST_ARCS = 4096  # of a small graph
ARCS_OF_ROUNDS = 1 << 16  # arcs of all rounds together: some milliseconds
MOST_ROUNDS = 256


def improved(
    rows: tuple[Integers, Integers, Integers],
    degrees: Integers,
    labels: Integers,
    factor: float,
    seed: int,
) -> Integers | None:
    """Return communities of higher modularity, or None if none were found.

    Parameters
    ----------
    rows : tuple of (offsets, indices, weights)
        Neighbours without self-loops; 1 to `MOST_ARCS` arcs.
    degrees : ndarray of int64, shape (vertices,)
    labels : ndarray of int64, shape (vertices,)
        Communities from which the search starts.
    factor : float
        Resolution, divided by the sum of all degrees.
    seed : int

    Returns
    -------
    ndarray of int64, shape (vertices,), or None
    """
    rounds = min(MOST_ROUNDS, ARCS_OF_ROUNDS // len(rows[1]))
    vertices = np.tile(np.arange(len(labels)), (rounds, 1))
    orders = np.random.default_rng(seed).permuted(vertices, axis=1)
    better = labels.copy()
    return better if improve(rows, degrees, better, factor, orders) else None
