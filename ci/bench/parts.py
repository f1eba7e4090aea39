"""Parts of the benchmarks, run one after the other on their graphs: what `cpu`, `gpu` and `cluster` share.

All entrants run in one process, in turns; figures are medians after two calls that do not count, of which
the first, with all compilation in it, is shown apart.  Every result is verified.  What fails is printed and
the rest goes on; the JSON file is written anew after every job, so that a run that is cut short leaves one.
"""

from __future__ import annotations

import argparse
import datetime
import gc
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.machine import machine
from bench.page import add
from bench.places import MEASUREMENTS
from bench.timing import Section
from bench.tree import files_hash

__all__ = ["Part", "Parts", "parser", "sweep"]

Cases = Callable[[Sequence[str], Path | None], Iterator[Any]]
REPEATS = 5


@dataclass(frozen=True)
class Part:
    """One part of the benchmarks.

    Attributes
    ----------
    measure : callable
        Takes a case, or a graph's name; a `Section`, which gets timings, targets, tables and errors; and
        how many runs count.  A context manager is entered before the first graph and left after the last.
    graphs : tuple of str
        On which it runs where none are asked for.
    by_name : bool
        Whether it takes a name, since it makes the graph elsewhere.
    fixed : bool
        Whether it has one graph of its own, whatever is asked for.
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
        Its name, and what it does.
    parts, usual : sequence of str
        Which there are, and which run where none is asked for.
    """

    def one_of(name: str) -> str:
        if name not in parts:
            raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(parts)}")
        return name

    made = argparse.ArgumentParser(prog=f"bench {command}", description=text)
    made.add_argument("parts", nargs="*", type=one_of, default=list(usual), metavar="PART",
                      help=f"some of: {', '.join(parts)}")  # fmt: skip
    made.add_argument("--graphs", nargs="+", metavar="NAME",
                      help="generated graphs, edge lists in --data, or 'data' for all of these")  # fmt: skip
    made.add_argument("--data", type=Path, help="folder of edge lists to measure on too")
    made.add_argument("--repeats", type=int, default=REPEATS, help="runs that count")
    made.add_argument("--output", type=Path, default=Path("bench.json"), help="the JSON file")
    made.add_argument("--record", action="store_true",
                      help="put what was measured into docs/measurements too")  # fmt: skip
    return made


def sweep(parts: Parts, wanted: Sequence[str], asked: argparse.Namespace, cases: Cases) -> int:
    """Measure parts on graphs; return 1 if anything failed.

    Parameters
    ----------
    parts : mapping of str to Part
    wanted : sequence of str
        Which of them.
    asked : Namespace
        What a parser of `parser` has read.
    cases : callable
        Yields the cases of names, each made when its turn comes, given the folder of edge lists.
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
                section, begun = Section(name, graph), time.perf_counter()
                section.keep = partial(write, [name, graph], section)
                section.attempt(name, partial(measure, case, section, asked.repeats))
                _close(section, time.perf_counter() - begun)
                done.append(section.facts())
                if asked.record:
                    _record(done[-1], time.perf_counter() - begun)
                gc.collect()
            stack.close()
    write(None)
    print(f"written to {asked.output}")
    return 1 if any(one["errors"] for one in done) else 0


def _close(section: Section, seconds: float) -> None:
    """Print which targets a section has met, and how long it took."""
    for target in section.targets:
        print(f"  {'met   ' if target.met else 'missed'} {target.name}: {target.measured:.2f}")
    print(f"  {seconds:.0f} s", flush=True)


def _record(facts: Mapping[str, Any], seconds: float) -> None:
    """Put a section into the record of this checkout."""
    problem = "\n".join(f"{one['what']}: {one['error']}" for one in facts["errors"])
    where = machine()
    name = ", ".join([f"{facts['part']} {facts['graph']}", where.get("gpu") or where["processor"]])
    add(MEASUREMENTS, "bench", name, {
        "status": "failed" if problem else "passed",
        "when": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "seconds": seconds, "tree": files_hash(), "machine": where, **facts, "problem": problem,
    })  # fmt: skip
