"""The operations on CuPy's arrays that first calls need, compiled in two threads beside these calls.

CuPy compiles a kernel for each operation and type when it is first used, a tenth of a second each, and some hundred
are used by a first graph, a few first runs and their results.  On a machine where CuPy has compiled little, or when a
kernel of the library is missing, threads use them on small arrays.  Only speed depends on it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["begin", "begin_if_new"]

ENOUGH = 4  # cores
THREADS = 2  # CUDA's run-time compiler works on two kernels at a time, however many threads ask
FEW = 64  # entries of CuPy's cache: on a machine that has used this library there are more
ENTRIES = 1 << 12  # of arrays: sums and searches of smaller ones have other kernels

Operation = Callable[[], Any]

_begun = threading.Lock()  # taken once, and kept


def begin_if_new(xp: Any) -> None:
    """Start the threads if CuPy's cache has few entries.

    Parameters
    ----------
    xp : module
        `cupy`.
    """
    folder = os.environ.get("CUPY_CACHE_DIR") or Path.home() / ".cupy" / "kernel_cache"
    try:
        entries = len(os.listdir(folder))
    except OSError:  # there is none yet
        entries = 0
    if entries < FEW:
        begin(xp)


def begin(xp: Any) -> None:
    """Start the threads, once in a process; they end early with the main thread.

    Parameters
    ----------
    xp : module
        `cupy`.
    """
    if (os.cpu_count() or 1) >= ENOUGH and _begun.acquire(blocking=False):
        gpu = xp.cuda.Device()
        operations = iter([*_of_first_calls(xp), *_of_later_calls(xp)])
        for _ in range(THREADS):
            threading.Thread(
                target=_use, args=(operations, xp, gpu), name="operations ahead"
            ).start()


def _use(operations: Iterator[Operation], xp: Any, gpu: Any) -> None:
    """Use operations that no other thread has taken."""
    with suppress(Exception), gpu, xp.cuda.Stream(non_blocking=True):
        for operation in operations:
            if not threading.main_thread().is_alive():
                return
            with suppress(Exception):  # the call that needs it will say what is wrong
                operation()


def _of_first_calls(xp: Any) -> list[Operation]:
    """Return operations, in the order in which a first graph, a first search and their results need them."""
    i4, i8, u4, f4, f8, flags = (
        xp.zeros(ENTRIES, kind) for kind in ("i4", "i8", "u4", "f4", "f8", "?")
    )
    alternate = slice(None, None, 2)
    return [
        # numbering and rows
        partial(xp.greater, i4, 0),
        partial(xp.isfinite, f8),
        partial(xp.invert, flags),
        partial(xp.cumsum, i8, out=i8),
        partial(xp.cumsum, flags, dtype=np.int32),
        partial(xp.subtract, i4, 1),
        partial(xp.flatnonzero, flags),
        partial(i4.astype, np.int64),
        partial(xp.subtract, i8, 1),
        *(partial(xp.take, values, places) for values in (i4, i8) for places in (i8, i4)),
        partial(xp.append, i8[:1], i8[-1:]),
        i8[::2].copy,
        partial(i8.__setitem__, alternate, i8[1::2]),
        partial(xp.diff, i8),
        partial(xp.negative, i8),
        partial(xp.floor_divide, i8, 4),
        partial(i8.astype, np.int32),
        # weights and constants
        partial(i8.astype, np.float64),
        partial(xp.full, ENTRIES, 0.0, np.float64),
        partial(xp.greater, f8, 0.0),
        partial(xp.less, f8, 0.0),
        partial(xp.less, f8, f8[0]),
        partial(xp.bitwise_and, flags, flags),
        partial(i8.fill, 1),
        partial(u4.fill, 1),
        partial(i8.__setitem__, 0, 1),
        partial(xp.isfinite, f4),
        partial(xp.greater, i8, 0),
        # first members, members' arcs, states by vertex number, and result frames
        partial(flags.__setitem__, i8, True),
        partial(xp.searchsorted, i8, i8, side="right"),
        *(partial(i4.__getitem__, place) for place in (i8[0], i4[0])),
        partial(xp.stack, [i4[0], i4[1]]),
        partial(xp.stack, [i8[0]]),
        *(partial(xp.take, values, places) for values in (f8, f4, flags) for places in (i4, i8)),
        i4.copy,
        i4[::2].copy,
        i8.copy,
        f8.copy,
        f4.copy,
        partial(xp.arange, ENTRIES, dtype=np.int64),
        partial(xp.arange, ENTRIES, dtype=np.int32),
        partial(xp.greater_equal, i8, 0),
        partial(xp.greater_equal, i4, 0),
        partial(xp.packbits, flags, bitorder="little"),
        # searches
        partial(xp.full, ENTRIES, -1, np.int32),
        partial(xp.full, ENTRIES, -1, np.int64),
        partial(xp.equal, i4, 0),
        partial(xp.equal, i8, 0),
        partial(xp.not_equal, f4, np.inf),
        partial(xp.not_equal, f8, np.inf),
        partial(xp.multiply, 2, i8),
        partial(xp.multiply, i8, 2),
        partial(xp.add, i8, i8),
        partial(xp.add, i8, 1),
        partial(xp.subtract, i8, i8),
    ]


def _of_later_calls(xp: Any) -> list[Operation]:
    """Return operations of other functions, in the order in which a session is likely to need them."""
    i4, i8, u4, u8, f8, flags = (
        xp.zeros(ENTRIES, kind) for kind in ("i4", "i8", "u4", "u8", "f8", "?")
    )
    columns, marks = xp.zeros((ENTRIES, 4), "i4"), xp.zeros((ENTRIES, 4), "?")
    everything, alternate = slice(None), slice(None, None, 2)
    return [
        # ranks: classes of rows
        f8.argmin,
        f8.argmax,
        partial(xp.cumsum, i8),
        partial(xp.minimum, i8, i8),
        partial(i8.__setitem__, alternate, 1),
        # many sources
        partial(xp.ones, ENTRIES, np.int64),
        partial(xp.full, (ENTRIES, 4), -1, np.int32),
        partial(u4.__setitem__, alternate, u4[0]),
        partial(u4.__setitem__, i8, u4),
        partial(i4.fill, 1),
        partial(i4.__setitem__, i8, 1),
        partial(i4.__setitem__, everything, i8),
        partial(columns.__getitem__, i4),
        *(partial(xp.ascontiguousarray, table.T) for table in (columns, marks)),
        *(partial(compared, columns, 0) for compared in (xp.less, xp.equal)),
        partial(xp.where, marks, -1, columns),
        partial(xp.repeat, i8, 4),
        partial(xp.tile, i8, 4),
        # triangles
        partial(xp.add.at, i8, i8, 1),
        partial(xp.concatenate, [i8, i8]),
        partial(xp.not_equal, i8, i8),
        partial(i8.__getitem__, flags),
        partial(xp.right_shift, i8, 4),
        partial(xp.ones, ENTRIES, np.bool_),
        partial(xp.diff, i8, append=1),
        partial(i8.astype, np.int8),
        partial(xp.searchsorted, i8, i8),
        partial(xp.remainder, i8, 4),
        partial(xp.add, 1, i8),
        partial(i8.__setitem__, i8, i8),
        partial(xp.less, i8, i8),
        partial(xp.less_equal, i8, 1),
        # communities
        partial(xp.multiply, f8, 2.0),
        partial(xp.multiply, f8, f8),
        partial(xp.divide, f8, 2.0),
        partial(xp.rint, f8),
        partial(f8.astype, np.int64),
        partial(xp.equal, i8, i8),
        partial(xp.where, flags, i8, -1),
        partial(xp.bitwise_or, flags, flags),
        partial(xp.concatenate, [flags, flags]),
        partial(xp.maximum, i8, 1),
        partial(flags.astype, np.int64),
        partial(xp.add, i8, flags),
        partial(xp.add.at, u8, i8, u8),
        partial(i8.astype, np.uint32),
        partial(xp.argsort, u4),
        partial(xp.take, u4, i8),
        partial(xp.not_equal, u4, u4),
        partial(u4.astype, np.int64),
        partial(xp.unique, i8, return_index=True, return_inverse=True),
    ]
