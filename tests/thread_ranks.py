"""Ranks as threads, and whole graphs cut into shards, for tests of collectives."""

from __future__ import annotations

import copy
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from cugraph_ws.accelerators.hub.exchange import HubRankExchange
from cugraph_ws.accelerators.hub.messages import HostHub, segment_size
from cugraph_ws.backends.cuda.graph import DeviceGraph
from cugraph_ws.backends.cuda.rows import VertexOrder
from cugraph_ws.dask.nccl import NcclCommunicator
from cugraph_ws.errors import WorkerLostError
from cugraph_ws.graph.graph import Graph
from cugraph_ws.graph.owners import Owners
from cugraph_ws.kernels.accelerators.linked.layout import BOX_WORDS
from cugraph_ws.partition.cut import shard_of
from cugraph_ws.partition.ghosts import order_ghosts
from cugraph_ws.partition.shard import ShardGraph
from cugraph_ws.runtime.device import device

WAIT = 120  # seconds, after which a rank that waits alone fails


class ThreadCommunicator:
    """A rank in a thread."""

    on_device = True
    request: str | None = None
    room: int | None = None

    def __init__(self, rank: int, size: int, board: list[Any], barrier: threading.Barrier) -> None:
        self.rank, self.size = rank, size
        self._board, self._barrier = board, barrier

    def alltoall(self, boxes: Sequence[Sequence[Any]]) -> list[list[Any]]:
        assert len(boxes) == self.size
        # A rank may change what it has sent, as soon as it goes on.
        sent = [
            list(box) if peer == self.rank else [array.copy() for array in box]
            for peer, box in enumerate(boxes)
        ]
        shown = self.allgather(sent)
        return [box[self.rank] for box in shown]

    def allgather(self, value: Any) -> list[Any]:
        self._board[self.rank] = value
        self._barrier.wait(WAIT)
        shown = list(self._board)
        self._barrier.wait(WAIT)
        return shown


def on_ranks(size: int, work: Callable[[ThreadCommunicator], Any]) -> list[Any]:
    """Run `work` on all ranks at once; return their results, by rank.

    An error of one rank ends the wait of the others, and is raised.
    """
    board: list[Any] = [None] * size
    barrier = threading.Barrier(size)

    def one(rank: int) -> Any:
        try:
            return work(ThreadCommunicator(rank, size, board, barrier))
        except BaseException:
            barrier.abort()
            raise

    with ThreadPoolExecutor(size) as pool:
        futures = [pool.submit(one, rank) for rank in range(size)]
    errors = [error for future in futures if (error := future.exception()) is not None]
    for error in errors:
        if not isinstance(error, threading.BrokenBarrierError):
            raise error
    if errors:
        raise errors[0]
    return [future.result() for future in futures]


class ThreadWindow:
    """Memory that the kernels of several threads' launches share."""

    def __init__(self, size: int, capacity: int) -> None:
        self.size, self.capacity, self.serial = size, capacity, 0
        self.marks = capacity
        self.alarm = np.zeros(1, np.int64)
        self._words = 2 * size * BOX_WORDS
        self._headers = np.full(size * self._words, -1, np.int64)
        self._places = np.full(2 * size * size * capacity, -1, np.int32)
        self._marks = np.zeros(len(self._places), np.uint32)
        self._values: dict[Any, Any] = {}

    def arrays(self, kind: Any) -> tuple[Any, ...]:
        values = self._values.setdefault(np.dtype(kind), np.zeros(len(self._places), kind))
        return self._headers, self._places, (values,), self._marks

    def starts(self, kind: Any) -> Any:
        ranks = np.arange(self.size, dtype=np.int64)
        boxes = 2 * self.size * self.capacity * ranks
        return np.concatenate([self._words * ranks, boxes, boxes, boxes])


class ThreadQueue:
    """A queue of a rank that does at once what it is told, over segments that threads share."""

    def __init__(self, segments: Sequence[Any]) -> None:
        self._segments = segments
        self._words = [segment[: len(segment) // 8 * 8].view(np.int64) for segment in segments]
        self.copied = 0  # bytes that have left this rank
        self.taken = 0  # bytes that have been copied as a whole

    def put(self, array: Any, owner: int, offset: int) -> None:
        self.copied += array.nbytes
        self._segments[owner][offset : offset + array.nbytes] = array.reshape(-1).view(np.uint8)

    def take(self, source: Any, target: Any) -> None:
        assert source.nbytes == target.nbytes
        self.taken += source.nbytes
        target[...] = source.reshape(target.shape).view(target.dtype)

    def view(self, owner: int, offset: int, kind: Any, count: int) -> Any:
        kind = np.dtype(kind)
        return self._segments[owner][offset : offset + count * kind.itemsize].view(kind)

    def signal(self, owner: int, word: int, value: int) -> None:
        assert self._words[owner][word] < value, "numbers rise"
        self._words[owner][word] = value

    def wait(self, owner: int, word: int, value: int) -> None:
        until = time.monotonic() + 20.0
        while self._words[owner][word] < value:
            assert time.monotonic() < until, "another rank has ended"
            time.sleep(1e-5)

    def fork(self) -> None:
        pass

    def back(self) -> None:
        pass

    def join(self) -> None:
        pass


class ThreadLinks:
    """Links between threads: an array is sent by being copied into a queue."""

    exchange_class: Any = None
    byte = 4e-12

    def __init__(
        self,
        comm: ThreadCommunicator,
        ways: dict[tuple[int, int], queue.Queue[Any]],
        shared: ThreadWindow | None = None,
    ) -> None:
        self._rank, self._ways = comm.rank, ways
        self.window = copy.copy(shared)  # with a serial number of its own
        self.exchanges = self.waits = self.swaps = 0

    def exchange(self, sent: Sequence[Sequence[Any]], taken: Sequence[Sequence[Any]]) -> None:
        self.exchanges += 1
        self.post(sent, taken)

    def post(self, sent: Sequence[Sequence[Any]], taken: Sequence[Sequence[Any]]) -> None:
        assert not sent[self._rank], "no rank sends to itself"
        assert not taken[self._rank]
        for peer, box in enumerate(sent):
            for array in box:
                self._ways[self._rank, peer].put(array.copy())
        for peer, box in enumerate(taken):
            for array in box:
                came = self._ways[peer, self._rank].get(timeout=60)
                assert came.nbytes == array.nbytes, "lengths are known before"
                array[...] = came.reshape(array.shape)

    def gather(self, own: Any, everyone: Any) -> None:
        pieces = np.split(everyone, len(everyone) // len(own))
        others = [rank for rank in range(len(pieces)) if rank != self._rank]
        pieces[self._rank][:] = own
        self.post(
            [[own] if rank in others else [] for rank in range(len(pieces))],
            [[piece] if rank in others else [] for rank, piece in enumerate(pieces)],
        )

    def swap(self, texts: Mapping[int, bytes]) -> dict[int, bytes]:
        self.swaps += 1
        for peer, text in texts.items():
            self._ways[self._rank, peer].put(text)
        came = {peer: self._ways[peer, self._rank].get(timeout=60) for peer in texts}
        assert all(isinstance(text, bytes) for text in came.values()), (
            "all ranks are in the same collective"
        )
        return came

    def mark(self) -> None:
        self.waits += 1

    def wait(self, mark: None) -> None:
        device().synchronize()
        if self.window is not None and self.window.alarm[0]:
            raise WorkerLostError("the alarm has been rung")


class ThreadHubLinks(ThreadLinks):
    """Links between threads through a hub: arrays are copied to segments that all of them read."""

    exchange_class = HubRankExchange

    def __init__(
        self,
        comm: ThreadCommunicator,
        ways: dict[tuple[int, int], queue.Queue[Any]],
        segments: Sequence[Any],
        room: int,
    ) -> None:
        super().__init__(comm, ways)
        self.queue = ThreadQueue(segments)
        self.hub = HostHub(self.queue, comm.rank, comm.size, room)

    def post(self, sent: Sequence[Sequence[Any]], taken: Sequence[Sequence[Any]]) -> None:
        self.hub.post(sent, taken)

    def gather(self, own: Any, everyone: Any) -> None:
        self.hub.gather(own, everyone)


def over_hub(
    size: int, work: Callable[[NcclCommunicator], Any], *, room: int = 1 << 16
) -> list[Any]:
    """Run `work` once for each rank, all at once, with a hub of buffers of so many bytes."""
    ways = {(a, b): queue.Queue[Any]() for a in range(size) for b in range(size)}
    segments = [np.zeros(segment_size(size, room), np.uint8) for _ in range(size)]
    return on_ranks(
        size, lambda comm: work(NcclCommunicator(comm, ThreadHubLinks(comm, ways, segments, room)))
    )


def over_links(
    size: int, work: Callable[[NcclCommunicator], Any], *, capacity: int = 0
) -> list[Any]:
    """Run `work` once for each rank, all at once, with links between them.

    With a `capacity`, kernels exchange messages of so many vertices themselves.
    """
    ways = {(a, b): queue.Queue[Any]() for a in range(size) for b in range(size)}
    shared = ThreadWindow(size, capacity) if capacity else None
    return on_ranks(
        size, lambda comm: work(NcclCommunicator(comm, ThreadLinks(comm, ways, shared)))
    )


def with_ordered_ghosts(shard: ShardGraph) -> ShardGraph:
    """Lay a shard out as one built on a GPU, with ghosts in their owners' order."""
    graph, _, boundaries = shard.laid_out()
    owned, size = shard.owned, graph.size
    ranges = [(first - owned, last - owned) for first, last in shard.ghosts]
    held = [np.sort(boundary) for boundary in boundaries]
    order = order_ghosts(shard.comm, ranges, list(boundaries))
    numbers = np.array(graph.numbers)
    numbers[owned:] = numbers[owned:][order]
    moved = np.arange(size, dtype=numbers.dtype)
    moved[owned + order] = moved[owned:].copy()
    positions = np.empty_like(numbers)
    positions[numbers] = np.arange(size)
    offsets, indices = graph.csc
    indices = moved[indices]
    rows = np.repeat(np.arange(size), np.diff(offsets))
    within = np.lexsort((indices, rows))
    again = DeviceGraph(
        device(),
        VertexOrder(numbers, positions, offsets),
        np.ascontiguousarray(indices[within]),
        {name: graph.values(name)[within] for name in graph.edge_attributes},
        undirected=graph.undirected,
        names=graph.edge_attributes,
    )
    whole = np.asarray(shard.positions, held[0].dtype if held else np.int64)
    shard.kept["device"] = again, whole[numbers], held
    return shard


def share(graph: Graph, comm: ThreadCommunicator, cuts: Any = None) -> ShardGraph:
    """Cut a rank's shard out of a whole graph."""
    n = graph.number_of_vertices
    if cuts is None:
        cuts = [n * rank // comm.size for rank in range(comm.size + 1)]
    return shard_of(graph, comm, Owners(np.asarray(cuts, np.int64), comm.rank))
