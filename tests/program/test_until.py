"""`until`: a run that ends by a condition on its aggregates."""

from __future__ import annotations

import pandas as pd
import pytest
import zoo_messages
from zoo_meetings import write

import cugraph_ws as ws

PATH = pd.DataFrame({"source": range(9), "destination": range(1, 10)})


@pytest.mark.parametrize("partitions", [None, 2])
def test_a_run_ends_when_half_have_it(partitions: int | None) -> None:
    plan = ws.Plan() if partitions is None else ws.Plan(partitions=partitions)
    result = ws.run(zoo_messages.UntilHalf, PATH, engine="python", plan=plan)
    assert result.arrays["ill"].tolist() == [True] * 5 + [False] * 5
    assert result.iterations == 4
    assert result.converged


def test_a_run_need_not_begin() -> None:
    pair = pd.DataFrame({"source": [0], "destination": [1]})
    result = ws.run(zoo_messages.UntilHalf, pair, engine="python")
    assert result.iterations == 0
    assert result.converged


@pytest.mark.parametrize(
    ("until", "more", "reason"),
    [
        ("p.superstep > 3", "", "reads no aggregate"),
        ("p.total > 3", "asynchronous = True", "leave out asynchronous = True"),
        ("p.total > 3", "in_place = True", "leave out in_place = True"),
        ("p.totals > 3", "", r"did you mean `total`"),
    ],
)
def test_conditions_that_make_no_sense_are_refused(until: str, more: str, reason: str) -> None:
    lines = "@ws.aggregate\ndef total(state):\n    return state.x\n" + more
    parts = {"compute": "src.x", "apply": "min(old.x, gathered)", "until": until}
    with pytest.raises(ws.ProgramError, match=reason):
        write("Refused", "It cannot be.", "x: ws.int64", "min", more=lines, **parts)
