"""Shards of arcs for `kernels/accelerators/gshards/arc_shards.py`: how many arcs each has, and in which order.

A shard is a range of the CSC's arcs.  The source values that they read fit the shared memory of a
block.  Positions are by falling in-degree, so the rows of a shard have about the same length.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cugraph_ws.accelerators.gshards.adaptors import source_adaptors
from cugraph_ws.backends.cuda.codegen import Variant
from cugraph_ws.backends.cuda.graph import DeviceGraph
from cugraph_ws.backends.cuda.grouping import bits_for, number_dtype, run
from cugraph_ws.backends.cuda.memory import check_layout_memory
from cugraph_ws.backends.cuda.schedule import BLOCKS_A_MULTIPROCESSOR
from cugraph_ws.contract import LayoutCost, LayoutName
from cugraph_ws.errors import InputError
from cugraph_ws.kernels.cuda.layout import GROUP, NO_PLACE, SKEW_BITS
from cugraph_ws.partition.part import ProgramPart
from cugraph_ws.program.codegen import Types
from cugraph_ws.program.vertex_program import VertexProgram
from cugraph_ws.runtime.device import Device, KernelModule

__all__ = ["Launches", "ShardedLayout", "Shards", "Sizes", "Slots", "make", "sizes_of"]

DeviceArray = Any  # CuPy's or NumPy's

BLOCK = 256  # threads: registers for three blocks of a multiprocessor
SHARED = 48 << 10  # bytes of a shard, or of a window: room for four blocks
# Of graphs of few arcs, whose shards would be fewer than multiprocessors; the same on every GPU, so that sums are too
FEW, SHARED_OF_FEW = 6 << 20, 24 << 10
SHARD_PARTS = 8  # shards are sorted an eighth at a time, if there are so many
PADDED = 1.25  # mean slots per arc of windows with eight arcs or more per shard
LEAST = GROUP  # mean arcs per shard from which a window has slots
TASK = 1 << 13  # groups of slots that a block fills at a time
MOST = NO_PLACE & -GROUP  # bound of the arcs of a shard and of the sources of a window


class Sizes(NamedTuple):
    """Arcs of a shard, and sources of a window."""

    capacity: int
    width: int


class Slots(NamedTuple):
    """Arcs whose sources are read window by window; see `kernels/accelerators/gshards/arc_shards.py`.

    Attributes
    ----------
    firsts : device array of int64, shape (shards + 1,)
        First group of slots of each shard.
    places : device array of uint16, shape (slots,)
        Place in its shard of each slot's arc.
    mapper : device array of int32 or int64, shape (groups,)
        Group of slots of each group of items, which are the slots in the order of windows.
    sources : device array of uint16, shape (slots,)
        Source of each item, within its window.
    tasks : tuple of device arrays of int32, int64 and int64, shape (tasks,), and their number
        Window, first item and last item of each task.
    """

    firsts: DeviceArray
    places: DeviceArray
    mapper: DeviceArray
    sources: DeviceArray
    tasks: tuple[DeviceArray, DeviceArray, DeviceArray, int]


@dataclass(frozen=True)
class Shards:
    """The arcs of a graph in shards.

    Attributes
    ----------
    sizes : Sizes
    count : int
        Number of shards.
    filled : int
        Number of rows with arcs; they come first.
    rows : device array of int64, shape (shards + 1,)
        The first row that begins in each shard.
    cuts : device array of int64, shape (cut rows,)
        Rows with arcs in several shards.
    slots : Slots or None
    firsts : device array of int64, shape (shards + 1,)
        The first arc of each shard in `sources`.
    sources : device array of int32 or int64
        Sources of the arcs without slots, ascending in each shard.
    places : device array of uint16
        Places of those arcs in their shards.
    """

    sizes: Sizes
    count: int
    filled: int
    rows: DeviceArray
    cuts: DeviceArray
    slots: Slots | None
    firsts: DeviceArray
    sources: DeviceArray
    places: DeviceArray

    @property
    def arrays(self) -> dict[str, DeviceArray]:
        """The stored arrays, by name."""
        named = {
            name: getattr(self, name) for name in ("rows", "cuts", "firsts", "sources", "places")
        }
        if self.slots is not None:
            slots = self.slots._asdict()
            tasks = slots.pop("tasks")
            named |= {f"slot_{name}": array for name, array in slots.items()}
            named |= {f"task_{place}": array for place, array in enumerate(tasks[:3])}
        return named

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(int(array.nbytes) for array in self.arrays.values())


@dataclass(frozen=True)
class Launches:
    """Kernels with their arguments, launched one after the other by a call."""

    each: list[Callable[[], None]]

    def __call__(self) -> None:
        """Launch them."""
        for launch in self.each:
            launch()


def sizes_of(
    device: Device, kinds: tuple[str, ...], arcs: int, shard_bytes: int | None = None
) -> Sizes:
    """Return how many arcs a shard has, and how many sources a window.

    Parameters
    ----------
    device : Device
    kinds : tuple of str
        NumPy dtype names of what an arc reads of its source.
    arcs : int
        Of the graph.
    shard_bytes : int, optional
        Shared memory of a shard; by default as many as suit the graph.

    Returns
    -------
    Sizes

    Raises
    ------
    InputError
        If no block has so much shared memory.
    """
    if shard_bytes is not None and shard_bytes > device.shared_memory:
        raise InputError(
            f"shard_bytes={shard_bytes:,}: a block of this GPU has {device.shared_memory:,} bytes of shared memory "
            "besides what kernels need; give that or less"
        )
    each = max(1, sum(np.dtype(kind).itemsize for kind in kinds))
    wanted = shard_bytes or (min(SHARED_OF_FEW, SHARED) if arcs < FEW else SHARED)
    room = (min(wanted, device.shared_memory) // each) & -GROUP
    capacity = max(GROUP, min(MOST, room - (room >> SKEW_BITS)) & -GROUP)
    return Sizes(capacity, capacity)


def make(device: Device, graph: DeviceGraph, sizes: Sizes, *, windows: bool) -> Shards:
    """Put the arcs of a graph into shards.

    Parameters
    ----------
    device : Device
    graph : DeviceGraph
        The last positions may be ghosts, without rows.
    sizes : Sizes
    windows : bool
        Whether arcs of windows with many arcs have slots.

    Returns
    -------
    Shards
    """
    xp, arcs, capacity = device.xp, graph.arcs, sizes.capacity
    offsets, _ = graph.csc
    count = -(-arcs // capacity)
    filled = graph.vertices_with(1)
    bounds = xp.minimum(xp.arange(count + 1, dtype=np.int64) * capacity, arcs)
    rows = xp.searchsorted(offsets[: filled + 1], bounds).astype(np.int64)
    begun = rows[1:-1]
    cuts = xp.unique(begun[offsets[begun] != bounds[1:-1]] - 1)
    sources, places = _by_source(device, graph, capacity)
    slots, firsts = None, bounds
    if windows:
        slots, firsts, sources, places = _by_window(device, graph, sizes, count, sources, places)
    return Shards(sizes, count, filled, rows, cuts, slots, firsts, sources, places)


def _by_source(
    device: Device, graph: DeviceGraph, capacity: int
) -> tuple[DeviceArray, DeviceArray]:
    """Return source and place of all arcs, those of a shard in the order of their sources."""
    xp, arcs, indices = device.xp, graph.arcs, graph.csc.indices
    sources, places = xp.empty(arcs, indices.dtype), xp.empty(arcs, np.uint16)
    bits = bits_for(graph.size), bits_for(capacity)
    some = max(1, -(-arcs // capacity // SHARD_PARTS)) * capacity
    for first in range(0, arcs, some):
        count = min(some, arcs - first)
        keys = xp.empty(count, np.int64)
        run(
            device, "key_sources", count, indices, first, count, capacity, *bits, keys,
            module="gshards.shard_arcs",
        )  # fmt: skip
        keys.sort()
        run(
            device, "split_keys", count, keys, first, count, *bits, sources, places,
            module="gshards.shard_arcs",
        )  # fmt: skip
        del keys
    return sources, places


def _by_window(
    device: Device, graph: DeviceGraph, sizes: Sizes, count: int, given: DeviceArray,
    given_places: DeviceArray,
) -> tuple[Slots | None, DeviceArray, DeviceArray, DeviceArray]:  # fmt: skip
    """Give slots to the arcs of windows with many arcs; return what the others are, too.

    A piece is the arcs of a shard from one window.  Its slots are whole groups.
    """
    xp, arcs = device.xp, graph.arcs
    ranks, dense = _dense_windows(device, graph, sizes.width, count)
    pieces = count * len(dense)
    if not pieces:
        bounds = xp.minimum(xp.arange(count + 1, dtype=np.int64) * sizes.capacity, arcs)
        return None, bounds, given, given_places
    begins, lengths = xp.empty(pieces, np.int64), xp.empty(pieces, np.int64)
    run(
        device, "find_pieces", pieces, given, arcs, sizes.capacity, sizes.width, dense, len(dense),
        pieces, begins, lengths, module="gshards.shard_arcs",
    )  # fmt: skip
    groups = -(-lengths // GROUP)
    before, slot_groups = _sums(xp, lengths), _sums(xp, groups)
    by_window = _sums(xp, groups.reshape(count, len(dense)).T.ravel())
    item_groups = xp.ascontiguousarray(by_window[:-1].reshape(len(dense), count).T).ravel()
    total, covered = (int(device.to_host(offsets[-1:])[0]) for offsets in (slot_groups, before))
    rest = arcs - covered
    slot_places = xp.full(GROUP * total, NO_PLACE, np.uint16)
    window_sources = xp.zeros(GROUP * total, np.uint16)
    mapper = xp.empty(total, np.int32 if total < 1 << 31 else np.int64)
    sources, places = xp.empty(rest, given.dtype), xp.empty(rest, np.uint16)
    run(
        device, "place_arcs", arcs, (given, given_places), (arcs, *sizes, len(dense)), ranks,
        (begins, slot_groups, item_groups, before), slot_places, window_sources, mapper, sources,
        places, module="gshards.shard_arcs",
    )  # fmt: skip
    bounds = xp.minimum(xp.arange(count + 1, dtype=np.int64) * sizes.capacity, arcs)
    tasks = _tasks(device, dense, GROUP * by_window[::count])
    slots = Slots(slot_groups[:: len(dense)].copy(), slot_places, mapper, window_sources, tasks)
    return slots, bounds - before[:: len(dense)], sources, places


def _dense_windows(
    device: Device, graph: DeviceGraph, width: int, shards: int
) -> tuple[DeviceArray, DeviceArray]:
    """Return how many windows with slots are before each window, and which windows those are."""
    xp, size = device.xp, graph.size
    windows = -(-size // width)
    ends = np.minimum(width * np.arange(windows + 1, dtype=np.int64), size)
    arcs = xp.diff(_sums(xp, graph.out_degrees)[xp.asarray(ends)])
    marks = (arcs >= LEAST * shards) & (arcs > 0)
    return _sums(xp, marks), xp.flatnonzero(marks)


def _tasks(
    device: Device, windows: DeviceArray, items: DeviceArray
) -> tuple[DeviceArray, DeviceArray, DeviceArray, int]:
    """Cut the items of each window into tasks, of whole groups."""
    xp, most = device.xp, GROUP * TASK
    ends, numbers = device.to_host(items), device.to_host(windows)
    lengths = np.diff(ends)
    cuts = -(-lengths // most)
    owner = np.repeat(np.arange(len(numbers)), cuts)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(cuts) - cuts, cuts)
    firsts = ends[:-1][owner] + most * place
    lasts = np.minimum(firsts + most, ends[1:][owner])
    columns = (numbers[owner].astype(np.int32), firsts.astype(np.int64), lasts.astype(np.int64))
    return (*(xp.asarray(column) for column in columns), len(owner))


def _sums(xp: Any, counts: DeviceArray) -> DeviceArray:
    """Return the sums of all counts before each place, and of all of them."""
    sums = xp.zeros(len(counts) + 1, np.int64)
    xp.cumsum(counts.astype(np.int64), out=sums[1:])
    return sums


class ShardedLayout:
    """Supersteps over shards of arcs: what `gshards` and `windows` share.

    Parameters
    ----------
    device : Device
    part : ProgramPart
    message : tuple of str
        NumPy dtype names of a message's fields.
    sources : tuple of str
        NumPy dtype names of what an arc reads of its source.
    shard_bytes : int, optional
        As `sizes_of` takes it.

    Attributes
    ----------
    shards : Shards
        Kept with the graph.
    blocks : int
        Blocks of a superstep that write partial counts.

    Raises
    ------
    GraphMemoryError
        If it would not fit on the GPU.
    """

    name: LayoutName
    compiled_as = "gshards"  # both layouts
    loops: tuple[str, ...] = ("gshards.arc_shards",)
    in_parts = False
    windows = False

    def __init__(
        self, device: Device, part: ProgramPart, message: tuple[str, ...], sources: tuple[str, ...],
        shard_bytes: int | None = None,
    ) -> None:  # fmt: skip
        xp, graph = device.xp, part.laid
        self._part = part
        sizes = sizes_of(device, sources, graph.arcs, shard_bytes)
        each = sum(np.dtype(kind).itemsize for kind in sources)
        padded_capacity = (sizes.capacity + (sizes.capacity >> SKEW_BITS) + 7) & -8
        self._room = max(1, each) * padded_capacity

        def build() -> Shards:
            slots = each * slots_of(graph.arcs) if self.windows else 0
            check_layout_memory(self.name, self.cost(graph.arcs, graph.size), beside=slots)
            return make(device, graph, sizes, windows=self.windows)

        self.shards: Shards = graph.layout(self.name, sizes, build)
        shards, slots = self.shards, self.shards.slots
        most = BLOCKS_A_MULTIPROCESSOR * device.multiprocessors
        self._gathering = min(shards.count, most)
        self._filling = 0 if slots is None else min(slots.tasks[-1], most)
        rest = max(32 * len(shards.cuts), part.owned - shards.filled)
        self._finishing = device.blocks_for(rest, BLOCK)
        slot_count = 0 if slots is None else len(slots.places)
        self._slots = tuple(xp.empty(slot_count, kind) for kind in sources)
        self._parts = tuple(xp.empty(2 * shards.count, kind) for kind in message)
        if slots is None:
            self._slot_rows = xp.zeros(shards.count + 1, np.int64), xp.empty(0, np.uint16)
        else:
            self._slot_rows = slots.firsts, slots.places

    @classmethod
    def cost(cls, arcs: int, vertices: int) -> LayoutCost:
        """Return an upper bound of the layout's memory.

        The slots of a run are not included: for each slot, the bytes that a program reads of a
        source.
        """
        index = number_dtype(vertices).itemsize
        by_source = (index + 2) * arcs
        sorting = 16 * -(-arcs // SHARD_PARTS)
        if not cls.windows:
            return LayoutCost(by_source, by_source + sorting)
        slots = slots_of(arcs)
        kept_bytes = 4 * slots + slots // 2  # a place and a source of two bytes, and the mapper
        return LayoutCost(kept_bytes, by_source + max(sorting, kept_bytes + 8 * vertices))

    @staticmethod
    def adaptors(program: VertexProgram, types: Types, variant: Variant) -> list[str]:
        """Write the functions that copy what messages read of a source."""
        return source_adaptors(program, types, variant)

    @property
    def arrays(self) -> dict[str, Any]:
        """The stored arrays, by name."""
        return self.shards.arrays

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self.shards.nbytes

    @property
    def blocks(self) -> int:
        """Blocks of a superstep that write partial counts."""
        return int(self._gathering + self._finishing)

    def superstep(self, kernels: KernelModule, arguments: tuple[Any, ...]) -> Launches:
        """Return the launches of a superstep.

        Parameters
        ----------
        kernels : KernelModule
            The program's kernels.
        arguments : tuple
            As `kernels/cuda/superstep.py` takes them, from the adjacency on.

        Returns
        -------
        Launches
        """
        part, shards, slots = self._part, self.shards, self.shards.slots
        capacity, width = shards.sizes
        _, _, state, _, constants, outboxes, _, _, _, control, *_ = arguments
        launches: list[Callable[[], None]] = []
        if slots is not None:
            launches.append(
                kernels.prepare(
                    "fill_slots", self._filling, BLOCK, slots.tasks, slots.mapper, slots.sources, width,
                    part.size, self._slots, state, constants, outboxes[0], control, shared=self._room,
                )
            )  # fmt: skip
        launches.append(
            kernels.prepare(
                "gather_shards", self._gathering, BLOCK,
                (part.vertices, part.arcs, capacity, shards.count),
                (shards.rows, *self._slot_rows, shards.firsts, shards.sources, shards.places),
                self._slots, self._parts, *arguments, shared=self._room,
            )
        )  # fmt: skip
        launches.append(
            kernels.prepare(
                "finish_shards", self._finishing, BLOCK,
                (part.vertices, capacity, shards.filled, part.owned, len(shards.cuts), self._gathering),
                shards.cuts, self._parts, *arguments,
            )
        )  # fmt: skip

        return Launches(launches)


def slots_of(arcs: int) -> int:
    """Estimate how many slots the arcs of a graph have in `windows`."""
    return int(PADDED * arcs)
