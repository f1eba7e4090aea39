"""The command line on files of every kind: what options say of text, and what third columns mean."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cugraph_ws.cli import main as cli
from cugraph_ws.errors import GraphWarning


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def result(*words: str) -> dict[str, list]:
    assert cli._exit_code([*words, "-o", "result.parquet"]) == 0
    return pq.read_table("result.parquet").to_pydict()


def refused(capsys, *words: str) -> str:
    assert cli._exit_code(words) == 1
    return capsys.readouterr().err


def test_vertices_without_entries_of_a_matrix():
    Path("m.mtx").write_text(
        "%%MatrixMarket matrix coordinate pattern symmetric\n5 5 2\n2 1\n3 2\n"
    )
    labels = result("wcc", "m.mtx")["labels"]
    assert labels == [1, 1, 1, 4, 5]
    assert result("degrees", "m.mtx")["out_degree"] == [1, 2, 1, 0, 0]
    assert result("degrees", "m.mtx", "--undirected")["out_degree"] == [1, 2, 1, 0, 0]
    Path("v.csv").write_text("vertex,first\n7,1\n1,0\n")
    assert result("degrees", "m.mtx", "--vertices", "v.csv")["vertex"] == [1, 2, 3, 4, 5, 7]


def test_ids_of_text(capsys):
    Path("e.csv").write_text("0x10,16\n17,0x11\n")
    with pytest.warns(GraphWarning, match="0x10, which is no plain integer"):
        assert result("wcc", "e.csv")["vertex"] == ["0x10", "0x11", "16", "17"]
    assert result("bfs", "e.csv", "--ids", "text", "--start", "17")["distance"] == [
        None,
        1,
        None,
        0,
    ]
    Path("v.csv").write_text("vertex\n5\n")
    words = ("degrees", "e.csv", "--ids", "text", "--vertices", "v.csv")
    assert result(*words)["vertex"] == ["0x10", "0x11", "16", "17", "5"]
    Path("e.txt").write_text("16 17\n")
    assert "'0x10' is not of the type" in refused(capsys, "bfs", "e.txt", "--start", "0x10")
    assert "'017' is not of the type" in refused(capsys, "bfs", "e.txt", "--start", "017")


def test_a_third_column_without_a_name(capsys):
    Path("e.txt").write_text("1 2 4\n2 3 5\n")
    with pytest.warns(
        GraphWarning, match="column 3 is read as the weight: --unweighted ignores it"
    ):
        assert result("sssp", "e.txt", "--start", "1")["distance"] == [0, 4, 9]
    assert result("sssp", "e.txt", "--start", "1", "--weight", "weight")["distance"] == [0, 4, 9]
    assert result("sssp", "e.txt", "--start", "1", "--unweighted")["distance"] == [0, 1, 2]
    assert result("bfs", "e.txt", "--start", "1")["distance"] == [0, 1, 2]  # reads no weights
    for time in (1082040961, 1082040961000):
        Path("t.txt").write_text(f"1 2 {time}\n2 3 {time + 1}\n")
        error = refused(capsys, "pagerank", "t.txt")
        assert "looks like times, not weights; --unweighted ignores it, --weight weight" in error
        assert len(result("pagerank", "t.txt", "--unweighted")["vertex"]) == 3
        assert result("sssp", "t.txt", "--start", "1", "--weight", "weight")["distance"][1] == time


def test_headers_and_separators(capsys):
    Path("e.csv").write_text("ann;bob\nbob;eve\n")
    assert result("wcc", "e.csv", "--no-header", "--separator", ";")["vertex"] == [
        "ann",
        "bob",
        "eve",
    ]
    words = ("wcc", "e.csv", "--separator", ";", "--source", "ann", "--destination", "bob")
    assert "--no-header if it is an edge" in refused(capsys, *words)
    assert result(*words, "--header")["vertex"] == ["bob", "eve"]


def test_folders_whose_files_differ(capsys):
    """The answer is one, whatever the files are called, and on a cluster too."""
    plain = pa.table({"source": [1], "destination": [2]})
    weighted = pa.table({"source": [3], "destination": [1], "weight": [2.0]})
    for name, tables in (("one", (plain, weighted)), ("two", (weighted, plain))):
        Path(name).mkdir()
        for part, table in zip("ab", tables, strict=True):
            pq.write_table(table, f"{name}/{part}.parquet")
        words = ("sssp", name, "--start", "3")
        for where in ((), ("--workers", "2")):
            error = refused(capsys, *words, *where)
            assert f"{'a' if name == 'one' else 'b'}.parquet has no column 'weight'" in error
        assert result(*words, "--unweighted")["distance"] == [1, 2, 0]
    assert cli._exit_code([*words, "--unweighted", "--workers", "1", "-o", "out"]) == 0
    assert pq.read_table("out")["distance"].to_pylist() == [1, 2, 0]


def test_folders_whose_types_differ():
    Path("many").mkdir()
    for part, kind in (("a", pa.int32()), ("b", pa.int64())):
        table = pa.table({"source": pa.array([1, 2], kind), "destination": pa.array([2, 3], kind)})
        table = table.append_column("weight", pa.array([1, 2], kind))
        pq.write_table(table, f"many/{part}.parquet")
    expected = result("sssp", "many", "--start", "1")
    assert expected["distance"] == [0, 1, 3]
    assert cli._exit_code(["sssp", "many", "--start", "1", "--workers", "1", "-o", "out"]) == 0
    assert pq.read_table("out")["distance"].to_pylist() == expected["distance"]


@pytest.mark.parametrize("words", ["--no-header", "--separator ;", "--ids text", "--format csv"])
def test_a_cluster_reads_no_text(capsys, words):
    pq.write_table(pa.table({"source": [1], "destination": [2]}), "e.parquet")
    error = refused(capsys, "wcc", "e.parquet", "--workers", "1", *words.split())
    assert "a cluster reads Parquet only; leave --" in error
    assert words.split()[0] in error
