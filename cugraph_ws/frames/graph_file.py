"""What a file says of a graph: its edges, its vertices, and whether edges have a direction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute

from cugraph_ws.errors import FileError
from cugraph_ws.runtime.memory import available_memory, check_room

__all__ = ["GraphFile", "from_ends", "listed_once", "numbered_vertices", "refuse_numbers"]


@dataclass(frozen=True)
class GraphFile:
    """The graph in a file.

    Attributes
    ----------
    edges : pyarrow.Table
        The first two columns are the ids of sources and destinations.
    vertices : pyarrow.Table, optional
        Column `vertex`: the ids of all vertices, if the format lists or counts them.
    undirected : bool
        Whether the file says that edges have no direction.  Then each is listed once.
    header : bool
        Whether the columns' names are the file's own.
    incomplete : mapping of str to Path
        By column: a file of a folder that lacks it; its rows are null.
    """

    edges: pa.Table
    vertices: pa.Table | None = None
    undirected: bool = False
    header: bool = True
    incomplete: Mapping[str, Path] = field(default_factory=dict)

    def directed(self, path: Path) -> GraphFile:
        """Return the graph with an edge in each direction for one without."""
        if not self.undirected:
            return self
        check_room(str(path), 2 * self.edges.nbytes, available_memory())
        source, destination, *attributes = names = self.edges.column_names
        proper = self.edges.filter(compute.not_equal(self.edges[source], self.edges[destination]))
        mirrored = proper.select([destination, source, *attributes]).rename_columns(names)
        edges = pa.concat_tables([self.edges, mirrored])
        return replace(self, edges=edges, undirected=False)


def numbered_vertices(count: int, path: Path) -> pa.Table:
    """Return the vertices 1 to `count` of a file that says how many there are.

    Raises
    ------
    GraphMemoryError
        If there are too many for the memory.
    """
    check_room(str(path), 8 * count, available_memory())
    return pa.table({"vertex": np.arange(1, count + 1, dtype=np.int64)})


def refuse_numbers(edges: pa.Table, count: int, path: Path) -> None:
    """Refuse edges whose first two columns are not vertices 1 to `count`."""
    for name in edges.column_names[:2]:
        ids = edges[name]
        good = pa.types.is_integer(ids.type) and ids.null_count == 0
        least, most = compute.min_max(ids).as_py().values()
        if not good or (len(ids) and not 1 <= least <= most <= count):
            raise FileError(
                f"{path}: column {name!r} holds values that are not integers from 1 to {count}"
            )


def listed_once(edges: pa.Table) -> pa.Table | None:
    """Return each edge once, if all are listed in both directions with equal values; else None.

    Self-loops are kept as they are.
    """
    columns = [edges[name].to_numpy() for name in edges.column_names]
    source, destination, *attributes = columns
    up, down = source < destination, source > destination
    forward = _ordered([source[up], destination[up], *(values[up] for values in attributes)])
    backward = _ordered([destination[down], source[down], *(values[down] for values in attributes)])
    if not all(map(np.array_equal, forward, backward)):
        return None
    return edges.filter(pa.array(~down))


def _ordered(columns: list[Any]) -> list[Any]:
    """Return rows sorted by all columns."""
    order = np.lexsort(columns[::-1])
    return [values[order] for values in columns]


def from_ends(
    ends: tuple[Any, Any],
    attributes: Mapping[str, Any],
    names: Sequence[str],
    undirected: Any,
    vertices: pa.Table,
) -> GraphFile:
    """Return the graph of edges some of which may have no direction.

    Parameters
    ----------
    ends : pair of pyarrow.Array
        Ids of sources and destinations.
    attributes : mapping of str to pyarrow.Array
    names : sequence of str
        Names of the columns of ids.
    undirected : array of bool
        Which edges have no direction.  If some have one and some have none, the graph has directions,
        and those without get an edge in each direction.
    vertices : pyarrow.Table
    """
    table = pa.table(dict(zip(names, ends, strict=False)))
    for name, values in attributes.items():
        while name in table.column_names:
            name = f"edge_{name}"
        table = table.append_column(name, values)
    undirected = np.asarray(undirected, np.bool_)
    if len(undirected) and undirected.all():
        return GraphFile(table, vertices, undirected=True)
    if undirected.any():
        part = GraphFile(table.filter(pa.array(undirected)), undirected=True).directed(Path())
        rest = table.filter(pa.array(~undirected))
        table = pa.concat_tables([rest, part.edges])
    return GraphFile(table, vertices)
