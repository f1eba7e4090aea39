"""Programs that list messages: `ws.mode`, `gather_list`, their order, and what they refuse."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import zoo
from clusters import workers
from cuda_cases import set_classes
from emulator.device import emulated
from plans import planned
from shapes import random_edges, undirected
from thread_ranks import over_links, share
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.program.lists import Messages, compiled_text

EDGES = pd.DataFrame({"source": [4, 1, 2, 1, 0], "destination": [3, 3, 3, 3, 1]})
WEIGHTS = [0.5, 0.25, 4.0, 8.0, 1.0]


def program_of(**parts: Any) -> Any:
    """Return a program that sends vertices' numbers, with other parts."""

    class Listed:
        x: ws.float64
        max_iter = 1

        def init(vertex):
            return float(vertex)

        def compute(src):
            return src.x

        def apply(gathered):
            return gathered

    for name, value in parts.items():
        setattr(Listed, name, value)
    return ws.vertex_program(Listed)


def in_digits(messages):
    found = 0.0
    for one in messages:
        found = found * 10 + one
    return found


def after(program: Any, frame: Any = EDGES, engine: str = "python", **options: Any) -> list[Any]:
    values: list[Any] = (
        ws.run(program, frame, **planned(engine=engine, **options)).frame["x"].tolist()
    )
    return values


# ------------------------------------------------------------------------------------------ order


@pytest.mark.parametrize("options", [{}, {"partitions": 3}])
def test_messages_are_in_the_order_of_sources_and_of_the_input(options: dict[str, Any]) -> None:
    """Those of parallel edges are as the frame has them."""

    def compute(edge):
        return edge.weight

    program = program_of(weight=ws.edge(ws.float64), compute=compute, gather_list=in_digits)
    expected = [0.0, 1.0, 2.0, ((0.25 * 10 + 8) * 10 + 4) * 10 + 0.5, 4.0]
    weighted = EDGES.assign(weight=WEIGHTS)
    assert after(program, weighted, **options) == expected
    with emulated():
        assert after(program, weighted, "cuda", **options) == expected
    by_value = program_of(
        weight=ws.edge(ws.float64), compute=compute, gather_list=in_digits, message_order="value"
    )
    assert after(by_value, weighted, **options)[3] == ((0.25 * 10 + 0.5) * 10 + 4) * 10 + 8


def test_a_vertex_without_messages_keeps_its_state_unless_all_contribute() -> None:
    def gather_list(messages):
        return 100.0 + len(messages)

    assert after(program_of(gather_list=gather_list)) == [0.0, 101.0, 2.0, 104.0, 4.0]
    hears = program_of(gather_list=gather_list, contributors="all")
    assert after(hears) == [100.0, 101.0, 100.0, 104.0, 100.0]
    hears = program_of(combine=ws.mode(), contributors="all")
    assert after(hears) == [math.inf, 0.0, math.inf, 1.0, math.inf]


# ------------------------------------------------------------------------------------------ modes


def test_ties_go_to_the_least() -> None:
    assert after(program_of(combine=ws.mode()))[3] == 1.0
    frame = pd.DataFrame({"source": [4, 2, 1], "destination": [3, 3, 3]})
    assert after(program_of(combine=ws.mode()), frame)[2] == 0.0  # the vertices' numbers are 0 to 3


NAN, FAR = 1e99, 1e98  # stand for NaN and infinity


def heavy(weights: list[float], labels: list[int]) -> tuple[Any, pd.DataFrame]:
    """Return a program and a star: its vertex 0 hears labels with weights."""

    def compute(src, edge):  # frames have finite weights
        weight = edge.weight
        if weight == NAN:
            weight = math.nan
        elif abs(weight) == FAR:
            weight = weight * math.inf
        return src.x, weight

    def init(vertex, own):
        return own.label

    program = program_of(
        weight=ws.edge(ws.float64), label=ws.vertex_value(ws.float64), init=init,
        compute=compute, combine=ws.mode(weighted=True),
    )  # fmt: skip
    frame = pd.DataFrame({"source": range(1, len(labels) + 1), "destination": 0, "weight": weights})
    return program, frame


def star(weights: list[float], labels: list[int], engine: str) -> float:
    program, frame = heavy(weights, labels)
    given = dict(enumerate([0, *labels]))
    return float(ws.run(program, frame, engine=engine, label=given).frame["x"][0])


WEIGHED = [
    ([1.0, 2.0, 1.5], [5, 4, 5], 5.0),
    ([1.0, 2.0, 1.0], [5, 4, 5], 4.0),
    ([-1.0, -2.0], [3, 2], 3.0),
    ([-1.0, -0.0, 0.0], [1, 3, 2], 2.0),
    ([NAN, -3.0], [1, 2], 2.0),
    ([NAN, NAN], [2, 1], 1.0),
    ([FAR, -FAR, -5.0], [2, 2, 6], 6.0),
    ([-FAR, NAN], [7, 3], 7.0),
]


@pytest.mark.parametrize(("weights", "labels", "expected"), WEIGHED)
def test_the_greatest_total_weight(
    weights: list[float], labels: list[int], expected: float
) -> None:
    assert star(weights, labels, "python") == expected
    with emulated():
        assert star(weights, labels, "cuda") == expected


def test_weights_are_added_up_in_one_order_on_every_engine() -> None:
    """Totals differ in their last bits only, and tell the label."""
    rng = np.random.default_rng(3)
    size = 300
    weights = (rng.random(size) * 10.0 ** rng.integers(-9, 9, size)).tolist()
    order = rng.permutation(size)
    both = [*weights, *(weights[place] for place in order)]
    labels = [1] * size + [2] * size
    found = star(both, labels, "python")
    assert found == star(both, labels, "cpu")
    with emulated():
        assert found == star(both, labels, "cuda")
    totals = [_in_chunks(both[:size]), _in_chunks(both[size:])]
    assert totals[0] != totals[1]
    assert found == 1.0 + (totals[1] > totals[0])


def _in_chunks(weights: list[float], width: int = 128) -> float:
    total = 0.0
    for low in range(0, len(weights), width):
        part = 0.0
        for weight in weights[low : low + width]:
            part += weight
        total += part
    return total


# ------------------------------------------------------------------------------------- on engines

PROGRAMS = [zoo.Communities, zoo.WeighedFlags, zoo.Median, zoo.SortedPairs]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.name)
def test_on_an_emulated_gpu(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    set_classes(monkeypatch, block=32, hub=24, chunk=16, middle=6)
    for edges in (random_edges(9, 40, seed=8), undirected(random_edges(7, 12, seed=2))):
        given = zoo.graph_of(edges)
        plain = zoo.found_by(program, ws.run(program, given, engine="python", max_iter=3))
        for options in ({}, {"partitions": 2}):
            with emulated(seed=4):
                result = ws.run(program, given, **planned(engine="cuda", max_iter=3, **options))
            assert zoo.found_by(program, result) == plain


def test_nobody_has_messages() -> None:
    edges = Edges(np.zeros(0, np.int64), np.zeros(0, np.int64), 3)
    for program in (zoo.Communities, zoo.InOrder):
        plain = ws.run(program, zoo.graph_of(edges), engine="python", max_iter=2)
        with emulated():
            result = ws.run(program, zoo.graph_of(edges), engine="cuda", max_iter=2)
        assert zoo.found_by(program, result) == zoo.found_by(program, plain)


def test_on_workers() -> None:
    import dask.dataframe as dd

    edges = random_edges(9, 40, seed=8)
    columns = zoo.attributes_of(edges)
    rows = pd.DataFrame({"source": edges.source, "destination": edges.destination, **columns})
    with workers(2):
        graph = ws.Graph(
            dd.from_pandas(rows, npartitions=3, sort=False),
            weight="weight", attributes=[one for one in columns if one != "weight"],
        )  # fmt: skip
        for program in (zoo.Communities, zoo.InOrder, zoo.ColoursAround, zoo.NearestByWeight):
            spread = ws.run(program, graph, engine="python", max_iter=3).frame.compute()
            alone = ws.run(program, rows, engine="python", max_iter=3).frame
            spread = spread.sort_values("vertex").reset_index(drop=True)
            assert spread.equals(alone[spread.columns])


@ws.vertex_program
class Weighing:
    """The digits of messages, in order."""

    x: ws.int64
    whole: ws.edge(ws.int64)
    max_iter = 2

    def init(vertex):
        return vertex + 1

    def compute(src, edge):
        return src.x + 3 * edge.whole

    def gather_list(messages):
        found = 1
        for one in messages:
            found = (found * 7 + one) % 1009
        return found

    def apply(gathered):
        return gathered


@pytest.mark.parametrize("options", [{"engine": "python", "partitions": 3}, {"engine": "cuda"}])
def test_in_phases_along_edges_and_against_them(options: dict[str, Any]) -> None:
    """Parallel edges are in input order on the reversed graph too."""
    phases = ws.phases(ws.phase(Weighing, "out", 1), ws.phase(Weighing, "in", 1), rounds=2)
    for edges in (random_edges(6, 40, seed=8), undirected(random_edges(7, 15, seed=3))):
        graph = zoo.graph_of(edges)
        whole = zoo.attributes_of(edges)["whole"].tolist()
        x = list(range(1, edges.n + 1))
        for direction in ("out", "in", "out", "in"):
            rows: list[list[tuple[int, int]]] = [[] for _ in range(edges.n)]
            for place, (u, v) in enumerate(zip(edges.source, edges.destination, strict=True)):
                ends = [(u, v)] if edges.directed or u == v else [(u, v), (v, u)]
                for here, there in ends:
                    source, target = (here, there) if direction == "in" else (there, here)
                    rows[target].append((int(source), place))
            x = [
                _digits([x[u] + 3 * whole[place] for u, place in sorted(row)]) if row else x[v]
                for v, row in enumerate(rows)
            ]
        with emulated(seed=3):
            assert ws.run(phases, graph, **planned(**options)).frame["x"].tolist() == x


def _digits(messages: list[int]) -> int:
    found = 1
    for one in messages:
        found = (found * 7 + one) % 1009
    return found


@pytest.mark.parametrize("program", [zoo.WeighedCommunities, zoo.InOrder], ids=lambda one: one.name)
def test_check_finds_no_difference(program: Any) -> None:
    report = ws.check(program, zoo.graph_of(random_edges(7, 20, seed=3)))
    assert report, str(report)
    assert any("partitions" in one for one in report.configurations)
    assert any("push" in one for one in report.declined)


# ---------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"combine": min, "gather_list": in_digits}, "both `combine` and `gather_list`"),
        ({"combine": ws.mode(), "message_order": "value"}, "is for the messages of `gather_list`"),
        ({"gather_list": in_digits, "message_order": "size"}, "message_order is 'size'"),
        ({"gather_list": in_digits, "identity": 0.0}, "gather_list needs none"),
        ({"combine": ws.mode(), "identity": 0.0}, "ws.mode() has its own"),
        ({"combine": ws.mode(), "contributors": "active"}, "ws.mode() gathers all messages"),
        ({"combine": ws.mode(), "in_place": True}, "in_place = True, but ws.mode()"),
        ({"combine": ws.mode(), "asynchronous": True}, "asynchronous needs combine = min"),
        ({"combine": ws.mode(), "before": ws.predecessor}, "a predecessor needs combine"),
    ],
)
def test_declarations_that_contradict_lists(parts: dict[str, Any], words: str) -> None:
    with pytest.raises(ws.ProgramError) as raised:
        program_of(**parts)
    assert words in str(raised.value)


def sliced(messages):
    return messages[1:][0]


def passed_on(messages):
    return in_digits(messages)


def renamed(messages):
    found = messages
    return found[0]


def greatest(messages):
    return max(messages)


def overwritten(messages):
    for messages in messages:  # noqa: B020
        found = messages
    return found


def without(old):
    return old.x


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (sliced, "`messages[1:]` is not possible"),
        (passed_on, "`messages` is not possible"),
        (renamed, "`messages` is not possible"),
        (overwritten, "`messages` is not possible"),
        (greatest, "of messages, only `len(messages)`"),
        (without, "does not take `messages`"),
    ],
)
def test_what_cannot_be_done_with_messages(function: Callable[..., Any], words: str) -> None:
    with pytest.raises(ws.ProgramError) as raised:
        program_of(gather_list=function)
    assert words in str(raised.value)
    assert "Listed.gather_list (" in str(raised.value)


def pair(src):
    return src.x, src.x


@pytest.mark.parametrize("engine", ["python", "cpu"])
@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"combine": ws.mode(), "compute": pair}, "returns a tuple, but ws.mode()"),
        ({"combine": ws.mode(weighted=True)}, "return a tuple (value, weight)"),
    ],
)
def test_messages_of_the_wrong_shape(engine: str, parts: dict[str, Any], words: str) -> None:
    with pytest.raises(ws.ProgramError) as raised:
        after(program_of(**parts), engine=engine)
    assert words in str(raised.value)


def test_mode_takes_a_bool() -> None:
    with pytest.raises(ws.ProgramError, match="weighted=1"):
        ws.mode(weighted=1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"direction": "push"}, "gathers from all in-neighbours"),
        ({"direction": "pull"}, "gathers from all in-neighbours"),
        ({"in_place": True}, "in_place=True: ws.mode() of Listed"),
        ({"engine": "cuda", "layout": "gshards"}, "layout='gshards': ws.mode() of Listed"),
        ({"engine": "cuda", "method": "vwc-8"}, "ws.mode() of Listed lists messages"),
    ],
)
def test_options_that_do_not_go_with_lists(options: dict[str, Any], words: str) -> None:
    with emulated(), pytest.raises(ws.InputError) as raised:
        ws.run(program_of(combine=ws.mode()), EDGES, **planned(**{"engine": "python", **options}))
    assert words in str(raised.value)


def second(messages):
    return messages[2] if len(messages) < 2 else messages[-1]


def none(messages):
    return messages[0]


def before(messages):
    return messages[-4 - len(messages)]


@pytest.mark.parametrize(
    ("function", "more", "words"),
    [
        (second, {}, "messages[2] of 1;"),
        (none, {"contributors": "all"}, "messages[0] of 0;"),
        (before, {}, "messages[-"),
    ],
)
def test_an_index_out_of_range(function: Any, more: dict[str, Any], words: str) -> None:
    """It is an error on every engine, and on all ranks."""
    program = program_of(gather_list=function, **more)
    ways: list[dict[str, Any]] = [
        {"engine": engine, "partitions": partitions}
        for engine in ("python", "cpu", "cuda")
        for partitions in (1, 2)
    ]
    told: list[str] = []

    def work(comm: Any) -> None:
        with pytest.raises(ws.ProgramError) as raised:
            ws.run(program, share(graph, comm), engine="cuda")
        told.append(str(raised.value))

    with emulated(seed=3):
        for options in ways:
            with pytest.raises(ws.ProgramError) as raised:
                after(program, **options)
            told.append(str(raised.value))
        graph = ws.Graph(EDGES)
        over_links(2, work)
    assert len(told) == 8
    for one in told:
        assert one.startswith(f"gather_list reads {words}")
        assert one.endswith("compare with len(messages) first")


def test_an_index_is_only_read_where_it_is_in_range() -> None:
    def guarded(messages):
        return messages[2] if len(messages) > 2 else 7.0

    program = program_of(gather_list=guarded, contributors="all")
    expected = after(program)
    assert 7.0 in expected
    with emulated():
        assert after(program, engine="cuda") == after(program, engine="cpu") == expected


def test_messages_are_a_sequence() -> None:
    messages = Messages([3, 4, 5])
    assert (len(messages), messages[-1], list(messages)) == (3, 5, [3, 4, 5])
    with pytest.raises(ws.ProgramError, match=r"messages\[-4\] of 3"):
        messages[-4]


def test_loops_within_loops_are_written_with_places_of_their_own() -> None:
    text = """
def user_gather_list(messages):
    total = 0
    for place_0 in messages:
        for other in messages:
            total += place_0 * other * messages[len(messages) - 1]
        else:
            total += 1
    return total
"""
    space: dict[str, Any] = {"message_at": lambda held, place: held[0][held[1] + place]}
    exec(compiled_text(text), space)
    assert space["user_gather_list"](([9, 2, 3, 9], 1, 2)) == 25 * 3 + 2


def test_a_gpu_without_memory_for_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    with emulated() as device:
        graph = zoo.graph_of(random_edges(9, 40, seed=8))
        ws.run(zoo.TopTwoWhole, graph, engine="cuda")  # lays the graph out
        monkeypatch.setattr(type(device), "free_memory", lambda self: 100)
        with pytest.raises(
            ws.GraphMemoryError, match=r"ws\.mode\(\) needs .* messages of all arcs"
        ):
            ws.run(zoo.Communities, graph, engine="cuda")
