"""Belief propagation on a graph that a crew holds: each message is computed where its sender is.

The messages that an own vertex receives lie in its row, in the order of the loop for one machine,
and beside each is the one that goes the other way along the same edge.  So a member needs nothing
of the others but their messages, which it takes as they come: the order in which two members
go through the edges between them is agreed on once, and no place is ever sent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.algorithms.belief_propagation import (
    GREATEST_STRENGTH,
    LEAST_MESSAGE,
    BeliefPropagation,
    beliefs_of,
    strength_error,
)
from cugraph_ws.cluster.agreement import attempt
from cugraph_ws.cluster.post import Post
from cugraph_ws.cluster.shard import ShardGraph
from cugraph_ws.engines.threads import cut_offsets, number_of_threads, parallel
from cugraph_ws.kernels.cpu.belief import add_messages, send_coupled, send_potts
from cugraph_ws.run import Step
from cugraph_ws.saved_state import SavedState

__all__ = ["CrewBelief", "names_of_state"]

Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def names_of_state(states: int, *, directed: bool) -> tuple[str, ...]:
    """Return the names of what a checkpoint has of each arc.

    Parameters
    ----------
    states : int
    directed : bool

    Returns
    -------
    tuple of str
    """
    ways = ("along", "against") if directed else ("along",)
    return tuple(f"{way}_{state}" for way in ways for state in range(states))


class CrewBelief:
    """The loop on a share of a graph: each step sends all messages once.

    Parameters
    ----------
    wanted : BeliefPropagation
        The loop for one machine, which knows the arguments.
    """

    name = "belief_propagation"
    by_vertex = True
    by_vertex_state: tuple[str, ...] = ()
    diverged = False

    def __init__(self, wanted: BeliefPropagation) -> None:
        self._wanted = wanted
        self.tol, self.max_iter = wanted.tol, wanted.max_iter

    def on_cuda(self) -> CrewBelief:
        """Return the loop for members that have a GPU each."""
        from cugraph_ws.cluster.device_belief_propagation import DeviceCrewBelief

        return DeviceCrewBelief(self._wanted)

    def on_crew(self) -> CrewBelief:
        """Return the loop itself."""
        return self

    def start(self, graph: Any) -> None:
        """Pair the arcs, read priors and couplings, and start from messages that say nothing."""
        self._shard: ShardGraph = graph
        self._post = Post(graph)
        priors, matrix = self._wanted.read(graph)
        self._priors: Floats = priors
        self._log_priors = self._priors.copy()
        self._matrix = matrix
        strengths: Floats | None = None
        if matrix is None:
            strengths = attempt(graph.crew, self._read_strengths)
        self._ties = ties = _Ties.of(graph, self._post, strengths)
        if matrix is None:
            self._send, self._factor = send_potts, ties.strengths
        else:
            # Messages that come along a directed edge are answered against it, so what is sent from
            # the places before the splits reads the coupling the other way round.
            turned = np.ascontiguousarray(matrix.T) if graph.directed else matrix
            self._send, self._factor = send_coupled, turned
            loops = np.bincount(ties.loops, minlength=graph.owned)
            self._log_priors += loops[:, np.newaxis] * np.log(np.diagonal(matrix))
        self._states = self._log_priors.shape[1]
        self.by_arc_state = names_of_state(self._states, directed=graph.directed)
        self._size = int(ties.offsets[-1])
        # First those that own vertices send, then those that they receive, each at its place.
        self._messages = np.zeros((2 * self._size, self._states))
        self._next = np.zeros((self._size, self._states))
        self._residual = math.inf if graph.number_of_arcs else 0.0

    @property
    def converged(self) -> bool:
        """Whether no message changed by more than the tolerance."""
        assert self.tol is not None
        return self._residual <= self.tol

    def step(self) -> Step:
        """Send all messages once, from those of the last step."""
        ties, owned = self._ties, self._shard.owned
        totals = self._totals()
        tasks = [
            (
                ties.answers,
                totals,
                self._messages,
                self._next,
                self._factor,
                self._wanted.damping,
                owned + low,
                owned + high,
            )
            for low, high in ties.ranges
        ]
        change = max(parallel(self._send, tasks), default=0.0)
        self._messages[: self._size] = self._next
        self._exchange(self._next, self._messages[self._size :], ties.outgoing, ties.incoming)
        self._residual = max(self._shard.crew.allgather(float(change)))
        messages, sent = self._post.totals(self._size)
        return Step(
            self._shard.number_of_vertices,
            messages,
            self._residual,
            direction="gather",
            filter="all",
            bytes_sent=sent,
        )

    def inputs(self) -> dict[str, Any]:
        """Return priors, couplings and damping."""
        name = self._wanted.coupling if self._matrix is None else "coupling"
        given = self._matrix.tolist() if self._matrix is not None else self._shard.edge_values(name)
        priors = np.zeros((self._shard.length, self._states))  # ghosts' do not matter
        priors[: self._shard.owned] = self._priors
        named = {f"prior_{state}": column for state, column in enumerate(priors.T)}
        return {**named, name: given, "damping": self._wanted.damping}

    def state(self) -> dict[str, Array]:
        """Return the messages along each own arc, and against it where the graph is directed."""
        along = self._messages[self._size + self._ties.places]
        ways = [along, self._messages[self._ties.places]] if self._shard.directed else [along]
        columns = [column.copy() for way in ways for column in way.T]
        named = dict(zip(self.by_arc_state, columns, strict=True))
        return {**named, "residual": np.array([self._residual])}

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse what is no state of such a run; alone."""
        for name in self.by_arc_state:
            state.floats(name, graph.csc.number_of_arcs, LEAST_MESSAGE, 0.0)
        state.floats("residual", 1, 0.0)

    def restore(self, state: dict[str, Array]) -> None:
        """Go on from messages."""
        ties, size = self._ties, self._size
        ways = np.column_stack([state[name] for name in self.by_arc_state]).astype(np.float64)
        sent, received = self._messages[:size], self._messages[size:]
        received[ties.places] = ways[:, : self._states]
        if self._shard.directed:
            sent[ties.places] = ways[:, self._states :]
            # What goes along an arc here was sent there, and the other way round.
            self._exchange(received, sent, ties.own, ties.mirrored)
            self._exchange(sent, received, ties.own, ties.mirrored)
        else:
            self._exchange(received, sent, ties.incoming, ties.outgoing)
        self._residual = float(state["residual"][0])

    def columns(self) -> dict[str, Floats]:
        """Return the beliefs of each own vertex."""
        return beliefs_of(self._totals())

    def _read_strengths(self) -> Floats:
        """Return the strengths of own arcs, having refused what a message cannot hold."""
        values = self._shard.edge_values(self._wanted.coupling)
        wrong = ~(np.abs(values) <= GREATEST_STRENGTH)
        if wrong.any():
            raise strength_error(self._wanted.coupling, values[np.argmax(wrong)])
        return values.astype(np.float64)

    def _totals(self) -> Floats:
        """Return what each own vertex believes, as logarithms, up to a constant."""
        totals: Floats = np.empty_like(self._log_priors)
        received = self._messages[self._size :]
        offsets = self._ties.offsets
        tasks = [
            (offsets, received, self._log_priors, totals, low, high)
            for low, high in self._ties.ranges
        ]
        parallel(add_messages, tasks)
        return totals

    def _exchange(
        self, given: Floats, taken: Floats, outgoing: list[Integers], incoming: list[Integers]
    ) -> None:
        """Send messages to each member, and put those that come where they belong."""
        boxes = self._post.exchange([[given[places].ravel()] for places in outgoing])
        for places, (messages,) in zip(incoming, boxes, strict=True):
            taken[places] = messages.reshape(len(places), self._states)


@dataclass(frozen=True)
class _Ties:
    """Where the messages of own vertices are, and whose the other ends of their edges are.

    Attributes
    ----------
    offsets : ndarray of int64, shape (owned + 1,)
        Rows of the messages received.
    splits : ndarray of int64, shape (owned,)
        Places before a row's split are of messages that come along their edge.
    places : ndarray of int64, shape (arcs,)
        Place of each own arc's message.
    loops : ndarray of int, shape (self-loops,)
        The own vertex of each self-loop.
    is_loop : ndarray of bool, shape (messages,)
        Which places are a self-loop's.
    strengths : ndarray of float64, shape (messages,), or (0,) if there are none
    own, mirrored : list of ndarray of int64
        For each member the places of own arcs whose sources it owns, and of its own arcs whose
        sources are here; both in the order in which the member that has the arc goes through them.
        Of an undirected graph, whose arcs are all somewhere's own, `mirrored` names the arcs that
        lead back from here.
    outgoing, incoming : list of ndarray of int64
        For each member, the places of the messages that go there and of those that come from there.
    """

    offsets: Integers
    splits: Integers
    places: Integers
    loops: Array
    is_loop: npt.NDArray[np.bool_]
    strengths: Floats
    own: list[Integers]
    mirrored: list[Integers]
    outgoing: list[Integers]
    incoming: list[Integers]

    @classmethod
    def of(cls, shard: ShardGraph, post: Post, strengths: Floats | None) -> _Ties:
        """Find the ties of a share, together."""
        csc = shard.csc
        rows = csc.rows().astype(np.int64)
        sources = shard.positions[csc.indices]
        owners = shard.owners(sources)
        by_owner = [np.flatnonzero(owners == rank) for rank in range(shard.crew.size)]
        held = np.empty(0) if strengths is None else strengths
        if not shard.directed:
            # The arc that leads back is the owner's, which goes through those by their sources.
            mirrored = [one[np.argsort(sources[one], kind="stable")] for one in by_owner]
            places = np.arange(len(rows))
            return cls(
                csc.offsets,
                csc.offsets[1:],
                places,
                rows[csc.indices == rows],
                csc.indices == rows,
                held,
                by_owner,
                mirrored,
                by_owner,
                mirrored,
            )
        boxes = [
            [sources[one] - shard.cuts[rank], held if strengths is None else held[one]]
            for rank, one in enumerate(by_owner)
        ]
        came = post.exchange(boxes)
        back = np.concatenate([starts for starts, _ in came])  # own vertices with arcs elsewhere
        leaving = np.bincount(back, minlength=shard.owned)
        after = np.concatenate([[0], np.cumsum(leaving)])
        offsets = csc.offsets + after
        places = np.arange(len(rows)) + np.repeat(after[:-1], csc.degrees)
        against = np.empty(len(back), np.int64)
        against[np.argsort(back, kind="stable")] = np.arange(len(back)) + np.repeat(
            csc.offsets[1:], leaving
        )
        is_loop = np.zeros(int(offsets[-1]), np.bool_)
        is_loop[places] = csc.indices == rows
        ends = np.cumsum([0, *(len(starts) for starts, _ in came)]).tolist()
        mirrored = [against[low:high] for low, high in pairwise(ends)]
        own = [places[one] for one in by_owner]
        # A self-loop is its own arc and its own mirror image.
        is_loop[mirrored[shard.crew.rank]] = is_loop[own[shard.crew.rank]]
        if strengths is not None:
            spread = np.empty(int(offsets[-1]))
            spread[places] = held
            spread[against] = np.concatenate([values for _, values in came])
            held = spread
        return cls(
            offsets,
            offsets[:-1] + csc.degrees,
            places,
            rows[csc.indices == rows],
            is_loop,
            held,
            own,
            mirrored,
            [np.concatenate(pair) for pair in zip(own, mirrored, strict=True)],
            [np.concatenate(pair) for pair in zip(mirrored, own, strict=True)],
        )

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """Ranges of own vertices for the threads."""
        pieces = min(4 * number_of_threads(), 1 + int(self.offsets[-1]) // (1 << 12))
        return cut_offsets(self.offsets, pieces)

    @cached_property
    def answers(self) -> tuple[Integers, Integers, Integers, Integers]:
        """Rows of the messages sent, as the kernels of one machine take those received.

        The answers to own vertex v are the row of a receiver `owned + v`, and v sends them.  Those
        of self-loops their receiver sends itself, and such messages the kernels leave out.
        """
        owned, size = len(self.splits), int(self.offsets[-1])
        none = np.zeros(owned, np.int64)
        senders = np.repeat(np.arange(owned), np.diff(self.offsets))
        senders[self.is_loop] += owned
        reverse = np.arange(size, 2 * size)
        return (
            np.concatenate([none, self.offsets]),
            senders,
            np.concatenate([none, self.splits]),
            reverse,
        )
