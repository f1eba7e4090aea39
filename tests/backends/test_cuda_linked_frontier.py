"""Frontiers whose kernels exchange updates themselves, in the emulator: the same answers, few launches."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
import test_cuda_partitioned_frontier as on_links
from cuda_cases import PUSHES, graph_of, medley
from emulator.device import emulated
from hypothesis import given, settings
from hypothesis import strategies as st
from shapes import random_edges, rmat, undirected
from test_cuda_frontier import tuned
from test_cuda_partitioned_frontier import BATTERY
from thread_ranks import over_links, share
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.backends.cuda.partitioned_frontier import CudaPartitionedFrontierExecutor
from cugraph_ws.errors import WorkerLostError

ROOM = 1 << 10  # vertices of a message: more than any graph here has
LINE = Edges(np.arange(40), np.arange(1, 41), 41)


def check(case, graph, ranks, cuts=None, seed=0, *, capacity=ROOM, **options):
    """Compare a run whose kernels exchange with one on the whole graph; return rank 0's result."""
    return on_links.check(case, graph, ranks, cuts, seed, capacity=capacity, **options)


@pytest.mark.parametrize("case", PUSHES, ids=lambda case: case.name)
def test_programs(case):
    place = PUSHES.index(case)
    edges = undirected(medley()) if place % 2 else medley()
    with graph_of(edges) as graph, tuned():
        found = check(case, graph, 2 + place % 2, seed=place, ordered=place % 4 < 2)
    assert found.trace["fused"].all() == (set(found.trace["direction"]) == {"push"})


@pytest.mark.parametrize("name", BATTERY)
def test_every_shape(name):
    place = list(BATTERY).index(name)
    with graph_of(BATTERY[name]) as graph, tuned():
        check(PUSHES[(0, 6)[place % 2]], graph, 2 + place % 2, seed=place, direction="push")


def test_a_search_takes_one_launch_in_sixteen_supersteps():
    """Forty levels: launches of 16 and 32 supersteps, and no message over the links in between."""
    with graph_of(LINE) as graph, tuned():
        found = check(PUSHES[6], graph, 3, direction="push")
    assert found.trace["fused"].all()
    assert len(found.trace) == 41
    assert set(found.trace["active"]) == {1}
    assert found.trace["bytes_sent"].tolist() == [12 * (one in (11, 25)) for one in range(41)]


@pytest.mark.parametrize(("place", "capacity"), [(0, 1), (6, 1), (6, 3)])
def test_messages_that_do_not_fit(place, capacity):
    """The host takes over where a message, or a frontier, has more vertices than the window."""
    with graph_of(random_edges(60, 200, seed=3)) as graph, tuned():
        found = check(PUSHES[place], graph, 3, capacity=capacity, seed=place)
    assert set(found.trace["fused"]) == {True, False}


def test_a_frontier_beyond_the_limit_of_arcs_is_left_to_the_host(monkeypatch):
    monkeypatch.setattr("cugraph_ws.backends.cuda.planner.LEAST_PULLED", 8)
    with graph_of(rmat(5, 8, seed=4)) as graph, tuned(ALONE_ARCS=2):
        found = check(PUSHES[5], graph, 2)
    assert "pull" in set(found.trace["direction"])
    assert set(found.trace["fused"]) == {True, False}


@pytest.mark.parametrize(
    "options",
    [{"exchange": "ms"}, {"exchange": "all"}, {"filter": "ballot"}, {"fused": False}, {"direction": "pull"}],
    ids=str,
)  # fmt: skip
def test_options_that_ask_for_the_hosts(options):
    with graph_of(rmat(4, 5, seed=1)) as graph, tuned():
        found = check(PUSHES[0], graph, 2, **options)
    assert not found.trace["fused"].any()


@pytest.mark.parametrize("cuts", [(0, 0, 5, 16), (0, 9, 9, 16), (0, 16, 16, 16), (0, 0, 0, 16)])
def test_ranks_without_vertices(cuts):
    with graph_of(rmat(4, 5, seed=2)) as graph, tuned():
        check(PUSHES[6], graph, 3, cuts)


def test_a_limited_run_ends_within_a_launch():
    with graph_of(LINE) as graph, emulated():

        def work(comm):
            return ws.run(ws.BFS, share(graph, comm), start=[0], engine="cuda", max_iter=5)

        found = over_links(2, work, capacity=ROOM)
    assert [len(one.trace) for one in found] == [5, 5]
    assert not any(one.converged for one in found)


def test_a_launch_ends_once_a_rank_is_lost():
    """Rank 1 does not launch; rank 0 looks at the alarm while it waits."""
    with graph_of(LINE) as graph, emulated():

        def work(comm):
            shard = share(graph, comm)
            arguments = {"start": [0], "engine": "cuda", "direction": "push"}
            if comm.rank == 0:
                with pytest.raises(WorkerLostError, match="alarm"):
                    ws.run(ws.BFS, shard, **arguments)
                return "raised"
            with (
                patch.object(CudaPartitionedFrontierExecutor, "superstep", fail),
                pytest.raises(ZeroDivisionError),
            ):
                ws.run(ws.BFS, shard, **arguments)
            comm.links.window.alarm[:] = 1
            return "failed"

        def fail(executor, choice, sums):
            if executor._part.halo.comm.rank == 1:
                raise ZeroDivisionError
            return usual(executor, choice, sums)

        usual = CudaPartitionedFrontierExecutor.superstep
        assert over_links(2, work, capacity=ROOM) == ["raised", "failed"]


@settings(deadline=None, max_examples=15)
@given(
    ends=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=40),
    inner=st.lists(st.integers(0, 10), min_size=1, max_size=2),
    seed=st.integers(0, 9),
    capacity=st.sampled_from((1, 2, ROOM)),
    ordered=st.booleans(),
)
def test_random_partitions(ends, inner, seed, capacity, ordered):
    source, destination = np.array(ends).T
    edges = Edges(source, destination, 10, (source * 7 + destination * 3) % 5 / 2.0)
    cuts = (0, *sorted(inner), 10)
    with graph_of(edges) as graph, tuned():
        check(
            PUSHES[seed % len(PUSHES)], graph, len(cuts) - 1, cuts, seed, capacity=capacity, ordered=ordered,
        )  # fmt: skip
