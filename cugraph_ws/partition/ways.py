"""What a message between ranks consists of: its bytes for each way, and the way of fewest bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cugraph_ws.contract import Entry, Way

__all__ = ["bit_of", "bytes_in_bits", "bytes_listed", "bytes_whole", "choose_way", "names_of"]

WAYS: tuple[Way, ...] = ("vr", "ms", "all", "bits")


def bytes_listed(useful: Any, entry: Entry) -> Any:
    """Return the bytes of a message that lists the vertices that have changed (VR).

    Parameters
    ----------
    useful : int or ndarray of int
        Number of these vertices; by sender and receiver, if of many messages.
    entry : Entry
    """
    return useful * (entry.width + entry.place)


def bytes_whole(count: Any, entry: Entry) -> Any:
    """Return the bytes of a message with all `count` vertices of a boundary (MS); see `bytes_listed`."""
    return count * (entry.width + entry.flag)


def bytes_in_bits(count: Any, entry: Entry, *, word: int = 1) -> Any:
    """Return the bytes of a message with a bit for each vertex, in words of `word` bytes, and one value."""
    return -(-count // (8 * word)) * word + entry.width


def choose_way(useful: int, count: int, entry: Entry, alike: Callable[[], bool]) -> Way:
    """Return the way of fewest bytes to send a message whose sizes are known; see `contract.ChooseWay`."""
    listed, whole = bytes_listed(useful, entry), bytes_whole(count, entry)
    if useful and bytes_in_bits(count, entry) < min(listed, whole) and alike():
        return "bits"
    return "vr" if listed < whole else "ms"


def bit_of(way: Way) -> int:
    """Return the bit that represents a way in `Traffic.ways`."""
    return 1 << WAYS.index(way)


def names_of(ways: int) -> str:
    """Return the names of the ways whose bits are set, joined by "+"."""
    return "+".join(name for place, name in enumerate(WAYS) if ways >> place & 1)
