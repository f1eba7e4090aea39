"""A communicator for ranks with a GPU each: they exchange arrays by NCCL.

A collective exchanges messages over the control channel and then, if there are arrays, their
contents by NCCL.  Arrays on the GPU are sent from the GPU and received on the GPU.  Small host arrays
are part of the message.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgpack  # type: ignore[import-untyped]
import numpy as np

from cugraph_ws.dask.gpu_links import GpuLinks
from cugraph_ws.errors import WorkerLostError
from cugraph_ws.runtime.communicator import Communicator, Links, plain
from cugraph_ws.runtime.device import device
from cugraph_ws.runtime.dispatch import provider

if TYPE_CHECKING:
    from cugraph_ws.dask.worker import DaskCommunicator

__all__ = ["NcclCommunicator", "NcclLinks"]

INLINE = 1 << 14  # bytes of host arrays within one message
KIND = re.compile(r"[<>|=]?[biufc?]\d*")  # numeric dtypes, as NumPy writes them
BY_NVLINK, BY_NETWORK = 4e-12, 1e-10  # seconds per byte between GPUs of one host, and between hosts
PATIENCE = 5.0  # seconds after which links are aborted even if a thread is still calling them


class NcclLinks(GpuLinks):
    """NCCL links between the GPUs of a communicator's ranks; see `GpuLinks`."""

    def __init__(
        self, comm: DaskCommunicator, addresses: Sequence[str], lead: GpuLinks | None = None
    ) -> None:
        self._calling, self._ending = threading.Lock(), threading.Lock()
        self._links: Any = None
        super().__init__(comm, addresses, lead)

    def _open(self, comm: DaskCommunicator) -> None:
        from cupy.cuda import nccl

        name = comm.allgather(bytes(nccl.get_unique_id()) if comm.rank == 0 else b"")[0]
        self._nccl = nccl
        self._links = self._made(partial(nccl.NcclCommunicator, comm.size, name, comm.rank))
        linked = provider("accelerators").linked_supersteps()
        self.window = None if linked is None else linked.open(comm)
        self.byte = BY_NETWORK if self.window is None else BY_NVLINK
        self.carrier = "NCCL" if self.window is None else "peer"

    def begin(self, run: str) -> None:
        """Set the current run; collective."""
        if self.window is not None:
            self.window.begin(run)
        super().begin(run)

    def post(self, outgoing: Sequence[Sequence[Any]], incoming: Sequence[Sequence[Any]]) -> None:
        """Queue sending arrays and receiving into others, as one NCCL group."""
        if not any(outgoing) and not any(incoming):
            return
        with self._calling:
            self._refuse_lost()
            stream = self._stream().ptr
            send, receive, kind = self._links.send, self._links.recv, self._nccl.NCCL_INT8
            self._nccl.groupStart()
            try:
                for peer, (going, coming) in enumerate(zip(outgoing, incoming, strict=True)):
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
        super().close()
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
        return self._comm.room

    def allgather(self, value: Any) -> list[Any]:
        """Send a small value to every rank, and return all values, by rank."""
        own_value = plain(value)
        replies = self._exchange([(own_value, [])] * self.size)
        return [own_value if rank == self.rank else replies[rank][0] for rank in range(self.size)]

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
        """Exchange messages, then the arrays that messages do not contain."""
        outgoing = {
            rank: _Outgoing(value, buffer)
            for rank, (value, buffer) in enumerate(messages)
            if rank != self.rank
        }
        received = self.links.swap({rank: message.text for rank, message in outgoing.items()})
        incoming = {rank: _Incoming(received[rank]) for rank in outgoing}
        going: list[list[Any]] = [[] for _ in messages]
        coming: list[list[Any]] = [[] for _ in messages]
        for rank, message in outgoing.items():
            going[rank], coming[rank] = message.contents, incoming[rank].contents
        self._swap(going, coming)
        return [
            incoming[rank].unpack() if rank in incoming else (None, []) for rank in range(self.size)
        ]

    def _swap(self, outgoing: list[list[Any]], incoming: list[list[Any]]) -> None:
        """Exchange arrays, if there are any; empty ones are not sent, as their shapes are known."""
        going, coming = (
            [[array for array in buffer if array.nbytes] for buffer in buffers]
            for buffers in (outgoing, incoming)
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
            self._listed = [_checked(*entry) for entry in listed]
        except (ValueError, TypeError, msgpack.exceptions.UnpackException) as error:
            raise WorkerLostError(f"a worker has sent an invalid message ({error})") from error
        self.contents = [
            device().xp.empty(shape, kind)
            for kind, shape, payload in self._listed
            if not isinstance(payload, bytes)
        ]

    def unpack(self) -> tuple[Any, list[Any]]:
        """Return the value and the arrays, each on the host or the GPU like at its sender."""
        arrays = []
        contents = iter(self.contents)
        for kind, shape, payload in self._listed:
            if isinstance(payload, bytes):
                arrays.append(np.frombuffer(payload, kind).reshape(shape))
            else:
                array = next(contents)
                arrays.append(device().to_host(array) if payload else array)
        return self._value, arrays


def _checked(
    kind: str, shape: Sequence[int], payload: bytes | bool
) -> tuple[np.dtype[Any], tuple[int, ...], bytes | bool]:
    """Check a message's entry for an array, and return its dtype, shape and contents."""
    if not KIND.fullmatch(kind) or not all(type(length) is int and length >= 0 for length in shape):
        raise ValueError(f"an array of {kind!r} and shape {shape!r}")
    dtype = np.dtype(kind)
    if isinstance(payload, bytes) and len(payload) != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"{len(payload)} bytes of an array of {kind!r} and shape {shape!r}")
    return dtype, tuple(shape), payload
