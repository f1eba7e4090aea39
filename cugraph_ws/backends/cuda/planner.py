"""Choose how a program's supersteps run on the CUDA engine, and how many are launched at a time."""

from __future__ import annotations

import numpy as np

from cugraph_ws.backends.cuda import frontier
from cugraph_ws.backends.cuda.frontier import LONGEST
from cugraph_ws.backends.planner import (
    WantedDirection,
    WantedLayout,
    gathers_only,
)
from cugraph_ws.contract import Choice, Counts, Direction, Strategy
from cugraph_ws.errors import InputError
from cugraph_ws.kernels.cuda.layout import RECORDS
from cugraph_ws.program.binding import BoundProgram

__all__ = ["CudaPlanner", "why_not_swapped"]

FIRST_BATCH = 4  # supersteps before the host first reads counts; then twice as many each time
MOST = RECORDS // 2
# A frontier with more than one in HEAVY of all arcs is gathered: a gather reads an arc much faster
HEAVY = 4
# The same before the first gather, when nearly every message changes a state and a push takes two
# to four times as long per arc
GROWING = 12
LEAST_HEAVY = 1 << 20  # arcs that a launch reads in the time that the host takes to read counts
LEAST_PULLED = 1 << 14  # a smaller frontier is pushed in any case
# Launches that exchange updates themselves leave a frontier to `push_large`, with more than one in PUSHED_PART of all arcs and
# more than so many, if that is queued behind them; or if the host launches it, which takes half a millisecond
PUSHED_PART, LEAST_PUSHED = 128, 1 << 19
PART_BY_HOST, LEAST_BY_HOST = 64, 1 << 23
ROUNDS = 7  # supersteps with large frontiers in a sequence of launches
FIRST_FUSED, MOST_FUSED = 16, LONGEST  # supersteps of a launch without exchanges


class CudaPlanner:
    """Chooses how a program runs, and how many supersteps are queued before the host reads counts.

    A program whose states can be changed by compare-and-swap runs by frontiers, which push or pull
    (`backends/cuda/frontier.py`).  If every in-neighbour counts in every superstep, there is no
    frontier, and every vertex gathers from all in-neighbours.  Any other program runs by worklist
    pull (`backends/cuda/worklist_pull.py`): active vertices put their out-neighbours on a worklist,
    and these gather.  If it is less work, every vertex gathers from its active in-neighbours.

    Parameters
    ----------
    bound : BoundProgram
        The program and its traits.
    arcs : int
        Number of arcs of the graph.
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
    why_layout : str
        Reason for the layout.
    divided : bool
        Whether the graph is partitioned.  Then an exchange follows each superstep.
    linked : bool
        Whether partitions are on GPUs that exchange without their hosts.  Otherwise a search
        gathers from active vertices, ghosts included, and keeps the previous state to find changed
        vertices; no frontier pushes.
    capacity : int
        The most vertices of a message, if the kernels themselves exchange updates; else 0.
    in_bits : bool
        Whether they may also mark changed vertices in bits.

    Attributes
    ----------
    strategy : Strategy

    Raises
    ------
    InputError
        If the program cannot run in the direction.
    """

    def __init__(
        self,
        bound: BoundProgram,
        arcs: int,
        *,
        direction: WantedDirection = "auto",
        in_place: bool | None = None,
        fused: bool = True,
        priorities: bool = True,
        scheduled: bool = False,
        layout: WantedLayout = "auto",
        why_layout: str = "",
        divided: bool = False,
        linked: bool = False,
        capacity: int = 0,
        in_bits: bool = False,
    ) -> None:
        program = bound.program
        if direction not in ("auto", "push", "pull", "gather"):
            raise InputError(
                f"direction={direction!r} is not known; choose 'auto', 'push', 'pull' or 'gather'"
            )
        self._check_push(bound, direction, in_place, scheduled)
        if program.listing is not None and scheduled:
            raise InputError(
                f"method= chooses how folds are scheduled, and {program.listing!r} of {program.name} lists "
                "messages; leave it out"
            )
        if layout not in ("auto", "csc"):
            direction, in_place = "gather", False
        gathers = direction == "gather" or in_place is False or scheduled
        gathers = gathers or (divided and not linked)
        reason = why_not_swapped(bound)
        swaps = not gathers and reason is None
        if divided and direction == "push" and not swaps:
            raise InputError(
                "direction='push': partitions cannot push on the GPU; use 'auto', 'pull' or 'gather'"
            )
        self._capacity = capacity if fused and divided and direction != "pull" else 0
        self._linked = False  # whether launches exchange updates; then these leave large frontiers
        self._left = 0  # arcs above which these leave a frontier to other launches; 0 if none is
        self._pulled = 0  # the same, if only a pull is quicker there
        self._rounds = 0  # supersteps with such frontiers that are queued with the launches
        fused = fused and (not divided or self._capacity > 0)
        self._batch, self._most = FIRST_BATCH, MOST
        self._heavy = self._heavy_later = 0  # arcs of a heavy frontier; 0 if none is
        self._dense: Direction = "gather"  # direction for a heavy frontier
        if swaps:
            # With "auto" priorities are not used: gathers save more than an order does.
            in_order = priorities and direction == "push" and "priority" in program.functions
            self.strategy = Strategy(
                "frontier",
                "states can be changed by compare-and-swap",
                active_only=True,
                in_place=True,
                ordered=in_order and not divided,
                out_of_order=True,
                layout="csc" if direction == "pull" else "csr",
                why_layout="active in-neighbours are pulled"
                if direction == "pull"
                else "active vertices push, and pulls read the CSC as well",
            )
            one: Direction = "pull" if direction == "pull" else "push"
            self._direction: Direction = "fused" if fused else one
            self._linked = fused and divided
            if self._linked and direction == "auto" and "settled" in program.functions:
                self._pulled = self._left = max(LEAST_PULLED, arcs // frontier.PULL_PART)
                self._rounds = ROUNDS if in_bits and arcs > self._pulled else 0
                if self._rounds:
                    self._left = min(self._pulled, max(LEAST_PUSHED, arcs // PUSHED_PART))
            self._batch, self._most = (FIRST_FUSED, MOST_FUSED) if fused else (1, 1)
            # A residual could end the run too early
            if bound.may_gather_from_all and program.residual is None and direction == "auto":
                self._heavy = max(1, arcs // GROWING)
                self._heavy_later = max(1, arcs // HEAVY)
                if self._linked:  # later most messages change nothing, and are cheap in any launch
                    self._left = min(self._heavy, max(LEAST_BY_HOST, arcs // PART_BY_HOST))
            return
        dense = bound.gathers_from_all
        free_hand = in_place is None and not scheduled and not divided
        if direction in ("auto", "push") and not dense and free_hand:
            self.strategy = Strategy(
                "worklist",
                f"only messages of active vertices count, and {reason}",
                active_only=True,
                layout="csr",
                why_layout="active vertices mark their out-neighbours, which gather over the CSC",
            )
            self._direction = "fused" if fused else "push"
            self._batch, self._most = (FIRST_FUSED, MOST_FUSED) if fused else (1, 1)
            # With `any`, a pull within the launch ends early.
            if direction == "auto" and program.combine != "any":
                self._heavy = self._heavy_later = max(LEAST_HEAVY, arcs // HEAVY)
                self._dense = "pull"
            return
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
        if program.edge_state:
            self._batch = self._most = 1  # the host counts the edges that have changed
        if divided:
            self._batch = self._most = 1
            in_place = bool(in_place)
        elif in_place is None:
            in_place = not active_only and bound.accumulates and len(program.state) == 1
        in_place = bool(in_place) and not active_only
        self.strategy = Strategy(
            "dense",
            "active vertices are gathered from"
            if active_only
            else "all vertices are gathered from",
            active_only=active_only,
            in_place=in_place,
            out_of_order=in_place,
            layout=layout if layout != "auto" else "csc",
            why_layout=why_layout or f"layout={layout!r}",
        )
        self._direction = "pull" if active_only else "gather"
        # Jumps are computed between supersteps, and rows are sorted even if a run is over.
        listing = program.listing
        if program.jumps or (listing is not None and not listing.counts(bound.types.message)):
            self._batch = self._most = 1

    @staticmethod
    def _check_push(
        bound: BoundProgram, direction: WantedDirection, in_place: bool | None, scheduled: bool
    ) -> None:
        """Raise if a push is requested that the program does not allow."""
        if direction != "push":
            return
        if bound.gathers_from_all:
            raise gathers_only(bound, direction)
        if in_place is not None and (not in_place or why_not_swapped(bound) is not None):
            raise InputError(
                f"direction='push': in_place={in_place} cannot be chosen, since on the GPU the program "
                "alone decides where a push writes; use 'auto', or leave in_place out"
            )
        if scheduled:
            raise InputError(
                "direction='push': method= is a schedule of gathers; leave one of them out"
            )

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
        if self._heavy and counts.arcs > self._heavy:
            self._heavy = self._heavy_later
            self._left = 0
            return Choice(self._dense, 1, number)
        if counts.unlike:
            self._rounds, self._left = 0, self._pulled
        leave = self._left or self._heavy
        large = counts.active > self._capacity or 0 < leave < counts.arcs
        if self._linked and large and not self._rounds:
            return Choice("push", 1, number, last=remaining <= 1)
        batch, self._batch = self._batch, min(2 * self._batch, self._most)
        return Choice(
            self._direction, min(batch, remaining), number, leave, remaining <= batch, self._rounds,
            large and self._linked,
        )  # fmt: skip


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
