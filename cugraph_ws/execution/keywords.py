"""Names of arguments that a function does not have: of other libraries, of earlier versions, and unknown ones.

Where an argument of cuGraph or NetworkX means one of ours, it is taken; where it means nothing, it is
refused with the reason, before work starts.
"""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from cugraph_ws.arguments import shown
from cugraph_ws.errors import InputError
from cugraph_ws.execution.options import Options, Plan, options_of
from cugraph_ws.frames.base import is_frame
from cugraph_ws.program.conventions import declares
from cugraph_ws.runtime.warn import warn_caller

__all__ = [
    "REFUSED",
    "RESEMBLE",
    "refuse_positions",
    "refuse_unknown",
    "takes_names_of_others",
    "with_own_names",
]

Function = TypeVar("Function", bound=Callable[..., Any])

OPTIONS = "options"  # the name of `**` in functions that pass options of `run` on

# Names of cuGraph and NetworkX, and the arguments that they may stand for; the first that exists
MEANT: dict[str, tuple[str, ...]] = {
    "color": ("colour",),
    "cutoff": ("depth_limit",),
    "i_start": ("start",),
    "initial_membership": ("initial",),
    "n": ("vertex",),
    "nodes": ("vertices",),
    "objective_function": ("objective",),
    "random_state": ("seed",),
    "resolution_parameter": ("resolution",),
    "source": ("start",),
    "sources": ("starts", "start", "k"),
    "start_list": ("vertices",),
    "target": ("targets",),
    "vertex_subset": ("vertices",),
}
# Names that only resemble ours, and what they may stand for
RESEMBLE: dict[str, str] = {
    "backend": "engine",
    "damping": "alpha",
    "damping_factor": "alpha",
    "device": "engine",
    "gamma": "resolution",
    "hops": "radius",
    "iterations": "max_iter",
    "max_iterations": "max_iter",
    "n_iter": "max_iter",
    "n_iterations": "max_iter",
    "num_iterations": "max_iter",
    "supersteps": "max_iter",
    "tolerance": "tol",
    "verbose": "progress",
    "weights": "weight",
}
# Functions that take lengths of edges, which NetworkX calls `distance`
BY_DISTANCE = (
    "closeness_centrality",
    "harmonic_centrality",
    "betweenness_centrality",
    "edge_betweenness_centrality",
)
REFUSED: dict[str, str] = {
    "algorithm": "there is one method; leave it out",
    "components": "searches do not depend on components; leave it out",
    "connection": "use weakly_connected_components or strongly_connected_components",
    "core_number": "core numbers are computed here; leave it out",
    "cutoff": "distances are not limited here; leave it out",
    "distance": "edges have no lengths here; leave it out, or choose a column of weights by weight=",
    "ignore_nan": "edges of weight NaN are not dropped here; drop them from the frame",
    "indices": "use start=, a vertex or a list of vertices",
    "offload": "give engine='cpu' to compute on the CPU",
    "offsets": "a call makes one subgraph; call subgraph once for each",
    "overwrite": "the graph is never changed; leave it out",
    "random_state": "the result does not depend on random numbers; leave it out",
    "result_dtype": "the result is float64; convert its column",
    "return_labels": "labels are always returned; leave it out",
    "seed": "the result does not depend on random numbers; leave it out",
    "sources": "all vertices are sources here; leave it out",
    "start_list": "the function has no list of vertices; select rows of the result",
    "targets": "all vertices are reached; for paths to some, use shortest_path(result, targets)",
    "n_jobs": "the environment variable CUGRAPH_WS_THREADS is the number of threads",
    "num_threads": "the environment variable CUGRAPH_WS_THREADS is the number of threads",
    "target": "all vertices are reached; for paths to one, use shortest_path(graph, start, target)",
    "theta": "a vertex joins the community of the greatest gain, not a random one; leave it out",
    "undirected": "give directed=False to read an edge frame as undirected",
    "unweighted": "give weight=None to ignore weights",
}


def with_own_names(
    function: Callable[..., Any], options: dict[str, Any], program: Any = None
) -> dict[str, Any]:
    """Replace names that other libraries have for a function's arguments, and earlier names of our own.

    Parameters
    ----------
    function : callable
    options : dict
        Its arguments by name.
    program : VertexProgram, EdgeProgram, Phases or Loop, optional
        What `run` runs; the names of its parameters are not replaced.

    Returns
    -------
    dict

    Raises
    ------
    InputError
        If a name means nothing here, with the reason; or an argument is given by two names.
    """
    if options_of(Plan).keys() & options.keys():
        options = _with_plan(function, options, program)
    if not (MEANT.keys() | REFUSED.keys()) & options.keys():
        return options
    own_names, known = _known(function)
    if not known:
        return options
    renamed: dict[str, Any] = {}
    for name, value in options.items():
        meant = {name: value}
        if name not in known:
            if value is None and (name in MEANT or name in REFUSED):
                meant = {}  # as if it were left out
            elif name == "distance" and function.__name__ in BY_DISTANCE:
                meant = {"weight": value, "weighted": True}
            elif targets := [target for target in MEANT.get(name, ()) if target in own_names]:
                meant = {targets[0]: value}
            elif name in REFUSED:
                raise InputError(f"{function.__name__}() takes no {name}: {REFUSED[name]}")
        for target, argument in meant.items():
            if target in renamed or (target != name and target in options):
                raise InputError(
                    f"{function.__name__}: {name}= and {target}= name the same argument; give one"
                )
            renamed[target] = argument
    return renamed


def _with_plan(
    function: Callable[..., Any], options: dict[str, Any], program: Any
) -> dict[str, Any]:
    """Gather in `plan` the options that were arguments of their own before there were plans."""
    parameters = inspect.signature(function).parameters
    kinds = {parameter.kind for parameter in parameters.values()}
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        return options
    earlier = {
        name: options[name]
        for name in options_of(Plan)
        if name in options and name not in parameters and not declares(program, name, options)
    }
    if not earlier:
        return options
    words = ", ".join(f"{name}=" for name in earlier)
    if "plan" in options:
        raise InputError(
            f"{function.__name__}: {words} and plan= are both given; give all in the plan, as ws.Plan({words}…)"
        )
    plan = Plan(**earlier)
    shown_plan = ", ".join(f"{name}={shown(value)}" for name, value in earlier.items())
    warn_caller(
        f"{function.__name__}: {words} will be refused in a later version; give plan=ws.Plan({shown_plan})",
        FutureWarning,
    )
    return {**{name: options[name] for name in options if name not in earlier}, "plan": plan}


def takes_names_of_others(function: Function) -> Function:
    """Let a function take the names that other libraries have for its arguments.

    Parameters
    ----------
    function : callable
        One decorated with `accepts_dask_frames` takes them already.

    Returns
    -------
    callable
    """

    @functools.wraps(function)
    def wrapper(*arguments: Any, **options: Any) -> Any:
        options = with_own_names(function, options)
        refuse_unknown(function, options)
        if len(arguments) > 1:
            refuse_positions(function, arguments)
        return function(*arguments, **options)

    return cast(Function, wrapper)


def refuse_unknown(
    function: Callable[..., Any], names: Mapping[str, Any], program: Any = None
) -> None:
    """Refuse names that are neither a function's own arguments nor options of `run`.

    Parameters
    ----------
    function : callable
        If it takes others than `**options`, those of a program, only names that stand for an option of `run`
        are refused here.
    names : mapping of str to object
        The arguments by name.
    program : VertexProgram, EdgeProgram, Phases or Loop, optional
        What `run` runs.

    Raises
    ------
    InputError
        It names the argument, a similar one, and all that the function has.
    """
    own_names, known = _known(function)
    for name in names:
        meant = RESEMBLE.get(name)
        if not known and meant in options_of(Options) and not declares(program, name, dict(names)):
            raise InputError(f"{function.__name__}() has no option {name}; did you mean {meant}?")
        if not known or name in known:
            continue
        close = [meant] if meant in known else difflib.get_close_matches(name, known, 1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise InputError(
            f"{function.__name__}() has no argument {name}; {hint}it has: {', '.join(own_names)}"
            f"{', and the options of run()' if len(known) > len(own_names) else ''}"
        )


def refuse_positions(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Refuse arguments by position that a function has by name alone, such as the columns of the edges.

    Parameters
    ----------
    function : callable
    arguments : tuple
        Those by position.

    Raises
    ------
    InputError
    """
    words = [value for value in arguments if isinstance(value, str)]
    frame = next(filter(is_frame, arguments), None) if len(words) > 1 else None
    if frame is not None and set(words) <= set(getattr(frame, "column_names", frame.columns)):
        source, destination = words[:2]
        raise InputError(
            f"{function.__name__}() has columns by name: source={source!r}, destination={destination!r}"
        )
    places = _places(function)
    if len(arguments) > len(places):
        raise InputError(
            f"{function.__name__}() takes {', '.join(places)} by position; "
            f"give the others by name, not {shown(arguments[len(places)])}"
        )


@functools.cache
def _places(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a function's arguments that may be given by position."""
    parameters = inspect.signature(function).parameters.values()
    return tuple(one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD)


@functools.cache
def _known(function: Callable[..., Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of a function's own arguments, and those that it takes; none if it takes any."""
    parameters = inspect.signature(function).parameters
    rest = [name for name, one in parameters.items() if one.kind is one.VAR_KEYWORD]
    own_names = tuple(name for name in parameters if name not in rest)
    if not rest:
        return own_names, own_names
    return (own_names, (*own_names, *options_of(Options))) if rest == [OPTIONS] else ((), ())
