"""Commands on a cluster: the same results, folders in and out, nothing half-written."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import cugraph_ws as ws
from cugraph_ws.cli import cluster as cli_cluster
from cugraph_ws.cli import folders as cli_folders
from cugraph_ws.cli import main as cli
from cugraph_ws.dask import local
from cugraph_ws.graph import generators

pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.xdist_group("commands")

PROGRAM = '''
import cugraph_ws as ws

@ws.vertex_program
class Least:
    """The least number that leads to a vertex."""

    label: ws.int64
    w: ws.edge(ws.float64, default=0.0)

    def init(vertex, p):
        return vertex

    def compute(src, edge):
        return src.label if edge.w >= 0 else 1 << 40

    combine = min

    def apply(old, gathered):
        return min(old.label, gathered)

@ws.vertex_program
class Passed:
    """How often each edge has been passed."""

    x: ws.int64
    passed = ws.edge_state(ws.int64)
    combine = sum
    max_iter = 2

    def init(vertex):
        return vertex

    def compute(src, edge):
        return edge.passed

    def update_edge(src, edge):
        return edge.passed + 1 + src.x % 2

    def apply(old, gathered):
        return gathered
'''


@pytest.fixture(scope="module")
def cluster():
    """Two workers in processes of their own."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    ) as cluster:
        yield cluster


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in a folder with edges in three files, and in one of two row groups."""
    monkeypatch.chdir(tmp_path)
    edges = generators.erdos_renyi(60, 300, seed=2, weights=(0.5, 2.0), frame="pyarrow")
    edges = edges.rename_columns(["source", "destination", "w"])
    edges = edges.append_column("unread", pa.array(["x" * 9] * edges.num_rows))
    edges = edges.append_column("h", pc.divide(edges["w"], 100.0))
    Path("edges").mkdir()
    for place in range(3):
        pq.write_table(edges.slice(100 * place, 100), f"edges/{place}.parquet")
    pq.write_table(edges, "edges.parquet", row_group_size=150)
    names = pa.table({"vertex": range(62), "first": [float(one % 7) for one in range(62)]})
    pq.write_table(names, "vertices.parquet")
    Path("program.py").write_text(PROGRAM)
    return tmp_path


def run(*words: str) -> int:
    return cli._exit_code(words)


def whole(path: str) -> dict[str, list]:
    """The rows of a folder of results, in the order of its files."""
    files = sorted(Path(path).iterdir())
    return pa.concat_tables(
        [pq.read_table(one) for one in files], promote_options="permissive"
    ).to_pydict()


@pytest.mark.parametrize(
    "words",
    [
        "pagerank --weight w --vertices vertices.parquet --personalization first",
        "bfs --start 3 --start 5",
        "sssp --start 3 --weight w --undirected",
        "widest-path --start 3 --weight w",
        "heat --weight h --temperature 0.5 --fixed 3 --vertices vertices.parquet",
        "run program.py:Least",
    ],
)
def test_the_result_is_that_of_one_machine(words, cluster):
    command, *rest = words.split()
    program = [rest.pop(0)] if command == "run" else []
    line = [command, *program, "edges", *rest]
    assert run(*line, "-o", "one.parquet") == 0
    assert run(*line, "-o", "many", "--scheduler", cluster.scheduler_address) == 0
    one, many = pq.read_table("one.parquet").to_pydict(), whole("many")
    assert list(many) == list(one)
    for name, values in one.items():
        assert [value is None for value in many[name]] == [value is None for value in values]
        numbers = [[value or 0 for value in column] for column in (many[name], values)]
        assert numbers[0] == pytest.approx(numbers[1], rel=1e-9), name
    assert len(list(Path("many").iterdir())) == 2, "a file a worker"
    assert not list(Path().glob(".*")), "nothing temporary is left"


def test_a_local_cluster(capsys):
    assert run("pagerank", "edges", "--workers", "2", "-o", "ranks/", "--progress") == 0
    assert "superstep" in capsys.readouterr().err
    expected = ws.pagerank(pq.read_table("edges"))
    found = whole("ranks")
    assert found["vertex"] == expected["vertex"].to_pylist()
    assert found["pagerank"] == pytest.approx(expected["pagerank"].to_pylist())


def test_top_rows_are_those_of_one_machine(cluster, capsys):
    for words in (["pagerank", "edges", "--rows", "5"], ["bfs", "edges", "--start", "3"]):
        assert run(*words) == 0
        expected = capsys.readouterr().out
        assert run(*words, "--scheduler", cluster.scheduler_address) == 0
        assert capsys.readouterr().out == expected


def test_a_scheduler_file_a_trace_and_a_summary(cluster, monkeypatch):
    import io

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    Path("scheduler.json").write_text(json.dumps({"address": cluster.scheduler_address}))
    err = Terminal()
    monkeypatch.setattr(sys, "stderr", err)
    words = ("--scheduler", "scheduler.json", "--trace", "trace.csv", "--no-progress")
    assert run("pagerank", "edges", *words, "-o", "ranks") == 0
    assert "60 rows in ranks" in err.getvalue()
    assert "60 vertices, 300 edges: " in err.getvalue()
    assert Path("trace.csv").read_text().startswith('"superstep"')


def test_only_what_is_needed_is_read(cluster, monkeypatch):
    import dask.dataframe as dd

    asked = []
    real = dd.read_parquet

    def read_parquet(path, columns, **options):
        frame = real(path, columns=columns, **options)
        asked.append((sorted(columns), frame.npartitions))
        return frame

    monkeypatch.setattr(dd, "read_parquet", read_parquet)
    where = ("--scheduler", cluster.scheduler_address, "-o", "many")
    assert run("pagerank", "edges", *where) == 0
    assert run("pagerank", "edges.parquet", "--weight", "w", *where) == 0
    assert asked == [(["destination", "source"], 3), (["destination", "source", "w"], 2)]


def test_an_earlier_result_is_replaced_and_nothing_else(cluster, capsys):
    where = ("--scheduler", cluster.scheduler_address, "-o", "many")
    Path("many").mkdir()
    Path("many/part-00007.parquet").write_text("an earlier one")
    assert run("bfs", "edges.parquet", "--start", "3", *where) == 0
    assert [one.name for one in sorted(Path("many").iterdir())] == [
        "part-00000.parquet", "part-00001.parquet",
    ]  # fmt: skip
    Path("many/notes.txt").write_text("precious")
    assert run("bfs", "edges", "--start", "3", *where) == 1
    assert "has files that are not Parquet" in capsys.readouterr().err
    assert Path("many/notes.txt").read_text() == "precious"


@pytest.mark.parametrize(
    "precious", ["many/notes.txt", "many/old.parquet/part-00000.parquet", "many/.hidden"]
)
def test_a_folder_with_anything_but_parquet_files_is_refused(tmp_path, precious):
    kept = tmp_path / precious
    kept.parent.mkdir(parents=True)
    kept.write_text("precious")
    with pytest.raises(ws.FileError, match="the folder has files that are not Parquet"):
        cli_folders.check_folder(tmp_path / "many")
    assert kept.read_text() == "precious"


def test_a_crash_leaves_nothing_half_written(cluster, monkeypatch, capsys):
    Path("many").mkdir()
    Path("many/part-00000.parquet").write_text("an earlier one")

    def fail(part, path):
        path.write_text("half")
        raise OSError("no space is left")

    monkeypatch.setattr(cli_folders, "_write", fail)
    words = ("bfs", "edges", "--start", "3", "-o", "many")
    assert run(*words, "--scheduler", cluster.scheduler_address) == 1
    assert "no space is left" in capsys.readouterr().err
    assert Path("many/part-00000.parquet").read_text() == "an earlier one"
    assert sorted(os.listdir()) == [
        "edges", "edges.parquet", "many", "program.py", "vertices.parquet",
    ]  # fmt: skip


def test_files_that_are_not_here_are_missed(cluster, monkeypatch, capsys):
    monkeypatch.setattr(cli_folders, "_write", lambda part, path: len(part))
    words = ("bfs", "edges", "--start", "3", "-o", "many")
    assert run(*words, "--scheduler", cluster.scheduler_address) == 1
    assert "on a disk that all workers and this process share" in capsys.readouterr().err
    assert not Path("many").exists()


def test_a_folder_that_a_worker_does_not_see(tmp_path):
    with pytest.raises(ws.FileError, match="a worker does not see this folder"):
        cli_folders._write(pa.table({"vertex": [1]}), tmp_path / "absent" / "part.parquet")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["absent"], "absent: there is no such file"),
        ([300 * "a"], "a: there is no such file"),
        (["edges", "-o", 300 * "r"], "cannot be written (File name too long)"),
        (["empty"], "the folder has no .parquet files"),
        (["program.py"], "program.py: is not a Parquet file; a cluster reads Parquet only"),
        (["edges", "--format", "csv"], "leave --format out"),
        (["edges", "-o", "ranks.csv"], "a cluster writes folders of Parquet files"),
        (["edges", "-o", "program.py"], "is a file, and a cluster writes folders"),
        (["edges", "-o", "absent/ranks"], "there is no folder"),
        (["edges", "-o", "/proc/ranks"], "/proc/ranks: cannot be written"),
        (["edges", "--weight", "cost"], "cost"),
        (["edges", "--source", "src"], "src"),
        (["edges", "--max-iter", "1"], "PageRank was stopped by max_iter after 1 supersteps"),
    ],
)
def test_errors_are_one_line(words, message, cluster, capsys):
    Path("empty").mkdir()
    before = sorted(os.listdir())
    assert run("pagerank", *words, "--scheduler", cluster.scheduler_address) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.startswith("cugraph-ws: ")
    assert "internal error" not in err
    assert err.count("\n") == 1
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--workers", "2", "--scheduler", "tcp://x:1"], "not both"),
        (["--workers", "0"], "--workers"),
        (["--tls-ca", "ca.pem"], "--tls-ca needs --scheduler"),
        (["--scheduler", "tls://x:1", "--tls-ca", "c"], "give --tls-cert, --tls-key too"),
        (["--workers", "2", "--to", "3"], "--to works on one machine"),
    ],
)
def test_a_wrong_command_line_ends_with_2(words, message, capsys):
    assert run("bfs", "edges", "--start", "3", *words) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("scheduler", "message"),
    [
        ("tcp://127.0.0.1:9", "--scheduler tcp://127.0.0.1:9: no scheduler can be reached"),
        ("ftp://x", "--scheduler ftp://x: no scheduler can be reached"),
        ("absent.json", "absent.json: there is no such file"),
    ],
)
def test_schedulers_that_do_not_answer(scheduler, message, monkeypatch, capsys):
    monkeypatch.setattr(cli_cluster, "PATIENCE", 0.5)
    assert run("wcc", "edges", "--scheduler", scheduler) == 1
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_ctrl_c_on_a_terminal_ends_with_130():
    ring = {"source": range(50), "destination": [*range(1, 50), 0], "w": [1.0] * 50}
    Path("ring").mkdir()
    pq.write_table(pa.table(ring), "ring/0.parquet")  # converges very slowly
    line = "neural-network ring --weight w --activation 1 --tol 0 --max-iter 1000000000 --progress"
    process = subprocess.Popen(
        [sys.executable, "-m", "cugraph_ws.cli.main", *line.split(), "--workers", "2", "-o", "many"],
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        line = process.stderr.readline()
        while "superstep 0" in line:  # the run has not begun its first one
            line = process.stderr.readline()
        assert "superstep" in line
        os.killpg(process.pid, signal.SIGINT)  # workers are in the group, as on a terminal
        _, err = process.communicate(timeout=180)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 130
    assert "interrupted after" in err.splitlines()[-1]
    assert "Traceback" not in err
    assert not Path("many").exists()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes a certificate with openssl")
def test_a_cluster_with_tls(capsys):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out",
         "cert.pem", "-days", "2", "-subj", "/CN=localhost"],
        check=True, capture_output=True,
    )  # fmt: skip
    roles = ("scheduler", "worker", "client")
    security = distributed.Security(
        tls_ca_file="cert.pem",
        require_encryption=True,
        **{f"tls_{role}_cert": "cert.pem" for role in roles},
        **{f"tls_{role}_key": "key.pem" for role in roles},
    )
    tls = ("--tls-ca", "cert.pem", "--tls-cert", "cert.pem", "--tls-key", "key.pem")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, security=security, protocol="tls://", processes=False,
        dashboard_address="127.0.0.1:0",
    ) as cluster:  # fmt: skip
        where = ("--scheduler", cluster.scheduler_address)
        assert cluster.scheduler_address.startswith("tls://")
        assert run("bfs", "edges", "--start", "3", *where, *tls, "-o", "many") == 0
        assert len(whole("many")["vertex"]) == 60
        capsys.readouterr()
        assert run("bfs", "edges", "--start", "3", *where, "-o", "many") == 1
        assert "--tls-ca" in capsys.readouterr().err


def test_without_dask(monkeypatch, capsys):
    monkeypatch.setattr(local.importlib.util, "find_spec", lambda name: None)
    assert run("pagerank", "edges", "--workers", "2") == 1
    assert 'Dask is not installed: pip install "pandas' in capsys.readouterr().err


def test_the_state_of_edges_is_written_to_a_folder(cluster):
    line = ["run", "program.py:Passed", "edges", "--engine", "python", "--max-iter", "2"]
    assert run(*line, "--edge-output", "one.parquet") == 0
    assert run(*line, "--edge-output", "many", "--scheduler", cluster.scheduler_address) == 0
    assert whole("many") == pq.read_table("one.parquet").to_pydict()
