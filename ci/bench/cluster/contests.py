"""Programs and functions on all GPUs of this host, and variants of how they run: a row of `CONTESTS` for each part.

Calls on one GPU are interleaved with those on the cluster, whose first worker has the same GPU.  Dense programs run 20
supersteps.  All results have the digest of the first variant's.  `figures` of a section have by program and variant
the seconds of all supersteps, from the trace, and of the call; supersteps; bytes sent and useful ones.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import cugraph_ws as ws
from bench.cluster.partitions import (
    HUB,
    GatheredCase,
    PartitionedGraph,
    digest,
    far,
    give_back,
    workers,
)
from bench.graphs import GENERATED
from bench.papers import OTHERS, over, useful
from bench.programs import PROGRAMS, SUPERSTEPS, Program
from bench.timing import OURS, Entrant, Section, race

ONE = "one GPU"
# Runs at most, as such machines are expensive; more of short calls, whose times vary by a third
REPEATS, MANY = 3, 9
FEW = 1000  # one in so many ids has an initial value, where only a few have
ROUNDING = 1e-5  # allowed relative difference of sums of magnitudes
FORMS = (None, "weighted", "coefficients")
# Targets by number of GPUs: supersteps of dense programs, calls of others
SPEEDUPS = {2: {"supersteps": 1.8, "calls": 1.5}, 4: {"supersteps": 3.2, "calls": 2.2}}
METHODS = ("VR", "MS", "ALL")
# ALL ÷ VR and MS ÷ VR, means, directly and through the host as in Table VIII; auto ÷ the best of the three
EXCHANGE_TARGET, HUB_TARGET, AUTO_TARGET = 1.3, 1.8, 1.03
EVERY_PROGRAM_ON = ("RM16V134E", "RM44V704E")  # graphs of the scaling on which all eight run


class Job(NamedTuple):
    """Some work on a graph, the same on one GPU and on several.

    Attributes
    ----------
    name : str
    form : str or None
        The graph's, if it has weights.
    call : callable
        Takes the graph, the vertex to start from, and a callable that returns a frame of first values of
        some vertices, given how far apart they are; and options of `ws.run`, if it runs a program.
    dense : bool
        Whether it takes 20 supersteps over all edges.
    """

    name: str
    form: str | None
    call: Callable[..., Any]
    dense: bool = False


def run_program(
    work: Program, graph: Any, start: int, values: Callable[[int], Any], **options: Any
) -> Any:
    """Run a program: a dense one for 20 supersteps, any other to its end, from `start` if it needs one."""
    arguments = work.arguments(start, lambda few: values(FEW if few else 1))
    plain = {} if work.dense else {"predecessors": False}
    return ws.run(work.program, graph, **arguments, **plain, **work.stop(), **options)


def _program(name: str, work: Program) -> Job:
    # Weights of either sign would need a separate graph, which no other program uses.
    form = "coefficients" if work.weights == "synapses" else work.weights
    return Job(name, form, partial(run_program, work), work.dense)


def _function(name: str, form: str | None, function: Any, *, start: bool = True) -> Job:
    return Job(name, form, lambda graph, vertex, values: function(graph, *[vertex] * start))


JOBS = (
    _program(f"PageRank, {SUPERSTEPS} supersteps", PROGRAMS["pagerank"]), _function("bfs", None, ws.bfs),
    _function("components", None, ws.weakly_connected_components, start=False),
    _function("sssp", "weighted", ws.sssp), _function("widest path", "weighted", ws.widest_path),
    *(_program(f"{name}, {SUPERSTEPS} supersteps", PROGRAMS[name]) for name in ("heat", "neural network")),
)  # fmt: skip
EIGHT = tuple(_program(work.label, work) for work in PROGRAMS.values())


class Variant(NamedTuple):
    """How a job runs: on how many GPUs, one of them without a cluster, None for all; links; options; how many hold it."""

    gpus: int | None = None
    links: str = "auto"
    options: Mapping[str, Any] = {}
    spread: str = "parts"


ALL_METHODS = {
    method: Variant(options={"exchange": method.lower()}) for method in (*METHODS, "auto")
}


class Contest:
    """A part of `bench cluster`: jobs and the variants that take turns.

    The same workers serve all graphs; a `with` block ends them.

    Parameters
    ----------
    figure : str
        Name of the figures.
    jobs : sequence of Job
    variants : mapping of str to Variant
    environment : mapping of str to str
        Variables with which workers are started.
    """

    def __init__(
        self, figure: str, jobs: tuple[Job, ...], variants: Mapping[str, Variant],
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        self.figure, self.jobs, self.variants = figure, jobs, variants
        self.environment = environment
        self._client: Any = None
        self._running = ExitStack()

    def __enter__(self) -> Contest:
        return self

    def __exit__(self, *error: object) -> None:
        self._client = None
        self._running.close()

    def __call__(self, name: str, section: Section, repeats: int) -> None:
        """Time the jobs on a generated graph."""
        figures: dict[str, dict[str, dict[str, Any]]] = section.figures.setdefault(self.figure, {})
        if self._client is None:
            self._client = self._running.enter_context(workers(self.environment))
        everyone = len(self._client.nthreads())
        section.figures |= {"gpus": everyone, "vertices": GENERATED[name][0]}
        graphs = {
            (variant.gpus, variant.links, variant.spread): PartitionedGraph(
                name, self._client, variant.gpus, variant.links, variant.spread
            )
            for variant in self.variants.values()
            if variant.gpus != 1
        }
        case = GatheredCase(name, next(iter(graphs.values())).places)
        section.figures["edges"] = len(case.source)
        print(f"  {case}, {everyone} GPUs", flush=True)
        # In this order each graph is built once
        for job in sorted(self.jobs, key=lambda job: FORMS.index(job.form)):
            if self.figure == "scaling" and name not in EVERY_PROGRAM_ON and job.name != "SSSP":
                continue
            numbers = figures.setdefault(job.name, {})
            runs = min(repeats, REPEATS)
            section.attempt(
                job.name, partial(self._race, job, case, graphs, section, runs, numbers)
            )
        for graph in (*graphs.values(), case):
            graph.let_go()
        self._tables(section, figures)

    def _race(
        self, job: Job, case: GatheredCase, graphs: Mapping[Any, PartitionedGraph], section: Section,
        repeats: int, numbers: dict[str, dict[str, Any]],
    ) -> None:  # fmt: skip
        """Time one job."""
        digests: list[
            list[float]
        ] = []  # of results; the first one's is the reference of the others
        most = max(graph.workers for graph in graphs.values())
        entrants, several = {}, next(iter(graphs.values()))
        for library, variant in self.variants.items():
            owner: Any = case
            if variant.gpus == 1:
                several.client.run(give_back)  # the first one is on the same GPU
                give_back()
                graph = case.ours(job.form)
            else:
                owner = graphs[variant.gpus, variant.links, variant.spread]
                if owner.workers < (variant.gpus or 2) or (variant.gpus == 2 and most == 2):
                    continue  # two GPUs are all
                graph = owner.graph(job.form)
            if job.dense:  # make the initial values before the clock starts
                owner.values(), owner.values(FEW)
            key = str(variant.gpus or most) if self.figure == "scaling" else library
            entrants[key] = self._entrant(
                library, job, owner, graph, case.start, variant, digests, numbers.setdefault(key, {}),
            )  # fmt: skip
        timings = race(section, job.name, list(entrants.values()), repeats, few=repeats, many=MANY)
        for key, entrant in entrants.items():
            if (timing := timings.get(entrant.library)) is None:
                del numbers[key]
            else:
                numbers[key] |= {"seconds": timing.best_known, "call": timing.median}
        if self.figure == "functions" and most in SPEEDUPS:
            kind = "supersteps" if job.dense else "calls"
            least = SPEEDUPS[most][kind]
            section.ratio(
                f"{job.name}, {kind}: one GPU ÷ {most}", timings, ONE, least, alone=job.dense,
            )  # fmt: skip

    def _entrant(
        self, library: str, job: Job, owner: Any, graph: Any, start: int, variant: Variant,
        digests: list[list[float]], numbers: dict[str, Any],
    ) -> Entrant:  # fmt: skip
        digest_of = digest if variant.gpus == 1 else owner.digest

        def run() -> tuple[Any, Any]:
            plan = {"plan": ws.Plan(**variant.options)} if variant.options else {}
            answer = job.call(graph, start, owner.values, **plan)
            return (answer, answer.frame) if hasattr(answer, "iterations") else (None, answer)

        def check(answer: tuple[Any, Any]) -> float:
            result, frame = answer
            if result is not None:
                trace = result.trace
                numbers["supersteps"] = len(trace)
                known = [kind for kind in ("sent", "useful") if f"bytes_{kind}" in trace]
                numbers.update({kind: int(trace[f"bytes_{kind}"].sum()) for kind in known})
            digests.append(digest_of(frame))
            off = far(digests[-1], digests[0])
            assert off <= ROUNDING, f"sums over the result are off by {off:.3g}"
            return off

        function = job in JOBS and not job.dense
        return Entrant(library, run, check, alone=None if function else _seconds)

    def _tables(
        self, section: Section, figures: Mapping[str, Mapping[str, Mapping[str, Any]]]
    ) -> None:
        """Add the table of all programs and variants, and the targets of methods of exchange."""
        rows = [row for program, numbers in figures.items() for row in _rows(program, numbers)]
        columns = ["program", "by", "supersteps", "all supersteps, ms", "first ÷", "call, ms", "first ÷",
                   "MB sent", "useful"]  # fmt: skip
        section.table(f"{self.figure}, {section.figures['gpus']} GPUs", columns, rows)
        if self.figure == "exchange":
            self._exchange_targets(section, figures)

    def _exchange_targets(
        self, section: Section, figures: Mapping[str, Mapping[str, Mapping[str, Any]]]
    ) -> None:
        """Compare methods of exchange over all programs."""
        least = HUB_TARGET if section.part.endswith("hub") else EXCHANGE_TARGET
        for method in OTHERS:
            if ratios := _known(over(numbers, method) for numbers in figures.values()):
                name = f"supersteps: {method} ÷ VR, mean over {len(ratios)} programs"
                section.target(name, statistics.mean(ratios), least, at_least=True)
        if auto := _known(map(_auto_over_best, figures.values())):
            name = f"supersteps: auto ÷ best of VR, MS and ALL, worst of {len(auto)} programs"
            section.target(name, max(auto), AUTO_TARGET, mean=statistics.mean(auto))


def _known(ratios: Iterable[float | None]) -> list[float]:
    return [ratio for ratio in ratios if ratio is not None]


def _seconds(answer: tuple[Any, Any]) -> float:
    """Return the seconds of all supersteps."""
    return float(answer[0].trace["milliseconds"].sum()) / 1e3


def _rows(program: str, numbers: Mapping[str, Mapping[str, Any]]) -> Iterator[list[str]]:
    first: Mapping[str, Any] = next(iter(numbers.values()), {})
    for name, values in numbers.items():
        row = [program, name, str(values.get("supersteps", ""))]
        for kind in ("seconds", "call"):
            row += [f"{values[kind] * 1e3:.3g}", f"{first[kind] / values[kind]:.2f}"]
        row += [f"{values['sent'] / 1e6:.2f}" if "sent" in values else "", useful(numbers, name)]
        yield row


def _auto_over_best(numbers: Mapping[str, Mapping[str, Any]]) -> float | None:
    """Return how many times longer a program's supersteps took by auto than by the best of the three."""
    best = [numbers[method]["seconds"] for method in METHODS if method in numbers]
    return numbers["auto"]["seconds"] / min(best) if best and "auto" in numbers else None


SEARCHES = tuple(job for job in EIGHT if not job.dense)
THROUGH_HUB = {name: variant._replace(links="hub") for name, variant in ALL_METHODS.items()}
CONTESTS = {
    "functions": Contest("functions", JOBS, {ONE: Variant(1), OURS: Variant()}),
    "spread": Contest(
        "spread", JOBS, {ONE: Variant(1), OURS: Variant(spread="auto"), "in parts": Variant()}
    ),
    "exchange": Contest("exchange", EIGHT, ALL_METHODS),
    "hub": Contest("exchange", EIGHT, THROUGH_HUB, HUB),
    "linked": Contest(
        "linked", SEARCHES,
        {ONE: Variant(1), OURS: Variant(), "hosts between": Variant(options={"fused": False})},
    ),
    "scaling": Contest("scaling", EIGHT, {ONE: Variant(1), "2 GPUs": Variant(2), OURS: Variant()}),
}  # fmt: skip
