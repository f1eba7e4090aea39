"""`ws.mode` on an emulated GPU, which counts messages in tables, against sums in plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import zoo
from emulator.device import emulated
from label_tables import every_kind_of_row
from shapes import undirected
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.backends.cuda.modes import ModeTables
from cugraph_ws.runtime.device import device

LEAST, GREATEST = -(2**63), 2**63 - 1
RNG = np.random.default_rng(7)


def whole(x):
    """Return keys that a table might take for free slots, and the ends of their range."""
    if x == 1:
        return LEAST
    if x == 2:
        return GREATEST
    return -1 if x == 3 else -2 if x == 4 else x


def rational(x):
    if x == 1:
        return math.nan
    if x == 2:
        return math.inf
    if x == 3:
        return -math.inf
    return -0.0 if x == 4 else 0.0 if x == 5 else (x - 7) / 2


def narrow(x):
    return np.float32(rational(x))


def flag(x):
    return x > 4


KINDS = {"int64": whole, "float64": rational, "float32": narrow, "bool": flag}


# What weights are: by what whole ones are divided, or None for messages without weights
WEIGHTS = {"plain": None, "whole": 0, "exact floats": 8.0, "floats": 10.0}


def program_of(kind: str, divisor: float | None) -> Any:
    """Return a program that keeps the message it chooses."""
    made = KINDS[kind]

    def plain(src):
        return made(src.x)

    def weighed(src, edge):
        return made(src.x), edge.weight / divisor if divisor else edge.weight

    class Chosen:
        x: ws.int64
        got: ws.int64
        label: ws.vertex_value(ws.int64)
        weight: ws.edge(ws.int64)
        max_iter = 1
        combine = ws.mode(weighted=divisor is not None)
        compute = plain if divisor is None else weighed

        def init(own):
            return own.label, 77

        def apply(old, gathered):
            return old.x, gathered

    if kind in ("float64", "float32"):
        Chosen.__annotations__["got"] = ws.float64
    return ws.vertex_program(Chosen)


def best(labels: list[Any], weights: list[float]) -> Any:
    """Return the label of the greatest total, the least of several; NaN is above all others."""
    totals: dict[Any, float] = {}
    for label, weight in zip(labels, weights, strict=True):
        key = None if label != label else label + 0  # -0.0 is like 0.0
        totals[key] = totals.get(key, 0) + weight
    chosen = min(totals, key=lambda key: (-totals[key], key is None, key or 0))
    return math.nan if chosen is None else chosen


def rows_of(lengths: list[int], sources: int) -> pd.DataFrame:
    """Return edges into vertices 0, 1, … from the others, so many into each."""
    into = np.repeat(np.arange(len(lengths)), lengths)
    source = len(lengths) + RNG.integers(0, sources, len(into))
    weight = RNG.integers(-2, 5, len(into))
    return pd.DataFrame({"source": source, "destination": into, "weight": weight})


def expected(
    frame: pd.DataFrame, labels: Any, made: Callable[[int], Any], divisor: float | None
) -> Any:
    """Return what each vertex chooses; weights are added up in the order of sources."""
    found = np.full(len(labels), 77.0 if made in (rational, narrow) else 77).astype(object)
    for vertex, row in frame.sort_values("source", kind="stable").groupby("destination"):
        weights: list[float] = [1] * len(row)
        if divisor is not None:
            weights = (row["weight"] / divisor if divisor else row["weight"]).tolist()
        found[vertex] = best([made(int(labels[one])) for one in row["source"]], weights)
    return found


def check(
    frame: pd.DataFrame, kind: str, divisor: float | None, *, labels: int = 10, partitions: int = 1
) -> None:
    count = int(frame[["source", "destination"]].to_numpy().max()) + 1
    frame = pd.concat([
        frame, pd.DataFrame({"source": range(count), "destination": count, "weight": 1})
    ])  # fmt: skip
    values = RNG.integers(0, labels, count + 1)
    given = dict(enumerate(values.tolist()))
    program = program_of(kind, divisor)
    wanted = expected(frame, values, KINDS[kind], divisor)
    wanted = wanted.astype(np.int64 if kind in ("int64", "bool") else np.float64)
    graph = ws.Graph(frame, attributes=["weight"])
    for engine, parts in (("python", 1), ("cuda", partitions)):
        with emulated(seed=6):
            result = ws.run(
                program, graph, label=given, engine=engine, plan=ws.Plan(partitions=parts)
            )
        got = result.frame["got"].to_numpy()
        np.testing.assert_array_equal(got, wanted)
        if got.dtype == np.float64:
            assert not np.signbit(got[got == 0]).any(), "zero has one sign on every engine"


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_every_kind(kind: str, weights: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows for a thread, a warp, a block, and several for tables in global memory; ties in most."""
    every_kind_of_row(monkeypatch)
    rows = rows_of([0, 1, 2, 3, 4, 5, 6, 7, 20, 40, 70], 25)
    for partitions in (1, 3) if kind == "float64" else (1,):
        check(rows, kind, WEIGHTS[weights], partitions=partitions)


@pytest.mark.parametrize("labels", [3, 2000])
def test_long_rows(labels: int) -> None:
    """Rows at the ends of what is for a warp, and for a block; few labels, and nearly all distinct."""
    check(rows_of([8, 9, 128, 129, 1025], 1200), "int64", None, labels=labels)


@pytest.mark.parametrize(
    ("weights", "longest", "scale"),
    [
        ([1.0, -2.5, 0.0, 0.75], 100, 4.0),
        ([0.0, -0.0], 1, 1.0),
        ([3.0 * 2**60, 2.0**62], 1 << 20, 2.0**-60),
        ([1.0, 2.0**-40], 1 << 12, 2.0**40),
        ([1.0, 2.0**-40], (1 << 12) + 1, None),
        ([0.1], 1 << 1, 2.0**55),
        ([0.1, 0.3], 2, None),
        ([1.0, math.inf], 1, None),
        ([math.nan], 1, None),
        ([5e-324], 1, None),
    ],
)
def test_sums_of_floats_are_exact_or_depend_on_the_order(
    weights: list[float], longest: int, scale: float | None
) -> None:
    rows = np.array([0, longest])
    with emulated():
        for kind in ("float64", "float32"):
            values = np.array(weights, kind)
            tables = ModeTables(device(), rows, (np.zeros(1, np.int64), values), np.zeros(8))
            if kind == "float64" or (values == weights).all():
                assert tables.scale() == scale


def test_supersteps_are_queued_and_end_with_the_run() -> None:
    """Launches behind a run's end do nothing."""
    cliques = [(u, v) for low in (0, 5) for u in range(low, low + 5) for v in range(low, u)]
    source, destination = np.array([*cliques, (4, 5)]).T
    edges = undirected(Edges(source, destination, 10))
    graph = zoo.graph_of(edges)

    @ws.vertex_program
    class Labels:
        label: ws.int64
        residual = ws.max_norm("label")

        def init(vertex):
            return vertex

        def compute(src):
            return src.label

        combine = ws.mode()

        def apply(gathered):
            return gathered

    plain = ws.run(Labels, graph, engine="python", tol=0.5, max_iter=40)
    assert 2 < plain.iterations < 40
    with emulated(seed=2):
        result = ws.run(Labels, graph, engine="cuda", tol=0.5, max_iter=40)
    assert (result.iterations, result.stopped) == (plain.iterations, plain.stopped)
    assert result.frame.equals(plain.frame)
