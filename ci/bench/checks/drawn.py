"""Random graphs as frames: of any shape, with ids and weights of any type."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["ID_TYPES", "WEIGHT_TYPES", "Drawn"]

ID_TYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "str", "two")
WEIGHT_TYPES = ("int8", "uint8", "int16", "int32", "int64", "float32", "float64")
DUPLICATES = ("keep", "sum", "min", "max", "mean", "first")
INEXACT = ("sum", "mean")  # add floats in any order
SHAPES = ("uniform", "skewed", "path", "hub")


class Drawn:
    """A random graph as frames.

    Parameters
    ----------
    number : int
        The seed.
    largest : int
        The most vertices.

    Attributes
    ----------
    edges : DataFrame
        source and destination (two columns each if ids are pairs), weight, and `share`, which adds up
        to at most 0.9 into each vertex.
    source, destination : str or list of str
    ids : list
        Ids of all vertices at edges' sources.
    directed : bool
    options : dict
        Further arguments of `Graph`: what becomes of parallel edges and self-loops.
    vertices : DataFrame or None
        Vertices of which some have no edges.
    """

    def __init__(self, number: int, largest: int = 2000) -> None:
        rng = np.random.default_rng(number)
        self.number = number
        n = int(rng.integers(1, largest + 1))
        m = int(rng.integers(1, 6 * n + 2))
        kind = SHAPES[number % len(SHAPES)]
        u, v = rng.integers(0, n, (2, m))
        if kind == "skewed":
            u, v = (rng.random((2, m)) ** 3 * n).astype(np.int64)
        elif kind == "path":
            u, v = np.arange(m) % n, (np.arange(m) + 1) % n
        elif kind == "hub":
            v[: m // 2] = 0
        self.directed = bool(rng.integers(2))
        if not self.directed:  # each pair once: else a warning says that it counts twice
            pairs = np.unique(np.stack([np.minimum(u, v), np.maximum(u, v)]), axis=1)
            u, v = pairs
        self.id_type = ID_TYPES[int(rng.integers(len(ID_TYPES)))]
        self.weight_type = WEIGHT_TYPES[int(rng.integers(len(WEIGHT_TYPES)))]
        self.edges = pd.DataFrame({**self._ends("source", u, n), **self._ends("destination", v, n)})
        self.options = {
            "duplicates": DUPLICATES[max(0, int(rng.integers(-5, len(DUPLICATES))))],
            "self_loops": ("keep", "drop")[int(rng.integers(2))],
        }
        self.edges["weight"] = self._weights(rng, len(u))
        columns = [name for name in self.edges if name.startswith("source")]
        pairs = len(columns) > 1
        self.source: Any = columns if pairs else columns[0]
        self.destination: Any = (
            [name.replace("source", "destination") for name in columns] if pairs else "destination"
        )
        ends = self._both(self.edges)
        degree = Counter(vertex for end in ends for vertex in end)
        self.edges["share"] = [0.9 / max(degree[a], degree[b]) for a, b in zip(*ends, strict=True)]
        self.ids = list(dict.fromkeys(ends[0]))
        isolated = pd.DataFrame(self._ends("source", np.arange(n, n + n // 8), n))
        isolated = isolated.drop_duplicates(ignore_index=True)
        self.vertices = isolated if len(isolated) and rng.integers(2) else None

    def without_cycles(self) -> pd.DataFrame:
        """Return the edges that lead to a greater id."""
        ends = self._both(self.edges)
        return self._where([a < b for a, b in zip(*ends, strict=True)])

    def between_sides(self) -> tuple[pd.DataFrame, list[Any]]:
        """Return the edges from every second id to the others, and their ends on the first side."""
        side = set(self.ids[::2])
        ends = self._both(self.edges)
        across = [a in side and b not in side for a, b in zip(*ends, strict=True)]
        used = dict.fromkeys(a for a, keep in zip(ends[0], across, strict=True) if keep)
        return self._where(across), list(used)

    def named(self, prefix: str, ids: list[Any]) -> dict[str, Any]:
        """Return columns of ids of the graph, of its types.

        Parameters
        ----------
        prefix : str
            The column's name or, for ids of two columns, what their names begin with; "" for none.
        ids : list
        """
        frame = self._ids_of(self.edges, self.source)
        places = {vertex: place for place, vertex in reversed(list(enumerate(self._listed(frame))))}
        rows = frame.iloc[[places[vertex] for vertex in ids]].reset_index(drop=True)
        if len(rows.columns) == 1:
            return {prefix or "vertex": rows.iloc[:, 0]}
        return {f"{prefix}_{name}".strip("_"): rows[name] for name in rows}

    def _weights(self, rng: np.random.Generator, count: int) -> Any:
        """Return weights: of some graphs some are 0, of some whose sums need not be exact all are tenths."""
        weight = rng.integers(int(rng.random() < 0.8), 100, count)
        exact = not self.weight_type.startswith("float") or self.options["duplicates"] in INEXACT
        tenths = not exact and bool(rng.integers(2))
        return (weight / 10 if tenths else weight).astype(self.weight_type)

    def _where(self, holds: list[bool]) -> pd.DataFrame:
        return self.edges[np.array(holds, bool)].reset_index(drop=True)

    def _ids_of(self, frame: pd.DataFrame, columns: Any) -> pd.DataFrame:
        return frame[[columns] if isinstance(columns, str) else columns]

    def _both(self, frame: pd.DataFrame) -> list[list[Any]]:
        return [self._listed(self._ids_of(frame, end)) for end in (self.source, self.destination)]

    @staticmethod
    def _listed(frame: pd.DataFrame) -> list[Any]:
        single = len(frame.columns) == 1
        return [row[0] if single else tuple(row) for row in frame.itertuples(index=False)]

    def _ends(self, name: str, numbers: Any, n: int) -> dict[str, Any]:
        """Return ends as columns of the id type; numbers that it cannot hold wrap within it."""
        spread = numbers * 7 + 3
        if self.id_type == "two":
            return {f"{name}_a": (spread // 5).astype(np.int32), f"{name}_b": spread % 5}
        if self.id_type == "str":
            return {name: np.char.add("v", spread.astype(str)).astype(object)}
        limits = np.iinfo(self.id_type)
        room = min(int(limits.max) - int(limits.min) + 1, 2**62)
        return {name: (int(limits.min) + spread % room).astype(self.id_type)}
