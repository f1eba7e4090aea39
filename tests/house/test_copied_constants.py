"""Constants that say they are as in a kernel's file have its values.

The host does not import that file, since it imports a compiler.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import cugraph_ws as ws

HOME = Path(ws.__file__).parents[1]
COPIED = re.compile(
    r"^([A-Z_, ]+) = .*# .*\bas (?:([A-Z_]+) )?in (kernels/[\w/]+\.py)", re.MULTILINE
)
LEAST = 15  # constants that were compared when this test was written


def constants_of(text: str) -> dict[str, Any]:
    """Return the literal constants of a module by name."""
    values: dict[str, Any] = {}
    for statement in ast.parse(text).body:
        if not isinstance(statement, ast.Assign):
            continue
        (target,) = statement.targets
        try:
            value = ast.literal_eval(statement.value)
        except ValueError:  # computed
            continue
        if isinstance(target, ast.Tuple):
            names = [element.id for element in target.elts if isinstance(element, ast.Name)]
            values.update(zip(names, value, strict=True))
        elif isinstance(target, ast.Name):
            values[target.id] = value
    return values


def compared(text: str) -> list[tuple[str, Any, Any]]:
    """Return the copies of a module that its kernels' files name too, with both values."""
    copies, pairs = constants_of(text), []
    for names, kernel_name, file in COPIED.findall(text):
        originals = constants_of((HOME / file).read_text("utf-8"))
        originals_of = {name: kernel_name or name for name in names.split(", ")}
        pairs += [
            (name, copies[name], originals[original])
            for name, original in originals_of.items()
            if original in originals
        ]
    return pairs


def test_copies_of_kernels_constants_have_their_values() -> None:
    count = 0
    for path in (HOME / "cugraph_ws").rglob("*.py"):
        for name, copy, original in compared(path.read_text("utf-8")):
            assert copy == original, f"{path}: {name}"
            count += 1
    assert count >= LEAST


def test_a_copy_that_differs_is_noticed() -> None:
    ((_, copy, original),) = compared("DONE = 7  # as in kernels/cuda/hits.py\n")
    assert (copy, original) == (7, 1)
