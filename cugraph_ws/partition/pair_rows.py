"""The neighbours of both vertices of pairs, with edge attributes and vertex constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cugraph_ws.partition.neighbourhoods import Neighbourhoods, NeighbourRows, joined

__all__ = ["PairRows", "pair_rows"]

Array = Any  # NumPy's or CuPy's


@dataclass
class PairRows:
    """The rows and columns that a fold over the common neighbours of pairs reads.

    Vertices have *places* here, in the order of their numbers; in a whole graph, the numbers themselves.

    Attributes
    ----------
    offsets, indices : array of int
        Rows of places of neighbours, ascending.
    first_rows, second_rows : array of int64, shape (pairs,)
        The rows of each pair.
    firsts, seconds : array of int64, shape (pairs,)
        The places of each pair's vertices.
    edges : tuple of array of float64, each of shape (arcs,)
        Edge attributes.
    constants : tuple of array, each of shape (places,), or with one entry for all
        Vertex constants.
    """

    offsets: Array
    indices: Array
    first_rows: Array
    second_rows: Array
    firsts: Array
    seconds: Array
    edges: tuple[Array, ...]
    constants: tuple[Array, ...]

    @property
    def pairs(self) -> tuple[Array, Array, Array, Array]:
        """The rows and places of the pairs, in the order in which kernels take them."""
        return self.first_rows, self.second_rows, self.firsts, self.seconds


def pair_rows(
    near: Neighbourhoods,
    edges: Sequence[Array],
    constants: Sequence[Array],
    uniform: Sequence[bool],
    firsts: Array,
    seconds: Array,
) -> PairRows:
    """Read the rows of the vertices of pairs; collective.

    Parameters
    ----------
    near : Neighbourhoods
    edges : sequence of array of float64
        By arc of the rows of `near`.
    constants : sequence of array
        By owned vertex, or with one entry for all vertices.
    uniform : sequence of bool
        Which of them have one entry.
    firsts, seconds : array of int64, shape (pairs,)
        Vertex numbers.

    Returns
    -------
    PairRows
    """
    rows, through = near.rows, near.direction == "through"
    if near.halo.alone:
        second_rows = seconds + near.owned if through else seconds
        return PairRows(
            rows.offsets, rows.indices, firsts, second_rows, firsts, seconds, tuple(edges), tuple(constants)
        )  # fmt: skip
    xp, count = near.xp, len(firsts)
    ends = xp.concatenate([firsts, seconds])
    distinct, which = xp.unique(ends, return_inverse=True)
    fetched, columns = _fetched(near, rows.offsets, edges, distinct)
    second_rows = which[count:]
    if through:
        others, more = _fetched(near, near.second_rows.offsets, edges, distinct)
        fetched, second_rows = joined(xp, fetched, others), second_rows + len(distinct)
        columns = [xp.concatenate(parts) for parts in zip(columns, more, strict=True)]
    known = xp.unique(xp.concatenate([distinct, fetched.indices.astype(np.int64)]))
    places = xp.searchsorted(known, distinct)[which]
    return PairRows(
        fetched.offsets,
        xp.searchsorted(known, fetched.indices).astype(fetched.indices.dtype),
        which[:count],
        second_rows,
        places[:count],
        places[count:],
        tuple(columns),
        tuple(
            column if is_uniform else near.halo.fetch(column, known)
            for column, is_uniform in zip(constants, uniform, strict=True)
        ),
    )


def _fetched(
    near: Neighbourhoods, offsets: Array, edges: Sequence[Array], distinct: Array
) -> tuple[NeighbourRows, list[Array]]:
    """Return the rows of vertices and their edge attributes, read from their owners; collective."""
    indices = near.rows.indices
    rows = near.fetch(NeighbourRows(offsets, indices), distinct).rows
    columns = [
        near.fetch(NeighbourRows(offsets, indices, one), distinct).rows.values for one in edges
    ]
    return rows, columns
