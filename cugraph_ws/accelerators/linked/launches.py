"""Supersteps of frontiers on several GPUs, with their exchange, without the hosts between them.

See `kernels/accelerators/linked`.  Hosts do the exchange of large
frontiers whose vertices have different values, as lists of these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from cugraph_ws.backends.cuda.borders import borders_of
from cugraph_ws.backends.cuda.frontier import GLANCE, LONGEST
from cugraph_ws.backends.cuda.schedule import launch_shape
from cugraph_ws.kernels.accelerators.linked import layout
from cugraph_ws.kernels.cuda.layout import FRONTIER_BLOCK
from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.arrays import all_true
from cugraph_ws.runtime.communicator import Links
from cugraph_ws.runtime.device import Device, KernelModule, Prepared

__all__ = ["LinkedArrays", "LinkedLaunch", "LinkedSteps", "Mirrors", "Window", "mirrors_of"]

DeviceArray = Any  # CuPy's or NumPy's

GROUPS = 8  # entries that a thread handles at once in the kernels of an exchange in bits


class Window(Protocol):
    """Memory of all ranks' GPUs that a kernel of each can address; see `kernels/accelerators/linked`.

    Attributes
    ----------
    capacity : int
        Most vertices in a list.
    marks : int
        Most words of a message in bits.
    serial : int
        Serial number of the next exchange; the same on all ranks.
    alarm : device array of int64, shape (1,)
        Not 0 once a rank is lost.
    """

    capacity: int
    marks: int
    serial: int
    alarm: Any

    def arrays(self, kind: Any) -> tuple[Any, ...]:
        """Return headers (int64), positions (int32), values of a dtype, and bits (uint32), as kernel arguments."""

    def starts(self, kind: Any) -> Any:
        """Return where each rank's headers, positions, values, and bits begin: int64, shape (4 * ranks,)."""


class Mirrors(NamedTuple):
    """Which owned vertices each rank holds as ghosts, and where; see `traverse_linked`.

    Attributes
    ----------
    bits : device array of uint32, shape (ranks * words,)
        For each rank, a bitmap of the owned vertices that it holds.
    before : device array of int32, shape (ranks * words,)
        Number of bits set in a rank's bitmap before each word.
    ghosts : device array of int32
        Positions on each rank of the vertices in its bitmap; empty if `direct`.
    firsts : device array of int64, shape (ranks,)
        Where each rank's entries begin in `ghosts`.  If `direct`, the position of its first ghost
        from here.
    words : int
        Words of a rank's bitmap.
    direct : int
        1 if on every rank ghosts are in the order of the owner's positions, else 0.
    """

    bits: DeviceArray
    before: DeviceArray
    ghosts: DeviceArray
    firsts: DeviceArray
    words: int
    direct: int


def mirrors_of(part: Part) -> Mirrors:
    """Return the mirrors of a rank's part; collective on the first call, then kept by the shard."""
    name, learned = "mirrors", part.graph.learned
    if name not in learned:
        learned[name] = _mirrors(part)
    mirrors: Mirrors = learned[name]
    return mirrors


def _mirrors(part: Part) -> Mirrors:
    xp, comm = part.xp, part.halo.comm
    boundaries = part.halo.boundaries
    shown = comm.allgather([int(first) for first, _ in part.ghosts])
    firsts = [
        theirs[comm.rank] for theirs in shown
    ]  # where this rank's vertices begin on each rank
    words = -(-part.owned // 32)
    bits = xp.zeros(comm.size * words, np.uint32)
    before = xp.zeros(comm.size * words, np.int32)
    direct = all(all_true(boundary[1:] > boundary[:-1]) for boundary in boundaries)
    ghosts, begin = [], 0
    for peer, boundary in enumerate(boundaries):
        if not len(boundary):
            continue
        positions = boundary
        if not direct:
            order = boundary.argsort()
            positions = boundary[order]
            ghosts.append((order + firsts[peer]).astype(np.int32))
            firsts[peer], begin = begin, begin + len(boundary)
        bit = xp.left_shift(np.uint32(1), (positions & 31).astype(np.uint32)).astype(np.uint32)
        xp.add.at(bits, (peer * words + (positions >> 5)).astype(np.int64), bit)
        edges = 32 * xp.arange(words, dtype=positions.dtype)
        before[peer * words : (peer + 1) * words] = positions.searchsorted(edges)
    everything = xp.concatenate(ghosts) if ghosts else xp.empty(0, np.int32)
    return Mirrors(
        bits, before, everything, xp.asarray(np.array(firsts, np.int64)), words, int(direct)
    )


class LinkedSteps(NamedTuple):
    """The figures of a sequence of launches, over all ranks.

    Attributes
    ----------
    history : list of LinkedStep
    pending : bool
        Whether the last superstep's messages are still to be exchanged.
    """

    history: list[LinkedStep]
    pending: bool


class LinkedStep(NamedTuple):
    """The figures of a superstep, over all ranks; in the order of the headers.

    Attributes
    ----------
    active : int
        Active vertices after it.
    arcs : int
        Their out-arcs on their own ranks.
    read : int
        Arcs read.
    listed, marked : int
        Vertices that were sent in lists, and in bits.
    nbytes : int
        Bytes of the bits.
    pulling : int
        How many ranks have pulled.
    """

    active: int
    arcs: int
    read: int
    listed: int
    marked: int
    nbytes: int
    pulling: int


class LinkedArrays(NamedTuple):
    """The arrays of a frontier that `traverse_linked` reads and writes; as `traverse` takes them.

    Attributes
    ----------
    rows : tuple of device array
        Offsets and indices of the rows of out-neighbours.
    edges : tuple of device array
        The program's edge attributes in their order.
    program, frontiers, queue : tuple
    control, records : device array of int64
    """

    rows: tuple[Any, ...]
    edges: tuple[Any, ...]
    program: tuple[Any, ...]
    frontiers: tuple[Any, ...]
    queue: tuple[Any, ...]
    control: DeviceArray
    records: DeviceArray


class LinkedLaunch:
    """Sequences of launches for one run: small frontiers in `traverse_linked`, large ones in kernels between.

    Parameters
    ----------
    here : Device
    kernels : KernelModule
        The program's kernels.
    window : Window
    part : Part
    mirrors : Mirrors
    arrays : LinkedArrays
    room : int
        Vertices of a list.
    spend : int
        Arcs after which a launch ends.
    """

    # Indices of the arguments of `traverse_linked` that change between sequences
    SMALL_AT: ClassVar = {"number": 6, "steps": 7, "leave": 8, "serial": 11}

    def __init__(
        self,
        device: Device,
        kernels: KernelModule,
        window: Window,
        part: Part,
        mirrors: Mirrors,
        arrays: LinkedArrays,
        *,
        room: int,
        spend: int,
    ) -> None:
        self._device, self._kernels, self._window, self._part = device, kernels, window, part
        comm, size, kind = part.halo.comm, part.laid.size, arrays.program[0][0].dtype
        self._totals = 2 * comm.size
        self._rest = self._totals + layout.BOX_WORDS
        first = self._rest + layout.LEDGER_REST
        self._figures = device.xp.zeros(first + layout.BOX_HISTORY * LONGEST, np.int64)
        self._glance = device.pinned(first + layout.BOX_HISTORY * GLANCE, np.int64)
        self._ledger, self._history = self._figures[:first], self._figures[first:]
        self._links = (
            comm.rank, comm.size, window.capacity, mirrors.words, mirrors.direct, window.marks,
        )  # fmt: skip
        self._shared = (*window.arrays(kind), window.starts(kind), window.alarm)
        self._arrays, self._room = arrays, room
        self._small = kernels.prepare_together(
            "traverse_linked", max(size, part.laid.arcs), FRONTIER_BLOCK, size, arrays.rows,
            arrays.edges, arrays.program, arrays.frontiers, arrays.queue, 0, 1, 1, window.capacity, spend,
            0, (self._links, tuple(mirrors[:4]), self._shared, self._ledger), arrays.control,
            arrays.records, self._history,
        )  # fmt: skip

    def __call__(
        self, number: int, steps: int, leave: int, large: Callable[[], None], rounds: int
    ) -> None:
        """Queue a sequence of at most `steps` supersteps, the first of this number.

        Parameters
        ----------
        number, steps : int
        leave : int
            Out-arcs of a frontier, over all ranks, above which it is large.
        large : callable
            Queues a superstep with a large frontier, without its exchange.
        rounds : int
            How many of them are queued.
        """
        self._ledger.fill(0)
        values = {"number": number, "steps": steps, "leave": leave, "serial": self._window.serial}
        _set(self._small, self.SMALL_AT, values)
        self._small()
        if not rounds:
            return
        for launch, places in self._exchange:
            _set(launch, places, values)
        for _ in range(rounds):
            large()
            for launch, _ in self._exchange:
                launch()
            self._small()

    @cached_property
    def _exchange(self) -> list[tuple[Prepared, dict[str, int]]]:
        """The launches of an exchange in bits, and the places of the arguments that change."""
        gpu, part, prepare = self._device, self._part, self._kernels.prepare
        (offsets, _), _, (state, *_), (bitmaps, lists), _, control, records = self._arrays
        borders = borders_of(part)
        halo, most, shared = tuple(borders), self._window.capacity, self._shared
        size, rest, ledger, room = part.laid.size, self._rest, self._ledger, self._room
        longest = max(int(max(map(len, part.halo.boundaries), default=0)), -(-size // 32))
        ghosts = max((last - first for first, last in part.ghosts), default=0)
        return [
            (
                prepare("find_example", *launch_shape(gpu, -(-part.owned // 32)), part.owned, 0, bitmaps, rest,
                        ledger, control),
                {"number": 1},
            ),
            (
                prepare("mark_changed", *launch_shape(gpu, -(-longest // GROUPS)), size, 0, bitmaps, state,
                        self._links, halo, shared, 0, rest, ledger, control),
                {"number": 1, "serial": 7},
            ),
            (
                prepare("agree", 1, 32, 1, 1, most, self._links, halo, shared, 0, rest, ledger, control,
                        records, self._history),
                {"steps": 0, "leave": 1, "serial": 6},
            ),
            (
                prepare("take_marked", *launch_shape(gpu, -(-ghosts // GROUPS)), 0, offsets, bitmaps, state,
                        lists, room, self._links, halo, shared, 0, rest, ledger, control),
                {"number": 0, "serial": 9},
            ),
        ]  # fmt: skip

    def read(self, links: Links) -> LinkedSteps:
        """Wait for the sequence, and return its figures."""
        self._device.copy_out(self._figures[: len(self._glance)], self._glance)
        links.wait(links.mark())
        totals, width = self._glance[self._totals : self._rest], layout.BOX_HISTORY
        done, rows = int(totals[layout.BOX_COUNT]), self._glance[len(self._ledger) :]
        if done > GLANCE:
            rows = self._device.to_host(self._history[: width * done])
        self._window.serial += int(self._glance[self._rest + layout.MEETINGS])
        history = [LinkedStep(*map(int, row)) for row in rows[: width * done].reshape(-1, width)]
        return LinkedSteps(history, bool(totals[layout.BOX_FULL]))


def _set(launch: Prepared, places: Mapping[str, int], values: Mapping[str, int]) -> None:
    """Change arguments of a launch, whose places are known by name."""
    for name, place in places.items():
        launch.change(place, values[name])
