"""What each member does alone, and may fail at, before all go on: one fails, all fail alike."""

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
    """Take own steps, each with its place in the order of the steps of all members; collective.

    Parameters
    ----------
    comm : Communicator
    steps : iterable of (sequence of int, callable)
        Places, all of one length, and what to do there: alone, without any meeting.

    Returns
    -------
    list
        What the own steps return, in their order.

    Raises
    ------
    InputError, FileError, GraphMemoryError
        If a step failed: for all members that of the first one, as if one member took all steps.
    """
    done: list[Value] = []
    trouble: Any = None
    for place, step in sorted(steps, key=lambda one: list(one[0])):
        try:
            done.append(step())
        except (InputError, FileError, GraphMemoryError) as error:
            trouble = [list(place), type(error).__name__, str(error)]
            break
    shown = [one for one in comm.allgather(trouble) if one is not None]
    if shown:
        _, kind, text = min(shown, key=lambda one: list(one[0]))
        raise _ERRORS[kind](text)
    return done


def attempt(comm: Communicator, step: Callable[[], Value]) -> Value:
    """Take one step that every member has; see `in_order`.

    Parameters
    ----------
    comm : Communicator
    step : callable

    Returns
    -------
    object
        What the own step returns.
    """
    return in_order(comm, [([comm.rank], step)])[0]
