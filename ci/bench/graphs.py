"""The graphs to measure on, as plain arrays of dense vertex numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from verify import Array, Edges

from cugraph_ws.generators import rmat

__all__ = ["Case", "frame", "generated", "read_folder", "simple"]

UNWEIGHTED_LENGTHS = (1, 100)  # of edges that come without any: seeded, whole numbers
BOTH_WAYS = ("roadNet", "road-moscow")  # files that list an undirected edge once


class Case:
    """A graph in the two forms that algorithms take.

    Parameters
    ----------
    name : str
        For the tables.
    directed : Edges
        The edges as they come, with a weight.
    """

    def __init__(self, name: str, directed: Edges) -> None:
        self.name = name
        self.directed = directed
        self.undirected = simple(directed)
        self.start = int(np.bincount(directed.source, minlength=directed.n).argmax())

    def __str__(self) -> str:
        return f"{self.name}: {self.directed.n:,} vertices, {len(self.directed.source):,} edges"


def simple(edges: Edges) -> Edges:
    """Return the undirected graph without self-loops and parallel edges, without weights.

    It is the one form in which all libraries agree on core numbers.
    """
    low = np.minimum(edges.source, edges.destination)
    high = np.maximum(edges.source, edges.destination)
    keys = np.unique(low[low != high] * edges.n + high[low != high])
    return Edges(keys // edges.n, keys % edges.n, edges.n, directed=False)


def frame(edges: Edges) -> pd.DataFrame:
    """Return the edges as a user would have them."""
    columns = {"source": edges.source, "destination": edges.destination}
    if edges.weight is not None:
        columns["weight"] = edges.weight
    return pd.DataFrame(columns)


def generated(scale: int, edge_factor: int = 16) -> Case:
    """Return an RMAT graph (Graph500 parameters) with whole lengths from 1 to 100."""
    made = rmat(scale, edge_factor, seed=1, weights=UNWEIGHTED_LENGTHS)
    edges = Edges(made["source"], made["destination"], 2**scale, made["weight"])
    return Case(f"RMAT {scale} x {edge_factor}", edges)


def read_folder(folder: Path, most_edges: int) -> Iterator[Case]:
    """Yield a case for every edge list in `folder` with at most `most_edges` edges.

    Edge lists are text, two or three columns parted by blanks or tabs, `#` comments, gzipped or
    not.  Lengths that are missing are drawn, so that every graph has some.
    """
    for path in sorted(folder.glob("*.t*")):
        if path.name.removesuffix(".gz").endswith((".tsv", ".txt")):
            case = _read(path)
            if len(case.directed.source) <= most_edges:
                yield case


def _read(path: Path) -> Case:
    table = pd.read_csv(path, sep=r"\s+", comment="#", header=None)
    ids, numbers = np.unique(table[[0, 1]].to_numpy(np.int64), return_inverse=True)
    source, destination = np.ascontiguousarray(numbers.reshape(-1, 2).T)
    weight = _lengths(table)
    if path.name.startswith(BOTH_WAYS):
        source, destination = (
            np.concatenate([source, destination]),
            np.concatenate([destination, source]),
        )
        weight = np.concatenate([weight, weight])
    name = re.sub(r"(_dedup|_weighted)?\.(tsv|txt)(\.gz)?$", "", path.name)
    return Case(name, Edges(source, destination, len(ids), weight))


def _lengths(table: pd.DataFrame) -> Array:
    if table.shape[1] > 2:
        return table[2].to_numpy()
    low, high = UNWEIGHTED_LENGTHS
    return np.random.default_rng(1).integers(low, high + 1, len(table))
