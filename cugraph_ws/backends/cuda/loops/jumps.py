"""Folds of values by the vertices that they are sent to, on the GPU; see `cugraph_ws.execution.jumps`.

Results are those of `cugraph_ws.backends.cpu.loops.jumps`, bit by bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.program.jumps import nothing_of
from cugraph_ws.runtime.device import device
from cugraph_ws.runtime.ordered_words import GREATEST, numbers_of_words, ordered_words

__all__ = ["fold", "lower"]

Array = Any  # CuPy's

BLOCK = 256


def fold(kind: str, values: Array, places: Array, size: int) -> Array:
    """Fold values by place."""
    if kind == "sum":
        return _sums(values, places, size)
    xp, dtype = device().xp, values.dtype
    nothing = nothing_of(kind, dtype)
    if dtype.kind == "f":
        values = xp.where(xp.isnan(values), nothing, values + dtype.type(0))  # no -0.0
    turn = 0 if kind == "least" else -1  # x ^ -1 is ~x, which reverses the order of words
    least = xp.full(size, GREATEST, np.int64)
    _launch("lower_words", ordered_words(values) ^ turn, places, least)
    is_named = least != GREATEST
    return xp.where(is_named, numbers_of_words(least ^ turn, dtype), nothing).astype(
        dtype, copy=False
    )


def lower(least: Array, places: Array, words: Array) -> None:
    """Lower each entry to the least of the words for its place."""
    _launch("lower_words", words, places, least)


def _sums(values: Array, places: Array, size: int) -> Array:
    """Sum values by place; floats in their order, with one thread for each place."""
    gpu = device()
    sums = gpu.xp.zeros(size, values.dtype)
    if values.dtype.kind != "f":
        _launch("add_words", values, places, sums)
        return sums
    if not len(values):
        return sums
    order = gpu.xp.argsort(places, kind="stable")
    sorted_ = places[order]
    first = gpu.xp.ones(len(order), np.bool_)
    first[1:] = sorted_[1:] != sorted_[:-1]
    starts = gpu.xp.append(gpu.xp.flatnonzero(first), len(order))
    runs = len(starts) - 1
    totals = gpu.xp.empty(runs, np.float64)
    gpu.module("merge").launch(
        "add_runs", gpu.blocks_for(runs, BLOCK), BLOCK, values, order, starts, np.int64(runs),
        np.float64(0), totals,
    )  # fmt: skip
    sums[sorted_[starts[:-1]]] = totals
    return sums


def _launch(name: str, words: Array, places: Array, results: Array) -> None:
    gpu = device()
    if len(words):
        gpu.module("jumps").launch(
            name, gpu.blocks_for(len(words), BLOCK), BLOCK, words, places, len(words), results
        )
