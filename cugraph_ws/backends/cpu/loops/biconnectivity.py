"""The search for bridges and articulation points on one CPU; see `cugraph_ws.algorithms.biconnectivity`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.biconnected import BRIDGE, CUT, find_bridges, search
from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.looks import look

__all__ = ["bridges_and_cuts"]

Array = npt.NDArray[Any]

ARCS_AT_ONCE = 1 << 21  # between two looks


def bridges_and_cuts(part: Part) -> tuple[Array, Array]:
    """Find the bridges and articulation points of a whole graph, whatever the direction of its edges.

    Parameters
    ----------
    part : Part
        Of a whole graph.

    Returns
    -------
    bridges : ndarray of int64
        Their arcs in the CSC, ascending; of an undirected edge the one into the greater vertex.
    cut : ndarray of bool, shape (size,)
        Whether a vertex is an articulation point.
    """
    size = part.size
    rows = part.csc.offsets, part.csc.indices
    more = np.zeros(size + 1, np.int64), rows[1][:0]
    if part.directed:
        more = part.csr.offsets, part.csr.indices
    index = np.int32 if size < np.iinfo(np.int32).max else np.int64
    number, least, parent = np.zeros(size, index), np.empty(size, index), np.empty(size, index)
    arc, flags = np.empty(size, np.int64), np.zeros(size, np.uint8)
    place = np.array([0, 0, -1])
    while search(rows, more, number, least, parent, arc, flags, place, ARCS_AT_ONCE):
        look()
    bridges = np.empty(np.count_nonzero(flags & BRIDGE), np.int64)
    find_bridges(rows, part.directed, parent, flags, bridges)
    return np.sort(bridges), (flags & CUT) > 0
