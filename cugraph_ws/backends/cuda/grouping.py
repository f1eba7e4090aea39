"""Group arcs by row on the device: cut them into parts, and sort each part by 64-bit keys.

One sort of all arcs would need 16 bytes per arc, and 4 more for the result.  So arcs are read in
rounds of about half of them.  A round writes a key for each arc, part by part; a part has about a
twelfth of all arcs.  Then parts are sorted one after another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from cugraph_ws.errors import InputError
from cugraph_ws.kernels.cuda.layout import BY_ARC, BY_SLOT, BY_SOURCE, CURSOR
from cugraph_ws.runtime.device import Device

__all__ = [
    "BLOCK",
    "Ends",
    "Grouping",
    "RowRange",
    "bits_for",
    "check_order",
    "number_dtype",
    "part_size",
    "round_size",
    "run",
    "tile_of",
]

BLOCK = 256
PIECES = 12
MOST_PARTS = 31  # a lane of a warp counts for each
ROUNDS = 2
LEAST_PIECE = 1 << 21  # arcs; smaller parts are not worth their launches
LEAST_TILE = 1024  # arcs that a warp reads, at least
MOST_TILES = 1 << 14
KEY_BITS = 63  # keys are not negative
INT32_NUMBERS = 1 << 31

DeviceArray = Any  # CuPy's or NumPy's


class Ends(NamedTuple):
    """The ends of edges, as integers from `low` on that stand for vertices.

    Attributes
    ----------
    destinations, sources : device array of int32 or int64, shape (edges,)
    low : int
    table : device array of int32 or int64, optional
        The vertex number of integer i is `table[i - low]`; without it, `i - low`.
    present : device array of int32 or int64, optional
        With a table: the integers that stand for vertices, ascending.
    counts : device array of int32 or int64, optional
        How many arcs lead to each integer from `low` on, if known; an entry for each one in the
        table, or for each vertex.
    """

    destinations: DeviceArray
    sources: DeviceArray
    low: int = 0
    table: DeviceArray = None
    present: DeviceArray = None
    counts: DeviceArray = None


def number_dtype(count: int) -> np.dtype[Any]:
    """Return the dtype of numbers below `count`: int32 while they fit."""
    return np.dtype(np.int32 if count < INT32_NUMBERS else np.int64)


def bits_for(count: int) -> int:
    """Return how many bits numbers below `count` take."""
    return max(1, (count - 1).bit_length())


def part_size(arcs: int) -> int:
    """Return the most arcs of a part; only a part of a single row may have more."""
    return max(-(-arcs // PIECES), min(arcs, LEAST_PIECE))


def round_size(arcs: int, rounds: int = ROUNDS) -> int:
    """Return the most arcs of a round; only a round of a single row may have more."""
    return min(arcs, -(-arcs // rounds) + part_size(arcs))


def check_order(slots: int, neighbours: int) -> None:
    """Raise InputError if a source and a place in the input do not fit one key.

    Parameters
    ----------
    slots : int
        Places in the input.
    neighbours : int
        Number of vertices that may be sources.

    Raises
    ------
    InputError
    """
    if bits_for(neighbours) + bits_for(slots) > KEY_BITS:
        raise InputError(
            f"{slots:,} edges with attributes are too many to sort on the GPU "
            f"with {neighbours:,} vertices; leave out weight= and attributes="
        )


def tile_of(slots: int) -> int:
    """Return how many slots a warp reads at a time."""
    return max(LEAST_TILE, -(-slots // MOST_TILES // 128) * 128)


def run(device: Device, name: str, items: int, *arguments: Any, module: str = "build") -> None:
    """Launch a kernel of `kernels/cuda/build.py`, or another file, with a thread for each item."""
    device.module(module).launch(name, device.blocks_for(items, BLOCK), BLOCK, *arguments)


@dataclass(frozen=True)
class RowRange:
    """A range of rows, and of the arcs in them.

    Attributes
    ----------
    number : int
        Number of the part.
    first_row, last_row : int
        Its rows, without the last.
    first_arc, last_arc : int
        Its arcs, without the last.
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
    """Groups the arcs of edges by row, part by part.

    Parameters
    ----------
    device : Device
    columns : tuple of two device arrays of int32 or int64, shape (edges,)
        The ends of the edges that choose the row, and the other ends.
    offsets : device array of int64, shape (size + 1,)
        Where each row starts.
    size : int
        Number of rows.
    both : bool
        Whether an edge goes into the rows of both of its ends; a self-loop goes into one.
    positions : device array, optional
        The position of each integer from `low` on; without it the integers are positions.
    low : int
    first_row : int
        The position of the first row, if these are not all rows.
    neighbours : int, optional
        Number of positions; by default the number of rows.
    rounds : int
        Most rounds in which arcs are read.
    room : device array of int64, optional
        Memory for the keys of a round.

    Attributes
    ----------
    arcs : int
    parts : list of RowRange
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
        low: int = 0,
        first_row: int = 0,
        neighbours: int | None = None,
        rounds: int = ROUNDS,
        room: DeviceArray = None,
    ) -> None:
        self._device = device
        self._most_rounds, self._held = rounds, room
        self._both = int(both)
        self._slots = len(columns[0]) << self._both
        self._ends = (
            columns, self._both, self._slots, low, columns[0] if positions is None else positions,
            int(positions is not None),
        )  # fmt: skip
        self._neighbours = size if neighbours is None else neighbours
        self._source_bits = bits_for(self._neighbours)
        self._slot_bits = bits_for(self._slots)
        # A key is a row of the part above a source, a slot or a rank; more rows need more parts.
        most_rows = 1 << (KEY_BITS - max(self._source_bits, self._slot_bits))
        self._cuts = device.xp.zeros(2 * MOST_PARTS + 3, np.int64)
        run(
            device, "cut_rows", 1, offsets, size, PIECES, LEAST_PIECE, most_rows, MOST_PARTS,
            self._cuts,
        )  # fmt: skip
        if first_row:
            self._cuts[1::2] += first_row
        bounds = [int(bound) for bound in device.to_host(self._cuts)]
        edges = list(zip(bounds[1::2], bounds[2::2], strict=True))[: bounds[0] + 1]
        self.arcs = edges[-1][1]
        self.parts = [
            RowRange(number, row, last_row, arc, last_arc)
            for number, ((row, arc), (last_row, last_arc)) in enumerate(pairwise(edges))
        ]

    def fill(self, indices: DeviceArray) -> None:
        """Write every row's neighbours, ascending.

        Parameters
        ----------
        indices : device array, shape (arcs,)
        """
        for _ in self._lists(BY_SOURCE, self._source_bits, indices):
            pass

    def fill_with_order(self, indices: DeviceArray, order: DeviceArray) -> None:
        """Write every row's neighbours, ascending, and the edges that they come from.

        Parallel edges stay in input order.  Row, source and edge do not fit one key.  So arcs are
        first sorted by source and place in the input, and the result by row and rank.

        Parameters
        ----------
        indices, order : device array, shape (arcs,)

        Raises
        ------
        InputError
            If a source and a place in the input do not fit one key either.
        """
        check_order(self._slots, self._neighbours)
        columns, both, _, *translation = self._ends
        for part, keys in self._keys(self._rounds(), BY_ARC, self._slot_bits):
            second = self._device.xp.empty(part.arcs, np.int64)
            bits = bits_for(part.arcs)
            self._run(
                "key_rows", part, columns, both, *translation, keys, part.arcs, self._slot_bits,
                part.first_row, bits, second,
            )  # fmt: skip
            if part.rows > 1:  # in a single row the ranks ascend already
                second.sort()
            place = slice(part.first_arc, part.last_arc)
            self._run(
                "finish_arcs", part, second, keys, part.arcs, bits, self._slot_bits, both,
                indices[place], order[place],
            )  # fmt: skip
            del second

    def slots(self, order: DeviceArray = None) -> Iterator[tuple[RowRange, DeviceArray]]:
        """Yield each part with its slots by row, ascending in each row.

        Parameters
        ----------
        order : device array of int32 or int64, shape (arcs,), optional
            Written: the slots of all parts.  Without it, each yielded array has its own memory.

        Yields
        ------
        part : RowRange
        slots : device array of int32 or int64, shape (part.arcs,)
        """
        return self._lists(BY_SLOT, self._slot_bits, order)

    def _rounds(self) -> list[list[RowRange]]:
        """Group the parts into rounds; a row with more arcs than a part is a round by itself."""
        most, arcs = round_size(self.arcs, self._most_rounds), 0
        rounds: list[list[RowRange]] = []
        for part in self.parts:
            long = self._is_long(part)
            if not rounds or long or self._is_long(rounds[-1][-1]) or arcs + part.arcs > most:
                rounds.append([])
                arcs = 0
            rounds[-1].append(part)
            arcs += part.arcs
        return rounds

    def _is_long(self, part: RowRange) -> bool:
        return part.rows == 1 and part.arcs > part_size(self.arcs)

    def _lists(
        self, kind: int, bits: int, out: DeviceArray
    ) -> Iterator[tuple[RowRange, DeviceArray]]:
        """Yield each part with the lowest bits of its sorted keys, written to `out`."""
        long = [part for part in self.parts if self._is_long(part)]
        for part in long:  # the row is zero, so the key is its lowest bits
            low = self._room(part, out)
            self._spread([part], kind, bits, low)
            low.sort()
            yield part, low
            del low
        short_rounds = [parts for parts in self._rounds() if parts[0] not in long]
        for part, keys in self._keys(short_rounds, kind, bits):
            low = self._room(part, out)
            self._run("take_low", part, keys, part.arcs, bits, low)
            yield part, low
            del low

    def _keys(
        self, rounds: list[list[RowRange]], kind: int, bits: int
    ) -> Iterator[tuple[RowRange, DeviceArray]]:
        """Yield each part with its sorted keys, valid until the next part."""
        most = max((parts[-1].last_arc - parts[0].first_arc for parts in rounds), default=0)
        room = self._held
        if room is None:
            room = self._device.xp.empty(most, np.int64)
        for parts in rounds:
            self._spread(parts, kind, bits, room)
            for part in parts:
                first = part.first_arc - parts[0].first_arc
                keys = room[first : first + part.arcs]
                keys.sort()
                yield part, keys

    def _room(self, part: RowRange, out: DeviceArray) -> DeviceArray:
        if out is None:
            return self._device.xp.empty(part.arcs, number_dtype(self._slots))
        return out[part.first_arc : part.last_arc]

    def _spread(self, parts: list[RowRange], kind: int, bits: int, keys: DeviceArray) -> None:
        """Write the keys of all arcs of adjacent parts, part by part, unsorted."""
        starts = np.zeros((len(parts), CURSOR), np.int64)
        starts[:, 0] = [part.first_arc - parts[0].first_arc for part in parts]
        device = self._device
        device.module("build").launch(
            "scatter_arcs", device.blocks_for(-(-self._slots // 4), BLOCK), BLOCK, *self._ends,
            self._cuts, parts[0].number, len(parts), kind, bits,
            device.xp.asarray(starts.ravel()), keys,
        )  # fmt: skip

    def _run(self, name: str, part: RowRange, *arguments: Any) -> None:
        run(self._device, name, part.arcs, *arguments)
