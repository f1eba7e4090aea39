"""The predecessor forest of a search's final state, on the device."""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.backends.cuda.schedule import launch_shape, room_for_long_rows
from cugraph_ws.backends.cuda.tree_growth import TreeGrowth, Unattached
from cugraph_ws.kernels.cuda.layout import (
    CODELESS,
    CODES,
    COUNT,
    FRONTIER_BLOCK,
    GOING,
    NOBODY,
    PIECES_QUEUED,
    TIGHT_SHARE,
    WAITERS_LEFT,
    WAITING,
)
from cugraph_ws.partition.part import ProgramPart
from cugraph_ws.runtime.arrays import count_true
from cugraph_ws.runtime.device import Device, KernelModule, Prepared

__all__ = ["DeviceTrees"]

DeviceArray = Any  # CuPy's or NumPy's

WIDEST = 4096  # in-degree from which a block looks for a vertex's predecessor
# (least in-degree, threads for each row): at least four arcs a thread, loaded at once
CLASSES: tuple[tuple[int, int], ...] = ((128, 32), (64, 16), (32, 8), (16, 4), (8, 2), (1, 1))
# Over the link: a thread for each arc of a short row, so that a sector is read by one request
LINK_CLASSES: tuple[tuple[int, int], ...] = ((17, 32), (9, 16), (5, 8), (3, 4), (2, 2), (1, 1))
LEVELS_A_LAUNCH = 1024
FEW_LANES = 8  # threads for each row that `_choose_few` has read
# Counters of `grow` on the device, then the number of undecided vertices after each turn;
# counters of `grow_forward`
COUNTED, BRANCHING = 13, 32
CONTROL = COUNTED + 1 + len(CLASSES)
DROPPED = 4  # exchanges after which attached vertices are dropped from the messages
ALONE, ALONE_ARCS = 256, 1 << 12  # attached vertices and out-arcs that a single block handles
MANY_ARCS = 1 << 24  # arcs from which it pays not to read all of them
SAMPLE = 1 << 20  # number of sampled vertices, whose arcs are counted
GIVING = 2  # cost of sending a number along an arc, as a multiple of reading an arc
WORTH = 1 << 24  # least number of arcs that sending numbers must save
LINK_WORTH = 1 << 19  # the same if arcs are read over the link, at a thirtieth of the memory's rate
TIGHT_FROM = 1 << 22  # arcs of a graph from which tight arcs get separate rows
TIGHT_PART = 16  # tight arcs get them if at most one in so many arcs is tight


class DeviceTrees:
    """Predecessors of a partition's vertices; `kernels/cuda/predecessors.py` defines them.

    Parameters
    ----------
    device : Device
        Where the graph is.
    part : ProgramPart
        The graph, or a part of it.
    kernels : KernelModule
        The program's kernels.
    program : tuple
        Its state, constants, parameters and the aggregates' array; the run has ended.
    number : int
        The number of the superstep.
    edges : tuple of device array
        As the program's kernels take them.
    coded : bool
        Whether states have codes; see `cugraph_ws.backends.cuda.codegen.has_codes`.
    forward : tuple, optional
        Rows of out-neighbours and the program's edge attributes in their order.  Given if not all
        arcs need be read: the program settles, the codes of two states decide which one is better,
        and messages do not depend on edges.

    Attributes
    ----------
    missing : int
        How many vertices still lack the predecessor that they must have.
    boundaries, ghosts : Unattached
        The owned boundary vertices, and the ghosts, that are not known to be attached; set by the
        first exchange.
    """

    def __init__(
        self,
        device: Device,
        part: ProgramPart,
        kernels: KernelModule,
        program: tuple[Any, ...],
        number: int,
        edges: tuple[Any, ...],
        *,
        coded: bool = False,
        forward: tuple[tuple[Any, Any], tuple[Any, ...]] | None = None,
    ) -> None:
        self._device = device
        self._part = part
        self._kernels = kernels
        self._program, self._number = program, number
        # What kernels that go along in-arcs read
        self._inward = (part.vertices, part.numbers, tuple(part.csc), edges, program, number)
        xp = device.xp
        self._levels = xp.empty(part.size, np.int32)
        self._found = xp.empty(part.size, np.int64)
        self._codes = xp.empty(part.size if coded else 1, np.uint8)
        self._trees = self._levels, self._found, self._codes
        self._coded = False  # whether most states have codes, so that reading codes pays
        self._turns: list[int] = []  # for each turn, threads for each row listed in it
        self._over_link = part.laid.arcs_on_host
        self._forward = forward if part.arcs >= MANY_ARCS or self._over_link else None
        giving = 0 if self._forward is None else 2 * CODES + BRANCHING
        figures = xp.zeros(CONTROL + giving, np.int64)  # cleared together
        self._control, self._giving = figures[:CONTROL], figures[CONTROL:]
        self._ends = self._control[COUNTED:]
        self.missing = 0
        self._lists: tuple[DeviceArray, ...] = ()
        self._bits = max(1, (part.vertices - 1).bit_length())
        self._growth: TreeGrowth | None = None
        self._exchanges = 0
        self.boundaries: Unattached
        self.ghosts: Unattached
        self._received: list[
            DeviceArray
        ] = []  # received: an array for each peer, later one for all

    def begin(self) -> int:
        """Choose predecessors where a strictly better one exists; return how many are missing."""
        part = self._part
        shape = self._shape(part.size)
        self._kernels.launch(
            "start_trees", *shape, part.size, part.vertices, part.numbers, self._program, self._number,
            self._trees, self._control,
        )  # fmt: skip
        waiting = self._device.xp.empty(part.owned, part.csc.indices.dtype)
        classes = ((WIDEST, shape[1]), *(LINK_CLASSES if self._over_link else CLASSES))
        self._turns = []
        if self._forward is not None and self._choose_few(*self._forward, waiting):
            self._end_turn(FEW_LANES)
            classes = classes[:1]
        choose = self._kernels.prepare(
            "choose", *self._shape(part.arcs), 0, 0, 0, *self._inward, self._trees, waiting,
            self._control,
        )  # fmt: skip
        low = 0
        for degree, lanes in classes:
            high = part.laid.vertices_with(degree)
            if high > low:
                for place, value in enumerate((low, high, lanes)):
                    choose.change(place, value)
                choose()
                self._end_turn(lanes)
                low = high
        control = self._device.to_host(self._control)
        self.missing = int(control[WAITERS_LEFT])
        self._coded = bool(control[CODELESS] <= 0)
        if self.missing:
            self._lists = (waiting,)
        return self.missing

    def _end_turn(self, lanes: int) -> None:
        """Store the number of undecided vertices; those of this turn get `lanes` threads each."""
        place = len(self._turns)
        self._ends[place : place + 1] = self._control[WAITERS_LEFT : WAITERS_LEFT + 1]
        self._turns.append(lanes)

    def _choose_few(
        self, rows: tuple[Any, Any], edges: tuple[Any, ...], waiting: DeviceArray
    ) -> bool:
        """Choose for all vertices without long rows, from few arcs; return whether memory allows it.

        See `kernels/cuda/predecessor_codes.py`.
        """
        part = self._part
        wide = part.laid.vertices_with(WIDEST)
        least = part.laid.least_senders(part.numbers, wide, part.owned)
        if least is None:
            return False
        receivers = self._give(rows, edges)
        self._kernels.launch(
            "choose_of_least", *self._shape(part.owned), wide, part.owned, *self._inward, self._trees,
            receivers, least, waiting, self._control,
        )  # fmt: skip
        return True

    def _give(self, rows: tuple[Any, Any], edges: tuple[Any, ...]) -> DeviceArray:
        """Push vertex numbers along out-arcs from vertices with some codes to vertices with others.

        Returns
        -------
        device array of uint8, shape (CODES,)
            1 for the codes of the receivers.
        """
        part, gpu = self._part, self._device
        xp, offsets = gpu.xp, rows[0]
        counts, control = self._giving[: 2 * CODES], self._giving[2 * CODES :]
        step = max(1, part.size // SAMPLE)
        self._kernels.launch(
            "count_codes", *self._shape(part.size // step), part.size, part.owned, step, self._codes,
            self._levels, offsets, part.csc.offsets, counts,
        )  # fmt: skip
        sends = xp.empty(2 * CODES + 1, np.uint8)
        _, block = self._shape(1)
        self._kernels.launch(
            "weigh_codes", 1, block, step, counts, GIVING, LINK_WORTH if self._over_link else WORTH,
            part.vertices, self._program, self._number, sends, control,
        )  # fmt: skip
        listed = xp.empty(part.size, part.csc.indices.dtype)
        self._kernels.launch(
            "list_senders", *self._shape(part.size), part.size, self._codes, sends, offsets, listed,
            control,
        )  # fmt: skip
        receivers = sends[CODES : 2 * CODES]
        self._grow_from((listed[:0], listed), rows, edges, receivers, 0, 1, control)()
        return receivers

    def grow(self) -> int:
        """Attach undecided vertices to attached ones; return how many.

        If there are ghosts, a call does one level, since ghosts are attached between levels.
        """
        part, gpu, before = self._part, self._device, self.missing
        if not before:
            return 0
        if len(self._lists) == 1:
            self._lists = (*self._lists, gpu.xp.empty_like(self._lists[0]))
        queue = room_for_long_rows(gpu, part.laid)
        most = 1 if part.divided else LEVELS_A_LAUNCH
        going = True
        while going:
            self._control[PIECES_QUEUED:CODELESS] = 0  # launches do not clear their counters
            arguments = (
                *self._inward, self._trees, queue, self._lists, most, self._control,
            )  # fmt: skip
            _, block = self._shape(part.size)
            self._kernels.prepare_together("grow", part.size, block, *arguments)()
            control = gpu.to_host(self._control)
            self.missing = int(control[WAITERS_LEFT])
            going = self.missing > 0 and int(control[GOING]) > 0 and not part.divided
        return before - self.missing

    def grow_forward(self, rows: tuple[Any, Any], edges: tuple[Any, ...]) -> int:
        """Do what `grow` does on a whole graph, but by the out-arcs of attached vertices.

        Parameters
        ----------
        rows : tuple of device array
            Offsets and indices of the rows of out-neighbours; the same in every call.
        edges : tuple of device array
            The program's edge attributes in their order.

        Returns
        -------
        int
            How many vertices have been attached.
        """
        before = self.missing
        if not before:
            return 0
        growth = self._growth or self.begin_growth(rows, edges)
        attached = 1
        while attached:
            growth.grow()
            attached = int(self._device.to_host(growth.control)[COUNT])
        waiting = (self._levels == WAITING) & (self._found == NOBODY)
        self.missing = count_true(waiting)
        return before - self.missing

    def begin_growth(self, rows: tuple[Any, Any], edges: tuple[Any, ...]) -> TreeGrowth:
        """List the attached vertices, ghosts included; return the tree growth from them.

        Parameters
        ----------
        rows, edges
            See `grow_forward`.

        Returns
        -------
        TreeGrowth
            If the graph is partitioned, each launch is one level.
        """
        part, gpu = self._part, self._device
        xp, size, kind = gpu.xp, part.size, part.csc.indices.dtype
        # Without undecided vertices here no arc is followed.  Other ranks may have some, and all
        # ranks launch the same number of levels.
        tight = (
            self._tight_rows()
            if self.missing
            else (xp.zeros(size + 1, np.int64), xp.empty(0, kind))
        )
        if tight is not None:
            rows = tight
        self._lists = ()  # the lists of undecided vertices are not needed any more
        lists = tuple(xp.empty(size, kind) for _ in range(2))
        control = xp.zeros(BRANCHING, np.int64)
        self._kernels.launch(
            "list_attached", *self._shape(size), size, self._levels, rows[0], lists[0], control
        )
        most = 1 if part.divided else LEVELS_A_LAUNCH
        nobody = xp.empty(0, np.uint8)
        launch = self._grow_from(lists, rows, edges, nobody, int(tight is not None), most, control)
        self._growth = TreeGrowth(
            launch, control, lists, rows[0], self._levels, self._found, self._bits
        )
        return self._growth

    def _tight_rows(self) -> tuple[DeviceArray, DeviceArray] | None:
        """Return rows, by source, of the tight arcs into undecided vertices.

        See `kernels/cuda/tight_arcs.py`.

        Returns
        -------
        offsets : device array of int64, shape (positions + 1,)
        indices : device array of positions
            None instead of both if the graph is small, if there are many tight arcs, or if the rows
            would take more than half of the free memory.
        """
        part, gpu, (waiting,) = self._part, self._device, self._lists
        xp, kind = gpu.xp, waiting.dtype
        shape, most = self._shape(part.arcs), part.arcs // TIGHT_PART
        room = min(most + TIGHT_SHARE * (shape[0] * shape[1] // 32), np.iinfo(np.int32).max)
        needed = 3 * room * kind.itemsize + 20 * part.size
        if part.arcs < TIGHT_FROM or needed > gpu.free_memory() // 2:
            return None
        sources, targets = xp.full(room, -1, kind), xp.empty(room, kind)
        degrees = xp.zeros(part.size + 1, np.int32)
        control = xp.zeros(2, np.int64)
        self._kernels.launch(
            "list_tight_arcs", *shape, len(self._turns), xp.asarray(self._turns), self._ends, waiting,
            *self._inward, self._codes, self._coded, (room, sources, targets, degrees), control,
        )  # fmt: skip
        offsets = xp.cumsum(degrees, dtype=np.int64)
        control[1:] = offsets[-1:]
        listed, count = gpu.to_host(control).tolist()
        if listed > room or count > most:
            return None
        indices = xp.empty(count, kind)
        self._kernels.launch(
            "place_tight_arcs",
            *self._shape(listed),
            listed,
            sources,
            targets,
            offsets[:-1].copy(),
            indices,
        )
        return offsets, indices

    def _grow_from(
        self, lists: tuple[DeviceArray, ...], rows: tuple[Any, Any], edges: tuple[Any, ...],
        receivers: DeviceArray, sure: int, most: int, control: DeviceArray,
    ) -> Prepared:  # fmt: skip
        """Prepare a launch over the out-arcs of listed vertices; see `grow_forward`."""
        part, gpu = self._part, self._device
        arguments = (
            part.vertices, self._bits, part.numbers, rows, edges, self._program, self._number,
            self._trees, receivers, sure, room_for_long_rows(gpu, part.laid), lists, most, ALONE,
            ALONE_ARCS, control,
        )  # fmt: skip
        return self._kernels.prepare_together("grow_forward", part.size, FRONTIER_BLOCK, *arguments)

    def is_attached(self, positions: Any) -> Any:
        """Return which of some owned vertices are attached; device array of bool."""
        take = self._device.xp.take
        # A vertex that tree growth has attached gets its level only in the end.
        return (take(self._levels, positions) < WAITING) | (take(self._found, positions) < NOBODY)

    def attach_ghosts(self, first: int, last: int, attached: Any) -> None:
        """Mark the ghosts at positions [first, last) that are attached, before `grow`."""
        ghosts = self._levels[first:last]
        ghosts[:] = self._device.xp.where(attached, 0, ghosts)  # any level below the next

    def updates(self) -> tuple[list[DeviceArray], list[DeviceArray]]:
        """Return the updates for each partition, and receive buffers; then `receive` must be called.

        Returns
        -------
        going, coming : list of device array of bool
            In the first exchange, which vertices of each boundary are attached.  In later ones, an
            entry for each vertex that was undecided in the first exchange, or when the list was
            last shortened.  Sender and receiver keep the same list.
        """
        xp, part = self._device.xp, self._part
        if self._exchanges == 0:
            going = [self.is_attached(boundary) for boundary in part.boundaries]
            self._received = [xp.empty(last - first, np.bool_) for first, last in part.ghosts]
            self.boundaries = Unattached(xp, [xp.take(positions, xp.flatnonzero(~attached))
                                          for positions, attached in zip(part.boundaries, going, strict=True)])  # fmt: skip
            return going, self._received
        unattached = self.boundaries
        going = unattached.parts(self.is_attached(unattached.positions))
        if self._exchanges % DROPPED == 0:
            unattached.keep(~self.is_attached(unattached.positions))
        self._received = [xp.empty(len(self.ghosts.positions), np.bool_)]
        return going, self.ghosts.parts(*self._received)

    def receive(self) -> None:
        """Attach the ghosts that the received updates name."""
        xp, part = self._device.xp, self._part
        if self._exchanges == 0:
            for (first, last), attached in zip(part.ghosts, self._received, strict=True):
                self.attach_ghosts(first, last, attached)
            waiting = [first + xp.flatnonzero(self._levels[first:last] == WAITING)
                       for first, last in part.ghosts]  # fmt: skip
            self.ghosts = Unattached(
                xp, [positions.astype(part.csc.indices.dtype) for positions in waiting]
            )
        elif len(ghosts := self.ghosts.positions):
            (attached,) = self._received
            self._levels[ghosts[attached]] = 0  # any level below the next
            if self._exchanges % DROPPED == 0:
                self.ghosts.keep(xp.take(self._levels, ghosts) == WAITING)
        self._exchanges += 1

    def predecessors(self) -> Any:
        """Return each owned vertex's predecessor, a vertex number or −1, in the order outside."""
        owned = self._part.owned
        shape = self._shape(owned)
        if self._growth is not None:
            self._kernels.launch(
                "mark_levels", *shape, owned, self._bits, self._levels, self._found
            )
        numbers = self._device.xp.empty(owned, np.int64)
        positions = self._part.laid.positions
        self._kernels.launch("write_out", *shape, owned, positions, self._found, numbers)
        return numbers

    def _shape(self, items: int) -> tuple[int, int]:
        return launch_shape(self._device, items)
