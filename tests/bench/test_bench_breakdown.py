"""What of supersteps is computing: spans between events, on real executors in the emulator, and their sums."""

from __future__ import annotations

import threading
from collections import Counter

import pandas as pd
import pytest
from ci_scripts import of
from cuda_cases import set_classes
from emulator.device import EmulatedKernels, emulated
from plans import planned
from programs import Hops, Rank
from shapes import build, rmat
from thread_ranks import over_links, share, with_ordered_ghosts

import cugraph_ws as ws

COMPUTING = {"superstep", "pull_alone", "traverse", "clear_bitmap", "compare"}
MOVING = {
    "pack_all", "pack_changed", "unpack", "unpack_updates", "write_header", "write_frontier_header",
    "sum_headers",
}  # fmt: skip
GRAPH = rmat(4, 3, seed=11)


@pytest.fixture
def launched(monkeypatch):
    """Names of the kernels that each thread has launched."""
    set_classes(monkeypatch, block=32, hub=12, chunk=8, middle=5)
    names = {}
    plain = EmulatedKernels.launch

    def launch(self, name, *arguments, **options):
        names.setdefault(threading.get_ident(), []).append(name)
        plain(self, name, *arguments, **options)

    monkeypatch.setattr(EmulatedKernels, "launch", launch)
    return names


def watched_run(launched, program, ranks, cuts=None, **options):
    """Run a program over links; return supersteps' numbers, and kernels within spans and in all."""

    def record():
        own = launched.setdefault(threading.get_ident(), [])
        return own, len(own)

    within = Counter()

    def elapsed(before, after):
        own, place = before
        assert own is after[0], "both are of one worker"
        within.update(own[place : after[1]])
        return 1000.0 * (after[1] - place)

    def work(comm):
        result = ws.run(
            program, with_ordered_ghosts(share(graph, comm, cuts)), **planned(**options)
        )
        return result.frame, result.iterations

    with build(GRAPH) as graph, emulated(seed=3):
        expected = over_links(ranks, work)
        launched.clear()
        breakdown = of("cluster.breakdown")
        watch = breakdown.Watch(record)
        with breakdown.watched(watch):
            found = over_links(ranks, work)
    for (frame, iterations), (other, same) in zip(found, expected, strict=True):
        pd.testing.assert_frame_equal(frame, other)
        if options.get("direction") != "auto":  # a gather in place takes messages in any order
            assert iterations == same
    every = Counter(name for own in launched.values() for name in own)
    seconds = watch.seconds(elapsed)
    assert sum(seconds.values()) == within.total()
    assert sorted(seconds) == list(range(found[0][1]))
    return within, every


def only(names, counted):
    return {name: count for name, count in counted.items() if name in names}


@pytest.mark.parametrize("exchange", ["vr", "ms"])
def test_exactly_the_computation_of_dense_supersteps(launched, exchange):
    options = {"max_iter": 4, "tol": 0.0, "exchange": exchange, "engine": "cuda"}
    within, every = watched_run(launched, Rank, 2, **options)
    assert only(COMPUTING, every) == {"superstep": 2 * 4}
    assert only(COMPUTING, within) == only(COMPUTING, every)
    assert only(MOVING, every)
    assert not only(MOVING, within)


@pytest.mark.parametrize("direction", ["auto", "push"])
def test_frontiers(launched, direction):
    options = {"exchange": "vr", "engine": "cuda", "direction": direction}
    within, every = watched_run(launched, Hops, 2, start=0, **options)
    assert every["traverse" if direction == "push" else "superstep"] > 0
    assert only(COMPUTING, within) == only(COMPUTING, every)
    assert only(MOVING, every)
    assert not only(MOVING, within)


def test_the_slowest_of_every_superstep():
    slowest = of("cluster.breakdown").slowest
    assert slowest([{0: 1.0, 1: 5.0}, {0: 2.0, 1: 3.0}]) == 7.0
    assert slowest([{0: 1.0, 64: 9.0}, {0: 2.0}]) == 11.0, "one rank went on alone"
    assert slowest([]) == 0.0
