"""A callback that ends a run after a number of steps, however long they take."""

from __future__ import annotations

from cugraph_ws.execution.progress import ProgressUpdate

__all__ = ["EndsAfter"]


class EndsAfter:
    """Ends a run after some complete steps, as `progress`.

    In a start or a step that takes long, the callback is also called with the superstep before.

    Parameters
    ----------
    steps : int
        Each of one superstep or several.
    """

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._ends: set[int] = set()  # supersteps after which a step ended

    def __call__(self, update: ProgressUpdate) -> bool:
        if update.superstep > 0:
            self._ends.add(update.superstep)
        return len(self._ends) < self._steps
