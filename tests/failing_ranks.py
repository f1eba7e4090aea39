"""Workers whose rank fails in the middle of a run, while others wait for it."""

from __future__ import annotations

from typing import Any

__all__ = ["fail_once"]


def fail_once(after: int) -> None:
    """Have this worker run out of memory after so many supersteps, once."""
    from cugraph_ws.backends.cuda.executor import CudaExecutor

    usual, left = CudaExecutor.superstep, iter(range(after))

    def superstep(*given: Any) -> None:
        if next(left, None) is None:
            CudaExecutor.superstep = usual  # type: ignore[method-assign]
            raise MemoryError("no more")
        usual(*given)

    CudaExecutor.superstep = superstep  # type: ignore[method-assign]
