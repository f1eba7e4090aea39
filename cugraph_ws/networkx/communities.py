"""Communities, by NetworkX's names and signatures; their meaning is documented there."""

# Names of arguments are NetworkX's.
# ruff: noqa: N803

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from networkx.algorithms.community.quality import NotAPartition

from cugraph_ws.algorithms import public as ws
from cugraph_ws.networkx.convert import convert_to_nx
from cugraph_ws.networkx.converted import ConvertedGraph, column_of
from cugraph_ws.networkx.implemented import ITERATION, engine, implements

__all__ = ["leiden_communities", "louvain_communities", "modularity"]

Communities = list[set[Hashable]]


@implements(ITERATION, directed=False)
def louvain_communities(
    G: ConvertedGraph,
    weight: str | None = "weight",
    resolution: float = 1,
    threshold: float = 1e-7,
    max_level: int | None = None,
    seed: Any = None,
) -> Communities:
    """Find communities of high modularity by the Louvain method."""
    _check_level(max_level)
    if not G.number_of_edges():
        return [{node} for node in G]
    rows, _ = ws.louvain(
        G.built(weight),
        max_level,
        resolution=resolution,
        threshold=threshold,
        engine=engine(),
    )
    return list(G.sets(column_of(rows, "partition")))


@implements(ITERATION, directed=False)
def leiden_communities(
    G: ConvertedGraph,
    weight: str | None = "weight",
    resolution: float = 1,
    max_level: int | None = None,
    seed: Any = None,
) -> Communities:
    """Find connected communities of high modularity by the Leiden method."""
    _check_level(max_level)
    if not G.number_of_edges():
        return [{node} for node in G]
    rows, _ = ws.leiden(
        G.built(weight), resolution=resolution, max_level=max_level, engine=engine()
    )
    return list(G.sets(column_of(rows, "partition")))


@implements(ITERATION)
def modularity(
    G: ConvertedGraph,
    communities: Iterable[Any],
    weight: str | None = "weight",
    resolution: float = 1,
) -> float:
    """Compute the modularity of a partition of the nodes into communities."""
    listed = list(communities)
    members = [node for community in listed for node in community]
    if len(members) != len(G) or {node for node in members if node in G} != set(G):
        raise NotAPartition(convert_to_nx(G), listed)
    if not G.number_of_edges():
        raise ZeroDivisionError("the modularity of a graph without edges is undefined")
    labels = np.empty(len(G), np.int64)
    sizes = [len(community) for community in listed]
    labels[[G.positions[node] for node in members]] = np.repeat(np.arange(len(listed)), sizes)
    frame = pa.table({"vertex": np.arange(len(G)), "partition": labels})
    return float(ws.modularity(G.built(weight), frame, resolution, engine=engine()))


def _check_level(max_level: int | None) -> None:
    """Raise NetworkX's error if a number of levels is not positive."""
    if max_level is not None and max_level <= 0:
        raise ValueError("max_level argument must be a positive integer or None")
