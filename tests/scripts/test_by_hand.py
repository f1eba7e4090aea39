"""The record of the checks that run by hand."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import by_hand
import pytest


def saying(text: str, status: int = 0) -> list[str]:
    """Return a command that prints a text and ends with a status."""
    return [sys.executable, "-c", f"import sys; print({text!r}); sys.exit({status})"]


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> dict[str, by_hand.Check]:
    """Put two checks in the place of the real ones."""
    checks = {
        "first": by_hand.Check(
            lambda seed, jobs: [saying("begun\n== 3 passed =="), saying("a|b")], {}
        ),
        "second": by_hand.Check(lambda seed, jobs: [saying("broken", 4), saying("well")], {}),
    }
    monkeypatch.setattr(by_hand, "CHECKS", checks)
    return checks


def test_a_row_says_what_came_out_when_and_of_which_commit(
    planted: dict[str, by_hand.Check], tmp_path: Path
) -> None:
    record = tmp_path / "by-hand.md"
    assert by_hand.main(["second"], record) == 1
    assert by_hand.main(["first"], record) == 0
    first, second = record.read_text("utf-8").splitlines()[-2:]
    assert re.fullmatch(
        r"\| first \| passed: 3 passed; a/b \| \d{4}-\d\d-\d\d \d\d:\d\d UTC \| \d+\.\d \| "
        r"[0-9a-f]{12}(, changed)? \| \d+ \|",
        first,
    )
    assert second.startswith("| second | failed: broken; well | ")


def test_a_new_row_replaces_that_of_its_check_alone(
    planted: dict[str, by_hand.Check], tmp_path: Path
) -> None:
    record = tmp_path / "by-hand.md"
    by_hand.main([], record)
    before = by_hand.read_rows(record)
    planted["second"] = by_hand.Check(lambda seed, jobs: [saying("mended")], {})
    by_hand.main(["second"], record)
    after = by_hand.read_rows(record)
    assert list(after) == ["first", "second"]
    assert after["first"] == before["first"]
    assert "passed: mended" in after["second"]


def test_variables_and_seed_reach_the_commands(tmp_path: Path) -> None:
    tell = "import os, sys; print(os.environ['PLANTED'], *sys.argv[1:])"
    check = by_hand.Check(
        lambda seed, jobs: [[sys.executable, "-c", tell, str(seed), str(jobs)]], {"PLANTED": "here"}
    )
    assert by_hand.run_check(check, seed=20260102, jobs=3) == (True, "here 20260102 3")


def test_an_unknown_check_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        by_hand.main(["fuz"])
    assert "there is no check 'fuz'; choose of coverage, fuzz" in capsys.readouterr().err


def test_the_record_has_rows_of_checks_only() -> None:
    assert set(by_hand.read_rows(by_hand.RECORD)) <= set(by_hand.CHECKS)
    assert by_hand.RECORD.read_text("utf-8").startswith(by_hand.HEAD)
