"""A frame as one of another library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cugraph_ws.frames.base import is_dask_frame
from cugraph_ws.runtime.extras import import_optional, install_command

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

__all__ = ["to_arrow", "to_cudf", "to_pandas", "to_polars"]


def to_arrow(frame: Any) -> pa.Table:
    """Return a frame as an Arrow table.

    Parameters
    ----------
    frame : pandas, Polars, cuDF or Dask DataFrame, or PyArrow Table
        The partitions of a Dask frame are computed and brought together here.

    Returns
    -------
    pyarrow.Table
    """
    frame = _whole(frame)
    if isinstance(frame, pa.Table):
        return frame
    if _library(frame) == "pandas":
        return pa.Table.from_pandas(frame, preserve_index=False)
    options = {"preserve_index": False} if _library(frame) == "cudf" else {}
    table: pa.Table = frame.to_arrow(**options)
    return table


def to_pandas(frame: Any) -> pd.DataFrame:
    """Return a frame as one of pandas; see `to_arrow`."""
    frame = _whole(frame)
    pandas_frame: pd.DataFrame = frame if _library(frame) == "pandas" else frame.to_pandas()
    return pandas_frame


def to_polars(frame: Any) -> pl.DataFrame:
    """Return a frame as one of Polars; see `to_arrow`."""
    frame = _whole(frame)
    polars = import_optional("polars", "to_polars()", install_command("polars"))
    polars_frame: pl.DataFrame = (
        frame if _library(frame) == "polars" else polars.from_arrow(to_arrow(frame))
    )
    return polars_frame


def to_cudf(frame: Any) -> Any:
    """Return a frame as one of cuDF, on the GPU; see `to_arrow`."""
    frame = _whole(frame)
    cudf = import_optional("cudf", "to_cudf()", install_command("cu13"))
    return frame if _library(frame) == "cudf" else cudf.DataFrame.from_arrow(to_arrow(frame))


def _whole(frame: Any) -> Any:
    """Return a Dask frame's rows in one frame, any other frame as it is."""
    return frame.compute() if is_dask_frame(frame) else frame


def _library(frame: Any) -> str:
    """Return the name of a frame's library; that of a `cudf.pandas` proxy is pandas."""
    return type(frame).__module__.partition(".")[0]
