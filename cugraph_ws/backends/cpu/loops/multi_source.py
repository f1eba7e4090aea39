"""Searches from many vertices; see `cugraph_ws.algorithms.multi_source`.

On a whole graph the starts are distributed over the cores.  Each core runs breadth-first searches together,
with a bit for each (Then et al.: The more the merrier, VLDB 2014), and others with the loops of `sssp`, without
locks or exchanges.  On a shard all ranks run one search at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.frames.base import Masked, VertexNumbers
from cugraph_ws.kernels.cpu.word_searches import write_levels
from cugraph_ws.partition.part import Part
from cugraph_ws.program.infinity import STORED
from cugraph_ws.runtime.looks import look
from cugraph_ws.runtime.threads import cut_evenly, number_of_threads, parallel, serial

if TYPE_CHECKING:
    from cugraph_ws.algorithms.multi_source import Search

__all__ = ["Searches"]

SEARCHES_A_STEP = 4  # for each core: few enough to stop soon, enough to keep cores busy
TOGETHER = 64  # most breadth-first searches of a core, which have a bit each in a word
FEW = 8  # searches of a core, below which each alone chooses its direction by its own frontier
ARCS_A_CALL = 1 << 24  # some twentieth of a second


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
        self._cores = cores
        self._each: Any = serial if cores == 1 else parallel
        self._together = part.whole and not search.plain and search.by_hops
        self._part = part
        self.width = 1
        if part.whole:
            self.width = cores * (TOGETHER if self._together else SEARCHES_A_STEP)

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
        if self._together and len(numbers) >= FEW * self._cores:
            by_core = [
                (numbers[low:high], distance[low:high], valid[low:high], predecessor[low:high])
                for low, high in cut_evenly(len(numbers), self._cores)
            ]
            return sum(self._each(self._by_words, by_core)), 0
        tasks = list(zip(numbers.tolist(), distance, valid, predecessor, strict=True))
        # The first search runs alone, so that the program is compiled once.
        arcs, bytes_sent = zip(self._one(*tasks[0]), *self._each(self._one, tasks[1:]), strict=True)
        return sum(arcs), sum(bytes_sent)

    def _by_words(
        self,
        numbers: npt.NDArray[np.int64],
        distance: npt.NDArray[Any],
        valid: npt.NDArray[np.bool_],
        predecessor: npt.NDArray[np.int64],
    ) -> int:
        """Search from at most 64 starts in one thread; return the arcs read."""
        unreached = STORED[distance.dtype.name]
        csr, csc, size = self._part.csr, self._part.csc, self._part.owned
        reached, front, fresh = np.zeros((3, size), np.int64)
        np.bitwise_or.at(front, numbers, np.int64(1) << np.arange(len(numbers)))
        frontier, following = np.empty((2, size), np.int64)
        starts = np.unique(numbers)
        frontier[: len(starts)] = starts
        reached[starts] = front[starts]
        distance[:] = unreached
        distance[np.arange(len(numbers)), numbers] = 0
        limit = size if self._search.limit is None else self._search.limit
        sizes, limits = np.array([len(starts), 0, 0]), np.array([limit, ARCS_A_CALL])
        read = 0
        while sizes[0] > 0 and sizes[1] < limit:
            look()
            with np.errstate(over="ignore"):  # of words, if nothing is compiled
                write_levels(
                    csr.offsets, csr.indices, csc.offsets, csc.indices, reached, front, fresh, frontier,
                    following, sizes, limits, distance, predecessor,
                )  # fmt: skip
            read += int(sizes[2])
        np.less(distance, unreached, out=valid)
        return read

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
