"""A vertex program, or phases, on a whole graph in several partitions, whose ranks are threads.

Each rank runs a `VertexLoop` or a `PhasedLoop` on its shard, like a rank of a cluster.  The caller's
thread drives them step by step, as if they were one loop on the whole graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy.typing as npt

from cugraph_ws.execution.loop import Column, Loop, Step
from cugraph_ws.execution.phased_loop import PhasedLoop
from cugraph_ws.execution.profile import Traffic
from cugraph_ws.execution.run_memory import GraphSizes
from cugraph_ws.execution.stall import Repetition
from cugraph_ws.execution.vector_loop import VectorLoop
from cugraph_ws.execution.vertex_loop import VertexLoop
from cugraph_ws.graph.footprints import Sizes
from cugraph_ws.graph.graph import Graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.cut import joined, own_arcs, shards_of
from cugraph_ws.runtime.saved_state import SavedState
from cugraph_ws.runtime.thread_ranks import ThreadRanks

__all__ = ["PartitionedLoop", "bytes_of_shards"]

Value = TypeVar("Value")
ShardedLoop = VertexLoop | VectorLoop | PhasedLoop

SHARDED, COLUMN = 44, 12.5  # bytes of an arc and of each of its values while shards are built


def bytes_of_shards(sizes: Sizes) -> float:
    """Return what shards of a whole graph take while they are built, beside the graph.

    Ghosts are not counted, whose number depends on the edges.
    """
    if sizes.on_device:
        return (sizes.index * sizes.arcs + 16 * sizes.vertices) * (2 if sizes.directed else 1)
    columns = int(sizes.weighted)
    if isinstance(sizes, GraphSizes):
        columns = len(sizes.graph.edge_attributes)
    return (SHARDED + COLUMN * columns) * sizes.arcs + 16 * sizes.vertices


class PartitionedLoop(Loop):
    """Runs a vertex program on the shards of a graph; see `Loop` for the interface.

    Parameters
    ----------
    loop : VertexLoop, VectorLoop or PhasedLoop
        The program or programs, not started.
    size : int
        Number of partitions, at least 2.
    """

    def __init__(self, loop: ShardedLoop, size: int) -> None:
        self._loop = loop  # bound to the whole graph; its copies run
        self.name, self.max_iter, self.tol = loop.name, loop.max_iter, loop.tol
        self.phased = isinstance(loop, PhasedLoop)
        self._ranks = ThreadRanks(size)
        self._loops: list[ShardedLoop] = []
        self._repetition: Repetition | None = None  # of vertex programs without vectors, and phases

    def memory(self, sizes: Sizes) -> float:
        """Return the bytes that the run takes, with the shards while they are built."""
        return self._loop.memory(sizes) + bytes_of_shards(sizes)

    @property
    def converged(self) -> bool:
        """Whether no further step is needed."""
        return self._loops[0].converged

    @property
    def diverged(self) -> bool:
        """Whether the residual's field is no longer finite."""
        return self._loops[0].diverged

    @property
    def synchronous(self) -> bool:
        """Whether the states are those after the given number of supersteps."""
        return self._loops[0].synchronous

    def start(self, graph: GraphView, *, on_device: bool = False) -> None:
        """Bind the program to the whole graph, split the graph, and start the program on the shards."""
        assert isinstance(graph, Graph)
        self._loop.bind(graph, on_host=True)
        shards = shards_of(graph, self._ranks)
        self._rows = [shard.owners.index() for shard in shards]
        self._arcs = (
            [own_arcs(graph, shard.owners) for shard in shards] if self.by_arc_state else []
        )

        def begun(rank: int) -> ShardedLoop:
            return self._loop.on_shard(shards[rank])

        self._loops = self._on_ranks(begun)
        self._repetition = self._loops[0].repetition()

    def _on_ranks(self, work: Callable[[int], Value]) -> list[Value]:
        """Run a function of the rank's index on every rank; it may call collectives."""
        return self._ranks.call_each(work, on_device=self._loop.engine == "cuda")

    def _joined(
        self, arrays_of: Callable[[ShardedLoop], Mapping[str, Any]]
    ) -> list[tuple[str, list[Any]]]:
        """Return the names of arrays, each with the arrays of all ranks."""
        shares = self._on_ranks(lambda rank: arrays_of(self._loops[rank]))
        return [(name, [share[name] for share in shares]) for name in shares[0]]

    @property
    def traffic(self) -> Traffic | None:
        """The bytes that the next superstep moves on all shards."""
        return self._loops[0].traffic

    def step(self) -> Step:
        """Run the next superstep on all shards."""
        step = self._on_ranks(lambda rank: self._loops[rank].step())[0]
        if self._repetition is not None:
            states = [column for loop in self._loops for column in loop.own_state().values()]
            self._loops[0].refuse_repeated(self._repetition, states)  # type: ignore[union-attr]
        self.max_iter = self._loops[0].max_iter  # phases set it to end a run
        return replace(step, partitions=self._ranks.size)

    @property
    def by_vertex_state(self) -> tuple[str, ...]:
        """Names of the arrays of `state` with an entry for each vertex."""
        return self._loop.by_vertex_state

    @property
    def by_arc_state(self) -> tuple[str, ...]:
        """Names of the arrays of `state` with an entry for each arc."""
        return self._loop.by_arc_state if isinstance(self._loop, VertexLoop) else ()

    def inputs(self) -> dict[str, Any]:
        """Return by name what the result depends on besides the graph."""
        return self._loop.inputs()

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return all arrays that are needed to resume from this point, by vertex number."""
        return {
            name: self._whole(name, shares)
            for name, shares in self._joined(lambda loop: loop.state())
        }

    def _whole(self, name: str, shares: list[Any]) -> Any:
        """Return an array of a state, given those of all ranks."""
        if name in self.by_vertex_state:
            return joined(shares, self._rows)
        return joined(shares, self._arcs) if name in self.by_arc_state else shares[0]

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse a state that this run cannot have saved."""
        self._loop.check(state, graph)

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Resume from what `state` returned, after `start`."""

        def resume(rank: int) -> None:
            self._loops[rank].restore(
                {
                    name: array[self._rows[rank]]
                    if name in self.by_vertex_state
                    else array[self._arcs[rank]]
                    if name in self.by_arc_state
                    else array
                    for name, array in state.items()
                }
            )

        self._on_ranks(resume)
        self.max_iter = self._loops[0].max_iter

    def edges(self) -> dict[str, Any]:
        """Return the state of edges by field, in the order of the graph's CSC."""
        shares = self._joined(lambda loop: loop.edges() if isinstance(loop, VertexLoop) else {})
        return {name: joined(parts, self._arcs) for name, parts in shares}

    @property
    def columns_take_long(self) -> bool:
        """Whether predecessors are among the columns."""
        return self._loop.columns_take_long

    def columns(self) -> dict[str, Column]:
        """Return the visible state fields and the predecessors, by vertex number."""
        return self._loop.as_columns(self.arrays())

    def arrays(self) -> dict[str, Any]:
        """Return the state fields and, as `_predecessor`, predecessors' numbers, by vertex number."""
        return {
            name: joined(shares, self._rows)
            for name, shares in self._joined(lambda loop: loop.arrays())
        }
