"""Bridges and articulation points: the edges and vertices whose removal disconnects a component.

A single CPU searches depth-first.  Elsewhere blocks are found in whole-array steps: each rank reduces its
own edges to a certificate of fewer than two edges per vertex; then all ranks solve the union of the
certificates.
"""

from __future__ import annotations

from typing import Any, Unpack, cast

import numpy as np

from cugraph_ws.algorithms.blocks import certificate, find_blocks
from cugraph_ws.algorithms.footprints import ROWS
from cugraph_ws.algorithms.listed_edges import ListedEdges
from cugraph_ws.algorithms.neighbourhood import edge_frame
from cugraph_ws.algorithms.options import Columns, RunOptions, Weight, refuse_checkpoints
from cugraph_ws.algorithms.registry import algorithm
from cugraph_ws.backends import loops
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.loop import Step
from cugraph_ws.frames.base import VertexNumbers
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.edges import AUTO
from cugraph_ws.graph.footprints import Sizes
from cugraph_ws.graph.graph import Graph, as_graph

__all__ = ["articulation_points", "bridges"]

Array = Any  # NumPy's or CuPy's


@algorithm(
    group="structure",
    columns="edges",
    weights="kept",
    checkpoints="nowhere",
    note="Direction does not matter; parallel edges are not bridges.",
    by_group=True,
)
@accepts_dask_frames
def bridges(
    graph: Graph[FrameT] | FrameT,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = AUTO,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Return the edges whose removal would disconnect a component.

    The direction of edges does not matter.  Parallel edges, and edges in both directions between two
    vertices, are not bridges.

    Returns
    -------
    DataFrame
        Edges with the columns that the graph kept.  Sorted by destination, then source; an
        undirected edge from the vertex with the smaller id.

    Raises
    ------
    InputError
        If the frame or an argument is invalid, or a checkpoint is requested.
    ConvergenceError
        If the run is stopped early.

    References
    ----------
    .. [1] R. E. Tarjan and U. Vishkin, "An efficient parallel biconnectivity algorithm", SIAM
       Journal on Computing 14, 1985.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": list("abcc"), "destination": list("bcad")})
    >>> ws.bridges(edges).to_dict("list")
    {'source': ['c'], 'destination': ['d']}
    """
    opened = as_graph(
        graph, source=source, destination=destination, weight=weight, directed=directed
    )
    refuse_checkpoints(options, "bridges has")
    opened.check_edge_names()
    part, arcs, *_ = Biconnectivity().found(opened, "bridges", options)
    return cast(FrameT, edge_frame(part, arcs, {}))


@algorithm(
    group="structure",
    columns="vertex",
    directions=False,
    checkpoints="nowhere",
    note="Direction does not matter.",
    by_group=True,
)
@accepts_dask_frames
def articulation_points(
    graph: Graph[FrameT] | FrameT,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = None,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Return the vertices whose removal, with their edges, would disconnect a component.

    The direction of edges does not matter.

    Returns
    -------
    DataFrame
        Column `vertex`: the articulation points alone, sorted.

    Raises
    ------
    InputError
        If the frame or an argument is invalid, or a checkpoint is requested.
    ConvergenceError
        If the run is stopped early.

    References
    ----------
    .. [1] R. E. Tarjan and U. Vishkin, "An efficient parallel biconnectivity algorithm", SIAM
       Journal on Computing 14, 1985.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": list("abcc"), "destination": list("bcad")})
    >>> ws.articulation_points(edges).vertex.tolist()
    ['c']
    """
    opened = as_graph(
        graph, source=source, destination=destination, weight=weight, directed=directed
    )
    refuse_checkpoints(options, "articulation_points has")
    part, _, cut, _ = Biconnectivity().found(opened, "articulation_points", options)
    numbers = part.owners.number_at(part.xp.flatnonzero(part.by_number(cut)))
    return opened.frame_of(VertexNumbers(numbers), {})


class Biconnectivity(ListedEdges):
    """The algorithm as a loop for `run`, with a single step."""

    name = "biconnectivity"

    def memory(self, sizes: Sizes) -> float:
        """Return the bytes that a run takes; see `footprints`."""
        searches = sizes.whole and not sizes.on_device
        return ROWS["biconnectivity of one CPU" if searches else "biconnectivity"].of(sizes)

    def step(self) -> Step:
        """Find the bridges and articulation points."""
        part, xp = self.near.part, self.near.xp
        if part.halo.alone and not part.on_device:
            return self.end(*loops("biconnectivity", on_device=False).bridges_and_cuts(part))
        arcs, tail, head, _, _ = self.edges_once()
        blocks = find_blocks(xp, part.size, tail, head, self.lower)
        places = xp.flatnonzero(blocks.bridge[blocks.child])
        mine, cut = arcs[blocks.tree[places]], blocks.cut
        if not part.halo.alone:
            places, near, far = certificate(xp, blocks)
            ends = (part.numbers[column].astype(np.int64) for column in (near, far))
            bridge_flags, cut = self._together(len(places), *ends)
            mine = arcs[blocks.tree[places[bridge_flags]]]
        return self.end(mine, cut)

    def _together(self, bridges: int, tails: Array, heads: Array) -> tuple[Array, Array]:
        """Solve the union of all ranks' certificates; collective.

        Returns which of this rank's first `bridges` edges are bridges of the whole graph, and which
        of its positions are articulation points.
        """
        part, xp = self.near.part, self.near.xp
        (all_tails, all_heads), first = self.of_all_ranks(tails, heads)
        blocks = find_blocks(xp, part.graph.number_of_vertices, all_tails, all_heads, self.lower)
        are_bridges = xp.zeros(len(all_tails), np.bool_)
        are_bridges[blocks.tree] = blocks.bridge[blocks.child]
        return are_bridges[first : first + bridges], blocks.cut[part.numbers]
