"""What `source`, `destination`, `weight` and `start` mean, the same in every function.

`source` and `destination` name columns of an edge frame, `start` is a vertex.  `weight` names a column
too; by default it is the column named "weight", where there is one and something reads weights.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, cast

from cugraph_ws.arguments import is_label
from cugraph_ws.declarations import Constant
from cugraph_ws.errors import InputError
from cugraph_ws.program import VertexProgram
from cugraph_ws.queries import Queries

__all__ = [
    "AUTO",
    "WEIGHT",
    "column_names",
    "columns_read",
    "named_columns",
    "names_columns",
    "needs_weight",
    "reads_weights",
    "takes_source_for_start",
    "weight_column",
]

Function = TypeVar("Function", bound=Callable[..., Any])

AUTO = "auto"
WEIGHT = "weight"  # the column that `weight="auto"` looks for
COLUMNS = ("source", "destination", "weight")

Columns = str | Sequence[str]  # of pandas and cuDF frames, whole numbers too


def column_names(frame: Any) -> list[Any]:
    """Return the names of a frame's columns; none of what is no frame, or lazy.

    Parameters
    ----------
    frame : object

    Returns
    -------
    list
    """
    if hasattr(frame, "collect"):  # the columns of a lazy frame are not known yet
        return []
    names = getattr(frame, "column_names", None)  # a PyArrow table's; others have `columns`
    names = getattr(frame, "columns", ()) if names is None else names
    return list(names) if isinstance(names, Iterable) else []


def weight_column(frame: Any, weight: Any, *ids: Any) -> Any:
    """Return the weight column of an edge frame.

    Parameters
    ----------
    frame : frame
        Of edges.
    weight : str or None
        What the caller gave: a column, None for no weights, or "auto" for the column "weight" if there
        is one that holds no ids.
    *ids : str or sequence of str
        The columns of the edges' ends.

    Returns
    -------
    str or None
    """
    if not _is_auto(weight):
        return weight
    taken = [name for one in ids for name in ([one] if isinstance(one, str) else _listed(one))]
    return WEIGHT if WEIGHT in column_names(frame) and WEIGHT not in taken else None


def _is_auto(weight: Any) -> bool:
    return isinstance(weight, str) and weight == AUTO


def _listed(columns: Any) -> list[Any]:
    return list(columns) if isinstance(columns, Iterable) else [columns]


def reads_weights(program: Any) -> bool:
    """Tell whether a program, or a loop of one, reads the weights of edges.

    Parameters
    ----------
    program : VertexProgram or Loop

    Returns
    -------
    bool
    """
    if isinstance(program, VertexProgram):
        return bool(program.edges) or _adds_weights(program)
    return bool(getattr(program, "reads_weights", False))


def _adds_weights(program: VertexProgram) -> bool:
    """Tell whether a program has constants that are sums of weights."""
    kinds = program.constants.values()
    return any(isinstance(one, Constant) and one.source.endswith("_weight") for one in kinds)


def needs_weight(program: VertexProgram, columns: Iterable[Any]) -> bool:
    """Tell whether a program needs a weight beside the columns that it declares by name.

    Parameters
    ----------
    program : VertexProgram
    columns : iterable of str
        Those of an edge frame.

    Returns
    -------
    bool
    """
    declared = program.edges
    if WEIGHT in declared:
        return True
    if len(declared) == 1:  # the weight stands in for the only attribute; sums are of that one
        return not set(declared) <= set(columns)
    return _adds_weights(program)


def columns_read(program: Any, frame: Any, weight: Any, *ids: Any) -> tuple[Any, tuple[str, ...]]:
    """Return which columns of an edge frame a graph for one program has to keep.

    Parameters
    ----------
    program : VertexProgram or Loop
    frame : frame
        Of edges.
    weight : str or None
        As in `weight_column`.
    *ids : str or sequence of str
        The columns of the edges' ends.

    Returns
    -------
    weight : str or None
    attributes : tuple of str
        The other columns that the program declares by name.  With `weight=None` a declared "weight" that
        has a default is not among them.
    """
    if not isinstance(program, VertexProgram):
        auto = AUTO if reads_weights(program) else None
        return weight_column(frame, auto if _is_auto(weight) else weight, *ids), ()
    declared = program.edges
    there = column_names(frame)
    found = [name for name in declared if name in there]
    if _is_auto(weight):
        weight = weight_column(frame, weight, *ids) if needs_weight(program, there) else None
    elif weight is None:
        found = [name for name in found if name != WEIGHT or declared[name].default is None]
    return weight, tuple(name for name in found if name != weight)


def takes_source_for_start(function: Function) -> Function:
    """Let a search of a `Graph` take its start vertex under cuGraph's keyword `source`.

    Of an edge frame `source` stays the name of a column.

    Parameters
    ----------
    function : callable
        With the parameters `graph` and `start`, in this order, and `source`.

    Returns
    -------
    callable

    Raises
    ------
    InputError
        From the call, if no start is given, or two.
    """
    name = function.__name__

    @functools.wraps(function)
    def wrapper(*arguments: Any, **options: Any) -> Any:
        graph = arguments[0] if arguments else options.get("graph")
        given = len(arguments) > 1 or "start" in options
        if "source" in options and _is_graph(graph):
            if given:
                raise InputError(
                    f"source={options['source']!r}: {name} has its start already; a Graph knows its "
                    "columns, leave it out"
                )
            options["start"] = options.pop("source")
        elif not given and (arguments or "graph" in options):
            raise InputError(f"{name} needs start=, a vertex or a list of vertices")
        return function(*arguments, **options)

    return cast(Function, wrapper)


def names_columns(function: Function) -> Function:
    """Let `run` take the columns of an edge frame as every other function does.

    `source`, `destination` and `weight` name columns unless the program has a parameter of that name;
    `source_column` and so on always do.  A built-in search takes `source` for its `start` if that is not
    given.

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
        From the call, if a column is named twice.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def wrapper(*arguments: Any, **options: Any) -> Any:
        named = dict(zip(signature.parameters, arguments, strict=False))
        program = named.get("program", options.get("program"))
        graph = named.get("graph", options.get("graph"))
        for name in COLUMNS:
            if name not in options or _is_graph(graph) or _declares(program, name, options):
                continue
            if f"{name}_column" in options:
                raise InputError(
                    f"{name}={options[name]!r} and {name}_column={options[f'{name}_column']!r} name the "
                    "same column; give one"
                )
            options[f"{name}_column"] = options.pop(name)
        return function(*arguments, **options)

    return cast(Function, wrapper)


def _declares(program: Any, name: str, options: dict[str, Any]) -> bool:
    """Tell whether a program has such a parameter, or another name for one that is not given."""
    if not isinstance(program, VertexProgram):
        return False
    if name in program.parameters:
        return True
    for own, declared in program.constants.items():
        if (getattr(declared, "argument", None) or own) == name:
            return True
        if getattr(declared, "alias", None) == name:
            return own not in options
    return False


def _is_graph(graph: Any) -> bool:
    """Tell whether something is a built graph, here or on a cluster."""
    return isinstance(graph, Queries) or bool(getattr(graph, "is_spread", False))


def named_columns(
    source: Columns, destination: Columns, weight: str | None, attributes: Columns
) -> tuple[tuple[list[str], list[str]], list[str]]:
    """Return the id columns of edges' ends, and the columns that a graph carries.

    Parameters
    ----------
    source, destination : str or sequence of str
    weight : str or None
    attributes : str or sequence of str
        See `Graph`.

    Returns
    -------
    names : pair of list of str
    carried : list of str
        The weight first.

    Raises
    ------
    InputError
        If none are named, or not as many for either end.
    """
    names = _names(source, "source"), _names(destination, "destination")
    if len(names[0]) != len(names[1]):
        raise InputError(
            f"source names {len(names[0])} columns and destination {len(names[1])}; "
            f"give as many columns for both"
        )
    if weight is not None and not is_label(weight):
        raise InputError(f"weight={weight!r}: give the name of one column, or None")
    first = [] if weight is None else [weight]
    more = () if attributes is None else attributes
    return names, list(dict.fromkeys([*first, *_names(more, "attributes")]))


def _names(columns: Any, argument: str) -> list[str]:
    if is_label(columns):
        return [columns]
    if hasattr(columns, "tolist"):  # an array or an index
        columns = columns.tolist()
    if not isinstance(columns, Sequence) or isinstance(columns, (bytes, bytearray)):
        raise InputError(
            f"{argument}={columns!r}: give the name of a column, or a list of names; names are text "
            f"or whole numbers"
        )
    for name in columns:
        if isinstance(name, tuple):
            raise InputError(
                f"{argument}: {name!r} is a label of several levels; give the frame flat names, such "
                f"as frame.columns = ['_'.join(label) for label in frame.columns]"
            )
        if not is_label(name):
            raise InputError(
                f"{argument}: {name!r} is no name of a column; names are text or whole numbers"
            )
    if not columns and argument != "attributes":
        raise InputError(f"{argument}=[]: name at least one column")
    return list(columns)
