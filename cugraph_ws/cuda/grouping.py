"""Arcs grouped by row on the device: cut into parts, each part sorted by keys of 64 bits.

One sort of all arcs at once would need 16 bytes an arc.  Parts of a twelfth need 1.3, and a byte
for each arc that says where it belongs; that byte is read once for each part.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from cugraph_ws.cuda.device import Device

__all__ = ["BLOCK", "Grouping", "Part", "number_dtype", "part_size", "run", "tile_of"]

BLOCK = 256
PIECES = 12
MOST_PARTS = 32  # a lane of a warp counts for each
LEAST_PIECE = 1 << 20  # arcs; smaller parts are not worth their launches
LEAST_TILE = 1024  # slots that a warp goes through
MOST_TILES = 1 << 14
KEY_BITS = 63  # keys are not negative
INT32_NUMBERS = 1 << 31

DeviceArray = Any  # CuPy's or NumPy's


def number_dtype(count: int) -> np.dtype[Any]:
    """Return the dtype of numbers below `count`: int32 while they fit."""
    return np.dtype(np.int32 if count < INT32_NUMBERS else np.int64)


def part_size(arcs: int) -> int:
    """Return how many arcs a part has at most, but for a single row of more."""
    return max(-(-arcs // PIECES), min(arcs, LEAST_PIECE))


def tile_of(slots: int) -> int:
    """Return how many slots a warp goes through at a time."""
    return max(LEAST_TILE, -(-slots // MOST_TILES // 128) * 128)


def run(device: Device, name: str, items: int, *arguments: Any, module: str = "build") -> None:
    """Launch a kernel of `kernels/cuda/build.py`, or another file, with a thread for each item."""
    device.module(module).launch(name, device.blocks_for(items, BLOCK), BLOCK, *arguments)


@dataclass(frozen=True)
class Part:
    """A range of rows, and of the arcs in them.

    Attributes
    ----------
    number : int
        Which part.
    first_row, last_row : int
        The range; the last is not in it.
    first_arc, last_arc : int
        Its arcs, likewise.
    """

    number: int
    first_row: int
    last_row: int
    first_arc: int
    last_arc: int

    @property
    def arcs(self) -> int:
        """Number of arcs."""
        return self.last_arc - self.first_arc

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.last_row - self.first_row


class Grouping:
    """The arcs of edges, to be grouped by row, part by part.

    Parameters
    ----------
    device : Device
    columns : tuple of two device arrays of int32 or int64, shape (edges,)
        The rows' ends of the edges, and the others.
    offsets : device array of int64, shape (size + 1,)
        Where each row starts.
    size : int
        Number of rows.
    both : bool
        Whether an edge goes into both of its ends' rows, a self-loop once.
    positions : device array, shape (size,), optional
        What the columns' numbers stand for; without it they are positions.

    Attributes
    ----------
    arcs : int
    parts : list of Part
        All rows that have arcs, in order.
    """

    def __init__(
        self,
        device: Device,
        columns: tuple[DeviceArray, DeviceArray],
        offsets: DeviceArray,
        size: int,
        *,
        both: bool = False,
        positions: DeviceArray = None,
    ) -> None:
        xp = device.xp
        self._device = device
        self._columns = columns
        self._both = int(both)
        self._positions = positions
        self._slots = len(columns[0]) << self._both
        self._tile = tile_of(self._slots)
        self._source_bits = max(1, (size - 1).bit_length())
        self._slot_bits = max(1, (self._slots - 1).bit_length())
        # A key is a row of the part above a source, a slot or a rank; more rows need more parts.
        most_rows = 1 << (KEY_BITS - max(self._source_bits, self._slot_bits))
        cuts = xp.zeros(2 * MOST_PARTS + 3, np.int64)
        run(device, "cut_rows", 1, offsets, size, PIECES, LEAST_PIECE, most_rows, MOST_PARTS, cuts)
        told = [int(one) for one in device.to_host(cuts)]
        count = told[0]
        edges = list(zip(told[1::2], told[2::2], strict=True))[: count + 1]
        self.arcs = edges[-1][1]
        self.parts = [
            Part(number, row, last_row, arc, last_arc)
            for number, ((row, arc), (last_row, last_arc)) in enumerate(pairwise(edges))
        ]
        units = -(-self._slots // self._tile)
        self._marks = xp.empty(self._slots, np.uint8)
        self._starts = xp.zeros(count * units + 1, np.int64)
        run(
            device, "mark_arcs", self._slots, columns, self._both, self._slots,
            columns[0] if positions is None else positions, int(positions is not None), cuts,
            count, self._tile, self._marks, self._starts,
        )  # fmt: skip
        xp.cumsum(self._starts, out=self._starts)

    def fill(self, part: Part, indices: DeviceArray) -> None:
        """Write a part's neighbours, ascending in each row.

        Parameters
        ----------
        part : Part
        indices : device array, shape (arcs,)
            Of all parts.
        """
        chosen = self._select(part)
        out = indices[part.first_arc : part.last_arc]
        if part.rows == 1:
            self._run(
                "place_sources", part, self._columns, self._both, self._positions, chosen,
                part.arcs, out,
            )  # fmt: skip
            del chosen
            out.sort()
            return
        keys = self._keys(part)
        self._run(
            "key_arcs", part, self._columns, self._both, self._positions, chosen, part.arcs,
            part.first_row, self._source_bits, keys,
        )  # fmt: skip
        del chosen
        keys.sort()
        self._run("take_low", part, keys, part.arcs, self._source_bits, out)

    def fill_with_order(self, part: Part, indices: DeviceArray, order: DeviceArray) -> None:
        """Write a part's neighbours, ascending in each row, and which edges they come from.

        Parallel edges stay in input order.  Row, source and edge do not fit one key: arcs are
        sorted by source and place in the input, and what came out of that by row and rank.

        Parameters
        ----------
        part : Part
        indices, order : device array, shape (arcs,)
            Of all parts.
        """
        chosen = self._select(part)
        keys = self._keys(part)
        rows = self._device.xp.empty(part.arcs, indices.dtype)
        bits = max(1, (part.arcs - 1).bit_length())
        self._run(
            "key_sources", part, self._columns, self._both, self._positions, chosen, part.arcs,
            bits, keys, rows,
        )  # fmt: skip
        keys.sort()
        second = self._keys(part)
        self._run("key_rows", part, keys, rows, part.arcs, part.first_row, bits, second)
        del rows
        if part.rows > 1:  # of one row, the ranks ascend already
            second.sort()
        place = slice(part.first_arc, part.last_arc)
        self._run(
            "finish_arcs", part, second, keys, chosen, part.arcs, bits, self._both,
            indices[place], order[place],
        )  # fmt: skip

    def slots(self, part: Part) -> DeviceArray:
        """Return a part's slots by row, in each row ascending.

        Parameters
        ----------
        part : Part

        Returns
        -------
        device array of int32 or int64, shape (part.arcs,)
        """
        chosen = self._select(part)
        if part.rows > 1:
            keys = self._keys(part)
            self._run(
                "key_slots", part, self._columns[0], chosen, part.arcs, part.first_row,
                self._slot_bits, keys,
            )  # fmt: skip
            keys.sort()
            self._run("take_low", part, keys, part.arcs, self._slot_bits, chosen)
        return chosen

    def _select(self, part: Part) -> DeviceArray:
        """Return a part's slots, ascending."""
        chosen = self._device.xp.empty(part.arcs, number_dtype(self._slots))
        run(
            self._device, "select_arcs", self._slots, self._marks, self._slots, self._tile,
            self._starts, part.number, part.first_arc, chosen,
        )  # fmt: skip
        return chosen

    def _keys(self, part: Part) -> DeviceArray:
        return self._device.xp.empty(part.arcs, np.int64)

    def _run(self, name: str, part: Part, *arguments: Any) -> None:
        run(self._device, name, part.arcs, *arguments)
