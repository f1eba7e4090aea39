"""Split the time of a run's supersteps into computation and communication, as in the paper's Figure 9.

On every worker events are recorded on the GPU before and after what a superstep computes: the launches
of `superstep`, and of `begin_next`, which queues the first part of the superstep after it.  While sends are
queued between the two parts of a superstep (`midway`), a GPU that waits for the host does not compute.

* A superstep's *computing* is the time of the rank that computes longest.  It includes the microseconds in which
  the host queues a launch while the GPU is idle.
* Its *communication* is the rest of its wall time: packing, sending, unpacking, the exchange, and what the
  host does between supersteps.

Messages sent on another stream during computation count as communication only while the computation waits for
them.  These runs are separate: their times appear in no other table.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

Event = Any  # CuPy's


@dataclass(frozen=True)
class Breakdown:
    """The time of a run's supersteps, in seconds.

    Attributes
    ----------
    wall : float
        Seconds of all supersteps, from the trace.
    computing : float
        Seconds of computation of the slowest rank in each superstep, summed.
    """

    wall: float
    computing: float

    @property
    def communication(self) -> float:
        """Seconds that are not computation."""
        return max(0.0, self.wall - self.computing)  # the GPU's clock is not the host's


# ----------------------------------------------------------------------------------- on a worker


class Watch:
    """Records events before and after the computation of one worker's supersteps.

    Parameters
    ----------
    record : callable
        Returns an event that has been recorded on the current stream.
    """

    def __init__(self, record: Callable[[], Event]) -> None:
        self._record = record
        self._spans: list[tuple[int, Event, Event]] = []  # superstep, begin, end
        self._ahead: dict[Any, tuple[Event, Event]] = {}  # by executor: its next superstep's part

    def superstep(self, plain: Callable[..., None], executor: Any, choice: Any, sums: Any) -> None:
        """Call an executor's `superstep`, and record events around its computation."""
        spans = []
        if executor in self._ahead:
            spans.append(self._ahead.pop(executor))
        midway = executor.midway
        begun = self._record()

        def aside() -> None:
            nonlocal begun
            spans.append((begun, self._record()))
            midway()
            begun = self._record()

        if midway is not None:
            executor.midway = aside
        plain(executor, choice, sums)
        if executor.midway is aside:  # without vertices it is not called
            executor.midway = midway
        spans.append((begun, self._record()))
        self._spans += [(choice.number, *span) for span in spans]

    def begin_next(self, plain: Callable[..., None], executor: Any) -> None:
        """Call an executor's `begin_next`; its computation counts when the superstep continues."""
        begun = self._record()
        plain(executor)
        self._ahead[executor] = begun, self._record()

    def seconds(self, elapsed: Callable[[Event, Event], float]) -> dict[int, float]:
        """Return the seconds of computation by superstep; of a launch of several, by its first one.

        Parameters
        ----------
        elapsed : callable
            Returns the milliseconds between two events.
        """
        total: defaultdict[int, float] = defaultdict(float)
        for number, before, after in self._spans:
            total[number] += elapsed(before, after) / 1e3
        return dict(total)


def watched(watch: Watch) -> ExitStack:
    """Watch all executors of this process until the returned stack is closed."""
    from cugraph_ws.backends.cuda.executor import CudaExecutor
    from cugraph_ws.backends.cuda.frontier import CudaFrontierExecutor
    from cugraph_ws.backends.cuda.partitioned_frontier import CudaPartitionedFrontierExecutor
    from cugraph_ws.backends.cuda.worklist_pull import CudaWorklistExecutor

    def superstep(plain: Callable[..., None]) -> Callable[..., None]:
        return lambda executor, choice, sums: watch.superstep(plain, executor, choice, sums)

    def begin_next(plain: Callable[..., None]) -> Callable[..., None]:
        return lambda executor: watch.begin_next(plain, executor)

    stack = ExitStack()
    # None of them calls another one's.
    for kind in (
        CudaExecutor,
        CudaPartitionedFrontierExecutor,
        CudaFrontierExecutor,
        CudaWorklistExecutor,
    ):
        stack.enter_context(patch.object(kind, "superstep", superstep(vars(kind)["superstep"])))
    plain = CudaExecutor.begin_next
    stack.enter_context(patch.object(CudaExecutor, "begin_next", begin_next(plain)))
    return stack


_at_work: list[tuple[Watch, ExitStack]] = []  # at most one in a process


def begin() -> None:
    """Begin to watch what this worker's supersteps compute."""
    import cupy

    def record() -> Event:
        event = cupy.cuda.Event()
        event.record(cupy.cuda.get_current_stream())
        return event

    watch = Watch(record)
    _at_work.append((watch, watched(watch)))


def end() -> dict[int, float]:
    """Stop watching; return the seconds of computation of each superstep since `begin`."""
    import cupy

    watch, stack = _at_work.pop()
    stack.close()
    cupy.cuda.Device().synchronize()
    return watch.seconds(cupy.cuda.get_elapsed_time)


# --------------------------------------------------------------------------------- on the client


def breakdown(client: Any, run: Callable[[], Any]) -> Breakdown:
    """Split the time of one run's supersteps.

    Parameters
    ----------
    client : Client
        Of the workers that run it.
    run : callable
        Returns the result.
    """
    client.run(begin)
    try:
        trace = run().trace
    finally:
        ranks = client.run(end)
    return Breakdown(float(trace["milliseconds"].sum()) / 1e3, slowest([*ranks.values()]))


def slowest(ranks: Sequence[Mapping[int, float]]) -> float:
    """Return the sum over supersteps of the slowest rank's computation, in seconds.

    Parameters
    ----------
    ranks : sequence of mapping of int to float
        Seconds by number of the superstep; a rank need not have been in all of them.
    """
    numbers = {number for seconds in ranks for number in seconds}
    return sum(max(seconds.get(number, 0.0) for seconds in ranks) for number in sorted(numbers))
