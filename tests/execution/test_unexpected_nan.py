"""NaN in the result of a user's program is warned of, unless the program says that it may be there."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from emulator.device import emulated
from thread_ranks import on_ranks, share

import cugraph_ws as ws
from cugraph_ws.runtime.warn import Warnings, collected

# 'c' and 'd' have no in-edges, so that their mean is 0/0.
EDGES = pd.DataFrame({"source": ["c", "d", "a"], "destination": ["a", "b", "b"]})
WAYS = [("cpu", 1), ("python", 1), ("cuda", 1), ("cpu", 2), ("cuda", 2)]


@ws.vertex_program
class Mean:
    x: ws.float64
    combine = sum
    max_iter = 1

    def init(vertex):
        return 1.0

    def compute(src):
        return (src.x, 1.0)

    def apply(gathered):
        total, count = gathered
        return total / count


@ws.vertex_program
class Declared:
    x: ws.nullable(ws.float64, math.nan)
    combine = sum
    max_iter = 1

    def init(vertex):
        return 1.0

    def compute(src):
        return (src.x, 1.0)

    def apply(gathered):
        total, count = gathered
        return total / count


@ws.vertex_program
class NamesIt:
    x: ws.float64
    combine = sum
    max_iter = 1

    def init(vertex):
        return 1.0

    def compute(src):
        return src.x

    def apply(gathered):
        return gathered if gathered > 0 else math.nan


@ws.vertex_program
class Distance:
    """Its difference of infinities is hidden; what is visible is infinite."""

    x: ws.float64
    nothing: ws.hidden(ws.float64)
    combine = min
    max_iter = 2

    def init(vertex):
        return (math.inf, 0.0)

    def compute(src):
        return src.x + 1.0

    def apply(gathered):
        return (gathered, gathered - gathered)


@ws.vertex_program
class Vectors:
    v = ws.vector(ws.float64, 2)
    combine = sum
    max_iter = 1

    def init(vertex):
        return np.ones(2)

    def compute(src):
        return src.v

    def apply(gathered):
        return gathered / gathered[0]


@ws.edge_program
class Share:
    share: ws.float64
    combine = sum

    def common(w):
        return 1.0

    def value(common):
        return common / common


def messages_of(program: Any, engine: str = "cpu", ranks: int = 1) -> list[str]:
    """Return the warnings of a run."""
    with warnings.catch_warnings(record=True) as caught, emulated(), ws.Graph(EDGES) as graph:
        warnings.simplefilter("always")
        if ranks == 1:
            ws.run(program, graph, engine=engine)
        else:
            on_ranks(ranks, lambda comm: ws.run(program, share(graph, comm), engine=engine))
    return [str(warning.message) for warning in caught if "is NaN at" in str(warning.message)]


@pytest.mark.parametrize(("engine", "ranks"), WAYS)
def test_the_warning_names_the_field_the_number_and_a_vertex(engine, ranks):
    (message,) = messages_of(Mean, engine, ranks)
    assert message.startswith("Mean: `x` is NaN at 2 vertices, such as vertex 'c': ")
    assert "declare x: ws.nullable(ws.float64, math.nan)" in message


@pytest.mark.parametrize("program", [Declared, NamesIt, Distance])
@pytest.mark.parametrize(("engine", "ranks"), WAYS)
def test_what_a_program_declares_and_what_is_infinite_is_no_news(program, engine, ranks):
    assert messages_of(program, engine, ranks) == []


@pytest.mark.parametrize(
    ("program", "start"),
    [(Vectors, "Vectors: `v` is NaN at 2 vertices"), (Share, "Share: `share` is NaN at ")],
)
def test_vectors_and_pairs(program, start):
    (message,) = messages_of(program)
    assert message.startswith(start)
    assert "nullable" in message or program is Vectors


def test_the_warning_is_at_the_users_line():
    with pytest.warns(ws.GraphWarning, match="Mean: `x` is NaN") as caught:
        ws.run(Mean, EDGES)
    assert caught[0].filename == __file__


def test_values_declared_as_missing_are_null():
    frame = ws.run(Declared, pl.from_pandas(EDGES)).frame
    assert frame["x"].null_count() == 2
    assert frame["x"].is_nan().sum() == 0


def test_a_worker_hands_its_warnings_to_the_client():
    messages: Warnings = []
    token = collected.set(messages)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ws.run(Mean, EDGES)
    finally:
        collected.reset(token)
    assert [(text.split(":")[0], category) for text, category in messages] == [
        ("Mean", ws.GraphWarning)
    ]
