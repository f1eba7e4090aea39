"""What a vertex program looks like to CUDA kernels: the names that they call.

To those of `kernels.cpu.interface` come the names that only lanes and warps need.  As there, a
program's own functions take their place when a kernel is instantiated; the definitions here go
with the program that is written out there, which numbers hops from vertex 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cpu.interface import (
    ANY,
    CHANGES,
    CHUNK,
    KEEPS,
    NO_TARGET,
    ORDERED,
    SETTLES,
    change,
    initial,
    initial_edge,
    is_active,
    is_enough,
    is_settled,
    keep,
    label_at,
    load,
    load_target,
    merge,
    message,
    next_edge,
    no_gathered,
    no_weight,
    nothing,
    order,
    put,
    put_edge,
    put_message,
    replace,
    same,
    same_edge,
    send_out,
    starts,
    take_message,
    terms,
    update,
    weight_at,
)
from cugraph_ws.kernels.cuda.primitives import (
    atomic_compare_and_swap,
    dynamic_shared,
    shared,
    shuffle,
    shuffle_down,
    shuffle_xor,
)

__all__ = [
    "ANY",
    "CHANGES",
    "CHUNK",
    "CODED",
    "FRONTIER",
    "KEEPS",
    "LANES",
    "NO_TARGET",
    "ORDERED",
    "OUTBOX",
    "PLACED",
    "SETTLES",
    "SWAPS",
    "TARGETS",
    "TERMS",
    "add_terms",
    "alike",
    "change",
    "code_at",
    "code_of",
    "copy_sent",
    "differs",
    "glance",
    "held_message",
    "initial",
    "initial_edge",
    "is_active",
    "is_enough",
    "is_settled",
    "keep",
    "label_at",
    "load",
    "load_coded",
    "load_own",
    "load_target",
    "merge",
    "message",
    "message_near",
    "next_edge",
    "no_gathered",
    "no_terms",
    "no_weight",
    "nothing",
    "order",
    "precedes",
    "put",
    "put_edge",
    "put_message",
    "put_source",
    "put_terms",
    "read_source",
    "replace",
    "row_result",
    "same",
    "same_edge",
    "send_out",
    "send_out_together",
    "shared_messages",
    "shared_sources",
    "shuffle_message",
    "shuffle_message_down",
    "shuffle_message_xor",
    "shuffle_terms_xor",
    "starts",
    "swap",
    "take_message",
    "take_source",
    "take_terms",
    "terms",
    "update",
    "weight_at",
    "with_sums",
]

FRONTIER = False  # whether only the messages of active vertices are gathered
LANES = 8  # of a virtual warp
SWAPS = False  # whether states are changed by compare-and-swap, and active vertices are in a bitmap
PLACED = False  # whether the order of listed messages matters before they are sorted
OUTBOX = False  # whether what a vertex sends is the same on every arc, and kept in an outbox
TARGETS = False  # whether messages read their target
TERMS = 0  # number of the program's aggregates
CODED = True  # whether states that are small numbers have codes of one byte

_UNCODED = 255


def alike(first: Any, second: Any) -> Any:
    """Return whether two labels are the same."""
    return first == second


def precedes(first: Any, second: Any) -> Any:
    """Return whether a label is sorted before another one."""
    return first < second


def with_sums(parameters: Any, sums: Any, vertices: Any, number: Any) -> Any:
    """Return what the program reads as `p`: parameters, aggregates, and what every program gets."""
    return (*parameters, vertices, number)


def send_out_together(
    vertex: Any, arrays: Any, state: Any, constants: Any, begin: Any, degree: Any, values: Any
) -> None:
    """Send as `send_out` does, by all threads of a block, whose number is a power of 2 and 32 at least."""


def glance(state: Any, constants: Any, vertex: Any) -> Any:
    """Return a vertex as `load` does, or as it was at some time since the last barrier."""
    return load(state, constants, vertex)


def copy_sent(source: Any, place: Any, target: Any, to: Any) -> None:
    """Copy what a partition sends of a vertex: the arrays that messages are computed from."""
    target[0][to] = source[0][place]


def differs(old: Any, new: Any, vertex: Any) -> Any:
    """Return whether what a vertex sends has changed; always True if states change in place."""
    return bool(old[0][vertex] != new[0][vertex])


def load_own(state: Any, constants: Any, vertex: Any) -> Any:
    """Return a vertex as `load` does, but bypass the cache, since no other thread reads it soon."""
    return load(state, constants, vertex)


def code_of(vertex: Any) -> Any:
    """Return the code of a vertex's state."""
    return np.uint8(vertex[0] if 0 <= vertex[0] < _UNCODED else _UNCODED)


def code_at(codes: Any, worth: Any, vertex: Any) -> Any:
    """Return a vertex's code; of a float, the code for none unless reading is `worth` it."""
    return codes[vertex]


def load_coded(code: Any, state: Any, constants: Any, vertex: Any) -> Any:
    """Return a vertex as `load` does, from its code alone where that says its state."""
    return load(state, constants, vertex) if code == _UNCODED else (np.int64(code),)


def message_near(source: Any, target: Any, edges: Any, arc: Any, values: Any) -> Any:
    """Return the message along an arc; its attributes stay cached, since the lane reads arcs beside it."""
    return message(source, target, edges, arc, values)


def add_terms(first: Any, second: Any) -> Any:
    """Add two vertices' terms of the aggregates."""
    return ()


def no_terms() -> Any:
    """Return the terms of no vertices: zeros."""
    return ()


def shuffle_terms_xor(mask: Any, sums: Any, bits: Any) -> Any:
    """Return the terms of lane `lane() ^ bits`."""
    return ()


def put_terms(array: Any, place: Any, sums: Any) -> None:
    """Store terms from `place` on."""


def take_terms(array: Any, place: Any) -> Any:
    """Return the terms that were stored from `place` on."""
    return ()


def shuffle_message(mask: Any, gathered: Any, source: Any) -> Any:
    """Return the message of lane `source`."""
    return shuffle(mask, gathered, source)


def shuffle_message_down(mask: Any, gathered: Any, distance: Any) -> Any:
    """Return the message of the lane `distance` above."""
    return shuffle_down(mask, gathered, distance)


def shuffle_message_xor(mask: Any, gathered: Any, bits: Any) -> Any:
    """Return the message of lane `lane() ^ bits`."""
    return shuffle_xor(mask, gathered, bits)


def shared_messages() -> Any:
    """Return shared memory for a message of each warp of a block."""
    return (shared(32, np.int64),)


def swap(state: Any, vertex: Any, old: Any, new: Any) -> Any:
    """Give a vertex a new state if it has still the old one; return whether it had.

    Used only where a state is one number.
    """
    return atomic_compare_and_swap(state[0], vertex, old[0], new[0]) == old[0]


def read_source(state: Any, constants: Any, outbox: Any, vertex: Any) -> Any:
    """Return what messages read of a vertex: its message, or fields of state and constants."""
    return (state[0][vertex],)


def take_source(stored: Any, place: Any) -> Any:
    """Return what `put_source` stored at a place."""
    return (stored[0][place],)


def put_source(stored: Any, place: Any, source: Any) -> None:
    """Store what `read_source` returned."""
    stored[0][place] = source[0]


def shared_sources(capacity: Any) -> Any:
    """Return shared memory for what is read of `capacity` vertices, a multiple of 8."""
    return (dynamic_shared(0, capacity, np.int64),)


def held_message(
    stored: Any, place: Any, constants: Any, edges: Any, arc: Any, values: Any
) -> Any:  # fmt: skip
    """Return the message along an arc whose source was stored at a place."""
    return message(take_source(stored, place), NO_TARGET, edges, arc, values)


def row_result(
    vertex: Any, slots: Any, first: Any, count: Any, chosen: Any, row: Any, values: Any
) -> Any:
    """Return what is gathered of the listed messages of a row; of modes, what was chosen."""
    return chosen[row]
