"""CuSha's layouts: the arcs of a shard in the order of their sources, or with sources written by windows."""

from __future__ import annotations

from cugraph_ws.accelerators.gshards.arc_shards import ShardedLayout
from cugraph_ws.errors import InputError
from cugraph_ws.program.binding import BoundProgram

__all__ = [
    "ConcatenatedWindows",
    "GShards",
    "ShardedLayouts",
    "check_layout",
    "why_not_sharded",
]


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
