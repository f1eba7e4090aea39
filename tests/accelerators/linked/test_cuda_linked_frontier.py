"""Frontiers whose kernels exchange updates themselves, in the emulator: the same answers, few launches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import test_cuda_partitioned_frontier as on_links
from cuda_cases import PUSHES, Case, graph_of, medley
from emulator.device import emulated
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import planned
from shapes import grid, random_edges, rmat, undirected
from test_cuda_frontier import tuned
from test_cuda_partitioned_frontier import BATTERY
from thread_ranks import over_links, share
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.accelerators.linked.executor import LinkedFrontierExecutor
from cugraph_ws.errors import WorkerLostError

ROOM = 1 << 10  # vertices of a message: more than any graph here has
LINE = Edges(np.arange(40), np.arange(1, 41), 41)
PARTITIONS: dict[str, Any] = {  # drawn at random
    "ends": st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=40),
    "inner": st.lists(st.integers(0, 10), min_size=1, max_size=2),
    "seed": st.integers(0, 9),
    "capacity": st.sampled_from((1, 2, ROOM)),
}


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
    assert found.trace["exchange"].tolist() == ["vr" * (one in (11, 25)) for one in range(41)]


@pytest.mark.parametrize(("place", "capacity"), [(0, 1), (6, 1), (6, 3)])
def test_messages_that_do_not_fit(place, capacity):
    """The host takes over where a message, or a frontier, has more vertices than the window."""
    with graph_of(random_edges(60, 200, seed=3)) as graph, tuned():
        found = check(PUSHES[place], graph, 3, capacity=capacity, seed=place)
    assert set(found.trace["fused"]) == {True, False}


@ws.vertex_program
class Ceiling:
    """The greatest level with a path to here: settled at the highest, and of several values on the way."""

    level: ws.int64

    def init(vertex):
        return vertex * 5 % 7 if vertex * 5 % 7 < 4 else 0

    def starts(state):
        return state.level > 0

    def compute(src):
        return src.level

    combine = max
    asynchronous = True  # no level is better than one that is settled

    def apply(old, gathered):
        return max(old.level, gathered)

    def settled(state):
        return state.level >= 3


CEILINGS = Case("ceilings", Ceiling)


@pytest.mark.parametrize("rounds", [1, 2, 5])
@pytest.mark.parametrize("capacity", [1, 3, ROOM])
def test_large_frontiers_are_queued(rounds, capacity):
    """Pulls, and exchanges in bits where lists do not fit; more of them than a sequence has room for, too."""
    with (
        graph_of(rmat(6, 8, seed=4)) as graph,
        tuned(ALONE_ARCS=2, LEAST_PULLED=8, ROUNDS=rounds, PULL_PART=1 << 20),
    ):
        found = check(PUSHES[5], graph, 2 + rounds % 2, seed=rounds, capacity=capacity)
    assert found.trace["fused"].all()
    assert "pull" in set(found.trace["direction"])
    assert "bits" in set(found.trace["exchange"])
    assert found.trace["bytes_useful"].sum() > 0


@pytest.mark.parametrize("place", [5, 6, 7])
@pytest.mark.parametrize("ranks", [2, 3])
def test_large_pushes_have_launches_of_their_own(place, ranks):
    """Queued, of a search by levels; and by the host."""
    settings = {"LEAST_LARGE": 2, "LARGE_PART": 1 << 40, "LEAST_PUSHED": 3, "PUSHED_PART": 1 << 40}
    settings |= {"LEAST_BY_HOST": 60, "PART_BY_HOST": 1 << 40, "LEAST_PULLED": 200, "GROWING": 1}
    with graph_of(rmat(6, 8, seed=4)) as graph, tuned(ALONE_ARCS=2, **settings):
        trace = check(PUSHES[place], graph, ranks, seed=place).trace
    assert set(trace["direction"]) <= {"push", "pull", "gather"}
    assert set(trace["fused"]) == ({True} if place == 5 else {True, False})
    assert ("bits" in set(trace["exchange"])) == (place == 5)


def test_bits_are_sent_where_a_list_does_not_fit():
    """Forty vertices that the other rank reads, by a push."""
    middle = np.arange(1, 41)
    edges = Edges(
        np.concatenate([np.zeros(40, np.int64), middle]), np.concatenate([middle, middle + 40]), 81
    )
    with graph_of(edges) as graph, tuned(LEAST_PULLED=70):
        found = check(PUSHES[5], graph, 2, (0, 41, 81), capacity=16)
    trace = found.trace
    assert trace["fused"].all()
    assert set(trace["direction"]) == {"push"}
    assert trace["exchange"].tolist()[0] == "bits"
    assert trace["bytes_sent"].tolist()[0] == 8  # two words of 32 vertices
    assert trace["bytes_useful"].tolist()[0] == 39 * 4  # one of them is a start


@pytest.mark.parametrize("ranks", [2, 3])
def test_unlike_values_are_left_to_the_hosts(ranks):
    setting = {"ALONE_ARCS": 2, "LEAST_PULLED": 8, "PULL_PART": 1 << 20}
    with graph_of(rmat(6, 8, seed=4)) as graph, tuned(**setting):
        found = check(CEILINGS, graph, ranks, seed=ranks, capacity=1).trace
    assert found["fused"].iloc[0]
    assert "vr" in found["exchange"].iloc[0]
    assert not found["fused"].all()


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_vertex_that_changes_twice_in_a_superstep_counts_once(ranks):
    """First to a level that is not settled, then to one that is."""
    levels = np.arange(70) * 5 % 7
    low, high = (np.flatnonzero(levels == level) for level in (1, 3))
    senders, hearers = np.concatenate([low, high]), np.flatnonzero((levels == 0) | (levels > 3))
    edges = Edges(np.repeat(senders, len(hearers)), np.tile(hearers, len(senders)), 70)
    with graph_of(edges) as graph, tuned(ALONE=0):
        if ranks == 1:
            with emulated(2):
                found = CEILINGS.run(graph, engine="cuda", direction="push")
        else:
            found = check(CEILINGS, graph, ranks, direction="push")
        assert found.trace["active"].tolist()[1] == len(hearers)


@pytest.mark.parametrize("exchange", ["auto", "vr"])
def test_lists_that_are_asked_for_are_sent_by_the_hosts(exchange):
    with graph_of(rmat(5, 8, seed=4)) as graph, tuned(ALONE_ARCS=2, LEAST_PULLED=8):
        found = check(PUSHES[5], graph, 2, exchange=exchange)
    assert found.trace["fused"].all() == (exchange == "auto")
    assert ("bits" in set(found.trace["exchange"])) == (exchange == "auto")


def test_a_large_superstep_that_only_some_ranks_have():
    """The others clear what is left in their bitmaps, and hear of it."""
    # Vertices 0 to 9 form a path that crosses the boundary and returns; a pull finds nothing for 10 to 15.
    source = np.array([0, 8, 1, 9, 2, 10, 3, *range(11, 15)])
    destination = np.array([8, 1, 9, 2, 10, 3, 11, *range(12, 16)])
    setting = {"ALONE": 0, "PULL_PART": 1 << 40, "ALONE_ARCS": 0, "LEAST_PULLED": 0}
    with graph_of(Edges(source, destination, 16)) as graph, tuned(**setting):
        found = check(PUSHES[5], graph, 2, (0, 8, 16), capacity=ROOM)
    assert found.iterations > 4


@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_limited_run_ends_within_queued_supersteps(most):
    limited = replace(PUSHES[5], options={"direction": "push", "max_iter": most})
    setting = {"ALONE_ARCS": 2, "LEAST_PULLED": 8, "PULL_PART": 1 << 20}
    with graph_of(grid(6, 6, drop=0.0, seed=4)) as graph, tuned(**setting):
        found = check(limited, graph, 2, capacity=4, seed=most)
    assert len(found.trace) == most


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
                    ws.run(ws.BFS, shard, **planned(**arguments))
                return "raised"
            with (
                patch.object(LinkedFrontierExecutor, "superstep", fail),
                pytest.raises(ZeroDivisionError),
            ):
                ws.run(ws.BFS, shard, **planned(**arguments))
            comm.links.window.alarm[:] = 1
            return "failed"

        def fail(executor, choice, sums):
            if executor._part.halo.comm.rank == 1:
                raise ZeroDivisionError
            return usual(executor, choice, sums)

        usual = LinkedFrontierExecutor.superstep
        assert over_links(2, work, capacity=ROOM) == ["raised", "failed"]


@settings(deadline=None, max_examples=30)
@given(
    **PARTITIONS,
    rounds=st.sampled_from((0, 1, 3)),
    alike=st.booleans(),
)
def test_random_partitions_with_queued_supersteps(ends, inner, seed, capacity, rounds, alike):
    source, destination = np.array(ends).T
    cuts = (0, *sorted(inner), 10)
    case = PUSHES[5] if alike else CEILINGS
    pulled = {"PULL_PART": 1 << 40} if seed % 2 else {}
    with (
        graph_of(Edges(source, destination, 10)) as graph,
        tuned(LEAST_PULLED=seed, ROUNDS=rounds, ALONE_ARCS=0, **pulled),
    ):
        check(case, graph, len(cuts) - 1, cuts, seed, capacity=capacity)


@settings(deadline=None, max_examples=15)
@given(
    **PARTITIONS,
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
