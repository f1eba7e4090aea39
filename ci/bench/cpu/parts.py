"""Functions and programs on two cores, against NetworKit, igraph, NetworkX and SciPy."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import partial

from bench.cpu.accelerators import law
from bench.cpu.first_result import first_result
from bench.cpu.groups import groups
from bench.cpu.networkx_script import networkx_script
from bench.cpu.on_disk import on_disk
from bench.forms import NETWORKIT, host_cases, library
from bench.overheads import karate_in_a_row, levels
from bench.parts import Part, fixed, parser, read, sweep
from bench.peers import works
from bench.unlike import unlike_cores

CORES = 2
# Graphs, and the most edges of those read from the folder
QUICK = ("RMAT14",), 600_000
FULL = ("RMAT16", "RMAT20"), 100_000_000
PARTS = {
    "first-result": fixed(first_result, "30,000 edges"),
    **{name: Part(partial(works, name), QUICK[0]) for name in ("csc", "algorithms", "known")},
    "groups": fixed(groups, "10,000 graphs"),
    "unlike": fixed(unlike_cores, "RMAT17, one of two at half speed"),
    "on-disk": fixed(on_disk, "24 M edges on disk"),
    "networkx": Part(networkx_script, QUICK[0]),
    "in-a-row": fixed(karate_in_a_row, "karate club"),
    "levels": fixed(partial(levels, gpu=False), "a path of 100,000"),
    "accelerators": Part(law, QUICK[0]),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the requested parts; return 1 if anything failed."""
    reader = parser("cpu", __doc__ or "", PARTS)
    reader.add_argument("--full", dest="size", action="store_const", const=FULL, default=QUICK,
                        help="RMAT16, RMAT20 and all edge lists: 12 GB, an hour; "
                             "without it RMAT14 and small edge lists: a minute or two")  # fmt: skip
    asked = read(reader, arguments, lambda name: re.fullmatch(r"RMAT\d+", name) is not None)
    print(f"cores: {hold_to_cores(CORES)}")
    graphs, most_edges = asked.size
    parts = {
        name: part if part.by_name else part._replace(graphs=graphs) for name, part in PARTS.items()
    }
    return sweep(parts, asked, partial(host_cases, most_edges=most_edges))


def hold_to_cores(wanted: int) -> list[int]:
    """Pin this process, its threads and its children to the same few cores; return these."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))[:wanted]
        os.sched_setaffinity(0, cores)
    else:
        cores = list(range(wanted))
        os.environ["CUGRAPH_WS_THREADS"] = str(wanted)
    if (networkit := library(NETWORKIT)) is not None:
        networkit.setNumberOfThreads(len(cores))
    return cores
