"""Phases and what they mean: a small zoo, and a plain interpreter beside `reference`."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import reference
from draws import seed_of_phase
from reference import Graph

import cugraph_ws as ws

__all__ = ["PHASED", "Entry", "Outcome", "run"]

EXAMPLES = Path(__file__).parents[1] / "examples"


# ------------------------------------------------------------------------------------ what they mean


@dataclass(frozen=True)
class Outcome:
    """States when the run ended.

    Attributes
    ----------
    states : dict of list
        By field, one value for each vertex.
    names : list of str
        The phase of each superstep.
    converged : bool
        Whether a round changed nothing, or as little as `until` says, or all rounds are done.
    """

    states: dict[str, list[Any]]
    names: list[str]
    converged: bool

    @property
    def supersteps(self) -> int:
        """How many there were."""
        return len(self.names)


def turned(graph: Graph) -> Graph:
    """Return the graph with every edge in the other direction."""
    return replace(graph, edges=[(v, u) for u, v in graph.edges])


def run(
    phases: Any,
    graph: Graph,
    arguments: Mapping[str, Any] | None = None,
    *,
    max_iter: int | None = None,
    tol: float | None = None,
    messages: tuple[Any, ...] = (),
) -> Outcome:
    """Run phases.

    Parameters
    ----------
    phases : Phases
        What `ws.phases` made.
    graph : Graph
    arguments : mapping
        As in `reference.run`, of all programs together.
    max_iter : int, optional
        Limit of the supersteps of all phases together.
    tol : float, optional
        In place of that of the phases.
    messages : tuple of type
        What the messages of each program are; floats if not given.

    Returns
    -------
    Outcome
    """
    runs = [
        reference._Run(
            one.program,
            turned(graph) if one.direction == "out" else graph,
            arguments or {},
            messages[place] if messages else float,
        )
        for place, one in enumerate(phases.phases)
    ]
    seed = int((arguments or {}).get("seed") or 0)

    def seed_all(round_: int) -> None:
        for place, one in enumerate(runs):
            if one.program.draws:
                one.parameters["seed"] = np.int64(seed_of_phase(seed, place, round_))

    seed_all(0)
    fields: dict[str, list[Any]] = {}
    for one in reversed(runs):
        columns = zip(*one.first_states(), strict=True) if graph.n else [()] * len(one.kinds)
        fields |= dict(zip(one.program.state, map(list, columns), strict=True))
    tol = phases.tol if tol is None else tol
    names: list[str] = []
    done, converged = 0, False
    while True:
        before = {name: list(column) for name, column in fields.items()}
        seed_all(done)
        for phase, one in zip(phases.phases, runs, strict=True):
            limits = [phase.limit, None if max_iter is None else max_iter - len(names)]
            states = list(zip(*(fields[name] for name in one.program.state), strict=True))
            least = min((limit for limit in limits if limit is not None), default=None)
            found = one.to_the_end(least, one.program.tol, states)
            fields |= found.states
            names += [phase.name] * found.supersteps
            ended = found.converged or found.supersteps == phase.limit
            if not ended:  # the run has no supersteps left
                return Outcome(fields, names, False)
        done += 1
        changed = any(
            not reference._same(*pair)
            for name, column in fields.items()
            for pair in zip(before[name], column, strict=True)
        )
        within = False
        if phases.until is not None:
            name = phases.until.field
            parts = [
                0.0 if old == new else abs(float(new) - float(old))
                for old, new in zip(before[name], fields[name], strict=True)
            ]
            norm = sum(parts) if phases.until.kind == "l1" else max(parts, default=0.0)
            within = norm <= tol
            if not math.isfinite(norm) and changed:
                return Outcome(fields, names, False)
        converged = not changed or within or (done == phases.rounds and phases.until is None)
        if converged or done == phases.rounds:
            return Outcome(fields, names, converged)


# ---------------------------------------------------------------------------------------- the zoo

Given = Callable[[int], dict[str, Any]]


@dataclass(frozen=True)
class Entry:
    """Phases, and what a test must know of them; see `zoo.Entry`."""

    name: str
    program: Any
    messages: tuple[Any, ...]
    given: Given = lambda n: {}
    tolerance: float = 0.0
    compiled: bool = False
    needs_vertex: bool = False

    def __str__(self) -> str:
        return self.name


@ws.vertex_program
class Along:
    """The least number of the vertices that lead here."""

    label: ws.int64
    combine = min

    def init(vertex):
        return vertex * 5 % 11

    def compute(src):
        return src.label

    def apply(old, gathered):
        return min(old.label, gathered)


@ws.vertex_program
class Authorities:
    """The first half of HITS."""

    hub: ws.float64
    authority: ws.float64
    combine = sum

    def init(vertex):
        return 1.0, 0.0

    def compute(src):
        return src.hub

    def apply(old, gathered):
        return old.hub, gathered


@ws.vertex_program
class Hubs:
    """The second half, scaled by the sum of all authorities."""

    authority: ws.float64
    hub: ws.float64
    combine = sum

    def init(vertex):
        return 9.0, 9.0

    @ws.aggregate
    def total(state):
        return state.authority

    def compute(src):
        return src.authority

    def apply(old, gathered, p):
        return old.authority, gathered / (1.0 + p.total)


@ws.vertex_program
class Reached:
    """What `start` reaches, by a search that ends where it has been."""

    after: ws.boolean
    start: ws.vertex_set
    combine = any

    def init(vertex, own):
        return own.start

    def starts(state):
        return state.after

    def compute(src):
        return src.after

    def apply(old, gathered):
        return old.after or gathered

    def settled(state):
        return state.after

    def active(old, new):
        return new.after


@ws.vertex_program
class Reaching:
    """What reaches `start`, among what it reaches: its strong component; without a mark of activity."""

    after: ws.hidden(ws.boolean)
    component: ws.boolean
    start: ws.vertex_set
    combine = max
    contributors = "active"

    def init(vertex, own):
        return False, own.start

    def starts(state):
        return state.component

    def compute(src):
        return 1 if src.component else 0

    def apply(old, gathered):
        return old.after, old.component or (old.after and gathered > 0)


@ws.vertex_program
class Distance:
    """The length of the shortest path from `start`."""

    distance: ws.float64
    back: ws.float64
    weight: ws.edge(ws.float64, default=1.0)
    start: ws.vertex_parameter
    combine = min

    def init(vertex, p):
        first = 0.0 if vertex == p.start else math.inf
        return first, first

    def starts(state):
        return state.distance < math.inf

    def compute(src, edge):
        return src.distance + edge.weight

    def apply(old, gathered):
        return min(old.distance, gathered), old.back

    def active(old, new):
        return new.distance < old.distance


@ws.vertex_program
class Return:
    """The length of the shortest path to `start`: one field, changed by compare-and-swap."""

    back: ws.float64
    weight: ws.edge(ws.float64, default=1.0)
    combine = min

    def init(vertex):
        return -1.0

    def starts(state):
        return state.back < math.inf

    def compute(src, edge):
        return src.back + edge.weight

    def apply(old, gathered):
        return min(old.back, gathered)

    def active(old, new):
        return new.back < old.back


@ws.vertex_program
class LeastAround:
    """The least rank of undecided in-neighbours; of both directions, by two phases."""

    status: ws.int32
    least: ws.hidden(ws.int64)
    combine = min
    contributors = "all"

    def init(vertex):
        return 0, 1 << 40

    def compute(src):
        return src.rank if src.status == 0 else 1 << 40

    def apply(old, gathered):
        return old.status, min(old.least, gathered)

    rank: ws.vertex_value(ws.int64)


@ws.vertex_program
class Winners:
    """Undecided vertices of less rank than their neighbours join; `least` is cleared."""

    status: ws.int32
    least: ws.hidden(ws.int64)
    rank: ws.vertex_value(ws.int64)
    combine = sum

    def init(vertex):
        return 0, 0

    def compute(src):
        return 0

    def apply(old, gathered):
        joins = old.status == 0 and old.rank < old.least
        return 1 if joins else old.status, 1 << 40


@ws.vertex_program
class Losers:
    """Undecided neighbours of members are out."""

    status: ws.int32
    combine = any

    def init(vertex):
        return 5

    def starts(state):
        return state.status == 1

    def compute(src):
        return src.status == 1

    def apply(old, gathered):
        return 2 if old.status == 0 and gathered else old.status

    def active(old, new):
        return False


@ws.vertex_program
class Drift:
    """Reads degrees, the superstep, an attribute and an aggregate: of the graph along whose edges it goes."""

    value: ws.float64
    steps: ws.int32
    out: ws.out_degree
    sums: ws.in_weight
    signed: ws.edge(ws.float64)
    combine = sum
    max_iter = 2

    def init(vertex):
        return float(vertex % 3), 0

    @ws.aggregate
    def mass(state):
        return state.value

    def compute(src, edge, p):
        return src.value * edge.signed + src.out + p.superstep

    def apply(old, gathered, p):
        return (gathered + p.mass + old.sums) / 8.0, old.steps + p.superstep + 1


@ws.vertex_step
class Settle:
    """Halves a number until it is small, to the residual's end."""

    value: ws.float64
    max_iter = None
    residual = ws.max_norm("value")
    tol = 0.5
    factor: ws.parameter(ws.float64, default=0.5)

    def init(vertex):
        return 3.0

    def apply(old, p):
        return old.value * p.factor


@ws.vertex_program
class Hook:
    """The least of the neighbours' parents."""

    parent: ws.vertex_id
    combine = min

    def init(vertex):
        return vertex

    def compute(src):
        return src.parent

    def apply(old, gathered):
        return min(old.parent, gathered)


@ws.vertex_step
class Shortcut:
    """The parent's parent, until all parents are roots; not along edges."""

    parent: ws.vertex_id
    grand: int = ws.at("parent", "parent")
    max_iter = None

    def init(vertex):
        return 0

    def apply(old):
        return old.grand


@ws.vertex_program
class Listed:
    """Messages in their order: of sources, then of edges, which differ along reversed edges."""

    hash: ws.int64
    whole: ws.edge(ws.int64)

    def init(vertex):
        return vertex + 1

    def compute(src, edge):
        return src.hash + edge.whole

    def gather_list(old, messages):
        found = old.hash % 7
        for one in messages:
            found = (found * 31 + one) % 1009
        return found

    def apply(gathered):
        return gathered


def ranks(n: int) -> dict[str, Any]:
    return {"rank": {v: v * 7 % 23 for v in range(n)}}


def from_examples(name: str) -> Any:
    """Import an example as a module."""
    spec = importlib.util.spec_from_file_location(f"phased_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


Dependencies = from_examples("phases").Dependencies


def from_first(n: int) -> dict[str, Any]:
    return {"start": 0}


def from_last(n: int) -> dict[str, Any]:
    return {"start": [v for v in (n - 1, 3) if 0 <= v < n][:1]}


PHASED = [
    Entry("weak components", ws.phases(Along, ws.phase(Along, "out")), (int, int), compiled=True),
    Entry(
        "hits",
        ws.phases(ws.phase(Authorities, supersteps=1), ws.phase(Hubs, "out", 1), rounds=3),
        (float, float),
        tolerance=1e-12,
        compiled=True,
    ),
    Entry(
        "hits until",
        ws.phases(
            ws.phase(Authorities, supersteps=1), ws.phase(Hubs, "out", 1),
            rounds=9, until=ws.l1_norm("hub"), tol=1e-3,
        ),
        (float, float),
        tolerance=1e-12,
    ),
    Entry(
        "strong component",
        ws.phases(Reached, ws.phase(Reaching, "out")),
        (bool, int),
        from_last,
        compiled=True,
    ),
    Entry(
        "there and back",
        ws.phases(Distance, ws.phase(Return, direction="out"), rounds=1),
        (float, float),
        from_first,
        compiled=True,
        needs_vertex=True,
    ),
    Entry(
        "dependencies",
        Dependencies,
        (float, float),
        from_first,
        tolerance=1e-12,
        compiled=True,
        needs_vertex=True,
    ),
    Entry(
        "independent set",
        ws.phases(
            ws.phase(LeastAround, supersteps=1), ws.phase(LeastAround, "out", 1),
            ws.phase(Winners, supersteps=1), Losers, ws.phase(Losers, "out"),
        ),
        (int, int, int, bool, bool),
        ranks,
        compiled=True,
    ),
    Entry(
        "lists",
        ws.phases(ws.phase(Listed, supersteps=1), ws.phase(Listed, "out", 2), rounds=2),
        (int, int),
        compiled=True,
    ),
    Entry(
        "trees",
        ws.phases(ws.phase(Hook, supersteps=1), ws.phase(Hook, "out", 1), Shortcut),
        (int, int, int),
        compiled=True,
    ),
    Entry(
        "drift",
        ws.phases(Drift, ws.phase(Drift, "out", 3), ws.phase(Settle, supersteps=4), rounds=2),
        (float, float, float),
        lambda n: {"factor": 0.25},
        tolerance=1e-12,
        compiled=True,
    ),
]  # fmt: skip
