"""Properties of a Series that only cuDF can read: nulls, distinct values, times as numbers."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from cugraph_ws.runtime.arrays import all_true, any_true
from cugraph_ws.runtime.device import device

__all__ = ["Coded", "coded", "cudf_module", "missing", "no_text", "own_rules", "time_counts"]

DeviceArray = Any
Series = Any


@dataclass
class Coded:
    """Text or a categorical as codes into distinct values, all on the device.

    Attributes
    ----------
    codes : device array of integers, shape (rows,)
    values : Series
        Without nulls; a categorical may list values that no row has.
    all_used : bool
        Whether each of the values is known to be some row's.
    """

    codes: DeviceArray
    values: Series
    all_used: bool = False

    def __len__(self) -> int:
        return len(self.codes)

    def used(self) -> DeviceArray:
        """Return the places of the values that some row has; ascending."""
        xp = device().xp
        if self.all_used:
            return xp.arange(len(self.values))
        used = xp.zeros(len(self.values), np.bool_)
        used[self.codes] = True
        return xp.flatnonzero(used)


def missing(series: Series) -> DeviceArray | None:
    """Return which rows are null, or None without nulls; a NaN is not null.

    Parameters
    ----------
    series : cudf.Series

    Returns
    -------
    device array of bool, or None
    """
    xp = device().xp
    if series.null_count:
        return xp.asarray(series.isna())
    if hasattr(series.dtype, "categories"):
        values = cudf_module().Series(series.dtype.categories)
        if values.null_count:  # null is a category, so the codes of null rows are not null
            rows = xp.asarray(values.isna())[xp.asarray(series.cat.codes)]
            return rows if any_true(rows) else None
    return None


def coded(series: Series) -> Coded:
    """Return text, or a categorical, as codes into distinct values.

    Parameters
    ----------
    series : cudf.Series
        Without nulls.

    Returns
    -------
    Coded
    """
    cudf, xp = cudf_module(), device().xp
    if hasattr(series.dtype, "categories"):
        values = cudf.Series(series.dtype.categories)
        return Coded(xp.asarray(series.cat.codes).astype(np.int64), values)
    with own_rules():
        result = _coded_by_hash(series)
        if result is None:
            codes, values = series.factorize()
            result = Coded(xp.asarray(codes), cudf.Series(values), all_used=True)
        return result


def _coded_by_hash(series: Series) -> Coded | None:
    """Return text as codes into distinct values, or None if two values have one hash.

    Sorting 64-bit hashes takes a fraction of the time of `factorize`, which joins text with its
    distinct values.
    """
    xp, rows = device().xp, len(series)
    if not rows:
        return None
    series = series.reset_index(drop=True)
    hashes = xp.asarray(series.hash_values(method="xxhash64"))
    order = xp.argsort(hashes)
    hashes = hashes[order]
    new = xp.ones(rows, np.bool_)
    new[1:] = hashes[1:] != hashes[:-1]
    del hashes
    values = series.take(order[new]).reset_index(drop=True)
    codes = xp.empty(rows, np.int64)
    codes[order] = xp.cumsum(new) - 1
    del order, new
    same = xp.asarray(values.take(codes).reset_index(drop=True) == series)
    return Coded(codes, values, all_used=True) if all_true(same) else None


def no_text() -> Coded:
    """Return text without rows."""
    empty = cudf_module().Series.from_arrow(pa.array([], pa.large_string()))
    return Coded(device().xp.empty(0, np.int64), empty)


def time_counts(series: Series) -> DeviceArray:
    """Return times as counts of their unit.

    Parameters
    ----------
    series : cudf.Series
        Of timestamps, with or without a time zone, or durations.

    Returns
    -------
    device array of int64
    """
    xp = device().xp
    return xp.asarray(series.astype("int64")) if len(series) else xp.empty(0, np.int64)


@contextmanager
def own_rules() -> Iterator[None]:
    """Switch off cuDF's pandas-compatible mode, which `cudf.pandas` switches on."""
    with cudf_module().option_context("mode.pandas_compatible", False):
        yield


def cudf_module() -> Any:
    """Return cuDF, which is imported only if a caller uses it."""
    return sys.modules.get("cudf") or importlib.import_module("cudf")
