"""A communicator for ranks with a GPU each: they exchange arrays by NCCL.

A collective exchanges messages over the control channel and then, if there are arrays, their
contents by NCCL.  Arrays on the GPU are sent from there and arrive there.  Small host arrays are
part of the message.
"""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import msgpack  # type: ignore[import-untyped]
import numpy as np

from cugraph_ws.dask.gpu_window import GpuWindow, first_serial, open_window
from cugraph_ws.dask.heartbeat import Heartbeat
from cugraph_ws.errors import WorkerLostError
from cugraph_ws.runtime.communicator import Communicator, Links, plain
from cugraph_ws.runtime.device import device

if TYPE_CHECKING:
    from cugraph_ws.dask.worker import DaskCommunicator

__all__ = ["NcclCommunicator", "NcclLinks"]

INLINE = 1 << 14  # bytes of host arrays within one message
KIND = re.compile(r"[<>|=]?[biufc?]\d*")  # numeric dtypes, as NumPy writes them
SPIN = 2e-3  # seconds of waiting without a pause; then a thread lets others run
PAUSE = 5e-5  # seconds
LOOK = 0.1  # seconds between two checks for errors while links are made
PATIENCE = 5.0  # seconds until links are aborted although a thread still calls them


class NcclLinks:
    """NCCL links between the GPUs of a communicator's ranks; making them is collective.

    Parameters
    ----------
    comm : DaskCommunicator
        Exchanges the NCCL id.
    addresses : sequence of str
        The workers, by rank.

    Raises
    ------
    WorkerLostError
        If a rank is lost before the links are made.

    Attributes
    ----------
    check : callable
        Raises if the run cannot go on; called while waiting.
    alive : bool
        Whether the links can still be used.
    window : GpuWindow or None
        Memory of all ranks' GPUs that each can address.
    """

    def __init__(self, comm: DaskCommunicator, addresses: Sequence[str]) -> None:
        from cupy.cuda import Event, get_current_stream, nccl

        name = comm.allgather(bytes(nccl.get_unique_id()) if comm.rank == 0 else b"")[0]
        self._nccl = nccl
        self._stream = get_current_stream
        self._event = Event(disable_timing=True)
        self.check: Callable[[], None] = comm.check
        self.alive = True
        self._lost: Exception | None = None  # why the links can no longer be used
        self._calling, self._ending = threading.Lock(), threading.Lock()
        self._links: Any = None
        self.window: GpuWindow | None = None
        self._heartbeat = Heartbeat(comm, addresses)
        self._heartbeat.watch(self._fail)
        try:
            self._links = self._made(partial(nccl.NcclCommunicator, comm.size, name, comm.rank))
            self.window = open_window(comm)
        except BaseException:
            self.close()
            raise

    def _made(self, make: Callable[[], Any]) -> Any:
        """Return the result of `make`, called in a thread, since it may hang if a rank is lost."""
        from cupy.cuda import Device

        made: Future[Any] = Future()
        here = Device()  # a new thread would use the first one

        def work() -> None:
            try:
                with here:
                    made.set_result(make())
            except BaseException as error:
                made.set_exception(error)

        threading.Thread(target=work, name="cugraph_ws NCCL", daemon=True).start()
        while True:
            with suppress(TimeoutError):
                return made.result(LOOK)
            self._refuse_lost()
            self.check()

    # ------------------------------------------------------------------------------------- runs

    def are_free(self, run: str, here: bool, is_called: Callable[[], bool]) -> bool | None:
        """Return whether the GPUs of all ranks are free for a run; see `Heartbeat.are_free`."""
        return self._heartbeat.are_free(run, here, is_called)

    def begin(self, run: str) -> None:
        """Set the current run; collective."""
        if self.window is not None:
            self.window.serial = first_serial(run)
        self._heartbeat.begin(run)

    def end(self, *, failed: bool) -> None:
        """Leave the current run; if it has failed, other ranks stop waiting for this one."""
        self._heartbeat.end(failed=failed)

    # ----------------------------------------------------------------------------------- arrays

    def exchange(self, sent: Sequence[Sequence[Any]], taken: Sequence[Sequence[Any]]) -> None:
        """Send arrays and receive into others, as one NCCL group; wait until that is done."""
        self.post(sent, taken)
        self.wait(self.mark())

    def post(self, sent: Sequence[Sequence[Any]], taken: Sequence[Sequence[Any]]) -> None:
        """Queue sending arrays and receiving into others, as one NCCL group."""
        if not any(sent) and not any(taken):
            return
        with self._calling:
            self._refuse_lost()
            stream = self._stream().ptr
            send, receive, kind = self._links.send, self._links.recv, self._nccl.NCCL_INT8
            self._nccl.groupStart()
            try:
                for peer, (going, coming) in enumerate(zip(sent, taken, strict=True)):
                    for array in going:
                        send(array.data.ptr, array.nbytes, kind, peer, stream)
                    for array in coming:
                        receive(array.data.ptr, array.nbytes, kind, peer, stream)
            finally:
                self._nccl.groupEnd()

    def gather(self, own: Any, everyone: Any) -> None:
        """Queue an all-gather of an array."""
        with self._calling:
            self._refuse_lost()
            self._links.allGather(
                own.data.ptr, everyone.data.ptr, own.nbytes, self._nccl.NCCL_INT8,
                self._stream().ptr,
            )  # fmt: skip

    def swap(self, texts: Mapping[int, bytes]) -> dict[int, bytes]:
        """Send a message to each other rank, and return the message of each."""
        self._refuse_lost()
        return self._heartbeat.swap(texts, self._look)

    def _look(self) -> None:
        """Raise if a rank is lost or the run is abandoned."""
        self._refuse_lost()
        self.check()

    def mark(self) -> Any:
        """Return an event recorded after all that is queued so far."""
        self._event.record(self._stream())
        return self._event

    def wait(self, mark: Any) -> None:
        """Wait for the GPU; raise if a rank is lost meanwhile."""
        begun = time.perf_counter()
        while not mark.done and self._lost is None:
            if time.perf_counter() - begun < SPIN:
                continue
            time.sleep(PAUSE)
            try:
                self.check()
            except BaseException:
                self.alive = False
                self._abort()  # ends operations in progress
                raise
        self._refuse_lost()  # aborted operations also complete, without data

    def _refuse_lost(self) -> None:
        if self._lost is not None:
            raise type(self._lost)(*self._lost.args)

    # -------------------------------------------------------------------------------------- end

    def _fail(self, error: Exception) -> None:
        """End operations in progress; called from the heartbeat's thread."""
        self._lost = error
        self.alive = False
        self._abort()

    def _abort(self) -> None:
        """Abort the NCCL communicator; `destroy` would wait for lost ranks."""
        if self.window is not None:
            self.window.ring()
        with self._ending:
            links, self._links = self._links, None
            if links is None:
                return
            # No thread should be in a call; but one may hang there, waiting for a lost rank.
            calling = self._calling.acquire(timeout=PATIENCE)
            try:
                links.abort()
            finally:
                if calling:
                    self._calling.release()

    def close(self) -> None:
        """Close the heartbeat's connections and abort the NCCL communicator."""
        self.alive = False
        self._heartbeat.close()
        self._abort()
        window, self.window = self.window, None
        if window is not None:
            window.close()


class NcclCommunicator:
    """One rank's communicator over `Links`; see `cugraph_ws.runtime.communicator.Communicator`.

    Parameters
    ----------
    comm : Communicator
        The same rank's communicator over Dask, for its rank, size and stop requests.
    links : Links

    Attributes
    ----------
    links : Links
        For exchanges whose shapes all ranks know in advance.
    """

    on_device = True

    def __init__(self, comm: Communicator, links: Links) -> None:
        self.rank, self.size = comm.rank, comm.size
        self._comm, self.links = comm, links

    @property
    def request(self) -> str | None:
        """The stop request from outside the run, if there is one."""
        return self._comm.request

    @property
    def room(self) -> int | None:
        """Bytes that the worker may still allocate; see `DaskCommunicator`."""
        room: int | None = getattr(self._comm, "room", None)
        return room

    def allgather(self, value: Any) -> list[Any]:
        """Send a small value to every rank, and return all values, by rank."""
        own = plain(value)
        replies = self._exchange([(own, [])] * self.size)
        return [own if rank == self.rank else replies[rank][0] for rank in range(self.size)]

    def alltoall(self, buffers: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """Send each rank its arrays, and return those received; arrays on the GPU arrive there."""
        replies = self._exchange([(None, buffer) for buffer in buffers])
        return [
            list(buffers[rank]) if rank == self.rank else replies[rank][1]
            for rank in range(self.size)
        ]

    def _exchange(
        self, messages: Sequence[tuple[Any, Sequence[Any]]]
    ) -> list[tuple[Any, list[Any]]]:
        """Exchange messages, then the arrays that are not part of them."""
        outgoing = {
            rank: _Outgoing(value, buffer)
            for rank, (value, buffer) in enumerate(messages)
            if rank != self.rank
        }
        came = self.links.swap({rank: one.text for rank, one in outgoing.items()})
        incoming = {rank: _Incoming(came[rank]) for rank in outgoing}
        going: list[list[Any]] = [[] for _ in messages]
        coming: list[list[Any]] = [[] for _ in messages]
        for rank, one in outgoing.items():
            going[rank], coming[rank] = one.contents, incoming[rank].contents
        self._swap(going, coming)
        return [
            incoming[rank].unpack() if rank in incoming else (None, []) for rank in range(self.size)
        ]

    def _swap(self, sent: list[list[Any]], taken: list[list[Any]]) -> None:
        """Exchange arrays, if there are any; empty ones are not sent, as their shapes are known."""
        going, coming = (
            [[array for array in buffer if array.nbytes] for buffer in buffers]
            for buffers in (sent, taken)
        )
        if any(going) or any(coming):
            self.links.exchange(going, coming)


class _Outgoing:
    """What is sent to one rank.

    Attributes
    ----------
    text : bytes
        The message: the value, the dtypes and shapes of all arrays, and the small host arrays.
    contents : list of device array
        The other arrays.
    """

    def __init__(self, value: Any, buffer: Sequence[Any]) -> None:
        xp = device().xp
        listed: list[tuple[str, tuple[int, ...], bytes | bool]] = []
        self.contents: list[Any] = []
        room = INLINE
        for array in buffer:
            on_host = isinstance(array, np.ndarray)
            if on_host and array.nbytes <= room and xp is not np:
                room -= array.nbytes
                listed.append((array.dtype.str, array.shape, array.tobytes()))
                continue
            listed.append((array.dtype.str, array.shape, on_host))
            self.contents.append(xp.ascontiguousarray(xp.asarray(array)))
        self.text: bytes = msgpack.packb((value, listed))


class _Incoming:
    """What is received from one rank; see `_Outgoing`."""

    def __init__(self, text: bytes) -> None:
        try:
            self._value, listed = msgpack.unpackb(text, use_list=False, strict_map_key=False)
            self._listed = [_checked(*one) for one in listed]
        except (ValueError, TypeError, msgpack.exceptions.UnpackException) as error:
            raise WorkerLostError(f"a worker has sent an invalid message ({error})") from error
        self.contents = [
            device().xp.empty(shape, kind)
            for kind, shape, held in self._listed
            if not isinstance(held, bytes)
        ]

    def unpack(self) -> tuple[Any, list[Any]]:
        """Return the value and the arrays, each on the host or the GPU as at its sender."""
        arrays = []
        contents = iter(self.contents)
        for kind, shape, held in self._listed:
            if isinstance(held, bytes):
                arrays.append(np.frombuffer(held, kind).reshape(shape))
            else:
                array = next(contents)
                arrays.append(device().to_host(array) if held else array)
        return self._value, arrays


def _checked(
    kind: str, shape: Sequence[int], held: bytes | bool
) -> tuple[np.dtype[Any], tuple[int, ...], bytes | bool]:
    """Check a message's entry for an array, and return its dtype, shape and contents."""
    if not KIND.fullmatch(kind) or not all(type(one) is int and one >= 0 for one in shape):
        raise ValueError(f"an array of {kind!r} and shape {shape!r}")
    dtype = np.dtype(kind)
    if isinstance(held, bytes) and len(held) != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"{len(held)} bytes of an array of {kind!r} and shape {shape!r}")
    return dtype, tuple(shape), held
