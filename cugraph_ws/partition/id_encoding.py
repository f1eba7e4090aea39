"""The encoding of ids in messages between ranks, as few NumPy arrays.

Integers, and times as integers, are one array.  Text and bytes are Arrow's two buffers: offsets
and data. A *form* is the type to encode: a NumPy dtype, or Arrow's large_string or large_binary.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from cugraph_ws.frames.ids import IdType
from cugraph_ws.graph.numbering import IdValues

__all__ = [
    "Form",
    "Values",
    "bounds",
    "compare",
    "fit",
    "form_of",
    "join",
    "pack",
    "plain",
    "sample",
    "unpack",
]

Array = npt.NDArray[Any]
Form: TypeAlias = Any  # a NumPy dtype or an Arrow type
Values: TypeAlias = Any  # an ndarray, or an Arrow array of text or bytes


def form_of(kind: IdType) -> Form:
    """Return the form of ids of a type."""
    if kind.family == "binary":
        return pa.large_binary()
    if kind.family in ("text", "nothing"):
        return pa.large_string()
    if kind.family == "integer":
        return np.dtype(kind.arrow.to_pandas_dtype())
    return np.dtype(np.int32 if kind.arrow.bit_width == 32 else np.int64)


def fit(values: IdValues, form: Form) -> tuple[Values, npt.NDArray[np.bool_]]:
    """Convert ids to a form.

    Parameters
    ----------
    values : ndarray of integers or pyarrow.ChunkedArray
        As `ids.conform` returns them.
    form : dtype or pyarrow.DataType

    Returns
    -------
    values : ndarray or pyarrow.Array
    fitting : ndarray of bool
        False where the form cannot hold an integer; the value there is invalid.
    """
    if isinstance(form, np.dtype):
        assert isinstance(values, np.ndarray)
        limits = np.iinfo(form)
        # NumPy compares Python integers exactly with any dtype
        fitting = (values >= int(limits.min)) & (values <= int(limits.max))
        return values.astype(form, copy=False), fitting
    return plain(values, form), np.ones(len(values), np.bool_)


def plain(values: Any, form: Form) -> Values:
    """Return values of a form's kind in one array of exactly that form."""
    if isinstance(form, np.dtype):
        if isinstance(values, (pa.Array, pa.ChunkedArray)):
            values = values.to_numpy()
        return np.asarray(values).astype(form, copy=False)
    if isinstance(values, pa.ChunkedArray):
        if pt.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        values = values.cast(form).combine_chunks()
    if isinstance(values, pa.ChunkedArray):  # older versions of Arrow, if there is no chunk
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], form)
    return values.cast(form)


def pack(values: Values) -> list[Array]:
    """Encode values without nulls as arrays."""
    if isinstance(values, np.ndarray):
        return [values]
    if not len(values):
        return [np.zeros(1, np.int64), np.empty(0, np.uint8)]
    _, offsets, data = values.buffers()
    ends = np.frombuffer(offsets, np.int64)[values.offset : values.offset + len(values) + 1]
    octets = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return [ends - ends[0], octets[ends[0] : ends[-1]]]


def unpack(arrays: Sequence[Array], form: Form) -> Values:
    """Decode the arrays of `pack`."""
    if isinstance(form, np.dtype):
        return arrays[0]
    ends, octets = (np.ascontiguousarray(array) for array in arrays)
    return pa.Array.from_buffers(
        form, len(ends) - 1, [None, pa.py_buffer(ends), pa.py_buffer(octets)]
    )


def join(pieces: Sequence[Values], form: Form) -> Values:
    """Concatenate values."""
    if isinstance(form, np.dtype):
        return np.concatenate([np.empty(0, form), *pieces])
    return pa.concat_arrays([pa.array([], form), *pieces])


def sample(values: Values, places: Sequence[int]) -> list[Any]:
    """Return some values as Python integers or bytes, for `bounds` and `compare`."""
    if isinstance(values, np.ndarray):
        return [int(values[place]) for place in places]
    return [_octets(values[place]) for place in places]


def bounds(values: Values, splitters: Sequence[Any]) -> list[int]:
    """Find where ascending splitters are in ascending values.

    Parameters
    ----------
    values : ndarray or pyarrow.Array
    splitters : sequence of int or bytes
        Integers within the dtype of `values`.

    Returns
    -------
    list of int
        For each splitter, the index of the first value that is not less.
    """
    if isinstance(values, np.ndarray):
        # of the same dtype, since NumPy would compare int64 with uint64 as floats
        return list(map(int, np.searchsorted(values, np.array(list(splitters), values.dtype))))
    places = range(len(values))
    return [
        bisect_left(places, splitter, key=lambda place: _octets(values[place]))
        for splitter in splitters
    ]


def compare(values: Values, bound: int | bytes) -> tuple[Array, Array]:
    """Return which values are greater than a bound, and which are equal to it."""
    if isinstance(values, np.ndarray):
        return values > bound, values == bound
    octets, limit = values.cast(pa.large_binary()), pa.scalar(bound, pa.large_binary())
    greater, equal = pc.greater(octets, limit), pc.equal(octets, limit)
    return tuple(np.asarray(mask.to_numpy(zero_copy_only=False)) for mask in (greater, equal))  # type: ignore[return-value]


def _octets(value: Any) -> bytes:
    """Return one Arrow value as bytes; Arrow sorts text by its bytes."""
    buffer = value.as_buffer()
    return b"" if buffer is None else bytes(buffer.to_pybytes())
