"""Launches of kernels, timed on the device while a run is profiled, and the bytes that steps note.

Meanwhile `device()` returns the device with its modules wrapped; at other times nothing is wrapped, so that
a launch costs what it always does.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from cugraph_ws.runtime.device import Device, KernelModule, Prepared, wrapped_by

__all__ = [
    "OFFSET",
    "Launch",
    "Launches",
    "is_profiled",
    "note_bytes",
    "note_rows",
    "recorded_launches",
]

OFFSET = 8  # bytes, of a row of neighbours


@dataclass(frozen=True)
class Launch:
    """One launch.

    Attributes
    ----------
    kernel : str
        Name of the kernel.
    milliseconds : float
        From its beginning to its end on the device, with the time until it begins if the device was idle.
    occupancy : float
        The threads that a multiprocessor runs at once of those that it has room for, from 0 to 1; NaN if the
        device does not say.
    """

    kernel: str
    milliseconds: float
    occupancy: float


class Launches:
    """The launches since the last `take`, and the bytes that are noted since the last `take_bytes`."""

    def __init__(self) -> None:
        self._marks: list[tuple[str, Any, Any, Any, float]] = []
        self._bytes: list[tuple[float, float]] = []

    def record(self, device: Device, kernel: str, launch: Prepared) -> None:
        """Launch a kernel between two marks of the time.

        Parameters
        ----------
        device : Device
            Its array library has events, which are the marks; else they are the host's clock.
        kernel : str
        launch : Prepared
        """
        cuda = getattr(device.xp, "cuda", None)
        before = _mark(cuda)
        launch()
        occupancy = (launch.resident_threads or math.nan) / device.threads_at_once
        self._marks.append((kernel, cuda, before, _mark(cuda), occupancy))

    def note(self, read: float, written: float) -> None:
        """Add to the bytes that are read and written; NaN if they cannot be known."""
        self._bytes.append((read, written))

    def take_bytes(self) -> tuple[float, float]:
        """Return the bytes read and written since the last call; NaN if none are noted."""
        noted, self._bytes = self._bytes or [(math.nan, math.nan)], []
        return math.fsum(read for read, _ in noted), math.fsum(written for _, written in noted)

    def forget(self) -> None:
        """Forget all launches and bytes so far."""
        self._marks, self._bytes = [], []

    def take(self) -> list[Launch]:
        """Return the launches since the last call, once they are done."""
        marks, self._marks = self._marks, []
        return [
            Launch(kernel, _milliseconds(cuda, before, after), occupancy)
            for kernel, cuda, before, after, occupancy in marks
        ]


def _mark(cuda: Any) -> Any:
    if cuda is None:
        return time.perf_counter()
    event = cuda.Event()
    event.record()  # on the stream of the launch
    return event


def _milliseconds(cuda: Any, before: Any, after: Any) -> float:
    if cuda is None:
        return 1000.0 * float(after - before)
    after.synchronize()
    return float(cuda.get_elapsed_time(before, after))


_recording: ContextVar[Launches | None] = ContextVar("recording", default=None)


@contextmanager
def recorded_launches() -> Iterator[Launches]:
    """Record all launches in a `with` block of this thread, and of the threads that it starts.

    Yields
    ------
    Launches
    """
    launches = Launches()
    token = _recording.set(launches)
    try:
        with wrapped_by(_TimedDevice):
            yield launches
    finally:
        _recording.reset(token)


def is_profiled() -> bool:
    """Return whether launches and bytes are recorded, so that counting what is read is worth its time."""
    return _recording.get() is not None


def note_bytes(read: float, written: float = 0.0) -> None:
    """Note what the step of a loop reads and writes, for the profile; without one, nothing happens.

    Every arc that is read loads its entries, also if a cache has them; what lies in order of vertices is
    loaded and stored once for each vertex.

    Parameters
    ----------
    read, written : float
        Bytes; NaN if a step does work whose bytes are not known, so that it has none.
    """
    recording = _recording.get()
    if recording is not None:
        recording.note(read, written)


def note_rows(
    rows: Any, which: Any = None, *, arc: float = 0, vertex: float = 0, written: float = 0
) -> None:
    """Note that rows of neighbours are read: their offsets, and the neighbours.

    Parameters
    ----------
    rows : Adjacency or NeighbourRows
        Its `offsets` and `indices`.
    which : array of int64, optional
        The rows, which are read from this list; by default all.
    arc, vertex : float
        Bytes that are read besides for each arc, and for each row.
    written : float
        Bytes that are written for each row.
    """
    if not is_profiled():
        return
    offsets, indices = rows.offsets, rows.indices
    if which is None:
        count, arcs = len(offsets) - 1, len(indices)
    else:
        count, arcs = len(which), int((offsets[which + 1] - offsets[which]).sum())
        vertex += which.itemsize
    read = arcs * (indices.itemsize + arc) + count * (2 * OFFSET + vertex)
    note_bytes(float(read), float(count * written))


class _TimedLaunch:
    """A prepared launch that is recorded while there is a recording; it may be kept for longer."""

    def __init__(self, device: Device, kernel: str, launch: Prepared) -> None:
        self._device, self._kernel, self._launch = device, kernel, launch

    def __call__(self) -> None:
        recording = _recording.get()
        if recording is None:
            self._launch()
        else:
            recording.record(self._device, self._kernel, self._launch)

    def change(self, place: int, value: int) -> None:
        self._launch.change(place, value)

    @property
    def resident_threads(self) -> int:
        return self._launch.resident_threads


class _TimedKernels:
    """The kernels of a module; see `KernelModule`."""

    def __init__(self, device: Device, kernels: KernelModule) -> None:
        self._device, self._kernels = device, kernels

    def launch(self, name: str, grid: int, block: int, *arguments: Any, **options: Any) -> None:
        self.prepare(name, grid, block, *arguments, **options)()

    def prepare(
        self, name: str, grid: int, block: int, *arguments: Any, **options: Any
    ) -> Prepared:
        launch = self._kernels.prepare(name, grid, block, *arguments, **options)
        return (
            _TimedLaunch(self._device, name, launch) if grid else launch
        )  # without blocks, nothing runs

    def prepare_together(self, name: str, items: int, block: int, *arguments: Any) -> Prepared:
        launch = self._kernels.prepare_together(name, items, block, *arguments)
        return _TimedLaunch(self._device, name, launch)


class _TimedDevice:
    """A device whose launches are recorded; all else is that device's."""

    def __init__(self, device: Device) -> None:
        self._device = device

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def module(self, name: str) -> KernelModule:
        return _TimedKernels(self._device, self._device.module(name))

    def program_module(self, *arguments: Any) -> KernelModule:
        return _TimedKernels(self._device, self._device.program_module(*arguments))
