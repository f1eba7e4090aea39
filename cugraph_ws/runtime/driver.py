"""The CUDA driver through ctypes: listing GPUs, loading machine code, launching kernels.

A launch with prepared arguments costs about 4 µs, whatever their number; Numba's dispatcher takes
124 µs for a dozen arrays.  Memory and streams are CuPy's.
"""

from __future__ import annotations

import ctypes
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from cugraph_ws.errors import EngineError

__all__ = ["Function", "Gpu", "checked", "installed_gpus", "load_function", "pool_of"]

_MULTIPROCESSORS = 16
_MEMORY_CLOCK, _MEMORY_BITS = 36, 37  # in kHz; at two transfers a cycle
_THREADS = 39
_L2_SIZE = 38
_MAJOR, _MINOR = 75, 76
_SHARED_OPT_IN = 97
_POOLS = 115
_MOST_SHARED = 8  # of a kernel's attributes
SHARED_ALWAYS = 48 << 10  # bytes of shared memory that a block may have without `allow_shared`
_POOL_OF_POINTER = 17
_NO_CONTEXT = 201


@dataclass(frozen=True)
class Gpu:
    """Properties of a GPU from the driver.

    Attributes
    ----------
    name : str
    memory : int
        Bytes.
    capability : (int, int)
        Compute capability.
    multiprocessors : int
    cache : int
        Bytes of the L2 cache.
    uuid : str
        In the format of NVIDIA's tools; empty if the driver does not report it.
    pools : bool
        Whether the driver supports stream-ordered memory pools.
    shared : int
        Most bytes of shared memory of a block.
    bandwidth : float
        Nominal bytes a second between the GPU and its memory, by the memory's clock and width; 0 if unknown.
    threads : int
        Most threads of a multiprocessor at once.
    """

    name: str
    memory: int
    capability: tuple[int, int]
    multiprocessors: int
    cache: int
    uuid: str = ""
    pools: bool = True
    shared: int = 48 << 10
    bandwidth: float = 0.0
    threads: int = 2048


@lru_cache
def _library() -> Any:
    for name in ("libcuda.so.1", "libcuda.so", "nvcuda.dll"):
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        if library.cuInit(0) == 0:
            return library
    return None


def _check(result: int, what: str) -> None:
    if result:
        text = ctypes.c_char_p()
        _library().cuGetErrorString(result, ctypes.byref(text))
        reason = (text.value or b"unknown error").decode()
        raise EngineError(f"{what}: the CUDA driver says {reason!r} (error {result})")


def _insist(result: int, ask: Callable[[], int], what: str) -> None:
    """Repeat a call that failed because the thread had no context of the current GPU.

    The CUDA runtime binds a context at a thread's first call.  A thread whose allocations were all
    served from the cache has not called it.
    """
    if result == _NO_CONTEXT:
        from cupy.cuda import runtime

        runtime.free(0)  # binds the context
        result = ask()
    _check(result, what)


def checked(name: str, what: str, *arguments: Any) -> None:
    """Call a function of the driver in the context of the current GPU.

    Parameters
    ----------
    name : str
        The function, with the suffix of its version.
    what : str
        What the call does, for errors.
    *arguments : ctypes objects

    Raises
    ------
    EngineError
        If the driver lacks the function, or the call fails.
    """
    function = getattr(_library(), name, None)
    if function is None:
        raise EngineError(f"{what}: the CUDA driver is too old, it has no {name}")

    def ask() -> int:
        result: int = function(*arguments)
        return result

    if result := ask():
        _insist(result, ask, what)


def installed_gpus() -> list[Gpu]:
    """Return the GPUs that the driver reports; none without a driver.

    Returns
    -------
    list of Gpu
        In the driver's order.
    """
    library = _library()
    return [] if library is None else list(_seen_by(library))


@lru_cache
def _seen_by(library: Any) -> tuple[Gpu, ...]:
    """Query the GPUs once: `device` asks for them at every call."""
    number = ctypes.c_int()
    _check(library.cuDeviceGetCount(ctypes.byref(number)), "counting GPUs")
    return tuple(_gpu(library, place) for place in range(number.value))


def _gpu(library: Any, place: int) -> Gpu:
    handle, size, name = ctypes.c_int(), ctypes.c_size_t(), ctypes.create_string_buffer(256)
    _check(library.cuDeviceGet(ctypes.byref(handle), place), "finding a GPU")
    _check(library.cuDeviceGetName(name, len(name), handle), "naming a GPU")
    _check(library.cuDeviceTotalMem_v2(ctypes.byref(size), handle), "sizing a GPU")

    def attribute(number: int) -> int:
        value = ctypes.c_int()
        _check(library.cuDeviceGetAttribute(ctypes.byref(value), number, handle), "asking a GPU")
        return value.value

    return Gpu(
        name=name.value.decode(),
        memory=size.value,
        capability=(attribute(_MAJOR), attribute(_MINOR)),
        multiprocessors=attribute(_MULTIPROCESSORS),
        cache=attribute(_L2_SIZE),
        uuid=_uuid(library, handle),
        pools=bool(attribute(_POOLS)),
        shared=max(attribute(_SHARED_OPT_IN), SHARED_ALWAYS),
        bandwidth=2e3 * attribute(_MEMORY_CLOCK) * attribute(_MEMORY_BITS) / 8,
        threads=attribute(_THREADS),
    )


def _uuid(library: Any, handle: ctypes.c_int) -> str:
    """Return the UUID of a GPU, or of an instance of one."""
    sixteen = (ctypes.c_ubyte * 16)()
    ask = getattr(library, "cuDeviceGetUuid_v2", None)  # since CUDA 11.4
    if ask is None or ask(sixteen, handle):
        return ""
    return f"GPU-{uuid.UUID(bytes=bytes(sixteen))}"


class Function:
    """A kernel loaded on the current GPU.

    Parameters
    ----------
    module, handle : ctypes.c_void_p
        The driver's handles.
    """

    def __init__(self, module: ctypes.c_void_p, handle: ctypes.c_void_p) -> None:
        self._module = module
        self._handle = handle

    def launch(
        self,
        grid: int,
        block: int,
        parameters: Any,
        stream: int,
        *,
        cooperative: bool = False,
        shared: int = 0,
    ) -> None:
        """Launch the kernel on a stream.

        Parameters
        ----------
        grid, block : int
            Number of blocks, and of threads of a block.
        parameters : ctypes array of void pointers
            The addresses of the parameters; their values are copied before the call returns.
        stream : int
            The stream's handle.
        cooperative : bool
            Whether all blocks must run at once.
        shared : int
            Dynamic shared memory of a block in bytes; see `allow_shared`.
        """
        library = _library()
        unit, none = ctypes.c_uint(1), ctypes.c_void_p()
        shape = (
            ctypes.c_uint(grid), unit, unit, ctypes.c_uint(block), unit, unit, ctypes.c_uint(shared),
            ctypes.c_void_p(stream),
        )  # fmt: skip

        def start() -> int:
            result: int
            if cooperative:
                result = library.cuLaunchCooperativeKernel(self._handle, *shape, parameters)
            else:
                result = library.cuLaunchKernel(self._handle, *shape, parameters, none)
            return result

        if result := start():
            _insist(result, start, f"launching {grid} blocks of {block} threads")

    def allow_shared(self, shared: int) -> None:
        """Allow launches with `shared` bytes of dynamic shared memory; needed above 48 KiB.

        Raises
        ------
        EngineError
            If a block of this GPU cannot have so much besides the kernel's static shared memory.
        """

        def ask() -> int:
            result: int = _library().cuFuncSetAttribute(
                self._handle, ctypes.c_int(_MOST_SHARED), ctypes.c_int(shared)
            )
            return result

        _insist(ask(), ask, f"asking for {shared} bytes of shared memory")

    def resident_blocks(self, block: int, shared: int = 0) -> int:
        """Return how many blocks of the kernel one multiprocessor runs at once.

        Parameters
        ----------
        block : int
            Number of threads of a block.
        shared : int
            Bytes of dynamic shared memory of a block.

        Returns
        -------
        int
        """
        number = ctypes.c_int()

        def ask() -> int:
            result: int = _library().cuOccupancyMaxActiveBlocksPerMultiprocessor(
                ctypes.byref(number), self._handle, ctypes.c_int(block), ctypes.c_size_t(shared)
            )
            return result

        _insist(ask(), ask, "asking for a kernel's occupancy")
        return number.value


def pool_of(pointer: int) -> int:
    """Return the driver's pool that memory was allocated from.

    Parameters
    ----------
    pointer : int
        Address of the memory.

    Returns
    -------
    int
        The pool's handle, 0 if the memory is from no pool.
    """
    handle = ctypes.c_void_p()
    failed = _library().cuPointerGetAttribute(
        ctypes.byref(handle), _POOL_OF_POINTER, ctypes.c_uint64(pointer)
    )
    return 0 if failed else handle.value or 0


def load_function(code: bytes, name: str) -> Function:
    """Load machine code on the current GPU.

    Parameters
    ----------
    code : bytes
        An ELF file (cubin).
    name : str
        Name of the kernel in it.

    Returns
    -------
    Function

    Raises
    ------
    EngineError
        If the driver refuses the code.
    """
    library, module, handle = _library(), ctypes.c_void_p(), ctypes.c_void_p()

    def load() -> int:
        result: int = library.cuModuleLoadData(ctypes.byref(module), code)
        return result

    _insist(load(), load, f"loading {name}")
    _check(
        library.cuModuleGetFunction(ctypes.byref(handle), module, name.encode()),
        f"finding {name}",
    )
    return Function(module, handle)
