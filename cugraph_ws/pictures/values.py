"""Values of vertices as a picture needs them: arrays by vertex number, of frames, mappings or columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cugraph_ws.arguments import listed, shown
from cugraph_ws.errors import InputError
from cugraph_ws.frames.base import is_frame
from cugraph_ws.frames.conversions import to_arrow
from cugraph_ws.graph.view import GraphView

__all__ = ["coordinates", "values_of"]

Array = npt.NDArray[Any]


def values_of(graph: GraphView[Any], data: Any, argument: str) -> Array:
    """Return a value of each vertex.

    Parameters
    ----------
    graph : GraphView
    data : frame, mapping, str or sequence
        A frame of ids, whose first other column has the values; a mapping from ids to values; the name of a
        column of `graph.vertices`; or a value for each row of `graph.vertices`.
    argument : str
        The caller's name for it, for errors.

    Returns
    -------
    ndarray, shape (vertices,)
        Of numbers, or of objects; NaN or None for vertices without a value.

    Raises
    ------
    InputError
        If there is no such column, an id is no vertex, or the length is another.
    """
    size = graph.number_of_vertices
    if isinstance(data, str):
        table = to_arrow(graph.vertices)
        if data not in table.column_names:
            raise InputError(
                f"{argument}={data!r}: the vertices have no such column; they have: "
                f"{listed(table.column_names)}.  Give a frame of ids and values"
            )
        return _column(table[data])
    if is_frame(data):
        names = [name for name in to_arrow(data).column_names if name not in graph._vertices.names]
        if not names:
            raise InputError(
                f"{argument}: the frame has no column beside the ids; give one of values"
            )
        return _by_number(graph, data, names[:1], argument)[0]
    if isinstance(data, Mapping):
        values = _column(pa.chunked_array([pa.array(list(data.values()))]))
        return _scattered(values, graph.numbers(list(data), argument), size)
    values = np.asarray(data)
    if values.shape != (size,):
        raise InputError(
            f"{argument} is {shown(data)}: give a frame of ids and values, a mapping, the name of a column of "
            f"the vertices, or {size:,} values, one for each row of `graph.vertices`"
        )
    return values


def coordinates(graph: GraphView[Any], layout: Any) -> Array:
    """Return the position of each vertex of a frame of ids, x and y.

    Parameters
    ----------
    graph : GraphView
    layout : DataFrame
        As `layout` returns.

    Returns
    -------
    ndarray of float64, shape (vertices, 2)

    Raises
    ------
    InputError
        If it is not such a frame, or a vertex has no position.
    """
    columns = to_arrow(layout).column_names if is_frame(layout) else []
    if not {"x", "y"} <= set(columns):
        raise InputError(
            f"layout is {shown(layout)}: give a frame of ids, x and y, such as graph.layout(), or None for a map "
            "of communities"
        )
    laid = np.stack(_by_number(graph, layout, ["x", "y"], "layout"), axis=1).astype(np.float64)
    if missing := int((~np.isfinite(laid).all(axis=1)).sum()):
        raise InputError(f"layout: {missing:,} vertices have no position, or an infinite one")
    return laid


def _by_number(graph: GraphView[Any], data: Any, names: list[str], argument: str) -> list[Array]:
    """Return columns of a frame by the numbers of its ids."""
    table, ids = to_arrow(data), graph._vertices.names
    if absent := [name for name in ids if name not in table.column_names]:
        raise InputError(
            f"{argument}: the frame has no id column {absent[0]!r}; it has: {listed(table.column_names)}"
        )
    given = table[ids[0]].to_pylist() if len(ids) == 1 else table.select(ids)
    numbers = graph.numbers(given, argument)
    return [_scattered(_column(table[name]), numbers, graph.number_of_vertices) for name in names]


def _column(column: Any) -> Array:
    """Return an Arrow column as numbers with NaN for nulls, or as objects."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return np.array([*column.to_pylist(), None], object)[:-1]
    if pa.types.is_integer(kind) and column.null_count:
        column = column.cast(pa.float64(), safe=False)
    return np.asarray(column.to_numpy())


def _scattered(values: Array, numbers: Any, size: int) -> Array:
    numbers = np.asarray(numbers)
    if len(numbers) == size and (numbers == np.arange(size)).all():
        return values
    missing: Any = None if values.dtype == object else np.nan
    by_number = np.full(size, missing, object if missing is None else np.float64)
    by_number[numbers] = values
    if values.dtype.kind in "iu" and len(np.unique(numbers)) == size:
        return by_number.astype(values.dtype)
    return by_number
