"""Launches of kernels, timed on the device while a run is profiled.

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

__all__ = ["Launch", "Launches", "recorded_launches"]


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
    """The launches since the last `take`."""

    def __init__(self) -> None:
        self._marks: list[tuple[str, Any, Any, Any, float]] = []

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
