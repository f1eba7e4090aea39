"""Several ranks on one GPU: ranks are threads, and copies replace NCCL.

Their kernels, and what they send each other, are those of a cluster.  Answers are compared with those of
the whole graph on the same GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from shapes import grid, rmat
from thread_ranks import over_links

import cugraph_ws as ws
from cugraph_ws.backends.cuda import exchange as device_exchange
from cugraph_ws.backends.cuda import predecessors
from cugraph_ws.partition.build import build_shard
from cugraph_ws.runtime.device import has_device

if not has_device():
    pytest.skip("there is no GPU", allow_module_level=True)
cudf = pytest.importorskip("cudf")

GRAPHS = {"rmat": rmat(14, 16, seed=3), "roads": grid(120, 80, drop=0.1, seed=2)}
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "bfs": lambda graph: ws.bfs(graph, 0),
    "sssp": lambda graph: ws.sssp(graph, 0),
    "widest_path": lambda graph: ws.widest_path(graph, 0),
    "multi_source_bfs": lambda graph: ws.multi_source_bfs(graph, [0, 3, 40]),
    "multi_source_sssp": lambda graph: ws.multi_source_sssp(graph, [0, 3, 40]),
    "components": ws.weakly_connected_components,
    "pagerank": lambda graph: ws.run(ws.PageRank, graph, max_iter=30).frame,
    "circuit": lambda graph: ws.run(ws.Circuit, graph, sources={0: 1.0, 9: 0.0}, max_iter=9).frame,
}


@lru_cache
def edges_of(name: str) -> pd.DataFrame:
    """Weights are whole, of few kinds: lengths and widths tie."""
    edges = GRAPHS[name]
    source, destination = (np.asarray(one, np.int64) for one in (edges.source, edges.destination))
    weight = ((source * 7 + destination * 13) % 6).astype(np.float32)
    return pd.DataFrame({"source": source, "destination": destination, "weight": weight + 1})


@lru_cache
def answer_of(name: str, function: str) -> pd.DataFrame:
    with ws.Graph(cudf.DataFrame(edges_of(name)), weight="weight") as graph:
        return in_order(FUNCTIONS[function](graph))


def in_order(frame: Any) -> pd.DataFrame:
    frame = frame.to_arrow().to_pandas()
    return frame.sort_values(list(frame.columns[:2]), ignore_index=True)


def of_members(name: str, ranks: int, work: Callable[[Any], Any]) -> pd.DataFrame:
    """Return what ranks find, put together."""
    frame = edges_of(name)
    cuts = np.linspace(0, len(frame), ranks + 1).astype(int)

    def on_rank(comm: Any) -> Any:
        own = frame.iloc[cuts[comm.rank] : cuts[comm.rank + 1]].reset_index(drop=True)
        return work(build_shard(comm, [(comm.rank, cudf.DataFrame(own))], weight="weight"))

    return in_order(cudf.concat(over_links(ranks, on_rank), ignore_index=True))


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions(function: str, name: str, ranks: int) -> None:
    found = of_members(name, ranks, FUNCTIONS[function])
    pd.testing.assert_frame_equal(found, answer_of(name, function), rtol=1e-9, check_dtype=False)


@pytest.mark.parametrize("exchange", ["vr", "ms", "all", "auto"])
@pytest.mark.parametrize("direction", ["push", "pull", "gather", "auto"])
def test_ways_of_a_search(direction: str, exchange: str) -> None:
    def search(shard: Any) -> Any:
        return ws.run(
            ws.SSSP, shard, source=0, plan=ws.Plan(direction=direction, exchange=exchange)
        ).frame

    found = of_members("rmat", 2, search)
    pd.testing.assert_frame_equal(found, answer_of("rmat", "sssp"), check_dtype=False)


@pytest.mark.parametrize("levels", [1, 8])
@pytest.mark.parametrize("along_ties", [False, True])
@pytest.mark.parametrize("name", GRAPHS)
def test_ties(name: str, along_ties: bool, levels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predecessors, "TIGHT_FROM", 0 if along_ties else 1 << 62)
    monkeypatch.setattr(predecessors, "TIGHT_PART", 1)
    monkeypatch.setattr(device_exchange, "LEVELS", levels)
    found = of_members(name, 2, FUNCTIONS["widest_path"])
    pd.testing.assert_frame_equal(found, answer_of(name, "widest_path"), check_dtype=False)
