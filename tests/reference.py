"""What a vertex program means: a plain interpreter, which every engine is held to.

Superstep k reads the states that superstep k − 1 left, and nothing else; a program that declares so
also reads states of vertices that states name.  The interpreter takes no
liberties and has no engine in common with the library: of a program it reads what it declares and
calls its functions.  Vertices are numbers 0 … n−1, and so are arguments that are vertices.
`compute` sees both ends of an arc, `src` and `dst`, as the previous superstep left them.

Every arc has its own state of edges: an undirected edge has two, a self-loop one.  `compute` of
superstep k reads what superstep k − 1 left; then `update_edge` is called once for every arc, with the
states that superstep k left of both ends, and the arc's own state as it was.  A run goes on while a
vertex is active or an arc has changed.
"""

from __future__ import annotations

import math
from collections import Counter, namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from draws import MASK, draws_of, seed_of_parallel
from machine import Number, plain, retyped

__all__ = ["INFINITY", "Graph", "Outcome", "Unfit", "hears_all", "record", "run"]


@lru_cache(maxsize=1000)
def _kind(name: str, fields: tuple[str, ...]) -> Any:
    return namedtuple(name, fields)


def record(name: str, fields: Iterable[str]) -> Any:
    """Return a named tuple: to make one takes longer than a superstep of a small graph."""
    return _kind(name, tuple(fields))


INFINITY = {
    "int32": 2**30,
    "int64": 2**62,
}  # an integer field that may be infinite is so from there on
ENDLESS = Number("int64", math.inf)
LEAST = {float: -math.inf, int: np.iinfo(np.int64).min, bool: False}
GREATEST = {float: math.inf, int: np.iinfo(np.int64).max, bool: True}


class Unfit(ArithmeticError):
    """A value that its declared type does not hold: the program has no meaning here."""


@dataclass(frozen=True)
class Graph:
    """Edges in input order.

    Attributes
    ----------
    n : int
        Number of vertices.
    edges : sequence of (int, int)
        Source and destination of each edge.
    attributes : mapping of ndarray
        By name, a value for each edge.
    weight : str or None
        The attribute that a program's only edge attribute is, whatever its name.
    directed : bool
        Whether edges lead one way.
    """

    n: int
    edges: Sequence[tuple[int, int]]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    weight: str | None = None
    directed: bool = True

    def rows(self) -> list[list[tuple[int, int]]]:
        """Return the in-arcs of each vertex: (source, edge), by source, then in input order."""
        rows: list[list[tuple[int, int]]] = [[] for _ in range(self.n)]
        for place, (u, v) in enumerate(self.edges):
            rows[v].append((u, place))
            if not self.directed and u != v:
                rows[u].append((v, place))
        return [sorted(row) for row in rows]


@dataclass(frozen=True)
class Outcome:
    """States when the run ended.

    Attributes
    ----------
    states : dict of list
        By field, one value for each vertex.
    supersteps : int
        How many there were.
    converged : bool
        Whether nobody is active and no arc has changed, or the residual is within `tol`.
    edges : dict of list
        By field of the state of edges, one value for each arc, in the order of `Graph.rows`.
    """

    states: dict[str, list[Any]]
    supersteps: int
    converged: bool
    edges: dict[str, list[Any]] = field(default_factory=dict)


def hears_all(program: Any) -> bool:
    """Return whether every vertex sends in every superstep, active or not.

    Without `contributors`, a minimum or maximum takes messages of active vertices only if the program says which
    vertices start, or that the order of messages does not matter, and has no state on edges.
    """
    if program.contributors is not None:
        return bool(program.contributors == "all")
    if program.combine in ("min", "max") and not program.edge_state:
        return "starts" not in program.functions and not program.asynchronous
    return bool(program.combine != "any")


def hears_silence(program: Any) -> bool:
    """Return whether a vertex without in-arcs applies, to the identity of `combine`."""
    return hears_all(program) and (
        program.combine in ("sum", "custom") or program.contributors == "all"
    )


class NoMessage:
    """Says that nothing is sent."""


NOTHING = NoMessage()


class OutEdge:
    """An out-edge as `scatter` sees it."""

    def __init__(self, attributes: Any, dst: Any, sent: dict[Any, Any], arc: Any) -> None:
        self.attributes, self.dst = _seen(attributes), _seen(dst)
        self.messages, self.arc = sent, arc

    def __getattr__(self, name: str) -> Any:
        return getattr(self.attributes, name)

    def send(self, message: Any) -> None:
        """Send a message along the edge, in the place of one sent before."""
        self.messages[self.arc] = plain(message)


def parallels_before(row: list[tuple[int, int]], place: int) -> int:
    """Return how many arcs before one in a row have the same source."""
    return sum(source == row[place][0] for source, _ in row[:place])


def is_absent(message: Any) -> bool:
    """Return whether what `compute` returned is that it sends nothing."""
    return type(message).__name__ == "NoMessage"


def run(
    program: Any,
    graph: Graph,
    arguments: Mapping[str, Any] | None = None,
    *,
    max_iter: int | None = None,
    tol: float | None = None,
    message: type | tuple[type, ...] = float,
) -> Outcome:
    """Run a program.

    Parameters
    ----------
    program : VertexProgram
        The program.
    graph : Graph
        The graph.
    arguments : mapping
        Its parameters and vertex constants, with vertices by number.
    max_iter, tol : int, float
        As in `ws.run`.
    message : type or tuple of type
        What messages are, which tells the identity of min and max.

    Returns
    -------
    Outcome

    Raises
    ------
    Unfit
        If a state is given a value that its type does not hold.
    """
    with np.errstate(all="ignore"):
        return _Run(program, graph, arguments or {}, message).to_the_end(
            program.max_iter if max_iter is None else max_iter,
            program.tol if tol is None else tol,
        )


class _Run:
    """One run: the program and the graph, prepared."""

    def __init__(self, program: Any, graph: Graph, given: Mapping[str, Any], message: Any) -> None:
        self.program, self.graph, self.message = program, graph, message
        self.rows = graph.rows()
        columns = _edge_columns(program, graph)
        kinds = dict(zip(program.edges, (kind for _, kind in columns), strict=True))
        self.kinds = [_state_kind(declared, kinds) for declared in program.state.values()]
        self.endless = [
            _may_be_infinite(declared, kind)
            for declared, kind in zip(program.state.values(), self.kinds, strict=True)
        ]
        self.edge_kinds = [one.type.name for one in program.edge_state.values()]
        self.edge = record("Edge", (*program.edges, *program.edge_state))
        edge = record("Attributes", program.edges)
        self.edges = [
            edge(*(_cast(kind, column[place]) for column, kind in columns))
            for place in range(len(graph.edges))
        ]
        self.jumps = {
            name: one for name, one in program.constants.items() if type(one).__name__ == "Jump"
        }
        known = {name: one for name, one in program.constants.items() if name not in self.jumps}
        constants = [self.constant(*one, given) for one in known.items()]
        self.own = [
            record("Own", known)(*row)
            for row in (zip(*constants, strict=True) if constants else [()] * graph.n)
        ]
        self.vertex = record("Vertex", (*program.state, *known, *self.jumps))
        self.parameters = {
            name: self.parameter(name, declared, given)
            for name, declared in program.parameters.items()
        }

    def constant(self, name: str, declared: Any, given: Mapping[str, Any]) -> list[Any]:
        """Return a vertex constant: one value for each vertex."""
        n, kind = self.graph.n, type(declared).__name__
        value = given.get(getattr(declared, "argument", None) or name)
        if kind == "VertexSet":
            members = {value} if isinstance(value, int) else set(value or ())
            return [np.bool_(v in members) for v in range(n)]
        if kind == "Constant" and value is None:
            return self.of_arcs(*declared.source.split("_"))
        if kind == "VertexNumber":
            return [np.int64(v) for v in range(n)]
        if kind == "Distribution" and value is None:
            return [np.float64(1.0 / max(n, 1))] * n
        if kind == "Distribution":
            shares = [float(dict(value).get(v, 0.0)) for v in range(n)]
            return [np.float64(share / sum(shares)) for share in shares]
        dtype = declared.type.name if kind == "VertexValue" else "float64"
        if isinstance(value, Mapping):
            return [_cast(dtype, value.get(v, declared.default)) for v in range(n)]
        value = declared.default if value is None else value
        return [_cast(dtype, value)] * n

    def of_arcs(self, way: str, what: str) -> list[Any]:
        """Return degrees, or sums of weights, of in-arcs or out-arcs."""
        weight = self.graph.weight
        if len(self.program.edges) == 1:
            weight = _column_of(next(iter(self.program.edges)), self.program, self.graph)
        sums = np.zeros(self.graph.n, np.float64)
        for v, row in enumerate(self.rows):
            for u, place in row:
                weighs = what == "weight" and weight is not None
                sums[v if way == "in" else u] += (
                    float(self.graph.attributes[weight][place]) if weighs else 1.0
                )
        return [np.int64(one) if what == "degree" else one for one in sums]

    def parameter(self, name: str, declared: Any, given: Mapping[str, Any]) -> Any:
        """Return a parameter as functions see it."""
        if type(declared).__name__ == "VertexParameter":
            return np.int64(given[name])
        if type(declared).__name__ == "Seed":
            return np.int64(given.get(name) or 0)
        value = declared.default if given.get(name) is None else given[name]
        return _cast(declared.type.name, value)

    def p(self, **more: Any) -> Any:
        """Return what functions know as p."""
        known = {**self.parameters, "number_of_vertices": np.int64(self.graph.n), **more}
        return record("P", known)(*known.values())

    def drawing(self, p: Any, function: str, vertex: int, count: int = 0, rank: int = 0) -> Any:
        """Return what a call of a function knows as p, which may draw random numbers."""
        if not self.program.draws:
            return p
        step = 0 if function in ("init", "starts") else int(p.superstep)
        seed = seed_of_parallel(int(p.seed), rank)
        known = {**p._asdict(), **draws_of(seed, step, function, vertex, count)}
        return record("P", known)(*known.values())

    def first_states(self) -> list[tuple[Any, ...]]:
        """Return the first state of every vertex."""
        init, before = self.program.functions["init"], self.p()
        return [
            self.kept(_call(init, vertex=np.int64(v), p=self.drawing(before, "init", v), own=own))
            for v, own in enumerate(self.own)
        ]

    def to_the_end(
        self, max_iter: int | None, tol: float | None, states: list[tuple[Any, ...]] | None = None
    ) -> Outcome:
        """Take supersteps until the run ends, from the first states or given ones."""
        program, before = self.program, self.p()
        states = self.first_states() if states is None else states
        arcs = self.first_arcs(states)
        active = {
            v
            for v in range(self.graph.n)
            if "starts" not in program.functions
            or hears_all(program)  # all send, whichever vertices `starts` names
            or _call(
                program.functions["starts"],
                state=self.at(v, states[v]),
                p=self.drawing(before, "starts", v),
            )
        }
        number, residual, changed = 0, math.nan, False
        measures = program.residual is not None and hears_all(program)
        while True:
            converged = not (active or changed) or (tol is not None and residual <= tol)
            if "until" in program.functions:
                p = self.with_sums(number, states)
                converged = converged or bool(_call(program.functions["until"], p=p))
            beyond = measures and number > 0 and not math.isfinite(residual)
            if converged or beyond or (max_iter is not None and number >= max_iter):
                break
            states, active, residual = self.superstep(number, states, active, arcs)
            after = self.next_arcs(number, states, arcs)
            changed = any(
                not _same(*pair)
                for row, other in zip(arcs, after, strict=True)
                for old, new in zip(row, other, strict=True)
                for pair in zip(old, new, strict=True)
            )
            arcs = after
            number += 1
        fields = zip(*states, strict=True) if states else [()] * len(program.state)
        columns = {name: list(column) for name, column in zip(program.state, fields, strict=True)}
        flat = [arc for row in arcs for arc in row]
        edges = {name: [arc[i] for arc in flat] for i, name in enumerate(program.edge_state)}
        return Outcome(columns, number, converged and not beyond, edges)

    def first_arcs(self, states: list[Any]) -> list[list[Any]]:
        """Return the state of each arc before the first superstep, by row."""
        defaults = [
            _cast(kind, one.default)
            for kind, one in zip(self.edge_kinds, self.program.edge_state.values(), strict=True)
        ]
        rows = [[tuple(defaults) for _ in row] for row in self.rows]
        return self.of_arcs_by("init_edge", states, rows, self.p())

    def next_arcs(self, number: int, states: list[Any], arcs: list[Any]) -> list[list[Any]]:
        """Return the state of each arc after a superstep, by row."""
        return self.of_arcs_by("update_edge", states, arcs, self.p(superstep=np.int64(number)))

    def of_arcs_by(self, name: str, states: list[Any], arcs: list[Any], p: Any) -> list[list[Any]]:
        """Return what a function of the program makes of each arc's state, by row."""
        function = self.program.functions.get(name)
        if function is None:
            return arcs
        vertices = [self.at(v, state) for v, state in enumerate(states)]
        return [
            [
                self.kept_of_edge(
                    _call(
                        function,
                        src=vertices[u],
                        dst=vertices[v],
                        edge=self.edge_at(place, arcs[v][i]),
                        p=p,
                    )
                )
                for i, (u, place) in enumerate(row)
            ]
            for v, row in enumerate(self.rows)
        ]

    def edge_at(self, place: int, state: tuple[Any, ...]) -> Any:
        """Return an arc as functions see it: its edge's attributes, and its own state."""
        return self.edge(*self.edges[place], *map(_wide, state))

    def kept_of_edge(self, result: Any) -> tuple[Any, ...]:
        """Cast what `init_edge` or `update_edge` returned to the declared types."""
        parts = result if isinstance(result, tuple) else (result,)
        return tuple(_cast(kind, part) for kind, part in zip(self.edge_kinds, parts, strict=True))

    def superstep(
        self, number: int, states: list[Any], active: set[int], arcs: list[Any]
    ) -> tuple[list[Any], set[int], float]:
        """Return the next states, the active vertices, and the residual."""
        program, functions = self.program, self.program.functions
        read = self.of_others(states)
        vertices = [self.at(v, state, read[v]) for v, state in enumerate(states)]
        p = self.with_sums(number, states)
        senders = set(range(self.graph.n)) if hears_all(program) else active
        following, news = list(states), set()
        if "scatter" in functions:
            scattered = self.scattered(vertices, p)
        for v, old in enumerate(vertices):
            messages = [
                scattered.get((v, i), NOTHING)
                if "scatter" in functions
                else self.sent(
                    _call(
                        functions["compute"],
                        src=vertices[u],
                        dst=old,
                        edge=self.edge_at(place, arcs[v][i]),
                        p=self.drawing(
                            p,
                            "compute",
                            u << 8 | v >> 32,
                            v & MASK,
                            parallels_before(self.rows[v], i),
                        ),
                    )
                )
                for i, (u, place) in enumerate(self.rows[v])
                if u in senders
            ]
            messages = [one for one in messages if not is_absent(one)]
            settled = "settled" in functions and _call(functions["settled"], state=old, p=p)
            if settled or not (messages or hears_silence(program)):
                continue
            gathered = (
                self.listed(old, messages, self.drawing(p, "gather_list", v))
                if program.listing
                else self.fold(messages)
            )
            applied = self.drawing(p, "apply", v)
            following[v] = self.kept(
                _call(functions["apply"], old=old, gathered=gathered, p=applied)
            )
            new = self.at(v, following[v], read[v])
            is_active = any(not _same(*pair) for pair in zip(old, new, strict=True))
            # Where order does not matter, only changed vertices can be active.
            # So it is where messages may be absent, and no vertex applies without one.
            may_be_silent = (
                "scatter" in functions or "no_message" in functions["compute"].__code__.co_names
            )
            only_changed = program.asynchronous or (may_be_silent and not hears_silence(program))
            if "active" in functions and (is_active or not only_changed):
                drawn = self.drawing(p, "active", v)
                is_active = bool(_call(functions["active"], old=old, new=new, p=drawn))
            if is_active:
                news.add(v)
        return following, news, self.residual(states, following)

    def scattered(self, vertices: list[Any], p: Any) -> dict[tuple[int, int], Any]:
        """Return what `scatter` sends, by the vertex that a message goes to, and the arc's place in its row."""
        out: list[list[tuple[int, int, int]]] = [[] for _ in vertices]
        for v, row in enumerate(self.rows):
            for i, (u, place) in enumerate(row):
                out[u].append((v, i, place))
        sent: dict[tuple[int, int], Any] = {}
        for u, arcs in enumerate(out):
            edges = [OutEdge(self.edges[place], vertices[v], sent, (v, i)) for v, i, place in arcs]
            if edges:
                drawn = self.drawing(p, "scatter", u)
                _call(self.program.functions["scatter"], own=vertices[u], edges=edges, p=drawn)
        return {arc: self.sent(message) for arc, message in sent.items()}

    def with_sums(self, number: int, states: list[Any]) -> Any:
        """Return what functions know as p before a superstep, with aggregates of the states."""
        without = self.p(superstep=np.int64(number))
        vertices = [self.at(v, state) for v, state in enumerate(states)]
        folds = {
            "sum": sum,
            "any": any,
            "max": lambda numbers: max(numbers, default=-math.inf),
            "min": lambda numbers: min(numbers, default=math.inf),
        }
        sums = {}
        kinds = self.program.aggregate_folds
        for (name, function), kind in zip(self.program.aggregates.items(), kinds, strict=True):
            numbers = [float(_call(function, state=v, p=without)) for v in vertices]
            if kind in ("min", "max"):  # of those that are numbers
                numbers = [number for number in numbers if number == number]
            sums[name] = np.float64(folds[kind](numbers))
        return self.p(superstep=np.int64(number), **sums)

    def sent(self, message: Any) -> Any:
        """Return a message in which math.inf is an integer where messages are."""
        if is_absent(message):
            return message
        kinds = self.message if isinstance(self.message, tuple) else (self.message,)
        parts = message if isinstance(message, tuple) else (message,)
        if any(self.endless) and len(kinds) == len(parts):
            parts = tuple(
                ENDLESS if kind is int and float(part) >= INFINITY["int64"] else part
                for kind, part in zip(kinds, parts, strict=True)
            )
        return parts if isinstance(message, tuple) else parts[0]

    def fold(self, messages: list[Any]) -> Any:
        """Combine messages in order, from what leaves them unchanged."""
        combine, message = self.program.combine, self.message
        kinds = message if isinstance(message, tuple) else (message,)
        if combine in ("min", "max"):
            messages = [
                self.without_nan(one, {"min": math.inf, "max": -math.inf}[combine])
                for one in messages
            ]
        if combine == "any" or (combine in ("min", "max") and messages):
            # Of flags, any is one that is set.
            either = max if isinstance(messages[0], (bool, np.bool_)) else None
            gathered, pick = messages[0], {"min": min, "max": max, "any": either}[combine]
            for one in messages[1:] if pick else ():
                gathered = pick(gathered, one)
            return gathered
        if combine in ("min", "max"):
            extreme = GREATEST if combine == "min" else LEAST
            extremes = tuple(extreme[one] for one in kinds)
            return self.sent(extremes if isinstance(message, tuple) else extremes[0])
        if self.program.fold is not None:
            return self.named(self.program.fold, messages)
        if combine == "custom":
            gathered = self.program.identity
            for one in messages:
                gathered = _called(self.program.functions["combine"], gathered, one)
            return gathered
        if messages and not isinstance(messages[0], tuple):
            return self.total(messages)
        if messages:
            return tuple(self.total(part) for part in zip(*messages, strict=True))
        zeros = tuple(np.float64(0) if one is float else np.int64(0) for one in kinds)
        return zeros if isinstance(message, tuple) else zeros[0]

    def without_nan(self, message: Any, instead: float) -> Any:
        """Return a message for a combine that orders messages, in which NaN counts as `instead`."""
        if isinstance(message, tuple):
            return tuple(self.without_nan(one, instead) for one in message)
        return type(message)(instead) if message != message else message

    def listed(self, old: Any, messages: list[Any], p: Any) -> Any:
        """Return the most frequent message, or what the program makes of all of them."""
        kind = self.program.listing.kind
        if kind == "list":
            if self.program.listing.order == "value":
                messages = sorted(messages)
            return _call(self.program.functions["gather_list"], old=old, messages=messages, p=p)
        weights: dict[Any, Any] = {}
        for one in messages:
            value, weight = one if kind == "weighted mode" else (one, 1)
            if isinstance(value, float):  # NaN is one value, and a zero has no sign
                value = math.nan if value != value else value + 0.0
            weights[value] = weights.get(value, 0) + weight
        if not weights:
            return GREATEST[self.message[0] if isinstance(self.message, tuple) else self.message]
        return min(weights, key=lambda value: (-weights[value], value != value, value))

    def part(self, fold: Any, kind: type, numbers: list[Any]) -> Any:
        """Combine one part of messages that are folded part by part."""
        if type(fold).__name__ != "Basic":
            return self.named(fold, numbers, kind)
        if "float64" in self.kinds:
            numbers = [np.float64(one) if isinstance(one, np.float32) else one for one in numbers]
        if fold.name == "sum":
            return self.total(numbers) if numbers else np.asarray(0, kind)[()] + np.int64(0)
        if fold.name == "any":
            return np.bool_(any(numbers))
        pick, worst = (min, GREATEST) if fold.name == "min" else (max, LEAST)
        numbers = [self.without_nan(one, float(worst[kind])) for one in numbers]
        return pick([self.sent(np.asarray(worst[kind])[()]), *numbers])

    def named(self, fold: Any, messages: list[Any], sent: Any = None) -> Any:
        """Combine messages, which are of type `sent`, by a combine that has a name."""
        kind, sent = type(fold).__name__, self.message if sent is None else sent
        if kind == "ByPart":
            columns = zip(*messages, strict=True) if messages else [()] * len(fold.parts)
            return tuple(
                self.part(one, of, list(column))
                for one, of, column in zip(fold.parts, sent, columns, strict=True)
            )
        if kind == "Histogram":
            counts = Counter(int(one) for one in messages)
            if counts and not 0 <= min(counts) <= max(counts) < fold.bins:
                raise Unfit(f"{max(counts)} has no bin")
            return tuple(np.int64(counts[place]) for place in range(fold.bins))
        if kind == "Top":
            pad = [LEAST[sent]] * fold.length
            messages = [self.without_nan(one, -math.inf) for one in messages]
            return tuple([*sorted(messages, reverse=True), *pad][: fold.length])
        if kind == "Bitset":
            there = {int(one) for one in messages}
            words = [
                sum(1 << place - low for place in there if low <= place < low + 63)
                for low in range(0, fold.bits, 63)
            ]
            return tuple(map(np.int64, words)) if fold.bits > 63 else np.int64(words[0])
        messages = [*messages, tuple(GREATEST[one] for one in self.message)]
        others = [place for place in range(len(messages[0])) if place != fold.field]
        first = min(
            messages,  # NaN is after all numbers
            key=lambda one: [
                (False, one[place]) if one[place] == one[place] else (True, 0)
                for place in (fold.field, *others)
            ],
        )
        return record("Gathered", fold.names)(*first) if fold.names else first

    def total(self, parts: Sequence[Any]) -> Any:
        """Add numbers up: floats in float64 if a state field is, flags as a count."""
        kind: type[Any] = np.int64
        if any(isinstance(part, (float, np.floating)) for part in parts):
            single = all(isinstance(part, np.float32) for part in parts)
            kind = np.float32 if single and "float64" not in self.kinds else np.float64
        if any(isinstance(part, Number) for part in parts):
            return ENDLESS
        total = kind(0)
        for part in parts:
            total = total + kind(part)
        return total

    def residual(self, states: list[Any], following: list[Any]) -> float:
        """Measure the change of the residual's field, if every vertex gathers from all."""
        norm = self.program.residual
        if norm is None or not hears_all(self.program):
            return math.nan
        place = list(self.program.state).index(norm.field)
        changes = [
            abs(float(new[place]) - float(old[place]))
            for old, new in zip(states, following, strict=True)
        ]
        return sum(changes) if norm.kind == "l1" else max(changes, default=0.0)

    def of_others(self, states: list[Any]) -> list[tuple[Any, ...]]:
        """Return for each vertex what it reads of vertices that it names, or that name it."""
        columns = []
        for jump in self.jumps.values():
            field, pointer = (
                list(self.program.state).index(one) for one in (jump.field, jump.pointer)
            )
            named = [int(state[pointer]) for state in states]
            for v, number in enumerate(named):
                if not -1 <= number < self.graph.n:
                    raise Unfit(f"{number}, which vertex {v} names, is no vertex")
            if jump.fold == "at":
                kind = self.kinds[field]
                columns.append(
                    [
                        _wide(states[number][field] if number >= 0 else _cast(kind, jump.default))
                        for number in named
                    ]
                )
            else:
                columns.append(self.folds(jump.fold, [one[field] for one in states], named, field))
        return list(zip(*columns, strict=True)) if columns else [()] * len(states)

    def folds(self, fold: str, values: list[Any], named: list[int], field: int) -> list[Any]:
        """Fold values over the vertices that name each vertex, in the order of numbers."""
        kind = {"f": float, "b": bool}.get(np.dtype(self.kinds[field]).kind, int)
        if fold == "sum":
            start: Any = np.float64(0) if kind is float else np.int64(0)
        else:
            start = np.asarray((GREATEST if fold == "least" else LEAST)[kind])[()]
        found = [start] * self.graph.n
        for value, number in zip(values, named, strict=True):
            if number < 0:
                continue
            if fold == "sum":
                found[number] = found[number] + type(start)(value)
            elif value < found[number] if fold == "least" else value > found[number]:
                found[number] = _wide(value)
        return found

    def at(self, v: int, state: tuple[Any, ...], read: tuple[Any, ...] | None = None) -> Any:
        """Return a vertex as functions see it: its state, integers as int64, and its constants."""
        others = (None,) * len(self.jumps) if read is None else read
        return self.vertex(*map(_wide, state), *self.own[v], *others)

    def kept(self, result: Any) -> tuple[Any, ...]:
        """Cast what `init` or `apply` returned to the declared types."""
        parts = result if isinstance(result, tuple) else (result,)
        return tuple(
            ENDLESS if endless and float(part) >= INFINITY[kind] else _cast(kind, part)
            for kind, endless, part in zip(self.kinds, self.endless, parts, strict=True)
        )


def _call(function: Callable[..., Any], **known: Any) -> Any:
    """Call a function with the arguments that it names."""
    code = function.__code__
    return _called(function, *(known[name] for name in code.co_varnames[: code.co_argcount]))


def _called(function: Callable[..., Any], *given: Any) -> Any:
    """Call a function with numbers that compute as compiled code does; return NumPy's."""
    return plain(retyped(function)(*map(_seen, given)))


def _seen(value: Any) -> Any:
    """Return a number, or a tuple or list of numbers, as functions see it."""
    if isinstance(value, tuple):
        made = map(_seen, value)
        return value._make(made) if hasattr(value, "_make") else tuple(made)
    if isinstance(value, list):
        return list(map(_seen, value))
    if isinstance(value, OutEdge):
        return value
    return value if value is None or callable(value) else Number.of(value)


def _may_be_infinite(declared: Any, kind: str) -> bool:
    """Return whether a state field is an integer to which math.inf may be given."""
    named = getattr(declared.type, "holds_vertex", False)
    return kind in INFINITY and (declared.null == math.inf or named or not declared.visible)


def _cast(kind: str, value: Any) -> Any:
    """Keep a value as NumPy's type `kind`."""
    if kind.startswith("int"):
        whole = int(value) if math.isfinite(value) else None
        limits = np.iinfo(kind)
        if whole is None or whole != value or not limits.min <= whole <= limits.max:
            raise Unfit(f"{value!r} is no {kind}")
        return np.dtype(kind).type(whole)
    return np.dtype(kind).type(value)


def _wide(value: Any) -> Any:
    return np.int64(value) if isinstance(value, np.integer) else value


def _same(one: Any, other: Any) -> bool:
    return bool(one == other or (one != one and other != other))


def _column_of(name: str, program: Any, graph: Graph) -> str | None:
    """Return the graph's attribute that a declared one is: of its name, or the only weight."""
    if name in graph.attributes:
        return name
    return graph.weight if len(program.edges) == 1 else None


def _edge_columns(program: Any, graph: Graph) -> Iterable[tuple[Any, str]]:
    """Return for each declared edge attribute its values and their type."""
    columns = []
    for name, declared in program.edges.items():
        found = _column_of(name, program, graph)
        if found is None:
            values: Any = [declared.default] * len(graph.edges)
            kind = "int64" if isinstance(declared.default, int) else "float64"
        else:
            values = graph.attributes[found]
            kind = np.asarray(values).dtype.name
        if type(declared.type).__name__ == "ScalarType":
            kind = declared.type.name
        elif type(declared.type).__name__ == "Floating" and kind != "float32":
            kind = "float64"
        columns.append((values, kind))
    return columns


def _state_kind(declared: Any, edges: Mapping[str, str]) -> str:
    """Return the type of a state field, perhaps that of an edge attribute."""
    attribute = getattr(declared.type, "attribute", None)
    return edges[attribute] if attribute else declared.type.name
