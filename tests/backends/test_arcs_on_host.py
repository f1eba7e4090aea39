"""Graphs whose arcs stay in the host's memory while the GPU computes: the same bits, and their memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import stand_in_cudf
from emulator.device import emulated
from programs import Hops, Rank

import cugraph_ws as ws
from cugraph_ws.backends.cuda import arcs_on_host, schedule, streamed_rows
from cugraph_ws.errors import GraphMemoryError, InputError
from cugraph_ws.graph.numbering import DenseIntegers, SortedIntegers

VERTICES, EDGES = 120, 1100


def frame_of() -> pd.DataFrame:
    """Return edges with loops, parallel ones, both ways, a hub, and vertices without in-neighbours."""
    random = np.random.default_rng(3)
    destinations = (VERTICES * random.random(EDGES) ** 3).astype(np.int64)
    sources = random.integers(0, VERTICES, EDGES)
    sources[::40] = destinations[::40]
    return pd.DataFrame(
        {
            "source": 3 * sources,
            "destination": 3 * destinations,
            "weight": random.random(EDGES) + 0.5,
            "kind": random.integers(0, 9, EDGES).astype(np.int16),
        }
    )


@pytest.fixture
def small_pieces(monkeypatch):
    """Cut rows of all classes of in-degrees into several pieces, and sort few at a time."""
    monkeypatch.setattr(schedule, "HUB", 14)
    monkeypatch.setattr(schedule, "CHUNK", 8)
    monkeypatch.setattr(schedule, "MIDDLE_OF_FEW", 6)
    monkeypatch.setattr(streamed_rows, "BUFFER", 200)
    monkeypatch.setattr(streamed_rows, "MIDDLE", 6)
    monkeypatch.setattr(arcs_on_host, "SORTED", 8)  # the longest row is a fifth of this graph
    monkeypatch.setattr(arcs_on_host, "LEAST_SORTED", 100)
    monkeypatch.setattr(arcs_on_host, "MOST_SORTED", 200)


@pytest.mark.filterwarnings("ignore::cugraph_ws.errors.GraphWarning")
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("placement", ["host", "disk"])
def test_rows_are_those_on_the_device(placement, directed, small_pieces, monkeypatch):
    options = {"directed": directed, "attributes": "kind"}
    frame = frame_of()
    plain, apart = ws.Graph(frame, **options), ws.Graph(frame, placement=placement, **options)
    with emulated() as gpu:
        if placement == "disk":  # only if the arcs do not fit
            assert not ws.Graph(frame, placement=placement, **options).on_device().arcs_on_host
            gpu.memory = 9_000
            with pytest.raises(GraphMemoryError, match=r"placement='host' to keep arcs"):
                plain.on_device()
        laid = apart.on_device()
        gpu.memory = 1 << 34
        expected = plain.on_device()
        assert laid.arcs_on_host
        assert not expected.arcs_on_host
        for order in ("csc", "csr"):
            rows, others = getattr(laid, order), getattr(expected, order)
            assert np.array_equal(rows.offsets, others.offsets)
            assert np.array_equal(rows.indices, others.indices)
            assert rows.indices.dtype == others.indices.dtype
            for name in ("weight", "kind"):
                assert np.array_equal(laid.values(name, order), expected.values(name, order))
                assert laid.is_apart(laid.values(name, order))
                assert not expected.is_apart(expected.values(name, order))
        assert np.array_equal(laid.out_degrees, expected.out_degrees)
        assert laid.nbytes < 40 * VERTICES < expected.nbytes / 2
        assert laid.both_ways == plain.own_both_ways


def calls(start):
    """Return calls over all kinds of supersteps: dense with and without weights, frontiers, worklists, loops."""
    return {
        "pagerank": lambda graph: ws.pagerank(graph, engine="cuda", max_iter=2, tol=0.0, fail_on_nonconvergence=False),
        "unweighted": lambda graph: ws.run(Rank, graph, engine="cuda", max_iter=2).frame,
        "pulls": lambda graph: ws.run(Hops, graph, start=start, engine="cuda", plan=ws.Plan(direction="pull")).frame,
        "bfs": lambda graph: ws.bfs(graph, start, engine="cuda"),
        "sssp": lambda graph: ws.sssp(graph, start, engine="cuda"),
        "components": lambda graph: ws.weakly_connected_components(graph, engine="cuda"),
    }  # fmt: skip


@pytest.mark.long
def test_results_have_the_same_bits(small_pieces):
    frame = frame_of()
    plain, apart = ws.Graph(frame), ws.Graph(frame, placement="host")
    with emulated():
        for name, call in calls(3 * 7).items():
            assert call(apart).equals(call(plain)), name
        assert len(streamed_pieces(apart)) == 5
        assert apart.reverse().bfs(3 * 7).equals(plain.reverse().bfs(3 * 7))


def streamed_pieces(graph):
    """Return the pieces of a graph's dense superstep, of which one is of hubs and one of warps of 32 rows."""
    from cugraph_ws.partition.part import ProgramPart
    from cugraph_ws.program.binding import bind
    from cugraph_ws.runtime.device import device

    part = ProgramPart(graph, bind(Rank, graph, {}), on_device=True)
    rows = streamed_rows.StreamedRows(device(), part, ("float64",), ("float64",))
    pieces = rows._pieces
    assert [piece.first_arc for piece in pieces[1:]] == [piece.last_arc for piece in pieces[:-1]]
    assert pieces[-1].last_arc == graph.number_of_arcs
    assert all(piece.last_arc - piece.first_arc <= rows._length for piece in pieces)
    assert sum(piece.schedule.hubs[-1] > 0 for piece in pieces) > 1
    return pieces


def test_a_run_takes_no_memory_for_arcs(small_pieces):
    frame = frame_of()
    with emulated() as gpu:
        plain, apart = ws.Graph(frame), ws.Graph(frame, placement="host")
        apart.on_device()
        gpu.memory = 9_000  # arcs with weights have 13,200 bytes, and 26,400 in both orders
        assert len(ws.pagerank(apart, engine="cuda", max_iter=2, fail_on_nonconvergence=False))
        assert len(ws.sssp(apart, 21, engine="cuda"))
        with pytest.raises(GraphMemoryError, match="of GPU memory"):
            ws.sssp(plain, 21, engine="cuda")


def test_a_limit_holds_on_the_gpu_too(small_pieces):
    frame = frame_of()
    with emulated():
        limited = ws.Graph(frame, placement="auto", memory_limit="150KB")
        assert not limited.on_device().arcs_on_host
        # The build on the host takes more than this
        limited = ws.Graph(frame, placement="host", memory_limit="150KB")
        limited.memory_limit = 12_000
        assert limited.on_device().arcs_on_host
        with pytest.raises(GraphMemoryError, match=r"multi_source_sssp needs .* of GPU memory"):
            ws.multi_source_sssp(limited, list(range(0, 90, 3)), engine="cuda")
        limited.close()
        limited = ws.Graph(frame, placement="host")
        limited.memory_limit = 1_500
        with pytest.raises(
            GraphMemoryError, match=r"vertices, without its arcs, need .* of GPU memory"
        ):
            limited.on_device()


def test_frames_of_the_host_are_placed_on_the_gpu():
    frame = frame_of()
    with emulated() as gpu:
        graph = ws.Graph(frame, placement="device")
        assert not graph.device_resident
        assert not graph.arcs_apart(on_device=True)
        before = gpu.launches
        found = ws.bfs(graph, 21)
        assert gpu.launches > before, "engine='auto' computes there"
        pd.testing.assert_frame_equal(found, ws.bfs(ws.Graph(frame), 21, engine="cpu"))
        labels = {vertex: place % 7 for place, vertex in enumerate(graph.vertices["vertex"])}
        chosen = graph.mask(lambda edges: edges["weight"] > 0.7)
        some = graph.subgraph([*labels][:40])
        for derived in (chosen, some, graph.reverse(), graph.contract(labels)):
            assert derived.computes_on_device
            before = gpu.launches
            ws.weakly_connected_components(derived)
            assert gpu.launches > before
        gpu.memory = 9_000  # arcs with weights have 13,200 bytes
        with pytest.raises(GraphMemoryError, match="of GPU memory"):
            ws.Graph(frame, placement="device")
    with pytest.raises(
        ws.EngineError, match=r"placement='device' needs an NVIDIA GPU .* leave it out"
    ):
        ws.Graph(frame, placement="device")
    with emulated(), pytest.raises(ws.InputError, match="folder= is for placement='disk'"):
        ws.Graph(frame, placement="device", folder=".")


def test_frames_on_a_gpu_compute_there():
    with stand_in_cudf.installed(), emulated():
        frame = stand_in_cudf.DataFrame(frame_of())
        graph = ws.Graph(frame, placement="host")
        assert not graph.device_resident
        degrees = ws.bfs(graph, 21)
        assert graph.on_device().arcs_on_host
        assert type(degrees) is type(frame)


def test_results_are_named_on_the_gpu(monkeypatch):
    dense = pd.DataFrame({"source": [0, 1, 2, 0], "destination": [1, 2, 3, 3]}, dtype=np.int32)
    plain = 7 * dense.astype(np.int64)
    texts = plain.astype(str)
    with stand_in_cudf.installed(), emulated() as gpu:
        for frame, start, named in ((plain, 7, True), (dense, 1, True), (texts, "7", False)):
            frame = stand_in_cudf.DataFrame(frame)
            graph, there = ws.Graph(frame, placement="host"), ws.Graph(frame)
            expected = ws.bfs(there, start)
            with monkeypatch.context() as patch:
                if named:  # nor is any id looked up on the host
                    patch.setattr(SortedIntegers, "decode", None)
                    patch.setattr(DenseIntegers, "decode", None)
                for _ in range(2):
                    result = ws.bfs(graph, start)
                    assert result.equals(expected)
                    assert result.dtypes.equals(expected.dtypes)
            laid = graph.on_device()
            assert (laid.naming(graph._vertices) is not graph._vertices) == named
            assert laid.give_back() >= graph._vertices.numbering.nbytes * named
            assert laid._naming is None
            assert ws.bfs(graph, start).equals(expected)
        graph = ws.Graph(stand_in_cudf.DataFrame(plain), placement="host")
        laid = graph.on_device()
        gpu.memory = gpu.memory - gpu.free_memory() + graph._vertices.numbering.nbytes
        assert laid.naming(graph._vertices) is graph._vertices  # no room


def test_what_is_refused():
    with pytest.raises(InputError, match="folder= is for placement='disk' or 'auto'"):
        ws.Graph(frame_of(), placement="host", folder=".")


def test_a_deleted_graph_is_named():
    with emulated():
        laid = ws.Graph(frame_of(), placement="host").on_device()
        with pytest.raises(InputError, match="rows is lost, because its graph was deleted"):
            _ = laid.csr
