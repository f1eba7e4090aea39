"""The operations on CuPy's arrays that first calls need, compiled while a call waits for kernels of the library.

CuPy compiles a kernel for each operation and type when it is first used, a tenth of a second each, and some forty are
used by a first graph, a first run and its result.  On a new machine a thread uses them on small arrays, while
the call waits for the library's own first kernel (`compile_ahead`).  Only speed depends on it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

__all__ = ["begin"]

ENOUGH = 4  # cores
ENTRIES = 1 << 12  # of arrays: sums and searches of smaller ones have other kernels

_begun = threading.Lock()  # taken once, and kept


def begin(xp: Any) -> None:
    """Start the thread, once in a process; it ends early with the main thread.

    Parameters
    ----------
    xp : module
        `cupy`.
    """
    if (os.cpu_count() or 1) >= ENOUGH and _begun.acquire(blocking=False):
        gpu = xp.cuda.Device()
        threading.Thread(target=_use_all, args=(xp, gpu), name="operations ahead").start()


def _use_all(xp: Any, gpu: Any) -> None:
    with suppress(Exception), gpu, xp.cuda.Stream(non_blocking=True):
        for operation in _operations(xp):
            if not threading.main_thread().is_alive():
                return
            with suppress(Exception):  # the call that needs it will say what is wrong
                operation()


def _operations(xp: Any) -> list[Callable[[], Any]]:
    """Return operations, in the order in which a first graph, first runs and their results need them."""
    i4, i8, f4, f8, flags = (xp.zeros(ENTRIES, kind) for kind in ("i4", "i8", "f4", "f8", "?"))
    return [
        # numbering and rows
        partial(xp.greater, i4, 0),
        partial(xp.cumsum, flags, dtype=np.int32),
        partial(xp.subtract, i4, 1),
        partial(xp.flatnonzero, flags),
        partial(i4.astype, np.int64),
        partial(xp.subtract, i8, 1),
        *(partial(xp.take, values, places) for values in (i4, i8) for places in (i8, i4)),
        partial(xp.append, i8[:1], i8[-1:]),
        i8[::2].copy,
        partial(i8.__setitem__, slice(None, None, 2), i8[1::2]),
        partial(xp.diff, i8),
        partial(xp.negative, i8),
        partial(xp.floor_divide, i8, 4),
        partial(i8.astype, np.int32),
        # weights and constants
        partial(i8.astype, np.float64),
        partial(xp.full, ENTRIES, 0.0, np.float64),
        partial(xp.greater, f8, 0.0),
        partial(xp.less, f8, 0.0),
        partial(xp.bitwise_and, flags, flags),
        partial(i8.fill, 1),
        partial(xp.isfinite, f4),
        partial(xp.isfinite, f8),
        partial(xp.invert, flags),
        partial(xp.greater, i8, 0),
        # states by vertex number, and result frames
        *(partial(xp.take, values, places) for values in (f8, f4, flags) for places in (i4, i8)),
        i4.copy,
        i4[::2].copy,
        f8.copy,
        f4.copy,
        # searches
        partial(xp.full, ENTRIES, -1, np.int32),
        partial(xp.equal, i4, 0),
        partial(xp.equal, i8, 0),
        partial(xp.not_equal, f4, np.inf),
        partial(xp.packbits, flags, bitorder="little"),
        partial(xp.arange, ENTRIES, dtype=np.int32),
        partial(xp.multiply, 2, i8),
        partial(xp.add, i8, i8),
    ]
