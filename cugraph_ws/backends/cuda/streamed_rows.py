"""Dense supersteps over arcs in the host's memory: pieces are copied to the device while kernels read the one before.

A copy engine reads the link at its full rate, nearly twice as fast as kernels that read arcs in place.  A piece is
some rows, cut where those of a warp begin.  So each row is gathered by as many threads in the same order as from
arcs on the device, and its state has the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

from cugraph_ws.backends.cuda.schedule import MIDDLE, CscLayout, Schedule, piece_of
from cugraph_ws.partition.part import ProgramPart
from cugraph_ws.runtime.device import Device, KernelModule, Prepared

__all__ = ["StreamedRows"]

BUFFER = 1 << 24  # most arcs of a buffer, unless a row has more
SHARE = 4  # buffers take at most one in so many bytes that are free
WARP = 32


class Piece(NamedTuple):
    """Some rows: their launch, and the range of their arcs."""

    schedule: Schedule
    first_arc: int
    last_arc: int


class StreamedRows(CscLayout):
    """Rows of in-neighbours whose arcs are on the host: a launch for each piece that fits in a buffer."""

    in_parts = False

    def __init__(
        self, device: Device, part: ProgramPart, message: tuple[str, ...], sources: tuple[str, ...]
    ) -> None:  # fmt: skip
        super().__init__(device, part, message, sources)
        self._device, self._part, self._filling = device, part, device.buffered()

    @cached_property
    def _apart(self) -> list[Any]:
        """The arrays by arc that are on the host: neighbours, and edge columns that the program reads."""
        return [
            column
            for column in (self._rows.indices, *self._part.edges("csc"))
            if self._part.laid.is_apart(column)
        ]

    @cached_property
    def _buffers(self) -> list[list[Any]]:
        """Two buffers for each of them."""
        empty = self._device.xp.empty
        return [[empty(self._length, column.dtype) for column in self._apart] for _ in range(2)]

    @cached_property
    def _pieces(self) -> list[Piece]:
        """The rows, cut where the arcs of a buffer end."""
        _, _, low, end, *_ = self.schedule.shape
        chunks = self._device.to_host(self.schedule.hubs[3])  # the first of each hub
        pieces: list[Piece] = []
        first, first_arc, blocks = 0, 0, 0
        while first < end:
            last = self._last_row(first_arc + self._length, end)
            if low < last < end:
                last -= (last - low) % WARP
            last_arc = self._offset(last)
            schedule = piece_of(self._device, self.schedule, (first, last), chunks, blocks)
            pieces.append(Piece(schedule, first_arc, last_arc))
            first, first_arc, blocks = last, last_arc, blocks + schedule.launch[0]
        return pieces

    @cached_property
    def _length(self) -> int:
        """Arcs of a buffer: the longest row fits, and so do the rows of a warp."""
        width = sum(int(column.itemsize) for column in self._apart)
        room, limit = self._device.free_memory(), self._part.graph.memory_limit
        if limit is not None:
            room = min(room, max(0, limit - self._part.laid.nbytes))
        room //= SHARE * 2 * width  # two buffers
        return max(self._offset(1), WARP * MIDDLE, min(BUFFER, room, self._part.arcs))

    def _offset(self, row: int) -> int:
        return int(self._device.to_host(self._rows.offsets[row : row + 1])[0])

    def _last_row(self, arc: int, end: int) -> int:
        """Return the last row before which at most `arc` arcs are."""
        xp = self._device.xp
        bound = xp.asarray([arc], self._rows.offsets.dtype)
        ends = self._rows.offsets[: end + 1].searchsorted(bound, side="right")
        return int(self._device.to_host(ends)[0]) - 1

    @property
    def blocks(self) -> int:
        """Blocks of a superstep that write partial counts."""
        return sum(piece.schedule.launch[0] for piece in self._pieces)

    def superstep(self, kernels: KernelModule, arguments: tuple[Any, ...]) -> Callable[[], None]:
        """Return what launches a superstep; see `cugraph_ws.contract.Layout`."""
        (offsets, indices), edges, *more = arguments
        launches: list[tuple[int, list[tuple[Any, Any]], Prepared]] = []
        for number, piece in enumerate(self._pieces):
            which, count = number % 2, piece.last_arc - piece.first_arc
            pairs = list(zip(self._apart, self._buffers[which], strict=True))
            copies = [
                (column[piece.first_arc : piece.last_arc], buffer[:count])
                for column, buffer in pairs
            ]
            moved = {
                id(column): self._device.moved(buffer, piece.first_arc) for column, buffer in pairs
            }
            near, *near_edges = (moved.get(id(column), column) for column in (indices, *edges))
            launch = kernels.prepare(
                "superstep", *piece.schedule.launch, piece.schedule.shape, piece.schedule.hubs,
                (offsets, near), tuple(near_edges), *more,
            )  # fmt: skip
            launches.append((which, copies, launch))

        def superstep() -> None:
            for which, copies, launch in launches:
                self._filling.fill(which, copies)
                launch()
                self._filling.read(which)

        return superstep
