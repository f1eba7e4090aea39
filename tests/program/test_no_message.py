"""`return ws.no_message`: what a program means that sends nothing along some arcs, and how it goes."""

from __future__ import annotations

import math

import pandas as pd
import pytest
import zoo_messages
from shapes import random_edges
from zoo import Entry, check_by_reference, graph_of
from zoo_meetings import write
from zoo_messages import SELECTIVE

import cugraph_ws as ws
from cugraph_ws.program.binding import bind

EDGES = random_edges(9, 21, seed=11)


@pytest.mark.parametrize("entry", SELECTIVE, ids=str)
def test_programs_mean_what_the_reference_says(entry: Entry) -> None:
    check_by_reference(entry, EDGES)


def test_a_minimum_stays_free_of_order_and_others_are_told_by_a_flag() -> None:
    graph = graph_of(EDGES)
    least = bind(zoo_messages.BelowTheLimit, graph, {"start": 0})
    assert least.order_free
    assert not least.program.flagged
    offer = bind(zoo_messages.LightestOffer, graph, {})
    assert offer.program.flagged
    assert offer.types.message == ("bool", "float64")


@pytest.mark.parametrize("engine", ["python"])
def test_a_vertex_that_gets_none_is_not_active(engine: str) -> None:
    @ws.vertex_program
    class Forwarded:
        x: ws.int64
        combine = min

        def init(vertex):
            return vertex

        def starts(state):
            return state.x == 0

        def compute(src, dst):
            return src.x + 10 if dst.x > 1 else ws.no_message

        def apply(old, gathered):
            return gathered

    path = pd.DataFrame({"source": [0, 0, 1, 2], "destination": [1, 2, 3, 4]})
    result = ws.run(Forwarded, path, engine=engine)
    assert result.arrays["x"].tolist() == [0, 1, 10, 3, 20]
    assert result.iterations == 3


@pytest.mark.parametrize("is_flagged", [False, True])
def test_a_state_that_is_nan_stays_where_nothing_is_sent(is_flagged: bool) -> None:
    """`min(gathered, old.x)` of the identity and NaN is the identity, so a flag tells that nothing was sent."""

    @ws.vertex_program
    class Least:
        x: ws.float64
        combine = min

        def init(vertex):
            return math.nan if vertex == 1 else 9.0

        def compute(src):
            return src.x if src.x < 5 else ws.no_message

        if is_flagged:

            def apply(old, gathered):
                return min(gathered, old.x)

        else:

            def apply(old, gathered):
                return min(old.x, gathered)

    graph = ws.Graph(pd.DataFrame({"source": [0], "destination": [1]}))
    assert bind(Least, graph, {}).program.flagged == is_flagged
    for engine in ("python", "cpu"):
        assert math.isnan(ws.run(Least, graph, engine=engine).arrays["x"][1])


REFUSED = {
    "computes with `ws.no_message`": {"compute": "src.x + ws.no_message"},
    "returns ws.no_message only": {"compute": "ws.no_message"},
    "which only compute of a vertex program returns": {"apply": "ws.no_message"},
    "lists have the messages of all in-neighbours": {"combine": "ws.mode()"},
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_makes_no_sense_is_refused(reason: str) -> None:
    parts = {
        "combine": "sum",
        "compute": "src.x if src.x else ws.no_message",
        "apply": "gathered",
        **REFUSED[reason],
    }
    with pytest.raises(ws.ProgramError, match=reason):
        write("Refused", "A program that cannot be.", "x: ws.int64", **parts)


def test_a_liberty_that_a_flag_does_not_allow_is_refused_on_the_graph() -> None:
    parts = {"compute": "src.x if src.x else ws.no_message", "apply": "gathered"}
    for more, declared in (
        ("asynchronous = True", "asynchronous = True"),
        ("before: ws.predecessor", "a predecessor"),
    ):
        program = write("Loose", "Any number.", "x: ws.int64", "ws.any_message", more=more, **parts)
        with pytest.raises(ws.ProgramError, match=f"with {declared} needs"):
            ws.run(program, graph_of(EDGES))
