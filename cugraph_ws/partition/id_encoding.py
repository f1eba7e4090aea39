"""Ids between ranks: a type common to all, and their encoding in messages, as few NumPy arrays.

Ranks have different partitions.  A frame library's dtype is sent as text and Arrow's bytes, never as a pickled object.

Integers, and times as integers, are one array.  Text and bytes are Arrow's two buffers: offsets
and data. A *form* is the type to encode: a NumPy dtype, or Arrow's large_string or large_binary.
"""

from __future__ import annotations

import hashlib
import importlib
import io
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from cugraph_ws.frames.ids import IdType, common_type
from cugraph_ws.graph.numbering import IdValues
from cugraph_ws.runtime.communicator import Communicator, attempt

__all__ = [
    "Form",
    "Values",
    "agree_on_type",
    "bounds",
    "compare",
    "fit",
    "form_of",
    "join",
    "pack",
    "pack_dtype",
    "plain",
    "sample",
    "unpack",
    "unpack_dtype",
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


# -------------------------------------------------------------------------------- a common type

TypedColumn = tuple[Sequence[int], IdType, str]


def agree_on_type(comm: Communicator, columns: Sequence[TypedColumn]) -> IdType:
    """Find the common type of all ranks' columns of ids; collective.

    Parameters
    ----------
    comm : Communicator
    columns : sequence of (sequence of int, IdType, str)
        For each of this rank's columns: its place among all ranks' columns, its type, and its name
        for errors.

    Returns
    -------
    IdType
        The same on all ranks, also on those without columns.  Categories are sent to all ranks
        unless these already have the same.

    Raises
    ------
    InputError
        If the columns have no common type; see `ids.common_type`.
    """
    about: list[list[Any]] = []
    known: dict[str, Any] = {}
    for place, kind, whose in sorted(columns, key=lambda column: list(column[0])):
        row = [kind.family, _pack_arrow(kind.arrow), _digest(kind.dtype, known), kind.categorical]
        if all(
            row != description[1] for description in about
        ):  # columns of equal types are listed once
            about.append([list(place), row, whose])
    shown = comm.allgather(about)
    everything = sorted(
        (
            [list(place), rank, row, whose]
            for rank, descriptions in enumerate(shown)
            for place, row, whose in descriptions
        ),
        key=lambda description: (description[0], description[1]),
    )
    holders: dict[str, int] = {}
    for _, rank, row, _ in everything:
        holders.setdefault(row[2], rank)
    # only dtypes that some rank lacks are sent
    lacking = {
        digest
        for digest in holders
        if any(all(row[2] != digest for _, row, _ in descriptions) for descriptions in shown)
    }
    mine = {
        digest: pack_dtype(known[digest])
        for digest, rank in holders.items()
        if rank == comm.rank and digest in lacking
    }
    for packed_dtypes in comm.allgather(mine):
        for digest, packed in packed_dtypes.items():
            if digest not in known:
                known[digest] = unpack_dtype(packed)
    types = [
        (IdType(row[0], _unpack_arrow(row[1]), known[row[2]], bool(row[3])), whose)
        for _, _, row, whose in everything
    ]
    return attempt(comm, lambda: common_type(types))


def pack_dtype(dtype: Any) -> list[Any] | None:
    """Encode a frame's dtype as a list of text and bytes.

    Parameters
    ----------
    dtype : dtype of NumPy, pandas, Polars or PyArrow, or None

    Returns
    -------
    list or None
    """
    if dtype is None:
        return None
    if isinstance(dtype, np.dtype):
        return ["numpy", dtype.str]
    if isinstance(dtype, pa.DataType):
        return ["arrow", _pack_arrow(dtype)]
    if type(dtype).__module__.partition(".")[0] == "polars":
        polars: Any = importlib.import_module("polars")
        file = io.BytesIO()
        polars.DataFrame(schema={"": dtype}).write_ipc(file)
        return ["polars", file.getvalue()]
    if hasattr(dtype, "pyarrow_dtype"):
        return ["arrow-backed", _pack_arrow(dtype.pyarrow_dtype)]
    if hasattr(dtype, "categories"):
        values = pa.array(dtype.categories)
        return [
            "categories",
            _pack_array(values),
            pack_dtype(dtype.categories.dtype),
            dtype.ordered,
        ]
    return ["pandas", str(dtype)]


def unpack_dtype(packed: Sequence[Any] | None) -> Any:
    """Decode a dtype of `pack_dtype`; the result is equal to the original."""
    if packed is None:
        return None
    kind, value = packed[:2]
    if kind == "numpy":
        return np.dtype(value)
    if kind == "arrow":
        return _unpack_arrow(value)
    if kind == "polars":
        polars: Any = importlib.import_module("polars")
        return polars.read_ipc(io.BytesIO(value)).dtypes[0]
    pandas: Any = importlib.import_module("pandas")
    if kind == "arrow-backed":
        return pandas.ArrowDtype(_unpack_arrow(value))
    if kind == "categories":
        categories = pandas.Index(
            _unpack_array(value).to_pandas().array, dtype=unpack_dtype(packed[2])
        )
        return pandas.CategoricalDtype(categories, packed[3])
    return pandas.api.types.pandas_dtype(value)


def _digest(dtype: Any, known: dict[str, Any]) -> str:
    """Return a hash of a dtype, and add the dtype to `known`."""
    name = hashlib.sha256(repr(pack_dtype(dtype)).encode()).hexdigest()
    known.setdefault(name, dtype)
    return name


def _pack_arrow(kind: pa.DataType) -> bytes:
    return bytes(pa.schema([pa.field("", kind)]).serialize())


def _unpack_arrow(packed: bytes) -> pa.DataType:
    return pa.ipc.read_schema(pa.py_buffer(packed)).field(0).type


def _pack_array(values: pa.Array) -> bytes:
    sink = pa.BufferOutputStream()
    table = pa.table({"": values})
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


def _unpack_array(packed: bytes) -> pa.ChunkedArray:
    return pa.ipc.open_stream(pa.py_buffer(packed)).read_all().column(0)
