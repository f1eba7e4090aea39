"""`combine = (sum, max, …)`: a fold for each part of messages that are tuples."""

from __future__ import annotations

import pandas as pd
import pytest
from emulator.device import emulated
from shapes import random_edges
from zoo import Entry, check_by_reference, found_by, graph_of
from zoo_folds import BY_PART, NeighbourStatistics, PartsOfSome
from zoo_meetings import write

import cugraph_ws as ws
from cugraph_ws.program.binding import bind

EDGES = random_edges(9, 21, seed=11)


@pytest.mark.parametrize("entry", BY_PART, ids=str)
def test_programs_mean_what_the_reference_says(entry: Entry) -> None:
    check_by_reference(entry, EDGES)


def test_statistics_of_neighbours_in_plain_python() -> None:
    pairs = list(zip(EDGES.source.tolist(), EDGES.destination.tolist(), strict=True))
    x = [v * 7 % 11 for v in range(EDGES.n)]
    expected = []
    for v in range(EDGES.n):
        near = [x[source] for source, destination in pairs if destination == v]
        row = (sum(near) // len(near), len(near), max(near) - min(near)) if near else (x[v], 0, -1)
        expected.append(row)
    result = ws.run(NeighbourStatistics, graph_of(EDGES), engine="python", max_iter=1)
    columns = (result.arrays[name].tolist() for name in ("x", "count", "spread"))
    assert list(zip(*columns, strict=True)) == expected


@pytest.mark.parametrize("program", [NeighbourStatistics, PartsOfSome], ids=str)
def test_compiled_and_on_an_emulated_gpu(program: ws.VertexProgram) -> None:
    graph = graph_of(EDGES)
    expected = found_by(program, ws.run(program, graph, engine="python"))
    assert found_by(program, ws.run(program, graph, engine="cpu")) == expected
    with emulated(seed=4):
        assert found_by(program, ws.run(program, graph, engine="cuda")) == expected


def test_parts_have_their_own_types_and_messages_are_taken_in_order() -> None:
    program = next(one.program for one in BY_PART if one.program.name == "CountsAndBits")
    bound = bind(program, graph_of(EDGES), {})
    assert bound.types.message == ("int64",) * 6
    assert not bound.order_free


def test_check_finds_no_difference() -> None:
    assert ws.check(NeighbourStatistics, graph_of(EDGES))


REFUSED = {
    r"combine has 1 fold; give one for each part": "(sum,)",
    r"combine\[1\] is ws.mode\(\), which folds no part": "(sum, ws.mode())",
    r"combine\[0\] is ws.first_by\(0\), which folds no part": "(ws.first_by(0), sum)",
    r"combine\[1\] is .*, which folds no part .*; it is sum, min, max": "(max, ws.any_message)",
    r"combine makes 40 numbers, more than 32": "(ws.top(20), ws.histogram(20))",
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_is_no_fold_of_a_part_is_refused(reason: str) -> None:
    with pytest.raises(ws.ProgramError, match=reason):
        write("Refused", "None.", "x: ws.int64", REFUSED[reason], compute="src.x, 1", apply="old.x")


UNFIT = {
    "returns a number, but (sum, max) folds 2; return a number for each": ("(sum, max)", "src.x"),
    "returns a tuple of 3 numbers, but (sum, max)": ("(sum, max)", "src.x, 1, 2"),
    "part 1 of the message: returns a int64, but any tells": ("(sum, any)", "src.x, 1"),
    "part 0 of the message: returns a flag, but ws.top(2) ranks": ("(ws.top(2), sum)", "src.x > 1, 1"),
    "part 1 of the message: returns a float64, but ws.bitset(9)": ("(min, ws.bitset(9))", "1, 0.5"),
}  # fmt: skip


@pytest.mark.parametrize("reason", UNFIT)
def test_messages_that_do_not_fit_are_refused_with_their_part(reason: str) -> None:
    combine, compute = UNFIT[reason]
    program = write("Unfit", "None.", "x: ws.int64", combine, compute=compute, apply="old.x")
    with pytest.raises(ws.ProgramError) as raised:
        ws.run(program, graph_of(EDGES), engine="python")
    assert reason in str(raised.value)


def test_a_sum_of_integers_that_may_be_infinite_is_refused() -> None:
    program = write(
        "Endless", "None.", "x = ws.nullable(ws.int64, math.inf)", "(sum, min)",
        compute="src.x, src.x", apply="gathered[1]",
    )  # fmt: skip
    with pytest.raises(ws.ProgramError, match="summed is an integer that may be infinite; make it"):
        ws.run(program, graph_of(EDGES), engine="python")


@pytest.mark.parametrize("engine", ["python", "cuda"])
def test_a_part_out_of_range_ends_the_run(engine: str) -> None:
    program = write(
        "Beyond", "None.", "x: ws.int64", "(max, ws.histogram(4), ws.bitset(9))",
        compute="src.x, src.x % 4, 9 if src.x == 1 else 8", apply="old.x", more="max_iter = 1",
    )  # fmt: skip
    words = r"returns 9, but ws.histogram\(4\) takes 0 to 3 and ws.bitset\(9\) takes 0 to 8"
    edges = pd.DataFrame({"source": [0, 3], "destination": [1, 2]})
    with pytest.raises(ws.ProgramError, match=words), emulated(seed=1):
        ws.run(program, edges, engine=engine)
