"""Arrays of NumPy and of the device alike: whose they are, copies on the host, entries of masks, and the stream of the device's.

CuPy compiles a kernel for `any`, `all`, `count_nonzero` and the sum of bool: three to five seconds each on a new
machine.  What is used here for a GPU is compiled: CuPy's greatest and least byte, and a kernel of the library's own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from cugraph_ws.runtime.device import device
from cugraph_ws.runtime.driver import installed_gpus

__all__ = [
    "all_true", "any_true", "array_module", "as_host", "count_on_device", "count_true", "in_default_stream", "mark",
    "module_of", "on_default_stream", "read_scalars",
]  # fmt: skip

Called = TypeVar("Called", bound=Callable[..., Any])

BLOCK = 256
FEW_PLACES = 4  # at most so many indices are set one by one


def as_host(array: Any) -> np.ndarray[Any, Any]:
    """Return an array on the host; a host array is not copied.

    Parameters
    ----------
    array : ndarray or device array

    Returns
    -------
    ndarray
    """
    return array if isinstance(array, np.ndarray) else device().to_host(array)


def mark(marks: Any, places: Any) -> None:
    """Set entries of an array of bool to True.

    Parameters
    ----------
    marks : ndarray or device array of bool
        Modified in place.
    places : ndarray or device array of int64
        Indices.  A few indices on the host are set one by one, which is faster than copying them.
    """
    if isinstance(places, np.ndarray) and not isinstance(marks, np.ndarray):
        if len(places) <= FEW_PLACES:
            for place in places.tolist():
                (marks.data + place).memset_async(1, 1)
            return
        places = device().xp.asarray(places)
    marks[places] = True


def array_module(on_device: bool) -> Any:
    """Return the module that makes arrays on the device or the host: `cupy` or `numpy`.

    Parameters
    ----------
    on_device : bool

    Returns
    -------
    module
    """
    return device().xp if on_device else np


def module_of(array: Any) -> Any:
    """Return the module of an array: `numpy`, or the device's `xp`."""
    return array_module(not isinstance(array, np.ndarray))


def any_true(mask: Any) -> bool:
    """Return whether an entry is true; on a GPU the host waits for it.

    Parameters
    ----------
    mask : ndarray or device array of bool

    Returns
    -------
    bool
    """
    if isinstance(mask, np.ndarray):
        return bool(mask.any())
    return bool(mask.size and device().to_host(mask.view(np.uint8).max()))


def all_true(mask: Any) -> bool:
    """Return whether all entries are true; on a GPU the host waits for it.

    Parameters
    ----------
    mask : ndarray or device array of bool

    Returns
    -------
    bool
    """
    if isinstance(mask, np.ndarray):
        return bool(mask.all())
    return bool(not mask.size or device().to_host(mask.view(np.uint8).min()))


def count_true(mask: Any) -> int:
    """Return how many entries are true; on a GPU the host waits for it.

    Parameters
    ----------
    mask : ndarray or device array of bool

    Returns
    -------
    int
    """
    if isinstance(mask, np.ndarray):
        return int(np.count_nonzero(mask))
    return int(device().to_host(count_on_device(mask)))


def count_on_device(mask: Any) -> Any:
    """Queue the count of the entries that are true.

    Parameters
    ----------
    mask : device array of bool

    Returns
    -------
    device array of int64, shape ()
    """
    current_device = device()
    total = current_device.xp.zeros(1, np.int64)
    mask = current_device.xp.ascontiguousarray(mask).ravel()
    count = mask.size
    if count:
        words = count // 4 if _address(mask) % 4 == 0 else 0
        current_device.module("masks").launch(
            "count_true", current_device.blocks_for(max(words, count - 4 * words), BLOCK), BLOCK,
            mask[: 4 * words].view(np.uint32), words, mask[4 * words :], count - 4 * words, total,
        )  # fmt: skip
    return total[0]


def read_scalars(*scalars: Any) -> list[Any]:
    """Copy zero-dimensional arrays of one dtype to the host in a single transfer.

    Parameters
    ----------
    *scalars : device array of shape ()

    Returns
    -------
    list of int, float or bool
    """
    current_device = device()
    return list(current_device.to_host(current_device.xp.stack(scalars)).tolist())


def _address(array: Any) -> int:
    """Return where an array begins in memory."""
    return int(array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr)


def on_default_stream() -> AbstractContextManager[None]:
    """Return a context of CuPy's default stream: it follows the current stream, which follows it afterwards.

    All work of this library is queued on the default stream, as cuDF's is.  So what is kept with a graph is complete
    for runs of other threads, and no array's memory is used again while a kernel still reads it.
    """
    cupy = sys.modules.get("cupy")
    if cupy is None or not installed_gpus():  # it may be loaded without a GPU
        return nullcontext()
    current = cupy.cuda.get_current_stream()
    if current.ptr == cupy.cuda.Stream.null.ptr:
        return nullcontext()
    return _between(cupy.cuda, current, cupy.cuda.Stream.null)


def in_default_stream(function: Called) -> Called:
    """Let a function queue its device work as `on_default_stream` does."""

    @wraps(function)
    def wrapper(*arguments: Any, **named: Any) -> Any:
        with on_default_stream():
            return function(*arguments, **named)

    return cast(Called, wrapper)


@contextmanager
def _between(cuda: Any, outer: Any, inner: Any) -> Iterator[None]:
    """Use a stream that follows another one, and is followed by it."""
    begun, done = (cuda.Event(disable_timing=True) for _ in range(2))
    begun.record(outer)
    inner.wait_event(begun)
    try:
        with inner:
            yield
    finally:
        done.record(inner)
        outer.wait_event(done)
