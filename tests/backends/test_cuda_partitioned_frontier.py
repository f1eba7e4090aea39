"""Partitioned frontiers of ranks with a GPU each, in the emulator: updates across boundaries."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from cuda_cases import PUSHES, graph_of, medley
from emulator.device import emulated
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import Hops
from shapes import SHAPES, hub, random_edges, rmat, undirected
from test_cuda_frontier import SETTINGS, tuned
from test_device_exchange import Silent
from thread_ranks import over_links, share, with_ordered_ghosts
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.backends.cuda.partitioned_frontier import CudaPartitionedFrontierExecutor
from cugraph_ws.execution import driver
from cugraph_ws.kernels.cuda.bitmaps import GROUPS

EXCHANGES = ("vr", "ms", "all", "auto")
DIRECTIONS = ("auto", "push", "pull", "gather")
BATTERY = {
    **{name: edges for name, edges in SHAPES.items() if 0 < len(edges.source) < 80},
    "rmat": rmat(4, 5, seed=1),
    "hub": hub(90),
    "a row of several pieces": Edges(np.zeros(1100, np.int64), 1 + np.arange(1100), 1101),
    "ties and zeros": random_edges(20, 70, seed=6, weights="ties"),
}


LINE = Edges(np.arange(11), np.arange(1, 12), 12)


def check(case, graph, ranks, cuts=None, seed=0, *, capacity=0, ordered=False, **options):
    """Compare a run over links with one on the whole graph; return the first rank's result.

    With a `capacity`, kernels exchange themselves; `ordered` ghosts are in their owners' order.
    """
    expected = case.run(graph, engine="python", fused=False)
    options = {"direction": "auto", **options}

    def work(comm):
        shard = share(graph, comm, cuts)
        if ordered:
            shard = with_ordered_ghosts(shard)
        return case.run(shard, engine="cuda", **options)

    with emulated(seed, multiprocessors=1 + seed % 3):
        found = over_links(ranks, work, capacity=capacity)
    on_ranks = pd.concat([one.frame for one in found], ignore_index=True)
    pd.testing.assert_frame_equal(on_ranks, expected.frame.reset_index(drop=True))
    for one in found[1:]:
        pd.testing.assert_frame_equal(
            one.trace.drop(columns="milliseconds"), found[0].trace.drop(columns="milliseconds")
        )
    assert {one.stopped for one in found} == {expected.stopped}
    return found[0]


@pytest.mark.parametrize("case", PUSHES, ids=lambda case: case.name)
@pytest.mark.parametrize("turn", range(2))
def test_programs(case, turn):
    """With two of the settings and two of the ways to exchange each."""
    place = PUSHES.index(case)
    setting = list(SETTINGS)[(place + 2 * turn) % len(SETTINGS)]
    edges = undirected(medley()) if (place + turn) % 2 else medley()
    exchange = EXCHANGES[(place + 3 * turn) % 4]
    with tuned(**SETTINGS[setting]), graph_of(edges) as graph:
        found = check(case, graph, 2 + turn, seed=place, exchange=exchange)
    assert found.trace["bytes_useful"].sum() > 0


@pytest.mark.parametrize(
    ("direction", "exchange"),
    [
        (direction, exchange)
        for turn, direction in enumerate(DIRECTIONS)
        for exchange in EXCHANGES[turn % 2 :: 2]
    ],
)
def test_every_direction_and_exchange(direction, exchange):
    """With one of two programs: hops, which are not gathered from all, and shortest paths."""
    place = 5 + (DIRECTIONS.index(direction) + EXCHANGES.index(exchange)) % 2
    place = 6 if direction == "gather" else place
    with graph_of(rmat(4, 5, seed=1)) as graph, tuned(ALONE=2, ROOM_SHARE=4):
        found = check(PUSHES[place], graph, 2, direction=direction, exchange=exchange)
    if direction != "auto":
        assert set(found.trace["direction"]) == {direction}


@pytest.mark.parametrize("ranks", [2, 3])
def test_a_program_that_starts_everywhere_gathers_first(ranks):
    """All ranks together know the arcs out of all starting vertices."""
    with graph_of(rmat(5, 8, seed=1)) as graph, tuned():
        found = check(PUSHES[1], graph, ranks, seed=ranks).trace
    assert found["direction"].iloc[0] == "gather"


def test_a_frontier_of_many_arcs_is_gathered():
    """The ranks' arcs out of the next frontier, added up, decide."""
    source = np.array([0, *[1] * 60])
    edges = Edges(source, 1 + np.arange(61), 62, np.ones(61))
    with graph_of(edges) as graph, tuned():
        found = check(PUSHES[6], graph, 2).trace
    assert found["direction"].tolist()[:2] == ["push", "gather"]


@pytest.mark.parametrize("name", BATTERY)
def test_every_shape(name):
    """With one of two programs: hops, shortest paths."""
    place = list(BATTERY).index(name)
    with graph_of(BATTERY[name]) as graph, tuned(ALONE=place % 2):
        check(PUSHES[(0, 6)[place % 2]], graph, 2 + place % 2, seed=place)


@pytest.mark.parametrize("cuts", [(0, 0, 5, 16), (0, 9, 9, 16), (0, 16, 16, 16), (0, 0, 0, 16)])
@pytest.mark.parametrize("exchange", ["all", "auto"])
def test_ranks_without_vertices(cuts, exchange):
    with graph_of(rmat(4, 5, seed=2)) as graph, tuned():
        check(PUSHES[6], graph, 3, cuts, exchange=exchange)


@settings(deadline=None, max_examples=15)
@given(
    ends=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=40),
    inner=st.lists(st.integers(0, 10), min_size=1, max_size=2),
    seed=st.integers(0, 9),
    direction=st.sampled_from(DIRECTIONS),
    exchange=st.sampled_from(EXCHANGES),
    setting=st.sampled_from(list(SETTINGS)),
)
def test_random_partitions(ends, inner, seed, direction, exchange, setting):
    source, destination = np.array(ends).T
    weight = (source * 7 + destination * 3) % 5 / 2.0
    cuts = (0, *sorted(inner), 10)
    case = PUSHES[seed % len(PUSHES)]
    if direction == "gather" and case.program is ws.BFS:
        direction = "auto"
    with graph_of(Edges(source, destination, 10, weight)) as graph, tuned(**SETTINGS[setting]):
        check(case, graph, len(cuts) - 1, cuts, seed=seed, direction=direction, exchange=exchange)


@pytest.mark.parametrize("alike", [True, False])
def test_a_level_of_a_search_travels_as_bits(alike):
    """40 vertices that a peer reads get one value, or two: then a list, and next time all of them."""
    middle = np.arange(1, 41)
    source = np.concatenate([np.zeros(40, np.int64), middle])
    weight = np.where(alike | (np.arange(80) != 7), 1.0, 0.5)
    edges = Edges(source, np.concatenate([middle, middle + 40]), 81, weight)
    sent = {}
    with graph_of(edges) as graph, tuned():
        for exchange in ("auto", "vr"):
            found = check(PUSHES[6], graph, 2, (0, 41, 81), direction="push", exchange=exchange)
            sent[exchange] = found.trace["bytes_sent"].tolist()
    width = 8
    assert sent["vr"] == [40 * (width + 4), 0, 0]
    assert sent["auto"] == (
        [2 * 4 + width, 0, 0] if alike else [40 * (width + 4), 40 * (width + 1), 0]
    )


@pytest.mark.parametrize(("place", "exchange"), [(0, "auto"), (6, "vr"), (6, "auto")])
def test_boundaries_of_several_hundreds(place, exchange):
    """More than a warp reserves room for at once, and a rest that fills no group of 32."""
    edges = random_edges(700, 4000, seed=3)
    with graph_of(edges) as graph, tuned(ALONE=2, ROOM_SHARE=4):
        found = check(PUSHES[place], graph, 2, (0, 341, 700), exchange=exchange)
    held = len(np.unique(edges.source[(edges.source < 341) & (edges.destination >= 341)]))
    assert held > 32 * GROUPS
    assert held % 32
    assert found.trace["active"].max() > 32 * GROUPS


def test_pulls_read_hubs_first_on_any_owner():
    """Two of three ranks have them as ghosts, which come behind own vertices."""
    hubs, many = np.arange(3), np.arange(3, 90)
    inner = random_edges(87, 200, seed=4)
    source = np.concatenate([np.repeat(hubs, len(many)), 3 + inner.source])
    destination = np.concatenate([np.tile(many, 3), 3 + inner.destination])
    source = np.append(source, [3, 40, 0, 0, 1, 2])
    destination = np.append(destination, [1, 2, 1, 2, 2, 0])
    read, leads = {}, {}

    def lead(self):
        leads[self._part.owned] = usual(self)
        return leads[self._part.owned]

    usual = CudaPartitionedFrontierExecutor._lead
    setting = {"ALONE": 0, "PULL_PART": 1 << 40, "ALONE_ARCS": 0}
    with graph_of(Edges(source, destination, 90)) as graph, tuned(**setting):
        for name, method in (("hubs", lead), ("front", lambda self: 0)):
            with patch.object(CudaPartitionedFrontierExecutor, "_lead", method):
                found = check(PUSHES[5], graph, 3, (0, 3, 40, 90))
            read[name] = found.trace["edges"].tolist()
    assert leads == {3: 0, 37: 37, 50: 50}
    assert sum(read["hubs"]) < sum(read["front"])


def test_a_pull_without_hits_leaves_no_state_behind():
    """Of one rank: what another rank sends afterwards must reach it alone."""
    # Vertices 0 to 9 form a path that crosses the boundary and returns; a pull finds nothing for 10 to 15.
    source = np.array([0, 8, 1, 9, 2, 10, 3, *range(11, 15)])
    destination = np.array([8, 1, 9, 2, 10, 3, 11, *range(12, 16)])
    setting = {"ALONE": 0, "PULL_PART": 1 << 40, "ALONE_ARCS": 0}
    with graph_of(Edges(source, destination, 16)) as graph, tuned(**setting):
        found = check(PUSHES[5], graph, 2, (0, 8, 16))
    assert found.iterations > 4


def test_arcs_read_by_a_superstep():
    """A search pushed from one end of a path reads an arc a superstep, on whatever rank it is.

    But for the first: what has nothing to send is not proved across partitions.
    """
    with graph_of(LINE) as graph, tuned():
        found = check(PUSHES[0], graph, 3, direction="push")
    assert found.trace["edges"].tolist() == [11] + [1] * 10 + [0]
    assert found.trace["active"].tolist()[:11] == [12] + [1] * 10


def test_a_run_goes_on_from_a_checkpoint(tmp_path):
    """After an odd and after an even number of supersteps."""
    with graph_of(LINE) as graph:
        whole = ws.run(Hops, graph, start=0, engine="python")
        for most in (1, 2, 3):
            path = tmp_path / f"{most}.parquet"

            def work(comm, most=most, path=path):
                here = share(graph, comm)
                ws.run(Hops, here, start=0, engine="cuda", max_iter=most, checkpoint=path)
                return ws.run(Hops, here, start=0, engine="cuda", resume=path)

            with emulated(seed=most), tuned():
                found = over_links(2, work)
            frame = pd.concat([one.frame for one in found], ignore_index=True)
            pd.testing.assert_frame_equal(frame, whole.frame.reset_index(drop=True))
            assert found[0].iterations > most


def test_a_superstep_has_one_wait_and_no_download(monkeypatch):
    monkeypatch.setattr(driver, "StopVote", Silent)
    waits, downloads = {}, {}
    with graph_of(LINE) as graph:
        for most in (3, 3, 6):  # the first time a program is looked at together
            with emulated() as device, tuned():

                def work(comm, most=most):
                    ws.run(Hops, share(graph, comm), start=0, engine="cuda", max_iter=most)
                    return comm.links.waits

                waits[most], downloads[most] = over_links(2, work), device.downloads
    assert downloads[3] == downloads[6]
    assert waits[6] == [one + 3 for one in waits[3]]


def test_partitions_that_are_not_linked_do_not_push():
    with (
        graph_of(rmat(4, 5, seed=1)) as graph,
        emulated(),
        pytest.raises(ws.InputError, match="partitions cannot push on the GPU"),
    ):
        ws.run(Hops, graph, start=0, engine="cuda", plan=ws.Plan(partitions=2, direction="push"))


@pytest.mark.parametrize("direction", ["auto", "push", "pull"])
def test_a_rank_without_others_searches_as_on_the_whole_graph(direction, tmp_path):
    """Many supersteps a launch; and it goes on from a checkpoint."""
    with graph_of(rmat(4, 5, seed=1)) as graph:
        whole = ws.run(Hops, graph, start=0, engine="python")

        def work(comm):
            here, path = share(graph, comm), tmp_path / "one.parquet"
            ws.run(Hops, here, start=0, engine="cuda", max_iter=1, checkpoint=path)
            resumed = ws.run(Hops, here, start=0, engine="cuda", resume=path)
            return resumed, ws.run(
                Hops, here, start=0, engine="cuda", plan=ws.Plan(direction=direction)
            )

        with emulated(), tuned():
            ((resumed, found),) = over_links(1, work)
        pd.testing.assert_frame_equal(resumed.frame, whole.frame)
        pd.testing.assert_frame_equal(found.frame, whole.frame)
    assert found.trace["fused"].any()
