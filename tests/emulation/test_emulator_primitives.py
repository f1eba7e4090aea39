"""Every primitive of the emulator against its definition in the CUDA programming guide."""

from __future__ import annotations

import numpy as np
import pytest
from emulator import faults
from emulator.planted import SEEDS, fails, ints, passes, run

# ---------------------------------------------------------------------------- warp primitives


def lanes_give(expression, kind="int64", mask=0xFFFFFFFF):
    """Return what an expression gives each lane; lanes outside of the mask leave -1."""
    body = f"""
@kernel
def k(out, mask):
    if (mask >> lane()) & 1:
        out[thread()] = {expression}
"""
    out = np.full(32, -1, kind)
    run(body, out, mask)
    return list(out)


def test_shuffle_takes_a_lane_modulo_32():
    assert lanes_give("shuffle(FULL, thread() * 3, 5)") == [15] * 32
    assert lanes_give("shuffle(FULL, thread(), lane() + 1)") == [(i + 1) % 32 for i in range(32)]
    assert lanes_give("shuffle(FULL, thread(), -1)") == [31] * 32


@pytest.mark.parametrize("distance", [0, 1, 4, 31])
def test_shuffle_up_and_down_leave_the_ends_as_they_are(distance):
    up = [i - distance if i >= distance else i for i in range(32)]
    down = [i + distance if i + distance < 32 else i for i in range(32)]
    assert lanes_give(f"shuffle_up(FULL, thread(), {distance})") == up
    assert lanes_give(f"shuffle_down(FULL, thread(), {distance})") == down


@pytest.mark.parametrize("bits", [1, 2, 16, 31])
def test_shuffle_xor(bits):
    assert lanes_give(f"shuffle_xor(FULL, thread(), {bits})") == [i ^ bits for i in range(32)]


def test_votes():
    odd = sum(1 << i for i in range(1, 32, 2))
    assert lanes_give("ballot(FULL, thread() % 2)") == [odd] * 32
    assert lanes_give("any_of(FULL, thread() == 9)") == [1] * 32
    assert lanes_give("any_of(FULL, thread() == 32)") == [0] * 32
    assert lanes_give("all_of(FULL, thread() < 32)") == [1] * 32
    assert lanes_give("all_of(FULL, thread() < 31)") == [0] * 32


def test_votes_of_some_lanes_know_only_theirs():
    some = 0b1011
    outside = [-1] * 28
    assert lanes_give("ballot(mask, True)", mask=some) == [11, 11, -1, 11, *outside]
    assert lanes_give("all_of(mask, thread() != 2)", mask=some) == [1, 1, -1, 1, *outside]
    assert lanes_give("shuffle(mask, thread(), 3)", mask=some) == [3, 3, -1, 3, *outside]


def test_match():
    groups = lanes_give("match(FULL, thread() % 3)")
    assert groups == [sum(1 << j for j in range(32) if j % 3 == i % 3) for i in range(32)]
    # by bits: 0.0 is not -0.0, and a NaN is like itself
    floats = lanes_give("match(FULL, (0.0, -0.0, np.nan, 1.0)[thread() % 4])")
    assert floats == [sum(1 << j for j in range(32) if j % 4 == i % 4) for i in range(32)]


def test_a_shuffle_from_a_lane_that_gives_nothing_gives_anything():
    values = [lanes_give("shuffle(mask, thread(), 9)", mask=1)[0] for _ in range(1)]
    assert values[0] not in range(32)
    assert np.isnan(lanes_give("shuffle(mask, 1.0, 9)", kind="float64", mask=1)[0])


def test_a_shuffle_keeps_the_type_of_its_value():
    body = """
@kernel
def k(out, single, whole):
    out[0][thread()] = shuffle(FULL, single, 0) / np.float32(3)
    out[1][thread()] = shuffle(FULL, np.uint32(whole), 0) - np.uint32(1)
    mixed = np.int32(1) if thread() < 16 else 2.5
    out[2][thread()] = shuffle_xor(FULL, mixed, 16)
"""
    out = tuple(ints(32, "float64") for _ in range(3))
    run(body, out, np.float32(1), 0)
    assert set(out[0]) == {float(np.float32(1) / np.float32(3))}
    assert set(out[1]) == {2.0**64}
    assert list(out[2]) == [2.5] * 16 + [1.0] * 16
    fails(faults.NotOnDevice, "\n@kernel\ndef k():\n    shuffle(FULL, True, 0)\n")


@pytest.mark.parametrize("word", [0, 1, 0x80000000, 0xFFFFFFFF, 0b1011000, -1, 2**32])
def test_bits_of_a_word(word):
    bits = f"{word & 0xFFFFFFFF:032b}"
    assert lanes_give(f"popc({word})")[0] == bits.count("1")
    assert lanes_give(f"ffs({word})")[0] == (32 - bits.rindex("1") if "1" in bits else 0)
    assert lanes_give(f"clz({word})")[0] == (bits.index("1") if "1" in bits else 32)


SCAN = """
@inline
def sum_below(value):
    distance = 1
    while distance < 32:
        other = shuffle_up(FULL, value, distance)
        if lane() >= distance:
            value += other
        distance *= 2
    return value

@jit
def sum_of_all(value):
    for step in range(5):
        value += shuffle_xor(FULL, value, 16 >> step)
    return value

@kernel
def k(values, sums, totals):
    sums[me()] = sum_below(values[me()])
    totals[me()] = sum_of_all(values[me()])
"""


def test_warp_reduction_and_scan():
    values = np.random.default_rng(1).integers(-99, 99, 192)
    _, sums, totals = passes(SCAN, values, ints(192), ints(192), grid=3, block=64)
    rows = values.reshape(-1, 32)
    assert np.array_equal(sums, rows.cumsum(axis=1).ravel())
    assert np.array_equal(totals, rows.sum(axis=1).repeat(32))


# ------------------------------------------------------------------------------------ atomics


@pytest.mark.parametrize("kind", ["int32", "uint32", "int64", "uint64"])
def test_atomics_of_integers(kind):
    body = """
@kernel
def k(out, olds):
    olds[me()] = atomic_add(out, 0, 1)
    atomic_min(out, 1, me())
    atomic_max(out, 2, me())
    atomic_or(out, 3, 1 << (me() & 7))
    atomic_and(out, 4, ~(1 << (me() & 3)))
"""
    out = np.array([5, 100, 0, 256, 255], kind)
    for seed in SEEDS:
        fresh, olds = out.copy(), ints(64, kind)
        run(body, fresh, olds, grid=2, seed=seed)
        assert list(fresh) == [69, 0, 63, 511, 240]
        assert sorted(olds) == list(range(5, 69))


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_atomic_add_of_floats(kind):
    out = ints(1, kind)
    run("\n@kernel\ndef k(out):\n    atomic_add(out, 0, 0.5)\n", out, grid=3)
    assert out[0] == 48
    for name in ("atomic_min", "atomic_exchange"):
        fails(faults.NotOnDevice, f"\n@kernel\ndef k(out):\n    {name}(out, 0, 1)\n", out)
    body = "\n@kernel\ndef k(out):\n    atomic_compare_and_swap(out, 0, 1, 2)\n"
    fails(faults.NotOnDevice, body, np.zeros(1, np.uint8))


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_floats_are_swapped_by_their_bits(kind):
    body = """
@kernel
def k(out, found):
    if thread() == 0:
        found[0] = atomic_compare_and_swap(out, 0, 0.0, 1.5)
        found[1] = atomic_compare_and_swap(out, 1, 0.0, 1.5)
        found[2] = atomic_compare_and_swap(out, 2, out[2], 1.5)
"""
    out, found = np.array([0.0, -0.0, np.nan], kind), ints(3, kind)
    run(body, out, found)
    assert list(out) == [1.5, 0.0, 1.5]
    assert np.signbit(out[1])
    assert np.array_equal(found, [0.0, -0.0, np.nan], equal_nan=True)


def test_exchange_and_compare_and_swap():
    body = """
@kernel
def k(out, olds):
    olds[thread()] = atomic_exchange(out, 0, thread())
    if atomic_compare_and_swap(out, 1, 0, thread() + 1) == 0:
        atomic_add(out, 2, 1)
"""
    for seed in SEEDS:
        out, olds = np.array([-1, 0, 0]), ints(32)
        run(body, out, olds, seed=seed)
        assert sorted([*olds, out[0]]) == [-1, *range(32)]
        assert 1 <= out[1] <= 32
        assert out[2] == 1


LOCK = """
@kernel
def k(lock, out):
    done = False
    while not done:
        if atomic_compare_and_swap(lock, 0, 0, 1) == 0:
            {acquire}
            out[0] += 1
            {release}
            atomic_exchange(lock, 0, 0)
            done = True
"""


def test_a_lock_needs_both_fences():
    lock = ints(1, "int32")
    _, out = passes(LOCK.format(acquire="fence()", release="fence()"), lock, ints(1), grid=2)
    assert out[0] == 64
    fails(faults.Race, LOCK.format(acquire="pass", release="fence()"), lock, ints(1), grid=2)
    fails(faults.Race, LOCK.format(acquire="fence()", release="pass"), lock, ints(1), grid=2)


# ------------------------------------------------------------------------- blocks and grids

BLOCK_SUM = """
@kernel
def k(values, n, out):
    parts = shared(256, np.float64)
    total = 0.0
    for place in range(me(), n, blocks() * threads()):
        total += values[place]
    parts[thread()] = total
    {barrier}
    half = threads() // 2
    while half > 0:
        if thread() < half:
            parts[thread()] += parts[thread() + half]
        {barrier}
        half //= 2
    if thread() == 0:
        out[block()] = parts[0]
"""


@pytest.mark.parametrize(("grid", "block", "n"), [(1, 32, 7), (3, 64, 1000), (2, 256, 513)])
def test_block_reduction_in_shared_memory(grid, block, n):
    values = np.arange(n, dtype="float32")
    body = BLOCK_SUM.format(barrier="sync_block()")
    _, _, out = passes(body, values, n, ints(grid, "float64"), grid=grid, block=block)
    assert out.sum() == values.sum(dtype="float64")
    fault = (faults.Race, faults.UninitialisedShared)
    with pytest.raises(fault):
        run(BLOCK_SUM.format(barrier="pass"), values, n, out, grid=grid, block=block)


def test_shared_memory_is_one_array_a_block_and_place():
    body = """
@inline
def kept(value):
    place = shared(2, np.int32)
    if thread() == 0:
        place[0] = value
    sync_block()
    return place[0]

@kernel
def k(out):
    other = shared(1, np.bool_)
    if thread() == 32:
        other[0] = True
    out[me()] = kept(block() + 7) + other[0]
"""
    (out,) = passes(body, ints(192), grid=3, block=64)
    assert np.array_equal(out, np.arange(192) // 64 + 8)


def test_too_much_shared_memory():
    text = "\n@kernel\ndef k():\n    shared({}, np.float64)\n"
    run(text.format(6144))
    fails(faults.NotOnDevice, text.format(6145))
    fails(faults.NotOnDevice, text.format(0))
    fails(faults.NotOnDevice, text.format("1 + thread()"))


DYNAMIC = """
@kernel
def k(out):
    wide = dynamic_shared(0, 32, np.float64)
    narrow = dynamic_shared({}, {}, np.uint16)
    wide[lane()] = 0.5 * lane()
    narrow[thread()] = 70000 + block()
    sync_block()
    out[me()] = wide[31 - lane()] + narrow[thread() ^ 1]
"""


def test_shared_memory_that_the_launch_asks_for():
    (out,) = passes(DYNAMIC.format(256, 32), ints(64, "float64"), grid=2, block=32, shared=320)
    assert np.array_equal(out, 0.5 * (31 - np.arange(64) % 32) + 4464 + np.arange(64) // 32)
    for start, size in ((248, 32), (257, 31), (256, 33), (256, 0)):  # overlaps, unaligned, too much
        fails(faults.NotOnDevice, DYNAMIC.format(start, size), ints(64, "float64"), grid=2, block=32,
              shared=320)  # fmt: skip


LAST_BLOCK = """
@kernel
def k(parts, counter, out):
    last = shared(1, np.int32)
    if thread() == 0:
        parts[block()] = block() + 1
        {publish}
        last[0] = atomic_add(counter, 0, 1) == blocks() - 1
        {learn}
    sync_block()
    if last[0] and thread() == 5:
        total = 0
        for place in range(blocks()):
            total += parts[place]
        out[0] = total
"""


def test_the_last_block_sums_up():
    args = ints(5), ints(1, "int32"), ints(1)
    _, _, out = passes(
        LAST_BLOCK.format(publish="fence()", learn="fence()"), *args, grid=5, block=64
    )
    assert out[0] == 15
    fails(faults.Race, LAST_BLOCK.format(publish="pass", learn="fence()"), *args, grid=5)
    found = fails(faults.Race, LAST_BLOCK.format(publish="fence()", learn="pass"), *args, grid=5)
    assert "parts[" in found.what


TWO_PHASES = """
@kernel
def k(values, sums, rounds):
    for turn in range(rounds):
        sums[me()] = values[me()] + values[(me() + 1) % (blocks() * threads())]
        {barrier}
        values[me()] = sums[me()]
        {barrier}
"""


def test_a_cooperative_kernel_of_two_phases():
    body = TWO_PHASES.format(barrier="sync_grid()")
    options = {"grid": 3, "block": 64, "cooperative": True}
    values, _, _ = passes(body, np.arange(192), ints(192), 3, **options)
    expected = np.arange(192)
    for _ in range(3):
        expected = expected + np.roll(expected, -1)
    assert np.array_equal(values, expected)
    fails(
        faults.Race, TWO_PHASES.format(barrier="sync_block()"), values, values.copy(), 3, **options
    )
    fails(faults.NotCooperative, body, values, values.copy(), 3, grid=3)
