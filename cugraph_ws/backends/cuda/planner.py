"""Choose how a program's supersteps run on the CUDA engine, and how many are launched at a time.

There are three plans.  A program whose states can be changed by compare-and-swap runs by frontiers,
which push or pull (`backends/cuda/frontier.py`).  If every in-neighbour counts in every superstep,
there is no frontier, and every vertex gathers from all in-neighbours.  Any other program runs by
worklist pull (`backends/cuda/worklist_pull.py`): active vertices put their out-neighbours on a
worklist, and these gather.  If it is less work, every vertex gathers from its active in-neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cugraph_ws.backends.cuda.frontier import LONGEST
from cugraph_ws.backends.planner import (
    WantedDirection,
    WantedLayout,
    gathers_only,
)
from cugraph_ws.contract import Choice, Counts, Direction, LinkedRun, Strategy
from cugraph_ws.errors import InputError
from cugraph_ws.kernels.cuda.layout import RECORDS
from cugraph_ws.program.binding import BoundProgram

__all__ = ["CudaPlanner", "PartitionLinks", "Wanted", "plan_of", "why_not_swapped"]

FIRST_BATCH = 4  # supersteps before the host first reads counts; then twice as many each time
MOST = RECORDS // 2
# A frontier with more than one in HEAVY of all arcs is gathered: a gather reads an arc much faster
HEAVY = 4
# The same before the first gather, when nearly every message changes a state and a push takes two
# to four times as long per arc
GROWING = 12
LEAST_HEAVY = 1 << 20  # arcs that a launch reads in the time that the host takes to read counts
FIRST_FUSED, MOST_FUSED = 16, LONGEST  # supersteps of a launch without exchanges


class Wanted(NamedTuple):
    """What the caller asks of a plan.

    Attributes
    ----------
    direction : {"auto", "push", "pull", "gather"}
        The direction that all supersteps must use.
    in_place : bool, optional
        Whether supersteps may write into the state that they read.  The default is True if that is
        safe: the state is a single field, and messages may be applied one by one.
    fused : bool
        Whether a launch may run several supersteps of a frontier.
    priorities : bool
        Whether the program's priorities are honoured, if it must push.
    scheduled : bool
        Whether the caller chose a schedule of gathers.
    layout : str
        The layout that gathers read.  `auto` is `csc`; over any other, all gather from all.
    """

    direction: WantedDirection = "auto"
    in_place: bool | None = None
    fused: bool = True
    priorities: bool = True
    scheduled: bool = False
    layout: WantedLayout = "auto"


class PartitionLinks(NamedTuple):
    """How the ranks of a partitioned graph exchange updates.

    Attributes
    ----------
    linked : bool
        Whether partitions are on GPUs that exchange without their hosts.  Otherwise a search
        gathers from active vertices, ghosts included, and keeps the previous state to find changed
        vertices; no frontier pushes.
    run : LinkedRun, optional
        Plans launches that exchange updates themselves; None if an exchange follows each superstep.
    """

    linked: bool
    run: LinkedRun | None = None


@dataclass
class CudaPlanner:
    """How a program runs, and how many supersteps are queued before the host reads counts.

    Attributes
    ----------
    strategy : Strategy
    direction : str
        Direction of supersteps whose frontier is not heavy.
    batch, most : int
        Supersteps that are queued next; then twice as many each time, up to `most`.
    heavy, heavy_later : int
        Arcs above which a frontier is heavy: before and after the first heavy one.  0 if none is.
    dense : str
        Direction for a heavy frontier.
    """

    strategy: Strategy
    direction: Direction
    batch: int = 1
    most: int = 1
    heavy: int = 0
    heavy_later: int = 0
    dense: Direction = "gather"

    def choose(self, counts: Counts, number: int, remaining: int) -> Choice:
        """Return what to run next.

        Parameters
        ----------
        counts : Counts
            Counts of the last supersteps.
        number : int
            Number of the next superstep, from 0.
        remaining : int
            How many supersteps are still allowed.

        Returns
        -------
        Choice
            The direction, and how many supersteps to queue.
        """
        if self.heavy and counts.arcs > self.heavy:
            self.heavy = self.heavy_later
            return Choice(self.dense, 1, number)
        batch = self._next_batch()
        last = remaining <= batch
        return Choice(self.direction, min(batch, remaining), number, self.heavy, last)

    def _next_batch(self) -> int:
        """Return how many supersteps to queue, and double the number for the next time."""
        batch, self.batch = self.batch, min(2 * self.batch, self.most)
        return batch


def plan_of(
    bound: BoundProgram, arcs: int, wanted: Wanted, links: PartitionLinks | None = None
) -> CudaPlanner:
    """Choose how a program runs.

    Parameters
    ----------
    bound : BoundProgram
        The program and its traits.
    arcs : int
        Number of arcs of the graph.
    wanted : Wanted
        What the caller asks for.
    links : PartitionLinks, optional
        Given if the graph is partitioned.  Then an exchange follows each superstep.

    Returns
    -------
    CudaPlanner

    Raises
    ------
    InputError
        If the program cannot run as the caller asks.
    """
    _check(bound, wanted)
    if wanted.layout not in ("auto", "csc"):
        wanted = wanted._replace(direction="gather", in_place=False)
    gathers = wanted.direction == "gather" or wanted.in_place is False or wanted.scheduled
    gathers = gathers or (links is not None and not links.linked)
    reason = why_not_swapped(bound)
    if not gathers and reason is None:
        return _frontier_plan(bound, arcs, wanted, links)
    if links is not None and wanted.direction == "push":
        raise InputError(
            "direction='push': partitions cannot push on the GPU; use 'auto', 'pull' or 'gather'"
        )
    free_hand = wanted.in_place is None and not wanted.scheduled and links is None
    if wanted.direction in ("auto", "push") and not bound.gathers_from_all and free_hand:
        return _worklist_plan(bound, arcs, wanted, f"{reason}")
    return _dense_plan(bound, wanted, divided=links is not None)


def _check(bound: BoundProgram, wanted: Wanted) -> None:
    """Raise if the caller asks for what no plan of the program can do."""
    direction, in_place, listing = wanted.direction, wanted.in_place, bound.program.listing
    if direction not in ("auto", "push", "pull", "gather"):
        raise InputError(
            f"direction={direction!r} is not known; choose 'auto', 'push', 'pull' or 'gather'"
        )
    if direction == "push":
        if bound.gathers_from_all:
            raise gathers_only(bound, direction)
        if in_place is not None and (not in_place or why_not_swapped(bound) is not None):
            raise InputError(
                f"direction='push': in_place={in_place} cannot be chosen, since on the GPU the program "
                "alone decides where a push writes; use 'auto', or leave in_place out"
            )
        if wanted.scheduled:
            raise InputError(
                "direction='push': method= is a schedule of gathers; leave one of them out"
            )
    if listing is not None and wanted.scheduled:
        raise InputError(
            f"method= chooses how folds are scheduled, and {listing!r} of {bound.program.name} lists "
            "messages; leave it out"
        )


def _frontier_plan(
    bound: BoundProgram, arcs: int, wanted: Wanted, links: PartitionLinks | None
) -> CudaPlanner:
    """Plan supersteps in which active vertices push, or are pulled, and change states by compare-and-swap."""
    program, direction = bound.program, wanted.direction
    pulls = direction == "pull"
    # With "auto" priorities are not used: gathers save more than an order does.
    in_order = wanted.priorities and direction == "push" and "priority" in program.functions
    strategy = Strategy(
        "frontier",
        "states can be changed by compare-and-swap",
        active_only=True,
        in_place=True,
        ordered=in_order and links is None,
        out_of_order=True,
        layout="csc" if pulls else "csr",
        why_layout="active in-neighbours are pulled"
        if pulls
        else "active vertices push, and pulls read the CSC as well",
    )
    unfused: Direction = "pull" if pulls else "push"
    # A residual could end the run too early
    gathers_heavy = bound.may_gather_from_all and program.residual is None and direction == "auto"
    heavy = max(1, arcs // GROWING) if gathers_heavy else 0
    heavy_later = max(1, arcs // HEAVY) if gathers_heavy else 0
    fused = CudaPlanner(strategy, "fused", FIRST_FUSED, MOST_FUSED, heavy, heavy_later)
    if wanted.fused and links is None:
        return fused
    if wanted.fused and not pulls and links is not None and links.run is not None:
        planner: CudaPlanner = links.run.plan(fused, bound, arcs, direction)
        return planner
    return CudaPlanner(strategy, unfused, heavy=heavy, heavy_later=heavy_later)


def _worklist_plan(bound: BoundProgram, arcs: int, wanted: Wanted, reason: str) -> CudaPlanner:
    """Plan supersteps in which active vertices list their out-neighbours, which gather."""
    strategy = Strategy(
        "worklist",
        f"only messages of active vertices count, and {reason}",
        active_only=True,
        layout="csr",
        why_layout="active vertices mark their out-neighbours, which gather over the CSC",
    )
    plan = CudaPlanner(strategy, "push")
    if wanted.fused:
        plan = CudaPlanner(strategy, "fused", FIRST_FUSED, MOST_FUSED)
    # With `any`, a pull within the launch ends early.
    if wanted.direction == "auto" and bound.program.combine != "any":
        plan.heavy = plan.heavy_later = max(LEAST_HEAVY, arcs // HEAVY)
        plan.dense = "pull"
    return plan


def _dense_plan(bound: BoundProgram, wanted: Wanted, *, divided: bool) -> CudaPlanner:
    """Plan supersteps in which every vertex gathers: from all in-neighbours, or from active ones."""
    program, direction, dense = bound.program, wanted.direction, bound.gathers_from_all
    if dense and direction == "pull":
        raise gathers_only(bound, direction)
    may_gather = dense or bound.may_gather_from_all
    # A minimum or maximum is gathered from active vertices if the messages of others would count
    if direction == "gather" and not dense and program.combine not in ("min", "max"):
        raise InputError(
            f"direction='gather': {program.name} counts the messages of active vertices only; use "
            "'auto' or 'pull'"
        )
    # A residual is for programs that gather from all; it would end a search too early.
    free = bound.accumulates and may_gather and program.residual is None
    from_all = dense or (may_gather and direction == "gather") or (free and not divided)
    active_only = direction == "pull" or not from_all
    in_place = wanted.in_place
    if in_place is None:
        in_place = not divided and bound.accumulates and len(program.state) == 1
    in_place = in_place and not active_only
    strategy = Strategy(
        "dense",
        "active vertices are gathered from" if active_only else "all vertices are gathered from",
        active_only=active_only,
        in_place=in_place,
        out_of_order=in_place,
        layout=wanted.layout if wanted.layout != "auto" else "csc",
        why_layout=f"layout={wanted.layout!r}",
    )
    direction_of_gathers: Direction = "pull" if active_only else "gather"
    # One at a time: the host exchanges updates, counts the edges that have changed, or computes jumps
    # between supersteps; and rows are sorted even if a run is over.
    listing = program.listing
    sorts = listing is not None and not listing.counts(bound.types.message)
    if divided or program.edge_state or program.jumps or sorts:
        return CudaPlanner(strategy, direction_of_gathers)
    return CudaPlanner(strategy, direction_of_gathers, FIRST_BATCH, MOST)


def why_not_swapped(bound: BoundProgram) -> str | None:
    """Return why a program's states cannot be changed by compare-and-swap, or None if they can.

    Parameters
    ----------
    bound : BoundProgram
        The program and its types.

    Returns
    -------
    str or None
    """
    if not bound.accumulates:
        return "its apply may differ for messages taken one by one, or twice"
    if len(bound.types.state) != 1 or np.dtype(bound.types.state[0]).itemsize < 4:
        return "its state is not one number of 4 or 8 bytes, so compare-and-swap cannot change it"
    if bound.program.aggregates:
        return "its aggregates would have to be added up within the launch"
    return None
