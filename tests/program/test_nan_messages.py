"""Messages that are NaN: combines that order messages give the same for any order of them."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import reference
from emulator.device import emulated
from shapes import random_edges, undirected
from zoo import attributes_of, difference, found_by, graph_of, reference_graph, shown
from zoo_meetings import write

import cugraph_ws as ws
from cugraph_ws.execution.options import Options
from cugraph_ws.execution.phased_loop import PhasedLoop
from cugraph_ws.program.binding import bind
from cugraph_ws.program.codegen import generated_source

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
            result = ws.run(program, graph, engine=engine, plan=ws.Plan(partitions=partitions))
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
            found.append(
                ws.run(Nearest, graph, plan=ws.Plan(direction=direction), engine=engine).frame
            )
    assert np.isfinite(found[0].x).sum() > 2
    assert found[0].x.notna().all()
    for one in found[1:]:
        assert one.equals(found[0])


def relaxed(compute: Any, **more: Any) -> Any:
    """Return a program that keeps the least of `compute`'s messages."""

    class Relaxed:
        x: ws.float64
        length: ws.edge(ws.float64)
        given: ws.vertex_value(ws.float64, default=0.0)
        combine = min

        def init(vertex):
            return 0.0 if vertex % 3 == 0 else math.inf

        def apply(old, gathered):
            return min(old.x, gathered)

    for name, value in {"compute": compute, **more}.items():
        setattr(Relaxed, name, value)
    return ws.vertex_program(Relaxed)


def longer(src, edge):
    return src.x + edge.length


def narrower(src, edge):
    least = min(src.x, -edge.length)
    if least < 0.0:
        return least
    return abs(src.x)


def times(src, edge):
    return src.x * edge.length


def apart(src):
    return src.x - src.x


def rooted(src, edge):
    return math.sqrt(edge.length)


def from_outside(src):
    return src.given


def unknown(vertex):
    return math.inf - math.inf


def difference_to(old, gathered):
    return gathered - old.x


@pytest.mark.parametrize(
    ("program", "proved"),
    [
        (ws.SSSP, True),
        (ws.WidestPath, True),
        (relaxed(longer), True),
        (relaxed(narrower), True),
        (relaxed(times), False),
        (relaxed(apart), False),
        (relaxed(rooted), False),
        (relaxed(longer, init=unknown), False),
        (relaxed(longer, apply=difference_to), False),
        (relaxed(from_outside), False),
        (PROGRAMS["min"][0], False),
        (PROGRAMS["top"][0], False),
    ],
)
def test_nan_is_looked_for_unless_it_is_proved_impossible(program: Any, proved: bool) -> None:
    given = {"start": [0]} if "start" in program.constants else {}
    edges = EDGES[0]
    column = next(iter(program.edges), "weight")
    frame = {
        "source": edges.source,
        "destination": edges.destination,
        column: attributes_of(edges)["weight"],
    }
    graph = ws.Graph(pd.DataFrame(frame), weight=column)
    bound = bind(program, graph, given)
    assert bound.never_nan == proved
    texts = {
        generated_source(bound.program, replace(bound.types, never_nan=one))
        for one in (False, True)
    }
    assert len(texts) == 2, "there are floats to look at"


def test_a_phase_may_begin_with_nan() -> None:
    class Loses:
        x: ws.float64
        combine = max
        contributors = "all"

        def init(vertex):
            return vertex % 5

        def compute(src):
            return src.x

        def apply(old, gathered):
            return math.nan if old.x == 1.0 else old.x

    class Spreads:
        x: ws.float64
        combine = min
        asynchronous = True

        def init(vertex):
            return 0.0

        def compute(src):
            return src.x

        def apply(old, gathered):
            return min(gathered, old.x)

    program = ws.phases(
        ws.phase(ws.vertex_program(Loses), supersteps=1), ws.phase(ws.vertex_program(Spreads))
    )
    for edges in EDGES:
        graph = graph_of(edges)
        assert bind(program.phases[1].program, graph, {}).never_nan
        loop = PhasedLoop(program, {}, Options(engine="cpu"))
        loop.start(graph)
        assert not loop.loops[1].bound.never_nan
        expected = ws.run(program, graph, engine="python").frame
        for partitions in (1, 3):
            found = ws.run(program, graph, engine="cpu", plan=ws.Plan(partitions=partitions)).frame
            pd.testing.assert_frame_equal(found, expected, check_exact=True)


def test_infinite_attributes() -> None:
    edges = pd.DataFrame({"source": [0, 1], "destination": [1, 2], "length": [1.0, math.inf]})
    program = relaxed(longer)
    assert not bind(program, ws.Graph(edges, attributes=["length"]), {}).never_nan
    assert bind(program, ws.Graph(edges[:1], attributes=["length"]), {}).never_nan


@pytest.mark.parametrize("pick", ["min", "max"])
def test_min_and_max_of_a_users_function_keep_a_nan_that_comes_first(pick: str) -> None:
    """As in Python, on a GPU as well, whose own functions prefer numbers."""
    program = write(
        "First", "A state that may be NaN, and a limit of messages that may.", "x: ws.float64\ny: ws.float64", pick,
        init="math.nan if vertex % 2 == 1 else float(vertex), 1.0", more="max_iter = 2",
        compute=f"{pick}(src.x, 3.0, edge.weight) + {pick}(2, src.y)", apply=f"{pick}(old.x, gathered), {pick}(gathered, old.x)",
    )  # fmt: skip
    edges = EDGES[0]
    expected = reference.run(program, reference_graph(edges), max_iter=2, message=float)
    with emulated(), graph_of(edges) as graph:
        for engine in ("python", "cpu", "cuda"):
            result = ws.run(program, graph, engine=engine)
            wrong = difference(
                found_by(program, result), shown(program, expected.states, edges.n), 0.0
            )
            assert wrong is None, (engine, wrong)


def test_and_in_edge_programs() -> None:
    @ws.edge_program
    class Least:
        """The least of two shares, of which one may be NaN."""

        least: ws.float64
        most: ws.float64
        degree: ws.neighbour_count
        combine = sum

        def common():
            return 1.0

        def value(u, v, common):
            share = math.nan if u.degree % 2 == 1 else common / v.degree
            return min(share, common), max(common, share)

    with emulated(), graph_of(EDGES[1]) as graph:
        values = [
            ws.run(Least, graph, engine=engine).frame[["least", "most"]].to_numpy()
            for engine in ("python", "cpu", "cuda")
        ]
    assert np.isnan(values[0]).any()
    for one in values[1:]:
        np.testing.assert_array_equal(one, values[0])
