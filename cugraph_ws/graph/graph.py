"""`Graph`: an edge frame, numbered and grouped, in the orders in which algorithms read it.

The constructor checks the frame and groups its edges by source directly from the caller's
columns.  The CSC (in-neighbours) and the CSR (out-neighbours) are made when first needed.  For a
cuDF frame, or arrays on a GPU, all of this is done on the device, and host copies are made when
first needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import RLock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, cast, get_args

import numpy as np
import numpy.typing as npt

from cugraph_ws.arguments import check_choice, check_columns, check_flag, is_label, shown
from cugraph_ws.errors import InputError
from cugraph_ws.frames.arrays import edges_of_arrays, edges_of_matrix
from cugraph_ws.frames.base import VertexNumbers, is_frame, open_frame
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.adjacency import Adjacency
from cugraph_ws.graph.arcs import Arcs
from cugraph_ws.graph.columns import AUTO, Columns, named_columns, weight_column
from cugraph_ws.graph.duplicates import Merge, refuse_infinite
from cugraph_ws.graph.edges import Duplicates, Loops, read_edges, refuse_repeated
from cugraph_ws.graph.numbering import Renumbered
from cugraph_ws.graph.vertices import id_columns
from cugraph_ws.graph.view import GraphView
from cugraph_ws.runtime.device import as_host
from cugraph_ws.runtime.dispatch import is_dask_frame, provider
from cugraph_ws.runtime.memory import format_bytes
from cugraph_ws.runtime.warn import warn_caller

if TYPE_CHECKING:
    from cugraph_ws.backends.cuda.arcs import DeviceArcs
    from cugraph_ws.backends.cuda.graph import DeviceGraph

__all__ = [
    "Adjacency",
    "Duplicates",
    "Graph",
    "GraphReport",
    "as_graph",
    "check_as_built",
    "warn_of_pairs",
]

Array = npt.NDArray[Any]
Balance = Literal["even", "auto"] | Sequence[float]
ResultColumn = Any  # an array on the host or the device, VertexNumbers, Masked or list of str


@dataclass(frozen=True)
class GraphReport:
    """Report on the build of a graph; `str()` of it is readable.

    Attributes
    ----------
    vertices, edges : int
        Numbers of vertices and edges of the graph; an undirected edge counts once.
    isolated : int
        Vertices without any edge.
    duplicates : int
        Edges after the first between the same two vertices, kept or merged.
    self_loops : int
        Edges from a vertex to itself, kept or dropped.
    renumbered : {"no", "compacted", "sorted"}
        Whether ids were already 0 … n-1, were a range with gaps, or were sorted.
    bytes : int
        Memory that the graph holds now.
    both_ways : int
        For an undirected graph: pairs of vertices with edges that were given in both directions.
        If a frame lists every edge in both directions, each counts twice.  0 for a directed
        graph, and if `duplicates=` merged the edges.
    layouts : dict of str to int
        Bytes of each layout of the arcs that is held now, in the GPU's copy of the graph too:
        `csc`, by destination; `csr`, by source; `gshards` and `windows`, see `run`.  Empty for a
        graph on a cluster.
    """

    vertices: int
    edges: int
    isolated: int
    duplicates: int
    self_loops: int
    renumbered: Renumbered
    bytes: int
    both_ways: int = 0
    layouts: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        both_ways = f"{self.both_ways:,} pairs given both ways, " if self.both_ways else ""
        return (
            f"{self.vertices:,} vertices ({self.isolated:,} isolated), {self.edges:,} edges "
            f"({self.duplicates:,} duplicates, {both_ways}{self.self_loops:,} self-loops), "
            f"renumbered: {self.renumbered}, {format_bytes(self.bytes)}"
        )


class Graph(GraphView, Generic[FrameT]):
    """A graph built from an edge frame.

    Vertices are numbered 0 … n-1 in the ascending order of their ids (lexicographic for several
    columns; categoricals by their values), so that results are sorted by vertex.  The graph shares
    no memory with the frame: changing the frame later does not change the graph.

    Parameters
    ----------
    edges : pandas, Polars, cuDF or Dask DataFrame, or PyArrow Table
        One row for each edge.  For a Dask frame, each worker of the current client's cluster
        builds a shard, and results are Dask frames.
    source, destination : str or sequence of str
        The id columns of the edges' ends: integers, strings, bytes, categoricals, timestamps,
        dates or durations; several columns form one id.  Column names of pandas and cuDF frames
        may be integers.
    weight : str or None
        A numeric column; NaN, null and infinite weights are refused.  By default the column named
        `weight`, if there is one; None for no weights.
    directed : bool
        If False, every edge goes in both directions, and should be listed once, in either
        direction.  Edges that are listed in both directions count twice, with a `GraphWarning`.
    vertices : frame, optional
        Ids of vertices, each once, and columns of attributes.  The id columns are named `vertex`
        or as the source columns; in a frame of one column any name will do.  Vertices without
        edges are added as isolated vertices.
    attributes : str or sequence of str
        Further numeric columns of `edges` to keep.
    duplicates : {"keep", "sum", "min", "max", "mean", "first", "error"}
        Treatment of parallel edges (in an undirected graph, regardless of which end is the
        source): keep all; keep one with the sum, minimum, maximum, mean or first of their weights
        and attributes; or refuse them.
    self_loops : {"keep", "drop", "error"}
        Treatment of edges from a vertex to itself.
    consume : bool
        Remove the columns that are read from `edges`, so that their memory is free before the
        adjacency is complete.  pandas, Polars and cuDF frames lose those columns in place.  An
        Arrow table is immutable: only the graph's own references are dropped.  If the frame is
        refused, it is left unchanged.
    workers : sequence of str, optional
        For a Dask frame: addresses of the workers that hold the graph; by default all.
    balance : {"even", "auto"} or sequence of float
        For a Dask frame: how the work is divided among the workers.  "auto" uses the speed that
        `cluster_scan` measures; numbers are relative, in the order of `workers`.

    Raises
    ------
    InputError
        If the frame is invalid; the message names the column, the row and the remedy.
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

    def __new__(cls, edges: FrameT | None = None, *arguments: Any, **options: Any) -> Self:
        """Build a graph from a Dask frame on its cluster, from any other frame here."""
        if not is_dask_frame(edges):
            return super().__new__(cls)
        return cast(Self, provider("graphs of dask").ClusterGraph(edges, *arguments, **options))

    def __init__(
        self,
        edges: FrameT,
        source: Columns = "source",
        destination: Columns = "destination",
        weight: str | None = AUTO,
        directed: bool = True,
        *,
        vertices: Any = None,
        attributes: Columns = (),
        duplicates: Duplicates = "keep",
        self_loops: Loops = "keep",
        consume: bool = False,
        workers: Sequence[str] | None = None,
        balance: Balance = "even",
    ) -> None:
        if workers is not None or not isinstance(balance, str) or balance != "even":
            name = "balance" if workers is None else "workers"
            raise InputError(f"{name}= is for Dask frames, which a cluster holds; leave it out")
        check_choice("duplicates", duplicates, get_args(Duplicates))
        check_choice("self_loops", self_loops, get_args(Loops))
        check_columns(source, destination, weight, directed, attributes)
        check_flag("consume", consume)
        weight = weight_column(edges, weight, source, destination)
        names, carried = named_columns(source, destination, weight, attributes)
        read = read_edges(
            edges,
            *names,
            carried,
            weight=weight,
            both=not directed,
            vertices=vertices,
            self_loops=self_loops,
            duplicates=duplicates,
            consume=consume,
        )
        self.directed = directed
        self.weight = weight
        self._source_names, self._destination_names = names
        self._carried = carried
        self._extremes = {}
        self._sums = {}
        self._kind = read.kind
        self._vertices = read.vertices
        self._edges = read.number_of_edges
        self._self_loops = read.self_loops
        self._duplicates = read.duplicates
        self._arcs: Arcs | DeviceArcs | None = read.arcs
        self._lock = RLock()
        self._copy: DeviceGraph | None = None
        if duplicates != "keep" and read.duplicates is None:
            self._merge(duplicates)
        if not directed:
            self._warn_of_edges_given_twice()

    @classmethod
    def from_arrays(
        cls,
        source: Any,
        destination: Any,
        weight: Any = None,
        *,
        vertices: Any = None,
        directed: bool = True,
        attributes: Mapping[str, Any] | None = None,
        duplicates: Duplicates = "keep",
        self_loops: Loops = "keep",
    ) -> Graph:
        """Build a graph from arrays.

        Parameters
        ----------
        source, destination : array
            Ids of the edges' ends, one-dimensional: arrays of NumPy, CuPy, Numba, PyTorch or any
            library with `__cuda_array_interface__` or DLPack; or a list, or a Series.  Arrays are
            read without a copy, and the graph is built where they are: all on the host, or all on
            one GPU.
        weight : array, optional
            Finite numbers; kept as the column `weight`.
        vertices : frame, optional
            See `Graph`.
        directed : bool
            See `Graph`.
        attributes : mapping of str to array, optional
            Further numeric edge columns, by name.
        duplicates, self_loops
            See `Graph`.

        Returns
        -------
        Graph
            Its results are pandas frames, or cuDF frames for arrays on a GPU.

        Raises
        ------
        InputError
            If the arrays are invalid, or the library of the results is not installed.
        GraphMemoryError
            If the graph would not fit in memory; raised before it is built.

        Examples
        --------
        >>> import numpy as np
        >>> import cugraph_ws as ws
        >>> graph = ws.Graph.from_arrays(np.array([0, 1]), np.array([1, 2]), np.array([0.5, 2.0]))
        >>> graph.number_of_vertices, graph.weight
        (3, 'weight')
        """
        if attributes is not None and not isinstance(attributes, Mapping):
            raise InputError(
                f"attributes={shown(attributes)} must be a mapping of names to arrays, or None"
            )
        edges: Any = edges_of_arrays(source, destination, weight, attributes)
        return cls(
            edges,
            weight=None if weight is None else "weight",
            directed=directed,
            vertices=vertices,
            attributes=tuple(attributes or ()),
            duplicates=duplicates,
            self_loops=self_loops,
        )

    @classmethod
    def from_matrix(cls, matrix: Any, directed: bool = True) -> Graph:
        """Build a graph from a sparse matrix.

        Parameters
        ----------
        matrix : sparse array or matrix of SciPy or CuPy
            Square, in CSR, CSC, COO or another format.  The entry in row i and column j is the
            weight of an edge from vertex i to vertex j; a stored zero is an edge too.
        directed : bool
            If False, the matrix must be symmetric, and entries (i, j) and (j, i) are one edge.

        Returns
        -------
        Graph
            With vertices 0 … n-1, including those without an edge, and the weight `weight`.  For a
            CuPy matrix it is built on the device, and its results are cuDF frames; for a SciPy
            matrix they are pandas frames.

        Raises
        ------
        InputError
            If it is not a sparse matrix, not square, not finite or, if undirected, not symmetric.
        GraphMemoryError
            If the graph would not fit in memory; raised before it is built.
        """
        check_flag("directed", directed)
        edges: Any
        edges, vertices = edges_of_matrix(matrix, directed=directed)
        return cls(edges, weight="weight", directed=directed, vertices=vertices)

    def __repr__(self) -> str:
        if self._arcs is None:
            return "<Graph, closed>"
        direction = "directed" if self.directed else "undirected"
        return (
            f"<Graph, {direction}, {self.number_of_vertices:,} vertices, "
            f"{self.number_of_edges:,} edges>"
        )

    def __enter__(self) -> Self:
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
        """Free the graph's memory; using the graph afterwards raises InputError."""
        if self._arcs is not None:
            if not isinstance(self._arcs, Arcs):
                self._arcs.close()
            elif self._copy is not None:
                self._copy.close()
            on_device = self._copy is not None or not isinstance(self._arcs, Arcs)
            self._arcs = self._copy = None
            self._sums = {}
            del self._vertices
            if on_device:
                from cugraph_ws.runtime.device import device, has_device

                if has_device():  # the device of the graph may be lost
                    device().trim(everything=True)

    @property
    def number_of_vertices(self) -> int:
        """Number of vertices, including isolated ones."""
        self._open()
        return self._vertices.size

    @property
    def number_of_edges(self) -> int:
        """Number of edges kept; an undirected edge counts once."""
        self._open()
        return self._edges

    @property
    def edge_attributes(self) -> tuple[str, ...]:
        """Names of the edge columns that were kept, including the weight."""
        return tuple(self._carried)

    def on_device(self) -> DeviceGraph:
        """Return the graph for the CUDA engine; made when first needed, then kept.

        Returns
        -------
        DeviceGraph
            A copy, if the graph is on the host.

        Raises
        ------
        EngineError
            If there is no GPU, or a package that it needs is not installed.
        GraphMemoryError
            If the graph would not fit in the GPU's memory.
        """
        arcs = self._open()
        if not isinstance(arcs, Arcs):
            return arcs.graph
        with self._lock:
            if self._copy is None:
                self._copy = provider("device graph").from_host(self)
            return self._copy

    def laid_out(self) -> tuple[DeviceGraph, Any, list[Any]]:
        """Return the graph for the CUDA engine, as the part of a single rank.

        Returns
        -------
        graph : DeviceGraph
        numbers : device array, shape (size,)
            Vertex number at each position.
        boundaries : list of device array
            For each rank, the positions that it holds as ghosts: empty.
        """
        laid = self.on_device()
        return laid, laid.numbers, [laid.numbers[:0]]

    def vertex_frame(self, columns: Mapping[str, ResultColumn]) -> FrameT:
        """Return a frame of all vertices, of the caller's kind, sorted by vertex.

        Parameters
        ----------
        columns : mapping of str to array, VertexNumbers, Masked or list of str
            Each of shape (vertices,); arrays on the host or the device.

        Returns
        -------
        DataFrame or Table
            The ids in `vertex` (or, for ids of several columns, under the source columns' names),
            then the columns.
        """
        self._open()
        return cast(FrameT, self._kind.make(self._beside(self._vertices.everyone(), columns)))

    def value_columns(
        self, data: Any, argument: str, *, on_device: bool = False
    ) -> list[str] | None:
        """Return the names of the columns of a vertex frame that are not ids; collective.

        Parameters
        ----------
        data : frame, or anything else
        argument : str
            The caller's name for it, for errors.
        on_device : bool
            Whether the frame is read on the device.

        Returns
        -------
        list of str, or None
            None if it is not a frame.

        Raises
        ------
        InputError
            If the frame has no columns of ids.
        """
        if not is_frame(data):
            return None
        return self._beside_ids(open_frame(data, argument, on_device=on_device))

    def _beside_ids(self, frame: Any) -> list[str]:
        """Return the names of a frame's columns that are not ids."""
        ids = id_columns(frame, self._source_names)
        return [name for name in frame.names if name not in ids]

    def check_outputs(self, outputs: Mapping[str, bool]) -> None:
        """Refuse columns of a vertex frame that would overwrite the ids, or one another.

        Parameters
        ----------
        outputs : mapping of str to bool
            For each column besides the ids, whether it holds vertices.  For ids of several columns,
            such a column becomes several, for example `predecessor_a` and `predecessor_b`.

        Raises
        ------
        InputError
            Names the column and the remedy.
        """
        self._open()
        self._vertices.check_outputs(outputs)

    def frame_like(self, columns: Mapping[str, ResultColumn]) -> FrameT:
        """Return a frame of the caller's kind.

        Parameters
        ----------
        columns : mapping of str to array, VertexNumbers, Masked or list of str
            Columns of equal length; arrays on the host or the device.

        Returns
        -------
        DataFrame or Table
        """
        self._open()
        return cast(FrameT, self._kind.make(self._decoded(columns)))

    def edge_frame(self, keep: Any = None, *, among: Any = None) -> FrameT:
        """Return edges as a frame, under their original column names.

        Parameters
        ----------
        keep : array of bool, shape (arcs,), optional
            Arcs of the CSC to keep; all if not given.  An undirected edge is kept if its arc from
            the vertex with the smaller id is.
        among : array of bool, shape (vertices,), optional
            Vertices; an edge is kept only if both of its ends are among them.

        Returns
        -------
        DataFrame or Table
            Ordered by destination, then source; an undirected edge once, with the smaller id as
            source.
        """
        arcs = self._open()
        self.check_edge_names()
        if isinstance(arcs, Arcs):
            sources, destinations, values = arcs.listed(self._carried, keep, among)
        else:
            sources, destinations, values = arcs.listed(keep, among)
        return cast(FrameT, self._frame_of_edges(sources, destinations, values))

    def _frame_of_edges(self, sources: Any, destinations: Any, values: Mapping[str, Any]) -> Any:
        """Return a frame of edges, given their ends as vertex numbers and the edge columns."""
        columns: dict[str, Any] = {}
        for names, numbers in (
            (self._source_names, sources),
            (self._destination_names, destinations),
        ):
            parts = self._vertices.columns(None, VertexNumbers(numbers))
            columns.update(zip(names, parts.values(), strict=True))
        for name, array in values.items():
            columns.setdefault(name, array)
        return cast(FrameT, self._kind.make(columns))

    def edges_among(self, marks: Any) -> Any:
        """Return the edges between marked vertices, as a frame.

        Parameters
        ----------
        marks : array of bool, shape (owned,)
            By vertex number; on the host or the device.

        Returns
        -------
        DataFrame or Table
            See `edge_frame`.
        """
        return self.edge_frame(among=marks if self.device_resident else as_host(marks))

    def check_edge_names(self) -> None:
        """Refuse to make an edge frame in which one end's column would overwrite the other's.

        Raises
        ------
        InputError
            If the graph is undirected, so that either end may come first, and the ids of sources
            and destinations use the same column for different parts.
        """
        if self.directed:
            return
        ends = zip(self._source_names, self._destination_names, strict=True)
        for source, destination in ends:
            if source != destination and source in self._destination_names:
                raise InputError(
                    f"column {source!r} is one part of the sources' ids and another of the "
                    f"destinations', and an undirected edge may come back turned around; give either "
                    f"end columns of its own"
                )

    @property
    def report(self) -> GraphReport:
        """Report on the build; the first read builds the CSC to count edges."""
        arcs = self._open()
        if self._self_loops is None:
            self._self_loops = arcs.count_loops()
        if self._duplicates is None:
            self._duplicates = arcs.count_repeated()
        numbering = self._vertices.numbering
        return GraphReport(
            vertices=numbering.size,
            edges=self._edges,
            isolated=arcs.count_isolated(),
            duplicates=self._duplicates,
            self_loops=self._self_loops,
            renumbered=numbering.renumbered,
            bytes=arcs.nbytes + numbering.nbytes + self._vertices.attribute_bytes,
            both_ways=arcs.both_ways,
            layouts=self._layouts(),
        )

    def _layouts(self) -> dict[str, int]:
        """Return the bytes of each layout; also of a copy on the device that a run has made."""
        found = dict(self._open().layouts)
        for name, size in ({} if self._copy is None else self._copy.layouts).items():
            found[name] = found.get(name, 0) + size
        return found

    def _warn_of_edges_given_twice(self) -> None:
        """Warn if the frame of an undirected graph lists edges in both directions."""
        warn_of_pairs(self._open().both_ways, self._edges)

    def _merge(self, policy: Merge | Literal["error"]) -> None:
        """Apply a policy on parallel edges of a graph on the host."""
        arcs = self._host()
        repeated = arcs.repeated()
        surplus = self._duplicates = arcs.count(repeated)
        if surplus and policy == "error":
            refuse_repeated(surplus, self.describe_edge(int(np.argmax(repeated))))
        if surplus and policy != "error":
            arcs.merge(policy, repeated)
            self._edges -= surplus
            if self.weight is not None:
                values = arcs.values(self.weight, "csc")
                bad = arcs.first_infinite(values)
                if bad is not None:  # not in the frame, so the merge produced it
                    edge = self.describe_edge(bad)
                    refuse_infinite(policy, self.weight, float(values[bad]), edge)

    def _beside(
        self, ids: Mapping[str, Any], columns: Mapping[str, ResultColumn]
    ) -> dict[str, Any]:
        """Return ids and other columns of a vertex frame, none of which overwrites another."""
        self.check_outputs({name: isinstance(one, VertexNumbers) for name, one in columns.items()})
        return {**ids, **self._decoded(columns)}

    def _decoded(self, columns: Mapping[str, ResultColumn]) -> dict[str, Any]:
        decoded: dict[str, Any] = {}
        for name, column in columns.items():
            if isinstance(column, VertexNumbers):
                decoded.update(self._vertices.columns(name, column))
            else:
                decoded[name] = column
        return decoded


def warn_of_pairs(pairs: int, edges: int) -> None:
    """Warn the caller if an undirected graph's frame lists edges in both directions.

    Parameters
    ----------
    pairs : int
        Pairs of vertices with edges that were given in both directions.
    edges : int
        Number of edges of the graph.
    """
    if pairs:
        warn_caller(
            f"directed=False: {pairs:,} {'pairs of vertices have' if pairs > 1 else 'pair of vertices has'} "
            f"edges in both directions among the {edges:,} given, and each of them counts; "
            f"if they are the same edges twice, list each once, or give duplicates='first' "
            f"(or 'min', 'max', 'mean' of their weights) to Graph(...)"
        )


def as_graph(
    graph: Graph[FrameT] | FrameT,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: str | None = None,
    directed: bool = True,
    attributes: Columns = (),
    weighted: bool = False,
) -> Graph[FrameT]:
    """Return a Graph as it is, or build one from an edge frame.

    Parameters
    ----------
    graph : Graph or frame
    source, destination : str or sequence of str
    weight : str, optional
    directed : bool
    attributes : str or sequence of str
        See `Graph`; all five are for frames.
    weighted : bool
        Whether the caller reads weights.

    Returns
    -------
    Graph

    Raises
    ------
    InputError
        If an argument contradicts how a Graph was built.
    """
    check_columns(source, destination, weight, directed, attributes)
    if not isinstance(graph, Graph):
        return Graph(graph, source, destination, weight, directed, attributes=attributes)
    check_as_built(graph, weight, directed, weighted=weighted)
    return graph


def check_as_built(graph: Any, weight: str | None, directed: bool, *, weighted: bool) -> None:
    """Refuse arguments that contradict how a graph was built.

    Parameters
    ----------
    graph : Graph or ClusterGraph
    weight : str or None
    directed : bool
    weighted : bool
        Whether the caller reads weights.

    Raises
    ------
    InputError
    """
    known = (AUTO, graph.weight) if weighted else (AUTO, graph.weight, None)
    if not any(weight is one or (is_label(weight) and weight == one) for one in known):
        raise InputError(
            f"weight={weight!r}: the graph was built with weight={graph.weight!r}; "
            f"give the weight to Graph(...)"
        )
    if graph.directed and not directed:
        raise InputError(
            "directed=False: the graph was built directed; give directed=False to Graph(...)"
        )
