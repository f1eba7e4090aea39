"""The battery of named graph shapes, and the frames that tests make of them.

A shape is a fixed set of plain arrays: the same on every machine, and small enough for an
uncompiled run, apart from the hub, whose size is a choice.  Weights are multiples of 1/8 unless
a name says otherwise, so that sums are exact in float32 as well and can be compared exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from verify import Array, Edges

import cugraph_ws as ws

__all__ = [
    "FRAME_KINDS",
    "SHAPES",
    "build",
    "column",
    "edge_frame",
    "frame",
    "grid",
    "hub",
    "random_edges",
    "rmat",
    "undirected",
    "vertex_frame",
]

FRAME_KINDS = ("pandas", "pandas-arrow", "polars", "pyarrow")


def undirected(edges: Edges) -> Edges:
    """Return the same edges, leading both ways."""
    return replace(edges, directed=False)


def random_edges(n: int, m: int, seed: int, *, weights: str = "eighths") -> Edges:
    """`m` edges between random ends, so with some self-loops and duplicates."""
    generator = np.random.default_rng(seed)
    source, destination = generator.integers(0, n, m), generator.integers(0, n, m)
    return Edges(source, destination, n, _weights(generator, m, weights))


def rmat(scale: int, edge_factor: int, seed: int) -> Edges:
    """Skewed random edges (Chakrabarti et al. 2004): a = 0.57, b = c = 0.19."""
    generator = np.random.default_rng(seed)
    m = edge_factor << scale
    source, destination = np.zeros(m, np.int64), np.zeros(m, np.int64)
    for _ in range(scale):
        quadrant = np.searchsorted([0.57, 0.76, 0.95], generator.random(m))
        source = 2 * source + quadrant // 2
        destination = 2 * destination + quadrant % 2
    return Edges(source, destination, 1 << scale, _weights(generator, m, "eighths"))


def grid(rows: int, columns: int, drop: float, seed: int) -> Edges:
    """Streets between neighbouring crossings, both ways, with a share of them dropped."""
    generator = np.random.default_rng(seed)
    number = np.arange(rows * columns).reshape(rows, columns)
    right = np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()])
    down = np.stack([number[:-1].ravel(), number[1:].ravel()])
    source, destination = np.concatenate([right, down, right[::-1], down[::-1]], axis=1)
    kept = generator.random(len(source)) >= drop
    weight = _weights(generator, int(kept.sum()), "eighths")
    return Edges(source[kept], destination[kept], rows * columns, weight)


def hub(leaves: int) -> Edges:
    """One vertex between leaves: the even ones lead to it, and it leads to the odd ones."""
    middle = leaves // 2
    leaf = np.delete(np.arange(leaves + 1), middle)
    inward = leaf % 2 == 0
    source, destination = np.where(inward, leaf, middle), np.where(inward, middle, leaf)
    return Edges(source, destination, leaves + 1, (leaf % 64 + 1) / 8)


def _weights(generator: np.random.Generator, m: int, kind: str) -> Array:
    if kind == "eighths":
        return generator.integers(1, 81, m) / 8
    if kind == "integers":
        return generator.integers(1, 101, m)
    if kind == "ties":
        return generator.integers(0, 3, m) / 2
    assert kind == "uniform"
    return generator.random(m)


def _edges(pairs: Sequence[tuple[int, int]], n: int) -> Edges:
    source, destination = np.array(pairs, np.int64).reshape(-1, 2).T
    return Edges(source, destination, n, (np.arange(len(pairs)) % 7 + 1) / 8)


def _rows(degrees: Sequence[int]) -> Edges:
    """Vertex i has `degrees[i]` in-edges from the vertices after the rows, and as many back."""
    row = np.repeat(np.arange(len(degrees)), degrees)
    other = len(degrees) + np.concatenate([np.arange(degree) for degree in degrees])
    source, destination = np.concatenate([other, row]), np.concatenate([row, other])
    weight = (np.arange(len(source)) * 37 % 80 + 1) / 8
    return Edges(source, destination, len(degrees) + max(degrees), weight)


def _ring_with_chords(n: int) -> Edges:
    return _edges([(v, (v + 1) % n) for v in range(n)] + [(v, v * 5 % n) for v in range(n)], n)


SHAPES: dict[str, Edges] = {
    "empty": _edges([], 0),
    "one vertex": _edges([], 1),
    "all isolated": _edges([], 5),
    "one edge": _edges([(0, 1)], 2),
    "star": _edges([(0, leaf) for leaf in range(1, 9)], 9),
    "star inwards": _edges([(leaf, 8) for leaf in range(8)], 9),
    "short path": _edges([(v, v + 1) for v in range(9)], 10),
    "path": _edges([(v, v + 1) for v in range(49)], 50),
    "path backwards": _edges([(v + 1, v) for v in range(49)], 50),
    "cycle": _edges([(v, (v + 1) % 20) for v in range(20)], 20),
    "clique": _edges([(u, v) for u in range(12) for v in range(12) if u != v], 12),
    "two components": _edges([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (4, 3)], 7),
    "self-loops": _edges([(0, 0), (0, 1), (1, 1), (1, 2), (3, 3)], 4),
    "duplicates": _edges([(0, 1), (1, 2), (0, 1), (1, 2), (0, 1), (2, 1), (0, 2)], 3),
    "31 vertices": _ring_with_chords(31),
    "32 vertices": _ring_with_chords(32),
    "33 vertices": _ring_with_chords(33),
    "rows of 0 to 1023": _rows([0, 1, 31, 32, 33, 1023, 0]),
    "rmat": rmat(7, 8, seed=1),
    "grid": grid(12, 11, drop=0.28, seed=2),
    "random": random_edges(60, 240, seed=3),
    "random sparse": random_edges(80, 90, seed=4),
    "integer weights": random_edges(50, 200, seed=5, weights="integers"),
    "ties and zeros": random_edges(50, 200, seed=6, weights="ties"),
    "uniform weights": random_edges(70, 300, seed=7, weights="uniform"),
}


def frame(columns: Mapping[str, Any], kind: str = "pandas") -> Any:
    """Make a frame of the named kind from columns."""
    if kind == "polars":
        import polars as pl  # where there is a GPU there may be no Polars

        return pl.DataFrame(dict(columns))
    if kind == "pandas":
        return pd.DataFrame(dict(columns))
    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    return table if kind == "pyarrow" else table.to_pandas(types_mapper=pd.ArrowDtype)


def edge_frame(edges: Edges, kind: str = "pandas", *, weighted: bool = True) -> Any:
    """Make a frame with the columns source, destination and, unless None, weight."""
    columns = {"source": edges.source, "destination": edges.destination}
    if weighted and edges.weight is not None:
        columns["weight"] = edges.weight
    return frame(columns, kind)


def vertex_frame(edges: Edges, kind: str = "pandas", **values: Any) -> Any:
    """Make a frame that lists every vertex, in a column `vertex`, and values of theirs."""
    return frame({"vertex": np.arange(edges.n), **values}, kind)


def build(edges: Edges, kind: str = "pandas", *, weighted: bool = True, **options: Any) -> ws.Graph:
    """Build a graph of a shape, isolated vertices included: vertex ids are vertex numbers."""
    return ws.Graph(
        edge_frame(edges, kind, weighted=weighted),
        weight="weight" if weighted and edges.weight is not None else None,
        directed=edges.directed,
        vertices=vertex_frame(edges, kind),
        **options,
    )


def column(native: Any, name: str, null: Any = None) -> Array:
    """Return a column of any kind of frame as NumPy values, with `null` in place of nulls."""
    if isinstance(native, pd.DataFrame):
        series = native[name]
        missing = series.isna().to_numpy()
        values = pa.array(series, from_pandas=True)
    else:
        table = native.to_arrow() if hasattr(native, "to_arrow") else native
        values = table[name].combine_chunks()
        missing = np.asarray(values.is_null(nan_is_null=True))
    if null is None:
        assert not missing.any(), f"column {name} has nulls"
    elif missing.any():
        values = values.fill_null(null)
        if pa.types.is_floating(values.type):  # NaN is the null of NumPy-backed pandas
            return np.where(missing, values.type.to_pandas_dtype()(null), np.asarray(values))
    return np.asarray(values)
