"""Tries out a vertex program: its functions on a few values, as plain Python.

Errors are found before the first superstep, and named by the line of the user's file.
"""

from __future__ import annotations

import itertools
import math
import traceback
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.errors import ProgramError
from cugraph_ws.graph.view import EXAMPLES
from cugraph_ws.program.codegen import INFINITY
from cugraph_ws.program.declarations import sample_values
from cugraph_ws.program.decorator import VertexProgram
from cugraph_ws.program.lists import Examples

__all__ = ["Trial"]

TARGETS = 4  # destinations that `compute` is tried with


def _record(name: str, fields: Iterable[str]) -> Callable[..., Any]:
    """Make a named tuple with fields that are known only at run time."""
    kind: Callable[..., Any] = namedtuple(name, tuple(fields))  # type: ignore[misc]
    return kind


class Trial:
    """Runs a program's functions as plain Python on a few values, to find errors.

    Parameters
    ----------
    program : VertexProgram
        The program.
    state, edges : tuple of str
        NumPy type names of state fields and edge attributes.
    constants : sequence of ndarray
        The vertex constants of a few vertices.
    uniform : tuple of bool
        Which of them hold one entry for all vertices.
    values : tuple
        The run's parameters.
    vertices : int
        Number of vertices.
    """

    def __init__(
        self,
        program: VertexProgram,
        state: tuple[str, ...],
        edges: tuple[str, ...],
        constants: Sequence[npt.NDArray[Any]],
        uniform: tuple[bool, ...],
        values: tuple[Any, ...],
        vertices: int,
    ) -> None:
        self.program = program
        self.state = tuple(np.dtype(kind) for kind in state)
        self.edges = (*edges, *program.edge_state_kinds)
        fields = (*program.state, *program.constants)
        self.Vertex = _record("Vertex", fields)
        self.Edge = _record("Edge", program.edge_fields)
        self.Own = _record("Own", program.constants)
        parameters = _record("Parameters", program.parameter_names)
        known = dict(zip(program.parameters, values, strict=True))
        known |= dict.fromkeys(program.aggregates, np.float64(0.5))
        known |= {"number_of_vertices": np.int64(max(vertices, 1)), "superstep": np.int64(0)}
        self.p = parameters(*(known[name] for name in program.parameter_names))
        # Constants of real vertices, so that the trial uses no value that the run never would.
        lengths = [len(array) for array, one in zip(constants, uniform, strict=True) if not one]
        places = list(range(lengths[0] if lengths else min(vertices, EXAMPLES)))
        columns = [
            array[[0] * len(places)] if one else array
            for array, one in zip(constants, uniform, strict=True)
        ]
        rows = zip(*columns, strict=True) if columns else ((),) * len(places)
        self.own = [self.Own(*_wide(row)) for row in rows] or [
            self.Own(*_wide(np.zeros(1, array.dtype)[0] for array in constants))
        ]
        self.places = places or [0]
        self.messages: list[Any] = []
        self.gathered_kinds: tuple[tuple[str, ...], bool] = ((), False)
        fields = () if program.fold is None else program.fold.fields
        self.gathered: Any = _record("Gathered", fields)._make if fields else None  # type: ignore[attr-defined]

    def call(self, name: str, **given: Any) -> Any:
        """Call a user's function; convert an exception to an error that names the user's line."""
        function = self.program.functions.get(name) or self.program.aggregates[name]
        given = {"p": self.p, **given}
        asked = [given[one] for one in self.program.sources[name].parameters]
        return self._called(name, function, asked)

    def combined(self, first: Any, second: Any) -> Any:
        """Call the user's combine."""
        return self._called("combine", self.program.functions["combine"], (first, second))

    def _called(self, name: str, function: Callable[..., Any], asked: Sequence[Any]) -> Any:
        try:
            with np.errstate(all="ignore"):
                return function(*asked)
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
        return ProgramError(
            f"{self.program.name}.{name}, line {last.lineno} of {last.filename}: "
            f"{type(error).__name__}: {error}"
        )

    def fail(self, name: str, what: str) -> ProgramError:
        """Return the error for an invalid function."""
        return ProgramError(
            f"{self.program.name}.{name} ({self.program.sources[name].location}): {what}"
        )

    def numbers(self, name: str, result: Any, expected: int | None) -> tuple[Any, ...]:
        """Check that a result is a number, or a tuple of `expected` numbers."""
        parts = tuple(result) if isinstance(result, tuple) else (result,)
        if isinstance(result, tuple) and expected == 1:
            raise self.fail(name, f"returns {result!r}; the state has one field, return a number")
        if expected is not None and len(parts) != expected:
            fields = ", ".join(self.program.state)
            raise self.fail(
                name, f"returns {result!r}; return a tuple of {expected} numbers: {fields}"
            )
        for part in parts:
            if not isinstance(part, (bool, int, float, np.number, np.bool_)):
                raise self.fail(name, f"returns {part!r}, a {type(part).__name__}; return a number")
        return parts

    def as_state(self, name: str, result: Any) -> tuple[Any, ...]:
        """Cast a result to the state's types, or raise an error that names the field."""
        cast = []
        for (field, part), dtype in zip(
            zip(self.program.state, self.numbers(name, result, len(self.state)), strict=True),
            self.state,
            strict=True,
        ):
            if dtype.kind in "ib" and isinstance(part, (float, np.floating)):
                declared = self.program.state[field]
                vertex = getattr(declared.type, "holds_vertex", False)
                if name == "init" and part == math.inf and dtype.name in INFINITY:
                    if declared.visible and declared.null is None and not vertex:
                        raise self.fail(
                            name,
                            f"returns inf for `{field}`, which is {dtype.name}; declare it as "
                            f"ws.nullable(ws.{dtype.name}, math.inf), or as a float",
                        )
                    part = INFINITY[dtype.name]
                elif not math.isfinite(part) or part != int(part):
                    raise self.fail(
                        name,
                        f"returns {float(part)!r} for `{field}`, which is {dtype.name}; declare it as a float, "
                        "or return a whole number",
                    )
            try:
                with np.errstate(all="ignore"):
                    cast.append(dtype.type(part))
            except OverflowError as error:
                raise self.fail(
                    name,
                    f"returns {part!r} for `{field}`, which is {dtype.name}; declare a wider type",
                ) from error
        return tuple(cast)

    def as_edge_state(self, name: str, result: Any) -> None:
        """Refuse what is not one number for each field of the state of edges."""
        fields = self.program.edge_state
        parts = result if isinstance(result, tuple) else (result,)
        if len(parts) != len(fields) or isinstance(result, tuple) != (len(fields) > 1):
            wanted = f"{len(fields)} numbers" if len(fields) > 1 else "a number"
            raise self.fail(name, f"returns {result!r}; return {wanted}: {', '.join(fields)}")
        for part in parts:
            self.numbers(name, part, 1)

    def states(self) -> list[Any]:
        """Return vertices with the states that `init` returns, and with sample states."""
        vertices = []
        for place, own in zip(self.places, self.own, strict=True):
            first = self.as_state("init", self.call("init", vertex=np.int64(place), own=own))
            vertices.append(self.Vertex(*_wide(first), *own))
            samples = zip(*(sample_values(kind) for kind in self.state), strict=False)
            vertices += [
                self.Vertex(*_wide(sample), *own) for sample in itertools.islice(samples, 5)
            ]
        return vertices

    def run(self) -> tuple[tuple[str, ...], bool]:
        """Try every function; return the types of messages, and whether they are tuples."""
        vertices = self.states()
        message, is_tuple = self.sent(vertices)
        for name in ("init_edge", "update_edge"):
            if name in self.program.functions:
                for vertex, edge in itertools.product(vertices, self.sample_edges()):
                    given = self.call(name, src=vertex, dst=vertices[0], edge=edge)
                    self.as_edge_state(name, given)
        self.messages = [self._cast_message(value, message, is_tuple) for value in self.messages]
        if self.program.combine == "custom":
            self.check_combine(message, is_tuple)
        if self.program.combine == "list":
            for vertex in vertices[:6]:
                self.gathered_of(vertex, self.messages[:3])
        for vertex, gathered in itertools.product(vertices[:6], self.messages[:8]):
            new = self.as_state("apply", self.applied(vertex, gathered))
            following = self.Vertex(*_wide(new), *vertex[len(new) :])
            for name in ("active", "settled", "starts", "priority", *self.program.aggregates):
                if name in self.program.sources:
                    given = self.call(name, old=vertex, new=following, state=vertex)
                    self.numbers(name, given, 1)
        return message, is_tuple

    def sample_edges(self) -> list[Any]:
        """Return edges with sample values."""
        return [
            self.Edge(*_wide(row))
            for row in itertools.islice(
                zip(*(sample_values(kind)[1:] for kind in self.edges), strict=False), 3
            )
        ] or [self.Edge()]

    def sent(self, vertices: Sequence[Any]) -> tuple[tuple[str, ...], bool]:
        """Try `compute` from some vertices; return messages' types, and whether they are tuples."""
        edges = self.sample_edges()
        kinds: list[np.dtype[Any]] = []
        is_tuple = False
        step = max(1, len(vertices) // TARGETS)
        targets = vertices[::step] if self.program.reads_target else vertices[:1]
        for vertex, target, edge in itertools.product(vertices, targets, edges):
            result = self.message(src=vertex, dst=target, edge=edge)
            parts = self.numbers("compute", result, len(kinds) or None)
            found = [np.asarray(part).dtype for part in parts]
            is_tuple = isinstance(result, tuple)
            kinds = [np.promote_types(a, b) for a, b in zip(kinds or found, found, strict=True)]
            self.messages.append(result)
        return tuple(_message_kind(kind, self.program.combine) for kind in kinds), is_tuple

    def message(self, src: Any, dst: Any, edge: Any) -> Any:
        """Return the message along an edge, in the form in which it is combined."""
        result = self.call("compute", src=src, dst=dst, edge=edge)
        if self.program.combine in ("min", "max"):
            return _ordered(result, math.inf if self.program.combine == "min" else -math.inf)
        if "lift" not in self.program.functions:
            return result
        self.numbers("compute", result, None)
        return self._called("lift", self.program.functions["lift"], (result,))

    def gathered_of(self, vertex: Any, messages: Sequence[Any]) -> Any:
        """Return `gathered` for a list of messages; record its type."""
        if self.program.combine == "mode":
            result = messages[0][0] if isinstance(messages[0], tuple) else messages[0]
        else:
            result = self.call("gather_list", old=vertex, messages=Examples(messages))
        parts = self.numbers("gather_list", result, None)
        found = [np.asarray(part).dtype for part in parts]
        known = [np.dtype(kind) for kind in self.gathered_kinds[0]]
        if known and len(known) != len(found):
            raise self.fail("gather_list", "returns tuples of different lengths")
        kinds = [np.promote_types(a, b) for a, b in zip(known or found, found, strict=True)]
        self.gathered_kinds = (
            tuple(_message_kind(one, "list") for one in kinds),
            isinstance(result, tuple),
        )
        return result

    def applied(self, vertex: Any, gathered: Any) -> Any:
        """Call the user's `apply`."""
        if self.program.listing is not None:
            gathered = self.gathered_of(vertex, [gathered])
        named = gathered if self.gathered is None else self.gathered(gathered)
        return self.call("apply", old=vertex, gathered=named)

    @staticmethod
    def _cast_message(value: Any, kinds: tuple[str, ...], is_tuple: bool) -> Any:
        with np.errstate(all="ignore"):
            if is_tuple:
                return tuple(np.dtype(kind).type(v) for kind, v in zip(kinds, value, strict=True))
            return np.dtype(kinds[0]).type(value)

    def check_combine(self, message: tuple[str, ...], is_tuple: bool) -> None:
        """Refuse a combine that is not commutative or associative on a few values, or its identity."""
        identity = self.program.identity
        if is_tuple != isinstance(identity, tuple) or (is_tuple and len(identity) != len(message)):
            raise self.fail("combine", f"identity {identity!r} does not have the message's shape")
        samples = self.messages[:4] + self.messages[-2:]

        def combine(a: Any, b: Any) -> Any:
            result = self.combined(a, b)
            self.numbers("combine", result, len(message))
            return self._cast_message(result, message, is_tuple)

        def differ(lefts: list[Any], rights: list[Any]) -> list[bool]:
            same = np.isclose(np.asarray(lefts, float), np.asarray(rights, float), equal_nan=True)
            return [not np.all(one) for one in same]

        places = range(len(samples))
        pairs = {
            (i, j): combine(samples[i], samples[j]) for i, j in itertools.product(places, repeat=2)
        }
        swapped = [pairs[j, i] for i, j in pairs]
        for (i, j), wrong in zip(pairs, differ(list(pairs.values()), swapped), strict=True):
            if wrong:
                a, b = _show(samples[i]), _show(samples[j])
                raise self.fail(
                    "combine",
                    f"is not commutative: combine({a}, {b}) = {_show(pairs[i, j])}, but "
                    f"combine({b}, {a}) = {_show(pairs[j, i])}",
                )
        triples = list(itertools.product(places, repeat=3))
        from_left = [combine(pairs[i, j], samples[k]) for i, j, k in triples]
        from_right = [combine(samples[i], pairs[j, k]) for i, j, k in triples]
        for place, wrong in enumerate(differ(from_left, from_right)):
            if wrong:
                a, b, c = (_show(samples[one]) for one in triples[place])
                raise self.fail(
                    "combine",
                    f"is not associative: over {a}, {b}, {c} it gives {_show(from_left[place])} "
                    f"from the left and {_show(from_right[place])} from the right",
                )
        nothing = self._cast_message(identity, message, is_tuple)
        folded = self.program.fold is not None  # then NaN may count as no message
        for a, wrong in zip(
            samples, differ([combine(nothing, a) for a in samples], samples), strict=True
        ):
            if wrong and not (folded and np.isnan(np.asarray(a, float)).any()):
                raise self.fail(
                    "combine",
                    f"identity {identity!r} changes {_show(a)}; it must leave messages unchanged",
                )

    def check_asynchronous(self) -> None:
        """Refuse a program that declares itself asynchronous, but is not on a few values.

        A repeated message must have no further effect, and two messages one by one must have the
        effect of their combination.  A few values prove nothing: the program promises this.
        """
        pick: Callable[..., Any] = max if self.program.combine == "max" else min
        for vertex in self.states()[:8]:
            own = vertex[len(self.state) :]
            for a, b in itertools.product(self.messages[:4], repeat=2):
                one = self.as_state("apply", self.applied(vertex, a))
                after = self.Vertex(*_wide(one), *own)
                twice = self.as_state("apply", self.applied(after, a))
                if twice != one:
                    raise self.fail(
                        "apply",
                        f"a state of {_show(vertex[: len(self.state)])} becomes {_show(one)} by the message "
                        f"{_show(a)}, and {_show(twice)} by the same message again; leave out asynchronous = True",
                    )
                if self.program.combine == "any":
                    continue
                both = self.as_state("apply", self.applied(vertex, pick(a, b)))
                apart = self.as_state("apply", self.applied(after, b))
                if apart != both:
                    raise self.fail(
                        "apply",
                        f"a state of {_show(vertex[: len(self.state)])} becomes {_show(apart)} by the messages "
                        f"{_show(a)} and {_show(b)} one by one, and {_show(both)} by both combined; leave out "
                        "asynchronous = True",
                    )


def _message_kind(kind: np.dtype[Any], combine: str) -> str:
    """Return the type in which messages of a type are combined; a sum of flags is a count."""
    if kind.kind == "f":
        return "float32" if kind.name == "float32" else "float64"
    return "bool" if kind.kind == "b" and combine != "sum" else "int64"


def _wide(values: Iterable[Any]) -> Iterator[Any]:
    """Yield values as programs see them: integers as int64."""
    for value in values:
        yield np.int64(value) if isinstance(value, np.integer) else value


def _show(message: Any) -> str:
    if isinstance(message, tuple):
        return "(" + ", ".join(_show(part) for part in message) + ")"
    return str(message.item() if isinstance(message, np.generic) else message)


def _ordered(message: Any, instead: float) -> Any:
    """Return a message as min and max combine it: a NaN is replaced by their identity."""
    if isinstance(message, tuple):
        return tuple(_ordered(one, instead) for one in message)
    if isinstance(message, (float, np.floating)) and math.isnan(message):
        return type(message)(instead)
    return message
