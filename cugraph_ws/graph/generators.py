"""Random graphs from a seed: R-MAT, Kronecker, Erdős-Rényi, grids, growing graphs and graphs of blocks.

Every edge is a function of the seed and its number, so a graph is the same on any number of
threads and in chunks of any size.  `chunks` makes graphs that are larger than memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from cugraph_ws.arguments import shown
from cugraph_ws.errors import InputError
from cugraph_ws.graph import recipes
from cugraph_ws.runtime.extras import import_optional

__all__ = [
    "CHUNK",
    "chunks",
    "erdos_renyi",
    "framed",
    "grid",
    "kronecker",
    "preferential_attachment",
    "rmat",
    "stochastic_blocks",
]

CHUNK = 1 << 22
"""Edges in a chunk: 64 MiB of ids."""

FRAMES = ("pandas", "polars", "pyarrow", "cudf")


def rmat(
    scale: int | None = None,
    edge_factor: float = 16,
    *,
    a: float = 0.57,
    b: float = 0.19,
    c: float = 0.19,
    vertices: int | None = None,
    edges: int | None = None,
    seed: int = 0,
    weights: recipes.Weights = None,
    frame: str | None = "pandas",
) -> Any:
    """Generate a directed R-MAT graph: few hubs, many vertices of low degree.

    Each edge repeatedly chooses a quadrant of the adjacency matrix, with probabilities a (upper
    left), b, c and d = 1 - a - b - c (lower right), until one cell is left.  Parallel edges and
    self-loops occur.

    Parameters
    ----------
    scale : int, optional
        The graph has 2**scale vertices; give this or `vertices`.
    edge_factor : float
        Number of edges per vertex, unless `edges` is given.
    a, b, c : float
        Probabilities of the quadrants.
    vertices : int, optional
        Number of vertices, not necessarily a power of two; they are numbered from 0.
    edges : int, optional
        Number of edges.
    seed : int
        The same seed gives the same graph on any machine.
    weights : (low, high), optional
        Adds a column of uniform weights: int64 including both ends if both are integers, else
        float64 in [low, high).
    frame : {"pandas", "polars", "pyarrow", "cudf"} or None
        Kind of the result; None for a dict of NumPy arrays.

    Returns
    -------
    DataFrame, Table or dict of ndarray
        Columns source and destination (int64), and weight if requested.

    Raises
    ------
    InputError
        If an argument is out of range.

    References
    ----------
    Chakrabarti, Zhan and Faloutsos, "R-MAT: A recursive model for graph mining", SDM 2004.
    Khorasani, Gupta and Bhuyan, "Scalable SIMD-efficient graph processing on GPUs", PACT 2015
    (PaRMAT, which likewise takes any number of vertices and edges).

    Examples
    --------
    >>> import cugraph_ws as ws
    >>> len(ws.datasets.rmat(10, 8, seed=1))
    8192
    """
    recipe = recipes.rmat(
        scale, edge_factor, a=a, b=b, c=c, vertices=vertices, edges=edges, seed=seed,
        weights=weights,
    )  # fmt: skip
    return framed(recipe.make(0, recipe.slots), frame)


def kronecker(
    scale: int,
    edge_factor: float = 16,
    *,
    permute: bool = True,
    seed: int = 0,
    weights: recipes.Weights = (0.0, 1.0),
    frame: str | None = "pandas",
) -> Any:
    """Generate a graph as the Graph 500 benchmark defines it.

    R-MAT edges with a = 0.57, b = c = 0.19, uniform weights in [0, 1), and vertices renamed by a
    random permutation, so that a vertex's number does not depend on its degree.  Meant to be read
    as undirected; parallel edges and self-loops occur.

    Parameters
    ----------
    scale : int
        The graph has 2**scale vertices.
    edge_factor : float
        Number of edges per vertex.
    permute : bool
        Whether to rename the vertices.
    seed : int
        The same seed gives the same graph on any machine.
    weights : (low, high), optional
        As for `rmat`; None for no weights.
    frame : {"pandas", "polars", "pyarrow", "cudf"} or None
        Kind of the result; None for a dict of NumPy arrays.

    Returns
    -------
    DataFrame, Table or dict of ndarray
        Columns source and destination (int64), and weight unless it is None.

    Raises
    ------
    InputError
        If an argument is out of range.

    References
    ----------
    The Graph 500 Steering Committee, "Graph 500 Benchmark Specification", https://graph500.org

    Examples
    --------
    >>> import cugraph_ws as ws
    >>> list(ws.datasets.kronecker(5, 4).columns)
    ['source', 'destination', 'weight']
    """
    recipe = recipes.kronecker(scale, edge_factor, permute=permute, seed=seed, weights=weights)
    return framed(recipe.make(0, recipe.slots), frame)


def erdos_renyi(
    vertices: int,
    edges: int | None = None,
    *,
    probability: float | None = None,
    directed: bool = True,
    seed: int = 0,
    weights: recipes.Weights = None,
    frame: str | None = "pandas",
) -> Any:
    """Generate a graph with edges drawn uniformly from all pairs of different vertices.

    There are no parallel edges and no self-loops: the edges are the first pairs of a
    pseudo-random permutation of all pairs.

    Parameters
    ----------
    vertices : int
        Number of vertices, numbered from 0; at most 2**31.
    edges : int, optional
        Number of edges, G(n, m); give this or `probability`.
    probability : float, optional
        Probability of each pair being an edge, G(n, p); the number of edges is drawn from the
        binomial distribution.
    directed : bool
        False: unordered pairs, each listed once with the smaller vertex as its source.
    seed : int
        The same seed gives the same graph on any machine.
    weights : (low, high), optional
        As for `rmat`.
    frame : {"pandas", "polars", "pyarrow", "cudf"} or None
        Kind of the result; None for a dict of NumPy arrays.

    Returns
    -------
    DataFrame, Table or dict of ndarray
        Columns source and destination (int64), and weight if requested.

    Raises
    ------
    InputError
        If an argument is out of range.

    Examples
    --------
    >>> import cugraph_ws as ws
    >>> len(ws.datasets.erdos_renyi(100, 250))
    250
    """
    recipe = recipes.erdos_renyi(
        vertices, edges, probability=probability, directed=directed, seed=seed, weights=weights
    )
    return framed(recipe.make(0, recipe.slots), frame)


def grid(
    rows: int,
    columns: int,
    *,
    drop: float = 0.0,
    seed: int = 0,
    weights: recipes.Weights = None,
    frame: str | None = "pandas",
) -> Any:
    """Generate a grid of vertices, each joined to its neighbours in both directions.

    It resembles a road network: low degrees, and a diameter that grows with the sides.

    Parameters
    ----------
    rows, columns : int
        Size of the grid.  The vertex at (row, column) has the number row * columns + column.
    drop : float
        Probability with which each directed edge is left out.
    seed : int
        The same seed gives the same graph on any machine.
    weights : (low, high), optional
        As for `rmat`; each directed edge has its own weight.
    frame : {"pandas", "polars", "pyarrow", "cudf"} or None
        Kind of the result; None for a dict of NumPy arrays.

    Returns
    -------
    DataFrame, Table or dict of ndarray
        Columns source and destination (int64), and weight if requested.

    Raises
    ------
    InputError
        If an argument is out of range.

    Examples
    --------
    >>> import cugraph_ws as ws
    >>> len(ws.datasets.grid(3, 4))
    34
    """
    recipe = recipes.grid(rows, columns, drop=drop, seed=seed, weights=weights)
    return framed(recipe.make(0, recipe.slots), frame)


def preferential_attachment(
    vertices: int,
    degree: int = 4,
    *,
    seed: int = 0,
    weights: recipes.Weights = None,
    frame: str | None = "pandas",
) -> Any:
    """Generate a graph that grows: each new vertex prefers vertices of high degree.

    Vertex v > 0 has `degree` edges to earlier vertices, each chosen with a probability in proportion
    to its degree.  Parallel edges occur, self-loops do not.

    Parameters
    ----------
    vertices : int
        Number of vertices, numbered from 0 in the order in which they came; at most 2**31.
    degree : int
        Number of edges of each new vertex.
    seed : int
        The same seed gives the same graph on any machine.
    weights : (low, high), optional
        As for `rmat`.
    frame : {"pandas", "polars", "pyarrow", "cudf"} or None
        Kind of the result; None for a dict of NumPy arrays.

    Returns
    -------
    DataFrame, Table or dict of ndarray
        Columns source and destination (int64), and weight if requested.

    Raises
    ------
    InputError
        If an argument is out of range.

    References
    ----------
    Barabási and Albert, "Emergence of scaling in random networks", Science 286, 1999.

    Examples
    --------
    >>> import cugraph_ws as ws
    >>> len(ws.datasets.preferential_attachment(100, 3))
    297
    """
    recipe = recipes.preferential_attachment(vertices, degree, seed=seed, weights=weights)
    return framed(recipe.make(0, recipe.slots), frame)


def stochastic_blocks(
    sizes: Sequence[int],
    within: float,
    between: float,
    *,
    directed: bool = False,
    seed: int = 0,
    weights: recipes.Weights = None,
    frame: str | None = "pandas",
) -> Any:
    """Generate a graph of blocks, whose pairs are edges more often within a block than between blocks.

    There are no parallel edges and no self-loops.

    Parameters
    ----------
    sizes : list of int
        Number of vertices of each block, at most 1,000 blocks.  Vertices are numbered from 0, block
        by block.
    within, between : float
        Probability that a pair of vertices of the same block, or of two blocks, is an edge.
    directed : bool
        False: unordered pairs, each listed once with the smaller vertex as its source.
    seed : int
        The same seed gives the same graph on any machine.
    weights : (low, high), optional
        As for `rmat`.
    frame : {"pandas", "polars", "pyarrow", "cudf"} or None
        Kind of the result; None for a dict of NumPy arrays.

    Returns
    -------
    DataFrame, Table or dict of ndarray
        Columns source and destination (int64), and weight if requested.

    Raises
    ------
    InputError
        If an argument is out of range.

    References
    ----------
    Holland, Laskey and Leinhardt, "Stochastic blockmodels: first steps", Social Networks 5, 1983.

    Examples
    --------
    Two blocks of three, complete and apart:

    >>> import cugraph_ws as ws
    >>> edges = ws.datasets.stochastic_blocks([3, 3], 1.0, 0.0)
    >>> ws.weakly_connected_components(edges)["labels"].tolist()
    [0, 0, 0, 3, 3, 3]
    """
    recipe = recipes.stochastic_blocks(
        sizes, within, between, directed=directed, seed=seed, weights=weights
    )
    return framed(recipe.make(0, recipe.slots), frame)


def chunks(generator: str, size: int = CHUNK, **parameters: Any) -> Iterator[recipes.Arrays]:
    """Generate a graph in chunks, so that it need not fit in memory.

    Parameters
    ----------
    generator : {"rmat", "kronecker", "erdos_renyi", "grid", "preferential_attachment", "stochastic_blocks"}
        The function that defines the graph.
    size : int
        Edges per chunk; chunks of a grid have fewer if edges are left out.
    **parameters
        That function's arguments, except `frame`.

    Returns
    -------
    iterator of dict of ndarray
        Columns as the function would return; the chunks in order make up the whole graph.  A
        graph without edges is one empty chunk.

    Raises
    ------
    InputError
        If the generator is unknown or an argument is out of range.
    """
    if generator not in recipes.RECIPES:
        raise InputError(
            f"no generator is called {shown(generator)}; choose one of: {', '.join(recipes.RECIPES)}"
        )
    recipe = recipes.RECIPES[generator](**parameters)
    size = recipes.whole(size, "size", 1, recipes.MOST_VERTICES)
    starts = range(0, max(recipe.slots, 1), size)  # checked now, generated when iterated
    return (recipe.make(first, min(first + size, recipe.slots)) for first in starts)


def framed(arrays: recipes.Arrays, frame: str | None) -> Any:
    """Return columns as a frame.

    Parameters
    ----------
    arrays : dict of ndarray
    frame : {"pandas", "polars", "pyarrow", "cudf"} or None
        Kind of the frame; None for the arrays themselves.

    Returns
    -------
    DataFrame, Table or dict of ndarray

    Raises
    ------
    InputError
        If there is no such kind, or its library is not installed.
    """
    if frame is None:
        return arrays
    if frame not in FRAMES:
        raise InputError(
            f"frame is {shown(frame)}; choose one of: {', '.join(FRAMES)}, or None for NumPy arrays"
        )
    remedy = "install it, or choose another kind of frame, such as 'pyarrow' or None"
    library = import_optional(frame, f"frame={frame!r}", remedy)
    return library.table(arrays) if frame == "pyarrow" else library.DataFrame(arrays)
