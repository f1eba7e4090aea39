"""Searches with a bit for each on an emulated GPU: many levels in one launch, and in pieces."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from emulator.device import EmulatedDevice

import cugraph_ws as ws
from cugraph_ws.backends.cuda.loops import batched_searches
from cugraph_ws.runtime.device import installed

PATH = pd.DataFrame({"source": np.arange(200), "destination": np.arange(200) + 1})
_random = np.random.default_rng(3)
RANDOM = pd.DataFrame(
    {"source": _random.integers(0, 60, 150), "destination": _random.integers(0, 60, 150)}
)
CALLS: dict[str, Any] = {
    "closeness": lambda graph, engine: ws.closeness_centrality(graph, engine=engine),
    "harmonic of a sample": lambda graph, engine: ws.harmonic_centrality(
        graph, k=40, engine=engine
    ),
    "eccentricity": lambda graph, engine: ws.eccentricity(graph, connected=False, engine=engine),
}


def test_all_levels_are_in_one_launch() -> None:
    """A search along 200 levels takes as many launches as along two."""
    launches = []
    for ends in (PATH[-2:], PATH):
        with installed(EmulatedDevice()) as device, ws.Graph(ends) as graph:
            farthest = ws.closeness_centrality(graph, [200], engine="cuda")
            before = device.launches
            again = ws.closeness_centrality(graph, [200], engine="cuda")
            launches.append(device.launches - before)
        assert again.equals(farthest)
    assert launches[0] == launches[1]


@pytest.mark.parametrize("edges", [PATH[:40], RANDOM], ids=["path", "random"])
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(("room", "levels"), [(1, 3), (100, 1 << 12)])
def test_levels_go_on_in_further_launches(
    call: str, edges: pd.DataFrame, room: int, levels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Launches of few levels, or with room for few vertices, add up to the results of a CPU, bit by bit."""
    monkeypatch.setattr(batched_searches, "ROOM", room)
    monkeypatch.setattr(batched_searches, "MOST_LEVELS", levels)
    for directed in (True, False):
        with installed(EmulatedDevice()), ws.Graph(edges, directed=directed) as graph:
            expected = CALLS[call](graph, "cpu")
            pd.testing.assert_frame_equal(CALLS[call](graph, "cuda"), expected, check_exact=True)
