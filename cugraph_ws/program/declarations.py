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

    Examples
    --------
    The nearest shop of each corner, how far it is, and whether that is at most 5 km:

    >>> import math
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> @ws.vertex_program
    ... class NearestShop:
    ...     km: ws.float32
    ...     shop: ws.vertex_id
    ...     near: ws.boolean
    ...     length = ws.edge(ws.float32)
    ...     shops: ws.vertex_set
    ...     combine = ws.first_by(0)
    ...
    ...     def init(vertex, own):
    ...         return (0.0, vertex, True) if own.shops else (math.inf, -1, False)
    ...
    ...     def compute(src, edge):
    ...         return src.km + edge.length, src.shop
    ...
    ...     def apply(old, gathered):
    ...         if gathered[0] < old.km:
    ...             return gathered[0], gathered[1], gathered[0] <= 5.0
    ...         return old.km, old.shop, old.near
    >>> streets = pd.DataFrame(
    ...     {"source": ["a", "b", "c"], "destination": ["b", "c", "d"], "length": [2.0, 9.0, 8.0]}
    ... )
    >>> frame = ws.run(NearestShop, streets, directed=False, shops=["a", "d"]).frame
    >>> frame[["km", "shop", "near"]].values.tolist()
    [[0.0, 'a', True], [2.0, 'a', True], [8.0, 'd', False], [0.0, 'd', True]]
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
    """The type of an edge attribute: float32 if its column is float32, else float64.

    Examples
    --------
    The longest road into each place, in the type in which the program sees lengths:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> @ws.vertex_program
    ... class LongestRoad:
    ...     longest = ws.like("km")
    ...     km = ws.edge(ws.floating)
    ...     combine = max
    ...     max_iter = 1
    ...
    ...     def init():
    ...         return 0.0
    ...
    ...     def compute(edge):
    ...         return edge.km
    ...
    ...     def apply(old, gathered):
    ...         return max(old.longest, gathered)
    >>> roads = pd.DataFrame({"source": ["a", "b"], "destination": ["c", "c"], "km": [3, 5]})
    >>> kinds = ["int64", "float32", "float64"]
    >>> [str(ws.run(LongestRoad, roads.astype({"km": kind})).frame["longest"].dtype) for kind in kinds]
    ['float64', 'float32', 'float64']
    """


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

    @property
    def holds_vertex(self) -> bool:
        """Whether the field is a vertex number, converted to an id in results."""
        return isinstance(self.type, ScalarType) and self.type.holds_vertex


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

    Examples
    --------
    People's friends have more friends than they have themselves:

    >>> import cugraph_ws as ws
    >>> @ws.vertex_program
    ... class FriendsOfFriends:
    ...     friends: ws.float64
    ...     of_friends: ws.float64
    ...     degree: ws.out_degree
    ...     combine = sum
    ...     max_iter = 1
    ...
    ...     def init(own):
    ...         return own.degree, 0.0
    ...
    ...     def compute(src):
    ...         return src.degree
    ...
    ...     def apply(old, gathered):
    ...         return old.friends, gathered / old.degree
    >>> frame = ws.run(FriendsOfFriends, ws.datasets.karate_club(), directed=False).frame
    >>> frame[["friends", "of_friends"]].mean().round(1).tolist()
    [4.6, 9.6]
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

    Examples
    --------
    A surfer follows links, and at times starts again, three times as often at page 1 as at page 2:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> @ws.vertex_program
    ... class Surfer:
    ...     share: ws.float64
    ...     home: ws.distribution
    ...     degree: ws.out_degree
    ...     combine = sum
    ...     residual = ws.l1_norm("share")
    ...     tol = 1e-9
    ...
    ...     def init(own):
    ...         return own.home
    ...
    ...     def compute(src):
    ...         return src.share / src.degree
    ...
    ...     def apply(old, gathered):
    ...         return 0.2 * old.home + 0.8 * gathered
    >>> links = pd.DataFrame({"source": [1, 2, 3], "destination": [2, 3, 1]})
    >>> ws.run(Surfer, links, home={1: 3, 2: 1}).frame["share"].round(3).tolist()
    [0.373, 0.348, 0.279]
    >>> ws.run(Surfer, links).frame["share"].round(3).tolist()  # uniform
    [0.333, 0.333, 0.333]
    """

    default: str | None = None


@dataclass(frozen=True)
class VertexSet(WithoutParentheses):
    """A set of vertices, given to `run()`; the program sees True for the vertices in it.

    `run()` also takes it under the name `alias`.

    Examples
    --------
    An infection spreads from the first cases, but not through those who are immune:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> @ws.vertex_program
    ... class Outbreak:
    ...     ill: ws.boolean
    ...     first: ws.vertex_set
    ...     immune: ws.optional_vertex_set
    ...     combine = any
    ...
    ...     def init(own):
    ...         return own.first
    ...
    ...     def compute(src):
    ...         return src.ill
    ...
    ...     def apply(old, gathered):
    ...         return old.ill or (gathered and not old.immune)
    >>> meetings = pd.DataFrame({"source": ["ann", "bob", "cat"], "destination": ["bob", "cat", "dan"]})
    >>> ws.run(Outbreak, meetings, first=["ann"]).frame["ill"].tolist()
    [True, True, True, True]
    >>> ws.run(Outbreak, meetings, first=["ann"], immune=["cat"]).frame["ill"].tolist()
    [True, True, False, False]
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
    """One vertex, given to `run()` by its id; the program sees its number.

    Examples
    --------
    The number of hops from the vertex `start` to every other, -1 without a path:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> @ws.vertex_program
    ... class Hops:
    ...     hops: ws.int64
    ...     start: ws.vertex_parameter
    ...     combine = any
    ...
    ...     def init(vertex, p):
    ...         return 0 if vertex == p.start else -1
    ...
    ...     def starts(state):
    ...         return state.hops == 0
    ...
    ...     def compute(src):
    ...         return src.hops + 1
    ...
    ...     def apply(old, gathered):
    ...         return gathered if old.hops < 0 else old.hops
    >>> trains = pd.DataFrame({"source": ["bonn", "ulm"], "destination": ["ulm", "wien"]})
    >>> ws.run(Hops, trains, start="ulm").frame.to_dict("list")
    {'vertex': ['bonn', 'ulm', 'wien'], 'hops': [-1, 0, 1]}
    """


@dataclass(frozen=True)
class Seed:
    """The seed of a program that draws random numbers, given to `run()`; no class declares it."""

    default: int = 0


@dataclass(frozen=True)
class VertexNumber(WithoutParentheses):
    """A constant of each vertex: its number, from 0, which draws of random numbers read too; or its id, an integer.

    Examples
    --------
    The first house to which each house has a cable, and the longest cable by the numbers of the houses.  Here `me`
    is 0, 1 or 2, and `house` is 10, 14 or 30:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> @ws.vertex_program
    ... class Cables:
    ...     first: ws.vertex_id
    ...     longest: ws.int64
    ...     me: ws.vertex_number
    ...     house: ws.integer_id
    ...     combine = (min, max)
    ...     max_iter = 1
    ...
    ...     def init():
    ...         return -1, 0
    ...
    ...     def compute(src, dst):
    ...         return src.me, abs(src.house - dst.house)
    ...
    ...     def apply(gathered):
    ...         return gathered
    >>> cables = pd.DataFrame({"source": [10, 14], "destination": [14, 30]})
    >>> ws.run(Cables, cables, directed=False).frame.to_dict("list")
    {'vertex': [10, 14, 30], 'first': [14, 10, 14], 'longest': [4, 16, 16]}
    """

    is_id: bool = False


@dataclass(frozen=True)
class Predecessor:
    """A result column: the smallest in-neighbour that sent the vertex its final state.

    Examples
    --------
    The fewest trains from `start` to each station, and the station before it on that way:

    >>> import math
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> @ws.vertex_program
    ... class Trains:
    ...     taken: ws.float64
    ...     before: ws.predecessor
    ...     start: ws.vertex_parameter
    ...     combine = min
    ...
    ...     def init(vertex, p):
    ...         return 0.0 if vertex == p.start else math.inf
    ...
    ...     def compute(src):
    ...         return src.taken + 1.0
    ...
    ...     def apply(old, gathered):
    ...         return min(old.taken, gathered)
    >>> trains = pd.DataFrame({"source": ["a", "a", "b", "c"], "destination": ["b", "c", "d", "d"]})
    >>> ws.run(Trains, trains, start="a").frame.tail(3).to_dict("list")
    {'vertex': ['b', 'c', 'd'], 'taken': [1.0, 1.0, 2.0], 'before': ['a', 'a', 'b']}
    """


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
    """What `compute` returns along an arc on which it sends nothing.

    Examples
    --------
    A lorry crosses only bridges that bear its weight.  Which places does it reach?

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> @ws.vertex_program
    ... class Lorry:
    ...     reached: ws.boolean
    ...     bears = ws.edge(ws.float64)
    ...     depot: ws.vertex_parameter
    ...     tonnes = ws.parameter(ws.float64)
    ...     combine = any
    ...
    ...     def init(vertex, p):
    ...         return vertex == p.depot
    ...
    ...     def compute(src, edge, p):
    ...         return src.reached if edge.bears >= p.tonnes else ws.no_message
    ...
    ...     def apply(old, gathered):
    ...         return old.reached or gathered
    >>> bridges = pd.DataFrame(
    ...     {"source": ["a", "b", "a"], "destination": ["b", "c", "d"], "bears": [40.0, 12.0, 7.5]}
    ... )
    >>> ws.run(Lorry, bridges, depot="a", tonnes=10).frame["reached"].tolist()
    [True, True, True, False]
    >>> ws.run(Lorry, bridges, depot="a", tonnes=20).frame["reached"].tolist()
    [True, True, False, False]
    """

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
    The opinion of each person moves half of the way to the mean of the neighbours' opinions:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> @ws.vertex_program
    ... class Opinions:
    ...     x = ws.vector(ws.float32, 2)
    ...     given = ws.vertex_value(ws.vector(ws.float32, 2))
    ...     degree: ws.in_degree
    ...     combine = sum
    ...     max_iter = 1
    ...
    ...     def init(own):
    ...         return own.given
    ...
    ...     def compute(src):
    ...         return src.x
    ...
    ...     def apply(old, gathered):
    ...         return 0.5 * old.x + 0.5 * gathered / old.degree
    >>> given = pd.DataFrame({"vertex": list("abc"), "left": [1.0, 0.0, 0.0], "up": [0.0, 4.0, 0.0]})
    >>> talks = pd.DataFrame({"source": ["a", "b"], "destination": ["b", "c"]})
    >>> ws.run(Opinions, talks, directed=False, given=given).frame.to_dict("list")
    {'vertex': ['a', 'b', 'c'], 'x_0': [0.5, 0.25, 0.0], 'x_1': [2.0, 2.0, 2.0]}
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

    Examples
    --------
    The cheapest way from a town, where an hour is worth 10 and some roads have a toll:

    >>> import math
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> @ws.vertex_program
    ... class Cheapest:
    ...     cost: ws.float64
    ...     hours = ws.edge(ws.float64, least=0.0)
    ...     toll = ws.edge(ws.float64, default=0.0)
    ...     start: ws.vertex_parameter
    ...     combine = min
    ...
    ...     def init(vertex, p):
    ...         return 0.0 if vertex == p.start else math.inf
    ...
    ...     def compute(src, edge):
    ...         return src.cost + 10.0 * edge.hours + edge.toll
    ...
    ...     def apply(old, gathered):
    ...         return min(old.cost, gathered)
    >>> roads = pd.DataFrame(
    ...     {"source": ["a", "a", "b"], "destination": ["b", "c", "c"], "hours": [1.0, 3.0, 1.0]}
    ... )
    >>> ws.run(Cheapest, roads, start="a").frame["cost"].tolist()
    [0.0, 10.0, 20.0]
    >>> ws.run(Cheapest, roads.assign(toll=[0.0, 0.0, 15.0]), start="a").frame["cost"].tolist()
    [0.0, 10.0, 30.0]
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

    Examples
    --------
    A damped message: half of what the edge said before, and half of its source's state:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> @ws.vertex_program
    ... class Damped:
    ...     x: ws.float64
    ...     given = ws.vertex_value(ws.float64)
    ...     said = ws.edge_state(ws.float64)
    ...     combine = sum
    ...     max_iter = 3
    ...
    ...     def init(own):
    ...         return own.given
    ...
    ...     def compute(edge):
    ...         return edge.said
    ...
    ...     def apply(old, gathered):
    ...         return old.given + gathered
    ...
    ...     def update_edge(src, edge):
    ...         return 0.5 * edge.said + 0.5 * src.x
    >>> result = ws.run(
    ...     Damped, pd.DataFrame({"source": [1, 2], "destination": [2, 3]}), given={1: 8, 2: 0, 3: 0}
    ... )
    >>> result.frame["x"].tolist(), result.edges["said"].tolist()
    ([8.0, 6.0, 2.0], [7.0, 4.0])
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

    Examples
    --------
    Each pupil sees the mean of the marks of the others at the table; unknown marks count as 3:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> @ws.vertex_program
    ... class OthersMarks:
    ...     mean: ws.float64
    ...     degree: ws.in_degree
    ...     mark = ws.vertex_value(ws.float64, default=3.0, argument="marks")
    ...     combine = sum
    ...     max_iter = 1
    ...
    ...     def init():
    ...         return 0.0
    ...
    ...     def compute(src):
    ...         return src.mark
    ...
    ...     def apply(old, gathered):
    ...         return gathered / old.degree
    >>> table = pd.DataFrame({"source": ["ann", "ann", "bob"], "destination": ["bob", "cat", "cat"]})
    >>> marks = {"ann": 1.0, "bob": 2.0}
    >>> ws.run(OthersMarks, table, directed=False, marks=marks).frame["mean"].tolist()
    [2.5, 2.0, 1.5]
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

    Examples
    --------
    The least fare from a start, without and with a discount:

    >>> import math
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> @ws.vertex_program
    ... class Fares:
    ...     total: ws.float64
    ...     fare = ws.edge(ws.float64)
    ...     start: ws.vertex_parameter
    ...     discount = ws.parameter(ws.float64, default=0.0)
    ...     combine = min
    ...
    ...     def init(vertex, p):
    ...         return 0.0 if vertex == p.start else math.inf
    ...
    ...     def compute(src, edge, p):
    ...         return src.total + (1.0 - p.discount) * edge.fare
    ...
    ...     def apply(old, gathered):
    ...         return min(old.total, gathered)
    >>> tickets = pd.DataFrame(
    ...     {"source": ["a", "a", "b"], "destination": ["b", "c", "c"], "fare": [20.0, 60.0, 30.0]}
    ... )
    >>> ws.run(Fares, tickets, start="a").frame["total"].tolist()
    [0.0, 20.0, 50.0]
    >>> ws.run(Fares, tickets, start="a", discount=0.25).frame["total"].tolist()
    [0.0, 15.0, 37.5]
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

    Examples
    --------
    How many walks of one to three edges end at each vertex?  Only their number is a column:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> @ws.vertex_program
    ... class Walks:
    ...     walks: ws.int64
    ...     newest = ws.hidden(ws.int64)
    ...     combine = sum
    ...     max_iter = 3
    ...
    ...     def init():
    ...         return 0, 1
    ...
    ...     def compute(src):
    ...         return src.newest
    ...
    ...     def apply(old, gathered):
    ...         return old.walks + gathered, gathered
    >>> edges = pd.DataFrame({"source": [1, 1, 2, 3], "destination": [2, 3, 4, 4]})
    >>> ws.run(Walks, edges).frame.to_dict("list")
    {'vertex': [1, 2, 3, 4], 'walks': [0, 1, 1, 4]}
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

    Examples
    --------
    The hops from a start; null where there is no path:

    >>> import math
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> @ws.vertex_program
    ... class Hops:
    ...     hops = ws.nullable(ws.int64, math.inf)
    ...     start: ws.vertex_parameter
    ...     combine = min
    ...
    ...     def init(vertex, p):
    ...         return 0 if vertex == p.start else math.inf
    ...
    ...     def compute(src):
    ...         return src.hops + 1
    ...
    ...     def apply(old, gathered):
    ...         return min(old.hops, gathered)
    >>> edges = pd.DataFrame({"source": ["a", "b", "x"], "destination": ["b", "c", "a"]})
    >>> ws.run(Hops, edges, start="a").frame["hops"].tolist()
    [0, 1, 2, <NA>]
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

    Examples
    --------
    The highest bid for each thing is an integer where bids are, and a float where they are floats:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> @ws.vertex_program
    ... class HighestBid:
    ...     highest = ws.like("bid")
    ...     bid = ws.edge()
    ...     combine = max
    ...     max_iter = 1
    ...
    ...     def init():
    ...         return 0
    ...
    ...     def compute(edge):
    ...         return edge.bid
    ...
    ...     def apply(old, gathered):
    ...         return max(old.highest, gathered)
    >>> bids = pd.DataFrame({"source": ["ann", "bob"], "destination": ["lamp"] * 2, "bid": [30, 45]})
    >>> ws.run(HighestBid, bids).frame["highest"].tolist()
    [0, 0, 45]
    >>> ws.run(HighestBid, bids.astype({"bid": float})).frame["highest"].tolist()
    [0.0, 0.0, 45.0]
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
