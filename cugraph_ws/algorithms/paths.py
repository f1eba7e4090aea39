"""Paths from a search's result, by following predecessors back from all targets at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cugraph_ws.algorithms.bfs import BFS, bfs
from cugraph_ws.algorithms.sssp import SSSP, sssp
from cugraph_ws.arguments import is_one_vertex, listed, shown
from cugraph_ws.errors import InputError
from cugraph_ws.execution.driver import run_on
from cugraph_ws.execution.keywords import takes_names_of_others
from cugraph_ws.execution.loop import Result
from cugraph_ws.frames.base import Column, Frame, Masked, VertexNumbers, is_dask_frame, open_frame
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.edges import AUTO
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.graph.methods import GraphMethods
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.halo import Halo
from cugraph_ws.runtime.arrays import any_true, as_host

__all__ = ["shortest_path"]

Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

PREDECESSOR = "predecessor"
VALUES = ("distance", "width")  # the first of these columns that a result has is returned as well


@overload
def shortest_path(result: Result[FrameT] | FrameT, targets: Any) -> FrameT: ...


@overload
def shortest_path(graph: Graph[FrameT] | FrameT, /, start: Any, targets: Any) -> FrameT: ...


@takes_names_of_others  # type: ignore[misc]  # the second of two arguments is `targets`
def shortest_path(result: Any, start: Any = None, targets: Any = None) -> Any:
    """Return the paths that a search has found, or those from a vertex of a graph, as a frame.

    `shortest_path(result, targets)` follows a search's predecessors; `shortest_path(graph, start,
    targets)` searches first, by `sssp` if the graph, or the edge frame, has weights, else by `bfs`.

    Parameters
    ----------
    result : DataFrame or Result; or a Graph or an edge frame, if `start` is given
        All rows of a frame that `bfs`, `sssp` or `widest_path` returned, or the result of `run` for
        a program with a predecessor.  For a Dask frame, or a cluster's result, one worker needs
        memory for three columns: vertices, predecessors, and distances or widths.
    start : id, optional
        Where the paths in a graph begin.
    targets : id or list of ids
        Where the paths end (an id of several columns is a tuple).  May also be a Series, an array
        or a frame of ids.

    Returns
    -------
    DataFrame
        Of the kind of the result (for a Dask frame, of the kind of its partitions), with one row
        for each vertex on each path: `target`; `position` (int64), 0 for the start; `vertex`; and
        `distance` or `width`, from the result.  Targets are in the given order, without
        repetitions.  An unreachable target has no rows; a target that is a start has one.

    Raises
    ------
    InputError
        If a vertex is unknown, or if the result has no predecessors, has rows of several
        searches, lacks rows, or has predecessors that form a cycle.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "a"], "destination": ["b", "c", "d"]})
    >>> ws.shortest_path(ws.bfs(edges, "a"), "c")[["position", "vertex", "distance"]]
       position vertex  distance
    0         0      a         0
    1         1      b         1
    2         2      c         2
    >>> ws.shortest_path(edges, "a", "c")["vertex"].tolist()
    ['a', 'b', 'c']
    """
    ends = [given for given in (start, targets) if given is not None]
    if len(ends) == 2:
        graph: Any = result if isinstance(result, GraphMethods) else as_graph(result, weight=AUTO)
        start, targets = ends
        if not isinstance(graph, GraphView):  # on a cluster
            search: Any = bfs if graph.weight is None else sssp
            return shortest_path(search(graph, start), targets)
        found = run_on(BFS if graph.weight is None else SSSP, graph, start=start, predecessors=True)
        return shortest_path(found.require_convergence("shortest_path"), targets)
    if len(ends) == 1 and isinstance(result, GraphView):
        raise InputError("shortest_path of a graph needs a start and targets; give both")
    if len(ends) != 1:
        raise InputError(
            "shortest_path takes a search's result and targets, or a graph, a start and targets"
        )
    (targets,) = ends
    rows = getattr(result, "frame", result) if not isinstance(result, Result) else result
    if is_dask_frame(rows):
        return _on_worker(rows, targets)
    tree = _tree_of_result(result) if isinstance(result, Result) else _tree_of_frame(result)
    numbers = tree.graph.numbers(_listed(targets), "targets")
    _, first = np.unique(numbers, return_index=True)
    numbers = tree.own(numbers[np.sort(first)])
    numbers = numbers[tree.reached(numbers)]
    path, position, vertex = _walk(tree, numbers)
    columns: dict[str, Any] = {
        "target": VertexNumbers(numbers[path]),
        "position": position,
        "vertex": VertexNumbers(vertex),
    }
    if tree.name is not None:
        columns[tree.name] = tree.read(tree.values, vertex)
    return tree.graph.frame_like(columns)


def _on_worker(rows: Any, targets: Any) -> Any:
    """Return the paths in a Dask frame's rows; one of the workers finds them."""
    from dask.delayed import delayed

    frame = open_frame(rows._meta, "result", on_device=True)
    ids, before = _id_names(frame)
    names = [*ids, *before, *[name for name in VALUES if name in frame.names][:1]]
    if is_dask_frame(targets):
        targets = targets.compute()
    walk = delayed(_walked, pure=False)
    rows_of_paths = walk(rows[names].to_delayed(), targets).compute()
    if isinstance(rows_of_paths, InputError):
        raise rows_of_paths
    return rows_of_paths


def _walked(parts: Sequence[Any], targets: Any) -> Any:
    """Return the paths in the partitions' rows, or the user's error, so that no worker logs it."""
    tree = nw.concat([nw.from_native(part, eager_only=True) for part in parts])
    try:
        return shortest_path(nw.maybe_reset_index(tree).to_native(), targets)
    except InputError as error:
        return error


@dataclass(frozen=True)
class _Tree:
    """A search's tree, by vertex number; on a shard, that of its owned vertices.

    Ranks walk in step, each along the paths to its owned vertices.

    Attributes
    ----------
    graph : GraphView
        Used to look up ids.
    predecessors : ndarray of int64, shape (vertices + 1,)
        -1 for none; the last one is -1, so that -1 leads to itself.
    name : str or None
        The column of distances or widths, if there is one.
    values : ndarray, shape (vertices,)
        That column, or zeros.
    valid : ndarray of bool, shape (vertices,)
        False where it is null.
    """

    graph: GraphView
    predecessors: Integers
    name: str | None
    values: Array
    valid: Mask

    @cached_property
    def _halo(self) -> Halo:
        """Reads entries of vertices from their owners."""
        return Halo.of(self.graph)

    def reached(self, vertices: Integers) -> Mask:
        """Return which vertices are reached; others are null, or have the type's maximum."""
        values = self.read(self.values, vertices)
        limits = np.finfo(values.dtype) if values.dtype.kind == "f" else np.iinfo(values.dtype)
        reached: Mask = self.read(self.valid, vertices) & (values != limits.max)
        return reached

    def own(self, targets: Integers) -> Integers:
        """Return the targets of the paths that this rank walks."""
        halo = self._halo
        return targets if halo.alone else targets[halo.owners(targets) == halo.comm.rank]

    def read(self, column: Array, vertices: Integers) -> Array:
        """Return entries of a column by vertex."""
        entries: Array = self._halo.fetch(column, vertices)
        return entries

    def before(self, vertices: Integers) -> Integers:
        """Return predecessors; -1 leads to itself."""
        halo = self._halo
        if halo.alone:
            return self.predecessors[vertices]
        before = np.full(len(vertices), -1)
        exists = vertices >= 0
        before[exists] = halo.fetch(self.predecessors, vertices[exists])
        return before


def _walk(tree: _Tree, targets: Integers) -> tuple[Integers, Integers, Integers]:
    """Return path, position and vertex of each row; paths are numbered as the targets."""
    path, vertex, ahead = np.arange(len(targets)), targets, targets
    paths, vertices = [path], [vertex]
    while tree.graph.any_rank(len(path) > 0):
        vertex, ahead = tree.before(vertex), tree.before(tree.before(ahead))
        goes_on = vertex >= 0
        path, vertex, ahead = path[goes_on], vertex[goes_on], ahead[goes_on]
        # Floyd's cycle detection: the second walker is twice as fast, and they meet only in a
        # cycle.
        if tree.graph.any_rank(any_true(vertex == ahead)):
            raise InputError(
                "result: the predecessors form a cycle; give the unchanged result of a search"
            )
        paths.append(path)
        vertices.append(vertex)
    row_path, row_vertex = np.concatenate(paths), np.concatenate(vertices)
    steps_back = np.repeat(np.arange(len(paths)), [len(part) for part in paths])
    position = np.bincount(row_path, minlength=len(targets))[row_path] - 1 - steps_back
    order = np.lexsort((position, row_path))
    return row_path[order], position[order], row_vertex[order]


def _tree_of_result(result: Result) -> _Tree:
    predecessor = result.arrays.get(PREDECESSOR)
    if not isinstance(predecessor, VertexNumbers):
        raise InputError(
            f"result: it has no column {PREDECESSOR!r}, only {listed(result.arrays)}; run a "
            f"program that declares `{PREDECESSOR}: ws.predecessor`"
        )
    if result.graph.any_rank(len(predecessor.numbers) != result.graph.owned):
        raise InputError("result: it has the rows of several searches; give the rows of one")
    name = next((name for name in VALUES if name in result.arrays), None)
    column = np.zeros(len(predecessor.numbers)) if name is None else result.arrays[name]
    assert not isinstance(column, VertexNumbers)
    values = as_host(column.values if isinstance(column, Masked) else column)
    valid = as_host(column.valid) if isinstance(column, Masked) else ~np.isnan(values)
    return _Tree(result.graph, np.append(as_host(predecessor.numbers), -1), name, values, valid)


def _tree_of_frame(data: Any) -> _Tree:
    """Read a frame as a graph with edges from each vertex to its predecessor."""
    frame = open_frame(data, "result")
    ids, before = _id_names(frame)
    table = nw.from_native(frame.native, eager_only=True)
    linked = table.filter(~nw.col(before[0]).is_null()).select(nw.col(*ids, *before))
    try:
        graph = Graph(
            linked.to_native(), ids, before, vertices=table.select(nw.col(*ids)).to_native()
        )
    except InputError as error:
        raise InputError(f"result: {error}; give the rows of one search") from error
    if graph.number_of_vertices != len(frame):
        raise InputError(
            "result: some predecessors are missing among the vertices; give all rows of the result"
        )
    rows = graph.numbers(table.select(nw.col(*ids)).to_native(), "result")
    follows = graph.csr.degrees > 0
    predecessors = np.full(len(frame) + 1, -1, np.int64)
    predecessors[:-1][follows] = graph.csr.indices
    name = next((name for name in VALUES if name in frame.names), None)
    values, valid = np.zeros(len(frame)), np.ones(len(frame), np.bool_)
    if name is not None:
        read, valid[rows] = _read_values(frame.column(name, "result"))
        values = np.empty(len(frame), read.dtype)
        values[rows] = read
    return _Tree(graph, predecessors, name, values, valid)


def _predecessors_of(name: Any) -> str:
    """Return the name of the predecessors' column for an id column."""
    try:
        return f"{PREDECESSOR}_{name}"
    except ValueError as error:  # an integer of thousands of digits
        raise InputError(
            f"result: it has a column {shown(name)}, which no search returns"
        ) from error


def _id_names(frame: Frame) -> tuple[list[str], list[str]]:
    """Return the columns of the vertices' ids, and those of their predecessors'."""
    ids = [name for name in frame.names if _predecessors_of(name) in frame.names]
    if not ids and PREDECESSOR in frame.names:
        if "vertex" not in frame.names:
            raise InputError(
                f"result: it has no column 'vertex', only {listed(frame.names)}; give "
                "the unchanged result of a search (an index is not read: reset_index() it)"
            )
        return ["vertex"], [PREDECESSOR]
    if not ids:
        raise InputError(
            f"result: it has no column {PREDECESSOR!r}, only {listed(frame.names)}; give the "
            f"result of bfs, sssp or widest_path"
        )
    return ids, [_predecessors_of(name) for name in ids]


def _read_values(column: Column) -> tuple[Array, Mask]:
    """Return the column's numbers, and a mask that is false where they are null."""
    kind, values = column.arrow_type, column.values
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise InputError(f"{column} holds {kind}; the numbers of a search's result are needed")
    if isinstance(values, np.ndarray):
        return values, ~np.isnan(values)
    valid = np.asarray(values.is_valid())
    values = np.asarray(values.fill_null(0))
    return values, valid & ~np.isnan(values)


def _listed(targets: Any) -> Any:
    """Return one id as a list."""
    return [targets] if is_one_vertex(targets) else targets
