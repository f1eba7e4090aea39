"""Which runs are free of order: each hypothesis of the theorem, and the one function that decides."""

from __future__ import annotations

import itertools
import linecache
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cuda_cases import set_classes
from emulator.device import emulated
from plans import planned
from program import test_zoo
from program.whole_zoo import all_in_order, in_order
from programs import Hops, Labels, Nearest, Peel, Reached, Widest
from zoo import Entry, remembering
from zoo_meetings import HYPOTHESES, MEETINGS, write

import cugraph_ws as ws
from cugraph_ws.backends.cuda.planner import Wanted, plan_of
from cugraph_ws.program import (
    binding,
    combines,
    declarations,
    decorator,
    jumps,
    lists,
    randomness,
    ranges,
    vertex_program,
)
from cugraph_ws.program.binding import BoundProgram, bind
from cugraph_ws.program.infinity import STORED

PAGE = Path(__file__).parents[2] / "docs" / "decisions" / "001-supersteps-are-synchronous.md"

WAYS: list[dict[str, Any]] = [
    {"engine": "cpu"}, {"engine": "python"}, {"max_iter": 50},
    *({"direction": direction} for direction in ("push", "pull", "gather")),
    {"direction": "gather", "max_iter": 50}, {"fused": False}, {"in_place": False},
    *({"partitions": parts, "exchange": sends} for parts in (2, 3) for sends in ("vr", "ms", "all")),
    {"partitions": 2, "direction": "gather"},
]  # fmt: skip
CANNOT = "use 'auto'"


def answers(
    program: Any, frame: pd.DataFrame, **given: Any
) -> list[tuple[dict[str, Any], list[Any]]]:
    """Run a program in every way that it allows, on the CPU and on an emulated GPU."""
    found = []
    with emulated():
        for way in [*WAYS, *({**way, "engine": "cuda"} for way in WAYS if "engine" not in way)]:
            try:
                result = ws.run(program, frame, **planned(**given, **way))
            except ws.InputError as refusal:
                if CANNOT not in str(refusal):
                    raise
                continue
            found.append((way, next(iter(result.arrays.values())).tolist()))
    assert len(found) > len(WAYS)  # of twice as many
    return found


# --------------------------------------------------------------------------------------- the smallest inputs


SHOPS = next(entry.program for entry in MEETINGS if entry.program.name == "Shops")
SHOP_EDGES = pd.DataFrame({"source": [0, 1, 2, 0], "destination": [1, 2, 3, 2]})
PRICES = {"mine": {0: 7, 1: 3, 2: 9, 3: 8}, "start": [0, 3]}


def test_vertices_that_do_not_start_send_nothing_before_they_change() -> None:
    for way, prices in answers(SHOPS, SHOP_EDGES, **PRICES):
        assert prices == [7, 3, 7, 7], way


@pytest.mark.parametrize(
    "way", [{}, {"direction": "gather"}, {"engine": "cuda"}, {"partitions": 2}], ids=str
)
def test_nor_in_phases(way: dict[str, Any]) -> None:
    phases = ws.phases(SHOPS, rounds=1)
    with emulated():
        assert ws.run(phases, SHOP_EDGES, **planned(**PRICES, **way)).arrays["x"].tolist() == [
            7,
            3,
            7,
            7,
        ]


@pytest.mark.parametrize("starts", [{}, {"starts": "state.cost == 0.0"}], ids=str)
def test_all_messages_of_the_superstep_in_which_a_vertex_settles_count(
    starts: dict[str, str],
) -> None:
    program = write(
        "Settling", "The first cost of 12 or less is final.", "cost: ws.float64", "min", **starts,
        init="0.0 if vertex == 1 else math.inf", settled="state.cost <= 12.0", compute="src.cost + edge.weight",
        apply="min(old.cost, gathered)",
    )  # fmt: skip
    frame = pd.DataFrame({"source": [3, 3], "destination": [0, 0], "weight": [7.0, 5.0]})
    for way, costs in answers(program, frame):
        assert costs == [5.0, 0.0], way


def test_infinity_times_zero_is_no_message() -> None:
    program = write(
        "Valves", "What flows through valves.", "x: ws.float64", "max", more="valve: ws.edge(ws.float64, least=0.0)",
        init="math.inf if vertex == 0 else -5.0", compute="src.x * edge.valve", apply="max(old.x, gathered)",
    )  # fmt: skip
    frame = pd.DataFrame({"source": [0, 1, 2], "destination": [1, 2, 3], "valve": [1.0, 0.0, 1.0]})
    for way, levels in answers(program, frame):
        assert levels == [math.inf, math.inf, 0.0, 0.0], way


# -------------------------------------------------------------------------------------------- what is proved


PROVED = {
    "min of a sum": ("min", "src.x + edge.w", "min(old.x, gathered)", None),
    "the arguments turned": ("min", "edge.w + src.x", "min(gathered, old.x)", "new.x != old.x"),
    "a comparison": ("min", "src.x", "gathered if gathered < old.x else old.x", "old.x > new.x"),
    "the other one": ("min", "src.x", "old.x if old.x <= gathered else gathered", "new.x < old.x"),
    "max of a min": ("max", "min(src.x, edge.w)", "max(old.x, gathered)", "new.x > old.x"),
    "a product with shares": ("max", "src.x * edge.s", "max(old.x, gathered)", None),
    "a product with what is positive": ("max", "src.x * edge.t", "max(old.x, gathered)", None),
    "a product with a number": ("min", "2 * src.x - 3", "np.minimum(old.x, gathered)", None),
    "a quotient": ("min", "src.x / 4.0", "min(old.x, gathered)", None),
    "a quotient by what is positive": ("min", "src.x / edge.t", "min(old.x, gathered)", None),
    "a floor": ("min", "np.floor(src.x) + 1", "min(old.x, gathered)", None),
    "a branch on the edge": (
        "min", "src.x + 1 if edge.w > 3 else src.x + 2", "min(old.x, gathered)", None,
    ),
    "a helper": ("min", "plus_one(src.x)", "min(old.x, gathered)", None),
    "a minus twice": ("min", "-(-src.x)", "min(old.x, gathered)", None),
    "two that turn": ("min", "src.x * (0.0 - edge.t) * -2.0", "min(old.x, gathered)", None),
    "a number of the run": ("min", "src.x * p.rate", "min(old.x, gathered)", None),
}  # fmt: skip
REFUSED = {
    "falling": ("min", "100.0 - src.x", "min(old.x, gathered)", None, "compute is not plainly"),
    "turned": ("min", "-src.x", "min(old.x, gathered)", None, "compute is not plainly"),
    "a weight of any sign": ("min", "src.x * edge.w", "min(old.x, gathered)", None, "compute"),
    "a factor that turns in a helper": (
        "min", "src.x * minus(edge.t)", "min(old.x, gathered)", None, "compute",
    ),
    "a factor that may be 0, of an infinite state": (
        "max", "(src.x + 1) * edge.s", "max(old.x, gathered)", None, "compute",
    ),
    "a divisor that may be 0": ("min", "src.x / src.d", "min(old.x, gathered)", None, "compute"),
    "a divisor of any sign": ("min", "src.x / edge.w", "min(old.x, gathered)", None, "compute"),
    "a floored quotient of floats": ("min", "src.x // 2.0", "min(old.x, gathered)", None, "compute"),
    "an absolute value": ("min", "abs(src.x)", "min(old.x, gathered)", None, "compute is not"),
    "a remainder": ("min", "src.x % 5", "min(old.x, gathered)", None, "compute is not plainly"),
    "two factors that rise": ("min", "src.x * src.x", "min(old.x, gathered)", None, "compute is not"),
    "an exponential, whose rounding may fall": (
        "min", "math.exp(src.x)", "min(old.x, gathered)", None, "compute is not plainly",
    ),
    "a branch on the state": (
        "min", "src.x if src.x > 3 else src.x + 9", "min(old.x, gathered)", None, "compute",
    ),
    "a floor of what may be infinite": (
        "max", "math.floor(src.x + 1)", "max(old.x, gathered)", None, "compute is not plainly",
    ),
    "a helper that reads anything": (
        "min", "reads(src)", "min(old.x, gathered)", None, "compute is not plainly",
    ),
    "the wrong side": ("min", "src.x", "max(old.x, gathered)", None, "apply is not plainly min"),
    "replacing": ("min", "src.x", "gathered", None, "apply is not plainly min"),
    "the old state twice": ("min", "src.x", "min(old.x, old.x)", None, "apply is not plainly min"),
    "more than the better": ("min", "src.x", "min(old.x, gathered) + 1", None, "apply is not"),
    "a threshold": ("min", "src.x", "min(old.x, gathered)", "new.x < 3", "active does not plainly"),
    "the wrong change": ("min", "src.x", "min(old.x, gathered)", "new.x > old.x", "active does not"),
    "a step": ("min", "src.x", "min(old.x, gathered)", "old.x - new.x > 1", "active does not"),
    "the superstep": ("min", "src.x + p.superstep", "min(old.x, gathered)", None, "it reads the superstep"),
    "the superstep in a helper": ("min", "late(src.x, p)", "min(old.x, gathered)", None, "it reads"),
    "a sum": ("sum", "src.x", "min(old.x, gathered)", None, "combine is not min, max or any"),
}  # fmt: skip

HEAD = """
import math
import numpy as np
import cugraph_ws as ws

def plus_one(value):
    return value + 1

def minus(value):
    return -value

def reads(vertex):
    return -vertex.x

def late(value, p):
    return value + p.superstep
"""


def bound_to(program: Any, **given: Any) -> BoundProgram:
    """Bind a program to a graph whose attribute `w` has any sign, `t` is positive, and `s` a share."""
    frame = pd.DataFrame({"source": [0, 1, 2], "destination": [1, 2, 0]})
    frame = frame.assign(w=[-2.0, 0.5, 5.0], s=[0.0, 0.5, 1.0], t=[0.25, 1.0, 3.0])
    with ws.Graph(frame, attributes=["w", "s", "t"]) as graph:
        return bind(program, graph, given)


def program_of(combine: str, compute: str, apply: str, active: str | None) -> Any:
    text = f"""{HEAD}
@ws.vertex_program
class Program:
    x: ws.float64
    w: ws.edge(ws.float64)
    s: ws.edge(ws.float64, least=0.0)
    t: ws.edge(ws.float64)
    d: ws.out_degree
    rate: ws.parameter(ws.float64, default=0.5)
    combine = {combine}

    def init(vertex):
        return float(vertex) / 1e15 if vertex > 1 else 0.25

    def compute(src, edge, p):
        return {compute}

    def apply(old, gathered):
        return {apply}
"""
    if active is not None:
        text += f"\n    def active(old, new):\n        return {active}\n"
    file = f"<order {combine} {compute} {apply} {active}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    space: dict[str, Any] = {"__name__": "program"}
    exec(compile(text, file, "exec"), space)
    return space["Program"]


@pytest.mark.parametrize("case", PROVED)
def test_monotone_programs_are_proved(case: str) -> None:
    assert bound_to(program_of(*PROVED[case])).in_order is None


@pytest.mark.parametrize("case", REFUSED)
def test_other_programs_are_not_proved(case: str) -> None:
    *parts, reason = REFUSED[case]
    assert reason in str(bound_to(program_of(*parts)).in_order)


def test_a_parameter_is_what_it_is_in_this_run() -> None:
    program = program_of("min", "src.x * p.rate", "min(old.x, gathered)", None)
    assert bound_to(program, rate=2.0).in_order is None
    assert "compute" in str(bound_to(program, rate=-2.0).in_order)
    assert bound_to(program, rate=0.0).in_order is None, "states are finite, since they never rise"
    assert "compute" in str(bound_to(program, rate=math.inf).in_order)


INTEGERS = {  # the first state, the message, and whether it is proved
    "a sum that cannot fall": ("vertex", "src.x + 1", True),
    "a sum that falls for ever": ("vertex", "src.x - 1", False),
    "a sum that falls to an end": ("vertex", "max(src.x - 1, -3)", True),
    "a shift and a sum": ("0 if vertex == 0 else 1 << 40", "src.x + 1", True),
    "a remainder and a degree": ("vertex % 7", "src.x + src.degree", True),
    "a remainder of what may be 0": ("vertex % own.degree", "src.x + 1", False),
    "a product": ("vertex", "src.x * 2", True),
    "a product that wraps": ("vertex * 1000000", "src.x * 1000000", False),
    "infinity and a weight": ("0 if vertex == 0 else math.inf", "src.x + edge.k", True),
    "infinity times 4": ("0 if vertex == 0 else math.inf", "src.x * 4", False),
    "a value of a vertex": ("own.first", "src.x", True),
    "a value of a vertex and a weight": ("own.first", "src.x + edge.k", False),
    "a quotient": ("vertex", "src.x // 3", True),
    "a quotient by what may be 0": ("vertex", "src.x // edge.k", False),
    "a factor that may be 0": ("vertex", "src.x * (edge.k > 1)", True),
    "whether it is not 0": ("vertex - 5", "int(bool(src.x))", False),
}


@pytest.mark.parametrize("case", INTEGERS)
def test_integers_must_not_wrap(case: str) -> None:
    init, compute, proved = INTEGERS[case]
    program = write(
        "Whole", "A minimum.", "x: ws.nullable(ws.int64, math.inf)", "min", init=init, compute=compute, apply="min(old.x, gathered)",
        more="degree: ws.out_degree\nk: ws.edge(ws.int64)\nfirst: ws.vertex_value(ws.int64, default=0)",
    )  # fmt: skip
    frame = pd.DataFrame({"source": [0, 1, 2], "destination": [1, 2, 0], "k": [0, 1, 4]})
    with ws.Graph(frame, attributes=["k"]) as graph:
        assert (bind(program, graph, {}).in_order is None) is proved


def test_an_infinite_weight_is_no_factor() -> None:
    program = program_of("max", "src.x * edge.t", "max(old.x, gathered)", None)
    frame = pd.DataFrame(
        {"source": [0], "destination": [1], "w": [1.0], "s": [0.5], "t": [math.inf]}
    )
    with ws.Graph(frame, attributes=["w", "s", "t"]) as graph:
        assert "compute" in str(bind(program, graph, {}).in_order)


def test_what_another_phase_has_left_is_not_known() -> None:
    frame = pd.DataFrame({"source": [0], "destination": [1], "weight": [1.0]})
    with ws.Graph(frame, weight="weight") as graph:
        for program in (Hops, Widest):
            given = {"start": 0}
            assert bind(program, graph, given).in_order is None
            assert bind(program, graph, given, phase=True).in_order is not None
        assert bind(Labels, graph, {}, phase=True).in_order is None, "it only passes numbers on"


def test_a_default_below_the_least_is_what_counts() -> None:
    frame = pd.DataFrame({"source": [0, 1, 2, 0, 3], "destination": [1, 2, 3, 3, 0]})
    for factor in ("edge.w", "(0.0 - minus(edge.w))"):
        text = (
            HEAD
            + f"""
@ws.vertex_program
class Program:
    x: ws.float64
    w = ws.edge(ws.float64, default=-1.0, least=0)
    combine = min

    def init(vertex):
        return float(vertex)

    def compute(src, edge):
        return src.x * {factor}

    def apply(old, gathered):
        return min(old.x, gathered)
"""
        )
        file = f"<default {factor}>"
        linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
        space: dict[str, Any] = {"__name__": "program"}
        exec(compile(text, file, "exec"), space)
        program = space["Program"]
        for way, values in answers(program, frame):
            assert values == [-3.0, 0.0, -1.0, -2.0], way
        with ws.Graph(frame) as graph:
            assert "compute" in str(bind(program, graph, {}).in_order)


# -------------------------------------------------------------------------------------- each hypothesis alone


@pytest.mark.parametrize("reason", HYPOTHESES)
def test_a_program_that_breaks_one_hypothesis_is_not_proved(reason: str) -> None:
    """That every engine then gives the reference's answer is tested with the zoo."""
    entry = HYPOTHESES[reason]
    graph = test_zoo.graph("random")
    found = bind(entry.program, graph, entry.given(9)).in_order
    assert str(found).startswith(reason)


def test_every_hypothesis_has_an_example() -> None:
    source = Path(binding.__file__).with_name("order.py").read_text()
    reasons = re.findall(
        r'return f?"([^"]+)"',
        source[source.index("def _first_broken") : source.index("def _keeps")],
    )
    reasons += re.findall(
        r'return f"([^"]+)"',
        source[source.index("def _why_not_rising") : source.index("def _stays")],
    )
    known = [re.sub(r"\{.*?\}", ".*", reason) for reason in reasons]
    assert len(known) == len(HYPOTHESES) == 16
    for reason in HYPOTHESES:
        assert any(re.match(pattern[: len(reason)].rstrip(".*"), reason) for pattern in known), (
            reason
        )


# ------------------------------------------------------------------------------------- the library's programs


def test_programs_of_the_library_and_of_the_tests_keep_their_ways() -> None:
    frame = pd.DataFrame({"source": [0, 1], "destination": [1, 2], "weight": [1.5, 2.0]})
    with ws.Graph(frame, weight="weight") as graph:
        for program in (ws.BFS, ws.SSSP, ws.WidestPath, Labels, Hops, Widest, Reached):
            given = (
                {} if program is Labels else {"start": [0] if program in (ws.BFS, Reached) else 0}
            )
            bound = bind(program, graph, given)
            assert bound.accumulates, program
            plan = plan_of(bound, 10**9, Wanted())
            assert plan.strategy.schedule in ("frontier", "worklist"), program
            gathers = program.combine in ("min", "max")
            assert bound.may_gather_from_all is gathers, program
            if plan.strategy.schedule == "frontier":
                assert (plan.heavy > 0) is gathers, program
        assert bind(ws.BFS, graph, {"start": [0]}).goes_by_levels
        assert not bind(ws.SSSP, graph, {"start": [0]}).goes_by_levels
        whole = ws.Graph(frame.assign(weight=[1, 2]), weight="weight")
        assert bind(ws.SSSP, whole, {"start": [0]}).may_gather_from_all
        assert not bind(SHOPS, graph, {"mine": 1, "start": [0]}).may_gather_from_all
        assert "must count once" in str(bind(Peel, graph, {}).in_order)
        assert bind(Nearest, graph, {"seeds": [0]}).accumulates, "it declares that"


LEVELS = {  # further lines, and whether a search in place goes by levels
    "as it should": ({}, True),
    "settled at another number": ({"settled": "state.x < 5"}, False),
    "others start too": ({"starts": "state.x >= 0"}, False),
    "without starts": ({"starts": ""}, False),
    "a third number": ({"init": "0 if vertex == 0 else 7 if vertex == 1 else math.inf"}, True),
    "a third number that is not settled": (
        {"init": "0 if vertex == 0 else 2000000000 if vertex == 1 else math.inf"},
        False,
    ),
    "not plainly the better": ({"apply": "gathered"}, False),
    "the superstep": ({"compute": "p.superstep + 1"}, False),
}


@pytest.mark.parametrize("case", LEVELS)
def test_a_search_in_place_goes_by_levels_only_if_what_changes_is_settled(case: str) -> None:
    more, by_levels = LEVELS[case]
    lines = {
        "init": "0 if vertex == 0 else math.inf", "starts": "state.x == 0", "settled": "state.x < 1073741824",
        "compute": "src.x + 1", "apply": "min(old.x, gathered)", "active": "new.x < old.x", **more,
    }  # fmt: skip
    program = write("Levels", "Hops.", "x: ws.nullable(ws.int32, math.inf)", "any", more="asynchronous = True",
                    **{name: line for name, line in lines.items() if line})  # fmt: skip
    graph = test_zoo.graph("random")
    assert bind(program, graph, {}).goes_by_levels is by_levels
    assert STORED["int32"] == 1073741824


# ------------------------------------------------------------------------------------------- one function decides


@pytest.mark.parametrize("entry", [entry for entry in test_zoo.ALL if entry.compiled], ids=str)
def test_what_one_function_says_every_engine_does(
    entry: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_classes(monkeypatch, block=64, hub=24, chunk=16, middle=6)
    turn = itertools.cycle([{}, {"partitions": 2}, {"fused": False}])
    with all_in_order():
        for name in ("two components", "random"):
            assert in_order(entry, name, "cpu", **next(turn))
        with emulated(seed=1):
            assert in_order(entry, "two components", "cuda")


def test_and_so_does_every_program_of_the_zoo() -> None:
    """With the loops of the CPU as plain Python, and what is not bound as a reference is.

    `python tests/program/whole_zoo.py order` runs all of them on all engines.
    """
    with remembering(), all_in_order():
        for entry in test_zoo.ALL:
            assert in_order(entry, "two components", "python")


def test_the_trace_shows_what_is_out_of_order() -> None:
    """Without the test's word, a search that is free of order is pushed."""
    entry = next(entry for entry in MEETINGS if entry.program is SHOPS)
    with pytest.raises(AssertionError, match="Shops on random"):
        in_order(entry, "random", "cpu")


# -------------------------------------------------------------------------------------------------- in place


@pytest.mark.parametrize(
    ("program", "given", "reason"),
    [
        (Labels, {"max_iter": 3}, r"max_iter=3 counts supersteps"),
        (Labels, {"engine": "python"}, r"engine='python' computes superstep by superstep"),
        (SHOPS, {**PRICES, "max_iter": 1}, r"max_iter=1 counts supersteps"),
        (Peel, {}, r"would depend on the order of messages \(combine is not min"),
        (HYPOTHESES["a settled vertex"].program, {"start": 0}, r"\(a settled vertex takes no more"),
        (HYPOTHESES["its residual may end"].program, {}, r"\(its residual may end a run"),
    ],
    ids=str,
)  # fmt: skip
def test_in_place_is_refused_where_it_would_change_the_meaning(
    program: Any, given: dict[str, Any], reason: str
) -> None:
    frame = SHOP_EDGES.assign(weight=1.0)
    for engine in ("cpu", "cuda") if "engine" not in given else ("",):
        more = {"engine": engine} if engine else {}
        with (
            emulated(),
            pytest.raises(
                ws.InputError, match=rf"in_place=True: {program.name}.*{reason}.*leave it out"
            ),
        ):
            ws.run(program, frame, **planned(in_place=True, **given, **more))


def test_a_program_that_allows_it_runs_in_place_where_nothing_changes() -> None:
    def define(pick: Any) -> Any:
        @ws.vertex_program
        class Allowed:
            """A minimum or a sum that may be computed in place."""

            x: ws.int64
            in_place = True
            combine = pick

            def init(vertex):
                return vertex

            def compute(src):
                return src.x

            def apply(old, gathered):
                return min(old.x, gathered)

        return Allowed

    path = pd.DataFrame({"source": range(9), "destination": range(1, 10)})
    free = ws.run(define(min), path, plan=ws.Plan(direction="gather"))
    assert not free.synchronous
    assert free.arrays["x"].tolist() == [0] * 10
    for program, limit in ((define(min), 2), (define(sum), None)):
        bounded = ws.run(program, path, max_iter=limit)
        assert bounded.synchronous
        assert (
            bounded.arrays["x"].tolist()
            == ws.run(program, path, max_iter=limit, engine="python").arrays["x"].tolist()
        )


def test_what_was_computed_in_place_is_not_resumed_with_a_limit(tmp_path: Path) -> None:
    order = [vertex for pair in zip(range(20), range(39, 19, -1), strict=True) for vertex in pair]
    path = pd.DataFrame(
        {"source": order[:-1], "destination": order[1:]}
    )  # a sweep gets two vertices on
    kept = tmp_path / "kept.parquet"
    with ws.Graph(path) as graph:
        stopped = ws.run(
            Labels, graph, plan=ws.Plan(direction="gather", in_place=True), checkpoint=kept, every=1, progress=lambda update: update.superstep < 2,
        )  # fmt: skip
        assert stopped.iterations == 2
        with pytest.raises(
            ws.InputError, match=r"messages were taken out of order.*resume without a limit"
        ):
            ws.run(Labels, graph, max_iter=5, resume=kept)
        resumed = ws.run(Labels, graph, resume=kept)
    assert resumed.arrays["label"].numbers.tolist() == [0] * 40
    assert not resumed.synchronous


def test_a_residual_ends_a_minimum_where_it_says() -> None:
    program = write(
        "Residual", "A minimum with a residual.", "x: ws.float64", "min", more='residual = ws.l1_norm("x")',
        init="100.0 * vertex", compute="src.x + 1.0", apply="min(old.x, gathered)",
    )  # fmt: skip
    path = pd.DataFrame({"source": range(11), "destination": range(1, 12)})
    with emulated():
        for engine in ("cpu", "python", "cuda"):
            result = ws.run(program, path, tol=2000.0, engine=engine)
            assert result.iterations == 1
            assert result.residual == 1089.0


def test_sums_of_active_vertices_by_virtual_warps() -> None:
    program = write(
        "Counted", "A sum of active vertices.", "x: ws.int64", "sum", more="contributors = 'active'", init="vertex",
        starts="state.x == 0", compute="src.x + 1", apply="old.x + gathered",
    )  # fmt: skip
    frame = pd.DataFrame({"source": [0, *range(1, 7)], "destination": [7, *range(2, 7), 1]})
    with emulated():
        for options in ({"engine": "python"}, {"engine": "cuda", "method": "vwc-4"}):
            result = ws.run(program, frame, **planned(max_iter=1, **options))
            assert result.arrays["x"].tolist() == [0, 1, 2, 3, 4, 5, 6, 8]


# --------------------------------------------------------------------------------- the page names everything


def declared_names() -> set[str]:
    """Return all that a program may declare or draw: settings, functions, annotations, folds, random numbers."""
    modules = (declarations, jumps, combines, lists)
    made = {
        name for module in modules for name in module.__all__ if getattr(ws, name, None) is not None
    }
    assert {"nullable", "hidden", "at", "least_at", "top", "mode"} <= made
    norms = {"l1_norm", "max_norm", "any_message", "aggregate"}
    return {
        *decorator.CLASS_SETTINGS,
        *vertex_program.FUNCTIONS,
        *norms,
        *made,
        *randomness.FUNCTIONS,
    }


def test_the_theorem_mentions_every_declaration() -> None:
    text = PAGE.read_text()
    table = text[
        text.index("| declaration |") : text.index("## What a vertex without messages sees")
    ]
    named = set(re.findall(r"`(?:ws\.|p\.)?(\w+)(?:\(\w*\))?`", table))
    assert declared_names() <= named, declared_names() - named


def test_ranges_round_away_from_what_they_hold() -> None:
    generator = np.random.default_rng(5)
    for kind in ("float32", "float64"):
        for _ in range(300):
            one, other, factor = generator.normal(size=3).astype(kind)
            known = ranges.hull(ranges.of_number(one, kind), ranges.of_number(other, kind))
            by = ranges.of_number(factor, kind)
            for value in (one, other):
                for made, exact in (
                    (ranges.multiplied(known, by), value * factor),
                    (ranges.added(known, by), value + factor),
                ):
                    assert made is not None
                    assert made.low <= float(exact) <= made.high
