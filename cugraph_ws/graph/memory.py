"""Memory of a graph, estimated and checked before it is built."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cugraph_ws.errors import GraphMemoryError
from cugraph_ws.graph.footprints import IdShape, estimate_build, estimate_run, lists_messages
from cugraph_ws.runtime.memory import LIMIT, available_memory, format_bytes

__all__ = [
    "MemoryEstimate",
    "check_memory",
    "estimate_of_build",
]

_SMALL = 1 << 24  # bytes that every machine has: a query would take as long as a small search


@dataclass(frozen=True)
class MemoryEstimate:
    """Bytes that a graph and its construction take; `str()` of it is readable.

    Attributes
    ----------
    input : int
        The columns of the edge frame that are read.
    numbering : int
        Vertex ids that are kept; none for integers 0 … n-1.
    csc, csr : int
        One adjacency, and the other if it is separate (0 for an undirected graph).
    values : int
        Weights and attributes, in one order.
    peak : int
        Maximum until the CSC is built, without the input.
    run : int
        Maximum of a run without the built graph, including its result; 0 if no program was
        given.
    layout : int
        Most bytes while a further layout of the arcs is made, besides the built graph; 0 for the
        CSC.
    """

    input: int
    numbering: int
    csc: int
    csr: int
    values: int
    peak: int
    run: int = 0
    layout: int = 0

    def __str__(self) -> str:
        text = (
            f"input {format_bytes(self.input)}, numbering {format_bytes(self.numbering)}, "
            f"CSC {format_bytes(self.csc)}, CSR {format_bytes(self.csr)}, "
            f"values {format_bytes(self.values)}, peak {format_bytes(self.peak)} beside the input"
        )
        if self.layout:
            text += f", layout {format_bytes(self.layout)} beside the graph"
        return f"{text}, run {format_bytes(self.run)} beside the graph" if self.run else text


def estimate_of_build(
    edges: int, vertices: int, ids: Sequence[IdShape], *, both: bool, **values: int
) -> MemoryEstimate:
    """Estimate the memory of a build on the CPU; see `footprints.estimate_build`.

    Returns
    -------
    MemoryEstimate
        Without the input.
    """
    built = estimate_build(edges, vertices, ids, both=both, **values)
    return MemoryEstimate(
        input=0,
        numbering=built.ids,
        csc=built.adjacency,
        csr=0 if both else built.adjacency,
        values=built.values,
        peak=built.peak,
    )


def check_memory(estimate: MemoryEstimate, available: int | None = None) -> None:
    """Raise GraphMemoryError if a graph would not fit.

    Parameters
    ----------
    estimate : MemoryEstimate
    available : int, optional
        Bytes that were available before the build began; by default those available now.

    Raises
    ------
    GraphMemoryError
        Gives the estimate and the remedies.
    """
    if available is None:
        available = available_memory()
    if estimate.peak > available:
        raise GraphMemoryError(
            f"the graph needs {format_bytes(estimate.peak)} while it is built and "
            f"{format_bytes(available)} are available ({estimate}); leave out weight= and "
            f"attributes=, release the input with consume=True, or use a larger machine"
        )


def check_run_memory(program: Any, graph: Any) -> None:
    """Raise GraphMemoryError if a run would not fit in this machine's memory, besides its graph.

    Parameters
    ----------
    program : VertexProgram or Loop
    graph : Graph
        Built on this machine.

    Raises
    ------
    GraphMemoryError
        Gives the required memory and the remedies.
    """
    ids = graph._vertices.numbering
    needed = estimate_run(
        program,
        graph.number_of_vertices,
        graph.number_of_arcs,
        directed=graph.directed,
        each=ids.nbytes / max(1, ids.size) or 8,
        has_csr=getattr(graph._arcs, "has_csr", False),
        longest=int(graph.csc.degrees.max(initial=0)) if lists_messages(program) else 0,
        extrapolated=False,
    )
    if needed < _SMALL and LIMIT not in os.environ:
        return
    available = available_memory()
    if needed > available:
        raise GraphMemoryError(
            f"{program.name} needs {format_bytes(needed)} beside the graph and "
            f"{format_bytes(available)} are available; close other graphs, use directed=False where "
            f"edges go both ways, or a larger machine"
        )
