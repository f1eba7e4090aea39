"""Folds over common neighbours on the CPU; see `cugraph_ws.algorithms.similarity`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.intersect import COUNT, LEAST, PRODUCT, fold_common
from cugraph_ws.partition.neighbourhoods import NeighbourRows
from cugraph_ws.runtime.threads import cut_evenly, number_of_threads, parallel

__all__ = ["KINDS", "fold"]

Array = npt.NDArray[Any]

KINDS = {"count": COUNT, "least": LEAST, "product": PRODUCT}
PAIRS_A_TASK = 1 << 10
TASKS_A_THREAD = 16


def fold(rows: NeighbourRows, firsts: Array, seconds: Array, kind: str) -> Array:
    """Fold over the common neighbours of pairs of vertices.

    Parameters
    ----------
    rows : NeighbourRows
        Values are float64.
    firsts, seconds : array of int64, shape (pairs,)
        The rows of each pair.
    kind : {"count", "least", "product"}
        What is added up: ones, or the least or the product of both values of a neighbour.

    Returns
    -------
    array of float64, shape (pairs,)
    """
    sums = np.empty(len(firsts))
    values = np.empty(0) if rows.values is None else rows.values
    pieces = min(TASKS_A_THREAD * number_of_threads(), 1 + len(firsts) // PAIRS_A_TASK)
    head = rows.offsets, rows.indices, values, firsts, seconds, KINDS[kind], sums
    parallel(fold_common, [(*head, *cut) for cut in cut_evenly(len(firsts), pieces)])
    return sums
