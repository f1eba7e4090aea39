"""The decorator for vertex programs, which checks a program when it is defined."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cugraph_ws.arguments import check_count, check_number, is_number, shown
from cugraph_ws.errors import InputError, ProgramError
from cugraph_ws.program.by_part import by_part
from cugraph_ws.program.combines import Fold
from cugraph_ws.program.declarations import (
    Constant,
    Declaration,
    Distribution,
    Edge,
    EdgeState,
    Floating,
    Jump,
    Like,
    Parameter,
    Predecessor,
    ScalarType,
    State,
    VertexNumber,
    VertexParameter,
    VertexSet,
    VertexValue,
)
from cugraph_ws.program.help import help_of
from cugraph_ws.program.jumps import check_jumps
from cugraph_ws.program.linear import Linear
from cugraph_ws.program.lists import Listing
from cugraph_ws.program.randomness import FUNCTIONS as DRAWS
from cugraph_ws.program.randomness import SEED
from cugraph_ws.program.source import class_names
from cugraph_ws.program.vector_program import VectorProgram, vectors_among
from cugraph_ws.program.vertex_program import BUILT_IN_PARAMETERS, FUNCTIONS, Norm, VertexProgram
from cugraph_ws.program.wrong_declarations import name_of, of_annotation, of_combine
from cugraph_ws.runtime.compile_ahead import expect
from cugraph_ws.runtime.tracebacks import short_errors

__all__ = [
    "CLASS_SETTINGS",
    "CONSTANTS",
    "aggregate",
    "any_message",
    "declarations_of",
    "is_declaration",
    "l1_norm",
    "max_norm",
    "of_kind",
    "plain",
    "recognised_combine",
    "vertex_program",
]

CLASS_SETTINGS = (
    "combine",
    "identity",
    "contributors",
    "residual",
    "tol",
    "max_iter",
    "in_place",
    "asynchronous",
    "validate",
    "message_order",
    "extrapolation",
)

# The arguments that each function may take, by name and in any order.


def l1_norm(field: str) -> Norm:
    """Measure convergence by the sum of absolute changes of a state field over all vertices.

    Parameters
    ----------
    field : str
        Name of the state field.

    Returns
    -------
    Norm
        For a program's `residual`.

    Examples
    --------
    How often is each page seen by someone who follows links?  The run ends when all shares together change by at
    most `tol`:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> @ws.vertex_program
    ... class Shares:
    ...     share: ws.float64
    ...     degree: ws.out_degree
    ...     combine = sum
    ...     residual = ws.l1_norm("share")
    ...     tol = 1e-3
    ...
    ...     def init(p):
    ...         return 1.0 / p.number_of_vertices
    ...
    ...     def compute(src):
    ...         return src.share / src.degree
    ...
    ...     def apply(gathered):
    ...         return gathered
    >>> links = pd.DataFrame({"source": [0, 0, 1, 2], "destination": [1, 2, 2, 0]})
    >>> result = ws.run(Shares, links)
    >>> result.iterations, result.residual <= 1e-3, result.frame["share"].round(2).tolist()
    (20, True, [0.4, 0.2, 0.4])
    """
    return Norm(field, "l1")


def max_norm(field: str) -> Norm:
    """Measure convergence by the maximum absolute change of a state field over all vertices.

    Parameters
    ----------
    field : str
        Name of the state field.

    Returns
    -------
    Norm
        For a program's `residual`.

    Examples
    --------
    A rod is hot at one end and cold at the other.  The run ends when no temperature changes by more than `tol`:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> @ws.vertex_program
    ... class Rod:
    ...     temperature: ws.float64
    ...     degree: ws.in_degree
    ...     combine = sum
    ...     residual = ws.max_norm("temperature")
    ...     tol = 1e-4
    ...
    ...     def init(vertex):
    ...         return 100.0 if vertex == 0 else 0.0
    ...
    ...     def compute(src):
    ...         return src.temperature
    ...
    ...     def apply(old, gathered):
    ...         return old.temperature if old.degree == 1 else gathered / 2.0
    >>> rod = pd.DataFrame({"source": [0, 1, 2, 3], "destination": [1, 2, 3, 4]})
    >>> result = ws.run(Rod, rod, directed=False)
    >>> result.converged, result.frame["temperature"].round(2).tolist()
    (True, [100.0, 75.0, 50.0, 25.0, 0.0])
    """
    return Norm(field, "max")


@dataclass(frozen=True)
class _Aggregate:
    function: Callable[..., Any]
    fold: str = "sum"


def aggregate(function: Callable[..., Any]) -> Any:
    """Mark a function of a vertex, whose sum over all vertices every superstep can read.

    Parameters
    ----------
    function : callable
        `function(state)` or `function(state, p)`, returning a number; the sum of flags is their count.  Or
        `max`, `min` or `any`, to be read in the place of the sum: ``@ws.aggregate(max)``.

    Returns
    -------
    object
        The marked function.  Inside `compute`, `apply`, `active` and `until`, `p.<name of the function>`
        (float64) is its sum over all vertices before the superstep; or the greatest or least of the numbers
        that are not NaN (without any, -inf or inf), or 1.0 if it is true of any vertex, else 0.0.

    Raises
    ------
    ProgramError
        If what is given is no function.

    Examples
    --------
    A rumour spreads until at least half of a club know it, which `until` reads.  So many know it at first, and learn it
    in each superstep:

    >>> import cugraph_ws as ws
    >>> @ws.vertex_program
    ... class Rumour:
    ...     since = ws.nullable(ws.int64, -1)
    ...     start: ws.vertex_parameter
    ...     combine = any
    ...
    ...     @ws.aggregate
    ...     def informed(state):
    ...         return state.since >= 0
    ...
    ...     def init(vertex, p):
    ...         return 0 if vertex == p.start else -1
    ...
    ...     def compute(src):
    ...         return src.since >= 0
    ...
    ...     def apply(old, gathered, p):
    ...         return p.superstep + 1 if old.since < 0 and gathered else old.since
    ...
    ...     def until(p):
    ...         return p.informed >= 0.5 * p.number_of_vertices
    >>> result = ws.run(Rumour, ws.datasets.karate_club(), directed=False, start=16)
    >>> result.iterations, result.frame["since"].value_counts().sort_index().tolist()
    (3, [1, 2, 3, 12])
    """
    if not callable(function):
        raise ProgramError(
            f"ws.aggregate is given {shown(function)}; write @ws.aggregate above a function of the state, or "
            "@ws.aggregate(max), with max, min or any"
        )
    fold = next((fold for known, fold in COMBINES.items() if function is known), None)
    if fold in ("sum", "max", "min", "any") and function is not any_message:
        return lambda marked: _Aggregate(plain(marked), fold)
    return _Aggregate(plain(function))


def any_message(first: Any, second: Any) -> Any:
    """Combine two messages by taking either, so that a gather can stop at the first.

    Parameters
    ----------
    first, second : Any
        Messages that are equal, or equally good.

    Returns
    -------
    Any
        The first.

    Examples
    --------
    A search in which all messages of a superstep are equal, so that one is enough:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> @ws.vertex_program
    ... class Degrees:
    ...     apart: ws.int64
    ...     person: ws.vertex_parameter
    ...     combine = ws.any_message
    ...
    ...     def init(vertex, p):
    ...         return 0 if vertex == p.person else -1
    ...
    ...     def starts(state):
    ...         return state.apart == 0
    ...
    ...     def compute(src):
    ...         return src.apart + 1
    ...
    ...     def apply(old, gathered):
    ...         return gathered if old.apart < 0 else old.apart
    >>> friends = pd.DataFrame({"source": ["ann", "bob", "cat"], "destination": ["bob", "cat", "dan"]})
    >>> ws.run(Degrees, friends, directed=False, person="bob").frame["apart"].tolist()
    [1, 0, 1, 2]
    """
    return first


# Declarations of vertex constants
CONSTANTS = Constant, VertexNumber, VertexValue, Distribution, VertexSet, Jump
COMBINES: dict[Any, str] = {sum: "sum", min: "min", max: "max", any: "any", any_message: "any"}


@short_errors
def vertex_program(cls: type | None = None) -> VertexProgram:
    """Make a vertex program from a class that declares state and plain functions.

    Parameters
    ----------
    cls : type
        A class that declares, by annotation or assignment, state fields (`ws.float32`, …), edge
        attributes (`ws.edge`), vertex constants (`ws.vertex_value`, `ws.out_degree`, `ws.vertex_number`, …) and run
        parameters (`ws.parameter`, `ws.vertex_parameter`), jumps (`ws.at`, `ws.least_at`, …), and
        which defines

        - ``init(vertex, p, own)``: the state of vertex number `vertex` before the first superstep;
        - ``compute(src, dst, edge, p)``: the message along an edge; `dst` is the destination, with
          its state after the previous superstep;
        - ``combine``: `sum`, `min`, `max`, `any`, `ws.histogram(k)`, `ws.top(k)`, `ws.bitset(k)`,
          `ws.first_by(field)`, `ws.mode()`, a function of two messages with `identity`, or, for messages
          that are tuples, a tuple of `sum`, `min`, `max`, `any` (of flags), `ws.histogram(k)`, `ws.top(k)` and
          `ws.bitset(k)`: a fold for each part;
        - ``apply(old, gathered, p)``: the state after the superstep;
        - ``active(old, new, p)``: whether the vertex is active after the superstep, so that its
          out-neighbours read its change (by default: whether any field changed).

        Arguments are bound by name, in any order; a function may leave out those that it does
        not need.  Optional are ``starts(state, p)`` (which vertices are active at first; if all send
        without ``contributors``, this gives a warning), ``settled(state, p)`` (the vertex takes no
        messages from the next superstep on; all of the superstep in which it settles count),
        ``priority(state, p)`` (smallest first), ``residual`` (`ws.l1_norm` or `ws.max_norm`),
        ``tol``, ``max_iter``, ``contributors`` ("all" or "active"), ``in_place``,
        ``asynchronous``, ``validate(graph, values)``, which is called before the run, and
        functions marked with `ws.aggregate`.

        Instead of ``combine`` there may be ``gather_list(old, messages, p)``, which returns
        `gathered` for `apply` from all messages of a vertex.  It may use ``len(messages)``,
        ``messages[i]`` and ``for one in messages``.  Messages are in the order of the sources'
        numbers, those of parallel edges in input order; with ``message_order = "value"`` they are
        ascending.  An index out of range ends the run with a ProgramError.  One thread handles
        a vertex, also on a GPU, where a vertex with very many in-edges is slow.

    Notes
    -----
    A superstep reads only the states after the previous superstep.  ``asynchronous = True`` declares
    that the result is the fixpoint, whatever the order and repetition of messages; a run may then
    take messages out of order.  Without the declaration it does so only if this is proved from the
    source (`cugraph_ws.program.order`).  A run that `max_iter` bounds never does.

    ``contributors`` says which vertices send: "all", or "active" ones.  Without it, only active vertices
    send if `combine` is `any`, or if it is `min` or `max` and the program has `starts` or is
    `asynchronous`, and no state on edges; otherwise all do, and ``active`` says only when the run ends: it ends when no vertex
    is active.  A warning tells so, unless ``active`` plainly says that the state has changed.

    A program with fields `ws.edge_state` keeps a state for each edge, which `compute` reads.  After
    each superstep ``update_edge(src, dst, edge, p)`` returns the edge's new state: it sees the new
    states of both ends, and the old state in `edge`.  ``init_edge(src, dst, edge, p)`` returns the
    first state, from the first states of the ends.  Such programs gather from all in-neighbours in
    every superstep, and converge when no vertex is active and no edge has changed.

    ``scatter(own, edges, p)`` in the place of `compute` sees the state of a vertex and all of its out-edges,
    in the order of the destinations' numbers, parallel ones as in the frame: ``len(edges)``, ``edges[i]``, ``for
    edge in edges``.  ``edge.w`` is an attribute, ``edge.dst.x`` the state of the vertex that it leads to, and
    ``edge.send(message)`` sends along it; a later message replaces it, and an edge without one sends nothing.
    Every vertex with out-edges is asked in every superstep.  An index out of range ends the run with a
    ProgramError.  One thread handles a vertex; on a GPU the threads of a block handle one with very many out-edges.
    They share loops that carry no value from edge to edge, and what ``total += f(edge)`` adds; other loops run edge by
    edge there too.

    A program with a `compute` that takes `dst` gathers messages in order.  It cannot be
    asynchronous or in place, have a predecessor, or run over shards (`layout=`).

    ``p.random()`` is a random float64 from 0 to less than 1, and ``p.random_integer(n)`` an integer from
    0 to n − 1 (0 if n is less than 1).  ``init``, ``starts``, ``compute``, ``scatter``, ``gather_list``, ``apply`` and
    ``active`` may draw them.  They depend on the ``seed=`` of the run (an integer, by default 0), the phase and
    its round, the superstep, the call in the source, the number of the vertex (in `compute`, of the edge's source
    and destination, and its place in the frame among parallel edges) and, in loops, the pass, and on nothing else
    (Philox-4x32-10; Salmon, Moraes, Dror and Shaw, SC 2011).

    Functions may read tuples, lists and arrays of numbers that are outside of them, by index: ``RATE[src.kind]``,
    ``PAYOFF[old.choice][gathered]``, ``len(RATE)``.  Past the ends, ``engine="python"`` raises an error and
    compiled functions read NaN, the least int64 or False.

    Type checkers do not accept a call as a type: in files that they check, assign calls
    (``capacity = ws.edge(ws.float32)``) and annotate the rest (``width: ws.float32``).  Functions
    may be marked as static methods and annotated.  Without annotations, mypy must not require them
    (``disallow_untyped_defs``); without static methods, Pyright warns that `self` is missing.

    A vertex that gets no message keeps its state, with two exceptions.  A program with a sum or
    a user-defined combine whose contributors are not "active" has `apply` called with 0, or
    the declared identity.  A program with ``contributors = "all"``, or with jumps, has `apply`
    called with the identity of `combine`: for `min` inf, the greatest int64, or True; for `max`
    -inf, the smallest int64, or False.  A message that is NaN counts as that identity, for both.

    Returns
    -------
    VertexProgram
        The checked program.

    Raises
    ------
    ProgramError
        If the program is invalid; the message names the function and the line.

    Examples
    --------
    The widest path: a chain of roads lets through what its narrowest road does.

    >>> import math
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> @ws.vertex_program
    ... class Widest:
    ...     width: ws.float64  # state, and a column of the result
    ...     capacity = ws.edge(ws.float64)  # a column of the edge frame
    ...     start: ws.vertex_parameter  # an id, given to run()
    ...     combine = max
    ...
    ...     def init(vertex, p):
    ...         return math.inf if vertex == p.start else 0.0
    ...
    ...     def compute(src, edge):
    ...         return min(src.width, edge.capacity)
    ...
    ...     def apply(old, gathered):
    ...         return max(old.width, gathered)
    >>> roads = pd.DataFrame(
    ...     {"source": ["a", "a", "b"], "destination": ["b", "c", "c"], "capacity": [6.0, 2.0, 5.0]}
    ... )
    >>> ws.run(Widest, roads, start="a").frame.to_dict("list")
    {'vertex': ['a', 'b', 'c'], 'width': [inf, 6.0, 5.0]}
    """
    if not isinstance(cls, type):
        raise ProgramError(
            f"{shown(cls)} is not a class; put @ws.vertex_program, without parentheses, above a class"
        )
    name = cls.__name__
    declared = declarations_of(cls)
    state = of_kind(declared, State)
    if not state:
        raise ProgramError(f"{name} declares no state; annotate a field, as in `width: ws.float32`")
    functions, marked = _functions(cls, name)
    settings = {
        key: plain(cls.__dict__[key])
        for key in CLASS_SETTINGS
        if key in cls.__dict__ and key not in declared
    }
    if isinstance(settings.get("combine"), (tuple, list)):
        settings["combine"] = by_part(name, settings["combine"])
    combine, identity = _combine(name, settings, functions)
    predecessors = [key for key, value in declared.items() if isinstance(value, Predecessor)]
    program = (VectorProgram if vectors_among(name, declared) else VertexProgram)(
        name=name,
        doc=inspect.cleandoc(cls.__doc__ or ""),
        state=state,
        edges=of_kind(declared, Edge),
        edge_state=of_kind(declared, EdgeState),
        constants=of_kind(declared, *CONSTANTS),
        parameters=of_kind(declared, Parameter, VertexParameter),
        combine=combine,
        identity=identity,
        contributors=settings.get("contributors"),
        residual=settings.get("residual"),
        tol=settings.get("tol"),
        max_iter=settings.get("max_iter"),
        in_place=settings.get("in_place"),
        asynchronous=settings.get("asynchronous", False),
        predecessor=predecessors[0] if predecessors else None,
        validate=settings.get("validate"),
        functions=functions,
        aggregates={key: one.function for key, one in marked.items()},
        aggregate_folds=tuple(one.fold for one in marked.values()),
        fold=settings["combine"] if isinstance(settings.get("combine"), Fold) else None,
        listing=_listing(settings, functions),
        extrapolation=settings.get("extrapolation"),
    )
    _check_names(program)
    check_defaults(name, declared)
    check_jumps(program)
    _check_settings(program, len(predecessors))
    program.read_sources()
    if program.selective and program.listing is not None:
        raise ProgramError(
            f"{name}.compute ({program.sources['compute'].location}) returns ws.no_message, but lists have the "
            "messages of all in-neighbours; send a value that gather_list skips"
        )
    _check_until(program)
    _check_draws(program)
    _check_target(program)
    _check_edge_state(program)
    _check_parallel(program)
    given = {**declared, **({SEED: program.parameters[SEED]} if program.draws else {})}
    program.__doc__ = help_of(name, program.doc, given, state=program.state)
    if not program.built_in:
        expect("program")
    return program


def plain(value: Any) -> Any:
    """Return a member of a class body; of a static method, the function in it."""
    return value.__func__ if isinstance(value, staticmethod) else value


def declarations_of(cls: type) -> dict[str, Declaration]:
    """Return the declarations of a class body; annotations may be strings.

    Parameters
    ----------
    cls : type

    Returns
    -------
    dict of declarations
        By name, in the order of the class body.

    Raises
    ------
    ProgramError
        If an annotation is not a declaration, or a name is reserved.
    """
    try:
        annotations = inspect.get_annotations(cls, eval_str=True)
    except ProgramError:  # of a declaration that is called
        raise
    except Exception:  # a name local to the function that defines the class
        annotations = _evaluate_locally(cls)
    assigned = {name: value for name, value in cls.__dict__.items() if is_declaration(value)}
    declared: dict[str, Declaration] = {}
    for name, value in _in_order(cls, annotations, assigned).items():
        kind = getattr(value, "type", None)
        if isinstance(value, Declaration) and not isinstance(
            kind, ScalarType | Like | Floating | None
        ):
            raise ProgramError(
                f"{cls.__name__}.{name}: {shown(kind)} is no type; give one first, such as ws.float64, "
                "ws.int64 or ws.boolean"
            )
        if isinstance(value, (ScalarType, Like)):
            declared[name] = State(value)
        elif isinstance(value, Declaration):
            declared[name] = value
        else:
            raise ProgramError(
                f"{cls.__name__}.{name} is annotated with {name_of(value)}; declare it {of_annotation(name, value)}"
            )
        if name in BUILT_IN_PARAMETERS or name.startswith("_"):
            raise ProgramError(f"{cls.__name__}.{name}: that name is taken; choose another")
    attributes = {name for name, value in declared.items() if isinstance(value, Edge)}
    for name, value in declared.items():
        if (
            isinstance(value, State)
            and isinstance(value.type, Like)
            and value.type.attribute not in attributes
        ):
            raise ProgramError(
                f"{cls.__name__}.{name} is like `{value.type.attribute}`, which is not a declared edge "
                "attribute; declare it with ws.edge()"
            )
    return declared


def is_declaration(value: Any) -> bool:
    """Return whether a value of a class body is a declaration."""
    return isinstance(value, (ScalarType, Like, Declaration))


def _in_order(
    cls: type, annotations: Mapping[str, Any], assigned: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the annotated and assigned names, in the order of the class body.

    A class keeps the orders of annotations and of assignments, but not their relative order.
    This matters for state fields, which `init` and `apply` return in order: if fields are
    declared in both ways, the order is read from the source.
    """
    both = {**annotations, **assigned}
    fields = {name for name, value in both.items() if isinstance(value, (ScalarType, Like, State))}
    if not fields - set(annotations) or not fields - set(assigned):
        return both
    order = class_names(cls)
    if not fields <= set(order):
        raise ProgramError(
            f"{cls.__name__} annotates some state fields and assigns others, and their order is unknown because "
            f"its source cannot be found; declare all of them in one way: {', '.join(sorted(fields))}"
        )
    places = {name: place for place, name in enumerate(order)}
    return {
        name: both[name] for name in sorted(both, key=lambda field_name: places.get(field_name, -1))
    }


def _evaluate_locally(cls: type) -> dict[str, Any]:
    """Evaluate annotations with the variables of the function that defines the class."""
    frame = inspect.currentframe()
    while frame is not None:
        try:
            return inspect.get_annotations(
                cls, eval_str=True, locals={**frame.f_globals, **frame.f_locals}
            )
        except ProgramError:
            raise
        except Exception:  # not a name of this caller: try the next one
            frame = frame.f_back
    raise ProgramError(
        f"{cls.__name__}: an annotation cannot be evaluated; write declarations as ws.float32, "
        "with `import cugraph_ws as ws` in the same file"
    )


def of_kind(declared: Mapping[str, Declaration], *kinds: type) -> dict[str, Any]:
    """Return the declarations of some kinds, by name."""
    return {name: value for name, value in declared.items() if isinstance(value, kinds)}


def _functions(cls: type, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Collect the class's functions and aggregates; refuse functions without a role."""
    functions: dict[str, Any] = {}
    aggregates: dict[str, Any] = {}
    for key, value in cls.__dict__.items():
        value = plain(value)
        if is_declaration(value):
            continue
        if isinstance(value, _Aggregate):
            aggregates[key] = value
        elif key in CLASS_SETTINGS or key.startswith("__"):
            continue
        elif key in FUNCTIONS:
            functions[key] = value
        else:
            if key in inspect.get_annotations(cls):
                raise ProgramError(
                    f"{name}.{key} = {value!r}: a state has no default; leave it out, and return first values from "
                    "init"
                )
            if is_number(value):
                raise ProgramError(
                    f"{name}.{key} = {value!r}: declare it {key} = ws.parameter(ws.float64, {value!r}), and read "
                    f"p.{key}; or write it above the class"
                )
            if isinstance(value, (tuple, list, np.ndarray)):
                raise ProgramError(
                    f"{name}.{key}: functions do not see what their class holds; write the table {key} above the class"
                )
            known = ", ".join([*FUNCTIONS, *CLASS_SETTINGS])
            raise ProgramError(f"{name}.{key} has no role in a vertex program; known: {known}")
    for key in ("init", "compute", "apply"):
        if key not in functions and (key != "compute" or "scatter" not in functions):
            raise ProgramError(f"{name} has no `{key}`; define {key}({', '.join(FUNCTIONS[key])})")
    return functions, aggregates


def _combine(name: str, settings: Mapping[str, Any], functions: dict[str, Any]) -> tuple[str, Any]:
    """Recognise how a vertex program gathers messages; return the combine's name and its identity."""
    combine = settings.get("combine")
    if "gather_list" in functions:
        if "combine" in settings:
            raise ProgramError(
                f"{name} defines both `combine` and `gather_list`, but messages are gathered in one way; "
                "leave one of them out"
            )
        order = settings.get("message_order", "source")
        if order not in ("source", "value"):
            raise ProgramError(f"{name}.message_order is {shown(order)}; it is 'source' or 'value'")
    elif "message_order" in settings:
        raise ProgramError(
            f"{name}.message_order is for the messages of `gather_list`, which is not defined; leave it out"
        )
    elif not isinstance(combine, (Fold, Listing)):
        return recognised_combine(name, settings, functions)
    if "identity" in settings:
        reason = "gather_list needs none" if combine is None else f"{combine!r} has its own"
        raise ProgramError(f"{name}.identity is set, but {reason}; leave `identity` out")
    if isinstance(combine, Fold):
        return "custom", None
    return "list" if combine is None else "mode", None


def _listing(settings: Mapping[str, Any], functions: Mapping[str, Any]) -> Listing | None:
    """Return how messages are listed; None if they are folded."""
    if "gather_list" in functions:
        return Listing("list", settings.get("message_order", "source"))
    combine = settings.get("combine")
    return combine if isinstance(combine, Listing) else None


def recognised_combine(
    name: str, settings: Mapping[str, Any], functions: dict[str, Any]
) -> tuple[str, Any]:
    """Recognise `combine`; a user-defined function is added to `functions`.

    Parameters
    ----------
    name : str
        The program's name.
    settings : mapping
        `combine` and `identity`, as the class body has them.
    functions : dict
        The user's functions.

    Returns
    -------
    str
        "sum", "min", "max", "any" or "custom".
    Any
        The identity of a custom one, else None.

    Raises
    ------
    ProgramError
        If it is missing, or cannot be used.
    """
    if "combine" not in settings:
        raise ProgramError(
            f"{name} has no `combine`; set it to sum, min, max, any, or define combine(a, b) with `identity`"
        )
    combine = settings["combine"]
    for known, label in COMBINES.items():
        if combine is known:
            return label, None
    if isinstance(combine, str) and combine in COMBINES.values():
        raise ProgramError(f"{name}.combine is text; write combine = {combine}, without quotes")
    if not callable(combine) and not isinstance(combine, str):
        raise ProgramError(
            f"{name}.combine is {combine!r}; set it to sum, min, max, any, or define combine(a, b)"
        )
    if wrong := of_combine(combine):
        raise ProgramError(f"{name}.combine {wrong}")
    if "identity" not in settings:
        raise ProgramError(
            f"{name}.combine is a function and needs `identity`, the message that leaves others unchanged, "
            "such as 0.0 for a sum"
        )
    functions["combine"] = combine
    identity = settings["identity"]
    for number in identity if isinstance(identity, tuple) else (identity,):
        if not isinstance(number, (bool, int, float, np.number, np.bool_)):
            raise ProgramError(
                f"{name}.identity is {identity!r}; give a number, or a tuple of numbers"
            )
    return "custom", identity


def _check_names(program: VertexProgram) -> None:
    """Refuse names that would be ambiguous in a function, and constants of edge programs."""
    for name, declared in program.constants.items():
        if isinstance(declared, Constant) and declared.source == "neighbour_count":
            raise ProgramError(
                f"{program.name}.{name}: ws.neighbour_count is a constant of edge programs; use "
                "ws.in_degree or ws.out_degree"
            )
    for name in program.parameters:
        if name in DRAWS:
            raise ProgramError(f"{program.name}.{name}: that name is taken; choose another")
    for name in program.aggregates:
        taken = (*program.parameters, *BUILT_IN_PARAMETERS, *DRAWS)
        if name in taken or name.startswith("_"):
            raise ProgramError(f"{program.name}.{name}: that name is taken; choose another")


def _check_settings(program: VertexProgram, predecessors: int) -> None:
    if program.contributors not in ("all", "active", None):
        raise ProgramError(
            f"{program.name}.contributors is {program.contributors!r}; it is 'all' or 'active'"
        )
    norm = program.residual
    if norm is not None and not isinstance(norm, Norm):
        raise ProgramError(
            f"{program.name}.residual is {name_of(norm)}; use ws.l1_norm or ws.max_norm, called with the field: "
            f"residual = ws.l1_norm({next(iter(program.state))!r})"
        )
    if norm is not None and norm.field not in program.state:
        raise ProgramError(
            f"{program.name}.residual is over `{norm.field}`, which is not a state field; fields: "
            f"{', '.join(program.state)}"
        )
    if program.tol is not None and norm is None:
        raise ProgramError(
            f"{program.name}.tol needs `residual`, as in `residual = ws.l1_norm('{next(iter(program.state))}')`"
        )
    try:
        if program.max_iter is not None:
            check_count("max_iter", program.max_iter)
        if program.tol is not None:
            check_number("tol", program.tol, finite=True)
    except InputError as error:
        raise ProgramError(f"{program.name}: {error}") from error
    if program.in_place not in (None, True, False):
        raise ProgramError(f"{program.name}.in_place is {program.in_place!r}; it is True or False")
    if program.asynchronous not in (True, False):
        raise ProgramError(
            f"{program.name}.asynchronous is {program.asynchronous!r}; it is True or False"
        )
    if program.asynchronous and not program.idempotent:
        raise ProgramError(
            f"{program.name}.asynchronous needs combine = min, max or any: a message may come twice"
        )
    if program.asynchronous and program.contributors == "all":
        raise ProgramError(
            f"{program.name} sets asynchronous and contributors='all'; leave one of them out"
        )
    if predecessors and not program.idempotent:
        raise ProgramError(
            f"{program.name}.{program.predecessor}: a predecessor needs combine = min, max or any"
        )
    if program.listing is not None:
        _check_listing(program, program.listing)
    if program.extrapolation is not None:
        _check_linear(program, program.extrapolation)
    if predecessors > 1:
        raise ProgramError(f"{program.name} declares {predecessors} predecessors; one is enough")


def _check_linear(program: VertexProgram, declared: Any) -> None:
    """Refuse an extrapolation of anything but the float64 field that the residual is the L1 norm of."""
    if not isinstance(declared, Linear):
        raise ProgramError(f"{program.name}.extrapolation is {declared!r}; use linear('field')")
    norm = program.residual
    if norm is None or norm != Norm(declared.field, "l1"):
        raise ProgramError(
            f"{program.name}.extrapolation is of `{declared.field}`; it needs "
            f"`residual = ws.l1_norm({declared.field!r})`"
        )
    if getattr(program.state[declared.field].type, "name", "") != "float64":
        raise ProgramError(
            f"{program.name}.extrapolation is of `{declared.field}`, which is not declared ws.float64"
        )
    if program.combine != "sum" or program.edge_state or program.jumps or program.scatters:
        raise ProgramError(
            f"{program.name}.extrapolation needs combine = sum, without scatter, state on edges and jumps"
        )


def _check_listing(program: VertexProgram, listing: Listing) -> None:
    """Refuse declarations that contradict lists of messages."""
    if program.contributors == "active":
        raise ProgramError(
            f"{program.name} sets contributors='active', but {listing!r} gathers all messages; leave it out"
        )
    if program.in_place:
        raise ProgramError(
            f"{program.name} sets in_place = True, but {listing!r} reads the states after the previous "
            "superstep; leave it out"
        )


def _check_until(program: VertexProgram) -> None:
    """Refuse an `until` that reads no aggregate, or where supersteps are not counted."""
    if "until" not in program.functions:
        return
    until = program.sources["until"]
    if not set(program.aggregates) & until.attributes.get("p", set()):
        raise ProgramError(
            f"{program.name}.until ({until.location}) reads no aggregate; mark a function with @ws.aggregate and "
            "read p.<its name>, or set max_iter"
        )
    for name in ("asynchronous", "in_place"):
        if getattr(program, name):
            raise ProgramError(
                f"{program.name}.until ({until.location}) is asked after each superstep; leave out {name} = True"
            )


def _check_target(program: VertexProgram) -> None:
    """Refuse declarations that contradict a `compute` that takes `dst`."""
    if not program.reads_target:
        return
    takes = (
        f"{program.name}.compute ({program.sources['compute'].location}) takes `dst`, the destination's state "
        "after the previous superstep"
    )
    if program.asynchronous:
        raise ProgramError(f"{takes}; leave out asynchronous = True, or do not take `dst`")
    if program.in_place:
        raise ProgramError(f"{takes}; leave out in_place = True, or do not take `dst`")
    if program.predecessor is not None:
        raise ProgramError(
            f"{takes}, but predecessors are found from messages that depend on the source alone; leave out "
            f"`{program.predecessor}`, or do not take `dst`"
        )


def _check_draws(program: VertexProgram) -> None:
    """Refuse declarations that contradict random numbers, which depend on the superstep."""
    if not (program.draws and program.reads_supersteps):
        return
    if program.draws_by_edge and program.predecessor is not None:
        raise ProgramError(
            f"{program.name}.compute draws random numbers by edge, but predecessors are found from messages that "
            f"depend on the source alone; leave out `{program.predecessor}`"
        )
    for name in ("asynchronous", "in_place", "extrapolation"):
        if getattr(program, name):
            raise ProgramError(
                f"{program.name} draws random numbers, which depend on the superstep; leave out {name}"
            )


def _check_parallel(program: VertexProgram) -> None:
    """Refuse folds of parallel edges, each of which a vertex program sees."""
    for key, attribute in program.edges.items():
        if attribute.parallel is not None:
            raise ProgramError(
                f"{program.name}.{key}: parallel={attribute.parallel!r} is for edge programs, and a vertex program "
                "sees every edge; leave it out"
            )


def _check_edge_state(program: VertexProgram) -> None:
    """Refuse declarations that contradict a state of edges."""
    name = program.name
    if program.scatters:
        return
    if not program.edge_state:
        for function in ("init_edge", "update_edge"):
            if function in program.functions:
                raise ProgramError(
                    f"{name}.{function} has no state of edges to return; declare a field, as in "
                    "`flow = ws.edge_state(ws.float64)`, or leave it out"
                )
        return
    for key, declared in program.edge_state.items():
        if not isinstance(declared.type, ScalarType) or declared.type.holds_vertex:
            raise ProgramError(
                f"{name}.{key} is a ws.edge_state of {declared.type!r}; declare it as ws.float32, "
                "ws.float64, ws.int32, ws.int64 or ws.boolean"
            )
        if not _holds(declared.type.dtype, declared.default):
            raise ProgramError(
                f"{name}.{key} has the default {declared.default!r}, which {declared.type!r} does not hold; "
                "give another"
            )
    fields = ", ".join(program.edge_state)
    if "update_edge" not in program.functions:
        raise ProgramError(
            f"{name} keeps `{fields}` on edges and has no `update_edge`; define update_edge(src, dst, edge, p)"
        )
    takes = f"{name} keeps `{fields}` on edges, and gathers from all in-neighbours in order"
    if program.combine == "any":
        raise ProgramError(f"{takes}; set combine to max, min, sum or a function, not any")
    if program.contributors == "active":
        raise ProgramError(f"{takes}; leave out contributors = 'active'")
    if program.asynchronous:
        raise ProgramError(f"{takes}; leave out asynchronous = True")
    if program.in_place:
        raise ProgramError(f"{takes}; leave out in_place = True")
    if program.predecessor is not None:
        raise ProgramError(f"{takes}; leave out `{program.predecessor}`, the predecessor")


def _holds(dtype: np.dtype[Any], value: Any) -> bool:
    """Return whether a type can hold a value, a float perhaps rounded."""
    if not isinstance(value, (bool, int, float, np.number, np.bool_)):
        return False
    try:
        with np.errstate(over="ignore"):
            stored = dtype.type(value)
        if dtype.kind == "f":
            return bool(np.isfinite(stored)) or not math.isfinite(value)
        return bool(stored == value)
    except (OverflowError, ValueError):  # an infinity, NaN, or a number out of range
        return False


def check_defaults(name: str, declared: Mapping[str, Any]) -> None:
    """Refuse defaults and null values that their types do not hold.

    Parameters
    ----------
    name : str
        The program.
    declared : mapping of str to declaration

    Raises
    ------
    ProgramError
    """
    for key, declaration in declared.items():
        if not isinstance(getattr(declaration, "type", None), ScalarType):
            continue
        numbers = {
            "default": declaration.default
            if isinstance(declaration, (Edge, VertexValue))
            else None,
            "null": declaration.null if isinstance(declaration, State) else None,
        }
        for what, value in numbers.items():
            kind = declaration.type.dtype
            endless = what == "null" and kind.kind == "i" and value == math.inf
            if value is not None and not endless and not _holds(kind, value):
                raise ProgramError(
                    f"{name}.{key} has {what}={value!r}, which {declaration.type!r} does not hold; give another"
                )
