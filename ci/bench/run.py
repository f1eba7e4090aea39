"""The benchmarks: one command, a table and a JSON file out.

    python ci/bench/run.py --quick
    python ci/bench/run.py --full --data FOLDER --output bench.json

See README.md beside this file for what is measured, and how.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))  # its verifiers are the judges

import networkit
from algorithms import FORMS, JOBS, Built
from building import first_result, make_csc, peak_memory
from graphs import Case, generated, read_folder
from measure import OURS, Target, Timing, race, ratio
from report import machine, results, target_table, timing_table
from rich.console import Console
from user_programs import PROGRAMS, USERS
from verify import Edges

PARTS = ("algorithms", "csc", "memory", "first-result", "programs")
CORES = 2
NETWORKX_TIMES = 100.0
USERS_TIMES = 1.2


@dataclass(frozen=True)
class Size:
    """How much to measure."""

    scales: tuple[int, ...]  # of the RMAT graphs
    most_edges: int  # of the graphs read from the folder
    repeats: int


QUICK = Size(scales=(14,), most_edges=600_000, repeats=5)
FULL = Size(scales=(16, 20), most_edges=100_000_000, repeats=5)


def main() -> None:
    """Measure what was asked for, print tables, write the JSON file."""
    arguments = parse()
    cores = hold_to_cores(CORES)
    console = Console()
    timings: list[Timing] = []
    targets: list[Target] = []
    facts = {"machine": machine(), "cores": cores, "repeats": arguments.size.repeats}
    for new_timings, new_targets in measure(arguments, console):
        timings += new_timings
        targets += new_targets
        write(arguments.output, {**facts, **results(timings, targets)})
    console.print(timing_table(timings), target_table(targets), sep="\n")
    console.print(f"written to {arguments.output}")


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Benchmarks of cugraph_ws against its peers.")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", dest="size", action="store_const", const=QUICK, default=QUICK,
                      help="small graphs: a minute or two (default)")  # fmt: skip
    size.add_argument("--full", dest="size", action="store_const", const=FULL,
                      help="RMAT scale 20 and all of --data: 12 GB, an hour")  # fmt: skip
    parser.add_argument("--data", type=Path, help="folder of edge lists to measure on too")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART",
                        help=f"some of: {', '.join(PARTS)}")  # fmt: skip
    parser.add_argument("--output", type=Path, default=Path("bench.json"), help="the JSON file")
    return parser.parse_args()


def hold_to_cores(wanted: int) -> list[int]:
    """Hold this process, its threads and its children to the same few cores; return which."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))[:wanted]
        os.sched_setaffinity(0, cores)
    else:
        cores = list(range(wanted))
        os.environ["CUGRAPH_WS_THREADS"] = str(wanted)
    networkit.setNumberOfThreads(len(cores))
    return cores


def measure(
    arguments: argparse.Namespace, console: Console
) -> Iterator[tuple[list[Timing], list[Target]]]:
    """Yield timings and targets, part by part."""
    parts, repeats = arguments.only, arguments.size.repeats
    if "first-result" in parts:
        yield [], [first_result(repeats)]
    for case in cases(arguments):
        console.print(f"[bold]{case}")
        if "csc" in parts:
            timings, target = make_csc(case, repeats)
            yield timings, [target]
        if "memory" in parts and sys.platform == "linux":
            yield [], [peak_memory(case)]
        if {"algorithms", "programs"} & set(parts):
            yield from race_on(case, parts, repeats, console)


def cases(arguments: argparse.Namespace) -> Iterator[Case]:
    """Yield the graphs, each made when its turn comes."""
    if arguments.data is not None:
        yield from read_folder(arguments.data, arguments.size.most_edges)
    for scale in arguments.size.scales:
        yield generated(scale)


def race_on(
    case: Case, parts: list[str], repeats: int, console: Console
) -> Iterator[tuple[list[Timing], list[Target]]]:
    """Yield what the algorithms and programs take on one graph.

    One form of the graph at a time is held in all libraries.
    """
    directed = case.directed
    forms = {
        "unweighted": Edges(directed.source, directed.destination, directed.n),
        "weighted": directed,
        "undirected": case.undirected,
    }
    for form, jobs in FORMS.items():
        built = Built(forms[form])
        for job in jobs if "algorithms" in parts else ():
            console.print(f"  {job}")
            timings = race(job, case.name, list(JOBS[job](built, case.start)), repeats)
            yield timings, peers(timings)
        for job, (needs, contenders) in PROGRAMS.items():
            if "programs" in parts and needs == form:
                console.print(f"  {USERS}: {job}")
                racers = list(contenders(built, case.start))
                timings = race(f"program {job}", case.name, racers, repeats)
                share = 1 / ratio(timings, USERS)[OURS]
                name = f"{USERS}: {job}, times the built-in"
                yield timings, [Target(name, case.name, share, USERS_TIMES)]


def peers(timings: list[Timing]) -> list[Target]:
    """Compare with the best of the compiled peers, and with NetworkX where it took part."""
    job, graph = timings[0].job, timings[0].graph
    times = ratio(timings)
    networkx = times.pop("NetworkX", None)
    name, best = f"{job}: best of NetworKit and igraph, times ours", min(times.values())
    targets = [Target(name, graph, best, 1.0, at_least=True)]
    if networkx is not None:
        name = f"{job}: NetworkX, times ours"
        targets.append(Target(name, graph, networkx, NETWORKX_TIMES, at_least=True))
    return targets


def write(path: Path, facts: dict[str, Any]) -> None:
    """Write the JSON file anew, after every part, so that a run that is cut short leaves one."""
    path.write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
