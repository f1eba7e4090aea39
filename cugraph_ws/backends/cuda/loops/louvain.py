"""Moves of vertices between communities on the GPU; see `cugraph_ws.algorithms.louvain`.

Arguments and results are as in `cugraph_ws.backends.cpu.loops.louvain`, but on the device.  Gains
are computed by one operation at a time, so that none is fused with another: they are bitwise equal
to those of the CPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.backends.cuda.loops.label_propagation import group
from cugraph_ws.runtime.device import device

__all__ = ["choose", "sum_by"]

Array = Any  # CuPy's


def sum_by(labels: Array, values: Array, count: int) -> Array:
    """Return the sum of the values of each label."""
    xp = device().xp
    order = xp.argsort(labels, kind="stable")
    before = xp.concatenate([xp.zeros(1, np.int64), xp.cumsum(values[order])])
    ends = xp.searchsorted(labels[order], xp.arange(count + 1))
    return before[ends[1:]] - before[ends[:-1]]


def choose(
    rows: tuple[Array, Array, Array],
    degrees: Array,
    communities: tuple[Array, Array, Array],
    factor: float,
    listed: Array,
    *,
    strict: bool = False,
) -> Array:
    """Choose the best community for each of the listed vertices."""
    xp = device().xp
    offsets, indices, weights = rows
    labels, totals, sizes = communities
    own, begins = labels[listed], offsets[listed]
    before = xp.concatenate([xp.zeros(1, np.int64), xp.cumsum(offsets[listed + 1] - begins)])
    arcs = int(device().to_host(before[-1:])[0])
    if not arcs:
        return own
    places = xp.arange(arcs)
    which = xp.searchsorted(before, places, side="right") - 1
    chosen_arcs = begins[which] + places - before[which]
    which, label, total = group(xp, which, labels[indices[chosen_arcs]], weights[chosen_arcs])
    stays = label == own[which]
    inside = xp.zeros(len(listed), np.int64)
    inside[which[stays]] = total[stays]
    rate = degrees[listed].astype(np.float64) * factor
    kept = _gain(inside, rate, totals[own] - degrees[listed])
    alone = (sizes[own][which] == 1) & (sizes[label] == 1)
    if not strict:
        alone &= label > own[which]
    gain = _gain(total, rate[which], totals[label])
    better = xp.flatnonzero(~stays & ~alone & (gain > kept[which]))
    which, label, gain = which[better], label[better], gain[better]
    # labels and places are below 2^53, so they are exact as floats
    keys = [label.astype(np.float64), -gain, which.astype(np.float64)]
    order = xp.lexsort(xp.stack(keys))
    which, label = which[order], label[order]
    leads = xp.flatnonzero(xp.concatenate([xp.ones(1, np.bool_), which[1:] != which[:-1]]))
    leads = leads[: len(which)]
    chosen = own.copy()
    chosen[which[leads]] = label[leads]
    return chosen


def _gain(weight: Array, rate: Array, total: Array) -> Array:
    """Return the weight minus the rate times the total, float64."""
    expected = rate * total.astype(np.float64)
    return weight.astype(np.float64) - expected
