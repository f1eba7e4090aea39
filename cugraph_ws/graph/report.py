"""`GraphReport`: what the build of a graph counted, and its warning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cugraph_ws.graph.numbering import Renumbered
from cugraph_ws.runtime.memory import format_bytes
from cugraph_ws.runtime.warn import warn_caller

__all__ = ["GraphReport", "warn_of_pairs"]


@dataclass(frozen=True)
class GraphReport:
    """Report on the build of a graph; `str()` of it is readable.

    Attributes
    ----------
    vertices, edges : int
        Numbers of vertices and edges of the graph; an undirected edge counts once.
    isolated : int
        Vertices without any edge.
    duplicates : int
        Edges after the first between the same two vertices, kept or merged.
    self_loops : int
        Edges from a vertex to itself, kept or dropped.
    renumbered : {"no", "compacted", "sorted"}
        Whether ids were already 0 … n-1, were a range with gaps, or were sorted.
    bytes : int
        Memory that the graph holds now.
    on_disk : int
        Bytes in files, for a graph with `placement="disk"`.
    both_ways : int
        For an undirected graph: pairs of vertices with edges that were given in both directions.
        If a frame lists every edge in both directions, each counts twice.  0 for a directed
        graph, and if `duplicates=` merged the edges.
    layouts : dict of str to int
        Bytes of each layout of the arcs that is held now, in the GPU's copy of the graph too:
        `csc`, by destination; `csr`, by source; `tiles`, `gshards` and `windows`, see `run`.  Empty for a
        graph on a cluster.
    choices : dict of str to str
        For each program whose supersteps gather from all in-neighbours: the layout that its last run
        with `layout="auto"` chose on a CPU, and why.  Empty for a graph on a cluster.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> graph = ws.Graph(pd.DataFrame({"source": [1, 1, 3], "destination": [2, 2, 3]}))
    >>> graph.report.vertices, graph.report.duplicates, graph.report.self_loops
    (3, 1, 1)
    """

    vertices: int
    edges: int
    isolated: int
    duplicates: int
    self_loops: int
    renumbered: Renumbered
    bytes: int
    both_ways: int = 0
    layouts: Mapping[str, int] = field(default_factory=dict)
    choices: Mapping[str, str] = field(default_factory=dict)
    on_disk: int = 0

    def __str__(self) -> str:
        both_ways = f"{self.both_ways:,} pairs given both ways, " if self.both_ways else ""
        on_disk = f", {format_bytes(self.on_disk)} on disk" if self.on_disk else ""
        return (
            f"{self.vertices:,} vertices ({self.isolated:,} isolated), {self.edges:,} edges "
            f"({self.duplicates:,} duplicates, {both_ways}{self.self_loops:,} self-loops), "
            f"renumbered: {self.renumbered}, {format_bytes(self.bytes)}{on_disk}"
        )


def warn_of_pairs(pairs: int, edges: int) -> None:
    """Warn the caller if an undirected graph's frame lists edges in both directions.

    Parameters
    ----------
    pairs : int
        Pairs of vertices with edges that were given in both directions; at least 1.
    edges : int
        Number of edges of the graph.
    """
    warn_caller(
        f"directed=False: {pairs:,} {'pairs of vertices have' if pairs > 1 else 'pair of vertices has'} "
        f"edges in both directions among the {edges:,} given, and each of them counts; "
        f"if these are the same edges listed twice, list each once, or give duplicates='first' "
        f"(or 'min', 'max', 'mean' of their weights) to Graph(...)"
    )
