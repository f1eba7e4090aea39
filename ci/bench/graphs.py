"""The benchmarks' graphs: generated ones by name, and edge lists of a folder.

Generated graphs are drawn on the GPU from a seed; their ids are int32.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

DeviceArray = Any  # CuPy's

BOTH_WAYS = ("roadNet", "road-moscow")  # files that list an undirected edge once
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
    parts: list[tuple[DeviceArray, ...]] = []
    drawn = 0
    while drawn < m:
        size = min(CHUNK, 2 * (m - drawn) + 32)
        source = cupy.zeros(size, cupy.int32)
        destination = cupy.zeros(size, cupy.int32)
        for _ in range(bits):
            place = random.random_sample(size, dtype=cupy.float32)
            right = ((place >= a) & (place < a + b)) | (place >= a + b + c)
            source, destination = 2 * source + (place >= a + b), 2 * destination + right
        inside = (source < n) & (destination < n)
        ends = (end[inside][: m - drawn].astype(cupy.int32) for end in (source, destination))
        parts.append(tuple(ends))
        drawn += len(parts[-1][0])
    sources, destinations = zip(*parts, strict=True)
    return cupy.concatenate(sources), cupy.concatenate(destinations)


def uniform(n: int, m: int) -> tuple[DeviceArray, DeviceArray]:
    """Draw `m` edges between `n` vertices uniformly (Erdős and Rényi)."""
    import cupy

    random = cupy.random.RandomState(1)
    source, destination = (random.randint(0, n, m, dtype=cupy.int32) for _ in range(2))
    return source, destination


def small_world(n: int, reach: int, rewired: float) -> tuple[DeviceArray, DeviceArray]:
    """Link each vertex to the next `reach` of a ring; rewire a share of edges (Watts, Strogatz 1998)."""
    import cupy

    random = cupy.random.RandomState(3)
    source = cupy.repeat(cupy.arange(n, dtype=cupy.int32), reach)
    destination = (source + cupy.tile(cupy.arange(1, reach + 1, dtype=cupy.int32), n)) % n
    anyone = random.random_sample(n * reach) < rewired
    destination[anyone] = random.randint(0, n, int(anyone.sum()), dtype=cupy.int32)
    return source, destination


def web(n: int, m: int) -> tuple[DeviceArray, DeviceArray]:
    """Link pages mostly to near ones, as in a crawl that is sorted by address, and some to a few popular ones."""
    import cupy

    random = cupy.random.RandomState(5)
    source = (n * random.random_sample(m) ** 1.5).astype(cupy.int64)
    reach = (30 * (random.random_sample(m) ** -0.8 - 1)).astype(cupy.int64) + 1
    ahead = cupy.where(random.random_sample(m) < 0.5, reach, -reach)
    popular = (n * random.random_sample(m) ** 4).astype(cupy.int64)
    near = random.random_sample(m) < 0.8
    destination = cupy.where(near, (source + ahead) % n, popular)
    return source.astype(cupy.int32), destination.astype(cupy.int32)


def cliques(count: int, size: int) -> tuple[DeviceArray, DeviceArray]:
    """Draw a chain of cliques, each linked to the next by an edge in each direction."""
    import cupy

    member = cupy.arange(size, dtype=cupy.int32)
    low, high = cupy.repeat(member, size), cupy.tile(member, size)
    low, high = low[low != high], high[low != high]
    first = size * cupy.arange(count, dtype=cupy.int32)
    last, following = first[:-1] + size - 1, first[1:]
    source = cupy.concatenate([(first[:, None] + low).ravel(), last, following])
    destination = cupy.concatenate([(first[:, None] + high).ravel(), following, last])
    return source, destination


def grid(side: int, dropped: float) -> tuple[DeviceArray, DeviceArray]:
    """Draw streets between neighbouring crossings, in both directions; drop a share of them."""
    import cupy

    number = cupy.arange(side * side, dtype=cupy.int32).reshape(side, side)
    ahead = cupy.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    behind = cupy.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    source, destination = cupy.concatenate([ahead, behind]), cupy.concatenate([behind, ahead])
    remaining = cupy.random.RandomState(1).random_sample(len(source)) >= dropped
    return source[remaining], destination[remaining]


EDGES = (1 << 25, 1 << 27, 5 << 26, 21 << 25)
DENSITIES = (8, 16, 32)  # edges per vertex
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
    # For several GPUs; the second almost has the most rows of a cuDF frame, 2^31 - 1
    "RM54V704E": (54_525_952, 704_643_072, PAPER),
    "RM27": (1 << 27, 2_100_000_000, PAPER),
    "RM14": (1 << 14, 1 << 18, PAPER),  # to try a benchmark
    "RM100K": (1 << 15, 100_000, PAPER),  # shows the overhead of a call
    "social-77K": (77_360, 905_468, GRAPH500),  # of the size and shape of soc-Slashdot0811
    **{f"KR{scale}": (1 << scale, 16 << scale, GRAPH500) for scale in (20, 22, 24)},
}
GENERATED: dict[str, tuple[int, Callable[[], tuple[DeviceArray, DeviceArray]]]] = {
    **{name: (n, partial(rmat, n, m, corners)) for name, (n, m, corners) in RMAT.items()},
    "road-like": (1400 * 1400, partial(grid, 1400, 0.28)),
    "grid": (1400 * 1400, partial(grid, 1400, 0.0)),
    "kronecker-22": (1 << 22, partial(rmat, 1 << 22, 1 << 26, GRAPH500, seed=7)),
    "skewed-22": (1 << 22, partial(rmat, 1 << 22, 60_000_000, (0.65, 0.15, 0.15), seed=7)),
    "uniform-22": (1 << 22, partial(uniform, 1 << 22, 100_000_000)),
    "small-world-22": (1 << 22, partial(small_world, 1 << 22, 12, 0.1)),
    "cliques": (1 << 18, partial(cliques, 1 << 12, 64)),
    "web-325K": (325_557, partial(web, 325_557, 3_216_152)),  # as cnr-2000
}
UNSEEN = ("kronecker-22", "skewed-22", "uniform-22", "small-world-22", "cliques")
HIGH_DIAMETER = ("road-like",)  # where a search has thousands of supersteps


def simple(arrays: Any, source: Any, destination: Any, n: int) -> tuple[Any, Any]:
    """Return every edge once, whichever its direction, without self-loops.

    Parameters
    ----------
    arrays : module
        NumPy or CuPy.
    source, destination : array of int, shape (edges,)
        Ids below `n`.
    n : int
    """
    low = arrays.minimum(source, destination).astype(arrays.int64)
    keys = low * n + arrays.maximum(source, destination)
    keys = arrays.unique(keys[source != destination])
    return keys // n, keys % n


class EdgeList(NamedTuple):
    """A file's edges between vertices from 0 to `n` − 1."""

    name: str
    n: int
    source: Any
    destination: Any
    lengths: Any = None


def read_folder(folder: Path | None, names: Sequence[str], most_edges: int) -> Iterator[EdgeList]:
    """Yield the edge lists of `names` in `folder` with at most `most_edges` edges; "data" names all.

    Edge lists are text, gzipped or not, of two or three columns separated by blanks or tabs, with `#`
    comments.  A third column has lengths.
    """
    for path in sorted(folder.glob("*.t*")) if folder is not None else ():
        if path.name.removesuffix(".gz").endswith((".tsv", ".txt")):
            edges = _read(path)
            if len(edges.source) <= most_edges and {"data", edges.name} & set(names):
                yield edges


def _read(path: Path) -> EdgeList:
    table = pd.read_csv(path, sep=r"\s+", comment="#", header=None)
    if path.name.startswith(BOTH_WAYS):
        table = pd.concat([table, table.rename(columns={0: 1, 1: 0})], ignore_index=True)
    ids, numbers = np.unique(table[[0, 1]].to_numpy(np.int64), return_inverse=True)
    source, destination = np.ascontiguousarray(numbers.reshape(-1, 2).T)
    name = re.sub(r"(_dedup|_weighted)?\.(tsv|txt)(\.gz)?$", "", path.name)
    return EdgeList(
        name, len(ids), source, destination, table[2].to_numpy() if 2 in table else None
    )
