"""What a frame may have wrong: an error that names the column, the row, the value and the remedy."""

import datetime as dt
import decimal
import uuid

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cugraph_ws.errors import CugraphWsError, InputError
from cugraph_ws.graph.graph import Graph


def edges(**columns):
    return pd.DataFrame({"source": [0, 1, 2], "destination": [1, 2, 0], **columns})


@pytest.mark.parametrize("column", ["source", "destination"])
@pytest.mark.parametrize(
    "values",
    [
        pd.Series([1, None, 2], dtype="Int64"),
        pd.Series([1, None, 2], dtype="int32[pyarrow]"),
        pd.Series(["a", None, "b"], dtype="str"),
        pd.Series(["a", None, "b"], dtype=object),
        pd.Series(["a", np.nan, "b"], dtype=object),
        pd.Series(["a", None, "b"], dtype="category"),
        pd.Series([dt.datetime(2024, 1, 1), None, None], dtype="datetime64[ns]"),
        pd.Series([dt.timedelta(1), None, None], dtype="timedelta64[s]"),
    ],
    ids=lambda values: str(values.dtype),
)
def test_null_ids(column, values):
    with pytest.raises(
        InputError, match=rf"column '{column}' \({column}\): row 1 is null; drop the rows"
    ):
        Graph(edges(**{column: values}))


@pytest.mark.parametrize("kind", [pl.DataFrame, pa.table], ids=["polars", "pyarrow"])
def test_null_ids_elsewhere(kind):
    with pytest.raises(InputError, match=r"column 'source' \(source\): row 2 is null"):
        Graph(kind({"source": [0, 1, None], "destination": [1, 2, 0]}))


def test_a_null_among_the_categories():
    values = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None]))
    table = pa.table({"source": values, "destination": values})
    with pytest.raises(InputError, match=r"column 'source' \(source\): row 1 is null"):
        Graph(table)


def test_a_null_among_the_categories_of_a_later_chunk():
    codes = pa.array([0, 1])
    chunks = [
        pa.DictionaryArray.from_arrays(codes, pa.array(values))
        for values in (["a", "b"], ["b", None], ["a", None])
    ]
    table = pa.table({"source": pa.chunked_array(chunks), "destination": range(6)})
    with pytest.raises(InputError, match=r"column 'source' \(source\): row 3 is null"):
        Graph(table)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weights_that_are_no_numbers(bad, dtype):
    with pytest.raises(InputError, match=r"column 'w' \(weight\): row 1 is (nan|inf|-inf)"):
        Graph(edges(w=np.array([1, bad, 2], dtype)), weight="w")


def test_null_weights():
    frame = edges(w=pd.Series([1, 2, None], dtype="Int64"))
    with pytest.raises(InputError, match=r"column 'w' \(weight\): row 2 is null; drop the rows"):
        Graph(frame, weight="w")
    with pytest.raises(InputError, match=r"column 'w' \(attributes\): row 2 is null"):
        Graph(frame, attributes="w")


@pytest.mark.parametrize(
    ("values", "kind", "remedy"),
    [
        (["a", "b", "c"], "string", "cast"),
        (pd.to_datetime(["2024-01-01"] * 3), "timestamp", r"frame\['w'\]\.astype\('int64'\)"),
        ([decimal.Decimal("1.5")] * 3, "decimal", "cast"),
        (pd.Categorical(["a", "b", "a"]), "dictionary", r"frame\['w'\]\.cat\.codes"),
    ],
)
def test_weights_of_the_wrong_kind(values, kind, remedy):
    with pytest.raises(InputError, match=rf"column 'w' \(weight\) holds .*{kind}.*{remedy}"):
        Graph(edges(w=values), weight="w")


def test_weights_beyond_int64():
    with pytest.raises(InputError, match=r"row 1 is 9223372036854775808, above int64's"):
        Graph(edges(w=np.array([0, 2**63, 2**64 - 1], np.uint64)), weight="w")


@pytest.mark.parametrize(
    ("values", "remedy"),
    [
        ([0.0, 1.0, 2.0], "cast the column to int64 or to strings"),
        ([0.0, np.nan, 2.0], "row 1 has no id, .* cast the column to int64"),
        ([0.5, np.nan, 2.0], "cast the column to int64 or to strings"),
        ([True, False, True], "cast the column to int8"),
        ([decimal.Decimal(1)] * 3, "cast the column to int64 or to strings"),
        ([[1], [2], [3]], "each must be a single value"),
        ([{"a": 1}] * 3, "each must be a single value"),
        ([uuid.UUID(int=1)] * 3, "cast the column to one of these|of one kind"),
        (pd.period_range("2024", periods=3, freq="M"), "cast the column to one of these"),
        ([1, "a", 2], "values of one kind are needed"),
        ([2**70, 1, 2], "values of one kind are needed"),
        ([b"a", "b", b"c"], "there are bytes and str among them"),
        ([dt.datetime(2024, 1, 1), 1, 2], "there are datetime and number among them"),
        ([dt.date(2024, 1, 1), dt.datetime(2024, 1, 1, 3), None], "there are date and datetime"),
        (["a", 1.5, np.nan], "there are number and str among them"),
        (pd.Categorical([dt.datetime(2024, 1, 1), 0, None]), "there are datetime and number"),
        ([object(), object(), object()], "values of one kind are needed"),
        ([1 + 2j] * 3, "values of one kind are needed|cast the column to one of these"),
        ([None, None, None], "row 0 is null"),
    ],
    ids=lambda value: None if isinstance(value, str) else type(value[0]).__name__,
)
def test_columns_that_cannot_be_ids(values, remedy):
    with pytest.raises(InputError, match=rf"column 'source' \(source\).*({remedy})"):
        Graph(edges(source=values))


def test_a_polars_column_of_objects():
    objects = pl.Series([object(), object()], dtype=pl.Object)
    with pytest.raises(InputError, match=r"column 'source' .*a dtype that Arrow knows: Object is"):
        Graph(pl.DataFrame({"source": objects, "destination": objects}))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([0, 1, 2], ["a", "b", "c"]),
        (["a", "b", "c"], [b"a", b"b", b"c"]),
        ([0, 1, 2], pd.to_datetime(["2024-01-01"] * 3)),
        (
            pd.to_datetime(["2024-01-01"] * 3),
            pd.to_datetime(["2024-01-01"] * 3).tz_localize("UTC"),
        ),
        (pd.to_timedelta([1, 2, 3]), pd.to_datetime(["2024-01-01"] * 3)),
    ],
)
def test_ids_of_two_kinds(first, second):
    with pytest.raises(
        InputError,
        match=r"ids of two kinds: column 'source' \(source\) holds .*, column 'destination' "
        r"\(destination\) holds .*; cast one column",
    ):
        Graph(edges(source=first, destination=second))


def test_a_vertex_frame_of_another_kind():
    with pytest.raises(InputError, match=r"two kinds.*column 'vertex' \(vertices\) holds text"):
        Graph(edges(), vertices=pd.DataFrame({"vertex": ["a"]}))


def test_uint64_beside_signed_ids():
    frame = pd.DataFrame({"source": np.array([2**63], np.uint64), "destination": np.array([-1])})
    with pytest.raises(InputError, match=r"id 9223372036854775808 is above .* cast both"):
        Graph(frame)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"source": "src"}, r"source='src': edges has no such column; did you mean 'source'\? its"),
        ({"destination": "x"}, r"destination='x': .* its columns are 'source', 'destination', 'w'"),
        ({"weight": "wt"}, r"weight='wt': edges has no such column; did you mean 'w'\?"),
        ({"attributes": ["w", "x"]}, r"attributes='x': edges has no such column"),
        ({"source": ["source", "w"]}, r"source names 2 columns and destination 1; give as many"),
        ({"source": [], "destination": []}, r"source=\[\]: name at least one column"),
        ({"duplicates": "drop"}, r"duplicates='drop': choose one of 'keep', 'sum'"),
        ({"self_loops": True}, r"self_loops=True: choose one of 'keep', 'drop', 'error'"),
        ({"vertices": [1, 2]}, r"vertices: .*needed, not list"),
        ({"vertices": pd.DataFrame({"vertex": [1, 1]})}, r"vertices: vertex 1 is given 2 times"),
        (
            {"vertices": pd.DataFrame({"a": [1], "b": [2]})},
            r"vertices: the ids must be in 'vertex'",
        ),
        ({"vertices": pd.DataFrame({"vertex": [1.5]})}, r"'vertex' \(vertices\) holds double"),
        ({"vertices": pl.DataFrame({"vertex": [1, None]})}, r"\(vertices\): row 1 is null"),
    ],
)
def test_arguments_that_do_not_fit_the_frame(arguments, message):
    with pytest.raises(InputError, match=message):
        Graph(edges(w=[1.0, 2.0, 3.0]), **arguments)


def test_a_vertex_frame_without_all_id_columns():
    frame = pd.DataFrame({"a": [1], "b": [2], "c": [3], "d": [4]})
    with pytest.raises(InputError, match="the ids must be in 'a', 'b', but the columns are 'a'"):
        Graph(frame, ["a", "b"], ["c", "d"], vertices=pd.DataFrame({"a": [1]}))


def test_a_frame_without_columns():
    with pytest.raises(InputError, match="its columns are none"):
        Graph(pd.DataFrame())


# Any frame at all: a right graph, or one of our errors

CONTENT = {
    "int": st.integers(-(2**63), 2**64),
    "small": st.integers(0, 5),
    "float": st.floats(),
    "text": st.text(max_size=2),
    "bool": st.booleans(),
    "bytes": st.binary(max_size=2),
    "moment": st.datetimes(),
    "day": st.dates(),
    "span": st.timedeltas(),
    "decimal": st.decimals(allow_nan=False, allow_infinity=False, places=2),
    "list": st.lists(st.integers(0, 3), max_size=2),
    "none": st.none(),
}
MIXED = st.one_of(*CONTENT.values())
CELLS = st.sampled_from([*CONTENT.values(), MIXED]).flatmap(
    lambda cell: st.tuples(st.just(cell), st.just(st.one_of(cell, st.none()))).flatmap(
        st.sampled_from
    )
)
MAKERS = {
    "pandas": pd.DataFrame,
    "pandas-object": lambda data: pd.DataFrame(data, dtype=object),
    "pandas-category": lambda data: pd.DataFrame(data).astype("category"),
    "pandas-arrow": lambda data: pa.table(data).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda data: pl.DataFrame(data, strict=False),
    "pyarrow": pa.table,
}


@settings(deadline=None, max_examples=150)
@given(data=st.data(), maker=st.sampled_from(sorted(MAKERS)), rows=st.integers(0, 6))
def test_any_frame_gives_a_right_graph_or_our_error(data, maker, rows):
    cells = data.draw(CELLS)
    ends = {"source": cells, "destination": data.draw(st.sampled_from([cells, MIXED]))}
    columns = {
        name: data.draw(st.lists(cell, min_size=rows, max_size=rows)) for name, cell in ends.items()
    }
    columns["w"] = data.draw(st.lists(data.draw(CELLS), min_size=rows, max_size=rows))
    try:
        frame = MAKERS[maker](columns)
    except Exception:
        return
    weight = data.draw(st.sampled_from([None, "w"]))
    directed, duplicates = data.draw(st.booleans()), data.draw(st.sampled_from(["keep", "sum"]))
    try:
        graph = Graph(frame, weight=weight, directed=directed, duplicates=duplicates)
    except CugraphWsError:
        return
    back, vertices = graph.edge_frame(), graph.vertex_frame({})
    assert type(back) is type(vertices) is type(frame)
    assert len(vertices) == graph.number_of_vertices
    assert len(back) == graph.number_of_edges
    assert graph.csr.number_of_arcs == graph.csc.number_of_arcs
    names = ["source", "destination"]
    # as Arrow, where equal ids of two types compare equal
    rows_of = {which: pairs(one, names) for which, one in (("in", frame), ("out", back))}
    if not directed:
        rows_of = {which: [tuple(sorted(row)) for row in found] for which, found in rows_of.items()}
    if duplicates == "sum":
        assert sorted(set(rows_of["in"])) == sorted(rows_of["out"])
    else:
        assert sorted(rows_of["in"]) == sorted(rows_of["out"])


def pairs(frame, names):
    """The rows of two columns as tuples of Python objects."""
    if isinstance(frame, pd.DataFrame):
        table = pa.table({name: pa.array(frame[name].astype(object)) for name in names})
    elif isinstance(frame, pl.DataFrame):
        table = frame.select(names).to_arrow()
    else:
        table = frame.select(names)
    return list(zip(*(table.column(name).to_pylist() for name in names), strict=True))
