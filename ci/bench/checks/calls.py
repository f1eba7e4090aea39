"""Calls of the functions of a graph, with random arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

import cugraph_ws as ws
from bench.checks.drawn import Drawn

__all__ = ["CALLS", "Call", "Picks", "program_call"]

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
        **_seed(picks),
        "hierarchy": picks.one_of(True, False),
        "resolution": picks.one_of(0.5, 1.0, 2.0),
    }


def _sampled(picks: Picks) -> dict[str, Any]:
    return {
        **_seed(picks),
        "k": picks.one_of(picks.ids(9), None),
        "weighted": picks.one_of(True, False),
    }


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
    Call(ws.weakly_connected_components),
    Call(ws.strongly_connected_components),
    Call(ws.core_number, lambda p: {"degree_type": p.one_of("both", "in", "out")}),
    Call(ws.k_core, lambda p: {"k": p.one_of(None, 2, 3), "degree_type": p.one_of("both", "in")}),
    Call(ws.k_truss, lambda p: {"k": p.one_of(2, 3, 4)}),
    Call(ws.truss_number),
    Call(ws.triangle_count, _some),
    Call(ws.clustering_coefficient),
    Call(ws.jaccard, _similar, near=True),
    Call(ws.cosine, _similar, near=True),
    Call(ws.overlap, _similar, near=True),
    Call(ws.sorensen, _similar, near=True),
    Call(ws.adamic_adar, lambda p: {"vertex_pair": p.pairs()}, near=True),
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
