"""Dispatch hook: functions of a graph accept Dask frames and cluster graphs, and run on the workers."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from cugraph_ws.arguments import check_columns
from cugraph_ws.errors import CugraphWsError, InputError
from cugraph_ws.execution.keywords import refuse_positions, refuse_unknown, with_own_names
from cugraph_ws.execution.options import Options, options_of
from cugraph_ws.frames.base import is_dask_frame, table_if_stream
from cugraph_ws.runtime.arrays import on_default_stream
from cugraph_ws.runtime.dispatch import provider
from cugraph_ws.runtime.tracebacks import shortened

__all__ = ["accepts_dask_frames", "is_on_cluster", "refuse_cluster"]

Function = TypeVar("Function", bound=Callable[..., Any])


def accepts_dask_frames(function: Function) -> Function:
    """Let a function that takes a `graph` accept a Dask frame, or a graph on a cluster.

    Names that other libraries have for its arguments are replaced, and unknown names refused, first.

    Parameters
    ----------
    function : callable
        Has a parameter `graph`.

    Returns
    -------
    callable
        Unchanged for any other graph.
    """
    signature = inspect.signature(function)
    place = list(signature.parameters).index("graph")
    runs = "program" in signature.parameters  # as the first
    known = {*signature.parameters, *options_of(Options)}

    @functools.wraps(function)
    def wrapper(*arguments: Any, **options: Any) -> Any:
        try:
            return call(*arguments, **options)
        except CugraphWsError as error:
            raise shortened(error) from error.__cause__

    def call(*arguments: Any, **options: Any) -> Any:
        if not options.keys() <= known:
            program = (arguments[0] if arguments else options.get("program")) if runs else None
            options = with_own_names(function, options, program)
            refuse_unknown(function, options, program)
        if len(arguments) > 1:
            refuse_positions(function, arguments)
        graph: Any = arguments[place] if len(arguments) > place else options.get("graph")
        given, graph = graph, table_if_stream(graph)
        if graph is not given:
            if len(arguments) > place:
                arguments = (*arguments[:place], graph, *arguments[place + 1 :])
            else:
                options["graph"] = graph
        if not is_on_cluster(graph):
            with on_default_stream():
                return function(*arguments, **options)
        bound = signature.bind(*arguments, **options)
        named = _flat(signature, bound.arguments)
        del named["graph"]
        if _is_partitioned(graph):
            return graph.call(_importable(wrapper), named)
        bound.apply_defaults()
        with provider("graphs of dask").ClusterGraph(
            graph, **_columns(graph, bound.arguments), once=True
        ) as built:
            return built.call(_importable(wrapper), named)

    return cast(Function, wrapper)


def _importable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of this name in its module, which may have more decorators.

    Pickle sends it by name.  It would send any other function with its code, so a worker would have
    a different program object in each call.
    """
    imported = getattr(sys.modules.get(function.__module__), function.__name__, None)
    inner = imported
    while inner is not None and inner is not function:
        inner = getattr(inner, "__wrapped__", None)
    return function if inner is None else cast(Callable[..., Any], imported)


def is_on_cluster(graph: Any) -> bool:
    """Return whether a frame or a graph is on a cluster, without importing Dask.

    Parameters
    ----------
    graph : Any
    """
    return is_dask_frame(graph) or _is_partitioned(graph)


def refuse_cluster(graph: Any) -> None:
    """Refuse a frame or a graph on a cluster.

    Raises
    ------
    InputError
    """
    if is_on_cluster(graph):
        raise InputError(
            "graph is on a cluster; give a part of its edges, such as edges.head(1000)"
        )


def _is_partitioned(graph: Any) -> bool:
    """Return whether a graph is on a cluster, without importing Dask."""
    return bool(getattr(graph, "is_partitioned", False))


def _flat(signature: inspect.Signature, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments by name, with those of `**options` at the top level."""
    named: dict[str, Any] = {}
    for name, value in arguments.items():
        if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            named.update(value)
        else:
            named[name] = value
    return named


def _columns(frame: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that describe the edge frame."""

    def column(*names: str) -> Any:
        return next((arguments[name] for name in names if name in arguments), None)

    source = column("source_column", "source")
    destination = column("destination_column", "destination")
    weight = column("weight_column", "weight")
    check_columns(source, destination, weight, arguments["directed"])
    named = arguments.get("attributes", ())
    listed = [named] if isinstance(named, str) else [*named]
    time = arguments.get("time")
    carried = tuple(
        name for name in dict.fromkeys([*listed, time]) if name is not None and name != weight
    )
    if "program" in arguments:
        from cugraph_ws.program.conventions import columns_read

        weight, carried = columns_read(arguments["program"], frame, weight, source, destination)
    return {
        "source": source,
        "destination": destination,
        "weight": weight,
        "directed": arguments["directed"],
        "attributes": carried,
    }
