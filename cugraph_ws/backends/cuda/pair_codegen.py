"""Generate the CUDA kernels of an edge program from `kernels/cuda/pairs.py`.

As on the CPU (`cugraph_ws.program.edge_codegen`), the program's functions replace the names in
`kernels/cuda/pair_interface.py`.
"""

from __future__ import annotations

from cugraph_ws.backends.cuda.codegen import (
    DeviceAccess,
    Variant,
    program_kernels,
    shuffle_text,
)
from cugraph_ws.backends.cuda.user_min_max import spelling_of
from cugraph_ws.program.codegen import program_text
from cugraph_ws.program.edge_codegen import EdgeTypes, pair_adaptors, pair_records
from cugraph_ws.program.edge_program import EdgeProgram
from cugraph_ws.runtime.device import Device, KernelModule

__all__ = ["pair_kernels"]

LOOPS = ("pairs",)


def pair_kernels(device: Device, program: EdgeProgram, types: EdgeTypes) -> KernelModule:
    """Return a program's kernels on a device.

    Parameters
    ----------
    device : Device
    program : EdgeProgram
    types : EdgeTypes
        Its types on the graph.

    Returns
    -------
    KernelModule
        With the kernels of `kernels/cuda/pairs.py`.
    """
    interface = program.memory.recall(
        ("interface on a GPU", types), lambda: _interface(program, types)
    )
    return program_kernels(device, program, interface, LOOPS)


def _interface(program: EdgeProgram, types: EdgeTypes) -> str:
    """Write the text that replaces `kernels/cuda/pair_interface.py` for a program."""
    parts = [
        shuffle_text(
            "shuffle", kind, f"gathered[{place}]" if types.tuple_message else "gathered", "source"
        )
        for place, kind in enumerate(types.message)
    ]
    shuffled = f"({', '.join(parts)},)" if types.tuple_message else parts[0]
    text = [
        f'"""CUDA kernels of the edge program {program.name}, generated."""',
        *program_text(
            program,
            "from cugraph_ws.kernels.cuda.primitives import *",
            pair_records(program),
            spelling_of(program, types),
        ),
        pair_adaptors(program, types, DeviceAccess(Variant())),
        f"@inline\ndef shuffle_message(mask, gathered, source):\n    return {shuffled}",
    ]
    return "\n\n".join(text) + "\n"
