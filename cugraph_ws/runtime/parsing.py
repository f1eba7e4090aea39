"""Parse Python source, in one thread at a time.

Before Python 3.12, `ast.parse` in two threads at once may fail with "AST constructor recursion depth
mismatch" (SystemError), because they share a counter.  Ranks may be threads of one process, so that all of the
library parses here.  Threads of other packages may still parse at the same time: what fails so is repeated.
"""

from __future__ import annotations

import ast
import threading

__all__ = ["in_pieces", "parse", "parse_expression"]

MOST = 30  # items of a tuple, and arguments of a call, that CPython puts on the stack
TRIES = 10  # of a parse that other packages' threads disturb

_ONE_AT_A_TIME = threading.Lock()


def parse(text: str) -> ast.Module:
    """Return the tree of a module's source; see `ast.parse`.

    Parameters
    ----------
    text : str

    Returns
    -------
    ast.Module
    """
    with _ONE_AT_A_TIME:
        for _ in range(TRIES - 1):
            try:
                return ast.parse(text)
            except SystemError:  # another package's thread parses now
                continue
        return ast.parse(text)


def parse_expression(text: str) -> ast.expr:
    """Return the tree of an expression's source.

    Parameters
    ----------
    text : str

    Returns
    -------
    ast.expr
    """
    (statement,) = parse(text).body
    assert isinstance(statement, ast.Expr)
    return statement.value


def in_pieces(text: str) -> str:
    """Return source in which wide tuples are sums of narrow ones, and calls take them unpacked.

    CPython builds a tuple of more than 30 items, or the arguments of such a call, through a list, which
    Numba does not compile.

    Parameters
    ----------
    text : str
        Source of which every statement is on one line, such as that of `ast.unparse`.

    Returns
    -------
    str
        The same text if nothing in it is wide.
    """
    if not any(line.count(",") >= MOST for line in text.splitlines()):
        return text
    return ast.unparse(ast.fix_missing_locations(_Pieces().visit(parse(text))))


class _Pieces(ast.NodeTransformer):
    """Splits wide tuples and calls inside functions."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Split in a function; what runs once, when a module is imported, is not compiled."""
        node.body = [_Split().visit(statement) for statement in node.body]
        return node


class _Split(ast.NodeTransformer):
    def visit_Tuple(self, node: ast.Tuple) -> ast.AST:
        """Split a tuple that is read."""
        self.generic_visit(node)
        wide = len(node.elts) > MOST and isinstance(node.ctx, ast.Load)
        return _joined(node.elts) if wide else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Split the arguments of a call."""
        self.generic_visit(node)
        if len(node.args) > MOST:
            node.args = [ast.Starred(_joined(node.args), ast.Load())]
        return node


def _joined(items: list[ast.expr]) -> ast.expr:
    """Return a sum of tuples of at most `MOST` items."""
    pieces: list[ast.expr] = [
        ast.Tuple(items[first : first + MOST], ast.Load()) for first in range(0, len(items), MOST)
    ]
    result = pieces[0]
    for piece in pieces[1:]:
        result = ast.BinOp(result, ast.Add(), piece)
    return result
