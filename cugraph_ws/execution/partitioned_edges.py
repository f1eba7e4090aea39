"""An edge program on a whole graph in several partitions, whose ranks are threads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy.typing as npt

from cugraph_ws.errors import InputError
from cugraph_ws.execution.edge_loop import EdgeLoop
from cugraph_ws.execution.loop import Column, Loop, Step
from cugraph_ws.execution.partitioned_loop import bytes_of_shards
from cugraph_ws.graph.footprints import Sizes
from cugraph_ws.graph.graph import Graph
from cugraph_ws.graph.vertices import PAIR
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.cut import shards_of
from cugraph_ws.runtime.arrays import array_module, as_host, module_of
from cugraph_ws.runtime.saved_state import SavedState
from cugraph_ws.runtime.thread_ranks import ThreadRanks

__all__ = ["PartitionedEdges"]


class PartitionedEdges(Loop):
    """Runs an edge program on the shards of a graph; see `Loop` for the interface.

    Parameters
    ----------
    loop : EdgeLoop
        The program, not started.
    size : int
        Number of partitions, at least 2.
    """

    by_vertex = False

    def __init__(self, loop: EdgeLoop, size: int) -> None:
        self._loop = loop  # bound to the whole graph; its copies run
        self.name = loop.name
        self._ranks = ThreadRanks(size)
        self._loops: list[EdgeLoop] = []

    def memory(self, sizes: Sizes) -> float:
        """Return the bytes that the run takes, with the shards and their rows of neighbours."""
        rows = (2 * sizes.arcs if sizes.directed else sizes.arcs) * 12
        return self._loop.memory(sizes) + bytes_of_shards(sizes) + rows

    @property
    def converged(self) -> bool:
        """Whether all pairs are computed."""
        return self._loops[0].converged

    def start(self, graph: GraphView, *, on_device: bool = False) -> None:
        """Bind the program to the whole graph, split the graph, and begin on the shards."""
        assert isinstance(graph, Graph)
        if self._loop.saves:
            raise InputError(
                f"{self._loop.saves}: with partitions=, a run of an edge program has no checkpoints; "
                "leave out one of the two"
            )
        self._on_device, self._graph = on_device, graph
        near = self._loop.near(graph, on_device=False)
        degrees = near.rows.degrees[: near.owned]
        bound, pairs = self._loop.bind(graph, degrees), self._loop.numbered(graph)
        shards, xp = shards_of(graph, self._ranks), array_module(on_device)
        # All pairs of neighbours are listed by the first one's number, each by its owner
        self._in_order = pairs is not None or shards[0].owners.in_ranges

        def begun(rank: int) -> EdgeLoop:
            shard = shards[rank]
            rows = shard.owners.index()
            constants = tuple(
                xp.asarray(column if uniform else column[rows])
                for column, uniform in zip(bound.constants, bound.types.uniform, strict=True)
            )
            some = None
            if pairs is not None:
                count, size = len(pairs[0]), self._ranks.size
                share = slice(count * rank // size, count * (rank + 1) // size)
                some = as_host(pairs[0])[share], as_host(pairs[1])[share]
            near = self._loop.near(shard, on_device=on_device)
            own_bound = replace(bound, constants=constants)
            return self._loop.moved(own_bound, near, some, shard, on_device=on_device)

        self._loops = self._ranks.call_each(begun, on_device=on_device)

    def step(self) -> Step:
        """Compute the values of the next pairs of all shards."""
        step = self._ranks.call_each(
            lambda rank: self._loops[rank].step(), on_device=self._on_device
        )[0]
        return replace(step, partitions=self._ranks.size)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return nothing: there are no checkpoints."""
        return {}

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse nothing: there are no checkpoints."""

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Restore nothing: there are no checkpoints."""

    def arrays(self) -> dict[str, Any]:
        """Return the numbers and values of the pairs that are computed, in their order."""
        shares = [loop.arrays() for loop in self._loops]
        xp = module_of(next(iter(shares[0].values())))
        arrays = {name: xp.concatenate([share[name] for share in shares]) for name in shares[0]}
        if self._in_order:
            return arrays
        order = xp.argsort(arrays[PAIR[0]], kind="stable")
        return {name: array[order] for name, array in arrays.items()}

    def columns(self) -> dict[str, Column]:
        """Return one row for each pair that is computed."""
        return self._loops[0].as_columns(self.arrays(), self._graph)
