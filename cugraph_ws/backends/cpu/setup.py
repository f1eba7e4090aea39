"""Set up a run on the CPU: plan, executor and exchange."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cugraph_ws.backends.cpu.executor import CpuExecutor
from cugraph_ws.backends.planner import CpuPlanner
from cugraph_ws.contract import Setup
from cugraph_ws.errors import EngineError, InputError
from cugraph_ws.partition.exchange import Exchange, NoExchange, RankExchange
from cugraph_ws.partition.program_part import ProgramPart
from cugraph_ws.program.binding import BoundProgram
from cugraph_ws.runtime.dispatch import provider

if TYPE_CHECKING:
    from cugraph_ws.execution.options import Options

__all__ = ["set_up"]


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
        Ignored: the loop compares residuals.

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
    )
    return Setup(planner, executor, exchange)
