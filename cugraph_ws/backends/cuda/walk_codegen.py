"""Generate the CUDA kernel of a walk from `kernels/cuda/walks.py`.

As on the CPU (`cugraph_ws.program.walk_codegen`), the walk's function replaces the name in
`kernels/cpu/walk_interface.py`.
"""

from __future__ import annotations

from functools import partial

from cugraph_ws.backends.cuda.codegen import DeviceAccess, Variant, program_kernels
from cugraph_ws.backends.cuda.user_min_max import with_nan_kept
from cugraph_ws.program.codegen import loop_text, program_text
from cugraph_ws.program.walk_codegen import ROWS, WalkTypes, walk_adaptors, walk_records
from cugraph_ws.program.walk_program import WalkProgram
from cugraph_ws.runtime.device import Device, KernelModule

__all__ = ["walk_kernels"]


def walk_kernels(device: Device, program: WalkProgram, types: WalkTypes) -> KernelModule:
    """Return a walk's kernels on a device.

    Parameters
    ----------
    device : Device
    program : WalkProgram
    types : WalkTypes
        Its types on the graph.

    Returns
    -------
    KernelModule
        With the kernel of `kernels/cuda/walks.py`.
    """
    interface = program.memory.recall(
        ("interface on a GPU", types), lambda: _interface(program, types)
    )
    return program_kernels(device, program, interface, ("walks",))


def _interface(program: WalkProgram, types: WalkTypes) -> str:
    """Write the text that replaces `kernels/cpu/walk_interface.py` for a walk."""
    whole = {
        name
        for name, kind in zip(program.edges, types.edges, strict=True)
        if not kind.startswith("float")
    }
    text = [
        f'"""The CUDA kernel of the walk {program.name}, generated."""',
        *program_text(
            program,
            "from cugraph_ws.kernels.cuda.primitives import *",
            walk_records(program),
            partial(with_nan_kept, integers=whole),
        ),
        loop_text(ROWS),
        # An edge's neighbours in its row are read soon after it.
        walk_adaptors(program, types, DeviceAccess(Variant(), near=True)),
    ]
    return "\n\n".join(text) + "\n"
