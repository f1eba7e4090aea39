"""Where runs take their supersteps over a window between GPUs; see `cugraph_ws.contract.LinkedSupersteps`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cugraph_ws.accelerators.linked.exchange import LinkedRankExchange
from cugraph_ws.accelerators.linked.executor import LinkedFrontierExecutor
from cugraph_ws.accelerators.linked.launches import Window
from cugraph_ws.accelerators.linked.planner import LinkedPlanner, linked_plan
from cugraph_ws.accelerators.linked.window import GpuWindow, open_window
from cugraph_ws.backends.cuda.planner import CudaPlanner
from cugraph_ws.contract import LinkedRun
from cugraph_ws.partition.part import ProgramPart
from cugraph_ws.program.binding import BoundProgram
from cugraph_ws.runtime.communicator import Communicator, Links

__all__ = ["LinkedSuperstepsOfRun", "WindowSupersteps"]


@dataclass(frozen=True)
class LinkedSuperstepsOfRun:
    """The supersteps of one run; see `cugraph_ws.contract.LinkedRun`."""

    window: Window
    in_bits: bool
    exchange_class: Any = LinkedRankExchange

    def plan(
        self, plan: CudaPlanner, bound: BoundProgram, arcs: int, direction: str
    ) -> LinkedPlanner:
        """Return the plan of a run that would be fused on one GPU."""
        return linked_plan(
            plan, bound, arcs,
            pulls_too=direction == "auto", capacity=self.window.capacity, in_bits=self.in_bits,
        )  # fmt: skip

    def executor(
        self, bound: BoundProgram, part: ProgramPart, **options: Any
    ) -> LinkedFrontierExecutor:
        """Return the executor; collective."""
        return LinkedFrontierExecutor(bound, part, window=self.window, **options)


class WindowSupersteps:
    """Supersteps in launches that exchange updates themselves; see `cugraph_ws.contract.LinkedSupersteps`."""

    def open(self, comm: Communicator) -> GpuWindow | None:
        """Return memory of all ranks' GPUs, if each can address that of all others; collective."""
        return open_window(comm)

    def of_run(self, links: Links, options: Any) -> LinkedRun | None:
        """Return the supersteps of a run, if there is a window and the options allow its use."""
        plan = options.plan
        plain = plan.filter == "auto" and plan.exchange in ("auto", "vr")
        if (
            links.window is None
            or not plain
            or not plan.fused
            or plan.direction in ("pull", "gather")
        ):
            return None
        return LinkedSuperstepsOfRun(links.window, in_bits=plan.exchange == "auto")
