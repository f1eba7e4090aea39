"""The search for strong components on one CPU; see `cugraph_ws.algorithms.strong_components`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.strong_components import FOUND, search
from cugraph_ws.partition.part import Part

__all__ = ["DepthFirst"]

Array = npt.NDArray[Any]

ARCS_A_STEP = 1 << 21


class DepthFirst:
    """A depth-first search along the out-arcs of a whole graph, in steps.

    Parameters
    ----------
    part : Part
        Of a whole graph.
    root : ndarray of int64, shape (size,)
        A vertex number of each vertex's component, -1 where it is not known; the search fills it.
    """

    def __init__(self, part: Part, root: Array) -> None:
        self._rows, self._root = part.csr, root
        index = np.int32 if part.size < np.iinfo(np.int32).max else np.int64
        self._low = np.zeros(part.size, index)
        self._low[root >= 0] = np.iinfo(index).max
        self._arc = np.empty(part.size, np.int64)
        self._path, self._begun, self._stack = (np.empty(part.size, index) for _ in range(3))
        self._place = np.zeros(5, np.int64)
        self._place[FOUND] = np.count_nonzero(root >= 0)

    @property
    def left(self) -> int:
        """Number of vertices whose component is not known."""
        return len(self._root) - int(self._place[FOUND])

    def step(self) -> int:
        """Follow some arcs; return how many."""
        read = search(
            self._rows.offsets, self._rows.indices, self._low, self._root, self._arc, self._path,
            self._begun, self._stack, self._place, ARCS_A_STEP,
        )  # fmt: skip
        return int(read)
