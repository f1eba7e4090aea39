"""A crew whose members have a GPU each: arrays that they give each other go by NCCL.

A meeting is one exchange of letters, which no GPU sees, and, if there are arrays, one of contents.  Arrays
on the GPU come from there and arrive there; small ones of the host travel within the letter.
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

from cugraph_ws.dask.heartbeat import Lifelines
from cugraph_ws.errors import WorkerLostError
from cugraph_ws.runtime.communicator import Communicator, Links, plain
from cugraph_ws.runtime.device import device

if TYPE_CHECKING:
    from cugraph_ws.dask.worker import DaskCommunicator

__all__ = ["NcclCommunicator", "NcclLinks"]

INLINE = 1 << 14  # bytes of host arrays that go within a letter
KIND = re.compile(r"[<>|=]?[biufc?]\d*")  # dtypes of numbers, as NumPy writes them
SPIN = 2e-3  # seconds of waiting without a pause; after them a thread lets others run
PAUSE = 5e-5
LOOK = 0.1  # seconds between two looks whether links that are being made will ever be there
PATIENCE = 5.0  # seconds until links are ended under the hands of who calls them


class NcclLinks:
    """NCCL between the GPUs of a crew's members.

    Parameters
    ----------
    crew : DaskCommunicator
        By which the members find each other.
    addresses : sequence of str
        The workers of all members.

    Raises
    ------
    WorkerLostError
        If a member is gone before links are there.

    Attributes
    ----------
    check : callable
        Raises when the others no longer come; whoever waits calls it.
    alive : bool
        Whether they can still be used.
    """

    def __init__(self, comm: DaskCommunicator, addresses: Sequence[str]) -> None:
        from cupy.cuda import Event, get_current_stream, nccl

        name = comm.allgather(bytes(nccl.get_unique_id()) if comm.rank == 0 else b"")[0]
        self._nccl = nccl
        self._stream = get_current_stream
        self._event = Event(disable_timing=True)
        self.check: Callable[[], None] = comm.check
        self.alive = True
        self._lost: Exception | None = None  # why they can no longer be used
        self._calling, self._ending = threading.Lock(), threading.Lock()
        self._links: Any = None
        self._lifelines = Lifelines(comm, addresses)
        self._lifelines.watch(self._fail)
        try:
            self._links = self._made(partial(nccl.NcclCommunicator, comm.size, name, comm.rank))
        except BaseException:
            self.close()
            raise

    def _made(self, make: Callable[[], Any]) -> Any:
        """Return what is made in a thread: should a member be gone, that may never end."""
        from cupy.cuda import Device

        made: Future[Any] = Future()
        here = Device()  # threads begin with the first one

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
        """Tell whether the GPUs of all members are free for a run; see `Lifelines.are_free`."""
        return self._lifelines.are_free(run, here, is_called)

    def begin(self, run: str) -> None:
        """Note which run goes on from now on; all members do."""
        self._lifelines.begin(run)

    def end(self, *, failed: bool) -> None:
        """Note that the run is over here; if it has failed, no other member waits for this one."""
        self._lifelines.end(failed=failed)

    # ----------------------------------------------------------------------------------- arrays

    def exchange(self, sent: Sequence[Sequence[Any]], taken: Sequence[Sequence[Any]]) -> None:
        """Send arrays and receive into others, all at once."""
        self.post(sent, taken)
        self.wait(self.mark())

    def post(self, sent: Sequence[Sequence[Any]], taken: Sequence[Sequence[Any]]) -> None:
        """Queue sending arrays and receiving into others, all at once."""
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
        """Queue showing all members an array."""
        with self._calling:
            self._refuse_lost()
            self._links.allGather(
                own.data.ptr, everyone.data.ptr, own.nbytes, self._nccl.NCCL_INT8,
                self._stream().ptr,
            )  # fmt: skip

    def swap(self, texts: Mapping[int, bytes]) -> dict[int, bytes]:
        """Give every other member a text, and return what each has given."""
        self._refuse_lost()
        return self._lifelines.swap(texts, self._look)

    def _look(self) -> None:
        """Raise if the others no longer come."""
        self._refuse_lost()
        self.check()

    def mark(self) -> Any:
        """Return an event behind all that is queued so far."""
        self._event.record(self._stream())
        return self._event

    def wait(self, mark: Any) -> None:
        """Wait for the GPU, but not for a member that is gone."""
        begun = time.perf_counter()
        while not mark.done and self._lost is None:
            if time.perf_counter() - begun < SPIN:
                continue
            time.sleep(PAUSE)
            try:
                self.check()
            except BaseException:
                self.alive = False
                self._abort()  # ends what is under way
                raise
        self._refuse_lost()  # what is under way ends then, with nothing that has come

    def _refuse_lost(self) -> None:
        if self._lost is not None:
            raise type(self._lost)(*self._lost.args)

    # -------------------------------------------------------------------------------------- end

    def _fail(self, error: Exception) -> None:
        """End what is under way; called from the thread that has noticed."""
        self._lost = error
        self.alive = False
        self._abort()

    def _abort(self) -> None:
        """Give the communicator back; others may be gone, for whom `destroy` would wait."""
        with self._ending:
            links, self._links = self._links, None
            if links is None:
                return
            # Nobody shall be calling it; but who calls may be waiting for a member that is gone.
            calling = self._calling.acquire(timeout=PATIENCE)
            try:
                links.abort()
            finally:
                if calling:
                    self._calling.release()

    def close(self) -> None:
        """Give everything back."""
        self.alive = False
        self._lifelines.close()
        self._abort()


class NcclCommunicator:
    """A member of a crew whose mail goes over `Links`; see `cugraph_ws.runtime.communicator.Communicator`.

    Parameters
    ----------
    crew : Communicator
        The same member on a slower way: it knows its rank, and what somebody outside wishes.
    links : Links

    Attributes
    ----------
    links : Links
        For those who know what they send without telling it first.
    """

    on_device = True

    def __init__(self, comm: Communicator, links: Links) -> None:
        self.rank, self.size = comm.rank, comm.size
        self._comm, self.links = comm, links

    @property
    def wish(self) -> str | None:
        """Why somebody outside wants the run to end."""
        return self._comm.wish

    @property
    def room(self) -> int | None:
        """Bytes that the worker may still take; see `DaskCommunicator`."""
        room: int | None = getattr(self._comm, "room", None)
        return room

    def allgather(self, value: Any) -> list[Any]:
        """Show every member a small value."""
        own = plain(value)
        told = self._meet([(own, [])] * self.size)
        return [own if rank == self.rank else told[rank][0] for rank in range(self.size)]

    def alltoall(self, boxes: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """Give every member arrays of its own; those on the GPU arrive on the GPU."""
        told = self._meet([(None, box) for box in boxes])
        return [
            list(boxes[rank]) if rank == self.rank else told[rank][1] for rank in range(self.size)
        ]

    def _meet(self, mail: Sequence[tuple[Any, Sequence[Any]]]) -> list[tuple[Any, list[Any]]]:
        """Exchange letters, then the arrays that did not fit in them."""
        letters = {
            rank: _Letter(value, box) for rank, (value, box) in enumerate(mail) if rank != self.rank
        }
        came = self.links.swap({rank: letter.text for rank, letter in letters.items()})
        replies = {rank: _Reply(came[rank]) for rank in letters}
        going: list[list[Any]] = [[] for _ in mail]
        coming: list[list[Any]] = [[] for _ in mail]
        for rank, letter in letters.items():
            going[rank], coming[rank] = letter.contents, replies[rank].contents
        self._swap(going, coming)
        return [
            replies[rank].mail() if rank in replies else (None, []) for rank in range(self.size)
        ]

    def _swap(self, sent: list[list[Any]], taken: list[list[Any]]) -> None:
        """Exchange arrays, if there are any; empty ones are not sent, their lengths have been told."""
        going, coming = (
            [[array for array in box if array.nbytes] for box in boxes] for boxes in (sent, taken)
        )
        if any(going) or any(coming):
            self.links.exchange(going, coming)


class _Letter:
    """What goes to one member.

    Attributes
    ----------
    text : bytes
        The value, kinds and shapes of all arrays, and those arrays that are small and of the host.
    contents : list of device array
        The others.
    """

    def __init__(self, value: Any, box: Sequence[Any]) -> None:
        xp = device().xp
        listed: list[tuple[str, tuple[int, ...], bytes | bool]] = []
        self.contents: list[Any] = []
        room = INLINE
        for array in box:
            on_host = isinstance(array, np.ndarray)
            if on_host and array.nbytes <= room and xp is not np:
                room -= array.nbytes
                listed.append((array.dtype.str, array.shape, array.tobytes()))
                continue
            listed.append((array.dtype.str, array.shape, on_host))
            self.contents.append(xp.ascontiguousarray(xp.asarray(array)))
        self.text: bytes = msgpack.packb((value, listed))


class _Reply:
    """What comes from one member; see `_Letter`."""

    def __init__(self, text: bytes) -> None:
        try:
            self._value, listed = msgpack.unpackb(text, use_list=False, strict_map_key=False)
            self._listed = [_checked(*one) for one in listed]
        except (ValueError, TypeError, msgpack.exceptions.UnpackException) as error:
            raise WorkerLostError(f"a worker has sent what is no message ({error})") from error
        self.contents = [
            device().xp.empty(shape, kind)
            for kind, shape, held in self._listed
            if not isinstance(held, bytes)
        ]

    def mail(self) -> tuple[Any, list[Any]]:
        """Return the value and the arrays, each where its sender had it."""
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
    """Return what a letter says of an array, having checked it: numbers of some shape."""
    if not KIND.fullmatch(kind) or not all(type(one) is int and one >= 0 for one in shape):
        raise ValueError(f"an array of {kind!r} and shape {shape!r}")
    dtype = np.dtype(kind)
    if isinstance(held, bytes) and len(held) != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"{len(held)} bytes of an array of {kind!r} and shape {shape!r}")
    return dtype, tuple(shape), held
