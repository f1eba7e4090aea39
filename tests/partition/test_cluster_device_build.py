"""Shards of a graph built on GPUs, emulated: equal to those built on the host."""

from __future__ import annotations

import queue
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
import stand_in_cudf
from emulator.device import emulated
from footprint import LinkedCommunicator, MeasuredDevice
from programs import Nearest, Peel, Rank
from thread_ranks import ThreadCommunicator, on_ranks, over_links

import cugraph_ws as ws
from cugraph_ws.backends.cuda import grouping
from cugraph_ws.backends.cuda import shard_build as device_build
from cugraph_ws.backends.cuda import shuffle as device_shuffle
from cugraph_ws.backends.cuda.cudf_frames import as_series
from cugraph_ws.backends.cuda.shard import DeviceShard
from cugraph_ws.dask.nccl import NcclCommunicator
from cugraph_ws.frames.base import VertexNumbers
from cugraph_ws.partition.build import build_shard
from cugraph_ws.partition.shard import ShardGraph
from cugraph_ws.runtime.device import installed


@pytest.fixture(autouse=True)
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(device_build, "LEAST_ROUND", 1)
    with emulated(), stand_in_cudf.installed():
        yield


def edges(kind: str = "gaps", rows: int = 60, dtype: str = "int64") -> pd.DataFrame:
    random = np.random.default_rng(len(kind))
    ends = random.integers(0, 14, (2, rows))
    if kind == "gaps":
        ends = 3 * ends + 2
    elif kind == "beyond":
        ends = ends + 90
    elif kind == "negative":
        ends = 2 * ends - 20
    elif kind == "few":
        ends = ends % 3
    elif kind == "one way":  # no arc leads to most ranks' vertices
        ends[1] = 0
    return pd.DataFrame(
        {
            "source": ends[0].astype(dtype),
            "destination": ends[1].astype(dtype),
            "weight": random.integers(1, 9, rows) / 4,
            "count": random.integers(-5, 5, rows),
        }
    )


def parts_of(
    frame: pd.DataFrame, comm: ThreadCommunicator, *, on_gpu: bool, count: int = 5
) -> list[tuple[int, Any]]:
    """Return a rank's partitions; they are dealt out in turn."""
    cuts = np.linspace(0, len(frame), count + 1).astype(int)
    made = stand_in_cudf.DataFrame if on_gpu else pd.DataFrame
    return [
        (place, made(frame.iloc[cuts[place] : cuts[place + 1]].reset_index(drop=True)))
        for place in range(count)
        if place % comm.size == comm.rank
    ]


def shares(
    frame: pd.DataFrame, comm: ThreadCommunicator, **options: Any
) -> tuple[DeviceShard, ShardGraph]:
    made = {"weight": "weight", "attributes": ["count"], **options}
    found, expected = (
        build_shard(
            comm,
            parts_of(frame, comm, on_gpu=on_gpu),
            meta=(stand_in_cudf.DataFrame if on_gpu else pd.DataFrame)(frame.iloc[:0]),
            **made,
        )
        for on_gpu in (True, False)
    )
    assert isinstance(found, DeviceShard)
    assert not isinstance(expected, DeviceShard)
    return found, expected


def assert_same_arrays(found: Any, expected: Any) -> None:
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


CASES: dict[str, tuple[pd.DataFrame, dict[str, Any]]] = {
    "dense": (edges("dense"), {}),
    "gaps": (edges("gaps"), {}),
    "beyond": (edges("beyond", dtype="uint32"), {}),
    "negative": (edges("negative", dtype="int8"), {}),
    "narrow": (edges("beyond", dtype="int16"), {}),
    "narrow, unsigned": (edges("gaps", dtype="uint16"), {}),
    "undirected": (edges("gaps", dtype="int32"), {"directed": False}),
    "dropped loops": (edges("few"), {"self_loops": "drop"}),
    "undirected, dropped loops": (edges("few"), {"self_loops": "drop", "directed": False}),
    "no loop to refuse": (
        edges("dense").query("source != destination"),
        {"self_loops": "error"},
    ),
    "one way": (edges("one way"), {}),
    "one row": (edges("gaps", rows=1), {}),
    "nothing": (edges("gaps", rows=0), {}),
    "weights": (edges("gaps"), {"cut": [3.0, 1.0, 0.5]}),
    "nothing carried": (edges("dense"), {"weight": None, "attributes": []}),
}


def compare(frame: pd.DataFrame, comm: Any, options: dict[str, Any]) -> None:
    """Build a shard on the device and one on the host; they must be equal; collective."""
    found, expected = shares(frame, comm, **options)
    assert found.report == _with_bytes(expected.report, found.report.bytes)
    assert found.number_of_vertices == expected.number_of_vertices
    assert (found.number_of_edges, found.number_of_arcs, found.own_arcs) == (
        expected.number_of_edges,
        expected.number_of_arcs,
        expected.own_arcs,
    )
    assert found.ghosts == expected.ghosts
    assert_same_arrays(found.owners.cuts, expected.owners.cuts)
    told = _edges_by_value(frame, expected.edge_attributes, expected.directed)
    assert_same_arrays(found.positions, expected.positions)
    for held, other in zip(found.boundaries, expected.boundaries, strict=True):
        assert_same_arrays(held, other)
    for order in ("csc", "csr"):
        one, other = getattr(found, order), getattr(expected, order)
        assert_same_arrays(one.offsets, other.offsets)
        assert_same_arrays(one.indices, other.indices)
        for column in expected.edge_attributes:
            assert_same_arrays(
                found.edge_values(column, order), expected.edge_values(column, order)
            )
    for incoming in (True, False):
        assert_same_arrays(
            found.degree_array(incoming=incoming, on_device=True),
            expected.degree_array(incoming=incoming),
        )
        for column in expected.edge_attributes:
            np.testing.assert_allclose(
                found.weight_sums(column, incoming=incoming),
                expected.weight_sums(column, incoming=incoming),
                rtol=1e-12,
            )
    for column in expected.edge_attributes:
        for extreme in ("least_edge_value", "greatest_edge_value"):
            one, other = (getattr(graph, extreme)(column) for graph in (found, expected))
            assert (one is None) == (other is None)
            if one is not None:  # of several such edges each may name another
                assert one[0] == other[0]
                assert found.describe_edge(one[1]) in told[column, float(one[0])]
    assert found.nbytes > 0 or not len(frame)
    numbers = np.arange(found.number_of_vertices)
    assert_same_arrays(found.place(numbers), expected.place(numbers))


@pytest.mark.parametrize("name", CASES)
def test_the_same_shard_as_on_the_host(name: str) -> None:
    frame, options = CASES[name]
    on_ranks(3, lambda comm: compare(frame, comm, options))


@pytest.mark.parametrize("name", ["gaps", "undirected, dropped loops", "one way", "nothing"])
@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_the_same_shard_over_links(name: str, ranks: int) -> None:
    frame, options = CASES[name]
    options = {key: value for key, value in options.items() if key != "cut"}
    over_links(ranks, lambda comm: compare(frame, comm, options))


@pytest.mark.parametrize("name", ["gaps", "undirected"])
def test_a_small_graph_comes_in_one_round(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_build, "LEAST_ROUND", 1 << 22)
    frame, options = CASES[name]
    on_ranks(2, lambda comm: compare(frame, comm, options))


def test_more_kinds_than_a_byte_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_shuffle, "MOST_KINDS", 5)
    frame, options = CASES["gaps"]
    on_ranks(2, lambda comm: compare(frame, comm, options))


def test_more_ranks_than_vertices() -> None:
    frame = edges("few", rows=12)
    on_ranks(6, lambda comm: compare(frame, comm, {}))


@pytest.mark.parametrize("directed", [True, False])
def test_parallel_edges_stay_in_the_order_of_the_frame(
    directed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grouping, "LEAST_TILE", 32)  # a warp's arcs: several tiles
    frame = edges("few", rows=300)
    frame["count"] = np.arange(300)  # which identifies an arc's edge
    on_ranks(2, lambda comm: compare(frame, comm, {"directed": directed}))


def test_a_shard_that_does_not_fit_is_refused_by_all() -> None:
    def work(comm: ThreadCommunicator) -> None:
        with pytest.raises(ws.GraphMemoryError, match="while it is built"):
            build_shard(comm, parts_of(edges("gaps"), comm, on_gpu=True))

    with emulated(memory=100):
        on_ranks(3, work)


def _edges_by_value(frame: pd.DataFrame, columns: Any, directed: bool) -> dict[Any, set[str]]:
    """Return for each value of a column the edges that have it, as errors show them."""
    told: dict[Any, set[str]] = {}
    for column in columns:
        for source, destination, value in zip(
            frame["source"], frame["destination"], frame[column], strict=True
        ):
            shown = told.setdefault((column, float(value)), set())
            shown.add(f"{source} to {destination}")
            if not directed:
                shown.add(f"{destination} to {source}")
    return told


def _with_bytes(report: Any, count: int) -> Any:
    return type(report)(**{**report.__dict__, "bytes": count})


PROGRAMS: dict[str, tuple[Any, dict[str, Any]]] = {
    "nearest": (Nearest, {"seeds": [2, 5]}),
    "peeled": (Peel, {"k": 3}),
    "rank": (Rank, {"max_iter": 4, "tol": 0.0}),
    "sssp": (ws.SSSP, {"source": 5}),
    "pagerank": (ws.PageRank, {"max_iter": 5, "tol": 0.0, "personalization": {2: 1.0, 8: 3.0}}),
    "pagerank of equal shares": (ws.PageRank, {"max_iter": 4, "tol": 0.0, "personalization": 1.0}),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_run_on_it(name: str) -> None:
    program, options = PROGRAMS[name]
    frame = edges("gaps")
    with ws.Graph(frame, weight="weight") as graph:
        whole = ws.run(program, graph, engine="cpu", **options).frame

    def work(comm: ThreadCommunicator) -> Any:
        found = build_shard(comm, parts_of(frame, comm, on_gpu=True), weight="weight")
        assert isinstance(found, DeviceShard)
        frame_of = ws.run(program, found, **options).frame
        assert type(frame_of) is stand_in_cudf.DataFrame
        return frame_of

    found = pd.DataFrame(pd.concat(on_ranks(2, work), ignore_index=True))
    for column in whole:
        np.testing.assert_allclose(
            found[column].to_numpy(float, na_value=-1),
            whole[column].to_numpy(float, na_value=-1),
            rtol=1e-6,
        )
        assert (found[column].isna() == whole[column].isna()).all()


def test_loops_on_the_host_read_it() -> None:
    frame = edges("gaps")
    with ws.Graph(frame, weight="weight") as graph:
        whole = ws.weakly_connected_components(graph)

    def work(comm: ThreadCommunicator) -> Any:
        found = build_shard(comm, parts_of(frame, comm, on_gpu=True), weight="weight")
        return ws.weakly_connected_components(found)

    found = pd.concat(on_ranks(3, work), ignore_index=True)
    assert_same_arrays(found["vertex"], whole["vertex"])
    assert_same_arrays(found["labels"], whole["labels"])


@pytest.mark.parametrize("dtype", ["int64", "int16"])
def test_ids_of_others_are_asked_for(dtype: str) -> None:
    frame = edges("gaps", dtype=dtype)

    def work(comm: ThreadCommunicator) -> Any:
        share = build_shard(comm, parts_of(frame, comm, on_gpu=True))
        everyone = np.r_[-1, np.arange(share.number_of_vertices)[::-1]]
        asked = VertexNumbers(np.r_[everyone, everyone], nullable=True)
        other = as_series(share._vertices.columns("other", asked)["other"])
        assert share.vertex_frame({})["vertex"].dtype == dtype
        return pd.Series(other).fillna(-99).tolist()

    expected = 2 * [-99, *sorted({*frame["source"], *frame["destination"]}, reverse=True)]
    assert on_ranks(3, work) == [expected] * 3


@pytest.mark.parametrize(
    ("change", "options"),
    [
        ({"source": [f"v{number}" for number in range(60)]}, {}),
        ({"source": np.arange(60) * 10**9}, {}),
        ({"source": np.arange(60).astype(np.uint64) + np.uint64(2**63)}, {}),
        ({}, {"duplicates": "sum"}),
        ({}, {"vertices": pd.DataFrame({"vertex": [2, 500]})}),
    ],
    ids=["text", "sparse", "above int64", "merged", "vertices"],
)
def test_other_graphs_are_made_over_the_host(
    change: dict[str, Any], options: dict[str, Any]
) -> None:
    frame = edges("gaps").assign(**change)
    if "source" in change:
        frame["destination"] = frame["source"].iloc[::-1].to_numpy()

    def work(comm: ThreadCommunicator) -> Any:
        found = build_shard(comm, parts_of(frame, comm, on_gpu=True), weight="weight", **options)
        assert not isinstance(found, DeviceShard)
        return found.number_of_vertices

    with ws.Graph(frame, weight="weight", **options) as graph:
        assert on_ranks(2, work) == [graph.number_of_vertices] * 2


def test_a_refused_loop_is_named() -> None:
    frame = edges("few")
    frame["source"] = np.where(np.arange(len(frame)) < 7, frame["destination"] + 1, frame["source"])
    loops = np.flatnonzero(frame["source"] == frame["destination"])

    def work(comm: ThreadCommunicator) -> None:
        build_shard(comm, parts_of(frame, comm, on_gpu=True), self_loops="error")

    with pytest.raises(ws.InputError, match=f"row {loops[0]} joins"):
        on_ranks(2, work)


def test_a_bad_value_is_named_before_edges_are_sent() -> None:
    frame = edges("gaps")
    frame.loc[41, "weight"] = np.inf

    def work(comm: ThreadCommunicator) -> None:
        build_shard(comm, parts_of(frame, comm, on_gpu=True), weight="weight")

    with pytest.raises(ws.InputError, match="row 41 is inf"):
        on_ranks(2, work)


@pytest.mark.parametrize("on_gpu", [True, False], ids=["on GPUs", "on the host"])
def test_the_first_vertex_with_too_large_a_sum_is_named(on_gpu: bool) -> None:
    frame = edges("dense").assign(weight=1e308)

    def work(comm: ThreadCommunicator) -> None:
        found = build_shard(comm, parts_of(frame, comm, on_gpu=on_gpu), weight="weight")
        found.weight_sums("weight", incoming=True)

    first = frame["destination"].value_counts().sort_index()
    first = first[first > 1].index[0]
    with pytest.raises(ws.InputError, match=f"the weights at vertex {first} add up to more"):
        on_ranks(3, work)


def test_the_number_of_exchanges_is_independent_of_the_frame(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    meetings: Counter[int] = Counter()
    meet = NcclCommunicator._exchange

    def counted(comm: NcclCommunicator, mail: Any) -> Any:
        meetings[comm.rank] += 1
        return meet(comm, mail)

    monkeypatch.setattr(NcclCommunicator, "_exchange", counted)
    for frame in (edges(rows=40), edges(rows=400)):
        meetings.clear()
        over_links(
            2, lambda comm, frame=frame: build_shard(comm, parts_of(frame, comm, on_gpu=True))
        )
        assert meetings == {
            0: 25,
            1: 25,
        }  # no exchange for each round: senders have announced their arcs


@pytest.mark.parametrize("apart", [1, 3], ids=["dense ids", "gaps"])
def test_ghosts_are_in_the_order_of_their_owners_and_rows_ascend(apart: int) -> None:
    frame = sparse_edges(800)[["source", "destination"]] * apart

    def work(comm: Any) -> Any:
        shard = build_shard(comm, parts_of(frame, comm, on_gpu=True))
        graph, numbers, held = shard.laid_out()
        offsets, indices = (np.asarray(one) for one in graph.csc)
        rows = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        assert np.array_equal(np.lexsort((indices, rows)), np.arange(len(indices)))
        return shard.ghosts, np.asarray(numbers), [np.asarray(one) for one in held]

    ranks = over_links(3, work)
    for rank, (ghosts, numbers, _) in enumerate(ranks):
        for peer, (first, last) in enumerate(ghosts):
            _, theirs, held = ranks[peer]
            assert np.all(np.diff(held[rank]) > 0)
            assert np.array_equal(numbers[first:last], theirs[held[rank]])
            assert (last - first > 8) == (peer != rank)


ROWS = 3000  # of graphs whose memory is measured


def sparse_edges(rows: int) -> pd.DataFrame:
    ends = np.random.default_rng(5).integers(0, rows // 14, (2, rows)).astype(np.int32)
    return pd.DataFrame({"source": ends[0], "destination": ends[1]})


@pytest.mark.parametrize(("ranks", "most"), [(2, 0.58), (4, 0.34)])
def test_a_rank_takes_its_part_of_the_memory_of_one_gpu(
    ranks: int, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grouping, "LEAST_PIECE", 16)
    frame, here = sparse_edges(ROWS), MeasuredDevice()
    ways = {(a, b): queue.Queue[Any]() for a in range(ranks) for b in range(ranks)}

    def work(comm: ThreadCommunicator) -> int:
        own = parts_of(frame, comm, on_gpu=True, count=8)
        return here.peak(lambda: build_shard(LinkedCommunicator(comm, ways), own))[0]

    with installed(here):
        whole, _ = here.peak(lambda: ws.Graph(stand_in_cudf.DataFrame(frame)))
        assert max(on_ranks(ranks, work)) < most * whole


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weight", [None, "weight"])
def test_the_memory_of_a_shard_is_estimated_before(
    weight: str | None, directed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grouping, "LEAST_PIECE", 16)
    frame, here = sparse_edges(ROWS).assign(weight=1.0), MeasuredDevice()
    ways = {(a, b): queue.Queue[Any]() for a in range(2) for b in range(2)}
    told: dict[int, int] = {}

    def note(needed: Any) -> None:
        told[threading.get_ident()] = here.held() + needed.peak

    def work(comm: ThreadCommunicator) -> tuple[int, int]:
        own, before = parts_of(frame, comm, on_gpu=True, count=8), here.held()
        options = {"weight": weight, "directed": directed}
        peak, _ = here.peak(lambda: build_shard(LinkedCommunicator(comm, ways), own, **options))
        return peak, told[threading.get_ident()] - before

    monkeypatch.setattr(device_build, "check_device_memory", note)
    with installed(here):
        for peak, expected in on_ranks(2, work):
            assert peak == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("kind", ["gaps", "few", "one way"])
def test_places_of_numbers(kind: str) -> None:
    """Own vertices' and ghosts', none of others, and none of what is no vertex."""

    def work(comm: NcclCommunicator) -> None:
        shard, _ = shares(edges(kind, rows=20), comm)
        n = shard.number_of_vertices
        expected = np.full(n + 1, -1)
        expected[shard.positions] = np.arange(shard.length)
        assert shard.places_of(np.arange(-1, n)).tolist() == [-1, *expected[:n]]

    over_links(3, work)


def test_ghosts_are_in_the_order_of_their_owners() -> None:
    """What goes to a rank is read from front to back, and comes to its ghosts in that order."""

    def work(comm: NcclCommunicator) -> None:
        shard, _ = shares(edges(), comm)
        _, numbers, boundaries = shard.laid_out()
        assert all((np.diff(held) > 0).all() for held in boundaries)
        told = comm.alltoall([[numbers[held]] for held in boundaries])
        for (first, last), (sent,) in zip(shard.ghosts, told, strict=True):
            assert numbers[first:last].tolist() == sent.tolist()

    over_links(3, work)
