"""Tiles of arcs on the CPU: gathers whose sources and rows fit a core's cache, with the bits of rows."""

from __future__ import annotations

from cugraph_ws.contract import Accelerator, HostGathers

__all__ = ["ACCELERATOR"]


def _host_gathers() -> HostGathers:
    from cugraph_ws.accelerators.tiles.gathers import TiledGathers

    return TiledGathers()


ACCELERATOR = Accelerator(
    name="tiles",
    bits="same",
    memory="4 bytes an arc, and each edge column that is read once more; at most a quarter of what is available",
    first_call="two more loops of each program and two that make tiles, when the first gather goes over tiles",
    page="040-tiles-on-the-cpu.md",
    asked_by={"layout": ("tiles",)},
    program_loops=("tiles.gathers",),
    host_gathers=_host_gathers,
)
