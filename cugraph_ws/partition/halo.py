"""The halo of a part of a graph: owned vertices that other ranks hold, and ghosts, which others own.

Whatever is here is collective: all ranks call it, in the same order.  A single rank has no halo, and
nothing is computed, launched or sent for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from cugraph_ws.errors import InputError
from cugraph_ws.runtime.communicator import Communicator
from cugraph_ws.runtime.device import array_module, as_host

__all__ = ["Halo", "Range"]

Array = Any  # NumPy's or CuPy's
Range = tuple[int, int]

NARROW = 1 << 31  # places below this are sent in half the bytes


class Halo:
    """What a rank tells the others of its vertices, and hears of theirs; counts the bytes sent.

    Parameters
    ----------
    comm : Communicator
        The ranks.
    on_device : bool
        Whether columns by position are on the GPU.
    boundaries : sequence of array of int
        For each rank, the positions of owned vertices that it holds as ghosts.
    ghosts : sequence of (int, int)
        For each rank, the range of positions of its vertices here.
    cuts : ndarray of int64, shape (comm.size + 1,)
        Rank r owns the vertices numbered cuts[r] to cuts[r + 1] - 1.

    """

    def __init__(
        self,
        comm: Communicator,
        boundaries: Sequence[Array],
        ghosts: Sequence[Range],
        cuts: Any,
        *,
        on_device: bool,
    ) -> None:
        self.comm, self._on_device = comm, on_device
        self._boundaries, self._ghosts, self._cuts = boundaries, ghosts, cuts
        self._xp = array_module(on_device)
        held = np.cumsum([0, *map(len, boundaries)]).tolist()
        self._first_ghost = ghosts[0][0]
        after = [held[-1] + last - self._first_ghost for _, last in ghosts]
        # Where each rank's begin and end among the ends, and, after all ends, among the ghosts.
        self._held, self._all = held, [*held, *after]
        self._kind = np.int32 if self._all[-1] < NARROW else np.int64
        self._sent = 0  # bytes, since they were last asked for

    @cached_property
    def ends(self) -> Array:
        """The boundaries, one after the other."""
        one = len(self._boundaries) == 1
        return self._boundaries[0] if one else self._xp.concatenate(self._boundaries)

    @property
    def alone(self) -> bool:
        """Whether there is one rank, which has no halo."""
        return self.comm.size == 1

    @property
    def boundaries(self) -> Sequence[Array]:
        """For each rank, the positions of owned vertices that it holds as ghosts."""
        return self._boundaries

    # --------------------------------------------------------------- from owners to ghosts

    def update(self, *columns: Array) -> None:
        """Overwrite ghosts' entries with their owners'.

        Parameters
        ----------
        *columns : array, each of shape (size, ...), by position
        """
        if self.alone:
            return
        boxes = [[self._xp.take(one, held, axis=0).ravel() for one in columns]
                 for held in self._boundaries]  # fmt: skip
        for (first, last), arrays in zip(self._ghosts, self.exchange(boxes), strict=True):
            for column, array in zip(columns, arrays, strict=True):
                column[first:last] = array.reshape(last - first, *column.shape[1:])

    def update_changed(
        self, changed: Array, pack: Callable[[Array], Sequence[Array]]
    ) -> list[tuple[Array, list[Array]]]:
        """Tell those who hold them as ghosts which owned vertices have changed.

        Parameters
        ----------
        changed : array of bool, shape (len(ends),)
            Of which of `ends` to tell.
        pack : callable
            Returns the arrays to send, given positions of owned vertices: one entry or more for each.

        Returns
        -------
        list of (array, list of array)
            From each rank that had news: positions of ghosts, none of them twice, and what it has sent.
        """
        if self.alone:
            return []
        boxes = []
        for which, first, held in self._listed(changed, self._held):
            told = pack(held) if len(which) else []
            boxes.append([(which - first).astype(self._kind), *told])
        came = zip(self._ghosts, self.exchange(boxes), strict=True)
        return [
            (places + np.int64(first), list(told))
            for (first, _), (places, *told) in came
            if len(places)
        ]

    # --------------------------------------------------------------- from ghosts to owners

    def reduce(self, column: Array, combine: Callable[[Array, Array], Array] = np.add) -> None:
        """Combine ghosts' entries into their owners'; ghosts keep theirs.

        Parameters
        ----------
        column : array, shape (size, ...), by position
            Changed in place.
        combine : callable
            Of two arrays, such as `numpy.add` or `numpy.minimum`; applied in the order of ranks.
        """
        if self.alone:
            return
        # Copies: what is sent may be read after this rank has gone on.
        boxes = [[column[first:last].flatten()] for first, last in self._ghosts]
        for held, (array,) in zip(self._boundaries, self.exchange(boxes), strict=True):
            # A boundary names no vertex twice.
            column[held] = combine(column[held], array.reshape(len(held), *column.shape[1:]))

    def reduce_changed(self, changed: Array, values: Array) -> list[tuple[Array, Array]]:
        """Report to their owners what has changed at ghosts.

        Parameters
        ----------
        changed : array of bool, shape (ghosts,)
        values : array, shape (ghosts,)

        Returns
        -------
        list of (positions, values)
            Of owned vertices, from each rank that has reported; no position twice from one.
        """
        _, reports, _ = self.swap(self._xp.zeros(len(self.ends), np.bool_), changed, values)
        return reports

    def swap(
        self, told: Array, reported: Array, values: Array, *others: Array
    ) -> tuple[Array, list[tuple[Array, Array]], list[int]]:
        """Tell which owned vertices have changed, and report what has at ghosts, in one exchange.

        The host waits for the lengths of all lists at once, then for what comes.

        Parameters
        ----------
        told : array of bool, shape (len(ends),)
            Which of `ends` to tell their holders of.
        reported : array of bool, shape (ghosts,)
            Which ghosts to report to their owners; of no entries if none, and then of `values` too.
        values : array, shape (ghosts,)
            What to report of them.
        *others : arrays of int64
            What the host wants to know besides.

        Returns
        -------
        ghosts : array of int64
            Positions of the ghosts of which news has come.
        reports : list of (positions, values)
            Of owned vertices, from each rank that has reported; no position twice from one.
        numbers : list of int
            The others.
        """
        xp, ranks, edges = self._xp, self.comm.size, self._all
        which = xp.flatnonzero(xp.concatenate([told, reported]))
        cuts = xp.searchsorted(which, xp.asarray(edges))
        numbers = as_host(xp.concatenate([cuts, *others])).tolist()
        listed = [which[low:high] for low, high in pairwise(numbers[: len(edges)])]
        boxes = []
        for rank in range(ranks):
            mine, theirs = listed[rank], listed[ranks + rank]
            places = theirs - edges[ranks + rank]
            boxes.append(
                [
                    (mine - edges[rank]).astype(self._kind),
                    places.astype(self._kind),
                    xp.take(values, theirs - edges[ranks]),
                ]
            )
        came = self.exchange(boxes)
        ghosts = [
            places + np.int64(first)
            for (first, _), (places, _, _) in zip(self._ghosts, came, strict=True)
        ]
        reports = [
            (xp.take(held, places), array)
            for held, (_, places, array) in zip(self._boundaries, came, strict=True)
            if len(places)
        ]
        return xp.concatenate(ghosts), reports, numbers[len(edges) :]

    # ------------------------------------------------------------------ of any vertices

    def send_to_owners(self, numbers: Array, *columns: Array) -> list[Array]:
        """Send rows to the owners of vertices.

        Parameters
        ----------
        numbers : array of int, shape (rows,)
            The vertices, by number.
        *columns : array, each of shape (rows,)

        Returns
        -------
        list of array
            Numbers of owned vertices, and the columns that have come, in the order of the senders.
        """
        if self.alone:
            return [numbers, *columns]
        xp = _module_of(numbers)
        owners = xp.searchsorted(xp.asarray(self._cuts), numbers, side="right") - 1
        order = xp.argsort(owners, kind="stable")
        ranks = xp.arange(self.comm.size + 1)
        cuts = as_host(xp.searchsorted(owners[order], ranks)).tolist()
        rows = [column[order] for column in (numbers, *columns)]
        boxes = [[column[low:high] for column in rows] for low, high in pairwise(cuts)]
        return [xp.concatenate(parts) for parts in zip(*self.exchange(boxes), strict=True)]

    def fetch(self, column: Array, numbers: Array) -> Array:
        """Read entries of any vertices from their owners.

        Parameters
        ----------
        column : array, shape (owned, ...) at least
            What this rank answers from: owned vertices in the order of their numbers.
        numbers : array of int
            The vertices asked for here, by number.

        Returns
        -------
        array
            Of the dtype of `column`, one entry for each number.
        """
        low = int(self._cuts[self.comm.rank])
        if self.alone:
            return column[numbers]
        xp = _module_of(numbers)
        distinct, back = xp.unique(numbers, return_inverse=True)
        cuts = as_host(xp.searchsorted(distinct, xp.asarray(self._cuts))).tolist()
        asked = self.exchange([[distinct[first:last]] for first, last in pairwise(cuts)])
        answers = self.exchange([[column[wanted - low]] for (wanted,) in asked])
        return xp.concatenate([answer for (answer,) in answers])[back]

    # ------------------------------------------------------------------------- the rest

    def exchange(self, boxes: Sequence[Sequence[Array]]) -> list[list[Array]]:
        """Give every rank arrays of its own, and get what the others give.

        Parameters
        ----------
        boxes : sequence of sequence of array
            What goes to each rank, all on the host or all on the device; the own box comes back.

        Returns
        -------
        list of list of array
            What has come from each rank, where what was sent is; not to be written to.
        """
        rank = self.comm.rank
        away = [box for other, box in enumerate(boxes) if other != rank]
        self._sent += sum(one.nbytes for box in away for one in box)
        if self.comm.on_device or not self._on_device:
            return self.comm.alltoall(boxes)
        sent = [one for box in boxes for one in box]
        xp = _module_of(sent[0]) if sent else np
        came = self.comm.alltoall([[as_host(one) for one in box] for box in boxes])
        return [[xp.asarray(one) for one in box] for box in came]

    def exchange_ranges(self, *columns: tuple[Array, Sequence[int]]) -> list[Array]:
        """Give every rank a range of each array; return what has come, that of rank 0 first.

        Parameters
        ----------
        *columns : (array, sequence of int)
            Each array, and where in it the ranges of the ranks begin and end.

        Returns
        -------
        list of array
            One for each of `columns`.
        """
        boxes = [
            [array[bounds[rank] : bounds[rank + 1]] for array, bounds in columns]
            for rank in range(self.comm.size)
        ]
        came = zip(*self.exchange(boxes), strict=True)
        return [_module_of(parts[0]).concatenate(parts) for parts in came]

    def by_holder(self, values: Sequence[int]) -> Array:
        """Return for each of `ends` a number of the rank that holds it.

        Parameters
        ----------
        values : sequence of int, one for each rank

        Returns
        -------
        array of int64, shape (len(ends),)
        """
        lengths = [len(held) for held in self._boundaries]
        return self._xp.asarray(np.repeat(np.array(values, np.int64), lengths))

    def totals(self, *numbers: int) -> list[int]:
        """Add up numbers over all ranks.

        Parameters
        ----------
        *numbers : int

        Returns
        -------
        list of int
            Their sums, and after them the bytes sent by all since this was last asked.
        """
        if self.alone:
            return [*numbers, 0]
        shown = self.comm.allgather([*map(int, numbers), self._sent])
        self._sent = 0
        return [sum(column) for column in zip(*shown, strict=True)]

    def refuse(self, text: str | None) -> None:
        """Raise InputError on all ranks if any of them has a reason to.

        Parameters
        ----------
        text : str or None
            What this rank refuses; the first rank's is raised.

        Raises
        ------
        InputError
        """
        shown = [one for one in self.comm.allgather(text) if one is not None]
        if shown:
            raise InputError(shown[0])

    def _listed(self, changed: Array, cuts: list[int]) -> list[tuple[Array, int, Array]]:
        """Return for each rank which of `ends` have changed, where its begin, and their positions."""
        xp = self._xp
        which = xp.flatnonzero(changed)
        bounds = as_host(xp.searchsorted(which, xp.asarray(cuts))).tolist()
        places = xp.take(self.ends, which)
        return [
            (which[low:high], first, places[low:high])
            for (low, high), first in zip(pairwise(bounds), cuts, strict=False)
        ]


def _module_of(array: Array) -> Any:
    """Return the module of an array: NumPy, or what makes arrays on the device."""
    return array_module(not isinstance(array, np.ndarray))
