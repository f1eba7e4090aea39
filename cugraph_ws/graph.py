"""`Graph`: an edge frame, numbered and grouped, in the orders that algorithms read it in.

The constructor checks the frame and groups its edges by source straight from the caller's
columns; the CSC (in-neighbours) and the CSR (out-neighbours) are made when first needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from cugraph_ws.adjacency import Adjacency
from cugraph_ws.arcs import Arcs, Order
from cugraph_ws.duplicates import Merge
from cugraph_ws.edges import Loops, read_edges
from cugraph_ws.errors import InputError
from cugraph_ws.frames import Masked, VertexNumbers
from cugraph_ws.memory import format_bytes
from cugraph_ws.numbering import Renumbered

__all__ = ["Adjacency", "Duplicates", "Graph", "GraphReport", "as_graph"]

Array = npt.NDArray[Any]
Columns = str | Sequence[str]
Duplicates = Literal["keep", "sum", "min", "max", "mean", "first", "error"]
ResultColumn = Array | VertexNumbers | Masked | list[str]


@dataclass(frozen=True)
class GraphReport:
    """What the build of a graph did; `str()` of it is readable.

    Attributes
    ----------
    vertices, edges : int
        Those that the graph has; an undirected edge counts once.
    isolated : int
        Vertices without any edge.
    duplicates : int
        Edges beside the first between the same two vertices, kept or merged.
    self_loops : int
        Edges from a vertex to itself, kept or dropped.
    renumbered : {"no", "compacted", "sorted"}
        Whether ids were 0 … n-1 already, were a range with gaps, or had to be sorted.
    bytes : int
        Memory that the graph holds now.
    """

    vertices: int
    edges: int
    isolated: int
    duplicates: int
    self_loops: int
    renumbered: Renumbered
    bytes: int

    def __str__(self) -> str:
        return (
            f"{self.vertices:,} vertices ({self.isolated:,} isolated), {self.edges:,} edges "
            f"({self.duplicates:,} duplicates, {self.self_loops:,} self-loops), "
            f"renumbered: {self.renumbered}, {format_bytes(self.bytes)}"
        )


class Graph:
    """A graph made from an edge frame.

    Vertices are numbered 0 … n-1 in the ascending order of their ids (lexicographic for several
    columns; categoricals by their values), so that results are sorted by vertex.  The graph shares
    no memory with the frame: changing the frame later does not change the graph.

    Parameters
    ----------
    edges : pandas, Polars or cuDF DataFrame, or PyArrow Table
        One row for each edge.
    source, destination : str or sequence of str
        The columns of the edges' ends: integers, strings, bytes, categoricals, timestamps, dates or
        durations; several columns together make one id.
    weight : str, optional
        A numeric column; NaN, null and infinite weights are refused.
    directed : bool
        Otherwise every edge goes both ways.
    vertices : frame, optional
        Ids of vertices, in a column named `vertex` or as the source columns (in a frame of one
        column, of any name), each once, and columns of attributes.  Vertices that no edge has are
        added, isolated.
    attributes : str or sequence of str
        Further numeric columns of `edges` to keep.
    duplicates : {"keep", "sum", "min", "max", "mean", "first", "error"}
        What becomes of parallel edges (undirected: of the same two vertices, whichever is the
        source): all are kept, one is kept with the sum, least, largest, mean or first of their
        weights and attributes, or they are refused.
    self_loops : {"keep", "drop", "error"}
        What becomes of edges from a vertex to itself.
    consume : bool
        Take the columns that are read out of `edges`, so that their memory is free before the
        adjacency is complete.  pandas, Polars and cuDF frames lose those columns in place; an
        Arrow table cannot, and only the graph's own references go.  A frame that is refused is
        left as it was.

    Raises
    ------
    InputError
        If something is wrong with the frame; the message names the column, the row and the remedy.
    GraphMemoryError
        If the graph would not fit in memory; raised before it is built.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b"], "destination": ["b", "c"]})
    >>> with ws.Graph(edges) as graph:
    ...     graph.number_of_vertices, graph.number_of_edges
    (3, 2)
    """

    def __init__(
        self,
        edges: Any,
        source: Columns = "source",
        destination: Columns = "destination",
        weight: str | None = None,
        directed: bool = True,
        *,
        vertices: Any = None,
        attributes: Columns = (),
        duplicates: Duplicates = "keep",
        self_loops: Loops = "keep",
        consume: bool = False,
    ) -> None:
        _choice("duplicates", duplicates, get_args(Duplicates))
        _choice("self_loops", self_loops, get_args(Loops))
        names = _names(source, "source"), _names(destination, "destination")
        if len(names[0]) != len(names[1]):
            raise InputError(
                f"source names {len(names[0])} columns and destination {len(names[1])}; "
                f"give as many columns for both"
            )
        carried = list(
            dict.fromkeys(
                [*([weight] if weight is not None else []), *_names(attributes, "attributes")]
            )
        )
        read = read_edges(
            edges,
            *names,
            carried,
            weight=weight,
            both=not directed,
            vertices=vertices,
            self_loops=self_loops,
            consume=consume,
        )
        self.directed = directed
        self.weight = weight
        self._source_names, self._destination_names = names
        self._carried = carried
        self._kind = read.kind
        self._vertices = read.vertices
        self._edges = read.number_of_edges
        self._self_loops = read.self_loops
        self._duplicates: int | None = None
        self._arcs: Arcs | None = Arcs(read.adjacency, read.values, directed=directed)
        if duplicates != "keep":
            self._merge(duplicates)

    def __repr__(self) -> str:
        if self._arcs is None:
            return "<Graph, closed>"
        direction = "directed" if self.directed else "undirected"
        return (
            f"<Graph, {direction}, {self.number_of_vertices:,} vertices, "
            f"{self.number_of_edges:,} edges>"
        )

    def __enter__(self) -> Graph:
        self._open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the graph's memory back; using the graph afterwards raises InputError."""
        if self._arcs is not None:
            self._arcs = None
            del self._vertices

    @property
    def number_of_vertices(self) -> int:
        """Number of vertices, isolated ones included."""
        self._open()
        return self._vertices.size

    @property
    def number_of_edges(self) -> int:
        """Number of edges kept; an undirected edge counts once."""
        self._open()
        return self._edges

    @property
    def edge_attributes(self) -> tuple[str, ...]:
        """Names of the edge columns that were kept, the weight among them."""
        return tuple(self._carried)

    @property
    def csc(self) -> Adjacency:
        """In-neighbours of every vertex; made when first read, then kept."""
        return self._open().csc

    @property
    def csr(self) -> Adjacency:
        """Out-neighbours of every vertex; made when first read, then kept."""
        return self._open().csr

    @property
    def in_degrees(self) -> npt.NDArray[np.int64]:
        """Number of edges into every vertex; int64, shape (vertices,)."""
        return self._open().csc.degrees

    @property
    def out_degrees(self) -> npt.NDArray[np.int64]:
        """Number of edges out of every vertex; int64, shape (vertices,)."""
        return self._open().out_degrees

    def edge_values(self, name: str, order: Order = "csc") -> Array:
        """Return an edge column in the order of an adjacency.

        Parameters
        ----------
        name : str
            The weight, or one of `attributes`.
        order : {"csc", "csr"}

        Returns
        -------
        ndarray of int64, float32 or float64, shape (arcs,)
            Smaller integers and bools widen to int64, float16 to float32.  Not to be written to.

        Raises
        ------
        InputError
            If the graph did not keep such a column.
        """
        _choice("order", order, ("csc", "csr"))
        if name not in self._carried:
            raise InputError(
                f"the graph keeps no edge column {name!r}, it keeps "
                f"{', '.join(map(repr, self._carried)) or 'none'}; name it in "
                f"Graph(weight=...) or Graph(attributes=[...])"
            )
        return self._open().values(name, order)

    def number(self, value: Any, argument: str) -> int:
        """Return the number of a vertex.

        Parameters
        ----------
        value : object
            An id, of several columns a tuple.
        argument : str
            The caller's name for it, for errors.

        Returns
        -------
        int

        Raises
        ------
        InputError
            If it is no vertex of the graph.
        """
        self._open()
        return self._vertices.number(value, argument)

    def numbers(self, values: Any, argument: str) -> npt.NDArray[np.int64]:
        """Return the numbers of vertices.

        Parameters
        ----------
        values : sequence, ndarray, Series or frame
            Ids; of several columns, tuples or a frame.
        argument : str
            The caller's name for it, for errors.

        Returns
        -------
        ndarray of int64

        Raises
        ------
        InputError
            If one is no vertex of the graph.
        """
        self._open()
        return self._vertices.numbers(values, argument)

    def describe(self, number: int) -> str:
        """Return the id of a vertex as text, for errors.

        Parameters
        ----------
        number : int
            A vertex number.

        Returns
        -------
        str
        """
        self._open()
        return self._vertices.describe(number)

    def vertex_values(
        self,
        data: Any,
        argument: str,
        dtype: npt.DTypeLike,
        default: float | None = None,
        column: str | None = None,
    ) -> tuple[Array, npt.NDArray[np.bool_]]:
        """Align numbers that are given for vertices to vertex numbers.

        Parameters
        ----------
        data : frame, dict, number or str
            A frame of ids and one column of values, ids to values, one number for all vertices, or
            the name of a vertex attribute given in `vertices=`.
        argument : str
            The caller's name for it, for errors.
        dtype : dtype
        default : number, optional
            Of vertices that are not given; without one, every vertex must be.
        column : str, optional
            Which column of the frame has the values, where it has several.

        Returns
        -------
        values : ndarray of `dtype`, shape (vertices,)
        given : ndarray of bool, shape (vertices,)
            Which vertices had a value.

        Raises
        ------
        InputError
            If a vertex is unknown, repeated or, without a default, missing; or if a value is null,
            NaN, not numeric, or does not fit the dtype.
        """
        self._open()
        return self._vertices.values(data, argument, dtype, default, column)

    def vertex_frame(self, columns: Mapping[str, ResultColumn]) -> Any:
        """Return a frame of all vertices, in the caller's kind, sorted by vertex.

        Parameters
        ----------
        columns : mapping of str to ndarray, VertexNumbers, Masked or list of str
            Each of shape (vertices,).

        Returns
        -------
        DataFrame or Table
            The ids in `vertex` (or, of several columns, under the source columns' names), then the
            columns.
        """
        self._open()
        everyone = VertexNumbers(np.arange(self.number_of_vertices))
        ids = self._vertices.columns(None, everyone)
        return self._kind.make({**ids, **self._decoded(columns)})

    def frame_like(self, columns: Mapping[str, ResultColumn]) -> Any:
        """Return a frame of the caller's kind.

        Parameters
        ----------
        columns : mapping of str to ndarray, VertexNumbers, Masked or list of str
            Columns of one length.

        Returns
        -------
        DataFrame or Table
        """
        self._open()
        return self._kind.make(self._decoded(columns))

    def edge_frame(self, keep: npt.NDArray[np.bool_] | None = None) -> Any:
        """Return edges as a frame, under the names that they came in with.

        Parameters
        ----------
        keep : ndarray of bool, shape (arcs,), optional
            Which arcs of the CSC; all, where it is not given.  An undirected edge is kept if its
            arc from the vertex of the smaller id is.

        Returns
        -------
        DataFrame or Table
            Ordered by destination, then source; an undirected edge once, the smaller id as source.
        """
        held = self._open()
        once = held.once()
        if once is not None:
            keep = once if keep is None else keep & once
        csc, rows = held.csc, held.csc.rows()
        which = slice(None) if keep is None else np.flatnonzero(keep)
        ends = (self._source_names, csc.indices[which]), (self._destination_names, rows[which])
        columns: dict[str, Any] = {}
        for names, numbers in ends:
            parts = self._vertices.columns(None, VertexNumbers(numbers))
            columns.update(zip(names, parts.values(), strict=True))
        for name in self._carried:
            columns.setdefault(name, held.values(name, "csc")[which])
        return self._kind.make(columns)

    @property
    def report(self) -> GraphReport:
        """What the build did; counting builds the CSC when first read."""
        arcs = self._open()
        if self._self_loops is None:
            self._self_loops = arcs.count_loops()
        if self._duplicates is None:
            self._duplicates = arcs.count(arcs.repeated())
        numbering = self._vertices.numbering
        return GraphReport(
            vertices=numbering.size,
            edges=self._edges,
            isolated=arcs.count_isolated(),
            duplicates=self._duplicates,
            self_loops=self._self_loops,
            renumbered=numbering.renumbered,
            bytes=arcs.nbytes + numbering.nbytes + self._vertices.attribute_bytes,
        )

    def _merge(self, policy: Merge | Literal["error"]) -> None:
        """Apply a policy on parallel edges."""
        arcs = self._open()
        repeated = arcs.repeated()
        surplus = self._duplicates = arcs.count(repeated)
        if surplus and policy == "error":
            source, destination = arcs.ends(int(np.argmax(repeated)))
            raise InputError(
                f"duplicates='error': {surplus} edges repeat another, such as "
                f"{self.describe(source)} to {self.describe(destination)}; choose what becomes of "
                f"them: 'keep', 'sum', 'min', 'max', 'mean' or 'first'"
            )
        if surplus and policy != "error":
            arcs.merge(policy, repeated)
            self._edges -= surplus

    def _decoded(self, columns: Mapping[str, ResultColumn]) -> dict[str, Any]:
        decoded: dict[str, Any] = {}
        for name, column in columns.items():
            if isinstance(column, VertexNumbers):
                decoded.update(self._vertices.columns(name, column))
            else:
                decoded[name] = column
        return decoded

    def _open(self) -> Arcs:
        """Return the arcs of a graph that is not closed."""
        if self._arcs is None:
            raise InputError("the graph is closed; use it before close() or inside its `with`")
        return self._arcs


def as_graph(
    graph: Any,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: str | None = None,
    directed: bool = True,
    attributes: Columns = (),
) -> Graph:
    """Return a Graph as it is, or make one of an edge frame.

    Parameters
    ----------
    graph : Graph or frame
    source, destination : str or sequence of str
    weight : str, optional
    directed : bool
    attributes : str or sequence of str
        See `Graph`; all five are for frames.

    Returns
    -------
    Graph

    Raises
    ------
    InputError
        If a Graph comes with an argument that says otherwise than the graph was built.
    """
    if not isinstance(graph, Graph):
        return Graph(graph, source, destination, weight, directed, attributes=attributes)
    if weight not in (None, graph.weight):
        raise InputError(
            f"weight={weight!r}: the graph was built with weight={graph.weight!r}; "
            f"give the weight to Graph(...)"
        )
    if graph.directed and not directed:
        raise InputError(
            "directed=False: the graph was built directed; give directed=False to Graph(...)"
        )
    return graph


def _names(columns: Columns, argument: str) -> list[str]:
    names = [columns] if isinstance(columns, str) else list(columns)
    if not names and argument != "attributes":
        raise InputError(f"{argument}=[]: name at least one column")
    return names


def _choice(argument: str, value: Any, allowed: Sequence[str]) -> None:
    if value not in allowed:
        choices = ", ".join(map(repr, allowed))
        raise InputError(f"{argument}={value!r}: choose one of {choices}")
