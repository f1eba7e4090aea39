"""What the emulator refuses: every kind of fault is planted and found, the repaired kernel passes."""

from __future__ import annotations

import numpy as np
import pytest
from emulator import faults
from emulator.planted import fails, ints, passes, run


@pytest.mark.parametrize("index", ["-1", "n", "n + 5", "1.0", "True", "2 ** 62"])
@pytest.mark.parametrize(
    "access",
    ["out[{}]", "out[{}] = 1", "atomic_add(out, {}, 1)", "load_once(out, {})",
     "load_cached(out, {})", "load_fresh(out, {})", "store_fresh(out, {}, 1)"],
)  # fmt: skip
def test_out_of_bounds(access, index):
    body = "\n@kernel\ndef k(out, n):\n    if thread() == 7:\n        {}\n"
    found = fails(faults.OutOfBounds, body.format(access.format(index)), ints(3), 3, seeds=[1])
    assert (found.block, found.thread) == (0, 7)
    assert "out[" in found.what
    run(body.format(access.format("n - 1")), ints(3), 3)


def test_a_fault_names_its_place():
    body = "\n@kernel\ndef k(out):\n    if me() == 70:\n        out[0][1][me()] = 1\n"
    with pytest.raises(faults.OutOfBounds) as caught:
        run(body, ((ints(1), ints(2)),), grid=2, block=64)
    found = caught.value
    assert (found.kernel, found.block, found.thread) == ("k", 1, 6)
    assert found.text == "out[0][1][me()] = 1"
    assert "out[0][1][70] of 2 elements" in str(found)
    assert str(faults.Race("alone")) == "alone"


@pytest.mark.parametrize(
    "use", ["len(out)", "out[1:2]", "out.shape", "[x for x in out]", "bool(out)", "k(out)",
            "load_fresh(shared(1, np.int32), 0)", "print(1)"]
)  # fmt: skip
def test_operations_that_pointers_lack(use):
    fails(faults.NotOnDevice, f"\n@kernel\ndef k(out):\n    {use}\n", ints(3), seeds=[0])


def test_other_errors_keep_their_kind_and_get_a_note():
    with pytest.raises(IndexError) as caught:
        run("\n@kernel\ndef k(pair):\n    pair[thread()]\n", (1, 2))
    assert "in k," in caught.value.__notes__[0]


def test_shared_memory_that_was_never_written():
    text = """
@kernel
def k(out):
    seen = shared(64, np.int32)
    if thread() < {writers}:
        seen[thread()] = 1
    sync_block()
    out[me()] = seen[thread()]
"""
    fails(faults.UninitialisedShared, text.format(writers=63), ints(64), block=64)
    passes(text.format(writers=64), ints(64), block=64)
    atomic = "\n@kernel\ndef k():\n    cell = shared(1, np.int32)\n    {}(cell, 0, 1)\n"
    fails(faults.UninitialisedShared, atomic.format("atomic_add"))
    passes(atomic.format("atomic_exchange"))


PAIRS = {
    ("write", "write"): False, ("write", "read"): False, ("write", "atomic"): False,
    ("write", "fresh load"): False, ("write", "fresh store"): False, ("read", "read"): True,
    ("read", "atomic"): False, ("read", "fresh load"): True, ("read", "fresh store"): False,
    ("atomic", "atomic"): True, ("atomic", "fresh load"): True, ("atomic", "fresh store"): True,
    ("fresh load", "fresh load"): True, ("fresh load", "fresh store"): True,
    ("fresh store", "fresh store"): True,
}  # fmt: skip
ACCESS = {
    "write": "a[0] = 1", "read": "a[0]", "atomic": "atomic_max(a, 0, 1)",
    "fresh load": "load_fresh(a, 0)", "fresh store": "store_fresh(a, 0, 1)",
}  # fmt: skip


@pytest.mark.parametrize(("one", "two"), PAIRS)
@pytest.mark.parametrize("apart", ["lanes", "warps", "blocks"])
def test_races_of_two_accesses(one, two, apart):
    far = {"lanes": 1, "warps": 32, "blocks": 64}[apart]
    body = f"""
@kernel
def k(a):
    if me() == 0:
        {ACCESS[one]}
    if me() == {far}:
        {ACCESS[two]}
"""
    if PAIRS[one, two]:
        passes(body, ints(1), grid=2, block=64)
        return
    found = fails(faults.Race, body, ints(1), grid=2, block=64)
    assert "a[0]" in found.what
    # the other access is named with its thread and its line
    number = {0: 0, 1: far}[int((found.block * 64 + found.thread) == 0)]
    assert f"block {number // 64}, thread {number % 64} at <kernels" in found.what


CONFLICTS = [pair for pair in PAIRS if not PAIRS[pair]]


@pytest.mark.parametrize(("one", "two"), CONFLICTS + [(two, one) for one, two in CONFLICTS])
def test_a_barrier_orders_two_accesses(one, two):
    body = f"""
@kernel
def k(a):
    if thread() == 0:
        {ACCESS[one]}
    sync_block()
    if thread() == 32:
        {ACCESS[two]}
"""
    passes(body, ints(1), block=64)
    fails(faults.Race, body.replace("sync_block()", "sync_warp(FULL)"), ints(1), block=64)


EXCHANGE = """
@kernel
def k(a, out):
    a[thread()] = thread()
    {meeting}
    out[thread()] = a[thread() ^ 1]
"""


def test_only_sync_warp_orders_memory_among_warp_primitives():
    _, out = passes(EXCHANGE.format(meeting="sync_warp(FULL)"), ints(64), ints(64), block=64)
    assert np.array_equal(out, np.arange(64) ^ 1)
    pair = "sync_warp(3 << (lane() & ~1))"
    passes(EXCHANGE.format(meeting=pair), ints(64), ints(64), block=64)
    for meeting in ("pass", "ballot(FULL, True)", "shuffle(FULL, 1, 0)", "fence()"):
        fails(faults.Race, EXCHANGE.format(meeting=meeting), ints(64), ints(64), block=64)
    wrong = "sync_warp(0xFFFF if lane() < 16 else 0xFFFF0000)"
    fails(
        faults.Race, EXCHANGE.format(meeting=wrong).replace("^ 1", "^ 16"), ints(32), ints(32)
    )  # fmt: skip


def test_order_passes_on_through_others():
    body = """
@kernel
def k(a, flag, out):
    if me() == 0:
        a[0] = 42
    {first}
    if me() == 5:
        fence()
        atomic_exchange(flag, 0, 1)
    if block() == 1:
        if thread() == 0:
            while atomic_add(flag, 0, 0) == 0:
                pass
            fence()
        {second}
        out[thread()] = a[0]
"""
    args = ints(1), ints(1, "int32"), ints(64)
    options = {"grid": 2, "block": 64, "cooperative": True}
    right = {"first": "sync_block()", "second": "sync_block()"}
    _, _, out = passes(body.format(**right), *args, **options)
    assert set(out) == {42}
    for name in right:
        fails(faults.Race, body.format(**{**right, name: "pass"}), *args, **options)
    within = {"first": "sync_warp(FULL)", "second": "sync_warp(FULL)"}
    options["block"] = 32
    _, _, out = passes(body.format(**within), *args, **options)
    assert set(out[:32]) == {42}
    for name in within:
        fails(faults.Race, body.format(**{**within, name: "pass"}), *args, **options)


def test_fences_after_many_atomics():
    body = """
@kernel
def k(a, flags, out):
    a[me()] = me()
    fence()
    atomic_exchange(flags, me(), 1)
    for place in range(96):
        while atomic_add(flags, place, 0) == 0:
            pass
    {}
    for place in range(96):
        out[me()] += a[place]
"""
    options = {"grid": 3, "cooperative": True}
    run(body.format("fence()"), ints(96), ints(96, "int32"), ints(96), **options)
    with pytest.raises(faults.Race):
        run(body.format("pass"), ints(96), ints(96, "int32"), ints(96), **options)


def test_a_failed_swap_synchronises_nothing():
    body = """
@kernel
def k(a, flag):
    if me() == 0:
        a[0] = 1
        fence()
        atomic_compare_and_swap(flag, 0, {}, 1)
        store_fresh(flag, 1, 1)
    if me() == 32:
        while load_fresh(flag, 1) == 0:
            pass
        atomic_add(flag, 0, 0)
        fence()
        a[0]
"""
    options = {"grid": 2, "cooperative": True}
    passes(body.format(0), ints(1), ints(2, "uint32"), **options)
    fails(faults.Race, body.format(5), ints(1), ints(2, "uint32"), **options)


def test_a_racy_store_synchronises_nothing():
    body = """
@kernel
def k(a, flag):
    if thread() == 0:
        if block() == 0:
            a[0] = 1
            fence()
            atomic_exchange(flag, 0, 1)
        elif block() == 1:
            while load_fresh(flag, 0) != 1:
                pass
            {}
        else:
            while load_fresh(flag, 0) != 2:
                pass
            atomic_add(flag, 0, 0)
            fence()
            a[0]
"""
    options = {"grid": 3, "cooperative": True}
    passes(body.format("atomic_add(flag, 0, 1)"), ints(1), ints(1), **options)
    fails(faults.Race, body.format("store_fresh(flag, 0, 2)"), ints(1), ints(1), **options)


def test_a_view_shares_its_memory_for_races():
    base = ints(40)
    body = "\n@kernel\ndef k(a, b):\n    a[thread()] = 1\n    b[thread()] = 2\n"
    with pytest.raises(faults.Race):
        run(body, base[:32], base[8:])
    run(body, base[:32], base[:32])
    run("\n@kernel\ndef k(a, b):\n    a[me()] = 1\n", base[:32], base[32:])


def test_racy_stores_are_racy_by_declaration_only():
    passes("\n@kernel\ndef k(a):\n    store_fresh(a, 0, 1)\n", ints(1), grid=3)
    fails(faults.Race, "\n@kernel\ndef k(a):\n    a[0] = 1\n", ints(1), grid=3)


MISSING = {
    "has exited": "if lane() == 3:\n        return\n    ballot(FULL, True)",
    "have exited": (
        "if lane() < 16:\n        return\n    sync_warp(0xFFFF0000)\n    any_of(FULL, True)"
    ),
    "leaves later": "if lane() != 3:\n        ballot(FULL, True)",
    "another primitive": (
        "if lane() < 16:\n        ballot(FULL, True)\n    else:\n        any_of(FULL, True)"
    ),
    "another mask": (
        "if lane() < 16:\n        sync_warp(FULL)\n    else:\n        sync_warp(0xFFFF0001)"
    ),
    "another call site": (
        "if lane() < 16:\n        sync_warp(FULL)\n    else:\n        sync_warp(FULL)"
    ),
    "inlined twice": "if lane() < 16:\n        meet()\n    else:\n        meet()",
    "a barrier": "if lane() < 16:\n        sync_warp(FULL)\n    sync_block()",
    "a circle": (
        "if lane() == 0:\n        sync_warp(3)\n    elif lane() == 1:\n        sync_warp(6)\n"
        "    elif lane() == 2:\n        sync_warp(5)"
    ),
}


@pytest.mark.parametrize("body", MISSING.values(), ids=MISSING)
def test_missing_lanes(body):
    text = "\n@inline\ndef meet():\n    sync_warp(FULL)\n\n@kernel\ndef k():\n    "
    found = fails(faults.MissingLane, text + body + "\n")
    assert "mask" in found.what
    assert found.text.partition("(")[0] in ("any_of", "ballot", "meet", "sync_warp")


def test_lanes_that_are_there_after_all():
    body = """
@kernel
def k(out):
    mask = ballot(FULL, lane() < 16)
    if lane() < 16:
        out[thread()] = popc(ballot(mask, lane() % 2))
        sync_warp(mask)
    else:
        any_of(0xFFFF0000, True)
    out[thread()] += popc(ballot(FULL, True))
"""
    (out,) = passes(body, ints(32))
    assert list(out) == [40] * 16 + [32] * 16


@pytest.mark.parametrize("mask", ["1 << ((lane() + 1) & 31)", "0", "1.5", "True", "2 ** 33 - 1"])
def test_bad_masks(mask):
    fails(faults.BadMask, f"\n@kernel\ndef k():\n    ballot({mask}, True)\n")


DIVERGENT = {
    "two barriers": "if thread() < 32:\n        sync_block()\n    else:\n        sync_block()",
    "a branch within a warp": "if thread() < 16:\n        sync_block()",
    "one more": "if thread() < 32:\n        sync_block()\n    sync_block()",
    "block and grid": "if thread() < 32:\n        sync_block()\n    else:\n        sync_grid()",
    "grid left out": "if block() == 0:\n        sync_grid()",
    "two grids": "if block() == 0:\n        sync_grid()\n    else:\n        sync_grid()",
}


@pytest.mark.parametrize("body", DIVERGENT.values(), ids=DIVERGENT)
def test_divergent_barriers(body):
    options = {"grid": 2, "block": 64, "cooperative": True}
    fails(faults.DivergentBarrier, f"\n@kernel\ndef k():\n    {body}\n", **options)


def test_barriers_do_not_wait_for_warps_that_have_left():
    body = """
@kernel
def k(out):
    if thread() >= 64:
        return
    out[thread()] = 1
    sync_block()
    out[thread() ^ 32] += 1
"""
    (out,) = passes(body, ints(64), block=128)
    assert set(out) == {2}


def launch_ten_times(body):
    for seed in range(10):
        run(body, ints(1), grid=4, seed=seed)


def test_deadlocks():
    body = "\n@kernel\ndef k(a):\n    while {}(a, 0) == {}:\n        pass\n"
    found = fails(faults.Deadlock, body.format("load_fresh", 0), ints(1), seeds=[0])
    assert "while" in found.text or "pass" in found.text
    passes(body.format("load_fresh", 1), ints(1))
    # blocks of a launch that is not cooperative may come one after the other
    wait = """
@kernel
def k(counter):
    if thread() == 0:
        atomic_add(counter, 0, 1)
        while atomic_add(counter, 0, 0) < blocks():
            pass
"""
    with pytest.raises(faults.Deadlock):
        launch_ten_times(wait)
    passes(wait, ints(1), grid=4, cooperative=True)


def test_undefined_arithmetic():
    text = "\n@kernel\ndef k(n):\n    {}\n"
    fails(faults.UndefinedArithmetic, text.format("1 << (n + 64)"), 0)
    fails(faults.UndefinedArithmetic, text.format("np.int32(2.0 ** 31 + n)"), 0)
    passes(text.format("1 << (n + 63)"), 0)


def test_a_cached_load_may_be_behind_until_a_barrier():
    body = """
@kernel
def k(a, before, after):
    if thread() == 0:
        for _ in range(3):
            atomic_add(a, 0, 1)
    before[thread()] = load_cached(a, 0)
    sync_block()
    after[thread()] = load_cached(a, 0)
"""
    seen = set()
    for seed in range(40):
        counter, before, after = ints(1), ints(64), ints(64)
        run(body, counter, before, after, block=64, seed=seed)
        assert before[0] == 3  # a thread knows what it has done
        assert after.tolist() == [3] * 64
        seen |= set(before.tolist())
    assert seen == {0, 1, 2, 3}
