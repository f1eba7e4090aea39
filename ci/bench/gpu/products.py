"""cuSPARSE's matrix-vector product, in the order of our graph, against a superstep of PageRank, also on small graphs.

A superstep reads what a product reads, except the values, and sums the changes of ranks.  Both take the arcs in
the order of falling in-degrees.  `small` graphs have the size and shape of real ones: a superstep takes
microseconds there, and the original order of vertices has locality, which our order loses.
"""

from __future__ import annotations

from bench.gpu.cases import Case
from bench.gpu.programs import arguments_of, entrant
from bench.gpu.supersteps import spmv
from bench.programs import PROGRAMS
from bench.timing import OURS, Section, compare, race

__all__ = ["SMALL", "products"]

SMALL = ("social-77K", "web-325K", "RM100K")
AT_LEAST = 1.0


def products(case: Case, section: Section, repeats: int) -> None:
    """Time both in turns; the targets are ratios of these times."""
    work = PROGRAMS["pagerank"]
    ours = entrant(case, work, arguments_of(case, work), OURS)
    measured = race(section, "superstep or product", [ours, *spmv(case)], repeats)
    for other in ("cuSPARSE, our order", "cuSPARSE"):
        name = f"{other} ÷ PageRank's superstep"
        compare(section, name, measured, other, AT_LEAST, alone=True)
