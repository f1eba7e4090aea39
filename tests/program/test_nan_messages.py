"""Messages that are NaN: combines that order messages give the same for any order of them."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
import reference
from emulator.device import emulated
from shapes import random_edges, undirected
from zoo import difference, found_by, graph_of, reference_graph, shown

import cugraph_ws as ws

EDGES = [random_edges(12, 60, seed=3), undirected(random_edges(9, 20, seed=4))]


def program_of(combine: Any, **more: Any) -> Any:
    """Return a program in which every third vertex sends NaN."""

    class Unknown:
        x: ws.float64
        place: ws.int64
        weight: ws.edge(ws.float64)
        max_iter = 3

        def init(vertex):
            return vertex * 5 % 7 / 2, vertex

        def compute(src, edge):
            return math.nan if src.place % 3 == 1 else src.x + edge.weight

        def apply(old, gathered):
            return gathered if abs(gathered) < 1e300 else old.x + 0.5, old.place

    for name, value in {"combine": combine, **more}.items():
        setattr(Unknown, name, value)
    return ws.vertex_program(Unknown)


def labelled(src, edge):
    return math.nan if src.place % 3 == 1 else src.x + edge.weight, src.place


def both(src, edge):
    return math.nan if src.place % 2 == 1 else 1.0, math.nan if src.place % 3 == 1 else src.x


def nothing_but_unknown(src):
    return math.nan, src.place


def of_second(old, gathered):
    return gathered[0] if abs(gathered[0]) < 1e300 else old.x + gathered[1] % 8, old.place


def of_two(old, gathered):
    return max(gathered[0], old.x), old.place + (gathered[1] > 2.0)


PROGRAMS = {
    "min": (program_of(min), float),
    "max": (program_of(max), float),
    "min of the active": (program_of(min, contributors="active"), float),
    "tuples": (program_of(max, compute=both, apply=of_two), (float, float)),
    "top": (program_of(ws.top(2), apply=of_two), float),
    "mode": (program_of(ws.mode()), float),
    "weighted mode": (program_of(ws.mode(weighted=True), compute=labelled), (float, int)),
    "first": (program_of(ws.first_by(0), compute=labelled, apply=of_second), (float, int)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_in_every_order(name: str) -> None:
    program, message = PROGRAMS[name]
    for edges in EDGES:
        graph = graph_of(edges)
        outcome = reference.run(program, reference_graph(edges), {}, message=message)
        expected = shown(program, outcome.states, edges.n)
        assert not any(map(math.isnan, expected["x"]))
        for engine, partitions in itertools.product(("python", "cpu"), (1, 3)):
            result = ws.run(program, graph, engine=engine, partitions=partitions)
            assert not difference(found_by(program, result), expected, 0.0), (engine, partitions)
        with emulated(seed=5):
            result = ws.run(program, graph, engine="cuda")
            assert not difference(found_by(program, result), expected, 0.0)


def test_the_first_of_messages_without_a_number_is_none() -> None:
    program = program_of(ws.first_by(0), compute=nothing_but_unknown, apply=of_second)
    graph = graph_of(EDGES[0])
    outcome = reference.run(program, reference_graph(EDGES[0]), {}, message=(float, int))
    expected = shown(program, outcome.states, EDGES[0].n)
    for engine in ("python", "cpu"):
        result = ws.run(program, graph, engine=engine)
        assert not difference(found_by(program, result), expected, 0.0), engine


def test_relaxations_along_unknown_edges() -> None:
    """A push applies messages one by one, and a gather all at once."""

    @ws.vertex_program
    class Nearest:
        x: ws.float64
        length: ws.edge(ws.float64)
        combine = min
        asynchronous = True

        def init(vertex):
            return 0.0 if vertex == 0 else math.inf

        def compute(src, edge):
            return math.nan if edge.length > 2.0 else src.x + edge.length

        def apply(old, gathered):
            return min(gathered, old.x)

    edges = EDGES[0]
    lengths = np.where(np.arange(len(edges.source)) % 3 == 1, 3.0, 1.0)
    frame = {"source": edges.source, "destination": edges.destination, "length": lengths}
    graph = ws.Graph(pd.DataFrame(frame), attributes=["length"])
    found = []
    with emulated(seed=5):
        for direction, engine in itertools.product(
            ("push", "pull", "gather"), ("python", "cpu", "cuda")
        ):
            found.append(ws.run(Nearest, graph, direction=direction, engine=engine).frame)
    assert np.isfinite(found[0].x).sum() > 2
    assert found[0].x.notna().all()
    for one in found[1:]:
        assert one.equals(found[0])
