"""Generates the module that Numba compiles from a checked walk and `kernels/cpu/walks.py`.

As for vertex programs (`cugraph_ws.program.codegen`), the walk's function replaces the name in
`kernels/cpu/walk_interface.py`.
"""

from __future__ import annotations

import types
from dataclasses import dataclass

from cugraph_ws.program.codegen import Access, loop_text, program_text
from cugraph_ws.program.modules import compiled_module
from cugraph_ws.program.walk_program import NEXT, WalkProgram, by_weight

__all__ = ["ROWS", "WalkTypes", "compiled_walk", "walk_adaptors", "walk_records", "walk_source"]

ROWS = "walk_rows"  # functions of `kernels/cpu`, for GPUs too
LOOPS = (ROWS, "walks")


@dataclass(frozen=True)
class WalkTypes:
    """The types of a walk on a graph, as NumPy names: of the edge attributes, and of the parameters."""

    edges: tuple[str, ...]
    parameters: tuple[str, ...]


def walk_records(program: WalkProgram) -> dict[str, tuple[str, ...]]:
    """Return the named tuples that a walk's function sees, and their fields.

    Parameters
    ----------
    program : WalkProgram

    Returns
    -------
    dict of tuple of str
    """
    return {
        "Walker": ("seed", "number", "step", "vertex", "previous", "arc"),
        "Edges": ("rows", "columns", "sums", "beyond", "begin", "degree"),
        "Edge": ("dst", *program.edges),
    }


def walk_adaptors(program: WalkProgram, types_: WalkTypes, access: Access | None = None) -> str:
    """Write the function of `kernels/cpu/walk_interface.py` for a walk, and those that its source calls.

    Parameters
    ----------
    program : WalkProgram
    types_ : WalkTypes
    access : Access, optional
        How arrays are read and written; by indexing if not given.

    Returns
    -------
    str
        Python source.
    """
    access = access or Access()
    read = [
        f"np.{kind}({access.read('edge', f'edges.columns[{place}]', 'arc', kind)})"
        for place, kind in enumerate(types_.edges)
    ]
    nothing = ", ".join(["np.int64(-1)", *(f"np.{kind}(0)" for kind in types_.edges)])
    values = [f"values[{place}]" for place in range(len(types_.parameters))]
    sums = {column: f"edges.sums[{place}]" for place, column in enumerate(program.weights)}
    lines = [
        "@inline\ndef ws_arc(edges, arc):",
        f"    return Edge({', '.join(['np.int64(edges.rows[1][arc])', *read])})",
        "@inline\ndef ws_edge(edges, place):",
        "    arc = edges.begin + place",
        "    if place < 0 or place >= edges.degree:",
        f"        {access.note('edges.beyond', '1')}",
        "        arc = edges.begin",
        "    return ws_arc(edges, arc)",
        "@inline\ndef ws_came_by(edges, walker):",
        f"    edge = Edge({nothing})",
        "    if walker.arc >= 0:",
        "        edge = ws_arc(edges, walker.arc)",
        "    return edge",
        "@inline\ndef ws_has_edge(edges, source, destination):",
        "    offsets, indices, vertices = edges.rows",
        "    return has_arc(offsets, indices, vertices, source, destination)",
        *(
            f"@inline\ndef {by_weight(column)}(edges, random):\n"
            f"    return drawn_place({array}, edges.begin, edges.degree, random)"
            for column, array in sums.items()
        ),
        "@inline\ndef next_edge(rows, columns, sums, beyond, values, walker, begin, degree):",
        "    edges = Edges(rows, columns, sums, beyond, begin, degree)",
        f"    return np.int64(user_{NEXT}({', '.join(['Walker(*walker)', 'edges', *values])}))",
    ]
    return "\n".join(lines)


def walk_source(program: WalkProgram, types_: WalkTypes) -> str:
    """Write the module that contains a walk and its loop.

    Parameters
    ----------
    program : WalkProgram
    types_ : WalkTypes

    Returns
    -------
    str
        Python source, the same for the same walk and types.
    """
    parts = [
        f'"""The loop of the walk {program.name}, generated."""',
        *program_text(
            program, "from cugraph_ws.kernels.cpu.jit import inline, jit", walk_records(program)
        ),
        walk_adaptors(program, types_),
        *[loop_text(loop) for loop in LOOPS],
    ]
    return "\n\n".join(parts) + "\n"


def compiled_walk(program: WalkProgram, types_: WalkTypes) -> types.ModuleType:
    """Return the walk's module for the CPU engine; its functions compile when first called.

    Parameters
    ----------
    program : WalkProgram
    types_ : WalkTypes

    Returns
    -------
    module
        Contains the function of `kernels/cpu/walks.py`.
    """
    return compiled_module(program, types_, walk_source)
