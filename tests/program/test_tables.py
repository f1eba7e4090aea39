"""Tables of numbers that functions read by index: what they mean, when they change, and what is refused."""

from __future__ import annotations

import math
import types
from typing import Any

import numpy as np
import pandas as pd
import pytest
from plans import planned

import cugraph_ws as ws

PATH = pd.DataFrame({"source": [0, 1, 2], "destination": [1, 2, 3], "road": [0, 2, 1]})
RATE: Any = [0.5, 2.0, 4.0]
LENGTH: Any = (5, 1, 7)
FLAGS: Any = (True, True, True)
PAIRS: Any = ((1, 2), (3, 4))
WORDS: Any = ("a", "b")
RAGGED: Any = [[1, 2], [3]]
LONG: Any = np.arange(1000)
HUGE: Any = np.array([2**63], np.uint64)
CUBE: Any = np.zeros((2, 2, 2))
constants: Any = types.ModuleType("constants")


def rated(index: Any) -> Any:
    """Return a program that makes of each vertex number an entry, through a function of the number."""

    @ws.vertex_program
    class Rated:
        x: ws.float64
        combine = max
        max_iter = 1

        def init(vertex):
            return RATE[index(vertex)]

        def compute(src):
            return src.x

        def apply(old):
            return old.x

    return Rated


def by_vertex(vertex):
    return vertex % len(RATE)


@ws.vertex_program
class Past:
    """Reads tables of each type past their ends, but for vertex 1."""

    floats: ws.float64
    wholes: ws.int64
    flags: ws.boolean
    combine = max
    max_iter = 1

    def init(vertex):
        return RATE[vertex * 4 - 1], LENGTH[5 - 3 * vertex], FLAGS[-1 - vertex * 3]

    def compute(src):
        return src.wholes

    def apply(old):
        return old.floats, old.wholes, old.flags


def column(program: Any, **options: Any) -> list[float]:
    with ws.Graph(PATH) as graph:
        values: list[float] = ws.run(program, graph, **planned(**options))["x"].tolist()
    return values


def test_a_table_that_has_changed_is_read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    program = rated(by_vertex)
    for engine in ("auto", "python"):
        monkeypatch.setitem(globals(), "RATE", [0.5, 2.0, 4.0])
        assert column(program, engine=engine) == [0.5, 2.0, 4.0, 0.5]
        RATE[1] = -1.0
        assert column(program, engine=engine) == [0.5, -1.0, 4.0, 0.5]
    RATE.append(9)
    assert column(program, engine="python") == [0.5, -1.0, 4.0, 9.0]
    monkeypatch.setitem(globals(), "RATE", np.array([math.inf, math.nan, 1.0], np.float32))
    assert str(column(program, engine="python")) == "[inf, nan, 1.0, inf]"
    monkeypatch.setitem(globals(), "RATE", "text")
    with pytest.raises(ws.ProgramError, match="`RATE` is a str"):
        column(program)


def test_an_index_past_the_ends() -> None:
    with ws.Graph(PATH) as graph:
        frame = ws.run(Past, graph).frame
        assert str(frame["floats"].tolist()) == "[4.0, nan, nan, nan]"
        assert frame["wholes"].tolist() == [-(2**63), 7, 7, -(2**63)]
        assert frame["flags"].tolist() == [True, False, False, False]
        for run in (lambda: ws.run(Past, graph, engine="python"), lambda: ws.check(Past, graph)):
            with pytest.raises(
                ws.ProgramError, match=r"place \[5\] of a table of 3 numbers; bound"
            ):
                run()


@ws.vertex_program
class Roads:
    """A path's length by the kinds of its edges."""

    d: ws.nullable(ws.int64, math.inf)
    road: ws.edge(ws.int64)
    combine = min

    def init(vertex):
        return 0 if vertex == 0 else math.inf

    def compute(src, edge):
        return src.d + LENGTH[edge.road]

    def apply(old, gathered):
        return min(old.d, gathered)


def test_entries_of_an_index_that_is_proved_are_in_the_theorem() -> None:
    for road, length in ((1, 13), (3, None)):  # 3 reads past the end
        with ws.Graph(PATH.assign(road=[0, 2, road]), attributes=["road"]) as graph:
            result = ws.run(Roads, graph)
            assert result.synchronous is (length is None)
            if length is not None:
                assert result["d"].tolist() == [0, 5, 12, length]


def all_of_it(vertex):
    return max(LENGTH)


def a_part(vertex):
    return LENGTH[1:]


def a_row(vertex):
    return PAIRS[vertex % 2]


def no_row(vertex):
    return LENGTH[0][vertex]


def a_word(vertex):
    return WORDS[vertex]


def of_a_ragged_one(vertex):
    return RAGGED[vertex][0]


def of_a_long_one(vertex):
    return LONG[vertex]


def of_a_huge_one(vertex):
    return HUGE[vertex]


def of_a_cube(vertex):
    return CUBE[vertex]


def of_a_module(vertex):
    return constants.WORDS[vertex]


def written_to(vertex):
    LENGTH[vertex] = 1
    return 0


REFUSED = {
    all_of_it: "uses all of `LENGTH`, a table of 3 numbers; read it as `LENGTH[i]`",
    a_part: "read as `LENGTH[i]`",
    a_row: "read as `PAIRS[row][column]`",
    no_row: "read as `LENGTH[i]`",
    a_word: "`WORDS` has 1 dimensions of <U1; a table has numbers",
    of_a_ragged_one: "`RAGGED` has rows of different lengths",
    of_a_long_one: "`LONG` has 1000 entries; a table has at most 256",
    of_a_huge_one: "has the entry 9223372036854775808, which int64 does not hold",
    of_a_cube: "3 dimensions of float64",
    of_a_module: "`constants.WORDS` has 1 dimensions",
    written_to: "side effect",
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda function: function.__name__)
def test_what_is_no_table_is_refused(function: Any) -> None:
    constants.WORDS = WORDS
    with pytest.raises(ws.ProgramError) as error:
        column(rated(function))
    assert REFUSED[function] in str(error.value)


def test_a_table_in_the_program_itself() -> None:
    members = {"__annotations__": {"x": ws.float64}, "RATE": [1, 2], "init": by_vertex}
    with pytest.raises(
        ws.ProgramError, match=r"Inside.RATE: functions do not see .* above the class"
    ):
        ws.vertex_program(type("Inside", (), members))
