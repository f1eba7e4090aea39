"""What a vertex program looks like to the loops: the names that they call.

The loops in `dense`, `pull`, `push`, `scatter`, and `tree` import these names.  For a run they are
instantiated: the import is replaced by the program's own functions of the same names, and the
whole is compiled (see `cugraph_ws.program.codegen`).  The definitions here are a program in their own
right, which numbers of hops from vertex 0, so that the loops can be imported, read and checked.

`state` and `constants` are tuples of arrays with one element for each vertex (a constant that is the
same for all: one element in all), `edges` a tuple of arrays with one element for each arc, `values` a tuple of numbers: the run's parameters.  A
`vertex` is what `load` returns, a `new` state a tuple of one number for each field.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "ANY",
    "CHANGES",
    "FIELDS",
    "KEEPS",
    "ORDERED",
    "SETTLES",
    "change",
    "initial",
    "is_active",
    "is_enough",
    "is_settled",
    "keep",
    "load",
    "merge",
    "message",
    "nothing",
    "order",
    "put",
    "put_message",
    "replace",
    "same",
    "starts",
    "take_message",
    "terms",
    "update",
]

ANY = True  # one message is as good as all of them: reading may stop at the first
CHANGES = True  # only a vertex that has changed can be active
KEEPS = True  # a vertex without in-edges keeps its state where all gather from all
FIELDS = 1  # number of state fields
ORDERED = False  # whether `order` ranks vertices
SETTLES = True  # whether `is_settled` says that a state is final

_FAR = 2**30


def load(state: Any, constants: Any, vertex: Any) -> Any:
    """Return a vertex: its state and its constants."""
    return (state[0][vertex],)


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
    """Tell whether `new` is the state that the vertex has already."""
    return bool(vertex[0] == new[0])


def initial(constants: Any, vertex: Any, number: Any, values: Any) -> Any:
    """Return the state of a vertex before the first superstep."""
    return (0 if number == 0 else _FAR,)


def message(source: Any, edges: Any, arc: Any, values: Any) -> Any:
    """Return the message of a source vertex along one arc."""
    return source[0] + 1


def nothing() -> Any:
    """Return the message that `merge` leaves unchanged."""
    return _FAR


def merge(first: Any, second: Any) -> Any:
    """Combine two messages."""
    return min(first, second)


def is_enough(gathered: Any) -> bool:
    """Tell whether no other message can change what was gathered, where `ANY`."""
    return True


def update(vertex: Any, gathered: Any, values: Any) -> Any:
    """Return the new state of a vertex from what it gathered."""
    return (min(vertex[0], gathered),)


def is_active(vertex: Any, new: Any, values: Any) -> bool:
    """Tell whether the change to `new` is news to the out-neighbours."""
    return bool(new[0] < vertex[0])


def is_settled(vertex: Any, values: Any) -> bool:
    """Tell whether no message can change the vertex any more."""
    return bool(vertex[0] < _FAR)


def starts(vertex: Any, values: Any) -> bool:
    """Tell whether a vertex is active before the first superstep."""
    return bool(vertex[0] == 0)


def order(vertex: Any, values: Any) -> float:
    """Return the rank by which vertices go, least first."""
    return float(vertex[0])


def change(vertex: Any, new: Any) -> float:
    """Return the size of a vertex's change, of which a run reports the norm."""
    return float(abs(vertex[0] - new[0]))


def terms(vertex: Any, values: Any) -> Any:
    """Return the vertex's terms of the program's sums over all vertices."""
    return ()


def take_message(inbox: Any, vertex: Any) -> Any:
    """Return the message that waits for a vertex."""
    return inbox[0][vertex]


def put_message(inbox: Any, vertex: Any, gathered: Any) -> None:
    """Leave a message for a vertex."""
    inbox[0][vertex] = gathered
