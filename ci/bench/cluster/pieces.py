"""Several GPUs of one host: speed-up over one of them, cost of the methods of exchange, memory.

The single GPU is that of the client and of the first worker; they take turns.  Dense programs run 20
supersteps, whose time is shown besides the call's.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import cugraph_ws as ws
from bench.cluster.exchange import exchange, exchange_table, exchange_targets
from bench.cluster.jobs import (
    BUILD,
    JOBS,
    KINDS,
    MANY,
    ONE,
    PAGERANK,
    REPEATS,
    Answer,
    Job,
    superstep_seconds,
    taken,
)
from bench.cluster.linked import linked, linked_table
from bench.cluster.partitions import (
    GatheredCase,
    PartitionedGraph,
    Setup,
    forget_peak,
    give_back,
    off_by,
    peak,
)
from bench.cluster.peers import TARGETS, cugraph_cluster
from bench.cluster.workers import HUB, take_memory_as_workers, workers
from bench.gpu.cases import Case, smaller
from bench.gpu.frames import build, build_figures, check_build
from bench.graphs import Weights
from bench.programs import SUPERSTEPS
from bench.timing import OURS, Entrant, Section, Target, by_library, compare, race

__all__ = ["builds", "cluster", "functions", "memory_figures", "speedups"]

# Target speed-ups by number of GPUs: supersteps of dense programs, calls of others
SPEEDUPS = {2: (1.8, 1.5), 4: (3.2, 2.2)}
PART = "one GPU, its part"  # of a graph that is split among all GPUs
BUILD_TARGETS = {ONE: 2.0, PART: 1.3}  # × one GPU's build, of the whole graph and of a part
MEMORY_TARGETS = {4: 0.35}  # relative to one GPU's peak

Graph = Any


def cluster(
    name: str,
    section: Section,
    repeats: int,
    pieces: Sequence[str],
    *,
    peers: bool = False,
    hub: bool = False,
) -> None:
    """Run pieces of the benchmark on all GPUs of this host.

    Parameters
    ----------
    name : str
        A generated graph.
    section : Section
        Gets timings, targets, tables and errors.
    repeats : int
        Runs that count.
    pieces : sequence of {"build", "functions", "exchange", "linked", "memory", "peers"}
    peers : bool
        Whether cuGraph is measured too if "peers" is not among the pieces.
    hub : bool
        Whether GPUs exchange through the host hub, as if they could not address each other.
    """
    repeats = min(repeats, REPEATS)
    only = None
    if tuple(pieces) == ("peers",):  # its figures are of use only if compared with ours
        pieces, only = ("build", "functions", "peers"), tuple(TARGETS)
    with workers(HUB if hub else {}) as client:
        if only is None:
            take_memory_as_workers()
        several = PartitionedGraph(name, client, links="hub" if hub else "auto")
        setup = Setup(several, GatheredCase(name, several.places), alone=only is None, hub=hub)
        print(f"  {setup.case}, {several.workers} GPUs", flush=True)
        start = setup.case.start
        _pieces(setup, section, repeats, pieces, only)
        setup.let_go()
    if peers or "peers" in pieces:
        del setup  # cuGraph's pool may have the first GPU
        found = section.attempt("cuGraph", lambda: cugraph_cluster(name, start, section, repeats))
        print(f"  cuGraph: {found or 'nothing'}", flush=True)


def _pieces(
    setup: Setup, section: Section, repeats: int, pieces: Sequence[str], only: Sequence[str] | None
) -> None:
    """Run the pieces graph by graph, so that each graph is built once; and add the tables."""
    if "build" in pieces:
        section.attempt("builds", lambda: builds(setup, section, repeats))
    for kind in KINDS:
        if "functions" in pieces:
            functions(setup, section, repeats, kind, only)
        if "exchange" in pieces:
            exchange(setup, section, repeats, kind)
        if "linked" in pieces:
            linked(setup, section, repeats, kind)
    if "memory" in pieces:
        section.attempt("memory", lambda: memory(setup, section))
    if "exchange" in section.figures:
        exchange_targets(section, setup.several.workers, hub=setup.hub)
        exchange_table(section, setup.several.workers)
    if "linked" in section.figures:
        linked_table(section, setup.several.workers)
    speedups(section, setup.several.workers)


# -------------------------------------------------------------------------------------- builds


def builds(setup: Setup, section: Section, repeats: int) -> None:
    """Time the build from a frame whose partitions are on the workers, and from one frame.

    One GPU builds the same graph, and a graph with each worker's share of vertices and edges.
    """
    several, case = setup.several, setup.case
    edges = several.edges()

    def entrant(library: str, of: Case, rows: Any, make: Any, check: Any) -> Entrant:
        return Entrant(
            library, lambda: make(rows), check, release=lambda graph: graph.close(),
            **build_figures(of),
        )  # fmt: skip

    entrants = [entrant(OURS, case, edges, ws.Graph, partial(check_partitioned, setup))]
    if setup.alone:
        entrants.append(entrant(ONE, case, case.frame(), build, partial(check_build, case)))
        if (part := smaller(several.name, several.workers)) is not None:
            entrants.append(entrant(PART, part, part.frame(), build, partial(check_build, part)))
    found = by_library(race(section, BUILD, entrants, repeats, few=repeats))
    for other, bound in BUILD_TARGETS.items():
        if {OURS, other} <= set(found):
            ratio = found[OURS].median / found[other].median
            name = f"{BUILD}: {several.workers} GPUs ÷ {other.replace(' GPU', '')}"
            section.targets.append(Target(name, section.graph, ratio, bound))


def check_partitioned(setup: Setup, graph: Graph) -> None:
    """Check the numbers of vertices and edges, and the balance of arcs; results verify the rest."""
    assert graph.number_of_vertices == setup.case.vertices, "vertices are missing"
    assert graph.number_of_edges == len(setup.case.source), "edges are missing"
    arcs = [one["arcs"] for one in graph.partitions]
    print(f"  arcs of each: {', '.join(f'{one:,}' for one in arcs)}", flush=True)
    assert max(arcs) <= 1.5 * sum(arcs) / len(arcs), "one worker has most of the work"


# ----------------------------------------------------------------------------------- functions


def functions(
    setup: Setup,
    section: Section,
    repeats: int,
    kind: Weights | None,
    only: Sequence[str] | None = None,
) -> None:
    """Time jobs on graphs with weights of a kind, on all GPUs and on one.

    Parameters
    ----------
    setup : Setup
    section : Section
    repeats : int
    kind : str or None
    only : sequence of str, optional
        Names of jobs.
    """
    for job in JOBS:
        if job.weights == kind and (only is None or job.name in only):
            section.attempt(job.name, lambda job=job: _job(setup, job, section, repeats))


def _job(setup: Setup, job: Job, section: Section, repeats: int) -> None:
    several, case = setup.several, setup.case
    graph, reference = several.graph(job.weights), []

    def check(answer: Answer) -> float | None:
        frame = answer[1]
        if not reference:
            assert len(frame) == case.vertices, "vertices are missing"
            return None
        return off_by(frame.compute().reset_index(drop=True), reference[0])

    entrants = [
        Entrant(
            OURS, lambda: taken(job.call(graph, case.start, several.values)), check,
            alone=superstep_seconds if job.dense else None,
        )
    ]  # fmt: skip
    if setup.alone:
        several.client.run(give_back)  # the first one is on the same GPU
        give_back()
        single = case.graph(job.weights)
        entrants.insert(
            0,
            Entrant(
                ONE, lambda: taken(job.call(single, case.start, case.values)),
                lambda answer: reference.append(answer[1]),
                alone=superstep_seconds if job.dense else None,
            ),
        )  # fmt: skip
    if job.dense:  # make the initial values before the clock starts
        section.attempt("first values", lambda: (several.values(), case.values()))
    measured = race(section, job.name, entrants, repeats, few=repeats, many=MANY)
    least = SPEEDUPS.get(several.workers)
    if least is not None:
        what = "supersteps" if job.dense else "calls"
        compare(
            section, f"{job.name}, {what}: one GPU ÷ {several.workers}", measured, ONE,
            least[0] if job.dense else least[1], alone=job.dense,
        )  # fmt: skip


# -------------------------------------------------------------------------------------- memory


def memory(setup: Setup, section: Section) -> None:
    """Compare the peak memory of workers with one GPU's: build and 20 supersteps, without the frame."""
    several, case = setup.several, setup.case
    setup.let_go()
    edges = several.edges()
    several.client.run(forget_peak)
    with ws.Graph(edges) as graph:
        PAGERANK(graph, case.start, several.values)
    peaks = several.peaks()
    frame = case.frame()
    forget_peak()
    with build(frame) as graph:
        PAGERANK(graph, case.start, case.values)
    one = peak()
    memory_figures(section, one, peaks)


def memory_figures(section: Section, one: int, peaks: Sequence[int]) -> None:
    """Add the table of peaks, and the target where there is one for so many GPUs."""
    rows = [[ONE, f"{one / 1e9:.2f}", "1.00"]]
    rows += [
        [f"worker {place}", f"{taken / 1e9:.2f}", f"{taken / one:.2f}"]
        for place, taken in enumerate(peaks)
    ]
    section.table("peak memory, frame apart", ["GPU", "GB", "of one GPU's"], rows)
    if (most := MEMORY_TARGETS.get(len(peaks))) is not None:
        name = f"peak memory: a worker of {len(peaks)} ÷ one GPU"
        section.targets.append(Target(name, section.graph, max(peaks) / one, most))


# ------------------------------------------------------------------------------------- summary


def speedups(section: Section, workers: int) -> None:
    """Add the summary table: every job on one GPU and on all; calls, and supersteps of dense ones."""
    rows = []
    for job, (single, ours) in section.pairs(ONE, OURS).items():
        row = [job, f"{single.median * 1e3:.3g}", f"{ours.median * 1e3:.3g}",
               f"{single.median / ours.median:.2f}"]  # fmt: skip
        if single.alone_median and ours.alone_median:
            row += [f"{one.alone_median * 1e3 / SUPERSTEPS:.3g}" for one in (single, ours)]
            row.append(f"{single.alone_median / ours.alone_median:.2f}")
        rows.append([*row, *[""] * (7 - len(row))])
    if rows:
        columns = ["work", "one GPU, ms", f"{workers} GPUs, ms", "speed-up", "superstep on one, ms",
                   f"on {workers}, ms", "speed-up"]  # fmt: skip
        section.table(f"{workers} GPUs against one", columns, rows)
