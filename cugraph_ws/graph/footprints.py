"""What a graph takes while it is built on the CPU, by formulas; and the sizes that runs' memory depends on.

All are bytes, without the input.  E edges, A arcs (2 E for an undirected graph), n vertices; i
bytes per vertex number (4; 8 above 2³¹), v bytes of values per arc; K bytes of ids kept; C bytes
of the numbers that replace the columns of ids until the edges are placed; c bytes per cursor (4; 8
above 2³¹ arcs); x bytes of the cursors of all threads but one, at most 2 A.

    step                          takes
    numbering by a range          per integer of the range, a byte for each thread; i more with gaps
    numbering by hashing          C = 8 E; the distinct values so far, and a table of 6 to 12 n
      integers are sorted         C + 16 n: ids, codes and ranks
      text of b bytes in all      C + 18 n + 1.5 b: it is put in order in four turns
    edges placed by source        K + C + c n + i A + v A + x
      if C is own and v = 0       K + 8.25 E + c n + x: columns shrink as rows fill
    transposition to the CSC      K + c n + 8 n + 2 (i A + v A) + x

Scattering values takes a copy of one thread's cursors as well, c n.  After hashing, allocators hold 3 MiB more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from cugraph_ws.errors import GraphMemoryError
from cugraph_ws.graph.adjacency import TURNS, cursor_dtype, index_dtype, pieces_of
from cugraph_ws.graph.interning import BLOCK, IdShape, count_distinct, table_slots
from cugraph_ws.graph.numbering import count_in_range
from cugraph_ws.runtime.dispatch import provider
from cugraph_ws.runtime.memory import available_memory, format_bytes
from cugraph_ws.runtime.threads import number_of_threads

__all__ = [
    "IN_MEMORY",
    "LISTED",
    "ON_DISK",
    "Build",
    "Bytes",
    "IdShape",
    "MemoryEstimate",
    "Numbers",
    "OnGpu",
    "Row",
    "Sizes",
    "check_memory",
    "estimate_build",
    "estimate_of_build",
    "shape_of_ids",
]

IN_MEMORY = "leave out weight= and attributes=, release the input with consume=True, or use a larger machine"
ON_DISK = "vertices are in memory also with placement='disk': allow more by memory_limit=, or use a larger machine"
_OFFSET = 8
_A_ROW = 40  # bytes of temporaries per row of a hashed block
LISTED = 1 << 20  # most arcs that a GPU lists at a time; see `algorithms/neighbourhood.py`
_HELD = 3 << 20  # bytes that allocators hold after hashing, beyond the arrays, as measured


@dataclass(frozen=True)
class Numbers:
    """Memory that numbering takes.

    Attributes
    ----------
    kept : int
        Bytes of the ids that the graph keeps.
    columns : int
        Bytes that replace the columns of ids until edges are placed, including tables.
    peak : int
        Maximum while ids are numbered.
    own : bool
        Whether the columns may be freed while edges are placed.
    """

    kept: int
    columns: int
    peak: int
    own: bool


@dataclass(frozen=True)
class Build:
    """Memory that a build takes: what is kept, and the maximum until the CSC is complete.

    Attributes
    ----------
    ids, adjacency, values, peak : int
        Bytes.
    """

    ids: int
    adjacency: int
    values: int
    peak: int


def estimate_build(
    edges: int,
    vertices: int,
    ids: Sequence[IdShape],
    *,
    both: bool,
    value_bytes: int = 0,
    copied_values: int = 0,
) -> Build:
    """Estimate the memory of a build on the CPU.

    Parameters
    ----------
    edges, vertices : int
    ids : sequence of IdShape
        One for each column of the id; empty if the ids are unknown.
    both : bool
        Whether every edge is stored in both directions.
    value_bytes : int
        Bytes per edge of all edge columns that are kept.
    copied_values : int
        Bytes of edge columns that are converted before they are placed.

    Returns
    -------
    Build
    """
    numbers = _number(edges, vertices, ids)
    arcs = edges * (2 if both else 1)
    index = index_dtype(vertices).itemsize
    offsets = _OFFSET * (vertices + 1)
    adjacency = offsets + index * arcs
    values = value_bytes * arcs
    cursors = cursor_dtype(arcs).itemsize * (vertices + 1)
    again = cursors if values else 0
    further = [cursors * (pieces_of(rows, vertices) - 1) for rows in (edges, arcs)]
    if numbers.own and not both and not values:
        placing = numbers.columns + int(index * arcs * TURNS[0]) + cursors
    else:
        placing = numbers.columns + cursors + index * arcs + values + again + copied_values
    turned = max(cursors + again + further[1], offsets)
    turning = cursors + turned + 2 * (index * arcs + values)
    peak = max(numbers.peak, numbers.kept + placing + further[0], numbers.kept + turning)
    if numbers.own:
        peak += min(peak // 10, _HELD)
    return Build(ids=numbers.kept, adjacency=adjacency, values=values, peak=peak)


def _number(edges: int, vertices: int, ids: Sequence[IdShape]) -> Numbers:
    """Estimate the memory to number ids of one or several columns."""
    if not ids:
        return Numbers(0, 0, 0, False)
    numbers = _number_column(edges, ids[0])
    pairs = ids[0].distinct
    for shape in ids[1:]:
        last = _number_column(edges, shape)
        room = pairs * shape.distinct
        pairs = min(room, vertices)
        id_bytes = numbers.kept + last.kept + 8 * pairs
        codes = 8 * edges
        if shape.kind in ("dense", "sparse") and room <= 8 * edges + (1 << 20):
            making = room + (0 if pairs == room else 4 * room + 8 * pairs)
            peak = (
                id_bytes + codes + (0 if numbers.own else numbers.columns) + last.columns + making
            )
        else:
            known = 0 if last.own else last.columns
            making = _hashing(edges, pairs) - 8 * pairs + (last.peak - codes if last.own else 0)
            peak = id_bytes + codes + (0 if numbers.own else numbers.columns) + known + making
        numbers = Numbers(id_bytes, codes, max(numbers.peak, last.peak, peak), True)
    return numbers


def _number_column(edges: int, shape: IdShape) -> Numbers:
    """Estimate the memory to number ids of one column."""
    distinct, id_bytes = shape.distinct, int(shape.each * shape.distinct)
    if shape.kind in ("dense", "sparse"):
        span = max(shape.span, distinct)
        threads = max(1, min(number_of_threads(), edges // max(span, 1 << 16)))
        index = index_dtype(distinct).itemsize
        table = index * span if shape.kind == "sparse" else 0
        peak = max(threads * span, span + table + id_bytes)
        id_bytes = id_bytes if shape.kind == "sparse" else 0
        return Numbers(id_bytes, shape.copied + table, shape.copied + peak, False)
    codes = 8 * edges
    if shape.kind == "integers":
        return Numbers(id_bytes, codes, codes + shape.copied + _hashing(edges, distinct), True)
    return Numbers(
        id_bytes, codes, codes + _hashing(edges, distinct, id_bytes - 8 * distinct), True
    )


def _hashing(edges: int, distinct: int, text: int | None = None) -> int:
    """Return the maximum memory while distinct values are found, sorted and ranked.

    `text` is their total number of bytes; None for integers.
    """
    if text is None:
        stored, settling = 8 * distinct, 16 * distinct
    else:  # the order and its inverse, old and new ends, and the texts, half of them twice
        stored, settling = 4 * distinct + text, 18 * distinct + text + text // 2
    slots = table_slots(distinct, text=text is not None)
    return max(settling, stored + stored // 16 + 4 * slots + _A_ROW * min(BLOCK, edges))


@dataclass(frozen=True)
class MemoryEstimate:
    """Bytes that a graph and its construction take; `str()` of it is readable.

    Attributes
    ----------
    input : int
        The columns of the edge frame that are read.
    numbering : int
        Vertex ids that are kept; none for integers 0 … n-1.
    csc, csr : int
        One adjacency, and the other if it is separate (0 for an undirected graph).
    values : int
        Weights and attributes, in one order.
    peak : int
        Maximum until the CSC is built, without the input.
    run : int
        Maximum of a run without the built graph, including its result; 0 if no program was
        given.
    layout : int
        Most bytes while a further layout of the arcs is made, besides the built graph; 0 for the
        CSC.
    """

    input: int
    numbering: int
    csc: int
    csr: int
    values: int
    peak: int
    run: int = 0
    layout: int = 0

    def __str__(self) -> str:
        text = (
            f"input {format_bytes(self.input)}, numbering {format_bytes(self.numbering)}, "
            f"CSC {format_bytes(self.csc)}, CSR {format_bytes(self.csr)}, "
            f"values {format_bytes(self.values)}, peak {format_bytes(self.peak)} beside the input"
        )
        if self.layout:
            text += f", layout {format_bytes(self.layout)} beside the graph"
        return f"{text}, run {format_bytes(self.run)} beside the graph" if self.run else text


def estimate_of_build(
    edges: int, vertices: int, ids: Sequence[IdShape], *, both: bool, **values: int
) -> MemoryEstimate:
    """Estimate the memory of a build on the CPU; see `estimate_build`.

    Returns
    -------
    MemoryEstimate
        Without the input.
    """
    built = estimate_build(edges, vertices, ids, both=both, **values)
    return MemoryEstimate(
        input=0,
        numbering=built.ids,
        csc=built.adjacency,
        csr=0 if both else built.adjacency,
        values=built.values,
        peak=built.peak,
    )


def check_memory(
    estimate: MemoryEstimate, available: int | None = None, remedy: str = IN_MEMORY
) -> None:
    """Raise GraphMemoryError if a graph would not fit.

    Parameters
    ----------
    estimate : MemoryEstimate
    available : int, optional
        Bytes that were available before the build began; by default those available now.
    remedy : str
        What the caller can do.

    Raises
    ------
    GraphMemoryError
        Gives the estimate and the remedies.
    """
    if available is None:
        available = available_memory()
    if estimate.peak > available:
        raise GraphMemoryError(
            f"the graph needs {format_bytes(estimate.peak)} while it is built and "
            f"{format_bytes(available)} are available ({estimate}); {remedy}"
        )


@dataclass(frozen=True)
class Sizes:
    """What the memory of a run depends on, as far as it is known before it starts.

    Attributes
    ----------
    vertices, arcs : int
        Of the graph; an undirected edge is two arcs.
    directed, weighted : bool
    weight_type : str
        NumPy name of the type of the weights, as the graph has them.
    id_bytes : float
        Bytes of one id, as listed in results.
    has_csr : bool
        Whether the CSR exists already.
    mapped : bool
        Whether arcs are in files, or a GPU's on the host, so that other orders of them take no memory.
    longest : int
        Arcs of the longest row; 0 if unknown.
    on_device : bool
        Whether the memory is the GPU's.
    least : bool
        Whether to leave out what a run does without if memory is short.
    framed : bool
        Whether a result's frame is in the same memory: not that of a graph on a GPU of frames on the host.
    """

    vertices: int
    arcs: int
    directed: bool
    weighted: bool = False
    weight_type: str = "float64"
    id_bytes: float = 8
    has_csr: bool = False
    mapped: bool = False
    longest: int = 0
    on_device: bool = False
    least: bool = False
    framed: bool = True

    def longest_row(self) -> int:
        """Arcs of the longest row of in-neighbours, or 0."""
        return self.longest

    def edge_type(self, name: str) -> str:
        """Return the NumPy name of the type of the edge column that a program reads as `name`; "" if none."""
        return self.weight_type if self.weighted else ""

    @property
    def whole(self) -> bool:
        """Whether they are not those of a rank's share."""
        return True

    @property
    def cast_weights(self) -> int:
        """Bytes of the weights as floats, if they are not: what a loop on the CPU that reads floats copies."""
        if self.on_device or self.edge_type("weight") in ("", "float64"):
            return 0
        return 8 * self.arcs

    def columns(self, most: int, each: float, *, rest: float = 0) -> int:
        """Return how many columns by vertex a batch has: `most`, as the memory at the time is not known."""
        return most

    @property
    def index(self) -> int:
        """Bytes of a vertex number in the rows of the graph."""
        return index_dtype(self.vertices).itemsize

    @property
    def csr(self) -> int:
        """Bytes of the CSR that a run makes of a directed graph, if there is none.

        On a GPU with the place of each arc, by which the values of its edge are ordered; if arcs are on the host,
        offsets and degrees.
        """
        if not self.directed or self.has_csr:
            return 0
        if self.on_device and self.mapped:
            return 2 * _OFFSET * self.vertices
        placed = index_dtype(self.arcs).itemsize * self.arcs * (self.on_device and self.weighted)
        return _OFFSET * self.vertices + self.index * self.arcs + placed

    @property
    def transposing(self) -> int:
        """Bytes at a GPU's maximum while it makes the CSR."""
        if not self.csr or self.mapped:
            return self.csr
        making = provider("device memory").estimate_transpose
        return int(making(self.arcs, self.vertices, keep=self.weighted))

    @property
    def wide_ids(self) -> float:
        """Bytes that a column of some ids takes in a result for each row, beyond those of 64-bit integers.

        Text is decoded, and copied by some kinds of frames only.  The ids of all vertices are not decoded.
        """
        return 0.8 * (self.id_bytes - 8)


class Bytes(NamedTuple):
    """Bytes for each vertex, for each arc, and for each arc of a weighted graph besides."""

    vertex: float
    arc: float
    weighted: float = 0

    def of(self, sizes: Sizes) -> float:
        """Return the bytes for a graph."""
        arc = self.arc + self.weighted * sizes.weighted
        return self.vertex * sizes.vertices + arc * sizes.arcs


class OnGpu(NamedTuple):
    """What a run takes on a GPU at its maximum, with its result as arrays.

    Attributes
    ----------
    directed, undirected : sequence of Bytes
        Of a directed graph beside its CSR; of an undirected graph, whose arcs are twice the edges: in each
        part of the run that may have the maximum.
    transposed : Bytes, optional
        Beside what the making of the CSR takes; None if it is not read.
    listed : (float, float)
        Bytes for each arc in the rows of chosen vertices, of which `LISTED` are listed at a time: of a
        directed and of an undirected graph.
    """

    directed: Sequence[Bytes]
    undirected: Sequence[Bytes]
    transposed: Bytes | None = None
    listed: tuple[float, float] = (0, 0)

    def of(self, sizes: Sizes, beside: float = 0) -> float:
        """Return the bytes for a graph; `beside` what is there later than the CSR."""
        parts = self.directed if sizes.directed else self.undirected
        listed = self.listed[not sizes.directed] * min(sizes.arcs, LISTED)
        running = max(part.of(sizes) for part in parts) + listed + beside
        if self.transposed is None:
            return running
        return max(running + sizes.csr, self.transposed.of(sizes) + sizes.transposing)


class Row(NamedTuple):
    """What a run takes at its maximum, with its result, as measured by `python -m bench runs`.

    Attributes
    ----------
    directed, undirected : Bytes
        Of a directed graph with the CSR; of an undirected graph, whose arcs are twice the edges.
    before : Bytes
        Of an undirected graph, in an earlier part of the run.
    result : float
        Least bytes for each vertex: those of the result while it is made a frame.
    looked_up : float
        Least bytes for each vertex of a graph whose ids are text, while a caller's ids or values of all
        vertices are looked up.
    gpu : OnGpu, optional
        On a GPU; by default as on a CPU.
    """

    directed: Bytes
    undirected: Bytes
    before: Bytes = Bytes(0, 0)
    result: float = 48
    looked_up: float = 0
    gpu: OnGpu | None = None

    def of(self, sizes: Sizes, beside: float = 0) -> float:
        """Return the bytes for a graph, and `beside` them of a batch."""
        if sizes.on_device and self.gpu is not None:
            return max(self.gpu.of(sizes, beside), self.result * sizes.vertices * sizes.framed)
        parts = (self.directed,) if sizes.directed else (self.undirected, self.before)
        least = max(self.result, self.looked_up if sizes.wide_ids else 0)
        return max(least * sizes.vertices, *(part.of(sizes) for part in parts)) + beside

    def memory(self, sizes: Sizes) -> float:
        """Return the bytes for a graph, as the method of a loop."""
        return self.of(sizes)


def shape_of_ids(columns: Sequence[Any], dense_up_to: int, known: int | None = None) -> IdShape:
    """Describe the ids of one column of sources and one of destinations.

    Parameters
    ----------
    columns : sequence of ndarray or pyarrow.ChunkedArray
        As they are numbered.
    dense_up_to : int
        Largest range of integers to number by a table over the range.
    known : int, optional
        Number of ids; estimated if not given.  Integers of a range are counted.

    Returns
    -------
    IdShape
        Of hashed ids, their number is an estimate, accurate to about 2 %.
    """
    if not all(isinstance(column, np.ndarray) for column in columns):
        distinct = count_distinct(columns) if known is None else known
        return IdShape("text", distinct, 8 + _mean_bytes(columns))
    filled = [column for column in columns if len(column)]
    if not filled:
        return IdShape("dense", 0)
    dtype = filled[0].dtype
    low = min(int(column.min()) for column in filled)
    span = max(int(column.max()) for column in filled) - low + 1
    if span > max(dense_up_to, 1) or low + span - 1 > np.iinfo(np.int64).max:
        distinct = count_distinct(columns) if known is None else known
        return IdShape("integers", distinct, dtype.itemsize)
    wide = dtype.itemsize == 8 or dtype == np.uint32
    width = 8 if wide else 4
    copied = sum(
        width * len(column)
        for column in columns
        if dtype.itemsize != width or not column.flags.c_contiguous
    )
    distinct = count_in_range(columns, low, span)  # exact: a range without gaps needs no table
    if distinct == span and low == 0:
        return IdShape("dense", distinct, 0, span, copied)
    return IdShape("sparse", distinct, dtype.itemsize, span, copied)


def _mean_bytes(columns: Sequence[pa.ChunkedArray]) -> float:
    """Return the mean length of the texts in a sample of rows."""
    size = rows = 0
    for column in columns:
        for chunk in column.chunks:
            values = chunk.dictionary if pa.types.is_dictionary(chunk.type) else chunk
            step = max(1, len(values) // 4096)
            some = values.take(pa.array(np.arange(0, len(values), step)))
            size += sum(
                len(text) for text in some.cast(pa.binary()).to_pylist() if text is not None
            )
            rows += len(some)
    return size / rows if rows else 0.0
