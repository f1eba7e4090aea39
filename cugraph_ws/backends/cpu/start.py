"""Who is active before the first superstep."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from cugraph_ws.backends.cpu.context import Array, Context
from cugraph_ws.program.binding import BoundProgram
from cugraph_ws.program.decorator import VertexProgram
from cugraph_ws.runtime.threads import cut_evenly

__all__ = ["FEW", "FEW_SHARE", "SAMPLE", "first_frontier", "may_be_quiet"]

FEW = 32  # vertices of an exceptional state, or a share of all
FEW_SHARE = 8
SAMPLE = 9  # vertices of which the most common state is taken


def first_frontier(context: Context) -> Array:
    """List the vertices that a program starts from.

    Without a `starts` function everyone is active at first.  Where nearly all vertices have the
    same state, as before a search, it is often plain that they have nothing to tell each other:
    one pass over the edge attributes proves it, and only the others are listed.

    Parameters
    ----------
    context : Context
        The program and the partition, the state initialised.

    Returns
    -------
    ndarray
        Positions, ascending.
    """
    program, part = context.bound.program, context.part
    everyone = np.arange(part.size, dtype=context.index)
    found = np.empty(part.size, context.index)
    if "starts" in program.functions:
        count = context.loops.select_started(
            0, part.size, context.state, part.constants, context.values, found
        )
        return found[:count].copy()
    if not may_be_quiet(context.bound, part):
        return everyone
    example = _common_vertex(context)
    count = context.loops.list_unlike(0, part.size, context.state, part.constants, example, found)
    if count > max(FEW, part.size // FEW_SHARE):
        return everyone
    others = found[:count].copy()
    return others if _is_quiet(context, example, others) else everyone


def _common_vertex(context: Context) -> int:
    """Return a vertex whose state is shared by most of a sample, if any state is."""
    places = np.linspace(0, context.part.size - 1, SAMPLE).astype(np.int64)
    rows = [tuple(column[place].item() for column in context.state) for place in places]
    return int(places[rows.index(max(rows, key=rows.count))])


def reads_constants(program: VertexProgram) -> bool:
    """Tell whether what a vertex sends, or takes, or is active by, depends on more than its state."""
    read = (
        program.sources[name].attributes.values()
        for name in ("compute", "apply", "active")
        if name in program.sources
    )
    return any(names & set(program.constants) for one in read for names in one)


class Whole(Protocol):
    """What tells a whole graph from a part of one."""

    vertices: int
    owned: int


def may_be_quiet(bound: BoundProgram, part: Whole) -> bool:
    """Tell whether it is worth asking who has nothing to send at first, and safe.

    Parameters
    ----------
    bound : BoundProgram
        The program and its traits.
    part : Partition
        A part of a graph does not show the arcs into other parts, so there everyone is active.

    Returns
    -------
    bool
    """
    whole = 2 <= part.owned == part.vertices
    return whole and bound.order_free and not reads_constants(bound.program)


def _is_quiet(context: Context, example: int, others: Array) -> bool:
    """Tell whether vertices like `example` have nothing new to say to anyone."""
    part, state, values = context.part, context.state, context.values
    edges = part.edges("csr")
    arcs = len(part.csr.indices)
    if not any(len(column) for column in edges):
        arcs = min(arcs, 1)  # all arcs are alike
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
