"""Labels of the vertices that ranks share, sent as a bit for each and a list of those that are not 0.

An end is a vertex that this rank shares with another one.  The ends shared with a rank are its boundary there and
the ghosts from it, those of the lower rank first, so both ranks have them in the same order.  Every rank's bits begin
at a word of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    ballot,
    block,
    blocks,
    ffs,
    inline,
    kernel,
    lane,
    popc,
    shuffle,
    thread,
    threads,
)

__all__ = ["join_ends", "list_ends", "list_labels", "mark_ends"]


@inline
def peer_of(word: Any, begins: Any) -> Any:
    """Return the rank whose bits a word has."""
    peer = np.int64(0)
    while begins[peer + 1] <= word:
        peer += 1
    return peer


@inline
def end_of(word: Any, place: Any, halo: Any, begins: Any, rank: Any) -> Any:
    """Return the position of the end that a bit of a word stands for, or -1 if there is none."""
    boundary, bounds, firsts, counts = halo
    peer = peer_of(word, begins)
    entry = 32 * (word - begins[peer]) + place
    boundary_count, ghosts = bounds[peer + 1] - bounds[peer], np.int64(counts[peer])
    before = boundary_count if rank < peer else ghosts
    position = np.int64(-1)
    if entry < boundary_count + ghosts:
        among = entry if entry < before else entry - before
        if (entry < before) == (rank < peer):
            position = np.int64(boundary[bounds[peer] + among])
        else:
            position = np.int64(firsts[peer] + among)
    return position


@kernel
def mark_ends(
    size: Any, halo: Any, begins: Any, rank: Any, trees: Any, least: Any, words: Any, counts: Any
) -> None:
    """Write a bit for each end, whether its label is above 0, and the number of bits set in each word.

    Parameters
    ----------
    size : int
        Words of all ranks.
    halo : (int[n], int64[ranks + 1], int64[ranks], int64[ranks])
        As for `mark_changed`: the boundaries of all ranks, where each begins, each rank's first ghost, and its ghosts.
    begins : int64[ranks + 1]
        Where each rank's words begin.
    rank : int
        This one.
    trees : int[positions]
        The root of each position's tree.
    least : int[positions]
        The label of each root.
    words : uint32[size]
    counts : int64[size]
    """
    for word in range((block() * threads() + thread()) // 32, size, blocks() * threads() // 32):
        end, above = end_of(word, lane(), halo, begins, rank), False
        if end >= 0:
            above = bool(least[trees[end]] != 0)
        bits = ballot(FULL, above)
        if lane() == 0:
            words[word] = bits
            counts[word] = popc(bits)


@kernel
def list_labels(
    size: Any, halo: Any, begins: Any, rank: Any, trees: Any, least: Any, words: Any, firsts: Any,
    labels: Any,
) -> None:  # fmt: skip
    """List the labels of the ends with a bit.

    Parameters
    ----------
    size, halo, begins, rank, trees, least, words
        As for `mark_ends`.
    firsts : int64[size]
        How many bits are set before each word.
    labels : int[bits]
        Of the dtype of `least`.
    """
    for base in range(
        (block() * threads() + thread()) // 32 * 32, size, blocks() * threads() // 32 * 32
    ):
        mine, first = np.uint32(0), np.int64(0)
        if base + lane() < size:
            mine, first = np.uint32(words[base + lane()]), np.int64(firsts[base + lane()])
        mask = ballot(FULL, mine != 0)
        while mask != 0:
            place = ffs(mask) - 1
            mask = np.uint32(mask & (mask - 1))
            word, slot = shuffle(FULL, np.int64(mine), place), shuffle(FULL, first, place)
            if (word >> lane()) & 1 != 0:
                end = end_of(base + place, lane(), halo, begins, rank)
                below = popc(np.uint32(word & ((np.int64(1) << lane()) - 1)))
                labels[slot + below] = least[trees[end]]


@kernel
def join_ends(
    size: Any, local_bits: Any, remote_bits: Any, counts: Any, remote_counts: Any
) -> None:
    """Set the bits that are set on either rank, and count them and those of the other rank, word by word.

    Parameters
    ----------
    size : int
    local_bits : uint32[size]
        This rank's; in place.
    remote_bits : uint32[size]
        The bits received.
    counts, remote_counts : int64[size]
    """
    for word in range(block() * threads() + thread(), size, blocks() * threads()):
        theirs = np.uint32(remote_bits[word])
        either = np.uint32(np.uint32(local_bits[word]) | theirs)
        local_bits[word] = either
        counts[word] = popc(either)
        remote_counts[word] = popc(theirs)


@kernel
def list_ends(
    size: Any, halo: Any, begins: Any, rank: Any, trees: Any, least: Any, words: Any, firsts: Any,
    remote_bits: Any, remote_firsts: Any, labels: Any, roots: Any, remote_labels: Any, shown: Any,
) -> None:  # fmt: skip
    """List the ends with a bit on either rank: their roots here, and their labels there and here.

    Parameters
    ----------
    size, halo, begins, rank, trees, least
        As for `mark_ends`.
    words, remote_bits : uint32[size]
        As `join_ends` leaves them.
    firsts, remote_firsts : int64[size]
        How many bits of each are set before each word.
    labels : int[bits of `remote_bits`]
        The labels received.
    roots : int[bits]
        Gets the root of each end, of the dtype of `trees`.
    remote_labels, shown : int[bits]
        Get its label there, 0 without a bit there, and here.
    """
    for base in range(
        (block() * threads() + thread()) // 32 * 32, size, blocks() * threads() // 32 * 32
    ):
        mine, theirs = np.uint32(0), np.uint32(0)
        first, remote_first = np.int64(0), np.int64(0)
        if base + lane() < size:
            mine, theirs = np.uint32(words[base + lane()]), np.uint32(remote_bits[base + lane()])
            first, remote_first = (
                np.int64(firsts[base + lane()]),
                np.int64(remote_firsts[base + lane()]),
            )
        mask = ballot(FULL, mine != 0)
        while mask != 0:
            place = ffs(mask) - 1
            mask = np.uint32(mask & (mask - 1))
            word, slot = shuffle(FULL, np.int64(mine), place), shuffle(FULL, first, place)
            remote_word = shuffle(FULL, np.int64(theirs), place)
            remote_slot = shuffle(FULL, remote_first, place)
            if (word >> lane()) & 1 != 0:
                lower = (np.int64(1) << lane()) - 1
                at = slot + popc(np.uint32(word & lower))
                root = trees[end_of(base + place, lane(), halo, begins, rank)]
                roots[at] = root
                shown[at] = least[root]
                received = np.int64(0)
                if (remote_word >> lane()) & 1 != 0:
                    received = np.int64(labels[remote_slot + popc(np.uint32(remote_word & lower))])
                remote_labels[at] = received
