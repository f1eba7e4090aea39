"""The files of a job: edges and vertices as its options read them, and what a third column may mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cugraph_ws.cli.streams import input_file
from cugraph_ws.errors import FileError
from cugraph_ws.runtime.warn import warn_caller

if TYPE_CHECKING:
    import pyarrow as pa

    from cugraph_ws.cli.options import Job
    from cugraph_ws.frames.graph_file import GraphFile

__all__ = ["check_weight", "edges_of", "vertices_of"]

# 1973 to 2100, in seconds, milli-, micro- and nanoseconds
TIMES = [(10**8 * unit, 41 * 10**8 * unit) for unit in (1, 10**3, 10**6, 10**9)]


def edges_of(job: Job) -> GraphFile:
    """Read a job's edges; an edge without direction is listed once if the graph is undirected."""
    from cugraph_ws.frames.readers import read_graph

    with input_file(job.edges) as path:
        file = read_graph(
            path,
            job.format,
            source=job.source,
            destination=job.destination,
            ids="text" if job.ids == "text" else "auto",
            header=job.header,
            separator=job.separator,
        )
    return file if job.undirected else file.directed(job.edges)


def vertices_of(job: Job, file: GraphFile) -> pa.Table | None:
    """Return the vertices that the edge file and `--vertices` list, if there are any."""
    import pyarrow as pa
    from pyarrow import compute

    if job.vertices is None:
        return file.vertices
    vertices = job.read_vertices(job.vertices)
    if file.vertices is None:
        return vertices
    names = vertices.column_names
    name = next(
        (candidate for candidate in ("vertex", *job.source) if candidate in names), names[0]
    )
    listed = file.vertices["vertex"]
    if vertices[name].type != listed.type:
        return vertices  # the graph compares the types, and says what is wrong
    isolated = listed.filter(compute.invert(compute.is_in(listed, vertices[name])))
    return pa.concat_tables([vertices, pa.table({name: isolated})], promote_options="default")


def check_weight(job: Job, file: GraphFile, weight: str | None) -> None:
    """Say that a column without a name is read as the weight; refuse times.

    Weights and times of edges both stand in the third column, and nothing in the file tells which.
    """
    if file.header or job.weight is not None or weight is None:
        return
    if _may_be_times(file.edges[weight]):
        raise FileError(
            f"{job.edges}: has no header, and column 3 ({file.edges[weight][0].as_py()}, …) looks like times, "
            f"not weights; --unweighted ignores it, --weight {weight} reads it as the weight"
        )
    warn_caller(
        f"{job.edges}: has no header; column 3 is read as the weight: --unweighted ignores it, and "
        f"--weight {weight} reads it without this warning"
    )


def _may_be_times(values: Any) -> bool:
    """Return whether numbers lie in a range of times since 1970."""
    from pyarrow import compute, types

    if not (types.is_integer(values.type) or types.is_floating(values.type)):
        return bool(types.is_temporal(values.type))
    least, most = compute.min_max(values).as_py().values()
    return least is not None and any(low <= least <= most <= high for low, high in TIMES)
