"""The emulator as the device that the CUDA engine computes on: NumPy arrays, kernels lane by lane."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any
from unittest.mock import patch

import numpy as np

from cugraph_ws.runtime.device import installed
from cugraph_ws.runtime.generated import kernel_file
from cugraph_ws.runtime.signature import kind_of

from .machine import Emulator
from .source import defined_twice, load

__all__ = ["EmulatedDevice", "EmulatedKernels", "emulated", "launches"]

THREADS = 64  # of a block at most: two warps, not eight or sixteen; each thread is a coroutine
SHARED = 640  # bytes of a block's shared memory beside what kernels declare: shards of few arcs
CACHE = 600  # bytes: counts of all but the smallest graphs are made in several turns


def as_pointers(argument: Any) -> Any:
    """Show arrays of bool as bytes, as the driver does."""
    if isinstance(argument, tuple):
        return tuple(as_pointers(one) for one in argument)
    if isinstance(argument, np.ndarray) and argument.dtype == np.bool_:
        return argument.view(np.uint8)
    return argument


class EmulatedLaunch:
    """A kernel with its arguments; see `cugraph_ws.runtime.device.Prepared`."""

    def __init__(self, launch: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        self._launch, self._arguments = launch, list(arguments)

    def __call__(self) -> None:
        self._launch(*self._arguments)

    def change(self, place: int, value: int) -> None:
        assert type(self._arguments[place]) is int, "it is compiled for another type"
        self._arguments[place] = value

    @property
    def resident_threads(self) -> int:
        return 0


class EmulatedKernels:
    """Kernels by name; see `cugraph_ws.runtime.device.KernelModule`."""

    def __init__(self, device: EmulatedDevice, space: dict[str, Any]) -> None:
        self.device = device
        self.space = space

    def launch(
        self, name: str, grid: int, block: int, *arguments: Any, cooperative: bool = False,
        shared: int = 0,
    ) -> None:  # fmt: skip
        kind_of(arguments)  # the driver would refuse what this does
        assert shared <= self.device.shared_memory
        if grid:
            self.device.launches += 1
            self.device.emulator.launch(
                self.space[name], grid, min(block, self.device.threads), as_pointers(arguments),
                cooperative=cooperative, shared=shared,
            )  # fmt: skip

    def prepare(
        self, name: str, grid: int, block: int, *arguments: Any, cooperative: bool = False,
        shared: int = 0,
    ) -> EmulatedLaunch:  # fmt: skip
        room = {"shared": shared} if shared else {}
        return EmulatedLaunch(
            lambda *now: self.launch(name, grid, block, *now, cooperative=cooperative, **room),
            arguments,
        )

    def prepare_together(
        self, name: str, items: int, block: int, *arguments: Any
    ) -> EmulatedLaunch:
        grid = self.device.blocks_for(items, block)
        return self.prepare(name, grid, block, *arguments, cooperative=True)


class EmulatedBuffers:
    """See `cugraph_ws.runtime.device.Buffers`."""

    def __init__(self, moved: list[tuple[Any, int, Any]]) -> None:
        self.free = [True, True]
        self._moved = moved

    def fill(self, which: int, copies: Sequence[tuple[Any, Any]]) -> None:
        assert self.free[which], "a kernel may still read the buffer"
        self.free[which] = False
        for source, target in copies:
            target[:] = source
            for array, places, whole in self._moved:
                if target.base is array:
                    whole[:places] = 0
                    whole[places : places + len(source)] = source

    def read(self, which: int) -> None:
        self.free[which] = True


class EmulatedDevice:
    """See `cugraph_ws.runtime.device.Device`.

    Parameters
    ----------
    seed : int
        Decides in which order threads go.
    multiprocessors : int
        How large grids are.
    memory : int
        Bytes that are free.
    threads : int
        Most threads of a block, by default `THREADS`; larger blocks are cut to that when they are
        launched, as registers cut them on a GPU.
    """

    xp = np
    bandwidth = math.nan
    threads_at_once = THREADS

    def __init__(
        self, seed: int = 0, multiprocessors: int = 1, memory: int = 1 << 34, threads: int = 0
    ) -> None:
        self.emulator = Emulator(seed)
        self.threads = threads or THREADS
        self.multiprocessors = multiprocessors
        self.cache = CACHE
        self.shared_memory = SHARED
        self.memory = memory
        self.downloads = 0
        self.launches = 0
        self._moved: list[tuple[Any, int, Any]] = []
        self._apart: set[int] = set()  # threads that have queued something beside
        self._modules: dict[str, EmulatedKernels] = {}

    def to_host(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        self.downloads += 1
        return array.copy()

    def pinned(self, count: int, dtype: Any) -> np.ndarray[Any, Any]:
        return np.empty(count, dtype)

    def addressable(self, count: int, dtype: Any) -> np.ndarray[Any, Any]:
        return np.empty(count, dtype)

    def moved(self, array: np.ndarray[Any, Any], places: int) -> np.ndarray[Any, Any]:
        # An array of its own, since memory before the given one belongs to others; see `EmulatedBuffers`
        whole = np.zeros(places + len(array), array.dtype)
        self._moved.append((array, places, whole))
        return whole

    def buffered(self) -> EmulatedBuffers:
        return EmulatedBuffers(self._moved)

    def copy_in(self, pinned: np.ndarray[Any, Any], array: np.ndarray[Any, Any]) -> None:
        array[:] = pinned

    def copy_out(self, array: np.ndarray[Any, Any], pinned: np.ndarray[Any, Any]) -> None:
        pinned[:] = array

    def module(self, name: str) -> EmulatedKernels:
        if name not in self._modules:
            self._modules[name] = EmulatedKernels(self, load(kernel_file("cuda", name)))
        return self._modules[name]

    def program_module(
        self, name: str, interface: str, loops: tuple[str, ...], write: Callable[[], str]
    ) -> EmulatedKernels:
        key = "\n".join([interface, *loops])
        if key not in self._modules:
            # Here modules have namespaces of their own; on a GPU they share that of the written text.
            twice = defined_twice(write())
            assert not twice, f"{name} defines more than once: {sorted(twice)}"
            served = dict.fromkeys(
                ("interface", "pair_interface", "vector_interface", "walk_interface"),
                load(interface),
            )
            space: dict[str, Any] = {}
            for loop in loops:
                space |= load(kernel_file("cuda", loop), served)
            self._modules[key] = EmulatedKernels(self, space)
        return self._modules[key]

    def blocks_for(self, items: int, block: int) -> int:
        return max(1, min(-(-items // min(block, self.threads)), 2 * self.multiprocessors))

    @contextmanager
    def beside(self) -> Iterator[None]:
        assert threading.get_ident() not in self._apart, "what is beside has been joined again"
        self._apart.add(threading.get_ident())
        yield

    def rejoin(self) -> None:
        self._apart.remove(threading.get_ident())

    def here(self) -> Callable[[], AbstractContextManager[None]]:
        return nullcontext

    def free_memory(self) -> int:
        return self.memory

    def synchronize(self) -> None:
        pass

    def trim(self, *, everything: bool = False) -> None:
        pass


@contextmanager
def emulated(seed: int = 0, **options: Any) -> Iterator[EmulatedDevice]:
    """Let the CUDA engine compute in the emulator, within a `with` block."""
    device = EmulatedDevice(seed, **options)
    with installed(device):
        yield device


@contextmanager
def launches() -> Iterator[list[str]]:
    """Yield the names of the kernels that are launched at once, in order, within a `with` block."""
    names: list[str] = []
    launch = EmulatedKernels.launch

    def noted(kernels: EmulatedKernels, name: str, *given: Any, **named: Any) -> None:
        names.append(name)
        launch(kernels, name, *given, **named)

    with patch.object(EmulatedKernels, "launch", noted):
        yield names
