"""The timer: turns, first calls, failures, figures and targets."""

from __future__ import annotations

import json

import pytest

from bench import tables, timing
from bench.timing import Entrant, Measured, Section


@pytest.fixture
def clock(monkeypatch):
    """Every call takes a second, the first of each entrant ten."""
    seen = set()

    def clocked(run):
        first = run not in seen
        seen.add(run)
        return 10.0 if first else 1.0, run()

    monkeypatch.setattr(timing, "clocked", clocked)


@pytest.mark.usefixtures("clock")
class TestRace:
    def test_the_first_call_is_shown_separately(self):
        section = Section("frames", "g")
        entrant = Entrant(
            "a", lambda: 4, lambda answer: 0.5, alone=lambda answer: 0.8,
            parts=lambda answer: answer, edges=lambda answer: 7, moved=lambda answer: 9,
        )  # fmt: skip
        measured = timing.race(section, "work", [entrant], 5, patience=5.0)["a"]
        assert (measured.first, measured.off, measured.parts, measured.edges, measured.bytes) == (
            10.0, 0.5, 4, 7, 9,
        )  # fmt: skip
        assert measured.seconds == [0.25] * 5
        assert measured.alone == [0.2] * 5
        assert section.timings == [measured]

    def test_entrants_take_turns(self):
        calls = []
        entrants = [Entrant(name, lambda name=name: calls.append(name)) for name in "ab"]
        timing.race(Section("frames", "g"), "work", entrants, 3, patience=5.0)
        assert "".join(calls) == "aabb" + "ab" * 3

    def test_a_failing_entrant_does_not_stop_the_others(self):
        def wrong(answer):
            raise AssertionError("not the answer")

        released = []
        entrants = [
            Entrant("wrong", lambda: 1, wrong), Entrant("right", lambda: 1, release=released.append)
        ]  # fmt: skip
        section = Section("frames", "g")
        assert list(timing.race(section, "work", entrants, 3)) == ["right"]
        assert section.errors == [
            {"what": "work, wrong", "error": "AssertionError: not the answer"}
        ]
        assert len(released) == 5

    def test_a_slow_entrant_runs_fewer_times(self):
        section = Section("frames", "g")
        (measured,) = timing.race(
            section, "work", [Entrant("a", lambda: 1)], 5, patience=0.5
        ).values()
        assert len(measured.seconds) == timing.FEW < 5

    @pytest.mark.parametrize(("short", "runs"), [(2.0, 9), (0.5, 3)])
    def test_short_calls_are_repeated_more_often(self, monkeypatch, short, runs):
        monkeypatch.setattr(timing, "SHORT", short)
        section = Section("frames", "g")
        (measured,) = timing.race(
            section, "work", [Entrant("a", lambda: 1)], 3, few=3, many=9
        ).values()
        assert len(measured.seconds) == runs


def test_targets_are_ratios_of_calls_and_of_algorithms_alone():
    timings = {
        "cugraph_ws": Measured("pagerank", "g", "cugraph_ws", [0.02, 0.02], alone=[0.01, 0.01]),
        "cuGraph": Measured("pagerank", "g", "cuGraph", [0.03, 0.05]),
    }
    section = Section("supersteps", "g")
    section.ratio("calls", timings, "cuGraph", 1.7)
    section.ratio("alone", timings, "cuGraph", 1.7, alone=True)
    section.ratio("nobody", timings, "cuSPARSE", 1.0, alone=True)
    section.ratio("more", timings, "cuGraph", 2.1)
    assert [(one.name, one.measured, one.met) for one in section.targets] == [
        ("calls", pytest.approx(2.0), True),
        ("alone", pytest.approx(4.0), True),
        ("more", pytest.approx(2.0), False),
    ]


def test_facts_for_the_file():
    section = Section("frames", "g")
    section.timings.append(Measured("build", "g", "cuGraph", [0.3, 0.1, 0.2], first=2.0))
    assert section.attempt("dividing", lambda: 1 / 0) is None
    facts = json.loads(json.dumps(section.facts()))
    figures = dict(zip(tables.FIGURES, facts["timings"]["build"]["cuGraph"], strict=True))
    assert figures["median"] == 200.0
    assert (figures["least"], figures["most"], figures["runs"]) == (100.0, 300.0, 3)
    assert figures["alone"] is None
    assert facts["errors"] == [{"what": "dividing", "error": "ZeroDivisionError: division by zero"}]
