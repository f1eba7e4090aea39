"""The halo of a small graph on two ranks: what ghosts and owners hold after each operation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from thread_ranks import on_ranks, share

import cugraph_ws as ws
from cugraph_ws.partition.part import Part

RING = pd.DataFrame({"source": [0, 1, 2, 3], "destination": [1, 2, 3, 0]})


def on_two_ranks(work: Any) -> list[Any]:
    with ws.Graph(RING, directed=False) as graph:
        return on_ranks(2, lambda comm: work(Part(share(graph, comm), on_device=False)))


@pytest.mark.parametrize("value", [0, -1, 7])
@pytest.mark.parametrize("columns", [(), (2,)])
def test_ghosts_take_any_value_of_their_owners(value, columns):
    def work(part: Part) -> np.ndarray:
        column = np.full((part.size, *columns), 99)
        column[: part.owned] = value
        part.halo.update(column)
        return column

    for column in on_two_ranks(work):
        np.testing.assert_array_equal(column, np.full((4, *columns), value))


def test_several_columns_are_updated_each_from_its_own():
    def work(part: Part) -> tuple[np.ndarray, np.ndarray]:
        numbers, signs = np.full(part.size, 99), np.ones(part.size)
        numbers[: part.owned] = part.numbers[: part.owned]
        signs[: part.owned] = -0.0
        part.halo.update(numbers, signs)
        return numbers - part.numbers, np.signbit(signs)

    for differences, signs in on_two_ranks(work):
        assert not differences.any()
        assert signs.all()


@pytest.mark.parametrize("combine", [np.add, np.minimum, np.maximum])
def test_owners_combine_what_ghosts_hold(combine):
    def work(part: Part) -> list[int]:
        column = np.where(np.arange(part.size) < part.owned, 3, -2)
        part.halo.reduce(column, combine)
        return column[: part.owned].tolist()

    assert on_two_ranks(work) == [[int(combine(3, -2))] * 2] * 2


def test_changed_vertices_reach_the_ranks_that_hold_them():
    def work(part: Part) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        halo, values = part.halo, part.numbers * 10
        updates = halo.update_changed(
            np.ones(len(halo.ends), bool), lambda places: [values[places]]
        )
        pairs = [
            (part.numbers[at], value)
            for places, (box,) in updates
            for at, value in zip(places, box, strict=True)
        ]
        return sorted(pairs), sorted((at, 10 * at) for at in part.numbers[part.owned :])

    for found, expected in on_two_ranks(work):
        assert len(expected) == 2
        assert found == expected


def test_swaps_say_who_changed_and_bring_the_values_of_ghosts():
    def work(part: Part) -> tuple[list[int], list[int], dict[int, int]]:
        halo = part.halo
        ghosts = part.numbers[part.owned :]
        odd = part.numbers[halo.ends] % 2 == 1
        changed, reports, numbers = halo.swap(odd, ghosts < 2, ghosts * 10, np.array([7]))
        assert numbers == [7]
        told = {
            part.numbers[at]: value
            for places, box in reports
            for at, value in zip(places, box, strict=True)
        }
        return sorted(part.numbers[changed]), sorted(ghosts[ghosts % 2 == 1]), told

    told = {}
    for found, expected, values in on_two_ranks(work):
        assert found == expected
        told |= values
    assert told == {0: 0, 1: 10}
