"""`ws.check` over the whole zoo, and the whole zoo in order: a sample of both is `test_whole_zoo.py`.

By hand, with the CPU's loops as plain Python, which is quick, or compiled, which takes some seconds a program:

    NUMBA_DISABLE_JIT=1 python tests/program/whole_zoo.py check --emulated
    NUMBA_DISABLE_JIT=1 python tests/program/whole_zoo.py order --emulated
    python tests/program/whole_zoo.py check --only Shops FirstCost
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

if __name__ == "__main__":  # not this folder, of which this module is a part
    sys.path[0] = str(Path(__file__).parents[1])

from conftest import COMPILED
from emulator.device import emulated
from phased import Entry as PhasedEntry
from plans import planned
from program import test_edge_program, test_phases, test_zoo
from zoo import Entry, remembering
from zoo_edges import EDGE_ZOO, EdgeEntry

import cugraph_ws as ws
from cugraph_ws.program import binding
from cugraph_ws.program.binding import bind

__all__ = ["CHECKED", "PLAIN", "TYPED", "WAYS", "all_in_order", "check", "in_order"]

CHECKED: list[Entry | PhasedEntry | EdgeEntry] = [*test_zoo.ALL, *test_phases.ALL, *EDGE_ZOO]
GRAPHS = ("random", "random undirected", "duplicates")
WAYS: list[dict[str, Any]] = [
    {},
    {"fused": False},
    {"direction": "gather"},
    {"partitions": 2},
    {"partitions": 3, "exchange": "ms"},
]
CANNOT = test_zoo.CANNOT
PLAIN = (
    "Crossed",
    "FlagOfNumber",
)  # `max` of a pair, or of a flag and a number, is plain Python's alone
TYPED = (  # uncompiled, the CPU's loops compute in NumPy's types, which are not the compiler's
    "FlagsAdded", "SingleBesideLiterals", "SmallIntegers",
)  # fmt: skip


# ------------------------------------------------------------------------------------------- no false alarm


def check(entry: Entry | PhasedEntry | EdgeEntry, name: str) -> ws.CheckReport:
    """Return what `ws.check` says of a program on a graph."""
    home: Any = test_zoo
    if not isinstance(entry, Entry):
        home = test_phases if isinstance(entry, PhasedEntry) else test_edge_program
    return ws.check(entry.program, home.graph(name), **entry.given(home.GRAPHS[name].n))


# -------------------------------------------------------------------------------------- one function decides


@contextmanager
def all_in_order() -> Iterator[None]:
    """Have the one function that decides say that messages are to be taken in order."""
    with patch.object(binding, "why_in_order", lambda program, facts: "the test says so"):
        yield


def in_order(entry: Entry, name: str, engine: str, **options: Any) -> bool:
    """See that a run goes superstep by superstep, as its trace shows.

    Its rows are the reference's supersteps, and in each of them as many vertices send as in the run that does one
    superstep a call.  Return False where a direction is refused.
    """
    place = test_zoo.ALL.index(entry)
    outcome, limit = test_zoo.expected_of(place, name, None)
    graph, given = test_zoo.graph(name), entry.given(test_zoo.GRAPHS[name].n)

    def run(**how: Any) -> ws.Result:
        return ws.run(entry.program, graph, **planned(max_iter=limit, **given, **how))

    try:
        result = run(engine=engine, **options)
    except ws.InputError as error:
        if "direction" in options and CANNOT.match(str(error)):
            return False
        raise
    plain = run(engine="python", fused=False)
    where = f"{entry} on {name}, {engine}, {options}"
    assert result.synchronous, where
    assert result.iterations == len(result.trace) == len(plain.trace), where
    if outcome.converged and result.converged:
        assert result.iterations == outcome.supersteps, where
    if "direction" not in options:  # which may ask for all vertices
        assert result.trace["active"].tolist() == plain.trace["active"].tolist(), where
    by_levels = bind(entry.program, graph, given, plain=True).goes_by_levels
    if engine != "cuda" and not by_levels:  # on a GPU, lists are pushed in supersteps as well
        assert "push" not in set(result.trace["direction"]), where
    return True


# --------------------------------------------------------------------------------------------------- by hand


def main() -> int:
    """Go through the zoo; print what differs, and counts."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("check", "order"))
    parser.add_argument("--emulated", action="store_true", help="on an emulated GPU too")
    parser.add_argument("--graphs", nargs="+", default=GRAPHS)
    parser.add_argument("--only", nargs="+", help="names of programs")
    given = parser.parse_args()
    warnings.simplefilter("ignore", ws.GraphWarning)
    begun = time.perf_counter()
    left_out = PLAIN if COMPILED else PLAIN + TYPED
    zoo: list[Any] = CHECKED if given.what == "check" else test_zoo.ALL
    chosen = [one for one in zoo if str(one) in (given.only or [str(one)])]
    chosen = [one for one in chosen if str(one) not in left_out]
    runs = differences = 0
    for entry in chosen:
        for graph in given.graphs:
            wrong = ""
            try:
                with emulated() if given.emulated else nullcontext(), remembering():
                    if given.what == "check":
                        report = check(entry, graph)
                        runs += len(report.configurations)
                        wrong = "" if report else str(report)
                    else:
                        runs += _order(entry, graph, emulated=given.emulated)
            except Exception:
                wrong = traceback.format_exc()
            if wrong:
                differences += 1
                print(f"----- {entry} on {graph}\n{wrong}", flush=True)
    print(
        f"{len(chosen)} programs on {len(given.graphs)} graphs, {runs} runs, {differences} differences, "
        f"{time.perf_counter() - begun:.0f} s"
    )
    return 1 if differences else 0


def _order(entry: Entry, graph: str, *, emulated: bool) -> int:
    """Run a program in order on every engine; return how many runs there were."""
    runs = 0
    with all_in_order():
        for engine in ("python", "cpu", "cuda") if emulated else ("python", "cpu"):
            runs += sum(in_order(entry, graph, engine, **way) for way in WAYS)
    return runs


if __name__ == "__main__":
    sys.exit(main())
