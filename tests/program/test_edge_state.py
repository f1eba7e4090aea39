"""State on edges: what it means, the frame of it, checkpoints, clusters, and what is refused."""

from __future__ import annotations

import math
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
import reference
import stand_in_cudf
import zoo
from clusters import workers
from cuda_cases import CASES, METHODS, Friction, check_same, graph_of, medley, set_classes
from emulator.device import emulated
from plans import planned
from shapes import SHAPES, random_edges, undirected
from thread_ranks import over_links, share

import cugraph_ws as ws
from cugraph_ws.execution.partitioned_loop import PartitionedLoop

CASE = next(case for case in CASES if case.program is Friction)
ENTRIES = [entry for entry in zoo.ZOO if entry.program.edge_state]


@ws.vertex_program
class Passed:
    """How much has been passed along each edge so far: the numbers of sources, one at a time."""

    x: ws.int64
    total = ws.edge_state(ws.int64, default=100)
    max_iter = 2

    def init(vertex):
        return vertex % 1000

    def compute(edge):
        return edge.total

    combine = max

    def apply(old, gathered):
        return old.x + gathered

    def update_edge(src, dst, edge):
        return edge.total + src.x - dst.x


def first(vertex):
    return vertex


def kept(edge):
    return edge.flow


def most(old, gathered):
    return max(old.x, gathered)


def risen(src, edge):
    return edge.flow + src.x


def define(leave_out: str = "", **settings: Any) -> Any:
    """Define a program with one field of state on edges, with other settings."""
    space: dict[str, Any] = {
        "__module__": __name__,
        "__annotations__": {"x": ws.int64},
        "flow": ws.edge_state(ws.int64),
        "init": first,
        "compute": kept,
        "combine": max,
        "apply": most,
        "update_edge": risen,
        **settings,
    }
    space.pop(leave_out, None)
    return ws.vertex_program(type("Kept", (), space))


# ------------------------------------------------------------------------------------- meaning


def test_the_reference_by_hand():
    """0 → 1 twice and 1 → 2: a message is what the edge had before the superstep."""
    graph = reference.Graph(3, [(0, 1), (1, 2), (0, 1)])
    one = reference.run(Passed, graph, max_iter=1, message=int)
    assert [int(x) for x in one.states["x"]] == [0, 101, 102]
    # The new states: 100 + 0 - 101 for both edges into 1, 100 + 101 - 102 for the one into 2.
    assert [int(x) for x in one.edges["total"]] == [-1, -1, 99]
    two = reference.run(Passed, graph, max_iter=2, message=int)
    assert [int(x) for x in two.states["x"]] == [0, 100, 201]
    assert [int(x) for x in two.edges["total"]] == [-101, -101, -2]


@ws.vertex_program
class Kept:
    """The least state of an edge into a vertex; two vertices start."""

    x: ws.int64
    kept = ws.edge_state(ws.int64)
    combine = min
    max_iter = 1

    def init(vertex):
        return vertex

    def starts(state):
        return state.x >= 2

    def init_edge(dst):
        return dst.x * 10

    def compute(edge):
        return edge.kept

    def apply(old, gathered):
        return gathered

    def update_edge(edge):
        return edge.kept


@pytest.mark.parametrize("direction", ["auto", "gather"])
@pytest.mark.parametrize("engine", ["python", "cpu", "cuda"])
def test_all_send_whichever_vertices_start(engine, direction):
    frame = pd.DataFrame({"source": [3, 0, 2, 1], "destination": [0, 1, 1, 3]})
    with emulated():
        result = ws.run(Kept, frame, engine=engine, plan=ws.Plan(direction=direction))
        assert result.arrays["x"].tolist() == [0, 10, 2, 30]
        with pytest.raises(ws.InputError, match="Kept gathers from all in-neighbours"):
            ws.run(Kept, frame, engine=engine, plan=ws.Plan(direction="push"))


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_an_edge_that_changes_keeps_a_run_going(engine):
    """No vertex is active after the first superstep, in which all edges are closed."""
    edges = SHAPES["short path"]
    outcome = reference.run(zoo.Hesitation, zoo.reference_graph(edges), message=int)
    active: list[int] = []
    with zoo.graph_of(edges) as graph:
        result = ws.run(
            zoo.Hesitation, graph, engine=engine, progress=lambda told: active.append(told.active)
        )
    assert result.converged
    assert active[0] == 0
    assert max(active) > 0
    assert result.iterations == outcome.supersteps > 3
    assert zoo.found_by(zoo.Hesitation, result)["x"] == [int(x) for x in outcome.states["x"]]


@pytest.mark.long
@pytest.mark.parametrize("entry", ENTRIES, ids=str)
def test_every_run_is_the_reference_s(entry):
    edges = random_edges(5, 11, seed=5)
    with zoo.graph_of(edges) as graph, emulated(seed=2):
        report = ws.check(entry.program, graph, max_iter=2, **entry.given(edges.n))
    assert report, str(report)
    assert len(report.configurations) > 10


def test_a_wrong_state_of_an_edge_is_found():
    def wrong(self: PartitionedLoop) -> dict[str, Any]:
        return {
            name: column + (np.arange(len(column)) == 2) for name, column in right(self).items()
        }

    right = PartitionedLoop.edges
    with zoo.graph_of(random_edges(5, 11, seed=5)) as graph:
        with patch.object(PartitionedLoop, "edges", wrong):
            report = ws.check(zoo.Draining, graph, max_iter=1)
        sources, destinations = graph.arc_ends()
    found = report.differences[0]
    assert "partitions" in found.configuration
    assert found.field == "edge.flow"
    assert found.vertex == f"{destinations[2]}, its edge from {sources[2]}"
    assert found.found == found.expected + 1


# -------------------------------------------------------------------------- the frame of edges

ROWS = pd.DataFrame(
    {"source": ["b", "a", "b", "c", "a"], "destination": ["c", "b", "c", "a", "a"], "w": 1.0}
)


def totals(result: Any) -> list[tuple[Any, ...]]:
    """Return a frame of edges as tuples."""
    frame = result.edges
    frame = frame.to_pandas() if hasattr(frame, "to_pandas") else frame
    assert list(frame.columns) == ["source", "destination", "total"]
    return [tuple(row) for row in frame.itertuples(index=False)]


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_directed_edges(kind):
    frame = ROWS
    if kind == "polars":
        frame = pytest.importorskip("polars").from_pandas(ROWS)
    if kind == "arrow":
        frame = pytest.importorskip("pyarrow").Table.from_pandas(ROWS)
    result = ws.run(Passed, frame, max_iter=1)
    assert type(result.edges) is type(frame)
    # By destination, then source; a: 0 + 100, b: 1 + 100, c: 2 + 100
    assert totals(result) == [
        ("a", "a", 100), ("c", "a", 102), ("a", "b", 99), ("b", "c", 99), ("b", "c", 99),
    ]  # fmt: skip


def test_both_directions_of_an_undirected_edge():
    frame = pd.DataFrame({"source": ["b", "b"], "destination": ["a", "b"]})
    result = ws.run(Passed, frame, directed=False, max_iter=1)
    assert totals(result) == [("b", "a", 101), ("a", "b", 99), ("b", "b", 100)]


def test_a_graph_on_the_gpu():
    numbered = pd.DataFrame({"source": [3, 1, 3, 5], "destination": [5, 3, 5, 1]})
    with stand_in_cudf.installed(), emulated():
        with ws.Graph(numbered) as other:
            expected = ws.run(Passed, other, engine="python").edges
            frames = [ws.run(Passed, other, engine="cuda").edges]
        with ws.Graph(stand_in_cudf.DataFrame(numbered)) as graph:
            frames += [ws.run(Passed, graph, engine=engine).edges for engine in ("cuda", "cpu")]
    for frame in frames:
        for name, column in expected.items():
            assert np.asarray(frame[name]).tolist() == column.tolist(), name


def test_no_state_no_frame():
    result = ws.run(ws.PageRank, ROWS, max_iter=1)
    with pytest.raises(ws.InputError, match=r"keeps no state on edges; declare .*ws.edge_state"):
        _ = result.edges


@pytest.mark.parametrize("directed", [True, False])
def test_a_name_that_is_taken(directed):
    frame = ROWS.rename(columns={"source": "total"})
    with pytest.raises(ws.InputError, match=r"column 'total' holds ids .*; rename it"):
        ws.run(Passed, frame, source_column="total", directed=directed)


# ------------------------------------------------------------------------------------ the GPU


@pytest.mark.parametrize("method", METHODS[::2])
def test_methods(method):
    with graph_of(medley((12, 7, 5, 4, 3, 1), 30)) as graph:
        expected = CASE.run(graph, engine="python")
        with emulated(seed=3):
            check_same(CASE.run(graph, engine="cuda", method=method), expected, CASE)


def test_rows_over_several_stretches(monkeypatch):
    """A stretch of arcs begins and ends within rows, and goes over many."""
    set_classes(monkeypatch, block=64, hub=200, chunk=90, middle=20)
    with graph_of(medley((300, 260, 33, 12, 5, 3, 1), 60)) as graph:
        expected = CASE.run(graph, engine="python", max_iter=2)
        with emulated(seed=1, multiprocessors=2):
            check_same(CASE.run(graph, engine="cuda", max_iter=2), expected, CASE)


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("exchange", ["vr", "ms", "all"])
def test_gpus_of_a_cluster(ranks, exchange, monkeypatch):
    set_classes(monkeypatch, block=32, hub=12, chunk=8, middle=5)
    options = {"engine": "cuda", "exchange": exchange, "max_iter": 3}
    with graph_of(medley((14, 7, 5, 4, 3, 1), 24)) as graph:
        expected = CASE.run(graph, engine="python", max_iter=3)
        with emulated(seed=ranks):
            found = over_links(ranks, lambda comm: CASE.run(share(graph, comm), **options))
            frames = [result.edges for result in found]
        whole = expected.edges
    joined = pd.concat(frames, ignore_index=True)
    for name, column in whole.items():
        np.testing.assert_allclose(joined[name], column, 1e-6)


# -------------------------------------------------------------------------------- checkpoints

WAYS: dict[str, dict[str, Any]] = {
    "python": {"engine": "python"},
    "cpu": {"engine": "cpu"},
    "partitions": {"engine": "python", "partitions": 3},
    "cuda": {"engine": "cuda"},
    "cuda partitions": {"engine": "cuda", "partitions": 2},
}


@pytest.mark.parametrize("before", WAYS)
def test_a_checkpoint_has_the_state_of_edges(before, tmp_path):
    saved = tmp_path / "state.parquet"
    ways = list(WAYS)
    after = ways[(ways.index(before) + 2) % len(ways)]
    with graph_of(undirected(medley((7, 5, 4, 3, 1), 14))) as graph, emulated(seed=1):
        expected = CASE.run(graph, engine="python", max_iter=4)
        CASE.run(graph, max_iter=2, checkpoint=saved, **WAYS[before])
        check_same(CASE.run(graph, max_iter=4, resume=saved, **WAYS[after]), expected, CASE)


def test_a_checkpoint_of_another_default(tmp_path):
    saved = tmp_path / "state.parquet"
    with graph_of(SHAPES["short path"]) as graph:
        ws.run(define(), graph, max_iter=1, checkpoint=saved, engine="python")
        other = define(flow=ws.edge_state(ws.int64, default=1))
        with pytest.raises(ws.InputError, match="written with another program"):
            ws.run(other, graph, max_iter=2, resume=saved, engine="python")


# -------------------------------------------------------------------------------------- Dask


def test_workers(tmp_path):
    import dask.dataframe as dd

    edges = random_edges(9, 21, seed=11)
    columns = {"source": edges.source, "destination": edges.destination, "weight": edges.weight}
    frame = pd.DataFrame(columns)
    saved = tmp_path / "state.parquet"
    expected = ws.run(Friction, frame, engine="python", max_iter=4)
    with workers(2):
        graph = ws.Graph(dd.from_pandas(frame, npartitions=3, sort=False))
        options = {"engine": "python", "checkpoint": saved}
        ws.run(Friction, graph, **planned(max_iter=2, **options))
        result = ws.run(Friction, graph, max_iter=4, resume=saved, engine="python")
        ranks, found = result.frame.compute(), result.edges.compute()
        plain = ws.run(ws.PageRank, graph, max_iter=1, engine="python")
        with pytest.raises(ws.InputError, match="keeps no state on edges"):
            _ = plain.edges
    pd.testing.assert_frame_equal(ranks.reset_index(drop=True), expected.frame)
    pd.testing.assert_frame_equal(found.reset_index(drop=True), expected.edges)


# ------------------------------------------------------------------------------------ estimates


def test_an_estimate_counts_the_state_of_edges():
    many = {"number_of_edges": 1_000_000, "number_of_vertices": 1_000}
    runs = [ws.estimate_memory(**many, program=one).run for one in (Passed, ws.Heat)]
    assert runs[0] >= 16 * 1_000_000 > runs[1]
    both = ws.estimate_memory(**many, directed=False, program=Passed).run
    assert both > 1.9 * runs[0]


# ------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("settings", "remedy"),
    [
        ({"combine": any}, "set combine to max, min, sum or a function, not any"),
        ({"contributors": "active"}, "leave out contributors = 'active'"),
        ({"asynchronous": True}, "leave out asynchronous = True"),
        ({"in_place": True}, "leave out in_place = True"),
        ({"before": ws.predecessor}, "leave out `before`, the predecessor"),
        (
            {"leave_out": "update_edge"},
            "has no `update_edge`; define update_edge(src, dst, edge, p)",
        ),
        ({"flow": ws.edge_state(ws.vertex_id)}, "ws.int64 or ws.boolean"),
        ({"flow": ws.edge_state("int64")}, "ws.int64 or ws.boolean"),
        (
            {"flow": ws.edge_state(ws.int32, default=0.5)},
            "which ws.int32 does not hold; give another",
        ),
        ({"flow": ws.edge_state(ws.int32, default=math.inf)}, "does not hold; give another"),
        ({"flow": ws.edge_state(ws.int64, default="0")}, "does not hold; give another"),
        (
            {"own": ws.vertex_value(ws.int32, default=0.5)},
            "default=0.5, which ws.int32 does not hold",
        ),
        (
            {"far": ws.edge(ws.float32, default=1e300)},
            "default=1e+300, which ws.float32 does not hold",
        ),
    ],
    ids=str,
)
def test_definitions(settings, remedy):
    with pytest.raises(ws.ProgramError) as caught:
        define(**settings)
    assert str(caught.value).startswith("Kept")
    assert remedy in str(caught.value)


@pytest.mark.parametrize("name", ["init_edge", "update_edge"])
def test_a_function_without_state(name):
    left = {"leave_out": "update_edge"} if name == "init_edge" else {}
    with pytest.raises(ws.ProgramError, match=rf"Kept.{name} has no state of edges to return"):
        define(**{"flow": ws.edge(ws.int64), name: risen, **left})


def test_phases_share_no_edges():
    with pytest.raises(ws.ProgramError, match=r"Kept keeps `flow` on edges.*run it by itself"):
        ws.phases(define())


def test_init_edge_reads_no_state():
    with pytest.raises(ws.ProgramError, match=r"`edge.flow` is not declared"):
        define(init_edge=risen)


def halved(edge):
    return edge.flow / 2


def paired(edge):
    return edge.flow, edge.flow


@pytest.mark.parametrize(
    ("function", "told"),
    [(halved, "returns a float64 for `flow`, which is int64"), (paired, "Kept.update_edge")],
)
def test_types(function, told):
    with graph_of(SHAPES["short path"]) as graph, pytest.raises(ws.ProgramError) as caught:
        ws.run(define(update_edge=function), graph)
    assert told in str(caught.value)


def beyond(edge):
    return edge.flow * 1000 + 999


def test_a_number_that_its_field_does_not_hold():
    program = define(flow=ws.edge_state(ws.int32), update_edge=beyond)
    with (
        graph_of(SHAPES["short path"]) as graph,
        pytest.raises(ws.ProgramError, match="`flow` is int32, which cannot hold"),
    ):
        ws.run(program, graph, engine="python", max_iter=5)


@pytest.mark.parametrize(
    "options",
    [
        {"in_place": True},
        {"direction": "push"},
        {"direction": "pull"},
        {"layout": "windows", "engine": "cuda"},
        {"layout": "gshards", "engine": "cuda"},
    ],
    ids=str,
)
def test_runs(options):
    name, value = next(iter(options.items()))
    with (
        graph_of(SHAPES["short path"]) as graph,
        emulated(),
        pytest.raises(ws.InputError, match=rf"{name}='?{value}'?: Kept .* state on edges"),
    ):
        ws.run(define(), graph, **planned(**options))
