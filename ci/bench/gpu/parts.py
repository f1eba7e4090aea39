"""The library on one GPU against cuGraph, cuSPARSE and virtual warps, on the same graphs.

Graphs are made on the GPU from a seed, or read from edge lists.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.gpu.cases import cases
from bench.gpu.efficiency import efficiency
from bench.gpu.extrapolation import extrapolation
from bench.gpu.frames import frames
from bench.gpu.frontiers import frontiers
from bench.gpu.known import known
from bench.gpu.layouts import layouts
from bench.gpu.loads import loads
from bench.gpu.loops import loops
from bench.gpu.products import SMALL, products
from bench.gpu.ranks import ranks
from bench.gpu.schedules import schedules
from bench.gpu.searches import searches
from bench.gpu.shards import shards
from bench.gpu.supersteps import supersteps
from bench.graphs import GENERATED, UNSEEN
from bench.parts import Part, parser, read, sweep

__all__ = ["PARTS", "main"]

PARTS = {
    "supersteps": Part(supersteps, ("RM20", "RM22", "RM33V335E", "KR24", "road-like")),
    "products": Part(products, (*SMALL, "RM20", "RM22", "KR24", "road-like")),
    "schedules": Part(schedules, ("RM22", "RM33V335E", "KR24", "road-like", "ER25V201E")),
    "layouts": Part(layouts, ("RM22", "KR24", "RM33V335E")),
    "shards": Part(
        shards, ("social-77K", "web-325K", "RM22", "road-like", "RM16V134E", "RM33V335E")
    ),
    "frames": Part(frames, ("RM22", "RM33V335E", "KR24", "road-like")),
    "known": Part(known, ("KR20", "KR22", "grid")),
    "ranks": Part(ranks, UNSEEN),
    "extrapolation": Part(extrapolation, ("RM22", "road-like", "small-world-22", "cliques")),
    "searches": Part(searches, ("RM22", "RM33V335E", "KR24", "road-like")),
    "frontiers": Part(frontiers, ("RM22", "KR24", "road-like")),
    "loops": Part(loops, ("road-like",)),
    "loads": Part(loads, ("RM20", "RM22", "road-like")),
    "efficiency": Part(efficiency, ("RM22", "road-like"), by_name=True),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the requested parts; return 1 if anything failed."""
    reader = parser("gpu", (__doc__ or "").splitlines()[0], list(PARTS), list(PARTS))
    asked = read(reader, arguments, GENERATED.__contains__)
    return sweep(PARTS, asked.parts, asked, cases)
