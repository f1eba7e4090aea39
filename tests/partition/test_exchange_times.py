"""What exchanges are predicted to take, and what is chosen by that, on clusters with made-up rates."""

from __future__ import annotations

import threading
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from plans import planned
from programs import Rank
from shapes import build, rmat, undirected
from thread_ranks import ThreadCommunicator, on_ranks, share
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.contract import BoundaryUpdate, Entry
from cugraph_ws.partition import exchange, exchange_times, refinement
from cugraph_ws.partition.exchange_times import (
    CLOSE,
    GPU,
    HOST,
    LEAST,
    MARGIN,
    ExchangeSeconds,
    ExchangeTimes,
    LastingTimes,
    Offer,
    Rates,
    names_of,
)  # fmt: skip
from cugraph_ws.partition.refinement import Refinement
from cugraph_ws.runtime import thread_ranks

FREE = Rates(0.0, 0.0, look=0.0, take=0.0, put=0.0, copy=0.0, fill=0.0)
SECOND = Rates(1.0, 0.0, look=1.0, take=2.0, put=3.0, copy=4.0, fill=5.0)
METHODS = ("vr", "ms", "all")
# All vertices are ghosts everywhere; later vertices have more arcs.
EVERYONE = Edges(*(np.concatenate(some) for some in zip(
    np.divmod(np.arange(24 * 24), 24), np.tril_indices(24), strict=True
)), 24)  # fmt: skip
SPARSE = undirected(rmat(8, 4, seed=73))


class TestPredictions:
    def test_by_hand(self):
        times, entry = ExchangeTimes(SECOND, np.array([1.0, 10.0])), Entry(8, 4, 1)
        assert times.listed(3, 7, entry, 1) == (36, 360.0, 7 + 3 * 5)
        assert times.whole(7, entry, 0) == (63, 63.0, 7 * 9)
        assert times.bits(9, entry, 0) == (10, 10.0, 9 * 6)
        assert times.bits(33, entry, 0, word=4).nbytes == 16
        # one of two receivers picks its four ghosts among ten vertices
        assert times.everyone(10, {0: 10, 1: 4}, entry) == (180, 990.0, 14 * 4 + 14 * 5)

    def test_of_many_messages(self):
        times = ExchangeTimes(GPU)
        useful, count = np.array([[0, 5], [10**7, 0]]), np.array([[0, 6], [10**7, 0]])
        listed, whole = times.listed(useful, count, Entry(4)), times.whole(count, Entry(4))
        assert listed.beats(whole).tolist() == [[False, False], [False, False]]
        best = whole.or_else(listed, np.array([[False, True], [False, False]]))
        assert best.nbytes.tolist() == [[0, 40], [4 * 10**7, 0]]

    def test_bytes_decide_where_times_are_close(self):
        little, much = Offer(1, CLOSE, 0.0), Offer(2, 0.0, 0.0)
        assert little.beats(much)
        assert not much.beats(little)
        assert much.beats(Offer(1, CLOSE, CLOSE))

    @pytest.mark.parametrize(
        ("rates", "useful", "alike", "way"),
        [
            (FREE, 5, False, "vr"),  # 60 bytes against 80
            (FREE, 5, True, "bits"),
            (FREE, 7, False, "ms"),
            (Rates(**{**vars(FREE), "take": 1.0}), 5, False, "ms"),
            (Rates(**{**vars(FREE), "fill": 1.0}), 5, True, "vr"),
            (Rates(**{**vars(FREE), "byte": 1.0, "copy": 1.0}), 7, False, "vr"),
            (Rates(**{**vars(FREE), "byte": 1.0, "copy": 1.0}), 9, False, "ms"),
        ],
    )
    def test_what_is_chosen_of_one_message(self, rates, useful, alike, way):
        assert ExchangeTimes(rates).choose(0, useful, 10, Entry(8), lambda: alike) == way

    def test_names(self):
        assert [names_of(ways) for ways in (0, 1, 2, 4, 8, 3)] == [
            "", "vr", "ms", "all", "bits", "vr+ms",
        ]  # fmt: skip


class TestCorrections:
    def test_towards_what_was_measured(self):
        """Links have a hundredth of the speed, and handling takes a third of the time."""
        times, true = ExchangeTimes(HOST), ExchangeTimes(Rates(**{**vars(HOST), "byte": 1e-7}))
        count, entry = 10**6, Entry(8)
        for _ in range(24):
            thought, really = (one.whole(count, entry, 0) for one in (times, true))
            predicted = [ExchangeSeconds(HOST.latency, thought.sending, thought.handling)] * 2
            took = [
                ExchangeSeconds(0.0, HOST.latency + really.sending * wait, really.handling / 3)
                for wait in (1, 9)
            ]
            times.learn(predicted, took)
        assert times.sending == exchange_times.MOST, "no further than that"
        assert times.handling == pytest.approx(1 / 3, rel=1e-3)

    def test_not_by_little(self):
        times = ExchangeTimes(HOST)
        times.learn([ExchangeSeconds(1e-3, 9e-4, 9e-5)], [ExchangeSeconds(0.0, 5.0, 5.0)])
        assert (times.sending, times.handling) == (1.0, 1.0)

    def test_never_below_nothing(self):
        times = ExchangeTimes(HOST)
        for _ in range(99):
            times.learn([ExchangeSeconds(1e-4, 1.0, 1.0)], [ExchangeSeconds(0.0, 0.0, 0.0)])
        assert (times.sending, times.handling) == (LEAST, LEAST)

    def test_ways_that_were_used_count_by_their_times(self):
        lasting = LastingTimes()
        assert lasting.estimate(False, 2.0, now=False) == 2.0
        for took in (9.0, 5.0, 6.0):
            lasting.learn(False, 1.0, took)
        assert lasting.estimate(False, 2.0, now=False) == 6.0, "the first does not count"
        assert lasting.estimate(True, 1.0, now=False) == pytest.approx(5.0 * MARGIN)
        lasting.learn(True, 1.0, 99.0)
        lasting.learn(True, 1.0, 7.0)
        assert lasting.estimate(True, 1.0, now=True) == 7.0
        for _ in range(exchange_times.KEPT + 1):
            lasting.learn(False, 1.0, 8.0)
        assert lasting.estimate(False, 1.0, now=False) == 8.0, "old times are forgotten"


def test_the_next_message_follows_what_changed():
    """Without exact numbers: with slow unpacking the subset is sent even if little has changed."""
    slow = ExchangeTimes(Rates(**{**vars(FREE), "put": 1.0}))
    chosen = Refinement("auto", times=slow)
    field = (np.zeros(10),)
    for useful, refined in ((1, False), (0, True)):
        chosen.learn(0, BoundaryUpdate(None, field, None, useful), 10)
        assert chosen.refines(0) is refined


# Seconds of a byte, and of what vertices take; the graph, the program; what most supersteps send
CLUSTERS: dict[str, tuple[float, dict[str, float], Edges, Any, dict[str, Any], str]] = {
    "slow links, most change": (1.0, {}, EVERYONE, Rank, {"max_iter": 6, "tol": 0.0}, "ms"),
    "slow links, few change": (1.0, {}, SPARSE, ws.SSSP, {"source": [0]}, "vr"),
    "slow packing": (0.0, {"copy": 1.0, "take": 1.0}, EVERYONE, Rank, {"max_iter": 6, "tol": 0.0}, "all"),
    "slow lists": (1e-3, {"take": 9.0}, EVERYONE, Rank, {"max_iter": 6, "tol": 0.0}, "ms"),
    "slow unpacking": (0.0, {"fill": 1.0}, SPARSE, ws.SSSP, {"source": [0]}, "vr"),
    "slow packing of whole boundaries": (
        0.0, {"copy": 1.0}, EVERYONE, Rank, {"max_iter": 6, "tol": 0.0}, "vr",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CLUSTERS)
def test_the_best_of_three_on_a_cluster_with_given_rates(case, monkeypatch):
    """Predictions are what the cluster takes: after the first two supersteps none of the three is better."""
    byte, handling, edges, program, options, usual = CLUSTERS[case]
    if program is ws.SSSP:
        lengths = np.arange(len(edges.source)) % 7 + 1.0
        edges = Edges(edges.source, edges.destination, edges.n, lengths)
    monkeypatch.setattr(thread_ranks, "COPY", (byte, 0.0))
    monkeypatch.setattr(exchange_times, "HOST", Rates(**{**vars(FREE), **handling}))
    monkeypatch.setattr(ExchangeTimes, "learn", lambda *arguments: None)
    took, ways, frames = {}, {}, {}
    with build(edges) as graph:
        for method in (*METHODS, "auto"):
            given = {"engine": "python", "partitions": 4, "exchange": method, **options}
            result = ws.run(program, graph, **planned(**given))
            took[method] = result.trace["predicted"].iloc[2:].sum()
            ways[method] = result.trace["exchange"].iloc[2:].str.split("+").explode()
            frames[method] = result.frame
    assert took["auto"] <= 1.03 * min(took[method] for method in METHODS)
    assert ways["auto"][ways["auto"] != ""].mode().tolist() == [usual]
    for method in METHODS:
        assert set(ways[method]) - {""} == {method}
        pd.testing.assert_frame_equal(frames[method], frames["auto"])


class Clock(threading.local):
    """A time for each rank."""

    now = 0.0


class SimulatedCommunicator(ThreadCommunicator):
    """A rank whose messages take time: each byte, each message, and the wait for the last rank."""

    def __init__(self, comm: ThreadCommunicator, clock: Clock, byte: float) -> None:
        self.__dict__.update(vars(comm))
        self._clock, self._byte_time = clock, byte

    def alltoall(self, boxes: Any) -> Any:
        own = sum(
            array.nbytes for peer, box in enumerate(boxes) if peer != self.rank for array in box
        )
        self._clock.now += self.rank * 0.01  # ranks do not come at the same time
        begun = max(self.allgather(self._clock.now))
        found = super().alltoall(boxes)
        self._clock.now = begun + own * self._byte_time
        return found


def test_ranks_agree_on_what_they_learn(monkeypatch):
    """Links are slower than assumed; all ranks find the same correction from what headers say."""
    clock, byte = Clock(), 1e-4
    monkeypatch.setattr(exchange, "perf_counter", lambda: clock.now)
    monkeypatch.setattr(exchange_times, "HOST", Rates(**{**vars(FREE), "byte": 2e-5}))
    kept: list[ExchangeTimes] = []
    made = refinement.Sender.__init__

    def noted(self, *arguments, times, **named):
        kept.append(times)
        made(self, *arguments, times=times, **named)

    monkeypatch.setattr(refinement.Sender, "__init__", noted)

    def work(comm):
        simulated = SimulatedCommunicator(comm, clock, byte)
        result = ws.run(Rank, share(graph, simulated), engine="python", max_iter=12, tol=0.0)
        return result.frame, result.trace.drop(columns="milliseconds")

    with build(rmat(9, 8, seed=4)) as graph:
        ranks = on_ranks(3, work)
    for (_, one), (_, other) in pairwise(ranks):
        pd.testing.assert_frame_equal(one, other)
    assert len({times.sending for times in kept}) == 1
    assert 3 < kept[0].sending < 7, "five times slower, and headers have bytes too"
    trace = ranks[0][1]
    assert (trace["predicted"] > 0).all()
    assert trace["predicted"].iloc[-1] > 2 * trace["predicted"].iloc[0] * (
        trace["bytes_sent"].iloc[-1] / trace["bytes_sent"].iloc[0]
    )


def test_measured_rates_of_links():
    comm = SimpleNamespace(size=3, measured={0: (1e-9, 2e-5), 2: (3e-9, 1e-4)})
    times = exchange_times.times_between(comm)
    assert [times.byte(peer) for peer in (0, 2)] == [1e-9, 3e-9]
    assert times.rates.latency == 1e-4
    assert exchange_times.times_between(SimpleNamespace(size=3)).byte(1) == HOST.byte
