"""`ws.check`: whether a program has the same meaning in every configuration.

The program runs as the reference, superstep by superstep, and in every other available
configuration.  States are compared after one, two and three supersteps, and at the end.  The
program's declarations are tested on the states that occur.
"""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cugraph_ws.arguments import check_count, shown
from cugraph_ws.contract import choose_engine
from cugraph_ws.errors import EngineError, InputError, ProgramError
from cugraph_ws.execution.check_edges import compare_pairs
from cugraph_ws.execution.check_walks import compare_walks
from cugraph_ws.execution.dask_frames import refuse_cluster
from cugraph_ws.execution.driver import loop_of
from cugraph_ws.execution.options import Options, Plan
from cugraph_ws.execution.partitioned_loop import PartitionedLoop
from cugraph_ws.execution.phased_loop import PhasedLoop
from cugraph_ws.execution.run import program_graph
from cugraph_ws.execution.vertex_loop import VertexLoop
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.edges import AUTO
from cugraph_ws.graph.graph import Graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.refinement import ExchangeMethod
from cugraph_ws.program.binding import BoundProgram
from cugraph_ws.program.budget import OutOfSteps
from cugraph_ws.program.conventions import names_columns
from cugraph_ws.program.declarations import VertexParameter
from cugraph_ws.program.edge_program import EdgeProgram
from cugraph_ws.program.inference import Inference
from cugraph_ws.program.phases import Phases, programs_of
from cugraph_ws.program.trial import Trial
from cugraph_ws.program.vector_program import VectorProgram
from cugraph_ws.program.vertex_program import VertexProgram
from cugraph_ws.program.walk_program import WalkProgram
from cugraph_ws.runtime.arrays import as_host

__all__ = ["CheckReport", "Difference", "check"]

Array = npt.NDArray[Any]
States = dict[str, Array]

LONGEST = 200  # maximum number of supersteps of the reference
OUT_OF_ORDER = 50 * LONGEST  # limit of an asynchronous run, which is compared at its end
COMPARED = (1, 2, 3)  # supersteps after which states are compared
EXCHANGES: tuple[ExchangeMethod, ...] = ("vr", "ms", "all")
_EDGE = "edge."  # prefix of the names of fields of the state of edges
TRIED = 40  # vertices on which declarations are tested


@dataclass(frozen=True)
class Difference:
    """Where a run differs from the reference.

    Attributes
    ----------
    configuration : str
        The run, as arguments of `ws.run`; or the declaration.
    superstep : int
        Number of supersteps done.
    vertex : str
        The vertex's id, as text; for an edge program, both ids of the pair.
    field : str
        The state field.
    expected, found : Any
        The reference's value, and the run's.
    """

    configuration: str
    superstep: int
    vertex: str
    field: str
    expected: Any
    found: Any

    def __str__(self) -> str:
        return (
            f"{self.configuration}: after superstep {self.superstep}, vertex {self.vertex}, "
            f"{self.field}: expected {self.expected!r}, found {self.found!r}"
        )


@dataclass
class CheckReport:
    """Result of `ws.check`; its truth value is whether nothing differs.

    Attributes
    ----------
    program : str
        Its name.
    vertices, edges : int
        Size of the graph, or of the sample that was checked.
    sampled : bool
        Whether a sample was checked.
    supersteps : int
        Number of supersteps of the reference.
    converged : bool
        Whether the reference converged.
    configurations : list of str
        The runs that were compared.
    declined : dict of str
        Runs that the library refuses for this program, and why.
    differences : list of Difference
        The first difference of each run and of each declaration, sorted by superstep.

    Examples
    --------
    >>> import cugraph_ws as ws
    >>> report = ws.check(ws.SSSP, ws.datasets.karate_club(), start=0)
    >>> bool(report), report.supersteps, "cpu" in report.configurations[0]
    (True, 3, True)
    """

    program: str
    vertices: int
    edges: int
    sampled: bool
    supersteps: int
    converged: bool
    configurations: list[str] = field(default_factory=list)
    declined: dict[str, str] = field(default_factory=dict)
    differences: list[Difference] = field(default_factory=list)

    def __bool__(self) -> bool:
        return not self.differences

    def __str__(self) -> str:
        of = "a sample of " if self.sampled else ""
        lines = [
            f"{self.program} on {of}{self.vertices} vertices and {self.edges} edges, {self.supersteps} "
            f"supersteps of the reference{'' if self.converged else ', which did not converge'}: "
            f"{len(self.configurations)} runs compared, {len(self.declined)} declined, "
            f"{len(self.differences)} differ"
        ]
        return "\n".join([*lines, *map(str, self.differences)])


@names_columns
def check(
    program: VertexProgram | Phases | EdgeProgram | WalkProgram | type[Any],
    graph: Graph[FrameT] | FrameT,
    *,
    source_column: str | list[str] = "source",
    destination_column: str | list[str] = "destination",
    weight_column: Any = AUTO,
    directed: bool = True,
    max_iter: int | None = None,
    max_edges: int = 1_000,
    **parameters: Any,
) -> CheckReport:
    """Compare all of a program's runs with the reference.

    Parameters
    ----------
    program : VertexProgram, Phases, EdgeProgram or WalkProgram
        A class decorated with `ws.vertex_program` or `ws.edge_program`, a function decorated with `ws.walk`,
        or a result of `ws.phases`.
    graph : Graph or DataFrame
        The graph, or an edge frame.
    source_column, destination_column, weight_column, directed
        For an edge frame: see `run`.
    max_iter : int, optional
        Maximum number of supersteps; by default the program's own, else 200.
    max_edges : int
        If the graph has more edges, a sample of it is checked: vertices around those given as
        arguments, and the edges between them.  For an edge program, the most pairs compared;
        for a walk, the most steps, of the first walkers.
    **parameters : Any
        The program's own parameters, as for `run`.

    Returns
    -------
    CheckReport
        True if every run gives the reference's states.  Minima, maxima, integers and booleans must be
        equal; sums of floats and `math` functions of float32 may differ by rounding.

    Raises
    ------
    InputError
        If an argument is invalid.
    ProgramError
        If the program is invalid, or the reference computes a number that its field cannot hold.

    Examples
    --------
    The program says that messages may come in any order, and `apply` forgets what the vertex had:

    >>> import cugraph_ws as ws
    >>> @ws.vertex_program
    ... class Forgetful:
    ...     hops: ws.float64
    ...     combine = min
    ...     asynchronous = True
    ...
    ...     def init(vertex):
    ...         return 1.0 * vertex
    ...
    ...     def compute(src):
    ...         return src.hops + 1.0
    ...
    ...     def apply(old, gathered):
    ...         return gathered
    >>> report = ws.check(Forgetful, ws.datasets.karate_club(), max_iter=5)
    >>> bool(report), report.differences[0].superstep
    (False, 0)
    """
    if not isinstance(program, (VertexProgram, Phases, EdgeProgram, WalkProgram)):
        raise InputError(
            f"program={shown(program)} is not a program; give a class decorated with @ws.vertex_program"
        )
    refuse_cluster(graph)
    check_count("max_edges", max_edges, least=1)
    if max_iter is not None:
        check_count("max_iter", max_iter)
    if isinstance(program, VertexProgram):
        program = program.current()
    whole_graph = program_graph(
        program, graph, source_column, destination_column, weight_column, directed
    )
    if isinstance(program, (EdgeProgram, WalkProgram)):
        return _check_at_once(program, whole_graph, parameters, max_iter, max_edges)
    bound = [part.bound for part in _bound_parts(program, whole_graph, parameters)]
    sampled = whole_graph.number_of_arcs > max_edges
    names = np.arange(whole_graph.number_of_vertices)
    tried, arguments = whole_graph, dict(parameters)
    if sampled:
        tried, arguments, names = _sample(bound, whole_graph, parameters, max_edges)
    return _Check(program, whole_graph, tried, arguments, names, max_iter, sampled=sampled).run()


def _check_at_once(
    program: EdgeProgram | WalkProgram, graph: Any, parameters: Any, max_iter: Any, most: int
) -> CheckReport:
    """Compare the runs of an edge program or a walk, which has no supersteps."""
    if max_iter is not None:
        raise InputError(f"max_iter={max_iter}: {program.name} has no supersteps; leave it out")
    if isinstance(program, WalkProgram):
        comparison = compare_walks(program.current(), graph, parameters, most)
    else:
        comparison = compare_pairs(program.current(), graph, parameters, most)
    return CheckReport(
        program=program.name,
        vertices=graph.number_of_vertices,
        edges=graph.number_of_arcs,
        sampled=comparison.sampled,
        supersteps=1,
        converged=True,
        configurations=comparison.configurations,
        declined=comparison.declined,
        differences=[
            Difference(
                difference.configuration,
                1,
                difference.pair,
                difference.field,
                difference.expected,
                difference.found,
            )
            for difference in comparison.differences
        ],
    )


class _Check:
    """One comparison; see `check`.  `names` has the checked vertices' numbers in the whole graph."""

    def __init__(
        self,
        program: VertexProgram | Phases,
        whole_graph: GraphView,
        graph: GraphView,
        arguments: Mapping[str, Any],
        names: Array,
        max_iter: int | None,
        *,
        sampled: bool,
    ) -> None:
        self.program = program
        self.whole = whole_graph
        self.graph = graph
        self.arguments = arguments
        self.names = names
        self.limit = program.max_iter if isinstance(program, VertexProgram) else None
        self.most = max_iter if max_iter is not None else self.limit
        self.parts = _bound_parts(program, graph, arguments)
        self.narrow_math = any(_has_narrow_math(loop.bound) for loop in self.parts)
        self.places: list[tuple[int, int]] = []  # phase, number in it
        states, self.ended = self.reference()
        self.states = states
        self.report = CheckReport(
            program=program.name,
            vertices=graph.number_of_vertices,
            edges=graph.number_of_arcs,
            sampled=sampled,
            supersteps=len(states) - 1,
            converged=self.ended,
        )

    def loop(self, options: Options) -> VertexLoop | PhasedLoop | PartitionedLoop:
        """Return a started run."""
        loop: VertexLoop | PhasedLoop | PartitionedLoop
        # Superstep by superstep
        options = replace(
            options, predecessors=False, plan=replace(options.plan, extrapolate="never")
        )
        loop = _unstarted(self.program, self.arguments, options)
        if options.plan.partitions > 1:
            loop = PartitionedLoop(loop, options.plan.partitions)
        loop.start(self.graph)
        return loop

    def reference(self) -> tuple[list[States], bool]:
        """Return the reference's states around each superstep, and whether it converged."""
        most = LONGEST if self.most is None else min(self.most, LONGEST)
        loop = self.loop(Options(max_iter=most, engine="python", plan=Plan(fused=False)))
        states = [_copied(loop)]
        while not _ended(loop, len(states) - 1) and not loop.diverged and len(states) <= most:
            self.places.append(
                loop.place if isinstance(loop, PhasedLoop) else (0, len(self.places))
            )
            loop.step()
            states.append(_copied(loop))
        return states, loop.converged

    def run(self) -> CheckReport:
        """Run and compare everything."""
        for options in self.configurations():
            self.compare(options)
        self.try_declarations()
        self.report.differences.sort(key=lambda difference: difference.superstep)
        return self.report

    def configurations(self) -> Iterator[dict[str, Any]]:
        """Yield the runs to compare, as options of `run`."""
        engines = ["cpu"]
        try:
            choose_engine("cuda")
            engines.append("cuda")
        except EngineError as error:
            self.report.declined["engine='cuda'"] = str(error)
        for engine in engines:
            for direction in ("auto", "push", "pull", "gather"):
                yield {"engine": engine, "plan": Plan(direction=direction)}
            yield {"engine": engine, "plan": Plan(fused=False)}
            yield {"engine": engine, "plan": Plan(in_place=False)}
            yield {"engine": engine, "plan": Plan(direction="push", priorities=False)}
            yield {"engine": engine, "plan": Plan(direction="push", fused=False)}
        counts = range(2, 1 + min(4, self.graph.number_of_vertices))
        for parts, exchange in itertools.product(counts, EXCHANGES):
            yield {"engine": "cpu", "plan": Plan(partitions=parts, exchange=exchange)}
        if len(engines) > 1 and counts:
            yield {"engine": "cuda", "plan": Plan(partitions=2)}

    def compare(self, options: dict[str, Any]) -> None:
        """Compare a run's states after a few supersteps and at its end, or record its refusal."""
        name = ", ".join(f"{key}={value!r}" for key, value in options.items())
        last = len(self.states) - 1
        limits: list[int | None] = [k for k in COMPARED if k <= last]
        if self.report.converged and self.limit is None:
            limits.append(None)
        elif last > max(COMPARED):
            limits.append(last)
        try:
            for limit in limits:
                loop = self.loop(Options(max_iter=limit, **options))
                number, most = 0, OUT_OF_ORDER if limit is None else limit
                while not _ended(loop, number) and number < most:
                    number += len(loop.step().history or [0])
                at = last if limit is None else limit
                differing = self.first_difference(name, at, _all_of(loop), self.states[at])
                if differing is not None:
                    self.report.differences.append(differing)
                    break
        except InputError as error:
            self.report.declined[name] = str(error)
            return
        self.report.configurations.append(name)

    def first_difference(
        self, name: str, superstep: int, computed: States, expected: States
    ) -> Difference | None:
        """Return the first vertex with a different state."""
        for column in self.program.state:
            column_computed, column_expected = as_host(computed[column]), expected[column]
            differing = ~self.alike(column_computed, column_expected, on_gpu="'cuda'" in name)
            differs = differing.reshape(len(differing), -1).T.any(axis=0)  # of a vector, an element
            if differs.any():
                place = int(differs.argmax())
                return self.difference(
                    name, superstep, place, column, column_expected[place], column_computed[place]
                )
        for column in getattr(self.program, "edge_state", ()):
            if _EDGE + column not in expected:  # what `scatter` sends
                continue
            column_computed, column_expected = (
                as_host(computed[_EDGE + column]),
                expected[_EDGE + column],
            )
            differs = ~self.alike(column_computed, column_expected, on_gpu="'cuda'" in name)
            if differs.any():
                place = int(differs.argmax())
                sources, destinations = (as_host(ends) for ends in self.graph.arc_ends())
                ends = [
                    self.whole.describe(int(self.names[ends[place]]))
                    for ends in (sources, destinations)
                ]
                return Difference(
                    name, superstep, f"{ends[1]}, its edge from {ends[0]}", _EDGE + column,
                    _plain(column_expected[place]), _plain(column_computed[place]),
                )  # fmt: skip
        return None

    def alike(self, computed: Array, expected: Array, *, on_gpu: bool) -> npt.NDArray[np.bool_]:
        """Return a mask of the vertices at which both values are the same.

        Sums of floats may differ by rounding; so may math functions on a GPU, and those of float32,
        which are float32 when compiled.
        """
        same = computed == expected
        if expected.dtype.kind == "f":
            same |= np.isnan(computed) & np.isnan(expected)
            adds = any(
                member.combine in ("sum", "custom")
                or isinstance(member, VectorProgram)  # sums of elements
                for member in programs_of(self.program)
            )
            if adds or on_gpu or self.narrow_math:
                near = 1e-4 if expected.dtype.itemsize == 4 or self.narrow_math else 1e-9
                with np.errstate(invalid="ignore"):
                    same |= np.isclose(computed, expected, rtol=near, atol=0.0)
        result: npt.NDArray[np.bool_] = same
        return result

    def difference(
        self, name: str, superstep: int, place: int, column: str, expected: Any, computed: Any
    ) -> Difference:
        vertex = self.whole.describe(int(self.names[place]))
        return Difference(name, superstep, vertex, column, _plain(expected), _plain(computed))

    # ------------------------------------------------------------------------ declarations

    def try_declarations(self) -> None:
        """Test the programs' declarations on the states that occurred, with their plain functions.

        What `starts` and `settled` return is no claim about a program but a part of it: runs are compared.
        """
        for part, loop in enumerate(self.parts):
            bound, program = loop.bound, loop.bound.program
            if program.jumps or program.scatters:  # messages depend on what is not in states
                continue
            custom = program.combine == "custom" and program.fold is None
            if not (program.asynchronous or custom):
                continue
            of = "" if len(self.parts) == 1 else f" of {loop.name}"
            trier = _Trier(bound, loop.graph)
            for superstep, (place, number) in enumerate(self.places):
                state = self.states[superstep]
                if place != part:
                    continue
                if program.asynchronous:
                    self.note(
                        "asynchronous" + of, superstep, state, trier.one_by_one(state, number)
                    )
                if custom:
                    self.note("combine" + of, superstep, state, trier.combined(state, number))

    def note(
        self, name: str, superstep: int, state: States, differing: tuple[int, Any, Any] | None
    ) -> None:
        """Record the first vertex that violates a declaration."""
        if differing is None or any(one.configuration == name for one in self.report.differences):
            return
        place, expected, computed = differing
        self.report.differences.append(
            self.difference(
                name, superstep, place, ", ".join(self.program.state), expected, computed
            )
        )


class _Trier:
    """Tests a program's declarations, with its functions as plain Python."""

    def __init__(self, bound: BoundProgram, graph: GraphView) -> None:
        self.bound = bound
        self.program = bound.program
        self.constants = [as_host(constant) for constant in bound.constants]
        types = bound.types
        self.types = Inference(types.message, types.tuple_message)
        self.trial = Trial(bound.program, types.state, bound.values, graph.number_of_vertices)
        csc = graph.csc
        self.offsets, self.indices = csc.offsets, csc.indices
        self.edges = [
            None if column is None else graph.edge_values(column) for column in bound.edge_columns
        ]

    def vertex(self, state: States, place: int) -> Any:
        """Return a vertex in the form in which the program's functions get it."""
        constants = [
            constant[0 if uniform else place]
            for constant, uniform in zip(self.constants, self.bound.types.uniform, strict=True)
        ]
        values = [*(state[name][place] for name in self.program.state), *constants]
        return self.trial.Vertex(*(_seen(value) for value in values))

    def edge(self, state: States, arc: int) -> Any:
        """Return an edge in the form in which `compute` gets it."""
        stand_ins = self.bound.types.missing_edges
        attributes = [
            _seen(column[arc]) if column is not None else stand_in
            for column, stand_in in zip(self.edges, stand_ins, strict=True)
        ]
        edge_states = [_seen(state[_EDGE + name][arc]) for name in self.program.edge_state]
        return self.trial.Edge(*attributes, *edge_states)

    def messages(self, state: States, place: int) -> list[Any]:
        """Return the messages of all in-neighbours."""
        target = self.vertex(state, place)
        return [
            self.trial.message(
                src=self.vertex(state, int(self.indices[arc])),
                dst=target,
                edge=self.edge(state, arc),
            )
            for arc in range(int(self.offsets[place]), int(self.offsets[place + 1]))
        ]

    def applied(self, vertex: Any, message: Any) -> Any:
        """Return a vertex after a message is applied."""
        return self.trial.after(vertex, self.trial.applied(vertex, message))

    def at(self, superstep: int) -> None:
        """Set the superstep number that functions read."""
        self.trial.p = self.trial.p._replace(superstep=np.int64(superstep))

    def places(self) -> range:
        """Return the vertices that are tested, evenly spaced over all."""
        n = len(self.offsets) - 1
        return range(0, n, max(1, n // TRIED))

    def one_by_one(self, state: States, superstep: int) -> tuple[int, Any, Any] | None:
        """Find a vertex where messages applied one by one, in reverse or repeatedly change the result."""
        return self.first(self.repeated, state, superstep)

    def combined(self, state: States, superstep: int) -> tuple[int, Any, Any] | None:
        """Find a vertex whose messages a user's combine combines differently in another order."""
        return self.first(self.reordered, state, superstep)

    def first(
        self,
        test: Callable[[Any, list[Any]], tuple[Any, Any] | None],
        state: States,
        superstep: int,
    ) -> tuple[int, Any, Any] | None:
        """Return the first tested vertex with what a test of it and its messages expects and finds.

        A vertex is left out if a function fails there, or takes too many steps: what is tried may not occur.
        """
        self.at(superstep)
        for place in self.places():
            try:
                messages = self.messages(state, place)
                result = test(self.vertex(state, place), messages) if messages else None
            except (OutOfSteps, ProgramError):
                continue
            if result is not None:
                return place, *result
        return None

    def repeated(self, vertex: Any, messages: list[Any]) -> tuple[Any, Any] | None:
        """Compare messages applied one by one, in reverse and repeatedly, with all of them combined."""
        width = len(self.program.state)
        if self.program.combine == "any":  # test only messages that change the state
            outcomes = [self.applied(vertex, message)[:width] for message in messages]
            telling = [outcome for outcome in outcomes if outcome != vertex[:width]]
            differs = [outcome for outcome in telling if outcome != telling[0]]
            return (telling[0], differs[0]) if differs else None
        pick: Callable[..., Any] = max if self.program.combine == "max" else min
        expected = self.applied(vertex, pick(messages))[:width]
        after = vertex
        for message in (*reversed(messages), *messages):
            after = self.applied(after, message)
        return None if _alike(after[:width], expected) else (expected, after[:width])

    def reordered(self, vertex: Any, messages: list[Any]) -> tuple[Any, Any] | None:
        """Compare messages combined from the left with the same from the right, and with the identity."""
        listed = [self.trial.cast(value, self.types) for value in messages]
        nothing = self.trial.cast(self.program.identity, self.types)
        forth = reduce(self.merged, listed)
        for rearranged in (listed[::-1], [*listed, nothing], [nothing, *listed]):
            back = reduce(self.merged, rearranged)
            if not _alike(
                *(value if isinstance(value, tuple) else (value,) for value in (forth, back))
            ):
                return forth, back
        return None

    def merged(self, first: Any, second: Any) -> Any:
        """Return two messages combined by the user's function."""
        return self.trial.combine(first, second, self.types)


def _has_narrow_math(bound: Any) -> bool:
    """Return whether a program may call functions of `math` with float32."""
    types = bound.types
    kinds = (*types.state, *types.constants, *types.edges, *types.parameters)
    calls = any("math." in source.text for source in bound.program.sources.values())
    return calls and "float32" in kinds


def _seen(value: Any) -> Any:
    """Return a number in the type in which programs see it."""
    return np.int64(value) if isinstance(value, np.integer) else value


def _plain(value: Any) -> Any:
    """Return NumPy's numbers as Python's."""
    if isinstance(value, tuple):
        parts = tuple(map(_plain, value))
        return parts[0] if len(parts) == 1 else parts
    return value.tolist() if isinstance(value, (np.generic, np.ndarray)) else value


def _alike(first: tuple[Any, ...], second: tuple[Any, ...]) -> bool:
    return all(
        a == b or (a != a and b != b) or math.isclose(a, b, rel_tol=1e-6)
        for a, b in zip(first, second, strict=True)
    )


def _unstarted(
    program: VertexProgram | Phases, arguments: Mapping[str, Any], options: Options
) -> VertexLoop | PhasedLoop:
    """Return the loop of a program, or of phases."""
    loop: VertexLoop | PhasedLoop = loop_of(program, options, dict(arguments))  # type: ignore[assignment]
    return loop


def _ended(loop: VertexLoop | PhasedLoop | PartitionedLoop, number: int) -> bool:
    """Return whether a loop has converged, or has done all of its supersteps."""
    return loop.converged or (loop.max_iter is not None and number >= loop.max_iter)


def _bound_parts(
    program: VertexProgram | Phases, graph: GraphView, arguments: Mapping[str, Any]
) -> tuple[VertexLoop, ...]:
    """Return loops bound to a graph: that of a program, or one for each phase."""
    loop = _unstarted(program, arguments, Options(engine="python"))
    loop.bind(graph)
    return loop.loops if isinstance(loop, PhasedLoop) else (loop,)


def _copied(loop: VertexLoop | PhasedLoop | PartitionedLoop) -> States:
    return {name: np.array(as_host(column)) for name, column in _all_of(loop).items()}


def _all_of(loop: VertexLoop | PhasedLoop | PartitionedLoop) -> dict[str, Any]:
    """Return the states of vertices and, with names that begin with `_EDGE`, of edges."""
    edge_arrays = {} if isinstance(loop, PhasedLoop) else loop.edges()
    edges = {_EDGE + name: column for name, column in edge_arrays.items()}
    return {**loop.arrays(), **edges}


def _sample(
    bound: Sequence[BoundProgram], graph: GraphView, parameters: Mapping[str, Any], max_edges: int
) -> tuple[GraphView, dict[str, Any], Array]:
    """Return a sample of the graph, the programs' arguments on it, and its vertices' numbers."""
    csc = graph.csc
    seeds = np.concatenate([_named_vertices(bound_program) for bound_program in bound])
    chosen = _around(graph, seeds, max_edges)
    place = np.full(graph.number_of_vertices, -1, np.int64)
    place[chosen] = np.arange(len(chosen))
    rows = np.repeat(np.arange(graph.number_of_vertices), np.diff(csc.offsets))
    arcs = np.flatnonzero((place[rows] >= 0) & (place[csc.indices] >= 0))
    columns = {
        name: column
        for bound_program in bound
        for name, column in zip(
            bound_program.program.edges, bound_program.edge_columns, strict=True
        )
    }
    weight = columns.get("weight") or graph.weight
    part = Graph.from_arrays(
        place[csc.indices[arcs]],
        place[rows[arcs]],
        None if weight is None else graph.edge_values(weight)[arcs],
        vertices=pa.table({"vertex": np.arange(len(chosen))}),
        attributes={
            name: graph.edge_values(column)[arcs]
            for name, column in columns.items()
            if column is not None and name != "weight"
        },
    )
    arguments = dict(parameters)
    for bound_program in bound:
        program = bound_program.program
        for (name, parameter), value in zip(
            program.parameters.items(), bound_program.values, strict=True
        ):
            if isinstance(parameter, VertexParameter):
                arguments[name] = int(place[int(value)])
        for (name, constant), values in zip(
            program.constants.items(), bound_program.constants, strict=True
        ):
            argument = getattr(constant, "argument", None) or name
            if parameters.get(argument) is not None and len(values) == graph.number_of_vertices:
                arguments[argument] = as_host(values)[chosen]
    return part, arguments, chosen


def _named_vertices(bound: BoundProgram) -> Array:
    """Return the numbers of the vertices given as arguments, or the first vertex if there are none."""
    named = [
        [int(value)]
        for value, declared in zip(bound.values, bound.program.parameters.values(), strict=True)
        if isinstance(declared, VertexParameter)
    ]
    named += [
        np.flatnonzero(as_host(constant))[:8].tolist()
        for constant in bound.constants
        if as_host(constant).dtype == np.bool_ and constant.size > 1
    ]
    numbers_named = [number for numbers in named for number in numbers]
    return np.array(numbers_named or [0], np.int64)


def _around(graph: GraphView, seeds: Array, max_edges: int) -> Array:
    """Return vertices around the seeds, breadth first, joined by about `max_edges` edges."""
    n = graph.number_of_vertices
    chosen, queued = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    queue = deque(dict.fromkeys(seeds.tolist()))
    queued[list(queue)] = True
    arcs = vertices = 0
    while arcs < max_edges and vertices < 4 * max_edges:
        if not queue:  # a component is exhausted
            queue.extend(np.flatnonzero(~queued)[:1].tolist())
            if not queue:
                break
            queued[queue[0]] = True
        vertex = queue.popleft()
        around = np.concatenate(
            [rows.indices[rows.offsets[vertex] : rows.offsets[vertex + 1]] for rows in (graph.csr, graph.csc)]
        )  # fmt: skip
        arcs += int(np.count_nonzero(chosen[around]))
        vertices += 1
        chosen[vertex] = True
        fresh = np.unique(around[~queued[around]])[:max_edges]
        queued[fresh] = True
        queue.extend(fresh.tolist())
    return np.flatnonzero(chosen)
