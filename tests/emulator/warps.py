"""Threads, and where they meet: warps at primitives, blocks and grids at barriers.

A meeting is of lanes that call the same primitive with the same mask at the same place, callers
included: what an inlined function does in two places are two places.  Of the primitives only
`sync_warp` orders memory; votes and shuffles imply no memory barrier (CUDA C++ Programming Guide,
warp functions).
"""

from __future__ import annotations

import sys
from typing import Any

from . import clocks
from .faults import BadMask, DivergentBarrier, MissingLane, NotCooperative, NotOnDevice
from .memory import now, place_of
from .scalars import Int64

__all__ = [
    "ALL", "FULL", "Block", "Lane", "Meeting", "Warp", "dynamic_array", "leave", "meet", "shared_array",
    "wait_block", "wait_grid",
]  # fmt: skip

ALL = 0xFFFFFFFF
FULL = Int64(ALL)  # the mask of all lanes, as kernels have it


class Lane:
    """One thread.

    Attributes
    ----------
    thread, lane : int
        Its number in its block and in its warp.
    clock, near, far
        What `clocks` keeps of it.
    heard, published
        What atomics told it since its last fence, and what it knew then, for atomics to tell.
    waiting : Meeting, Block, "grid" or None
        What it waits for.
    at : tuple of (code, int)
        The instruction where it does so.
    frame, callers
        The frame that met last, and a number for the instructions that called it.
    """

    __slots__ = (
        "at",
        "block",
        "callers",
        "clock",
        "far",
        "frame",
        "heard",
        "lane",
        "near",
        "published",
        "result",
        "task",
        "thread",
        "waiting",
        "warp",
    )

    def __init__(self, block: Block, warp: Warp, thread: int) -> None:
        self.block = block
        self.warp = warp
        self.thread = thread
        self.lane = thread % 32
        self.clock = 1
        self.near = block.nothing
        self.far: clocks.Knowledge = {}
        self.heard: dict[int, clocks.Knowledge] = {}
        self.published: clocks.Knowledge | None = None
        self.waiting: Any = None
        self.result: Any = None
        self.at: Any = None
        self.frame: Any = None
        self.callers = 0
        self.task: Any = None

    def hear(self, told: clocks.Knowledge) -> None:
        """Take note of what an atomic told; it counts from the next fence on."""
        self.heard[id(told)] = told
        if len(self.heard) > 64:
            together = clocks.join(self.heard.values())
            self.heard = {id(together): together}

    def published_with(self, told: clocks.Knowledge | None) -> clocks.Knowledge:
        """Return what the thread's last fence published, and what the location told already."""
        assert self.published is not None
        return self.published if told is None else clocks.join([told, self.published])

    def fence(self) -> None:
        """Know what atomics told, and publish what is known."""
        if self.heard:
            clocks.acquire(self, list(self.heard.values()))
            self.heard = {}
        self.published = clocks.publish(self)

    def where(self) -> str:
        """Say where the thread waits."""
        return f"thread {self.thread} waits at {place_of(*self.at)}"


class Warp:
    """32 threads of a block."""

    __slots__ = ("barred", "block", "exited", "lanes", "meetings", "ready")

    def __init__(self, block: Block, first: int) -> None:
        self.block = block
        self.lanes = [Lane(block, self, first + lane) for lane in range(32)]
        self.meetings: dict[Any, Meeting] = {}
        self.exited = 0  # a bit for each lane that has left
        self.barred = 0  # and for each that waits at a barrier
        self.ready: list[Lane] = []


class Block:
    """The threads of a block, its barrier, and its shared memory."""

    def __init__(self, index: int, threads: int) -> None:
        self.index = index
        self.nothing = [0] * threads
        self.warps = [Warp(self, first) for first in range(0, threads, 32)]
        self.lanes = [lane for warp in self.warps for lane in warp.lanes]
        self.waiting: list[Lane] = []
        self.site: Any = None
        self.exited = 0
        self.shared: dict[Any, Any] = {}
        self.shared_bytes = 0
        self.dynamic: dict[tuple[int, int], Any] = {}  # by first and last byte


class Meeting:
    """Lanes on their way to one call of a primitive."""

    __slots__ = ("arrived", "mask", "name", "values")

    def __init__(self, name: str, mask: int) -> None:
        self.name = name
        self.mask = mask
        self.arrived = 0
        self.values: dict[int, Any] = {}


def call_site(lane: Lane, frame: Any) -> tuple[int, int, int]:
    """Return the instructions that called, from `frame`'s up to the kernel's own.

    That is its code, its instruction, and a number for those that called it, which stay the same
    while it runs.
    """
    if lane.frame is not frame:
        lane.frame = frame
        lane.callers = _callers(frame)
    return id(frame.f_code), frame.f_lasti, lane.callers


def _callers(frame: Any) -> int:
    machine = now.machine
    entry = machine.entry
    calls = []
    while frame.f_code is not entry:
        frame = frame.f_back
        calls += id(frame.f_code), frame.f_lasti
    known: dict[tuple[int, ...], int] = machine.callers
    return known.setdefault(tuple(calls), len(known))


# ----------------------------------------------------------------------------------- warps


def meet(name: str, mask: Any, value: Any, finish: Any) -> Any:
    """Wait for the lanes of the mask; `finish` gives, of all values by lane, each lane's result."""
    lane = now.lane
    warp = lane.warp
    frame = sys._getframe(2)
    place = lane.lane
    if mask is FULL:
        bits = ALL
    else:
        if not isinstance(mask, int) or isinstance(mask, bool) or int(mask) >> 32 not in (0, -1):
            raise BadMask(f"{name}: {mask!r} is no mask of 32 lanes")
        bits = int(mask) & ALL
        if not bits >> place & 1:
            raise BadMask(f"{name}: lane {place} is not in its own mask {bits:#010x}")
    code, instruction, callers = call_site(lane, frame)
    key = (name, bits, code, instruction, callers)
    meetings = warp.meetings
    meeting = meetings.get(key)
    if meeting is None:
        meeting = meetings[key] = Meeting(name, bits)
    meeting.values[place] = value
    meeting.arrived |= 1 << place
    lane.waiting = meeting
    lane.at = frame.f_code, instruction
    if meeting.arrived == bits:
        del meetings[key]
        results = finish(meeting.values)
        members = [warp.lanes[place] for place in meeting.values]
        if name == "sync_warp":
            clocks.meet(members)
        if not warp.ready:
            now.machine.ready.append(warp)
        warp.ready += members
        for member in members:
            member.waiting = None
            member.result = results[member.lane]
        now.idle = 0
    elif warp.exited or warp.barred or len(meetings) > 1:
        _look_for_missing(lane, meeting)
    now.machine.hub.switch()
    return lane.result


def _look_for_missing(lane: Lane, meeting: Meeting) -> None:
    warp = lane.warp
    missing = meeting.mask & ~meeting.arrived
    if missing & warp.exited:
        gone = (missing & warp.exited).bit_length() - 1
        raise MissingLane(f"{meeting.name}: lane {gone} of mask {meeting.mask:#010x} has exited")
    elsewhere = warp.barred  # lanes at barriers or other meetings, which this one is to come to
    for other in warp.meetings.values():
        if other.mask >> lane.lane & 1:
            elsewhere |= other.arrived
    if missing & elsewhere:
        first = missing & elsewhere
        one = warp.lanes[(first & -first).bit_length() - 1]
        raise MissingLane(f"{meeting.name} with mask {meeting.mask:#010x}: {one.where()}")


def _awaited(lane: Lane, doing: str) -> None:
    """Fail if other lanes of the warp wait for this one, which goes elsewhere."""
    for meeting in lane.warp.meetings.values():
        if meeting.mask >> lane.lane & 1:
            other = next(one for one in lane.warp.lanes if one.waiting is meeting)
            raise MissingLane(
                f"{meeting.name} with mask {meeting.mask:#010x}: lane {lane.lane} {doing}", other
            )


# --------------------------------------------------------------------------------- barriers


def _come(name: str, lane: Lane, waiting: list[Lane], expected: Any, site: Any) -> None:
    _awaited(lane, f"waits at {name}")
    if waiting and expected != site:
        raise DivergentBarrier(f"{name}: {waiting[0].where()}, another barrier")


def wait_block() -> None:
    """Wait for the block; warps that have left altogether are not waited for."""
    lane = now.lane
    block = lane.block
    frame = sys._getframe(2)
    site = call_site(lane, frame)
    _come("sync_block", lane, block.waiting, block.site, site)
    block.site = site
    block.waiting.append(lane)
    lane.warp.barred |= 1 << lane.lane
    lane.waiting = block
    lane.at = (frame.f_code, frame.f_lasti)
    release_block(block)
    now.machine.hub.switch()


def release_block(block: Block) -> None:
    """Let the block go on if all of it is there."""
    if not block.waiting or len(block.waiting) + block.exited < len(block.lanes):
        return
    for warp in block.warps:
        if warp.exited not in (0, ALL):
            gone = warp.lanes[warp.exited.bit_length() - 1].thread
            other = next(lane for lane in block.waiting if lane.warp is warp)
            raise DivergentBarrier(f"sync_block: thread {gone} of the warp has exited", other)
    near = [lane.clock for lane in block.lanes]
    far = clocks.join(lane.far for lane in block.lanes)
    for lane in block.waiting:
        lane.near = near
        lane.far = far
        lane.clock += 1
        lane.waiting = None
        now.machine.wake(lane)
    block.waiting = []
    for warp in block.warps:
        warp.barred = 0
    now.idle = 0


def wait_grid() -> None:
    """Wait for all threads of the launch."""
    lane = now.lane
    machine = now.machine
    frame = sys._getframe(2)
    if not machine.cooperative:
        raise NotCooperative("sync_grid in a launch that is not cooperative")
    site = call_site(lane, frame)
    _come("sync_grid", lane, machine.at_grid, machine.grid_site, site)
    machine.grid_site = site
    machine.at_grid.append(lane)
    lane.warp.barred |= 1 << lane.lane
    lane.waiting = "grid"
    lane.at = (frame.f_code, frame.f_lasti)
    if len(machine.at_grid) == machine.threads:
        everyone = {
            block.index: [one.clock for one in block.lanes] for block in machine.blocks.values()
        }
        for one in machine.at_grid:
            one.near = everyone[one.block.index]
            one.far = everyone
            one.clock += 1
            one.waiting = None
            one.warp.barred = 0
            machine.wake(one)
        machine.at_grid = []
        now.idle = 0
    machine.hub.switch()


def leave(lane: Lane) -> None:
    """Count a thread that has come to its end.

    Raises
    ------
    MissingLane, DivergentBarrier
        If others wait for it.
    """
    _awaited(lane, "has exited")
    lane.warp.exited |= 1 << lane.lane
    lane.block.exited += 1
    release_block(lane.block)


def shared_array(size: Any, make: Any, itemsize: int, frame: Any) -> Any:
    """Return the block's array of a place in the source, made when first asked for."""
    block = now.lane.block
    key = (id(frame.f_code), frame.f_lasti)
    if key not in block.shared:
        if not isinstance(size, int) or size <= 0:
            raise NotOnDevice(f"shared memory of {size!r} elements")
        block.shared_bytes += int(size) * itemsize
        if block.shared_bytes > 48 * 1024:
            raise NotOnDevice(f"{block.shared_bytes} bytes of shared memory; a block has 49,152")
        name = f"shared memory of line {frame.f_lineno}"
        block.shared[key] = (int(size), make(int(size), name))
    known, array = block.shared[key]
    if known != size:
        raise NotOnDevice(f"shared memory of {known} and of {size} elements at one place")
    return array


def dynamic_array(start: int, size: int, make: Any, itemsize: int, room: int) -> Any:
    """Return the block's array from a byte of the shared memory that the launch asks for."""
    block = now.lane.block
    stop = start + size * itemsize
    if start % itemsize or start < 0 or size <= 0 or stop > room:
        raise NotOnDevice(f"bytes {start} to {stop} of {room} of shared memory")
    if (start, stop) not in block.dynamic:
        for low, high in block.dynamic:
            if start < high and low < stop:
                raise NotOnDevice(
                    f"bytes {start} to {stop} of shared memory overlap {low} to {high}"
                )
        block.dynamic[start, stop] = make(size, f"shared memory from byte {start} on")
    return block.dynamic[start, stop]
