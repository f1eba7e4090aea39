"""Vectors of Krylov spaces: what `test_krylov.py` leaves to run uncompiled too."""

from __future__ import annotations

import numpy as np
import pytest
from emulator.device import emulated

from cugraph_ws.backends import loops


@pytest.mark.parametrize("n", [0, 1, 33, 300, 70_000])
def test_shifts_and_combinations(n: int) -> None:
    generator = np.random.default_rng(n)
    vectors, factors = generator.random((5, n)), generator.random((2, 4))
    sums, expected = generator.random(n), factors @ vectors[:4]
    next_one = 2.0 * sums - 0.5 * vectors[0]
    with emulated(multiprocessors=1):
        for on_device in (False, True) if n <= 300 else (False,):
            loop, given, found = loops("krylov", on_device=on_device), vectors.copy(), np.empty(n)
            mixed, square = loop.shift(sums, vectors[0], found, scale=2.0, by=0.5)
            assert found == pytest.approx(next_one, rel=1e-13)
            assert mixed == pytest.approx(next_one @ vectors[0], rel=1e-12)
            assert square == pytest.approx(next_one @ next_one, rel=1e-12)
            squares = loop.combine(given, n, factors)
            assert given[:2] == pytest.approx(expected, rel=1e-12)
            assert squares == pytest.approx((expected * expected).sum(axis=1), rel=1e-12)
            assert np.array_equal(given[2:], vectors[2:])
