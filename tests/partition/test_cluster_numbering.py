"""Ids numbered on several ranks, each with a part of the ids: the numbers that one rank would give."""

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from emulator.device import emulated
from hypothesis import given, settings
from hypothesis import strategies as st
from thread_ranks import on_ranks
from whole import Strict

from cugraph_ws.backends.cuda.shard_vertices import _OwnIds
from cugraph_ws.errors import InputError
from cugraph_ws.frames.base import open_values
from cugraph_ws.frames.ids import IdType, read_ids
from cugraph_ws.graph.numbering import number_rows
from cugraph_ws.partition import id_encoding
from cugraph_ws.partition.id_encoding import agree_on_type, pack_dtype, unpack_dtype
from cugraph_ws.partition.identities import send_ids_to_owners
from cugraph_ws.partition.numbering import number_partitioned_rows
from cugraph_ws.runtime.communicator import SingleRank, attempt, in_order

SIZES = [1, 2, 3, 5]
TYPES = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint32, np.uint64]


def form_of(values):
    if isinstance(values, np.ndarray):
        return values.dtype
    binary = pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type)
    return pa.large_binary() if binary else pa.large_string()


def slices(values, cuts):
    return [values[a:b] for a, b in itertools.pairwise(cuts)]


def check(size, parts, cuts, *, dense=1 << 10, owners=None):
    """Number rows that are cut among ranks, agree on their ids, and look them up again."""
    alone = number_rows([[part] for part in parts], dense_up_to=dense)
    ranks = alone.numbers(0).tolist()
    n = alone.numbering.size
    everything = [part.to_pylist() for part in alone.numbering.decode(np.arange(n))]
    owners = np.array(owners or [n * rank // size for rank in range(size + 1)], np.int64)

    def on_rank(comm):
        own = [[slices(part, cuts)[comm.rank]] for part in parts]
        forms = [form_of(part) for part in parts]
        comm = Strict(comm)
        numbered = number_partitioned_rows(comm, own, forms, dense_up_to=dense)
        numbering = send_ids_to_owners(comm, numbered.ids, owners)
        asked = [slices(part, cuts)[(comm.rank + 1) % size] for part in parts]
        wanted = np.array([n - 1, -1, 0, n // 2] if n else [-1])[comm.rank % 2 :]
        return {
            "numbers": numbered.columns[0].tolist(),
            "size": (numbered.ids.size, numbering.size),
            "renumbered": numbering.renumbered,
            "encoded": numbering.encode(asked).tolist(),
            "same": numbering.encode_same(parts).tolist(),
            "wanted": wanted.tolist(),
            "decoded": [part.to_pylist() for part in numbering.decode(wanted)],
            "own": [
                part.to_pylist()
                for part in numbering.own(np.arange(owners[comm.rank + 1] - owners[comm.rank]))
            ],
            "bytes": numbering.nbytes,
        }

    told = on_ranks(size, on_rank)
    assert [number for one in told for number in one["numbers"]] == ranks
    for which, one in enumerate(told):
        assert one["size"] == (n, n)
        assert one["renumbered"] == alone.numbering.renumbered
        nexts = slices(ranks, cuts)[(which + 1) % size]
        assert one["encoded"] == nexts
        assert one["same"] == ranks
        for part, ids in zip(one["decoded"], everything, strict=True):
            assert part == [None if number < 0 else ids[number] for number in one["wanted"]]
        for part, ids in zip(one["own"], everything, strict=True):
            assert part == ids[owners[which] : owners[which + 1]]
    return told, alone


@st.composite
def cut_rows(draw, rows):
    size = draw(st.sampled_from(SIZES))
    inner = sorted(draw(st.lists(st.integers(0, rows), min_size=size - 1, max_size=size - 1)))
    return size, [0, *inner, rows]


@settings(deadline=None, max_examples=60)
@given(data=st.data(), dtype=st.sampled_from(TYPES), dense=st.sampled_from([0, 50, 1 << 17]))
def test_integers_of_every_type_and_range(data, dtype, dense):
    limits = np.iinfo(dtype)
    low = data.draw(st.integers(limits.min, limits.max - 60))
    one = data.draw(
        st.sampled_from([st.integers(low, low + 60), st.integers(limits.min, limits.max)])
    )
    values = np.array(data.draw(st.lists(one, max_size=25)), dtype)
    size, cuts = data.draw(cut_rows(len(values)))
    check(size, [values], cuts, dense=dense)


@settings(deadline=None, max_examples=40)
@given(data=st.data(), form=st.sampled_from(["string", "large_string", "string_view", "binary"]))
def test_text_ranks_by_code_point(data, form):
    texts = data.draw(st.lists(st.text(max_size=3), max_size=25))
    values = pa.chunked_array([pa.array(texts, pa.string()).cast(getattr(pa, form)())])
    size, cuts = data.draw(cut_rows(len(values)))
    check(size, [values], cuts)


@settings(deadline=None, max_examples=40)
@given(data=st.data(), dense=st.sampled_from([0, 1 << 10]))
def test_several_parts_rank_lexicographically(data, dense):
    part = st.tuples(st.integers(-3, 3), st.text("ab", max_size=2), st.integers(0, 2))
    rows = data.draw(st.lists(part, max_size=20))
    kinds = [pa.int64(), pa.string(), pa.uint8()]
    columns = [
        pa.chunked_array([pa.array([row[which] for row in rows], kind)])
        for which, kind in enumerate(kinds)
    ]
    parts = [columns[0].to_numpy(), columns[1], columns[2].to_numpy()]
    parts = parts[: data.draw(st.integers(2, 3))]
    size, cuts = data.draw(cut_rows(len(rows)))
    check(size, parts, cuts, dense=dense)


def test_dictionaries_are_numbered_by_their_values():
    values = pa.chunked_array([pa.array(["b", "a", "b", "c"]).dictionary_encode()])
    check(3, [values], [0, 1, 2, 4])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("ids", "dense", "renumbered"),
    [
        ([0, 2, 1, 0], 100, "no"),
        ([1, 3, 2, 1], 100, "compacted"),
        ([0, 99, 7, 0], 100, "compacted"),
        ([0, 100, 7, 0], 100, "sorted"),
        ([2**63, 5, 2**63 + 1, 5], 100, "sorted"),
    ],
)
def test_which_way_is_taken(size, ids, dense, renumbered):
    values = np.array(ids, np.uint64 if max(ids) > 2**62 else np.int64)
    told, _ = check(size, [values], np.linspace(0, 4, size + 1).astype(int).tolist(), dense=dense)
    assert told[0]["renumbered"] == renumbered
    assert (sum(one["bytes"] for one in told) == 0) == (renumbered == "no")


@pytest.mark.parametrize("owners", [[0, 0, 40, 40], [0, 40, 40, 40], [0, 0, 0, 40], [0, 1, 2, 40]])
@pytest.mark.parametrize("parts", [1, 2])
def test_any_cuts(owners, parts):
    rng = np.random.default_rng(4)
    values = rng.permutation(np.repeat(np.arange(40) * 10**9, 2))
    columns = [values] if parts == 1 else [np.zeros(80, np.int64), values]
    check(3, columns, [0, 10, 10, 80], owners=owners)


def test_each_rank_keeps_its_part_of_the_ids():
    rng = np.random.default_rng(5)
    for ids in (rng.integers(0, 2**60, 8000), rng.integers(0, 10, 8000)):
        told, alone = check(4, [ids], [0, 2000, 4000, 6000, 8000], dense=0)
        share = alone.numbering.nbytes / 4
        assert all(abs(one["bytes"] - share) <= 8 for one in told)
    texts = pa.chunked_array([pa.array([f"{one:04}" for one in rng.permutation(8000)])])
    told, alone = check(4, [texts], [0, 2000, 4000, 6000, 8000])
    assert all(one["bytes"] < 1.02 * alone.numbering.nbytes / 4 for one in told)


def test_ranges_drawn_from_samples_are_of_like_size():
    """Skewed ids, of which one rank has most, still spread over all."""
    rng = np.random.default_rng(6)
    ids = (rng.lognormal(20, 5, 40_000) % 2**60).astype(np.int64)

    def on_rank(comm):
        own = ids[:39_000] if comm.rank == 0 else ids[39_000:] if comm.rank == 1 else ids[:0]
        shelf = number_partitioned_rows(comm, [[own]], [np.dtype(np.int64)], dense_up_to=0).ids
        return np.diff(shelf.cuts)

    for counts in on_ranks(4, on_rank):
        assert counts.sum() == len(np.unique(ids))
        assert counts.max() < 1.1 * counts.mean()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("ids", [[0, 1, 2], [4, 6, 9], [0, 6, 100]])
def test_unknown_integers_of_any_other_type(ids, dtype):
    values = np.array(ids, dtype)

    def on_rank(comm):
        own = values if comm.rank == 1 else values[:0]
        numbered = number_partitioned_rows(comm, [[own]], [values.dtype], dense_up_to=20)
        numbering = send_ids_to_owners(comm, numbered.ids, np.array([0, 1, 1, 3]))
        found = []
        for other in TYPES:
            limits = np.iinfo(other)
            wanted = np.array([limits.min, limits.max, 5, 3, *ids], other)
            found.append((wanted.tolist(), numbering.encode([wanted]).tolist()))
            assert numbering.encode_same([wanted]).tolist() == found[-1][1]
        return found

    for found in on_ranks(3, on_rank):
        for wanted, numbers in found:
            assert numbers == [ids.index(one) if one in ids else -1 for one in wanted]


def test_unknown_text_and_pairs():
    texts = pa.chunked_array([["b", "d", "d"]])
    numbers = np.array([5, 1, 7])

    def on_rank(comm):
        own = [[texts], [numbers]] if comm.rank == 0 else [[], []]
        numbered = number_partitioned_rows(
            comm, own, [pa.large_string(), np.dtype(np.int64)], dense_up_to=20
        )
        numbering = send_ids_to_owners(comm, numbered.ids, np.array([0, 1, 3]))
        asked = [("a", 5), ("b", 5), ("b", 6), ("b", 4), ("d", 0), ("d", 7), ("d", 9), ("e", 1)]
        asked = asked if comm.rank else asked[:2]
        columns = [pa.chunked_array([[one for one, _ in asked]]), np.array([b for _, b in asked])]
        same = [columns[0].slice(0, 2), columns[1][:2]]
        assert numbering.encode_same(same).tolist() == [-1, 0]
        return numbering.encode(columns).tolist()

    assert on_ranks(2, on_rank) == [[-1, 0], [-1, 0, -1, -1, -1, 2, -1, -1]]


@pytest.mark.parametrize("dtype", TYPES)
def test_ids_on_a_gpu(dtype):
    limits = np.iinfo(dtype)
    ids = np.array(sorted({limits.min, 3, 5, 6, limits.max}), dtype)
    with emulated() as here:
        own = _OwnIds(ids[1:-1].copy())
        assert own.encode([np.array([3, 4, 6, 5, 3], dtype)]).tolist() == [0, -1, 2, 1, 0]
        asked = here.downloads
        assert own.encode([np.array([limits.min, 2, 7, limits.max], dtype)]).tolist() == [-1] * 4
        assert here.downloads == asked, "what cannot be here is not looked for"
        every = _OwnIds(ids)
        assert every.encode([ids[::-1].copy()]).tolist() == list(range(len(ids)))[::-1]
        for other in TYPES:
            extremes = np.array([np.iinfo(other).min, 5, np.iinfo(other).max], other)
            known = ids.tolist()
            expected = [known.index(one) if one in known else -1 for one in extremes.tolist()]
            assert every.encode([extremes]).tolist() == expected
        assert _OwnIds(ids[:0]).encode([ids]).tolist() == [-1] * len(ids)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kept", [1, 3, 4, 100])
def test_an_id_alone_is_looked_for_by_the_host(dtype, kept, monkeypatch):
    """Between the ids that it keeps, whatever their distance."""
    monkeypatch.setattr("cugraph_ws.backends.cuda.numbered_ids.KEPT_IDS", kept)
    limits = np.iinfo(dtype)
    ids = np.array(sorted({limits.min, 3, 5, 6, 9, 10, limits.max}), dtype)
    with emulated():
        for held in (ids, ids[1:-1].copy(), ids[:1]):
            numbers = {one: number for number, one in enumerate(held.tolist())}
            own = _OwnIds(held)
            for wanted in {*range(12), limits.min, limits.min + 1, limits.max - 1, limits.max}:
                asked = np.array([wanted], dtype)
                assert own.encode([asked]).tolist() == [numbers.get(wanted, -1)]
                assert own.encode([asked.repeat(2)]).tolist() == [numbers.get(wanted, -1)] * 2


def test_too_many_pairs(monkeypatch):
    monkeypatch.setattr("cugraph_ws.graph.numbering._INT64_MAX", 3)

    def on_rank(comm):
        own = np.arange(2) + comm.rank
        with pytest.raises(InputError, match=r"3 times 3 combinations.*into one of strings"):
            number_partitioned_rows(comm, [[own], [own]], [own.dtype] * 2, dense_up_to=20)

    on_ranks(2, on_rank)


@pytest.mark.parametrize("form", [np.dtype(np.int64), pa.large_string(), pa.large_binary()])
def test_no_ids(form):
    def on_rank(comm):
        ids = number_partitioned_rows(comm, [[]], [form], dense_up_to=20).ids
        numbering = send_ids_to_owners(comm, ids, np.zeros(3, np.int64))
        asked = np.array([1]) if isinstance(form, np.dtype) else pa.chunked_array([["a"]])
        return (
            numbering.size,
            numbering.encode([asked]).tolist(),
            numbering.encode_same([asked]).tolist(),
            numbering.decode(np.array([-1]))[0].to_pylist(),
        )

    assert on_ranks(2, on_rank) == [(0, [-1], [-1], [None])] * 2


def test_alone():
    values = np.array([7, 3, 7])
    numbered = number_partitioned_rows(SingleRank(), [[values]], [values.dtype], dense_up_to=0)
    assert numbered.columns[0].tolist() == [1, 0, 1]


# what travels


@pytest.mark.parametrize("form", [pa.large_string(), pa.large_binary()])
def test_text_travels(form):
    values = pa.array(["", "äö", "x" * 100, ""]).cast(pa.binary()).cast(form)
    for some in (values, values[1:3], values[:0], values[3:]):
        arrays = id_encoding.pack(some)
        assert all(isinstance(one, np.ndarray) for one in arrays)
        assert arrays[0][0] == 0
        assert sum(one.nbytes for one in arrays) <= 8 * (len(some) + 1) + 104
        assert id_encoding.unpack(arrays, form).equals(some)
    joined = id_encoding.join([values, values[:0], values[1:2]], form)
    assert joined.to_pylist() == [*values.to_pylist(), *values[1:2].to_pylist()]


@pytest.mark.parametrize("values", [["a", "b", "b", "ab"], [b"\xff", b"", b"\x00"]])
def test_places_of_splitters(values):
    ordered = sorted(one.encode() if isinstance(one, str) else one for one in values)
    array = pa.array(ordered, pa.large_binary())
    for splitter in [b"", b"a", b"aa", b"b", b"\xff", b"\xff\xff"]:
        place = id_encoding.bounds(array, [splitter])[0]
        assert all(one < splitter for one in ordered[:place])
        assert all(one >= splitter for one in ordered[place:])
        greater, equal = id_encoding.compare(array, splitter)
        assert greater.tolist() == [one > splitter for one in ordered]
        assert equal.tolist() == [one == splitter for one in ordered]


DTYPES = [
    None,
    np.dtype("int8"),
    np.dtype(object),
    np.dtype("datetime64[ms]"),
    pd.Int32Dtype(),
    pd.StringDtype(),
    pd.Series(["a"]).dtype,
    pd.DatetimeTZDtype("ns", "Europe/Berlin"),
    pd.ArrowDtype(pa.timestamp("us", "UTC")),
    pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string())),
    pd.CategoricalDtype(["b", "a"]),
    pd.CategoricalDtype(["b", "a"], ordered=True),
    pd.CategoricalDtype([3, 1]),
    pd.CategoricalDtype(pd.to_datetime(["2024-01-02", "2024-01-01"])),
    pa.dictionary(pa.int8(), pa.large_string(), ordered=True),
    pa.date32(),
    pl.UInt8(),
    pl.Datetime("us", "UTC"),
    pl.Enum(["b", "a"]),
    pl.Categorical(),
    pl.String(),
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtypes_travel_as_text_and_bytes(dtype):
    def plain(value):
        if isinstance(value, list):
            return all(map(plain, value))
        return value is None or isinstance(value, (str, bytes, bool))

    packed = pack_dtype(dtype)
    assert plain(packed)
    back = unpack_dtype(packed)
    assert type(back) is type(dtype)
    assert back == dtype
    if isinstance(dtype, pd.CategoricalDtype):
        assert back.categories.equals(dtype.categories)
        assert back.categories.dtype == dtype.categories.dtype
        assert back.ordered == dtype.ordered


def told_of(values, place):
    one = read_ids(open_values(values, "ids"))
    return [((0, place), one.type, f"column {place}")]


def test_ranks_without_columns_follow_the_others():
    series = pd.Series(["b", "a"], dtype=pd.CategoricalDtype(["b", "x", "a"]))

    def on_rank(comm):
        return agree_on_type(comm, told_of(series, 0) if comm.rank == 1 else [])

    kinds = on_ranks(3, on_rank)
    assert all(kind.family == "text" and kind.categorical for kind in kinds)
    assert all(kind.dtype == series.dtype for kind in kinds)


def test_categories_of_all_ranks_are_joined():
    dtypes = [pd.CategoricalDtype(["b", "a"]), pd.CategoricalDtype(["c", "a"])]

    def on_rank(comm):
        return agree_on_type(comm, told_of(pd.Series(["a"], dtype=dtypes[comm.rank]), comm.rank))

    assert [kind.dtype.categories.tolist() for kind in on_ranks(2, on_rank)] == [
        ["b", "a", "c"]
    ] * 2


def test_known_categories_are_not_exchanged():
    dtype = pd.CategoricalDtype([f"category {one}" for one in range(1000)])
    heard = []

    def on_rank(comm):
        class Listening:
            rank, size, alltoall = comm.rank, comm.size, comm.alltoall

            def allgather(self, value):
                heard.append(len(repr(value)))
                return comm.allgather(value)

        return agree_on_type(Listening(), told_of(pd.Series(["category 1"], dtype=dtype), 0))

    assert all(kind.dtype == dtype for kind in on_ranks(2, on_rank))
    assert max(heard) < 1000


def test_the_first_type_that_holds_all_is_the_results():
    columns = [pd.Series([1], dtype="int32"), pd.Series([1], dtype="Int64"), pd.Series([1])]

    def on_rank(comm):
        return agree_on_type(comm, told_of(columns[comm.rank], 2 - comm.rank))

    for kind in on_ranks(3, on_rank):
        assert kind == IdType("integer", pa.int64(), np.dtype(np.int64))


def test_incompatible_kinds():
    def on_rank(comm):
        values = pd.Series([1]) if comm.rank else pd.Series(["a"], dtype=object)
        with pytest.raises(InputError) as caught:
            agree_on_type(comm, told_of(values, comm.rank))
        return str(caught.value)

    first, second = on_ranks(2, on_rank)
    assert first == second
    assert first.startswith(
        "ids of two kinds: column 0 holds text (object), column 1 holds integer"
    )


# failing together


def test_all_fail_with_the_first_error():
    def on_rank(comm):
        def step(place):
            if place in (3, 5):
                raise InputError(f"step {place}")
            return place

        with pytest.raises(InputError, match="step 3"):
            in_order(
                comm,
                [((0, place), lambda p=place: step(p)) for place in (comm.rank + 4, comm.rank)],
            )
        return attempt(comm, lambda: comm.rank)

    assert on_ranks(4, on_rank) == [0, 1, 2, 3]


def test_other_errors_are_not_hidden():
    def on_rank(comm):
        return attempt(comm, lambda: 1 // 0)

    with pytest.raises(ZeroDivisionError):
        on_ranks(2, on_rank)
