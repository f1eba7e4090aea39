"""Each pair of options of a run: the reference's states, or an error that names one of the two."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import reference
from fuzz.programs import quick_loops
from plans import planned
from shapes import random_edges

import cugraph_ws as ws
from cugraph_ws.execution.options import declared

SIZE = 14
EDGES = random_edges(SIZE, 30, seed=4)
PAIRS = list(zip(EDGES.source.tolist(), EDGES.destination.tolist(), strict=True))
LENGTHS = np.arange(len(PAIRS)) % 5
PLAIN = reference.Graph(SIZE, PAIRS, {"weight": LENGTHS}, "weight")


@ws.vertex_program
class Least:
    """The least number that leads to a vertex."""

    label: ws.int64

    def init(vertex):
        return vertex

    def compute(src):
        return src.label

    combine = min

    def apply(old, gathered):
        return min(old.label, gathered)


@ws.vertex_program
class Totals:
    """Sums of in-neighbours' values, whose last digits tell supersteps apart."""

    value: ws.int64
    max_iter = 5
    contributors = "all"

    def init(vertex):
        return vertex + 1

    def compute(src):
        return src.value

    combine = sum

    def apply(old, gathered):
        return (3 * old.value + gathered) % 1009


PROGRAMS: dict[str, tuple[Any, dict[str, Any]]] = {
    "minima": (Least, {}),
    "sums": (Totals, {}),
    "paths": (ws.SSSP, {"start": 0}),
}
VALUES: dict[str, tuple[Any, ...]] = {
    "engine": ("python",),
    "max_iter": (0, 2),
    "tol": (0.5,),
    "direction": ("push", "pull", "gather"),
    "in_place": (True, False),
    "priorities": (False,),
    "fused": (False,),
    "predecessors": (False,),
    "partitions": (3,),
    "exchange": ("vr", "ms", "all"),
    "layout": ("csc", "tiles", "gshards"),
    "extrapolate": ("never", "always"),
    "method": ("vwc-8",),
    "filter": ("ballot",),
    "shard_bytes": (4096,),
    "profile": (True,),
    "progress": (lambda update: True,),
    "timeout": (1000.0,),
    "checkpoint": ("state.parquet",),
    "every": (1,),
    "resume": ("begun.parquet",),
}
SINGLE = [(name, value) for name, values in VALUES.items() for value in values]
EACH = [(one,) for one in SINGLE]
EACH += [(one, other) for one, other in itertools.combinations(SINGLE, 2) if one[0] != other[0]]


@pytest.fixture(scope="module")
def graph() -> Iterator[ws.Graph]:
    frame = pd.DataFrame(
        {"source": EDGES.source, "destination": EDGES.destination, "weight": LENGTHS}
    )
    with quick_loops(), ws.Graph(frame, vertices=pd.DataFrame({"vertex": range(SIZE)})) as built:
        yield built


def states(result: ws.Result, names: Any) -> dict[str, list[Any]]:
    """Return the state of each vertex as the interpreter has it."""
    return {
        name: [math.inf if pd.isna(value) else value for value in result.frame[name]]
        for name in names
    }


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_pair(name: str, graph: ws.Graph, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    program, arguments = PROGRAMS[name]
    given = {key: [vertex] for key, vertex in arguments.items()}
    expected = {
        limit: reference.run(program, PLAIN, given, max_iter=limit, message=int)
        for limit in (0, 2, None)
    }
    ws.run(program, graph, **planned(max_iter=2, checkpoint="begun.parquet", **arguments))
    compared = 0
    for pair in EACH:
        options = dict(pair)
        try:
            result = ws.run(program, graph, **planned(**arguments, **options))
        except (ws.InputError, ws.EngineError) as error:
            if not any(f"{option}=" in str(error) for option in options):
                pytest.fail(f"{pair}: the error names neither: {error}")
            continue
        limit = options.get("max_iter")
        if not result.synchronous and limit is not None:
            continue  # a state between two supersteps; `synchronous` says so
        if not result.synchronous and not result.converged:
            continue
        compared += 1
        wanted = expected[limit]
        known = {
            field: [math.inf if value >= 2**62 else value for value in values]
            for field, values in wanted.states.items()
        }
        assert states(result, known) == known, pair
        if result.synchronous and limit is not None:
            assert result.iterations == wanted.supersteps, pair
        if options.get("predecessors") is False:
            assert "predecessor" not in result.frame, pair
    assert compared > len(EACH) / 3


def test_every_option_is_among_them() -> None:
    assert set(VALUES) == set(declared())
