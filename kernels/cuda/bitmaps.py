"""Sets of vertices as bitmaps: tested, changed by many threads at once, and listed."""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    atomic_and,
    atomic_or,
    ballot,
    ffs,
    inline,
    lane,
    popc,
    shuffle,
)

__all__ = [
    "GROUPS", "add", "add_bits", "drop", "has", "list_words", "place_of", "put_word", "put_words",
    "votes",
]  # fmt: skip

GROUPS = 8  # of 32 entries that a warp reserves room for at once


@inline
def has(bitmap: Any, vertex: Any) -> Any:
    """Return whether a vertex's bit is set."""
    return (np.int64(bitmap[vertex >> 5]) >> (vertex & 31)) & 1 != 0


@inline
def add(bitmap: Any, vertex: Any) -> Any:
    """Set a vertex's bit; return whether it was not set."""
    before = atomic_or(bitmap, vertex >> 5, np.uint32(1 << (vertex & 31)))
    return (np.int64(before) >> (vertex & 31)) & 1 == 0


@inline
def add_bits(bitmap: Any, first: Any, bits: Any) -> Any:
    """Set bits of 32 adjacent vertices, from any vertex on; return those that were not set."""
    wide_bits, shift = np.int64(bits), np.int64(first & 31)
    low, high = np.uint32((wide_bits << shift) & FULL), np.uint32((wide_bits << shift) >> 32)
    before = np.int64(0)
    if low != 0:
        before = np.int64(atomic_or(bitmap, first >> 5, low)) >> shift
    if high != 0:
        before |= np.int64(atomic_or(bitmap, (first >> 5) + 1, high)) << (32 - shift)
    return np.uint32(wide_bits & (FULL ^ (before & FULL)))


@inline
def drop(bitmap: Any, vertex: Any) -> None:
    """Clear a vertex's bit."""
    atomic_and(bitmap, vertex >> 5, np.uint32(FULL ^ (1 << (vertex & 31))))


@inline
def put_word(bitmap: Any, first: Any, active: Any) -> None:
    """Write the word of 32 vertices, one bit from each lane."""
    word = ballot(FULL, active)
    if lane() == 0:
        bitmap[first >> 5] = word


@inline
def list_words(words: Any, first: Any, slot: Any, listed: Any, offsets: Any) -> Any:
    """List the vertices of 32 words from `first` on; return the lane's share of their out-arcs.

    Each lane holds a word, and the slot of the first vertex in it.
    """
    arcs = np.int64(0)
    mask = ballot(FULL, words != 0)
    while mask != 0:
        place = ffs(mask) - 1
        mask = np.uint32(mask & (mask - 1))
        word = shuffle(FULL, np.int64(words), place)
        at = shuffle(FULL, slot, place)
        if (word >> lane()) & 1 != 0:
            vertex = ((first + place) << 5) + lane()
            listed[0][at + popc(np.uint32(word & ((1 << lane()) - 1)))] = vertex
            arcs += offsets[vertex + 1] - offsets[vertex]
    return arcs


@inline
def votes(bits: Any) -> Any:
    """Return in each lane a group's votes, bit by lane; `bits` are the lane's own votes, bit by group."""
    mine = np.uint32(0)
    for group in range(GROUPS):
        word = ballot(FULL, (bits >> group) & 1 != 0)
        if lane() == group:
            mine = word
    return mine


@inline
def place_of(group: Any, mine: Any, first: Any) -> Any:
    """Return whether the lane's entry of a group was voted for, and its place.

    `mine` is what `votes` gave, and `first` the place of the first entry of the lane's group.
    """
    word = shuffle(FULL, np.int64(mine), group)
    place = shuffle(FULL, first, group) + popc(np.uint32(word & ((np.int64(1) << lane()) - 1)))
    return (word >> lane()) & 1 != 0, place


@inline
def put_words(bitmap: Any, base: Any, size: Any, bits: Any) -> Any:
    """Write the words of 256 of `size` entries; each lane has the bits of every 32nd from `base` on.

    Returns the word of the lane's group; see `votes`.
    """
    mine = votes(bits)
    word = (base >> 5) + lane()
    if lane() < GROUPS and 32 * word < size:
        bitmap[word] = mine
    return mine
