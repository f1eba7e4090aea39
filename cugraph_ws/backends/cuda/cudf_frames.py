"""cuDF frames: columns read in place, ids that only cuDF can compare, frames of results.

This module is imported only if a caller passes a cuDF frame, or arrays on a GPU.  Everything stays
on the device.  Only the part of cuDF that pandas has too is used, so that tests can replace cuDF by
a stand-in made of pandas.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from cugraph_ws.backends.cuda.columns import DeviceColumn
from cugraph_ws.backends.cuda.cudf_series import Coded, coded, cudf_module, own_rules
from cugraph_ws.backends.cuda.grouping import run
from cugraph_ws.backends.cuda.numbered_ids import DeviceNumbered
from cugraph_ws.errors import InputError
from cugraph_ws.frames.base import Below, Column, Frame, FrameKind, Ids, Masked
from cugraph_ws.frames.ids import IdType
from cugraph_ws.graph.adjacency import index_dtype
from cugraph_ws.graph.numbering import Renumbered
from cugraph_ws.runtime.arrays import count_true
from cugraph_ws.runtime.device import device

__all__ = [
    "CudfFrame",
    "Validity",
    "as_series",
    "device_column",
    "empty_mask",
    "id_column",
    "ids_of_range",
    "join_categories",
    "make_frame",
    "move_to_device",
    "number_text",
]

DeviceArray = Any
Series = Any

MASK_BYTES = 64  # the size of a mask is a multiple


class CudfFrame(Frame):
    """A cuDF frame, whose columns are read on the device.

    Parameters
    ----------
    native : cudf.DataFrame
    argument : str
        The caller's name for it, for errors.
    proxy : bool
        Whether the caller passed a `cudf.pandas` proxy.
    """

    on_device = True

    def __init__(self, native: Any, argument: str, *, proxy: bool = False) -> None:
        self.native = native
        self.backend = "cudf"
        self.argument = argument
        self.proxy = proxy
        self._released: set[str] = set()
        self._rows = len(native)

    def __len__(self) -> int:
        return self._rows

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [name for name in self.native.columns if name not in self._released]

    def kind_like(self, name: str) -> FrameKind:
        """Return the kind of frame for results."""
        return FrameKind("cudf", proxy=self.proxy)

    def on_host(self) -> Frame:
        """Return a copy on the host, as an Arrow table."""
        table = nw.from_native(self.native.to_arrow(preserve_index=False), eager_only=True)
        return Frame(self.native, table, "cudf", self.argument, proxy=self.proxy)

    def release(self, names: Sequence[str]) -> None:
        """Remove columns from the caller's frame, and drop them here."""
        for name in dict.fromkeys(names):
            if name in self.names:
                self._released.add(name)
                del self.native[name]

    def _read(self, name: str, argument: str) -> Column:
        return device_column(self.native[name], name, argument)


class SortedText:
    """Distinct text, ascending, in a Series; an id's number is its place."""

    renumbered: Renumbered = "sorted"

    def __init__(self, ids: Series) -> None:
        self.ids = ids

    @property
    def size(self) -> int:
        """Number of ids."""
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        """Bytes of the ids."""
        return int(self.ids.memory_usage(index=False, deep=True))

    def encode(self, columns: Sequence[Any]) -> DeviceArray:
        """Find the ids by bisection among the distinct ones."""
        xp, (wanted,) = device().xp, columns
        if not self.size:
            return xp.full(len(wanted), -1, np.int64)
        values = wanted.values.astype(self.ids.dtype)
        places = xp.minimum(xp.asarray(self.ids.searchsorted(values)), self.size - 1)
        candidates = self.ids.take(places).reset_index(drop=True)
        same = xp.asarray(candidates == values.reset_index(drop=True))
        return xp.where(same, places, -1)[wanted.codes].astype(np.int64)

    def decode(self, numbers: DeviceArray) -> list[Any]:
        """Look the ids up."""
        return [self.ids.take(device().xp.maximum(numbers, 0)).reset_index(drop=True)]


def device_column(series: Series, name: str, argument: str) -> DeviceColumn:
    """Read a cuDF Series as a column.

    Parameters
    ----------
    series : cudf.Series or cudf.Index
    name, argument : str
        See `Column`.

    Returns
    -------
    DeviceColumn
        An array that shares the Series' memory if it holds numbers without nulls.
    """
    if not hasattr(series, "iloc"):  # an Index
        series = cudf_module().Series(series)
    arrow = _arrow_type(series)
    if not len(series) and (pt.is_string(arrow) or pt.is_large_string(arrow)):
        arrow = pa.null()  # cuDF's type of no values at all
    numeric = pt.is_integer(arrow) or pt.is_floating(arrow) or pt.is_boolean(arrow)
    if not numeric or series.null_count:
        return DeviceColumn(name, argument, series, series.dtype, arrow)
    xp = device().xp
    if len(series):
        values = xp.asarray(series)
    else:  # an empty Series may have no memory
        values = xp.empty(0, arrow.to_pandas_dtype())
    return DeviceColumn(name, argument, values, series.dtype, arrow)


def move_to_device(column: Column) -> DeviceColumn:
    """Copy a column to the device.

    Parameters
    ----------
    column : Column
        On the host; a column on the device is returned unchanged.

    Returns
    -------
    DeviceColumn
        Its dtype belongs to another library.
    """
    if isinstance(column, DeviceColumn):
        return column
    values, arrow = column.values, column.arrow_type
    if isinstance(values, np.ndarray) and values.dtype.kind in "iufb":
        moved = device().xp.asarray(np.ascontiguousarray(values))
        return DeviceColumn(column.name, column.argument, moved, column.dtype, arrow)
    column.refuse_nulls()
    if pt.is_null(arrow):
        return DeviceColumn(column.name, column.argument, _series([]), None, arrow)
    if pt.is_binary(arrow) or pt.is_large_binary(arrow) or pt.is_fixed_size_binary(arrow):
        raise InputError(f"{column} holds {arrow}, which cuDF has no type for; give strings")
    chunks = pa.chunked_array([pa.array(values)]) if isinstance(values, np.ndarray) else values
    if pt.is_dictionary(arrow):
        chunks = chunks.cast(arrow.value_type)
    if pt.is_string_view(chunks.type):
        chunks = chunks.cast(pa.large_string())
    series = cudf_module().Series.from_arrow(chunks.combine_chunks())
    return device_column(series, column.name, column.argument)


def number_text(columns: Sequence[Coded]) -> DeviceNumbered:
    """Assign numbers to text by its sorted distinct values; only distinct values are compared.

    Parameters
    ----------
    columns : sequence of Coded
        Sources, destinations, and perhaps a vertex frame's.

    Returns
    -------
    DeviceNumbered
    """
    cudf, xp = cudf_module(), device().xp
    with own_rules():
        places = [column.used() for column in columns]
        used = [column.values.take(rows) for column, rows in zip(columns, places, strict=True)]
        every = coded(cudf.concat(used, ignore_index=True))
        ids = every.values.sort_values()
        ranks = xp.empty(len(ids), index_dtype(len(ids)))
        ranks[xp.asarray(ids.index.values)] = xp.arange(len(ids))
        ranks = ranks[every.codes]
        numbers, first = [], 0
        for column, rows in zip(columns, places, strict=True):
            number = xp.zeros(len(column.values), ranks.dtype)  # no row has a value without one
            number[rows] = ranks[first : first + len(rows)]
            numbers.append(number[column.codes])
            first += len(rows)
        ids = ids.reset_index(drop=True)
    return DeviceNumbered(numbers, 0, None, SortedText(ids))


@dataclass
class Validity:
    """Which rows of a column are not null.

    Attributes
    ----------
    rows : int
    nulls : int
        Number of nulls.
    mask : device array of uint32, shape (words of an `empty_mask`,), or None
        A bit for each row, set if it is not null; None only without nulls.
    """

    rows: int
    nulls: int
    mask: DeviceArray | None

    @classmethod
    def of(cls, valid: Any) -> Validity:
        """Return the validity that an array of bool, on the host or the device, describes."""
        xp = device().xp
        valid = xp.asarray(valid)
        nulls, mask = len(valid) - count_true(valid), None
        if nulls:
            mask = empty_mask(len(valid))
            mask.view(np.uint8)[: -(-len(valid) // 8)] = xp.packbits(valid, bitorder="little")
        return cls(len(valid), nulls, mask)

    @classmethod
    def below(cls, values: DeviceArray, limit: float) -> Validity:
        """Return which numbers are below a limit, in one pass; a NaN counts as below."""
        rows, mask = len(values), empty_mask(len(values))
        nulls = device().xp.zeros(1, np.int64)
        run(device(), "mark_below", rows, values, rows, limit, mask, nulls, module="results")
        return cls(rows, int(device().to_host(nulls)[0]), mask)

    def as_bools(self) -> DeviceArray:
        """Return an array of bool."""
        if self.mask is None:
            return device().xp.ones(self.rows, np.bool_)
        bits = device().xp.unpackbits(self.mask.view(np.uint8), bitorder="little")
        return bits[: self.rows].view(np.bool_)


def empty_mask(rows: int) -> DeviceArray:
    """Return a mask of zeros, of the size that cuDF requires.

    It is allocated here, since RMM's default resource calls the driver for each of libcudf's
    arrays.
    """
    words = MASK_BYTES // 4
    return device().xp.zeros(-(-rows // (32 * words)) * words, np.uint32)


def id_column(values: Any, valid: Validity | None, kind: IdType, *, fresh: bool = False) -> Any:
    """Return ids in their original dtype.

    Parameters
    ----------
    values : device array of integers, or Series of text
    valid : Validity, or None
        Which are not null; None if all are.
    kind : IdType
    fresh : bool
        Whether there is no other reference to the array, so that the column may take its memory.

    Returns
    -------
    pylibcudf.Column or cudf.Series
        For `make_frame`.
    """
    with own_rules():
        column, dtype = values, values.dtype
        if isinstance(values, device().xp.ndarray):
            if pt.is_integer(kind.arrow):
                dtype = kind.arrow.to_pandas_dtype()
                column = _numbers(values.astype(dtype, copy=not fresh))
            else:
                column = _restored(values, kind.arrow, fresh=fresh)
                dtype = column.dtype
        if valid is not None and valid.nulls:  # before a cast: a null's value may be no category
            column = _with_nulls(column, valid)
        if kind.dtype is not None and dtype != kind.dtype:
            column = as_series(column).astype(kind.dtype)
        return column


def ids_of_range(ids: DeviceArray | None, first: int, last: int, kind: IdType) -> Any:
    """Return the ids of vertices by number, from `first` to `last`.

    Parameters
    ----------
    ids : device array of integers, shape (last - first,), or None
        None if every id is its own number.
    first, last : int
    kind : IdType

    Returns
    -------
    pylibcudf.Column or cudf.Series
        With memory of its own; for `make_frame`.
    """
    if ids is not None:
        return id_column(ids, None, kind)
    return id_column(device().xp.arange(first, last), None, kind, fresh=True)


def join_categories(dtypes: Sequence[Any]) -> Any:
    """Return the categorical dtype with the categories of all, in order of first appearance.

    Parameters
    ----------
    dtypes : sequence of cudf.CategoricalDtype

    Returns
    -------
    cudf.CategoricalDtype
    """
    cudf = cudf_module()
    with own_rules():
        every = cudf.concat([cudf.Series(dtype.categories) for dtype in dtypes], ignore_index=True)
        return cudf.CategoricalDtype(every.drop_duplicates(), ordered=False)


def make_frame(columns: Mapping[str, Any]) -> Any:
    """Return a cuDF frame.

    Parameters
    ----------
    columns : mapping of str to device array, ndarray, Masked, list of str, Series or pylibcudf.Column
        Columns of one length; columns on the device are not copied, arrays are.

    Returns
    -------
    cudf.DataFrame
    """
    with own_rules():
        results = {name: _column(column) for name, column in columns.items()}
        if any(isinstance(result, cudf_module().Series) for result in results.values()):
            return cudf_module().DataFrame(
                {name: as_series(result) for name, result in results.items()}
            )
        from pylibcudf import Table

        # cuDF's constructor from a dict of Series is slower than many searches.
        table = Table(list(results.values()))
        return cudf_module().DataFrame.from_pylibcudf(table, {"columns": list(results)})


def as_series(column: Any) -> Series:
    """Return a column that `make_frame` takes as a Series."""
    if isinstance(column, cudf_module().Series):
        return column
    return cudf_module().Series.from_pylibcudf(column)


def _column(column: Any) -> Any:
    """Return numbers as a libcudf column, without cuDF; anything else as a Series."""
    if isinstance(column, Masked):
        if isinstance(column, Below) and isinstance(column.values, device().xp.ndarray):
            valid = Validity.below(column.values, column.limit)
        else:
            valid = Validity.of(column.valid)
        return _with_nulls(_column(column.values), valid)
    if isinstance(column, Ids):  # decoded on the host
        series = cudf_module().Series.from_arrow(column.values)
        plain = column.dtype is None or isinstance(column.dtype, pa.DataType)
        return series if plain else series.astype(column.dtype)
    if isinstance(column, list):
        return cudf_module().Series.from_arrow(pa.array(column, pa.large_string()))
    if isinstance(column, np.ndarray):
        return _numbers(device().xp.asarray(np.ascontiguousarray(column)))
    if isinstance(column, cudf_module().Series):
        return column.to_pylibcudf()[0] if _is_plain(column.dtype) else column
    from pylibcudf import Column as PlainColumn

    if isinstance(column, PlainColumn):
        return column
    return _numbers(device().xp.array(column))  # a copy: the caller may write to the frame


def _with_nulls(column: Any, valid: Validity) -> Any:
    """Return a column with nulls; numbers are not copied, but get a mask."""
    if isinstance(column, cudf_module().Series):
        return column.where(_series(valid.as_bools()))
    from pylibcudf import gpumemoryview

    mask = None
    if valid.nulls:
        assert valid.mask is not None
        mask = gpumemoryview(valid.mask.view(np.uint8))
    return column.with_mask(mask, valid.nulls)


def _numbers(values: DeviceArray) -> Any:
    """Return numbers as a libcudf column without a copy; as a Series if cuDF's layout differs."""
    if not len(values) or not _is_plain(values.dtype):
        return cudf_module().Series(values, nan_as_null=False)
    from pylibcudf import Column as PlainColumn

    return PlainColumn.from_cuda_array_interface(values)


def _series(values: DeviceArray | list[Any]) -> Series:
    """Return numbers as a Series without a copy; NaNs are not nulls."""
    return as_series(_numbers(values))


def _is_plain(dtype: Any) -> bool:
    """Return whether a dtype is of plain numbers, which libcudf stores as cuDF does."""
    return isinstance(dtype, np.dtype) and dtype.kind in "iuf"


def _restored(values: DeviceArray, arrow: pa.DataType, *, fresh: bool) -> Series:
    """Return numbers as a Series of the times that they stand for; no times, an empty Series."""
    if pt.is_null(arrow):
        return _series([])
    counts = _series(values.astype(np.int64, copy=not fresh))
    if pt.is_duration(arrow):
        return counts.astype(f"timedelta64[{arrow.unit}]")
    moments = counts.astype(f"datetime64[{arrow.unit}]")
    return moments.dt.tz_localize("UTC").dt.tz_convert(arrow.tz) if arrow.tz else moments


def _arrow_type(series: Series) -> pa.DataType:
    """Return the type of a Series, as Arrow names it."""
    dtype = series.dtype
    if hasattr(dtype, "categories"):
        values = cudf_module().Series(dtype.categories[:0])
        return pa.dictionary(pa.int32(), _arrow_type(values), bool(dtype.ordered))
    if isinstance(dtype, np.dtype) and dtype.kind in "iufb":
        return pa.from_numpy_dtype(dtype)
    return series.iloc[:0].to_arrow().type  # no rows, so nothing to copy
