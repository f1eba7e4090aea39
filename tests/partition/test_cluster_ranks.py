"""Vertex programs on ranks in threads: the same answers as on one machine, over any transport."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from emulator.device import emulated
from plans import planned
from programs import Hops, Labels, Nearest, Paths, Peel, Rank, Reached, Widest
from shapes import SHAPES, build, rmat, undirected
from thread_ranks import ThreadCommunicator, on_ranks, over_links, share

import cugraph_ws as ws
from cugraph_ws.dask.nccl import INLINE, NcclCommunicator
from cugraph_ws.dask.worker import DaskCommunicator
from cugraph_ws.execution import progress
from cugraph_ws.execution.stop_requests import StopVote
from cugraph_ws.runtime.communicator import RunAbandonedError, SingleRank

GRAPHS = {
    "rmat": rmat(5, 4, seed=11),
    "path": SHAPES["path"],
    "ties": SHAPES["ties and zeros"],
    "undirected": undirected(SHAPES["random sparse"]),
    "isolated": SHAPES["all isolated"],
}
PROGRAMS: dict[str, tuple[Any, dict[str, Any]]] = {
    "hops": (Hops, {"start": 0}),
    "nearest": (Nearest, {"seeds": [0]}),
    "labels": (Labels, {}),
    "reached": (Reached, {"start": [0]}),
    "widest": (Widest, {"start": 0}),
    "paths": (Paths, {"max_iter": 2}),
    "peeled": (Peel, {"k": 2}),
    "rank": (Rank, {"max_iter": 5, "tol": 0.0}),
    "pagerank": (ws.PageRank, {"max_iter": 5, "tol": 0.0, "personalization": {0: 2.0}}),
    "sssp": (ws.SSSP, {"source": [0]}),
}


def assert_parts(parts: Sequence[Any], whole: Any, tolerance: float = 1e-12) -> None:
    found = pd.concat(parts, ignore_index=True)
    pd.testing.assert_frame_equal(found, whole, rtol=tolerance, check_exact=False)


@pytest.mark.parametrize("kind", GRAPHS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_same_as_on_one_machine(name: str, kind: str) -> None:
    ranks = (2, 7)[(list(GRAPHS).index(kind) + list(PROGRAMS).index(name)) % 2]
    program, options = PROGRAMS[name]
    exchange = ["vr", "ms", "all", "auto"][len(name + kind) % 4]
    with build(GRAPHS[kind]) as graph:
        whole = ws.run(program, graph, **planned(**options))

        def work(comm: ThreadCommunicator) -> tuple[Any, int, str]:
            result = ws.run(program, share(graph, comm), **planned(exchange=exchange, **options))
            return result.frame, result.iterations, result.stopped

        results = on_ranks(ranks, work)
        assert_parts([frame for frame, _, _ in results], whole.frame)
    assert len({facts for _, *facts in results for facts in [tuple(facts)]}) == 1


@pytest.mark.parametrize("exchange", ["vr", "all"])
@pytest.mark.parametrize("name", ["nearest", "peeled", "pagerank", "sssp"])
def test_on_gpus(name: str, exchange: str) -> None:
    program, options = PROGRAMS[name]
    with build(GRAPHS["rmat"]) as graph, emulated(seed=3, multiprocessors=2):
        whole = ws.run(program, graph, **planned(**options)).frame
        parts = on_ranks(
            2,
            lambda comm: (
                ws.run(
                    program,
                    share(graph, comm),
                    **planned(engine="cuda", exchange=exchange, **options),
                ).frame
            ),
        )
    # what edges read of PageRank is rounded to 24 bits on a GPU
    assert_parts(parts, whole, 1e-6)


BOXES = {
    "nothing": [],
    "empty": [np.empty(0, np.int32), np.empty((0, 3))],
    "small": [np.arange(7), np.array([True, False]), np.ones((2, 3), np.float32)],
    "long": [np.arange(INLINE), np.full(3 * INLINE, 0.5)],
    "many": [np.full(3, number) for number in range(500)],  # more than a header lists
}


@pytest.mark.parametrize("size", [2, 3])
def test_boxes_arrive_as_they_were_sent(size: int) -> None:
    kinds = list(BOXES)

    def work(comm: NcclCommunicator) -> None:
        for turn in range(len(kinds)):
            boxes = [BOXES[kinds[(turn + comm.rank + peer) % len(kinds)]] for peer in range(size)]
            for source, box in enumerate(comm.alltoall(boxes)):
                expected = BOXES[kinds[(turn + source + comm.rank) % len(kinds)]]
                assert len(box) == len(expected)
                for array, other in zip(box, expected, strict=True):
                    assert array.dtype == other.dtype
                    np.testing.assert_array_equal(array, other)

    with emulated():
        over_links(size, work)


def test_values_are_shown_to_all() -> None:
    values = [None, {"a": (1, 2.5)}, "x" * (2 * INLINE)]

    def work(comm: NcclCommunicator) -> None:
        assert comm.allgather(values[comm.rank]) == values
        assert comm.request is None

    with emulated():
        over_links(3, work)


def test_a_program_over_links() -> None:
    with build(GRAPHS["rmat"]) as graph, emulated(seed=4):
        whole = ws.run(ws.SSSP, graph, source=[0]).frame
        parts = over_links(
            2, lambda comm: ws.run(ws.SSSP, share(graph, comm), engine="cuda", source=[0]).frame
        )
    assert_parts(parts, whole)


def test_a_communicator_of_one_rank() -> None:
    box = [np.arange(3)]
    assert SingleRank().alltoall([box]) == [box]
    assert SingleRank().allgather(5) == [5]


@pytest.mark.parametrize("asked", ["timeout", "interrupt", "callback"])
def test_the_first_rank_ends_a_run_for_all(asked: str) -> None:
    def work(comm: ThreadCommunicator) -> list[str | None]:
        vote = StopVote(comm)
        answers = [vote.ask(asked if comm.rank == 0 and turn == 5 else None) for turn in range(6)]
        while answers[-1] is None:
            answers.append(vote.ask(None))
        return answers

    first, *others = on_ranks(3, work)
    assert first[-1] == asked
    assert all(answers == first for answers in others), "all in the same superstep"


def test_requests_of_other_ranks_do_not_count() -> None:
    def work(comm: ThreadCommunicator) -> str | None:
        return StopVote(comm).ask("callback" if comm.rank == 1 else None)

    assert on_ranks(2, work) == [None, None]


def test_progress_stops_all_ranks() -> None:
    def slow(update: progress.ProgressUpdate) -> bool:
        time.sleep(0.02)  # ranks vote about every tenth of a second
        return update.superstep < 3

    def work(comm: ThreadCommunicator) -> tuple[str, int]:
        result = ws.run(
            ws.PageRank,
            share(graph, comm),
            progress=slow if comm.rank == 0 else False,
            tol=0.0,
            alpha=0.9999,
            max_iter=100_000,
        )
        return result.stopped, result.iterations

    with build(GRAPHS["rmat"]) as graph:
        (stopped, iterations), other = on_ranks(2, work)
    assert stopped == "callback"
    assert other == (stopped, iterations)
    assert 3 <= iterations < 1000


class Inbox:
    """An inbox with messages of some ranks for the first collective."""

    def __init__(self, *came: int) -> None:
        self._came = came
        self.over = False

    def missing(self, run: str, step: int, ranks: Sequence[int]) -> list[int]:
        assert (run, step) == ("run", 1)
        return [rank for rank in ranks if rank not in self._came]

    def wait_for(self, run: str, step: int, number: int, seconds: float) -> None:
        if self.over:
            raise RunAbandonedError("the run is over")


def test_a_rank_knows_whether_others_wait_in_the_next_collective() -> None:
    def connected(plugin: Any) -> DaskCommunicator:
        return DaskCommunicator(plugin, "run", 0, ["tcp://a", "tcp://b", "tcp://c"])

    assert not connected(Inbox()).is_called()
    assert connected(Inbox(2)).is_called()
    late = Inbox(1, 2)
    late.over = True
    with pytest.raises(RunAbandonedError):
        connected(late).is_called()
