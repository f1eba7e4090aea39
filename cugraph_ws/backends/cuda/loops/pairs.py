"""Loops of edge programs on the GPU; see `cugraph_ws.execution.edge_loop`.

Arguments and results are as in `cugraph_ws.backends.cpu.loops.pairs`, but on the device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.backends.cuda.pair_codegen import pair_kernels
from cugraph_ws.partition.pair_rows import PairRows
from cugraph_ws.program.edge_binding import BoundEdgeProgram
from cugraph_ws.runtime.device import device

__all__ = ["PairFold"]

Array = Any  # CuPy's

BLOCK = 256


class PairFold:
    """Computes the values of pairs by an edge program.

    Parameters
    ----------
    bound : BoundEdgeProgram
    plain : bool
        Must be False: plain Python does not run on a GPU.
    """

    def __init__(self, bound: BoundEdgeProgram, *, plain: bool = False) -> None:
        assert not plain
        self._bound = bound
        self._kernels = pair_kernels(device(), bound.program, bound.types)

    def fold(self, rows: PairRows) -> list[Array]:
        """Combine the messages of common neighbours; return the values of all pairs."""
        return self._launch("fold_pairs", rows, 32)

    def finish(self, rows: PairRows, counts: Array) -> list[Array]:
        """Return the values of all pairs, given the numbers of their common neighbours."""
        return self._launch("value_pairs", rows, 1, counts)

    def _launch(self, name: str, rows: PairRows, threads: int, *more: Array) -> list[Array]:
        """Launch a kernel with `threads` threads for each pair."""
        gpu, count = device(), len(rows.firsts)
        kinds = [np.dtype(kind) for kind in self._bound.types.state]
        columns = tuple(gpu.xp.empty(count, _stored(kind)) for kind in kinds)
        if count:
            constants = tuple(
                constant.astype(_stored(constant.dtype), copy=False) for constant in rows.constants
            )
            self._kernels.launch(
                name, gpu.blocks_for(threads * count, BLOCK), BLOCK, (rows.offsets, rows.indices),
                rows.pairs, count, constants, rows.edges, self._bound.values, columns, *more,
            )  # fmt: skip
        return [
            column.astype(kind, copy=False) for column, kind in zip(columns, kinds, strict=True)
        ]


def _stored(kind: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of an array of a type: bools are bytes."""
    return np.dtype(np.uint8) if kind == np.bool_ else kind
