"""Messages of belief propagation on the GPU; see `cugraph_ws.algorithms.belief_propagation`.

A rank computes both messages of each of its arcs, from the beliefs of the arc's ends, one of which
may be a ghost.  Ranks exchange sums, which are fewer than messages: a rank sums the messages to a
ghost and sends the sum to the ghost's owner, which sends back its belief.

An edge of an undirected graph is two arcs, each on the rank that owns its destination.  If the ends
have two owners, both ranks compute the same two messages, and each sums only those along its own
arcs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.backends.cuda.order import arc_rows, sort_ends
from cugraph_ws.graph.arcs import Order
from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.device import device

__all__ = ["Messages", "self_loops"]

Array = Any  # CuPy's

BLOCK = 128  # threads; the kernels' scratch has this size


class Messages:
    """The messages of a part's arcs.

    Parameters
    ----------
    part : Part
    log_priors : array of float64, shape (owned, states)
    coupling : ndarray of float64, shape (states, states), or str
        One coupling for all edges, or the name of the edge column of strengths.
    damping : float
        Weight of the old message in the new one.

    Attributes
    ----------
    table : device array of float64, shape (messages, states)
        First the messages along arcs, in the order of the CSC.  Then, except for a whole undirected
        graph, the messages against arcs, in the order of the CSR.
    believed : device array of float64, shape (size, states)
        The belief of each vertex, as logarithms, up to a constant; by position.
    """

    def __init__(self, part: Part, log_priors: Array, coupling: Any, damping: float) -> None:
        self._part, self._laid, self._damping = part, part.laid, damping
        laid, xp, arcs = part.laid, part.xp, part.laid.arcs
        ways = 1 if laid.undirected else 2
        self._ways = (laid.csc, laid.csr)[:ways]
        self._directions = 2 if part.graph.directed else 1
        if isinstance(coupling, str):
            orders: tuple[Order, ...] = ("csc", "csr")
            self._kernel = "send_potts"
            self._factors = [
                part.arc_values(coupling, order).astype(np.float64) for order in orders[:ways]
            ]
        else:
            self._kernel, self._factors = "send_coupled", [xp.asarray(coupling.ravel())] * ways
        # Ghosts have no prior here: the sums of their messages start from zero.
        self._log_priors = part.by_position(log_priors)
        self.believed = xp.empty_like(self._log_priors)
        self.table = xp.zeros((ways * arcs, log_priors.shape[1]))
        # Messages along self-loops are never written: they stay zero.
        self._next = xp.zeros_like(self.table)
        self._reverse = xp.empty(ways * arcs, np.int64)
        self._blocks = device().blocks_for(arcs, BLOCK)
        self._changes = xp.zeros(ways * self._blocks)
        self._launch(
            "pair_arcs", self._blocks, *laid.csc, *laid.csr, laid.size, arcs, (ways - 1) * arcs,
            self._reverse,
        )  # fmt: skip

    @property
    def strengths(self) -> Array:
        """Strengths of the messages' edges, if given by edge; float64, shape (messages,)."""
        return self._part.xp.concatenate(self._factors)

    def send(self) -> Array:
        """Compute all messages once; return the largest change on this rank."""
        laid, states = self._laid, self.table.shape[1]
        old, new, believed = (array.ravel() for array in (self.table, self._next, self.believed))
        for way, (rows, factor) in enumerate(zip(self._ways, self._factors, strict=True)):
            self._launch(
                self._kernel, self._blocks, rows, way, self._reverse, believed, old, new, factor,
                self._damping, (laid.size, laid.arcs, states), self._changes,
            )  # fmt: skip
        self.table, self._next = self._next, self.table
        return self._changes.max()

    def add_up(self) -> None:
        """Sum the belief of each vertex; collective."""
        laid, believed = self._laid, self.believed
        self._launch(
            "add_messages", device().blocks_for(believed.size, BLOCK),
            (laid.csc.offsets, laid.csr.offsets), self._directions, laid.arcs, self.table.ravel(),
            self._log_priors.ravel(), believed.ravel(), *believed.shape,
        )  # fmt: skip
        if self._directions > 1:
            self._part.halo.reduce(believed)
        self._part.halo.update(believed)

    def order(self) -> Array:
        """Return the places of a whole graph's messages in the order of its checkpoints.

        They are ordered by receiver, then along edges before against edges, then by sender, all by
        vertex number.  The order of parallel edges is the same everywhere.
        """
        xp = self._part.xp
        receivers, senders = zip(*map(self._ends, self._ways), strict=True)
        groups = [2 * receiver.astype(np.int64) + way for way, receiver in enumerate(receivers)]
        order = xp.argsort(xp.concatenate(senders), kind="stable")
        return order[xp.argsort(xp.concatenate(groups)[order], kind="stable")]

    def by_arc(self) -> tuple[Array, Array]:
        """Return the places of the messages along this rank's arcs, and of those against them.

        Arcs are in the host's order.
        """
        order = sort_ends(*self._ends(self._laid.csc), self._part.graph.number_of_vertices)
        return order, self._reverse[order]

    def restore(self, along: Any, against: Any) -> None:
        """Restore the messages of this rank's arcs; collective.

        Parameters
        ----------
        along : array of float64, shape (arcs, states)
        against : array of float64, shape (arcs, states), or None
            None for an undirected graph, where each is the message along another arc.
        """
        places, back = self.by_arc()
        self.table[places] = along = self._part.xp.asarray(along)
        if against is None:
            against = self._answers(self._ends(self._laid.csc)[1][places], along)
        self.table[back] = self._part.xp.asarray(against)

    def _answers(self, sources: Array, along: Array) -> Array:
        """Return the messages against this rank's arcs of an undirected graph; collective.

        `along` has the messages along its arcs.  The source's owner has the reverse arc, whose
        message it sends.
        """
        xp, halo = self._part.xp, self._part.halo
        owners = halo.owners(sources)
        theirs = [xp.flatnonzero(owners == rank) for rank in range(halo.comm.size)]
        against = xp.empty_like(along)
        received = halo.exchange([[along[rows].ravel()] for rows in theirs])
        for rows, (messages,) in zip(theirs, received, strict=True):
            back = rows[xp.argsort(sources[rows], kind="stable")]
            against[back] = messages.reshape(len(back), along.shape[1])
        return against

    def _ends(self, rows: Any) -> tuple[Array, Array]:
        """Return the vertex numbers of each arc of rows: of the row, and of its neighbour."""
        numbers = self._part.numbers
        return numbers[arc_rows(rows.offsets, self._laid.arcs)], numbers[rows.indices]

    def _launch(self, name: str, blocks: int, *arguments: Any) -> None:
        device().module("belief").launch(name, blocks, BLOCK, *arguments)


def self_loops(part: Part) -> Array:
    """Return how many self-loops each owned vertex has.

    Parameters
    ----------
    part : Part

    Returns
    -------
    device array of int64, shape (owned,)
    """
    gpu, size = device(), part.laid.size
    loops = gpu.xp.zeros(size, np.int64)
    gpu.module("core").launch(
        "count_loops", gpu.blocks_for(size, BLOCK), BLOCK, *part.laid.csc, loops, size
    )
    return part.by_number(loops)
