"""The decorator for steps over vertices alone: vertex programs whose messages change nothing."""

from __future__ import annotations

from typing import Any

from cugraph_ws.arguments import shown
from cugraph_ws.errors import ProgramError
from cugraph_ws.program.declarations import Edge, EdgeState, Predecessor
from cugraph_ws.program.decorator import CLASS_SETTINGS, declarations_of, vertex_program
from cugraph_ws.program.vertex_program import FUNCTIONS, VertexProgram

__all__ = ["vertex_step"]

MEMBERS = ("init", "apply", "active", "until", "max_iter", "residual", "tol", "validate")


def vertex_step(cls: type | None = None) -> VertexProgram:
    """Make a step over vertices alone from a class: each vertex changes its state, and no message is sent.

    Parameters
    ----------
    cls : type
        A class that declares state fields, vertex constants, parameters, jumps and aggregates as a vertex program
        does, and defines ``init(vertex, p, own)`` and ``apply(old, p)``, which returns the new state of every vertex.
        It takes one superstep, or as many as ``max_iter``; with ``max_iter = None`` it ends when no state changes, or
        by ``active``, ``until``, or ``residual`` with ``tol``, as a vertex program does.

    Returns
    -------
    VertexProgram
        For `ws.phases`, between programs that send messages, or for `ws.run`.  No engine reads the graph's edges for
        it.

    Raises
    ------
    ProgramError
        If the class is invalid, or has what is for messages.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> @ws.vertex_step
    ... class Normalised:
    ...     rank: ws.float64
    ...
    ...     @ws.aggregate
    ...     def total(state):
    ...         return state.rank
    ...
    ...     def init(vertex):
    ...         return vertex + 1.0
    ...
    ...     def apply(old, p):
    ...         return old.rank / p.total
    >>> edges = pd.DataFrame({"source": [0, 1], "destination": [1, 2]})
    >>> ws.run(Normalised, edges).frame["rank"].round(3).tolist()
    [0.167, 0.333, 0.5]
    """
    if not isinstance(cls, type):
        raise ProgramError(
            f"{shown(cls)} is not a class; put @ws.vertex_step, without parentheses, above a class"
        )
    name, declared = cls.__name__, declarations_of(cls)
    for key, value in declared.items():
        if isinstance(value, (Edge, EdgeState, Predecessor)):
            raise ProgramError(
                f"{name}.{key} is of edges, which a step over vertices does not see; leave it out, or use "
                "@ws.vertex_program"
            )
    for key in vars(cls):
        if key in (*FUNCTIONS, *CLASS_SETTINGS) and key not in (*MEMBERS, *declared):
            raise ProgramError(
                f"{name}.{key} has no role in a step over vertices, which sends no messages; known: {', '.join(MEMBERS)}"
            )
    for key, value in UNSEEN.items():
        setattr(cls, key, value)
    if "max_iter" not in vars(cls):
        cls.max_iter = 1  # type: ignore[attr-defined]
    program = vertex_program(cls)
    apply = program.sources["apply"]
    if "gathered" in apply.parameters:
        raise ProgramError(
            f"{name}.apply ({apply.location}) takes `gathered`, but a step over vertices sends no messages; write "
            "it as apply(old, p)"
        )
    program.reads_edges = False
    return program


def _zero() -> int:
    """Return a message that nobody reads."""
    return 0


UNSEEN: dict[str, Any] = {
    "compute": staticmethod(_zero),
    "combine": sum,
    "contributors": "all",
}
