"""Make pandas frames; imported only for callers that use pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from cugraph_ws.frames.base import Ids, Masked

__all__ = ["join_categories", "make_frame"]

Array = npt.NDArray[Any]


def make_frame(
    columns: Mapping[str, Array | Masked | Ids | list[str]], *, arrow_backed: bool
) -> pd.DataFrame:
    """Return a pandas frame.

    Parameters
    ----------
    columns : mapping of str to ndarray, Masked, Ids or list of str
        Columns of equal length.
    arrow_backed : bool
        Whether numbers are Arrow-backed; ids keep their own dtype either way.

    Returns
    -------
    pandas.DataFrame
        If not Arrow-backed, missing integers use pandas' nullable dtypes, and missing floats are
        NaN.
    """
    values = [_column(column, arrow_backed) for column in columns.values()]
    frame = pd.DataFrame(dict(enumerate(values)))
    frame.columns = _index(tuple(columns), pd.get_option("future.infer_string")).view()
    return frame


@lru_cache(maxsize=64)
def _index(names: tuple[str, ...], _infer: bool | None) -> pd.Index[Any]:
    """Return the labels of columns, which take pandas longer to make than a small frame's columns."""
    return pd.Index(list(names))


def join_categories(dtypes: Sequence[pd.CategoricalDtype]) -> pd.CategoricalDtype:
    """Return the categorical dtype with the categories of all, in order of first appearance."""
    categories = dtypes[0].categories
    for dtype in dtypes[1:]:
        categories = categories.append(dtype.categories.difference(categories, sort=False))
    return pd.CategoricalDtype(categories)


def _column(column: Array | Masked | Ids | list[str], arrow_backed: bool) -> Any:
    if isinstance(column, Ids):
        return _ids(column, arrow_backed)
    if isinstance(column, Masked):
        if arrow_backed:
            return _arrow_backed(pa.array(column.values, mask=~column.valid))
        return _masked(column)
    if isinstance(column, np.ndarray) and column.dtype.kind in "biuf" and not arrow_backed:
        return column
    return _arrow_backed(pa.array(column)) if arrow_backed else pd.Series(column)


def _arrow_backed(values: pa.Array) -> Any:
    return pd.Series(values, dtype=pd.ArrowDtype(values.type))


def _masked(column: Masked) -> Any:
    if column.values.dtype.kind == "f":
        return column.filled(column.values.dtype.type(np.nan))
    if column.values.dtype.kind == "b":
        return pd.arrays.BooleanArray(column.values, ~column.valid)
    return pd.arrays.IntegerArray(column.values, ~column.valid)


def _ids(column: Ids, arrow_backed: bool) -> Any:
    """Return ids in their original dtype, or the nullable one of the same width.

    No step may use pandas' default of float64 for integers with nulls: it is not exact.
    """
    values: pa.Array = column.values
    dtype: Any = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return _categories(values, dtype)
    if dtype is None and arrow_backed:
        dtype = pd.ArrowDtype(values.type)
    if isinstance(dtype, pd.ArrowDtype):
        return pd.Series(values.cast(dtype.pyarrow_dtype), dtype=dtype)
    if hasattr(dtype, "__from_arrow__"):  # pandas' own extension dtypes
        return dtype.__from_arrow__(values)
    if isinstance(dtype, np.dtype) and dtype.kind == "O":
        return pd.Series(np.array([*values.to_pylist(), None], dtype=object)[:-1], dtype=object)
    if pa.types.is_integer(values.type):
        return _integer_ids(column)
    return values.to_pandas() if dtype is None else values.to_pandas().astype(dtype)


def _categories(values: pa.Array, dtype: pd.CategoricalDtype) -> Any:
    codes = np.full(len(values), -1, np.int64)
    present = values.is_valid().to_numpy(zero_copy_only=False)
    codes[present] = dtype.categories.get_indexer(pd.Index(values.drop_null().to_pandas()))
    return pd.Categorical.from_codes(codes, dtype=dtype)


def _integer_ids(column: Ids) -> Any:
    values: pa.Array = column.values
    if not values.null_count:
        numbers = values.to_numpy().copy()  # a writable copy
        missing = np.zeros(len(numbers), np.bool_)
        return pd.arrays.IntegerArray(numbers, missing) if column.nullable else numbers
    missing = values.is_null().to_numpy(zero_copy_only=False).copy()
    stored = np.frombuffer(values.buffers()[1], values.type.to_pandas_dtype())
    numbers = stored[values.offset : values.offset + len(values)].copy()
    numbers[missing] = 0
    return pd.arrays.IntegerArray(numbers, missing)
