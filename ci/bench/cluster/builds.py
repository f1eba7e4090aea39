"""Builds on all GPUs of this host, and their memory; from Parquet to ranks in Parquet; cuGraph's own on as many GPUs."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import cugraph_ws as ws
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
from bench.peers import build, check_csc, rows_of_csc
from bench.programs import PROGRAMS, SUPERSTEPS
from bench.timing import OURS, Entrant, Measured, Section, by_library, clocked, compare, race

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
        entrants = [
            _entrant(OURS, case, partial(ws.Graph, edges), partial(_check_partitioned, case))
        ]
        entrants += [
            _entrant(by, graph, partial(build, graph.table), partial(_check_rows, graph))
            for by, graph in ((ONE, case), (PART, part))
            if graph is not None
        ]
        timings = by_library(race(section, BUILD, entrants, min(repeats, REPEATS), few=REPEATS))
        for by in [by for by in BUILD_TARGETS if {by, OURS} <= set(timings)]:
            ratio = timings[OURS].median / timings[by].median
            target = f"{BUILD}: {several.workers} GPUs ÷ {by.replace(' GPU', '')}"
            section.target(target, ratio, BUILD_TARGETS[by])
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
        by, make, check, release=ws.Graph.close, edges=lambda graph: len(case.source),
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
# By work: targets of cuGraph's time ÷ ours, on as many GPUs; form, whether it is transposed, whether directed
PEERS: dict[str, tuple[float, str | None, bool, bool]] = {
    BUILD: (8.0, None, True, True), "PageRank": (3.5, None, True, True), "bfs": (10.0, None, False, True),
    "sssp": (6.0, "weighted", False, True), "components": (10.0, None, False, False),
}  # fmt: skip
STOP = {"max_iter": SUPERSTEPS, "fail_on_nonconvergence": False}


def peers(name: str, section: Section, repeats: int) -> None:
    """Time our functions and `cugraph.dask`'s on workers of their own, one after the other."""
    ours: dict[str, Callable[[Any, int], Any]] = {
        BUILD: lambda graph, start: graph, "PageRank": lambda graph,
        start: ws.pagerank(graph, tol=0.0, **STOP), "bfs": ws.bfs, "sssp": ws.sssp,
        "components": lambda graph, start: ws.weakly_connected_components(graph),
    }  # fmt: skip
    with workers() as client:
        several = PartitionedGraph(name, client)
        case = GatheredCase(name, several.places)
        start, vertices = case.start, case.vertices
        case.let_go()
        del case
        _race_peers(OURS, several, section, repeats, start, vertices, several.graph, ours)
    if library(CUGRAPH) is None:
        print("  cuGraph is not installed", flush=True)
        return
    import cugraph
    import cugraph.dask as theirs
    from cugraph.dask.comms import comms

    with workers(rmm_pool_size=POOL) as client:
        comms.initialize(p2p=True)
        several = PartitionedGraph(name, client)

        def make(form: str | None, transposed: bool, directed: bool) -> Any:
            graph = parallel_edges_graph() if directed else cugraph.Graph(directed=False)
            weight = None if form is None else "weight"
            graph.from_dask_cudf_edgelist(
                several.edges(form), source="source", destination="destination", weight=weight,
                store_transposed=transposed,
            )  # fmt: skip
            return graph

        def ranks(graph: Any, start: int) -> Any:
            answer = theirs.pagerank(graph, tol=1e-30, **STOP)  # and whether it has converged
            return answer[0] if isinstance(answer, tuple) else answer

        calls = {
            BUILD: lambda graph, start: graph, "PageRank": ranks,
            "bfs": theirs.bfs, "sssp": theirs.sssp,
            "components": lambda graph, start: theirs.weakly_connected_components(graph),
        }  # fmt: skip
        try:
            _race_peers(CUGRAPH, several, section, repeats, start, vertices, make, calls)
        finally:
            comms.destroy()
    for job, (bound, *_) in PEERS.items():
        timings = [timing for timing in section.timings if timing.job == job]
        compare(
            section, f"{job}: {CUGRAPH} ÷ ours, {several.workers} GPUs", timings, CUGRAPH, bound
        )


def _race_peers(
    by: str, several: PartitionedGraph, section: Section, repeats: int, start: int, vertices: int,
    graph_of: Callable[..., Any], calls: dict[str, Callable[[Any, int], Any]],
) -> None:  # fmt: skip
    """Time one library's calls, whose results are computed where they are."""
    from distributed import wait

    def check(job: str, frame: Any) -> None:
        if job != BUILD and (by, job) != (
            CUGRAPH,
            "components",
        ):  # it has no vertices without edges
            assert len(frame) == vertices, "vertices are missing"
        if job == "PageRank":
            total = float(frame["pagerank"].sum().compute())
            assert abs(total - 1) < 1e-3, f"the ranks sum to {total}"
        elif job in ("bfs", "sssp"):
            assert int((frame["distance"] == 0).sum().compute()) == 1, "there is not one start"

    def run(job: str, form: str | None, kind: list[bool], graph: Any) -> Any:
        if job == BUILD:
            ours = by == OURS
            return ws.Graph(several.edges(), spread="parts") if ours else graph_of(form, *kind)
        answer = calls[job](graph, start)
        if by == CUGRAPH:
            answer = answer.persist()
            wait(answer)
        return answer

    for job, (_, form, *kind) in PEERS.items():
        several.edges(form)
        graph = None if job == BUILD else graph_of(form, *([] if by == OURS else kind))
        release = ws.Graph.close if job == BUILD and by == OURS else lambda answer: None
        entrant = Entrant(
            by, partial(run, job, form, kind, graph), partial(check, job), release=release
        )
        race(section, job, [entrant], min(repeats, REPEATS), few=REPEATS, many=MANY)
    several.let_go()
