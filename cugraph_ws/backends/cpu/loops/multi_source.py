"""Searches by vertex loops, one for each start; see `cugraph_ws.algorithms.multi_source`.

On a whole graph the starts are distributed over the cores.  Each core runs its searches with the
loops of `bfs` and `sssp`, without locks or exchanges.  On a shard all ranks run one search at a
time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.frames.base import Masked, VertexNumbers
from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.looks import look
from cugraph_ws.runtime.threads import number_of_threads, parallel, serial

if TYPE_CHECKING:
    from cugraph_ws.algorithms.multi_source import Search

__all__ = ["Searches"]

SEARCHES_A_STEP = 4  # for each core: few enough to stop soon, enough to keep cores busy


class Searches:
    """Runs the searches of a step.

    Parameters
    ----------
    part : Part
    search : Search
        The settings of all searches.

    Attributes
    ----------
    width : int
        Most searches of a step.
    number : dtype
        Dtype of predecessors.
    """

    number = np.dtype(np.int64)

    def __init__(self, part: Part, search: Search) -> None:
        self._search = search
        self._threads = 1 if part.whole else None  # of each search
        cores = 1 if search.plain or not part.whole else number_of_threads()
        self._each: Any = serial if cores == 1 else parallel
        self.width = SEARCHES_A_STEP * cores if part.whole else 1

    def run(
        self,
        numbers: npt.NDArray[np.int64],
        distance: npt.NDArray[Any],
        valid: npt.NDArray[np.bool_],
        predecessor: npt.NDArray[np.int64],
    ) -> tuple[int, int]:
        """Search from the next starts; collective.

        Parameters
        ----------
        numbers : ndarray of int64, shape (searches,)
            The starts.
        distance, valid, predecessor : ndarray, each of shape (searches, owned)
            Written: distances, whether the vertex is reached, and predecessors' numbers or −1.

        Returns
        -------
        arcs, bytes_sent : int
        """
        tasks = list(zip(numbers.tolist(), distance, valid, predecessor, strict=True))
        # The first search runs alone, so that the program is compiled once.
        arcs, bytes_sent = zip(self._one(*tasks[0]), *self._each(self._one, tasks[1:]), strict=True)
        return sum(arcs), sum(bytes_sent)

    def _one(
        self,
        number: int,
        distance: npt.NDArray[Any],
        valid: npt.NDArray[np.bool_],
        predecessor: npt.NDArray[np.int64],
    ) -> tuple[int, int]:
        """Search from one start; return the arcs read, and the bytes sent."""
        loop, limit = self._search.begin(number, self._threads), self._search.limit
        steps = arcs = bytes_sent = 0
        while not loop.converged and (limit is None or steps < limit):
            look()
            step = loop.step()
            steps += len(step.history)
            arcs += step.edges
            bytes_sent += step.bytes_sent
        columns = loop.columns()
        lengths, before = columns["distance"], columns["predecessor"]
        assert isinstance(before, VertexNumbers)
        if isinstance(lengths, Masked):
            distance[:], valid[:] = lengths.values, lengths.valid
        else:
            distance[:], valid[:] = lengths, True
        predecessor[:] = before.numbers
        return arcs, bytes_sent
