"""Messages of belief propagation on the CPU; see `cugraph_ws.algorithms.belief_propagation`.

With several ranks, a rank computes the messages that its owned vertices send, and stores them
beside those that they receive along the same edges.  It sends them to the receivers' owners.  Each
pair of ranks agrees once on the order, so places are never sent.  No message is computed twice,
since sending it is faster.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.graph.adjacency import Adjacency
from cugraph_ws.kernels.cpu.belief import add_messages, pair_arcs, send_coupled, send_potts
from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.looks import look
from cugraph_ws.runtime.threads import cut_offsets, number_of_tasks, parallel

__all__ = ["Messages", "self_loops"]

Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Rows = tuple[Integers, Array, Integers, Integers]

MESSAGES_A_TASK = 1 << 12  # at least
MOST_A_TASK = 1 << 19


class Messages:
    """The messages that owned vertices receive and send.

    Parameters
    ----------
    part : Part
    log_priors : ndarray of float64, shape (owned, states)
    coupling : ndarray of float64, shape (states, states), or str
        One coupling for all edges, or the name of the edge column of strengths.
    damping : float
        Weight of the old message in the new one.

    Attributes
    ----------
    table : ndarray of float64, shape (messages, states)
        Messages that owned vertices receive, row by row: first those along edges, then, in a
        directed graph, those against edges.  With several ranks, messages that owned vertices send
        come first.
    believed : ndarray of float64, shape (owned, states)
        The belief of each vertex, as logarithms, up to a constant.
    strengths : ndarray of float64, or None
        Strengths of the edges of the messages that are computed here.
    """

    def __init__(
        self, part: Part, log_priors: Floats, coupling: Floats | str, damping: float
    ) -> None:
        self._part, self._log_priors = part, log_priors
        self._coupling: Any = coupling
        self._damping = damping
        # Along the edges, and against them: for each rank, places of the messages received from it,
        # and of the messages sent to it.
        self._taken: list[list[Any]] = []
        self._given: list[list[Any]] = []
        self._along: Any = slice(0, part.csc.number_of_arcs)  # places of messages along its arcs
        values = None
        if isinstance(coupling, str):
            values = part.arc_values(coupling).astype(np.float64)
        layout = self._pair if part.halo.alone else self._pair_between_ranks
        self._rows, self._offsets, self.strengths = layout(values)
        self._send: Any = send_coupled if values is None else send_potts
        self._factor = coupling if values is None else self.strengths
        computed = len(self._rows[1])
        # With several ranks, messages received, and rows of messages sent, come after the others.
        self._sent = 0 if part.halo.alone else computed
        self._first = 0 if part.halo.alone else part.owned
        self.table: Floats = np.zeros((self._sent + self._offsets[-1], log_priors.shape[1]))
        self._next = np.zeros((computed, log_priors.shape[1]))
        self.believed: Floats = np.empty_like(log_priors)

    def send(self) -> float:
        """Compute and send all messages once; return the largest change here; collective."""
        tasks = [
            (self._rows, self.believed, self.table, self._next, self._factor, self._damping, *cut)
            for cut in _ranges(self._rows[0], self._first)
        ]
        change = max(parallel(self._send, tasks), default=0.0)
        if self._part.halo.alone:
            self.table, self._next = self._next, self.table
        else:
            self.table[: self._sent] = self._next
            self._exchange(self._given, self._taken)
        return float(change)

    def add_up(self) -> None:
        """Sum the belief of each vertex."""
        received = self.table[self._sent :]
        tasks = [
            (self._offsets, received, self._log_priors, self.believed, *cut)
            for cut in _ranges(self._offsets)
        ]
        parallel(add_messages, tasks)

    def order(self) -> slice:
        """Return the places of a whole graph's messages in the order of its checkpoints."""
        return slice(None)

    def by_arc(self) -> tuple[Any, Integers]:
        """Return the places of the messages along this rank's arcs, and of those against them."""
        back = np.arange(len(self.table))  # a self-loop, which sends nothing, keeps its own place
        back[self._rows[3]] = np.arange(len(self._rows[3]))
        return self._along, back[self._along]

    def restore(self, along: Floats, against: Floats | None) -> None:
        """Restore the messages of this rank's arcs; collective.

        Parameters
        ----------
        along : ndarray of float64, shape (arcs, states)
        against : ndarray of float64, shape (arcs, states), or None
            None for an undirected graph, where each is the message along another arc.
        """
        places, back = self.by_arc()
        if against is not None:
            self.table[back] = against
        self.table[places] = along
        # The message along an arc is computed by the rank that owns the arc's source.
        self._exchange(self._taken[:1], self._given[:1])
        self._exchange(self._given[1:], self._taken[1:])

    def _pair(self, strengths: Floats | None) -> tuple[Rows, Integers, Floats | None]:
        """Lay out and pair the messages of a single rank.

        Returns the rows to compute, the offsets of the rows received, and strengths.
        """
        csc = self._part.csc
        offsets, senders, splits, cursors = csc.offsets, csc.indices, csc.offsets[1:], csc.offsets
        if self._part.graph.directed:
            csr = self._part.csr
            offsets, splits, self._along, against = _between(csc, csr.offsets)
            look()
            cursors, senders = splits, np.empty(offsets[-1], csc.indices.dtype)
            senders[self._along], senders[against] = csc.indices, csr.indices
            look()
            if strengths is not None:
                strengths_of_arcs, strengths = strengths, np.empty(offsets[-1])
                strengths[self._along] = strengths_of_arcs
                strengths[against] = self._part.arc_values(self._coupling, "csr")
        look()
        reverse = np.empty(len(senders), np.int64)
        pair_arcs(offsets, senders, splits, cursors[: len(splits)].copy(), reverse)
        look()
        return (offsets, senders, splits, reverse), offsets, strengths

    def _pair_between_ranks(self, strengths: Floats | None) -> tuple[Rows, Integers, Floats | None]:
        """Lay out messages, and agree on the order of those sent; collective; see `_pair`."""
        part, csc, comm = self._part, self._part.csc, self._part.halo.comm
        ghosts = np.full(part.size - part.owned, csc.number_of_arcs)  # ghosts have no rows
        square = Adjacency(np.append(csc.offsets, ghosts), csc.indices)
        by_source, (order,) = square.transpose(np.arange(csc.number_of_arcs))
        held_by = list(part.ghosts)
        held_by[comm.rank] = 0, part.owned
        # A sender orders its messages along edges by sender, then by receiver.
        sorted_arcs = [order[slice(*by_source.offsets[[*cut]])] for cut in held_by]
        inside = sorted_arcs[comm.rank]
        loops = csc.indices[inside] == csc.rows()[inside]
        sorted_arcs[comm.rank] = inside[~loops]  # self-loops send nothing
        arcs = [np.sort(places) for places in sorted_arcs]
        if part.graph.directed:
            offsets, mirrored, strengths = self._show_arcs(arcs, strengths)
            own_places = [self._along[places] for places in arcs]
            receiving = [[self._along[places] for places in sorted_arcs], mirrored]
            answered = [[np.sort(places) for places in mirrored], own_places]
        else:
            offsets, receiving, answered = csc.offsets, [sorted_arcs], [arcs]
        answers = np.concatenate([places for way in answered for places in way])
        sent_arcs, turn = len(answers), sum(map(len, answered[0]))
        ends = np.cumsum([0, *(len(places) for way in answered for places in way)]).tolist()
        ranges = [slice(*cut) for cut in pairwise(ends)]
        self._given = [ranges[: comm.size], ranges[comm.size :]][: len(receiving)]
        self._taken = [[places + sent_arcs for places in way] for way in receiving]
        if part.graph.directed:
            self._along = self._along + sent_arcs
        else:
            self._along = slice(sent_arcs, sent_arcs + csc.number_of_arcs)
        rows = np.repeat(np.arange(part.owned, dtype=part.index), np.diff(offsets))
        strengths_of_arcs = None if strengths is None else strengths[answers]
        return (
            _rows_of(rows[answers], answers + sent_arcs, turn, part.owned),
            offsets,
            strengths_of_arcs,
        )

    def _show_arcs(
        self, arcs: list[Integers], strengths: Floats | None
    ) -> tuple[Integers, list[Integers], Floats | None]:
        """Send each rank the arcs out of its vertices, and lay out the rows received; collective.

        Returns the offsets of the rows; for each rank, in its order, the places of the messages
        against its arcs; and the strengths of all messages.
        """
        part, owners = self._part, self._part.owners
        sources = [part.numbers[part.csc.indices[array]] for array in arcs]
        buffers = [[owners.places(array, rank)] for rank, array in enumerate(sources)]
        if strengths is not None:
            buffers = [
                [*buffer, strengths[array]] for buffer, array in zip(buffers, arcs, strict=True)
            ]
        received = part.halo.exchange(buffers)
        leading = np.concatenate([buffer[0] for buffer in received])
        after = np.append(0, np.bincount(leading, minlength=part.owned).cumsum())
        offsets, _, self._along, places = _between(part.csc, after)
        against = np.empty_like(places)
        against[np.argsort(leading, kind="stable")] = places
        strengths_of_arcs = None
        if strengths is not None:
            strengths_of_arcs = np.empty(offsets[-1])
            strengths_of_arcs[self._along] = strengths
            strengths_of_arcs[against] = np.concatenate([buffer[1] for buffer in received])
        ends = np.cumsum([0, *(len(buffer[0]) for buffer in received)]).tolist()
        return offsets, [against[low:high] for low, high in pairwise(ends)], strengths_of_arcs

    def _exchange(self, sending: list[list[Any]], receiving: list[list[Any]]) -> None:
        """Send messages to each rank, and put the received ones into their places; collective."""
        if not sending:
            return
        buffers = [
            [self.table[rows].ravel() for rows in places] for places in zip(*sending, strict=True)
        ]
        received = self._part.halo.exchange(buffers)
        for places, buffer in zip(zip(*receiving, strict=True), received, strict=True):
            for rows, messages in zip(places, buffer, strict=True):
                self.table[rows] = messages.reshape(-1, self.table.shape[1])


def self_loops(part: Part) -> Integers:
    """Return how many self-loops each owned vertex has.

    Parameters
    ----------
    part : Part

    Returns
    -------
    ndarray of int64, shape (owned,)
    """
    rows = part.csc.rows()
    return np.bincount(rows[rows == part.csc.indices], minlength=part.owned)


def _between(csc: Any, after: Integers) -> tuple[Integers, Integers, Integers, Integers]:
    """Interleave rows with other rows, whose offsets are given.

    Returns the offsets of the joint rows, where the others begin in each row, and the places of
    both.
    """
    offsets = csc.offsets + after
    first = np.arange(csc.number_of_arcs) + np.repeat(after[:-1], csc.degrees)
    look()
    second = np.arange(after[-1]) + np.repeat(csc.offsets[1:], np.diff(after))
    return offsets, offsets[:-1] + csc.degrees, first, second


def _rows_of(senders: Array, reverse: Integers, turn: int, owned: int) -> Rows:
    """Return the rows of sent messages in the form that kernels take for received ones.

    From the place `turn` on, messages go against their edges.  Kernels skip messages from a vertex
    to itself, so these rows have other numbers than the senders.
    """
    begun = np.arange(0, len(senders), MESSAGES_A_TASK)
    none = np.zeros(owned, np.int64)
    offsets = np.concatenate([none, begun, [len(senders)]])
    splits = np.concatenate([none, np.clip(turn, begun, begun + MESSAGES_A_TASK)])
    return offsets, senders, splits, reverse


def _ranges(offsets: Integers, first: int = 0) -> list[tuple[int, int]]:
    """Split the rows from the first on into ranges, one for each task."""
    pieces = number_of_tasks(int(offsets[-1]), MESSAGES_A_TASK, MOST_A_TASK)
    return [(first + low, first + high) for low, high in cut_offsets(offsets[first:], pieces)]
