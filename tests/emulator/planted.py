"""Kernels as small texts: launched with several seeds, and held to pass or to fail."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from . import faults
from .machine import Emulator
from .source import load

__all__ = ["HEAD", "SEEDS", "fails", "ints", "passes", "run"]

HEAD = """
import numpy as np
from cugraph_ws.kernels.cuda.primitives import (
    FULL, all_of, any_of, atomic_add, atomic_and, atomic_compare_and_swap, atomic_exchange,
    atomic_max, atomic_min, atomic_or, ballot, block, blocks, clz, dynamic_shared, fence, ffs, inline, jit, kernel,
    lane, load_cached, load_fresh, load_once, match, popc, shared, shuffle, shuffle_down, shuffle_up,
    shuffle_xor, store_fresh, sync_block, sync_grid, sync_warp, thread, threads,
)

@inline
def me():
    return block() * threads() + thread()

"""
SEEDS = range(6)


def run(
    body: str, *args: Any, grid: int = 1, block: int = 32, cooperative: bool = False, seed: int = 0,
    shared: int = 0,
) -> None:  # fmt: skip
    """Launch the kernel `k` of a text."""
    Emulator(seed).launch(load(HEAD + body)["k"], grid, block, args, cooperative, shared)


def fails(fault: Any, body: str, *args: Any, seeds: Any = SEEDS, **options: Any) -> faults.Fault:
    """Hold that the kernel is found at the fault with any seed; return the last one found."""
    assert seeds
    for seed in seeds:
        fresh = tuple(one.copy() if isinstance(one, np.ndarray) else one for one in args)
        with pytest.raises(fault) as caught:
            run(body, *fresh, seed=seed, **options)
        found = caught.value
        assert type(found) is fault
        assert found.kernel == "k"
        assert found.text
        assert str(found.line) in str(found)
    return found


def passes(body: str, *args: Any, **options: Any) -> tuple[Any, ...]:
    """Hold that the kernel passes with any seed; return what it wrote, the same each time."""
    results = []
    for seed in SEEDS:
        fresh = tuple(one.copy() if isinstance(one, np.ndarray) else one for one in args)
        run(body, *fresh, seed=seed, **options)
        results.append(fresh)
    for result in results:
        for one, other in zip(result, results[0], strict=True):
            assert np.array_equal(one, other)
    return results[0]


def ints(size: int, kind: str = "int64") -> Any:
    """Return an array of zeros."""
    return np.zeros(size, kind)
