"""The PageRank of each group is that of a call on it alone, and ends when that would."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import stand_in_cudf
from emulator.device import emulated
from grouped import alone, groups

import cugraph_ws as ws
from cugraph_ws.backends.cpu.loops import pagerank_of_groups


def test_every_group_ends_when_it_has_converged() -> None:
    edges = groups(9)
    for tol in (1e-2, 1e-8):
        ranks = ws.run_groups(ws.pagerank, edges, "group", tol=tol, max_iter=300)
        plan = ws.Plan(extrapolate="never")
        expected = alone(ws.pagerank, edges, ["group"], tol=tol, max_iter=300, plan=plan)
        pd.testing.assert_frame_equal(ranks, expected, rtol=1e-14)
        np.testing.assert_allclose(ranks.groupby("group").pagerank.sum(), 1.0)


def test_a_large_group_is_computed_in_several_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    edges = groups(9)
    wanted = ws.run_groups(ws.pagerank, edges, "group")
    monkeypatch.setattr(pagerank_of_groups, "WORK_A_STEP", 40)
    pd.testing.assert_frame_equal(ws.run_groups(ws.pagerank, edges, "group"), wanted)


def test_groups_that_do_not_converge_are_an_error_if_that_is_wanted() -> None:
    edges = groups(9)
    with pytest.raises(
        ws.ConvergenceError, match=r"max_iter=2 supersteps.*raise max_iter or tol"
    ) as caught:
        ws.run_groups(ws.pagerank, edges, "group", max_iter=2, tol=1e-9)
    ranks = ws.run_groups(
        ws.pagerank, edges, "group", max_iter=2, tol=1e-9, fail_on_nonconvergence=False
    )
    assert caught.value.result is not None
    pd.testing.assert_frame_equal(caught.value.result.frame, ranks)


@pytest.mark.parametrize("weight", [None, "weight"])
def test_a_gpu_computes_all_groups_at_a_time(weight: str | None) -> None:
    edges = groups(7, shuffled=False)[["group", "source", "destination", "weight"]]
    edges = edges.assign(group=edges.group.map(ord))
    with emulated(), stand_in_cudf.installed():
        for options in ({"tol": 1e-2}, {"tol": 0, "max_iter": 9, "fail_on_nonconvergence": False}):
            wanted = ws.run_groups(
                ws.pagerank, edges, "group", engine="cpu", weight=weight, **options
            )
            frame = stand_in_cudf.DataFrame(edges)
            result = ws.run_groups(ws.pagerank, frame, "group", weight=weight, **options)
            pd.testing.assert_frame_equal(pd.DataFrame(result), wanted, rtol=1e-12)


def test_weights_and_the_probability_are_checked() -> None:
    edges = groups(1)
    with pytest.raises(ws.InputError, match=r"alpha=1.5 must be between 0 and 1"):
        ws.run_groups(ws.pagerank, edges, "group", alpha=1.5)
    with pytest.raises(ws.InputError, match=r"weights must be 0 or more"):
        ws.run_groups(ws.pagerank, edges, "group", weight="signed")
