"""The interface of a vertex program: the names that the loops call.

The loops in `dense`, `lists`, `modes`, `pull`, `push`, `scatter`, and `tree` import these names.  For a run they are
instantiated: the program's functions of the same names replace the import, and the whole is
compiled (see `cugraph_ws.program.codegen`).  The definitions here are a program too, which counts
hops from vertex 0, so that the loops can be imported, read and checked.

`state` and `constants` are tuples of arrays with one element for each vertex; the array of a
uniform constant has one element.  `edges` is a tuple of arrays with one element for each arc.
`values` is a tuple of numbers, the run's parameters.  A `vertex` is what `load` returns; as an
index (in `load`, `put`, `initial` and inboxes) it is a position.  A `new` state is a tuple of one
number for each field.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = [
    "AGGREGATES",
    "ANY",
    "CHANGES",
    "CHUNK",
    "FIELDS",
    "KEEPS",
    "NO_TARGET",
    "ORDERED",
    "READS_TARGET",
    "ROUNDED",
    "SETTLES",
    "change",
    "empty_slots",
    "gather_row",
    "initial",
    "initial_edge",
    "is_active",
    "is_enough",
    "is_settled",
    "keep",
    "key_at",
    "keys_of",
    "label_at",
    "load",
    "load_target",
    "merge",
    "message",
    "next_edge",
    "next_values",
    "no_gathered",
    "no_weight",
    "nothing",
    "order",
    "put",
    "put_edge",
    "put_message",
    "replace",
    "same",
    "same_edge",
    "send_out",
    "sort_slots",
    "starts",
    "take_message",
    "terms",
    "update",
    "weight_at",
    "with_notes",
]

AGGREGATES = 0  # number of the program's sums over all vertices
ANY = True  # any message will do: reading may stop at the first one
CHANGES = True  # only a vertex that has changed can be active
KEEPS = True  # a vertex without in-edges keeps its state in a dense superstep
FIELDS = 1  # number of state fields
ORDERED = False  # whether `order` ranks vertices
NO_TARGET = 0  # the target in loops that run no program that reads it
READS_TARGET = False  # whether messages depend on the target
CHUNK = 128  # weights of a value are added up in chunks of so many, then the chunks' sums are
ROUNDED = False  # whether total weights depend on the order in which they are added up
SETTLES = True  # whether `is_settled` says that a state is final

_FAR = 2**30


def load(state: Any, constants: Any, vertex: Any) -> Any:
    """Return a vertex: its state and its constants."""
    return (state[0][vertex],)


def load_target(state: Any, constants: Any, vertex: Any) -> Any:
    """Return the vertex that messages go to, as `load` does; 0 if the program does not read it."""
    return NO_TARGET


def put(state: Any, vertex: Any, new: Any) -> None:
    """Store a new state."""
    state[0][vertex] = new[0]


def keep(vertex: Any) -> Any:
    """Return the state of a vertex as a new state."""
    return (vertex[0],)


def replace(vertex: Any, new: Any) -> Any:
    """Return the vertex with another state."""
    return new


def same(vertex: Any, new: Any) -> bool:
    """Return whether `new` is the present state of the vertex."""
    return bool(vertex[0] == new[0])


def initial(constants: Any, vertex: Any, number: Any, values: Any) -> Any:
    """Return the state of a vertex before the first superstep."""
    return (0 if number == 0 else _FAR,)


def message(source: Any, target: Any, edges: Any, arc: Any, values: Any) -> Any:
    """Return the message of a source vertex along one arc; `target` is what `load_target` returns."""
    return source[0] + 1


def nothing() -> Any:
    """Return the neutral message of `merge`."""
    return _FAR


def merge(first: Any, second: Any) -> Any:
    """Combine two messages."""
    return min(first, second)


def is_enough(gathered: Any) -> bool:
    """Return whether no other message can change the gathered one; used if `ANY`."""
    return True


def update(vertex: Any, gathered: Any, values: Any) -> Any:
    """Return the new state of a vertex from its gathered message."""
    return (min(vertex[0], gathered),)


def is_active(vertex: Any, new: Any, values: Any) -> bool:
    """Return whether the change to `new` makes the vertex active."""
    return bool(new[0] < vertex[0])


def is_settled(vertex: Any, values: Any) -> bool:
    """Return whether no message can change the vertex any more."""
    return bool(vertex[0] < _FAR)


def starts(vertex: Any, values: Any) -> bool:
    """Return whether a vertex is active before the first superstep."""
    return bool(vertex[0] == 0)


def order(vertex: Any, values: Any) -> float:
    """Return the vertex's rank; vertices of least rank go first."""
    return float(vertex[0])


def change(vertex: Any, new: Any) -> float:
    """Return the size of a vertex's change; a run reports the norm of all changes."""
    return float(abs(vertex[0] - new[0]))


def terms(vertex: Any, values: Any) -> Any:
    """Return the vertex's terms of the program's sums over all vertices."""
    return ()


def no_terms() -> Any:
    """Return the terms of no vertices."""
    return ()


def add_terms(first: Any, second: Any) -> Any:
    """Fold two vertices' terms of the aggregates."""
    return ()


def next_values(values: Any, sums: Any, number: Any) -> Any:
    """Return the values of a superstep: those of another with other sums and another number."""
    return values


def take_message(inbox: Any, vertex: Any) -> Any:
    """Return the message in a vertex's inbox."""
    return inbox[0][vertex]


def put_message(inbox: Any, vertex: Any, gathered: Any) -> None:
    """Put a message into a vertex's inbox."""
    inbox[0][vertex] = gathered


def initial_edge(source: Any, target: Any, edges: Any, arc: Any, values: Any) -> Any:
    """Return the state of an arc before the first superstep: a number for each field."""
    return ()


def next_edge(source: Any, target: Any, edges: Any, arc: Any, values: Any) -> Any:
    """Return the state of an arc after a superstep, from the new states of its ends."""
    return ()


def same_edge(edges: Any, arc: Any, new: Any) -> bool:
    """Return whether `new` is the present state of an arc."""
    return True


def put_edge(edges: Any, arc: Any, new: Any) -> None:
    """Store the state of an arc in the last arrays of `edges`."""


def send_out(
    vertex: Any, arrays: Any, state: Any, constants: Any, begin: Any, degree: Any, values: Any
) -> None:
    """Send along the out-edges of a vertex, the arcs from `begin` on of the CSR."""


# For programs that list the messages of a vertex: `slots` is a buffer of messages, as an inbox is.


def gather_row(vertex: Any, slots: Any, first: Any, count: Any, values: Any) -> Any:
    """Return what a vertex gathers from its `count` messages, from slot `first` on."""
    return slots[0][first]


def no_gathered() -> Any:
    """Return a value of the type of what `gather_row` returns."""
    return _FAR


def label_at(slots: Any, place: Any) -> Any:
    """Return the value of the message in slot `place`, without its weight."""
    return slots[0][place]


def weight_at(slots: Any, place: Any) -> Any:
    """Return the weight of the message in slot `place`, in the type of total weights."""
    return 1


def no_weight() -> Any:
    """Return a total weight of zero."""
    return 0


def keys_of(slots: Any) -> Any:
    """Return the values of a buffer's messages as integers, in the same memory."""
    return slots[0]


def key_at(places: Any, place: Any) -> Any:
    """Return the key of a message: ordered as values are, and equal for those that count as one."""
    return places[place]


def empty_slots(size: Any) -> Any:
    """Return a buffer for `size` messages."""
    return (np.empty(size, np.int64),)


def with_notes(slots: Any, edges: Any) -> Any:
    """Return a buffer, extended by the array of `edges` that records an index out of range."""
    return slots


def sort_slots(slots: Any, count: Any) -> None:
    """Sort the first `count` messages of a buffer, if the program declares an order by value."""
