"""Values of vertices in a cuDF frame are placed in one pass, and are those that a pandas frame gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
import stand_in_cudf
from cuda_cases import outcome
from emulator.device import emulated
from hypothesis import example, given
from hypothesis import strategies as st

from cugraph_ws import Graph
from cugraph_ws.graph.vertices import Vertices

IDS: dict[str, list[int]] = {  # of the graph's vertices
    "dense": [*range(40)],
    "gaps": [*range(3, 60, 3), 100, 101],
    "negative": [-120, -60, -3, 0, 8, 100, 127],
    "high": [2**40 + one for one in (0, 1, 4, 9, 700)],
    "above int64": [1, 2**63 - 1, 2**63, 2**63 + 5],
}
STRANGE = [-129, -1, 1, 2, 61, 128, 300, 2**40 + 2, 2**63 + 1]
TYPES = ("int8", "uint8", "int16", "int32", "uint32", "int64", "uint64")
DTYPES = ("float64", "float32", "int64", "int32", "int16", "bool")


@pytest.fixture(autouse=True)
def gpu() -> Iterator[None]:
    with emulated(), stand_in_cudf.installed():
        yield


def typed(ids: list[int], kind: str | None = None) -> Any:
    """Return ids as an array of the given type, or of the least that fits, if it fits."""
    for name in TYPES if kind is None else (kind,):
        if all(np.iinfo(name).min <= one <= np.iinfo(name).max for one in ids):
            return np.array(ids, name)
    return None


def graphs(kind: str) -> tuple[Graph, Graph]:
    """Return a graph of a pandas frame, and the same of a cuDF frame."""
    ends = typed(IDS[kind])
    frame = pd.DataFrame({"source": ends, "destination": ends[::-1].copy()})
    return Graph(frame), Graph(stand_in_cudf.DataFrame(frame))


def values_of(graph: Graph, data: Any, *asked: Any, **options: Any) -> Any:
    """Return what comes of asking for values; see `outcome`."""
    return outcome(lambda: graph.vertex_values(data, "prior", *asked, **options))


@st.composite
def rows(draw: Any) -> Any:
    """Draw a graph, a frame of values that may be wrong, the dtype and the default."""
    kind = draw(st.sampled_from(sorted(IDS)))
    ids = draw(st.sampled_from([IDS[kind], IDS[kind][::-1], IDS[kind][1:], IDS[kind][::2], []]))
    if draw(st.integers(0, 2)) == 0:
        one = draw(st.sampled_from(STRANGE + IDS[kind]))
        place = draw(st.integers(0, len(ids)))
        ids = [*ids[:place], one, *ids[place:]]
    kinds = [name for name in TYPES if typed(ids, name) is not None]
    count = len(ids)
    numbers = draw(
        st.sampled_from(
            [
                np.arange(count) - 2.5,
                np.arange(count, dtype=np.float32),
                np.arange(count) - 3,
                np.arange(count, dtype=np.int16),
                np.arange(count) % 2 == 0,
                np.where(np.arange(count) == 3, np.nan, -0.0),
                np.where(np.arange(count) == 1, np.inf, 1.0),
            ]
        )
    )
    data = {"vertex": typed(ids, draw(st.sampled_from(kinds or ["int64"]))), "v": numbers}
    if data["vertex"] is None:  # no type holds all these
        data = {"vertex": np.empty(0, np.int64), "v": np.empty(0)}
    return kind, data, draw(st.sampled_from(DTYPES)), draw(st.sampled_from([0, 1, None]))


@given(rows())
@example(("gaps", {"vertex": [3, 6, 6], "v": [1.0, 2.0, 3.0]}, "float64", 0))
@example(("gaps", {"vertex": [3, 7], "v": [1.0, 2.0]}, "float64", 0))
@example(("gaps", {"vertex": [3, 102], "v": [1.0, 2.0]}, "float64", 0))
@example(("dense", {"vertex": [3, 40], "v": [1.0, 2.0]}, "float64", 0))
@example(("dense", {"vertex": [3, 4], "v": [1.0, np.nan]}, "float64", 0))
@example(("dense", {"vertex": [3, 4], "v": [1.0, -np.inf]}, "float32", 0))
@example(("negative", {"vertex": typed([2**63 + 8, 8]), "v": [1, 2]}, "int64", 0))
@example(("negative", {"vertex": np.array([2**64 - 60, 8], np.uint64), "v": [1, 2]}, "int64", 0))
def test_values_and_errors_are_those_of_the_host(drawn: Any) -> None:
    kind, data, dtype, default = drawn
    with emulated(), stand_in_cudf.installed():
        host, made = graphs(kind)
        asked = np.dtype(dtype), default
        expected = values_of(host, pd.DataFrame(data), *asked)
        for on_device in (False, True):
            frame = stand_in_cudf.DataFrame(data)
            assert values_of(made, frame, *asked, on_device=on_device) == expected


@pytest.mark.parametrize("kind", ["dense", "gaps", "negative", "high"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_they_are_placed_in_one_pass(kind: str, dtype: str) -> None:
    made = graphs(kind)[1]
    ids = IDS[kind]
    frame = stand_in_cudf.DataFrame({"vertex": ids[::-1], "v": np.arange(len(ids)).astype(dtype)})
    with patch.object(Vertices, "_pairs", side_effect=AssertionError("in several")):
        values, marks = made.vertex_values(frame, "prior", np.dtype(dtype), on_device=True)
        some, few = made.vertex_values(frame[:1], "prior", np.dtype(dtype), default=1)
    assert values.tolist() == np.arange(len(ids)).astype(dtype)[::-1].tolist()
    assert marks.all()
    assert some.tolist() == [*np.ones(len(ids) - 1, dtype), values[-1]]
    assert few.tolist() == [False] * (len(ids) - 1) + [True]


@pytest.mark.parametrize(
    "data",
    [
        {"vertex": [3, 6], "u": [1, 2], "v": [3, 4]},
        {"vertex": [3.5, 6], "v": [3, 4]},
        {"vertex": ["3", "6"], "v": [3, 4]},
        {"id": [3, 6], "v": [3, 4]},
        {"vertex": [3, 4], "u": [1, 2], "v": [3, 4]},  # the unknown id comes before the columns
        {"vertex": [3, 6], "v": ["a", "b"]},
    ],
)
def test_errors_come_in_the_same_order(data: Any) -> None:
    host, made = graphs("gaps")
    expected = values_of(host, pd.DataFrame(data), float, 0)
    assert isinstance(expected, str)
    assert values_of(made, stand_in_cudf.DataFrame(data), float, 0) == expected


def test_arguments_are_not_modified() -> None:
    made = graphs("dense")[1]
    frame = stand_in_cudf.DataFrame({"vertex": np.arange(40), "v": np.arange(40.0)})
    values, marks = made.vertex_values(frame, "prior", float, on_device=True)
    values[:] = -1
    marks[:] = False
    assert frame["v"].to_numpy().tolist() == list(range(40))
