"""`ws.check` sees what was mended: with a mend taken back, it reports a difference on the smallest input.

Each case was once a wrong answer: of runs that ignore who starts, of the order in which messages settle a vertex, of
infinity in an integer field, of infinity times 0, of a reference that computes in other types than the compiler.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from conftest import COMPILED
from emulator.device import emulated
from zoo_meetings import write

import cugraph_ws as ws
from cugraph_ws.program import infinity, modules, order, ranges, terms
from cugraph_ws.program.ranges import Range
from cugraph_ws.program.terms import Term


@dataclass(frozen=True)
class Case:
    """A program on its smallest input, with the right states."""

    make: Callable[[], Any]  # anew, since a program remembers what is known of it
    edges: dict[str, list[Any]]
    right: list[Any]
    arguments: dict[str, Any]
    engines: tuple[str, ...] = ("cpu", "cuda")

    def check(self) -> ws.CheckReport:
        """Compare all runs of the program with its reference, on an emulated GPU as well."""
        with emulated():
            return ws.check(self.make(), pd.DataFrame(self.edges), **self.arguments)


STARTS = Case(
    lambda: write(
        "Shops", "Only shops tell their price.", "price: ws.int64", "min", init="own.mine",
        more="mine: ws.vertex_value(ws.int64)\nshop: ws.vertex_set", starts="state.shop",
        compute="src.price", apply="min(old.price, gathered)",
    ),
    {"source": [0, 1, 2, 0], "destination": [1, 2, 3, 2]},
    [7, 3, 7, 7],
    {"mine": {0: 7, 1: 3, 2: 9, 3: 8}, "shop": [0, 3]},
)  # fmt: skip
SETTLED = Case(
    lambda: write(
        "Settling", "The first cost of 12 or less is final.", "cost: ws.float64", "min",
        init="0.0 if vertex == 1 else math.inf", settled="state.cost <= 12.0",
        compute="src.cost + edge.weight", apply="min(old.cost, gathered)",
    ),
    {"source": [3, 3], "destination": [0, 0], "weight": [7.0, 5.0]},
    [5.0, 0.0],
    {},
)  # fmt: skip
INFINITE = Case(
    lambda: write(
        "Factors", "Products along paths.", "d: ws.nullable(ws.int64, math.inf)", "min",
        init="1 if vertex == 0 else math.inf", more="f: ws.edge(ws.int64)",
        compute="src.d * edge.f", apply="min(old.d, gathered)",
    ),
    {"source": [0, 1, 2], "destination": [1, 3, 3], "f": [1, 2, 4]},
    [1, 1, None, 2],
    {},
)  # fmt: skip
WRAPS = Case(  # the same without infinity: 2**62 is a number like others
    lambda: write(
        "Products", "Products along paths.", "d: ws.int64", "min", init="1 if vertex == 0 else 1 << 62",
        more="f: ws.edge(ws.int64)", compute="src.d * edge.f", apply="min(old.d, gathered)",
    ),
    INFINITE.edges,
    [1, 1, 1 << 62, -(1 << 63)],
    {},
    ("cpu",),
)  # fmt: skip
VALVES = Case(
    lambda: write(
        "Valves", "What flows through valves.", "x: ws.float64", "max",
        more="valve: ws.edge(ws.float64, least=0.0)", init="math.inf if vertex == 0 else -5.0",
        compute="src.x * edge.valve", apply="max(old.x, gathered)",
    ),
    {"source": [0, 1, 2], "destination": [1, 2, 3], "valve": [1.0, 0.0, 1.0]},
    [math.inf, math.inf, 0.0, 0.0],
    {},
    ("cpu",),  # a GPU gathers this one by supersteps
)  # fmt: skip
FLAGS = Case(
    lambda: write(
        "Within", "How many bounds a number keeps.", "n: ws.int64", "sum", init="vertex",
        compute="(src.n >= 0) + (src.n < 9)", apply="gathered", more="max_iter = 1",
    ),
    {"source": [0], "destination": [1]},
    [0, 2],
    {},
    ("cpu",),  # emulated kernels are plain Python, as the reference then is
)  # fmt: skip


def any_whole(low: int, high: int) -> Range:
    """Take integers for those of mathematics."""
    return Range(low, high, "int")


def real_product(left: Term, right: Term) -> Term:
    """Take floats for real numbers, of which no product is NaN."""
    values = ranges.multiplied(left.range, right.range)
    assert values is not None
    factor, moving = (left, right) if left.trend == "constant" else (right, left)
    if factor.range.low < 0:
        return terms.UNKNOWN
    return Term(moving.trend, replace(values, nan=False))


def plain_function(source: Any, owner: str) -> Any:
    """Return a program's function as Python and NumPy compute it."""
    space: dict[str, Any] = {"math": math, "np": np}
    exec(source.text, space)
    return space[source.definitions[-1][1].name if source.definitions else f"user_{source.name}"]


def yes(*given: Any) -> bool:
    return True


WRAPPED = """def ws_product(a, b):
    sign = (a * b >> 63) & 1
    return (a * b & 0x7fffffffffffffff) - (sign << 62) - (sign << 62)"""
TAKEN_BACK: dict[str, tuple[Case, list[Any]]] = {
    "dense gathers ask who starts": (STARTS, [patch.object(order, "_is_quiet_outside_starts", yes)]),
    "settled is no part of the proof": (SETTLED, [patch.object(order, "_settles_the_best", yes)]),
    "integers that wrap are not proved": (WRAPS, [patch.object(ranges, "whole", any_whole)]),
    "infinity times 0 is not proved": (VALVES, [patch.object(terms, "_product", real_product)]),
    "the reference adds flags as the compiler does": (
        FLAGS, [patch.object(modules, "typed_function", plain_function)],
    ),
}  # fmt: skip
CASES = {
    "starts": STARTS,
    "settled": SETTLED,
    "infinite": INFINITE,
    "wraps": WRAPS,
    "valves": VALVES,
    "flags": FLAGS,
}


@pytest.mark.parametrize("name", CASES)
def test_every_run_is_right(name: str) -> None:
    case = CASES[name]
    report = case.check()
    assert report, str(report)
    assert not {"engine='cpu', plan=Plan()", "engine='cuda', plan=Plan()"} - set(
        report.configurations
    )
    result = ws.run(case.make(), pd.DataFrame(case.edges), engine="python", **case.arguments)
    values = result.frame.set_index("vertex").sort_index().iloc[:, 0].tolist()
    assert [None if pd.isna(one) else one for one in values] == case.right


@pytest.mark.parametrize("mend", TAKEN_BACK)
def test_a_mend_taken_back_is_reported(mend: str) -> None:
    case, patches = TAKEN_BACK[mend]
    if case is FLAGS and not COMPILED:
        pytest.skip("plain Python in either run")
    for one in patches:
        one.start()
    try:
        report = case.check()
    finally:
        for one in patches:
            one.stop()
    assert not report
    for engine in case.engines:
        assert any(f"engine={engine!r}" in one.configuration for one in report.differences), engine


def test_infinity_that_does_not_stay_is_reported() -> None:
    """All engines give the same then, but the reference refuses what such a field cannot hold."""
    with (
        patch.dict(infinity.TEXTS, ws_product=WRAPPED),
        pytest.raises(ws.ProgramError, match=r"Factors: `d` is int64 .* not -9223372036854775808"),
    ):
        INFINITE.check()
