"""Every program of the zoo means the same in every configuration: what the reference says."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pandas as pd
import pytest
import reference
import zoo
import zoo_arithmetic  # noqa: F401 - its programs are listed in the zoo
import zoo_folds
import zoo_messages
import zoo_tables  # noqa: F401 - and of this one
import zoo_trials
from clusters import workers
from cuda_cases import set_classes
from emulator.device import emulated
from plans import planned
from shapes import SHAPES, frame, random_edges, undirected, vertex_frame
from verify import Edges
from zoo import (
    PERMUTED,
    ZOO,
    Entry,
    difference,
    edges_found,
    edges_shown,
    found_by,
    graph_of,
    reference_graph,
    remembering,
    shown,
)
from zoo_meetings import MEETINGS

import cugraph_ws as ws

pytestmark = pytest.mark.xdist_group("zoo")

assert len(zoo_trials.TRIED) == 10, "they are among the others"
ALL = [*ZOO, *PERMUTED, *MEETINGS]
GRAPHS: dict[str, Edges] = {
    **{
        name: SHAPES[name]
        for name in ("empty", "one vertex", "all isolated", "one edge", "star", "star inwards",
                     "short path", "two components", "self-loops", "duplicates")
    },
    "one edge both ways": undirected(SHAPES["one edge"]),
    "cycle": Edges(SHAPES["cycle"].source[:6], SHAPES["cycle"].destination[:6] % 6, 6),
    "random": random_edges(9, 21, seed=11),
    "random sparse": random_edges(12, 14, seed=12),
    "random undirected": undirected(random_edges(8, 11, seed=13)),
    "random dense": random_edges(6, 30, seed=14),
}  # fmt: skip
THOROUGH = ("two components", "random", "random undirected")  # in every configuration
FEW = (1, 2, 3)
LIMITS = (*FEW, None)
LONG, SHORT = (
    60,
    6,
)  # supersteps after which there is no end to be expected; which are compared then

DIRECTIONS = [{"direction": direction} for direction in ("auto", "push", "pull", "gather")]
PARTITIONS = [
    {"partitions": 2, "exchange": "auto"},
    {"partitions": 2, "exchange": "vr"},
    {"partitions": 3, "exchange": "ms"},
    {"partitions": 4, "exchange": "all"},
    {"partitions": 3, "direction": "pull", "exchange": "vr"},
    {"partitions": 2, "direction": "push"},
    {"partitions": 4, "direction": "gather"},
]
WAYS = [{"in_place": False}, {"priorities": False}, {"fused": False}]
FORCED = [
    {"direction": "push", "fused": False},
    {"direction": "push", "priorities": False},
    {"direction": "push", "priorities": False, "fused": False},
]
CANNOT = re.compile(r"^direction='(push|pull|gather)': .*; use '", re.DOTALL)


@pytest.fixture(autouse=True, scope="module")
def once() -> Iterator[None]:
    """Have each program's loops made once."""
    with remembering():
        yield


@cache
def graph(name: str) -> ws.Graph:
    return graph_of(GRAPHS[name])


def arguments(entry: Entry, edges: Edges) -> dict[str, Any]:
    return entry.given(edges.n)


def reference_run(entry: Entry, edges: Edges, limit: int | None) -> reference.Outcome:
    given = arguments(entry, edges)
    return reference.run(
        entry.program, reference_graph(edges), given, max_iter=limit, message=entry.message
    )


@cache
def expected_of(place: int, name: str, limit: int | None) -> tuple[reference.Outcome, int | None]:
    """Return what the reference says, and the limit that makes the program end if there is none."""
    entry, edges = ALL[place], GRAPHS[name]
    if limit is None and entry.program.max_iter is None:
        outcome = reference_run(entry, edges, LONG)
        if not outcome.converged:
            limit = SHORT
    if limit is not None or entry.program.max_iter is not None:
        outcome = reference_run(entry, edges, limit)
    return outcome, limit


def check(entry: Entry, name: str, limit: int | None, **options: Any) -> bool:
    """Compare one run with the reference; return False where a direction is refused."""
    outcome, given_limit = expected_of(ALL.index(entry), name, limit)
    edges = GRAPHS[name]
    try:
        result = ws.run(
            entry.program,
            graph(name),
            **planned(max_iter=given_limit, **arguments(entry, edges), **options),
        )
    except ws.InputError as error:
        if options.get("direction", "auto") != "auto" and CANNOT.match(str(error)):
            return False
        raise
    where = f"{entry} on {name}, max_iter={given_limit}, {options}"
    expected = shown(entry.program, outcome.states, edges.n)
    wrong = difference(found_by(entry.program, result), expected, entry.tolerance)
    assert wrong is None, f"{where}: {wrong}"
    wrong = difference(edges_found(result), edges_shown(outcome), entry.tolerance)
    assert wrong is None, f"edges of {where}: {wrong}"
    most = entry.program.max_iter if given_limit is None else given_limit
    assert most is None or result.iterations <= most, where
    assert result.converged or not outcome.converged or most is not None, where
    return True


def graphs_for(entry: Entry) -> list[str]:
    return [name for name, edges in GRAPHS.items() if edges.n or not entry.needs_vertex]


@pytest.mark.parametrize("share", range(3))  # of the configurations
@pytest.mark.parametrize("entry", ALL, ids=str)
def test_plain_python(entry: Entry, share: int) -> None:
    """Each configuration runs to the end and to one limit: on the three thorough graphs, to all of them."""
    configurations = [*DIRECTIONS, *PARTITIONS, *WAYS][share::3]
    turn = itertools.cycle(configurations)
    for place, name in enumerate(graphs_for(entry)):
        chosen = configurations if name in THOROUGH else [{}, next(turn)]
        for number, options in enumerate(chosen):
            for limit in (FEW[(place + number) % len(FEW)], None):
                check(entry, name, limit, engine="python", **options)


COMPILED = [entry for entry in (*ZOO, *MEETINGS) if entry.compiled]


@pytest.mark.parametrize("entry", COMPILED, ids=str)
def test_compiled(entry: Entry) -> None:
    turn = itertools.cycle([*DIRECTIONS, *PARTITIONS, *WAYS, *FORCED])
    for name in graphs_for(entry):
        for limit in LIMITS:
            check(entry, name, limit, engine="cpu")
            for options in itertools.islice(turn, 9 if name in THOROUGH else 2):
                check(entry, name, limit, engine="cpu", **options)


# ---------------------------------------------------------------------------------------- CUDA

EMULATED = ("two components", "duplicates", "star inwards")


@pytest.mark.parametrize("entry", COMPILED, ids=str)
def test_emulated_gpu(entry: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    set_classes(monkeypatch, block=64, hub=24, chunk=16, middle=6)
    directions = itertools.cycle(DIRECTIONS)
    with emulated(seed=len(entry.program.name)):
        for name in EMULATED:
            for limit in (2, None):
                check(entry, name, limit, engine="cuda")
                check(entry, name, limit, engine="cuda", **next(directions))


# ---------------------------------------------------------------------------------------- Dask

ON_WORKERS = [
    zoo.Limited, zoo.Decreasing, zoo.HalfOfThem, zoo.LabelsUp, zoo.Echo, zoo.KeptInSilence,
    zoo.Due, zoo.NearestSeed, zoo.Peel, zoo.Aggregated, zoo.TopTwo, zoo.Levels, zoo.Hops, zoo.UpToTheLimit,
    zoo.Hooking, zoo.Named, zoo_messages.LightestOffer, zoo_messages.UntilHalf, zoo_folds.PartsOfSome,
]  # fmt: skip


@pytest.fixture(scope="module")
def on_workers() -> Iterator[dict[str, Any]]:
    """Graphs on the workers of one cluster."""
    import dask.dataframe as dd

    with workers(2):
        graphs = {}
        for name in ("random", "two components"):
            edges = GRAPHS[name]
            columns = zoo.attributes_of(edges)
            rows = frame({"source": edges.source, "destination": edges.destination, **columns})
            graphs[name] = ws.Graph(
                dd.from_pandas(rows, npartitions=3, sort=False),
                weight="weight",
                attributes=[one for one in columns if one != "weight"],
                vertices=vertex_frame(edges),
            )
        yield graphs


@pytest.mark.parametrize("program", ON_WORKERS, ids=lambda program: program.name)
def test_workers(program: Any, on_workers: dict[str, Any]) -> None:
    place = next(at for at, entry in enumerate(ALL) if entry.program is program)
    entry = ALL[place]
    for name, spread in on_workers.items():
        for limit in (1, 2, None):
            outcome, given_limit = expected_of(place, name, limit)
            given = arguments(entry, GRAPHS[name])
            result = ws.run(
                program, spread, **planned(engine="python", max_iter=given_limit, **given)
            )
            rows = result.frame.compute().sort_values("vertex")
            expected = shown(program, outcome.states, GRAPHS[name].n)
            found = {
                field: [None if pd.isna(value) else value for value in rows[field].tolist()]
                for field in expected
            }
            wrong = difference(found, expected, entry.tolerance)
            assert wrong is None, f"{entry} on {name}, max_iter={given_limit}: {wrong}"


# ----------------------------------------------------------------------------- the zoo itself


def test_the_zoo_is_large_and_every_program_says_what_it_is() -> None:
    assert len(ZOO) >= 60
    assert len(MEETINGS) >= 40
    assert len({entry.program.name for entry in ALL} - {"Closure"}) == len(ALL) - 2
    assert all(entry.program.doc for entry in ALL)


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_a_global_is_what_it_is_when_the_run_begins(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = next(entry for entry in ZOO if entry.program is zoo.GlobalRate)
    for rate in (2, 5, 3):
        monkeypatch.setattr(zoo, "RATE", rate)
        outcome = reference_run(entry, GRAPHS["random"], 3)
        result = ws.run(entry.program, graph("random"), engine=engine, max_iter=3)
        assert found_by(entry.program, result) == shown(entry.program, outcome.states, 9), rate
