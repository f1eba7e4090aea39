"""CuSha's layouts: the arcs of a shard in the order of their sources, or with sources written by windows.

Whether `layout="auto"` converts the arcs of a graph to G-Shards depends on what a superstep gains, and what they cost.

Sums of floats are added up in another order over shards.  So that results repeat bit by bit, the
choice for such a program depends on the graph, the program and the options of the run alone.  Only
where all layouts give the same bits does it depend on what has been run before.
"""

from __future__ import annotations

import numpy as np

from cugraph_ws.accelerators.gshards.arc_shards import ShardedLayout
from cugraph_ws.backends.cuda.graph import DeviceGraph
from cugraph_ws.contract import LayoutChoice
from cugraph_ws.errors import InputError
from cugraph_ws.program.binding import BoundProgram
from cugraph_ws.runtime.arrays import count_true
from cugraph_ws.runtime.device import device

__all__ = [
    "ConcatenatedWindows",
    "GShards",
    "ShardedLayouts",
    "check_layout",
    "choose_layout",
    "same_bits",
    "shard_sectors",
    "why_not_sharded",
]

# As measured on an H200, see `docs/decisions/041`
LEAST_ARCS = 1 << 26  # shards of a graph with a quarter of that are slower than the CSC
COST = 12.0  # time to make shards, in supersteps over the CSC
# (most sectors per arc in a shard, part of a superstep's time that is saved)
GAINS = ((0.65, 0.11), (0.88, 0.065))
SAMPLED, SAMPLED_ARCS = 32, 12 << 10  # sampled shards, and arcs of each


class GShards(ShardedLayout):
    """Shards of destinations; neighbouring threads read sources that are near each other.

    See `kernels/accelerators/gshards/arc_shards.py`.
    """

    name = "gshards"


class ConcatenatedWindows(ShardedLayout):
    """Shards of destinations whose arcs read slots, one after the other.

    A first launch has a window of sources in shared memory, and writes to the slots.  Windows with
    few arcs for each shard have no slots: those arcs are read as in `gshards`.
    See `kernels/accelerators/gshards/arc_shards.py`.
    """

    name = "windows"
    windows = True


class ShardedLayouts:
    """Both layouts; see `cugraph_ws.contract.DeviceLayouts`."""

    def layout_of(self, name: str) -> type[ShardedLayout]:
        """Return the class of a layout."""
        return {"gshards": GShards, "windows": ConcatenatedWindows}[name]

    def check(
        self,
        bound: BoundProgram,
        direction: str,
        layout: str,
        *,
        in_place: bool | None,
        scheduled: bool,
    ) -> None:
        """Raise if a program cannot run as the options say over a layout asked for by name."""
        check_layout(bound, direction, layout, in_place=in_place, scheduled=scheduled)

    def choose(
        self, bound: BoundProgram, graph: DeviceGraph, *, max_iter: int | None, tol: float | None
    ) -> LayoutChoice:
        """Choose the layout of a run in which all vertices gather from all."""
        return choose_layout(bound, graph, max_iter=max_iter, tol=tol)


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
    if graph.arcs_on_host:
        return LayoutChoice("csc", "arcs are in the host's memory")
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
    sectors = shard_sectors(graph)
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
    cost = ShardedLayout.cost(graph.arcs, graph.size)
    if "gshards" not in graph.layouts and 2 * cost.peak > device().free_memory():
        return LayoutChoice("csc", "shards would take more than half of the free memory")
    return LayoutChoice(
        "gshards", f"{reason}: shards pay off after {needed:.0f} of {expected} supersteps"
    )


def shard_sectors(graph: DeviceGraph) -> float:
    """Return the mean sectors of source values read per arc, if a shard reads its sources in their order.

    It is sampled once for each graph, from some shards of 12 Ki arcs.  A sector is 32 bytes, a value is 4.

    Parameters
    ----------
    graph : DeviceGraph
        With arcs.
    """
    if "shard sectors" not in graph.measured:
        xp, indices = device().xp, graph.csc.indices
        each = min(SAMPLED_ARCS, graph.arcs)
        firsts = np.linspace(0, graph.arcs - each, SAMPLED).astype(np.int64)
        lines = xp.stack([indices[first : first + each] >> 3 for first in firsts.tolist()])
        lines.sort(axis=1)
        starts = count_true(lines[:, 1:] != lines[:, :-1]) + SAMPLED
        graph.measured["shard sectors"] = starts / (SAMPLED * each)
    return graph.measured["shard sectors"]


def check_layout(
    bound: BoundProgram, direction: str, layout: str, *, in_place: bool | None, scheduled: bool
) -> None:
    """Raise if shards are requested for supersteps that cannot run over them.

    Parameters
    ----------
    bound : BoundProgram
    direction : str
        The requested direction.
    layout : {"gshards", "windows"}
    in_place : bool or None
        Whether supersteps in place are requested.
    scheduled : bool
        Whether a schedule of gathers is requested.

    Raises
    ------
    InputError
    """
    reason = why_not_sharded(bound)
    if reason is not None:
        raise InputError(f"layout={layout!r}: {reason}; leave it out")
    if direction in ("push", "pull"):
        raise InputError(
            f"layout={layout!r}: supersteps over shards gather from all in-neighbours, not by "
            f"direction={direction!r}; leave one of them out"
        )
    if in_place:
        raise InputError(
            f"layout={layout!r}: supersteps over shards are not in place; leave in_place= out"
        )
    if scheduled:
        raise InputError(
            f"layout={layout!r}: method= is a schedule of gathers over the CSC; leave one of them out"
        )


def why_not_sharded(bound: BoundProgram) -> str | None:
    """Return why a program's supersteps cannot go over shards, or None if they can.

    Parameters
    ----------
    bound : BoundProgram
    """
    program = bound.program
    if program.edge_state:
        return f"{program.name} keeps state on edges, in the order of the CSC"
    if program.listing is not None:
        return f"{program.listing!r} of {program.name} lists the messages of a row, but shards fold them"
    if program.reads_target:
        return f"{program.name}.compute takes `dst`, but shards hold values of sources only"
    if not bound.gathers_from_all and not bound.may_gather_from_all:
        return f"{program.name} counts the messages of active vertices only, but shards fold those of all"
    if program.jumps:
        return (
            f"{program.name} reads states at other vertices before each superstep, and shards keep copies "
            "of what vertices read"
        )
    return None
