"""Put the arcs of a range of rows into tiles, by the block of their sources; see `accelerators/tiles/tiling.py`."""

from __future__ import annotations

from typing import Any

from cugraph_ws.kernels.cpu.jit import jit

__all__ = ["carry_values", "fill_tiles"]


@jit
def fill_tiles(
    low: Any,
    high: Any,
    offsets: Any,
    indices: Any,
    bits: Any,
    firsts: Any,
    sources: Any,
    places: Any,
) -> None:
    """Write source and row of the arcs of the rows [low, high) by tile, and within a tile by row.

    A block has 2^`bits` sources.  `firsts` becomes the first arc of each tile, and the end of the
    last one.  `sources` are counted from the start of the block, `places` from the row `low`.
    """
    blocks = len(firsts) - 1
    firsts[:] = 0
    for arc in range(offsets[low], offsets[high]):
        firsts[(indices[arc] >> bits) + 1] += 1
    firsts[0] = offsets[low]
    for block in range(blocks):
        firsts[block + 1] += firsts[block]
    cursors = firsts[:-1].copy()
    mask = (1 << bits) - 1
    for row in range(low, high):
        for arc in range(offsets[row], offsets[row + 1]):
            block = indices[arc] >> bits
            slot = cursors[block]
            cursors[block] = slot + 1
            sources[slot] = indices[arc] & mask
            places[slot] = row - low


@jit
def carry_values(
    first: Any, last: Any, indices: Any, bits: Any, firsts: Any, values: Any, out: Any
) -> None:
    """Write the values of the arcs [first, last) of the CSC to their slots."""
    cursors = firsts[:-1].copy()
    for arc in range(first, last):
        block = indices[arc] >> bits
        slot = cursors[block]
        cursors[block] = slot + 1
        out[slot] = values[arc]
