"""The warning of NaN in the result of a user's program: 0/0 or inf - inf, which no operation reports.

Input has no NaN: it is refused in weights, edge attributes and parameters.  So NaN in a result is the program's own
doing, and meant if the program says so: a field is `ws.nullable(..., math.nan)`, a vertex value has the default NaN,
or one of its functions names `nan` or `isnan`.  Infinities are legitimate, such as distances.  The library's own
programs never warn.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from cugraph_ws.graph.view import GraphView
from cugraph_ws.program.declarations import ScalarType, VertexValue
from cugraph_ws.program.edge_program import EdgeProgram
from cugraph_ws.program.phases import Phases, programs_of
from cugraph_ws.program.vertex_program import VertexProgram
from cugraph_ws.runtime.arrays import all_true, as_host
from cugraph_ws.runtime.warn import warn_caller

__all__ = ["warn_of_nan"]

NAMES_NAN = re.compile(r"\b(is)?nan\b", re.IGNORECASE)


def warn_of_nan(
    program: VertexProgram | Phases | EdgeProgram, state: Mapping[str, Any], graph: GraphView
) -> None:
    """Warn if visible fields of a user's program are NaN where it does not say so; collective.

    Parameters
    ----------
    program : VertexProgram, Phases or EdgeProgram
    state : mapping of array, shape (n, …)
        Its fields, by vertex; of an edge program by pair.
    graph : GraphView
        The graph, or a shard.
    """
    programs = programs_of(program)
    if all(member.built_in for member in programs):
        return
    fields = [
        name
        for name, declared in program.state.items()
        if declared.visible
        and state[name].dtype.kind == "f"
        and not (declared.null is not None and math.isnan(declared.null))
    ]
    if not fields or any(map(_expects_nan, programs)):
        return
    with_nan = [not _is_free_of_nan(state[name]) for name in fields]
    if not graph.any_rank(any(with_nan)):
        return
    own: dict[str, tuple[int, str]] = {}
    for name, has_nan in zip(fields, with_nan, strict=True):
        if has_nan:
            nan = np.isnan(as_host(state[name]))
            rows = np.flatnonzero(nan.any(axis=1) if nan.ndim > 1 else nan)
            first = int(rows[0])
            is_pair = isinstance(program, EdgeProgram)
            own[name] = len(rows), str(first) if is_pair else graph.describe(first)
    ranks: list[dict[str, tuple[int, str]]] = graph.comm.allgather(own)
    if graph.comm.rank:
        return
    rows_are = "pair" if isinstance(program, EdgeProgram) else "vertex"
    for name in fields:
        found = [one[name] for one in ranks if name in one]
        if found:
            count, example = sum(number for number, _ in found), found[0][1]
            warn_caller(_message(program, name, count, rows_are, example))


def _message(program: Any, name: str, count: int, rows_are: str, example: str) -> str:
    where = f"{rows_are} {example}"
    if count > 1:
        plural = "pairs" if rows_are == "pair" else "vertices"
        where = f"{count:,} {plural}, such as {where}"
    remedy = ""
    if isinstance(program.state[name].type, ScalarType):
        remedy = f"; if NaN means 'none', declare {name}: ws.nullable({program.state[name].type!r}, math.nan)"
    return (
        f"{program.name}: `{name}` is NaN at {where}: the program computes 0/0, inf - inf or 0 * inf; "
        f"test for it, as in `a / b if b != 0 else 0.0`{remedy}"
    )


def _expects_nan(program: Any) -> bool:
    """Return whether a program says that values may be NaN."""
    return any(
        isinstance(value, VertexValue) and value.default is not None and math.isnan(value.default)
        for value in program.constants.values()
    ) or any(NAMES_NAN.search(source.text) for source in program.sources.values())


def _is_free_of_nan(values: Any) -> bool:
    """Return whether an array has no NaN: one pass, without a mask on a CPU."""
    if isinstance(values, np.ndarray):
        return not values.size or not np.isnan(values.min())
    return all_true(values >= -math.inf)
