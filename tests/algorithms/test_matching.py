"""Bipartite matchings: maximal by the verifier, greedy by rank, and the same on any machine."""

from __future__ import annotations

import networkx as nx
import numba
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapes import FRAME_KINDS, SHAPES, column, edge_frame, frame, vertex_frame
from verify import Array, Edges, check_matching

import cugraph_ws as ws
from cugraph_ws.algorithms.matching import MaximalBipartiteMatching, maximal_bipartite_matching
from cugraph_ws.backends.cpu.loops import matching as algorithm
from cugraph_ws.kernels.cpu.matching import UNDECIDED, accept, find_inside, propose, rank_of


@numba.njit
def ranked(key, one, other):
    """Return an edge's rank: what kernels call is called from kernels alone."""
    return rank_of(key, one, other)


def bipartite(lefts: int, rights: int, m: int, seed: int, *, directed: bool = True) -> Edges:
    """Edges across, half of them from right to left; numbers of both sides are mixed."""
    generator = np.random.default_rng(seed)
    number = generator.permutation(lefts + rights)
    one = number[generator.integers(0, lefts, m)]
    other = number[lefts + generator.integers(0, rights, m)]
    turned = generator.random(m) < 0.5
    source, destination = np.where(turned, other, one), np.where(turned, one, other)
    return Edges(source, destination, lefts + rights, None, directed)


def sides(lefts: int, rights: int, seed: int) -> Array:
    left = np.zeros(lefts + rights, bool)
    left[np.random.default_rng(seed).permutation(lefts + rights)[:lefts]] = True
    return left


def graph_of(edges: Edges, **attributes) -> ws.Graph:
    return ws.Graph(
        edge_frame(edges), directed=edges.directed, vertices=vertex_frame(edges, **attributes)
    )


def match(edges: Edges, left: Array, **options) -> Array:
    with graph_of(edges) as graph:
        result = maximal_bipartite_matching(graph, np.flatnonzero(left), **options)
    assert column(result, "vertex").tolist() == list(range(edges.n))
    return column(result, "mate", -1)


SIZES = [(1, 1, 1), (1, 9, 9), (5, 5, 0), (8, 8, 20), (40, 60, 90), (60, 40, 400), (3, 200, 500)]


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("size", SIZES)
def test_matchings_are_maximal(size, directed):
    for seed in range(3):
        edges = bipartite(*size, seed, directed=directed)
        left = sides(size[0], size[1], seed)
        mate = match(edges, left, seed=seed)
        check_matching(edges, left, mate)


@pytest.mark.parametrize("name", ["path", "path backwards", "star", "star inwards", "one edge",
                                  "cycle", "32 vertices without chords"])  # fmt: skip
def test_shapes_with_two_sides(name):
    ring = np.arange(32)
    edges = SHAPES.get(name, Edges(ring, (ring + 1) % 32, 32))
    middle = {"star": 0, "star inwards": 8}.get(name)
    number = np.arange(edges.n)
    left = number % 2 == 0 if middle is None else number == middle
    check_matching(edges, left, match(edges, left))


def test_a_matching_is_at_least_half_of_the_largest():
    edges, left = bipartite(50, 50, 150, 4), sides(50, 50, 4)
    graph = nx.Graph(list(zip(edges.source.tolist(), edges.destination.tolist(), strict=True)))
    largest = nx.bipartite.maximum_matching(graph, [v for v in graph if left[v]])
    found = np.count_nonzero(match(edges, left) >= 0)
    assert len(largest) / 2 <= found <= len(largest)


def test_the_matching_is_the_greedy_one_by_rank():
    edges, left = bipartite(30, 30, 120, 6), sides(30, 30, 6)
    key = MaximalBipartiteMatching([], seed=9)._key
    pairs = zip(edges.source.tolist(), edges.destination.tolist(), strict=True)
    by_rank = sorted({(int(ranked(key, u, v)), min(u, v), max(u, v)) for u, v in pairs})
    expected = np.full(edges.n, -1)
    for _, u, v in by_rank:
        if expected[u] < 0 and expected[v] < 0:
            expected[u], expected[v] = v, u
    assert np.array_equal(match(edges, left, seed=9), expected)


def test_the_seed_alone_decides(monkeypatch):
    edges, left = bipartite(80, 80, 300, 2), sides(80, 80, 2)
    first = match(edges, left, seed=5)
    assert not np.array_equal(first, match(edges, left, seed=6))
    monkeypatch.setattr(algorithm, "GRAIN", 4)
    for threads in ("1", "3"):
        monkeypatch.setenv("CUGRAPH_WS_THREADS", threads)
        assert np.array_equal(match(edges, left, seed=5), first)


def test_direction_order_and_copies_do_not_matter():
    edges, left = bipartite(40, 40, 100, 3), sides(40, 40, 3)
    expected = match(edges, left)
    turned = Edges(edges.destination, edges.source, edges.n)
    twice = Edges(np.tile(edges.source, 2)[::-1], np.tile(edges.destination, 2)[::-1], edges.n)
    one_way = Edges(edges.source, edges.destination, edges.n, None, False)
    for same in (turned, twice, one_way):
        assert np.array_equal(match(same, left), expected)
    assert np.array_equal(match(edges, ~left), expected)


@given(st.integers(1, 8), st.integers(1, 8), st.data())
def test_random_graphs(lefts, rights, data):
    ends = st.tuples(st.integers(0, lefts - 1), st.integers(lefts, lefts + rights - 1))
    pairs = data.draw(st.lists(ends, max_size=30))
    source, destination = np.array(pairs, np.int64).reshape(-1, 2).T
    edges = Edges(source, destination, lefts + rights, None, data.draw(st.booleans()))
    left = np.arange(lefts + rights) < lefts
    check_matching(edges, left, match(edges, left, seed=data.draw(st.integers(0, 2**70))))


@pytest.mark.parametrize("kind", FRAME_KINDS)
def test_mates_are_ids_and_null_for_none(kind):
    edges = frame({"source": ["ann", "bob"], "destination": ["job", "job"]}, kind)
    result = maximal_bipartite_matching(edges, ["ann", "bob"])
    assert type(result) is type(edges)
    mates = dict(zip(column(result, "vertex"), column(result, "mate", "none"), strict=True))
    assert sorted(mates.values())[-1] == "none"
    assert mates[mates["job"]] == "job"


def test_integer_mates_are_nullable():
    for destination in ([2, 2], [2, 3]):
        result = maximal_bipartite_matching(frame({"source": [0, 1], "destination": destination}),
                                            [0, 1])  # fmt: skip
        assert result["mate"].dtype == pd.Int64Dtype()


@pytest.mark.parametrize("marks", [[True, True, False], [1, 1, 0], [1.0, 1.0, 0.0]])
def test_the_left_side_as_a_vertex_attribute(marks):
    edges = Edges(np.array([0, 1]), np.array([2, 2]), 3)
    with graph_of(edges, side=marks) as graph:
        by_name = maximal_bipartite_matching(graph, "side")
        by_ids = maximal_bipartite_matching(graph, pd.DataFrame({"vertex": [0, 1]}))
    pd.testing.assert_frame_equal(by_name, by_ids)


@pytest.mark.parametrize(
    ("left", "message"),
    [
        (["a"], "edge 'c' -> 'd' has both ends on the right"),
        (["a", "c", "d"], "edge 'c' -> 'd' has both ends on the left"),
        (["a", "z"], "'z' is not a vertex"),
        ("side", "no such vertex attribute"),
        (7, "left"),
    ],
)
def test_a_side_that_cannot_be_is_refused(left, message):
    edges = frame({"source": ["a", "c"], "destination": ["b", "d"]})
    with pytest.raises(ws.InputError, match=message):
        maximal_bipartite_matching(edges, left)


def test_self_loops_are_refused():
    edges = frame({"source": [0, 4], "destination": [1, 4]})
    with pytest.raises(ws.InputError, match="edge 4 -> 4 has both ends on the left"):
        maximal_bipartite_matching(edges, [0, 4])


@pytest.mark.parametrize("seed", [-1, 1.5, "1", True, None])
def test_a_senseless_seed_is_refused(seed):
    with pytest.raises(ws.InputError, match=r"seed=.*whole number"):
        maximal_bipartite_matching(edge_frame(SHAPES["one edge"]), [0], seed=seed)


def test_no_edges():
    result = maximal_bipartite_matching(edge_frame(SHAPES["empty"]), [])
    assert len(result) == 0
    edges = SHAPES["all isolated"]
    assert match(edges, np.ones(edges.n, bool)).tolist() == [-1] * 5


def test_a_run_goes_on_from_a_checkpoint(tmp_path):
    edges, left = bipartite(300, 300, 3000, 8), sides(300, 300, 8)
    path = tmp_path / "state.parquet"
    with graph_of(edges) as graph:
        chosen = np.flatnonzero(left)
        whole = ws.run(MaximalBipartiteMatching(chosen), graph)
        assert whole.iterations > 2
        stopped = ws.run(
            MaximalBipartiteMatching(chosen),
            graph,
            progress=lambda update: update.superstep < 2,
            checkpoint=path,
        )
        assert stopped.stopped == "callback"
        resumed = maximal_bipartite_matching(graph, chosen, resume=path)
        pd.testing.assert_frame_equal(resumed, whole.frame)
        with pytest.raises(ws.InputError, match="another seed"):
            maximal_bipartite_matching(graph, chosen, seed=1, resume=path)


# Kernels


def test_ranks_are_the_same_from_both_ends_and_spread():
    ranks = [int(ranked(12345, u, v)) for u in range(20) for v in range(20, 40)]
    assert ranks == [int(ranked(12345, v, u)) for u in range(20) for v in range(20, 40)]
    assert len(set(ranks)) == 400
    assert int(ranked(12345, np.int32(3), np.int32(20))) == 8635274828959019  # on any machine
    assert 0 <= min(ranks) < 2**50 < max(ranks) < 2**53


def test_a_choice_is_searched_again_only_when_it_is_matched():
    offsets, indices = np.array([0, 2, 3, 4]), np.array([1, 2, 0, 0], np.int32)
    adjacency = offsets, indices, offsets, indices[:0]
    mate, best = np.full(3, -1, np.int32), np.full(3, UNDECIDED, np.int32)
    free = np.arange(3, dtype=np.int32)
    assert propose(adjacency, None, mate, best, free, 1, 0, 3) == 4
    assert propose(adjacency, None, mate, best, free, 1, 0, 3) == 0
    assert accept(mate, best, free, 0, 3) == 2
    free = free[mate < 0]
    assert propose(adjacency, None, mate, best, free, 1, 0, 1) == 1
    assert sorted(best.tolist()) == [-1, 0, mate[0]]


def test_an_arc_inside_a_side_is_found():
    offsets, indices = np.array([0, 1, 2]), np.array([1, 0], np.int32)
    assert find_inside(offsets, indices, np.array([True, False]), 0, 2) == (-1, -1)
    assert find_inside(offsets, indices, np.array([True, True]), 0, 2) == (0, 1)
    assert find_inside(offsets, indices, np.array([True, True]), 1, 2) == (1, 0)
