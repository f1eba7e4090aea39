"""A graph on two cores or on a GPU, in the forms that functions and libraries take.

Forms are `directed` (parallel edges and self-loops kept), `weighted` (the same with a length for each edge), `simple`
(each pair of neighbours once, undirected) and `simple weighted`; programs also take `coefficients` and `synapses`.
Libraries' graphs are made when first requested.  On a GPU only the last one of each library is held: the largest
graphs have 336 million edges, and copies in all forms would not fit.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
from verify import Edges

import cugraph_ws as ws
from bench.graphs import GENERATED, RMAT, DeviceArray, read_folder, rmat, simple

NETWORKIT, IGRAPH, NETWORKX, SCIPY, CUGRAPH = "NetworKit", "igraph", "NetworkX", "SciPy", "cuGraph"
MODULES = {
    SCIPY: "scipy.sparse",
    **{name: name.lower() for name in (NETWORKIT, IGRAPH, NETWORKX, CUGRAPH)},
}
MOST_FOR_NETWORKX = 1_200_000  # edges; NetworkX takes minutes to build a larger graph
SIMPLE = ("simple", "simple weighted")


def library(name: str) -> ModuleType | None:
    """Return the module of a library, or None if it is not installed."""
    try:
        if name == SCIPY:
            importlib.import_module("scipy.sparse.linalg")
        return importlib.import_module(MODULES[name])
    except ImportError:
        return None


def of_cugraph(name: str, *given: Any, **options: Any) -> Callable[[Any], Any]:
    """Return a call of a function of cuGraph's, which takes its graph."""
    return lambda graph: getattr(library(CUGRAPH), name)(graph, *given, **options)


class Case:
    """A graph on the host or on a GPU.

    Parameters
    ----------
    name : str
        For the tables.
    n : int
        Bound of the ids; some ids may have no edge.
    source, destination : array of int, shape (edges,)
        The edges: NumPy's or CuPy's.
    gpu : bool
        Whether the arrays are CuPy's.
    lengths : array, optional
        The edges' own lengths; drawn if there are none.

    Attributes
    ----------
    search : dict
        Arguments of searches: on the host, where other libraries return none, they leave predecessors out.
    """

    def __init__(
        self, name: str, n: int, source: Any, destination: Any, *, gpu: bool = True, lengths: Any = None,
    ) -> None:  # fmt: skip
        self.name, self.n, self.source, self.destination, self.gpu = (
            name, n, source, destination, gpu,
        )  # fmt: skip
        self.search: dict[str, Any] = {} if gpu else {"return_predecessors": False}
        self._lengths = lengths
        self.arguments: dict[Any, Any] = {}  # of calls, as `bench.peers` makes them
        self._graphs: dict[str, dict[Any, Any]] = {}  # by library and form

    def __str__(self) -> str:
        return f"{self.name}: {self.vertices:,} vertices with edges, {len(self.source):,} edges"

    @cached_property
    def xp(self) -> Any:
        """NumPy, or CuPy on a GPU."""
        return importlib.import_module("cupy") if self.gpu else np

    @cached_property
    def frames(self) -> Any:
        """The module pandas, or cuDF on a GPU."""
        return importlib.import_module("cudf") if self.gpu else pd

    @cached_property
    def table(self) -> Any:
        """The edges as a frame, without weights."""
        return self.frame()

    @cached_property
    def text(self) -> Any:
        """The edges as a frame of text ids, such as "customer-12" for 12."""
        return self.table.assign(
            **{name: "customer-" + self.table[name].astype("str") for name in self.table.columns}
        )

    @cached_property
    def out_degree(self) -> DeviceArray:
        """Number of edges out of every id."""
        return self.xp.bincount(self.source, minlength=self.n)

    @cached_property
    def in_degree(self) -> DeviceArray:
        """Number of edges into every id."""
        return self.xp.bincount(self.destination, minlength=self.n)

    @cached_property
    def present(self) -> DeviceArray:
        """Which ids have an edge."""
        return (self.out_degree > 0) | (self.in_degree > 0)

    @cached_property
    def vertices(self) -> int:
        """Number of ids that have an edge."""
        return int(self.present.sum())

    @cached_property
    def start(self) -> int:
        """The vertex of the greatest out-degree, the least of several."""
        return int(self.out_degree.argmax())

    @property
    def counted(self) -> DeviceArray:
        """Which ids are vertices of the graphs: on a GPU those with an edge, on the host all."""
        return self.present if self.gpu else np.ones(self.n, bool)

    @cached_property
    def simple_ends(self) -> Any:
        """Ends of the simple graph's edges."""
        ends = simple(self.xp, self.source, self.destination, self.n)
        return tuple(end.astype(self.source.dtype) for end in ends)

    def ends(self, form: str | None) -> Any:
        """Return the ends of the edges of a form."""
        return self.simple_ends if form in SIMPLE else (self.source, self.destination)

    def weights(self, form: str | None) -> DeviceArray | None:
        """Return the weights of a form, the same at each call, or None.

        Lengths are integers from 1 to 63 if the edges have none, weights of the simple graph are random numbers.
        Coefficients into a vertex sum to 0.9.  Synapses have either sign, and their absolute values into a vertex
        sum to at most 0.9.
        """
        xp = self.xp
        if form in (None, "directed", "simple"):
            return None
        if form == "simple weighted":
            return (
                xp.random.RandomState(5).random_sample(len(self.simple_ends[0])).astype("float32")
            )
        drawn = (
            xp.random.RandomState(2)
            .randint(1, 64, len(self.source), dtype="int32")
            .astype("float32")
        )
        if form == "weighted":
            return drawn if self._lengths is None else self._lengths
        share = (0.9 / xp.maximum(self.in_degree, 1)).astype("float32")[self.destination]
        return share if form == "coefficients" else share * ((drawn - 32) / 32)

    def frame(self, form: str | None = None) -> Any:
        """Return the edges as a frame with the columns source, destination and, if the form has it, weight."""
        columns = dict(zip(("source", "destination"), self.ends(form), strict=True))
        weight = self.weights(form)
        return self.frames.DataFrame(columns if weight is None else {**columns, "weight": weight})

    def edges(self, form: str) -> Edges:
        """Return the edges on the host, for verifiers."""
        source, destination = (on_host(end) for end in self.ends(form))
        weight = self.weights(form)
        return Edges(
            source, destination, self.n, None if weight is None else on_host(weight), form not in SIMPLE,
        )  # fmt: skip

    def by_id(self, frame: Any, column: str, missing: float = np.nan) -> DeviceArray:
        """Return a column of a vertex frame in float64, indexed by id; `missing` for nulls and ids without an edge."""
        values = self.xp.full(self.n, missing, "float64")
        ids, column = frame["vertex"], frame[column].astype("float64").fillna(missing)
        values[self.xp.asarray(ids.values)] = self.xp.asarray(column.values)
        return values

    # ------------------------------------------------------------------------- libraries' graphs

    def _graph(self, owner: str, key: Any, make: Callable[[], Any]) -> Any:
        graphs = self._graphs.setdefault(owner, {})
        if key not in graphs:
            if self.gpu:
                self.release(owner)
            graphs[key] = make()
        return graphs[key]

    def release(self, owner: str) -> None:
        """Free a library's graphs."""
        graphs = self._graphs.get(owner, {})
        for graph in graphs.values():
            if isinstance(graph, ws.Graph):
                graph.close()
        graphs.clear()

    def let_go(self) -> None:
        """Free all copies."""
        for owner in self._graphs:
            self.release(owner)
        self.arguments.clear()
        if self.gpu:
            self.xp.get_default_memory_pool().free_all_blocks()

    def ours(self, form: str | None = None) -> ws.Graph:
        """Return this library's graph; on the host it has all vertices, as other libraries' graphs have."""

        def make() -> ws.Graph:
            frame = self.frame(form)
            vertices = None if self.gpu else pd.DataFrame({"vertex": np.arange(self.n)})
            weight = "weight" if "weight" in frame else None
            graph = ws.Graph(frame, weight=weight, directed=form not in SIMPLE, vertices=vertices)
            if not self.gpu:
                assert graph.csc.number_of_arcs == graph.csr.number_of_arcs  # this makes both
            return graph

        return self._graph("ours", form, make)

    def graph_of(self, name: str, form: str, *, transposed: bool = False) -> Any:
        """Return the graph of another library; parallel edges are kept if it is directed."""
        if name == CUGRAPH:
            kind = {
                "transposed": transposed,
                "parallel": form not in SIMPLE,
                "directed": form not in SIMPLE,
            }
            return self._graph(
                name, (form, transposed), lambda: cugraph_graph(self.frame(form), **kind)
            )
        return self._graph(name, form, lambda: HOST_GRAPHS[name](self.edges(form)))

    def has(self, name: str) -> bool:
        """Return whether a library is here, and takes the graph in bearable time."""
        small = name != NETWORKX or len(self.source) <= MOST_FOR_NETWORKX
        return (name == CUGRAPH) == self.gpu and small and library(name) is not None


def _networkit(edges: Edges) -> Any:
    ends = edges.source, edges.destination
    data = ends if edges.weight is None else (np.asarray(edges.weight, np.float64), ends)
    graph = importlib.import_module("networkit").GraphFromCoo(
        data, n=edges.n, weighted=edges.weight is not None, directed=edges.directed
    )
    if not edges.directed and edges.weight is None:
        graph.indexEdges()
    return graph


def _igraph(edges: Edges) -> Any:
    """Return a graph with the weights as an attribute of its edges."""
    ends = np.stack([edges.source, edges.destination], axis=1)
    graph = importlib.import_module("igraph").Graph(edges.n, ends, directed=edges.directed)
    if edges.weight is not None:
        graph.es["weight"] = edges.weight.tolist()
    return graph


def _networkx(edges: Edges) -> Any:
    networkx = importlib.import_module("networkx")
    graph = networkx.MultiDiGraph() if edges.directed else networkx.Graph()
    graph.add_nodes_from(range(edges.n))
    ends = edges.source.tolist(), edges.destination.tolist()
    if edges.weight is None:
        graph.add_edges_from(zip(*ends, strict=True))
    else:
        graph.add_weighted_edges_from(zip(*ends, edges.weight.tolist(), strict=True))
    return graph


HOST_GRAPHS: dict[str, Callable[[Edges], Any]] = {
    NETWORKIT: _networkit, IGRAPH: _igraph, NETWORKX: _networkx, SCIPY: lambda edges: edges.matrix(),
}  # fmt: skip


def on_host(array: Any) -> Any:
    """Return an array as NumPy's."""
    return array.get() if hasattr(array, "get") else np.asarray(array)


def csr(n: int, degrees: DeviceArray, indices: DeviceArray, values: DeviceArray) -> Any:
    """Return a square CSR matrix on the GPU, given the lengths of its rows; parallel entries stay separate."""
    import cupy
    from cupyx.scipy import sparse

    offsets = cupy.zeros(len(degrees) + 1, cupy.int32)
    offsets[1:] = cupy.cumsum(degrees)
    matrix = sparse.csr_matrix((values, indices, offsets), shape=(n, n))
    matrix.has_canonical_format = True  # else a product would first sum parallel entries
    return matrix


def parallel_edges_graph() -> Any:
    """Return an empty directed graph of cuGraph that keeps parallel edges.

    It is like a `MultiGraph`, a class that some of cuGraph's functions refuse.
    """
    graph = importlib.import_module("cugraph").Graph(directed=True)
    graph.graph_properties.multi_edge = True
    return graph


def cugraph_graph(
    frame: Any, *, transposed: bool = True, parallel: bool = True, directed: bool = True
) -> Any:
    """Return cuGraph's graph of an edge frame; by default parallel edges are kept, as in this library."""
    empty = importlib.import_module("cugraph").Graph
    graph = parallel_edges_graph() if parallel else empty(directed=directed)
    graph.from_cudf_edgelist(
        frame, source="source", destination="destination", store_transposed=transposed,
        weight="weight" if "weight" in frame.columns else None,
    )  # fmt: skip
    return graph


def smaller(name: str, times: int) -> Case | None:
    """Draw an RMAT graph like a generated one, but with so many times fewer vertices and edges; None of others."""
    if name not in RMAT:
        return None
    n, m, corners = RMAT[name]
    return Case(f"{name}, 1/{times}", n // times, *rmat(n // times, m // times, corners))


def gpu_cases(
    names: Sequence[str], folder: Path | None, most_edges: int = 100_000_000
) -> Iterator[Case]:
    """Yield graphs on the GPU, each made when requested and freed afterwards.

    Parameters
    ----------
    names : sequence of str
        Generated graphs, or names of edge lists in `folder`; "data" is all of these.
    folder : Path or None
    most_edges : int
        Of an edge list.
    """
    lists = read_folder(folder, [name for name in names if name not in GENERATED], most_edges)

    def cases() -> Iterator[Case]:
        for name in names:
            if name in GENERATED:
                yield Case(name, GENERATED[name][0], *GENERATED[name][1]())
        for edges in lists:
            import cupy

            yield Case(edges.name, edges.n, *(cupy.asarray(end, cupy.int32) for end in edges[2:4]))

    for case in cases():
        try:
            yield case
        finally:
            case.let_go()


def host_cases(names: Sequence[str], folder: Path | None, most_edges: int) -> Iterator[Case]:
    """Yield graphs on the host: "RMAT" and its scale, as RMAT16, with 16 edges a vertex; or edge lists as above."""
    from cugraph_ws.graph.generators import rmat as host_rmat

    for name in names:
        if name.startswith("RMAT"):
            scale = int(name.removeprefix("RMAT"))
            edges = host_rmat(scale, seed=1, frame=None)
            yield Case(
                f"RMAT {scale} x 16", 1 << scale, edges["source"], edges["destination"], gpu=False
            )
    for edges in read_folder(folder, names, most_edges):
        yield Case(*edges[:4], gpu=False, lengths=edges.lengths)
