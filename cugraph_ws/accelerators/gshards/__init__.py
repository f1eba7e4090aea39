"""CuSha's layouts of arcs on the GPU, G-Shards and Concatenated Windows: reads of whole sectors."""

from __future__ import annotations

from cugraph_ws.contract import Accelerator, DeviceLayouts

__all__ = ["ACCELERATOR"]


def _device_layouts() -> DeviceLayouts:
    from cugraph_ws.accelerators.gshards.layouts import ShardedLayouts

    return ShardedLayouts()


ACCELERATOR = Accelerator(
    name="gshards",
    bits="last bits",
    memory="5 to 6 bytes an arc, kept with the graph; refused by name, and not made by default, if memory is short",
    first_call="two or three more kernels of each program that runs over them, and four that make them",
    page="013-shards-are-layouts.md",
    asked_by={"layout": ("gshards", "windows")},
    device_layouts=_device_layouts,
)
