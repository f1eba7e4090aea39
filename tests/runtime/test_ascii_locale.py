"""An ASCII locale: ids, paths, programs and output that are not ASCII work there as anywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cugraph_ws.runtime.paths import argument_text, arrow_path, native_path

EDGES = {
    "quelle": ["Köln", "Köln", "Łódź"],
    "ziel": ["Łódź", "東京", "東京"],
    "größe": [4.0, 1.0, 3.0],
}

PROGRAM = '''
"""Die größte Breite eines Weges."""

import math

import cugraph_ws as ws


@ws.vertex_program
class Größte:
    breite: ws.float64
    größe: ws.edge(ws.float64)
    anfang: ws.vertex_parameter

    def init(vertex, p):
        return math.inf if vertex == p.anfang else 0.0  # Köln

    def compute(src, edge):
        return min(src.breite, edge.größe)

    combine = max

    def apply(old, gathered):
        return max(old.breite, gathered)
'''

LIBRARY = """
import sys
from pathlib import Path

import pyarrow as pa

import cugraph_ws as ws
from cugraph_ws.frames.readers import read_edges
from cugraph_ws.frames.writers import write_frame

assert sys.getfilesystemencoding() == "ascii", "else nothing is tried"
folder = Path(sys.argv[1])
sys.path.insert(0, str(folder))
from breite import Größte

for name in ("kanten_ä.csv", "kanten_ä.parquet", "kanten_ä.tsv.gz"):
    edges = read_edges(folder / name)
    with ws.Graph(edges, "quelle", "ziel", attributes=["größe"]) as graph:
        state = folder / "zustand_ö.parquet"
        ws.run(Größte, graph, anfang="Köln", checkpoint=state)
        result = ws.run(Größte, graph, anfang="Köln", resume=str(state))
        expected = ["Köln", "Łódź", "東京"]
        assert result.frame.column("vertex").to_pylist() == expected
        assert result.frame.column("breite").to_pylist()[1:] == [4.0, 3.0]
        with_errors = []
        try:
            ws.bfs(graph, "Malmö")
        except ws.InputError as error:
            with_errors.append(str(error))
        assert "Malmö" in with_errors[0]
        write_frame(result.frame, folder / f"breiten_ü_{name}")
    assert read_edges(folder / f"breiten_ü_{name}", ids="text").num_rows == 3
print("Köln".encode("utf-8"))
"""


def test_paths_of_two_encodings(monkeypatch):
    """In an ASCII locale Python has surrogates where Arrow has letters; elsewhere both have letters."""
    assert native_path("Köln") == Path("Köln")
    assert arrow_path("Köln") == argument_text("Köln") == "Köln"
    monkeypatch.setattr(sys, "getfilesystemencoding", lambda: "ascii")
    monkeypatch.setattr(os, "fsencode", lambda text: text.encode("ascii", "surrogateescape"))
    monkeypatch.setattr(os, "fsdecode", lambda data: data.decode("ascii", "surrogateescape"))
    for given in ("Köln", "K\udcc3\udcb6ln"):
        assert str(native_path(given)) == "K\udcc3\udcb6ln"
        assert arrow_path(native_path(given)) == argument_text(given) == "Köln"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of edges and a program, all of whose names are not ASCII."""
    folder = tmp_path / "Straßen"
    folder.mkdir()
    table = pa.table(EDGES)
    pq.write_table(table, folder / "kanten_ä.parquet")
    rows = [list(EDGES), *zip(*EDGES.values(), strict=True)]
    for name, separator in (("kanten_ä.csv", ","), ("kanten_ä.tsv.gz", "\t")):
        text = "".join(separator.join(map(str, row)) + "\n" for row in rows).encode()
        with pa.output_stream(str(folder / name), compression="detect") as stream:
            stream.write(text)
    (folder / "breite.py").write_text(PROGRAM, encoding="utf-8")
    (folder / "größte.py").write_text(PROGRAM, encoding="utf-8")
    (folder / "skript.py").write_text(LIBRARY, encoding="utf-8")
    return folder


def run_ascii(
    folder: Path, *arguments: str, encoding: str = "ascii"
) -> subprocess.CompletedProcess[bytes]:
    """Run Python in an ASCII locale."""
    environment = {
        **os.environ,
        "LC_ALL": "C",
        "PYTHONUTF8": "0",
        "PYTHONIOENCODING": encoding,
        "CUGRAPH_WS_CACHE_DIR": str(folder / "cache_ñ"),
        "NUMBA_DISABLE_JIT": "0",
    }
    environment.pop("PYTHONCOERCECLOCALE", None)
    return subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, check=False, cwd=folder
    )


def test_the_library(folder):
    done = run_ascii(folder, "skript.py", str(folder))
    assert done.returncode == 0, done.stderr.decode()
    assert list((folder / "cache_ñ").glob("*.py"))


def test_the_command_line(folder):
    """Output is in UTF-8, or escaped where another encoding was asked for that cannot show it."""
    edges = ["kanten_ä.csv", "--source", "quelle", "--destination", "ziel"]
    shown = run_ascii(folder, "-m", "cugraph_ws.cli.main", "bfs", *edges, "--start", "Köln")
    assert shown.returncode == 0, shown.stderr.decode()
    assert "Köln\t0" in shown.stdout.decode()
    latin = run_ascii(
        folder, "-m", "cugraph_ws.cli.main", "bfs", *edges, "--start", "Köln", encoding="latin-1"
    )
    assert latin.returncode == 0, latin.stderr.decode()
    assert b"K\xf6ln\t0" in latin.stdout
    assert b"\\u6771\\u4eac\t1" in latin.stdout
    program = ["größte.py:Größte", *edges, "anfang=Köln", "-o", "breiten_ü.csv"]
    done = run_ascii(folder, "-m", "cugraph_ws.cli.main", "run", *program)
    assert done.returncode == 0, done.stderr.decode()
    assert '"Łódź",4' in (folder / "breiten_ü.csv").read_text("utf-8")
    wrong = run_ascii(folder, "-m", "cugraph_ws.cli.main", "bfs", *edges, "--start", "Malmö")
    assert wrong.returncode == 1
    assert "Malmö" in wrong.stderr.decode()
    missing = run_ascii(folder, "-m", "cugraph_ws.cli.main", "pagerank", "straße.csv")
    assert missing.returncode == 1
    assert b"internal error" not in missing.stderr
