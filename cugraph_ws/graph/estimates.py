"""Estimates of the memory that a graph and a run take, from a frame or from numbers alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cugraph_ws.arguments import (
    check_choice,
    check_columns,
    check_count,
    check_flag,
    check_number,
    shown,
)
from cugraph_ws.errors import InputError
from cugraph_ws.frames.base import open_frame, table_if_stream
from cugraph_ws.frames.ids import agree, read_ids
from cugraph_ws.graph.edges import AUTO, named_columns, weight_column
from cugraph_ws.graph.footprints import (
    IdShape,
    MemoryEstimate,
    Sizes,
    estimate_of_build,
    shape_of_ids,
)
from cugraph_ws.graph.interning import count_distinct
from cugraph_ws.runtime.dispatch import provider

__all__ = ["estimate_memory"]

WEIGHT_TYPES = {name: np.dtype(name) for name in ("int64", "float32", "float64")}
FLOATS = WEIGHT_TYPES["float64"]  # the type of weights that is assumed


def estimate_memory(
    edges: Any = None,
    *,
    source: str | Sequence[str] = "source",
    destination: str | Sequence[str] = "destination",
    weight: str | None = AUTO,
    number_of_edges: int | None = None,
    number_of_vertices: int | None = None,
    weighted: bool | str = False,
    directed: bool = True,
    attributes: int | Sequence[str] | None = 0,
    dense: bool = True,
    text_bytes: float | None = None,
    engine: Literal["cpu", "cuda"] = "cpu",
    program: Any = None,
    sources: int = 1,
    layout: Literal["csc", "gshards", "windows"] = "csc",
) -> MemoryEstimate:
    """Estimate how much memory a graph and a run take.

    A frame's ids are read once, in blocks (those of a cuDF frame on the host), for their type, their
    range and their approximate number.  For graphs of some tens of megabytes or more, a build on the
    CPU takes within 25 % of the estimate; for smaller ones, allocators keep more than is used.

    Parameters
    ----------
    edges : frame, optional
        An edge frame.  If it has no columns `source` and `destination`, only its number of rows is
        used.  A stream that can be read once is used up.
    source, destination : str or sequence of str
        Id columns of the frame.
    weight : str or None
        Weight column of the frame, counted in its own type.  By
        default the column named `weight`, if there is one, as for a `Graph`.
    number_of_edges : int, optional
        Used instead of `edges`.
    number_of_vertices : int, optional
        By default an estimate from the frame, or half the number of edges.
    weighted : bool or str
        Without a frame: whether there is a weight column; or its type, "int64", "float32" or "float64".
        True is "float64".  Programs that compute in floats copy integers.
    directed : bool
        False counts every edge in both directions.
    attributes : int or sequence of str, optional
        The number of further edge columns, or their names; None for none.
    dense : bool
        Without a frame: whether ids are integers 0 … n-1.  If not, they are assumed to be hashed.
    text_bytes : float, optional
        Without a frame: mean length of text ids, in bytes.
    engine : {"cpu", "cuda"}
        Which memory: "cuda" estimates a graph that is built on a GPU.
    program : function, VertexProgram or Loop, optional
        What is to be run on the graph: a function as `ws.louvain` or its name, a program, or an instance
        of a loop.  Its memory beside the built graph is in `run`, with the result as a frame (for
        engine="cuda" on the host, unless `edges` is a cuDF frame): within 25 % from some tens of megabytes on
        where sizes decide, within a factor of two where the data do.  The trace takes 190 bytes a superstep
        besides.  Messages that are listed are those of the longest row; without a frame, rows are assumed
        to be short.
    sources : int
        Starts, seeds or sources of such a function.
    layout : {"csc", "gshards", "windows"}
        The `layout` given to `run`; all but `csc` need engine="cuda".

    Returns
    -------
    MemoryEstimate

    Raises
    ------
    InputError
        If neither `edges` nor `number_of_edges` is given, a number is negative, a column is
        missing or cannot be ids, the engine is unknown, or it lacks the layout.

    Examples
    --------
    >>> import cugraph_ws as ws
    >>> print(ws.estimate_memory(number_of_edges=10**9, number_of_vertices=10**8).csc)
    4800000008
    """
    check_choice("engine", engine, ("cpu", "cuda"))
    check_choice("layout", layout, ("csc", "gshards", "windows"))
    edges = table_if_stream(edges)
    if layout != "csc" and engine == "cpu":
        raise InputError(f"layout={layout!r} is for GPUs; give engine='cuda', or leave it out")
    check_columns(source, destination, weight, directed)
    counted = _weight_type(weighted)
    check_flag("dense", dense)
    number_of_edges = _whole("number_of_edges", number_of_edges)
    number_of_vertices = _whole("number_of_vertices", number_of_vertices)
    if text_bytes is not None:
        check_number("text_bytes", text_bytes, finite=True)
        if text_bytes >= 2**31:
            raise InputError(f"text_bytes={shown(text_bytes)} must be below 2**31")
    check_count("sources", sources, 1)
    rows = provider("rows of runs")
    loop = None if program is None else rows.loop_of(program, int(sources))
    attributes = 0 if attributes is None else attributes
    if isinstance(attributes, int):
        check_count("attributes", attributes)
    else:
        check_columns(source, destination, weight, directed, attributes)
    if edges is not None:
        if weight == AUTO:
            weight = None if weighted else weight_column(edges, weight, source, destination)
        sizes = _look_at(
            edges,
            source,
            destination,
            weight,
            attributes,
            number_of_vertices,
            counted=counted,
            listed=None if loop is None or not rows.lists_messages(program) else directed,
        )
    else:
        if number_of_edges is None:
            raise InputError("estimate_memory: give edges=, a frame, or number_of_edges=")
        if number_of_vertices is None:
            number_of_vertices = number_of_edges // 2
        if weight not in (None, AUTO) and counted is None:
            counted = FLOATS
        columns = _count(attributes)
        sizes = _expected(number_of_edges, number_of_vertices, counted, columns, dense, text_bytes)
    on_device = engine == "cuda"
    estimate = _on_device(sizes, directed, layout) if on_device else _on_host(sizes, directed)
    if loop is None:
        return estimate
    run = loop.memory(
        Sizes(
            vertices=sizes.vertices,
            arcs=sizes.edges * (1 if directed else 2),
            directed=directed,
            weighted=sizes.value_bytes > 0,
            weight_type=sizes.weight_type.name,
            id_bytes=sum(shape.each if shape.each else 8 for shape in sizes.ids),
            longest=sizes.longest,
            on_device=on_device,
            framed=sizes.on_gpu or not on_device,
        )
    )
    return replace(estimate, run=int(run))


def _weight_type(weighted: bool | str) -> np.dtype[Any] | None:
    """Return the type of the weights that `weighted` asks to count, or None for none."""
    if isinstance(weighted, str):
        check_choice("weighted", weighted, tuple(WEIGHT_TYPES))
        return WEIGHT_TYPES[weighted]
    check_flag("weighted", weighted)
    return FLOATS if weighted else None


@dataclass(frozen=True)
class _Sizes:
    """Input of an estimate."""

    edges: int
    vertices: int
    ids: Sequence[IdShape]
    input: int
    value_bytes: int = 0
    copied_values: int = 0
    longest: int = 0
    weight_type: np.dtype[Any] = FLOATS
    on_gpu: bool = False  # whether the frame is there


def _whole(name: str, count: Any) -> int | None:
    """Return a count as a Python integer, which does not overflow."""
    if count is None:
        return None
    check_count(name, count)
    return int(count)


def _count(attributes: int | Sequence[str]) -> int:
    if isinstance(attributes, str):
        return 1
    return attributes if isinstance(attributes, int) else len(attributes)


def _expected(
    edges: int,
    vertices: int,
    weight: np.dtype[Any] | None,
    columns: int,
    dense: bool,
    text_bytes: float | None,
) -> _Sizes:
    """Describe edges that are given only by numbers: the type of the weight, and how many other columns."""
    each = 8.0
    if text_bytes is not None:
        each = 8 + text_bytes
        ids = IdShape("text", vertices, each)
    else:
        ids = IdShape("dense", vertices, 0) if dense else IdShape("integers", vertices)
    value_bytes = 8 * columns + (0 if weight is None else weight.itemsize)
    return _Sizes(
        edges,
        vertices,
        [ids],
        int(edges * (2 * each + value_bytes)),
        value_bytes,
        weight_type=FLOATS if weight is None else weight,
    )


def _look_at(
    edges: Any,
    source: str | Sequence[str],
    destination: str | Sequence[str],
    weight: str | None,
    attributes: int | Sequence[str],
    vertices: int | None,
    *,
    counted: np.dtype[Any] | None,
    listed: bool | None,
) -> _Sizes:
    """Describe an edge frame.

    `counted` is the type of a weight that is counted if none is named. `listed` is None unless the
    longest row of in-neighbours is needed; then it is whether edges are directed.
    """
    frame = open_frame(edges, "edges", on_device=True)
    rows, on_gpu = len(frame), frame.on_device
    names, _ = named_columns(source, destination, weight, ())
    known = {*names[0], *names[1]} <= set(frame.names)
    if not known and (source, destination) == ("source", "destination"):
        count = rows // 2 if vertices is None else vertices
        kind = FLOATS if counted is None and weight is not None else counted
        return _expected(rows, count, kind, _count(attributes), True, None)
    if on_gpu:
        read = [*names[0], *names[1], *([] if weight is None else [weight])]
        read += [] if isinstance(attributes, int) else _listed(attributes)
        some = frame.native[[name for name in dict.fromkeys(read) if name in frame.names]]
        frame = open_frame(some, "edges")  # a copy on the host
    ids, parts, input_bytes, longest = [], [], 0, 0
    for source_name, destination_name in zip(*names, strict=True):
        columns = [
            frame.column(source_name, "source"),
            frame.column(destination_name, "destination"),
        ]
        input_bytes += sum(_bytes_of(column.values) for column in columns)
        _, values = agree([read_ids(column) for column in columns])
        parts.append(values)
        if listed is not None:  # of several columns, an upper bound
            most = _most_frequent(values[1:] if listed else values)
            longest = most if longest == 0 else min(longest, most)
        exact = vertices if len(names[0]) == 1 else None
        ids.append(shape_of_ids(values, 8 * rows + (1 << 20), exact))
    if len(ids) > 1 and vertices is None:
        vertices = count_distinct(*parts)
    carried = [] if isinstance(attributes, int) else _listed(attributes)
    unnamed = attributes if isinstance(attributes, int) else 0
    kind = counted if weight is None else None
    value_bytes, copied = 8 * unnamed + (0 if kind is None else kind.itemsize), 0
    input_bytes += value_bytes * rows
    weight_type = FLOATS if kind is None else kind
    for name in [*([] if weight is None else [weight]), *carried]:
        values = frame.column(name, "weight" if name == weight else "attributes").values
        input_bytes += _bytes_of(values)
        kind = np.dtype(getattr(values, "dtype", np.int64))
        stored = "int64" if kind.kind != "f" else "float32" if kind.itemsize <= 4 else "float64"
        if name == weight:
            weight_type = WEIGHT_TYPES[stored]
        value_bytes += WEIGHT_TYPES[stored].itemsize
        copied += 0 if kind == stored else WEIGHT_TYPES[stored].itemsize * rows
    count = ids[0].distinct if vertices is None else vertices
    return _Sizes(rows, count, ids, input_bytes, value_bytes, copied, longest, weight_type, on_gpu)


def _most_frequent(columns: Sequence[Any]) -> int:
    """Return how often the most frequent id in some columns of one type occurs."""
    chunks = [
        chunk
        for column in columns
        for chunk in ([pa.array(column)] if isinstance(column, np.ndarray) else column.chunks)
    ]
    if not sum(map(len, chunks)):
        return 0
    counted = pc.value_counts(pa.chunked_array(chunks).unify_dictionaries())
    return int(pc.max(counted.field("counts")).as_py())


def _listed(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _bytes_of(values: Any) -> int:
    """Return the bytes of a NumPy array or an Arrow column."""
    return int(values.nbytes)


def _on_host(sizes: _Sizes, directed: bool) -> MemoryEstimate:
    """Estimate a graph that is built on the CPU."""
    estimate = estimate_of_build(
        sizes.edges,
        sizes.vertices,
        sizes.ids,
        both=not directed,
        value_bytes=sizes.value_bytes,
        copied_values=sizes.copied_values,
    )
    return replace(estimate, input=sizes.input)


def _on_device(sizes: _Sizes, directed: bool, layout: str) -> MemoryEstimate:
    """Estimate the GPU memory that a graph takes."""
    device_memory = provider("device memory")
    arcs = sizes.edges * (1 if directed else 2)
    built = device_memory.estimate(arcs, sizes.vertices, sizes.value_bytes, not directed)
    shape, span = sizes.ids[0], None
    if len(sizes.ids) == 1 and shape.kind in ("dense", "sparse"):
        span = max(shape.span, sizes.vertices) if shape.kind == "sparse" else sizes.vertices
    id_bytes = sum(shape.each for shape in sizes.ids) + 8 * (len(sizes.ids) > 1)
    ids, numbers, peak = device_memory.estimate_numbering(
        sizes.edges, sizes.vertices, span=span, each=id_bytes
    )
    return MemoryEstimate(
        input=sizes.input,
        numbering=built.numbering + ids,
        csc=built.csc,
        csr=built.csr,
        values=built.values,
        peak=max(peak, numbers + ids + built.peak),
        layout=provider("device layouts").layout_of(layout).cost(arcs, sizes.vertices).peak,
    )
