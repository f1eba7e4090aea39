"""Map numbers to integers of the same order, for radix sorts and atomic minima."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["numbers_of_words", "ordered_words"]

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
