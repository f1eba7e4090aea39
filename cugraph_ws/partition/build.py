"""Build each rank's shard of a graph from partitions of an edge frame.

Let m edges be distributed evenly over k ranks.  Besides its partitions, a rank holds at most about:

- while ids are numbered, 16 m/k bytes of vertex numbers, and two copies of its distinct ids;
- while edge columns are shuffled one after another, two copies of one column (sent and received),
  8 bytes an arc for the order in which arcs are sent, and the columns already received.

The adjacency over owned vertices and ghosts is then built like that of a whole graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from cugraph_ws.arguments import check_choice
from cugraph_ws.errors import GraphMemoryError
from cugraph_ws.frames.ids import IdType, cast_ids, read_ids
from cugraph_ws.frames.values import read_numbers
from cugraph_ws.graph.adjacency import index_dtype
from cugraph_ws.graph.duplicates import Merge
from cugraph_ws.graph.edges import (
    Columns,
    Duplicates,
    Loops,
    check_duplicates,
    named_columns,
)
from cugraph_ws.graph.estimates import estimate_memory
from cugraph_ws.graph.footprints import MemoryEstimate, check_memory
from cugraph_ws.graph.self_loops import refuse_loops
from cugraph_ws.graph.vertices import id_columns
from cugraph_ws.partition import id_encoding
from cugraph_ws.partition.id_encoding import agree_on_type
from cugraph_ws.partition.numbering import number_partitioned_rows
from cugraph_ws.partition.owner_choice import chosen_owners, relative_work
from cugraph_ws.partition.partitioned_frame import (
    OpenedPartition,
    OpenedPartitions,
    Partitions,
    are_on_gpus,
)
from cugraph_ws.partition.shard import ShardGraph
from cugraph_ws.partition.shuffle import Shuffle
from cugraph_ws.partition.vertices import ShardVertices
from cugraph_ws.runtime.arrays import array_module
from cugraph_ws.runtime.communicator import Communicator, attempt, in_order, total
from cugraph_ws.runtime.dispatch import provider
from cugraph_ws.runtime.memory import format_bytes

__all__ = ["build_shard"]

Array = npt.NDArray[Any]


def build_shard(
    comm: Communicator,
    partitions: Sequence[tuple[int, Any]],
    source: Columns = "source",
    destination: Columns = "destination",
    weight: str | None = None,
    directed: bool = True,
    *,
    vertices: Any = None,
    attributes: Columns = (),
    duplicates: Duplicates | Mapping[str, Merge] = "keep",
    self_loops: Loops = "keep",
    cut: str | Sequence[float] = "ranges",
    meta: Any = None,
) -> ShardGraph:
    """Build this rank's shard of a graph; collective.

    All ranks pass the same arguments, except `partitions` and, if it is a `Partitions`, `vertices`.

    Parameters
    ----------
    comm : Communicator
    partitions : sequence of (int, frame)
        This rank's partitions of the edge frame, perhaps none, each with its place in the whole
        frame.  The whole frame is the concatenation of all partitions in the order of their places.
    source, destination, weight, directed, attributes, duplicates, self_loops
        See `Graph`.
    vertices : frame or Partitions, optional
        See `Graph`.
    cut : str or sequence of float
        Which vertices go together, see `Graph`; or ranges by the relative amount of work of each rank.
    meta : frame, optional
        An empty frame of the partitions' kind and columns; required if no rank has a partition.

    Returns
    -------
    ShardGraph
        Ranks own ranges of vertices, in the order of the ranks, unless `cut` is another.

    Raises
    ------
    InputError
        If a frame is invalid, as in `Graph`; raised on all ranks.
    GraphMemoryError
        If a rank's shard would not fit in its memory; raised on all ranks.
    """
    check_choice("self_loops", self_loops, get_args(Loops))
    weights = relative_work(cut, comm.size)
    names, carried = named_columns(source, destination, weight, attributes)
    check_duplicates(duplicates, carried)
    own_partitions = Partitions(
        [frame for _, frame in partitions], [place for place, _ in partitions]
    )
    frames = [*own_partitions.frames, *([] if meta is None else [meta])]
    in_ranges = weights is not None or cut == "ranges"
    on_device = in_ranges and vertices is None and duplicates == "keep" and comm.on_device
    if on_device and are_on_gpus(comm, frames):
        parts = OpenedPartitions(comm, own_partitions, "edges", meta, on_device=True)
        shard = _build_on_devices(
            comm, parts, names, carried, weight, directed, self_loops=self_loops, weights=weights
        )
        if shard is not None:
            return shard
    parts = OpenedPartitions(comm, own_partitions, "edges", meta)
    extra = None
    if vertices is not None:
        extra = OpenedPartitions(comm, _on_first_rank(comm, vertices), "vertices")
    expect = partial(
        estimate_memory, weighted=weight is not None, attributes=len(carried) - (weight is not None)
    )
    rows = sum(len(part.frame) for part in parts.own)
    # a lower bound: the number of vertices is not yet known
    attempt(comm, lambda: _check_room(comm, expect(number_of_edges=rows, number_of_vertices=0)))
    types, columns = _read_ids(comm, parts, extra, names)
    dense_up_to = 8 * (parts.rows + (0 if extra is None else extra.rows)) + (1 << 20)
    if not _are_dense(comm, types, columns, dense_up_to):  # ids are hashed and sorted
        attempt(comm, lambda: _check_room(comm, expect(number_of_edges=rows, dense=False)))
    values = {name: _read_values(comm, parts, name, weight) for name in carried}
    kind = parts.kind_like(names[0][0])
    numbered_vertices, ends = _number(comm, parts, extra, names, types, columns, dense_up_to)
    loops = None
    if self_loops != "keep":
        loops = total(comm, np.count_nonzero(ends[0] == ends[1]))
        if loops and self_loops == "error":
            _refuse_loops(comm, numbered_vertices, ends, parts)
    shuffle = _shuffle(parts, ends, loops=self_loops == "keep", directed=directed)
    del parts, extra
    owners = chosen_owners(comm, cut, numbered_vertices, shuffle)
    arcs, owned = shuffle.aim(comm, owners), owners.owned
    attempt(comm, lambda: _check_room(comm, expect(number_of_edges=arcs, number_of_vertices=owned)))
    numbered_vertices.move(owners)
    received = {name: shuffle.send(comm, values.pop(name)) for name in carried}
    sources, destinations = (arc_ends.astype(np.int64) for arc_ends in shuffle.send_ends(comm))
    del shuffle, ends
    shard = ShardGraph(
        comm,
        owners,
        sources,
        destinations,
        received,
        vertices=numbered_vertices,
        kind=kind,
        names=names,
        weight=weight,
        directed=directed,
        duplicates=duplicates,
    )
    shard._self_loops = loops
    numbered_vertices.align_to(shard)
    return shard


def _build_on_devices(
    comm: Communicator,
    parts: OpenedPartitions,
    names: tuple[list[str], list[str]],
    carried: Sequence[str],
    weight: str | None,
    directed: bool,
    *,
    self_loops: Loops,
    weights: Sequence[float] | None,
) -> ShardGraph | None:
    """Build this rank's shard on its GPU; None, on all ranks, if it must be built on the host.  Collective."""
    on_devices = provider("device shards")
    if not on_devices.are_integers(comm, parts, names):
        return None
    types, columns = _read_ids(comm, parts, None, names)
    shard: ShardGraph | None = on_devices.build_on_devices(
        comm,
        parts,
        names,
        types[0],
        columns[0],
        {name: _read_values(comm, parts, name, weight) for name in carried},
        weight=weight,
        directed=directed,
        self_loops=self_loops,
        weights=weights,
    )
    return shard


def _first_rows(parts: OpenedPartitions) -> npt.NDArray[np.int64]:
    """Return the index of the first row of each of this rank's partitions, then the number of rows."""
    return np.cumsum([0, *(len(part.frame) for part in parts.own)])


def _shuffle(
    parts: OpenedPartitions, ends: Sequence[Array], *, loops: bool, directed: bool
) -> Shuffle:
    """Return the shuffle of this rank's arcs."""
    places = [part.place[0] for part in parts.own]
    return Shuffle(ends[0], ends[1], _first_rows(parts), places, loops, directed)


def _number(
    comm: Communicator,
    parts: OpenedPartitions,
    extra: OpenedPartitions | None,
    names: tuple[list[str], list[str]],
    types: list[IdType],
    columns: list[list[Any]],
    dense_up_to: int,
) -> tuple[ShardVertices, list[Array]]:
    """Give the vertices of all ranks their numbers; collective.

    Parameters
    ----------
    parts, extra : OpenedPartitions
        Edges and, if there is such a frame, vertices.
    names : pair of list of str
        The id columns.
    types, columns
        What `_read_ids` has returned; `columns` is emptied.
    dense_up_to : int
        Largest range of integers that are numbered by a table.

    Returns
    -------
    vertices : ShardVertices
    ends : list of two ndarray, shape (rows,)
        Vertex numbers of the sources and destinations of this rank's edges.
    """
    forms = [id_encoding.form_of(id_type) for id_type in types]
    numbered = number_partitioned_rows(comm, columns, forms, dense_up_to=dense_up_to)
    columns.clear()
    vertices, count = ShardVertices(comm, names[0], types, numbered.ids), len(parts.own)
    if extra is not None:
        vertices.keep_parts(extra, numbered.columns[2 * count :])
    index = index_dtype(vertices.size)
    ends = [
        np.concatenate(
            [np.empty(0, index), *(numbers.astype(index) for numbers in numbers_of_parts)]
        )
        for numbers_of_parts in (numbered.columns[:count], numbered.columns[count : 2 * count])
    ]
    return vertices, ends


def _check_room(comm: Communicator, estimate: MemoryEstimate) -> None:
    """Raise GraphMemoryError if a shard would not fit in this machine's or the worker's memory."""
    check_memory(estimate)
    room = comm.room
    if room is not None and estimate.peak > room:
        raise GraphMemoryError(
            f"a worker needs {format_bytes(estimate.peak)} to build its shard of the graph, and "
            f"{format_bytes(room)} of the worker's memory are left ({estimate}); give workers more memory "
            "(memory_limit=), use more of them, or leave out weight= and attributes="
        )


def _are_dense(
    comm: Communicator, types: Sequence[IdType], columns: Sequence[Sequence[Any]], dense_up_to: int
) -> bool:
    """Return whether ids are one column of integers that nearly fill their range; collective."""
    if len(types) > 1 or types[0].family != "integer":
        return False
    filled = [column for column in columns[0] if len(column)]
    ends = (
        [[int(min(column.min() for column in filled)), int(max(column.max() for column in filled))]]
        if filled
        else []
    )
    shown = [extent for some in comm.allgather(ends) for extent in some]
    if not shown:
        return True
    return max(extent[1] for extent in shown) - min(extent[0] for extent in shown) < dense_up_to


def _on_first_rank(comm: Communicator, vertices: Any) -> Partitions:
    """Return a frame that all ranks hold as a single partition, on rank 0."""
    if isinstance(vertices, Partitions):
        return vertices
    return Partitions([vertices] if comm.rank == 0 else [])


def _read_ids(
    comm: Communicator,
    parts: OpenedPartitions,
    extra: OpenedPartitions | None,
    names: tuple[list[str], list[str]],
) -> tuple[list[IdType], list[list[Any]]]:
    """Read the ids of this rank's partitions, converted to types common to all ranks; collective.

    Returns
    -------
    types : list of IdType
        One for each column of the id.
    columns : list of list of ndarray or pyarrow.ChunkedArray
        For each column of the id, the values in this rank's partitions: sources, destinations, then
        vertices.
    """
    wanted: list[list[tuple[OpenedPartitions, str, str]]] = [
        [(parts, source, "source"), (parts, destination, "destination")]
        for source, destination in zip(*names, strict=True)
    ]
    if extra is not None:
        for which, name in enumerate(id_columns(extra, names[0])):
            wanted[which].append((extra, name, "vertices"))
    types, columns = [], []
    for ends in wanted:
        read, described = [], []
        for stage, (where, name, argument) in enumerate(ends):
            if where.meta is not None:
                where.meta.column(name, argument)  # a missing column raises on all ranks
            foreign = where.backend != parts.backend

            def step(
                part: OpenedPartition,
                name: str = name,
                argument: str = argument,
                foreign: bool = foreign,
            ) -> Any:
                return read_ids(part.column(name, argument), foreign=foreign)

            some = in_order(comm, where.steps(stage, step))
            for part, ids in zip(where.own, some, strict=True):
                read.append(((stage, *part.place), ids))
                described.append(((stage, *part.place), ids.type, str(ids.column)))
        kind = agree_on_type(comm, described)
        types.append(kind)
        if kind.family == "nothing":
            columns.append([ids.values for _, ids in read])
        else:
            columns.append(
                in_order(comm, [(place, partial(cast_ids, ids, kind)) for place, ids in read])
            )
    return types, columns


def _read_values(comm: Communicator, parts: OpenedPartitions, name: str, weight: str | None) -> Any:
    """Read an edge column of this rank's partitions, in the whole column's dtype; collective."""
    argument = "weight" if name == weight else "attributes"
    if parts.meta is not None:
        parts.meta.column(name, argument)

    def step(part: OpenedPartition) -> tuple[Any, str]:
        column = part.column(name, argument)
        values = read_numbers(column, finite=name == weight)
        return values, np.dtype(column.arrow_type.to_pandas_dtype()).str

    columns = in_order(comm, parts.steps(0, step))
    shown = {
        dtype for some in comm.allgather(sorted({dtype for _, dtype in columns})) for dtype in some
    }
    common = np.result_type(*(np.dtype(dtype) for dtype in shown))
    if common.kind == "f":
        common = np.dtype(np.float64 if common.itemsize == 8 else np.float32)
    else:
        common = np.dtype(np.int64)
    xp = array_module(parts.on_device)
    return xp.concatenate(
        [xp.empty(0, common), *(values.astype(common, copy=False) for values, _ in columns)]
    )


def _refuse_loops(
    comm: Communicator,
    vertices: ShardVertices,
    ends: Sequence[Array],
    parts: OpenedPartitions,
) -> None:
    """Raise InputError that names the first self-loop; collective."""
    first_loop = None
    sources, destinations = ends
    places = np.flatnonzero(sources == destinations)
    if len(places):
        starts = _first_rows(parts)
        which = np.searchsorted(starts, places[0], side="right") - 1
        row = parts.own[which].first_row + places[0] - starts[which]
        first_loop = [int(row), int(sources[places[0]])]
    loops = total(comm, len(places))
    row, vertex = min(list(loop) for loop in comm.allgather(first_loop) if loop is not None)
    refuse_loops(row, vertices.describe(vertex), loops)
