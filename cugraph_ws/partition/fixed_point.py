"""Weights as integers, whose sums do not depend on the order of the additions.

Weights are multiplied by a power of two such that their total fits in 62 bits, and then rounded.
Rounding changes nothing if they are multiples of a power of two within 62 bits, as small integers are.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cugraph_ws.graph.arcs import Order
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.looks import look

__all__ = ["UNIT", "exponent", "fixed_point", "squares_of_shares"]

Array = Any  # NumPy's or CuPy's

BITS = 62
UNIT = 2.0**61  # squares of shares are rounded to multiples of 1 / UNIT, and summed as integers


def exponent(graph: GraphView) -> int:
    """Return the exponent of the power of two by which weights are multiplied; collective.

    Parameters
    ----------
    graph : GraphView

    Returns
    -------
    int
        The same for any number of ranks.
    """
    greatest = None if graph.weight is None else graph.greatest_edge_value(graph.weight)
    if greatest is None or greatest[0] <= 0:
        return 0
    arcs = sum(graph.comm.allgather(graph.own_arcs))
    parts = math.frexp(float(greatest[0]))[1], math.frexp(4.0 * arcs)[1]
    return BITS - sum(parts)


def fixed_point(part: Part, scale: int, order: Order = "csc") -> Array:
    """Return the weights of a part's arcs as integers.

    Parameters
    ----------
    part : Part
    scale : int
        From `exponent`.
    order : {"csc", "csr"}

    Returns
    -------
    array of int64, shape (arcs,)
        All 1 if the graph has no weights.
    """
    xp, rows = part.xp, part.csc if order == "csc" else part.csr
    if part.graph.weight is None:
        return xp.ones(len(rows.indices), np.int64)
    values = part.arc_values(part.graph.weight, order).astype(np.float64)
    # in two steps, since 2 to a power above 1023 is not a float
    for step in (scale // 2, scale - scale // 2):
        look()
        values = values * 2.0**step
    look()
    return xp.rint(values).astype(np.int64)


def squares_of_shares(values: Array, total: int) -> Array:
    """Return the squares of values ÷ `total`, in multiples of 1 / `UNIT`.

    Parameters
    ----------
    values : array of int64
    total : int
        Their sum.

    Returns
    -------
    array of int64
    """
    shares = values.astype(np.float64) / float(total)
    return np.rint(shares * shares * UNIT).astype(np.int64)
