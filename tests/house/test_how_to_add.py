"""ARCHITECTURE.md, "How to add …", followed with toys: a program, and a loop of its own on all backends."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulator.device import emulated
from shapes import build, edge_frame, random_edges, rmat, undirected
from thread_ranks import on_ranks, share
from toy import cpu_loops, cuda_loops
from toy.algorithm import GreatestAncestor

import cugraph_ws as ws

ROOT = Path(__file__).parents[2]
NAME = "loops.greatest_ancestor"


def test_a_program_is_a_file_its_test_and_a_line(tmp_path: Path) -> None:
    """In a copy of the tree; what is made of the line is written by `ci/functions.py`."""
    copy = tmp_path / "copy"
    shutil.copytree(
        ROOT / "cugraph_ws", copy / "cugraph_ws", symlinks=True,
        ignore=shutil.ignore_patterns("__pycache__"),
    )  # fmt: skip
    (copy / "kernels").symlink_to(ROOT / "kernels")
    page = "docs/site/guide/functions.md"
    for name in ("ci/functions.py", page):
        (copy / name).parent.mkdir(parents=True)
        shutil.copy(ROOT / name, copy / name)
    shutil.copy(ROOT / "tests" / "toy" / "earliest.py", copy / "cugraph_ws" / "algorithms")
    with (copy / "cugraph_ws" / "algorithms" / "public.py").open("a") as public:
        public.write("from cugraph_ws.algorithms.earliest import *\n")
    test = ROOT / "tests" / "toy" / "check_earliest.py"
    for words in ([copy / "ci" / "functions.py"], [test, copy / page]):
        done = subprocess.run(
            [sys.executable, *map(str, words)], cwd=tmp_path, capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": str(copy)}, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr


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
