"""Groups of vertices for coarser graphs: a matching by mutual proposals, which the vertices that are left join.

An edge is better the greater its weight divided by the masses of both ends; ties are broken by a hash of these.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.matching import rank_of
from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    block,
    blocks,
    inline,
    kernel,
    lane,
    shuffle_xor,
    thread,
    threads,
)

__all__ = ["accept_mates", "join_groups", "propose_mates"]


@inline
def best_neighbour(vertex: Any, rows: Any, masses: Any, mates: Any, matched: Any) -> Any:
    """Return, to all lanes of a warp, the best neighbour of those that have a mate, or have none; -1 without any."""
    offsets, indices, weights = rows
    best, greatest, rank = np.int64(-1), np.float64(-1.0), np.int64(0)
    for at_arc in range(np.int64(offsets[vertex]) + lane(), np.int64(offsets[vertex + 1]), 32):
        neighbour = np.int64(indices[at_arc])
        if (mates[neighbour] >= 0) == matched:
            pull = np.float64(weights[at_arc]) / masses[neighbour]
            if pull >= greatest:
                tie = rank_of(np.int64(0), vertex, neighbour)
                if pull > greatest or tie > rank or (tie == rank and neighbour < best):
                    best, greatest, rank = neighbour, pull, tie
    distance = 16
    while distance > 0:
        other, pull, tie = (
            shuffle_xor(FULL, best, distance),
            shuffle_xor(FULL, greatest, distance),
            shuffle_xor(FULL, rank, distance),
        )
        if pull > greatest or (pull == greatest and (tie > rank or (tie == rank and other < best))):
            best, greatest, rank = other, pull, tie
        distance //= 2
    return best


@kernel
def propose_mates(rows: Any, masses: Any, mates: Any, proposals: Any, size: Any) -> None:
    """Write the best neighbour without a mate of each vertex without one, or -1; a warp for a vertex.

    Parameters
    ----------
    rows : (int64[size + 1], int[arcs], int64[arcs])
        Neighbours, and the weights of edges.
    masses : float64[size]
    mates : int64[size]
        -1 for a vertex without a mate.
    proposals : int64[size]
        Written.
    size : int
    """
    warps = threads() // 32
    for at in range(block() * warps + thread() // 32, size, blocks() * warps):
        vertex, best = np.int64(at), np.int64(-1)
        if mates[vertex] < 0:
            best = best_neighbour(vertex, rows, masses, mates, False)
        if lane() == 0:
            proposals[vertex] = best


@kernel
def accept_mates(proposals: Any, mates: Any, size: Any) -> None:
    """Make vertices that propose to each other mates.

    Parameters
    ----------
    proposals : int64[size]
    mates : int64[size]
        Written.
    size : int
    """
    for vertex in range(block() * threads() + thread(), size, blocks() * threads()):
        wanted = np.int64(proposals[vertex])
        if wanted >= 0 and proposals[wanted] == vertex:
            mates[vertex] = wanted


@kernel
def join_groups(rows: Any, masses: Any, mates: Any, leaders: Any, size: Any) -> None:
    """Write the lesser of each vertex and its mate, or of the pair that a vertex without one joins.

    Parameters
    ----------
    rows, masses, mates, size
        See `propose_mates`.
    leaders : int64[size]
        Written; a vertex without a mate and without neighbours that have one leads itself.
    """
    warps = threads() // 32
    for at in range(block() * warps + thread() // 32, size, blocks() * warps):
        vertex = np.int64(at)
        member = vertex
        if mates[vertex] < 0:
            member = best_neighbour(vertex, rows, masses, mates, True)
        leader = vertex
        if member >= 0 and mates[member] >= 0:
            leader = min(member, np.int64(mates[member]))
        if lane() == 0:
            leaders[vertex] = leader
