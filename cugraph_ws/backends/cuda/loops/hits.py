"""Supersteps of HITS on one GPU, several queued at a time; see `cugraph_ws.algorithms.hits`."""

from __future__ import annotations

import math
from typing import Any

from cugraph_ws.backends.cuda.loops.folds import prepare_sums
from cugraph_ws.runtime.device import Prepared, device

__all__ = ["Products", "QueuedSupersteps"]

Array = Any  # CuPy's

QUEUED = 8  # supersteps, at most: the host waits after the last
THREADS = 256
VALUES = 4  # that a thread scales, at least
OVER, DONE, CHANGE, AUTHORITY, HUB, CHANGES = 0, 1, 2, 3, 4, 5  # as in kernels/cuda/hits.py


class QueuedSupersteps:
    """The launches of a superstep, which find on the device whether an earlier one has ended the run.

    Parameters
    ----------
    into, out : tuple
        Rows of in-neighbours and of out-neighbours, their classes and weights; see
        `Neighbourhood.folded`.
    hubs, authorities : array of float64, shape (vertices,)
        By position; modified by `run`.
    tol : float
        The run ends when no hub value changes by more than this.
    first : bool
        Whether the next superstep is the first, whose change is infinite.
    """

    def __init__(
        self,
        into: tuple[Any, Any, Array],
        out: tuple[Any, Any, Array],
        hubs: Array,
        authorities: Array,
        *,
        tol: float,
        first: bool,
    ) -> None:
        gpu, count = device(), len(hubs)
        kernels, sums = gpu.module("hits"), gpu.xp.empty_like(hubs)
        self._control = control = gpu.xp.zeros(CHANGES + QUEUED)
        control[CHANGE] = math.inf if first else 0.0
        self._done = 0  # supersteps that the host has seen
        shape = gpu.blocks_for(-(-count // VALUES), THREADS), THREADS
        self._launches: list[Prepared] = []
        for folded, values, slot, target in (
            (into, hubs, AUTHORITY, authorities),
            (out, authorities, HUB, hubs),
        ):
            arguments, compared = (sums, count, control, slot), int(slot == HUB)
            self._launches += prepare_sums(*folded, values, sums, control[: OVER + 1])
            self._launches.append(kernels.prepare("find_greatest", *shape, *arguments))
            self._launches.append(kernels.prepare("scale", *shape, *arguments, compared, target))
        self._launches.append(kernels.prepare("end_superstep", 1, 32, control, QUEUED, tol))

    def run(self, most: int) -> list[float]:
        """Run at most so many supersteps, at least one; return the greatest change of each."""
        for _ in range(min(most, QUEUED)):
            for launch in self._launches:
                launch()
        control = device().to_host(self._control)
        first, self._done = self._done, int(control[DONE])
        return [
            float(control[CHANGES + superstep % QUEUED]) for superstep in range(first, self._done)
        ]


class Products:
    """The launches that multiply a vector by both matrices, without ghosts.

    Parameters
    ----------
    into, out : tuple
        As for `QueuedSupersteps`.
    values, authorities : array of float64, shape (vertices,)
        The vector, and what the first product is written to.
    """

    def __init__(
        self,
        into: tuple[Any, Any, Array],
        out: tuple[Any, Any, Array],
        values: Array,
        authorities: Array,
    ) -> None:
        xp = device().xp
        self._found, over = xp.empty_like(values), xp.zeros(1)
        self._launches = [
            *prepare_sums(*into, values, authorities, over),
            *prepare_sums(*out, authorities, self._found, over),
        ]

    def __call__(self) -> Array:
        """Return the product; the next call overwrites it."""
        for launch in self._launches:
            launch()
        return self._found
