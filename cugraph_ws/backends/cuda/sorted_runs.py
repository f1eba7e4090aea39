"""The heaviest message of each row on the GPU where sums depend on their order: in sorted rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.backends.cuda.order import sort_ends
from cugraph_ws.backends.cuda.schedule import launch_shape
from cugraph_ws.kernels.cuda.layout import LOWEST, UNCHOSEN
from cugraph_ws.partition.part import ProgramPart
from cugraph_ws.runtime.device import Device, KernelModule

__all__ = ["SORTING", "SortedRuns", "sort_rows"]

Array = Any  # CuPy's or NumPy's

SORTING = 24  # bytes of an arc that a sort holds at once: keys, order, and scratch


class SortedRuns:
    """Rows whose messages are sorted, the weights of equal ones in the order of sources.

    Parameters
    ----------
    device : Device
    part : ProgramPart
    rows : device array, shape (arcs,)
        The row of each arc.
    slots : tuple of two device arrays, shape (arcs,)
        Messages, and weights that are floats.
    """

    def __init__(
        self, device: Device, part: ProgramPart, rows: Array, slots: tuple[Array, ...]
    ) -> None:
        xp, arcs = device.xp, part.arcs
        self._device, self._part, self._rows, self._slots = device, part, rows, slots
        self._by_source = sort_ends(rows, part.numbers[part.csc.indices], part.vertices)
        self._sorted = tuple(xp.empty_like(slot) for slot in slots)
        self._parts, self._totals = xp.empty(arcs, np.float64), xp.empty(arcs, np.float64)
        self._best, self._places = xp.empty(part.owned, np.int64), xp.empty(part.owned, np.int64)

    def choose(self, kernels: KernelModule, adjacency: Any, control: Array, chosen: Array) -> None:
        """Queue the choice of each row's message.

        Parameters
        ----------
        kernels : KernelModule
            The program's.
        adjacency, control
            As `kernels/cuda/lists.py` takes them.
        chosen : device array, shape (rows,)
            Written; anything for a row without messages.
        """
        device, part, xp = self._device, self._part, self._device.xp
        if not part.arcs:
            return
        sort_rows(device, self._rows, self._slots, self._sorted, 1, self._by_source)
        self._best.fill(LOWEST)
        self._places.fill(UNCHOSEN)
        listed = (part.arcs, self._rows, adjacency, control, self._sorted)
        totals = (self._totals, self._totals.view(np.int64), self._best)
        for name, arguments in (
            ("sum_chunks", (self._parts,)),
            ("weigh_runs", (self._parts, self._totals)),
            ("rank_runs", totals),
            ("choose_runs", (*totals, self._places)),
        ):
            kernels.launch(name, *launch_shape(device, part.arcs), *listed, *arguments)
        chosen[:] = self._sorted[0][xp.minimum(self._places, part.arcs - 1)]


def sort_rows(
    device: Device,
    rows: Array,
    columns: tuple[Array, ...],
    out: tuple[Array, ...],
    keys: int,
    order: Array = None,
) -> None:
    """Queue a stable sort of each row's messages by their first parts.

    Parameters
    ----------
    device : Device
    rows : device array, shape (arcs,)
        The row of each arc.
    columns : tuple of device arrays, shape (arcs,)
        The messages' parts.
    out : tuple of device arrays, shape (arcs,)
        Written.
    keys : int
        How many of the parts messages are sorted by.
    order : device array, shape (arcs,), optional
        The order of arcs before.
    """
    xp = device.xp
    parts = [key.view(np.uint8) if key.dtype == np.bool_ else key for key in columns[:keys]]
    for column in (*reversed(parts), rows):
        if order is None:
            order = xp.argsort(column, kind="stable")
        else:
            order = order[xp.argsort(column[order], kind="stable")]
    for column, in_order in zip(columns, out, strict=True):
        in_order[:] = column[order]
