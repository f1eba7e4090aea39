"""Reads a label for every vertex: integers, or in a frame also text and other values."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cugraph_ws.frames.base import is_frame, open_frame
from cugraph_ws.graph.vertices import value_column
from cugraph_ws.graph.view import GraphView

__all__ = ["read_labels"]

Array = Any  # NumPy's


def read_labels(graph: GraphView, labels: Any, argument: str) -> tuple[Array, pa.Array | None]:
    """Read a label for every vertex; collective.

    Parameters
    ----------
    graph : GraphView
    labels : frame, mapping or str
        A frame of ids and one column of labels; a mapping from ids to integers; or the name of a
        vertex attribute of integers.
    argument : str
        The caller's name for it, for errors.

    Returns
    -------
    codes : ndarray of int64, shape (length,)
        By position.
    names : pyarrow.Array or None
        The labels that the codes stand for, ascending; None if the codes are the labels.

    Raises
    ------
    InputError
        If a vertex is unknown, repeated or has no label.
    """
    names, given = None, labels
    if is_frame(labels):
        beside = graph.value_columns(labels, argument) or []
        frame = open_frame(labels, argument)
        ids = [name for name in frame.names if name not in beside]
        chosen = value_column(frame.names, ids, argument)
        column = frame.column(chosen, argument)
        if not isinstance(column.values, np.ndarray) or column.values.dtype.kind not in "iu":
            column.refuse_nulls()
            numbers, names = _numbered(column.values)
            columns = {name: frame.column(name, argument).values for name in ids}
            given = pa.table({**columns, chosen: numbers})
    codes, _ = graph.vertex_values(given, argument, np.int64)
    return codes, names


def _numbered(values: Any) -> tuple[pa.Array, pa.Array]:
    """Return the index of each value among the distinct values, and these, ascending."""
    plain = pa.chunked_array([values]) if isinstance(values, np.ndarray) else values
    if pa.types.is_dictionary(plain.type):
        plain = plain.cast(plain.type.value_type)
    distinct = pc.unique(plain)
    distinct = distinct.take(pc.sort_indices(distinct))
    return cast(pa.Array, pc.index_in(plain, value_set=distinct)), distinct
