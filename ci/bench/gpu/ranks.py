"""Weighted PageRank to 1e-6 against cuGraph's, whole calls, on graphs that were not used for tuning."""

from __future__ import annotations

from typing import Any

import cugraph_ws as ws
from bench.gpu.cases import Case, cugraph_here
from bench.timing import OURS, Entrant, Section, compare, race

__all__ = ["ranks"]

CUGRAPH = "cuGraph"
TARGET = 1.3  # bound of cuGraph's time ÷ ours
TOLERANCE = 1e-6
NEAR = 1e-4  # allowed relative difference of ranks: cuGraph's are float32


def ranks(case: Case, section: Section, repeats: int) -> None:
    """Time PageRank with weights, graphs built before, result frames included."""
    expected: list[Any] = []

    def check(frame: Any) -> float:
        found = case.by_id(frame, "pagerank").astype("float64")
        total = float(found.sum())
        assert abs(total - 1.0) < 1e-3, f"the ranks sum to {total}"
        if not expected:
            expected.append(found)
        off = abs(found - expected[0]).max() / expected[0].max()
        assert float(off) < NEAR, f"ranks differ by {float(off):.2e} of the greatest"
        return float(off)

    graph = case.graph("lengths")
    entrants = [Entrant(OURS, lambda: ws.pagerank(graph, tol=TOLERANCE), check)]
    others = section.attempt("making cuGraph's graph", lambda: _cugraph(case, check)) or []
    measured = race(section, "weighted PageRank to 1e-6", [*entrants, *others], repeats)
    compare(section, "weighted PageRank to 1e-6: cuGraph ÷ ours", measured, CUGRAPH, TARGET,
            alone=False)  # fmt: skip


def _cugraph(case: Case, check: Any) -> list[Entrant]:
    """Return cuGraph's function, if cuGraph is installed."""
    if (cugraph := cugraph_here()) is None:
        return []
    theirs = case.cugraph("lengths", transposed=True)
    options = {"tol": TOLERANCE, "max_iter": 500, "fail_on_nonconvergence": False}
    return [Entrant(CUGRAPH, lambda: cugraph.pagerank(theirs, **options)[0], check)]
