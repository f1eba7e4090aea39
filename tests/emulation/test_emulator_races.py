"""The emulator's race detector against another method: sets of all that each thread has seen.

A program of accesses and barriers has the same races in whatever order its threads go, so the
detector must find one exactly where the sets say so.
"""

from __future__ import annotations

import pytest
from emulator import Emulator, faults, load
from emulator.planted import HEAD, ints
from hypothesis import given, settings
from hypothesis import strategies as st

ACTORS = (0, 1, 32, 95, 96, 130)  # of two blocks of 96 threads
ACCESSES = {
    "read": "a[{}]",
    "write": "a[{}] = 1",
    "atomic": "atomic_add(a, {}, 1)",
    "fresh load": "load_fresh(a, {})",
    "cached load": "load_cached(a, {})",
    "fresh store": "store_fresh(a, {}, 1)",
}
BARRIERS = {
    "sync_warp(FULL)": lambda number: number // 32,
    "sync_warp(0x55555555 << (lane() & 1))": lambda number: (number // 32, number % 2),
    "sync_block()": lambda number: number // 96,
    "sync_grid()": lambda number: 0,
    "ballot(FULL, True)": lambda number: number,  # orders nothing
}
STEPS = st.one_of(
    st.tuples(st.sampled_from(ACTORS), st.sampled_from(list(ACCESSES)), st.integers(0, 1)),
    st.sampled_from(list(BARRIERS)),
)


def conflict(one, two):
    kinds = {one, two}
    if "write" in kinds:
        return True
    return "read" in kinds and bool(kinds & {"atomic", "fresh store"})


def has_race(program):
    """Follow what each thread has seen; at a barrier all of a group see what any has."""
    seen = {actor: set() for actor in ACTORS}
    done = []
    for step in program:
        if isinstance(step, str):
            groups = {}
            for actor in ACTORS:
                groups.setdefault(BARRIERS[step](actor), []).append(actor)
            for group in groups.values():
                together = set().union(*(seen[actor] for actor in group))
                for actor in group:
                    seen[actor] = set(together)
            continue
        actor, kind, place = step
        for number, (_, other_kind, other_place) in enumerate(done):
            if place == other_place and conflict(kind, other_kind) and number not in seen[actor]:
                return True
        seen[actor].add(len(done))
        done.append(step)
    return False


def text(program):
    lines = []
    for step in program:
        if isinstance(step, str):
            lines.append(f"    {step}")
        else:
            actor, kind, place = step
            lines += [f"    if me() == {actor}:", f"        {ACCESSES[kind].format(place)}"]
    return HEAD + "\n@kernel\ndef k(a):\n    pass\n" + "\n".join(lines) + "\n"


def finds_it(program, seed):
    kernel = load(text(program))["k"]
    if has_race(program):
        with pytest.raises(faults.Race):
            Emulator(seed).launch(kernel, 2, 96, (ints(2),), cooperative=True)
    else:
        Emulator(seed).launch(kernel, 2, 96, (ints(2),), cooperative=True)


@settings(max_examples=150)
@given(program=st.lists(STEPS, min_size=2, max_size=16), seed=st.integers(0, 99))
def test_finds_a_race_exactly_where_there_is_one(program, seed):
    finds_it(program, seed)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ACCESSES)
@pytest.mark.parametrize("barrier", BARRIERS)
def test_finds_a_race_of_many(barrier, kind, seed):
    # two accesses before a barrier, of which it may order one, and two after it
    finds_it([(0, kind, 0), (95, kind, 0), barrier, (1, "write", 0)], seed)
    finds_it([(0, kind, 0), barrier, (1, "read", 0), (95, "atomic", 0)], seed)
    finds_it([barrier, (0, kind, 0), (1, "write", 0)], seed)
    finds_it([(0, "write", 0), barrier, (0, kind, 0), barrier, (1, "write", 0)], seed)


def test_the_sets_know_races_from_order():
    write, read = (0, "write", 0), (1, "read", 0)
    assert has_race([write, read])
    assert has_race([write, "ballot(FULL, True)", read])
    assert not has_race([write, "sync_warp(FULL)", read])
    assert has_race([write, "sync_warp(0x55555555 << (lane() & 1))", read])
    assert not has_race([write, (1, "read", 1)])
    assert has_race([write, "sync_block()", (96, "read", 0)])
    assert not has_race([write, "sync_grid()", (96, "read", 0)])
