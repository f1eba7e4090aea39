"""The loops themselves, uncompiled, with the program that `kernels/cpu/interface.py` is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cugraph_ws.kernels.cpu import (
    buckets,
    dense,
    frontier,
    interface,
    pull,
    push,
    scatter,
    search,
    tree,
)
from cugraph_ws.runtime.threads import cut_evenly

FAR = 1 << 30
N = 70
# 0 → 1 → … → 9, and from every tenth vertex to all vertices between it and the next tenth.
PAIRS = sorted(
    {(v, v + 1) for v in range(9)}
    | {(v, w) for v in range(0, 60, 10) for w in range(v + 10, v + 20)}
)
HOPS = np.array([*range(10), *(1 + (v - 10) // 10 for v in range(10, N))])


def rows(by: int) -> tuple[np.ndarray, np.ndarray]:
    """Return offsets and indices of the pairs: CSR by their first end, CSC by their second."""
    pairs = np.array(sorted(PAIRS, key=lambda pair: (pair[by], pair[1 - by])), np.int32)
    offsets = np.zeros(N + 1, np.int64)
    np.cumsum(np.bincount(pairs[:, by], minlength=N), out=offsets[1:])
    return offsets, np.ascontiguousarray(pairs[:, 1 - by])


CSR, CSC = rows(0), rows(1)


def plain(function: Any) -> Any:
    """Return the Python function of a loop, compiled or not."""
    return getattr(function, "py_func", function)


@pytest.fixture
def state() -> tuple[np.ndarray]:
    """The first state: 0 hops to vertex 0."""
    fields = (np.full(N, -7),)
    numbers = np.arange(N)
    for low, high in cut_evenly(N, 3):
        plain(dense.initialise)(low, high, numbers, fields, (), ())
    assert fields[0].tolist() == [0] + [FAR] * (N - 1)
    return fields


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give `push` locks for one thread; the atomic ones exist in compiled code alone."""

    def compare_and_swap(array, index, expected, value):
        assert array[index] == expected, "one thread never finds a lock taken"
        array[index] = value
        return True

    monkeypatch.setattr(push, "compare_and_swap", compare_and_swap)
    monkeypatch.setattr(push, "store", np.ndarray.__setitem__)
    monkeypatch.setattr(push, "leap", plain(search.leap))
    for inlined in ("_next_bucket", "_refill_middle", "file_later"):
        monkeypatch.setattr(buckets, inlined, plain(getattr(buckets, inlined)))


def test_dense_supersteps(state):
    (old,), fresh = state, np.empty(N, np.int64)
    for _ in range(12):
        totals = np.zeros((4, 3))
        for place, (low, high) in enumerate(cut_evenly(N, 4)):
            plain(dense.gather)(
                low, high, N, CSC, (), (old,), (fresh,), (), (), False, (), totals[place]
            )
        assert totals[:, 0].sum() == (fresh != old).sum()
        assert totals[:, 1].sum() == np.abs(fresh - old).sum()
        assert totals[:, 2].max() == np.abs(fresh - old).max()
        old, fresh = fresh, old
    assert old.tolist() == HOPS.tolist()


@pytest.fixture
def together(state: tuple[np.ndarray], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Several dense supersteps in one call: the new states, and the totals of each."""
    for name in ("prepare", "gather", "sum_terms"):
        monkeypatch.setattr(dense, name, plain(getattr(dense, name)))

    def run(most: int, norm: int = 0, tolerance: float = -1.0) -> tuple[np.ndarray, np.ndarray]:
        changes, states = np.zeros((most, 3)), (state, (np.empty(N, np.int64),))
        steps = plain(dense.gather_fused)(
            CSC, (), states, (), (0,), False, (), np.zeros((2, 0)), norm, tolerance, changes
        )
        return states[steps % 2][0], changes[:steps]

    return run


def test_dense_supersteps_in_one_call_end_when_nothing_is_active(together):
    hops, totals = together(50)
    assert hops.tolist() == HOPS.tolist()
    assert totals[:, 0].tolist() == [*np.bincount(HOPS)[1:].tolist(), 0]


def test_dense_supersteps_in_one_call_end_at_a_limit_and_at_a_residual(together, monkeypatch):
    hops, totals = together(3)
    assert len(totals) == 3
    assert (hops < FAR).tolist() == (HOPS <= 3).tolist()
    changes = [0.5, 3.0, 0.25]
    monkeypatch.setattr(dense, "change", lambda old, new: changes[min(new[0], 4) % 3])
    assert len(together(2, norm=2, tolerance=3.0)[1]) == 1
    assert len(together(2, norm=2, tolerance=2.5)[1]) == 2
    monkeypatch.setattr(dense, "change", lambda old, new: np.inf)
    for norm, steps in ((0, 2), (1, 1), (2, 1)):
        assert len(together(2, norm=norm)[1]) == steps


def test_long_rows_in_parts(state):
    # Vertex 10 has one in-arc; its row is long if nothing may be.
    totals = np.full(3, 9.0)
    fresh = (state[0].copy(),)
    plain(dense.gather)(0, N, 0, CSC, (), state, fresh, (), (), False, (), totals)
    assert fresh[0].tolist() == state[0].tolist(), "rows of more arcs are left alone"
    vertex = 10
    first, last = CSC[0][vertex : vertex + 2]
    parts = [
        plain(dense.gather_part)(vertex, arc, arc + 1, CSC[1], (), state, (), (), False, ())
        for arc in range(first, last)
    ]
    gathered = parts[0]
    for part in [*parts[1:], interface.nothing()]:
        gathered = plain(dense.merge_parts)(gathered, part)
    plain(dense.finish)(vertex, gathered, state, fresh, (), (), totals)
    assert fresh[0][vertex] == 1
    assert totals.tolist() == [1, FAR - 1, FAR - 1]


def test_initial_selections(state):
    selected = np.empty(N, np.int64)
    assert plain(dense.select_started)(0, N, state, (), (), selected) == 1
    assert selected[0] == 0
    assert plain(dense.list_unlike)(0, N, state, (), 5, selected) == 1
    assert plain(dense.list_unlike)(0, N, state, (), 0, selected) == N - 1
    assert plain(dense.arcs_are_quiet)(0, len(PAIRS), (), state, (), (), 5)


def test_a_background_that_speaks(state, monkeypatch):
    monkeypatch.setattr(
        dense, "message", lambda source, target, edges, arc, values: source[0] - (arc == 9)
    )
    quiet = plain(dense.arcs_are_quiet)
    assert quiet(0, 9, (), state, (), (), 5)
    assert not quiet(0, 10, (), state, (), (), 5)


def test_rows_into_the_others(state):
    quiet = plain(dense.rows_are_quiet)
    assert quiet(np.array([0]), CSC, (), state, (), (), 5)
    state[0][:] = FAR
    state[0][3] = 50
    assert quiet(np.array([4]), CSC, (), state, (), (), 5)
    assert not quiet(np.array([4]), CSC, (), state, (), (), 3)


def test_sums(state):
    plain(dense.sum_terms)(0, N, state, (), (), np.zeros(0))
    assert interface.terms((0,), ()) == ()


def test_pull_level_by_level(state):
    active = np.zeros((N + 31) // 32, np.uint32)
    frontier.list_to_bitmap(np.array([0]), active)
    level = 0
    while active.any():
        following = np.zeros_like(active)
        totals = np.zeros((3, 3), np.int64)
        for place, (low, high) in enumerate([(0, 32), (32, 64), (64, N)]):
            plain(pull.pull)(
                low, high, CSC, (), state, state, (), (), (active, following), totals[place]
            )
        level += 1
        listed = np.empty(N, np.int64)
        size = frontier.list_from_bitmap(0, N, following, listed)
        assert size == totals[:, 0].sum()
        assert listed[:size].tolist() == np.flatnonzero(level == HOPS).tolist()
        active = following
    assert state[0].tolist() == HOPS.tolist()


@pytest.mark.parametrize("pieces", [1, 2, 5])
def test_push_level_by_level(state, pieces):
    marks, locks = np.zeros((2, N), np.uint8)
    near, level = np.array([0]), 0
    while len(near):
        prefix = np.empty(len(near) + 1, np.int64)
        frontier.begin_superstep(near, CSR[0], marks, prefix)
        assert prefix.tolist() == [0, *np.cumsum(np.diff(CSR[0])[near])]
        found = []
        for low, high in cut_evenly(int(prefix[-1]), pieces):
            room, totals = np.empty(high - low, np.int64), np.zeros(2, np.int64)
            queues = (marks, locks, room, np.empty(0, np.int64))
            plain(push.push)(
                low, high, near, prefix, CSR, (), state, (), (), queues, np.inf, totals
            )
            found += room[: totals[0]].tolist()
        level += 1
        assert sorted(found) == np.flatnonzero(level == HOPS).tolist()
        near = np.array(found, np.int64)
    assert state[0].tolist() == HOPS.tolist()
    assert not locks.any()


@pytest.mark.parametrize(
    ("limits", "steps"),
    [((99, 10**6, 99), 10), ((99, 10**6, 3), 3), ((99, 13, 99), 2), ((10, 10**6, 99), 0)],
)
def test_fused_push_and_its_limits(state, limits, steps):
    marks = np.zeros(N, np.uint8)
    near, spare = np.zeros((2, N), np.int64)
    sizes, history = np.array([1, 11]), np.zeros((99, 2), np.int64)
    piles = (np.empty(0), np.empty(0), np.zeros(buckets.NUMBERS))
    taken = plain(push.push_fused)(
        sizes, CSR, (), state, (), (), (marks, near, spare), piles, limits, history
    )
    assert taken == steps
    listed = (near, spare)[taken % 2][: sizes[0]]
    assert sorted(listed.tolist()) == np.flatnonzero(taken == HOPS).tolist()
    assert sizes[1] == np.diff(CSR[0])[listed].sum()
    for step in range(taken):
        level = np.flatnonzero(step == HOPS)
        assert history[step].tolist() == [len(level), np.diff(CSR[0])[level].sum()]
    assert state[0].tolist() == np.where(taken >= HOPS, HOPS, FAR).tolist()


def test_scatter_and_absorb(state):
    marks, inbox = np.zeros(N, np.uint8), (np.empty(N, np.int64),)
    near, level = np.array([0]), 0
    while len(near):
        receivers = np.empty(N, np.int64)
        count = plain(scatter.scatter)(near, CSR, (), state, (), (), inbox, marks, receivers)
        assert marks.sum() == count
        following = np.empty(count, np.int64)
        size = plain(scatter.absorb)(receivers[:count], state, (), (), inbox, marks, following)
        assert not marks.any()
        near, level = following[:size], level + 1
        assert sorted(near.tolist()) == np.flatnonzero(level == HOPS).tolist()
    assert state[0].tolist() == HOPS.tolist()


def test_predecessors(state):
    state[0][:] = HOPS
    predecessors = np.empty(N, np.int64)
    undecided = plain(tree.choose_strictly_better)(
        0, N, np.arange(N), CSC, (), state, (), (), predecessors
    )
    assert undecided == 0
    for vertex in range(1, N):
        before = [u for u, v in PAIRS if v == vertex and HOPS[u] == HOPS[vertex] - 1]
        assert predecessors[vertex] == min(before)
    assert predecessors[0] == tree.NO_VERTEX


def test_bitmaps_and_lists():
    generator = np.random.default_rng(81)
    for size in (1, 31, 32, 33, 64, 100):
        chosen = np.flatnonzero(generator.random(size) < 0.4)
        bitmap = np.zeros((size + 31) // 32, np.uint32)
        frontier.list_to_bitmap(chosen, bitmap)
        listed = np.empty(size, np.int64)
        count = frontier.list_from_bitmap(0, size, bitmap, listed)
        assert listed[:count].tolist() == chosen.tolist()
        offsets = np.arange(size + 1) * 3
        for owned in (size, size // 2):
            totals = np.zeros(2, np.int64)
            frontier.count_arcs(0, size, owned, bitmap, offsets, totals)
            assert totals.tolist() == [(chosen < owned).sum(), 3 * len(chosen)]


def test_the_interface_is_a_program():
    assert interface.order((4,), ()) == 4.0
    assert interface.replace((4,), (5,)) == (5,)
    assert interface.change((4,), (6,)) == 2.0
    assert interface.merge(3, interface.nothing()) == 3
    assert interface.same((3,), interface.keep((3,)))
    assert not interface.same((3,), (4,))


class TestBuckets:
    """Near, middle and far piles, with the state itself as rank."""

    def piles(self, room=N, limit=-np.inf):
        numbers = np.zeros(buckets.NUMBERS)
        numbers[[buckets.LIMIT, buckets.HORIZON]] = limit
        numbers[buckets.GOAL] = 4
        return np.empty(room, np.int64), np.empty(room, np.int64), numbers

    def test_all_vertices_come_out_once_roughly_by_priority(self):
        generator = np.random.default_rng(82)
        ranks = generator.integers(0, 1000, N)
        marks, piles = np.zeros(N, np.uint8), self.piles()
        for vertex in generator.permutation(N):
            assert plain(buckets.file_later)(vertex, ranks[vertex], marks, piles)
        out: list[int] = []
        near = np.empty(N, np.int64)
        while size := plain(buckets.balance)(near, 0, marks, (ranks,), (), (), piles):
            bucket = near[:size].copy()
            assert (marks[bucket] == buckets.NEAR).all()
            assert ranks[bucket].max() <= piles[2][buckets.LIMIT]
            assert not out or ranks[bucket].min() >= ranks[out].max()
            out += bucket.tolist()
            marks[bucket] = 0
        assert sorted(out) == list(range(N))

    def test_a_full_pile_says_so(self):
        marks, piles = np.zeros(N, np.uint8), self.piles(room=2)
        filed = [plain(buckets.file_later)(vertex, 5, marks, piles) for vertex in range(3)]
        assert filed == [True, True, False]
        within = self.piles(room=2, limit=9.0)
        marks[:] = 0
        filed = [plain(buckets.file_later)(vertex, 5, marks, within) for vertex in (0, 0, 1, 2)]
        assert filed == [True, True, True, False]

    def test_pending_vertices_of_a_push_are_filed_or_near(self):
        marks, piles = np.zeros(N, np.uint8), self.piles(room=2)
        pending = np.array([4, 5, 6, 7])
        marks[[4, 5, 6]] = buckets.PENDING
        marks[7] = buckets.NEAR
        near = np.empty(4, np.int64)
        ranks = (np.arange(N),)
        size = plain(buckets.file_pending)(pending, marks, ranks, (), (), piles, near)
        assert near[:size].tolist() == [6]
        assert marks[4:8].tolist() == [buckets.FAR, buckets.FAR, buckets.NEAR, buckets.NEAR]

    def test_a_crowd_is_split_by_rank(self):
        marks, piles = np.full(N, buckets.NEAR, np.uint8), self.piles()
        near = np.arange(N)[::-1].copy()
        size = plain(buckets.balance)(near, N, marks, (np.arange(N),), (), (), piles)
        assert 0 < size < N
        assert near[:size].max() == size - 1, "the least ranks stay"

    def test_many_vertices_of_one_priority_stay_in_one_pile(self):
        marks, piles = np.full(N, buckets.NEAR, np.uint8), self.piles()
        near = np.arange(N)
        equal = (np.full(N, 7),)
        assert plain(buckets.balance)(near, N, marks, equal, (), (), piles) == N
