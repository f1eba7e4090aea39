"""What accelerated supersteps of HITS compute: inner products, combinations, and the best vector of a span."""

from __future__ import annotations

import numpy as np
import pytest
from emulator.device import emulated

from cugraph_ws.algorithms.rayleigh_ritz import best_of_span
from cugraph_ws.backends import loops
from cugraph_ws.runtime import threads


@pytest.mark.parametrize("on_device", [False, True], ids=["cpu", "cuda"])
def test_products_and_combinations(on_device: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "PIECE", 100)
    generator = np.random.default_rng(3)
    vectors = [generator.normal(size=700) for _ in range(6)]
    table = np.array(vectors) @ np.array(vectors[:3]).T
    upper = np.triu_indices(3)
    ends = vectors[0].max(), np.abs(vectors[1]).max()
    with emulated():
        backend = loops("rayleigh_ritz", on_device=on_device)
        found = backend.products(vectors)
        np.testing.assert_allclose(found[:12], [*table[:3].T[upper], *table[3:].T[upper]])
        assert found[12:].tolist() == list(ends)
        x, r, p, x_image, r_image, p_image = (one.copy() for one in vectors)
        backend.combine(vectors, (0.5, 2.0, -1.0, 0.25, 1.5))
        assert backend.products([np.empty(0)] * 6).tolist() == [0.0] * 14
    step, step_image = 2.0 * r - p, 0.25 * r_image - p_image
    image = 0.5 * x_image + step_image
    expected = 0.5 * x + step, image - 1.5 * (0.5 * x + step), step, image, r_image, step_image
    np.testing.assert_allclose(vectors, expected, rtol=1e-12, atol=1e-12)


def products_of(matrix: np.ndarray, *vectors: np.ndarray) -> np.ndarray:
    one = np.array(vectors)
    upper = np.triu_indices(3)
    return np.concatenate([(one @ one.T)[upper], (one @ matrix @ one.T)[upper]])


def test_the_best_vector_of_a_span() -> None:
    generator = np.random.default_rng(4)
    matrix = generator.normal(size=(5, 5))
    matrix = matrix @ matrix.T
    x, r, p = generator.normal(size=(3, 5))
    zero = np.zeros(5)
    for given in ((x, r, p), (x, 1e-9 * r, 1e-12 * p), (x, r, zero), (x, r, x + r)):
        found = best_of_span(products_of(matrix, *given).tolist())
        assert found is not None
        factors, quotient = found
        basis = np.linalg.svd(np.array([one for one in given if one.any()]), full_matrices=False)
        span = basis[2][basis[1] > 1e-13 * basis[1][0]]
        span = np.linalg.qr(np.array([x, r, p][: len(span)]).T)[0].T
        assert np.isclose(quotient, np.linalg.eigvalsh(span @ matrix @ span.T)[-1])
        vector = np.array(factors) @ np.array(given)
        assert np.isclose(np.linalg.norm(vector), 1.0)
        assert np.isclose(vector @ matrix @ vector, quotient)
        assert factors[0] >= 0.0
    for given in ((x, x, p), (x, zero, p), (zero, r, p), (np.inf * x, r, p)):
        with np.errstate(invalid="ignore"):
            assert best_of_span(products_of(matrix, *given).tolist()) is None
