"""Numbers that name no vertex, and names that name no column: refused, not answered."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest

import cugraph_ws as ws

EDGES = pd.DataFrame(
    {"source": [10, 10, 30], "destination": [20, 30, 20], "weight": [1.0, 2.0, 4.0]}
)
NONE = -9  # of which the program makes math.inf


def pointing(number: Any) -> Any:
    """Make a program in which the last vertex names a number."""

    @ws.vertex_program
    class Pointing:
        to: ws.vertex_id
        number: ws.parameter(ws.int64, default=0)
        max_iter = 1

        def init(vertex, p):
            if vertex < 2:
                return vertex
            return p.number if p.number != NONE else math.inf

        def compute(src):
            return src.to

        combine = min

        def apply(old, gathered):
            return old.to

    return ws.run(Pointing, ws.Graph(EDGES), engine="python", number=number).frame["to"]


@pytest.mark.parametrize("number", [3, 99, -2])
def test_a_number_beyond_the_graph_is_refused(number: int) -> None:
    with pytest.raises(
        ws.ProgramError,
        match=rf"Pointing: `to` of vertex 30 is {number}.* 3 vertices.*-1 or math.inf",
    ):
        pointing(number)


def test_none_is_null() -> None:
    for none in (-1, NONE):
        assert pointing(none).isna().tolist() == [False, False, True]
    assert pointing(1).tolist() == [10, 20, 20]


@ws.vertex_program
class Typo:
    x: ws.float64
    wieght: ws.edge(ws.float64)
    max_iter = 1

    def init(vertex):
        return 0.0

    def compute(src, edge):
        return edge.wieght

    combine = sum

    def apply(old, gathered):
        return gathered


@ws.vertex_program
class Toll:
    x: ws.float64
    toll: ws.edge(ws.float64)
    max_iter = 1

    def init(vertex):
        return 0.0

    def compute(src, edge):
        return edge.toll

    combine = sum

    def apply(old, gathered):
        return gathered


@ws.vertex_program
class Short:
    x: ws.float64
    w: ws.edge(ws.float64)
    max_iter = 1

    def init(vertex):
        return 0.0

    def compute(src, edge):
        return edge.w

    combine = sum

    def apply(old, gathered):
        return gathered


def test_a_misspelt_attribute_is_refused() -> None:
    with pytest.raises(ws.InputError, match=r"Typo reads .*'wieght'.*did you mean 'weight'"):
        ws.run(Typo, ws.Graph(EDGES), engine="python")


def test_one_of_several_columns_must_have_the_name() -> None:
    graph = ws.Graph(EDGES.assign(km=[1, 2, 3]), attributes=["km"])
    with pytest.raises(
        ws.InputError, match=r"Toll reads .*'toll'.*'weight', 'km'.*name it `weight`"
    ):
        ws.run(Toll, graph, engine="python")
    assert ws.run(Short, graph, engine="python").frame["x"].tolist() == [0.0, 5.0, 2.0]


def test_an_only_column_may_have_any_other_name() -> None:
    for graph in (ws.Graph(EDGES), ws.Graph(EDGES.rename(columns={"weight": "km"}), weight="km")):
        assert ws.run(Toll, graph, engine="python").frame["x"].tolist() == [0.0, 5.0, 2.0]
    named = ws.Graph(EDGES.rename(columns={"weight": "toll"}), weight="toll")
    assert ws.run(Toll, named, engine="python").frame["x"].tolist() == [0.0, 5.0, 2.0]
