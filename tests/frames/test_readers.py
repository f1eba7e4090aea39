"""Edge files in, frames out: every format, plain and gzipped, and every way to be wrong."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from clusters import eventually
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cugraph_ws.errors import FileError, GraphMemoryError, InputError
from cugraph_ws.frames import graph_file, streams, textfiles
from cugraph_ws.frames.arrow_files import open_folder
from cugraph_ws.frames.readers import read_edges, read_frame
from cugraph_ws.frames.writers import check_writable, write_chunks, write_frame

EDGES = {"source": [1, 2, 3], "destination": [2, 3, 1]}
MTX = "%%MatrixMarket matrix coordinate "
WEIGHTED = {**EDGES, "weight": [0.5, 1.5, 2.5]}


def put(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    data = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def types(table: pa.Table) -> list[str]:
    return [str(field.type) for field in table.schema]


# --- what is read ---------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize(
    ("name", "text", "columns"),
    [
        ("e.csv", "source,destination\n1,2\n2,3\n3,1\n", EDGES),
        ("e.csv", "a,b,w\n1,2,.5\n2,3,1\n", {"a": [1, 2], "b": [2, 3], "w": [0.5, 1.0]}),
        ("e.csv", "1,2\n2,3\n3,1\n", EDGES),
        ("e.csv", "1 2 .5\n2 3 1.5\n3 1 2.5\n", WEIGHTED),
        ("e.csv", "# made by hand\n\nfrom,to\n1,2\n", {"from": [1], "to": [2]}),
        ("e.csv", '"from, old",to\n1,2\n', {"from, old": [1], "to": [2]}),
        ("e.csv", 'a,b\n"x,y",z\n', {"a": ["x,y"], "b": ["z"]}),
        ("e.csv", "source,destination\r\n1,2\r\n2,3\r\n3,1", EDGES),
        ("e.tsv", "source\tdestination\n1\t2\n2\t3\n3\t1\n", EDGES),
        ("e.tsv", "1\t2\n2\t3\n3\t1\n", EDGES),
        ("e.tsv", "a\tb\nNew York\tBoston\n", {"a": ["New York"], "b": ["Boston"]}),
        ("e.txt", "a\tb\n1\t2\n", {"a": [1], "b": [2]}),
        ("e.txt", "# SNAP\n# From To\n1\t2\n2\t3\n3\t1\n", EDGES),
        ("e.txt", "% KONECT\n1 2\n\n  2   3 \n# between\n3\t \t1", EDGES),
        ("e.txt", "1\t2\r\n2\t3 \r\n3\t1\r\n", EDGES),
        ("e.txt", "from to\n1 2\n2 3\n", {"from": [1, 2], "to": [2, 3]}),
        ("e.txt", "ann bob\nbob eve\n", {"source": ["ann", "bob"], "destination": ["bob", "eve"]}),
        ("e.txt", "New York\tOslo\nOslo\tRome\n",
         {"source": ["New York", "Oslo"], "destination": ["Oslo", "Rome"]}),
        ("e.edges", "1 2 3 4\n",
         {"source": [1], "destination": [2], "weight": [3], "column_4": [4]}),
        ("e", '"1 2\n', {"source": ['"1'], "destination": ["2"]}),
        ("e.txt", "# nothing here\n", {"source": [], "destination": []}),
        ("e.txt", "\n\n", {"source": [], "destination": []}),
        ("e.csv", "source,destination\n", {"source": [], "destination": []}),
        ("e.mtx", MTX + "pattern general\n% c\n3 3 3\n1 2\n2 3\n3 1\n",
         EDGES),
        ("e.txt", MTX + "real general\n3 3 3\n1 2 .5\n2 3 1.5\n3 1 2.5\n",
         WEIGHTED),
        ("e.mtx", MTX + "integer symmetric\n3 3 2\n1 1 7\n3 1 -4\n",
         {"source": [1, 3, 1], "destination": [1, 1, 3], "weight": [7, -4, -4]}),
        ("e.mtx", MTX + "real skew-symmetric\n3 3 1\n3 1 4\n",
         {"source": [3, 1], "destination": [1, 3], "weight": [4.0, -4.0]}),
        ("e.mtx", MTX + "pattern symmetric\n2 2 1\n2 1\n",
         {"source": [2, 1], "destination": [1, 2]}),
        ("e.mtx", MTX + "pattern general\n4 4 0\n",
         {"source": [], "destination": []}),
    ],
)  # fmt: skip
def test_text_is_read(tmp_path, name, text, columns, suffix):
    table = read_edges(put(tmp_path, name + suffix, text))
    assert table.to_pydict() == columns
    if columns.get("source") == []:
        assert types(table) == ["int64", "int64"]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("csv", "1,2\n2,3\n3,1\n"),
        ("tsv", "1\t2\n2\t3\n3\t1\n"),
        ("snap", "1\t2\n2 3\n3 1\n"),
        ("matrix-market", MTX + "pattern general\n3 3 3\n1 2\n2 3\n3 1"),
    ],
)
def test_a_format_can_be_named(tmp_path, kind, text):
    assert read_edges(put(tmp_path, "edges.data", text), kind).to_pydict() == EDGES


def test_a_byte_order_mark_is_no_part_of_an_id(tmp_path):
    bom = "\ufeff"
    assert read_edges(put(tmp_path, "a.csv", bom + "a,b\n1,2\n")).column_names == ["a", "b"]
    for name, text in (("b.csv", "1,2\n2,3\n3,1\n"), ("c.txt", "1 2\n2 3\n3 1\n")):
        assert read_edges(put(tmp_path, name, bom + text)).to_pydict() == EDGES


def test_names_for_a_file_without_a_header(tmp_path):
    table = read_frame(put(tmp_path, "t.txt", "1 2.5\n2 3.5\n"))
    assert table.to_pydict() == {"vertex": [1, 2], "value": [2.5, 3.5]}


@pytest.mark.parametrize("name", ["v.txt", "v.csv", "v.tsv"])
@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("3\n1\n", [3, 1]),
        ("vertex\n3\n1\n", [3, 1]),
        ("vertex\nrome\n", ["rome"]),
        ("", None),
    ],
)
def test_files_of_vertices_may_have_one_column(tmp_path, name, text, ids):
    path = put(tmp_path, name, text)
    if ids is None:
        with pytest.raises(FileError, match="is empty"):
            read_frame(path)
    else:
        assert read_frame(path).to_pydict() == {"vertex": ids}


def test_a_name_with_a_blank_is_one_cell_of_a_csv(tmp_path):
    assert read_frame(put(tmp_path, "v.csv", "city\nNew York\n")).to_pydict() == {
        "city": ["New York"]
    }
    with pytest.raises(FileError, match=r"line 1 has one column .* separated by commas"):
        read_edges(put(tmp_path, "e.csv", "ann bob\n"))


@pytest.mark.parametrize("comments", [True, False])
def test_types_widen_where_a_later_block_needs_it(tmp_path, monkeypatch, comments):
    monkeypatch.setattr(textfiles, "BLOCK", 64)
    separator = " " if comments else ","
    rows = [[i, i + 1, 1] for i in range(50)]
    rows += [[2**63 + 1, 5, 0.25], [7, "x7", 2]]
    text = "".join(separator.join(map(str, row)) + "\n" for row in rows)
    table = read_edges(put(tmp_path, "e.txt", text))
    assert types(table) == ["string", "string", "double"]  # both ends are of one kind
    assert table["source"].to_pylist()[-2:] == [str(2**63 + 1), "7"]
    assert table["destination"].to_pylist()[-2:] == ["5", "x7"]
    assert table["weight"].to_pylist()[-2:] == [0.25, 2.0]


def test_ids_above_int64_stay_exact(tmp_path):
    table = read_edges(put(tmp_path, "e.txt", f"{2**64 - 1} {2**63} 1.5\n3 4 1e300\n"))
    assert types(table) == ["uint64", "uint64", "double"]
    assert table["source"].to_pylist() == [2**64 - 1, 3]


def test_large_numbers_that_are_no_integers_of_64_bits_stay_floats(tmp_path):
    for large in (str(2**64), "1e19"):
        table = read_edges(put(tmp_path, "e.txt", f"1 2 {large}\n"))
        assert table.to_pydict() == {"source": [1], "destination": [2], "weight": [float(large)]}


def test_cleaning_keeps_blanks_in_cells_between_tabs():
    stream = streams.Cleaned(pa.BufferReader(b"# c\nNew  York\tOslo\n#\nBonn\tRome"), False)
    assert b"".join(iter(lambda: stream.read(9), b"")) == b"New  York\tOslo\nBonn\tRome\n"


@settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    edges=st.lists(st.tuples(st.integers(0, 99), st.integers(-99, 99)), min_size=1, max_size=40),
    separators=st.lists(st.sampled_from([" ", "\t", "  ", " \t "]), min_size=1),
    ends=st.lists(
        st.sampled_from(["\n", "\r\n", " \n", "\n# c\n", "\n\n"]), min_size=1, max_size=5
    ),
    size=st.integers(1, 30),
)
def test_blanks_comments_and_blocks_of_any_kind_make_no_difference(
    tmp_path, edges, separators, ends, size
):
    text = "".join(
        f"{u}{separators[i % len(separators)]}{v}{ends[i % len(ends)]}"
        for i, (u, v) in enumerate(edges)
    ).encode()
    stream = streams.Cleaned(pa.BufferReader(text), blanks=True)
    pieces = list(iter(lambda: stream.read(size), b""))
    assert all(len(piece) <= size for piece in pieces)
    cleaned = [line.split(b" ") for line in b"".join(pieces).splitlines() if line]
    assert [(int(u), int(v)) for u, v in cleaned] == edges
    table = read_edges(put(tmp_path, "e.txt", text))
    assert list(zip(*table.to_pydict().values(), strict=True)) == edges


@pytest.mark.parametrize("name", ["e.parquet", "e.pq", "e.data"])
def test_parquet_is_read(tmp_path, name):
    pq.write_table(pa.table(WEIGHTED), tmp_path / name)
    assert read_edges(tmp_path / name).to_pydict() == WEIGHTED


def test_a_folder_of_parquet_is_read(tmp_path):
    for part in range(2):
        pq.write_table(pa.table(EDGES), tmp_path / f"part-{part}.parquet")
    assert read_edges(tmp_path).to_pydict() == {name: 2 * ids for name, ids in EDGES.items()}


# --- what is refused ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("e.csv", "", "is empty"),
        ("e.parquet", "", "is empty"),
        ("e.parquet", "source,destination\n1,2\n", "not a Parquet file"),
        ("e.txt", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "neither text in UTF-8 nor in a known format"),
        ("e.csv", "a,b\n1,2\n".encode("utf-16"), "neither text in UTF-8 nor in a known format"),
        ("e.csv", b"a,b\nk\xf6ln,2\n", "column 'a' is not text in UTF-8"),
        ("e.csv", "a,a\n1,2\n", "two columns are named 'a'"),
        ("e.csv", "a,b\n1,2\n3,4,5\n", "line 3: Expected 2 columns, got 3: 3,4,5"),
        ("e.csv", "# c\n\n# d\na,b\n\n1,2\n3\n", "line 7: Expected 2 columns, got 1: 3"),
        ("e.tsv", "a\tb\n1\t2\n3\n", "line 3: Expected 2 columns, got 1: 3"),
        ("e.txt", "# c\n1 2\n# d\n\n3 4\n5\n", "line 6: Expected 2 columns, got 1: 5"),
        ("e.txt", "# c\n1\t2\n3\t4\n5\n6\t7\n", "line 4: Expected 2 columns, got 1: 5"),
        ("e.txt", "# c\nhello\n", "line 2 has one column"),
        ("e.txt.gz", "# c\n\n\nhello\n", "line 4 has one column"),
        ("e.mtx", "1 2\n", "line 1 is '1 2', not a %%MatrixMarket header"),
        ("e.mtx", "%%MatrixMarket matrix\n", "not a %%MatrixMarket header"),
        ("e.mtx", "%%MatrixMarket matrix array real general\n", "that is array real general"),
        ("e.mtx", MTX + "complex general\n1 1 1\n1 1 0 0\n", "coordinate complex general"),
        ("e.mtx", MTX + "real hermitian\n1 1 1\n1 1 0\n", "coordinate real hermitian"),
        ("e.mtx", MTX + "pattern general\n% c\n3 x 1\n", "line 3 is '3 x 1'"),
        ("e.mtx", MTX + "pattern general\n", "it should have three whole numbers"),
        ("e.mtx", MTX + "pattern general\n2 3 1\n1 1\n", "2 rows and 3 columns"),
        ("e.mtx", MTX + "pattern general\n3 3 3\n1 2\n2 3\n", "has 2 entries.* says 3"),
        ("e.mtx", MTX + "pattern general\n3 3 2\n1 2\n0 3\n", "column 'source' holds"),
        ("e.mtx", MTX + "pattern general\n3 3 2\n1 2\n1 4\n", "column 'destination' holds"),
        ("e.mtx", MTX + "pattern general\n3 3 1\n1 x\n", "column 'destination' holds"),
        ("e.mtx", MTX + "pattern general\n3 3 2\n1 2\n3\n", "line 4: Expected 2 columns, got 1"),
        ("e.mtx", MTX + "real general\n3 3 1\n1 2\n", "line 3: Expected 3 columns, got 2"),
        ("e.mtx", MTX + "integer general\n3 3 1\n1 2 1.5\n", "values are not integer"),
    ],
)  # fmt: skip
def test_unreadable_content_is_named(tmp_path, name, text, message):
    path = put(tmp_path, name, text)
    with pytest.raises(FileError, match=message) as caught:
        read_edges(path)
    assert str(path) in str(caught.value)


def test_a_missing_file(tmp_path):
    with pytest.raises(FileError, match=r"e\.csv: there is no such file"):
        read_edges(tmp_path / "e.csv")


def test_cells_without_a_header(tmp_path):
    with pytest.raises(FileError, match="no header and no edges"):
        read_edges(put(tmp_path, "e.csv", "# only\n# comments\n"), "csv")


def test_an_unknown_format(tmp_path):
    with pytest.raises(
        FileError, match="format='excel' is not known; choose one of: parquet, arrow, csv"
    ):
        read_edges(tmp_path / "e.csv", "excel")


def test_a_folder_without_parquet(tmp_path):
    with pytest.raises(FileError, match=r"no \.parquet files"):
        read_edges(tmp_path)


def test_a_truncated_file_of_a_folder_is_named(tmp_path):
    for name in ("a", "b"):
        pd.DataFrame({"source": range(9), "destination": 0}).to_parquet(
            tmp_path / f"{name}.parquet"
        )
    file = tmp_path / "b.parquet"
    file.write_bytes(file.read_bytes()[:-40])
    with pytest.raises(FileError, match=r"b\.parquet: may be truncated or damaged \(Parquet magic"):
        open_folder(tmp_path)


def test_truncated_files(tmp_path):
    pq.write_table(pa.table(EDGES), tmp_path / "e.parquet")
    data = (tmp_path / "e.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(data[: len(data) // 2])
    lines = "".join(f"{i} {i * i}\n" for i in range(30_000)).encode()
    (tmp_path / "cut.txt.gz").write_bytes(gzip.compress(lines)[:-3000])
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(lines.replace(b" ", b","))[:-3000])
    with pytest.raises(FileError, match="may be truncated"):
        read_edges(tmp_path / "cut.parquet")
    for name in ("cut.txt.gz", "cut.csv.gz"):
        with pytest.raises(FileError, match="it is truncated"):
            read_edges(tmp_path / name)


def test_a_parquet_file_with_a_damaged_column_name(tmp_path):
    path = tmp_path / "e.parquet"
    pq.write_table(pa.table(EDGES), path)
    path.write_bytes(path.read_bytes().replace(b"source", b"\xf3ource"))
    with pytest.raises(FileError, match="truncated or damaged"):
        read_edges(path)


def test_a_file_that_says_nothing_but_fails(tmp_path, monkeypatch):
    def fail(*args, **kwargs):
        raise OSError

    monkeypatch.setattr(textfiles.csv, "read_csv", fail)
    with pytest.raises(FileError, match="cannot be read \\(OSError\\)"):
        read_edges(put(tmp_path, "e.csv", "1,2\n"))


def test_an_error_that_names_no_row(tmp_path, monkeypatch):
    def fail(*args, **kwargs):
        raise pa.ArrowInvalid("straddling object")

    monkeypatch.setattr(textfiles.csv, "read_csv", fail)
    with pytest.raises(FileError, match="straddling object; check the format"):
        read_edges(put(tmp_path, "e.csv", "1,2\n"))


def test_a_head_that_ends_within_a_line(tmp_path, monkeypatch):
    monkeypatch.setattr(textfiles, "HEAD", 5)
    assert read_edges(put(tmp_path, "e.txt", "1 2\n2 3\n3 1\n")).to_pydict() == EDGES
    monkeypatch.setattr(textfiles, "HEAD", 3)
    assert read_edges(put(tmp_path, "f.txt", "1 2\n2 3\n3 1\n")).to_pydict() == EDGES


@settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    name=st.sampled_from(["e.csv", "e.tsv", "e.txt", "e.mtx", "e.parquet", "e", "e.csv.gz"]),
    start=st.sampled_from(
        [
            *(b"", b"PAR1", b"\x1f\x8b", b"%%MatrixMarket ", b"a,b\n", b"1 2\n", b"\xef\xbb\xbf"),
            (MTX + "real symmetric\n3 3 2\n").encode(),
        ]
    ),
    content=st.one_of(
        st.binary(max_size=60),
        st.text(alphabet="0123456789,.-e \t\n\r#%\"'ab\u00e9", max_size=60).map(str.encode),
    ),
)
def test_any_file_gives_a_table_or_a_library_error(tmp_path, name, start, content):
    path = put(tmp_path, name, start + content)
    for read in (read_edges, read_frame):
        try:
            table = read(path)
        except FileError as error:
            assert str(path) in str(error)  # noqa: PT017 - either outcome is right
        else:
            assert isinstance(table, pa.Table)
            assert all(not pa.types.is_null(field.type) for field in table.schema)


# --- what is written ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["r.parquet", "r.pq", "r.csv", "r.tsv", "r.csv.gz", "r.TSV.gz"])
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_are_written_and_read_back(tmp_path, name, kind):
    write_frame(kind(WEIGHTED), tmp_path / name)
    assert os.listdir(tmp_path) == [name]
    assert read_edges(tmp_path / name).to_pydict() == WEIGHTED


def test_nulls_survive(tmp_path):
    table = pa.table({"vertex": [1, 2], "distance": pa.array([0, None], pa.int64())})
    for name in ("r.parquet", "r.csv"):
        write_frame(table, tmp_path / name)
        assert read_frame(tmp_path / name).to_pydict() == table.to_pydict()


def test_chunks_become_row_groups(tmp_path):
    chunks = [{"source": np.arange(n), "destination": np.arange(n)} for n in (3, 0, 2)]
    assert write_chunks(chunks, tmp_path / "e.parquet") == 5
    assert pq.ParquetFile(tmp_path / "e.parquet").num_row_groups == 3
    assert write_chunks(chunks, tmp_path / "e.csv.gz") == 5
    assert read_edges(tmp_path / "e.csv.gz").num_rows == 5


def test_a_failure_leaves_what_was_there(tmp_path):
    target = put(tmp_path, "e.parquet", "precious")

    def chunks():
        yield {"source": np.arange(3)}
        raise RuntimeError("the third chunk")

    with pytest.raises(RuntimeError, match="third"):
        write_chunks(chunks(), target)
    assert target.read_bytes() == b"precious"
    assert os.listdir(tmp_path) == ["e.parquet"]


def test_a_full_disk_is_reported_and_leaves_nothing(tmp_path, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(FileError, match=r"r\.csv: cannot be written \(No space left on device\)"):
        write_frame(pa.table(EDGES), tmp_path / "r.csv")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("r.xlsx", "the suffix is not a known format; end it in .parquet"),
        ("no/such/r.csv", "there is no folder"),
        ("folder.csv", "not a regular file"),
        ("file.csv/r.csv", "there is no folder"),
        ("r" * 300 + ".csv", "cannot be written"),
    ],
)
def test_outputs_are_checked_before_work(tmp_path, path, message):
    (tmp_path / "folder.csv").mkdir()
    put(tmp_path, "file.csv", "")
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(FileError, match=message):
        check_writable(tmp_path / path)
    assert sorted(os.listdir(tmp_path)) == before


def test_links_in_a_circle_are_replaced_and_not_followed(tmp_path):
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.symlink_to(second)
    second.symlink_to(first)
    with pytest.raises(
        FileError, match=r"a\.csv: cannot be read \(Too many levels of symbolic links\)"
    ):
        read_edges(first)
    write_frame(pa.table({"source": [1], "destination": [2]}), first)
    assert first.read_text().splitlines()[1:] == ["1,2"]


def test_a_device_is_never_replaced():
    with pytest.raises(FileError):
        write_frame(pa.table(EDGES), "/dev/null")
    link = Path("/dev/null")
    assert not link.is_file()


def test_a_link_stays_and_its_target_is_written(tmp_path):
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    write_frame(pa.table(EDGES), tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert read_edges(tmp_path / "real.csv").to_pydict() == EDGES


def test_only_frames_are_written(tmp_path):
    with pytest.raises(InputError, match="list is not a frame"):
        write_frame([1, 2], tmp_path / "r.csv")


# --- what does not fit ----------------------------------------------------------------------


def limit(monkeypatch, size):
    monkeypatch.setenv("CUGRAPH_WS_MEMORY_LIMIT", str(size))


def count_reads(monkeypatch):
    """Note how many bytes of text are read of a file."""
    sizes = []
    read = streams.Guarded.read

    def noted(self, size):
        block = read(self, size)
        sizes.append(len(block))
        return block

    monkeypatch.setattr(streams.Guarded, "read", noted)
    return sizes


def bomb(folder, name, members):
    """A gzipped edge list whose parts of 8 MiB each are all alike, so that no size is declared."""
    text = b"1,2\n" * (1 << 21)
    path = folder / name
    path.write_bytes(gzip.compress(b"source,destination\n") + gzip.compress(text) * members)
    return path


@pytest.mark.parametrize("name", ["e.csv.gz", "e.txt.gz"])
def test_reading_stops_where_gzipped_text_needs_too_much(tmp_path, monkeypatch, name):
    path = bomb(tmp_path, name, 16)
    limit(monkeypatch, 40_000_000)
    sizes = count_reads(monkeypatch)
    before = pa.total_allocated_bytes()
    with pytest.raises(GraphMemoryError, match=r"e\..*: its rows need .* 38\.1 MiB are available"):
        read_edges(path)
    assert sum(sizes) < 10_000_000 < 16 << 23
    eventually(lambda: pa.total_allocated_bytes() - before < 5_000_000)  # its threads may end later


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peaks are Linux's")
def test_five_gigabytes_in_a_small_file_take_no_more_than_the_limit(tmp_path):
    path = bomb(tmp_path, "e.csv.gz", 640)
    assert path.stat().st_size < 10_000_000
    code = f"""
from pathlib import Path
from cugraph_ws.errors import GraphMemoryError
from cugraph_ws.frames.readers import read_edges
def most():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024
before = most()
try:
    read_edges({str(path)!r})
except GraphMemoryError:
    print(most() - before)
"""
    surroundings = {**os.environ, "CUGRAPH_WS_MEMORY_LIMIT": str(200 << 20)}
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=surroundings
    )
    assert 0 < int(done.stdout) < 200 << 20


@pytest.mark.parametrize("name", ["e.csv", "e.txt"])
def test_a_declared_size_is_enough_to_refuse(tmp_path, monkeypatch, name):
    separator = "," if "csv" in name else " "
    path = put(tmp_path, name, f"1{separator}2\n" * 1_000_000)
    limit(monkeypatch, 10_000_000)
    sizes = count_reads(monkeypatch)
    with pytest.raises(GraphMemoryError, match=r"its rows need 12\.4 MiB or more in memory"):
        read_edges(path)
    assert sizes == []
    limit(monkeypatch, 100_000_000)
    assert read_edges(path).num_rows == 1_000_000


@pytest.mark.parametrize("folder", [True, False])
def test_parquet_is_refused_before_it_is_read(tmp_path, monkeypatch, folder):
    numbers = np.arange(100_000)
    parts = [tmp_path / f"{name}.parquet" for name in ("a", "b")][: 1 + folder]
    for part in parts:
        pq.write_table(pa.table({"source": numbers, "destination": numbers}), part)
    path = tmp_path if folder else parts[0]
    limit(monkeypatch, 1_500_000 * len(parts))
    with monkeypatch.context() as patch:
        patch.setattr(pq, "read_table", None)
        with pytest.raises(GraphMemoryError, match=r"its rows need .* or more in memory"):
            read_edges(path)
    limit(monkeypatch, 1_700_000 * len(parts))
    assert read_edges(path).num_rows == 100_000 * len(parts)


def test_texts_of_parquet_are_counted_while_they_are_read(tmp_path, monkeypatch):
    names = pa.array(["x" * 1000]).take(pa.array(np.zeros(300_000, np.int64)))
    table = pa.table({"source": names, "destination": np.arange(300_000)})
    pq.write_table(table, tmp_path / "e.parquet")
    assert (tmp_path / "e.parquet").stat().st_size < 5_000_000
    limit(monkeypatch, 100_000_000)
    before = pa.total_allocated_bytes()
    with pytest.raises(GraphMemoryError, match=r"e\.parquet: its rows need"):
        read_edges(tmp_path / "e.parquet")
    eventually(lambda: pa.total_allocated_bytes() - before < 5_000_000)  # its threads may end later
    monkeypatch.delenv("CUGRAPH_WS_MEMORY_LIMIT")
    read = read_edges(tmp_path / "e.parquet")
    assert read.schema == table.schema
    assert read.equals(table)


def test_entries_of_a_matrix_are_refused_by_the_size_line(tmp_path, monkeypatch):
    header = MTX + "pattern symmetric\n900000 900000 "
    limit(monkeypatch, 6_000_000)
    sizes = count_reads(monkeypatch)
    path = put(tmp_path, "m.mtx", header + "500000\n" + "2 1\n" * 500_000)
    with pytest.raises(GraphMemoryError, match=r"its rows need 7\.6 MiB"):
        read_edges(path)
    assert sizes == []
    lie = put(tmp_path, "lie.mtx", header + "1000000000000\n2 1\n")
    with pytest.raises(FileError, match="has 1 entries, and its size line says"):
        read_edges(lie)
    limit(monkeypatch, 60_000_000)
    assert read_edges(path).num_rows == 1_000_000
    real = textfiles.TextFile.table

    def tight(self, layout, wanted):
        table = real(self, layout, wanted)
        limit(monkeypatch, 0)
        return table

    monkeypatch.setattr(textfiles.TextFile, "table", tight)
    monkeypatch.setattr(graph_file, "available_memory", lambda: 9_000_000)
    with pytest.raises(GraphMemoryError, match=r"its rows need 15\.3 MiB"):
        read_edges(path)


@pytest.mark.parametrize("name", ["e.csv", "e.txt", "e.txt.gz"])
@pytest.mark.parametrize("line", [1, 3])
def test_a_line_without_an_end_is_an_error_at_once(tmp_path, monkeypatch, name, line):
    separator = "," if "csv" in name else " "
    text = f"1{separator}2\n" * (line - 1) + f"1{separator}" + "2" * (32 << 20)
    path = put(tmp_path, name, text)
    sizes = count_reads(monkeypatch)
    with pytest.raises(
        FileError, match=rf"line {line} is longer than 1\.0 MiB; this is not a list"
    ):
        read_edges(path)
    assert sum(sizes) < 1 << 20  # the first block is refused


def test_lines_up_to_the_longest_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "LONGEST", 100)
    monkeypatch.setattr(textfiles, "BLOCK", 256)
    rows = [f"{'x' * size},c" for size in (97, 3, 97)]
    table = read_edges(put(tmp_path, "e.csv", "a,b\n" + "\r\n".join(rows) + "\n"))
    assert [len(one) for one in table["a"].to_pylist()] == [97, 3, 97]
    with pytest.raises(FileError, match="line 3 is longer than 100 B"):
        read_edges(put(tmp_path, "e.csv", f"a,b\n1,2\n{'x' * 99},b\n3,4\n"))
