"""Set up a run on the GPU: plan, executor and exchange."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cugraph_ws.backends.cuda.exchange import DeviceRankExchange
from cugraph_ws.backends.cuda.executor import CudaExecutor
from cugraph_ws.backends.cuda.frontier import CudaFrontierExecutor
from cugraph_ws.backends.cuda.partitioned_frontier import CudaPartitionedFrontierExecutor
from cugraph_ws.backends.cuda.planner import PartitionLinks, Wanted, plan_of
from cugraph_ws.backends.cuda.worklist_pull import CudaWorklistExecutor
from cugraph_ws.contract import Executor, LinkedRun, Setup, Strategy
from cugraph_ws.errors import EngineError, InputError
from cugraph_ws.kernels.cuda.layout import FIGURES, FRONTIER_FIGURES
from cugraph_ws.partition.exchange import Exchange, NoExchange, RankExchange
from cugraph_ws.partition.part import ProgramPart
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
    bound, graph, options, in_place, plain, threads
        As `cugraph_ws.backends.cpu.setup.set_up` takes them.
    tol : float, optional
        Bound of the residual at which queued supersteps stop on the device.

    Returns
    -------
    Setup

    Raises
    ------
    InputError
        If the program cannot run as the options say.
    EngineError
        If the layout is for CPUs only.
    """
    accelerators = provider("accelerators")
    accelerated = accelerators.layouts(on_device=True)
    if options.plan.layout not in ("auto", "csc", *accelerated):
        raise EngineError(
            f"layout={options.plan.layout!r} is not available with engine='cuda'; leave it out, or use engine='cpu'"
        )
    if options.plan.shard_bytes is not None and options.plan.layout not in accelerated:
        named = " and ".join(f"layout={name!r}" for name in accelerated)
        raise InputError(
            f"shard_bytes={options.plan.shard_bytes} is for {named}; give one of them, or leave it out"
        )
    divided = graph.comm.size > 1
    scheduled = options.plan.method != "auto"
    if options.plan.layout in accelerated:
        accelerators.device_layouts().check(
            bound,
            options.plan.direction,
            options.plan.layout,
            in_place=in_place,
            scheduled=scheduled,
        )
    wanted = Wanted(
        direction=options.plan.direction,
        in_place=in_place,
        fused=options.plan.fused,
        priorities=options.plan.priorities,
        scheduled=scheduled,
        layout=options.plan.layout,
    )
    links, partition_links = _links_of(graph), None
    linked = None if links is None else accelerators.linked_supersteps()
    linked_run = None if linked is None else linked.of_run(links, options)
    if divided:
        partition_links = PartitionLinks(links is not None, linked_run)
    arcs = graph.on_device().arcs if graph.whole else graph.number_of_arcs
    plan = plan_of(bound, arcs, wanted, partition_links)
    strategy = plan.strategy
    if graph.whole and graph.on_device().arcs_on_host and strategy.schedule == "dense":
        plan.batch = plan.most = 1  # arcs are copied for each, also if the run is over
    if strategy.schedule == "dense" and options.plan.filter != "auto":
        raise InputError(
            f"filter={options.plan.filter!r}: {bound.program.name} lists no frontier; leave it out"
        )
    part = ProgramPart(graph, bound, on_device=True)
    exchange: Exchange = NoExchange()
    if divided:
        exchange = _among_gpus(graph, part, bound, strategy, options, linked_run)
    executor = _executor(bound, part, strategy, options, divided, tol, linked_run)
    return Setup(plan, executor, exchange)


def _executor(
    bound: BoundProgram,
    part: ProgramPart,
    strategy: Strategy,
    options: Options,
    divided: bool,
    tol: float | None,
    linked_run: LinkedRun | None,
) -> Executor:
    """Return the executor of a strategy on a partition."""
    wanted: dict[str, Any] = {"wanted": options.plan.direction, "filter": options.plan.filter}
    if strategy.schedule == "worklist":
        return CudaWorklistExecutor(bound, part, **wanted)
    if strategy.schedule == "frontier" and linked_run is not None:
        return linked_run.executor(bound, part, **wanted)
    if strategy.schedule == "frontier" and divided:
        return CudaPartitionedFrontierExecutor(bound, part, **wanted)
    if strategy.schedule == "frontier":
        return CudaFrontierExecutor(bound, part, **wanted, ordered=strategy.ordered)
    return CudaExecutor(
        bound,
        part,
        frontier=strategy.active_only,
        in_place=strategy.in_place,
        layout_name=strategy.layout,
        method=options.plan.method,
        shard_bytes=options.plan.shard_bytes,
        tol=tol,
    )


def _among_gpus(
    graph: Any,
    part: ProgramPart,
    bound: BoundProgram,
    strategy: Strategy,
    options: Options,
    linked_run: LinkedRun | None,
) -> Exchange:
    """Return the exchange of a rank on a GPU: over the links between GPUs, if there are any."""
    links = _links_of(graph)
    if links is None:
        return RankExchange(
            graph,
            method=options.plan.exchange,
            dense=not strategy.active_only,
            boundaries=part.boundaries,
            ghosts=part.ghosts,
        )
    swaps = strategy.schedule == "frontier"
    through = links.exchange_class or DeviceRankExchange
    if swaps and linked_run is not None:
        through = linked_run.exchange_class
    exchange: Exchange = through(
        graph,
        part,
        links,
        swaps=swaps,
        figures=FRONTIER_FIGURES if swaps else FIGURES + len(bound.program.aggregates),
        method=options.plan.exchange,
        frontier=strategy.active_only,
        in_place=strategy.in_place and not swaps,
    )
    return exchange


def _links_of(graph: Any) -> Any:
    """Return the links between ranks with a GPU each; None for a single rank, or without links."""
    return getattr(graph.comm, "links", None) if graph.comm.size > 1 else None
