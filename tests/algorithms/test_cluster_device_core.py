"""Core numbers on ranks' GPUs, emulated: the answers, and the steps, of ranks without one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
import stand_in_cudf
from emulator.device import emulated
from shapes import SHAPES, build, hub, random_edges, rmat, undirected
from test_cluster_device_loops import Slower, assert_same, built, frame_of
from thread_ranks import on_ranks, over_links, share, with_ordered_ghosts
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.backends.cuda import grouping
from cugraph_ws.backends.cuda.loops import core as on_device
from cugraph_ws.execution.rank_checkpoint import RankCheckpoints

KINDS = ("both", "in", "out")


@pytest.fixture(autouse=True)
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(on_device, "BLOCK", 32)
    with emulated(), stand_in_cudf.installed():
        yield


def driven(shard: Any, degree_type: Any, engine: str = "cuda") -> tuple[Any, Any]:
    """Return the core numbers of own vertices, and what the steps did."""
    result = ws.run(ws.CoreNumber(degree_type), shard, engine=engine)
    columns = result.rows.columns()
    return result.arrays["core_number"], np.array([columns["active"], columns["edges"]])


def medley() -> Edges:
    """Return edges of a skewed graph, a clique and a path, parallel ones and self-loops too."""
    skewed, clique = rmat(4, 3, seed=2), np.array([(u, v) for u in range(5) for v in range(5)]).T
    path = np.arange(25, 32)
    return Edges(
        np.concatenate([skewed.source, clique[0] + 18, path, [7, 7]]),
        np.concatenate([skewed.destination, clique[1] + 18, path + 1, [25, 25]]),
        36,
    )


BATTERY = {
    **{
        name: SHAPES[name]
        for name in (
            "empty", "one vertex", "all isolated", "one edge", "star", "cycle", "self-loops", "duplicates",)
    },
    "medley": medley(),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "degree_type"),
    [(name, KINDS[place % 3]) for place, name in enumerate(BATTERY)]
    + [("medley", kind) for kind in KINDS[1:]],
)
def test_every_shape_in_the_steps_of_the_host(name: str, degree_type: Any) -> None:
    """Ranks without vertices among them; ghosts in either order."""
    edges = BATTERY[name]
    size, ordered = (3, True) if degree_type == "both" else (2, False)
    if degree_type == "in" and len(name) % 2:
        edges = undirected(edges)
    cuts = np.array([0, edges.n // 3, edges.n // 3, edges.n][-size - 1 :])
    cuts[0] = 0

    def work(comm: Any) -> Any:
        one, other = (share(graph, comm, cuts) for _ in range(2))
        other = with_ordered_ghosts(other) if ordered else other
        return driven(one, degree_type, "cpu"), driven(other, degree_type)

    with build(edges) as graph:
        for (expected, steps), (found, taken) in on_ranks(size, work):
            assert found.dtype == np.int64
            assert np.array_equal(found, expected)
            assert np.array_equal(taken, steps)


@pytest.mark.parametrize("degree_type", KINDS)
def test_more_ranks_than_vertices(degree_type: Any) -> None:
    check_alone(random_edges(4, 9, seed=1), 6, degree_type)


def test_rows_of_several_pieces() -> None:
    check_alone(hub(2 * on_device.PIECE + 9), 2, "in")


def check_alone(edges: Edges, size: int, degree_type: Any) -> None:
    with build(edges) as graph:
        expected = ws.run(ws.CoreNumber(degree_type), graph, engine="cpu")
        parts = on_ranks(size, lambda comm: driven(share(graph, comm), degree_type)[0])
    assert np.array_equal(np.concatenate(parts), expected.arrays["core_number"])


@pytest.mark.parametrize(("directed", "wide"), [(True, True), (False, False)])
def test_frames_on_gpus(directed: bool, wide: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if wide:
        monkeypatch.setattr(grouping, "INT32_NUMBERS", 0)
    frame = frame_of(medley(), 3, 7).assign(w=lambda rows: np.arange(len(rows)) / 8)
    options: dict[str, Any] = {"directed": directed, "weight": "w"}
    levels = (0, 4, 99)

    def work(comm: Any) -> list[Any]:
        shard = built(frame, comm, **options)
        assert shard.binds_on_device
        result = ws.run(ws.CoreNumber("in"), shard)
        cores = [shard.edges_among(result.arrays["core_number"] >= k) for k in levels]
        return [result.frame, *cores, ws.k_core(shard)]

    with ws.Graph(frame, **options) as graph:
        whole = [ws.core_number(graph, degree_type="in")]
        whole += [ws.k_core(graph, k, degree_type="in") for k in levels]
        whole.append(ws.k_core(graph))
    for found, expected in zip(zip(*over_links(2, work), strict=True), whole, strict=True):
        assert_same(list(found), expected)
    assert len(whole[-1])


def test_transport_by_the_host_and_engines_by_name() -> None:
    frame = frame_of(medley(), 2)
    with ws.Graph(frame) as graph:
        expected, core = ws.core_number(graph), ws.k_core(graph)

    def work(comm: Any) -> Any:
        shard = built(frame, Slower(comm.rank, comm.size, comm._board, comm._barrier))
        return ws.core_number(shard), ws.k_core(shard, engine="cpu")

    numbers, edges = zip(*on_ranks(2, work), strict=True)
    assert_same(list(numbers), expected)
    assert_same(list(edges), core)


def test_edges_of_a_core_of_one_gpu() -> None:
    frame = frame_of(medley(), 2)
    with ws.Graph(frame) as graph:
        expected = ws.k_core(graph, engine="cpu")
        pd.testing.assert_frame_equal(ws.k_core(graph, engine="cuda"), expected)


@pytest.mark.parametrize(
    ("engines", "degree_type"),
    [
        (("cuda", "cpu"), "both"),
        (("cpu", "cuda"), "both"),
        (("cuda", "cuda"), "in"),
    ],
)
def test_checkpoints_go_from_engine_to_engine(
    engines: tuple[str, str], degree_type: Any, tmp_path: Any
) -> None:
    """A checkpoint of three ranks with unsent updates, resumed by two ranks."""
    path = tmp_path / "state.parquet"

    def begin(comm: Any) -> int:
        loop, shard = ws.CoreNumber(degree_type), share(graph, comm)
        loop.start(shard, on_device=engines[0] == "cuda")
        steps, waiting = 0, 0
        while steps < 2 or waiting == 0:
            assert not loop.converged
            loop.step()
            steps, waiting = steps + 1, sum(comm.allgather(int(loop.state()["waiting"].sum())))
        RankCheckpoints(loop, shard, path, None).save({"iterations": steps, "residual": None})
        return steps

    def resume(comm: Any) -> Any:
        shard = share(graph, comm)
        result = ws.run(ws.CoreNumber(degree_type), shard, engine=engines[1], resume=path)
        return result.arrays["core_number"], result.iterations

    with build(random_edges(30, 90, seed=5)) as graph:
        expected = ws.run(ws.CoreNumber(degree_type), graph, engine="cpu")
        begun = set(on_ranks(3, begin))
        parts = on_ranks(2, resume)
    assert np.array_equal(
        np.concatenate([numbers for numbers, _ in parts]), expected.arrays["core_number"]
    )
    assert min(steps for _, steps in parts) > max(begun)
