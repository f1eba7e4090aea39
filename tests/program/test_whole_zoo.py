"""A sample of `whole_zoo`: `ws.check` raises no false alarm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from conftest import COMPILED
from emulator.device import emulated
from program.whole_zoo import CHECKED, PLAIN, TYPED, check
from zoo import remembering

import cugraph_ws as ws

ABLE = [entry for entry in CHECKED if str(entry) not in PLAIN]
FEW = ("Shops", "SettledSum", "Tolls", "NotANumberAtFirst", "FlagsAdded", "Jaccard")
SAMPLE = (
    [entry for entry in ABLE if str(entry) in FEW]
    if COMPILED
    else [entry for entry in ABLE if str(entry) not in TYPED][::6]
)
EMULATED = ABLE[5::40]


@pytest.fixture(autouse=True, scope="module")
def once() -> Iterator[None]:
    """Have each program's loops made once."""
    with remembering():
        yield


@pytest.mark.parametrize("entry", SAMPLE, ids=str)
def test_check_raises_no_false_alarm(entry: Any) -> None:
    report = check(entry, "random")
    assert report, str(report)
    assert len(report.configurations) > 3


@pytest.mark.parametrize("entry", EMULATED, ids=str)
def test_nor_on_an_emulated_gpu(entry: Any) -> None:
    with emulated():
        report = check(entry, "duplicates")
    found = [one for one in report.differences if "cuda" in one.configuration]
    assert not found, str(report)
    assert any("cuda" in one for one in report.configurations)


def test_what_cannot_be_compiled_is_no_difference_but_an_error() -> None:
    for entry in CHECKED:
        if str(entry) in PLAIN:
            with pytest.raises(ws.ProgramError, match=r"cannot be compiled.*engine='python'"):
                check(entry, "random")
