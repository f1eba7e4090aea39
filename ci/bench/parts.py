"""Parts of the benchmarks, run one after the other on their graphs: shared code of `cpu`, `gpu` and `cluster`.

All entrants run in one process, in turns.  Figures are medians after two calls that do not count; the first of
these, which includes all compilation, is shown separately.  Every result is verified.  A failure is printed, and
the rest runs; the JSON file is rewritten after every job, so that an interrupted run leaves one.
"""

from __future__ import annotations

import argparse
import datetime
import gc
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.children import Done
from bench.machine import machine
from bench.page import add
from bench.places import MEASUREMENTS
from bench.run import placed, when
from bench.stages import bench_sections
from bench.timing import Section
from bench.tree import files_hash

__all__ = ["Part", "Parts", "parser", "read", "sweep"]

Cases = Callable[[Sequence[str], Path | None], Iterator[Any]]
REPEATS = 5


@dataclass(frozen=True)
class Part:
    """One part of the benchmarks.

    Attributes
    ----------
    measure : callable
        Takes a case, or a graph's name; a `Section`, to which it adds timings, targets, tables and errors;
        and the number of runs that count.  A context manager is entered before the first graph and left
        after the last.
    graphs : tuple of str
        Default graphs.
    by_name : bool
        Whether `measure` takes a graph's name, since it makes the graph elsewhere.
    fixed : bool
        Whether it always runs on the default graph.
    """

    measure: Callable[[Any, Section, int], None]
    graphs: tuple[str, ...]
    by_name: bool = False
    fixed: bool = False


Parts = Mapping[str, Part]


def parser(command: str, text: str, parts: Sequence[str], usual: Sequence[str]) -> Any:
    """Return the parser of a command that runs parts; its options are the same for all of them.

    Parameters
    ----------
    command, text : str
        Its name and description.
    parts, usual : sequence of str
        All parts, and those that run by default.
    """

    def one_of(name: str) -> str:
        if name not in parts:
            raise argparse.ArgumentTypeError(f"{name!r} is not one of {', '.join(parts)}")
        return name

    made = argparse.ArgumentParser(prog=f"bench {command}", description=text)
    made.add_argument("parts", nargs="*", type=one_of, default=list(usual), metavar="PART",
                      help=f"some of: {', '.join(parts)}")  # fmt: skip
    made.add_argument("--graphs", nargs="+", metavar="NAME",
                      help="generated graphs, edge lists in --data, or 'data' for all of these")  # fmt: skip
    made.add_argument("--data", type=Path, help="folder of edge lists")
    made.add_argument("--repeats", type=int, default=REPEATS, help="runs that count")
    made.add_argument("--output", type=Path, default=Path("bench.json"), help="the JSON file")
    made.add_argument("--record", action="store_true",
                      help="also put the results into docs/measurements")  # fmt: skip
    return made


def read(
    reader: argparse.ArgumentParser, arguments: Sequence[str] | None, known: Callable[[str], bool]
) -> argparse.Namespace:
    """Read a command line; exit with a message if a graph is neither known nor in a folder."""
    asked = reader.parse_args(arguments)
    unknown = [one for one in asked.graphs or () if not known(one)]
    if unknown and asked.data is None:
        reader.error(f"{', '.join(unknown)}: no such graph is generated; give --data FOLDER")
    return asked


def sweep(parts: Parts, wanted: Sequence[str], asked: argparse.Namespace, cases: Cases) -> int:
    """Measure parts on graphs; return 1 if anything failed.

    Parameters
    ----------
    parts : mapping of str to Part
    wanted : sequence of str
        Names of the parts to run.
    asked : Namespace
        Arguments parsed by a parser of `parser`.
    cases : callable
        Takes names and the folder of edge lists; yields cases, each made when requested.
    """
    done: list[dict[str, Any]] = []

    def write(running: list[str] | None, begun: Section | None = None) -> None:
        sections = done if begun is None else [*done, begun.facts()]
        facts = {"repeats": asked.repeats, "sections": sections, "running": running}
        asked.output.write_text(json.dumps(facts, indent=1) + "\n")

    with ExitStack() as stack:
        for name in wanted:
            part = parts[name]
            names = [*part.graphs, *(["data"] if asked.data and not part.by_name else [])]
            if asked.graphs and not part.fixed:
                names = asked.graphs
            write([name, names[0] if len(names) == 1 else "all"])
            measure: Any = part.measure
            if isinstance(measure, AbstractContextManager):
                stack.enter_context(measure)
            for case in names if part.by_name else cases(names, asked.data):
                graph = case if part.by_name else case.name
                write([name, graph])
                print(f"{name}: {case}", flush=True)
                section, now = Section(name, graph), datetime.datetime.now(datetime.UTC)
                section.keep = partial(write, [name, graph], section)
                section.attempt(name, partial(measure, case, section, asked.repeats))
                _close(section, when(now)["seconds"])
                done.append(section.facts())
                if asked.record:
                    _record(done[-1], now)
                gc.collect()
            stack.close()
    write(None)
    print(f"written to {asked.output}")
    return 1 if any(one["errors"] for one in done) else 0


def _close(section: Section, seconds: float) -> None:
    """Print whether a section has met its targets, and its duration."""
    for target in section.targets:
        print(f"  {'met   ' if target.met else 'missed'} {target.name}: {target.measured:.2f}")
    print(f"  {seconds:.0f} s", flush=True)


def _record(facts: Mapping[str, Any], begun: datetime.datetime) -> None:
    """Put a section into the record of this checkout."""
    where: dict[str, Any] = {"tree": files_hash(), "machine": machine()}
    found = bench_sections(facts["part"], [], {"sections": [facts]}, Done(0, ""))
    for name, section in found.items():
        name += placed(f"bench-{facts['part']}", where["machine"])
        add(MEASUREMENTS, "bench", name, {**when(begun), **where, **section})
