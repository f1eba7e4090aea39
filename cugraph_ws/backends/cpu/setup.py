"""Set up a run on the CPU: planner, executor and exchange.

The planner chooses the direction of each superstep by the work that each direction would take; a `Plan`
can force every choice made here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cugraph_ws.backends.cpu.executor import CpuExecutor
from cugraph_ws.backends.planner import WantedDirection, gathers_only
from cugraph_ws.contract import Choice, Counts, Direction, Setup, Strategy
from cugraph_ws.errors import EngineError, InputError
from cugraph_ws.partition.exchange import Exchange, NoExchange, RankExchange
from cugraph_ws.partition.part import ProgramPart
from cugraph_ws.program.binding import BoundProgram
from cugraph_ws.runtime.dispatch import provider

if TYPE_CHECKING:
    from cugraph_ws.execution.options import Options

__all__ = ["FUSED_ARCS", "PULL_SHARE", "CpuPlanner", "set_up"]

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
# Dense supersteps of a user's program, after which several run in one call: compiling that takes as long as these
LONG_RUN = 1 << 14


def set_up(
    bound: BoundProgram,
    graph: Any,
    options: Options,
    *,
    in_place: bool | None,
    plain: bool,
    threads: int | None,
    tol: float | None,
) -> Setup:
    """Prepare a vertex program's run on a graph, or on a rank's shard of one; collective.

    Parameters
    ----------
    bound : BoundProgram
    graph : GraphView
    options : Options
    in_place : bool or None
        Whether supersteps write into the state that they read; None to choose.
    plain : bool
        Whether the program's functions run as plain Python.
    threads : int, optional
        Most threads; by default one per core.
    tol : float, optional
        Bound of the residual, at which several supersteps in one call end.

    Returns
    -------
    Setup

    Raises
    ------
    InputError
        If an option is for GPUs only.
    EngineError
        If the layout is for GPUs only, or not for this program.
    """
    wanted = options.plan
    for name, value in wanted.chosen("gpu").items():
        what = "schedule" if name == "method" else "choice"
        raise InputError(
            f"{name}={value!r} is a {what} of engine='cuda'; leave it out on engine='cpu'"
        )
    if wanted.layout not in ("auto", "csc", *provider("accelerators").layouts(on_device=False)):
        raise EngineError(
            f"layout={wanted.layout!r} is not available with engine='cpu'; leave it out, or use "
            "engine='cuda'"
        )
    planner = CpuPlanner(
        bound,
        graph.number_of_arcs,
        direction=wanted.direction,
        priorities=wanted.priorities,
        # A fused call has no exchange between its supersteps.
        fused=wanted.fused and graph.comm.size == 1,
        in_place=bool(in_place),
        watched=plain or callable(options.progress) or options.checkpoint is not None,
    )
    exchange: Exchange = NoExchange()
    if graph.comm.size > 1:
        exchange = RankExchange(
            graph, method=wanted.exchange, dense=not planner.strategy.active_only
        )
    executor = CpuExecutor(
        bound,
        ProgramPart(graph, bound, on_device=False),
        in_place=bool(in_place),
        ordered=planner.strategy.ordered,
        plain=plain,
        threads=threads,
        layout=wanted.layout,
        gathers=not planner.strategy.active_only,
        tol=tol,
    )
    return Setup(planner, executor, exchange)


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
    watched : bool
        Whether every superstep of the synchronous meaning is to be seen: by a callback, a checkpoint, or a
        debugger.

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
        watched: bool = False,
    ) -> None:
        program = bound.program
        if direction not in ("auto", "push", "pull", "gather"):
            raise InputError(
                f"direction={direction!r} is not known; choose 'auto', 'push', 'pull' or 'gather'"
            )
        dense, why = bound.gathers_from_all, "every in-neighbour counts in every superstep"
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
        # There may be work between supersteps.
        needs_more = watched or program.edge_state or program.jumps or program.notes_errors
        self._fuses_dense = fused and not (needs_more or in_place or program.listing)
        self._apart = 0 if program.built_in else LONG_RUN  # dense supersteps, each in a call
        if not self._one_by_one and (needs_more or program.aggregates):
            self._fused = False
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

    def choose(self, counts: Counts, number: int, remaining: int) -> Choice:
        """Return what to run next.

        Parameters
        ----------
        counts : Counts
            Counts of the last superstep.
        number : int
            Number of the next superstep, from 0.
        remaining : int
            How many supersteps are still allowed.

        Returns
        -------
        Choice
            The direction, and how many supersteps a call may take.
        """
        if not self.strategy.active_only:
            several = self._fuses_dense and number >= self._apart
            return Choice("gather", remaining if several else 1, number)
        # If the program settles, a vertex is active once, so unread arcs are the remaining ones.
        self._unexplored -= counts.read if self._last == "fused" else self._sent
        self._sent = counts.arcs
        self._last = self._direction(counts)
        if self._last == "fused":
            return Choice("fused", remaining, number, FUSED_ARCS)
        return Choice(self._last, number=number)

    def _direction(self, counts: Counts) -> Direction:
        if self._wanted == "pull":
            return "pull"
        if not self._one_by_one:
            # One thread scatters; above a part of all arcs a gather on all cores is faster.
            heavy = counts.arcs > max(FUSED_ARCS, self._arcs // 8)
            if self._wanted == "auto" and heavy:
                return "pull"
            return "fused" if self._fused and counts.arcs <= FUSED_ARCS else "scatter"
        if self._wanted == "auto" and not self.strategy.ordered and self._should_pull(counts):
            return "pull"
        small = self._fused and counts.arcs <= FUSED_ARCS
        return "fused" if small else "push"

    def _should_pull(self, counts: Counts) -> bool:
        if not self._settles:
            return counts.arcs > max(FUSED_ARCS, self._arcs // DENSE_SHARE)
        return counts.arcs > max(FUSED_ARCS, self._unexplored // PULL_SHARE)
