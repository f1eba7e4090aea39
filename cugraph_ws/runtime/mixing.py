"""A hash of 64 bits that NumPy and CuPy compute alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.runtime.arrays import module_of

__all__ = ["mixed", "salted"]

Array = Any  # NumPy's or CuPy's


def mixed(words: Array) -> Array:
    """Return words mixed by the finalizer of SplitMix64.

    Parameters
    ----------
    words : array of uint64

    Returns
    -------
    array of uint64
    """
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    return words


def salted(numbers: Array, salt: int) -> Array:
    """Return a hash of each number with a salt.

    Parameters
    ----------
    numbers : array of int64
    salt : int
        Of 64 bits.

    Returns
    -------
    array of int64
        Not negative.
    """
    words = numbers.astype(np.uint64) + module_of(numbers).full(1, salt, np.uint64)
    return (mixed(words) >> np.uint64(1)).astype(np.int64)
