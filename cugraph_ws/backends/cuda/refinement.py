"""Pack updates for peers, and unpack theirs, on the device; see `kernels/cuda/refine.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.backends.cuda.schedule import launch_shape
from cugraph_ws.contract import BoundaryUpdate
from cugraph_ws.runtime.device import Device, KernelModule

__all__ = ["DeviceRefinement", "FrontierRefinement"]

DeviceArray = Any  # CuPy's or NumPy's
Fields = tuple[DeviceArray, ...]


@dataclass(frozen=True)
class _Packed(BoundaryUpdate):
    """A message whose length is still being counted on the device, at `slot` of `lengths`."""

    slot: int = 0


@dataclass(frozen=True)
class _Packer:
    """A launch that packs a boundary, and the message that it fills."""

    boundary: DeviceArray
    launch: Callable[[], None]
    update: _Packed


@dataclass(frozen=True)
class _Buffer:
    """Send or receive buffer for one peer."""

    places: DeviceArray
    fields: Fields
    active: DeviceArray
    bits: DeviceArray | None = None


class DeviceRefinement:
    """Packs and unpacks the state at a partition's boundaries.

    Every boundary has two send buffers, used in turn, since the last superstep's message may not
    have been sent yet.

    Parameters
    ----------
    device : Device
        Where the partition is.
    kernels : KernelModule
        The program's kernels.
    fields : sequence of two tuples of device array
        Both copies of the fields that messages are computed from, by position; the same twice if
        supersteps run in place.
    flags : sequence of two device arrays of uint8
        Whether each position is active; empty if no frontier is kept.
    in_place : bool
        Whether supersteps run in place, so that changed vertices cannot be found.
    frontier : bool
        Whether messages say which vertices are active; the same on all ranks, those without
        vertices too.
    owned : int
        Number of owned vertices.
    lengths : device array of int64
        Where lengths are counted: an entry for each message of a superstep.
    """

    def __init__(
        self,
        device: Device,
        kernels: KernelModule,
        fields: Sequence[Fields],
        flags: Sequence[DeviceArray],
        *,
        in_place: bool,
        frontier: bool,
        owned: int,
        lengths: DeviceArray,
    ) -> None:
        self._device = device
        self._kernels = kernels
        self._fields = fields
        self._flags = flags
        self._in_place = in_place
        self._frontier = frontier
        self._owned = owned
        self._lengths = lengths
        self._buffers: dict[tuple[int, int], _Buffer] = {}
        self._packers: dict[tuple[int, int, int, bool, tuple[int, int]], _Packer] = {}
        self._rooms: dict[int, _Buffer] = {}  # receive buffers by peer
        self._arrivals: dict[tuple[tuple[int, int], int], BoundaryUpdate] = {}
        self._behind: set[int] = set()  # peers whose ghosts are up to date in one copy only
        self._takers: dict[tuple[int, int, bool], Callable[[], None]] = {}
        xp = device.xp
        self._nowhere, self._nobody = xp.empty(0, np.int32), xp.empty(0, np.uint8)
        self._no_headers = xp.empty(0, np.float64)
        self._swept = False  # whether lengths and flags are cleared elsewhere
        self._turn = 0
        self._now = 0  # which copy is the latest
        self._slot = 0

    @property
    def now(self) -> int:
        """Which copy of the state the last superstep wrote, 0 or 1."""
        return self._now

    @property
    def width(self) -> int:
        """Bytes that peers receive of a vertex."""
        return sum(column.dtype.itemsize for column in self._fields[0])

    @property
    def kinds(self) -> list[Any]:
        """Dtypes of the values that peers receive of a vertex."""
        return [column.dtype for column in self._fields[0]]

    def begin(self, now: int) -> None:
        """Start a superstep, which writes copy `now`: nothing is packed or received yet.

        Parameters
        ----------
        now : {0, 1}
        """
        self._now = now
        self._turn = 1 - self._turn
        self._slot = 0
        if not self._swept:
            self._lengths[:] = 0
            self._flags[now][self._owned :] = 0

    def sweep(self) -> None:
        """Do not clear lengths and ghosts' flags in `begin`: other kernels clear them."""
        self._swept = True

    def pack(
        self, boundary: DeviceArray, *, refine: bool, cut: int | None = None
    ) -> BoundaryUpdate:
        """Queue the packing of vertices for a peer.

        Parameters
        ----------
        boundary : device array of int32 or int64
            Their positions.
        refine : bool
            Whether to pack changed vertices only.  If changed vertices cannot be found, all are
            packed, without their places.
        cut : int, optional
            Pack only the first `cut` vertices; `pack_tail` has packed the rest.

        Returns
        -------
        BoundaryUpdate
            Call `cut` on it when the superstep is done.
        """
        slot, listed = self._slot, refine and not self._in_place
        self._slot += 1
        return self._pack(boundary, slot, (0, len(boundary) if cut is None else cut), listed=listed)

    def pack_tail(self, boundary: DeviceArray, slot: int, first: int) -> BoundaryUpdate:
        """Queue the packing of a peer's vertices from `first` on; `pack` later packs the others.

        Parameters
        ----------
        boundary : device array of int32 or int64
        slot : int
            Index of the message among the superstep's messages.
        first : int
            Index in `boundary` of the first vertex that is packed.

        Returns
        -------
        BoundaryUpdate
            With these vertices only.
        """
        return self._pack(boundary, slot, (first, len(boundary)), listed=False)

    def _pack(
        self, boundary: DeviceArray, slot: int, part: tuple[int, int], *, listed: bool
    ) -> BoundaryUpdate:
        key = slot, self._turn, self._now, listed, part
        packer = self._packers.get(key)
        if packer is None or packer.boundary is not boundary:
            packer = self._packers[key] = self._packer(boundary, slot, part, listed=listed)
        packer.launch()
        return packer.update

    def _packer(
        self, boundary: DeviceArray, slot: int, part: tuple[int, int], *, listed: bool
    ) -> _Packer:
        """Marshal the packing of a part of a boundary into the send buffer of this turn."""
        first, last = part
        count = last - first
        buffer = self._buffer(slot, len(boundary))
        fields = tuple(field[first:last] for field in buffer.fields)
        old, new = self._fields[1 - self._now], self._fields[self._now]
        head = (boundary[first:last], count, old, new, self._flags[self._now], self._lengths, slot)
        shape = launch_shape(self._device, count)
        prepare = self._kernels.prepare
        if listed:
            launch = prepare("pack_changed", *shape, *head, buffer.places, buffer.fields)
            return _Packer(boundary, launch, _Packed(buffer.places[:count], fields, slot=slot))
        launch = prepare("pack_all", *shape, *head, fields, buffer.active)
        active = buffer.active[:count] if self._frontier else None
        return _Packer(boundary, launch, _Packed(None, fields, active, slot=slot))

    def cut(self, update: BoundaryUpdate, lengths: npt.NDArray[np.int64]) -> BoundaryUpdate:
        """Return a message cut to the length that has been filled.

        Parameters
        ----------
        update : BoundaryUpdate
            Returned by `pack`.
        lengths : ndarray of int64
            The counted lengths, on the host.
        """
        if not isinstance(update, _Packed):
            return update
        changed = int(lengths[update.slot])
        if update.places is None:
            return BoundaryUpdate(None, update.fields, update.active, changed)
        return BoundaryUpdate(
            update.places[:changed],
            tuple(field[:changed] for field in update.fields),
            None,
            changed,
        )

    def unpack(self, first: int, last: int, update: BoundaryUpdate) -> None:
        """Queue the unpacking of a message for the ghosts at positions [first, last).

        Parameters
        ----------
        first, last : int
        update : BoundaryUpdate
            With device arrays, cut to its length.
        """
        places, active = update.places, update.active
        count = last - first if places is None else len(places)
        if count == 0:
            return
        room = _Buffer(
            self._nowhere if places is None else places, update.fields,
            self._nobody if active is None else active,
        )  # fmt: skip
        self._unpacker(
            first, count, int(places is not None), room.places, room, self._no_headers, -1
        )()

    def _unpacker(
        self, first: int, count: int, listed: int, places: DeviceArray, buffer: _Buffer,
        headers: DeviceArray, slot: int,
    ) -> Callable[[], None]:  # fmt: skip
        """Marshal the unpacking of a buffer; the other arguments are the kernel's."""
        return self._kernels.prepare(
            "unpack", *launch_shape(self._device, count), first, count, listed, places, buffer.fields,
            self._fields[self._now], self._fields[1 - self._now], self._flags[self._now], buffer.active,
            headers, slot,
        )  # fmt: skip

    def arrivals(self, peer: int, ghosts: tuple[int, int]) -> BoundaryUpdate:
        """Return the state of a peer's ghosts as a receive buffer, which needs no unpacking.

        The ghosts in the previous copy, which the superstep still reads, do not change.

        Parameters
        ----------
        peer : int
        ghosts : (int, int)
            The range of their positions, all of it or a part.
        """
        self._behind.add(peer)
        key = ghosts, self._now
        update = self._arrivals.get(key)
        if update is None:
            first, last = ghosts
            fields = tuple(field[first:last] for field in self._fields[self._now])
            update = self._arrivals[key] = BoundaryUpdate(None, fields)
        return update

    def catch_up(self, peer: int, ghosts: tuple[int, int]) -> None:
        """Copy a peer's ghosts from the previous copy to the latest, before updates are received.

        Parameters
        ----------
        peer : int
        ghosts : (int, int)
            The range of their positions.
        """
        if peer not in self._behind:
            return
        self._behind.discard(peer)
        first, last = ghosts
        for old, new in zip(self._fields[1 - self._now], self._fields[self._now], strict=True):
            new[first:last] = old[first:last]

    def expect(self, peer: int, most: int, count: int, *, listed: bool) -> BoundaryUpdate:
        """Return the receive buffer for a peer; every superstep uses the same one.

        Parameters
        ----------
        peer : int
        most : int
            The most vertices that the peer ever sends.
        count : int
            How many it sends now.
        listed : bool
            Whether their places are received too.

        Returns
        -------
        BoundaryUpdate
            To be filled, then unpacked by `take`.
        """
        room = self._room_for(peer, most)
        if not listed:
            return BoundaryUpdate(None, room.fields, room.active if self._frontier else None)
        return BoundaryUpdate(room.places[:count], tuple(field[:count] for field in room.fields))

    def take(
        self,
        peer: int,
        ghosts: tuple[int, int],
        *,
        listed: bool,
        headers: DeviceArray,
        slot: int,
        among: DeviceArray | None = None,
    ) -> None:
        """Queue the unpacking of a peer's receive buffer.

        Parameters
        ----------
        peer : int
        ghosts : (int, int)
            The range of positions of its vertices.
        listed : bool
            Whether their places were received too.
        headers : device array of float64
            The headers of all ranks.
        slot : int
            Place in `headers` of the number of received vertices, if they are listed.
        among : device array of int32 or int64, optional
            Places of the ghosts in the received arrays, if the peer sends all of its vertices.
            Like `headers`, the same in every superstep.
        """
        key = peer, self._now, listed
        launch = self._takers.get(key)
        if launch is None:
            first, last = ghosts
            room = self._rooms[peer]
            places, kind = self._nowhere, 0
            if listed:
                places, kind = room.places, 1
            elif among is not None:
                places, kind = among, 2
            launch = self._takers[key] = self._unpacker(
                first, last - first, kind, places, room, headers, slot if listed else -1
            )
        launch()

    def _buffer(self, slot: int, count: int) -> _Buffer:
        """Return the send buffer of this turn; it is allocated when first used."""
        buffer = self._buffers.get((slot, self._turn))
        if buffer is None or len(buffer.places) < count:
            buffer = self._buffers[slot, self._turn] = self._make_room(count)
        return buffer

    def _room_for(self, peer: int, most: int) -> _Buffer:
        """Return the receive buffer for a peer."""
        room = self._rooms.get(peer)
        if room is None:
            room = self._rooms[peer] = self._make_room(most)
        return room

    def _make_room(self, count: int) -> _Buffer:
        xp = self._device.xp
        return _Buffer(
            xp.empty(count, np.int32),
            tuple(xp.empty(count, column.dtype) for column in self._fields[0]),
            xp.empty(count if self._frontier else 0, np.uint8),
        )


class FrontierRefinement(DeviceRefinement):
    """The refinement of a frontier: received ghosts join the next frontier.

    See `kernels/cuda/partitioned_frontier.py`.

    Parameters
    ----------
    device, kernels, owned, lengths
        See `DeviceRefinement`.
    state : tuple of device array
        By position; changed in place.
    bitmaps : sequence of two device arrays of uint32
        The active vertices after odd supersteps and after even ones.
    unlike : device array of int64
        Laid out as `lengths`: 0 if all values of a message are equal.
    offsets : device array of int64
        Offsets of the rows of out-neighbours.
    lists : sequence of two tuples of device array
        The frontiers' lists.
    room : int
        Capacity of each list.
    control : device array of int64
        The frontiers' counters.
    """

    def __init__(
        self,
        device: Device,
        kernels: KernelModule,
        state: Fields,
        bitmaps: Sequence[DeviceArray],
        *,
        owned: int,
        lengths: DeviceArray,
        unlike: DeviceArray,
        offsets: DeviceArray,
        lists: Sequence[Fields],
        room: int,
        control: DeviceArray,
    ) -> None:
        super().__init__(
            device, kernels, (state, state), bitmaps, in_place=False, frontier=True, owned=owned,
            lengths=lengths,
        )  # fmt: skip
        self._unlike, self._offsets = unlike, offsets
        self._lists, self._room, self._control = lists, room, control
        self._wakers: dict[tuple[int, int], Callable[[], None]] = {}
        self.sweep()  # supersteps clear bitmaps, the header's kernel clears lengths

    def _unpacker(
        self, first: int, count: int, listed: int, places: DeviceArray, buffer: _Buffer,
        headers: DeviceArray, slot: int,
    ) -> Callable[[], None]:  # fmt: skip
        now = self._now
        return self._kernels.prepare(
            "unpack_updates", *launch_shape(self._device, count), first, count, listed, places, buffer.fields,
            self._fields[now], buffer.active, headers, slot, *self._frontiers(now),
        )  # fmt: skip

    def _frontiers(self, now: int) -> tuple[Any, ...]:
        """Return the next frontier's arrays, for kernels that add ghosts to it."""
        return self._flags[now], self._offsets, self._lists[now], self._room, self._control

    def _make_room(self, count: int) -> _Buffer:
        words = self._device.xp.empty(-(-count // 32), np.uint32)
        return replace(super()._make_room(count), bits=words)

    def _packer(
        self, boundary: DeviceArray, slot: int, part: tuple[int, int], *, listed: bool
    ) -> _Packer:
        if not listed:
            return super()._packer(boundary, slot, part, listed=False)
        count, now = len(boundary), self._now
        buffer, shape = self._buffer(slot, count), launch_shape(self._device, count)
        pack = self._kernels.prepare(
            "pack_updates", *shape, boundary, count, self._fields[now], self._flags[now], self._lengths,
            slot, buffer.places, buffer.fields, buffer.bits,
        )  # fmt: skip
        compare = self._kernels.prepare(
            "find_unlike", *shape, self._lengths, slot, buffer.fields, self._unlike
        )

        def launch() -> None:
            pack()
            compare()

        return _Packer(
            boundary, launch, _Packed(buffer.places, buffer.fields, bits=buffer.bits, slot=slot)
        )

    def in_bits(self, update: BoundaryUpdate) -> BoundaryUpdate:
        """Return a message whose values are all equal as a bitmap and one value.

        Parameters
        ----------
        update : BoundaryUpdate
            Returned by `pack`, with listed vertices.
        """
        return BoundaryUpdate(
            None, tuple(field[:1] for field in update.fields), None, 0, update.bits
        )

    def expect_bits(self, peer: int, most: int) -> BoundaryUpdate:
        """Return the receive buffer for a bitmap and a value; see `expect`.

        Parameters
        ----------
        peer : int
        most : int
            The most vertices that the peer ever sends.
        """
        room = self._room_for(peer, most)
        return BoundaryUpdate(None, tuple(field[:1] for field in room.fields), None, 0, room.bits)

    def take_bits(self, peer: int, ghosts: tuple[int, int]) -> None:
        """Queue the unpacking of a peer's bitmap and value; see `take`.

        Parameters
        ----------
        peer : int
        ghosts : (int, int)
            The range of positions of its vertices.
        """
        key = peer, self._now
        launch = self._wakers.get(key)
        if launch is None:
            first, last = ghosts
            count, room = last - first, self._rooms[peer]
            launch = self._wakers[key] = self._kernels.prepare(
                "unpack_equal_updates", *launch_shape(self._device, count), first, count, room.bits, room.fields,
                self._fields[self._now], *self._frontiers(self._now),
            )  # fmt: skip
        launch()
