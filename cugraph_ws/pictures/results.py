"""`result.plot()`: where one looks first at the result of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from cugraph_ws.arguments import listed
from cugraph_ws.errors import InputError
from cugraph_ws.frames.base import VertexNumbers, is_dask_frame
from cugraph_ws.frames.conversions import to_arrow
from cugraph_ws.pictures import style

__all__ = ["plot_result"]

GROUPS = ("partition", "labels", "component", "community", "color")  # columns that name a group
NOT_FIRST = ("predecessor", "first_arrived")


def plot_result(result: Any, column: str | None = None, file: str | Path | None = None) -> Any:
    """Draw the values of a result beside its supersteps; see `ReadableResult.plot`."""
    frame = result.frame
    if is_dask_frame(frame):
        raise InputError(
            "plot() draws results of one machine, and this one's frame is on a cluster: plot "
            "a column of result.to_pandas()"
        )
    table, ids = to_arrow(frame), result.graph._vertices.names
    columns = [name for name in table.column_names if name not in ids]
    if column is None:
        column = next((name for name in columns if name not in NOT_FIRST), None)
    elif column not in columns:
        raise InputError(
            f"column={column!r}: the result has no such column; it has: {listed(columns)}"
        )
    left, right = style.new_axes("plot()", 2, (10.0, 4.0))
    if column is not None:
        named = column in GROUPS or isinstance(result.arrays.get(column), VertexNumbers)
        _draw_column(left, column, table[column].drop_null(), named)
    result.rows.plot(right)
    style.plain(right, f"{result.iterations:,} supersteps: {result.stopped}")
    style.save(left, file)
    return np.array([left, right], object)


def _draw_column(axes: Any, column: str, values: Any, is_group: bool) -> None:
    """Draw the sizes of groups, or how a value is distributed."""
    kind = values.type
    if is_group or not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        _draw_sizes(axes, column, values)
    else:
        _draw_shares(axes, column, np.asarray(values.to_numpy()))


def _draw_sizes(axes: Any, column: str, values: Any) -> None:
    """Draw the number of vertices of each group, the largest first."""
    counts = np.array(values.value_counts().field("counts").to_pylist(), np.int64)
    sizes = np.sort(counts)[::-1]
    rank = np.arange(1, len(sizes) + 1)
    if len(sizes) <= 30:
        axes.bar(rank, sizes, color=style.COLOURS[0])
        axes.xaxis.get_major_locator().set_params(integer=True)
    else:
        axes.plot(rank, sizes, ".", color=style.COLOURS[0], markersize=4)
        _logarithmic(axes.xaxis)
        _logarithmic(axes.yaxis)
    axes.set(xlabel="rank of the group", ylabel="vertices")
    style.plain(axes, f"{column}: {len(sizes):,} groups")


def _draw_shares(axes: Any, column: str, values: Any) -> None:
    """Draw the share of vertices with at least each value, on logarithmic scales where these fit."""
    values = values[np.isfinite(values)]
    positive = values[values > 0]
    if len(positive) and positive.max() > 20 * positive.min():
        distinct, share = style.shares(positive)
        share = share * (len(positive) / len(values))
        _logarithmic(axes.xaxis)
        _logarithmic(axes.yaxis)
        axes.plot(distinct, share, ".-", color=style.COLOURS[0], markersize=3, linewidth=1)
    elif len(values):
        distinct, share = style.shares(values)
        axes.step(distinct, share, where="post", color=style.COLOURS[0])
        axes.set_ylim(0, 1.03)
    axes.set(xlabel=column, ylabel="share of vertices with at least as much")
    style.plain(axes, f"{column}, of {len(values):,} vertices")


def _logarithmic(axis: Any) -> None:
    """Make an axis logarithmic, with plain numbers at a few places."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axis._set_axes_scale("log")
    axis.set_major_locator(LogLocator(numticks=7))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())
