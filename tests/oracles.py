"""Oracles: independent answers in float64, from NetworkX, SciPy, igraph and plain Python.

Each is as simple as it can be; none shares code with the library or with `verify`.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import igraph
import networkx as nx
import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu
from verify import Array, Edges

__all__ = [
    "bfs_levels",
    "circuit",
    "clustering",
    "components",
    "conductances",
    "core_numbers",
    "dijkstra",
    "exact_dijkstra",
    "heat",
    "heat_equilibrium",
    "hubs_and_authorities",
    "igraph_graph",
    "label_propagation",
    "marginals",
    "modularity",
    "neighbours",
    "networkx_graph",
    "neural_network",
    "pagerank",
    "similarity",
    "simple_graph",
    "triangles",
    "truss_numbers",
    "widest_path",
    "widest_path_by_union",
]


def igraph_graph(edges: Edges) -> igraph.Graph:
    """Return the edges as an igraph graph; parallel edges and self-loops stay."""
    pairs = np.column_stack([edges.source, edges.destination]).astype(np.int64)
    return igraph.Graph(edges.n, pairs.tolist(), directed=edges.directed)


def networkx_graph(edges: Edges) -> nx.MultiGraph:
    """Return the edges as a NetworkX multigraph, with attributes `weight`."""
    graph = nx.MultiDiGraph() if edges.directed else nx.MultiGraph()
    graph.add_nodes_from(range(edges.n))
    weight = np.ones(len(edges.source)) if edges.weight is None else edges.weight
    graph.add_weighted_edges_from(
        zip(edges.source.tolist(), edges.destination.tolist(), weight.tolist(), strict=True)
    )
    return graph


def bfs_levels(edges: Edges, starts: int | Iterable[int]) -> Array:
    """Edges on a shortest path from the nearest start; infinite where there is none."""
    return _igraph_distances(edges, starts, None)


def dijkstra(edges: Edges, starts: int | Iterable[int]) -> Array:
    """Least sum of weights on a path from the nearest start; infinite where there is none."""
    return _igraph_distances(edges, starts, edges.weight)


def _igraph_distances(edges: Edges, starts: int | Iterable[int], weight: Array | None) -> Array:
    roots = np.atleast_1d(np.asarray(starts)).tolist()
    weights = None if weight is None else np.asarray(weight, float).tolist()
    rows = np.array(igraph_graph(edges).distances(roots, weights=weights, mode="out"), float)
    nearest: Array = rows.min(axis=0)
    return nearest


def exact_dijkstra(edges: Edges, start: int) -> list[int | None]:
    """Least sums in Python's own integers, which neither round nor overflow."""
    best = _best_first(edges, start, 0, lambda path, weight: path + int(weight))
    return [best.get(vertex) for vertex in range(edges.n)]


def widest_path(edges: Edges, start: int) -> Array:
    """Largest least weight over paths from `start`: Dijkstra on (min, max); NaN if unreached."""
    best = _best_first(edges, start, -math.inf, lambda path, weight: max(path, -weight))
    return np.array([-best.get(vertex, math.nan) for vertex in range(edges.n)], float)


def _best_first(
    edges: Edges, start: int, origin: float, extend: Callable[[Any, Any], Any]
) -> dict[int, Any]:
    """Vertices in order of their least value, where `extend` never lessens a value."""
    leaving: dict[int, list[tuple[int, Any]]] = {}
    for source, destination, weight in zip(*map(np.ndarray.tolist, edges.arcs()), strict=True):
        leaving.setdefault(source, []).append((destination, weight))
    best: dict[int, Any] = {}
    queue = [(origin, start)]
    while queue:
        value, vertex = heapq.heappop(queue)
        if vertex not in best:
            best[vertex] = value
            for neighbour, weight in leaving.get(vertex, ()):
                heapq.heappush(queue, (extend(value, weight), neighbour))
    return best


def widest_path_by_union(edges: Edges, start: int) -> Array:
    """Widths in an undirected graph: join edges, the widest first, until `start` is met."""
    assert not edges.directed
    assert edges.weight is not None
    width = np.full(edges.n, math.nan)
    members = [{vertex} for vertex in range(edges.n)]
    for edge in np.argsort(-np.asarray(edges.weight), kind="stable"):
        one, other = members[edges.source[edge]], members[edges.destination[edge]]
        if one is other:
            continue
        for near, far in ((one, other), (other, one)):
            if start in near:
                width[list(far)] = edges.weight[edge]
        one |= other
        for vertex in other:
            members[vertex] = one
    width[start] = math.inf
    return width


def pagerank(
    edges: Edges,
    alpha: float = 0.85,
    personalization: Array | None = None,
    dangling: Array | None = None,
    out_weight: Array | None = None,
) -> Array:
    """Ranks by a sparse linear solve, the dangling mass as an unknown of its own."""
    if edges.n == 0:
        return np.empty(0)
    matrix = edges.matrix()
    leaving = np.asarray(matrix.sum(axis=1)).ravel() if out_weight is None else out_weight
    hanging = leaving <= 0
    scale = np.divide(1.0, leaving, out=np.zeros(edges.n), where=~hanging)
    system = sparse.eye_array(edges.n) - alpha * (sparse.diags_array(scale) @ matrix).T
    solve = splu(system.tocsc()).solve
    even = np.full(edges.n, 1 / edges.n)
    restart = even if personalization is None else personalization / personalization.sum()
    spread = restart if dangling is None else dangling / dangling.sum()
    from_restart, from_spread = solve((1 - alpha) * restart), solve(alpha * spread)
    lost = from_restart[hanging].sum() / (1 - from_spread[hanging].sum())
    ranks: Array = from_restart + lost * from_spread
    return ranks


def heat(edges: Edges, temperature: Array, fixed: Iterable[int], steps: int) -> Array:
    """Temperatures after so many steps, by a dense matrix."""
    return np.linalg.matrix_power(_heat_step(edges, fixed), steps) @ temperature


def heat_equilibrium(edges: Edges, temperature: Array, fixed: Iterable[int]) -> Array:
    """Temperatures after 2**60 steps: the matrix squared sixty times."""
    step = _heat_step(edges, fixed)
    for _ in range(60):
        step = step @ step
        step /= step.sum(axis=1, keepdims=True)  # rows sum to 1; rounding must not build up
    settled: Array = step @ temperature
    return settled


def _heat_step(edges: Edges, fixed: Iterable[int]) -> Array:
    flow = edges.matrix().T.toarray()
    step: Array = np.eye(edges.n) + flow - np.diag(flow.sum(axis=1))
    for vertex in fixed:
        step[vertex] = np.eye(edges.n)[vertex]
    return step


def hubs_and_authorities(edges: Edges) -> tuple[Array, Array]:
    """Hubs and authorities from equal hubs, by squaring a dense matrix thirty times; each sums to 1."""
    matrix = edges.matrix().toarray()
    power = matrix @ matrix.T
    for _ in range(30):
        power = power / (power.max(initial=0) or 1)
        power = power @ power
    hubs = power.sum(axis=1)
    authorities = matrix.T @ hubs
    return hubs / (hubs.sum() or 1), authorities / (authorities.sum() or 1)


def circuit(edges: Edges, sources: dict[int, float]) -> Array:
    """Voltages by a dense linear solve; every vertex must lead back to a source."""
    conductance = edges.matrix().T.toarray()
    system = np.diag(conductance.sum(axis=1)) - conductance
    right = np.zeros(edges.n)
    for vertex, voltage in sources.items():
        system[vertex] = np.eye(edges.n)[vertex]
        right[vertex] = voltage
    voltages: Array = np.linalg.solve(system, right)
    return voltages


def neural_network(
    edges: Edges, activation: Array, fixed: Iterable[int] = (), steps: int = 1000
) -> Array:
    """Activations after so many steps of X = tanh(W X), by a dense matrix."""
    weights = edges.matrix().T.toarray()
    held = np.isin(np.arange(edges.n), list(fixed))
    value = np.asarray(activation, float)
    for _ in range(steps):
        value = np.where(held, value, np.tanh(weights @ value))
    return value


def marginals(edges: Edges, priors: Array, coupling: Array) -> Array:
    """Marginals of a Markov random field, by adding up every joint state of its vertices."""
    n, k = priors.shape
    states = np.arange(k**n)[:, None] // k ** np.arange(n) % k
    weight = priors[np.arange(n), states].prod(axis=1)
    weight *= coupling[states[:, edges.source], states[:, edges.destination]].prod(axis=1)
    sums = [[weight[states[:, v] == state].sum() for state in range(k)] for v in range(n)]
    shares: Array = np.array(sums).reshape(n, k) / weight.sum()
    return shares


def components(edges: Edges) -> Array:
    """Smallest vertex of each vertex's weakly connected component."""
    label = np.arange(edges.n)
    for members in nx.connected_components(networkx_graph(edges).to_undirected()):
        label[list(members)] = min(members)
    return label


def conductances(edges: Edges, communities: Array) -> dict[int, float | None]:
    """Conductance of each community in NetworkX; None where a volume is zero."""
    graph = networkx_graph(edges)
    found: dict[int, float | None] = {}
    for community in np.unique(communities).tolist():
        members = np.flatnonzero(communities == community).tolist()
        try:
            found[community] = nx.conductance(graph, members, weight="weight")
        except ZeroDivisionError:
            found[community] = None
    return found


def label_propagation(edges: Edges, max_iter: int = 10, *, weighted: bool = True) -> Array:
    """Labels after so many iterations, as the specification of LDBC Graphalytics says."""
    told: list[list[tuple[int, Any]]] = [[] for _ in range(edges.n)]
    weights = [1] * len(edges.source)
    if weighted and edges.weight is not None:
        weights = [Fraction(one) for one in edges.weight.tolist()]
    for one, other, weight in zip(
        edges.source.tolist(), edges.destination.tolist(), weights, strict=True
    ):
        told[other].append((one, weight))
        if edges.directed or one != other:
            told[one].append((other, weight))
    labels = list(range(edges.n))
    for _ in range(max_iter):
        fresh = []
        for vertex, neighbours in enumerate(told):
            sums: dict[int, Any] = {}
            for neighbour, weight in neighbours:
                sums[labels[neighbour]] = sums.get(labels[neighbour], 0) + weight
            fresh.append(_heaviest(sums, labels[vertex]))
        labels = fresh
    return np.array(labels, np.int64)


def _heaviest(sums: dict[int, Any], default: int) -> int:
    return min(sums, key=lambda label: (-sums[label], label), default=default)


def modularity(edges: Edges, communities: Array, resolution: float = 1.0) -> float:
    """Modularity of a partition in NetworkX; NaN without edges."""
    parts = [np.flatnonzero(communities == one).tolist() for one in np.unique(communities)]
    try:
        found = nx.community.modularity(networkx_graph(edges), parts, resolution=resolution)
    except ZeroDivisionError:
        return math.nan
    return float(found)


def core_numbers(edges: Edges, degree_type: str = "both") -> Array:
    """Core numbers; self-loops do not count, parallel edges do."""
    keep = edges.source != edges.destination
    simple = Edges(edges.source[keep], edges.destination[keep], edges.n, None, edges.directed)
    mode = {"both": "all"}.get(degree_type, degree_type)
    return np.array(igraph_graph(simple).coreness(mode=mode), np.int64)


def neighbours(edges: Edges) -> list[dict[int, float]]:
    """Return for each vertex its neighbours, and the sums of the weights of the edges to them."""
    found: list[dict[int, float]] = [{} for _ in range(edges.n)]
    weight = np.ones(len(edges.source)) if edges.weight is None else edges.weight
    for one, other, value in zip(
        edges.source.tolist(), edges.destination.tolist(), weight.tolist(), strict=True
    ):
        if one != other:
            found[one][other] = found[one].get(other, 0.0) + value
            found[other][one] = found[other].get(one, 0.0) + value
    return found


def simple_graph(edges: Edges) -> nx.Graph:
    """Return the edges as a NetworkX graph without directions, parallel edges and self-loops."""
    graph = nx.Graph()
    graph.add_nodes_from(range(edges.n))
    pairs = zip(edges.source.tolist(), edges.destination.tolist(), strict=True)
    graph.add_edges_from((one, other) for one, other in pairs if one != other)
    return graph


def triangles(edges: Edges) -> Array:
    """Triangles that each vertex is in, by NetworkX."""
    found = nx.triangles(simple_graph(edges)) if edges.n else {}
    return np.array([found[vertex] for vertex in range(edges.n)], np.int64)


def clustering(edges: Edges) -> Array:
    """Share of the ordered pairs of a vertex's neighbours that have an arc, by trying them all."""
    source, destination, _ = edges.arcs()
    arcs = set(zip(source.tolist(), destination.tolist(), strict=True))
    shares = np.zeros(edges.n)
    for vertex, near in enumerate(neighbours(edges)):
        if len(near) > 1:
            joined = sum((one, other) in arcs for one in near for other in near if one != other)
            shares[vertex] = joined / (len(near) * (len(near) - 1))
    return shares


def similarity(
    edges: Edges, measure: str, pairs: Iterable[tuple[int, int]], *, use_weight: bool
) -> Array:
    """Coefficients of pairs, by the sets of their neighbours."""
    near = neighbours(edges)
    if not use_weight:
        near = [dict.fromkeys(one, 1.0) for one in near]
    return np.array([_similar(near, measure, one, other) for one, other in pairs], float)


def _similar(near: list[dict[int, float]], measure: str, first: int, second: int) -> float:
    one, other = near[first], near[second]
    common = one.keys() & other.keys()
    if measure == "adamic_adar":
        return sum(1 / math.log(len(near[third])) for third in common if len(near[third]) > 1)
    if measure == "cosine":
        over = sum(one[third] * other[third] for third in common)
        under = math.hypot(*one.values()) * math.hypot(*other.values())
    else:
        over = sum(min(one[third], other[third]) for third in common)
        sums = sum(one.values()), sum(other.values())
        under = {
            "jaccard": sum(max(one.get(t, 0), other.get(t, 0)) for t in one.keys() | other.keys()),
            "overlap": min(sums),
            "sorensen": sum(sums) / 2,
        }[measure]
    return over / under if over else 0.0


def truss_numbers(edges: Edges) -> dict[tuple[int, int], int]:
    """Truss number of each pair of neighbours, the smaller first, by NetworkX's trusses."""
    graph, level = simple_graph(edges), 2
    numbers: dict[tuple[int, int], int] = {}
    while graph.number_of_edges():
        numbers |= {(min(pair), max(pair)): level for pair in graph.edges}
        level += 1
        graph = nx.k_truss(graph, level)
    return numbers
