"""Absurd arguments for every public function, method, accessor and command.

    python tests/fuzz/arguments.py --count 100000 --seed 1 --jobs 8

A call is made of arguments that work, of which one to three are replaced.  It may return, or raise the
library's own errors; a command may end with 0, 1 or 2, and none of its errors may be an internal one.
Anything else is a finding, as is a call that takes longer than its limit.  A call is known by its seed:
`--only SEED` makes that one alone and shows the traceback.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import decimal
import fractions
import functools
import inspect
import io
import itertools
import math
import os
import random
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    os.environ["CUGRAPH_WS_THREADS"] = "1"  # a forked process has none of its parent's threads

import click
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from click.testing import CliRunner
from scipy import sparse

import cugraph_ws as ws
from cugraph_ws.algorithms.registry import ALGORITHMS
from cugraph_ws.cli.main import commands
from cugraph_ws.cli.options import Settings

__all__ = ["Finding", "Target", "command_targets", "function_targets", "try_call"]

LIMIT = 60.0  # seconds for one call: a few milliseconds, unless a program is to be compiled
EDGES = pd.DataFrame(
    {
        "source": [0, 0, 1, 2, 3],
        "destination": [1, 2, 3, 3, 4],
        "weight": [0.125, 0.25, 0.25, 0.5, 0.0625],
        "strength": [0.5, 1.0, -1.0, 0.25, 0.0],
    }
)
VERTICES = pd.DataFrame(
    {"vertex": range(5), "no": [1.0, 2, 3, 4, 5], "yes": [5.0, 4, 3, 2, 1], "left": [1, 0, 0, 1, 1]}
)
CALLED = ("progress", "profile")  # functions of the caller
COLUMNS = (
    "source",
    "destination",
    "weight",
    "source_column",
    "destination_column",
    "weight_column",
)


def absurd_values() -> list[Any]:
    """Return values of every kind, most of which no argument may be."""
    numbers = [
        *(-1, 0, 1, 7, 2**31, 2**63, -(2**63), 10**30, 10**400, True, False),
        *(0.5, -0.0, 1e-320, 1e308, -1e308, math.nan, math.inf, -math.inf, 1j),
        *(np.int8(3), np.uint64(2**64 - 1), np.float32(0.5), np.float64("nan"), np.bool_(True)),
        *(decimal.Decimal("1.5"), decimal.Decimal("NaN"), fractions.Fraction(1, 3)),
    ]
    words = [
        "",
        " ",
        "no such",
        "weight",
        "source",
        "no",
        "auto",
        "max",
        "\0",
        "é\udcff",
        "x" * 1000,
    ]
    pieces = [
        None,
        b"",
        b"x",
        ...,
        NotImplemented,
        pd.NA,
        pd.NaT,
        object(),
        object,
        int,
        len,
        Exception(),
    ]
    times = [datetime.datetime(2024, 1, 1), datetime.date(1, 1, 1), np.datetime64("NaT")]
    lists: list[Any] = [
        *(
            [],
            [None],
            [[]],
            [0, 0],
            [0, "a"],
            [math.nan],
            [1e400],
            [10**30],
            ["weight"],
            [object()],
        ),
        *((), (0,), (0, 1), set(), {0, 1}, frozenset(), range(3), iter([]), [[1, 2], [2, 1]]),
        *(
            {},
            {0: 1.0},
            {0: None},
            {None: None},
            {"a": "b"},
            {0: math.inf},
            {0: -1},
            {0: [1]},
            {99: 1},
        ),
    ]
    arrays: list[Any] = [
        *(
            np.array([]),
            np.array([0, 1]),
            np.array([[0, 1]]),
            np.array(1),
            np.zeros(5),
            np.ones(5, bool),
        ),
        *(np.full(5, np.nan), np.array(["a"]), np.array([None], object), np.zeros(5, "M8[s]")),
        *(
            pd.Series([0, 1]),
            pd.Series([], dtype=float),
            pl.Series([0]),
            pa.array([0]),
            pd.Index([0]),
        ),
    ]
    frames = [
        *(pd.DataFrame(), EDGES, EDGES[:0], VERTICES, pd.DataFrame({"vertex": [0], "x": ["a"]})),
        *(
            pd.DataFrame({"vertex": [0, 0], "x": [1, 2]}),
            pd.DataFrame({"vertex": [None], "x": [1]}),
        ),
        *(pd.DataFrame([[0, 1]], columns=["source", "source"]), pd.DataFrame({0: [1], 1: [2]})),
        *(pa.table({}), pa.table({"vertex": [0]}), pl.DataFrame(), pl.LazyFrame({"source": [0]})),
    ]
    known = [*numbers, *words, *pieces, *times, *lists, *arrays, *frames]
    return [*known, *_endless(), *_masked(), *_nested_columns(), *_odd_names()]


def _endless() -> list[Any]:
    """Return numbers of too many digits for text, and containers nested without an end."""
    digits = 10**5000
    itself: list[Any] = []
    itself.append(itself)
    own_value: dict[Any, Any] = {}
    own_value[0] = own_value
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    numbers = [digits, -digits, [digits], {0: digits}, {digits: 1.0}, fractions.Fraction(digits, 3)]
    return [*numbers, itself, own_value, deep, [[deep]], {0: itself}, {0: deep}, (itself, itself)]


def _masked() -> list[Any]:
    """Return NumPy's masked arrays, whose masks no other library knows."""
    floats = np.ma.masked_array([0.0, 1, 2, 3, 4], mask=[0, 1, 0, 0, 0])
    return [np.ma.masked_array([0, 1], mask=[False, True]), floats, np.ma.masked, [np.ma.masked]]


def _nested_columns() -> list[Any]:
    """Return values and frames of values that are lists, records or other types of Arrow's."""
    lists = [[0], [1], [], [1], [0]]
    itself: list[Any] = []
    itself.append(itself)
    records = np.array([(0, 1.0)], dtype=[("vertex", int), ("x", float)])
    return [
        *(records, records[0], np.array([1j]), np.float16([1, 2]), np.longdouble([1, 2])),
        *(pa.array(lists), pa.array([{"a": 1}]), pa.chunked_array([], pa.int64()), pa.scalar(3)),
        *(pl.Series(lists), pl.Series([object()]), pd.Series(lists), pd.Series([itself])),
        *(
            pd.Series(pd.interval_range(0, 5)),
            pd.Series(pd.period_range("2024", periods=2, freq="D")),
        ),
        *(
            np.array([itself, itself], object),
            decimal.Decimal("sNaN"),
            np.str_("weight"),
            bytearray(b"x"),
        ),
        *(
            pd.DataFrame({"vertex": range(5), "x": lists}),
            pl.DataFrame({"vertex": range(5), "x": lists}),
        ),
        *(pa.table({"vertex": range(5), "x": lists}), pd.DataFrame({"vertex": [lists], "x": [1]})),
        *(
            pd.DataFrame({"vertex": [[itself]], "x": [1.0]}),
            pd.DataFrame({"vertex": [0], "x": [itself]}),
        ),
        pd.DataFrame({"source": [[0]], "destination": [[itself]], "weight": [[1.0]]}),
        pd.DataFrame({"vertex": pd.Categorical([0, 1]), "x": pd.Categorical(["a", None])}),
        sparse.eye_array(3, format="csr"),
    ]


def _odd_names() -> list[Any]:
    """Return frames whose columns have names that are not plain text."""
    names = (
        0,
        -1,
        1.5,
        math.nan,
        None,
        True,
        b"x",
        ("a", "b"),
        datetime.date(2024, 1, 1),
        10**5000,
    )
    values = [pd.DataFrame({"vertex": range(5), name: 1.0}) for name in names]
    edges = [pd.DataFrame({"source": [0], "destination": [1], name: 1.0}) for name in names]
    polars = [
        pl.DataFrame({"vertex": range(5), name: [1.0] * 5}) for name in ("\0", "a\0b", "", "é")
    ]
    return [
        *values,
        *edges,
        *polars,
        pl.DataFrame({"source": [0], "destination": [1], "\0": [1.0]}),
    ]


@dataclass(frozen=True)
class Target:
    """Something to call.

    Attributes
    ----------
    name : str
    call : callable
        Takes keyword arguments.
    works : dict
        Arguments that it needs, of which some are replaced.
    parameters : tuple of str
        All that may be given; options of a command that take no value end with an exclamation mark.
    """

    name: str
    call: Callable[..., Any]
    works: dict[str, Any]
    parameters: tuple[str, ...]


@dataclass(frozen=True)
class Finding:
    """A call that ended neither with a result nor with one of the library's errors."""

    seed: int
    call: str
    said: str

    def __str__(self) -> str:
        return f"--only {self.seed}: {self.call}\n    {self.said}"


# ----------------------------------------------------------------------------------- functions


@ws.vertex_program
class Own:
    """A program of the user's, with a parameter of every kind."""

    x: ws.float64
    weight: ws.edge(ws.float64, default=1.0)
    factor: ws.parameter(ws.float64, default=0.5)
    times: ws.parameter(ws.int64, default=2)
    gentle: ws.parameter(ws.boolean, default=False)
    root: ws.vertex_parameter
    own: ws.vertex_value(ws.float64, 1.0)
    whole: ws.vertex_value(ws.int32, 1)
    shares: ws.distribution
    some: ws.optional_vertex_set
    tol = 1e-3
    max_iter = 20
    residual = ws.l1_norm("x")

    def init(vertex, p, own):
        return own.own if vertex == p.root else own.shares + own.whole * p.times

    def compute(src, edge):
        return src.x * edge.weight

    combine = sum

    def apply(old, gathered, p):
        return p.factor * gathered if p.gentle or old.some else old.x


NEEDED: dict[str, dict[str, Any]] = {
    name: declared.arguments(range(5)) for name, declared in ALGORITHMS.items()
}
PROGRAMS: dict[str, dict[str, Any]] = {
    "BFS": {"start": 0},
    "SSSP": {"start": 0},
    "WidestPath": {"start": 0},
    "PageRank": {},
    "DeltaPageRank": {},
    "Heat": {"temperature": 1.0},
    "Circuit": {"sources": {0: 1.0}},
    "NeuralNetwork": {"activation": 0.5},
}
LOOPS: dict[str, dict[str, Any]] = {
    "CoreNumber": {},
    "LabelPropagation": {},
    "Leiden": {},
    "Louvain": {},
    "BeliefPropagation": NEEDED["belief_propagation"],
    "MaximalBipartiteMatching": {"left": [0, 3]},
    "MultiSource": {"program": ws.BFS, "argument": "start", "starts": [0]},
}
# Run with what a function takes beside its own: `run` describes it.
OPTIONS = ("engine", "progress", "timeout", "checkpoint", "every", "resume", "profile")
QUERIES: dict[str, dict[str, Any]] = {
    "number": {"value": 0, "argument": "x"},
    "numbers": {"values": [0], "argument": "x"},
    "members": {"values": [0], "argument": "x"},
    "vertex_values": {"data": {0: 1.0}, "argument": "x", "dtype": float, "default": 0.0},
    "edge_values": {"name": "weight"},
    "edge_dtype": {"name": "weight"},
    "least_edge_value": {"name": "weight"},
    "greatest_edge_value": {"name": "weight"},
    "weight_sums": {"name": "weight", "incoming": True},
    "degree_array": {"incoming": True},
}
WITHOUT_RUN = ("conductance", "modularity")  # no supersteps, and so none of their options
ENGINES_OWN = ("argument", "dtype", "on_device")
DECLARATIONS = (
    *("edge", "hidden", "like", "nullable", "parameter", "vertex_value", "l1_norm", "max_norm"),
    *("aggregate", "vertex_program", "edge_program", "edge_state", "walk", "vertex_step", "vector"),
    *("bitset", "first_by", "histogram", "mode", "top"),
    *("at", "greatest_at", "least_at", "sum_at", "phase"),
)


def function_targets() -> list[Target]:
    """Return all functions, methods and loops of the library that run in this process."""
    found: list[Target] = []
    graph = ws.Graph(EDGES, vertices=VERTICES, attributes="strength")
    for name, works in NEEDED.items():
        function = getattr(ws, name)
        named = _parameters(function)
        if name not in WITHOUT_RUN:
            named = (*named, *OPTIONS)
        found.append(Target(name, function, {"graph": EDGES, **works}, named))
        of_graph = tuple(one for one in named if one != "graph")
        method = functools.partial(function, graph)
        found.append(Target(f"{name} of a Graph", method, works, of_graph))
        accessor = getattr(EDGES.ws, name)
        found.append(Target(f"frame.ws.{name}", accessor, works, of_graph))
    found += [
        Target("Graph", ws.Graph, {"edges": EDGES}, _parameters(ws.Graph)),
        Target("Graph.from_arrays", ws.Graph.from_arrays, {"source": [0, 1], "destination": [1, 2]},
               _parameters(ws.Graph.from_arrays)),
        Target("Graph.from_matrix", ws.Graph.from_matrix, {"matrix": sparse.eye_array(3, format="csr")},
               _parameters(ws.Graph.from_matrix)),
    ]  # fmt: skip
    options = tuple(one for one in _parameters(ws.run) if one not in ("program", "graph"))
    for name, works in [*PROGRAMS.items(), ("Own", {"root": 0})]:
        program = Own if name == "Own" else getattr(ws, name)
        own = [getattr(one, "argument", None) or key for key, one in program.constants.items()]
        call = functools.partial(ws.run, program, graph)
        found.append(Target(f"run {name}", call, works, (*options, *program.parameters, *own)))
        found.append(
            Target(f"run {name} on a frame", ws.run, {"program": program, "graph": EDGES, **works},
                   ("program", "graph", "source", "destination", *options))
        )  # fmt: skip
    for name, works in LOOPS.items():
        found.append(_loop(name, works, graph))
    result = ws.run(ws.SSSP, graph, start=0)
    paths = {"result": result.frame, "targets": [3]}
    found += [
        Target("estimate_memory", ws.estimate_memory, {"edges": EDGES}, _parameters(ws.estimate_memory)),
        Target("estimate_memory of numbers", ws.estimate_memory, {"number_of_edges": 9},
               _parameters(ws.estimate_memory)),
        Target("layout", ws.layout, {"graph": EDGES, "iterations": 5}, _parameters(ws.layout)),
        Target("check", ws.check, {"program": Own, "graph": graph, "root": 0}, _parameters(ws.check)),
        Target("explain", ws.explain, {"program": Own, "graph": graph, "root": 0}, _parameters(ws.explain)),
        Target("shortest_path", ws.shortest_path, paths, ("result", "targets")),
        Target("shortest_path of a Result", functools.partial(ws.shortest_path, result), {"targets": 3},
               ("targets",)),
        Target("require_convergence", result.require_convergence, {"name": "sssp"}, ("name",)),
    ]  # fmt: skip
    parts = EDGES.assign(part=[place % 3 for place in range(len(EDGES))])
    for name, works in (("pagerank", {"weight": None}), ("label_propagation", {"seed": 1})):
        function = getattr(ws, name)
        named = {*_parameters(ws.run_groups), *_parameters(function), *OPTIONS} - {"graph"}
        given = {"program": function, "edges": parts, "by": "part", **works}
        found.append(Target(f"run_groups of {name}", ws.run_groups, given, tuple(sorted(named))))
    given = {"programs": [(ws.SSSP, {"start": 0}), ws.PageRank], "graph": EDGES}
    found.append(Target("run_many", ws.run_many, given, (*_parameters(ws.run_many), *OPTIONS)))
    for name, works in QUERIES.items():
        method = getattr(graph, name)
        named = tuple(one for one in _parameters(method) if one not in ENGINES_OWN)
        found.append(Target(f"Graph.{name}", method, works, named))
    for name in DECLARATIONS:
        function = getattr(ws, name)
        named = _parameters(function)
        examples = {
            "type": ws.float64,
            "null": 0.0,
            "attribute": "weight",
            "field": "x",
            "k": 2,
            "length": 2,
            "name": "x",
            "pointer": "x",
            "program": ws.BFS,
        }
        works = {one: examples[one] for one in named if one in examples}
        found.append(Target(name, function, works, named))
    return found


def _loop(name: str, works: dict[str, Any], graph: Any) -> Target:
    """Return a loop that is made and run."""
    made = getattr(ws, name)

    def call(**arguments: Any) -> Any:
        return ws.run(made(**arguments), graph)

    return Target(f"run {name}", call, works, _parameters(made))


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    every = inspect.signature(function).parameters.items()
    return tuple(name for name, one in every if one.kind not in kinds and name != "self")


# ------------------------------------------------------------------------------------ commands

WORDS = (
    *(
        "",
        " ",
        "-1",
        "0",
        "1",
        "nan",
        "inf",
        "-inf",
        "1e400",
        "9" * 30,
        "0x10",
        "weight",
        "no",
        "é",
    ),
    *("a,b;c", ",", ";", "1,2;2,1", "@", "@missing.csv", "missing.parquet", ".", "edges.csv"),
    *(
        "vertices.csv",
        "=",
        "x=y",
        "--",
        "-",
        "\n",
        "a" * 5000,
        "program.py:Hops",
        "program.py:",
        ":",
    ),
)
NEEDED_WORDS: dict[str, list[str]] = {
    "average-shortest-path-length": ["--no-connected"],
    "diameter": ["--no-connected"],
    "eccentricity": ["--no-connected"],
    "bfs": ["--start", "0"],
    "sssp": ["--start", "0"],
    "widest-path": ["--start", "0"],
    "multi-source-bfs": ["--start", "0"],
    "multi-source-sssp": ["--start", "0"],
    "random-walks": ["--start", "0", "--length", "3"],
    "neighbor-sample": ["--start", "0", "--fanout", "3", "--fanout", "-1"],
    "node2vec-walks": ["--start", "0", "--length", "3"],
    "conductance": ["--communities", "left"],
    "modularity": ["--communities", "left"],
    "heat": ["--temperature", "1"],
    "circuit": ["--sources-file", "sources.csv"],
    "neural-network": ["--activation", "0.5"],
    "belief-propagation": ["--priors", "no", "--priors", "yes", "--coupling", "2,1;1,2"],
    "maximal-bipartite-matching": ["--left", "0", "--left", "3"],
    "eigenvector-centrality": ["--tol", "0.1"],
    "personalized-pagerank": ["--seed", "0", "--seed", "1"],
    "subgraph": ["--vertex", "0", "--vertex", "1"],
    "bipartite-projection": ["--vertex", "0", "--vertex", "3"],
    "ancestors": ["--vertex", "0"],
    "descendants": ["--vertex", "0"],
    "ego-graph": ["--vertex", "0"],
    "k-truss": ["-k", "3"],
}
# What starts processes, waits for a network, or makes a file as large as it is told to.
LEFT_OUT = ("--workers", "--scheduler", "--help", "--version", "--progress", "--no-progress")
PROGRAM = """
import cugraph_ws as ws


@ws.vertex_program
class Hops:
    x: ws.float64
    root: ws.vertex_parameter
    own: ws.vertex_value(ws.float64, 1.0)
    some: ws.optional_vertex_set

    def init(vertex, p, own):
        return own.own if vertex == p.root else 0.0

    def compute(src):
        return src.x

    combine = max

    def apply(old, gathered):
        return max(old.x, gathered)
"""


def command_targets() -> list[Target]:
    """Return all commands; each takes the words after its name as `words`."""
    found = []
    for name, command in commands.commands.items():
        if (
            isinstance(command, click.Group) or name == "warm-up"
        ):  # it starts a process for each core
            continue
        options = tuple(
            f"{option}!" if one.is_flag else option
            for one in command.params
            if isinstance(one, click.Option)
            for option in one.opts[-1:]
            if option not in LEFT_OUT
        )
        works = {"words": _working_words(name)}
        found.append(Target(name, functools.partial(_command, name), works, options))
    return found


def _working_words(name: str) -> list[str]:
    if name in ("doctor", "info"):
        return []
    edges = ["edges.csv", "--vertices", "vertices.csv"]
    if name == "run":
        return ["program.py:Hops", *edges, "root=0"]
    return [*edges, *NEEDED_WORDS.get(name, [])]


def _command(name: str, words: list[str]) -> BaseException | None:
    """Run a command line; return the error that it ended with, or raise it if it is none of ours."""
    settings = Settings()
    text = [str(word) for word in (name, *words)]
    outcome = CliRunner().invoke(commands, text, obj=settings, standalone_mode=False)
    error = outcome.exception
    fine = (ws.CugraphWsError, click.ClickException, click.exceptions.Exit, click.Abort)
    if error is not None and not isinstance(error, (*fine, SystemExit)):
        raise error
    return error


def working_files(folder: Path) -> None:
    """Write the files that command lines read."""
    EDGES.to_csv(folder / "edges.csv", index=False)
    VERTICES.to_csv(folder / "vertices.csv", index=False)
    pd.DataFrame({"vertex": [0, 4], "value": [1.0, 0.0]}).to_csv(
        folder / "sources.csv", index=False
    )
    (folder / "program.py").write_text(PROGRAM)


# ----------------------------------------------------------------------------------- the trial


def replaced(target: Target, chance: random.Random, values: list[Any]) -> dict[str, Any]:
    """Return arguments that work, of which a few are absurd."""
    arguments = dict(target.works)
    if "words" in target.works:
        return {"words": _replaced_words(target, chance)}
    if not target.parameters:
        return arguments
    for name in chance.sample(
        target.parameters, min(len(target.parameters), chance.choice((1, 1, 2, 3)))
    ):
        value = chance.choice(values)
        whole = isinstance(value, int) and not isinstance(value, bool)
        if name in COLUMNS and whole:  # a column's name may be an integer
            continue
        if name in CALLED and callable(value):  # the user's own function raises its own errors
            continue
        arguments[name] = value
    return arguments


def _replaced_words(target: Target, chance: random.Random) -> list[str]:
    words = list(target.works["words"])
    for _ in range(chance.choice((1, 1, 2, 3))):
        kind = chance.randrange(8)
        if kind == 0 and words:
            words[chance.randrange(len(words))] = chance.choice(WORDS)
        elif kind == 1 and words:
            del words[chance.randrange(len(words))]
        elif target.parameters:
            option = chance.choice(target.parameters)
            words += [option[:-1]] if option.endswith("!") else [option, chance.choice(WORDS)]
    return [word for word in words if word not in LEFT_OUT]


class TooLongError(BaseException):
    """A call has not ended in time."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TooLongError where Python code runs longer; C code is ended by `--jobs`' parent."""

    def stop(number: int, frame: Any) -> None:
        raise TooLongError(f"no answer in {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def try_call(targets: list[Target], seed: int, *, show: bool = False) -> Finding | None:
    """Make one call, and return what is wrong with how it ended.

    Parameters
    ----------
    targets : list of Target
    seed : int
        Which call it is.
    show : bool
        Print it, and the traceback of whatever it raises.

    Returns
    -------
    Finding or None
    """
    chance = random.Random(seed)
    target = chance.choice(targets)
    arguments = replaced(target, chance, absurd_values())
    text = f"{target.name}({', '.join(f'{name}={_brief(one)}' for name, one in arguments.items())})"
    if show:
        print(text)
    quiet = contextlib.nullcontext() if show else contextlib.redirect_stderr(io.StringIO())
    try:
        with warnings.catch_warnings(), quiet, time_limit(LIMIT):
            warnings.simplefilter("error")
            target.call(**arguments)
    except (ws.CugraphWsError, ws.Interrupted):
        if show:
            traceback.print_exc()
    except BaseException as error:
        if show:
            traceback.print_exc()
        if isinstance(error, (TooLongError, Exception)):
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(place.filename).name}:{place.lineno}"
            return Finding(seed, text, f"{type(error).__name__}: {_brief(error)} ({where})")
        raise
    return None


def _brief(value: Any) -> str:
    try:
        text = " ".join(repr(value).split())
    except Exception:
        text = f"<{type(value).__name__}>"
    return text if len(text) < 120 else f"{text[:117]}..."


# -------------------------------------------------------------------------------- the long run


def main() -> int:
    """Make many calls, and print what was found."""
    parser = argparse.ArgumentParser(description="Call everything with absurd arguments.")
    parser.add_argument("--count", type=int, default=1000, help="calls")
    parser.add_argument("--seed", type=int, default=0, help="of the first")
    parser.add_argument("--jobs", type=int, default=1, help="processes, forked")
    parser.add_argument("--only", type=int, help="the call with this seed alone")
    given = parser.parse_args()
    targets = [*function_targets(), *command_targets()]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        working_files(Path(folder))
        if given.only is not None:
            print(try_call(targets, given.only, show=True) or "as it should be")
            return 0
        begun = time.perf_counter()
        seeds = range(given.seed, given.seed + given.count)
        findings = forked(targets, seeds, given.jobs, Path(folder))
        took = time.perf_counter() - begun
    kinds = Counter((one.call.partition("(")[0], one.said) for one in findings)
    first = {(one.call.partition("(")[0], one.said): one for one in reversed(findings)}
    for kind, times in kinds.most_common():
        print(f"{times} times, {first[kind]}")
    print(f"{given.count:,} calls, {len(findings):,} findings of {len(kinds)} kinds, {took:.0f} s")
    return min(len(findings), 1)


def forked(targets: list[Target], seeds: range, jobs: int, folder: Path) -> list[Finding]:
    """Make calls in several processes; one that dies, or hangs in compiled code, is a finding too."""
    cuts = np.linspace(0, len(seeds), jobs + 1).astype(int).tolist()
    reading = {}
    for low, high in itertools.pairwise(cuts):
        _start(targets, seeds[low:high], folder, reading)
    findings: list[Finding] = []
    while reading:
        for process, (file, left) in list(reading.items()):
            done, status = os.waitpid(process, os.WNOHANG)
            lines = file.read_text().splitlines() if file.exists() else []
            age = time.time() - file.stat().st_mtime
            if not done and age < 2 * LIMIT:
                continue
            del reading[process]
            if not done:
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)
            began = [int(line) for line in lines if line.isdigit()]
            told = [line.split("\t") for line in lines if "\t" in line]
            findings += [Finding(int(seed), call, said) for seed, call, said in told]
            if done and status == 0:
                continue
            last = began[-1]
            said = f"ended with status {status}" if done else f"no answer in {2 * LIMIT:g} s"
            findings.append(Finding(last, "?", said))
            _start(targets, range(last + 1, left.stop), folder, reading)
        time.sleep(0.05)
    return findings


def _start(targets: list[Target], seeds: range, folder: Path, reading: dict[int, Any]) -> None:
    """Fork a process that makes calls and notes each before it, and each finding after."""
    if not seeds:
        return
    file = folder / f".{seeds.start}.notes"
    file.touch()
    process = os.fork()
    if process:
        reading[process] = file, seeds
        return
    code = 1
    try:
        own = folder / f"of {seeds.start}"
        own.mkdir()
        working_files(own)
        os.chdir(own)
        with file.open("a") as notes:
            for seed in seeds:
                notes.write(f"{seed}\n")
                notes.flush()
                finding = try_call(targets, seed)
                if finding is not None:
                    told = (str(seed), finding.call, finding.said)
                    notes.write("\t".join(" ".join(one.split()) for one in told) + "\n")
        code = 0
    finally:
        os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
