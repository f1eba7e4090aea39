"""Lazy frames and streams of record batches are edge frames; only the columns that are read are computed."""

import narwhals as nw
import polars as pl
import pyarrow as pa
import pytest

import cugraph_ws as ws
from cugraph_ws.errors import GraphWarning, InputError
from cugraph_ws.frames.base import open_frame
from cugraph_ws.frames.lazy import computed

EDGES = pa.table({"source": [0, 1, 2], "destination": [1, 2, 0], "weight": [1.0, 2.0, 5.0]})
VERTICES = pa.table({"vertex": [0, 9], "kind": [1, 2]})


class Stream:
    """What Arrow's protocol asks for, and nothing else."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


class OtherFrame(Stream):
    """A frame of a library that narwhals does not know."""

    @property
    def columns(self):
        return self.table.column_names


def query(*, fails=False):
    """Return a Polars query, and the list of the columns that computing it asks for."""
    asked = []

    def rows(with_columns, predicate, n_rows, batch_size):
        asked.append(with_columns)
        if fails:
            raise RuntimeError("the file is gone")
        frame = pl.from_arrow(EDGES).with_columns(note=pl.lit("not read"))
        yield frame if with_columns is None else frame.select(with_columns)

    from polars.io.plugins import register_io_source

    schema = {**pl.from_arrow(EDGES).schema, "note": pl.String}
    return register_io_source(rows, schema=schema), asked


@pytest.mark.parametrize("make", [pa.Table.to_reader, Stream, OtherFrame])
def test_streams_are_edge_frames(make):
    expected = ws.sssp(EDGES, 0)
    for result in (
        ws.sssp(make(EDGES), 0),
        ws.sssp(graph=make(EDGES), start=0),
        ws.run(ws.SSSP, make(EDGES), start=0).frame,
    ):
        assert result.equals(expected)
    with ws.Graph(make(EDGES), vertices=make(VERTICES)) as graph:
        assert graph.weight == "weight"
        assert graph.vertices.equals(ws.Graph(EDGES, vertices=VERTICES).vertices)
    assert ws.estimate_memory(make(EDGES)).csc == ws.estimate_memory(EDGES).csc


def test_a_stream_that_was_read_is_noticed():
    reader = EDGES.to_reader()
    ws.degrees(reader)
    with pytest.warns(
        GraphWarning, match="had no rows left: if it was read before, give a new one"
    ):
        ws.degrees(reader)


def test_a_stream_that_fails_names_the_failure():
    def batches():
        yield EDGES.to_batches()[0]
        raise OSError("the connection was lost")

    reader = pa.RecordBatchReader.from_batches(EDGES.schema, batches())
    with pytest.raises(InputError, match=r"RecordBatchReader cannot be read.*connection was lost"):
        ws.Graph(reader)


def test_values_of_vertices_may_be_lazy_but_not_a_stream():
    lazy = pl.LazyFrame({"vertex": [0, 1], "value": [3.0, 1.0]})
    ranks = ws.pagerank(EDGES, personalization=lazy)
    assert ranks.equals(ws.pagerank(EDGES, personalization=lazy.collect()))
    with pytest.raises(InputError, match=r"pyarrow\.table\(data\) makes one: a stream"):
        open_frame(VERTICES.to_reader(), "values")


def test_a_lazy_frame_computes_what_is_read_once():
    lazy, asked = query()
    result = ws.degrees(lazy)
    assert isinstance(result, pl.DataFrame)
    assert result.equals(ws.degrees(pl.from_arrow(EDGES)))
    assert [sorted(columns) for columns in asked] == [["destination", "source"]]
    assert ws.sssp(lazy, 0).equals(ws.sssp(pl.from_arrow(EDGES), 0))
    assert sorted(asked[-1]) == ["destination", "source", "weight"]


def test_errors_of_lazy_frames():
    lazy, _ = query()
    with pytest.raises(InputError, match=r"source='from': edges has no such column.*'source', 'd"):
        ws.degrees(lazy, source="from")
    failing, _ = query(fails=True)
    with pytest.raises(InputError, match=r"(?s)edges: the lazy frame cannot.*the file is gone"):
        ws.degrees(failing)
    with pytest.raises(InputError, match=r"(?s)edges: the lazy frame cannot be computed.*nope"):
        ws.degrees(lazy.select("nope"))


def test_all_columns_unless_some_are_named():
    frame = nw.from_native(pl.from_arrow(EDGES).lazy())
    assert computed(frame, "edges", None).columns == EDGES.column_names
    assert computed(frame, "edges", ["weight", "weight"]).columns == ["weight"]
    assert len(computed(frame, "edges", ["absent"])) == 0
