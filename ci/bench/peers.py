"""The works that other libraries do too, on two cores and on one GPU: a row of `WORKS` for each.

Where stopping rules differ, all have the same L1 tolerance: NetworKit is set to use the L1 norm and to spread the mass
of dangling vertices; NetworkX multiplies its tolerance by the number of vertices; igraph's PRPACK has a fixed one of
1e-10.  igraph's and NetworKit's label propagation is asynchronous and stops by itself.  Of libraries that find
communities only those count whose modularity is at least `QUALITY` times ours.
"""

from __future__ import annotations

import warnings
from functools import partial
from operator import methodcaller
from statistics import geometric_mean
from typing import Any

import numpy as np

import cugraph_ws as ws
from bench import answers, calls, proofs
from bench.forms import CUGRAPH, IGRAPH, NETWORKIT, NETWORKX, SCIPY, Case, cugraph_graph
from bench.programs import PAGERANK_TOL, Distances, Likeness, Majority, Ranks, Widths
from bench.timing import OURS, Section
from bench.work import (
    ALONE,
    AS_IT_COMES,
    CLOSE,
    EACH,
    PULLING,
    USERS,
    Call,
    Work,
    add_targets,
    modularities,
    race_work,
)

MEAN = 1.5  # on two cores, bound of the best library's time ÷ ours, on average over all works
PATIENCE = 60.0  # seconds; on two cores an entrant that takes longer runs once
ITERATIONS = 10


def named(name: str, **options: Any) -> tuple[Call, None]:
    """Return cuGraph's function of a name."""
    return (lambda cugraph, graph, case: getattr(cugraph, name)(graph, **options)), None


STOP = {"max_iter": 500, "fail_on_nonconvergence": False}
EIGEN = "eigenvector_centrality"
WORKS: dict[str, Work] = {
    "build from a frame": Work(
        ("csc", "frames"), None, lambda g, c: calls.build(c.table), answers.rows_of_csc, None,
        {
            SCIPY: (lambda sp, g, c: sp.coo_array((np.ones(len(c.source)), (c.source, c.destination))).tocsc(), ""),
            CUGRAPH: (lambda cg, g, c: cugraph_graph(c.table), ""),
            AS_IT_COMES: (lambda cg, g, c: cugraph_graph(c.table, parallel=False), ""),
        },
        calls.check_csc, (1.0, 3.0), release=methodcaller("close"),
    ),
    "PageRank, frame to frame": Work(
        ("", "frames"), None, lambda g, c: ws.pagerank(c.table, **calls.steps(OURS)), answers.RANK, partial(proofs.close, bound=1e-4),
        {
            CUGRAPH: (lambda cg, g, c: cg.pagerank(cugraph_graph(c.table), **calls.steps())[0], None),
            AS_IT_COMES: (lambda cg, g, c: cg.pagerank(cugraph_graph(c.table, parallel=False), **calls.steps())[0], ""),
        },
        calls.check_steps, (None, 2.5),
    ),
    "PageRank, frame to frame, text ids": Work(
        ("", "frames"), None, lambda g, c: ws.pagerank(c.text, **calls.steps(OURS)), answers.sum_of(len), proofs.exactly,
        {CUGRAPH: (lambda cg, g, c: cg.pagerank(cugraph_graph(c.text), **calls.steps())[0], None)}, None, (None, 2.0),
        most_edges=32 << 20,  # some 40 bytes each
    ),
    "bfs": Work(
        ("algorithms", "searches"), "directed", lambda g, c: ws.bfs(g, c.start, **c.search), answers.far, proofs.exactly,
        {
            NETWORKIT: (lambda nk, g, c: nk.distance.BFS(g, c.start, storePaths=False).run(), answers.networkit_distances),
            IGRAPH: (lambda ig, g, c: g.bfs(c.start, mode="out"), answers.levels),
            NETWORKX: (lambda nx, g, c: nx.single_source_shortest_path_length(g, c.start), answers.mapped),
            CUGRAPH: (lambda cg, g, c: cg.bfs(g, c.start), None),
            ALONE: (lambda _, g, c: ws.bfs(g, c.start, return_predecessors=False), None),
        },
        lambda c, values: proofs.distances(c, "directed", values), (1.0, 3.0, 30.0),
    ),
    "sssp": Work(
        ("algorithms", "searches"), "weighted", lambda g, c: ws.sssp(g, c.start, **c.search), answers.far, proofs.exactly,
        {
            NETWORKIT: (
                lambda nk, g, c: nk.distance.Dijkstra(g, c.start, storePaths=False).run(),
                answers.networkit_distances,
            ),
            IGRAPH: (lambda ig, g, c: g.distances(c.start, weights="weight", mode="out")[0], answers.listed),
            NETWORKX: (lambda nx, g, c: nx.single_source_dijkstra_path_length(g, c.start), answers.mapped),
            CUGRAPH: (lambda cg, g, c: cg.sssp(g, c.start), None),
            ALONE: (lambda _, g, c: ws.sssp(g, c.start, return_predecessors=False), None),
            USERS: (lambda _, g, c: ws.run(Distances, g, source=c.start).frame, None),
        },
        lambda c, values: proofs.distances(c, "weighted", values), (1.0, 5.0, 30.0),
    ),
    "widest path": Work(
        ("algorithms", "searches"), "weighted", lambda g, c: ws.widest_path(g, c.start),
        answers.column("width", 0.0), proofs.exactly,
        {USERS: (lambda _, g, c: ws.run(Widths, g, source=c.start).frame, None)}, proofs.widths,
    ),
    "PageRank to 1e-6": Work(
        ("algorithms", "searches"), "directed", lambda g, c: ws.pagerank(g, tol=PAGERANK_TOL), answers.RANK,
        CLOSE,
        {
            NETWORKIT: (calls.networkit_pagerank, lambda c, answer: answers.scores(c, answer) / sum(answer.scores())),
            IGRAPH: (lambda ig, g, c: g.pagerank(implementation="prpack"), answers.listed),
            NETWORKX: (lambda nx, g, c: nx.pagerank(g, tol=PAGERANK_TOL / c.n, weight=None), answers.mapped),
            CUGRAPH: (lambda cg, g, c: cg.pagerank(g, tol=PAGERANK_TOL, **STOP)[0], None),
            USERS: (lambda _, g, c: ws.run(Ranks, g).frame.rename(columns={"rank": "pagerank"}), None),
        },
        lambda c, values: proofs.ranks(c, "directed", values), (1.0, 2.5, 3.0), transposed=True,
    ),
    "weighted PageRank to 1e-6": Work(
        ("", "ranks"), "weighted", lambda g, c: ws.pagerank(g, tol=PAGERANK_TOL), answers.RANK,
        CLOSE,
        {
            CUGRAPH: (
                lambda cg, g, c: cg.pagerank(g, tol=PAGERANK_TOL, **STOP)[0], None
            )
        },
        lambda c, values: proofs.ranks(c, "weighted", values), (None, 1.3), transposed=True,
    ),
    "bfs, undirected": Work(
        ("", "searches"), "simple", lambda g, c: ws.bfs(g, c.start), answers.far, proofs.exactly,
        {CUGRAPH: (lambda cg, g, c: cg.bfs(g, c.start), None), PULLING: (calls.pulling_bfs, "")},
        lambda c, values: proofs.distances(c, "simple", values), (None, 1.5, 30.0),
    ),
    "components": Work(
        ("algorithms", "searches"), "simple", lambda g, c: ws.weakly_connected_components(g), answers.column("labels"),
        proofs.alike,
        {
            NETWORKIT: (
                lambda nk, g, c: nk.components.ConnectedComponents(g).run(),
                lambda c, answer: answers.members(c, answer.getComponents()),
            ),
            IGRAPH: (lambda ig, g, c: g.connected_components().membership, answers.listed),
            NETWORKX: (lambda nx, g, c: list(nx.connected_components(g)), answers.members),
            CUGRAPH: named("weakly_connected_components"),
        },
        proofs.components, (1.0, 6.0, 5.0),
    ),
    "core numbers": Work(
        ("algorithms", "searches"), "simple", lambda g, c: ws.core_number(g), answers.column("core_number"), proofs.exactly,
        {
            NETWORKIT: (lambda nk, g, c: nk.centrality.CoreDecomposition(g).run(), answers.scores),
            IGRAPH: (lambda ig, g, c: g.coreness(), answers.listed),
            NETWORKX: (lambda nx, g, c: nx.core_number(g), answers.mapped),
            CUGRAPH: named("core_number", degree_type="incoming"),
        },
        proofs.cores, (1.0, 6.0, 5.0),
    ),
    "Louvain": Work(
        ("known", "known"), "simple", lambda g, c: ws.louvain(g)[0], answers.column("partition"), None,
        {
            NETWORKIT: (lambda nk, g, c: nk.community.PLM(g, refine=False).run(), answers.members),
            IGRAPH: (lambda ig, g, c: g.community_multilevel(), answers.members),
            CUGRAPH: (lambda cg, g, c: cg.louvain(g)[0], None),
        },
        communities=True,
    ),
    "Leiden": Work(
        ("known", "known"), "simple", lambda g, c: ws.leiden(g)[0], answers.column("partition"), None,
        {
            NETWORKIT: (lambda nk, g, c: nk.community.ParallelLeiden(g).run(), answers.members),
            IGRAPH: (lambda ig, g, c: g.community_leiden("modularity", n_iterations=2), answers.members),
            CUGRAPH: (lambda cg, g, c: cg.leiden(g)[0], None),
        },
        communities=True,
    ),
    "triangles": Work(
        ("known", "known"), "simple", lambda g, c: ws.triangle_count(g), answers.total("counts"), proofs.exactly,
        {
            NETWORKIT: (
                lambda nk, g, c: nk.sparsification.TriangleEdgeScore(g).run(),
                answers.sum_of(lambda answer: sum(answer.scores())),
            ),
            IGRAPH: (lambda ig, g, c: g.list_triangles(), answers.sum_of(lambda answer: 3 * len(answer))),
            SCIPY: (calls.scipy_triangles, answers.sum_of(lambda answer: 3 * answer)),
            CUGRAPH: named("triangle_count"),
        },
        products=True,
    ),
    "clustering coefficient": Work(
        ("known", ""), "simple", lambda g, c: ws.clustering_coefficient(g), answers.column("clustering_coefficient"),
        proofs.nearly,
        {
            NETWORKIT: (lambda nk, g, c: nk.centrality.LocalClusteringCoefficient(g, True).run(), answers.scores),
            IGRAPH: (lambda ig, g, c: g.transitivity_local_undirected(mode="zero"), answers.listed),
        },
    ),
    "Jaccard": Work(
        ("known", "known"), "simple", lambda g, c: ws.jaccard(g, calls.pairs(c)), answers.in_order("jaccard_coeff"),
        proofs.nearly,
        {
            NETWORKIT: (lambda nk, g, c: nk.linkprediction.JaccardIndex(g).runOn(calls.pairs_listed(c)), answers.by_pair),
            IGRAPH: (lambda ig, g, c: g.similarity_jaccard(pairs=calls.pairs_listed(c), loops=False), answers.listed),
            CUGRAPH: (lambda cg, g, c: cg.jaccard(g, calls.pairs(c)), answers.total("jaccard_coeff")),
        },
    ),
    "Jaccard, all edges": Work(
        ("known", "known"), "simple", lambda g, c: ws.jaccard(g, "edges"), answers.total("jaccard_coeff"), CLOSE,
        {USERS: (lambda _, g, c: ws.run(Likeness, g).frame, answers.total("coefficient"))},
    ),
    f"k-truss, k = {calls.TRUSS}": Work(
        ("known", "known"), "simple", lambda g, c: ws.k_truss(g, calls.TRUSS), answers.sum_of(len), proofs.exactly,
        {
            SCIPY: (calls.scipy_truss, answers.sum_of(int)),
            CUGRAPH: (lambda cg, g, c: cg.k_truss(g, calls.TRUSS), answers.sum_of(lambda graph: graph.number_of_edges())),
        },
        None, (EACH, 10.0), products=True,
    ),
    f"betweenness, {calls.SOURCES} sources": Work(
        ("known", "known"), "simple", lambda g, c: ws.betweenness_centrality(g, k=calls.sources(c)),
        answers.column("betweenness_centrality", 0.0), proofs.nearly,
        {
            NETWORKIT: (  # draws the sources itself
                lambda nk, g, c: nk.centrality.EstimateBetweenness(
                    g, min(calls.SOURCES, c.n), False, True
                ).run(),
                "",
            ),
            IGRAPH: (lambda ig, g, c: g.betweenness(directed=False, sources=calls.sources(c).tolist()), answers.igraph_betweenness),
            CUGRAPH: (lambda cg, g, c: cg.betweenness_centrality(g, k=calls.sources(c)), None),
        },
        None, (EACH, 8.0),
    ),
    "strong components": Work(
        ("known", "known"), "directed", lambda g, c: ws.strongly_connected_components(g), answers.column("labels"),
        proofs.alike,
        {
            NETWORKIT: (lambda nk, g, c: nk.components.StronglyConnectedComponents(g).run(), answers.members),
            IGRAPH: (lambda ig, g, c: g.connected_components("strong").membership, answers.listed),
            SCIPY: (lambda sp, g, c: sp.csgraph.connected_components(g, connection="strong")[1], answers.listed),
            CUGRAPH: named("strongly_connected_components"),
        },
        None, (EACH, 2.0),
    ),
    "spanning forest": Work(
        ("known", "known"), "simple weighted", lambda g, c: ws.minimum_spanning_forest(g), answers.total("weight"),
        CLOSE,
        {
            NETWORKIT: (lambda nk, g, c: nk.graph.KruskalMSF(g).run(), answers.sum_of(lambda answer: answer.getTotalWeight())),
            IGRAPH: (
                lambda ig, g, c: g.spanning_tree(weights="weight", return_tree=False),
                lambda c, answer: np.array([c.weights("simple weighted")[answer].sum()]),
            ),
            SCIPY: (lambda sp, g, c: sp.csgraph.minimum_spanning_tree(g), answers.sum_of(lambda answer: answer.sum())),
            CUGRAPH: (
                lambda cg, g, c: cg.minimum_spanning_tree(g),
                answers.sum_of(lambda graph: graph.view_edge_list()["weight"].sum()),
            ),
        },
    ),
    "HITS": Work(
        ("known", "known"), "directed", lambda g, c: ws.hits(g), answers.column("hubs", 0.0), proofs.nearly,
        {
            IGRAPH: (lambda ig, g, c: g.hub_score(scale=True), answers.listed),
            SCIPY: (lambda sp, g, c: np.abs(sp.linalg.svds(g, k=1, tol=1e-6, rng=1)[0][:, 0]), answers.listed),
            CUGRAPH: named("hits"),
        },
        None, (EACH, 1.5),
    ),
    "Katz": Work(
        ("known", "known"), "simple", lambda g, c: ws.katz_centrality(g, calls.alpha(c)),
        answers.column("katz_centrality", 0.0), proofs.nearly,
        {
            SCIPY: (calls.scipy_katz, answers.listed),
            CUGRAPH: (lambda cg, g, c: cg.katz_centrality(g, calls.alpha(c)), None),
        },
        None, (EACH, 1.5),
    ),
    "eigenvector": Work(
        ("known", "known"), "simple", lambda g, c: ws.eigenvector_centrality(g), answers.column(EIGEN, 0.0),
        partial(proofs.nearly, within=0.02),
        {
            NETWORKIT: (lambda nk, g, c: nk.centrality.EigenvectorCentrality(g, 1e-6).run(), answers.scores),
            IGRAPH: (lambda ig, g, c: g.eigenvector_centrality(), answers.listed),
            SCIPY: (lambda sp, g, c: np.abs(sp.linalg.eigsh(g, 1, which="LA", tol=1e-6)[1][:, 0]), answers.listed),
            CUGRAPH: named(EIGEN),
        },
        None, (EACH, 1.5),
    ),
    f"label propagation, {ITERATIONS} iterations": Work(
        ("known", "known"), "simple", lambda g, c: ws.label_propagation(g, ITERATIONS), answers.column("label"),
        proofs.alike,
        {
            NETWORKIT: (lambda nk, g, c: nk.community.PLP(g, maxIterations=ITERATIONS).run(), ""),
            IGRAPH: (lambda ig, g, c: g.community_label_propagation(), ""),
            USERS: (lambda _, g, c: ws.run(Majority, g, max_iter=ITERATIONS).frame, None),
        },
        None, (None, None),
    ),
}  # fmt: skip


def works(part: str, case: Case, section: Section, repeats: int) -> None:
    """Time each work of a part in all libraries that are here; compare with the fastest, or with cuGraph."""
    ratios: list[float] = []
    pace: dict[str, Any] = {} if case.gpu else {"few": 1, "patience": PATIENCE}
    for name, work in WORKS.items():
        if work.parts[case.gpu] == part and len(case.source) <= work.most_edges:
            with warnings.catch_warnings():  # igraph's, of zeros among centralities
                warnings.simplefilter("ignore", RuntimeWarning)
                timings, values = race_work(case, name, work, section, repeats, **pace)
            quality = modularities(case, name, section, values) if work.communities else {}
            if (ratio := add_targets(case, name, work, section, timings, quality)) is not None:
                ratios.append(ratio)
    if part == "known" and not case.gpu and ratios:
        section.target("geometric mean of best ÷ ours", geometric_mean(ratios), MEAN, at_least=True)
