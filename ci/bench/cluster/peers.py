"""cuGraph on several GPUs: `cugraph.dask` on separate workers, compared with earlier timings of this library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench.cluster.jobs import BUILD
from bench.cluster.partitions import PartitionedGraph
from bench.cluster.workers import workers
from bench.gpu.cases import parallel_edges_graph
from bench.graphs import Weights
from bench.timing import OURS, Entrant, Section, compare, race

__all__ = ["TARGETS", "cugraph_cluster"]

CUGRAPH = "cuGraph"
POOL = 0.6  # part of a GPU's memory for RMM's pool, as cuGraph's documentation recommends
# Targets: cuGraph's time ÷ ours, on as many GPUs
TARGETS = {
    BUILD: 8.0,
    "PageRank, 20 supersteps": 3.5,
    "bfs": 10.0,
    "sssp": 6.0,
    "components": 10.0,
}


def cugraph_cluster(name: str, start: int, section: Section, repeats: int) -> str:
    """Time cuGraph's functions on the graph of our timings; add targets where these are known.

    Parameters
    ----------
    name : str
        A generated graph.
    start : int
        Where searches start.
    section : Section
        Has our timings; gets cuGraph's.
    repeats : int

    Returns
    -------
    str
        What was done.
    """
    try:
        import cugraph
        import cugraph.dask as dask_cugraph
        from cugraph.dask.comms import comms
    except ImportError as error:
        return f"not here: {error}"
    with workers(rmm_pool_size=POOL) as client:
        comms.initialize(p2p=True)
        try:
            theirs = Theirs(cugraph, dask_cugraph, PartitionedGraph(name, client))
            for job, entrant in theirs.entrants(start).items():
                mine = [one for one in section.timings if (one.job, one.library) == (job, OURS)]
                made = section.attempt(f"preparing {job}, {CUGRAPH}", entrant)
                measured = race(section, job, [] if made is None else [made], repeats, few=repeats)
                compare(section, f"{job}: {CUGRAPH} ÷ ours, {theirs.several.workers} GPUs",
                        [*mine, *measured], CUGRAPH, TARGETS[job], alone=False)  # fmt: skip
            theirs.let_go()
        finally:
            comms.destroy()
    table(section, theirs.several.workers)
    return f"on {theirs.several.workers} GPUs"


def table(section: Section, workers: int) -> None:
    """Add the summary table: our calls and cuGraph's."""
    rows = [
        [job, f"{ours.median * 1e3:.3g}", f"{theirs.median * 1e3:.3g}",
         f"{theirs.median / ours.median:.2f}"]
        for job, (ours, theirs) in section.pairs(OURS, CUGRAPH).items()
    ]  # fmt: skip
    if rows:
        section.table(f"cuGraph, {workers} GPUs each", ["work", "ours, ms", "cuGraph, ms", "ratio"],
                      rows)  # fmt: skip


class Theirs:
    """cuGraph's graphs on a cluster, one at a time."""

    def __init__(self, cugraph: Any, dask_cugraph: Any, several: PartitionedGraph) -> None:
        self._cugraph, self._dask = cugraph, dask_cugraph
        self.several = several
        self._graph: tuple[Any, Any] | None = None

    def entrants(self, start: int) -> dict[str, Callable[[], Entrant]]:
        """Return functions that make each job's entrant; jobs on the same graph are adjacent."""
        return {
            BUILD: self._build,
            "PageRank, 20 supersteps": self._pagerank,
            "bfs": lambda: self._search("bfs", None, start),
            "sssp": lambda: self._search("sssp", "lengths", start),
            "components": self._components,
        }

    def let_go(self) -> None:
        """Free graphs and frames."""
        self._graph = None
        self.several.let_go()

    def make(self, kind: Weights | None, *, transposed: bool, directed: bool = True) -> Any:
        """Build a graph; parallel edges are kept if it is directed."""
        edges = self.several.edges(kind)
        graph = parallel_edges_graph() if directed else self._cugraph.Graph(directed=False)
        graph.from_dask_cudf_edgelist(
            edges, source="source", destination="destination",
            weight=None if kind is None else "weight", store_transposed=transposed,
        )  # fmt: skip
        return graph

    def _held(self, kind: Weights | None, *, transposed: bool, directed: bool = True) -> Any:
        key = kind, transposed, directed
        if self._graph is None or self._graph[0] != key:
            self._graph = None
            self._graph = key, self.make(kind, transposed=transposed, directed=directed)
        return self._graph[1]

    def _build(self) -> Entrant:
        self.several.edges()
        return Entrant(CUGRAPH, lambda: self.make(None, transposed=True), lambda graph: None)

    def _pagerank(self) -> Entrant:
        graph = self._held(None, transposed=True)

        def run() -> Any:
            options = {"max_iter": 20, "tol": 1e-30, "fail_on_nonconvergence": False}
            found = self._dask.pagerank(graph, **options)  # and whether it has converged
            return self._there(found[0] if isinstance(found, tuple) else found)

        def check(frame: Any) -> None:
            total = float(frame["pagerank"].sum().compute())
            assert abs(total - 1) < 1e-3, f"the ranks sum to {total}"

        return Entrant(CUGRAPH, run, check)

    def _search(self, name: str, kind: Weights | None, start: int) -> Entrant:
        graph, search = self._held(kind, transposed=False), getattr(self._dask, name)

        def check(frame: Any) -> None:
            starts = int((frame["distance"] == 0).sum().compute())
            assert starts == 1, f"{starts} vertices are at distance 0"

        return Entrant(CUGRAPH, lambda: self._there(search(graph, start)), check)

    def _components(self) -> Entrant:
        graph = self._held(None, transposed=False, directed=False)
        return Entrant(
            CUGRAPH, lambda: self._there(self._dask.weakly_connected_components(graph)), _some
        )

    def _there(self, frame: Any) -> Any:
        """Return a Dask frame, computed."""
        from distributed import wait

        frame = frame.persist()
        wait(frame)
        return frame


def _some(frame: Any) -> None:
    assert len(frame) > 0, "there are no labels"
