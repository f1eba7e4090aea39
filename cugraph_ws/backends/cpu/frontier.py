"""The active vertices of a partition: before the first superstep, and as a list or as a bitmap later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from cugraph_ws.backends.cpu.context import Array, Context
from cugraph_ws.kernels.cpu import frontier as loops
from cugraph_ws.program.binding import BoundProgram
from cugraph_ws.program.vertex_program import VertexProgram
from cugraph_ws.runtime.threads import cut_evenly

__all__ = [
    "FEW", "FEW_SHARE", "Frontier", "common_place", "declared_frontier", "first_frontier", "may_be_quiet",
    "on_words", "sampled",
]  # fmt: skip

FEW = 32  # vertices with an exceptional state, or a part of all
FEW_SHARE = 8
SAMPLE = 9  # vertices among which the most frequent state is taken
MANY, SAMPLE_OF_MANY = 1 << 16, 65  # the same in graphs of so many vertices

Bitmap = npt.NDArray[np.uint32]


class Frontier:
    """Active vertices, as a list or as a bitmap, whichever was requested last; a list keeps its order, a bitmap gives ascending order.

    Parameters
    ----------
    context : Context
        The program and the partition.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._list: Array | None = np.empty(0, context.index)
        self._bitmap: Bitmap | None = None
        self._counts: tuple[int, int] | None = None  # cached until the set changes

    def set_list(self, vertices: Array) -> None:
        """Set the active vertices to a list."""
        self._list, self._bitmap, self._counts = vertices, None, None

    def set_bitmap(self, bitmap: Bitmap) -> None:
        """Set the active vertices to the bits of a bitmap."""
        self._list, self._bitmap, self._counts = None, bitmap, None

    def add(self, vertices: Array) -> None:
        """Add vertices that are not active yet."""
        if self._list is not None:
            self.set_list(np.concatenate([self._list, vertices]))
        elif self._bitmap is not None:
            loops.list_to_bitmap(vertices, self._bitmap)
            self._counts = None

    def as_list(self) -> Array:
        """Return the active vertices as a list."""
        if self._list is None:
            assert self._bitmap is not None
            size = self._context.part.size
            vertices = np.empty(size, self._context.index)
            count = loops.list_from_bitmap(0, size, self._bitmap, vertices)
            self._list = vertices[:count].copy()
        return self._list

    def as_bitmap(self) -> Bitmap:
        """Return the active vertices as a bitmap of 32-bit words."""
        if self._bitmap is None:
            assert self._list is not None
            self._bitmap = np.zeros((self._context.part.size + 31) // 32, np.uint32)
            loops.list_to_bitmap(self._list, self._bitmap)
        return self._bitmap

    def count(self) -> tuple[int, int]:
        """Return the number of active owned vertices, and of out-arcs of all active vertices."""
        if self._counts is None:
            self._counts = self._count()
        return self._counts

    def _count(self) -> tuple[int, int]:
        part = self._context.part
        offsets = part.csr.offsets
        if self._list is not None:
            own_counts = (
                len(self._list)
                if part.size == part.owned
                else int(np.count_nonzero(self._list < part.owned))
            )
            return own_counts, int((offsets[self._list + 1] - offsets[self._list]).sum())
        assert self._bitmap is not None
        ranges = on_words(cut_evenly(part.size, self._context.pieces(part.size)))
        totals = np.zeros((len(ranges), 2), np.int64)
        self._context.run(
            loops.count_arcs,
            [
                (*bounds, part.owned, self._bitmap, offsets, totals[place])
                for place, bounds in enumerate(ranges)
            ],
        )
        active, arcs = totals.sum(axis=0).tolist()
        return active, arcs


def on_words(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Align the bounds of vertex ranges to words of a bitmap.

    Parameters
    ----------
    ranges : list of (int, int)
        Adjacent ranges, the first from 0.

    Returns
    -------
    list of (int, int)
        Ranges that begin at multiples of 32, none empty.
    """
    if not ranges:
        return []
    bounds = sorted({(low // 32) * 32 for low, _ in ranges} | {ranges[-1][1]})
    return list(pairwise(bounds))


# -------------------------------------------------------------------------------- before the first superstep


def first_frontier(context: Context) -> Array:
    """List the vertices that a program starts from.

    Without a `starts` function every vertex is active at first.  If nearly all vertices have the
    same state, as before a search, messages between these often change nothing.  One pass over the
    edge attributes proves that, and then only the other vertices are listed.

    Parameters
    ----------
    context : Context
        The program and the partition; the state is initialised.

    Returns
    -------
    ndarray
        Positions, ascending.
    """
    part = context.part
    everyone = declared_frontier(context)
    if "starts" in context.bound.program.functions or not may_be_quiet(context.bound, part):
        return everyone
    places = sampled(part.size)
    example = common_place(places, [column[places].tolist() for column in context.state])
    if example is None:
        return everyone
    positions = np.empty(part.size, context.index)
    count = context.loops.list_unlike(
        0, part.size, context.state, part.constants, example, positions
    )
    if count > max(FEW, part.size // FEW_SHARE):
        return everyone
    later = positions[:count].copy()
    return later if _is_quiet(context, example, later) else everyone


def declared_frontier(context: Context) -> Array:
    """List the vertices for which `starts` is true; all, if the program has no such function.

    Parameters
    ----------
    context : Context
        The program and the partition, with their states.

    Returns
    -------
    ndarray
        Positions, ascending.
    """
    part = context.part
    if "starts" not in context.bound.program.functions:
        return np.arange(part.size, dtype=context.index)
    positions = np.empty(part.size, context.index)
    count = context.loops.select_started(
        0, part.size, context.state, part.constants, context.values, positions
    )
    return positions[:count].copy()


def sampled(size: int) -> npt.NDArray[np.int64]:
    """Return the positions, ascending, whose states `common_place` takes.

    Parameters
    ----------
    size : int
        Number of vertices, at least 1.
    """
    count = SAMPLE if size < MANY else SAMPLE_OF_MANY
    return np.linspace(0, size - 1, count).astype(np.int64)


def common_place(places: npt.NDArray[np.int64], columns: Sequence[Sequence[Any]]) -> int | None:
    """Return a position with the most frequent state of a sample.

    Parameters
    ----------
    places : ndarray of int64
        From `sampled`.
    columns : sequence of sequence
        For each field its values at these positions.

    Returns
    -------
    int or None
        None if many vertices are sampled, and less than three quarters have the same state: then the exceptional
        ones need not be counted.
    """
    states = list(zip(*columns, strict=True))
    state, count = Counter(states).most_common(1)[0]
    if len(states) > SAMPLE and 4 * count < 3 * len(states):
        return None
    return int(places[states.index(state)])


def reads_constants(program: VertexProgram) -> bool:
    """Return whether messages, updates or activity depend on more of a vertex than its state."""
    read = (
        program.sources[name].attributes.values()
        for name in ("compute", "apply", "active")
        if name in program.sources
    )
    return any(names & set(program.constants) for names_read in read for names in names_read)


class Whole(Protocol):
    """The attributes that distinguish a whole graph from a part of one."""

    vertices: int
    owned: int


def may_be_quiet(bound: BoundProgram, part: Whole) -> bool:
    """Return whether it is safe, and pays, to look for vertices with nothing to send at first.

    Parameters
    ----------
    bound : BoundProgram
        The program and its traits.
    part : ProgramPart
        A part of a graph lacks the arcs into other parts, so there every vertex is active.

    Returns
    -------
    bool
    """
    is_whole = 2 <= part.owned == part.vertices
    return is_whole and bound.order_free and not reads_constants(bound.program)


def _is_quiet(context: Context, example: int, later: Array) -> bool:
    """Return whether messages of vertices with `example`'s state change no vertex."""
    part, state, values = context.part, context.state, context.values
    edges = part.edges("csr")
    arcs = len(part.csr.indices)
    if not any(len(column) for column in edges):
        arcs = min(arcs, 1)  # all arcs are equal
    tasks = [
        (low, high, edges, state, part.constants, values, example)
        for low, high in cut_evenly(arcs, context.pieces(arcs))
    ]
    if not all(context.run(context.loops.arcs_are_quiet, tasks)):
        return False
    return bool(
        context.loops.rows_are_quiet(
            later[later < part.owned],
            context.rows("csc"),
            part.edges("csc"),
            state,
            part.constants,
            values,
            example,
        )
    )
