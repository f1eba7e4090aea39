"""Weakly connected components of a graph that a crew holds on GPUs.

Each member links what its own arcs join, with the loop for one GPU, ghosts included; the label of a
tree is its least vertex.  Before most arcs are linked, members show each other which vertices are in
their largest trees, a bit for each, and those are joined everywhere.  Then come rounds: whoever holds
a vertex, as its own or as a ghost, shows the label of its tree to those who hold it too, and every
tree takes the least that it is shown.  Most often two rounds are enough.  Where labels have a long
way to go, pairs of those that met are contracted instead, as on the host.

No label is less than 0, and most often the giant component has vertex 0, so most of what two
members both hold is settled at once, by a bit that tells that the label is 0; no round looks at it
again.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.cluster import components as on_host
from cugraph_ws.cluster.components import Contraction, CrewLabels, distinct, solve
from cugraph_ws.cluster.post import Post
from cugraph_ws.cluster.shard import ShardGraph
from cugraph_ws.cuda.components import DeviceComponents
from cugraph_ws.cuda.device import as_host, device
from cugraph_ws.run import Step

__all__ = ["DeviceCrewComponents"]

DeviceArray = Any  # CuPy's or NumPy's

FEWEST = 2  # rounds before it is asked whether they lead anywhere
LEAST_SHOWN = 1 << 20  # arcs of a graph from which on members show each other their largest trees
SHOWN = 2  # times: who is told where the hubs are has a large tree to show only afterwards
PACKED = 1 << 30  # marks made bits at a time: CuPy counts them in 32 bits
FEW_BYTES = 8  # where no more than this part of all have a bit set
NARROW = 1 << 31  # places below this are kept in half the bytes


class DeviceCrewComponents(CrewLabels):
    """The loop on a share of a graph: links of own arcs, rounds at boundaries, and contraction.

    The first step links all own arcs and does the first round; each further one is a round, or
    contracts.  Labels are contracted after a round that leaves more than half as much unsettled as
    the one before, so there are few rounds whatever the graph.
    """

    def on_cuda(self) -> DeviceCrewComponents:
        """Return the loop itself."""
        return self

    def on_crew(self) -> DeviceCrewComponents:
        """Return the loop itself."""
        return self

    def start(self, graph: Any) -> None:
        """Make every vertex a tree of its own."""
        self._shard: ShardGraph = graph
        self._post = Post(graph)
        self._found = None
        self._graph, self._numbers, self._boundaries = graph.laid_out()
        self._local = DeviceComponents()
        self._local.begin(self._graph, self._lead())
        self._linking = True
        # Of what others hold too and is not settled: the roots here, where each member's begin and
        # end, and the labels that they were last shown.
        self._ends: DeviceArray
        self._bounds: list[int]
        self._shown: DeviceArray
        self._rounds = 0
        self._unsettled = 0  # of all members, what another one may know better
        self._slow = False  # whether labels are contracted from now on
        self._joined: Contraction | None = None  # of labels, while these do not fit anywhere
        self.converged = graph.number_of_arcs == 0

    def step(self) -> Step:
        """Link own arcs, let labels go one member farther, or contract what labels have met."""
        if self._linking:
            return self._link()
        if self._joined is not None:
            return self._contract(self._joined)
        if self._slow:
            return self._meet()
        return self._round(self._show(), len(self._ends), "spread", "boundary")

    def _labels_so_far(self) -> DeviceArray:
        xp, shard = device().xp, self._shard
        if self._linking:
            return xp.arange(shard.low, shard.low + shard.owned, dtype=self._numbers.dtype)
        roots = xp.take(self._local.trees, self._graph.positions[: shard.owned])
        return xp.take(self._least, roots)

    # --------------------------------------------------------------------------------- rounds

    def _link(self) -> Step:
        """Link own arcs, find the least vertices of trees, and do the first round."""
        read = 0
        if self._local.sampling:
            read = self._local.step().edges
        others = self._shard.crew.size > 1
        if others and self._shard.number_of_arcs >= LEAST_SHOWN:
            for _ in range(SHOWN):
                self._show_trees()
        while not self._local.converged:
            read += self._local.step().edges
        self._least = self._local.least(self._numbers)  # by root
        self._linking = False
        if not others:
            self.converged = True
            return Step(0, read, direction="link", filter="all")
        return self._round(self._settle(), read, "link", "all")

    def _show_trees(self) -> None:
        """Show each member which vertices that it holds are in the largest tree here, together.

        All in one tree are of one component, and are joined elsewhere, too.  The samples are of own rows:
        no ghost has one, so without being told most arcs out of ghosts would have to be linked.
        """
        ghosts = self._shard.ghosts
        words = [self._local.shown(held) for held in self._boundaries]
        cuts = [0, *np.cumsum([len(one) for one in words]).tolist()]
        (came,) = self._exchange((device().xp.concatenate(words), cuts))
        ends = np.cumsum([-(-(last - first) // 32) for first, last in ghosts])
        shown = [came[first:last] for first, last in pairwise([0, *ends.tolist()])]
        self._local.adopt(ghosts, shown)

    def _lead(self) -> int:
        """Return the position of the vertices of the member whose rows are the longest: hubs."""
        shard = self._shard
        if "lengths" not in shard.learned:
            own = self._graph.arcs / max(1, shard.owned)
            shard.learned["lengths"] = shard.crew.allgather(own)
        rank = int(np.argmax(shard.learned["lengths"]))
        return 0 if rank == shard.crew.rank else shard.ghosts[rank][0]

    def _round(self, came: DeviceArray, read: int, direction: str, rows: str) -> Step:
        """Take those of the labels shown that are less."""
        shown = self._shown
        if len(came):
            self._local.lower(self._least, self._ends, came)
        now = self._shown = device().xp.take(self._least, self._ends)
        # A label lowered since it was shown is news to whom it was shown.
        unsettled = int(device().xp.count_nonzero((now != came) | (now != shown)))
        before, self._rounds = self._unsettled, self._rounds + 1
        self._unsettled, read, sent = self._post.totals(unsettled, read)
        self._slow = self._rounds >= FEWEST and 2 * self._unsettled > before
        self.converged = self._unsettled == 0
        return Step(self._unsettled, read, direction=direction, filter=rows, bytes_sent=sent)

    def _settle(self) -> DeviceArray:
        """Show labels for the first time; return those shown, of the ends that are not settled.

        An end is what this member and another one both hold.  Told are a bit for each, whether its
        label is above 0, and the labels of those alone.  Ends with label 0 here and there are
        settled, which both members know: all others become `_ends`, and nothing as long as all ends
        is kept.
        """
        xp, least = device().xp, self._least
        sides = self._sides()
        above = xp.take(least != 0, self._local.trees)
        bits = [
            _packed(xp.concatenate([above[one], above[other]]))
            for one, other in zip(sides[::2], sides[1::2], strict=True)
        ]
        del above
        cuts = [0, *np.cumsum([len(one) for one in bits]).tolist()]
        here = xp.concatenate(bits)
        roots, bounds = self._roots_at(_set_places(here), sides, cuts)
        labels = xp.take(least, roots)
        del bits, roots  # before there is room for what comes
        there, labels = self._exchange((here, cuts), (labels, bounds))
        places = _set_places(here | there)
        told = _are_set(there, places)
        self._ends, self._bounds = self._roots_at(places, sides, cuts)
        del places
        came = xp.zeros(len(self._ends), least.dtype)
        came[told] = labels
        self._shown = xp.take(least, self._ends)
        return came

    def _sides(self) -> list[DeviceArray | slice]:
        """Return the positions of all ends, those owned and ghosts apart: two for each member.

        Two members have what they both hold in the same order: first what the one of the lower rank
        owns.
        """
        sides: list[DeviceArray | slice] = []
        for rank, (held, ghosts) in enumerate(
            zip(self._boundaries, self._shard.ghosts, strict=True)
        ):
            both = [held, slice(*ghosts)]
            sides += both if self._shard.crew.rank < rank else both[::-1]
        return sides

    def _roots_at(
        self, places: DeviceArray, sides: list[DeviceArray | slice], cuts: list[int]
    ) -> tuple[DeviceArray, list[int]]:
        """Return the roots of the ends at places among all bits, and how many are before each member's.

        Parameters
        ----------
        places : device array of int32 or int64, ascending
        sides : list of device array or slice
            As `_sides` returns them.
        cuts : list of int
            Bytes of bits before those of each member.
        """
        xp, trees = device().xp, self._local.trees
        firsts = []  # bits before those of each side
        for cut, side in zip(cuts[:-1], sides[::2], strict=True):
            firsts += [8 * cut, 8 * cut + _length(side)]
        edges = xp.asarray([*firsts, 8 * cuts[-1]], places.dtype)
        bounds = as_host(xp.searchsorted(places, edges)).tolist()
        parts = []
        for side, first, (low, high) in zip(sides, firsts, pairwise(bounds), strict=True):
            which = places[low:high] - first
            # Ghosts lie together, so their roots are no copy.
            one = trees[side][which] if isinstance(side, slice) else trees[xp.take(side, which)]
            parts.append(one)
        return xp.concatenate(parts), bounds[::2]

    def _show(self) -> DeviceArray:
        """Show each member the labels of what is not settled; return those shown, by end; together."""
        (came,) = self._exchange((self._shown, self._bounds))
        return came

    def _exchange(self, *columns: tuple[DeviceArray, list[int]]) -> list[DeviceArray]:
        """Give every member its part of each array, all at once; return what has come for each.

        Parameters
        ----------
        *columns : tuple of device array and list of int
            Each array, and where in it the parts of the members begin and end.
        """
        xp, crew = device().xp, self._shard.crew
        columns = tuple(
            (array if crew.on_device else as_host(array), bounds) for array, bounds in columns
        )
        boxes = [
            [array[bounds[rank] : bounds[rank + 1]] for array, bounds in columns]
            for rank in range(crew.size)
        ]
        came = zip(*self._post.exchange(boxes), strict=True)
        return [xp.concatenate([xp.asarray(one) for one in parts]) for parts in came]

    # ----------------------------------------------------------------------------- contraction

    def _meet(self) -> Step:
        """Find which labels have met, and join them if they fit anywhere."""
        there, here = self._show(), self._shown
        met = here > there  # so of two members one has the pair
        low, high = map(_wide, distinct(there[met], here[met]))
        pairs, sent = self._post.totals(len(low))
        if pairs <= on_host.SHARED:
            self._rename(*solve(self._post, low, high, self._shard.crew.size))
            _, more = self._post.totals(0)
            self._unsettled, self.converged = 0, True
            return Step(0, pairs, direction="contract", filter="pairs", bytes_sent=sent + more)
        self._joined = Contraction(self._shard, self._post)
        self._joined.begin(low, high)
        return self._contract(self._joined, sent)

    def _contract(self, joined: Contraction, sent: int = 0) -> Step:
        """Join pairs of labels on the host; at the end, take what has become of them."""
        step = joined.step()
        if joined.pairs == 0:
            labels = self._labels_so_far()
            names = _wide(device().xp.unique(labels) if len(labels) else labels)
            self._rename(names, self._post.fetch(joined.above, names))
            _, more = self._post.totals(0)
            sent += more
            self.converged = True
        step.bytes_sent += sent
        return step

    def _rename(self, names: npt.NDArray[np.int64], others: npt.NDArray[np.int64]) -> None:
        """Replace labels, which are given ascending, by others."""
        xp, least = device().xp, self._least
        if not len(names) or not len(least):
            return
        known, given = xp.asarray(names, least.dtype), xp.asarray(others, least.dtype)
        places = xp.minimum(xp.searchsorted(known, least), len(known) - 1)
        self._least = xp.where(known[places] == least, given[places], least)


def _length(side: DeviceArray | slice) -> int:
    """Return how many positions there are on a side of a boundary."""
    return side.stop - side.start if isinstance(side, slice) else len(side)


def _packed(marks: DeviceArray) -> DeviceArray:
    """Return an array of bool as bits, in whole bytes."""
    xp = device().xp
    return xp.concatenate(
        [
            xp.packbits(marks[first : first + PACKED])
            for first in range(0, max(len(marks), 1), PACKED)
        ]
    )


def _are_set(bits: DeviceArray, places: DeviceArray) -> DeviceArray:
    """Tell of places among bits whether they are set."""
    return (bits[places >> 3] >> (7 - (places & 7)).astype(np.uint8)) & 1 != 0


def _set_places(bits: DeviceArray) -> DeviceArray:
    """Return the places of the bits that are set, ascending, in few bytes.

    Most often few are: then only the bytes that have any are spread out.
    """
    xp, kind = device().xp, np.int32 if 8 * len(bits) < NARROW else np.int64
    some = xp.flatnonzero(bits)
    if FEW_BYTES * len(some) > len(bits):
        return xp.flatnonzero(xp.unpackbits(bits)).astype(kind, copy=False)
    found = xp.flatnonzero(xp.unpackbits(bits[some]))
    return (8 * some[found >> 3] + (found & 7)).astype(kind)


def _wide(array: DeviceArray) -> npt.NDArray[np.int64]:
    """Return an array of the device as int64 on the host."""
    return as_host(array).astype(np.int64)
