"""How arcs are stored for dense supersteps: the CSC here, and what accelerators have; see `cugraph_ws.contract.Layout`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cugraph_ws.backends.cuda.rows import Rows
from cugraph_ws.backends.cuda.schedule import plan_schedule
from cugraph_ws.contract import LayoutCost, LayoutName
from cugraph_ws.partition.part import ProgramPart
from cugraph_ws.runtime.device import Device, KernelModule
from cugraph_ws.runtime.dispatch import provider

__all__ = ["CscLayout", "layout_of"]


class CscLayout:
    """Rows of in-neighbours, as the build leaves them: a schedule for each class of in-degrees.

    Parameters
    ----------
    device : Device
    part : ProgramPart
    message, sources : tuple of str
        NumPy dtype names of a message's fields, and of what an arc reads of its source.

    Attributes
    ----------
    schedule : cugraph_ws.backends.cuda.schedule.Schedule
        The launch of a superstep.
    """

    name: LayoutName = "csc"
    compiled_as = "csc"
    loops: tuple[str, ...] = ()
    in_parts = True

    def __init__(
        self, device: Device, part: ProgramPart, message: tuple[str, ...], sources: tuple[str, ...]
    ) -> None:  # fmt: skip
        self._rows: Rows = part.csc
        self.schedule = plan_schedule(device, part, message)

    @classmethod
    def cost(cls, arcs: int, vertices: int) -> LayoutCost:
        """Return zeros: the graph's build makes the CSC."""
        return LayoutCost()

    @staticmethod
    def adaptors(program: Any, types: Any, variant: Any) -> list[str]:
        """Return nothing: rows need no further functions of a program."""
        return []

    @property
    def arrays(self) -> dict[str, Any]:
        """The stored arrays, by name."""
        return self._rows._asdict()

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(int(array.nbytes) for array in self._rows)

    @property
    def blocks(self) -> int:
        """Blocks of a superstep that write partial counts."""
        return self.schedule.launch[0]

    def superstep(self, kernels: KernelModule, arguments: tuple[Any, ...]) -> Callable[[], None]:
        """Return what launches a superstep; see `cugraph_ws.contract.Layout`."""
        schedule = self.schedule
        return kernels.prepare(
            "superstep", *schedule.launch, schedule.shape, schedule.hubs, *arguments
        )


def layout_of(name: str) -> Any:
    """Return the class of a layout.

    Parameters
    ----------
    name : str
        "csc", or a layout of an accelerator.

    Returns
    -------
    type
        See `cugraph_ws.contract.Layout`.

    Raises
    ------
    EngineError
        If its accelerator is left out.
    """
    if name != "csc":
        return provider("accelerators").layout_of(name)
    return CscLayout
