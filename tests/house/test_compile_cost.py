"""What makes Numba compile for seconds, and that loops can do without."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOOPS = [*ROOT.glob("kernels/cpu/*.py"), *ROOT.glob("kernels/accelerators/*/*.py")]


def copied_slices(text: str) -> list[int]:
    """Return the lines that assign to a slice what may be an array: not a literal, not a constant."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Subscript)
        and isinstance(node.targets[0].slice, ast.Slice)
        and not isinstance(node.value, ast.Constant | ast.UnaryOp)
        and not (isinstance(node.value, ast.Name) and node.value.id.isupper())
    ]


def test_loops_copy_arrays_element_by_element() -> None:
    """The copy of an array to a slice brings in text for an error of shapes: 2.6 s of Louvain's 5.7."""
    assert copied_slices("a[:] = b\na[:] = -1\na[1:] = FREE\na[2] = b") == [1]
    assert LOOPS
    copies = {path.name: copied_slices(path.read_text()) for path in LOOPS}
    assert {name: lines for name, lines in copies.items() if lines} == {}
