"""Splits a whole graph into shards, for ranks that are threads of one process."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.graph.graph import Graph
from cugraph_ws.graph.owners import ListedOwners, Owners
from cugraph_ws.graph.vertices import Vertices
from cugraph_ws.partition.neighbourhoods import flattened
from cugraph_ws.partition.owner_choice import fewer_ghosts, owner_of_groups
from cugraph_ws.partition.range_offsets import VERTEX_WORK
from cugraph_ws.partition.shard import ShardGraph
from cugraph_ws.program.binding import BoundProgram
from cugraph_ws.runtime.arrays import module_of
from cugraph_ws.runtime.communicator import Communicator
from cugraph_ws.runtime.thread_ranks import ThreadRanks

__all__ = [
    "even_offsets",
    "joined",
    "own_arcs",
    "own_constants",
    "shard_of",
    "shards_of",
]


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


def _owners(graph: Graph, parts: int) -> list[Owners]:
    """Return which vertices each of a number of parts owns, by the graph's `cut`."""
    cuts, csc = even_offsets(graph, parts), graph.csc
    work = np.asarray(csc.degrees, np.int64) + VERTEX_WORK
    owner = None
    if graph.cut == "arcs":
        owner = fewer_ghosts(csc.indices, csc.rows(), work, cuts)
    elif graph.cut != "ranges":
        owner = owner_of_groups(graph._vertices.groups_of(graph.cut, "cut"), work, parts)
    if owner is None:
        return [Owners(cuts, rank) for rank in range(parts)]
    listed = ListedOwners(owner, cuts)
    return [listed.of_rank(rank) for rank in range(parts)]


def shard_of(graph: Graph, comm: Communicator, owners: Owners) -> ShardGraph:
    """Cut one rank's shard out of a whole graph, which all ranks hold; collective.

    Parameters
    ----------
    graph : Graph
    comm : Communicator
    owners : Owners
        Which rank owns which vertices.

    Returns
    -------
    ShardGraph
    """
    csc, arcs, numbers = graph.csc, own_arcs(graph, owners), owners.numbers()
    vertices = _WholeVertices(graph._vertices, owners)
    shard = ShardGraph(
        comm,
        owners,
        csc.indices[arcs].astype(np.int64),
        np.repeat(numbers, csc.degrees[numbers]),
        {name: graph.edge_values(name)[arcs] for name in graph.edge_attributes},
        vertices=vertices,
        kind=graph._kind,
        names=(graph._source_names, graph._destination_names),
        weight=graph.weight,
        directed=graph.directed,
    )
    vertices.align_to(shard)
    return shard


def own_arcs(graph: Graph, owners: Owners) -> slice | npt.NDArray[np.int64]:
    """Return the arcs into a rank's vertices as an index of arrays by arc of the graph's CSC."""
    offsets, rows = graph.csc.offsets, owners.index()
    if isinstance(rows, slice):
        return slice(int(offsets[rows.start]), int(offsets[rows.stop]))
    arcs: npt.NDArray[np.int64] = flattened(np, offsets[rows], graph.csc.degrees[rows])[2]
    return arcs


def joined(shares: Sequence[Any], indices: Sequence[Any]) -> Any:
    """Join the ranks' arrays into one of the whole graph.

    Parameters
    ----------
    shares : sequence of array
        On the host or the device.
    indices : sequence of slice or ndarray of int64
        From `Owners.index` or `own_arcs`, one for each rank.

    Returns
    -------
    array
        Of the shares' dtype.
    """
    xp, length = module_of(shares[0]), sum(map(len, shares))
    whole = xp.empty((length, *shares[0].shape[1:]), shares[0].dtype)
    for share, index in zip(shares, indices, strict=True):
        whole[index if isinstance(index, slice) else xp.asarray(index)] = share
    return whole


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
        owners = _owners(graph, ranks.size)
        originals = graph._shards = ranks.call(
            lambda comm: shard_of(graph, comm, owners[comm.rank])
        )
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
    owners : Owners
        Which vertices the rank owns.
    """

    def __init__(self, vertices: Vertices, owners: Owners) -> None:
        self._all, self._owners = vertices, owners
        self.numbering = self._all.numbering
        self._positions = np.empty(0, np.int64)

    def join(self, comm: Communicator) -> _WholeVertices:
        """Return a copy without a shard; see `ShardVertices.join`."""
        return _WholeVertices(self._all, self._owners)

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
        text: str = self._all.describe(int(self._owners.number_at(place)))
        return text
