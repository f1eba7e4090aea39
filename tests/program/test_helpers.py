"""Functions that a program's functions call: lambdas, defaults, arguments by name; and calls that are refused."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from plans import planned

import cugraph_ws as ws

PATH = pd.DataFrame({"source": [0, 1, 2], "destination": [1, 2, 3]})
grown: Any = lambda x: x + 1  # noqa: E731
one, two = (lambda x: x + 1), (lambda x: x + 2)
same, alike = [
    lambda x: x
    for _ in range(2)
]  # fmt: skip


def between(x, low=0, high: float = 2.0, *, by=1):
    return min(max(x * by, low), high)


def named(x, unit="m"):
    return x


def made(init: Any) -> Any:
    """Return a program whose states are what a function of the vertex number returns."""
    members = {
        "__annotations__": {"x": ws.float64}, "__module__": __name__, "combine": max, "max_iter": 1,
        "init": init, "compute": compute, "apply": apply,
    }  # fmt: skip
    return ws.vertex_program(type("Made", (), members))


def compute(src):
    return src.x


def apply(old):
    return old.x


def states(init: Any, engine: str = "python") -> list[float]:
    with ws.Graph(PATH) as graph:
        values: list[float] = ws.run(made(init), graph, **planned(engine=engine))["x"].tolist()
    return values


def by_lambdas(vertex):
    return grown(vertex) + two(vertex) * 10 + alike(one(vertex)) * 100


def by_defaults(vertex):
    return between(vertex) + between(vertex, 1) * 10 + between(vertex, by=2, high=3) * 100


def test_defaults_and_lambdas(monkeypatch: pytest.MonkeyPatch) -> None:
    for engine in ("auto", "python"):
        assert states(by_lambdas, engine) == [121.0, 232.0, 343.0, 454.0]
        assert states(by_defaults, engine) == [10.0, 211.0, 322.0, 322.0]
    monkeypatch.setitem(globals(), "grown", lambda x, by=5: x * by)
    assert states(by_lambdas) == [120.0, 235.0, 350.0, 465.0]
    monkeypatch.setattr(between, "__defaults__", (1, 3.0))
    assert states(by_defaults) == [111.0, 211.0, 322.0, 333.0]


def too_few(vertex):
    return between()


def unknown(vertex):
    return between(vertex, most=1)


def by_text(vertex):
    return named(vertex)


def unpacked(vertex):
    return between(*(vertex, 1))


REFUSED = {
    too_few: "`between()`: missing a required argument: 'x'",
    unknown: "`between(vertex, most=1)`: got an unexpected keyword argument 'most'",
    by_text: "`named(vertex)`: the default unit='m' is not a number",
    unpacked: "unpacks with *",
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda function: function.__name__)
def test_refused_calls(function: Any) -> None:
    with pytest.raises(ws.ProgramError) as error:
        made(function)
    assert REFUSED[function] in str(error.value)


def test_defaults_are_read_when_a_run_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    program = made(by_defaults)
    with ws.Graph(PATH) as graph:
        for defaults, first in (((0, 2.0), 10.0), ((1, 3.0), 111.0)):
            monkeypatch.setattr(between, "__defaults__", defaults)
            assert ws.run(program, graph, **planned(engine="python"))["x"][0] == first
