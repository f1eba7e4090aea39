"""A program with vectors as plain Python: the user's functions themselves, on NumPy's arrays.

Numbers of the source are float64 or int64 beside float32, as they are to the compiler; flags add up as integers.
"""

from __future__ import annotations

import ast
import types
from collections import namedtuple
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from cugraph_ws.errors import ProgramError
from cugraph_ws.program.declarations import no_message
from cugraph_ws.program.modules import fitting, plain_loop
from cugraph_ws.program.source import NO_MESSAGE, plain_function
from cugraph_ws.program.tables import CELL
from cugraph_ws.program.vector_binding import BoundVectors
from cugraph_ws.program.vector_codegen import LOOP, identity_of
from cugraph_ws.program.vector_program import length_of

__all__ = ["plain_vectors"]

STRONG = {bool: np.int64, int: np.int64, float: np.float64}
FOLDS: dict[str, Any] = {"sum": np.add, "min": np.fmin, "max": np.fmax}  # a NaN changes nothing


class Vector(np.ndarray[Any, Any]):
    """An array to which numbers of the source have the compiler's types."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Compute with float64 or int64 in the place of Python's numbers."""
        logical = ufunc.__name__.startswith("logical")
        arrays = [
            STRONG[type(part)](part) if type(part) in STRONG else np.asarray(part)
            for part in inputs
        ]
        if not logical:
            arrays = [part.astype(np.int64) if part.dtype == bool else part for part in arrays]
        result = getattr(ufunc, method)(*arrays, **options)
        return result.view(Vector) if isinstance(result, np.ndarray) and result.ndim else result


class Assignments(ast.NodeTransformer):
    """Makes `x += y` the assignment `x = x + y`: an array that `x` is would change elsewhere too."""

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.Assign:
        """Return the assignment, at the same place."""
        assert isinstance(node.target, ast.Name)  # writes to anything else are refused
        read = ast.copy_location(ast.Name(node.target.id, ast.Load()), node)
        value = ast.copy_location(ast.BinOp(read, node.op, node.value), node)
        return ast.copy_location(ast.Assign([node.target], value), node)


class _Plain:
    """The functions of `kernels/cpu/vector_interface.py` for one program."""

    def __init__(self, bound: BoundVectors) -> None:
        self.program, self.types = bound.program, bound.types
        program = self.program
        names = {"Edge": program.edge_fields, "Parameters": program.parameter_names}
        names["Vertex"] = (*program.state, *program.constants)
        names["Own"] = tuple(program.constants)
        self.records: dict[str, Any] = {name: namedtuple(name, of) for name, of in names.items()}
        space: dict[str, Any] = {NO_MESSAGE: no_message}
        exec(CELL, space)  # noqa: S102 - our own text
        self.functions = {
            key: plain_function(
                [(file, Assignments().visit(deepcopy(part))) for file, part in source.definitions],
                **space,
            )
            for key, source in program.sources.items()
        }
        self.folds = program.folds(len(self.types.message))
        self.fit = fitting(program, self.types)
        self.lengths = [length_of(declared) for declared in program.state.values()]

    def call(self, key: str, **arguments: Callable[[], Any]) -> Any:
        """Call one of the user's functions with the arguments that it takes."""
        return self.functions[key](
            *(arguments[name]() for name in self.program.sources[key].parameters)
        )

    def vertex(self, state: Sequence[Any], constants: Sequence[Any], place: int) -> Any:
        """Return a vertex as functions see it."""
        fields = [_entry(array[place]) for array in state]
        return self.records["Vertex"](*fields, *self.constants(constants, place))

    def constants(self, constants: Sequence[Any], place: int) -> list[Any]:
        """Return the constants of a vertex."""
        uniform = self.types.uniform
        return [
            _entry(array[0 if shared else place])
            for array, shared in zip(constants, uniform, strict=True)
        ]

    def p(self, values: Sequence[Any]) -> Any:
        """Return the parameters of the run."""
        return self.records["Parameters"](*values)

    def put(self, arrays: Sequence[Any], place: int, returned: Any) -> None:
        """Store a new state; refuse numbers that a field does not hold."""
        parts = returned if len(arrays) > 1 else (returned,)
        for field, (array, part) in enumerate(zip(arrays, parts, strict=True)):
            if not self.lengths[field]:
                array[place] = self.fit(field, part)
            elif array.dtype.kind == "f":
                array[place] = _of_length(self, part, self.lengths[field])
            else:
                elements = np.broadcast_to(part, self.lengths[field])
                array[place] = [self.fit(field, element) for element in elements]

    # ------------------------------------------------------------------ the interface

    def empty_message(self) -> Any:
        """Return a buffer for what a vertex gathers."""
        types_, length = self.types, self.program.length
        return tuple(
            np.empty(length if vector else 1, kind)
            for kind, vector in zip(types_.message, types_.vectors, strict=True)
        )

    def clear(self, gathered: Any) -> None:
        """Make what is gathered the identity."""
        for array, fold in zip(gathered, self.folds, strict=True):
            identity = identity_of(fold, array.dtype.name)
            array[:] = eval(identity, {"np": np})  # noqa: S307 - our own text

    def initial(self, state: Any, constants: Any, vertex: Any, number: Any, values: Any) -> None:
        """Store the first state of a vertex."""
        returned = self.call(
            "init",
            vertex=lambda: np.int64(number),
            own=lambda: self.records["Own"](*self.constants(constants, vertex)),
            p=lambda: self.p(values),
        )
        self.put(state, vertex, returned)

    def fold(
        self, gathered: Any, state: Any, constants: Any, source: Any, target: Any, edges: Any, arc: Any, values: Any
    ) -> bool:  # fmt: skip
        """Fold the message along an arc into what is gathered; return whether there is one."""
        sent = self.call(
            "compute",
            src=lambda: self.vertex(state, constants, source),
            dst=lambda: self.vertex(state, constants, target),
            edge=lambda: self.edge(edges, arc),
            p=lambda: self.p(values),
        )
        if sent is no_message:
            return False
        parts = sent if self.types.tuple_message else (sent,)
        for array, part, fold in zip(gathered, parts, self.folds, strict=True):
            FOLDS[fold](array, np.asarray(part).astype(array.dtype), out=array)
        return True

    def edge(self, edges: Any, arc: Any) -> Any:
        """Return an edge as functions see it."""
        types_ = self.types
        return self.records["Edge"](*[
            _entry(np.dtype(kind).type(missing) if missing is not None else array[arc])
            for array, kind, missing in zip(edges, types_.edges, types_.missing_edges, strict=True)
        ])  # fmt: skip

    def update(
        self, fresh: Any, state: Any, constants: Any, vertex: Any, gathered: Any, values: Any
    ) -> None:
        """Store the new state of a vertex."""
        parts = tuple(
            _entry(array.copy() if vector else array[0])
            for array, vector in zip(gathered, self.types.vectors, strict=True)
        )
        returned = self.call(
            "apply",
            old=lambda: self.vertex(state, constants, vertex),
            gathered=lambda: parts if self.types.tuple_message else parts[0],
            p=lambda: self.p(values),
        )
        self.put(fresh, vertex, returned)

    def keep(self, fresh: Any, state: Any, vertex: Any) -> None:
        """Store the present state of a vertex as the new one."""
        for new, old in zip(fresh, state, strict=True):
            new[vertex] = old[vertex]

    def is_active(self, state: Any, fresh: Any, constants: Any, vertex: Any, values: Any) -> bool:
        """Return whether the new state makes the vertex active."""
        if "active" not in self.program.functions:
            pairs = [(new[vertex], old[vertex]) for new, old in zip(fresh, state, strict=True)]
            return not all(
                np.all((new == old) | ((new != new) & (old != old))) for new, old in pairs
            )
        return bool(
            self.call(
                "active",
                old=lambda: self.vertex(state, constants, vertex),
                new=lambda: self.vertex(fresh, constants, vertex),
                p=lambda: self.p(values),
            )
        )

    def starts(self, state: Any, constants: Any, vertex: Any, values: Any) -> bool:
        """Return whether a vertex is active before the first superstep."""
        if "starts" not in self.program.functions:
            return True
        return bool(self.of_state("starts", state, constants, vertex, values))

    def of_state(self, key: str, state: Any, constants: Any, vertex: Any, values: Any) -> Any:
        """Call a function of a state."""
        return self.call(
            key,
            state=lambda: self.vertex(state, constants, vertex),
            p=lambda: self.p(values),
        )

    def change(self, state: Any, fresh: Any, vertex: Any) -> float:
        """Return the size of a vertex's change."""
        norm = self.program.residual
        if norm is None:
            return 0.0
        place = list(self.program.state).index(norm.field)
        sizes = abs(fresh[place][vertex].astype(np.float64) - state[place][vertex])
        return float(np.sum(sizes) if norm.kind == "l1" else np.max(sizes))

    def add_terms(self, state: Any, constants: Any, vertex: Any, values: Any, totals: Any) -> None:
        """Fold the vertex's terms of the aggregates into `totals`."""
        program = self.program
        for place, (key, fold) in enumerate(
            zip(program.aggregates, program.aggregate_folds, strict=True)
        ):
            term = np.float64(self.of_state(key, state, constants, vertex, values))
            if fold == "sum":
                totals[place] += term
            else:
                term = np.float64(bool(term)) if fold == "any" else term
                folded = np.fmin if fold == "min" else np.fmax
                totals[place] = folded(totals[place], term)


def _entry(value: Any) -> Any:
    """Return a number, or a row as a vector; int32 is only stored."""
    if value.dtype == np.int32:
        value = value.astype(np.int64)
    return value.view(Vector) if value.ndim else value


def _of_length(plain: _Plain, part: Any, length: int) -> Any:
    """Return a vector for a field; refuse one of another length."""
    if np.ndim(part) and len(part) != length:
        raise ProgramError(
            f"{plain.program.name} returns a vector of {len(part)} elements for a field of {length}; return as many"
        )
    return part


def plain_vectors(bound: BoundVectors) -> types.ModuleType:
    """Return a program's module as plain Python: the user's functions themselves.

    Parameters
    ----------
    bound : BoundVectors

    Returns
    -------
    module
        The same loops as in the compiled module.
    """
    plain, program = _Plain(bound), bound.program
    # Named as part of the package, since coverage selects files by the name of the module that runs them.
    module = types.ModuleType(f"cugraph_ws.python.{program.name}")
    interface = (
        "empty_message", "clear", "initial", "fold", "update", "keep", "is_active", "starts", "change", "add_terms",
    )  # fmt: skip
    module.__dict__.update(
        {name: getattr(plain, name) for name in interface},
        jit=lambda function: function,
        MASKED=not program.all_send,
        SILENT=program.hears_silence,
        AGGREGATES=len(program.aggregates),
    )
    exec(plain_loop(LOOP), module.__dict__)  # noqa: S102 - the library's own file
    return module
