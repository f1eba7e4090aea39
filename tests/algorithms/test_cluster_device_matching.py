"""Matchings on ranks' GPUs, emulated: the answers, and the rounds, of ranks without one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
import stand_in_cudf
from emulator.device import emulated
from shapes import SHAPES, build, edge_frame, hub, random_edges, rmat, undirected, vertex_frame
from test_cluster_device_loops import Slower, built, frame_of
from test_cluster_loops import sides
from thread_ranks import on_ranks, over_links, share, with_ordered_ghosts
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.backends.cuda import grouping
from cugraph_ws.backends.cuda.loops import matching as on_device
from cugraph_ws.execution.rank_checkpoint import RankCheckpoints


@pytest.fixture(autouse=True)
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(on_device, "BLOCK", 32)
    with emulated(), stand_in_cudf.installed():
        yield


def loop_for(edges: Edges) -> Any:
    return ws.MaximalBipartiteMatching(list(range(0, edges.n, 2)), seed=3)


def driven(edges: Edges, shard: Any, engine: str) -> tuple[Any, Any]:
    """Return the mates of own vertices, and what the rounds did."""
    result = ws.run(loop_for(edges), shard, engine=engine)
    columns = result.rows.columns()
    return result.arrays["mate"].numbers, np.array([columns["active"], columns["edges"]])


NAMES = (
    "empty", "one vertex", "all isolated", "one edge", "star", "cycle",
    "two components", "self-loops", "duplicates", "33 vertices", "short path", "random",
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "directed"),
    [(name, place % 2 == 0) for place, name in enumerate(NAMES)] + [("random", False)],
)
def test_every_shape_in_the_rounds_of_the_host(name: str, directed: bool) -> None:
    """Ranks without vertices among them; ghosts in either order."""
    edges = sides(SHAPES[name] if directed else undirected(SHAPES[name]))
    size = 2 + NAMES.index(name) // 2 % 2
    cuts = np.array([0, edges.n // 3, edges.n // 3, edges.n])[-size - 1 :]
    cuts[0] = 0

    def work(comm: Any) -> Any:
        one, other = (share(graph, comm, cuts) for _ in range(2))
        other = with_ordered_ghosts(other) if size == 2 else other
        return driven(edges, one, "cpu"), driven(edges, other, "cuda")

    with build(edges) as graph:
        for (expected, rounds), (found, taken) in on_ranks(size, work):
            assert np.array_equal(found, expected)
            assert np.array_equal(taken, rounds)


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_more_ranks_than_vertices_and_long_rows(directed: bool) -> None:
    for shape, size in ((random_edges(4, 9, seed=1), 6), (hub(40), 2)):
        edges = sides(shape if directed else undirected(shape))
        with build(edges) as graph:
            expected = ws.run(loop_for(edges), graph, engine="cpu").arrays["mate"].numbers
            parts = on_ranks(
                size, lambda comm, e=edges, g=graph: driven(e, share(g, comm), "cuda")[0]
            )
        assert np.array_equal(np.concatenate(parts), expected)


@pytest.mark.parametrize(("directed", "wide"), [(True, True), (False, False)])
def test_frames_on_gpus(directed: bool, wide: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ids with gaps; over links, and by the host."""
    if wide:
        monkeypatch.setattr(grouping, "INT32_NUMBERS", 0)
    edges = sides(rmat(5, 3, seed=2))
    frame = frame_of(edges, 3, 7)
    present = np.unique(frame)
    left = present[(present - 7) // 3 % 2 == 0].tolist()

    def work(comm: Any) -> Any:
        return ws.maximal_bipartite_matching(built(frame, comm, directed=directed), left)

    def by_host(comm: Any) -> Any:
        return work(Slower(comm.rank, comm.size, comm._board, comm._barrier))

    with ws.Graph(frame, directed=directed) as graph:
        whole = ws.maximal_bipartite_matching(graph, left)
    assert whole["mate"].notna().any()
    for parts in (over_links(2, work),) if wide else (on_ranks(3, by_host),):
        joined = [one["mate"] for one in parts]
        assert np.concatenate([one["vertex"] for one in parts]).tolist() == present.tolist()
        mates = [None if value is pd.NA else value for one in joined for value in one]
        assert mates == [None if value is pd.NA else value for value in whole["mate"]]


@pytest.mark.parametrize("directed", [True, False])
def test_an_edge_within_a_side_is_refused_by_all(directed: bool) -> None:
    edges = Edges(np.array([0, 5, 7]), np.array([1, 3, 5]), 8, None, directed)

    def refusal(comm: Any) -> str:
        loop = ws.MaximalBipartiteMatching([0, 2, 4])
        with pytest.raises(ws.InputError) as caught:
            loop.start(share(graph, comm), on_device=True)
        return str(caught.value)

    with build(edges) as graph:
        messages = on_ranks(3, refusal)
        with pytest.raises(ws.InputError) as caught:
            ws.run(ws.MaximalBipartiteMatching([0, 2, 4]), graph, engine="cuda")
    assert set(messages) == {str(caught.value)}


def test_sides_by_an_attribute() -> None:
    edges = sides(random_edges(20, 50, seed=3))
    even = np.arange(edges.n) % 2 == 0
    with ws.Graph(edge_frame(edges), vertices=vertex_frame(edges, side=even)) as graph:
        whole = ws.run(ws.MaximalBipartiteMatching("side"), graph, engine="cpu")

        def work(comm: Any) -> Any:
            loop = ws.MaximalBipartiteMatching("side")
            return ws.run(loop, share(graph, comm), engine="cuda").arrays["mate"].numbers

        found = np.concatenate(on_ranks(2, work))
    assert np.array_equal(found, whole.arrays["mate"].numbers)


@pytest.mark.parametrize(
    ("engines", "directed"),
    [(("cuda", "cpu"), True), (("cpu", "cuda"), True), (("cuda", "cuda"), False)],
)
def test_checkpoints_go_from_engine_to_engine(
    engines: tuple[str, str], directed: bool, tmp_path: Any
) -> None:
    """Of three ranks after a round, for two ranks."""
    path, shape = tmp_path / "state.parquet", random_edges(40, 130, seed=5)
    edges = sides(shape if directed else undirected(shape))

    def begin(comm: Any) -> None:
        loop, shard = loop_for(edges), share(graph, comm)
        loop.start(shard, on_device=engines[0] == "cuda")
        loop.step()
        assert not loop.converged
        RankCheckpoints(loop, shard, path, None).save({"iterations": 1, "residual": None})

    def resume(comm: Any) -> Any:
        result = ws.run(loop_for(edges), share(graph, comm), engine=engines[1], resume=path)
        return result.arrays["mate"].numbers, result.iterations

    with build(edges) as graph:
        whole = ws.run(loop_for(edges), graph, engine="cpu")
        on_ranks(3, begin)
        parts = on_ranks(2, resume)
    found = np.concatenate([mates for mates, _ in parts])
    assert np.array_equal(found, whole.arrays["mate"].numbers)
    assert {rounds for _, rounds in parts} == {whole.iterations}
