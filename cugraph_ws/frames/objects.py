"""Python objects as an Arrow array, without Arrow's silent casts.

Arrow silently converts text among bytes to bytes, times among dates to dates, and numbers among
times to times.  It also drops the nanoseconds of pandas' timestamps, and crashes on a list that
contains itself.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import date, datetime, timedelta
from numbers import Number
from typing import Any

import numpy as np
import pyarrow as pa

__all__ = ["from_objects"]

_BASES: tuple[type, ...] = (str, bytes, datetime, date, timedelta)
_BYTES = (bytearray, memoryview)


def from_objects(values: list[Any], *, nan_is_null: bool = False) -> pa.Array:
    """Return Python objects of one kind as an Arrow array.

    Parameters
    ----------
    values : list
    nan_is_null : bool
        Whether NaN among other objects means a missing value, as in pandas.

    Returns
    -------
    pyarrow.Array

    Raises
    ------
    TypeError, ValueError, OverflowError, pyarrow.ArrowException
        If they are of several kinds, or of a kind that Arrow lacks.
    """
    types = set(map(type, values))
    for kind in types:
        if issubclass(kind, Collection) and not issubclass(kind, (*_BASES, *_BYTES)):
            raise TypeError(
                f"there is a {kind.__name__} among them, and each must be a single value"
            )
    kinds = {_kind(kind) for kind in types} - {"missing"}
    if nan_is_null and kinds > {"number"} and all(map(_is_nan, values)):
        kinds -= {"number"}
    if len(kinds) > 1:
        raise TypeError(f"there are {' and '.join(sorted(kinds))} among them")
    try:
        array = pa.array(values, from_pandas=nan_is_null)
    except OverflowError:  # integers: perhaps some that only uint64 holds
        array = pa.array(values, pa.uint64(), from_pandas=nan_is_null)
    if any(hasattr(kind, "nanosecond") or hasattr(kind, "nanoseconds") for kind in types):
        array = _with_nanoseconds(array, values, nan_is_null)
    return array


def _kind(kind: type) -> str:
    """Return the name of the kind of a type; only objects of one kind form a column."""
    if kind.__name__ in ("NoneType", "NAType", "NaTType"):
        return "missing"
    if issubclass(kind, (Number, np.number, np.bool_)):
        return "number"
    return next((base.__name__ for base in _BASES if issubclass(kind, base)), kind.__name__)


def _is_nan(value: Any) -> bool:
    """Return whether a value is a number and NaN."""
    return _kind(type(value)) != "number" or bool(value != value)


def _with_nanoseconds(array: pa.Array, values: list[Any], nan_is_null: bool) -> pa.Array:
    """Return pandas' timestamps or durations in nanoseconds, if some need them."""
    if not any(
        getattr(value, "nanosecond", 0) or getattr(value, "nanoseconds", 0) for value in values
    ):
        return array
    fine = pa.duration("ns")
    if pa.types.is_timestamp(array.type):
        fine = pa.timestamp("ns", array.type.tz)
    return pa.array(values, fine, from_pandas=nan_is_null)
