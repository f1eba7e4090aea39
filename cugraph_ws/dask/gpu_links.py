"""Links between the GPUs of a communicator's ranks: the base class, whatever arrays are sent by."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from cugraph_ws.dask.heartbeat import Heartbeat
from cugraph_ws.runtime.communicator import RunAbandonedError

if TYPE_CHECKING:
    from cugraph_ws.dask.worker import DaskCommunicator

__all__ = ["GpuLinks"]

SPIN = 2e-3  # seconds of waiting without pauses; after that, other threads may run
PAUSE = 5e-5  # seconds of a pause
LOOK = 0.1  # seconds between two checks for errors while links are made


class GpuLinks:
    """Links between GPUs, watched by a heartbeat; making them is collective.

    Parameters
    ----------
    comm : DaskCommunicator
    addresses : sequence of str
        The workers, by rank.
    lead : GpuLinks, optional
        Links that these are a part of: its heartbeat watches and its connections are used.

    Raises
    ------
    WorkerLostError
        If a rank is lost before the links are made.

    Attributes
    ----------
    check : callable
        Raises an error if the run cannot continue; called while waiting.
    alive : bool
        Whether the links can still be used.
    window : object or None
        Memory of all ranks' GPUs that each can address; see `cugraph_ws.contract.LinkedSupersteps`.
    exchange_class, byte
        See `Links`.
    """

    exchange_class: Any = None
    byte: float
    carrier: str  # what carries arrays: "peer", "host memory", "NCCL" or "network"

    def __init__(
        self, comm: DaskCommunicator, addresses: Sequence[str], lead: GpuLinks | None = None
    ) -> None:
        from cupy.cuda import Event, get_current_stream

        self._stream = get_current_stream
        self._event = Event(disable_timing=True)
        self._ranks = comm.rank, comm.size
        self._lead = lead
        self.check: Callable[[], None] = comm.check if lead is None else (lambda: lead.check())  # noqa: PLW0108 - each run sets another
        self.alive = True
        self._lost: Exception | None = None  # why the links can no longer be used
        self.window: Any = None
        if lead is None:
            self._heartbeat = Heartbeat(comm, addresses)
            self._heartbeat.watch(self._fail)
        else:
            self._heartbeat = lead._heartbeat
        try:
            self._open(comm)
        except BaseException:
            self.close()
            raise

    def _open(self, comm: DaskCommunicator) -> None:
        """Make the connections by which arrays are sent; collective."""
        raise NotImplementedError

    def _abort(self) -> None:
        """End operations in progress; called from any thread, and more than once."""
        raise NotImplementedError

    def post(self, outgoing: Sequence[Sequence[Any]], incoming: Sequence[Sequence[Any]]) -> None:
        """Queue sending arrays and receiving into others; see `Links.post`."""
        raise NotImplementedError

    def gather(self, own: Any, everyone: Any) -> None:
        """Queue an all-gather of an array; see `Links.gather`."""
        raise NotImplementedError

    def carriers(self) -> list[str]:
        """Return what carries arrays to each rank; see `Links.carriers`."""
        own_rank, size = self._ranks
        return ["" if rank == own_rank else self.carrier for rank in range(size)]

    def _made(self, make: Callable[[], Any]) -> Any:
        """Return the result of `make`, called in a thread, since it may hang if a rank is lost."""
        from cupy.cuda import Device

        result: Future[Any] = Future()
        gpu = Device()  # a new thread would use the first one

        def work() -> None:
            try:
                with gpu:
                    result.set_result(make())
            except BaseException as error:
                result.set_exception(error)

        threading.Thread(target=work, name="cugraph_ws NCCL", daemon=True).start()
        while True:
            with suppress(TimeoutError):
                return result.result(LOOK)
            self._refuse_lost()
            self.check()

    # ------------------------------------------------------------------------------------- runs

    def are_free(self, run: str, is_free: bool, is_called: Callable[[], bool]) -> bool | None:
        """Return whether the GPUs of all ranks are free for a run; see `Heartbeat.are_free`."""
        return self._heartbeat.are_free(run, is_free, is_called)

    def begin(self, run: str) -> None:
        """Set the current run; collective."""
        self._heartbeat.begin(run)

    def end(self, *, failed: bool) -> None:
        """Leave the current run; if it has failed, other ranks stop waiting for this one.

        Then links are made anew, since ranks may have queued different messages.  What waits for messages that will
        not come is ended at once: other work of this process, such as tasks of other libraries, would wait behind it.
        """
        if failed:
            self.alive = False
        self._heartbeat.end(failed=failed)
        if failed:
            self._abort()

    # ----------------------------------------------------------------------------------- arrays

    def exchange(
        self, outgoing: Sequence[Sequence[Any]], incoming: Sequence[Sequence[Any]]
    ) -> None:
        """Send arrays and receive into others; wait until that is done."""
        self.post(outgoing, incoming)
        self.wait(self.mark())

    def swap(self, texts: Mapping[int, bytes]) -> dict[int, bytes]:
        """Send a message to each other rank, and return the message of each."""
        self._refuse_lost()
        return self._heartbeat.swap(texts, self._look)

    def _look(self) -> None:
        """Raise if a rank is lost or the run is abandoned."""
        self._refuse_lost()
        self.check()

    def mark(self) -> Any:
        """Return an event recorded after all work queued so far."""
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
        if self._has_departed():
            self.alive = False
            self._abort()
            raise RunAbandonedError("another rank has left the run")

    def _has_departed(self) -> bool:
        """Return whether a rank has left and released this GPU's work, so that results are invalid."""
        return self._lead is not None and self._lead._has_departed()

    def _refuse_lost(self) -> None:
        if self._lead is not None:
            self._lead._refuse_lost()
        if self._lost is not None:
            raise type(self._lost)(*self._lost.args)

    # -------------------------------------------------------------------------------------- end

    def _fail(self, error: Exception) -> None:
        """End operations in progress; called from the heartbeat's thread."""
        self._lost = error
        self.alive = False
        self._abort()

    def close(self) -> None:
        """Close the heartbeat's connections, and end operations in progress."""
        self.alive = False
        if self._lead is None:
            self._heartbeat.close()
        self._abort()
