"""Map numbers to integers of the same order, for radix sorts and atomic minima."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["numbers_of_words", "ordered_words", "weight_words"]

Array = Any  # NumPy's or CuPy's
GREATEST = np.iinfo(np.int64).max


def ordered_words(values: Array) -> Array:
    """Return an int64 for each value, such that they compare like the values.

    Parameters
    ----------
    values : array of integers, bool, float32 or float64
        Different values have different integers.  NaNs come before or after all other floats by
        their sign, and -0.0 before 0.0.

    Returns
    -------
    array of int64, same shape
    """
    if values.dtype.kind != "f":
        return values.astype(np.int64)
    bits = values.astype(np.float64).view(np.int64)
    return bits ^ ((bits >> 63) & GREATEST)


def weight_words(weights: Array) -> Array:
    """Return an int64 for each weight that compares like it: both zeros are equal, and NaNs come last.

    Parameters
    ----------
    weights : array of int64, float32 or float64

    Returns
    -------
    array of int64, same shape
        Those of float32 and of float64 differ; kernels/cuda/spanning_tree.py makes the same ones.
    """
    if weights.dtype.kind != "f":
        return weights.astype(np.int64, copy=False)
    bits = np.dtype(f"i{weights.dtype.itemsize}")
    words = weights.view(bits).astype(np.int64)
    words ^= (words >> 63) & np.iinfo(bits).max
    words[words == -1] = 0  # of -0.0
    words[weights != weights] = GREATEST
    return words


def numbers_of_words(words: Array, dtype: np.dtype[Any]) -> Array:
    """Invert `ordered_words`.

    Parameters
    ----------
    words : array of int64
    dtype : dtype
        Dtype of the values.

    Returns
    -------
    array of `dtype`, same shape
    """
    if dtype.kind != "f":
        return words.astype(dtype)
    bits = words ^ ((words >> 63) & GREATEST)
    return bits.view(np.float64).astype(dtype)
