"""Supersteps of programs that list messages, on the GPU: several launches, and sorts of rows between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cugraph_ws.backends.cuda.order import arc_rows, sort_ends
from cugraph_ws.backends.cuda.schedule import launch_shape
from cugraph_ws.errors import GraphMemoryError
from cugraph_ws.kernels.cuda.layout import LOWEST, UNCHOSEN
from cugraph_ws.partition.program_part import ProgramPart
from cugraph_ws.program.codegen import Types
from cugraph_ws.program.lists import Listing, total_kind
from cugraph_ws.runtime.device import Device, KernelModule
from cugraph_ws.runtime.memory import format_bytes

__all__ = ["ListedRows"]

SORTING = 24  # bytes of an arc that a sort holds at once: keys, order, and scratch


class ListedRows:
    """The rows of a partition with room for the messages of all arcs; see `kernels/cuda/lists.py`.

    Parameters
    ----------
    device : Device
    part : ProgramPart
    listing : Listing
    types : Types

    Attributes
    ----------
    blocks : int
        Blocks of a superstep that leave a tally.

    Raises
    ------
    GraphMemoryError
        If it would not fit on the GPU.
    """

    loops: tuple[str, ...] = ("lists",)
    in_parts = False

    def __init__(self, device: Device, part: ProgramPart, listing: Listing, types: Types) -> None:
        xp, arcs = device.xp, part.arcs
        self._device, self._part, self._listing = device, part, listing
        width = sum(np.dtype(kind).itemsize for kind in types.message)
        each = 2 * part.numbers.dtype.itemsize + 2 * width + 16 + SORTING
        _check_memory(device, listing, each * arcs)
        self._rows = arc_rows(part.csc.offsets, arcs).astype(part.numbers.dtype)
        self._places = xp.empty(0, np.int64)
        if listing.ordered:
            order = sort_ends(self._rows, part.numbers[part.csc.indices], part.vertices)
            self._places = xp.empty(arcs, np.int32 if arcs <= np.iinfo(np.int32).max else np.int64)
            self._places[order] = xp.arange(arcs, dtype=self._places.dtype)
        self._keys = list(range(len(types.message)))[: listing.sorted_by]
        self._slots = tuple(xp.empty(arcs, kind) for kind in types.message)
        self._sorted = self._slots
        if self._keys:
            self._sorted = tuple(xp.empty(arcs, kind) for kind in types.message)
        runs = 0 if listing.kind == "list" else arcs
        kind = total_kind(listing, types.message)
        self._parts = xp.empty(runs if listing.kind == "weighted mode" else 0, kind)
        self._totals = xp.empty(runs, kind)
        rows = part.owned if listing.kind != "list" else 0
        self._best = xp.full(rows, LOWEST, np.int64)
        self._chosen = xp.full(rows, UNCHOSEN, np.int64)
        self.blocks = launch_shape(device, part.owned)[0]

    def superstep(self, kernels: KernelModule, arguments: tuple[Any, ...]) -> Callable[[], None]:
        """Return what launches a superstep.

        Parameters
        ----------
        kernels : KernelModule
            The program's.
        arguments : tuple
            As `kernels/cuda/superstep.py` takes them, from the adjacency on.

        Returns
        -------
        callable
        """
        part, device = self._part, self._device
        adjacency, edges, state, _, constants, _, _, parameters, sums, control, *_ = arguments
        steps: list[Callable[[], None]] = []

        def over_arcs(name: str, *given: Any) -> None:
            if part.arcs:
                shape = launch_shape(device, part.arcs)
                steps.append(kernels.prepare(name, *shape, *given))

        over_arcs(
            "list_messages", part.vertices, part.arcs, self._rows, self._places, adjacency, edges,
            state, constants, parameters, sums, control, self._slots,
        )  # fmt: skip
        if self._keys and part.arcs:
            steps.append(self._sort)
        listed = (part.arcs, self._rows, adjacency, control, self._sorted)
        if self._listing.kind == "weighted mode":
            over_arcs("sum_chunks", *listed, self._parts)
        if self._listing.kind != "list":
            totals = (self._totals, self._totals.view(np.int64))
            over_arcs("weigh_runs", *listed, self._parts, self._totals)
            over_arcs("rank_runs", *listed, *totals, self._best)
            over_arcs("choose_runs", *listed, *totals, self._best, self._chosen)
        noted = edges[-1:] if self._listing.kind == "list" else ()
        steps.append(
            kernels.prepare(
                "apply_lists", *launch_shape(device, part.owned), (part.vertices, part.owned),
                (*self._sorted, *noted), (self._best, self._chosen), *arguments,
            )
        )  # fmt: skip

        def launch() -> None:
            for step in steps:
                step()

        return launch

    def _sort(self) -> None:
        """Queue the sort of each row's messages: by their parts, from the last to the first, stable."""
        xp = self._device.xp
        columns = [self._slots[key] for key in self._keys]
        columns = [one.view(np.uint8) if one.dtype == np.bool_ else one for one in columns]
        order = xp.argsort(columns.pop(), kind="stable")
        for column in reversed([self._rows, *columns]):
            order = order[xp.argsort(column[order], kind="stable")]
        for column, in_order in zip(self._slots, self._sorted, strict=True):
            in_order[:] = column[order]


def _check_memory(device: Device, listing: Listing, needed: int) -> None:
    """Raise GraphMemoryError if the lists would not fit."""
    available = device.free_memory()
    if needed > available:
        raise GraphMemoryError(
            f"{listing!r} needs {format_bytes(needed)} of GPU memory for the messages of all arcs and "
            f"{format_bytes(available)} are available; use engine='cpu', or a larger GPU"
        )
