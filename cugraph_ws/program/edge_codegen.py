"""Generates the module that Numba compiles from a checked edge program and `kernels/cpu/pairs.py`.

As for vertex programs (`cugraph_ws.program.codegen`), the program's functions replace the names in
`kernels/cpu/pair_interface.py`.  For `engine="python"` the loops' own file is executed with the
user's own functions.
"""

from __future__ import annotations

import types
from dataclasses import dataclass

from cugraph_ws.program.codegen import (
    Access,
    constants_text,
    identity_text,
    loop_text,
    merge_text,
    message_result,
    program_text,
)
from cugraph_ws.program.edge_program import EdgeProgram
from cugraph_ws.program.modules import compiled_module, fitting, plain_module

__all__ = [
    "EdgeTypes",
    "compiled_pairs",
    "pair_adaptors",
    "pair_records",
    "pair_source",
    "plain_pairs",
]

LOOPS = ("search", "pairs")


@dataclass(frozen=True)
class EdgeTypes:
    """The types of an edge program on a graph, as NumPy names.

    Attributes
    ----------
    state, constants, parameters : tuple of str
        One for each declaration, in order.
    uniform : tuple of bool
        For each constant, whether it is one number for all vertices, in an array of one entry.
    message : tuple of str
        One for each component of a message.
    tuple_message : bool
        Whether messages are tuples.
    """

    state: tuple[str, ...]
    constants: tuple[str, ...]
    uniform: tuple[bool, ...]
    parameters: tuple[str, ...]
    message: tuple[str, ...]
    tuple_message: bool


def pair_records(program: EdgeProgram) -> dict[str, tuple[str, ...]]:
    """Return the named tuples that a program's functions see, and their fields.

    Parameters
    ----------
    program : EdgeProgram

    Returns
    -------
    dict of tuple of str
    """
    return {
        "Vertex": tuple(program.constants),
        "Edge": tuple(program.edges),
        "Parameters": program.parameter_names,
    }


def pair_adaptors(
    program: EdgeProgram,
    types_: EdgeTypes,
    access: Access | None = None,
    *,
    checked: bool = False,
) -> str:
    """Write the functions of `kernels/cpu/pair_interface.py` for a program.

    Parameters
    ----------
    program : EdgeProgram
    types_ : EdgeTypes
    access : Access, optional
        How arrays are read and written; by indexing if not given.
    checked : bool
        Whether values go through `fit(place, value)`, which refuses what a column cannot hold.

    Returns
    -------
    str
        Python source.
    """
    access = access or Access()

    def edge(arc: str) -> str:
        parts = [
            access.read("edge", f"edges[{place}]", arc, "float64")
            for place in range(len(program.edges))
        ]
        return f"Edge({', '.join(parts)})"

    arguments = {
        "w": "w",
        "u": "u",
        "v": "v",
        "uw": edge("one"),
        "vw": edge("other"),
        "edge": "between",
        "common": "gathered",
        "p": "Parameters(*values)",
    }

    def call(function: str) -> str:
        asked = [arguments[name] for name in program.sources[function].parameters]
        return f"user_{function}({', '.join(asked)})"

    several = len(program.state) > 1
    stores = []
    for place, kind in enumerate(types_.state):
        value = f"result[{place}]" if several else "result"
        cast = "bool_" if kind == "bool" else kind
        fitted = f"fit({place}, {value})" if checked else f"np.{cast}({value})"
        stores.append("    " + access.write("state", f"columns[{place}]", "pair", fitted))
    reads = "edge" in program.sources["value"].parameters and bool(program.edges)
    none = f"Edge({', '.join(['0.0'] * len(program.edges))})"
    flags, sent = types_.message == ("bool",), call("common")
    lines = [
        f"ANY = {program.combine == 'any'}",
        f"EDGES = {reads}",
        "@inline\ndef load(constants, vertex):",
        f"    return Vertex({', '.join(constants_text(program, types_, access))})",
        "@inline\ndef message(w, u, v, edges, one, other, values):",
        message_result(types_, f"user_lift({sent})" if "lift" in program.sources else sent),
        "@inline\ndef nothing():",
        f"    return {identity_text(program, types_)}",
        "@inline\ndef merge(first, second):",
        message_result(types_, merge_text(program, types_))
        if program.combine != "any" or flags
        else "    return second",
        "@inline\ndef is_enough(gathered):",
        f"    return {'bool(gathered)' if flags else 'True'}",
        "@inline\ndef put(columns, pair, u, v, edges, arc, gathered, values):",
        f"    between = {none}",
        *([f"    if arc >= 0:\n        between = {edge('arc')}"] if reads else []),
        f"    result = {call('value')}",
        *stores,
    ]
    return "\n".join(lines)


def pair_source(program: EdgeProgram, types_: EdgeTypes) -> str:
    """Write the module that contains a program and its loops.

    Parameters
    ----------
    program : EdgeProgram
    types_ : EdgeTypes

    Returns
    -------
    str
        Python source, the same for the same program and types.
    """
    parts = [
        f'"""Loops of the edge program {program.name}, generated."""',
        *program_text(
            program, "from cugraph_ws.kernels.cpu.jit import inline, jit", pair_records(program)
        ),
        pair_adaptors(program, types_),
        *[loop_text(loop) for loop in LOOPS],
    ]
    return "\n\n".join(parts) + "\n"


def compiled_pairs(program: EdgeProgram, types_: EdgeTypes) -> types.ModuleType:
    """Return the program's module for the CPU engine; its functions compile when first called.

    Parameters
    ----------
    program : EdgeProgram
    types_ : EdgeTypes

    Returns
    -------
    module
        Contains the functions of `kernels/cpu/pairs.py`.
    """
    return compiled_module(program, types_, pair_source)


def plain_pairs(program: EdgeProgram, types_: EdgeTypes) -> types.ModuleType:
    """Return the program's module as plain Python: the user's functions themselves.

    Parameters
    ----------
    program : EdgeProgram
    types_ : EdgeTypes

    Returns
    -------
    module
        The same functions as in the compiled module.
    """
    fit, text = (
        fitting(program, types_),
        pair_adaptors(program, types_, checked=True),
    )
    return plain_module(program, pair_records(program), fit, text, LOOPS)
