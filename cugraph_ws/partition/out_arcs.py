"""A rank's out-arcs, for programs whose vertices send along each by itself, and the way of messages to in-arcs.

A rank holds the arcs into its vertices, where messages are gathered.  Here each of its vertices has the row of
its out-arcs, in the order of the destinations' numbers, parallel ones as in the frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from cugraph_ws.partition.neighbourhoods import row_numbers
from cugraph_ws.partition.part import ProgramPart
from cugraph_ws.runtime.arrays import as_host

__all__ = ["OutArcs"]

Array = Any  # NumPy's or CuPy's

PLACES = "places of out-arcs among in-arcs"  # kept with a whole graph on the host


class OutArcs:
    """The arcs out of a rank's vertices; collective.

    Parameters
    ----------
    part : ProgramPart
    sent : sequence of array, each of shape (arcs,)
        By in-arc, whether something has been sent along it, and the parts of what has.
    reads_target : bool
        Whether the states are read of the vertices that arcs lead to.

    Attributes
    ----------
    offsets : array of int64, shape (owned + 1, or size + 1)
    indices : array of int, shape (out-arcs,)
        Where the destinations are in the arrays of `with_targets`.
    places : array of int, shape (out-arcs,)
        Where what is sent along an arc is stored in `stored`.
    edges : tuple of array, each of shape (out-arcs,)
        The program's edge attributes; one that a constant replaces is empty.
    stored : tuple of array
    """

    def __init__(self, part: ProgramPart, sent: Sequence[Array], *, reads_target: bool) -> None:
        self._part, self._sent = part, tuple(sent)
        self.stored = self._sent
        self._asked: Array = None  # positions of which other ranks read the state
        if part.halo.alone and not part.on_device:
            kept = part.graph.derived
            if PLACES not in kept:
                kept[PLACES] = part.csc.carry(np.arange(part.arcs))
            self.offsets, self.indices = part.csr.offsets, part.csr.indices
            self.places, self.edges = kept[PLACES], part.edges("csr")
            return
        xp, halo = part.xp, part.halo
        rows = row_numbers(xp, part.csc.offsets, part.arcs)
        sources, targets = (xp.take(part.numbers, ends) for ends in (part.csc.indices, rows))
        columns = part.edges("csc")
        is_read = [column is not None for column in part.edge_columns]
        given = [one for one, reads in zip(columns, is_read, strict=True) if reads]
        if not halo.alone:
            self._prepare_return(halo.owners(sources))
            sources, targets, *given = halo.send_to_owners(sources, targets, *given)
            kinds = [column.dtype for column in self._sent]
            self.stored = tuple(xp.zeros(len(sources), kind) for kind in kinds)
        positions = part.placed(sources)
        order = xp.argsort(targets, kind="stable")
        self.places = order[xp.argsort(positions[order], kind="stable")]
        self.offsets = xp.searchsorted(positions[self.places], xp.arange(part.owned + 1))
        moved = iter([column[self.places] for column in given])
        self.edges = tuple(
            next(moved) if reads else one for one, reads in zip(columns, is_read, strict=True)
        )
        targets = targets[self.places]
        if halo.alone:
            self.indices = part.placed(targets)
        elif reads_target:
            self.indices = part.size + self._ask(targets)
        else:
            self.indices = xp.zeros_like(self.places)  # a vertex that nobody reads

    def _prepare_return(self, owners: Array) -> None:
        """Find which arcs other ranks send along, and how many they are."""
        xp, comm = self._part.xp, self._part.halo.comm
        self._returned = xp.argsort(owners, kind="stable")
        bounds = xp.searchsorted(owners[self._returned], xp.arange(comm.size + 1))
        counts = np.diff(as_host(bounds))
        by_rank = np.array(comm.allgather(counts.tolist()))
        self._cuts = np.cumsum([0, *by_rank[:, comm.rank]]).tolist()

    def _ask(self, targets: Array) -> Array:
        """Ask the owners of destinations for their states from now on; return each one's place in the answers."""
        part, xp = self._part, self._part.xp
        distinct, places = xp.unique(targets, return_inverse=True)
        order, cuts = part.graph.owners.split(distinct)
        if order is not None:
            distinct = distinct[order]
            answered = xp.empty_like(order)
            answered[order] = xp.arange(len(order))
            places = answered[places]
        asked = part.halo.exchange([[distinct[low:high]] for low, high in pairwise(cuts)])
        self._asked = part.placed(xp.concatenate([wanted for (wanted,) in asked]))
        self._asked_cuts = np.cumsum([0, *(len(wanted) for (wanted,) in asked)]).tolist()
        return places

    def with_targets(self, columns: Sequence[Array]) -> tuple[Array, ...]:
        """Return columns by position, extended by the entries of destinations; those of one entry unchanged."""
        if self._asked is None:
            return tuple(columns)
        part = self._part
        by_vertex = [column for column in columns if len(column) == part.size]
        asked = [(column[self._asked], self._asked_cuts) for column in by_vertex]
        read = iter(part.halo.exchange_ranges(*asked) if asked else [])
        return tuple(
            part.xp.concatenate([column, next(read)]) if len(column) == part.size else column
            for column in columns
        )

    def clear(self) -> None:
        """Store that nothing is sent."""
        self.stored[0][:] = False

    def deliver(self) -> None:
        """Bring what is stored to the ranks on which it is gathered."""
        if self._part.halo.alone:
            return
        stored = [(column, self._cuts) for column in self.stored]
        for column, values in zip(
            self._sent, self._part.halo.exchange_ranges(*stored), strict=True
        ):
            column[self._returned] = values
