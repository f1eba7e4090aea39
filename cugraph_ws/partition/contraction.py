"""Graphs derived from another: the graph of its labels, and the subgraph of some of its vertices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from cugraph_ws.arguments import check_choice, check_flag
from cugraph_ws.errors import InputError
from cugraph_ws.frames.base import Ids, VertexNumbers
from cugraph_ws.graph.copied_arcs import refuse_listing
from cugraph_ws.graph.edges import Duplicates
from cugraph_ws.graph.graph import Graph
from cugraph_ws.graph.placement import PlacementName
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.build import build_shard
from cugraph_ws.partition.labels import read_labels
from cugraph_ws.partition.partitioned_frame import Partitions
from cugraph_ws.partition.shard import ShardGraph
from cugraph_ws.runtime.arrays import as_host, module_of

__all__ = ["contracted", "induced"]

COUNT = "count"
MERGES = ("sum", "min", "max")


def contracted(graph: GraphView[Any], labels: Any, weight: str, *, self_loops: bool) -> Any:
    """Return the graph of labels; see `GraphView.contract`; collective."""
    check_choice("weight", weight, MERGES)
    check_flag("self_loops", self_loops)
    ends, column = graph.end_names, graph.weight or "weight"
    for name in ends:
        if name in (column, COUNT):
            raise InputError(
                f"the id column {name!r} has the same name as a column of contracted edges; rename it in "
                "the edge frame"
            )
    if column == COUNT:
        raise InputError(
            f"weight={COUNT!r}: contracted edges have a column {COUNT!r} of their own; rename the "
            "weight in the edge frame"
        )
    codes, names = read_labels(graph, labels, "labels")
    numbers: Any
    *numbers, values = graph._listed(None, None)
    xp = module_of(numbers[0])
    label_codes = xp.asarray(codes)
    columns = {
        end: _shown(label_codes[graph._places_here(vertex_numbers)], names)
        for end, vertex_numbers in zip(ends, numbers, strict=True)
    }
    ones = xp.ones(len(numbers[0]), np.int64)
    columns |= {column: ones if graph.weight is None else values[graph.weight], COUNT: ones}
    own_labels, rank, size = np.unique(codes[: graph.owned]), graph.comm.rank, graph.comm.size
    distinct = np.unique(
        np.concatenate([received for (received,) in graph.comm.alltoall([[own_labels]] * size)])
    )
    own_labels = distinct[len(distinct) * rank // size : len(distinct) * (rank + 1) // size]
    return _built(
        graph,
        graph.frame_like(columns),
        graph.frame_like({"vertex": _shown(own_labels, names)}),
        source=ends[0],
        destination=ends[1],
        weight=column,
        attributes=(COUNT,),
        duplicates={column: weight, COUNT: "sum"},
        self_loops="keep" if self_loops else "drop",
    )


def induced(graph: GraphView[Any], vertices: Any) -> Any:
    """Return the graph of some vertices; see `GraphView.subgraph`; collective."""
    graph.check_edge_names()
    members = graph.own_numbers(vertices, "vertices")
    marks = np.zeros(graph.owned, np.bool_)
    marks[graph.owners.places(members)] = True
    refuse_listing(graph, "a subgraph", among=marks, built=True)
    subgraph = _built(
        graph,
        graph.edges_among(marks),
        graph.frame_of(VertexNumbers(members), {}),
        source=graph._source_names,
        destination=graph._destination_names,
        weight=graph.weight,
        attributes=graph.edge_attributes,
    )
    if graph.whole:  # shards keep no attributes of vertices
        subgraph._vertices.take_attributes(graph._vertices, np.unique(as_host(members)))
    return subgraph


def _shown(codes: Any, names: pa.Array | None) -> Any:
    """Return labels as a column of ids."""
    return codes if names is None else Ids(names.take(pa.array(as_host(codes))), None)


def _built(
    graph: GraphView[Any],
    edges: Any,
    vertices: Any,
    *,
    duplicates: Duplicates | Mapping[str, str] = "keep",
    **options: Any,
) -> Any:
    """Build a graph from this rank's edges and vertices, on the ranks and devices of another; collective."""
    options |= {"directed": graph.directed, "duplicates": duplicates}
    if not isinstance(graph, ShardGraph):
        placement: PlacementName = "device" if graph.placement == "device" else "memory"
        return Graph(edges, vertices=vertices, placement=placement, **options)
    vertex_partitions = Partitions([vertices])
    return build_shard(
        graph.comm, [(graph.comm.rank, edges)], vertices=vertex_partitions, **options
    )
