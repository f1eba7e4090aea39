"""The decorator for edge programs: values of edges, or of pairs of vertices, from common neighbours."""

from __future__ import annotations

import inspect
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, ClassVar, get_args

from cugraph_ws.arguments import shown
from cugraph_ws.errors import ProgramError
from cugraph_ws.program.by_part import by_part
from cugraph_ws.program.combines import Fold
from cugraph_ws.program.declarations import (
    Constant,
    Distribution,
    Edge,
    EdgeState,
    Floating,
    Jump,
    Like,
    Neighbours,
    Parallel,
    Parameter,
    Predecessor,
    State,
    VectorType,
    VertexNumber,
    VertexParameter,
    VertexSet,
    VertexValue,
)
from cugraph_ws.program.decorator import (
    CONSTANTS,
    check_defaults,
    declarations_of,
    is_declaration,
    of_kind,
    plain,
    recognised_combine,
)
from cugraph_ws.program.help import help_of
from cugraph_ws.program.snapshot import Memory, Snapshot
from cugraph_ws.program.source import FunctionSource, read_function
from cugraph_ws.program.vertex_program import check_arguments
from cugraph_ws.runtime.tracebacks import short_errors

__all__ = ["FUNCTIONS", "EdgeProgram", "edge_program"]

SETTINGS = ("combine", "identity", "neighbours")
DIRECTIONS = get_args(Neighbours)
# The arguments that each function may take, by name and in any order.
FUNCTIONS = {
    "common": ("w", "u", "v", "uw", "vw", "p"),
    "value": ("u", "v", "edge", "common", "p"),
}
MEANINGLESS = {Predecessor: "predecessors", EdgeState: "state on edges", Jump: "jumps"}
VERTICES, EDGES = ("w", "u", "v"), ("uw", "vw", "edge")
TAKEN = ("pairs", "first", "second")  # reserved: an argument of `run`, and the columns of the pairs


@dataclass(eq=False)
class EdgeProgram(Snapshot):
    """A checked edge program; `ws.run` runs it.

    Attributes
    ----------
    name, doc : str
        The class's name and docstring.
    state : dict
        Declarations of the values of a pair, which are columns of the result, by name.
    edges, constants, parameters : dict
        Declarations by name.
    combine : str
        "sum", "min", "max", "any" or "custom".
    identity : Any
        Identity of `combine`, for a custom one.
    neighbours : {"any", "out", "in", "through"}
        Which common neighbours there are, and which edges between two vertices count.
    fold : Fold or None
        A combine that is known by another name, or one for each part of messages.
    functions : dict
        The user's functions, for plain Python and for compilation.
    sources : dict
        Their checked sources.
    memory : dict
        Cached results of binding and code generation, by types and values.
    frozen : bool
        Whether it came from another process; then its sources hold that process's globals.

    Examples
    --------
    How far do two people trust each other through a common friend?  The object says what it declares, and runs for
    the pairs that are given:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> @ws.edge_program
    ... class Introduction:
    ...     trust: ws.float64
    ...     weight = ws.edge()
    ...     combine = max
    ...
    ...     def common(uw, vw):
    ...         return min(uw.weight, vw.weight)
    ...
    ...     def value(common):
    ...         return max(common, 0.0)
    >>> Introduction
    <edge program Introduction: trust>
    >>> list(Introduction.state), list(Introduction.edges), Introduction.combine
    (['trust'], ['weight'], 'max')
    >>> friends = pd.DataFrame({"source": ["ann", "bob", "ann"], "destination": ["bob", "dan", "cat"]})
    >>> friends["weight"] = [5.0, 3.0, 9.0]
    >>> pairs = pd.DataFrame({"first": ["ann", "bob", "cat"], "second": ["dan", "cat", "dan"]})
    >>> ws.run(Introduction, friends, directed=False, pairs=pairs).frame["trust"].tolist()
    [3.0, 5.0, 0.0]
    """

    name: str
    doc: str
    state: dict[str, State]
    edges: dict[str, Edge]
    constants: dict[str, Constant | VertexNumber | VertexValue | Distribution | VertexSet]
    parameters: dict[str, Parameter | VertexParameter]
    combine: str
    identity: Any
    neighbours: Neighbours
    functions: dict[str, Any]
    fold: Fold | None = None
    sources: dict[str, FunctionSource] = field(default_factory=dict)
    memory: Memory = field(default_factory=Memory, repr=False)
    frozen: bool = field(default=False, repr=False)

    # What only vertex programs have
    aggregates: ClassVar[dict[str, Any]] = {}
    predecessor: ClassVar[None] = None
    edge_state: ClassVar[dict[str, Any]] = {}
    edge_state_kinds: ClassVar[tuple[str, ...]] = ()
    infinite: ClassVar[tuple[bool, ...]] = ()
    infinite_message: ClassVar[tuple[bool, ...]] = ()

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the fields of `p` in the program's functions, in the order in which they are passed."""
        return (*self.parameters, "number_of_vertices")

    @property
    def edge_fields(self) -> tuple[str, ...]:
        """Names of the fields of an edge in the program's functions."""
        return tuple(self.edges)

    @property
    def parallel(self) -> tuple[Parallel, ...]:
        """For each edge attribute, the value of several edges between two vertices."""
        return tuple(declared.parallel or "sum" for declared in self.edges.values())

    @property
    def counts(self) -> bool:
        """Whether the message of a common neighbour is the same for all of them, in all pairs."""
        read = self.sources["common"].attributes
        return not any(read[name] for name in read if name != "p")

    def read_sources(self) -> None:
        """Read and check the source of every function."""
        p, constants, attributes = set(self.parameter_names), set(self.constants), set(self.edges)
        reads: dict[str, Collection[str]] = {
            "p": p,
            **dict.fromkeys(VERTICES, constants),
            **dict.fromkeys(EDGES, attributes),
        }
        for key, function in self.functions.items():
            source = read_function(
                function,
                f"user_{key}",
                owner=self.name,
                attributes={} if key == "combine" else {n: reads[n] for n in FUNCTIONS[key] if n in reads},
            )  # fmt: skip
            if key != "combine":
                check_arguments(self, key, source, FUNCTIONS[key])
            elif len(source.parameters) != 2:
                raise ProgramError(
                    f"{self.name}.combine ({source.location}) takes {len(source.parameters)} arguments; "
                    "write it as combine(a, b)"
                )
            self.sources[key] = source

    def __repr__(self) -> str:
        return f"<edge program {self.name}: {', '.join(self.state)}>"


@short_errors
def edge_program(cls: type | None = None) -> EdgeProgram:
    """Make an edge program from a class that declares values and plain functions.

    It computes values of pairs of vertices: of all pairs of neighbours, or of the pairs given to
    `run()`.  The messages of a pair's common neighbours are combined in the order of vertex numbers.

    Parameters
    ----------
    cls : type
        A class that declares, by annotation or assignment, the values of a pair (`ws.float64`, …),
        edge attributes (`ws.edge`), vertex constants (`ws.neighbour_count`, `ws.vertex_value`,
        `ws.out_degree`, …) and run parameters (`ws.parameter`, …), and which defines

        - ``common(w, u, v, uw, vw, p)``: the message of a common neighbour `w` of `u` and `v`;
          `uw` and `vw` have the edge attributes between `u` and `w`, and between `v` and `w`;
        - ``combine``: `sum`, `min`, `max`, `any`, `ws.top(k)`, `ws.first_by(field)`, a tuple of such folds
          for messages that are tuples, or a function of two messages with `identity`;
        - ``neighbours``, if directions matter: "out" for common neighbours to which both lead, "in" for
          those that lead to both, "through" for those on a path from `u` to `v`;
        - ``value(u, v, edge, common, p)``: the values of the pair, from the combined messages
          `common`; `edge` has the edge attributes between `u` and `v`.

        Arguments are bound by name, in any order; a function may leave out those that it does
        not need.

    Notes
    -----
    Neighbours are distinct: the direction of edges does not matter, parallel edges and edges in
    both directions count once, and self-loops do not count.  An edge attribute is the sum over all
    edges between two vertices, as float64; 0 if there are none.  `ws.edge(parallel=)` may take the
    least, the greatest or the first value instead.  `ws.neighbour_count` is the number of distinct
    neighbours.

    With `neighbours`, in a directed graph only edges of that direction count, also for attributes and
    for `ws.neighbour_count`: with "out" those that lead out of the pair's vertices, with "in" those into
    them.  With "through", `uw` is of the edges from `u` to `w`, `vw` of those from `w` to `v`, `edge` of
    those from `u` to `v`, and `ws.neighbour_count` counts out-neighbours.  The pairs are then by default
    (u, v) for each edge from u to v, with "in" for each edge from v to u.

    Without common neighbours, `common` is the identity of `combine`: 0 for `sum`; for `min` inf,
    the greatest int64, or True; for `max` -inf, the smallest int64, or False; for `any` 0 or
    False.  `any` takes the first message or, of booleans, whether one is True.  Floats are summed in
    float64 if a value of the pair is float64.

    Returns
    -------
    EdgeProgram
        The checked program.

    Raises
    ------
    ProgramError
        If the program is invalid; the message names the function and the line.

    Examples
    --------
    Jaccard's coefficient of every edge: the neighbours of both ends, as a share of those of either.

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> @ws.edge_program
    ... class Jaccard:
    ...     coefficient: ws.float64
    ...     degree: ws.neighbour_count
    ...     combine = sum
    ...
    ...     def common():
    ...         return 1
    ...
    ...     def value(u, v, common):
    ...         return common / (u.degree + v.degree - common)
    >>> friends = pd.DataFrame({"source": [1, 1, 2, 3], "destination": [2, 3, 3, 4]})
    >>> ws.run(Jaccard, friends, directed=False).frame.round(2).to_dict("list")
    {'first': [1, 1, 2, 3], 'second': [2, 3, 3, 4], 'coefficient': [0.33, 0.25, 0.25, 0.0]}
    """
    if not isinstance(cls, type):
        raise ProgramError(
            f"{shown(cls)} is not a class; put @ws.edge_program, without parentheses, above a class"
        )
    name = cls.__name__
    declared = declarations_of(cls)
    _check_declarations(name, declared)
    check_defaults(name, declared)
    functions = _functions(cls, name)
    settings = {
        key: plain(cls.__dict__[key])
        for key in SETTINGS
        if key in cls.__dict__ and key not in declared
    }
    neighbours = settings.pop("neighbours", "any")
    if neighbours not in DIRECTIONS:
        raise ProgramError(
            f"{name}.neighbours is {shown(neighbours)}; set it to {', '.join(map(repr, DIRECTIONS))}"
        )
    fold = _fold(name, settings)
    combine, identity = "custom", None
    if fold is None:
        combine, identity = recognised_combine(name, settings, functions)
    program = EdgeProgram(
        name=name,
        doc=inspect.cleandoc(cls.__doc__ or ""),
        state=of_kind(declared, State),
        edges=of_kind(declared, Edge),
        constants=of_kind(declared, *CONSTANTS),
        parameters=of_kind(declared, Parameter, VertexParameter),
        combine=combine,
        identity=identity,
        neighbours=neighbours,
        functions=functions,
        fold=fold,
    )
    program.read_sources()
    program.__doc__ = help_of(name, program.doc, declared, state=program.state)
    return program


def _fold(name: str, settings: dict[str, Any]) -> Fold | None:
    """Return the fold that `combine` names; None for another combine."""
    combine = settings.get("combine")
    if isinstance(combine, (tuple, list)):
        combine = by_part(name, combine)
    if not isinstance(combine, Fold):
        return None
    if "identity" in settings:
        raise ProgramError(
            f"{name}.identity is set, but {combine!r} has its own; leave `identity` out"
        )
    if combine.fields or any(fold.end is not None for fold in combine.folds):
        raise ProgramError(
            f"{name}.combine is {combine!r}, which is for vertex programs; edge programs have sum, min, max, any, "
            "ws.top(k), ws.first_by(field) without names, a tuple of the first five, or combine(a, b)"
        )
    return combine


def _check_declarations(name: str, declared: dict[str, Any]) -> None:
    """Refuse declarations that have no meaning in an edge program."""
    if not any(isinstance(value, State) for value in declared.values()):
        raise ProgramError(
            f"{name} declares no value of a pair; annotate one, as in `coefficient: ws.float64`"
        )
    for key, value in declared.items():
        if key in TAKEN or key.startswith(("first_", "second_")):
            raise ProgramError(f"{name}.{key}: that name is taken; choose another")
        if isinstance(getattr(value, "type", None), VectorType):
            raise ProgramError(f"{name}.{key}: an edge program has no vectors; declare numbers")
        for kind, what in MEANINGLESS.items():
            if isinstance(value, kind):
                raise ProgramError(f"{name}.{key}: an edge program has no {what}; leave it out")
        if isinstance(value, State) and isinstance(value.type, Like):
            raise ProgramError(
                f"{name}.{key} is like `{value.type.attribute}`, but sums of edges are float64; "
                "declare it as ws.float64"
            )
        if isinstance(value, State) and not value.visible:
            raise ProgramError(
                f"{name}.{key} is hidden, but nothing else reads the values of a pair; leave it out"
            )
        if isinstance(value, Edge) and value.default is not None:
            raise ProgramError(
                f"{name}.{key} has a default; an edge program adds up the values of the edges between "
                "two vertices, which the graph must have: leave the default out"
            )
        if isinstance(value, Edge) and value.parallel not in (None, *get_args(Parallel)):
            raise ProgramError(
                f"{name}.{key}: parallel={shown(value.parallel)} is not known; choose "
                f"{', '.join(map(repr, get_args(Parallel)))}"
            )
        type_ = value.type if isinstance(value, Edge) else None
        if type_ is not None and not isinstance(type_, Floating) and type_.name != "float64":
            raise ProgramError(
                f"{name}.{key} is declared {type_!r}, but sums of edges are float64; write ws.edge()"
            )


def _functions(cls: type, name: str) -> dict[str, Any]:
    """Collect the class's functions; refuse members without a role."""
    functions: dict[str, Any] = {}
    for key, value in cls.__dict__.items():
        if is_declaration(plain(value)) or key in SETTINGS or key.startswith("__"):
            continue
        if key not in FUNCTIONS:
            known = ", ".join([*FUNCTIONS, *SETTINGS])
            raise ProgramError(f"{name}.{key} has no role in an edge program; known: {known}")
        functions[key] = plain(value)
    for key, arguments in FUNCTIONS.items():
        if key not in functions:
            raise ProgramError(f"{name} has no `{key}`; define {key}({', '.join(arguments)})")
    return functions
