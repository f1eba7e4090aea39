"""How many sources a batch of searches has."""

from __future__ import annotations

from cugraph_ws.execution.run_memory import columns_that_fit, sizes_of
from cugraph_ws.graph.footprints import Row
from cugraph_ws.partition.part import Part

__all__ = ["width_of_batch"]


def width_of_batch(
    part: Part, most: int, each: float, cells: int, row: Row, *, kept: float = 0
) -> int:
    """Return how many sources a batch has, so that it fits in memory on all ranks; collective.

    Parameters
    ----------
    part : Part
    most : int
        Most sources.
    each : float
        Bytes of a batch by vertex and source.
    cells : int
        Most entries of a matrix by vertex and source.
    row : Row
        What a run takes beside its batches.
    kept : float
        Bytes of results of earlier batches.

    Returns
    -------
    int
        At least 1.
    """
    size, comm = max(part.size, 1), part.graph.comm
    kept += row.of(sizes_of(part.graph, on_device=part.on_device))
    own_width = columns_that_fit(
        size, most, each, rest=kept, on_device=part.on_device, graph=part.graph
    )
    widths: list[int] = comm.allgather(min(own_width, cells // size))
    return max(1, min(widths))
