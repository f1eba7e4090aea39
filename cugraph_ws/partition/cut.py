"""Splits a whole graph into shards, for ranks that are threads of one process."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.graph.graph import Graph
from cugraph_ws.graph.vertices import Vertices
from cugraph_ws.partition.range_offsets import VERTEX_WORK
from cugraph_ws.partition.shard import ShardGraph
from cugraph_ws.program.binding import BoundProgram
from cugraph_ws.runtime.communicator import Communicator
from cugraph_ws.runtime.thread_ranks import ThreadRanks

__all__ = ["even_offsets", "own_constants", "shard_of", "shards_of"]


def even_offsets(graph: Graph, parts: int) -> npt.NDArray[np.int64]:
    """Split the vertices of a graph into ranges of about equal work.

    The work of a vertex is its in-degree plus `VERTEX_WORK`.

    Parameters
    ----------
    graph : Graph
    parts : int
        Number of ranges; some are empty if there are fewer vertices.

    Returns
    -------
    ndarray of int64, shape (parts + 1,)
        Range r has the vertices numbered offsets[r] to offsets[r + 1] - 1.
    """
    offsets = graph.csc.offsets
    work = offsets + VERTEX_WORK * np.arange(len(offsets))
    goals = work[-1] * np.arange(1, parts) // parts
    inner = np.searchsorted(work, goals)
    return np.concatenate([[0], inner, [graph.number_of_vertices]]).astype(np.int64)


def shard_of(graph: Graph, comm: Communicator, offsets: npt.NDArray[np.int64]) -> ShardGraph:
    """Cut one rank's shard out of a whole graph, which all ranks hold; collective.

    Parameters
    ----------
    graph : Graph
    comm : Communicator
    offsets : ndarray of int64, shape (comm.size + 1,)
        Rank r owns the vertices numbered offsets[r] to offsets[r + 1] - 1.

    Returns
    -------
    ShardGraph
    """
    low, high = offsets[comm.rank : comm.rank + 2].tolist()
    csc = graph.csc
    starts = csc.offsets[low : high + 1]
    arcs = slice(int(starts[0]), int(starts[-1]))
    vertices = _WholeVertices(graph._vertices, low)
    shard = ShardGraph(
        comm,
        offsets,
        csc.indices[arcs].astype(np.int64),
        np.repeat(np.arange(low, high, dtype=np.int64), np.diff(starts)),
        {name: graph.edge_values(name)[arcs] for name in graph.edge_attributes},
        vertices=vertices,
        kind=graph._kind,
        names=(graph._source_names, graph._destination_names),
        weight=graph.weight,
        directed=graph.directed,
    )
    vertices.align_to(shard)
    return shard


def shards_of(graph: Graph, ranks: ThreadRanks) -> list[ShardGraph]:
    """Cut a whole graph into shards of about equal work, one for each rank.

    Parameters
    ----------
    graph : Graph
        It keeps the last shards for later runs.
    ranks : ThreadRanks

    Returns
    -------
    list of ShardGraph
    """
    originals: list[ShardGraph] = graph._shards
    if len(originals) != ranks.size:
        offsets = even_offsets(graph, ranks.size)
        originals = graph._shards = ranks.call(lambda comm: shard_of(graph, comm, offsets))
    shards = [copy(shard) for shard in originals]  # other runs have communicators of their own
    for shard, comm in zip(shards, ranks.communicators, strict=True):
        shard.comm, shard.learned = comm, {}  # what one run has learned is not known to another
    return shards


def own_constants(bound: BoundProgram, shard: ShardGraph) -> BoundProgram:
    """Convert a program bound to a whole graph to one bound to a shard of it.

    Parameters
    ----------
    bound : BoundProgram
        Its constants are by vertex number.
    shard : ShardGraph

    Returns
    -------
    BoundProgram
        Its constants are by the shard's positions.
    """
    constants = zip(bound.constants, bound.types.uniform, strict=True)
    return replace(
        bound,
        constants=tuple(
            column if uniform else column[shard.positions] for column, uniform in constants
        ),
    )


class _WholeVertices:
    """The vertices of a shard, if every rank knows the ids of the whole graph; see `ShardVertices`.

    Parameters
    ----------
    vertices : Vertices
    low : int
        Number of the rank's first vertex.
    """

    def __init__(self, vertices: Vertices, low: int) -> None:
        self._all, self._low = vertices, low
        self.numbering = self._all.numbering
        self._positions = np.empty(0, np.int64)

    def join(self, comm: Communicator) -> _WholeVertices:
        """Return a copy without a shard; see `ShardVertices.join`."""
        return _WholeVertices(self._all, self._low)

    def align_to(self, shard: ShardGraph) -> None:
        """Set the shard whose positions values are aligned to."""
        self._positions = shard.positions

    def __getattr__(self, name: str) -> Any:
        return getattr(self._all, name)

    def values(self, *arguments: Any, **named: Any) -> Any:
        """Return the values of the shard's positions; see `Vertices.values`."""
        return tuple(array[self._positions] for array in self._all.values(*arguments, **named))

    def describe_own(self, place: int) -> str:
        """Return the id of an owned vertex as text."""
        text: str = self._all.describe(self._low + place)
        return text
