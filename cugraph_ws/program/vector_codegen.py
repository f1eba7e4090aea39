"""Writes the module that Numba compiles from a program with vectors and `kernels/cpu/vectors.py`.

As for other vertex programs (`cugraph_ws.program.codegen`), functions written here take the places of those in
`kernels/cpu/vector_interface.py`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cugraph_ws.program.codegen import loop_text
from cugraph_ws.program.vector_elements import (
    ELEMENT,
    ELEMENTS,
    ElementLoops,
    Names,
    Operand,
    Parts,
)
from cugraph_ws.program.vector_program import VectorProgram, length_of
from cugraph_ws.runtime.parsing import parse

__all__ = ["LOOP", "VectorTypes", "identity_of", "vector_source"]

LOOP = "vectors"
HEAD = "import math\nimport numpy as np\nfrom cugraph_ws.kernels.cpu.jit import always_inline, inline, jit"
Lines = list[str]
_Result = Callable[[Parts], Lines]


@dataclass(frozen=True)
class VectorTypes:
    """The types of a program with vectors on a graph, as NumPy names.

    Attributes
    ----------
    state, constants, edges, parameters : tuple of str
        One for each declaration, in order; of a vector that of its elements.
    uniform : tuple of bool
        For each constant, whether it is one number for all vertices, in an array of one entry.
    missing_edges : tuple of float or None
        For each edge attribute, the constant that replaces it if the graph has none, or None.
    message : tuple of str
        One for each part of a message.
    vectors : tuple of bool
        For each part of a message, whether it is a vector.
    tuple_message : bool
        Whether messages are tuples.
    """

    state: tuple[str, ...]
    constants: tuple[str, ...]
    uniform: tuple[bool, ...]
    edges: tuple[str, ...]
    missing_edges: tuple[float | None, ...]
    parameters: tuple[str, ...]
    message: tuple[str, ...]
    vectors: tuple[bool, ...]
    tuple_message: bool


class _Writer:
    """Writes the functions of one program."""

    def __init__(self, program: VectorProgram, types_: VectorTypes) -> None:
        self.program, self.types = program, types_

    def function(
        self, head: str, key: str, names: Names, result: _Result, mark: str = "inline"
    ) -> str:
        """Write one of the user's functions as a function of the interface."""
        program = self.program
        if key not in program.sources:
            return ""
        source = program.sources[key]
        loops = ElementLoops(program.name, source, program.length, names, result)
        return "\n".join([f"@{mark}\ndef {head}:", f"    {ELEMENTS} = {self.number}", *loops.lines])

    @property
    def number(self) -> str:
        """The number of elements, as the shape of an array: unrolled loops would be too long to be inlined."""
        of_state = [
            f"state[{place}]"
            for place, declared in enumerate(self.program.state.values())
            if length_of(declared)
        ]
        of_constants = [
            f"constants[{place}]"
            for place, declared in enumerate(self.program.constants.values())
            if length_of(declared)
        ]
        return f"{[*of_state, *of_constants][0]}.shape[1]"

    # ------------------------------------------------------------------ what functions read

    def states(self, record: str, array: str, index: str) -> dict[str, Operand]:
        """Return the expressions for the state of a vertex."""
        return {
            f"{record}.{name}": _read(f"{array}[{place}]", index, kind, length_of(declared))
            for place, ((name, declared), kind) in enumerate(
                zip(self.program.state.items(), self.types.state, strict=True)
            )
        }

    def constants(self, record: str, index: str) -> dict[str, Operand]:
        """Return the expressions for the constants of a vertex."""
        types_ = self.types
        return {
            f"{record}.{name}": _read(
                f"constants[{place}]", "0" if uniform else index, kind, length_of(declared)
            )
            for place, ((name, declared), kind, uniform) in enumerate(
                zip(
                    self.program.constants.items(), types_.constants, types_.uniform, strict=True
                )
            )
        }  # fmt: skip

    def vertex(self, record: str, index: str, array: str = "state") -> dict[str, Operand]:
        """Return the expressions for a vertex."""
        return {**self.states(record, array, index), **self.constants(record, index)}

    @property
    def parameters(self) -> dict[str, Operand]:
        """The expressions for `p`."""
        names = self.program.parameter_names
        return {f"p.{name}": (f"values[{place}]", False) for place, name in enumerate(names)}

    @property
    def edge(self) -> dict[str, Operand]:
        """The expressions for `edge`."""
        types_ = self.types
        read = {}
        for place, (name, kind, missing) in enumerate(
            zip(self.program.edges, types_.edges, types_.missing_edges, strict=True)
        ):
            text = f"edges[{place}][arc]" if missing is None else repr(missing)
            read[f"edge.{name}"] = (_cast("int64" if kind == "int32" else kind, text), False)
        return read

    @property
    def gathered(self) -> Names:
        """The expressions for `gathered`."""
        parts: list[Operand] = [
            (f"gathered[{place}][{ELEMENT if vector else 0}]", vector)
            for place, vector in enumerate(self.types.vectors)
        ]
        return {"gathered": parts if self.types.tuple_message else parts[0]}

    # ------------------------------------------------------------------ what becomes of results

    def stored(self, array: str) -> _Result:
        """Return what stores a new state in the rows of a vertex."""
        declared = list(self.program.state.values())

        def lines(parts: Parts) -> Lines:
            assert parts is not None
            written: Lines = []
            for place, (node, _) in enumerate(parts):
                target, value = f"{array}[{place}]", _cast(self.types.state[place], node)
                if length_of(declared[place]):
                    written += [
                        f"for {ELEMENT} in range({ELEMENTS}):",
                        f"    {target}[vertex, {ELEMENT}] = {value}",
                    ]
                else:
                    written.append(f"{target}[vertex] = {value}")
            return [*written, "return"]

        return lines

    def folded(self, parts: Parts) -> Lines:
        """Return what folds a message into `gathered`, and says whether one was sent."""
        if parts is None:
            return ["return False"]
        written: Lines = []
        for place, (node, _) in enumerate(parts):
            value = _cast(self.types.message[place], node)
            vector = self.types.vectors[place]
            old = f"gathered[{place}][{ELEMENT if vector else 0}]"
            lines = [f"{old} = {old} + {value}"]
            if self.program.combine != "sum":  # a NaN changes nothing
                sign = "<" if self.program.combine == "min" else ">"
                lines = [f"ws_m = {value}", f"{old} = ws_m if ws_m {sign} {old} else {old}"]
            if vector:
                written.append(f"for {ELEMENT} in range({ELEMENTS}):")
            written += ["    " * vector + line for line in lines]
        return [*written, "return True"]

    # ------------------------------------------------------------------ the interface

    def text(self) -> str:
        """Write all functions."""
        program = self.program
        state, p = "state, constants, vertex, values", self.parameters
        old, own = self.vertex("old", "vertex"), self.constants("own", "vertex")
        seen = {**self.vertex("state", "vertex"), **p}
        parts = [
            f"MASKED = {not program.all_send}",
            f"SILENT = {program.hears_silence}",
            f"AGGREGATES = {len(program.aggregates)}",
            self.buffers(),
            self.function(
                "initial(state, constants, vertex, number, values)", "init",
                {"vertex": ("number", False), **own, **p}, self.stored("state"),
            ),
            self.function(
                "fold(gathered, state, constants, source, target, edges, arc, values)", "compute",
                {**self.vertex("src", "source"), **self.vertex("dst", "target"), **self.edge, **p},
                self.folded, "always_inline",
            ),
            self.function(
                "update(fresh, state, constants, vertex, gathered, values)", "apply",
                {**old, **self.gathered, **p}, self.stored("fresh"),
            ),
            self.function(
                "is_active(state, fresh, constants, vertex, values)", "active",
                {**old, **self.vertex("new", "vertex", "fresh"), **p}, _truth,
            ) or f"@inline\ndef is_active(state, fresh, constants, vertex, values):\n{self.changed()}",
            self.function(f"starts({state})", "starts", seen, _truth)
            or f"@inline\ndef starts({state}):\n    return True",
            self.copied(),
            self.change(),
            *[
                self.function(f"term_{place}({state})", key, seen, _number)
                for place, key in enumerate(program.aggregates)
            ],
            self.terms(),
        ]  # fmt: skip
        return "\n".join(parts)

    def buffers(self) -> str:
        """Write what makes a buffer for `gathered`, and what makes it the identity of `combine`."""
        types_, length = self.types, self.program.length
        widths = [length if vector else 1 for vector in types_.vectors]
        arrays = [
            f"np.empty({width}, np.{kind})"
            for width, kind in zip(widths, types_.message, strict=True)
        ]
        lines = ["@inline\ndef empty_message():", f"    return ({', '.join(arrays)},)"]
        lines.append("@inline\ndef clear(gathered):")
        for place, kind in enumerate(types_.message):
            lines.append(f"    for {ELEMENT} in range(len(gathered[{place}])):")
            identity = identity_of(self.program.combine, kind)
            lines.append(f"        gathered[{place}][{ELEMENT}] = {_cast(kind, identity)}")
        return "\n".join(lines)

    def changed(self) -> str:
        """Write whether a state has changed; NaN equals NaN."""
        lines: Lines = []
        for place, declared in enumerate(self.program.state.values()):
            length = length_of(declared)
            at = f"vertex, {ELEMENT}" if length else "vertex"
            old, new = f"state[{place}][{at}]", f"fresh[{place}][{at}]"
            pad = "    " * bool(length)
            if length:
                lines.append(f"    for {ELEMENT} in range(state[{place}].shape[1]):")
            lines += [
                f"{pad}    if {old} != {new} and ({old} == {old} or {new} == {new}):",
                f"{pad}        return True",
            ]
        return "\n".join([*lines, "    return False"])

    def copied(self) -> str:
        """Write what leaves the state of a vertex as it is."""
        lines = ["@inline\ndef keep(fresh, state, vertex):"]
        for place, declared in enumerate(self.program.state.values()):
            length = length_of(declared)
            at = f"vertex, {ELEMENT}" if length else "vertex"
            if length:
                lines.append(f"    for {ELEMENT} in range(state[{place}].shape[1]):")
            pad = "    " * bool(length)
            lines.append(f"{pad}    fresh[{place}][{at}] = state[{place}][{at}]")
        return "\n".join(lines)

    def change(self) -> str:
        """Write the size of a vertex's change: of a vector the sum, or the greatest, of its elements'."""
        head = "@inline\ndef change(state, fresh, vertex):\n    total = 0.0\n"
        norm = self.program.residual
        if norm is None:
            return f"{head}    return total"
        place = list(self.program.state).index(norm.field)
        length = length_of(self.program.state[norm.field])
        at = f"vertex, {ELEMENT}" if length else "vertex"
        size = f"abs(np.float64(fresh[{place}][{at}]) - np.float64(state[{place}][{at}]))"
        lines = [f"size = {size}", "total = total + size"]
        if norm.kind == "max":
            lines[1] = "total = size if size > total or size != size else total"
        if length:
            loop = f"for {ELEMENT} in range(state[{place}].shape[1]):"
            lines = [loop, *["    " + line for line in lines]]
        return head + "\n".join(f"    {line}" for line in [*lines, "return total"])

    def terms(self) -> str:
        """Write what folds a vertex's terms of the aggregates into the totals."""
        lines = ["@inline\ndef add_terms(state, constants, vertex, values, totals):"]
        for place, fold in enumerate(self.program.aggregate_folds):
            lines.append(f"    term = term_{place}(state, constants, vertex, values)")
            if fold == "sum":
                lines.append(f"    totals[{place}] = totals[{place}] + term")
            else:
                sign = "<" if fold == "min" else ">"
                flag = "term = 1.0 if term != 0.0 else 0.0\n    " if fold == "any" else ""
                lines.append(f"    {flag}if term {sign} totals[{place}]:")
                lines.append(f"        totals[{place}] = term")
        return "\n".join([*lines, "    return"])


def _cast(kind: str, value: str | ast.expr) -> str:
    text = value if isinstance(value, str) else ast.unparse(value)
    return f"np.{'bool_' if kind == 'bool' else kind}({text})"


def _read(array: str, index: str, kind: str, length: int) -> Operand:
    """Return the expression for a number, or for an element of a vector; int32 is only stored."""
    text = f"{array}[{index}, {ELEMENT}]" if length else f"{array}[{index}]"
    return (_cast("int64", text) if kind == "int32" else text), bool(length)


def identity_of(combine: str, kind: str) -> str:
    """Write the number that `combine`, "sum", "min" or "max", leaves others unchanged by."""
    if combine == "sum":
        return "0"
    if kind.startswith("float"):
        return "np.inf" if combine == "min" else "-np.inf"
    limits = np.iinfo(kind)
    return str(limits.max if combine == "min" else limits.min)


def _truth(parts: Parts) -> Lines:
    assert parts is not None
    return [f"return {_cast('bool', parts[0][0])}"]


def _number(parts: Parts) -> Lines:
    assert parts is not None
    return [f"return {_cast('float64', parts[0][0])}"]


def vector_source(program: VectorProgram, types_: VectorTypes) -> str:
    """Write the module that contains a program and its loops.

    Parameters
    ----------
    program : VectorProgram
    types_ : VectorTypes

    Returns
    -------
    str
        Python source, the same for the same program and types.
    """
    helpers = dict.fromkeys(  # functions may share them
        f"@inline\n{ast.unparse(helper)}"
        for source in program.sources.values()
        for helper in parse(source.text).body[:-1]
    )
    parts = [
        f'"""Loops of the vertex program {program.name}, generated."""',
        HEAD,
        *helpers,
        _Writer(program, types_).text(),
        loop_text(LOOP),
    ]
    return "\n\n".join(parts) + "\n"
