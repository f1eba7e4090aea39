"""The trace: one row for each superstep, whether it ran alone or fused with others."""

from __future__ import annotations

import numpy as np
import pytest
from plans import planned
from programs import Hops, Peel, Rank
from shapes import SHAPES, build, rmat

import cugraph_ws as ws
from cugraph_ws.execution.loop import Step
from cugraph_ws.execution.trace import Trace

COLUMNS = [
    "superstep", "direction", "filter", "active", "edges", "milliseconds", "residual",
    "bytes_sent", "bytes_useful", "partitions", "fused", "layout", "extrapolated", "exchange",
]  # fmt: skip


def trace_of(program, edges, *, engine="python", **options):
    with build(edges) as graph:
        result = ws.run(program, graph, **planned(engine=engine, **options))
        return result, result.trace


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("direction", ["auto", "push", "pull", "gather"])
def test_a_row_for_each_superstep(fused, direction):
    given = {"start": 0, "fused": fused, "direction": direction}
    result, trace = trace_of(Hops, SHAPES["path"], engine="cpu", **given)
    assert list(trace.columns) == COLUMNS
    assert trace["superstep"].tolist() == list(range(result.iterations))
    assert (trace["milliseconds"] >= 0).all()
    assert trace["bytes_sent"].tolist() == [0] * result.iterations
    assert trace["residual"].isna().all()
    assert trace["fused"].tolist() == [fused and direction in ("auto", "push")] * len(trace)
    assert set(trace["layout"]) == ({"csc"} if direction in ("pull", "gather") else {"csr"})


def test_edges_add_up():
    edges = rmat(6, 4, seed=61)
    _, trace = trace_of(ws.BFS, edges, start=int(edges.source[0]), fused=False, direction="push")
    with build(edges) as graph:
        distance = ws.run(ws.BFS, graph, start=int(edges.source[0])).arrays["distance"]
        read = graph.out_degrees[distance.valid].sum()
    assert trace["edges"].sum() == read, "each reached vertex sends along each of its edges once"
    assert trace["active"].sum() == distance.valid.sum()


def test_fused_and_single_supersteps_count_the_same():
    cases = (
        (Hops, {"start": 0}),
        (ws.BFS, {"start": 0}),
        (ws.TopologicalLevels, {}),
        (Peel, {"k": 2}),
    )
    with build(SHAPES["path"]) as graph:
        for program, given in cases:
            fused, single = (
                ws.run(program, graph, **planned(engine="cpu", fused=is_fused, **given))
                for is_fused in (True, False)
            )
            assert all(fused.trace["fused"])
            assert not any(single.trace["fused"])
            assert fused.frame.equals(single.frame)
            for name in ("active", "edges", "direction", "filter"):
                assert fused.trace[name].tolist() == single.trace[name].tolist()


def test_limits_and_callbacks_of_fused_supersteps_through_inboxes(tmp_path):
    """A callback and a checkpoint see every superstep; `max_iter` ends a run after as many."""
    program, edges = ws.TopologicalLevels, SHAPES["path"]
    for most in (1, 7, 49):
        result, trace = trace_of(program, edges, engine="cpu", max_iter=most)
        assert (result.iterations, len(trace), all(trace["fused"])) == (most, most, True)
        assert result.arrays["level"].max() == most
    seen = []
    trace_of(program, edges, engine="cpu", progress=lambda update: seen.append(update.superstep))
    assert seen == sorted(seen)
    assert {*range(1, edges.n + 1)} <= {*seen}
    with build(edges) as graph:
        path = tmp_path / "state.parquet"
        ws.run(program, graph, engine="cpu", max_iter=6, checkpoint=path, every=4)
        rest = ws.run(program, graph, engine="cpu", resume=path)
        assert rest.iterations == edges.n
        assert rest.arrays["level"].tolist() == [*range(edges.n)]


def test_dense_supersteps_read_every_edge():
    edges = SHAPES["clique"]
    result, trace = trace_of(Rank, edges, tol=1e-3)
    assert set(trace["edges"]) == {len(edges.source)}
    assert set(trace["active"]) == {edges.n}
    assert trace["residual"].iloc[-1] == result.residual
    assert (trace["residual"] >= 0).all()


def test_bytes_that_partitions_send():
    edges = SHAPES["cycle"]
    _, trace = trace_of(Hops, edges, start=0, partitions=4)
    assert trace["bytes_sent"].sum() > trace["bytes_useful"].sum() > 0
    _, alone = trace_of(Peel, SHAPES["all isolated"], partitions=4)
    assert alone["bytes_sent"].sum() == 0


def test_no_superstep_is_a_frame_without_rows():
    for kind in ("pandas", "polars", "pyarrow"):
        with build(SHAPES["empty"], kind) as graph:
            trace = ws.run(Peel, graph, engine="python").trace
            names = trace.column_names if kind == "pyarrow" else list(trace.columns)
            assert names == COLUMNS
            assert len(trace) == 0


def test_the_time_of_a_fused_call_is_shared_out_by_work():
    trace = Trace()
    two = [(1, 8), (4, 25)]
    trace.add(
        Step(4, 25, direction="fused", filter="list", history=two, bytes_sent=16, bytes_useful=12),
        0.004,
        1,
    )
    trace.add(Step(9, 70, 0.5, "pull", "bitmap"), 0.002, 1)
    columns = trace.columns()
    np.testing.assert_allclose(columns["milliseconds"], [1.0, 3.0, 2.0])
    assert columns["superstep"].tolist() == [0, 1, 2]
    assert columns["direction"] == ["push", "push", "pull"]
    assert columns["filter"] == ["list", "list", "bitmap"]
    assert columns["fused"].tolist() == [True, True, False]
    assert columns["edges"].tolist() == [8, 25, 70]
    assert columns["bytes_sent"].tolist() == [16, 16, 0]
    assert columns["bytes_useful"].tolist() == [12, 12, 0]


def test_a_plot_has_a_colour_for_each_mode():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    rows = Trace()
    modes = [("push", "online"), ("pull", "bitmap"), ("push", "online")]
    rows.add(Step(7, 0, direction="fused", history=[(1, 3), (40, 90), (7, 0)], modes=modes), 0.3, 1)
    axes = rows.plot()
    shown = {one.get_text() for one in axes.get_legend().get_texts()}
    assert shown == {"push, online", "pull, bitmap"}
    drawn = {one.get_label(): one.get_offsets().tolist() for one in axes.collections}
    assert drawn == {"push, online": [[0, 1], [2, 7]], "pull, bitmap": [[1, 40]]}
    assert Trace().plot(axes) is axes
