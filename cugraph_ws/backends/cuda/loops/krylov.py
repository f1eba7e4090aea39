"""Vectors of a Krylov space and their combinations on the GPU; see `cugraph_ws.algorithms.krylov`.

Arguments and results of `shift` and `combine` are as in `cugraph_ws.backends.cpu.loops.krylov`, but on the
device.  On a whole graph several products are queued before the host reads their sums.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.backends.cuda.loops.folds import prepare_sums
from cugraph_ws.runtime.device import Prepared, device

__all__ = ["QueuedProducts", "combine", "shift"]

Array = Any  # CuPy's

BLOCK = 256  # 8 warps, as in kernels/cuda/krylov.py
BLOCKS = 256  # at most; the same on every GPU, so that sums are the same too


def shift(
    sums: Array, before: Array, product: Array, *, scale: float, by: float
) -> npt.NDArray[np.float64]:
    """Write the next vector: `scale` times the sums, less `by` times the one before."""
    parts = _parts(1, len(sums))
    _queue_shift(sums, before, product, scale, by, parts[0])
    added: npt.NDArray[np.float64] = _added(parts)[0]
    return added


def combine(
    vectors: Array, owned: int, factors: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Replace the first two vectors by combinations."""
    gpu, parts = device(), _parts(1, owned)
    if owned:
        gpu.module("krylov").launch(
            "combine", _blocks(owned), BLOCK, vectors.reshape(-1), vectors.shape[1], owned,
            gpu.xp.asarray(factors.reshape(-1)), factors.shape[1], parts[0],
        )  # fmt: skip
    added: npt.NDArray[np.float64] = _added(parts)[0]
    return added


class QueuedProducts:
    """Products with the adjacency of a whole graph, from each vector to the next.

    Parameters
    ----------
    folded : tuple
        Rows of neighbours, their classes and weights; see `Neighbourhood.folded`.
    vectors : array of float64, shape (most, vertices)
    scale : float
        Factor of the weights.
    """

    def __init__(self, folded: tuple[Any, Any, Array], vectors: Array, scale: float) -> None:
        self._folded, self._vectors, self._scale = folded, vectors, scale
        self._never = device().xp.zeros(1)  # is not 0 if launches are to do nothing
        self._sums: dict[int, list[Prepared]] = {}  # by the vector that they read

    def run(self, first: int, last: int, by: float) -> npt.NDArray[np.float64]:
        """Compute vectors `first + 1` to `last`; wait for their sums.

        Parameters
        ----------
        first, last : int
            Indices of vectors.
        by : float
            What `shift` takes for vector 1; for others it is 0.

        Returns
        -------
        ndarray of float64, shape (last - first, 2)
            What `shift` returns for each.
        """
        vectors = self._vectors
        parts = _parts(last - first, vectors.shape[1])
        for index in range(first, last):
            before, product = vectors[index], vectors[index + 1]
            if index not in self._sums:
                self._sums[index] = prepare_sums(*self._folded, before, product, self._never)
            for launch in self._sums[index]:
                launch()
            shifted = 0.0 if index else by
            _queue_shift(product, before, product, self._scale, shifted, parts[index - first])
        return _added(parts)


def _blocks(count: int) -> int:
    """Return the number of blocks of a sum."""
    return min(BLOCKS, -(-count // BLOCK))


def _parts(sums: int, count: int) -> Array:
    """Return an array for two sums of each block, so many times."""
    return device().xp.empty((sums, 2 * _blocks(count)), np.float64)


def _queue_shift(
    sums: Array, before: Array, product: Array, scale: float, by: float, parts: Array
) -> None:
    """Queue `shift`."""
    if len(sums):
        device().module("krylov").launch(
            "shift", _blocks(len(sums)), BLOCK, sums, len(sums), before, float(scale), float(by),
            product, parts,
        )  # fmt: skip


def _added(parts: Array) -> npt.NDArray[np.float64]:
    """Add up the blocks' sums, in their order; waits."""
    on_host = device().to_host(parts)
    added: npt.NDArray[np.float64] = on_host.reshape(len(on_host), -1, 2).sum(axis=1)
    return added
