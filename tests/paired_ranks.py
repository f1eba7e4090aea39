"""Ranks as threads that pretend to be on several hosts: the library's paired links, with queues as connections."""

from __future__ import annotations

import queue
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from hub_workers import ProcessQueue
from thread_ranks import WAIT, ThreadCommunicator, on_ranks

from cugraph_ws.accelerators.hub import links as hub_links
from cugraph_ws.dask import gpu_links
from cugraph_ws.dask.nccl import NcclCommunicator
from cugraph_ws.dask.paired_links import PairedLinks

__all__ = ["QueueHeartbeat", "over_pairs", "pretended"]

Ways = dict[tuple[int, int], queue.Queue[Any]]


class QueueHeartbeat:
    """A heartbeat that watches nothing, and whose connections are queues."""

    def __init__(self, rank: int, ways: Ways) -> None:
        self._rank, self._ways = rank, ways
        self.sent: list[tuple[int, int]] = []  # to which rank, and bytes

    def watch(self, on_error: Callable[[Exception], None]) -> None:
        pass

    def begin(self, run: str) -> None:
        pass

    def end(self, *, failed: bool) -> None:
        pass

    def close(self) -> None:
        pass

    def swap(self, texts: Mapping[int, bytes], check: Callable[[], None]) -> dict[int, bytes]:
        check()
        for peer, text in texts.items():
            self.sent.append((peer, len(text)))
            self._ways[self._rank, peer].put(text)
        return {peer: self._ways[peer, self._rank].get(timeout=WAIT) for peer in texts}


@contextmanager
def pretended(size: int) -> Iterator[list[QueueHeartbeat]]:
    """Let links be made in threads: stand-ins for CuPy's events, the heartbeat and the GPU's queue."""
    ways = {(a, b): queue.Queue[Any]() for a in range(size) for b in range(size)}
    heartbeats: list[QueueHeartbeat] = []

    def heartbeat(comm: Any, addresses: Sequence[str]) -> QueueHeartbeat:
        heartbeats.append(QueueHeartbeat(comm.rank, ways))
        return heartbeats[-1]

    event = SimpleNamespace(record=lambda stream: None, done=True)
    cuda = SimpleNamespace(Event=lambda **_: event, get_current_stream=lambda: None)
    with (
        patch.dict(sys.modules, {"cupy.cuda": cuda}),
        patch.object(gpu_links, "Heartbeat", heartbeat),
        patch.object(hub_links, "StreamQueue", ProcessQueue),
        patch.object(hub_links, "free_bytes", lambda: 1 << 21),
        patch.object(ThreadCommunicator, "check", lambda comm: None, create=True),
    ):
        yield heartbeats


def over_pairs(hosts: Sequence[int], work: Callable[[NcclCommunicator], Any]) -> list[Any]:
    """Run `work` once for each rank, all at once; a number for each rank says on which host it pretends to be.

    Within a host arrays go through segments of shared memory, between hosts as bytes.
    """
    size = len(hosts)

    def one(comm: ThreadCommunicator) -> Any:
        addresses = [f"tcp://rank:{rank}" for rank in range(size)]
        links = PairedLinks(comm, addresses, hosts, hub_links.HubLinks, by_nccl=False)  # type: ignore[arg-type]
        try:
            result = work(NcclCommunicator(comm, links))
            comm.allgather(None)  # a rank that closes its links ends those of its host
            return result
        finally:
            links.close()

    with pretended(size):
        return on_ranks(size, one)
