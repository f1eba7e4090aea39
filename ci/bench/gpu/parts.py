"""The library on one GPU against cuGraph and cuSPARSE, on the same graphs.

Graphs are made on the GPU from a seed, or read from edge lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from bench.forms import gpu_cases
from bench.gpu.draws import draws
from bench.gpu.first_calls import first_calls
from bench.gpu.host_arcs import host_arcs
from bench.gpu.large_folder import large_folder
from bench.gpu.layouts import layouts
from bench.gpu.supersteps import supersteps
from bench.gpu.user_programs import user_programs
from bench.graphs import GENERATED, UNSEEN
from bench.overheads import in_a_row, levels
from bench.parts import Part, fixed, parser, read, sweep
from bench.peers import works

LARGE = ("RM22", "RM33V335E", "KR24", "road-like")
SMALL = ("social-77K", "web-325K")
PARTS = {
    "first-calls": fixed(first_calls, "65,536 edges"),
    "user-programs": fixed(user_programs, "65,536 edges"),
    "supersteps": Part(supersteps, (*SMALL, "RM100K", "RM20", *LARGE)),
    "frames": Part(partial(works, "frames"), ("RM20", *LARGE)),
    "known": Part(partial(works, "known"), ("KR20", "KR22", "grid")),
    "draws": Part(draws, ("KR22",)),
    "host-arcs": Part(host_arcs, ("KR24",)),
    "large-folder": fixed(large_folder, "RMAT 26, 2.15 G edges"),
    "in-a-row": Part(in_a_row, ("RM100K",)),
    "levels": fixed(partial(levels, gpu=True), "a path of 10,000"),
    "layouts": Part(layouts, (*SMALL, "cliques", "road-like")),
    "ranks": Part(partial(works, "ranks"), UNSEEN),
    "searches": Part(partial(works, "searches"), LARGE),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the requested parts; return 1 if anything failed."""
    reader = parser("gpu", (__doc__ or "").splitlines()[0], PARTS)
    return sweep(PARTS, read(reader, arguments, GENERATED.__contains__), gpu_cases)
