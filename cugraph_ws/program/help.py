"""What `help` says of a program: its docstring, the arguments of a run, and the columns of the result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cugraph_ws.program.declarations import (
    Constant,
    Distribution,
    Edge,
    Parameter,
    ScalarType,
    Seed,
    State,
    VectorType,
    VertexParameter,
    VertexSet,
    VertexValue,
)

__all__ = ["help_of"]

TAB = " " * 4
EXAMPLES = "Examples\n--------\n"  # the last section, also after those that are added


def help_of(name: str, doc: str, declared: Mapping[str, Any], *, state: Mapping[str, State]) -> str:
    """Return what `help` says of a program.

    Parameters
    ----------
    name, doc : str
        The class's name and docstring.
    declared : mapping of str to declaration
        All that can be given to `run`, in the order of the class body.
    state : mapping of str to State

    Returns
    -------
    str
    """
    arguments = [line for key, value in declared.items() for line in _argument(key, value)]
    columns = [
        f"{_columns(key, value)} : {_type(value)}" for key, value in state.items() if value.visible
    ]
    text, heading, examples = doc.partition(EXAMPLES)
    parts = [text.rstrip() or f"{name}, a program.", f"Run it by ws.run({name}, graph, ...)."]
    for title, lines in (("Parameters", arguments), ("Columns of the result", columns)):
        if lines:
            parts.append("\n".join([title, "-" * len(title), *lines]))
    if heading:
        parts.append((heading + examples).rstrip())
    return "\n\n".join(parts)


def _argument(name: str, declared: Any) -> Iterator[str]:
    """Return the lines for what can be given to `run` under a name; none if nothing can."""
    named = getattr(declared, "argument", None) or name
    default = getattr(declared, "default", None)
    optional = "" if default is None else f", by default {default}"
    if isinstance(declared, Parameter):
        yield f"{name} : {declared.type.name}{optional}"
    elif isinstance(declared, Seed):
        yield f"{name} : int{optional}"
        yield f"{TAB}Of the random numbers; 0 or more."
    elif isinstance(declared, VertexParameter):
        yield f"{name} : id of a vertex"
    elif isinstance(declared, VertexSet):
        yield f"{name} : list of ids{', optional' if declared.optional else ''}"
    elif isinstance(declared, VertexValue) and isinstance(declared.type, VectorType):
        yield f"{named} : {declared.type.length} {declared.type.name} of each vertex{optional}"
        yield f"{TAB}A frame with as many columns, the names of vertex attributes, or an array."
    elif isinstance(declared, VertexValue):
        yield f"{named} : {declared.type.name} of each vertex{optional}"
        yield f"{TAB}A frame, a dict, a number or the name of a vertex attribute."
    elif isinstance(declared, Distribution):
        yield f"{name} : number of each vertex, optional"
        yield f"{TAB}A frame or a dict; scaled to the sum 1, uniform if not given."
    elif isinstance(declared, Constant) and declared.argument:
        yield f"{declared.argument} : number of each vertex, optional"
        yield f"{TAB}In place of the graph's {declared.source}."
    elif isinstance(declared, Edge):
        kind = declared.type.name if isinstance(declared.type, ScalarType) else "number"
        yield f"{name} : {kind}, a column of the edge frame{optional}"


def _columns(name: str, state: State) -> str:
    """Return the names of a field's columns."""
    if not isinstance(state.type, VectorType):
        return name
    return f"{name}_0, ..., {name}_{state.type.length - 1}"


def _type(state: State) -> str:
    """Return the type of a column of the result."""
    if not isinstance(state.type, ScalarType):
        return "the type of another column"
    kind = "id of a vertex" if state.type.holds_vertex else state.type.name
    return f"{kind}, null for none" if state.null is not None else kind
