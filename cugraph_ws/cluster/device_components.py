"""Weakly connected components of a graph that a crew holds on GPUs.

Each member links what its own arcs join, with the loop for one GPU, ghosts included; the label of a
tree is its least vertex.  Then come rounds: whoever holds a vertex, as its own or as a ghost, shows
the label of its tree to those who hold it too, and every tree takes the least that it is shown.
Most often two rounds are enough.  Where labels have a long way to go, pairs of those that met are
contracted instead, as on the host.
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
        self._local.begin(self._graph)
        self._linking = True
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
        return self._meet() if self._slow else self._round(len(self._ends), "spread", "boundary")

    def _labels_so_far(self) -> DeviceArray:
        xp, shard = device().xp, self._shard
        if self._linking:
            return xp.arange(shard.low, shard.low + shard.owned, dtype=self._numbers.dtype)
        roots = xp.take(self._local.trees, self._graph.positions[: shard.owned])
        return xp.take(self._least, roots)

    # --------------------------------------------------------------------------------- rounds

    def _link(self) -> Step:
        """Link own arcs, and find the least vertices of trees."""
        xp, shard, read = device().xp, self._shard, 0
        while not self._local.converged:
            read += self._local.step().edges
        trees = self._local.trees
        self._least = self._local.least(self._numbers)  # by root
        # The roots of what a member and this one hold both: its ghosts here, then those of it.
        parts = []
        for held, (first, last) in zip(self._boundaries, shard.ghosts, strict=True):
            parts += [xp.take(trees, held), trees[first:last]]
        self._ends = xp.concatenate(parts)
        self._bounds = [0, *np.cumsum([len(part) for part in parts]).tolist()]
        self._shown = xp.take(self._least, self._ends)
        self._linking = False
        return self._round(read, "link", "all")

    def _round(self, read: int, direction: str, rows: str) -> Step:
        """Show labels, and take those that are less."""
        shown = self._shown
        came = self._show()
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

    def _show(self) -> DeviceArray:
        """Show each member the labels of what it holds too; return those shown, by end; together."""
        xp, crew = device().xp, self._shard.crew
        labels = self._shown if crew.on_device else as_host(self._shown)
        parts = [labels[first:last] for first, last in pairwise(self._bounds)]
        # What is a ghost here is its owner's there, and the other way round.
        boxes = [list(both) for both in zip(parts[1::2], parts[::2], strict=True)]
        return xp.concatenate(
            [xp.asarray(one) for box in self._post.exchange(boxes) for one in box]
        )

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


def _wide(array: DeviceArray) -> npt.NDArray[np.int64]:
    """Return an array of the device as int64 on the host."""
    return as_host(array).astype(np.int64)
