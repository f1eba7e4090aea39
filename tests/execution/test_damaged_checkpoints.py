"""Checkpoints are distrusted: the digest detects damage, and range checks detect forged ones."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from emulator.device import emulated
from programs import values_of
from shapes import SHAPES, build, random_edges, undirected
from stopping import EndsAfter
from thread_ranks import on_ranks, share

import cugraph_ws as ws
from cugraph_ws.backends.cpu.loops import core
from cugraph_ws.execution.checkpoint import read_checkpoint, write_checkpoint
from cugraph_ws.runtime.saved_state import SavedState

EDGES = random_edges(60, 150, seed=3)
N = EDGES.n
MEMBERS = 2


def contents(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arrays and facts of a checkpoint, by other means than the library's."""
    table = pq.read_table(path)
    facts = json.loads(table.schema.metadata[b"cugraph_ws"])
    lengths = facts.pop("lengths")
    arrays = {
        name: np.array(table.column(name).slice(0, length).to_numpy())
        for name, length in lengths.items()
    }
    return arrays, facts


# -------------------------------------------------------------------------------------- damage


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "state.parquet"
    with build(EDGES) as graph:
        ws.run(ws.SSSP, graph, source=0, engine="python", max_iter=2, checkpoint=path)
    return path


def resume(path: Path) -> Any:
    with build(EDGES) as graph:
        return ws.run(ws.SSSP, graph, source=0, engine="python", max_iter=2, resume=path)


def test_no_flipped_bit_is_accepted(whole, tmp_path):
    content = whole.read_bytes()
    path = tmp_path / "state.parquet"
    identity = contents(whole)[1]["identity"]
    read_checkpoint(whole, identity)
    for place in range(0, len(content), 7):
        changed = bytearray(content)
        changed[place] ^= 1 << place % 8
        path.write_bytes(changed)
        with pytest.raises(ws.FileError, match="resume="):
            read_checkpoint(path, identity)


def test_damage_is_said(whole, tmp_path):
    content = bytearray(whole.read_bytes())
    content[100] ^= 4
    path = tmp_path / "state.parquet"
    path.write_bytes(content)
    with pytest.raises(ws.FileError, match=r"is damaged.*start again"):
        resume(path)


def test_one_without_a_digest_is_refused(whole, tmp_path):
    """As an earlier version wrote it: without a digest."""
    table = pq.read_table(whole)
    metadata = {b"cugraph_ws": table.schema.metadata[b"cugraph_ws"]}
    path = tmp_path / "state.parquet"
    pq.write_table(table.replace_schema_metadata(metadata), path)
    with pytest.raises(ws.FileError, match="has no digest"):
        resume(path)


def test_any_tool_reads_it(whole):
    frame = pd.read_parquet(whole)
    assert {"distance", "_queue"} <= set(frame.columns)


def test_the_digest_is_returned(tmp_path):
    facts = {"identity": {}}
    digests = [
        write_checkpoint(tmp_path / str(value), {"x": np.array([value])}, facts) for value in (1, 2)
    ]
    assert digests[0] != digests[1]
    arrays, _ = read_checkpoint(tmp_path / "1", {}, digests[0])
    assert arrays["x"].tolist() == [1]
    with pytest.raises(ws.FileError, match="belongs to another run"):
        read_checkpoint(tmp_path / "1", {}, digests[1])


# -------------------------------------------------------------------------------------- forgery


def at(place: int, value: Any) -> Callable[[Any], Any]:
    """Return what changes one entry."""

    def change(array: Any) -> Any:
        array[place] = value
        return array

    return change


def longer(array: Any) -> Any:
    return np.append(array, array[:1])


def shorter(array: Any) -> Any:
    return array[:-1]


def as_floats(array: Any) -> Any:
    return array.astype(np.float64)


def as_integers(array: Any) -> Any:
    return np.zeros(len(array), np.int64)


def gone(array: Any) -> None:
    return None


PRIORS = pd.DataFrame({"vertex": range(N), "p0": 0.5 + np.arange(N) / 101, "p1": 0.5})
COUPLING = [[0.9, 0.1], [0.1, 0.9]]
BIPARTITE = SHAPES["star"]

RUNS: dict[str, tuple[Any, Callable[..., Any], int]] = {
    "sssp": (EDGES, lambda graph, **more: ws.run(ws.SSSP, graph, source=0, **more), 2),
    "components": (
        undirected(EDGES),
        lambda graph, **more: ws.run(ws.WeaklyConnectedComponents(), graph, **more),
        1,
    ),
    "strong": (
        EDGES,
        lambda graph, **more: ws.run(ws.StronglyConnectedComponents(), graph, **more),
        1,
    ),
    "hits": (EDGES, lambda graph, **more: ws.run(ws.HITS(), graph, **more), 1),
    "cores": (undirected(EDGES), lambda graph, **more: ws.run(ws.CoreNumber(), graph, **more), 1),
    "matching": (
        BIPARTITE,
        lambda graph, **more: ws.run(ws.MaximalBipartiteMatching([0]), graph, **more),
        1,
    ),
    "belief": (
        undirected(EDGES),
        lambda graph, **more: ws.run(ws.BeliefPropagation(PRIORS, COUPLING), graph, **more),
        2,
    ),
    "searches": (
        EDGES,
        lambda graph, **more: ws.run(
            ws.MultiSource(ws.SSSP, "source", list(range(5)), engine=more.get("engine", "auto")),
            graph,
            **more,
        ),
        1,
    ),
}

FORGED: list[tuple[str, str, Callable[[Any], Any], str]] = [
    ("sssp", "distance", longer, "has 61 rows, not 60"),
    ("sssp", "distance", as_integers, "is of type int64"),
    ("sssp", "distance", gone, "is missing"),
    ("sssp", "_queue", shorter, "has 59 rows, not 60"),
    ("sssp", "_queue", at(3, -2), "-2 at row 3, outside -1 to 60"),
    ("sssp", "_queue", at(3, 61), "61 at row 3"),
    ("sssp", "_queue", as_floats, "not integers"),
    ("sssp", "_schedule", at(0, np.nan), "nan at row 0"),
    ("sssp", "_schedule", at(2, -1.0), "below 0"),
    ("sssp", "_schedule", at(3, 0.0), "size of the buckets"),
    ("sssp", "_sums", lambda array: np.zeros(3), "has 3 rows, not 0"),
    ("sssp", "_loop", at(0, -1.0), "-1.0 supersteps"),
    ("sssp", "_loop", at(0, 1.5), "1.5 supersteps"),
    ("sssp", "_loop", at(0, np.inf), "inf supersteps"),
    ("components", "parent", at(5, 6), "6 at row 5, outside 0 to 5"),
    ("components", "parent", at(5, -1), "-1 at row 5"),
    ("components", "parent", at(5, 1 << 30), "at row 5"),
    ("components", "reached", at(0, 3), "3 at row 0"),
    ("components", "reached", at(1, 1 << 40), "at row 1"),
    ("components", "reached", at(2, N), "at row 2"),
    ("components", "reached", shorter, "has 2 rows"),
    ("strong", "root", at(0, N), f"{N} at row 0, outside -1 to {N - 1}"),
    ("strong", "root", at(7, -2), "-2 at row 7"),
    ("hits", "figures", at(2, np.inf), "without an end"),
    ("hits", "figures", at(6, np.inf), "without an end"),
    ("cores", "core", at(7, 1 << 20), "at row 7"),
    ("cores", "core", at(7, -5), "-5 at row 7"),
    ("cores", "level", at(0, -2), "-2 at row 0"),
    ("cores", "level", at(0, 1 << 40), "at row 0"),
    ("matching", "mate", at(1, 1 << 30), "at row 1"),
    ("matching", "mate", at(1, 2), "of one side"),
    ("matching", "best", at(1, -3), "-3 at row 1"),
    ("matching", "best", at(1, 2), "of one side"),
    ("belief", "messages", at(0, np.nan), "nan at row 0"),
    ("belief", "messages", at(0, 0.5), "0.5 at row 0"),
    ("belief", "messages", at(0, -np.inf), "-inf at row 0"),
    ("belief", "messages", longer, "rows"),
    ("belief", "residual", at(0, np.nan), "nan"),
    ("searches", "done", at(0, 6), "6 at row 0, outside 0 to 5"),
    ("searches", "done", at(0, -1), "-1 at row 0"),
    ("searches", "predecessor", at(0, N), "at row 0"),
    ("searches", "distance", shorter, "rows, not"),
    ("searches", "valid", as_integers, "not booleans"),
]


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> dict[str, Path]:
    """Checkpoints in the middle of runs, of both engines."""
    folder = tmp_path_factory.mktemp("written")
    found = {}
    arcs, core.WORK_A_STEP = core.WORK_A_STEP, 16
    for name, (edges, run, calls) in RUNS.items():
        for engine in ("python", "cuda"):
            path = folder / f"{name} {engine}.parquet"
            with build(edges) as graph, emulated(seed=1):
                run(graph, engine=engine, checkpoint=path, progress=EndsAfter(calls))
            found[f"{name} {engine}"] = path
    core.WORK_A_STEP = arcs
    return found


def forge(path: Path, column: str, change: Callable[[Any], Any], target: Path) -> None:
    """Write a checkpoint with one array changed, and a digest that is right."""
    arrays, facts = contents(path)
    changed = change(arrays.pop(column))
    if changed is not None:
        arrays[column] = changed
    write_checkpoint(target, arrays, facts)


@pytest.mark.parametrize("engine", ["python", "cuda"])
@pytest.mark.parametrize(
    ("name", "column", "change", "says"),
    FORGED,
    ids=[f"{name} {column} {says}" for name, column, _, says in FORGED],
)
def test_impossible_states_are_refused(name, column, change, says, engine, written, tmp_path):
    edges, run, _ = RUNS[name]
    path = tmp_path / "state.parquet"
    forge(written[f"{name} {engine}"], column, change, path)
    with build(edges) as graph, emulated(seed=2), pytest.raises(ws.InputError) as caught:
        run(graph, engine=engine, resume=path)
    assert f"column {column!r}" in str(caught.value)
    assert says in str(caught.value)
    assert "start again" in str(caught.value)


@pytest.mark.parametrize("name", RUNS)
def test_intact_checkpoints_resume(name, written):
    """Else nothing is shown by those that are refused."""
    edges, run, _ = RUNS[name]
    with build(edges) as graph, emulated(seed=3):
        for engine in ("python", "cuda"):
            found = run(graph, engine=engine, resume=written[f"{name} {engine}"])
            assert values_of(found) == values_of(run(graph, engine=engine))


def test_a_tree_that_is_none(written, tmp_path):
    path = tmp_path / "state.parquet"
    edges, run, _ = RUNS["components"]
    arrays, facts = contents(written["components python"])
    child = int(np.flatnonzero(arrays["parent"] != np.arange(N))[0])
    for reached, says in (
        ([2, 4, child], "a largest tree that is not a root"),
        ([1, 4, -1], "before sampling has ended"),
    ):
        write_checkpoint(path, {**arrays, "reached": np.array(reached)}, facts)
        with build(edges) as graph, pytest.raises(ws.InputError, match=says):
            run(graph, resume=path)


def test_a_vertex_without_a_level_whose_in_neighbours_have_one(tmp_path):
    path = tmp_path / "state.parquet"
    chain = pd.DataFrame({"source": ["a", "b"], "destination": ["b", "c"]})
    ws.topological_levels(chain, checkpoint=path)
    forge(path, "level", at(1, -1), path)
    with pytest.raises(ws.InputError, match=r"^resume=: .* no level for vertex 'b'.* start again"):
        ws.topological_levels(chain, resume=path)


def test_a_mate_that_is_not_mutual(tmp_path, written):
    path = tmp_path / "state.parquet"
    edges, run, _ = RUNS["matching"]
    arrays, facts = contents(written["matching python"])
    arrays["mate"][:] = -1
    arrays["mate"][1] = 0
    write_checkpoint(path, arrays, facts)
    with (
        build(edges) as graph,
        pytest.raises(ws.InputError, match="a mate that is matched to another"),
    ):
        run(graph, resume=path)


def test_unreturned_proposals_end(tmp_path):
    """Proposals in a circle, none of them mutual, or none at all: they are made again."""
    pairs = pd.DataFrame({"source": [0, 0, 1, 1, 2, 2], "destination": [3, 4, 4, 5, 5, 3]})
    path = tmp_path / "state.parquet"
    with ws.Graph(pairs) as graph:
        loop = ws.MaximalBipartiteMatching
        expected = ws.run(loop([0, 1, 2]), graph)
        ws.run(loop([0, 1, 2]), graph, checkpoint=path, timeout=1e-12)
        arrays, facts = contents(path)
        for best in ([3, 4, 5, 2, 0, 1], [-1] * 6, [-1, -2, -2, -2, -1, -2]):
            arrays["best"][:] = best
            write_checkpoint(path, arrays, facts)
            for engine in ("cpu", "cuda"):
                with emulated(seed=4):
                    found = ws.run(loop([0, 1, 2]), graph, engine=engine, resume=path, timeout=60)
                assert found.stopped == "converged"
                assert values_of(found) == values_of(expected)


def test_a_number_that_its_type_does_not_hold(tmp_path):
    state = SavedState({"x": np.array([1 << 40]), "y": np.zeros((1, 1))}, "resume='x'")
    with pytest.raises(ws.InputError, match="int32 does not hold"):
        state.like("x", 1, np.int32)
    with pytest.raises(ws.InputError, match="'y' has 1 rows"):
        state.integers("y", 1, 0, 0)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("identity", None),
        ("identity", 3),
        ("iterations", -1),
        ("iterations", "x"),
        ("iterations", None),
        ("iterations", 0.5),
        ("residual", "x"),
        ("residual", []),
    ],
)
def test_facts_that_make_no_sense(key, value, whole, tmp_path):
    arrays, facts = contents(whole)
    path = tmp_path / "state.parquet"
    write_checkpoint(path, arrays, {**facts, key: value})
    with pytest.raises(ws.InputError, match="resume="):
        resume(path)


def as_table(
    whole: Path, change: Callable[[pa.Table, dict[str, Any]], pa.Table], path: Path
) -> None:
    """Write a checkpoint whose table is changed, with a digest that is right."""
    from cugraph_ws.execution import checkpoint

    table = pq.read_table(whole)
    facts = json.loads(table.schema.metadata[b"cugraph_ws"])
    table = change(table, facts)
    metadata = {
        b"cugraph_ws": json.dumps(facts).encode(),
        checkpoint._DIGEST_KEY: checkpoint._MARK + b"0" * checkpoint._DIGITS,
    }
    with open(path, "w+b") as file:
        pq.write_table(table.replace_schema_metadata(metadata), file)
        checkpoint._seal(file)


def with_nulls(table: pa.Table, facts: dict[str, Any]) -> pa.Table:
    return table.set_column(0, table.column_names[0], pa.nulls(len(table), table.schema[0].type))


def with_text(table: pa.Table, facts: dict[str, Any]) -> pa.Table:
    return table.set_column(0, table.column_names[0], pa.array(["x"] * len(table)))


def with_another(table: pa.Table, facts: dict[str, Any]) -> pa.Table:
    facts["lengths"]["more"] = len(table)
    return table.append_column("more", table.column(0))


def unnamed(table: pa.Table, facts: dict[str, Any]) -> pa.Table:
    return table.append_column("more", table.column(0))


def too_long(table: pa.Table, facts: dict[str, Any]) -> pa.Table:
    facts["lengths"][table.column_names[0]] = len(table) + 1
    return table


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (with_nulls, "has nulls"),
        (with_text, "is of type string"),
        (with_another, "'more' is not known"),
        (unnamed, "differ from those that its metadata names"),
        (too_long, "has length 61 in 60 rows"),
    ],
    ids=lambda one: getattr(one, "__name__", None),
)
def test_tables_that_make_no_sense(change, says, whole, tmp_path):
    as_table(whole, change, tmp_path / "state.parquet")
    with pytest.raises(ws.InputError, match=says):
        resume(tmp_path / "state.parquet")


# ------------------------------------------------------------------------------------ in parts


def on_shares(name: str, **more: Any) -> list[Any]:
    edges, run, _ = RUNS[name]
    with build(edges) as graph:
        return on_ranks(MEMBERS, lambda comm: values_of(run(share(graph, comm), **more)))


@pytest.fixture(scope="module")
def in_parts(tmp_path_factory) -> dict[str, Path]:
    """Checkpoints of ranks with a shard each, in the middle of their runs."""
    folder = tmp_path_factory.mktemp("parts")
    found = {}
    for name in RUNS:
        path = folder / f"{name}.parquet"
        on_shares(name, checkpoint=path, progress=lambda update: update.superstep < 1)
        found[name] = path
    return found


def copied(path: Path, folder: Path) -> tuple[Path, Path]:
    """Copy a checkpoint and its parts; return it, and its first part."""
    copy = folder / path.name
    shutil.copy(path, copy)
    shutil.copytree(path.with_name(f"{path.name}.parts"), folder / f"{path.name}.parts")
    first = contents(copy)[1]["parts"][0]["file"]
    return copy, folder / f"{path.name}.parts" / first


@pytest.mark.parametrize("name", RUNS)
def test_parts_that_are_whole_go_on(name, in_parts):
    assert on_shares(name, resume=in_parts[name]) == on_shares(name)


PARTS_FORGED: list[tuple[str, str, Callable[[Any], Any], str]] = [
    ("sssp", "distance", shorter, "rows, not 30"),
    ("sssp", "_queue", at(3, 1 << 40), "at row 3"),
    ("components", "labels", at(1, N), "at row 1"),
    ("components", "labels", as_floats, "not integers"),
    ("cores", "core", at(1, 1 << 20), "at row 1"),
    ("cores", "waiting", at(slice(None), True), "core number is not the level"),
    ("matching", "mate", at(0, 1 << 40), "at row 0"),
    ("matching", "best", at(0, -9), "at row 0"),
    ("belief", "along_0", at(0, np.nan), "at row 0"),
    ("searches", "predecessor_1", at(0, N), "at row 0"),
    ("searches", "valid_0", as_integers, "not booleans"),
    ("searches", "distance_0", gone, "is missing"),
]


@pytest.mark.parametrize(
    ("name", "column", "change", "says"),
    PARTS_FORGED,
    ids=[f"{name} {column} {says}" for name, column, _, says in PARTS_FORGED],
)
def test_parts_that_no_run_has(name, column, change, says, in_parts, tmp_path):
    """All ranks raise, also those whose own part is whole."""
    path, part = copied(in_parts[name], tmp_path)
    forge(part, column, change, part)
    arrays, facts = contents(path)
    facts["parts"][0]["digest"] = digest_of(part)
    write_checkpoint(path, arrays, facts)
    with pytest.raises(ws.InputError, match=says):
        on_shares(name, resume=path)


def digest_of(path: Path) -> str:
    """Return the digest that a checkpoint carries."""
    arrays, facts = contents(path)
    return write_checkpoint(path, arrays, facts)


def test_a_part_of_another_checkpoint(in_parts, tmp_path):
    path, part = copied(in_parts["sssp"], tmp_path)
    arrays, facts = contents(part)
    arrays["distance"][:] = 0.0
    write_checkpoint(part, arrays, facts)
    with pytest.raises(ws.FileError, match="belongs to another run"):
        on_shares("sssp", resume=path)
    part.unlink()
    with pytest.raises(ws.FileError, match="cannot be read"):
        on_shares("sssp", resume=path)


@pytest.mark.parametrize(
    "change",
    [
        lambda parts: [],
        lambda parts: None,
        lambda parts: parts[:1],
        lambda parts: parts[::-1],
        lambda parts: [{**parts[0], "file": "../../secret.parquet"}, *parts[1:]],
        lambda parts: [{**parts[0], "digest": None}, *parts[1:]],
        lambda parts: [{**parts[0], "vertices": [0, N + 1]}, *parts[1:]],
        lambda parts: [{**parts[0], "arcs": [0, "x"]}, *parts[1:]],
        lambda parts: [{**parts[0], "arcs": 5}, *parts[1:]],
        lambda parts: [{"file": parts[0]["file"]}],
    ],
)
def test_lists_of_parts_that_make_no_sense(change, in_parts, tmp_path):
    path, _ = copied(in_parts["sssp"], tmp_path)
    arrays, facts = contents(path)
    write_checkpoint(path, arrays, {**facts, "parts": change(facts["parts"])})
    with pytest.raises(ws.InputError, match="list of parts is invalid"):
        on_shares("sssp", resume=path)


def test_only_parts_are_removed(tmp_path):
    """Other files in the folder stay; the parts of the previous checkpoint are removed."""
    path = tmp_path / "state.parquet"
    folder = tmp_path / "state.parquet.parts"
    on_shares("sssp", checkpoint=path, progress=lambda update: update.superstep < 1)
    before = {one.name for one in folder.iterdir()}
    (folder / "notes.txt").write_text("mine")
    on_shares("sssp", checkpoint=path)
    after = {one.name for one in folder.iterdir()}
    assert len(before) == MEMBERS
    assert after.isdisjoint(before)
    assert after == {"notes.txt", *(part["file"] for part in contents(path)[1]["parts"])}
