"""Rows of a shard on the device: a `DeviceGraph` whose last positions are ghosts.

Ghosts have no in-arcs in a shard, so a stable sort of the vertices by falling in-degree puts them last.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cugraph_ws.backends.cuda.graph import DeviceGraph
from cugraph_ws.backends.cuda.grouping import Ends, number_dtype
from cugraph_ws.backends.cuda.memory import check_device_memory, estimate
from cugraph_ws.backends.cuda.rows import expand_rows, gather, group_edges
from cugraph_ws.runtime.device import device

__all__ = ["laid_out"]


def laid_out(size: int, offsets: Any, indices: Any, values: Mapping[str, Any]) -> DeviceGraph:
    """Lay out the rows of owned vertices by falling in-degree, then ghosts without rows.

    Parameters
    ----------
    size : int
        Number of owned vertices and ghosts.
    offsets : array of int64, shape (owned + 1,)
    indices : array of int32 or int64, shape (arcs,)
    values : mapping of str to array, each of shape (arcs,)
        Edge attributes.

    Returns
    -------
    DeviceGraph

    Raises
    ------
    GraphMemoryError
        If it would not fit on the GPU; raised before anything is copied.
    """
    owner = device()
    xp = owner.xp
    owned, arcs = len(offsets) - 1, len(indices)
    index = number_dtype(size)
    wide = sum(np.dtype(column.dtype).itemsize for column in values.values())
    copied = 2 * index.itemsize * arcs + 8 * size
    check_device_memory(estimate(arcs, size, wide, False), beside=copied)
    starts = xp.asarray(offsets, np.int64)
    degrees = xp.zeros(size, number_dtype(arcs))
    degrees[:owned] = xp.diff(starts)
    rows = expand_rows(owner, starts, arcs, index)
    ends = Ends(rows, xp.asarray(indices, index), counts=degrees)
    del rows, starts, degrees
    layout, sources, order, *_ = group_edges(owner, ends, size, both=False, keep=wide > 0)
    del ends
    named = {name: gather(owner, xp.asarray(column), order) for name, column in values.items()}
    graph = DeviceGraph(owner, layout, sources, named, undirected=False, names=tuple(named))
    owner.trim()
    return graph
