"""Graphs on the GPU, made there from a seed or read from a folder, in every form that a library takes.

Vertex ids are int32.  A graph is held in one form of each kind at a time: the largest have 336 million
edges, and several libraries' copies of each of five kinds of weights would not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

import cugraph_ws as ws

__all__ = [
    "GENERATED",
    "HIGH_DIAMETER",
    "RMAT",
    "SCALING",
    "UNSEEN",
    "Case",
    "Weights",
    "cases",
    "csr",
    "parallel_edges_graph",
    "rmat",
    "smaller",
]

DeviceArray = Any  # CuPy's
Weights = Literal["lengths", "coefficients", "synapses"]

PAPER = (0.45, 0.25, 0.15)  # RMAT parameters of the Warp Segmentation paper
GRAPH500 = (0.57, 0.19, 0.19)
CHUNK = 1 << 26  # edges drawn at a time


def rmat(
    n: int, m: int, corners: tuple[float, float, float], seed: int = 1
) -> tuple[DeviceArray, DeviceArray]:
    """Draw `m` edges between `n` vertices, duplicates and self-loops kept (Chakrabarti et al. 2004)."""
    import cupy

    a, b, c = corners
    random = cupy.random.RandomState(seed)
    bits = max(1, (n - 1).bit_length())
    parts: list[tuple[DeviceArray, DeviceArray]] = []
    drawn = 0
    while drawn < m:
        size = min(CHUNK, 2 * (m - drawn) + 32)
        source = cupy.zeros(size, cupy.int32)
        destination = cupy.zeros(size, cupy.int32)
        for _ in range(bits):
            place = random.random_sample(size, dtype=cupy.float32)
            source = 2 * source + (place >= a + b)
            destination = 2 * destination + (
                ((place >= a) & (place < a + b)) | (place >= a + b + c)
            )
        inside = (source < n) & (destination < n)
        parts.append(
            (
                source[inside][: m - drawn].astype(cupy.int32),
                destination[inside][: m - drawn].astype(cupy.int32),
            )
        )
        drawn += len(parts[-1][0])
    sources, destinations = zip(*parts, strict=True)
    return cupy.concatenate(sources), cupy.concatenate(destinations)


def uniform(n: int, m: int) -> tuple[DeviceArray, DeviceArray]:
    """Draw `m` edges between `n` vertices, all alike (Erdős and Rényi)."""
    import cupy

    random = cupy.random.RandomState(1)
    return (
        random.randint(0, n, m, dtype=cupy.int32),
        random.randint(0, n, m, dtype=cupy.int32),
    )


def small_world(n: int, reach: int, rewired: float) -> tuple[DeviceArray, DeviceArray]:
    """Link each vertex to the next `reach` of a ring, a share of them to anyone (Watts, Strogatz 1998)."""
    import cupy

    random = cupy.random.RandomState(3)
    source = cupy.repeat(cupy.arange(n, dtype=cupy.int32), reach)
    destination = (source + cupy.tile(cupy.arange(1, reach + 1, dtype=cupy.int32), n)) % n
    anyone = random.random_sample(n * reach) < rewired
    destination[anyone] = random.randint(0, n, int(anyone.sum()), dtype=cupy.int32)
    return source, destination


def cliques(count: int, size: int) -> tuple[DeviceArray, DeviceArray]:
    """Draw a chain of cliques, each linked to the next by an edge in each direction."""
    import cupy

    inside = cupy.arange(size, dtype=cupy.int32)
    one, other = cupy.repeat(inside, size), cupy.tile(inside, size)
    one, other = one[one != other], other[one != other]
    first = size * cupy.arange(count, dtype=cupy.int32)
    source = (first[:, None] + one).ravel()
    destination = (first[:, None] + other).ravel()
    last, following = first[:-1] + size - 1, first[1:]
    return (
        cupy.concatenate([source, last, following]),
        cupy.concatenate([destination, following, last]),
    )


def grid(side: int, dropped: float) -> tuple[DeviceArray, DeviceArray]:
    """Streets between neighbouring crossings, both ways, with a share of them dropped."""
    import cupy

    number = cupy.arange(side * side, dtype=cupy.int32).reshape(side, side)
    ahead = cupy.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    behind = cupy.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    source, destination = cupy.concatenate([ahead, behind]), cupy.concatenate([behind, ahead])
    kept = cupy.random.RandomState(1).random_sample(len(source)) >= dropped
    return source[kept], destination[kept]


EDGES = (1 << 25, 1 << 27, 5 << 26, 21 << 25)
DENSITIES = (8, 16, 32)  # edges a vertex
# Of several sizes and densities, as in the paper's Figure 10, and named as there: RM<M vertices>V<M edges>E
SCALING = {
    f"RM{m // density // 10**6}V{m // 10**6}E": (m // density, m, PAPER)
    for density in DENSITIES
    for m in EDGES
}
RMAT: dict[str, tuple[int, int, tuple[float, float, float]]] = {  # vertices, edges, parameters
    **SCALING,
    "RM20": (1 << 20, 1 << 24, PAPER),
    "RM22": (1 << 22, 1 << 26, PAPER),
    "RM33V335E": (1 << 25, 335_544_320, PAPER),
    "KR24": (1 << 24, 1 << 28, GRAPH500),
    # Of the paper's Table II
    "RM16V134E": (1 << 24, 134_217_728, PAPER),
    "RM16V201E": (1 << 24, 201_326_592, PAPER),
    "RM25V201E": (25_165_824, 201_326_592, PAPER),
    # For several GPUs; the second is nearly as much as a cuDF frame on one of them can hold: 2^31 - 1 rows
    "RM54V704E": (54_525_952, 704_643_072, PAPER),
    "RM27": (1 << 27, 2_100_000_000, PAPER),
    "RM14": (1 << 14, 1 << 18, PAPER),  # to try a benchmark out
}
GENERATED: dict[str, tuple[int, Callable[[], tuple[DeviceArray, DeviceArray]]]] = {
    **{name: (n, partial(rmat, n, m, corners)) for name, (n, m, corners) in RMAT.items()},
    "road-like": (1400 * 1400, lambda: grid(1400, 0.28)),
    "ER25V201E": (25_165_824, lambda: uniform(25_165_824, 201_326_592)),
    **{
        name: (1 << 22, partial(rmat, 1 << 22, m, corners, seed=7))
        for name, m, corners in (
            ("kronecker-22", 1 << 26, GRAPH500),
            ("skewed-22", 60_000_000, (0.65, 0.15, 0.15)),
        )
    },
    "uniform-22": (1 << 22, lambda: uniform(1 << 22, 100_000_000)),
    "small-world-22": (1 << 22, lambda: small_world(1 << 22, 12, 0.1)),
    "cliques": (1 << 18, lambda: cliques(1 << 12, 64)),
}
UNSEEN = ("kronecker-22", "skewed-22", "uniform-22", "small-world-22", "cliques")
HIGH_DIAMETER = ("road-like",)  # where a search has thousands of supersteps


class Case:
    """A graph on the GPU.

    Parameters
    ----------
    name : str
        For the tables.
    n : int
        Ids are below it; not every id need have an edge.
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
        """How many ids have an edge."""
        return int(self.present.sum())

    @cached_property
    def start(self) -> int:
        """The vertex with most edges out of it, the least of several."""
        return int(self.out_degree.argmax())

    def weights(self, kind: Weights) -> DeviceArray:
        """Return float32 weights, the same at each call.

        `lengths` are whole numbers from 1 to 63; `coefficients` into a vertex sum to 0.9; `synapses`
        are of either sign and into a vertex sum to at most 0.9 without it.
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

        low = cupy.minimum(self.source, self.destination).astype(cupy.int64)
        keys = low * self.n + cupy.maximum(self.source, self.destination)
        keys = cupy.unique(keys[self.source != self.destination])
        return cudf.DataFrame(
            {
                "source": (keys // self.n).astype(cupy.int32),
                "destination": (keys % self.n).astype(cupy.int32),
            }
        )

    def graph(self, kind: Weights | None = None, *, simple: bool = False) -> ws.Graph:
        """Return our graph: directed with weights of a kind, or simple and undirected."""
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
        import cugraph

        key = "simple" if simple else kind, transposed
        if self._theirs is None or self._theirs[0] != key:
            self._theirs = None
            if simple:
                graph, frame = cugraph.Graph(directed=False), self.simple_frame()
            else:
                graph, frame = parallel_edges_graph(cugraph), self.frame(kind)
            graph.from_cudf_edgelist(
                frame, source="source", destination="destination",
                weight=None if kind is None or simple else "weight", store_transposed=transposed,
            )  # fmt: skip
            self._theirs = key, graph
        return self._theirs[1]

    def matrix(self, kind: Weights | None = None, dtype: str = "float64") -> Any:
        """Return a CSR matrix whose rows are destinations, parallel edges side by side."""
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
        """Return a column of a vertex frame as an array in which a vertex's place is its id."""
        import cupy

        values = frame[column].to_cupy()
        spread = cupy.full(self.n, missing, values.dtype)
        spread[frame["vertex"].to_cupy()] = values
        return spread

    def let_go_of_ours(self) -> None:
        """Close our graph."""
        if self._ours is not None:
            self._ours[1].close()
            self._ours = None

    def let_go(self) -> None:
        """Give all copies' memory back."""
        import cupy

        self.let_go_of_ours()
        self._theirs = self._matrix = None
        cupy.get_default_memory_pool().free_all_blocks()


def parallel_edges_graph(cugraph: Any) -> Any:
    """Return an empty directed graph of cuGraph's that will keep parallel edges, as ours does.

    It is a `MultiGraph` in all but its class, which some of cuGraph's functions refuse.
    """
    graph = cugraph.Graph(directed=True)
    graph.graph_properties.multi_edge = True
    return graph


def csr(n: int, degrees: DeviceArray, indices: DeviceArray, values: DeviceArray) -> Any:
    """Return a square matrix in CSR from the lengths of its rows; parallel entries stay apart."""
    import cupy
    from cupyx.scipy import sparse

    offsets = cupy.zeros(len(degrees) + 1, cupy.int32)
    offsets[1:] = cupy.cumsum(degrees)
    matrix = sparse.csr_matrix((values, indices, offsets), shape=(n, n))
    matrix.has_canonical_format = True  # else a product would add parallel entries up first
    return matrix


def smaller(name: str, times: int) -> Case | None:
    """Draw an RMAT graph of so many times fewer vertices and edges, by the same parameters.

    Parameters
    ----------
    name : str
        A generated graph; of others than RMAT nothing is drawn.
    times : int
    """
    if name not in RMAT:
        return None
    n, m, corners = RMAT[name]
    return Case(f"{name}, 1/{times}", n // times, *rmat(n // times, m // times, corners))


def cases(names: list[str], folder: Path | None) -> Iterator[Case]:
    """Yield graphs, each made when its turn comes and given back after it.

    Parameters
    ----------
    names : list of str
        Generated graphs, or names of edge lists in `folder`; "data" is all of these.
    folder : Path or None
        As for the benchmarks on the CPU.
    """
    import cupy

    for name in names:
        if name in GENERATED:
            n, make = GENERATED[name]
            yield from _one(name, n, make)
    read = [name for name in names if name not in GENERATED]
    if read and folder is not None:
        from graphs import read_folder

        for case in read_folder(folder, 100_000_000):
            if "data" in read or case.name in read:
                edges = case.directed
                yield from _one(
                    case.name, edges.n,
                    lambda edges=edges: (
                        cupy.asarray(edges.source.astype(np.int32)),
                        cupy.asarray(edges.destination.astype(np.int32)),
                    ),
                )  # fmt: skip


def _one(name: str, n: int, make: Callable[[], tuple[DeviceArray, DeviceArray]]) -> Iterator[Case]:
    case = Case(name, n, *make())
    try:
        yield case
    finally:
        case.let_go()
