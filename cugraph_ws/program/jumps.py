"""Jumps of a vertex program: fields read at the vertex that a pointer names, and folded over pointers.

A state field that holds vertex numbers is a pointer.  `at` reads a field of the vertex that the
pointer names.  `least_at`, `greatest_at` and `sum_at` fold a field over the vertices whose pointers
name this one.  All are computed before each superstep, from the states after the previous one, and
functions read them as constants of a vertex.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cugraph_ws.errors import ProgramError
from cugraph_ws.program.declarations import Jump, ScalarType

if TYPE_CHECKING:
    from cugraph_ws.program.vertex_program import VertexProgram

__all__ = ["at", "check_jumps", "greatest_at", "jump_kind", "least_at", "nothing_of", "sum_at"]


def at(field: str, pointer: str, default: float = 0) -> Any:
    """Declare that a program reads a state field of another vertex.

    Parameters
    ----------
    field : str
        The state field.
    pointer : str
        A state field of an integer type; the number of the vertex, or -1 for none.
    default : float
        Value if the pointer is -1.

    Returns
    -------
    Jump
        The declaration.  `compute` reads it from `src`, `apply` and `active` from `old`.  With a jump,
        all vertices send in every superstep, and `apply` is also called for vertices without messages,
        as with ``contributors = "all"``.  A pointer that is neither -1 nor the number of a vertex ends
        the run with an error.

    Examples
    --------
    >>> import cugraph_ws as ws
    >>> @ws.vertex_program
    ... class Roots:
    ...     '''The root of the tree that each vertex is in, by pointer jumping.'''
    ...     parent: ws.vertex_id
    ...     above = ws.vertex_value(ws.int64)
    ...     grand: int = ws.at("parent", "parent")
    ...     def init(vertex, own): return own.above
    ...     def compute(src): return src.parent
    ...     combine = min
    ...     def apply(old): return old.grand
    >>> import pandas as pd
    >>> chain = pd.DataFrame({"source": ["b", "c", "d"], "destination": ["a", "b", "c"]})
    >>> first = {"a": 0, "b": 0, "c": 1, "d": 2}
    >>> ws.run(Roots, chain, above=first).frame["parent"].tolist()
    ['a', 'a', 'a', 'a']
    """
    return Jump("at", field, pointer, default)


def least_at(field: str, pointer: str) -> Any:
    """Declare the least value of a field over the vertices whose pointers name this one.

    Parameters
    ----------
    field : str
        The state field.
    pointer : str
        A state field of an integer type: the number of a vertex, or -1 for none.

    Returns
    -------
    Jump
        The declaration; see `at`.  If no vertex names this one, it is inf, the greatest int64 or
        True.  NaN counts as no value.

    Examples
    --------
    When was the oldest member of each team born?  A team is a person and all below:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> @ws.vertex_program
    ... class Oldest:
    ...     boss: ws.vertex_id
    ...     oldest: ws.int64
    ...     me: ws.vertex_number
    ...     born = ws.vertex_value(ws.int64)
    ...     below = ws.least_at("oldest", "boss")
    ...     combine = max  # of one message: that of the boss
    ...
    ...     def init(own):
    ...         return -1, own.born
    ...
    ...     def compute(src):
    ...         return src.me
    ...
    ...     def apply(old, gathered):
    ...         return max(gathered, -1), min(old.born, old.below)
    >>> leads = pd.DataFrame({"source": ["ann", "ann", "cat"], "destination": ["bob", "cat", "dan"]})
    >>> born = {"ann": 1980, "bob": 1990, "cat": 1985, "dan": 1970}
    >>> ws.run(Oldest, leads, born=born).frame["oldest"].tolist()
    [1970, 1990, 1970, 1970]
    """
    return Jump("least", field, pointer)


def greatest_at(field: str, pointer: str) -> Any:
    """Declare the greatest value of a field over the vertices whose pointers name this one.

    Parameters
    ----------
    field, pointer : str
        See `least_at`.

    Returns
    -------
    Jump
        The declaration; see `at`.  If no vertex names this one, it is -inf, the least int64 or
        False.  NaN counts as no value.

    Examples
    --------
    The height of each branch of a family tree: 0 without children, else one more than the
    greatest of theirs.

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> @ws.vertex_program
    ... class Height:
    ...     parent: ws.vertex_id
    ...     height: ws.int64
    ...     me: ws.vertex_number
    ...     of_children = ws.greatest_at("height", "parent")
    ...     combine = max  # of one message: that of the parent
    ...
    ...     def init():
    ...         return -1, 0
    ...
    ...     def compute(src):
    ...         return src.me
    ...
    ...     def apply(old, gathered):
    ...         return max(gathered, -1), 1 + max(old.of_children, -1)
    >>> tree = pd.DataFrame({"source": ["ann", "ann", "cat"], "destination": ["bob", "cat", "dan"]})
    >>> ws.run(Height, tree).frame["height"].tolist()
    [2, 0, 1, 0]
    """
    return Jump("greatest", field, pointer)


def sum_at(field: str, pointer: str) -> Any:
    """Declare the sum of a field over the vertices whose pointers name this one.

    Parameters
    ----------
    field, pointer : str
        See `least_at`.

    Returns
    -------
    Jump
        The declaration; see `at`.  Sums of integers, and counts of True, are int64.  Floats are added
        as float64, in the order of the vertices' numbers.

    Examples
    --------
    How many people are in each team, which is a person and all below?

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> @ws.vertex_program
    ... class Teams:
    ...     boss: ws.vertex_id
    ...     people: ws.int64
    ...     me: ws.vertex_number
    ...     below = ws.sum_at("people", "boss")
    ...     combine = max  # of one message: that of the boss
    ...
    ...     def init():
    ...         return -1, 1
    ...
    ...     def compute(src):
    ...         return src.me
    ...
    ...     def apply(old, gathered):
    ...         return max(gathered, -1), 1 + old.below
    >>> leads = pd.DataFrame({"source": ["ann", "ann", "cat"], "destination": ["bob", "cat", "dan"]})
    >>> ws.run(Teams, leads).frame.tail(3).to_dict("list")
    {'vertex': ['bob', 'cat', 'dan'], 'boss': ['ann', 'ann', 'cat'], 'people': [1, 2, 1]}
    """
    return Jump("sum", field, pointer)


def check_jumps(program: VertexProgram) -> None:
    """Check a program's jumps, and make all vertices send in every superstep.

    Parameters
    ----------
    program : VertexProgram

    Raises
    ------
    ProgramError
        If a jump names no state field, or the program has a setting that jumps exclude.
    """
    if not program.jumps:
        return
    name = next(iter(program.jumps))
    because = f"`{name}` is read at another vertex before each superstep, so"
    excluded = {
        "asynchronous = True": program.asynchronous,
        "in_place = True": program.in_place is True,
        "contributors = 'active'": program.contributors == "active",
        "combine = any": program.combine == "any",
    }
    for what, asked in excluded.items():
        if asked:
            raise ProgramError(
                f"{program.name}: {because} all vertices gather from all, in supersteps; leave out {what}"
            )
    if program.predecessor is not None:
        raise ProgramError(
            f"{program.name}: {because} no predecessor is found afterwards; leave out "
            f"`{program.predecessor}`"
        )
    for name, declared in program.jumps.items():
        for field in (declared.field, declared.pointer):
            if field not in program.state:
                raise ProgramError(
                    f"{program.name}.{name} reads `{field}`, which is not a state field; fields: "
                    f"{', '.join(program.state)}"
                )
        kind = program.state[declared.pointer].type
        if not isinstance(kind, ScalarType) or kind.dtype.kind != "i":
            raise ProgramError(
                f"{program.name}.{name}: `{declared.pointer}` names vertices and is {kind!r}; declare "
                "it as ws.vertex_id, ws.int64 or ws.int32"
            )
    program.contributors = "all"


def jump_kind(program: VertexProgram, name: str, kind: str) -> str:
    """Return the type in which functions see a jump.

    Parameters
    ----------
    program : VertexProgram
    name : str
        The jump.
    kind : str
        NumPy's name of the field's type.

    Returns
    -------
    str

    Raises
    ------
    ProgramError
        If the default is not a value of the field's type.
    """
    declared, dtype = program.jumps[name], np.dtype(kind)
    if declared.fold == "at":
        default = declared.default
        with np.errstate(all="ignore"):
            try:
                fits = bool(dtype.type(default) == default or dtype.kind == "f")
            except (OverflowError, ValueError, TypeError):
                fits = False
        if not fits:
            raise ProgramError(
                f"{program.name}.{name}: default={default!r} is not a value of `{declared.field}`, "
                f"which is {kind}"
            )
        return kind
    if dtype.kind == "f":
        return "float64" if declared.fold == "sum" else kind
    return "bool" if kind == "bool" and declared.fold != "sum" else "int64"


def nothing_of(fold: str, dtype: np.dtype[Any]) -> Any:
    """Return the value of a fold over no vertices.

    Parameters
    ----------
    fold : {"least", "greatest", "sum"}
    dtype : dtype
        Dtype of the fold.

    Returns
    -------
    scalar
    """
    if fold == "sum":
        return dtype.type(0)
    least = fold == "least"
    if dtype.kind == "b":
        return np.bool_(least)
    if dtype.kind == "f":
        return dtype.type(np.inf if least else -np.inf)
    limits = np.iinfo(dtype)
    return dtype.type(limits.max if least else limits.min)
