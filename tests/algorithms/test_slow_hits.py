"""HITS where power iteration needs many supersteps: fewer of them, the same bound, on every engine."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from emulator.device import emulated
from scipy import sparse
from scipy.sparse.linalg import svds
from shapes import SHAPES, build, grid, undirected
from thread_ranks import on_ranks, share
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.accelerators.tiles.gathers import TiledRows
from cugraph_ws.algorithms import hits
from cugraph_ws.algorithms import rayleigh_ritz as vectors
from cugraph_ws.algorithms.krylov import PrincipalVector

BOUND = 1e-6
WAYS = [("cpu", 1), ("cpu", 2), ("cuda", 1), ("cuda", 2)]


def path(vertices: int) -> Edges:
    steps = np.arange(vertices - 1)
    return Edges(steps, steps + 1, vertices, None, directed=False)


def side_by_side(one: Edges, other: Edges) -> Edges:
    ends = (
        np.concatenate([getattr(one, end), getattr(other, end) + one.n])
        for end in ("source", "destination")
    )
    return Edges(*ends, one.n + other.n, None, directed=False)


def ring(vertices: int) -> Edges:
    """Each vertex leads to the next two, by weights that are nearly equal."""
    here = np.tile(np.arange(vertices), 2)
    steps = np.repeat([1, 2], vertices)
    weight = 1.0 + 0.01 * np.random.default_rng(5).random(2 * vertices)
    return Edges(here, (here + steps) % vertices, vertices, weight)


SLOW = {
    "grid": Edges(*grid(60, 60, 0.0, seed=1).arcs()[:2], 3600),
    "path": path(200),
    "equal components": side_by_side(path(90), path(90)),
    "ring": ring(200),
}


def run(edges: Edges, **options: Any) -> list[ws.Result]:
    """The result of one CPU, in a list as those of ranks."""
    with build(edges) as graph:
        return run_on(graph, **options)


def run_on(graph: Any, way: tuple[str, int] = ("cpu", 1), **options: Any) -> list[ws.Result]:
    """The results of all ranks."""
    engine, ranks = way
    given = {name: options.pop(name) for name in ("max_iter", "tol", "nstart") if name in options}
    loop = ws.HITS(**given, normalized=False)
    if ranks == 1:
        return [ws.run(loop, graph, engine=engine, **options)]
    return on_ranks(ranks, lambda comm: ws.run(loop, share(graph, comm), engine=engine, **options))


def scores(results: list[ws.Result]) -> tuple[np.ndarray, np.ndarray]:
    hubs, authorities = (
        np.concatenate([np.asarray(one.arrays[name]) for one in results])
        for name in ("hubs", "authorities")
    )
    return hubs, authorities


def bits(results: list[ws.Result]) -> list[bytes]:
    return [one.tobytes() for one in scores(results)]


def change_of(matrix: Any, hubs: np.ndarray) -> float:
    """What a superstep of power iteration changes."""
    image = matrix @ (matrix.T @ hubs)
    return float(np.abs(image / image.max() - hubs).max())


def exact(matrix: Any) -> np.ndarray:
    """The limit of power iteration from equal hubs: their part in the greatest singular value's space."""
    vectors, values, _ = svds(sparse.csr_matrix(matrix), k=4, tol=1e-12, random_state=1)
    chosen = vectors[:, values > values.max() * (1 - 1e-9)]
    hubs = chosen @ chosen.sum(axis=0)
    return hubs / hubs.max()


@pytest.mark.parametrize("name", SLOW)
def test_few_supersteps_where_power_iteration_needs_many(name: str) -> None:
    edges = SLOW[name]
    matrix = edges.matrix()
    (loose,), (tight,) = run(edges), run(edges, tol=1e-11)
    expected = exact(matrix)
    for result, tol, off, most in ((loose, BOUND, 1e-3, 400), (tight, 1e-11, 1e-7, 900)):
        hubs, authorities = scores([result])
        assert result.converged
        assert result.iterations <= most
        assert result.residual <= tol
        assert change_of(matrix, hubs) <= 2 * tol
        assert np.abs(hubs - expected).max() < off
        assert hubs.min() >= 0.0
        assert authorities.min() >= 0.0
        assert hubs.max() == authorities.max() == 1.0
        marked = np.array(result.rows.extrapolated)
        assert not marked[: hits.EARLIEST].any()
        assert not marked[-1], "a superstep of power iteration ends the run"
        assert marked[hits.EARLIEST + 1]


def test_power_iteration_does_not_end_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hits, "EARLIEST", 1 << 30)
    for name in ("grid", "path"):
        assert run(SLOW[name], max_iter=500)[0].stopped == "max_iter"


@pytest.mark.parametrize("name", ["random", "star, undirected", "two components, undirected"])
def test_other_graphs_have_the_bits_of_power_iteration(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    edges = undirected(SHAPES[name.split(",")[0]]) if "," in name else SHAPES[name]
    (found,) = run(edges)
    monkeypatch.setattr(hits, "EARLIEST", 1 << 30)
    (expected,) = run(edges)
    assert bits([found]) == bits([expected])
    assert found.rows.residual == expected.rows.residual
    assert not any(found.rows.extrapolated)


def test_without_a_bound_supersteps_are_plain() -> None:
    for tol in (0.0, None):
        (found,) = run(path(50), max_iter=60, **({} if tol is None else {"tol": tol}))
        assert any(found.rows.extrapolated) == (tol is None)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way[0]} {way[1]}")
def test_every_engine_has_the_same_values(
    way: tuple[str, int], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same bits each time, also after a checkpoint."""
    monkeypatch.setattr(hits, "EARLIEST", 4)
    monkeypatch.setattr(hits, "EVERY", 4)
    edges, file = ring(16), tmp_path / "state.parquet"
    (expected,) = run(edges)
    with emulated(), build(edges) as graph:
        results = run_on(graph, way)
        middle = run_on(graph, way, max_iter=9, checkpoint=file)
        resumed = run_on(graph, way, resume=file)
    assert abs(results[0].iterations - expected.iterations) <= 3
    assert 10 < expected.iterations < 25
    assert any(results[0].rows.extrapolated)
    for one, other in zip(scores(results), scores([expected]), strict=True):
        np.testing.assert_allclose(one, other, rtol=0.0, atol=100 * BOUND)
    assert middle[0].rows.extrapolated[-3:] == [True] * 3
    hubs, authorities = scores(middle)
    image = edges.matrix().T @ hubs
    assert hubs.min() >= 0.0
    assert hubs.max() == 1.0
    np.testing.assert_allclose(authorities, image / image.max(), rtol=1e-12)
    assert resumed[0].iterations == results[0].iterations
    assert bits(resumed) == bits(results)


@pytest.mark.parametrize("early", range(hits.EARLIEST - 1, hits.EARLIEST + 3))
def test_checkpoints_where_acceleration_begins(early: int, tmp_path: Any) -> None:
    edges, file = path(100), tmp_path / "state.parquet"
    run(edges, max_iter=early, checkpoint=file)
    (resumed,), (whole,) = run(edges, resume=file), run(edges)
    assert bits([resumed]) == bits([whole])
    assert resumed.iterations == whole.iterations


def test_other_tolerances_after_a_checkpoint(tmp_path: Any) -> None:
    """A run that has ended goes on to a smaller one; without one it goes on by power iteration."""
    edges, file = path(100), tmp_path / "state.parquet"
    (ended,) = run(edges, tol=1e-4, checkpoint=file)
    (found,) = run(edges, tol=1e-9, resume=file)
    assert ended.converged
    assert found.converged
    assert np.abs(scores([found])[0] - exact(edges.matrix())).max() < 1e-5
    run(edges, max_iter=30, checkpoint=file)
    (plain,) = run(edges, max_iter=40, tol=0.0, resume=file)
    assert plain.iterations == 40
    assert not any(plain.rows.extrapolated)
    run(edges, max_iter=20, tol=0.0, checkpoint=file)
    (found,) = run(edges, resume=file)
    assert found.converged
    assert any(found.rows.extrapolated)


@pytest.mark.parametrize("limit", [{"IDLE": 0}, {"GREATEST": 1.5}, {}], ids=str)
def test_runs_that_cannot_be_accelerated_go_on(
    limit: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Too little is gained, weights are too great, or memory is short."""
    edges = undirected(grid(5, 6, 0.0, seed=1))
    expected = exact(edges.matrix())
    monkeypatch.setattr(hits, "LEFT", -100)
    for name, value in limit.items():
        monkeypatch.setattr(hits, name, value)
    if not limit:
        monkeypatch.setattr(vectors, "SMALL", 0)
        monkeypatch.setattr(vectors, "available_memory", lambda: 1000)
    (found,) = run(edges, tol=1e-12)
    assert found.converged
    assert sum(found.rows.extrapolated) <= 2
    assert np.abs(scores([found])[0] - expected).max() < 1e-9


def test_supersteps_that_improve_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is followed by one of power iteration, and after a few of these there is no other."""
    monkeypatch.setattr(vectors, "best_of_span", lambda products: None)
    edges = path(20)
    (found,) = run(edges)
    assert found.converged
    assert sum(found.rows.extrapolated) == hits.FAILURES + 1
    assert np.abs(scores([found])[0] - exact(edges.matrix())).max() < 1e-3


def test_great_and_small_weights() -> None:
    for scale in (1e60, 1e-60):
        edges = Edges(*path(100).arcs()[:2], 100, np.full(198, scale))
        (found,), (expected,) = run(edges, tol=1e-9), run(path(100), tol=1e-9)
        assert found.iterations < 200
        np.testing.assert_allclose(scores([found])[0], scores([expected])[0], atol=1e-5)


def test_runs_leave_nothing_to_the_garbage_collector() -> None:
    """A cycle would keep the vectors, and on a cluster a rank's part of the graph."""

    def alive() -> int:
        kinds = hits.HITS, vectors.Improved, PrincipalVector, TiledRows
        # By type: `isinstance` asks a weak proxy for its object, which may be gone.
        return sum(issubclass(type(one), kinds) for one in gc.get_objects())

    gc.collect()
    before = alive()
    gc.disable()
    try:
        with build(path(300)) as graph:
            assert any(ws.run(hits.HITS(40, 1e-9), graph).rows.extrapolated)
            ws.eigenvector_centrality(graph, tol=1e-4)
            ws.pagerank(graph)
        assert alive() == before
    finally:
        gc.enable()
