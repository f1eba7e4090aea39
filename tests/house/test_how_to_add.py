"""ARCHITECTURE.md, "How to add …", followed with a toy: an algorithm with a loop of its own, on all backends."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from emulator.device import emulated
from shapes import build, edge_frame, random_edges, rmat, undirected
from thread_ranks import on_ranks, share
from toy import cpu_loops, cuda_loops
from toy.algorithm import GreatestAncestor

import cugraph_ws as ws

NAME = "loops.greatest_ancestor"


@pytest.fixture(autouse=True)
def loops(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put the two small files where a new algorithm's would be."""
    monkeypatch.setitem(sys.modules, f"cugraph_ws.backends.cpu.{NAME}", cpu_loops)
    monkeypatch.setitem(sys.modules, f"cugraph_ws.backends.cuda.{NAME}", cuda_loops)
    with emulated():
        yield


def expected(edges: Any) -> list[int]:
    """Return the greatest vertex with a path to each, by search after search."""
    heads: dict[int, list[int]] = {}
    for tail, head in zip(edges.source.tolist(), edges.destination.tolist(), strict=True):
        heads.setdefault(tail, []).append(head)
        if not edges.directed:
            heads.setdefault(head, []).append(tail)
    found = [-1] * edges.n
    for start in reversed(range(edges.n)):
        pending = [start]
        while pending:
            vertex = pending.pop()
            if found[vertex] < 0:
                found[vertex] = start
                pending += heads.get(vertex, [])
    return found


GRAPHS = [
    random_edges(40, 70, seed=4),
    undirected(random_edges(30, 35, seed=5)),
    rmat(5, 2, seed=6),
]


@pytest.mark.parametrize("engine", ["cpu", "cuda"])
@pytest.mark.parametrize("edges", GRAPHS, ids=["directed", "undirected", "rmat"])
def test_one_loop_runs_on_every_backend(edges: Any, engine: str) -> None:
    def run(graph: Any) -> Any:
        return ws.run(GreatestAncestor(), graph, engine=engine).arrays["ancestor"].numbers

    with build(edges) as graph:
        assert run(graph).tolist() == expected(edges)
        for ranks in (2, 3):
            parts = on_ranks(ranks, lambda comm: run(share(graph, comm)))
            assert np.concatenate(parts).tolist() == expected(edges)


def test_frames_checkpoints_and_traces_need_no_more_code(tmp_path: Any) -> None:
    frame = edge_frame(GRAPHS[0])
    path = tmp_path / "state.parquet"
    stopped = ws.run(
        GreatestAncestor(), frame, progress=lambda update: update.superstep < 1, checkpoint=path
    )
    assert not stopped.converged
    whole = ws.run(GreatestAncestor(), frame)
    resumed = ws.run(GreatestAncestor(), frame, resume=path)
    assert resumed.frame.equals(whole.frame)
    assert list(whole.frame.columns) == ["vertex", "ancestor"]
    assert len(whole.trace) == whole.iterations
