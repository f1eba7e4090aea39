"""Graphs on the CPU, as plain arrays of dense vertex numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from verify import Edges

from bench.graphs import LENGTHS, read_folder, simple
from cugraph_ws.graph.generators import rmat

__all__ = ["Case", "cases", "frame", "generated"]


class Case:
    """A graph in two forms: directed, and simple undirected.

    Parameters
    ----------
    name : str
        For the tables.
    directed : Edges
        All edges, with weights.
    """

    def __init__(self, name: str, directed: Edges) -> None:
        self.name = name
        self.directed = directed
        # The one form in which all libraries agree on core numbers
        ends = simple(np, directed.source, directed.destination, directed.n)
        self.undirected = Edges(*ends, directed.n, directed=False)
        self.start = int(np.bincount(directed.source, minlength=directed.n).argmax())

    def __str__(self) -> str:
        return f"{self.name}: {self.directed.n:,} vertices, {len(self.directed.source):,} edges"


def frame(edges: Edges) -> pd.DataFrame:
    """Return the edges as a pandas frame."""
    columns = {"source": edges.source, "destination": edges.destination}
    if edges.weight is not None:
        columns["weight"] = edges.weight
    return pd.DataFrame(columns)


def generated(scale: int, edge_factor: int = 16) -> Case:
    """Return an RMAT graph (Graph500 parameters) with integer lengths from 1 to 100."""
    made = rmat(scale, edge_factor, seed=1, weights=LENGTHS)
    edges = Edges(made["source"], made["destination"], 2**scale, made["weight"])
    return Case(f"RMAT {scale} x {edge_factor}", edges)


def cases(names: Sequence[str], folder: Path | None, most_edges: int) -> Iterator[Case]:
    """Yield graphs, each made when requested.

    Parameters
    ----------
    names : sequence of str
        RMAT and its scale, as "RMAT16", or names of edge lists in `folder`; "data" is all of these.
    folder : Path or None
    most_edges : int
        Of an edge list.
    """
    for name in names:
        if name.startswith("RMAT"):
            yield generated(int(name.removeprefix("RMAT")))
    for found in read_folder(folder, names, most_edges):
        yield Case(found.name, Edges(found.source, found.destination, found.n, found.weight))
