"""Functions and programs on two cores, against NetworKit, igraph, NetworkX and SciPy."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import networkit

from bench.cpu.algorithms import algorithms, programs
from bench.cpu.building import first_result, make_csc, peak_memory
from bench.cpu.cases import cases
from bench.cpu.known import known
from bench.parts import Part, parser, read, sweep

__all__ = ["PARTS", "main"]

CORES = 2


class Size(NamedTuple):
    """How much to measure."""

    graphs: tuple[str, ...]
    most_edges: int  # of graphs read from the folder


QUICK = Size(("RMAT14",), 600_000)
FULL = Size(("RMAT16", "RMAT20"), 100_000_000)
PARTS = {
    "first-result": Part(first_result, ("30,000 edges",), by_name=True, fixed=True),
    "csc": Part(make_csc, QUICK.graphs),
    "memory": Part(peak_memory, QUICK.graphs),
    "algorithms": Part(algorithms, QUICK.graphs),
    "programs": Part(programs, QUICK.graphs),
    "known": Part(known, QUICK.graphs),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the requested parts; return 1 if anything failed."""
    reader = parser("cpu", __doc__ or "", list(PARTS), list(PARTS))
    size = reader.add_mutually_exclusive_group()
    size.add_argument("--quick", dest="size", action="store_const", const=QUICK, default=QUICK,
                      help="RMAT14 and small edge lists: a minute or two (default)")  # fmt: skip
    size.add_argument("--full", dest="size", action="store_const", const=FULL,
                      help="RMAT16, RMAT20 and all edge lists: 12 GB, an hour")  # fmt: skip
    asked = read(reader, arguments, lambda name: re.fullmatch(r"RMAT\d+", name) is not None)
    print(f"cores: {hold_to_cores(CORES)}")
    parts = {
        name: part if part.by_name else Part(part.measure, asked.size.graphs)
        for name, part in PARTS.items()
    }
    return sweep(parts, asked.parts, asked, partial(cases, most_edges=asked.size.most_edges))


def hold_to_cores(wanted: int) -> list[int]:
    """Pin this process, its threads and its children to the same few cores; return these."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))[:wanted]
        os.sched_setaffinity(0, cores)
    else:
        cores = list(range(wanted))
        os.environ["CUGRAPH_WS_THREADS"] = str(wanted)
    networkit.setNumberOfThreads(len(cores))
    return cores
