"""The works that other libraries do too, on two cores and on one GPU: a row of `WORKS` for each.

Timed are calls on graphs that each library has built before, and the making of the result in its usual form: a vertex
frame with ids for cugraph_ws and cuGraph, lists for igraph, dictionaries for NetworkX; for NetworKit `run()` alone.
Our answer is verified by another method, or compared with all others'; theirs are compared with ours.

Where stopping rules differ, all have the same L1 tolerance: NetworKit is set to use the L1 norm and to spread the mass
of dangling vertices; NetworkX multiplies its tolerance by the number of vertices; igraph's PRPACK has a fixed one of
1e-10.  igraph's and NetworKit's label propagation is asynchronous and stops by itself.  Of libraries that find
communities only those count whose modularity is at least `QUALITY` times ours.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from statistics import geometric_mean
from typing import Any, NamedTuple

import numpy as np

import cugraph_ws as ws
from bench import proofs
from bench.forms import (
    CUGRAPH,
    IGRAPH,
    LEIDENALG,
    NETWORKIT,
    NETWORKX,
    SCIPY,
    Case,
    cugraph_graph,
    library,
)
from bench.graphs import HIGH_DIAMETER
from bench.programs import PAGERANK_TOL, SUPERSTEPS, Distances, Likeness, Majority, Ranks, Widths
from bench.timing import OURS, Entrant, Measured, Section, by_library, race

USERS, USERS_TIMES = "user's program", 1.2  # bound of its time ÷ ours
ALONE = f"{OURS}, distances alone"
AS_IT_COMES = f"{CUGRAPH} as it comes"  # it drops parallel edges: more work, other ranks
PULLING = "pylibcugraph, direction-optimised"
NETWORKX_TIMES = 100.0  # bound of NetworkX' time ÷ ours
QUALITY = 0.99  # of ours, and of the best
PAIRS = {False: 100_000, True: 1_000_000}  # for whose ends similarity is computed, on a GPU or not
SOURCES, TRUSS, ITERATIONS = 64, 5, 10
EACH, MEAN = (
    0.8,
    1.5,
)  # on two cores, bounds of a library's time ÷ ours: of each work and on average
PATIENCE = 60.0  # seconds; on two cores an entrant that takes longer runs once
MOST_PRODUCTS = 300_000_000  # most multiplications in a product of matrices

Call = Callable[[Any, Any, Case], Any]  # takes the library's module, its graph, and the case
Values = Callable[[Case, Any], Any]  # takes the graph and an answer; returns numbers to compare


class Work(NamedTuple):
    """A row of the table.

    Attributes
    ----------
    parts : tuple of str
        The part of `bench cpu` and that of `bench gpu` in which it is; "" for none.
    form : str or None
        The graph's; see `bench.forms`.  None if calls take a frame.
    ours : callable
        Our call; takes our graph, None without a form, and the case.
    values : callable
        What is compared, of our answer and of those by cuGraph and users' programs.
    agree : callable, optional
        Takes our values and theirs; returns their difference, or raises.
    peers : mapping
        By library its call, and what is compared of its answer: None for `values`, "" for nothing.
    proof : callable, optional
        Takes the graph and our values, and verifies them by another method.
    bounds : tuple of float
        Of the best library's time ÷ ours on two cores, of cuGraph's on a GPU, and there on graphs of high diameter.
    communities : bool
        Whether values are partitions, whose modularity is compared.
    products : bool
        Whether SciPy multiplies the adjacency with itself.
    transposed : bool
        Whether cuGraph's graph is.
    most_edges : int
        Of a graph on which it runs.
    release : callable, optional
        Frees an answer of ours.
    """

    parts: tuple[str, str]
    form: str | None
    ours: Callable[[Any, Case], Any]
    values: Values
    agree: Callable[[Any, Any], float] | None
    peers: Mapping[str, tuple[Call, Any]]
    proof: Callable[[Case, Any], float | None] | None = None
    bounds: tuple[float | None, ...] = (EACH, 3.0)
    communities: bool = False
    products: bool = False
    transposed: bool = False
    most_edges: int = 1 << 62
    release: Callable[[Any], None] = lambda answer: None


def column(name: str, missing: float = np.nan) -> Values:
    """Return what reads a column of a vertex frame by id."""
    return lambda case, frame: case.by_id(frame, name, missing)


def far(case: Case, frame: Any) -> Any:
    """Return distances by id, infinite for unreached vertices, for which libraries have their greatest number."""
    distance = case.by_id(frame, "distance", np.inf)
    return case.xp.where(distance < 2**31 - 1, distance, np.inf)


def total(name: str) -> Values:
    """Return what sums a column."""
    return lambda case, frame: np.array([float(frame[name].astype("float64").sum())])


def in_order(name: str) -> Values:
    """Return what reads a column as it stands."""
    return lambda case, frame: case.xp.asarray(frame[name].values)


def listed(case: Case, answer: Any) -> Any:
    """Return a list of numbers as an array."""
    return np.asarray(answer, np.float64)


def scores(case: Case, answer: Any) -> Any:
    """Return NetworKit's scores."""
    return np.array(answer.scores())


def members(case: Case, answer: Any) -> Any:
    """Return the class of each vertex, of a partition by igraph or NetworKit, or of a list of classes."""
    if hasattr(answer, "getPartition"):
        return np.array(answer.getPartition().getVector(), float)
    if not hasattr(answer, "membership"):
        values = np.empty(case.n)
        for number, vertices in enumerate(answer):
            values[list(vertices)] = number
        return values
    return np.array(answer.membership, float)


def mapped(case: Case, answer: Any) -> Any:
    """Return the values of a dictionary, infinite for vertices without any."""
    values = np.full(case.n, np.inf)
    values[list(answer)] = list(answer.values())
    return values


def levels(case: Case, answer: Any) -> Any:
    """Return distances of igraph's breadth-first order and the bounds of its levels."""
    order, bounds, _ = answer
    distance = np.full(case.n, np.inf)
    distance[order] = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    return distance


def networkit_distances(case: Case, answer: Any) -> Any:
    """Return distances, infinite where NetworKit has the largest float."""
    values = np.array(answer.getDistances())
    return np.where(values == np.finfo(np.float64).max, np.inf, values)


def sum_of(numbers: Callable[[Any], Any]) -> Values:
    """Return what makes an answer a single number."""
    return lambda case, answer: np.array([float(numbers(answer))])


# ------------------------------------------------------------------------------ calls of several lines


def once(make: Callable[[Case], Any]) -> Callable[[Case], Any]:
    """Have arguments made before the clock starts: by the first call, for each graph."""

    def argument(case: Case) -> Any:
        if make not in case.arguments:
            case.arguments[make] = make(case)
        return case.arguments[make]

    return argument


def networkit_pagerank(nk: Any, graph: Any, case: Case) -> Any:
    """Rank by NetworKit."""
    spread = nk.centrality.SinkHandling.DistributeSinks
    ranking = nk.centrality.PageRank(graph, 0.85, PAGERANK_TOL, True, spread)
    ranking.norm = nk.centrality.Norm.l1norm
    return ranking.run()


def scipy_triangles(sparse: Any, graph: Any, case: Case) -> Any:
    """Count triangles by a product of matrices."""
    lower = sparse.tril(graph, format="csr")
    return (lower @ lower).multiply(lower).sum()


def scipy_truss(sparse: Any, graph: Any, case: Case) -> Any:
    """Drop edges in too few triangles until none is left."""
    matrix = graph
    while True:
        support = (matrix @ matrix).multiply(matrix).tocsr()
        support.data[support.data < TRUSS - 2] = 0
        support.eliminate_zeros()
        support.data[:] = 1
        if support.nnz == matrix.nnz:
            return matrix.nnz // 2
        matrix = support


def scipy_katz(sparse: Any, graph: Any, case: Case) -> Any:
    """Iterate to our tolerance; NetworKit stops before its values are near ours."""
    values = np.zeros(case.n)
    while True:
        fresh = 1.0 + alpha(case) * (graph @ values)
        if np.abs(fresh - values).sum() < 1e-6 * case.n:
            return fresh
        values = fresh


@once
def alpha(case: Case) -> float:
    """Return Katz' attenuation, small enough for the greatest degree."""
    degree = case.xp.bincount(case.xp.concatenate(case.ends("simple")))
    return 1e-5 if case.gpu else min(1e-4, 0.5 / max(1, int(degree.max())))


@once
def pairs(case: Case) -> Any:
    """Return a frame of pairs: ends of edges of the simple graph."""
    source, destination = case.ends("simple")
    drawn = case.xp.random.RandomState(6).permutation(len(source))[: PAIRS[case.gpu]]
    return case.frames.DataFrame({"first": source[drawn], "second": destination[drawn]})


@once
def pairs_listed(case: Case) -> list[tuple[int, int]]:
    """Return the pairs as a list, for igraph and NetworKit."""
    return list(map(tuple, pairs(case).to_numpy().tolist()))


def by_pair(case: Case, answer: Any) -> Any:
    """Return NetworKit's values, which have an order of their own, in the order of our pairs."""
    values = dict(answer)
    return np.array([values[pair] for pair in pairs_listed(case)])


@once
def sources(case: Case) -> Any:
    """Return vertices from which betweenness is sampled."""
    busy = case.xp.flatnonzero(case.xp.bincount(case.ends("simple")[0], minlength=case.n))
    return case.frames.Series(busy[:: max(1, len(busy) // SOURCES)][:SOURCES])


def igraph_betweenness(case: Case, answer: Any) -> Any:
    """Return igraph's sums as means: a path that starts at a source is none through it."""
    starts = sources(case).to_numpy()
    searches = np.full(case.n, float(len(starts)))
    searches[starts] -= 1
    return np.array(answer) / searches


def pulling_bfs(cugraph: Any, graph: Any, case: Case) -> Any:
    """Search by pylibcugraph, which may pull as well as push."""
    import cudf
    import pylibcugraph

    start = cudf.Series([case.start], dtype="int32")
    if graph.renumbered:
        start = graph.lookup_internal_vertex_id(start).astype("int32")
    handle, most = pylibcugraph.ResourceHandle(), np.iinfo(np.int32).max
    return pylibcugraph.bfs(handle, graph._plc_graph, start, True, most, True, False)


def build(frame: Any) -> ws.Graph:
    """Build this library's graph, with its in-neighbours grouped."""
    graph = ws.Graph(frame)
    arcs = graph.on_device().csc.indices if "cudf" in type(frame).__module__ else graph.csc.indices
    assert len(arcs) == len(frame)
    return graph


def rows_of_csc(case: Case, graph: ws.Graph) -> Any:
    """Return each vertex's in-degree, and the sum of its in-neighbours, by id."""
    xp, ids = case.xp, case.xp.flatnonzero(case.present)
    part = graph.on_device() if case.gpu else graph
    offsets, indices = part.csc.offsets, part.csc.indices
    order = part.numbers if case.gpu else xp.arange(len(ids))
    values = xp.zeros((2, case.n))
    sums = xp.concatenate([xp.zeros(1, "int64"), xp.cumsum(ids[order[indices]])])
    values[0, ids[order]] = offsets[1:] - offsets[:-1]
    values[1, ids[order]] = sums[offsets[1:]] - sums[offsets[:-1]]
    return values


def check_csc(case: Case, values: Any) -> float:
    """Compare with in-degrees and sums of neighbours that are counted."""
    counted = [case.in_degree, case.xp.bincount(case.destination, case.source, case.n)]
    return proofs.exactly(values, case.xp.stack(counted))


def steps(name: str = "") -> dict[str, Any]:
    """Return the options of a PageRank of so many supersteps, of ours or cuGraph's."""
    return {
        "max_iter": SUPERSTEPS, "tol": 0.0 if name == OURS else 1e-30, "fail_on_nonconvergence": False,
    }  # fmt: skip


def check_steps(case: Case, rank: Any) -> float:
    """Compare ranks with those after as many supersteps in float64."""
    return proofs.close(rank, proofs.steps(case, "pagerank", SUPERSTEPS, rank, rank < 0), 1e-4)


def named(name: str, **options: Any) -> tuple[Call, None]:
    """Return cuGraph's function of a name."""
    return (lambda cugraph, graph, case: getattr(cugraph, name)(graph, **options)), None


RANK = column("pagerank", 0.0)
CLOSE = partial(proofs.close, bound=1e-3)
STOP = {"max_iter": 500, "fail_on_nonconvergence": False}
EIGEN = "eigenvector_centrality"
WORKS: dict[str, Work] = {
    "build from a frame": Work(
        ("csc", "frames"), None, lambda g, c: build(c.table), rows_of_csc, None,
        {
            SCIPY: (lambda sp, g, c: sp.coo_array((np.ones(len(c.source)), (c.source, c.destination))).tocsc(), ""),
            CUGRAPH: (lambda cg, g, c: cugraph_graph(c.table), ""),
            AS_IT_COMES: (lambda cg, g, c: cugraph_graph(c.table, parallel=False), ""),
        },
        check_csc, (1.0, 3.0), release=ws.Graph.close,
    ),
    "PageRank, frame to frame": Work(
        ("", "frames"), None, lambda g, c: ws.pagerank(c.table, **steps(OURS)), RANK, partial(proofs.close, bound=1e-4),
        {
            CUGRAPH: (lambda cg, g, c: cg.pagerank(cugraph_graph(c.table), **steps())[0], None),
            AS_IT_COMES: (lambda cg, g, c: cg.pagerank(cugraph_graph(c.table, parallel=False), **steps())[0], ""),
        },
        check_steps, (None, 2.5),
    ),
    "PageRank, frame to frame, text ids": Work(
        ("", "frames"), None, lambda g, c: ws.pagerank(c.text, **steps(OURS)), sum_of(len), proofs.exactly,
        {CUGRAPH: (lambda cg, g, c: cg.pagerank(cugraph_graph(c.text), **steps())[0], None)}, None, (None, 2.0),
        most_edges=32 << 20,  # some 40 bytes each
    ),
    "bfs": Work(
        ("algorithms", "searches"), "directed", lambda g, c: ws.bfs(g, c.start, **c.search), far, proofs.exactly,
        {
            NETWORKIT: (lambda nk, g, c: nk.distance.BFS(g, c.start, storePaths=False).run(), networkit_distances),
            IGRAPH: (lambda ig, g, c: g.bfs(c.start, mode="out"), levels),
            NETWORKX: (lambda nx, g, c: nx.single_source_shortest_path_length(g, c.start), mapped),
            CUGRAPH: (lambda cg, g, c: cg.bfs(g, c.start), None),
            ALONE: (lambda _, g, c: ws.bfs(g, c.start, return_predecessors=False), None),
        },
        lambda c, values: proofs.distances(c, "directed", values), (1.0, 3.0, 30.0),
    ),
    "sssp": Work(
        ("algorithms", "searches"), "weighted", lambda g, c: ws.sssp(g, c.start, **c.search), far, proofs.exactly,
        {
            NETWORKIT: (
                lambda nk, g, c: nk.distance.Dijkstra(g, c.start, storePaths=False).run(),
                networkit_distances,
            ),
            IGRAPH: (lambda ig, g, c: g.distances(c.start, weights="weight", mode="out")[0], listed),
            NETWORKX: (lambda nx, g, c: nx.single_source_dijkstra_path_length(g, c.start), mapped),
            CUGRAPH: (lambda cg, g, c: cg.sssp(g, c.start), None),
            ALONE: (lambda _, g, c: ws.sssp(g, c.start, return_predecessors=False), None),
            USERS: (lambda _, g, c: ws.run(Distances, g, source=c.start).frame, None),
        },
        lambda c, values: proofs.distances(c, "weighted", values), (1.0, 5.0, 30.0),
    ),
    "widest path": Work(
        ("algorithms", "searches"), "weighted", lambda g, c: ws.widest_path(g, c.start),
        column("width", 0.0), proofs.exactly,
        {USERS: (lambda _, g, c: ws.run(Widths, g, source=c.start).frame, None)}, proofs.widths,
    ),
    "PageRank to 1e-6": Work(
        ("algorithms", "searches"), "directed", lambda g, c: ws.pagerank(g, tol=PAGERANK_TOL), RANK,
        CLOSE,
        {
            NETWORKIT: (networkit_pagerank, lambda c, answer: scores(c, answer) / sum(answer.scores())),
            IGRAPH: (lambda ig, g, c: g.pagerank(implementation="prpack"), listed),
            NETWORKX: (lambda nx, g, c: nx.pagerank(g, tol=PAGERANK_TOL / c.n, weight=None), mapped),
            CUGRAPH: (lambda cg, g, c: cg.pagerank(g, tol=PAGERANK_TOL, **STOP)[0], None),
            USERS: (lambda _, g, c: ws.run(Ranks, g).frame.rename(columns={"rank": "pagerank"}), None),
        },
        lambda c, values: proofs.ranks(c, "directed", values), (1.0, 2.5, 3.0), transposed=True,
    ),
    "weighted PageRank to 1e-6": Work(
        ("", "ranks"), "weighted", lambda g, c: ws.pagerank(g, tol=PAGERANK_TOL), RANK,
        CLOSE,
        {
            CUGRAPH: (
                lambda cg, g, c: cg.pagerank(g, tol=PAGERANK_TOL, **STOP)[0], None
            )
        },
        lambda c, values: proofs.ranks(c, "weighted", values), (None, 1.3), transposed=True,
    ),
    "bfs, undirected": Work(
        ("", "searches"), "simple", lambda g, c: ws.bfs(g, c.start), far, proofs.exactly,
        {CUGRAPH: (lambda cg, g, c: cg.bfs(g, c.start), None), PULLING: (pulling_bfs, "")},
        lambda c, values: proofs.distances(c, "simple", values), (None, 1.5, 30.0),
    ),
    "components": Work(
        ("algorithms", "searches"), "simple", lambda g, c: ws.weakly_connected_components(g), column("labels"),
        proofs.alike,
        {
            f"{NETWORKIT} ParallelConnectedComponents": (
                lambda nk, g, c: nk.components.ParallelConnectedComponents(g).run(),
                lambda c, answer: members(c, answer.getComponents()),
            ),
            NETWORKIT: (
                lambda nk, g, c: nk.components.ConnectedComponents(g).run(),
                lambda c, answer: members(c, answer.getComponents()),
            ),
            IGRAPH: (lambda ig, g, c: g.connected_components().membership, listed),
            NETWORKX: (lambda nx, g, c: list(nx.connected_components(g)), members),
            CUGRAPH: named("weakly_connected_components"),
        },
        proofs.components, (1.0, 6.0, 5.0),
    ),
    "core numbers": Work(
        ("algorithms", "searches"), "simple", lambda g, c: ws.core_number(g), column("core_number"), proofs.exactly,
        {
            NETWORKIT: (lambda nk, g, c: nk.centrality.CoreDecomposition(g).run(), scores),
            IGRAPH: (lambda ig, g, c: g.coreness(), listed),
            NETWORKX: (lambda nx, g, c: nx.core_number(g), mapped),
            CUGRAPH: named("core_number", degree_type="incoming"),
        },
        proofs.cores, (1.0, 6.0, 5.0),
    ),
    "Louvain": Work(
        ("known", "known"), "simple", lambda g, c: ws.louvain(g)[0], column("partition"), None,
        {
            NETWORKIT: (lambda nk, g, c: nk.community.PLM(g, refine=False).run(), members),
            IGRAPH: (lambda ig, g, c: g.community_multilevel(), members),
            CUGRAPH: (lambda cg, g, c: cg.louvain(g)[0], None),
        },
        communities=True,
    ),
    "Leiden": Work(
        ("known", "known"), "simple", lambda g, c: ws.leiden(g)[0], column("partition"), None,
        {
            NETWORKIT: (lambda nk, g, c: nk.community.ParallelLeiden(g).run(), members),
            IGRAPH: (lambda ig, g, c: g.community_leiden("modularity", n_iterations=2), members),
            LEIDENALG: (
                lambda la, g, c: la.find_partition(
                    g, la.ModularityVertexPartition, n_iterations=2, seed=1
                ),
                members,
            ),
            CUGRAPH: (lambda cg, g, c: cg.leiden(g)[0], None),
        },
        communities=True,
    ),
    "triangles": Work(
        ("known", "known"), "simple", lambda g, c: ws.triangle_count(g), total("counts"), proofs.exactly,
        {
            NETWORKIT: (
                lambda nk, g, c: nk.sparsification.TriangleEdgeScore(g).run(),
                sum_of(lambda answer: sum(answer.scores())),
            ),
            IGRAPH: (lambda ig, g, c: g.list_triangles(), sum_of(lambda answer: 3 * len(answer))),
            SCIPY: (scipy_triangles, sum_of(lambda answer: 3 * answer)),
            CUGRAPH: named("triangle_count"),
        },
        products=True,
    ),
    "clustering coefficient": Work(
        ("known", ""), "simple", lambda g, c: ws.clustering_coefficient(g), column("clustering_coefficient"),
        proofs.nearly,
        {
            NETWORKIT: (lambda nk, g, c: nk.centrality.LocalClusteringCoefficient(g, True).run(), scores),
            IGRAPH: (lambda ig, g, c: g.transitivity_local_undirected(mode="zero"), listed),
        },
    ),
    "Jaccard": Work(
        ("known", "known"), "simple", lambda g, c: ws.jaccard(g, pairs(c)), in_order("jaccard_coeff"),
        proofs.nearly,
        {
            NETWORKIT: (lambda nk, g, c: nk.linkprediction.JaccardIndex(g).runOn(pairs_listed(c)), by_pair),
            IGRAPH: (lambda ig, g, c: g.similarity_jaccard(pairs=pairs_listed(c), loops=False), listed),
            CUGRAPH: (lambda cg, g, c: cg.jaccard(g, pairs(c)), total("jaccard_coeff")),
        },
    ),
    "Jaccard, all edges": Work(
        ("known", "known"), "simple", lambda g, c: ws.jaccard(g, "edges"), total("jaccard_coeff"), CLOSE,
        {USERS: (lambda _, g, c: ws.run(Likeness, g).frame, total("coefficient"))},
    ),
    f"k-truss, k = {TRUSS}": Work(
        ("known", "known"), "simple", lambda g, c: ws.k_truss(g, TRUSS), sum_of(len), proofs.exactly,
        {
            SCIPY: (scipy_truss, sum_of(int)),
            CUGRAPH: (lambda cg, g, c: cg.k_truss(g, TRUSS), sum_of(lambda graph: graph.number_of_edges())),
        },
        None, (EACH, 10.0), products=True,
    ),
    f"betweenness, {SOURCES} sources": Work(
        ("known", "known"), "simple", lambda g, c: ws.betweenness_centrality(g, k=sources(c)),
        column("betweenness_centrality", 0.0), proofs.nearly,
        {
            NETWORKIT: (  # draws the sources itself
                lambda nk, g, c: nk.centrality.EstimateBetweenness(
                    g, min(SOURCES, c.n), False, True
                ).run(),
                "",
            ),
            IGRAPH: (lambda ig, g, c: g.betweenness(directed=False, sources=sources(c).tolist()), igraph_betweenness),
            CUGRAPH: (lambda cg, g, c: cg.betweenness_centrality(g, k=sources(c)), None),
        },
        None, (EACH, 8.0),
    ),
    "strong components": Work(
        ("known", "known"), "directed", lambda g, c: ws.strongly_connected_components(g), column("labels"),
        proofs.alike,
        {
            NETWORKIT: (lambda nk, g, c: nk.components.StronglyConnectedComponents(g).run(), members),
            IGRAPH: (lambda ig, g, c: g.connected_components("strong").membership, listed),
            SCIPY: (lambda sp, g, c: sp.csgraph.connected_components(g, connection="strong")[1], listed),
            CUGRAPH: named("strongly_connected_components"),
        },
        None, (EACH, 2.0),
    ),
    "spanning forest": Work(
        ("known", "known"), "simple weighted", lambda g, c: ws.minimum_spanning_forest(g), total("weight"),
        CLOSE,
        {
            NETWORKIT: (lambda nk, g, c: nk.graph.KruskalMSF(g).run(), sum_of(lambda answer: answer.getTotalWeight())),
            IGRAPH: (
                lambda ig, g, c: g.spanning_tree(weights="weight", return_tree=False),
                lambda c, answer: np.array([c.weights("simple weighted")[answer].sum()]),
            ),
            SCIPY: (lambda sp, g, c: sp.csgraph.minimum_spanning_tree(g), sum_of(lambda answer: answer.sum())),
            CUGRAPH: (
                lambda cg, g, c: cg.minimum_spanning_tree(g),
                sum_of(lambda graph: graph.view_edge_list()["weight"].sum()),
            ),
        },
    ),
    "HITS": Work(
        ("known", "known"), "directed", lambda g, c: ws.hits(g), column("hubs", 0.0), proofs.nearly,
        {
            IGRAPH: (lambda ig, g, c: g.hub_score(scale=True), listed),
            SCIPY: (lambda sp, g, c: np.abs(sp.linalg.svds(g, k=1, tol=1e-6, rng=1)[0][:, 0]), listed),
            CUGRAPH: named("hits"),
        },
        None, (EACH, 1.5),
    ),
    "Katz": Work(
        ("known", "known"), "simple", lambda g, c: ws.katz_centrality(g, alpha(c)),
        column("katz_centrality", 0.0), proofs.nearly,
        {
            SCIPY: (scipy_katz, listed),
            CUGRAPH: (lambda cg, g, c: cg.katz_centrality(g, alpha(c)), None),
        },
        None, (EACH, 1.5),
    ),
    "eigenvector": Work(
        ("known", "known"), "simple", lambda g, c: ws.eigenvector_centrality(g), column(EIGEN, 0.0),
        partial(proofs.nearly, within=0.02),
        {
            NETWORKIT: (lambda nk, g, c: nk.centrality.EigenvectorCentrality(g, 1e-6).run(), scores),
            IGRAPH: (lambda ig, g, c: g.eigenvector_centrality(), listed),
            SCIPY: (lambda sp, g, c: np.abs(sp.linalg.eigsh(g, 1, which="LA", tol=1e-6)[1][:, 0]), listed),
            CUGRAPH: named(EIGEN),
        },
        None, (EACH, 1.5),
    ),
    f"label propagation, {ITERATIONS} iterations": Work(
        ("known", "known"), "simple", lambda g, c: ws.label_propagation(g, ITERATIONS), column("label"),
        proofs.alike,
        {
            NETWORKIT: (lambda nk, g, c: nk.community.PLP(g, maxIterations=ITERATIONS).run(), ""),
            IGRAPH: (lambda ig, g, c: g.community_label_propagation(), ""),
            USERS: (lambda _, g, c: ws.run(Majority, g, max_iter=ITERATIONS).frame, None),
        },
        None, (None, None),
    ),
}  # fmt: skip


# ------------------------------------------------------------------------------------- the contest


def works(part: str, case: Case, section: Section, repeats: int) -> None:
    """Time each work of a part in all libraries that are here; compare with the fastest, or with cuGraph."""
    ratios: list[float] = []
    for name, work in WORKS.items():
        if work.parts[case.gpu] == part and len(case.source) <= work.most_edges:
            partitions: dict[str, Any] = {}
            entrants = _entrants(case, name, work, section, partitions)
            pace = {} if case.gpu else {"few": 1, "patience": PATIENCE}
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore", RuntimeWarning
                )  # igraph's, of zeros among centralities
                timings = by_library(race(section, name, entrants, repeats, **pace))
            quality = _quality(case, name, section, partitions)
            if (ratio := _targets(case, name, work, section, timings, quality)) is not None:
                ratios.append(ratio)
    if part == "known" and not case.gpu and ratios:
        section.target("geometric mean of best ÷ ours", geometric_mean(ratios), MEAN, at_least=True)


def _entrants(
    case: Case, name: str, work: Work, section: Section, partitions: dict[str, Any]
) -> list[Entrant]:
    """Return an entrant for each library that is here; graphs are made before the clock starts."""
    reference: list[Any] = []

    def check_ours(answer: Any) -> float | None:
        reference.append(work.values(case, answer))
        partitions[OURS] = reference[0]
        return None if work.proof is None else work.proof(case, reference[0])

    def check(by: str, read: Any, answer: Any) -> float | None:
        if read == "" or not reference:
            return None
        partitions[by] = values = case.xp.asarray((read or work.values)(case, answer))
        ours = case.xp.asarray(reference[0])
        if len(values) < len(ours):  # a total
            return CLOSE(ours.sum(), values[0])
        return None if work.agree is None else work.agree(ours, values)

    ours = None if work.form is None else case.ours(work.form)
    entrants = [Entrant(OURS, partial(work.ours, ours, case), check_ours, release=work.release)]
    for by, (call, read) in work.peers.items():
        variant = by in (USERS, ALONE)
        needs = CUGRAPH if by in (AS_IT_COMES, PULLING) else by.split()[0]
        slow = by == SCIPY and work.products and _products(case) > MOST_PRODUCTS
        if slow or (by == ALONE and not case.gpu) or not (variant or case.has(needs)):
            continue
        make = partial(case.graph_of, needs, work.form, transposed=work.transposed)
        graph = ours if variant or work.form is None else section.attempt(f"{name}, {by}", make)
        run = partial(call, None if variant else library(needs), graph, case)
        entrants.append(Entrant(by, run, partial(check, by, read)))
    return entrants


def _products(case: Case) -> int:
    """Return the multiplications of the adjacency matrix with itself."""
    degree = np.diff(case.host_matrix("simple").indptr).astype(np.int64)
    return int((degree * degree).sum())


def _quality(
    case: Case, name: str, section: Section, partitions: Mapping[str, Any]
) -> dict[str, float]:
    """Return the modularity of each library's communities; ours has a target."""
    if not WORKS[name].communities or OURS not in partitions:
        return {}
    graph, frames = case.ours("simple"), case.frames
    ids = case.xp.flatnonzero(~case.xp.isnan(partitions[OURS])).astype(case.source.dtype)
    quality = {}
    for by, values in partitions.items():
        frame = frames.DataFrame(
            {"vertex": ids, "partition": case.xp.asarray(values)[ids].astype("int64")}
        )
        quality[by] = float(ws.modularity(graph, frame))
    section.target(
        f"{name}: our modularity ÷ the best", quality[OURS] / max(quality.values()), QUALITY, at_least=True,
    )  # fmt: skip
    rows = [[by, f"{modularity:.4f}"] for by, modularity in quality.items()]
    section.table(f"Modularity, {name}", ["by", "modularity"], rows)
    return quality


def _targets(
    case: Case, name: str, work: Work, section: Section, timings: Mapping[str, Measured],
    quality: Mapping[str, float],
) -> float | None:  # fmt: skip
    """Add the targets of a work; return the ratio that counts in the mean."""
    ours = timings.get(OURS)
    if ours is None:
        return None
    ratio_of = {by: timing.median / ours.median for by, timing in timings.items()}
    if USERS in ratio_of:
        section.target(f"{name}: {USERS} ÷ ours", ratio_of[USERS], USERS_TIMES)
    if case.gpu:
        bound = work.bounds[-1] if case.name in HIGH_DIAMETER else work.bounds[1]
        rivals = [
            by for by in (CUGRAPH, AS_IT_COMES, PULLING) if by in ratio_of and bound is not None
        ]
        rivals = [PULLING] if PULLING in rivals else rivals
        for by in rivals:
            section.target(f"{name}: {by} ÷ ours", ratio_of[by], bound, at_least=True)
        return None
    if NETWORKX in ratio_of:
        section.target(
            f"{name}: {NETWORKX} ÷ ours", ratio_of[NETWORKX], NETWORKX_TIMES, at_least=True
        )
    least = QUALITY * quality.get(OURS, 0.0)
    able = [ratio for by, ratio in ratio_of.items()
            if by not in (OURS, USERS, NETWORKX) and quality.get(by, 0.0) >= least]  # fmt: skip
    if not able or work.bounds[0] is None:
        return None
    section.target(
        f"{name}: best of the libraries ÷ ours", min(able), work.bounds[0], at_least=True
    )
    return min(able)
