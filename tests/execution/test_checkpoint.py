"""Checkpoints: a run that goes on from one ends as the run that was never stopped, bit by bit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from plans import planned
from programs import Fading, Nearest, Paths, Peel, Rank, Reached, Widest, values_of
from shapes import SHAPES, build, grid, random_edges, rmat
from stopping import EndsAfter
from thread_ranks import on_ranks, share

import cugraph_ws as ws
from cugraph_ws.execution import checkpoint
from cugraph_ws.execution.checkpoint import fingerprint, read_checkpoint, write_checkpoint


@ws.vertex_program
class Least:
    """The least number of a vertex that reaches the vertex."""

    label: ws.vertex_id

    def init(vertex):
        return vertex

    def compute(src):
        return src.label

    combine = min

    def apply(old, gathered):
        return min(old.label, gathered)


SPARSE = random_edges(120, 260, seed=41)
LONG = grid(12, 11, drop=0.1, seed=45)


def interrupted(make, path: Path, stop_after: int, **options: Any) -> ws.Result:
    """Run until a superstep, write a checkpoint, and go on from it in a second run."""
    first = make(progress=EndsAfter(stop_after), checkpoint=path, **options)
    assert first.stopped == "callback", "stopped too late to prove anything"
    assert path.exists()
    return make(resume=path, **options)


def check(make, path: Path, stop_after: int = 2, **options: Any) -> None:
    whole = make(**options)
    resumed = interrupted(make, path, stop_after, **options)
    assert values_of(resumed) == values_of(whole)
    assert resumed.iterations == whole.iterations
    assert resumed.converged == whole.converged
    assert resumed.residual == whole.residual or np.isnan([resumed.residual, whole.residual]).all()


VERTEX_PROGRAMS = [
    pytest.param(Nearest, {"seeds": [1, 9]}, {}, id="buckets"),
    pytest.param(Nearest, {"seeds": [1, 9]}, {"priorities": False}, id="no buckets"),
    pytest.param(Nearest, {"seeds": [1, 9]}, {"direction": "pull"}, id="pull"),
    pytest.param(Nearest, {"seeds": [1, 9]}, {"direction": "gather"}, id="gather"),
    pytest.param(Nearest, {"seeds": [1, 9]}, {"partitions": 3}, id="partitions"),
    pytest.param(Widest, {"start": 0}, {}, id="predecessors"),
    pytest.param(Reached, {"start": 0}, {}, id="any"),
    pytest.param(ws.BFS, {"start": 0}, {}, id="BFS"),
    pytest.param(ws.SSSP, {"source": 0}, {}, id="SSSP"),
    pytest.param(Peel, {"k": 3}, {"direction": "push"}, id="scatter"),
    pytest.param(Peel, {"k": 3}, {"direction": "pull"}, id="pull of sums"),
    pytest.param(Rank, {}, {}, id="sums and aggregates"),
    pytest.param(Fading, {}, {}, id="aggregates of the number"),
    pytest.param(
        Widest,
        {"start": 0},
        {"engine": "cpu", "direction": "gather", "in_place": True},
        id="in place",
    ),
    pytest.param(Paths, {}, {}, id="custom combine"),
]


@pytest.mark.parametrize(("program", "given", "mode"), VERTEX_PROGRAMS)
def test_vertex_programs(program, given, mode, tmp_path):
    with build(SPARSE) as graph:

        def make(**options):
            more = {"engine": "python", "fused": False, **given, **mode, **options}
            return ws.run(program, graph, **planned(**more))

        check(make, tmp_path / "state.parquet")


@pytest.mark.parametrize("stop_after", [1, 3, 6])
def test_any_superstep_will_do(stop_after, tmp_path):
    with build(LONG) as graph:

        def make(**options):
            return ws.run(
                ws.SSSP, graph, **planned(source=0, engine="python", fused=False, **options)
            )

        check(make, tmp_path / "state.parquet", stop_after)


def test_compiled(tmp_path):
    with build(SPARSE) as graph:

        def make(**options):
            return ws.run(Nearest, graph, **planned(seeds=[1, 9], fused=False, **options))

        check(make, tmp_path / "state.parquet")


def loops() -> dict[str, Any]:
    left = SHAPES["star"]
    chain = SHAPES["path"]
    tree = pd.DataFrame({"vertex": range(50), "p0": 0.5 + np.arange(50) / 101, "p1": 0.5})
    return {
        "components": (lambda: ws.WeaklyConnectedComponents(), chain),
        "cores": (lambda: ws.CoreNumber(), rmat(6, 4, seed=42)),
        "matching": (lambda: ws.MaximalBipartiteMatching([0]), left),
        "belief": (lambda: ws.BeliefPropagation(tree, [[0.9, 0.1], [0.1, 0.9]]), chain),
        "many searches": (
            lambda: ws.MultiSource(ws.BFS, "start", list(range(20)), engine="python"),
            chain,
        ),
        "many paths": (
            lambda: ws.MultiSource(ws.SSSP, "source", list(range(20)), engine="python"),
            chain,
        ),
    }


@pytest.mark.long
@pytest.mark.parametrize("name", loops())
def test_loops_of_their_own(name, tmp_path):
    """Stopped after the first step, or resumed after the last where that is the same."""
    loop, edges = loops()[name]
    edges = type(edges)(edges.source, edges.destination, edges.n, edges.weight, directed=False)
    with build(edges) as graph:
        whole = ws.run(loop(), graph)
        if whole.iterations < 2:
            first = ws.run(loop(), graph, checkpoint=tmp_path / "state.parquet")
            assert values_of(ws.run(loop(), graph, resume=tmp_path / "state.parquet")) == values_of(
                first
            )
            return

        def make(**options):
            return ws.run(loop(), graph, **planned(**options))

        check(make, tmp_path / "state.parquet", 1)


def test_a_search_that_had_not_begun(tmp_path):
    path = tmp_path / "state.parquet"
    with build(LONG) as graph:
        with pytest.raises(ws.ConvergenceError):
            ws.multi_source_bfs(graph, [0, 1], timeout=1e-12, checkpoint=path)
        resumed = ws.multi_source_bfs(graph, [0, 1], resume=path)
        pd.testing.assert_frame_equal(resumed, ws.multi_source_bfs(graph, [0, 1]))


@pytest.mark.parametrize(
    "mode",
    [
        {"direction": "pull"},
        {"direction": "push"},
        {"priorities": False},
        {"direction": "gather"},
        {"partitions": 2},
        {"fused": True},
        {"engine": "python"},
    ],
    ids=str,
)
def test_a_run_may_go_on_in_another_way(mode, tmp_path):
    """Vertices that wait in a bucket are not forgotten where there are none."""
    path = tmp_path / "state.parquet"
    reports = []
    with build(LONG) as graph:
        whole = ws.run(ws.SSSP, graph, source=0, engine="python")
        stopped = ws.run(
            ws.SSSP, graph, source=0, engine="cpu", plan=ws.Plan(direction="push", fused=False), checkpoint=path, progress=lambda update: reports.append(update) or len(reports) < 7,
        )  # fmt: skip
        assert not stopped.synchronous
        assert stopped.stopped == "callback"
        queue = pq.read_table(path)["_queue"].to_numpy()
        assert np.count_nonzero(queue == -1) > 3, "vertices wait"
        assert np.count_nonzero(queue > 0) == 1, "and one is active"
        resumed = ws.run(
            ws.SSSP,
            graph,
            **planned(source=0, resume=path, **{"engine": "cpu", "fused": False, **mode}),
        )
    assert resumed.stopped == "converged"
    assert values_of(resumed) == values_of(whole)


def test_frequency_of_checkpoints(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(
        checkpoint,
        "write_checkpoint",
        lambda path, arrays, facts: written.append(facts["iterations"]),
    )
    with build(SHAPES["path"]) as graph:
        ws.run(
            ws.BFS,
            graph,
            start=40,
            engine="python",
            plan=ws.Plan(fused=False),
            checkpoint=tmp_path / "x",
            every=4,
        )
    assert written == [4, 8, 10], "and at the end"


def test_a_finished_run_stays_finished(tmp_path):
    path = tmp_path / "state.parquet"
    with build(LONG) as graph:
        whole = ws.run(Rank, graph, engine="python", checkpoint=path)
        resumed = ws.run(Rank, graph, engine="python", checkpoint=path, resume=path)
        assert len(resumed.trace) == 0
    assert resumed.converged
    assert resumed.residual == whole.residual
    assert values_of(resumed) == values_of(whole)


class TestAnotherRun:
    """A checkpoint of one run is not taken for that of another."""

    @pytest.fixture
    def path(self, tmp_path):
        with build(SPARSE) as graph:
            ws.run(ws.SSSP, graph, source=0, engine="python", max_iter=2, checkpoint=tmp_path / "a")
        return tmp_path / "a"

    def refuse(self, path, edges, program=ws.SSSP, **given):
        with build(edges) as graph, pytest.raises(ws.InputError, match=r"resume="):
            ws.run(program, graph, **planned(engine="python", resume=path, **given))

    def test_another_program(self, path):
        self.refuse(path, SPARSE, Widest, start=0)

    def test_another_graph(self, path):
        self.refuse(path, LONG, source=0)

    def test_other_edges(self, path):
        self.refuse(path, random_edges(120, 260, seed=43), source=0)

    def test_other_weights(self, path):
        other = type(SPARSE)(SPARSE.source, SPARSE.destination, SPARSE.n, SPARSE.weight * 2)
        self.refuse(path, other, source=0)

    def test_weights_of_another_type(self, path):
        whole = type(SPARSE)(
            SPARSE.source, SPARSE.destination, SPARSE.n, (SPARSE.weight * 8).astype(np.int64)
        )
        self.refuse(path, whole, source=0)

    def test_other_arguments(self, path):
        self.refuse(path, SPARSE, source=7)
        self.refuse(path, SPARSE, source=0, cutoff=1.0)

    @pytest.mark.parametrize(
        ("function", "ranks", "given"),
        [
            ("closeness_centrality", 1, {"weighted": True, "k": 20}),
            ("closeness_centrality", 2, {"weighted": True, "k": 20}),
            ("betweenness_centrality", 1, {"weighted": True, "k": 20}),
            ("label_propagation", 1, {}),
            ("label_propagation", 2, {}),
            ("hits", 1, {}),
            ("louvain", 1, {}),
            ("leiden", 1, {}),
        ],
    )
    def test_other_weights_of_a_loop(self, function, ranks, given, tmp_path):
        weights = SPARSE.weight + 0.5
        path = tmp_path / "state.parquet"

        def call(weights, **options):
            edges = type(SPARSE)(SPARSE.source, SPARSE.destination, SPARSE.n, weights)
            with build(edges) as graph:
                if ranks == 1:
                    return getattr(ws, function)(graph, **given, **options)
                return on_ranks(
                    ranks,
                    lambda comm: getattr(ws, function)(share(graph, comm), **given, **options),
                )

        call(weights, checkpoint=path)
        call(weights, resume=path)
        with pytest.raises(ws.InputError, match="another set of edge weights"):
            call(weights[::-1], resume=path)

    def test_the_same_arcs_undirected(self, tmp_path):
        """A directed graph that lists each edge both ways has the arcs of an undirected one."""
        one, other = np.array([0, 1, 2, 2]), np.array([1, 2, 0, 3])
        both = np.concatenate([one, other]), np.concatenate([other, one])
        path = tmp_path / "state.parquet"
        with (
            ws.Graph.from_arrays(one, other, directed=False) as plain,
            ws.Graph.from_arrays(*both) as twice,
        ):
            ws.core_number(plain, checkpoint=path)
            with pytest.raises(ws.InputError, match="another graph"):
                ws.core_number(twice, resume=path)
            on_ranks(2, lambda comm: ws.core_number(share(plain, comm), checkpoint=path))
            with pytest.raises(ws.InputError, match="another graph"):
                on_ranks(2, lambda comm: ws.core_number(share(twice, comm), resume=path))

    def test_fewer_supersteps(self, path, tmp_path):
        """The state after two supersteps is not that after one, nor one out of order that after three."""
        self.refuse(path, SPARSE, source=0, max_iter=1)
        with build(LONG) as graph:
            ws.bfs(graph, 0, checkpoint=tmp_path / "b")
            with pytest.raises(ws.InputError, match="the limit of this run is 2"):
                ws.bfs(graph, 0, depth_limit=2, resume=tmp_path / "b")
            first = ws.run(
                ws.SSSP, graph, source=0, plan=ws.Plan(direction="push"), checkpoint=tmp_path / "c"
            )
            assert not first.synchronous
            assert not ws.run(
                ws.SSSP, graph, source=0, engine="python", resume=tmp_path / "c"
            ).synchronous
            with pytest.raises(ws.InputError, match="out of order"):
                ws.run(ws.SSSP, graph, source=0, max_iter=500, resume=tmp_path / "c")

    def test_fewer_supersteps_than_in_place(self, tmp_path):
        """In place a label travels any number of edges in a superstep."""
        with build(LONG) as graph:
            path = tmp_path / "least"
            done = ws.run(
                Least, graph, plan=ws.Plan(direction="gather", in_place=True), checkpoint=path
            )
            assert not done.synchronous
            with pytest.raises(ws.InputError, match="out of order"):
                ws.run(Least, graph, max_iter=500, resume=path)

    def test_other_sources(self, tmp_path):
        with build(LONG) as graph:
            ws.multi_source_bfs(graph, [0, 1], checkpoint=tmp_path / "b", engine="python")
            with pytest.raises(ws.InputError, match="source"):
                ws.multi_source_bfs(graph, [0, 2], resume=tmp_path / "b", engine="python")


class TestFiles:
    """What cannot be read or written."""

    def resume(self, path):
        with build(LONG) as graph:
            ws.run(ws.BFS, graph, start=0, engine="python", resume=path)

    def test_a_missing_file(self, tmp_path):
        with pytest.raises(ws.FileError, match=r"resume=.*missing.parquet"):
            self.resume(tmp_path / "missing.parquet")

    def test_a_folder(self, tmp_path):
        with pytest.raises(ws.FileError, match="resume="):
            self.resume(tmp_path)

    @pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
    def test_a_truncated_file(self, tmp_path, share):
        path = tmp_path / "state.parquet"
        with build(LONG) as graph:
            ws.run(ws.BFS, graph, start=0, engine="python", checkpoint=path)
        content = path.read_bytes()
        path.write_bytes(content[: int(share * len(content))])
        with pytest.raises(ws.FileError, match="resume="):
            self.resume(path)

    def test_a_foreign_parquet_file(self, tmp_path):
        path = tmp_path / "other.parquet"
        pq.write_table(pa.table({"distance": [1, 2]}), path)
        with pytest.raises(ws.FileError, match="is not a checkpoint"):
            self.resume(path)

    def test_text(self, tmp_path):
        path = tmp_path / "text.parquet"
        path.write_text("vertex,distance\n")
        with pytest.raises(ws.FileError, match="resume="):
            self.resume(path)

    @pytest.mark.parametrize("where", ["missing/state.parquet", "file/state.parquet", "folder"])
    def test_a_path_that_cannot_be_written_is_refused_before_the_run(self, tmp_path, where):
        (tmp_path / "file").write_text("")
        (tmp_path / "folder").mkdir()
        updates = []
        with build(LONG) as graph, pytest.raises(ws.FileError, match="checkpoint="):
            ws.run(
                ws.BFS, graph, start=0, engine="python", plan=ws.Plan(fused=False), checkpoint=tmp_path / where, progress=updates.append,
            )  # fmt: skip
        assert not any(update.superstep for update in updates)
        assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "folder"]

    def test_a_full_disk_leaves_the_checkpoint_before(self, tmp_path, monkeypatch):
        path = tmp_path / "state.parquet"
        facts = {"identity": {"algorithm": "A"}, "iterations": 3}
        write_checkpoint(path, {"x": np.arange(3)}, facts)

        def full(handle):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(ws.FileError, match="No space left"):
            write_checkpoint(path, {"x": np.arange(9)}, facts)
        assert [entry.name for entry in tmp_path.iterdir()] == ["state.parquet"]
        arrays, read = read_checkpoint(path, {"algorithm": "A"})
        assert arrays["x"].tolist() == [0, 1, 2]
        assert read["iterations"] == 3


def test_arrays_of_any_type_and_length_come_back_as_they_were(tmp_path):
    arrays = {
        "integers": np.array([-(2**63), 2**63 - 1]),
        "small": np.array([1, 2, 3], np.int32),
        "floats": np.array([np.nan, np.inf, -0.0]),
        "single": np.array([1 / 3], np.float32),
        "flags": np.array([True, False]),
        "none": np.array([], np.float64),
    }
    write_checkpoint(tmp_path / "state", arrays, {"identity": {"algorithm": "A"}})
    found, _ = read_checkpoint(tmp_path / "state", {"algorithm": "A"})
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        assert found[name].tobytes() == array.tobytes()
        found[name][:] = 0  # a run goes on in them


def test_fingerprints_distinguish_inputs():
    ones = np.ones(2)
    inputs = [
        [ones],
        [ones.astype(np.float32)],
        [ones, 1],
        [np.ones(4, np.float32)],
        [ones * 2],
        [np.ones(0)],
        [],
    ]
    assert len({fingerprint(*values) for values in inputs}) == len(inputs)
    assert fingerprint(ones, "a") == fingerprint(np.ones(4)[::2], "a")
