"""Frames of every kind go in, and the same kind, flavour and id dtype come out."""

import datetime as dt
import subprocess
import sys
import types
from pathlib import Path
from unittest.mock import Mock

import igraph
import narwhals as nw
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import stand_in_cudf

import cugraph_ws as ws
from cugraph_ws.errors import InputError
from cugraph_ws.frames.base import FrameKind, Masked, VertexNumbers, open_frame, open_values
from cugraph_ws.graph.graph import Graph

DAY = dt.date(2024, 2, 28)
MOMENT = dt.datetime(2024, 2, 28, 12, 30, 15)
ZONED = MOMENT.replace(tzinfo=dt.UTC)
STEP = dt.timedelta(days=1)

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
THREE = {
    "integer": [3, 7, 100],
    "big": [2**53 + 1, 2**53 + 2, 2**63 - 1],  # float64 would not tell the first two apart
    "text": ["", "a", "ß"],
    "moment": [MOMENT, MOMENT + STEP, MOMENT + 2 * STEP],
    "zoned": [ZONED, ZONED + STEP, ZONED + 2 * STEP],
    "day": [DAY, DAY + STEP, DAY + 2 * STEP],
    "span": [STEP, 2 * STEP, 3 * STEP],
    "bytes": [b"", b"\x00", b"\xff"],
    "byte": [b"\x00", b"a", b"\xff"],
}

PANDAS = [
    *[(name, "integer") for name in INTEGERS],
    *[(name.replace("i", "I").replace("u", "U"), "integer") for name in INTEGERS],
    *[(f"{name}[pyarrow]", "integer") for name in INTEGERS],
    *[(dtype, "big") for dtype in ("int64", "Int64", "uint64", "UInt64", "object")],
    *[(dtype, "big") for dtype in ("int64[pyarrow]", pd.CategoricalDtype(THREE["big"]))],
    ("object", "integer"),
    ("object", "text"),
    ("object", "day"),
    ("object", "bytes"),
    ("str", "text"),
    ("string", "text"),
    ("string[python]", "text"),
    (pd.ArrowDtype(pa.string()), "text"),
    (pd.ArrowDtype(pa.large_string()), "text"),
    (pd.ArrowDtype(pa.date32()), "day"),
    (pd.ArrowDtype(pa.binary()), "bytes"),
    (pd.ArrowDtype(pa.timestamp("us", "Europe/Berlin")), "zoned"),
    (pd.CategoricalDtype(["ß", "unused", "a", ""]), "text"),
    (pd.CategoricalDtype(["ß", "a", ""], ordered=True), "text"),
    (pd.CategoricalDtype([100, 7, 3]), "integer"),
    ("datetime64[s]", "moment"),
    ("datetime64[ns]", "moment"),
    ("datetime64[us, UTC]", "zoned"),
    ("datetime64[ms, Europe/Berlin]", "zoned"),
    ("timedelta64[ms]", "span"),
]
POLARS = [
    *[(getattr(pl, name.replace("i", "I").replace("u", "U")), "integer") for name in INTEGERS],
    (pl.Int64, "big"),
    (pl.String, "text"),
    (pl.Categorical, "text"),
    (pl.Enum(["ß", "a", ""]), "text"),
    (pl.Date, "day"),
    (pl.Datetime("ms"), "moment"),
    (pl.Datetime("us", "UTC"), "zoned"),
    (pl.Duration("us"), "span"),
    (pl.Binary, "bytes"),
]
ARROW = [
    *[(getattr(pa, name)(), "integer") for name in INTEGERS],
    (pa.uint64(), "big"),
    (pa.dictionary(pa.int32(), pa.int64()), "big"),
    (pa.string(), "text"),
    (pa.large_string(), "text"),
    (pa.string_view(), "text"),
    (pa.dictionary(pa.int32(), pa.string()), "text"),
    (pa.dictionary(pa.int8(), pa.int64()), "integer"),
    (pa.date32(), "day"),
    (pa.date64(), "day"),
    (pa.timestamp("s"), "moment"),
    (pa.timestamp("ns", "UTC"), "zoned"),
    (pa.duration("ms"), "span"),
    (pa.binary(), "bytes"),
    (pa.large_binary(), "bytes"),
    (pa.binary(1), "byte"),
]


def frame_of(backend, dtype, values):
    """A frame of edges v2 → v0, v0 → v1 whose ends have one dtype."""
    first, last = [values[2], values[0]], [values[0], values[1]]
    if backend == "pandas":
        ends = (pd.Series(one, dtype=dtype) for one in (first, last))
        return pd.DataFrame(dict(zip(("source", "destination"), ends, strict=True)))
    if backend == "polars":
        return pl.DataFrame(
            {"source": first, "destination": last},
            schema={"source": dtype, "destination": dtype},
            strict=False,
        )
    ends = [pa.array(one) for one in (first, last)]
    if pa.types.is_dictionary(dtype):
        ends = [
            pa.DictionaryArray.from_arrays(
                one.dictionary_encode().indices.cast(dtype.index_type), one
            )
            for one in ends
        ]
    ends = [one.cast(dtype) for one in ends]
    return pa.table(dict(zip(("source", "destination"), ends, strict=True)))


def dtype_of(frame, name):
    if isinstance(frame, pa.Table):
        return frame.schema.field(name).type
    return frame[name].dtype


def values_of(frame, name):
    """A column as Python objects, None where null."""
    if isinstance(frame, pa.Table):
        return frame.column(name).to_pylist()
    if isinstance(frame, pl.DataFrame):
        return frame[name].to_list()
    return [None if pd.isna(value) else value for value in frame[name].tolist()]


CASES = [
    *[("pandas", *case) for case in PANDAS],
    *[("polars", *case) for case in POLARS],
    *[("pyarrow", *case) for case in ARROW],
]


@pytest.mark.parametrize(
    ("backend", "dtype", "content"), CASES, ids=[f"{b}-{d}-{c}" for b, d, c in CASES]
)
def test_ids_come_back_in_their_own_type(backend, dtype, content):
    values = THREE[content]
    frame = frame_of(backend, dtype, values)
    graph = Graph(frame)
    assert graph.number_of_vertices == 3
    out = graph.vertex_frame({"next": VertexNumbers(np.array([2, -1, 0]))})
    assert type(out) is type(frame)
    assert dtype_of(out, "vertex") == dtype_of(frame, "source")
    assert values_of(out, "vertex") == values
    assert values_of(out, "next") == [values[2], None, values[0]]
    back = graph.edge_frame()
    assert dtype_of(back, "source") == dtype_of(frame, "source")
    pairs = list(zip(values_of(back, "source"), values_of(back, "destination"), strict=True))
    assert sorted(pairs) == sorted([(values[2], values[0]), (values[0], values[1])])
    assert graph.numbers(out["vertex"], "start").tolist() == [0, 1, 2]
    assert graph.numbers([values[1]], "start").tolist() == [1]


@pytest.mark.parametrize("name", INTEGERS)
def test_pandas_integers_with_nulls_stay_as_wide(name):
    graph = Graph(frame_of("pandas", name, THREE["integer"]))
    out = graph.vertex_frame(
        {
            "some": VertexNumbers(np.array([2, -1, 0])),
            "none": VertexNumbers(np.array([2, 1, 0]), nullable=True),
            "all": VertexNumbers(np.array([2, 1, 0])),
        }
    )
    nullable = name.replace("i", "I").replace("u", "U")
    assert [str(dtype) for dtype in out.dtypes] == [name, nullable, nullable, name]


def test_result_columns_of_numpy_backed_pandas():
    graph = Graph(pd.DataFrame({"source": [0], "destination": [1]}))
    valid = np.array([True, False])
    out = graph.frame_like(
        {
            "int": Masked(np.array([1, 2]), valid),
            "float": Masked(np.array([1.5, 2], np.float32), valid),
            "bool": Masked(np.array([True, False]), valid),
            "plain": np.array([1.0, 2.0]),
            "words": ["a", "b"],
        }
    )
    assert [str(d) for d in out.dtypes] == ["Int64", "float32", "boolean", "float64", "str"]
    assert out["int"].tolist() == [1, pd.NA]
    assert np.isnan(out["float"][1])
    assert out["words"].tolist() == ["a", "b"]


@pytest.mark.parametrize("backend", ["arrow-pandas", "polars", "pyarrow"])
def test_result_columns_elsewhere_have_nulls(backend):
    frame = pa.table({"source": [0], "destination": [1]})
    if backend == "polars":
        frame = pl.from_arrow(frame)
    elif backend == "arrow-pandas":
        frame = frame.to_pandas(types_mapper=pd.ArrowDtype)
    out = Graph(frame).vertex_frame(
        {
            "int": Masked(np.array([1, 2]), np.array([True, False])),
            "float": Masked(np.array([1.5, np.nan]), np.array([False, True])),
            "plain": np.array([1, 2], np.int32),
            "words": ["a", "b"],
        }
    )
    assert type(out) is type(frame)
    assert values_of(out, "int") == [1, None]
    assert values_of(out, "plain") == [1, 2]
    assert values_of(out, "words") == ["a", "b"]
    if backend == "arrow-pandas":
        assert all(isinstance(dtype, pd.ArrowDtype) for dtype in out.dtypes)
        assert out["float"].isna().tolist()[0]
    else:
        first, second = values_of(out, "float")
        assert first is None
        assert np.isnan(second)


def test_results_may_be_written_to():
    out = Graph(pd.DataFrame({"source": [5], "destination": [9]})).vertex_frame({"x": np.ones(2)})
    out.loc[0, "vertex"] = 7
    assert out["vertex"].tolist() == [7, 9]


def test_several_chunks_and_slices():
    table = pa.concat_tables(
        [pa.table({"source": ["b", "c"], "destination": ["c", "a"]}) for _ in range(3)]
    ).slice(1, 4)
    graph = Graph(table)
    assert graph.number_of_edges == 4
    assert graph.vertex_frame({}).column("vertex").to_pylist() == ["a", "b", "c"]
    encoded = pa.chunked_array(
        [pa.array(["x"]).dictionary_encode(), pa.array(["y"]).dictionary_encode()]
    )
    graph = Graph(pa.table({"source": encoded, "destination": encoded}))
    assert graph.csc.indices.tolist() == [0, 1]


BIG_ENDIAN = [">i2", ">i4", ">i8", ">u2", ">u4", ">u8"]


@pytest.mark.parametrize("dtype", BIG_ENDIAN)
def test_ids_and_weights_of_the_other_byte_order(dtype):
    source, destination = np.array([3, 7, 7], dtype), np.array([7, 100, 1000], dtype)
    frame = pd.DataFrame(
        {"source": source, "destination": destination, "w": np.array([1, 0.5, 2], ">f8")}
    )
    vertices = pd.DataFrame({"vertex": np.array([3, 7, 77, 100, 1000], dtype)})
    for graph in (
        Graph(frame, weight="w", vertices=vertices),
        Graph.from_arrays(source, destination, np.array([1, 0.5, 2], ">f4"), vertices=vertices),
    ):
        result = ws.sssp(graph, source[:1])
        assert result["vertex"].tolist() == [3, 7, 77, 100, 1000]
        assert result["vertex"].dtype == np.dtype(dtype).newbyteorder("=")
        assert result["distance"].fillna(-1).tolist() == [0, 1, -1, 1.5, 3]
        assert result["predecessor"].fillna(0).tolist() == [0, 3, 0, 7, 7]
    two = frame.assign(more=source[::-1], other=destination)
    found = ws.bfs(Graph(two, ["source", "more"], ["destination", "other"]), [(3, 7)])
    assert found[["source", "more"]].to_numpy().tolist() == [
        [3, 7], [7, 3], [7, 7], [100, 100], [1000, 1000],
    ]  # fmt: skip
    given = pd.DataFrame({"vertex": destination, "values": np.array([1, 2, 3], ">f8")})
    values, _ = graph.vertex_values(given, "given", np.float64, 0.5)
    assert values.tolist() == [0.5, 1, 0.5, 2, 3]


def test_a_matrix_of_the_other_byte_order():
    matrix = sp.coo_array((np.array([1.0, 2.0]), ([0, 1], [1, 2])), shape=(4, 4))
    matrix.row, matrix.col = matrix.row.astype(">i4"), matrix.col.astype(">i4")
    matrix.data = matrix.data.astype(">i4")
    found = ws.sssp(Graph.from_matrix(matrix), 0)
    assert found["distance"].fillna(-1).tolist() == [0, 1, 3, -1]
    compressed = sp.csr_array(np.eye(3))
    compressed.data = compressed.data.astype(">f8")
    try:
        assert Graph.from_matrix(compressed).number_of_edges == 3
    except InputError as error:  # recent releases of SciPy have no code for them
        assert "matrix: it cannot be read: " in str(error)  # noqa: PT017


@pytest.mark.parametrize(
    ("dtype", "kept"),
    [
        ("M8[D]", "datetime64[s]"),
        ("M8[W]", "datetime64[s]"),
        ("M8[Y]", "datetime64[s]"),
        (">M8[h]", "datetime64[s]"),
        (">M8[ms]", "datetime64[ms]"),
        ("m8[D]", "timedelta64[s]"),
        ("S3", object),
        ("U3", "str"),
    ],
)
def test_arrays_of_dtypes_that_pandas_does_not_have(dtype, kept):
    source, destination = np.arange(1, 4).astype(dtype), np.arange(2, 5).astype(dtype)
    found = ws.bfs(Graph.from_arrays(source, destination), source[:1])
    assert found["distance"].tolist() == [0, 1, 2, 3]
    assert found["vertex"].dtype == kept
    expected = np.arange(1, 5).astype(dtype)
    if expected.dtype.kind in "mM":
        expected = expected.astype(kept)
    assert found["vertex"].tolist() == pd.Series(expected).tolist()


@pytest.mark.parametrize("dtype", ["M8[ps]", "M8", "m8[M]", "g"])
def test_arrays_of_dtypes_without_exact_values(dtype):
    ends = np.arange(1, 4).astype(dtype)
    with pytest.raises(InputError, match=r"column 'source' \(source\) holds .*; cast it to "):
        Graph.from_arrays(ends, ends)


def test_arrays_and_series_of_other_libraries_give_pandas():
    for source, destination in (
        (["a", "b"], ["b", "c"]),
        (pl.Series(["a", "b"]), pl.Series(["b", "c"])),
        (pa.array(["a", "b"]), pa.chunked_array([["b", "c"]])),
    ):
        found = ws.bfs(Graph.from_arrays(source, destination), "a")
        assert found["vertex"].tolist() == ["a", "b", "c"]
        assert found["predecessor"].isna().tolist() == [True, False, False]


def test_strided_and_read_only_columns():
    block = np.arange(12).reshape(6, 2)
    block.flags.writeable = False
    frame = pd.DataFrame(block, columns=["source", "destination"])
    graph = Graph(frame.iloc[::2])
    assert graph.edge_frame()["source"].tolist() == [0, 4, 8]
    assert graph.edge_frame()["destination"].tolist() == [1, 5, 9]


def test_record_batch_becomes_a_table():
    batch = pa.record_batch({"source": [0], "destination": [1]})
    assert isinstance(Graph(batch).vertex_frame({}), pa.Table)


def test_codes_widen_where_all_ids_outnumber_them():
    def column(low):
        codes = pa.array(np.arange(100, dtype=np.int8))
        return pa.DictionaryArray.from_arrays(codes, pa.array(np.arange(low, low + 100)))

    graph = Graph(pa.table({"source": column(0), "destination": column(100)}))
    out = graph.vertex_frame({}).column("vertex")
    assert out.to_pylist() == list(range(200))
    assert out.type == pa.dictionary(pa.int32(), pa.int64())


def test_differing_categories_are_joined():
    frame = pd.DataFrame({"source": ["b", "a"], "destination": ["c", "b"]}, dtype="category")
    assert frame["source"].dtype != frame["destination"].dtype
    out = Graph(frame).vertex_frame({})
    assert out["vertex"].tolist() == ["a", "b", "c"]
    assert out["vertex"].dtype.categories.tolist() == ["a", "b", "c"]


def test_a_categorical_and_plain_strings_give_strings():
    frame = pd.DataFrame({"source": ["b"], "destination": ["a"]}, dtype="str")
    frame["source"] = frame["source"].astype("category")
    assert Graph(frame).vertex_frame({})["vertex"].dtype == "str"


@pytest.mark.parametrize(
    ("dtype", "values", "kept"),
    [
        ("int64", [1, 2, 3], "int64"),
        ("int32", [1, 2, 3], "int64"),
        ("Int64", [1, 2, 3], "Int64"),
        ("object", ["a", "b", "c"], "object"),
        ("str", ["a", "b", "c"], "str"),
        ("category", ["a", "b", "c"], "str"),
    ],
)
def test_vertices_of_another_library(dtype, values, kept):
    frame = pd.DataFrame({"source": values[:1], "destination": values[1:2]}).astype(dtype)
    out = Graph(frame, vertices=pl.DataFrame({"vertex": values[2:]})).vertex_frame({})
    assert out["vertex"].tolist() == values
    assert out["vertex"].dtype == kept
    back = Graph(
        pl.DataFrame({"source": values[:1], "destination": values[1:2]}),
        vertices=pd.DataFrame({"vertex": values[2:]}).astype(dtype),
    ).vertex_frame({})
    assert back["vertex"].to_list() == values


def test_categories_of_another_library():
    frame = pd.DataFrame({"source": ["a"], "destination": ["b"]}, dtype="category")
    vertices = pl.DataFrame({"vertex": ["c"]}, schema={"vertex": pl.Categorical})
    assert Graph(frame, vertices=vertices).vertex_frame({})["vertex"].dtype == "str"


def test_differing_enums_give_strings():
    frame = pl.DataFrame(
        {"source": ["a"], "destination": ["b"]},
        schema={"source": pl.Enum(["a"]), "destination": pl.Enum(["b"])},
    )
    assert Graph(frame).vertex_frame({})["vertex"].dtype == pl.String


@pytest.mark.parametrize(
    ("first", "second", "common"),
    [
        ("int8", "int64", "int64"),
        ("uint8", "int8", "int16"),
        ("uint64", "int32", "int64"),
        ("uint32", "uint64", "uint64"),
        ("Int8", "int16", "int16"),
    ],
)
def test_integers_of_two_widths_take_the_common_one(first, second, common):
    frame = pd.DataFrame({"source": pd.Series([1, 9], dtype=first)})
    frame["destination"] = pd.Series([9, 3], dtype=second)
    out = Graph(frame).vertex_frame({})
    assert out["vertex"].dtype == common
    assert out["vertex"].tolist() == [1, 3, 9]


def test_common_integers_of_arrow_backed_columns():
    frame = pd.DataFrame({"source": pd.Series([1], dtype="uint8[pyarrow]")})
    frame["destination"] = pd.Series([3], dtype="int8[pyarrow]")
    assert Graph(frame).vertex_frame({})["vertex"].dtype == "int16[pyarrow]"


def test_times_of_two_units_take_the_finer_one():
    frame = pd.DataFrame({"source": pd.Series([MOMENT], dtype="datetime64[s]")})
    frame["destination"] = pd.Series([MOMENT + STEP], dtype="datetime64[ms]")
    out = Graph(frame).vertex_frame({})
    assert out["vertex"].dtype == "datetime64[ms]"
    assert out["vertex"].tolist() == [MOMENT, MOMENT + STEP]


def test_times_that_the_finer_unit_cannot_hold():
    far = pd.Series([np.datetime64("9999-01-01", "s")])
    frame = pd.DataFrame({"source": far, "destination": pd.Series([MOMENT], dtype="M8[ns]")})
    with pytest.raises(InputError, match="cast the columns of ids to one unit"):
        Graph(frame)


@pytest.mark.parametrize(
    "kind",
    [pa.timestamp("s"), pa.duration("ns"), pa.date32(), pa.date64(), pa.time32("s")],
    ids=str,
)
def test_times_that_are_their_own_numbers(kind):
    step = 86_400_000 if kind == pa.date64() else 1
    width = pa.int32() if kind.bit_width == 32 else pa.int64()
    source, destination = (pa.array([step * i], width).cast(kind) for i in (0, 1))
    graph = Graph(pa.table({"source": source, "destination": destination}))
    assert graph.edge_frame().to_pydict() == {
        "source": source.to_pylist(),
        "destination": destination.to_pylist(),
    }
    assert graph.report.renumbered == ("sorted" if step > 1 else "no")


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_nanoseconds_of_python_objects_count(zone):
    moments = pd.to_datetime([1, 2, 3], unit="ns", utc=True).tz_convert(zone)
    graph = Graph(pd.DataFrame({"source": moments[:2], "destination": moments[1:]}))
    assert graph.numbers(list(moments), "start").tolist() == [0, 1, 2]
    assert graph.number(moments[1], "start") == 1
    frame = pd.DataFrame({"source": moments[:2], "destination": moments[1:]}, dtype=object)
    assert Graph(frame).number_of_vertices == 3
    spans = pd.to_timedelta([1, 2], unit="ns")
    assert (
        Graph(pd.DataFrame({"source": spans, "destination": spans}, dtype=object)).report.edges == 2
    )
    whole = [pd.Timedelta("1s"), None]
    assert open_values(whole, "start").values.type == pa.duration("us")


# cuDF on a machine whose graph is on the host


def test_cudf_frames_are_read_on_the_host_too():
    with stand_in_cudf.installed():
        frame = stand_in_cudf.DataFrame({"source": ["b"], "destination": ["a"], "x": [1.5]})
        graph = Graph(pd.DataFrame({"source": ["b"], "destination": ["a"]}))
        assert graph.numbers(frame["source"], "start").tolist() == [1]
        assert graph.numbers(frame[["destination"]], "start").tolist() == [0]
        values, given = graph.vertex_values(frame[["source", "x"]], "x", np.float64, default=0)
        assert values.tolist() == [0, 1.5]
        assert given.tolist() == [False, True]
        opened = open_frame(frame, "edges")
        assert (opened.names, len(opened)) == (["source", "destination", "x"], 1)


def test_cudf_pandas_proxies_are_unwrapped():
    class Proxy:
        _fsproxy_wrapped = pd.DataFrame({"source": [0], "destination": [1]})

    assert open_frame(Proxy(), "edges").kind_like("source").proxy
    assert Graph(pd.DataFrame({"source": [0], "destination": [1]}), vertices=Proxy()).report


# what is no frame


@pytest.mark.parametrize(
    ("data", "remedy"),
    [
        (np.zeros((2, 2)), r"pandas\.DataFrame\(array"),
        ({"source": [0]}, r"pyarrow\.table\(data\)"),
        ([(0, 1)], r"pandas\.DataFrame\(data, columns=\['source', 'destination'\]\)"),
        (types.SimpleNamespace(compute=None), r"it is lazy: \.compute\(\) it"),
        ("edges.parquet", r"not str; read the file first, for example by pandas\.read_parquet"),
        (Path("edges.csv"), "read the file first"),
        (nx.DiGraph([(0, 1)]), r"networkx\.to_pandas_edgelist\(graph, target='destination'\)"),
        (
            igraph.Graph([(0, 1)]),
            r"graph\.get_edge_dataframe\(\) makes one, for destination='target'",
        ),
        (7, "not int; "),
        (None, "not NoneType"),
        (pd.Series([1]), "not Series"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_things_are_refused_with_a_remedy(data, remedy):
    with pytest.raises(InputError, match=rf"edges: .*{remedy}"):
        Graph(data)


def test_the_remedies_for_graphs_of_other_libraries_work():
    pairs = [(0, 1), (1, 2)]
    frame = nx.to_pandas_edgelist(nx.DiGraph(pairs), target="destination")
    assert Graph(frame).number_of_edges == 2
    frame = igraph.Graph(pairs).get_edge_dataframe()
    assert Graph(frame, destination="target").number_of_edges == 2


def test_frames_that_only_narwhals_knows(monkeypatch):
    stand_in = Mock(spec=nw.DataFrame, columns=["source"])
    stand_in.implementation.value = "modin"
    monkeypatch.setattr("cugraph_ws.frames.base.nw.from_native", lambda data, **options: stand_in)
    with pytest.raises(InputError, match="edges: frames of modin are not supported; convert"):
        Graph(object())


def test_two_columns_of_one_name():
    frame = pd.DataFrame([[0, 1]], columns=["a", "a"])
    with pytest.raises(InputError, match=r"(?s)edges: .*rename"):
        Graph(frame, source="a", destination="b")


@pytest.mark.parametrize("data", ["abc", b"abc", {"a": 1}, [1, "a"], np.zeros((1, 1))])
def test_columns_that_are_not_values(data):
    with pytest.raises(InputError, match="start"):
        open_values(data, "start")


def test_column_values_for_errors():
    frame = open_frame(pa.table({"a": ["x", None], "b": [1, 2]}), "edges")
    assert frame.column("a", "source").value(0) == "x"
    assert frame.column("b", "source").value(1) == 2
    assert len(frame.column("b", "source")) == 2


def test_kind_makes_pandas_without_a_graph():
    out = FrameKind("pandas").make({"a": np.array([1, 2])})
    assert out["a"].tolist() == [1, 2]


@pytest.mark.parametrize("library", ["pyarrow", "polars"])
def test_pandas_is_not_needed_by_others(library):
    code = f"""
import sys
class NoPandas:
    def find_spec(name, path=None, target=None):
        if name == "pandas":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, NoPandas)
import pyarrow as pa
from cugraph_ws.graph.graph import Graph
edges = pa.table({{"source": ["a", "b"], "destination": ["b", "c"], "w": [1.0, 2.0]}})
if {library!r} == "polars":
    import polars
    edges = polars.from_arrow(edges)
graph = Graph(edges, weight="w", vertices=edges.select(["source"]))
graph.vertex_frame({{"x": graph.in_degrees}}), graph.edge_frame(), graph.report
graph.numbers(["a"], "start")
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
