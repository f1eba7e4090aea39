"""Supersteps of programs that list messages, on the GPU: several launches, and sorts of rows between some."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from cugraph_ws.backends.cuda.modes import ModeTables
from cugraph_ws.backends.cuda.order import arc_rows, sort_ends
from cugraph_ws.backends.cuda.schedule import launch_shape
from cugraph_ws.backends.cuda.sorted_runs import SORTING, SortedRuns, sort_rows
from cugraph_ws.errors import GraphMemoryError
from cugraph_ws.partition.part import ProgramPart
from cugraph_ws.program.codegen import Types
from cugraph_ws.program.lists import Listing
from cugraph_ws.runtime.device import Device, KernelModule
from cugraph_ws.runtime.memory import format_bytes

__all__ = ["ListedRows"]

FINDING_ROWS = 16  # bytes of an arc while the row of each is found


class ListedRows:
    """The rows of a partition with room for the messages of all arcs; see `kernels/cuda/lists.py`.

    Parameters
    ----------
    device : Device
    part : ProgramPart
    listing : Listing
    types : Types
    targets : bool
        Whether messages read their destination.

    Attributes
    ----------
    blocks : int
        Blocks of a superstep that write partial counts.

    Raises
    ------
    GraphMemoryError
        If it would not fit on the GPU.
    """

    loops: tuple[str, ...] = ("lists",)
    in_parts = False

    def __init__(
        self, device: Device, part: ProgramPart, listing: Listing, types: Types, *, targets: bool
    ) -> None:
        xp, arcs = device.xp, part.arcs
        self._device, self._part, self._listing = device, part, listing
        self._counted, self._listed = listing.counts(types.message), listing.kind == "list"
        width = sum(np.dtype(kind).itemsize for kind in types.message)
        each = width
        if targets or not self._counted:
            each += part.numbers.dtype.itemsize + FINDING_ROWS
        if not self._counted:
            each += part.numbers.dtype.itemsize + width + SORTING
        _check_memory(device, listing, each * arcs)
        self._rows = xp.empty(0, part.numbers.dtype)
        if targets or not self._counted:
            self._rows = arc_rows(part.csc.offsets, arcs).astype(part.numbers.dtype)
        self._places = xp.empty(0, np.int64)
        if self._listed:
            order = sort_ends(self._rows, part.numbers[part.csc.indices], part.vertices)
            self._places = xp.empty(arcs, np.int32 if arcs <= np.iinfo(np.int32).max else np.int64)
            self._places[order] = xp.arange(arcs, dtype=self._places.dtype)
        self._slots = tuple(xp.empty(arcs, kind) for kind in types.message)
        self._keys = len(self._slots[: listing.sorted_by]) if self._listed else 0
        self._sorted = self._slots
        if self._keys:
            self._sorted = tuple(xp.empty(arcs, kind) for kind in types.message)
        self._tables: ModeTables | None = None
        self._runs: SortedRuns | None = None
        self.blocks = launch_shape(device, part.owned)[0]

    def superstep(self, kernels: KernelModule, arguments: tuple[Any, ...]) -> Callable[[], None]:
        """Return what launches a superstep.

        Parameters
        ----------
        kernels : KernelModule
            The program's kernels.
        arguments : tuple
            As `kernels/cuda/superstep.py` takes them, from the adjacency on.

        Returns
        -------
        callable
        """
        part, device = self._part, self._device
        adjacency, edges, state, _, constants, _, _, parameters, sums, control, *_ = arguments
        steps: list[Callable[[], None]] = []
        if part.arcs:
            steps.append(
                kernels.prepare(
                    "list_messages", *launch_shape(device, part.arcs), part.vertices, part.arcs,
                    self._rows, self._places, adjacency, edges, state, constants, parameters, sums,
                    control, self._slots,
                )
            )  # fmt: skip
        chosen = device.xp.empty(0, np.int64)
        noted = edges[-1:]
        if not self._listed:
            if self._tables is None:
                offsets = part.csc.offsets[: part.owned + 1]
                self._tables = ModeTables(device, offsets, self._slots, control)
            chosen, noted = self._tables.chosen, ()
            ordered = partial(self._choose_in_order, self._tables, kernels, adjacency, control)
            steps.append(self._tables.prepare() if self._counted else ordered)
        elif self._keys and part.arcs:
            steps.append(
                partial(sort_rows, device, self._rows, self._slots, self._sorted, self._keys)
            )
        steps.append(
            kernels.prepare(
                "apply_lists", *launch_shape(device, part.owned), (part.vertices, part.owned),
                (*self._sorted, *noted), chosen, *arguments,
            )
        )  # fmt: skip

        def launch() -> None:
            for step in steps:
                step()

        return launch

    def _choose_in_order(
        self, tables: ModeTables, kernels: KernelModule, adjacency: Any, control: Any
    ) -> None:
        """Queue the choice of messages whose weights are floats."""
        scale = tables.scale()
        if scale is not None:
            tables.prepare(scale)()
            return
        if self._runs is None:
            self._runs = SortedRuns(self._device, self._part, self._rows, self._slots)
        self._runs.choose(kernels, adjacency, control, tables.chosen)


def _check_memory(device: Device, listing: Listing, needed: int) -> None:
    """Raise GraphMemoryError if the lists would not fit."""
    available = device.free_memory()
    if needed > available:
        raise GraphMemoryError(
            f"{listing!r} needs {format_bytes(needed)} of GPU memory for the messages of all arcs, and "
            f"{format_bytes(available)} are available; use engine='cpu', or a larger GPU"
        )
