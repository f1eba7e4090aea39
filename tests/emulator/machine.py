"""A launch: one greenlet a thread, taken in turns by a seeded random order."""

from __future__ import annotations

import gc
import linecache
import sys
import threading
import time
from random import Random
from typing import Any

import greenlet

from . import warps
from .faults import Deadlock, DivergentBarrier, Fault, MissingLane
from .memory import now, wrap
from .primitives import Kernel

__all__ = ["Emulator"]

LOYALTIES = (0.0, 0.5, 0.95)  # how likely a warp that can run goes on running
STRIDES = (3, 40, 400)  # plain accesses between two switches, on average
SHORT = 2e-4  # seconds for which other launches may run
FOLLOWED = 12  # threads of a launch at most, by coverage
PATIENCE = 30_000  # times that a launch lets others run
_one_at_a_time = threading.Lock()
_ENDED = object()  # what a greenlet switches to the hub with when its thread has come to its end


class _Pool(threading.local):
    """Greenlets of an operating system's thread that have ended their work, for the next threads.

    A greenlet's first frame takes memory from the system, which costs more than most threads' work.
    """

    def __init__(self) -> None:
        self.idle: list[Any] = []

    def take(self, hub: Any) -> Any:
        """Return a greenlet that runs one thread of the launch each time that it is switched to."""
        while self.idle:
            task = self.idle.pop()
            if task.parent is hub:
                return task
        return greenlet.greenlet(_serve, hub)


_pool = _Pool()


def _serve() -> None:
    hub = greenlet.getcurrent().parent
    while True:
        now.machine.body()
        hub.switch(_ENDED)


class Machine:
    """One launch, from its first thread to its last."""

    def __init__(
        self,
        kernel: Kernel,
        grid: int,
        block: int,
        arguments: list[Any],
        cooperative: bool,
        random: Random,
        shared: int = 0,
    ) -> None:
        self.kernel = kernel
        self.entry = kernel.function.__code__
        self.grid = grid
        self.block = block
        self.arguments = arguments
        self.cooperative = cooperative
        self.shared = shared
        self.random = random
        self.threads = grid * block
        self.stride = random.choice(STRIDES)
        self.exited = 0
        self.at_grid: list[warps.Lane] = []
        self.grid_site: Any = None
        self.callers: dict[tuple[int, ...], int] = {}  # numbers of what has called what meets
        self.blocks: dict[int, warps.Block] = {}  # those that run now
        self.coming = list(range(grid))
        self.random.shuffle(self.coming)
        self.ready: list[warps.Warp] = []
        self.handed_over = 0
        self.followed: warps.Lane | None = None  # by coverage
        self.to_follow = FOLLOWED
        self.hub = greenlet.getcurrent()

    # --------------------------------------------------------------- called from the threads

    def wake(self, lane: warps.Lane) -> None:
        """Let a thread run again, at its turn."""
        warp = lane.warp
        if not warp.ready:
            self.ready.append(warp)
        warp.ready.append(lane)

    def pause(self) -> None:
        """Let others go first."""
        self.wake(now.lane)
        self.hub.switch()

    def let_other_launches_run(self) -> None:
        """Let launches of other threads go on: those of other ranks, for which this one waits."""
        self.handed_over += 1
        if self.handed_over > PATIENCE:
            raise Deadlock("another launch is waited for, and does not write")
        held = now.lane, now.machine, now.fuel
        tracer = sys.gettrace()
        sys.settrace(None)
        _one_at_a_time.release()
        time.sleep(SHORT)
        _one_at_a_time.acquire()
        now.lane, now.machine, now.fuel = held
        sys.settrace(tracer)
        now.idle = 0

    def preempt(self) -> None:
        """Let others go first, between two plain accesses."""
        now.fuel = int(self.random.expovariate(1.0) * self.stride)
        now.idle += 1
        self.pause()

    # ----------------------------------------------------------------------------- the hub

    def run(self) -> None:
        """Run all threads to their ends, a few of them, one after the other, followed by coverage.

        Coverage keeps one stack of calls, and would have to ask at every event which greenlet it
        is in, in all tests.
        """
        tracer = sys.gettrace()
        if not type(tracer).__module__.startswith("coverage"):
            self._run(None)
            return
        sys.settrace(None)
        try:
            self._run(tracer)
        finally:
            sys.settrace(tracer)

    def _run(self, tracer: Any) -> None:
        resident = self.grid if self.cooperative else self.random.randint(1, self.grid)
        for _ in range(resident):
            self._start_block()
        ready = self.ready
        chance = self.random.random
        loyalty = self.random.choice(LOYALTIES)
        patience = 10_000 + min(1_000 * self.block * resident, 1_000_000)
        now.fuel = 0
        now.idle = 0
        take, idle = _pool.take, _pool.idle
        warp = None
        while ready:
            if warp is None or not warp.ready or chance() >= loyalty:
                warp = ready[int(chance() * len(ready))]
            lanes = warp.ready
            place = int(chance() * len(lanes))
            lane = lanes[place]
            lanes[place] = lanes[-1]
            lanes.pop()
            if not lanes:
                ready.remove(warp)
            now.lane = lane
            if tracer is not None and self._is_followed(lane):
                sys.settrace(tracer)
                ended = lane.task.switch()
                sys.settrace(None)
                task = None  # it stays one that is followed
            else:
                task = lane.task
                if task is None:
                    task = lane.task = take(self.hub)
                ended = task.switch()
            if ended is _ENDED:
                if task is not None:
                    idle.append(task)
                self._finish(lane)
                if self.followed is None and not self.to_follow:
                    tracer = None
            if now.idle > patience:
                raise Deadlock("all wait for something that nobody writes")
        self._look_for_stuck()

    def _is_followed(self, lane: warps.Lane) -> bool:
        if self.followed is None and self.to_follow and lane.task is None:  # it has not begun
            self.followed = lane
            self.to_follow -= 1
            lane.task = greenlet.greenlet(self.body, self.hub)
        return self.followed is lane

    def _start_block(self) -> None:
        index = self.coming.pop()
        block = self.blocks[index] = warps.Block(index, self.block)
        for warp in block.warps:
            self.ready.append(warp)
            warp.ready.extend(warp.lanes)

    def body(self) -> Any:
        """Run one thread."""
        self.kernel.function(*self.arguments)
        return _ENDED

    def _finish(self, lane: warps.Lane) -> None:
        lane.task = lane.frame = None  # a frame would keep the arrays that the kernel was given
        self.exited += 1
        now.idle = 0
        if self.followed is lane:
            self.followed = None
        warps.leave(lane)
        if lane.block.exited == self.block:
            del self.blocks[lane.block.index]
            if self.coming:
                self._start_block()

    def _look_for_stuck(self) -> None:
        """Fail if threads wait and no thread is left to release them."""
        waiting = [lane for block in self.blocks.values() for lane in block.lanes if lane.waiting]
        for lane in waiting:
            if isinstance(lane.waiting, warps.Meeting):
                mask = f"{lane.waiting.mask:#010x}"
                raise MissingLane(f"{lane.waiting.name} with mask {mask}: not all come", lane)
        if waiting:
            elsewhere = {lane.at: lane for lane in waiting}
            places = ", ".join(lane.where() for lane in elsewhere.values())
            raise DivergentBarrier(
                f"a barrier that not all come to: {places}; {self.exited} have exited", waiting[0]
            )

    def stop(self) -> None:
        """Unwind the threads that have not come to their ends."""
        now.lane = None
        for block in self.blocks.values():
            for lane in block.lanes:
                lane.frame = None
                if lane.task is not None and not lane.task.dead:
                    lane.task.throw()

    def locate(self, error: BaseException) -> None:
        """Write into a fault where it happened; to any other error add a note of it."""
        lane = getattr(error, "lane", None) or now.lane
        place = _innermost(error.__traceback__) if lane is now.lane else None
        frame = None if lane is None or lane.task is None else lane.task.gr_frame
        if place is None and frame is not None:
            while "__emulated__" not in frame.f_globals:
                frame = frame.f_back
            place = frame.f_code.co_filename, frame.f_lineno
        if place is None:
            return
        path, line = place
        if isinstance(error, Fault):
            error.kernel, error.path, error.line = self.kernel.__name__, path, line
            error.block, error.thread = lane.block.index, lane.thread
            error.text = linecache.getline(path, line).strip()
        else:
            error.add_note(
                f"in {self.kernel.__name__}, {path}:{line}, block {lane.block.index}, "
                f"thread {lane.thread}"
            )


def _innermost(trace: Any) -> tuple[str, int] | None:
    """Return file and line of the innermost kernel code that an error came through."""
    place = None
    while trace is not None:
        if "__emulated__" in trace.tb_frame.f_globals:
            place = trace.tb_frame.f_code.co_filename, trace.tb_lineno
        trace = trace.tb_next
    return place


class Emulator:
    """Launches kernels on the CPU.

    Parameters
    ----------
    seed : int
        Of the order in which threads go; the same seed, the same order.
    """

    def __init__(self, seed: int = 0) -> None:
        self.random = Random(seed)

    def launch(
        self,
        kernel: Any,
        grid: int,
        block: int,
        args: tuple[Any, ...] = (),
        cooperative: bool = False,
        shared: int = 0,
    ) -> None:
        """Run a kernel to its end; arrays are written in place.

        Parameters
        ----------
        kernel : Kernel
            An entry point of a namespace that `load` gave.
        grid, block : int
            Blocks, and threads a block: a multiple of 32, at most 1,024.
        args : tuple
            One-dimensional arrays, numbers, and tuples of such.
        cooperative : bool
            Whether all blocks run at once, and may meet.
        shared : int
            Bytes of shared memory of a block beside what the kernel declares.

        Raises
        ------
        Fault
            What the kernel does wrong; see `faults`.
        TypeError, ValueError
            If the launch itself is wrong.
        """
        if not isinstance(kernel, Kernel):
            raise TypeError(f"{kernel!r} is no kernel")
        if grid < 1 or block < 32 or block > 1024 or block % 32:
            raise ValueError(f"a grid of {grid} blocks of {block} threads")
        bound = kernel.signature.bind(*args)
        bound.apply_defaults()
        with _one_at_a_time:
            machine = Machine(
                kernel, int(grid), int(block), wrap(dict(bound.arguments)), cooperative, self.random,
                int(shared),
            )  # fmt: skip
            now.machine = machine
            collects = gc.isenabled()
            gc.disable()  # it would look again and again at what is known of every element
            try:
                machine.run()
            except Exception as error:
                machine.locate(error)
                raise
            finally:
                machine.stop()
                now.machine = None
                if collects:
                    gc.enable()
