"""Which layout a run on a GPU chooses: by the graph, the program and the run; by history where no bit depends on it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from cuda_cases import CASES, graph_of
from emulator.device import emulated
from plans import planned
from programs import Rank
from shapes import random_edges, rmat

import cugraph_ws as ws
from cugraph_ws.accelerators.gshards import arc_shards
from cugraph_ws.accelerators.gshards import layouts as layout_choice
from cugraph_ws.execution.options import Options
from cugraph_ws.execution.vertex_loop import VertexLoop

BY_NAME = {case.name: case for case in CASES}


@ws.vertex_program
class Walks:
    """Walks of every length that end at a vertex, of integers."""

    x: ws.int64

    def init(vertex):
        return 1

    def compute(src):
        return src.x % 1000

    combine = sum

    def apply(gathered):
        return gathered


@pytest.fixture(autouse=True)
def graphs_are_large(monkeypatch):
    """Let small graphs have shards that pay after ten supersteps."""
    monkeypatch.setattr(arc_shards, "SHARED", 96)
    monkeypatch.setattr(layout_choice, "SAMPLED_ARCS", 32)
    for name, value in (("LEAST_ARCS", 0), ("COST", 1.0), ("GAINS", ((1.0, 0.1),))):
        monkeypatch.setattr(layout_choice, name, value)


def layouts_of(program, graph, **options):
    result = ws.run(program, graph, **planned(engine="cuda", **{"tol": 0.0, **options}))
    return set(result.rows.layout), graph.report.choices[program.name]


def test_sums_of_floats_depend_on_the_run_alone():
    """However often the graph has been gathered: so the bits of a run are those of the same run before."""
    with emulated(), graph_of(rmat(4, 4, seed=3)) as graph:
        for _ in range(3):
            layouts, why = layouts_of(Rank, graph, max_iter=6)
            assert layouts == {"csc"}
            assert why == "csc: shards pay off after 10 supersteps or more, and 6 are certain"
        for _ in range(2):
            layouts, why = layouts_of(Rank, graph, max_iter=10)
            assert layouts == {"gshards"}
            assert "pay off after 10 of 10 supersteps" in why
        layouts, why = layouts_of(Rank, graph, max_iter=10, tol=1e-9)
        assert layouts == {"csc"}, "it may end earlier"
        assert why.endswith("and 0 are certain")
        assert layouts_of(Rank, graph, max_iter=6)[0] == {"csc"}, "though there are shards"


def test_sums_of_integers_depend_on_earlier_runs():
    with emulated(), graph_of(rmat(4, 4, seed=3)) as graph:
        found = []
        for expected in ("csc", "csc", "csc", "gshards"):
            result = ws.run(Walks, graph, engine="cuda", max_iter=4)
            found.append(result.frame["x"].tolist())
            assert set(result.rows.layout) == {expected}
        assert all(one == found[0] for one in found)
        assert "pay off after 10 of 12 supersteps" in graph.report.choices["Walks"]
        assert graph.on_device().gathered == 16


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("LEAST_ARCS", 1 << 20, "arcs are few"),
        ("GAINS", ((0.0, 0.1),), "shards do not pay"),
        ("GAINS", ((0.0, 0.2), (1.0, 0.05)), "after 20 supersteps, and 10 are certain"),
    ],
)
def test_what_does_not_pay(name, value, words, monkeypatch):
    monkeypatch.setattr(layout_choice, name, value)
    with emulated(), graph_of(rmat(4, 4, seed=3)) as graph:
        layouts, why = layouts_of(Rank, graph, max_iter=10)
        assert (layouts, words in why) == ({"csc"}, True), why


def test_memory_is_short():
    with emulated() as device, graph_of(rmat(5, 8, seed=1)) as graph:
        graph.on_device()
        device.memory = 3000
        layouts, why = layouts_of(Rank, graph, max_iter=10)
        assert layouts == {"csc"}
        assert why == "csc: shards would take more than half of the free memory"


def test_programs_that_cannot_have_shards_and_wishes():
    case = BY_NAME["destinations read"]
    with emulated(), graph_of(random_edges(12, 30, seed=2)) as graph:
        case.run(graph, engine="cuda", max_iter=10)
        assert "takes `dst`" in graph.report.choices[case.program.name]
        for wish in ({"layout": "csc"}, {"method": "vwc-8"}, {"partitions": 2}):
            result = ws.run(Rank, graph, **planned(engine="cuda", max_iter=10, tol=0.0, **wish))
            assert set(result.rows.layout) == {"csc"}
        assert Rank.name not in graph.report.choices


def test_which_programs_have_the_same_bits_over_every_layout():
    def bound(program, **given):
        loop = VertexLoop(program, given, Options(engine="cpu"))
        loop.bind(graph)
        return loop.bound

    with graph_of(rmat(4, 4, seed=3)) as graph:
        assert layout_choice.same_bits(bound(Walks))
        assert layout_choice.same_bits(bound(BY_NAME["minimum gathered"].program, start=0))
        assert not layout_choice.same_bits(bound(Rank))
        assert not layout_choice.same_bits(bound(BY_NAME["custom combine of tuples"].program))


def test_sectors_of_a_shard(monkeypatch):
    """Sources in order: eight arcs a sector; each in a sector of its own: one."""
    monkeypatch.setattr(layout_choice, "SAMPLED_ARCS", 64)
    monkeypatch.setattr(layout_choice, "SAMPLED", 1)
    with emulated():
        for step in (1, 8):
            source = step * np.arange(64)
            frame = {"source": source, "destination": np.full(64, 600)}
            with ws.Graph(
                pd.DataFrame(frame), vertices=pd.DataFrame({"vertex": np.arange(601)})
            ) as graph:
                laid = graph.on_device()
                places = np.sort(laid.positions[source]) >> 3
                assert layout_choice.shard_sectors(laid) == len(np.unique(places)) / 64
                assert layout_choice.shard_sectors(laid) == layout_choice.shard_sectors(laid)
