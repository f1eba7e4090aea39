"""Binds a walk to a graph: types resolved, arguments checked."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cugraph_ws.errors import InputError, ProgramError
from cugraph_ws.graph.view import GraphView
from cugraph_ws.program.binding import (
    check_edge_values,
    edge_columns,
    parameter_values,
    refuse_unknown,
)
from cugraph_ws.program.codegen import loop_text
from cugraph_ws.program.inference import CompileError, Inference, Inferrer, remembered, scalar_type
from cugraph_ws.program.walk_codegen import ROWS, WalkTypes, walk_adaptors, walk_records
from cugraph_ws.program.walk_program import NEXT, WalkProgram

__all__ = ["BoundWalk", "bind_walk"]


@dataclass
class BoundWalk:
    """A walk with everything that it needs to run on one graph.

    Attributes
    ----------
    program : WalkProgram
    types : WalkTypes
        Its types on this graph.
    columns : tuple of str
        For each edge attribute that it reads, the graph's attribute that provides it.
    values : tuple
        The run's parameters, as NumPy scalars.
    """

    program: WalkProgram
    types: WalkTypes
    columns: tuple[str, ...]
    values: tuple[Any, ...]


def bind_walk(
    program: WalkProgram, graph: GraphView, arguments: Mapping[str, Any], *, plain: bool = False
) -> BoundWalk:
    """Resolve a walk's types and arguments on a graph; collective.

    Parameters
    ----------
    program : WalkProgram
    graph : GraphView
    arguments : mapping
        The arguments of `run()` for the walk's parameters.
    plain : bool
        Whether it runs as plain Python, and so need not compile.

    Returns
    -------
    BoundWalk

    Raises
    ------
    InputError
        If an argument is missing, unknown, or not of the declared kind; if the graph lacks an edge
        attribute, or one by which the walk draws edges is negative or not finite.
    ProgramError
        If the function does not compile, or does not return a whole number on every path.
    """
    refuse_unknown(program, arguments)
    columns, kinds, _ = edge_columns(program, graph)
    named = dict(zip(program.edges, map(str, columns), strict=True))
    finite = check_edge_values(program, graph, columns, ())
    for name in () if finite else program.weights:
        _refuse_infinite(program, graph, named[name])
    values = parameter_values(program, graph, arguments)
    types = WalkTypes(kinds, tuple(value.dtype.name for value in values))
    try:
        _check_result(program, types)
    except CompileError:
        if not plain:
            raise
    return BoundWalk(program, types, tuple(named.values()), values)


def _refuse_infinite(program: WalkProgram, graph: GraphView, column: str) -> None:
    """Refuse a column with an infinite value, by which edges are drawn."""
    greatest = graph.greatest_edge_value(column)
    if greatest is not None and not np.isfinite(greatest[0]):
        raise InputError(
            f"column {column!r} has the value {greatest[0]} on the edge {graph.describe_edge(greatest[1])}; "
            f"{program.name} draws edges in proportion to it: give finite numbers"
        )


def _check_result(program: WalkProgram, types_: WalkTypes) -> None:
    """Refuse a function that does not return an integer on every path."""
    described = ("walk", types_, program.weights, tuple(program.edges), program.sources[NEXT].text)
    found = remembered(described, lambda: _Walk(program, types_).run()).message
    if found != ("int64",):
        raise _Walk(program, types_).fail(
            NEXT, f"returns a {found[0]}; return the index of an edge, or -1 to end the walk"
        )


class _Walk(Inferrer):
    """Infers what a walk's function returns."""

    def __init__(self, program: WalkProgram, types_: WalkTypes) -> None:
        self.program: Any = program
        self.types = types_

    def run(self) -> Inference:
        """Infer the type of the result, from the text that is compiled."""
        program, records = self.program, walk_records(self.program)
        adaptors = f"{walk_adaptors(program, self.types)}\n\n{loop_text(ROWS)}"
        text = [
            "import collections",
            *(
                f"{name} = collections.namedtuple({name!r}, {names!r})"
                for name, names in records.items()
            ),
            program.sources[NEXT].text,
            adaptors.replace("@inline\n", ""),
        ]
        kinds, is_tuple = self.typed(NEXT, "\n\n".join(text), self._arguments(records))
        if is_tuple:
            raise self.fail(
                NEXT, "returns a tuple; return the index of an edge, or -1 to end the walk"
            )
        return Inference(kinds, False)

    def _arguments(self, records: Mapping[str, tuple[str, ...]]) -> list[Any]:
        """Return Numba's types of the function's arguments."""
        from numba.core import types

        def array(kind: str) -> Any:
            return types.Array(scalar_type(kind), 1, "C")

        rows = types.Tuple((array("int64"), array("int32"), types.int64))
        columns = types.Tuple(tuple(map(array, self.types.edges)))
        sums = types.Tuple((array("float64"),) * len(self.program.weights))
        parts = {
            "Walker": (types.int64,) * len(records["Walker"]),
            "Edges": (rows, columns, sums, array("int64"), types.int64, types.int64),
        }
        made = [
            types.NamedTuple(kinds, namedtuple(name, records[name]))
            for name, kinds in parts.items()
        ]
        return [*made, *map(scalar_type, self.types.parameters)]

    def fail(self, name: str, what: str) -> ProgramError:
        """Return the error for an invalid function."""
        return ProgramError(
            f"{self.program.name} ({self.program.sources[name].location}): "
            + what.replace("; return a number on every path", "; return -1 where the walk ends")
        )
