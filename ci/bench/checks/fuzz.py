"""Random graphs through all functions and the tests' zoo of programs: the GPU against the CPU engine.

    python -m bench fuzz --seconds 600
    python -m bench fuzz --seconds 600 2 8     the third of eight shares
    python -m bench fuzz --only 4711           one graph again, by its number

Each graph has ids and weights of a random type.  Prints one line of JSON; the exit status says whether
anything differed.
"""

from __future__ import annotations

import argparse
import json
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from shapes import random_edges
from zoo import ZOO, difference, found_by, graph_of

import cugraph_ws as ws
from cugraph_ws.program.binding import bind
from cugraph_ws.program.inference import CompileError

__all__ = ["ID_TYPES", "WEIGHT_TYPES", "Drawn", "compare", "differences", "main"]

ID_TYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "str", "two")
WEIGHT_TYPES = ("int8", "uint8", "int16", "int32", "int64", "float32", "float64")
NEAR = 1e-5  # allowed difference of sums of floats, relative to the column's greatest value
MOST_SHOWN = 10
Answer = pd.DataFrame


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
        Ids of some vertices of the graph.
    left : list
        Half of the ids at edges' sources.
    directed : bool
    """

    def __init__(self, number: int, largest: int = 2000) -> None:
        rng = np.random.default_rng(number)
        self.rng = rng
        n = int(rng.integers(1, largest + 1))
        m = int(rng.integers(1, 6 * n + 2))
        kind = ("uniform", "skewed", "path", "hub")[number % 4]
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
        weight = rng.integers(1, 100, len(u)).astype(self.weight_type)
        self.edges["weight"] = weight
        columns = [name for name in self.edges if name.startswith("source")]
        self.source: Any = columns if len(columns) > 1 else columns[0]
        pairs = len(columns) > 1
        self.destination: Any = (
            [name.replace("source", "destination") for name in columns] if pairs else "destination"
        )
        ends = [self._listed([one.replace("source", to) for one in columns])
                for to in ("source", "destination")]  # fmt: skip
        met = Counter(one for end in ends for one in end)
        self.edges["share"] = [0.9 / max(met[a], met[b]) for a, b in zip(*ends, strict=True)]
        known = list(dict.fromkeys(self._listed(columns)))
        self.ids, self.left = known[:4], known[::2]
        self.n = n

    def _listed(self, columns: list[str]) -> list[Any]:
        rows = self.edges[columns].itertuples(index=False)
        return [tuple(row) if len(columns) > 1 else row[0] for row in rows]

    def between_sides(self) -> pd.DataFrame:
        """Return the edges from the left vertices to all others."""
        left = set(self.left)
        columns = [self.source] if isinstance(self.source, str) else self.source
        ends = [
            self._listed([c.replace("source", to) for c in columns])
            for to in ("source", "destination")
        ]
        kept = [a in left and b not in left for a, b in zip(*ends, strict=True)]
        self.left = list({a for a, keep in zip(ends[0], kept, strict=True) if keep})
        return self.edges[kept].reset_index(drop=True)

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


def _jobs(drawn: Drawn) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield functions of a graph and an engine, by name."""
    start, starts = drawn.ids[0], drawn.ids
    yield "bfs", lambda g, e: ws.bfs(g, start, engine=e)
    yield "bfs, limited", lambda g, e: ws.bfs(g, starts, depth_limit=2, engine=e)
    yield "sssp", lambda g, e: ws.sssp(g, start, engine=e)
    yield "widest_path", lambda g, e: ws.widest_path(g, start, engine=e)
    yield "multi_source_bfs", lambda g, e: ws.multi_source_bfs(g, starts, engine=e)
    yield "multi_source_sssp", lambda g, e: ws.multi_source_sssp(g, starts, engine=e)
    yield "components", lambda g, e: ws.weakly_connected_components(g, engine=e)
    yield "core_number", lambda g, e: ws.core_number(g, engine=e)
    # A GPU does not extrapolate on small graphs, so its result would differ within the bound.
    yield (
        "pagerank",
        lambda g, e: ws.pagerank(g, engine=e, tol=1e-8, max_iter=500, extrapolate="never"),
    )
    yield "matching", lambda g, e: ws.maximal_bipartite_matching(g, drawn.left, engine=e)
    yield "heat", lambda g, e: ws.run(ws.Heat, g, temperature=1.0, fixed=starts[:1], max_iter=9,
                                      tol=0.0, engine=e).frame  # fmt: skip
    yield "neural network", lambda g, e: ws.run(ws.NeuralNetwork, g, activation=0.5, max_iter=9,
                                                tol=0.0, engine=e).frame  # fmt: skip
    yield "DeltaPageRank", lambda g, e: ws.run(ws.DeltaPageRank, g, engine=e).frame


def _graph(drawn: Drawn, job: str, edges: Any) -> ws.Graph:
    weight = "share" if job in ("heat", "neural network") else "weight"
    return ws.Graph(edges, drawn.source, drawn.destination, weight, drawn.directed)


def compare(expected: Answer, found: Any) -> str | None:
    """Return where two result frames differ; None if they are equal."""
    if hasattr(found, "to_pandas"):
        found = found.to_pandas()
    if list(expected) != list(found) or len(expected) != len(found):
        return (
            f"columns {list(found)} of {len(found)} rows, not {list(expected)} of {len(expected)}"
        )
    for name in expected:
        one, other = expected[name].reset_index(drop=True), found[name].reset_index(drop=True)
        void = one.isna().to_numpy() != other.isna().to_numpy()
        both = ~(one.isna() | other.isna()).to_numpy()
        a, b = one[both].to_numpy(), other[both].to_numpy()
        if name in ("pagerank", "temperature", "activation", "pending"):
            a, b = a.astype(float), b.astype(float)
            wrong = abs(a - b) > NEAR * max(abs(a).max(initial=0.0), 1e-300)
        else:
            wrong = np.asarray(a != b, bool)
        if void.any() or wrong.any():
            place = int(void.argmax()) if void.any() else int(np.flatnonzero(both)[wrong.argmax()])
            return f"{name}, row {place}: {other[place]!r}, not {one[place]!r}"
    return None


def differences(
    drawn: Drawn, move: Callable[[pd.DataFrame], Any], engine: str, jobs: set[str] | None = None
) -> Iterator[tuple[str, str | None]]:
    """Yield each function's name, and where the two engines differ.

    Parameters
    ----------
    drawn : Drawn
    move : callable
        Converts a pandas frame to a cuDF frame.
    engine : str
        Engine for the converted frame.
    jobs : set of str, optional
        Names of functions; all by default.
    """
    for name, job in _jobs(drawn):
        edges = drawn.between_sides() if name == "matching" else drawn.edges
        if (jobs is not None and name not in jobs) or not len(edges):
            continue
        with _graph(drawn, name, edges) as host:
            expected = job(host, "cpu")
        with _graph(drawn, name, move(edges)) as there:
            yield name, compare(expected, job(there, engine))


def program_difference(number: int, engine: str) -> tuple[str, str | None]:
    """Run one program of the zoo on a small random graph; return its name and where it differs.

    Parameters
    ----------
    number : int
        Seed of the program, the graph and the limit.
    engine : str
    """
    rng = np.random.default_rng(number)
    entry = ZOO[number % len(ZOO)]
    n = int(rng.integers(1, 200))
    edges = random_edges(n, int(rng.integers(0, 5 * n)), seed=number)
    limit = int(rng.integers(1, 9))
    given = entry.given(n)
    with graph_of(edges) as graph:
        try:
            bind(entry.program, graph, given)
        except CompileError:  # a program for plain Python
            return f"{entry}", None
        expected, found = (
            found_by(
                entry.program, ws.run(entry.program, graph, engine=one, max_iter=limit, **given)
            )
            for one in ("cpu", engine)
        )
    wrong = difference(found, expected, max(entry.tolerance, NEAR))
    return f"{entry}, max_iter={limit}", wrong


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz for some seconds; return 1 if anything differed."""
    parser = argparse.ArgumentParser(
        prog="bench fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--only", type=int, help="the number of one graph")
    parser.add_argument("share", type=int, nargs="?", default=0)
    parser.add_argument("shares", type=int, nargs="?", default=1)
    given = parser.parse_args(arguments)
    import cudf

    end = time.monotonic() + given.seconds
    counts = {"graphs": 0, "functions": 0, "programs": 0}
    wrong: list[str] = []
    number = given.share if given.only is None else given.only
    while time.monotonic() < end and len(wrong) < MOST_SHOWN:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ws.GraphWarning)
                drawn = Drawn(number)
                for name, found in differences(drawn, cudf.DataFrame, "cuda"):
                    counts["functions"] += 1
                    if found is not None:
                        where = f"{drawn.id_type} ids, {drawn.weight_type} weights"
                        wrong.append(f"graph {number}, {where}: {name}: {found}")
                name, found = program_difference(number, "cuda")
                counts["programs"] += 1
                if found is not None:
                    wrong.append(f"program {number}: {name}: {found}")
        except Exception:
            wrong.append(f"number {number}: {traceback.format_exc(limit=-4)}")
        counts["graphs"] += 1
        if given.only is not None:
            break
        number += given.shares
    print(json.dumps({**counts, "differences": wrong}), flush=True)
    return 1 if wrong else 0
