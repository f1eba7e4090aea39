"""Counts and sums by bin; a GPU's, with NumPy's arrays in the place of CuPy's."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cugraph_ws.runtime import bins
from cugraph_ws.runtime.bins import bin_counts, bin_sums


class Elsewhere(np.ndarray[Any, Any]):
    """An array that is not on the host."""


@pytest.fixture(params=["host", "device"])
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what puts an array where the test is to run."""
    if request.param == "host":
        return np.array
    # `isinstance` of the module under test sees no array of the host
    monkeypatch.setattr(bins, "device", lambda: SimpleNamespace(xp=np))
    other = SimpleNamespace(**{**vars(np), "ndarray": Elsewhere})
    monkeypatch.setattr(bins, "np", other)
    return np.array


@pytest.mark.parametrize("given", [[], [0], [3, 0, 3, 3, 1]])
def test_counts(given: list[int], place: Any) -> None:
    found = bin_counts(place(given, np.int32), 5)
    assert found.dtype == np.int64
    assert found.tolist() == [given.count(one) for one in range(5)]


@pytest.mark.parametrize("kind", [np.int64, np.float32])
@pytest.mark.parametrize("given", [[], [2], [3, 0, 3, 3, 1]])
def test_sums(given: list[int], kind: Any, place: Any) -> None:
    values = [one / 2 + 1 if kind is np.float32 else one + 1 for one in range(len(given))]
    found = bin_sums(place(given, np.int64), place(values, kind), 5)
    assert found.dtype == np.float64
    expected = [sum(v for g, v in zip(given, values, strict=True) if g == one) for one in range(5)]
    assert found.tolist() == expected
