"""Shuffle arcs, in rounds, to the GPUs of the ranks that own their destinations.

In a round every rank receives the arcs of one range of its rows.  So a rank never holds a second
copy of all its arcs, neither as sent nor as received.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.backends.cuda.grouping import number_dtype, run, tile_of
from cugraph_ws.runtime.communicator import Communicator
from cugraph_ws.runtime.device import device

__all__ = ["MOST_KINDS", "DeviceShuffle", "kind_dtype", "words_for"]

DeviceArray = Any  # CuPy's or NumPy's
Numbers = npt.NDArray[np.int64]
Ends = tuple[DeviceArray, DeviceArray]
MOST_KINDS = 256  # that fit a byte, with the one for no arc


def kind_dtype(classes: int) -> np.dtype[Any]:
    """Return the dtype that holds `classes` kinds, and one for no arc."""
    return np.dtype(np.uint8 if classes < MOST_KINDS else np.int32)


def words_for(bits: int) -> int:
    """Return how many 32-bit words hold `bits` bits."""
    return -(-bits // 32)


class DeviceShuffle:
    """The rank and the round to which each arc of this rank's partitions is sent.

    The receiver gets a round's arcs in the order of the whole frame's rows.  An undirected edge is
    two arcs, to its destination and to its source; a self-loop is one.

    Parameters
    ----------
    comm : Communicator
    ends : sequence of pair of device array of int32, uint32 or int64
        Source ids and destination ids of each partition of this rank.
    places : sequence of int
        The place of each of these partitions in the whole frame.
    low, span : int
        Ids are integers from `low`, below `low + span`.
    rounds : int
        Number of rounds, the same on all ranks.
    loops : bool
        Whether self-loops are sent.
    directed : bool

    Attributes
    ----------
    coming : list of int
        How many arcs this rank receives in each round; filled by `expect`.
    """

    def __init__(
        self,
        comm: Communicator,
        ends: Sequence[Ends],
        places: Sequence[int],
        low: int,
        span: int,
        *,
        rounds: int,
        loops: bool,
        directed: bool,
    ) -> None:
        self._comm, self._rounds, self._classes = comm, rounds, rounds * comm.size
        self._low, self._span = low, span
        self._loops, self._both = int(loops), int(not directed)
        self._columns = [(destinations, sources) for sources, destinations in ends]
        self._places = np.array(places, np.int64)
        self._rows = [len(sources) for sources, _ in ends]
        self._tiles = [tile_of(rows << self._both) for rows in self._rows]
        counts = [
            -(-(rows << self._both) // tile)
            for rows, tile in zip(self._rows, self._tiles, strict=True)
        ]
        self._first_tiles = [0, *np.cumsum(counts, dtype=np.int64).tolist()]
        self._kinds: list[DeviceArray] = []
        self._cursors: DeviceArray = None
        # Where the arcs of each kind and partition start, kind by kind, and the end
        self._starts = np.zeros(1, np.int64)
        self._landings: list[list[list[tuple[int, int]]]] = []
        self.coming: list[int] = []

    @property
    def sent(self) -> int:
        """The most arcs that this rank sends in a round; valid after `mark_kinds`."""
        return max(end - begin for begin, end in pairwise(self._turns()))

    def mark_kinds(self, kind_of: DeviceArray) -> DeviceArray:
        """Find the kind of each of this rank's arcs.

        Parameters
        ----------
        kind_of : device array of `kind_dtype`, shape (span,)
            The kind of arcs to each id from `low` on: round × ranks + owner.

        Returns
        -------
        device array of uint32, shape (ranks, words)
            The sources of this rank's arcs to each rank's vertices, as a bitmap over `span`.
        """
        gpu, ranks, tiles = device(), self._comm.size, self._first_tiles[-1]
        xp = gpu.xp
        marks = xp.zeros((ranks, words_for(self._span)), np.uint32)
        room = 32 * marks.shape[1]
        counts = xp.zeros(max(1, self._classes * tiles), np.int64)
        for columns, rows, tile, first_tile in self._pieces():
            slots = rows << self._both
            kinds = xp.empty(slots, kind_of.dtype)
            if slots:
                run(
                    gpu, "mark_kinds", 32 * -(-slots // tile), columns, self._both, slots,
                    self._loops, self._low, room, kind_of, ranks, self._classes, tile,
                    first_tile, tiles, kinds, counts, marks.ravel(), module="split",
                )  # fmt: skip
            self._kinds.append(kinds)
        self._cursors = xp.zeros(len(counts) + 1, np.int64)
        xp.cumsum(counts, out=self._cursors[1:])
        starts = np.arange(self._classes)[:, None] * tiles + np.array(self._first_tiles[:-1], int)
        wanted = np.append(starts.ravel(), self._classes * tiles)
        self._starts = gpu.to_host(self._cursors[xp.asarray(wanted)])
        return marks

    def announcements(self) -> list[Numbers]:
        """Return the input of `expect` for each rank: its arcs by partition and round."""
        size = self._comm.size
        counts = np.diff(self._starts).reshape(self._rounds, size, len(self._rows))
        return [np.vstack([self._places, counts[:, rank]]) for rank in range(size)]

    def expect(self, announced: Sequence[Numbers]) -> None:
        """Compute where received arcs are placed.

        Parameters
        ----------
        announced : sequence of ndarray of int64
            The announcement from each rank.
        """
        order = sorted(
            (place, rank, which)
            for rank, announcement in enumerate(announced)
            for which, place in enumerate(announcement[0].tolist())
        )
        for turn in range(self._rounds):
            begin = 0
            landing = [[(0, 0)] * announcement.shape[1] for announcement in announced]
            for _, rank, which in order:
                end = begin + int(announced[rank][1 + turn, which])
                landing[rank][which] = begin, end
                begin = end
            self._landings.append(landing)
            self.coming.append(begin)

    def send(
        self,
        turn: int,
        values: dict[str, DeviceArray],
        leaving: Ends,
        arriving: Ends,
    ) -> dict[str, DeviceArray]:
        """Send the arcs of a round.  Collective.

        Parameters
        ----------
        turn : int
            The round; each is sent once.
        values : dict of str to device array, each of shape (rows,)
            Edge columns of this rank's rows, partition by partition.
        leaving : pair of device array of int32 or int64
            Send buffers for at least `sent` arcs.
        arriving : pair of device array of int32 or int64
            Receive destinations and sources, as ids less `low`.  If an arc is a reversed undirected
            edge, its source v is stored as ~v.

        Returns
        -------
        dict of str to device array
            The values of the received arcs.
        """
        gpu, tiles = device(), self._first_tiles[-1]
        xp = gpu.xp
        first = turn * self._comm.size
        last = first + self._comm.size
        begin, end = self._turns()[turn : turn + 2]
        arcs = end - begin
        rows = xp.empty(arcs if values else 0, number_dtype(sum(self._rows)))
        first_row = 0
        for (columns, count, tile, first_tile), kinds in zip(
            self._pieces(), self._kinds, strict=True
        ):
            slots = count << self._both
            if slots and arcs:
                run(
                    gpu, "scatter_kinds", 32 * -(-slots // tile), columns, self._both, slots,
                    self._low, kinds, first, last, tile, first_tile, tiles, self._cursors, begin,
                    leaving, int(bool(values)), first_row, rows, module="split",
                )  # fmt: skip
            first_row += count
        self._exchange(turn, leaving, arriving)
        received = {}
        for name, column in values.items():
            received[name] = xp.empty(self.coming[turn], column.dtype)
            values_sent = xp.empty(arcs, column.dtype)
            if arcs:
                run(gpu, "gather", arcs, column, rows, arcs, values_sent)
            self._exchange(turn, [values_sent], [received[name]])
            del values_sent
        return received

    def _turns(self) -> list[int]:
        """Return how many arcs are sent before each round, and in all."""
        pieces = self._comm.size * len(self._rows)
        return [int(self._starts[turn * pieces]) for turn in range(self._rounds + 1)]

    def _pieces(self) -> Iterator[tuple[Ends, int, int, int]]:
        """Yield each partition's columns, its number of rows, its tile size and its first tile."""
        yield from zip(self._columns, self._rows, self._tiles, self._first_tiles[:-1], strict=True)

    def _exchange(
        self, turn: int, buffers: Sequence[DeviceArray], columns: Sequence[DeviceArray]
    ) -> None:
        """Send one or more entries for every arc of a round; put what is received in its place."""
        comm = self._comm
        going: list[list[DeviceArray]] = [[] for _ in range(comm.size)]
        coming: list[list[DeviceArray]] = [[] for _ in range(comm.size)]
        first = turn * comm.size
        pieces, begin = len(self._rows), self._turns()[turn]
        for buffer, column in zip(buffers, columns, strict=True):
            for rank in range(comm.size):
                kind = first + rank
                bounds = self._starts[kind * pieces : (kind + 1) * pieces + 1] - begin
                leaving = [buffer[start:stop] for start, stop in pairwise(bounds.tolist())]
                arriving = [column[start:stop] for start, stop in self._landings[turn][rank]]
                if rank == comm.rank:
                    for piece, place in zip(leaving, arriving, strict=True):
                        place[:] = piece
                else:
                    going[rank] += [piece for piece in leaving if len(piece)]
                    coming[rank] += [place for place in arriving if len(place)]
        deliver(comm, going, coming)


def deliver(
    comm: Communicator,
    going: Sequence[Sequence[DeviceArray]],
    coming: Sequence[Sequence[DeviceArray]],
) -> None:
    """Send arrays to other ranks, and receive theirs into arrays of the same lengths.  Collective.

    Parameters
    ----------
    comm : Communicator
        If it has links, no lengths are exchanged and nothing is copied.  What is sent may be
        overwritten afterwards.
    going, coming : sequence of sequence of device array
        What is sent to each rank, and where to receive from it; empty for this rank itself.
    """
    links = getattr(comm, "links", None)
    if links is not None:
        links.exchange(going, coming)
        return
    # copies: the send buffers may be overwritten while other ranks still read them
    mail = [[piece.copy() for piece in buffer] for buffer in going]
    for places, pieces in zip(coming, comm.alltoall(mail), strict=True):
        for place, piece in zip(places, pieces, strict=True):
            place[:] = piece
