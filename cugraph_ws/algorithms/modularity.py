"""Measures of communities: modularity, and the conductance of each.

Both need a few sums for each community: of the weights inside it, and of the weights at its
vertices.  Every rank sums over the arcs into its own vertices.  The communities are then split into
ranges of equal length, and each rank receives the sums of one range.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, cast

import numpy as np
import pyarrow as pa

from cugraph_ws.algorithms.footprints import ROWS
from cugraph_ws.algorithms.neighbourhood import row_of_arcs
from cugraph_ws.algorithms.options import Columns, Weight, refuse_great, refuse_negative
from cugraph_ws.algorithms.registry import algorithm
from cugraph_ws.arguments import check_number
from cugraph_ws.backends import loops
from cugraph_ws.contract import choose_engine
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.options import Engine
from cugraph_ws.execution.run_memory import refuse_call
from cugraph_ws.frames.base import Ids, Masked
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.edges import AUTO
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.labels import read_labels
from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.arrays import as_host
from cugraph_ws.runtime.bins import bin_sums

__all__ = ["conductance", "modularity"]

Array = Any  # NumPy's or CuPy's


@algorithm(
    group="communities",
    columns="modularity",
    example=lambda ids: {"communities": {vertex: place % 2 for place, vertex in enumerate(ids)}},
    weights="read",
    note="A number. Communities are a frame, mapping, list of sets or vertex attribute.",
)
@accepts_dask_frames
def modularity(
    graph: Graph[FrameT] | FrameT,
    communities: Any,
    resolution: float = 1.0,
    *,
    engine: Engine = "auto",
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = AUTO,
    directed: bool = True,
) -> float:
    """Compute the modularity of a partition of the vertices into communities.

    It is the fraction of the weight that is inside communities, minus the fraction expected if edges
    were placed at random between vertices of the same degrees.  For an undirected graph it is the
    sum over communities c of L_c / m - resolution (d_c / 2m)^2, where L_c is the weight inside the
    community, d_c the sum of its vertices' degrees, and m the weight of all edges.  A self-loop
    counts twice in a degree.  For a directed graph the last term is resolution out_c in_c / m^2.

    Parameters
    ----------
    communities : frame, mapping, list of sets or str
        The community of every vertex: a frame of ids and one column of integers or text, as
        `louvain` or `label_propagation` returns; a mapping from ids to integers; sets or lists of
        ids, as NetworkX's functions return; or the name of a vertex attribute of integers.  In a Dask frame, communities are integers.
    resolution : float
        Factor of the expected fraction; with higher values, smaller communities score better.

    Returns
    -------
    float
        At most 1; NaN if the weights of all edges sum to 0.

    Raises
    ------
    InputError
        If the frame or an argument is invalid, a vertex has no community, or a weight is negative.

    References
    ----------
    .. [1] M. E. J. Newman, "Analysis of weighted networks", Physical Review E 70, 2004.
    .. [2] E. A. Leicht and M. E. J. Newman, "Community structure in directed networks", Physical
       Review Letters 100, 2008.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "c"], "destination": ["b", "d"]})
    >>> ws.modularity(edges, {"a": 0, "b": 0, "c": 1, "d": 1}, directed=False)
    0.5
    """
    check_number("resolution", resolution, finite=True)
    opened = _opened(graph, source, destination, weight, directed)
    _, (_, inside, out, into) = _sums(opened, communities, engine)
    total = _over_ranks(opened, out)
    if total == 0.0:
        return math.nan
    shares = inside / total - float(resolution) * (out / total) * (into / total)
    return _over_ranks(opened, shares)


@algorithm(
    group="communities",
    columns="community, vertices, volume, cut, conductance",
    example=lambda ids: {"communities": {vertex: place % 2 for place, vertex in enumerate(ids)}},
    weights="read",
)
@accepts_dask_frames
def conductance(
    graph: Graph[FrameT] | FrameT,
    communities: Any,
    *,
    engine: Engine = "auto",
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = AUTO,
    directed: bool = True,
) -> FrameT:
    """Compute the conductance of each community: the fraction of its weight that leads out of it.

    It is the weight of the edges between the community and the other vertices, divided by the
    volume of the community or of the others, whichever is smaller.  A volume is the sum of the
    vertices' degrees, of out-degrees if the graph is directed; a self-loop counts twice in the
    degree of an undirected graph.  In a directed graph edges count in both directions, as in
    NetworkX, so the conductance may exceed 1.

    Parameters
    ----------
    communities : frame, mapping, list of sets or str
        The community of every vertex; see `modularity`.

    Returns
    -------
    DataFrame
        Columns `community`, in ascending order; `vertices`, the number of its vertices, int64;
        `volume`, `cut` and `conductance`, float64.  The conductance is null if the community or the
        other vertices have no volume.

    Raises
    ------
    InputError
        If the frame or an argument is invalid, a vertex has no community, or a weight is negative.

    References
    ----------
    .. [1] J. Shi and J. Malik, "Normalized cuts and image segmentation", IEEE Transactions on
       Pattern Analysis and Machine Intelligence 22, 2000.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "c", "c"], "destination": ["b", "c", "a", "d"]})
    >>> ws.conductance(edges, {"a": 0, "b": 0, "c": 0, "d": 1}, directed=False).conductance.tolist()
    [1.0, 1.0]
    """
    opened = _opened(graph, source, destination, weight, directed)
    names, (vertices, inside, out, into) = _sums(opened, communities, engine)
    cut = out - inside
    if opened.directed:
        cut = cut + into - inside
    total = _over_ranks(opened, out)
    least = np.minimum(out, total - out)
    valid = least > 0.0
    share = np.divide(cut, least, out=np.zeros(len(cut)), where=valid)
    columns = {
        "community": names,
        "vertices": vertices.astype(np.int64),
        "volume": out,
        "cut": cut,
        "conductance": Masked(share, valid),
    }
    return cast(FrameT, opened.frame_like(columns))


def _opened(
    graph: Any, source: Columns, destination: Columns, weight: Weight, directed: bool
) -> GraphView:
    """Return the graph, whose weights are 0 or more; collective."""
    opened = as_graph(
        graph,
        source=source,
        destination=destination,
        weight=weight,
        directed=directed,
        weighted=True,
    )
    refuse_negative(opened)
    refuse_great(opened, 4.0 * sum(opened.comm.allgather(opened.own_arcs)))
    return opened


def _sums(graph: GraphView, communities: Any, engine: Engine) -> tuple[Any, list[Any]]:
    """Return this rank's range of communities, and their sums; collective.

    The sums are float64 on the host: the number of vertices, and the weights of the arcs inside the
    community, out of its vertices and into them.  In an undirected graph each edge is two arcs,
    also a self-loop.
    """
    chosen = choose_engine(engine, graph)
    on_device = chosen == "cuda"
    row = ROWS["modularity" if on_device else "modularity on a CPU"]
    refuse_call("sums by community", row, graph, on_device=on_device)
    part = Part(graph, on_device=on_device)
    xp, halo = part.xp, part.halo
    labels, names = read_labels(graph, communities, "communities")
    codes = xp.asarray(labels[: graph.owned])
    codes_of_ranks = halo.exchange([[xp.unique(codes)]] * halo.comm.size)
    distinct = xp.unique(xp.concatenate([values for (values,) in codes_of_ranks]))
    places = xp.searchsorted(distinct, codes)
    count = len(distinct)
    inside, self_loops = _inside(part, part.with_ghosts(places), count)
    out, into = (
        _by_community(xp, places, _at_vertices(part, incoming=incoming), count)
        for incoming in (False, True)
    )
    if not graph.directed:
        inside, out, into = inside + self_loops, out + self_loops, into + self_loops
    sizes = _by_community(xp, places, xp.ones(part.owned), count)
    bounds = [count * rank // halo.comm.size for rank in range(halo.comm.size + 1)]
    buffers = [
        [values[low:high] for values in (sizes, inside, out, into)]
        for low, high in pairwise(bounds)
    ]
    received = halo.exchange(buffers)
    sums = [as_host(sum(values)) for values in zip(*received, strict=True)]
    mine = as_host(distinct[slice(*bounds[halo.comm.rank : halo.comm.rank + 2])])
    return (mine if names is None else Ids(names.take(pa.array(mine)), None)), sums


def _over_ranks(graph: GraphView, values: Array) -> float:
    """Return the sum of the ranks' values; collective."""
    return math.fsum(graph.comm.allgather(math.fsum(values)))


def _at_vertices(part: Part, *, incoming: bool) -> Array:
    """Return the weights of arcs into, or out of, each owned vertex, by vertex number; collective."""
    graph = part.graph
    sums = graph.weight_sums(graph.weight, incoming=incoming, on_device=part.on_device)
    return sums[: part.owned]


def _by_community(xp: Any, own: Array, values: Array, count: int) -> Array:
    """Return the sum of vertices' values for each community; float64, shape (count,)."""
    return bin_sums(own, values, count)


def _inside(part: Part, labels: Array, count: int) -> tuple[Array, Array]:
    """Return for each community the weights of arcs inside it, and of self-loops."""
    xp, csc = part.xp, part.csc
    arcs = len(csc.indices)
    if not arcs:
        return xp.zeros(count), xp.zeros(count)
    name = part.graph.weight
    if not part.on_device:
        values = None if name is None else part.arc_values(name)
        sums = loops("community_sums", on_device=False).sums_inside(csc, values, labels, count)
        return cast(tuple[Array, Array], sums)
    rows = row_of_arcs(part)
    row_labels = labels[rows]
    weights = xp.ones(arcs) if name is None else part.arc_values(name).astype(np.float64)
    both = xp.where(row_labels == labels[csc.indices], weights, 0.0)
    own = xp.where(rows == csc.indices, weights, 0.0)
    return bin_sums(row_labels, both, count), bin_sums(row_labels, own, count)
