"""The plan: which direction the counts of the last superstep lead to."""

from __future__ import annotations

import pytest
from programs import Hops, Labels, Peel, Rank, Reached
from shapes import SHAPES, build

import cugraph_ws as ws
from cugraph_ws.backends.cpu.setup import FUSED_ARCS, PULL_SHARE, CpuPlanner
from cugraph_ws.contract import Counts
from cugraph_ws.program.binding import bind

ARCS = 100 * FUSED_ARCS
EVERYTHING = 1 << 62


def plan_for(program, *, direction="auto", fused=True, arcs=ARCS, **given) -> CpuPlanner:
    with build(SHAPES["path"]) as graph:
        return CpuPlanner(bind(program, graph, given), arcs, direction=direction, fused=fused)


def choices(plan: CpuPlanner, *arcs: int) -> list[str]:
    """Return the directions for supersteps whose frontiers have so many arcs."""
    return [
        plan.choose(Counts(active=max(count // 10, 1), arcs=count), number, EVERYTHING).direction
        for number, count in enumerate(arcs)
    ]


def test_small_frontiers_are_fused_and_may_take_what_is_left():
    plan = plan_for(Hops, start=0)
    choice = plan.choose(Counts(active=1, arcs=FUSED_ARCS), 3, 17)
    assert (choice.direction, choice.supersteps, choice.number) == ("fused", 17, 3)
    choice = plan.choose(Counts(active=1, arcs=FUSED_ARCS + 1), 4, 16)
    assert (choice.direction, choice.supersteps, choice.number) == ("push", 1, 4)


def test_nothing_is_fused_with_fused_false():
    assert choices(plan_for(Hops, start=0, fused=False), 1, 5) == ["push", "push"]


def test_a_minimum_pulls_only_what_is_dense():
    plan = plan_for(Labels)
    heavy, light = ARCS * 3 // 4, ARCS // 4
    assert choices(plan, heavy, light, heavy) == ["pull", "push", "pull"]


def test_a_search_pulls_while_the_frontier_is_heavy():
    plan = plan_for(Reached, start=[0])
    heavy = ARCS // PULL_SHARE + 2 * FUSED_ARCS
    found = choices(plan, 10, FUSED_ARCS + 1, heavy, heavy, 10)
    assert found == ["fused", "push", "pull", "pull", "fused"]


def test_little_work_is_never_pulled():
    plan = plan_for(Reached, start=[0], arcs=FUSED_ARCS)
    assert choices(plan, FUSED_ARCS, FUSED_ARCS // 2) == ["fused", "fused"]


def test_priorities_are_never_pulled_unasked():
    assert choices(plan_for(ws.SSSP, source=0), ARCS, ARCS) == ["push", "push"]
    assert choices(plan_for(ws.SSSP, source=0, direction="pull"), 1, ARCS) == ["pull", "pull"]


def test_sums_over_the_active():
    arcs = 1, FUSED_ARCS + 1, ARCS // 2
    assert choices(plan_for(Peel), *arcs) == ["fused", "scatter", "pull"]
    assert choices(plan_for(Peel, fused=False), *arcs) == ["scatter", "scatter", "pull"]
    assert choices(plan_for(Peel, direction="push"), 1, ARCS) == ["fused", "scatter"]
    assert choices(plan_for(Peel, direction="pull"), 1, ARCS) == ["pull", "pull"]


def test_sums_over_all_vertices():
    assert choices(plan_for(Rank), 1, ARCS) == ["gather", "gather"]
    assert choices(plan_for(Labels, direction="gather"), 1, ARCS) == ["gather", "gather"]


@pytest.mark.parametrize(
    ("program", "direction", "given", "message"),
    [
        (Rank, "pull", {}, "direction='pull': Rank gathers from all"),
        (Peel, "gather", {}, "direction='gather': Peel counts the messages of active"),
        (Hops, "left", {"start": 0}, "direction='left' is not known"),
    ],
)
def test_directions_that_cannot_be_forced(program, direction, given, message):
    with pytest.raises(ws.InputError, match=message):
        plan_for(program, direction=direction, **given)
