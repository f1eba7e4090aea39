"""Ids in files of text: what is an integer, what stays text, and what is asked."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from cugraph_ws.errors import FileError, GraphWarning
from cugraph_ws.frames.readers import read_edges, read_frame
from cugraph_ws.frames.textids import Spelled

TEXT = "read as text, as they are written"


def put(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, newline="")
    return path


def ids(path: Path, **options) -> list[list]:
    return [column.to_pylist() for column in read_edges(path, **options).columns[:2]]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("e.csv", "0x10,16\n17,0x11\n", [["0x10", "17"], ["16", "0x11"]]),
        ("e.csv", "a,b\n0x02,3\n0x2,4\n", [["0x02", "0x2"], ["3", "4"]]),
        ("e.txt", "0xFFFFFFFFFFFFFFFF -1\n", [["0xFFFFFFFFFFFFFFFF"], ["-1"]]),
        ("e.csv", "a,b\n1,2\n7,007\n", [["1", "7"], ["2", "007"]]),
        ("e.csv", 'a,b\n1,2\n7,"007"\r\n', [["1", "7"], ["2", "007"]]),
        ("e.csv", 'a,w,b\n1,"x, 07",2\n7,"""",-07\n', [["1", "7"], ["2", "-07"]]),
        ("e.tsv", "a\tb\n10\t2\n7\t007", [["10", "7"], ["2", "007"]]),
        ("e.txt", "a b\n# 0123\n1 2\n  7\t  007 \n", [["1", "7"], ["2", "007"]]),
        ("e.txt", "1 -0\n2 0\n", [["1", "2"], ["-0", "0"]]),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r"])
def test_integers_that_are_written_otherwise_stay_text(tmp_path, name, text, expected, end):
    text = text.replace("\r\n", "\n").replace("\n", end)
    options = {"source": ["a"], "destination": ["b"]} if text[0] == "a" else {}
    path = put(tmp_path, name, text)
    with pytest.warns(GraphWarning, match=TEXT):
        table = read_edges(path, **options)
    names = ("a", "b") if options else ("source", "destination")
    assert [table[name].to_pylist() for name in names] == expected
    plain = read_edges(path, **options, ids="text")
    assert [plain[name].to_pylist() for name in names] == expected


@pytest.mark.parametrize("size", [1, 3, 7, 100])
@pytest.mark.parametrize("separator", [",", " "])
def test_they_are_found_in_blocks_of_any_size(size, separator):
    rows = ["0,10,0.5,0", "00,5,007,-1", "1,2020-01-02,3,-0", "5,6,7,0X1f"]
    text = "\n".join(rows).replace(",", separator).encode()
    stream = Spelled(pa.BufferReader(text), separator, range(4))
    while stream.read(size):
        pass
    assert stream.found == {0: "00", 2: "007", 3: "-0"}


def test_other_columns_are_numbers(tmp_path):
    table = read_edges(
        put(tmp_path, "e.csv", "source,destination,weight,day\n1,2,007,2020-01-01\n")
    )
    assert table["weight"].to_pylist() == [7]
    assert pa.types.is_date(table.schema.field("day").type)


@pytest.mark.parametrize(
    "cell", ["True", "false", "NA", "nan", "2020-01-01", "01:30", "2020-01-01T00:00:00+02:00",
             "123456789012345678901", "2020-01-01 00:00", "1_000", "0x1FFFFFFFFFFFFFFFFF"],
)  # fmt: skip
def test_ids_that_are_no_integers_are_text(tmp_path, cell):
    path = put(tmp_path, "e.csv", f"source,destination\n{cell},{cell}\n")
    assert ids(path) == [[cell], [cell]]
    assert ids(path, ids="text") == [[cell], [cell]]


@pytest.mark.parametrize("cell", ["1.0", "1e3", "+7", ".5", "inf"])
def test_numbers_that_are_no_integers_are_asked_about(tmp_path, cell):
    path = put(tmp_path, "e.csv", f"source,destination\n1,2\n2,{cell}\n")
    with pytest.raises(
        FileError, match=r"column 'destination': row 1 .* no plain integer.*--ids text"
    ):
        read_edges(path)
    assert ids(path, ids="text") == [["1", "2"], ["2", cell]]


@pytest.mark.parametrize(("text", "row"), [("1,2\n3,\n", 1), ("a,b\n,c\n", 1), ("1,NA\n2,3\n", 0)])
def test_a_row_without_an_id_is_named(tmp_path, text, row):
    path = put(tmp_path, "e.csv", "source,destination\n" + text)
    with pytest.raises(FileError, match=f"row {row} has no id"):
        read_edges(path)


def test_blanks_around_ids_are_no_part_of_them(tmp_path):
    path = put(tmp_path, "e.csv", "source, destination\n1, 2\n 2,1\n")
    assert ids(path) == [[1, 2], [2, 1]]
    path = put(tmp_path, "f.csv", "source,destination\na, b\nc ,d\n")
    assert ids(path) == [["a", "c"], ["b", "d"]]
    path = put(tmp_path, "g.csv", "source,destination\na, b\nb,c\n c,a\n")
    with pytest.warns(
        GraphWarning, match=r"one vertex of two spellings 2 times, first of 'b' and ' b'"
    ):
        assert ids(path) == [["a", "b", "c"], ["b", "c", "a"]]


def test_large_integers_stay_exact(tmp_path):
    path = put(tmp_path, "e.txt", f"{2**64 - 1} {2**63}\n3 4\n")
    assert ids(path) == [[2**64 - 1, 3], [2**63, 4]]


# --- headers --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["e.csv", "e.txt", "e.tsv"])
def test_usual_names_are_a_header(tmp_path, name):
    separator = {"e.csv": ",", "e.txt": " ", "e.tsv": "\t"}[name]
    for names in (("src", "dst"), ("From", "To"), ("source_id", "target_id")):
        text = "".join(
            f"{separator.join(row)}\n" for row in (names, ("ann", "bob"), ("bob", "eve"))
        )
        assert ids(put(tmp_path, name, text)) == [["ann", "bob"], ["bob", "eve"]]


def test_names_that_are_asked_for_are_a_header(tmp_path):
    path = put(tmp_path, "e.txt", "buyer seller\nann bob\nbob eve\n")
    table = read_edges(path, source=["buyer"], destination=["seller"])
    assert table.to_pydict() == {"buyer": ["ann", "bob"], "seller": ["bob", "eve"]}
    with pytest.warns(GraphWarning, match="give --header if it is the header"):
        assert read_edges(path).num_rows == 3
    assert read_edges(path, header=False).num_rows == 3
    assert read_edges(path, header=True).column_names == ["buyer", "seller"]


def test_an_edge_is_not_taken_as_the_header(tmp_path):
    path = put(tmp_path, "e.csv", "ann,bob\nbob,eve\n")
    for options in ({}, {"source": ["ann"], "destination": ["bob"]}):
        with pytest.raises(FileError, match=r"first row \(ann, bob\) may be .* --no-header"):
            read_edges(path, **options)
    assert ids(path, header=False) == [["ann", "bob"], ["bob", "eve"]]
    assert read_edges(path, header=True).to_pydict() == {"ann": ["bob"], "bob": ["eve"]}
    assert ids(put(tmp_path, "f.txt", "0x1f,10.0.0.1\n10.0.0.1,b\n")) == [
        ["0x1f", "10.0.0.1"],
        ["10.0.0.1", "b"],
    ]


def test_separators(tmp_path):
    path = put(tmp_path, "e.csv", "source;destination\na b;c\n")
    with pytest.raises(FileError, match="--separator ';'"):
        read_edges(path)
    assert ids(path, separator=";") == ids(path, separator="semicolon") == [["a b"], ["c"]]
    assert ids(put(tmp_path, "t.txt", "1\t2\n"), separator="tab") == [[1], [2]]
    assert ids(put(tmp_path, "b.txt", "1 2\n"), separator="blank") == [[1], [2]]
    assert ids(put(tmp_path, "p.txt", "1|2\n007|3\n"), separator="|", ids="text") == [
        ["1", "007"],
        ["2", "3"],
    ]
    with pytest.raises(FileError, match="separator='ab' is not one character"):
        read_edges(path, separator="ab")


def test_files_of_vertices(tmp_path):
    path = put(tmp_path, "v.csv", "vertex,value\n007,1\n7,2\n")
    with pytest.warns(GraphWarning, match=TEXT):
        assert read_frame(path)["vertex"].to_pylist() == ["007", "7"]
    assert read_frame(path, ids="text")["value"].to_pylist() == [1, 2]
    pairs = put(tmp_path, "p.csv", "first,second\n1,2\n")
    assert read_frame(pairs, ids="text", id_columns=("first", "second")).to_pydict() == {
        "first": ["1"],
        "second": ["2"],
    }


def test_ids_of_several_columns(tmp_path):
    path = put(tmp_path, "e.csv", "a,b,c,d\n1,x,2,3\n")
    table = read_edges(path, source=["a", "b"], destination=["c", "d"])
    assert table.to_pydict() == {"a": [1], "b": ["x"], "c": [2], "d": ["3"]}


@pytest.mark.parametrize("seed", range(20))
def test_ids_are_read_as_they_are_written(tmp_path, seed):
    """Random cells: whatever is read says, letter by letter, what the file says."""
    rng = np.random.default_rng(seed)
    words = [
        "0",
        "7",
        "-7",
        "10",
        "007",
        "0x7",
        "-0",
        "00",
        "true",
        "NA",
        "1:30",
        "a",
        "2020-01-01",
    ]
    cells = rng.choice(words[: rng.integers(3, len(words) + 1)], (9, 2))
    text = "source,destination\n" + "".join(f"{u},{v}\n" for u, v in cells)
    path = put(tmp_path, "e.csv", text)
    read = np.array(ids(path, ids="text")).T
    assert (read == cells).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphWarning)  # of 007
        try:
            read = np.array([[str(cell) for cell in column] for column in ids(path)]).T
        except FileError as error:
            assert "has no id" in str(error)  # noqa: PT017 - NA among integers
            return
    assert (read == cells).all()
