"""Profiles, edge programs and draws by weight on a GPU: what its events and its driver say, and the CPU's bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from shapes import random_edges, rmat
from zoo import graph_of
from zoo_edges import EDGE_ZOO

import cugraph_ws as ws
from cugraph_ws.runtime.device import device, has_device

if not has_device():
    pytest.skip("no GPU", allow_module_level=True)

EDGES = random_edges(300, 2400, seed=21)


def test_a_profile_has_times_bandwidth_and_occupancy() -> None:
    edges = rmat(16, 16, seed=3)
    frame = pd.DataFrame({"source": edges.source, "destination": edges.destination})
    with ws.Graph(frame) as graph:
        for program, given in (
            (ws.PageRank, {"max_iter": 20}),
            (ws.BFS, {"start": int(edges.source[0])}),
        ):
            profile = ws.run(program, graph, engine="cuda", profile=True, **given).profile
            rows = profile.frame
            assert 1e10 < profile.rate < 1e14
            assert (rows["milliseconds"] > 0).all()
            assert rows["occupancy"].between(0, 1, inclusive="right").all()
            known = rows["bandwidth"].notna()
            assert known.any()
            assert (rows["bandwidth"][known] > 0).all()
        assert ws.run(ws.BFS, graph, engine="cuda", start=int(edges.source[0])).teps > 0
    assert device().bandwidth == profile.rate


@pytest.mark.parametrize("entry", EDGE_ZOO, ids=str)
def test_edge_programs(entry: Any) -> None:
    opened, given = graph_of(EDGES), entry.given(EDGES.n)
    expected, found = (
        ws.run(entry.program, opened, engine=engine, **given).frame for engine in ("cpu", "cuda")
    )
    pd.testing.assert_frame_equal(found, expected, rtol=max(entry.tolerance, 1e-6))


@pytest.mark.parametrize("replace", [False, True])
def test_draws_by_weight_are_those_of_a_cpu(replace: bool) -> None:
    weights = np.random.default_rng(2).random(len(EDGES.source)) ** 8
    frame = pd.DataFrame(
        {"source": EDGES.source, "destination": EDGES.destination, "weight": weights}
    )
    samples = [
        ws.neighbor_sample(
            frame, range(300), [7, 5], batches=range(300), weighted=True, replace=replace,
            attributes="weight", engine=engine,
        )
        for engine in ("cpu", "cuda")
    ]  # fmt: skip
    pd.testing.assert_frame_equal(*samples)
