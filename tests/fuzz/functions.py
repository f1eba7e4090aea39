"""Random graphs through all functions and the tests' zoo of programs: the GPU against the CPU engine.

    python -m bench fuzz --seconds 600
    python -m bench fuzz --seconds 600 2 8     the third of eight shares
    python -m bench fuzz --only 4711           one graph again, by its number
    python -m bench fuzz --on workers          a Dask cluster of this host's GPUs or cores, instead

Each graph has ids and weights of a random type, and goes through every fifth function with random arguments.
Errors must be equal too.  Prints one line of JSON; the exit status says whether anything differed.
"""

from __future__ import annotations

import argparse
import json
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from shapes import random_edges
from zoo import ZOO, attributes_of, difference, graph_of

import cugraph_ws as ws
from cugraph_ws.program.binding import bind
from cugraph_ws.program.inference import CompileError

__all__ = [
    "CALLS",
    "Call",
    "Drawn",
    "Picks",
    "Place",
    "compare",
    "differences",
    "main",
    "program_call",
]

# ------------------------------------------------------------------------------------ random graphs

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


# -------------------------------------------------------------------------------------------- calls

TIGHT: dict[str, Any] = {"tol": 1e-9, "max_iter": 2000}
NINE: dict[str, Any] = {"tol": 0.0, "max_iter": 9}  # supersteps
POTTS = [[1.3, 1.0], [1.0, 1.3]]  # a coupling with which beliefs converge
Edges = Literal["all", "acyclic", "two sides"]


class Picks:
    """Random arguments for one call.

    Parameters
    ----------
    drawn : Drawn
    place : int
        Of the call, so that each has its own.
    """

    def __init__(self, drawn: Drawn, place: int) -> None:
        self.drawn = drawn
        self._rng = np.random.default_rng([drawn.number, place])

    def one_of(self, *values: Any) -> Any:
        """Return one of the values."""
        return values[int(self._rng.integers(len(values)))]

    def below(self, most: int) -> int:
        """Return a number from 0."""
        return int(self._rng.integers(most))

    def ids(self, most: int) -> list[Any]:
        """Return at least one id, each once."""
        known = self.drawn.ids
        count = int(self._rng.integers(1, min(most, len(known)) + 1))
        return [known[place] for place in self._rng.permutation(len(known))[:count].tolist()]

    def values(self, most: int) -> dict[Any, float]:
        """Return positive numbers of some vertices."""
        return {vertex: float(self._rng.integers(1, 9)) / 4 for vertex in self.ids(most)}

    def pairs(self) -> Any:
        """Return a frame of pairs, the pairs of neighbours, or None for all with a common one."""
        kind = self.below(3)
        if kind:
            return None if kind == 1 else "edges"
        first, second = self.ids(40), self.ids(40)
        count = min(len(first), len(second))
        named = self.drawn.named
        return pd.DataFrame({**named("first", first[:count]), **named("second", second[:count])})

    def priors(self) -> pd.DataFrame:
        """Return a frame of beliefs of some vertices."""
        ids = self.ids(100)
        likely = self._rng.random(len(ids)) + 0.1
        return pd.DataFrame({**self.drawn.named("", ids), "no": likely, "yes": 1.2 - likely})


class Call(NamedTuple):
    """A call of one function.

    Attributes
    ----------
    function : callable
    arguments : callable
        Returns its arguments, given a `Picks`.
    near : bool
        Whether its floats are sums in no fixed order, or results up to a bound.
    edges : {"all", "acyclic", "two sides"}
        Which of the graph's edges there are.
    weight : str
        The column of weights.
    undirected : bool
        Whether the edges must be undirected.
    """

    function: Callable[..., Any]
    arguments: Callable[[Picks], dict[str, Any]] = lambda picks: {}
    near: bool = False
    edges: Edges = "all"
    weight: str = "weight"
    undirected: bool = False

    @property
    def name(self) -> str:
        """The function's name."""
        return str(self.function.__name__)

    def edges_of(self, drawn: Drawn) -> pd.DataFrame:
        """Return the edges of a random graph that the call takes."""
        if self.edges == "acyclic":
            return drawn.without_cycles()
        return drawn.between_sides()[0] if self.edges == "two sides" else drawn.edges

    def directed(self, drawn: Drawn) -> bool:
        """Return whether the edges are directed."""
        return self.edges == "acyclic" or (drawn.directed and not self.undirected)


def program_call(
    program: Any, name: str, arguments: Any = lambda picks: {}, *, near: bool = False, weight: str = "weight",
    on_gpu: Mapping[str, Any] = {}, **options: Any,
) -> Call:  # fmt: skip
    """Return a call that runs a program with some options of `run`, and a plan on a GPU."""

    def run(graph: Any, engine: str, **more: Any) -> Any:
        extra = {"plan": ws.Plan(**on_gpu)} if engine == "cuda" and on_gpu else {}
        return ws.run(program, graph, engine=engine, **options, **extra, **more).frame

    run.__name__ = name
    return Call(run, arguments, near=near, weight=weight)


def _seed(picks: Picks) -> dict[str, Any]:
    return {"seed": picks.below(3)}


def _search(picks: Picks) -> dict[str, Any]:
    return {
        "start": picks.one_of(picks.ids(1)[0], picks.ids(4)),
        "return_predecessors": picks.one_of(True, False),
    }


def _some(picks: Picks) -> dict[str, Any]:
    return {"vertices": picks.one_of(None, picks.ids(9))}


def _similar(picks: Picks) -> dict[str, Any]:
    return {"vertex_pair": picks.pairs(), "use_weight": picks.one_of(True, False)}


def _communities(picks: Picks) -> dict[str, Any]:
    return {
        **_seed(picks), "hierarchy": picks.one_of(True, False), "resolution": picks.one_of(0.5, 1.0, 2.0),
    }  # fmt: skip


def _sampled(picks: Picks) -> dict[str, Any]:
    return {
        **_seed(picks), "k": picks.one_of(picks.ids(9), None), "weighted": picks.one_of(True, False),
    }  # fmt: skip


def _near_vertices(picks: Picks) -> dict[str, Any]:
    return {**_some(picks), "weighted": picks.one_of(True, False)}


def modularity(graph: Any, **options: Any) -> Any:
    """Return the modularity of communities of equal core number."""
    return ws.modularity(graph, ws.core_number(graph), **options)


def conductance(graph: Any, **options: Any) -> Any:
    """Return the conductance of communities of equal core number."""
    return ws.conductance(graph, ws.core_number(graph), **options)


def shortest_path(graph: Any, start: Any, targets: Any, **options: Any) -> Any:
    """Return paths of a weighted search."""
    return ws.shortest_path(ws.sssp(graph, start, **options), targets)


CALLS = (
    Call(ws.bfs, lambda p: {**_search(p), "depth_limit": p.one_of(None, 0, 2, 5)}),
    Call(ws.sssp, lambda p: {**_search(p), "cutoff": p.one_of(None, 60.0)}),
    Call(ws.widest_path, _search),
    Call(shortest_path, lambda p: {"start": p.ids(1)[0], "targets": p.ids(20)}),
    Call(ws.multi_source_bfs, lambda p: {"starts": p.ids(70), "depth_limit": p.one_of(None, 3)}),
    Call(ws.multi_source_sssp, lambda p: {"starts": p.ids(70), "cutoff": p.one_of(None, 60.0)}),
    Call(ws.ancestors, lambda p: {"vertex": p.ids(2)}),
    Call(ws.descendants, lambda p: {"vertex": p.ids(2)}),
    Call(ws.eccentricity, lambda p: {"vertices": p.ids(9), "connected": p.one_of(True, False)}),
    Call(ws.diameter, lambda p: {"connected": False}),
    Call(ws.average_shortest_path_length, lambda p: {"connected": False}),
    Call(ws.is_connected, lambda p: {"strong": p.one_of(True, False)}),
    Call(ws.weakly_connected_components),
    Call(ws.strongly_connected_components),
    Call(ws.core_number, lambda p: {"degree_type": p.one_of("both", "in", "out")}),
    Call(ws.k_core, lambda p: {"k": p.one_of(None, 2, 3), "degree_type": p.one_of("both", "in")}),
    Call(ws.k_truss, lambda p: {"k": p.one_of(2, 3, 4)}),
    Call(ws.truss_number),
    Call(ws.triangle_count, _some),
    Call(ws.clustering_coefficient),
    Call(ws.average_clustering, lambda p: {"count_zeros": p.one_of(True, False)}, near=True),
    Call(ws.transitivity, near=True),
    Call(ws.assortativity, near=True),
    Call(ws.density),
    Call(ws.reciprocity),
    Call(ws.jaccard, _similar, near=True),
    Call(ws.cosine, _similar, near=True),
    Call(ws.overlap, _similar, near=True),
    Call(ws.sorensen, _similar, near=True),
    Call(ws.adamic_adar, lambda p: {"vertex_pair": p.pairs()}, near=True),
    Call(
        ws.bipartite_projection,
        lambda p: {
            "vertices": p.drawn.between_sides()[1], "ratio": p.one_of(True, False),
            "top": p.one_of(None, 2),
        },
        edges="two sides",
    ),
    # A GPU does not extrapolate on small graphs, so its result would differ within the bound.
    Call(
        ws.pagerank,
        lambda p: {
            **TIGHT,
            "plan": ws.Plan(extrapolate="never"),
            "personalization": p.one_of(None, p.values(20)),
            "dangling": p.one_of(None, p.values(5)),
        },
        near=True,
    ),
    Call(
        ws.personalized_pagerank,
        lambda p: {**TIGHT, "seeds": p.ids(40), "format": p.one_of("long", "columns")},
        near=True,
    ),
    program_call(ws.DeltaPageRank, "delta_pagerank", near=True),
    Call(
        ws.katz_centrality,
        lambda p: {
            **TIGHT,
            "beta": p.one_of(1.0, p.values(20)),
            "normalized": p.one_of(True, False),
        },
        near=True,
    ),
    Call(ws.hits, lambda p: {**TIGHT, "normalized": p.one_of(True, False)}, near=True),
    Call(ws.eigenvector_centrality, lambda p: TIGHT, near=True, undirected=True),
    Call(
        ws.betweenness_centrality,
        lambda p: {**_sampled(p), "endpoints": p.one_of(True, False)},
        near=True,
    ),
    Call(ws.edge_betweenness_centrality, _sampled, near=True),
    Call(ws.closeness_centrality, _near_vertices, near=True),
    Call(ws.random_walks, lambda p: {"starts": p.ids(9), "length": p.one_of(0, 1, 8), "seed": 3}),
    Call(
        ws.neighbor_sample,
        lambda p: {
            "starts": p.ids(9),
            "fanouts": [p.one_of(-1, 0, 2, 9), p.one_of(1, 3)],
            "replace": p.one_of(True, False),
            "direction": p.one_of("in", "out"),
        },
    ),
    Call(
        ws.node2vec_walks,
        lambda p: {"starts": p.ids(9), "length": 5, "p": p.one_of(0.5, 1.0, 4.0), "q": p.one_of(0.5, 2.0)},
    ),
    Call(ws.harmonic_centrality, _near_vertices, near=True),
    Call(
        ws.degree,
        lambda p: {**_near_vertices(p), "degree_type": p.one_of("both", "in", "out")},
        near=True,
    ),
    Call(ws.degrees, _near_vertices, near=True),
    Call(
        ws.label_propagation, lambda p: {"seed": p.one_of(None, 0, 1), "max_iter": p.one_of(3, 10)}
    ),
    Call(ws.louvain, _communities, near=True),
    Call(ws.leiden, _communities, near=True),
    Call(modularity, lambda p: {"resolution": p.one_of(1.0, 2.0)}, near=True),
    Call(conductance, near=True),
    Call(ws.coloring, _seed),
    Call(ws.maximal_independent_set, _seed),
    Call(
        ws.maximal_bipartite_matching,
        lambda p: {**_seed(p), "left": p.drawn.between_sides()[1]},
        edges="two sides",
    ),
    Call(ws.maximum_spanning_forest),
    Call(ws.minimum_spanning_forest),
    Call(ws.minimum_spanning_tree),
    Call(ws.bridges),
    Call(ws.articulation_points),
    Call(ws.topological_levels, edges="acyclic"),
    Call(
        ws.ego_graph,
        lambda p: {"vertex": p.ids(3), "radius": p.one_of(1, 2), "center": p.one_of(True, False)},
    ),
    Call(ws.subgraph, lambda p: {"vertices": p.ids(500)}),
    Call(
        ws.belief_propagation,
        lambda p: {**TIGHT, "priors": p.priors(), "coupling": POTTS, "damping": p.one_of(0.0, 0.3)},
        near=True,
    ),
    Call(ws.circuit, lambda p: {"sources": p.values(5), "tol": 1e-7, "max_iter": 500}, near=True),
    program_call(
        ws.Heat, "heat", lambda p: {"temperature": 1.0, "fixed": p.ids(1)}, near=True, weight="share", **NINE
    ),
    program_call(
        ws.NeuralNetwork, "neural_network", lambda p: {"activation": 0.5, "fixed": p.ids(1)}, near=True,
        weight="share", **NINE,
    ),
)  # fmt: skip


# ------------------------------------------------------------------------------------- both engines

LEAST = 1e-7  # a number counts as this at least: a modularity of 0 may be rounded
NEAR = 1e-5  # allowed difference of sums of floats, relative to the column's greatest value
MOST_SHOWN = 10
EACH = 5  # one function of so many for each graph
Answer = Any  # a frame, a number, a tuple of them, or an error


class Place(NamedTuple):
    """Where results come from that are compared with those of the CPU engine.

    Attributes
    ----------
    engine : str
    move : callable
        Converts a pandas frame to one there.
    options : callable
        Given a random generator, returns further arguments of `Graph` there, and of `run`.
    largest : int
        Most vertices of a graph.
    """

    engine: str
    move: Callable[[pd.DataFrame], Any]
    options: Callable[[np.random.Generator], tuple[dict[str, Any], dict[str, Any]]] = lambda rng: (
        {},
        {},
    )
    largest: int = 2000


HOST = Place("cpu", lambda frame: frame)


def _plain(answer: Any) -> Answer:
    """Return a frame of any kind as a pandas frame, also in a tuple."""
    if isinstance(answer, tuple):
        return tuple(map(_plain, answer))
    if hasattr(answer, "compute"):
        answer = answer.compute()
    return answer.to_pandas() if hasattr(answer, "to_pandas") else answer


def _answer(
    call: Call, drawn: Drawn, place: Place, arguments: dict[str, Any], **options: Any
) -> Answer:
    """Return what a call on a random graph's edges returns, or its error."""
    vertices = None if drawn.vertices is None else place.move(drawn.vertices)
    try:
        with ws.Graph(
            place.move(call.edges_of(drawn)), drawn.source, drawn.destination, call.weight, call.directed(drawn),
            vertices=vertices, **drawn.options, **options,
        ) as graph:  # fmt: skip
            return _plain(call.function(graph, engine=place.engine, **arguments))
    except ws.CugraphWsError as error:
        return error


def compare(expected: Answer, answer: Answer, *, near: bool = False) -> str | None:
    """Return where two answers differ; None if they are equal.

    Parameters
    ----------
    expected, answer : DataFrame, float, tuple of them, or exception
    near : bool
        Whether floats may differ by `NEAR`.
    """
    if isinstance(expected, Exception) or isinstance(answer, Exception):
        # Of several bad edges, each engine may name another.
        equal = type(expected) is type(answer) and _begin(expected) == _begin(answer)
        return None if equal else f"{answer!r}, not {expected!r}"
    if isinstance(expected, tuple):
        each = (compare(*pair, near=near) for pair in zip(expected, answer, strict=True))
        return next((difference for difference in each if difference is not None), None)
    least = 1e-300 if isinstance(expected, pd.DataFrame) else LEAST
    if not isinstance(expected, pd.DataFrame):
        expected, answer = (pd.DataFrame({"value": [number]}) for number in (expected, answer))
    if list(expected) != list(answer) or len(expected) != len(answer):
        return (
            f"columns {list(answer)} of {len(answer)} rows, not {list(expected)} of {len(expected)}"
        )
    for name in expected:
        right, value = (frame[name].reset_index(drop=True) for frame in (expected, answer))
        void = right.isna().to_numpy() != value.isna().to_numpy()
        both = ~(right.isna() | value.isna()).to_numpy()
        a, b = right[both].to_numpy(), value[both].to_numpy()
        if near and a.dtype.kind == "f":
            greatest = abs(a[np.isfinite(a)]).max(initial=least)
            with np.errstate(invalid="ignore"):  # infinity is equal to infinity alone
                wrong = ~(abs(a - b) <= NEAR * greatest) & (a != b)
        else:
            wrong = np.asarray(a != b, bool)
        if void.any() or wrong.any():
            row = int(void.argmax()) if void.any() else int(np.flatnonzero(both)[wrong.argmax()])
            return f"{name}, row {row}: {value[row]!r}, not {right[row]!r}"
    return None


def _begin(error: Exception) -> str:
    return str(error).partition(":")[0]


def differences(
    drawn: Drawn, place: Place, calls: Sequence[Call] = CALLS
) -> Iterator[tuple[str, str | None]]:
    """Yield the name of each call on a random graph, and where its answers differ."""
    for call in calls:
        if not len(call.edges_of(drawn)):
            continue
        number = CALLS.index(call) if call in CALLS else 0
        options, _ = place.options(np.random.default_rng([drawn.number, number]))
        arguments = call.arguments(Picks(drawn, number))
        expected = _answer(call, drawn, HOST, arguments)
        wrong = compare(expected, _answer(call, drawn, place, arguments, **options), near=call.near)
        yield call.name, wrong if wrong is None else f"{wrong}; {options}, {arguments}"[:2000]


def _columns(frame: pd.DataFrame) -> dict[str, list[Any]]:
    """Return a frame's columns, with None for null."""
    return {
        name: [None if void else value for value, void in zip(column, column.isna(), strict=True)]
        for name, column in frame.items()
    }


def program_difference(number: int, place: Place) -> tuple[str, str | None]:
    """Run a program of the zoo on a small random graph, all chosen by a seed; return its name and where it differs."""
    rng = np.random.default_rng(number)
    entry = ZOO[number % len(ZOO)]
    n = int(rng.integers(1, 200))
    edges = random_edges(n, int(rng.integers(0, 5 * n)), seed=number)
    arguments, limit = entry.given(n), int(rng.integers(1, 9))
    of_graph, of_run = place.options(rng)
    with graph_of(edges) as graph:
        try:
            bind(entry.program, graph, arguments)
        except CompileError:  # a program for plain Python
            return f"{entry}", None
        expected = ws.run(entry.program, graph, engine="cpu", max_iter=limit, **arguments).frame
    attributes = attributes_of(edges)
    frame = pd.DataFrame({"source": edges.source, "destination": edges.destination, **attributes})
    with ws.Graph(
        place.move(frame), weight="weight", directed=edges.directed,
        attributes=[name for name in attributes if name != "weight"],
        vertices=place.move(pd.DataFrame({"vertex": np.arange(n)})), **of_graph,
    ) as graph:  # fmt: skip
        result = ws.run(
            entry.program, graph, engine=place.engine, max_iter=limit, **of_run, **arguments
        )
        answer = _plain(result.frame)
    wrong = difference(_columns(answer), _columns(expected), max(entry.tolerance, NEAR))
    return f"{entry}, max_iter={limit}, {of_graph}, {of_run}", wrong


@contextmanager
def _gpu() -> Iterator[Place]:
    import cudf

    yield Place("cuda", cudf.DataFrame)


@contextmanager
def _workers() -> Iterator[Place]:
    """Start a worker for each GPU or core of this host."""
    import dask.dataframe as dd

    from cugraph_ws.runtime.driver import installed_gpus

    gpus = bool(installed_gpus())
    known = ["auto", "nccl", "hub"] if gpus else ["auto"]

    def move(frame: pd.DataFrame) -> Any:
        if not gpus:
            return dd.from_pandas(frame, npartitions=5, sort=False)
        import cudf
        import dask_cudf

        return dask_cudf.from_cudf(cudf.DataFrame(frame), npartitions=5, sort=False)

    def options(rng: np.random.Generator) -> tuple[dict[str, Any], dict[str, Any]]:
        of_graph = {"links": str(rng.choice(known))}
        if of_graph["links"] == "auto":
            of_graph["spread"] = str(rng.choice(["one", "parts"]))
        return of_graph, {"plan": ws.Plan(exchange=str(rng.choice(["auto", "vr", "ms", "all"])))}

    with ws.local_cluster():
        # Searches from all vertices of a path take a superstep for each vertex, each with an exchange.
        yield Place("auto", move, options, largest=300)


PLACES: dict[str, Callable[[], AbstractContextManager[Place]]] = {"gpu": _gpu, "workers": _workers}


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz for some seconds; return 1 if anything differed."""
    parser = argparse.ArgumentParser(
        prog="bench fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--only", type=int, help="the number of one graph")
    parser.add_argument("--on", choices=sorted(PLACES), default="gpu")
    parser.add_argument("share", type=int, nargs="?", default=0)
    parser.add_argument("shares", type=int, nargs="?", default=1)
    asked = parser.parse_args(arguments)
    end = time.monotonic() + asked.seconds
    counts = {"graphs": 0, "functions": 0, "programs": 0}
    wrong: list[str] = []
    number = asked.share if asked.only is None else asked.only
    with PLACES[asked.on]() as place, warnings.catch_warnings():
        warnings.simplefilter("ignore", ws.GraphWarning)
        while time.monotonic() < end and len(wrong) < MOST_SHOWN:
            try:
                drawn = Drawn(number, place.largest)
                where = f"graph {number}, {drawn.id_type} ids, {drawn.weight_type} weights, {drawn.options}"
                for name, text in differences(drawn, place, CALLS[number % EACH :: EACH]):
                    counts["functions"] += 1
                    wrong += [] if text is None else [f"{where}: {name}: {text}"]
                name, text = program_difference(number, place)
                counts["programs"] += 1
                wrong += [] if text is None else [f"program {number}: {name}: {text}"]
            except Exception:
                wrong.append(f"number {number}: {traceback.format_exc(limit=-4)}")
            counts["graphs"] += 1
            if asked.only is not None:
                break
            number += asked.shares
    print(json.dumps({**counts, "differences": wrong}), flush=True)
    return 1 if wrong else 0
