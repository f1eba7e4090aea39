"""`until`: a run that ends by a condition on its aggregates."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import reference
import zoo_messages
from emulator.device import emulated
from shapes import random_edges
from zoo import Entry, found_by, graph_of, reference_graph, shown
from zoo_meetings import write
from zoo_until import BY_AGGREGATES, FirstAlarm, Harvest, Quorum, Spread

import cugraph_ws as ws

EDGES = random_edges(9, 21, seed=11)
PATH = pd.DataFrame({"source": range(9), "destination": range(1, 10)})


@pytest.mark.parametrize("entry", BY_AGGREGATES, ids=str)
def test_programs_mean_what_the_reference_says(entry: Entry) -> None:
    """Each ends after as many supersteps."""
    graph, whole = graph_of(EDGES), reference_graph(EDGES)
    outcome = reference.run(entry.program, whole, message=entry.message)
    expected = shown(entry.program, outcome.states, EDGES.n)
    for plan in (ws.Plan(), ws.Plan(partitions=2)):
        result = ws.run(entry.program, graph, engine="python", plan=plan)
        assert found_by(entry.program, result) == expected
        assert (result.iterations, result.converged) == (outcome.supersteps, outcome.converged)


def test_votes_and_floods_in_plain_python() -> None:
    pairs = list(zip(EDGES.source.tolist(), EDGES.destination.tolist(), strict=True))
    yes = [v % 5 == 0 for v in range(EDGES.n)]
    while 3 * sum(yes) < 2 * EDGES.n:
        yes = [old or any(yes[u] for u, w in pairs if w == v) for v, old in enumerate(yes)]
    graph = graph_of(EDGES)
    assert ws.run(Quorum, graph, engine="python").arrays["yes"].tolist() == yes
    level, day = [1 + v % 3 for v in range(EDGES.n)], 0
    while max(level) <= 60:
        level = [
            old + sum(level[u] for u, w in pairs if w == v) + day for v, old in enumerate(level)
        ]
        day += 1
    result = ws.run(FirstAlarm, graph, engine="python")
    assert (result.arrays["level"].tolist(), result.iterations) == (level, day)


@pytest.mark.parametrize("program", [Spread, Harvest], ids=str)
def test_compiled_and_on_an_emulated_gpu(program: ws.VertexProgram) -> None:
    graph = graph_of(EDGES)
    plain = ws.run(program, graph, engine="python")
    with emulated(seed=4):
        results = [ws.run(program, graph, engine=engine) for engine in ("cpu", "cuda")]
    for result in results:
        assert found_by(program, result) == found_by(program, plain)
        assert result.iterations == plain.iterations


@pytest.mark.parametrize("partitions", [None, 2])
def test_a_run_ends_when_half_have_it(partitions: int | None) -> None:
    plan = ws.Plan() if partitions is None else ws.Plan(partitions=partitions)
    result = ws.run(zoo_messages.UntilHalf, PATH, engine="python", plan=plan)
    assert result.arrays["ill"].tolist() == [True] * 5 + [False] * 5
    assert result.iterations == 4
    assert result.converged


def test_a_run_need_not_begin() -> None:
    pair = pd.DataFrame({"source": [0], "destination": [1]})
    result = ws.run(zoo_messages.UntilHalf, pair, engine="python")
    assert result.iterations == 0
    assert result.converged


@pytest.mark.parametrize(
    ("until", "more", "reason"),
    [
        ("p.superstep > 3", "", "reads no aggregate"),
        ("p.total > 3", "asynchronous = True", "leave out asynchronous = True"),
        ("p.total > 3", "in_place = True", "leave out in_place = True"),
        ("p.totals > 3", "", r"did you mean `total`"),
    ],
)
def test_conditions_that_make_no_sense_are_refused(until: str, more: str, reason: str) -> None:
    lines = "@ws.aggregate\ndef total(state):\n    return state.x\n" + more
    parts = {"compute": "src.x", "apply": "min(old.x, gathered)", "until": until}
    with pytest.raises(ws.ProgramError, match=reason):
        write("Refused", "It cannot be.", "x: ws.int64", "min", more=lines, **parts)


@pytest.mark.parametrize("value", [np.arange(3), [max], ([max],), "sum", 5, None], ids=repr)
def test_what_is_no_function_is_no_aggregate(value):
    with pytest.raises(ws.ProgramError, match=r"ws\.aggregate is given .*write @ws"):
        ws.aggregate(value)
