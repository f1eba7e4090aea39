"""A function over vectors, written again as loops over their elements.

In a program with `ws.vector` a function reads vectors as NumPy arrays.  Compiled that way, each operation would
allocate an array for each edge.  So what the function assigns to a vector is put in the place of the variable,
until an element of the result is an expression over elements that are in memory: `t = src.x * w; return t / 2`
stores `state[0][source, ws_e] * w / 2` for each `ws_e`.  Reductions, such as `np.sum(t)`, become loops before the
statement that reads them.  No vector is ever stored in between, so that threads of a GPU can share a loop.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from cugraph_ws.errors import ProgramError
from cugraph_ws.program.source import NO_MESSAGE, FunctionSource
from cugraph_ws.runtime.parsing import parse

__all__ = ["ELEMENT", "ELEMENTS", "ElementLoops", "Operand", "Parts"]

ELEMENT = "ws_e"  # the index of an element in loops
ELEMENTS = "ws_n"  # the number of elements, set before the statements
MAKERS = ("arange", "zeros", "ones", "full")  # functions of NumPy that return a vector of a length
REDUCTIONS = ("argmax", "argmin", "dot", "max", "mean", "min", "sum")
ELEMENTWISE = (
    "abs", "absolute", "ceil", "cos", "exp", "expm1", "floor", "isfinite", "isinf", "isnan", "log", "log10",
    "log1p", "log2", "logical_and", "logical_not", "logical_or", "maximum", "minimum", "sign", "sin", "sqrt",
    "tanh",
)  # fmt: skip
OF_NUMPY = ", ".join(f"np.{name}" for name in sorted({*ELEMENTWISE, *MAKERS, *REDUCTIONS, "where"}))

Operand = tuple[str, bool]  # an expression, over `ELEMENT` if it is a vector; whether it is one
Parts = list[tuple[ast.expr, bool]] | None  # what a function returns; None for no message
Names = Mapping[str, Operand | list[Operand]]


class ElementLoops(ast.NodeTransformer):
    """Writes the statements of one function; `lines` has them.

    Parameters
    ----------
    owner : str
        Name of the program, for errors.
    source : FunctionSource
    length : int
        Number of elements of every vector.
    names : mapping
        The expression for each name that the function reads, such as `src.x` or `gathered`; for a tuple its
        parts.
    result : callable
        Given what the function returns, writes the statements that store or return it.

    Raises
    ------
    ProgramError
        If the function does with vectors what cannot be done element by element.
    """

    def __init__(
        self,
        owner: str,
        source: FunctionSource,
        length: int,
        names: Names,
        result: Callable[[Parts], list[str]],
    ) -> None:
        self._file, definition = source.definitions[-1]
        self._owner, self._function = owner, definition.name.removeprefix("user_")
        self._length, self._names, self._result = length, names, result
        self._helpers = {part.name for _, part in source.definitions[:-1]} | {"ws_cell"}
        self._records = {name.split(".")[0] for name in names if "." in name} | {
            name for name in source.parameters if name not in names
        }
        self._variables = {
            node.id
            for node in ast.walk(definition)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        self._vectors: dict[
            str, ast.expr
        ] = {}  # what is in the place of variables that are vectors
        self._tuples = {name: value for name, value in names.items() if isinstance(value, list)}
        self._scalars: set[str] = set()
        self._in_loop = False
        self._depth, self._temporaries = 1, 0
        self.lines: list[str] = []
        for name in sorted(self._variables & {*names}):  # arguments to which it assigns
            value = names[name]
            if not isinstance(value, list):
                self._set(definition, name, written(value))
        self._block(copy.deepcopy(definition).body)

    def _fail(self, node: ast.AST, what: str) -> NoReturn:
        line = getattr(node, "lineno", "?")
        raise ProgramError(f"{self._owner}.{self._function}, line {line} of {self._file}: {what}")

    def _write(self, text: str) -> None:
        self.lines.append("    " * self._depth + text)

    def _temporary(self, text: str) -> ast.Name:
        """Store a number; return its name."""
        self._temporaries += 1
        name = f"ws_s{self._temporaries}"
        self._write(f"{name} = {text}")
        return ast.Name(name, ast.Load())

    def _stored(self, node: ast.expr) -> ast.expr:
        """Return a number that later statements do not change: a constant, or a variable of its own."""
        if isinstance(node, ast.Constant) or (
            isinstance(node, ast.Name) and node.id.startswith("ws_s")
        ):
            return node
        return self._temporary(ast.unparse(node))

    # ---------------------------------------------------------------------------- statements

    def _block(self, statements: Sequence[ast.stmt]) -> bool:
        """Write statements; return whether they always return."""
        return any(self._statement(statement) for statement in statements)

    def _indented(self, statements: Sequence[ast.stmt]) -> bool:
        self._depth += 1
        before = len(self.lines)
        returns = self._block(statements)
        if len(self.lines) == before:
            self._write("pass")
        self._depth -= 1
        return returns

    def _statement(self, node: ast.stmt) -> bool:
        match node:
            case ast.Return():
                self._return(node)
                return True
            case ast.If():
                return self._branches(node)
            case ast.Assign():
                self._assign(node)
            case ast.AugAssign(target=ast.Name(id=name)):
                read = ast.copy_location(ast.Name(name, ast.Load()), node)
                value = ast.copy_location(ast.BinOp(read, node.op, node.value), node)
                self._set(node, name, self.visit(value))
            case ast.While():
                self._write("while True:")
                self._loop(node, node.test)
            case ast.For(target=ast.Name(id=name)):
                iterated = self.visit(node.iter)
                if is_vector(iterated):
                    self._fail(node, "iterates over a vector; write `for i in range(len(…))`")
                self._write(f"for my_{name} in {ast.unparse(iterated)}:")
                self._scalars.add(name)
                self._loop(node)
            case ast.Expr() | ast.Pass():
                pass
            case ast.Break() | ast.Continue():
                self._write(ast.unparse(node))
            case _:
                self._fail(node, f"`{ast.unparse(node)}` is not possible in a program with vectors")
        return False

    def _loop(self, node: ast.For | ast.While, test: ast.expr | None = None) -> None:
        """Write the body of a loop, which ends where `test` is false."""
        if node.orelse:
            self._fail(node, "has a loop with else; leave it out")
        outer, self._in_loop = self._in_loop, True
        self._depth += 1
        before = len(self.lines)
        if test is not None:
            text = ast.unparse(self._number(test, "`while`"))
            self._write(f"if not ({text}):")
            self._write("    break")
        self._block(node.body)
        if len(self.lines) == before:
            self._write("pass")
        self._depth -= 1
        self._in_loop = outer

    def _branches(self, node: ast.If) -> bool:
        """Write an if statement; a vector assigned in it is a choice between two expressions after it."""
        test = self._stored(self._number(node.test, "`if`"))
        before = dict(self._vectors)
        self._write(f"if {ast.unparse(test)}:")
        first_returns = self._indented(node.body)
        first, self._vectors = self._vectors, before.copy()
        second_returns = False
        if node.orelse:
            self._write("else:")
            second_returns = self._indented(node.orelse)
        if first_returns or second_returns:
            self._vectors = self._vectors if first_returns else first
            return first_returns and second_returns
        for name, value in first.items():
            unlike = self._vectors.get(name)
            if unlike is not None and unlike is not value:
                value = as_vector(ast.IfExp(test, value, unlike))
            self._vectors[name] = value
        return False

    def _assign(self, node: ast.Assign) -> None:
        value = node.value
        for target in node.targets:
            if isinstance(target, ast.Name):
                if isinstance(value, ast.Name) and value.id in self._tuples:
                    self._tuples = {**self._tuples, target.id: self._tuples[value.id]}
                else:
                    self._set(node, target.id, self.visit(value))
                continue
            parts = self._parts(value)
            assert isinstance(target, ast.Tuple)
            names = [part.id for part in target.elts if isinstance(part, ast.Name)]
            if parts is None:  # a helper that returns several numbers
                targets = ", ".join(f"my_{name}" for name in names)
                self._write(f"{targets} = {ast.unparse(self.visit(value))}")
                self._scalars.update(names)
                continue
            if len(parts) != len(names):
                self._fail(node, f"assigns {len(parts)} values to {len(names)} variables")
            stored = [part if is_vector(part) else self._stored(part) for part in parts]
            for name, part in zip(names, stored, strict=True):
                self._set(node, name, part)

    def _set(self, node: ast.stmt, name: str, value: ast.expr) -> None:
        """Assign to a variable, which is always a vector or always a number."""
        self._tuples.pop(name, None)
        if is_vector(value):
            if self._in_loop:
                self._fail(
                    node,
                    f"assigns the vector `{name}` in a loop; assign numbers there, or send or return it in parts",
                )
            if name in self._scalars:
                self._fail(node, f"`{name}` is a number before, and a vector here; use two names")
            self._vectors[name] = value
            return
        if name in self._vectors:
            self._fail(node, f"`{name}` is a vector before, and a number here; use two names")
        self._scalars.add(name)
        self._write(f"my_{name} = {ast.unparse(value)}")

    def _return(self, node: ast.Return) -> None:
        value = node.value
        if isinstance(value, ast.IfExp):  # also of tuples, and of ws.no_message
            body, orelse = (
                ast.copy_location(ast.Return(end), node) for end in (value.body, value.orelse)
            )
            self._branches(ast.copy_location(ast.If(value.test, [body], [orelse]), node))
            return
        if value is None:
            self._fail(node, "returns nothing; return a value on every path")
        if isinstance(value, ast.Name) and value.id == NO_MESSAGE:
            returned: Parts = None
        else:
            parts = self._parts(value)
            parts = [self.visit(value)] if parts is None else parts
            returned = [(part, is_vector(part)) for part in parts]
        for line in self._result(returned):
            self._write(line)

    def _parts(self, node: ast.expr) -> list[ast.expr] | None:
        """Return the parts of a tuple, written; None if it is none."""
        if isinstance(node, ast.Tuple):
            return [self.visit(part) for part in node.elts]
        if isinstance(node, ast.Name) and node.id in self._tuples:
            return [written(part) for part in self._tuples[node.id]]
        return None

    # --------------------------------------------------------------------------- expressions

    def _number(self, node: ast.expr, where: str) -> ast.expr:
        value: ast.expr = self.visit(node)
        if is_vector(value):
            self._fail(
                node, f"{where} of the vector `{ast.unparse(node)}`; use np.where, np.max or np.min"
            )
        return value

    def generic_visit(self, node: ast.AST) -> Any:
        """Write an expression; a vector if a part is one."""
        super().generic_visit(node)
        children = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        if not any(map(is_vector, children)):
            return node
        if isinstance(node, (ast.BinOp, ast.Compare, ast.UnaryOp)):
            if isinstance(node, ast.Compare) and len(node.ops) > 1:
                self._fail(
                    node,
                    "compares vectors in a chain; use np.logical_and of two comparisons",
                )
            if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.Invert)):
                self._fail(node, "negates a vector of truth values; use np.logical_not")
            for name, child in ast.iter_fields(node):
                if isinstance(child, ast.expr) and not is_vector(child):
                    setattr(node, name, self._stored(child))
                if name == "comparators":
                    node.comparators = [  # type: ignore[union-attr]
                        part if is_vector(part) else self._stored(part) for part in child
                    ]
            return as_vector(node)
        if isinstance(node, ast.BoolOp):
            self._fail(node, "`and` or `or` of vectors; use np.logical_and or np.logical_or")
        return self._fail(node, f"`{ast.unparse(node)}` is not possible with vectors")

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Write what a name is: a number of the run, a variable, or a vector."""
        if node.id in self._vectors:
            return self._vectors[node.id]
        if node.id in self._tuples or (node.id in self._records and node.id not in self._names):
            self._fail(
                node,
                f"passes `{node.id}` on as a whole; in a program with vectors, read its parts",
            )
        known = self._names.get(node.id)
        if known is not None and node.id not in self._variables:
            assert not isinstance(known, list)
            return written(known)
        if node.id in self._variables:
            return ast.Name(f"my_{node.id}", ast.Load())
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Write a field of a vertex, of an edge or of `p`."""
        if isinstance(node.value, ast.Name) and node.value.id in self._records:
            known = self._names[f"{node.value.id}.{node.attr}"]
            assert not isinstance(known, list)
            return written(known)
        return node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> NoReturn:
        """Refuse an assignment within an expression."""
        self._fail(node, f"assigns within `{ast.unparse(node)}`; write a statement")

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        """Write a choice by one condition."""
        test = self._number(node.test, "`if`")
        ends = [self.visit(node.body), self.visit(node.orelse)]
        if not any(map(is_vector, ends)):
            return ast.IfExp(test, *ends)
        ends = [end if is_vector(end) else self._stored(end) for end in ends]
        return as_vector(ast.IfExp(self._stored(test), *ends))

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Write an element of a vector, or a part of a tuple; an index past the ends reads the last element."""
        if isinstance(node.value, ast.Name) and node.value.id in self._tuples:
            parts = self._tuples[node.value.id]
            place = constant_index(node.slice)
            if place is None or not -len(parts) <= place < len(parts):
                self._fail(
                    node,
                    f"reads `{ast.unparse(node)}` of a message of {len(parts)} parts; write the index of one",
                )
            return written(parts[place])
        base = self.visit(node.value)
        if not is_vector(base):
            node.value, node.slice = base, self.visit(node.slice)
            return node
        if isinstance(node.slice, (ast.Slice, ast.Tuple)):
            self._fail(node, f"`{ast.unparse(node)}` is part of a vector; read one element")
        last, place = self._length - 1, constant_index(node.slice)
        if place is not None:
            if not -self._length <= place <= last:
                self._fail(
                    node, f"reads element {place} of a vector of {self._length}; the last is {last}"
                )
            return at(base, str(place % self._length))
        index = ast.unparse(self._number(node.slice, "an index"))
        raw = self._temporary(index).id
        counted = f"({raw} + {self._length} * ({raw} < 0))"
        place_name = self._temporary(f"{counted} if 0 <= {counted} < {self._length} else {last}")
        return at(base, place_name.id)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Write a call: of a function of NumPy on vectors, or of one on numbers."""
        called = ast.unparse(node.func)
        if called.startswith("np.") and called[3:] in (*MAKERS, "dot", "where"):
            arguments = [self.visit(argument) for argument in node.args]
        else:
            arguments = [self.visit(argument) for argument in node.args]
            if not any(map(is_vector, arguments)):
                node.args = arguments
                if called.removeprefix("np.") in ELEMENTWISE and called.startswith("np."):
                    node.func = expression(self._spelled(called))
                return node
        if node.keywords:
            self._fail(node, f"`{ast.unparse(node)}`: give `{called}` no arguments by name")
        if called == "len" and len(arguments) == 1:
            return ast.Constant(self._length)
        name = called.removeprefix("np.")
        if name in MAKERS and called != name:
            return self._made(node, name, arguments)
        if name in REDUCTIONS and called != name:
            return self._reduced(node, name, arguments)
        arguments = [part if is_vector(part) else self._stored(part) for part in arguments]
        if called == "np.where" and len(arguments) == 3:
            return as_vector(ast.IfExp(*arguments))
        if (called != name and name in ELEMENTWISE) or called == "abs":
            return as_vector(ast.Call(expression(self._spelled(called)), arguments, []))
        if called in ("min", "max"):
            self._fail(
                node,
                f"calls `{called}` with a vector; np.{called} is that of its elements, and np.{called}imum that of "
                "each element of two",
            )
        return self._fail(
            node,
            f"calls `{called.split('_')[-1]}` with a vector; of functions, these take vectors: {OF_NUMPY}, abs, len",
        )

    def _made(self, node: ast.Call, name: str, arguments: list[ast.expr]) -> ast.expr:
        """Write a vector that a function of NumPy makes."""
        length = constant_index(arguments[0]) if arguments else None
        if length != self._length or len(arguments) != 1 + (name == "full"):
            self._fail(
                node,
                f"`{ast.unparse(node)}` is not a vector of {self._length} elements, as all of this program are; "
                f"write np.{name}({self._length}{', value' if name == 'full' else ''})",
            )
        if name == "full":
            return as_vector(copy.deepcopy(self._stored(self._whole(node, arguments[1]))))
        texts = {"arange": f"np.int64({ELEMENT})", "zeros": "np.float64(0.0)", "ones": "np.float64(1.0)"}  # fmt: skip
        return written((texts[name], True))

    def _whole(self, node: ast.Call, value: ast.expr) -> ast.expr:
        if is_vector(value):
            self._fail(node, f"`{ast.unparse(node)}`: give one number for all elements")
        return value

    def _reduced(self, node: ast.Call, name: str, arguments: list[ast.expr]) -> ast.expr:
        """Write a loop over the elements of a vector; return the number that it computes."""
        wanted = 2 if name == "dot" else 1
        if len(arguments) != wanted or not all(map(is_vector, arguments)):
            self._fail(node, f"np.{name} takes {wanted} vector{'s' * (wanted > 1)} here")
        value = arguments[0]
        if name == "dot":
            value = as_vector(ast.BinOp(arguments[0], ast.Mult(), arguments[1]))
        if name in ("sum", "mean") and isinstance(value, ast.Compare):
            value = as_vector(ast.Call(ast.Name("int", ast.Load()), [value], []))
        total, place = self._folded(name, value)
        if name == "mean":
            return self._temporary(f"{total} / {self._length}")
        return ast.Name(place or total, ast.Load())

    def _folded(self, name: str, value: ast.expr) -> tuple[str, str]:
        """Write a loop that folds elements; return the variables of the result and, for `argmax`, of its index."""
        total = self._temporary(ast.unparse(at(value, "0"))).id
        place = self._temporary("0").id if name.startswith("arg") else ""
        self._write(f"for {ELEMENT} in range(1, {ELEMENTS}):")
        self._depth += 1
        self._join(name, total, place, ast.unparse(value), ELEMENT)
        self._depth -= 1
        return total, place

    def _join(self, name: str, total: str, place: str, value: str, at_place: str) -> None:
        """Write what folds one more number, which is at an index, into a result."""
        if name in ("sum", "mean", "dot"):
            self._write(f"{total} = {total} + {value}")
            return
        number = self._temporary(value).id
        sign = ">" if name.endswith("max") else "<"
        # NaN is the greatest and the least, as in NumPy; of equal numbers the first counts
        unknown = f"{number} != {number} and {total}"
        first = f" or (({number} == {total} or ({unknown} != {total})) and {at_place} < {place})"
        self._write(
            f"if {number} {sign} {total} or ({unknown} == {total}){first if place else ''}:"
        )
        self._write(f"    {total} = {number}")
        if place:
            self._write(f"    {place} = {at_place}")

    def _spelled(self, called: str) -> str:
        """Return the name of a function of NumPy that computes each element."""
        return called


def as_vector(node: ast.expr) -> ast.expr:
    """Mark an expression as a vector."""
    node.ws_vector = True  # type: ignore[attr-defined]
    return node


def is_vector(node: ast.AST) -> bool:
    """Return whether an expression is a vector."""
    return getattr(node, "ws_vector", False)


def written(operand: Operand) -> ast.expr:
    """Return an operand as an expression."""
    text, vector = operand
    node = expression(text)
    return as_vector(node) if vector else node


def expression(text: str) -> ast.expr:
    """Return the tree of an expression."""
    statement = parse(text).body[0]
    assert isinstance(statement, ast.Expr)
    return statement.value


def constant_index(node: ast.expr) -> int | None:
    """Return the whole number that an expression is; None if it is none."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError):
        return None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def at(vector: ast.expr, place: str) -> ast.expr:
    """Return the element of a vector at an index."""
    index = expression(place)

    class Placed(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return index if node.id == ELEMENT else node

    element: ast.expr = Placed().visit(copy.deepcopy(vector))
    element.ws_vector = False  # type: ignore[attr-defined]
    return element
