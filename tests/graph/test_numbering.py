"""Ids to numbers and back: in ascending order, whichever way they are numbered."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cugraph_ws.errors import InputError
from cugraph_ws.graph import numbering
from cugraph_ws.graph.graph import Graph
from cugraph_ws.graph.numbering import SortedIntegers, number_integers, number_rows
from cugraph_ws.runtime.looks import StepAbandoned, watched_by

DTYPES = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]


def check(columns, numbered):
    """Compare with NumPy's ranks."""
    everything = np.concatenate(columns)
    ids = np.unique(everything)
    assert numbered.numbering.size == len(ids)
    for which, column in enumerate(columns):
        assert numbered.numbers(which).tolist() == np.searchsorted(ids, column).tolist()
    (decoded,) = numbered.numbering.decode(np.arange(len(ids)))
    assert decoded.to_pylist() == ids.tolist()
    assert numbered.numbering.encode([everything]).tolist() == (
        np.searchsorted(ids, everything).tolist()
    )


@settings(deadline=None, max_examples=60)
@given(data=st.data(), dtype=st.sampled_from(DTYPES), dense=st.sampled_from([0, 50, 1 << 17]))
def test_integers_of_every_type_and_range(data, dtype, dense):
    limits = np.iinfo(dtype)
    low = data.draw(st.integers(limits.min, limits.max - 60))
    near = st.integers(low, low + 60)
    any_id = data.draw(st.sampled_from([near, st.integers(limits.min, limits.max)]))
    columns = [
        np.array(data.draw(st.lists(any_id, min_size=size, max_size=20)), dtype) for size in (1, 0)
    ]
    check(columns, number_integers(columns, dense_up_to=dense))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("ids", "dense", "renumbered"),
    [
        ([0, 2, 1, 0], 100, "no"),
        ([1, 3, 2, 1], 100, "compacted"),
        ([0, 3, 1, 0], 100, "compacted"),
        ([0, 99, 7, 0], 100, "compacted"),
        ([0, 100, 7, 0], 100, "sorted"),
    ],
)
def test_which_way_is_taken(ids, dense, renumbered, dtype):
    columns = [np.array(ids, dtype), np.array(ids[::-1], dtype)]
    numbered = number_integers(columns, dense_up_to=dense)
    assert numbered.numbering.renumbered == renumbered
    check(columns, numbered)


def test_dense_ids_keep_no_map():
    numbered = number_integers([np.array([0, 1]), np.array([1, 2])], dense_up_to=10)
    assert numbered.numbering.nbytes == 0
    assert len(numbered.table) == 0


def test_presence_by_several_threads(monkeypatch):
    monkeypatch.setenv("CUGRAPH_WS_THREADS", "3")
    columns = [np.arange(5, 200_005) % 1000 * 2, np.arange(200_000) % 7]
    check(columns, number_integers(columns, dense_up_to=1 << 20))


def test_read_only_columns_of_the_caller_are_not_copied():
    column = np.array([3, 1, 2])
    column.flags.writeable = False
    numbered = number_integers([column, column], dense_up_to=10)
    assert numbered.columns[0].flags.writeable
    assert np.shares_memory(numbered.columns[0], column)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ids", [[0, 1, 2], [4, 6, 9], [4, 6, 100]])
def test_unknown_integers_of_any_other_type(ids, dtype):
    columns = [np.array(ids, dtype)]
    numbered = number_integers(columns, dense_up_to=20)
    for other in DTYPES:
        limits = np.iinfo(other)
        wanted = np.array([limits.min, limits.max, 5, 3, *ids], other)
        expected = [ids.index(int(one)) if int(one) in ids else -1 for one in wanted]
        assert numbered.numbering.encode([wanted]).tolist() == expected


@pytest.mark.parametrize(
    ("dtype", "ids"),
    [
        ("int64", [2**63 - 1]),
        ("int64", [-(2**63), 2**63 - 1]),
        ("int64", [2**63 - 3, 2**63 - 2, 2**63 - 1]),
        ("uint64", [0, 2**63 - 1]),
        ("uint64", [0, 2**63 - 1, 2**63]),
        ("uint64", [2**63 - 1, 2**63, 2**63 + 1]),
        ("uint64", [0, 2**64 - 1]),
        ("object", [2**63 - 1, 2**63, 2**64 - 1]),
    ],
)
def test_ids_at_the_ends_of_64_bits(dtype, ids):
    column = pd.Series(ids, dtype=dtype)
    graph = Graph(pd.DataFrame({"source": column, "destination": column[::-1].to_numpy()}))
    assert graph.vertex_frame({})["vertex"].tolist() == ids
    near = {0, 1, 2**53, 2**63 - 2, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1, -(2**63)}
    for one in sorted(near):
        if one in ids:
            assert graph.number(one, "start") == ids.index(one)
            assert graph.numbers([one], "start").tolist() == [ids.index(one)]
        else:
            with pytest.raises(InputError, match=f"start: {one} is not a vertex"):
                graph.number(one, "start")


def test_nulls_for_none():
    for ids in ([0, 1, 2], [4, 6, 9]):
        numbered = number_integers([np.array(ids)], dense_up_to=20)
        (decoded,) = numbered.numbering.decode(np.array([2, -1, 0]))
        assert decoded.to_pylist() == [ids[2], None, ids[0]]


def test_no_ids():
    numbered = number_integers([np.empty(0, np.int64)], dense_up_to=20)
    assert numbered.numbering.size == 0
    assert numbered.numbering.encode([np.array([0, 1])]).tolist() == [-1, -1]
    text = number_rows([[pa.chunked_array([], pa.string())] * 2], dense_up_to=20)
    assert text.numbering.size == 0
    assert text.numbering.encode([pa.chunked_array([["a"]])]).tolist() == [-1]
    (decoded,) = text.numbering.decode(np.array([-1]))
    assert decoded.to_pylist() == [None]


TEXT = st.text(max_size=3)


@settings(deadline=None, max_examples=40)
@given(
    left=st.lists(TEXT, max_size=20),
    right=st.lists(TEXT, max_size=20),
    form=st.sampled_from(["string", "large_string", "string_view", "dictionary", "binary"]),
)
def test_text_ranks_by_code_point(left, right, form):
    columns = [pa.chunked_array([pa.array(one, pa.string())]) for one in (left, right)]
    distinct = sorted({*left, *right}, key=lambda one: one.encode())
    if form == "dictionary":
        columns = [one.dictionary_encode() for one in columns]
    elif form == "binary":
        columns = [one.cast(pa.binary()) for one in columns]
    else:
        columns = [one.cast(getattr(pa, form)()) for one in columns]
    numbered = number_rows([columns], dense_up_to=0)
    assert numbered.numbering.size == len(distinct)
    for which, values in enumerate((left, right)):
        expected = [distinct.index(one) for one in values]
        assert numbered.numbers(which).tolist() == expected
        assert numbered.numbering.encode([columns[which]]).tolist() == expected


def test_unused_categories_are_no_vertices():
    frame = pd.DataFrame({"source": ["b"], "destination": ["a"]})
    frame = frame.astype(pd.CategoricalDtype(["z", "b", "m", "a"]))
    graph = Graph(frame)
    assert graph.number_of_vertices == 2
    assert graph.report.renumbered == "sorted"
    with pytest.raises(InputError, match="start: 'z' is not a vertex"):
        graph.number("z", "start")


PARTS = st.tuples(st.integers(-3, 3), st.text("ab", max_size=2), st.integers(0, 2))


@settings(deadline=None, max_examples=40)
@given(edges=st.lists(st.tuples(PARTS, PARTS), max_size=20), width=st.integers(1, 3))
def test_several_columns_rank_lexicographically(edges, width):
    edges = [(source[:width], destination[:width]) for source, destination in edges]
    ids = sorted({end for edge in edges for end in edge})
    types = [pa.int64(), pa.string(), pa.uint8()]
    table = {}
    for prefix, which in (("s", 0), ("d", 1)):
        for part in range(width):
            table[f"{prefix}{part}"] = pa.array([e[which][part] for e in edges], types[part])
    sources, destinations = ([f"{p}{i}" for i in range(width)] for p in "sd")
    graph = Graph(pa.table(table), sources, destinations)
    assert graph.number_of_vertices == len(ids)
    out = graph.vertex_frame({})
    names = ["vertex"] if width == 1 else sources
    assert out.column_names == names
    assert list(zip(*(out.column(name).to_pylist() for name in names), strict=True)) == ids
    back = graph.edge_frame().select([*sources, *destinations])
    rows = [tuple(row.values()) for row in back.to_pylist()]
    assert sorted(rows) == sorted(source + destination for source, destination in edges)
    if width > 1 and ids:
        assert graph.numbers(ids, "start").tolist() == list(range(len(ids)))
        assert graph.numbers(out, "start").tolist() == list(range(len(ids)))
        with pytest.raises(InputError, match=r"start: \(9.* is not a vertex"):
            graph.number((9, "b", 0)[:width], "start")


def test_names_of_several_columns_in_results():
    table = pa.table({"a": ["x"], "b": [1], "c": ["x"], "d": [0]})
    graph = Graph(table, ["a", "b"], ["c", "d"])
    out = graph.vertex_frame({"predecessor": numbering_of(1, -1)})
    assert out.to_pydict() == {
        "a": ["x", "x"],
        "b": [0, 1],
        "predecessor_a": ["x", None],
        "predecessor_b": [1, None],
    }
    assert graph.vertex_values({("x", 1): 5, ("x", 0): 4}, "p", np.int64)[0].tolist() == [4, 5]
    assert graph.report.bytes > 0


def numbering_of(*numbers):
    from cugraph_ws.frames.base import VertexNumbers

    return VertexNumbers(np.array(numbers))


@pytest.mark.parametrize("wrong", [["x"], ["ab"], [("x",)], [("x", 1, 2)], [("x", "y")]])
def test_wrong_ids_of_several_columns(wrong):
    graph = Graph(pa.table({"a": ["x"], "b": [1], "c": ["x"], "d": [0]}), ["a", "b"], ["c", "d"])
    with pytest.raises(InputError, match="start"):
        graph.numbers(wrong, "start")
    assert graph.numbers([], "start").tolist() == []


def test_too_many_pairs(monkeypatch):
    monkeypatch.setattr(numbering, "_INT64_MAX", 3)
    table = pa.table({"a": ["x", "y"], "b": [0, 1], "c": ["x", "y"], "d": [0, 0]})
    with pytest.raises(
        InputError, match=r"2 times 2 combinations.*combine the columns into one of strings"
    ):
        Graph(table, ["a", "b"], ["c", "d"])


def test_no_ids_of_several_columns():
    table = pa.table({"a": [0], "b": [0], "c": [0], "d": [0]}).slice(0, 0)
    graph = Graph(table, ["a", "b"], ["c", "d"])
    assert graph.vertex_frame({}).num_rows == 0
    with pytest.raises(InputError, match=r"start: \(0, 0\) is not a vertex"):
        graph.number((0, 0), "start")


def test_columns_of_different_lengths_in_several_pieces(monkeypatch):
    monkeypatch.setattr(numbering, "number_of_threads", lambda: 4)
    columns = [np.arange(300_000) % 5, np.arange(3)]
    check(columns, number_integers(columns, dense_up_to=100))


@pytest.mark.parametrize("kind", ["text", "integers", "mixed"])
def test_an_unknown_part_of_an_id_beside_known_ones_is_no_vertex(kind):
    """Each part of ("de", "paris") sorts among those of vertices, and so does the pair."""
    countries, towns = {"at": 0, "de": 1}, {"berlin": -3, "paris": 2, "ulm": 5, "wien": 9}
    first = countries.__getitem__ if kind != "text" else str
    second = towns.__getitem__ if kind == "integers" else str
    rows = [("at", "wien", "de", "ulm"), ("de", "berlin", "at", "ulm")]
    edges = pd.DataFrame(
        [(first(a), second(b), first(c), second(d)) for a, b, c, d in rows], columns=list("abcd")
    )
    graph = Graph(edges, source=["a", "b"], destination=["c", "d"])
    known = [("at", "ulm"), ("at", "wien"), ("de", "berlin"), ("de", "ulm")]
    for number, (country, town) in enumerate(known):
        assert graph.number((first(country), second(town)), "start") == number
    for country, town in [("de", "paris"), ("at", "paris"), ("at", "berlin"), ("de", "wien")]:
        with pytest.raises(InputError, match=r"^start: .* is not a vertex of the graph"):
            graph.number((first(country), second(town)), "start")
    with pytest.raises(InputError, match=r"is not a vertex of the graph, and 1 more"):
        graph.numbers([(first("de"), second("paris"))] * 2, "starts")


@pytest.mark.parametrize("wrong", [-1, -3, 2, 4, 2**31, -(2**31), 2**63, -(2**63), 2**64])
@pytest.mark.parametrize("ids", [[0, 1, 3], [-2, 0, 3], [5, 2**40, -(2**40)]])
def test_integers_beside_ids_are_no_vertices(wrong, ids):
    graph = Graph(pd.DataFrame({"source": ids, "destination": ids}))
    with pytest.raises(InputError, match=r"^start"):
        graph.number(wrong, "start")
    for number, known in enumerate(sorted(ids)):
        assert graph.number(known, "start") == number


def test_ids_are_looked_up_in_pieces_between_which_a_run_may_end(monkeypatch):
    class Ends:
        def look(self):
            raise StepAbandoned("timeout")

    monkeypatch.setattr(numbering, "_SEARCHED", 4)
    ids = np.arange(3, 90, 3)
    sorted_ids, asked = SortedIntegers(ids, "sorted"), np.arange(100)[::-1]
    numbers = [int(value) // 3 - 1 if value in ids else -1 for value in asked]
    assert sorted_ids.encode([asked]).tolist() == numbers
    with watched_by(Ends()):
        assert sorted_ids.encode([asked[:3]]).tolist() == numbers[:3], "one piece"
        with pytest.raises(StepAbandoned):
            sorted_ids.encode([asked])
