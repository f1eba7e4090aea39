"""Declarations of a vertex program: state, edge attributes, constants, parameters.

Every declaration is an annotation or an assignment in the program's class body.  Type checkers do
not accept a call as a type, so in files that they check, assign declarations that are calls::

    width: ws.float32                    # state, and a column of the result
    share = ws.vector(ws.float32, 8)     # state, and the columns share_0, …, share_7
    capacity = ws.edge(ws.float32)       # an edge attribute, read from the edge frame
    flow = ws.edge_state(ws.float64)     # state of each edge, and a column of `Result.edges`
    prior = ws.vertex_value(ws.float64)  # a constant of each vertex, given to run()
    degree: ws.out_degree                # a constant of each vertex, taken from the graph
    number: ws.vertex_number             # the number of each vertex
    alpha: ws.parameter(ws.float64)      # one number, given to run()
    source: ws.vertex_parameter          # one vertex, given to run() in the frame's own ids
    predecessor: ws.predecessor          # a column found after the last superstep
    grand: int = ws.at("parent", "parent")  # the field of the vertex that a field names
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from cugraph_ws.arguments import shown
from cugraph_ws.errors import ProgramError

__all__ = [
    "Constant",
    "Distribution",
    "Edge",
    "EdgeState",
    "Floating",
    "Jump",
    "Like",
    "Neighbours",
    "Parallel",
    "Parameter",
    "Predecessor",
    "ScalarType",
    "Seed",
    "State",
    "VectorType",
    "VertexNumber",
    "VertexParameter",
    "VertexSet",
    "VertexValue",
    "boolean",
    "distribution",
    "edge",
    "edge_state",
    "float32",
    "float64",
    "floating",
    "hidden",
    "in_degree",
    "in_weight",
    "int32",
    "int64",
    "integer_id",
    "like",
    "neighbour_count",
    "no_message",
    "nullable",
    "optional_vertex_set",
    "out_degree",
    "out_weight",
    "parameter",
    "predecessor",
    "vector",
    "vertex_id",
    "vertex_number",
    "vertex_parameter",
    "vertex_set",
    "vertex_value",
]

VECTORS_OF = ("ws.float32", "ws.float64", "ws.int32", "ws.int64")
MOST_ELEMENTS = 256


class WithoutParentheses:
    """A declaration that is no function; calling it says so."""

    def __call__(self, *arguments: Any, **named: Any) -> NoReturn:
        """Refuse the call."""
        text = repr(self) if isinstance(self, ScalarType) else "the declaration"
        raise ProgramError(
            f"{text} is no function; write it without parentheses, as in `x: ws.float64`, `degree: ws.out_degree` "
            "or `seeds: ws.vertex_set`"
        )


@dataclass(frozen=True)
class ScalarType(WithoutParentheses):
    """The type of one number, as stored in an array.

    Attributes
    ----------
    name : str
        NumPy's name of the type.
    holds_vertex : bool
        Whether the number is a vertex number, converted to an id in results.
    """

    name: str
    holds_vertex: bool = False

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The type as a NumPy dtype."""
        return np.dtype(self.name)

    def __repr__(self) -> str:
        return "ws.vertex_id" if self.holds_vertex else f"ws.{self.name.replace('bool', 'boolean')}"


@dataclass(frozen=True)
class VectorType(ScalarType):
    """The type of a vector of `length` numbers; `name` is NumPy's name of their type."""

    length: int = 0

    def __repr__(self) -> str:
        return f"ws.vector(ws.{self.name}, {self.length})"


@dataclass(frozen=True)
class Like:
    """The type of one of the graph's edge attributes, for a state field."""

    attribute: str


@dataclass(frozen=True)
class Floating:
    """The type of an edge attribute: float32 if its column is float32, else float64."""


@dataclass(frozen=True)
class State:
    """A field of the vertex state.

    Attributes
    ----------
    type : ScalarType or Like
        Type of the field.
    visible : bool
        Whether it is a column of the result.
    null : float or None
        Value that means "none" and is null in the result.
    on_gpu : ScalarType or None
        Storage type on a GPU, if different.
    """

    type: ScalarType | Like
    visible: bool = True
    null: float | None = None
    on_gpu: ScalarType | None = None


# Which common neighbours a pair of vertices has, in edge programs: all, those that both lead to, those that lead
# to both, those on a path from the first to the second
Neighbours = Literal["any", "out", "in", "through"]
Parallel = Literal["sum", "min", "max", "first"]  # the value of several edges between two vertices


@dataclass(frozen=True)
class Edge:
    """An edge attribute.

    Attributes
    ----------
    type : ScalarType, Floating or None
        The type that the program sees; None for the column's.
    default : float or None
        Value of all edges if there is no such column; None if the column is required.
    least : float or None
        Minimum valid value.
    parallel : {"sum", "min", "max", "first"} or None
        In an edge program, the value of several edges between two vertices; None for the default, their sum.
    """

    type: ScalarType | Floating | None = None
    default: float | None = None
    least: float | None = None
    parallel: Parallel | None = None

    def seen(self, stored: str) -> str:
        """Return the NumPy name of the type that the program sees, given that of the column."""
        if isinstance(self.type, ScalarType):
            return self.type.name
        return "float64" if isinstance(self.type, Floating) and stored == "int64" else stored


@dataclass(frozen=True)
class EdgeState:
    """A field of the state of edges; `default` is its first value unless there is `init_edge`."""

    type: ScalarType
    default: float = 0


@dataclass(frozen=True)
class Constant(WithoutParentheses):
    """A constant of each vertex, computed from the graph: a degree or a sum of weights.

    In edge programs also the number of distinct neighbours.  `run()` accepts other values under
    the name `argument`, or else the declared name.
    """

    source: str
    argument: str | None = None


@dataclass(frozen=True)
class VertexValue:
    """A constant of each vertex, given to `run()` under the name `argument`, or else the declared name."""

    type: ScalarType
    default: float | None = None
    argument: str | None = None


@dataclass(frozen=True)
class Distribution(WithoutParentheses):
    """A distribution over the vertices, given to `run()` and scaled to the sum 1.

    If not given, it is the distribution that was declared before with the name `default`, or else
    the uniform one.
    """

    default: str | None = None


@dataclass(frozen=True)
class VertexSet(WithoutParentheses):
    """A set of vertices, given to `run()`; the program sees True for the vertices in it.

    `run()` also takes it under the name `alias`.
    """

    optional: bool = False
    alias: str | None = None


@dataclass(frozen=True)
class Parameter:
    """One number, given to `run()`."""

    type: ScalarType
    default: float | None = None


@dataclass(frozen=True)
class VertexParameter(WithoutParentheses):
    """One vertex, given to `run()` by its id; the program sees its number."""


@dataclass(frozen=True)
class Seed:
    """The seed of a program that draws random numbers, given to `run()`; no class declares it."""

    default: int = 0


@dataclass(frozen=True)
class VertexNumber(WithoutParentheses):
    """A constant of each vertex: its number, from 0, which draws of random numbers read too; or its id, an integer."""

    is_id: bool = False


@dataclass(frozen=True)
class Predecessor:
    """A result column: the smallest in-neighbour that sent the vertex its final state."""


@dataclass(frozen=True)
class Jump:
    """A field read at the vertex that a pointer names, or folded over the vertices that name this one.

    Attributes
    ----------
    fold : {"at", "least", "greatest", "sum"}
        "at" reads the field of one vertex; the others fold over several.
    field, pointer : str
        State fields: the one that is read, and the one that holds the number of a vertex.
    default : float
        For "at": the value if the pointer is -1.
    """

    fold: Literal["at", "least", "greatest", "sum"]
    field: str
    pointer: str
    default: float = 0


Declaration = (
    State
    | Edge
    | EdgeState
    | Constant
    | VertexNumber
    | VertexValue
    | Distribution
    | VertexSet
    | Parameter
    | VertexParameter
    | Predecessor
    | Jump
)


class NoMessage:
    """What `compute` returns along an arc on which it sends nothing."""

    def __repr__(self) -> str:
        return "ws.no_message"


floating = Floating()
no_message: Any = NoMessage()

if TYPE_CHECKING:
    # Type checkers need an annotation to be a type; in functions the value can have any type.
    float32: TypeAlias = Any
    float64: TypeAlias = Any
    int32: TypeAlias = Any
    int64: TypeAlias = Any
    boolean: TypeAlias = Any
    vertex_id: TypeAlias = Any
    in_degree: TypeAlias = Any
    out_degree: TypeAlias = Any
    in_weight: TypeAlias = Any
    out_weight: TypeAlias = Any
    neighbour_count: TypeAlias = Any
    distribution: TypeAlias = Any
    integer_id: TypeAlias = Any
    vertex_number: TypeAlias = Any
    vertex_parameter: TypeAlias = Any
    vertex_set: TypeAlias = Any
    optional_vertex_set: TypeAlias = Any
    predecessor: TypeAlias = Any
    Scalar: TypeAlias = Any  # ws.float32 etc.
else:
    float32 = ScalarType("float32")
    float64 = ScalarType("float64")
    int32 = ScalarType("int32")
    int64 = ScalarType("int64")
    boolean = ScalarType("bool")
    vertex_id = ScalarType("int64", holds_vertex=True)
    in_degree = Constant("in_degree")
    out_degree = Constant("out_degree")
    in_weight = Constant("in_weight")
    out_weight = Constant("out_weight")
    neighbour_count = Constant("neighbour_count")
    distribution = Distribution()
    integer_id = VertexNumber(is_id=True)
    vertex_number = VertexNumber()
    vertex_parameter = VertexParameter()
    vertex_set = VertexSet()
    optional_vertex_set = VertexSet(optional=True)
    predecessor = Predecessor()


def vector(type: Scalar, length: int) -> Any:  # noqa: A002 - reads as the user's word
    """Declare a state field, or a vertex value, that is a vector of numbers.

    In the functions of a program a vector is a one-dimensional NumPy array: `src.x * edge.w` is a vector,
    `np.dot(src.x, dst.x)` a number, and `src.x[2]` an element.  Messages that are vectors are folded element by
    element, by `sum`, `min` or `max`.

    Parameters
    ----------
    type : ScalarType
        Type of the elements: `ws.float32`, `ws.float64`, `ws.int32` or `ws.int64`.
    length : int
        How many elements, from 1 to 256; the same for all vectors of a program.

    Returns
    -------
    VectorType
        The declaration.  A field `x` becomes the columns `x_0`, `x_1`, … of the result.

    Raises
    ------
    ProgramError
        If the type is not one of these, or the length is not a whole number from 1 to 256.

    Examples
    --------
    The mean of the neighbours' features::

        @ws.vertex_program
        class Smoothed:
            x = ws.vector(ws.float32, 64)
            given = ws.vertex_value(ws.vector(ws.float32, 64))
            degree: ws.in_degree
            combine = sum
            max_iter = 2

            def init(own):
                return own.given

            def compute(src):
                return src.x

            def apply(old, gathered):
                return 0.5 * old.x + 0.5 * gathered / max(old.degree, 1)
    """
    if not isinstance(type, ScalarType) or repr(type) not in VECTORS_OF:
        raise ProgramError(
            f"ws.vector of {shown(type)}: the elements of a vector are {', '.join(VECTORS_OF)}; give one of these"
        )
    whole = isinstance(length, (int, np.integer)) and not isinstance(length, bool)
    if not whole or not 1 <= length <= MOST_ELEMENTS:
        raise ProgramError(
            f"ws.vector of length {shown(length)}: give a whole number from 1 to {MOST_ELEMENTS}"
        )
    return VectorType(type.name, length=int(length))


def edge(
    type: Scalar | Floating | None = None,  # noqa: A002 - reads as the user's word
    default: float | None = None,
    least: float | None = None,
    parallel: Parallel | None = None,
) -> Any:
    """Declare an edge attribute.

    Parameters
    ----------
    type : ScalarType or Floating, optional
        Type that the program sees; by default the column's own (int64, float32 or float64).  With
        `ws.floating` it is float32 for a float32 column, and float64 otherwise.
    default : float, optional
        Value of every edge if the graph has no such attribute; without a default the attribute
        is required.
    least : float, optional
        Minimum valid value; a graph with a smaller one is refused.
    parallel : {"sum", "min", "max", "first"}, optional
        For edge programs: the value of several edges between two vertices, by default their sum; "first" is that
        of the first in the order of the frame.  Vertex programs and walks see every edge.

    Returns
    -------
    Edge
        The declaration.
    """
    return Edge(type, default, least, parallel)


def edge_state(type: Scalar, default: float = 0) -> Any:  # noqa: A002 - reads as the user's word
    """Declare a field of the state that a program keeps for each edge.

    `compute` reads it as `edge.<name>`, and `update_edge` writes it after each superstep.  Each
    direction of an undirected edge has a state of its own.

    Parameters
    ----------
    type : ScalarType
        Type of the field: `ws.float64`, `float32`, `int64`, `int32` or `boolean`.
    default : float
        Value of every edge before the first superstep, if the program has no `init_edge`.

    Returns
    -------
    EdgeState
        The declaration.
    """
    return EdgeState(type, default)


def vertex_value(
    type: Scalar,  # noqa: A002 - reads as the user's word
    default: float | None = None,
    argument: str | None = None,
) -> Any:
    """Declare a constant of each vertex that is given to `run()`.

    It is given as a frame with a vertex and a value column, as a mapping, as one number for all,
    or as the name of a column of the graph's vertex frame.

    Parameters
    ----------
    type : ScalarType
        Type that the program sees.
    default : float, optional
        Value of vertices that are given none; without a default, every vertex must be given one.
        With NaN, some values must be given, and the program sees NaN at the other vertices.
    argument : str, optional
        Name under which `run()` takes it; by default the declared name.

    Returns
    -------
    VertexValue
        The declaration.
    """
    return VertexValue(type, default, argument)


def parameter(type: Scalar, default: float | None = None) -> Any:  # noqa: A002 - reads as the user's word
    """Declare one number that is given to `run()`.

    Parameters
    ----------
    type : ScalarType
        Type that the program sees.
    default : float, optional
        Value used if `run()` is given none.

    Returns
    -------
    Parameter
        The declaration.
    """
    return Parameter(type, default)


def hidden(
    type: Scalar | Like,  # noqa: A002 - reads as the user's word
    *,
    on_gpu: Scalar | None = None,
) -> Any:
    """Declare a state field that is not a column of the result.

    Parameters
    ----------
    type : ScalarType or Like
        Type of the field.
    on_gpu : ScalarType, optional
        Storage type on a GPU, to move fewer bytes when all out-neighbours read the field; not used
        in a run with a `tol` above 0 and below 1e-7.

    Returns
    -------
    State
        The declaration.
    """
    return State(type, visible=False, on_gpu=on_gpu)


def nullable(type: Scalar | Like, null: float) -> Any:  # noqa: A002 - reads as the user's word
    """Declare a state field in which one value means "none".

    Parameters
    ----------
    type : ScalarType or Like
        Type of the field.
    null : float
        The value that is null in the result, for example `math.inf` for 'unreachable'.

    Returns
    -------
    State
        The declaration.
    """
    return State(type, null=null)


def like(attribute: str) -> Any:
    """Give a state field the type of an edge attribute of the graph.

    Parameters
    ----------
    attribute : str
        Name of a declared edge attribute.

    Returns
    -------
    Like
        The declaration.
    """
    return Like(attribute)


def sample_values(dtype: npt.DTypeLike) -> list[Any]:
    """Return a few values of `dtype` to try programs on, small enough not to overflow."""
    kind: np.dtype[Any] = np.dtype(dtype)
    if kind.kind == "b":
        return [np.bool_(False), np.bool_(True)]
    if kind.kind == "f":
        return [kind.type(value) for value in (0.0, 1.0, 0.25, 3.5, 7.0)]
    return [kind.type(value) for value in (0, 1, 2, 5, 9)]
