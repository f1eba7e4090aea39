"""Messages of belief propagation on the CPU; see `cugraph_ws.algorithms.belief_propagation`.

A rank computes the messages that its owned vertices send.  Those between ranks are sent as they are, in
an order on which two ranks agree once, so that places are never sent.  Each message is computed by one rank,
since on a CPU that takes longer than to send it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.belief import add_messages, pair_arcs, send_coupled, send_potts
from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.threads import cut_offsets, number_of_threads, parallel

__all__ = ["Messages", "self_loops"]

Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MESSAGES_A_TASK = 1 << 12


class Messages:
    """The messages that owned vertices receive and send.

    Parameters
    ----------
    part : Part
    log_priors : ndarray of float64, shape (owned, states)
    coupling : ndarray of float64, shape (states, states), or str
        The one for all edges, or the edge column of strengths.
    damping : float
        Share of each old message that stays.

    Attributes
    ----------
    table : ndarray of float64, shape (messages, states)
        First those that owned vertices receive, row by row: those along their edges, then, of a directed
        graph, those against them.  After them those that owned vertices send to other ranks' vertices.
    believed : ndarray of float64, shape (owned, states)
        What each vertex believes, as logarithms, up to a constant.
    strengths : ndarray of float64, shape (messages,), or None
    """

    def __init__(
        self, part: Part, log_priors: Floats, coupling: Floats | str, damping: float
    ) -> None:
        self._part, self._log_priors, self._damping = part, log_priors, damping
        self._along: Any = slice(0, part.csc.number_of_arcs)  # places of messages along own arcs
        # Along the edges, and against them, for each rank: places of what comes from it, and the range
        # of what is sent to it.
        self._taken: list[list[Integers]] = []
        self._given: list[list[slice]] = []
        values = None
        if isinstance(coupling, str):
            values = part.arc_values(coupling).astype(np.float64)
        self.strengths: Floats | None = None
        if part.halo.alone:
            self._pair(values)
        else:
            self._pair_between_ranks(values)
        self._send: Any = send_coupled if values is None else send_potts
        self._factor = coupling if values is None else self.strengths
        self._received = self._rows[0][: part.owned + 1]
        self.table: Floats = np.zeros((len(self._rows[1]), log_priors.shape[1]))
        self._next = np.zeros_like(self.table)
        self.believed: Floats = np.empty_like(log_priors)

    def send(self) -> float:
        """Compute and send all messages once; return the largest change here; collective."""
        tasks = [
            (self._rows, self.believed, self.table, self._next, self._factor, self._damping, *cut)
            for cut in _ranges(self._rows[0])
        ]
        change = max(parallel(self._send, tasks), default=0.0)
        self.table, self._next = self._next, self.table
        self._exchange(self._given, self._taken)
        return float(change)

    def hear(self) -> None:
        """Sum up what each vertex believes."""
        tasks = [
            (self._received, self.table, self._log_priors, self.believed, *cut)
            for cut in _ranges(self._received)
        ]
        parallel(add_messages, tasks)

    def order(self) -> slice:
        """Return the places of a whole graph's messages in the order of its checkpoints."""
        return slice(None)

    def by_arc(self) -> tuple[Any, Integers]:
        """Return the places of the messages along the own arcs, and of those against them."""
        return self._along, self._rows[3][self._along]

    def restore(self, along: Floats, against: Floats | None) -> None:
        """Go on from the messages of the own arcs; collective.

        Parameters
        ----------
        along : ndarray of float64, shape (arcs, states)
        against : ndarray of float64, shape (arcs, states), or None
            None for an undirected graph, of which each is another arc's.
        """
        places, back = self.by_arc()
        self.table[places] = along
        if against is not None:
            self.table[back] = against
        # What goes along an arc here was computed where the arc's source is.
        self._exchange(self._taken[:1], self._given[:1])
        self._exchange(self._given[1:], self._taken[1:])

    def _pair(self, strengths: Floats | None) -> None:
        """Lay out the messages of a single rank, and pair those of an edge."""
        csc = self._part.csc
        offsets, senders, splits, cursors = csc.offsets, csc.indices, csc.offsets[1:], csc.offsets
        if self._part.graph.directed:
            csr = self._part.csr
            offsets, splits, self._along, against = _between(csc, csr.offsets)
            senders = np.empty(offsets[-1], csc.indices.dtype)
            senders[self._along], senders[against] = csc.indices, csr.indices
            cursors = splits
        reverse = np.empty(len(senders), np.int64)
        pair_arcs(offsets, senders, splits, cursors[: len(splits)].copy(), reverse)
        self._rows = offsets, senders, splits, reverse
        if strengths is not None:
            self.strengths = np.empty(len(senders))
            self.strengths[self._along] = strengths
            self.strengths[reverse[self._along]] = strengths

    def _pair_between_ranks(self, strengths: Floats | None) -> None:
        """Lay out messages, pair those of an edge, and agree on those between ranks; collective."""
        part, comm = self._part, self._part.halo.comm
        sources = part.numbers[part.csc.indices]
        owners = np.searchsorted(part.graph.cuts, sources, side="right") - 1
        arcs = [np.flatnonzero(owners == rank) for rank in range(comm.size)]
        if part.graph.directed:
            offsets, splits, mirrored, strengths = self._show_arcs(arcs, sources, strengths)
            own = [self._along[one] for one in arcs]
            self._taken, answered = [own, mirrored], [mirrored, own]
        else:
            # The arc that leads back is its source's owner's, which goes through these by their sources.
            offsets, splits, mirrored = part.csc.offsets, part.csc.offsets[1:], arcs
            own = [one[np.argsort(sources[one], kind="stable")] for one in arcs]
            self._taken, answered = [own], [mirrored]
        # Within the rank messages are paired.  Each that comes from outside is answered by one to there.
        inside, back = own[comm.rank], mirrored[comm.rank]
        own[comm.rank] = mirrored[comm.rank] = inside[:0]
        answers = np.concatenate([one for way in answered for one in way])
        turn = int(offsets[-1]) + sum(map(len, mirrored))
        self._rows = _with_answers(offsets, splits, inside, back, answers, turn, part.index)
        lengths = [len(one) for way in answered for one in way]
        ends = np.cumsum([offsets[-1], *lengths]).tolist()
        ranges = [slice(*cut) for cut in pairwise(ends)]
        self._given = [ranges[low : low + comm.size] for low in range(0, len(ranges), comm.size)]
        if strengths is not None:
            self.strengths = np.concatenate([strengths, strengths[answers]])

    def _show_arcs(
        self, arcs: list[Integers], sources: Integers, strengths: Floats | None
    ) -> tuple[Integers, Integers, list[Integers], Floats | None]:
        """Show each rank the arcs from its vertices, and lay out the rows of own ones; collective.

        Returns the offsets and splits of the rows, for each rank the places of the messages against the
        arcs that it has, in its order, and the strengths of all messages.
        """
        part, low = self._part, self._part.graph.cuts[:-1]
        boxes = [[sources[one] - first] for one, first in zip(arcs, low, strict=True)]
        if strengths is not None:
            boxes = [[*box, strengths[one]] for box, one in zip(boxes, arcs, strict=True)]
        came = part.halo.exchange(boxes)
        leading = np.concatenate([box[0] for box in came])
        after = np.append(0, np.bincount(leading, minlength=part.owned).cumsum())
        offsets, splits, self._along, places = _between(part.csc, after)
        against = np.empty_like(places)
        against[np.argsort(leading, kind="stable")] = places
        held = None
        if strengths is not None:
            held = np.empty(len(self._along) + len(against))
            held[self._along] = strengths
            held[against] = np.concatenate([box[1] for box in came])
        ends = np.cumsum([0, *(len(box[0]) for box in came)]).tolist()
        return offsets, splits, [against[low:high] for low, high in pairwise(ends)], held

    def _exchange(self, given: list[list[Any]], taken: list[list[Any]]) -> None:
        """Send messages to each rank, and put those that come where they belong; collective."""
        if not given:
            return
        boxes = [[self.table[one].ravel() for one in places] for places in zip(*given, strict=True)]
        came = self._part.halo.exchange(boxes)
        for places, box in zip(zip(*taken, strict=True), came, strict=True):
            for one, messages in zip(places, box, strict=True):
                self.table[one] = messages.reshape(-1, self.table.shape[1])


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
    """Lay out rows with other rows between them, given the offsets of these.

    Returns the offsets of both, where in each row the others begin, and the places of both.
    """
    offsets = csc.offsets + after
    first = np.arange(csc.number_of_arcs) + np.repeat(after[:-1], csc.degrees)
    second = np.arange(after[-1]) + np.repeat(csc.offsets[1:], np.diff(after))
    return offsets, offsets[:-1] + csc.degrees, first, second


def _with_answers(
    offsets: Integers, splits: Integers, inside: Integers, back: Integers, answers: Integers,
    turn: int, index: np.dtype[Any],
) -> tuple[Integers, Array, Integers, Integers]:  # fmt: skip
    """Add to rows of messages that come in rows of those that go out; return what the kernels take.

    `inside` and `back` are the places of the two messages of each edge within the rank, `answers` those of
    the messages that are answered; from the place `turn` on, answers go against their edges.
    """
    size, end = int(offsets[-1]), int(offsets[-1]) + len(answers)
    begun = np.arange(size, end, MESSAGES_A_TASK)
    rows = np.repeat(np.arange(len(splits)), np.diff(offsets))
    # Kernels leave out what a vertex sends itself, and so what comes from outside.
    senders = rows.astype(index)
    senders[inside], senders[back] = rows[back], rows[inside]
    reverse = np.empty(end, np.int64)
    reverse[inside], reverse[back] = back, inside
    reverse[answers], reverse[size:] = np.arange(size, end), answers
    return (
        np.concatenate([offsets[:-1], begun, [end]]),
        np.concatenate([senders, rows[answers].astype(index)]),
        np.concatenate([splits, np.clip(turn, begun, begun + MESSAGES_A_TASK)]),
        reverse,
    )


def _ranges(offsets: Integers) -> list[tuple[int, int]]:
    """Cut rows into ranges, one for each task."""
    pieces = min(4 * number_of_threads(), 1 + int(offsets[-1]) // MESSAGES_A_TASK)
    return cut_offsets(offsets, pieces)
