"""Marks, locks and priority piles: the queued vertices, in the order in which they run."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cugraph_ws.backends.cpu.context import Array, Context
from cugraph_ws.backends.cpu.frontier import Frontier
from cugraph_ws.kernels.cpu import buckets
from cugraph_ws.runtime.saved_state import SavedState

__all__ = ["Queues", "check_piles", "empty_piles"]

BUCKET_GOAL = 1024  # target number of vertices in a priority bucket; measured on two cores


def empty_piles(*, ordered: bool) -> npt.NDArray[np.float64]:
    """Return the scalars of empty piles.

    Parameters
    ----------
    ordered : bool
        Whether there are piles; without piles every vertex is near.

    Returns
    -------
    ndarray of float64
        See `kernels/cpu/buckets.py`.
    """
    numbers = np.zeros(buckets.NUMBERS)
    numbers[[buckets.LIMIT, buckets.HORIZON]] = -np.inf if ordered else np.inf
    numbers[buckets.GOAL] = BUCKET_GOAL
    return numbers


def check_piles(state: SavedState, name: str) -> None:
    """Check the scalars of piles in a checkpoint.

    Parameters
    ----------
    state : SavedState
    name : str
        Name of the array.

    Raises
    ------
    InputError
        If no piles can have these scalars.
    """
    numbers = state.floats(name, buckets.NUMBERS)
    state.require(name, numbers[buckets.GOAL] == BUCKET_GOAL, "has another size of the buckets")
    sizes = numbers[[buckets.WIDTH, buckets.MIDDLE_SIZE, buckets.FAR_SIZE]]
    state.require(name, (sizes >= 0).all(), "has a width or a length below 0")


class Queues:
    """The arrays that `push` needs besides the frontier.

    Parameters
    ----------
    context : Context
        The program and the partition.
    ordered : bool
        Whether the program's priorities are honoured.

    Attributes
    ----------
    marks, locks : ndarray of uint8, shape (part.size,)
        See `kernels/cpu/buckets.py` and `kernels/cpu/push.py`.
    piles : tuple of ndarray
        The middle pile, the far pile, and their scalars.
    """

    def __init__(self, context: Context, *, ordered: bool) -> None:
        self._context = context
        self.ordered = ordered
        self.marks = np.zeros(context.part.size, np.uint8)
        self.locks = np.zeros(context.part.size, np.uint8)
        room = context.part.size if ordered else 0
        self._numbers = empty_piles(ordered=ordered)
        self.piles: tuple[Array, ...] = (
            np.empty(room, context.index),
            np.empty(room, context.index),
            self._numbers,
        )

    @property
    def limit(self) -> float:
        """Greatest rank that is near; without piles every rank is."""
        return float(self._numbers[buckets.LIMIT]) if self.ordered else np.inf

    @property
    def waiting(self) -> int:
        """Number of entries in the piles, stale ones included."""
        return int(self._numbers[[buckets.MIDDLE_SIZE, buckets.FAR_SIZE]].sum())

    def file(self, pending: Array, frontier: Frontier) -> None:
        """Put the vertices that a push has postponed on their piles."""
        context = self._context
        near = np.empty(len(pending), context.index)
        size = context.loops.file_pending(
            pending, self.marks, context.state, context.part.constants, context.values,
            self.piles, near,
        )  # fmt: skip
        if size:
            frontier.add(near[:size])

    def balance(self, frontier: Frontier) -> None:
        """Adjust the frontier's size: take the next bucket, or split this one."""
        context = self._context
        listed = frontier.as_list()
        near = np.empty(context.part.size, context.index)
        near[: len(listed)] = listed
        size = context.loops.balance(
            near, len(listed), self.marks, context.state, context.part.constants, context.values,
            self.piles,
        )  # fmt: skip
        if size != len(listed):
            frontier.set_list(near[:size].copy())

    def later(self) -> Array:
        """Return the vertices in the piles, ascending."""
        return np.flatnonzero(self.marks > buckets.NEAR)

    def numbers(self) -> npt.NDArray[np.float64]:
        """Return the scalars of the piles, for a checkpoint."""
        return self._numbers.copy()

    def restore(self, numbers: npt.NDArray[np.float64], later: Array, frontier: Frontier) -> None:
        """Restore the scalars of a checkpoint, and put `later` on the piles."""
        self._numbers[:] = numbers
        self._numbers[[buckets.MIDDLE_SIZE, buckets.FAR_SIZE]] = 0
        self.marks[frontier.as_list()] = buckets.NEAR
        self.marks[later] = buckets.PENDING
        self.file(later, frontier)
