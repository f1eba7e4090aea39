"""Reads a label for every vertex: integers, or in a frame also text and other values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from cugraph_ws.arguments import shown
from cugraph_ws.errors import InputError
from cugraph_ws.frames.base import Frame, is_frame, open_frame
from cugraph_ws.frames.values import numbered_values
from cugraph_ws.graph.vertices import value_column
from cugraph_ws.graph.view import GraphView

__all__ = ["all_labels", "read_labels"]

Array = Any  # NumPy's


def all_labels(graph: GraphView, labels: Any, argument: str) -> Array:
    """Read the communities to start from; collective.

    Parameters
    ----------
    graph : GraphView
    labels, argument
        As for `read_labels`, but vertices may be left out: each is a community of its own.

    Returns
    -------
    ndarray of int64, shape (vertices,)
        Communities of all vertices, on every rank, numbered without gaps.
    """
    by_vertex, _ = _values(graph, labels, argument)
    codes, given = graph.vertex_values(by_vertex, argument, np.int64, default=0)
    parts = graph.comm.allgather((codes[: graph.owned], given[: graph.owned]))
    codes, given = (np.concatenate(part) for part in zip(*parts, strict=True))
    distinct, dense = np.unique(codes[given], return_inverse=True)
    communities = np.empty(len(codes), np.int64)
    communities[given] = dense
    communities[~given] = np.arange(len(codes) - len(dense)) + len(distinct)
    return communities


def read_labels(graph: GraphView, labels: Any, argument: str) -> tuple[Array, pa.Array | None]:
    """Read a label for every vertex; collective.

    Parameters
    ----------
    graph : GraphView
    labels : frame, mapping, list of sets or str
        A frame of ids and one column of labels; a mapping from ids to integers; sets of ids, of which
        the first has the label 0; or the name of a vertex attribute of integers.
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
    by_vertex, names = _values(graph, labels, argument)
    codes, _ = graph.vertex_values(by_vertex, argument, np.int64)
    return codes, names


def _values(graph: GraphView, labels: Any, argument: str) -> tuple[Any, pa.Array | None]:
    """Return labels as integers of vertices, and the labels that these stand for."""
    names, by_vertex = None, labels
    if isinstance(labels, (list, tuple)):
        by_vertex = _by_vertex(labels, argument)
    elif is_frame(labels):
        beside = graph.value_columns(labels, argument) or []
        frame = open_frame(labels, argument)
        ids = [name for name in frame.names if name not in beside]
        chosen = value_column(frame.names, ids, argument)
        column = frame.column(chosen, argument)
        if not isinstance(column.values, np.ndarray) or column.values.dtype.kind not in "iu":
            numbers, names = numbered_values(column)
            by_vertex = _beside(frame, ids, chosen, numbers)
    return by_vertex, names


def _beside(frame: Frame, ids: list[str], name: str, numbers: pa.Array) -> Any:
    """Return a frame of the columns of ids, and a column of numbers."""
    if frame.backend == "pandas":  # whose columns may have names that are not text
        codes = frame.native[ids].copy(deep=False)
        codes[name] = np.asarray(numbers)
        return codes
    columns = {id_name: frame.column(id_name, name).values for id_name in ids}
    return pa.table({**columns, name: numbers})


def _by_vertex(sets: Sequence[Any], argument: str) -> dict[Any, int]:
    """Return the index of the set that each vertex is in."""
    label_of: dict[Any, int] = {}
    for label, members in enumerate(sets):
        if not isinstance(members, (set, frozenset, list)):
            raise InputError(
                f"{argument}: item {label} is {shown(members)}; give sets or lists of vertices, a mapping, or a frame with the label of each vertex"
            )
        for vertex in members:
            try:
                earlier = label_of.setdefault(vertex, label)
            except TypeError:  # it has no hash
                raise InputError(
                    f"{argument}: item {label} has {shown(vertex)}; give ids of vertices"
                ) from None
            if earlier != label:
                raise InputError(
                    f"{argument}: vertex {shown(vertex)} is in sets {earlier} and {label}; put it into one"
                )
    return label_of
