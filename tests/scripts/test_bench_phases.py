"""Where the time of a call on a cluster goes, as `python -m bench phases` shows it."""

from __future__ import annotations

import os

import pytest
from ci_scripts import of
from clusters import workers_in

from cugraph_ws.dask.client import RankTasks
from cugraph_ws.execution import vertex_loop

pytestmark = pytest.mark.xdist_group("cluster")


def test_phases_are_indented_below_what_they_are_a_part_of():
    phases = [
        ("part", 1.002, 1.003, 7),
        ("whole", 1.001, 1.006, 7),
        ("part of the part", 1.0025, 1.003, 7),
        ("elsewhere", 1.002, 1.009, 8),
        ("after", 1.006, 1.0065, 7),
    ]
    found = of("cluster.phases").rows(phases, 1.0)
    assert [line[19:] for line in found] == [
        "whole", "elsewhere", "  part", "    part of the part", "after",
    ]  # fmt: skip
    assert found[0].split()[:2] == ["1.00", "5.00"]


def test_functions_are_as_before_afterwards():
    into = []
    usual = RankTasks.join
    installed = of("cluster.phases").install(into, {"dask.client": ("RankTasks.join",)}, gpu=False)
    assert RankTasks.join is not usual
    with pytest.raises(AttributeError):
        RankTasks.join(None)
    (phase,) = into
    assert phase[0] == "RankTasks.join", "those that fail count too"
    installed.close()
    assert RankTasks.join is usual


def test_watched_functions_exist():
    """On this machine all but what needs CuPy can be imported."""
    phases = of("cluster.phases")
    for watched in (phases.WATCHED, phases.CLIENT):
        phases.install([], watched, gpu=False).close()
    assert vertex_loop.bind.__module__ == "cugraph_ws.program.binding"


def test_a_call(capsys):
    of("cluster.phases").main(["bfs", "--scale", "6", "--workers", "2"])
    told = capsys.readouterr().out
    assert told.startswith("bfs: ")
    own, first_rank = told.split("on the first rank")
    assert "RankTasks.join" in own
    for name in ("call_directly", "  bind", "VertexLoop.step", "ShardGraph.vertex_frame"):
        assert name in first_rank
    assert "call_rank" in first_rank or "take_rank" in first_rank, (
        "by how long the call before took"
    )


def test_a_worker_for_each_environment():
    with workers_in([{"CUGRAPH_WS_TEST": name} for name in ("one", "two")]) as client:
        assert sorted(client.run(os.getenv, "CUGRAPH_WS_TEST").values()) == ["one", "two"]
