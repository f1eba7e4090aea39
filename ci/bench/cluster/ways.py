"""The ways between the GPUs of a host, in one run: linked launches, NCCL, NCCL through the host, the hub.

If there is only one GPU, workers share it.  The ways are then NCCL over sockets, as if workers were on different
hosts, and the hub.  `figures["ways"]` of a section has by program and way the seconds of all supersteps, and the
bytes that left GPUs.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import cugraph_ws as ws
from bench.cluster.jobs import EXCHANGED, MANY, REPEATS, Answer, Job, superstep_seconds, taken
from bench.cluster.partitions import PartitionedGraph
from bench.cluster.scaling import ROUNDING, far
from bench.cluster.workers import HUB, sharing, workers
from bench.graphs import Weights
from bench.timing import Entrant, Section, race
from cugraph_ws.runtime.driver import installed_gpus

__all__ = ["ON_ONE", "ON_SEVERAL", "Way", "ways", "ways_table"]

KINDS: tuple[Weights | None, ...] = (None, "lengths")
SHOWN = ("PR", "BFS", "SSSP", "SSWP")  # of the paper's programs


@dataclass(frozen=True)
class Way:
    """A way between GPUs.

    Attributes
    ----------
    links : str
        The argument `links=` of `Graph`.
    options : mapping
        Options of a run.
    """

    links: str
    options: Mapping[str, Any] = field(default_factory=dict)


# Ways by the environment variables that workers are started with
ON_SEVERAL: tuple[tuple[dict[str, str], dict[str, Way]], ...] = (
    (
        {},
        {
            "linked": Way("nccl"),
            "NCCL": Way("nccl", {"plan": ws.Plan(fused=False)}),
            "hub": Way("hub"),
        },
    ),
    (HUB, {"NCCL through the host": Way("nccl")}),
)
ON_ONE: tuple[tuple[bool, dict[str, Way]], ...] = (
    (False, {"hub": Way("hub")}),
    (True, {"NCCL over sockets": Way("nccl")}),
)


def ways(name: str, section: Section, repeats: int) -> None:
    """Time the searches and PageRank over each way.

    Parameters
    ----------
    name : str
        A generated graph.
    section : Section
    repeats : int
        Runs that count.
    """
    section.figures["ways"] = {}
    references: dict[str, list[float]] = {}
    groups: list[tuple[AbstractContextManager[Any], dict[str, Way]]]
    if len(installed_gpus()) < 2:
        groups = [(sharing(apart=apart), some) for apart, some in ON_ONE]
    else:
        groups = [(workers(environment), some) for environment, some in ON_SEVERAL]
    for started, some in groups:
        with started as client:
            several = PartitionedGraph(name, client)
            section.figures["workers"] = several.workers
            for kind in KINDS:
                section.attempt(
                    ", ".join(some),
                    lambda several=several, kind=kind, some=some: _race(
                        several, section, min(repeats, REPEATS), kind, some, references
                    ),
                )
            several.let_go()
    ways_table(section)


def _race(
    several: PartitionedGraph,
    section: Section,
    repeats: int,
    kind: Weights | None,
    some: Mapping[str, Way],
    references: dict[str, list[float]],
) -> None:
    """Time the programs that take this kind of weights, over some ways."""
    edges, weight = several.edges(kind), None if kind is None else "weight"
    graphs = {
        links: ws.Graph(edges, weight=weight, links=links)
        for links in dict.fromkeys(way.links for way in some.values())
    }
    for job in EXCHANGED:
        if job.weights != kind or job.name not in SHOWN:
            continue
        found = section.figures["ways"].setdefault(job.name, {})
        entrants = [
            _entrant(several, job, name, way, graphs[way.links], found, references)
            for name, way in some.items()
        ]
        for one in race(section, f"ways, {job.name}", entrants, repeats, few=repeats, many=MANY):
            found[one.library]["seconds"] = one.best_known
    for graph in graphs.values():
        graph.close()


def _entrant(
    several: PartitionedGraph,
    job: Job,
    name: str,
    way: Way,
    graph: Any,
    found: dict[str, dict[str, Any]],
    references: dict[str, list[float]],
) -> Entrant:
    """Return an entrant; the first way's result is the reference of the others."""

    def check(answer: Answer) -> float | None:
        result, frame = answer
        trace = result.trace
        found[name] = {"sent": int(trace["bytes_sent"].sum()), "supersteps": len(trace)}
        digest = several.digest(frame)
        off = far(digest, references.setdefault(job.name, digest))
        assert off <= ROUNDING, f"digests are apart by {off:.3g}"
        return off

    return Entrant(
        name, lambda: taken(job.call(graph, 1, several.values, **way.options)), check,
        alone=superstep_seconds,
    )  # fmt: skip


def ways_table(section: Section) -> None:
    """Add the table: milliseconds of all supersteps, and bytes that left GPUs, by program and way."""
    rows = []
    for program, found in section.figures["ways"].items():
        rows += [
            [program, way, str(one["supersteps"]), f"{one['seconds'] * 1e3:.3g}", f"{one['sent'] / 1e6:.2f}"]
            for way, one in found.items()
            if "seconds" in one
        ]  # fmt: skip
    columns = ["program", "way", "supersteps", "ms", "MB from GPUs"]
    section.table(f"ways between GPUs, {section.figures.get('workers', 0)} workers", columns, rows)
