"""The GPU's memory pools, and how much freed memory they keep.

If RMM is installed, both CuPy's arrays and cuDF's columns allocate from it.  With separate pools,
memory cached by one library would be unavailable to the other.
"""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Iterator
from typing import Any

from cugraph_ws.runtime.driver import pool_of

__all__ = ["SharedPool", "driver_pool", "kept_at_most", "kept_by_rmm", "left_by_rmm", "shared_pool"]

POOLED = 1 << 28  # bytes; the memory of larger arrays is not cached
KEPT = 1 << 30  # most bytes of freed memory that are cached
# If RMM has no pool of its own, each limit is at least this fraction of the GPU's memory (1/128, 1/16).
# Without that, allocations from the driver took 2 to 6 % of a search of 130 million vertices on two GPUs.
POOLED_PART, KEPT_PART = 128, 16
PROBE = 256  # bytes of an allocation to find the driver's pool


def _resource() -> Any:
    """Return RMM's memory resource, None if RMM is not in use.

    Adaptors that only count or report another resource's allocations are skipped.
    """
    resource = None
    for resource in _resources():
        if _has_own_pool(resource):
            break
    return resource


def _resources() -> Iterator[Any]:
    """Yield RMM's memory resource, and those that it allocates from in turn; nothing if RMM is not in use."""
    resource = sys.modules["rmm"].mr.get_current_device_resource() if "rmm" in sys.modules else None
    while resource is not None:
        yield resource
        resource = resource.get_upstream() if hasattr(resource, "get_upstream") else None


_asked: tuple[Any, int] = None, 0  # a resource of RMM, and the driver's pool that it uses


def driver_pool() -> int:
    """Return the handle of the driver's pool that RMM allocates from, 0 if there is none.

    Not all of RMM's resources report their pool, so the driver is asked for the pool of an allocation.
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
    """Return whether a resource of RMM has its own pool."""
    return hasattr(resource, "pool_size")


def kept_by_rmm(runtime: Any) -> int:
    """Return the bytes that RMM has reserved and not allocated; for its own pool, an upper bound.

    Parameters
    ----------
    runtime : module
        `cupy.cuda.runtime`.
    """
    resource = _resource()
    if _has_own_pool(resource):  # its used part is unknown
        return int(resource.pool_size())  # all is counted, so that no graph is refused wrongly
    pool = driver_pool()
    if not pool:
        return 0
    reserved, used = (
        int(runtime.memPoolGetAttribute(pool, attribute))
        for attribute in (runtime.cudaMemPoolAttrReservedMemCurrent, runtime.cudaMemPoolAttrUsedMemCurrent)
    )  # fmt: skip
    return reserved - used


def left_by_rmm() -> float:
    """Return the bytes that RMM's limits leave, inf if its resources have none."""
    limited = [one for one in _resources() if hasattr(one, "get_allocation_limit")]
    rooms = [one.get_allocation_limit() - one.get_allocated_bytes() for one in limited]
    return min(rooms, default=math.inf)


def kept_at_most(memory: int) -> int:
    """Return how many bytes of freed memory may be cached, given the bytes of a GPU."""
    return KEPT if _has_own_pool(_resource()) else max(KEPT, memory // KEPT_PART)


class SharedPool:
    """The memory pool of CuPy's arrays.

    Parameters
    ----------
    xp : module
        CuPy.
    pool : cupy.cuda.MemoryPool
    allocate, usual : callable, optional
        The allocator that uses this pool, and RMM's, which importing cuDF sets instead.
    """

    def __init__(self, xp: Any, pool: Any, allocate: Any = None, usual: Any = None) -> None:
        self._cuda = xp.cuda
        self._pool = pool
        self._allocate, self._usual = allocate, usual

    def insist(self) -> None:
        """Set CuPy's allocator to this pool again.

        Importing cuDF makes CuPy allocate every array from RMM, and so from the driver.  When cuDF
        was imported last, that took a fifth of a rank's measured time in a search.
        """
        if self._allocate is not None and self._cuda.get_allocator() == self._usual:
            self._cuda.set_allocator(self._allocate)

    def free_bytes(self) -> int:
        """Return the bytes of cached free memory."""
        return int(self._pool.free_bytes())

    def free_all_blocks(self) -> None:
        """Free all cached memory."""
        self._pool.free_all_blocks()


def shared_pool(xp: Any, memory: int) -> SharedPool | None:
    """Make CuPy allocate from RMM if it is installed, and cache freed blocks up to a size.

    Parameters
    ----------
    xp : module
        CuPy.
    memory : int
        Bytes of the GPU's memory.

    Returns
    -------
    SharedPool or None
        None if the user has set an allocator; it is left in place.

    Notes
    -----
    RMM's default resource allocates every array from the driver, which takes as long as a
    superstep of a small graph.  If RMM has its own pool, that pool serves blocks above `POOLED`.
    """
    most = max(POOLED, memory // POOLED_PART)
    usual = xp.get_default_memory_pool()
    if importlib.util.find_spec("rmm") is None:
        return SharedPool(xp, usual) if xp.cuda.get_allocator() == usual.malloc else None
    from rmm.allocators.cupy import rmm_cupy_allocator

    if xp.cuda.get_allocator() not in (usual.malloc, rmm_cupy_allocator):
        return None
    pool = xp.cuda.MemoryPool(rmm_cupy_allocator)

    def attempt(size: int) -> Any:
        is_pooled = size <= POOLED or (size <= most and not _has_own_pool(_resource()))
        return pool.malloc(size) if is_pooled else rmm_cupy_allocator(size)

    def allocate(size: int) -> Any:
        try:
            return attempt(size)
        except MemoryError:  # RMM's error, at which CuPy does not free its cache
            pool.free_all_blocks()
            return attempt(size)

    xp.cuda.set_allocator(allocate)
    return SharedPool(xp, pool, allocate, rmm_cupy_allocator)
