"""From an edge frame to numbered edges grouped by source; all reading of the frame is here.

`source`, `destination`, `weight` and `attributes` select its columns.  `weight` is by default the column
named "weight", if there is one and something reads weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, get_args

import numpy as np
import numpy.typing as npt

from cugraph_ws.arguments import check_choice, is_label, listed, shown
from cugraph_ws.errors import InputError
from cugraph_ws.frames.base import Column, Frame, FrameKind, open_frame
from cugraph_ws.frames.ids import IdType, agree, read_ids
from cugraph_ws.frames.values import read_numbers
from cugraph_ws.graph.adjacency import EdgeList
from cugraph_ws.graph.arcs import Arcs
from cugraph_ws.graph.duplicates import Merge
from cugraph_ws.graph.footprints import IN_MEMORY, ON_DISK, IdShape, check_memory, estimate_of_build
from cugraph_ws.graph.mapped_arcs import MappedEdges
from cugraph_ws.graph.numbering import NewArray, Numbered, number_rows
from cugraph_ws.graph.self_loops import refuse_loops, refuse_or_drop_loops
from cugraph_ws.graph.vertices import Vertices, id_columns
from cugraph_ws.runtime.dispatch import provider
from cugraph_ws.runtime.mapped_files import FileFolder

__all__ = [
    "AUTO",
    "WEIGHT",
    "Columns",
    "Duplicates",
    "Loops",
    "ReadEdges",
    "check_duplicates",
    "column_names",
    "is_auto",
    "labels_of",
    "named_columns",
    "read_edges",
    "read_ends",
    "refuse_repeated",
    "weight_column",
]

AUTO = "auto"
WEIGHT = "weight"  # the column for `weight="auto"`

Columns = str | Sequence[str]  # may be integers for pandas and cuDF frames
Array = npt.NDArray[Any]
Duplicates = Literal["keep", "sum", "min", "max", "mean", "first", "error"]
Loops = Literal["keep", "drop", "error"]


def column_names(frame: Any) -> list[Any]:
    """Return the names of a frame's columns; empty if it is not a frame.

    Parameters
    ----------
    frame : object

    Returns
    -------
    list
    """
    if hasattr(frame, "collect_schema"):  # a lazy frame's `columns` would warn
        try:
            return list(frame.collect_schema().names())
        except Exception:  # reading the frame says what is wrong with it
            return []
    names = getattr(frame, "column_names", None)  # a PyArrow table's; others have `columns`
    names = getattr(frame, "columns", ()) if names is None else names
    return list(names) if isinstance(names, Iterable) else []


def weight_column(frame: Any, weight: Any, *ids: Any) -> Any:
    """Return the weight column of an edge frame.

    Parameters
    ----------
    frame : frame
        The edge frame.
    weight : str or None
        The caller's value: a column, None for no weights, or "auto" for the column "weight", if there
        is one and it is not an id column.
    *ids : str or sequence of str
        The columns of the edges' ends.

    Returns
    -------
    str or None
    """
    if not is_auto(weight):
        return weight
    id_names = [
        name
        for end_columns in ids
        for name in ([end_columns] if isinstance(end_columns, str) else _listed(end_columns))
    ]
    return WEIGHT if WEIGHT in column_names(frame) and WEIGHT not in id_names else None


def is_auto(weight: Any) -> bool:
    """Return whether the weight column is chosen automatically."""
    return isinstance(weight, str) and weight == AUTO


def _listed(columns: Any) -> list[Any]:
    return list(columns) if isinstance(columns, Iterable) else [columns]


def named_columns(
    source: Columns, destination: Columns, weight: str | None, attributes: Columns
) -> tuple[tuple[list[str], list[str]], list[str]]:
    """Return the id columns of sources and destinations, and the edge columns that a graph keeps.

    Parameters
    ----------
    source, destination : str or sequence of str
    weight : str or None
    attributes : str or sequence of str
        See `Graph`.

    Returns
    -------
    names : pair of list of str
        The id columns of sources, and of destinations.
    carried : list of str
        The edge columns; the weight is first.

    Raises
    ------
    InputError
        If no column is named, the numbers of columns for both ends differ, or both are the same.
    """
    names = labels_of(source, "source"), labels_of(destination, "destination")
    if len(names[0]) != len(names[1]):
        raise InputError(
            f"source names {len(names[0])} columns and destination {len(names[1])}; "
            f"give as many columns for both"
        )
    if names[0] == names[1]:
        raise InputError(
            f"source={shown(source)} and destination={shown(destination)} are the same, so that every edge would "
            "lead back to where it begins; name the columns of both ends"
        )
    if weight is not None and not is_label(weight):
        raise InputError(f"weight={shown(weight)}: give the name of one column, or None")
    first = [] if weight is None else [weight]
    more = () if attributes is None else attributes
    return names, list(dict.fromkeys([*first, *labels_of(more, "attributes")]))


def labels_of(columns: Any, argument: str) -> list[str]:
    """Return the names of columns in a list.

    Parameters
    ----------
    columns : str or sequence of str
    argument : str
        The caller's name for them, for errors.

    Returns
    -------
    list of str

    Raises
    ------
    InputError
        If there are none, or one is no name of a column.
    """
    if is_label(columns):
        return [columns]
    if hasattr(columns, "tolist"):  # an array or an index
        columns = columns.tolist()
    if not isinstance(columns, Sequence) or isinstance(columns, (bytes, bytearray)):
        raise InputError(
            f"{argument}={shown(columns)}: give the name of a column, or a list of names; names are text "
            f"or whole numbers"
        )
    for name in columns:
        if isinstance(name, tuple):
            raise InputError(
                f"{argument}: {shown(name)} is a label of several levels; give the frame flat names, such "
                f"as frame.columns = ['_'.join(label) for label in frame.columns]"
            )
        if not is_label(name):
            raise InputError(
                f"{argument}: {shown(name)} is not a column name; names are text or whole numbers"
            )
    if not columns and argument != "attributes":
        raise InputError(f"{argument}=[]: name at least one column")
    return list(columns)


def check_duplicates(duplicates: Any, carried: Sequence[str]) -> None:
    """Refuse an invalid policy on parallel edges.

    Parameters
    ----------
    duplicates : str or mapping
        The caller's value.
    carried : sequence of str
        The edge columns that the graph keeps.

    Raises
    ------
    InputError
        If it is invalid, or a mapping that names other columns.
    """
    if not isinstance(duplicates, Mapping):
        check_choice("duplicates", duplicates, get_args(Duplicates))
        return
    if set(duplicates) != set(carried) or not carried:
        raise InputError(
            f"duplicates={shown(duplicates)}: give a policy for each column that is kept: "
            f"{listed(carried)}"
        )
    for name, policy in duplicates.items():
        check_choice(f"duplicates[{shown(name)}]", policy, get_args(Merge))


@dataclass
class ReadEdges:
    """The contents of an edge frame.

    Attributes
    ----------
    kind : FrameKind
    vertices : Vertices
    arcs : Arcs or DeviceArcs
        Where the frame was, on the host or the device.
    number_of_edges : int
    self_loops : int or None
        Number of self-loops in the frame; None if not counted.
    duplicates : int or None
        Number of edges that were merged into others; None if they are still to be merged.
    """

    kind: FrameKind
    vertices: Vertices
    arcs: Any
    number_of_edges: int
    self_loops: int | None
    duplicates: int | None = None


def read_edges(
    edges: Any,
    sources: Sequence[str],
    destinations: Sequence[str],
    carried: Sequence[str],
    *,
    weight: str | None,
    both: bool,
    vertices: Any,
    self_loops: Loops,
    duplicates: Duplicates | Mapping[str, Merge],
    consume: bool,
    room: int,
    place: FileFolder | Literal["frame", "host"] = "frame",
) -> ReadEdges:
    """Check an edge frame, number its vertices and group its edges; see `Graph`.

    `room` is the bytes that it may take on the host.  Arcs are where the frame is, on the host, or in files.
    """
    used = [*sources, *destinations, *carried]
    frame = open_frame(edges, "edges", on_device=place == "frame", columns=used)
    extra, folder = None, place if isinstance(place, FileFolder) else None
    if vertices is not None:
        extra = open_frame(vertices, "vertices", on_device=frame.on_device)
    if frame.on_device:
        read: ReadEdges = provider("device edges").read_device_edges(
            frame,
            sources,
            destinations,
            carried,
            weight=weight,
            both=both,
            extra=extra,
            self_loops=self_loops,
            duplicates=duplicates,
            consume=consume,
        )
        return read
    in_memory = len(frame) if folder is None else 0
    width = 4 * len(carried)  # every number takes at least four bytes
    remedy = f"give placement='disk', {IN_MEMORY}" if folder is None else ON_DISK
    check_memory(estimate_of_build(in_memory, 0, [], both=both, value_bytes=width), room, remedy)

    def watch(shape: IdShape) -> None:
        least = estimate_of_build(in_memory, shape.distinct, [shape], both=both, value_bytes=width)
        check_memory(least, room, remedy)

    types, parts, dense_up_to = read_ends(frame, sources, destinations, extra)
    new: NewArray = np.empty if folder is None else folder.filled
    numbered = number_rows(parts, dense_up_to=dense_up_to, watch=watch, new=new)
    del parts
    values = _read_values(frame, carried, weight)
    numbered_vertices = Vertices(sources, types, numbered.numbering)
    check_memory(
        estimate_of_build(
            in_memory,
            numbered_vertices.size,
            [numbered.shape],
            both=both,
            value_bytes=sum(array.itemsize for array in values.values()),
        ),
        room,
        remedy,
    )
    if extra is not None:
        numbered_vertices.keep_attributes(extra, numbered.numbers(2).astype(np.int64))
    kind = frame.kind_like(sources[0])
    loops = None
    if self_loops != "keep" and folder is None:
        loops = refuse_or_drop_loops(numbered, values, self_loops, numbered_vertices)
    if consume:
        frame.release(used)
    del frame
    if folder is not None:
        left = room - numbered_vertices.numbering.nbytes
        arcs, number_of_edges, loops = _arcs_on_disk(
            numbered, values, self_loops, numbered_vertices, both=both, folder=folder, room=left
        )
        return ReadEdges(kind, numbered_vertices, arcs, number_of_edges, loops)
    arcs, number_of_edges = _arcs_in_memory(numbered, values, both=both)
    return ReadEdges(kind, numbered_vertices, arcs, number_of_edges, loops)


def _read_values(frame: Frame, carried: Sequence[str], weight: str | None) -> dict[str, Array]:
    """Return the edge columns that a graph keeps."""
    return {
        name: read_numbers(
            frame.column(name, "weight" if name == weight else "attributes"), finite=name == weight
        )
        for name in carried
    }


def _arcs_in_memory(
    numbered: Numbered, values: dict[str, Array], *, both: bool
) -> tuple[Arcs, int]:
    """Group the edges by source; return the arcs and the number of edges."""
    low, table, size = numbered.low, numbered.table, numbered.numbering.size
    ends = numbered.columns
    listed = EdgeList(ends[0], ends[1], low, table, size, numbered.own)
    ends.clear()  # so that columns can be freed while edges are placed
    number_of_edges = len(listed.sources)
    base, placed = listed.rows_of_sources(list(values.values()), both=both)
    return Arcs(base, dict(zip(values, placed, strict=True)), directed=not both), number_of_edges


def _arcs_on_disk(
    numbered: Numbered,
    values: dict[str, Array],
    policy: Loops,
    vertices: Vertices,
    *,
    both: bool,
    folder: FileFolder,
    room: int,
) -> tuple[Arcs, int, int]:
    """Group the edges in files; return the arcs, the number of edges, and that of self-loops in the frame."""
    edges = MappedEdges(numbered, values, both=both, drop_loops=policy == "drop", limit=room)
    if policy == "error" and edges.loops:
        vertex = vertices.describe(edges.source(edges.first_loop))
        refuse_loops(edges.first_loop, vertex, edges.loops)
    return edges.arcs(folder), edges.number_of_edges, edges.loops


def read_ends(
    frame: Frame,
    sources: Sequence[str],
    destinations: Sequence[str],
    extra: Frame | None,
    move: Callable[[Column], Column] = lambda column: column,
) -> tuple[list[IdType], list[Any], int]:
    """Read the ids of sources, destinations and optionally a vertex frame, in common types.

    Parameters
    ----------
    frame : Frame
    sources, destinations : sequence of str
        Id columns.
    extra : Frame, optional
        Frame of vertices, of any kind.
    move : callable
        Moves a column of `extra` to where the frame is.

    Returns
    -------
    types : list of IdType
        One for each part of an id.
    parts : list of list of columns
        For each part, the columns of sources, destinations and vertices.
    dense_up_to : int
        Largest range of integers that is numbered by a table over the range.
    """
    extra_names = [] if extra is None else id_columns(extra, sources)
    types, parts = [], []
    for which, (source, destination) in enumerate(zip(sources, destinations, strict=True)):
        ends = (frame.column(source, "source"), frame.column(destination, "destination"))
        columns = [read_ids(column) for column in ends]
        if extra is not None:
            more = move(extra.column(extra_names[which], "vertices"))
            columns.append(read_ids(more, foreign=extra.backend != frame.backend))
        kind, values = agree(columns)
        types.append(kind)
        parts.append(values)
    rows = len(frame) + (0 if extra is None else len(extra))
    return types, parts, 8 * rows + (1 << 20)


def refuse_repeated(surplus: int, edge: str) -> NoReturn:
    """Raise InputError for parallel edges.

    Parameters
    ----------
    surplus : int
        Number of edges after the first between the same two vertices.
    edge : str
        The ends of one of them, as errors show them.

    Raises
    ------
    InputError
        Always.
    """
    raise InputError(
        f"duplicates='error': {surplus} edges repeat another, such as {edge}; choose another policy: "
        f"'keep', 'sum', 'min', 'max', 'mean' or 'first'"
    )
