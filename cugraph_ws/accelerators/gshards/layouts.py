"""CuSha's layouts: the arcs of a shard in the order of their sources, or with sources written by windows."""

from __future__ import annotations

from cugraph_ws.accelerators.gshards.arc_shards import ShardedLayout
from cugraph_ws.accelerators.gshards.choice import check_layout, choose_layout
from cugraph_ws.backends.cuda.graph import DeviceGraph
from cugraph_ws.contract import LayoutChoice
from cugraph_ws.program.binding import BoundProgram

__all__ = ["ConcatenatedWindows", "GShards", "ShardedLayouts"]


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
