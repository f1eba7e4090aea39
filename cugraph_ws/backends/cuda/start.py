"""Find the first active vertices on the device; see `cugraph_ws.backends.cpu.frontier`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cugraph_ws.backends.cpu.frontier import FEW, FEW_SHARE, common_place, may_be_quiet, sampled
from cugraph_ws.backends.cuda.schedule import launch_shape
from cugraph_ws.partition.part import ProgramPart
from cugraph_ws.program.binding import BoundProgram
from cugraph_ws.runtime.device import Device

__all__ = ["mark_starters"]


def mark_starters(
    device: Device,
    bound: BoundProgram,
    part: ProgramPart,
    launch: Callable[..., None],
    state: tuple[Any, ...],
    constants: tuple[Any, ...],
    edges: tuple[Any, ...],
    sums: Any,
    flags: Any,
) -> None:
    """Flag the vertices that a program without a `starts` function starts from.

    All vertices start, unless nearly all have the same state, and a pass over the edge attributes
    proves that messages between those change nothing.

    Parameters
    ----------
    device : Device
        Where the graph is.
    bound : BoundProgram
        The program and its arguments.
    part : ProgramPart
        The graph, or a part of it.
    launch : callable
        Launches one of the program's kernels.
    state, constants, edges : tuple of device array
        As the program's kernels take them; the state is initialised.
    sums : device array
        The aggregates.
    flags : device array of uint8, shape (size,)
        Set to 1 at positions that start, ghosts included, and to 0 elsewhere.
    """
    n = part.size
    flags[:] = 1
    if not may_be_quiet(bound, part):
        return
    places = sampled(n)
    positions = device.xp.asarray(places)
    example = common_place(places, [device.to_host(column[positions]).tolist() for column in state])
    if example is None:
        return
    counts = device.xp.zeros(2, np.int64)
    launch(
        "mark_unlike", *launch_shape(device, n), n, example, state, constants, flags, counts,
    )  # fmt: skip
    arcs = part.arcs
    if not any(len(column) for column in edges):
        arcs = min(arcs, 1)  # all arcs are equal
    values = (bound.values, sums)
    launch(
        "count_changing_arcs", *launch_shape(device, arcs), arcs, part.vertices, example, edges, state, constants,
        *values, counts,
    )  # fmt: skip
    launch(
        "count_changing_rows", *launch_shape(device, part.owned), part.owned, part.vertices, example,
        tuple(part.csc), edges, state, constants, *values, flags, counts,
    )  # fmt: skip
    unlike, changing = device.to_host(counts).tolist()
    if changing or unlike > max(FEW, n // FEW_SHARE):
        flags[:] = 1
