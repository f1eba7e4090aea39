"""Choose the direction of each superstep by the work that each direction would take.

Arguments of `run()` can force every choice made here.
"""

from __future__ import annotations

from typing import Literal

from cugraph_ws.contract import Choice, Counts, Direction, Strategy
from cugraph_ws.errors import InputError
from cugraph_ws.program.binding import BoundProgram

__all__ = [
    "CpuPlanner", "Filter", "WantedDirection", "WantedLayout", "gathers_from_all", "gathers_only",
]  # fmt: skip

WantedDirection = Literal["auto", "push", "pull", "gather"]
WantedLayout = Literal["auto", "csc", "tiles", "gshards", "windows"]
Filter = Literal["auto", "online", "ballot"]

# After Beamer, Asanović, Patterson (2012): pull while the frontier's arcs exceed this part of the
# arcs of vertices not yet settled.  Theirs is a 14th, and they go on pulling while the frontier
# shrinks; here arcs are counted after each superstep, so neither is needed.
PULL_SHARE = 4
# A pull that cannot stop early reads every arc.  A push of more than half of them costs more,
# because of its locks and scattered writes.
DENSE_SHARE = 2
# A frontier of fewer arcs runs on one thread in a fused loop: handing work to another thread takes
# about as long as reading so many arcs.
FUSED_ARCS = 1 << 17


class CpuPlanner:
    """Chooses the direction of each superstep of one run.

    Parameters
    ----------
    bound : BoundProgram
        The program and its traits.
    arcs : int
        Number of arcs of the graph.
    direction : {"auto", "push", "pull", "gather"}
        The direction that all supersteps must use.  `gather` reads all in-neighbours of every
        vertex.
    fused : bool
        Whether supersteps may be fused.
    priorities : bool
        Whether the program's priorities are honoured.
    in_place : bool
        Whether dense supersteps write into the state that they read.

    Attributes
    ----------
    strategy : Strategy
    """

    def __init__(
        self,
        bound: BoundProgram,
        arcs: int,
        *,
        direction: WantedDirection = "auto",
        fused: bool = True,
        priorities: bool = True,
        in_place: bool = False,
    ) -> None:
        program = bound.program
        if direction not in ("auto", "push", "pull", "gather"):
            raise InputError(
                f"direction={direction!r} is not known; choose 'auto', 'push', 'pull' or 'gather'"
            )
        dense, why = gathers_from_all(bound), "every in-neighbour counts in every superstep"
        if dense and direction in ("push", "pull"):
            raise gathers_only(bound, direction)
        if direction == "gather" and not dense:
            if program.combine not in ("min", "max"):
                raise InputError(
                    f"direction='gather': {program.name} counts the messages of active vertices only; "
                    "use 'auto', 'push' or 'pull'"
                )
            if bound.may_gather_from_all:
                dense, why = True, "direction='gather'"
            else:
                direction = "pull"  # which reads the messages of active vertices only
        self._wanted = direction
        self._fused = fused
        self._one_by_one = bound.accumulates
        # Only a push can postpone vertices.
        pushes = not dense and bound.accumulates and direction in ("auto", "push")
        self.strategy = Strategy(
            "dense" if dense else "frontier",
            why if dense else "only messages of active vertices count",
            active_only=not dense,
            in_place=in_place,
            ordered=priorities and pushes and "priority" in program.functions,
            out_of_order=in_place if dense else bound.accumulates,
            layout="csc" if dense or direction == "pull" else "csr",
            why_layout="in-neighbours are gathered"
            if dense or direction == "pull"
            else "active vertices push, and pulls read the CSC as well",
        )
        self._settles = "settled" in program.functions
        self._arcs = arcs
        self._unexplored = arcs
        self._sent = 0  # arcs of the last frontier
        self._last: Direction = "push"

    def choose(self, counts: Counts, number: int, left: int) -> Choice:
        """Return what to run next.

        Parameters
        ----------
        counts : Counts
            Counts of the last superstep.
        number : int
            Number of the next superstep, from 0.
        left : int
            How many supersteps are still allowed.

        Returns
        -------
        Choice
            The direction, and how many supersteps a fused call may take.
        """
        if not self.strategy.active_only:
            return Choice("gather", number=number)
        # If the program settles, a vertex is active once, so unread arcs are the remaining ones.
        self._unexplored -= counts.read if self._last == "fused" else self._sent
        self._sent = counts.arcs
        self._last = self._direction(counts)
        if self._last == "fused":
            return Choice("fused", left, number, FUSED_ARCS)
        return Choice(self._last, number=number)

    def _direction(self, counts: Counts) -> Direction:
        if self._wanted == "pull":
            return "pull"
        if not self._one_by_one:
            # One thread scatters; above a part of all arcs a gather on all cores is faster.
            heavy = counts.arcs > max(FUSED_ARCS, self._arcs // 8)
            return "pull" if self._wanted == "auto" and heavy else "scatter"
        if self._wanted == "auto" and not self.strategy.ordered and self._should_pull(counts):
            return "pull"
        small = self._fused and counts.arcs <= FUSED_ARCS
        return "fused" if small else "push"

    def _should_pull(self, counts: Counts) -> bool:
        if not self._settles:
            return counts.arcs > max(FUSED_ARCS, self._arcs // DENSE_SHARE)
        return counts.arcs > max(FUSED_ARCS, self._unexplored // PULL_SHARE)


def gathers_only(bound: BoundProgram, direction: str) -> InputError:
    """Return the error for a direction that reads messages of active vertices only.

    Parameters
    ----------
    bound : BoundProgram
        The program and its traits.
    direction : str
        The requested direction.
    """
    program = bound.program
    why = ""
    if program.jumps:
        name = next(iter(program.jumps))
        why = f", since `{name}` is read at other vertices before each superstep"
    elif program.idempotent:
        why = (
            f"; its answer is not proved to be independent of the order of messages ({bound.in_order}): if it is, "
            "declare asynchronous = True"
        )
    return InputError(
        f"direction={direction!r}: {program.name} gathers from all in-neighbours in every superstep; use "
        f"'auto' or 'gather'{why}"
    )


def gathers_from_all(bound: BoundProgram) -> bool:
    """Return whether every superstep must gather from all in-neighbours.

    Parameters
    ----------
    bound : BoundProgram
        The program and its traits.

    Returns
    -------
    bool

    Notes
    -----
    If messages may be applied in any order, a gather from all and one from active in-neighbours give
    the same states, and the planner may choose.
    """
    return bound.program.all_send and not bound.order_free
