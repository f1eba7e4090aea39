"""Numbers as integers of the same order, which are sorted by radix and lowered by atomics."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["numbers_of_words", "ordered_words"]

Array = Any  # NumPy's or CuPy's
GREATEST = np.iinfo(np.int64).max


def ordered_words(values: Array) -> Array:
    """Return int64 words in the order of the values; no two values have the same.

    Parameters
    ----------
    values : array of integers, bool, float32 or float64
        A NaN comes before or after all other floats, and -0.0 before 0.0.
    """
    if values.dtype.kind != "f":
        return values.astype(np.int64)
    bits = values.astype(np.float64).view(np.int64)
    return bits ^ ((bits >> 63) & GREATEST)


def numbers_of_words(words: Array, dtype: np.dtype[Any]) -> Array:
    """Return the values that `ordered_words` made words of.

    Parameters
    ----------
    words : array of int64
    dtype : dtype
        Of the values.
    """
    if dtype.kind != "f":
        return words.astype(dtype)
    bits = words ^ ((words >> 63) & GREATEST)
    return bits.view(np.float64).astype(dtype)
