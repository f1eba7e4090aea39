"""Generators: the right shape, the right odds, and the same graph however it is made."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cugraph_ws.errors import InputError
from cugraph_ws.graph import generators
from cugraph_ws.graph.generators import chunks
from cugraph_ws.kernels.cpu import generate

rmat, kronecker, erdos_renyi, grid, growing, blocks = (
    partial(maker, frame=None)
    for maker in (
        generators.rmat, generators.kronecker, generators.erdos_renyi, generators.grid,
        generators.preferential_attachment, generators.stochastic_blocks,
    )
)  # fmt: skip

MAKERS = {
    "rmat": (rmat, {"scale": 6, "edge_factor": 3}),
    "kronecker": (kronecker, {"scale": 6, "edge_factor": 3}),
    "erdos_renyi": (erdos_renyi, {"vertices": 50, "edges": 150}),
    "grid": (grid, {"rows": 7, "columns": 9, "drop": 0.3}),
    "preferential_attachment": (growing, {"vertices": 40, "degree": 3}),
    "stochastic_blocks": (blocks, {"sizes": [9, 1, 0, 12], "within": 0.6, "between": 0.2}),
}


def pairs(edges) -> list[tuple[int, int]]:
    return list(zip(edges["source"].tolist(), edges["destination"].tolist(), strict=True))


def same(one, other) -> bool:
    return list(one) == list(other) and all(np.array_equal(one[n], other[n]) for n in one)


# --- the random numbers ---------------------------------------------------------------------


def test_the_hash_is_splitmix64():
    # The first outputs of the reference implementation for seed 0.
    known = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    found = [generate._mix(n * generate.GOLDEN % 2**64) for n in (1, 2, 3)]
    assert found == known


def test_keys_differ_by_seed_and_stream():
    keys = {generate.key_of(seed, stream) for seed in (0, 1, 2**64 - 1) for stream in range(5)}
    assert len(keys) == 15
    assert all(-(2**63) <= key < 2**63 for key in keys)


def test_the_same_seed_gives_these_very_edges_everywhere():
    edges = rmat(vertices=1000, edges=6, seed=7, weights=(-5, 5))
    assert edges["source"].tolist() == [0, 251, 130, 250, 0, 0]
    assert edges["destination"].tolist() == [63, 24, 501, 8, 377, 192]
    assert edges["weight"].tolist() == [-3, 3, 5, 1, 0, -4]
    edges = kronecker(10, 0.005, seed=7)
    assert pairs(edges) == [(517, 182), (680, 466), (991, 810), (301, 585), (517, 52)]
    assert edges["weight"][:2].tolist() == [0.19573836057885807, 0.7357850102200573]
    edges = erdos_renyi(1000, 3, seed=2**64 - 1)
    assert pairs(edges) == [(344, 543), (984, 977), (378, 888)]
    edges = grid(2, 3, drop=0.3, weights=(0, 2**32 - 1))
    assert pairs(edges)[:4] == [(0, 1), (1, 0), (1, 4), (2, 1)]
    assert edges["weight"][:2].tolist() == [1210155558, 3384126992]


@pytest.mark.parametrize("name", MAKERS)
def test_another_seed_gives_another_graph(name):
    make, parameters = MAKERS[name]
    assert not same(make(**parameters, seed=1), make(**parameters, seed=2))


# --- chunks and threads make no difference --------------------------------------------------


@settings(deadline=None, max_examples=15)
@given(
    name=st.sampled_from(sorted(MAKERS)),
    size=st.integers(1, 300),
    seed=st.integers(0, 2**64 - 1),
    weights=st.sampled_from([None, (0, 9), (-1.0, 1.0)]),
)
def test_chunks_add_up_to_the_graph(name, size, seed, weights):
    make, parameters = MAKERS[name]
    parameters = parameters | {"seed": seed, "weights": weights}
    pieces = list(chunks(name, size, **parameters))
    assert all(len(piece["source"]) <= size for piece in pieces)
    whole = {n: np.concatenate([piece[n] for piece in pieces]) for n in pieces[0]}
    assert same(whole, make(**parameters))


@pytest.mark.parametrize("name", MAKERS)
def test_any_number_of_threads_makes_the_same_graph(name, monkeypatch):
    make, parameters = MAKERS[name]
    graphs = []
    for threads in ("1", "3"):
        monkeypatch.setenv("CUGRAPH_WS_THREADS", threads)
        graphs.append(make(**parameters, weights=(1.0, 2.0)))
    assert same(*graphs)


def test_a_graph_without_edges_is_one_empty_chunk():
    pieces = list(chunks("rmat", scale=3, edges=0, weights=(0.0, 1.0)))
    assert [list(piece) for piece in pieces] == [["source", "destination", "weight"]]
    assert pieces[0]["source"].size == 0


def test_chunks_are_checked_before_the_first_is_made():
    with pytest.raises(InputError, match="no generator is called 'ring'; choose one of: rmat"):
        chunks("ring")
    with pytest.raises(InputError, match="size is 0"):
        chunks("rmat", 0, scale=3)
    with pytest.raises(InputError, match="scale is 63"):
        chunks("rmat", scale=63)


# --- R-MAT and Kronecker --------------------------------------------------------------------


def test_rmat_has_the_size_asked_for():
    edges = rmat(5, 2.5)
    assert [column.dtype for column in edges.values()] == [np.int64, np.int64]
    assert len(edges["source"]) == 80
    assert len(rmat(5, edges=7)["source"]) == 7
    assert pairs(rmat(0, 3)) == [(0, 0)] * 3


@pytest.mark.parametrize("vertices", [1, 2, 3, 5, 31, 33])
def test_rmat_reaches_every_vertex_of_any_number(vertices):
    edges = rmat(vertices=vertices, edges=40 * vertices, a=0.25, b=0.25, c=0.25)
    for ends in edges.values():
        assert set(ends.tolist()) == set(range(vertices))


def test_rmat_quadrants_have_their_probabilities():
    edges = rmat(10, edges=2_000, a=0.5, b=0.3, c=0.15, seed=3)
    for bit in range(10):  # of the vertex numbers, the first choice in the highest
        down, right = (edges[end] >> bit & 1 for end in ("source", "destination"))
        counts = np.bincount(2 * down + right, minlength=4) / 2_000
        np.testing.assert_allclose(counts, [0.5, 0.3, 0.15, 0.05], atol=0.05)


@pytest.mark.parametrize(
    ("odds", "ends"),
    [
        ({"a": 1.0, "b": 0.0, "c": 0.0}, (0, 0)),
        ({"a": 0.0, "b": 1.0, "c": 0.0}, (0, 7)),
        ({"a": 0.0, "b": 0.0, "c": 1.0}, (7, 0)),
        ({"a": 0.0, "b": 0.0, "c": 0.0}, (7, 7)),
    ],
)
def test_rmat_with_one_quadrant(odds, ends):
    assert set(pairs(rmat(3, 4, **odds))) == {ends}


def test_kronecker_is_rmat_with_the_vertices_renamed():
    plain = kronecker(7, 4, permute=False, seed=5)
    assert same(plain, rmat(7, 4, seed=5, weights=(0.0, 1.0)))
    renamed = kronecker(7, 4, seed=5)
    names = {}
    for old, new in zip(pairs(plain), pairs(renamed), strict=True):
        for before, after in zip(old, new, strict=True):
            assert names.setdefault(before, after) == after
    assert len(set(names.values())) == len(names), "no two vertices get one name"
    assert any(old != new for old, new in names.items())
    assert "weight" not in kronecker(3, 1, weights=None)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 16, 17, 100])
def test_permutations_are_permutations(size):
    half = ((size - 1).bit_length() + 1) // 2
    values = np.arange(size)
    generate.permute(values, 0, size, size, half, generate.key_of(1, 3))
    assert sorted(values.tolist()) == list(range(size))
    if size == 100:
        assert (values == np.arange(size)).sum() < 8, "few of a hundred stay where they are"


# --- Erdős-Rényi ----------------------------------------------------------------------------


@pytest.mark.parametrize("vertices", range(8))
def test_all_pairs_are_drawn_once(vertices):
    every = list(itertools.permutations(range(vertices), 2))
    assert sorted(pairs(erdos_renyi(vertices, len(every)))) == every
    every = list(itertools.combinations(range(vertices), 2))
    assert sorted(pairs(erdos_renyi(vertices, len(every), directed=False))) == every


@pytest.mark.parametrize("directed", [True, False])
def test_some_pairs_are_drawn_without_repetition(directed):
    drawn = pairs(erdos_renyi(40, 300, directed=directed, seed=2))
    assert len(set(drawn)) == 300
    assert all(u != v if directed else u < v for u, v in drawn)


def test_all_pairs_are_equally_likely():
    counts = np.zeros((4, 4))
    for seed in range(600):
        for pair in pairs(erdos_renyi(4, 3, seed=seed)):
            counts[pair] += 1
    likely = counts[~np.eye(4, dtype=bool)] / 600  # each with probability 3 / 12
    np.testing.assert_allclose(likely, 0.25, atol=0.06)


def test_a_probability_gives_a_binomial_number_of_edges():
    sizes = [len(erdos_renyi(20, probability=0.2, seed=seed)["source"]) for seed in range(60)]
    assert len(set(sizes)) > 10
    assert np.mean(sizes) == pytest.approx(0.2 * 380, abs=4)  # standard error 1.0
    assert pairs(erdos_renyi(20, probability=0.0)) == []
    assert len(pairs(erdos_renyi(20, probability=1.0))) == 380


# --- grids ----------------------------------------------------------------------------------


def test_a_grid_is_a_grid():
    nx = pytest.importorskip("networkx")
    numbers = {(row, column): 4 * row + column for row in range(3) for column in range(4)}
    expected = nx.relabel_nodes(nx.grid_2d_graph(3, 4).to_directed(), numbers)
    assert sorted(pairs(grid(3, 4))) == sorted(expected.edges)
    assert pairs(grid(1, 1)) == []
    assert pairs(grid(0, 5)) == []
    assert sorted(pairs(grid(1, 3))) == [(0, 1), (1, 0), (1, 2), (2, 1)]


def test_a_share_of_the_grid_is_left_out():
    full = len(pairs(grid(30, 30)))
    left = pairs(grid(30, 30, drop=0.28, seed=4))
    assert len(left) / full == pytest.approx(0.72, abs=0.03)
    assert any((v, u) not in set(left) for u, v in left), "each direction on its own"
    assert pairs(grid(5, 5, drop=1.0)) == []


# --- graphs that grow, and blocks -----------------------------------------------------------


def test_new_vertices_have_their_edges_and_prefer_high_degrees():
    edges = growing(3000, 2, seed=1)
    source, destination = edges["source"], edges["destination"]
    assert (np.bincount(source)[1:] == 2).all()
    assert (destination < source).all()
    degrees = np.bincount(np.concatenate([source, destination]))
    assert degrees[:10].mean() > 50
    assert (degrees == 2).mean() == pytest.approx(1 / 2, abs=0.03)  # 1 / 3 if targets were uniform


def test_targets_are_ends_of_earlier_edges_in_proportion():
    """Vertex 2 of degree 1 chooses an end of the edge (1, 0); vertex 3 one of two edges' ends."""
    chosen = [pairs(growing(4, 1, seed=seed))[1:] for seed in range(2000)]
    assert sum(second == (2, 0) for second, _ in chosen) == pytest.approx(1000, abs=120)
    hub = [third for second, third in chosen if second == (2, 0)]
    assert hub.count((3, 0)) == pytest.approx(len(hub) / 2, abs=90)
    assert hub.count((3, 1)) == pytest.approx(len(hub) / 4, abs=80)


def test_blocks_are_complete_or_apart():
    edges = pairs(blocks([3, 0, 2], 1.0, 0.0))
    assert sorted(edges) == [(0, 1), (0, 2), (1, 2), (3, 4)]
    edges = pairs(blocks([3, 2], 0.0, 1.0, directed=True))
    assert sorted(edges) == sorted(
        [*itertools.product(range(3), (3, 4)), *itertools.product((3, 4), range(3))]
    )


@pytest.mark.parametrize("directed", [False, True])
def test_blocks_have_their_odds_and_no_pair_twice(directed):
    drawn = pairs(blocks([100, 150], 0.3, 0.05, directed=directed, seed=4))
    assert len(set(drawn)) == len(drawn)
    assert all(u != v if directed else u < v for u, v in drawn)
    inner = sum((u < 100) == (v < 100) for u, v in drawn) / (1 + directed)
    assert inner == pytest.approx(0.3 * (4950 + 11175), rel=0.1)
    assert len(drawn) / (1 + directed) - inner == pytest.approx(0.05 * 15000, rel=0.2)


# --- weights and frames ---------------------------------------------------------------------


def test_weights_of_both_kinds():
    whole = rmat(6, weights=(-2, 3))["weight"]
    assert whole.dtype == np.int64
    assert set(whole.tolist()) == {-2, -1, 0, 1, 2, 3}
    real = rmat(6, weights=(-2, 3.0))["weight"]
    assert real.dtype == np.float64
    assert -2 <= real.min() < -1.5
    assert 2.5 < real.max() < 3
    assert real.mean() == pytest.approx(0.5, abs=0.2)
    assert set(rmat(3, weights=(4, 4))["weight"].tolist()) == {4}
    assert "weight" not in rmat(3)


def test_weights_do_not_depend_on_the_structure():
    same_weights = rmat(6, weights=(0.0, 1.0))["weight"]
    ends = rmat(6)["source"]
    assert abs(np.corrcoef(same_weights, ends)[0, 1]) < 0.1


@pytest.mark.parametrize(
    ("frame", "kind"),
    [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("pyarrow", pa.Table), (None, dict)],
)
def test_frames(frame, kind):
    for make, parameters in MAKERS.values():
        edges = make(**parameters, frame=frame)
        assert isinstance(edges, kind)
        reference = make(**parameters)
        for name, values in reference.items():
            np.testing.assert_array_equal(np.asarray(edges[name]), values)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rmat(), "give one of them"),
        (lambda: rmat(3, vertices=8), "give one of them"),
        (lambda: rmat(-1), "scale is -1: give a number from 0 to 62"),
        (lambda: rmat(2.5), "scale is 2.5: give a whole number"),
        (lambda: rmat(True), "scale is True: give a whole number"),
        (lambda: rmat(vertices=0), "vertices is 0"),
        (lambda: rmat(3, -1), "edge_factor is -1"),
        (lambda: rmat(3, "many"), "edge_factor is 'many': give a number"),
        (lambda: rmat(3, edges=-1), "edges is -1"),
        (lambda: rmat(3, a=1.5), "a is 1.5"),
        (lambda: rmat(3, a=0.5, b=0.5, c=0.5), "a \\+ b \\+ c is 1.5"),
        (lambda: rmat(3, b=float("nan")), "b is nan"),
        (lambda: rmat(3, seed=-1), "seed is -1"),
        (lambda: rmat(3, seed=2**64), "seed is 18446744073709551616"),
        (lambda: rmat(3, weights=1), "weights is 1: give None or a pair"),
        (lambda: rmat(3, weights=(2, 1)), "low must not exceed high"),
        (lambda: rmat(3, weights=("a", 1)), "weights is 'a'"),
        (lambda: rmat(3, weights=(0, float("inf"))), "weights is inf"),
        (lambda: rmat(3, weights=(0, 2**32)), "span 2\\*\\*32 values"),
        (lambda: rmat(3, frame="excel"), "frame is 'excel'; choose one of: pandas"),
        (lambda: kronecker(-1), "scale is -1"),
        (lambda: erdos_renyi(3), "give one of them"),
        (lambda: erdos_renyi(3, 2, probability=0.5), "give one of them"),
        (lambda: erdos_renyi(3, 7), "edges is 7: give a number from 0 to 6"),
        (lambda: erdos_renyi(3, 4, directed=False), "edges is 4: give a number from 0 to 3"),
        (lambda: erdos_renyi(3, probability=1.5), "probability is 1.5"),
        (lambda: erdos_renyi(2**31 + 1, 1), "vertices is 2147483649"),
        (lambda: grid(-1, 2), "rows is -1"),
        (lambda: grid(2, 2**40), "columns is"),
        (lambda: grid(2, 2, drop=2), "drop is 2"),
    ],
)
def test_wrong_arguments_are_named(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_numpy_integers_are_integers():
    assert same(rmat(np.int32(4), seed=np.uint8(1)), rmat(4, seed=1))
    assert rmat(3, weights=(np.int64(1), np.int64(2)))["weight"].dtype == np.int64
