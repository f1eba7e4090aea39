"""What vertices send along their out-edges by `scatter`: which rows a thread handles, and which a block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cugraph_ws.backends.cuda.schedule import launch_shape
from cugraph_ws.partition.out_arcs import OutArcs
from cugraph_ws.partition.part import ProgramPart
from cugraph_ws.program.scatter import reads_targets
from cugraph_ws.program.vertex_program import VertexProgram
from cugraph_ws.runtime.device import Device

__all__ = ["OutRows"]

# Rows of more arcs than these are handled by blocks of so many threads
LONG, WARP = 128, 32
VERY_LONG, WIDE = 4096, 256


class OutRows:
    """The rows of out-arcs of a GPU's vertices; collective.

    Parameters
    ----------
    device : Device
    part : ProgramPart
    program : VertexProgram
        With a `scatter`.
    sent : sequence of array
        See `OutArcs`.
    """

    def __init__(
        self, device: Device, part: ProgramPart, program: VertexProgram, sent: Sequence[Any]
    ) -> None:
        self._device, self._part, xp = device, part, device.xp
        self._arcs = OutArcs(part, sent, reads_target=reads_targets(program))
        lengths = xp.diff(self._arcs.offsets[: part.owned + 1])
        self._long = [
            (xp.flatnonzero((lengths > LONG) & (lengths <= VERY_LONG)), WARP),
            (xp.flatnonzero(lengths > VERY_LONG), WIDE),
        ]

    def send(
        self, launch: Callable[..., None], state: Any, constants: Any, values: Any, sums: Any,
        number: int,
    ) -> bool:  # fmt: skip
        """Store what vertices send in superstep `number`; return whether one asked for an edge that it lacks.

        Parameters
        ----------
        launch : callable
            Launches one of the program's kernels.
        state, constants : tuple of array
        values : tuple
            The run's parameters.
        sums : array
            The aggregates.
        number : int
        """
        part, out = self._part, self._arcs
        beyond = self._device.xp.zeros(1, "int64")
        out.clear()
        arrays = (out.indices, out.places, out.edges, out.stored, beyond)
        read = (*map(out.with_targets, (state, constants)), values, sums, number)
        if part.owned:
            launch(
                "send_messages", *launch_shape(self._device, part.owned),
                (part.vertices, part.owned, LONG), out.offsets, arrays, *read,
            )  # fmt: skip
        for rows, threads in self._long:
            if len(rows):
                launch(
                    "send_messages_together", len(rows), threads, (part.vertices, len(rows)), rows,
                    out.offsets, arrays, *read,
                )  # fmt: skip
        out.deliver()
        return bool(part.halo.totals(int(self._device.to_host(beyond)[0]))[0])
