"""Random programs as phases on random graphs, against the interpreter of `phased`.

By hand: `python tests/fuzz/phases.py --count 5000 --seed 7`.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # not this folder, where a module has the name of another one
    sys.path[0] = str(Path(__file__).parents[1])

import numpy as np
import phased
import pyarrow as pa
import reference
from emulator.device import emulated
from plans import planned
from zoo import difference, found_by, remembering, shown

import cugraph_ws as ws
from fuzz.programs import (
    LONG,
    PATIENCE,
    REFUSED,
    Case,
    Choices,
    Difference,
    Tally,
    load,
    write_case,
)

__all__ = ["PhasedCase", "check_phases", "write_phases"]


@dataclass
class PhasedCase:
    """Programs in turn, and how to run them.

    Attributes
    ----------
    cases : list of Case
        The programs; the graph of the first is that of all.
    plan : list of (int, str, int or None)
        For each phase: which program, its direction, and its supersteps.
    rounds : int or None
    runs : list of (int or None, dict)
        Limits and options of the runs.
    """

    cases: list[Case]
    plan: list[tuple[int, str, int | None]]
    rounds: int | None
    runs: list[tuple[int | None, dict[str, Any]]]


def write_phases(choose: Choices, engine: str = "python") -> PhasedCase:
    """Write up to three programs, and two to four phases of them.

    Parameters
    ----------
    choose : Choices
    engine : str

    Returns
    -------
    PhasedCase
    """
    cases = [write_case(choose, engine=engine)]
    kinds = dict(cases[0].frame.fields)
    for _ in range(3 * choose.below(3)):  # most have fields of other types
        one = write_case(choose, engine=engine)
        alike = all(kinds.get(name, kind) == kind for name, kind in one.frame.fields)
        if alike and "edge_state" not in one.text:
            cases.append(one)
            kinds |= dict(one.frame.fields)
    plan = [
        (choose.below(len(cases)), choose.pick("in", "out"), choose.pick(None, 1, 2, 3))
        for _ in range(2 + choose.below(3))
    ]
    runs = [
        (choose.pick(None, 1, 2, 3, 5, 8), {**options, "direction": "auto"})
        for _, options in cases[0].runs
    ]
    return PhasedCase(cases, plan, choose.pick(None, None, 1, 2), runs)


def check_phases(case: PhasedCase, tally: Tally) -> None:
    """Run phases in all ways of a case.

    Parameters
    ----------
    case : PhasedCase
    tally : Tally
        Where to count it.

    Raises
    ------
    Difference
        If a result is not the interpreter's, or a run fails.
    """
    graph = case.cases[0].graph
    programs = [load(one.text) for one in case.cases]
    tally.programs += 1
    if any(one.edge_state for one in programs):  # not of phases
        tally.refused_programs += 1
        return
    phases = ws.phases(
        *(ws.phase(programs[which], way, limit) for which, way, limit in case.plan),
        rounds=case.rounds,
    )
    messages = tuple(case.cases[which].frame.message for which, _, _ in case.plan)
    ends = {
        "source": np.array([u for u, _ in graph.edges], np.int64),
        "destination": np.array([v for _, v in graph.edges], np.int64),
    }
    with ws.Graph(
        pa.table({**ends, **graph.attributes}),
        attributes=["w", "k"],
        directed=graph.directed,
        vertices=pa.table({"vertex": np.arange(graph.n)}),
    ) as made:
        try:
            for limit, options in case.runs:
                _compare(case, phases, made, messages, limit, options, tally)
        except (ws.ProgramError, reference.Unfit):
            tally.refused_programs += 1


def _compare(
    case: PhasedCase,
    phases: Any,
    made: ws.Graph,
    messages: Any,
    limit: int | None,
    options: dict[str, Any],
    tally: Tally,
) -> None:
    graph = case.cases[0].graph
    outcome = phased.run(phases, graph, max_iter=limit or 2 * LONG, messages=messages)
    if limit is None and not outcome.converged:
        limit = 6
        outcome = phased.run(phases, graph, max_iter=limit, messages=messages)
    try:
        result = ws.run(phases, made, **planned(max_iter=limit, timeout=PATIENCE, **options))
    except ws.InputError as error:
        if REFUSED.match(str(error)):
            tally.refused_runs += 1
            return
        raise _differs(case, limit, options, str(error)) from error
    except ws.ProgramError:
        raise
    except Exception as error:
        raise _differs(case, limit, options, repr(error)) from error
    tally.comparisons += 1
    wrong = difference(found_by(phases, result), shown(phases, outcome.states, graph.n), 1e-9)
    if wrong is None and result.converged != outcome.converged:
        wrong = f"converged is {result.converged}, stopped by {result.stopped}"
    if (
        wrong is None
        and result.synchronous
        and list(result.trace["phase"].to_pylist()) != outcome.names
    ):
        wrong = f"the trace is {result.trace['phase'].to_pylist()}, not {outcome.names}"
    if wrong is not None:
        raise _differs(case, limit, options, wrong)


def _differs(case: PhasedCase, limit: int | None, options: dict[str, Any], what: str) -> Difference:
    graph = case.cases[0].graph
    attributes = {name: values.tolist() for name, values in graph.attributes.items()}
    texts = "\n\n".join(one.text for one in case.cases)
    return Difference(
        f"{what}\n\nmax_iter={limit}, {options}, rounds={case.rounds}, {case.plan}\n"
        f"{graph.n} vertices, {'' if graph.directed else 'un'}directed, edges {list(graph.edges)}, {attributes}"
        f"\n\n{texts}"
    )


def main() -> None:
    """Check many cases, by seeds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--engine", default="python")
    given = parser.parse_args()
    tally = Tally()
    warnings.simplefilter("ignore", ws.GraphWarning)
    with remembering(), emulated() if given.engine == "cuda" else nullcontext():
        for seed in range(given.seed, given.seed + given.count):
            try:
                check_phases(write_phases(Choices.seeded(seed), given.engine), tally)
            except Difference as error:
                sys.exit(f"seed {seed}: {error}")
    print(tally)


if __name__ == "__main__":
    main()
