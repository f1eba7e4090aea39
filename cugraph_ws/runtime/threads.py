"""Run compiled loops on all cores: a shared pool, and work split into ranges of equal cost.

The kernels in `cugraph_ws.kernels.cpu` are serial loops over a range that release the GIL; only
this module starts threads for them.  So compile times and cache entries are those of serial code.
Calls are safe from several Python threads and after a fork.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.errors import InputError
from cugraph_ws.runtime.looks import look

__all__ = [
    "added",
    "by_pieces",
    "cut_evenly",
    "cut_offsets",
    "number_of_tasks",
    "number_of_threads",
    "parallel",
    "serial",
    "threads_at_most",
]

PIECE = 1 << 15  # entries of a vector

VARIABLE = "CUGRAPH_WS_THREADS"
LEAST_LIMIT = 64  # threads that may be requested on any machine
THREADS_A_CORE = 4  # threads per core that may be requested, if that is more

_limit: ContextVar[int | None] = ContextVar("most threads", default=None)
_pool: ThreadPoolExecutor | None = None
_pool_owner = -1  # the process that made the pool: threads do not survive a fork


@contextmanager
def threads_at_most(limit: int) -> Iterator[None]:
    """Limit the threads of calls from this thread in the `with` block.

    Parameters
    ----------
    limit : int
        Most threads, at least 1.
    """
    token = _limit.set(limit)
    try:
        yield
    finally:
        _limit.reset(token)


def number_of_threads() -> int:
    """Return the number of cores of this process, or `CUGRAPH_WS_THREADS` if that is set.

    Raises
    ------
    InputError
        If the variable is not a whole number from 1 to 64, or to four times the cores if that is more.
    """
    limit = _limit.get()
    return _cores() if limit is None else min(limit, _cores())


def _cores() -> int:
    import numba  # calls need it, and `import cugraph_ws` does not

    if numba.config.DISABLE_JIT:
        return 1  # plain Python has no atomics
    cores = _cores_there()
    asked = os.environ.get(VARIABLE, "").strip()
    if not asked:
        return cores
    most = max(LEAST_LIMIT, THREADS_A_CORE * cores)
    if not (asked.isascii() and asked.isdigit() and len(asked) < 10 and 1 <= int(asked) <= most):
        raise InputError(
            f"{VARIABLE}={asked!r} must be a whole number from 1 to {most}; this process may use "
            f"{cores} cores"
        )
    return int(asked)


def _cores_there() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def parallel(
    function: Callable[..., Any], tasks: Iterable[Sequence[Any]], *, looks: bool = True
) -> list[Any]:
    """Return `[function(*task) for task in tasks]`, computed on all cores.

    The caller's thread works too, so a single task needs no other thread.

    Parameters
    ----------
    function : callable
    tasks : iterable of sequence
        The arguments of each call.
    looks : bool
        Whether no further task begins if the run is to end; see `cugraph_ws.runtime.looks`.
    """
    global _pool, _pool_owner  # noqa: PLW0603 - one pool for the process
    todo = list(tasks)
    if len(todo) <= 1:
        return [function(*task) for task in todo]
    if (threads := number_of_threads()) == 1:
        return serial(function, todo, looks=looks)
    if _pool is None or _pool_owner != os.getpid():
        _pool = ThreadPoolExecutor(max(threads - 1, 1), thread_name_prefix="cugraph_ws")
        _pool_owner = os.getpid()
    results: list[Any] = [None] * len(todo)
    numbers = iter(range(len(todo)))  # next() on a range iterator is atomic under the GIL

    def work() -> None:
        try:
            for number in numbers:
                if looks:
                    look()
                results[number] = function(*todo[number])
        finally:
            for _ in numbers:  # after an error, all threads end with the tasks that they have begun
                pass

    # Each thread looks for the caller's run.
    helpers = [_pool.submit(copy_context().run, work) for _ in range(min(threads, len(todo)) - 1)]
    try:
        work()
    finally:
        for helper in helpers:
            helper.exception()  # waits
    for helper in helpers:
        helper.result()
    return results


def serial(
    function: Callable[..., Any], tasks: Iterable[Sequence[Any]], *, looks: bool = True
) -> list[Any]:
    """Return the same as `parallel`, computed in this thread."""
    results = []
    for task in tasks:
        if looks:
            look()
        results.append(function(*task))
    return results


def number_of_tasks(work: int, least: int, most: int) -> int:
    """Return into how many tasks to cut work: a few for each thread, to balance it and to look in between.

    Parameters
    ----------
    work : int
    least : int
        Work of a task below which the threads get fewer tasks.
    most : int
        Work of a task above which they get more: about a twentieth of a second.

    Returns
    -------
    int
        At least 1.
    """
    return max(min(4 * number_of_threads(), 1 + work // least), work // most)


def cut_evenly(size: int, pieces: int) -> list[tuple[int, int]]:
    """Split `range(size)` into at most `pieces` ranges of about equal length, none empty."""
    pieces = max(1, min(pieces, size))
    step = size / pieces
    bounds = [*(int(piece * step) for piece in range(pieces)), size]
    return [(low, high) for low, high in pairwise(bounds) if high > low]


def cut_offsets(offsets: npt.NDArray[np.int64], pieces: int) -> list[tuple[int, int]]:
    """Split the rows of `offsets` into at most `pieces` ranges of about equal work, none empty.

    The work of a row is its number of edges plus one, so that empty rows are distributed too.
    """
    rows = len(offsets) - 1
    if rows <= 0:
        return []
    pieces = max(1, min(pieces, rows))
    total = int(offsets[-1]) + rows
    low, ranges = 0, []
    for piece in range(1, pieces + 1):
        goal = total * piece // pieces
        if piece == pieces:
            high = rows
        else:  # the first row whose end, offsets[row] + row, reaches the goal
            first, last = low, rows
            while first < last:
                middle = (first + last) // 2
                if int(offsets[middle]) + middle < goal:
                    first = middle + 1
                else:
                    last = middle
            high = first
        if high > low:
            ranges.append((low, high))
            low = high
    return ranges


def by_pieces(loop: Callable[..., Any], size: int, *arguments: Any) -> list[Any]:
    """Return what a loop returns for each piece of a vector, in their order.

    Pieces do not depend on the number of threads, nor do sums of what is returned.

    Parameters
    ----------
    loop : callable
        Takes `arguments`, and the range of a piece.
    size : int
        Number of vertices.
    *arguments
        Arguments.
    """
    return parallel(
        loop, [(*arguments, low, min(low + PIECE, size)) for low in range(0, size, PIECE)]
    )


def added(
    loop: Callable[..., Any], width: int, size: int, *arguments: Any
) -> npt.NDArray[np.float64]:
    """Add up what a loop returns for each piece, in their order.

    Parameters
    ----------
    loop, size, *arguments
        As for `by_pieces`.
    width : int
        Length of what the loop returns.

    Returns
    -------
    ndarray of float64, shape (width,)
    """
    sums: npt.NDArray[np.float64] = np.zeros(width)
    for piece in by_pieces(loop, size, *arguments):
        sums += piece
    return sums
