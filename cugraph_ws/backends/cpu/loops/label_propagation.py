"""Label propagation on the CPU; see `cugraph_ws.algorithms.label_propagation`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.label_propagation import choose_labels
from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.threads import cut_offsets, number_of_threads, parallel

__all__ = ["choose"]

Array = npt.NDArray[Any]

ARCS_A_TASK = 1 << 14


def choose(part: Part, labels: Array, weights: list[Array]) -> tuple[Array, int]:
    """Choose for each owned vertex the heaviest label of its neighbours.

    Parameters
    ----------
    part : Part
        With the rows of all neighbours.
    labels : ndarray of int, shape (size,)
    weights : list of ndarray of int64
        Weights of the arcs of the CSC, and of the CSR if the part is directed; empty if each arc
        counts as 1.

    Returns
    -------
    chosen : ndarray of int, shape (owned,)
    changed : int
        How many vertices have another label than before.
    """
    csc = part.csc
    held = [*weights, *(np.empty(0, np.int64) for _ in range(2))]
    rows = csc.offsets, csc.indices, held[0]
    more = csc.offsets, csc.indices[:0], held[0][:0]
    offsets = csc.offsets
    if part.directed:
        more = part.csr.offsets, part.csr.indices, held[1]
        offsets = offsets[: part.owned + 1] + part.csr.offsets[: part.owned + 1]
    chosen = np.empty(part.owned, labels.dtype)
    pieces = min(4 * number_of_threads(), 1 + int(offsets[-1]) // ARCS_A_TASK)
    tasks = [(rows, more, labels, chosen, *cut) for cut in cut_offsets(offsets, pieces)]
    return chosen, int(sum(parallel(choose_labels, tasks)))
