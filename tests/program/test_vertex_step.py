"""`@ws.vertex_step`: steps over vertices alone, which read no edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import phased
import pytest
from emulator.device import emulated
from phased import Entry
from plans import planned
from shapes import random_edges
from zoo import difference, found_by, graph_of, reference_graph, shown
from zoo_steps import STEPS, Halvings, Normalised, Walked

import cugraph_ws as ws

EDGES = random_edges(9, 21, seed=11)


@pytest.mark.parametrize("entry", STEPS, ids=str)
def test_phases_mean_what_the_reference_says(entry: Entry) -> None:
    graph, given = graph_of(EDGES), entry.given(EDGES.n)
    outcome = phased.run(
        entry.program, reference_graph(EDGES), given, max_iter=60, messages=entry.messages
    )
    expected = shown(entry.program, outcome.states, EDGES.n)
    for options in ({}, {"partitions": 2}, {"partitions": 3}):
        result = ws.run(entry.program, graph, **planned(engine="python", **given, **options))
        assert difference(found_by(entry.program, result), expected, entry.tolerance) is None
        assert (result.iterations, result.converged) == (outcome.supersteps, outcome.converged)


def test_shares_halvings_and_notes_in_plain_python() -> None:
    graph = graph_of(EDGES)
    ranks = [0.0] * EDGES.n  # of `init`
    shares = ws.run(Normalised, graph, engine="python")
    assert np.isnan(shares.arrays["rank"]).all()
    assert shares.arrays["is_first"].tolist() == [True] * len(ranks)
    times = [(v + 5 >= 1) + sum((v + 5) / 2**k >= 1 for k in range(1, 9)) for v in range(EDGES.n)]
    halved = ws.run(Halvings, graph, engine="python", share=5)
    assert halved.arrays["times"].tolist() == times
    assert halved.iterations == max(times)
    sources, destinations = EDGES.source.tolist(), EDGES.destination.tolist()
    notes = [4 * v + sources.count(v) - 2 * destinations.count(v) for v in range(EDGES.n)]
    assert ws.run(Walked, graph, engine="python", step=4).arrays["notes"].tolist() == notes


@pytest.mark.parametrize("on_device", [False, True])
def test_compiled_and_on_an_emulated_gpu(on_device: bool) -> None:
    """A graph that was built on a GPU has its arcs there."""
    program = STEPS[1].program
    expected = found_by(program, ws.run(program, graph_of(EDGES), engine="python"))
    with emulated(seed=5):
        graph = graph_of(EDGES, "cudf" if on_device else "pandas")
        for options in ({"engine": "cpu"}, {"engine": "cuda"}, {"engine": "cuda", "partitions": 2}):
            found = found_by(program, ws.run(program, graph, **planned(**options)))
            assert difference(found, expected, 1e-12) is None


def test_a_step_draws_and_reads_no_edge() -> None:
    @ws.vertex_step
    class Drawn:
        x: ws.float64

        def init():
            return 0.0

        def apply(old, p):
            return old.x + p.random()

    edges = pd.DataFrame({"source": [0, 1, 1], "destination": [1, 2, 2]})
    found = ws.run(Drawn, edges, seed=3, engine="python").arrays["x"]
    assert len(set(found.tolist())) == 3
    assert ws.run(Drawn, edges, seed=3, engine="cpu").arrays["x"].tolist() == found.tolist()
    assert "no edge is read" in str(ws.explain(Drawn, edges, engine="python"))
    assert ws.check(ws.phases(Drawn, Drawn, rounds=2), edges)


@pytest.mark.parametrize("partitions", [None, 2])
def test_vectors_are_normalised_by_a_step(partitions: int | None) -> None:
    @ws.vertex_step
    class Normalised:
        share = ws.vector(ws.float64, 3)

        def init(vertex):
            return np.arange(3) + vertex * 1.0

        def apply(old):
            return old.share / np.sum(old.share)

    more = {} if partitions is None else {"partitions": partitions}
    found = ws.run(Normalised, graph_of(EDGES), **planned(engine="python", **more)).frame
    assert np.allclose(found["share_2"], [(v + 2) / (3 + 3 * v) for v in range(EDGES.n)])


def test_a_graph_keeps_its_edges_and_loses_them_in_its_copy() -> None:
    graph = graph_of(EDGES)
    alone = graph.without_edges()
    assert (alone.number_of_vertices, alone.number_of_edges, alone.edge_attributes) == (9, 0, ())
    assert graph.number_of_edges == 21
    assert alone.csc.offsets.tolist() == [0] * 10


def of_messages(old, gathered):
    return old.x + gathered


LINES: dict[str, dict[str, Any]] = {
    "compute has no role in a step over vertices": {"compute": lambda src: src.x},
    "combine has no role in a step over vertices": {"combine": sum},
    "starts has no role": {"starts": lambda state: True},
    r"w is of edges, which a step over vertices does not see": {"w": ws.edge(ws.float64)},
    r"e is of edges": {"e": ws.edge_state(ws.float64)},
    r"has no `apply`": {"apply": None},
    r"apply \(.*\) takes `gathered`, but": {"apply": of_messages},
}


@pytest.mark.parametrize("reason", LINES)
def test_what_is_for_messages_is_refused(reason: str) -> None:
    class Step:
        x = ws.float64

        def init():
            return 0.0

        def apply(old):
            return old.x

    for name, value in LINES[reason].items():
        if value is None:
            delattr(Step, name)
        else:
            setattr(Step, name, value)
    with pytest.raises(ws.ProgramError, match=reason):
        ws.vertex_step(Step)


def test_what_is_no_class_is_refused() -> None:
    with pytest.raises(ws.ProgramError, match=r"put @ws.vertex_step, without parentheses"):
        ws.vertex_step(3)
