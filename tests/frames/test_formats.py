"""One file of each format that is read, written by hand; formats that are refused by name."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import pickle
import sqlite3
import zipfile
from pathlib import Path

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from scipy import io as scipy_io
from scipy import sparse

import cugraph_ws as ws
from cugraph_ws.errors import FileError, GraphMemoryError
from cugraph_ws.frames import arrow_files, streams
from cugraph_ws.frames.formats import OTHERS
from cugraph_ws.frames.readers import read_edges, read_frame, read_graph

MTX = "%%MatrixMarket matrix coordinate "
GRAPHML = '<?xml version="1.0"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'


def put(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def components(path: Path, **options) -> tuple[int, int, int]:
    """Return how many vertices, arcs and components the graph in a file has."""
    file = read_graph(path, **options).directed(path)
    with ws.Graph(file.edges, vertices=file.vertices, weight=None) as graph:
        labels = ws.weakly_connected_components(graph)
        arcs = sum(ws.degrees(graph)["out_degree"].to_pylist())
        return labels.num_rows, arcs, len(labels["labels"].unique())


# --- what is read ---------------------------------------------------------------------------

ARC, EDGE = {"directed": True}, {"directed": False}
FILES = {  # text, vertices, edges as (source, destination, weight), whether they have directions
    "a.mtx": (MTX + "pattern symmetric\n5 5 2\n2 1\n3 2\n", range(1, 6), [(2, 1), (3, 2)], EDGE),
    "b.mtx": (MTX + "real general\n%\n\n3 3 1\n\n1 2 .5\n", range(1, 4), [(1, 2, 0.5)], ARC),
    "a.gr": (
        "c roads\np sp 5 3\na 1 2 5\nc between\na 2 3 15\na 4 5 20\n",
        range(1, 6), [(1, 2, 5), (2, 3, 15), (4, 5, 20)], ARC,
    ),
    "a.col": ("c\np edge 4 2\nn 1 3\ne 1 2\ne 2 3\n", range(1, 5), [(1, 2), (2, 3)], EDGE),
    "b.col": ("p col 3 2\ne 1 2\ne 2 1\ne 3 2\ne 2 3\n", range(1, 4), [(1, 2), (2, 3)], EDGE),
    "flow.txt": ("p max 3 2\nn 1 s\nn 3 t\na 1 2 7\na 2 3 1\n", range(1, 4), [(1, 2, 7), (2, 3, 1)], ARC),
    "tw.gr": ("p tw 3 1\n1 3\n", range(1, 4), [(1, 3)], EDGE),
    "none.gr": ("p sp 2 0\n", range(1, 3), [], ARC),
    "a.graph": (
        "% square\n4 4\n2 4\n1 3\n% here\n2 4\n1 3\n", range(1, 5), [(1, 2), (1, 4), (2, 3), (3, 4)], EDGE,
    ),
    "isolated.metis": ("3 1\n3\n\n1\n", range(1, 4), [(1, 3)], EDGE),
    "weights.graph": ("3 2 1\n2 7\n1 7 3 9\n2 9\n", range(1, 4), [(1, 2, 7), (2, 3, 9)], EDGE),
    "all.graph": ("2 1 111 2\n4 1 2 2 7\n5 1 3 1 7\n", range(1, 3), [(1, 2, 7)], EDGE),
    "a.graphml": (
        GRAPHML + '<key id="w" for="edge" attr.name="weight" attr.type="long"><default>1</default></key>'
        '<key id="l" for="node" attr.name="label" attr.type="string"/>'
        '<graph edgedefault="undirected"><node id="1"><data key="l">x &lt; y</data></node><node id="2"/>'
        '<node id="7"/><edge source="1" target="2"><data key="w">9007199254740993</data></edge>'
        '<edge source="2" target="2"/></graph></graphml>',
        [1, 2, 7], [(1, 2, 2**53 + 1), (2, 2, 1)], EDGE,
    ),
    "mixed.xml": (
        GRAPHML + '<graph edgedefault="directed"><node id="a"/><node id="b"/><node id="c"/>'
        '<edge source="a" target="b" directed="false"/><edge source="b" target="c"/></graph></graphml>',
        list("abc"), [("b", "c"), ("a", "b"), ("b", "a")], ARC,
    ),
    "a.gml": (
        'Creator "me"\ngraph [\n  directed 1\n  # no node [\n  node [ id 3 label "a ] b" graphics [ x 1 ] ]\n'
        "  node [ id 4 ]\n  node [ id 9 ]\n  edge [ source 3 target 4 value 2 ]\n]\n",
        [3, 4, 9], [(3, 4, 2)], ARC,
    ),
    "one_line.txt": (
        "graph [ node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 ] ]", [0, 1], [(0, 1)], EDGE,
    ),
    "a.net": (
        '*Vertices 4\r\n1 "a"\r\n2 "a"\r\n3 "b"\r\n*Arcs\r\n1 2 3\r\n*Edges\r\n3 1\r\n',
        range(1, 5), [(1, 2, 3), (3, 1, 1), (1, 3, 1)], ARC,
    ),
    "lists.net": ("*Vertices 4\n*Edgeslist\n1 2 3\n", range(1, 5), [(1, 2), (1, 3)], EDGE),
    "matrix.net": ("*Vertices 3 1\n*Matrix\n0 2.5\n", range(1, 4), [(1, 3, 2.5)], EDGE),
    "of_one_kind.net": ("*Vertices 2 2\n*Edges\n1 2\n", range(1, 3), [(1, 2)], EDGE),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("compress", [None, gzip.compress, bz2.compress, lzma.compress])
def test_a_file_of_each_format(tmp_path, name, compress):
    text, vertices, edges, kind = FILES[name]
    path = put(tmp_path, name, text)
    if compress:
        suffix = {"gzip": ".gz", "bz2": ".bz2", "lzma": ".xz"}[compress.__module__]
        path = put(tmp_path, name + suffix, compress(text.encode()))
    file = read_graph(path)
    assert file.vertices["vertex"].to_pylist() == list(vertices)
    assert file.edges.column_names[:2] == ["source", "destination"]
    assert sorted(zip(*file.edges.to_pydict().values(), strict=True)) == sorted(edges)
    assert file.undirected is not kind["directed"]


def test_rows_and_columns_without_entries_are_vertices(tmp_path):
    path = put(tmp_path, "m.mtx", MTX + "pattern symmetric\n5 5 2\n2 1\n3 2\n")
    assert components(path) == (5, 4, 3)
    with ws.Graph.from_matrix(sparse.csr_matrix(scipy_io.mmread(path))) as graph:
        labels = ws.weakly_connected_components(graph)
        assert (len(labels), labels["labels"].nunique()) == (5, 3)


@pytest.mark.parametrize("suffix", ["arrow", "feather", "data"])
def test_arrow_files(tmp_path, suffix):
    table = pa.table({"source": ["a", "b"], "destination": ["b", "c"], "weight": [1.5, 2.0]})
    path = tmp_path / f"e.{suffix}"
    pa.feather.write_feather(table, path)
    assert read_edges(path) == table
    if suffix == "arrow":
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table)
        assert read_edges(path) == table
        with pytest.raises(FileError, match="Feather of version 1"):
            read_edges(put(tmp_path, "v1.feather", "FEA1"))


def test_an_arrow_file_that_does_not_fit(tmp_path, monkeypatch):
    path = tmp_path / "e.arrow"
    pa.feather.write_feather(pa.table({"source": np.zeros(10**6, int)}), path)
    monkeypatch.setattr(arrow_files, "available_memory", lambda: 10**6)
    with pytest.raises(GraphMemoryError, match="its rows need"):
        read_frame(path)


@pytest.mark.parametrize("seed", range(8))
def test_other_libraries_files_are_read_as_they_read_them(tmp_path, seed):
    """Random graphs, written by NetworkX and igraph, with isolated vertices and self-loops."""
    directed = bool(seed % 2)
    graph = nx.gnm_random_graph(12, 14, seed=seed, directed=directed)
    graph.add_edge(3, 3)
    for place, (_, _, data) in enumerate(graph.edges(data=True)):
        data["weight"] = place
    part = nx.weakly_connected_components if directed else nx.connected_components
    loops = 0 if directed else graph.number_of_edges() - 1
    expected = (12, graph.number_of_edges() + loops, len(list(part(graph))))
    nx.write_graphml(graph, tmp_path / "n.graphml")
    nx.write_gml(graph, tmp_path / "n.gml")
    nx.write_pajek(graph, tmp_path / "n.net")
    other = igraph.Graph.from_networkx(graph)
    other.write_graphml(str(tmp_path / "i.graphml"))
    other.write_gml(str(tmp_path / "i.gml"))
    other.write_pajek(str(tmp_path / "i.net"))
    matrix = sparse.coo_matrix(nx.to_scipy_sparse_array(graph, weight=None))
    scipy_io.mmwrite(tmp_path / "s.mtx", matrix, symmetry="general" if directed else "symmetric")
    files = sorted(tmp_path.iterdir())
    assert len(files) == 7
    for path in files:
        assert components(path) == expected, path.name


# --- what is refused ------------------------------------------------------------------------


def binary(name: str) -> bytes:
    """Return a file of a binary format."""
    buffer = io.BytesIO()
    if name == "zip":
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("edges.csv", "a,b\n")
    elif name == "xlsx":
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("[Content_Types].xml", "<Types/>")
    elif name == "npz":
        np.save(buffer, np.zeros(3))
    return buffer.getvalue()


REFUSED = {
    "DOT": "digraph roads { a -> b; }",
    "DOT (Graphviz)": "/* made */\nstrict graph {\n a -- b\n}\n",
    "GEXF": '<?xml version="1.0"?>\n<gexf version="1.3"><graph/></gexf>',
    "an HTML page": "<!DOCTYPE html><html><body>404</body></html>",
    "XML": "<edges><edge/></edges>",
    "RDF": "<http://a.org/1> <http://a.org/knows> <http://a.org/2> .\n",
    "a pickle": pickle.dumps([1]),
    "HDF5": b"\x89HDF\r\n\x1a\n\0\0",
    "JSON": '{"nodes": [], "links": []}',
    "SQLite": b"SQLite format 3\0\x10\0",
    "a zip archive": binary("zip"),
    "Excel": binary("xlsx"),
    "a NumPy": binary("npz"),
    "a 7z archive": b"7z\xbc\xaf\x27\x1c\0\4",
    "a pointer of Git LFS": "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
    "graph6": ">>graph6<<A_\n",
    "MATLAB": "MATLAB 5.0 MAT-file",
    "ORC": b"ORC\0\1",
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("file", ["e.txt", "e.csv", "edges"])
def test_formats_are_refused_by_their_first_bytes(tmp_path, name, file):
    content = REFUSED[name]
    path = put(tmp_path, file, content)
    with pytest.raises(FileError) as caught:
        read_edges(path)
    assert f"is {name}" in str(caught.value)
    assert "which is not read; " in str(caught.value)


@pytest.mark.parametrize("suffix", [suffix for one in OTHERS for suffix in one.suffixes.split()])
def test_formats_are_refused_by_their_suffix(tmp_path, suffix):
    path = put(tmp_path, f"e{suffix}", "1 2\n2 3\n")
    with pytest.raises(FileError, match="which is not read"):
        read_edges(path)
    assert read_edges(path, "snap").num_rows == 2


def test_a_database_as_sqlite_writes_it(tmp_path):
    with sqlite3.connect(tmp_path / "e") as base:
        base.execute("create table edges (source, destination)")
    base.close()
    with pytest.raises(FileError, match="is SQLite"):
        read_edges(tmp_path / "e")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("e.txt", "a -> b\nb -> c\n", "does not look like a list of edges, since '->' is no id"),
        ("e.txt", "int main() {\nreturn x;\n", "'{' is no id"),
        ("e.txt", "0 1 0 0 1\n1 0 0 0 1\n", "a row has 5 cells"),
        ("e.txt", "4 4\n2 4\n1 3\n2 4\n1 3\n", "--format snap or --format metis"),
        ("e.txt", "4 6\n2 3 4\n1 3 4\n1 2 4\n1 2 3\n", "Expected 2 columns, got 3"),
        ("e.gr", "1 2\n", "'p sp 5 3'"),
        ("e.gr", "p min 2 1\na 1 2 0 1 1\n", "of one of: sp, max"),
        ("e.gr", "p sp 3 2\na 1 2 5\n", "has 1 edges, and its problem line says 2"),
        ("e.gr", "p sp 3 1\na 1 4 5\n", "column 'destination' holds"),
        ("e.gr", "p sp 3 2\na 1 2 5\ne 1 2 5\n", "line 3 does not begin with 'a'"),
        ("e.gr", "p sp 3 1\na 1 2\n", "an edge of a problem 'sp' has 4 words"),
        ("e.col", "p col 3 1\ne \n", "an edge of a problem 'col' has 3 words"),
        ("e.gr", "p tw 3 1\n1 ", "has 2 words"),
        ("e.graph", "x y\n", "begins with the numbers of vertices and edges"),
        ("e.graph", "3 2\n2\n1 3\n", "has lines for 2 vertices"),
        ("e.graph", "2 2\n2\n1\n", "lists 2 neighbours"),
        ("e.graph", "3 1\n2\n3\n\n", "by one of its two vertices alone"),
        ("e.graph", "2 1\n3\n1\n", "not integers from 1 to 2"),
        ("e.graph", "2 1 1\n2\n1 5\n", "vertex 1 has 1 numbers"),
        ("e.graph", "2 1 2\n2\n1\n", "three digits"),
        ("e.graph", "2 1\nx\n1\n", "whole numbers only"),
        ("e.graphml", GRAPHML, "is not well-formed XML"),
        ("e.graphml", GRAPHML + "</graphml>", "has no graph"),
        ("e.graphml", "<x/>", "the document is 'x'"),
        (
            "e.graphml",
            '<!DOCTYPE g [<!ENTITY a "1">]><graphml><graph><node id="&a;"/></graph></graphml>',
            "document type",
        ),
        ("e.graphml", GRAPHML + "<graph><node/></graph></graphml>", "<node> has no id"),
        ("e.graphml", GRAPHML + '<graph><edge source="1" target="2"/></graph></graphml>', "no such node"),
        ("e.graphml", GRAPHML + '<graph><node id="1"/><node id="1"/></graph></graphml>', "a second node"),
        ("e.graphml", GRAPHML + "<graph><hyperedge/></graph></graphml>", "hyperedge"),
        ("e.graphml", GRAPHML + "<graph/><graph/></graphml>", "a second or nested graph"),
        (
            "e.graphml",
            GRAPHML + '<key id="w" for="edge" attr.type="int"/><graph><node id="1"/>'
            '<edge source="1" target="1"><data key="w">x</data></edge></graph></graphml>',
            "'x' is no int",
        ),
        ("e.gml", "graph [ node [ id 1 ] edge [ source 1 target 2 ] ]", "there is no such node"),
        ("e.gml", "graph [ node [ label 1 ] ]", "a node has no id"),
        ("e.gml", "graph [ node [ id 1 ] node [ id 1 ] ]", "two nodes have the id '1'"),
        ("e.gml", "graph [ ]" + "]", None),
        ("e.gml", "x 1", "has no graph"),
        ("e.gml", "graph [ a " + "[ a " * 99, "nested more than 30 deep"),
        ("e.gml", 'graph [ "a" 1 ]', "is not where GML has it"),
        ("e.net", "1 2\n", "is no line of"),
        ("e.net", "*Arcs\n1 2\n", "comes before"),
        ("e.net", "*Vertices 2\n*Arcs\n1 3\n", "not integers from 1 to 2"),
        ("e.net", "*Vertices 2\n*Arcs\n1\n", "line 3: '1' is no line of *arcs"),
        ("e.net", "*Vertices 2\n*Vertices 2\n", "second network"),
        ("e.net", "*Vertices 2\n*Partition x\n", r"section \*Partition is not read"),
        ("e.net", "*Vertices\n", "needs the number of vertices"),
        ("e.net", "*Vertices 1 3\n", "more vertices than there are"),
        ("e.net", "*Network x\n", "has no *Vertices"),
        ("e.mtx", MTX + "pattern general\n" + "9" * 5000 + " 3 1\n1 1\n", "at most 18 digits"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(tmp_path, name, text, message):
    path = put(tmp_path, name, text)
    if message is None:
        assert read_edges(path).num_rows == 0
        return
    with pytest.raises(
        FileError, match=message.replace("*", r"\*").replace(r"\\*", r"\*")
    ) as caught:
        read_edges(path)
    assert str(path) in str(caught.value)


def test_graphs_are_no_tables_of_vertices(tmp_path):
    with pytest.raises(FileError, match="is a graph in the format gml"):
        read_frame(put(tmp_path, "v.gml", "graph [ ]"))


def test_many_vertices_in_a_small_file_are_refused(tmp_path):
    for name, text in (
        ("e.mtx", MTX + f"pattern general\n{10**17} {10**17} 0\n"),
        ("e.gr", f"p sp {10**17} 0\n"),
        ("e.graph", f"{10**17} 0\n"),
        ("e.net", f"*Vertices {10**17}\n"),
    ):
        with pytest.raises(GraphMemoryError, match="its rows need"):
            read_edges(put(tmp_path, name, text))


# --- what is compressed ---------------------------------------------------------------------

COMPRESS = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda data: pa.compress(data, "zstd", asbytes=True),
}


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("cut", [1, 7, 100])
def test_truncated_text_is_called_so(tmp_path, suffix, cut):
    text = "".join(f"{row} {row * row}\n" for row in range(20_000)).encode()
    whole = COMPRESS[suffix](text)
    assert read_edges(put(tmp_path, f"e.txt.{suffix}", whole)).num_rows == 20_000
    with pytest.raises(FileError, match="it is truncated"):
        read_edges(put(tmp_path, f"e.txt.{suffix}", whole[:-cut]))


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("name", ["e.csv", "e.graph", "e.gml", "e.net", "e.graphml"])
def test_a_small_file_of_much_text_is_refused(tmp_path, monkeypatch, suffix, name):
    monkeypatch.setenv("CUGRAPH_WS_MEMORY_LIMIT", "3000000")
    row, head = {
        "e.csv": ("1,2\n", "source,destination\n"),
        "e.graph": ("2 3 4 5 6\n", "1000000 3000000\n"),
        "e.gml": ("node [ id 1 ]\n", "graph [\n"),
        "e.net": ("1 2\n", "*Vertices 2\n*Arcs\n"),
        "e.graphml": (" " * 99, GRAPHML + "<graph><node id='"),
    }[name]
    size = 24_000_000 if name == "e.graphml" else 9_000_000  # an XML token may have 16 MiB
    text = head + row * (size // len(row))
    path = put(tmp_path, f"{name}.{suffix}", COMPRESS[suffix](text.encode()))
    error = FileError if name == "e.graphml" else GraphMemoryError
    with pytest.raises(error, match=r"its rows need|too long"):
        read_edges(path)


def test_an_xz_file_of_several_parts(tmp_path):
    parts = [lzma.compress(b"1 2\n"), lzma.compress(b"2 3\n"), bytes(4)]
    assert read_edges(put(tmp_path, "e.txt.xz", b"".join(parts))).num_rows == 2


def test_comments_and_headers_may_be_long(tmp_path):
    comments = "% a comment\n" * 10_000
    assert (
        read_edges(
            put(tmp_path, "m.mtx", MTX + "pattern general\n" + comments + "2 2 1\n1 2\n")
        ).num_rows
        == 1
    )
    names = ["source", "destination", *(f"column_{number}" for number in range(10_000))]
    text = f"{','.join(names)}\n{','.join(map(str, range(10_002)))}\n"
    assert read_edges(put(tmp_path, "e.csv", text)).column_names == names


@pytest.mark.parametrize("end", ["\r", "\r\n"])
@pytest.mark.parametrize("name", ["e.txt", "e.csv", "e.mtx", "e.gr"])
def test_line_ends_of_every_kind(tmp_path, name, end):
    text = {
        "e.txt": "# edges\n1 2\n2 3\n",
        "e.csv": "# edges\nsource,destination\n1,2\n2,3\n",
        "e.mtx": MTX + "pattern general\n% c\n3 3 2\n1 2\n2 3\n",
        "e.gr": "c edges\np sp 3 2\na 1 2 1\na 2 3 1\n",
    }[name]
    table = read_edges(put(tmp_path, name, text.replace("\n", end)))
    assert table["source"].to_pylist() == [1, 2]
    assert table["destination"].to_pylist() == [2, 3]
    with pytest.raises(FileError, match="line 6: Expected" if name == "e.mtx" else "line"):
        read_edges(put(tmp_path, name, (text + "1 x,3,4,5 6\n").replace("\n", end)))


def test_rows_that_end_in_carriage_returns_count(tmp_path, monkeypatch):
    monkeypatch.setenv("CUGRAPH_WS_MEMORY_LIMIT", "30000000")
    path = put(tmp_path, "e.csv.gz", gzip.compress(b"a,b\r" + b"1,2\r" * 2_000_000))
    with pytest.raises(GraphMemoryError, match="its rows need"):
        read_edges(path)


def test_xz_dictionaries_are_limited(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "XZ_MEMORY", 1 << 16)
    with pytest.raises(FileError, match="cannot be read"):
        read_edges(put(tmp_path, "e.txt.xz", lzma.compress(b"1 2\n")))


# --- folders --------------------------------------------------------------------------------


def test_folders_are_read_with_the_columns_of_all_files(tmp_path):
    plain = pa.table({"source": [1], "destination": [2]})
    weighted = pa.table({"source": pa.array([3], pa.int32()), "destination": [1], "weight": [2.0]})
    tables = []
    for order in ((plain, weighted), (weighted, plain)):
        folder = tmp_path / str(len(tables))
        (folder / "_hidden").mkdir(parents=True)
        (folder / "_hidden" / "x.parquet").write_text("nothing")
        for name, table in zip("ab", order, strict=True):
            pq.write_table(table, folder / f"{name}.parquet")
        file = read_graph(folder)
        assert file.incomplete["weight"].name == "ab"[order.index(plain)] + ".parquet"
        tables.append(
            sorted(
                zip(
                    *file.edges.select(["source", "destination", "weight"]).to_pydict().values(),
                    strict=True,
                )
            )
        )
    assert tables[0] == tables[1] == [(1, 2, None), (3, 1, 2.0)]


def test_folders_of_other_types_are_refused(tmp_path):
    pq.write_table(pa.table({"source": [1], "destination": [2]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"source": ["1"], "destination": [2]}), tmp_path / "b.parquet")
    with pytest.raises(
        FileError, match=r"b\.parquet: its columns have other types than those of a\.parquet"
    ):
        read_edges(tmp_path)
    (tmp_path / "b.parquet").write_text("nothing")
    with pytest.raises(FileError, match=r"b\.parquet: is not a Parquet file"):
        read_edges(tmp_path)


def test_texts_of_a_folder_are_counted(tmp_path, monkeypatch):
    names = pa.array(["x" * 1000]).take(pa.array(np.zeros(100_000, np.int64)))
    for name in "ab":
        pq.write_table(
            pa.table({"source": names, "destination": names}), tmp_path / f"{name}.parquet"
        )
    monkeypatch.setenv("CUGRAPH_WS_MEMORY_LIMIT", "100000000")
    with pytest.raises(GraphMemoryError, match="its rows need"):
        read_edges(tmp_path)


def test_names_of_folders_give_columns(tmp_path):
    (tmp_path / "year=2020").mkdir()
    pq.write_table(
        pa.table({"source": [1], "destination": [2]}), tmp_path / "year=2020" / "a.parquet"
    )
    assert read_edges(tmp_path).to_pydict() == {"source": [1], "destination": [2], "year": [2020]}


def test_frames_of_no_rows_are_graphs():
    for dtype in (float, object, int):
        empty = pd.DataFrame({"source": [], "destination": []}, dtype=dtype)
        with ws.Graph(empty) as graph:
            assert graph.number_of_vertices == 0
        assert len(ws.pagerank(empty)) == 0


def test_a_missing_id_among_integers_of_pandas_is_named():
    edges = pd.DataFrame({"source": [1, 2, 3], "destination": [2, None, 1]})
    with pytest.raises(
        ws.InputError, match=r"'destination' .*row 1 has no id.*cast the column to int64"
    ):
        ws.Graph(edges)
