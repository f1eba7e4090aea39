"""Numeric columns: values of edges and vertices besides their ids."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cugraph_ws.arguments import shown
from cugraph_ws.errors import InputError
from cugraph_ws.frames.base import Column, open_values
from cugraph_ws.runtime.arrays import any_true, array_module, as_host

__all__ = ["cast_numbers", "is_one_number", "number_for_all", "numbered_values", "read_numbers"]

Array = Any  # NumPy's or CuPy's
_INT64_MAX = np.iinfo(np.int64).max
_BLOCK = 1 << 20  # rows


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
    xp, values = array_module(column.on_device), _numeric(column)
    if values.dtype.kind == "f":
        row = _first_of(values, lambda some: ~xp.isfinite(some) if finite else xp.isnan(some))
        if row is not None:
            _refuse_nan(column, values)
            raise _unfit(
                column,
                values,
                row,
                "; finite values are needed: drop the row, or give a large number",
            )
        return values.astype(np.float64 if values.dtype.itemsize == 8 else np.float32, copy=False)
    if values.dtype == np.uint64:
        row = _first_of(values, lambda some: some > np.uint64(_INT64_MAX))
        if row is not None:
            why = f", above int64's {_INT64_MAX}; cast the column to float64"
            raise _unfit(column, values, row, why)
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
    xp, dtype, values = array_module(column.on_device), np.dtype(dtype), _numeric(column)
    if values.dtype.kind == "f":
        _refuse_nan(column, values)
    with np.errstate(all="ignore"):  # values that do not fit are found below by comparison
        cast = values.astype(dtype)
        if dtype.kind == "f":
            changed = xp.isinf(cast) & ~xp.isinf(values.astype(np.float64, copy=False))
        else:
            changed = (cast != values) | ((cast < 0) != (values < 0))
    row = _first(changed)
    if row is not None:
        raise _unfit(column, values, row, f", which is not a value of {dtype}")
    return cast


def is_one_number(data: Any) -> bool:
    """Return whether the values given for vertices are one number for all of them."""
    return isinstance(data, (numbers.Real, np.generic))


def number_for_all(number: Any, argument: str, dtype: npt.DTypeLike) -> Any:
    """Convert a number that is given for all vertices to a dtype.

    Parameters
    ----------
    number : number
    argument : str
        The caller's name for it, for errors.
    dtype : dtype

    Raises
    ------
    InputError
        As `cast_numbers`.
    """
    if type(number) is float:  # conversion by Arrow would take as long as a superstep
        column = Column(argument, argument, np.array([number]), pa.float64())
    else:
        column = open_values([number], argument)
    return cast_numbers(column, dtype)[0]


def _numeric(column: Column) -> Array:
    """Return the values, an array where the column is."""
    is_array = isinstance(column.values, array_module(column.on_device).ndarray)
    if is_array and column.values.dtype.kind in "iufb":
        return column.values
    kind = column.arrow_type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        column.refuse_nulls()
    raise InputError(f"{column} holds {kind}; numbers are needed: {_conversion(column)}")


def _conversion(column: Column) -> str:
    """Return the line by which a frame's column becomes numbers."""
    kind, name = column.arrow_type, shown(column.name)
    library = type(column.dtype).__module__.partition(".")[0]
    if column.name == column.argument and library == "pyarrow":  # values without a frame
        return "convert them"
    if pa.types.is_temporal(kind):
        lines = {
            "polars": f"frame = frame.with_columns(polars.col({name}).to_physical())",
            "pyarrow": f"frame = frame.set_column(frame.column_names.index({name}), {name}, "
            f"frame[{name}].cast('int{kind.bit_width}'))",
        }
        line = lines.get(library, f"frame[{name}] = frame[{name}].astype('int64')")
        return f"`{line}` makes integers of it, in its unit"
    if pa.types.is_dictionary(kind):
        codes = f"frame[{name}].cat.codes"
        codes = f"polars.col({name}).to_physical()" if library == "polars" else codes
        return f"{codes} has a number for each of its words"
    return "cast the column to float64"


def _first_of(values: Array, unfit: Callable[[Array], Array]) -> int | None:
    """Return the first row that is unfit, or None; flags are made for a block of rows on the host at a time."""
    step = _BLOCK if isinstance(values, np.ndarray) else max(1, len(values))
    for low in range(0, len(values), step):
        row = _first(unfit(values[low : low + step]))
        if row is not None:
            return low + row
    return None


def _first(flags: Array) -> int | None:
    """Return the row of the first true flag, or None."""
    return int(flags.argmax()) if any_true(flags) else None


def _unfit(column: Column, values: Array, row: int, why: str) -> InputError:
    (value,) = as_host(values[row : row + 1])
    return InputError(f"{column}: row {column.first_row + row} is {value}{why}")


def _refuse_nan(column: Column, values: Array) -> None:
    row = _first(array_module(column.on_device).isnan(values))
    if row is not None:
        raise _unfit(column, values, row, "; drop the rows without a value or fill them")


def numbered_values(column: Column) -> tuple[pa.Array, pa.Array]:
    """Return the index of each value among the distinct values, and these, ascending.

    Raises
    ------
    InputError
        If there are nulls, or values have several parts.
    """
    column.refuse_nulls()
    values = column.values
    plain = pa.chunked_array([values]) if isinstance(values, np.ndarray) else values
    if pa.types.is_dictionary(plain.type):
        plain = plain.cast(plain.type.value_type)
        replace(column, values=plain).refuse_nulls()  # a category may be null
    if pa.types.is_nested(plain.type):
        raise InputError(
            f"{column} holds {plain.type}; give each vertex a single value, such as an integer or text"
        )
    distinct = pc.unique(plain)
    distinct = distinct.take(pc.sort_indices(distinct))
    return cast(pa.Array, pc.index_in(plain, value_set=distinct)), distinct
