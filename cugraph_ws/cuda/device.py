"""The device that the CUDA engine computes on: its arrays, its kernels.

Everything above this module is written over `Device`.  There are two: the current GPU, with CuPy
arrays, and in the tests an emulator, with NumPy arrays.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np

from cugraph_ws.codegen import import_text, kernel_file
from cugraph_ws.cuda.codegen import LOOPS, module_source
from cugraph_ws.cuda.compiler import load_or_compile
from cugraph_ws.cuda.driver import Function, Gpu, installed_gpus, load_function, pool_of
from cugraph_ws.cuda.signature import Kind, flatten, kind_of, parameters
from cugraph_ws.errors import EngineError

__all__ = [
    "CudaDevice",
    "Device",
    "KernelModule",
    "Prepared",
    "array_module",
    "as_host",
    "device",
    "driver_pool",
    "has_device",
    "installed",
]

POOLED = 1 << 28  # bytes of an array above which its memory goes straight back
KEPT = 1 << 30  # bytes of freed memory that are kept for the next arrays
# The same as parts of the GPU's memory, where that is more and RMM has no pool of its own: one of the
# driver's takes longer, of searches of 130 million vertices on two GPUs 2 to 6 % of the call
POOLED_PART, KEPT_PART = 128, 16
PROBE = 256  # bytes of an array whose pool is asked for
BLOCKS_A_MULTIPROCESSOR = 16  # of a loop over more items than threads


class Prepared(Protocol):
    """A kernel with its arguments; calling it launches it."""

    def __call__(self) -> None:
        """Launch the kernel."""

    def change(self, place: int, value: int) -> None:
        """Let a whole number, the argument at a place, be another from the next launch on."""


class KernelModule(Protocol):
    """The kernels of one source file, or of one program."""

    def launch(
        self, name: str, grid: int, block: int, *arguments: Any, cooperative: bool = False
    ) -> None:
        """Run a kernel, asynchronously; arguments are arrays, numbers, and tuples of them."""

    def prepare(
        self, name: str, grid: int, block: int, *arguments: Any, cooperative: bool = False
    ) -> Prepared:
        """Return what launches a kernel again and again with the same arguments."""


class Device(Protocol):
    """Where arrays lie and kernels run.

    Attributes
    ----------
    xp : module
        `cupy` or `numpy`.
    multiprocessors : int
        How many blocks run side by side, about.
    cache : int
        Bytes of the L2.
    downloads : int
        Arrays copied to the host so far, by `to_host`.
    """

    xp: Any
    multiprocessors: int
    cache: int
    downloads: int

    def to_host(self, array: Any) -> np.ndarray[Any, Any]:
        """Copy an array to the host; waits for what computes it."""

    def pinned(self, count: int, dtype: Any) -> np.ndarray[Any, Any]:
        """Return an array of the host into which the device can copy by itself."""

    def copy_in(self, pinned: np.ndarray[Any, Any], array: Any) -> None:
        """Queue the copying of a pinned array of the host into one of the device; nobody waits."""

    def copy_out(self, array: Any, pinned: np.ndarray[Any, Any]) -> None:
        """Queue the copying of an array into a pinned one; nobody waits."""

    def module(self, name: str) -> KernelModule:
        """Return the kernels of `kernels/cuda/<name>.py`."""

    def program_module(
        self, name: str, interface: str, loops: tuple[str, ...] = LOOPS
    ) -> KernelModule:
        """Return a program's kernels; `interface` is what takes the interface's place."""

    def blocks_for(self, items: int, block: int) -> int:
        """Return a grid for a loop over `items`: a thread each, while the GPU has use for them."""

    def most_threads(self, module: KernelModule, name: str, most: int, *arguments: Any) -> int:
        """Return how many threads a block of a kernel may have, up to `most`."""

    def most_blocks(self, module: KernelModule, name: str, block: int, *arguments: Any) -> int:
        """Return the most blocks that a cooperative launch of a kernel may have."""

    def beside(self) -> AbstractContextManager[None]:
        """Queue what is launched within a `with` block behind what is queued, beside what follows.

        It goes ahead of what follows where both could run.
        """

    def rejoin(self) -> None:
        """Let what follows wait for what was queued in `beside`."""

    def free_memory(self) -> int:
        """Return how many bytes can still be allocated."""

    def synchronize(self) -> None:
        """Wait until all launches are done."""

    def trim(self, *, everything: bool = False) -> None:
        """Give back memory that is kept for the next arrays: what is more than a little, or all."""


class _Launch:
    """A kernel with its arguments marshalled; calling it launches it on the current stream."""

    def __init__(
        self,
        function: Function | None,
        grid: int,
        block: int,
        arguments: tuple[Any, ...],
        cooperative: bool,
        stream: Callable[[], Any],
    ) -> None:
        self._function = function
        self._shape = grid, block
        self._arguments = arguments  # the pointers below point into their memory
        self._cooperative = cooperative
        self._stream = stream
        self._values = parameters(arguments)
        places = [ctypes.addressof(one) for one in self._values]
        self._table = (ctypes.c_void_p * max(len(places), 1))(*places)

    def __call__(self) -> None:
        if self._function is not None:
            self._function.launch(
                *self._shape, self._table, self._stream().ptr, cooperative=self._cooperative
            )

    def change(self, place: int, value: int) -> None:
        self._values[len(flatten(self._arguments[:place]))].value = value


class _Kernels:
    """A module whose kernels are compiled for the current GPU when they are first launched."""

    def __init__(self, owner: CudaDevice, text: str, functions: Callable[[], Any]) -> None:
        self._device = owner
        self._text = text
        self._functions = functions
        self._loaded: dict[tuple[str, tuple[Kind, ...]], Function] = {}
        self._threads: dict[tuple[str, tuple[Kind, ...]], int] = {}

    def function(self, name: str, arguments: tuple[Any, ...]) -> Function:
        """Return a kernel for arguments of such types, loaded."""
        kinds = tuple(kind_of(one) for one in arguments)
        found = self._loaded.get((name, kinds))
        if found is None:
            binary = load_or_compile(
                self._text, name, kinds, self._device.gpu.capability,
                lambda: getattr(self._functions(), name),
            )  # fmt: skip
            found = self._loaded[name, kinds] = load_function(binary.code, name)
            self._threads[name, kinds] = binary.threads
        return found

    def most_threads(self, name: str, most: int, arguments: tuple[Any, ...]) -> int:
        """Return how many threads a block may have: `most`, or fewer if registers do not allow it."""
        self.function(name, arguments)
        allowed = self._threads[name, tuple(kind_of(one) for one in arguments)]
        return min(most, allowed) if allowed else most

    def launch(
        self, name: str, grid: int, block: int, *arguments: Any, cooperative: bool = False
    ) -> None:
        self.prepare(name, grid, block, *arguments, cooperative=cooperative)()

    def prepare(
        self, name: str, grid: int, block: int, *arguments: Any, cooperative: bool = False
    ) -> Prepared:
        return _Launch(
            self.function(name, arguments) if grid else None, grid, block, arguments, cooperative,
            self._device.xp.cuda.get_current_stream,
        )  # fmt: skip


class CudaDevice:
    """The current GPU; see `Device`.

    Parameters
    ----------
    xp : module
        CuPy.
    gpu : Gpu
        What the driver says of it.
    pool : cupy.cuda.MemoryPool, optional
        Where arrays' memory comes from.
    """

    def __init__(self, xp: Any, gpu: Gpu, pool: Any = None) -> None:
        self.xp = xp
        self._pool = pool
        self.gpu = gpu
        self.multiprocessors = gpu.multiprocessors
        self.cache = gpu.cache
        self.downloads = 0
        self._modules: dict[str, _Kernels] = {}
        self._programs: dict[tuple[str, str, tuple[str, ...]], _Kernels] = {}

    def to_host(self, array: Any) -> np.ndarray[Any, Any]:
        """Copy an array to the host; waits for what computes it."""
        self.downloads += 1
        copied: np.ndarray[Any, Any] = self.xp.asnumpy(array)
        return copied

    def pinned(self, count: int, dtype: Any) -> np.ndarray[Any, Any]:
        """Return an array of the host, in pages that stay where they are."""
        kind = np.dtype(dtype)
        memory = self.xp.cuda.alloc_pinned_memory(max(count * kind.itemsize, 1))
        return np.frombuffer(memory, kind, count)

    def copy_in(self, pinned: np.ndarray[Any, Any], array: Any) -> None:
        """Queue the copying of a pinned array of the host into one of the device."""
        array.data.copy_from_host_async(
            ctypes.c_void_p(pinned.ctypes.data), array.nbytes, self.xp.cuda.get_current_stream()
        )

    def copy_out(self, array: Any, pinned: np.ndarray[Any, Any]) -> None:
        """Queue the copying of an array into a pinned one."""
        array.data.copy_to_host_async(
            ctypes.c_void_p(pinned.ctypes.data), array.nbytes, self.xp.cuda.get_current_stream()
        )

    def module(self, name: str) -> KernelModule:
        """Return the kernels of `kernels/cuda/<name>.py`."""
        if name not in self._modules:
            path = kernel_file("cuda", name)
            self._modules[name] = _Kernels(
                self,
                path.read_text(),
                lambda: importlib.import_module(f"cugraph_ws.kernels.cuda.{name}"),
            )
        return self._modules[name]

    def program_module(
        self, name: str, interface: str, loops: tuple[str, ...] = LOOPS
    ) -> KernelModule:
        """Return a program's kernels; `interface` is what takes the interface's place."""
        key = name, interface, loops
        found = self._programs.get(key)
        if found is None:
            text = module_source(interface, loops)
            digest = hashlib.sha256(text.encode()).hexdigest()[:20]
            full = f"{name}_{digest}"
            found = _Kernels(self, text, lambda: import_text(full, text))
            self._programs[key] = found
        return found

    def blocks_for(self, items: int, block: int) -> int:
        """Return a grid for a loop over `items`: a thread each, while the GPU has use for them."""
        return max(1, min(-(-items // block), BLOCKS_A_MULTIPROCESSOR * self.multiprocessors))

    def most_threads(self, module: KernelModule, name: str, most: int, *arguments: Any) -> int:
        """Return how many threads a block of a kernel may have, up to `most`."""
        assert isinstance(module, _Kernels)
        return module.most_threads(name, most, arguments)

    def most_blocks(self, module: KernelModule, name: str, block: int, *arguments: Any) -> int:
        """Return the most blocks that a cooperative launch of a kernel may have."""
        assert isinstance(module, _Kernels)
        return module.function(name, arguments).resident_blocks(block) * self.multiprocessors

    @cached_property
    def _side(self) -> tuple[Any, Any, Any]:
        """A stream that has priority, and events: of what it waits for, and of what waits for it."""
        cuda = self.xp.cuda
        events = (cuda.Event(disable_timing=True) for _ in range(2))
        return cuda.Stream(non_blocking=True, priority=-1), *events

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Queue what is launched within a `with` block beside what follows."""
        stream, before, after = self._side
        before.record(self.xp.cuda.get_current_stream())
        stream.wait_event(before)
        with stream:
            yield
        after.record(stream)

    def rejoin(self) -> None:
        """Let what follows wait for what was queued in `beside`."""
        self.xp.cuda.get_current_stream().wait_event(self._side[2])

    def free_memory(self) -> int:
        """Return how many bytes can still be allocated, in the pools that may be used included."""
        free: int = self.xp.cuda.runtime.memGetInfo()[0]
        free += 0 if self._pool is None else int(self._pool.free_bytes())
        return free + _kept_by_rmm(self.xp.cuda.runtime)

    def synchronize(self) -> None:
        """Wait until all launches are done."""
        self.xp.cuda.get_current_stream().synchronize()

    def trim(self, *, everything: bool = False) -> None:
        """Give back memory that is kept for the next arrays: what is more than a little, or all."""
        if self._pool is None:
            return
        most = KEPT if _has_own_pool(_resource()) else max(KEPT, self.gpu.memory // KEPT_PART)
        if everything or self._pool.free_bytes() > most:
            self._pool.free_all_blocks()


_substitute: Device | None = None


@contextmanager
def installed(substitute: Device) -> Iterator[Device]:
    """Compute on another device than the current GPU, within a `with` block.

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


def has_device() -> bool:
    """Tell whether there is a device to compute on, without importing CuPy."""
    return _substitute is not None or bool(installed_gpus())


def as_host(array: Any) -> np.ndarray[Any, Any]:
    """Return an array on the host; one that is there already is not copied.

    Parameters
    ----------
    array : ndarray or device array

    Returns
    -------
    ndarray
    """
    return array if isinstance(array, np.ndarray) else device().to_host(array)


def array_module(on_device: bool) -> Any:
    """Return what makes arrays on the device, or on the host: `cupy` or `numpy`.

    Parameters
    ----------
    on_device : bool

    Returns
    -------
    module
    """
    return device().xp if on_device else np


def device() -> Device:
    """Return the device to compute on: the current GPU.

    Returns
    -------
    Device

    Raises
    ------
    EngineError
        If there is no GPU, or CuPy or Numba-CUDA is missing.
    """
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
            "engine='cuda' needs CuPy and Numba-CUDA: pip install 'cugraph-ws[cu13]' "
            "(or [cu12] for CUDA 12)"
        ) from error
    return _of_gpu(int(cupy.cuda.Device().id), cupy)


@lru_cache
def _of_gpu(place: int, xp: Any) -> CudaDevice:
    # CuPy numbers GPUs as the driver does: both honour CUDA_VISIBLE_DEVICES.
    gpu = installed_gpus()[place]
    return CudaDevice(xp, gpu, _shared_pool(xp, max(POOLED, gpu.memory // POOLED_PART)))


def _resource() -> Any:
    """Return what RMM takes memory from, None where it is not in use.

    Resources that only count or report what another one gives are looked through.
    """
    if "rmm" not in sys.modules:
        return None
    resource = sys.modules["rmm"].mr.get_current_device_resource()
    while hasattr(resource, "get_upstream") and not _has_own_pool(resource):
        resource = resource.get_upstream()
    return resource


_asked: tuple[Any, int] = None, 0  # a resource of RMM's, and the driver's pool that it has


def driver_pool() -> int:
    """Return the handle of the driver's pool that RMM takes memory from, 0 where there is none.

    Not all of RMM's resources tell it, but the driver does, of memory that comes from one.
    """
    global _asked  # noqa: PLW0603 - one for the process, as what RMM takes memory from is
    resource = _resource()
    if resource is None:
        return 0
    known, pool = _asked
    if known is not resource:
        pointer = resource.allocate(PROBE)
        pool = pool_of(pointer)
        resource.deallocate(pointer, PROBE)
        _asked = resource, pool
    return pool


def _has_own_pool(resource: Any) -> bool:
    """Tell whether one of RMM's resources gives from a pool that it keeps itself."""
    return hasattr(resource, "pool_size")


def _kept_by_rmm(runtime: Any) -> int:
    """Return how many bytes RMM has of the driver and can still give out; or more, for its own pool."""
    resource = _resource()
    if _has_own_pool(resource):  # which does not tell how much of it is in use:
        return int(resource.pool_size())  # nothing is refused for its sake
    pool = driver_pool()
    if not pool:
        return 0
    held, used = (
        int(runtime.memPoolGetAttribute(pool, one))
        for one in (runtime.cudaMemPoolAttrReservedMemCurrent, runtime.cudaMemPoolAttrUsedMemCurrent)
    )  # fmt: skip
    return held - used


def _shared_pool(xp: Any, most: int) -> Any:
    """Let CuPy take memory from RMM where that is installed, blocks up to a size to be kept a while.

    RMM's usual resource asks the driver for every array, which takes as long as a small graph's
    superstep; where it has its own pool, blocks above `POOLED` are its matter.  An allocator that somebody
    has set stays; then None is returned.
    """
    usual = xp.get_default_memory_pool()
    if importlib.util.find_spec("rmm") is None:
        return usual if xp.cuda.get_allocator() == usual.malloc else None
    from rmm.allocators.cupy import rmm_cupy_allocator

    if xp.cuda.get_allocator() not in (usual.malloc, rmm_cupy_allocator):
        return None
    pool = xp.cuda.MemoryPool(rmm_cupy_allocator)

    def attempt(size: int) -> Any:
        kept = size <= POOLED or (size <= most and not _has_own_pool(_resource()))
        return pool.malloc(size) if kept else rmm_cupy_allocator(size)

    def allocate(size: int) -> Any:
        try:
            return attempt(size)
        except MemoryError:  # RMM's, of which CuPy does not know that something may be given back
            pool.free_all_blocks()
            return attempt(size)

    xp.cuda.set_allocator(allocate)
    return pool
