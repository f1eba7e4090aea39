"""A graph built on several ranks equals the graph of the whole frame, and no rank holds all of it."""

import copy
import datetime as dt
import itertools
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thread_ranks import ThreadCommunicator, on_ranks
from whole import assert_same, build, check, cut, deal, described

from cugraph_ws.errors import GraphMemoryError, InputError
from cugraph_ws.frames.base import VertexNumbers
from cugraph_ws.graph.graph import Graph
from cugraph_ws.partition.build import build_shard
from cugraph_ws.partition.partitioned_frame import Partitions
from cugraph_ws.partition.range_offsets import VERTEX_WORK, balanced_cuts
from cugraph_ws.runtime.communicator import SingleRank

SIZES = [1, 2, 3, 5]
POLICIES = ["keep", "sum", "min", "max", "mean", "first"]


def some_edges(rows=60, ids=12, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "source": rng.integers(0, ids, rows),
            "destination": rng.integers(0, ids, rows),
            "w": rng.integers(0, 100, rows) / 4,
            "k": rng.integers(0, 9, rows).astype(np.int16),
        }
    )


def mapped(frame, function):
    return frame.assign(
        source=frame["source"].map(function), destination=frame["destination"].map(function)
    )


# the same graph


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("self_loops", ["keep", "drop"])
def test_policies(size, directed, policy, self_loops):
    check(
        some_edges(),
        weight="w",
        directed=directed,
        attributes=["k"],
        duplicates=policy,
        self_loops=self_loops,
        size=size,
        seed=size,
    )


DAY = pd.Timestamp("2024-01-01")
IDS = {
    "from 0": lambda one: one,
    "from 5": lambda one: one + 5,
    "with gaps": lambda one: one * 1000 - 7,
    "sparse": lambda one: one * 10**15 - 10**16,
    "text": lambda one: f"id {one * 7 % 13}",
    "bytes": lambda one: bytes([one * 7 % 13]) * 2,
    "timestamps": lambda one: DAY + pd.Timedelta(one, "h"),
    "zoned": lambda one: (DAY + pd.Timedelta(one, "D")).tz_localize("Europe/Berlin"),
    "dates": lambda one: dt.date(2024, 1, 1 + one),
    "durations": lambda one: pd.Timedelta(one, "min"),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("ids", IDS)
def test_ids_of_every_kind(ids, size):
    frame = mapped(some_edges(), IDS[ids])
    for directed in (True, False):
        check(frame, weight="w", directed=directed, size=size, seed=size)


@pytest.mark.parametrize(
    "dtype",
    ["int8", "uint32", "uint64", "Int64", "UInt8", "int32[pyarrow]", "category"],
)
def test_integers_of_every_dtype(dtype):
    check(mapped(some_edges(), lambda one: one + 3).astype({"source": dtype, "destination": dtype}))


@pytest.mark.parametrize("dtype", [object, "str", "string", "string[pyarrow]", "category"])
def test_text_of_every_dtype(dtype):
    frame = mapped(some_edges(), IDS["text"]).astype({"source": dtype, "destination": dtype})
    check(frame, size=3)
    check(frame.astype({"source": object}), size=2)


def test_uint64_beyond_int64():
    frame = mapped(some_edges(), lambda one: 2**63 - 6 + one)
    check(frame.astype({"source": np.uint64, "destination": np.uint64}))


def test_categories_that_differ_between_the_ends():
    frame = mapped(some_edges(), IDS["text"])
    kinds = [pd.CategoricalDtype(sorted(set(frame[name]))) for name in ("source", "destination")]
    check(frame.astype({"source": kinds[0], "destination": kinds[1]}))


@pytest.mark.parametrize("make", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "pyarrow"])
@pytest.mark.parametrize("ids", ["from 0", "sparse", "text", "timestamps"])
def test_frames_of_other_kinds(make, ids):
    frame = make(mapped(some_edges(), IDS[ids]))
    check(frame, weight="w", attributes="k", directed=False)


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum([f"id {one}" for one in range(13)])])
def test_polars_categories(kind):
    frame = pl.from_pandas(mapped(some_edges(), IDS["text"]))
    check(frame.with_columns(pl.col("source", "destination").cast(kind)))


def test_arrow_dictionaries():
    table = pa.Table.from_pandas(mapped(some_edges(), IDS["text"]))
    for name in ("source", "destination"):
        place = table.column_names.index(name)
        table = table.set_column(place, name, table[name].dictionary_encode())
    hands = deal(cut(table, 3), 3)
    assert_same(Graph(table), build(3, hands, work=described))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("directed", [True, False])
def test_several_columns_of_ids(size, directed):
    frame = some_edges()
    frame = frame.assign(
        a=frame["source"] % 3,
        b="x" + (frame["source"] // 3).astype(str),
        c=(frame["destination"] % 4).astype(np.int32),
        d="x" + (frame["destination"] // 4).astype(str),
    )
    names = ["a", "b", "source"], ["c", "d", "destination"]
    check(frame, *names, weight="w", directed=directed, size=size)
    check(frame, ["b", "a"], ["d", "c"], weight="w", directed=directed, size=size)


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_any_frame_in_any_partitions(data):
    ids = data.draw(
        st.sampled_from(
            [
                st.integers(0, 6),
                st.integers(-3, 3),
                st.integers(-(2**63), 2**63 - 1),
                st.text("ab", max_size=3),
            ]
        )
    )
    edges = data.draw(st.lists(st.tuples(ids, ids, st.integers(0, 3)), min_size=1, max_size=25))
    frame = pd.DataFrame(edges, columns=["source", "destination", "w"])
    size = data.draw(st.integers(1, 5))
    pieces = cut(frame, data.draw(st.integers(1, 6)), data.draw(st.integers(0, 99)))
    hands = deal(pieces, size, data.draw(st.integers(0, 99)))
    options = {
        "weight": "w",
        "directed": data.draw(st.booleans()),
        "duplicates": data.draw(st.sampled_from(POLICIES)),
        "self_loops": data.draw(st.sampled_from(["keep", "drop"])),
    }
    assert_same(Graph(frame, **options), build(size, hands, work=described, **options))


# which rank has which partitions


@pytest.mark.parametrize("size", SIZES)
def test_all_edges_with_one_rank(size):
    frame = some_edges()
    hands = [[] for _ in range(size)]
    hands[-1] = [(0, frame)]
    assert_same(Graph(frame, weight="w"), build(size, hands, weight="w", work=described))


@pytest.mark.parametrize("ids", ["from 0", "text"])
def test_more_ranks_than_vertices(ids):
    frame = mapped(some_edges(3, 2, seed=1), IDS[ids])
    graph = check(frame, size=5, weight="w")
    assert graph.number_of_vertices == 2


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"source": [], "destination": []}, dtype="uint16"),
        pd.DataFrame({"source": [], "destination": []}, dtype=object),
        pd.DataFrame({"source": [], "destination": []}, dtype="str"),
        pd.DataFrame({"source": [], "destination": []}, dtype="category"),
        pl.DataFrame({"source": [], "destination": []}),
        pa.table({"source": pa.array([], pa.date32()), "destination": pa.array([], pa.date32())}),
    ],
    ids=lambda frame: str(frame.schema if isinstance(frame, pa.Table) else frame.dtypes),
)
def test_no_edges_at_all(frame, size):
    graph = Graph(frame)
    for hands, meta in (
        ([[] for _ in range(size)], frame),
        ([[(0, frame)] * (rank == size - 1) for rank in range(size)], None),
        ([[(rank, frame)] for rank in range(size)], frame),
    ):
        assert_same(graph, build(size, hands, meta=meta, work=described))


def test_empty_partitions_of_another_type_follow_the_others():
    frame = mapped(some_edges(), IDS["text"])
    odd = pd.DataFrame({"source": [1.5], "destination": [2], "w": ["a"]}).iloc[:0]
    hands = [[(0, odd), (2, frame)], [(1, odd)], []]
    assert_same(Graph(frame, weight="w"), build(3, hands, weight="w", work=described))
    hands = [[], [(0, frame)], []]
    assert_same(Graph(frame, weight="w"), build(3, hands, weight="w", meta=odd, work=described))


def test_partitions_of_several_dtypes():
    frame = some_edges()
    narrow = frame.astype({"source": "int8", "w": "float32", "k": "int64"})
    graph = Graph(frame, weight="w", attributes="k")
    for first, second in ((frame, narrow), (narrow, frame)):
        hands = [[(1, second.iloc[20:])], [(0, first.iloc[:20])]]
        assert_same(graph, build(2, hands, weight="w", attributes="k", work=described))


def test_categories_that_differ_between_partitions():
    frame = mapped(some_edges(), IDS["text"])
    pieces = [
        piece.astype({"source": "category", "destination": "category"}) for piece in cut(frame, 3)
    ]
    told = build(3, [[(which, piece)] for which, piece in enumerate(pieces)], work=described)
    assert pd.concat([one["vertices"] for one in told])["vertex"].tolist() == sorted(
        {*frame["source"], *frame["destination"]}
    )
    assert len({tuple(one["vertices"]["vertex"].cat.categories) for one in told}) == 1


def test_no_partition_and_no_meta():
    with pytest.raises(
        InputError, match=r"edges: no rank has a partition; give one of them an empty frame"
    ):
        build(2, [[], []])


def test_alone():
    frame = some_edges()
    shard = build_shard(SingleRank(), [(0, frame)], weight="w")
    assert_same(Graph(frame, weight="w"), [described(shard)])


# cuts


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("directed", [True, False])
def test_range_offsets_are_those_of_one_process(size, directed):
    graph = check(some_edges(200, 40), directed=directed, size=size)
    work = graph.csc.offsets + VERTEX_WORK * np.arange(len(graph.csc.offsets))
    goals = work[-1] * np.arange(1, size) // size
    expected = [0, *np.searchsorted(work, goals).tolist(), graph.number_of_vertices]
    told = build(size, deal(cut(some_edges(200, 40), 4), size), directed=directed, work=described)
    assert told[0]["cuts"] == expected


@pytest.mark.parametrize("buckets", [1, 7, 100])
@pytest.mark.parametrize("weights", [None, [1, 1, 1], [1, 2, 0.5], [0, 3, 1]])
def test_range_offsets_divide_work_by_weight(monkeypatch, buckets, weights):
    monkeypatch.setattr("cugraph_ws.partition.range_offsets._BUCKETS", buckets)
    rng = np.random.default_rng(3)
    targets = (rng.random(30_000) ** 3 * 1000).astype(np.int32)

    def on_rank(comm):
        own = targets[comm.rank :: comm.size]
        return balanced_cuts(comm, 1000, [own[::2], own[1::2]], weights).tolist()

    told = on_ranks(3, on_rank)
    assert told[0] == told[1] == told[2]
    cuts = told[0]
    assert cuts[0] == 0
    assert cuts[-1] == 1000
    work = np.bincount(targets, minlength=1000) + VERTEX_WORK
    shares = np.array([work[a:b].sum() for a, b in itertools.pairwise(cuts)])
    wanted = np.array(weights or [1, 1, 1])
    starts = -(-np.arange(3 * buckets + 1) * 1000 // (3 * buckets)) if 3 * buckets < 1000 else None
    coarsest = work.max() if starts is None else np.add.reduceat(work, starts[:-1]).max()
    assert (np.abs(shares - work.sum() * wanted / wanted.sum()) <= 2 * coarsest).all()


@pytest.mark.parametrize("weights", [[1], [1, -1], [0, 0], [1, float("nan")], [1, float("inf")]])
def test_weights_that_are_refused(weights):
    with pytest.raises(InputError, match=r"weights=.*give 2 finite numbers"):
        build(2, deal([some_edges()], 2), cut=weights)


def test_weights_move_cuts():
    frame = some_edges(400, 80)
    even, uneven = (
        build(2, deal(cut(frame, 4), 2), cut=weights or "ranges", work=described)
        for weights in (None, [3, 1])
    )
    assert_same(Graph(frame), uneven)
    assert uneven[0]["owned"] > 1.3 * even[0]["owned"]


# vertices= and values by vertex


def some_vertices():
    return pd.DataFrame(
        {
            "vertex": [3, 12, 11, 0, 7],
            "x": [1.5, 2.5, 3.5, 4.5, 5.5],
            "name": list("abcde"),
            "odd": [1, "a", 2, 3, 4],
        }
    )


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("ids", ["from 0", "sparse", "text"])
def test_vertices_add_isolated_ones(ids, size):
    frame, vertices = mapped(some_edges(), IDS[ids]), some_vertices()
    vertices["vertex"] = vertices["vertex"].map(IDS[ids])
    graph = Graph(frame, vertices=vertices)
    hands = deal(cut(frame, 4), size)
    assert_same(graph, build(size, hands, vertices=vertices, work=described))
    spread = deal(cut(vertices, 3, 5), size, 2)

    def on_rank(comm):
        own = Partitions([one for _, one in spread[comm.rank]], [at for at, _ in spread[comm.rank]])
        return described(build_shard(comm, hands[comm.rank], vertices=own))

    assert_same(graph, on_ranks(size, on_rank))


def test_vertices_of_another_library_and_dtype():
    frame = some_edges().astype({"source": np.int32, "destination": np.int32})
    for vertices in (
        pl.DataFrame({"id": [40, 3]}),
        pa.table({"source": [40]}),
        pd.DataFrame({"vertex": []}, dtype="int8"),
    ):
        hands = deal(cut(frame, 4), 3)
        assert_same(
            Graph(frame, vertices=vertices), build(3, hands, vertices=vertices, work=described)
        )


def asked(shard, data, dtype, default=None, column=None):
    """Ask for values by vertex; compare ghosts with their owners; return the own part."""
    values, given = shard.vertex_values(data, "prior", dtype, default, column)
    assert len(values) == len(given) == shard.length
    for one in (values, given):
        known = shard.halo.fetch(one[: shard.owned], shard.positions)
        np.testing.assert_array_equal(one, known)
    return values[: shard.owned], given[: shard.owned]


VALUES = {
    "number": (2, int, None),
    "dict": ({3: 1.5, 0: 2.5}, float, 0.5),
    "empty dict": ({}, float, 7),
    "frame": (pd.DataFrame({"vertex": [11, 2], "v": [4, 5]}), np.int32, -1),
    "polars": (pl.DataFrame({"source": [11, 2], "v": [4, 5]}), float, -1),
    "attribute": ("x", np.float32, 0),
    "all": (pd.DataFrame({"vertex": range(13), "v": range(13)}), int, None),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", VALUES)
def test_values_by_vertex(name, size):
    data, dtype, default = VALUES[name]
    vertices = some_vertices()
    frame = some_edges()
    expected = Graph(frame, vertices=vertices).vertex_values(data, "prior", dtype, default)
    hands = deal(cut(frame, 4), size)
    told = build(
        size, hands, vertices=vertices, work=lambda shard: asked(shard, data, dtype, default)
    )
    for which in (0, 1):
        got = np.concatenate([one[which] for one in told])
        np.testing.assert_array_equal(got, expected[which])
        assert got.dtype == expected[which].dtype


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("ids", ["from 0", "text", "timestamps"])
def test_values_in_partitions(ids, size):
    frame = mapped(some_edges(), IDS[ids])
    table = pd.DataFrame(
        {"vertex": [IDS[ids](one) for one in (5, 2, 9, 0, 3)], "v": range(5), "u": 1}
    )
    graph = Graph(frame)
    expected = graph.vertex_values(table, "prior", float, -1, "v")
    spread = deal(cut(table, 4, 3), size, 8)

    def on_rank(comm):
        shard = build_shard(comm, deal(cut(frame, 4), size)[comm.rank])
        own = Partitions([one for _, one in spread[comm.rank]])
        return asked(shard, own, float, -1, "v")

    told = on_ranks(size, on_rank)
    for which in (0, 1):
        np.testing.assert_array_equal(np.concatenate([one[which] for one in told]), expected[which])


def test_values_of_ids_of_several_columns():
    frame = some_edges()
    frame = frame.assign(a=frame["source"] % 3, b="x", c=frame["destination"] % 3, d="y")
    table = pd.DataFrame({"a": [0, 2, 1], "b": ["x", "y", "y"], "v": [1, 2, 3]})
    names = ["a", "b"], ["c", "d"]
    expected = Graph(frame, *names).vertex_values(table, "prior", float, -1)[0]
    starts = Graph(frame, *names).numbers([(2, "y"), (0, "x")], "start").tolist()

    def on_rank(comm):
        shard = build_shard(comm, deal(cut(frame, 4), 3)[comm.rank], *names)
        whole = asked(shard, table, float, -1)[0]
        own = asked(shard, Partitions([table.iloc[comm.rank : comm.rank + 1]]), float, -1)[0]
        np.testing.assert_array_equal(whole, own)
        assert shard.numbers([(2, "y"), (0, "x")], "start").tolist() == starts
        return whole

    np.testing.assert_array_equal(np.concatenate(on_ranks(3, on_rank)), expected)


def test_the_graph_shares_no_memory_with_the_vertex_frame():
    vertices = pd.DataFrame({"vertex": [0, 1], "x": [1.0, 2.0]})

    def work(shard):
        for name in vertices:
            vertices[name].array._ndarray.setflags(write=True)
            vertices[name].array._ndarray[:] = 7
        return asked(shard, "x", float, 0)[0]

    told = build(
        1, [[(0, pd.DataFrame({"source": [0], "destination": [1]}))]], vertices=vertices, work=work
    )
    assert told[0].tolist() == [1, 2]


def test_numbers_and_ids():
    frame = mapped(some_edges(), IDS["text"])
    graph = Graph(frame)
    wanted = ["id 3", "id 0", "id 12"]

    def work(shard):
        numbers = shard.numbers(wanted, "start")
        back = shard.frame_like({"p": VertexNumbers(np.append(numbers, -1))})
        assert [shard._vertices.describe(number) for number in numbers] == list(map(repr, wanted))
        assert shard.number("id 3", "start") == numbers[0]
        assert shard.numbers([], "start").tolist() == []
        return numbers.tolist(), back["p"].tolist()

    for numbers, back in build(3, deal(cut(frame, 4), 3), work=work):
        assert numbers == graph.numbers(wanted, "start").tolist()
        assert back[:3] == wanted
        assert pd.isna(back[3])


@pytest.mark.parametrize("ids", ["from 0", "text"])
def test_another_group_goes_on(ids):
    """A shard outlives the communicator that built it, and serves several others."""
    frame = mapped(some_edges(), IDS[ids])
    graph = Graph(frame)
    table = pd.DataFrame({"vertex": [IDS[ids](one) for one in (5, 2)], "v": [1, 2]})
    expected = graph.vertex_values(table, "prior", int, 0)[0].tolist()
    held = build(3, deal(cut(frame, 4), 3))

    def on_rank(comm):
        shard = copy.copy(held[comm.rank])
        shard.join(comm)
        values = asked(shard, table, int, 0)[0].tolist()
        assert (
            asked(shard, Partitions([table] if comm.rank == 1 else []), int, 0)[0].tolist()
            == values
        )
        return values, described(shard)

    for _ in range(2):
        told = on_ranks(3, on_rank)
        assert [one for values, _ in told for one in values] == expected
        assert_same(graph, [one for _, one in told])


# errors


def message(action):
    with pytest.raises(InputError) as caught:
        action()
    return str(caught.value)


def errors_of(size, hands, **options):
    """Return what each rank is told."""

    def on_rank(comm):
        return message(lambda: build_shard(comm, hands[comm.rank], **options))

    return on_ranks(size, on_rank)


def spoiled(column, row, value, dtype=object):
    frame = some_edges()
    frame[column] = frame[column].astype(dtype)
    frame.loc[row, column] = value
    return frame


@pytest.mark.parametrize(
    ("frame", "options"),
    [
        (spoiled("source", 37, None, "Int64"), {}),
        (spoiled("destination", 55, None, "Int64"), {}),
        (spoiled("w", 37, np.nan, float), {"weight": "w"}),
        (spoiled("w", 37, np.inf, float), {"weight": "w"}),
        (spoiled("k", 41, 2**63 + 1, np.uint64), {"attributes": "k"}),
        (spoiled("k", 41, None, "Int64"), {"attributes": ["k"]}),
        (some_edges().astype({"source": float}), {}),
        (some_edges().astype({"source": str}), {}),
        (mapped(some_edges(), IDS["text"]), {"weight": "source"}),
        (some_edges(), {"source": "sourse"}),
        (some_edges(), {"weight": "weight"}),
        (some_edges(), {"attributes": ["k", "q"]}),
        (some_edges(), {"source": ["source", "k"]}),
        (some_edges(), {"duplicates": "error"}),
        (some_edges(), {"duplicates": "error", "directed": False}),
        (some_edges(), {"self_loops": "error"}),
        (mapped(some_edges(), IDS["text"]), {"self_loops": "error"}),
        (some_edges(), {"duplicates": "all"}),
        (some_edges(), {"self_loops": "all"}),
        (some_edges(), {"vertices": pd.DataFrame({"vertex": ["a"]})}),
        (some_edges(), {"vertices": pd.DataFrame({"id": [1], "x": [2]})}),
        (some_edges(), {"vertices": pd.DataFrame({"vertex": [4, 2, 4, 2]})}),
        (some_edges(), {"vertices": [1, 2]}),
        (
            some_edges().assign(k=2**62),
            {"attributes": "k", "duplicates": "sum"},
        ),
    ],
)
@pytest.mark.parametrize("size", [1, 3])
def test_errors_are_those_of_the_whole_frame(frame, options, size):
    expected = message(lambda: Graph(frame, **options))
    told = errors_of(size, deal(cut(frame, 4, 1), size, 1), **options)
    assert told == [expected] * size


def test_the_first_bad_row_of_all_partitions_is_named():
    frame = spoiled("source", [17, 44], None, "Int64")
    for seed in range(5):
        told = errors_of(3, deal(cut(frame, 6, seed), 3, seed))
        assert (
            told
            == [
                "column 'source' (source): row 17 is null; drop the rows without a value or fill them"
            ]
            * 3
        )


def test_kinds_that_differ_between_partitions():
    hands = [[(1, some_edges())], [(0, mapped(some_edges(), IDS["text"]))]]
    first, second = errors_of(2, hands)
    assert first == second
    assert first.startswith("ids of two kinds: column 'source' (source) holds text (")
    assert "column 'source' (source) holds integer (int64); cast one column" in first


def test_uint64_beside_signed_ids_in_another_partition():
    hands = [
        [(0, pd.DataFrame({"source": [-1], "destination": [1]}))],
        [(1, pd.DataFrame({"source": [2**63], "destination": [3]}, dtype=np.uint64))],
    ]
    told = errors_of(2, hands)
    assert told[0] == told[1]
    assert "id 9223372036854775808 is above 9223372036854775807" in told[0]


def test_a_partition_that_is_no_frame():
    told = errors_of(2, [[(0, some_edges())], [(1, [1, 2])]])
    assert told[0] == told[1] == message(lambda: Graph([1, 2]))


@pytest.mark.parametrize("ids", [300, -(2**40), 2**40])
def test_values_of_ids_that_the_graphs_dtype_lacks(ids):
    """An id of a wider type is unknown, not what is left of it in the narrow one."""
    frame = some_edges().astype({"source": np.int8, "destination": np.int8})
    wide = pd.DataFrame({"vertex": [ids, 3], "v": [1, 2]})

    def work(shard):
        own = Partitions([wide] if shard.comm.rank == 1 else [])
        return [
            message(lambda: shard.vertex_values(wide, "prior", int, 0)),
            message(lambda: shard.vertex_values(own, "prior", int, 0)),
        ]

    for told in build(2, deal(cut(frame, 4), 2), work=work):
        assert all(f"prior: {ids} is not a vertex of the graph;" in one for one in told)


def test_no_self_loops_to_refuse():
    frame = some_edges().query("source != destination")
    check(frame, weight="w", self_loops="error", directed=False)


def test_means_of_integers_are_floats_for_ranks_without_edges_too():
    frame = pd.DataFrame({"source": [0, 0], "destination": [1, 1], "k": [1, 2]})
    check(frame, attributes="k", duplicates="mean", size=5)


def test_weights_that_are_merged_to_no_number_stop_all():
    frame = pd.DataFrame(
        {"source": [0, 0, 1, 1], "destination": [1, 1, 0, 0], "w": [1.0, 2.0, 1e308, 1e308]}
    )
    options = {"weight": "w", "duplicates": "sum"}
    expected = message(lambda: Graph(frame, **options))
    assert "'w' on the edges 1 to 0 come to inf" in expected
    assert errors_of(2, [[(0, frame)], []], **options) == [expected] * 2


def test_a_sum_that_one_rank_cannot_count_stops_all():
    frame = pd.DataFrame(
        {"source": [0, 0, 1, 1], "destination": [1, 1, 0, 0], "k": [1, 2, 2**62, 2**62]}
    )
    options = {"attributes": "k", "duplicates": "sum"}
    expected = message(lambda: Graph(frame, **options))
    assert errors_of(2, [[(0, frame)], []], **options) == [expected] * 2


BAD_VALUES = [
    ("y", float, 0),
    ("name", float, 0),
    ("odd", float, 0),
    ("x", int, 0),
    ("x", float, None),
    ({1: 1.0, 70: 2.0, 80: 1.0}, float, 0),
    ({1: np.nan}, float, 0),
    ({1: 0.5}, int, 0),
    ({1: 1, 5: 2}, float, None),
    (1j, float, 0),
    (np.nan, float, 0),
    (pd.DataFrame({"vertex": [1, 7, 7, 1], "v": [1, 2, 3, 4]}), float, 0),
    (pd.DataFrame({"vertex": [1, 70, 2, 80], "v": [1, 2, 3, 4]}), float, 0),
    (pd.DataFrame({"vertex": [1, 2, 3, 4], "v": [1, 2, np.nan, 4]}), float, 0),
    (pd.DataFrame({"vertex": [1, 2, 3, 4], "v": [1, 2, 3, 1e300]}), np.float32, 0),
    (pd.DataFrame({"vertex": ["a", "b", "c", "d"], "v": 1}), float, 0),
    (pd.DataFrame({"vertex": [1, 2], "v": [1, 2]}), float, None),
    (pd.DataFrame({"id": [1, 2], "v": [1, 2]}), float, None),
    (pd.DataFrame({"vertex": [1, 2], "v": [1, 2], "u": [1, 2]}), float, None),
]


@pytest.mark.parametrize(("data", "dtype", "default"), BAD_VALUES)
def test_values_that_are_refused(data, dtype, default):
    frame, vertices = some_edges(), some_vertices()
    graph = Graph(frame, vertices=vertices)
    expected = message(lambda: graph.vertex_values(data, "prior", dtype, default))

    def on_rank(comm):
        shard = build_shard(comm, deal(cut(frame, 4), 3)[comm.rank], vertices=vertices)
        told = [message(lambda: shard.vertex_values(data, "prior", dtype, default))]
        if isinstance(data, pd.DataFrame):
            rows = len(data)
            own = Partitions([data.iloc[rows * comm.rank // 3 : rows * (comm.rank + 1) // 3]])
            told.append(message(lambda: shard.vertex_values(own, "prior", dtype, default)))
        return told

    for told in on_ranks(3, on_rank):
        assert set(told) == {expected}


@pytest.mark.parametrize("wanted", [["id 3", "id 99", "q"], [5], [None], "id 3"])
def test_numbers_of_no_vertex(wanted):
    frame = mapped(some_edges(), IDS["text"])
    expected = message(lambda: Graph(frame).numbers(wanted, "start"))

    def work(shard):
        return message(lambda: shard.numbers(wanted, "start"))

    assert build(3, deal(cut(frame, 4), 3), work=work) == [expected] * 3


def test_a_shard_that_does_not_fit(monkeypatch):
    monkeypatch.setenv("CUGRAPH_WS_MEMORY_LIMIT", "1000")

    def on_rank(comm):
        hands = [[], [(0, some_edges(5000, 1000))]]
        with pytest.raises(GraphMemoryError, match=r"the graph needs .* while it is built"):
            build_shard(comm, hands[comm.rank])

    on_ranks(2, on_rank)


class Small(ThreadCommunicator):
    """A rank on a worker with this much memory."""

    room: int | None = None


@pytest.mark.parametrize("kind", ["integers", "sparse integers", "text", "pairs"])
def test_a_shard_that_its_worker_has_no_memory_for(kind):
    """It is refused before ids are hashed: there would be room for those that need not be."""
    frame = some_edges(5000, 1000)
    ends = ["source", "destination"]
    names: list[list[str]] = [["source"], ["destination"]]
    if kind == "sparse integers":
        frame[ends] = frame[ends] * 10**12
    if kind == "text":
        frame[ends] = frame[ends].astype(str)
    if kind == "pairs":
        names = [ends, ends[::-1]]

    def on_rank(comm, room):
        small = Small(comm.rank, comm.size, comm._board, comm._barrier)
        small.room = room
        hands = [[], [(0, frame)]]
        return build_shard(small, hands[comm.rank], *names)

    small = 10_000 if kind == "integers" else 200_000
    needed = (
        r"a worker needs .* to build its shard of the graph, .* KiB of the worker.*memory_limit="
    )
    with pytest.raises(GraphMemoryError, match=needed):
        on_ranks(2, lambda comm: on_rank(comm, small))
    for room in (None, 1 << 30, *([200_000] if kind == "integers" else [])):
        shards = on_ranks(2, lambda comm, room=room: on_rank(comm, room))
        assert sum(one.own_arcs for one in shards) == len(frame)


# memory


class Weighing(ThreadCommunicator):
    """A rank that records the largest array and the longest list that it receives or sends."""

    def __init__(self, comm):
        self.rank, self.size, self.comm = comm.rank, comm.size, comm
        self.longest = self.listed = 0

    def alltoall(self, boxes):
        came = self.comm.alltoall(boxes)
        for box in (*boxes, *came):
            lengths = [len(array) for array in box if array.itemsize > 1]  # not the bytes of text
            self.longest = max([self.longest, *lengths])
        return came

    def allgather(self, value):
        self.listed = max(self.listed, len(value) if isinstance(value, (list, dict)) else 0)
        return self.comm.allgather(value)


BAND = 2


def band(n, ids):
    """Each vertex to the next few: a graph whose ranges have small boundaries."""
    sources = np.repeat(np.arange(n), BAND)
    destinations = np.minimum(sources + np.tile(np.arange(1, BAND + 1), n), n - 1)
    return pd.DataFrame({"source": ids(sources), "destination": ids(destinations)})


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize(
    "ids",
    [
        lambda one: one,
        lambda one: one * 2 + 5,
        lambda one: one * 10**12,
        lambda one: np.char.mod("%08d", one),
    ],
    ids=["no", "compacted", "sorted", "text"],
)
@pytest.mark.parametrize("size", [2, 5])
def test_no_rank_holds_the_whole(monkeypatch, size, ids, directed):
    monkeypatch.setattr("cugraph_ws.partition.range_offsets._BUCKETS", 64)
    n = 20_000
    frame = band(n, ids)
    m = len(frame)

    def on_rank(comm):
        comm = Weighing(comm)
        own = frame.iloc[m * comm.rank // size : m * (comm.rank + 1) // size]
        shard = build_shard(comm, [(comm.rank, own)], directed=directed)
        assert shard.owned < 1.1 * n / size
        assert shard.length - shard.owned <= (2 - directed) * BAND
        assert len(shard.positions) == shard.length
        assert shard.csc.number_of_arcs < 1.1 * shard.number_of_arcs / size
        shard.vertex_frame({})
        shard.edge_frame()
        shard.vertex_values(3, "prior", float)
        shard.vertex_values(Partitions([own.iloc[:0, :1].assign(v=0)]), "prior", float, 0)
        shard.report  # noqa: B018 - asks all ranks
        assert comm.longest < 1.2 * shard.number_of_arcs / size
        assert comm.longest < n or size == 2
        assert comm.listed <= 2 * 256
        return shard.owned, shard._vertices.numbering.nbytes

    told = on_ranks(size, on_rank)
    assert sum(owned for owned, _ in told) == n
    assert max(held for _, held in told) <= 1.2 * 17 * n / size


def test_the_peak_of_all_ranks_is_that_of_one(monkeypatch):
    """Ranks of one process share its memory: if each took the whole, four would take four times."""
    monkeypatch.setattr("cugraph_ws.partition.range_offsets._BUCKETS", 64)
    n = 100_000
    frame = band(n, lambda one: one * 10**9)
    m = len(frame)

    def peak(size):
        def on_rank(comm):
            own = frame.iloc[m * comm.rank // size : m * (comm.rank + 1) // size]
            return build_shard(comm, [(comm.rank, own)])

        tracemalloc.start()
        try:
            shards = on_ranks(size, on_rank)
            assert sum(shard.owned for shard in shards) == n
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(1)  # what is imported and compiled once is not counted
    alone, shared = peak(1), peak(4)
    assert shared < 1.1 * alone
    assert alone < 70 * m
