"""Whether `layout="auto"` converts the arcs of a graph to G-Shards: what a superstep gains, and what they cost.

Sums of floats are added up in another order over shards.  So that results repeat bit by bit, the
choice for such a program depends on the graph, the program and the options of the run alone.  Only
where all layouts give the same bits does it depend on what has been run before.
"""

from __future__ import annotations

from typing import NamedTuple

from cugraph_ws.backends.cuda.graph import DeviceGraph
from cugraph_ws.backends.cuda.layouts import layout_of
from cugraph_ws.backends.cuda.planner import why_not_sharded
from cugraph_ws.contract import LayoutName
from cugraph_ws.program.binding import BoundProgram
from cugraph_ws.runtime.device import device

__all__ = ["LayoutChoice", "choose_layout", "same_bits"]

# As measured on an H200, see `docs/decisions/041`
LEAST_ARCS = 1 << 26  # shards of a graph with a quarter of that are slower than the CSC
COST = 12.0  # time to make shards, in supersteps over the CSC
# (most sectors per arc in a shard, part of a superstep's time that is saved)
GAINS = ((0.65, 0.11), (0.88, 0.065))


class LayoutChoice(NamedTuple):
    """A layout, and the reason for it as text."""

    name: LayoutName
    why: str


def same_bits(bound: BoundProgram) -> bool:
    """Return whether a program's states are the same bits over every layout.

    Parameters
    ----------
    bound : BoundProgram

    Returns
    -------
    bool
        False if floats are summed: as messages, as aggregates, or as the residual that ends a run; and
        for a combine of the user's.
    """
    program, kinds = bound.program, bound.types.message
    exact = program.combine in ("min", "max") or (
        program.combine == "sum" and not any(kind.startswith("float") for kind in kinds)
    )
    summed = program.residual is not None and program.residual.kind == "l1"
    return exact and not summed and not program.aggregates


def choose_layout(
    bound: BoundProgram, graph: DeviceGraph, *, max_iter: int | None, tol: float | None
) -> LayoutChoice:
    """Choose the layout of a run in which all vertices gather from all.

    Parameters
    ----------
    bound : BoundProgram
    graph : DeviceGraph
        The whole graph.
    max_iter : int or None
        Supersteps that the run may take.
    tol : float or None
        Bound of the residual.

    Returns
    -------
    LayoutChoice
    """
    reason = why_not_sharded(bound)
    if reason is not None:
        return LayoutChoice("csc", reason)
    if graph.arcs < LEAST_ARCS:
        return LayoutChoice("csc", f"{graph.arcs:,} arcs are few")
    certain = 0 if max_iter is None or (tol is not None and tol > 0) else max_iter
    history = graph.gathered if same_bits(bound) else 0
    expected = max(certain, history)
    least = COST / max(gain for _, gain in GAINS)
    if expected < least:
        return LayoutChoice(
            "csc",
            f"shards pay off after {least:.0f} supersteps or more, and {expected} are certain",
        )
    sectors = graph.shard_sectors
    reason = f"an arc reads {sectors:.2f} sectors in a shard"
    gain = next((gain for most, gain in GAINS if sectors <= most), None)
    if gain is None:
        return LayoutChoice("csc", f"{reason}: shards do not pay")
    needed = COST / gain
    if expected < needed:
        return LayoutChoice(
            "csc",
            f"{reason}: shards pay off after {needed:.0f} supersteps, and {expected} are certain",
        )
    cost = layout_of("gshards").cost(graph.arcs, graph.size)
    if "gshards" not in graph.layouts and 2 * cost.peak > device().free_memory():
        return LayoutChoice("csc", "shards would take more than half of the free memory")
    return LayoutChoice(
        "gshards", f"{reason}: shards pay off after {needed:.0f} of {expected} supersteps"
    )
