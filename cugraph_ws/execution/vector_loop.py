"""A vertex program with vectors as a loop of dense supersteps over a graph, or over a rank's shard of one."""

from __future__ import annotations

import copy
import math
from collections import namedtuple
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.backends import loops
from cugraph_ws.contract import choose_engine, folded_terms
from cugraph_ws.errors import InputError
from cugraph_ws.execution.loop import Column, Loop, Step
from cugraph_ws.execution.options import Options
from cugraph_ws.execution.plain_errors import naming_errors
from cugraph_ws.execution.profile import read_by
from cugraph_ws.execution.vertex_loop import as_columns
from cugraph_ws.graph.footprints import Sizes
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.cut import own_constants
from cugraph_ws.partition.part import ProgramPart
from cugraph_ws.partition.shard import ShardGraph
from cugraph_ws.program.declarations import ScalarType
from cugraph_ws.program.typed import typed_function
from cugraph_ws.program.vector_binding import bind_vectors
from cugraph_ws.program.vector_program import VectorProgram, length_of
from cugraph_ws.runtime.arrays import as_host
from cugraph_ws.runtime.launch_times import is_profiled, note_rows
from cugraph_ws.runtime.looks import without_looks
from cugraph_ws.runtime.saved_state import SavedState

__all__ = ["VectorLoop"]

Array = npt.NDArray[Any]

SAME = (False, "gather", "ms", "never")  # values of a plan that name what is so anyway


class VectorLoop(Loop):
    """Runs a vertex program with vectors; see `cugraph_ws.execution.loop.Loop` for the interface.

    Parameters
    ----------
    program : VectorProgram
    arguments : mapping
        Its parameters, vertex values and vertex sets.
    options : Options
        Options of the run.

    Attributes
    ----------
    engine : str
        The requested engine; once bound, the engine in use.
    bound : BoundVectors
        The program bound to the graph, once bound.
    """

    ends_within_steps = True
    by_arc_state: tuple[str, ...] = ()

    def __init__(
        self, program: VectorProgram, arguments: Mapping[str, Any], options: Options
    ) -> None:
        self.program = program.current()
        self.name, self.may_not_end = program.name, not program.built_in
        for name, value in options.plan.chosen().items():
            if name != "partitions" and value not in SAME:
                raise InputError(
                    f"{name}={value!r}: {self.name} has vectors, so that every superstep gathers in order; leave it "
                    "out"
                )
        self.max_iter = program.max_iter if options.max_iter is None else options.max_iter
        self.tol = program.tol if options.tol is None else options.tol
        if self.tol is not None and program.residual is None:
            raise InputError(
                f"tol={self.tol!r}: {self.name} declares no residual to compare it with; leave it out"
            )
        self.engine: str = options.engine
        self._arguments = arguments
        self._number = 0
        self._active, self._residual = 0, math.inf
        self._sums = np.zeros(len(program.aggregates))
        self._until: Callable[..., Any] | None = None

    @property
    def outputs(self) -> dict[str, bool]:
        """The result's columns besides the ids, and whether each holds vertices."""
        return {
            column: declared.holds_vertex
            for name, declared in self.program.state.items()
            if declared.visible
            for column in columns_of(name, length_of(declared))
        }

    def memory(self, sizes: Sizes) -> float:
        """Return the bytes that the run takes: the states before and after a superstep, the result, and what it reads."""
        program = self.program
        state = sum(map(bytes_of, program.state.values()))
        constants = sum(bytes_of(declared) + 4 for declared in program.constants.values())
        ids = 16
        return (3 * state + constants + 2 + ids) * sizes.vertices + 8 * len(
            program.edges
        ) * sizes.arcs

    # ---------------------------------------------------------------------------- the run

    def start(self, graph: GraphView, *, on_device: bool = False) -> None:
        """Bind the program, and write the first states; collective."""
        self.bind(graph)
        self._begin(self.bound, graph)

    def bind(self, graph: GraphView, *, on_host: bool = False) -> None:
        """Bind the program to a graph; collective."""
        self.engine = choose_engine(self.engine, graph)
        self._graph = graph
        self.bound = bind_vectors(self.program, graph, self._arguments)

    def on_shard(self, shard: ShardGraph) -> VectorLoop:
        """Return the same run of a whole graph, started on a shard cut out of it; collective."""
        loop = copy.copy(self)
        bound: Any = self.bound
        loop._begin(own_constants(bound, shard), shard)
        return loop

    def _begin(self, bound: Any, graph: GraphView) -> None:
        """Write the first states; collective."""
        if not self.program.reads_edges:
            graph = graph.without_edges()
        self.bound, self._graph = bound, graph
        plain = self.engine == "python"
        on_device = self.engine == "cuda"
        self._part = ProgramPart(graph, bound, on_device=on_device)
        self._supersteps = loops("vectors", on_device=on_device).Supersteps(
            bound, self._part, plain=plain
        )
        with naming_errors(self.program, graph):
            self._supersteps.start(self._values)
        self._active = graph.number_of_vertices
        if not self.program.all_send:
            self._count(int(np.count_nonzero(as_host(self._supersteps.active[: self._part.owned]))))
        self._add_up()

    @property
    def _values(self) -> tuple[Any, ...]:
        """What the program reads as `p`."""
        counts = np.int64(self._graph.number_of_vertices), np.int64(self._number)
        return (*self.bound.values, *map(np.float64, self._sums), *counts)

    def _count(self, active: int) -> None:
        self._active = self._part.halo.totals(active)[0]

    def _add_up(self) -> None:
        """Fold the aggregates over all ranks; collective."""
        if self.program.aggregates:
            with naming_errors(self.program, self._graph):
                own = self._supersteps.terms(self._values)
            shares = self._part.halo.allgather(own.tolist())
            self._sums = folded_terms(
                [np.array(share) for share in shares], self.program.aggregate_folds
            )

    @property
    def converged(self) -> bool:
        """Whether no vertex is active any more, the residual is within `tol`, or the program's `until` is true."""
        if self.diverged:
            return False
        if self._active == 0 or (self.tol is not None and self._residual <= self.tol):
            return True
        return "until" in self.program.functions and self._is_until()

    def _is_until(self) -> bool:
        """Return what the program's `until` says of the aggregates before the next superstep."""
        source = self.program.sources["until"]
        if self._until is None:
            self._until = typed_function(source, self.name)
        # A tuple type with names that are known only at run time
        parameters: Any = namedtuple("Parameters", self.program.parameter_names)  # type: ignore[misc]
        return bool(self._until(*[parameters(*self._values)] * len(source.parameters)))

    @property
    def diverged(self) -> bool:
        """Whether the residual's field is no longer finite."""
        return self._number > 0 and not math.isfinite(self._residual) and self._measures

    @property
    def _measures(self) -> bool:
        return self.program.residual is not None

    def step(self) -> Step:
        """Run the next superstep, and send the states of boundary vertices."""
        part, halo = self._part, self._part.halo
        with naming_errors(self.program, self._graph):
            active, total, greatest = self._supersteps.superstep(self._values)
        self._note()
        with without_looks():
            halo.update(*self._supersteps.state, self._supersteps.active)
            self._number += 1
            self._add_up()
        self._active, arcs, bytes_sent = halo.totals(active, part.arcs)
        if self._measures:
            changes = np.array(halo.allgather((total, greatest)))
            norm = self.program.residual
            is_sum = norm is not None and norm.kind == "l1"
            self._residual = float(changes[:, 0].sum() if is_sum else changes[:, 1].max())
        return Step(
            self._active, arcs, self._residual if self._measures else math.nan,
            direction="gather", filter="all" if self.program.all_send else "bitmap", bytes_sent=bytes_sent,
        )  # fmt: skip

    def _note(self) -> None:
        """Note, for a profile, what a superstep moves: rows of numbers for each arc and vertex."""
        if not is_profiled():
            return
        program, part = self.program, self._part
        state = dict(zip(program.state, map(row_bytes, self._supersteps.state), strict=True))
        named = zip(program.constants, part.constants, self.bound.types.uniform, strict=True)
        constants = {name: row_bytes(array) for name, array, uniform in named if not uniform}
        edges, mark = sum(array.itemsize for array in part.edges("csc")), 1  # of an active vertex
        arc = edges + read_by(program, "compute", "src", state | constants)
        vertex = sum(state.values()) + read_by(program, "apply", "old", constants)
        if not program.all_send:
            arc += mark
        note_rows(part.csc, arc=arc, vertex=vertex, written=sum(state.values()) + mark)

    def repetition(self) -> None:
        """Return no detector of repeated states."""
        return

    # ------------------------------------------------------------------------ checkpoints

    @property
    def by_vertex_state(self) -> tuple[str, ...]:
        """Names of the arrays of `state` with an entry for each vertex."""
        return (*(name for name, _, _ in self._flat()), "_active")

    def _flat(self) -> list[tuple[str, str, int]]:
        """Return the name of each column of the state, its type, and the field's place."""
        state = self.program.state.items()
        return [
            (column, self.bound.types.state[place], place)
            for place, (name, declared) in enumerate(state)
            for column in columns_of(name, length_of(declared))
        ]

    @property
    def arc_inputs(self) -> tuple[str, ...]:
        """Names of the arrays of `inputs` with an entry for each arc."""
        return tuple(self.program.edges)

    def inputs(self) -> dict[str, Any]:
        """Return the program's source and types, its parameters, constants, and edge attributes."""
        bound, program = self.bound, self.program
        constants: dict[str, Any] = {}
        for name, array in zip(program.constants, bound.constants, strict=True):
            if array.ndim == 1:
                constants[name] = array
            else:
                for column, values in zip(columns_of(name, array.shape[1]), array.T, strict=True):
                    constants[column] = np.ascontiguousarray(values)
        edges = zip(program.edges, bound.edge_columns, strict=True)
        return {
            "program": [
                *(source.text for source in program.sources.values()),
                program.combine,
                program.fold,
                program.contributors,
                program.residual,
            ],
            "types": bound.types,
            **dict(zip(program.parameters, bound.values, strict=True)),
            **constants,
            **{name: self._graph.edge_values(column) for name, column in edges if column},
        }

    def state(self) -> dict[str, Array]:
        """Return all arrays that are needed to resume from this point."""
        columns: dict[str, Array] = {}
        for name, array in self.own_state().items():
            columns |= split(name, as_host(array))
        active = as_host(self._part.by_number(self._supersteps.active))
        return {
            **columns,
            "_active": active.astype(np.bool_),
            "_sums": self._sums,
            "_loop": np.array([self._number, self._residual, self._active], np.float64),
        }

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse a state that this run cannot have saved; not collective."""
        for name, kind, _ in self._flat():
            state.like(name, graph.owned, kind)
        state.like("_active", graph.owned, np.bool_)
        state.like("_sums", len(self.program.aggregates), np.float64)
        number, _, active = state.like("_loop", 3, np.float64)
        for count in (number, active):
            is_whole = 0 <= count < 1 << 53 and count == int(count)
            state.require("_loop", is_whole, f"has {count} supersteps or active vertices")

    def restore(self, state: dict[str, Array]) -> None:
        """Resume from what `state` returned, after `start`."""
        supersteps, part = self._supersteps, self._part
        for (name, declared), array in zip(
            self.program.state.items(), supersteps.state, strict=True
        ):
            saved = [state[column] for column in columns_of(name, length_of(declared))]
            own = np.column_stack(saved).reshape(part.owned, *array.shape[1:])
            array[part.order] = part.xp.asarray(own.astype(array.dtype, copy=False))
        supersteps.active[part.order] = part.xp.asarray(state["_active"])
        part.halo.update(*supersteps.state, supersteps.active)
        self._sums = state["_sums"]
        self._number, self._active = int(state["_loop"][0]), int(state["_loop"][2])
        self._residual = float(state["_loop"][1])

    # ---------------------------------------------------------------------------- results

    def own_state(self) -> dict[str, Array]:
        """Return the state fields of the owned vertices, in the order of their numbers."""
        return {
            name: self._part.by_number(array)
            for name, array in zip(self.program.state, self._supersteps.state, strict=True)
        }

    def arrays(self) -> dict[str, Array]:
        """Return the state fields by vertex."""
        return self.own_state()

    def columns(self) -> dict[str, Column]:
        """Return the visible state fields; a vector as a column for each element."""
        return self.as_columns(self.arrays())

    def as_columns(self, arrays: Mapping[str, Array]) -> dict[str, Column]:
        """Return the arrays of `arrays` as columns of a result."""
        columns: dict[str, Column] = {}
        named = as_columns(self.program, arrays, {}, None, self._graph)
        for name, column in named.items():
            is_vector = length_of(self.program.state[name])
            columns |= split(name, arrays[name]) if is_vector else {name: column}
        return columns


def bytes_of(declared: Any) -> int:
    """Return the bytes of what is declared, for each vertex."""
    kind = getattr(declared, "type", None)
    return (kind.dtype.itemsize if isinstance(kind, ScalarType) else 8) * max(
        1, length_of(declared)
    )


def row_bytes(array: Array) -> int:
    """Return the bytes of a vertex in an array: of a number, or of a vector."""
    return int(array.itemsize * math.prod(array.shape[1:]))


def columns_of(name: str, length: int) -> list[str]:
    """Return the names of a field's columns: of a number its own, of a vector one for each element."""
    return [f"{name}_{place}" for place in range(length)] if length else [name]


def split(name: str, array: Array) -> dict[str, Array]:
    """Return the columns of a field's array by their names."""
    if array.ndim == 1:
        return {name: array}
    names = columns_of(name, array.shape[1])
    return {column: array[:, place].copy() for place, column in enumerate(names)}
