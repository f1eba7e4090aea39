"""The benchmarks on a GPU: our engine, cuGraph, cuSPARSE and our own baselines on the same graphs.

    python ci/bench/gpu.py --only supersteps --graphs RM22 KR24
    python ci/bench/gpu.py --only frames --data FOLDER --graphs data --output bench.json
    python ci/bench/gpu.py --only cluster --peers --graphs RM22      # on all GPUs of this host

Graphs are made on the GPU from a seed, or read from edge lists.  Everybody runs in one process, in
turns; figures are medians after two calls that do not count, of which the first, with all compilation
in it, is shown apart.  Every result is verified.  What fails is printed and the rest goes on; the JSON
file is written anew after every job, so that a run that is cut short leaves one.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))  # its verifiers are the judges
sys.path.append(str(Path(__file__).parents[1] / "gpu"))  # what reads Nsight Compute's output

from gpu_cluster import cluster
from gpu_efficiency import efficiency
from gpu_frames import frames
from gpu_frontiers import frontiers
from gpu_graphs import GENERATED, SCALING, UNSEEN, Case, cases
from gpu_loops import loops
from gpu_measure import Section
from gpu_ranks import ranks
from gpu_scaling import Scaling
from gpu_schedules import schedules
from gpu_searches import searches
from gpu_supersteps import supersteps

__all__ = ["PARTS", "main"]

# What a part runs, and on which graphs by itself.
PARTS: dict[str, tuple[Callable[[Case, Section, int], None] | None, tuple[str, ...]]] = {
    "supersteps": (supersteps, ("RM20", "RM22", "RM33V335E", "KR24", "road-like")),
    "schedules": (schedules, ("RM22", "RM33V335E", "KR24", "road-like", "ER25V201E")),
    "frames": (frames, ("RM22", "RM33V335E", "KR24", "road-like")),
    "ranks": (ranks, UNSEEN),
    "searches": (searches, ("RM22", "RM33V335E", "KR24", "road-like")),
    "frontiers": (frontiers, ("RM22", "KR24", "road-like")),
    "loops": (loops, ("road-like",)),
    "efficiency": (None, ("RM22", "road-like")),
    # On all GPUs of this host, where there are two or more
    "cluster": (None, ("RM33V335E",)),
    "cluster-build": (None, ("RM33V335E",)),
    "cluster-functions": (None, ("RM33V335E",)),
    "cluster-exchange": (None, ("RM33V335E",)),
    "cluster-hub": (None, ("RM33V335E",)),
    "cluster-scaling": (None, tuple(SCALING)),
    "cluster-peers": (None, ("RM33V335E",)),
    "cluster-large": (None, ("RM54V704E",)),
}
# Those that take a graph by name, since they make it elsewhere; what is a context lasts for all graphs
BY_NAME: dict[str, Callable[..., None]] = {
    "efficiency": lambda name, section, repeats, peers: efficiency(name, section),
    "cluster": partial(cluster, pieces=("build", "functions", "exchange", "memory")),
    "cluster-build": partial(cluster, pieces=("build", "memory")),
    "cluster-functions": partial(cluster, pieces=("functions",)),
    "cluster-exchange": partial(cluster, pieces=("exchange",)),
    "cluster-hub": partial(cluster, pieces=("exchange",), hub=True),
    "cluster-scaling": Scaling(),
    "cluster-peers": partial(cluster, pieces=("peers",)),
    "cluster-large": partial(cluster, pieces=("large",)),
}
USUAL = tuple(part for part in PARTS if not part.startswith("cluster"))
REPEATS = 5


def main() -> int:
    """Measure what was asked for; return 1 if anything failed."""
    arguments = parse()
    done: list[dict[str, Any]] = []
    failed = 0

    def write(running: list[str] | None, begun: Section | None = None) -> None:
        sections = done if begun is None else [*done, begun.facts()]
        facts = {"repeats": arguments.repeats, "sections": sections, "running": running}
        arguments.output.write_text(json.dumps(facts, indent=1) + "\n")

    for part in arguments.only:
        measure, usual = PARTS[part]
        names = arguments.graphs or list(usual)
        if arguments.data is not None and not arguments.graphs and measure is not None:
            names = [*names, "data"]
        write([part, names[0] if len(names) == 1 else "all"])
        if measure is None:
            make = BY_NAME[part]
            with make if isinstance(make, AbstractContextManager) else nullcontext():
                for name in names:
                    write([part, name])
                    section, begun = Section(part, name), time.perf_counter()
                    section.keep = partial(write, [part, name], section)
                    print(f"{part}: {name}", flush=True)
                    work = partial(make, name, section, arguments.repeats, peers=arguments.peers)
                    section.attempt(part, work)
                    close(section, begun)
                    failed += len(section.errors)
                    done.append(section.facts())
            continue
        for case in cases(names, arguments.data):
            write([part, case.name])
            print(f"{part}: {case}", flush=True)
            section, begun = Section(part, case.name), time.perf_counter()
            section.keep = partial(write, [part, case.name], section)
            section.attempt(part, lambda m=measure, c=case, s=section: m(c, s, arguments.repeats))
            close(section, begun)
            failed += len(section.errors)
            done.append(section.facts())
            case.let_go()
            gc.collect()
    write(None)
    print(f"written to {arguments.output}")
    return 1 if failed else 0


def close(section: Section, begun: float) -> None:
    """Print which targets a section has met, and how long it took."""
    for target in section.targets:
        print(f"  {'met   ' if target.met else 'missed'} {target.name}: "
              f"{target.measured:.2f}", flush=True)  # fmt: skip
    print(f"  {time.perf_counter() - begun:.0f} s", flush=True)


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(USUAL), metavar="PART",
                        help=f"some of: {', '.join(PARTS)}")  # fmt: skip
    parser.add_argument("--graphs", nargs="+", metavar="NAME",
                        help=f"of: {', '.join(GENERATED)}, edge lists in --data, or 'data' for all")  # fmt: skip
    parser.add_argument("--data", type=Path, help="folder of edge lists to measure on too")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="runs that count")
    parser.add_argument("--peers", action=argparse.BooleanOptionalAction, default=False,
                        help="whether cuGraph's own multi-GPU takes part in 'cluster' too")  # fmt: skip
    parser.add_argument("--output", type=Path, default=Path("gpu-bench.json"), help="the JSON file")
    arguments = parser.parse_args()
    unknown = [one for one in arguments.graphs or () if one not in GENERATED]
    if unknown and arguments.data is None:
        parser.error(f"{', '.join(unknown)}: no such graph is generated; give --data FOLDER")
    return arguments


if __name__ == "__main__":
    sys.exit(main())
