"""NetworkX's own tests of the functions that the backend has."""

from __future__ import annotations

from networkx_suite import FAILURES, MODULES, Outcome, differences, run_suite


def test_failures_are_those_that_are_listed() -> None:
    outcome = run_suite(MODULES)
    assert outcome.reached > 300, outcome
    assert differences(outcome, MODULES) == []


def test_the_list_is_compared_both_ways() -> None:
    module, name = "components", next(name for name in FAILURES if name.startswith("components"))
    assert differences(Outcome(9, 5, {name}), [module]) == []
    assert differences(Outcome(9, 5, set()), [module]) == [f"{name} passed, but is listed"]
    other = f"{module}.tests.test_x::test_y"
    assert differences(Outcome(9, 5, {name, other}), [module]) == [
        f"{other} failed, and is not listed"
    ]
