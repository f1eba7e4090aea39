"""Generate one module of CUDA kernels from a checked program and `kernels/cuda/superstep.py`.

As on the CPU (`cugraph_ws.program.codegen`), the program's functions replace the names in
`kernels/cuda/interface.py`.  To save registers, the text here also fixes what the CPU decides at
run time: whether messages are kept in an outbox, whether only active vertices send, and whether
state is read while it is written.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

from cugraph_ws.backends.cuda.fields_read import fields_read, sent_fields
from cugraph_ws.backends.cuda.opaque_types import opaque_text
from cugraph_ws.backends.cuda.scatter_lanes import scatter_of_lanes
from cugraph_ws.backends.cuda.schedule import layout_of
from cugraph_ws.backends.cuda.user_min_max import spelling_of
from cugraph_ws.kernels.cuda.layout import CODES
from cugraph_ws.program.codegen import (
    Access,
    Types,
    adaptors,
    message_text,
    program_text,
    term_lines,
    vertex_text,
    without_interface,
)
from cugraph_ws.program.infinity import INFINITY, STORED
from cugraph_ws.program.vertex_program import VertexProgram
from cugraph_ws.runtime.compile_ahead import PREFIX
from cugraph_ws.runtime.device import Device, KernelModule
from cugraph_ws.runtime.dispatch import provider
from cugraph_ws.runtime.generated import kernel_file
from cugraph_ws.runtime.parsing import parse

__all__ = [
    "EDGE_STATE_LOOPS",
    "LOOPS",
    "WORKLIST_LOOPS",
    "DeviceAccess",
    "ProgramText",
    "Variant",
    "frontier_loops",
    "has_codes",
    "interface_source",
    "module_source",
    "program_kernels",
    "shuffle_text",
    "source_fields",
    "stored",
]  # fmt: skip

LOOPS = (
    "layout",
    "rows",
    "bitmaps",
    "superstep",
    "start",
    "predecessors",
    "refine",
)  # of every program
# For states changed by compare-and-swap, and for vertices that only their own thread changes
_FRONTIER_LOOPS = (
    *LOOPS,
    "cooperative",
    "tree_growth",
    "tight_arcs",
    "predecessor_codes",
    "pull",
    "walk",
    "priorities",
    "frontier",
    "push",
    "partitioned_frontier",
)
WORKLIST_LOOPS = (*LOOPS, "cooperative", "worklist_calls", "worklist_gathers", "worklist_pull")
EDGE_STATE_LOOPS = ("edge_state",)  # of programs that keep state on edges
FAR, UNCODED = CODES - 2, CODES - 1  # codes of an infinite state, and of a state without a code


def frontier_loops() -> tuple[str, ...]:
    """Return the modules of programs whose states are changed by compare-and-swap."""
    return (*_FRONTIER_LOOPS, *provider("accelerators").frontier_loops())


@dataclass(frozen=True)
class Variant:
    """What a program's kernels are compiled for, besides the program and its types.

    Attributes
    ----------
    outbox : bool
        Whether a vertex sends the same message along every arc, computed once per vertex.
    frontier : bool
        Whether only the messages of active vertices are gathered.
    in_place : bool
        Whether state is written where other threads read it in the same superstep.
    lanes : int
        Lanes of a virtual warp.
    swaps : bool
        Whether senders change the receiver's state, one number, by compare-and-swap.
    ordered : bool
        Whether the program's priorities are honoured; requires `swaps`.
    layout : str
        What dense supersteps read; see `cugraph_ws.contract.Layout.adaptors`.
    """

    outbox: bool = False
    frontier: bool = False
    in_place: bool = False
    lanes: int = 8
    swaps: bool = False
    ordered: bool = False
    layout: str = "csc"


class DeviceAccess(Access):
    """Access by bare pointers.

    Bools are bytes.  What is read once, or while other threads write it, bypasses the L1 cache.
    """

    inlined = "inline"  # arrays are pointers

    def __init__(
        self, variant: Variant, *, once: bool = False, cached: bool = False, near: bool = False
    ) -> None:
        self._in_place = variant.in_place
        self._once = once
        self._near = near  # whether a lane soon reads the values next to an edge's value
        self._fresh = "load_cached" if cached else "load_fresh"

    def read(self, role: str, array: str, index: str, kind: str) -> str:
        """Write an expression for the element's value."""
        in_cache = index == "0" or (role == "state" and self._in_place)
        if (role == "edge" and not self._near) or (self._once and not in_cache):
            value = f"load_once({array}, {index})"
        elif role == "state" and self._in_place:
            value = f"{self._fresh}({array}, {index})"
        else:
            value = f"{array}[{index}]"
        if kind == "bool":
            return f"({value} != 0)"
        return f"np.{kind}({value})" if role == "edge" else value

    def write(self, role: str, array: str, index: str, value: str) -> str:
        """Write a statement that stores a value."""
        if role == "state" and self._in_place:
            return f"store_fresh({array}, {index}, {value})"
        return f"{array}[{index}] = {value}"

    def note(self, array: str, value: str) -> str:
        """Write a statement that stores a value in an array of one entry; of several values, any may stay."""
        return f"atomic_exchange({array}, 0, {value})"


class _CodedAccess(DeviceAccess):
    """Access that computes the state from its code."""

    def read(self, role: str, array: str, index: str, kind: str) -> str:
        if role == "state":
            if kind in STORED:
                return f"np.int64(code if code < {FAR} else {STORED[kind]})"
            return f"(np.{kind}(code) if code < {FAR} else np.{kind}(np.inf))"
        return super().read(role, array, index, kind)


def module_source(interface: str, loops: tuple[str, ...] = LOOPS) -> str:
    """Write the module that holds a program and its kernels.

    Parameters
    ----------
    interface : str
        Text written by `interface_source`.
    loops : tuple of str
        Names of modules in `kernels/cuda`, in the order in which they use each other.

    Returns
    -------
    str
        Python source.
    """
    return "\n\n".join([interface, *[_loop_text(loop) for loop in loops]]) + "\n"


def program_kernels(
    device: Device, program: Any, interface: str, loops: tuple[str, ...] = LOOPS
) -> KernelModule:
    """Return a program's kernels on a device.

    Parameters
    ----------
    device : Device
    program : VertexProgram or EdgeProgram
    interface : str
        Text written by `interface_source`.
    loops : tuple of str
        As in `module_source`.

    Returns
    -------
    KernelModule
    """
    name = f"{PREFIX}{program.name}"
    return device.program_module(name, interface, loops, ProgramText(program, interface, loops))


@dataclass(frozen=True)
class ProgramText:
    """Writes the text of a program's kernels when it is called; see `program_kernels`."""

    program: Any
    interface: str
    loops: tuple[str, ...]

    def __call__(self) -> str:
        """Return the text."""
        return module_source(self.interface, self.loops)


def interface_source(program: VertexProgram, types: Types, variant: Variant) -> str:
    """Write the text that replaces `kernels/cuda/interface.py` for a program.

    Parameters
    ----------
    program : VertexProgram
        The checked program.
    types : Types
        Its types on this graph.
    variant : Variant
        What else is fixed.

    Returns
    -------
    str
        Python source; cached, so the same for the same arguments.
    """
    key = "interface on a GPU", types, variant
    text: str = program.memory.recall(key, lambda: _written(program, types, variant))
    return text


def _written(program: VertexProgram, types: Types, variant: Variant) -> str:
    # Lanes combine before they know which lanes have a message, so `any` needs a neutral message.
    # Any message will do, so the greatest is taken.
    combined = replace(program, combine="max") if program.combine == "any" else program
    fixed = {"ANY": program.combine == "any"}
    if variant.swaps:
        fixed["ORDERED"] = variant.ordered
    title = f'"""CUDA kernels of the vertex program {program.name}, generated."""'
    primitives = "from cugraph_ws.kernels.cuda.primitives import *"
    own = program_text(program, primitives, spelling=spelling_of(program, types))
    interface = [
        adaptors(combined, types, DeviceAccess(variant), fixed=fixed),
        _lane_adaptors(program, types, variant),
        *scatter_of_lanes(program, types, partial(shuffle_text, "shuffle", argument="turn")),
    ]
    return "\n\n".join([title, *own, opaque_text("\n\n".join(interface))]) + "\n"


def has_codes(types: Types) -> bool:
    """Return whether states may have one-byte codes, of which more fit the GPU's cache.

    Parameters
    ----------
    types : Types

    Returns
    -------
    bool
        Whether the state is one number.  A vertex has a code if its number is a small whole one.
    """
    return len(types.state) == 1 and types.state[0] in (*STORED, "float32", "float64")


@lru_cache
def _loop_text(loop: str) -> str:
    tree = parse(kernel_file("cuda", loop).read_text("utf-8"))
    statements = [
        node
        for node in without_interface(tree)
        if not (isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cugraph_ws"))
    ]
    return "\n\n".join(ast.unparse(node) for node in statements)


def _lane_adaptors(program: VertexProgram, types: Types, variant: Variant) -> str:
    """Write the names that `kernels/cuda/interface.py` adds to the CPU's."""
    terms = range(len(program.aggregates))
    arguments = range(len(types.parameters))

    def row(items: list[str]) -> str:
        return "(" + "".join(f"{item}, " for item in items) + ")"

    def shuffled(function: str, argument: str) -> str:
        parts = [
            shuffle_text(function, kind, f"gathered[{place}]" if types.tuple_message else "gathered",
                     argument)
            for place, kind in enumerate(types.message)
        ]  # fmt: skip
        return row(parts) if types.tuple_message else parts[0]

    fields_sent = range(len(types.message) if variant.outbox else len(sent_fields(program)))
    compared = " or ".join(f"old[{place}][vertex] != new[{place}][vertex]" for place in fields_sent)
    shared_arrays = row(
        [f"shared(32, np.{'uint8' if kind == 'bool' else kind})" for kind in types.message]
    )
    lines = [
        *_codes(program, types, variant),
        "@inline\ndef message_near(source, target, edges, arc, values):",
        message_text(program, types, DeviceAccess(variant, near=True)),
        f"OUTBOX = {variant.outbox}",
        f"FRONTIER = {variant.frontier}",
        f"SWAPS = {variant.swaps}",
        f"LANES = {variant.lanes}",
        f"TARGETS = {program.reads_target}",
        f"TERMS = {len(program.aggregates)}",
        "@inline\ndef copy_sent(source, place, target, to):",
        *([f"    target[{field}][to] = source[{field}][place]" for field in fields_sent] or ["    pass"]),
        "@inline\ndef differs(old, new, vertex):",
        f"    return {'True' if variant.in_place else compared or 'False'}",
        "@inline\ndef with_sums(parameters, sums, vertices, number):",
        "    return "
        + row([
            *[f"parameters[{place}]" for place in arguments],
            *[f"sums[{place}]" for place in terms],
            "vertices",
            "number",
        ]),
        "@inline\ndef load_own(state, constants, vertex):",
        f"    return {vertex_text(program, types, DeviceAccess(variant, once=True))}",
        *term_lines(program),
        "@inline\ndef shuffle_terms_xor(mask, sums, bits):",
        f"    return {row([f'shuffle_xor(mask, sums[{place}], bits)' for place in terms])}",
        "@inline\ndef put_terms(array, place, sums):",
        *([f"    array[place + {place}] = sums[{place}]" for place in terms] or ["    pass"]),
        "@inline\ndef take_terms(array, place):",
        f"    return {row([f'array[place + {place}]' for place in terms])}",
        "@inline\ndef shuffle_message(mask, gathered, source):",
        f"    return {shuffled('shuffle', 'source')}",
        "@inline\ndef shuffle_message_down(mask, gathered, distance):",
        f"    return {shuffled('shuffle_down', 'distance')}",
        "@inline\ndef shuffle_message_xor(mask, gathered, bits):",
        f"    return {shuffled('shuffle_xor', 'bits')}",
        "@inline\ndef shared_messages():",
        f"    return {shared_arrays}",
    ]  # fmt: skip
    lines += layout_of(variant.layout).adaptors(program, types, variant)
    if variant.swaps:
        cached = DeviceAccess(variant, cached=True)
        narrow = program.infinite and types.state[0] == "int32"
        expected = "stored_int32(old[0])" if narrow else "old[0]"
        lines += [
            "@inline\ndef glance(state, constants, vertex):",
            f"    return {vertex_text(program, types, cached)}",
            "@inline\ndef swap(state, vertex, old, new):",
            f"    return atomic_compare_and_swap(state[0], vertex, {expected}, new[0]) == {expected}",
        ]
    return "\n".join(lines)


def source_fields(
    program: VertexProgram, types: Types, *, outbox: bool
) -> list[tuple[str, int, str]]:
    """Return what the messages of a program read of their source.

    Parameters
    ----------
    program : VertexProgram
        The checked program.
    types : Types
    outbox : bool
        Whether a vertex's message is kept in an outbox.

    Returns
    -------
    list of (str, int, str)
        Role, place among the arrays of the role, and NumPy dtype name of the array.
    """
    key = "source fields", types, outbox
    fields: list[tuple[str, int, str]] = program.memory.recall(
        key, lambda: _source_fields(program, types, outbox=outbox)
    )
    return fields


def _source_fields(
    program: VertexProgram, types: Types, *, outbox: bool
) -> list[tuple[str, int, str]]:
    if outbox:
        return [("outbox", place, stored(kind)) for place, kind in enumerate(types.message)]
    reads = fields_read(program, "compute", ("src",))
    states = enumerate(zip(program.state, types.state, strict=True))
    constants = enumerate(zip(program.constants, types.constants, strict=True))
    fields = [("state", place, *field) for place, field in states]
    fields += [
        ("constants", place, *field) for place, field in constants if not types.uniform[place]
    ]
    return [
        (role, place, stored(kind))
        for role, place, name, kind in fields
        if reads is None or name in reads
    ]


def stored(kind: str) -> str:
    """Return the dtype of an array of a type: bools are bytes."""
    return "uint8" if kind == "bool" else kind


def _codes(program: VertexProgram, types: Types, variant: Variant) -> list[str]:
    """Write functions that read states by their codes, or directly if states have none."""
    coded = has_codes(types)
    code = at = f"np.uint8({UNCODED})"
    known = uncoded = "load(state, constants, vertex)"
    if coded:
        kind = types.state[0]
        far = INFINITY if program.infinite else STORED.get(kind, "np.inf")
        beyond = f"{FAR} if vertex[0] == {far} else {UNCODED}"
        small, at = f"0 <= vertex[0] < {FAR}", "codes[vertex]"
        if kind not in STORED:  # whole, and not -0
            small += f" and np.{kind}(np.uint8(vertex[0])) == vertex[0]"
            small += " and math.copysign(1.0, vertex[0]) > 0.0"
            at = f"codes[vertex] if worth else np.uint8({UNCODED})"
        code = f"np.uint8(vertex[0]) if {small} else np.uint8({beyond})"
        vertex = vertex_text(program, types, _CodedAccess(variant))
        known = f"{uncoded} if code == {UNCODED} else {vertex}"
    return [
        f"CODED = {coded}",
        "@inline\ndef code_of(vertex):",
        f"    return {code}",
        "@inline\ndef code_at(codes, worth, vertex):",
        f"    return {at}",
        "@inline\ndef load_coded(code, state, constants, vertex):",
        f"    return {known}",
    ]


def shuffle_text(function: str, kind: str, value: str, argument: str) -> str:
    """Write a shuffle of one number between lanes; bools are shuffled as int32."""
    if kind == "bool":
        return f"({function}(mask, np.int32({value}), {argument}) != 0)"
    return f"{function}(mask, {value}, {argument})"
