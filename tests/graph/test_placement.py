"""Graphs on disk: the same bits as in memory, within a limit, and refusals that leave nothing behind."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
from pathlib import Path

import dask.dataframe
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import COMPILED
from programs import Hops
from pyarrow import parquet

import cugraph_ws as ws
from cugraph_ws.errors import FileError, GraphMemoryError, InputError
from cugraph_ws.execution.run_memory import sizes_of
from cugraph_ws.graph import mapped_arcs, sorted_files

VERTICES, EDGES = 3000, 40_000
LIMIT = 4 << 20  # bytes; with ranges of at most a few rows


def frame_of(ids: str = "dense") -> pd.DataFrame:
    """Return random edges: loops, parallel ones, both ways, of one type of ids."""
    random = np.random.default_rng(7)
    ends = random.integers(0, VERTICES, (2, EDGES))
    ends[:, ::50] = ends[:, 1::50]
    ends[1, ::70] = ends[0, ::70]
    change = {
        "dense": lambda column: column,
        "gaps": lambda column: (3 * column + 5).astype(np.int32),
        "hashed": lambda column: column * 1_000_003_000_001,
        "text": lambda column: pd.Series(column).astype(str) + "é",
    }[ids]
    return pd.DataFrame(
        {
            "source": change(ends[0]),
            "destination": change(ends[1]),
            "weight": random.random(EDGES) + 0.5,
            "kind": random.integers(0, 9, EDGES).astype(np.int16),
        }
    )


def batches_of(frame: pd.DataFrame) -> pa.RecordBatchReader:
    return pa.Table.from_pandas(frame).to_reader(max_chunksize=1777)


@pytest.fixture
def small_ranges(monkeypatch):
    """Sort in ranges of a few hundred arcs."""
    monkeypatch.setattr(sorted_files, "LEAST", 512)
    monkeypatch.setattr(sorted_files, "MOST", 700)
    bounds = sorted_files.bounds_of
    for module in (mapped_arcs, sorted_files):
        monkeypatch.setattr(
            module, "bounds_of", lambda offsets, most: bounds(offsets, min(most, 900))
        )


def same_arcs(graph, expected):
    for order in ("csc", "csr"):
        arcs, others = getattr(graph, order), getattr(expected, order)
        assert arcs.mapped
        assert np.array_equal(arcs.offsets, others.offsets)
        assert np.array_equal(arcs.indices, others.indices)
        assert arcs.indices.dtype == others.indices.dtype
        for name in expected.edge_attributes:
            column, other = (each._arcs.values(name, order) for each in (graph, expected))
            assert np.array_equal(column, other)
            assert column.dtype == other.dtype


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("ids", ["dense", "gaps", "hashed", "text"])
@pytest.mark.filterwarnings("ignore::cugraph_ws.errors.GraphWarning")
def test_arcs_are_those_in_memory(ids, directed, tmp_path, small_ranges):
    frame = frame_of(ids)
    options = {"directed": directed, "attributes": "kind"}
    expected = ws.Graph(frame, **options)
    given = frame if ids != "gaps" else batches_of(frame)
    with ws.Graph(given, placement="disk", folder=tmp_path, **options) as graph:
        same_arcs(graph, expected)
        for incoming in (True, False):
            sums, others = (
                each.weight_sums("weight", incoming=incoming) for each in (graph, expected)
            )
            assert np.array_equal(sums, others)
            degrees, others = (each.degree_array(incoming=incoming) for each in (graph, expected))
            assert np.array_equal(degrees, others)
        report, other = graph.report, expected.report
        counts = ("duplicates", "self_loops", "isolated", "both_ways", "renumbered")
        assert [getattr(report, name) for name in counts] == [
            getattr(other, name) for name in counts
        ]
        assert report.on_disk == (2 if directed else 1) * 20 * graph.number_of_arcs
        assert report.bytes < other.bytes / 2
        assert "on disk" in str(report)
        assert not list(tmp_path.iterdir())  # files have no names


def test_ids_of_two_columns_and_policies_on_loops(small_ranges):
    frame = frame_of().assign(a=lambda rows: rows.source % 7, b=lambda rows: rows.destination % 7)
    options = {"source": ["a", "source"], "destination": ["b", "destination"]}
    expected = ws.Graph(frame, self_loops="drop", **options)
    graph = ws.Graph(batches_of(frame), placement="disk", self_loops="drop", **options)
    same_arcs(graph, expected)
    assert graph.report.self_loops == expected.report.self_loops > 0
    assert graph.number_of_edges == expected.number_of_edges
    for placement in ("memory", "disk"):
        with pytest.raises(InputError, match=r"'error': row 0 joins \d+ to itself, and \d+ more"):
            ws.Graph(frame, placement=placement, self_loops="error")


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize(
    "policy", ["sum", "min", "mean", "first", {"weight": "max", "kind": "mean"}]
)
@pytest.mark.filterwarnings("ignore::cugraph_ws.errors.GraphWarning")
def test_parallel_edges_are_merged_as_in_memory(policy, directed, tmp_path, small_ranges):
    frame = frame_of()
    options = {"directed": directed, "attributes": "kind", "duplicates": policy}
    expected = ws.Graph(frame, **options)
    graph = ws.Graph(batches_of(frame), placement="disk", folder=tmp_path, **options)
    same_arcs(graph, expected)
    assert graph.number_of_edges == expected.number_of_edges < EDGES
    assert graph.report.duplicates == expected.report.duplicates > 0
    assert graph.parallel_edges == expected.parallel_edges == 0
    assert graph.edges.equals(ws.Graph(pa.Table.from_pandas(frame), **options).edges)


def test_merged_values_that_are_not_finite():
    frame = pd.DataFrame({"source": [3, 1, 1], "destination": [1, 2, 2], "weight": 1.5e308})
    for placement in ("memory", "disk"):
        with pytest.raises(InputError, match=r"'weight' on the edges .* come to inf"):
            ws.Graph(frame, duplicates="sum", placement=placement)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.filterwarnings("ignore::cugraph_ws.errors.GraphWarning")
def test_masks_keep_their_arcs_on_disk(directed, tmp_path, small_ranges):
    frame = frame_of("gaps")
    options = {"directed": directed, "attributes": "kind"}
    expected = ws.Graph(pa.Table.from_pandas(frame), **options)
    graph = ws.Graph(batches_of(frame), placement="disk", folder=tmp_path, **options)
    marks = np.random.default_rng(2).random(graph.number_of_edges) < 0.4
    for chosen in (marks, marks & False, lambda edges: pa.array(edges["kind"].to_numpy() > 5)):
        masked, other = graph.mask(chosen), expected.mask(chosen)
        same_arcs(masked, other)
        assert masked.edges.equals(other.edges)
        assert masked.pagerank().equals(other.pagerank())
    assert graph.edges.equals(expected.edges)  # as before


def test_masks_of_reversed_graphs_keep_edge_columns(tmp_path):
    frame = frame_of()
    graphs = [
        ws.Graph(pa.Table.from_pandas(frame)),
        ws.Graph(batches_of(frame), placement="disk", folder=tmp_path),
    ]
    marks = np.random.default_rng(4).random(EDGES) < 0.4
    masked, other = (graph.reverse().mask(marks) for graph in reversed(graphs))
    assert masked.csc.mapped
    assert masked.edges.equals(other.edges)
    assert masked.sssp(frame.source[1]).equals(other.sssp(frame.source[1]))


def test_copies_of_arcs_keep_to_the_limit(tmp_path):
    frame = frame_of()
    options = {"placement": "disk", "memory_limit": "1MB", "folder": tmp_path}
    with ws.Graph(frame, **options) as graph:
        with pytest.raises(
            GraphMemoryError, match=r"a frame of 40,000 edges needs .*memory_limit="
        ):
            graph.mask(lambda edges: edges["weight"] > 1)
        with pytest.raises(GraphMemoryError, match=r"a subgraph of 40,000 edges needs .*fewer"):
            graph.subgraph(np.arange(VERTICES))
        with pytest.raises(GraphMemoryError, match=r"a frame of 40,000 edges needs 1\.8"):
            ws.subgraph(graph, np.arange(VERTICES))
        with pytest.raises(GraphMemoryError, match=r"Hops needs .*a larger memory_limit="):
            ws.run(Hops, graph, start=0, plan=ws.Plan(partitions=2))
        marks = frame.weight.to_numpy() > 1
        assert graph.mask(marks).number_of_edges == np.count_nonzero(marks)
        few = graph.subgraph(np.arange(300))
        assert few.edges.equals(ws.Graph(frame).subgraph(np.arange(300)).edges)
    with (
        ws.Graph(frame, directed=False, **options) as graph,
        pytest.raises(GraphMemoryError, match=r"a mask needs 1\.\d MiB in memory"),
    ):
        graph.mask(marks)


def test_results_are_those_in_memory(tmp_path):
    frame = frame_of("hashed")
    for part in range(3):
        rows = frame[part::3] if part else frame[::3]
        parquet.write_table(pa.Table.from_pandas(rows), tmp_path / f"{part}.parquet")
    ordered = pd.concat([frame[part::3] for part in range(3)])
    expected = ws.Graph(pa.Table.from_pandas(ordered))
    graph = ws.Graph(tmp_path, placement="disk", memory_limit=LIMIT)
    start = frame.source[1]
    for call in (
        ws.weakly_connected_components,
        ws.pagerank,
        lambda any_graph: ws.bfs(any_graph, start),
        lambda any_graph: ws.sssp(any_graph, start),
        lambda any_graph: ws.run(Hops, any_graph, start=start, engine="python").frame,
    ):
        assert call(graph).equals(call(expected))
    assert graph.reverse().bfs(start).equals(expected.reverse().bfs(start))
    assert graph.reverse().pagerank().equals(expected.reverse().pagerank())
    assert graph.edges.equals(expected.edges)


def test_auto_takes_the_disk_only_if_memory_is_short(caplog, monkeypatch):
    # Other tests call tools whose set-up of logging disables the loggers that exist.
    monkeypatch.setattr(logging.getLogger("cugraph_ws"), "disabled", False)
    frame = frame_of()
    with caplog.at_level(logging.INFO, "cugraph_ws"):
        assert not ws.Graph(frame, placement="auto", memory_limit="1GB").csc.mapped
        assert not ws.Graph(batches_of(frame), placement="auto").csc.mapped
        assert "placed" not in caplog.text
        assert ws.Graph(frame, placement="auto", memory_limit="0.6MB").csc.mapped
        assert "the graph needs" in caplog.text
        caplog.clear()
        assert ws.Graph(batches_of(frame), placement="auto", memory_limit="0.6MB").csc.mapped
        assert "edges are written to" in caplog.text
    with pytest.raises(GraphMemoryError, match=r"585\.9 KiB are available"):
        ws.Graph(frame, memory_limit="0.6MB")


def test_runs_keep_to_the_limit():
    graph = ws.Graph(frame_of(), placement="disk", memory_limit="1MB")
    assert len(ws.weakly_connected_components(graph)) == VERTICES
    with pytest.raises(GraphMemoryError, match=r"louvain needs .*a larger memory_limit="):
        ws.louvain(graph)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"placement": "tape"}, "placement='tape'"),
        ({"folder": "."}, "folder= is for placement='disk' or 'auto'"),
        ({"placement": "disk", "folder": 3}, "folder=3: give the path of a folder"),
        ({"placement": "disk", "folder": "/no/such"}, "no such folder; make it first"),
        ({"memory_limit": "2 pounds"}, r"memory_limit='2 pounds': give bytes, or text such as"),
        ({"memory_limit": 0}, "memory_limit=0"),
        (
            {"placement": "disk", "duplicates": "error"},
            "duplicates='error': .* edges repeat another",
        ),
        ({"placement": "disk", "memory_limit": "100KB"}, r"memory_limit: 3,000 vertices and a row"),
        (
            {"placement": "disk", "memory_limit": "1KB"},
            r"are available .*vertices are in memory also",
        ),
        ({"memory_limit": "100KB"}, r"are available .*give placement='disk', leave out weight="),
        ({"placement": "disk", "source": "from"}, r"source='from': edges has no such column"),
    ],
)
def test_refusals(options, message):
    with pytest.raises((InputError, FileError, GraphMemoryError), match=message):
        ws.Graph(pl.from_pandas(frame_of()), **options)


def test_rows_that_cannot_be_used(tmp_path):
    frame = frame_of()
    for column, message in (
        ("weight", r"column 'weight' \(weight\): row 3001 is n"),
        ("source", r"column 'source' \(source\): row 3001 is null"),
    ):
        damaged = frame.astype({"source": "Int64"})
        damaged.loc[3001, column] = None
        with pytest.raises(InputError, match=message):
            ws.Graph(batches_of(damaged), placement="disk", folder=tmp_path)
    with pytest.raises(InputError, match=r"'from'.*no such column"):
        ws.Graph(batches_of(frame), "from", placement="disk")
    with pytest.raises(FileError, match="check the path"):
        ws.Graph(tmp_path / "absent.parquet", placement="disk")
    assert not list(tmp_path.iterdir())


def test_files_that_are_cut_short(tmp_path):
    whole = tmp_path / "edges.parquet"
    parquet.write_table(pa.Table.from_pandas(frame_of()), whole)
    content = whole.read_bytes()
    for damaged in (content[: len(content) // 2], content[:4000] + content[8000:]):
        whole.write_bytes(damaged)
        with pytest.raises(
            (FileError, InputError), match=r"damaged|cannot be read|is not a Parquet"
        ):
            ws.Graph(whole, placement="disk", folder=tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["edges.parquet"]


@pytest.mark.parametrize("ids", ["hashed", "text"])
def test_a_full_disk(ids, tmp_path):
    resource = pytest.importorskip("resource")  # limits of POSIX systems
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handled = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, hard))
    try:
        for given in (frame_of(ids), batches_of(frame_of(ids))):
            with pytest.raises(FileError, match=rf"{tmp_path}: a graph on disk needs .*free space"):
                ws.Graph(given, placement="disk", folder=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handled)
    assert not list(tmp_path.iterdir())


def test_a_disk_that_is_too_small(tmp_path, monkeypatch):
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    with pytest.raises(FileError, match=r"needs 1\.\d MiB there besides .*1000 B are free"):
        ws.Graph(frame_of(), placement="disk", folder=tmp_path)


LIMITED = """
import resource, sys
import cugraph_ws as ws

def calls(folder, **options):
    with ws.Graph(folder, **options) as graph:
        return [
            str(frame.columns[1].to_numpy().sum())
            for frame in (ws.weakly_connected_components(graph), ws.pagerank(graph), ws.bfs(graph, 0))
        ]

calls(sys.argv[1], placement="disk")  # starts threads and loads code
with open("/proc/self/status") as status:
    held = next(int(line.split()[1]) << 10 for line in status if line.startswith("VmData"))
resource.setrlimit(resource.RLIMIT_DATA, (held + (64 << 20),) * 2)
print(*calls(sys.argv[2], placement="disk", memory_limit="32MB"))
try:
    from pyarrow import parquet
    calls(parquet.read_table(sys.argv[2]))
    print("fits in memory")
except MemoryError:
    print("more than memory")
"""


@pytest.mark.skipif(not COMPILED, reason="millions of edges")
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="limits of Linux")
def test_a_graph_larger_than_the_memory_of_its_process(tmp_path):
    """The columns of edges alone take 72 MB; the system allows 64 MiB beside what an idle process has."""
    random = np.random.default_rng(3)
    rows = pa.table(
        {
            "source": random.integers(0, 100_000, 3_000_000),
            "destination": random.integers(0, 100_000, 3_000_000),
            "weight": random.random(3_000_000),
        }
    )
    few = tmp_path / "few"
    many = tmp_path / "many"
    for folder, table in ((few, rows.slice(0, 100_000)), (many, rows)):
        folder.mkdir()
        first = table.set_column(0, "source", pa.array([0, *table["source"].to_numpy()[1:]]))
        parquet.write_table(first, folder / "0.parquet", row_group_size=1 << 18)
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, few, many], capture_output=True, text=True, check=True
    )
    results, memory = done.stdout.splitlines()
    expected = ws.Graph(parquet.read_table(many))
    calls = (ws.weakly_connected_components, ws.pagerank, lambda graph: ws.bfs(graph, 0))
    sums = [str(call(expected).columns[1].to_numpy().sum()) for call in calls]
    assert results.split() == sums
    assert memory == "more than memory"


KILLED = """
import os, signal, sys
import cugraph_ws as ws

def kill(update):
    if update.superstep == 5:
        os.kill(os.getpid(), signal.SIGKILL)

files, folder = sys.argv[1:]
with ws.Graph(files, weight="weight", placement="disk", folder=folder) as graph:
    ws.run(ws.PageRank, graph, max_iter=12, tol=0.0, checkpoint=f"{folder}/state", every=1, progress=kill)
"""


@pytest.mark.long
def test_a_killed_run_is_resumed(tmp_path):
    """It leaves its checkpoint, and no file of arcs."""
    frame, files, state = frame_of(), tmp_path / "files.parquet", tmp_path / "state"
    frame.to_parquet(files)
    words = [sys.executable, "-c", KILLED, str(files), str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {files.name, state.name}
    limits = {"max_iter": 12, "tol": 0.0}
    alone = ws.run(ws.PageRank, frame, weight="weight", **limits)
    options = {"weight": "weight", "placement": "disk", "folder": tmp_path}
    with ws.Graph(str(files), **options) as graph:
        resumed = ws.run(ws.PageRank, graph, resume=state, **limits)
        assert resumed.frame["pagerank"].to_pylist() == alone.frame["pagerank"].tolist()
        assert resumed.iterations == alone.iterations == 12
        assert len(resumed.trace) in (
            7,
            8,
        )  # whether the checkpoint of the fifth superstep was written
    frame.iloc[1:].to_parquet(files)
    with ws.Graph(str(files), **options) as graph, pytest.raises(InputError, match="another graph"):
        ws.run(ws.PageRank, graph, resume=state, **limits)


def test_batches_keep_to_the_limit():
    """As many sources at a time as fit; bits do not depend on it."""
    frame = frame_of()
    graph = ws.Graph(frame, placement="disk", memory_limit="2MB")
    sizes = [sizes_of(each).columns(64, 90) for each in (graph, ws.Graph(frame))]
    assert 1 < sizes[0] < sizes[1] == 64


@pytest.mark.parametrize("placement", ["disk", "auto", "host"])
def test_a_dask_frame_is_a_stream_of_its_partitions(placement):
    """Its graph is of this machine; of text ids too."""
    frame = frame_of()
    for made in (frame, frame.astype({"source": str, "destination": str})):
        graph = ws.Graph(dask.dataframe.from_pandas(made, npartitions=5), placement=placement)
        assert graph.csc.mapped == (placement == "disk")
        expected = ws.pagerank(ws.Graph(made))
        assert ws.pagerank(graph).to_pandas()["vertex"].tolist() == expected["vertex"].tolist()
        np.testing.assert_allclose(ws.pagerank(graph)["pagerank"], expected["pagerank"], rtol=1e-12)


def test_partitions_of_other_types_are_named():
    parts = [pd.DataFrame({"source": [0, 1], "destination": ends}) for ends in ([1, 2], ["a", "b"])]
    frame = dask.dataframe.from_map(lambda part: part, parts, meta=parts[0])
    with pytest.raises(ws.InputError, match="the rows cannot be read to their end"):
        ws.Graph(frame, placement="disk")


@pytest.mark.parametrize(
    "options", [{"placement": "memory"}, {"memory_limit": "1GB"}, {"folder": "."}], ids=str
)
def test_a_limit_for_a_cluster_names_the_remedy(options):
    frame = dask.dataframe.from_pandas(frame_of(), npartitions=2)
    (name,) = options
    with pytest.raises(
        ws.InputError, match=rf"{name}= is for graphs of one machine.*placement='auto'"
    ):
        ws.Graph(frame, **options)
