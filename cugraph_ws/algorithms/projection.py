"""The projection of a bipartite graph: its vertices of one side, joined if they have common neighbours.

It is a measure of similarity, the number of common neighbours, of all pairs whose first vertex is on that
side; its pieces, choices and limits of memory are those of `similarity`.
"""

from __future__ import annotations

from operator import length_hint
from typing import Any, Unpack

import numpy as np

from cugraph_ws.algorithms.options import Columns, RunOptions, Weight
from cugraph_ws.algorithms.registry import algorithm
from cugraph_ws.algorithms.similarity import Similarity
from cugraph_ws.arguments import check_flag
from cugraph_ws.errors import InputError
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.driver import run_on
from cugraph_ws.execution.loop import Column
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.footprints import Sizes
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.neighbourhoods import Neighbourhoods, NeighbourRows, row_numbers
from cugraph_ws.runtime.arrays import as_host

__all__ = ["bipartite_projection"]

Array = Any  # NumPy's or CuPy's


@algorithm(
    group="similarity",
    columns="source, destination, weight",
    example=lambda ids: {"vertices": ids[::3]},
    directions=False,
    checkpoints="on one machine",
    note="An undirected edge frame, which other functions take.",
)
@accepts_dask_frames
def bipartite_projection(
    graph: Graph[FrameT] | FrameT,
    vertices: Any,
    ratio: bool = False,
    *,
    top: int | None = None,
    at_least: float | None = None,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = None,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Join the vertices of one side of a bipartite graph that have common neighbours.

    The weight of an edge is the number of common neighbours.  The direction of edges does not matter,
    and parallel edges count once.

    Parameters
    ----------
    vertices : sequence, array, Series, frame or str
        Ids of the vertices of that side, or the name of a vertex attribute that is true (or 1) for
        them; all others are on the other side.
    ratio : bool
        Whether the number of common neighbours is divided by the number of vertices of the other side,
        as in NetworkX.
    top : int, optional
        Return for each vertex only its edges of the `top` greatest weights; an edge that is among those of
        both of its ends is then in two rows.
    at_least : float, optional
        Return only edges of at least this weight.

    Returns
    -------
    DataFrame
        Columns `source`, `destination` and `weight`, float64: each edge once, from the vertex that is first in
        ascending order, sorted.  Vertices without common neighbours are in no row.

    Raises
    ------
    InputError
        If an edge joins two vertices of one side, or the frame or an argument is invalid.
    GraphMemoryError
        If the edges would not fit in memory; give `top` or `at_least`.
    ConvergenceError
        If the run is stopped early; `.result` has the edges so far.

    References
    ----------
    .. [1] M. E. J. Newman, "Scientific collaboration networks. II", Physical Review E 64, 2001.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> bought = pd.DataFrame({"buyer": ["ann", "bob", "ann", "bob"], "item": ["tea", "tea", "jam", "jam"]})
    >>> ws.bipartite_projection(bought, ["ann", "bob"], source="buyer", destination="item")
      source destination  weight
    0    ann         bob     2.0
    """
    opened = as_graph(
        graph, source=source, destination=destination, weight=weight, directed=directed
    )
    loop = Projection(vertices, ratio, top=top, at_least=at_least)
    return run_on(loop, opened, **options).require_convergence("bipartite_projection").frame


class Projection(Similarity):
    """The algorithm as a loop for `run`.

    Parameters
    ----------
    vertices, ratio, top, at_least
        See `bipartite_projection`.
    """

    def __init__(
        self,
        vertices: Any,
        ratio: bool = False,
        *,
        top: int | None = None,
        at_least: float | None = None,
    ) -> None:
        super().__init__("common", top=top, at_least=at_least)
        check_flag("ratio", ratio)
        self.name = "bipartite_projection"
        self._side, self._ratio = vertices, bool(ratio)

    @property
    def vertices_given(self) -> dict[str, Any]:
        """Arguments that contain vertices, by name; they are looked up before the run."""
        return {"vertices": self._side}

    def _firsts(self, sizes: Sizes) -> int:
        """Return how many vertices are joined, at most."""
        everywhere = isinstance(self._side, str)
        return sizes.vertices if everywhere else length_hint(self._side, sizes.vertices)

    def start(self, graph: GraphView, *, on_device: bool = False) -> None:
        """Read which vertices are joined, find the neighbours, and number the pairs."""
        if isinstance(self._side, str):
            marks, _ = graph.vertex_values(
                self._side, "vertices", np.bool_, default=False, on_device=False
            )
        else:
            marks = graph.members(self._side, "vertices", on_device=False)
        self._marks = as_host(marks)[: graph.owned]
        self._graph = graph
        super().start(graph, on_device=on_device)

    def _first_rows(self, near: Neighbourhoods) -> NeighbourRows:
        """Return the rows of the vertices to join, the others empty; refuse edges within a side; collective."""
        xp, rows = near.xp, near.rows
        marks = xp.asarray(self._marks)
        owners = row_numbers(xp, rows.offsets, len(rows.indices))
        marks_of_heads = near.halo.fetch(marks.astype(np.int8), rows.indices.astype(np.int64)) == 1
        is_first = xp.take(marks, owners)
        self._refuse_inside(near, owners, xp.flatnonzero(is_first == marks_of_heads))
        others = near.halo.totals(int((~marks).sum()))[0]
        self._divisor = max(others, 1) if self._ratio else 1
        offsets = xp.zeros(near.owned + 1, np.int64)
        offsets[1:] = xp.cumsum(xp.where(marks, rows.degrees, 0))
        return NeighbourRows(offsets, rows.indices[is_first])

    def _refuse_inside(self, near: Neighbourhoods, owners: Array, arcs: Array) -> None:
        """Raise InputError for the first arc that any rank has within a side; collective."""
        edge = None
        if len(arcs):
            ends = near.owners.number_at(owners[arcs[:1]]), near.rows.indices[arcs[:1]]
            edge = [int(as_host(end)[0]) for end in ends]
        inside = [edge for edge in near.halo.comm.allgather(edge) if edge is not None]
        if inside:
            first, second = self._graph.describe_vertices(inside[0])
            raise InputError(
                f"vertices: an edge joins {first} and {second}, which are on the same side, but every edge must "
                "join the given vertices and the others; correct them, or leave such edges out"
            )

    def _compute(self) -> tuple[slice, int]:
        """Compute the weights of the next pairs; return which, and the number of arcs read."""
        some, arcs = super()._compute()
        self._scores[some] /= self._divisor
        return some, arcs

    def inputs(self) -> dict[str, Any]:
        """Return what `Similarity` does, which vertices are joined, and what weights are."""
        return {**super().inputs(), "vertices": self._marks, "ratio": self._ratio}

    rows_by = "source", False

    def columns(self) -> dict[str, Column]:
        """Return one row for each edge so far."""
        first, second, weights = super().columns().values()
        return {"source": first, "destination": second, "weight": weights}
