"""Host memory that a GPU addresses, and words in it that its streams store and await; by the driver, through ctypes."""

from __future__ import annotations

import ctypes

from cugraph_ws.runtime.driver import checked

__all__ = ["MOST", "address_on_gpu", "register", "store_word", "unregister", "wait_for_word"]

_PORTABLE, _MAPPED = 1, 2
_AT_LEAST = 0  # the difference of both numbers, as a signed one, is not negative
MOST = 1 << 62  # more than any number that is awaited


def register(pointer: int, size: int) -> None:
    """Lock pages of host memory, and let the current GPU address them.

    Parameters
    ----------
    pointer, size : int
        Address and bytes, in whole pages.

    Raises
    ------
    EngineError
        If the driver refuses.
    """
    checked(
        "cuMemHostRegister_v2", "locking host memory", ctypes.c_void_p(pointer), ctypes.c_size_t(size),
        ctypes.c_uint(_PORTABLE | _MAPPED),
    )  # fmt: skip


def unregister(pointer: int) -> None:
    """Undo `register`; the GPU must not use the memory any more."""
    checked("cuMemHostUnregister", "releasing host memory", ctypes.c_void_p(pointer))


def address_on_gpu(pointer: int) -> int:
    """Return the address by which the GPU reaches registered memory."""
    found = ctypes.c_uint64()
    checked(
        "cuMemHostGetDevicePointer_v2", "addressing host memory", ctypes.byref(found),
        ctypes.c_void_p(pointer), ctypes.c_uint(0),
    )  # fmt: skip
    return int(found.value)


def store_word(stream: int, address: int, value: int) -> None:
    """Queue the storing of a 64-bit number; all that was queued before is visible to those who read it.

    Parameters
    ----------
    stream : int
        The stream's handle.
    address : int
        On the GPU.
    value : int
    """
    checked(
        "cuStreamWriteValue64_v2", "storing a number from the GPU's queue", ctypes.c_void_p(stream),
        ctypes.c_uint64(address), ctypes.c_uint64(value), ctypes.c_uint(0),
    )  # fmt: skip


def wait_for_word(stream: int, address: int, value: int) -> None:
    """Make work queued later wait until a 64-bit number is at least `value`; see `store_word`."""
    checked(
        "cuStreamWaitValue64_v2", "awaiting a number in the GPU's queue", ctypes.c_void_p(stream),
        ctypes.c_uint64(address), ctypes.c_uint64(value), ctypes.c_uint(_AT_LEAST),
    )  # fmt: skip
