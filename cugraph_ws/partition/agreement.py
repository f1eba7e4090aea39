"""Local steps that may fail on one rank: then the same error is raised on all ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from cugraph_ws.errors import CugraphWsError, FileError, GraphMemoryError, InputError
from cugraph_ws.runtime.communicator import Communicator

__all__ = ["attempt", "in_order"]

Value = TypeVar("Value")

_ERRORS: dict[str, type[CugraphWsError]] = {
    "FileError": FileError,
    "InputError": InputError,
    "GraphMemoryError": GraphMemoryError,
}


def in_order(
    comm: Communicator, steps: Iterable[tuple[Sequence[int], Callable[[], Value]]]
) -> list[Value]:
    """Run this rank's steps; raise the first error of any rank on all ranks; collective.

    Parameters
    ----------
    comm : Communicator
    steps : iterable of (sequence of int, callable)
        For each step, its place in the order of all ranks' steps, and the step.  All places have the
        same length.  A step must not call a collective.

    Returns
    -------
    list
        What this rank's steps return, in the order of their places.

    Raises
    ------
    InputError, FileError, GraphMemoryError
        If a step failed on any rank.  All ranks raise the error of the first failed step, as if
        one rank ran all steps.
    """
    done: list[Value] = []
    trouble: Any = None
    for place, step in sorted(steps, key=lambda placed_step: list(placed_step[0])):
        try:
            done.append(step())
        except (InputError, FileError, GraphMemoryError) as error:
            trouble = [list(place), type(error).__name__, str(error)]
            break
    shown = [failure for failure in comm.allgather(trouble) if failure is not None]
    if shown:
        _, kind, text = min(shown, key=lambda failure: list(failure[0]))
        agreed = _ERRORS[kind](text)
        agreed.on_all_ranks = True
        raise agreed
    return done


def attempt(comm: Communicator, step: Callable[[], Value]) -> Value:
    """Run one step on every rank; see `in_order`.

    Parameters
    ----------
    comm : Communicator
    step : callable

    Returns
    -------
    object
        What this rank's step returns.
    """
    return in_order(comm, [([comm.rank], step)])[0]
