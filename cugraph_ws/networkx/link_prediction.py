"""Link prediction, by NetworkX's names and signatures; its meaning is documented there."""

# Names of arguments are NetworkX's.
# ruff: noqa: N803

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import chain
from typing import Any

import pyarrow as pa

from cugraph_ws.algorithms import public as ws
from cugraph_ws.networkx.converted import ConvertedGraph, column_of
from cugraph_ws.networkx.implemented import TRAVERSAL, engine, implements

__all__ = ["adamic_adar_index", "jaccard_coefficient"]

Pairs = Iterable[tuple[Hashable, Hashable]]
Predictions = Iterator[tuple[Hashable, Hashable, float]]


@implements(TRAVERSAL, directed=False, multigraph=False)
def jaccard_coefficient(G: ConvertedGraph, ebunch: Pairs | None = None) -> Predictions:
    """Compute the Jaccard coefficient of pairs of nodes."""
    return _predictions(G, ebunch, ws.jaccard, "jaccard_coeff")


@implements(TRAVERSAL, directed=False, multigraph=False)
def adamic_adar_index(G: ConvertedGraph, ebunch: Pairs | None = None) -> Predictions:
    """Compute the Adamic-Adar index of pairs of nodes."""
    return _predictions(G, ebunch, ws.adamic_adar, "adamic_adar_coeff")


def _predictions(
    G: ConvertedGraph, ebunch: Pairs | None, function: Callable[..., Any], column: str
) -> Predictions:
    if ebunch is None:
        raise NotImplementedError("without ebunch, NetworkX yields all pairs that are no edges")
    if G.has_self_loops:
        raise NotImplementedError("of self-loops NetworkX counts some")
    pairs = list(ebunch)
    nodes = chain.from_iterable(pairs)
    positions = [G.position(node, f"Node {node} not in G.") for node in nodes]
    if not pairs:
        return iter(())
    firsts, seconds = positions[::2], positions[1::2]
    if any(map(int.__eq__, firsts, seconds)):
        raise NotImplementedError("a pair is a node and itself; NetworkX divides by 0 or counts it")
    rows = function(G.built(), pa.table({"first": firsts, "second": seconds}), engine=engine())
    values = column_of(rows, column).tolist()
    return ((*pair, value) for pair, value in zip(pairs, values, strict=True))
