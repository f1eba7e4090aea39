"""Tries out a vertex program: its functions as plain Python, on values that occur in a graph.

A trial never refuses a program that compiles.  It says why one does not compile, gives the types of one
that runs as plain Python only, and doubts a `combine` or an `asynchronous` that is plainly not what it
is declared to be.  A few values prove nothing: `ws.check` compares whole runs.
"""

from __future__ import annotations

import itertools
import math
import traceback
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from cugraph_ws.errors import ProgramError
from cugraph_ws.graph.view import Examples
from cugraph_ws.program.budget import OutOfSteps, limited
from cugraph_ws.program.inference import Inference
from cugraph_ws.program.infinity import INFINITY, STORED, plain_functions
from cugraph_ws.program.lists import Messages
from cugraph_ws.program.randomness import DRAWING, NUMBER
from cugraph_ws.program.remedies import of_exception, of_returned
from cugraph_ws.program.source import plain_function
from cugraph_ws.program.vertex_program import VertexProgram

__all__ = ["MESSAGES", "Trial", "wide"]

STEPS = 10_000  # passes through loops after which a call is given up
MESSAGES = 6  # messages of which all triples are combined


def _record(name: str, fields: Iterable[str]) -> Callable[..., Any]:
    """Make a named tuple with fields that are known only at run time."""
    kind: Callable[..., Any] = namedtuple(name, tuple(fields))  # type: ignore[misc]
    return kind


class Trial:
    """Runs a program's functions as plain Python, each call under a budget of steps.

    Parameters
    ----------
    program : VertexProgram
        The program.
    state : tuple of str
        NumPy type names of state fields.
    values : tuple
        The run's parameters.
    vertices : int
        Number of vertices.
    """

    def __init__(
        self,
        program: VertexProgram,
        state: tuple[str, ...],
        values: tuple[Any, ...],
        vertices: int,
    ) -> None:
        self.program = program
        self.state = tuple(np.dtype(kind) for kind in state)
        self.Vertex = _record("Vertex", (*program.state, *program.constants))
        self.Edge = _record("Edge", program.edge_fields)
        self.Own = _record("Own", program.constants)
        parameters = _record("Parameters", program.parameter_names)
        known = dict(zip(program.parameters, values, strict=True))
        known |= dict.fromkeys(program.aggregates, np.float64(0.5))
        known |= {"number_of_vertices": np.int64(max(vertices, 1)), "superstep": np.int64(0)}
        self.p = parameters(*(known[name] for name in program.parameter_names))
        fields = () if program.fold is None else program.fold.fields
        self.gathered: Any = _record("Gathered", fields)._make if fields else None  # type: ignore[attr-defined]
        plain = {**program.functions, **program.aggregates}
        for name, source in program.sources.items():
            # What the user wrote has no generator.
            if NUMBER in program.constants and name in DRAWING:
                plain[name] = plain_function(source.definitions, **plain_functions(program.name))
        self.functions = {
            name: limited(
                plain[name],
                source.text,
                f"user_{name}",
                STEPS,
            )
            for name, source in program.sources.items()
        }

    # ------------------------------------------------------------------------ the user's functions

    def call(self, name: str, **arguments: Any) -> Any:
        """Call a user's function; convert an exception to an error that names the user's line."""
        arguments = {"p": self.p, **arguments}
        asked = [arguments[parameter] for parameter in self.program.sources[name].parameters]
        return self._called(name, asked)

    def _called(self, name: str, asked: Sequence[Any]) -> Any:
        try:
            with np.errstate(all="ignore"):
                return self.functions[name](*asked)
        except OutOfSteps:
            raise
        except ZeroDivisionError:
            return math.inf
        except (ValueError, OverflowError) as error:
            # Compiled code returns NaN or an infinity outside a function's domain.
            if str(error) in ("math domain error", "math range error") or str(error).startswith(
                "expected a"
            ):
                return math.nan
            raise self.error(name, error) from error
        except Exception as error:
            raise self.error(name, error) from error

    def error(self, name: str, error: Exception) -> ProgramError:
        """Return the error that names the function and line in which an exception was raised."""
        last = traceback.extract_tb(error.__traceback__)[-1]
        remedy = ""
        if isinstance(error, AttributeError) and isinstance(error.obj, np.generic):
            remedy = "; it is a number, which has no fields"
        else:
            remedy = of_exception(error, str(error))
        return ProgramError(
            f"{self.program.name}.{name}, line {last.lineno} of {last.filename}: "
            f"{type(error).__name__}: {str(error).rstrip('.')}{remedy}"
        )

    def fail(self, name: str, what: str) -> ProgramError:
        """Return the error for an invalid function."""
        return ProgramError(self.about(name, what))

    def about(self, name: str, what: str) -> str:
        """Return a sentence about a function, with its location."""
        return f"{self.program.name}.{name} ({self.program.sources[name].location}): {what}"

    def numbers(self, name: str, result: Any, expected: int | None) -> tuple[Any, ...]:
        """Check that a result is a number, or a tuple of `expected` numbers."""
        parts = tuple(result) if isinstance(result, tuple) else (result,)
        if expected is not None and len(parts) != expected:
            wanted = "one number" if expected == 1 else f"a tuple of {expected} numbers"
            raise self.fail(name, f"returns {result!r}; return {wanted}")
        for part in parts:
            if not isinstance(part, (bool, int, float, np.number, np.bool_)):
                raise self.fail(name, of_returned(part))
        return parts

    def as_state(self, name: str, result: Any) -> tuple[Any, ...]:
        """Cast a result to the state's types, or raise an error that names the field."""
        fields = tuple(self.program.state)
        if isinstance(result, tuple) and len(fields) == 1:
            raise self.fail(name, f"returns {result!r}; the state has one field, return a number")
        if not isinstance(result, tuple) and len(fields) > 1:
            raise self.fail(
                name,
                f"returns {result!r}; return a tuple of {len(fields)} numbers: {', '.join(fields)}",
            )
        parts = self.numbers(name, result, len(fields))
        cast: list[Any] = []
        for field, part, dtype in zip(fields, parts, self.state, strict=True):
            if dtype.kind in "ib" and isinstance(part, (float, np.floating)):
                declared = self.program.state[field]
                vertex = declared.holds_vertex
                hidden = vertex or not declared.visible
                if name == "init" and part == math.inf and dtype.name in STORED and not hidden:
                    raise self.fail(
                        name,
                        f"returns inf for `{field}`, which is {dtype.name}; declare it as "
                        f"ws.nullable(ws.{dtype.name}, math.inf), or as a float",
                    )
                if not math.isfinite(part) or part != int(part):
                    raise self.fail(
                        name,
                        f"returns {float(part)!r} for `{field}`, which is {dtype.name}; declare it as a float, "
                        "or return a whole number",
                    )
            place = len(cast)
            if self.program.infinite and self.program.infinite[place] and part >= INFINITY:
                cast.append(np.int64(INFINITY))  # as functions see it
                continue
            try:
                with np.errstate(all="ignore"):
                    cast.append(dtype.type(part))
            except OverflowError as error:
                raise self.fail(
                    name,
                    f"returns {part!r} for `{field}`, which is {dtype.name}; declare a wider type",
                ) from error
        return tuple(cast)

    def initial(self, number: int, own: Sequence[Any]) -> Any:
        """Return a vertex with the state that `init` gives it."""
        constants = self.Own(*wide(own))
        result = self.call("init", vertex=np.int64(number), own=constants)
        return self.Vertex(*wide(self.as_state("init", result)), *constants)

    def message(self, src: Any, dst: Any, edge: Any) -> Any:
        """Return the message along an edge, in the form in which it is combined."""
        result = self.call("compute", src=src, dst=dst, edge=edge)
        self.numbers("compute", result, None)
        if self.program.combine in ("min", "max"):
            return _ordered(result, math.inf if self.program.combine == "min" else -math.inf)
        return self._called("lift", (result,)) if "lift" in self.functions else result

    def gathered_of(self, vertex: Any, messages: Sequence[Any]) -> Any:
        """Return what `apply` gets for a list of messages."""
        if self.program.combine == "mode":
            return messages[0][0] if isinstance(messages[0], tuple) else messages[0]
        return self.call("gather_list", old=vertex, messages=Messages(messages))

    def applied(self, vertex: Any, gathered: Any) -> tuple[Any, ...]:
        """Return the state after `apply`, in the state's types."""
        if self.program.listing is not None:
            gathered = self.gathered_of(vertex, [gathered])
        named = gathered if self.gathered is None else self.gathered(gathered)
        return self.as_state("apply", self.call("apply", old=vertex, gathered=named))

    def after(self, vertex: Any, new: Sequence[Any]) -> Any:
        """Return a vertex with a new state."""
        return self.Vertex(*wide(new), *vertex[len(new) :])

    # ------------------------------------------------------------------------ on arcs of a graph

    def sent(self, arcs: Examples) -> Iterator[tuple[Any, Any]]:
        """Yield the destination and the message of arcs, in the first superstep."""
        for arc in arcs:
            src, dst = (
                self.initial(number, constants)
                for number, constants in zip(arc.ends, arc.own, strict=True)
            )
            if "starts" in self.program.functions and not self.call("starts", state=src):
                continue
            edge = self.edge(src, dst, arc.edge)
            yield dst, self.message(src=src, dst=dst, edge=edge)

    def edge(self, src: Any, dst: Any, values: Sequence[Any]) -> Any:
        """Return an edge with the state that it has at first."""
        state = self.program.edge_state
        kinds = self.program.edge_state_kinds
        defaults = [
            np.dtype(kind).type(declared.default)
            for declared, kind in zip(state.values(), kinds, strict=True)
        ]
        edge = self.Edge(*wide(values), *wide(defaults))
        if "init_edge" not in self.program.functions:
            return edge
        first = self.call("init_edge", src=src, dst=dst, edge=edge)
        return self.Edge(*edge[: len(values)], *self.numbers("init_edge", first, len(state)))

    def complaint(self, arcs: Examples) -> ProgramError | None:
        """Return what is wrong with a function on arcs of the graph; None if nothing is."""
        try:
            for vertex, message in self.sent(arcs):
                following = self.after(vertex, self.applied(vertex, message))
                for name in ("active", "settled", "starts", "priority", *self.program.aggregates):
                    if name in self.functions:
                        outcome = self.call(name, old=vertex, new=following, state=vertex)
                        self.numbers(name, outcome, 1)
        except OutOfSteps:
            return None
        except ProgramError as error:
            return error
        return None

    def types(self, arcs: Examples) -> Inference:
        """Return the types of messages along arcs, for a program that the compiler does not take.

        Raises
        ------
        ProgramError
            If a function fails.
        OutOfSteps
            If no message is computed within the budget.
        """
        pairs = list(self.sent(arcs))
        kinds, is_tuple = self.kinds_of([message for _, message in pairs])
        if self.program.listing is None:
            return Inference(kinds, is_tuple)
        gathered, several = self.kinds_of(
            [self.gathered_of(vertex, [message]) for vertex, message in pairs]
        )
        return Inference(kinds, is_tuple, gathered, several)

    def kinds_of(self, results: Sequence[Any]) -> tuple[tuple[str, ...], bool]:
        """Return the types of messages, by part, and whether they are tuples."""
        rows = [result if isinstance(result, tuple) else (result,) for result in results]
        if len({len(row) for row in rows}) > 1:
            raise self.fail("compute", "returns tuples of different lengths")
        columns = zip(*rows, strict=True)
        kinds = tuple(_message_kind(column, self.program.combine) for column in columns)
        return kinds, any(isinstance(result, tuple) for result in results)

    # ------------------------------------------------------------------------ doubts

    def doubts(self, arcs: Examples, types: Inference) -> str | None:
        """Return why messages that occur contradict what the program declares; None if they do not.

        A function that fails, or does not end within the budget, raises no doubt.
        """
        try:
            pairs = [(vertex, self.cast(message, types)) for vertex, message in self.sent(arcs)]
            if self.program.combine == "custom":
                return self.doubt_combine([message for _, message in pairs][:MESSAGES], types)
            return self.doubt_asynchronous(pairs)
        except (OutOfSteps, ProgramError):
            return None

    @staticmethod
    def cast(value: Any, types: Inference) -> Any:
        """Return a message in its types."""
        with np.errstate(all="ignore"):
            if types.tuple_message:
                return tuple(
                    np.dtype(kind).type(v) for kind, v in zip(types.message, value, strict=True)
                )
            return np.dtype(types.message[0]).type(value)

    def combine(self, a: Any, b: Any, types: Inference) -> Any:
        """Return two messages combined, in the types of messages."""
        result = self._called("combine", (a, b))
        self.numbers("combine", result, len(types.message))
        return self.cast(result, types)

    def doubt_combine(self, messages: Sequence[Any], types: Inference) -> str | None:
        """Return why a combine is not commutative or associative on messages, or its identity not neutral."""
        for a, b in itertools.combinations(messages, 2):
            first_result, second_result = self.combine(a, b, types), self.combine(b, a, types)
            if not _close(first_result, second_result):
                a, b, first_result, second_result = map(_show, (a, b, first_result, second_result))
                return self.about(
                    "combine",
                    f"is not commutative: combine({a}, {b}) = {first_result}, but combine({b}, {a}) = {second_result}",
                )
        for a, b, c in itertools.product(messages, repeat=3):
            first_result = self.combine(self.combine(a, b, types), c, types)
            second_result = self.combine(a, self.combine(b, c, types), types)
            if not _close(first_result, second_result):
                a, b, c, first_result, second_result = map(
                    _show, (a, b, c, first_result, second_result)
                )
                return self.about(
                    "combine",
                    f"is not associative: over {a}, {b}, {c} it gives {first_result} from the left and {second_result} "
                    "from the right",
                )
        identity = self.program.identity
        nothing = self.cast(identity, types)
        for a in messages:
            if not _close(self.combine(nothing, a, types), a):
                return self.about(
                    "combine",
                    f"identity {identity!r} changes {_show(a)}; it must leave messages unchanged",
                )
        return None

    def doubt_asynchronous(self, pairs: Sequence[tuple[Any, Any]]) -> str | None:
        """Return why an asynchronous program is not: a message again, or two one by one, change a state."""
        pick: Callable[..., Any] = max if self.program.combine == "max" else min
        for (vertex, a), (other_vertex, b) in itertools.product(pairs, repeat=2):
            if other_vertex != vertex:
                continue
            state = _show(vertex[: len(self.state)])
            once = self.applied(vertex, a)
            after = self.after(vertex, once)
            twice = self.applied(after, a)
            if not _close(twice, once):
                return self.about(
                    "apply",
                    f"a state of {state} becomes {_show(once)} by the message {_show(a)}, and {_show(twice)} by the "
                    "same message again; leave out asynchronous = True",
                )
            if self.program.combine == "any":
                continue
            both, apart = self.applied(vertex, pick(a, b)), self.applied(after, b)
            if not _close(apart, both):
                return self.about(
                    "apply",
                    f"a state of {state} becomes {_show(apart)} by the messages {_show(a)} and {_show(b)} one by "
                    f"one, and {_show(both)} by both combined; leave out asynchronous = True",
                )
        return None


def _message_kind(column: Sequence[Any], combine: str) -> str:
    """Return the type in which messages are combined; a sum of flags is a count."""
    dtype = np.result_type(*[np.asarray(message).dtype for message in column])
    if dtype.kind == "f":
        return "float32" if dtype.name == "float32" else "float64"
    return "bool" if dtype.kind == "b" and combine != "sum" else "int64"


def wide(values: Iterable[Any]) -> Iterator[Any]:
    """Yield values as programs see them: integers as int64."""
    for value in values:
        yield np.int64(value) if isinstance(value, np.integer) else value


def _close(first: Any, second: Any) -> bool:
    """Return whether messages or states are the same but for rounding."""
    a, b = np.asarray(first, float), np.asarray(second, float)
    return bool(np.isclose(a, b, equal_nan=True).all())


def _show(message: Any) -> str:
    if isinstance(message, tuple):
        return "(" + ", ".join(_show(part) for part in message) + ")"
    return str(message.item() if isinstance(message, np.generic) else message)


def _ordered(message: Any, instead: float) -> Any:
    """Return a message as min and max combine it: a NaN is replaced by their identity."""
    if isinstance(message, tuple):
        return tuple(_ordered(part, instead) for part in message)
    if isinstance(message, (float, np.floating)) and math.isnan(message):
        return type(message)(instead)
    return message
