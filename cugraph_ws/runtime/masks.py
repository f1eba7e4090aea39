"""Whether entries of a mask are true, and how many, for arrays of NumPy and of the device.

CuPy compiles a kernel for `any`, `all`, `count_nonzero` and the sum of bool: three to five seconds each on a new
machine.  What is used here for a GPU is compiled: CuPy's greatest and least byte, and a kernel of the library's own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.runtime.device import device

__all__ = ["all_true", "any_true", "count_on_device", "count_true"]

BLOCK = 256


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


def _address(array: Any) -> int:
    """Return where an array begins in memory."""
    return int(array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr)
