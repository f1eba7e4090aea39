"""Arcs grouped by row in mapped files, with ranges of rows that fit in memory one after the other.

One pass distributes the arcs to ranges of rows, each of which has its place in a file, since the lengths of rows
are known.  Then each range is sorted in memory and written where it belongs.  The order is that of a build in
memory, so results are the same bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cugraph_ws.errors import GraphMemoryError
from cugraph_ws.graph.adjacency import Adjacency, cursor_dtype, index_dtype
from cugraph_ws.kernels.cpu.build import strip_marks
from cugraph_ws.kernels.cpu.ranges import group_by_range, sort_range
from cugraph_ws.runtime.mapped_files import FileFolder, MappedFile
from cugraph_ws.runtime.memory import format_bytes
from cugraph_ws.runtime.threads import number_of_threads, parallel, threads_at_most

__all__ = ["Chunk", "bounds_of", "bytes_by_vertex", "chunk_size", "sorted_rows"]

Array = npt.NDArray[Any]

LEAST, MOST = 1 << 12, 1 << 17  # arcs that are read at a time
ARC = 512  # bytes of the limit for each of them
DIGIT = 11  # most bits of a digit by which arcs are sorted: their buckets stay in a core's cache
_NO_TABLE = np.empty(0, np.int32)


class Chunk(NamedTuple):
    """Some edges: the ids of their rows and of their neighbours, their values, and how they become arcs.

    Attributes
    ----------
    rows, neighbours : ndarray of int, shape (edges,)
    values : list of ndarray, shape (edges,)
    low, table
        The mapping from ids to vertex numbers; see `EdgeList`.
    both : bool
        Whether every edge is also an arc in the other direction, which is marked.
    drop_loops : bool
    """

    rows: Array
    neighbours: Array
    values: list[Array]
    low: int = 0
    table: Array = _NO_TABLE
    both: bool = False
    drop_loops: bool = False


def chunk_size(limit: int) -> int:
    """Return how many arcs are read at a time."""
    return max(LEAST, min(limit // ARC, MOST))


def bytes_by_vertex(vertices: int, arcs: int) -> int:
    """Return the bytes in memory while arcs are sorted, without those of a range of rows.

    Offsets, the range of each row, counts of both directions, and cursors of the ranges.
    """
    return vertices * (8 + 2 + 16 + 8 + cursor_dtype(arcs).itemsize)


def bounds_of(offsets: npt.NDArray[np.int64], most: int) -> list[int]:
    """Return the first rows of ranges of at most `most` arcs, and the number of rows."""
    bounds, rows = [0], len(offsets) - 1
    while bounds[-1] < rows:
        first = bounds[-1]
        last = int(np.searchsorted(offsets, offsets[first] + most, side="right")) - 1
        bounds.append(min(max(last, first + 1), rows))
    return bounds


def sorted_rows(
    chunks: Callable[[], Iterator[Chunk]],
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
        Yields all edges in their order.
    counts : ndarray of int64, shape (vertices,)
        Arcs of each row.
    dtypes : sequence of dtype
        Of the values of an arc.
    marked : bool
        Whether arcs may be marked.
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
        Pairs of vertices with edges that were given in both directions, if arcs were marked.

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
    most, at_once = _ranges(counts, arcs, index.itemsize, width, limit)
    bounds = bounds_of(offsets, most)
    types = [index, *(np.dtype(dtype) for dtype in dtypes)]
    with threads_at_most(at_once):
        places = _distributed(chunks(), offsets, bounds, [index, *types], folder)
        out = [MappedFile(folder, dtype) for dtype in types]
        task = (places, offsets, out, marked)
        both_ways = parallel(_sort, [(*task, low, high) for low, high in pairwise(bounds)])
    indices, *values = (file.mapped() for file in out)
    return Adjacency(offsets, indices, mapped=True), values, sum(both_ways)


def _ranges(
    counts: npt.NDArray[np.int64], arcs: int, index: int, width: int, limit: int
) -> tuple[int, int]:
    """Return the most arcs of a range, and how many ranges are sorted at once; refuse a row that is too long."""
    room = (limit - bytes_by_vertex(len(counts), arcs)) // 2
    arc = 4 * index + (2 * cursor_dtype(arcs).itemsize + width if width else 0)
    longest = max(int(counts.max(initial=0)), min(arcs, LEAST))
    if room < arc * longest:
        needed = limit + 2 * (arc * longest - room)
        raise GraphMemoryError(
            f"memory_limit: {len(counts):,} vertices and a row of {counts.max():,} arcs need "
            f"{format_bytes(needed)} in memory while arcs are sorted on disk, and {format_bytes(limit)} are "
            "allowed; allow more, or leave out weight= and attributes="
        )
    at_once = max(1, min(number_of_threads(), room // (arc * max(longest, 1))))
    return max(1, room // (arc * at_once)), at_once


def _distributed(
    chunks: Iterator[Chunk],
    offsets: npt.NDArray[np.int64],
    bounds: list[int],
    dtypes: Sequence[np.dtype[Any]],
    folder: FileFolder,
) -> list[Array]:
    """Return rows, neighbours and values of arcs, range after range, mapped."""
    files = [MappedFile(folder, dtype) for dtype in dtypes]
    starts = offsets[bounds[:-1]]
    numbers = np.arange(len(starts), dtype=np.uint16 if len(starts) < 1 << 16 else np.int64)
    range_of = np.repeat(numbers, np.diff(bounds))
    while some := list(islice(chunks, number_of_threads())):
        grouped = parallel(_grouped, [(chunk, range_of, len(starts), dtypes[0]) for chunk in some])
        tasks = []
        for ends, columns in grouped:
            tasks.append((files, starts.copy(), ends, columns))
            starts += np.diff(ends, prepend=0)
        parallel(_write, tasks)
    return [file.mapped() for file in files]


def _grouped(
    chunk: Chunk, range_of: Array, ranges: int, index: np.dtype[Any]
) -> tuple[npt.NDArray[np.int64], list[Array]]:
    """Return where each range's arcs end, and rows, neighbours and values of a chunk's arcs by range."""
    places = len(chunk.rows) * (2 if chunk.both else 1)
    rows, neighbours = np.empty((2, places), index)
    edges = np.empty(places if chunk.values else 0, np.int32)
    ends = np.zeros(ranges + 1, np.int64)
    group_by_range(
        chunk.rows, chunk.neighbours, chunk.low, chunk.table, chunk.both, chunk.drop_loops,
        range_of, np.empty(places, range_of.dtype), ends, rows, neighbours, edges,
    )  # fmt: skip
    ends = ends[:-1]  # behind them is what is no arc
    edges = edges[: ends[-1]] if ranges else edges
    return ends, [rows, neighbours, *(values[edges] for values in chunk.values)]


def _write(
    files: list[MappedFile],
    starts: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    columns: list[Array],
) -> None:
    """Write each range's arcs from its start on."""
    first = 0
    for start, last in zip(starts.tolist(), ends.tolist(), strict=True):
        if last > first:
            for file, column in zip(files, columns, strict=True):
                file.write(start, column[first:last])
        first = last


def _sort(
    places: list[Array],
    offsets: npt.NDArray[np.int64],
    out: list[MappedFile],
    marked: bool,
    low: int,
    high: int,
) -> int:
    """Sort the rows from `low` to `high` - 1 and write them; return pairs with edges in both directions."""
    start, last = int(offsets[low]), int(offsets[high])
    rows, neighbours, *values = (array[start:last] for array in places)
    bits = max(1, (len(offsets) - 2).bit_length())
    passes = -(-bits // DIGIT)
    spare = np.empty((2, 2, last - start), rows.dtype)
    order = np.empty((2, last - start if values else 0), cursor_dtype(last - start))
    cursors = offsets[low:high] - start
    which = sort_range(
        rows, neighbours, low, cursors, passes, -(-bits // passes), spare[0], spare[1], order
    )
    indices = spare[1, which]
    both_ways = strip_marks(offsets, indices, start, low, high) if marked else 0
    for file, column in zip(
        out, (indices, *(array[order[which]] for array in values)), strict=True
    ):
        file.write(start, column)
    return int(both_ways)
