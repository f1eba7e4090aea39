"""Folds over common neighbours on the GPU; see `cugraph_ws.algorithms.similarity`.

Arguments and results are as in `cugraph_ws.backends.cpu.loops.similarity`, but on the device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.partition.neighbourhoods import NeighbourRows
from cugraph_ws.runtime.device import device

__all__ = ["KINDS", "fold"]

Array = Any  # CuPy's

BLOCK = 256
KINDS = {"count": 0, "least": 1, "product": 2}  # as in kernels/cuda/intersect.py
MARKING = 512  # threads of a block that marks a row in its bitmap
RESIDENT = 4  # such blocks per multiprocessor
MARKS_BYTES = 1 << 28  # bound of the bytes of all bitmaps
ELEMENTS_A_TASK = 1 << 16
WORTH = 8  # a row is marked if at least a WORTH-th as many elements are looked up in it
LEAST_MARKED = 32  # longer rows are worth it
FEW, SHORT = (
    1 << 14,
    256,
)  # so few pairs, whose shorter rows have at most so many elements, are not worth it


def fold(rows: NeighbourRows, firsts: Array, seconds: Array, kind: str) -> Array:
    """Fold over the common neighbours of pairs of vertices."""
    gpu, pairs = device(), len(firsts)
    counts = gpu.xp.zeros(pairs if kind == "count" else 1, np.int64)
    sums = gpu.xp.zeros(1 if kind == "count" else pairs, np.float64)
    if kind == "count":
        which = _count_marked(rows, firsts, seconds, counts) if pairs else None
        if which is None:
            _launch(rows, firsts, seconds, kind, counts, sums)
        elif len(which):
            unmarked_counts = gpu.xp.zeros(len(which), np.int64)
            _launch(rows, firsts[which], seconds[which], kind, unmarked_counts, sums)
            counts[which] = unmarked_counts
        return counts.astype(np.float64)
    _launch(rows, firsts, seconds, kind, counts, sums)
    return sums


def _launch(
    rows: NeighbourRows, firsts: Array, seconds: Array, kind: str, counts: Array, sums: Array
) -> None:
    """Launch the kernel that searches for each element of the shorter row."""
    gpu, pairs = device(), len(firsts)
    if pairs:
        values = sums if rows.values is None else rows.values
        threads = pairs if kind == "count" else 32 * pairs
        gpu.module("intersect").launch(
            "fold_common", gpu.blocks_for(threads, BLOCK), BLOCK,
            (rows.offsets, rows.indices, values), firsts, seconds, pairs, KINDS[kind], counts, sums,
        )  # fmt: skip


def _count_marked(
    rows: NeighbourRows, firsts: Array, seconds: Array, counts: Array
) -> Array | None:
    """Count for the pairs whose longer row is worth a bitmap; return the others, None for all."""
    gpu, lengths = device(), rows.degrees
    xp, words = gpu.xp, -(-len(lengths) // 32)
    if len(firsts) <= FEW and int(xp.minimum(lengths[firsts], lengths[seconds]).max()) <= SHORT:
        return None
    blocks = min(RESIDENT * gpu.multiprocessors, MARKS_BYTES // (4 * words))
    if blocks < gpu.multiprocessors or int(gpu.to_host(lengths.max())) <= LEAST_MARKED:
        return None
    first_longer = lengths[firsts] > lengths[seconds]
    longs, shorts = (
        xp.where(first_longer, firsts, seconds),
        xp.where(first_longer, seconds, firsts),
    )
    del first_longer  # as others below: there may be as many pairs as fit
    order = xp.argsort(longs, kind="stable")
    longs, short_lengths = longs[order], lengths[shorts][order]
    # For each distinct longer row: where its pairs begin, and whether a bitmap is worth it.
    leads = xp.ones(len(longs), np.bool_)
    leads[1:] = longs[1:] != longs[:-1]
    bounds = xp.append(xp.flatnonzero(leads), len(longs))
    ends = xp.zeros(len(longs) + 1, np.int64)
    ends[1:] = xp.cumsum(short_lengths)
    row_lengths = lengths[longs[bounds[:-1]]]
    worth = (row_lengths > LEAST_MARKED) & (WORTH * xp.diff(ends[bounds]) >= row_lengths)
    del ends
    chosen = worth[xp.cumsum(leads) - 1]
    pairs, others = order[chosen], order[~chosen]
    del order
    if len(pairs):
        longs, short_lengths = longs[chosen], short_lengths[chosen]
        begins = xp.zeros(len(pairs) + 1, np.int64)
        begins[1:] = xp.cumsum(short_lengths)
        del short_lengths
        leads = xp.ones(len(pairs), np.bool_)
        part = begins[:-1] // ELEMENTS_A_TASK
        leads[1:] = (longs[1:] != longs[:-1]) | (part[1:] != part[:-1])
        tasks = xp.append(xp.flatnonzero(leads), len(pairs))
        grid = min(blocks, len(tasks) - 1)
        gpu.module("marked_rows").launch(
            "count_marked", grid, MARKING, (rows.offsets, rows.indices),
            (longs, shorts[pairs], pairs), begins, tasks, len(tasks) - 1,
            xp.zeros(grid * words, np.uint32), words, counts,
        )  # fmt: skip
    return others
