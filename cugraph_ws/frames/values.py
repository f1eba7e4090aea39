"""Numeric columns: values of edges and vertices besides their ids."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cugraph_ws.errors import InputError
from cugraph_ws.frames.base import Column
from cugraph_ws.runtime.dispatch import provider

__all__ = ["cast_numbers", "read_numbers"]

Array = npt.NDArray[Any]


def read_numbers(column: Column, *, finite: bool = False) -> Any:
    """Return a numeric column as the smallest of int64, float32 and float64 that holds it exactly.

    Parameters
    ----------
    column : Column
    finite : bool
        Whether to refuse infinite values too.

    Returns
    -------
    array of int64, float32 or float64, where the column is
        May share memory with the frame.

    Raises
    ------
    InputError
        If a row is null or NaN, or the column is not numeric; the message names the row.
    """
    if column.on_device:
        return provider("device columns").read_device_numbers(column, finite=finite)
    values = _numeric(column)
    if values.dtype.kind == "f":
        _refuse_nan(column, values)
        if finite and not _all(np.isfinite, values):
            row = int(np.argmin(np.isfinite(values)))
            raise InputError(
                f"{column}: row {row + column.first_row} is {values[row]}; finite values are needed"
            )
        return values.astype(np.float64 if values.dtype.itemsize == 8 else np.float32, copy=False)
    if values.dtype == np.uint64 and len(values) and values.max() > np.iinfo(np.int64).max:
        row = int(np.argmax(values > np.iinfo(np.int64).max))
        raise InputError(
            f"{column}: row {row + column.first_row} is {values[row]}, above int64's {np.iinfo(np.int64).max}; "
            f"cast the column to float64"
        )
    return values.astype(np.int64, copy=False)


def cast_numbers(column: Column, dtype: npt.DTypeLike) -> Any:
    """Return a numeric column as a given dtype, exact except for the rounding of floats.

    Parameters
    ----------
    column : Column
    dtype : dtype
        An integer, float or bool dtype.

    Returns
    -------
    array of `dtype`, where the column is

    Raises
    ------
    InputError
        If a row is null or NaN, the column is not numeric, or a value does not fit.
    """
    if column.on_device:
        return provider("device columns").cast_device_numbers(column, dtype)
    dtype = np.dtype(dtype)
    values = _numeric(column)
    if values.dtype.kind == "f":
        _refuse_nan(column, values)
    with np.errstate(all="ignore"):  # values that do not fit are found below by comparison
        cast = values.astype(dtype)
        if dtype.kind == "f":
            changed = np.isinf(cast) & ~np.isinf(values.astype(np.float64, copy=False))
        else:
            changed = (cast != values) | ((cast < 0) != (values < 0))
    if changed.any():
        row = int(np.argmax(changed))
        raise InputError(
            f"{column}: row {row + column.first_row} is {values[row]}, which is not a value of {dtype}"
        )
    return cast


def _numeric(column: Column) -> Array:
    if isinstance(column.values, np.ndarray) and column.values.dtype.kind in "iufb":
        return column.values
    kind = column.arrow_type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        column.refuse_nulls()
    raise InputError(f"{column} holds {kind}; numbers are needed: cast the column to float64")


def _refuse_nan(column: Column, values: Array) -> None:
    missing = np.isnan(values)
    if missing.any():
        row = int(np.argmax(missing)) + column.first_row
        raise InputError(f"{column}: row {row} is nan; drop the rows without a value or fill them")


def _all(test: Any, values: Array) -> bool:
    return bool(test(values).all())
