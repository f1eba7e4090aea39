"""A graph built on several ranks against the same graph built on one."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from thread_ranks import ThreadCommunicator, on_ranks

from cugraph_ws.graph.graph import Graph
from cugraph_ws.partition.build import build_shard


class Strict:
    """A rank that receives what processes would: read-only copies, and plain values."""

    on_device = False
    room: int | None = None

    def __init__(self, comm: ThreadCommunicator) -> None:
        self.rank, self.size, self.request, self._comm = comm.rank, comm.size, comm.request, comm

    def alltoall(self, boxes: Any) -> list[list[Any]]:
        for box in boxes:
            assert all(type(array) is np.ndarray and array.dtype.kind in "iufb" for array in box)
        came = [[array.copy() for array in box] for box in self._comm.alltoall(boxes)]
        for box in came:
            for array in box:
                array.flags.writeable = False
        self._comm.allgather(None)  # no rank continues before all have copied
        return came

    def allgather(self, value: Any) -> list[Any]:
        return self._comm.allgather(plain(value))


def plain(value: Any) -> Any:
    """Return what a value is after a journey between processes; fail if it cannot travel."""
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {plain(name): plain(one) for name, one in value.items()}
    assert value is None or isinstance(value, (bool, int, float, str, bytes, np.generic)), value
    return value


def cut(frame: Any, pieces: int, seed: int = 0) -> list[Any]:
    """Cut a frame into consecutive pieces of random lengths, some of them empty."""
    rng = np.random.default_rng(seed)
    ends = [0, *sorted(rng.integers(0, len(frame) + 1, pieces - 1).tolist()), len(frame)]
    if isinstance(frame, pd.DataFrame):
        return [frame.iloc[a:b] for a, b in itertools.pairwise(ends)]
    return [frame[a:b] for a, b in itertools.pairwise(ends)]


def deal(pieces: list[Any], size: int, seed: int = 0) -> list[list[tuple[int, Any]]]:
    """Deal pieces, with their places, to ranks at random; some may get none."""
    rng = np.random.default_rng(seed)
    hands: list[list[tuple[int, Any]]] = [[] for _ in range(size)]
    for place in rng.permutation(len(pieces)).tolist():
        hands[rng.integers(size)].append((place, pieces[place]))
    return hands


def build(
    size: int, hands: list[Any], *arguments: Any, work: Any = None, **options: Any
) -> list[Any]:
    """Build a graph on several ranks, and do some work with it."""

    def on_rank(comm: ThreadCommunicator) -> Any:
        shard = build_shard(Strict(comm), hands[comm.rank], *arguments, **options)
        return shard if work is None else work(shard)

    return on_ranks(size, on_rank)


def described(shard: Any) -> dict[str, Any]:
    """Return what a rank holds, in vertex numbers; collective."""
    csc, csr = shard.csc, shard.csr
    positions = shard.positions
    return {
        "cuts": shard.owners.cuts.tolist(),
        "rows": [
            positions[csc.indices[a:b]].tolist()
            for a, b in zip(csc.offsets, csc.offsets[1:], strict=False)
        ],
        "out": sorted(
            (int(positions[row]), int(positions[one]))
            for row in range(shard.length)
            for one in csr.indices[csr.offsets[row] : csr.offsets[row + 1]]
        ),
        "edges": {name: shard.edge_values(name) for name in shard.edge_attributes},
        "report": shard.report,
        "vertices": shard.vertex_frame({}),
        "frame": shard.edge_frame(),
        "sizes": (shard.number_of_vertices, shard.number_of_edges, shard.number_of_arcs),
        "names": [shard.describe(place) for place in range(shard.owned)],
        "positions": positions,
        "owned": shard.owned,
    }


def stacked(frames: list[Any]) -> Any:
    """Concatenate ranks' result frames, which must have equal dtypes."""
    if isinstance(frames[0], pd.DataFrame):
        assert len({tuple(map(str, frame.dtypes)) for frame in frames}) == 1
        return pd.concat(frames, ignore_index=True)
    return pl.concat(frames) if isinstance(frames[0], pl.DataFrame) else pa.concat_tables(frames)


def assert_frames_equal(left: Any, right: Any) -> None:
    """Compare two frames of one kind, dtypes included."""
    assert type(left) is type(right)
    if isinstance(left, pd.DataFrame):
        pd.testing.assert_frame_equal(left, right, check_index_type=False)
    elif isinstance(left, pl.DataFrame):
        assert left.equals(right)
        assert left.schema == right.schema
    else:
        assert left.schema.equals(right.schema)
        assert left.to_pylist() == right.to_pylist()


def assert_same(graph: Graph, told: list[dict[str, Any]]) -> None:
    """Compare a graph built on several ranks with the whole graph."""
    n = graph.number_of_vertices
    csc, csr = graph.csc, graph.csr
    rows = [csc.indices[a:b].tolist() for a, b in zip(csc.offsets, csc.offsets[1:], strict=False)]
    out = [
        (row, int(one))
        for row in range(n)
        for one in csr.indices[csr.offsets[row] : csr.offsets[row + 1]]
    ]
    assert [row for one in told for row in one["rows"]] == rows
    assert sorted(pair for one in told for pair in one["out"]) == out
    assert [name for one in told for name in one["names"]] == [graph.describe(v) for v in range(n)]
    report = graph.report
    for one in told:
        assert one["sizes"] == (n, graph.number_of_edges, graph.number_of_arcs)
        assert one["cuts"] == told[0]["cuts"]
        aside = {"bytes": 0, "layouts": {}}  # a rank's layouts are not counted
        assert {**vars(one["report"]), **aside} == {**vars(report), **aside}
    for name in graph.edge_attributes:
        whole = graph.edge_values(name)
        assert {one["edges"][name].dtype for one in told} == {whole.dtype}
        np.testing.assert_array_equal(np.concatenate([one["edges"][name] for one in told]), whole)
    assert_frames_equal(stacked([one["vertices"] for one in told]), graph.vertex_frame({}))
    assert_frames_equal(stacked([one["frame"] for one in told]), graph.edge_frame())


def check(frame: Any, *arguments: Any, size: int = 3, seed: int = 0, **options: Any) -> Graph:
    """Build a graph alone and together, and compare."""
    whole = {name: option for name, option in options.items() if name not in ("meta", "cut")}
    graph = Graph(frame, *arguments, **whole)
    hands = deal(cut(frame, 4, seed), size, seed)
    assert_same(graph, build(size, hands, *arguments, work=described, **options))
    return graph
