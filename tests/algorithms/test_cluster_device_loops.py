"""Loops of their own on ranks' GPUs, emulated: the answers of one machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import oracles
import pandas as pd
import pytest
import stand_in_cudf
from emulator.device import emulated
from shapes import SHAPES, build, random_edges, rmat, undirected
from test_cluster_ranks import over_links
from thread_ranks import ThreadCommunicator, on_ranks, share
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.algorithms import components
from cugraph_ws.backends.cuda import grouping
from cugraph_ws.backends.cuda.loops import components as on_device
from cugraph_ws.backends.cuda.shard import DeviceShard
from cugraph_ws.partition.build import build_shard


@pytest.fixture(autouse=True)
def gpu() -> Iterator[None]:
    with emulated(), stand_in_cudf.installed():
        yield


def parts_of(frame: pd.DataFrame, comm: Any) -> list[tuple[int, Any]]:
    """Return a rank's partitions, of which there are four; they are dealt out in turn."""
    cuts = np.linspace(0, len(frame), 5).astype(int)
    return [
        (place, stand_in_cudf.DataFrame(frame.iloc[cuts[place] : cuts[place + 1]]))
        for place in range(4)
        if place % comm.size == comm.rank
    ]


def frame_of(edges: Edges, step: int = 1, first: int = 0) -> pd.DataFrame:
    """Return edges of ids that may have gaps."""
    ends = {"source": edges.source, "destination": edges.destination}
    return pd.DataFrame({name: step * np.asarray(one) + first for name, one in ends.items()})


def built(frame: pd.DataFrame, comm: Any, **options: Any) -> Any:
    meta = stand_in_cudf.DataFrame(frame.iloc[:0])
    return build_shard(comm, parts_of(frame, comm), meta=meta, **options)


def path(n: int, size: int) -> Edges:
    """Return a path on which adjacent vertices have different owners, if range offsets are even."""
    order = np.arange(n).reshape(size, -1).T.ravel()
    return Edges(order[:-1], order[1:], n)


CASES: dict[str, tuple[pd.DataFrame, dict[str, Any]]] = {
    "sparse": (frame_of(random_edges(60, 45, seed=3)), {}),
    "gaps": (frame_of(random_edges(60, 40, seed=4), 3, 7), {}),
    "negative": (frame_of(random_edges(40, 40, seed=5), 2, -30), {}),
    "undirected": (frame_of(random_edges(60, 45, seed=6)), {"directed": False}),
    "skewed": (frame_of(rmat(5, 2, seed=8), 2), {"directed": False}),
    "path": (frame_of(path(36, 3)), {}),
    "path, other cuts": (frame_of(path(36, 2), 5), {"cut": [5.0, 1.0, 2.0]}),
    "path, undirected": (frame_of(path(36, 3)), {"directed": False}),
    "loops": (frame_of(Edges(np.arange(9), np.arange(9), 9)), {}),
    "star": (frame_of(Edges(np.arange(1, 30), np.zeros(29, np.int64), 30)), {}),
    "few vertices": (frame_of(Edges(np.zeros(3, np.int64), np.ones(3, np.int64), 2)), {}),
    "nothing": (frame_of(random_edges(60, 45, seed=3)).iloc[:0], {}),
}


def expected(frame: pd.DataFrame, **options: Any) -> pd.DataFrame:
    options.pop("cut", None)
    with ws.Graph(frame, **options) as graph:
        return ws.weakly_connected_components(graph)


def assert_same(found: list[Any], whole: pd.DataFrame) -> None:
    assert all(type(one) is stand_in_cudf.DataFrame for one in found)
    joined = pd.concat(found, ignore_index=True)
    assert list(joined) == list(whole)
    for name in whole:
        assert np.array_equal(joined[name], whole[name])
        assert joined[name].dtype == whole[name].dtype


@pytest.mark.parametrize(
    ("size", "slow"),
    [(2, None), (3, None), (2, 1 << 20), (3, 0)],
    ids=["two", "three", "contracted", "contracted at length"],
)
@pytest.mark.parametrize("name", CASES)
def test_labels_are_those_of_the_whole_graph(
    name: str, size: int, slow: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame, options = CASES[name]
    if slow is not None:
        monkeypatch.setattr(components, "FEWEST", 1)
        monkeypatch.setattr(components, "SHARED", slow)
    options = {**options, "cut": options.get("cut", [1.0] * 3)[:size]}
    whole = expected(frame, **options)

    def work(comm: ThreadCommunicator) -> Any:
        shard = built(frame, comm, **options)
        assert isinstance(shard, DeviceShard)
        return ws.weakly_connected_components(shard)

    assert_same(on_ranks(size, work), whole)


@pytest.mark.parametrize("directed", [True, False])
def test_shards_built_on_the_host(directed: bool) -> None:
    frame = frame_of(random_edges(40, 25, seed=3), 3)
    alone = pd.DataFrame({"vertex": np.arange(0, 150, 5)})
    whole = expected(frame, vertices=alone, directed=directed)
    vertices = stand_in_cudf.DataFrame(alone)

    def work(comm: ThreadCommunicator) -> Any:
        shard = built(frame, comm, vertices=vertices, directed=directed)
        assert not isinstance(shard, DeviceShard)
        return ws.weakly_connected_components(shard)

    assert_same(on_ranks(3, work), whole)


@pytest.mark.parametrize("dtype", ["text", "uint64"])
def test_ids_that_are_kept_on_the_host(dtype: str) -> None:
    frame = frame_of(random_edges(40, 25, seed=3), 3)
    text = {name: frame[name].map("v{:03}".format) for name in frame}
    frame = frame.assign(**text) if dtype == "text" else frame.astype(np.uint64) + np.uint64(2**63)
    whole = expected(frame)
    found = on_ranks(2, lambda comm: ws.weakly_connected_components(built(frame, comm)))
    assert_same(found, whole)


@pytest.mark.parametrize("narrow", [0, 39], ids=["positions and numbers", "numbers alone"])
def test_wide_integers(narrow: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping, "INT32_NUMBERS", narrow)
    frame = frame_of(random_edges(50, 40, seed=4), 3)
    whole = expected(frame)

    def work(comm: ThreadCommunicator) -> Any:
        shard = built(frame, comm)
        if narrow:
            assert shard.length <= narrow < shard.number_of_vertices
            assert shard.laid_out()[1].dtype == np.int64
        return ws.weakly_connected_components(shard)

    assert_same(on_ranks(3, work), whole)


@pytest.mark.parametrize("turn", [lambda edges: edges, undirected], ids=["directed", "undirected"])
@pytest.mark.parametrize("name", ["path", "random sparse", "all isolated"])
def test_shards_of_any_kind_of_frame(name: str, turn: Any) -> None:
    """Empty ranks, isolated vertices, frames of pandas."""
    edges = turn(SHAPES[name])
    cuts = np.array([0, 0, edges.n // 3, edges.n // 3, edges.n, edges.n])

    def work(comm: ThreadCommunicator) -> Any:
        result = ws.run(ws.WeaklyConnectedComponents(), share(graph, comm, cuts), engine="cuda")
        assert result.converged
        return np.asarray(result.arrays["labels"].numbers)

    with build(edges) as graph:
        labels = np.concatenate(on_ranks(5, work))
    assert np.array_equal(labels, oracles.components(edges))


class Slower(ThreadCommunicator):
    """A rank that receives messages through the host."""

    on_device = False


def driven(frame: pd.DataFrame, comm: Any, **options: Any) -> tuple[Any, list[Any]]:
    loop = ws.WeaklyConnectedComponents()
    loop.start(built(frame, comm, **options), on_device=True)
    steps = []
    while not loop.converged:
        steps.append(loop.step())
    return loop.columns()["labels"].numbers, steps


def test_a_path_that_crosses_ranks_all_the_time_takes_few_steps() -> None:
    frame = frame_of(path(120, 2))
    shares = on_ranks(2, lambda comm: driven(frame, comm, cut=[1.0, 1.0]))
    assert not np.concatenate([labels for labels, _ in shares]).any()
    told = [[(one.direction, one.active) for one in steps] for _, steps in shares]
    assert told[0] == told[1]  # all ranks report the same
    directions = [direction for direction, _ in told[0]]
    assert directions[0] == "link"
    assert directions[-1] == "contract"
    assert len(directions) < 8
    assert told[0][-1][1] == 0


def test_two_rounds_are_enough_if_ranks_agree_at_once() -> None:
    frame = frame_of(rmat(6, 3, seed=2))
    (_, steps), _ = on_ranks(2, lambda comm: driven(frame, comm))
    assert [one.direction for one in steps] in (["link"], ["link", "exchange"])
    assert steps[0].bytes_sent > 0
    assert steps[0].edges >= len(frame)


def test_transport_by_nccl_and_by_the_host() -> None:
    frame = frame_of(random_edges(70, 60, seed=9), 2)
    whole = expected(frame)["labels"]

    def by_nccl(comm: Any) -> Any:
        return driven(frame, comm)[0]

    def by_host(comm: ThreadCommunicator) -> Any:
        return driven(frame, Slower(comm.rank, comm.size, comm._board, comm._barrier))[0]

    numbers = np.unique(frame)
    for labels in (over_links(2, by_nccl), on_ranks(2, by_host)):
        assert np.array_equal(numbers[np.concatenate(labels)], whole)


def test_the_cpu_engine_computes_on_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = frame_of(random_edges(30, 45, seed=3))
    whole = expected(frame)
    monkeypatch.setattr(on_device, "Forest", None)

    def work(comm: ThreadCommunicator) -> Any:
        shard = built(frame, comm)
        return ws.weakly_connected_components(shard, engine="cpu")

    assert_same(on_ranks(2, work), whole)


@pytest.mark.parametrize("engines", [("cuda", "cpu"), ("cpu", "cuda"), ("cuda", "cuda")])
@pytest.mark.parametrize("steps", [1, 99])
def test_checkpoints_go_from_engine_to_engine(
    engines: tuple[Any, Any], steps: int, tmp_path: Any
) -> None:
    file = tmp_path / "state.parquet"
    frame = frame_of(path(36, 2))

    def run(comm: ThreadCommunicator, engine: Any, **options: Any) -> Any:
        loop = ws.WeaklyConnectedComponents()
        return ws.run(loop, built(frame, comm), engine=engine, **options)

    def first(comm: ThreadCommunicator) -> Any:
        stop = (lambda made: made.superstep < steps) if comm.rank == 0 else (lambda made: True)
        return run(comm, engines[0], checkpoint=file, progress=stop)

    def second(comm: ThreadCommunicator) -> Any:
        return run(comm, engines[1], resume=file)

    begun = on_ranks(2, first)
    assert {one.converged for one in begun} == {steps == 99}
    for one in begun:  # labels so far are those of vertices of the component
        assert len(one.arrays["labels"].numbers) == 18
    ended = on_ranks(3, second)
    assert not np.concatenate([np.asarray(one.arrays["labels"].numbers) for one in ended]).any()
    if steps == 99:
        assert {one.iterations for one in ended} == {begun[0].iterations}
