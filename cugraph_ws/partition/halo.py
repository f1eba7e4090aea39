"""The halo of a part of a graph: owned vertices that other ranks hold as ghosts, and this rank's ghosts.

All operations are collective: all ranks call them, in the same order.  A single rank has no halo,
and nothing is computed, launched or sent for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from cugraph_ws.errors import InputError
from cugraph_ws.graph.owners import Owners
from cugraph_ws.graph.view import GraphView
from cugraph_ws.runtime.arrays import array_module, as_host, module_of
from cugraph_ws.runtime.communicator import Communicator

__all__ = ["Halo", "Range"]

Array = Any  # NumPy's or CuPy's
Range = tuple[int, int]

NARROW = 1 << 31  # indices below this are sent as int32


class Halo:
    """The exchanges between owned vertices and ghosts; counts the bytes sent.

    Parameters
    ----------
    comm : Communicator
        The ranks.
    on_device : bool
        Whether arrays by position are on the GPU.
    boundaries : sequence of array of int
        For each rank, the positions of owned vertices that it holds as ghosts.
    ghosts : sequence of (int, int)
        For each rank, the range of positions of its vertices here.
    vertex_owners : Owners
        Which rank owns which vertices.
    """

    def __init__(
        self,
        comm: Communicator,
        boundaries: Sequence[Array],
        ghosts: Sequence[Range],
        vertex_owners: Owners,
        *,
        on_device: bool,
    ) -> None:
        self.comm, self._on_device = comm, on_device
        self._boundaries, self._ghosts, self._owners = boundaries, ghosts, vertex_owners
        self._xp = array_module(on_device)
        bounds = [0, *accumulate(map(len, boundaries))]
        self._first_ghost = ghosts[0][0]
        after = [bounds[-1] + last - self._first_ghost for _, last in ghosts]
        # Bounds of each rank's range: in the send indices; and in an array of these, then the ghosts.
        self._held, self._all = bounds, [*bounds, *after]
        self._kind = np.int32 if self._all[-1] < NARROW else np.int64
        self._sent = 0  # bytes since the last call of `totals`

    @classmethod
    def of(
        cls, graph: GraphView, boundaries: Sequence[Array] | None = None, *, on_device: bool = False
    ) -> Halo:
        """Return the halo of a graph, or of a rank's shard of one.

        Parameters
        ----------
        graph : GraphView
        boundaries : sequence of array of int, optional
            By default the graph's own, whose positions are those on the host.
        on_device : bool
            Whether arrays by position are on the GPU.

        Returns
        -------
        Halo
        """
        boundaries_by_rank = graph.boundaries if boundaries is None else boundaries
        return cls(graph.comm, boundaries_by_rank, graph.ghosts, graph.owners, on_device=on_device)

    @cached_property
    def ends(self) -> Array:
        """The send indices: the boundaries of all ranks, concatenated."""
        is_single = len(self._boundaries) == 1
        return self._boundaries[0] if is_single else self._xp.concatenate(self._boundaries)

    @property
    def alone(self) -> bool:
        """Whether there is a single rank, without a halo."""
        return self.comm.size == 1

    @property
    def boundaries(self) -> Sequence[Array]:
        """For each rank, the positions of owned vertices that it holds as ghosts."""
        return self._boundaries

    # --------------------------------------------------------------- from owners to ghosts

    def update(self, *columns: Array) -> None:
        """Copy owners' entries to ghosts.

        Parameters
        ----------
        *columns : array, each of shape (size, ...), by position
        """
        if self.alone:
            return
        buffers = [[self._xp.take(column, boundary, axis=0).ravel() for column in columns]
                 for boundary in self._boundaries]  # fmt: skip
        for (first, last), arrays in zip(self._ghosts, self.exchange(buffers), strict=True):
            for column, array in zip(columns, arrays, strict=True):
                column[first:last] = array.reshape(last - first, *column.shape[1:])

    def update_changed(
        self, changed: Array, pack: Callable[[Array], Sequence[Array]]
    ) -> list[tuple[Array, list[Array]]]:
        """Send changes of owned vertices to the ranks that hold them as ghosts.

        Parameters
        ----------
        changed : array of bool, shape (len(ends),)
            Which of the send indices `ends` to send.
        pack : callable
            Given positions of owned vertices, returns the arrays to send: one entry or more for
            each.

        Returns
        -------
        list of (array, list of array)
            For each rank that sent updates: distinct positions of ghosts, and the arrays sent.
        """
        if self.alone:
            return []
        buffers = []
        for which, first, positions in self._listed(changed, self._held):
            arrays = pack(positions) if len(which) else []
            buffers.append([(which - first).astype(self._kind), *arrays])
        received = zip(self._ghosts, self.exchange(buffers), strict=True)
        return [
            (places + np.int64(first), list(arrays))
            for (first, _), (places, *arrays) in received
            if len(places)
        ]

    # --------------------------------------------------------------- from ghosts to owners

    def reduce(self, column: Array, combine: Callable[[Array, Array], Array] = np.add) -> None:
        """Combine ghosts' entries into their owners'; ghosts keep their entries.

        Parameters
        ----------
        column : array, shape (size, ...), by position
            Modified in place.
        combine : callable
            Combines two arrays, such as `numpy.add` or `numpy.minimum`; applied in the order of
            ranks.
        """
        if self.alone:
            return
        # Copies: send buffers may be read after this call has returned.
        buffers = [[column[first:last].flatten()] for first, last in self._ghosts]
        for boundary, (array,) in zip(self._boundaries, self.exchange(buffers), strict=True):
            # A boundary contains no vertex twice.
            column[boundary] = combine(
                column[boundary], array.reshape(len(boundary), *column.shape[1:])
            )

    def swap(
        self, changed: Array, ghosts_changed: Array, values: Array, *further_numbers: Array
    ) -> tuple[Array, list[tuple[Array, Array]], list[int]]:
        """Send which owned vertices changed, and changed values of ghosts, in one exchange.

        The host waits twice: for the lengths of all lists, then for the messages.

        Parameters
        ----------
        changed : array of bool, shape (len(ends),)
            Which of the send indices `ends` to send to their holders.
        ghosts_changed : array of bool, shape (ghosts,)
            Which ghosts to send to their owners; if none, both this and `values` may be empty.
        values : array, shape (ghosts,)
            The ghosts' values.
        *further_numbers : arrays of int64
            Further numbers that are copied to the host.

        Returns
        -------
        ghosts : array of int64
            Positions of the ghosts whose owners sent an update.
        reports : list of (positions, values)
            For each rank that sent values: distinct positions of owned vertices, and the values.
        numbers : list of int
            The values of `further_numbers`.
        """
        xp, ranks, edges = self._xp, self.comm.size, self._all
        which = xp.flatnonzero(xp.concatenate([changed, ghosts_changed]))
        cuts = xp.searchsorted(which, xp.asarray(edges))
        numbers = as_host(xp.concatenate([cuts, *further_numbers])).tolist()
        listed = [which[low:high] for low, high in pairwise(numbers[: len(edges)])]
        buffers = []
        for rank in range(ranks):
            mine, theirs = listed[rank], listed[ranks + rank]
            places = theirs - edges[ranks + rank]
            buffers.append(
                [
                    (mine - edges[rank]).astype(self._kind),
                    places.astype(self._kind),
                    xp.take(values, theirs - edges[ranks]),
                ]
            )
        received = self.exchange(buffers)
        ghosts = [
            places + np.int64(first)
            for (first, _), (places, _, _) in zip(self._ghosts, received, strict=True)
        ]
        reports = [
            (xp.take(boundary, places), array)
            for boundary, (_, places, array) in zip(self._boundaries, received, strict=True)
            if len(places)
        ]
        return xp.concatenate(ghosts), reports, numbers[len(edges) :]

    # --------------------------------------------------------------------- any vertices

    def owners(self, numbers: Array) -> Array:
        """Return the rank of each vertex's owner, given vertex numbers; not collective."""
        return self._owners.of(numbers)

    def send_to_owners(self, numbers: Array, *columns: Array) -> list[Array]:
        """Send rows to the owners of vertices.

        Parameters
        ----------
        numbers : array of int, shape (rows,)
            Vertex numbers.
        *columns : array, each of shape (rows,)

        Returns
        -------
        list of array
            The numbers and columns received, in the order of the senders.  All vertices are owned
            here.
        """
        if self.alone:
            return [numbers, *columns]
        xp, owners = module_of(numbers), self.owners(numbers)
        order = xp.argsort(owners, kind="stable")
        ranks = xp.arange(self.comm.size + 1)
        cuts = as_host(xp.searchsorted(owners[order], ranks)).tolist()
        rows = [column[order] for column in (numbers, *columns)]
        buffers = [[column[low:high] for column in rows] for low, high in pairwise(cuts)]
        return [xp.concatenate(parts) for parts in zip(*self.exchange(buffers), strict=True)]

    def fetch(self, column: Array, numbers: Array) -> Array:
        """Read entries of any vertices from their owners.

        Parameters
        ----------
        column : array, shape (owned, ...) at least
            Entries of owned vertices, in the order of their numbers.
        numbers : array of int
            Numbers of the vertices to read.

        Returns
        -------
        array
            One entry for each number, of the dtype of `column`.
        """
        if self.alone:
            return column[numbers]
        xp = module_of(numbers)
        distinct, back = xp.unique(numbers, return_inverse=True)
        order, bounds = self._owners.split(distinct)
        grouped = distinct if order is None else distinct[order]
        asked = self.exchange([[grouped[first:last]] for first, last in pairwise(bounds)])
        answers = self.exchange([[column[self._owners.places(wanted)]] for (wanted,) in asked])
        fetched = xp.concatenate([answer for (answer,) in answers])
        if order is not None:
            back = xp.argsort(order)[back]
        return fetched[back]

    # ------------------------------------------------------------------------- the rest

    def exchange(self, buffers: Sequence[Sequence[Array]]) -> list[list[Array]]:
        """Send arrays to every rank, and return the arrays received.

        Parameters
        ----------
        buffers : sequence of sequence of array
            The arrays for each rank, all on the host or all on the device.  This rank's entry is
            returned as it is.

        Returns
        -------
        list of list of array
            The arrays from each rank, on the host or the device as those sent; read-only.
        """
        rank = self.comm.rank
        away = [buffer for peer, buffer in enumerate(buffers) if peer != rank]
        self._sent += sum(array.nbytes for buffer in away for array in buffer)
        if self.comm.on_device or not self._on_device:
            return self.comm.alltoall(buffers)
        arrays = [array for buffer in buffers for array in buffer]
        xp = module_of(arrays[0]) if arrays else np
        received = self.comm.alltoall([[as_host(array) for array in buffer] for buffer in buffers])
        return [[xp.asarray(array) for array in buffer] for buffer in received]

    def exchange_ranges(self, *columns: tuple[Array, Sequence[int]]) -> list[Array]:
        """Send a range of each array to every rank; return those received, in the order of ranks.

        Parameters
        ----------
        *columns : (array, sequence of int)
            Each array, and the bounds of the ranks' ranges in it.

        Returns
        -------
        list of array
            One for each of `columns`.
        """
        buffers = [
            [array[bounds[rank] : bounds[rank + 1]] for array, bounds in columns]
            for rank in range(self.comm.size)
        ]
        received = zip(*self.exchange(buffers), strict=True)
        return [module_of(parts[0]).concatenate(parts) for parts in received]

    def by_holder(self, values: Sequence[int]) -> Array:
        """Return, for each of the send indices `ends`, a value of the rank that holds it.

        Parameters
        ----------
        values : sequence of int, one for each rank

        Returns
        -------
        array of int64, shape (len(ends),)
        """
        lengths = [len(boundary) for boundary in self._boundaries]
        return self._xp.asarray(np.repeat(np.array(values, np.int64), lengths))

    def totals(self, *numbers: int) -> list[int]:
        """Sum numbers over all ranks.

        Parameters
        ----------
        *numbers : int

        Returns
        -------
        list of int
            The sums, then the bytes sent by all ranks since the last call.
        """
        if self.alone:
            return [*numbers, 0]
        shown = self.comm.allgather([*map(int, numbers), self._sent])
        self._sent = 0
        return [sum(column) for column in zip(*shown, strict=True)]

    def allgather(self, value: Any) -> list[Any]:
        """Return a value of every rank, by rank.

        Parameters
        ----------
        value : Any
            Plain values, as communicators send them.

        Returns
        -------
        list
        """
        return [value] if self.alone else list(self.comm.allgather(value))

    def refuse(self, text: str | None) -> None:
        """Raise InputError on all ranks if any rank has an error.

        Parameters
        ----------
        text : str or None
            This rank's error message, or None.  The message of the lowest rank is raised.

        Raises
        ------
        InputError
        """
        shown = [message for message in self.comm.allgather(text) if message is not None]
        if shown:
            raise InputError(shown[0])

    def _listed(self, changed: Array, cuts: list[int]) -> list[tuple[Array, int, Array]]:
        """Return for each rank its changed send indices, the first index of its range, and the positions."""
        xp = self._xp
        which = xp.flatnonzero(changed)
        bounds = as_host(xp.searchsorted(which, xp.asarray(cuts))).tolist()
        places = xp.take(self.ends, which)
        return [
            (which[low:high], first, places[low:high])
            for (low, high), first in zip(pairwise(bounds), cuts, strict=False)
        ]
