"""Errors of a program's functions under `engine="python"`: they name the function, the line and the vertex."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from cugraph_ws.errors import CugraphWsError, ProgramError
from cugraph_ws.graph.view import GraphView
from cugraph_ws.program.decorator import VertexProgram

__all__ = ["naming_errors"]


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
        calls = [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__)]
        codes = {
            function.__code__: name
            for name, function in {**program.functions, **program.aggregates}.items()
        }
        places = [at for at, (frame, _) in enumerate(calls) if frame.f_code in codes]
        if not places:  # not in a function of the user
            raise
        name = codes[calls[places[0]][0].f_code]
        last, line = calls[-1]
        ends = _ends(name, [frame for frame, _ in calls[: places[0]]])
        where = ""
        if ends and graph.whole:
            named = " and ".join(graph.describe(end) for end in ends)
            where = f", at vertex {named}" if len(ends) == 1 else f", between vertices {named}"
        raise ProgramError(
            f"{program.name}.{name}, line {line} of {last.f_code.co_filename}{where}: "
            f"{type(error).__name__}: {error}"
        ) from error


def _ends(name: str, frames: list[FrameType]) -> list[int]:
    """Return the positions that the loop which called a function was at: of a vertex, or of an edge's ends."""
    for frame in reversed(frames):
        known: dict[str, Any] = frame.f_locals
        if not frame.f_code.co_filename.endswith(".py") or "vertex" not in known:
            continue
        vertex = int(known["vertex"])
        on_arc = "arc" in known and "indices" in known
        if not on_arc:
            return [vertex]
        other = int(known["indices"][known["arc"]])
        if name == "compute":
            return [vertex, other]
        return [other if "frontier" in known else vertex]  # a push applies at the other end
    return []
