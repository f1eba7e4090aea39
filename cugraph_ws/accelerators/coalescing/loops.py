"""A vertex program that continues on one rank if its supersteps are many and small.

On a road network a superstep takes less time than a collective, and there are thousands of
supersteps.  A run detects this.  If rank 0 has enough memory, it then receives the whole graph and
continues alone, with fused supersteps, and the other ranks receive its progress.  The result is
sent back to the owners.  Rank 0 keeps the graph for later runs.

Moving costs time too.  A run moves once its supersteps have taken as long as the move is expected
to take.  So it takes at most about twice as long as the better choice (ski rental: Karlin, Manasse,
Rudolph and Sleator, "Competitive snoopy caching", Algorithmica 1988).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cugraph_ws.execution.loop import Column, Loop, Step
from cugraph_ws.execution.profile import Traffic
from cugraph_ws.graph.footprints import Sizes
from cugraph_ws.graph.graph import Graph
from cugraph_ws.partition.cut import joined
from cugraph_ws.partition.shard import ShardGraph
from cugraph_ws.runtime.arrays import as_host
from cugraph_ws.runtime.device import device
from cugraph_ws.runtime.memory import available_memory
from cugraph_ws.runtime.saved_state import SavedState

if TYPE_CHECKING:
    from cugraph_ws.execution.vertex_loop import VertexLoop

__all__ = ["CoalescingLoop"]

Array = npt.NDArray[Any]

PATIENCE = 64  # supersteps between two decisions about moving
QUIET = 32  # a run moves only if on average at most 1 in 32 vertices is active
EVEN = 8  # a graph has hubs if its largest in-degree is above 8 times the mean
RATE = 2e8  # estimated bytes per second at which a graph moves
PART = 4  # the graph may take 1/4 of rank 0's free memory, and of its GPU's


class CoalescingLoop(Loop):
    """Runs a vertex program on shards, then perhaps on the whole graph on rank 0.

    Parameters
    ----------
    partitioned : VertexLoop
        The program on shards.
    """

    def __init__(self, partitioned: VertexLoop) -> None:
        self._partitioned = partitioned
        self.name, self.max_iter, self.tol = partitioned.name, partitioned.max_iter, partitioned.tol
        self._moved = False
        self._home: VertexLoop | None = None  # the loop on rank 0, after the move
        self._ended = (False, False)  # after the move: whether converged, whether diverged
        self._number = self._active = 0  # supersteps; sum of their active vertices

    # ----------------------------------------------------------------------- the loop's interface

    def memory(self, sizes: Sizes) -> float:
        """Return the bytes that the run takes on this rank."""
        return self._partitioned.memory(sizes)

    @property
    def converged(self) -> bool:
        """Whether no further step is needed."""
        return self._ended[0] if self._moved else self._partitioned.converged

    @property
    def diverged(self) -> bool:
        """Whether the state is no longer finite, so that further steps are pointless."""
        return self._ended[1] if self._moved else self._partitioned.diverged

    @property
    def synchronous(self) -> bool:
        """Whether the states are those after the given number of supersteps."""
        return self._partitioned.synchronous

    def start(self, graph: Any, *, on_device: bool = False) -> None:
        """Start on this rank's shard, a `ShardGraph`."""
        self._graph: ShardGraph = graph
        self._comm = graph.comm
        self._partitioned.start(graph)
        self._begun = time.perf_counter()

    @property
    def traffic(self) -> Traffic:
        """The bytes that the next superstep moves, on all ranks or on rank 0."""
        return self._partitioned.traffic

    def step(self) -> Step:
        """Run a superstep on all ranks, or receive what rank 0 did; collective."""
        if not self._moved and self._wants_to_move():
            self._move()
        if self._moved:
            return self._share_step()
        step = self._partitioned.step()
        for active, _ in step.history:
            if self._number:  # not the first superstep, in which all vertices may be active
                self._active += active
            self._number += 1
        return step

    @property
    def by_vertex_state(self) -> tuple[str, ...]:
        """Names of the arrays of `state` with an entry for each vertex."""
        return self._partitioned.by_vertex_state

    @property
    def by_arc_state(self) -> tuple[str, ...]:
        """Names of the arrays of `state` with an entry for each arc."""
        return self._partitioned.by_arc_state

    def edges(self) -> dict[str, Any]:
        """Return the state of edges by field; a program that has it never moves."""
        return self._partitioned.edges()

    @property
    def arc_inputs(self) -> tuple[str, ...]:
        """Names of the arrays of `inputs` with an entry for each arc."""
        return self._partitioned.arc_inputs

    def inputs(self) -> dict[str, Any]:
        """Return by name what the result depends on besides the graph."""
        return self._partitioned.inputs()

    def state(self) -> dict[str, Array]:
        """Return all arrays that are needed to resume here, by owned vertex; collective."""
        if not self._moved:
            return self._partitioned.state()
        return self._handed_out(None if self._home is None else self._home.state())

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse a state that this run cannot have saved; not collective."""
        self._partitioned.check(state, graph)

    def restore(self, state: dict[str, Array]) -> None:
        """Resume from what `state` returned, after `start`."""
        self._partitioned.restore(state)

    def columns(self) -> Mapping[str, Column]:
        """Return the result's columns, by owned vertex; collective."""
        if not self._moved:
            return self._partitioned.columns()
        columns = None
        if self._home is not None:
            columns = {name: as_host(array) for name, array in self._home.arrays().items()}
        return self._partitioned.as_columns(self._handed_out(columns))

    # ------------------------------------------------------------------------------------ moving

    def _wants_to_move(self) -> bool:
        """Return whether rank 0 should continue alone; collective."""
        if self._comm.size == 1 or not self._partitioned.has_frontier:
            return False
        if "home" in self._graph.learned:
            return True
        quiet = self._active * QUIET <= self._number * self._graph.number_of_vertices
        if self._number == 0 or self._number % PATIENCE or not quiet:
            return False
        graph = self._graph
        degrees = graph.degree_array(incoming=True, on_device=graph.binds_on_device)
        own_degrees = degrees[: graph.owned]
        facts = [int(own_degrees.max()) if len(own_degrees) else 0]
        if self._comm.rank == 0:
            arcs, columns = self._graph.number_of_arcs, len(self._graph.edge_attributes)
            bytes_ = arcs * (16 + 8 * columns)
            needed = 4 * bytes_ + 64 * self._graph.number_of_vertices  # during the build
            room = available_memory()
            if self._partitioned.engine == "cuda":
                room = min(room, device().free_memory())
            fits = needed * PART <= room
            passed = time.perf_counter() - self._begun
            facts.append(fits and passed >= bytes_ / RATE)
        gathered = self._comm.allgather(facts)
        mean = self._graph.number_of_arcs / self._graph.number_of_vertices
        even = max(share[0] for share in gathered) <= EVEN * max(1.0, mean)
        return bool(even and gathered[0][1])

    def _move(self) -> None:
        """Send the graph and the state to rank 0; collective."""
        bound, owned = self._partitioned.bound, self._graph.owned
        state = self._partitioned.state()
        by_vertex = {name: state[name] for name in self.by_vertex_state if name in state}
        constants = {
            str(place): as_host(values)[:owned]
            for place, values in enumerate(bound.constants)
            if len(values) == self._graph.length
        }
        collected = self._collected(
            {**{f"state {name}": values for name, values in by_vertex.items()}, **constants},
            self._by_number,
        )
        graph = self._whole_graph()
        self._moved = True
        if graph is not None:
            of_all = tuple(
                collected.get(str(place), values) for place, values in enumerate(bound.constants)
            )
            self._home = self._partitioned.moved(replace(bound, constants=of_all), graph)
            for name in by_vertex:
                state[name] = collected[f"state {name}"]
            self._home.restore(state)
        self._agreed({})

    def _whole_graph(self) -> Graph | None:
        """Return the whole graph, on rank 0 only; rank 0 keeps it; collective."""
        share, cache = self._graph, self._graph.kept
        if "home" not in share.learned:
            csc = share.csc
            rows = np.repeat(share.owners.numbers(), csc.degrees)
            names = list(share.edge_attributes)
            arcs = {name: share.edge_values(name) for name in names}
            ends = {"source": share.positions[csc.indices], "destination": rows}
            while ends.keys() & arcs.keys():  # an attribute may have any name
                ends = {f"{name} ": array for name, array in ends.items()}
            columns = self._collected({**ends, **arcs})
            if columns:
                source, destination = ends
                everyone = np.arange(share.number_of_vertices)
                cache["home"] = Graph(
                    pa.table(columns),
                    source,
                    destination,
                    attributes=names,
                    vertices=pa.table({"vertex": everyone}),
                )
            share.learned["home"] = True
        graph: Graph | None = cache.get("home")
        return graph

    def _by_number(self, shares: Sequence[Array]) -> Array:
        """Join all ranks' arrays by owned vertex to one by vertex number."""
        whole: Array = joined(
            shares, [self._graph.owners.index(rank) for rank in range(len(shares))]
        )
        return whole

    def _collected(
        self, own: dict[str, Array], join: Callable[[Sequence[Array]], Array] = np.concatenate
    ) -> dict[str, Array]:
        """Return the joined arrays of all ranks on rank 0, an empty dict on others; collective."""
        buffers: list[list[Array]] = [[] for _ in range(self._comm.size)]
        buffers[0] = [np.ascontiguousarray(array) for array in own.values()]
        received = self._comm.alltoall(buffers)
        if self._comm.rank:
            return {}
        return {
            name: join([buffer[place] for buffer in received]) for place, name in enumerate(own)
        }

    def _handed_out(self, columns: Mapping[str, Array] | None) -> dict[str, Array]:
        """Send every rank its range of rank 0's arrays; collective."""
        by_vertex = {*self.by_vertex_state, *self._partitioned.by_vertex_arrays}
        names = self._comm.allgather([] if columns is None else list(columns))[0]
        buffers: list[list[Array]] = [[] for _ in range(self._comm.size)]
        if columns is not None:
            rows = [self._graph.owners.index(rank) for rank in range(self._comm.size)]
            buffers = [
                [
                    np.ascontiguousarray(array[own] if name in by_vertex else array)
                    for name, array in columns.items()
                ]
                for own in rows
            ]
        return dict(zip(names, self._comm.alltoall(buffers)[0], strict=True))

    def _share_step(self) -> Step:
        """Run a step on rank 0; return its outcome on all ranks."""
        facts_here: dict[str, Any] = {}
        if self._home is not None:
            step = self._home.step()
            facts_here = {
                "active": int(step.active),
                "edges": int(step.edges),
                "residual": float(step.residual),
                "residuals": [float(value) for value in step.residuals],
                "direction": step.direction,
                "filter": step.filter,
                "history": [[int(value) for value in pair] for pair in step.history],
                "modes": [list(pair) for pair in step.modes],
            }
        facts = self._agreed(facts_here)
        for name in ("history", "modes"):
            facts[name] = [tuple(pair) for pair in facts[name]]
        return Step(**facts, partitions=1)

    def _agreed(self, facts_here: dict[str, Any]) -> dict[str, Any]:
        """Broadcast rank 0's outcome, and agree on whether the run is done; collective."""
        shown: list[Any] = self._comm.allgather([facts_here, *self._own_end()])
        facts: dict[str, Any] = dict(shown[0][0])
        self._ended = bool(shown[0][1]), bool(shown[0][2])
        return facts

    def _own_end(self) -> list[bool]:
        home = self._home
        return [False, False] if home is None else [bool(home.converged), bool(home.diverged)]
