"""Atomic operations: what they return and leave, and that threads do not lose each other's."""

from __future__ import annotations

import threading

import numba
import numpy as np
import pytest
from conftest import COMPILED

from cugraph_ws.kernels.cpu import atomics


@numba.njit(nogil=True)
def each_once(array):
    """Try every operation on `array`, which has 4 elements; return what they gave."""
    atomics.store(array, 0, 5)
    loaded = atomics.load(array, 0)
    before_add = atomics.fetch_add(array, 1, 3)
    before_exchange = atomics.exchange(array, 2, 9)
    swapped = atomics.compare_and_swap(array, 3, 4, 8)
    not_swapped = atomics.compare_and_swap(array, 3, 4, 6)
    return loaded, before_add, before_exchange, swapped, not_swapped


@numba.njit(nogil=True)
def count_up(array, times):
    """Add 1 atomically, and 1 under a lock, many times."""
    for _ in range(times):
        atomics.fetch_add(array, 0, 1)
        while not atomics.compare_and_swap(array, 2, 0, 1):
            pass
        array[1] += 1
        atomics.store(array, 2, 0)


@pytest.mark.parametrize(
    "kind", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
)
def test_every_operation(kind):
    array = np.array([1, 2, 3, 4], kind)
    assert each_once(array) == (5, 2, 3, True, False)
    assert array.tolist() == [5, 5, 9, 8]


@pytest.mark.skipif(not COMPILED, reason="plain Python runs in one thread")
def test_threads_lose_nothing():
    array = np.zeros(3, np.int64)
    times = 20_000
    count_up(array, 0)
    workers = [threading.Thread(target=count_up, args=(array, times)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert array.tolist() == [4 * times, 4 * times, 0]


@pytest.mark.skipif(not COMPILED, reason="plain Python takes any array")
@pytest.mark.parametrize(
    "array", [np.zeros(2), np.zeros((2, 2), np.int64), np.zeros(8, np.int64)[::2]]
)
@pytest.mark.parametrize("name", ["load", "store", "fetch_add", "exchange", "compare_and_swap"])
def test_other_arrays_do_not_compile(array, name):
    operation = getattr(atomics, name)
    arguments = {"load": "", "compare_and_swap": ", 0, 1"}.get(name, ", 1")
    space = {"operation": operation}
    exec(f"def use(array): return operation(array, 0{arguments})", space)
    with pytest.raises(numba.core.errors.TypingError):
        numba.njit(space["use"])(array)
