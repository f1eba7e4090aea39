"""Folds of 64-bit words over the vertices that they name: least ones, and sums.

Neither depends on the order in which threads come.
"""

from __future__ import annotations

from typing import Any

from cugraph_ws.kernels.cuda.primitives import (
    atomic_add,
    atomic_min,
    block,
    blocks,
    kernel,
    load_fresh,
    thread,
    threads,
)

__all__ = ["add_words", "lower_words"]


@kernel
def lower_words(words: Any, places: Any, count: Any, entries: Any) -> None:
    """Lower entries to the least word that names them.

    Parameters
    ----------
    words, places : int64[count]
    count : int
    entries : int64[size]
        Lowered.
    """
    for jump in range(block() * threads() + thread(), count, blocks() * threads()):
        place, word = places[jump], words[jump]
        if word < load_fresh(entries, place):  # of an entry that many name, few are lower
            atomic_min(entries, place, word)


@kernel
def add_words(words: Any, places: Any, count: Any, entries: Any) -> None:
    """Add words to the entries that they name.

    Parameters
    ----------
    words, places : int64[count]
    count : int
    entries : int64[size]
        Added to.
    """
    for jump in range(block() * threads() + thread(), count, blocks() * threads()):
        atomic_add(entries, places[jump], words[jump])
