"""Runs over partitions of a whole graph: what callers see, and what is kept for later runs."""

from __future__ import annotations

import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from emulator.device import emulated
from plans import planned
from programs import Hops, Nearest, Rank
from shapes import rmat
from thread_ranks import on_ranks, share

import cugraph_ws as ws

EDGES = rmat(5, 3, seed=9)
FRAME = pd.DataFrame({"source": EDGES.source, "destination": EDGES.destination})


@pytest.fixture
def graph():
    with ws.Graph(FRAME) as made:
        yield made


@ws.vertex_program
class Raises:
    """Counts, and shifts by less than 0 bits at a vertex that has counted to 29."""

    count: ws.hidden(ws.int64)

    def init(vertex):
        return vertex

    def compute(src):
        return src.count

    combine = max

    def apply(old, gathered):
        return old.count + 1 if 1 << (28 - old.count) >= 0 else old.count


@pytest.mark.parametrize("partitions", [1, 3])
def test_an_error_in_a_program_is_the_programs_own(graph, partitions):
    """The first vertex that counts so far is the last one, of the last rank."""
    with pytest.raises(ws.ProgramError, match=r"Raises.apply, line .* shifts by -1 bits"):
        ws.run(Raises, graph, engine="python", max_iter=9, plan=ws.Plan(partitions=partitions))
    again = ws.run(Hops, graph, start=0, plan=ws.Plan(partitions=3))
    pd.testing.assert_frame_equal(again.frame, ws.run(Hops, graph, start=0).frame)


def test_progress_is_reported_in_the_callers_thread(graph):
    threads = []
    ws.run(
        Rank, graph, plan=ws.Plan(partitions=3), max_iter=4, tol=0.0, progress=lambda update: threads.append((threading.get_ident(), update.superstep)),
    )  # fmt: skip
    after_steps = [told for told in threads if told[1]]  # it is also called in a long start
    assert after_steps == [(threading.get_ident(), number) for number in (1, 2, 3, 4)]


def test_an_interrupted_run_gives_the_state_so_far(graph):
    def press(update):
        if update.superstep == 2:
            raise KeyboardInterrupt

    options = {"max_iter": 5, "tol": 0.0, "progress": press}
    found = []
    for partitions in (1, 3):
        with pytest.raises(ws.Interrupted, match="after 2 supersteps") as caught:
            ws.run(Rank, graph, **planned(partitions=partitions, **options))
        found.append(caught.value.result.frame)
    pd.testing.assert_frame_equal(*found)


def test_a_run_out_of_time_ends(graph):
    result = ws.run(Rank, graph, plan=ws.Plan(partitions=2), timeout=1e-9)
    assert (result.stopped, result.iterations) == ("timeout", 0)


def test_shards_are_kept_for_runs_over_as_many_partitions(graph):
    ws.run(Hops, graph, start=0, plan=ws.Plan(partitions=3))
    first = [shard.csc for shard in graph._shards]
    ws.run(Nearest, graph, seeds=[0], plan=ws.Plan(partitions=3))
    assert all(shard.csc is rows for shard, rows in zip(graph._shards, first, strict=True))
    ws.run(Hops, graph, start=0, plan=ws.Plan(partitions=2))
    assert len(graph._shards) == 2


def test_shards_are_part_of_the_graphs_memory_and_closed_with_it(graph):
    before = graph.report.bytes
    with emulated():
        expected = ws.run(Hops, graph, start=0, engine="cuda").frame
        found = ws.run(Hops, graph, start=0, engine="cuda", plan=ws.Plan(partitions=2))
        pd.testing.assert_frame_equal(found.frame, expected)
        assert graph.report.bytes > before
        held = [weakref.ref(shard) for shard in graph._shards]
        graph.close()
        del found
        gc.collect()
    assert [one() for one in held] == [None, None]


def test_a_graph_can_run_in_partitions_from_several_threads(graph):
    expected = ws.run(Rank, graph, max_iter=20, tol=0.0).frame["rank"]

    def run(number):
        return ws.run(
            Rank, graph, max_iter=20, tol=0.0, plan=ws.Plan(partitions=2 + number % 2)
        ).frame["rank"]

    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(run, range(8)):
            np.testing.assert_array_equal(found, expected)


def test_a_shard_is_not_cut_again(graph):
    def work(comm):
        with pytest.raises(ws.InputError, match=r"partitions=2: a graph on a cluster"):
            ws.run(Hops, share(graph, comm), start=0, plan=ws.Plan(partitions=2))

    on_ranks(2, work)
