"""The host hub: messages through segments that all ranks address, and exchanges over it, in the emulator."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from cuda_cases import PUSHES, graph_of, medley, set_classes
from emulator.device import emulated
from programs import Rank
from shapes import build, rmat, undirected
from test_cuda_frontier import SETTINGS, tuned
from test_device_exchange import EXCHANGES, GRAPH, PROGRAMS, WHOLE
from thread_ranks import over_hub, over_links, share, with_ordered_ghosts
from verify import Edges

import cugraph_ws as ws

SMALL = 1 << 11  # bytes of a buffer: messages go in pieces
ROOMS = (SMALL, 1 << 16)


def test_messages_to_all_and_to_one():
    """Several in turn, of several pieces; a rank that a message is not for skips it."""
    numbers = np.arange(5000, dtype=np.int32)

    def work(comm):
        hub, rank = comm.links.hub, comm.rank
        for turn in range(5):
            hub.publish(
                [numbers[: 9 + rank] + turn, numbers[:1].astype(np.uint8)],
                [one for one in (0, 2) if one != rank],
            )
            for owner in range(3):
                if owner == rank:
                    continue
                if rank == 1:
                    hub.skip(owner)
                    continue
                values, one = hub.receive(owner, [(np.int32, 9 + owner), (np.uint8, 1)])
                np.testing.assert_array_equal(values, numbers[: 9 + owner] + turn)
                assert one[0] == 0
                hub.release(owner)
        everyone = np.zeros(6, np.float64)
        comm.links.gather(np.array([rank, 0.5]), everyone)
        assert everyone.tolist() == [0, 0.5, 1, 0.5, 2, 0.5]
        sent = [
            [numbers[: 1000 * peer] + rank, numbers[:3]] if peer != rank else []
            for peer in range(3)
        ]
        taken = [
            [np.zeros(1000 * rank, np.int32), np.zeros(3, np.int32)] if peer != rank else []
            for peer in range(3)
        ]
        comm.links.post(sent, taken)
        for peer, arrays in enumerate(taken):
            if peer != rank:
                np.testing.assert_array_equal(arrays[0], numbers[: 1000 * rank] + peer)
                np.testing.assert_array_equal(arrays[1], numbers[:3])

    over_hub(3, work, room=SMALL)


@pytest.fixture
def small_classes(monkeypatch):
    set_classes(monkeypatch, block=32, hub=12, chunk=8, middle=5)


def results(run, graph, ranks, cuts=None, *, ordered=False, room=SMALL):
    """Return each rank's result over links, and through a hub."""

    def work(comm):
        shard = share(graph, comm, cuts)
        result = run(with_ordered_ghosts(shard) if ordered else shard)
        return result.frame, result.trace[list(WHOLE)], result.stopped

    return over_links(ranks, work), over_hub(ranks, work, room=room)


def assert_same(linked, through, *, traced=False):
    """Compare results; traces of two ranks too, if `traced`: one peer is sent what all are."""
    for (frame, trace, stopped), (other, expected, why) in zip(through, linked, strict=True):
        pd.testing.assert_frame_equal(frame, other)
        assert stopped == why
        if traced and len(linked) == 2:
            pd.testing.assert_frame_equal(trace, expected)


@pytest.mark.parametrize(
    ("name", "exchange"),
    [
        (name, exchange)
        for turn, name in enumerate(PROGRAMS)
        for place, exchange in enumerate(EXCHANGES)
        if name == "rank" or (turn + place) % 3 == 0
    ],
)
def test_the_same_as_from_gpu_to_gpu(small_classes, name, exchange):
    program, options = PROGRAMS[name]
    ranks = 2 + (len(name) + EXCHANGES.index(exchange)) % 2
    with build(GRAPH) as graph, emulated(seed=3):

        def run(shard):
            return ws.run(program, shard, engine="cuda", exchange=exchange, **options)

        found = results(run, graph, ranks, ordered=exchange == "ms", room=ROOMS[ranks % 2])
        assert_same(*found, traced=exchange != "all")


@pytest.mark.parametrize("case", PUSHES[::2], ids=lambda case: case.name)
def test_frontiers(case):
    place = PUSHES.index(case)
    setting = list(SETTINGS)[place % len(SETTINGS)]
    edges = undirected(medley()) if place % 2 else medley()
    options = {"exchange": EXCHANGES[place % 4], "direction": "auto"}
    with tuned(**SETTINGS[setting]), graph_of(edges) as graph, emulated(place, multiprocessors=2):
        assert_same(
            *results(lambda shard: case.run(shard, engine="cuda", **options), graph, 2 + place % 3)
        )


@pytest.mark.parametrize("cuts", [(0, 0, 5, 16), (0, 9, 9, 16), (0, 16, 16, 16)])
@pytest.mark.parametrize("exchange", ["all", "auto"])
def test_ranks_without_vertices(cuts, exchange):
    with graph_of(rmat(4, 5, seed=2)) as graph, tuned(), emulated(seed=1):
        options = {"exchange": exchange, "direction": "auto", "engine": "cuda"}
        assert_same(*results(lambda shard: PUSHES[6].run(shard, **options), graph, 3, cuts))


@pytest.mark.parametrize("exchange", ["vr", "ms", "all"])
@pytest.mark.parametrize("ranks", [2, 4])
def test_an_outbox_leaves_its_gpu_once(ranks, exchange):
    """All other ranks read vertex 0, and nobody reads theirs; the trace counts what was copied to the host."""
    n = 8 * ranks
    edges = Edges(np.zeros(n - 8, np.int64), np.arange(8, n), n)

    def work(comm):
        def copied():
            return getattr(getattr(comm.links, "queue", None), "copied", 0)

        given = {"tol": 0.0, "exchange": exchange, "engine": "cuda"}
        shard, at = share(graph, comm), []
        for most in (1, 1, 2):  # the first prepares
            before = copied()
            result = ws.run(Rank, shard, max_iter=most, **given)
            at.append(copied() - before)
        return result.trace["bytes_sent"].tolist(), at[2] - at[1]

    with build(edges) as graph, emulated():
        through, linked = over_hub(ranks, work), over_links(ranks, work)
    (sent, first), *others = through
    assert {tuple(one) for one, _ in others} == {tuple(sent)}
    (header,) = {one for _, one in others}
    assert sent[1] == first - header
    peers = (ranks - 1) if exchange != "all" else ranks * (ranks - 1)
    assert [one * peers for one in sent] == linked[0][0]
