"""The algorithms, and how each library runs them on a graph that it has already built.

Timed are the algorithm and the making of the result in the library's usual form: a vertex frame with
ids for cugraph_ws, lists for igraph, dictionaries for NetworkX.  For NetworKit only `run()` is timed,
and values are read afterwards.  Graphs, and both directions of their edges, are made before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from typing import Any, Literal

import igraph
import networkit
import networkx
import numpy as np
import pandas as pd
import verify
from verify import Array, Edges

import cugraph_ws as ws
from bench.cpu.cases import Case, frame
from bench.programs import PAGERANK_TOL, Distances, Ranks, Widths
from bench.timing import OURS, Entrant, Section, Target, by_library, race

__all__ = ["algorithms", "programs"]

Form = Literal["unweighted", "weighted", "undirected"]
Check = Callable[[Array], None]

PATIENCE = 60.0  # seconds; an entrant that takes longer runs once
NETWORKX_TIMES = 100.0
USERS_TIMES = 1.2
USERS = "user's program"
NETWORKX = "NetworkX"
MOST_FOR_NETWORKX = 1_200_000  # edges; NetworkX takes minutes to build a larger graph


class Built:
    """A graph in every library, built when first requested.

    Parameters
    ----------
    edges : Edges
        The graph.
    """

    def __init__(self, edges: Edges) -> None:
        self.edges = edges

    @cached_property
    def ours(self) -> ws.Graph:
        """Our graph; it has all vertices, so a vertex's number is its id."""
        graph = ws.Graph(
            frame(self.edges),
            weight=None if self.edges.weight is None else "weight",
            directed=self.edges.directed,
            vertices=pd.DataFrame({"vertex": np.arange(self.edges.n)}),
        )
        assert graph.csc.number_of_arcs == graph.csr.number_of_arcs  # this makes both
        return graph

    @cached_property
    def networkit(self) -> Any:
        """NetworKit's graph."""
        ends = (self.edges.source, self.edges.destination)
        weight = self.edges.weight
        return networkit.GraphFromCoo(
            ends if weight is None else (np.asarray(weight, np.float64), ends),
            n=self.edges.n,
            weighted=weight is not None,
            directed=self.edges.directed,
        )

    @cached_property
    def igraph(self) -> Any:
        """The graph of igraph, with the weights as an attribute of its edges."""
        ends = np.stack([self.edges.source, self.edges.destination], axis=1)
        graph = igraph.Graph(self.edges.n, ends, directed=self.edges.directed)
        if self.edges.weight is not None:
            graph.es["weight"] = self.edges.weight.tolist()
        return graph

    @cached_property
    def networkx(self) -> Any:
        """NetworkX's graph with parallel edges, or None if it would be too large."""
        edges = self.edges
        if len(edges.source) > MOST_FOR_NETWORKX:
            return None
        graph = networkx.MultiDiGraph() if edges.directed else networkx.Graph()
        graph.add_nodes_from(range(edges.n))
        ends = edges.source.tolist(), edges.destination.tolist()
        if edges.weight is None:
            graph.add_edges_from(zip(*ends, strict=True))
        else:
            graph.add_weighted_edges_from(zip(*ends, edges.weight.tolist(), strict=True))
        return graph


Way = tuple[str, Callable[[], Any], Callable[[Any], Array]]


def _entrants(built: Built, check: Check, *ways: Way) -> list[Entrant]:
    """Return an entrant for each library: its call, and the conversion of the answer to an array by vertex."""
    return [
        Entrant(library, run, lambda answer, values=values: check(values(answer)))
        for library, run, values in ways
        if library != NETWORKX or built.networkx is not None
    ]


def bfs(built: Built, start: int) -> list[Entrant]:
    """Breadth-first search from one vertex along the edges."""
    return _entrants(
        built,
        partial(verify.check_shortest_paths, built.edges, start),
        (OURS, lambda: ws.bfs(built.ours, start, return_predecessors=False), _ours),
        (
            "NetworKit",
            lambda: networkit.distance.BFS(built.networkit, start, storePaths=False).run(),
            _unreached_nan,
        ),
        (
            "igraph",
            lambda: built.igraph.bfs(start, mode="out"),
            lambda answer: _levels(*answer[:2], built.edges.n),
        ),
        (
            NETWORKX,
            lambda: networkx.single_source_shortest_path_length(built.networkx, start),
            partial(_values, built),
        ),
    )


def sssp(built: Built, start: int) -> list[Entrant]:
    """Shortest paths from one vertex along the weights."""
    return _entrants(
        built,
        partial(verify.check_shortest_paths, built.edges, start),
        (OURS, lambda: ws.sssp(built.ours, start, return_predecessors=False), _ours),
        (
            "NetworKit",
            lambda: networkit.distance.Dijkstra(built.networkit, start, storePaths=False).run(),
            _unreached_nan,
        ),
        (
            "igraph",
            lambda: built.igraph.distances(start, weights="weight", mode="out"),
            lambda rows: np.array(rows[0], np.float64),
        ),
        (
            NETWORKX,
            lambda: networkx.single_source_dijkstra_path_length(built.networkx, start),
            partial(_values, built),
        ),
    )


def pagerank(built: Built, start: int) -> list[Entrant]:
    """Ranks, without weights, all to the same L1 tolerance.

    NetworKit is set to use the L1 norm and to spread the mass of dangling vertices, as the others
    do.  NetworkX multiplies its tolerance by the number of vertices, so the tolerance given to it is
    divided by that number.  igraph's PRPACK has a fixed tolerance of 1e-10, and so does more work.
    """

    def by_networkit() -> Any:
        sinks = networkit.centrality.SinkHandling.DistributeSinks
        ranking = networkit.centrality.PageRank(built.networkit, 0.85, PAGERANK_TOL, True, sinks)
        ranking.norm = networkit.centrality.Norm.l1norm
        return ranking.run()

    tol = PAGERANK_TOL / built.edges.n
    return _entrants(
        built,
        partial(verify.check_pagerank, built.edges, bound=PAGERANK_TOL),
        (OURS, lambda: ws.pagerank(built.ours, tol=PAGERANK_TOL), _ours),
        ("NetworKit", by_networkit, lambda ranking: _sum_one(ranking.scores())),
        ("igraph", lambda: built.igraph.pagerank(implementation="prpack"), np.array),
        (
            NETWORKX,
            lambda: networkx.pagerank(built.networkx, tol=tol, weight=None),
            partial(_values, built),
        ),
    )


def components(built: Built, start: int) -> list[Entrant]:
    """Label the components of an undirected graph."""

    def check(label: Array) -> None:
        """Labels are arbitrary in most libraries: rename each to its smallest vertex first."""
        _, first, number = np.unique(label, return_index=True, return_inverse=True)
        verify.check_components(built.edges, first[number])

    def by_networkit(kind: str) -> Way:
        algorithm = getattr(networkit.components, kind)
        return (
            f"NetworKit {kind}",
            lambda: algorithm(built.networkit).run(),
            lambda found: _members(built, found.getComponents()),
        )

    return _entrants(
        built,
        check,
        (OURS, lambda: ws.weakly_connected_components(built.ours), _ours),
        by_networkit("ParallelConnectedComponents"),
        by_networkit("ConnectedComponents"),
        ("igraph", lambda: built.igraph.connected_components().membership, np.array),
        (
            NETWORKX,
            lambda: list(networkx.connected_components(built.networkx)),
            partial(_members, built),
        ),
    )


def core_numbers(built: Built, start: int) -> list[Entrant]:
    """Core numbers of an undirected graph without self-loops and parallel edges."""
    return _entrants(
        built,
        lambda core: verify.check_core_numbers(built.edges, core.astype(np.int64)),
        (OURS, lambda: ws.core_number(built.ours), _ours),
        (
            "NetworKit",
            lambda: networkit.centrality.CoreDecomposition(built.networkit).run(),
            lambda cores: np.array(cores.scores()),
        ),
        ("igraph", built.igraph.coreness, np.array),
        (NETWORKX, lambda: networkx.core_number(built.networkx), partial(_values, built)),
    )


def user_pagerank(built: Built, start: int) -> list[Entrant]:
    """PageRank: every vertex in every superstep."""
    return _entrants(
        built,
        partial(verify.check_pagerank, built.edges, bound=PAGERANK_TOL),
        (OURS, lambda: ws.pagerank(built.ours, tol=PAGERANK_TOL), _ours),
        (USERS, lambda: ws.run(Ranks, built.ours).frame, _ours),
    )


def user_sssp(built: Built, start: int) -> list[Entrant]:
    """Shortest paths: few vertices at a time."""
    return _entrants(
        built,
        lambda found: verify.check_shortest_paths(built.edges, start, *found),
        (OURS, lambda: ws.sssp(built.ours, start), _columns),
        (USERS, lambda: ws.run(Distances, built.ours, source=start).frame, _columns),
    )


def user_widest_path(built: Built, start: int) -> list[Entrant]:
    """Widest paths, with `max`."""
    return _entrants(
        built,
        lambda found: verify.check_widest_paths(built.edges, start, *found),
        (OURS, lambda: ws.widest_path(built.ours, start), _columns),
        (USERS, lambda: ws.run(Widths, built.ours, source=start).frame, _columns),
    )


Job = Callable[[Built, int], list[Entrant]]
FORMS: dict[Form, dict[str, Job]] = {
    "unweighted": {"bfs": bfs, "pagerank": pagerank},
    "weighted": {"sssp": sssp},
    "undirected": {"components": components, "core numbers": core_numbers},
}
PROGRAMS: dict[Form, dict[str, Job]] = {
    "unweighted": {"pagerank": user_pagerank},
    "weighted": {"sssp": user_sssp, "widest path": user_widest_path},
}


def algorithms(case: Case, section: Section, repeats: int) -> None:
    """Time this library's functions and those of other libraries."""
    for job, times in _races(case, section, repeats, FORMS):
        networkx_times = times.pop(NETWORKX, None)
        if times:
            name = f"{job}: best of NetworKit and igraph, times ours"
            section.targets.append(Target(name, case.name, min(times.values()), 1.0, at_least=True))
        if networkx_times is not None:
            name = f"{job}: NetworkX, times ours"
            section.targets.append(
                Target(name, case.name, networkx_times, NETWORKX_TIMES, at_least=True)
            )


def programs(case: Case, section: Section, repeats: int) -> None:
    """Time programs as a user writes them, and the equivalent built-in functions."""
    for job, times in _races(case, section, repeats, PROGRAMS):
        name = f"{USERS}: {job}, times the built-in"
        if USERS in times:
            section.targets.append(Target(name, case.name, times[USERS], USERS_TIMES))


def _races(
    case: Case, section: Section, repeats: int, forms: Mapping[Form, Mapping[str, Job]]
) -> Iterator[tuple[str, dict[str, float]]]:
    """Time jobs, one form of the graph at a time; yield the others' times ÷ ours."""
    directed = case.directed
    edges_of = {
        "unweighted": Edges(directed.source, directed.destination, directed.n),
        "weighted": directed,
        "undirected": case.undirected,
    }
    for form, jobs in forms.items():
        built = Built(edges_of[form])
        for job, entrants in jobs.items():
            made = section.attempt(f"preparing {job}", partial(entrants, built, case.start))
            found = by_library(race(section, job, made or [], repeats, few=1, patience=PATIENCE))
            if (ours := found.pop(OURS, None)) is not None:
                yield job, {library: one.median / ours.median for library, one in found.items()}


def _ours(frame: Any) -> Array:
    """Return the values of a vertex frame, NaN for null."""
    values = frame.iloc[:, 1]
    return values.to_numpy(np.float64, na_value=np.nan) if values.hasnans else values.to_numpy()


def _unreached_nan(search: Any) -> Array:
    """Return distances with NaN for unreached vertices, where NetworKit has the largest float."""
    values = np.array(search.getDistances())
    return np.where(values == np.finfo(np.float64).max, np.nan, values)


def _levels(order: list[int], bounds: list[int], n: int) -> Array:
    """Return distances, given a breadth-first order and the bounds of its levels."""
    distance = np.full(n, np.nan)
    distance[order] = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    return distance


def _values(built: Built, mapping: Mapping[int, float]) -> Array:
    values = np.full(built.edges.n, np.nan)
    values[list(mapping)] = list(mapping.values())
    return values


def _members(built: Built, components: list[Any]) -> Array:
    label = np.empty(built.edges.n, np.int64)
    for number, members in enumerate(components):
        label[list(members)] = number
    return label


def _sum_one(scores: list[float]) -> Array:
    values = np.array(scores)
    return values / values.sum()


def _columns(frame: Any) -> tuple[Array, Array]:
    """Return a search's values and predecessors, whatever the columns' types and names."""
    values = frame.iloc[:, 1].to_numpy(np.float64, na_value=np.nan)
    return values, frame.iloc[:, 2].fillna(-1).to_numpy(np.int64)
