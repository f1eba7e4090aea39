"""The order of ghosts on a GPU: by their owner's positions.

An owner then reads the values that it sends sequentially.  The vertices that it computes last are at
the front of every message, so the rest can be sent earlier.  In rows, in-neighbours are ordered by
position, so the ghosts of highest in-degree of each rank come first.
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
    """Return the ghosts of each rank in the order of their owner's positions; collective.

    Boundaries are ascending in that order.

    Parameters
    ----------
    comm : Communicator
        It must exchange arrays on the device.
    ghosts : sequence of (int, int)
        For each rank, the range of its vertices among the ghosts.
    boundaries : list of device array of int32 or int64
        For each rank, the owned positions that it holds as ghosts, in the present order of its
        ghosts.  The list is emptied, to free memory.

    Returns
    -------
    device array of the boundaries' dtype, shape (all ghosts,)
        Index of the ghost at each place of the new order.
    """
    xp, kind = device().xp, boundaries[0].dtype
    orders = []
    while boundaries:
        orders.append(xp.argsort(boundaries.pop(0)).astype(kind))
    received = comm.alltoall([[order] for order in orders])
    del orders
    order = xp.empty(ghosts[-1][1], kind)
    while received:
        ((theirs,), (first, last)) = received.pop(), ghosts[len(received)]
        order[first:last] = theirs
        order[first:last] += kind.type(first)
        del theirs
    return order
