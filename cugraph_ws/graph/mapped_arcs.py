"""A graph's arcs in mapped files: what is counted and read of edges that are in files too, and the rows made of them.

Vertices are in memory: ids, offsets, counts.  `sorted_files` groups and sorts the arcs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.graph.adjacency import Adjacency, cursor_dtype, lengths
from cugraph_ws.graph.arcs import Arcs, Order
from cugraph_ws.graph.duplicates import (
    PARALLEL_RANK,
    Policy,
    merge_parallel,
    parallel_ranks,
    repeats,
)
from cugraph_ws.graph.masks import chosen_rows
from cugraph_ws.graph.numbering import Numbered
from cugraph_ws.graph.sorted_files import Chunk, bounds_of, chunk_size, sorted_rows
from cugraph_ws.kernels.cpu.build import count_rows
from cugraph_ws.runtime.looks import look
from cugraph_ws.runtime.mapped_files import FileFolder, MappedFile
from cugraph_ws.runtime.threads import cut_evenly, number_of_threads, parallel

__all__ = ["MappedArcs", "MappedEdges"]

Array = npt.NDArray[Any]
# Given some rows, their values by name and their marks, returns other rows of the same vertices and their values
Change = Callable[
    [Adjacency, dict[str, Array], npt.NDArray[np.bool_]], tuple[Adjacency, dict[str, Array]]
]


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
        self._limit = limit - numbered.table.nbytes
        self._chunk = chunk_size(self._limit)
        self._both, self._drop_loops = both, drop_loops
        self._rows = len(numbered.columns[0])
        self.loops, self.first_loop = 0, -1
        self._in_degrees = self._counted(numbered.numbering.size)
        self.number_of_edges = self._rows - (self.loops if drop_loops else 0)

    def _counted(self, vertices: int) -> npt.NDArray[np.int64]:
        """Count the arcs of each row, and the self-loops."""
        kind = cursor_dtype(self._rows * (2 if self._both else 1))
        threads = min(number_of_threads(), self._limit // (4 * kind.itemsize * (vertices + 1)))
        pieces = cut_evenly(self._rows, max(1, threads))
        counts = np.zeros((max(1, len(pieces)), vertices), kind)
        tasks = [(count, *piece) for count, piece in zip(counts, pieces, strict=False)]
        for loops, first in parallel(self._count, tasks):
            self.first_loop = first if not self.loops else self.first_loop
            self.loops += loops
        return np.asarray(counts.sum(axis=0, dtype=np.int64))

    def _count(self, counts: Array, low: int, high: int) -> tuple[int, int]:
        """Count the arcs of the edges from `low` to `high` - 1; return their self-loops, and the first one."""
        numbered, loops, first_loop = self._numbered, 0, -1
        sources, destinations = numbered.columns[:2]
        for first in range(low, high, self._chunk):
            look()
            last = min(first + self._chunk, high)
            count_rows(
                destinations, sources, numbered.low, numbered.table, self._both, counts, first, last
            )
            found = np.flatnonzero(sources[first:last] == destinations[first:last])
            if len(found):
                first_loop = first_loop if loops else first + int(found[0])
                loops += len(found)
                if self._drop_loops:
                    np.subtract.at(counts, numbered.numbers(0, first, last)[found], 1)
        return loops, first_loop

    def source(self, row: int) -> int:
        """Return the vertex number of a row's source."""
        return int(self._numbered.numbers(0, row, row + 1)[0])

    def _chunks(self) -> Iterator[Chunk]:
        numbered = self._numbered
        for low in range(0, self._rows, self._chunk):
            some = slice(low, min(low + self._chunk, self._rows))
            yield Chunk(
                numbered.columns[1][some],
                numbered.columns[0][some],
                [column[some] for column in self._values.values()],
                numbered.low,
                numbered.table,
                self._both,
                self._drop_loops,
            )

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
        step = chunk_size(self._limit)
        for low in range(0, self.number_of_arcs, step):
            part = slice(low, min(low + step, self.number_of_arcs))
            yield Chunk(
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

    def repeated(self) -> npt.NDArray[np.bool_]:
        """Mark the arcs of the CSC that repeat the one before, in a file."""
        file = MappedFile(self._folder, np.bool_)
        for _, _, part in self._parts(self.csc):
            file.append(repeats(part))
        return file.mapped()

    def count(self, marked: npt.NDArray[np.bool_]) -> int:
        """Count the edges among marked arcs of the CSC."""
        parts = self._parts(self.csc)
        return sum(self._count(rows, part, marked[arcs]) for rows, arcs, part in parts)

    def count_repeated(self) -> int:
        """Count the edges after the first between the same two vertices."""
        parts = self._parts(self.csc)
        return sum(self._count(rows, part, repeats(part)) for rows, _, part in parts)

    def _count(self, rows: slice, part: Adjacency, marked: npt.NDArray[np.bool_]) -> int:
        """Count the edges among marked arcs of some rows."""
        if not self._directed:  # one arc of each edge, from the smaller vertex
            marked = marked & (part.indices <= part.rows() + rows.start)
        return int(np.count_nonzero(marked))

    def count_listed(self, keep: Any, among: Any) -> int:
        """Count the edges that `listed` lists."""
        return sum(int(np.count_nonzero(marks)) for _, _, _, marks in self._marked(keep, among))

    def listed(
        self, names: Sequence[str], keep: Any, among: Any
    ) -> tuple[Array, Array, dict[str, Array]]:
        """List edges; see `Graph.edge_frame`.  Nothing else is in memory."""
        columns = [self.values(name, "csc") for name in names]
        index = self.csc.indices.dtype
        lists: list[list[Array]] = [
            [np.empty(0, dtype)] for dtype in (index, index, *(column.dtype for column in columns))
        ]
        for rows, arcs, part, marks in self._marked(keep, among):
            ends = (part.indices, part.rows() + index.type(rows.start))
            for pieces, array in zip(
                lists, (*ends, *(column[arcs] for column in columns)), strict=True
            ):
                pieces.append(array[marks])
        joined = []
        while lists:  # each is free before the next is joined
            joined.append(np.concatenate(lists.pop(0)))
        sources, destinations, *values = joined
        return sources, destinations, dict(zip(names, values, strict=True))

    def _marked(
        self, keep: Any, among: Any
    ) -> Iterator[tuple[slice, slice, Adjacency, npt.NDArray[np.bool_]]]:
        """Yield what `_parts` does of the CSC, and which of the arcs are edges to list."""
        for rows, arcs, part in self._parts(self.csc):
            marks = np.ones(part.number_of_arcs, np.bool_)
            if not self._directed:
                marks &= part.indices <= part.rows() + rows.start
            if keep is not None:
                marks &= keep[arcs]
            if among is not None:
                marks &= among[part.indices] & np.repeat(among[rows], part.degrees)
            yield rows, arcs, part, marks

    def merge(self, policy: Policy, repeated: npt.NDArray[np.bool_]) -> None:
        """Merge parallel arcs, into files; only the CSC may have been made before."""
        with self._lock:
            self._csc, merged = self._rewritten(
                self.csc,
                {name: self.values(name, "csc") for name in self.names},
                lambda part, values, marks: merge_parallel(part, values, policy, marks),
                repeated,
            )
            self._both_ways = 0
            self._ranks = {}
            self._values = {(name, "csc"): array for name, array in merged.items()}
            self._out_degrees = self._starts = None

    def chosen_of(
        self, rows: Adjacency, values: dict[str, Array], mask: npt.NDArray[np.bool_]
    ) -> MappedArcs:
        """Return the arcs that `mask` marks, in files of their own."""
        chosen, kept = self._rewritten(
            rows,
            values,
            lambda part, values, marks: (
                chosen_rows(part, marks),
                {name: array[marks] for name, array in values.items()},
            ),
            mask,
        )
        return MappedArcs(
            chosen,
            kept,
            both_ways=0,
            directed=self._directed,
            folder=self._folder,
            limit=self._limit,
        )

    def _rewritten(
        self,
        adjacency: Adjacency,
        columns: dict[str, Array],
        change: Change,
        marks: npt.NDArray[np.bool_],
    ) -> tuple[Adjacency, dict[str, Array]]:
        """Write what `change` makes of ranges of rows, their values and their marks; return all rows of it."""
        needed = adjacency.indices.nbytes + sum(array.nbytes for array in columns.values())
        self._folder.reserve(needed)
        indices, files = MappedFile(self._folder, adjacency.indices.dtype), {}
        offsets = np.zeros_like(adjacency.offsets)
        for rows, arcs, part in self._parts(adjacency):
            look()
            values = {name: array[arcs] for name, array in columns.items()}
            changed, values = change(part, values, marks[arcs])
            offsets[rows.start + 1 : rows.stop + 1] = changed.degrees
            indices.append(changed.indices)
            for name, array in values.items():
                if name not in files:
                    files[name] = MappedFile(self._folder, array.dtype)
                files[name].append(array)
        np.cumsum(offsets, out=offsets)
        written = {name: file.mapped() for name, file in files.items()}
        return Adjacency(offsets, indices.mapped(), mapped=True), columns | written

    def _parts(self, adjacency: Adjacency) -> Iterator[tuple[slice, slice, Adjacency]]:
        """Yield ranges of rows, their arcs, and these rows as an adjacency of their own."""
        offsets = adjacency.offsets
        bounds = bounds_of(offsets, chunk_size(self._limit))
        for low, high in pairwise(bounds):
            arcs = slice(int(offsets[low]), int(offsets[high]))
            part = Adjacency(offsets[low : high + 1] - arcs.start, adjacency.indices[arcs])
            yield slice(low, high), arcs, part
