"""Binds a program with vectors to a graph: types resolved, arguments checked."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.arguments import shown
from cugraph_ws.errors import InputError
from cugraph_ws.graph.view import GraphView
from cugraph_ws.program.binding import (
    argument_name,
    by_own_names,
    check_edge_values,
    constant_values,
    edge_columns,
    parameter_values,
    refuse_unknown,
    state_types,
)
from cugraph_ws.program.declarations import (
    Distribution,
    VectorType,
    VertexNumber,
    VertexValue,
)
from cugraph_ws.program.inference import Inference, Inferrer, message_type, remembered
from cugraph_ws.program.vector_codegen import VectorTypes
from cugraph_ws.program.vector_elements import ELEMENT, ELEMENTS, ElementLoops, Operand, Parts
from cugraph_ws.program.vector_program import VectorProgram, length_of
from cugraph_ws.runtime.parsing import parse

__all__ = ["BoundVectors", "bind_vectors"]

VECTOR = "vector of "  # begins the name of a vector's type


@dataclass
class BoundVectors:
    """A program with vectors with everything that it needs to run on one graph.

    Attributes
    ----------
    program : VectorProgram
    types : VectorTypes
        Its types on this graph.
    edge_columns : tuple of str or None
        For each declared edge attribute, the graph's attribute that provides it.
    constants : tuple of ndarray
        By position, of shape (size,), or (size, length) for a vector; or with one entry for all.
    values : tuple
        The run's parameters, as NumPy scalars.
    """

    program: VectorProgram
    types: VectorTypes
    edge_columns: tuple[str | None, ...]
    constants: tuple[npt.NDArray[Any], ...]
    values: tuple[Any, ...]

    def empty_state(self, xp: Any, size: int) -> tuple[Any, ...]:
        """Return an array of zeros for each state field, of shape (size,) or (size, length), of NumPy or CuPy."""
        shapes = [
            (size, length) if length else (size,)
            for length in map(length_of, self.program.state.values())
        ]
        kinds = map(np.dtype, self.types.state)
        return tuple(xp.zeros(shape, kind) for shape, kind in zip(shapes, kinds, strict=True))


def bind_vectors(
    program: VectorProgram, graph: GraphView, arguments: Mapping[str, Any]
) -> BoundVectors:
    """Resolve a program's types and arguments on a graph; collective.

    Parameters
    ----------
    program : VectorProgram
    graph : GraphView
    arguments : mapping
        The arguments of `run()` for the declared parameters, vertex values and vertex sets.

    Returns
    -------
    BoundVectors

    Raises
    ------
    InputError
        If an argument is missing, unknown, or not of the declared kind.
    ProgramError
        If a function does not compile, or returns what its declaration does not allow.
    """
    arguments = by_own_names(program, arguments)
    refuse_unknown(program, arguments)
    columns, kinds, missing = edge_columns(program, graph)
    state = state_types(program, kinds)
    weight = columns[0] if len(columns) == 1 else graph.weight
    by_name: dict[str, Any] = {}
    for name, declared in program.constants.items():
        by_name[name] = _constant(program, name, declared, graph, weight, arguments, by_name)
    constants = tuple(by_name.values())
    values = parameter_values(program, graph, arguments)
    check_edge_values(program, graph, columns, state)
    if program.validate is not None:
        given = zip((*program.constants, *program.parameters), (*constants, *values), strict=True)
        by_vertex = {
            name: value[: graph.owned] if np.shape(value)[:1] == (graph.length,) else value
            for name, value in given
        }
        program.validate(graph, by_vertex)
    parameters = tuple(value.dtype.name for value in values)
    constant_kinds = tuple(array.dtype.name for array in constants)
    message = _inferred(program, state, kinds, constant_kinds, parameters)
    vectors = tuple(kind.startswith(VECTOR) for kind in message.message)
    types = VectorTypes(
        state=state,
        constants=constant_kinds,
        uniform=tuple(array.shape[0] != graph.length for array in constants),
        edges=kinds,
        missing_edges=missing,
        parameters=parameters,
        message=tuple(kind.removeprefix(VECTOR) for kind in message.message),
        vectors=vectors,
        tuple_message=message.tuple_message,
    )
    return BoundVectors(program, types, columns, constants, values)


def _constant(
    program: VectorProgram,
    name: str,
    declared: Any,
    graph: GraphView,
    weight: str | None,
    arguments: Mapping[str, Any],
    known: Mapping[str, Any],
) -> Any:
    """Return the array of a vertex constant, by position; collective."""
    if isinstance(declared, VertexNumber):
        return np.asarray(
            graph.integer_ids(program.name, name) if declared.is_id else graph.positions
        )
    argument = argument_name(name, declared)
    if isinstance(declared, VertexValue) and isinstance(declared.type, VectorType):
        return _vectors(program, argument, declared, declared.type, graph, arguments)
    fallback = declared.default if isinstance(declared, Distribution) else None
    if fallback is not None and arguments.get(argument) is None:
        return known[fallback]
    return constant_values(program, argument, declared, graph, weight, arguments, on_device=False)


def _vectors(
    program: VectorProgram,
    argument: str,
    declared: VertexValue,
    kind: VectorType,
    graph: GraphView,
    arguments: Mapping[str, Any],
) -> npt.NDArray[Any]:
    """Return the vectors that are given for vertices, of shape (length, elements); collective."""
    given, default = arguments.get(argument), declared.default
    wanted = f"{program.name} needs {argument}=, a vector of {kind.length} numbers for each vertex"
    if given is None:
        if default is None:
            raise InputError(
                f"{wanted}: a frame of ids and {kind.length} columns, or the names of {kind.length} columns of the "
                "graph's vertex frame"
            )
        return np.full((graph.length, kind.length), default, kind.dtype)
    if isinstance(given, np.ndarray) and given.ndim == 2:
        if given.shape != (graph.length, kind.length) or given.dtype.kind not in "iufb":
            raise InputError(
                f"{argument}: the array is {given.dtype} of shape {given.shape}; {wanted}: give numbers of shape "
                f"{(graph.length, kind.length)}"
            )
        return np.ascontiguousarray(given).astype(kind.dtype, copy=False)
    named = isinstance(given, (list, tuple)) and all(isinstance(name, str) for name in given)
    names = list(given) if named else graph.value_columns(given, argument)
    if names is None:
        raise InputError(f"{argument}={shown(given)} has no columns; {wanted}")
    if len(names) != kind.length:
        raise InputError(f"{argument} has {len(names)} columns of numbers; {wanted}")
    vectors = np.empty((graph.length, kind.length), kind.dtype)
    for place, name in enumerate(names):
        data, column = (name, None) if named else (given, name)
        vectors[:, place] = graph.vertex_values(data, argument, kind.dtype, default, column)[0]
    return vectors


# --------------------------------------------------------------------------------- types


def _inferred(
    program: VectorProgram,
    state: tuple[str, ...],
    edges: tuple[str, ...],
    constants: tuple[str, ...],
    parameters: tuple[str, ...],
) -> Inference:
    """Infer the types of a message's parts, and check what functions return."""
    described = (
        "vectors", state, edges, constants, parameters, program.length, tuple(program.state),
        [length_of(declared) for declared in (*program.state.values(), *program.constants.values())],
        tuple(program.edges), tuple(program.constants), program.parameter_names, program.combine,
        repr(program.fold),
        [(key, source.text) for key, source in sorted(program.sources.items())],
    )  # fmt: skip
    return remembered(
        described, lambda: _Elements(program, state, edges, constants, parameters).run()
    )


class _Elements(Inferrer):
    """Infers the types of one program's functions, as they are compiled: an element stands for its vector."""

    program: VectorProgram
    gathered: Operand | list[Operand] = ("gathered", False)

    def run(self) -> Inference:
        """Infer all functions."""
        kinds, is_tuple = self.result("compute")
        folds = self.program.folds(len(kinds))
        if len(folds) != len(kinds):
            raise self.fail(
                "compute",
                f"returns {len(kinds)} parts, but {self.program.fold!r} folds {len(folds)}; return a part for each fold",
            )
        vectors = [kind.startswith(VECTOR) for kind in kinds]
        plain = [kind.removeprefix(VECTOR) for kind in kinds]
        kinds = tuple(
            "int64" if kind == "bool" else self.gathered_as(kind) for kind in plain
        )  # flags are counted
        self.given["gathered"] = message_type(kinds, is_tuple)
        parts = [
            (f"gathered[{place}]" if is_tuple else "gathered", vector)
            for place, vector in enumerate(vectors)
        ]
        self.gathered = parts if is_tuple else parts[0]
        self.check_others()
        named = zip(kinds, vectors, strict=True)
        return Inference(tuple(VECTOR * vector + kind for kind, vector in named), is_tuple)

    def names(self) -> dict[str, Operand | list[Operand]]:
        """Return the expressions for what functions read."""
        program = self.program
        fields = {**program.state, **program.constants}
        numbers = ["vertex", *(f"p.{name}" for name in program.parameter_names)]
        numbers += [f"edge.{name}" for name in program.edges]
        return {
            **{name: (name, False) for name in numbers},
            **{
                f"{record}.{name}": (f"{record}.{name}", bool(length_of(declared)))
                for record in ("src", "dst", "old", "new", "state", "own")
                for name, declared in fields.items()
            },
            "gathered": self.gathered,
        }

    def typed(
        self, name: str, text: str, argument_types: Sequence[Any]
    ) -> tuple[tuple[str, ...], bool]:
        """Infer what the loops over the elements of a function return; of a vector it begins with `VECTOR`."""
        program, source = self.program, self.program.sources[name]
        returned: list[list[bool]] = []

        def result(parts: Parts) -> list[str]:
            if parts is None:
                return ["raise ValueError"]
            returned.append([vector for _, vector in parts])
            several = "" if len(parts) == 1 else ","
            return [f"return ({', '.join(ast.unparse(node) for node, _ in parts)}{several})"]

        read = {key: value for key, value in self.names().items() if key.split(".")[0] in source.parameters}  # fmt: skip
        loops = ElementLoops(program.name, source, program.length, read, result)
        helpers = [ast.unparse(helper) for helper in parse(text).body[:-1]]
        head = f"def user_{name}({', '.join(source.parameters)}):\n    {ELEMENT}, {ELEMENTS} = 0, {program.length}"
        kinds, is_tuple = super().typed(
            name, "\n".join([*helpers, head, *loops.lines]), argument_types
        )
        vectors = [any(part) for part in zip(*returned, strict=False)]
        kinds = tuple(VECTOR * vector + kind for kind, vector in zip(kinds, vectors, strict=True))
        return kinds, is_tuple

    def check_kinds(
        self,
        name: str,
        fields: tuple[str, ...],
        kinds: tuple[str, ...],
        declared_kinds: tuple[str, ...],
    ) -> None:
        """Refuse a vector for a number, and a float for an integer; a number is one for all elements."""
        for field, kind in zip(fields, kinds, strict=True):
            if kind.startswith(VECTOR) and not length_of(self.program.state[field]):
                raise self.fail(
                    name,
                    f"returns a vector for `{field}`, which is a number; return one, such as np.sum(…), or declare "
                    f"`{field}` as a ws.vector",
                )
        numbers = tuple(kind.removeprefix(VECTOR) for kind in kinds)
        super().check_kinds(name, fields, numbers, declared_kinds)

    def result(self, name: str, *, scalar: bool = False) -> tuple[tuple[str, ...], bool]:
        """Return the types of what a function returns, and whether that is a tuple."""
        kinds, is_tuple = super().result(name, scalar=scalar)
        if scalar and kinds[0].startswith(VECTOR):
            raise self.fail(name, "returns a vector; return a number, such as np.max(…)")
        return kinds, is_tuple
