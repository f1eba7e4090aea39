"""Links chosen for each pair of ranks: one kind within a host, another between hosts.

Where two ranks of a host share a GPU, NCCL refuses a communicator of all ranks.  Then ranks of one host exchange
through its memory, and ranks of different hosts through the connections of their heartbeat, with copies in pinned memory.
If the memory of the host is only asked for, ranks of different hosts exchange by NCCL.

All ranks queue the messages of a collective in the same order, first within hosts, then between them, so no rank waits
for one that waits for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cugraph_ws.dask.gpu_links import GpuLinks
from cugraph_ws.dask.nccl import BY_NETWORK, NcclLinks
from cugraph_ws.errors import WorkerLostError
from cugraph_ws.runtime.device import device

if TYPE_CHECKING:
    from cugraph_ws.contract import HostLinks
    from cugraph_ws.dask.worker import DaskCommunicator

__all__ = ["PairedLinks", "StagedLinks"]

PIECE = 1 << 24  # most bytes of one message between two hosts
BY_STAGING = (
    1e-9  # seconds per byte through the memory of two hosts and TCP, until that is measured
)


class PairedLinks(GpuLinks):
    """Links of which some carry arrays within hosts, and others between them; see `GpuLinks`.

    Parameters
    ----------
    comm : DaskCommunicator
    addresses : sequence of str
        The workers, by rank.
    hosts : sequence of int
        A number for each rank's host.
    host_links : HostLinks
        Makes the links within hosts.
    by_nccl : bool
        Whether NCCL carries arrays between hosts; no two ranks of a host may share a GPU then.

    Raises
    ------
    EngineError
        If links within a host cannot be made; raised on all ranks.
    WorkerLostError
        If a rank is lost before the links are made.
    """

    def __init__(
        self,
        comm: DaskCommunicator,
        addresses: Sequence[str],
        hosts: Sequence[int],
        host_links: HostLinks,
        *,
        by_nccl: bool,
    ) -> None:
        self._addresses, self._hosts, self._rank = addresses, hosts, comm.rank
        self._host_links, self._by_nccl = host_links, by_nccl
        self._parts: list[GpuLinks] = []  # within this host, and between hosts
        super().__init__(comm, addresses)

    def _open(self, comm: DaskCommunicator) -> None:
        self._parts.append(self._host_links(comm, self._addresses, hosts=self._hosts, lead=self))
        between = NcclLinks if self._by_nccl else StagedLinks
        self._parts.append(between(comm, self._addresses, lead=self))
        self.byte = BY_NETWORK if self._by_nccl else BY_STAGING

    @property
    def byte(self) -> float:
        """Seconds per byte, at least `BY_NETWORK`: over faster links messages leave in two pieces, on two streams.

        The links within a host order their messages by one stream.
        """
        return self._byte

    @byte.setter
    def byte(self, seconds: float) -> None:
        self._byte = max(seconds, BY_NETWORK)

    def carriers(self) -> list[str]:
        """Return what carries arrays to each rank."""
        here, between = (part.carriers() for part in self._parts)
        own_host = self._hosts[self._rank]
        return [
            here[rank] if host == own_host else between[rank]
            for rank, host in enumerate(self._hosts)
        ]

    def post(self, outgoing: Sequence[Sequence[Any]], incoming: Sequence[Sequence[Any]]) -> None:
        """Queue sending arrays and receiving into others; returns after those of other hosts have come, if they are staged."""
        own_host = self._hosts[self._rank]
        for part, is_here in zip(self._parts, (True, False), strict=True):
            chosen = (
                [
                    arrays if (host == own_host) == is_here else ()
                    for host, arrays in zip(self._hosts, some, strict=True)
                ]
                for some in (outgoing, incoming)
            )
            part.post(*chosen)

    def gather(self, own: Any, everyone: Any) -> None:
        """Queue an all-gather of an array."""
        size, count = len(self._hosts), len(own)
        pieces = [everyone[rank * count : (rank + 1) * count] for rank in range(size)]
        pieces[self._rank][...] = own
        peers = [rank != self._rank for rank in range(size)]
        self.post(
            [[own] if is_peer else [] for is_peer in peers],
            [[piece] if is_peer else [] for piece, is_peer in zip(pieces, peers, strict=True)],
        )

    def _has_departed(self) -> bool:
        return bool(self._parts) and self._parts[0]._has_departed()

    def _abort(self) -> None:
        for part in self._parts:
            part._abort()

    def close(self) -> None:
        """Close the heartbeat's connections, and all links."""
        super().close()
        for part in self._parts:
            part.close()


class StagedLinks(GpuLinks):
    """Links through pinned memory of both hosts and the connections of `lead`; see `GpuLinks`.

    `post` waits until messages have come, since the host must send them.
    """

    byte = BY_STAGING
    carrier = "network"

    def _open(self, comm: DaskCommunicator) -> None:
        self._arriving: list[Any] = []  # pinned memory from which copies may be queued

    def _abort(self) -> None:
        """Nothing is queued that waits for other ranks."""

    def post(self, outgoing: Sequence[Sequence[Any]], incoming: Sequence[Sequence[Any]]) -> None:
        """Send arrays and receive others, and queue their copies to this GPU."""
        going, coming = ([_messages(arrays) for arrays in some] for some in (outgoing, incoming))
        for turn in range(max(map(len, [*going, *coming]), default=0)):
            # Both ends know whether a pair has a message in this turn, which may be empty in one direction.
            peers = [
                peer
                for peer in range(len(going))
                if turn < max(len(going[peer]), len(coming[peer]))
            ]
            sent, received = (
                {peer: messages[peer][turn] if turn < len(messages[peer]) else [] for peer in peers}
                for messages in (going, coming)
            )
            self._place(self.swap(self._texts(sent)), received)

    def _texts(self, sent: dict[int, list[Any]]) -> dict[int, bytes]:
        """Return the bytes of the arrays for each rank, once all work queued before is done."""
        texts = {peer: device().pinned(_size(pieces), np.uint8) for peer, pieces in sent.items()}
        for peer, pieces in sent.items():
            begin = 0
            for piece in pieces:
                device().copy_out(piece, texts[peer][begin : begin + piece.nbytes])
                begin += piece.nbytes
        self.wait(self.mark())
        self._arriving.clear()
        return {peer: text.tobytes() for peer, text in texts.items()}

    def _place(self, texts: dict[int, bytes], received: dict[int, list[Any]]) -> None:
        """Queue the copies of received bytes to device arrays."""
        for peer, pieces in received.items():
            if len(texts[peer]) != _size(pieces):
                raise WorkerLostError(
                    f"a worker has sent {len(texts[peer])} bytes instead of {_size(pieces)}"
                )
            pinned, begin = device().pinned(len(texts[peer]), np.uint8), 0
            pinned[:] = np.frombuffer(texts[peer], np.uint8)
            for piece in pieces:
                device().copy_in(pinned[begin : begin + piece.nbytes], piece)
                begin += piece.nbytes
            self._arriving.append(pinned)


def _messages(arrays: Sequence[Any]) -> list[list[Any]]:
    """Divide arrays, as bytes, into messages of at most `PIECE` bytes: the pieces of each."""
    messages: list[list[Any]] = []
    room = 0
    for array in arrays:
        octets, begin = array.reshape(-1).view(np.uint8), 0
        while begin < len(octets):
            if not room:
                messages.append([])
                room = PIECE
            piece = octets[begin : begin + room]
            messages[-1].append(piece)
            begin, room = begin + len(piece), room - len(piece)
    return messages


def _size(pieces: Sequence[Any]) -> int:
    return sum(piece.nbytes for piece in pieces)
