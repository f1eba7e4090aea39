"""The only module that knows pandas, Polars, PyArrow and cuDF: columns out, frames back.

`open_frame` recognises a frame and reads columns, without a copy if possible; `FrameKind.make`
builds a frame of the same kind and flavour.  Everything between uses only NumPy arrays (numbers
without nulls) and Arrow arrays (everything else).  A cuDF frame may also stay on the device: see
`backends/cuda/cudf_frames.py`.
"""

from __future__ import annotations

import difflib
import importlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cugraph_ws.arguments import listed, shown
from cugraph_ws.errors import InputError
from cugraph_ws.frames.lazy import computed, is_stream, table_of_stream
from cugraph_ws.frames.objects import from_objects
from cugraph_ws.runtime.dispatch import provider

__all__ = [
    "Below",
    "Column",
    "Frame",
    "FrameKind",
    "Ids",
    "Masked",
    "VertexNumbers",
    "is_cudf_frame",
    "is_dask_frame",
    "is_frame",
    "is_on_device",
    "join_dtypes",
    "no_such_column",
    "on_host",
    "open_frame",
    "open_values",
    "table_if_stream",
    "without_mask",
]

Array = npt.NDArray[Any]
Backend = Literal["pandas", "polars", "pyarrow", "cudf"]

_CUDA = 2  # DLPack's code for CUDA devices
_UNREADABLE = (TypeError, ValueError, OverflowError, pa.ArrowException)
_TIME_UNITS = {(unit, 1) for unit in ("s", "ms", "us", "ns")}
_KINDS = "a pandas, Polars or cuDF DataFrame or a PyArrow Table"


@dataclass(frozen=True)
class VertexNumbers:
    """A result column of vertex numbers, to be converted to ids; -1 becomes null.

    Parameters
    ----------
    numbers : ndarray or device array of integers
        Vertex numbers, -1 for none.
    nullable : bool
        Whether the column can contain nulls in general.  pandas integers then have a nullable
        dtype even if this column has no null, so that dtypes do not depend on values.
    near : bool
        Whether, on a shard, all are owned vertices or ghosts of this rank, as in-neighbours are.
        Then their ids are known without a collective.
    """

    numbers: Array
    nullable: bool = False
    near: bool = False


class Masked:
    """A result column with nulls where `valid` is False.

    Parameters
    ----------
    values : ndarray or device array
    valid : array of bool, same shape, in the same place
    """

    def __init__(self, values: Array, valid: npt.NDArray[np.bool_]) -> None:
        self.values = values
        self._valid: npt.NDArray[np.bool_] | None = valid

    @property
    def valid(self) -> npt.NDArray[np.bool_]:
        """Which rows are not null."""
        assert self._valid is not None
        return self._valid

    def filled(self, value: Any) -> Array:
        """Return the values with nulls replaced by `value`, converted to their type."""
        filled: Array = np.where(self.valid, self.values, value)
        return filled


class Below(Masked):
    """A result column with nulls where a number is at least a limit, which means unreached.

    Parameters
    ----------
    values : ndarray or device array
    limit : int or float
        Of the values' type.
    """

    def __init__(self, values: Array, limit: float) -> None:
        self.values = values
        self.limit = limit
        self._valid = None

    @property
    def valid(self) -> npt.NDArray[np.bool_]:
        """Which rows are not null."""
        if self._valid is None:
            self._valid = ~(self.values >= self.limit)
        return self._valid


@dataclass(frozen=True)
class Ids:
    """A result column of ids: their plain Arrow values, and their original dtype.

    If the dtype is None, the library's default for such values is used.
    """

    values: pa.Array
    dtype: Any
    nullable: bool = False


@dataclass(frozen=True)
class Column:
    """A column that was read: a NumPy array if it holds numbers without nulls, else Arrow's.

    Attributes
    ----------
    name : str
    argument : str
        The argument that selected the column, for errors.
    values : ndarray or pyarrow.ChunkedArray
        May share memory with the frame.
    dtype : object
        The frame's dtype of the column.
    first_row : int
        Row of the whole frame that the first value is from, if this is part of a column.  Errors
        give rows of the whole frame.
    """

    name: str
    argument: str
    values: Any
    dtype: Any
    first_row: int = field(default=0, kw_only=True)
    on_device: ClassVar[bool] = False

    def __len__(self) -> int:
        return len(self.values)

    def __str__(self) -> str:
        return f"column {shown(self.name)} ({self.argument})"

    @property
    def arrow_type(self) -> pa.DataType:
        """The values' type in Arrow."""
        if isinstance(self.values, np.ndarray):
            return pa.from_numpy_dtype(self.values.dtype)
        return self.values.type

    def refuse_nulls(self) -> None:
        """Raise InputError naming the first row without a value."""
        if isinstance(self.values, np.ndarray):
            if self.values.dtype.kind not in "mM" or not np.isnat(self.values).any():
                return
            row = int(np.argmax(np.isnat(self.values)))
        elif self.values.null_count:
            row = pc.index(pc.is_null(self.values), True).as_py()
        else:
            return
        row += self.first_row
        raise InputError(f"{self}: row {row} is null; drop the rows without a value or fill them")

    def value(self, row: int) -> Any:
        """Return one value as a Python object, for errors."""
        value = self.values[row]
        return value.as_py() if isinstance(value, pa.Scalar) else value.item()


class FrameKind:
    """The library of a frame, and how to make another frame like it.

    Parameters
    ----------
    backend : {"pandas", "polars", "pyarrow", "cudf"}
    arrow_backed : bool
        Whether pandas columns are Arrow-backed rather than NumPy's.
    proxy : bool
        Whether frames are `cudf.pandas` proxies.
    """

    def __init__(
        self, backend: Backend, *, arrow_backed: bool = False, proxy: bool = False
    ) -> None:
        self.backend = backend
        self.arrow_backed = arrow_backed
        self.proxy = proxy

    def make(self, columns: Mapping[str, Any]) -> Any:
        """Return a frame of this kind.

        Parameters
        ----------
        columns : mapping of str to ndarray, device array, Masked, Ids or list of str
            Columns of equal length; for a cuDF frame also cuDF's own.

        Returns
        -------
        DataFrame or Table
        """
        if self.backend == "cudf":
            return self.wrapped(provider("frames of cudf").make_frame(columns))
        columns = {name: on_host(column) for name, column in columns.items()}
        if self.backend == "pandas":
            frame = provider("frames of pandas").make_frame(columns, arrow_backed=self.arrow_backed)
            return self.wrapped(frame)
        plain = {name: _to_arrow(column) for name, column in columns.items()}
        dtypes = {
            name: column.dtype
            for name, column in columns.items()
            if isinstance(column, Ids) and column.dtype is not None
        }
        if self.backend == "polars":
            return _make_polars(plain, dtypes)
        for name, dtype in dtypes.items():
            plain[name] = _cast_arrow(plain[name], dtype)
        return pa.table(plain)

    def wrapped(self, frame: Any) -> Any:
        """Return the frame as a proxy, if the input was one."""
        if not self.proxy:
            return frame
        return importlib.import_module("cudf.pandas").as_proxy_object(frame)


def is_on_device(data: Any) -> bool:
    """Return whether an object is an array in GPU memory: of CuPy, Numba, PyTorch or others."""
    try:
        if hasattr(data, "__cuda_array_interface__"):
            return True
    except RuntimeError:  # PyTorch's, for a tensor that requires a gradient
        return True
    return _in_dlpack(data) and data.__dlpack_device__()[0] == _CUDA


def _in_dlpack(data: Any) -> bool:
    """Return whether an object is an array of a library that supports only DLPack."""
    return hasattr(data, "__dlpack_device__") and not isinstance(
        data, (np.ndarray, np.generic, pa.Array)
    )


def on_host(column: Any) -> Any:
    """Return a result column with device arrays copied to the host."""
    if isinstance(column, Below):
        return Below(on_host(column.values), column.limit)
    if isinstance(column, Masked):
        return Masked(on_host(column.values), on_host(column.valid))
    if isinstance(column, (np.ndarray, Ids, list)) or not is_on_device(column):
        return column
    from cugraph_ws.runtime.device import device

    return device().to_host(device().xp.asarray(column))


def _to_arrow(column: Array | Masked | Ids | list[str]) -> pa.Array:
    if isinstance(column, Masked):
        return pa.array(column.values, mask=~column.valid)
    if isinstance(column, Ids):
        return column.values
    return pa.array(column)


def _cast_arrow(values: pa.Array, dtype: pa.DataType) -> pa.Array:
    if not pa.types.is_dictionary(dtype):
        return values.cast(dtype)
    encoded = values.cast(dtype.value_type).dictionary_encode()
    if len(encoded.dictionary) > 2 ** (dtype.index_type.bit_width - 1):
        return encoded  # more distinct ids in total than the codes of one column can count
    indices = encoded.indices.cast(dtype.index_type)
    return pa.DictionaryArray.from_arrays(indices, encoded.dictionary, ordered=dtype.ordered)


def _make_polars(columns: Mapping[str, pa.Array], dtypes: Mapping[str, Any]) -> Any:
    import polars as pl

    frame = pl.DataFrame({name: pl.from_arrow(column) for name, column in columns.items()})
    return frame.with_columns(
        [pl.col(name).cast(dtype) for name, dtype in dtypes.items() if frame[name].dtype != dtype]
    )


class Frame:
    """A frame of any supported kind, to read columns from.

    Parameters
    ----------
    native : object
        The caller's frame.
    table : narwhals.DataFrame
        The same frame behind narwhals' interface (for cuDF, a copy as an Arrow table).
    backend : {"pandas", "polars", "pyarrow", "cudf"}
    argument : str
        The caller's name for it, for errors.
    proxy : bool
        Whether it was given as a `cudf.pandas` proxy.
    """

    on_device = False

    def __init__(
        self,
        native: Any,
        table: nw.DataFrame[Any],
        backend: Backend,
        argument: str,
        *,
        proxy: bool = False,
    ) -> None:
        self.native = native
        self.backend: Backend = backend
        self.argument = argument
        self.proxy = proxy
        self._table = table

    def __len__(self) -> int:
        return len(self._table)

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self._table.columns)

    @property
    def table(self) -> nw.DataFrame[Any]:
        """The frame behind narwhals' interface; of a cuDF frame, a copy on the host as an Arrow table."""
        return self._table

    def kind_like(self, name: str) -> FrameKind:
        """Return the kind of frame for results; Arrow-backed if column `name` is."""
        dtype = getattr(self._table.get_column(name).to_native(), "dtype", None)
        arrow_backed = hasattr(dtype, "pyarrow_dtype")
        return FrameKind(self.backend, arrow_backed=arrow_backed, proxy=self.proxy)

    def column(self, name: str, argument: str) -> Column:
        """Read a column.

        Parameters
        ----------
        name : str
        argument : str
            The argument that selected it, for errors.

        Returns
        -------
        Column

        Raises
        ------
        InputError
            If there is no such column, or its values are of several kinds.
        """
        if name not in self.names:
            index = getattr(getattr(self.native, "index", None), "names", ())
            raise InputError(no_such_column(name, argument, self.argument, self.names, index))
        return self._read(name, argument)

    def _read(self, name: str, argument: str) -> Column:
        return _read(self._table.get_column(name), name, argument)

    def release(self, names: Sequence[str]) -> None:
        """Remove columns from the caller's own frame, and drop references to them."""
        present = [name for name in dict.fromkeys(names) if name in self.names]
        self._table = self._table.drop(present)
        if self.backend == "polars":
            for name in present:
                self.native.drop_in_place(name)
        elif self.backend != "pyarrow":  # Arrow tables are immutable: only our reference is dropped
            for name in present:
                del self.native[name]
        self.native = None


def no_such_column(
    name: Any, argument: str, owner: str, names: Sequence[Any], index: Sequence[Any] = ()
) -> str:
    """Return the text of the error for a column that is not there.

    Parameters
    ----------
    name : str or int
        The column that was asked for.
    argument : str
        The argument that selected it.
    owner : str
        What has no such column: the argument of the frame, or a file.
    names : sequence
        The columns that are there.
    index : sequence
        Names of the frame's index.

    Returns
    -------
    str
    """
    texts = [have for have in names if isinstance(have, str)]
    close = difflib.get_close_matches(name, texts, 1) if isinstance(name, str) else []
    hint = f"did you mean {shown(close[0])}? " if close else ""
    if any(isinstance(have, tuple) for have in names):
        hint = "its labels have several levels: give it flat names; "
    elif not close and name in index:
        hint = "it is the frame's index: give frame.reset_index(); "
    elif len(names) == 2 and argument in ("source", "destination") and name == argument:
        hint = f"did you mean source={shown(names[0])}, destination={shown(names[1])}? "
    return f"{argument}={shown(name)}: {owner} has no such column; {hint}its columns are {listed(names)}"


def is_frame(data: Any) -> bool:
    """Return whether an object has columns, as frames of all kinds do."""
    return hasattr(type(_unwrap(data)), "columns")  # of the type: a lazy frame would compute them


def table_if_stream(data: Any) -> Any:
    """Return the rows of a stream of record batches as a table, and anything else as it is."""
    if is_frame(data) or not hasattr(data, "__arrow_c_stream__"):
        return data
    return table_of_stream(data)


def open_frame(
    data: Any, argument: str, *, on_device: bool = False, columns: Sequence[str] | None = None
) -> Frame:
    """Recognise a frame.

    Parameters
    ----------
    data : pandas, Polars or cuDF DataFrame, PyArrow Table, Polars LazyFrame, or relation
        A `cudf.pandas` proxy is opened as the frame behind it; a Frame is returned as it is.  A
        LazyFrame becomes a Polars DataFrame; a relation of DuckDB, a table of Ibis and other
        objects with `columns` and `__arrow_c_stream__` become Arrow tables.
    argument : str
        The caller's name for it, for errors.
    on_device : bool
        Whether columns of a cuDF frame stay on the device; else it is copied to the host.
    columns : sequence of str, optional
        The columns that are computed of a lazy frame; by default all.

    Returns
    -------
    Frame

    Raises
    ------
    InputError
        If it is anything else; the message says how to convert it to a frame.
    """
    if isinstance(data, Frame):
        return data
    proxy = hasattr(data, "_fsproxy_wrapped")
    data = _unwrap(data)
    if _is_cudf(data):
        frame: Any = provider("frames of cudf").CudfFrame(data, argument, proxy=proxy)
        opened: Frame = frame if on_device else frame.on_host()
        return opened
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    try:
        table: Any = nw.from_native(data, pass_through=True)
        if table is data and is_frame(data) and hasattr(data, "__arrow_c_stream__"):
            data = pa.table(data)  # of a library that narwhals does not know
            table = nw.from_native(data)
    except TypeError:
        raise InputError(_not_a_frame(data, argument)) from None
    except ValueError as error:  # two columns have the same name
        text = " ".join(str(error).split())
        raise InputError(f"{argument}: {text}; rename the columns") from error
    if isinstance(table, nw.LazyFrame) and not is_dask_frame(data):
        table = computed(table, argument, columns)
        data = table.to_native()
    if not isinstance(table, nw.DataFrame):
        raise InputError(_not_a_frame(data, argument))
    backend = table.implementation.value
    if backend not in ("pandas", "polars", "pyarrow"):
        raise InputError(
            f"{argument}: frames of {backend} are not supported; convert it to {_KINDS}"
        )
    return Frame(data, table, backend, argument, proxy=proxy)


def open_values(data: Any, argument: str, *, on_device: bool = False) -> Column:
    """Read a Series, an Arrow array, a NumPy array or a list of values as a column.

    Parameters
    ----------
    data : Series, pyarrow.Array, ndarray, device array or sequence
    argument : str
        The caller's name for it, for errors.
    on_device : bool
        Whether device data stays on the device; else it is copied to the host.

    Returns
    -------
    Column

    Raises
    ------
    InputError
        If it is not one-dimensional, or its values are of several kinds.
    """
    if type(data) is list and data and all(type(value) is int for value in data):
        # Conversion by Arrow would take as long as a superstep at the start of a search.
        with suppress(OverflowError):
            return Column(argument, argument, np.array(data, np.int64), pa.int64())
    data = _unwrap(data)
    if _is_cudf(data):
        if on_device:
            on_gpu: Column = provider("frames of cudf").device_column(data, argument, argument)
            return on_gpu
        data = data.to_arrow()
    elif is_on_device(data):
        column: Column = provider("device columns").device_values(data, argument)
        if on_device:
            return column
        data = on_host(column.values)
    elif _in_dlpack(data):
        data = np.from_dlpack(data)
    data = without_mask(data, argument)
    if isinstance(data, pa.Array):
        data = pa.chunked_array([data])
    series = nw.from_native(data, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return _read(series, argument, argument)
    if isinstance(data, np.ndarray) and data.dtype.kind in "iufbmM":
        if data.ndim != 1:
            raise InputError(f"{argument}: a one-dimensional array is needed, not {data.ndim}-D")
        return _numbers(data, argument, argument)
    if isinstance(data, (str, bytes, Mapping)):
        raise InputError(f"{argument}={shown(data)}: give a list, an array or a Series of values")
    if not hasattr(data, "__iter__"):
        raise InputError(f"{argument}={shown(data)} is one value; give a list: [{shown(data)}]")
    try:
        values = from_objects(list(data))
    except _UNREADABLE as error:
        raise InputError(f"{argument}: values of one kind are needed: {error}") from error
    return Column(argument, argument, _simplify(pa.chunked_array([values])), values.type)


def without_mask(data: Any, argument: str) -> Any:
    """Return the data of NumPy's masked array; anything else as it is.

    Parameters
    ----------
    data : Any
    argument : str
        The caller's name for it, for errors.

    Returns
    -------
    Any

    Raises
    ------
    InputError
        If an entry is masked: it has no value.
    """
    if not isinstance(data, np.ma.MaskedArray):
        return data
    if np.ma.is_masked(data):
        entry = ", ".join(map(str, np.argwhere(np.ma.getmaskarray(np.ma.atleast_1d(data)))[0]))
        raise InputError(
            f"{argument}: entry [{entry}] is masked; drop the entries without a value or fill them"
        )
    return data.data


def join_dtypes(dtypes: Sequence[Any]) -> Any:
    """Return a dtype with the categories of several; None means the library's default."""
    if any(dtype is None for dtype in dtypes):
        return None
    if all(dtype == dtypes[0] for dtype in dtypes):
        return dtypes[0]
    kind = type(dtypes[0])
    if kind.__name__ != "CategoricalDtype":  # pandas and cuDF have one for each set of categories
        return None
    library = "cudf" if kind.__module__.startswith("cudf.") else "pandas"
    return provider(f"frames of {library}").join_categories(dtypes)


def _unwrap(data: Any) -> Any:
    """Return the object behind a `cudf.pandas` proxy; anything else as it is."""
    return getattr(data, "_fsproxy_wrapped", data)


def is_cudf_frame(data: Any) -> bool:
    """Return whether an object is a cuDF frame, or a `cudf.pandas` proxy of one."""
    return _is_cudf(_unwrap(data))


def is_dask_frame(frame: Any) -> bool:
    """Return whether an object is a Dask frame, without importing Dask."""
    home = type(frame).__module__.partition(".")[0]
    return home in ("dask", "dask_expr", "dask_cudf") and hasattr(frame, "npartitions")


def _is_cudf(data: Any) -> bool:
    return type(data).__module__.partition(".")[0] == "cudf" and hasattr(data, "to_arrow")


# By library, how a graph of it becomes an edge frame
_OF_GRAPHS = {
    "cugraph": "graph.view_edge_list() makes one, whose columns source= and destination= name",
    "igraph": "graph.get_edge_dataframe() makes one, for destination='target'",
    "networkx": "networkx.to_pandas_edgelist(graph, target='destination') makes one",
}


def _not_a_frame(data: Any, argument: str) -> str:
    kind = type(data).__name__
    if isinstance(data, np.ndarray) or is_on_device(data):
        remedy = (
            "Graph.from_arrays(source, destination) takes arrays, and "
            "pandas.DataFrame(array, columns=['source', 'destination']) makes a frame of one"
        )
    elif hasattr(data, "tocoo"):
        remedy = "Graph.from_matrix(matrix) takes sparse matrices"
    elif is_stream(data):
        remedy = "pyarrow.table(data) makes one: a stream can be read only once"
    elif isinstance(data, Mapping) and not all(isinstance(name, str) for name in data):
        remedy = (
            "for a dict of neighbours, pandas.DataFrame([(a, b) for a in data for b in data[a]], "
            "columns=['source', 'destination']) makes one"
        )
    elif isinstance(data, Mapping):
        remedy = "pandas.DataFrame(data), polars.DataFrame(data) or pyarrow.table(data) makes one"
    elif isinstance(data, (list, tuple, set, frozenset, Iterator)):
        rows = "data" if isinstance(data, (list, tuple)) else "list(data)"
        remedy = f"pandas.DataFrame({rows}, columns=['source', 'destination']) makes one of pairs"
        if argument != "edges":
            remedy = f"pandas.DataFrame({{'vertex': {rows}}}) makes one of ids"
    elif hasattr(data, "compute"):
        remedy = "it is lazy: .compute() it"
    elif isinstance(data, (str, os.PathLike)):
        remedy = "read the file first, for example by pandas.read_parquet"
    elif data is None:
        remedy = "give a frame with a row for each edge"
    elif hasattr(data, "to_frame"):
        remedy = "give the frame that the column is of"
    elif hasattr(data, "vertex_frame"):
        remedy = "it is a graph: give a frame of its rows, such as graph.edges or a result"
    else:
        remedy = _OF_GRAPHS.get(
            type(data).__module__.partition(".")[0],
            "the edges, or a graph, are the first argument, and ids follow"
            if argument == "edges" and isinstance(data, (int, float))
            else "convert it",
        )
    return f"{argument}: {_KINDS} is needed, not {kind}; {remedy}"


def _read(series: nw.Series[Any], name: str, argument: str) -> Column:
    native = series.to_native()
    if isinstance(native, pa.ChunkedArray):
        return Column(name, argument, _simplify(native), native.type)
    if isinstance(native.dtype, np.dtype) and native.dtype.kind in "iufbmM":
        return _numbers(native.to_numpy(), name, argument)
    try:
        values = _convert(series, native)
    except _UNREADABLE as error:
        raise InputError(
            f"column {shown(name)} ({argument}): values of one kind are needed, and a dtype that Arrow "
            f"knows: {error}{_remedy_of_objects(native)}"
        ) from error
    chunks = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
    return Column(name, argument, _simplify(chunks), native.dtype)


def _remedy_of_objects(native: Any) -> str:
    """Return what to do with a column of objects that Arrow does not know."""
    dtype = getattr(native, "dtype", None)
    if getattr(dtype, "kind", "") == "c":
        return "; numbers are complex: take their real part, or abs()"
    first = next(iter(native), None)
    if isinstance(first, (tuple, list)):
        return "; make a column of each part, and give a list of columns, as in source=['a', 'b']"
    return ""


def _numbers(values: Array, name: str, argument: str) -> Column:
    """Return a NumPy array of numbers or times as a column, in a dtype that Arrow has too.

    Kernels and Arrow assume the machine's byte order: they would misread arrays in the other
    order.
    """
    column = Column(name, argument, values, values.dtype)
    dtype = values.dtype.newbyteorder("=")
    if dtype.kind == "f" and dtype.itemsize > 8:
        raise InputError(f"{column} holds {dtype}; cast it to float64")
    if dtype.kind in "mM" and np.datetime_data(dtype) not in _TIME_UNITS:
        return _in_seconds(column)
    if values.dtype.isnative:
        return column
    return Column(name, argument, values.astype(dtype), dtype)


def _in_seconds(column: Column) -> Column:
    """Return times in a unit that Arrow lacks, such as days, in seconds."""
    times = column.values
    kind, unit = times.dtype.name.partition("[")[0], np.datetime_data(times.dtype)[0]
    exact = False
    if unit != "generic" and (kind != "timedelta64" or unit not in "YM"):  # months vary
        seconds = times.astype(f"{kind}[s]")
        exact = np.array_equal(seconds.astype(times.dtype), times, equal_nan=True)
    if not exact:
        raise InputError(f"{column} holds {times.dtype}; cast it to {kind}[s] or {kind}[ns]")
    return Column(column.name, column.argument, seconds, seconds.dtype)


def _convert(series: nw.Series[Any], native: Any) -> Any:
    """Return a column as an Arrow array."""
    if not series.implementation.is_pandas():
        if series.dtype == nw.Object or series.dtype.is_nested():
            raise TypeError(f"{native.dtype} is not such a dtype")
        return native.alias("").to_arrow()  # Polars panics on a name with a NUL
    if native.dtype == object:
        return from_objects(native.tolist(), nan_is_null=True)
    if hasattr(native.dtype, "categories") and native.dtype.categories.dtype == object:
        from_objects(native.dtype.categories.tolist())
    return pa.Array.from_pandas(native)


def _simplify(values: pa.ChunkedArray) -> Array | pa.ChunkedArray:
    """Return numbers without nulls as a NumPy array, which shares memory with a single chunk."""
    kind = values.type
    numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    if not numeric or values.null_count:
        return values
    return np.asarray(values.to_numpy())
