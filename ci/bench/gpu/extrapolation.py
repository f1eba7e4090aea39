"""PageRank with and without extrapolation: supersteps and time of a call, on the same graph in turns."""

from __future__ import annotations

from typing import Any

import cugraph_ws as ws
from bench.gpu.cases import Case
from bench.timing import OURS, Entrant, Section, Target, by_library, race
from cugraph_ws.runtime.arrays import as_host

__all__ = ["extrapolation"]

TOLERANCES = (1e-6, 1e-9)
ALPHA = 0.85
SLOWER = 1.02  # bound of the time by default ÷ the time without extrapolation
MODES = {"plain": "never", OURS: "auto", "always": "always"}
COLUMNS = (
    "tol",
    *(f"{name}, {what}" for what in ("supersteps", "ms") for name in MODES),
    "plain ÷",
)


def extrapolation(case: Case, section: Section, repeats: int) -> None:
    """Time runs that extrapolate never, by default and always; print one table."""
    graph, rows = case.graph(), []
    for tol in TOLERANCES:
        counts: dict[str, str] = {}
        expected: list[Any] = []

        def check(
            result: Any, name: str, tol: float = tol, counts: Any = counts, expected: Any = expected
        ) -> float:
            ranks = as_host(result.arrays["pagerank"])
            expected.append(ranks)
            off = float(abs(ranks - expected[0]).sum())
            assert off <= 2 * tol * ALPHA / (1 - ALPHA), f"ranks differ by {off:.2e}"
            counts[name] = f"{result.iterations} ({sum(result.rows.extrapolated)})"
            return off

        entrants = [
            Entrant(
                name,
                lambda mode=mode, tol=tol: ws.run(
                    ws.PageRank, graph, tol=tol, max_iter=500, extrapolate=mode
                ),
                lambda result, name=name, check=check: check(result, name),
            )
            for name, mode in MODES.items()
        ]
        job = f"PageRank to {tol:.0e}"
        measured = by_library(race(section, job, entrants, repeats))
        if measured.keys() == MODES.keys():
            plain, ours = measured["plain"].median, measured[OURS].median
            section.targets.append(
                Target(f"{job}: by default ÷ plain", section.graph, ours / plain, SLOWER)
            )
            rows.append([
                f"{tol:.0e}", *(counts[name] for name in MODES),
                *(f"{1e3 * measured[name].median:.2f}" for name in MODES), f"{plain / ours:.2f}",
            ])  # fmt: skip
    section.table(f"PageRank, extrapolated in brackets, {case.name}", COLUMNS, rows)
    section.keep()
