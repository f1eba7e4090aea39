"""Stable sorting in pieces: as NumPy's, with looks in between."""

from __future__ import annotations

import numpy as np
import pytest

from cugraph_ws.runtime import stable_order as module
from cugraph_ws.runtime.looks import watched_by
from cugraph_ws.runtime.stable_order import stable_order

LARGE = np.iinfo(np.int64)
rng = np.random.default_rng(3)
KEYS = {
    "empty": np.zeros(0, np.int64),
    "one": np.array([5]),
    "random": rng.integers(LARGE.min, LARGE.max, 1000),
    "few": rng.integers(0, 3, 1000),
    "equal": np.full(1000, LARGE.max),
    "ascending": np.sort(rng.integers(0, 99, 1000)),
    "descending": np.arange(1000)[::-1],
    "one great": np.append(np.zeros(999, np.int64), LARGE.max)[::-1],
    "int32": rng.integers(0, 50, 1000).astype(np.int32),
    "a piece and one": rng.integers(0, 50, 65),
}


class Counting:
    """A watch that counts looks."""

    looks = 0

    def look(self) -> None:
        self.looks += 1

    def look_together(self) -> None:
        raise AssertionError


@pytest.mark.parametrize("name", KEYS)
def test_the_order_is_numpys(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(module, "PIECE", 64)
    order = stable_order(np, KEYS[name])
    assert order.dtype == np.int64
    assert np.array_equal(order, np.argsort(KEYS[name], kind="stable"))


def test_many_keys_are_sorted_with_looks_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PIECE", 64)
    watch = Counting()
    with watched_by(watch):
        stable_order(np, KEYS["random"])
    assert watch.looks >= 1000 // 64
