"""What to write in the body of a program's class instead of what is no declaration and no `combine`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, get_origin

import numpy as np

from cugraph_ws.arguments import shown
from cugraph_ws.program import combines, declarations, lists

__all__ = ["name_of", "of_annotation", "of_combine"]

_TYPES: dict[Any, str] = {
    bool: "ws.boolean", int: "ws.int64", float: "ws.float64", np.bool_: "ws.boolean",
    np.int32: "ws.int32", np.int64: "ws.int64", np.float32: "ws.float32", np.float64: "ws.float64",
}  # fmt: skip
# What is written with parentheses, and how
_CALLED: dict[Callable[..., Any], str] = {
    combines.bitset: "ws.bitset(32)",
    combines.first_by: "ws.first_by('x')",
    combines.histogram: "ws.histogram(4)",
    combines.top: "ws.top(3)",
    declarations.edge: "ws.edge(ws.float64)",
    declarations.edge_state: "ws.edge_state(ws.float64)",
    declarations.hidden: "ws.hidden(ws.float64)",
    declarations.like: "ws.like('weight')",
    declarations.nullable: "ws.nullable(ws.float64, math.inf)",
    declarations.parameter: "ws.parameter(ws.float64)",
    declarations.vector: "ws.vector(ws.float64, 3)",
    declarations.vertex_value: "ws.vertex_value(ws.float64)",
    lists.mode: "ws.mode()",
}
_FOLDS = {  # by the name of a function of Python or NumPy that takes all values
    **dict.fromkeys(("sum", "add", "nansum", "fsum"), "sum"),
    **dict.fromkeys(("min", "amin", "nanmin", "minimum", "fmin"), "min"),
    **dict.fromkeys(("max", "amax", "nanmax", "maximum", "fmax"), "max"),
    **dict.fromkeys(("any", "logical_or"), "any"),
    **dict.fromkeys(("all", "logical_and"), "min"),
    "mode": "ws.mode()",
}
_ALL_AT_ONCE = (
    "define gather_list(old, messages, p) in its place, which sees all messages of a vertex"
)
_LIBRARIES = ("builtins", "math", "numpy", "statistics", "pandas", "polars", "scipy", "itertools")


def name_of(value: Any) -> str:
    """Return a value as errors show it: functions and types by their names as users write them."""
    if value in (_CALLED if getattr(value, "__hash__", None) else ()):
        return f"ws.{value.__name__}"
    module, name = getattr(value, "__module__", ""), getattr(value, "__qualname__", "")
    if not name:
        return shown(value)
    if module.startswith("cugraph_ws"):
        return f"ws.{name}"
    return name if module == "builtins" else f"{module}.{name}"


def of_annotation(name: str, value: Any) -> str:
    """Return how to declare what is annotated with something that is no declaration, after "declare it"."""
    is_hashable = getattr(value, "__hash__", None) is not None
    if is_hashable and value in _TYPES:
        return f"as {_TYPES[value]}"
    if is_hashable and value in _CALLED:
        return f"with parentheses, as in `{name} = {_CALLED[value]}`"
    if value in (list, tuple, np.ndarray) or get_origin(value) in (list, tuple, np.ndarray):
        return f"as a vector of numbers, as in `{name} = ws.vector(ws.float64, 3)`"
    return (
        "with one of ws.float32, ws.float64, ws.int32, ws.int64, ws.boolean, ws.vertex_id, "
        "ws.edge(…), ws.vertex_value(…), ws.parameter(…), ws.vertex_parameter"
    )


def of_combine(combine: Any) -> str:
    """Return what is wrong with a `combine` that does not fold two messages; empty if it may.

    Parameters
    ----------
    combine : callable or str
    """
    if isinstance(combine, str):
        name, module, text = combine, "builtins", shown(combine)
    else:
        if combine in _CALLED:
            return f"is {name_of(combine)} without parentheses; write combine = {_CALLED[combine]}"
        name = getattr(combine, "__name__", type(combine).__name__)
        module = str(getattr(combine, "__module__", None) or type(combine).__module__)
        text = name
    if module.partition(".")[0] in _LIBRARIES:
        if name in _FOLDS:
            kind = "text" if isinstance(combine, str) else "a function of arrays"
            return f"is {kind}; write combine = {_FOLDS[name]}"
        if name in ("mean", "average", "nanmean", "fmean"):
            return (
                f"is {text}, and an average cannot be made of two averages; return (message, 1.0) from compute, write "
                "combine = sum, and divide in apply: total, count = gathered; return total / count if count else old"
                ".<field>"
            )
        if name in ("prod", "multiply", "mul"):
            return f"is {text}; define combine(a, b) that returns a * b, and identity = 1.0"
        if name in ("len", "count", "Counter"):
            return f"is {text}; to count messages, return 1 from compute, and write combine = sum"
        return (
            f"is {text}; set it to sum, min, max, any, or define combine(a, b) of two messages with `identity`, or "
            f"{_ALL_AT_ONCE}"
        )
    try:
        parameters = inspect.signature(combine).parameters.values()
    except (TypeError, ValueError):
        return ""
    if len([one for one in parameters if one.default is one.empty]) == 1:
        return f"takes one argument; write it as combine(a, b), of two messages, with `identity`, or {_ALL_AT_ONCE}"
    return ""
