"""JSON lines are read and written; what is no such file is refused with the reason."""

import datetime as dt
import gzip
import json
import math

import pyarrow as pa
import pytest

from cugraph_ws.errors import FileError
from cugraph_ws.frames.readers import read_edges, read_frame
from cugraph_ws.frames.writers import write_frame

LINES = '{"source": 1, "destination": 2, "w": 0.5}\n{"source": 2, "destination": 3}\n'
TABLE = {"source": [1, 2], "destination": [2, 3], "w": [0.5, None]}


@pytest.mark.parametrize("name", ["e.jsonl", "e.ndjson", "e.jsonl.gz", "e.txt", "e.json"])
def test_lines_are_known_by_suffix_or_beginning(tmp_path, name):
    data = LINES.encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    assert read_edges(tmp_path / name).to_pydict() == TABLE


def test_ids_keep_their_kind(tmp_path):
    path = tmp_path / "e.jsonl"
    path.write_text('{"source": "2024-01-01", "destination": "2024-01-02", "at": "2024-01-01"}\n')
    table = read_edges(path)
    assert table["source"].to_pylist() == ["2024-01-01"]
    assert pa.types.is_timestamp(table["at"].type)
    path.write_text(LINES)
    assert read_edges(path, ids="text")["source"].to_pylist() == ["1", "2"]
    path.write_text('{"vertex": 1, "size": 7}\n')
    assert read_frame(path).to_pydict() == {"vertex": [1], "size": [7]}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("e.jsonl", '{"source": 1}\n{"source": "a"}\n', "from number to string in row 1.*one kind"),
        ("e.jsonl", '{"source": 1}\nsource\n', "is not JSON lines"),
        (
            "e.json",
            '[{"source": 1, "destination": 2}]\n',
            "is JSON, which is not read; write an object.*in each line",
        ),
        ("e.json", '{"nodes": [], "links": []}\n', "is JSON"),
    ],
)
def test_what_is_refused(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(FileError, match=f"{name}: .*{message}"):
        read_edges(tmp_path / name)


@pytest.mark.parametrize("name", ["r.jsonl", "r.ndjson.gz"])
def test_rows_are_written_as_objects(tmp_path, name):
    frame = pa.table(
        {
            "vertex": ["ä", None],
            "value": [0.25, math.inf],
            "day": [dt.date(2024, 1, 2), None],
            "raw": [b"\xff", b"a"],
            "parts": [[1.0, math.nan], [{"a": 1}["a"]]],
        }
    )
    write_frame(frame, tmp_path / name)
    data = (tmp_path / name).read_bytes()
    text = (gzip.decompress(data) if name.endswith("gz") else data).decode()
    assert [json.loads(line) for line in text.splitlines()] == [
        {"vertex": "ä", "value": 0.25, "day": "2024-01-02", "raw": "\\xff", "parts": [1.0, None]},
        {"vertex": None, "value": None, "day": None, "raw": "a", "parts": [1.0]},
    ]
