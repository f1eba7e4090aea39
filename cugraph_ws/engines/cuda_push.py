"""The CUDA engine where a frontier pushes: many supersteps in one cooperative launch."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.binding import BoundProgram
from cugraph_ws.cuda.graph import DeviceGraph
from cugraph_ws.cuda.schedule import BLOCK, launch_shape
from cugraph_ws.engines import Choice, Counts
from cugraph_ws.engines.cuda import CudaExecutor
from cugraph_ws.kernels.cuda.layout import COUNT, PIECE, QUEUED, STEPS

__all__ = ["CudaPushExecutor", "why_not_pushed"]

CONTROL = QUEUED + 6


def why_not_pushed(bound: BoundProgram) -> str | None:
    """Tell what keeps a program from pushing on the GPU, None if nothing does.

    Parameters
    ----------
    bound : BoundProgram
        The program and its types.

    Returns
    -------
    str or None
    """
    if not bound.accumulates:
        return "its apply may not take messages one by one, and twice"
    if len(bound.types.state) != 1 or np.dtype(bound.types.state[0]).itemsize < 4:
        return "its state is not one number of 4 or 8 bytes, which is what can be changed at once"
    if bound.program.aggregates:
        return "its aggregates would have to be added up within the launch"
    return None


class CudaPushExecutor(CudaExecutor):
    """One program on a whole graph, pushed; see `CudaExecutor`.

    Out-neighbours, and edge attributes in their order, are made when first needed and kept by the
    graph.

    Parameters
    ----------
    bound : BoundProgram
        A program for which `why_not_pushed` finds no reason.
    graph : DeviceGraph
        Adjacency and edge attributes.

    Raises
    ------
    GraphMemoryError
        If the out-neighbours would not fit.
    """

    def __init__(self, bound: BoundProgram, graph: DeviceGraph) -> None:
        super().__init__(bound, graph, frontier=True, in_place=True, push=True)
        xp, n, index = self._device.xp, graph.size, graph.numbers.dtype
        self._rows = graph.csr
        pieces = n + graph.arcs // PIECE
        self._queue = xp.empty(pieces, index), xp.empty(pieces, np.int32)
        self._listed = xp.empty(n, index)
        self._marks = xp.zeros(n, np.uint32)
        self._frontiers = xp.zeros(CONTROL, np.int64)
        self._history = xp.zeros(0, np.int64)
        self._began = False

    @cached_property
    def _out_edges(self) -> tuple[Any, ...]:
        """The program's edge attributes in the order of the CSR."""
        return self._edge_arrays("csr")

    def _prepare(self) -> None:
        """List the vertices that are flagged."""
        n = self._graph.size
        self._frontiers[:] = 0
        self._kernels.launch(
            "list_active", *launch_shape(self._device, n), n, self._flags[0], self._marks,
            self._listed, self._frontiers,
        )  # fmt: skip
        self._began = False

    def superstep(self, choice: Choice, sums: npt.NDArray[np.float64]) -> None:
        """Launch as many supersteps as the plan chose; they end when nobody has news."""
        graph, here = self._graph, self._device
        self._began = True
        self._history = here.xp.zeros(2 * choice.supersteps, np.int64)
        self._frontiers[QUEUED:] = 0  # the last launch has left its counters
        arguments = (
            graph.size, tuple(self._rows), self._out_edges, self._states[0],
            self._constants, self._marks, self._queue, self._listed, self._bound.values,
            self._sums, choice.number, choice.supersteps, self._frontiers, self._history,
        )  # fmt: skip
        most = here.most_blocks(self._kernels, "push", BLOCK, *arguments)
        grid = min(here.blocks_for(max(graph.size, graph.arcs), BLOCK), most)
        self._kernels.launch("push", grid, BLOCK, *arguments, cooperative=True)

    def counts(self) -> Counts:
        """Return what the supersteps since the last call did."""
        if not self._began or self._graph.size == 0:
            return super().counts()
        control = self._device.to_host(self._frontiers)
        done = int(control[STEPS])
        history = self._device.to_host(self._history).reshape(-1, 2)[:done]
        self._number += done
        return Counts(
            active=int(control[COUNT]),
            arcs=self._graph.arcs,
            read=int(history[:, 1].sum()),
            history=[(int(sent), int(arcs)) for sent, arcs in history],
            sums=np.zeros(0),
        )

    def queue(self) -> npt.NDArray[np.int64]:
        """Return 1, 2, … for active vertices and 0 for others."""
        self._flags[0][:] = self._marks != 0
        return super().queue()
