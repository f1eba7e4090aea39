"""Label propagation on the CPU; see `cugraph_ws.algorithms.label_propagation`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.label_propagation import choose_labels
from cugraph_ws.runtime.threads import cut_offsets, number_of_tasks, parallel

__all__ = ["Chooser"]

Array = npt.NDArray[Any]

ARCS_A_TASK = 1 << 14  # at least
MOST_A_TASK = 1 << 20


class Chooser:
    """Chooses for each owned vertex the heaviest label of its neighbours.

    Parameters
    ----------
    part : Part, or the vertices of a colour
        With the rows of all neighbours.
    weights : list of ndarray of int64
        Weights of the arcs of the CSC, and of the CSR if the part is directed; empty if each arc
        counts as 1.
    """

    def __init__(self, part: Any, weights: list[Array]) -> None:
        csc = part.csc
        buffers = [*weights, *(np.empty(0, np.int64) for _ in range(2))]
        self._rows = csc.offsets, csc.indices, buffers[0]
        self._more = csc.offsets, csc.indices[:0], buffers[0][:0]
        offsets = csc.offsets
        if part.directed:
            self._more = part.csr.offsets, part.csr.indices, buffers[1]
            offsets = offsets[: part.owned + 1] + part.csr.offsets[: part.owned + 1]
        self._owned = part.owned
        pieces = number_of_tasks(int(offsets[-1]), ARCS_A_TASK, MOST_A_TASK)
        self._pieces = cut_offsets(offsets, pieces)

    def choose(self, labels: Array) -> tuple[Array, int]:
        """Choose new labels for the owned vertices.

        Parameters
        ----------
        labels : ndarray of int, shape (size,)

        Returns
        -------
        chosen : ndarray of int, shape (owned,)
        changed : int
            How many vertices have another label than before.
        """
        chosen = np.empty(self._owned, labels.dtype)
        tasks = [(self._rows, self._more, labels, chosen, *cut) for cut in self._pieces]
        return chosen, int(sum(parallel(choose_labels, tasks)))
