"""The order of ghosts on a GPU: that in which their owners lay them out.

An owner then reads what it sends from front to back, instead of here and there, and what it computes
last is at the front of every parcel, so that the rest can leave before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cugraph_ws.cluster.crew import Crew
from cugraph_ws.cuda.device import device
from cugraph_ws.cuda.graph import DeviceGraph

__all__ = ["order_ghosts"]

DeviceArray = Any  # CuPy's or NumPy's


def order_ghosts(
    crew: Crew,
    graph: DeviceGraph,
    owned: int,
    ghosts: Sequence[tuple[int, int]],
    boundaries: list[DeviceArray],
) -> list[DeviceArray]:
    """Put the ghosts of each member in the order of their owner's positions, together.

    Parameters
    ----------
    crew : Crew
        Between whose members arrays on the device travel.
    graph : DeviceGraph
        The share, of which nothing has been derived; its positions from `owned` on change.
    owned : int
    ghosts : sequence of (int, int)
        For each member, the range of positions of its vertices.
    boundaries : list of device array of int32 or int64
        For each member, the own positions that it holds, in the order of its ghosts so far; emptied.

    Returns
    -------
    list of device array
        The boundaries in the new order: ascending.
    """
    xp, kind = device().xp, graph.numbers.dtype
    orders, held = [], []
    while boundaries:
        positions = boundaries.pop(0)
        order = xp.argsort(positions)
        held.append(positions[order])
        orders.append(order.astype(kind))
        del positions, order
    came = crew.alltoall([[order] for order in orders])
    del orders
    if graph.size > owned:
        order = xp.empty(graph.size - owned, kind)
        while came:
            ((told,), (first, last)) = came.pop(), ghosts[len(came)]
            order[first - owned : last - owned] = told
            order[first - owned : last - owned] += kind.type(first - owned)
            del told
        graph.reorder_tail(owned, order)
    return held
