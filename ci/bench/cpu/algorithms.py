"""The algorithms, and how each library runs them on a graph that it has built already.

What the clock sees is the algorithm and the result in the form that the library hands to its user:
for cugraph_ws a vertex frame with ids; for igraph lists; for NetworkX
dictionaries; for NetworKit `run()` alone, its values being read afterwards.  No graph is built,
and no direction of one made, while the clock runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
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
MOST_FOR_NETWORKX = 1_200_000  # edges; beyond, its graph alone takes minutes to build


class Built:
    """A graph in every library, each built when first asked for.

    Parameters
    ----------
    edges : Edges
        The graph.
    """

    def __init__(self, edges: Edges) -> None:
        self.edges = edges

    @cached_property
    def ours(self) -> ws.Graph:
        """Graph in which a vertex's number is its id, since those without edges are given too."""
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


def bfs(built: Built, start: int) -> Iterator[Entrant]:
    """Breadth-first search from one vertex along the edges."""

    def check(distance: Array) -> None:
        verify.check_shortest_paths(built.edges, start, distance)

    yield _ours(lambda: ws.bfs(built.ours, start, return_predecessors=False), "distance", check)
    yield Entrant(
        "NetworKit",
        lambda: networkit.distance.BFS(built.networkit, start, storePaths=False).run(),
        lambda search: check(_unreached_nan(search.getDistances())),
    )
    yield Entrant(
        "igraph",
        lambda: built.igraph.bfs(start, mode="out"),
        lambda answer: check(_levels(*answer[:2], built.edges.n)),
    )
    if built.networkx is not None:
        yield Entrant(
            "NetworkX",
            lambda: networkx.single_source_shortest_path_length(built.networkx, start),
            lambda lengths: check(_values(lengths, built.edges.n)),
        )


def sssp(built: Built, start: int) -> Iterator[Entrant]:
    """Shortest paths from one vertex along the weights."""

    def check(distance: Array) -> None:
        verify.check_shortest_paths(built.edges, start, distance)

    yield _ours(lambda: ws.sssp(built.ours, start, return_predecessors=False), "distance", check)
    yield Entrant(
        "NetworKit",
        lambda: networkit.distance.Dijkstra(built.networkit, start, storePaths=False).run(),
        lambda search: check(_unreached_nan(search.getDistances())),
    )
    yield Entrant(
        "igraph",
        lambda: built.igraph.distances(start, weights="weight", mode="out"),
        lambda rows: check(np.array(rows[0], np.float64)),
    )
    if built.networkx is not None:
        yield Entrant(
            "NetworkX",
            lambda: networkx.single_source_dijkstra_path_length(built.networkx, start),
            lambda lengths: check(_values(lengths, built.edges.n)),
        )


def pagerank(built: Built, start: int) -> Iterator[Entrant]:
    """Ranks, without weights, all to the same L1 tolerance.

    NetworKit is told to use the L1 norm and to spread the mass of dangling vertices, as the
    others do.  NetworkX multiplies its tolerance by the number of vertices, so it gets the
    quotient.  igraph's PRPACK has no tolerance to set; it goes on to 1e-10, and so does more.
    """
    del start

    def check(rank: Array) -> None:
        verify.check_pagerank(built.edges, rank, PAGERANK_TOL)

    def by_networkit() -> Any:
        sinks = networkit.centrality.SinkHandling.DistributeSinks
        ranking = networkit.centrality.PageRank(built.networkit, 0.85, PAGERANK_TOL, True, sinks)
        ranking.norm = networkit.centrality.Norm.l1norm
        return ranking.run()

    yield _ours(lambda: ws.pagerank(built.ours, tol=PAGERANK_TOL), "pagerank", check)
    yield Entrant("NetworKit", by_networkit, lambda ranking: check(_sum_one(ranking.scores())))
    yield Entrant(
        "igraph",
        lambda: built.igraph.pagerank(implementation="prpack"),
        lambda ranks: check(np.array(ranks)),
    )
    if built.networkx is not None:
        tol = PAGERANK_TOL / built.edges.n
        yield Entrant(
            "NetworkX",
            lambda: networkx.pagerank(built.networkx, tol=tol, weight=None),
            lambda ranks: check(_values(ranks, built.edges.n)),
        )


def components(built: Built, start: int) -> Iterator[Entrant]:
    """Label the components of an undirected graph."""
    del start

    def check(label: Array) -> None:
        """Labels are arbitrary in most libraries: rename each to its smallest vertex first."""
        _, first, number = np.unique(label, return_index=True, return_inverse=True)
        verify.check_components(built.edges, first[number])

    def by_networkit(kind: str) -> Entrant:
        algorithm = getattr(networkit.components, kind)
        return Entrant(
            f"NetworKit {kind}",
            lambda: algorithm(built.networkit).run(),
            lambda found: check(_members(found.getComponents(), built.edges.n)),
        )

    yield _ours(lambda: ws.weakly_connected_components(built.ours), "labels", check)
    yield by_networkit("ParallelConnectedComponents")
    yield by_networkit("ConnectedComponents")
    yield Entrant(
        "igraph",
        lambda: built.igraph.connected_components().membership,
        lambda labels: check(np.array(labels)),
    )
    if built.networkx is not None:
        yield Entrant(
            "NetworkX",
            lambda: list(networkx.connected_components(built.networkx)),
            lambda found: check(_members(found, built.edges.n)),
        )


def core_numbers(built: Built, start: int) -> Iterator[Entrant]:
    """Find the core numbers of an undirected graph without self-loops and parallel edges."""
    del start

    def check(core: Array) -> None:
        verify.check_core_numbers(built.edges, core)

    yield _ours(lambda: ws.core_number(built.ours), "core_number", check)
    yield Entrant(
        "NetworKit",
        lambda: networkit.centrality.CoreDecomposition(built.networkit).run(),
        lambda cores: check(np.array(cores.scores()).astype(np.int64)),
    )
    yield Entrant("igraph", built.igraph.coreness, lambda cores: check(np.array(cores)))
    if built.networkx is not None:
        yield Entrant(
            "NetworkX",
            lambda: networkx.core_number(built.networkx),
            lambda cores: check(_values(cores, built.edges.n).astype(np.int64)),
        )


def user_pagerank(built: Built, start: int) -> Iterator[Entrant]:
    """PageRank: every vertex in every superstep."""
    del start

    def check(frame: Any) -> None:
        verify.check_pagerank(built.edges, frame.iloc[:, 1].to_numpy(), PAGERANK_TOL)

    yield Entrant(OURS, lambda: ws.pagerank(built.ours, tol=PAGERANK_TOL), check)
    yield Entrant(USERS, lambda: ws.run(Ranks, built.ours).frame, check)


def user_sssp(built: Built, start: int) -> Iterator[Entrant]:
    """Shortest paths: few vertices at a time."""

    def check(frame: Any) -> None:
        distance, predecessor = _columns(frame)
        verify.check_shortest_paths(built.edges, start, distance, predecessor)

    yield Entrant(OURS, lambda: ws.sssp(built.ours, start), check)
    yield Entrant(USERS, lambda: ws.run(Distances, built.ours, source=start).frame, check)


def user_widest_path(built: Built, start: int) -> Iterator[Entrant]:
    """Widest paths, with `max`."""

    def check(frame: Any) -> None:
        width, predecessor = _columns(frame)
        verify.check_widest_paths(built.edges, start, width, predecessor)

    yield Entrant(OURS, lambda: ws.widest_path(built.ours, start), check)
    yield Entrant(USERS, lambda: ws.run(Widths, built.ours, source=start).frame, check)


Job = Callable[[Built, int], Iterator[Entrant]]
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
    """Time our functions and those of other libraries.

    Parameters
    ----------
    case : Case
    section : Section
        Gets timings, targets and errors.
    repeats : int
    """
    for job, times in _races(case, section, repeats, FORMS):
        networkx_times = times.pop("NetworkX", None)
        if times:
            name = f"{job}: best of NetworKit and igraph, times ours"
            section.targets.append(Target(name, case.name, min(times.values()), 1.0, at_least=True))
        if networkx_times is not None:
            name = f"{job}: NetworkX, times ours"
            section.targets.append(
                Target(name, case.name, networkx_times, NETWORKX_TIMES, at_least=True)
            )


def programs(case: Case, section: Section, repeats: int) -> None:
    """Time programs as a user writes them, and the functions that do the same.

    Parameters
    ----------
    case, section, repeats
        See `algorithms`.
    """
    for job, times in _races(case, section, repeats, PROGRAMS):
        name = f"{USERS}: {job}, times the built-in"
        if USERS in times:
            section.targets.append(Target(name, case.name, times[USERS], USERS_TIMES))


def _races(
    case: Case, section: Section, repeats: int, forms: Mapping[Form, Mapping[str, Job]]
) -> Iterator[tuple[str, dict[str, float]]]:
    """Time jobs, one form of the graph at a time; yield how many times longer than ours others take."""
    directed = case.directed
    edges_of = {
        "unweighted": Edges(directed.source, directed.destination, directed.n),
        "weighted": directed,
        "undirected": case.undirected,
    }
    for form, jobs in forms.items():
        built = Built(edges_of[form])
        for job, entrants in jobs.items():
            made = section.attempt(
                f"preparing {job}", lambda e=entrants, b=built: [*e(b, case.start)]
            )
            found = by_library(race(section, job, made or [], repeats, few=1, patience=PATIENCE))
            if (ours := found.pop(OURS, None)) is not None:
                yield job, {library: one.median / ours.median for library, one in found.items()}


def _ours(run: Callable[[], Any], column: str, check: Check) -> Entrant:
    def check_frame(answer: Any) -> None:
        values = answer[column]
        check(values.to_numpy(np.float64, na_value=np.nan) if values.hasnans else values.to_numpy())

    return Entrant(OURS, run, check_frame)


def _unreached_nan(distances: list[float]) -> Array:
    """NetworKit says the largest float for what cannot be reached."""
    values = np.array(distances)
    return np.where(values == np.finfo(np.float64).max, np.nan, values)


def _levels(order: list[int], bounds: list[int], n: int) -> Array:
    """Distances from a breadth-first order and the bounds of its levels in it."""
    distance = np.full(n, np.nan)
    distance[order] = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    return distance


def _values(mapping: Mapping[int, float], n: int) -> Array:
    values = np.full(n, np.nan)
    values[list(mapping)] = list(mapping.values())
    return values


def _members(components: list[Any], n: int) -> Array:
    label = np.empty(n, np.int64)
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
