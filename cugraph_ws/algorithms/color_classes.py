"""The vertices of each colour with the rows of their neighbours, for updates colour by colour.

No two vertices of a colour are neighbours.  So if all vertices of a colour change at once, the result
is the same as if they changed one after the other.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from cugraph_ws.algorithms.independent_set import Coloring
from cugraph_ws.algorithms.neighbourhood import Array
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.neighbourhoods import row_numbers
from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.device import as_host

__all__ = ["ColorClass", "color_classes"]


class Rows(NamedTuple):
    """Rows of neighbours: `offsets` and `indices`."""

    offsets: Array
    indices: Array


class ColorClass(NamedTuple):
    """The owned vertices of one colour; loops can read it like a `Part` with undirected rows.

    Attributes
    ----------
    xp : module
        NumPy or CuPy.
    rows : array of int64, shape (owned,)
        Positions of the vertices.
    owned : int
        Number of the vertices.
    csc : Rows
        Their neighbours.  Index i < owned is the i-th of these vertices; owned + p is position p.
    weights : list of array
        The weights of the neighbours; empty if there are none.
    directed : bool
        False: all neighbours are in `csc`.
    """

    xp: Any
    rows: Array
    owned: int
    csc: Rows
    weights: list[Array]
    directed: bool = False


def color_classes(
    graph: GraphView, part: Part, weights: list[Array], seed: int
) -> list[ColorClass]:
    """Colour a graph, and return its classes, the same number on every rank; collective.

    Parameters
    ----------
    graph : GraphView
    part : Part
        With all neighbours of owned vertices in its rows.
    weights : list of array
        By arc of the CSC and, if the part is directed, of the CSR; empty if there are none.
    seed : int
        Seed of the colouring; see `coloring`.

    Returns
    -------
    list of ColorClass
        Colour 0 first.
    """
    xp = part.xp
    coloring = Coloring(seed)
    coloring.start(graph, on_device=part.on_device)
    while not coloring.converged:
        coloring.step()
    color = part.by_position(coloring.columns()["color"])[: part.owned]
    sides = [part.csc, part.csr] if part.directed else [part.csc]
    offsets = [side.offsets[: part.owned + 1] for side in sides]
    heads = [row_numbers(xp, side, int(side[-1])) for side in offsets]
    tails = xp.concatenate([side.indices[: len(h)] for side, h in zip(sides, heads, strict=True)])
    head = xp.concatenate(heads)
    carried = []
    if weights:
        both = zip(weights, heads, strict=True)
        carried = [xp.concatenate([side[: len(h)] for side, h in both])]
    degree = sum(xp.diff(side) for side in offsets)
    # Sort rows by colour, and arcs by the new order of their rows.
    rows = xp.argsort(color, kind="stable")
    place = xp.empty_like(rows)
    place[rows] = xp.arange(part.owned)
    order = xp.argsort(place[head], kind="stable")
    tails, carried = tails[order], [side[order] for side in carried]
    begins = xp.concatenate([xp.zeros(1, np.int64), xp.cumsum(degree[rows])])
    greatest = int(color.max()) if part.owned else -1
    count = max(graph.comm.allgather(greatest)) + 1
    places = xp.searchsorted(color[rows], xp.arange(count + 1))
    bounds = zip(as_host(places).tolist(), as_host(begins[places]).tolist(), strict=True)
    classes = []
    for (first, low), (last, high) in pairwise(bounds):
        owned = last - first
        neighbours = Rows(begins[first : last + 1] - low, tails[low:high] + owned)
        classes.append(
            ColorClass(xp, rows[first:last], owned, neighbours, [w[low:high] for w in carried])
        )
    return classes
