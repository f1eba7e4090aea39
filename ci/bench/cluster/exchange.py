"""Time the methods of exchange VR, MS, ALL and auto on the paper's eight programs, and split their supersteps' time.

`figures["exchange"]` of a section has by program and method: seconds of all supersteps; supersteps, bytes sent and
useful ones; computing and communication.  For auto only the time is measured.  Unknown figures are left out.
"""

from __future__ import annotations

import statistics
from functools import partial
from typing import Any

import cugraph_ws as ws
from bench.cluster.breakdown import breakdown
from bench.cluster.jobs import EXCHANGED, MANY, Answer, Job, superstep_seconds, taken
from bench.cluster.partitions import Setup
from bench.graphs import Weights
from bench.paper import OTHERS, over, useful
from bench.timing import Entrant, Section, Target, race

__all__ = ["METHODS", "exchange", "exchange_table", "exchange_targets"]

EXCHANGE_TARGET = 1.3  # ALL ÷ VR and MS ÷ VR, mean over the programs
HUB_TARGET = 1.8  # the same through the host's memory, as in Table VIII
METHODS = {"VR": "vr", "MS": "ms", "ALL": "all"}
AUTO = "auto"
AUTO_TARGET = 1.03  # auto ÷ the best of the three, in every program


def exchange(setup: Setup, section: Section, repeats: int, kind: Weights | None) -> None:
    """Time the paper's programs that take this kind of weights, by each method of exchange."""
    found = section.figures.setdefault("exchange", {})
    section.figures["gpus"] = setup.several.workers
    for job in EXCHANGED:
        if job.weights != kind:
            continue
        name = f"exchange, {job.name}"
        numbers: dict[str, dict[str, Any]] = {method: {} for method in (*METHODS, AUTO)}
        methods = partial(_methods, setup, job, numbers)
        entrants = section.attempt(f"preparing {name}", methods) or []
        for one in race(section, name, entrants, repeats, few=repeats, many=MANY):
            numbers[one.library]["seconds"] = one.best_known
        for entrant in entrants:
            parts = section.attempt(
                f"breaking {name}, {entrant.library}, down",
                lambda run=entrant.run: breakdown(setup.several.client, lambda: run()[0]),
            )
            if parts is not None:
                numbers[entrant.library]["computing"] = parts.computing
                numbers[entrant.library]["communication"] = parts.communication
        found[job.name] = {method: one for method, one in numbers.items() if "seconds" in one}


def _methods(setup: Setup, job: Job, numbers: dict[str, dict[str, Any]]) -> list[Entrant]:
    """Return an entrant for each method; the first one's result is the others' reference."""
    several, start = setup.several, setup.case.start
    graph, reference = several.graph(job.weights), []
    if job.dense:
        several.values(), several.values(1000)

    def entrant(method: str) -> Entrant:
        def check(answer: Answer) -> float | None:
            result, frame = answer
            numbers[method]["supersteps"] = int(result.iterations)
            for one in ("sent", "useful"):
                numbers[method][one] = int(result.trace[f"bytes_{one}"].sum())
            if not reference:
                reference.append(frame)
                return None
            return several.off_by(frame, reference[0])

        return Entrant(
            method,
            lambda: taken(
                job.call(graph, start, several.values, plan=ws.Plan(exchange=METHODS.get(method, method)))
            ),
            check, alone=superstep_seconds,
        )  # fmt: skip

    return [entrant(method) for method in (*METHODS, AUTO)]


def auto_over_best(found: dict[str, dict[str, Any]]) -> float | None:
    """Return how many times longer a program's supersteps took by auto than by the best of the three."""
    best = [found[method]["seconds"] for method in METHODS if method in found]
    return found[AUTO]["seconds"] / min(best) if best and AUTO in found else None


def exchange_targets(section: Section, workers: int, *, hub: bool = False) -> None:
    """Add the means of Table VIII: how many times longer supersteps take than by VR."""
    for method in OTHERS:
        ratios = [over(found, method) for found in section.figures["exchange"].values()]
        if known := [one for one in ratios if one is not None]:
            how = f"{workers} GPUs" + (", through the host" if hub else "")
            name = f"supersteps: {method} ÷ VR, mean over {len(known)} programs, {how}"
            least = HUB_TARGET if hub else EXCHANGE_TARGET
            mean = statistics.mean(known)
            section.targets.append(Target(name, section.graph, mean, least, at_least=True))
    each = [auto_over_best(found) for found in section.figures["exchange"].values()]
    if known := [one for one in each if one is not None]:
        name = f"supersteps: auto ÷ best of VR, MS and ALL, worst of {len(known)} programs"
        worst, mean = max(known), statistics.mean(known)
        section.targets.append(Target(name, section.graph, worst, AUTO_TARGET, mean=mean))


def exchange_table(section: Section, workers: int) -> None:
    """Add the known figures of Tables I and VIII and of Figure 9, program by program."""
    rows = []
    for program, found in section.figures["exchange"].items():
        row = [program, str(max((one.get("supersteps", 0) for one in found.values()), default=0))]
        row.append(f"{found['VR']['seconds'] * 1e3:.3g}" if "VR" in found else "")
        ratios = [*(over(found, method) for method in OTHERS), auto_over_best(found)]
        row += ["" if one is None else f"{one:.2f}" for one in ratios]
        numbers = [found.get(method, {}) for method in METHODS]
        row += [
            f"{one['computing'] * 1e3:.3g} + {one['communication'] * 1e3:.3g}"
            if "computing" in one else ""
            for one in numbers
        ]  # fmt: skip
        row += [f"{one['sent'] / 1e6:.2f}" if "sent" in one else "" for one in numbers]
        row += [useful(found, method) for method in OTHERS]
        rows.append(row)
    columns = ["program", "supersteps", "VR, ms", "ALL ÷ VR", "MS ÷ VR", "auto ÷ best",
               *(f"{one}: computing + communication, ms" for one in METHODS),
               *(f"{one}, MB" for one in METHODS), "ALL useful", "MS useful"]  # fmt: skip
    section.table(f"exchange, {workers} GPUs", columns, rows)
