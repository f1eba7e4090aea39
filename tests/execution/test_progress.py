"""Progress: the updates, their frequency, and stops by the callback."""

from __future__ import annotations

import io
import math
import sys

import pytest

from cugraph_ws.errors import InputError
from cugraph_ws.execution.progress import ProgressUpdate, Reporter, Share, facts, reporter


class Terminal(io.StringIO):
    """A text stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def an_update(**changes) -> ProgressUpdate:
    values = {
        "superstep": 3, "active": 1234, "edges": 5678901, "residual": math.nan,
        "tol": None, "max_iter": None, "seconds": 0.5,
    }  # fmt: skip
    return ProgressUpdate(**(values | changes))


def test_false_is_silent(capsys):
    with reporter(False, "bfs") as report:
        assert report.update(an_update()) is True
    assert capsys.readouterr() == ("", "")


def test_true_is_silent_in_a_pipe(capsys):
    with reporter(True, "bfs") as report:
        assert type(report) is Reporter
        assert report.update(an_update()) is True
    assert capsys.readouterr() == ("", "")


def test_true_without_a_stderr_is_silent(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    assert type(reporter(True, "bfs")) is Reporter


def test_true_draws_a_bar_on_a_terminal_and_wipes_it_out(monkeypatch, capsys):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with reporter(True, "pagerank") as report:
        assert report.update(an_update(residual=0.1, tol=1e-3, max_iter=50))
        report.bar.refresh()
        report.update(an_update(seconds=0.51, active=4321))  # too soon to be shown
        report.bar.refresh()
    text = terminal.getvalue()
    assert "pagerank" in text
    assert "1,234 active" in text
    assert "4,321" not in text
    assert text.rstrip().endswith("\x1b[2K"), "the bar is wiped out at the end"
    assert capsys.readouterr().out == ""


def test_the_bar_swings_where_the_end_is_unknown(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with reporter(True, "bfs") as report:
        report.update(an_update())
        assert report.bar.tasks[0].total is None
        report.update(an_update(residual=0.1, tol=0.1, max_iter=12, seconds=1.0))
        assert report.bar.tasks[0].percentage == 25.0


def test_always_writes_lines_at_most_once_a_second_and_the_last(capsys):
    with reporter("always", "sssp") as report:
        for step, seconds in enumerate([0.0, 0.2, 1.1, 1.2, 1.3], start=1):
            assert report.update(an_update(superstep=step, seconds=seconds))
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" · ")[0] for line in lines] == [
        "sssp: superstep 1",
        "sssp: superstep 3",
        "sssp: superstep 5",
    ]


def test_always_writes_the_last_line_only_once_and_nothing_for_no_superstep(capsys):
    with reporter("always", "sssp") as report:
        report.update(an_update())
    with reporter("always", "sssp"):
        pass
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize(
    ("answer", "goes_on"), [(None, True), (True, True), (0, True), ("", True), (False, False)]
)
def test_only_false_from_a_callback_stops(answer, goes_on):
    seen = []

    def callback(update):
        seen.append(update)
        return answer

    with reporter(callback, "bfs") as report:
        assert report.update(an_update(superstep=7)) is goes_on
    assert [update.superstep for update in seen] == [7]


def test_an_error_in_a_callback_reaches_the_user():
    def callback(update):
        raise KeyError(update.superstep)

    with pytest.raises(KeyError), reporter(callback, "bfs") as report:
        report.update(an_update())


@pytest.mark.parametrize("wrong", ["yes", 1, None, [True]])
def test_anything_else_is_refused(wrong):
    with pytest.raises(InputError, match="progress is"):
        reporter(wrong, "bfs")


def test_facts():
    assert facts(an_update()) == "superstep 3 · 1,234 active · 5.7 M edges"
    assert facts(an_update(active=43_210, edges=6 * 10**9)).endswith("43 k active · 6.0 G edges")
    assert facts(an_update(residual=0.00123)).endswith("residual 0.0012")
    assert facts(an_update(residual=0.00123, tol=1e-6)).endswith("residual 0.0012 → 1e-06")


def test_share_follows_the_logarithm_of_the_residual_and_never_falls():
    share = Share()
    shares = [share.of(an_update(residual=r, tol=1e-4)) for r in (1.0, 1e-2, 1e-1, 1e-4, 1e-9)]
    assert shares == pytest.approx([0.0, 0.5, 0.5, 1.0, 1.0])


def test_share_is_unknown_without_a_residual_or_a_limit():
    assert Share().of(an_update()) is None
    assert Share().of(an_update(residual=math.inf, tol=1e-3)) is None
    assert Share().of(an_update(residual=1e-4, tol=1e-3)) is None, "below it from the start"
    assert Share().of(an_update(max_iter=10)) is None, "a frontier program may end long before"
    assert Share().of(an_update(max_iter=6, tol=1e-3)) == 0.5
