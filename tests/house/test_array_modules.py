"""Code for arrays of either library, NumPy's or CuPy's (`xp`), asks only for what both can do.

The emulated GPU computes with NumPy, so that only a GPU shows what CuPy lacks.
"""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NUMPY_ALONE = {"initial", "where"}  # arguments of `max`, `min` and `sum` that CuPy's do not take
REDUCTIONS = {"max", "min", "sum", "prod", "any", "all"}


def numpy_alone(text: str) -> list[int]:
    """Return the lines of functions with `xp` in which a reduction has an argument of NumPy alone.

    NumPy's own functions (`np.max`) may: their arrays are on the host.
    """
    lines: set[int] = set()
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, ast.FunctionDef):
            continue
        nodes = list(ast.walk(function))
        if not any(getattr(node, "id", getattr(node, "arg", "")) == "xp" for node in nodes):
            continue
        lines |= {
            node.lineno
            for node in nodes
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in REDUCTIONS
            and getattr(node.func.value, "id", "") != "np"
            and any(keyword.arg in NUMPY_ALONE for keyword in node.keywords)
        }
    return sorted(lines)


def test_arguments_of_numpy_alone_are_found() -> None:
    body = "    xp = part.xp\n    most = values.max(initial=0)\n    np.max(values, initial=0)\n"
    assert numpy_alone(f"def step(part):\n{body}") == [3]
    assert numpy_alone("def check(values):\n    return values.max(initial=0)\n") == []


@pytest.mark.parametrize("folder", ["cugraph_ws", "kernels"])
def test_reductions_are_those_of_both_libraries(folder: str) -> None:
    found = {
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line in numpy_alone(path.read_text())
    }
    assert found == set()
