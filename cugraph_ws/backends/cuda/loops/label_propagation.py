"""Label propagation on the GPU; see `cugraph_ws.algorithms.label_propagation`.

Arguments and results are as in `cugraph_ws.backends.cpu.loops.label_propagation`, but on the device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.backends.cuda.label_tables import BLOCK, far_tables, row_order
from cugraph_ws.runtime.arrays import count_true
from cugraph_ws.runtime.device import device

__all__ = ["Chooser"]

Array = Any  # CuPy's


class Chooser:
    """Chooses for each owned vertex the heaviest label of its neighbours."""

    def __init__(self, part: Any, weights: list[Array]) -> None:
        gpu, xp, owned = device(), part.xp, part.owned
        nothing = xp.zeros(1, np.int64)
        weight_columns = [*weights, *(nothing for _ in range(2))]
        self._owned, self._directed, self._weighted = owned, bool(part.directed), bool(weights)
        self._rows = part.csc.offsets, part.csc.indices, weight_columns[0]
        self._more = nothing, part.csc.indices, nothing
        lengths = xp.diff(part.csc.offsets[: owned + 1])
        if part.directed:
            self._more = part.csr.offsets, part.csr.indices, weight_columns[1]
            lengths = lengths + xp.diff(part.csr.offsets[: owned + 1])
        self._order = row_order(lengths)
        longest = int(gpu.to_host(lengths.max())) if owned else 0
        self._tables = far_tables(lengths, longest)

    def choose(self, labels: Array) -> tuple[Array, int]:
        """Choose new labels for the owned vertices, and count those that changed."""
        gpu, owned = device(), self._owned
        chosen = gpu.xp.empty(owned, labels.dtype)
        if owned == 0:
            return chosen, 0
        arrays, room, count = self._tables
        gpu.module("communities").launch(
            "choose_labels", gpu.blocks_for(32 * owned, BLOCK), BLOCK, self._rows, self._more,
            self._directed, self._weighted, labels, *self._order, chosen, arrays, room, count,
        )  # fmt: skip
        return chosen, count_true(chosen != labels[:owned])
