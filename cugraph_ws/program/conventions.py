"""The meaning of `source`, `destination`, `weight` and `start`, the same in every function.

`source` and `destination` name columns of an edge frame; `start` is a vertex.  `weight` names a
column too; by default it is the column named "weight", if there is one and something reads weights.
"""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast

from cugraph_ws.arguments import listed, shown
from cugraph_ws.errors import InputError
from cugraph_ws.graph.edges import AUTO, WEIGHT, column_names, is_auto, weight_column
from cugraph_ws.graph.view import GraphView
from cugraph_ws.program.declarations import Constant
from cugraph_ws.program.edge_program import EdgeProgram
from cugraph_ws.program.phases import Phases, programs_of
from cugraph_ws.program.vertex_program import VertexProgram
from cugraph_ws.program.walk_program import WalkProgram

__all__ = [
    "columns_read",
    "declares",
    "names_columns",
    "needs_weight",
    "reads_weights",
    "takes_source_for_start",
]

Function = TypeVar("Function", bound=Callable[..., Any])

PROGRAMS = (VertexProgram, EdgeProgram, WalkProgram)
COLUMNS = ("source", "destination", "weight")


def reads_weights(program: Any) -> bool:
    """Return whether a program or a loop reads the weights of edges.

    Parameters
    ----------
    program : VertexProgram, EdgeProgram, WalkProgram, Phases or Loop

    Returns
    -------
    bool
    """
    programs = programs_of(program)
    if programs:
        return any(member.edges or _adds_weights(member) for member in programs)
    return bool(getattr(program, "reads_weights", False))


def _adds_weights(program: VertexProgram | EdgeProgram | WalkProgram) -> bool:
    """Return whether a program has constants that are sums of weights."""
    kinds = program.constants.values()
    return any(
        isinstance(declared, Constant) and declared.source.endswith("_weight") for declared in kinds
    )


def needs_weight(
    program: VertexProgram | EdgeProgram | WalkProgram, columns: Iterable[Any]
) -> bool:
    """Return whether a program needs a weight besides the columns that it declares by name.

    Parameters
    ----------
    program : VertexProgram, EdgeProgram or WalkProgram
    columns : iterable of str
        Columns of an edge frame.

    Returns
    -------
    bool
    """
    declared = program.edges
    if WEIGHT in declared:
        return True
    if len(declared) == 1:  # the weight replaces the only attribute, and sums are of that attribute
        return not set(declared) <= set(columns)
    return _adds_weights(program)


def columns_read(program: Any, frame: Any, weight: Any, *ids: Any) -> tuple[Any, tuple[str, ...]]:
    """Return the columns of an edge frame that a graph for one program has to keep.

    Parameters
    ----------
    program : VertexProgram, EdgeProgram, WalkProgram, Phases or Loop
    frame : frame
        A frame of edges.
    weight : str or None
        As in `weight_column`.
    *ids : str or sequence of str
        The columns of the edges' ends.

    Returns
    -------
    weight : str or None
    attributes : tuple of str
        The other columns that the program declares by name.  With `weight=None` a declared
        "weight" that has a default is not included.
    """
    programs = programs_of(program)
    if not programs:
        auto = AUTO if reads_weights(program) else None
        return weight_column(frame, auto if is_auto(weight) else weight, *ids), ()
    declared = program.edges
    frame_columns = column_names(frame)
    columns = [name for name in declared if name in frame_columns]
    if is_auto(weight):
        needed = any(needs_weight(member, frame_columns) for member in programs)
        weight = weight_column(frame, weight, *ids) if needed else None
    elif weight is None:
        columns = [name for name in columns if name != WEIGHT or declared[name].default is None]
    if weight is None or len(declared) > 1:
        _refuse_lacking(program.name, declared, frame_columns, ids)
    return weight, tuple(name for name in columns if name != weight)


def _refuse_lacking(
    name: str, declared: Mapping[str, Any], columns: Sequence[Any], ids: tuple[Any, ...]
) -> None:
    """Refuse a frame that lacks a column which a program reads by name.

    Raises
    ------
    InputError
        It names the columns of the frame.
    """
    for attribute, edge in declared.items():
        if attribute in columns or edge.default is not None:
            continue
        ends = [end for one in ids for end in (one if isinstance(one, (list, tuple)) else [one])]
        others = [column for column in columns if column not in ends]
        texts = [column for column in others if isinstance(column, str)]
        near = difflib.get_close_matches(attribute, texts, 1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        message = (
            f"{name} reads the edge attribute {attribute!r}, and the frame of edges has no such column; {hint}its "
            f"columns besides the ids are {listed(others)}: name the attribute as its column is named"
        )
        if others and len(declared) == 1:
            message += f", or give weight={(near or others)[0]!r}"
        raise InputError(message)


def takes_source_for_start(function: Function) -> Function:
    """Let a search on a `Graph` take its start vertex by cuGraph's keyword `source`.

    For an edge frame `source` is still the name of a column.

    Parameters
    ----------
    function : callable
        Has the parameters `graph` and `start`, in this order, and `source`.

    Returns
    -------
    callable

    Raises
    ------
    InputError
        Raised by the call if no start is given, or two.
    """
    name = function.__name__

    @functools.wraps(function)
    def wrapper(*arguments: Any, **options: Any) -> Any:
        graph = arguments[0] if arguments else options.get("graph")
        has_start = len(arguments) > 1 or "start" in options
        if "source" in options and _is_graph(graph):
            if has_start:
                raise InputError(
                    f"source={shown(options['source'])}: {name} has its start already, and a Graph knows its "
                    "columns; leave source out"
                )
            options["start"] = options.pop("source")
        elif not has_start and (arguments or "graph" in options):
            raise InputError(f"{name} needs start=, a vertex or a list of vertices")
        return function(*arguments, **options)

    return cast(Function, wrapper)


def names_columns(function: Function) -> Function:
    """Let `run` take the columns of an edge frame by the same names as every other function.

    `source`, `destination` and `weight` name columns unless the program has a parameter of that
    name; `source_column` and so on always do.  A built-in search takes `source` as its `start` if
    that is not given.

    Parameters
    ----------
    function : callable
        `run`: its first parameters are `program` and `graph`.

    Returns
    -------
    callable

    Raises
    ------
    InputError
        Raised by the call if a column is named twice.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def wrapper(*arguments: Any, **options: Any) -> Any:
        named = dict(zip(signature.parameters, arguments, strict=False))
        program = named.get("program", options.get("program"))
        graph = named.get("graph", options.get("graph"))
        for name in COLUMNS:
            if name not in options or _is_graph(graph) or declares(program, name, options):
                continue
            if f"{name}_column" in options:
                raise InputError(
                    f"{name}={shown(options[name])} and {name}_column={shown(options[f'{name}_column'])} name the "
                    "same column; give one"
                )
            options[f"{name}_column"] = options.pop(name)
        return function(*arguments, **options)

    return cast(Function, wrapper)


def declares(program: Any, name: str, options: dict[str, Any]) -> bool:
    """Return whether a program has such a parameter, or an alias for one that is not among `options`.

    Parameters
    ----------
    program : Any
        The first argument of `run`.
    name : str
    options : dict
        The arguments of `run` by name.

    Returns
    -------
    bool
    """
    if isinstance(program, Phases):
        return any(declares(member, name, options) for member in program.programs)
    if not isinstance(program, PROGRAMS):
        return False
    if name in program.parameters:
        return True
    for constant, declared in program.constants.items():
        if (getattr(declared, "argument", None) or constant) == name:
            return True
        if getattr(declared, "alias", None) == name:
            return constant not in options
    return False


def _is_graph(graph: Any) -> bool:
    """Return whether an object is a built graph, local or on a cluster."""
    return isinstance(graph, GraphView) or bool(getattr(graph, "is_partitioned", False))
