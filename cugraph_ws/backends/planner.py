"""What a `Plan` may ask the planners of both engines for, and the error for what they cannot do."""

from __future__ import annotations

from typing import Literal

from cugraph_ws.errors import InputError
from cugraph_ws.program.binding import BoundProgram

__all__ = ["Filter", "WantedDirection", "WantedLayout", "gathers_only"]

WantedDirection = Literal["auto", "push", "pull", "gather"]
WantedLayout = Literal["auto", "csc", "tiles", "gshards", "windows"]
Filter = Literal["auto", "online", "ballot"]


def gathers_only(bound: BoundProgram, direction: str) -> InputError:
    """Return the error for a direction that reads messages of active vertices only.

    Parameters
    ----------
    bound : BoundProgram
        The program and its traits.
    direction : str
        The requested direction.
    """
    program = bound.program
    why = ""
    if program.jumps:
        name = next(iter(program.jumps))
        why = f", since `{name}` is read at other vertices before each superstep"
    elif program.idempotent:
        why = (
            f"; its answer is not proved to be independent of the order of messages ({bound.in_order}): if it is, "
            "declare asynchronous = True"
        )
    return InputError(
        f"direction={direction!r}: {program.name} gathers from all in-neighbours in every superstep; use "
        f"'auto' or 'gather'{why}"
    )
