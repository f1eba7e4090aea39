"""Proofs from a program's source: that its messages may be applied out of order, and are never NaN.

The theorem is that of chaotic iteration: if every update is monotone, all fair orders lead to the
same fixpoint (Cousot, Cousot: Automatic synthesis of optimal invariant assertions, 1977, based on
Chazan, Miranker 1969).  A program is proved monotone if

- its state is one field x, and `combine` is min (max is symmetric; `any`: a flag);
- `apply` returns min(old.x, gathered), in any spelling (`any`: `old.x or gathered`);
- `compute` is non-decreasing in the state of the source;
- `active` is left out, or returns whether x has changed;
- `compute` does not take `dst`, nothing reads `p.superstep` or an aggregate, and no residual ends
  a run early.

A program without a proof runs in supersteps, as written.

Messages of min and max are never NaN if `init`, `compute` and `apply` return a number, given that states
and messages are numbers and edge attributes are finite.
"""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from cugraph_ws.program.declarations import Constant, Distribution, Edge
from cugraph_ws.program.decorator import VertexProgram
from cugraph_ws.runtime.parsing import parse

if TYPE_CHECKING:
    from cugraph_ws.program.codegen import Types

__all__ = ["fields_of_vertex_numbers", "is_never_nan", "why_not_monotone"]

Trend = Literal["constant", "rising", "falling", "unknown"]
Sign = Literal["positive", "non-negative", "unknown"]

# Functions that are monotone for all arguments, and those that are so for finite arguments
KEEP_ORDER = {
    "float", "bool", "np.floor", "np.ceil", "np.trunc", "np.float64", "np.float32",
    "math.exp", "math.expm1", "math.tanh", "math.atan", "np.exp", "np.expm1", "np.tanh", "np.arctan",
}  # fmt: skip
KEEP_ORDER_OF_FINITE = {
    "int", "math.floor", "math.ceil", "math.trunc", "np.int64", "np.int32", "round",
}  # fmt: skip


def why_not_monotone(program: VertexProgram, state: tuple[str, ...]) -> str | None:
    """Return why a program is not proved monotone; None if it is proved.

    Parameters
    ----------
    program : VertexProgram
        The checked program.
    state : tuple of str
        NumPy type names of its state fields.

    Returns
    -------
    str or None
    """
    if program.jumps:
        return f"the jump `{next(iter(program.jumps))}` is read at another vertex"
    if not program.idempotent:
        return "combine is not min, max or any, so each message must count once"
    if len(program.state) != 1:
        return f"its state has {len(program.state)} fields"
    if program.combine == "any" and state != ("bool",):
        return "combine is any, and its state is not a boolean"
    if program.listing is not None:
        return "messages are gathered all at once"
    if program.residual is not None:
        return "its residual may end a run before the fixpoint is reached"
    if program.edge_state:
        return "it keeps state on edges"
    if program.reads_target:
        return "compute takes dst, the destination's state after the previous superstep"
    if program.reads_supersteps:
        return "it reads the superstep number or an aggregate"
    field = next(iter(program.state))
    if not _keeps_the_better(program, field):
        wanted = {"any": f"old.{field} or gathered"}
        form = wanted.get(program.combine, f"{program.combine}(old.{field}, gathered)")
        return f"apply is not plainly {form}"
    if not _tells_change(program, field):
        return f"active does not plainly return whether {field} has changed"
    trend = _Trends(program, field, state[0]).of_compute()
    if trend not in ("constant", "rising"):
        return f"compute is not plainly non-decreasing in src.{field}"
    return None


def is_never_nan(program: VertexProgram, types: Types) -> bool:
    """Return whether states and messages are proved never to be NaN, if edge attributes are finite.

    Parameters
    ----------
    program : VertexProgram
        The checked program; its states begin with `init`.
    types : Types
        Its types on a graph.

    Returns
    -------
    bool
        False if there is no proof.
    """
    if program.combine not in ("min", "max") or program.edge_state or program.jumps:
        return False
    if program.listing is not None or program.fold is not None or "lift" in program.sources:
        return False
    return all(_Numbers(program, types).of(name) for name in ("init", "compute", "apply"))


def fields_of_vertex_numbers(program: VertexProgram) -> list[str]:
    """Return the state fields that `init` plainly sets to the vertex number.

    Parameters
    ----------
    program : VertexProgram
        The checked program.

    Returns
    -------
    list of str
    """
    result = _as_expression(_function(program, "init").node.body)
    found: set[str] = set()
    ends = [] if result is None else [result]
    while ends:
        node = ends.pop()
        if isinstance(node, ast.IfExp):
            ends += [node.body, node.orelse]
            continue
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        found |= {
            field
            for field, part in zip(program.state, parts, strict=False)
            if isinstance(part, ast.Name) and part.id == "vertex"
        }
    return [field for field in program.state if field in found]


# ------------------------------------------------------------------------- expressions of a function


@dataclass
class _Function:
    """A function as expressions: its return values, with the conditions that lead to them."""

    node: ast.FunctionDef
    helpers: dict[str, ast.FunctionDef]


def _function(program: VertexProgram, name: str) -> _Function:
    definitions = {
        node.name: node
        for node in parse(program.sources[name].text).body
        if isinstance(node, ast.FunctionDef)
    }
    return _Function(definitions.pop(f"user_{name}"), definitions)


def _as_expression(body: list[ast.stmt]) -> ast.expr | None:
    """Return a function's body as one expression: variables substituted, ifs as `a if c else b`."""
    known: dict[str, ast.expr] = {}

    def filled(node: ast.expr, names: dict[str, ast.expr]) -> ast.expr:
        class Fill(ast.NodeTransformer):
            def visit_Name(self, one: ast.Name) -> ast.expr:
                return names.get(one.id, one)

        # The source's tree is shared with other readers.
        result = Fill().visit(ast.parse(ast.unparse(node), mode="eval").body)
        assert isinstance(result, ast.expr)
        return result

    def block(statements: list[ast.stmt], names: dict[str, ast.expr]) -> ast.expr | None:
        for place, one in enumerate(statements):
            if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant):
                continue  # a docstring
            if isinstance(one, ast.Return):
                return None if one.value is None else filled(one.value, names)
            if isinstance(one, ast.Assign) and len(one.targets) == 1:
                target = one.targets[0]
                if not isinstance(target, ast.Name):
                    return None
                names = {**names, target.id: filled(one.value, names)}
            elif isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name):
                before = names.get(one.target.id)
                if before is None:
                    return None
                value = ast.BinOp(before, one.op, filled(one.value, names))
                names = {**names, one.target.id: value}
            elif isinstance(one, ast.If):
                rest = statements[place + 1 :]
                first = block([*one.body, *rest], names)
                second = block([*one.orelse, *rest], names)
                if first is None or second is None:
                    return None
                return ast.IfExp(filled(one.test, names), first, second)
            else:
                return None
        return None

    return block(body, known)


def _same(first: ast.expr, second: ast.expr) -> bool:
    return ast.unparse(first) == ast.unparse(second)


def _is_field(node: ast.expr, owner: str, field: str) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr == field
        and isinstance(node.value, ast.Name)
        and node.value.id == owner
    )


def _owner(node: ast.Attribute) -> str:
    return node.value.id if isinstance(node.value, ast.Name) else ""


def _picked(node: ast.expr) -> tuple[str, ast.expr, ast.expr] | None:
    """Recognise the minimum or maximum of two expressions; return "min" or "max", and both."""
    if isinstance(node, ast.Call) and not node.keywords:
        called = ast.unparse(node.func).removeprefix("np.")[:3]
        known = ast.unparse(node.func) in ("min", "max", "np.minimum", "np.maximum")
        return (called, node.args[0], node.args[1]) if known and len(node.args) == 2 else None
    if not isinstance(node, ast.IfExp) or not isinstance(node.test, ast.Compare):
        return None
    test = node.test
    if len(test.ops) != 1:
        return None
    left, right = test.left, test.comparators[0]
    below = isinstance(test.ops[0], (ast.Lt, ast.LtE))
    if not below and not isinstance(test.ops[0], (ast.Gt, ast.GtE)):
        return None
    if _same(node.body, left) and _same(node.orelse, right):
        return ("min" if below else "max"), left, right
    if _same(node.body, right) and _same(node.orelse, left):
        return ("max" if below else "min"), left, right
    return None


def _keeps_the_better(program: VertexProgram, field: str) -> bool:
    """Return whether `apply` plainly returns the better of the old state and the gathered one."""
    result = _as_expression(_function(program, "apply").node.body)
    if result is None:
        return False
    sides: list[ast.expr]
    if program.combine == "any":
        if isinstance(result, ast.Constant):
            return result.value is True
        if isinstance(result, ast.BoolOp) and isinstance(result.op, ast.Or):
            sides = result.values
        elif isinstance(result, ast.BinOp) and isinstance(result.op, ast.BitOr):
            sides = [result.left, result.right]
        else:
            return False
    else:
        picked = _picked(result)
        if picked is None or picked[0] != program.combine:
            return False
        sides = [picked[1], picked[2]]
    if len(sides) != 2:
        return False
    gathered = [one for one in sides if isinstance(one, ast.Name) and one.id == "gathered"]
    old = [one for one in sides if _is_field(one, "old", field)]
    return len(gathered) == 1 and len(old) == 1


def _tells_change(program: VertexProgram, field: str) -> bool:
    """Return whether `active` is left out, or returns exactly whether the state has changed."""
    if "active" not in program.sources:
        return True
    result = _as_expression(_function(program, "active").node.body)
    if isinstance(result, ast.BoolOp) and isinstance(result.op, ast.And):
        new, old = result.values[0], result.values[-1]
        if isinstance(new, ast.UnaryOp):
            new, old = old, new
        return (
            program.combine == "any"
            and len(result.values) == 2
            and _is_field(new, "new", field)
            and isinstance(old, ast.UnaryOp)
            and isinstance(old.op, ast.Not)
            and _is_field(old.operand, "old", field)
        )
    if not isinstance(result, ast.Compare) or len(result.ops) != 1:
        return False
    left, right, relation = result.left, result.comparators[0], result.ops[0]
    if _is_field(left, "old", field) and _is_field(right, "new", field):
        mirrored = {ast.Lt: ast.Gt, ast.Gt: ast.Lt}
        kind = mirrored.get(type(relation), type(relation))
    elif _is_field(left, "new", field) and _is_field(right, "old", field):
        kind = type(relation)
    else:
        return False
    better = ast.Lt if program.combine == "min" else ast.Gt
    return kind in (ast.NotEq, better)


# ------------------------------------------------------------------------- monotonicity of compute


class _Trends:
    """Determines how `compute` changes when the state of the source rises."""

    def __init__(self, program: VertexProgram, field: str, kind: str) -> None:
        self.program = program
        self.field = field
        self.is_flag = kind == "bool"
        self.finite = not self.is_flag and not kind.startswith("float")
        self.helpers: dict[str, ast.FunctionDef] = {}
        self.arguments: dict[str, tuple[Trend, Sign]] = {}
        self.inside = 0  # depth of nested helper calls

    def of_compute(self) -> Trend:
        """Return the trend of the message."""
        function = _function(self.program, "compute")
        self.helpers = function.helpers
        result = _as_expression(function.node.body)
        return "unknown" if result is None else self.trend(result)

    def trend(self, node: ast.expr) -> Trend:
        """Return the trend of an expression in src's field."""
        if isinstance(node, ast.Constant):
            return "constant"
        if isinstance(node, ast.Name):
            return self.arguments.get(node.id, ("unknown", "unknown"))[0]
        if isinstance(node, ast.Attribute):
            return self.of_attribute(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return _turned(self.trend(node.operand))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return _turned(self.of_flag(node.operand))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd):
            return self.trend(node.operand)
        if isinstance(node, ast.BinOp):
            return self.of_operation(node)
        if isinstance(node, ast.IfExp):
            return self.of_choice(node)
        if isinstance(node, ast.BoolOp):
            return _joined([self.of_flag(one) for one in node.values])
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
            still = all(self.trend(one) == "constant" for one in parts)
            return "constant" if still else "unknown"
        if isinstance(node, ast.Call) and not node.keywords:
            return self.of_call(node)
        return "unknown"

    def of_attribute(self, node: ast.Attribute) -> Trend:
        """Return the trend of an attribute of an argument or of a module."""
        if ast.unparse(node) in ("math.inf", "np.inf", "math.pi", "np.pi", "math.e", "np.e"):
            return "constant"
        if self.inside or _owner(node) not in ("src", "edge", "p"):
            return "unknown"  # a helper's argument may be anything
        return "rising" if _is_field(node, "src", self.field) else "constant"

    def of_flag(self, node: ast.expr) -> Trend:
        """Return the trend of an operand of `and`, `or` and `not`, which must be a boolean."""
        flag = isinstance(node, (ast.Compare, ast.BoolOp)) or (
            isinstance(node, ast.Constant) and isinstance(node.value, bool)
        )
        if not flag and isinstance(node, ast.Attribute):
            declared = self.program.edges.get(node.attr) if _owner(node) == "edge" else None
            kind = getattr(getattr(declared, "type", None), "name", "")
            flag = kind == "bool" or (self.is_flag and _is_field(node, "src", self.field))
        return self.trend(node) if flag else "unknown"

    def of_operation(self, node: ast.BinOp) -> Trend:
        """Return the trend of a sum, difference, product or quotient."""
        left, right = self.trend(node.left), self.trend(node.right)
        if left == right == "constant":
            return "constant"
        if isinstance(node.op, ast.Add):
            return _joined([left, right])
        if isinstance(node.op, ast.Sub):
            return _joined([left, _turned(right)])
        if isinstance(node.op, ast.Mult):
            if left == "constant" and self.sign(node.left) != "unknown":
                return right
            if right == "constant" and self.sign(node.right) != "unknown":
                return left
            return "unknown"
        if isinstance(node.op, (ast.Div, ast.FloorDiv)) and right == "constant":
            return left if self.sign(node.right) == "positive" else "unknown"
        return "unknown"

    def of_choice(self, node: ast.IfExp) -> Trend:
        """Return the trend of a conditional: min, max, or a choice by a constant condition."""
        picked = _picked(node)
        if picked is not None:
            return _joined([self.trend(picked[1]), self.trend(picked[2])])
        if self.trend(node.test) != "constant":
            return "unknown"
        return _joined([self.trend(node.body), self.trend(node.orelse)])

    def of_call(self, node: ast.Call) -> Trend:
        """Return the trend of a function call, from the trends of its arguments."""
        called = ast.unparse(node.func)
        trends = [self.trend(one) for one in node.args]
        if called in self.helpers:
            return self.of_helper(self.helpers[called], node.args)
        if all(one == "constant" for one in trends):
            return "constant"
        if called in ("min", "max", "np.minimum", "np.maximum") and len(trends) > 1:
            return _joined(trends)
        keeps = KEEP_ORDER | (KEEP_ORDER_OF_FINITE if self.finite else set())
        return trends[0] if called in keeps and len(trends) == 1 else "unknown"

    def of_helper(self, helper: ast.FunctionDef, arguments: list[ast.expr]) -> Trend:
        """Return the trend of a helper call, from the trends of its arguments."""
        names = [one.arg for one in helper.args.args]
        given = [(self.trend(one), self.sign(one)) for one in arguments]
        result = _as_expression(helper.body)
        if result is None or len(names) != len(given):
            return "constant" if all(one[0] == "constant" for one in given) else "unknown"
        outside, self.arguments = self.arguments, dict(zip(names, given, strict=True))
        self.inside += 1
        trend = self.trend(result)
        self.inside -= 1
        self.arguments = outside
        return trend

    def sign(self, node: ast.expr) -> Sign:
        """Return what is known of the sign of a constant expression."""
        if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
            if node.value > 0:
                return "positive"
            return "non-negative" if node.value == 0 else "unknown"
        if isinstance(node, ast.Name):
            return self.arguments.get(node.id, ("unknown", "unknown"))[1]
        if isinstance(node, ast.Attribute):
            return "unknown" if self.inside else self.declared_sign(node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mult, ast.Div)):
            both = {self.sign(node.left), self.sign(node.right)}
            if "unknown" in both:
                return "unknown"
            return "positive" if both == {"positive"} else "non-negative"
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("min", "max"):
            signs = {self.sign(one) for one in node.args}
            return signs.pop() if len(signs) == 1 else "unknown"
        return "unknown"

    def declared_sign(self, node: ast.Attribute) -> Sign:
        """Return the sign that a declaration promises, and that binding checks."""
        owner = _owner(node)
        declared: object = None
        if owner == "edge":
            declared = self.program.edges.get(node.attr)
        elif owner == "src":
            declared = self.program.constants.get(node.attr)
        elif owner == "p" and node.attr == "number_of_vertices":
            return "positive"
        if isinstance(declared, Edge) and declared.least is not None and declared.least >= 0:
            stand_in = 1.0 if declared.default is None else declared.default
            positive = declared.least > 0 and stand_in > 0
            return "positive" if positive else "non-negative" if stand_in >= 0 else "unknown"
        degrees = isinstance(declared, Constant) and declared.source.endswith("_degree")
        if degrees or isinstance(declared, Distribution):
            return "non-negative"
        return "unknown"


# ------------------------------------------------------------------------- expressions without NaN


class _Numbers:
    """Determines whether expressions are numbers, given that states and messages are."""

    def __init__(self, program: VertexProgram, types: Types) -> None:
        self.program = program
        self.kinds: dict[str, str] = {
            **dict(zip(program.state, types.state, strict=True)),
            **dict(zip(program.constants, types.constants, strict=True)),
        }
        self.parameters = dict(zip(program.parameters, types.parameters, strict=True))
        self.missing = dict(zip(program.edges, types.missing_edges, strict=True))
        self.given: set[str] = set()  # arguments of the function that is looked at

    def of(self, name: str) -> bool:
        """Return whether a function returns numbers."""
        node = _function(self.program, name).node
        result = _as_expression(node.body)
        if result is None:
            return False
        self.given = {one.arg for one in (*node.args.args, *node.args.kwonlyargs)}
        parts = result.elts if isinstance(result, ast.Tuple) else [result]
        return all(self.is_number(one) for one in parts)

    def is_number(self, node: ast.expr) -> bool:
        """Return whether an expression is never NaN."""
        if isinstance(node, ast.Name):
            return node.id in ("gathered", "vertex") and node.id in self.given
        if isinstance(node, ast.Attribute):
            if ast.unparse(node) in ("math.inf", "np.inf"):
                return True
            if _owner(node) == "p" and node.attr in self.parameters:
                return True  # binding refuses NaN
            states = ("src", "dst", "old", "state")
            return (_owner(node) in states and node.attr in self.program.state) or self.is_finite(
                node
            )
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            either = self.is_finite(node.left) or self.is_finite(node.right)
            return either and self.is_number(node.left) and self.is_number(node.right)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            return self.is_finite(node.left) and self.is_finite(node.right)
        parts = _alternatives(node)
        return self.is_finite(node) if parts is None else all(map(self.is_number, parts))

    def is_finite(self, node: ast.expr) -> bool:
        """Return whether an expression is a finite number; a sum may overflow."""
        if isinstance(node, ast.Constant):
            value = node.value
            return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
        if isinstance(node, ast.Compare):
            return True
        if isinstance(node, ast.Attribute):
            owner, name = _owner(node), node.attr
            if owner == "edge" and name in self.missing:
                stand_in = self.missing[name]
                return stand_in is None or math.isfinite(stand_in)
            kinds = self.parameters if owner == "p" else self.kinds
            return name in kinds and not kinds[name].startswith("float")
        parts = _alternatives(node)
        return parts is not None and all(map(self.is_finite, parts))


def _alternatives(node: ast.expr) -> list[ast.expr] | None:
    """Return expressions of which one, perhaps with another sign, is the value; None if not known."""
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        return [node.operand]
    if isinstance(node, ast.Call) and not node.keywords:
        least = {"min": 2, "max": 2, "np.minimum": 2, "np.maximum": 2, "abs": 1, "float": 1}
        least |= {"np.float64": 1}
        if len(node.args) >= least.get(ast.unparse(node.func), math.inf):
            return node.args
    return None


def _turned(trend: Trend) -> Trend:
    turned: dict[Trend, Trend] = {"rising": "falling", "falling": "rising"}
    return turned.get(trend, trend)


def _joined(trends: list[Trend]) -> Trend:
    """Return the common trend of several expressions."""
    moving = {one for one in trends if one != "constant"}
    if not moving:
        return "constant"
    return moving.pop() if len(moving) == 1 else "unknown"
