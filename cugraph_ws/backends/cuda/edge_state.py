"""The state of a program's edges on the GPU, by arc of the CSC."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.backends.cuda.rows import expand_rows
from cugraph_ws.partition.part import ProgramPart
from cugraph_ws.program.vertex_program import VertexProgram
from cugraph_ws.runtime.device import Device

__all__ = ["EdgeState"]


class EdgeState:
    """The state of the edges of a partition.

    Parameters
    ----------
    device : Device
    part : ProgramPart
    program : VertexProgram
        A program with state on edges.

    Attributes
    ----------
    columns : tuple of device array, each of shape (arcs,)
        A column for each field, in the order of the partition's arcs; zeros at first.
    """

    def __init__(self, device: Device, part: ProgramPart, program: VertexProgram) -> None:
        self._device, self._part, self._names = device, part, tuple(program.edge_state)
        self.columns = tuple(device.xp.zeros(part.arcs, kind) for kind in program.edge_state_kinds)

    @cached_property
    def _order(self) -> Any:
        """The arcs by destination, then source, then place: the order of the graph's CSC."""
        part, xp = self._part, self._device.xp
        if not part.arcs:
            return xp.zeros(0, np.int64)
        offsets, indices = part.csc
        rows = expand_rows(self._device, offsets, part.arcs, indices.dtype)
        ends = [xp.take(part.numbers, positions).astype(np.int64) for positions in (indices, rows)]
        return xp.lexsort(xp.stack([xp.arange(part.arcs), *ends]))

    def outside(self) -> dict[str, Any]:
        """Return the columns by field, in the order of the graph's CSC."""
        fields = zip(self._names, self.columns, strict=True)
        return {name: column[self._order] for name, column in fields}

    def restore(self, columns: dict[str, npt.NDArray[Any]]) -> None:
        """Write columns that `outside` returned."""
        for name, column in zip(self._names, self.columns, strict=True):
            column[self._order] = self._device.xp.asarray(columns[name])
