"""The way of arcs to the GPUs of the owners of their destinations, in rounds.

A round brings every member the arcs of one range of its rows, so that there is never a copy of all own
arcs, neither of those that are sent nor of those that have come.
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

__all__ = ["MOST_KINDS", "DeviceRoute", "kind_dtype", "words_for"]

DeviceArray = Any  # CuPy's or NumPy's
Numbers = npt.NDArray[np.int64]
Ends = tuple[DeviceArray, DeviceArray]
MOST_KINDS = 256  # that a byte tells, with one for no arc


def kind_dtype(classes: int) -> np.dtype[Any]:
    """Return the dtype of kinds, of which there are `classes`, and one for no arc."""
    return np.dtype(np.uint8 if classes < MOST_KINDS else np.int32)


def words_for(bits: int) -> int:
    """Return how many words of 32 bits hold so many."""
    return -(-bits // 32)


class DeviceRoute:
    """Which own arcs go where, and when.

    Arcs of a round are in the order of the whole frame's rows where they arrive.  An undirected edge is
    two arcs, to its destination and to its source, a self-loop one.

    Parameters
    ----------
    crew : Communicator
    ends : sequence of pair of device array of int32, uint32 or int64
        The sources' and the destinations' ids of each own partition.
    places : sequence of int
        The place of each own partition in the whole frame.
    low, span : int
        Ids are integers from `low`, below `low + span`.
    rounds : int
        The same for all members.
    loops : bool
        Whether self-loops are sent.
    directed : bool

    Attributes
    ----------
    coming : list of int
        How many arcs come here in each round, once announcements have been heard.
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
        # Of arcs of each kind and own partition, of all kinds one after the other, and the end
        self._starts = np.zeros(1, np.int64)
        self._landings: list[list[list[tuple[int, int]]]] = []
        self.coming: list[int] = []

    @property
    def sent(self) -> int:
        """The most arcs that leave here in a round, once they have been told apart."""
        return max(end - begin for begin, end in pairwise(self._turns()))

    def tell_apart(self, kind_of: DeviceArray) -> DeviceArray:
        """Find out of which kind each own arc is.

        Parameters
        ----------
        kind_of : device array of `kind_dtype`, shape (span,)
            Of arcs to the ids from `low` on: round × members + owner.

        Returns
        -------
        device array of uint32, shape (members, words)
            The sources of own arcs to each member's vertices: a bit for each of `span`, from the lowest.
        """
        here, members, tiles = device(), self._comm.size, self._first_tiles[-1]
        xp = here.xp
        marks = xp.zeros((members, words_for(self._span)), np.uint32)
        room = 32 * marks.shape[1]
        counts = xp.zeros(max(1, self._classes * tiles), np.int64)
        for columns, rows, tile, first_tile in self._pieces():
            slots = rows << self._both
            kinds = xp.empty(slots, kind_of.dtype)
            if slots:
                run(
                    here, "mark_kinds", 32 * -(-slots // tile), columns, self._both, slots,
                    self._loops, self._low, room, kind_of, members, self._classes, tile,
                    first_tile, tiles, kinds, counts, marks.ravel(), module="split",
                )  # fmt: skip
            self._kinds.append(kinds)
        self._cursors = xp.zeros(len(counts) + 1, np.int64)
        xp.cumsum(counts, out=self._cursors[1:])
        starts = np.arange(self._classes)[:, None] * tiles + np.array(self._first_tiles[:-1], int)
        wanted = np.append(starts.ravel(), self._classes * tiles)
        self._starts = here.to_host(self._cursors[xp.asarray(wanted)])
        return marks

    def announcements(self) -> list[Numbers]:
        """Return what each member is to `hear`: how many arcs it will get of which partition, and when."""
        size = self._comm.size
        counts = np.diff(self._starts).reshape(self._rounds, size, len(self._rows))
        return [np.vstack([self._places, counts[:, rank]]) for rank in range(size)]

    def hear(self, told: Sequence[Numbers]) -> None:
        """Find out where arcs are to arrive.

        Parameters
        ----------
        told : sequence of ndarray of int64
            The announcement of each member, by rank.
        """
        order = sorted(
            (place, rank, which)
            for rank, one in enumerate(told)
            for which, place in enumerate(one[0].tolist())
        )
        for turn in range(self._rounds):
            begin = 0
            landing = [[(0, 0)] * one.shape[1] for one in told]
            for _, rank, which in order:
                end = begin + int(told[rank][1 + turn, which])
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
        """Send the arcs of a round, together.

        Parameters
        ----------
        turn : int
            Which round; each is sent once.
        values : dict of str to device array, each of shape (rows,)
            Edge columns of own rows, partition by partition.
        leaving : pair of device array of int32 or int64
            Room for as many arcs as are `sent`.
        arriving : pair of device array of int32 or int64
            Where destinations and sources of what comes are put, as ids less `low`; the source v of an
            arc from an undirected edge's destination back is marked as ~v.

        Returns
        -------
        dict of str to device array
            The values of what has come.
        """
        here, tiles = device(), self._first_tiles[-1]
        xp = here.xp
        first = turn * self._comm.size
        last = first + self._comm.size
        begin, end = self._turns()[turn : turn + 2]
        sent = end - begin
        rows = xp.empty(sent if values else 0, number_dtype(sum(self._rows)))
        first_row = 0
        for (columns, count, tile, first_tile), kinds in zip(
            self._pieces(), self._kinds, strict=True
        ):
            slots = count << self._both
            if slots and sent:
                run(
                    here, "spread_kinds", 32 * -(-slots // tile), columns, self._both, slots,
                    self._low, kinds, first, last, tile, first_tile, tiles, self._cursors, begin,
                    *leaving, int(bool(values)), first_row, rows, module="split",
                )  # fmt: skip
            first_row += count
        self._exchange(turn, leaving, arriving)
        came = {}
        for name, column in values.items():
            came[name] = xp.empty(self.coming[turn], column.dtype)
            own = xp.empty(sent, column.dtype)
            if sent:
                run(here, "gather", sent, column, rows, sent, own)
            self._exchange(turn, [own], [came[name]])
            del own
        return came

    def _turns(self) -> list[int]:
        """Return how many arcs leave before each round, and in all."""
        pieces = self._comm.size * len(self._rows)
        return [int(self._starts[turn * pieces]) for turn in range(self._rounds + 1)]

    def _pieces(self) -> Iterator[tuple[Ends, int, int, int]]:
        """Yield the columns of each own partition, its rows, and its tiles: how large, from which."""
        yield from zip(self._columns, self._rows, self._tiles, self._first_tiles[:-1], strict=True)

    def _exchange(
        self, turn: int, buffers: Sequence[DeviceArray], taken: Sequence[DeviceArray]
    ) -> None:
        """Send what every arc of a round has, in order of their kinds; put what comes in its place."""
        comm = self._comm
        sent: list[list[DeviceArray]] = [[] for _ in range(comm.size)]
        landing: list[list[DeviceArray]] = [[] for _ in range(comm.size)]
        first = turn * comm.size
        pieces, begin = len(self._rows), self._turns()[turn]
        for buffer, column in zip(buffers, taken, strict=True):
            for rank in range(comm.size):
                kind = first + rank
                bounds = self._starts[kind * pieces : (kind + 1) * pieces + 1] - begin
                leaving = [buffer[one:other] for one, other in pairwise(bounds.tolist())]
                arriving = [column[one:other] for one, other in self._landings[turn][rank]]
                if rank == comm.rank:
                    for piece, place in zip(leaving, arriving, strict=True):
                        place[:] = piece
                else:
                    sent[rank] += [piece for piece in leaving if len(piece)]
                    landing[rank] += [place for place in arriving if len(place)]
        deliver(comm, sent, landing)


def deliver(
    comm: Communicator,
    sent: Sequence[Sequence[DeviceArray]],
    taken: Sequence[Sequence[DeviceArray]],
) -> None:
    """Send arrays to other members, and receive theirs into arrays of the same lengths, together.

    Parameters
    ----------
    crew : Communicator
        Where it has links, nothing is told before, and nothing copied.  What is sent may be overwritten
        afterwards.
    sent, taken : sequence of sequence of device array
        What goes to each member, by rank, and where that from each is to come; none of oneself.
    """
    links = getattr(comm, "links", None)
    if links is not None:
        links.exchange(sent, taken)
        return
    # copies: what has been sent is overwritten here while others may still read it
    mail = [[piece.copy() for piece in box] for box in sent]
    for places, pieces in zip(taken, comm.alltoall(mail), strict=True):
        for place, piece in zip(places, pieces, strict=True):
            place[:] = piece
