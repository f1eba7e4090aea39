"""Masks: arrays of bool, a byte an entry."""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.primitives import (
    atomic_add,
    block,
    blocks,
    kernel,
    lane,
    load_once,
    popc,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import sum_of_lanes

__all__ = ["count_true"]


@kernel
def count_true(words: Any, whole_words: Any, entries: Any, rest: Any, total: Any) -> None:
    """Add the number of true entries to `total[0]`.

    `words` are the first four times `whole_words` entries, four in a word, and `entries` the `rest` others.
    """
    first, step = block() * threads() + thread(), blocks() * threads()
    count = np.int64(0)
    for word in range(first, whole_words, step):
        count += popc(load_once(words, word))
    for entry in range(first, rest, step):
        if load_once(entries, entry):
            count += 1
    count = sum_of_lanes(count)
    if lane() == 0 and count:
        atomic_add(total, 0, count)
