"""Helpers of the algorithms' functions: types of options, checks, and unreachable vertices."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from cugraph_ws.arguments import check_flag, shown
from cugraph_ws.errors import InputError
from cugraph_ws.execution.loop import Column, Result
from cugraph_ws.execution.options import RunOptions
from cugraph_ws.frames.base import Masked
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.edges import AUTO
from cugraph_ws.graph.graph import as_graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.runtime.arrays import any_true, as_host

__all__ = [
    "Columns",
    "RunOptions",
    "Unreachable",
    "Weight",
    "check_finite",
    "check_not_negative",
    "check_unreachable",
    "open_graph",
    "refuse_checkpoints",
    "refuse_great",
    "refuse_negative",
    "with_unreachable",
]

Columns = str | list[str]
Weight = str | None
Unreachable = Literal["null", "max"]


def with_unreachable(result: Result[FrameT], column: str, unreachable: Unreachable) -> FrameT:
    """Return a search's frame with unreachable vertices as nulls or as the greatest value.

    Parameters
    ----------
    result : Result
        A search's result.
    column : str
        Its distance column, null for unreachable vertices.
    unreachable : {"null", "max"}
        Keep nulls, or replace them by the type's greatest value, as cuGraph does.

    Returns
    -------
    DataFrame
        The vertex frame.
    """
    if unreachable == "null":
        return result.frame
    arrays: Mapping[str, Column] = {**result.arrays}
    values = arrays[column]
    if isinstance(values, Masked):
        dtype = values.values.dtype
        greatest = np.iinfo(dtype).max if dtype.kind == "i" else np.finfo(dtype).max
        arrays = {**arrays, column: values.filled(dtype.type(greatest))}
    return replace(result, arrays=arrays).frame


def check_finite(argument: str, graph: GraphView, values: npt.NDArray[Any]) -> None:
    """Refuse infinite values, whose sum could be NaN.

    Parameters
    ----------
    argument : str
        The argument's name.
    graph : Graph
        The graph, used to name the vertex in the error.
    values : ndarray of float64, shape (n,)
        Values by vertex number; NaN where none was given.

    Raises
    ------
    InputError
        If a value is infinite.
    """
    if len(values) == 1:  # for all vertices: one copy instead of two launches on a GPU
        values = as_host(values)
    if np.isinf(values).any():
        vertex = int(np.isinf(values).argmax())
        raise InputError(
            f"{argument} is {float(values[vertex])} for vertex {graph.describe(vertex)}; give a finite number"
        )


def check_not_negative(argument: str, graph: GraphView, values: Any) -> None:
    """Refuse negative values.

    Parameters
    ----------
    argument : str
        The argument's name.
    graph : Graph
        The graph, used to name the vertex in the error.
    values : array of float64, shape (n,)
        Values by vertex number.

    Raises
    ------
    InputError
        If a value is negative.
    """
    if any_true(values < 0.0):
        vertex = int(values.argmin())
        raise InputError(
            f"{argument} is {float(values[vertex])} for vertex {graph.describe(vertex)}; give 0 or more"
        )


def open_graph(
    graph: GraphView[FrameT] | FrameT,
    weighted: bool,
    *,
    source: Columns,
    destination: Columns,
    weight: Weight,
    directed: bool,
) -> GraphView[FrameT]:
    """Return the graph of a function that reads weights only if `weighted`.

    Parameters
    ----------
    graph : Graph or DataFrame
    weighted : bool
        Whether the function reads weights.
    source, destination, weight, directed
        See `as_graph`.  With `weighted`, a weight that is not given is the column named `weight`.

    Returns
    -------
    GraphView

    Raises
    ------
    InputError
        If the graph has no weights, but they are requested.
    """
    check_flag("weighted", weighted)
    opened = as_graph(
        graph,
        source=source,
        destination=destination,
        weight=AUTO if weighted and weight is None else weight,
        directed=directed,
        weighted=weighted,
    )
    if weighted and opened.weight is None:
        raise InputError("weighted=True: the graph has no weights; give weight=, a column's name")
    return opened


def refuse_negative(
    graph: GraphView, advice: str = "weights must be 0 or more: drop such edges"
) -> None:
    """Refuse a graph with negative weights; collective.

    Parameters
    ----------
    graph : GraphView
    advice : str
        The end of the error's message.

    Raises
    ------
    InputError
    """
    least = None if graph.weight is None else graph.least_edge_value(graph.weight)
    if least is not None and least[0] < 0:
        raise InputError(
            f"column {graph.weight!r}: the edge from {graph.describe_edge(least[1])} has the weight "
            f"{least[0]}; {advice}"
        )


def refuse_great(graph: GraphView, terms: float) -> float | None:
    """Refuse a graph with weights of which `terms` may add up to more than a float64; collective.

    Parameters
    ----------
    graph : GraphView
        Its weights are 0 or more.
    terms : float
        Bound of the number of weights in a sum.

    Returns
    -------
    float or None
        The greatest weight; None if there is none.

    Raises
    ------
    InputError
    """
    greatest = None if graph.weight is None else graph.greatest_edge_value(graph.weight)
    if greatest is None:
        return None
    if not math.isfinite(terms * float(greatest[0])):
        raise InputError(
            f"column {graph.weight!r}: the edge from {graph.describe_edge(greatest[1])} has the "
            f"weight {greatest[0]}; sums of such weights are more than a float64 holds; scale the "
            "weights down"
        )
    return float(greatest[0])


def refuse_checkpoints(options: RunOptions, subject: str) -> None:
    """Refuse options for checkpoints, of a function that has none.

    Parameters
    ----------
    options : RunOptions
    subject : str
        The function and a verb, such as "spanning trees have".

    Raises
    ------
    InputError
    """
    for name in ("checkpoint", "resume"):
        if options.get(name) is not None:
            raise InputError(f"{name}=: {subject} no checkpoints; leave it out")


def check_unreachable(unreachable: str) -> None:
    """Refuse an unknown value of `unreachable`, before work starts.

    Parameters
    ----------
    unreachable : str
        The caller's value.

    Raises
    ------
    InputError
        If it is neither "null" nor "max".
    """
    if not isinstance(unreachable, str) or unreachable not in ("null", "max"):
        raise InputError(f"unreachable={shown(unreachable)} is not known; choose 'null' or 'max'")
