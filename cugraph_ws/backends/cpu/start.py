"""Find the vertices that are active before the first superstep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from cugraph_ws.backends.cpu.context import Array, Context
from cugraph_ws.program.binding import BoundProgram
from cugraph_ws.program.decorator import VertexProgram
from cugraph_ws.runtime.threads import cut_evenly

__all__ = [
    "FEW", "FEW_SHARE", "common_place", "declared_frontier", "first_frontier", "may_be_quiet", "sampled",
]  # fmt: skip

FEW = 32  # vertices with an exceptional state, or a part of all
FEW_SHARE = 8
SAMPLE = 9  # vertices among which the most frequent state is taken
MANY, SAMPLE_OF_MANY = 1 << 16, 65  # the same in graphs of so many vertices


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
    found = np.empty(part.size, context.index)
    count = context.loops.list_unlike(0, part.size, context.state, part.constants, example, found)
    if count > max(FEW, part.size // FEW_SHARE):
        return everyone
    others = found[:count].copy()
    return others if _is_quiet(context, example, others) else everyone


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
    found = np.empty(part.size, context.index)
    count = context.loops.select_started(
        0, part.size, context.state, part.constants, context.values, found
    )
    return found[:count].copy()


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
    return any(names & set(program.constants) for one in read for names in one)


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
    whole = 2 <= part.owned == part.vertices
    return whole and bound.order_free and not reads_constants(bound.program)


def _is_quiet(context: Context, example: int, others: Array) -> bool:
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
            others[others < part.owned],
            context.rows("csc"),
            part.edges("csc"),
            state,
            part.constants,
            values,
            example,
        )
    )
