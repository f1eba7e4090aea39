"""What a partition on the device sends its peers, and takes from them; see `kernels/cuda/refine.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.cuda.device import Device, KernelModule
from cugraph_ws.cuda.schedule import launch_shape
from cugraph_ws.engines import Parcel

__all__ = ["DeviceRefinement"]

DeviceArray = Any  # CuPy's or NumPy's
Fields = tuple[DeviceArray, ...]


@dataclass(frozen=True)
class _Packed(Parcel):
    """A parcel whose length is still being counted on the device, at a place of `lengths`."""

    slot: int = 0


@dataclass(frozen=True)
class _Box:
    """Room for what goes to one peer."""

    places: DeviceArray
    fields: Fields
    active: DeviceArray


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
        owned: int,
        lengths: DeviceArray,
    ) -> None:
        self._device = device
        self._kernels = kernels
        self._sent = sent
        self._flags = flags
        self._in_place = in_place
        self._owned = owned
        self._lengths = lengths
        self._boxes: dict[tuple[int, int], _Box] = {}
        self._turn = 0
        self._now = 0  # which copy is the latest
        self._slot = 0

    def begin(self, now: int) -> None:
        """Make ready for a superstep, which writes copy `now`: nothing has been packed or has come.

        Parameters
        ----------
        now : {0, 1}
        """
        self._now = now
        self._turn = 1 - self._turn
        self._slot = 0
        self._lengths[:] = 0
        self._flags[now][self._owned :] = 0

    def pack(self, boundary: DeviceArray, *, refine: bool) -> Parcel:
        """Queue the packing of vertices for a peer.

        Parameters
        ----------
        boundary : device array of int32 or int64
            Their positions.
        refine : bool
            Whether to pack only those whose copies are out of date.  Where nobody can tell, all are
            packed, without their places.

        Returns
        -------
        Parcel
            To be cut by `cut` once the superstep is done.
        """
        slot, count = self._slot, len(boundary)
        self._slot += 1
        box = self._box(slot, count)
        old, new = self._sent[1 - self._now], self._sent[self._now]
        head = (boundary, count, old, new, self._flags[self._now], self._lengths, slot)
        shape = launch_shape(self._device, count)
        if refine and not self._in_place:
            self._kernels.launch("pack_changed", *shape, *head, box.places, box.fields)
            return _Packed(box.places[:count], tuple(one[:count] for one in box.fields), slot=slot)
        self._kernels.launch("pack_all", *shape, *head, box.fields, box.active)
        active = box.active[:count] if len(box.active) else None
        return _Packed(None, tuple(one[:count] for one in box.fields), active, slot=slot)

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
        xp = self._device.xp
        places, active, listed = parcel.places, parcel.active, 1
        count = last - first
        if places is None:
            places, listed = xp.empty(0, np.int32), 0
        else:
            count = len(places)
        if count == 0:
            return
        if active is None:
            active = xp.empty(0, np.uint8)
        self._kernels.launch(
            "unpack", *launch_shape(self._device, count), first, count, listed, places,
            parcel.fields, self._sent[self._now], self._sent[1 - self._now],
            self._flags[self._now], active,
        )  # fmt: skip

    def _box(self, slot: int, count: int) -> _Box:
        """Return the box whose turn it is; its room is made when it is first used."""
        box = self._boxes.get((slot, self._turn))
        if box is None or len(box.places) < count:
            xp = self._device.xp
            box = self._boxes[slot, self._turn] = _Box(
                xp.empty(count, np.int32),
                tuple(xp.empty(count, column.dtype) for column in self._sent[0]),
                xp.empty(count if len(self._flags[0]) else 0, np.uint8),
            )
        return box
