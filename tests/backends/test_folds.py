"""Folds over rows of neighbours: the kernels' sums and words are NumPy's, on both backends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulator.device import emulated
from shapes import SHAPES, build

from cugraph_ws.algorithms.neighbourhood import OPERATIONS
from cugraph_ws.backends import loops
from cugraph_ws.backends.cpu.loops import folds
from cugraph_ws.backends.cuda.loops import folds as on_gpu
from cugraph_ws.partition.neighbourhoods import row_numbers, rows_by_marks
from cugraph_ws.partition.part import Part

FOLDS = {"min": np.minimum, "max": np.maximum, "or": np.bitwise_or}


@pytest.mark.parametrize(
    ("on_device", "long"), [(False, 0), (True, 1024), (True, 2)], ids=["cpu", "cuda", "long rows"]
)
@pytest.mark.parametrize("name", ["random sparse", "33 vertices", "all isolated", "self-loops"])
def test_folds_are_those_of_numpy(
    name: str, on_device: bool, long: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folds, "WORK_A_TASK", 7)
    monkeypatch.setattr(on_gpu, "LONG", long)
    generator = np.random.default_rng(5)
    with emulated(), build(SHAPES[name]) as graph:
        part = Part(graph, on_device=on_device)
        backend, rows = loops("folds", on_device=on_device), part.csc
        which = np.flatnonzero(generator.random(part.owned) < 0.6)
        parts = [rows.indices[rows.offsets[row] : rows.offsets[row + 1]] for row in which]
        arcs = [np.arange(rows.offsets[row], rows.offsets[row + 1]) for row in which]
        weights = generator.random(len(rows.indices))
        some = generator.random((part.size, 3))
        found = backend.sums(rows, which, some, None)
        np.testing.assert_allclose(found, _array([some[row].sum(axis=0) for row in parts], 3))
        marks = (generator.random(part.size) < 0.5).astype(np.uint8)
        found = backend.sums(rows, which, some * marks[:, None], None, marks)
        chosen = _array([some[row][marks[row] > 0].sum(axis=0) for row in parts], 3)
        np.testing.assert_allclose(found, chosen)
        found = backend.sums(rows, which, some, weights)
        expected = [weights[arc] @ some[row] for row, arc in zip(parts, arcs, strict=True)]
        np.testing.assert_allclose(found, _array(expected, 3))
        lengths = np.where(generator.random((part.size, 3)) < 0.3, np.inf, some)
        found = backend.nearest(rows, which, lengths, weights)
        expected = [
            (weights[arc, None] + lengths[row]).min(axis=0, initial=np.inf)
            for row, arc in zip(parts, arcs, strict=True)
        ]
        assert found.tolist() == _array(expected, 3).tolist()
        lengths, steps = np.floor(4 * lengths), weights.round()
        for forward in (False, True):
            found = backend.tight(rows, which, some, lengths, steps, forward)
            expected = []
            for own, row, arc in zip(which, parts, arcs, strict=True):
                ends = (lengths[own], lengths[row]) if forward else (lengths[row], lengths[own])
                ahead = (ends[0] + steps[arc, None] == ends[1]) & (ends[1] < np.inf)
                expected.append((some[row] * ahead).sum(axis=0))
            np.testing.assert_allclose(found, _array(expected, 3))
        words = generator.integers(-(2**62), 2**62, part.size)
        for operation, (code, identity) in OPERATIONS.items():
            found = backend.words(rows, which, words, code, identity)
            fold = FOLDS[operation].reduce
            assert found.tolist() == [int(fold(words[row], initial=identity)) for row in parts]


def _array(rows: list[Any], columns: int) -> Any:
    return np.array(rows).reshape(len(rows), columns)


@pytest.mark.parametrize("weighted", [False, True], ids=["edges", "weights"])
@pytest.mark.parametrize(
    "name", ["random sparse", "33 vertices", "star", "all isolated", "self-loops", "random"]
)
def test_sums_of_all_rows_are_those_of_numpy(
    name: str, weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long rows and such that are cut lie among short ones: the rows of the CSR are in any order."""
    monkeypatch.setattr(on_gpu, "SHORT", 3)
    monkeypatch.setattr(on_gpu, "PIECE", 5)
    monkeypatch.setattr(on_gpu, "THREADS", 64)
    generator = np.random.default_rng(6)
    with emulated(), build(SHAPES[name]) as graph:
        for on_device in (False, True):
            part, backend = Part(graph, on_device=on_device), loops("folds", on_device=on_device)
            for rows in (part.csc, part.csr):
                values, weights = generator.random(part.size), generator.random(len(rows.indices))
                ends = zip(rows.offsets[:-1], rows.offsets[1:], strict=True)
                expected = [
                    values[rows.indices[first:last]]
                    @ (weights[first:last] if weighted else np.ones(last - first))
                    for first, last in ends
                ]
                classes = backend.classes_of(rows, part.size)
                given = weights if weighted else None
                found = [backend.sums_of_all(rows, classes, values, given) for _ in range(2)]
                np.testing.assert_allclose(found[0], np.array(expected, float))
                assert found[0].tobytes() == found[1].tobytes()
                if on_device:
                    unread = np.full(part.size, np.nan)
                    given = rows, classes, given, values, unread, np.ones(1)
                    for launch in on_gpu.prepare_sums(*given):
                        launch()
                    assert np.isnan(unread).all(), "the run is over"


@pytest.mark.parametrize("lengths", [[], [0, 0], [3, 0, 2, 0], [0, 1, 0, 0, 4]])
def test_rows_of_entries(lengths: list[int]) -> None:
    offsets, count = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]), sum(lengths)
    assert rows_by_marks(np, offsets, count).tolist() == row_numbers(np, offsets, count).tolist()
