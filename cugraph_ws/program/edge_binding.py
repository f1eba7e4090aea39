"""Binds an edge program to a graph: types resolved, arguments checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cugraph_ws.errors import InputError, ProgramError
from cugraph_ws.graph.view import GraphView
from cugraph_ws.program.binding import (
    argument_name,
    by_own_names,
    check_edge_values,
    constant_values,
    edge_columns,
    parameter_values,
    refuse_unknown,
)
from cugraph_ws.program.declarations import Constant, Distribution, Parameter, VertexNumber
from cugraph_ws.program.edge_codegen import EdgeTypes
from cugraph_ws.program.edge_inference import infer_common, infer_pairs
from cugraph_ws.program.edge_program import EdgeProgram
from cugraph_ws.program.edge_trial import CORNERS, EdgeTrial
from cugraph_ws.program.inference import CompileError
from cugraph_ws.program.lowering import lowered
from cugraph_ws.program.snapshot import bound_before, keep_bound
from cugraph_ws.runtime.arrays import array_module, as_host
from cugraph_ws.runtime.warn import warn_caller

__all__ = ["BoundEdgeProgram", "bind_edges"]

Array = Any  # NumPy's or CuPy's


@dataclass
class BoundEdgeProgram:
    """An edge program with everything that it needs to run on one graph.

    Attributes
    ----------
    program : EdgeProgram
    types : EdgeTypes
        Its types on this graph.
    edge_columns : tuple of str
        For each declared edge attribute, the graph's attribute that provides it.
    constants : tuple of array
        One for each declared vertex constant: by owned vertex, in the order of their numbers, or
        with one entry for all.
    values : tuple
        The run's parameters, as NumPy scalars, and the number of vertices.
    """

    program: EdgeProgram
    types: EdgeTypes
    edge_columns: tuple[str, ...]
    constants: tuple[Array, ...]
    values: tuple[Any, ...]

    @property
    def counts(self) -> bool:
        """Whether the sum of the messages is the number of common neighbours times a constant integer."""
        types = self.types
        is_integer = not types.tuple_message and types.message == ("int64",)
        return self.program.combine == "sum" and is_integer and self.program.counts


def bind_edges(
    program: EdgeProgram,
    graph: GraphView,
    arguments: Mapping[str, Any],
    neighbours: Array,
    *,
    on_device: bool = False,
    plain: bool = False,
) -> BoundEdgeProgram:
    """Resolve a program's types and arguments on a graph; collective.

    Parameters
    ----------
    program : EdgeProgram
    graph : GraphView
    arguments : mapping
        The arguments of `run()` for the declared parameters, vertex values and vertex sets.
    neighbours : array of int64, shape (owned,)
        The number of distinct neighbours of each owned vertex.
    on_device : bool
        Whether vertex constants are placed on the device.
    plain : bool
        Whether it runs as plain Python.  Then the types of functions that do not compile are those
        that a trial returns.

    Returns
    -------
    BoundEdgeProgram

    Raises
    ------
    InputError
        If an argument is missing, unknown, or not of the declared kind.
    ProgramError
        If a function fails, or returns what its declaration does not allow.
    """
    arguments = by_own_names(program, arguments)
    refuse_unknown(program, arguments)
    columns, _, _ = edge_columns(program, graph)
    _refuse_first(program, graph)
    state = tuple(declared.type.name for declared in program.state.values())  # type: ignore[union-attr]
    check_edge_values(program, graph, columns, state)
    xp = array_module(on_device)
    binds_on_device = on_device and graph.binds_on_device
    by_name: dict[str, tuple[Array, bool]] = {}
    for name, declared in program.constants.items():
        argument = argument_name(name, declared)
        fallback = declared.default if isinstance(declared, Distribution) else None
        if isinstance(declared, Constant) and declared.source == "neighbour_count":
            if arguments.get(argument) is not None:
                raise InputError(
                    f"{argument}: {program.name} counts the neighbours in the graph; leave it out"
                )
            by_name[name] = neighbours, False
        elif isinstance(declared, VertexNumber):
            numbers = graph.integer_ids(program.name, name) if declared.is_id else graph.positions
            by_name[name] = xp.asarray(numbers[: graph.owned]), False
        elif fallback is not None and arguments.get(argument) is None:
            by_name[name] = by_name[fallback]
        else:
            weight = columns[0] if len(columns) == 1 else graph.weight
            array = constant_values(
                program, argument, declared, graph, weight, arguments, on_device=binds_on_device
            )
            uniform = array.shape != (graph.length,)
            array = array if uniform else array[: graph.owned]
            by_name[name] = xp.asarray(array if binds_on_device else as_host(array)), uniform
    constants = tuple(array for array, _ in by_name.values())
    uniforms = tuple(uniform for _, uniform in by_name.values())
    values = parameter_values(program, graph, arguments)
    kinds = tuple(np.dtype(array.dtype).name for array in constants)
    telling = tuple(
        value
        for value, declared in zip(values, program.parameters.values(), strict=True)
        if isinstance(declared, Parameter)
    )
    key = (state, kinds, uniforms, telling, plain)
    types = bound_before(program, key, graph)
    declared_program, parameters = program, tuple(value.dtype.name for value in values)
    program = _without_fold(program, state, kinds, parameters)
    if types is None:
        shown = [as_host(array[:CORNERS]) for array in constants]
        parts = graph.comm.alltoall([shown] * graph.comm.size)
        examples = [np.concatenate(pieces) for pieces in zip(*parts, strict=True)]
        edges = [arc.edge for arc in graph.examples((), list(map(str, columns)))]
        trial = EdgeTrial(program, state, examples, edges, values, graph.number_of_vertices)
        try:
            inferred = infer_pairs(program, state, kinds, parameters)
        except ProgramError as error:
            if not (plain and isinstance(error, CompileError)):
                raise trial.pair_complaint() or error from error
            inferred = trial.pair_types()
        doubt = trial.pair_doubt(inferred) if program.combine == "custom" else None
        if doubt is not None and graph.comm.rank == 0:
            warn_caller(f"{doubt}; ws.check compares runs of the program with its definition")
        types = EdgeTypes(
            state, kinds, uniforms, parameters, inferred.message, inferred.tuple_message
        )
    keep_bound(declared_program, key, graph, types)
    everyone = np.int64(graph.number_of_vertices)
    return BoundEdgeProgram(
        program, types, tuple(map(str, columns)), constants, (*values, everyone)
    )


def _without_fold(
    program: EdgeProgram,
    state: tuple[str, ...],
    constants: tuple[str, ...],
    parameters: tuple[str, ...],
) -> EdgeProgram:
    """Return a program whose fold is written out as a combine, if it has one."""
    if program.fold is None:
        return program
    messages = infer_common(program, state, constants, parameters)
    kinds, is_tuple = messages.message, messages.tuple_message
    made: EdgeProgram = program.memory.recall(
        ("lowered", kinds, is_tuple), lambda: lowered(program, kinds, is_tuple=is_tuple)
    )
    return made


def _refuse_first(program: EdgeProgram, graph: GraphView) -> None:
    """Refuse the first of edges that may go in both directions."""
    if "first" in program.parallel and graph.directed and program.neighbours == "any":
        name = [*program.edges][program.parallel.index("first")]
        raise ProgramError(
            f"{program.name}.{name}: edges in both directions between two vertices have no first one; declare "
            'neighbours = "out", or parallel="min"'
        )
