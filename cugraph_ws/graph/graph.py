"""`Graph`: an edge frame, numbered and grouped, in the orders in which algorithms read it.

The constructor checks the frame and groups its edges by source directly from the caller's
columns.  The CSC (in-neighbours) and the CSR (out-neighbours) are made when first needed.  For a
cuDF frame, or arrays on a GPU, all of this is done on the device, and host copies are made when
first needed.
"""

from __future__ import annotations

import inspect
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence, Sized
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, SupportsIndex, cast, get_args
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from cugraph_ws.arguments import (
    check_choice,
    check_columns,
    check_flag,
    check_word,
    is_label,
    shown,
)
from cugraph_ws.errors import CugraphWsError, InputError
from cugraph_ws.frames.arrays import edges_of_arrays, edges_of_matrix
from cugraph_ws.frames.base import is_dask_frame, table_if_stream
from cugraph_ws.frames.lazy import partitions_of
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph import exports
from cugraph_ws.graph.adjacency import Adjacency
from cugraph_ws.graph.arcs import Arcs
from cugraph_ws.graph.copied_arcs import refuse_listing, refuse_marks
from cugraph_ws.graph.duplicates import Merge
from cugraph_ws.graph.edges import (
    AUTO,
    Columns,
    Duplicates,
    Loops,
    check_duplicates,
    labels_of,
    named_columns,
    read_edges,
    weight_column,
)
from cugraph_ws.graph.methods import GraphMethods
from cugraph_ws.graph.owners import CUTS, Owners
from cugraph_ws.graph.placement import WHOLE, Placement, PlacementName
from cugraph_ws.graph.report import warn_of_pairs
from cugraph_ws.graph.reversed import reversed_arcs
from cugraph_ws.graph.vertices import Vertices
from cugraph_ws.graph.view import GraphView
from cugraph_ws.runtime.arrays import as_host, in_default_stream
from cugraph_ws.runtime.communicator import SingleRank, WantedLinks
from cugraph_ws.runtime.device import device, has_device
from cugraph_ws.runtime.dispatch import provider
from cugraph_ws.runtime.memory import available_memory
from cugraph_ws.suggestions import did_you_mean

if TYPE_CHECKING:
    from cugraph_ws.backends.cuda.arcs import DeviceArcs
    from cugraph_ws.backends.cuda.graph import DeviceGraph

__all__ = [
    "Adjacency",
    "Duplicates",
    "Graph",
    "as_graph",
    "check_as_built",
    "check_ends_as_built",
]

LOG = logging.getLogger("cugraph_ws")

Array = npt.NDArray[Any]
Balance = Literal["even", "auto"] | Sequence[float]
Spread = Literal["auto", "one", "copies", "parts"]
ENDS = ("source", "destination")
# Arguments of other libraries, and what they are here.
PEERS_ARGUMENTS = {
    "src": "; did you mean source=?",
    "dst": "; did you mean destination=?",
    "target": "; did you mean destination=?",
    "edge_attr": "; did you mean weight=, or attributes= for several?",
    "create_using": "; did you mean directed=?",
    "renumber": "; ids are always numbered; leave it out",
    "store_transposed": "; both orders are made when they are needed; leave it out",
}


def _argument(column: str, weight: str | None) -> str:
    """Return the argument that names an edge column."""
    return "weight" if column == weight else "attributes"


def _refuse_of_clusters(**chosen: Any) -> None:
    """Raise InputError for arguments of graphs on clusters that are not the defaults."""
    usual = {"workers": None, "balance": "even", "links": "auto", "spread": "auto"}
    for name, value in chosen.items():
        if type(value) is not type(usual[name]) or value != usual[name]:
            raise InputError(f"{name}= is for Dask frames, which a cluster holds; leave it out")


class Graph(GraphView[FrameT], GraphMethods[FrameT]):
    """A graph built from an edge frame.

    Vertices are numbered 0 … n-1 in the ascending order of their ids (lexicographic for several
    columns; categoricals by their values), so that results are sorted by vertex.  The graph shares
    no memory with the frame: changing the frame later does not change the graph.

    Parameters
    ----------
    edges : pandas, Polars, cuDF or Dask DataFrame, PyArrow Table, or another frame
        One row for each edge.  For a Dask frame, each worker of the current client's cluster
        builds a shard, and results are Dask frames.  A Polars LazyFrame is computed, only the
        columns that are read, and results are Polars DataFrames.  So are a relation of DuckDB and a
        table of Ibis; for these, and for every other object with `__arrow_c_stream__`, such as a
        `pyarrow.RecordBatchReader`, results are Arrow tables.
    source, destination : str or sequence of str
        The id columns of the edges' ends: integers, strings, bytes, categoricals, timestamps,
        dates or durations; several columns form one id.  Column names of pandas and cuDF frames
        may be integers.
    weight : str or None
        A numeric column; NaN, null and infinite weights are refused.  By default the column named
        `weight`, if there is one; None for no weights.
    directed : bool
        If False, every edge goes in both directions and should be listed once, in either direction.
        An edge that is listed in both directions counts twice, and a `GraphWarning` is issued.
    vertices : frame, optional
        Ids of vertices, each once, and columns of attributes.  The id columns are named `vertex`
        or like the source columns; the only column of a frame may have any name.  Vertices without
        edges are added as isolated vertices.
    attributes : str or sequence of str
        Further numeric columns of `edges` to keep.
    duplicates : {"keep", "sum", "min", "max", "mean", "first", "error"}, or mapping
        Treatment of parallel edges (in an undirected graph, regardless of which end is the
        source): keep all; keep one with the sum, minimum, maximum, mean or first of their weights
        and attributes; or refuse them.  A mapping has one of "sum" to "first" for each column.
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
    links : {"auto", "nccl", "hub"}
        For a Dask frame: how the workers' GPUs exchange messages.  "nccl": from GPU to GPU.  "hub": through
        memory of their host, to which a GPU copies a message once for all peers; if workers are on several
        hosts, NCCL is used instead.  "auto": "nccl", or "hub" on one host where workers share
        a GPU.  "nccl" and "hub" compute on GPUs for any kind of frame, "auto"
        only for cuDF frames.
    spread : {"auto", "one", "copies", "parts"}
        For a Dask frame: how many workers hold the graph.  "one": one of them holds the whole graph, as long
        as a graph is small faster than several, which exchange messages in every superstep.  "parts":
        each holds a part.  "copies": each holds the whole graph; a function of many sources (betweenness,
        closeness, searches from many starts) divides them, any other runs on one.  "auto": "one" for frames of at most 64 MiB, or 2 GiB on GPUs, if it fits
        there and neither `balance` nor `links` is given, else "parts"; Dask's configuration
        `cugraph_ws.spread` replaces it.  The column `partitions` of a trace has the number of workers.
    cut : {"ranges", "arcs"} or str
        Which vertices go together where a graph is divided: among the workers of a Dask frame, or by
        `Plan(partitions=)`.  "ranges": ranges of ids in ascending order.  "arcs": vertices of one
        neighbourhood, so that fewer messages are sent, as in road networks; ranges if that would not
        halve them.  Otherwise the name of a column of `vertices`: vertices with the same value
        go together, as many values to a part as make the work even.  Results are the same.
    placement : {"memory", "auto", "device", "host", "disk"}
        Where arcs and edge columns are.  "memory": in the memory of the processor that computes.  "device": in the
        GPU's memory, also those of a frame of pandas, from the build on; then `engine="auto"` computes there.  "host": in the
        host's memory, from which a GPU reads them in place; its own memory holds vertices alone.  "disk": in
        files that are mapped into the host's memory, and may be larger than
        it; vertices stay in memory, and a GPU reads a copy of the arcs in the host's memory if they do not fit in its
        own.  Then `edges` may also be the path of a Parquet file or of a folder of
        them, and neither its rows nor those of a stream need fit in memory; results of these are Arrow
        tables.  With any of these a Dask frame is such a stream, of its partitions, and its graph is of this machine.  "auto": in memory; if the graph would not fit there, on the host, else on disk.  Results are
        the same.
    memory_limit : int or str, optional
        Bytes of memory that the build, and later a run with the graph, may take, on the host and on the GPU
        each, such as 10**9 or "2GB"; by default what is available.
    folder : path-like, optional
        Where the files are; by default the system's folder of temporary files, which `TMPDIR` names.  They
        have no names, and are gone when the graph is closed or the process ends.

    Raises
    ------
    InputError
        If the frame is invalid; the message names the column, the row and the remedy.
    GraphMemoryError
        If the graph would not fit in memory; raised before it is built.
    EngineError
        If `placement` is "device" and there is no GPU.
    FileError
        With `placement`: if a file cannot be read, or the folder has too little space.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b"], "destination": ["b", "c"]})
    >>> with ws.Graph(edges) as graph:
    ...     graph.number_of_vertices, graph.number_of_edges
    (3, 2)
    """

    whole = True

    def __new__(cls, edges: FrameT | None = None, *arguments: Any, **options: Any) -> Self:
        """Build a graph from a Dask frame on its cluster, from any other frame here."""
        if is_dask_frame(edges) and options.get("placement", "memory") == "memory":
            for name in ("placement", "memory_limit", "folder"):
                if name in options:
                    raise InputError(
                        f"{name}= is for graphs of one machine, and a Dask frame's graph is on its cluster; leave it "
                        "out, or give placement='auto' for a graph of this machine"
                    )
        else:
            for name in options.keys() - SIGNATURE.parameters.keys():
                meant = PEERS_ARGUMENTS.get(name) or did_you_mean(name, SIGNATURE.parameters)
                raise InputError(f"Graph takes no {name}={meant}")
            return super().__new__(cls)
        return cast(Self, provider("graphs of dask").ClusterGraph(edges, *arguments, **options))

    def __copy__(self) -> Self:
        """Return another graph over the same arrays; the library's own graphs without weights are such."""
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        return copied

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse to be pickled."""
        raise InputError(
            "a graph is not pickled; pickle graph.edges, a frame, and build the graph of it where it is "
            "needed; threads of one process can share a graph"
        )

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
        duplicates: Duplicates | Mapping[str, Merge] = "keep",
        self_loops: Loops = "keep",
        consume: bool = False,
        workers: Sequence[str] | None = None,
        balance: Balance = "even",
        links: WantedLinks = "auto",
        spread: Spread = "auto",
        cut: str = "ranges",
        placement: PlacementName = "memory",
        memory_limit: int | str | None = None,
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        _refuse_of_clusters(workers=workers, balance=balance, links=links, spread=spread)
        check_choice("self_loops", self_loops, get_args(Loops))
        check_word("cut", cut)
        check_columns(source, destination, weight, directed, attributes)
        check_flag("consume", consume)
        begun = time.perf_counter()
        placed = Placement.of(placement, memory_limit, folder)
        given: Any = partitions_of(edges) if is_dask_frame(edges) else edges
        rows = None if placed is None else placed.rows(given)
        given = table_if_stream(given) if rows is None else rows.no_rows
        vertices = table_if_stream(vertices)
        weight = weight_column(given, weight, source, destination)
        names, carried = named_columns(source, destination, weight, attributes)
        check_duplicates(duplicates, carried)
        if placed is not None and rows is not None:
            ids = [(name, end) for end, of in zip(ENDS, names, strict=True) for name in of]
            given = placed.table(rows, ids, [(name, _argument(name, weight)) for name in carried])
        del edges, rows
        read_in = partial(
            in_default_stream(read_edges),
            given,
            *names,
            carried,
            weight=weight,
            both=not directed,
            vertices=vertices,
            self_loops=self_loops,
            duplicates=duplicates,
            consume=consume,
            room=available_memory() if placed is None else placed.room,
        )
        read = read_in() if placed is None else placed.build(read_in, given)
        self.placement, self.memory_limit = placement, None if placed is None else placed.limit
        size, self.cut = read.vertices.size, cut
        super().__init__(
            SingleRank(), Owners(np.array([0, size]), 0), read.kind, read.vertices, names, carried,
            weight=weight, directed=directed,
        )  # fmt: skip
        self.ghosts = [(size, size)]
        if cut not in CUTS:
            read.vertices.groups_of(cut, "cut")  # refuses a column that gives no groups
        self._edges, self._arcs = read.number_of_edges, read.arcs
        self._self_loops, self._duplicates = read.self_loops, read.duplicates
        self._copy: DeviceGraph | None = None
        self._shards: list[Any] = []  # of the last run over partitions
        # Results of stopped runs whose columns nobody has read: closing the graph computes them
        self.unread: WeakValueDictionary[int, Sized] = WeakValueDictionary()
        self._reversed: Graph | None = None  # a view along reversed edges
        if duplicates != "keep" and read.duplicates is None:
            self._merge(duplicates)
        if not directed and (pairs := self.own_both_ways):
            warn_of_pairs(pairs, self._edges)
        if placement == "device":
            self.on_device()
        LOG.info(
            "built a graph of %d vertices and %d edges in %.3f s",
            size, self._edges, time.perf_counter() - begun,
        )  # fmt: skip

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
        duplicates: Duplicates | Mapping[str, Merge] = "keep",
        self_loops: Loops = "keep",
    ) -> Self:
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
    def from_matrix(cls, matrix: Any, directed: bool = True) -> Self:
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

    def _id_frame(self) -> FrameT:
        return self.vertex_frame({})

    def _has(self, vertex: Any) -> bool:
        self._open()
        try:
            return self._vertices.number(vertex, "vertex") >= 0
        except (TypeError, ValueError):  # no id at all
            return False

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
            for columns in list(self.unread.values()):
                with suppress(CugraphWsError):  # it is raised where they are read
                    len(columns)
            if not isinstance(self._arcs, Arcs):
                self._arcs.close()
            elif self._copy is not None:
                self._copy.close()
            on_device = self._copy is not None or not isinstance(self._arcs, Arcs)
            on_device |= any("device" in shard.kept for shard in self._shards)
            if self._reversed is not None:
                self._reversed.close()
            self._arcs = self._copy = self._reversed = None
            self._sums, self._shards, self.derived = {}, [], {}
            del self._vertices
            if on_device and has_device():  # the device of the graph may be lost
                device().trim(everything=True)

    @property
    def boundaries(self) -> list[Array]:
        """The owned positions that the only rank holds as ghosts: none."""
        return [np.empty(0, np.int64)]

    @property
    def positions(self) -> npt.NDArray[np.int64]:
        """Vertex number at each position: the same."""
        return np.arange(self.number_of_vertices)

    @property
    def csc(self) -> Adjacency:
        """In-neighbours of every vertex, on the host; made when first read, then kept."""
        return self._host().csc

    @property
    def csr(self) -> Adjacency:
        """Out-neighbours of every vertex, on the host; made when first read, then kept."""
        return self._host().csr

    @property
    def nbytes(self) -> int:
        """Bytes that the graph holds now."""
        numbering = self._vertices.numbering.nbytes
        shards = sum(shard.nbytes - numbering for shard in self._shards)
        nbytes = self._open().nbytes + numbering + self._vertices.attribute_bytes + shards
        if self._reversed is not None and self.device_resident:
            nbytes += self._reversed._open().nbytes
        nbytes += sum(structure.nbytes for structure in self.derived.values())
        return int(nbytes)

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
        arcs: Arcs | DeviceArcs = self._open()
        if not isinstance(arcs, Arcs):
            return arcs.graph
        with self._lock:
            if self._copy is None:
                if self.placement in WHOLE:
                    self._copy = provider("device graph").from_host(self)
                else:
                    self._copy = provider("device graphs of host arcs").placed(self)
            return self._copy

    def arcs_apart(self, *, on_device: bool) -> bool:
        """Return whether arcs are not in the memory that runs take; see `GraphView.arcs_apart`."""
        if on_device and self.placement not in WHOLE and not self.device_resident:
            return self.on_device().arcs_on_host
        return super().arcs_apart(on_device=on_device)

    def bytes_there(self, *, on_device: bool) -> int:
        """Return the bytes of the graph in one of the memories; see `GraphView.bytes_there`."""
        if on_device and not self.device_resident:
            return 0 if self._copy is None else self._copy.nbytes
        return super().bytes_there(on_device=on_device)

    def laid_out(self) -> tuple[DeviceGraph, Any, list[Any]]:
        """Return the graph as the CUDA engine reads it; see `GraphView.laid_out`."""
        laid = self.on_device()
        return laid, laid.numbers, [laid.numbers[:0]]

    def reverse(self) -> Self:
        """Return the graph with every edge in the opposite direction.

        Returns
        -------
        Graph
            With the same vertices and edge columns.  On the host it shares all arrays with this
            graph.  An undirected graph is returned itself.

        Raises
        ------
        InputError
            If the graph is closed.
        GraphMemoryError
            If the graph is on a GPU, and its rows would not fit there twice.

        Examples
        --------
        >>> import pandas as pd
        >>> import cugraph_ws as ws
        >>> graph = ws.Graph(pd.DataFrame({"source": [0, 1], "destination": [1, 2]}))
        >>> graph.reverse().bfs(2)["distance"].tolist()
        [2, 1, 0]
        """
        arcs = self._open()
        if not self.directed:
            return self
        return self._with_arcs(reversed_arcs(arcs, named_forward=False), self._edges)

    def to_scipy(self) -> Any:
        """Return the adjacency matrix as a sparse array of SciPy.

        Returns
        -------
        scipy.sparse.csr_array, shape (vertices, vertices)
            Row and column i are row i of `vertices`.  The entry in row i and column j is the weight of
            an edge from i to j, 1.0 without weights; parallel edges are entries of their own, which
            SciPy adds up.  The matrix of an undirected graph is symmetric.

        Raises
        ------
        InputError
            If SciPy is not installed, or the graph is closed.

        Examples
        --------
        >>> import pandas as pd
        >>> import cugraph_ws as ws
        >>> edges = pd.DataFrame({"source": ["a", "b"], "destination": ["b", "c"]})
        >>> ws.Graph(edges).to_scipy().toarray()
        array([[0., 1., 0.],
               [0., 0., 1.],
               [0., 0., 0.]])
        """
        return exports.to_scipy(self)

    def to_cupy(self) -> Any:
        """Return the adjacency matrix as a `csr_matrix` of CuPy, on the GPU; see `to_scipy`."""
        return exports.to_cupy(self)

    def to_networkx(self) -> Any:
        """Return the graph as one of NetworkX.

        Returns
        -------
        networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
            Multi- if there are parallel edges.  Its nodes are the ids, tuples if they have several
            columns, in ascending order; columns of vertices and edges are attributes, nulls left out.

        Raises
        ------
        InputError
            If NetworkX is not installed, or the graph is closed.

        Examples
        --------
        >>> import pandas as pd
        >>> import cugraph_ws as ws
        >>> edges = pd.DataFrame({"source": ["a", "b"], "destination": ["b", "c"], "weight": [2, 3]})
        >>> list(ws.Graph(edges).to_networkx().edges(data=True))
        [('a', 'b', {'weight': 2}), ('b', 'c', {'weight': 3})]
        """
        return exports.to_networkx(self)

    def to_igraph(self) -> Any:
        """Return the graph as one of igraph.

        Returns
        -------
        igraph.Graph
            Vertex i is row i of `vertices`; its id is the attribute `name`.  Columns of vertices and
            edges are attributes; a column `name` becomes `vertex_name`.

        Raises
        ------
        InputError
            If igraph is not installed, or the graph is closed.
        """
        return exports.to_igraph(self)

    def to_pyg(self) -> Any:
        """Return the graph for PyTorch Geometric.

        Returns
        -------
        torch_geometric.data.Data
            `edge_index` has each direction of an undirected edge; vertex i is row i of `vertices`.
            `edge_weight` is the weight, `edge_NAME` another edge column, and each numeric vertex
            attribute without nulls has its own name.

        Raises
        ------
        InputError
            If PyTorch or PyTorch Geometric is not installed, or the graph is closed.
        """
        return exports.to_pyg(self)

    def arc_ends(self) -> tuple[Any, Any]:
        """Return the sources and destinations of all arcs; see `Framed.arc_ends`."""
        arcs: Arcs | DeviceArcs = self._open()
        if isinstance(arcs, Arcs):
            return arcs.csc.indices.astype(np.int64), arcs.csc.rows().astype(np.int64)
        destinations, sources, _ = arcs.ordered()
        return sources.astype(np.int64), destinations.astype(np.int64)

    def edges_among(self, marks: Any) -> FrameT:
        """Return the edges between marked vertices, as a frame; see `GraphView.edges_among`."""
        return self.edge_frame(among=marks if self.device_resident else as_host(marks))

    def _local(self, step: Callable[[], Any]) -> Any:
        return step()

    def _with_arcs(self, arcs: Any, edges: int) -> Self:
        graph = super()._with_arcs(arcs, edges)
        graph._copy, graph._shards, graph._reversed = None, [], None
        graph.unread = WeakValueDictionary()
        return graph

    def without_weight(self) -> Self:
        """Return the graph as one without weights; see `GraphView.without_weight`."""
        graph = super().without_weight()
        graph._copy = self._copy
        return graph

    def _find_extreme(self, name: str, *, least: bool) -> tuple[Any, int]:
        extreme: tuple[Any, int] = self._open().extreme(name, least=least)
        return extreme

    def _ends(self, arc: int) -> Sequence[int]:
        ends: tuple[int, int] = self._open().ends(arc)
        return ends

    def _listed(self, keep: Any, among: Any) -> tuple[Any, Any, Mapping[str, Any]]:
        arcs: Arcs | DeviceArcs = self._open()
        if callable(keep) and isinstance(arcs, Arcs):  # they are sorted
            refuse_marks(self)
            keep = keep(*self.arc_ends())
        refuse_listing(self, "a frame", keep, among)
        listed: tuple[Any, Any, Any] = arcs.listed(self._carried, keep, among)
        return listed

    def _over_all_arcs(self, own: Any, *, incoming: bool) -> Any:
        return own

    def _count_isolated(self) -> int:
        return int(self._open().count_isolated())

    def _layouts(self) -> dict[str, int]:
        layouts = dict(self._open().layouts)
        for name, size in ({} if self._copy is None else self._copy.layouts).items():
            layouts[name] = layouts.get(name, 0) + size
        return layouts

    def _choices(self) -> dict[str, str]:
        return dict(self._open().choices)

    def _own_ids(self) -> Mapping[str, Any]:
        return self._naming.everyone()

    @property
    def _naming(self) -> Vertices:
        """The vertices, where the ids of results are looked up: on a GPU if frames are made there."""
        copied = self._copy
        if copied is None or self._kind.backend != "cudf":
            return self._vertices
        return copied.naming(self._vertices)

    def _places_here(self, numbers: Any) -> Any:
        return numbers


SIGNATURE = inspect.signature(Graph.__init__)
SIGNATURE = SIGNATURE.replace(
    parameters=[*SIGNATURE.parameters.values()][1:], return_annotation=inspect.Signature.empty
)
Graph.__signature__ = SIGNATURE  # type: ignore[attr-defined]  # `__new__` has none


def as_graph(
    graph: GraphView[FrameT] | FrameT,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: str | None = None,
    directed: bool = True,
    attributes: Columns = (),
    weighted: bool = False,
) -> GraphView[FrameT]:
    """Return a graph as it is, or build one from an edge frame.

    Parameters
    ----------
    graph : Graph, a rank's shard of one, or frame
    source, destination : str or sequence of str
    weight : str, optional
    directed : bool
    attributes : str or sequence of str
        See `Graph`; the last five are used only for a frame.
    weighted : bool
        Whether the caller reads weights.

    Returns
    -------
    Graph, or a rank's shard of one

    Raises
    ------
    InputError
        If an argument contradicts how a Graph was built.
    """
    check_columns(source, destination, weight, directed, attributes)
    if not isinstance(graph, GraphView):
        return Graph(graph, source, destination, weight, directed, attributes=attributes)
    check_as_built(graph, weight, directed)
    check_ends_as_built(source, destination, graph._source_names, graph._destination_names)
    unweighted = weighted and weight is None and graph.weight is not None
    return graph.without_weight() if unweighted else graph


def check_as_built(graph: Any, weight: str | None, directed: bool) -> None:
    """Refuse arguments that contradict how a graph was built.

    Parameters
    ----------
    graph : Graph or ClusterGraph
    weight : str or None
        None stands for no weights, whatever the graph has.
    directed : bool

    Raises
    ------
    InputError
    """
    known = (AUTO, graph.weight, None)
    if not any(
        weight is known_weight or (is_label(weight) and weight == known_weight)
        for known_weight in known
    ):
        raise InputError(
            f"weight={shown(weight)}: the graph was built with weight={graph.weight!r}; "
            f"give the weight to Graph(...), or weight=None for no weights"
        )
    if graph.directed and not directed:
        raise InputError(
            "directed=False: the graph was built directed; give directed=False to Graph(...)"
        )


def check_ends_as_built(
    source: Columns, destination: Columns, sources: list[str], destinations: list[str]
) -> None:
    """Refuse columns of edges' ends that are not those which a graph was built with.

    Parameters
    ----------
    source, destination : str or sequence of str
        The caller's; "source" and "destination" stand for those of the graph.
    sources, destinations : list of str
        Those of the graph.

    Raises
    ------
    InputError
    """
    for argument, given, built in (
        ("source", source, sources),
        ("destination", destination, destinations),
    ):
        if given == argument or labels_of(given, argument) == built:
            continue
        raise InputError(
            f"{argument}={shown(given)}: the graph was built with {argument}="
            f"{shown(built[0] if len(built) == 1 else built)}; leave it out"
        )
