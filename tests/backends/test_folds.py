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
        one = generator.random(part.size)
        found = backend.sums(rows, which, one, weights)
        expected = [one[row] @ weights[arc] for row, arc in zip(parts, arcs, strict=True)]
        np.testing.assert_allclose(found, np.array(expected, float))
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
