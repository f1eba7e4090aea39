"""The CUDA driver, through ctypes: which GPUs there are, machine code in, launches out.

A launch through it costs about 4 µs with the arguments kept, whatever their number; Numba's
dispatcher takes 124 µs for a dozen arrays.  Memory and streams are CuPy's.
"""

from __future__ import annotations

import ctypes
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from cugraph_ws.errors import EngineError

__all__ = ["Function", "Gpu", "installed_gpus", "load_function", "pool_of"]

_MULTIPROCESSORS = 16
_L2_SIZE = 38
_MAJOR, _MINOR = 75, 76
_POOLS = 115
_POOL_OF_POINTER = 17
_NO_CONTEXT = 201


@dataclass(frozen=True)
class Gpu:
    """What the driver says of a GPU.

    Attributes
    ----------
    name : str
    memory : int
        Bytes.
    capability : (int, int)
        Compute capability.
    multiprocessors : int
    cache : int
        Bytes of the L2.
    uuid : str
        As NVIDIA's tools write it; empty if the driver does not tell.
    pools : bool
        Whether the driver keeps pools of memory, which take and give in the order of a stream.
    """

    name: str
    memory: int
    capability: tuple[int, int]
    multiprocessors: int
    cache: int
    uuid: str = ""
    pools: bool = True


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
    """Ask once more where only the thread was new, and had no context of the current GPU yet.

    The runtime binds one in a thread's first call of it; whoever finds all memory kept makes none.
    """
    if result == _NO_CONTEXT:
        from cupy.cuda import runtime

        runtime.free(0)  # binds it
        result = ask()
    _check(result, what)


def installed_gpus() -> list[Gpu]:
    """List the GPUs that the driver sees; none without a driver.

    Returns
    -------
    list of Gpu
        In the driver's order.
    """
    library = _library()
    return [] if library is None else list(_seen_by(library))


@lru_cache
def _seen_by(library: Any) -> tuple[Gpu, ...]:
    """Ask once: whoever works on a GPU looks for it again and again."""
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
    )


def _uuid(library: Any, handle: ctypes.c_int) -> str:
    """Return what tells a GPU, or an instance of one, from all others."""
    sixteen = (ctypes.c_ubyte * 16)()
    ask = getattr(library, "cuDeviceGetUuid_v2", None)  # since CUDA 11.4
    if ask is None or ask(sixteen, handle):
        return ""
    return f"GPU-{uuid.UUID(bytes=bytes(sixteen))}"


class Function:
    """A kernel that is loaded on the current GPU.

    Parameters
    ----------
    module, handle : ctypes.c_void_p
        The driver's.
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
    ) -> None:
        """Start the kernel; it runs when the stream comes to it.

        Parameters
        ----------
        grid, block : int
            Blocks, and threads of a block.
        parameters : ctypes array of void pointers
            Where each parameter's value lies; they are copied before the call returns.
        stream : int
            The stream's handle.
        cooperative : bool
            Whether all blocks must run at once.
        """
        library = _library()
        one, none = ctypes.c_uint(1), ctypes.c_void_p()
        shape = (
            ctypes.c_uint(grid), one, one, ctypes.c_uint(block), one, one, ctypes.c_uint(0),
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

    def resident_blocks(self, block: int) -> int:
        """Return how many blocks one multiprocessor runs at once.

        Parameters
        ----------
        block : int
            Threads of a block.

        Returns
        -------
        int
        """
        number = ctypes.c_int()

        def ask() -> int:
            result: int = _library().cuOccupancyMaxActiveBlocksPerMultiprocessor(
                ctypes.byref(number), self._handle, ctypes.c_int(block), ctypes.c_size_t(0)
            )
            return result

        _insist(ask(), ask, "asking for a kernel's occupancy")
        return number.value


def pool_of(pointer: int) -> int:
    """Return which of the driver's pools some memory is from.

    Parameters
    ----------
    pointer : int
        Its address.

    Returns
    -------
    int
        The pool's handle, 0 if the memory is from none.
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
        Of the kernel in it.

    Returns
    -------
    Function

    Raises
    ------
    EngineError
        If the driver refuses it.
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
