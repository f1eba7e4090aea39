"""Binds a vertex program to a graph: types resolved, arguments checked.

All errors of a program on this graph, and of the arguments of its run, are found here, before
the first superstep.
"""

from __future__ import annotations

import ast
import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.arguments import check_count, is_number, is_one_vertex, listed, shown
from cugraph_ws.errors import InputError, ProgramError
from cugraph_ws.frames.base import without_mask
from cugraph_ws.frames.values import is_one_number, number_for_all
from cugraph_ws.graph.duplicates import PARALLEL_RANK
from cugraph_ws.graph.view import ExampleArc, Examples, GraphView
from cugraph_ws.program.analysis import fields_of_vertex_numbers, is_never_nan
from cugraph_ws.program.budget import OutOfSteps
from cugraph_ws.program.codegen import Types
from cugraph_ws.program.declarations import (
    Constant,
    Distribution,
    Edge,
    Floating,
    Jump,
    Like,
    Parameter,
    ScalarType,
    Seed,
    VertexNumber,
    VertexParameter,
    VertexSet,
    VertexValue,
    int64,
)
from cugraph_ws.program.inference import CompileError, Inference, infer, infer_messages
from cugraph_ws.program.infinity import STORED, Kinds, saturated
from cugraph_ws.program.jumps import jump_kind
from cugraph_ws.program.lowering import lowered
from cugraph_ws.program.no_message import only_messages, with_messages
from cugraph_ws.program.order import (
    Facts,
    goes_by_levels,
    may_gather_from_all,
    says_whether_changed,
    why_in_order,
    why_not_proved,
)
from cugraph_ws.program.randomness import RANK, draw_by_parallel_edge
from cugraph_ws.program.rewriting import rewritten
from cugraph_ws.program.scatter import with_message_types
from cugraph_ws.program.scatter_inference import infer_scatter
from cugraph_ws.program.snapshot import bound_before, keep_bound
from cugraph_ws.program.trial import Trial
from cugraph_ws.program.vertex_program import VertexProgram
from cugraph_ws.runtime.arrays import all_true, any_true, array_module
from cugraph_ws.runtime.parsing import parse
from cugraph_ws.runtime.warn import warn_caller

__all__ = [
    "BoundProgram",
    "argument_name",
    "bind",
    "by_own_names",
    "check_edge_values",
    "constant_values",
    "edge_columns",
    "parameter_values",
    "program_on",
    "refuse_unknown",
    "state_types",
    "with_draws_by_row",
]

ANY_WEIGHT = (
    "weight",
    "w",
)  # names of an only attribute that is the graph's weight, whatever its column
# If `compute` has one of these, a message is computed once per vertex instead of once per arc.
DEAR = (ast.Call, ast.Div, ast.FloorDiv, ast.IfExp, ast.If, ast.Mod, ast.Pow)


@dataclass
class BoundProgram:
    """A program with everything that it needs to run on one graph.

    Attributes
    ----------
    program : VertexProgram
        The program.
    types : Types
        Its types on this graph.
    edge_columns : tuple of str or None
        For each declared edge attribute, the graph's attribute that provides it.
    constants : tuple of ndarray
        One array for each declared vertex constant, of shape (n,), or with one entry for all.
    values : tuple
        The run's parameters, as NumPy scalars, without aggregates and built-in ones.
    declared : VertexProgram
        The program as it is written; `program` may have other functions in the place of some.
    facts : Facts
        What proofs about the order of messages may use.
    in_order : str or None
        Why messages must be taken in order; None if the result is the fixpoint, whatever their order and
        repetition: declared by the program, or proved (see `cugraph_ws.program.order`).
    prepares : bool
        Whether a vertex's message is the same on every arc and costs more than reading one field.
    synchronous : bool
        Whether this run never takes messages out of order, so that its states after k supersteps
        are those of the program's definition.
    never_nan : bool
        Whether no state and no message of this run is NaN, if its states begin with `init`.
    """

    program: VertexProgram
    types: Types
    edge_columns: tuple[str | None, ...]
    constants: tuple[npt.NDArray[Any], ...]
    values: tuple[Any, ...]
    declared: VertexProgram
    facts: Facts
    in_order: str | None
    prepares: bool
    synchronous: bool = False
    never_nan: bool = False

    @property
    def order_free(self) -> bool:
        """Whether the result is the fixpoint, whatever the order and repetition of messages."""
        return self.in_order is None

    @property
    def runs_freely(self) -> bool:
        """Whether this run may read states of the same superstep."""
        return self.order_free and not self.synchronous

    @property
    def accumulates(self) -> bool:
        """Whether `apply` may take messages one by one, in any order and repeatedly in this run."""
        return self.runs_freely or self.goes_by_levels

    @property
    def goes_by_levels(self) -> bool:
        """Whether taking messages one by one gives the same states as supersteps do."""
        return goes_by_levels(self.declared, self.facts)

    @property
    def gathers_from_all(self) -> bool:
        """Whether every superstep must gather from all in-neighbours.

        If messages may be applied in any order, a gather from all and one from active in-neighbours give
        the same states, and the planner may choose.
        """
        return self.program.all_send and not self.order_free

    @property
    def may_gather_from_all(self) -> bool:
        """Whether a superstep may gather from all in-neighbours although only active vertices send."""
        return self.order_free and may_gather_from_all(self.declared, self.facts)

    @property
    def prepares_ahead(self) -> bool:
        """Whether messages can be prepared a superstep ahead, since they do not depend on `p`."""
        read = self.program.sources["compute"].attributes.get("p", set())
        if self.program.jumps:  # written between supersteps
            return False
        return self.prepares and read <= set(self.program.parameters) | {"number_of_vertices"}


def bind(
    program: VertexProgram,
    graph: GraphView,
    arguments: Mapping[str, Any],
    *,
    on_device: bool = False,
    plain: bool = False,
    phase: bool = False,
) -> BoundProgram:
    """Resolve a program's types and arguments on a graph.

    Parameters
    ----------
    program : VertexProgram
        The program.
    graph : GraphView
        The graph.
    arguments : mapping
        The arguments of `run()` for the declared parameters, vertex values and vertex sets.
    on_device : bool
        Whether vertex constants are placed on the device.
    plain : bool
        Whether it runs as plain Python.  Then the types of functions that do not compile are those
        that a trial returns.
    phase : bool
        Whether the first states may be those that another program has left.

    Returns
    -------
    BoundProgram
        The program, ready to run.

    Raises
    ------
    InputError
        If an argument is missing, unknown, or not of the declared kind.
    ProgramError
        If a function fails, or returns what its declaration does not allow.
    """
    arguments = by_own_names(program, arguments)
    refuse_unknown(program, arguments)
    columns, kinds, missing = edge_columns(program, graph)
    state = state_types(program, kinds)
    weight = columns[0] if len(columns) == 1 and columns[0] != PARALLEL_RANK else graph.weight
    constants = _constants(program, graph, arguments, state, weight, on_device=on_device)
    values = parameter_values(program, graph, arguments)
    finite = check_edge_values(program, graph, columns, state)
    _check_vertex_numbers(program, graph)
    if program.validate is not None:
        named = dict(
            zip((*program.constants, *program.parameters), (*constants, *values), strict=True)
        )
        program.validate(graph, {name: _own(graph, value) for name, value in named.items()})
    constant_kinds = tuple(array.dtype.name for array in constants)
    uniform = tuple(array.shape != (graph.length,) for array in constants)
    # A vertex number does not affect types; other parameters may, for example a cutoff.
    telling = tuple(
        value
        for value, declared in zip(values, program.parameters.values(), strict=True)
        if isinstance(declared, Parameter)
    )
    if program.scatters:
        parameters = tuple(value.dtype.name for value in values)
        sent = infer_scatter(program, Types(
            state, constant_kinds, uniform, kinds, missing, parameters, (), tuple_message=False
        ))  # fmt: skip
        program = with_message_types(program, sent)
    sample = _Sample(graph, constants, columns, kinds, missing, values)
    if program.selective and program.fold is None:
        parameters = tuple(value.dtype.name for value in values)
        types = (state, kinds, constant_kinds, parameters)
        program = _selected(program, types, sample, plain=plain)
    key = (state, kinds, missing, constant_kinds, uniform, telling, plain)
    known = tuple(
        value.item() if isinstance(declared, Parameter) else None
        for value, declared in zip(values, program.parameters.values(), strict=True)
    )
    bounds = _edge_bounds(graph, columns, kinds, missing)
    facts = Facts(state, constant_kinds, bounds, known, phase)
    typed = bound_before(program, key, graph)
    if typed is None:
        typed = _typed(program, sample, facts, uniform, plain=plain)
        _warn_of_senders(program, graph)
    keep_bound(program, key, graph, typed)
    lowered_program, types, prepares, never_nan = typed
    reason = why_in_order(program, facts)
    return BoundProgram(
        lowered_program, types, columns, constants, values, program, facts, reason, prepares,
        never_nan=never_nan and finite,
    )  # fmt: skip


def _constants(
    program: VertexProgram,
    graph: GraphView,
    arguments: Mapping[str, Any],
    state: tuple[str, ...],
    weight: str | None,
    *,
    on_device: bool,
) -> tuple[Any, ...]:
    """Return the arrays of a program's vertex constants; those of jumps are zeros."""
    by_name: dict[str, Any] = {}
    kind_of = dict(zip(program.state, state, strict=True))
    for name, constant in program.constants.items():
        if isinstance(constant, Jump):  # written before each superstep
            kind = jump_kind(program, name, kind_of[constant.field])
            by_name[name] = array_module(on_device).zeros(graph.length, kind)
            continue
        if isinstance(constant, VertexNumber):
            numbers = graph.integer_ids(program.name, name) if constant.is_id else graph.positions
            by_name[name] = array_module(on_device).asarray(numbers)
            continue
        argument = argument_name(name, constant)
        fallback = constant.default if isinstance(constant, Distribution) else None
        if fallback is not None and arguments.get(argument) is None:
            by_name[name] = by_name[fallback]
        else:
            by_name[name] = constant_values(
                program, argument, constant, graph, weight, arguments, on_device=on_device
            )
    return tuple(by_name.values())


def _typed(
    declared_program: VertexProgram,
    sample: _Sample,
    facts: Facts,
    uniform: tuple[bool, ...],
    *,
    plain: bool,
) -> tuple[VertexProgram, Types, bool, bool]:
    """Infer a program's types, and what they prove.

    Returns
    -------
    program : VertexProgram
        With its fold lowered, and integers saturated.
    types : Types
    prepares_ahead, never_nan : bool
        See `BoundProgram`.
    """
    parameters = tuple(value.dtype.name for value in sample.values)
    type_names = (facts.state, sample.kinds, facts.constants, parameters)
    program = saturated(declared_program, Kinds(*type_names))
    if program.scatters and any(program.infinite):
        raise ProgramError(
            f"{program.name}.scatter ({program.sources['scatter'].location}) reads integers that may be infinite; "
            "declare such fields as ws.float64"
        )
    if program.fold is not None:
        sending = only_messages(program) if program.selective else program
        message_types = _inferred(infer_messages, sending, *type_names, sample=sample, plain=plain)
        program = lowered(program, message_types.message, is_tuple=message_types.tuple_message)
        if program.selective:
            program = with_messages(program, message_types)
    inferred = _inferred(infer, program, *type_names, sample=sample, plain=plain)
    types = Types(
        state=facts.state,
        constants=facts.constants,
        uniform=uniform,
        edges=sample.kinds,
        missing_edges=sample.missing,
        parameters=parameters,
        message=inferred.message,
        tuple_message=inferred.tuple_message,
        gathered=inferred.gathered,
        tuple_gathered=inferred.tuple_gathered,
    )
    as_sent = program.listing is None and "lift" not in program.sources
    prepares = as_sent and _prepares(declared_program, types)
    never_nan = is_never_nan(program, types)
    proved = why_not_proved(declared_program, facts) is None
    _doubt(program, facts.state, inferred, sample, proved=proved)
    return program, types, prepares, never_nan


def _selected(
    program: VertexProgram, kinds: tuple[tuple[str, ...], ...], sample: _Sample, *, plain: bool
) -> VertexProgram:
    """Return a program without a fold that returns `ws.no_message` as one that always returns a message."""

    def make() -> VertexProgram:
        sending = saturated(only_messages(program), Kinds(*kinds))
        types = _inferred(infer_messages, sending, *kinds, sample=sample, plain=plain)
        return with_messages(program, types)

    selected: VertexProgram = program.memory.recall(("messages", kinds), make)
    return selected


def _edge_bounds(
    graph: GraphView,
    columns: tuple[str | None, ...],
    kinds: tuple[str, ...],
    missing: tuple[float | None, ...],
) -> tuple[tuple[str, Any, Any], ...]:
    """Return for each edge attribute its type, and its least and greatest value.

    Without any edge no message is sent, so that any values do: 1 is one that proofs about messages like.
    """
    bounds = []
    for column, kind, default in zip(columns, kinds, missing, strict=True):
        ends: list[Any] = [default, default]
        if column is not None:  # `check_edge_values` has asked for them already
            extremes = (graph.least_edge_value(column), graph.greatest_edge_value(column))
            ends = [1 if end is None else end[0].item() for end in extremes]
        bounds.append((kind, ends[0], ends[1]))
    return tuple(bounds)


def _check_vertex_numbers(program: VertexProgram, graph: GraphView) -> None:
    """Refuse a column of vertex numbers that would be read as ids."""
    if graph.numbers_are_ids:
        return
    key = "fields of vertex numbers"
    for field in program.memory.recall(key, lambda: fields_of_vertex_numbers(program)):
        declared = program.state[field]
        if declared.visible and not declared.holds_vertex:
            raise ProgramError(
                f"{program.name}.init ({program.sources['init'].location}) sets `{field}` to the vertex number, "
                f"which is not the id in this graph; declare `{field}: ws.vertex_id`, which is returned as an "
                "id, or ws.hidden(…) for a field that is not returned"
            )


class _Sample:
    """What a program is tried on: a few arcs of the graph, read when first needed."""

    def __init__(
        self,
        graph: GraphView,
        constants: Sequence[Any],
        columns: Sequence[str | None],
        kinds: tuple[str, ...],
        missing: tuple[float | None, ...],
        values: tuple[Any, ...],
    ) -> None:
        self.graph, self.constants, self.values = graph, constants, values
        self.kinds, self.missing = kinds, missing
        self.edges: list[str | float] = [
            name if name is not None else stand_in or 0.0  # one of both is given
            for name, stand_in in zip(columns, missing, strict=True)
        ]
        self._arcs: Examples | None = None

    @property
    def arcs(self) -> Examples:
        """The arcs, with edge attributes in the types that the program sees; collective when first read."""
        # Not a `cached_property`, whose lock before Python 3.12 would keep ranks in threads from meeting
        if self._arcs is None:
            dtypes = [np.dtype(kind) for kind in self.kinds]
            self._arcs = [
                arc._replace(edge=tuple(dtype.type(x) for dtype, x in zip(dtypes, arc.edge, strict=True)))
                for arc in self.graph.examples(self.constants, self.edges)
            ]  # fmt: skip
        return self._arcs

    @property
    def arcs_or_one(self) -> Examples:
        """The arcs; if there are none, a loop with invented values: no message is sent along it."""
        zeros = tuple(np.zeros(1, constant.dtype)[0] for constant in self.constants)
        edge = tuple(np.dtype(kind).type(1) for kind in self.kinds)
        return self.arcs or [ExampleArc((0, 0), (zeros, zeros), edge)]

    def trial(self, program: VertexProgram, state: tuple[str, ...]) -> Trial:
        """Return a trial of a program."""
        return Trial(program, state, self.values, self.graph.number_of_vertices)


def _inferred(
    infer: Callable[..., Inference],
    program: VertexProgram,
    state: tuple[str, ...],
    *kinds: tuple[str, ...],
    sample: _Sample,
    plain: bool,
) -> Inference:
    """Infer types with the compiler; those of a plain program that does not compile are a trial's.

    If a program is refused, and fails as plain Python too, the error is the one with the user's line.
    """
    try:
        return infer(program, state, *kinds)
    except ProgramError as error:
        trial = sample.trial(program, state)
        if not (plain and isinstance(error, CompileError)):
            raise trial.complaint(sample.arcs) or error from error
        try:
            return trial.types(sample.arcs_or_one)
        except OutOfSteps:
            raise error from None


def _doubt(
    program: VertexProgram,
    state: tuple[str, ...],
    types: Inference,
    sample: _Sample,
    *,
    proved: bool,
) -> None:
    """Warn if a trial shows that a combine, or a declaration, is not what it should be; collective."""
    custom = program.combine == "custom" and program.fold is None and not program.flagged
    unproved = program.asynchronous and not proved
    if program.jumps or program.aggregates or not (custom or unproved):
        return  # what jumps and aggregates read is known between supersteps only
    doubt = sample.trial(program, state).doubts(sample.arcs, types)
    if doubt is not None and sample.graph.comm.rank == 0:
        warn_caller(f"{doubt}; ws.check compares runs of the program with its definition")


def _warn_of_senders(program: VertexProgram, graph: GraphView) -> None:
    """Warn if all vertices send in every superstep, although the program says which ones are active.

    `active` that plainly says what holds without it is no doubt.  Lists and state on edges take all messages in
    any case, so that `active` can mean no more than the end of the run.
    """
    if not program.all_send or program.contributors is not None or graph.comm.rank:
        return
    takes_all = program.listing is not None or bool(program.edge_state)
    named, ends = "starts", ""
    if "starts" not in program.functions:
        if "active" not in program.functions or takes_all or says_whether_changed(program):
            return
        named, ends = "active", ", and `active` says only when the run ends"
    silent = ", with `apply` of those without messages," if program.idempotent else ""
    remedy = f"contributors = 'all' if all are to send{silent} or leave `{named}` out"
    if not takes_all:
        remedy = f"contributors = 'active' to send from active ones only, or {remedy}"
    warn_caller(
        f"{program.name} declares `{named}`, but gathers from all in-neighbours, so that all vertices send in "
        f"every superstep{ends}; declare {remedy}"
    )


def _prepares(program: VertexProgram, types: Types) -> bool:
    """Return whether messages should be computed once per vertex rather than once per arc."""
    if program.reads_target or program.edge_state:
        return False
    compute = program.sources["compute"]
    read = compute.attributes.get("edge", set())
    missing = dict(zip(program.edges, types.missing_edges, strict=True))
    if any(missing[name] is None for name in read):
        return False
    uniform = dict(zip(program.constants, types.uniform, strict=True))
    fields = [name for name in compute.attributes.get("src", set()) if not uniform.get(name)]
    return len(fields) > 1 or any(isinstance(node, DEAR) for node in ast.walk(parse(compute.text)))


def by_own_names(program: Any, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return arguments under their declared names instead of aliases."""
    renamed = dict(arguments)
    for name, declared in program.constants.items():
        alias = declared.alias if isinstance(declared, VertexSet) else None
        if alias is None or alias not in renamed:
            continue
        if renamed.get(name) is not None:
            raise InputError(
                f"{name}={shown(renamed[name])} and {alias}={shown(renamed[alias])} mean the same; give {name} alone"
            )
        renamed[name] = renamed.pop(alias)
    return renamed


def refuse_unknown(program: Any, arguments: Mapping[str, Any]) -> None:
    """Refuse an argument that a program does not declare."""
    constants = [
        argument_name(name, declared)
        for name, declared in program.constants.items()
        if not isinstance(declared, (Jump, VertexNumber))
    ]
    known = [*program.parameters, *constants]
    for name in arguments:
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {close[0]}? " if close else ""
            raise InputError(
                f"{program.name} has no parameter {name!r}; {hint}it has: {', '.join(known) or 'none'}"
            )


def program_on(program: VertexProgram, graph: GraphView) -> VertexProgram:
    """Return the program that runs on a graph: that for integers, if there is one and edges have integers.

    Parameters
    ----------
    program : VertexProgram
    graph : GraphView

    Returns
    -------
    VertexProgram
    """
    if program.for_integers is None:
        return program
    columns, _, _ = edge_columns(program, graph)
    are_integers = all(
        column is not None and graph.edge_dtype(column).kind in "iu" for column in columns
    )
    return program.for_integers if are_integers else program


def with_draws_by_row(program: VertexProgram, graph: GraphView) -> VertexProgram:
    """Return a program whose draws in `compute` tell a graph's parallel edges apart; collective.

    Parameters
    ----------
    program : VertexProgram
    graph : GraphView

    Returns
    -------
    VertexProgram
        The program itself if it does not draw there, or the graph has no parallel edges.
    """
    if not program.draws_by_edge or RANK in program.edges or not graph.parallel_edges:
        return program

    def make() -> VertexProgram:
        changed = rewritten(program, {"compute": draw_by_parallel_edge})
        compute = changed.sources["compute"]
        attributes = {**compute.attributes, "edge": compute.attributes.get("edge", set()) | {RANK}}
        sources = {**changed.sources, "compute": replace(compute, attributes=attributes)}
        return replace(changed, sources=sources, edges={**program.edges, RANK: Edge(int64)})

    by_row: VertexProgram = program.memory.recall("draws by row", make)
    return by_row


def edge_columns(
    program: Any, graph: GraphView
) -> tuple[tuple[str | None, ...], tuple[str, ...], tuple[float | None, ...]]:
    """Find the graph's attribute for each declared one: that of its name, or the weight if only one is declared.

    If only one is declared, and the graph has several or one of nearly the same name, then it must be
    named `weight` or `w` to be the weight.

    Returns
    -------
    tuple of str or None
        Names of the columns; None if a default replaces the attribute.
    tuple of str
        NumPy names of the types that the program sees.
    tuple of float or None
        The defaults used, None where there is a column.
    """
    columns: list[str | None] = []
    kinds: list[str] = []
    missing: list[float | None] = []
    for name, declared in program.edges.items():
        if name == RANK:
            column: str | None = PARALLEL_RANK
        elif name in graph.edge_attributes:
            column = name
        elif len(program.edges.keys() - {RANK}) == 1 and graph.weight is not None:
            _refuse_other_column(program, graph, name)
            column = graph.weight
        elif declared.default is not None:
            column = None
        else:
            have = [known for known in graph.edge_attributes if isinstance(known, str)]
            near = difflib.get_close_matches(name, have, 1)
            hint = f"did you mean {near[0]!r}? Otherwise " if near else ""
            raise InputError(
                f"{program.name} reads the edge attribute {name!r}, which the graph lacks (it has: "
                f"{listed(graph.edge_attributes)}); "
                f"{hint}build it with weight={name!r} or attributes=[{name!r}], a column of its frame"
            )
        columns.append(column)
        missing.append(declared.default if column is None else None)
        if column is not None:
            stored = graph.edge_dtype(column).name
        else:
            stored = "int64" if isinstance(declared.default, int) else "float64"
        kinds.append(declared.seen(stored))
    return tuple(columns), tuple(kinds), tuple(missing)


def _refuse_other_column(program: Any, graph: GraphView, name: str) -> None:
    """Refuse to read the weight as an attribute whose name was perhaps meant for another column."""
    have = list(graph.edge_attributes)
    texts = [column for column in have if isinstance(column, str)]  # others are named by numbers
    near = difflib.get_close_matches(name, texts, 1, cutoff=0.75)
    if name in ANY_WEIGHT or not (near or len(have) > 1):
        return
    remedy = f"did you mean {near[0]!r}? Otherwise" if near else "declare one of these, or"
    raise InputError(
        f"{program.name} reads the edge attribute {name!r}, which the graph lacks (it has: {listed(have)}); "
        f"{remedy} name it `weight`, which is the graph's weight {graph.weight!r}, or build the graph with "
        f"attributes=[{name!r}]"
    )


def check_edge_values(
    program: Any,
    graph: GraphView,
    columns: tuple[str | None, ...],
    state: tuple[str, ...],
) -> bool:
    """Refuse attributes below their declared minimum, and those with sums that could overflow.

    Returns
    -------
    bool
        Whether all values are finite.
    """
    finite = True
    like = {
        declared.type.attribute: kind
        for declared, kind in zip(program.state.values(), state, strict=True)
        if isinstance(declared.type, Like) and _calculates(program)
    }
    for (name, declared), column in zip(program.edges.items(), columns, strict=True):
        if column is None:
            continue
        least, greatest = graph.least_edge_value(column), graph.greatest_edge_value(column)
        if least is None or greatest is None:
            continue
        finite &= math.isfinite(least[0]) and math.isfinite(greatest[0])
        _check_type(program, name, declared.type, column, least[0], greatest[0])
        if declared.least is not None and least[0] < declared.least:
            raise InputError(
                f"column {column!r} has the value {least[0]} on the edge "
                f"{graph.describe_edge(least[1])}; {program.name} needs {declared.least:g} or more: drop "
                "such edges"
            )
        if name in like:
            kind = like[name]
            most = STORED[kind] if kind in STORED else int(np.finfo(kind).max)
            if int(greatest[0]) * graph.number_of_vertices >= most:
                remedy = "convert the column to float64" if kind != "float64" else "scale it down"
                raise InputError(
                    f"column {column!r} has the value {greatest[0]}: paths could exceed what {kind} "
                    f"holds; {remedy}"
                )
    return finite


def _calculates(program: Any) -> bool:
    """Return whether a new state may be a number that is not among the function's inputs."""
    calculates: bool = program.memory.recall("calculates", lambda: _has_arithmetic(program))
    return calculates


def _has_arithmetic(program: Any) -> bool:
    """Return whether a program adds messages up, or has operators or calls besides min and max."""
    nodes = [node for source in program.sources.values() for node in ast.walk(parse(source.text))]
    called = {ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)}
    return (
        program.combine == "sum"
        or any(isinstance(node, ast.BinOp) for node in nodes)
        or not called <= {"min", "max"}
    )


def _check_type(
    program: Any,
    name: str,
    declared: ScalarType | Floating | None,
    column: str,
    least: Any,
    greatest: Any,
) -> None:
    """Refuse a column with values that the declared type cannot hold."""
    if not isinstance(declared, ScalarType):  # otherwise it is derived from the column
        return
    is_integer = declared.dtype.kind == "i"
    if not is_integer and declared.name != "float32":
        return
    limits: Any = np.iinfo(declared.name) if is_integer else np.finfo(declared.name)
    fits = least.dtype.kind == "i" or not is_integer
    if not fits or least < limits.min or greatest > limits.max:
        raise InputError(
            f"column {column!r} is {least.dtype.name} with values from {least} to "
            f"{greatest}; {program.name}.{name} is declared {declared.name}: declare it as a wider "
            "type, or convert the column"
        )


def constant_values(
    program: Any,
    name: str,
    declared: Constant | VertexValue | Distribution | VertexSet,
    graph: GraphView,
    weight: str | None,
    arguments: Mapping[str, Any],
    *,
    on_device: bool,
) -> Any:
    """Return one value for each vertex; an array by vertex number is used unchanged.

    `weight` is the edge attribute that weighted degrees sum.
    """
    n = graph.length
    argument = without_mask(arguments.get(name), name)
    xp = array_module(on_device)
    if isinstance(declared, VertexSet):
        if argument is None and not declared.optional:
            raise InputError(f"{program.name} needs {name}=, a vertex or a list of vertices")
        if (
            isinstance(argument, np.ndarray)
            and argument.dtype == np.bool_
            and argument.shape == (n,)
        ):
            return xp.asarray(argument).copy()
        return graph.members(
            [] if argument is None else _as_ids(argument), name, on_device=on_device
        )
    dtype = declared.type.dtype if isinstance(declared, VertexValue) else np.dtype(np.float64)
    default = declared.default if isinstance(declared, VertexValue) else None
    if argument is None:
        if isinstance(declared, Constant):
            return _graph_constant(declared.source, graph, weight, on_device=on_device)
        if isinstance(declared, Distribution):
            return xp.full(_shared(n), 1.0 / max(graph.number_of_vertices, 1))
        if default is None or math.isnan(default):
            raise InputError(
                f"{program.name} needs {name}=: a frame with a vertex and a value column, a mapping, one "
                "number for all, or the name of a column of the graph's vertex frame"
            )
        return xp.full(_shared(n), default, dtype)
    if isinstance(argument, np.ndarray) and argument.shape == (n,):
        unknown = default is not None and math.isnan(default)  # NaN stands for no value
        if argument.dtype.kind not in "iufb" or (np.isnan(argument).any() and not unknown):
            raise InputError(
                f"{name}: the array has entries that are not numbers; give a number for each vertex"
            )
        values = xp.asarray(argument)
    elif isinstance(declared, VertexValue) and is_one_number(argument):
        return xp.full(_shared(n), number_for_all(argument, name, dtype), dtype)
    else:
        if isinstance(declared, (Distribution, Constant)):
            default = 0.0
        values, has_value = graph.vertex_values(
            argument, name, dtype, default=default, on_device=on_device
        )
        if isinstance(declared, Constant) and graph.any_rank(not all_true(has_value)):
            known = _graph_constant(declared.source, graph, weight, on_device=on_device)
            values = xp.where(has_value, values, known)
    cast = xp.ascontiguousarray(values).astype(dtype, copy=False)
    if dtype.kind == "i" and not all_true(cast == values):
        raise InputError(
            f"{name}: {values[cast != values][0]} is not a value of {dtype.name}; declare a wider type, or "
            "give whole numbers within its range"
        )
    values = cast
    if isinstance(declared, Constant) and not all_true(xp.isfinite(values)):
        vertex = int(xp.isfinite(values).argmin())
        raise InputError(
            f"{name} is {float(values[vertex])} for vertex {graph.describe(vertex)}; give a finite number"
        )
    return _shares(xp, name, graph, values) if isinstance(declared, Distribution) else values


def _own(graph: GraphView, value: Any) -> Any:
    """Return an array by position without the ghosts' entries; anything else unchanged."""
    by_vertex = getattr(value, "shape", None) == (graph.length,)
    return value[: graph.owned] if by_vertex else value


def _shared(n: int) -> int:
    """Return the length of an array in which the first entry holds for all n vertices.

    It is never n, so that it differs from an array with one entry for each vertex.
    """
    return 1 if n != 1 else 2


def argument_name(name: str, declared: Any) -> str:
    """Return the name under which `run()` takes a declared constant."""
    return getattr(declared, "argument", None) or name


def _shares(xp: Any, name: str, graph: GraphView, values: Any) -> Any:
    """Scale the values of a distribution to the sum 1; collective."""
    if not all_true(xp.isfinite(values)) or any_true(values < 0):
        bad = values[~(values >= 0) | ~xp.isfinite(values)][0]
        raise InputError(f"{name} has the share {bad}; shares must be finite and 0 or more")
    greatest = graph.vertex_max(values)
    if graph.number_of_vertices and not greatest > 0:
        raise InputError(f"{name} sums to {greatest}; give at least one vertex a share above 0")
    values = values / greatest  # now the sum is at most the number of vertices
    return values / graph.vertex_sum(values)


def _as_ids(vertices: Any) -> Any:
    """Return one vertex as a list; lists, arrays, columns and frames unchanged."""
    if isinstance(vertices, (set, frozenset)):
        return list(vertices)
    if is_one_vertex(vertices):
        return [vertices]
    return vertices


def _graph_constant(source: str, graph: GraphView, weight: str | None, *, on_device: bool) -> Any:
    incoming = source.startswith("in_")
    if source.endswith("_degree"):
        return graph.degree_array(incoming=incoming, on_device=on_device)
    return graph.weight_sums(weight, incoming=incoming, on_device=on_device)


def state_types(program: Any, edges: tuple[str, ...]) -> tuple[str, ...]:
    """Return the NumPy type names of a program's state fields, given those of the edge attributes that it reads."""
    return tuple(
        edges[list(program.edges).index(declared.type.attribute)]
        if isinstance(declared.type, Like)
        else declared.type.name
        for declared in program.state.values()
    )


def parameter_values(
    program: Any, graph: GraphView, arguments: Mapping[str, Any]
) -> tuple[Any, ...]:
    """Return a program's declared parameters as NumPy scalars, vertices as their numbers; collective."""
    return tuple(
        _parameter_value(program, name, declared, graph, arguments)
        for name, declared in program.parameters.items()
    )


def _parameter_value(
    program: Any,
    name: str,
    declared: Parameter | VertexParameter | Seed,
    graph: GraphView,
    arguments: Mapping[str, Any],
) -> Any:
    """Return a declared parameter as a NumPy scalar; a vertex as its number; collective."""
    if isinstance(declared, VertexParameter):
        if arguments.get(name) is None:
            raise InputError(f"{program.name} needs {name}=, a vertex of the graph")
        return np.int64(graph.number(arguments[name], name))
    value = arguments.get(name)
    if value is None:
        value = declared.default
    if value is None:
        raise InputError(f"{program.name} needs {name}=, a number")
    if isinstance(declared, Seed):
        check_count(name, value)
        return np.int64(value)
    truth = isinstance(value, (bool, np.bool_))
    if truth != (declared.type.dtype.kind == "b") or not (truth or is_number(value)):
        wanted = "True or False" if declared.type.dtype.kind == "b" else "a number"
        raise InputError(
            f"{name}={shown(value)} is not {wanted}; {program.name} needs {declared.type!r}"
        )
    try:
        with np.errstate(over="raise"):
            number = declared.type.dtype.type(value)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise InputError(
            f"{name}={shown(value)} is not a number of type {declared.type!r}; give such a number"
        ) from error
    if declared.type.dtype.kind == "i" and number != value:
        raise InputError(
            f"{name}={shown(value)} is not a whole number; give one, such as {int(number)}"
        )
    if number != number:
        raise InputError(f"{name}=nan is not a number; give a number")
    return np.int64(number) if declared.type.dtype.kind == "i" else number
