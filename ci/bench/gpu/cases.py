"""Graphs on the GPU in the forms that the libraries take.

Only one form of each kind is held at a time: the largest graphs have 336 million edges, and copies for
several libraries with each of five kinds of weights would not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import cugraph_ws as ws
from bench.graphs import GENERATED, RMAT, DeviceArray, EdgeList, Weights, read_folder, rmat, simple

__all__ = [
    "Case",
    "cases",
    "csr",
    "cugraph_graph",
    "cugraph_here",
    "parallel_edges_graph",
    "smaller",
]

MOST_EDGES = 100_000_000  # of an edge list


def cugraph_here() -> Any:
    """Return the module cugraph, or None if it is not installed."""
    try:
        import cugraph
    except ImportError:
        return None
    return cugraph


def cugraph_graph(
    frame: Any, *, weight: str | None = None, transposed: bool = False, parallel: bool = True,
    directed: bool = True,
) -> Any:  # fmt: skip
    """Return cuGraph's graph of an edge frame; by default parallel edges are kept, as in this library."""
    graph = parallel_edges_graph() if parallel else cugraph_here().Graph(directed=directed)
    graph.from_cudf_edgelist(
        frame,
        source="source",
        destination="destination",
        weight=weight,
        store_transposed=transposed,
    )
    return graph


def parallel_edges_graph() -> Any:
    """Return an empty directed graph of cuGraph that keeps parallel edges.

    It is like a `MultiGraph`, a class that some of cuGraph's functions refuse.
    """
    graph = cugraph_here().Graph(directed=True)
    graph.graph_properties.multi_edge = True
    return graph


class Case:
    """A graph on the GPU.

    Parameters
    ----------
    name : str
        For the tables.
    n : int
        Bound of the ids; some ids may have no edge.
    source, destination : device array of int32, shape (edges,)
        The edges.
    """

    def __init__(self, name: str, n: int, source: DeviceArray, destination: DeviceArray) -> None:
        self.name = name
        self.n = n
        self.source = source
        self.destination = destination
        self._ours: tuple[Any, ws.Graph] | None = None
        self._theirs: tuple[Any, Any] | None = None
        self._matrix: tuple[Any, Any] | None = None

    def __str__(self) -> str:
        return f"{self.name}: {self.vertices:,} vertices with edges, {len(self.source):,} edges"

    @cached_property
    def out_degree(self) -> DeviceArray:
        """Number of edges out of every id."""
        import cupy

        return cupy.bincount(self.source, minlength=self.n)

    @cached_property
    def in_degree(self) -> DeviceArray:
        """Number of edges into every id."""
        import cupy

        return cupy.bincount(self.destination, minlength=self.n)

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

    def weights(self, kind: Weights) -> DeviceArray:
        """Return float32 weights, the same at each call.

        `lengths` are integers from 1 to 63.  `coefficients` into a vertex sum to 0.9.  `synapses` have
        either sign, and their absolute values into a vertex sum to at most 0.9.
        """
        import cupy

        random = cupy.random.RandomState(2)
        drawn = random.randint(1, 64, len(self.source), dtype=cupy.int32).astype(cupy.float32)
        if kind == "lengths":
            return drawn
        share = (0.9 / cupy.maximum(self.in_degree, 1)).astype(cupy.float32)[self.destination]
        return share if kind == "coefficients" else share * ((drawn - 32) / 32)

    def frame(self, kind: Weights | None = None) -> Any:
        """Return the edges as a cuDF frame with the columns source, destination and weight."""
        import cudf

        frame = cudf.DataFrame({"source": self.source, "destination": self.destination})
        if kind is not None:
            frame["weight"] = self.weights(kind)
        return frame

    def simple_frame(self) -> Any:
        """Return every edge once, whichever its direction, without self-loops."""
        import cudf
        import cupy

        ends = simple(cupy, self.source, self.destination, self.n)
        columns = zip(("source", "destination"), ends, strict=True)
        return cudf.DataFrame({name: end.astype(cupy.int32) for name, end in columns})

    def graph(self, kind: Weights | None = None, *, simple: bool = False) -> ws.Graph:
        """Return this library's graph: directed with weights of a kind, or simple and undirected."""
        key = "simple" if simple else kind
        if self._ours is None or self._ours[0] != key:
            self.let_go_of_ours()
            frame = self.simple_frame() if simple else self.frame(kind)
            weight = None if kind is None or simple else "weight"
            self._ours = key, ws.Graph(frame, weight=weight, directed=not simple)
        return self._ours[1]

    def cugraph(
        self, kind: Weights | None = None, *, simple: bool = False, transposed: bool = False
    ) -> Any:
        """Return cuGraph's graph; parallel edges are kept unless it is simple."""
        key = "simple" if simple else kind, transposed
        if self._theirs is None or self._theirs[0] != key:
            self._theirs = None
            self._theirs = key, cugraph_graph(
                self.simple_frame() if simple else self.frame(kind),
                weight=None if kind is None or simple else "weight",
                transposed=transposed, parallel=not simple, directed=not simple,
            )  # fmt: skip
        return self._theirs[1]

    def matrix(self, kind: Weights | None = None, dtype: str = "float64") -> Any:
        """Return a CSR matrix whose rows are destinations; parallel edges are separate entries."""
        import cupy

        if self._matrix is None or self._matrix[0] != (kind, dtype):
            self._matrix = None
            keys = self.destination.astype(cupy.int64) * self.n + self.source
            if kind is None:
                keys.sort()
                values = cupy.ones(len(keys), dtype)
            else:
                order = cupy.argsort(keys)
                keys, values = keys[order], self.weights(kind)[order].astype(dtype)
                del order
            indices = (keys % self.n).astype(cupy.int32)
            del keys
            self._matrix = (kind, dtype), csr(self.n, self.in_degree, indices, values)
        return self._matrix[1]

    def by_id(self, frame: Any, column: str, missing: float = 0.0) -> DeviceArray:
        """Return a column of a vertex frame as an array indexed by id."""
        import cupy

        values = frame[column].to_cupy()
        spread = cupy.full(self.n, missing, values.dtype)
        spread[frame["vertex"].to_cupy()] = values
        return spread

    def let_go_of_ours(self) -> None:
        """Close this library's graph."""
        if self._ours is not None:
            self._ours[1].close()
            self._ours = None

    def let_go(self) -> None:
        """Free all copies."""
        import cupy

        self.let_go_of_ours()
        self._theirs = self._matrix = None
        cupy.get_default_memory_pool().free_all_blocks()


def csr(n: int, degrees: DeviceArray, indices: DeviceArray, values: DeviceArray) -> Any:
    """Return a square CSR matrix, given the lengths of its rows; parallel entries are kept separate."""
    import cupy
    from cupyx.scipy import sparse

    offsets = cupy.zeros(len(degrees) + 1, cupy.int32)
    offsets[1:] = cupy.cumsum(degrees)
    matrix = sparse.csr_matrix((values, indices, offsets), shape=(n, n))
    matrix.has_canonical_format = True  # else a product would first sum parallel entries
    return matrix


def smaller(name: str, times: int) -> Case | None:
    """Draw an RMAT graph with the same parameters but `times` times fewer vertices and edges.

    Parameters
    ----------
    name : str
        A generated graph; None is returned unless it is RMAT.
    times : int
    """
    if name not in RMAT:
        return None
    n, m, corners = RMAT[name]
    return Case(f"{name}, 1/{times}", n // times, *rmat(n // times, m // times, corners))


def cases(names: Sequence[str], folder: Path | None) -> Iterator[Case]:
    """Yield graphs, each made when requested and freed afterwards.

    Parameters
    ----------
    names : sequence of str
        Generated graphs, or names of edge lists in `folder`; "data" is all of these.
    folder : Path or None
        As for the benchmarks on the CPU.
    """
    makers = [(name, *GENERATED[name]) for name in names if name in GENERATED]
    read = [name for name in names if name not in GENERATED]
    for name, n, make in chain(makers, map(_maker, read_folder(folder, read, MOST_EDGES))):
        case = Case(name, n, *make())
        try:
            yield case
        finally:
            case.let_go()


def _maker(found: EdgeList) -> tuple[str, int, Callable[[], tuple[DeviceArray, DeviceArray]]]:
    """Return name and size of an edge list, and a function that copies it to the GPU."""

    def make() -> tuple[DeviceArray, DeviceArray]:
        import cupy

        source, destination = (cupy.asarray(end, cupy.int32) for end in found[2:4])
        return source, destination

    return found.name, found.n, make
