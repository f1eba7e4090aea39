"""Label propagation on the GPU; see `cugraph_ws.algorithms.label_propagation`.

The labels of a range of rows are sorted by row and label, so equal ones are adjacent, however long
a row is.  Their sums are sorted as well, and the first of each row is chosen.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.device import device

__all__ = ["choose"]

Array = Any  # CuPy's

ARCS_A_RANGE = 1 << 26  # arcs that are sorted at once, or one row


def choose(part: Part, labels: Array, weights: list[Array]) -> tuple[Array, int]:
    """Choose for each owned vertex the heaviest label of its neighbours; count the changes.

    Arguments and results are as in `cugraph_ws.backends.cpu.loops.label_propagation`.
    """
    xp, parts = part.xp, [part.csc, part.csr] if part.directed else [part.csc]
    offsets = [one.offsets[: part.owned + 1] for one in parts]
    chosen = labels[: part.owned].copy()
    joint = sum(offsets)
    arcs = int(device().to_host(joint[-1:])[0])
    starts = xp.arange(0, arcs, ARCS_A_RANGE)
    cuts = device().to_host(xp.searchsorted(joint, starts, side="right") - 1).tolist()
    bounds = [*dict.fromkeys(cuts), part.owned]
    for low, high in pairwise(bounds):
        rows, neighbours, weighed = [], [], []
        for which, (one, begin) in enumerate(zip(parts, offsets, strict=True)):
            first, last = device().to_host(begin[[low, high]]).tolist()
            places = xp.arange(first, last)
            rows.append(xp.searchsorted(begin, places, side="right") - 1)
            neighbours.append(one.indices[first:last])
            weighed.append(weights[which][first:last] if weights else xp.ones_like(places))
        row, label, total = group(
            xp, xp.concatenate(rows), labels[xp.concatenate(neighbours)], xp.concatenate(weighed)
        )
        best = xp.lexsort(xp.stack([label, -total, row]))
        row, label = row[best], label[best]
        leads = xp.flatnonzero(xp.concatenate([xp.ones(1, np.bool_), row[1:] != row[:-1]]))
        chosen[row[leads]] = label[leads].astype(chosen.dtype)
    return chosen, int(device().to_host((chosen != labels[: part.owned]).sum()))


def group(xp: Any, rows: Array, labels: Array, weights: Array) -> tuple[Array, Array, Array]:
    """Return the distinct pairs of a row and a label, ascending, and the sum of each.

    Parameters
    ----------
    xp : module
    rows, labels, weights : array of int, shape (arcs,)

    Returns
    -------
    rows, labels, sums : array of int64
    """
    rows, labels = rows.astype(np.int64), labels.astype(np.int64)
    order = xp.lexsort(xp.stack([labels, rows]))
    rows, labels = rows[order], labels[order]
    leads = (rows[1:] != rows[:-1]) | (labels[1:] != labels[:-1])
    first = xp.flatnonzero(xp.concatenate([xp.ones(1, np.bool_), leads]))
    before = xp.concatenate([xp.zeros(1, np.int64), xp.cumsum(weights[order])])
    last = xp.concatenate([first[1:], xp.full(1, len(rows), first.dtype)])
    return rows[first], labels[first], before[last] - before[first]
