"""Lazy frames and streams of record batches: what has no rows in memory yet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import narwhals as nw
import pyarrow as pa

from cugraph_ws.errors import GraphWarning, InputError
from cugraph_ws.runtime.warn import warn_caller

__all__ = ["computed", "is_stream", "partitions_of", "table_of_stream"]


def is_stream(data: Any) -> bool:
    """Return whether an object hands over record batches, and is neither a frame nor one column.

    It may be readable only once, as a `pyarrow.RecordBatchReader` is.
    """
    return (
        hasattr(data, "__arrow_c_stream__")
        and not hasattr(type(data), "columns")
        and not hasattr(data, "dtype")  # a Series
        and not isinstance(data, pa.ChunkedArray)
    )


def partitions_of(frame: Any) -> pa.RecordBatchReader:
    """Return the rows of a Dask frame as a stream; a partition is computed when it is read.

    Parameters
    ----------
    frame : Dask DataFrame
        Of pandas or cuDF.

    Raises
    ------
    ArrowInvalid
        While it is read, if a partition's columns have other types than those of the first.
    """

    def table(number: int) -> pa.Table:
        computed = frame.get_partition(number).compute()
        if hasattr(computed, "to_arrow"):  # cuDF's
            return computed.to_arrow(preserve_index=False)
        return pa.Table.from_pandas(computed, preserve_index=False)

    first = table(0)

    def batches() -> Iterator[pa.RecordBatch]:
        yield from first.to_batches()
        for number in range(1, frame.npartitions):
            yield from table(number).cast(first.schema).to_batches()

    return pa.RecordBatchReader.from_batches(first.schema, batches())


def table_of_stream(data: Any) -> Any:
    """Return the rows of a stream as a table, and anything else as it is.

    Parameters
    ----------
    data : Any

    Returns
    -------
    pyarrow.Table, or `data` itself

    Raises
    ------
    InputError
        If the stream cannot be read to its end.

    Warns
    -----
    GraphWarning
        If it has no batches, which may mean that it was read before.
    """
    if not is_stream(data):
        return data
    name = type(data).__name__
    try:
        table = pa.table(data)
    except Exception as error:  # of Arrow, or of what makes the batches
        raise InputError(
            f"the stream of a {name} cannot be read as rows: {error}; give a pyarrow.Table, or a new stream"
        ) from error
    if not table.columns or table.column(0).num_chunks == 0:
        warn_caller(
            f"the {name} had no rows left: if it was read before, give a new one, or a pyarrow.Table",
            GraphWarning,
        )
    return table


def computed(
    frame: nw.LazyFrame[Any], argument: str, columns: Sequence[str] | None
) -> nw.DataFrame[Any]:
    """Compute a lazy frame, only the columns that are read.

    Parameters
    ----------
    frame : narwhals.LazyFrame
    argument : str
        The caller's name for it, for errors.
    columns : sequence of str, optional
        By default all.

    Returns
    -------
    narwhals.DataFrame
        Of Polars for a LazyFrame of Polars, else of Arrow.  Without rows if a column is missing: that
        is an error later, which lists the columns that there are.

    Raises
    ------
    InputError
        If the computation fails.
    """
    try:
        have = frame.collect_schema().names()
        if columns is not None and set(columns) <= set(have):
            return frame.select(*dict.fromkeys(columns)).collect()
        return (frame if columns is None else frame.head(0)).collect()
    except Exception as error:  # of whichever library computes it
        raise InputError(f"{argument}: the lazy frame cannot be computed: {error}") from error
