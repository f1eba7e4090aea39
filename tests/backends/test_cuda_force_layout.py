"""Levels of a layout and moves on the GPU beside those on the CPU: the same tree of cells and the same forces."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from emulator.device import emulated
from scipy import sparse

import cugraph_ws as ws
from cugraph_ws.backends.cpu.loops import layout as on_cpu
from cugraph_ws.backends.cuda.loops import layout as on_gpu
from cugraph_ws.backends.cuda.loops.layout import UNIT

SIZE = 90


def neighbours() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return symmetric rows of a random graph with a hub of more neighbours than a warp has lanes."""
    random = np.random.default_rng(4)
    ends = random.integers(0, SIZE, (2, 150))
    ends = np.concatenate([ends, [np.zeros(50, np.int64), np.arange(30, 80)]], axis=1)
    ends = ends[:, ends[0] != ends[1]]
    pulls = random.integers(1, 5, ends.shape[1]).astype(np.float64)
    matrix = sparse.coo_array((pulls, (ends[0], ends[1])), (SIZE, SIZE))
    matrix = (matrix + matrix.T).tocsr()
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data


@pytest.mark.parametrize(("places", "moves", "nearly"), [("spread", 3, 1e-6), ("heaps", 1, 1e-4)])
def test_moves_are_those_of_the_cpu(
    places: str, moves: int, nearly: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_cpu, "SMALL", 0)  # forces between all pairs would be exact
    monkeypatch.setattr(on_gpu, "FEW", 0)
    random = np.random.default_rng(7)
    masses = random.integers(1, 4, SIZE).astype(np.float64)
    if places == "spread":
        x, y = random.uniform(-9, 9, (2, SIZE))
    else:  # many in one cell of the finest grid, and far heaps: nodes that skip levels
        x, y = (heap := random.integers(0, 3, SIZE)) * 4.0, heap % 2 * 3.0
        x[::2] += 1e-3 * random.uniform(-1, 1, SIZE // 2)
        y[::3] += 1e-3 * random.uniform(-1, 1, SIZE // 3)
    offsets, indices, weights = neighbours()
    moved = []
    for loops, unit in ((on_cpu, 1), (on_gpu, UNIT)):
        at = x.copy(), y.copy()
        with emulated():
            rows = (
                offsets,
                indices,
                (weights / unit).astype(np.int64 if unit == UNIT else np.float64),
            )
            loops.relax(rows, masses, at, 0.5, moves)
        moved.append(np.stack(at))
    assert np.abs(moved[0] - [x, y]).max() > 0.1
    np.testing.assert_allclose(moved[1], moved[0], rtol=0, atol=nearly)


def test_moves_of_a_few_vertices_are_those_of_the_cpu() -> None:
    offsets, indices, weights = neighbours()
    random = np.random.default_rng(7)
    masses = random.integers(1, 4, SIZE).astype(np.float64)
    x, y = random.uniform(-9, 9, (2, SIZE))
    places = [(x.copy(), y.copy()) for _ in range(2)]
    on_cpu.relax((offsets, indices, weights), masses, places[0], 0.5, 7)
    with emulated():
        on_gpu.relax(
            (offsets, indices, (weights / UNIT).astype(np.int64)), masses, places[1], 0.5, 7
        )
    np.testing.assert_allclose(places[1], places[0], rtol=0, atol=1e-9)


def test_groups_are_pairs_and_those_that_join_them(monkeypatch: pytest.MonkeyPatch) -> None:
    offsets, indices, weights = neighbours()
    weights = (weights / UNIT).astype(np.int64)
    sources = np.repeat(np.arange(SIZE), np.diff(offsets))
    for rounds in (1, 6):
        monkeypatch.setattr(on_gpu, "ROUNDS", rounds)
        with emulated():
            group, rows, masses = on_gpu.coarser((offsets, indices, weights), np.ones(SIZE))
        assert np.array_equal(masses, np.bincount(group))
        assert len(masses) < 0.8 * SIZE
        for number, size in enumerate(masses):
            members = np.flatnonzero(group == number)
            inside = np.isin(sources, members) & np.isin(indices, members)
            assert size == 1 or len(np.unique(sources[inside])) == size
        coarse = sparse.csr_array((rows[2], rows[1], rows[0])).toarray()
        ends = group[sources], group[indices]
        expected = sparse.coo_array((weights, ends), (len(masses), len(masses))).toarray()
        np.fill_diagonal(expected, 0)
        assert np.array_equal(coarse, expected)


def test_two_vertices_that_pull_each_other_most_are_grouped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    offsets, indices, _ = neighbours()
    sources = np.repeat(np.arange(SIZE), np.diff(offsets))
    strengths = np.random.default_rng(6).permutation(SIZE * SIZE).reshape(SIZE, SIZE) + 1
    weights = (strengths + strengths.T)[sources, indices]  # nearly all are different
    masses = 1.0 + np.arange(SIZE) % 3
    monkeypatch.setattr(on_gpu, "ROUNDS", 1)
    with emulated():
        group, _, _ = on_gpu.coarser((offsets, indices, weights), masses)
    pulls = np.zeros((SIZE, SIZE))
    pulls[sources, indices] = weights / masses[indices]
    best = pulls.argmax(axis=1)
    mutual = np.flatnonzero((best[best] == np.arange(SIZE)) & (pulls.max(axis=1) > 0))
    assert len(mutual) >= 20
    assert np.array_equal(group[mutual], group[best[mutual]])


def test_components_come_whole_and_the_largest_first() -> None:
    """The least vertex and the size of one are both greater by one than those of the other."""
    ends = np.array([[0, 2, 1, 3, 5, 2, 4, 3, 5, 6], [2, 4, 3, 5, 6, 0, 2, 1, 3, 5]])
    matrix = sparse.coo_array((np.ones(10), (ends[0], ends[1])), (7, 7)).tocsr()
    with emulated():
        components = on_gpu.Components(matrix.indptr.astype(np.int64), matrix.indices, None)
    assert components.order.tolist() == [1, 3, 5, 6, 0, 2, 4]
    assert components.starts.tolist() == [0, 4, 7]


def test_layouts_of_graphs_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_gpu, "FEW", 40)
    offsets, indices, _ = neighbours()
    sources = np.repeat(np.arange(SIZE), np.diff(offsets))
    ring = np.arange(100, 145)  # another component on the GPU, then a triangle and a pair
    one = np.concatenate([ring, [200, 201, 202, 300]])
    other = np.concatenate([np.roll(ring, 1), [201, 202, 200, 301]])
    sources, indices = np.concatenate([sources, one, other]), np.concatenate([indices, other, one])
    edges = pd.DataFrame({"source": sources, "destination": indices})
    with emulated():
        places, again = (ws.layout(edges, iterations=1, engine="cuda") for _ in range(2))
    pd.testing.assert_frame_equal(places, again)
    xy = places.set_index("vertex")
    assert np.linalg.norm(
        xy.loc[sources].to_numpy() - xy.loc[indices], axis=1
    ).mean() == pytest.approx(1.0)
    of_cpu = ws.layout(edges, iterations=1)
    assert not of_cpu.equals(places)
    with pytest.raises(ws.InputError, match="engine='gpu' is not known"):
        ws.layout(edges, engine="gpu")
