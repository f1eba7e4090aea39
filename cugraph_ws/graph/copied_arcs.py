"""What copies arcs of a graph on disk into memory is refused if the copy would not fit there.

Bytes, for an arc whose neighbour takes i and whose edge columns take v, an id d of at least 8:

    marks of a mask                 1 each; of an undirected graph 24, with the ends of all arcs
    edges that are listed           4 i + 2 v + 2 d each, in arrays and then a frame
      and made a graph              2 i + v + 8 more
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cugraph_ws.errors import GraphMemoryError
from cugraph_ws.graph.mapped_arcs import MappedArcs
from cugraph_ws.runtime.memory import LIMIT, available_memory, format_bytes

if TYPE_CHECKING:
    from cugraph_ws.graph.view import GraphView

__all__ = ["refuse_listing", "refuse_marks"]

MARK, ENDS = 1, 24


def refuse_marks(graph: GraphView[Any]) -> None:
    """Raise GraphMemoryError if a mark of each arc of a graph on disk would not fit in memory."""
    if graph.arcs_apart(on_device=False):
        _refuse(graph, "a mask", graph.own_arcs * (MARK if graph.directed else ENDS), "")


def refuse_listing(
    graph: GraphView[Any], name: str, keep: Any = None, among: Any = None, *, built: bool = False
) -> None:
    """Raise GraphMemoryError if edges of a graph on disk, listed in memory, would not fit there.

    Parameters
    ----------
    graph : GraphView
    name : str
        What lists them.
    keep : array of bool, shape (arcs,), optional
    among : array of bool, shape (vertices,), optional
        Which edges are listed; see `GraphView.edge_frame`.
    built : bool
        Whether they are then made a graph.

    Raises
    ------
    GraphMemoryError
        Gives the number of edges, the estimate, what is available, and the remedies.
    """
    if not graph.arcs_apart(on_device=False):
        return
    arcs = graph._open()
    edges = graph.number_of_edges
    if isinstance(arcs, MappedArcs) and (keep is not None or among is not None):
        edges = arcs.count_listed(keep, among)
    index = arcs.csc.indices.itemsize
    values = sum(graph.edge_dtype(column).itemsize for column in graph.edge_attributes)
    each = max(8.0, graph._vertices.numbering.nbytes / max(1, graph.number_of_vertices))
    by_edge = 4 * index + 2 * values + 2 * each + (2 * index + values + 8 if built else 0)
    _refuse(graph, f"{name} of {edges:,} edges", edges * by_edge, "choose fewer of them, or ")


def _refuse(graph: GraphView[Any], name: str, needed: float, remedy: str) -> None:
    """Raise GraphMemoryError if so many bytes are not available beside a graph."""
    available = available_memory()
    if graph.memory_limit is not None:
        available = min(available, graph.memory_limit - graph.bytes_there(on_device=False))
    if needed > available:
        raise GraphMemoryError(
            f"{name} needs {format_bytes(needed)} in memory, where the graph's arcs are not, and "
            f"{format_bytes(max(0, available))} are available; {remedy}give the graph a larger memory_limit=, or "
            f"raise {LIMIT} if that is what is set"
        )
