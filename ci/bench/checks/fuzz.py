"""Random graphs through all functions and the tests' zoo of programs: the GPU against the CPU engine.

    python -m bench fuzz --seconds 600
    python -m bench fuzz --seconds 600 2 8     the third of eight shares
    python -m bench fuzz --only 4711           one graph again, by its number
    python -m bench fuzz --on workers          a Dask cluster of this host's GPUs or cores, instead

Each graph has ids and weights of a random type, and goes through every fifth function with random arguments.
Errors must be equal too.  Prints one line of JSON; the exit status says whether anything differed.
"""

from __future__ import annotations

import argparse
import json
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from shapes import random_edges
from zoo import ZOO, attributes_of, difference, graph_of

import cugraph_ws as ws
from bench.checks.calls import CALLS, Call, Picks
from bench.checks.drawn import Drawn
from cugraph_ws.program.binding import bind
from cugraph_ws.program.inference import CompileError

__all__ = ["Place", "compare", "differences", "main"]

LEAST = 1e-7  # a number counts as this at least: a modularity of 0 may be rounded
NEAR = 1e-5  # allowed difference of sums of floats, relative to the column's greatest value
MOST_SHOWN = 10
EACH = 5  # one function of so many for each graph
Answer = Any  # a frame, a number, a tuple of them, or an error


class Place(NamedTuple):
    """Where results come from that are compared with those of the CPU engine.

    Attributes
    ----------
    engine : str
    move : callable
        Converts a pandas frame to one there.
    options : callable
        Given a random generator, returns further arguments of `Graph` there, and of `run`.
    largest : int
        Most vertices of a graph.
    """

    engine: str
    move: Callable[[pd.DataFrame], Any]
    options: Callable[[np.random.Generator], tuple[dict[str, Any], dict[str, Any]]] = lambda rng: (
        {},
        {},
    )
    largest: int = 2000


HOST = Place("cpu", lambda frame: frame)


def _plain(answer: Any) -> Answer:
    """Return a frame of any kind as a pandas frame, also in a tuple."""
    if isinstance(answer, tuple):
        return tuple(map(_plain, answer))
    if hasattr(answer, "compute"):
        answer = answer.compute()
    return answer.to_pandas() if hasattr(answer, "to_pandas") else answer


def _answer(
    call: Call, drawn: Drawn, place: Place, arguments: dict[str, Any], **options: Any
) -> Answer:
    """Return what a call on a random graph's edges returns, or its error."""
    vertices = None if drawn.vertices is None else place.move(drawn.vertices)
    try:
        with ws.Graph(
            place.move(call.edges_of(drawn)), drawn.source, drawn.destination, call.weight, call.directed(drawn),
            vertices=vertices, **drawn.options, **options,
        ) as graph:  # fmt: skip
            return _plain(call.function(graph, engine=place.engine, **arguments))
    except ws.CugraphWsError as error:
        return error


def compare(expected: Answer, answer: Answer, *, near: bool = False) -> str | None:
    """Return where two answers differ; None if they are equal.

    Parameters
    ----------
    expected, answer : DataFrame, float, tuple of them, or exception
    near : bool
        Whether floats may differ by `NEAR`.
    """
    if isinstance(expected, Exception) or isinstance(answer, Exception):
        # Of several bad edges, each engine may name another.
        equal = type(expected) is type(answer) and _begin(expected) == _begin(answer)
        return None if equal else f"{answer!r}, not {expected!r}"
    if isinstance(expected, tuple):
        each = (compare(*pair, near=near) for pair in zip(expected, answer, strict=True))
        return next((difference for difference in each if difference is not None), None)
    least = 1e-300 if isinstance(expected, pd.DataFrame) else LEAST
    if not isinstance(expected, pd.DataFrame):
        expected, answer = (pd.DataFrame({"value": [number]}) for number in (expected, answer))
    if list(expected) != list(answer) or len(expected) != len(answer):
        return (
            f"columns {list(answer)} of {len(answer)} rows, not {list(expected)} of {len(expected)}"
        )
    for name in expected:
        right, value = (frame[name].reset_index(drop=True) for frame in (expected, answer))
        void = right.isna().to_numpy() != value.isna().to_numpy()
        both = ~(right.isna() | value.isna()).to_numpy()
        a, b = right[both].to_numpy(), value[both].to_numpy()
        if near and a.dtype.kind == "f":
            greatest = abs(a[np.isfinite(a)]).max(initial=least)
            with np.errstate(invalid="ignore"):  # infinity is equal to infinity alone
                wrong = ~(abs(a - b) <= NEAR * greatest) & (a != b)
        else:
            wrong = np.asarray(a != b, bool)
        if void.any() or wrong.any():
            row = int(void.argmax()) if void.any() else int(np.flatnonzero(both)[wrong.argmax()])
            return f"{name}, row {row}: {value[row]!r}, not {right[row]!r}"
    return None


def _begin(error: Exception) -> str:
    return str(error).partition(":")[0]


def differences(
    drawn: Drawn, place: Place, calls: Sequence[Call] = CALLS
) -> Iterator[tuple[str, str | None]]:
    """Yield the name of each call on a random graph, and where its answers differ."""
    for call in calls:
        if not len(call.edges_of(drawn)):
            continue
        number = CALLS.index(call) if call in CALLS else 0
        options, _ = place.options(np.random.default_rng([drawn.number, number]))
        arguments = call.arguments(Picks(drawn, number))
        expected = _answer(call, drawn, HOST, arguments)
        wrong = compare(expected, _answer(call, drawn, place, arguments, **options), near=call.near)
        yield call.name, wrong if wrong is None else f"{wrong}; {options}, {arguments}"[:2000]


def _columns(frame: pd.DataFrame) -> dict[str, list[Any]]:
    """Return a frame's columns, with None for null."""
    return {
        name: [None if void else value for value, void in zip(column, column.isna(), strict=True)]
        for name, column in frame.items()
    }


def program_difference(number: int, place: Place) -> tuple[str, str | None]:
    """Run a program of the zoo on a small random graph, all chosen by a seed; return its name and where it differs."""
    rng = np.random.default_rng(number)
    entry = ZOO[number % len(ZOO)]
    n = int(rng.integers(1, 200))
    edges = random_edges(n, int(rng.integers(0, 5 * n)), seed=number)
    arguments, limit = entry.given(n), int(rng.integers(1, 9))
    of_graph, of_run = place.options(rng)
    with graph_of(edges) as graph:
        try:
            bind(entry.program, graph, arguments)
        except CompileError:  # a program for plain Python
            return f"{entry}", None
        expected = ws.run(entry.program, graph, engine="cpu", max_iter=limit, **arguments).frame
    attributes = attributes_of(edges)
    frame = pd.DataFrame({"source": edges.source, "destination": edges.destination, **attributes})
    with ws.Graph(
        place.move(frame), weight="weight", directed=edges.directed,
        attributes=[name for name in attributes if name != "weight"],
        vertices=place.move(pd.DataFrame({"vertex": np.arange(n)})), **of_graph,
    ) as graph:  # fmt: skip
        result = ws.run(
            entry.program, graph, engine=place.engine, max_iter=limit, **of_run, **arguments
        )
        answer = _plain(result.frame)
    wrong = difference(_columns(answer), _columns(expected), max(entry.tolerance, NEAR))
    return f"{entry}, max_iter={limit}, {of_graph}, {of_run}", wrong


@contextmanager
def _gpu() -> Iterator[Place]:
    import cudf

    yield Place("cuda", cudf.DataFrame)


@contextmanager
def _workers() -> Iterator[Place]:
    """Start a worker for each GPU or core of this host."""
    import dask.dataframe as dd

    from cugraph_ws.runtime.driver import installed_gpus

    gpus = bool(installed_gpus())
    known = ["auto", "nccl", "hub"] if gpus else ["auto"]

    def move(frame: pd.DataFrame) -> Any:
        if not gpus:
            return dd.from_pandas(frame, npartitions=5, sort=False)
        import cudf
        import dask_cudf

        return dask_cudf.from_cudf(cudf.DataFrame(frame), npartitions=5, sort=False)

    def options(rng: np.random.Generator) -> tuple[dict[str, Any], dict[str, Any]]:
        of_graph = {"links": str(rng.choice(known))}
        return of_graph, {"plan": ws.Plan(exchange=str(rng.choice(["auto", "vr", "ms", "all"])))}

    with ws.local_cluster():
        # Searches from all vertices of a path take a superstep for each vertex, each with an exchange.
        yield Place("auto", move, options, largest=300)


PLACES: dict[str, Callable[[], AbstractContextManager[Place]]] = {"gpu": _gpu, "workers": _workers}


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz for some seconds; return 1 if anything differed."""
    parser = argparse.ArgumentParser(
        prog="bench fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--only", type=int, help="the number of one graph")
    parser.add_argument("--on", choices=sorted(PLACES), default="gpu")
    parser.add_argument("share", type=int, nargs="?", default=0)
    parser.add_argument("shares", type=int, nargs="?", default=1)
    asked = parser.parse_args(arguments)
    end = time.monotonic() + asked.seconds
    counts = {"graphs": 0, "functions": 0, "programs": 0}
    wrong: list[str] = []
    number = asked.share if asked.only is None else asked.only
    with PLACES[asked.on]() as place, warnings.catch_warnings():
        warnings.simplefilter("ignore", ws.GraphWarning)
        while time.monotonic() < end and len(wrong) < MOST_SHOWN:
            try:
                drawn = Drawn(number, place.largest)
                where = f"graph {number}, {drawn.id_type} ids, {drawn.weight_type} weights, {drawn.options}"
                for name, text in differences(drawn, place, CALLS[number % EACH :: EACH]):
                    counts["functions"] += 1
                    wrong += [] if text is None else [f"{where}: {name}: {text}"]
                name, text = program_difference(number, place)
                counts["programs"] += 1
                wrong += [] if text is None else [f"program {number}: {name}: {text}"]
            except Exception:
                wrong.append(f"number {number}: {traceback.format_exc(limit=-4)}")
            counts["graphs"] += 1
            if asked.only is not None:
                break
            number += asked.shares
    print(json.dumps({**counts, "differences": wrong}), flush=True)
    return 1 if wrong else 0
