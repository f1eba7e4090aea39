"""What a run takes, asked of its loop before it starts: the refusal, and the row of vertex programs.

Every loop has a method `memory`, its row: the bytes of its arrays at their maximum beside the built graph,
with the result as a frame.  This file has the row of all vertex programs; other loops state theirs.

A run of a vertex program on the CPU; S bytes of state per vertex, n vertices, A arcs:

    state and result              2 S n, and 16 n for ids: as decoded, and as the frame has them; text is shared
      constants by vertex         12 n each that is given or from the graph: values, and which are given
      sets of vertices            2 n each
      values that must be given   150 n while they are looked up by text, before there is a state
    with a frontier               13 n for lists and marks
      priorities                  4 n
      predecessors                25 n, and an id each
      directed                    the CSR, 8 n + i A, and 8 A for each edge column that is read
    without
      sums of weights             24 n + 8 A before there is a state; of a directed graph, the CSR and its
                                  weights
      jumps                       24 n, 8 n for each pointer and 16 n for each jump
      what steps in between       its own bytes, n times
      lists of messages           the messages of the longest row, and 16 bytes each to sort floats
      modes                       the same messages, and 16 bytes for each slot of its table, 25 if weighted
    state on edges, e bytes       2 e A with its result, which takes 22 A and 4 ids per arc besides
    an edge column that is read   its bytes in that type for each arc; twice with a frontier on a directed graph
      as another type

On a GPU, whose kernels cast what they read; a frame of its result is on the host unless the graph's is not:

    with a frontier               4 S n, and 10 n for lists and marks
      predecessors                21 n
      directed                    the CSR, and what takes its making
    without                       3 S n with the result, and 8 n for messages that are prepared
    constants by vertex           18 n each that is given or from the graph; 2 n for sets
    edge columns                  8 A each, and of one 8 A more while it is uploaded; instead 16 A each with a
                                  frontier on a directed graph
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from cugraph_ws.errors import GraphMemoryError
from cugraph_ws.graph.footprints import Row, Sizes
from cugraph_ws.graph.view import GraphView
from cugraph_ws.program.declarations import Jump, VertexNumber, VertexSet, VertexValue
from cugraph_ws.program.lists import bytes_of_lists
from cugraph_ws.runtime.communicator import Communicator, attempt
from cugraph_ws.runtime.dispatch import provider
from cugraph_ws.runtime.memory import LIMIT, available_memory, format_bytes

__all__ = [
    "GraphSizes",
    "columns_that_fit",
    "lists_messages",
    "program_memory",
    "refuse_beyond_memory",
    "refuse_call",
    "refuse_run",
    "room_for_runs",
    "sizes_of",
]

SMALL = 1 << 24  # bytes that every machine has: a query would take as long as a small search
VALUES_BY_TEXT = 150  # bytes of a vertex while its values are found by its text
MARGIN = 1.05  # allocators round up, and small arrays are not counted
NOTHING_GIVEN: Mapping[str, Any] = MappingProxyType({})
REMEDY = "close other graphs, use directed=False where edges go both ways, or a larger machine"
LIMITED = "give the graph a larger memory_limit="
ON_RANKS = "close other graphs, use more workers, or give them more memory (memory_limit=)"


@dataclass(frozen=True)
class GraphSizes(Sizes):
    """The sizes of a built graph, of which runs take the least that they can do with."""

    graph: Any = None
    least: bool = True

    @property
    def whole(self) -> bool:
        """Whether they are not those of a rank's share."""
        return bool(self.graph.whole)

    def longest_row(self) -> int:
        """Arcs of the longest row of in-neighbours."""
        return int(self.graph.in_degrees.max(initial=0))

    def edge_type(self, name: str) -> str:
        """Return the NumPy name of the type of the edge column that a program reads as `name`; "" if none."""
        column = name if name in self.graph.edge_attributes else self.graph.weight
        return "" if column is None else str(self.graph.edge_dtype(column).name)

    def columns(self, most: int, each: float, *, rest: float = 0) -> int:
        """Return how many columns by vertex fit; see `columns_that_fit`."""
        return columns_that_fit(
            self.vertices, most, each, rest=rest, on_device=self.on_device, graph=self.graph
        )


def sizes_of(graph: GraphView, *, on_device: bool = False) -> GraphSizes:
    """Return the sizes of a built graph, or of a rank's shard: its vertices and the arcs into them.

    Parameters
    ----------
    graph : GraphView
    on_device : bool
        Whether runs take the GPU's memory.

    Returns
    -------
    GraphSizes
    """
    opened: Any = graph
    return GraphSizes(
        vertices=graph.owned,
        arcs=graph.own_arcs,
        directed=graph.directed,
        weighted=graph.weight is not None,
        id_bytes=opened._vertices.numbering.nbytes / max(1, graph.owned) or 8,
        has_csr=not on_device and graph.has_csr,
        mapped=graph.arcs_apart(on_device=on_device),
        on_device=on_device,
        framed=graph.device_resident or not on_device,
        graph=graph,
    )


def refuse_run(loop: Any, graph: GraphView, *, on_device: bool) -> None:
    """Raise GraphMemoryError if a run would not fit beside its graph; collective.

    Parameters
    ----------
    loop : Loop
        Not started.
    graph : GraphView
        A whole graph, or a rank's shard.
    on_device : bool
        Whether it is the GPU's memory.

    Raises
    ------
    GraphMemoryError
        Gives the estimate, what is available, and the remedies; on a cluster on all ranks, for the first
        that lacks memory.
    """
    _refuse(loop.name, loop.memory, graph, on_device=on_device, remedy=loop.less_memory)


def refuse_call(name: str, row: Row, graph: GraphView, *, on_device: bool = False) -> None:
    """Raise GraphMemoryError if a call without a loop would not fit beside its graph; collective.

    Parameters
    ----------
    name : str
        The function.
    row : Row
        What it takes.
    graph : GraphView
        As in `refuse_run`.
    on_device : bool

    Raises
    ------
    GraphMemoryError
    """
    _refuse(name, row.of, graph, on_device=on_device)


def _refuse(
    name: str,
    memory: Callable[[Sizes], float],
    graph: GraphView,
    *,
    on_device: bool,
    remedy: str = "",
) -> None:
    """Refuse what would not fit beside a graph, or on some rank beside its shard; collective.

    Ranks ask each other only about runs that are not small on a single machine.
    """
    if graph.whole:
        needed = memory(sizes_of(graph, on_device=on_device))
        refuse_beyond_memory(name, needed, on_device=on_device, remedy=remedy, graph=graph)
        return
    together = Sizes(
        vertices=graph.number_of_vertices,
        arcs=graph.number_of_arcs,
        directed=graph.directed,
        weighted=graph.weight is not None,
        least=True,
    )
    if memory(together) < SMALL:
        return
    needed, comm = memory(sizes_of(graph, on_device=on_device)), graph.comm

    def refuse() -> None:
        available = room_for_runs(on_device=on_device, comm=comm, needed=needed)
        if needed > available:
            kind = "GPU memory" if on_device else "the worker's memory"
            raise GraphMemoryError(
                f"{name} needs {format_bytes(needed)} on rank {comm.rank} of {comm.size} beside its shard of the "
                f"graph and {format_bytes(available)} of {kind} are available; {remedy or ON_RANKS}"
                f"{'' if on_device else f', or raise {LIMIT} there if that is what is set'}"
            )

    attempt(comm, refuse)


def refuse_beyond_memory(
    name: str,
    needed: float,
    *,
    on_device: bool = False,
    remedy: str = "",
    graph: GraphView | None = None,
) -> None:
    """Raise GraphMemoryError if so many bytes are not available beside the graph.

    Parameters
    ----------
    name : str
        What needs them.
    needed : float
    on_device : bool
        Whether it is the GPU's memory.
    remedy : str
        What else the caller can do.
    graph : GraphView, optional
        Whose `memory_limit` counts.

    Raises
    ------
    GraphMemoryError
    """
    limited = graph is not None and graph.memory_limit is not None
    if not limited and _is_small(needed, on_device):
        return
    available = room_for_runs(on_device=on_device, graph=graph, needed=needed)
    remedy = remedy or (LIMITED if limited else "")
    if needed > available:
        memory = " of GPU memory" if on_device else ""
        limit = f", or raise {LIMIT} if that is what is set" if not on_device else ""
        raise GraphMemoryError(
            f"{name} needs {format_bytes(needed)}{memory} beside the graph and "
            f"{format_bytes(available)} are available; {remedy or REMEDY}{limit}"
        )


def columns_that_fit(
    vertices: int,
    most: int,
    each: float,
    *,
    rest: float = 0,
    on_device: bool,
    graph: GraphView | None = None,
) -> int:
    """Return how many columns by vertex fit in memory: the width of a batch of sources.

    Parameters
    ----------
    vertices, most : int
        Rows of a column; most columns.
    each : float
        Bytes of each entry.
    rest : float
        Bytes of everything else.
    on_device : bool
        Whether in the GPU's memory.
    graph : GraphView, optional
        Whose worker or `memory_limit` counts.

    Returns
    -------
    int
        At least 1.
    """
    comm = None if graph is None else graph.comm
    limited = graph is not None and graph.memory_limit is not None
    if not limited and _is_small(rest + most * each * vertices, on_device):
        return most
    room = room_for_runs(on_device=on_device, comm=comm, graph=graph) - rest
    return max(1, min(most, int(room // max(each * vertices, 1))))


def _is_small(needed: float, on_device: bool) -> bool:
    """Return whether so many bytes are there in any case, so that none need be asked for."""
    return needed < SMALL and (on_device or LIMIT not in os.environ)


def room_for_runs(
    *, on_device: bool, comm: Communicator | None = None, graph: GraphView | None = None, needed: float = 0,
) -> int:  # fmt: skip
    """Return the bytes that a run may take.

    Parameters
    ----------
    on_device : bool
        Whether of the GPU's memory.
    comm : Communicator, optional
        A rank's, whose worker may have a limit of memory.
    graph : GraphView, optional
        Which may have a `memory_limit`, for itself and the run.
    needed : float
        For which graphs give back GPU memory if it is short.

    Returns
    -------
    int
    """
    rooms = [int(provider("device memory").room_for(needed)) if on_device else available_memory()]
    if comm is not None and comm.room is not None and not on_device:
        rooms.append(comm.room)
    if graph is not None and graph.memory_limit is not None:
        rooms.append(max(0, graph.memory_limit - graph.bytes_there(on_device=on_device)))
    return min(rooms)


def program_memory(
    program: Any,
    sizes: Sizes,
    arguments: Mapping[str, Any] = NOTHING_GIVEN,
    *,
    between: int = 0,
) -> float:
    """Return what a run of a vertex program takes beside the built graph, with its result.

    Parameters
    ----------
    program : VertexProgram
    sizes : Sizes
    arguments : mapping of str to Any
        The caller's arguments.
    between : int
        Bytes of a vertex that an accelerator takes between supersteps; a run does without if memory is short.

    Returns
    -------
    float
        Bytes.
    """
    if program.for_integers and {sizes.edge_type(name) for name in program.edges} == {"int64"}:
        program = program.for_integers
    if sizes.on_device and not program.edge_state:
        return _program_memory_on_gpu(program, sizes, arguments)
    vertices, arcs, each = sizes.vertices, sizes.arcs, max(sizes.id_bytes, 8)
    state = sum(_width_of(field.type) for field in program.state.values())
    follows = program.predecessor is not None
    sums = [getattr(constant, "source", "") for constant in program.constants.values()]
    constants = sum(
        _width_of_constant(name, constant, arguments)
        for name, constant in program.constants.items()
    )
    by_vertex = 16.0 + 2 * state + constants
    read = [name for name in program.edges if name != "weight" or sizes.weighted]
    by_source = sizes.directed and (
        "active" in program.functions or bool("out_weight" in sums and read)
    )  # reads the CSR, and the edge columns in its order
    csr = sizes.csr + 8 * len(read) * arcs if by_source and not sizes.mapped else 0.0
    more = 0.0
    if not sizes.on_device:  # kernels on the GPU cast what they read
        orders = 2 if by_source and "active" in program.functions else 1
        more = orders * arcs * sum(map(partial(_width_of_cast, program, sizes), read))
    if "active" in program.functions:
        by_vertex += 13 + 4 * ("priority" in program.functions) + (25 + each) * follows
    else:
        jumps = [constant for constant in program.constants.values() if isinstance(constant, Jump)]
        if jumps:
            by_vertex += 24 + 8 * len({constant.pointer for constant in jumps}) + 16 * len(jumps)
        by_vertex += 0 if sizes.least else between
        if program.listing is not None:
            more += bytes_of_lists(program, sizes.longest_row())
    edge_state_bytes = sum(_width_of(field.type) for field in program.edge_state.values())
    by_arc = 2 * edge_state_bytes + 22 + 4 * each if edge_state_bytes else 0
    if program.scatters:  # attributes in the order of out-arcs, and where these are
        by_arc, csr = edge_state_bytes + 24 + 8 * len(read), sizes.csr
    summing = 0.0
    if sizes.weighted and {"in_weight", "out_weight"} & set(sums):
        summing = 24 * vertices + 8 * arcs * (not sizes.mapped) + csr  # before there is a state
    looked_up = 0.0
    if sizes.wide_ids and any(map(_must_be_given, program.constants.values())):
        looked_up = VALUES_BY_TEXT * vertices  # before there is a state
    running = MARGIN * (by_vertex * vertices + csr) + by_arc * arcs + more
    return max(summing, looked_up, running)


def _program_memory_on_gpu(program: Any, sizes: Sizes, arguments: Mapping[str, Any]) -> float:
    """Return what a run of a vertex program takes on a GPU, by the table above."""
    vertices, arcs = sizes.vertices, sizes.arcs
    state = sum(_width_of(field.type) for field in program.state.values())
    constants = 1.5 * sum(
        _width_of_constant(name, constant, arguments)
        for name, constant in program.constants.items()
    )
    columns = [name for name in program.edges if name != "weight" or sizes.weighted]
    if sizes.mapped:  # on the host
        columns = []
    values, uploaded = 8.0 * arcs * len(columns), 8.0 * arcs * bool(columns)
    if "active" not in program.functions:
        jumps = sum(isinstance(constant, Jump) for constant in program.constants.values())
        more = bytes_of_lists(program, sizes.longest_row()) if program.listing is not None else 0
        running = (2 * state + 8 + constants + 40 * jumps) * vertices + values
        return running + max(uploaded, state * vertices, more)
    copies = 1 + (len(program.state) > 1)  # one field is changed in place
    begun = (copies * (state + 8) - 7 + constants) * vertices
    result = 3 * state + 9 + 21 * (program.predecessor is not None)
    if sizes.directed:
        running = begun + sizes.csr + 2 * values + result * vertices
        return max(begun + sizes.transposing, running)
    return begun + values + max(uploaded + 9 * vertices, result * vertices)


def lists_messages(program: Any) -> bool:
    """Return whether a program, or one of several in phases, lists the messages of a row."""
    several = getattr(program, "programs", (program,))
    return any(getattr(member, "listing", None) is not None for member in several)


def _width_of_constant(name: str, constant: Any, arguments: Mapping[str, Any]) -> int:
    """Return the bytes by vertex of a constant of a program; a number that is given for all takes none."""
    names = {name, *(str(getattr(constant, key, "")) for key in ("argument", "alias"))}
    known = [value for key, value in arguments.items() if key in names]
    if isinstance(constant, VertexSet):
        return 2 if known or not constant.optional else 0
    by_vertex = isinstance(constant, VertexNumber) or any(hasattr(v, "__len__") for v in known)
    return 12 if _must_be_given(constant) or by_vertex or hasattr(constant, "source") else 0


def _must_be_given(constant: Any) -> bool:
    """Return whether the caller must give a value for every vertex."""
    return isinstance(constant, VertexValue) and constant.default is None


def _width_of_cast(program: Any, sizes: Sizes, name: str) -> int:
    """Return the bytes by arc of an edge column that a program sees as another type; 0 if as its own."""
    stored = sizes.edge_type(name)
    seen_type = program.edges[name].seen(stored)
    return 0 if seen_type == stored or not stored else np.dtype(seen_type).itemsize


def _width_of(kind: Any) -> int:
    """Return the bytes of a state field; eight if its type comes from the graph."""
    return int(kind.dtype.itemsize) if hasattr(kind, "dtype") else 8
