"""Greedy colours and spanning trees, by NetworkX's names and signatures; their meaning is documented there."""

# Names of arguments are NetworkX's.
# ruff: noqa: N803

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np

from cugraph_ws.algorithms import public as ws
from cugraph_ws.networkx.converted import ConvertedGraph, column_of
from cugraph_ws.networkx.implemented import ITERATION, LINEAR, engine, implements

__all__ = ["greedy_color", "maximum_spanning_edges", "minimum_spanning_edges"]


@implements(
    LINEAR,
    directed=False,
    multigraph=False,
    only={"strategy": "largest_first", "interchange": False},
)
def greedy_color(
    G: ConvertedGraph, strategy: Any = "largest_first", interchange: bool = False
) -> dict[Hashable, int]:
    """Give every node the least colour that none of its neighbours has, by falling degree."""
    if not len(G):
        return {}
    if G.has_self_loops:
        raise NotImplementedError("a self-loop counts twice in NetworkX's order of degrees")
    colours = column_of(ws.coloring(G.built(), engine=engine()), "color")
    order = np.argsort(-G.degrees(), kind="stable")
    return dict(zip(G.at(order), colours[order].tolist(), strict=True))


@implements(
    ITERATION, directed=False, multigraph=False, only={"algorithm": "kruskal", "ignore_nan": False}
)
def minimum_spanning_edges(
    G: ConvertedGraph,
    algorithm: str = "kruskal",
    weight: str = "weight",
    keys: bool = True,
    data: bool = True,
    ignore_nan: bool = False,
) -> Iterator[Any]:
    """Return the edges of a spanning forest of least weight, by rising weight."""
    return _spanning_edges(G, weight, data=data, greatest=False)


@implements(
    ITERATION, directed=False, multigraph=False, only={"algorithm": "kruskal", "ignore_nan": False}
)
def maximum_spanning_edges(
    G: ConvertedGraph,
    algorithm: str = "kruskal",
    weight: str = "weight",
    keys: bool = True,
    data: bool = True,
    ignore_nan: bool = False,
) -> Iterator[Any]:
    """Return the edges of a spanning forest of greatest weight, by falling weight."""
    return _spanning_edges(G, weight, data=data, greatest=True)


def _spanning_edges(G: ConvertedGraph, weight: str, *, data: bool, greatest: bool) -> Iterator[Any]:
    """Return the edges of Kruskal's forest: their ranks by weight, then by place, leave no ties."""
    size = G.number_of_edges()
    if not size:
        return iter(())
    weights = G.weight(weight)
    if weights is None:
        order = np.arange(size)
    else:
        order = np.argsort(-weights if greatest else weights, kind="stable")
    ranks = np.empty(size, np.int64)
    ranks[order] = np.arange(size)
    rows = ws.minimum_spanning_forest(G.weighted(ranks), engine=engine())
    places = order[np.sort(column_of(rows, "weight"))]
    ends = [G.at(G.sources[places]), G.at(G.targets[places])]
    if not data:
        return iter(list(zip(*ends, strict=True)))
    if G.edge_data is None:
        raise NotImplementedError("the attributes of the edges were not converted")
    attributes = [G.edge_data[place] for place in places.tolist()]
    return iter(list(zip(*ends, attributes, strict=True)))
