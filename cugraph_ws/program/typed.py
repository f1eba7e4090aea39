"""A program's functions as plain Python that computes with the compiler's types.

Every operation of a function becomes a call into `cugraph_ws.program.arithmetic`, which knows the type
that Numba gives its result.  What a variable, a conditional expression or a function is on several paths
is converted to the one type that Numba finds for all of them.  The code has the file and the lines of the
user's function, so that pdb, coverage and errors show these.
"""

from __future__ import annotations

import ast
import copy
import math
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from cugraph_ws.program.arithmetic import call, converter, numba_type, operation, power
from cugraph_ws.program.inference import inferred
from cugraph_ws.program.infinity import TEXTS, plain_functions
from cugraph_ws.program.source import BUILTINS, FunctionSource
from cugraph_ws.runtime.parsing import parse

__all__ = ["typed_function"]

MARK = "ws_node_"  # start of the name of a variable that holds the value of an expression
OPERATIONS = (
    "Add", "Sub", "Mult", "Div", "FloorDiv", "Mod", "Pow", "BitAnd", "BitOr", "BitXor", "LShift", "RShift",
    "Lt", "LtE", "Gt", "GtE", "Eq", "NotEq", "USub", "UAdd", "Invert",
)  # fmt: skip


def typed_function(source: FunctionSource, owner: str, **names: Any) -> Callable[..., Any]:
    """Return a function that computes in plain Python what the compiled one computes.

    Parameters
    ----------
    source : FunctionSource
        The function and its helpers.
    owner : str
        Name of the program, for errors.
    **names
        What the function may read besides.

    Returns
    -------
    callable
        Types are inferred when it is first called, from its arguments.  A function that does not compile
        has the types of its operations alone.
    """
    defined = source.definitions or tuple(
        (f"<{owner}>", node)
        for node in parse(source.text).body
        if isinstance(node, ast.FunctionDef)
    )
    space: dict[str, Any] = {"math": math, "np": np, **plain_functions(owner)}
    space |= {f"ws_{name}": operation(name) for name in OPERATIONS}
    space |= {"ws_call": call, "ws_power": power, **names}
    texts = [text for name, text in TEXTS.items() if name in source.text]
    texts += [ast.unparse(definition) for _, definition in defined]
    wrapper: Any = None
    for file, definition in defined:
        is_helper = definition is not defined[-1][1]
        kind = _Helper if is_helper else _Main
        wrapper = space[definition.name] = kind(file, definition, space, "\n\n".join(texts))
    return wrapper.__call__  # type: ignore[no-any-return]


class _Main:
    """A function; its arguments have the same types in every call."""

    def __init__(
        self, file: str, definition: ast.FunctionDef, space: dict[str, Any], text: str
    ) -> None:
        self.file, self.space, self.text = file, space, text
        self.tree = _numbered(definition)
        self.known: dict[Any, FunctionType] = {}
        self.function: FunctionType | None = None

    def __call__(self, *arguments: Any) -> Any:
        if self.function is not None:
            return self.function(*arguments)
        kinds = tuple(map(numba_type, arguments))
        function = self.specialised(kinds)
        if None not in kinds:
            self.function = function
        return function(*arguments)

    def specialised(self, kinds: tuple[Any, ...]) -> FunctionType:
        """Return the function for arguments of some types."""
        known = self.known.get(kinds)
        if known is None:
            known = self.known[kinds] = self.compiled(*self.types(kinds))
        return known

    def types(self, kinds: tuple[Any, ...]) -> tuple[Mapping[int, Any], Any]:
        """Return Numba's types of numbered expressions, and of the result; none if it does not compile."""
        from numba.core import types
        from numba.core.errors import NumbaError

        if None in kinds:
            return {}, None
        marked = _Marking().visit(copy.deepcopy(self.tree))
        text = "\n\n".join([self.text, ast.unparse(ast.fix_missing_locations(marked))])
        try:
            variables, returned = inferred(text, self.tree.name, kinds)
        except NumbaError:
            return {}, None
        types_of: dict[int, set[Any]] = {}
        for name, kind in variables.items():
            if name.startswith(MARK):
                number = int(name.removeprefix(MARK).partition(".")[0])
                types_of.setdefault(number, set()).add(types.unliteral(kind))
        return {
            number: candidates.pop()
            for number, candidates in types_of.items()
            if len(candidates) == 1
        }, returned

    def compiled(self, kinds: Mapping[int, Any], returned: Any) -> FunctionType:
        """Return the function with its operations replaced, for these types."""
        casts = {f"ws_to_{number}": converter(kind) for number, kind in kinds.items()}
        if returned is not None:
            casts["ws_to_result"] = converter(returned)
        local = {argument.arg for argument in self.tree.args.args} | _stored(self.tree)
        tree = _Typing(casts, local).visit(copy.deepcopy(self.tree))
        module = ast.fix_missing_locations(ast.Module([tree], []))
        space = {**self.space, **casts}
        exec(compile(module, self.file, "exec"), space)  # noqa: S102 - checked by `cugraph_ws.program.source`
        function: FunctionType = space[self.tree.name]
        # Calls of helpers look them up when they run.
        return function


class _Helper(_Main):
    """A helper, which is compiled for each combination of types that it is called with."""

    def __call__(self, *arguments: Any) -> Any:
        return self.specialised(tuple(map(numba_type, arguments)))(*arguments)


def _stored(tree: ast.AST) -> set[str]:
    """Return the names that a function assigns."""
    return {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _numbered(definition: ast.FunctionDef) -> ast.FunctionDef:
    """Return a copy in which every expression whose type depends on paths has a number."""
    tree: ast.FunctionDef = _Spelt().visit(copy.deepcopy(definition))
    names = _stored(tree)
    several = [
        node
        for node in ast.walk(tree)
        if isinstance(node, (ast.IfExp, ast.BoolOp))
        or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names)
    ]
    for number, node in enumerate(several):
        vars(node)["ws_number"] = number
    return tree


class _Spelt(ast.NodeTransformer):
    """Writes `x += 1` as `x = x + 1`."""

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """Return an assignment."""
        if not isinstance(node.target, ast.Name):
            return node
        read = ast.Name(node.target.id, ast.Load())
        value = ast.BinOp(read, node.op, self.visit(node.value))
        assignment = ast.Assign([node.target], value)
        return ast.fix_missing_locations(ast.copy_location(assignment, node))


class _Marking(ast.NodeTransformer):
    """Assigns numbered expressions to variables, of which Numba then knows the types."""

    def visit(self, node: ast.AST) -> Any:
        """Return the node, or its assignment to a variable."""
        number = getattr(node, "ws_number", None)
        visited = self.generic_visit(node)
        if number is None:
            return visited
        assert isinstance(visited, ast.expr)
        target = ast.Name(f"{MARK}{number}", ast.Store())
        return ast.copy_location(ast.NamedExpr(target, visited), node)


class _Typing(ast.NodeTransformer):
    """Replaces operations by calls, and converts numbered expressions.

    Parameters
    ----------
    casts : mapping
        By name, the functions that convert.
    local : set of str
        The function's variables.
    """

    def __init__(self, casts: Mapping[str, Any], local: set[str]) -> None:
        self.casts, self.local = casts, local

    def visit(self, node: ast.AST) -> Any:
        """Replace a node."""
        visited = super().visit(node)
        name = f"ws_to_{getattr(node, 'ws_number', None)}"
        return _calling(node, name, [visited]) if name in self.casts else visited

    def visit_Return(self, node: ast.Return) -> ast.AST:
        """Convert the result."""
        visited = self.generic_visit(node)
        if node.value is not None and "ws_to_result" in self.casts:
            node.value = _calling(node, "ws_to_result", [node.value])
        return visited

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Replace an operation; one of constants is computed by Python, before it is compiled too."""
        if _is_constant(node):
            return node
        first, second = self.visit(node.left), self.visit(node.right)
        if isinstance(node.op, ast.Pow) and _is_whole(node.right):
            return _calling(node, "ws_power", [first, second])
        return _calling(node, f"ws_{type(node.op).__name__}", [first, second])

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """Replace an operation."""
        if _is_constant(node) or isinstance(node.op, ast.Not):
            return self.generic_visit(node)
        return _calling(node, f"ws_{type(node.op).__name__}", [self.visit(node.operand)])

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Replace a chain of comparisons by a conjunction."""
        if not all(type(operator).__name__ in OPERATIONS for operator in node.ops):
            return self.generic_visit(node)
        sides = [self.visit(side) for side in (node.left, *node.comparators)]
        comparisons = [
            _calling(node, f"ws_{type(operator).__name__}", [sides[place], sides[place + 1]])
            for place, operator in enumerate(node.ops)
        ]
        return (
            comparisons[0]
            if len(comparisons) == 1
            else ast.copy_location(ast.BoolOp(ast.And(), comparisons), node)
        )

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Replace a call of a function of Python, `math` or NumPy."""
        arguments = [self.visit(argument) for argument in node.args]
        called = ast.unparse(node.func)
        known = called in BUILTINS and called not in self.local
        if not node.keywords and (known or called.startswith(("math.", "np."))):
            return _calling(node, "ws_call", [node.func, *arguments])
        return ast.copy_location(ast.Call(node.func, arguments, node.keywords), node)


def _calling(node: ast.AST, name: str, arguments: Sequence[ast.expr]) -> ast.expr:
    call_node = ast.Call(ast.Name(name, ast.Load()), list(arguments), [])
    return ast.fix_missing_locations(ast.copy_location(call_node, node))


def _is_whole(node: ast.expr) -> bool:
    """Return whether an expression is an integer of the source, perhaps with a sign."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant) and type(node.value) is int


def _is_constant(node: ast.AST) -> bool:
    """Return whether an expression consists of numbers in the source."""
    if isinstance(node, ast.BinOp):
        return _is_constant(node.left) and _is_constant(node.right)
    if isinstance(node, ast.UnaryOp):
        return _is_constant(node.operand)
    return isinstance(node, ast.Constant)
