"""How dense supersteps read arcs: the CSC, with blocks for each class of in-degrees, or an accelerator's layout."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cugraph_ws.backends.cuda.graph import DeviceGraph
from cugraph_ws.backends.cuda.rows import Rows
from cugraph_ws.contract import LayoutCost, LayoutName
from cugraph_ws.kernels.cuda.layout import PIECE
from cugraph_ws.partition.part import ProgramPart
from cugraph_ws.runtime.device import Device, KernelModule, device
from cugraph_ws.runtime.dispatch import provider

__all__ = [
    "BLOCK", "MIDDLE", "CscLayout", "Schedule", "class_starts", "cut_in_two", "launch_shape", "layout_of",
    "piece_of", "plan_schedule", "room_for_long_rows",
]  # fmt: skip

BLOCK = 256  # threads
HUB = 4096  # in-degree from which a row is split among blocks
CHUNK = 4096  # arcs of a hub for one block
MIDDLE = 128  # in-degree from which a vertex has a warp of its own
# The same in graphs of fewer arcs: a warp goes through 32 rows of the low class, which no other work hides there
FEW, MIDDLE_OF_FEW = 8 << 20, 32
BLOCKS_A_MULTIPROCESSOR = 16  # for each class
HEAD_PART = 4  # vertices with one in so many arcs are computed while the others are sent
BRIEF = 8  # factor of the number of blocks if another kernel is to run at the same time


@dataclass(frozen=True)
class Schedule:
    """The launch of a superstep, or of a part of one.

    Attributes
    ----------
    shape : tuple
        Number of vertices of the whole graph, first middle position, first low position, end of the
        low positions, blocks for hubs, blocks for the middle class, blocks of earlier parts, and
        whether parts follow.
    hubs : tuple
        Chunks of hubs, as `kernels/cuda/superstep.py` takes them.
    launch : (int, int)
        Blocks, and threads per block.
    """

    shape: tuple[int, int, int, int, int, int, int, bool]
    hubs: tuple[Any, ...]
    launch: tuple[int, int]

    def parts(self, device: Device, cut: int) -> tuple[Schedule, Schedule]:
        """Return the launches of two parts: first positions from `cut` on, then those before.

        The second launch has many short blocks, so that a kernel beside it soon finds room.

        Parameters
        ----------
        device : Device
            Where they run.
        cut : int
            An owned position after the hubs, or the end of the owned positions.
        """
        vertices, middle, low, end, *_ = self.shape
        most = BLOCKS_A_MULTIPROCESSOR * device.multiprocessors
        tail = _planned(
            (vertices, max(middle, cut), max(low, cut), end), self.hubs, 0, most, 0, more=True
        )
        head = _planned(
            (vertices, middle, min(low, cut), cut), self.hubs, self.shape[4], BRIEF * most,
            tail.launch[0], more=False,
        )  # fmt: skip
        return tail, head


def launch_shape(device: Device, items: int) -> tuple[int, int]:
    """Return the number of blocks, and of threads per block, for a loop over `items`.

    Parameters
    ----------
    device : Device
        Where the loop runs.
    items : int

    Returns
    -------
    (int, int)
    """
    return device.blocks_for(items, BLOCK), BLOCK


def room_for_long_rows(device: Device, graph: DeviceGraph) -> tuple[Any, Any]:
    """Allocate a queue for the pieces of all rows that are longer than a piece.

    Parameters
    ----------
    device : Device
        Where the graph is.
    graph : DeviceGraph

    Returns
    -------
    (array, array)
        Room for the row of each piece, and for its place in the row.
    """
    pieces = 2 * graph.arcs // PIECE + 1  # only longer rows are cut
    return device.xp.empty(pieces, graph.numbers.dtype), device.xp.empty(pieces, np.int32)


def class_starts(laid: DeviceGraph, arcs: int) -> tuple[int, int]:
    """Return where the vertices with a warp of their own begin, and where those that share one do.

    Parameters
    ----------
    laid : DeviceGraph
        Vertices are in falling order of their in-degrees.
    arcs : int
        Of the partition; the degrees depend on it alone, and so are the same on every GPU.

    Returns
    -------
    (int, int)
        Positions.
    """
    middle = laid.vertices_with(HUB)
    return middle, max(middle, laid.vertices_with(MIDDLE_OF_FEW if arcs < FEW else MIDDLE))


def plan_schedule(device: Device, part: ProgramPart, message: tuple[str, ...]) -> Schedule:
    """Split a partition's owned vertices into classes by in-degree.

    Parameters
    ----------
    device : Device
        Where the partition is.
    part : ProgramPart
    message : tuple of str
        NumPy dtype names of a message's fields.

    Returns
    -------
    Schedule
    """
    owned = part.owned
    middle, low = class_starts(part.laid, part.arcs)
    most = BLOCKS_A_MULTIPROCESSOR * device.multiprocessors
    hubs = _hubs(device, part, middle, message)
    positions = (part.vertices, middle, low, owned)
    return _planned(positions, hubs, min(hubs[-1], most), most, 0, more=False)


def cut_in_two(part: ProgramPart) -> int:
    """Return where to cut a superstep: the positions before have about a quarter of the arcs.

    The hubs are before the cut.

    Parameters
    ----------
    part : ProgramPart

    Returns
    -------
    int
    """
    offsets = part.csc.offsets[: part.owned + 1]
    share = device().xp.asarray([part.arcs // HEAD_PART], offsets.dtype)
    return max(int(part.laid.vertices_with(HUB)), int(offsets.searchsorted(share)[0]))


class CscLayout:
    """Rows of in-neighbours, as the build leaves them: a schedule for each class of in-degrees.

    Parameters
    ----------
    device : Device
    part : ProgramPart
    message, sources : tuple of str
        NumPy dtype names of a message's fields, and of what an arc reads of its source.

    Attributes
    ----------
    schedule : Schedule
        The launch of a superstep.
    """

    name: LayoutName = "csc"
    compiled_as = "csc"
    loops: tuple[str, ...] = ()
    in_parts = True

    def __init__(
        self, device: Device, part: ProgramPart, message: tuple[str, ...], sources: tuple[str, ...]
    ) -> None:  # fmt: skip
        self._rows: Rows = part.csc
        self.schedule = plan_schedule(device, part, message)

    @classmethod
    def cost(cls, arcs: int, vertices: int) -> LayoutCost:
        """Return zeros: the graph's build makes the CSC."""
        return LayoutCost()

    @staticmethod
    def adaptors(program: Any, types: Any, variant: Any) -> list[str]:
        """Return nothing: rows need no further functions of a program."""
        return []

    @property
    def arrays(self) -> dict[str, Any]:
        """The stored arrays, by name."""
        return self._rows._asdict()

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(int(array.nbytes) for array in self._rows)

    @property
    def blocks(self) -> int:
        """Blocks of a superstep that write partial counts."""
        return self.schedule.launch[0]

    def superstep(self, kernels: KernelModule, arguments: tuple[Any, ...]) -> Callable[[], None]:
        """Return what launches a superstep; see `cugraph_ws.contract.Layout`."""
        schedule = self.schedule
        return kernels.prepare(
            "superstep", *schedule.launch, schedule.shape, schedule.hubs, *arguments
        )


def layout_of(name: str) -> Any:
    """Return the class of a layout.

    Parameters
    ----------
    name : str
        "csc", or a layout of an accelerator.

    Returns
    -------
    type
        See `cugraph_ws.contract.Layout`.

    Raises
    ------
    EngineError
        If its accelerator is left out.
    """
    if name != "csc":
        return provider("accelerators").layout_of(name)
    return CscLayout


def piece_of(
    device: Device, whole: Schedule, rows: tuple[int, int], chunks: Any, earlier: int
) -> Schedule:
    """Return the launch for some of the rows of a whole graph.

    Parameters
    ----------
    device : Device
        Where it runs.
    whole : Schedule
    rows : (int, int)
        The first position, and the one after the last; where rows share warps, both are a warp's first.
    chunks : ndarray of int64, shape (hubs + 1,)
        The first chunk of each hub.
    earlier : int
        Blocks of the launches for earlier rows.
    """
    vertices, middle, low, end, *_ = whole.shape
    first, last = rows
    owners, begins, ends, firsts, done, parts, parts_found, _ = whole.hubs
    begin, until = (int(chunks[min(row, middle)]) for row in rows)
    some = slice(begin, until)
    hubs = (
        owners[some], begins[some], ends[some], firsts - begin, done,
        tuple(part[some] for part in parts), parts_found[some], until - begin,
    )  # fmt: skip
    starts = [min(max(start, first), last) for start in (middle, low)]
    positions = (vertices, starts[0], starts[1], last)
    most = BLOCKS_A_MULTIPROCESSOR * device.multiprocessors
    return _planned(positions, hubs, min(until - begin, most), most, earlier, more=last < end)


def _planned(
    positions: tuple[int, int, int, int],
    hubs: tuple[Any, ...],
    hub_blocks: int,
    most: int,
    earlier: int,
    *,
    more: bool,
) -> Schedule:
    """Return a launch; `most` bounds the blocks for each class."""
    vertices, middle, low, end = positions
    warps = BLOCK // 32
    middle_blocks = min(-(-(low - middle) // warps), most)
    low_blocks = max(1, min(-(-(end - low) // (32 * warps)), most))
    return Schedule(
        shape=(vertices, middle, low, end, hub_blocks, middle_blocks, earlier, more),
        hubs=hubs,
        launch=(hub_blocks + middle_blocks + low_blocks, BLOCK),
    )


def _hubs(
    device: Device, part: ProgramPart, count: int, message: tuple[str, ...]
) -> tuple[Any, ...]:
    """Return the chunks of the first `count` vertices, and room for the result of each chunk."""
    xp = device.xp
    chunks = part.laid.chunks(count, CHUNK)
    total = len(chunks[0])
    parts = tuple(xp.empty(total, kind) for kind in message)
    return (*chunks, xp.zeros(count, np.int64), parts, xp.zeros(total, np.uint8), total)
