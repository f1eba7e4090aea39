"""Graphs made on the device: the same numbers, frames and errors as those made on the host.

cuDF is a stand-in made of pandas, and the device is emulated, with NumPy for its arrays.
"""

import datetime as dt
import importlib.machinery
import sys
import types

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import stand_in_cudf
from emulator.device import emulated
from hypothesis import given, settings
from hypothesis import strategies as st

import cugraph_ws as ws
from cugraph_ws.backends.cuda import numbered_ids
from cugraph_ws.backends.cuda import numbering as device_numbering
from cugraph_ws.backends.cuda import order as device_order
from cugraph_ws.backends.cuda import vertices as device_vertices
from cugraph_ws.backends.cuda.cudf_frames import device_column, join_categories, make_frame
from cugraph_ws.backends.cuda.cudf_series import missing
from cugraph_ws.errors import GraphMemoryError, InputError
from cugraph_ws.frames import arrays
from cugraph_ws.frames.base import (
    Below,
    Masked,
    VertexNumbers,
    is_on_device,
    join_dtypes,
    open_frame,
    open_values,
)
from cugraph_ws.graph.estimates import estimate_memory
from cugraph_ws.graph.graph import Graph
from cugraph_ws.runtime.device import device

MOMENT = dt.datetime(2024, 2, 28, 12, 30, 15)
STEP = dt.timedelta(days=1)
THREE = {
    "integer": [3, 7, 100],
    "big": [2**53 + 1, 2**53 + 2, 2**63 - 1],
    "text": ["", "a", "ß"],
    "moment": [MOMENT, MOMENT + STEP, MOMENT + 2 * STEP],
    "zoned": [(MOMENT + i * STEP).replace(tzinfo=dt.UTC) for i in range(3)],
    "span": [STEP, 2 * STEP, 3 * STEP],
}
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
CASES = [
    *[(name, "integer") for name in INTEGERS],
    ("int64", "big"),
    ("uint64", "big"),
    ("Int64", "big"),
    ("Int32", "integer"),
    ("str", "text"),
    ("string", "text"),
    (pd.CategoricalDtype(["ß", "unused", "a", ""]), "text"),
    (pd.CategoricalDtype(["ß", "a", ""], ordered=True), "text"),
    (pd.CategoricalDtype([100, 7, 3]), "integer"),
    (pd.CategoricalDtype(THREE["moment"]), "moment"),
    ("datetime64[s]", "moment"),
    ("datetime64[ns]", "moment"),
    ("datetime64[us, UTC]", "zoned"),
    ("datetime64[ms, Europe/Berlin]", "zoned"),
    ("timedelta64[ms]", "span"),
]


@pytest.fixture(autouse=True)
def gpu():
    """An emulated device, and the stand-in for cuDF."""
    with emulated() as here, stand_in_cudf.installed():
        yield here


class OnDevice:
    """An array in a GPU's memory, of some other library than the device's own."""

    def __init__(self, values):
        self._values = np.asarray(values)

    @property
    def __cuda_array_interface__(self):
        return self._values.__array_interface__

    def __array__(self, dtype=None, copy=None):
        return self._values


def edges_of(rng, low, high, rows=60, dtype="int64"):
    ends = rng.integers(low, high, (rows, 2))
    frame = pd.DataFrame(ends, columns=["source", "destination"]).astype(dtype)
    return frame.assign(w=rng.integers(1, 9, rows) / 8, a=rng.integers(-9, 9, rows))


def cudf(frame):
    return stand_in_cudf.DataFrame(frame)


def plain(frame):
    """A stand-in's frame as pandas has it."""
    assert type(frame) is stand_in_cudf.DataFrame
    return pd.DataFrame(frame)


def facts(report):
    return {name: value for name, value in vars(report).items() if name != "bytes"}


def check_same(host, made):
    """Compare a graph of the device with the same one of the host, in all that can be read."""
    assert made.device_resident
    assert not host.device_resident
    assert facts(host.report) == facts(made.report)
    assert made.number_of_arcs == host.number_of_arcs
    for order in ("csc", "csr"):
        mine, other = getattr(made, order), getattr(host, order)
        assert mine.offsets.tolist() == other.offsets.tolist()
        assert mine.indices.tolist() == other.indices.tolist()
        assert mine.indices.dtype == other.indices.dtype
        for name in host.edge_attributes:
            assert made.edge_values(name, order).tolist() == host.edge_values(name, order).tolist()
            assert made.edge_dtype(name) == host.edge_dtype(name) == made.edge_values(name).dtype
    for incoming in (True, False):
        assert (
            made.degree_array(incoming=incoming).tolist()
            == host.degree_array(incoming=incoming).tolist()
        )
        for name in host.edge_attributes:
            sums = [one.weight_sums(name, incoming=incoming) for one in (host, made)]
            assert np.allclose(*sums, rtol=1e-13)
    for name in host.edge_attributes:
        for extreme in ("least_edge_value", "greatest_edge_value"):
            mine, other = (getattr(one, extreme)(name) for one in (made, host))
            assert (mine and mine[0]) == (other and other[0])
    pd.testing.assert_frame_equal(plain(made.edge_frame()), host.edge_frame())
    n = host.number_of_vertices
    columns = {
        "x": np.arange(n) / 2,
        "next": VertexNumbers(np.arange(n) - 1),
        "some": Masked(np.arange(n, dtype=np.int32), np.arange(n) % 3 != 0),
        "hops": Below(np.arange(n, dtype=np.int32) % 5, 3),
        "length": Below(np.where(np.arange(n) % 4 == 2, np.inf, np.arange(n)), np.inf),
        "all": Below(np.zeros(n, np.float32), np.inf),
    }
    pd.testing.assert_frame_equal(plain(made.vertex_frame(columns)), host.vertex_frame(columns))
    everyone = made.vertex_frame({})
    if n:
        assert made.numbers(everyone, "start").tolist() == list(range(n))
        assert made.describe(n - 1) == host.describe(n - 1)


# --------------------------------------------------------------------------- the same graphs


@pytest.mark.parametrize("directed", [True, False])
def test_every_shape_is_the_same_graph(tiny_shape, directed):
    frame = pd.DataFrame(
        {"source": tiny_shape.source, "destination": tiny_shape.destination, "w": tiny_shape.weight}
    )
    vertices = pd.DataFrame({"vertex": np.arange(tiny_shape.n)})
    options = {"weight": "w", "directed": directed}
    host = Graph(frame, vertices=vertices, **options)
    check_same(host, Graph(cudf(frame), vertices=cudf(vertices), **options))
    check_same(Graph(frame, **options), Graph(cudf(frame), **options))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize(("low", "high"), [(0, 12), (5, 40), (0, 127)])
def test_integers_of_every_width(dtype, low, high):
    frame = edges_of(np.random.default_rng(high), low, high, dtype=dtype).assign(w=0.5)
    check_same(Graph(frame, weight="w"), Graph(cudf(frame), weight="w"))


@pytest.mark.parametrize("dtype", ["int16", "uint16"])
def test_functions_return_narrow_ids_as_they_came(dtype):
    frame = edges_of(np.random.default_rng(2), 3, 12, rows=14, dtype=dtype) * 5
    frame = frame.astype({"source": dtype, "destination": dtype}).assign(w=np.arange(14) % 5)
    frame["w"] = frame["w"].astype(dtype)
    starts = frame["source"].iloc[:2]
    host = Graph(frame, weight="w", attributes="a", directed=False)
    made = Graph(cudf(frame), weight="w", attributes="a", directed=False)
    for function, *arguments in (
        (ws.bfs, starts),
        (ws.sssp, starts),
        (ws.widest_path, starts),
        (ws.weakly_connected_components,),
        (ws.multi_source_bfs, starts),
    ):
        expected = function(host, *arguments)
        found = plain(function(made, *arguments))
        assert found["vertex"].dtype == dtype
        pd.testing.assert_frame_equal(found, expected, check_dtype=False)


@pytest.mark.parametrize("chunk", [7, 1 << 26])
@pytest.mark.parametrize(("low", "high"), [(0, 10**12), (-(10**12), 10**12), (-40, -3)])
def test_integers_of_large_ranges(monkeypatch, low, high, chunk):
    monkeypatch.setattr(device_numbering, "CHUNK", chunk)
    monkeypatch.setattr(numbered_ids, "CHUNK", chunk)
    frame = edges_of(np.random.default_rng(1), low, high)
    check_same(Graph(frame, weight="w"), Graph(cudf(frame), weight="w"))


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("self_loops", ["keep", "drop"])
@pytest.mark.parametrize("edges", [40, 400], ids=["wider than the edges", "degrees counted along"])
@pytest.mark.parametrize("step", [1, 3], ids=["without gaps", "with gaps"])
def test_ids_that_do_not_begin_at_0(directed, self_loops, edges, step):
    """Integers are read as they are where their range is not wider than the edges are many."""
    random = np.random.default_rng(5)
    ends = 7 + step * random.integers(0, 120 // step, (2, edges))
    if edges > 100:
        ends[0, :120] = 7 + step * (np.arange(120) % (120 // step))  # each is there
    frame = pd.DataFrame(ends.T, columns=["source", "destination"]).assign(w=random.random(edges))
    more = pd.DataFrame({"vertex": [5, 8, 140]})
    options = {"weight": "w", "directed": directed, "self_loops": self_loops}
    for extra in ({}, {"vertices": more}):
        plain = Graph(frame, **options, **extra)
        check_same(plain, Graph(cudf(frame), **options, **extra))


@settings(deadline=None, max_examples=60)
@given(data=st.data(), dtype=st.sampled_from(INTEGERS))
def test_unknown_integers_of_any_other_type(data, dtype):
    limits = np.iinfo(dtype)
    near = data.draw(st.integers(limits.min, limits.max - 60))
    any_id = st.one_of(st.integers(near, near + 60), st.integers(limits.min, limits.max))
    ids = np.array(data.draw(st.lists(any_id, min_size=1, max_size=12)), dtype)
    numbered = device_numbering.number_device_integers([ids, ids], dense_up_to=100, both=False)
    distinct = np.unique(ids).tolist()
    assert numbered.numbers(0).tolist() == [distinct.index(one) for one in ids.tolist()]
    assert numbered.numbering.size == len(distinct)
    (decoded,) = numbered.numbering.decode(np.arange(len(distinct)))
    assert decoded.tolist() == distinct
    for other in INTEGERS:
        limits = np.iinfo(other)
        beside = [one for one in distinct if limits.min <= one <= limits.max]
        wanted = np.array([limits.min, limits.max, 5, *beside], other)
        expected = [distinct.index(one) if one in distinct else -1 for one in wanted.tolist()]
        assert numbered.numbering.encode([wanted]).tolist() == expected


@pytest.mark.parametrize("policy", ["sum", "min", "max", "mean", "first"])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("wide", [False, True])
def test_duplicates_are_merged_equally(monkeypatch, policy, directed, wide):
    if wide:  # as many vertices as need two sorts
        monkeypatch.setattr(device_order, "_INT64_MAX", 1)
    frame = edges_of(np.random.default_rng(2), 0, 6)
    options = {"weight": "w", "attributes": "a", "directed": directed, "duplicates": policy}
    check_same(Graph(frame, **options), Graph(cudf(frame), **options))
    apart = pd.DataFrame({"source": [0, 1], "destination": [1, 2], "w": [1.0, 2.0], "a": [1, 2]})
    check_same(Graph(apart, **options), Graph(cudf(apart), **options))
    check_same(Graph(apart[:0], **options), Graph(cudf(apart[:0]), **options))


def test_sums_beyond_int64_are_refused_equally():
    frame = pd.DataFrame({"source": [0, 0], "destination": [1, 1], "w": [2**62, 2**62]})
    check_refused(frame, weight="w", duplicates="sum")


@pytest.mark.parametrize("policy", ["sum", "mean"])
def test_weights_merged_to_nan_are_refused_equally(policy):
    frame = pd.DataFrame({"source": [3, 7, 7], "destination": [7, 9, 9], "w": [1.0, 1e308, 1e308]})
    check_refused(frame, weight="w", duplicates=policy)


@pytest.mark.parametrize("directed", [True, False])
def test_self_loops(directed):
    frame = edges_of(np.random.default_rng(3), 3, 9)
    for policy in ("keep", "drop"):
        options = {"weight": "w", "directed": directed, "self_loops": policy}
        check_same(Graph(frame, **options), Graph(cudf(frame), **options))
    check_refused(frame, self_loops="error")
    assert Graph(cudf(frame[:0]), self_loops="error").report.self_loops == 0


@pytest.mark.parametrize(("dtype", "content"), CASES, ids=[f"{d}-{c}" for d, c in CASES])
def test_ids_come_back_in_their_own_type(dtype, content):
    values = THREE[content]
    frame = pd.DataFrame(
        {
            "source": pd.Series([values[2], values[0]], dtype=dtype),
            "destination": pd.Series([values[0], values[1]], dtype=dtype),
        }
    )
    host, made = Graph(frame), Graph(cudf(frame))
    columns = {"next": VertexNumbers(np.array([2, -1, 0]))}
    out, expected = plain(made.vertex_frame(columns)), host.vertex_frame(columns)
    assert out["vertex"].dtype == frame["source"].dtype
    pd.testing.assert_frame_equal(out, expected)
    pd.testing.assert_frame_equal(plain(made.edge_frame()), host.edge_frame())
    assert facts(made.report) == facts(host.report)
    assert made.numbers(made.vertex_frame({})["vertex"], "start").tolist() == [0, 1, 2]
    assert made.numbers([values[1]], "start").tolist() == [1]
    assert made.describe(1) == host.describe(1)
    pd.testing.assert_frame_equal(
        plain(Graph(cudf(frame), self_loops="drop", duplicates="first").edge_frame()),
        host.edge_frame(),
    )


def test_several_columns_make_an_id():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "s": rng.choice(["x", "y", "z"], 30),
            "i": rng.integers(0, 3, 30),
            "d": rng.choice(["x", "w"], 30),
            "j": rng.integers(0, 3, 30),
        }
    )
    names = ["s", "i"], ["d", "j"]
    host, made = Graph(frame, *names), Graph(cudf(frame), *names)
    assert facts(made.report) == facts(host.report)
    columns = {"next": VertexNumbers(np.arange(host.number_of_vertices) - 1)}
    pd.testing.assert_frame_equal(plain(made.vertex_frame(columns)), host.vertex_frame(columns))
    pd.testing.assert_frame_equal(plain(made.edge_frame()), host.edge_frame())
    ids = list(host.vertex_frame({}).itertuples(index=False, name=None))
    assert made.numbers(ids, "start").tolist() == list(range(len(ids)))
    assert made.number(ids[1], "start") == 1
    for graph in (host, made):
        with pytest.raises(InputError, match=r"start: \('q', 0\) is not a vertex"):
            graph.number(("q", 0), "start")


def test_too_many_pairs(monkeypatch):
    monkeypatch.setattr(device_numbering, "_INT64_MAX", 3)
    frame = cudf(pd.DataFrame({"a": ["x", "y"], "b": [0, 1], "c": ["x", "y"], "d": [0, 0]}))
    with pytest.raises(
        InputError, match=r"2 times 2 combinations.*combine the columns into one of strings"
    ):
        Graph(frame, ["a", "b"], ["c", "d"])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("int8", "int64"),
        ("uint8", "int8"),
        ("uint64", "int32"),
        ("uint32", "uint64"),
        ("Int8", "int16"),
        ("datetime64[s]", "datetime64[ms]"),
        ("timedelta64[s]", "timedelta64[ns]"),
        ("category", "int64"),
    ],
)
def test_columns_of_two_types_take_the_common_one(first, second):
    frame = pd.DataFrame({"source": pd.Series([1, 9]).astype(first)})
    frame["destination"] = pd.Series([9, 3]).astype(second)
    host, made = Graph(frame), Graph(cudf(frame))
    pd.testing.assert_frame_equal(plain(made.vertex_frame({})), host.vertex_frame({}))
    assert made.csc.indices.tolist() == host.csc.indices.tolist()


def test_differing_categories_are_joined():
    frame = pd.DataFrame({"source": ["b", "a"], "destination": ["c", "b"]}, dtype="category")
    host, made = Graph(frame), Graph(cudf(frame))
    pd.testing.assert_frame_equal(plain(made.vertex_frame({})), host.vertex_frame({}))
    joined = join_categories([frame[name].dtype for name in frame])
    assert joined.categories.tolist() == ["a", "b", "c"]


def test_the_categories_of_cudf_are_joined_by_cudf():
    kind = type("CategoricalDtype", (), {"__module__": "cudf.core.dtypes"})
    first, second = kind(), kind()
    first.categories, second.categories = pd.Index(["b", "a"]), pd.Index(["c", "b"])
    assert join_dtypes([first, second]).categories.tolist() == ["b", "a", "c"]


def test_empty_frames():
    for dtype in ("int64", "uint16", "str", "object", "datetime64[ns]", "category"):
        frame = pd.DataFrame({"source": [], "destination": []}, dtype=dtype)
        made = Graph(cudf(frame))
        out = made.vertex_frame({"x": np.empty(0), "p": VertexNumbers(np.empty(0, np.int64))})
        assert out.columns.tolist() == ["vertex", "x", "p"]
        assert len(out) == len(made.edge_frame()) == made.report.vertices == 0
        with pytest.raises(InputError, match="start"):
            made.number("a", "start")
    for dtype, wanted in (("int64", 3), (pd.CategoricalDtype(["a"]), "a")):
        made = Graph(cudf(pd.DataFrame({"source": [], "destination": []}, dtype=dtype)))
        with pytest.raises(InputError, match=f"start: {wanted!r} is not a vertex of the graph"):
            made.number(wanted, "start")
    numbers = pd.DataFrame({"source": [], "destination": []}, dtype=pd.CategoricalDtype([1, 2]))
    assert Graph(cudf(numbers)).vertex_frame({})["vertex"].dtype == numbers["source"].dtype
    untyped = pd.DataFrame({"source": [], "destination": []}, dtype="str")
    for ids in ([5, 3], ["b", "a"], [MOMENT, MOMENT + STEP]):
        made = Graph(cudf(untyped), vertices=cudf(pd.DataFrame({"vertex": ids})))
        assert made.vertex_frame({})["vertex"].to_numpy().tolist() == (
            Graph(untyped.astype(object), vertices=pd.DataFrame({"vertex": ids}))
            .vertex_frame({})["vertex"].to_numpy().tolist()
        )  # fmt: skip


# ---------------------------------------------------------------------- what is refused, alike


def check_refused(frame, **options):
    """Both kinds of graph refuse a frame with the same words."""
    with pytest.raises(InputError) as host:
        Graph(frame, **options)
    given = cudf(frame)
    with pytest.raises(InputError) as made:
        Graph(given, consume=True, **options)
    assert str(made.value) == str(host.value)
    assert given.columns.tolist() == frame.columns.tolist()


ONE = {"source": [0, 1], "destination": [1, 0]}


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        ({"source": [0]}, {}),
        ({"sorce": [0], "destination": [1]}, {}),
        (ONE, {"weight": "w"}),
        ({**ONE, "source": [0.5, 1]}, {}),
        ({**ONE, "source": [True, False]}, {}),
        ({**ONE, "source": ["a", "b"]}, {}),
        ({"source": ["a", None], "destination": ["b", "c"]}, {}),
        ({**ONE, "source": pd.array([None, 1], "Int64")}, {}),
        ({**ONE, "source": pd.Categorical(["a", None]), "destination": ["a", "b"]}, {}),
        ({**ONE, "source": pd.to_datetime(["2024-01-01", None])}, {}),
        ({**ONE, "w": [1.0, np.nan]}, {"weight": "w"}),
        ({**ONE, "w": [1.0, -np.inf]}, {"weight": "w"}),
        ({**ONE, "w": pd.array([1, None], "Int64")}, {"weight": "w"}),
        ({**ONE, "w": ["a", "b"]}, {"weight": "w"}),
        ({**ONE, "w": pd.to_datetime(["2024-01-01", "2024-01-02"])}, {"weight": "w"}),
        ({**ONE, "w": np.array([1, 2**63], np.uint64)}, {"weight": "w"}),
        ({**ONE, "a": [1.0, np.nan]}, {"attributes": "a"}),
        ({"source": [5, 9, 5], "destination": [9, 5, 9]}, {"duplicates": "error"}),
        (
            {"source": [5, 9, 9], "destination": [9, 5, 9]},
            {"duplicates": "error", "directed": False},
        ),
        (
            {
                "source": np.array([1, 2**63], np.uint64),
                "destination": np.array([1, 2], np.int64),
            },
            {},
        ),
    ],
)
def test_bad_frames_are_refused_with_the_same_words(columns, options):
    check_refused(pd.DataFrame(columns), **options)


def test_times_that_the_finer_unit_cannot_hold():
    far = pd.Series([np.datetime64("9999-01-01", "s")])
    frame = pd.DataFrame({"source": far, "destination": pd.Series([MOMENT], dtype="M8[ns]")})
    with pytest.raises(InputError, match="cast the columns of ids to one unit"):
        Graph(cudf(frame))
    moment = pd.Series([MOMENT], dtype="M8[s]")
    made = Graph(cudf(pd.DataFrame({"source": moment, "destination": moment})))
    with pytest.raises(InputError, match="finer units would be lost; cast the columns"):
        made.number(pd.Timestamp(1, unit="ns"), "start")


def test_infinite_attributes_are_kept():
    frame = pd.DataFrame({**ONE, "a": np.array([np.inf, 1], np.float32), "b": [True, False]})
    made = Graph(cudf(frame), attributes=["a", "b"])
    assert made.edge_values("a").tolist() == [1, np.inf]
    assert made.edge_dtype("a") == np.float32
    assert made.edge_dtype("b") == np.int64
    with pytest.raises(InputError, match=r"column 'a': the weights at vertex 1 add up to more"):
        made.weight_sums("a", incoming=True)
    with pytest.raises(InputError, match=r"no edge column 'w'; it has: 'a', 'b'"):
        made.edge_values("w")


def test_values_of_no_edges():
    frame = pd.DataFrame({**ONE, "w": [1.0, 2.0]})[:0]
    for graph in (Graph(frame, weight="w"), Graph(cudf(frame), weight="w")):
        assert graph.least_edge_value("w") is None
        assert graph.greatest_edge_value("w") is None
        assert graph.edge_dtype("w") == np.float64


def test_an_edge_is_described_by_its_ids():
    frame = pd.DataFrame({"source": ["a", "b"], "destination": ["b", "c"], "w": [2.0, 1.0]})
    for graph in (Graph(frame, weight="w"), Graph(cudf(frame), weight="w")):
        value, arc = graph.least_edge_value("w")
        assert (value, graph.describe_edge(arc)) == (1.0, "'b' to 'c'")


# ------------------------------------------------------------------ vertices, their attributes


@pytest.mark.parametrize(
    "make",
    [cudf, pd.DataFrame, pl.from_pandas, pa.Table.from_pandas],
    ids=["cudf", "pandas", "polars", "pyarrow"],
)
@pytest.mark.parametrize(
    ("edges", "ids"),
    [
        ([("a", "b")], ["d", "a"]),
        ([(7, 3)], [5, 7]),
        ([(MOMENT, MOMENT + STEP)], [MOMENT - STEP, MOMENT]),
    ],
    ids=["text", "integers", "moments"],
)
def test_vertices_of_any_kind_of_frame(make, edges, ids):
    frame = pd.DataFrame(edges, columns=["source", "destination"])
    vertices = pd.DataFrame({"vertex": ids, "x": [0.5, 1.5], "name": ["p", "q"]})
    host, made = Graph(frame, vertices=vertices), Graph(cudf(frame), vertices=make(vertices))
    assert facts(host.report) == facts(made.report)
    out = plain(made.vertex_frame({}))
    assert out["vertex"].tolist() == host.vertex_frame({})["vertex"].tolist()
    values, known = made.vertex_values("x", "x", np.float32, default=9)
    expected = host.vertex_values("x", "x", np.float32, default=9)
    assert values.tolist() == expected[0].tolist()
    assert known.tolist() == expected[1].tolist()
    with pytest.raises(InputError, match=r"column 'name' \(vertices\) holds .*string; numbers are"):
        made.vertex_values("name", "x", np.float64)


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("ids", [[0, 1, 2, 3], [3, 7, 100, 120]], ids=["dense", "sparse"])
def test_few_vertices_are_found_as_many_are(ids, kind, monkeypatch):
    graph = Graph(cudf(pd.DataFrame({"source": ids[:2], "destination": ids[2:]}).astype(kind)))

    def outcome(wanted):
        try:
            return graph.numbers(wanted, "start").tolist()
        except InputError as error:
            return str(error).replace("(str)", "(string)")  # on the device, and on the host

    asked = [
        [ids[2]], ids, ids[::-1], np.array(ids[1:], np.int16), pd.Series(ids, dtype="uint64"),
        [5], [ids[0], -1, 5], [2**63 - 1], [2**64 - 1], [0.5], ["a"], [None], [], cudf(pd.Series(ids)),
    ]  # fmt: skip
    few = [outcome(wanted) for wanted in asked]
    assert few[:5] == [[2], [0, 1, 2, 3], [3, 2, 1, 0], [1, 2, 3], [0, 1, 2, 3]]
    monkeypatch.setattr(device_vertices, "FEW", 0)
    assert few == [outcome(wanted) for wanted in asked]


def test_vertices_that_cannot_be_there_are_not_looked_for(gpu):
    graph = Graph(cudf(pd.DataFrame({"source": [3, 7], "destination": [7, 100]})))
    assert graph.numbers([7], "start").tolist() == [1]
    asked = gpu.downloads
    with pytest.raises(InputError, match=r"start: 2 is not a vertex of the graph, and 1 more"):
        graph.numbers([2, 101], "start")
    assert gpu.downloads == asked


def test_vertices_on_the_device_of_edges_on_the_host():
    frame = pd.DataFrame({"source": ["a"], "destination": ["b"]})
    graph = Graph(frame, vertices=cudf(pd.DataFrame({"vertex": ["c"], "x": [1.5]})))
    assert not graph.device_resident
    assert graph.vertex_frame({})["vertex"].tolist() == ["a", "b", "c"]
    assert graph.vertex_values("x", "x", float, default=0)[0].tolist() == [0, 0, 1.5]
    assert graph.numbers(cudf(frame)["source"], "start").tolist() == [0]
    assert graph.numbers(cudf(frame)[["destination"]], "start", on_device=True).tolist() == [1]


@pytest.mark.parametrize(
    "vertices",
    [
        pd.DataFrame({"vertex": []}, dtype=object),
        pa.table({"vertex": pa.array(["c", "a"]).dictionary_encode()}),
        pa.table({"vertex": pa.array(["c", "a"], pa.string_view())}),
        pl.DataFrame({"vertex": ["c", "a"]}, schema={"vertex": pl.Categorical}),
    ],
    ids=["nothing", "dictionary", "view", "categorical"],
)
def test_vertices_of_types_that_cudf_lacks(vertices):
    frame = cudf(pd.DataFrame({"source": ["a"], "destination": ["b"]}))
    out = Graph(frame, vertices=vertices).vertex_frame({})
    assert out["vertex"].to_numpy().tolist() == ["a", "b", "c"][: 2 + (len(vertices) > 0)]


def test_null_may_be_a_category(monkeypatch):
    class Dtype(pd.CategoricalDtype):
        categories = pd.Index(["a", None, "b"])

    frame = cudf(pd.DataFrame({"source": ["a", "b"], "destination": ["b", "a"]}, dtype="category"))
    assert missing(frame["source"]) is None
    monkeypatch.setattr(pd.CategoricalDtype, "categories", Dtype.categories)
    assert missing(frame["source"]).tolist() == [False, True]
    assert missing(frame["source"].take([0])) is None


def test_bytes_have_no_type_in_cudf():
    frame = cudf(pd.DataFrame({"source": ["a"], "destination": ["b"]}))
    with pytest.raises(InputError, match=r"column 'vertex' \(vertices\) holds binary, which cuDF"):
        Graph(frame, vertices=pa.table({"vertex": [b"a"]}))


@pytest.fixture
def three():
    """Vertices 1, 5, 9, with the attributes x (of all) and name (text)."""
    return Graph(
        cudf(pd.DataFrame({"source": [9, 5], "destination": [5, 1]})),
        vertices=cudf(
            pd.DataFrame({"vertex": [9, 1, 5], "x": [0.9, 0.1, 0.5], "name": list("abc")})
        ),
    )


@pytest.mark.parametrize(
    "data",
    [
        cudf(pd.DataFrame({"vertex": [9, 1, 5], "anything": [0.9, 0.1, 0.5]})),
        pd.DataFrame({"vertex": [9, 1, 5], "anything": [0.9, 0.1, 0.5]}),
        pl.DataFrame({"source": [9, 1, 5], "values": [0.9, 0.1, 0.5]}),
        {9: 0.9, 1: 0.1, 5: 0.5},
        "x",
    ],
    ids=["cudf", "pandas", "polars", "dict", "attribute"],
)
@pytest.mark.parametrize("on_device", [False, True])
def test_vertex_values_are_aligned(three, data, on_device):
    values, known = three.vertex_values(data, "nstart", np.float64, on_device=on_device)
    assert values.tolist() == [0.1, 0.5, 0.9]
    assert known.all()


@pytest.mark.parametrize(
    ("data", "dtype", "message"),
    [
        ("y", float, r"no such vertex attribute; it has: 'x', 'name'"),
        ({1: 1.0, 7: 2.0}, float, r"7 is not a vertex of the graph;"),
        ({7: 1.0, 8: 2.0}, float, r"7 is not a vertex of the graph, and 1 more"),
        ({1: None, 5: 2.0}, float, r"row 0 is null"),
        ({1: np.nan}, float, r"row 0 is nan"),
        ({1: 0.5}, int, r"row 0 is 0.5, which is not a value of int64"),
        ({1: -1}, np.uint64, r"row 0 is -1, which is not a value of uint64"),
        ({1: 1e300}, np.float32, r"row 0 is 1e\+300, which is not a value of float32"),
        (cudf(pd.DataFrame({"vertex": [1, 1], "v": [1, 2]})), float, r"vertex 1 is given 2 times"),
        (cudf(pd.DataFrame({"vertex": ["a"], "v": [1]})), float, r"holds text .* ids are integer"),
        (cudf(pd.DataFrame({"vertex": [1.0], "v": [1]})), float, r"not exact ids"),
        (cudf(pd.DataFrame({"v": [1], "u": [1]})), float, r"must be in 'vertex' or 'source'"),
    ],
)
def test_vertex_values_that_are_refused(three, data, dtype, message):
    with pytest.raises(InputError, match=message):
        three.vertex_values(data, "prior", dtype, default=0)


def test_vertex_values_of_all_or_some(three):
    assert three.vertex_values(3, "x", np.int64)[0].tolist() == [3, 3, 3]
    assert three.vertex_values({}, "x", np.float32, default=7)[0].tolist() == [7, 7, 7]
    values, known = three.vertex_values({5: 2}, "fixed", np.float32, default=7)
    assert (values.tolist(), known.tolist()) == ([7, 2, 7], [False, True, False])
    with pytest.raises(InputError, match=r"fixed: vertex 1 has no value, nor have 1 others"):
        three.vertex_values({5: 2}, "fixed", np.float32)


@pytest.mark.parametrize(
    "values",
    [
        [9, 1],
        np.array([9, 1]),
        pd.Series([9, 1]),
        pl.Series([9, 1]),
        pa.array([9, 1]),
        OnDevice([9, 1]),
        stand_in_cudf.Series([9, 1]),
        cudf(pd.DataFrame({"vertex": [9, 1]})),
        pd.DataFrame({"vertex": [9, 1]}),
    ],
    ids=lambda values: f"{type(values).__module__}.{type(values).__name__}",
)
def test_numbers_of_any_sequence(three, values):
    assert three.numbers(values, "start").tolist() == [2, 0]
    assert three.numbers(values, "start", on_device=True).tolist() == [2, 0]


def test_numbers_of_no_vertex(three):
    for bad in (2, 10**30, "9", 9.0, None, True):
        with pytest.raises(InputError, match="start"):
            three.number(bad, "start")
    with pytest.raises(InputError, match=r"start: 4 is not a vertex of the graph, and 1 more"):
        three.numbers(stand_in_cudf.Series([1, 4, 6]), "start")
    assert three.numbers(stand_in_cudf.Series([], dtype="int64"), "start").tolist() == []


# ------------------------------------------------------------------ life cycle, and transfers


def test_only_small_numbers_pass_through_the_host(gpu, monkeypatch):
    copied = []
    original = type(gpu).to_host

    def counting(self, array):
        copied.append(np.asarray(array).size)
        return original(self, array)

    monkeypatch.setattr(type(gpu), "to_host", counting)
    rng = np.random.default_rng(5)
    frame = edges_of(rng, 0, 200, rows=400)
    for edges in (frame, frame.astype({"source": str, "destination": str})):
        graph = Graph(cudf(edges), weight="w", duplicates="sum", self_loops="drop", directed=False)
        n = graph.number_of_vertices
        graph.vertex_frame({"x": np.zeros(n), "p": VertexNumbers(np.arange(n))})
        graph.edge_frame()
        assert graph.report.edges == graph.number_of_edges
        graph.numbers(graph.vertex_frame({})["vertex"], "start", on_device=True)
        graph.weight_sums("w", incoming=True, on_device=True)
        graph.degree_array(incoming=False, on_device=True)
    assert max(copied) <= 100  # tables of a few numbers; columns have hundreds
    assert stand_in_cudf.Series.copies == 0


@pytest.mark.parametrize("engine", ["cpu", "auto"])
def test_functions_take_cudf_frames_on_any_engine(engine):
    frame = edges_of(np.random.default_rng(12), 0, 12)
    expected = ws.sssp(frame, 3, weight="w", engine="cpu")
    out = ws.sssp(cudf(frame), 3, weight="w", engine=engine)
    pd.testing.assert_frame_equal(plain(out), expected)


def test_changing_the_frame_later_changes_nothing():
    ends = np.array([0, 1, 2]), np.array([1, 2, 0])
    frame = stand_in_cudf.DataFrame(
        {"source": ends[0], "destination": ends[1], "w": [1.0, 2.0, 3.0]}, copy=False
    )
    vertices = cudf(pd.DataFrame({"vertex": [0, 1, 2], "x": [1, 2, 3]}))
    graph = Graph(frame, weight="w", vertices=vertices)
    for one in (frame, vertices):
        for name in one:
            one[name].array._ndarray.setflags(write=True)
            one[name].array._ndarray[:] = 7
    assert graph.csc.indices.tolist() == [2, 0, 1]
    assert graph.edge_values("w").tolist() == [3, 1, 2]
    assert graph.vertex_values("x", "x", np.int64)[0].tolist() == [1, 2, 3]


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("ids", [[0, 1, 2, 3], [4, 7, 8, 30]], ids=["dense", "gaps"])
def test_results_may_be_written_to(ids, dtype):
    """A frame shares its columns neither with the graph nor with the result's arrays."""
    frame = stand_in_cudf.DataFrame({"source": ids[:-1], "destination": ids[1:]}, dtype=dtype)
    with ws.Graph(frame) as graph:
        columns = {"next": VertexNumbers(np.arange(4, dtype=dtype)[::-1].copy())}
        expected = {"vertex": ids, "next": ids[::-1]}
        for _ in range(2):
            found = graph.vertex_frame(columns)
            assert {name: found[name].to_arrow().to_pylist() for name in found} == expected
            for name in found:
                column = found[name].array
                memory = column._ndarray if hasattr(column, "_ndarray") else column._data
                memory.setflags(write=True)
                memory[:] = 5


def test_consume_takes_the_columns():
    frame = cudf(edges_of(np.random.default_rng(6), 0, 9).assign(other=1))
    host = Graph(pd.DataFrame(frame), weight="w")
    graph = Graph(frame, weight="w", consume=True)
    assert frame.columns.tolist() == ["a", "other"]
    check_same(host, graph)


def test_closed_graphs_are_refused():
    with Graph(cudf(pd.DataFrame({**ONE, "w": [1.0, 2.0]})), weight="w") as graph:
        held = graph.on_device()
        assert graph.on_device() is held
    for use in (
        lambda: graph.csc,
        lambda: graph.device_resident,
        lambda: graph.number_of_arcs,
        lambda: graph.report,
        lambda: graph.edge_values("w"),
        lambda: graph.edge_dtype("w"),
        lambda: graph.weight_sums("w", incoming=True),
        lambda: graph.degree_array(incoming=True),
        lambda: graph.least_edge_value("w"),
        lambda: graph.describe_edge(0),
        graph.on_device,
        graph.edge_frame,
        lambda: held.csc,
    ):
        with pytest.raises(InputError, match="the graph is closed"):
            use()
    graph.close()


def test_a_graph_of_the_host_is_copied_once():
    frame = pd.DataFrame({**ONE, "w": [1.0, 2.0]})
    with Graph(frame, weight="w") as graph:
        copy = graph.on_device()
        assert graph.on_device() is copy
        assert copy.arcs == 2
        assert graph.degree_array(incoming=True, on_device=True).tolist() == [1, 1]
        assert graph.weight_sums("w", incoming=True, on_device=True).tolist() == [2, 1]
        assert graph.numbers([1], "start", on_device=True).tolist() == [1]
        assert graph.numbers(OnDevice([1, 0]), "start").tolist() == [1, 0]
        out = graph.vertex_frame({"x": OnDevice([1.5, 2.5]), "p": VertexNumbers(OnDevice([1, 0]))})
        assert type(out) is pd.DataFrame
        assert out["x"].tolist() == [1.5, 2.5]
        masked = Masked(OnDevice([1, 2]), OnDevice([True, False]))
        assert graph.frame_like({"m": masked})["m"].tolist() == [1, pd.NA]
    with pytest.raises(InputError, match="the graph is closed"):
        copy.csc  # noqa: B018 - reading it is refused


def test_a_graph_that_does_not_fit_is_refused(gpu, monkeypatch):
    monkeypatch.setattr(type(gpu), "free_memory", lambda self: 1000)
    frame = cudf(edges_of(np.random.default_rng(7), 0, 9))
    with pytest.raises(GraphMemoryError, match="KiB of GPU memory while it is built"):
        Graph(frame, weight="w")


def test_edges_among_vertices():
    frame = edges_of(np.random.default_rng(8), 0, 9)
    for directed in (True, False):
        host, made = (Graph(one, weight="w", directed=directed) for one in (frame, cudf(frame)))
        inside = np.arange(host.number_of_vertices) % 3 != 0
        rows = host.csc.rows()
        keep = inside[host.csc.indices] & inside[rows]
        expected = host.edge_frame(keep)
        pd.testing.assert_frame_equal(host.edge_frame(among=inside), expected)
        pd.testing.assert_frame_equal(plain(made.edge_frame(among=inside)), expected)
        pd.testing.assert_frame_equal(plain(made.edge_frame(keep)), expected)
        some = keep & (host.edge_values("w") > 0.5)
        pd.testing.assert_frame_equal(
            plain(made.edge_frame(some, among=inside)), host.edge_frame(some)
        )


def test_columns_of_results_of_every_kind():
    out = make_frame(
        {
            "words": ["a", "b"],
            "plain": np.array([1.0, np.nan]),
            "there": OnDevice([3, 4]),
            "bool": Masked(np.array([True, False]), np.array([True, False])),
            "float": Masked(np.array([1.5, 2.5]), np.array([True, False])),
        }
    )
    assert out["words"].to_numpy().tolist() == ["a", "b"]
    assert out["plain"].dtype == np.float64
    assert out["there"].to_numpy().tolist() == [3, 4]
    assert out["bool"].to_numpy().tolist() == [True, pd.NA]
    assert np.isnan(out["float"][1])


# ------------------------------------------------------------------------- arrays and matrices


def test_arrays_of_the_host():
    rng = np.random.default_rng(9)
    source, destination, weight = rng.integers(0, 9, 40), rng.integers(0, 9, 40), rng.random(40)
    frame = pd.DataFrame({"source": source, "destination": destination, "weight": weight})
    host = Graph(frame, weight="weight")
    graph = Graph.from_arrays(source, destination, weight)
    assert graph.weight == "weight"
    assert graph.edge_values("weight").tolist() == host.edge_values("weight").tolist()
    pd.testing.assert_frame_equal(graph.edge_frame(), host.edge_frame())
    assert graph.numbers([3], "start").tolist() == [3]
    both = Graph.from_arrays(
        source.tolist(), pa.array(destination), attributes={"a": pd.Series(weight)}, directed=False
    )
    assert both.edge_attributes == ("a",)
    assert not both.directed


def test_arrays_of_the_device():
    rng = np.random.default_rng(10)
    source, destination, weight = rng.integers(0, 9, 40), rng.integers(0, 9, 40), rng.random(40)
    host = Graph.from_arrays(source, destination, weight, attributes={"a": source})
    made = Graph.from_arrays(
        OnDevice(source),
        OnDevice(destination),
        OnDevice(weight),
        attributes={"a": OnDevice(source)},
    )
    check_same(host, made)
    strided = Graph.from_arrays(
        OnDevice(source[::-2]), OnDevice(destination[::-2]), OnDevice(weight[::-2])
    )
    check_same(Graph.from_arrays(source[::-2], destination[::-2], weight[::-2]), strided)
    series = cudf(pd.DataFrame({"s": source, "d": destination}))
    check_same(Graph.from_arrays(source, destination), Graph.from_arrays(series["s"], series["d"]))


class Exchanged:
    """An array of a library that has nothing but DLPack's protocol."""

    def __init__(self, values, device_type):
        self._values = values
        self._device_type = device_type

    def __dlpack__(self, **options):
        return self._values.__dlpack__()

    def __dlpack_device__(self):
        return (self._device_type, 0)


def test_arrays_by_dlpack(monkeypatch):
    source, destination = np.array([3, 1, 0]), np.array([1, 0, 2])
    graph = Graph.from_arrays(Exchanged(source, 1), Exchanged(destination, 1))
    assert graph.edge_frame()["source"].tolist() == [1, 3, 0]
    assert is_on_device(Exchanged(source, 2))
    monkeypatch.setattr(device().xp, "from_dlpack", lambda array: array._values)
    made = Graph.from_arrays(Exchanged(source, 2), Exchanged(destination, 2))
    check_same(graph, made)


class Tensor(Exchanged):
    """An array that is still being computed on a stream that its interface does not name, as PyTorch's are."""

    @property
    def __cuda_array_interface__(self):
        return {"version": 2, "data": (0, False)}


def test_work_queued_on_another_stream_comes_first(monkeypatch):
    source, destination = np.array([3, 1, 0]), np.array([1, 0, 2])
    ordered = []

    def from_dlpack(array):
        ordered.append(array)
        return array._values

    monkeypatch.setattr(device().xp, "from_dlpack", from_dlpack)
    made = Graph.from_arrays(Tensor(source, 2), Tensor(destination, 2))
    check_same(Graph.from_arrays(source, destination), made)
    assert len(ordered) == 2
    Graph.from_arrays(OnDevice(source), OnDevice(destination))  # has no DLPack
    assert len(ordered) == 2


class Differentiated:
    """A tensor of PyTorch that requires its gradient."""

    @property
    def __cuda_array_interface__(self):
        raise RuntimeError("requires grad")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (OnDevice([0]), OnDevice([1]), Differentiated()),
            r"weight: the array cannot be read: req",
        ),
        (([0, 1], [1]), r"arrays of equal length are needed, not 2 in source, 1 in destination"),
        ((np.zeros((2, 2)), [1]), r"source: a one-dimensional array is needed, not 2-D"),
        ((OnDevice(np.zeros((2, 2))), OnDevice([1])), r"source: a one-dimensional array is needed"),
        ((OnDevice([0]), [1]), r"destination on the host, the other arrays on a GPU; move all"),
        ((OnDevice([0j]), OnDevice([1])), r"source: an array of numbers is needed, not of complex"),
        (([0.5], [1.5]), r"column 'source' \(source\) holds double.*not exact ids"),
        (([0], [1], [np.nan]), r"column 'weight' \(weight\): row 0 is nan"),
        ((Exchanged(np.array(["x"]), 2), OnDevice([1])), r"source: the array cannot be read"),
    ],
)
def test_arrays_that_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        Graph.from_arrays(*arguments)


def test_attributes_under_a_name_that_is_taken():
    with pytest.raises(InputError, match=r"attributes: 'weight' is the name of another column"):
        Graph.from_arrays([0], [1], [1.0], attributes={"weight": [2]})


@pytest.mark.parametrize(
    ("library", "array", "message"),
    [("cudf", OnDevice, r"cuDF is missing: pip install"), ("pandas", list, r"pandas is missing")],
)
def test_the_library_of_the_results_is_asked_for_at_once(monkeypatch, library, array, message):
    monkeypatch.delitem(sys.modules, library)
    monkeypatch.setattr(arrays.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=message):
        Graph.from_arrays(array([0]), array([1]))
    spec = importlib.machinery.ModuleSpec(library, None)
    monkeypatch.setattr(arrays.importlib.util, "find_spec", lambda name: spec)
    assert Graph.from_arrays(array([0]), array([1])).number_of_edges == 1


def test_arrays_where_frames_are_needed():
    for data in (np.zeros(3), OnDevice([1])):
        with pytest.raises(InputError, match=r"edges: .*Graph\.from_arrays\(source, destination\)"):
            Graph(data)
    with pytest.raises(InputError, match=r"Graph\.from_matrix\(matrix\) takes sparse matrices"):
        Graph(sp.eye_array(3))


MATRIX = np.array([[1, 2, 0, 0], [2, 0, 3, 0], [0, 3, 5, 0], [0, 0, 0, 0]], float)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil"])
@pytest.mark.parametrize("directed", [True, False])
def test_sparse_matrices(form, directed):
    graph = Graph.from_matrix(sp.csr_array(MATRIX).asformat(form), directed)
    assert graph.number_of_vertices == 4
    assert graph.report.isolated == 1
    assert graph.number_of_edges == (6 if directed else 4)
    parts = (graph.edge_values("weight"), graph.csc.indices, graph.csc.offsets)
    assert sp.csc_array(parts, (4, 4)).toarray().tolist() == MATRIX.tolist()


def test_rows_of_a_matrix_are_sources():
    graph = Graph.from_matrix(sp.coo_array(([7.0, 0.0], ([0, 0], [2, 1])), (3, 3)))
    assert graph.edge_frame().to_numpy().tolist() == [[0, 1, 0], [0, 2, 7]]


def on_device(matrix):
    """A matrix of CuPy, as far as it is used here."""
    entries = matrix.tocoo()
    held = types.SimpleNamespace(
        **{
            name: np.asarray(getattr(entries, name)).view(Resident)
            for name in ("row", "col", "data")
        }
    )
    return types.SimpleNamespace(shape=matrix.shape, tocoo=lambda: held)


class Resident(np.ndarray):
    """An array that says that it is in a GPU's memory."""

    @property
    def __cuda_array_interface__(self):
        return self.__array_interface__


@pytest.mark.parametrize("directed", [True, False])
def test_sparse_matrices_on_the_device(directed):
    matrix = sp.csr_array(MATRIX)
    made = Graph.from_matrix(on_device(matrix), directed)
    check_same(Graph.from_matrix(matrix, directed), made)


@pytest.mark.parametrize(
    ("matrix", "directed", "message"),
    [
        (np.eye(3), True, r"a sparse matrix of SciPy or CuPy is needed, not ndarray"),
        (sp.csr_array((2, 3)), True, r"a square matrix is needed, not 2 by 3"),
        (sp.csr_array([[0, 1], [0, 0]]), False, r"needs a symmetric matrix"),
        (sp.csr_array([[0, 1], [2, 0]]), False, r"needs a symmetric matrix"),
        (sp.csr_array([[0, np.inf], [0, 0]]), True, r"row 0 is inf"),
    ],
)
def test_matrices_that_are_refused(matrix, directed, message):
    with pytest.raises(InputError, match=message):
        Graph.from_matrix(matrix, directed)


# --------------------------------------------------------------------------- proxies, memory


def test_proxies_come_back_as_proxies(monkeypatch):
    module = types.ModuleType("cudf.pandas")
    module.as_proxy_object = lambda frame: ("proxy", frame)
    monkeypatch.setitem(sys.modules, "cudf.pandas", module)
    frame = pd.DataFrame(ONE)
    for held, kind in ((cudf(frame), stand_in_cudf.DataFrame), (frame, pd.DataFrame)):
        proxy = types.SimpleNamespace(_fsproxy_wrapped=held)
        word, out = Graph(proxy).vertex_frame({"x": np.zeros(2)})
        assert word == "proxy"
        assert type(out) is kind
    assert (
        open_values(types.SimpleNamespace(_fsproxy_wrapped=frame["source"]), "s").values is not None
    )


def test_the_estimate_for_a_gpu():
    frame = cudf(pd.DataFrame(ONE))
    assert estimate_memory(frame, engine="cuda").input == 32
    small = estimate_memory(number_of_edges=1000, number_of_vertices=10, engine="cuda")
    assert small.csc == small.csr == 4000 + 88
    assert small.values == 0
    weighted = estimate_memory(
        number_of_edges=1000, number_of_vertices=10, weighted=True, directed=False, engine="cuda"
    )
    assert (weighted.values, weighted.csr, weighted.csc) == (16_000, 0, 8000 + 88)
    hashed = estimate_memory(
        number_of_edges=1000, number_of_vertices=10, dense=False, engine="cuda"
    )
    assert hashed.peak > small.peak
    assert hashed.numbering > small.numbering
    with pytest.raises(
        InputError, match=r"engine='gpu': did you mean 'cuda'\? choose one of 'cpu', 'cuda'"
    ):
        estimate_memory(number_of_edges=1, engine="gpu")


def test_memory_of_a_graph_on_a_gpu_is_as_estimated():
    frame = edges_of(np.random.default_rng(11), 0, 500, rows=5000)
    graph = Graph(cudf(frame), weight="w")
    told = ws.estimate_memory(
        number_of_edges=5000,
        number_of_vertices=graph.number_of_vertices,
        weighted=True,
        engine="cuda",
    )
    held = graph.report.bytes
    assert held == pytest.approx(told.numbering + told.csc + told.values, rel=0.1)


def test_an_index_is_read_as_a_column():
    column = device_column(pd.Index([3, 1]), "start", "start")
    assert column.values.tolist() == [3, 1]


def test_frames_that_are_open_already():
    frame = open_frame(cudf(pd.DataFrame(ONE)), "edges", on_device=True)
    assert open_frame(frame, "edges") is frame
    assert frame.names == ["source", "destination"]


def test_an_empty_frame_as_cudf_makes_it():
    with emulated(), stand_in_cudf.installed():
        import cudf

        nothing = cudf.DataFrame({"source": np.zeros(0), "destination": np.zeros(0)})
        assert len(ws.pagerank(nothing)) == 0
        with ws.Graph(nothing, vertices=cudf.DataFrame({"vertex": [5, 3]})) as graph:
            frame = graph.vertex_frame({})
        assert frame["vertex"].to_arrow().to_pylist() == [3, 5]


def test_text_is_told_apart_where_hashes_are_equal(monkeypatch):
    asked = []

    def hash_values(series, method):
        asked.append(method)
        return stand_in_cudf.Series(np.full(len(series), 7, np.uint64))

    monkeypatch.setattr(stand_in_cudf.Series, "hash_values", hash_values)
    frame = pd.DataFrame({"source": list("abcabca"), "destination": list("bcaacdb")})
    check_same(ws.Graph(frame), ws.Graph(cudf(frame)))
    assert asked
