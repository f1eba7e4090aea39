"""Runs that begin at the same moment in several threads: each result is that of a run alone."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pandas as pd
import stand_in_cudf
from emulator.device import emulated
from programs import Endless, Hops, Rank
from shapes import edge_frame, random_edges, rmat

import cugraph_ws as ws
from cugraph_ws.backends.cuda import memory

EDGES, OTHER_EDGES = rmat(9, 8, seed=71), rmat(8, 6, seed=72)
# Between them they make the rows of out-neighbours, values in both orders, degrees, sums and neighbourhoods.
CALLS: list[Callable[..., Any]] = [
    lambda graph, engine: ws.sssp(graph, 0, engine=engine),
    lambda graph, engine: ws.pagerank(graph, max_iter=3, fail_on_nonconvergence=False, engine=engine),
    lambda graph, engine: ws.run(Hops, graph, start=0, engine=engine).frame,
    lambda graph, engine: ws.run(Rank, graph, max_iter=2, engine=engine).frame,
    lambda graph, engine: ws.triangle_count(graph, engine=engine),
    lambda graph, engine: ws.weakly_connected_components(graph, engine=engine),
]  # fmt: skip


def at_once(calls: list[Callable[[], Any]]) -> list[Any]:
    """Return what calls return that begin together, each in a thread; an error is returned too."""
    barrier = Barrier(len(calls))

    def call(function: Callable[[], Any]) -> Any:
        barrier.wait()
        try:
            return function()
        except ws.CugraphWsError as error:
            return error

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(call, calls))


def assert_alike(found: list[Any], expected: list[Any]) -> None:
    for frame, alone in zip(found, expected, strict=True):
        pd.testing.assert_frame_equal(frame, alone, check_exact=True)


def test_on_one_new_graph_and_on_two():
    frames = [3 * edge_frame(edges) for edges in (EDGES, OTHER_EDGES)]
    expected = [call(ws.Graph(frame), "cpu") for frame in frames for call in CALLS]
    for _ in range(4):
        first, second = map(ws.Graph, frames)
        work = [lambda g=graph, c=call: c(g, "cpu") for graph in (first, second) for call in CALLS]
        assert_alike(at_once(work), expected)


def test_one_is_ended_and_one_refused_beside_others():
    with ws.Graph(edge_frame(EDGES)) as graph:
        alone, everyone = CALLS[0](graph, "cpu"), graph.vertices["vertex"].tolist()
        graph.memory_limit = graph.nbytes + 150_000
        found = at_once(
            [
                lambda: ws.run(Endless, graph, progress=lambda update: update.superstep < 3),
                lambda: ws.run(Endless, graph, timeout=0.1),
                lambda: ws.multi_source_sssp(graph, everyone),
                lambda: ws.bfs(graph, 10_000),
                lambda: CALLS[0](graph, "cpu"),
            ]
        )
        assert [result.stopped for result in found[:2]] == ["callback", "timeout"]
        assert isinstance(found[2], ws.GraphMemoryError)
        assert isinstance(found[3], ws.InputError)
        assert_alike(found[4:], [alone])


def test_on_one_emulated_gpu():
    """While graphs are asked to give back what they keep."""
    with stand_in_cudf.installed(), emulated():
        frame = stand_in_cudf.DataFrame(edge_frame(random_edges(5, 8, seed=3)))
        graph, other = ws.Graph(frame), ws.Graph(frame, placement="host")
        expected = [call(graph, "cuda") for call in CALLS[:4]]
        graph = ws.Graph(frame)
        work = [lambda g=g, c=call: c(g, "cuda") for g in (graph, other) for call in CALLS[:4]]
        work.append(lambda: [memory.room_for(1 << 60) for _ in range(20)])
        *found, _ = at_once(work)
        for result, alone in zip(found, [*expected, *expected], strict=True):
            assert result.equals(alone)
