"""Walks: a function chooses the next edge; their meaning on every engine, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from clusters import workers
from emulator.device import emulated
from reference_walks import philox, walk

import cugraph_ws as ws
from cugraph_ws.runtime.threads import threads_at_most

RNG = np.random.default_rng(5)
VERTICES = 12
FRAME = pd.DataFrame(
    {
        "source": RNG.integers(0, VERTICES - 1, 40),  # the last vertex has no out-edges
        "destination": RNG.integers(0, VERTICES, 40),
        "weight": RNG.choice([0.0, 0.5, 1.0, 3.0], 40),
        "time": RNG.integers(-5, 50, 40),
    }
)
IDS = 3 * np.unique(FRAME[["source", "destination"]]) - 4  # not the numbers
NAMED = FRAME.assign(source=IDS[FRAME.source], destination=IDS[FRAME.destination])
ARCS = FRAME.rename(columns={"source": "src", "destination": "dst"}).to_dict("records")


@ws.walk
def uniform(walker, edges):
    return walker.random_integer(len(edges))


@ws.walk
def by_weight(walker, edges):
    """Ends at a vertex whose weights are 0."""
    return walker.random_edge(edges.weight)


@ws.walk
def second_order(walker, edges, back=0.25, away=2.0):
    most = max(1.0, back, away)
    while True:
        i = walker.random_integer(len(edges))
        if walker.step == 0:
            return i
        bias = away
        if edges[i].dst == walker.previous:
            bias = back
        elif walker.has_edge(walker.previous, edges[i].dst):
            bias = 1.0
        if walker.random() * most < bias:
            return i


@ws.walk
def in_time(walker, edges):
    first = walker.step == 0
    count = 0
    for i in range(len(edges)):
        if first or edges[i].time >= walker.edge.time:
            count += 1
    if count == 0:
        return -1
    chosen = walker.random_integer(count)
    for i in range(len(edges)):
        edge = edges[i]
        if first or edge.time >= walker.edge.time:
            if chosen == 0:
                return i
            chosen -= 1
    return -1


@ws.walk
def ending(walker, edges, stay: bool = False, ends=0.2):
    if not stay and (walker.random() < ends or (walker.number + walker.vertex) % 5 == 4):
        return -1
    return walker.random_integer(len(edges))


PROGRAMS: list[tuple[Any, dict[str, Any]]] = [
    (uniform, {}),
    (by_weight, {}),
    (second_order, {"away": 0.5}),
    (in_time, {}),
    (ending, {"stay": False, "ends": 0.1}),
]


def paths(frame: pd.DataFrame) -> list[list[int]]:
    return [rows.tolist() for _, rows in frame.groupby("walk")["vertex"]]


@pytest.mark.parametrize(("program", "given"), PROGRAMS)
def test_every_engine_walks_as_the_reference(program: Any, given: dict[str, Any]) -> None:
    starts = [*range(VERTICES), 3, 3]
    expected = walk(program.functions["next_edge"], ARCS, starts, 9, seed=2**40 + 1, **given)
    named = {"starts": IDS[starts], "length": 9, "seed": 2**40 + 1, **given}
    with emulated(), ws.Graph(NAMED, attributes=["time"]) as graph:
        found = ws.run(program, graph, **named, engine="cpu").frame
        assert paths(found) == [[int(IDS[v]) for v in path] for path in expected]
        assert len(set(map(len, expected))) > 1  # some walks end early
        for engine in ("python", "cuda"):
            again = ws.run(program, graph, **named, engine=engine).frame
            pd.testing.assert_frame_equal(again, found)
        with threads_at_most(1):
            alone = ws.run(program, graph, **named, engine="cpu").frame
        pd.testing.assert_frame_equal(alone, found)
    assert found.columns.tolist() == ["walk", "step", "vertex"]


def test_walks_in_pieces_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ws.run(second_order, FRAME, length=20).frame
    monkeypatch.setattr("cugraph_ws.execution.walk_loop.MOST_STEPS", 3)
    monkeypatch.setattr("cugraph_ws.backends.cpu.loops.walks.STEPS_AT_ONCE", 12)
    result = ws.run(second_order, FRAME, length=20)
    assert result.iterations > 10
    pd.testing.assert_frame_equal(result.frame, whole)
    # A run that is stopped returns the steps that were taken, of the same walks.
    stopped = ws.run(second_order, FRAME, length=20, progress=lambda update: update.superstep < 5)
    assert stopped.stopped == "callback"
    both = stopped.frame.merge(whole, on=["walk", "step"])
    assert len(both) == len(stopped.frame) < len(whole)
    assert (both.vertex_x == both.vertex_y).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_the_next_step_has_the_exact_distribution(weighted: bool) -> None:
    walkers = 4000
    star = pd.DataFrame({"source": 0, "destination": range(1, 7), "weight": [1.0, 2, 3, 0, 4, 10]})
    weights = star.weight if weighted else np.ones(6)
    expected = walkers * np.asarray(weights) / sum(weights)
    frame = ws.random_walks(
        star, np.zeros(walkers, np.int64), 1, weight="weight" if weighted else None, seed=3
    )
    seen = np.bincount(frame.vertex[frame.step == 1], minlength=7)[1:]
    assert (seen[expected == 0] == 0).all()
    some = expected > 0
    assert (
        (seen - expected)[some] ** 2 / expected[some]
    ).sum() < 20.5  # 99.9 % for 5 degrees of freedom


def test_node2vec_has_the_exact_distribution() -> None:
    # From 0 to 1, then: back to 0 with bias 1/p, to 2, a neighbour of 0, with 1, and to 3 with 1/q.
    edges = pd.DataFrame(
        {"source": [0, 1, 1, 1, 0], "destination": [1, 0, 2, 3, 2], "weight": [1.0, 1, 2, 1, 0]}
    )
    for weight, bias in ((None, [4.0, 1.0, 0.5]), ("weight", [4.0, 2.0, 0.5])):
        walks = ws.node2vec_walks(edges, [0] * 4000, 2, 0.25, 2.0, weight=weight)
        matrix = walks.pivot(index="walk", columns="step", values="vertex")
        last = matrix[2][matrix[1] == 1].astype(int)
        expected = len(last) * np.array(bias) / sum(bias)
        seen = np.bincount(last, minlength=4)[[0, 2, 3]]
        assert ((seen - expected) ** 2 / expected).sum() < 13.8  # 99.9 % for 2 degrees of freedom


def test_draws_do_not_repeat_between_steps_walkers_and_calls() -> None:
    counters = {
        (number & 0xFFFFFFFF, number >> 32 | 0x7FFE << 16, draw, step)
        for number in (0, 1, 2**32, 2**40) for step in range(10) for draw in range(1, 10)
    }  # fmt: skip
    assert len({philox(7, counter) for counter in counters}) == 4 * 10 * 9


def test_ids_of_text_and_of_two_columns() -> None:
    text = pd.DataFrame({"source": list("abc"), "destination": list("bcd")})
    walks = ws.random_walks(text, None, 5)
    assert paths(walks) == [list("abcd"), list("bcd"), list("cd"), ["d"]]
    assert paths(ws.random_walks(text, "b", 1)) == [["b", "c"]]
    pairs = text.assign(one=1, two=1)
    names = {"source": ["source", "one"], "destination": ["destination", "two"]}
    assert ws.random_walks(pairs, [("a", 1)], 2, **names).iloc[:, 2].tolist() == list("abc")
    with pytest.raises(ws.InputError, match=r"starts.*'x'"):
        ws.random_walks(text, ["a", "x"], 2)


def test_no_starts_and_no_steps() -> None:
    assert len(ws.random_walks(FRAME, [], 3)) == 0
    assert ws.random_walks(FRAME, [1, 1], 0).to_dict("list") == {
        "walk": [0, 1], "step": [0, 0], "vertex": [1, 1],
    }  # fmt: skip


@ws.walk
def too_far(walker, edges):
    return len(edges)


@ws.walk
def reads_too_far(walker, edges):
    return 0 if edges[len(edges)].dst > 0 else -1


@pytest.mark.parametrize("program", [too_far, reads_too_far])
def test_an_edge_that_is_not_there_is_an_error(program: Any) -> None:
    with pytest.raises(ws.ProgramError, match="an edge that its vertex does not have"):
        ws.run(program, FRAME, length=3)
    with pytest.raises(ws.ProgramError, match=r"none of the \d+ edges of a vertex"):
        ws.run(program, FRAME, length=3, engine="python")


@ws.walk
def half(walker, edges):
    return 0.5


@ws.walk  # noqa: RET503 - which is what it is about
def nothing(walker, edges):
    if walker.step < 3:
        return 0


@pytest.mark.parametrize(
    ("program", "error"),
    [(half, "returns a float64; return the index"), (nothing, "return -1 where the walk ends")],
)
def test_what_is_no_index_is_refused(program: Any, error: str) -> None:
    with pytest.raises(ws.ProgramError, match=error):
        ws.run(program, FRAME, length=3)


def unknown_field(walker, edges):
    return walker.degree


def unknown_method(walker, edges):
    return walker.choice(edges)


def whole_edges(walker, edges):
    return min(edges)


def whole_walker(walker, edges):
    return abs(walker)


def one_argument(walker, edges):
    return walker.random_integer()


def no_column(walker, edges):
    return walker.random_edge(3)


def all_of_them(walker, edges):
    return edges.weight


def another_order(edges, walker):
    return 0


def taken(walker, edges, length=3):
    return 0


def text(walker, edges, kind="a"):
    return 0


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (unknown_field, "`walker.degree` is unknown; a walker has vertex"),
        (unknown_method, "`walker.choice.*` is unknown"),
        (whole_edges, "uses `edges` as a whole"),
        (whole_walker, "uses `walker` as a whole"),
        (one_argument, r"write `walker.random_integer\(n\)`"),
        (no_column, "give an attribute of all edges"),
        (all_of_them, "read it of one edge, as in `edges.i..weight`"),
        (another_order, "write it as another_order.walker, edges"),
        (taken, "`length` is an argument of every run"),
        (text, "has the default 'a'"),
        (3, "3 is not a function"),
    ],
)
def test_a_walk_that_says_something_else_is_refused(function: Any, error: str) -> None:
    with pytest.raises(ws.ProgramError, match=error):
        ws.walk(function)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({}, "needs length="),
        ({"length": -1}, "length=-1"),
        ({"length": 2, "seed": -3}, "seed=-3"),
        ({"length": 2, "speed": 1}, "no parameter 'speed'"),
        ({"length": 2, "max_iter": 3}, "leave out max_iter"),
        ({"length": 2, "checkpoint": "x.parquet"}, "has no checkpoints"),
    ],
)
def test_arguments_of_a_run(given: dict[str, Any], error: str) -> None:
    with pytest.raises(ws.InputError, match=error):
        ws.run(uniform, FRAME, **given)


def test_weights_must_be_finite_and_not_negative() -> None:
    for value, error in ((-1.0, "needs 0 or more"), (np.inf, "give finite numbers")):
        graph = ws.Graph(FRAME.assign(weight=value), weight=None, attributes=["weight"])
        with pytest.raises(ws.InputError, match=error):
            ws.run(by_weight, graph, length=2)
    with pytest.raises(
        ws.InputError,
        match="reads the edge attribute 'time', and the frame of edges has no such column",
    ):
        ws.run(in_time, FRAME.drop(columns=["time", "weight"]), length=2)


def test_help_says_what_a_run_takes() -> None:
    assert "away : float64, by default 2.0" in str(second_order.__doc__)
    assert repr(uniform) == "<walk uniform>"
    with pytest.raises(TypeError, match="is a program, not a function"):
        uniform(None, None)
    assert ws.random_walks(FRAME, None, 0).walk.tolist() == list(range(VERTICES))


def test_check_compares_every_engine_with_the_plain_function(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = {"starts": [0, 1, 2], "length": 5, "seed": 2}
    with emulated():
        report = ws.check(second_order, FRAME, **given)
    assert report
    assert report.configurations == ["engine='cpu', one thread", "engine='cpu'", "engine='cuda'"]
    assert ws.check(second_order, FRAME, max_edges=5, **given).sampled
    # A function that is not one of its arguments differs from itself.
    monkeypatch.setitem(second_order.functions, "next_edge", lambda walker, edges, *_: 0)
    report = ws.check(second_order, FRAME, **given)
    assert not report
    assert report.differences[0].field == "vertex"


def test_one_worker_walks_and_several_do_not() -> None:
    import dask.dataframe as dd

    given = {"starts": IDS[[0, 4]], "length": 6, "seed": 1}
    expected = ws.random_walks(NAMED, **given)
    frame = dd.from_pandas(NAMED, npartitions=2, sort=False)
    with workers(2):
        held = ws.Graph(frame, spread="one")
        found = ws.random_walks(held, **given).compute().reset_index(drop=True)
        pd.testing.assert_frame_equal(found, expected)
        own = ws.run(second_order, held, **given).frame.compute()
        assert paths(own) == paths(ws.run(second_order, NAMED, **given).frame)
        with pytest.raises(ws.InputError, match=r"spread over 2 workers.*spread='one'"):
            ws.random_walks(ws.Graph(frame, spread="parts"), **given)
