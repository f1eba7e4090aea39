"""An edge program as a loop over pairs of vertices, on a graph or on a rank's shard of one."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.arguments import shown
from cugraph_ws.backends import loops
from cugraph_ws.errors import InputError
from cugraph_ws.execution.loop import Column, Loop, Step
from cugraph_ws.execution.options import Options
from cugraph_ws.execution.vertex_loop import as_columns
from cugraph_ws.frames.base import VertexNumbers
from cugraph_ws.graph.footprints import Sizes
from cugraph_ws.graph.vertices import PAIR
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.neighbourhoods import Neighbourhoods, batches, neighbourhoods
from cugraph_ws.partition.oriented import Oriented, oriented
from cugraph_ws.partition.pair_rows import PairRows, pair_rows
from cugraph_ws.program.edge_binding import BoundEdgeProgram, bind_edges
from cugraph_ws.program.edge_program import EdgeProgram
from cugraph_ws.runtime.arrays import as_host
from cugraph_ws.runtime.launch_times import OFFSET, is_profiled, note_bytes
from cugraph_ws.runtime.saved_state import SavedState

__all__ = ["EdgeLoop"]

Array = Any  # NumPy's or CuPy's

ARCS_A_STEP = 1 << 25  # most arcs in the rows of a step's pairs


class EdgeLoop(Loop):
    """Runs an edge program; see `cugraph_ws.execution.loop.Loop` for the interface.

    Each step computes the values of the next pairs, with a bounded number of arcs in their rows.  If
    common neighbours are only counted, and the pairs are all edges, triangles are counted instead,
    each of which counts for three pairs.  `engine="python"` does not use this shortcut.

    Parameters
    ----------
    program : EdgeProgram
    arguments : mapping
        Its parameters, vertex values and vertex sets; and `pairs`, a frame with the columns `first`
        and `second`.
    options : Options
        Options of the run.

    Attributes
    ----------
    saves : str
        The option that requests checkpoints; empty if there is none.
    """

    by_vertex = False
    ends_within_steps = True

    def __init__(
        self, program: EdgeProgram, arguments: Mapping[str, Any], options: Options
    ) -> None:
        refused = [name for name in options.for_programs() if name != "partitions"]
        if refused:
            raise InputError(
                f"{program.name} is an edge program, which has no supersteps; leave out "
                f"{', '.join(refused)}"
            )
        self.program = program.current()
        self.name, self.may_not_end = program.name, not program.built_in
        self._arguments = {name: value for name, value in arguments.items() if name != "pairs"}
        self._given = arguments.get("pairs")
        if isinstance(self._given, str):
            raise InputError(
                f"pairs={shown(self._given)}: give a frame with columns `first` and `second`, or leave it "
                "out for all pairs of neighbours"
            )
        self._plain = options.engine == "python"
        saving = [name for name in ("checkpoint", "resume") if name in options.chosen("run")]
        self.saves = saving[0] if saving else ""

    def memory(self, sizes: Sizes) -> float:
        """Return the bytes that the run takes: the rows of neighbours, the pairs and their values."""
        program = self.program
        width = 8 * (len(program.edges) + len(program.state))
        return (
            (48 + 8 * len(program.constants)) * sizes.vertices
            + (48 + width) * sizes.arcs
            + sizes.csr
        )

    def start(self, graph: GraphView, *, on_device: bool = False) -> None:
        """Find the neighbours, number the pairs, and bind the program."""
        if self.saves and not graph.whole:
            raise InputError(
                f"{self.saves}: on a cluster, a run of an edge program has no checkpoints; leave it out"
            )
        near = self.near(graph, on_device=on_device)
        bound = self.bind(graph, near.rows.degrees[: near.owned], on_device=on_device)
        self.begin(bound, near, self.numbered(graph), graph, on_device=on_device)

    def near(self, graph: GraphView, *, on_device: bool) -> Neighbourhoods:
        """Return the neighbours that the program asks for, without values; collective."""
        direction = self.program.neighbours
        return neighbourhoods(graph, on_device=on_device, direction=direction).without_values()

    def bind(
        self, graph: GraphView, neighbours: Array, *, on_device: bool = False
    ) -> BoundEdgeProgram:
        """Bind the program to a graph, given the neighbour counts of owned vertices; collective."""
        return bind_edges(
            self.program,
            graph,
            self._arguments,
            neighbours,
            on_device=on_device,
            plain=self._plain,
        )

    def numbered(self, graph: GraphView) -> tuple[Array, Array] | None:
        """Return the vertex numbers of the given pairs, None for all edges; collective."""
        return None if self._given is None else graph.vertex_pairs(self._given, "pairs")

    def begin(
        self,
        bound: BoundEdgeProgram,
        near: Neighbourhoods,
        chosen_pairs: tuple[Array, Array] | None,
        graph: GraphView,
        *,
        on_device: bool,
    ) -> None:
        """Prepare the steps; collective.

        Parameters
        ----------
        bound : BoundEdgeProgram
            The program, with its constants on the host or device where `near` is.
        near : Neighbourhoods
            The neighbourhoods, without values.
        chosen_pairs : tuple of (firsts, seconds), or None
            Vertex numbers of the rank's pairs; None for all edges.
        graph : GraphView
        """
        self.bound, self._near, self._graph = bound, near, graph
        xp = near.xp
        self._edges = tuple(
            neighbourhoods(
                graph, on_device=on_device, weight=name, direction=near.direction, parallel=parallel
            ).rows.values
            for name, parallel in zip(bound.edge_columns, self.program.parallel, strict=True)
        )
        as_own = xp.asarray if on_device else as_host
        pairs = near.edges() if chosen_pairs is None else tuple(map(as_own, chosen_pairs))
        self._pairs = tuple(end.astype(np.int64, copy=False) for end in pairs)
        self._fold = loops("pairs", on_device=on_device).PairFold(bound, plain=self._plain)
        self._oriented: Oriented | None = None
        last = len(self._pairs[0])
        if chosen_pairs is None and bound.counts and near.direction == "any" and not self._plain:
            self._oriented = oriented(graph, on_device=on_device)
            self._lister = loops("triangles", on_device=on_device).Lister(self._oriented)
            self._bounds = [(0, last)]
        else:
            degrees = [rows.degrees[: near.owned] for rows in (near.rows, near.second_rows)]
            fetched = zip(degrees, self._pairs, strict=True)
            lengths = sum(near.halo.fetch(lengths_of_rows, end) for lengths_of_rows, end in fetched)
            self._bounds = batches(lengths, ARCS_A_STEP)
        steps = max(near.halo.comm.allgather(len(self._bounds)))
        self._bounds += [(last, last)] * (steps - len(self._bounds))
        self._columns = [xp.zeros(last, np.dtype(kind)) for kind in bound.types.state]
        self._done = 0

    def moved(
        self,
        bound: BoundEdgeProgram,
        near: Neighbourhoods,
        pairs: tuple[Array, Array] | None,
        graph: GraphView,
        *,
        on_device: bool,
    ) -> EdgeLoop:
        """Return the same run, begun on another graph with the same vertices; see `begin`."""
        loop = copy(self)
        loop.begin(bound, near, pairs, graph, on_device=on_device)
        return loop

    @property
    def converged(self) -> bool:
        """Whether all pairs are computed."""
        return self._done >= len(self._bounds)

    def step(self) -> Step:
        """Compute the values of the next pairs."""
        near, bound = self._near, self.bound
        some = slice(*self._bounds[self._done])
        ends = tuple(end[some] for end in self._pairs)
        rows = pair_rows(near, self._edges, bound.constants, bound.types.uniform, *ends)
        if self._oriented is not None:
            counts, arcs = self._oriented.common_neighbours(self._lister)
            folded = self._fold.finish(rows, counts)
        else:
            folded = self._fold.fold(rows)
            lengths = [
                rows.offsets[rows_of_ends + 1] - rows.offsets[rows_of_ends]
                for rows_of_ends in (rows.first_rows, rows.second_rows)
            ]
            arcs = sum(int(each.sum()) for each in lengths)
            if is_profiled():  # the elements of the shorter row are looked up in the other
                looked_up = int(near.xp.minimum(*lengths).sum())
                note_bytes(looked_up * rows.indices.itemsize + 2 * OFFSET * len(lengths[0]))
        self._note(rows)
        for column, values in zip(self._columns, folded, strict=True):
            column[some] = values
        self._done += 1
        pairs_left, read, bytes_sent = near.halo.totals(len(self._pairs[0]) - some.stop, arcs)
        return Step(pairs_left, read, direction="intersect", filter="list", bytes_sent=bytes_sent)

    def _note(self, rows: PairRows) -> None:
        """Note the places and constants of pairs, and their values."""
        count = len(rows.firsts)
        uniform = self.bound.types.uniform
        constants = sum(
            column.itemsize
            for column, is_one in zip(rows.constants, uniform, strict=True)
            if not is_one
        )
        place = rows.firsts.itemsize
        values = sum(column.itemsize for column in self._columns)
        note_bytes(count * (4 * place + 2 * constants), count * values)

    def inputs(self) -> dict[str, Any]:
        """Return the program's source and types, its parameters and constants, edges and pairs."""
        bound, program = self.bound, self.program
        named = zip(program.edges, bound.edge_columns, strict=True)
        return {
            "program": [
                *(source.text for source in program.sources.values()),
                program.combine,
                program.identity,
                program.fold,
                program.neighbours,
                *program.parallel,
            ],
            "types": bound.types,
            **dict(zip(program.parameters, bound.values, strict=False)),
            **dict(zip(program.constants, map(as_host, bound.constants), strict=True)),
            **{name: self._graph.edge_values(column) for name, column in named},
            **{name: as_host(end) for name, end in zip(PAIR, self._pairs, strict=True)},
        }

    @property
    def _finished(self) -> int:
        """The number of pairs with values."""
        return self._bounds[self._done - 1][1] if self._done else 0

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return the values so far, and the number of pairs that have them."""
        columns = zip(self.program.state, map(as_host, self._columns), strict=True)
        return {**dict(columns), "_finished": np.array([self._finished])}

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse a state that this run cannot have saved; not collective."""
        for name, column in zip(self.program.state, self._columns, strict=True):
            state.like(name, len(column), column.dtype)
        state.number("_finished", 0, len(self._pairs[0]))

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Resume after some pairs; an engine with other steps may have saved the state."""
        finished = int(state["_finished"][0])
        self._done = sum(end <= finished for _, end in self._bounds)
        self._columns = [self._near.xp.asarray(state[name]).copy() for name in self.program.state]

    @property
    def rows_by(self) -> tuple[str, bool] | None:
        """The first vertices, unless pairs are given, which have an order of their own."""
        return (PAIR[0], False) if self._given is None else None

    def arrays(self) -> dict[str, Array]:
        """Return the numbers and values of the pairs that are computed."""
        some = slice(0, self._finished)
        named = dict(zip(PAIR, self._pairs, strict=True))
        named |= dict(zip(self.program.state, self._columns, strict=True))
        return {name: column[some] for name, column in named.items()}

    def columns(self) -> dict[str, Column]:
        """Return one row for each pair that is computed."""
        return self.as_columns(self.arrays())

    def as_columns(
        self, arrays: Mapping[str, Array], graph: GraphView | None = None
    ) -> dict[str, Column]:
        """Return the arrays of `arrays` as columns of a result; of `graph`, if they are of more than this loop's shard."""
        ends = {name: VertexNumbers(arrays[name]) for name in PAIR}
        return {
            **ends,
            **as_columns(self.program, arrays, {}, None, self._graph if graph is None else graph),
        }
