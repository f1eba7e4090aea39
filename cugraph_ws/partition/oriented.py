"""Edges oriented by degree, so that each triangle is found once, from its first vertex in that order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cugraph_ws.kernels.cpu.triangles import count_greater, list_greater
from cugraph_ws.partition.neighbourhoods import (
    NARROW,
    FetchedRows,
    Neighbourhoods,
    NeighbourRows,
    batches,
    flattened,
    neighbourhoods,
    row_numbers,
)
from cugraph_ws.runtime.launch_times import OFFSET, is_profiled, note_bytes
from cugraph_ws.runtime.looks import awaited, look
from cugraph_ws.runtime.threads import cut_offsets, number_of_threads, parallel

__all__ = ["Heads", "Oriented", "oriented"]

Array = Any  # NumPy's or CuPy's

ARCS_A_TASK = 1 << 16


PLACE = 8  # bytes, of an edge


@dataclass
class Heads:
    """A batch of rows of the heads of edges.

    Attributes
    ----------
    rows : NeighbourRows
        By label; rows that are not in the batch are empty.
    fetched : FetchedRows or None
        The rows as they were fetched; None for this rank's own rows.
    kept : array of int64, or None
        The index of each arc among those fetched.  Arcs to vertices unknown here are left out.
    """

    rows: NeighbourRows
    fetched: FetchedRows | None = None
    kept: Array = None


class Oriented:
    """Each edge once, from the end of lower degree to the other; if degrees are equal, of lower number.

    Vertices have *labels* here: their places in this order among the vertices that the rank knows,
    which are the owned ones and their neighbours.  A row has at most the square root of twice the
    number of edges [1]_.

    Parameters
    ----------
    near : Neighbourhoods

    Attributes
    ----------
    size : int
        Number of labels.
    known : array of int64, shape (size,)
        Vertex number of each label.
    own : array of int64, shape (owned,)
        Labels of the owned vertices, in the order of their numbers.
    rows : NeighbourRows
        By label: the neighbours with greater labels.  Rows of other ranks' vertices are empty.
        Values are the number of directions of each edge, int8; None for an undirected graph.
    work : int
        Sum over the edges of all ranks of the row length of the higher end.

    References
    ----------
    .. [1] M. Latapy, "Main-memory triangle computations for very large (sparse (power-law)) graphs",
       Theoretical Computer Science, 2008.
    """

    def __init__(self, near: Neighbourhoods) -> None:
        self.near, self.xp = near, near.xp
        xp, halo, neighbours = near.xp, near.halo, near.rows
        numbers, degrees = near.owners.numbers(xp), neighbours.degrees
        if halo.alone:
            self._ascending, inside, outside = numbers, numbers, neighbours.indices
        else:
            self._ascending = xp.unique(
                xp.concatenate([numbers, neighbours.indices.astype(np.int64)])
            )
            degrees = halo.fetch(degrees, self._ascending)
            inside = xp.searchsorted(self._ascending, numbers)
            outside = xp.searchsorted(self._ascending, neighbours.indices)
        self.size = len(self._ascending)
        order = awaited(xp.argsort, degrees, kind="stable")
        look()
        self._labels = xp.empty(self.size, np.int64)
        self._labels[order] = xp.arange(self.size)
        self.known = self._ascending[order]
        self.own = xp.take(self._labels, inside)
        self.rows = self._orient(neighbours, outside)
        self._lengths = lengths = self.rows.degrees
        look()
        if not halo.alone:
            by_number = halo.fetch(lengths[self.own], self._ascending)
            self._lengths = by_number[order]
        total = xp.take(self._lengths, self.rows.indices).sum()
        self.work = halo.totals(int(total))[0]

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        rows = self.rows
        arrays = [self._ascending, self._labels, self.known, self.own, self._lengths]
        arrays += [rows.offsets, rows.indices, *([] if rows.values is None else [rows.values])]
        return sum(int(array.nbytes) for array in arrays)

    def arcs_of(self, pivots: Array) -> tuple[Array, Array]:
        """List the edges of some vertices.

        Parameters
        ----------
        pivots : array of int64
            Labels.

        Returns
        -------
        tails : array of int64
            The label of each edge's lower end.
        arcs : array of int64
            The index of each edge in the rows.
        """
        begins = self.rows.offsets[pivots]
        _, which, arcs = flattened(self.xp, begins, self.rows.offsets[pivots + 1] - begins)
        return self.xp.take(pivots, which), arcs

    def heads(self, pivots: Array) -> Iterator[Heads]:
        """Yield the rows of the higher ends of the pivots' edges, in batches; collective.

        Parameters
        ----------
        pivots : array of int64
            Labels of owned vertices.

        Yields
        ------
        Heads
            First the rows of owned vertices, then those of others; each row is in one batch.
        """
        yield Heads(self.rows)
        near, xp = self.near, self.xp
        if near.halo.alone:
            return
        heads = xp.unique(xp.take(self.rows.indices, self.arcs_of(pivots)[1]))
        numbers = self.known[heads]
        away = ~near.owners.holds(numbers)
        away &= self._lengths[heads] > 0
        wanted = xp.sort(numbers[away])
        lengths = self._lengths[self._labels[xp.searchsorted(self._ascending, wanted)]]
        bounds = batches(lengths)
        rounds = max(near.halo.comm.allgather(len(bounds)))
        bounds += [(len(wanted), len(wanted))] * (rounds - len(bounds))
        for low, high in bounds:
            yield self._fetch(wanted[low:high])

    def ends(self) -> tuple[Array, Array]:
        """Return the vertex numbers of each edge's ends, the smaller first."""
        tails = row_numbers(self.xp, self.rows.offsets, len(self.rows.indices))
        tail_numbers, head_numbers = (
            self.xp.take(self.known, tails),
            self.xp.take(self.known, self.rows.indices),
        )
        return self.xp.minimum(tail_numbers, head_numbers), self.xp.maximum(
            tail_numbers, head_numbers
        )

    def both_ways(self, edges: Array) -> tuple[tuple[Array, Array, Array], tuple[Array, Array]]:
        """Return some edges in the rows of both of their ends; for a single rank.

        Parameters
        ----------
        edges : array of int64
            Indices in `self.rows`.

        Returns
        -------
        rows : tuple of (offsets, indices, edges)
            By label: neighbours, ascending, and the index of each edge in `self.rows`.
        ends : tuple of (tails, heads)
            The labels of the ends of all edges.
        """
        xp, heads, count = self.xp, self.rows.indices, len(self.rows.indices)
        tails = row_numbers(xp, self.rows.offsets, count)
        edge_tails, edge_heads = xp.take(tails, edges), xp.take(heads, edges)
        look()
        keys = xp.concatenate(
            [edge_tails * self.size + edge_heads, edge_heads * np.int64(self.size) + edge_tails]
        )
        look()
        order = awaited(xp.argsort, keys)
        look()
        keys, edges = keys[order], xp.concatenate([edges, edges])[order]
        look()
        offsets = xp.searchsorted(keys, xp.arange(self.size + 1) * self.size).astype(np.int64)
        look()
        indices = (keys % max(self.size, 1)).astype(heads.dtype)
        return (offsets, indices, edges), (tails.astype(np.int64), heads)

    def keep(self, mask: Array) -> None:
        """Leave out edges; collective.

        Parameters
        ----------
        mask : array of bool, shape (edges,)
            Which edges of the rows to keep.
        """
        xp, rows, halo = self.xp, self.rows, self.near.halo
        before = xp.zeros(len(mask) + 1, np.int64)
        before[1:] = xp.cumsum(mask)
        values = None if rows.values is None else rows.values[mask]
        self.rows = NeighbourRows(before[rows.offsets], rows.indices[mask], values)
        self.__dict__.pop("_by_number", None)
        self._lengths = self.rows.degrees
        if not halo.alone:
            by_number = halo.fetch(self._lengths[self.own], self._ascending)
            self._lengths = by_number[xp.searchsorted(self._ascending, self.known)]

    def supports(self, lister: Any) -> tuple[Array, int]:
        """Count the triangles of each edge, over all ranks; collective.

        Parameters
        ----------
        lister : Lister
            The backend's lister for this object.

        Returns
        -------
        supports : array of int64, shape (edges,)
        read : int
            Number of arcs read.
        """
        xp, read = self.xp, 0
        supports, pivots = xp.zeros(len(self.rows.indices), np.int64), xp.sort(self.own)
        note_bytes(0.0, supports.nbytes)
        for heads in self.heads(pivots):
            if heads.fetched is None:
                read += lister.support(heads, pivots, supports, supports)
                continue
            counts = xp.zeros(len(heads.kept), np.int64)
            read += lister.support(heads, pivots, supports, counts)
            everything = xp.zeros(len(heads.fetched.rows.indices), np.int64)
            everything[heads.kept] = counts
            heads.fetched.add_to_owners(everything, supports)
        self.note_lookups(pivots, read)
        return supports, read

    def note_lookups(self, pivots: Array, read: int) -> None:
        """Note, for a profile, what the triangles of some least vertices take to list.

        For each edge its place and its ends, and the row of the other end; and each element that is looked up.  What
        a search in the other row reads besides is not counted.

        Parameters
        ----------
        pivots : array of int64
        read : int
            Elements looked up.
        """
        if not is_profiled():
            return
        edges = int(self.rows.degrees[pivots].sum())
        element = self.rows.indices.itemsize + (self.rows.values is not None)
        note_bytes(edges * (2 * PLACE + 2 * OFFSET) + len(pivots) * 2 * OFFSET + read * element)

    def common_neighbours(self, lister: Any) -> tuple[Array, int]:
        """Count the common neighbours of the ends of all edges; collective.

        Parameters
        ----------
        lister : Lister
            The backend's lister for this object.

        Returns
        -------
        counts : array of int64
            In the order of `Neighbourhoods.edges`.
        read : int
            Number of arcs read.
        """
        supports, read = self.supports(lister)
        low, high, counts = self.near.halo.send_to_owners(*self.ends(), supports)
        return counts[self.xp.argsort(low * self.near.vertices + high)], read

    def _orient(self, neighbours: NeighbourRows, outside: Array) -> NeighbourRows:
        """Return the rows by label, given the known vertex of each entry of the rows by number."""
        xp, size = self.xp, self.size
        if xp is np and self.near.halo.alone and neighbours.values is None:
            return self._orient_here(neighbours)
        heads = xp.take(self._labels, outside)
        tails = xp.take(self.own, row_numbers(xp, neighbours.offsets, len(heads)))
        up = tails < heads
        look()
        keys, values = tails[up] * size + heads[up], neighbours.values
        look()
        if values is None:
            keys = awaited(xp.sort, keys)
        else:  # the values are sorted with the keys, in their lowest bit
            keys = awaited(xp.sort, 2 * keys + (values[up] - 1))
            values, keys = (1 + (keys & 1)).astype(np.int8), keys >> 1
        look()
        offsets = xp.searchsorted(keys, xp.arange(size + 1) * size).astype(np.int64)
        kind = np.int32 if size < NARROW else np.int64
        return NeighbourRows(offsets, (keys % max(size, 1)).astype(kind), values)

    def _orient_here(self, neighbours: NeighbourRows) -> NeighbourRows:
        """Return the rows by label of a whole graph on the host."""
        pieces = min(8 * number_of_threads(), 1 + len(neighbours.indices) // ARCS_A_TASK)
        lengths = neighbours.degrees[self.known]
        cuts = cut_offsets(np.concatenate([[0], np.cumsum(lengths)]), pieces)
        head = neighbours.offsets, neighbours.indices, self.known, self._labels
        parallel(count_greater, [(*head, lengths, *cut) for cut in cuts])
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        rows = np.empty(offsets[-1], np.int32 if self.size < NARROW else np.int64)
        parallel(list_greater, [(*head, offsets, rows, *cut) for cut in cuts])
        return NeighbourRows(offsets, rows)

    def _fetch(self, numbers: Array) -> Heads:
        """Fetch rows of other ranks, and convert them to labels; collective."""
        near, xp, rows = self.near, self.xp, self.rows
        by_number, arcs = self._by_number
        fetched = near.fetch(by_number, numbers)
        fetched.answered = [xp.take(arcs, places) for places in fetched.answered]
        received = fetched.rows
        places = xp.searchsorted(self._ascending, received.indices)
        is_known = xp.take(self._ascending, xp.minimum(places, self.size - 1)) == received.indices
        known_arcs = xp.flatnonzero(is_known)
        which = xp.searchsorted(received.offsets[1:], known_arcs, side="right")
        labels = self._labels[xp.searchsorted(self._ascending, numbers)]
        order = xp.argsort(labels[which], kind="stable")
        known_arcs, tails = known_arcs[order], labels[which[order]]
        offsets = xp.searchsorted(tails, xp.arange(self.size + 1)).astype(np.int64)
        indices = self._labels[places[known_arcs]].astype(rows.indices.dtype)
        values = None if received.values is None else received.values[known_arcs]
        return Heads(NeighbourRows(offsets, indices, values), fetched, known_arcs)

    @cached_property
    def _by_number(self) -> tuple[NeighbourRows, Array]:
        """The owned rows in the order of vertex numbers, and the index in `rows` of each of their arcs."""
        xp, rows = self.xp, self.rows
        begins = rows.offsets[self.own]
        offsets, _, arcs = flattened(xp, begins, rows.offsets[self.own + 1] - begins)
        ends = xp.take(self.known, xp.take(rows.indices, arcs))
        values = None if rows.values is None else xp.take(rows.values, arcs)
        return NeighbourRows(offsets, ends, values), arcs


def oriented(graph: Any, *, on_device: bool, directions: bool = False) -> Oriented:
    """Orient the edges of a graph; collective.

    Parameters
    ----------
    graph : Graph
        A graph, or a rank's shard of one.
    on_device : bool
        Whether to return the rows on the GPU.
    directions : bool
        Whether rows of a directed graph have the number of directions of each edge as values.

    Returns
    -------
    Oriented
        Kept until the graph is closed unless it is divided among ranks.
    """
    near = neighbourhoods(graph, on_device=on_device)
    if not directions or near.rows.values is None:
        near, directions = near.without_values(), False
    if graph.comm.size > 1:
        return Oriented(near)
    key = "oriented", on_device, directions
    if key not in graph.derived:
        graph.derived[key] = Oriented(near)
    orientation: Oriented = graph.derived[key]
    return orientation
