"""Errors of a program's functions under `engine="python"`: they name the function, the line and the vertex."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

import numpy as np

from cugraph_ws.errors import CugraphWsError, ProgramError
from cugraph_ws.graph.view import GraphView
from cugraph_ws.program import arithmetic, typed
from cugraph_ws.program.vertex_program import VertexProgram

__all__ = ["naming_errors"]

COMPUTING = (arithmetic.__name__, typed.__name__)  # modules that compute for the user's functions


@contextmanager
def naming_errors(program: VertexProgram, graph: GraphView) -> Iterator[None]:
    """Convert an exception that the program's plain functions raise to an error that says where.

    Parameters
    ----------
    program : VertexProgram
    graph : GraphView
        Of one rank, to name vertices by their ids; vertices of other graphs are not named.

    Raises
    ------
    ProgramError
        Names the function, the line, and the vertex or the ends of the edge.
    """
    try:
        yield
    except CugraphWsError:
        raise
    except Exception as error:
        from bdb import BdbQuit

        if isinstance(error, BdbQuit):  # the user has left the debugger
            raise
        calls = [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__)]
        named = {
            place: name
            for name, function in {**program.functions, **program.aggregates}.items()
            for place in _places(name, function.__code__)
        }
        places = [at for at, (frame, _) in enumerate(calls) if _place(frame.f_code) in named]
        if not places:  # not in a function of the user
            raise
        name = named[_place(calls[places[0]][0].f_code)]
        last, line = next(
            call for call in reversed(calls) if call[0].f_globals.get("__name__") not in COMPUTING
        )
        ends = _ends(name, [frame for frame, _ in calls[: places[0]]])
        where = ""
        if ends and graph.whole:
            ids = " and ".join(graph.describe(end) for end in ends)
            where = f", at vertex {ids}" if len(ends) == 1 else f", between vertices {ids}"
        raise ProgramError(
            f"{program.name}.{name}, line {line} of {last.f_code.co_filename}{where}: "
            f"{type(error).__name__}: {error}"
        ) from error


def _place(code: CodeType) -> tuple[str, int, str]:
    return code.co_filename, code.co_firstlineno, code.co_name


def _places(name: str, code: CodeType) -> list[tuple[str, int, str]]:
    """Return where a function's own code is, and its code that computes in the compiler's types."""
    return [_place(code), _place(code.replace(co_name=f"user_{name}"))]


def _ends(name: str, frames: list[FrameType]) -> list[int]:
    """Return the positions that the loop which called a function was at: of a vertex, or of an edge's ends."""
    for frame in reversed(frames):
        known: dict[str, Any] = frame.f_locals
        vertex = known.get("vertex")
        # Loops know a vertex by its position, trials by its state.
        if not frame.f_code.co_filename.endswith(".py") or not isinstance(vertex, int | np.integer):
            continue
        vertex = int(vertex)
        on_arc = "arc" in known and "indices" in known
        if not on_arc:
            return [vertex]
        neighbour = int(known["indices"][known["arc"]])
        if name == "compute":
            return [vertex, neighbour]
        return [neighbour if "frontier" in known else vertex]  # a push applies at the other end
    return []
