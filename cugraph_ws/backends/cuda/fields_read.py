"""Which fields of vertices the functions of a program read, found in their text."""

from __future__ import annotations

import ast
from functools import lru_cache

from cugraph_ws.program.vertex_program import VertexProgram
from cugraph_ws.runtime.parsing import parse

__all__ = ["fields_read", "reads_states_alone", "sent_fields"]


def sent_fields(program: VertexProgram) -> tuple[int, ...]:
    """Return which state fields of a ghost are read, and so must be sent.

    Parameters
    ----------
    program : VertexProgram
        The checked program.

    Returns
    -------
    tuple of int
        Places among the state fields: those that `compute` and `update_edge` read.  All fields if predecessors are
        requested, since these compare states.
    """
    everything = tuple(range(len(program.state)))
    reads = fields_read(program, "compute", ("src",))
    if "update_edge" in program.sources and reads is not None:
        more = fields_read(program, "update_edge", ("src",))
        reads = None if more is None else reads | more
    if program.predecessor is not None or reads is None:
        return everything
    return tuple(place for place, name in enumerate(program.state) if name in reads)


def fields_read(
    program: VertexProgram, function: str, parameters: tuple[str, ...]
) -> frozenset[str] | None:
    """Return the fields that a function reads of some parameters; None if they cannot be known.

    Parameters
    ----------
    program : VertexProgram
        The checked program.
    function : str
        A function that it has.
    parameters : tuple of str
        Names of parameters that are vertices.

    Returns
    -------
    frozenset of str or None
    """
    return _fields_in(program.sources[function].text, parameters)


@lru_cache
def _fields_in(text: str, parameters: tuple[str, ...]) -> frozenset[str] | None:
    tree = parse(text)
    names = [
        node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in parameters
    ]
    reads = [
        attribute.attr
        for attribute in ast.walk(tree)
        if isinstance(attribute, ast.Attribute) and attribute.value in names
    ]
    return frozenset(reads) if len(reads) == len(names) else None


def reads_states_alone(program: VertexProgram, function: str) -> bool:
    """Return whether one of a program's functions reads only states of vertices, no constants.

    Parameters
    ----------
    program : VertexProgram
        The checked program.
    function : str
        Its parameters are vertices, and the run's parameters.  A missing function reads nothing.

    Returns
    -------
    bool
        False also if the fields that the function reads cannot be known.
    """
    if function not in program.sources:
        return True
    reads = fields_read(program, function, tuple(program.sources[function].parameters))
    return reads is not None and reads.isdisjoint(program.constants)
