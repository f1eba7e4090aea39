"""A common type of ids for ranks that have different partitions.

A frame library's dtype is sent as text and Arrow's bytes, never as a pickled object.
"""

from __future__ import annotations

import hashlib
import importlib
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from cugraph_ws.frames.ids import IdType, common_type
from cugraph_ws.partition.agreement import attempt
from cugraph_ws.runtime.communicator import Communicator

__all__ = ["agree_on_type", "pack_dtype", "unpack_dtype"]

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
