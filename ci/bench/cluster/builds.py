"""Builds on all GPUs of this host, and their memory; from Parquet to ranks in Parquet; cuGraph's own on as many GPUs."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import Any, NamedTuple

import cugraph_ws as ws
from bench.answers import rows_of_csc
from bench.calls import build, check_csc
from bench.cluster.contests import MANY, REPEATS, run_program
from bench.cluster.partitions import (
    GatheredCase,
    PartitionedGraph,
    forget_peak,
    frame_of_part,
    peak,
    workers,
)
from bench.forms import CUGRAPH, Case, library, parallel_edges_graph, smaller
from bench.graphs import RMAT
from bench.programs import PROGRAMS, SUPERSTEPS
from bench.timing import OURS, Entrant, Measured, Section, clocked, race

ONE, PART = "one GPU", "one GPU, its part"  # of a graph that is split among all GPUs
BUILD = "build from a frame"
BUILD_TARGETS = {ONE: 2.0, PART: 1.3}  # × one GPU's build, of the whole graph and of a part
MEMORY_TARGETS = {4: 0.35}  # by number of GPUs, relative to one GPU's peak
PAGERANK = PROGRAMS["pagerank"]


# -------------------------------------------------------------------------------------- builds


def builds(name: str, section: Section, repeats: int) -> None:
    """Time the build from a frame whose partitions are on the workers, and from one frame; compare peaks of memory.

    One GPU builds the same graph, and a graph with each worker's share of vertices and edges.
    """
    with workers() as client:
        _take_memory_as_workers()
        several = PartitionedGraph(name, client)
        case = GatheredCase(name, several.places)
        print(f"  {case}, {several.workers} GPUs", flush=True)
        edges, part = several.edges(), smaller(name, several.workers)
        check = partial(_check_partitioned, case)
        entrants = [_entrant(OURS, case, partial(ws.Graph, edges), check)]
        entrants += [
            _entrant(by, graph, partial(build, graph.table), partial(_check_rows, graph))
            for by, graph in ((ONE, case), (PART, part))
            if graph is not None
        ]
        timings = race(section, BUILD, entrants, min(repeats, REPEATS), few=REPEATS)
        for by, bound in BUILD_TARGETS.items():
            target = f"{BUILD}: {several.workers} GPUs ÷ {by.replace(' GPU', '')}"
            section.ratio(target, timings, OURS, bound, under=by, at_least=False)
        section.attempt("memory", lambda: _memory(several, case, section))
        several.let_go(), case.let_go()


def _take_memory_as_workers() -> None:
    """Let this process allocate GPU memory from the driver's pool, as workers of `ws.local_cluster` do."""
    import rmm

    rmm.mr.set_current_device_resource(rmm.mr.CudaAsyncMemoryResource())


def _entrant(by: str, case: Case, make: Callable[[], Any], check: Callable[[Any], Any]) -> Entrant:
    """Return a build; it moves the ends that it reads, and the indices and offsets that it writes."""
    moved = 12 * len(case.source) + 8 * case.vertices
    return Entrant(
        by, make, check, release=methodcaller("close"), edges=lambda graph: len(case.source),
        moved=lambda graph: moved,
    )  # fmt: skip


def _check_rows(case: Case, graph: ws.Graph) -> float:
    return check_csc(case, rows_of_csc(case, graph))


def _check_partitioned(case: Case, graph: Any) -> None:
    """Check the numbers of vertices and edges, and the balance of arcs; results verify the rest."""
    assert graph.number_of_vertices == case.vertices, "vertices are missing"
    assert graph.number_of_edges == len(case.source), "edges are missing"
    arcs = [part["arcs"] for part in graph.partitions]
    print(f"  arcs of each: {', '.join(f'{count:,}' for count in arcs)}", flush=True)
    assert max(arcs) <= 1.5 * sum(arcs) / len(arcs), "one worker has most of the work"


def _memory(several: PartitionedGraph, case: GatheredCase, section: Section) -> None:
    """Compare the peak memory of workers with one GPU's: build and 20 supersteps, without the frame."""
    several.release_graph(), case.release("ours")
    edges = several.edges()
    several.client.run(forget_peak)
    with ws.Graph(edges) as graph:
        run_program(PAGERANK, graph, case.start, several.values)
    peak_of = several.client.run(peak)
    forget_peak()
    with build(case.table) as graph:
        run_program(PAGERANK, graph, case.start, case.values)
    memory_figures(section, peak(), [peak_of[address] for address in several.addresses])


def memory_figures(section: Section, single: int, peaks: Sequence[int]) -> None:
    """Add the table of peaks, and the target if there is one for so many GPUs."""
    rows = [[ONE, f"{single / 1e9:.2f}", "1.00"]]
    rows += [
        [f"worker {place}", f"{bytes_ / 1e9:.2f}", f"{bytes_ / single:.2f}"]
        for place, bytes_ in enumerate(peaks)
    ]
    section.table("peak memory, frame apart", ["GPU", "GB", "of one GPU's"], rows)
    if (most := MEMORY_TARGETS.get(len(peaks))) is not None:
        section.target(
            f"peak memory: a worker of {len(peaks)} ÷ one GPU", max(peaks) / single, most
        )


# --------------------------------------------------------------------------- Parquet to Parquet

STAGES = ("read and build", f"PageRank, {SUPERSTEPS} supersteps", "write ranks")
WARM_UP = "RM14"  # goes all the way first, so that compilation does not count
PATIENCE = 20.0  # seconds; a pass that takes longer is not repeated


def large(name: str, section: Section, repeats: int) -> None:
    """Time reading and building, ranking, and writing; workers draw the edges and write them to TMPDIR."""
    if name not in RMAT:
        raise ValueError(f"{name}: give one of {', '.join(RMAT)}")
    with workers() as client:
        _passes(WARM_UP, client, 1)
        written, passes, superstep = _passes(name, client, min(repeats, REPEATS))
        count = len(client.nthreads())
    edges = RMAT[name][1]
    seconds = {stage: [times[stage] for times in passes] for stage in STAGES}
    section.timings += [
        Measured(f"Parquet to Parquet: {stage}", name, OURS, times, edges=edges)
        for stage, times in seconds.items()
    ]
    medians = {stage: statistics.median(times) for stage, times in seconds.items()}
    medians = {
        "draw and write edges, once": written, **medians, "from edges to ranks": sum(medians.values()),
    }  # fmt: skip
    rows = [[stage, f"{time:.2f}", f"{edges / time / 1e6:,.0f}"] for stage, time in medians.items()]
    rows.append(["a superstep, by the trace", f"{superstep:.4f}", ""])
    section.table(
        f"Parquet to Parquet, {count} GPUs, {edges:,} edges", ["stage", "seconds", "M edges/s"], rows,
    )  # fmt: skip


def write_part(name: str, place: int, places: int, folder: str) -> int:
    """Draw a partition and write it as a Parquet file; return its edges."""
    frame = frame_of_part(name, place, places, None)
    frame.to_parquet(str(Path(folder, f"part-{place:04d}.parquet")), index=False)
    return len(frame)


def _passes(name: str, client: Any, most: int) -> tuple[float, list[dict[str, float]], float]:
    """Write a graph, and go all the way; return seconds of writing, of each pass's stages, of a superstep."""
    with tempfile.TemporaryDirectory() as folder:
        edges = Path(folder, "edges")
        edges.mkdir()
        several = PartitionedGraph(name, client)
        written, counts = clocked(lambda: client.gather(several.submitted(write_part, str(edges))))
        assert sum(counts) == RMAT[name][1], f"{sum(counts):,} edges were written"
        passes: list[dict[str, float]] = []
        while len(passes) < most and (not passes or sum(passes[-1].values()) <= PATIENCE):
            seconds, superstep = _pass(str(edges), str(Path(folder, f"ranks {len(passes)}")))
            passes.append(seconds)
            print(
                f"  {name}: "
                + ", ".join(f"{stage} {time:.2f} s" for stage, time in seconds.items()),
                flush=True,
            )
    return written, passes, superstep


def _pass(edges: str, ranks: str) -> tuple[dict[str, float], float]:
    """Go from a folder of edges to one of ranks, and check the number and the sum of these."""
    import dask_cudf

    times = []
    seconds, graph = clocked(
        lambda: ws.Graph(dask_cudf.read_parquet(edges), consume=True, spread="parts")
    )
    times.append(seconds)
    with graph:
        seconds, result = clocked(lambda: ws.run(ws.PageRank, graph, max_iter=SUPERSTEPS, tol=0.0))
        times.append(seconds)
        times.append(clocked(lambda: result.frame.to_parquet(ranks))[0])
        vertices, superstep = (
            graph.number_of_vertices,
            float(result.trace["milliseconds"].mean()) / 1e3,
        )
    written = dask_cudf.read_parquet(ranks)
    assert len(written) == vertices, f"{len(written):,} ranks for {vertices:,} vertices"
    total = float(written["pagerank"].sum().compute())
    assert abs(total - 1.0) < 1e-6, f"the ranks sum to {total}"
    return dict(zip(STAGES, times, strict=True)), superstep


# ----------------------------------------------------------------------------------------- cuGraph

POOL = 0.6  # part of a GPU's memory for RMM's pool, as cuGraph's documentation recommends
STOP = {"max_iter": SUPERSTEPS, "fail_on_nonconvergence": False}


class Peer(NamedTuple):
    """Work that cuGraph's own clusters do too.

    Attributes
    ----------
    bound : float
        Of cuGraph's time ÷ ours, on as many GPUs.
    form : str or None
        The graph's, if it has weights.
    transposed, directed : bool
        Whether cuGraph's graph is.
    ours : callable, optional
        Our call; takes our graph and the vertex to start from.  The build has none.
    theirs : callable, optional
        cuGraph's; takes the module `cugraph.dask`, its graph, and the vertex.
    """

    bound: float
    form: str | None
    transposed: bool
    directed: bool
    ours: Callable[[Any, int], Any] | None = None
    theirs: Callable[[Any, Any, int], Any] | None = None


def _ranks(cugraph: Any, graph: Any, start: int) -> Any:
    answer = cugraph.pagerank(graph, tol=1e-30, **STOP)  # and whether it has converged
    return answer[0] if isinstance(answer, tuple) else answer


PEERS = {
    BUILD: Peer(8.0, None, True, True),
    "PageRank": Peer(3.5, None, True, True, lambda g, _: ws.pagerank(g, tol=0.0, **STOP), _ranks),
    "bfs": Peer(10.0, None, False, True, ws.bfs, lambda cg, g, start: cg.bfs(g, start)),
    "sssp": Peer(6.0, "weighted", False, True, ws.sssp, lambda cg, g, start: cg.sssp(g, start)),
    "components": Peer(
        10.0, None, False, False, lambda g, _: ws.weakly_connected_components(g),
        lambda cg, g, _: cg.weakly_connected_components(g),
    ),
}  # fmt: skip


def peers(name: str, section: Section, repeats: int) -> None:
    """Time our functions and `cugraph.dask`'s on workers of their own, one after the other."""
    with workers() as client:
        several = PartitionedGraph(name, client)
        case = GatheredCase(name, several.places)
        start, vertices = case.start, case.vertices
        case.let_go()
        del case
        ours = _raced(section, several, partial(_our_entrant, several, start, vertices), repeats)
    if library(CUGRAPH) is None:
        print("  cuGraph is not installed", flush=True)
        return
    from cugraph.dask.comms import comms

    with workers(rmm_pool_size=POOL) as client:
        comms.initialize(p2p=True)
        several = PartitionedGraph(name, client)
        try:
            entrant = partial(_cugraphs_entrant, several, start, vertices)
            theirs = _raced(section, several, entrant, repeats)
        finally:
            comms.destroy()
    for job, peer in PEERS.items():
        target = f"{job}: {CUGRAPH} ÷ ours, {several.workers} GPUs"
        section.ratio(target, ours[job] | theirs[job], CUGRAPH, peer.bound)


def _raced(
    section: Section, several: PartitionedGraph, entrant: Callable[[str], Entrant], repeats: int
) -> dict[str, dict[str, Measured]]:
    """Time one library's calls; each entrant is made, with its graph, when it is its turn."""
    timings = {}
    for job, peer in PEERS.items():
        several.edges(peer.form)
        runs = min(repeats, REPEATS)
        timings[job] = race(section, job, [entrant(job)], runs, few=REPEATS, many=MANY)
    several.let_go()
    return timings


def _our_entrant(several: PartitionedGraph, start: int, vertices: int, job: str) -> Entrant:
    peer = PEERS[job]
    if peer.ours is None:
        build_all = partial(ws.Graph, several.edges(), spread="parts")
        return Entrant(OURS, build_all, release=methodcaller("close"))
    run = partial(peer.ours, several.graph(peer.form), start)
    return Entrant(OURS, run, partial(_check_peer, job, vertices))


def _cugraphs_entrant(several: PartitionedGraph, start: int, vertices: int, job: str) -> Entrant:
    """Return cuGraph's entrant; its results are computed where they are."""
    import cugraph
    import cugraph.dask
    from distributed import wait

    peer = PEERS[job]

    def make() -> Any:
        graph = parallel_edges_graph() if peer.directed else cugraph.Graph(directed=False)
        graph.from_dask_cudf_edgelist(
            several.edges(peer.form), source="source", destination="destination",
            weight=None if peer.form is None else "weight", store_transposed=peer.transposed,
        )  # fmt: skip
        return graph

    if (call := peer.theirs) is None:
        return Entrant(CUGRAPH, make)

    def run(graph: Any) -> Any:
        answer = call(cugraph.dask, graph, start).persist()
        wait(answer)
        return answer

    rows = None if job == "components" else vertices  # it has no vertices without edges
    return Entrant(CUGRAPH, partial(run, make()), partial(_check_peer, job, rows))


def _check_peer(job: str, vertices: int | None, frame: Any) -> None:
    """Check a result's number of rows, if given, and the sum of ranks or the start of a search."""
    assert vertices is None or len(frame) == vertices, "vertices are missing"
    if job == "PageRank":
        total = float(frame["pagerank"].sum().compute())
        assert abs(total - 1) < 1e-3, f"the ranks sum to {total}"
    elif job in ("bfs", "sssp"):
        assert int((frame["distance"] == 0).sum().compute()) == 1, "there is not one start"
