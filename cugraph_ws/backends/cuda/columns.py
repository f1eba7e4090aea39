"""Columns on the device: checked and converted as columns on the host are, with the same errors.

Numbers without nulls are device arrays, which share the frame's memory if possible.  All else stays
a cuDF Series, which `cudf_series` reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from cugraph_ws.backends.cuda.cudf_series import coded, missing, no_text, time_counts
from cugraph_ws.errors import InputError
from cugraph_ws.frames.base import Column
from cugraph_ws.runtime.arrays import any_true, read_scalars
from cugraph_ws.runtime.device import device

__all__ = [
    "DeviceColumn",
    "convert_ids",
    "device_values",
    "first_true",
    "id_values",
    "widened",
]

DeviceArray = Any
_INT64_MAX = np.iinfo(np.int64).max
_A_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@dataclass(frozen=True)
class DeviceColumn(Column):
    """A column on the device: an array if it holds numbers without nulls, else a Series.

    Attributes
    ----------
    arrow : pyarrow.DataType
        The values' type.
    """

    arrow: pa.DataType
    on_device: ClassVar[bool] = True

    @property
    def is_array(self) -> bool:
        """Whether the values are a device array."""
        return isinstance(self.values, device().xp.ndarray)

    @property
    def arrow_type(self) -> pa.DataType:
        """The values' type, as Arrow names it."""
        return self.arrow

    def refuse_nulls(self) -> None:
        """Raise InputError naming the first row without a value."""
        if self.is_array:
            return
        rows = missing(self.values)
        if rows is not None:
            self._refuse_row(first_true(rows))

    def value(self, row: int) -> Any:
        """Return one value as a Python object, for errors."""
        if self.is_array:
            return device().to_host(self.values[row : row + 1])[0].item()
        return self.values.iloc[row : row + 1].to_arrow()[0].as_py()

    def _refuse_row(self, row: int) -> None:
        raise InputError(
            f"{self}: row {self.first_row + row} is null; drop the rows without a value or fill them"
        )


def device_values(data: Any, argument: str) -> DeviceColumn:
    """Read an array in a GPU's memory as a column, without a copy.

    Work that is queued on the array comes first: DLPack's protocol orders the streams of two libraries, and so does
    `__cuda_array_interface__` if it names a stream, which PyTorch's does not.

    Parameters
    ----------
    data : array of CuPy, Numba, PyTorch or others
        With `__cuda_array_interface__`, or DLPack's protocol.
    argument : str
        The caller's name for it, for errors.

    Returns
    -------
    DeviceColumn

    Raises
    ------
    InputError
        If it is not one-dimensional, or its values are not numbers.
    """
    xp = device().xp
    try:
        described = getattr(data, "__cuda_array_interface__", None)
        unordered = described is None or "stream" not in described
        by_dlpack = unordered and hasattr(data, "__dlpack__")
        values = xp.from_dlpack(data) if by_dlpack else xp.asarray(data)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise InputError(f"{argument}: the array cannot be read: {error}") from error
    if values.ndim != 1:
        raise InputError(f"{argument}: a one-dimensional array is needed, not {values.ndim}-d")
    if values.dtype.kind not in "iufb":
        raise InputError(f"{argument}: an array of numbers is needed, not of {values.dtype}")
    return DeviceColumn(argument, argument, values, values.dtype, pa.from_numpy_dtype(values.dtype))


def first_true(flags: DeviceArray) -> int:
    """Return the place of the first true value; there must be one."""
    return int(read_scalars(flags.argmax())[0])


def id_values(column: Column, arrow: pa.DataType, *, categorical: bool) -> Any:
    """Return ids without nulls in the form in which they are numbered.

    Parameters
    ----------
    column : Column
        On the device.
    arrow : pyarrow.DataType
        Type of the values; of a categorical, type of its categories.
    categorical : bool
        Whether the column is categorical.

    Returns
    -------
    device array of integers of 32 or 64 bits, or cudf_series.Coded
        Times as counts of their unit.
    """
    assert isinstance(column, DeviceColumn)
    if column.is_array:
        return widened(column.values)
    if pt.is_null(arrow):
        return device().xp.empty(0, np.int64)
    text = pt.is_string(arrow) or pt.is_large_string(arrow)
    if not categorical and not text:
        return time_counts(column.values)
    codes = coded(column.values)
    if text:
        return codes
    if not len(codes):  # then there may be no categories either
        return device().xp.empty(0, _width(arrow))
    integers = (
        device().xp.asarray(codes.values) if pt.is_integer(arrow) else time_counts(codes.values)
    )
    return widened(integers[codes.codes])


def widened(values: DeviceArray) -> DeviceArray:
    """Return integers in a dtype that kernels take for ids: below 32 bits, int32.

    Parameters
    ----------
    values : device array of integers

    Returns
    -------
    device array of int32, uint32, int64 or uint64
        The same array if it has one of these dtypes.
    """
    return values.astype(np.int32) if values.dtype.itemsize < 4 else values


def _width(arrow: pa.DataType) -> np.dtype[Any]:
    """Return the dtype in which ids of a type are kept on the device."""
    if not pt.is_integer(arrow):
        return np.dtype(np.int64)  # counts of a unit of time
    dtype = np.dtype(arrow.to_pandas_dtype())
    return dtype if dtype.itemsize >= 4 else np.dtype(np.int32)


def convert_ids(column: Column, values: Any, old: pa.DataType, new: pa.DataType) -> Any:
    """Return ids of one type as those of another of its family.

    Parameters
    ----------
    column : Column
        The column of the ids, for errors.
    values : device array of integers, or text
        Returned by `id_values`; of any type if empty.
    old, new : pyarrow.DataType
        The present type and the wanted one.

    Returns
    -------
    device array of integers, or text

    Raises
    ------
    InputError
        If a value does not fit the new type.
    """
    text = pt.is_string(new) or pt.is_large_string(new)
    if pt.is_null(old):
        return no_text() if text else device().xp.empty(0, _width(new))
    if text or old == new:
        return values
    return (
        _to_width(column, values, new) if pt.is_integer(new) else _to_unit(column, values, old, new)
    )


def _to_width(column: Column, values: DeviceArray, new: pa.DataType) -> DeviceArray:
    if values.dtype == np.uint64 and len(values) and read_scalars(values.max())[0] > _INT64_MAX:
        raise InputError(
            f"{column}: id {read_scalars(values.max())[0]} is above {_INT64_MAX}, and another "
            f"column of ids is signed; cast both to uint64 or to strings"
        )
    return values.astype(_width(new), copy=False)


def _to_unit(
    column: Column, values: DeviceArray, old: pa.DataType, new: pa.DataType
) -> DeviceArray:
    factor, by = max(1, _A_SECOND[new.unit] // _A_SECOND[old.unit]), 1
    if factor == 1:
        by = _A_SECOND[old.unit] // _A_SECOND[new.unit]
    if len(values):
        least, most = read_scalars(values.min(), values.max())
        beyond = max(-least, most) > _INT64_MAX // factor
        if beyond or any_true(values % by != 0):
            why = "values are out of bounds" if beyond else "finer units would be lost"
            raise InputError(
                f"{column}: casting from {old} to {new}: {why}; cast the columns of ids to one unit"
            )
    return values // by * factor
