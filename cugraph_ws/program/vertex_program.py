"""A vertex program as a checked object; `decorator` makes it of a class, and checks it.

The functions correspond to the papers' as follows: `init` is InitVertex; `compute` is ComputeNbr
(Warp Segmentation) and Compute (SIMD-X); `combine` is ReduceVertices and Combine; `apply` with
`active` is IsUpdated, update_condition (CuSha) and Active.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Literal

from cugraph_ws.errors import ProgramError
from cugraph_ws.program.combines import Fold
from cugraph_ws.program.declarations import (
    Constant,
    Distribution,
    Edge,
    EdgeState,
    Jump,
    Parameter,
    Seed,
    State,
    VertexNumber,
    VertexParameter,
    VertexSet,
    VertexValue,
)
from cugraph_ws.program.linear import Linear
from cugraph_ws.program.lists import Listing, check_list_uses
from cugraph_ws.program.randomness import DRAWING, NUMBER, RANK, SEED
from cugraph_ws.program.scatter import (
    check_scatter,
    compute_source,
    fields_sent,
    plain_compute,
)
from cugraph_ws.program.scatter_source import Rewriting
from cugraph_ws.program.snapshot import Memory, Snapshot
from cugraph_ws.program.source import NO_MESSAGE, FunctionSource, draws, read_function

__all__ = [
    "AGGREGATE",
    "BUILT_IN_PARAMETERS",
    "FUNCTIONS",
    "Norm",
    "VertexProgram",
    "check_arguments",
]

BUILT_IN_PARAMETERS = ("number_of_vertices", "superstep")
# The arguments that each function may take, by name and in any order.
FUNCTIONS = {
    "init": ("vertex", "p", "own"),
    "compute": ("src", "dst", "edge", "p"),
    "gather_list": ("old", "messages", "p"),
    "apply": ("old", "gathered", "p"),
    "active": ("old", "new", "p"),
    "starts": ("state", "p"),
    "settled": ("state", "p"),
    "priority": ("state", "p"),
    "init_edge": ("src", "dst", "edge", "p"),
    "update_edge": ("src", "dst", "edge", "p"),
    "until": ("p",),
    "scatter": ("own", "edges", "p"),
}
AGGREGATE = ("state", "p")


@dataclass(frozen=True)
class Norm:
    """How a run measures the change of its last superstep.

    Attributes
    ----------
    field : str
        A state field.
    kind : {"l1", "max"}
        The sum, or the maximum, of the absolute changes over all vertices.
    """

    field: str
    kind: Literal["l1", "max"]


@dataclass(eq=False)
class VertexProgram(Snapshot):
    """A checked vertex program; `ws.run` runs it.

    Attributes
    ----------
    name, doc : str
        The class's name and docstring.
    state, edges, constants, parameters : dict
        Declarations by name.
    combine : str
        "sum", "min", "max", "any", "custom", "mode" or "list".
    listing : Listing or None
        How all messages of a vertex are gathered, if they are listed and not folded.
    fold : Fold or None
        A combine chosen by name, such as `ws.top`; binding replaces it by functions.
    identity : Any
        Identity of `combine`, for a custom one.
    contributors : {"all", "active"} or None
        Vertices that send the messages of a superstep; see `all_send` for None.
    residual : Norm or None
        The norm that `tol` bounds.
    tol, max_iter : float or None, int or None
        Defaults for `run()`.
    in_place : bool or None
        Whether a superstep may read values that it has written, where that changes nothing; None
        leaves it to the plan.
    asynchronous : bool
        Whether the program declares that its result is the fixpoint, in any order of messages.
    predecessor : str or None
        Name of the predecessor column, if one is declared.
    validate : callable or None
        `validate(graph, values)` raises InputError for an invalid graph or invalid arguments;
        `values` are the bound constants and parameters by name.
    functions : dict
        The user's functions, for plain Python and for compilation.
    sources : dict
        Their checked sources.
    memory : Memory
        Cached results of binding and code generation, by types and values.
    edge_state : dict
        Declared fields of the state of edges, by name.
    frozen : bool
        Whether it came from another process; then its sources hold that process's globals.
    extrapolation : Linear or None
        The field that runs may extrapolate, since a superstep maps it affinely.
    infinite : tuple of bool
        For each state field, whether it is an integer that may be infinite; empty until a program is
        bound, and if none is.  See `cugraph_ws.program.infinity`.
    infinite_message : tuple of bool
        The same for each part of a message.
    for_integers : VertexProgram or None
        The program with the same fields that runs in its place if all its edge attributes are integers.
    flagged : bool
        Whether a message begins with whether it was sent; see `cugraph_ws.program.no_message`.
    aggregate_folds : tuple of str
        What each aggregate is over all vertices: "sum", "max", "min" or "any".
    reads_edges : bool
        False of one whose messages change nothing; see `cugraph_ws.program.vertex_step`.

    Examples
    --------
    The library's own algorithms are such objects too.  `ws.explain` says how one would run, and `ws.run` runs it:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> isinstance(ws.SSSP, ws.VertexProgram)
    True
    >>> ws.SSSP
    <vertex program SSSP: distance>
    >>> list(ws.SSSP.state), list(ws.SSSP.edges), ws.SSSP.combine
    (['distance'], ['weight'], 'min')
    >>> roads = pd.DataFrame({"source": [0, 0, 1], "destination": [1, 2, 2], "weight": [1.0, 5.0, 2.0]})
    >>> ws.explain(ws.SSSP, roads, start=0).schedule
    'frontier'
    >>> ws.run(ws.SSSP, roads, start=0).frame["distance"].tolist()
    [0.0, 1.0, 3.0]
    """

    name: str
    doc: str
    state: dict[str, State]
    edges: dict[str, Edge]
    constants: dict[str, Constant | VertexValue | Distribution | VertexSet | Jump | VertexNumber]
    parameters: dict[str, Parameter | VertexParameter | Seed]
    combine: str
    identity: Any
    contributors: Literal["all", "active"] | None
    residual: Norm | None
    tol: float | None
    max_iter: int | None
    in_place: bool | None
    asynchronous: bool
    predecessor: str | None
    validate: Callable[..., None] | None
    functions: dict[str, Callable[..., Any]]
    aggregates: dict[str, Callable[..., Any]]
    sources: dict[str, FunctionSource] = field(default_factory=dict)
    memory: Memory = field(default_factory=Memory, repr=False)
    frozen: bool = field(default=False, repr=False)
    fold: Fold | None = None
    edge_state: dict[str, EdgeState] = field(default_factory=dict)
    listing: Listing | None = None
    extrapolation: Linear | None = None
    infinite: tuple[bool, ...] = ()
    infinite_message: tuple[bool, ...] = ()
    for_integers: VertexProgram | None = None
    flagged: bool = False
    aggregate_folds: tuple[str, ...] = ()
    reads_edges: bool = True

    def read_sources(self) -> None:
        """Read and check the source of every function."""
        _read_sources(self)

    @property
    def jumps(self) -> dict[str, Jump]:
        """The constants that are read at other vertices before each superstep."""
        return {
            name: declared
            for name, declared in self.constants.items()
            if isinstance(declared, Jump)
        }

    @property
    def idempotent(self) -> bool:
        """Whether combining a message twice does not change the result."""
        return self.combine in {"min", "max", "any"}

    @property
    def all_send(self) -> bool:
        """Whether every vertex sends in every superstep, active or not.

        This depends on what is declared alone.  Without `contributors`, all send messages that count each, or
        that are folded by the user's own function, and those of min and max unless the program has `starts` or is
        declared `asynchronous`.  With state on edges all send.
        """
        if self.contributors is not None:
            return self.contributors == "all"
        if self.combine in ("min", "max") and not self.edge_state:
            return "starts" not in self.functions and not self.asynchronous
        return self.combine != "any"

    @property
    def reads_supersteps(self) -> bool:
        """Whether a function reads `p.superstep` or an aggregate."""
        changing = {"superstep", *self.aggregates}
        return any(
            changing & read
            for source in self.sources.values()
            for read in source.attributes.values()
        )

    @property
    def selective(self) -> bool:
        """Whether `compute` returns `ws.no_message` on some path."""
        return NO_MESSAGE in self.sources["compute"].text

    @property
    def scatters(self) -> bool:
        """Whether messages are sent by `scatter`, which sees all out-edges of a vertex; see `program.scatter`."""
        return "scatter" in self.functions

    @property
    def draws(self) -> bool:
        """Whether a function draws random numbers."""
        return NUMBER in self.constants

    @property
    def draws_by_edge(self) -> bool:
        """Whether `compute` draws random numbers."""
        return any(NUMBER in read for read in self.sources["compute"].attributes.values())

    @property
    def notes_errors(self) -> bool:
        """Whether supersteps record messages or indices out of range, behind the arrays of edges."""
        ranged = self.fold is not None and any(one.end is not None for one in self.fold.folds)
        return ranged or (self.listing is not None and self.listing.kind == "list")

    @property
    def reads_target(self) -> bool:
        """Whether `compute` takes `dst`, the vertex that a message goes to."""
        return "dst" in self.sources["compute"].parameters

    @property
    def edge_fields(self) -> tuple[str, ...]:
        """Names of the fields of `edge` in the program's functions: attributes, then state."""
        return (*self.edges, *self.edge_state)

    @property
    def edge_state_kinds(self) -> tuple[str, ...]:
        """NumPy type names of the fields of the state of edges."""
        return tuple(declared.type.name for declared in self.edge_state.values())

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the fields of `p` in the program's functions, in the order in which they are passed."""
        return (*self.parameters, *self.aggregates, *BUILT_IN_PARAMETERS)

    def __repr__(self) -> str:
        return f"<vertex program {self.name}: {', '.join(self.state)}>"


def _read_sources(program: VertexProgram) -> None:
    """Check every function: its arguments, the attributes that it reads, its statements."""
    drawing = {
        key: (key, list(FUNCTIONS).index(key))
        for key, function in program.functions.items()
        if key in DRAWING and draws(function, program.name)
    }
    if drawing and not program.draws:
        _declare_draws(program)
    constants = set(program.constants) - set(program.jumps)
    alone = set(program.state) | constants
    vertex = alone | set(program.jumps)
    p = set(program.parameter_names)
    first = p - {"superstep", *program.aggregates}
    if program.scatters:
        check_scatter(program)
    out_edges = Rewriting(program.edges, vertex)
    fields = {} if program.fold is None else {"gathered": program.fold.fields}
    reads: dict[str, dict[str, Collection[str]]] = {
        "init": {"p": first, "own": constants},
        "compute": {"src": vertex, "dst": vertex, "edge": set(program.edge_fields), "p": p},
        "gather_list": {"old": vertex, "p": p},
        "apply": {"old": vertex, "p": p, **fields},
        "active": {"old": vertex, "new": alone, "p": p},
        "starts": {"state": alone, "p": first},
        "settled": {"state": alone, "p": p},
        "priority": {"state": alone, "p": p},
        "init_edge": {"src": alone, "dst": alone, "edge": set(program.edges), "p": first},
        "update_edge": {
            "src": alone,
            "dst": alone,
            "edge": set(program.edge_fields),
            "p": p - {*program.aggregates},
        },
        "until": {"p": p},
        "scatter": {"own": vertex, "p": p},
    }
    for key, function in program.functions.items():
        if key == "compute" and program.scatters:  # of what is sent
            continue
        source = read_function(
            function,
            f"user_{key}",
            owner=program.name,
            attributes=reads.get(key, {}),
            drawing=drawing.get(key),
            rewrite=out_edges.rewrite if key == "scatter" else None,
        )
        if key != "combine":
            check_arguments(program, key, source, FUNCTIONS[key])
        elif len(source.parameters) != 2:
            raise ProgramError(
                f"{program.name}.combine ({source.location}) takes {len(source.parameters)} arguments; "
                "write it as combine(a, b)"
            )
        program.sources[key] = source
        if key == "gather_list":
            if "messages" not in source.parameters:
                raise ProgramError(
                    f"{program.name}.gather_list ({source.location}) does not take `messages`, the vertex's messages; add it"
                )
            check_list_uses(program.name, source.text, source.location)
    if program.scatters:
        program.edge_state = fields_sent(out_edges.parts)
        compute = compute_source(out_edges.parts, program.sources["scatter"].location)
        program.sources["compute"] = compute
        program.functions = {**program.functions, "compute": plain_compute(compute, program.name)}
    for key, function in program.aggregates.items():
        source = read_function(
            function,
            f"user_{key}",
            owner=program.name,
            attributes={"state": alone, "p": p - {*program.aggregates}},
        )
        check_arguments(program, key, source, AGGREGATE)
        program.sources[key] = source


def _declare_draws(program: VertexProgram) -> None:
    """Add the parameter and the constant that draws of random numbers read."""
    for name in (SEED, NUMBER, RANK):
        if name in {**program.state, **program.constants, **program.parameters, **program.edges}:
            raise ProgramError(
                f"{program.name}.{name}: that name is taken by the random numbers that it draws; choose another"
            )
    # RANK is an edge attribute only where a graph has parallel edges; see `binding.with_draws_by_row`
    program.parameters = {**program.parameters, SEED: Seed()}
    program.constants = {**program.constants, NUMBER: VertexNumber()}


def check_arguments(program: Any, key: str, source: FunctionSource, known: tuple[str, ...]) -> None:
    """Refuse an argument that is not passed to the function.

    Parameters
    ----------
    program : VertexProgram or EdgeProgram
    key : str
        The function.
    source : FunctionSource
    known : tuple of str
        The arguments that it may take.

    Raises
    ------
    ProgramError
    """
    for name in source.parameters:
        if name not in known:
            raise ProgramError(
                f"{program.name}.{key} ({source.location}) asks for `{name}`; "
                f"{'a program has no self, ' if name == 'self' else ''}arguments are bound by "
                f"name, and {key} has: {', '.join(known)}"
            )
