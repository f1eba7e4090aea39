"""Memory of the steps of a build, by formulas: the model behind `estimate_memory`.

All are bytes, without the input.  E edges, A arcs (2 E for an undirected graph), n vertices; i
bytes per vertex number (4; 8 above 2³¹), v bytes of values per arc; K bytes of ids kept; C bytes
of the numbers that replace the columns of ids until the edges are placed; c bytes per cursor (4; 8
above 2³¹ arcs); x bytes of the cursors of all threads but one, at most 2 A.

    step                          takes
    numbering by a range          per integer of the range, a byte for each thread; i more with gaps
    numbering by hashing          C = 8 E; the distinct values so far, and a table of 6 to 12 n
      integers are sorted         C + 16 n: ids, codes and ranks
      text of b bytes in all      C + 16 n + 1.25 b: it is put in order in four turns
    edges placed by source        K + C + c n + i A + v A + x
      if C is own and v = 0       K + 8.25 E + c n + x: columns shrink as rows fill
    transposition to the CSC      K + c n + 8 n + 2 (i A + v A) + x

Scattering values takes a copy of one thread's cursors as well, c n.

A run of a vertex program on the CPU, without the built graph; S bytes of state per vertex:

    with a frontier               S n, lists and marks 15 n; with priorities 8 n
      predecessors                20 n
      directed                    the CSR, 8 n + i A, and 8 A for each edge column that is read
    without                       3 S n with new values and the result; 8 n for each constant
      sums of out-weights         of a directed graph, the CSR and its weights
      jumps                       24 n, and 8 n for each pointer
      extrapolation               32 n for vectors, and 16 n while they are combined
      lists of messages           the messages of the longest row, and 16 bytes each to sort floats
      modes                       the same messages, and 16 bytes for each slot of its table, 25 if weighted
      state on edges, e bytes     2 e A with its result, which takes 22 A and 4 ids per arc besides
    the result                    S n, predecessors 16 n, and the ids once or twice
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from cugraph_ws.graph.adjacency import TURNS, cursor_dtype, index_dtype, pieces_of
from cugraph_ws.graph.interning import BLOCK, IdShape, count_distinct, table_slots
from cugraph_ws.kernels.cpu.interface import CHUNK
from cugraph_ws.runtime.threads import number_of_threads

__all__ = [
    "Build",
    "IdShape",
    "Numbers",
    "estimate_build",
    "estimate_run",
    "lists_messages",
    "shape_of_ids",
]

_OFFSET = 8
_A_ROW = 40  # bytes of temporaries per row of a hashed block


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
    further = [cursors * (pieces_of(one, vertices) - 1) for one in (edges, arcs)]
    if numbers.own and not both and not values:
        placing = numbers.columns + int(index * arcs * TURNS[0]) + cursors
    else:
        placing = numbers.columns + cursors + index * arcs + values + again + copied_values
    turned = max(cursors + again + further[1], offsets)
    turning = cursors + turned + 2 * (index * arcs + values)
    return Build(
        ids=numbers.kept,
        adjacency=adjacency,
        values=values,
        peak=max(
            numbers.peak,
            numbers.kept + placing + further[0],
            numbers.kept + turning,
        ),
    )


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
        kept = numbers.kept + last.kept + 8 * pairs
        codes = 8 * edges
        if shape.kind in ("dense", "sparse") and room <= 8 * edges + (1 << 20):
            making = room + (0 if pairs == room else 4 * room + 8 * pairs)
            peak = kept + codes + (0 if numbers.own else numbers.columns) + last.columns + making
        else:
            known = 0 if last.own else last.columns
            making = _hashing(edges, pairs) - 8 * pairs + (last.peak - codes if last.own else 0)
            peak = kept + codes + (0 if numbers.own else numbers.columns) + known + making
        numbers = Numbers(kept, codes, max(numbers.peak, last.peak, peak), True)
    return numbers


def _number_column(edges: int, shape: IdShape) -> Numbers:
    """Estimate the memory to number ids of one column."""
    distinct, kept = shape.distinct, int(shape.each * shape.distinct)
    if shape.kind in ("dense", "sparse"):
        span = max(shape.span, distinct)
        threads = max(1, min(number_of_threads(), edges // max(span, 1 << 16)))
        index = index_dtype(distinct).itemsize
        table = index * span if shape.kind == "sparse" else 0
        peak = max(threads * span, span + table + kept)
        kept = kept if shape.kind == "sparse" else 0
        return Numbers(kept, shape.copied + table, shape.copied + peak, False)
    codes = 8 * edges
    if shape.kind == "integers":
        return Numbers(kept, codes, codes + shape.copied + _hashing(edges, distinct), True)
    return Numbers(kept, codes, codes + _hashing(edges, distinct, kept - 8 * distinct), True)


def _hashing(edges: int, distinct: int, text: int | None = None) -> int:
    """Return the maximum memory while distinct values are found, sorted and ranked.

    `text` is their total number of bytes; None for integers.
    """
    if text is None:
        held, settling = 8 * distinct, 16 * distinct
    else:  # the order and its inverse, old and new ends, and the texts, a fourth of them twice
        held, settling = 4 * distinct + text, 16 * distinct + text + text // 4
    slots = table_slots(distinct, text=text is not None)
    return max(settling, held + held // 16 + 4 * slots + _A_ROW * min(BLOCK, edges))


def estimate_run(
    program: Any,
    vertices: int,
    arcs: int,
    *,
    directed: bool,
    each: float = 8,
    has_csr: bool = False,
    longest: int = 0,
    extrapolated: bool = True,
) -> int:
    """Estimate the memory of a run on the CPU without the built graph, with its result.

    Parameters
    ----------
    program : VertexProgram, Phases or Loop
    vertices, arcs : int
        Of the graph; an undirected edge is two arcs.
    directed : bool
    each : float
        Bytes of one id, as listed in results.
    has_csr : bool
        Whether the CSR already exists.
    longest : int
        Arcs of the longest row, for programs that list its messages.
    extrapolated : bool
        Whether to count the vectors of extrapolation, which a run does without if memory is short.

    Returns
    -------
    int
        An upper bound in bytes for the arrays of the built-in programs, at most a fourth too
        high except for programs that need less than a CSR.
    """
    if hasattr(program, "programs"):  # phases; the CSR is made once
        return sum(
            estimate_run(
                one,
                vertices,
                arcs,
                directed=directed,
                each=each,
                has_csr=has_csr or place > 0,
                longest=longest,
                extrapolated=False,
            )
            for place, one in enumerate(program.programs)
        )
    csr = 0
    if directed and not has_csr:
        csr = _OFFSET * vertices + index_dtype(vertices).itemsize * arcs
    own = getattr(program, "footprint", None)
    if own is not None or not isinstance(getattr(program, "state", None), dict):
        by_vertex, by_arc, reads_csr = own or _LOOPS.get(program.name, (32, 0, True))
        return by_vertex * vertices + by_arc * arcs + (csr if reads_csr else 0)
    state = sum(_width_of(field.type) for field in program.state.values())
    kept = sum(_width_of(field.type) for field in getattr(program, "edge_state", {}).values())
    # The state of edges; while its frame is made, also a copy of it, and numbers and ids of both ends
    by_arc = int(2 * kept + 22 + 4 * max(each, 8)) * arcs if kept else 0
    follows = program.predecessor is not None
    values = 8 * len(program.edges) * arcs if directed else 0
    if "active" in program.functions:
        work = state + 15 + 8 * ("priority" in program.functions) + 20 * follows
        taken = work * vertices + csr + values
    else:
        sums = [
            one for one in program.constants.values() if getattr(one, "source", "") == "out_weight"
        ]
        taken = (3 * state + 8 * len(program.constants) + 16) * vertices
        pointers = {one.pointer for one in program.constants.values() if hasattr(one, "pointer")}
        taken += (24 + 8 * len(pointers)) * vertices if pointers else 0
        if program.listing is not None:
            taken += _bytes_of_lists(program, longest)
        vectors = 48 * vertices * (extrapolated and program.extrapolation is not None)
        taken += max((csr + values) * bool(sums), vectors)  # sums are made before the run
    listed = (2 * state + 16 * follows + each * (1 + follows)) * vertices
    most = max(taken, listed + csr + values if "active" in program.functions else listed)
    return int(most) + by_arc


def lists_messages(program: Any) -> bool:
    """Return whether a program, or one of several in phases, lists the messages of a row."""
    several = getattr(program, "programs", (program,))
    return any(getattr(one, "listing", None) is not None for one in several)


def _bytes_of_lists(program: Any, longest: int) -> int:
    """Return the bytes of the messages of a row, with those that sorting or counting takes.

    Numbers are counted with eight bytes, and weights as floats: types are known once the program is bound.
    """
    returned = (
        node.value
        for node in ast.walk(ast.parse(program.sources["compute"].text))
        if isinstance(node, ast.Return)
    )
    parts = max((len(one.elts) for one in returned if isinstance(one, ast.Tuple)), default=1)
    listing = program.listing
    if listing.kind != "list":  # see `empty_table` in `kernels/cpu/modes.py`
        slots = 1 + (1 << max(1, (2 * longest - 1).bit_length())) if longest else 0
        chunked = listing.kind == "weighted mode" and longest > CHUNK
        return 8 * parts * longest + (25 if chunked else 16) * slots
    keys = len(range(parts)[: listing.sorted_by])
    return (8 * parts + (16 if keys else 0) + (16 if keys > 1 else 0)) * longest


# bytes per vertex, bytes per arc, and whether the CSR is read
_LOOPS = {
    "weakly_connected_components": (16, 0, False),
    "core_number": (20, 0, True),
    "belief_propagation": (48, 52, True),  # for two states
    "triangle_count": (96, 40, True),
    "clustering_coefficient": (96, 48, True),
    "truss_number": (96, 72, True),
    **dict.fromkeys(("jaccard", "overlap", "sorensen", "cosine", "adamic_adar"), (48, 48, True)),
}


def _width_of(kind: Any) -> int:
    """Return the bytes of a state field; eight if its type comes from the graph."""
    return int(kind.dtype.itemsize) if hasattr(kind, "dtype") else 8


def shape_of_ids(columns: Sequence[Any], dense_up_to: int, known: int | None = None) -> IdShape:
    """Describe the ids of one column of sources and one of destinations.

    Parameters
    ----------
    columns : sequence of ndarray or pyarrow.ChunkedArray
        As they are numbered.
    dense_up_to : int
        Largest range of integers to number by a table over the range.
    known : int, optional
        Number of ids; estimated if not given.

    Returns
    -------
    IdShape
        Its number of ids is an estimate, accurate to about 2 %.
    """
    distinct = count_distinct(columns) if known is None else known
    if not all(isinstance(column, np.ndarray) for column in columns):
        return IdShape("text", distinct, 8 + _mean_bytes(columns))
    filled = [column for column in columns if len(column)]
    if not filled:
        return IdShape("dense", 0)
    dtype = filled[0].dtype
    low = min(int(column.min()) for column in filled)
    span = max(int(column.max()) for column in filled) - low + 1
    if span > max(dense_up_to, 1) or low + span - 1 > np.iinfo(np.int64).max:
        return IdShape("integers", distinct, dtype.itemsize)
    wide = dtype.itemsize == 8 or dtype == np.uint32
    width = 8 if wide else 4
    copied = sum(
        width * len(column)
        for column in columns
        if dtype.itemsize != width or not column.flags.c_contiguous
    )
    # the number is an estimate: a range with hardly any gap is taken to have none
    if distinct >= 0.97 * span and low == 0:
        return IdShape("dense", distinct, 0, span, copied)
    return IdShape("sparse", min(distinct, span), dtype.itemsize, span, copied)


def _mean_bytes(columns: Sequence[pa.ChunkedArray]) -> float:
    """Return the mean length of the texts in a sample of rows."""
    size = rows = 0
    for column in columns:
        for chunk in column.chunks:
            values = chunk.dictionary if pa.types.is_dictionary(chunk.type) else chunk
            step = max(1, len(values) // 4096)
            some = values.take(pa.array(np.arange(0, len(values), step)))
            size += sum(len(one) for one in some.cast(pa.binary()).to_pylist() if one is not None)
            rows += len(some)
    return size / rows if rows else 0.0
