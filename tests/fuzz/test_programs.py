"""Short runs of the random programs: many as plain Python, some compiled."""

from __future__ import annotations

from collections.abc import Iterator

import hypothesis
import pytest
from conftest import COMPILED
from hypothesis import strategies as st

from fuzz.edges import EdgeCase, check_edges, write_edges
from fuzz.phases import PhasedCase, check_phases, write_phases
from fuzz.programs import Case, Choices, Tally, check, quick_loops, write_case

# The same in each run; `ci/by_hand.sh fuzz` has as many as take long, of other seeds
UNCOMPILED, IN_PHASES, OF_EDGES, BUNDLES, MEMBERS, ALONE = 100, 30, 50, 2, 5, 3
NUMBERS = [st.integers(0, most) for most in range(40)]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Write cases by choices that can be shrunk."""
    return write_case(Choices(lambda n: draw(NUMBERS[n - 1])))


@st.composite
def phased_cases(draw: st.DrawFn) -> PhasedCase:
    """Write cases of phases by choices that can be shrunk."""
    return write_phases(Choices(lambda n: draw(NUMBERS[n - 1])))


@st.composite
def edge_cases(draw: st.DrawFn) -> EdgeCase:
    """Write cases of edge programs by choices that can be shrunk."""
    return write_edges(Choices(lambda n: draw(NUMBERS[n - 1])))


many = hypothesis.settings(
    max_examples=UNCOMPILED,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)


@pytest.fixture(autouse=True, scope="module")
def quickly() -> Iterator[None]:
    """Have the loops' own files compiled once."""
    with quick_loops():
        yield


@pytest.mark.timeout(600)
@many
@hypothesis.given(case=cases())
def test_programs_as_plain_python(case: Case) -> None:
    check(case, Tally())


@hypothesis.settings(many, max_examples=IN_PHASES)
@hypothesis.given(case=phased_cases())
def test_phases_as_plain_python(case: PhasedCase) -> None:
    check_phases(case, Tally())


@hypothesis.settings(many, max_examples=OF_EDGES)
@hypothesis.given(case=edge_cases())
def test_edge_programs_as_plain_python(case: EdgeCase) -> None:
    check_edges(case, Tally())


@pytest.mark.skipif(not COMPILED, reason="there is no compiler")
def test_compiled_programs() -> None:
    tally = Tally()
    for seed in range(BUNDLES):
        check(write_case(Choices.seeded(seed), members=MEMBERS, engine="cpu"), tally)
    for seed in range(ALONE):  # what is proved is proved of one program
        check(write_case(Choices.seeded(seed), engine="cpu", in_order=True), tally)
    assert tally.programs == BUNDLES * MEMBERS + ALONE == 13
    assert tally.comparisons > tally.programs // 2
