"""Messages of loopy sum-product, as logarithms.

A message is scaled so that its largest entry is 0.  A message of zeros has no effect.  The arc of a
self-loop holds zeros, since its factor belongs to the prior of its vertex.

Rows are `(offsets, senders, splits, reverse)`.  A vertex receives the messages in its row.
`reverse[arc]` is the arc in the other direction of the same edge.  The arcs of a row before its
split go along their edge, from source to destination; the arcs from the split on go against it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import inline, jit

__all__ = ["add_messages", "pair_arcs", "send_coupled", "send_potts"]

Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Rows = tuple[Integers, Array, Integers, Integers]


@jit
def pair_arcs(
    offsets: Integers, senders: Array, splits: Integers, cursors: Integers, reverse: Integers
) -> None:
    """Find for each arc the arc in the other direction of the same edge.

    Senders are ascending before and after the split, and parallel edges are in one order
    everywhere.  So a pass over the rows finds the places of each sender's row in order.

    Parameters
    ----------
    offsets, senders, splits : ndarray
        Rows, without `reverse`.
    cursors : ndarray of int64, shape (vertices,)
        Where the reverse arcs start in each row: at its split, or at its start if no row has arcs
        after its split; overwritten.
    reverse : ndarray of int64, shape (arcs,)
        Written.
    """
    for vertex in range(len(splits)):
        for arc in range(offsets[vertex], splits[vertex]):
            sender = senders[arc]
            back = cursors[sender]
            cursors[sender] += 1
            reverse[arc] = back
            reverse[back] = arc


@jit
def add_messages(
    offsets: Integers, messages: Floats, log_priors: Floats, totals: Floats, lo: int, hi: int
) -> None:
    """Sum the log prior of each vertex from `lo` to `hi` and the messages that it receives.

    Parameters
    ----------
    offsets : ndarray of int64, shape (vertices + 1,)
    messages : ndarray of float64, shape (arcs, states)
    log_priors : ndarray of float64, shape (vertices, states)
    totals : ndarray of float64, shape (vertices, states)
        Written.
    lo, hi : int
        Range of vertices.
    """
    states = log_priors.shape[1]
    for vertex in range(lo, hi):
        for state in range(states):
            totals[vertex, state] = log_priors[vertex, state]
        for arc in range(offsets[vertex], offsets[vertex + 1]):
            for state in range(states):
                totals[vertex, state] += messages[arc, state]


@inline
def cavity(totals: Floats, sender: int, old: Floats, back: int, out: Floats) -> None:
    """Write the sender's state probabilities without the receiver's message; the largest is 1."""
    largest = -math.inf
    for state in range(len(out)):
        out[state] = totals[sender, state] - old[back, state]
        largest = max(largest, out[state])
    for state in range(len(out)):
        out[state] = math.exp(out[state] - largest)


@inline
def damp(new: Floats, old: Floats, arc: int, damping: float) -> float:
    """Take a new message's logarithms, scale and damp them; return the largest change of one."""
    states = new.shape[1]
    largest = new[arc, 0]
    for state in range(1, states):
        largest = max(largest, new[arc, state])
    change = 0.0
    for state in range(states):
        fresh = math.log(new[arc, state] / largest)
        new[arc, state] = (1.0 - damping) * fresh + damping * old[arc, state]
        change = max(change, abs(new[arc, state] - old[arc, state]))
    return change


@jit
def send_coupled(
    rows: Rows,
    totals: Floats,
    old: Floats,
    new: Floats,
    coupling: Floats,
    damping: float,
    lo: int,
    hi: int,
) -> float:
    """Send the messages to the vertices from `lo` to `hi` through one coupling for all edges.

    Parameters
    ----------
    rows : tuple of (offsets, senders, splits, reverse)
    totals : ndarray of float64, shape (vertices, states)
        From `add_messages`.
    old, new : ndarray of float64, shape (arcs, states)
        Messages read, and written.
    coupling : ndarray of float64, shape (states, states)
        Factors in (0, 1], by the states of the source (row) and the destination (column).
    damping : float
        Weight of the old message in the new one.
    lo, hi : int
        Range of vertices.

    Returns
    -------
    float
        Largest change of an entry.
    """
    offsets, senders, splits, reverse = rows
    states = totals.shape[1]
    weights = np.empty(states, np.float64)
    change = 0.0
    for vertex in range(lo, hi):
        for arc in range(offsets[vertex], offsets[vertex + 1]):
            sender = senders[arc]
            if sender == vertex:
                continue
            cavity(totals, sender, old, reverse[arc], weights)
            along = arc < splits[vertex]
            for state in range(states):
                mass = 0.0
                for to_state in range(states):
                    factor = coupling[to_state, state] if along else coupling[state, to_state]
                    mass += weights[to_state] * factor
                new[arc, state] = mass
            change = max(change, damp(new, old, arc, damping))
    return change


@jit
def send_potts(
    rows: Rows,
    totals: Floats,
    old: Floats,
    new: Floats,
    strengths: Floats,
    damping: float,
    lo: int,
    hi: int,
) -> float:
    """Send the messages to the vertices from `lo` to `hi`, with a strength for each edge.

    Parameters
    ----------
    rows, totals, old, new, damping, lo, hi
        As in `send_coupled`.
    strengths : ndarray of float64, shape (arcs,)
        Logarithm of the factor of equal states, divided by the factor of different states.

    Returns
    -------
    float
        Largest change of an entry.
    """
    offsets, senders, _, reverse = rows
    states = totals.shape[1]
    weights = np.empty(states, np.float64)
    change = 0.0
    for vertex in range(lo, hi):
        for arc in range(offsets[vertex], offsets[vertex + 1]):
            sender = senders[arc]
            if sender == vertex:
                continue
            cavity(totals, sender, old, reverse[arc], weights)
            same = math.exp(min(strengths[arc], 0.0))
            differs = math.exp(-max(strengths[arc], 0.0))
            for state in range(states):
                mass = 0.0
                for excluded in range(states):  # no difference of sums: it would cancel digits
                    mass += weights[excluded] * (same if excluded == state else differs)
                new[arc, state] = mass
            change = max(change, damp(new, old, arc, damping))
    return change
