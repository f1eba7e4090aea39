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
    """Try every operation on `array`, which has 2 elements; return what they gave."""
    atomics.store(array, 0, 5)
    loaded = atomics.load(array, 0)
    swapped = atomics.compare_and_swap(array, 1, 4, 8)
    not_swapped = atomics.compare_and_swap(array, 1, 4, 6)
    return loaded, swapped, not_swapped


@numba.njit(nogil=True)
def count_up(array, times):
    """Add 1 to the first element, with the second as a lock, many times."""
    for _ in range(times):
        while not atomics.compare_and_swap(array, 1, 0, 1):
            pass
        array[0] += 1
        atomics.store(array, 1, 0)


@pytest.mark.parametrize(
    "kind", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
)
def test_every_operation(kind):
    array = np.array([1, 4], kind)
    assert each_once(array) == (5, True, False)
    assert array.tolist() == [5, 8]


@pytest.mark.skipif(not COMPILED, reason="plain Python runs in one thread")
def test_threads_lose_nothing():
    array = np.zeros(2, np.int64)
    times = 20_000
    count_up(array, 0)
    workers = [threading.Thread(target=count_up, args=(array, times)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert array.tolist() == [4 * times, 0]


def load_one(array):
    return atomics.load(array, 0)


def store_one(array):
    atomics.store(array, 0, 1)


def swap_one(array):
    return atomics.compare_and_swap(array, 0, 0, 1)


@pytest.mark.skipif(not COMPILED, reason="plain Python takes any array")
@pytest.mark.parametrize("array", [np.zeros(2), np.zeros((2, 2), np.int64), np.zeros(8, int)[::2]])
@pytest.mark.parametrize("operation", [load_one, store_one, swap_one])
def test_other_arrays_do_not_compile(array, operation):
    with pytest.raises(numba.core.errors.TypingError):
        numba.njit(operation)(array)
