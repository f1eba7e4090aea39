"""Searches from many sources on the device; see `cugraph_ws.algorithms.multi_source`.

Up to 32 sources are searched from at once: hops by bits, a word of them for each vertex (MS-BFS:
Then et al., VLDB 2015), lengths by shortening paths until none can be shortened.  Distances do
not depend on the order, and predecessors are chosen afterwards, so both are those of the CPU.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.binding import bind
from cugraph_ws.codegen import INFINITY
from cugraph_ws.cuda.device import device
from cugraph_ws.errors import InputError
from cugraph_ws.frames import Masked, VertexNumbers
from cugraph_ws.kernels.cuda.layout import PIECE
from cugraph_ws.run import Column, Loop, Step
from cugraph_ws.saved_state import SavedState

if TYPE_CHECKING:
    from cugraph_ws.cuda.graph import DeviceGraph
    from cugraph_ws.graph import Graph

__all__ = ["Batch", "DeviceSearches"]

BLOCK = 256
MOST_WIDTH = 32  # a bit of a word for each search
READ, UNDECIDED, LISTED, CONTROL = 0, 1, 6, 9  # of the control block, as in kernels/cuda/sources.py
ENDLESS = np.iinfo(np.int64).max


@dataclass
class Batch:
    """Arrays of a batch of searches: `width` numbers for each vertex, by position."""

    width: int
    distance: Any
    before: Any
    scratch: Any = None  # of lengths: a number for each thread


class DeviceSearches:
    """The loop on the CUDA engine: each step is a batch of searches.

    Parameters
    ----------
    program : VertexProgram
        `BFS` or `SSSP`.
    argument : str
        Its argument for the source.
    sources : list of ids
        The sources, each a search of its own.
    max_iter : int, optional
        Most supersteps of each search.
    parameters : dict
        Further arguments of the program.

    Raises
    ------
    InputError
        If it is another program.
    """

    by_vertex = False
    diverged = False
    tol: float | None = None
    max_iter: int | None = None  # of the run, whose steps are batches of searches
    _first = 0  # number of the first vertex that has rows

    def __init__(
        self,
        program: Any,
        argument: str,
        sources: Any,
        *,
        max_iter: int | None,
        parameters: dict[str, Any],
    ) -> None:
        if program.name not in ("BFS", "SSSP"):
            raise InputError(
                f"many searches at once are of BFS or SSSP on the CUDA engine, not {program.name}; "
                f"use engine='cpu'"
            )
        self.name = f"multi_source_{program.name.lower()}"
        self._program, self._argument, self._sources = program, argument, sources
        self._limit, self._parameters = max_iter, parameters
        self._done = 0

    @property
    def converged(self) -> bool:
        """Whether every source has been searched from."""
        return self._done == len(self._numbers)

    def on_cuda(self) -> DeviceSearches:
        """Return the loop itself."""
        return self

    def on_crew(self) -> Loop:
        """Return the same algorithm for a share of a graph."""
        from cugraph_ws.cluster.multi_source import CrewSearches

        return CrewSearches(
            self._program,
            self._argument,
            self._sources,
            max_iter=self._limit,
            **self._parameters,
        )

    def start(self, graph: Graph) -> None:
        """Look the sources up and make room for the results."""
        if isinstance(self._sources, (str, bytes, tuple)) or not hasattr(self._sources, "__len__"):
            raise InputError(f"starts={self._sources!r} must be a list of vertices")
        self._device = device()
        self._host_graph = graph
        self._numbers = np.asarray(graph.numbers(self._sources, "starts"))
        self._graph, self._named = self._laid_out(graph)
        xp = self._device.xp
        kind, self._cutoff = np.dtype(np.int64), np.inf
        if len(self._numbers):
            kind = self._bind(graph)
            self._prepare(kind)
        size = (len(self._numbers), graph.owned)
        self._distance = xp.zeros(size, kind)
        self._valid = xp.zeros(size, np.bool_)
        self._predecessor = xp.full(size, -1, self._named.dtype)
        self._batch: Batch | None = None

    def step(self) -> Step:
        """Search from the next sources, a bit of a word each."""
        first = self._done
        count = min(MOST_WIDTH, len(self._numbers) - first)
        batch = self._batch_for(count)
        listed = self._begin(batch, self._numbers[first : first + count])
        read = self._search(batch, listed)
        self._choose(batch)
        self._keep(batch, count)
        return Step(len(self._numbers) - self._done, read, direction="push", filter="list")

    def _keep(self, batch: Batch, count: int) -> None:
        """Put the results of a batch where those of all are, by vertex number."""
        xp, shape = self._device.xp, (self._graph.size, batch.width)
        done = slice(self._done, self._done + count)
        positions = self._graph.positions[: self._distance.shape[1]]
        distance = xp.take(batch.distance.reshape(shape), positions, axis=0)[:, :count].T
        before = xp.take(batch.before.reshape(shape), positions, axis=0)[:, :count].T
        self._distance[done] = distance
        self._valid[done] = distance < self._infinity
        self._predecessor[done] = xp.where(before == self._nobody, -1, before)
        self._done += count

    def inputs(self) -> dict[str, Any]:
        """Return what the searches depend on beside the graph."""
        graph = self._host_graph
        attributes = {name: graph.edge_values(name) for name in graph.edge_attributes}
        return {
            "depth_limit": self._limit,
            **self._parameters,
            "sources": self._numbers,
            **attributes,
        }

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return the finished searches."""
        done, to_host = slice(0, self._done), self._device.to_host
        return {
            "distance": to_host(self._distance[done]).ravel(),
            "valid": to_host(self._valid[done]).ravel(),
            "predecessor": to_host(self._predecessor[done]).ravel().astype(np.int64),
            "done": np.array([self._done]),
        }

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse what is no state of such a run; alone."""
        from cugraph_ws.algorithms.multi_source import check_searches

        check_searches(state, self._distance, graph.number_of_vertices)

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Go on after the finished searches."""
        self._done = int(state["done"][0])
        for name in ("distance", "valid", "predecessor"):
            matrix = getattr(self, f"_{name}")
            values = state[name].reshape(self._done, matrix.shape[1]).astype(matrix.dtype)
            matrix[: self._done] = self._device.xp.asarray(values)

    def columns(self) -> dict[str, Column]:
        """Return one row for each source searched from, in their order, and vertex."""
        done, size, xp = self._done, self._distance.shape[1], self._device.xp
        rows = slice(0, done)
        sources = xp.asarray(self._numbers[rows])
        vertices = xp.arange(done * size) % max(size, 1) + self._first
        return {
            "source": VertexNumbers(xp.repeat(sources, size)),
            "vertex": VertexNumbers(vertices),
            "distance": Masked(self._distance[rows].ravel(), self._valid[rows].ravel()),
            "predecessor": VertexNumbers(self._predecessor[rows].ravel(), nullable=True),
        }

    def _bind(self, graph: Graph) -> np.dtype[Any]:
        """Check arguments and weights as for a single search; return the distances' type."""
        members = self._members(graph, self._numbers[:1])
        bound = bind(self._program, graph, {self._argument: members, **self._parameters})
        if bound.values:
            self._cutoff = float(bound.values[0])
        there, xp = self._graph, self._device.xp
        column = bound.edge_columns[0] if bound.edge_columns else None
        if column is None:
            hop = xp.ones(1, np.int64)
            self._weights, self._stride = {"csc": hop, "csr": hop}, 0
        else:
            self._weights = {order: there.values(column, order) for order in ("csc", "csr")}
            self._stride = 1
        return np.dtype(bound.types.state[0])

    def _laid_out(self, graph: Any) -> tuple[DeviceGraph, Any]:
        """Return the graph on the device, and the vertex number at each position there."""
        there = graph.on_device()
        return there, there.numbers

    def _members(self, graph: Any, number: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Mark one vertex."""
        members = np.zeros(graph.number_of_vertices, np.bool_)
        members[number] = True
        return members

    def _prepare(self, kind: np.dtype[Any]) -> None:
        """Allocate what all batches share."""
        there, here, xp = self._graph, self._device, self._device.xp
        index = there.numbers.dtype
        self._kind = kind
        self._infinity = INFINITY.get(kind.name, np.inf)
        self._nobody = int(np.iinfo(self._named.dtype).max)
        self._module = here.module("sources")
        self._words = tuple(xp.zeros(there.size, np.uint32) for _ in range(3))
        pieces = there.size + there.arcs // PIECE
        self._queue = xp.empty(pieces, index), xp.empty(pieces, np.int32)
        self._listed = xp.empty(there.size, index)

    def _batch_for(self, count: int) -> Batch:
        """Return arrays for as many searches, those of the last batch if they will do."""
        width = 1 << (count - 1).bit_length()
        if self._batch is None or self._batch.width != width:
            self._batch = None  # its memory first
            xp, numbers = self._device.xp, width * self._graph.size
            self._batch = Batch(
                width,
                xp.empty(numbers, self._kind),
                xp.empty(numbers, self._named.dtype),
            )
        return self._batch

    def _begin(self, batch: Batch, numbers: npt.NDArray[np.int64]) -> int:
        """Put the searches at their starts; return how many vertices these are."""
        xp = self._device.xp
        positions = self._device.to_host(xp.take(self._graph.positions, xp.asarray(numbers)))
        return self._set_out(batch, positions, np.arange(len(positions)))

    def _set_out(
        self, batch: Batch, positions: npt.NDArray[Any], searches: npt.NDArray[np.int64]
    ) -> int:
        """Put searches at their starts, by position; return how many vertices these are."""
        xp = self._device.xp
        waiting, marks, _ = self._words
        waiting[:] = np.uint32(0xFFFFFFFF)
        marks[:] = 0
        batch.distance[:] = self._infinity
        batch.before[:] = self._nobody
        starts, which = np.unique(positions, return_inverse=True)
        bits = np.zeros(len(starts), np.uint32)
        np.bitwise_or.at(bits, which, np.uint32(1) << searches.astype(np.uint32))
        places = xp.asarray(starts)
        marks[places] = xp.asarray(bits)
        self._listed[: len(starts)] = places
        own = xp.asarray(positions.astype(np.int64) * batch.width + searches)
        batch.distance[own] = 0
        batch.before[own] = -1  # less than any number: it stays
        return len(starts)

    def _search(self, batch: Batch, listed: int) -> int:
        """Find all distances; return the arcs read."""
        control = self._device.xp.zeros(CONTROL, np.int64)
        self._advance(batch, listed, ENDLESS if self._limit is None else self._limit, control)
        return int(self._device.to_host(control)[READ])

    def _advance(self, batch: Batch, listed: int, steps: int, control: Any) -> None:
        """Do some supersteps of all searches, from the vertices that are listed."""
        xp = self._device.xp
        shared = self._graph.csr, self._words, self._queue, self._listed
        if self._program.name == "BFS":
            self._together(
                "search_hops", *shared, batch.distance, batch.width, listed, steps, control
            )
            return
        whole = np.dtype(f"int{8 * self._kind.itemsize}")
        if batch.scratch is None:
            batch.scratch = xp.empty(BLOCK * self._most_blocks(), self._kind)
        self._together(
            "search_lengths", shared[0], self._weights["csr"], self._stride, *shared[1:],
            (batch.distance, batch.distance.view(whole)),
            (batch.scratch, batch.scratch.view(whole)), batch.width, listed, self._cutoff, steps,
            control,
        )  # fmt: skip

    def _choose(self, batch: Batch) -> None:
        """Find all predecessors: nearer neighbours first, then along arcs of no length."""
        there, here = self._graph, self._device
        self._choose_nearer(batch)
        if self._program.name == "BFS":
            return  # every hop is nearer
        undecided, listed = self._sort_out(batch, there.size)
        if undecided == 0:
            return
        self._together(
            "search_ties", there.csr, self._weights["csr"], self._stride, self._named, self._words,
            self._queue, self._listed, batch.distance, batch.before, batch.width, listed,
            here.xp.zeros(CONTROL, np.int64),
        )  # fmt: skip

    def _choose_nearer(self, batch: Batch) -> None:
        """Find the predecessors that are nearer than those whose predecessors they are."""
        there, here = self._graph, self._device
        blocks = here.blocks_for(there.arcs * batch.width, BLOCK)
        self._module.launch(
            "choose_nearer", blocks, BLOCK, there.csc, self._weights["csc"], self._stride,
            self._named, batch.distance, batch.before, batch.width, there.size, there.arcs,
        )  # fmt: skip

    def _sort_out(self, batch: Batch, size: int) -> tuple[int, int]:
        """List who has a predecessor; return how many lack one, and how many have one."""
        here = self._device
        control = here.xp.zeros(CONTROL, np.int64)
        self._module.launch(
            "list_decided", here.blocks_for(size, BLOCK), BLOCK, self._words, self._listed,
            batch.distance, batch.before, self._infinity, self._nobody, batch.width, size, control,
        )  # fmt: skip
        found = here.to_host(control)
        return int(found[UNDECIDED]), int(found[LISTED])

    def _most_blocks(self) -> int:
        """Return a grid for all arcs, were they read at once."""
        return self._device.blocks_for(max(self._graph.size, self._graph.arcs), BLOCK)

    def _together(self, name: str, *arguments: Any) -> None:
        """Launch a kernel whose blocks meet."""
        items = max(self._graph.size, self._graph.arcs)
        self._module.prepare_together(name, items, BLOCK, *arguments)()
