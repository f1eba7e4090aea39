"""What a partition on the device sends its peers, and takes from them; see `kernels/cuda/refine.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.backends.cuda.schedule import launch_shape
from cugraph_ws.contract import Parcel
from cugraph_ws.runtime.device import Device, KernelModule

__all__ = ["DeviceRefinement", "FrontierRefinement"]

DeviceArray = Any  # CuPy's or NumPy's
Fields = tuple[DeviceArray, ...]


@dataclass(frozen=True)
class _Packed(Parcel):
    """A parcel whose length is still being counted on the device, at a place of `lengths`."""

    slot: int = 0


@dataclass(frozen=True)
class _Packer:
    """A launch that packs a boundary, and what it fills."""

    boundary: DeviceArray
    launch: Callable[[], None]
    parcel: _Packed


@dataclass(frozen=True)
class _Box:
    """Room for what goes to one peer, or comes from it."""

    places: DeviceArray
    fields: Fields
    active: DeviceArray
    bits: DeviceArray | None = None


class DeviceRefinement:
    """Packs and unpacks the state at a partition's boundaries.

    Every boundary has two boxes, which are filled in turn: what the last superstep has packed may still
    be on its way.

    Parameters
    ----------
    device : Device
        Where the partition is.
    kernels : KernelModule
        The program's kernels.
    sent : sequence of two tuples of device array
        Both copies of what messages are computed from, by position; the same twice if supersteps run
        in place.
    flags : sequence of two device arrays of uint8
        Who is active, by position; empty where no frontier is kept.
    in_place : bool
        Whether nobody can tell what has changed.
    frontier : bool
        Whether peers are told who is active; all of them, also where there are no vertices.
    owned : int
        Number of owned vertices.
    lengths : device array of int64
        Where lengths are counted, a place for each parcel of a superstep.
    """

    def __init__(
        self,
        device: Device,
        kernels: KernelModule,
        sent: Sequence[Fields],
        flags: Sequence[DeviceArray],
        *,
        in_place: bool,
        frontier: bool,
        owned: int,
        lengths: DeviceArray,
    ) -> None:
        self._device = device
        self._kernels = kernels
        self._sent = sent
        self._flags = flags
        self._in_place = in_place
        self._frontier = frontier
        self._owned = owned
        self._lengths = lengths
        self._boxes: dict[tuple[int, int], _Box] = {}
        self._packers: dict[tuple[int, int, int, bool, tuple[int, int]], _Packer] = {}
        self._rooms: dict[int, _Box] = {}  # for what comes from each peer
        self._arrivals: dict[tuple[tuple[int, int], int], Parcel] = {}
        self._behind: set[int] = set()  # whose ghosts are up to date in one copy only
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
        """Bytes of what peers read of a vertex."""
        return sum(column.dtype.itemsize for column in self._sent[0])

    def begin(self, now: int) -> None:
        """Make ready for a superstep, which writes copy `now`: nothing has been packed or has come.

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
        """Leave it to the kernel that fills headers to clear lengths and ghosts' flags."""
        self._swept = True

    def pack(self, boundary: DeviceArray, *, refine: bool, cut: int | None = None) -> Parcel:
        """Queue the packing of vertices for a peer.

        Parameters
        ----------
        boundary : device array of int32 or int64
            Their positions.
        refine : bool
            Whether to pack only those whose copies are out of date.  Where nobody can tell, all are
            packed, without their places.
        cut : int, optional
            Only the first so many are packed, the rest having been packed by `pack_tail`.

        Returns
        -------
        Parcel
            To be cut by `cut` once the superstep is done.
        """
        slot, listed = self._slot, refine and not self._in_place
        self._slot += 1
        return self._pack(boundary, slot, (0, len(boundary) if cut is None else cut), listed=listed)

    def pack_tail(self, boundary: DeviceArray, slot: int, first: int) -> Parcel:
        """Queue the packing of all but the first few vertices for a peer, before `pack` does the rest.

        Parameters
        ----------
        boundary : device array of int32 or int64
        slot : int
            Which of the superstep's parcels it will be.
        first : int
            The first that is packed.

        Returns
        -------
        Parcel
            Of these vertices alone.
        """
        return self._pack(boundary, slot, (first, len(boundary)), listed=False)

    def _pack(
        self, boundary: DeviceArray, slot: int, part: tuple[int, int], *, listed: bool
    ) -> Parcel:
        key = slot, self._turn, self._now, listed, part
        packer = self._packers.get(key)
        if packer is None or packer.boundary is not boundary:
            packer = self._packers[key] = self._packer(boundary, slot, part, listed=listed)
        packer.launch()
        return packer.parcel

    def _packer(
        self, boundary: DeviceArray, slot: int, part: tuple[int, int], *, listed: bool
    ) -> _Packer:
        """Marshal the packing of a part of a boundary into the box whose turn it is."""
        first, last = part
        count = last - first
        box = self._box(slot, len(boundary))
        fields = tuple(one[first:last] for one in box.fields)
        old, new = self._sent[1 - self._now], self._sent[self._now]
        head = (boundary[first:last], count, old, new, self._flags[self._now], self._lengths, slot)
        shape = launch_shape(self._device, count)
        prepare = self._kernels.prepare
        if listed:
            launch = prepare("pack_changed", *shape, *head, box.places, box.fields)
            return _Packer(boundary, launch, _Packed(box.places[:count], fields, slot=slot))
        launch = prepare("pack_all", *shape, *head, fields, box.active)
        active = box.active[:count] if self._frontier else None
        return _Packer(boundary, launch, _Packed(None, fields, active, slot=slot))

    def cut(self, parcel: Parcel, lengths: npt.NDArray[np.int64]) -> Parcel:
        """Return a parcel of the length that has been filled.

        Parameters
        ----------
        parcel : Parcel
            What `pack` returned.
        lengths : ndarray of int64
            What has been counted, on the host.
        """
        if not isinstance(parcel, _Packed):
            return parcel
        changed = int(lengths[parcel.slot])
        if parcel.places is None:
            return Parcel(None, parcel.fields, parcel.active, changed)
        return Parcel(
            parcel.places[:changed], tuple(one[:changed] for one in parcel.fields), None, changed
        )

    def unpack(self, first: int, last: int, parcel: Parcel) -> None:
        """Queue the unpacking of what has come for the ghosts at positions [first, last).

        Parameters
        ----------
        first, last : int
        parcel : Parcel
            Of device arrays, cut.
        """
        places, active = parcel.places, parcel.active
        count = last - first if places is None else len(places)
        if count == 0:
            return
        room = _Box(
            self._nowhere if places is None else places, parcel.fields,
            self._nobody if active is None else active,
        )  # fmt: skip
        self._unpacker(
            first, count, int(places is not None), room.places, room, self._no_headers, -1
        )()

    def _unpacker(
        self, first: int, count: int, listed: int, places: DeviceArray, box: _Box,
        headers: DeviceArray, slot: int,
    ) -> Callable[[], None]:  # fmt: skip
        """Marshal the unpacking of a box; the rest of the arguments is the kernel's."""
        return self._kernels.prepare(
            "unpack", *launch_shape(self._device, count), first, count, listed, places, box.fields,
            self._sent[self._now], self._sent[1 - self._now], self._flags[self._now], box.active,
            headers, slot,
        )  # fmt: skip

    def arrivals(self, peer: int, ghosts: tuple[int, int]) -> Parcel:
        """Return where all ghosts of a peer may come, in order, without being unpacked.

        The ghosts of the copy before, which the superstep still reads, stay as they are.

        Parameters
        ----------
        peer : int
        ghosts : (int, int)
            Their range of positions, all of it or a part.
        """
        self._behind.add(peer)
        key = ghosts, self._now
        found = self._arrivals.get(key)
        if found is None:
            first, last = ghosts
            fields = tuple(one[first:last] for one in self._sent[self._now])
            found = self._arrivals[key] = Parcel(None, fields)
        return found

    def catch_up(self, peer: int, ghosts: tuple[int, int]) -> None:
        """Bring a peer's ghosts in the latest copy to what the other has; then what changed may come.

        Parameters
        ----------
        peer : int
        ghosts : (int, int)
            Their range of positions.
        """
        if peer not in self._behind:
            return
        self._behind.discard(peer)
        first, last = ghosts
        for old, new in zip(self._sent[1 - self._now], self._sent[self._now], strict=True):
            new[first:last] = old[first:last]

    def expect(self, peer: int, most: int, count: int, *, listed: bool) -> Parcel:
        """Return room for what comes from a peer; it is used again after every superstep.

        Parameters
        ----------
        peer : int
        most : int
            How many vertices there may be, always.
        count : int
            How many there are.
        listed : bool
            Whether their places come too.

        Returns
        -------
        Parcel
            To be filled, then unpacked by `take`.
        """
        room = self._room_for(peer, most)
        if not listed:
            return Parcel(None, room.fields, room.active if self._frontier else None)
        return Parcel(room.places[:count], tuple(one[:count] for one in room.fields))

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
        """Queue the unpacking of what has come from a peer into the room for it.

        Parameters
        ----------
        peer : int
        ghosts : (int, int)
            The range of positions of its vertices.
        listed : bool
            Whether their places came too.
        headers : device array of float64
            What all have told.
        slot : int
            Where it says how many came, if they are listed.
        among : device array of int32 or int64, optional
            Where the ghosts are in what came, if the peer sends all of its vertices.  Like `headers`,
            the same in every superstep.
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

    def _box(self, slot: int, count: int) -> _Box:
        """Return the box whose turn it is; its room is made when it is first used."""
        box = self._boxes.get((slot, self._turn))
        if box is None or len(box.places) < count:
            box = self._boxes[slot, self._turn] = self._make_room(count)
        return box

    def _room_for(self, peer: int, most: int) -> _Box:
        """Return room for what comes from a peer."""
        room = self._rooms.get(peer)
        if room is None:
            room = self._rooms[peer] = self._make_room(most)
        return room

    def _make_room(self, count: int) -> _Box:
        xp = self._device.xp
        return _Box(
            xp.empty(count, np.int32),
            tuple(xp.empty(count, column.dtype) for column in self._sent[0]),
            xp.empty(count if self._frontier else 0, np.uint8),
        )


class FrontierRefinement(DeviceRefinement):
    """The same where supersteps are a frontier's: what comes joins the next one; see `border.py`.

    Parameters
    ----------
    device, kernels, owned, lengths
        See `DeviceRefinement`.
    state : tuple of device array
        By position; it is changed in place.
    bitmaps : sequence of two device arrays of uint32
        Who has news, after odd supersteps and after even ones.
    unlike : device array of int64
        As `lengths`: 0 where all of a list's values are alike.
    offsets : device array of int64
        Of the rows of out-neighbours.
    lists : sequence of two tuples of device array
        The frontiers' lists.
    room : int
        In each of them.
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
        self, first: int, count: int, listed: int, places: DeviceArray, box: _Box,
        headers: DeviceArray, slot: int,
    ) -> Callable[[], None]:  # fmt: skip
        now = self._now
        return self._kernels.prepare(
            "wake", *launch_shape(self._device, count), first, count, listed, places, box.fields,
            self._sent[now], box.active, headers, slot, *self._frontiers(now),
        )  # fmt: skip

    def _frontiers(self, now: int) -> tuple[Any, ...]:
        """Return what kernels that put ghosts into the next frontier take of it."""
        return self._flags[now], self._offsets, self._lists[now], self._room, self._control

    def _make_room(self, count: int) -> _Box:
        words = self._device.xp.empty(-(-count // 32), np.uint32)
        return replace(super()._make_room(count), bits=words)

    def _packer(
        self, boundary: DeviceArray, slot: int, part: tuple[int, int], *, listed: bool
    ) -> _Packer:
        if not listed:
            return super()._packer(boundary, slot, part, listed=False)
        count, now = len(boundary), self._now
        box, shape = self._box(slot, count), launch_shape(self._device, count)
        pack = self._kernels.prepare(
            "pack_news", *shape, boundary, count, self._sent[now], self._flags[now], self._lengths,
            slot, box.places, box.fields, box.bits,
        )  # fmt: skip
        compare = self._kernels.prepare(
            "find_unlike", *shape, self._lengths, slot, box.fields, self._unlike
        )

        def launch() -> None:
            pack()
            compare()

        return _Packer(boundary, launch, _Packed(box.places, box.fields, bits=box.bits, slot=slot))

    def in_bits(self, parcel: Parcel) -> Parcel:
        """Return a parcel whose values are all alike as bits and one value.

        Parameters
        ----------
        parcel : Parcel
            What `pack` returned, of vertices that are listed.
        """
        return Parcel(None, tuple(one[:1] for one in parcel.fields), None, 0, parcel.bits)

    def expect_bits(self, peer: int, most: int) -> Parcel:
        """Return room for bits and a value from a peer; see `expect`.

        Parameters
        ----------
        peer : int
        most : int
            How many vertices there may be.
        """
        room = self._room_for(peer, most)
        return Parcel(None, tuple(one[:1] for one in room.fields), None, 0, room.bits)

    def take_bits(self, peer: int, ghosts: tuple[int, int]) -> None:
        """Queue the unpacking of bits and a value from a peer; see `take`.

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
                "wake_alike", *launch_shape(self._device, count), first, count, room.bits, room.fields,
                self._sent[self._now], *self._frontiers(self._now),
            )  # fmt: skip
        launch()
