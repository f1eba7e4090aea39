"""Choose what launches that exchange updates themselves run, and which frontiers they leave to others."""

from __future__ import annotations

from dataclasses import dataclass

from cugraph_ws.backends.cuda import frontier
from cugraph_ws.backends.cuda.planner import CudaPlanner
from cugraph_ws.contract import Choice, Counts
from cugraph_ws.program.binding import BoundProgram

__all__ = ["LinkedPlanner", "linked_plan"]

LEAST_PULLED = 1 << 14  # a smaller frontier is pushed in any case
# Launches leave a frontier to `push_large`, with more than one in PUSHED_PART of all arcs and
# more than so many, if that is queued behind them; or if the host launches it, which takes half a millisecond
PUSHED_PART, LEAST_PUSHED = 128, 1 << 19
PART_BY_HOST, LEAST_BY_HOST = 64, 1 << 23
ROUNDS = 7  # supersteps with large frontiers in a sequence of launches


@dataclass
class LinkedPlanner(CudaPlanner):
    """The same for launches that exchange updates themselves, and leave large frontiers to others.

    Attributes
    ----------
    capacity : int
        The most vertices of a message.
    large : int
        Arcs above which a launch leaves a frontier to other launches; 0 if none is left.
    pulled : int
        The same, if only a pull is quicker there.
    rounds : int
        Supersteps with such frontiers that are queued with the launches.
    """

    capacity: int = 0
    large: int = 0
    pulled: int = 0
    rounds: int = 0

    def choose(self, counts: Counts, number: int, remaining: int) -> Choice:
        """Return what to run next; see `CudaPlanner.choose`."""
        if self.heavy and counts.arcs > self.heavy:
            self.heavy, self.large = self.heavy_later, 0
            return Choice(self.dense, 1, number)
        if counts.unlike:
            self.rounds, self.large = 0, self.pulled
        leave = self.large or self.heavy
        is_large = counts.active > self.capacity or 0 < leave < counts.arcs
        if is_large and not self.rounds:
            return Choice("push", 1, number, last=remaining <= 1)
        batch = self._next_batch()
        return Choice(
            self.direction, min(batch, remaining), number, leave, remaining <= batch, self.rounds, is_large
        )  # fmt: skip


def linked_plan(
    plan: CudaPlanner,
    bound: BoundProgram,
    arcs: int,
    *,
    pulls_too: bool,
    capacity: int,
    in_bits: bool,
) -> LinkedPlanner:
    """Plan such launches.

    Parameters
    ----------
    plan : CudaPlanner
        The same run's plan for one GPU.
    bound : BoundProgram
    arcs : int
        Number of arcs of the graph.
    pulls_too : bool
        Whether supersteps may pull.
    capacity : int
        The most vertices of a message.
    in_bits : bool
        Whether changed vertices may also be marked in bits.
    """
    linked = LinkedPlanner(
        plan.strategy, plan.direction, plan.batch, plan.most, plan.heavy, plan.heavy_later, capacity=capacity
    )  # fmt: skip
    if pulls_too and "settled" in bound.program.functions:
        linked.pulled = linked.large = max(LEAST_PULLED, arcs // frontier.PULL_PART)
        linked.rounds = ROUNDS if in_bits and arcs > linked.pulled else 0
        if linked.rounds:
            linked.large = min(linked.pulled, max(LEAST_PUSHED, arcs // PUSHED_PART))
    if linked.heavy:  # later most messages change nothing, and are cheap in any launch
        linked.large = min(linked.heavy, max(LEAST_BY_HOST, arcs // PART_BY_HOST))
    return linked
