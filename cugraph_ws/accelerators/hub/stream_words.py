"""Host memory that GPUs address, and 64-bit words in it that their streams write and wait for, by ctypes."""

from __future__ import annotations

import ctypes

from cugraph_ws.runtime.driver import checked

__all__ = ["MOST", "address_on_gpu", "register", "store_word", "unregister", "wait_for_word"]

_PORTABLE, _MAPPED = 1, 2
_AT_LEAST = 0  # CU_STREAM_WAIT_VALUE_GEQ: the signed difference of both numbers is not negative
MOST = 1 << 62  # greater than any number that is waited for


def register(pointer: int, size: int) -> None:
    """Page-lock host memory, so that GPUs can address it.

    Parameters
    ----------
    pointer, size : int
        Address and number of bytes, both multiples of the page size.

    Raises
    ------
    EngineError
        If the driver refuses to.
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
    address = ctypes.c_uint64()
    checked(
        "cuMemHostGetDevicePointer_v2", "addressing host memory", ctypes.byref(address),
        ctypes.c_void_p(pointer), ctypes.c_uint(0),
    )  # fmt: skip
    return int(address.value)


def store_word(stream: int, address: int, value: int) -> None:
    """Queue a write of a 64-bit number; whoever reads it also sees the effects of all work queued before.

    Parameters
    ----------
    stream : int
        The stream's handle.
    address : int
        The GPU's address; see `address_on_gpu`.
    value : int
    """
    checked(
        "cuStreamWriteValue64_v2", "writing a number in stream order", ctypes.c_void_p(stream),
        ctypes.c_uint64(address), ctypes.c_uint64(value), ctypes.c_uint(0),
    )  # fmt: skip


def wait_for_word(stream: int, address: int, value: int) -> None:
    """Make work queued later wait until a 64-bit number is at least `value`; see `store_word`."""
    checked(
        "cuStreamWaitValue64_v2", "waiting for a number in stream order", ctypes.c_void_p(stream),
        ctypes.c_uint64(address), ctypes.c_uint64(value), ctypes.c_uint(_AT_LEAST),
    )  # fmt: skip
