"""Random edge programs on random graphs, against the interpreter of `reference_edges`.

By hand: `python tests/fuzz/edges.py --count 2000 --seed 7 [--engine cuda]`.
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
import pyarrow as pa
import reference
from emulator.device import emulated
from plans import planned
from reference_edges import edges_of, run_pairs
from zoo import difference

import cugraph_ws as ws
from fuzz.programs import (
    CUSTOM,
    Choices,
    Difference,
    Tally,
    condition,
    constants,
    load,
    number,
    quick_loops,
)

__all__ = ["EdgeCase", "check_edges", "write_edges"]


@dataclass
class EdgeCase:
    """An edge program, a graph, and how to run it.

    Attributes
    ----------
    text : str
        A module with the program `Fuzzed`.
    message : type or tuple of type
        What its messages are.
    graph : reference.Graph
    pairs : list of (int, int) or None
        Whose values are computed; None for all edges.
    runs : list of dict
        Options of the runs.
    """

    text: str
    message: Any
    graph: reference.Graph
    pairs: list[tuple[int, int]] | None
    runs: list[dict[str, Any]]


def write_edges(choose: Choices, engine: str = "python") -> EdgeCase:
    """Write an edge program, a graph, and how it is run.

    Parameters
    ----------
    choose : Choices
    engine : str

    Returns
    -------
    EdgeCase
    """
    text, message = _module(choose)
    n = 1 + choose.below(9)
    edges = [(choose.below(n), choose.below(n)) for _ in range(choose.below(4 * n + 1))]
    step, shift, place = choose.pick(3, 5, 7), choose.below(5), np.arange(len(edges))
    attributes = {
        "w": (place * step + shift) % 11 / 8,
        "k": ((place * step + shift) % 5 - 1) * 1.0,
    }
    graph = reference.Graph(n, edges, attributes, None, directed=not choose.chance(3))
    pairs = None
    if choose.chance(2):
        pairs = [(choose.below(n), choose.below(n)) for _ in range(choose.below(12))]
    runs: list[dict[str, Any]] = [{"engine": engine}]
    if choose.chance(2):
        runs.append({"engine": engine, "partitions": choose.pick(2, 3, 4)})
    return EdgeCase(text, message, graph, pairs, runs)


def _module(choose: Choices) -> tuple[str, Any]:
    """Return the source of a program, and the type of its messages."""
    fields = [
        (name, choose.pick("int64", "float64", "boolean", "int32", "float32"))
        for name in "xyz"[: 1 + choose.below(3)]
    ]
    real = choose.chance(2)
    combine = choose.pick("sum", "sum", "min", "max", "any", "custom")
    pair = combine == "sum" and choose.chance(4)
    flag = combine in ("any", "sum") and not pair and choose.chance(3)
    lines, wrap = f"combine = {combine}", "{}"
    if combine == "custom":
        real = False
        body, identity, wrap = choose.pick(*CUSTOM)
        lines = f"def combine(a, b):\n        return {body}\n    identity = {identity}"
    own = ["degree", "inward", *(["share"] if real else [])]
    of = {
        end: [f"{end}.{name}" for name in own] + ([f"{end}w.w", f"{end}w.k"] if real else [])
        for end in "uvw"
    }
    near = [*constants(real), "p.number_of_vertices", "p.given"]
    sending = [*of["u"][:3], *of["v"][:3], *of["w"][: len(own)], *near]
    if real:
        sending += ["uw.w", "uw.k", "vw.w", "vw.k"]
    if choose.chance(3):  # the same for all, which is counted
        sending = near if choose.chance(2) else constants(real)
    sent = number(choose, sending, choose.below(3), real)
    if real and choose.chance(4):
        sent = f"({sent}) / (w.degree - {choose.pick('1', '2', '3')})"  # NaN and infinities
    message: Any = float if real else int
    if flag:
        sent, message = condition(choose, sending), bool
    if pair:
        sent = f"{sent}, {number(choose, [*constants(False), 'w.inward', 'u.degree'], 1, False)}"
        message = (message, int)
    heard = ["common[0]", "common[1]"] if pair else ["common"]
    if message is bool:
        heard = ["(1 if common else 0)"]
    bounded = "".join(
        f"heard_{place} = {one} if -5000 < {one} < 5000 else 7\n        "
        for place, one in enumerate(heard)
    )
    heard = [f"heard_{place}" for place in range(len(heard))]
    ends = [f"{end}.{name}" for end in "uv" for name in own]
    hearing = [*heard, *heard, *ends, *near, *(["edge.w", "edge.k"] if real else [])]
    values = ", ".join(_kept(choose, kind, hearing, real) for _, kind in fields)
    taken = {"common": ["w", "u", "v", "uw", "vw", "p"], "value": ["u", "v", "edge", "common", "p"]}
    for names in taken.values():
        if choose.chance(3):
            names.reverse()
    declared = "\n    ".join(f"{name}: ws.{kind}" for name, kind in fields)
    return (
        f"""import cugraph_ws as ws

@ws.edge_program
class Fuzzed:
    {declared}
    w = ws.edge(ws.float64)
    k = ws.edge(ws.float64)
    degree = ws.neighbour_count
    inward = ws.in_degree
    share = ws.vertex_value(ws.float64, default=0.375)
    given = ws.parameter(ws.int64, default={choose.pick("2", "-1", "5")})
    {lines}

    def common({", ".join(taken["common"])}):
        return {wrap.format(sent)}

    def value({", ".join(taken["value"])}):
        {bounded}return {values}
""",
        message,
    )


def _kept(choose: Choices, kind: str, atoms: list[str], real: bool) -> str:
    """Write an expression that a value's type holds."""
    if kind == "boolean":
        return condition(choose, atoms)
    text = number(choose, atoms, choose.below(3), real)
    if kind.startswith("int") and real:
        text = f"int(min(max({text}, -90.0), 90.0))"
    return text if kind == "float64" else f"min(max({text}, -40), 40)"


def check_edges(case: EdgeCase, tally: Tally) -> None:
    """Run an edge program in all ways of a case.

    Parameters
    ----------
    case : EdgeCase
    tally : Tally
        Where to count it.

    Raises
    ------
    Difference
        If a result is not the interpreter's, or a run fails.
    """
    plain = case.graph
    ends = {
        "source": np.array([u for u, _ in plain.edges], np.int64),
        "destination": np.array([v for _, v in plain.edges], np.int64),
    }
    tally.programs += 1
    try:
        program = load(case.text)
        expected = run_pairs(program, plain, pairs=case.pairs, message=case.message)
    except (ws.ProgramError, reference.Unfit, ZeroDivisionError):
        tally.refused_programs += 1
        return
    pairs = edges_of(plain) if case.pairs is None else case.pairs
    with ws.Graph(
        pa.table({**ends, **plain.attributes}),
        attributes=["w", "k"],
        directed=plain.directed,
        vertices=pa.table({"vertex": np.arange(plain.n)}),
    ) as graph:
        given = {}
        if case.pairs is not None:
            names = ("first", "second")
            columns = [np.array([one[place] for one in pairs], np.int64) for place in range(2)]
            given["pairs"] = pa.table(dict(zip(names, columns, strict=True)))
        for options in case.runs:
            try:
                found = ws.run(program, graph, **planned(**given, **options)).frame.to_pydict()
            except ws.ProgramError:
                tally.refused_programs += 1
                return
            except Exception as error:
                raise _differs(case, options, repr(error)) from error
            tally.comparisons += 1
            wrong = None
            if list(zip(found["first"], found["second"], strict=True)) != pairs:
                wrong = f"the pairs are {found['first']} and {found['second']}, not {pairs}"
            values = {name: [one.item() for one in column] for name, column in expected.items()}
            wrong = wrong or difference(found, values, 1e-12)
            if wrong is not None:
                raise _differs(case, options, wrong)


def _differs(case: EdgeCase, options: dict[str, Any], what: str) -> Difference:
    plain = case.graph
    attributes = {name: values.tolist() for name, values in plain.attributes.items()}
    return Difference(
        f"{what}\n\n{options}, pairs {case.pairs}\n{plain.n} vertices, "
        f"{'' if plain.directed else 'un'}directed, edges {list(plain.edges)}, {attributes}\n\n{case.text}"
    )


def main() -> None:
    """Check many cases, by seeds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--engine", choices=("python", "cpu", "cuda"), default="python")
    given = parser.parse_args()
    tally = Tally()
    warnings.simplefilter("ignore", ws.GraphWarning)
    with quick_loops(), emulated() if given.engine == "cuda" else nullcontext():
        for seed in range(given.seed, given.seed + given.count):
            try:
                check_edges(write_edges(Choices.seeded(seed), given.engine), tally)
            except Difference as error:
                sys.exit(f"seed {seed}: {error}")
    print(tally)


if __name__ == "__main__":
    main()
