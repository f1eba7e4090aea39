"""Loops hand on what is opaque to them, and look into none of it: they are compiled once for programs of all types."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from cugraph_ws.backends.cuda.codegen import (
    EDGE_STATE_LOOPS,
    LOOPS,
    WORKLIST_LOOPS,
    frontier_loops,
)
from cugraph_ws.backends.cuda.opaque_types import PARAMETERS, RETURNED, opaque_text
from cugraph_ws.backends.cuda.schedule import layout_of
from cugraph_ws.runtime.generated import kernel_file

MODULES = sorted({
    *LOOPS, *WORKLIST_LOOPS, *EDGE_STATE_LOOPS, *frontier_loops(), "lists", "modes", "out_edges",
    *layout_of("gshards").loops,
})  # fmt: skip
OPAQUE = {name for name, roles in PARAMETERS.items() if isinstance(roles, str)}


def functions_of(module: str) -> list[ast.FunctionDef]:
    tree = ast.parse(kernel_file("cuda", module).read_text("utf-8"))
    return [node for node in tree.body if isinstance(node, ast.FunctionDef)]


def looks_into(function: ast.FunctionDef) -> list[str]:
    """Return where a function uses a value of an opaque type but to hand it on."""
    names = OPAQUE & {argument.arg for argument in function.args.args}
    handed_on: set[int] = set()
    for node in ast.walk(function):
        parts: list[Any] = []
        if isinstance(node, ast.Call):
            parts = node.args
        elif isinstance(node, ast.Tuple):
            parts = node.elts
        elif isinstance(node, (ast.Assign, ast.Return)) and isinstance(node.value, ast.Name):
            parts = [node.value]
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
                parts = []  # it is taken apart
        handed_on |= {id(part) for part in parts}
    return [
        f"{function.name}, line {node.lineno}: {node.id}"
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and node.id in names and id(node) not in handed_on
    ]


@pytest.mark.parametrize("module", MODULES)
def test_loops_hand_on_what_is_opaque(module: str) -> None:
    assert [found for function in functions_of(module) for found in looks_into(function)] == []


def test_looking_into_something_is_seen() -> None:
    text = """
def fine(state, edges, arc):
    kept = state
    load(kept, edges)
    return (state, edges), edges

def wrong(state, constants, edges, outbox):
    first, second = constants
    for array in edges:
        array += state[0]
    return outbox + 1
"""
    fine, wrong = (node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef))
    assert looks_into(fine) == []
    assert sorted(word.split(": ")[1] for word in looks_into(wrong)) == [
        "constants", "edges", "outbox", "state",
    ]  # fmt: skip


def test_every_parameter_and_every_function_is_there() -> None:
    """A name that has gone would be looked into without a word, and its loops compiled for each program."""
    parameters = {
        argument.arg
        for module in MODULES
        for function in functions_of(module)
        for argument in function.args.args
    }
    assert set(PARAMETERS) <= parameters
    interface = {
        node.name
        for module in ("cuda", "cpu")
        for node in ast.parse(kernel_file(module, "interface").read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef)
    }
    assert set(RETURNED) <= interface


def test_interface_functions_are_marked_by_what_they_return() -> None:
    text = opaque_text(
        "@inline\ndef stored_int32(x):\n    return x\n\n@inline\ndef message(s):\n    return s\n\n"
        "@inline\ndef same(a, b):\n    return a == b"
    )
    assert text.startswith("OPAQUE = opaque_types({")
    assert "@inline\ndef stored_int32(" in text
    assert "@interface('message')\ndef message(" in text
    assert "@interface(None)\ndef same(" in text
