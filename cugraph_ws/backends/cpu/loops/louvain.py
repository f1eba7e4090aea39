"""Moves of vertices between communities on the CPU; see `cugraph_ws.algorithms.louvain`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.louvain import choose_communities
from cugraph_ws.runtime.threads import cut_offsets, number_of_threads, parallel

__all__ = ["choose", "sum_by"]

Integers = npt.NDArray[np.int64]

ARCS_A_TASK = 1 << 14


def sum_by(labels: Integers, values: Integers, count: int) -> Integers:
    """Return the sum of the values of each label.

    Parameters
    ----------
    labels, values : ndarray of int64, shape (vertices,)
    count : int
        Labels are below it.

    Returns
    -------
    ndarray of int64, shape (count,)
    """
    sums = np.zeros(count, np.int64)
    np.add.at(sums, labels, values)
    return sums


def choose(
    rows: tuple[Integers, Integers, Integers],
    degrees: Integers,
    communities: tuple[Integers, Integers, Integers],
    factor: float,
    listed: Integers,
    *,
    strict: bool = False,
) -> Integers:
    """Choose the best community for each of the listed vertices.

    Parameters
    ----------
    rows, degrees, communities, factor, listed, strict
        See `kernels.cpu.louvain.choose_communities`.

    Returns
    -------
    ndarray of int64, shape (len(listed),)
    """
    chosen = np.empty(len(listed), np.int64)
    offsets: Any = np.zeros(len(listed) + 1, np.int64)
    np.cumsum(rows[0][listed + 1] - rows[0][listed], out=offsets[1:])
    pieces = min(4 * number_of_threads(), 1 + int(offsets[-1]) // ARCS_A_TASK)
    parallel(
        choose_communities,
        [
            (rows, degrees, communities, factor, strict, listed, chosen, *cut)
            for cut in cut_offsets(offsets, pieces)
        ],
    )
    return chosen
