"""Values of vertices that come in partitions on GPUs, emulated: the same as over the hosts."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
import stand_in_cudf
from cuda_cases import outcome
from emulator.device import EmulatedDevice, emulated
from hypothesis import example, given, settings
from hypothesis import strategies as st
from thread_ranks import ThreadCommunicator, on_ranks, over_links

import cugraph_ws as ws
from cugraph_ws.backends.cuda import shard_vertices as device_vertices
from cugraph_ws.backends.cuda.shard import DeviceShard
from cugraph_ws.backends.cuda.shard_vertices import DeviceShardVertices
from cugraph_ws.partition.build import build_shard
from cugraph_ws.partition.partitioned_frame import Partitions
from cugraph_ws.partition.vertices import ShardVertices

IDS: dict[str, Any] = {  # of the graph's vertices
    "dense": np.arange(14),
    "few": np.arange(3),
    "gaps": np.array([2, 5, 6, 7, 11, 30, 31, 32, 40, 41, 55, 60]),
    "far": np.array([3, 5, 400, 402, 70_000, 70_001]),
    "beyond": np.arange(90, 104, dtype=np.uint32),
    "negative": np.array([-120, -60, -59, -3, 0, 8, 100, 127], np.int8),
    "high": 2**40 + np.array([0, 1, 4, 5, 6, 9, 700], np.uint64),
    "low": -(2**40) + np.array([0, 1, 4, 5, 6, 9, 700]),
}
BEYOND = [-(2**63), -129, -1, 1, 3, 56, 61, 128, 300, 2**32 + 5, 2**40 + 2, 2**62, 2**63 - 1, 2**63]


@pytest.fixture(autouse=True)
def gpu() -> Iterator[EmulatedDevice]:
    with emulated() as device, stand_in_cudf.installed():
        yield device


MAKING = threading.Lock()


@cache
def shares(kind: str, size: int) -> list[DeviceShard]:
    """Return the shards of a graph, which is built once."""
    ids = IDS[kind]
    random = np.random.default_rng(size)
    ends = np.concatenate([[ids, ids[::-1]], random.choice(ids, (2, 20))], axis=1)
    frame = stand_in_cudf.DataFrame({"source": ends[0], "destination": ends[1], "w": 0.05})

    def work(comm: ThreadCommunicator) -> DeviceShard:
        built = build_shard(comm, [(0, frame)] if comm.rank == size - 1 else [], weight="w",
                            meta=frame.iloc[:0])  # fmt: skip
        assert isinstance(built, DeviceShard)
        return built

    return on_ranks(size, work)


def joined(comm: Any, kind: str) -> DeviceShard:
    """Return a rank's shard, with this communicator."""
    with MAKING:  # ranks are threads, and a cache would let each make shards of its own
        share = copy.copy(shares(kind, comm.size)[comm.rank])
    share.join(comm)
    return share


def frame_of(ids: Any, values: Any, *, on_gpu: bool = True) -> Any:
    made = stand_in_cudf.DataFrame if on_gpu else pd.DataFrame
    return made({"vertex": ids, "v": values})


def cut(frame: Any, cuts: list[int]) -> list[Any]:
    return [frame.iloc[a:b].reset_index(drop=True) for a, b in pairwise(cuts)]


def both_ways(
    share: DeviceShard, parts: list[Any], dtype: Any, default: Any, column: str | None = None
) -> tuple[Any, Any]:
    """Return what comes of values from GPU to GPU, and of the same over the hosts."""
    asked = Partitions(parts), "prior", dtype, default, column
    return (
        outcome(lambda: share.vertex_values(*asked, on_device=True)),
        outcome(lambda: ShardVertices.values(share._vertices, *asked, on_device=True)),
    )


@st.composite
def spread_values(draw: Any) -> Any:
    """Draw a graph, a number of ranks, and partitions of values that may be wrong."""
    kind, size = draw(st.sampled_from(sorted(IDS))), draw(st.integers(1, 4))
    known = IDS[kind].tolist()
    strange = draw(
        st.lists(st.sampled_from(known + BEYOND), max_size=draw(st.sampled_from([0, 2])))
    )
    ids = draw(st.permutations(known))[: draw(st.integers(0, len(known)) | st.just(len(known)))]
    ids = draw(st.permutations(ids + strange)) if strange else ids
    fitting = [
        np.dtype(name)
        for name in ("int8", "uint8", "int32", "uint32", "int64", "uint64")
        if all(np.iinfo(name).min <= one <= np.iinfo(name).max for one in ids)
    ]
    if not fitting:
        ids, fitting = ids[:0], [np.dtype(np.int64)]
    values = draw(
        st.sampled_from(
            [
                np.arange(len(ids)) - 2.5,
                np.arange(len(ids), dtype=np.float32),
                np.arange(len(ids), dtype=np.uint64) + np.uint64(2**63 - 4),
                np.arange(len(ids)) - 3,
                np.arange(len(ids)) % 2 == 0,
                np.where(np.arange(len(ids)) == 5, np.nan, 1.0),
                np.where(np.arange(len(ids)) == 3, np.inf, 1e200),
            ]
        )
    )
    frame = frame_of(np.array(ids, draw(st.sampled_from(fitting))), values)
    ends = st.lists(st.integers(0, len(ids)), min_size=size, max_size=2 * size)
    parts = cut(frame, [0, *sorted(draw(ends)), len(ids)])
    hands: list[list[Any]] = [[] for _ in range(size)]
    for part in parts:
        hands[draw(st.integers(0, size - 1))].append(part)
    dtype = draw(st.sampled_from(["float64", "float32", "int64", "int32", "bool"]))
    return kind, hands, np.dtype(dtype), draw(st.sampled_from([0, 1, None]))


@settings(max_examples=40, deadline=None)
@given(spread_values())
@example(("few", [[frame_of([2], [1.0])], [], [], [frame_of([0, 1], [2.0, 3.0])]], float, None))
@example(("low", [[frame_of([2**63 - 1], [1.0])], []], float, 0))
@example(("low", [[], [frame_of([-(2**40) - 1, -(2**40)], [1.0, 2.0])]], float, 0))
@example(("gaps", [[frame_of([2, 5], [1, 2])], [frame_of([5, 2], [1, 2])]], int, 0))
@example(("gaps", [[frame_of([2, 3, 60], [1, 2, 3])], []], int, 0))
@example(("gaps", [[frame_of([2, 61], [1, 2])], []], int, 0))
@example(("gaps", [[frame_of([1, 5], [1, 2])], []], int, 0))
@example(("far", [[frame_of(np.array([5, 3], np.int8), [1, 2])], []], int, 0))
@example(("dense", [[], [frame_of([3, 14], [1, 2])]], int, 0))
@example(("dense", [[frame_of([3, 4], [1.0, np.nan])], []], float, 0))
@example(("negative", [[frame_of([8], [1.0])], [frame_of([-61, 300], [1.0, 2.0])]], float, 0))
def test_values_and_errors_are_those_of_the_hosts(drawn: Any) -> None:
    kind, hands, dtype, default = drawn[0], drawn[1], np.dtype(drawn[2]), drawn[3]
    with emulated(), stand_in_cudf.installed():

        def work(comm: ThreadCommunicator) -> tuple[Any, Any, bool]:
            share, own = joined(comm, kind), hands[comm.rank]
            came = share._vertices._receive_on_devices(Partitions(own), "prior", dtype, None)
            return *both_ways(share, own, dtype, default), came is None

        for found, expected, over_hosts in on_ranks(len(hands), work):
            assert found == expected
            assert not over_hosts or isinstance(expected, str)


class Watched:
    """The error of two ranks that are given values."""

    def __init__(self, gpu: EmulatedDevice, kind: str, hands: list[list[Any]], **options: Any):
        self.copied: list[int] = []  # elements of arrays that have come to the host
        self.over_hosts = 0
        stand_in_cudf.Series.copies = 0
        to_host, by_hosts = gpu.to_host, ShardVertices.values

        def noted(array: Any) -> Any:
            self.copied.append(array.size)
            return to_host(array)

        def counted(*arguments: Any, **named: Any) -> Any:
            self.over_hosts += 1
            return by_hosts(*arguments, **named)

        def work(comm: ThreadCommunicator) -> Any:
            share = joined(comm, kind)
            asked = Partitions(hands[comm.rank]), "prior", float, None
            return outcome(lambda: share.vertex_values(*asked, **{"on_device": True, **options}))

        with (
            patch.object(gpu, "to_host", noted),
            patch.object(ShardVertices, "values", counted),
            patch.object(device_vertices, "as_host", noted),
        ):
            self.told = on_ranks(2, work)
        self.copies = stand_in_cudf.Series.copies


@pytest.mark.parametrize("kind", IDS)
def test_values_stay_on_the_gpus(gpu: EmulatedDevice, kind: str) -> None:
    shares(kind, 2)
    ids = IDS[kind]
    parts = cut(frame_of(ids[::-1].copy(), np.arange(len(ids)) / 2), [0, 1, 1, len(ids)])
    seen = Watched(gpu, kind, [parts[:1], parts[1:]])
    assert [type(one) for one in seen.told] == [tuple, tuple]
    assert (seen.over_hosts, seen.copies) == (0, 0)
    assert max(seen.copied) <= 3  # scalars, read together
    for (values, _, marks), share in zip(seen.told, shares(kind, 2), strict=True):
        assert values == ((len(ids) - 1 - share.positions) / 2).tolist()
        assert all(marks)


def test_they_travel_between_gpus() -> None:
    ids = IDS["gaps"]
    hands = cut(frame_of(ids[::-1].copy(), np.arange(12) / 2), [0, 2, 11, 12])
    shares("gaps", 3)

    def work(comm: Any) -> Any:
        share = joined(comm, "gaps")
        came = share._vertices._receive_on_devices(
            Partitions([hands[comm.rank]]), "prior", np.dtype(np.float32), None
        )
        assert came is not None
        assert came[0].dtype == np.float32
        np.testing.assert_array_equal(came[0], (11 - share.positions) / 2)
        assert came[1].all()

    over_links(3, work)


def test_values_come_to_the_host_if_they_are_asked_for_there(gpu: EmulatedDevice) -> None:
    shares("gaps", 2)
    parts = [[frame_of(IDS["gaps"], np.arange(12.0))], []]
    seen = Watched(gpu, "gaps", parts, on_device=False)
    assert seen.over_hosts == 0
    long = [one for one in seen.copied if one > 3]
    assert sorted(long) == sorted(2 * [share.length for share in shares("gaps", 2)])


@pytest.mark.parametrize(
    "other",
    [
        pd.DataFrame({"vertex": [5, 2], "v": [1.0, 2.0]}),
        stand_in_cudf.DataFrame({"vertex": [5, 2], "v": [1.0, None]}).convert_dtypes(),
        stand_in_cudf.DataFrame({"vertex": ["5", "2"], "v": [1.0, 2.0]}),
        stand_in_cudf.DataFrame({"vertex": [5.0, 2.0], "v": [1.0, 2.0]}),
        stand_in_cudf.DataFrame({"vertex": [True, False], "v": [1.0, 2.0]}),
        stand_in_cudf.DataFrame({"vertex": [5, 2], "v": ["x", "y"]}),
        stand_in_cudf.DataFrame({"vertex": [5, 2], "u": [1.0, 2.0]}),
        stand_in_cudf.DataFrame({"vertex": pd.Categorical([5, 2]), "v": [1.0, 2.0]}),
        5,
    ],
    ids=["on the host", "null", "text", "float ids", "bool ids", "text values", "other column",
         "categories", "no frame"],
)  # fmt: skip
@pytest.mark.parametrize("rank", [0, 1])
def test_one_partition_of_another_kind_sends_all_over_the_hosts(
    gpu: EmulatedDevice, other: Any, rank: int
) -> None:
    hands = [[frame_of([8, 9], [1.0, 2.0])], [frame_of([7], [3.0]), frame_of([6], [3.0])]]
    hands[rank].append(other)

    def work(comm: ThreadCommunicator) -> Any:
        return both_ways(joined(comm, "dense"), hands[comm.rank], np.dtype(float), 0)

    for found, expected in on_ranks(2, work):
        assert found == expected
    assert Watched(gpu, "dense", hands).over_hosts == 2


@pytest.mark.parametrize(
    ("columns", "chosen"),
    [
        ({"source": [5, 2], "u": [1, 2], "v": [3, 4]}, "v"),
        ({"source": [5, 2], "u": [1, 2], "v": [3, 4]}, None),
        ({"source": [5, 2], "u": [1, 2], "v": [3, 4]}, "w"),
        ({"vertex": [5, 2], "v": [3, 4]}, "vertex"),
        ({"vertex": [5, 2]}, None),
        ({"id": [5, 2], "v": [3, 4]}, None),
        ({"vertex": [5, 2], 0: [3, 4]}, None),
        ({"vertex": [5, 2], 0: [3, 4], 1: [5, 6]}, None),
        ({"vertex": np.empty(0, int), "v": np.empty(0)}, None),
    ],
)
@pytest.mark.parametrize("default", [-1, None])
def test_columns_are_chosen_equally(columns: Any, chosen: str | None, default: Any) -> None:
    frame = stand_in_cudf.DataFrame(columns)

    def work(comm: ThreadCommunicator) -> Any:
        own = [frame] if comm.rank == 1 else []
        return both_ways(joined(comm, "gaps"), own, np.dtype(float), default, chosen)

    for found, expected in on_ranks(3, work):
        assert found == expected


def test_no_rank_has_a_partition() -> None:
    def work(comm: ThreadCommunicator) -> Any:
        return both_ways(joined(comm, "gaps"), [], np.dtype(float), 0)

    for found, expected in on_ranks(2, work):
        assert found == expected
        assert "no rank has a partition" in found


def test_arguments_are_not_modified() -> None:
    hands = [[frame_of(IDS["dense"][::-1].copy(), np.arange(14.0))], []]

    def work(comm: ThreadCommunicator) -> None:
        share = joined(comm, "dense")
        values, marks = share.vertex_values(
            Partitions(hands[comm.rank]), "prior", float, on_device=True
        )
        values[:] = -1
        marks[:] = False

    on_ranks(2, work)
    assert hands[0][0]["v"].to_numpy().tolist() == list(range(14))
    assert hands[0][0]["vertex"].to_numpy().tolist() == list(range(13, -1, -1))


@pytest.mark.parametrize(
    ("program", "argument"),
    [(ws.Heat, "temperature"), (ws.PageRank, "personalization")],
    ids=["heat", "pagerank"],
)
def test_programs_start_with_them(program: Any, argument: str) -> None:
    ids = IDS["gaps"]
    values = frame_of(ids, np.arange(len(ids)) + 1.0)
    hands = cut(values, [0, 7, len(ids)])
    way = DeviceShardVertices._receive_on_devices
    found = []

    def watched(*arguments: Any) -> Any:
        found.append(way(*arguments))
        return found[-1]

    def work(comm: ThreadCommunicator) -> Any:
        share = joined(comm, "gaps")
        spread, whole = (
            ws.run(program, share, engine="cuda", max_iter=3, tol=0.0, **{argument: given}).frame
            for given in (Partitions([hands[comm.rank]]), pd.DataFrame(values))
        )
        pd.testing.assert_frame_equal(pd.DataFrame(spread), pd.DataFrame(whole))

    with patch.object(DeviceShardVertices, "_receive_on_devices", watched):
        on_ranks(2, work)
    assert len(found) == 2
    assert all(one is not None for one in found)
