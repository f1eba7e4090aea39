"""Links between GPUs of one host that exchange through its memory; see `cugraph_ws.accelerators.hub.messages`.

GPUs need not address each other, and ranks may share one.  If ranks are on several hosts, those of each host have a hub.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

import cugraph_ws.accelerators.hub.stream_words as stream_words
from cugraph_ws.accelerators.hub.exchange import HubRankExchange
from cugraph_ws.accelerators.hub.messages import WORD, HostHub, segment_size, words_of
from cugraph_ws.accelerators.hub.segment import Segment, free_bytes, sweep
from cugraph_ws.dask.gpu_links import GpuLinks
from cugraph_ws.errors import EngineError
from cugraph_ws.runtime.communicator import Communicator
from cugraph_ws.runtime.device import device

if TYPE_CHECKING:
    from cugraph_ws.dask.worker import DaskCommunicator

__all__ = ["HubLinks", "StreamQueue"]

ROOM = (
    1 << 24
)  # bytes of half a buffer for all ranks: 0.3 ms of PCIe's time, so pieces overlap well
LEAST_ROOM = 1 << 16
FREE_SHARE = 2  # the segments of all ranks take at most half of the free shared memory
AGAIN = 0.01  # seconds between two releases of waiting work, once the links have ended
SOON = 5.0  # seconds after which that is done less often
LATER = 0.5  # seconds between two releases from then on
TRIALS = 4  # messages of all ranks before the first run: two for each half of a buffer
PATIENCE = 20.0  # seconds for these
BYTE = 4e-11  # seconds through host memory, until that is measured
PAUSE = 1e-4  # seconds between two looks at them


class StreamQueue:
    """The current GPU's stream, and the segments of all ranks; see `cugraph_ws.accelerators.hub.messages.Queue`.

    Parameters
    ----------
    segments : sequence of Segment
        By rank.
    """

    def __init__(self, segments: Sequence[Segment]) -> None:
        import cupy

        self._xp, self._segments = cupy, segments  # kept: these own the memory
        self._registered: list[int] = []
        self._addresses: list[int] = []
        try:
            for segment in segments:
                pointer = segment.bytes.ctypes.data
                stream_words.register(pointer, len(segment.bytes))
                self._registered.append(pointer)
                self._addresses.append(stream_words.address_on_gpu(pointer))
        except EngineError:
            self._unregister()
            raise
        cuda = cupy.cuda
        self._side = cuda.Stream(non_blocking=True)
        self._before, self._after = (cuda.Event(disable_timing=True) for _ in range(2))
        self._main: Any = None  # the stream that `back` returns to
        self._beside = False  # whether work was queued on the side stream since the last `join`

    @property
    def _stream(self) -> Any:
        return self._xp.cuda.get_current_stream() if self._main is None else self._side

    def put(self, array: Any, owner: int, offset: int) -> None:
        """Queue a copy of a contiguous device array into a segment."""
        self._copy(self._addresses[owner] + offset, array.data.ptr, array.nbytes)

    def take(self, source: Any, target: Any) -> None:
        """Queue a copy of an array in a segment to a contiguous device array."""
        self._copy(target.data.ptr, source.data.ptr, target.nbytes)

    def _copy(self, target: int, source: int, size: int) -> None:
        runtime = self._xp.cuda.runtime
        runtime.memcpyAsync(target, source, size, runtime.memcpyDefault, self._stream.ptr)

    def view(self, owner: int, offset: int, kind: Any, count: int) -> Any:
        """Return an array in a segment."""
        cuda, kind = self._xp.cuda, np.dtype(kind)
        memory = cuda.UnownedMemory(
            self._addresses[owner] + offset, count * kind.itemsize, self, cuda.Device().id
        )
        return self._xp.ndarray((count,), kind, cuda.MemoryPointer(memory, 0))

    def signal(self, owner: int, word: int, value: int) -> None:
        """Queue a store of a value to one of a segment's words."""
        stream_words.store_word(self._stream.ptr, self._addresses[owner] + WORD * word, value)

    def wait(self, owner: int, word: int, value: int) -> None:
        """Make work queued later wait until a word is at least `value`."""
        stream_words.wait_for_word(self._stream.ptr, self._addresses[owner] + WORD * word, value)

    def fork(self) -> None:
        """Queue later work, until `back`, on a side stream, which first waits for all work queued so far."""
        main = self._xp.cuda.get_current_stream()
        self._before.record(main)
        self._side.wait_event(self._before)
        self._main, self._beside = main, True

    def back(self) -> None:
        """End `fork`."""
        self._main = None

    def join(self) -> None:
        """Make later work wait for the work on the side stream."""
        if self._beside:
            self._after.record(self._side)
            self._xp.cuda.get_current_stream().wait_event(self._after)
            self._beside = False

    def close(self) -> None:
        """Wait for queued work, which must have been released, and free the segments."""
        with suppress(Exception):  # a broken context can release nothing
            self._xp.cuda.Device().synchronize()
        self._unregister()

    def _unregister(self) -> None:
        """Unlock the segments' pages: unmapped without that, they would stay locked."""
        for pointer in self._registered:
            with suppress(EngineError):
                stream_words.unregister(pointer)
        self._registered, self._addresses = [], []


class HubLinks(GpuLinks):
    """Links between GPUs of one host through its memory; see `GpuLinks`.

    Parameters
    ----------
    comm : DaskCommunicator
    addresses : sequence of str
        The workers, by rank.
    hosts : sequence of int, optional
        A number for each rank's host; all are on one if not given.  Ranks of other hosts are sent nothing.
    lead : GpuLinks, optional
        See `GpuLinks`.

    Raises
    ------
    EngineError
        If there is too little shared memory, or a GPU cannot address it; raised on all ranks.
    """

    hub: HostHub
    exchange_class = HubRankExchange
    byte = BYTE
    carrier = "host memory"

    def __init__(
        self,
        comm: DaskCommunicator,
        addresses: Sequence[str],
        hosts: Sequence[int] | None = None,
        lead: GpuLinks | None = None,
    ) -> None:
        self._segments: list[Segment] = []
        self._queue: StreamQueue | None = None
        own_host = None if hosts is None else hosts[comm.rank]
        # The ranks of this host, and this rank's place among them
        self._here = [rank for rank in range(comm.size) if hosts is None or hosts[rank] == own_host]
        self._rank, self._size = self._here.index(comm.rank), len(self._here)
        self._over, self._closed = threading.Event(), threading.Event()
        self._ending = threading.Lock()
        super().__init__(comm, addresses, lead)

    def _open(self, comm: DaskCommunicator) -> None:
        room, why = _room_of(comm), ""
        own_segment: Segment | None = None
        sweep()
        try:
            own_segment = Segment.new(segment_size(self._size, room))
        except OSError as error:
            why = f"a segment of {segment_size(self._size, room)} bytes cannot be made ({error})"
        try:
            names = comm.allgather("" if own_segment is None else own_segment.name)
            if own_segment is not None and all(names):
                why = self._map(own_segment, [names[rank] for rank in self._here])
            _agree(comm, why)
        finally:
            if own_segment is not None:
                own_segment.forget()
        assert self._queue is not None
        self.hub = HostHub(self._queue, self._rank, self._size, room)
        self._try(comm)

    def _map(self, own: Segment, names: Sequence[str]) -> str:
        """Map the segments of this host's ranks; return why that fails, or nothing."""
        try:
            for peer, name in enumerate(names):
                self._segments.append(own if peer == self._rank else Segment(name, len(own.bytes)))
            self._queue = StreamQueue(self._segments)
        except Exception as error:  # of the system, the driver or CuPy: all ranks must know
            return str(error)
        return ""

    def _try(self, comm: DaskCommunicator) -> None:
        """Exchange a few numbers before the first run; raise on all ranks if they do not arrive.

        A GPU that does not see what others store would wait in the first run for ever.
        """
        xp = device().xp
        numbers = np.arange(TRIALS * self._size, dtype=np.int64).reshape(TRIALS, self._size)
        own_numbers, everyone = xp.asarray(numbers[:, self._rank].copy()), xp.asarray(numbers - 1)
        why = ""
        try:
            for turn in range(TRIALS):
                self.hub.gather(own_numbers[turn : turn + 1], everyone[turn])
        except EngineError as error:
            why = str(error)
        _agree(comm, why)
        mark, until = self.mark(), time.monotonic() + PATIENCE
        while not mark.done and time.monotonic() < until:
            time.sleep(PAUSE)
            self._look()
        self._refuse_lost()  # what was released waited for nothing
        if not mark.done:
            why = f"no message has come within {PATIENCE:.0f} s"
        elif not (device().to_host(everyone) == numbers).all():
            why = "what arrives is not what was sent"
        _agree(comm, why)

    # ----------------------------------------------------------------------------------- arrays

    def post(self, outgoing: Sequence[Sequence[Any]], incoming: Sequence[Sequence[Any]]) -> None:
        """Queue sending arrays to ranks of this host and receiving into others."""
        self._refuse_lost()
        self.hub.post(*([some[rank] for rank in self._here] for some in (outgoing, incoming)))

    def gather(self, own: Any, everyone: Any) -> None:
        """Queue an all-gather of an array among the ranks of this host."""
        self._refuse_lost()
        self.hub.gather(own, everyone)

    def _has_departed(self) -> bool:
        """Return whether a rank has left: work that it has released did not wait for messages."""
        return any(self._words(rank)[-1] for rank in range(self._size))

    # -------------------------------------------------------------------------------------- end

    def _words(self, rank: int) -> Any:
        """Return a segment's words; the last one is not 0 once its rank has left."""
        count = words_of(self._size) + 1
        return self._segments[rank].bytes[: WORD * count].view(np.int64)

    def _abort(self) -> None:
        """Release all work that waits on this GPU, until the links are closed."""
        with self._ending:
            if self._over.is_set() or self._queue is None:
                return
            self._over.set()
        # First mark this rank as left, so that ranks that are released find the mark.
        self._words(self._rank)[-1] = 1
        for rank in range(self._size):  # zeros are valid as places
            if rank != self._rank:
                self._segments[rank].bytes[WORD * (words_of(self._size) + 1) :] = 0
        self._release()
        threading.Thread(target=self._go_on, name="cugraph_ws hub", daemon=True).start()

    def _go_on(self) -> None:
        """Release waiting work repeatedly, since other ranks' queued stores may lower the words again."""
        soon = time.monotonic() + SOON
        while not self._closed.wait(AGAIN if time.monotonic() < soon else LATER):
            self._release()

    def _release(self) -> None:
        """Release all work that waits on this GPU."""
        for rank in range(self._size):
            self._words(rank)[:-1] = stream_words.MOST

    def close(self) -> None:
        """Close the heartbeat's connections, and free the memory."""
        super().close()
        queue, self._queue = self._queue, None
        if queue is not None:
            queue.close()
        self._closed.set()


def _agree(comm: Communicator, why: str) -> None:
    """Raise on all ranks if one has a reason not to go on; collective."""
    reasons = [reason for reason in comm.allgather(why) if reason]
    if reasons:
        raise EngineError(f"GPUs cannot exchange through the host's memory: {reasons[0]}")


def _room_of(comm: Communicator) -> int:
    """Return the bytes of half a buffer that fit into the shared memory of all ranks; collective."""
    free = min(comm.allgather(free_bytes()))
    room = ROOM
    while room > LEAST_ROOM and comm.size * segment_size(comm.size, room) > free // FREE_SHARE:
        room //= 2
    return room
