"""Who has seen what: vector clocks, shared by threads that know the same.

A thread's clock counts what it has published (by barriers and fences).  What it knows of others
is `near`, a list of clocks for the threads of its own block, and `far`, such lists for the other
blocks that it has heard of.  Both are shared and never changed in place: after a barrier all
threads hold the same two objects, and nothing need be merged where they did so before.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["Knowledge", "acquire", "join", "knows", "meet", "publish"]

Knowledge = dict[int, list[int]]  # clocks of threads, by block


def knows(lane: Any, other: Any, clock: int) -> bool:
    """Return whether `lane` comes after the last access of `other` at its clock."""
    if other.block is lane.block:
        return bool(lane.near[other.thread] >= clock)
    far = lane.far.get(other.block.index)
    return far is not None and far[other.thread] >= clock


def _latest(lists: Iterable[list[int]]) -> list[int]:
    unique = list({id(one): one for one in lists}.values())
    return unique[0] if len(unique) == 1 else list(map(max, *unique))


def join(many: Iterable[Knowledge]) -> Knowledge:
    """Return what several know together."""
    unique = list({id(one): one for one in many}.values())
    if len(unique) == 1:
        return unique[0]
    blocks = {block for one in unique for block in one}
    return {block: _latest(one[block] for one in unique if block in one) for block in blocks}


def meet(lanes: list[Any]) -> None:
    """Let threads of one block know all that each of them has done or known."""
    near = _latest(lane.near for lane in lanes).copy()
    far = join(lane.far for lane in lanes)
    for lane in lanes:
        near[lane.thread] = lane.clock
    for lane in lanes:
        lane.near = near
        lane.far = far
        lane.clock += 1


def publish(lane: Any) -> Knowledge:
    """Return all that a thread has done or known, and begin a new time of its clock."""
    near = lane.near.copy()
    near[lane.thread] = lane.clock
    lane.clock += 1
    return {**lane.far, lane.block.index: near}


def acquire(lane: Any, heard: list[Knowledge]) -> None:
    """Let a thread know what others have published."""
    index = lane.block.index
    together = join([{**lane.far, index: lane.near}, *heard])
    lane.near = together[index]
    lane.far = {block: clocks for block, clocks in together.items() if block != index}
