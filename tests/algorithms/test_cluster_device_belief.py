"""Belief propagation on ranks' GPUs, emulated: the beliefs of one machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import stand_in_cudf
from emulator.device import emulated
from shapes import SHAPES, build, hub, random_edges, undirected
from test_cluster_device_loops import Slower, built, frame_of
from test_cluster_loops import EVEN, SKEWED, beliefs_of, with_strengths
from thread_ranks import on_ranks, over_links, share, with_ordered_ghosts
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.backends.cuda import grouping
from cugraph_ws.backends.cuda.loops import belief_propagation as on_device
from cugraph_ws.execution.rank_checkpoint import RankCheckpoints

EQUAL = {"rtol": 1e-9, "atol": 1e-300}  # sums are taken in another order


@pytest.fixture(autouse=True)
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(on_device, "BLOCK", 32)
    with emulated(), stand_in_cudf.installed():
        yield


def coupling_for(edges: Edges, coupled: bool) -> Any:
    return "weight" if not coupled else SKEWED if edges.directed else EVEN


def check(edges: Edges, size: int, coupled: bool, steps: int = 4) -> None:
    edges = with_strengths(edges)
    make = beliefs_of(edges, coupling_for(edges, coupled), 3)
    cuts = np.sort(np.random.default_rng(size).integers(0, edges.n + 1, size + 1))
    cuts[[0, -1]] = 0, edges.n

    def loop() -> Any:
        made = make()
        made.max_iter = steps
        return made

    def work(comm: Any) -> Any:
        shard = share(graph, comm, cuts)
        shard = with_ordered_ghosts(shard) if size == 2 else shard
        result = ws.run(loop(), shard, engine="cuda")
        return result.arrays, result.rows.columns()

    with build(edges) as graph:
        whole = ws.run(loop(), graph, engine="cpu")
        results = on_ranks(size, work)
    for name, one in whole.arrays.items():
        found = np.concatenate([arrays[name] for arrays, _ in results])
        np.testing.assert_allclose(found, one, **EQUAL)
    expected = whole.rows.columns()
    for _, rows in results:
        for name in ("active", "edges"):
            assert np.array_equal(rows[name], expected[name])
        np.testing.assert_allclose(rows["residual"], expected["residual"], rtol=1e-9, atol=1e-13)


NAMES = ("empty", "one vertex", "star", "cycle", "two components", "self-loops", "duplicates")  # fmt: skip


@pytest.mark.parametrize(
    ("name", "directed"),
    [(name, place % 2 == 0) for place, name in enumerate(NAMES)]
    + [("duplicates", False), ("self-loops", True)],
)
def test_every_shape(name: str, directed: bool) -> None:
    place = NAMES.index(name)
    edges = SHAPES[name] if directed else undirected(SHAPES[name])
    check(edges, 2 + place % 2, coupled=place % 4 < 2, steps=3)


def test_more_ranks_than_vertices_and_long_rows() -> None:
    check(random_edges(4, 9, seed=1), 6, coupled=True, steps=2)
    check(undirected(hub(70)), 2, coupled=False, steps=2)


@pytest.mark.parametrize(("directed", "wide"), [(True, True), (False, False)])
def test_frames_on_gpus(directed: bool, wide: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ids with gaps, and priors in a frame; over links, and by the host."""
    if wide:
        monkeypatch.setattr(grouping, "INT32_NUMBERS", 0)
    edges = random_edges(30, 40, seed=2)
    frame = frame_of(edges, 3, 7).assign(w=np.random.default_rng(8).normal(0, 0.2, 40))
    present = np.unique(frame[["source", "destination"]])
    chances = np.random.default_rng(3).random((2, len(present))) + 0.1
    priors = pd.DataFrame({"vertex": present, "a": chances[0], "b": chances[1]})
    options: dict[str, Any] = {"directed": directed, "weight": "w"}
    given = {"damping": 0.1, "tol": 1e-3, "max_iter": 40}

    def work(comm: Any) -> Any:
        shard = built(frame, comm, **options)
        assert shard.binds_on_device == comm.on_device
        return ws.belief_propagation(shard, stand_in_cudf.DataFrame(priors), "w", **given)

    def by_host(comm: Any) -> Any:
        return work(Slower(comm.rank, comm.size, comm._board, comm._barrier))

    with ws.Graph(frame, **options) as graph:
        whole = ws.belief_propagation(graph, priors, "w", **given)
    for parts in (over_links(2, work),) if wide else (on_ranks(3, by_host),):
        assert all(type(one) is stand_in_cudf.DataFrame for one in parts)
        joined = pd.concat(parts, ignore_index=True)
        assert list(joined) == list(whole)
        assert np.array_equal(joined["vertex"], whole["vertex"])
        for name in list(whole)[1:]:
            np.testing.assert_allclose(joined[name], whole[name], **EQUAL)


def test_invalid_input_is_refused_by_all() -> None:
    weights = np.zeros(9)
    weights[[4, 7]] = 1000.0, -900.0
    edges = replace(SHAPES["short path"], weight=weights)
    priors = pd.DataFrame({"vertex": [7], "a": [0.0], "b": [0.0]})

    def refusal(make: Any) -> Any:
        def work(comm: Any) -> str:
            loop = make()
            with pytest.raises(ws.InputError) as caught:
                loop.start(share(graph, comm), on_device=True)
            return str(caught.value)

        return set(on_ranks(3, work))

    with build(edges) as graph:
        for make in (
            beliefs_of(edges, "weight", 2),
            lambda: ws.BeliefPropagation(priors, np.ones((2, 2))),
        ):
            with pytest.raises(ws.InputError) as caught:
                ws.run(make(), graph, engine="cpu")
            assert refusal(make) == {str(caught.value)}


@pytest.mark.parametrize("engines", [("cuda", "cpu"), ("cpu", "cuda")])
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_checkpoints_go_from_engine_to_engine(
    engines: tuple[str, str], directed: bool, tmp_path: Any
) -> None:
    """Of three ranks after three steps, for two ranks; parallel edges among theirs."""
    path, shape = tmp_path / "state.parquet", random_edges(16, 60, seed=5)
    edges = with_strengths(shape if directed else undirected(shape))
    make = beliefs_of(edges, coupling_for(edges, directed == (engines[0] == "cuda")), 3)

    def begin(comm: Any) -> None:
        loop, shard = make(), share(graph, comm)
        loop.start(shard, on_device=engines[0] == "cuda")
        for _ in range(3):
            loop.step()
        RankCheckpoints(loop, shard, path, None).save({"iterations": 3, "residual": None})

    def resume(comm: Any) -> Any:
        loop = make()
        loop.max_iter = 5
        return ws.run(loop, share(graph, comm), engine=engines[1], resume=path)

    with build(edges) as graph:
        loop = make()
        loop.max_iter = 5
        whole = ws.run(loop, graph, engine="cpu")
        on_ranks(3, begin)
        results = on_ranks(2, resume)
    assert {one.iterations for one in results} == {5}
    for name, one in whole.arrays.items():
        found = np.concatenate([result.arrays[name] for result in results])
        np.testing.assert_allclose(found, one, **EQUAL)
