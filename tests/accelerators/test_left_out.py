"""CUGRAPH_WS_ACCELERATORS leaves accelerators out: the answers are the same, as each promises."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from cuda_cases import CASES, check_same, graph_of
from emulator.device import emulated
from plans import planned
from programs import Hops, Rank
from shapes import build, random_edges, rmat
from verify import check_pagerank

import cugraph_ws as ws
from cugraph_ws import accelerators
from cugraph_ws.accelerators.gshards import arc_shards
from cugraph_ws.accelerators.tiles import gathers, tiling
from cugraph_ws.backends.cpu import executor
from cugraph_ws.errors import EngineError, InputError
from cugraph_ws.program import modules
from cugraph_ws.runtime.communicator import SingleRank

EDGES = rmat(6, 4, seed=11)
BY_NAME = {case.name: case for case in CASES}
CHILD = """
import sys
import numpy as np
import pandas as pd
import cugraph_ws as ws
source, destination = np.random.default_rng(3).integers(0, 50, (2, 300))
edges = pd.DataFrame({"source": source, "destination": destination})
print(*ws.bfs(edges, int(source[0]))["distance"].fillna(-1).astype(int))
print(*ws.pagerank(edges, tol=0, max_iter=20, fail_on_nonconvergence=False)["pagerank"].map(float.hex))
print(*sorted(name for name in sys.modules if name.startswith("cugraph_ws.accelerators.")))
"""


def forget() -> None:
    """Have the environment variable read again, and programs compiled with the loops that it leaves."""
    for function in vars(accelerators).values():
        if hasattr(function, "cache_clear"):
            function.cache_clear()
    modules._modules.clear()


@pytest.fixture
def left_out(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leave all accelerators out."""
    monkeypatch.setenv(accelerators.VARIABLE, "none")
    forget()
    yield
    monkeypatch.undo()
    forget()


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let accelerators step in on small graphs too."""
    for name in ("LEAST_ARCS", "NEAR", "THIN", "NEW_LINES"):
        monkeypatch.setattr(gathers, name, 0)
    monkeypatch.setattr(executor, "SMALL_WORK", 0)  # or supersteps would run in one call, over rows
    monkeypatch.setattr(tiling, "BLOCK_BITS", 3)
    monkeypatch.setattr(arc_shards, "SHARED", 96)
    monkeypatch.setattr(arc_shards, "BLOCK", 32)


def test_gathers_have_the_same_bits(always: None, request: pytest.FixtureRequest) -> None:
    options = {"tol": 0.0, "max_iter": 6, "engine": "cpu"}
    with build(EDGES) as graph:
        with_tiles = ws.run(Rank, graph, **planned(**options))
    assert "tiles" in with_tiles.rows.layout
    request.getfixturevalue("left_out")
    with build(EDGES) as graph:
        plain = ws.run(Rank, graph, **planned(**options))
        assert graph.report.choices == {}
        assert "tiles" not in graph.report.layouts
    assert set(plain.rows.layout) == {"csc"}
    for name, column in plain.arrays.items():
        assert column.tobytes() == with_tiles.arrays[name].tobytes()


def test_sums_over_neighbours_have_the_same_bits(
    always: None, request: pytest.FixtureRequest
) -> None:
    def centrality() -> np.ndarray:
        with build(EDGES) as graph:
            values = [ws.eigenvector_centrality(graph, tol=1e-9) for _ in range(2)][-1]
            assert ("tiles" in graph.report.layouts) == bool(accelerators.enabled())
        return values["eigenvector_centrality"].to_numpy()

    expected = centrality()
    request.getfixturevalue("left_out")
    assert centrality().tobytes() == expected.tobytes()


def test_ranks_are_within_the_bound_of_the_error(left_out: None) -> None:
    with build(EDGES) as graph:
        result = ws.run(ws.PageRank, graph, tol=1e-8, max_iter=300)
        assert not any(result.rows.extrapolated)
        check_pagerank(EDGES, np.asarray(result.arrays["pagerank"]), 1e-8, alpha=0.85)


@pytest.mark.parametrize("name", ["minimum gathered", "sums with aggregates"])
def test_layouts_of_a_gpu(name: str, always: None, request: pytest.FixtureRequest) -> None:
    case = BY_NAME[name]
    options = {"engine": "cuda", "max_iter": 12, "in_place": False}
    if case.program.residual is not None:
        options["tol"] = 0.0

    def ran(**layout: str) -> ws.Result:
        with emulated(), graph_of(EDGES) as graph:
            return case.run(graph, direction="gather", **options, **layout)

    over_shards = ran(layout="gshards")
    assert set(over_shards.rows.layout) == {"gshards"}
    request.getfixturevalue("left_out")
    plain = ran()
    assert set(plain.rows.layout) == {"csc"}
    check_same(over_shards, plain, case)


@pytest.mark.parametrize(
    ("options", "accelerator"),
    [
        ({"layout": "tiles", "engine": "cpu"}, "tiles"),
        ({"layout": "gshards", "engine": "cuda"}, "gshards"),
        ({"layout": "windows", "engine": "cuda"}, "gshards"),
        ({"extrapolate": "always", "engine": "cpu"}, "extrapolation"),
    ],
    ids=str,
)
def test_what_is_left_out_is_refused_by_name(
    options: dict[str, str], accelerator: str, left_out: None
) -> None:
    words = rf"CUGRAPH_WS_ACCELERATORS='none' leaves out the accelerator '{accelerator}'; leave the"
    with (
        emulated(),
        build(random_edges(9, 20, seed=1)) as graph,
        pytest.raises(EngineError, match=words),
    ):
        ws.run(ws.PageRank, graph, **planned(**options))


def test_a_layout_left_out_has_no_estimate(left_out: None) -> None:
    with emulated(), pytest.raises(EngineError, match=r"layout='gshards': .* leaves out"):
        ws.estimate_memory(
            number_of_edges=20, number_of_vertices=9, engine="cuda", layout="gshards"
        )


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("", list(accelerators.ACCELERATORS)),
        ("none", []),
        ("tiles", ["tiles"]),
        ("gshards, extrapolation", ["extrapolation", "gshards"]),
    ],
)
def test_names_in_the_variable(
    given: str, names: list[str], left_out: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(accelerators.VARIABLE, given)
    forget()
    assert [accelerator.name for accelerator in accelerators.enabled()] == names


@pytest.mark.parametrize(("given", "unknown"), [("tiles,metis", "metis"), ("none,tiles", "none")])
def test_a_name_that_there_is_not_is_refused(
    given: str, unknown: str, left_out: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(accelerators.VARIABLE, given)
    forget()
    words = (
        rf"CUGRAPH_WS_ACCELERATORS='{given}': there is no accelerator '{unknown}'; give 'none', or"
    )
    with build(EDGES) as graph, pytest.raises(InputError, match=words):
        ws.run(Hops, graph, start=0)


def test_a_process_without_accelerators_loads_their_registrations_only() -> None:
    """Same distances and, with tiles and extrapolation out of play on a small graph, the same bits of ranks."""
    lines = {}
    for given in ("", "none"):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", CHILD],
            env={**os.environ, accelerators.VARIABLE: given},
            capture_output=True,
            text=True,
            check=True,
        )
        lines[given] = done.stdout.splitlines()
    assert lines["none"][:2] == lines[""][:2]
    assert lines["none"][2].split() == [
        f"cugraph_ws.accelerators.{name}" for name in sorted(accelerators.ACCELERATORS)
    ]
    assert "cugraph_ws.accelerators.tiles.gathers" in lines[""][2]
    assert "cugraph_ws.accelerators.gshards.layouts" not in lines[""][2]


class OtherRank(SingleRank):
    """A rank beside one that has another value of the variable."""

    def __init__(self, setting: str) -> None:
        self._setting = setting

    def allgather(self, value: object) -> list[object]:
        return [value, self._setting]


@pytest.mark.parametrize("setting", ["", "tiles"])
def test_ranks_that_leave_out_different_ones_are_refused(setting: str, left_out: None) -> None:
    """They would wait for each other."""
    accelerators.require_agreement(OtherRank("none"))
    words = rf"CUGRAPH_WS_ACCELERATORS is .*'{setting}'.*; set the same value on all workers"
    with pytest.raises(InputError, match=words):
        accelerators.require_agreement(OtherRank(setting))
