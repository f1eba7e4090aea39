"""Label propagation on the GPU; see `cugraph_ws.algorithms.label_propagation`.

Arguments and results are as in `cugraph_ws.backends.cpu.loops.label_propagation`, but on the device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.backends.cuda.label_tables import BLOCK, FarRows, by_kind, kinds_of
from cugraph_ws.runtime.device import device

__all__ = ["Chooser"]

Array = Any  # CuPy's


class Chooser:
    """Chooses for each owned vertex the heaviest label of its neighbours."""

    def __init__(self, part: Any, weights: list[Array]) -> None:
        xp, owned = part.xp, part.owned
        nothing = xp.zeros(1, np.int64)
        held = [*weights, *(nothing for _ in range(2))]
        self._owned, self._directed, self._weighted = owned, bool(part.directed), bool(weights)
        self._rows = part.csc.offsets, part.csc.indices, held[0]
        self._more = nothing, part.csc.indices, nothing
        lengths = xp.diff(part.csc.offsets[: owned + 1])
        if part.directed:
            self._more = part.csr.offsets, part.csr.indices, held[1]
            lengths = lengths + xp.diff(part.csr.offsets[: owned + 1])
        kinds = kinds_of(lengths)
        self._order = by_kind(xp.arange(owned), kinds, 1)
        far = FarRows(lengths, kinds)
        groups, count = far.groups()
        self._long = len(far.rows)
        if self._long:
            listed, bounds, tables, (scores, found, size) = far.by_class(groups, count)
            self._room = len(tables[0])
            self._far = count, listed, bounds, tables, (scores.view(np.int64), found, size)

    def choose(self, labels: Array) -> tuple[Array, int]:
        """Choose new labels for the owned vertices, and count those that changed."""
        here, owned = device(), self._owned
        chosen = here.xp.empty(owned, labels.dtype)
        if owned == 0:
            return chosen, 0
        module = here.module("communities")
        module.launch(
            "choose_labels", here.blocks_for(32 * owned, BLOCK), BLOCK, self._rows, self._more,
            self._directed, self._weighted, labels, *self._order, chosen,
        )  # fmt: skip
        if self._long:
            module.prepare_together(
                "choose_far_labels", self._room, BLOCK, self._rows, self._more, self._weighted, labels,
                *self._far, chosen,
            )()  # fmt: skip
        return chosen, int(here.to_host((chosen != labels[:owned]).sum()))
