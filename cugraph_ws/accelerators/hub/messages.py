"""The host hub: GPUs of one host exchange messages through buffers in host memory that all can address.

Each rank owns a segment of shared memory, with a buffer for messages to all ranks and one for each other
rank.  A buffer has two halves, used in turn (Khorasani, Gupta, Bhuyan, PACT 2015, Section IV-B: double
buffering), so that a rank fills one half while others still read the other.  A message has a serial
number, which selects its half.  The owner stores the number into a flag once the half is filled; a reader
stores it into its acknowledgement once it has read the half.  GPUs wait for both in their streams.  So a
message leaves its GPU once, whatever the number of readers, and no host waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, zip_longest
from typing import Any, Protocol

import numpy as np

__all__ = ["PAIR_SHARE", "HostHub", "Queue", "segment_size", "words_of"]

WORD = 8  # bytes of a flag
PAGE = 4096  # bytes
ALIGNED = 16  # arrays begin at multiples of so many bytes
PAIR_SHARE = 4  # a buffer for all ranks is so many times as large as one for a single rank
BESIDE = 1 << 16  # messages of at least so many bytes are copied while others arrive


class Queue(Protocol):
    """A GPU's queue of work, which can address the segments of all ranks."""

    def put(self, array: Any, owner: int, offset: int) -> None:
        """Queue a copy of a contiguous device array into a segment."""

    def take(self, source: Any, target: Any) -> None:
        """Queue a copy of an array in a segment to a contiguous device array."""

    def view(self, owner: int, offset: int, kind: Any, count: int) -> Any:
        """Return an array in a segment."""

    def signal(self, owner: int, word: int, value: int) -> None:
        """Queue a store of a value to one of a segment's words, after all work queued before."""

    def wait(self, owner: int, word: int, value: int) -> None:
        """Make work queued later wait until a word is at least `value`."""

    def fork(self) -> None:
        """Queue later work, until `back`, on a side stream, which first waits for all work queued so far."""

    def back(self) -> None:
        """End `fork`."""

    def join(self) -> None:
        """Make later work wait for the work on the side stream."""


def words_of(size: int) -> int:
    """Return the number of a segment's words: flags of all halves, and acknowledgements."""
    return 2 * (1 + size) + 2 * 2 * size


def _data_begin(size: int) -> int:
    """Return the bytes before a segment's buffers: its words, and a word that is set when its rank has left."""
    return -(-WORD * (words_of(size) + 1) // PAGE) * PAGE


def segment_size(size: int, room: int) -> int:
    """Return the bytes of a segment.

    Parameters
    ----------
    size : int
        Number of ranks.
    room : int
        Bytes of one half of the buffer for all ranks.
    """
    return _data_begin(size) + 2 * room + 2 * size * (room // PAIR_SHARE)


class HostHub:
    """One rank's side of the hub, whose messages are queued on the GPU.

    The host does not wait.  A message fits in one buffer.  Every rank receives or skips each message of every other rank, in
    the order in which they were sent.  If ranks send several, each publishes its next message before it receives the others'.

    Parameters
    ----------
    queue : Queue
    rank, size : int
    room : int
        Bytes of one half of the buffer for all ranks, a multiple of 1,024.
    """

    def __init__(self, queue: Queue, rank: int, size: int, room: int) -> None:
        self.room, self._queue = room, queue
        self._rank, self._size = rank, size
        self._begin, self._pair_room = _data_begin(size), room // PAIR_SHARE
        self._sent = [0] * (1 + size)  # messages sent, by buffer: for all, then for each rank
        self._seen = [0] * size  # messages for all that were received or skipped, by owner
        self._got = [0] * size  # messages received for this rank alone, by owner
        # By half and reader: the last message for all that the reader receives
        self._awaited = [[0] * size for _ in range(2)]

    # --------------------------------------------------------------------------- messages to all

    def publish(self, arrays: Sequence[Any], readers: Sequence[int]) -> None:
        """Queue a copy of device arrays to this rank's outbox, once for all readers.

        The arrays must be neither modified nor freed before `join`.

        Parameters
        ----------
        arrays : sequence of device array
        readers : sequence of int
            The ranks that receive the message; all others skip it.
        """
        beside = sum(array.nbytes for array in arrays) >= BESIDE
        if beside:
            self._queue.fork()
        serial = self._sent[0] = self._sent[0] + 1
        half = serial % 2
        for reader, last in enumerate(self._awaited[half]):
            if last:
                self._queue.wait(self._rank, self._ack(reader, half), last)
                self._awaited[half][reader] = 0
        offsets = _starts([array.nbytes for array in arrays])
        for array, offset in zip(arrays, offsets, strict=True):
            self._queue.put(array, self._rank, self._buffer(half) + offset)
        self._queue.signal(self._rank, half, serial)
        for reader in readers:
            self._awaited[half][reader] = serial
        if beside:
            self._queue.back()

    def receive(self, owner: int, kinds: Sequence[tuple[Any, int]]) -> list[Any]:
        """Wait, on the GPU, for a rank's next message, and return its arrays.

        Parameters
        ----------
        owner : int
            The rank.
        kinds : sequence of (dtype, int)
            Dtype and length of each array.

        Returns
        -------
        list of device array
            In host memory; valid until `release`.
        """
        self.skip(owner)
        serial = self._seen[owner]
        self._queue.wait(owner, serial % 2, serial)
        offsets = _starts([np.dtype(kind).itemsize * count for kind, count in kinds])
        return [
            self._queue.view(owner, self._buffer(serial % 2) + offset, kind, count)
            for (kind, count), offset in zip(kinds, offsets, strict=True)
        ]

    def copy(self, received: Any, target: Any) -> None:
        """Queue a copy of a received array to a device array."""
        self._queue.take(received, target)

    def release(self, owner: int) -> None:
        """Let a rank reuse the buffer of the last message received from it."""
        serial = self._seen[owner]
        self._queue.signal(owner, self._ack(self._rank, serial % 2), serial)

    def skip(self, owner: int) -> None:
        """Skip a rank's next message."""
        self._seen[owner] += 1

    def join(self) -> None:
        """Make later work on the GPU wait until all published arrays have been copied."""
        self._queue.join()

    # ------------------------------------------------------------------------- messages to a rank

    def post(self, outgoing: Sequence[Sequence[Any]], incoming: Sequence[Sequence[Any]]) -> None:
        """Queue sending arrays to each rank and receiving into others; see `Links.post`."""
        going, coming = ([self._pieces(arrays) for arrays in some] for some in (outgoing, incoming))
        # In each turn all pieces are sent before the first is received, so no rank waits for itself.
        beside = sum(piece.nbytes for some in going for piece in some) >= BESIDE
        sending, receiving = zip_longest(*going), zip_longest(*coming)
        for out, into in zip_longest(sending, receiving, fillvalue=()):
            if beside:
                self._queue.fork()
            for peer, piece in enumerate(out):
                if piece is not None:
                    self._send(peer, piece)
            if beside:
                self._queue.back()
            for peer, piece in enumerate(into):
                if piece is not None:
                    self._fill(peer, piece)
        self._queue.join()

    def gather(self, own: Any, everyone: Any) -> None:
        """Queue an all-gather of an array, which is at most as long as a buffer; see `Links.gather`."""
        peers = [rank for rank in range(self._size) if rank != self._rank]
        count = len(own)
        self.publish([own], peers)
        everyone[self._rank * count : (self._rank + 1) * count] = own
        for rank in peers:
            (received,) = self.receive(rank, [(own.dtype, count)])
            self.copy(received, everyone[rank * count : (rank + 1) * count])
            self.release(rank)
        self.join()

    def _pieces(self, arrays: Sequence[Any]) -> list[Any]:
        """Return arrays as bytes, in pieces that fit into a buffer."""
        some = [array.reshape(-1).view(np.uint8) for array in arrays if array.nbytes]
        room = self._pair_room
        return [octets[at : at + room] for octets in some for at in range(0, len(octets), room)]

    def _send(self, peer: int, piece: Any) -> None:
        serial = self._sent[1 + peer] = self._sent[1 + peer] + 1
        half = serial % 2
        if serial > 2:
            self._queue.wait(self._rank, self._pair_ack(peer, half), serial - 2)
        self._queue.put(piece, self._rank, self._pair_buffer(peer, half))
        self._queue.signal(self._rank, 2 * (1 + peer) + half, serial)

    def _fill(self, owner: int, piece: Any) -> None:
        serial = self._got[owner] = self._got[owner] + 1
        half, rank = serial % 2, self._rank
        self._queue.wait(owner, 2 * (1 + rank) + half, serial)
        received = self._queue.view(owner, self._pair_buffer(rank, half), np.uint8, len(piece))
        self._queue.take(received, piece)
        self._queue.signal(owner, self._pair_ack(rank, half), serial)

    # ---------------------------------------------------------------------------------- layout

    def _ack(self, reader: int, half: int) -> int:
        return 2 * (1 + self._size) + 2 * reader + half

    def _pair_ack(self, reader: int, half: int) -> int:
        return 2 * (1 + self._size) + 2 * (self._size + reader) + half

    def _buffer(self, half: int) -> int:
        return self._begin + half * self.room

    def _pair_buffer(self, peer: int, half: int) -> int:
        return self._begin + 2 * self.room + (2 * peer + half) * self._pair_room


def _starts(sizes: Sequence[int]) -> list[int]:
    """Return the offsets in a buffer of arrays of the given numbers of bytes."""
    return [0, *accumulate(-(-nbytes // ALIGNED) * ALIGNED for nbytes in sizes)][: len(sizes)]
