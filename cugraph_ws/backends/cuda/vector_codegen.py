"""Generate the CUDA kernels of a program with vectors: the lanes of a warp share the elements of each vector.

Numbers are computed by all lanes alike, and stored by the first.  A lane has every 32nd element: it folds messages in
registers, whose end result is put in shared memory, and only reductions and reads of one element cross lanes.
"""

from __future__ import annotations

import ast
import re
from functools import partial

from cugraph_ws.backends.cuda.codegen import program_kernels
from cugraph_ws.backends.cuda.user_min_max import with_nan_kept
from cugraph_ws.program.vector_codegen import (
    LOOP,
    Lines,
    VectorTypes,
    VectorWriter,
    helpers_of,
    identity_of,
)
from cugraph_ws.program.vector_elements import ELEMENT, ELEMENTS, ElementLoops, Parts, at
from cugraph_ws.program.vector_program import VectorProgram
from cugraph_ws.runtime.device import Device, KernelModule

__all__ = ["vector_kernels", "warps_of"]

SHARED = 40 << 10  # bytes of shared memory of a block, at most
WARPS = 4  # of a block, at most
# Functions of NumPy that compute each element
FUNCTIONS = {
    "maximum": "a if a > b or a != a else b",
    "minimum": "a if a < b or a != a else b",
    "logical_and": "a != 0 and b != 0",
    "logical_or": "a != 0 or b != 0",
    "logical_not": "a == 0",
    "abs": "abs(a)",
    "absolute": "abs(a)",
    "ceil": "a if a - a != 0 else a + -a % 1.0",
    "floor": "a if a - a != 0 else a - a % 1.0",
    "isfinite": "a - a == 0",
    "isinf": "a == a and a - a != 0",
    "isnan": "a != a",
    "sign": "a if a != a else (1 if a > 0 else 0) - (1 if a < 0 else 0)",
    **{
        name: f"math.{name}(a)"
        for name in ("cos", "exp", "expm1", "log", "log10", "log1p", "log2", "sin", "sqrt", "tanh")
    },
}


class _WarpLoops(ElementLoops):
    """Writes statements in which the lanes of a warp share the elements."""

    def _folded(self, name: str, value: ast.expr) -> tuple[str, str]:
        width = min(self._length, 32)
        first = self._temporary(f"np.int64(min(lane(), {width - 1}))").id
        total = self._temporary(ast.unparse(at(value, first))).id
        place = self._temporary(first).id if name.startswith("arg") else ""
        if self._length > 32:
            self._write(f"for {ELEMENT} in range(lane() + 32, {ELEMENTS}, 32):")
            self._depth += 1
            self._join(name, total, place, ast.unparse(value), f"np.int64({ELEMENT})")
            self._depth -= 1
        for distance in (16, 8, 4, 2, 1):
            if distance < width:
                above = self._temporary(f"shuffle_down(FULL, {total}, {distance})").id
                at_place = ""
                if place:
                    at_place = self._temporary(f"shuffle_down(FULL, {place}, {distance})").id
                self._write(f"if lane() + {distance} < {width}:")
                self._depth += 1
                self._join(name, total, place, above, at_place)
                self._depth -= 1
        for result in (total, place):
            if result:
                self._write(f"{result} = shuffle(FULL, {result}, 0)")
        return total, place

    def _spelled(self, called: str) -> str:
        return f"ws_{called[3:]}" if called.startswith("np.") else called


class _WarpWriter(VectorWriter):
    """Writes the functions of one program, for a warp that computes a vertex."""

    loops = _WarpLoops
    each = f"for {ELEMENT} in range(lane(), {ELEMENTS}, 32):"
    long = "inline"

    @property
    def number(self) -> str:
        """The number of elements."""
        return str(self.program.length)

    def entry(self, array: str, index: str, length: int) -> str:
        """Write a number in an array by vertex, or an element of a vector there."""
        return f"{array}[{index} * {length} + {ELEMENT}]" if length else f"{array}[{index}]"

    def slot(self, place: int) -> str:
        """Write a number, or an element of a vector, of what this warp gathers."""
        element = ELEMENT if self.types.vectors[place] else 0
        return f"gathered[{place}][(thread() // 32) * {self.widths[place]} + {element}]"

    def over(self, length: int, lines: Lines, each: str | None = None) -> Lines:
        """Write statements for each element that a lane has, or by the first lane for a number."""
        head = (
            f"for {ELEMENT} in range(lane(), {self.number}, 32):" if length else "if lane() == 0:"
        )
        return [head, *[f"    {line}" for line in lines]]

    def read(self, array: str, index: str, kind: str, length: int) -> tuple[str, bool]:
        """Return the expression for a number, or for an element of a vector; bools are bytes."""
        text, is_vector = super().read(array, index, kind, length)
        return (f"({text} != 0)" if kind == "bool" else text), is_vector

    def folded(self, parts: Parts) -> Lines:
        """Return what folds a message into this lane's elements of `gathered`, and says whether one was sent."""
        if parts is None:
            return ["return gathered, False"]
        written: Lines = []
        for place, (node, _) in enumerate(parts):
            kind, fold = self.types.message[place], self.folds[place]
            for turn in range(self.turns(place)):
                old, value = f"gathered[{place}][{turn}]", ast.unparse(node)
                new = f"np.{kind}({old} + np.{kind}({value}))"
                written.append(f"{ELEMENT} = min(lane() + {32 * turn}, {self.widths[place] - 1})")
                if fold != "sum":  # a NaN changes nothing
                    sign = "<" if fold == "min" else ">"
                    written.append(f"ws_m = np.{kind}({value})")
                    new = f"ws_m if ws_m {sign} {old} else {old}"
                written.append(f"folded_{place}_{turn} = {new}")
        return [*written, f"return {self.of_lane('folded_{}_{}')}, True"]

    def turns(self, place: int) -> int:
        """Return how many elements of a part of a message a lane has, at most."""
        return -(-self.widths[place] // 32)

    def of_lane(self, entry: str) -> str:
        """Write the elements of a lane: a tuple for each part of a message."""
        parts = (
            "".join(f"{entry.format(place, turn)}, " for turn in range(self.turns(place)))
            for place in range(len(self.widths))
        )
        return f"({''.join(f'({part}), ' for part in parts)})"

    def buffers(self) -> str:
        """Write what a lane folds into, and the shared memory of a block's warps for what they gather."""
        warps = warps_of(self.program, self.types)
        lines = ["@inline\ndef empty_message():"]
        stored, nothing = [], []
        for place, (width, kind) in enumerate(zip(self.widths, self.types.message, strict=True)):
            lines.append(f"    part_{place} = shared({warps * width}, np.{kind})")
            nothing.append(f"    part_{place} = np.{kind}({identity_of(self.folds[place], kind)})")
            for turn in range(self.turns(place)):
                stored += [
                    f"    {ELEMENT} = lane() + {32 * turn}",
                    f"    if {ELEMENT} < {width}:",
                    f"        {self.slot(place)} = folded[{place}][{turn}]",
                ]
        parts = "".join(f"part_{place}, " for place in range(len(self.widths)))
        lines += [f"    return ({parts})", "@inline\ndef identity():", *nothing]
        lines += [
            f"    return {self.of_lane('part_{}')}",
            "@inline\ndef share(gathered, folded):",
            *stored,
        ]
        return "\n".join([*lines, "    return"])

    def terms(self) -> str:
        """Write what stores a vertex's terms of the aggregates."""
        lines = ["@inline\ndef put_terms(state, constants, vertex, values, terms, owned):"]
        for place, fold in enumerate(self.program.aggregate_folds):
            lines.append(f"    term = term_{place}(state, constants, vertex, values)")
            if fold in ("min", "max"):
                none = "np.inf" if fold == "min" else "-np.inf"
                lines.append(f"    term = {none} if term != term else term")
            if fold == "any":
                lines.append("    term = 1.0 if term != 0.0 else 0.0")
            lines.append(f"    if lane() == 0:\n        terms[{place} * owned + vertex] = term")
        return "\n".join([*lines, "    return"])


def warps_of(program: VectorProgram, types: VectorTypes) -> int:
    """Return how many warps a block has, so that what they gather fits in its shared memory.

    Parameters
    ----------
    program : VectorProgram
    types : VectorTypes
    """
    widest = 8 * sum(program.length if vector else 1 for vector in types.vectors)
    return max(1, min(WARPS, SHARED // widest))


def vector_kernels(device: Device, program: VectorProgram, types: VectorTypes) -> KernelModule:
    """Return a program's kernels on a device.

    Parameters
    ----------
    device : Device
    program : VectorProgram
    types : VectorTypes
        Its types on the graph.

    Returns
    -------
    KernelModule
        With the kernels of `kernels/cuda/vectors.py`.
    """
    interface = program.memory.recall(
        ("interface on a GPU", types), partial(_interface, program, types)
    )
    return program_kernels(device, program, interface, (LOOP,))


def _interface(program: VectorProgram, types: VectorTypes) -> str:
    """Write the text that replaces `kernels/cuda/vector_interface.py` for a program."""
    functions = [
        f"@inline\ndef ws_{name}({'a, b' if ' b' in body else 'a'}):\n    return {body}"
        for name, body in FUNCTIONS.items()
    ]
    norm = program.residual
    written = [*helpers_of(program), _WarpWriter(program, types).text()]
    spelled = with_nan_kept(
        "\n\n".join(written), set()
    )  # it begins with functions that are not marked
    text = [
        f'"""CUDA kernels of the vertex program {program.name}, generated."""',
        "import math\nimport numpy as np\nfrom cugraph_ws.kernels.cuda.primitives import *",
        f"GREATEST = {norm is not None and norm.kind == 'max'}",
        f"MEASURES = {norm is not None}",
        *functions,
        re.sub("^(def ws_(least|greatest))", r"@inline\n\1", spelled, flags=re.MULTILINE),
    ]
    return "\n\n".join(text) + "\n"
