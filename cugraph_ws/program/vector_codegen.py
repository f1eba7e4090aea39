"""Writes the module that Numba compiles from a program with vectors and `kernels/cpu/vectors.py`.

As for other vertex programs (`cugraph_ws.program.codegen`), functions written here take the places of those in
`kernels/cpu/vector_interface.py`.
"""

from __future__ import annotations

import ast
import math
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

__all__ = [
    "LOOP",
    "Lines",
    "VectorTypes",
    "VectorWriter",
    "helpers_of",
    "identity_of",
    "vector_source",
]

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


class VectorWriter:
    """Writes the functions of one program, for a thread that computes a vertex.

    Attributes
    ----------
    loops : type
        What writes loops over elements.
    each : str
        The head of a loop over the elements of a vector.
    long : str
        The decorator of functions that are called for each arc.
    """

    loops: type[ElementLoops] = ElementLoops
    each = f"for {ELEMENT} in range({ELEMENTS}):"
    long = "always_inline"

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
        loops = self.loops(program.name, source, program.length, names, result)
        return "\n".join([f"@{mark}\ndef {head}:", f"    {ELEMENTS} = {self.number}", *loops.lines])

    # ------------------------------------------------------------------ where numbers are

    @property
    def number(self) -> str:
        """The number of elements, as the shape of an array: unrolled loops would be too long to be inlined."""
        program = self.program
        declared = [("state", program.state.values()), ("constants", program.constants.values())]
        vectors = [
            f"{array}[{place}]"
            for array, values in declared
            for place, value in enumerate(values)
            if length_of(value)
        ]
        return f"{vectors[0]}.shape[1]"

    def entry(self, array: str, index: str, length: int) -> str:
        """Write a number in an array by vertex, or an element of a vector there."""
        return f"{array}[{index}, {ELEMENT}]" if length else f"{array}[{index}]"

    def slot(self, place: int) -> str:
        """Write a number, or an element of a vector, of what is gathered."""
        return f"gathered[{place}][{ELEMENT if self.types.vectors[place] else 0}]"

    def over(self, length: int, lines: Lines, each: str | None = None) -> Lines:
        """Write statements for each element of a vector, or once for a number."""
        if not length:
            return lines
        return [
            each or f"for {ELEMENT} in range({self.number}):",
            *[f"    {line}" for line in lines],
        ]

    def read(self, array: str, index: str, kind: str, length: int) -> Operand:
        """Return the expression for a number, or for an element of a vector; int32 is only stored."""
        text = self.entry(array, index, length)
        return (_cast("int64", text) if kind == "int32" else text), bool(length)

    # ------------------------------------------------------------------ what functions read

    def states(self, record: str, array: str, index: str) -> dict[str, Operand]:
        """Return the expressions for the state of a vertex."""
        return {
            f"{record}.{name}": self.read(f"{array}[{place}]", index, kind, length_of(declared))
            for place, ((name, declared), kind) in enumerate(
                zip(self.program.state.items(), self.types.state, strict=True)
            )
        }

    def constants(self, record: str, index: str) -> dict[str, Operand]:
        """Return the expressions for the constants of a vertex."""
        types_ = self.types
        return {
            f"{record}.{name}": self.read(
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
            text = f"edges[{place}][arc]"
            if missing is not None:
                text = (
                    repr(missing)
                    if math.isfinite(missing)
                    else "np.inf"
                    if missing > 0
                    else "-np.inf"
                )
            read[f"edge.{name}"] = (_cast("int64" if kind == "int32" else kind, text), False)
        return read

    @property
    def gathered(self) -> Names:
        """The expressions for `gathered`."""
        parts: list[Operand] = [
            (self.slot(place), vector) for place, vector in enumerate(self.types.vectors)
        ]
        return {"gathered": parts if self.types.tuple_message else parts[0]}

    # ------------------------------------------------------------------ what becomes of results

    def stored(self, array: str) -> _Result:
        """Return what stores a new state in the rows of a vertex."""
        lengths = list(map(length_of, self.program.state.values()))

        def lines(parts: Parts) -> Lines:
            assert parts is not None
            written: Lines = []
            for place, (node, _) in enumerate(parts):
                target = self.entry(f"{array}[{place}]", "vertex", lengths[place])
                line = f"{target} = {_cast(self.types.state[place], node)}"
                written += self.over(lengths[place], [line], self.each)
            return [*written, "return"]

        return lines

    def folded(self, parts: Parts) -> Lines:
        """Return what folds a message into `gathered`, and says whether one was sent."""
        if parts is None:
            return ["return False"]
        written: Lines = []
        for place, (node, _) in enumerate(parts):
            old, value = self.slot(place), _cast(self.types.message[place], node)
            lines = [f"{old} = {old} + {value}"]
            fold = self.folds[place]
            if fold != "sum":  # a NaN changes nothing
                sign = "<" if fold == "min" else ">"
                lines = [f"ws_m = {value}", f"{old} = ws_m if ws_m {sign} {old} else {old}"]
            written += self.over(self.types.vectors[place], lines, self.each)
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
                self.folded, self.long,
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

    @property
    def folds(self) -> tuple[str, ...]:
        """The fold of each part of a message."""
        return self.program.folds(len(self.types.message))

    @property
    def widths(self) -> list[int]:
        """How many numbers each part of a message has."""
        return [self.program.length if vector else 1 for vector in self.types.vectors]

    def buffers(self) -> str:
        """Write what makes a buffer for `gathered`, and what makes it the identity of `combine`."""
        kinds = self.types.message
        arrays = [
            f"np.empty({width}, np.{kind})" for width, kind in zip(self.widths, kinds, strict=True)
        ]
        lines: Lines = []
        for place, kind in enumerate(kinds):
            identity = _cast(kind, identity_of(self.folds[place], kind))
            vector = self.types.vectors[place]
            each = f"for {ELEMENT} in range(len(gathered[{place}])):"
            lines += self.over(vector, [f"{self.slot(place)} = {identity}"], each)
        return "\n".join([
            "@inline\ndef empty_message():", f"    return ({', '.join(arrays)},)",
            "@inline\ndef clear(gathered):", *_indented(lines),
        ])  # fmt: skip

    def pairs(self) -> list[tuple[int, str, str]]:
        """Return the length of each field, and the expressions for its old and new value."""
        entries = []
        for place, length in enumerate(map(length_of, self.program.state.values())):
            old, new = (
                self.entry(f"{array}[{place}]", "vertex", length) for array in ("state", "fresh")
            )
            entries.append((length, old, new))
        return entries

    def changed(self) -> str:
        """Write whether a state has changed; NaN equals NaN."""
        lines: Lines = []
        for length, old, new in self.pairs():
            test = f"if {old} != {new} and ({old} == {old} or {new} == {new}):"
            lines += self.over(length, [test, "    return True"])
        return "\n".join(_indented([*lines, "return False"]))

    def copied(self) -> str:
        """Write what leaves the state of a vertex as it is."""
        lines: Lines = []
        for length, old, new in self.pairs():
            lines += self.over(length, [f"{new} = {old}"])
        return "\n".join(["@inline\ndef keep(fresh, state, vertex):", *_indented(lines)])

    def change(self) -> str:
        """Write the size of a vertex's change: of a vector the sum, or the greatest, of its elements'."""
        norm, lines = self.program.residual, []
        if norm is not None:
            length, old, new = self.pairs()[list(self.program.state).index(norm.field)]
            folded = "total + size"
            if norm.kind == "max":
                folded = "size if size > total or size != size else total"
            size = f"size = abs(np.float64({new}) - np.float64({old}))"
            lines = self.over(length, [size, f"total = {folded}"])
        head = "@inline\ndef change(state, fresh, vertex):"
        return "\n".join([head, *_indented(["total = 0.0", *lines, "return total"])])

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


def _indented(lines: Lines) -> Lines:
    return [f"    {line}" for line in lines]


def _cast(kind: str, value: str | ast.expr) -> str:
    text = value if isinstance(value, str) else ast.unparse(value)
    return f"np.{'bool_' if kind == 'bool' else kind}({text})"


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
    return [f"return bool({ast.unparse(parts[0][0])})"]


def _number(parts: Parts) -> Lines:
    assert parts is not None
    return [f"return {_cast('float64', parts[0][0])}"]


def helpers_of(program: VectorProgram) -> Lines:
    """Write the functions that the user's functions call."""
    return list(
        dict.fromkeys(  # functions may share them
            f"@inline\n{ast.unparse(helper)}"
            for source in program.sources.values()
            for helper in parse(source.text).body[:-1]
        )
    )


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
    parts = [
        f'"""Loops of the vertex program {program.name}, generated."""',
        HEAD,
        *helpers_of(program),
        VectorWriter(program, types_).text(),
        loop_text(LOOP),
    ]
    return "\n\n".join(parts) + "\n"
