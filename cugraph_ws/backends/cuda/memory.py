"""Estimate how much of a GPU's memory a graph takes, before it is built.

Bytes during the build, besides the input columns, for n vertices and A arcs.  A position has i bytes,
an edge number e, and a count c (4 each, or 8 if 31 bits are too few).  A round has R arcs, the largest
part P.  An arc has v bytes of values.  A sort needs as much memory again as it sorts.

    step                         kept so far      temporary
    degrees counted              –                c n
    positions by degree          8 n              c n, then 8 n, then 2 i n
    arcs grouped, no values      (2 i + 8) n + i A         8 R, and 8 P
      a row longer than P        …                         i P
    arcs grouped, with values    (2 i + 8) n + (i + e) A   8 R, and 16 P
      a row longer than P        …                         24 P
    values moved                 (2 i + 8) n + i A         e A + v A
    done                         (2 i + 8) n + i A + v A

That is the least a build takes.  Where more is free, arcs are grouped in buckets (`bucketing`).

Before something is refused, graphs give back what they can make again: those first that were used longest ago, and
last those that later runs of a list need (`run_many`).
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from cugraph_ws.backends.cuda.grouping import number_dtype, part_size, round_size
from cugraph_ws.contract import LayoutCost
from cugraph_ws.errors import GraphMemoryError
from cugraph_ws.runtime.device import device
from cugraph_ws.runtime.memory import count_given_back, format_bytes

__all__ = [
    "DeviceEstimate",
    "check_device_memory",
    "check_layout_memory",
    "check_transpose_memory",
    "estimate",
    "estimate_numbering",
    "estimate_transpose",
    "gives_back",
    "needed_later",
    "room_for",
]

LOG = logging.getLogger("cugraph_ws")
_CHUNK = 1 << 26  # rows that `numbering` translates at a time


@dataclass(frozen=True)
class DeviceEstimate:
    """Bytes that a graph and its construction take on the GPU; `str()` of it is readable.

    Attributes
    ----------
    numbering : int
        Vertex numbers to positions and back.
    csc, csr : int
        The in-neighbours; the out-neighbours (0 for an undirected graph, which needs no CSR).
    values : int
        Weights and attributes, in one order.
    peak : int
        The most bytes at any time until the CSC is built, without the input columns.
    """

    numbering: int
    csc: int
    csr: int
    values: int
    peak: int

    @property
    def stays(self) -> int:
        """Bytes of a built graph without its CSR."""
        return self.numbering + self.csc + self.values

    def __str__(self) -> str:
        return (
            f"numbering {format_bytes(self.numbering)}, CSC {format_bytes(self.csc)}, "
            f"CSR {format_bytes(self.csr)}, values {format_bytes(self.values)}, "
            f"peak {format_bytes(self.peak)} beside the input"
        )


class GivesBack(Protocol):
    """Has arrays on the device that it can make again.

    Attributes
    ----------
    used : int
        Grows with each use.
    """

    used: int

    def give_back(self) -> int:
        """Free these arrays, unless another thread is making some; return their bytes."""


_GIVING: weakref.WeakSet[GivesBack] = weakref.WeakSet()
_LATER: weakref.WeakSet[GivesBack] = weakref.WeakSet()  # those that runs still to come need


def gives_back(graph: GivesBack) -> None:
    """Have a graph be asked when memory is short, as long as it exists."""
    _GIVING.add(graph)


@contextmanager
def needed_later(graph: GivesBack) -> Iterator[None]:
    """In the `with` block, ask a graph after all others, whenever they were used: later runs need it."""
    _LATER.add(graph)
    try:
        yield
    finally:
        _LATER.discard(graph)


def room_for(needed: float) -> int:
    """Return the bytes that can be allocated; if these are too few, after graphs have given back some.

    Arrays that a run still reads stay until it drops them.
    """
    gpu = device()
    free = gpu.free_memory()
    if needed <= free:
        return free
    for graph in sorted(_GIVING, key=lambda graph: (graph in _LATER, graph.used)):
        if freed := graph.give_back():
            count_given_back(freed)
            gpu.trim(everything=True)
            free = gpu.free_memory()
            LOG.info(
                "%s of GPU memory are needed: a graph gave back %s, and %s are available",
                format_bytes(needed), format_bytes(freed), format_bytes(free),
            )  # fmt: skip
            if needed <= free:
                break
    return free


def estimate(
    arcs: int, vertices: int, value_bytes: int, undirected: bool, *, longest_row: int = 0
) -> DeviceEstimate:
    """Estimate how much memory a graph will take on the GPU.

    Parameters
    ----------
    arcs : int
        Number of edges; for an undirected graph, twice that number.
    vertices : int
    value_bytes : int
        Bytes of all edge attributes of an arc: 8 for a float64 weight.
    undirected : bool
    longest_row : int
        The greatest in-degree, if known.  A row is never split, so with attributes a row with more
        than a twelfth of the arcs needs more memory.

    Returns
    -------
    DeviceEstimate
    """
    index = number_dtype(vertices).itemsize
    slot = number_dtype(arcs).itemsize
    edge = number_dtype(arcs // 2 if undirected else arcs).itemsize
    numbering = 2 * index * vertices
    offsets = 8 * (vertices + 1)
    placing = offsets + max(slot, 8, 2 * index) * vertices
    part, most = part_size(arcs), round_size(arcs)
    if value_bytes:
        sorting, order = max(8 * most + 16 * part, 24 * longest_row), edge * arcs
    else:
        sorting, order = max(8 * most + 8 * part, index * longest_row), 0
    filled = numbering + offsets + index * arcs + order
    return DeviceEstimate(
        numbering=numbering,
        csc=offsets + index * arcs,
        csr=0 if undirected else offsets + index * arcs + (slot * arcs if value_bytes else 0),
        values=value_bytes * arcs,
        peak=max(placing, filled + sorting, filled + value_bytes * arcs),
    )


def estimate_numbering(
    edges: int, vertices: int, *, span: int | None, each: float = 8
) -> tuple[int, int, int]:
    """Estimate how much memory the numbering of integer ids takes on the GPU.

    Parameters
    ----------
    edges, vertices : int
    span : int or None
        Size of their range: `vertices` if it has no gaps; None if it is so large that they are
        sorted.
    each : float
        Bytes kept per id.

    Returns
    -------
    kept : int
        Bytes of the ids.
    numbers : int
        Bytes besides the input columns, or in their place, until the edges are grouped.
    peak : int
        The most bytes until the columns are numbered.
    """
    id_bytes, index = int(each * vertices), number_dtype(vertices).itemsize
    numbers = 2 * index * edges
    some = min(edges, _CHUNK)
    if span is None:
        # a sorted copy of a column, the sort's buffer and a mask; the distinct ids of both columns
        sorting = 17 * edges + 16 * min(vertices, edges)
        return id_bytes, numbers, max(sorting, id_bytes + numbers + 8 * some)
    counts = number_dtype(edges).itemsize * span if span <= edges else 0
    if span <= vertices:
        return 0, 0, counts + span
    table = index * span
    with_table = counts + span + table + 16 * vertices + id_bytes
    if span <= edges:
        return id_bytes, table, with_table
    return id_bytes, numbers, max(with_table, table + id_bytes + numbers + (16 + index) * some)


def check_device_memory(
    needed: DeviceEstimate, *, beside: int = 0, room: int | None = None
) -> None:
    """Raise GraphMemoryError if a graph would not fit on the current GPU.

    Parameters
    ----------
    needed : DeviceEstimate
    beside : int
        Bytes of the input that must still be copied to the GPU.
    room : int, optional
        Bytes that it may take, if they are free.

    Raises
    ------
    GraphMemoryError
        With the estimate and the remedies.
    """
    available = room_for(needed.peak + beside)
    available = available if room is None else min(available, room)
    if needed.peak + beside > available:
        raise GraphMemoryError(
            f"the graph needs {format_bytes(needed.peak + beside)} of GPU memory while it is built "
            f"and {format_bytes(available)} are available ({needed}); leave out weight= and "
            f"attributes=, release the input with consume=True, give placement='host' to keep arcs in the "
            f"host's memory, or use engine='cpu' or a larger GPU"
        )


def estimate_transpose(arcs: int, vertices: int, *, keep: bool) -> int:
    """Estimate how much more memory a graph takes while its CSR is made.

    It counts the offsets, out-degrees, indices and, with `keep`, the permutation; the row of each
    arc; and the keys of a round, which are sorted part by part.

    Parameters
    ----------
    arcs, vertices : int
    keep : bool
        Whether the permutation is kept, for edge attributes.

    Returns
    -------
    int
        Bytes.
    """
    index, slot = number_dtype(vertices).itemsize, number_dtype(arcs).itemsize
    row_bytes = 16 * vertices + (index + (slot if keep else 0)) * arcs
    return row_bytes + index * arcs + 8 * round_size(arcs) + 8 * part_size(arcs)


def check_transpose_memory(arcs: int, vertices: int, *, keep: bool) -> None:
    """Raise GraphMemoryError if a graph's CSR would not fit beside its CSC.

    Parameters
    ----------
    arcs, vertices : int
    keep : bool
        See `estimate_transpose`.

    Raises
    ------
    GraphMemoryError
        With the needed and the free memory.
    """
    needed = estimate_transpose(arcs, vertices, keep=keep)
    available = room_for(needed)
    if needed > available:
        raise GraphMemoryError(
            f"the graph's out-neighbours need {format_bytes(needed)} of GPU memory while they are "
            f"grouped and {format_bytes(available)} are available; leave out weight= and "
            f"attributes=, or use engine='cpu' or a larger GPU"
        )


def check_layout_memory(name: str, cost: LayoutCost, *, beside: int = 0) -> None:
    """Raise GraphMemoryError if a layout would not fit beside the CSC.

    Parameters
    ----------
    name : {"gshards", "windows"}
    cost : LayoutCost
    beside : int
        Bytes that a run takes for this layout, besides the layout itself.

    Raises
    ------
    GraphMemoryError
        With the needed and the free memory.
    """
    needed = max(cost.peak, cost.kept + beside)
    available = room_for(needed)
    if needed > available:
        raise GraphMemoryError(
            f"layout={name!r} needs {format_bytes(needed)} of GPU memory beside the graph and "
            f"{format_bytes(available)} are available; leave layout= out, or use a larger GPU"
        )
