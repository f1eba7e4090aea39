"""Draws of random numbers: a function of seed, superstep, call and vertex, on every engine and number of parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import reference
from clusters import workers
from draws import MASK, bits, seed_of_parallel, unit, words
from emulator.device import emulated
from plans import planned
from shapes import random_edges

import cugraph_ws as ws
from cugraph_ws.program.by_group import why_not_together
from cugraph_ws.program.randomness import DRAWING, philox

EDGES = random_edges(12, 30, seed=3)
IDS = 10 * np.arange(EDGES.n) + 7  # not the numbers
FRAME = pd.DataFrame({"source": IDS[EDGES.source], "destination": IDS[EDGES.destination]})
WAYS: list[dict[str, Any]] = [
    {}, {"engine": "python"}, {"fused": False}, {"direction": "gather"}, {"partitions": 3},
    {"partitions": 2, "exchange": "all"},
]  # fmt: skip
ON_GPU: list[dict[str, Any]] = [{}, {"partitions": 2}]


def neighbours() -> list[list[int]]:
    """Return the in-neighbours of each vertex of the graph, both ways."""
    rows: list[list[int]] = [[] for _ in range(EDGES.n)]
    for u, v in zip(EDGES.source.tolist(), EDGES.destination.tolist(), strict=True):
        rows[v].append(u)
        rows[u].append(v)
    return [sorted(set(row)) for row in rows]


@ws.vertex_program
class Epidemic:
    """0 may be infected, 1 is infected, 2 is immune."""

    kind: ws.int64
    rate = ws.parameter(ws.float64, default=0.3)
    combine = sum
    max_iter = 6

    def init(p):
        return 1 if p.random() < 0.25 else 0

    def compute(src):
        return 1 if src.kind == 1 else 0

    def apply(old, gathered, p):
        if old.kind == 0:
            return 1 if p.random() < 1.0 - (1.0 - p.rate) ** gathered else 0
        return 2 if old.kind == 2 or p.random() < 0.5 else 1


def epidemic(seed: int) -> dict[str, list[Any]]:
    kinds = [int(unit(seed, 0, "init", 0, v) < 0.25) for v in range(EDGES.n)]
    for step in range(6):
        sick = [sum(kinds[u] == 1 for u in row) for row in neighbours()]
        draws = [[unit(seed, step, "apply", call, v) for call in (0, 1)] for v in range(EDGES.n)]
        kinds = [
            int(first < 1.0 - 0.7**count) if kind == 0 else (2 if kind == 2 or second < 0.5 else 1)
            for kind, count, (first, second) in zip(kinds, sick, draws, strict=True)
        ]
    return {"kind": kinds}


@ws.vertex_program
class Luby:
    """A maximal independent set: who draws more than all undecided neighbours joins it."""

    status: ws.int64
    mark = ws.hidden(ws.float64)
    combine = max
    contributors = "all"
    max_iter = 20

    def init(p):
        return 0, p.random()

    def compute(src):
        return src.mark

    def apply(old, gathered, p):
        if old.status != 0:
            return old.status, old.mark
        if gathered == 2.0:
            return -1, -1.0
        return (1, 2.0) if old.mark > gathered else (0, p.random())


def luby(seed: int) -> dict[str, list[Any]]:
    status, marks = [0] * EDGES.n, [unit(seed, 0, "init", 0, v) for v in range(EDGES.n)]
    for step in range(20):
        best = [max((marks[u] for u in row), default=-np.inf) for row in neighbours()]
        for v in range(EDGES.n):
            if status[v] != 0:
                continue
            if best[v] == 2.0:
                status[v], marks[v] = -1, -1.0
            elif marks[v] > best[v]:
                status[v], marks[v] = 1, 2.0
            else:
                marks[v] = unit(seed, step, "apply", 0, v)
    return {"status": status}


@ws.vertex_program
class Dice:
    """Throws dice as long as it is drawn, and by a number of sides that is itself thrown."""

    total: ws.int64
    times: ws.int64
    combine = sum
    max_iter = 3

    def init(vertex):
        return vertex + 1, 0

    def compute(src):
        return src.total % 3

    def apply(old, gathered, p):
        total = gathered
        while p.random() < 0.7:
            total += p.random_integer(6)
        return total, p.random_integer(p.random_integer(2) * 10**18 + old.times)


def dice(seed: int) -> dict[str, list[Any]]:
    totals, times = list(range(1, EDGES.n + 1)), [0] * EDGES.n
    for step in range(3):
        sent = [sum(totals[u] % 3 for u in row) for row in neighbours()]
        totals = []
        for v in range(EDGES.n):
            total, passes = sent[v], 0
            while unit(seed, step, "apply", 0, v, passes) < 0.7:
                passes += 1
                total += bits(seed, step, "apply", 1, v, passes) % 6
            totals.append(total)
        ends = [bits(seed, step, "apply", 3, v) % 2 * 10**18 + times[v] for v in range(EDGES.n)]
        times = [bits(seed, step, "apply", 2, v) % max(ends[v], 1) for v in range(EDGES.n)]
    return {"total": totals, "times": times}


@ws.vertex_program
class Rumour:
    """Who starts is drawn, and so is who passes the least number on."""

    least: ws.int64
    combine = min
    max_iter = 5

    def init(vertex):
        return 3 * vertex % 13

    def starts(p):
        return p.random() < 0.5

    def compute(src):
        return src.least

    def apply(old, gathered):
        return min(old.least, gathered)

    def active(new, p):
        return p.random() < 0.6


def rumour(seed: int) -> dict[str, list[Any]]:
    states = [3 * v % 13 for v in range(EDGES.n)]
    active = [unit(seed, 0, "starts", 0, v) < 0.5 for v in range(EDGES.n)]
    for step in range(5):
        senders = [[u for u in row if active[u]] for row in neighbours()]
        states = [min([states[v], *(states[u] for u in row)]) for v, row in enumerate(senders)]
        active = [
            bool(row) and unit(seed, step, "active", 0, v) < 0.6 for v, row in enumerate(senders)
        ]
    return {"least": states}


@ws.vertex_program
class Chosen:
    """The message of one neighbour, which is drawn."""

    label: ws.vertex_id
    max_iter = 4

    def init(vertex):
        return vertex

    def compute(src):
        return src.label

    def gather_list(messages, p):
        return messages[p.random_integer(len(messages))]

    def apply(gathered):
        return gathered


def chosen(seed: int) -> dict[str, list[Any]]:
    labels = list(range(EDGES.n))
    for step in range(4):
        rows = neighbours()
        labels = [
            labels[row[bits(seed, step, "gather_list", 0, v) % len(row)]] if row else labels[v]
            for v, row in enumerate(rows)
        ]
    return {"label": [int(IDS[label]) for label in labels]}


@ws.vertex_program
class Contacts:
    """Each edge passes an infection on by chance, in either direction by one of its own."""

    kind: ws.int64
    combine = max
    max_iter = 5

    def init(vertex):
        return 1 if vertex % 6 == 0 else 0

    def starts(state):
        return state.kind == 1

    def compute(src, p):
        return src.kind == 1 and p.random() < 0.15

    def apply(old, gathered, p):
        return max(old.kind, int(gathered))

    def active(new):
        return new.kind == 1


def contacts(seed: int) -> dict[str, list[Any]]:
    kinds = [int(v % 6 == 0) for v in range(EDGES.n)]
    active = list(kinds)
    for step in range(5):
        passed = [
            [edge_unit(seed, step, u, v) < 0.15 for u in set(row) if active[u]]
            for v, row in enumerate(neighbours())
        ]
        kinds = [max(kind, int(any(some))) for kind, some in zip(kinds, passed, strict=True)]
        active = [bool(some) and kind for some, kind in zip(passed, kinds, strict=True)]
    return {"kind": kinds}


@ws.vertex_program
class Flow:
    """A sum of drawn numbers, two for each edge."""

    x: ws.int64
    combine = sum
    max_iter = 3

    def init(vertex):
        return vertex + 1

    def compute(src, p):
        return p.random_integer(10) + src.x * p.random_integer(3)

    def apply(gathered):
        return gathered % 1009


def flow(seed: int) -> dict[str, list[Any]]:
    states = list(range(1, EDGES.n + 1))
    for step in range(3):
        states = [
            sum(
                edge_bits(seed, step, 0, u, v) % 10
                + states[u] * (edge_bits(seed, step, 1, u, v) % 3)
                for u in set(row)
            )
            % 1009
            for v, row in enumerate(neighbours())
        ]
    return {"x": states}


def edge_bits(seed: int, step: int, call: int, u: int, v: int) -> int:
    return bits(seed, step, "compute", call, u << 8 | v >> 32, v & MASK)


def edge_unit(seed: int, step: int, u: int, v: int) -> float:
    return (edge_bits(seed, step, 0, u, v) >> 11) / 2**53


PROGRAMS = {
    "contacts": (Contacts, contacts),
    "flow": (Flow, flow),
    "epidemic": (Epidemic, epidemic),
    "luby": (Luby, luby),
    "dice": (Dice, dice),
    "rumour": (Rumour, rumour),
    "chosen": (Chosen, chosen),
}


@pytest.fixture(scope="module")
def graph() -> ws.Graph:
    return ws.Graph(FRAME, directed=False, duplicates="first")


def shown(result: ws.Result, expected: dict[str, list[Any]]) -> dict[str, list[Any]]:
    frame = result.frame
    assert frame["vertex"].tolist() == sorted(set(FRAME["source"]) | set(FRAME["destination"]))
    return {name: frame[name].tolist() for name in expected}


@pytest.mark.long
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_way_draws_the_numbers_of_the_definition(name: str, graph: ws.Graph) -> None:
    assert graph.number_of_vertices == EDGES.n
    program, answer = PROGRAMS[name]
    for seed in (0, 2**62 + 5):
        expected = answer(seed)
        for way in WAYS:
            result = ws.run(program, graph, **planned(seed=seed, **way))
            assert shown(result, expected) == expected, way
    assert answer(0) != answer(2**62 + 5)


@pytest.mark.parametrize(
    "name", ["dice", "flow", "contacts", "epidemic", "luby", "rumour", "chosen"]
)
def test_emulated_gpu(name: str, graph: ws.Graph) -> None:
    program, answer = PROGRAMS[name]
    expected = answer(2**62 + 5)
    with emulated():
        for way in ON_GPU:
            result = ws.run(program, graph, **planned(seed=2**62 + 5, engine="cuda", **way))
            assert shown(result, expected) == expected, way


def test_known_answers_of_the_generator() -> None:
    """Of the test vectors that come with Random123."""
    vectors = [
        ((0, 0, 0, 0), 0, "6627e8d5 e169c58d"),
        ((MASK,) * 4, 2**64 - 1, "408f276d 41c83b0e"),
        ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), 0x299F31D0A4093822, "d16cfe09 94fdcceb"),
    ]
    for counter, key, words_expected in vectors:
        a, b, c, d = counter
        drawn = philox(np.uint64(key), np.uint64(a | b << 32), np.uint64(c | d << 32))
        assert f"{int(drawn):016x}" == words_expected.replace(" ", "")
        assert [f"{word:08x}" for word in words(key, counter)[:2]] == words_expected.split()


def test_streams_do_not_repeat() -> None:
    """Of 64 random bits, no two among some thousands are equal."""
    drawn = [
        bits(seed, step, function, call, vertex, count)
        for seed in (0, 1, 2**32)
        for step in (0, 1, 2)
        for function in DRAWING
        for call in (0, 1)
        for vertex in (0, 1, 7, 2**32, 2**33)
        for count in (0, 1, 2)
    ]
    assert len(set(drawn)) == len(drawn) == 3 * 3 * 7 * 2 * 5 * 3


def test_numbers_are_uniform() -> None:
    """The χ² of 20 classes of 4,000 draws stays below its 99.9 % quantile, by vertex and by superstep."""

    @ws.vertex_program
    class Draws:
        x: ws.float64
        y: ws.int64
        combine = sum
        max_iter = 20

        def init(p):
            return p.random(), p.random_integer(20)

        def compute(src):
            return 0.0

        def apply(old, p):
            return p.random(), 20 * old.y % 2**40 + p.random_integer(20)

    path = pd.DataFrame({"source": np.arange(3999), "destination": np.arange(1, 4000)})
    frame = ws.run(Draws, path).frame
    classes = [(frame["x"] * 20).astype(int), frame["y"] % 20]
    for drawn in classes:
        counts = np.bincount(drawn, minlength=20)
        assert len(counts) == 20
        assert ((counts - 200) ** 2 / 200).sum() < 43.8


@ws.vertex_program
class First:
    x: ws.float64
    combine = sum

    def init(p):
        return p.random()

    def compute(src):
        return 0.0

    def apply(p):
        return p.random()


@ws.vertex_program
class Second:
    x: ws.float64
    y: ws.float64
    combine = sum

    def init(p):
        return 0.0, p.random()

    def compute(src):
        return 0.0

    def apply(old, p):
        return old.x + p.random(), old.y


def test_phases_and_rounds_draw_other_numbers(graph: ws.Graph) -> None:
    def run(rounds: int, **options: Any) -> pd.DataFrame:
        both = ws.phases(
            ws.phase(First, supersteps=1), ws.phase(Second, supersteps=1), rounds=rounds
        )
        return ws.run(both, graph, seed=4, **options).frame

    one, two = run(1), run(2)
    assert len({*one["x"], *one["y"], *two["x"]}) == 3 * EDGES.n
    assert one["y"].tolist() == two["y"].tolist()
    for way in ({"engine": "python"}, {"plan": ws.Plan(partitions=3)}):
        pd.testing.assert_frame_equal(run(2, **way), two)
    with emulated():
        for way in ON_GPU:
            pd.testing.assert_frame_equal(run(2, **planned(engine="cuda", **way)), two)


def test_a_run_goes_on_with_the_same_numbers(graph: ws.Graph, tmp_path: Any) -> None:
    both = ws.phases(ws.phase(First, supersteps=2), ws.phase(Second, supersteps=2), rounds=2)
    whole = ws.run(both, graph, seed=9).frame
    kept = tmp_path / "kept"
    stopped = ws.run(
        both, graph, seed=9, checkpoint=kept, every=1, progress=lambda update: update.superstep < 5
    )
    assert stopped.iterations == 5
    resumed = ws.run(both, graph, seed=9, checkpoint=kept, every=1)
    pd.testing.assert_frame_equal(resumed.frame, whole)


def test_draws_keep_a_program_in_order(graph: ws.Graph) -> None:
    assert Rumour.draws
    assert Rumour.reads_supersteps
    assert why_not_together(Rumour) == "it draws random numbers by the numbers of vertices"
    with pytest.raises(ws.InputError, match=r"in_place=True: Rumour: .*draws random numbers"):
        ws.run(Rumour, graph, plan=ws.Plan(in_place=True))
    report = ws.check(Rumour, graph, seed=3)
    assert report, report


def program(**functions: Any) -> Any:
    members = {
        "__annotations__": {"x": ws.float64}, "combine": max, "init": lambda: 0.0,
        "compute": compute, "apply": Rumour.functions["apply"], **functions,
    }  # fmt: skip
    return ws.vertex_program(type("Refused", (), members))


def compute(src):
    return src.x


def init(vertex):
    return 0.0


def drawing_compute(src, p):
    total = src.x
    for _ in range(2):
        total += p.random()
    return total


def drawing_settled(state, p):
    return p.random() < 0.5


def apply(old, gathered, p):
    return max(old.x, gathered) + p.random()


def without_end(old, gathered, p):
    return p.random_integer()


def uncalled(old, gathered, p):
    return p.random


def helper(p):
    return p.random()


def helped(old, gathered, p):
    return helper(p)


REFUSED = {
    "in settled": ({"settled": drawing_settled}, r"draws `p.random\(\)`, which only init, starts, "),
    "in a loop": ({"compute": drawing_compute}, "compute, line .*: draws random numbers in a loop; in compute, draw"),
    "in a helper": ({"apply": helped}, r"helper, line .* draws `p.random\(\)`, which only init"),
    "without an end": ({"apply": without_end}, r"uses `p.random_integer\(\)`; write `p.random_integer\(n\)`"),
    "uncalled": ({"apply": uncalled}, r"uses `p.random`; write `p.random\(\)`"),
    "in any order": ({"apply": apply, "asynchronous": True}, "depend on the superstep; leave out asynchronous"),
    "a parameter": ({"random": ws.parameter(ws.float64)}, "random: that name is taken; choose another"),
    "a seed": ({"apply": apply, "seed": ws.parameter(ws.int64)}, "seed: that name is taken"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case: str) -> None:
    members, words_expected = REFUSED[case]
    with pytest.raises(ws.ProgramError, match=words_expected):
        program(**{"init": init, "apply": init_and_old, **members})


def init_and_old(old, gathered):
    return max(old.x, gathered)


def test_the_seed_is_an_integer(graph: ws.Graph) -> None:
    assert "seed : int, by default 0" in Epidemic.__doc__
    for seed, words_expected in ((-1, "0 or more"), (0.5, "whole number"), (2**63, "at most")):
        with pytest.raises(ws.InputError, match=rf"seed=.*{words_expected}"):
            ws.run(Epidemic, graph, seed=seed)
    with pytest.raises(ws.InputError, match="has no parameter 'ws_number'"):
        ws.run(Epidemic, graph, ws_number={0: 1})


PARALLEL = pd.DataFrame(
    {
        "source": [3, 0, 0, 1, 0, 2, 2, 1, 0, 3],
        "destination": [4, 1, 1, 0, 1, 2, 2, 3, 3, 4],
        "w": [7, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    }
)


@ws.vertex_program
class Lottery:
    """The sum of weights times drawn numbers: it tells which of parallel edges drew which number."""

    x: ws.int64
    w = ws.edge(ws.int64)
    combine = sum
    max_iter = 3

    def init(vertex):
        return vertex + 1

    def compute(src, edge, p):
        return edge.w * p.random_integer(1000) + src.x

    def apply(gathered, p):
        return gathered % 1009


@pytest.mark.parametrize("directed", [True, False])
def test_parallel_edges_draw_apart_and_alike_everywhere(directed: bool) -> None:
    """Each row of the frame has numbers of its own; the first of parallel ones has those it has alone."""
    edges = list(zip(PARALLEL["source"], PARALLEL["destination"], strict=True))
    plain = reference.Graph(5, edges, {"w": PARALLEL["w"].to_numpy()}, "w", directed)
    seed = 2**62 + 5
    expected = reference.run(Lottery, plain, {"seed": seed}).states
    graph = ws.Graph(PARALLEL, weight="w", directed=directed)
    for way in WAYS:
        result = ws.run(Lottery, graph, **planned(seed=seed, **way))
        assert result.frame["x"].tolist() == expected["x"], way
    with emulated():
        for way in ON_GPU:
            result = ws.run(Lottery, graph, **planned(seed=seed, engine="cuda", **way))
            assert result.frame["x"].tolist() == expected["x"], way
    assert ws.check(Lottery, graph, seed=seed)
    once = ws.run(
        Lottery, ws.Graph(PARALLEL, weight="w", duplicates="first"), seed=seed, max_iter=1
    )
    first = ws.run(
        Lottery, PARALLEL[~PARALLEL.duplicated(["source", "destination"])], seed=seed, max_iter=1
    )
    assert once.frame["x"].tolist() == first.frame["x"].tolist()


def test_parallel_edges_draw_different_numbers() -> None:
    many = pd.DataFrame({"source": [0] * 50, "destination": [1] * 50, "w": [1000**0] * 50})
    for rows in (1, 2, 50):
        drawn = ws.run(Lottery, many[:rows], weight="w", seed=1, max_iter=1).frame["x"][1]
        numbers = [
            bits(seed_of_parallel(1, rank), 0, "compute", 0, 0, 1) % 1000 for rank in range(rows)
        ]
        assert len(set(numbers)) > rows * 0.9
        assert drawn == (sum(numbers) + rows) % 1009


def test_parallel_edges_on_disk(tmp_path: Any) -> None:
    with ws.Graph(PARALLEL, weight="w", placement="disk") as graph:
        mapped = ws.run(Lottery, graph, seed=3).frame
    pd.testing.assert_frame_equal(mapped, ws.run(Lottery, PARALLEL, weight="w", seed=3).frame)


@pytest.mark.long
def test_workers(graph: ws.Graph) -> None:
    import dask.dataframe as dd

    with workers(2):
        spread = ws.Graph(
            dd.from_pandas(FRAME, npartitions=3, sort=False),
            directed=False,
            spread="parts",
            duplicates="first",
        )
        for name in ("luby", "flow"):
            program_, answer = PROGRAMS[name]
            frame = ws.run(program_, spread, seed=5).frame.compute().sort_values("vertex")
            expected = answer(5)
            assert {field: frame[field].tolist() for field in expected} == expected
