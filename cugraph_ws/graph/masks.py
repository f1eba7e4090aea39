"""Masks of edges: which arcs they keep, and the rows of these arcs.

A mask has an entry for each edge; an undirected edge is two arcs.  `Arcs.chosen` and
`DeviceArcs.chosen` make the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cugraph_ws.arguments import shown
from cugraph_ws.errors import InputError
from cugraph_ws.frames.base import is_frame, open_values
from cugraph_ws.graph.adjacency import Adjacency
from cugraph_ws.graph.home import to_owners, to_ranges
from cugraph_ws.runtime.arrays import as_host, count_true, module_of

if TYPE_CHECKING:
    from cugraph_ws.graph.view import GraphView

__all__ = ["chosen_rows", "kept_arcs"]

Array = Any  # NumPy's or CuPy's
EdgeMask = Callable[[Any], Any] | Any


def chosen_rows(adjacency: Adjacency, mask: npt.NDArray[np.bool_]) -> Adjacency:
    """Return an adjacency with some of the arcs, in the same order.

    Parameters
    ----------
    adjacency : Adjacency
    mask : ndarray of bool, shape (arcs,)

    Returns
    -------
    Adjacency
    """
    counts = np.zeros(len(adjacency.offsets), np.int64)
    filled = np.flatnonzero(adjacency.degrees)
    if len(filled):
        counts[filled + 1] = np.add.reduceat(mask, adjacency.offsets[filled], dtype=np.int64)
    return Adjacency(np.cumsum(counts), adjacency.indices[mask])


def kept_arcs(graph: GraphView[Any], edges: EdgeMask) -> tuple[Array, int]:
    """Return which of this rank's arcs a mask of edges keeps; collective.

    Parameters
    ----------
    graph : GraphView
    edges : column of bool, or callable
        See `GraphView.mask`.

    Returns
    -------
    mask : array of bool, shape (arcs,)
        In the order of `arc_ends`.
    count : int
        Number of edges that this rank keeps.

    Raises
    ------
    InputError
        If the mask has another type or length, or nulls.
    """
    if is_frame(edges):
        raise InputError(
            f"edges={shown(edges)} is a frame; give a column of bool, or a function of the columns: "
            'lambda edges: edges["weight"] < 2'
        )
    if isinstance(edges, str):
        raise InputError(
            f"edges={shown(edges)} is text; give a function of the columns: "
            'lambda edges: edges["weight"] < 2'
        )
    if graph.directed:
        ends = None if graph.owners.in_ranges else graph.arc_ends()[1]
        marks = _marks(graph, edges, ends, graph.own_arcs)
        return marks, count_true(marks)
    sources, destinations = graph.arc_ends()
    xp, forward = module_of(sources), sources <= destinations
    mask = xp.zeros(len(sources), np.bool_)
    marks = _marks(graph, edges, destinations[forward], count_true(forward))
    count = count_true(marks)
    mask[forward] = xp.asarray(marks)
    if xp is np and graph.whole:  # an undirected graph's CSC is its own transpose
        mask |= graph.csc.carry(mask)
        return mask, count
    back = xp.flatnonzero(~forward)
    owners = graph.owners.of(sources[back])
    ours = xp.flatnonzero(forward & (sources != destinations))
    ours = ours[xp.argsort(sources[ours], kind="stable")]
    of_ours, ranks = graph.owners.of(sources[ours]), xp.arange(graph.comm.size)
    received = graph.comm.alltoall([[mask[ours[of_ours == rank]]] for rank in ranks.tolist()])
    mask[back[xp.argsort(owners, kind="stable")]] = xp.concatenate(
        [buffer for (buffer,) in received]
    )
    return mask, count


def _marks(
    graph: GraphView[Any], edges: EdgeMask, destinations: Any, count: int
) -> npt.NDArray[np.bool_]:
    """Return the marks of this rank's edges, in the order of their destinations; collective."""
    if graph.owners.in_ranges:
        return _shown_marks(graph, edges, count)
    ends, _ = to_ranges(graph.comm, graph.owners, as_host(destinations))
    shown_marks = _shown_marks(graph, edges, len(ends))
    marks: npt.NDArray[np.bool_]
    (marks,) = to_owners(graph.comm, graph.owners, ends, shown_marks)
    return marks


def _shown_marks(graph: GraphView[Any], edges: EdgeMask, count: int) -> npt.NDArray[np.bool_]:
    """Return the marks of the edges that this rank shows, in the order of `edge_frame`; collective."""
    counts = graph.comm.allgather(count)
    if callable(edges):
        frame = graph.edge_frame()
        frame_marks: npt.NDArray[np.bool_] = graph._local(lambda: _flags(edges(frame), count))
        return frame_marks
    marks: npt.NDArray[np.bool_] = graph._local(lambda: _flags(edges, sum(counts)))
    first = sum(counts[: graph.comm.rank])
    return marks[first : first + count]


def _flags(values: Any, count: int) -> npt.NDArray[np.bool_]:
    """Read a column of bool."""
    column = open_values(values, "edges")
    if not pa.types.is_boolean(column.arrow_type):
        raise InputError(
            f"edges: a column of bool is needed, not of {column.arrow_type}; compare the column with "
            "a value, as in graph.mask(lambda edges: edges['weight'] > 0)"
        )
    column.refuse_nulls()
    if len(column) != count:
        raise InputError(
            f"edges: {len(column)} values for {count} edges; give one for each row of "
            "graph.edge_frame(), in its order"
        )
    return np.asarray(column.values, np.bool_)
