"""What a program's kernels over shards need besides its interface: copies of what messages read of sources."""

from __future__ import annotations

import numpy as np

from cugraph_ws.backends.cuda.codegen import DeviceAccess, Variant, source_fields
from cugraph_ws.program.codegen import Types, loaded_text
from cugraph_ws.program.vertex_program import VertexProgram

__all__ = ["source_adaptors"]


def source_adaptors(program: VertexProgram, types: Types, variant: Variant) -> list[str]:
    """Write the functions that copy what messages read of a source, and compute them from the copy."""
    parts = source_fields(program, types, outbox=variant.outbox)
    places = range(len(parts))

    def row(items: list[str]) -> str:
        return "(" + "".join(f"{item}, " for item in items) + ")"

    first, memory = 0, []
    for _, _, kind in parts:
        memory.append(f"dynamic_shared({first} * capacity, capacity, np.{kind})")
        first += np.dtype(kind).itemsize
    known = {(role, place): number for number, (role, place, _) in enumerate(parts)}

    def field(role: str, place: int, kind: str) -> str:
        number = known.get((role, place))
        if number is not None:
            value = f"held[{number}][place]"
            value = f"({value} != 0)" if kind == "bool" else value
        elif role == "constants" and types.uniform[place]:
            value = DeviceAccess(variant).read("constant", f"constants[{place}]", "0", kind)
        else:  # not read
            value = "False" if kind == "bool" else f"np.{kind}(0)"
        if role == "state":
            return loaded_text(program, place, kind, value)
        return f"np.int64({value})" if kind == "int32" else value

    if variant.outbox:
        message = ["    return take_message(held, place)"]
    else:
        vertex = [field("state", place, kind) for place, kind in enumerate(types.state)]
        vertex += [field("constants", place, kind) for place, kind in enumerate(types.constants)]
        message = [
            f"    source = Vertex({', '.join(vertex)})",
            "    return message(source, NO_TARGET, edges, arc, values)",
        ]
    return [
        "@inline\ndef read_source(state, constants, outbox, vertex):",
        f"    return {row([f'{role}[{place}][vertex]' for role, place, _ in parts])}",
        "@inline\ndef take_source(held, place):",
        f"    return {row([f'held[{number}][place]' for number in places])}",
        "@inline\ndef put_source(held, place, source):",
        *([f"    held[{number}][place] = source[{number}]" for number in places] or ["    pass"]),
        "@inline\ndef shared_sources(capacity):",
        f"    return {row(memory)}",
        "@inline\ndef held_message(held, place, constants, edges, arc, values):",
        *message,
    ]
