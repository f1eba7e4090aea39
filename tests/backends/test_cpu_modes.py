"""`ws.mode` on the CPU, which counts messages in tables, against sums in plain Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import cugraph_ws as ws

CHUNK = 128
LEAST = -(2**63)
LENGTHS = [0, 1, 2, 3, 5, 64, 127, 128, 129, 130, 256, 257, 500]


def whole(x):
    """Return labels that a table might take for free slots, and some far apart."""
    if x == 1:
        return LEAST
    return -1 if x == 2 else 2**63 - 1 if x == 3 else x * 2**40


def rational(x):
    if x == 1:
        return math.nan
    if x == 2:
        return -math.inf
    return -0.0 if x == 3 else 0.0 if x == 4 else (x - 7) / 2


def narrow(x):
    return np.float32(rational(x))


def flag(x):
    return x > 4


def heavy(x):
    """Return a weight, of which some are not finite."""
    if x == -1:
        return math.nan
    return math.inf if x == -2 else -math.inf if x == -3 else x / 10


@ws.vertex_program
class Wholes:
    x: ws.int64
    label: ws.vertex_value(ws.int64)
    w: ws.edge(ws.int64)
    max_iter = 1
    combine = ws.mode(weighted=True)

    def init(own):
        return own.label

    def compute(src, edge):
        return whole(src.x), edge.w * 2**58

    def apply(gathered):
        return gathered


@ws.vertex_program
class Counted:
    x: ws.float64
    label: ws.vertex_value(ws.int64)
    max_iter = 1
    combine = ws.mode()

    def init(own):
        return own.label

    def compute(src):
        return rational(src.x)

    def apply(gathered):
        return gathered


@ws.vertex_program
class Floats:
    x: ws.float64
    label: ws.vertex_value(ws.int64)
    w: ws.edge(ws.int64)
    max_iter = 1
    combine = ws.mode(weighted=True)

    def init(own):
        return own.label

    def compute(src, edge):
        return narrow(src.x), heavy(edge.w)

    def apply(gathered):
        return gathered


@ws.vertex_program
class Flags:
    x: ws.float64
    label: ws.vertex_value(ws.int64)
    w: ws.edge(ws.int64)
    max_iter = 1
    combine = ws.mode(weighted=True)

    def init(own):
        return own.label

    def compute(src, edge):
        return flag(src.x), heavy(edge.w)

    def apply(gathered):
        return gathered


def wrapped(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


def added(weights: list[Any], chunk: int = CHUNK) -> Any:
    """Return the sum of the weights' chunks; of whole numbers, as int64 has it."""
    if all(isinstance(one, int) for one in weights):
        return wrapped(sum(weights))
    total = 0.0
    for first in range(0, len(weights), chunk):
        part = 0.0
        for weight in weights[first : first + chunk]:
            part += weight
        total += part
    return total


def heaviest(labels: list[Any], weights: list[Any]) -> Any:
    """Return the label of the greatest total, the least of several; a total that is NaN is below all."""
    by_label: dict[Any, list[Any]] = {}
    for label, weight in zip(labels, weights, strict=True):
        by_label.setdefault(None if label != label else label + 0, []).append(weight)
    totals = {label: added(some) for label, some in by_label.items()}

    def rank(label: Any) -> Any:
        total = totals[label]
        return (total != total, 0 if total != total else -total, label is None, label or 0)

    chosen = min(totals, key=rank)
    return math.nan if chosen is None else chosen


CASES = {
    "counted": (Counted, rational, lambda x: 1, (1, 2)),
    "whole": (Wholes, whole, lambda x: wrapped(x * 2**58), (0, 4)),
    "negative": (Wholes, whole, lambda x: wrapped(x * 2**58), (-9, 9)),
    "tenths": (Floats, narrow, heavy, (0, 4)),
    "any floats": (Floats, narrow, heavy, (-3, 4)),
    "flags": (Flags, flag, heavy, (0, 4)),
}


@pytest.mark.parametrize("engine", ["python", "cpu"])
@pytest.mark.parametrize("case", CASES)
def test_sums_are_those_of_chunks_in_the_order_of_sources(case: str, engine: str) -> None:
    """Rows of every length about a chunk's, of few labels and of many."""
    program, made, weighed, (low, high) = CASES[case]
    rng = np.random.default_rng(5)
    for labels in (2, 9, 400):
        into = np.repeat(np.arange(len(LENGTHS)), LENGTHS)
        source = len(LENGTHS) + rng.integers(0, 300, len(into))
        given = rng.integers(3 if labels == 2 else 0, 3 + labels, len(LENGTHS) + 300)
        frame = pd.DataFrame(
            {"source": source, "destination": into, "w": rng.integers(low, high, len(into))}
        )
        count = int(frame.to_numpy().max()) + 1 if len(frame) else 0
        vertices = pd.DataFrame({"vertex": range(count)})
        graph = ws.Graph(frame, attributes=["w"], vertices=vertices)
        result = ws.run(
            program, graph, label=dict(enumerate(given[:count].tolist())), engine=engine
        )
        got = result.frame["x"].tolist()
        for vertex, row in frame.sort_values("source", kind="stable").groupby("destination"):
            values = [made(int(given[one])) for one in row["source"]]
            wanted = heaviest(values, [weighed(int(one)) for one in row["w"]])
            np.testing.assert_equal(got[vertex], wanted)
            assert wanted != 0 or math.copysign(1, got[vertex]) == 1


@ws.vertex_program
class Given:
    x: ws.int64
    label: ws.vertex_value(ws.int64)
    w: ws.edge(ws.float64)
    max_iter = 1
    combine = ws.mode(weighted=True)

    def init(own):
        return own.label

    def compute(src, edge):
        return src.label, edge.w

    def apply(gathered):
        return gathered


def check_rows(rows: list[list[tuple[int, float]]], engine: str) -> None:
    """Compare what vertices choose from given labels and weights, each from a source of its own."""
    messages = [one for row in rows for one in row]
    source = len(rows) + np.arange(len(messages))
    frame = pd.DataFrame({
        "source": source,
        "destination": np.repeat(np.arange(len(rows)), [len(row) for row in rows]),
        "w": [weight for _, weight in messages],
    })  # fmt: skip
    labels = [0] * len(rows) + [label for label, _ in messages]
    graph = ws.Graph(frame, attributes=["w"])
    result = ws.run(Given, graph, label=dict(enumerate(labels)), engine=engine)
    wanted = [heaviest(*map(list, zip(*row, strict=True))) for row in rows]
    assert result.frame["x"].tolist()[: len(rows)] == wanted


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_totals_that_tie_only_in_chunks(engine: str) -> None:
    weights = (1 / np.random.default_rng(12).random(400)).tolist()
    total = added(weights)
    others = [added(weights, chunk) for chunk in (CHUNK - 1, CHUNK + 1, CHUNK // 2, 400)]
    assert total not in others
    some = [(5, weight) for weight in weights]
    near = (float(np.nextafter(total, 0)), float(np.nextafter(total, 999)))
    rows = [
        [*some, (label, weight), *more]
        for label in (3, 9)
        for weight in (total, *others, *near)
        for more in ([], [(1, -1.0)], [(1, 0.5), (1, -1.5)])
    ]
    check_rows(rows, engine)


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_a_label_like_a_free_slot(engine: str) -> None:
    """It comes before and after others, which would take its slot; another row has left its total."""
    rng = np.random.default_rng(1)
    rows = []
    for count in [60, 2, 5] * 12 + [200] * 4:
        others = [(int(one), 1.0) for one in rng.integers(LEAST + 1, 2**63 - 1, count)]
        free = (LEAST, 1.0)
        rows += [[free, *others, free], [free, *others, others[0]], [free, *others, (LEAST, -1.0)]]
    check_rows(rows, engine)
