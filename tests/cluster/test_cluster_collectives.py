"""How many collectives a call takes: what shards keep, and what clients send, is not asked again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from clusters import assert_same
from distributed import Client, LocalCluster

import cugraph_ws as ws
from cugraph_ws.dask import graph as cluster_graph
from cugraph_ws.dask.worker import DaskCommunicator
from cugraph_ws.execution import driver
from cugraph_ws.partition import ghost_ids as of_ghosts
from cugraph_ws.partition.exchange import RankExchange
from cugraph_ws.program import snapshot

ENDS = np.random.default_rng(8).integers(0, 60, (2, 300))
SPARSE = ENDS * 10**9 - 7  # ids that the ranks look up
FRAME = pd.DataFrame(
    {"source": SPARSE[0], "destination": SPARSE[1], "weight": np.arange(300) % 5 + 1.0}
)
TEXT = FRAME.assign(
    source=[f"v{one}" for one in ENDS[0]], destination=[f"v{one}" for one in ENDS[1]]
)


class Silent:
    """Ranks that never vote: how often they do depends on the time."""

    def __init__(self, comm: Any) -> None: ...

    def ask(self, request: str | None) -> str | None:
        return request


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": False}
    with LocalCluster(**options, dashboard_address=":0") as cluster, Client(cluster) as client:
        yield client


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """What the first rank has called."""
    made: Counter[str] = Counter()

    def count(owner: Any, name: str, rank_of: Callable[[Any], int]) -> None:
        plain = getattr(owner, name)

        def counted(self: Any, *given: Any) -> Any:
            made[name] += rank_of(self) == 0
            return plain(self, *given)

        monkeypatch.setattr(owner, name, counted)

    count(DaskCommunicator, "_exchange", lambda comm: comm.rank)
    count(RankExchange, "exchange", lambda one: one._comm.rank)
    monkeypatch.setattr(driver, "StopVote", Silent)
    return made


def spread(frame: pd.DataFrame) -> Any:
    return ws.Graph(dd.from_pandas(frame, npartitions=3, sort=False))


def outside(counts: Counter[str], call: Callable[[], Any]) -> int:
    """Return how many collectives a call has outside its supersteps."""
    counts.clear()
    call()
    assert counts["exchange"] > 1
    return counts["_exchange"] - counts["exchange"]


# Of a search: the counts at its start, and of missing predecessors
@pytest.mark.parametrize(("name", "number"), [("bfs", 2), ("sssp", 2), ("pagerank", 1), ("run", 1)])
@pytest.mark.parametrize("frame", [FRAME, TEXT], ids=["numbers", "text"])
def test_collectives_outside_supersteps(client, counts, frame, name, number):
    starts = frame["source"].drop_duplicates().tolist()[:4]
    calls = {
        "pagerank": lambda graph, start: ws.pagerank(graph, plan=ws.Plan(extrapolate="never")),
        "run": lambda graph, start: (
            ws.run(ws.PageRank, graph, plan=ws.Plan(extrapolate="never")).frame
        ),
    }
    call = calls.get(name, lambda graph, start: getattr(ws, name)(graph, start))
    told = dd.from_pandas(frame, npartitions=1).compute()  # Dask has a type of text of its own
    with spread(frame) as graph, ws.Graph(told) as whole:
        call(graph, starts[0])
        for start in starts[1:]:  # each one's own answer
            results = []
            found = outside(counts, lambda s=start, r=results: r.append(call(graph, s)))
            assert found == number
            assert_same(results[0], call(whole, start), rtol=1e-6)


def test_ranks_agree_again_after_a_call_that_failed(client, counts):
    with spread(FRAME) as graph:
        start = int(FRAME["source"][0])
        ws.bfs(graph, start)
        with pytest.raises(ws.InputError, match="max_iter"):
            ws.run(ws.PageRank, graph, max_iter=-1)
        assert outside(counts, lambda: ws.bfs(graph, start)) in (2, 3)
        with pytest.raises(ws.InputError, match="share"):
            ws.pagerank(graph, personalization={start: -1.0})  # found by the ranks
        assert outside(counts, lambda: ws.bfs(graph, start)) == 3


def test_many_vertices_are_looked_up_by_the_ranks_again(client, counts, monkeypatch):
    starts = sorted(set(FRAME["source"]))[:20]
    with spread(FRAME) as graph, ws.Graph(FRAME) as whole:
        expected = ws.bfs(whole, starts)
        ws.bfs(graph, starts)
        assert outside(counts, lambda: ws.bfs(graph, starts)) == 2
        monkeypatch.setattr("cugraph_ws.partition.known_vertices.SENT", 10)
        assert outside(counts, lambda: ws.bfs(graph, starts)) == 3
        assert_same(ws.bfs(graph, starts), expected)


def test_ids_of_many_ghosts_are_not_kept(client, counts, monkeypatch):
    monkeypatch.setattr(of_ghosts, "MOST", 0)
    start = int(FRAME["source"][1])
    with spread(FRAME) as graph, ws.Graph(FRAME) as whole:
        ws.bfs(graph, start)
        assert outside(counts, lambda: ws.bfs(graph, start)) == 4
        assert_same(ws.bfs(graph, start), ws.bfs(whole, start))


def test_a_graph_keeps_a_few_results_of_binding(client, counts, monkeypatch):
    monkeypatch.setattr(snapshot, "MOST", 2)
    dampings = (0.5, 0.6, 0.7, 0.8)

    def ranks(graph: Any, damping: float) -> Any:
        return ws.pagerank(graph, alpha=damping, plan=ws.Plan(extrapolate="never"))

    with spread(FRAME) as graph, ws.Graph(FRAME) as whole:
        for damping in dampings:
            ranks(graph, damping)
        for damping, number in zip(dampings[::-1], (1, 1, 2, 2), strict=True):
            assert outside(counts, lambda d=damping: ranks(graph, d)) == number
            assert_same(ranks(graph, damping), ranks(whole, damping), rtol=1e-6)


def test_functions_are_sent_by_name(client, monkeypatch):
    sent = []
    plain = cluster_graph.RankTasks

    def noted(*given: Any, direct: Any, **named: Any) -> Any:
        sent.append(direct[0][1].function)
        return plain(*given, direct=direct, **named)

    start = int(FRAME["source"][0])
    with spread(FRAME) as graph:
        monkeypatch.setattr(cluster_graph, "RankTasks", noted)
        ws.sssp(graph, source=start)
        ws.run(ws.SSSP, graph, source=start)
        ws.bfs(graph, start)
    assert sent == [ws.sssp, ws.run, ws.bfs]
