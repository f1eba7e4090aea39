"""Programs of any width compile: CPython makes tuples of over 30 items in a way that Numba does not take."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from conftest import COMPILED
from emulator.device import emulated
from programs import values_of

import cugraph_ws as ws
from cugraph_ws.program.combines import Top
from cugraph_ws.runtime.parsing import in_pieces

EDGES = pd.DataFrame({"source": [0, 1, 2, 3, 3, 4], "destination": [4, 4, 4, 4, 0, 1]})
ENGINES = ["python", "cuda", *(["cpu"] if COMPILED else [])]


def own_number(vertex):
    return vertex


def first_field(src):
    return src.x


def first_and_last(gathered):
    return gathered[0] * 100 + gathered[-1]


def of_width(combine, apply=first_and_last):
    space = {
        "init": own_number, "compute": first_field, "combine": combine, "apply": apply,
        "__annotations__": {"x": ws.int64}, "__module__": __name__, "max_iter": 1,
    }  # fmt: skip
    return ws.vertex_program(type("Wide", (), space))


def modulo(width):
    def compute(src):
        return src.x % width

    return compute


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("bins", [1, 31, 32])
def test_histograms(bins, engine):
    space = {
        "init": own_number, "compute": modulo(bins), "combine": ws.histogram(bins),
        "apply": first_and_last, "__annotations__": {"x": ws.int64}, "__module__": __name__,
        "max_iter": 1,
    }  # fmt: skip
    program = ws.vertex_program(type("Wide", (), space))
    with emulated():
        result = values_of(ws.run(program, EDGES, engine=engine))["x"]
    if bins == 1:
        assert result == [101, 101, 0, 0, 404]
    else:  # only messages of 0 are counted in the first bin, and none in the last
        assert result == [0, 0, 0, 0, 100]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("length", [1, 31, 32])
def test_tops(length, engine):
    program = of_width(ws.top(length), greatest_only)
    with emulated():
        result = values_of(ws.run(program, EDGES, engine=engine))["x"]
    assert result == [3, 4, -1, -1, 3]


def greatest_only(gathered):
    return gathered[0] if gathered[0] >= 0 else -1


@pytest.mark.parametrize("width", range(1, 33))
def test_rows_of_the_greatest_are_merged(width):
    space = {}
    body = "\n".join(f"    {line}" for line in Top(width).combine(("int64",)))
    exec(f"def merge(first, second):\n{body}", space)
    chance = np.random.default_rng(width)
    for _ in range(20):
        first, second = (sorted(chance.integers(0, 40, width).tolist())[::-1] for _ in range(2))
        assert list(space["merge"](first, second)) == sorted(first + second)[::-1][:width]


FIELDS = [f"f{place}" for place in range(34)]


def init(vertex):
    return (
        vertex, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27,
        28, 29, 30, 31, 32, vertex,
    )  # fmt: skip


def compute(src):
    return src.f0 + src.f33


def apply(old, gathered):
    return (
        gathered, old.f0, old.f1, old.f2, old.f3, old.f4, old.f5, old.f6, old.f7, old.f8, old.f9, old.f10, old.f11,
        old.f12, old.f13, old.f14, old.f15, old.f16, old.f17, old.f18, old.f19, old.f20, old.f21, old.f22, old.f23,
        old.f24, old.f25, old.f26, old.f27, old.f28, old.f29, old.f30, old.f31, gathered,
    )  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_programs_of_many_fields(engine):
    space = {
        "init": init, "compute": compute, "combine": sum, "apply": apply, "max_iter": 1,
        "__annotations__": dict.fromkeys(FIELDS, ws.int64), "__module__": __name__,
    }  # fmt: skip
    program = ws.vertex_program(type("Many", (), space))
    with emulated():
        values = values_of(ws.run(program, EDGES, engine=engine))
    assert values["f0"] == values["f33"] == [6, 8, 0, 0, 12]
    assert values["f1"] == [0, 1, 2, 3, 4]
    assert values["f32"] == [31] * 5


def test_only_what_is_wide_is_split():
    narrow = f"def f(a):\n    return ({', '.join(['a'] * 30)})"
    assert in_pieces(narrow) == narrow
    wide = f"def f(a):\n    return max({', '.join(['a'] * 31)})"
    assert in_pieces(wide).count("*(") == 1
    assert all(line.count(",") <= 30 for line in in_pieces(wide).split("+"))
    space = {}
    exec(in_pieces(wide), space)
    assert space["f"](2) == 2
