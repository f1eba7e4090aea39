"""The device that the CUDA engine computes on: its arrays and its kernels.

All code above this module uses `Device`.  There are two implementations: the current GPU with CuPy
arrays, and in the tests an emulator with NumPy arrays.
"""

from __future__ import annotations

import ctypes
import importlib
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np

from cugraph_ws.errors import EngineError
from cugraph_ws.runtime import array_operations
from cugraph_ws.runtime.compile_ahead import Job, expect, foresee, module_with, needed
from cugraph_ws.runtime.device_compiler import load_or_compile
from cugraph_ws.runtime.driver import Function, Gpu, installed_gpus, load_function
from cugraph_ws.runtime.extras import install_command
from cugraph_ws.runtime.generated import import_text, kernel_file, kernel_module
from cugraph_ws.runtime.pools import SharedPool, kept_at_most, kept_by_rmm, left_by_rmm, shared_pool
from cugraph_ws.runtime.signature import Kind, Marshalled, Parameters, marshal

__all__ = [
    "Buffers",
    "CudaDevice",
    "Device",
    "KernelModule",
    "Prepared",
    "device",
    "has_device",
    "installed",
    "wrapped_by",
]

BLOCKS_A_MULTIPROCESSOR = 16  # most blocks of a grid-stride loop
DECLARED = 4 << 10  # most bytes of static shared memory, besides what a launch asks for
REGISTERS = 1 << 16  # of a block, on any GPU


class Prepared(Protocol):
    """A kernel with its arguments; calling it launches it."""

    def __call__(self) -> None:
        """Launch the kernel."""

    def change(self, place: int, value: int) -> None:
        """Replace the integer argument at index `place` for all later launches."""

    @property
    def resident_threads(self) -> int:
        """How many threads of the launch a multiprocessor runs at once; 0 if unknown."""


class KernelModule(Protocol):
    """The kernels of one source file, or of one program."""

    def launch(
        self, name: str, grid: int, block: int, *arguments: Any, cooperative: bool = False,
        shared: int = 0,
    ) -> None:  # fmt: skip
        """Launch a kernel asynchronously; arguments are arrays, numbers, and tuples of them.

        `shared` is the dynamic shared memory of a block in bytes.
        """

    def prepare(
        self, name: str, grid: int, block: int, *arguments: Any, cooperative: bool = False,
        shared: int = 0,
    ) -> Prepared:  # fmt: skip
        """Return an object that launches a kernel repeatedly with the same arguments.

        Blocks have fewer threads than `block` if the kernel needs too many registers.
        """

    def prepare_together(self, name: str, items: int, block: int, *arguments: Any) -> Prepared:
        """Return an object that launches a cooperative kernel, all of whose blocks run at once.

        There is a thread for each of `items`, up to as many as the GPU can run at once.  Blocks have
        `block` threads, or fewer if the kernel needs too many registers.
        """


class Buffers(Protocol):
    """Two buffers on the device that are filled in turn while kernels read the other."""

    def fill(self, which: int, copies: Sequence[tuple[Any, Any]]) -> None:
        """Queue copies (from, to) into buffer 0 or 1, after its last reader; later work waits for them.

        Copies run beside queued kernels.
        """

    def read(self, which: int) -> None:
        """Say that the kernels queued so far are the last readers of buffer 0 or 1 before it is filled."""


class Device(Protocol):
    """The arrays and kernels of one device.

    Attributes
    ----------
    xp : module
        `cupy` or `numpy`.
    multiprocessors : int
        Number of multiprocessors.
    cache : int
        Bytes of the L2 cache.
    shared_memory : int
        Most bytes of dynamic shared memory of a block, besides 4 KiB of static shared memory.
    downloads : int
        Number of arrays copied by `to_host` so far.
    bandwidth : float
        Nominal bytes a second of its memory; NaN if unknown.
    threads_at_once : int
        Threads that a multiprocessor has room for.
    """

    xp: Any
    multiprocessors: int
    cache: int
    shared_memory: int
    downloads: int
    bandwidth: float
    threads_at_once: int

    def to_host(self, array: Any) -> np.ndarray[Any, Any]:
        """Copy an array to the host; waits for the work that computes it."""

    def pinned(self, count: int, dtype: Any) -> np.ndarray[Any, Any]:
        """Return an array in pinned host memory, for asynchronous copies."""

    def addressable(self, count: int, dtype: Any) -> Any:
        """Return an array of `xp` in pinned memory of the host, which kernels read and write in place."""

    def moved(self, array: Any, places: int) -> Any:
        """Return an array whose entry `places` is the first of the given one; no entry before may be read."""

    def buffered(self) -> Buffers:
        """Return what fills two buffers in turn while kernels read the other."""

    def copy_in(self, pinned: np.ndarray[Any, Any], array: Any) -> None:
        """Queue a copy from pinned host memory to the device; the host does not wait."""

    def copy_out(self, array: Any, pinned: np.ndarray[Any, Any]) -> None:
        """Queue a copy from the device to pinned host memory; the host does not wait."""

    def module(self, name: str) -> KernelModule:
        """Return the kernels of `kernels/cuda/<name>.py`."""

    def program_module(
        self, name: str, interface: str, loops: tuple[str, ...], write: Callable[[], str]
    ) -> KernelModule:
        """Return a program's kernels.

        Parameters
        ----------
        name : str
            Name of the program.
        interface : str
            Source that replaces the module `interface`.
        loops : tuple of str
            Modules of `kernels/cuda` in the same text.
        write : callable
            Returns the text of all modules.
        """

    def blocks_for(self, items: int, block: int) -> int:
        """Return the number of blocks for a loop over `items`: a thread for each, up to a full GPU."""

    def beside(self) -> AbstractContextManager[None]:
        """Queue the launches of the `with` block after all queued work, concurrent with later work.

        They have priority over later work.
        """

    def rejoin(self) -> None:
        """Make later work wait for the work queued in `beside`."""

    def here(self) -> Callable[[], AbstractContextManager[None]]:
        """Return a context manager in which another thread uses this thread's device and stream."""

    def free_memory(self) -> int:
        """Return how many bytes can still be allocated."""

    def synchronize(self) -> None:
        """Wait until all launches are done."""

    def trim(self, *, everything: bool = False) -> None:
        """Free cached memory if it is above a limit, or in any case with `everything`."""


class _Launch:
    """A kernel with its arguments marshalled; calling it launches it on the current stream."""

    def __init__(
        self,
        function: Function | None,
        grid: int,
        block: int,
        arguments: tuple[Any, ...],
        marshalled: Marshalled,
        cooperative: bool,
        stream: Callable[[], Any],
        shared: int = 0,
    ) -> None:
        self._function = function
        self._shared = shared
        self._shape = grid, block
        self._arguments = arguments  # kept alive: the parameters point into their memory
        self._cooperative = cooperative
        self._stream = stream
        self._parameters = Parameters(marshalled)

    def __call__(self) -> None:
        if self._function is not None:
            self._function.launch(
                *self._shape,
                self._parameters.table,
                self._stream().ptr,
                cooperative=self._cooperative,
                shared=self._shared,
            )

    def change(self, place: int, value: int) -> None:
        self._parameters.change(place, value)

    @property
    def resident_threads(self) -> int:
        if self._function is None:
            return 0
        block = self._shape[1]
        return block * self._function.resident_blocks(block, self._shared)


def _most_threads(registers: int) -> int:
    """Return the most threads of a block, in whole warps, for `registers` a thread; 0 for no limit."""
    allocated = -(-registers // 8) * 8
    return 0 if not allocated else REGISTERS // allocated // 32 * 32


class _Kernels:
    """A module whose kernels are compiled for the current GPU when they are first launched."""

    def __init__(
        self,
        owner: CudaDevice,
        module: str,
        text: str,
        functions: Callable[[], Any],
        *,
        generated: bool,
    ) -> None:
        self._device = owner
        self._module = module
        self._text = text
        self._generated = generated  # whether the text is a program's
        self._functions = functions
        # Functions, and the most threads of a block that their registers allow (0: no limit)
        self._loaded: dict[tuple[str, tuple[Kind, ...]], tuple[Function, int]] = {}

    def _load(self, name: str, kinds: tuple[Kind, ...]) -> tuple[Function, int]:
        """Return the loaded kernel for argument types, and the most threads of its blocks."""
        loaded = self._loaded.get((name, kinds))
        if loaded is None:
            capability = self._device.gpu.capability
            job = Job(self._module, self._text if self._generated else "", name, kinds, capability)
            binary = load_or_compile(
                self._text, name, kinds, capability, lambda: getattr(self._functions(), name),
                lambda: needed(job),
            )  # fmt: skip
            threads = binary.threads or _most_threads(binary.registers)
            loaded = load_function(binary.code, name), threads
            self._loaded[name, kinds] = loaded
        return loaded

    def launch(
        self, name: str, grid: int, block: int, *arguments: Any, cooperative: bool = False,
        shared: int = 0,
    ) -> None:  # fmt: skip
        # As `prepare`, but without an object: most launches are made once
        marshalled = marshal(arguments)
        if not grid:
            return
        function, threads = self._load(name, marshalled.kinds)
        if shared:
            function.allow_shared(shared)
        parameters = Parameters(marshalled)
        function.launch(
            grid, min(block, threads or block), parameters.table,
            self._device.xp.cuda.get_current_stream().ptr, cooperative=cooperative, shared=shared,
        )  # fmt: skip

    def prepare(
        self, name: str, grid: int, block: int, *arguments: Any, cooperative: bool = False,
        shared: int = 0,
    ) -> Prepared:  # fmt: skip
        marshalled = marshal(arguments)
        function, threads = self._load(name, marshalled.kinds) if grid else (None, 0)
        block = min(block, threads or block)
        if function is not None and shared:
            function.allow_shared(shared)
        return _Launch(
            function, grid, block, arguments, marshalled, cooperative,
            self._device.xp.cuda.get_current_stream, shared,
        )  # fmt: skip

    def prepare_together(self, name: str, items: int, block: int, *arguments: Any) -> Prepared:
        own_device, marshalled = self._device, marshal(arguments)
        function, threads = self._load(name, marshalled.kinds)
        block = min(block, threads or block)
        grid = min(own_device.blocks_for(items, block), own_device.most_blocks(function, block))
        return _Launch(
            function,
            grid,
            block,
            arguments,
            marshalled,
            True,
            own_device.xp.cuda.get_current_stream,
        )


class _Buffers:
    """Two buffers that a stream of its own fills; see `Buffers`."""

    def __init__(self, xp: Any) -> None:
        self._cuda = xp.cuda
        self._stream = xp.cuda.Stream(non_blocking=True)
        self._filled, self._read = (
            [xp.cuda.Event(disable_timing=True) for _ in range(2)] for _ in range(2)
        )

    def fill(self, which: int, copies: Sequence[tuple[Any, Any]]) -> None:
        """Queue copies into one buffer."""
        self._stream.wait_event(self._read[which])  # an event that was never recorded is no wait
        for source, target in copies:
            target.data.copy_from_async(source.data, source.nbytes, self._stream)
        self._filled[which].record(self._stream)
        self._cuda.get_current_stream().wait_event(self._filled[which])

    def read(self, which: int) -> None:
        """Record the last readers of one buffer."""
        self._read[which].record(self._cuda.get_current_stream())


class CudaDevice:
    """The current GPU; see `Device`.

    Parameters
    ----------
    xp : module
        CuPy.
    gpu : Gpu
        Its properties from the driver.
    pool : SharedPool, optional
        The memory pool of arrays.
    """

    def __init__(self, xp: Any, gpu: Gpu, pool: SharedPool | None = None) -> None:
        self.xp = xp
        self._pool = pool
        self.gpu = gpu
        self.multiprocessors = gpu.multiprocessors
        self.cache = gpu.cache
        self.shared_memory = gpu.shared - DECLARED
        self.bandwidth, self.threads_at_once = gpu.bandwidth or math.nan, gpu.threads
        self.downloads = 0
        self._modules: dict[str, _Kernels] = {}
        self._programs: dict[tuple[str, str, tuple[str, ...]], _Kernels] = {}

    def to_host(self, array: Any) -> np.ndarray[Any, Any]:
        """Copy an array to the host; waits for the work that computes it."""
        self.downloads += 1
        copied: np.ndarray[Any, Any] = self.xp.asnumpy(array)
        return copied

    def pinned(self, count: int, dtype: Any) -> np.ndarray[Any, Any]:
        """Return an array in pinned host memory."""
        kind = np.dtype(dtype)
        memory = self.xp.cuda.alloc_pinned_memory(max(count * kind.itemsize, 1))
        return np.frombuffer(memory, kind, count)

    def addressable(self, count: int, dtype: Any) -> Any:
        """Return an array of CuPy in pinned memory of the host."""
        cuda, kind = self.xp.cuda, np.dtype(dtype)
        size = max(count * kind.itemsize, 1)
        return self._at(cuda.PinnedMemory(size), 0, count, kind)

    def moved(self, array: Any, places: int) -> Any:
        """Return an array whose entry `places` is the first of the given one."""
        return self._at(
            array.data, -places * array.dtype.itemsize, places + len(array), array.dtype
        )

    def _at(self, memory: Any, shift: int, count: int, kind: np.dtype[Any]) -> Any:
        """Return an array that begins so many bytes after the address of some memory, which it keeps."""
        cuda = self.xp.cuda
        unowned = cuda.UnownedMemory(
            memory.ptr + shift, count * kind.itemsize, memory, cuda.runtime.getDevice()
        )
        return self.xp.ndarray(count, kind, cuda.MemoryPointer(unowned, 0))

    def buffered(self) -> Buffers:
        """Return what fills two buffers in turn."""
        return _Buffers(self.xp)

    def copy_in(self, pinned: np.ndarray[Any, Any], array: Any) -> None:
        """Queue a copy from pinned host memory to the device."""
        array.data.copy_from_host_async(
            ctypes.c_void_p(pinned.ctypes.data), array.nbytes, self.xp.cuda.get_current_stream()
        )

    def copy_out(self, array: Any, pinned: np.ndarray[Any, Any]) -> None:
        """Queue a copy from the device to pinned host memory."""
        array.data.copy_to_host_async(
            ctypes.c_void_p(pinned.ctypes.data), array.nbytes, self.xp.cuda.get_current_stream()
        )

    def module(self, name: str) -> KernelModule:
        """Return the kernels of `kernels/cuda/<name>.py`."""
        if name not in self._modules:
            path = kernel_file("cuda", name)
            self._modules[name] = _Kernels(
                self,
                name,
                path.read_text("utf-8"),
                lambda: importlib.import_module(kernel_module("cuda", name)),
                generated=False,
            )
        return self._modules[name]

    def program_module(
        self, name: str, interface: str, loops: tuple[str, ...], write: Callable[[], str]
    ) -> KernelModule:
        """Return a program's kernels."""
        key = name, interface, loops
        kernels = self._programs.get(key)
        if kernels is None:
            text = write()
            full = module_with(name, text)
            kernels = _Kernels(self, full, text, lambda: import_text(full, text), generated=True)
            self._programs[key] = kernels
            foresee(write, self.gpu.capability)
        return kernels

    def blocks_for(self, items: int, block: int) -> int:
        """Return the number of blocks for a loop over `items`: a thread for each, up to a full GPU."""
        return max(1, min(-(-items // block), BLOCKS_A_MULTIPROCESSOR * self.multiprocessors))

    def most_blocks(self, function: Function, block: int) -> int:
        """Return how many blocks of a kernel run at once."""
        return function.resident_blocks(block) * self.multiprocessors

    @cached_property
    def _side(self) -> tuple[Any, Any, Any]:
        """A high-priority stream, the event that it waits for, and the event that it records."""
        cuda = self.xp.cuda
        events = (cuda.Event(disable_timing=True) for _ in range(2))
        return cuda.Stream(non_blocking=True, priority=-1), *events

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Queue the launches of the `with` block concurrent with later work."""
        stream, before, after = self._side
        before.record(self.xp.cuda.get_current_stream())
        stream.wait_event(before)
        with stream:
            yield
        after.record(stream)

    def rejoin(self) -> None:
        """Make later work wait for the work queued in `beside`."""
        self.xp.cuda.get_current_stream().wait_event(self._side[2])

    def here(self) -> Callable[[], AbstractContextManager[None]]:
        """Return a context manager in which another thread uses this thread's GPU and stream."""
        gpu, stream = self.xp.cuda.Device(), self.xp.cuda.get_current_stream()

        @contextmanager
        def there() -> Iterator[None]:
            with gpu, stream:
                yield

        return there

    def free_memory(self) -> int:
        """Return how many bytes can still be allocated, including free memory of pools."""
        runtime = self.xp.cuda.runtime
        free = min(runtime.memGetInfo()[0] + kept_by_rmm(runtime), left_by_rmm())
        return int(free) + (0 if self._pool is None else self._pool.free_bytes())

    def synchronize(self) -> None:
        """Wait until all launches are done."""
        self.xp.cuda.get_current_stream().synchronize()

    def keep_pool(self) -> None:
        """Make CuPy allocate from this pool again, if its allocator was replaced."""
        if self._pool is not None:
            self._pool.insist()

    def trim(self, *, everything: bool = False) -> None:
        """Free cached memory if it is above a limit, or in any case with `everything`."""
        if self._pool is None:
            return
        if everything or self._pool.free_bytes() > kept_at_most(self.gpu.memory):
            self._pool.free_all_blocks()


_substitute: Device | None = None
_wrap: ContextVar[Callable[[Device], Any] | None] = ContextVar("wrap", default=None)


@contextmanager
def installed(substitute: Device) -> Iterator[Device]:
    """Replace the current GPU by another device in a `with` block.

    Parameters
    ----------
    substitute : Device
        The tests' emulator.

    Yields
    ------
    Device
        The same.
    """
    global _substitute  # noqa: PLW0603 - one for the process, as the current GPU is
    before, _substitute = _substitute, substitute
    try:
        yield substitute
    finally:
        _substitute = before


@contextmanager
def wrapped_by(wrap: Callable[[Device], Any]) -> Iterator[None]:
    """Let `device` return each device wrapped, in a `with` block of this thread and those that it starts.

    Parameters
    ----------
    wrap : callable
        Returns what is used in the place of a device.
    """
    token = _wrap.set(wrap)
    try:
        yield
    finally:
        _wrap.reset(token)


def has_device() -> bool:
    """Return whether there is a device, without importing CuPy."""
    return _substitute is not None or bool(installed_gpus())


def device() -> Device:
    """Return the device to compute on, the current GPU.

    Returns
    -------
    Device

    Raises
    ------
    EngineError
        If there is no GPU, or CuPy or Numba-CUDA is missing.
    """
    unwrapped, wrap = _current(), _wrap.get()
    if wrap is None:
        return unwrapped
    wrapped: Device = wrap(unwrapped)
    return wrapped


def _current() -> Device:
    if _substitute is not None:
        return _substitute
    if not installed_gpus():
        raise EngineError(
            "engine='cuda' needs an NVIDIA GPU and its driver, and there is none here; use engine='cpu'"
        )
    try:
        import cupy
    except ImportError as error:
        raise EngineError(
            f"engine='cuda' needs CuPy and Numba-CUDA: {install_command('cu13')} "
            "(for CUDA 12: the same with cu12)"
        ) from error
    current_device = _of_gpu(int(cupy.cuda.Device().id), cupy)
    current_device.keep_pool()
    return current_device


@lru_cache
def _of_gpu(place: int, xp: Any) -> CudaDevice:
    # CuPy numbers GPUs as the driver does: both honour CUDA_VISIBLE_DEVICES.
    gpu = installed_gpus()[place]
    array_operations.serve(xp)
    expect("GPU")
    return CudaDevice(xp, gpu, shared_pool(xp, gpu.memory))
