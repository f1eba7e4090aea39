"""math.inf in integer fields: it absorbs, compares, and comes back as null, on every engine."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest
from emulator.device import emulated
from plans import planned

import cugraph_ws as ws
from cugraph_ws.program.infinity import INFINITY, TEXTS


@ws.vertex_program
class Growing:
    """The least product of factors along a path."""

    d: ws.nullable(ws.int64, math.inf)
    f: ws.edge(ws.int64, least=0)
    start: ws.vertex_parameter

    def init(vertex, p):
        return 1 if vertex == p.start else math.inf

    def compute(src, edge):
        return src.d * edge.f

    combine = min

    def apply(old, gathered):
        return min(old.d, gathered)


@ws.vertex_program
class Cheapest:
    """Shortest paths over edges of any sign."""

    d: ws.nullable(ws.int64, math.inf)
    f: ws.edge(ws.int64)
    start: ws.vertex_parameter

    def init(vertex, p):
        return 0 if vertex == p.start else math.inf

    def compute(src, edge):
        return src.d - edge.f

    combine = min

    def apply(old, gathered):
        return gathered if gathered < old.d else old.d


@ws.vertex_program
class Guarded:
    """Paths and their hops in two fields of 32 bits; both are compared with math.inf."""

    d: ws.nullable(ws.int32, math.inf)
    hops: ws.nullable(ws.int32, math.inf)
    unreached: ws.boolean
    f: ws.edge(ws.int64)
    start: ws.vertex_parameter
    max_iter = 4

    def init(vertex, p):
        if vertex == p.start:
            return 0, 0, False
        return math.inf, math.inf, True

    def compute(src, edge):
        if src.d < math.inf and not src.unreached:
            return src.d - edge.f, src.hops + 1
        return math.inf, math.inf

    combine = min

    def apply(old, gathered):
        d, hops = gathered
        best = min(old.d, d)
        return best, hops if d != math.inf and d <= old.d else old.hops, best == math.inf


@ws.vertex_program
class Total:
    """A sum in which one infinite message is enough; and what the sum is as a float."""

    d: ws.nullable(ws.int64, math.inf)
    half: ws.float64
    start: ws.vertex_parameter
    max_iter = 1

    def init(vertex, p):
        return vertex + 3 if vertex <= p.start else math.inf, 0.0

    def compute(src):
        return src.d // 2 + 1

    combine = sum

    def apply(old, gathered):
        return gathered - 1, gathered / 2 + 0.25


EDGES = pd.DataFrame({"source": [0, 1, 2], "destination": [1, 3, 3], "f": [1, 2, 4]})
EXPECTED: list[tuple[Any, dict[str, list[Any]]]] = [
    (Growing, {"d": [1, 1, None, 2]}),
    (Cheapest, {"d": [0, -1, None, -3]}),
    (
        Guarded,
        {"d": [0, -1, None, -3], "hops": [0, 1, None, 2], "unreached": [False, False, True, False]},
    ),
    # 3 of 0 gives 2 to 1; 4 of 1 gives 3 to 3, and 2 is infinite
    (Total, {"d": [-1, 1, -1, None], "half": [0.25, 1.25, 0.25, math.inf]}),
]
WAYS: list[dict[str, Any]] = [
    {"engine": "python"},
    {"engine": "python", "partitions": 2},
    {"engine": "cpu"},
    {"engine": "cpu", "direction": "gather"},
    {"engine": "cpu", "direction": "push"},
    {"engine": "cpu", "direction": "pull"},
    {"engine": "cpu", "max_iter": 4},
    {"engine": "cpu", "partitions": 2},
    {"engine": "cpu", "partitions": 3, "exchange": "vr"},
]


def columns(program: Any, **options: Any) -> dict[str, list[Any]]:
    graph = ws.Graph(EDGES, attributes=["f"])
    if program.max_iter is not None:
        options.pop("max_iter", None)
    frame = ws.run(program, graph, **planned(start=1 if program is Total else 0, **options)).frame
    return {
        name: [None if pd.isna(value) else value for value in frame[name]] for name in program.state
    }


@pytest.mark.parametrize("options", WAYS, ids=str)
@pytest.mark.parametrize(
    ("program", "expected"), EXPECTED, ids=[program.name for program, _ in EXPECTED]
)
def test_every_engine(program: Any, expected: dict[str, list[Any]], options: Any) -> None:
    try:
        found = columns(program, **options)
    except ws.InputError as error:  # a direction that the program cannot take
        found = expected if "use '" in str(error) and "direction" in options else {}
    assert found == expected


@pytest.mark.parametrize(
    ("program", "expected"), EXPECTED, ids=[program.name for program, _ in EXPECTED]
)
def test_emulated_gpu(program: Any, expected: dict[str, list[Any]]) -> None:
    with emulated(seed=3):
        assert columns(program, engine="cuda") == expected
        assert columns(program, engine="cuda", direction="gather") == expected
        assert columns(program, engine="cuda", max_iter=4) == expected


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_a_sum_that_is_too_great_is_infinite(engine: str) -> None:
    graph = ws.Graph(EDGES.assign(f=[2**61, 2**61, -1]), attributes=["f"])
    far = ws.run(Growing, graph.subgraph([0, 1, 3]), start=0, engine=engine).frame
    assert far["d"].isna().tolist() == [False, False, True]
    edges = EDGES.assign(f=[-(2**61), -(2**61), -1])
    near = ws.run(Cheapest, ws.Graph(edges, attributes=["f"]), start=0, engine=engine).frame
    assert near["d"].isna().tolist() == [False, False, True, True]


@ws.vertex_program
class Odd:
    """A remainder, which infinity does not have."""

    d: ws.nullable(ws.int64, math.inf)
    max_iter = 1

    def init(vertex):
        return vertex if vertex > 0 else math.inf

    def compute(src):
        return src.d % 2

    combine = max

    def apply(old, gathered):
        return gathered


def test_an_operation_without_an_infinite_result_is_refused_by_the_reference() -> None:
    graph = ws.Graph(EDGES, attributes=["f"])
    with pytest.raises(ws.ProgramError, match=r"Odd.*infinite.*compare it with math.inf first"):
        ws.run(Odd, graph, engine="python")


@ws.vertex_program
class Summed:
    """The sum, over vertices that name one, of a field that may be infinite."""

    d: ws.nullable(ws.int64, math.inf)
    to: ws.vertex_id
    total = ws.sum_at("d", "to")
    max_iter = 1

    def init(vertex):
        return math.inf, vertex

    def compute(src):
        return src.d

    combine = min

    def apply(old, gathered):
        return old.total, old.to


def test_a_sum_at_a_vertex_is_refused() -> None:
    with pytest.raises(ws.ProgramError, match=r"Summed.total sums `d`.*ws.float64"):
        ws.run(Summed, ws.Graph(EDGES, attributes=["f"]), engine="python")


def test_the_functions_saturate() -> None:
    space: dict[str, Any] = {"math": math}
    for text in TEXTS.values():
        exec(text, space)
    add, subtract, multiply = space["ws_sum"], space["ws_difference"], space["ws_product"]
    values = [-INFINITY, -INFINITY + 1, -3, -1, 0, 1, 2, 2**31, INFINITY - 1]
    for a in values:
        for b in values:
            assert add(a, b) == min(a + b, INFINITY)
            assert subtract(a, b) == max(min(a - b, INFINITY), -INFINITY)
            assert multiply(a, b) == max(min(a * b, INFINITY), -INFINITY)
        assert add(a, INFINITY) == add(INFINITY, a) == subtract(INFINITY, a) == INFINITY
        assert subtract(a, INFINITY) == -INFINITY
    assert multiply(INFINITY, 1) == multiply(2, INFINITY) == INFINITY
    assert multiply(INFINITY, -1) == -INFINITY
    assert space["ws_quotient"](INFINITY, 5) == INFINITY
    assert space["ws_quotient"](7, 2) == 3
    assert space["ws_float"](INFINITY) == math.inf
    assert space["ws_float"](5) == 5.0


def test_programs_without_infinity_are_left_as_they_are() -> None:
    @ws.vertex_program
    class Plain:
        d: ws.int64

        def init(vertex):
            return vertex

        def compute(src):
            return src.d + 1

        combine = max

        def apply(old, gathered):
            return max(old.d, gathered)

    ws.run(Plain, ws.Graph(EDGES, attributes=["f"]), engine="python", max_iter=1)
    bound = next(one[0] for one in Plain.memory.values() if isinstance(one, tuple))
    assert bound is Plain


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_what_is_below_all_is_a_message_and_an_operand(engine):
    @ws.vertex_program
    class Highest:
        level = ws.nullable(ws.int64, math.inf)
        combine = max

        def init(vertex):
            return math.inf if vertex else 5

        def compute(src):
            return src.level if src.level < math.inf else -math.inf

        def apply(old, gathered):
            return gathered if gathered > -math.inf else old.level

    edges = pd.DataFrame({"source": [0, 1, 3], "destination": [1, 2, 4]})
    frame = ws.run(Highest, edges, engine=engine, max_iter=5).frame
    assert frame.level.fillna(-1).tolist() == [5, 5, 5, -1, -1]


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_what_becomes_infinite_in_place_stays_infinite(engine):
    @ws.vertex_program
    class Delayed:
        hours = ws.nullable(ws.int64, math.inf)
        combine = min

        def init(vertex):
            return math.inf if vertex else 0

        def compute(src):
            return src.hours + 1

        def apply(old, gathered):
            waits = 1
            waits += gathered
            return min(old.hours, waits - 1)

    edges = pd.DataFrame({"source": [0, 1, 3], "destination": [1, 2, 4]})
    frame = ws.run(Delayed, edges, engine=engine, max_iter=5).frame
    assert frame.hours.fillna(-1).tolist() == [0, 1, 2, -1, -1]
