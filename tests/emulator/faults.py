"""What a kernel can do wrong, each kind an exception of its own."""

from __future__ import annotations

from typing import Any

__all__ = [
    "BadMask",
    "Deadlock",
    "DivergentBarrier",
    "Fault",
    "MissingLane",
    "NotCooperative",
    "NotOnDevice",
    "OutOfBounds",
    "Race",
    "UndefinedArithmetic",
    "UninitialisedShared",
]


class Fault(Exception):
    """A kernel's error, with the place where it was found.

    Attributes
    ----------
    kernel : str
        Name of the entry point.
    path : str
        File of the line at fault, which may be a device function's.
    line : int
        Line of source, from 1.
    block, thread : int
        The thread that was found at it.
    what : str
        What is wrong.
    lane : Lane or None
        The thread at fault, where it is not the one that runs.
    """

    def __init__(self, what: str, lane: Any = None) -> None:
        super().__init__(what)
        self.what = what
        self.kernel = ""
        self.path = ""
        self.line = 0
        self.text = ""
        self.block = -1
        self.thread = -1
        self.lane = lane

    def __str__(self) -> str:
        if not self.kernel:
            return self.what
        name = self.path.rpartition("/")[2]
        return (
            f"{self.kernel}, {name}:{self.line}, block {self.block}, thread {self.thread}: "
            f"{self.what}\n    {self.text}"
        )


class OutOfBounds(Fault):
    """An index is negative, too large, or no integer."""


class UninitialisedShared(Fault):
    """An element of shared memory is read that the block has never written."""


class Race(Fault):
    """Two accesses to one address are not ordered, and one of them is a plain write."""


class MissingLane(Fault):
    """A lane of the mask has exited, or waits elsewhere."""


class BadMask(Fault):
    """The caller is not in its own mask, or the mask is none."""


class DivergentBarrier(Fault):
    """Threads wait at different barriers, or some have left without the others."""


class Deadlock(Fault):
    """All wait for a value that is never written."""


class NotCooperative(Fault):
    """`sync_grid` in a launch that is not cooperative."""


class NotOnDevice(Fault):
    """Something that plain Python can do and device code can't."""


class UndefinedArithmetic(Fault):
    """A shift by 64 or more, or a float that its integer type can't hold."""
