"""Where programs without `starts` start: at the vertices unlike nearly all others, or everywhere."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any
from unittest.mock import patch

import cuda_cases
import numpy as np
import pandas as pd
import pytest
from emulator.device import emulated, launches
from programs import Labels, Reached

import cugraph_ws as ws
from cugraph_ws.backends.cpu import frontier

ENGINES = ("cpu", "cuda")


@pytest.mark.parametrize(
    ("unlike", "found"),
    [([], True), ([0], True), (range(1, 17), True), (range(0, 65, 2), False), (range(65), False)],
    ids=["none", "one", "a quarter", "half", "all"],
)
def test_a_sample_of_many_tells_whether_most_states_are_alike(unlike: Any, found: bool) -> None:
    places = frontier.sampled(1 << 16)
    assert (len(places), places[0], places[-1]) == (65, 0, (1 << 16) - 1)
    second = [-place if place in unlike else 1 for place in range(len(places))]
    place = frontier.common_place(places, [[0.0] * len(places), second])
    assert (place is not None) == found
    assert place is None or second[places.tolist().index(place)] == 1


def test_a_sample_of_few_has_its_most_frequent_state() -> None:
    places = frontier.sampled(20)
    assert len(places) == 9
    assert frontier.common_place(places, [[3, 1, 2, 2, 4, 5, 6, 7, 8]]) == places[2]
    assert frontier.common_place(places, [range(9)]) == 0


def traced(program: Any, many: int, engine: Any, **options: Any) -> tuple[Any, list[str]]:
    """Return the result of a run in which `many` vertices are many, and the kernels launched."""
    graph = cuda_cases.graph_of(cuda_cases.medley(), weighted=False)
    with (
        emulated() if engine == "cuda" else nullcontext(),
        patch.object(frontier, "MANY", many),
        launches() as launched,
    ):
        found = ws.run(program, graph, engine=engine, **options)
    return found, launched


@pytest.mark.parametrize("engine", ENGINES)
def test_states_that_all_differ_are_not_compared(engine: Any) -> None:
    found, launched = traced(Labels, 1, engine)
    expected, before = traced(Labels, 1 << 16, engine)
    pd.testing.assert_frame_equal(found.frame, expected.frame)
    assert found.trace["active"].tolist() == expected.trace["active"].tolist()
    if engine == "cuda":
        assert "mark_unlike" in before
        assert not {"mark_unlike", "count_changing_arcs", "count_changing_rows"} & set(launched)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_search_starts_where_its_source_is(engine: Any) -> None:
    found, launched = traced(Reached, 1, engine, start=[0])
    expected, _ = traced(Reached, 1 << 16, engine, start=[0])
    pd.testing.assert_frame_equal(found.frame, expected.frame)
    for one in (found, expected):
        assert np.asarray(one.trace["edges"])[0] < one.graph.number_of_arcs
    assert engine == "cpu" or "mark_unlike" in launched
