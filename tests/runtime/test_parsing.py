"""Source is parsed in one thread at a time, and again where another package's thread disturbed it."""

from __future__ import annotations

import ast
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cugraph_ws.runtime import parsing

ROOT = Path(__file__).parents[2]
TEXT = "\n".join(f"def f{place}(a, b):\n    return a + b * {place}" for place in range(50))


def test_the_library_parses_in_one_place() -> None:
    callers = {
        path.name
        for folder in ("cugraph_ws", "kernels")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "ast.parse"
    }
    assert callers == {"parsing.py"}


def test_what_a_thread_disturbed_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    failures = [SystemError("AST constructor recursion depth mismatch (before=105, after=113)")] * 3

    def disturbed(text: str) -> ast.Module:
        if failures:
            raise failures.pop()
        return genuine(text)

    genuine = ast.parse
    monkeypatch.setattr(parsing.ast, "parse", disturbed)
    assert ast.unparse(parsing.parse_expression("a + b")) == "a + b"
    assert failures == []
    failures += [SystemError("another")] * 99
    with pytest.raises(SystemError, match="another"):
        parsing.parse("a")


def test_threads_parse_at_once_beside_others() -> None:
    """Half of them by Python itself, as other packages do; those may fail before Python 3.12."""

    def deep(place: int, depth: int) -> str:
        if depth:
            return deep(place, depth - 1)
        if place % 2:
            try:
                return ast.dump(ast.parse(TEXT))
            except SystemError:
                return expected
        return ast.dump(parsing.parse(TEXT))

    expected = ast.dump(ast.parse(TEXT))
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(deep, range(200), [place % 7 for place in range(200)])) == {expected}


def test_an_expression() -> None:
    assert isinstance(parsing.parse_expression("edge.x"), ast.Attribute)
    with pytest.raises(SyntaxError):
        parsing.parse_expression("a b")
