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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from bench.checkout import MEASUREMENTS, files_hash
from bench.machine import machine
from bench.page import add
from bench.record import placed, section_of, when
from bench.timing import Section

Cases = Callable[[Sequence[str], Path | None], Iterator[Any]]
REPEATS = 5


class Part(NamedTuple):
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

    measure: Any
    graphs: tuple[str, ...]
    by_name: bool = False
    fixed: bool = False


def fixed(measure: Any, graph: str) -> Part:
    """Return a part that always runs on the same graph, which it makes itself."""
    return Part(measure, (graph,), by_name=True, fixed=True)


def parser(command: str, text: str, parts: Iterable[str]) -> argparse.ArgumentParser:
    """Return the parser of a command that runs parts; its options are the same for all of them."""

    def known(name: str) -> str:
        if name not in parts:
            raise argparse.ArgumentTypeError(f"{name!r} is no part; choose of {', '.join(parts)}")
        return name

    reader = argparse.ArgumentParser(prog=f"bench {command}", description=text)
    reader.add_argument("parts", nargs="*", type=known, default=list(parts), metavar="PART",
                        help=f"some of: {', '.join(parts)}; by default all")  # fmt: skip
    reader.add_argument("--graphs", nargs="+", metavar="NAME",
                        help="generated graphs, edge lists in --data, or 'data' for all of these")  # fmt: skip
    reader.add_argument("--data", type=Path, help="folder of edge lists")
    reader.add_argument("--repeats", type=int, default=REPEATS, help="runs that count")
    reader.add_argument("--output", type=Path, default=Path("bench.json"), help="the JSON file")
    reader.add_argument("--record", action="store_true",
                        help="also put the results into docs/measurements")  # fmt: skip
    return reader


def read(
    reader: argparse.ArgumentParser, arguments: Sequence[str] | None, known: Callable[[str], bool]
) -> argparse.Namespace:
    """Read a command line; exit with a message if a graph is neither known nor in a folder."""
    asked = reader.parse_args(arguments)
    unknown = [name for name in asked.graphs or () if not known(name)]
    if unknown and asked.data is None:
        reader.error(f"{', '.join(unknown)}: no such graph is generated; give --data FOLDER")
    return asked


def sweep(parts: Mapping[str, Part], asked: argparse.Namespace, cases: Cases) -> int:
    """Measure parts on graphs; return 1 if anything failed.

    Parameters
    ----------
    parts : mapping of str to Part
    asked : Namespace
        Arguments parsed by a parser of `parser`; `parts` names those to run.
    cases : callable
        Takes names and the folder of edge lists; yields cases, each made when requested.
    """
    done: list[dict[str, Any]] = []

    def write(running: list[str] | None, begun: Section | None = None) -> None:
        sections = done if begun is None else [*done, begun.facts()]
        facts = {"repeats": asked.repeats, "sections": sections, "running": running}
        asked.output.write_text(json.dumps(facts, indent=1) + "\n")

    for name in asked.parts:
        part = parts[name]
        names = [*part.graphs, *(["data"] if asked.data and not part.by_name else [])]
        if asked.graphs and not part.fixed:
            names = asked.graphs
        write([name, names[0] if len(names) == 1 else "all"])
        with ExitStack() as stack:
            if isinstance(part.measure, AbstractContextManager):
                stack.enter_context(part.measure)
            for case in names if part.by_name else cases(names, asked.data):
                graph = case if part.by_name else case.name
                write([name, graph])
                print(f"{name}: {case}", flush=True)
                section, begun = Section(name, graph), datetime.datetime.now(datetime.UTC)
                section.keep = partial(write, [name, graph], section)
                section.attempt(name, partial(part.measure, case, section, asked.repeats))
                for target in section.targets:
                    print(
                        f"  {'met   ' if target.met else 'missed'} {target.name}: {target.measured:.2f}"
                    )
                print(f"  {when(begun)['seconds']:.0f} s", flush=True)
                done.append(section.facts())
                if asked.record:
                    _record(done[-1], begun)
                gc.collect()
    write(None)
    print(f"written to {asked.output}")
    return 1 if any(facts["errors"] for facts in done) else 0


def _record(facts: Mapping[str, Any], begun: datetime.datetime) -> None:
    """Put a section into the record of this checkout."""
    where: dict[str, Any] = {"tree": files_hash(), "machine": machine()}
    name, section = section_of(facts)
    name += placed(f"bench-{facts['part']}", where["machine"])
    add(MEASUREMENTS, "bench", name, {**when(begun), **where, **section})
