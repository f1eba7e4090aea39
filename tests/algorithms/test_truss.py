"""Truss numbers and trusses, on all backends, against NetworkX."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import oracles
import pandas as pd
import pytest
from emulator.device import emulated
from shapes import SHAPES, build, edge_frame, random_edges, undirected
from thread_ranks import on_ranks, share
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.backends.cpu.loops import truss as on_cpu
from cugraph_ws.backends.cuda.loops import truss as on_cuda
from cugraph_ws.partition import neighbourhoods

DENSE = random_edges(24, 150, seed=9)
BATTERY = {**SHAPES, "dense": DENSE}
del BATTERY["rows of 0 to 1023"]


@pytest.fixture(autouse=True)
def gpu() -> Iterator[None]:
    with emulated(seed=1):
        yield


def numbers(graph: Any, **options: Any) -> tuple[Any, Any, Any]:
    source, destination, truss = ws.run(ws.TrussNumber(), graph, **options).arrays.values()
    return np.asarray(source.numbers), np.asarray(destination.numbers), truss  # type: ignore[union-attr]


def as_dict(found: Any) -> dict[tuple[int, int], int]:
    source, destination, truss = (one.tolist() for one in found)
    assert sorted(zip(destination, source, strict=True)) == list(
        zip(destination, source, strict=True)
    )
    return dict(zip(zip(source, destination, strict=True), truss, strict=True))


def truss_frame(edges: Edges, k: int) -> pd.DataFrame:
    """Return the edges of a truss in the order that `k_truss` gives."""
    number = oracles.truss_numbers(edges)
    frame = edge_frame(edges)
    if not edges.directed:
        ends = frame[["source", "destination"]].to_numpy()
        frame["source"], frame["destination"] = ends.min(axis=1), ends.max(axis=1)
    pairs = zip(frame["source"], frame["destination"], strict=True)
    kept = np.array([number.get((min(p), max(p)), 0) >= k for p in pairs], bool)
    return frame[kept].sort_values(["destination", "source"], kind="stable", ignore_index=True)


@pytest.mark.filterwarnings("ignore:directed=False")
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("name", BATTERY)
def test_every_shape(name: str, directed: bool) -> None:
    edges = BATTERY[name] if directed else undirected(BATTERY[name])
    with build(edges) as graph:
        assert as_dict(numbers(graph)) == oracles.truss_numbers(edges)
        pd.testing.assert_frame_equal(ws.k_truss(graph, 4), truss_frame(edges, 4))


@pytest.mark.parametrize("name", ["all isolated", "clique", "self-loops", "duplicates", "rmat"])
def test_some_shapes_on_a_gpu(name: str) -> None:
    edges = BATTERY[name]
    with build(edges) as graph:
        assert as_dict(numbers(graph, engine="cuda")) == oracles.truss_numbers(edges)
        found = ws.k_truss(graph, 4, engine="cuda")
    pd.testing.assert_frame_equal(found, truss_frame(edges, 4))


@pytest.mark.filterwarnings("ignore:directed=False")
@pytest.mark.parametrize("engine", ["cpu", "cuda"])
@pytest.mark.parametrize("directed", [True, False])
def test_ranks(engine: str, directed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbourhoods, "ARCS_A_BATCH", 200)
    edges = DENSE if directed else undirected(DENSE)

    def work(comm: Any) -> Any:
        shard = share(graph, comm)
        trusses = [ws.k_truss(shard, k, engine=engine) for k in (2, 5)]
        with pytest.raises(ws.InputError, match="on a cluster has no checkpoints"):
            ws.truss_number(shard, resume="state.parquet")
        return numbers(shard, engine=engine), trusses

    with build(edges) as graph:
        parts = on_ranks(3, work)
    found = [np.concatenate(column) for column in zip(*(one for one, _ in parts), strict=True)]
    assert as_dict(found) == oracles.truss_numbers(edges)
    for which, k in enumerate((2, 5)):
        frame = pd.concat([trusses[which] for _, trusses in parts], ignore_index=True)
        pd.testing.assert_frame_equal(frame, truss_frame(edges, k))


@pytest.mark.parametrize("k", [0, 2, 3, 5, 6, 99])
def test_trusses_of_every_depth(k: int) -> None:
    with build(DENSE) as graph:
        pd.testing.assert_frame_equal(ws.k_truss(graph, k), truss_frame(DENSE, max(k, 2)))
        loop = ws.TrussNumber(k)
        removed = ws.run(loop, graph).arrays["truss_number"]
    assert set(np.asarray(removed).tolist()) <= {0, k - 1}


def test_frames_and_names() -> None:
    frame = pd.DataFrame({"a": ["x", "y", "z", "z"], "b": ["y", "z", "x", "w"], "km": 1.5})
    options: dict[str, Any] = {"source": "a", "destination": "b"}
    found = ws.truss_number(frame, **options)
    assert found.to_dict("list") == {
        "a": ["x", "w", "x", "y"],
        "b": ["y", "z", "z", "z"],
        "truss_number": [3, 2, 3, 3],
    }
    assert frame.ws.truss_number(**options).equals(found)
    kept = frame.ws.k_truss(3, **options, weight="km")
    assert kept.to_dict("list") == {"a": ["z", "x", "y"], "b": ["x", "y", "z"], "km": [1.5] * 3}
    two = frame.assign(i=1, j=1)
    named = ws.truss_number(two, source=["a", "i"], destination=["b", "j"])
    assert next(iter(named.columns)) == "source_a"
    with pytest.raises(ws.InputError, match="k="):
        ws.k_truss(frame, -1, **options)


@pytest.mark.parametrize("k", [None, 5])
@pytest.mark.parametrize("engines", [("cpu", "cuda"), ("cuda", "cpu")], ids="to".join)
def test_checkpoints_go_from_engine_to_engine(
    k: int | None, engines: tuple[str, str], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_cpu, "WORK_A_STEP", 1)
    monkeypatch.setattr(on_cuda, "ROUNDS_A_STEP", 1)
    path = tmp_path / "state.parquet"
    with build(DENSE) as graph:
        whole = ws.run(ws.TrussNumber(k), graph)
        first = ws.run(
            ws.TrussNumber(k),
            graph,
            engine=engines[0],
            checkpoint=path,
            progress=lambda update: update.superstep < 1,
        )
        assert first.iterations == 1
        second = ws.run(ws.TrussNumber(k), graph, engine=engines[1], resume=path)
        assert second.frame.equals(whole.frame)
        ended = ws.run(ws.TrussNumber(k), graph, checkpoint=path)
        assert ended.converged
        again = ws.run(ws.TrussNumber(k), graph, resume=path)
        assert again.iterations == ended.iterations
        assert again.frame.equals(whole.frame)
