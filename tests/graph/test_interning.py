"""Codes of distinct values: against NumPy's own, over tables that grow, collide and are divided."""

from __future__ import annotations

import numba
import numpy as np
import pyarrow as pa
import pytest
from conftest import COMPILED
from numba.core.errors import TypingError

from cugraph_ws.errors import InputError
from cugraph_ws.graph import interning
from cugraph_ws.graph.adjacency import EdgeList
from cugraph_ws.graph.interning import (
    IntegerCoder,
    TextCoder,
    apply_ranks,
    blocks,
    sort_pairs,
    sort_texts,
)
from cugraph_ws.graph.numbering import number_integers, number_rows
from cugraph_ws.kernels.cpu import words

LIMITS = np.iinfo(np.int64)


@pytest.fixture(autouse=True, params=[1, 3])
def small(request, monkeypatch):
    """Make blocks and tables small, so that few rows make them grow; with one thread and several."""
    monkeypatch.setattr(interning, "BLOCK", 64)
    monkeypatch.setattr(interning, "_LEAST", 8)
    monkeypatch.setattr(interning, "_SORTED", 16)
    monkeypatch.setattr(interning, "_TIED", 4)
    monkeypatch.setattr(interning, "number_of_threads", lambda: request.param)


def numbers_of(coder, lengths):
    columns = [np.empty(length, np.int32) for length in lengths]
    for which, column in enumerate(columns):
        for low, high in blocks(len(column)):
            coder.write(which, low, column[low:high])
    values, ranks = coder.finish()
    for column in columns:
        apply_ranks(column, ranks)
    return values, columns


@pytest.mark.parametrize(
    "ids",
    [
        np.random.default_rng(0).integers(LIMITS.min, LIMITS.max, 300)[
            np.random.default_rng(1).integers(0, 300, 1000)
        ],
        np.arange(500, dtype=np.int64) << 40,  # of which only high bits differ
        np.arange(500, dtype=np.uint64) + np.uint64(2**63 - 250),
        np.array([LIMITS.min, LIMITS.max, 0, -1, LIMITS.min]),
        np.arange(400, dtype=np.int32) * 5_000_000,
        np.zeros(200, np.int64),
        np.repeat(np.arange(300) * 10**12, 2),  # sorted: no sample shows the rest
    ],
    ids=["random", "high bits", "unsigned", "limits", "narrow", "one", "sorted"],
)
def test_integers(ids):
    parts = [ids, ids[::-1][: len(ids) // 2], ids[:0]]
    values, columns = numbers_of(IntegerCoder(parts), [len(part) for part in parts])
    assert values.dtype == ids.dtype
    assert values.tolist() == np.unique(ids).tolist()
    for part, column in zip(parts, columns, strict=True):
        assert np.array_equal(values[column], part)


@pytest.mark.parametrize(
    "keys",
    [
        np.random.default_rng(0).integers(LIMITS.min, LIMITS.max, 1000),
        np.random.default_rng(1).integers(0, 40, 500),
        np.array([LIMITS.max, LIMITS.min] * 30),
        np.append(np.arange(300)[::-1], LIMITS.max),  # nearly all have the same leading digits
        np.zeros(100, np.int64),
        np.arange(0),
    ],
    ids=["random", "repeated", "limits", "uneven", "equal", "none"],
)
def test_pairs_are_sorted_in_place(keys):
    sorted_keys, codes = keys.copy(), np.arange(len(keys), dtype=np.int32)
    sort_pairs(sorted_keys, codes)
    assert np.array_equal(sorted_keys, np.sort(keys))
    assert np.array_equal(keys[codes], sorted_keys)
    assert np.array_equal(np.sort(codes), np.arange(len(keys)))


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.string_view()])
def test_text(kind):
    rng = np.random.default_rng(2)
    words = ["", "a", "aa", "ab", "ä", "x" * 400, *(f"v{one:07d}" for one in range(300))]
    chosen = [words[one] for one in rng.integers(0, len(words), 900)]
    if kind == pa.binary():
        chosen = [one.encode() for one in chosen]
    column = pa.chunked_array([pa.array(chosen[:70], kind), pa.array(chosen[70:], kind)])
    values, (numbers,) = numbers_of(TextCoder([column]), [900])
    assert values.to_pylist() == sorted(
        set(chosen), key=lambda one: one if kind == pa.binary() else one.encode()
    )
    assert values.take(pa.array(numbers)).to_pylist() == chosen


TEXTS = {
    "short": [b"", b"a", b"b", b"ab", b"a\0", b"a\0\0", b"\0", b"\xff", b"\x80", b"\x7f"],
    "one word": [b"%08d" % (7919 * one % 1000) for one in range(300)],
    "one beginning": [b"https://www.example.org/%d" % one for one in range(300)],
    "few beginnings": [b"https://host%d.org/a/path/%d" % (one % 9, one // 9) for one in range(200)],
    "zeros": [b"ab" + b"\0" * one for one in range(40)],
    "beginnings": [b"abcdefghijklmnopqrstuvwxyz"[:one] for one in range(27)],
    "alike": [b"x" * 100 + bytes([one]) + b"y" * one for one in range(30)],
    "none": [],
}


@pytest.mark.parametrize("texts", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("spare", [0, 8])
def test_texts_are_sorted_by_their_bytes(texts, dtype, spare):
    order = np.random.default_rng(7).permutation(len(texts))
    texts = [texts[one] for one in order]
    ends = np.cumsum([0, *map(len, texts)], dtype=dtype)
    known = np.frombuffer(bytearray(b"".join(texts) + b"z" * spare), np.uint8)
    assert [texts[one] for one in sort_texts(ends, known)] == sorted(texts)


@pytest.mark.parametrize("most", [500, 1500, 5000, 10**6])
def test_many_bytes_of_texts_are_counted_by_64_bits(most, monkeypatch):
    """In all parts together, or in one of them."""
    monkeypatch.setattr(interning, "_MOST_NARROW", most)
    chosen = [f"{one % 200:012d}" for one in range(500)]
    coder = TextCoder([pa.chunked_array([chosen])])
    values, (numbers,) = numbers_of(coder, [500])
    assert values.type == pa.large_string()
    assert values.to_pylist() == sorted(set(chosen))
    assert values.take(pa.array(numbers)).to_pylist() == chosen


def test_texts_at_the_end_of_their_buffer():
    """Where eight bytes cannot be read: no buffer of Arrow's ends so, but one of NumPy's may."""
    texts = np.frombuffer(b"abcabcdab", np.uint8)
    ends = pa.py_buffer(np.array([0, 3, 7, 9], np.int64))
    column = pa.Array.from_buffers(pa.large_string(), 3, [None, ends, pa.py_buffer(texts)])
    values, (numbers,) = numbers_of(TextCoder([pa.chunked_array([column])]), [3])
    assert values.to_pylist() == ["ab", "abc", "abcd"]
    assert numbers.tolist() == [1, 2, 0]


@numba.njit
def words_of(data, one, other):
    return words.load_word(data, 3), words.fold(one, other), words.reverse_bytes(one)


@pytest.mark.parametrize("one", [0, 1, -1, LIMITS.min, LIMITS.max, 0x0123456789ABCDEF])
def test_words_are_loaded_mixed_and_reversed(one):
    data = np.random.default_rng(8).integers(0, 256, 11).astype(np.uint8)
    factor = 0x5851F42D4C957F2D
    product = one % 2**64 * factor
    mixed = (product ^ product >> 64) % 2**64
    loaded, folded, reverse = words_of(data, one, factor)
    assert loaded == int(data[3:].view(np.int64)[0])
    assert folded % 2**64 == mixed
    assert reverse == int(np.int64(one).byteswap())
    assert (loaded, folded, reverse) == (
        words.plain_load_word(data, 3),
        words.plain_fold(one, factor),
        words.plain_reverse_bytes(one),
    )


@pytest.mark.skipif(not COMPILED, reason="plain Python reads any array")
def test_words_are_of_bytes():
    with pytest.raises(TypingError):
        words_of(np.zeros(20, np.int32), 1, 1)


def test_texts_of_equal_hash_are_distinguished(monkeypatch):
    def all_alike(ends, data, hashes, low, high):
        hashes[low:high] = 7

    monkeypatch.setattr(interning, "hash_text", all_alike)
    chosen = [f"{one:05d}"[: 1 + one % 5] for one in range(100)] * 2
    values, (numbers,) = numbers_of(TextCoder([pa.chunked_array([pa.array(chosen)])]), [200])
    assert values.take(pa.array(numbers)).to_pylist() == chosen


@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.uint32(), pa.int64()])
def test_values_of_dictionaries_count_where_rows_have_them(kind):
    first = pa.DictionaryArray.from_arrays(
        pa.array([1, 1, 3], kind), pa.array(["z", "b", "y", "a"])
    )
    second = pa.DictionaryArray.from_arrays(pa.array([0, 1], kind), pa.array(["b", "c"]))
    column = pa.chunked_array(
        [first, pa.DictionaryArray.from_arrays(second.indices, second.dictionary)]
    )
    values, (numbers,) = numbers_of(TextCoder([column]), [5])
    assert values.to_pylist() == ["a", "b", "c"]
    assert numbers.tolist() == [1, 1, 0, 1, 2]


def test_more_codes_than_can_be_counted_are_refused(monkeypatch):
    monkeypatch.setattr(interning, "_MOST_CODES", 50)
    with pytest.raises(InputError, match=r"more than 25 distinct ids.* number them 0 … n-1 first"):
        number_integers([np.arange(100) << 40], dense_up_to=10)


@pytest.mark.parametrize("dense", [0, 10**6])
@pytest.mark.parametrize("first", ["integers", "text", "sparse"])
@pytest.mark.parametrize("last", ["integers", "text", "sparse"])
def test_pairs_of_every_kind(first, last, dense):
    rng = np.random.default_rng(3)
    heads, tails = rng.integers(0, 30, (2, 2, 400))

    def as_ids(numbers, kind):
        if kind == "integers":
            return [one + 5 for one in numbers]
        if kind == "sparse":
            return [one * 10**15 - 10**16 for one in numbers]
        return [pa.chunked_array([pa.array([f"{x:03d}" for x in one])]) for one in numbers]

    parts = [as_ids(heads, first), as_ids(tails, last)]
    numbered = number_rows(parts, dense_up_to=dense)
    pairs = sorted({*zip(heads.ravel().tolist(), tails.ravel().tolist(), strict=True)})
    assert numbered.numbering.size == len(pairs)
    for which in range(2):
        told = numbered.numbers(which)
        assert [pairs[one] for one in told] == list(zip(heads[which], tails[which], strict=True))
        wanted = [part[which] for part in parts]
        assert numbered.numbering.encode(wanted).tolist() == told.tolist()


def test_three_parts():
    rng = np.random.default_rng(4)
    parts = [[one * 10**14 for one in rng.integers(0, 6, (2, 300))] for _ in range(3)]
    numbered = number_rows(parts, dense_up_to=0)
    rows = [list(zip(*(part[which].tolist() for part in parts), strict=True)) for which in (0, 1)]
    known = sorted({*rows[0], *rows[1]})
    for which in range(2):
        assert [known[one] for one in numbered.numbers(which)] == rows[which]


@pytest.mark.parametrize("vertices", [1, 7, 500])
def test_edges_that_may_be_overwritten_are_released_and_grouped_equally(vertices, monkeypatch):
    from cugraph_ws.graph import adjacency

    monkeypatch.setattr(adjacency, "_EDGES_A_THREAD", 100)
    monkeypatch.setattr(adjacency, "number_of_threads", lambda: 3)
    rng = np.random.default_rng(5)
    ends = rng.integers(0, vertices, (2, 3000)).astype(np.int32)
    no_table = np.empty(0, np.int32)
    kept, _ = EdgeList(*ends, 0, no_table, vertices).rows_of_sources([], both=False)
    given = EdgeList(ends[0].copy(), ends[1].copy(), 0, no_table, vertices, own=True)
    base, _ = given.rows_of_sources([], both=False)
    assert np.array_equal(base.offsets, kept.offsets)
    assert np.array_equal(base.indices, kept.indices)
    assert len(given.sources) == len(given.destinations) == 0
