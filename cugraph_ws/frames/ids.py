"""Columns of vertex ids: which types are allowed, and how ids are read and returned.

Integers, points in time and durations are numbered as integers; text and bytes as Arrow arrays.
A categorical is treated as a column of its categories' values, and ordered by them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from cugraph_ws.errors import InputError
from cugraph_ws.frames.base import Column, Ids, join_dtypes
from cugraph_ws.runtime.dispatch import provider

__all__ = ["IdColumn", "IdType", "agree", "cast_ids", "common_type", "conform", "read_ids"]

Array = npt.NDArray[Any]
IdValues: TypeAlias = Array | pa.ChunkedArray

_ALLOWED = "ids may be integers, strings, bytes, categoricals, timestamps, dates or durations"
_UNITS = ("s", "ms", "us", "ns")
_INT64_MAX = np.iinfo(np.int64).max


@dataclass(frozen=True)
class IdType:
    """The type of a column of ids.

    Attributes
    ----------
    family : str
        Columns of one family can be numbered together; "nothing" fits any family.
    arrow : pyarrow.DataType
        Plain type of a value.
    dtype : object
        The frame's dtype, for results; None for the library's default for such values.
    categorical : bool
        Whether the dtype lists the allowed values.
    """

    family: str
    arrow: pa.DataType
    dtype: Any
    categorical: bool = False

    def plain(self, values: Array | pa.Array) -> pa.Array:
        """Return numbered values as Arrow values of this type.

        Parameters
        ----------
        values : ndarray of integers, or pyarrow.Array
            From `read_ids`, perhaps with nulls.

        Returns
        -------
        pyarrow.Array
        """
        if pt.is_null(self.arrow):
            return pa.nulls(len(values))
        if isinstance(values, np.ndarray):
            values = pa.array(values)
        if pt.is_integer(values.type) and pt.is_temporal(self.arrow):
            # Arrow casts to a time only from an integer of the same width
            values = values.cast(pa.int32() if self.arrow.bit_width == 32 else pa.int64())
        return values if values.type == self.arrow else values.cast(self.arrow)

    def output(self, values: Array | pa.Array, *, nullable: bool = False) -> Ids:
        """Return numbered values as a result column in the caller's dtype.

        Parameters
        ----------
        values : ndarray of integers, or pyarrow.Array
        nullable : bool
            Whether the column can contain nulls in general.

        Returns
        -------
        Ids
        """
        return Ids(self.plain(values), self.dtype, nullable)


@dataclass(frozen=True)
class IdColumn:
    """A column of ids without nulls: integers, or Arrow text or bytes, perhaps as a dictionary.

    On the device: an array of integers, or text as codes.
    """

    values: Any
    type: IdType
    column: Column


def read_ids(column: Column, *, foreign: bool = False) -> IdColumn:
    """Check that a column can be ids.

    Parameters
    ----------
    column : Column
    foreign : bool
        Whether results are frames of another library, which has different dtypes.

    Returns
    -------
    IdColumn

    Raises
    ------
    InputError
        If a row is null, or the column's type cannot be used for ids.
    """
    column.refuse_nulls()
    arrow, values = column.arrow_type, column.values
    dtype = None if foreign else column.dtype
    if pt.is_dictionary(arrow) and not column.on_device and _null_category(values):
        values = pc.cast(values, arrow.value_type)
        replace(column, values=values).refuse_nulls()
    categorical = pt.is_dictionary(arrow)
    if categorical:
        arrow = arrow.value_type
    if len(column) == 0 and pt.is_floating(arrow):
        arrow = pa.null()  # pandas' and cuDF's type for an empty list
    family = "nothing" if len(column) == 0 and pt.is_null(arrow) else _family(arrow)
    if family is None:
        _refuse_missing_among_floats(column)
        raise InputError(_refusal(column, arrow))
    if column.on_device:
        values = provider("device columns").id_values(column, arrow, categorical=categorical)
        return IdColumn(values, IdType(family, arrow, dtype, categorical), column)
    if family == "nothing":
        return IdColumn(values, IdType(family, arrow, dtype), column)
    if pt.is_fixed_size_binary(arrow):
        values, arrow = pc.cast(values, pa.binary()), pa.binary()
    if family not in ("text", "binary"):
        values = _as_integers(values, arrow)
    return IdColumn(values, IdType(family, arrow, dtype, categorical), column)


def agree(columns: Sequence[IdColumn]) -> tuple[IdType, list[Any]]:
    """Find the common type of several columns of ids, and convert them to it.

    Parameters
    ----------
    columns : sequence of IdColumn
        The dtype of results is that of the first column whose dtype can hold the values of all.

    Returns
    -------
    type : IdType
    values : list of ndarray or pyarrow.ChunkedArray, or of their counterparts on the device
        For integers and times, arrays of one integer dtype.

    Raises
    ------
    InputError
        If the columns are of different kinds, or hold integers that no single type can hold.
    """
    kind = common_type([(column.type, str(column.column)) for column in columns])
    if kind.family == "nothing":
        return kind, [column.values for column in columns]
    return kind, [cast_ids(column, kind) for column in columns]


def common_type(types: Sequence[tuple[IdType, str]]) -> IdType:
    """Find the common type of ids of several types.

    Parameters
    ----------
    types : sequence of (IdType, str)
        Types, and their sources for errors.  The dtype of results is the first one that can hold
        the values of all.

    Returns
    -------
    IdType

    Raises
    ------
    InputError
        If the types are of different kinds.
    """
    known = [described for described in types if described[0].family != "nothing"]
    if not known:
        return types[0][0]
    first, whose = known[0]
    for kind, source in known[1:]:
        if kind.family != first.family:
            raise InputError(
                f"ids of two kinds: {whose} holds {_describe(first)}, {source} "
                f"holds {_describe(kind)}; cast one column to the kind of the other"
            )
    return _common([kind for kind, _ in known])


def conform(column: IdColumn, kind: IdType) -> Any:
    """Return ids to be looked up, converted to the type of a graph's ids.

    Parameters
    ----------
    column : IdColumn
    kind : IdType
        The type of the graph's ids.

    Returns
    -------
    ndarray or pyarrow.ChunkedArray, or the counterpart on the device
        Integers keep their width, since an id that the graph's type cannot hold is just unknown.

    Raises
    ------
    InputError
        If the ids are of another kind, or times have a finer unit than the graph's.
    """
    if column.type.family != kind.family:
        raise InputError(
            f"{column.column} holds {_describe(column.type)}, but the graph's ids are "
            f"{_describe(kind)}; give ids of that kind"
        )
    return column.values if kind.family == "integer" else cast_ids(column, kind)


def _null_category(values: Any) -> bool:
    """Return whether null is a value of a dictionary, which the null count of codes does not show."""
    return any(chunk.dictionary.null_count for chunk in values.chunks)


def _family(arrow: pa.DataType) -> str | None:
    if pt.is_integer(arrow):
        return "integer"
    if pt.is_string(arrow) or pt.is_large_string(arrow) or pt.is_string_view(arrow):
        return "text"
    if pt.is_binary(arrow) or pt.is_large_binary(arrow) or pt.is_fixed_size_binary(arrow):
        return "binary"
    if pt.is_timestamp(arrow):
        # times in different zones are printed differently, but are of one kind
        return "timestamp with a time zone" if arrow.tz else "timestamp"
    if pt.is_date(arrow):
        return "date"
    if pt.is_time(arrow):
        return "time"
    return "duration" if pt.is_duration(arrow) else None


def _refuse_missing_among_floats(column: Column) -> None:
    """Name the first row without an id among integers that pandas made floats for its sake."""
    values = column.values
    if column.on_device or not isinstance(values, np.ndarray) or values.dtype.kind != "f":
        return
    missing = np.isnan(values)
    if missing.any() and (values[~missing] == np.floor(values[~missing])).all():
        row = int(np.argmax(missing)) + column.first_row
        raise InputError(
            f"{column}: row {row} has no id, and pandas makes floats of integers with a missing one; drop "
            "the rows without ids, then cast the column to int64"
        )


def _refusal(column: Column, arrow: pa.DataType) -> str:
    if pt.is_floating(arrow) or pt.is_decimal(arrow):
        remedy = "floats are not exact ids; cast the column to int64 or to strings"
    elif pt.is_boolean(arrow):
        remedy = "cast the column to int8, or give the ids that a mask selects"
    else:
        remedy = "cast the column to one of these"
    return f"{column} holds {arrow}: {_ALLOWED}; {remedy}"


def _describe(kind: IdType) -> str:
    return f"{kind.family} ({kind.arrow if kind.dtype is None else kind.dtype})"


def _as_integers(values: IdValues, arrow: pa.DataType) -> Array:
    """Return integers, and times as counts of their unit; memory is shared if possible."""
    if isinstance(values, np.ndarray):
        return values if values.dtype.kind in "iu" else values.view(np.int64)
    values = values.cast(arrow)  # decode it if it is a dictionary
    if not pt.is_integer(arrow):
        values = values.cast(pa.int32() if arrow.bit_width == 32 else pa.int64())
    return np.asarray(values.to_numpy())


def _common(types: Sequence[IdType]) -> IdType:
    """Return the common type of types of one family."""
    family = types[0].family
    plain = [kind for kind in types if not kind.categorical]
    if family == "integer":
        common = np.result_type(*[kind.arrow.to_pandas_dtype() for kind in types])
        # uint64 and a signed type have no common integer type: NumPy would use float64
        arrow = pa.from_numpy_dtype(np.int64 if common.kind == "f" else common)
    elif family in ("text", "binary"):
        arrow = (plain or types)[0].arrow
    else:
        arrow = max(types, key=_fineness).arrow
    if not plain:  # categories hold only their own column's values
        return IdType(family, arrow, join_dtypes([kind.dtype for kind in types]), True)
    known = [kind.dtype for kind in plain if kind.arrow == arrow and kind.dtype is not None]
    return IdType(family, arrow, known[0] if known else None)


def _fineness(kind: IdType) -> int:
    """Rank types of one family of times by unit: the finest one holds the values of all."""
    if pt.is_date(kind.arrow):
        return int(kind.arrow.bit_width)
    return _UNITS.index(kind.arrow.unit)


def cast_ids(column: IdColumn, kind: IdType) -> Any:
    """Convert ids to a common type.

    Parameters
    ----------
    column : IdColumn
    kind : IdType
        From `common_type`, not of the family "nothing".

    Returns
    -------
    ndarray or pyarrow.ChunkedArray, or the counterpart on the device
        For integers and times, an array of the integer dtype of `kind`.

    Raises
    ------
    InputError
        If an integer is too large for the type, or a time has too fine a unit.
    """
    values, arrow = column.values, column.type.arrow
    if column.column.on_device:
        return provider("device columns").convert_ids(column.column, values, arrow, kind.arrow)
    if column.type.family == "nothing":
        empty = pa.chunked_array([], kind.arrow)
        return _as_integers(empty, kind.arrow) if kind.family not in ("text", "binary") else empty
    if isinstance(values, pa.ChunkedArray) or arrow == kind.arrow:
        return values
    if kind.family == "integer":
        wanted = np.dtype(kind.arrow.to_pandas_dtype())
        if values.dtype == np.uint64 and len(values) and values.max() > _INT64_MAX:
            raise InputError(
                f"{column.column}: id {values.max()} is above {_INT64_MAX}, and another column of "
                f"ids is signed; cast both to uint64 or to strings"
            )
        return values.astype(wanted)
    try:
        return _as_integers(
            pa.chunked_array([column.type.plain(values).cast(kind.arrow)]), kind.arrow
        )
    except pa.ArrowInvalid as error:
        raise InputError(
            f"{column.column}: {error}; cast the columns of ids to one unit"
        ) from error
