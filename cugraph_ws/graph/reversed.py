"""A whole graph along reversed edges: a view whose CSC is the graph's CSR, and vice versa."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cugraph_ws.graph.adjacency import Adjacency
from cugraph_ws.graph.arcs import Arcs, Array, Degrees, Order
from cugraph_ws.runtime.dispatch import provider

if TYPE_CHECKING:
    from cugraph_ws.graph.graph import Graph

__all__ = ["reversed_arcs", "reversed_graph"]


class ReversedArcs(Arcs):
    """The edges of a directed graph in the opposite direction; holds nothing of its own.

    Parameters
    ----------
    forward : Arcs
        The graph's arcs, which make each order when it is first needed and keep it.
    named_forward : bool
        Whether errors name an edge as the graph has it, not as it is here.
    """

    def __init__(self, forward: Arcs, *, named_forward: bool = True) -> None:
        super().__init__(forward.csr, {}, directed=True)
        self._base = None
        self._forward = forward
        self._named_forward = named_forward

    @property
    def csc(self) -> Adjacency:
        """Out-neighbours of every vertex of the graph."""
        return self._forward.csr

    @property
    def csr(self) -> Adjacency:
        """In-neighbours of every vertex of the graph."""
        return self._forward.csc

    @property
    def out_degrees(self) -> Degrees:
        """Number of arcs into every vertex of the graph."""
        return self._forward.csc.degrees

    @property
    def has_csr(self) -> bool:
        """Whether the CSR exists: it is the graph's CSC."""
        return True

    @property
    def mapped_bytes(self) -> int:
        """Bytes of the graph's arcs in files."""
        return self._forward.mapped_bytes

    def weight_sums(self, name: str, *, incoming: bool) -> Any:
        """Sum an edge column over the arcs into or out of every vertex; may overflow."""
        return self._forward.weight_sums(name, incoming=not incoming)

    def values(self, name: str, order: Order) -> Array:
        """Return an edge column in an adjacency's order."""
        return self._forward.values(name, "csr" if order == "csc" else "csc")

    @property
    def names(self) -> Sequence[str]:
        """Names of the graph's edge columns."""
        return self._forward.names

    def chosen_of(self, rows: Adjacency, values: dict[str, Array], mask: Array) -> Arcs:
        """Return marked arcs of some rows, where the graph's are."""
        return self._forward.chosen_of(rows, values, mask)

    def ends(self, arc: int) -> tuple[int, int]:
        """Return the source and the destination of an arc of the CSC, for errors."""
        source, destination = super().ends(arc)
        return (destination, source) if self._named_forward else (source, destination)


def reversed_arcs(arcs: Any, *, named_forward: bool) -> Any:
    """Return the arcs of a directed graph in the opposite direction, where they are.

    Parameters
    ----------
    arcs : Arcs or DeviceArcs
    named_forward : bool
        See `ReversedArcs`; on the device errors name an edge as it is in the result.

    Returns
    -------
    Arcs or DeviceArcs
    """
    if arcs.on_device:
        return provider("reversed device graphs").reversed_arcs(arcs)
    return ReversedArcs(arcs, named_forward=named_forward)


def reversed_graph(graph: Graph) -> Graph:
    """Return a view of a graph along reversed edges.

    Parameters
    ----------
    graph : Graph

    Returns
    -------
    Graph
        With the same vertices; an undirected graph is returned unchanged.  The graph keeps the view
        until it is closed.  On the host the view has no arrays of its own.  On the device it has rows
        of its own, since vertices are ordered by in-degree there.

    Raises
    ------
    InputError
        If the graph is closed.
    GraphMemoryError
        If the rows would not fit on the GPU.
    """
    arcs = graph._open()
    if not graph.directed:
        return graph
    with graph._lock:
        if graph._reversed is None:
            turned = reversed_arcs(arcs, named_forward=True)
            graph._reversed = graph._with_arcs(turned, graph.number_of_edges)
        return graph._reversed
