"""A graph's arcs in mapped files: grouped and sorted in parts that fit in memory.

Vertices are in memory: ids, offsets, counts.  Arcs are distributed to ranges of rows by one pass, in which
every range has its place in a file.  Then each range is grouped and sorted like a graph in memory, and
appended to the result.  The order is that of a build in memory, so results are the same bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.errors import GraphMemoryError
from cugraph_ws.graph.adjacency import Adjacency, EdgeList, cursor_dtype, index_dtype, lengths
from cugraph_ws.graph.arcs import Arcs, Order
from cugraph_ws.graph.duplicates import PARALLEL_RANK, parallel_ranks, repeats
from cugraph_ws.graph.numbering import Numbered
from cugraph_ws.kernels.cpu.build import count_rows, strip_marks
from cugraph_ws.runtime.looks import look
from cugraph_ws.runtime.mapped_files import FileFolder, MappedFile
from cugraph_ws.runtime.memory import format_bytes

__all__ = ["Chunk", "MappedArcs", "MappedEdges", "bytes_by_vertex", "sorted_rows"]

Array = npt.NDArray[Any]
# Some arcs: their rows, ~row if the edge was given in the other direction; their neighbours; their values
Chunk = tuple[Array, Array, list[Array]]
Chunks = Callable[[], Iterator[Chunk]]

LEAST, MOST = 1 << 12, 1 << 17  # arcs that are read at a time
ARC = 1024  # bytes of the limit for each of them
_NO_TABLE = np.empty(0, np.int32)


def _chunk(limit: int) -> int:
    """Return how many arcs are read at a time."""
    return max(LEAST, min(limit // ARC, MOST))


def bytes_by_vertex(vertices: int, arcs: int) -> int:
    """Return the bytes in memory while arcs are sorted, without those of a range of rows.

    Offsets, the range of each row, counts of both directions, and in a range: counts, cursors and offsets.
    """
    return vertices * (8 + 2 + 16 + 8 + 3 * cursor_dtype(arcs).itemsize)


class MappedEdges:
    """Edges that are read in chunks, from columns that may be mapped.

    Parameters
    ----------
    numbered : Numbered
        The columns of sources and destinations.
    values : dict of str to ndarray, shape (edges,)
        The edge columns that the graph keeps.
    both : bool
        Whether every edge is also an arc in the other direction, which is marked.
    drop_loops : bool
        Whether self-loops are left out.
    limit : int
        Bytes of memory to take.

    Attributes
    ----------
    number_of_edges, loops, first_loop : int
        Edges that are kept; self-loops, kept or not; the row of the first self-loop.
    """

    def __init__(
        self,
        numbered: Numbered,
        values: dict[str, Array],
        *,
        both: bool,
        drop_loops: bool,
        limit: int,
    ) -> None:
        self._numbered, self._values = numbered, values
        self._limit, self._chunk = limit - numbered.table.nbytes, _chunk(limit)
        self._both, self._drop_loops = both, drop_loops
        self._index = index_dtype(numbered.numbering.size)
        self._rows = len(numbered.columns[0])
        self._in_degrees = np.zeros(numbered.numbering.size, np.int64)
        self.loops, self.first_loop = 0, -1
        for low in range(0, self._rows, self._chunk):
            look()
            self._count(low)
        self.number_of_edges = self._rows - (self.loops if drop_loops else 0)

    def _count(self, low: int) -> None:
        """Count the arcs and self-loops of a chunk."""
        sources, destinations, columns = self._ends(low)
        is_loop = sources == destinations
        if found := int(np.count_nonzero(is_loop)):
            self.first_loop = low + int(is_loop.argmax()) if not self.loops else self.first_loop
            self.loops += found
        rows, _, _ = self._arcs_of(sources, destinations, columns)
        count_rows(rows, rows, 0, _NO_TABLE, False, self._in_degrees, 0, len(rows))

    def source(self, row: int) -> int:
        """Return the vertex number of a row's source."""
        return int(self._numbered.numbers(0, row, row + 1)[0])

    def _ends(self, low: int) -> tuple[Array, Array, list[Array]]:
        """Return sources, destinations and values of the chunk from row `low` on."""
        high = min(low + self._chunk, self._rows)
        sources, destinations = (
            self._numbered.numbers(end, low, high).astype(self._index, copy=False) for end in (0, 1)
        )
        return sources, destinations, [column[low:high] for column in self._values.values()]

    def _arcs_of(self, sources: Array, destinations: Array, columns: list[Array]) -> Chunk:
        """Return the arcs of a chunk's edges, in the order in which a build in memory places them."""
        if self._drop_loops and (is_loop := sources == destinations).any():
            columns = [column[~is_loop] for column in columns]
            sources, destinations = sources[~is_loop], destinations[~is_loop]
        if not self._both:
            return destinations, sources, columns
        rows = np.stack([destinations, ~sources], axis=1).ravel()
        neighbours = np.stack([sources, destinations], axis=1).ravel()
        columns = [np.repeat(column, 2) for column in columns]
        again = np.flatnonzero(sources == destinations) * 2 + 1  # a self-loop is one arc
        if len(again):
            rows, neighbours = np.delete(rows, again), np.delete(neighbours, again)
            columns = [np.delete(column, again) for column in columns]
        return rows, neighbours, columns

    def _chunks(self) -> Iterator[Chunk]:
        for low in range(0, self._rows, self._chunk):
            yield self._arcs_of(*self._ends(low))

    def arcs(self, folder: FileFolder) -> MappedArcs:
        """Write the arcs to files in a folder, grouped by destination."""
        csc, placed, both_ways = sorted_rows(
            self._chunks,
            self._in_degrees,
            [column.dtype for column in self._values.values()],
            marked=self._both,
            folder=folder,
            limit=self._limit,
        )
        return MappedArcs(
            csc,
            dict(zip(self._values, placed, strict=True)),
            both_ways=both_ways,
            directed=not self._both,
            folder=folder,
            limit=self._limit,
        )


def sorted_rows(
    chunks: Chunks,
    counts: npt.NDArray[np.int64],
    dtypes: Sequence[npt.DTypeLike],
    *,
    marked: bool,
    folder: FileFolder,
    limit: int,
) -> tuple[Adjacency, list[Array], int]:
    """Group arcs by row, with neighbours ascending and parallel arcs in the order of the chunks.

    Parameters
    ----------
    chunks : callable
        Yields all arcs in their order.
    counts : ndarray of int64, shape (vertices,)
        Arcs of each row.
    dtypes : sequence of dtype
        Of the values of an arc.
    marked : bool
        Whether rows may be marked.
    folder : FileFolder
    limit : int
        Bytes of memory to take.

    Returns
    -------
    rows : Adjacency
        Its indices are mapped.
    values : list of ndarray, shape (arcs,)
        Mapped.
    both_ways : int
        Pairs of vertices with edges that were given in both directions, if rows were marked.

    Raises
    ------
    GraphMemoryError
        If the longest row does not fit in the limit.
    FileError
        If the folder has too little space.
    """
    vertices = len(counts)
    offsets = np.zeros(vertices + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    arcs, index = int(offsets[-1]), index_dtype(vertices)
    width = sum(np.dtype(dtype).itemsize for dtype in dtypes)
    folder.reserve(arcs * (3 * index.itemsize + 2 * width))
    room = (limit - bytes_by_vertex(vertices, arcs)) // 2
    most = room // (2 * (index.itemsize + width))
    longest = int(counts.max(initial=0))
    if most < max(longest, min(arcs, LEAST)):
        needed = limit + 4 * (index.itemsize + width) * (max(longest, LEAST) - most)
        raise GraphMemoryError(
            f"memory_limit: {vertices:,} vertices and a row of {longest:,} arcs need {format_bytes(needed)} in "
            f"memory while arcs are sorted on disk, and {format_bytes(limit)} are allowed; allow more, or leave "
            "out weight= and attributes="
        )
    bounds = _bounds(offsets, most)
    places = _distributed(chunks, offsets, bounds, [index, index, *dtypes], folder)
    out = [MappedFile(folder, dtype) for dtype in (index, *dtypes)]
    both_ways = 0
    for low, high in pairwise(bounds):
        look()
        part = slice(int(offsets[low]), int(offsets[high]))
        rows, neighbours, *values = (array[part] for array in places)
        base, placed = EdgeList(neighbours, rows, 0, _NO_TABLE, vertices).rows_of_sources(
            values, both=False
        )
        sorted_part, moved = base.transpose(*placed)
        del base, placed
        if marked:
            both_ways += strip_marks(offsets - offsets[low], sorted_part.indices, low, high)
        for file, array in zip(out, (sorted_part.indices, *moved), strict=True):
            file.append(array)
    indices, *values = (file.mapped() for file in out)
    return Adjacency(offsets, indices, mapped=True), values, both_ways


def _bounds(offsets: npt.NDArray[np.int64], most: int) -> list[int]:
    """Return the first rows of ranges of at most `most` arcs, and the number of rows."""
    bounds, rows = [0], len(offsets) - 1
    while bounds[-1] < rows:
        first = bounds[-1]
        last = int(np.searchsorted(offsets, offsets[first] + most, side="right")) - 1
        bounds.append(min(max(last, first + 1), rows))
    return bounds


def _distributed(
    chunks: Chunks,
    offsets: npt.NDArray[np.int64],
    bounds: list[int],
    dtypes: Sequence[npt.DTypeLike],
    folder: FileFolder,
) -> list[Array]:
    """Return rows within their range, neighbours and values of arcs, range after range, mapped."""
    files = [MappedFile(folder, dtype) for dtype in dtypes]
    starts = np.array(bounds[:-1], np.int64)
    range_of = np.repeat(
        np.arange(len(starts)).astype(np.uint16 if len(starts) <= 1 << 16 else np.int64),
        np.diff(bounds),
    )
    filled = offsets[starts]
    for rows, neighbours, values in chunks():
        look()
        signs = rows >> (8 * rows.itemsize - 1)
        ranges = range_of[rows ^ signs]
        inside = ((rows ^ signs) - starts[ranges]) ^ signs
        order = np.argsort(ranges, kind="stable")
        ends = np.cumsum(np.bincount(ranges, minlength=len(starts)))
        columns = [column[order] for column in (inside, neighbours, *values)]
        first = 0
        for place in range(len(starts)):
            last = int(ends[place])
            if last > first:
                for file, column in zip(files, columns, strict=True):
                    file.write(int(filled[place]), column[first:last])
                filled[place] += last - first
            first = last
    return [file.mapped() for file in files]


class MappedArcs(Arcs):
    """The edges of a graph in mapped files; see `Arcs`.

    Parameters
    ----------
    csc : Adjacency
    values : dict of str to ndarray, shape (arcs,)
        The edge columns, in its order.
    both_ways : int
        Pairs of vertices with edges that were given in both directions.
    directed : bool
    folder : FileFolder
        Where the CSR and its edge columns are written when they are first needed.
    limit : int
        Bytes of memory to take for it.
    """

    def __init__(
        self,
        csc: Adjacency,
        values: dict[str, Array],
        *,
        both_ways: int,
        directed: bool,
        folder: FileFolder,
        limit: int,
    ) -> None:
        super().__init__(csc, {}, directed=directed)
        self._base, self._csc = None, csc
        self._values = {(name, "csc"): array for name, array in values.items()}
        self._both_ways = both_ways
        self._folder, self._limit = folder, limit

    @property
    def mapped_bytes(self) -> int:
        """Bytes of the arcs in mapped files."""
        made = [adjacency for adjacency in (self._csc, self._csr) if adjacency is not None]
        columns = sum(array.nbytes for array in (*self._values.values(), *self._ranks.values()))
        return sum(adjacency.indices.nbytes for adjacency in made) + columns

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return super().nbytes - self.mapped_bytes

    @property
    def has_csr(self) -> bool:
        """Whether the CSR takes no memory of a run: True, since it is written to a file."""
        return True

    @property
    def csr(self) -> Adjacency:
        """Out-neighbours of every vertex; for an undirected graph, the CSC itself."""
        with self._lock:
            if not self._directed:
                return self.csc
            if self._csr is None:
                names = [name for name, order in self._values if order == "csc"]
                columns = [self._values[name, "csc"] for name in names]
                self._csr, moved, _ = sorted_rows(
                    lambda: self._turned(columns),
                    self.out_degrees,
                    [column.dtype for column in columns],
                    marked=False,
                    folder=self._folder,
                    limit=self._limit,
                )
                for name, values in zip(names, moved, strict=True):
                    self._values[name, "csr"] = values
            return self._csr

    def values(self, name: str, order: Order) -> Array:
        """Return an edge column in an adjacency's order, or `PARALLEL_RANK`, made when first read."""
        if name == PARALLEL_RANK:
            return super().values(name, order)
        with self._lock:
            if order == "csr" and self._directed:
                _ = self.csr  # its edge columns are written with it
                return self._values[name, "csr"]
            return self._values[name, "csc"]

    def _parallel_ranks(self, adjacency: Adjacency) -> Array:
        """Return the rank of each arc among parallel ones, in a file."""
        file = MappedFile(self._folder, np.int64)
        for _, _, part in self._parts(adjacency):
            file.append(parallel_ranks(part))
        return file.mapped()

    def _turned(self, columns: Sequence[Array]) -> Iterator[Chunk]:
        """Yield the arcs of the CSC with their sources as rows."""
        step = _chunk(self._limit)
        for low in range(0, self.number_of_arcs, step):
            part = slice(low, min(low + step, self.number_of_arcs))
            yield (
                self.csc.indices[part],
                self._rows(part.start, part.stop),
                [column[part] for column in columns],
            )

    def _rows(self, low: int, high: int) -> Array:
        """Return the rows of the arcs from `low` to `high` - 1 of the CSC."""
        offsets = self.csc.offsets
        first = int(np.searchsorted(offsets, low, side="right")) - 1
        last = int(np.searchsorted(offsets, high, side="left"))
        degrees = lengths(np.clip(offsets[first : last + 1], low, high))
        return np.repeat(np.arange(first, last, dtype=self.csc.indices.dtype), degrees)

    def weight_sums(self, name: str, *, incoming: bool) -> npt.NDArray[np.float64]:
        """Sum an edge column over the arcs into or out of every vertex; may overflow."""
        adjacency = self.csc if incoming else self.csr
        weights = self.values(name, "csc" if incoming else "csr")
        sums = np.zeros(len(adjacency.offsets) - 1)
        for rows, arcs, part in self._parts(adjacency):
            filled = np.flatnonzero(part.degrees)
            if len(filled):
                with np.errstate(over="ignore"):
                    sums[rows][filled] = np.add.reduceat(
                        weights[arcs].astype(np.float64), part.offsets[filled]
                    )
        return sums

    def count_repeated(self) -> int:
        """Count the edges after the first between the same two vertices."""
        count = 0
        for rows, _, part in self._parts(self.csc):
            marked = repeats(part)
            if not self._directed:  # one arc of each edge, from the smaller vertex
                marked &= part.indices <= part.rows() + rows.start
            count += int(np.count_nonzero(marked))
        return count

    def _parts(self, adjacency: Adjacency) -> Iterator[tuple[slice, slice, Adjacency]]:
        """Yield ranges of rows, their arcs, and these rows as an adjacency of their own."""
        offsets = adjacency.offsets
        bounds = _bounds(offsets, _chunk(self._limit))
        for low, high in pairwise(bounds):
            arcs = slice(int(offsets[low]), int(offsets[high]))
            part = Adjacency(offsets[low : high + 1] - arcs.start, adjacency.indices[arcs])
            yield slice(low, high), arcs, part
