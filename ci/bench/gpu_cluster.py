"""Several GPUs of one host: what they gain over one of them, what methods of exchange cost, memory.

The one GPU is the client's, which is the first worker's too; they take turns.  Dense programs run 20
supersteps, whose time alone is shown beside the call's.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from gpu_breakdown import Breakdown, breakdown
from gpu_frames import build, build_figures, check_build
from gpu_graphs import Weights, smaller
from gpu_measure import Entrant, Measured, Section, by_library, compare, race
from gpu_programs import Labels
from gpu_spread import PartedCase, Spread, forget_peak, give_back, off_by, peak
from measure import OURS, Target

import cugraph_ws as ws

__all__ = [
    "BUILD",
    "EXCHANGED",
    "JOBS",
    "KINDS",
    "ONE",
    "PART",
    "REPEATS",
    "Job",
    "Lent",
    "builds",
    "cluster",
    "functions",
    "milliseconds",
    "taken",
    "workers",
]

ONE = "one GPU"
BUILD = "build from a frame"
SUPERSTEPS = 20
REPEATS = 3  # at most: machines with several GPUs are dear
# By number of GPUs, how many times faster than one: supersteps of dense programs, calls of others
SPEEDUPS = {2: (1.8, 1.5), 4: (3.2, 2.2)}
PART = "one GPU, its part"  # of a graph, when each GPU has one
BUILD_TARGETS = {ONE: 2.0, PART: 1.3}  # times one GPU's build, of the same graph and of such a part
EXCHANGE_TARGET = 1.3  # ALL ÷ VR and MS ÷ VR, mean over the programs
HUB_TARGET = 1.8  # the same through the host's memory, as in Table VIII
# NCCL's way for GPUs that cannot read each other: through pinned memory of the host, the paper's hub
HUB = {"NCCL_P2P_DISABLE": "1"}
MEMORY_TARGETS = {4: 0.35}  # of one GPU's peak
METHODS = {"VR": "vr", "MS": "ms", "ALL": "all"}

Graph = Any
Answer = tuple[Any, Any]  # a result, or None, and its frame


@dataclass(frozen=True)
class Job:
    """Some work on a graph, the same on one GPU and on several.

    Attributes
    ----------
    name : str
    weights : str or None
        Kind of the edges' weights.
    call : callable
        Takes the graph, the vertex to start from, and a callable that returns a frame of first values of
        every so-manieth vertex; and options of `ws.run`, if it runs a program.
    dense : bool
        Whether it takes 20 supersteps over all edges.
    """

    name: str
    weights: Weights | None
    call: Callable[..., Any]
    dense: bool = False


def _dense(program: Any, argument: str | None = None, every: int = 1) -> Callable[..., Any]:
    """Return the call of a dense program, some argument of which is first values."""

    def call(graph: Graph, start: int, values: Callable[[int], Any], **options: Any) -> Any:
        first = {} if argument is None else {argument: values(every)}
        return ws.run(program, graph, max_iter=SUPERSTEPS, tol=0.0, **first, **options)

    return call


def _search(program: Any, **names: str) -> Callable[..., Any]:
    """Return the call of a program that runs to its end, maybe from a vertex."""

    def call(graph: Graph, start: int, values: Callable[[int], Any], **options: Any) -> Any:
        return ws.run(
            program, graph, predecessors=False, **dict.fromkeys(names.values(), start), **options
        )

    return call


PAGERANK = _dense(ws.PageRank)
HEAT = _dense(ws.Heat, "temperature")
NETWORK = _dense(ws.NeuralNetwork, "activation")

JOBS = (
    Job("PageRank, 20 supersteps", None, PAGERANK, dense=True),
    Job("bfs", None, lambda graph, start, values: ws.bfs(graph, start)),
    Job("components", None, lambda graph, start, values: ws.weakly_connected_components(graph)),
    Job("sssp", "lengths", lambda graph, start, values: ws.sssp(graph, start)),
    Job("widest path", "lengths", lambda graph, start, values: ws.widest_path(graph, start)),
    Job("heat, 20 supersteps", "coefficients", HEAT, dense=True),
    Job("neural network, 20 supersteps", "coefficients", NETWORK, dense=True),
)
# The paper's eight programs, by its names for them
EXCHANGED = (
    Job("BFS", None, _search(ws.BFS, vertex="start")),
    Job("CC", None, _search(Labels)),
    Job("PR", None, PAGERANK, dense=True),
    Job("CS", "lengths", _dense(ws.Circuit, "sources", 1000), dense=True),
    Job("SSSP", "lengths", _search(ws.SSSP, vertex="start")),
    Job("SSWP", "lengths", _search(ws.WidestPath, vertex="start")),
    Job("HS", "coefficients", HEAT, dense=True),
    Job("NN", "coefficients", NETWORK, dense=True),
)
KINDS: tuple[Weights | None, ...] = (None, "lengths", "coefficients")


@dataclass
class Exchanged:
    """What methods of exchange did, by program and method.

    Attributes
    ----------
    timings : dict of dict of Measured
    traffic : dict of dict of (int, int, int)
        Supersteps, bytes sent, and useful ones.
    breakdowns : dict of dict of Breakdown
        Of the time of a run's supersteps.
    """

    timings: dict[str, dict[str, Measured]] = field(default_factory=dict)
    traffic: dict[str, dict[str, tuple[int, int, int]]] = field(default_factory=dict)
    breakdowns: dict[str, dict[str, Breakdown]] = field(default_factory=dict)

    def figures(self) -> dict[str, dict[str, dict[str, float]]]:
        """Return what is known, by program and method: seconds of supersteps, bytes, and what for."""
        found: dict[str, dict[str, dict[str, float]]] = {}
        for program, timings in self.timings.items():
            told, parts = self.traffic.get(program, {}), self.breakdowns.get(program, {})
            found[program] = {
                method: {"seconds": one.best_known} for method, one in timings.items()
            }
            for method, figures in found[program].items():
                if method in told:
                    figures |= zip(("supersteps", "sent", "useful"), told[method], strict=True)
                if method in parts:
                    figures["computing"] = parts[method].computing
                    figures["communication"] = parts[method].communication
        return found


@dataclass
class Lent:
    """The workers' graph, and the same edges on one GPU.

    Attributes
    ----------
    spread : Spread
    case : PartedCase
    alone : bool
        Whether one GPU runs too.
    hub : bool
        Whether GPUs reach each other through the host only.
    """

    spread: Spread
    case: PartedCase
    alone: bool = True
    hub: bool = False

    def let_go(self) -> None:
        """Give all memory back."""
        self.spread.let_go()
        self.case.let_go()


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
    pieces : sequence of {"build", "functions", "exchange", "memory", "peers", "large"}
    peers : bool
        Whether cuGraph takes part, though "peers" is not among the pieces.
    hub : bool
        Whether GPUs reach each other through the host only.
    """
    repeats = min(repeats, REPEATS)
    if "large" in pieces:
        from gpu_large import large

        large(name, section)
        return
    only = None
    if tuple(pieces) == ("peers",):  # its figures are worth something beside ours
        from gpu_peers import TARGETS

        pieces, only = ("build", "functions", "peers"), tuple(TARGETS)
    with workers(HUB if hub else {}) as client:
        if only is None:
            take_memory_as_workers()
        spread = Spread(name, client)
        lent = Lent(spread, PartedCase(name, spread.places), alone=only is None, hub=hub)
        print(f"  {lent.case}, {spread.workers} GPUs", flush=True)
        start = lent.case.start
        _pieces(lent, section, repeats, pieces, only)
        lent.let_go()
    if peers or "peers" in pieces:
        from gpu_peers import cugraph_cluster

        del lent  # cuGraph's pool may have the first GPU
        found = section.attempt("cuGraph", lambda: cugraph_cluster(name, start, section, repeats))
        print(f"  cuGraph: {found or 'nothing'}", flush=True)


def _pieces(
    lent: Lent, section: Section, repeats: int, pieces: Sequence[str], only: Sequence[str] | None
) -> None:
    """Run what is wanted, graph by graph, so that each is built once; and add the tables."""
    if "build" in pieces:
        section.attempt("builds", lambda: builds(lent, section, repeats))
    exchanged = Exchanged()
    for kind in KINDS:
        if "functions" in pieces:
            functions(lent, section, repeats, kind, only)
        if "exchange" in pieces:
            exchange(lent, section, repeats, kind, exchanged)
    if "memory" in pieces:
        section.attempt("memory", lambda: memory(lent, section))
    if exchanged.timings:
        exchange_targets(section, lent.spread.workers, exchanged, hub=lent.hub)
        exchange_table(section, lent.spread.workers, exchanged)
    speedups(section, lent.spread.workers)


@contextmanager
def workers(environment: Mapping[str, str] | None = None, **options: Any) -> Any:
    """Start a worker for each GPU, with variables of its own; give the client, once all are there."""
    with patch.dict(os.environ, environment or {}), ws.local_cluster(**options) as client:
        if len(client.nthreads()) < 2:
            raise RuntimeError("this part needs two GPUs")
        yield client


def take_memory_as_workers() -> None:
    """Let what runs on one GPU, in this process, have the driver's pool, as `ws.local_cluster` does."""
    import rmm

    rmm.mr.set_current_device_resource(rmm.mr.CudaAsyncMemoryResource())


# -------------------------------------------------------------------------------------- builds


def builds(lent: Lent, section: Section, repeats: int) -> None:
    """Time the build from a frame whose partitions lie on the workers, and from one frame.

    One GPU builds the same graph, and one of as many vertices and edges as each of several has.
    """
    spread, case = lent.spread, lent.case
    edges = spread.edges()
    entrants = [
        Entrant(
            OURS, lambda: ws.Graph(edges), lambda graph: check_spread(lent, graph),
            release=lambda graph: graph.close(), **build_figures(case),
        )
    ]  # fmt: skip
    if lent.alone:
        frame = case.frame()
        entrants.append(
            Entrant(
                ONE, lambda: build(frame), lambda graph: check_build(case, graph),
                release=ws.Graph.close, **build_figures(case),
            )
        )  # fmt: skip
        part = smaller(spread.name, spread.workers)
        if part is not None:
            rows = part.frame()
            entrants.append(
                Entrant(
                    PART, lambda: build(rows), lambda graph: check_build(part, graph),
                    release=ws.Graph.close, **build_figures(part),
                )
            )  # fmt: skip
    found = by_library(race(section, BUILD, entrants, repeats, few=repeats))
    for other, bound in BUILD_TARGETS.items():
        if {OURS, other} <= set(found):
            ratio = found[OURS].median / found[other].median
            name = f"{BUILD}: {spread.workers} GPUs ÷ {other.replace(' GPU', '')}"
            section.targets.append(Target(name, section.graph, ratio, bound))


def check_spread(lent: Lent, graph: Graph) -> None:
    """Count vertices and edges, and look whether work is divided; results vouch for the rest."""
    assert graph.number_of_vertices == lent.case.vertices, "vertices are missing"
    assert graph.number_of_edges == len(lent.case.source), "edges are missing"
    arcs = [one["arcs"] for one in graph.partitions]
    print(f"  arcs of each: {', '.join(f'{one:,}' for one in arcs)}", flush=True)
    assert max(arcs) <= 1.5 * sum(arcs) / len(arcs), "one worker has most of the work"


# ----------------------------------------------------------------------------------- functions


def functions(
    lent: Lent,
    section: Section,
    repeats: int,
    kind: Weights | None,
    only: Sequence[str] | None = None,
) -> None:
    """Time jobs on graphs with weights of a kind, on all GPUs and on one.

    Parameters
    ----------
    lent : Lent
    section : Section
    repeats : int
    kind : str or None
    only : sequence of str, optional
        Names of jobs.
    """
    for job in JOBS:
        if job.weights == kind and (only is None or job.name in only):
            section.attempt(job.name, lambda job=job: _job(lent, job, section, repeats))


def _job(lent: Lent, job: Job, section: Section, repeats: int) -> None:
    spread, case = lent.spread, lent.case
    graph, reference = spread.graph(job.weights), []

    def check(answer: Answer) -> float | None:
        frame = answer[1]
        if not reference:
            assert len(frame) == case.vertices, "vertices are missing"
            return None
        return off_by(frame.compute().reset_index(drop=True), reference[0])

    entrants = [
        Entrant(
            OURS, lambda: taken(job.call(graph, case.start, spread.values)), check,
            alone=milliseconds if job.dense else None,
        )
    ]  # fmt: skip
    if lent.alone:
        spread.client.run(give_back)  # the first one is on the same GPU
        give_back()
        single = case.graph(job.weights)
        entrants.insert(
            0,
            Entrant(
                ONE, lambda: taken(job.call(single, case.start, case.values)),
                lambda answer: reference.append(answer[1]),
                alone=milliseconds if job.dense else None,
            ),
        )  # fmt: skip
    if job.dense:  # first values are there before the clock runs
        section.attempt("first values", lambda: (spread.values(), case.values()))
    measured = race(section, job.name, entrants, repeats, few=repeats)
    least = SPEEDUPS.get(spread.workers)
    if least is not None:
        what = "supersteps" if job.dense else "calls"
        compare(
            section, f"{job.name}, {what}: one GPU ÷ {spread.workers}", measured, ONE,
            least[0] if job.dense else least[1], alone=job.dense,
        )  # fmt: skip


def taken(found: Any) -> Answer:
    """Return a result and its frame, or None and a frame."""
    return (found, found.frame) if hasattr(found, "iterations") else (None, found)


def milliseconds(answer: Answer) -> float:
    """Return the seconds that a result's supersteps took."""
    return float(answer[0].trace["milliseconds"].sum()) / 1e3


# ------------------------------------------------------------------------------------ exchange


def exchange(
    lent: Lent, section: Section, repeats: int, kind: Weights | None, exchanged: Exchanged
) -> None:
    """Time those of the paper's programs that take weights of a kind, by each method of exchange.

    Parameters
    ----------
    lent : Lent
    section : Section
    repeats : int
    kind : str or None
    exchanged : Exchanged
        Gets what was found.
    """
    for job in EXCHANGED:
        if job.weights != kind:
            continue
        name, traffic = f"exchange, {job.name}", exchanged.traffic.setdefault(job.name, {})
        entrants = section.attempt(
            f"preparing {name}", lambda job=job, traffic=traffic: _methods(lent, job, traffic)
        )
        measured = race(section, name, entrants or [], repeats, few=repeats)
        exchanged.timings[job.name] = by_library(measured)
        exchanged.breakdowns[job.name] = {
            entrant.library: parts
            for entrant in entrants or []
            if (parts := section.attempt(
                f"breaking {name}, {entrant.library}, down",
                lambda run=entrant.run: breakdown(lent.spread.client, lambda: run()[0]),
            )) is not None
        }  # fmt: skip
        section.figures |= {"gpus": lent.spread.workers, "exchange": exchanged.figures()}


def _methods(lent: Lent, job: Job, traffic: dict[str, tuple[int, int, int]]) -> list[Entrant]:
    """Return an entrant for each method; the first one's result is the others' reference."""
    spread, start = lent.spread, lent.case.start
    graph, reference = spread.graph(job.weights), []
    if job.dense:
        spread.values(), spread.values(1000)

    def entrant(method: str) -> Entrant:
        def check(answer: Answer) -> float | None:
            result, frame = answer
            sent, useful = (int(result.trace[f"bytes_{one}"].sum()) for one in ("sent", "useful"))
            traffic[method] = int(result.iterations), sent, useful
            if not reference:
                reference.append(frame)
                return None
            return spread.off_by(frame, reference[0])

        return Entrant(
            method,
            lambda: taken(job.call(graph, start, spread.values, exchange=METHODS[method])),
            check, alone=milliseconds,
        )  # fmt: skip

    return [entrant(method) for method in METHODS]


def exchange_targets(
    section: Section, workers: int, exchanged: Exchanged, *, hub: bool = False
) -> None:
    """Add the means of Table VIII: how many times longer supersteps take than by VR."""
    for method in ("ALL", "MS"):
        ratios = {
            program: found[method].best_known / found["VR"].best_known
            for program, found in exchanged.timings.items()
            if {method, "VR"} <= set(found)
        }
        if ratios:
            how = f"{workers} GPUs" + (", through the host" if hub else "")
            name = f"supersteps: {method} ÷ VR, mean over {len(ratios)} programs, {how}"
            least = HUB_TARGET if hub else EXCHANGE_TARGET
            section.targets.append(
                Target(name, section.graph, statistics.mean(ratios.values()), least, at_least=True,
                       facts={"ratios": ratios})
            )  # fmt: skip


def exchange_table(section: Section, workers: int, exchanged: Exchanged) -> None:
    """Add what is known of Tables I and VIII and of Figure 9, program by program."""
    rows = []
    for program, found in exchanged.timings.items():
        told, parts = exchanged.traffic.get(program, {}), exchanged.breakdowns.get(program, {})
        row = [program, str(max((one[0] for one in told.values()), default=0))]
        base = found["VR"].best_known if "VR" in found else None
        row.append("" if base is None else f"{base * 1e3:.3g}")
        for method in ("ALL", "MS"):
            known = base is not None and method in found
            row.append(f"{found[method].best_known / base:.2f}" if known else "")
        row += [_sum(parts[method]) if method in parts else "" for method in METHODS]
        row += [f"{told[one][1] / 1e6:.2f}" if one in told else "" for one in METHODS]
        for method in ("ALL", "MS"):
            sent, useful = told[method][1:] if method in told else (0, 0)
            row.append(f"{useful / sent:.1%}" if sent else "")
        rows.append(row)
    columns = ["program", "supersteps", "VR, ms", "ALL ÷ VR", "MS ÷ VR",
               *(f"{one}: computing + communication, ms" for one in METHODS),
               *(f"{one}, MB" for one in METHODS), "ALL useful", "MS useful"]  # fmt: skip
    section.table(f"exchange, {workers} GPUs", columns, rows)


def _sum(parts: Breakdown) -> str:
    return f"{parts.computing * 1e3:.3g} + {parts.communication * 1e3:.3g}"


# -------------------------------------------------------------------------------------- memory


def memory(lent: Lent, section: Section) -> None:
    """Compare the most memory of a worker with one GPU's: build and 20 supersteps, frame apart."""
    spread, case = lent.spread, lent.case
    lent.let_go()
    edges = spread.edges()
    spread.client.run(forget_peak)
    with ws.Graph(edges) as graph:
        PAGERANK(graph, case.start, spread.values)
    several = spread.peaks()
    frame = case.frame()
    forget_peak()
    with build(frame) as graph:
        PAGERANK(graph, case.start, case.values)
    one = peak()
    memory_figures(section, one, several)


def memory_figures(section: Section, one: int, several: Sequence[int]) -> None:
    """Add the table of peaks, and the target where there is one for so many GPUs."""
    rows = [[ONE, f"{one / 1e9:.2f}", "1.00"]]
    rows += [
        [f"worker {place}", f"{taken / 1e9:.2f}", f"{taken / one:.2f}"]
        for place, taken in enumerate(several)
    ]
    section.table("peak memory, frame apart", ["GPU", "GB", "of one GPU's"], rows)
    if (most := MEMORY_TARGETS.get(len(several))) is not None:
        name = f"peak memory: a worker of {len(several)} ÷ one GPU"
        section.targets.append(Target(name, section.graph, max(several) / one, most))


# ------------------------------------------------------------------------------------- summary


def speedups(section: Section, workers: int) -> None:
    """Add the short table: every job on one GPU and on all, calls, and supersteps of dense ones."""
    jobs: dict[str, dict[str, Measured]] = {}
    for one in section.timings:
        if isinstance(one, Measured) and one.library in (OURS, ONE):
            jobs.setdefault(one.job, {})[one.library] = one
    rows = []
    for job, found in jobs.items():
        if not {OURS, ONE} <= set(found):
            continue
        single, ours = found[ONE], found[OURS]
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
