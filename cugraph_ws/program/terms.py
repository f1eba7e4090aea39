"""How the value of an expression changes with the state of the source, and which values it can have."""

from __future__ import annotations

import ast
import math
from functools import reduce
from typing import Any, Literal, NamedTuple

import numpy as np

from cugraph_ws.program import ranges
from cugraph_ws.program.declarations import (
    Distribution,
    Parameter,
    VertexNumber,
    VertexSet,
    VertexValue,
)
from cugraph_ws.program.expressions import as_expression, function_of, is_field, owner_of, picked
from cugraph_ws.program.ranges import ANYTHING, FLAG, Range
from cugraph_ws.program.vertex_program import VertexProgram

__all__ = ["Facts", "Term", "Terms", "Trend"]

Trend = Literal["constant", "rising", "falling", "unknown"]

COUNTS = Range(0, 2**48, "int")  # vertex numbers and degrees
ROUNDINGS: dict[str, Any] = {"np.floor": math.floor, "np.ceil": math.ceil, "np.trunc": math.trunc}
TO_FLOATS = {"float": "float64", "np.float64": "float64", "np.float32": "float32"}
TO_INTEGERS = {
    "int": "int64", "round": "int64", "math.floor": "int64", "math.ceil": "int64", "math.trunc": "int64",
    "np.int64": "int64", "np.int32": "int32",
}  # fmt: skip
PICKS: dict[str, Any] = {"min": min, "max": max, "np.minimum": min, "np.maximum": max}
CONSTANTS = {
    f"{module}.{name}": value
    for module in ("math", "np")
    for name, value in (("inf", math.inf), ("pi", math.pi), ("e", math.e))
}


class Facts(NamedTuple):
    """What is known of a program on a graph, besides its source.

    Attributes
    ----------
    state, constants : tuple of str
        NumPy type names.
    edges : tuple of (str, number or None, number or None)
        For each edge attribute its type, and its least and greatest value; None if they are not known.
    parameters : tuple
        The values of the run's parameters.
    phase : bool
        Whether the first states may be those that another program has left.
    """

    state: tuple[str, ...]
    constants: tuple[str, ...] = ()
    edges: tuple[tuple[str, Any, Any], ...] = ()
    parameters: tuple[Any, ...] = ()
    phase: bool = False


class Term(NamedTuple):
    """What is known of an expression.

    Attributes
    ----------
    trend : {"constant", "rising", "falling", "unknown"}
        How it changes when the state of the source rises.  Where NaN is possible, it is for states at one end
        only, and the others all have the same value: a message that is NaN changes nothing.
    range : Range
        Its values.
    """

    trend: Trend
    range: Range


UNKNOWN = Term("unknown", ANYTHING)
UNKNOWN_CONSTANT = Term("constant", ANYTHING)


class Terms:
    """Finds the trend and the range of what functions of a program return.

    Parameters
    ----------
    program : VertexProgram
        A program with one state field.
    facts : Facts
        What is known of it.
    states : Range or None
        The values of the state of the source; None for `init`, which reads none.
    """

    def __init__(self, program: VertexProgram, facts: Facts, states: Range | None) -> None:
        self.program, self.states = program, states
        self.field = next(iter(program.state))
        self.is_flag = facts.state[0] == "bool"
        self.edges = dict(zip(program.edges, facts.edges, strict=False))
        self.kinds = dict(zip(program.constants, facts.constants, strict=False))
        self.parameters = dict(zip(program.parameters, facts.parameters, strict=False))
        self.helpers: dict[str, ast.FunctionDef] = {}
        self.arguments: dict[str, Term] = {}
        self.inside = 0  # depth of nested helper calls

    def of(self, name: str) -> Term:
        """Return the term of what `compute` or `init` returns."""
        function = function_of(self.program, name)
        self.helpers = function.helpers
        result = as_expression(function.node.body)
        if isinstance(result, ast.Tuple) and len(result.elts) == 1:
            result = result.elts[0]
        return UNKNOWN if result is None else self.term(result)

    def term(self, node: ast.expr) -> Term:
        """Return the term of an expression."""
        if isinstance(node, ast.Constant):
            return _literal(node.value)
        if isinstance(node, ast.Name):
            if self.inside:
                return self.arguments.get(node.id, UNKNOWN)
            return Term("constant", COUNTS) if node.id == "vertex" else UNKNOWN
        if isinstance(node, ast.Attribute):
            return self.of_attribute(node)
        if isinstance(node, ast.UnaryOp):
            return self.of_sign(node)
        if isinstance(node, ast.BinOp):
            return self.of_operation(node)
        if isinstance(node, ast.IfExp):
            return self.of_choice(node)
        if isinstance(node, ast.BoolOp):
            return Term(_joined([self.of_flag(part).trend for part in node.values]), FLAG)
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
            still = all(self.term(part).trend == "constant" for part in parts)
            return Term("constant", FLAG) if still else UNKNOWN
        if isinstance(node, ast.Call) and not node.keywords:
            return self.of_call(node)
        return self.of_table(node)

    def of_table(self, node: ast.expr) -> Term:
        """Return the term of an entry of a table, from its index."""
        match node:
            case ast.Subscript(
                value=ast.Tuple(elts=[*entries, past]),
                slice=ast.Call(func=ast.Name(id="ws_cell"), args=[*places]),
            ):
                row, column, rows, columns = map(self.term, places)
                if row.trend != "constant" or column.trend != "constant":
                    return UNKNOWN
                within = all(
                    at.range.kind == "int"
                    and -size.range.low <= at.range.low
                    and at.range.high < size.range.high
                    for at, size in ((row, rows), (column, columns))
                )
                values = [self.term(entry) for entry in (entries if within else [*entries, past])]
                return Term("constant", reduce(ranges.hull, (value.range for value in values)))
        return UNKNOWN

    def of_attribute(self, node: ast.Attribute) -> Term:
        """Return the term of an attribute of an argument or of a module."""
        text, owner, name = ast.unparse(node), owner_of(node), node.attr
        if text in CONSTANTS:
            return _literal(CONSTANTS[text])
        if self.inside or owner not in ("src", "own", "edge", "p"):
            return UNKNOWN  # a helper's argument may be anything
        if is_field(node, "src", self.field):
            return UNKNOWN if self.states is None else Term("rising", self.states)
        if owner == "edge":
            return Term("constant", self.of_edges(name))
        if owner == "p":
            return Term("constant", self.of_parameter(name))
        return Term("constant", self.of_constant(name))

    def of_edges(self, name: str) -> Range:
        """Return the values of an edge attribute."""
        kind, least, greatest = self.edges.get(name, ("", None, None))
        if kind == "bool":
            return FLAG
        if least is None or greatest is None:
            return ANYTHING
        return ranges.hull(ranges.of_number(least, kind), ranges.of_number(greatest, kind))

    def of_parameter(self, name: str) -> Range:
        """Return the value of a parameter."""
        if name == "number_of_vertices":
            return Range(1, COUNTS.high, "int")
        declared = self.program.parameters.get(name)
        if not isinstance(declared, Parameter):
            return ANYTHING if declared is None else COUNTS
        if name not in self.parameters:
            return ANYTHING
        return ranges.of_number(self.parameters[name], declared.type.name)

    def of_constant(self, name: str) -> Range:
        """Return the values of a vertex constant, as binding checks them."""
        declared, kind = self.program.constants.get(name), self.kinds.get(name, "")
        if isinstance(declared, VertexSet) or kind == "bool":
            return FLAG
        if isinstance(declared, Distribution) and declared.default is None:
            return ranges.hull(ranges.of_number(0, "float64"), ranges.of_number(1, "float64"))
        if isinstance(declared, VertexNumber) and declared.is_id:
            return ranges.of_type("int64")
        if isinstance(declared, VertexValue) and kind:
            missing = declared.default is not None and math.isnan(declared.default)
            return ANYTHING if missing else ranges.of_type(kind)
        return COUNTS if kind.startswith("int") else ANYTHING

    def of_flag(self, node: ast.expr) -> Term:
        """Return the term of an operand of `and`, `or` and `not`, which must be a boolean."""
        term = self.term(node)
        return term if term.range.kind == "bool" else UNKNOWN

    def of_sign(self, node: ast.UnaryOp) -> Term:
        """Return the term of `-x`, `+x` or `not x`."""
        if isinstance(node.op, ast.Not):
            return Term(_turned(self.of_flag(node.operand).trend), FLAG)
        term = self.term(node.operand)
        if term.range.kind == "bool" or isinstance(node.op, ast.Invert):
            return UNKNOWN_CONSTANT if term.trend == "constant" else UNKNOWN
        if isinstance(node.op, ast.UAdd):
            return term
        return _made(_turned(term.trend), ranges.negated(term.range))

    def of_operation(self, node: ast.BinOp) -> Term:
        """Return the term of a sum, difference, product or quotient."""
        first, second = self.term(node.left), self.term(node.right)
        if "unknown" in (first.trend, second.trend):
            return UNKNOWN
        if isinstance(node.op, ast.Sub):
            minus = ranges.negated(second.range)
            if minus is None:
                return UNKNOWN_CONSTANT if first.trend == second.trend == "constant" else UNKNOWN
            second = Term(_turned(second.trend), minus)
        if isinstance(node.op, (ast.Add, ast.Sub)):
            total = ranges.added(first.range, second.range)
            if "constant" not in (first.trend, second.trend) and (total is None or total.nan):
                return UNKNOWN
            return _made(_joined([first.trend, second.trend]), total)
        if isinstance(node.op, ast.Mult):
            return _product(first, second)
        if isinstance(node.op, (ast.Div, ast.FloorDiv)) and second.trend == "constant":
            floor = isinstance(node.op, ast.FloorDiv)
            return _made(first.trend, ranges.divided(first.range, second.range, floor=floor))
        if first.trend == second.trend == "constant":
            return _made("constant", ranges.of_integers(node.op, first.range, second.range))
        return UNKNOWN

    def of_choice(self, node: ast.IfExp) -> Term:
        """Return the term of a conditional: min, max, or a choice by a constant condition."""
        better = picked(node)
        if better is not None:
            return _picked([self.term(better[1]), self.term(better[2])], PICKS[better[0]])
        if self.term(node.test).trend != "constant":
            return UNKNOWN
        body, alternative = self.term(node.body), self.term(node.orelse)
        return _made(
            _joined([body.trend, alternative.trend]), ranges.hull(body.range, alternative.range)
        )

    def of_call(self, node: ast.Call) -> Term:
        """Return the term of a function call, from those of its arguments."""
        called = ast.unparse(node.func)
        if called in self.helpers:
            return self.of_helper(self.helpers[called], node.args)
        terms = [self.term(argument) for argument in node.args]
        if called in PICKS and len(terms) > 1:
            return _picked(terms, PICKS[called])
        still = all(term.trend == "constant" for term in terms)
        converted = _converted(called, terms[0]) if len(terms) == 1 else UNKNOWN
        return UNKNOWN_CONSTANT if still and converted is UNKNOWN else converted

    def of_helper(self, helper: ast.FunctionDef, arguments: list[ast.expr]) -> Term:
        """Return the term of a helper call, from those of its arguments."""
        names = [argument.arg for argument in helper.args.args]
        terms = [self.term(argument) for argument in arguments]
        result = as_expression(helper.body)
        if result is None or len(names) != len(terms):
            still = all(term.trend == "constant" for term in terms)
            return UNKNOWN_CONSTANT if still else UNKNOWN
        outside, self.arguments = self.arguments, dict(zip(names, terms, strict=True))
        self.inside += 1
        term = self.term(result)
        self.inside -= 1
        self.arguments = outside
        return term


def _literal(value: Any) -> Term:
    """Return the term of a number in the source."""
    if isinstance(value, bool):
        return Term("constant", Range(value, value, "bool"))
    if isinstance(value, int):
        return _made("constant", ranges.whole(value, value))
    return (
        Term("constant", ranges.of_number(value, "float64"))
        if isinstance(value, float)
        else UNKNOWN
    )


def _made(trend: Trend, values: Range | None) -> Term:
    """Return a term; without a range, it is known at most that it is constant."""
    if values is None or trend == "unknown":
        return UNKNOWN_CONSTANT if trend == "constant" else UNKNOWN
    return Term(trend, values)


def _product(first: Term, second: Term) -> Term:
    """Return the term of a product.

    Infinity times 0 is NaN: with a factor that may be 0, the state must be finite.
    """
    values = ranges.multiplied(first.range, second.range)
    if first.trend == second.trend == "constant":
        return _made("constant", values)
    if "constant" not in (first.trend, second.trend):
        return UNKNOWN
    factor, moving = (first, second) if first.trend == "constant" else (second, first)
    sign, safe = factor.range, moving.range.finite
    if sign.finite and (sign.low > 0 or (sign.low == 0 and safe)):
        return _made(moving.trend, values)
    if sign.finite and (sign.high < 0 or (sign.high == 0 and safe)):
        return _made(_turned(moving.trend), values)
    return UNKNOWN


def _picked(terms: list[Term], pick: Any) -> Term:
    """Return the term of the minimum or maximum of several expressions; beside NaN, their order matters."""
    trend = _joined([term.trend for term in terms])
    if any(term.range.nan for term in terms):
        return _made(trend, None)
    values = [term.range for term in terms]
    return _made(trend, reduce(lambda first, second: ranges.picked_of(first, second, pick), values))


def _converted(called: str, term: Term) -> Term:
    """Return the term of a value as another type, or rounded."""
    values = term.range
    if called in TO_FLOATS:
        return _made(term.trend, ranges.as_float(values, single=TO_FLOATS[called] == "float32"))
    if called == "bool" and not values.nan and values.low >= 0:
        return _made(term.trend, FLAG)
    if called in ROUNDINGS:
        low, high = (
            ROUNDINGS[called](end) if math.isfinite(end) else end
            for end in (values.low, values.high)
        )
        return _made(
            term.trend, ranges.as_float(Range(low, high, nan=values.nan), single=values.single)
        )
    if called not in TO_INTEGERS or not values.finite:
        return UNKNOWN
    limits = np.iinfo(TO_INTEGERS[called])
    low, high = math.floor(values.low), math.ceil(values.high)
    return (
        _made(term.trend, ranges.whole(low, high))
        if limits.min <= low and high <= limits.max
        else UNKNOWN
    )


def _turned(trend: Trend) -> Trend:
    turned: dict[Trend, Trend] = {"rising": "falling", "falling": "rising"}
    return turned.get(trend, trend)


def _joined(trends: list[Trend]) -> Trend:
    """Return the common trend of several expressions."""
    moving = {trend for trend in trends if trend != "constant"}
    if not moving:
        return "constant"
    return moving.pop() if len(moving) == 1 else "unknown"
