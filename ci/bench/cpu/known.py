"""Other well-known algorithms on two cores: this library against NetworKit, igraph, leidenalg and SciPy.

Communities, triangles, similarity, centralities and structure, on graphs that each library has built
before; our time includes the result frame.  Answers of the libraries are compared with ours.  A library's
communities count only if their modularity is at least `QUALITY` times ours, and ours must be at least
`QUALITY` times the best.  igraph's and NetworKit's label propagation is asynchronous and stops by itself,
while ours runs the iterations that LDBC prescribes; its ratio is in the table but has no target.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from statistics import geometric_mean, median
from types import ModuleType
from typing import Any

import networkit
import numpy as np
import pandas as pd
from scipy import sparse
from scipy.sparse import csgraph, linalg
from verify import Array, Edges

import cugraph_ws as ws
from bench.cpu.algorithms import Built
from bench.cpu.cases import Case
from bench.timing import OURS, Entrant, Measured, Section, Target, by_library, race

try:
    import leidenalg
except ModuleNotFoundError:  # a package of its own licence: measured where it is installed
    leidenalg: ModuleType | None = None  # type: ignore[no-redef]

__all__ = ["known"]

NETWORKIT, IGRAPH, LEIDENALG, SCIPY = "NetworKit", "igraph", "leidenalg", "SciPy"
PAIRS = 100_000  # edges for whose ends similarity is computed
SOURCES = 64  # of a sampled betweenness
TRUSS = 5
ITERATIONS = 10  # of label propagation
ALPHA = 1e-4  # of Katz centrality; smaller if a degree is large
NEAR = 1e-3  # allowed difference relative to the greatest centrality: stopping rules differ
QUALITY = 0.99
EACH, MEAN = 0.8, 1.5  # targets: a library's time ÷ ours, of each work and on average
MOST_PRODUCTS = 300_000_000  # most multiplications in a product of matrices
PATIENCE = 10.0  # seconds; an entrant that takes longer runs once

Way = tuple[Callable[[], Any], Callable[[Any], Array]]


class Graphs:
    """A case's graph in the forms that the functions take, in each library.

    Attributes
    ----------
    simple, weighted, directed : Built
        Each pair of neighbours once; the same with a weight; all edges, without weights.
    """

    def __init__(self, case: Case) -> None:
        one = case.undirected
        weight = np.random.default_rng(5).random(len(one.source))
        self.n = one.n
        self.simple = Built(one)
        self.weighted = Built(
            Edges(one.source, one.destination, one.n, weight=weight, directed=False)
        )
        self.directed = Built(
            Edges(case.directed.source, case.directed.destination, case.directed.n)
        )
        drawn = np.random.default_rng(6).permutation(len(one.source))[:PAIRS]
        self.pairs = np.stack([one.source[drawn], one.destination[drawn]], axis=1)
        busy = np.flatnonzero(np.bincount(one.source, minlength=one.n))
        self.sources = busy[:: max(1, len(busy) // SOURCES)][:SOURCES]
        degree = np.bincount(one.source, minlength=one.n)
        degree += np.bincount(one.destination, minlength=one.n)
        self.alpha = min(ALPHA, 0.5 / max(1, int(degree.max(initial=0))))

    @cached_property
    def matrix(self) -> Any:
        """Adjacency of the simple graph."""
        return self.simple.edges.matrix()

    @cached_property
    def weights(self) -> Any:
        """Adjacency of the weighted graph."""
        return self.weighted.edges.matrix()

    @cached_property
    def arcs(self) -> Any:
        """Adjacency of the directed graph."""
        return self.directed.edges.matrix()


@dataclass(frozen=True)
class Work:
    """A function, and the libraries that have it.

    Attributes
    ----------
    ways : dict of str to (callable, callable)
        By library a call, and the conversion of its answer to an array; ours first.
    agree : callable
        Takes our array and another's; returns their difference, or raises.
    communities : bool
        Whether arrays are partitions, whose modularity is compared.
    target : bool
        Whether the ratio has a target, and counts in the mean.
    products : bool
        Whether SciPy multiplies the adjacency with itself.
    """

    ways: dict[str, Way]
    agree: Callable[[Array, Array], float | None] = lambda ours, theirs: None
    communities: bool = False
    target: bool = True
    products: bool = False


def exactly(ours: Array, theirs: Array) -> float:
    """Require the same numbers."""
    np.testing.assert_array_equal(theirs, ours)
    return 0.0


def nearly(ours: Array, theirs: Array, within: float = NEAR) -> float:
    """Require nearly equal values, each relative to the greatest: norms differ."""
    off = float(np.abs(theirs / theirs.max() - ours / ours.max()).max())
    assert off <= within, f"{off} of the greatest value"
    return off


def alike(ours: Array, theirs: Array) -> float:
    """Require the same classes, whatever their labels."""
    pairs = len(np.unique(np.stack([ours, theirs]), axis=1).T)
    assert pairs == len(np.unique(ours)) == len(np.unique(theirs)), "other classes"
    return 0.0


def _column(name: str) -> Callable[[Any], Array]:
    return lambda found: found[name].to_numpy()


def _total(*names: str) -> Callable[[Any], Array]:
    return lambda found: np.array([found[name].sum() for name in names])


# -------------------------------------------------------------------------------- the functions


def _louvain(graphs: Graphs) -> Work:
    return Work(
        {
            OURS: (lambda: ws.louvain(graphs.simple.ours)[0], _column("partition")),
            NETWORKIT: (
                lambda: networkit.community.PLM(graphs.simple.networkit, refine=False).run(),
                lambda found: np.array(found.getPartition().getVector()),
            ),
            IGRAPH: (
                graphs.simple.igraph.community_multilevel,
                lambda found: np.array(found.membership),
            ),
        },
        communities=True,
    )


def _leiden(graphs: Graphs) -> Work:
    ways: dict[str, Way] = {
        OURS: (lambda: ws.leiden(graphs.simple.ours)[0], _column("partition")),
        NETWORKIT: (
            lambda: networkit.community.ParallelLeiden(graphs.simple.networkit).run(),
            lambda found: np.array(found.getPartition().getVector()),
        ),
        IGRAPH: (
            lambda: graphs.simple.igraph.community_leiden("modularity", n_iterations=2),
            lambda found: np.array(found.membership),
        ),
    }
    if leidenalg is not None:
        kind = leidenalg.ModularityVertexPartition
        ways[LEIDENALG] = (
            lambda: leidenalg.find_partition(graphs.simple.igraph, kind, n_iterations=2, seed=1),
            lambda found: np.array(found.membership),
        )
    return Work(ways, communities=True)


def _triangles(graphs: Graphs) -> Work:
    def by_scipy() -> Array:
        matrix = graphs.matrix
        lower = sparse.tril(matrix, format="csr")
        found = (lower @ lower).multiply(lower)
        return np.array([found.sum()])

    graph = graphs.simple.networkit
    graph.indexEdges()
    return Work(
        {
            OURS: (
                lambda: ws.triangle_count(graphs.simple.ours),
                lambda found: _total("counts")(found) // 3,
            ),
            NETWORKIT: (
                lambda: networkit.sparsification.TriangleEdgeScore(graph).run(),
                lambda found: np.array([sum(found.scores()) / 3]),
            ),
            IGRAPH: (
                graphs.simple.igraph.list_triangles,
                lambda found: np.array([len(found)]),
            ),
            SCIPY: (by_scipy, lambda found: found),
        },
        exactly,
        products=True,
    )


def _clustering(graphs: Graphs) -> Work:
    def by_networkit() -> Any:
        return networkit.centrality.LocalClusteringCoefficient(graphs.simple.networkit, True).run()

    return Work(
        {
            OURS: (
                lambda: ws.clustering_coefficient(graphs.simple.ours),
                _column("clustering_coefficient"),
            ),
            NETWORKIT: (by_networkit, lambda found: np.array(found.scores())),
            IGRAPH: (
                lambda: graphs.simple.igraph.transitivity_local_undirected(mode="zero"),
                np.array,
            ),
        },
        nearly,
    )


def _jaccard(graphs: Graphs) -> Work:
    pairs = graphs.pairs
    asked = pd.DataFrame({"first": pairs[:, 0], "second": pairs[:, 1]})
    listed = [(int(one), int(other)) for one, other in pairs]

    def by_networkit() -> Any:
        return networkit.linkprediction.JaccardIndex(graphs.simple.networkit).runOn(listed)

    return Work(
        {
            OURS: (lambda: ws.jaccard(graphs.simple.ours, asked), _column("jaccard_coeff")),
            NETWORKIT: (by_networkit, partial(_by_pair, pairs)),
            IGRAPH: (
                lambda: graphs.simple.igraph.similarity_jaccard(pairs=listed, loops=False),
                np.array,
            ),
        },
        nearly,
    )


def _by_pair(pairs: Array, found: Any) -> Array:
    """Return values in our order of pairs; NetworKit returns pairs and values in another order."""
    values = dict(found)
    return np.array([values[one, other] for one, other in pairs.tolist()])


def _k_truss(graphs: Graphs) -> Work:
    def by_scipy() -> Any:
        """Drop edges in too few triangles until none is left, by products of the adjacency matrix."""
        matrix = graphs.matrix
        while True:
            support = (matrix @ matrix).multiply(matrix).tocsr()
            support.data[support.data < TRUSS - 2] = 0
            support.eliminate_zeros()
            support.data[:] = 1
            if support.nnz == matrix.nnz:
                return matrix
            matrix = support

    return Work(
        {
            OURS: (
                lambda: ws.k_truss(graphs.simple.ours, TRUSS),
                lambda found: np.array([len(found)]),
            ),
            SCIPY: (by_scipy, lambda found: np.array([found.nnz // 2])),
        },
        exactly,
        products=True,
    )


def _betweenness(graphs: Graphs) -> Work:
    sources = pd.Series(graphs.sources)
    listed = graphs.sources.tolist()
    drawn = min(SOURCES, graphs.n)

    def by_networkit() -> Any:
        kind = networkit.centrality.EstimateBetweenness
        return kind(graphs.simple.networkit, drawn, False, True).run()

    # A path that starts at a source is none through it: sources have one search less.
    searches = np.full(graphs.n, float(drawn))
    searches[graphs.sources] -= 1

    def agree(ours: Array, theirs: Array) -> float | None:
        return nearly(ours, theirs) if theirs.size else None

    return Work(
        {
            OURS: (
                lambda: ws.betweenness_centrality(graphs.simple.ours, k=sources),
                _column("betweenness_centrality"),
            ),
            # NetworKit draws the sources itself
            NETWORKIT: (by_networkit, lambda found: np.empty(0)),
            IGRAPH: (
                lambda: graphs.simple.igraph.betweenness(directed=False, sources=listed),
                lambda found: np.array(found) / searches,
            ),
        },
        agree,
    )


def _strong_components(graphs: Graphs) -> Work:
    def by_networkit() -> Any:
        return networkit.components.StronglyConnectedComponents(graphs.directed.networkit).run()

    def by_scipy() -> Array:
        return csgraph.connected_components(graphs.arcs, connection="strong")[1]

    return Work(
        {
            OURS: (
                lambda: ws.strongly_connected_components(graphs.directed.ours),
                _column("labels"),
            ),
            NETWORKIT: (
                by_networkit,
                lambda found: np.array(found.getPartition().getVector()),
            ),
            IGRAPH: (
                lambda: graphs.directed.igraph.connected_components("strong").membership,
                np.array,
            ),
            SCIPY: (by_scipy, np.asarray),
        },
        alike,
    )


def _spanning_tree(graphs: Graphs) -> Work:
    def by_networkit() -> Any:
        return networkit.graph.KruskalMSF(graphs.weighted.networkit).run()

    def by_igraph() -> Any:
        graph = graphs.weighted.igraph
        return graph.spanning_tree(weights="weight", return_tree=False)

    weight = graphs.weighted.edges.weight
    return Work(
        {
            OURS: (
                lambda: ws.minimum_spanning_forest(graphs.weighted.ours),
                _total("weight"),
            ),
            NETWORKIT: (by_networkit, lambda found: np.array([found.getTotalWeight()])),
            IGRAPH: (by_igraph, lambda found: np.array([weight[found].sum()])),
            SCIPY: (
                lambda: csgraph.minimum_spanning_tree(graphs.weights),
                lambda found: np.array([found.sum()]),
            ),
        },
        lambda ours, theirs: float(np.testing.assert_allclose(theirs, ours) or 0),
    )


def _hits(graphs: Graphs) -> Work:
    def by_scipy() -> tuple[Array, Array]:
        """Return singular vectors of the adjacency matrix, as NetworkX computes HITS."""
        left, _, right = linalg.svds(graphs.arcs, k=1, tol=1e-6, rng=1)
        return np.abs(left[:, 0]), np.abs(right[0])

    def by_igraph() -> Any:
        graph = graphs.directed.igraph
        return graph.hub_score(scale=True), graph.authority_score(scale=True)

    return Work(
        {
            OURS: (lambda: ws.hits(graphs.directed.ours), _column("hubs")),
            IGRAPH: (by_igraph, lambda found: np.array(found[0])),
            SCIPY: (by_scipy, lambda found: found[0]),
        },
        nearly,
    )


def _katz(graphs: Graphs) -> Work:
    alpha, n = graphs.alpha, graphs.n

    def by_scipy() -> Array:
        """Iterate to our tolerance; NetworKit stops before its values are within `NEAR`."""
        matrix, values = graphs.matrix, np.zeros(n)
        while True:
            fresh = 1.0 + alpha * (matrix @ values)
            if np.abs(fresh - values).sum() < 1e-6 * n:
                return fresh
            values = fresh

    return Work(
        {
            OURS: (
                lambda: ws.katz_centrality(graphs.simple.ours, alpha),
                _column("katz_centrality"),
            ),
            SCIPY: (by_scipy, np.asarray),
        },
        nearly,
    )


def _eigenvector(graphs: Graphs) -> Work:
    def by_networkit() -> Any:
        return networkit.centrality.EigenvectorCentrality(graphs.simple.networkit, 1e-6).run()

    def by_scipy() -> Array:
        return np.abs(linalg.eigsh(graphs.matrix, 1, which="LA", tol=1e-6)[1][:, 0])

    return Work(
        {
            OURS: (
                lambda: ws.eigenvector_centrality(graphs.simple.ours),
                _column("eigenvector_centrality"),
            ),
            NETWORKIT: (by_networkit, lambda found: np.array(found.scores())),
            IGRAPH: (
                graphs.simple.igraph.eigenvector_centrality,
                np.array,
            ),
            SCIPY: (by_scipy, np.asarray),
        },
        partial(nearly, within=0.02),
    )


def _label_propagation(graphs: Graphs) -> Work:
    def by_networkit() -> Any:
        return networkit.community.PLP(graphs.simple.networkit, maxIterations=ITERATIONS).run()

    return Work(
        {
            OURS: (
                lambda: ws.label_propagation(graphs.simple.ours, ITERATIONS),
                _column("label"),
            ),
            NETWORKIT: (by_networkit, lambda found: np.array(found.getPartition().getVector())),
            IGRAPH: (
                graphs.simple.igraph.community_label_propagation,
                lambda found: np.array(found.membership),
            ),
        },
        target=False,
    )


WORKS: dict[str, Callable[[Graphs], Work]] = {
    "Louvain": _louvain,
    "Leiden": _leiden,
    "triangles": _triangles,
    "clustering coefficient": _clustering,
    f"Jaccard, {PAIRS:,} pairs": _jaccard,
    f"k-truss, k = {TRUSS}": _k_truss,
    f"betweenness, {SOURCES} sources": _betweenness,
    "strong components": _strong_components,
    "spanning forest": _spanning_tree,
    "HITS": _hits,
    "Katz": _katz,
    "eigenvector": _eigenvector,
    f"label propagation, {ITERATIONS} iterations": _label_propagation,
}


def _without_products(graphs: Graphs, work: Work) -> Work:
    """Return the work without SciPy, if SciPy's products of matrices would take minutes."""
    degree = np.diff(graphs.matrix.indptr).astype(np.int64)
    if not work.products or int((degree * degree).sum()) <= MOST_PRODUCTS:
        return work
    return replace(work, ways={name: way for name, way in work.ways.items() if name != SCIPY})


def known(case: Case, section: Section, repeats: int) -> None:
    """Time each function in all libraries, wall and processor time; compare with the fastest."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # igraph's, of zeros among centralities
        _known(case, section, repeats)


def _known(case: Case, section: Section, repeats: int) -> None:
    graphs = Graphs(case)
    ratios: dict[str, float] = {}
    rows: list[list[str]] = []
    for name, make in WORKS.items():
        work = section.attempt(f"preparing {name}", partial(make, graphs))
        if work is None:
            continue
        work = _without_products(graphs, work)
        answers: dict[str, Array] = {}
        busy: dict[str, list[float]] = {library: [] for library in work.ways}
        entrants = [
            _entrant(library, *way, work, answers, busy[library])
            for library, way in work.ways.items()
        ]
        found = by_library(race(section, name, entrants, repeats, few=1, patience=PATIENCE))
        quality = _quality(graphs, answers, section, name) if work.communities else {}
        ratio = _ratio(found, quality)
        rows.append(_row(name, found, busy, quality, ratio))
        if work.target and ratio is not None:
            ratios[name] = ratio
            target = f"{name}: best of the libraries ÷ ours"
            section.targets.append(Target(target, case.name, ratio, EACH, at_least=True))
    columns = ["work", "ours, ms", "best, ms", "by", "ratio", "ours, processor ms", "theirs"]
    section.table("Ours beside the best", [*columns, "modularity, ours and theirs"], rows)
    if ratios:
        mean = geometric_mean(ratios.values())
        name = "geometric mean of best ÷ ours"
        section.targets.append(Target(name, case.name, mean, MEAN, at_least=True))


def _entrant(
    library: str,
    run: Callable[[], Any],
    values: Callable[[Any], Array],
    work: Work,
    answers: dict[str, Array],
    busy: list[float],
) -> Entrant:
    """Return an entrant whose processor time is recorded, and whose answer is compared with ours."""

    def timed() -> Any:
        begun = time.process_time()
        answer = run()
        busy.append(time.process_time() - begun)
        return answer

    def check(answer: Any) -> float | None:
        answers[library] = values(answer)
        return None if library == OURS else work.agree(answers[OURS], answers[library])

    return Entrant(library, timed, check)


def _quality(
    graphs: Graphs, answers: Mapping[str, Array], section: Section, name: str
) -> dict[str, float]:
    """Return the modularity of each library's partition; ours has a target."""
    found = {
        library: float(graphs.simple.igraph.modularity(np.unique(one, return_inverse=True)[1]))
        for library, one in answers.items()
    }
    if OURS in found:
        name, share = f"{name}: our modularity ÷ the best", found[OURS] / max(found.values())
        section.targets.append(Target(name, section.graph, share, QUALITY, at_least=True))
    return found


def _best(found: Mapping[str, Measured], quality: Mapping[str, float]) -> Measured | None:
    """Return the timing of the fastest library whose answer is as good as ours."""
    least = QUALITY * quality.get(OURS, 0.0)
    able = [
        one
        for library, one in found.items()
        if library != OURS and quality.get(library, 0.0) >= least
    ]
    return min(able, key=lambda one: one.median, default=None)


def _ratio(found: Mapping[str, Measured], quality: Mapping[str, float]) -> float | None:
    best = _best(found, quality)
    return best.median / found[OURS].median if best is not None and OURS in found else None


def _row(
    name: str,
    found: Mapping[str, Measured],
    busy: Mapping[str, list[float]],
    quality: Mapping[str, float],
    ratio: float | None,
) -> list[str]:
    """Return a row of the table."""

    def processor(library: str) -> str:
        return f"{median(busy[library][2:] or busy[library]) * 1e3:,.1f}"

    ours, best = found.get(OURS), _best(found, quality)
    return [
        name,
        f"{ours.median * 1e3:,.1f}" if ours else "",
        f"{best.median * 1e3:,.1f}" if best else "",
        best.library if best else "",
        f"{ratio:.2f}" if ratio is not None else "",
        processor(OURS) if ours else "",
        processor(best.library) if best else "",
        f"{quality[OURS]:.4f}, {quality[best.library]:.4f}" if quality and best else "",
    ]
