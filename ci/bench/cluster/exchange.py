"""What methods of exchange cost: the paper's eight programs by VR, MS and ALL, and what supersteps are made of."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field

from bench.cluster.breakdown import Breakdown, breakdown
from bench.cluster.jobs import EXCHANGED, Answer, Job, milliseconds, taken
from bench.cluster.partitions import Lent
from bench.graphs import Weights
from bench.timing import Entrant, Measured, Section, Target, by_library, race

__all__ = ["METHODS", "Exchanged", "exchange", "exchange_table", "exchange_targets"]

EXCHANGE_TARGET = 1.3  # ALL ÷ VR and MS ÷ VR, mean over the programs
HUB_TARGET = 1.8  # the same through the host's memory, as in Table VIII
METHODS = {"VR": "vr", "MS": "ms", "ALL": "all"}


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
