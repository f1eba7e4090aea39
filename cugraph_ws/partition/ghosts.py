"""The order of ghosts on a GPU: that in which their owners lay them out.

An owner then reads what it sends from front to back, instead of here and there, and what it computes
last is at the front of every parcel, so that the rest can leave before.  In rows, whose in-neighbours
stand by position, the busiest ghosts of each member come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cugraph_ws.runtime.communicator import Communicator
from cugraph_ws.runtime.device import device

__all__ = ["order_ghosts"]

DeviceArray = Any  # CuPy's or NumPy's


def order_ghosts(
    comm: Communicator, ghosts: Sequence[tuple[int, int]], boundaries: list[DeviceArray]
) -> DeviceArray:
    """Return the ghosts of each member in the order of their owner's positions; collective.

    Boundaries are ascending in that order.

    Parameters
    ----------
    comm : Communicator
        Between whose members arrays on the device travel.
    ghosts : sequence of (int, int)
        For each member, the range of places of its vertices, own vertices not counted.
    boundaries : list of device array of int32 or int64
        For each member, the own positions that it holds, in the order of its ghosts so far; emptied.

    Returns
    -------
    device array of the boundaries' dtype, shape (all ghosts,)
        Which ghost comes to each place.
    """
    xp, kind = device().xp, boundaries[0].dtype
    orders = []
    while boundaries:
        orders.append(xp.argsort(boundaries.pop(0)).astype(kind))
    came = comm.alltoall([[order] for order in orders])
    del orders
    order = xp.empty(ghosts[-1][1], kind)
    while came:
        ((told,), (first, last)) = came.pop(), ghosts[len(came)]
        order[first:last] = told
        order[first:last] += kind.type(first)
        del told
    return order
