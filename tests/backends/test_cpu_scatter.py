"""Messages of active vertices that each count once: supersteps in one call are those that run in calls of their own."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import cugraph_ws as ws

RING = pd.DataFrame({"source": [0, 1, 2, 3, 0], "destination": [1, 2, 3, 0, 2]})


@ws.vertex_program
class Relay:
    """Who received in a superstep sends in the next; the digits of `log` say when, and from how many."""

    log: ws.int64
    combine = sum
    contributors = "active"

    def init(vertex):
        return 0 if vertex else 1

    def starts(state):
        return state.log == 1

    def compute(src):
        return 1

    def apply(old, gathered, p):
        return 100 * old.log + 10 * gathered + p.superstep

    def active(old, new):
        return new.log != old.log


def relayed(steps: int) -> tuple[list[int], list[int], list[int]]:
    """Return the logs, and for each superstep the active vertices and the arcs that they send along."""
    logs, active, counts, arcs = [1, 0, 0, 0], {0}, [], []
    for step in range(steps):
        sent = RING.destination[RING.source.isin(active)].value_counts()
        counts.append(len(active))
        arcs.append(int(sent.sum()))
        active = set(sent.index)
        for vertex, messages in sent.items():
            logs[vertex] = 100 * logs[vertex] + 10 * messages + step
    return logs, counts, arcs


@pytest.mark.parametrize("steps", [1, 2, 5, 8])
@pytest.mark.parametrize(
    "plan", [ws.Plan(), ws.Plan(fused=False), ws.Plan(partitions=2)], ids=["fused", "apart", "cut"]
)
def test_each_superstep_is_counted_and_numbered(plan, steps):
    logs, counts, arcs = relayed(steps)
    result = ws.run(Relay, RING, engine="cpu", plan=plan, max_iter=steps)
    assert result.iterations == steps
    assert result.frame.log.tolist() == logs
    assert result.trace["active"].tolist() == counts
    assert result.trace["edges"].tolist() == arcs


@pytest.mark.parametrize("fused", [True, False])
def test_a_vertex_that_stays_as_it_is_does_not_send(fused):
    @ws.vertex_program
    class Sum:
        total: ws.int64
        combine = sum
        contributors = "active"

        def init(vertex):
            return 1 if vertex == 0 else 0

        def starts(state):
            return state.total == 1

        def compute(src):
            return src.total

        def apply(old, gathered):
            return min(old.total + gathered, 3)

    plan = ws.Plan(fused=fused)
    result = ws.run(Sum, RING, engine="cpu", plan=plan)
    expected = ws.run(Sum, RING, engine="python")
    assert result.converged
    assert result.iterations == expected.iterations
    np.testing.assert_array_equal(result.frame.total, expected.frame.total)
    assert result.frame.total.tolist() == [3, 3, 3, 3]
