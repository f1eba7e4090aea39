"""Put the arcs of a CSC into shards: by source within each, and into slots by window of sources.

See `arc_shards.py` for what reads them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.layout import GROUP, GROUP_BITS
from cugraph_ws.kernels.cuda.primitives import (
    block,
    blocks,
    inline,
    kernel,
    load_once,
    thread,
    threads,
)

__all__ = ["find_pieces", "key_sources", "place_arcs", "split_keys"]


@kernel
def key_sources(
    indices: Any, first: Any, count: Any, capacity: Any, source_bits: Any, place_bits: Any, keys: Any
) -> None:  # fmt: skip
    """Write the keys of the arcs from `first` on: shard above source above place in the shard.

    `first` is the first arc of a shard, which counts as shard 0.
    """
    for arc in range(block() * threads() + thread(), count, blocks() * threads()):
        shard = np.int64(arc) // capacity
        key = (shard << source_bits) | np.int64(load_once(indices, first + arc))
        keys[arc] = (key << place_bits) | (np.int64(arc) - shard * capacity)


@kernel
def split_keys(
    keys: Any, first: Any, count: Any, source_bits: Any, place_bits: Any, sources: Any, places: Any
) -> None:  # fmt: skip
    """Take source and place from sorted keys, into entries from `first` on."""
    for arc in range(block() * threads() + thread(), count, blocks() * threads()):
        key = keys[arc]
        sources[first + arc] = (key >> place_bits) & ((np.int64(1) << source_bits) - 1)
        places[first + arc] = key & ((np.int64(1) << place_bits) - 1)


@inline
def first_from(sources: Any, low: Any, high: Any, least: Any) -> Any:
    """Return the first entry of [low, high), ascending, that is at least `least`."""
    while low < high:
        middle = (low + high) >> 1
        if sources[middle] < least:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def find_pieces(
    sources: Any, arcs: Any, capacity: Any, width: Any, windows: Any, count: Any, pieces: Any,
    begins: Any, sizes: Any,
) -> None:  # fmt: skip
    """Write first arc and size of all `pieces`: of each shard's arcs from each of `count` windows of sources."""
    for piece in range(block() * threads() + thread(), pieces, blocks() * threads()):
        shard = np.int64(piece) // count
        least = np.int64(windows[piece - shard * count]) * width
        last = min((shard + 1) * capacity, arcs)
        begin = first_from(sources, shard * capacity, last, least)
        begins[piece] = begin
        sizes[piece] = first_from(sources, begin, last, least + width) - begin


@kernel
def place_arcs(
    arcs_by_source: Any, shape: Any, window_ranks: Any, pieces: Any, slot_places: Any, window_sources: Any,
    mapper: Any, sources: Any, places: Any,
) -> None:  # fmt: skip
    """Give each arc its slot and item, or a place among those that are read by source.

    `arcs_by_source` is source and place of the arcs of each shard, by source; `shape` the number of arcs, of
    arcs in a shard, of sources in a window, and of windows with slots.  `window_ranks` has for each
    window how many before it have slots; one has them if the number differs from the next.
    `pieces` has for each piece its first arc, its first group of slots and of items, and the number
    of arcs with slots before it.
    """
    arc_sources, arc_places = arcs_by_source
    arcs, capacity, width, count = shape
    begins, slot_groups, item_groups, before = pieces
    for arc in range(block() * threads() + thread(), arcs, blocks() * threads()):
        shard = np.int64(arc) // capacity
        source = np.int64(arc_sources[arc])
        window = source // width
        rank = window_ranks[window]
        piece = shard * count + rank
        if window_ranks[window + 1] != rank:
            place = arc - begins[piece]
            slot_places[GROUP * slot_groups[piece] + place] = arc_places[arc]
            window_sources[GROUP * item_groups[piece] + place] = source - window * width
            if place & (GROUP - 1) == 0:
                mapper[item_groups[piece] + (place >> GROUP_BITS)] = slot_groups[piece] + (
                    place >> GROUP_BITS
                )
        else:
            to = arc - before[piece]
            sources[to] = source
            places[to] = arc_places[arc]
