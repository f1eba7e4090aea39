"""Where the GPU's memory comes from, and how much of what is freed stays with us.

CuPy's arrays and cuDF's columns take it from one place, RMM, where that is installed: what one of them
keeps, the other would lack.
"""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

from cugraph_ws.runtime.driver import pool_of

__all__ = ["SharedPool", "driver_pool", "kept_at_most", "kept_by_rmm", "shared_pool"]

POOLED = 1 << 28  # bytes of an array above which its memory goes straight back
KEPT = 1 << 30  # bytes of freed memory that are kept for the next arrays
# The same as parts of the GPU's memory, where that is more and RMM has no pool of its own: one of the
# driver's takes longer, of searches of 130 million vertices on two GPUs 2 to 6 % of the call
POOLED_PART, KEPT_PART = 128, 16
PROBE = 256  # bytes of an array whose pool is asked for


def _resource() -> Any:
    """Return what RMM takes memory from, None where it is not in use.

    Resources that only count or report what another one gives are looked through.
    """
    if "rmm" not in sys.modules:
        return None
    resource = sys.modules["rmm"].mr.get_current_device_resource()
    while hasattr(resource, "get_upstream") and not _has_own_pool(resource):
        resource = resource.get_upstream()
    return resource


_asked: tuple[Any, int] = None, 0  # a resource of RMM's, and the driver's pool that it has


def driver_pool() -> int:
    """Return the handle of the driver's pool that RMM takes memory from, 0 where there is none.

    Not all of RMM's resources tell it, but the driver does, of memory that comes from one.
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
    """Tell whether one of RMM's resources gives from a pool that it keeps itself."""
    return hasattr(resource, "pool_size")


def kept_by_rmm(runtime: Any) -> int:
    """Return how many bytes RMM has of the driver and can still give out; or more, for its own pool.

    Parameters
    ----------
    runtime : module
        `cupy.cuda.runtime`.
    """
    resource = _resource()
    if _has_own_pool(resource):  # which does not tell how much of it is in use:
        return int(resource.pool_size())  # nothing is refused for its sake
    pool = driver_pool()
    if not pool:
        return 0
    held, used = (
        int(runtime.memPoolGetAttribute(pool, one))
        for one in (runtime.cudaMemPoolAttrReservedMemCurrent, runtime.cudaMemPoolAttrUsedMemCurrent)
    )  # fmt: skip
    return held - used


def kept_at_most(memory: int) -> int:
    """Return how many bytes of freed memory may stay with us, of a GPU's."""
    return KEPT if _has_own_pool(_resource()) else max(KEPT, memory // KEPT_PART)


class SharedPool:
    """Where arrays' memory comes from, and what of it is kept.

    Parameters
    ----------
    xp : module
        CuPy.
    pool : cupy.cuda.MemoryPool
    allocate, usual : callable, optional
        What CuPy asks for memory since the pool is shared, and what it would ask if somebody put that back.
    """

    def __init__(self, xp: Any, pool: Any, allocate: Any = None, usual: Any = None) -> None:
        self._cuda = xp.cuda
        self._pool = pool
        self._allocate, self._usual = allocate, usual

    def insist(self) -> None:
        """Let CuPy ask here again.

        Whoever imports cuDF has CuPy ask RMM for every array, and through it the driver: where that came
        last, a fifth of what was seen of a member's time in a search went there.
        """
        if self._allocate is not None and self._cuda.get_allocator() == self._usual:
            self._cuda.set_allocator(self._allocate)

    def free_bytes(self) -> int:
        """Return how much is kept that nobody uses."""
        return int(self._pool.free_bytes())

    def free_all_blocks(self) -> None:
        """Give all of that back."""
        self._pool.free_all_blocks()


def shared_pool(xp: Any, memory: int) -> SharedPool | None:
    """Let CuPy take memory from RMM where that is installed, blocks up to a size to be kept a while.

    Parameters
    ----------
    xp : module
        CuPy.
    memory : int
        Bytes of the GPU's memory.

    Returns
    -------
    SharedPool or None
        None where somebody has set an allocator, which stays.

    Notes
    -----
    RMM's usual resource asks the driver for every array, which takes as long as a small graph's
    superstep; where it has its own pool, blocks above `POOLED` are its matter.
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
        kept = size <= POOLED or (size <= most and not _has_own_pool(_resource()))
        return pool.malloc(size) if kept else rmm_cupy_allocator(size)

    def allocate(size: int) -> Any:
        try:
            return attempt(size)
        except MemoryError:  # RMM's, of which CuPy does not know that something may be given back
            pool.free_all_blocks()
            return attempt(size)

    xp.cuda.set_allocator(allocate)
    return SharedPool(xp, pool, allocate, rmm_cupy_allocator)
