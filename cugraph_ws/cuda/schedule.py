"""Which vertices go by which schedule, and how many blocks work on each class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cugraph_ws.cuda.device import Device, KernelModule, Prepared
from cugraph_ws.cuda.graph import DeviceGraph
from cugraph_ws.cuda.partition import DevicePartition
from cugraph_ws.kernels.cuda.layout import PIECE

__all__ = [
    "BLOCK", "Schedule", "launch_shape", "launch_together", "plan_schedule", "prepare_together",
    "room_for_long_rows",
]  # fmt: skip

BLOCK = 256  # threads
HUB = 4096  # in-degree from which a vertex is shared out among blocks
CHUNK = 4096  # arcs of a hub for one block
MIDDLE = 128  # in-degree from which a vertex has a warp of its own
BLOCKS_A_MULTIPROCESSOR = 16  # for each class


@dataclass(frozen=True)
class Schedule:
    """The launch of a superstep.

    Attributes
    ----------
    shape : tuple of int
        Number of vertices of the whole graph, of owned ones, first middle and first low position,
        blocks for hubs, and for the middle.
    hubs : tuple
        Chunks of hubs, as `kernels/cuda/superstep.py` takes them.
    launch : (int, int)
        Blocks, and threads of a block.
    """

    shape: tuple[int, int, int, int, int, int]
    hubs: tuple[Any, ...]
    launch: tuple[int, int]


def launch_shape(device: Device, items: int) -> tuple[int, int]:
    """Return blocks, and threads of a block, for a loop over `items`.

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


def launch_together(
    device: Device, module: KernelModule, name: str, items: int, block: int, *arguments: Any
) -> None:
    """Launch a kernel whose blocks meet; see `prepare_together`."""
    prepare_together(device, module, name, items, block, *arguments)()


def prepare_together(
    device: Device, module: KernelModule, name: str, items: int, block: int, *arguments: Any
) -> Prepared:
    """Prepare a kernel whose blocks meet: a thread for each item, as far as all blocks fit at once.

    Parameters
    ----------
    device : Device
        Where it runs.
    module : KernelModule
        The kernel's.
    name : str
        Of the kernel.
    items : int
    block : int
        Threads of a block.
    *arguments : Any
        The kernel's.

    Returns
    -------
    Prepared
    """
    most = device.most_blocks(module, name, block, *arguments)
    grid = min(device.blocks_for(items, block), most)
    return module.prepare(name, grid, block, *arguments, cooperative=True)


def room_for_long_rows(device: Device, graph: DeviceGraph) -> tuple[Any, Any]:
    """Return a queue for the pieces of all rows that are longer than one: rows, and pieces of them.

    Parameters
    ----------
    device : Device
        Where the graph is.
    graph : DeviceGraph

    Returns
    -------
    (array, array)
    """
    pieces = 2 * graph.arcs // PIECE + 1  # only longer rows are cut
    return device.xp.empty(pieces, graph.numbers.dtype), device.xp.empty(pieces, np.int32)


def plan_schedule(device: Device, part: DevicePartition, message: tuple[str, ...]) -> Schedule:
    """Cut a partition's own vertices into classes by in-degree.

    Parameters
    ----------
    device : Device
        Where the partition is.
    part : DevicePartition
    message : tuple of str
        NumPy's names of the types of a message's numbers.

    Returns
    -------
    Schedule
    """
    owned = part.owned
    middle = part.vertices_with(HUB)
    low = max(middle, part.vertices_with(MIDDLE))
    warps = BLOCK // 32
    most = BLOCKS_A_MULTIPROCESSOR * device.multiprocessors
    hubs = _hubs(device, part, middle, message)
    hub_blocks = min(hubs[-1], most)
    middle_blocks = min(-(-(low - middle) // warps), most)
    low_blocks = max(1, min(-(-(owned - low) // (32 * warps)), most))
    return Schedule(
        shape=(part.vertices, owned, middle, low, hub_blocks, middle_blocks),
        hubs=hubs,
        launch=(hub_blocks + middle_blocks + low_blocks, BLOCK),
    )


def _hubs(
    device: Device, part: DevicePartition, count: int, message: tuple[str, ...]
) -> tuple[Any, ...]:
    """Cut the rows of the first `count` vertices into chunks."""
    xp = device.xp
    offsets = part.csc.offsets[: count + 1]
    chunks = -(-xp.diff(offsets) // CHUNK)
    firsts = xp.zeros(count + 1, np.int64)
    firsts[1:] = xp.cumsum(chunks)
    total = int(device.to_host(firsts[-1:])[0]) if count else 0
    numbers = xp.arange(total, dtype=np.int64)
    owners = xp.searchsorted(firsts[1:], numbers, side="right")
    begins = offsets[owners] + (numbers - firsts[owners]) * CHUNK
    ends = xp.minimum(begins + CHUNK, offsets[owners + 1])
    parts = tuple(xp.empty(total, kind) for kind in message)
    return (
        owners.astype(np.int32), begins, ends, firsts, xp.zeros(count, np.int64), parts,
        xp.zeros(total, np.uint8), total,
    )  # fmt: skip
