"""Build a graph on the device from an edge frame on the device; see `cugraph_ws.graph.edges`.

The rows of neighbours are built at once, not when first needed.  The ids may share the caller's
memory, which the caller may change as soon as `Graph(...)` has returned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cugraph_ws.backends.cuda.arcs import DeviceArcs
from cugraph_ws.backends.cuda.columns import first_true
from cugraph_ws.backends.cuda.cudf_frames import move_to_device, number_text
from cugraph_ws.backends.cuda.graph import build
from cugraph_ws.backends.cuda.grouping import Ends
from cugraph_ws.backends.cuda.numbered_ids import DeviceNumbered
from cugraph_ws.backends.cuda.numbering import number_device_rows
from cugraph_ws.backends.cuda.order import sort_ends
from cugraph_ws.backends.cuda.vertices import DeviceVertices
from cugraph_ws.errors import InputError
from cugraph_ws.frames.base import Frame
from cugraph_ws.frames.values import read_numbers
from cugraph_ws.graph.duplicates import Merge, policy_of, refuse_infinite
from cugraph_ws.graph.edges import (
    Duplicates,
    Loops,
    ReadEdges,
    read_ends,
    refuse_repeated,
)
from cugraph_ws.graph.self_loops import refuse_loops
from cugraph_ws.runtime.arrays import count_true, read_scalars
from cugraph_ws.runtime.device import device

__all__ = ["read_device_edges"]

DeviceArray = Any
_BLOCK = 256


def read_device_edges(
    frame: Frame,
    sources: Sequence[str],
    destinations: Sequence[str],
    carried: Sequence[str],
    *,
    weight: str | None,
    both: bool,
    extra: Frame | None,
    self_loops: Loops,
    duplicates: Duplicates | Mapping[str, Merge],
    consume: bool,
) -> ReadEdges:
    """Check an edge frame of the device, number its vertices and build the rows; see `Graph`.

    Parameters
    ----------
    frame : Frame
        On the device.
    sources, destinations, carried : sequence of str
        Names of the id columns, and of the edge columns to keep.
    weight : str, optional
        The one of `carried` that must be finite.
    both : bool
        Whether every edge goes both ways.
    extra : Frame, optional
        Frame of vertices, of any kind.
    self_loops, duplicates, consume
        See `Graph`.

    Returns
    -------
    ReadEdges

    Raises
    ------
    InputError, GraphMemoryError
        See `Graph`.
    """
    types, parts, dense_up_to = read_ends(frame, sources, destinations, extra, move_to_device)
    numbered = number_device_rows(
        parts, dense_up_to=dense_up_to, number_others=number_text, both=both
    )
    del parts
    size = numbered.numbering.size
    numbered_vertices = DeviceVertices(sources, types, numbered.numbering)
    values = {
        name: device().xp.ascontiguousarray(
            read_numbers(
                frame.column(name, "weight" if name == weight else "attributes"),
                finite=name == weight,
            )
        )
        for name in carried
    }
    if extra is not None:
        numbered_vertices.keep_attributes(extra, numbered.numbers(2).astype(np.int64))
        del numbered.columns[2:]
    kind = frame.kind_like(sources[0])
    loops = None
    if self_loops != "keep":
        loops = _refuse_or_drop_loops(numbered, values, self_loops, numbered_vertices)
    merged = None
    if duplicates == "keep":
        ends = [numbered.ends()]
    else:
        pair = numbered.take_numbers()
        merged = _merge(pair, values, size, duplicates, numbered_vertices, both=both, weight=weight)
        ends = [Ends(pair.pop(1), pair.pop(0))]
    number_of_edges = len(ends[0].sources)
    if consume:
        frame.release([*sources, *destinations, *carried])
    del frame, numbered
    # They leave the list and the dictionary, so that the builder has the only references.
    graph = build(ends.pop(), values, size, undirected=both)
    return ReadEdges(
        kind, numbered_vertices, DeviceArcs(graph, carried), number_of_edges, loops, merged
    )


def _refuse_or_drop_loops(
    numbered: DeviceNumbered,
    values: dict[str, DeviceArray],
    policy: Loops,
    numbered_vertices: DeviceVertices,
) -> int:
    """Apply the self-loop policy to columns and values, in place; return how many there were."""
    sources, destinations = numbered.columns
    not_loops = sources != destinations
    loops = len(not_loops) - count_true(not_loops)
    if loops and policy == "error":
        row = first_true(~not_loops)
        number = int(device().to_host(numbered.numbers(0)[row : row + 1])[0])
        refuse_loops(row, numbered_vertices.describe(number), loops)
    if loops:
        numbered.columns, numbered.counts = [sources[not_loops], destinations[not_loops]], None
        for name, array in values.items():
            values[name] = array[not_loops]
    return loops


def _merge(
    ends: list[DeviceArray],
    values: dict[str, DeviceArray],
    size: int,
    policy: Duplicates | Mapping[str, Merge],
    numbered_vertices: DeviceVertices,
    *,
    both: bool,
    weight: str | None,
) -> int:
    """Merge parallel edges into one, in place; return how many edges were removed."""
    xp, (sources, destinations) = device().xp, ends
    if not len(sources):
        return 0
    if both:  # an edge and its reverse are the same edge
        low = xp.minimum(sources, destinations)
        sources, destinations = xp.maximum(sources, destinations), low
    order = sort_ends(destinations, sources, size)
    first = xp.ones(len(order), np.bool_)
    first[1:] = _changes(destinations, order) | _changes(sources, order)
    starts = xp.append(xp.flatnonzero(first), len(order))
    runs = len(starts) - 1
    surplus = len(order) - runs
    if surplus and policy == "error":
        again = order[first_true(~first)]
        pair = device().to_host(xp.stack([sources[again], destinations[again]]))
        described = (numbered_vertices.describe(int(number)) for number in pair)
        refuse_repeated(surplus, " to ".join(described))
    if surplus:
        first_rows = order[starts[:-1]]
        ends[:] = [sources[first_rows], destinations[first_rows]]
        for name, array in values.items():
            column_policy = policy_of(policy, name)
            values[name] = _reduce(name, array, order, starts, column_policy)
            bad = None if name != weight else DeviceArcs.first_infinite(values[name])
            if bad is not None:  # the frame had no infinite values
                numbers = device().to_host(xp.stack([end[bad] for end in ends]))
                value = float(device().to_host(values[name][bad : bad + 1])[0])
                edge = " to ".join(numbered_vertices.describe(int(number)) for number in numbers)
                refuse_infinite(str(column_policy), name, value, edge)
    return surplus


def _changes(ends: DeviceArray, order: DeviceArray) -> DeviceArray:
    ordered = ends[order]
    return ordered[1:] != ordered[:-1]


def _reduce(
    name: str, values: DeviceArray, order: DeviceArray, starts: DeviceArray, policy: Duplicates
) -> DeviceArray:
    gpu, runs = device(), len(starts) - 1
    if policy == "first":
        return values[order[starts[:-1]]]
    values = gpu.xp.ascontiguousarray(values)

    def launch(kernel: str, dtype: Any, *zero: Any) -> DeviceArray:
        out = gpu.xp.empty(runs, dtype)
        grid = gpu.blocks_for(runs, _BLOCK)
        gpu.module("merge").launch(
            kernel, grid, _BLOCK, values, order, starts, np.int64(runs), *zero, out
        )
        return out

    if policy == "min":
        return launch("least_of_runs", values.dtype)
    if policy == "max":
        return launch("greatest_of_runs", values.dtype)
    rough = launch("add_runs", np.float64, np.float64(0))
    if policy == "mean":
        means = rough / (starts[1:] - starts[:-1])
        return means.astype(np.float64 if values.dtype.kind == "i" else values.dtype, copy=False)
    if values.dtype.kind == "f":
        return rough.astype(values.dtype, copy=False)
    if read_scalars(abs(rough).max())[0] > 2.0**62:  # well before 2**63: `rough` is rounded
        raise InputError(
            f"duplicates='sum': the sums of column {name!r} could exceed int64; cast it to float64"
        )
    return launch("add_runs", np.int64, np.int64(0))
