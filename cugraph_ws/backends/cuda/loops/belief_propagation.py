"""Messages of belief propagation on the GPU; see `cugraph_ws.algorithms.belief_propagation`.

A rank computes both messages of each arc that it has: for that it needs to know what the ends believe, of
which one may be a ghost.  So not messages travel but sums, which are fewer: what a ghost hears along arcs that
are here is added up and sent to its owner, which tells in turn what it believes.

An edge of an undirected graph is two arcs, where its ends are.  If these are two ranks', both compute both
messages, which are the same ones, and hear only of those along their own arcs.
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

BLOCK = 128  # the kernels' scratch is for as many


class Messages:
    """The messages of a part's arcs.

    Parameters
    ----------
    part : Part
    log_priors : array of float64, shape (owned, states)
    coupling : ndarray of float64, shape (states, states), or str
        The one for all edges, or the edge column of strengths.
    damping : float
        Share of each old message that stays.

    Attributes
    ----------
    table : device array of float64, shape (messages, states)
        First those along the arcs, in the order of the CSC, then, but for a whole undirected graph, those
        against them, in that of the CSR.
    believed : device array of float64, shape (size, states)
        What each vertex believes, as logarithms, up to a constant; by position.
    """

    def __init__(self, part: Part, log_priors: Array, coupling: Any, damping: float) -> None:
        self._part, self._laid, self._damping = part, part.laid, damping
        laid, xp, arcs = part.laid, part.xp, part.laid.arcs
        ways = 1 if laid.undirected else 2
        self._ways = (laid.csc, laid.csr)[:ways]
        self._heard = 2 if part.graph.directed else 1
        if isinstance(coupling, str):
            orders: tuple[Order, ...] = ("csc", "csr")
            self._kernel = "send_potts"
            self._factors = [
                part.arc_values(coupling, one).astype(np.float64) for one in orders[:ways]
            ]
        else:
            self._kernel, self._factors = "send_coupled", [xp.asarray(coupling.ravel())] * ways
        # To what ghosts hear here nothing is added.
        self._log_priors = part.by_position(log_priors)
        self.believed = xp.empty_like(self._log_priors)
        self.table = xp.zeros((ways * arcs, log_priors.shape[1]))
        # Those along self-loops are never written: they say nothing.
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
        """Strengths of the messages' edges, where each has one; float64, shape (messages,)."""
        return self._part.xp.concatenate(self._factors)

    def send(self) -> Array:
        """Compute all messages once; return the largest change here."""
        laid, states = self._laid, self.table.shape[1]
        old, new, believed = (one.ravel() for one in (self.table, self._next, self.believed))
        for way, (rows, factor) in enumerate(zip(self._ways, self._factors, strict=True)):
            self._launch(
                self._kernel, self._blocks, rows, way, self._reverse, believed, old, new, factor,
                self._damping, (laid.size, laid.arcs, states), self._changes,
            )  # fmt: skip
        self.table, self._next = self._next, self.table
        return self._changes.max()

    def hear(self) -> None:
        """Sum up what each vertex believes; collective."""
        laid, believed = self._laid, self.believed
        self._launch(
            "add_messages", device().blocks_for(believed.size, BLOCK),
            (laid.csc.offsets, laid.csr.offsets), self._heard, laid.arcs, self.table.ravel(),
            self._log_priors.ravel(), believed.ravel(), *believed.shape,
        )  # fmt: skip
        if self._heard > 1:
            self._part.halo.reduce(believed)
        self._part.halo.update(believed)

    def order(self) -> Array:
        """Return the places of a whole graph's messages in the order of its checkpoints.

        That is by receiver, those along the edges before those against them, and by sender, in
        numbers.  Parallel edges are in one order everywhere.
        """
        xp = self._part.xp
        receivers, senders = zip(*map(self._ends, self._ways), strict=True)
        groups = [2 * one.astype(np.int64) + way for way, one in enumerate(receivers)]
        order = xp.argsort(xp.concatenate(senders), kind="stable")
        return order[xp.argsort(xp.concatenate(groups)[order], kind="stable")]

    def by_arc(self) -> tuple[Array, Array]:
        """Return the places of the messages along the own arcs, and of those against them.

        Arcs are in the order that they have on the host.
        """
        order = sort_ends(*self._ends(self._laid.csc), self._part.graph.number_of_vertices)
        return order, self._reverse[order]

    def restore(self, along: Any, against: Any) -> None:
        """Go on from the messages of the own arcs; collective.

        Parameters
        ----------
        along : array of float64, shape (arcs, states)
        against : array of float64, shape (arcs, states), or None
            None for an undirected graph, of which each is another arc's.
        """
        places, back = self.by_arc()
        self.table[places] = along = self._part.xp.asarray(along)
        if against is None:
            against = self._answers(self._ends(self._laid.csc)[1][places], along)
        self.table[back] = self._part.xp.asarray(against)

    def _answers(self, sources: Array, along: Array) -> Array:
        """Return the messages against own arcs of an undirected graph, given those along; collective.

        The arc that leads back is the source's owner's, which has such arcs by their destinations here.
        """
        xp, halo, cuts = self._part.xp, self._part.halo, self._part.graph.cuts
        owners = xp.searchsorted(xp.asarray(cuts, sources.dtype), sources, side="right") - 1
        theirs = [xp.flatnonzero(owners == rank) for rank in range(halo.comm.size)]
        against = xp.empty_like(along)
        came = halo.exchange([[along[one].ravel()] for one in theirs])
        for one, (messages,) in zip(theirs, came, strict=True):
            back = one[xp.argsort(sources[one], kind="stable")]
            against[back] = messages.reshape(len(back), along.shape[1])
        return against

    def _ends(self, rows: Any) -> tuple[Array, Array]:
        """Return the numbers of the vertices of rows' arcs: whose row it is, and who is in it."""
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
    here, size = device(), part.laid.size
    loops = here.xp.zeros(size, np.int64)
    here.module("core").launch(
        "count_loops", here.blocks_for(size, BLOCK), BLOCK, *part.laid.csc, loops, size
    )
    return part.by_number(loops)
