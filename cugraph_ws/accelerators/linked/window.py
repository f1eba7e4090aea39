"""Memory on the GPUs of one host that the kernels of all ranks can address, by CUDA's IPC handles.

Each rank allocates a piece of its GPU's memory and opens the pieces of the others.  A store into
another rank's piece goes over NVLink or PCIe, without the host.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from cugraph_ws.kernels.accelerators.linked.layout import BOX_WORDS
from cugraph_ws.runtime.communicator import Communicator
from cugraph_ws.runtime.driver import installed_gpus
from cugraph_ws.runtime.host import host

__all__ = ["GpuWindow", "capacity_of", "first_serial", "open_window"]

LISTED = 1 << 22  # vertices in lists from all ranks, in each half: 48 MB
MARKS = 1 << 21  # words of a message in bits: 67 million boundary vertices, 8 MB
MOST_RANKS = 32  # lanes of the warp that waits for headers
ALIGNED = 512  # bytes
WORD, PLACE, VALUE, MARK = 8, 4, 8, 4  # bytes of a header's word, a position, a value, bits
SUPERSTEP_BITS = 28  # low bits of a serial number, for the superstep; the others are for the run


class GpuWindow:
    """The pieces of all ranks; see `cugraph_ws.accelerators.linked.launches.Window`.

    Parameters
    ----------
    own : cupy.cuda.Memory
        This rank's piece; it is cleared here.
    pointers : sequence of int
        Addresses of all ranks' pieces, in this process.
    rank : int
    """

    def __init__(self, own: Any, pointers: Sequence[int], rank: int) -> None:
        import cupy

        self.capacity, self.marks, self.serial = capacity_of(len(pointers)), MARKS, 0
        self._xp, self._own, self._pointers, self._rank = cupy, own, list(pointers), rank
        self._base = min(pointers)
        self._alarm = cupy.cuda.alloc_pinned_memory(WORD)
        self._rung = np.frombuffer(self._alarm, np.int64, 1)
        self._rung[0] = 0
        self.alarm = self._array(self._alarm.ptr, np.int64, self._alarm)
        self._kept: dict[Any, tuple[tuple[Any, ...], Any]] = {}

    def _array(self, pointer: int, kind: Any, owner: Any) -> Any:
        """Return an array that begins at an address, for a kernel that knows its length."""
        cuda = self._xp.cuda
        memory = cuda.UnownedMemory(pointer, WORD, owner, cuda.Device().id)
        return self._xp.ndarray((1,), kind, cuda.MemoryPointer(memory, 0))

    def _made(self, kind: Any) -> tuple[tuple[Any, ...], Any]:
        kind = np.dtype(kind)
        if kind not in self._kept:
            size = len(self._pointers)
            parts = np.cumsum([0, *_sizes(size)])[:4]
            begins = [self._base + int(part) for part in parts]
            kinds = np.dtype(np.int64), np.dtype(np.int32), kind, np.dtype(np.uint32)
            headers, places, values, marks = (
                self._array(begin, dtype, self) for begin, dtype in zip(begins, kinds, strict=True)
            )
            apart = np.array(self._pointers, np.int64) - self._base
            starts = np.concatenate([apart // dtype.itemsize for dtype in kinds])
            self._kept[kind] = (headers, places, (values,), marks), self._xp.asarray(starts)
        return self._kept[kind]

    def arrays(self, kind: Any) -> tuple[Any, ...]:
        """Return arrays of headers, positions, values and bits, each from the lowest address of all ranks."""
        return self._made(kind)[0]

    def starts(self, kind: Any) -> Any:
        """Return where each rank's part of these arrays begins."""
        return self._made(kind)[1]

    def begin(self, run: str) -> None:
        """Set the current run; collective."""
        self.serial = first_serial(run)

    def ring(self) -> None:
        """Make kernels that wait for a lost rank end."""
        self._rung[0] = 1

    def close(self) -> None:
        """Give back the other ranks' pieces, then this one's."""
        self._kept.clear()
        _close(self._xp.cuda.runtime, self._pointers, self._rank)
        self._pointers = []
        self._own = None


def _close(runtime: Any, pointers: Sequence[int], own: int) -> None:
    """Give back what was opened of the other ranks' pieces."""
    for rank, pointer in enumerate(pointers):
        if rank != own:
            with suppress(Exception):  # its rank may be gone
                runtime.ipcCloseMemHandle(pointer)


def capacity_of(size: int) -> int:
    """Return the most vertices of a list from one of so many ranks: two million of each of two."""
    return LISTED // size


def _sizes(size: int) -> list[int]:
    """Return the bytes of a piece's headers, positions, values and bits."""
    buffers = 2 * size
    capacity = capacity_of(size)
    parts = BOX_WORDS * WORD, capacity * PLACE, capacity * VALUE, MARKS * MARK
    return [-(-buffers * nbytes // ALIGNED) * ALIGNED for nbytes in parts]


def open_window(comm: Communicator) -> GpuWindow | None:
    """Make the window of all ranks; collective.

    Parameters
    ----------
    comm : Communicator
        The communicator over which handles are exchanged.

    Returns
    -------
    GpuWindow or None
        None if the ranks are on several hosts, if two share a GPU, if a GPU cannot address
        another's memory, or if ``NCCL_P2P_DISABLE=1`` asks for exchanges through the host.
    """
    if not 1 < comm.size <= MOST_RANKS:
        return None
    from cupy import cuda

    wanted = os.environ.get("NCCL_P2P_DISABLE", "0") in ("", "0")
    gpu = installed_gpus()[cuda.Device().id].uuid if wanted else ""
    shown = comm.allgather([*host(), gpu])
    hosts, gpus = {tuple(facts[:2]) for facts in shown}, {name for *_, name in shown}
    if len(hosts) > 1 or "" in gpus or len(gpus) < comm.size:
        return None
    memory, handle = None, b""
    with suppress(Exception):  # handled below: without a handle no rank has a window
        memory = cuda.Memory(sum(_sizes(comm.size)))
        cuda.runtime.memset(memory.ptr, 0, memory.size)
        cuda.runtime.deviceSynchronize()
        handle = bytes(cuda.runtime.ipcGetMemHandle(memory.ptr))
    handles = comm.allgather(handle)
    pointers: list[int] = []
    if all(handles) and memory is not None:
        with suppress(cuda.runtime.CUDARuntimeError):  # no access from one GPU to another
            for rank, peer_handle in enumerate(handles):
                is_own = rank == comm.rank
                pointers.append(
                    memory.ptr if is_own else cuda.runtime.ipcOpenMemHandle(peer_handle)
                )
    if all(comm.allgather(len(pointers) == comm.size)):
        return GpuWindow(memory, pointers, comm.rank)
    _close(cuda.runtime, pointers, comm.rank)
    return None


def first_serial(run: str) -> int:
    """Return the serial number of a run's first superstep.

    It depends only on the run's name, which all ranks know, and not on the end of earlier runs.
    """
    return zlib.crc32(run.encode()) << SUPERSTEP_BITS
