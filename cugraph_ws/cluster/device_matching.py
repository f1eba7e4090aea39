"""A maximal matching of a graph that a crew holds on GPUs: the one that one machine finds.

A round is the kernels' of one GPU.  Between them members tell each other the new proposals, and after
them who is matched.  A proposal to a vertex elsewhere is its owner's business alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.cluster.device_mirror import DeviceMirror
from cugraph_ws.cluster.device_post import DevicePost
from cugraph_ws.cluster.matching import CrewMatching, refuse_inside
from cugraph_ws.cluster.shard import ShardGraph
from cugraph_ws.cuda import matching
from cugraph_ws.cuda.device import as_host, device
from cugraph_ws.cuda.graph import DeviceGraph
from cugraph_ws.cuda.matching import UNDECIDED, edge_inside
from cugraph_ws.frames import VertexNumbers
from cugraph_ws.run import Step

__all__ = ["DeviceCrewMatching"]

DeviceArray = Any  # CuPy's or NumPy's


class DeviceCrewMatching(CrewMatching):
    """The loop on a share of a graph on a GPU; see `CrewMatching`.

    Arrays by vertex are by position as laid out; so are mates and proposals.  Of a ghost it is known
    whether it has a mate, and which own vertex it has proposed to last, if any.

    Parameters
    ----------
    left : sequence, ndarray, Series, frame or str
        Ids of the vertices on the left, or the name of a vertex attribute.
    seed : int
        Seed of the edges' ranks.
    key : int
        What is made of the seed.
    """

    _free: DeviceArray  # the first `_count` are own vertices that may still find a mate
    _mate: DeviceArray
    _best: DeviceArray
    _count: int
    _spare: DeviceArray
    _graph: DeviceGraph
    _said: DeviceArray  # by entry of the boundaries: the last proposal, and whether it is matched
    _matched: DeviceArray

    def on_cuda(self) -> DeviceCrewMatching:
        """Return the loop itself."""
        return self

    def start(self, graph: Any) -> None:
        """Read which vertices are on the left, refuse edges within a side, and list neighbours."""
        xp, on_device = device().xp, graph.binds_on_device
        if isinstance(self._left, str):
            self._is_left, _ = graph.vertex_values(
                self._left, "left", np.bool_, default=False, on_device=on_device
            )
        else:
            self._is_left = graph.members(self._left, "left", on_device=on_device)
        there, numbers, _ = graph.laid_out()
        refuse_inside(graph, edge_inside(there, there.by_position(self._is_left), numbers))
        self._shard: ShardGraph = DeviceMirror(graph) if graph.directed else graph
        self._graph, self._numbers, _ = self._shard.laid_out()
        self._own = self._graph.positions[: graph.owned]
        self._exchange = DevicePost(self._shard)
        # By entry of the boundaries: the range of positions of its holder's vertices.
        firsts, lasts = zip(*self._shard.ghosts, strict=True)
        self._theirs = self._exchange.by_holder(firsts), self._exchange.by_holder(lasts)
        index = self._graph.csc.indices.dtype
        self._mate = xp.full(self._graph.size, -1, index)
        self._best = xp.full(self._graph.size, UNDECIDED, index)
        self._counts = xp.zeros(2, np.int64)
        self._find_free()

    def step(self) -> Step:
        """Let free vertices propose, and match those whose proposals are mutual."""
        active, post, ends = self._all_free, self._exchange, self._exchange.ends
        self._counts[:] = 0
        self._propose()
        best, (first, last) = self._best[ends], self._theirs
        changed = (best != self._said) & (best >= first) & (best < last)
        self._said = best
        for ghosts, (chosen,) in post.spread(changed, lambda own: [self._named(self._best[own])]):
            self._best[ghosts] = self._placed(chosen)
        self._launch(
            "accept", self._mate, self._best, self._free, self._count, self._spare, self._counts
        )
        self._free, self._spare = self._spare, self._free
        matched = self._mate[ends] >= 0
        for ghosts, _ in post.spread(matched & ~self._matched, lambda _: []):
            self._mate[ghosts] = ghosts
        self._matched = matched
        self._count, read = as_host(self._counts).tolist()
        self._all_free, read, sent = post.totals(self._count, read)
        return Step(active, read, direction="pull", filter="list", bytes_sent=sent)

    def inputs(self) -> dict[str, Any]:
        """Return which vertices are on the left, and the seed."""
        return {"left": as_host(self._is_left), "seed": self._seed}

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return own vertices' mates, and what each proposed last, as numbers."""
        return {
            name: as_host(self._named(array[self._own])).astype(np.int64)
            for name, array in (("mate", self._mate), ("best", self._best))
        }

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Go on with some vertices matched."""
        xp = device().xp
        self._spread(self._mate, xp.asarray(state["mate"].astype(np.int64)))
        # Proposals are made again: one that is not the best would never be mutual.  So it is looked
        # whether those who found nobody have nobody.
        self._best[:] = UNDECIDED
        alone = xp.zeros(len(self._best), np.bool_)
        alone[self._own] = xp.asarray(state["best"] == -1)
        alone &= self._mate < 0
        self._free = xp.flatnonzero(alone).astype(self._mate.dtype)
        self._count = len(self._free)
        self._propose()
        self._spread(self._best, self._named(self._best[self._own]).astype(np.int64))
        self._find_free()

    def columns(self) -> dict[str, VertexNumbers]:
        """Return the mate of each own vertex."""
        mates = self._named(self._mate[self._own]).astype(np.int64)
        return {"mate": VertexNumbers(mates, nullable=True)}

    def _spread(self, array: DeviceArray, own: DeviceArray) -> None:
        """Fill an array of positions with own vertices' numbers, and with ghosts' from their owners."""
        numbers = device().xp.full(len(array), UNDECIDED, np.int64)
        numbers[self._own] = own
        self._exchange.refresh(numbers)
        array[:] = self._placed(numbers)

    def _propose(self) -> None:
        """Let free own vertices propose."""
        rows = self._graph.csc
        self._launch(
            "propose", (*rows, *rows), 1, self._numbers, self._mate, self._best, self._free,
            self._count, self._key, self._counts,
        )  # fmt: skip

    def _find_free(self) -> None:
        """List the own vertices that may still find a mate, together."""
        xp, ends, own = device().xp, self._exchange.ends, slice(self._shard.owned)
        free = xp.flatnonzero((self._mate[own] < 0) & (self._best[own] != -1))
        self._free = free.astype(self._mate.dtype)
        self._spare = xp.empty_like(self._free)
        self._count = len(free)
        self._said, self._matched = self._best[ends], self._mate[ends] >= 0
        self._all_free, _ = self._exchange.totals(self._count)

    def _launch(self, name: str, *arguments: Any) -> None:
        if self._count:
            here, block = device(), matching.BLOCK
            blocks = here.blocks_for(self._count, block)
            here.module("matching").launch(name, blocks, block, *arguments)

    def _named(self, places: DeviceArray) -> DeviceArray:
        """Return positions as vertex numbers; negative ones stay."""
        xp = device().xp
        known = self._numbers[xp.maximum(places, 0)] if self._graph.size else places
        return xp.where(places >= 0, known, places)

    def _placed(self, numbers: DeviceArray) -> DeviceArray:
        """Return vertex numbers as positions; negative ones stay, others' become the number of positions."""
        xp, shard, positions = device().xp, self._shard, self._graph.positions
        if len(positions) == 0:
            return numbers
        places = numbers - shard.low
        outside = self._numbers[positions[shard.owned :]]  # ascending
        ghosts = xp.searchsorted(outside, numbers.astype(outside.dtype)) + shard.owned
        inside = (places >= 0) & (places < shard.owned)
        places = xp.where(inside, places, xp.minimum(ghosts, len(positions) - 1))
        found = positions[places]
        known = self._numbers[found] == numbers
        return xp.where(numbers < 0, numbers, xp.where(known, found, len(positions)))
