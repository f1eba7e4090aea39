"""What to write in a function of a program instead of what it cannot do."""

from __future__ import annotations

import ast
import builtins
import difflib
import sys
from collections.abc import Collection, Mapping
from typing import Any

__all__ = [
    "NO_STATEMENTS",
    "of_builtin",
    "of_exception",
    "of_field",
    "of_method",
    "of_name",
    "of_other_module",
    "of_outer_value",
    "of_returned",
]

_OF_NUMBERS = "a program has numbers and tuples of numbers only"
NO_STATEMENTS: dict[type[ast.AST], str] = {
    ast.Global: "declares a global; functions only return values, and @ws.aggregate sums over all vertices",
    ast.Nonlocal: "declares a nonlocal; functions only return values, and @ws.aggregate sums over all vertices",
    ast.Delete: "deletes something; leave it out",
    ast.Import: "imports; import at the top of the file",
    ast.ImportFrom: "imports; import at the top of the file",
    ast.With: "enters a context; leave it out",
    ast.Try: "catches exceptions, and no operation raises one; test values before, as in `1 / x if x != 0 else 0.0`",
    ast.Raise: "raises; check the input before the run, or return a number that stands for the error",
    ast.Yield: "yields; return one message",
    ast.YieldFrom: "yields; return one message",
    ast.Await: "awaits; leave it out",
    ast.Lambda: "makes a function; define it beside the program",
    ast.ListComp: f"makes a list; {_OF_NUMBERS}: write a loop",
    ast.DictComp: f"makes a dict; {_OF_NUMBERS}",
    ast.SetComp: f"makes a set; {_OF_NUMBERS}",
    ast.GeneratorExp: f"makes a generator; {_OF_NUMBERS}: write a loop",
    ast.List: f"makes a list; {_OF_NUMBERS}: write (a, b)",
    ast.Dict: f"makes a dict; {_OF_NUMBERS}: write (a, b)",
    ast.Set: f"makes a set; {_OF_NUMBERS}: write (a, b), or x == 1 or x == 2",
    ast.JoinedStr: "makes a string; only numbers are allowed",
    ast.Starred: "unpacks with *; name the parts",
    ast.ClassDef: "defines a class; define functions beside the program",
    ast.Match: "matches patterns; write if and elif",
    ast.Assert: "asserts; check the input before the run, or test values and return a number",
}
_RANDOM = "p.random() is a random number from 0 to less than 1, and p.random_integer(n) an integer below n"


def of_method(called: ast.Attribute, outer: Mapping[str, Any]) -> str:
    """Return what is wrong with a call of a method.

    Parameters
    ----------
    called : ast.Attribute
    outer : mapping of str to object
        The names that a function reads.
    """
    text = ast.unparse(called)
    base: ast.expr = called
    while isinstance(base, ast.Attribute):
        base = base.value
    if isinstance(base, ast.Name):
        kind = type(outer.get(base.id)).__module__
        if ".random." in f".{text}." or kind.startswith(("random", "numpy.random")):
            return f"calls `{text}`; {_RANDOM}"
        if base.id not in outer and base.id in ("math", "np", "numpy", "random", "ws"):
            as_np = "import numpy as np" if base.id == "np" else f"import {base.id}"
            line = "import cugraph_ws as ws" if base.id == "ws" else as_np
            return f"`{base.id}` is not defined; write `{line}` at the top of the file"
    return f"calls the method `{text}`; use a function, such as math.sqrt(x), or an operator"


def of_other_module(text: str) -> str:
    """Return what is wrong with an attribute of a module other than math and NumPy."""
    if text.startswith("random."):
        return f"uses `{text}`; {_RANDOM}"
    return (
        f"uses `{text}`; of other modules and classes only numbers and tables of numbers are allowed: read it before "
        "the run, and give it as a ws.parameter"
    )


def of_builtin(name: str, allowed: Collection[str]) -> str:
    """Return what is wrong with a builtin that programs do not have."""
    if name in ("sum", "any", "all", "sorted", "list"):
        return (
            f"uses `{name}`; messages are combined before `apply`, by `combine`: write combine = sum, min, max or any, "
            "or define gather_list(old, messages, p), in which a loop may read messages"
        )
    return f"uses `{name}`; of Python's builtins only {', '.join(sorted(allowed))} are allowed"


def of_name(name: str, known: Collection[str]) -> str:
    """Return what is wrong with a name that has no value."""
    if name in ("math", "random", "statistics", *sys.stdlib_module_names) and not hasattr(
        builtins, name
    ):
        return f"`{name}` is not defined; write `import {name}` at the top of the file"
    close = difflib.get_close_matches(name, known, 1, cutoff=0.75)
    hint = f"did you mean `{close[0]}`?" if close else "define it above the class"
    return f"`{name}` is not defined; {hint}"


def of_field(name: str) -> str:
    """Return what to do about a field of a vertex that is not declared."""
    if name in ("id", "index", "key", "node", "number", "vertex"):
        return "; declare `number: ws.vertex_number`, from 0"
    if name in ("deg", "degree"):
        return "; declare `out_degree: ws.out_degree`, or `in_degree: ws.in_degree`"
    if name in ("edges", "neighbors", "neighbours", "nbrs", "out_edges", "successors"):
        return "; each neighbour sends what compute returns of it, and `gathered` is what combine makes of these"
    return f"; a field of the state is declared, as in `{name}: ws.float64`"


def of_outer_value(value: Any) -> str:
    """Return what to do with an outer value that no function can read."""
    if hasattr(value, "to_frame") or hasattr(value, "columns") or isinstance(value, dict):
        return (
            "; values of vertices are declared, as in `x = ws.vertex_value(ws.float64)`, and given to run(), as "
            "x=a frame, a dict or a column's name"
        )
    if isinstance(value, (set, frozenset)):
        return "; sets of vertices are declared, as in `seeds: ws.vertex_set`, and given to run()"
    return ""


def of_exception(error: Exception, text: str) -> str:
    """Return what to do about an exception that a function raised when it was tried.

    Parameters
    ----------
    error : Exception
    text : str
        Its text.
    """
    if text.endswith("object is not iterable"):
        return "; it is one number: messages are combined before, by `combine`"
    if isinstance(error, IndexError) and "scalar" in text:
        return "; it is one number, not a list: messages are combined before, by `combine`"
    if "'Vertex'" in text or "to tuple" in text or "'Edge'" in text:
        return "; an argument such as `src` is no number: read one of its fields, as in src.x"
    return ""


def of_returned(value: Any) -> str:
    """Return what is wrong with a returned value that is no number."""
    if value is None:
        return "returns None on some path; return a number on every path"
    if hasattr(value, "shape"):
        return f"returns {value!r}, an array; return a number, such as `a if x > 0 else b` instead of np.where"
    return f"returns {value!r}, a {type(value).__name__}; return a number"
