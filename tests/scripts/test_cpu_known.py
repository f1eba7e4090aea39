"""`bench cpu known`: every function runs beside the libraries, and wrong answers are found."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from bench.cpu import known
from bench.cpu.cases import generated
from bench.timing import OURS, Section


def test_all_functions_run_and_agree() -> None:
    case = generated(6, 4)
    section = Section("known", case.name)
    known.known(case, section, repeats=1)
    assert section.errors == []
    entrants: dict[str, set[str]] = {}
    for timing in section.timings:
        entrants.setdefault(timing.job, set()).add(timing.library)
    assert set(entrants) == set(known.WORKS)
    assert all(OURS in one and len(one) > 1 for one in entrants.values())
    mean = next(one for one in section.targets if "geometric mean" in one.name)
    each = [one.measured for one in section.targets if "of the libraries" in one.name]
    assert len(section.targets) == len(each) + 1 + 2  # the mean; modularity, of Louvain and Leiden
    rows = section.tables[0]["rows"]
    alone = {row[0] for row in rows if not row[2]}  # nobody's partition is as good as ours
    assert alone <= {"Louvain", "Leiden"}
    assert len(each) == len(known.WORKS) - 1 - len(alone)  # not label propagation
    assert mean.measured == pytest.approx(np.exp(np.mean(np.log(each))))
    assert len(rows) == len(known.WORKS)


def test_a_better_but_slower_partition_is_no_rival_that_counts_less() -> None:
    """The fastest counts of those whose modularity is near ours."""
    found = {name: _took(name, seconds) for name, seconds in ((OURS, 2.0), ("a", 1.0), ("b", 3.0))}
    assert known._ratio(found, {OURS: 0.5, "a": 0.4, "b": 0.5}) == pytest.approx(1.5)
    assert known._ratio(found, {}) == pytest.approx(0.5)
    assert known._ratio({OURS: found[OURS]}, {}) is None


def _took(library: str, seconds: float) -> known.Measured:
    return known.Measured("job", "graph", library, seconds=[seconds])


@pytest.mark.parametrize(
    ("agree", "ours", "theirs"),
    [
        (known.exactly, [1, 2, 3], [1, 2, 4]),
        (known.nearly, [1.0, 2.0, 3.0], [1.0, 1.9, 3.0]),
        (known.alike, [1, 1, 2], [1, 2, 2]),
        (known.alike, [1, 1, 2], [1, 1, 1]),
    ],
)
def test_wrong_answers_are_found(
    agree: Callable[..., float], ours: list[float], theirs: list[float]
) -> None:
    assert agree(np.array(ours), np.array(ours) * 2 if agree is not known.exactly else ours) == 0
    with pytest.raises(AssertionError):
        agree(np.array(ours), np.array(theirs))
