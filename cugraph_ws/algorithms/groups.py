"""Many small graphs at once: a function or a program on every group of the rows of one edge frame.

The vertices of all groups are numbered together, group after group, so one graph holds all of them, and no edge leads
from one group to another.  One run on that graph is the answer if a function declares so (`by_group` of
`@algorithm`), or if it is proved of a program (`program.by_group`).  All others run on one group after the other.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from cugraph_ws.algorithms.registry import ALGORITHMS, Algorithm
from cugraph_ws.arguments import listed, shown
from cugraph_ws.errors import CugraphWsError, InputError
from cugraph_ws.execution.loop import Loop
from cugraph_ws.execution.options import Options, options_of
from cugraph_ws.execution.run import run
from cugraph_ws.frames.base import Frame, is_dask_frame, is_frame, open_frame, table_if_stream
from cugraph_ws.frames.groups import Pieces, joined
from cugraph_ws.frames.ids import IdType, agree, conform, read_ids
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.edges import AUTO, Columns, column_names, is_auto, labels_of, weight_column
from cugraph_ws.graph.graph import Graph
from cugraph_ws.graph.numbering import Numbering, number_rows
from cugraph_ws.graph.view import GraphView
from cugraph_ws.program.by_group import why_not_together
from cugraph_ws.program.conventions import columns_read, declares
from cugraph_ws.program.edge_program import EdgeProgram
from cugraph_ws.program.phases import Phases
from cugraph_ws.program.vertex_program import VertexProgram

__all__ = ["run_groups"]

LOG = logging.getLogger("cugraph_ws")
PROGRAMS = (VertexProgram, EdgeProgram, Phases, Loop)
WITH_WEIGHTS = ("weighted", "use_weight")  # arguments for which a function reads weights
MODULARITY = "modularity"  # the number beside communities
MATERIAL = 1 << 20  # up to so many distinct integers, groups are numbered by a table


def run_groups(
    program: Any,
    edges: FrameT,
    by: Columns,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    **arguments: Any,
) -> FrameT:
    """Run a function or a program on each group of edges, as if each were a graph alone.

    A group is all rows with the same value in `by`.  Vertices of two groups are different vertices, also if they
    have the same id.  Most functions that look at components, neighbours or distances compute all groups at once,
    as do `pagerank` and programs whose states do not depend on the graph as a whole; the others run on one group
    after the other, with the same answer.

    Parameters
    ----------
    program : callable, VertexProgram, EdgeProgram, Phases or Loop
        A function of this library such as `ws.pagerank`, any other function that takes an edge frame first and
        returns a frame or a number, or what `ws.run` takes.
    edges : DataFrame
        A row for each edge.  No Dask frame.
    by : str or list of str
        The columns that name the group: integers, text, times or categoricals, without nulls.
    source, destination : str or list of str
        Id columns of `edges`.  A function that is not of this library gets them only if they have other names.
    **arguments : Any
        Arguments of the function, or of `run`, the same for each group.  A frame with the columns `by` is
        divided among the groups; in it, vertices are in the column `vertex`.  So `start` is such a frame, or ids
        that every group has.  There are no checkpoints, and `timeout` is for each run.

    Returns
    -------
    DataFrame
        What the function returns for each group, or the vertex frame of a run, with the columns `by` first:
        sorted by group, and in the order of the function within it.  Numbers are a row for each group, in a column
        with the name of the function.  If the function returns several results, as `louvain` does, they are a
        tuple of such frames.

    Raises
    ------
    InputError
        If an argument is invalid; of what is raised within one group, a note names the group.
    ConvergenceError
        As the function raises it for a group.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame(
    ...     {
    ...         "molecule": ["water", "water", "ring", "ring", "ring"],
    ...         "source": [0, 0, 0, 1, 2],
    ...         "destination": [1, 2, 1, 2, 0],
    ...     }
    ... )
    >>> triangles = ws.run_groups(ws.triangle_count, edges, by="molecule")
    >>> triangles.groupby("molecule")["counts"].sum().to_dict()
    {'ring': 3, 'water': 0}
    """
    edges = table_if_stream(edges)
    names = labels_of(by, "by")
    ends = labels_of(source, "source"), labels_of(destination, "destination")
    _refuse_arguments(program, edges, names, ends, arguments)
    frame = open_frame(edges, "edges", on_device=True)
    for name in names:
        read_ids(frame.column(name, "by")).column.refuse_nulls()
    if not frame.proxy:
        edges = frame.native  # a lazy frame has been computed
    declared = _declared(program)
    columns = {"source": source, "destination": destination}
    if declared is None and not isinstance(program, PROGRAMS):  # it may know its columns
        columns = {name: column for name, column in columns.items() if column != name}
    settings = {**columns, **arguments}
    why = _why_in_turn(program, declared, names, settings, edges)
    LOG.info("%s by %s: %s", _name(program), listed(names), why or "all groups at once")
    if why is not None:
        call = _call(program, declared)
        return _in_turn(call, _name(program), frame, names, settings)  # type: ignore[no-any-return]
    graph = _graph_of_groups(program, declared, edges, names, settings)
    return _call(program, declared)(graph, **arguments)  # type: ignore[no-any-return]


def _refuse_arguments(
    program: Any, edges: Any, by: list[str], ends: tuple[list[str], list[str]], arguments: Any
) -> None:
    """Refuse what can be refused before columns are read."""
    if not isinstance(program, PROGRAMS) and (isinstance(program, type) or not callable(program)):
        raise InputError(
            f"program={shown(program)} is neither a function nor a program; give ws.pagerank, say, or a class "
            "with @ws.vertex_program above it"
        )
    if is_dask_frame(edges):
        raise InputError(
            "edges is a Dask frame, and groups are computed on one machine: compute() it, or call run_groups by "
            "map_partitions if every group is within one partition"
        )
    if isinstance(edges, GraphView):
        raise InputError("edges is a graph; give the frame of its edges, which has the columns by=")
    for name in by:
        if name in ends[0] or name in ends[1]:
            raise InputError(f"by={shown(name)} names a column of vertices too; give it a copy")
        if name == "vertex":
            raise InputError(
                "by='vertex': results have a column of this name; rename it in the frame"
            )
    if repeated := [name for place, name in enumerate(by) if name in by[:place]]:
        raise InputError(f"by={shown(by)} names {shown(repeated[0])} twice; give it once")
    for name in ("checkpoint", "resume"):
        if arguments.get(name) is not None:
            raise InputError(f"{name}=: runs on groups have no checkpoints; leave it out")


def _name(program: Any) -> str:
    return str(getattr(program, "name", None) or getattr(program, "__name__", "value"))


def _declared(program: Any) -> Algorithm | None:
    """Return what a function of this library declares."""
    declared = ALGORITHMS.get(getattr(program, "__name__", ""))
    return declared if declared is not None and declared.function is program else None


def _call(program: Any, declared: Algorithm | None) -> Callable[..., Any]:
    """Return what computes the result of one group, or of all."""
    if isinstance(program, PROGRAMS):
        return partial(_run, program)
    call: Callable[..., Any] = program if declared is None else declared.function
    return call


def _run(
    program: Any,
    graph: Any,
    source: Columns = "source",
    destination: Columns = "destination",
    **arguments: Any,
) -> Any:
    """Return the frame of a run; `source` and `destination` are columns, also if the program has such a parameter."""
    if "weight" in arguments and not declares(program, "weight", arguments):
        arguments["weight_column"] = arguments.pop("weight")
    columns: dict[str, Any] = {"source_column": source, "destination_column": destination}
    return run(program, graph, **columns, **arguments).frame


# ------------------------------------------------------------------------------------ all at once


def _why_in_turn(
    program: Any,
    declared: Algorithm | None,
    by: list[str],
    settings: Mapping[str, Any],
    edges: Any,
) -> str | None:
    """Return why groups are run one after the other; None if one run of all has the same answer."""
    for name, value in settings.items():
        if isinstance(value, Mapping) or (is_frame(value) and not _is_divided(value, by)):
            return f"{name} is for every group alike"
    if isinstance(program, (VertexProgram, EdgeProgram)):
        return "pairs are given" if "pairs" in settings else why_not_together(program)
    if declared is None:
        return "nothing is known of it"
    signature = inspect.signature(declared.function).parameters
    if not settings.keys() <= {*signature, *options_of(Options)}:
        return "it has arguments of other libraries"
    resolved = {**settings, "weight": _weight(declared, settings, edges, by)}
    exact = declared.by_group(resolved) if callable(declared.by_group) else declared.by_group
    return None if exact else "its answer depends on the graph as a whole"


def _is_divided(frame: Any, by: list[str]) -> bool:
    """Return whether the rows of an argument name their groups."""
    return is_frame(frame) and set(by) <= set(column_names(frame))


def _weight(declared: Algorithm, settings: Mapping[str, Any], edges: Any, by: list[str]) -> Any:
    """Return the column of weights that a function reads, or None."""
    parameters = inspect.signature(declared.function).parameters
    weight = settings.get("weight", parameters["weight"].default)
    if weight is None and any(settings.get(name) for name in WITH_WEIGHTS):
        weight = AUTO
    if is_auto(weight):
        weight = weight_column(edges, weight, by, settings["source"], settings["destination"])
    return weight


def _graph_of_groups(
    program: Any,
    declared: Algorithm | None,
    edges: Any,
    by: list[str],
    settings: Mapping[str, Any],
) -> Graph[Any]:
    """Return the graph of all groups: a vertex is its group and its id."""
    source = [*by, *labels_of(settings["source"], "source")]
    destination = [*by, *labels_of(settings["destination"], "destination")]
    attributes: tuple[str, ...] = ()
    if declared is None:
        chosen = settings.get("weight_column", settings.get("weight", AUTO))
        weight, attributes = columns_read(program, edges, chosen, source, destination)
        attributes = tuple(name for name in attributes if name not in by)
    else:
        weight = _weight(declared, settings, edges, by)
    directed = settings.get("directed", True)
    graph: Graph[Any] = Graph(edges, source, destination, weight, directed, attributes=attributes)
    vertices = graph._vertices
    vertices.groups = len(by)
    if len(source) == len(by) + 1:
        vertices.sources = [*by, "vertex"]
    return graph


# ------------------------------------------------------------------------------------- one by one


def _in_turn(
    call: Callable[..., Any], name: str, frame: Frame, by: list[str], settings: Mapping[str, Any]
) -> Any:
    """Call a function for one group after the other, and join what it returns."""
    host: Any = frame.on_host() if frame.on_device else frame  # type: ignore[attr-defined]
    types, numbering, groups = _numbered(host, by)
    count = max(numbering.size, 1)  # without rows, the function tells the columns
    pieces = Pieces(host, by, groups, count)
    parts = {
        argument: Pieces(*_placed(value, argument, by, types, numbering), count)
        for argument, value in settings.items()
        if _is_divided(value, by)
    }
    results = []
    for group in range(count):
        of_group = {argument: part[group] for argument, part in parts.items()}
        try:
            results.append(call(pieces[group], **{**settings, **of_group}))
        except CugraphWsError as error:
            if numbering.size:
                error.add_note(f"in the group {_described(pieces, by, group)}")
            raise
    if isinstance(results[0], tuple):
        return tuple(
            joined(host, pieces.keys, column, MODULARITY) for column in zip(*results, strict=True)
        )
    return joined(host, pieces.keys, results, name)


def _described(pieces: Pieces, by: list[str], group: int) -> str:
    """Return the values that name a group, for errors."""
    return ", ".join(
        f"{name}={pieces.keys.get_column(name).to_arrow()[group].as_py()!r}" for name in by
    )


def _numbered(frame: Frame, by: list[str]) -> tuple[list[IdType], Numbering, Any]:
    """Return the types of the groups' names, their numbers in ascending order, and the group of each row."""
    types, parts = [], []
    for name in by:
        kind, values = agree([read_ids(frame.column(name, "by"))])
        types.append(kind)
        parts.append(values)
    numbered = number_rows(parts, dense_up_to=8 * len(frame) + MATERIAL)
    return types, numbered.numbering, numbered.numbers(0)


def _placed(
    value: Any, argument: str, by: list[str], types: list[IdType], numbering: Numbering
) -> tuple[Frame, list[str], Any]:
    """Return a frame that is divided among the groups, and the group of each of its rows."""
    frame = open_frame(value, argument)
    columns = [read_ids(frame.column(name, argument)) for name in by]
    groups = numbering.encode(
        [conform(column, kind) for column, kind in zip(columns, types, strict=True)]
    )
    if (groups < 0).any():
        row = int(np.argmax(groups < 0))
        unknown = ", ".join(
            f"{column.column.name}={column.column.value(row)!r}" for column in columns
        )
        raise InputError(
            f"{argument}: row {row} is of the group {unknown}, which has no edges; drop the rows of such groups"
        )
    return frame, by, groups
