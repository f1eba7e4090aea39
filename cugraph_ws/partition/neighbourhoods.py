"""Rows of the distinct neighbours of vertices, for intersections.

Here the direction of edges does not matter unless one is asked for, parallel edges count once, and self-loops do
not count.
Rows contain vertex numbers in ascending order, so they do not depend on the partition of the graph.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from cugraph_ws.graph.owners import Owners
from cugraph_ws.partition.halo import Halo
from cugraph_ws.partition.part import Part
from cugraph_ws.program.declarations import Neighbours, Parallel
from cugraph_ws.runtime.arrays import as_host, module_of
from cugraph_ws.runtime.bins import bin_counts, bin_sums
from cugraph_ws.runtime.looks import awaited, look

__all__ = [
    "FetchedRows",
    "NeighbourRows",
    "Neighbourhoods",
    "batches",
    "flattened",
    "joined",
    "neighbourhoods",
    "row_numbers",
]

Array = Any  # NumPy's or CuPy's

NARROW = 1 << 31  # vertices below this number are stored as int32
ARCS_A_BATCH = 1 << 24  # arcs of rows that are fetched at a time


@dataclass
class NeighbourRows:
    """Rows of integers, optionally with values.

    Attributes
    ----------
    offsets : array of int64, shape (rows + 1,)
    indices : array of int, shape (arcs,)
        Each row is ascending, without repetition.
    values : array of shape (arcs,), or None
        One for each entry of `indices`.
    """

    offsets: Array
    indices: Array
    values: Array = None

    @property
    def degrees(self) -> Array:
        """The length of each row."""
        return self.offsets[1:] - self.offsets[:-1]


@dataclass
class Neighbourhoods:
    """The distinct neighbours of owned vertices.

    Attributes
    ----------
    halo : Halo
        Reads and sends by vertex number.
    xp : module
        NumPy or CuPy.
    owners : Owners
        Which rank owns which vertices.
    owned, vertices : int
        Number of owned vertices, and of all vertices.
    rows : NeighbourRows
        Row i has the numbers of the neighbours of the i-th owned vertex, without itself.  Values are the
        weights of the edges between both, folded, if weights were requested; or, in a directed graph
        without a direction, the number of directions that have an edge, 1 or 2, as int8.
    nbytes : int
        Bytes of the rows that are not the graph's own.
    direction : {"any", "out", "in", "through"}
        With "through", `rows` has the rows of out-neighbours, then those of in-neighbours.
    """

    halo: Halo
    xp: Any
    owners: Owners
    owned: int
    vertices: int
    rows: NeighbourRows
    nbytes: int = 0
    direction: Neighbours = "any"

    @property
    def second_rows(self) -> NeighbourRows:
        """The rows in which the second vertex of a pair is looked up, without values."""
        rows, first = self.rows, self.owned if self.direction == "through" else 0
        return NeighbourRows(rows.offsets[first:], rows.indices)

    def fetch(self, rows: NeighbourRows, numbers: Array) -> FetchedRows:
        """Read rows of any vertices from their owners; collective.

        Parameters
        ----------
        rows : NeighbourRows
            Rows of the owned vertices, in the order of their numbers.
        numbers : array of int
            Distinct vertex numbers, ascending.

        Returns
        -------
        FetchedRows
        """
        xp = self.xp
        order, bounds = self.owners.split(numbers)
        grouped = numbers if order is None else numbers[order]
        asked = self.halo.exchange([[grouped[first:last]] for first, last in pairwise(bounds)])
        answered, buffers = [], []
        for (wanted,) in asked:
            own_rows = self.owners.places(wanted)
            begins = xp.take(rows.offsets, own_rows)
            lengths = xp.take(rows.offsets, own_rows + 1) - begins
            places = flattened(xp, begins, lengths)[2]
            values = [] if rows.values is None else [xp.take(rows.values, places)]
            answered.append(places)
            buffers.append([lengths, xp.take(rows.indices, places), *values])
        received = self.halo.exchange(buffers)
        sizes = [len(buffer[1]) for buffer in received]
        lengths, *columns = (xp.concatenate(parts) for parts in zip(*received, strict=True))
        offsets = xp.zeros(len(numbers) + 1, np.int64)
        offsets[1:] = xp.cumsum(lengths)
        arcs = None
        if order is not None:  # from the order of owners to that of numbers
            places = xp.argsort(order)
            arcs = flattened(xp, offsets[places], lengths[places])[2]
            offsets[1:] = xp.cumsum(lengths[places])
            columns = [xp.take(column, arcs) for column in columns]
        return FetchedRows(NeighbourRows(offsets, *columns), self.halo, sizes, answered, arcs)

    def of_distinct(self, numbers: Array) -> tuple[NeighbourRows, Array]:
        """Return rows that include those of some vertices, and the row of each vertex; collective.

        Parameters
        ----------
        numbers : array of int64
            Vertex numbers, in any order and repeated.

        Returns
        -------
        NeighbourRows
            This rank's own rows if it is the only rank, else the rows fetched.
        array of int64
            The row of each of `numbers`.
        """
        if self.halo.alone:
            return self.rows, numbers
        distinct, which = self.xp.unique(numbers, return_inverse=True)
        return self.fetch(self.rows, distinct).rows, which

    def without_values(self) -> Neighbourhoods:
        """Return the same rows without values."""
        return replace(self, rows=NeighbourRows(self.rows.offsets, self.rows.indices))

    def edges(self) -> tuple[Array, Array]:
        """Return the pairs of neighbours: owned vertices, and neighbours of greater number.

        With a direction, in a pair of a vertex and one in its row either may have the greater number.
        """
        rows = row_numbers(self.xp, self.rows.offsets, len(self.rows.indices))
        neighbours = self.rows.indices.astype(np.int64)
        if self.direction != "any":
            is_first = rows < self.owned
            return self.owners.number_at(rows[is_first]), neighbours[is_first]
        owners = self.owners.number_at(rows)
        paired = owners < neighbours
        return owners[paired], neighbours[paired]


@dataclass
class FetchedRows:
    """Rows that were read from their owners.

    Attributes
    ----------
    rows : NeighbourRows
        Row i is that of the i-th requested vertex.
    halo : Halo
    sizes : list of int
        Number of arcs received from each rank.
    answered : list of array of int64
        For each rank, the arcs of this rank's rows that were sent to it.
    arcs : array of int64, optional
        The place of each arc of the rows among those received; without it, the same.
    """

    rows: NeighbourRows
    halo: Halo
    sizes: list[int]
    answered: list[Array]
    arcs: Array | None = None

    def add_to_owners(self, values: Array, column: Array) -> None:
        """Add numbers by arc of the fetched rows to their owners' column by arc; collective.

        Parameters
        ----------
        values : array, shape (fetched arcs,)
        column : array, shape (owned arcs,)
            Modified in place.
        """
        bounds = np.cumsum([0, *self.sizes]).tolist()
        if self.arcs is not None:
            by_arc, values = values, module_of(values).empty_like(values)
            values[self.arcs] = by_arc
        received = self.halo.exchange([[values[low:high]] for low, high in pairwise(bounds)])
        for places, (numbers,) in zip(self.answered, received, strict=True):
            column[places] += numbers  # a rank asks for no row twice


def neighbourhoods(
    graph: Any,
    *,
    on_device: bool,
    weight: str | None = None,
    direction: Neighbours = "any",
    parallel: Parallel = "sum",
) -> Neighbourhoods:
    """Find the distinct neighbours of owned vertices; collective.

    Parameters
    ----------
    graph : Graph
        A graph, or a rank's shard of one.
    on_device : bool
        Whether to return the rows on the GPU.
    weight : str, optional
        An edge column whose values of parallel edges are folded.
    direction : {"any", "out", "in", "through"}
        Of the edges to the neighbours; an undirected graph has no directions.
    parallel : {"sum", "min", "max", "first"}
        How the values of parallel edges are folded, as float64.  "first" is the first one in the order of the
        frame; it needs a direction unless the graph is undirected.

    Returns
    -------
    Neighbourhoods
        Kept until the graph is closed unless it is divided among ranks; not to be modified.
    """
    if not graph.directed:
        direction = "any"
    if graph.comm.size > 1:
        return _find(graph, on_device, weight, direction, parallel)
    key = "neighbourhoods", on_device, weight, direction, parallel
    if key not in graph.derived:
        graph.derived[key] = _find(graph, on_device, weight, direction, parallel)
    near: Neighbourhoods = graph.derived[key]
    return near


def _find(
    graph: Any, on_device: bool, weight: str | None, direction: Neighbours, parallel: Parallel
) -> Neighbourhoods:
    """Find the distinct neighbours of owned vertices; collective."""
    if direction == "through":
        out, into = (_find(graph, on_device, weight, one, parallel) for one in ("out", "in"))
        both = joined(out.xp, out.rows, into.rows)
        return replace(out, rows=both, nbytes=out.nbytes + into.nbytes, direction=direction)
    part = Part(graph, on_device=on_device)
    vertices = graph.number_of_vertices
    rows: NeighbourRows | None = None
    if part.numbers_are_positions and not graph.directed and weight is None:
        rows = _without_repeats(part.csc)
    if rows is None:
        rows = _merged(part, weight, vertices, direction, parallel)
    arrays = [array for array in (rows.offsets, rows.indices, rows.values) if array is not None]
    nbytes = 0 if rows.indices is part.csc.indices else sum(int(array.nbytes) for array in arrays)
    return Neighbourhoods(
        part.halo, part.xp, part.owners, part.owned, vertices, rows, nbytes, direction
    )


def joined(xp: Any, first: NeighbourRows, second: NeighbourRows) -> NeighbourRows:
    """Return rows, then others."""
    return NeighbourRows(
        xp.concatenate([first.offsets, second.offsets[1:] + len(first.indices)]),
        xp.concatenate([first.indices, second.indices]),
        None if first.values is None else xp.concatenate([first.values, second.values]),
    )


def row_numbers(xp: Any, offsets: Array, count: int) -> Array:
    """Return the row of each entry of rows.

    Parameters
    ----------
    xp : module
    offsets : array of int64, shape (rows + 1,)
    count : int
        Number of entries.

    Returns
    -------
    array of int64, shape (count,)
    """
    if xp is np:
        return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return rows_by_marks(xp, offsets, count)


def rows_by_marks(xp: Any, offsets: Array, count: int) -> Array:
    """Return the same as `row_numbers`, by counting the rows that end at or before each entry."""
    return xp.cumsum(bin_counts(offsets[1:], count + 1)[:count])


def flattened(xp: Any, begins: Array, lengths: Array) -> tuple[Array, Array, Array]:
    """List the elements of ranges.

    Parameters
    ----------
    xp : module
    begins, lengths : array of int64, shape (ranges,)

    Returns
    -------
    offsets : array of int64, shape (ranges + 1,)
        Where each range begins in the list.
    which : array of int64
        The range of each element.
    elements : array of int64
    """
    offsets = xp.zeros(len(lengths) + 1, np.int64)
    offsets[1:] = xp.cumsum(lengths)
    places = xp.arange(int(offsets[-1]))
    which = row_numbers(xp, offsets, len(places))
    return offsets, which, xp.take(begins - offsets[:-1], which) + places


def batches(lengths: Array, most: int = ARCS_A_BATCH) -> list[tuple[int, int]]:
    """Split rows into ranges of at most `most` arcs, or of a single row.

    Parameters
    ----------
    lengths : array of int64, shape (rows,)
    most : int

    Returns
    -------
    list of (int, int)
        The same for an array on the GPU, of which only the bounds are read.
    """
    count, xp = len(lengths), module_of(lengths)
    if not count:
        return []
    ends = xp.cumsum(lengths)
    total, longest = as_host(xp.stack([ends[-1], lengths.max()])).tolist()
    if 2 * longest <= most:  # the rows that end within so many arcs have at most `most`
        step = most - longest
        cuts = as_host(xp.searchsorted(ends, xp.arange(step, total, step), side="right"))
        return list(pairwise(np.unique([0, *cuts.tolist(), count]).tolist()))
    ends, bounds, low = as_host(ends), [], 0
    while low < count:
        before = ends[low - 1] if low else 0
        high = max(low + 1, int(np.searchsorted(ends, before + most, side="right")))
        bounds.append((low, high))
        low = high
    return bounds


def _without_repeats(csc: Any) -> NeighbourRows:
    """Return the rows of an undirected graph on the host without repeats and self-loops."""
    offsets, indices = csc.offsets, csc.indices
    keep = np.ones(len(indices), np.bool_)
    keep[1:] = indices[1:] != indices[:-1]
    keep[offsets[:-1][np.diff(offsets) > 0]] = True  # the first of a row
    keep &= indices != csc.rows()
    if keep.all():
        return NeighbourRows(offsets, indices)
    before = np.concatenate([[0], np.cumsum(keep)])
    return NeighbourRows(before[offsets], indices[keep])


def _merged(
    part: Part, weight: str | None, vertices: int, direction: Neighbours, parallel: Parallel
) -> NeighbourRows:
    """Sort the arcs of both directions, or of one, and merge the parallel ones; collective."""
    xp, both = part.xp, part.graph.directed and direction == "any"
    owners, neighbours, values = _arcs(part, weight, direction)
    look()
    apart = owners != neighbours
    look()
    keys = part.owners.places(owners) * vertices + neighbours
    look()
    if both and weight is None:
        # The direction is the lowest bit, so a distinct key is left for each direction with an edge.
        keys = 2 * keys[apart]
        look()
        keys += values[apart]
        look()
        keys = _distinct(xp, keys) >> 1
        look()
        firsts = xp.flatnonzero(_differs_from_last(xp, keys))
        look()
        keys, merged = keys[firsts], xp.diff(firsts, append=len(keys)).astype(np.int8)
    elif weight is None:
        keys, merged = _distinct(xp, keys[apart]), None
    else:
        keys, merged = _folded(xp, keys[apart], values[apart].astype(np.float64), parallel)
    look()
    firsts = xp.arange(part.owned + 1) * vertices
    offsets = xp.searchsorted(keys, firsts).astype(np.int64)
    kind = np.int32 if vertices < NARROW else np.int64
    return NeighbourRows(offsets, (keys % max(vertices, 1)).astype(kind), merged)


def _folded(xp: Any, keys: Array, values: Array, parallel: Parallel) -> tuple[Array, Array]:
    """Return the distinct keys, ascending, and the fold of the values of each."""
    if parallel == "sum":
        keys, which = awaited(xp.unique, keys, return_inverse=True)
        return keys, bin_sums(which, values, len(keys))
    if parallel != "first":  # the first one of each key is then the least or the greatest
        order = awaited(xp.argsort, values if parallel == "min" else -values, kind="stable")
        keys, values = keys[order], values[order]
    order = awaited(xp.argsort, keys, kind="stable")
    keys = keys[order]
    firsts = xp.flatnonzero(_differs_from_last(xp, keys))
    return keys[firsts], values[order[firsts]]


def _distinct(xp: Any, keys: Array) -> Array:
    """Return the distinct keys, ascending; for many keys, several times faster than NumPy's `unique`."""
    keys = awaited(xp.sort, keys)
    look()
    return keys[_differs_from_last(xp, keys)]


def _differs_from_last(xp: Any, keys: Array) -> Array:
    """Return whether each key differs from the one before it; true for the first."""
    differs = xp.ones(len(keys), np.bool_)
    differs[1:] = keys[1:] != keys[:-1]
    return differs


def _arcs(part: Part, weight: str | None, direction: Neighbours) -> tuple[Array, Array, Array]:
    """List for owned vertices all arcs of a direction: owner, other end, and weight or direction."""
    xp, directed = part.xp, part.graph.directed
    owners, neighbours = _ends(part, part.csc)
    look()
    if weight is not None:
        values = part.arc_values(weight)
    else:
        values = xp.zeros(len(owners), np.int64)
    if not directed or direction == "in":
        return owners, neighbours, values
    if part.halo.alone:
        sources, heads = _ends(part, part.csr)
        reverse_values = (
            xp.ones(len(sources), np.int64) if weight is None else part.arc_values(weight, "csr")
        )
    else:  # an arc is stored only by the owner of its destination
        values_sent = xp.ones(len(owners), np.int64) if weight is None else values
        sources, heads, reverse_values = part.halo.send_to_owners(neighbours, owners, values_sent)
    if direction == "out":
        return sources, heads, reverse_values
    joined = []
    for column in ((owners, sources), (neighbours, heads), (values, reverse_values)):
        look()
        joined.append(xp.concatenate(column))
    return joined[0], joined[1], joined[2]


def _ends(part: Part, rows: Any) -> tuple[Array, Array]:
    """Return the vertex numbers of the rows and of the entries of rows of arcs."""
    xp = part.xp
    indices = rows.indices
    places = row_numbers(xp, rows.offsets, len(indices))
    look()
    if part.numbers_are_positions:
        return places.astype(np.int64, copy=False), indices.astype(np.int64)
    numbers = part.numbers
    return xp.take(numbers, places).astype(np.int64), xp.take(numbers, indices).astype(np.int64)
