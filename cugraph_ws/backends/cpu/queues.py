"""Marks, locks and priority piles: which vertices are queued, and for when."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cugraph_ws.backends.cpu.context import Array, Context
from cugraph_ws.backends.cpu.frontier import Frontier
from cugraph_ws.kernels.cpu import buckets
from cugraph_ws.runtime.saved_state import SavedState

__all__ = ["Queues", "check_piles", "empty_piles"]

BUCKET_GOAL = 1024  # vertices that a priority bucket should hold about; measured on two cores


def empty_piles(*, ordered: bool) -> npt.NDArray[np.float64]:
    """Return the numbers of piles that hold nothing yet.

    Parameters
    ----------
    ordered : bool
        Whether there are any; without, every vertex is near.

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
    """Refuse numbers that no piles have, in a checkpoint.

    Parameters
    ----------
    state : SavedState
    name : str
        Of the array.

    Raises
    ------
    InputError
    """
    numbers = state.floats(name, buckets.NUMBERS)
    state.require(name, numbers[buckets.GOAL] == BUCKET_GOAL, "has another size of the buckets")
    sizes = numbers[[buckets.WIDTH, buckets.MIDDLE_SIZE, buckets.FAR_SIZE]]
    state.require(name, (sizes >= 0).all(), "has a width or a length below 0")


class Queues:
    """What `push` needs beside the frontier.

    Parameters
    ----------
    context : Context
        The program and the partition.
    ordered : bool
        Whether the program's priorities are honoured.

    Attributes
    ----------
    marks, locks : ndarray of uint8, shape (partition.size,)
        See `kernels/cpu/buckets.py` and `kernels/cpu/push.py`.
    piles : tuple of ndarray
        The middle pile, the far pile, and their numbers.
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
        """Greatest rank that is near; without piles all are."""
        return float(self._numbers[buckets.LIMIT]) if self.ordered else np.inf

    @property
    def waiting(self) -> int:
        """Number of entries in the piles, those that have moved on included."""
        return int(self._numbers[[buckets.MIDDLE_SIZE, buckets.FAR_SIZE]].sum())

    def file(self, pending: Array, frontier: Frontier) -> None:
        """Put the vertices that a push found to come later on their piles."""
        context = self._context
        near = np.empty(len(pending), context.index)
        size = context.loops.file_pending(
            pending, self.marks, context.state, context.part.constants, context.values,
            self.piles, near,
        )  # fmt: skip
        if size:
            frontier.add(near[:size])

    def balance(self, frontier: Frontier) -> None:
        """Bring the frontier to a good size: the next bucket, or a part of this one."""
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
        """Return the vertices that wait in the piles, ascending."""
        return np.flatnonzero(self.marks > buckets.NEAR)

    def numbers(self) -> npt.NDArray[np.float64]:
        """Return the numbers of the piles, for a checkpoint."""
        return self._numbers.copy()

    def restore(self, numbers: npt.NDArray[np.float64], later: Array, frontier: Frontier) -> None:
        """Go on with the numbers of a checkpoint, and these vertices on the piles."""
        self._numbers[:] = numbers
        self._numbers[[buckets.MIDDLE_SIZE, buckets.FAR_SIZE]] = 0
        self.marks[frontier.as_list()] = buckets.NEAR
        self.marks[later] = buckets.PENDING
        self.file(later, frontier)
