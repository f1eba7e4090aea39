"""The counting scatters: against SciPy, for any number of threads, and as plain Python."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from cugraph_ws.graph import adjacency
from cugraph_ws.graph.adjacency import Adjacency, EdgeList, index_dtype
from cugraph_ws.graph.duplicates import merge_parallel, repeats

NO_TABLE = np.empty(0, np.int32)


def edge_list(sources, destinations, vertices, *, low=0, table=NO_TABLE, dtype=np.int64):
    return EdgeList(
        np.asarray(sources, dtype), np.asarray(destinations, dtype), low, table, vertices
    )


def rows_of(one):
    """Rows as lists, which compare readably."""
    return [one.indices[a:b].tolist() for a, b in zip(one.offsets, one.offsets[1:], strict=False)]


@pytest.fixture(params=[1, 3], ids=["one-thread", "three-threads"])
def threads(request, monkeypatch):
    monkeypatch.setenv("CUGRAPH_WS_THREADS", str(request.param))
    monkeypatch.setattr(adjacency, "_EDGES_A_THREAD", 1)
    return request.param


def test_rows_keep_the_order_of_the_input(threads):
    edges = edge_list([1, 0, 1, 1, 0], [2, 0, 0, 2, 1], 3)
    base, (moved,) = edges.rows_of_sources([np.arange(5.0)], both=False)
    assert rows_of(base) == [[0, 1], [2, 0, 2], []]
    assert moved.tolist() == [1, 4, 0, 2, 3]


def test_both_ways_places_a_self_loop_once(threads):
    edges = edge_list([1, 0, 1], [2, 0, 0], 3)
    base, (moved,) = edges.rows_of_sources([np.array([10, 20, 30])], both=True)
    assert rows_of(base) == [[0, ~1], [2, 0], [~1]]
    assert moved.tolist() == [20, 30, 10, 30, 10]
    csc, (moved,) = base.transpose(moved)
    assert csc.strip_marks() == 0
    assert rows_of(csc) == [[0, 1], [0, 2], [1]]
    assert moved.tolist() == [20, 30, 30, 10, 10]


@settings(deadline=None, max_examples=50)
@given(data=st.data(), vertices=st.integers(1, 6), pieces=st.integers(1, 4))
def test_pairs_given_both_ways_are_counted(data, vertices, pieces):
    number = st.integers(0, vertices - 1)
    pairs = data.draw(st.lists(st.tuples(number, number), max_size=30))
    sources, destinations = (np.array([p[i] for p in pairs], np.int64) for i in (0, 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adjacency, "pieces_of", lambda arcs, rows: pieces)
        base, _ = edge_list(sources, destinations, vertices).rows_of_sources([], both=True)
        csc, _ = base.transpose()
        assert csc.strip_marks() == sum((d, s) in pairs for s, d in set(pairs) if s < d)
    for vertex, row in enumerate(rows_of(csc)):
        ends = [{*pair} - {vertex} or {vertex} for pair in pairs if vertex in pair]
        assert row == sorted(one for (one,) in ends)


@pytest.mark.parametrize("both", [False, True])
def test_table_and_low_translate_ids(both, threads):
    table = np.array([0, -1, 1, 2], np.int32)  # ids 10, 12, 13
    translated = edge_list([10, 13, 12, 13], [12, 10, 12, 13], 3, low=10, table=table)
    plain = edge_list([0, 2, 1, 2], [1, 0, 1, 2], 3, dtype=np.int32)
    values = [np.array([1, 2, 3, 4])]
    (one, [moved]), (two, [expected]) = (
        edges.rows_of_sources(values, both=both) for edges in (translated, plain)
    )
    assert rows_of(one) == rows_of(two)
    assert moved.tolist() == expected.tolist()


@settings(deadline=None, max_examples=25)
@given(data=st.data(), vertices=st.integers(1, 12), pieces=st.integers(1, 4))
def test_transposition_agrees_with_scipy(data, vertices, pieces):
    number = st.integers(0, vertices - 1)
    pairs = data.draw(st.lists(st.tuples(number, number), max_size=40))
    sources, destinations = (np.array([p[i] for p in pairs], np.int64) for i in (0, 1))
    weights = np.arange(len(pairs), dtype=np.float64) + 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adjacency, "pieces_of", lambda arcs, rows: pieces)
        base, [values] = edge_list(sources, destinations, vertices).rows_of_sources(
            [weights], both=False
        )
        csc, [moved] = base.transpose(values)
        csr, [back] = csc.transpose(moved)
        assert np.array_equal(csc.carry(moved), back)
        assert csc.count_targets().tolist() == csr.degrees.tolist()
    shape = (vertices, vertices)
    expected = sp.coo_matrix((weights, (sources, destinations)), shape).toarray()
    for one, array, dense in ((csc, moved, expected.T), (csr, back, expected)):
        ours = sp.csr_matrix((array, one.indices, one.offsets), shape)
        assert np.array_equal(ours.toarray(), dense)
        assert all(row == sorted(row) for row in rows_of(one))
    parallel = csc.rows()[1:] == csc.rows()[:-1]
    parallel &= csc.indices[1:] == csc.indices[:-1]
    assert (np.diff(moved)[parallel] > 0).all(), "parallel edges left the input's order"


def test_number_of_pieces_is_bounded_by_the_memory_of_their_cursors(monkeypatch):
    monkeypatch.setattr(adjacency, "number_of_threads", lambda: 64)
    assert adjacency.pieces_of(1 << 24, 1 << 10) == 64
    assert adjacency.pieces_of(1 << 24, 1 << 22) == 1
    assert adjacency.pieces_of(100, 10) == 1


def test_no_edges_and_no_vertices():
    for vertices in (0, 3):
        base, [values] = edge_list([], [], vertices).rows_of_sources([np.empty(0)], both=True)
        csc, [moved] = base.transpose(values)
        assert csc.offsets.tolist() == [0] * (vertices + 1)
        assert csc.number_of_arcs == len(moved) == 0
        assert csc.count_targets().tolist() == [0] * vertices
        assert repeats(csc).tolist() == []


def test_index_dtype_widens_above_int32():
    assert index_dtype(2**31 - 1) == np.int32
    assert index_dtype(2**31) == np.int64


@pytest.mark.parametrize("own", [False, True])
def test_places_of_32_and_of_64_bits_give_the_same_rows(own, monkeypatch, threads):
    rng = np.random.default_rng(6)
    ends, weights = rng.integers(0, 300, (2, 5000)).astype(np.int32), rng.random(5000)
    monkeypatch.setattr(adjacency, "_WIDENED", 64)
    told = []
    for most in (np.iinfo(np.int32).max, 4999):
        monkeypatch.setattr(adjacency, "_INT32_MAX", most)
        listed = EdgeList(ends[0].copy(), ends[1].copy(), 0, NO_TABLE, 300, own)
        base, values = listed.rows_of_sources([] if own else [weights], both=False)
        csc, moved = base.transpose(*values)
        assert base.offsets.dtype == (np.int32 if most > 5000 else np.int64)
        assert csc.offsets.dtype == base.degrees.dtype == csc.count_targets().dtype == np.int64
        told.append([base.offsets, csc.offsets, csc.indices, *moved, csc.count_targets()])
    for narrow, wide in zip(*told, strict=True):
        assert np.array_equal(narrow, wide)


def test_int64_indices_are_kept():
    wide = Adjacency(np.array([0, 1, 2]), np.array([1, 0], np.int64))
    turned, _ = wide.transpose()
    assert turned.indices.dtype == np.int64
    assert rows_of(turned) == [[1], [0]]


PARALLEL = Adjacency(np.array([0, 0, 4, 4, 6]), np.array([1, 1, 1, 3, 0, 3], np.int32))


def test_repeats_do_not_reach_over_row_ends():
    assert repeats(PARALLEL).tolist() == [False, True, True, False, False, False]
    ends = Adjacency(np.array([0, 1, 2]), np.array([1, 1], np.int32))
    assert repeats(ends).tolist() == [False, False]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [("sum", 9), ("min", 2), ("max", 4), ("mean", 3), ("first", 3)],
)
@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64])
def test_merge_reduces_values(policy, expected, dtype):
    values = np.array([3, 2, 4, 7, 8, 9], dtype)
    merged, out = merge_parallel(PARALLEL, {"w": values}, policy, repeats(PARALLEL))
    assert rows_of(merged) == [[], [1, 3], [], [0, 3]]
    assert out["w"].tolist() == [expected, 7, 8, 9]
    wanted = np.float64 if policy == "mean" and dtype == np.int64 else dtype
    assert out["w"].dtype == wanted


@pytest.mark.parametrize("value", [2**62, -(2**62)])
def test_sum_beyond_int64_is_refused(value):
    values = np.full(6, value, np.int64)
    with pytest.raises(ValueError, match=r"'w' could exceed int64; cast it to float64"):
        merge_parallel(PARALLEL, {"w": values}, "sum", repeats(PARALLEL))


def test_merge_of_nothing():
    empty = Adjacency(np.array([0, 0]), np.empty(0, np.int32))
    merged, out = merge_parallel(empty, {"w": np.empty(0)}, "sum", repeats(empty))
    assert merged.number_of_arcs == len(out["w"]) == 0
