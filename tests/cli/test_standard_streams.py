"""`-` is standard input and output, `python -m` is the command, and shells complete its words."""

import io
import json
import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cugraph_ws as ws
from cugraph_ws.cli import main as cli

TEXT = "source,destination\na,b\nb,c\n"
EDGES = pa.table({"source": ["a", "b"], "destination": ["b", "c"]})


class Pipe:
    """A stream with bytes behind it, as standard input and output are."""

    def __init__(self, data=b""):
        self.buffer = io.BytesIO(data)

    def isatty(self):
        return False


def piped(monkeypatch, data, *words):
    """Return the exit code and the bytes that a command writes."""
    out = Pipe()
    monkeypatch.setattr(sys, "stdin", Pipe(data))
    monkeypatch.setattr(sys, "stdout", out)
    return cli._exit_code(words), out.buffer.getvalue()


def as_parquet():
    buffer = io.BytesIO()
    pq.write_table(EDGES, buffer)
    return buffer.getvalue()


@pytest.mark.parametrize("data", [TEXT.encode(), as_parquet()], ids=["csv", "parquet"])
def test_edges_come_from_standard_input(monkeypatch, data):
    code, out = piped(monkeypatch, data, "core-number", "-", "-o", "-", "--output-format", "jsonl")
    assert code == 0
    rows = [json.loads(line) for line in out.decode().splitlines()]
    assert rows == ws.core_number(EDGES).to_pylist()


def test_vertices_come_from_standard_input(monkeypatch, tmp_path):
    (tmp_path / "e.csv").write_text(TEXT)
    words = ("core-number", str(tmp_path / "e.csv"), "--vertices", "-", "-o", "-")
    code, out = piped(monkeypatch, b"vertex\nz\n", *words)
    assert (code, out.decode().splitlines()[-1]) == (0, '"z",0')


@pytest.mark.parametrize("kind", ["tsv", "parquet"])
def test_formats_of_standard_output(monkeypatch, kind):
    code, out = piped(
        monkeypatch, TEXT.encode(), "core-number", "-", "-o", "-", "--output-format", kind
    )
    assert code == 0
    if kind == "parquet":
        assert pq.read_table(io.BytesIO(out)).equals(ws.core_number(EDGES))
    else:
        assert out.decode().splitlines()[0] == '"vertex"\t"core_number"'


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("core-number", "-"), "standard input: line 1 has one column"),
        (("core-number", "-", "--vertices", "-"), "only one can be standard input"),
        (("core-number", "-", "--workers", "2"), "a cluster reads and writes folders"),
    ],
)
def test_what_is_refused(monkeypatch, capsys, words, message):
    code, _ = piped(monkeypatch, b"hello\n", *words)
    assert code != 0
    assert message in capsys.readouterr().err


def test_parquet_is_not_shown_on_a_terminal(monkeypatch, capsys, tmp_path):
    (tmp_path / "e.csv").write_text(TEXT)
    monkeypatch.setattr("cugraph_ws.cli.streams.sys.stdout.isatty", lambda: True, raising=False)
    words = ("core-number", str(tmp_path / "e.csv"), "-o", "-", "--output-format", "parquet")
    assert cli._exit_code(words) == 2
    assert "Parquet is not for a terminal" in capsys.readouterr().err


def run_module(*words, **settings):
    command = [sys.executable, "-m", "cugraph_ws", *words]
    return subprocess.run(command, text=True, capture_output=True, check=False, **settings)


def test_the_package_is_a_command():
    assert run_module("--version").stdout.startswith("cugraph-ws, version")


def test_shells_complete_commands():
    environment = os.environ | {
        "_CUGRAPH_WS_COMPLETE": "bash_complete",
        "COMP_WORDS": "cugraph-ws page",
        "COMP_CWORD": "1",
    }
    assert "plain,pagerank" in run_module(env=environment).stdout


def test_a_reader_that_has_enough_is_no_error(tmp_path):
    rows = pa.table({"source": range(200_000), "destination": range(1, 200_001)})
    pq.write_table(rows, tmp_path / "e.parquet")
    command = f"{sys.executable} -m cugraph_ws core-number e.parquet -o - | head -1"
    done = subprocess.run(
        command, shell=True, cwd=tmp_path, text=True, capture_output=True, check=False
    )
    assert (done.stdout, done.stderr) == ('"vertex","core_number"\n', "")
