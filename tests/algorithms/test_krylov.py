"""Eigenvectors of undirected graphs by Krylov spaces: fewer products than power iteration, and no greater bound."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from emulator.device import emulated
from shapes import SHAPES, build, column, grid, random_edges, undirected
from thread_ranks import on_ranks, share
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.algorithms import krylov
from cugraph_ws.algorithms.krylov import PrincipalVector, power_of, ritz_of

NAME = "eigenvector_centrality"
TOLS = (1e-4, 1e-6, 1e-9, 1e-13)


def _bipartite() -> Edges:
    one = random_edges(40, 150, 3)
    return undirected(Edges(one.source % 15, 15 + one.destination % 25, 40, one.weight))


def _pieces() -> Edges:
    """Two equal components, a smaller one, and a vertex without edges."""
    one = undirected(random_edges(12, 40, 5))
    source, destination = (np.concatenate([x, x + 12, [25]]) for x in (one.source, one.destination))
    return Edges(source, destination + (source == 25), 28, None, directed=False)


GRAPHS = {
    "random": undirected(SHAPES["random"]),
    "star": undirected(SHAPES["star"]),
    "duplicates": undirected(SHAPES["duplicates"]),
    "self-loops": undirected(SHAPES["self-loops"]),
    "cycle": undirected(SHAPES["cycle"]),
    "grid": undirected(grid(5, 6, 0.0, seed=1)),
    "bipartite": _bipartite(),
    "pieces": _pieces(),
}


def ran(edges: Edges, tol: float | None = None, max_iter: int | None = None, **given: Any) -> Any:
    nstart = given.pop("nstart", 1.0)
    with build(edges) as graph:
        loop = PrincipalVector(ws.EigenvectorCentrality, max_iter, tol, nstart)
        return ws.run(loop, graph, **given)


def values_of(result: Any) -> np.ndarray:
    return np.asarray(result.arrays[NAME])


def exact(edges: Edges, start: np.ndarray | None = None) -> tuple[np.ndarray, float, float]:
    """Return the limit of power iteration, and the greatest two distinct eigenvalues."""
    found, vectors = np.linalg.eigh(edges.matrix().toarray())
    top = vectors[:, found > found[-1] - 1e-9]
    limit = top @ (top.T @ (np.ones(edges.n) if start is None else start))
    return limit / np.linalg.norm(limit), found[-1], found[found <= found[-1] - 1e-9].max()


@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_errors_are_bounded_and_supersteps_fewer(name: str) -> None:
    edges = GRAPHS[name]
    limit, first, second = exact(edges)
    for tol in TOLS:
        result = ran(edges, tol, 100_000)
        assert result.converged
        assert result.residual <= tol
        found = values_of(result)
        assert abs(np.linalg.norm(found) - 1.0) < 1e-12
        assert found.min() >= 0.0
        bound = tol * max(1.0 + second, 0.1) / (first - second)
        assert np.linalg.norm(found - limit) <= bound + 1e-13
        if tol >= 1e-9:
            with build(edges) as graph:
                plain = ws.run(
                    ws.EigenvectorCentrality, graph, nstart=1.0, tol=tol, max_iter=100_000
                )
            assert result.iterations <= plain.iterations


def test_slow_graphs_take_a_fraction_of_the_supersteps() -> None:
    edges = undirected(grid(12, 14, 0.0, seed=1))
    result = ran(edges, 1e-6)
    with build(edges) as graph:
        plain = ws.run(ws.EigenvectorCentrality, graph, nstart=1.0, tol=1e-6)
    assert result.iterations <= plain.iterations / 3
    limit = exact(edges)[0]
    errors = [np.linalg.norm(values_of(one) - limit) for one in (result, plain)]
    assert errors[0] < errors[1]


def period(count: int, estimate: float) -> tuple[np.ndarray, list[np.ndarray], list[list[float]]]:
    """Return a symmetric matrix, the vectors of a period, and their inner products."""
    generator = np.random.default_rng(count)
    matrix = generator.random((20, 20))
    matrix, start = matrix + matrix.T, generator.random(20)
    vectors = [start, matrix @ start - estimate * start]
    for _ in range(1, count):
        vectors.append(matrix @ vectors[-1])
    sums = [[before @ after, after @ after] for before, after in pairwise(vectors)]
    return matrix, vectors, sums


@pytest.mark.parametrize("estimate", [0.0, 3.0])
@pytest.mark.parametrize("count", [1, 2, 4, 8])
def test_ritz_vectors_are_those_of_dense_algebra(count: int, estimate: float) -> None:
    matrix, vectors, sums = period(count, estimate)
    start = vectors[0]
    ritz = ritz_of(estimate, start @ start, np.array(sums))
    basis = np.linalg.qr(np.array(vectors[:count]).T)[0]
    value, within = (one[..., -1] for one in np.linalg.eigh(basis.T @ matrix @ basis))
    vector = basis @ within
    vector *= np.sign(vector @ start)
    assert ritz.value == pytest.approx(value, rel=1e-9)
    found, rest = ritz.factors @ np.array(vectors)
    assert found == pytest.approx(vector, abs=1e-5)
    assert rest == pytest.approx(matrix @ vector - value * vector, abs=1e-5)
    assert ritz.change == pytest.approx(np.linalg.norm(rest) / value, rel=1e-3, abs=1e-7)


@pytest.mark.parametrize("estimate", [0.0, 3.0])
@pytest.mark.parametrize("count", [1, 2, 8])
def test_power_iteration_from_the_same_products(count: int, estimate: float) -> None:
    matrix, vectors, sums = period(count, estimate)
    start = vectors[0]
    power = power_of(estimate, start @ start, np.array(sums), 0.5)
    vector = start.copy()
    for _ in range(count - 1):
        vector = matrix @ vector + 0.5 * vector
    vector /= np.linalg.norm(vector)
    assert power.value == pytest.approx(vector @ matrix @ vector, rel=1e-9)
    found, rest = power.factors @ np.array(vectors)
    assert found == pytest.approx(vector, abs=1e-6)
    assert rest == pytest.approx(matrix @ vector - power.value * vector, abs=1e-5)


def test_large_grids_end_as_power_iteration_does() -> None:
    """No value changes by more than tol; it took power iteration more supersteps, and Ritz vectors alone more still."""
    one, tol = undirected(grid(60, 60, 0.0, seed=1)), 1e-6
    edges = Edges(one.source, one.destination, one.n, None, directed=False)
    result = ran(edges, tol)
    assert result.converged
    assert krylov.SLOW < result.iterations < 400
    matrix, found = edges.matrix(), values_of(result)
    after = matrix @ found + found
    assert np.abs(after / np.linalg.norm(after) - found).max() <= tol
    wave = np.sin(np.pi * np.arange(1, 61) / 61)
    expected = np.outer(wave, wave).ravel() / (wave @ wave)
    with build(edges) as graph:
        plain = ws.run(
            ws.EigenvectorCentrality, graph, nstart=1.0, tol=tol, max_iter=result.iterations
        )
    assert np.abs(found - expected).max() < np.abs(values_of(plain) - expected).max() / 2
    with build(edges) as graph:
        parts = on_ranks(
            2,
            lambda comm: ws.run(
                PrincipalVector(ws.EigenvectorCentrality, None, tol, 1.0), share(graph, comm)
            ),
        )
    assert {part.iterations for part in parts} == {result.iterations}
    np.testing.assert_allclose(
        np.concatenate([values_of(part) for part in parts]), found, atol=1e-9
    )


def test_ritz_vector_of_an_eigenvector_and_of_nothing() -> None:
    alone = ritz_of(2.0, 1.0, np.zeros((3, 2)))
    assert (alone.value, alone.change) == (2.0, 0.0)
    assert alone.factors.tolist() == [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]
    nothing = ritz_of(0.0, 1.0, np.zeros((2, 2)))
    assert (nothing.value, nothing.change) == (0.0, 0.0)


@pytest.mark.parametrize("name", ["grid", "pieces"])
def test_engines_and_ranks_do_the_same_supersteps(name: str) -> None:
    """Weights and first values differ by vertex; most runs take several periods."""
    edges = GRAPHS[name]
    given = {"nstart": {v: 0.5 + v % 3 for v in range(edges.n)}}
    plain = Edges(edges.source, edges.destination, edges.n, None, directed=False)
    weight = 1.0 + np.arange(len(edges.source)) % 4
    heavy = Edges(edges.source, edges.destination, edges.n, weight, directed=False)
    for one, options in ((plain, {}), (heavy, given)):
        expected = ran(one, 1e-9, **options)
        with emulated(multiprocessors=1):
            found = [ran(one, 1e-9, engine="cuda", **options)]
            for ranks, engine in ((3, "cpu"), (2, "cuda")):
                with build(one) as graph:
                    parts = on_ranks(
                        ranks,
                        lambda comm, graph=graph, engine=engine, options=options: ws.run(
                            PrincipalVector(
                                ws.EigenvectorCentrality, None, 1e-9, options.get("nstart", 1.0)
                            ),
                            share(graph, comm),
                            engine=engine,
                        ),
                    )
                assert {part.iterations for part in parts} == {expected.iterations}
                together = np.concatenate([values_of(part) for part in parts])
                np.testing.assert_allclose(together, values_of(expected), atol=1e-11)
        for result in found:
            assert result.iterations == expected.iterations
            np.testing.assert_allclose(values_of(result), values_of(expected), atol=1e-11)


def test_products_that_are_queued_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many are queued, the run ends after the same one, with the same values."""
    found = []
    with emulated() as device:
        for queued in ((1, 1), (3, 2), (8, 8)):
            monkeypatch.setattr(krylov, "FIRST", queued[0])
            monkeypatch.setattr(krylov, "MORE", queued[1])
            seen = device.downloads
            result = ran(GRAPHS["random"], 1e-6, engine="cuda")
            facts = values_of(result).tobytes(), result.rows.residual, result.iterations
            found.append((facts, device.downloads - seen))
    assert found[0][0] == found[1][0] == found[2][0]
    assert found[0][1] > found[1][1] > found[2][1]


def test_a_limit_of_supersteps_is_exact_and_a_run_goes_on(tmp_path: Any) -> None:
    edges, path = GRAPHS["grid"], tmp_path / "state"
    for limit in (1, 5, 8, 11):
        result = ran(edges, 1e-12, limit)
        assert (result.iterations, result.stopped) == (limit, "max_iter")
        assert len(result.rows.residual) == limit
    with emulated(multiprocessors=1):
        for given in ({}, {"engine": "cuda"}):
            whole = ran(edges, 1e-9, **given)
            assert whole.iterations > 16
            ran(edges, 1e-9, 16, checkpoint=path, **given)
            rest = ran(edges, 1e-9, resume=path, **given)
            assert rest.iterations == whole.iterations
            assert values_of(rest).tobytes() == values_of(whole).tobytes()
    with pytest.raises(ws.InputError, match="nstart"):
        ran(edges, 1e-9, resume=path, nstart=2.0)


@pytest.mark.parametrize("scale", [1e-300, 1e-8, 1e8, 1e290])
def test_the_scale_of_weights_and_of_first_values_is_taken_out(scale: float) -> None:
    edges = GRAPHS["random"]
    weight = 1.0 + np.arange(len(edges.source)) % 4
    ends = edges.source, edges.destination, edges.n
    expected = ran(Edges(*ends, weight, directed=False), 1e-9)
    start = dict.fromkeys(range(edges.n), scale)
    found = ran(Edges(*ends, scale * weight, directed=False), 1e-9, nstart=start)
    assert abs(found.iterations - expected.iterations) <= 1
    np.testing.assert_allclose(values_of(found), values_of(expected), atol=1e-9)


def test_graphs_without_edges_or_weight() -> None:
    with emulated():
        for engine in ("cpu", "cuda"):
            for n in (1, 5):
                none = np.empty(0, np.int64)
                alone = ran(Edges(none, none, n, None, directed=False), engine=engine)
                np.testing.assert_allclose(values_of(alone), np.full(n, n**-0.5))
            edges = GRAPHS["star"]
            weightless = Edges(
                edges.source,
                edges.destination,
                edges.n,
                np.zeros(len(edges.source)),
                directed=False,
            )
            result = ran(weightless, engine=engine)
            assert result.iterations == 1
            np.testing.assert_allclose(values_of(result), np.full(edges.n, edges.n**-0.5))


def test_sums_that_overflow_end_the_run() -> None:
    edges = GRAPHS["star"]
    heavy = Edges(
        edges.source, edges.destination, edges.n, np.full(len(edges.source), 1.7e308), False
    )
    assert ran(heavy).stopped == "diverged"
    with build(heavy) as graph, pytest.raises(ws.ConvergenceError, match="scale down the weights"):
        ws.eigenvector_centrality(graph)


def test_the_function_takes_it_on_undirected_graphs() -> None:
    edges = pd.DataFrame({"source": [0, 1, 2, 2], "destination": [1, 2, 3, 4]})
    for directed in (True, False):
        with ws.Graph(edges, directed=directed) as graph:
            found = column(ws.eigenvector_centrality(graph, tol=1e-2), NAME)
            plain = ws.run(ws.EigenvectorCentrality, graph, nstart=1.0, tol=1e-2).frame
        assert (found.tolist() == column(plain, NAME).tolist()) == directed
