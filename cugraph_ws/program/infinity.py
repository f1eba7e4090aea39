"""Infinity in integer fields: the source of a program is rewritten so that it absorbs.

An integer has no infinity, so the number `INFINITY` stands for it: the field holds smaller numbers, and
every number from there on is infinite.  Machine arithmetic would move it: `2**62 - 5` is finite.  So in a
program that gives math.inf to an integer field, operations whose operands may be infinite become calls
of the functions in `TEXTS`, and math.inf beside an integer becomes the number.  Other programs, and
operations that no infinity reaches, are left as they are.

Which expressions may be infinite is a data-flow analysis over names: a variable is what any of its
assignments makes it.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cugraph_ws.errors import ProgramError
from cugraph_ws.program.by_part import Basic, ByPart
from cugraph_ws.program.combines import Fold
from cugraph_ws.program.declarations import Jump
from cugraph_ws.program.snapshot import Memory
from cugraph_ws.program.source import FunctionSource, plain_function
from cugraph_ws.program.tables import CELL
from cugraph_ws.program.vertex_program import VertexProgram
from cugraph_ws.runtime.parsing import parse

__all__ = [
    "INFINITY",
    "STORED",
    "TEXTS",
    "Kinds",
    "infinite_fields",
    "plain_functions",
    "saturated",
]

INFINITY = 2**62  # represents math.inf in an integer that a function computes with
STORED = {"int32": 2**30, "int64": INFINITY}  # the same, in an array of a state field

TEXTS = {
    "ws_sum": f"""def ws_sum(a, b):
    if a >= {INFINITY} or b >= {INFINITY}:
        return {INFINITY}
    return min(max(a, {-INFINITY}) + max(b, {-INFINITY}), {INFINITY})""",
    "ws_difference": f"""def ws_difference(a, b):
    if a >= {INFINITY}:
        return {INFINITY}
    if b >= {INFINITY}:
        return {-INFINITY}
    return max(min(max(a, {-INFINITY}) - max(b, {-INFINITY}), {INFINITY}), {-INFINITY})""",
    # The product of floats tells, within a part in 2**51, whether that of the integers fits.
    "ws_product": f"""def ws_product(a, b):
    about = float(a) * float(b)
    if about > {1.25 * INFINITY!r}:
        return {INFINITY}
    if about < {-1.25 * INFINITY!r}:
        return {-INFINITY}
    return max(min(a * b, {INFINITY}), {-INFINITY})""",
    "ws_quotient": f"""def ws_quotient(a, b):
    if a >= {INFINITY} and b != 0:
        return {INFINITY} if b > 0 else {-INFINITY}
    return a // b""",
    "ws_float": f"""def ws_float(a):
    if a >= {INFINITY}:
        return math.inf
    return -math.inf if a <= {-INFINITY} else float(a)""",
    "ws_finite": """def ws_finite(a):
    return a""",
    "ws_cell": CELL,
}
OPERATIONS: dict[type[ast.operator], str] = {
    ast.Add: "ws_sum", ast.Sub: "ws_difference", ast.Mult: "ws_product", ast.FloorDiv: "ws_quotient",
}  # fmt: skip
MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE, ast.Eq: ast.Eq, ast.NotEq: ast.NotEq,
}  # fmt: skip
ROUNDS = 20  # passes of the analysis; each widens at least one variable


@dataclass(frozen=True)
class Kinds:
    """NumPy type names of a program's declarations on a graph, in order."""

    state: tuple[str, ...]
    edges: tuple[str, ...]
    constants: tuple[str, ...]
    parameters: tuple[str, ...]


@dataclass(frozen=True)
class _Value:
    """What is known of an expression's value.

    Attributes
    ----------
    kind : str
        "bool", "int", "float", "inf" or "-inf" (the constant, whose type depends on what it is used
        with), "tuple", "list", or "other".
    infinite : bool
        Whether it is an integer that may be infinite.
    parts : tuple of (str, _Value)
        Of a tuple its items, by field or place; of a list one, its items.
    """

    kind: str
    infinite: bool = False
    parts: tuple[tuple[str, _Value], ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether it is an integer, a boolean, or can be an integer's infinity."""
        return self.kind in ("bool", "int", "inf", "-inf")

    @property
    def is_constant(self) -> bool:
        """Whether it is the constant math.inf or -math.inf."""
        return self.kind in ("inf", "-inf")

    @property
    def may_be_infinite(self) -> bool:
        """Whether it, or a part of it, is an infinite integer or a constant infinity."""
        return (
            self.infinite or self.is_constant or any(part.may_be_infinite for _, part in self.parts)
        )


BOOL, INT, FLOAT, OTHER = _Value("bool"), _Value("int"), _Value("float"), _Value("other")
UNSEEN = _Value("unseen")  # of a variable, or of a helper's result, before the analysis reaches it
ENDLESS = _Value("int", infinite=True)


def _joined(first: _Value, second: _Value) -> _Value:
    """Return what is known of a value that is one of two."""
    if first == second or second is UNSEEN:
        return first
    if first is UNSEEN:
        return second
    if first.parts and second.parts and len(first.parts) == len(second.parts):
        parts = [
            (name, _joined(a, b))
            for (name, a), (_, b) in zip(first.parts, second.parts, strict=True)
        ]
        return _Value(first.kind, parts=tuple(parts))
    kinds = {first.kind, second.kind}
    if kinds & {"other", "tuple", "list"}:
        return OTHER
    if "float" in kinds or kinds == {"inf", "-inf"}:
        return FLOAT
    infinite = first.may_be_infinite or second.may_be_infinite
    return _Value("bool" if kinds == {"bool"} else "int", infinite)


def _all_joined(values: Sequence[_Value]) -> _Value:
    joined = values[0]
    for value in values[1:]:
        joined = _joined(joined, value)
    return joined


def _value_of(kind: str) -> _Value:
    return BOOL if kind == "bool" else FLOAT if kind.startswith("float") else INT


def infinite_fields(program: VertexProgram, kinds: Kinds) -> tuple[bool, ...]:
    """Return for each state field whether it is an integer that may be infinite.

    Parameters
    ----------
    program : VertexProgram
        The checked program.
    kinds : Kinds
        The types of its declarations.

    Returns
    -------
    tuple of bool
        True for integers whose `null` is math.inf, and for hidden ones and vertex ids to which `init` gives
        math.inf.
    """
    declared = list(program.state.values())
    infinite = [
        kind in STORED and field.null == math.inf
        for field, kind in zip(declared, kinds.state, strict=True)
    ]
    source = program.sources["init"]
    if "inf" not in source.text or not any(kind in STORED for kind in kinds.state):
        return tuple(infinite)
    arguments = _arguments(program, kinds, [_value_of(kind) for kind in kinds.state])
    returned = _Rewriting(source, {name: arguments[name] for name in source.parameters}).analysed()
    parts = [part for _, part in returned.parts] if returned.kind == "tuple" else [returned]
    for place, (field, kind, part) in enumerate(zip(declared, kinds.state, parts, strict=False)):
        hidden = field.holds_vertex or not field.visible
        infinite[place] |= hidden and kind in STORED and part.may_be_infinite
    return tuple(infinite)


def _arguments(program: VertexProgram, kinds: Kinds, state: Sequence[_Value]) -> dict[str, _Value]:
    """Return what is known of the arguments of a program's functions, but for messages."""
    fields = dict(zip(program.state, state, strict=True))
    constants: dict[str, _Value] = {}
    for (name, declared), kind in zip(program.constants.items(), kinds.constants, strict=True):
        constants[name] = _value_of(kind)
        if isinstance(declared, Jump) and fields[declared.field].infinite:
            constants[name] = ENDLESS
            if declared.fold == "sum":
                raise ProgramError(
                    f"{program.name}.{name} sums `{declared.field}`, an integer field that may be infinite; "
                    f"declare `{declared.field}` as ws.float64, or sum a field that is finite"
                )
    counts = dict.fromkeys(program.aggregates, FLOAT)
    counts |= {"number_of_vertices": INT, "superstep": INT}
    parameters = dict(zip(program.parameters, map(_value_of, kinds.parameters), strict=True))
    edges = map(_value_of, (*kinds.edges, *program.edge_state_kinds))
    return {
        "vertex": INT,
        "own": _record(constants),
        "edge": _record(dict(zip(program.edge_fields, edges, strict=True))),
        "p": _record(parameters | counts),
        **dict.fromkeys(("src", "dst", "old", "new", "state"), _record({**fields, **constants})),
    }


def saturated(program: VertexProgram, kinds: Kinds) -> VertexProgram:
    """Return a program whose operations keep infinite integers infinite.

    Parameters
    ----------
    program : VertexProgram
        The checked program.
    kinds : Kinds
        The types of its declarations.

    Returns
    -------
    VertexProgram
        The same program if no integer field may be infinite.  Otherwise one with rewritten functions
        that says in `infinite` and `infinite_message` what may be infinite.
    """
    fields = infinite_fields(program, kinds)
    return _Program(program, kinds, fields).rewritten() if any(fields) else program


class _Program:
    """Rewrites the functions of one program."""

    def __init__(self, program: VertexProgram, kinds: Kinds, fields: tuple[bool, ...]) -> None:
        self.program, self.fields = program, fields
        self.state = [
            ENDLESS if infinite else _value_of(kind)
            for kind, infinite in zip(kinds.state, fields, strict=True)
        ]
        self.given = _arguments(program, kinds, self.state)
        self.functions: dict[str, Any] = {}
        self.sources: dict[str, FunctionSource] = {}

    def rewritten(self) -> VertexProgram:
        """Rewrite all functions."""
        program = self.program
        message = self.rewrite("compute")
        parts = [part for _, part in message.parts] if message.kind == "tuple" else [message]
        identity = program.identity
        if program.combine == "custom" and program.fold is None:
            message = self.combined(message)
            parts = [part for _, part in message.parts] if message.kind == "tuple" else [message]
            identity = _whole_identity(identity, parts)
        self.given["messages"] = _Value("list", parts=(("0", message),))
        gathered = message
        if program.fold is not None:
            gathered = self.folded(program.fold, parts)
        elif program.listing is not None and program.listing.kind == "list":
            gathered = self.rewrite("gather_list")
        elif program.listing is not None:
            gathered = parts[0]
        self.given["gathered"] = gathered
        wanted = self.state[0] if len(self.state) == 1 else _tuple(self.state)
        for name in ("init", "apply"):
            self.rewrite(name, wanted)
        for name in program.sources:
            if name not in self.sources:
                self.rewrite(name, FLOAT if name in program.aggregates else None)
        functions = {
            key: self.functions.get(key, function) for key, function in program.functions.items()
        }
        aggregates = {key: self.functions[key] for key in program.aggregates}
        return replace(
            program, functions=functions, aggregates=aggregates, sources=self.sources,
            identity=identity, memory=Memory(), infinite=self.fields,
            infinite_message=tuple(part.infinite for part in parts),
        )  # fmt: skip

    def combined(self, message: _Value) -> _Value:
        """Rewrite a custom combine; return what is known of messages that were combined."""
        for _ in range(ROUNDS):
            combined = _joined(message, self.rewrite("combine", arguments=(message, message)))
            if combined == message:
                break
            message = combined
        return message

    def folded(self, fold: Fold, parts: Sequence[_Value]) -> _Value:
        """Return what is known of the result of a combine that has a name."""
        if isinstance(fold, ByPart):
            return _tuple(
                [self.folded(one, [part]) for one, part in zip(fold.folds, parts, strict=False)]
            )
        if isinstance(fold, Basic):
            if fold.name == "sum" and parts[0].infinite:
                raise ProgramError(
                    f"{self.program.name}.compute ({self.program.sources['compute'].location}): the part that is "
                    "summed is an integer that may be infinite; make it a float, or send 0 where it is infinite"
                )
            return INT if fold.name == "sum" and parts[0] == BOOL else parts[0]
        if fold.fields:
            return _record(dict(zip(fold.fields, parts, strict=False)))
        if len(parts) > 1:
            return _tuple(parts)
        length = getattr(fold, "length", None)  # of ws.top
        return OTHER if length is None else _tuple([*parts] * length)

    def rewrite(
        self, name: str, wanted: _Value | None = None, arguments: Sequence[_Value] | None = None
    ) -> _Value:
        """Rewrite a function; return what is known of its result."""
        source = self.program.sources[name]
        values = (
            [self.given[parameter] for parameter in source.parameters]
            if arguments is None
            else arguments
        )
        known = dict(zip(source.parameters, values, strict=True))
        rewriting = _Rewriting(source, known, wanted)
        returned = rewriting.analysed()
        definitions = rewriting.definitions()
        used = [text for key, text in TEXTS.items() if key in rewriting.used]
        texts = [ast.unparse(definition) for _, definition in definitions]
        self.sources[name] = replace(
            source, text="\n\n".join([*used, *texts]), definitions=tuple(definitions)
        )
        self.functions[name] = self.function_of(definitions)
        return returned

    def function_of(self, definitions: Sequence[tuple[str, ast.FunctionDef]]) -> Any:
        """Compile definitions as plain Python for trials, with the user's file and lines."""
        names = {
            **plain_functions(self.program.name),
            "__name__": self.program.module,  # theirs too
            "ws_finite": lambda a: a,  # a trial's values may be none that occur
        }
        return plain_function(definitions, **names)


def plain_functions(owner: str) -> dict[str, Any]:
    """Return the functions of `TEXTS` for plain Python, which refuse infinity, and places outside of tables.

    Parameters
    ----------
    owner : str
        Name of the program, for the error.

    Returns
    -------
    dict of callable
    """
    space: dict[str, Any] = {"math": math}
    for text in TEXTS.values():
        exec(text, space)  # noqa: S102 - our own text

    def finite(a: Any) -> Any:
        if abs(int(a)) >= INFINITY:
            raise ProgramError(
                f"{owner}: an integer that is infinite is used in an operation that has no infinite result; "
                "compare it with math.inf first"
            )
        return a

    def cell(row: Any, column: Any, rows: int, columns: int) -> Any:
        place = space["ws_cell"](int(row), int(column), rows, columns)
        if place == rows * columns:
            index = f"[{int(column)}]" if rows == 1 else f"[{int(row)}][{int(column)}]"
            size = f"{columns}" if rows == 1 else f"{rows} by {columns}"
            raise ProgramError(
                f"{owner}: reads the place {index} of a table of {size} numbers; bound the index"
            )
        return np.int64(place)

    def whole(function: Any) -> Any:
        return lambda *numbers: np.int64(function(*map(int, numbers)))

    names = ("ws_sum", "ws_difference", "ws_product", "ws_quotient")
    functions = {name: whole(space[name]) for name in names}
    return {
        **functions,
        "ws_float": lambda a: np.float64(space["ws_float"](int(a))),
        "ws_finite": finite,
        "ws_cell": cell,
    }


def _whole_identity(identity: Any, parts: Sequence[_Value]) -> Any:
    """Return the identity of a combine with the number that stands for infinity in integers."""
    values = identity if isinstance(identity, tuple) else (identity,)
    if len(values) != len(parts):
        return identity
    numbers = tuple(
        int(math.copysign(INFINITY, value)) if part.infinite and abs(value) == math.inf else value
        for value, part in zip(values, parts, strict=True)
    )
    return numbers if isinstance(identity, tuple) else numbers[0]


def _record(fields: Mapping[str, _Value]) -> _Value:
    return _Value("tuple", parts=tuple(fields.items()))


def _tuple(values: Sequence[_Value]) -> _Value:
    return _Value("tuple", parts=tuple((str(place), value) for place, value in enumerate(values)))


# ----------------------------------------------------------------------------- one function


class _Rewriting:
    """Rewrites one function and its helpers.

    Parameters
    ----------
    source : FunctionSource
        The function.
    arguments : mapping of str to _Value
        Its arguments.
    wanted : _Value, optional
        What its result is stored in; by default what it returns.
    """

    def __init__(
        self, source: FunctionSource, arguments: Mapping[str, _Value], wanted: _Value | None = None
    ) -> None:
        self.defined = source.definitions or tuple(
            ("<program>", node)
            for node in parse(source.text).body
            if isinstance(node, ast.FunctionDef)
        )
        self.main = self.defined[-1][1].name
        self.helpers = {helper.name: helper for _, helper in self.defined[:-1]}
        self.known: dict[str, dict[str, _Value]] = {name: {} for name in (*self.helpers, self.main)}
        self.known[self.main] = dict(arguments)
        self.returned: dict[str, _Value] = {}
        self.wanted = wanted
        self.used: set[str] = set()
        self.inside = self.main  # the function that is looked at

    def analysed(self) -> _Value:
        """Find what variables are; return what is known of the result."""
        for _ in range(ROUNDS):
            before = (
                {name: dict(variables) for name, variables in self.known.items()},
                dict(self.returned),
            )
            self.definitions()
            if before == (self.known, self.returned):
                break
        self.used.clear()
        return self.returned.get(self.main, OTHER)

    def definitions(self) -> list[tuple[str, ast.FunctionDef]]:
        """Return the rewritten definitions, each with its file."""
        rewritten = []
        for file, definition in reversed(self.defined):
            self.inside = definition.name
            body = self.statements(definition.body)
            replacement = ast.FunctionDef(
                name=definition.name, args=definition.args, body=body, decorator_list=[], returns=None,
            )  # fmt: skip
            rewritten.append(
                (file, ast.fix_missing_locations(ast.copy_location(replacement, definition)))
            )
        return rewritten[::-1]

    # ---------------------------------------------------------------- statements

    def statements(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        return [
            ast.fix_missing_locations(ast.copy_location(self.statement(statement), statement))
            for statement in body
        ]

    def statement(self, node: ast.stmt) -> ast.stmt:
        if isinstance(node, ast.Return) and node.value is not None:
            return self.result(node)
        if isinstance(node, ast.Assign):
            value, known = self.expression(node.value)
            for target in node.targets:
                self.store(target, known)
            if len(node.targets) == 1:
                value = self.fitted(value, known, self.target(node.targets[0]))
            return ast.Assign(targets=node.targets, value=value)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            read = ast.copy_location(ast.Name(node.target.id, ast.Load()), node)
            value, known = self.expression(
                ast.copy_location(ast.BinOp(read, node.op, node.value), node)
            )
            self.store(node.target, known)
            value = self.fitted(value, known, self.target(node.target))
            return ast.Assign(targets=[node.target], value=value)
        if isinstance(node, ast.If):
            test = self.expression(node.test)[0]
            return ast.If(test, self.statements(node.body), self.statements(node.orelse))
        if isinstance(node, ast.While):
            test = self.expression(node.test)[0]
            return ast.While(test, self.statements(node.body), self.statements(node.orelse))
        if isinstance(node, ast.For):
            items, known = self.expression(node.iter)
            parts = [part for _, part in known.parts]
            self.store(node.target, _all_joined(parts) if parts else OTHER)
            return ast.For(
                target=node.target, iter=items, body=self.statements(node.body),
                orelse=self.statements(node.orelse),
            )  # fmt: skip
        return node

    def result(self, node: ast.Return) -> ast.Return:
        """Rewrite a return statement."""
        assert node.value is not None
        value, known = self.expression(node.value)
        before = self.returned.get(self.inside)
        self.returned[self.inside] = known if before is None else _joined(before, known)
        wanted = self.wanted if self.inside == self.main else None
        if wanted is None:
            wanted = self.returned[self.inside]
        elif (wanted.kind == "tuple") != (known.kind == "tuple"):
            wanted = known
        return ast.Return(self.fitted(value, known, wanted, stored=self.inside == self.main))

    def store(self, target: ast.expr, known: _Value) -> None:
        """Record what is assigned to a variable."""
        if isinstance(target, ast.Name):
            names = self.known[self.inside]
            names[target.id] = _joined(names[target.id], known) if target.id in names else known
        elif isinstance(target, ast.Tuple):
            parts = [part for _, part in known.parts]
            if len(parts) != len(target.elts):
                parts = [OTHER] * len(target.elts)
            for element, part in zip(target.elts, parts, strict=True):
                self.store(element, part)

    def target(self, target: ast.expr) -> _Value:
        """Return what is known of what a target holds."""
        if isinstance(target, ast.Name):
            return self.known[self.inside][target.id]
        if isinstance(target, ast.Tuple):
            return _tuple([self.target(element) for element in target.elts])
        return OTHER

    # ---------------------------------------------------------------- conversions

    def call(self, name: str, *arguments: ast.expr) -> ast.expr:
        self.used.add(name)
        call_node = ast.Call(ast.Name(name, ast.Load()), list(arguments), [])
        return ast.fix_missing_locations(ast.copy_location(call_node, arguments[0]))

    def fitted(
        self, node: ast.expr, known: _Value, wanted: _Value, *, stored: bool = False
    ) -> ast.expr:
        """Convert an expression to what holds it: infinity to a number, infinite integers to floats."""
        if not known.may_be_infinite or known == wanted:
            return node
        if isinstance(node, ast.IfExp) and known.is_constant:
            branches = [
                self.fitted(branch, known, wanted, stored=stored)
                for branch in (node.body, node.orelse)
            ]
            return ast.copy_location(ast.IfExp(node.test, *branches), node)
        if known.kind == "tuple" and len(known.parts) == len(wanted.parts):
            items = [
                self.fitted(self.item(node, place), known_part, wanted_part, stored=stored)
                for place, ((_, known_part), (_, wanted_part)) in enumerate(
                    zip(known.parts, wanted.parts, strict=True)
                )
            ]
            return ast.copy_location(ast.Tuple(items, ast.Load()), node)
        if wanted.kind in ("int", "bool"):
            if known.is_constant:
                if stored and not wanted.infinite:
                    return node  # a float, which the field is refused for
                number: ast.expr = ast.copy_location(ast.Constant(INFINITY), node)
                if known.kind == "-inf":
                    number = ast.copy_location(ast.UnaryOp(ast.USub(), number), node)
                return number
            return self.call("ws_finite", node) if stored and not wanted.infinite else node
        return self.call("ws_float", node) if wanted.kind == "float" and known.infinite else node

    def item(self, node: ast.expr, place: int) -> ast.expr:
        """Write an item of a tuple."""
        if isinstance(node, ast.Tuple):
            return node.elts[place]
        subscript = ast.Subscript(node, ast.Constant(place), ast.Load())
        return ast.fix_missing_locations(ast.copy_location(subscript, node))

    # ---------------------------------------------------------------- expressions

    def expression(self, node: ast.expr) -> tuple[ast.expr, _Value]:
        """Rewrite an expression; return it, and what is known of its value."""
        visit = getattr(self, f"of_{type(node).__name__.lower()}", None)
        if visit is None:
            return node, OTHER
        rewritten, known = visit(node)
        return ast.copy_location(rewritten, node), known

    def of_constant(self, node: ast.Constant) -> tuple[ast.expr, _Value]:
        kinds = {bool: BOOL, int: INT, float: FLOAT}
        return node, kinds.get(type(node.value), OTHER)

    def of_name(self, node: ast.Name) -> tuple[ast.expr, _Value]:
        known = self.known[self.inside].get(node.id, UNSEEN)
        if known.is_constant:  # a variable that is nothing else
            constant: ast.expr = ast.Attribute(ast.Name("math", ast.Load()), "inf", ast.Load())
            if known.kind == "-inf":
                constant = ast.UnaryOp(ast.USub(), constant)
            return ast.fix_missing_locations(ast.copy_location(constant, node)), known
        return node, known

    def of_attribute(self, node: ast.Attribute) -> tuple[ast.expr, _Value]:
        written = ast.unparse(node)
        if written in ("math.inf", "np.inf"):
            return node, _Value("inf")
        if written.startswith(("math.", "np.")):
            return node, FLOAT
        base = self.expression(node.value)[1]
        return node, dict(base.parts).get(node.attr, OTHER)

    def of_tuple(self, node: ast.Tuple) -> tuple[ast.expr, _Value]:
        elements = [self.expression(element) for element in node.elts]
        return ast.Tuple([element for element, _ in elements], node.ctx), _tuple(
            [known for _, known in elements]
        )

    def of_subscript(self, node: ast.Subscript) -> tuple[ast.expr, _Value]:
        value, known = self.expression(node.value)
        index, _ = self.expression(node.slice)
        parts = [part for _, part in known.parts]
        known_item = _all_joined(parts) if parts else OTHER
        at = index.value if isinstance(index, ast.Constant) else None
        if known.kind == "tuple" and isinstance(at, int) and -len(parts) <= at < len(parts):
            known_item = parts[at]
        if known.kind == "tuple" and at is None and known_item.may_be_infinite:
            value = self.fitted(value, known, _tuple([known_item] * len(parts)))
        return ast.Subscript(value, index, node.ctx), known_item

    def of_namedexpr(self, node: ast.NamedExpr) -> tuple[ast.expr, _Value]:
        value, known = self.expression(node.value)
        self.store(node.target, known)
        known_target = self.target(node.target)
        return ast.NamedExpr(node.target, self.fitted(value, known, known_target)), known_target

    def of_unaryop(self, node: ast.UnaryOp) -> tuple[ast.expr, _Value]:
        operand, known = self.expression(node.operand)
        if isinstance(node.op, ast.Not):
            return ast.UnaryOp(node.op, operand), BOOL
        if isinstance(node.op, ast.USub) and known.is_constant:
            opposite = _Value("-inf" if known.kind == "inf" else "inf")
            return ast.UnaryOp(node.op, operand), opposite
        if isinstance(node.op, ast.Invert):
            operand = self.call("ws_finite", operand) if known.infinite else operand
            return ast.UnaryOp(node.op, operand), _Value("int") if known.is_whole else OTHER
        return ast.UnaryOp(node.op, operand), _joined(known, INT) if known.is_whole else known

    def of_binop(self, node: ast.BinOp) -> tuple[ast.expr, _Value]:
        left_side, first = self.expression(node.left)
        right_side, second = self.expression(node.right)
        both, plain = (first, second), ast.BinOp(left_side, node.op, right_side)
        if UNSEEN in both:
            return plain, UNSEEN
        if any(operand.kind in ("other", "tuple", "list") for operand in both):
            return plain, OTHER
        if not any(operand.may_be_infinite for operand in both) or all(
            operand.is_constant for operand in both
        ):
            if isinstance(node.op, ast.Div) or "float" in (first.kind, second.kind):
                return plain, FLOAT
            bits = isinstance(node.op, (ast.BitAnd, ast.BitOr, ast.BitXor))
            if any(operand.is_constant for operand in both):
                return plain, FLOAT
            return plain, BOOL if bits and first == second == BOOL else INT
        if isinstance(node.op, ast.Div) or not all(operand.is_whole for operand in both):
            sides = (self.fitted(left_side, first, FLOAT), self.fitted(right_side, second, FLOAT))
            return ast.BinOp(sides[0], node.op, sides[1]), FLOAT
        # The functions compare integers, which a flag is not to the compiler.
        left_side, right_side = (
            ast.Call(ast.Name("int", ast.Load()), [side], []) if known.kind == "bool" else side
            for side, known in ((left_side, first), (right_side, second))
        )
        sides = (self.fitted(left_side, first, ENDLESS), self.fitted(right_side, second, ENDLESS))
        called = OPERATIONS.get(type(node.op))
        if called is not None:
            return self.call(called, *sides), ENDLESS
        checked = [
            self.call("ws_finite", side) if known.may_be_infinite else side
            for side, known in zip(sides, both, strict=True)
        ]
        return ast.BinOp(checked[0], node.op, checked[1]), INT

    def of_boolop(self, node: ast.BoolOp) -> tuple[ast.expr, _Value]:
        operands = [self.expression(operand) for operand in node.values]
        joined = _all_joined([known for _, known in operands])
        return ast.BoolOp(node.op, [self.fitted(*operand, joined) for operand in operands]), joined

    def of_compare(self, node: ast.Compare) -> tuple[ast.expr, _Value]:
        operands = [self.expression(operand) for operand in (node.left, *node.comparators)]
        known = [value for _, value in operands]
        joined = _all_joined(known)
        if not any(value.may_be_infinite for value in known) or joined.is_constant:
            return ast.Compare(
                operands[0][0], node.ops, [operand for operand, _ in operands[1:]]
            ), BOOL
        sides, ops = [self.fitted(*operand, joined) for operand in operands], list(node.ops)
        if len(ops) == 1 and joined.kind == "int" and any(value.is_constant for value in known):
            if known[0].is_constant:
                sides, known, ops = sides[::-1], known[::-1], [MIRRORED[type(ops[0])]()]
            if known[1].kind == "inf":  # every number from there on is infinite
                exact: dict[type[ast.cmpop], ast.cmpop] = {ast.Eq: ast.GtE(), ast.NotEq: ast.Lt()}
            else:
                exact = {ast.Eq: ast.LtE(), ast.NotEq: ast.Gt()}
            ops = [exact.get(type(ops[0]), ops[0])]
        return ast.Compare(sides[0], ops, sides[1:]), BOOL

    def of_ifexp(self, node: ast.IfExp) -> tuple[ast.expr, _Value]:
        test = self.expression(node.test)[0]
        branches = [self.expression(branch) for branch in (node.body, node.orelse)]
        joined = _joined(branches[0][1], branches[1][1])
        body, orelse = (self.fitted(*branch, joined) for branch in branches)
        return ast.IfExp(test, body, orelse), joined

    def of_call(self, node: ast.Call) -> tuple[ast.expr, _Value]:
        rewritten = [self.expression(argument) for argument in node.args]
        called = ast.unparse(node.func)
        if called in self.helpers and not node.keywords:
            return self.of_helper(node, called, rewritten)
        if called in TEXTS:  # of an entry of a table
            self.used.add(called)
            return ast.Call(node.func, [argument for argument, _ in rewritten], []), INT
        known = [value for _, value in rewritten]
        infinite = any(value.may_be_infinite for value in known)

        def calling(wanted: _Value | None, *, finite: bool = False) -> ast.Call:
            arguments = [argument if wanted is None else self.fitted(argument, value, wanted)
                         for argument, value in rewritten]  # fmt: skip
            if finite:
                arguments = [
                    self.call("ws_finite", argument) if value.infinite else argument
                    for argument, (_, value) in zip(arguments, rewritten, strict=True)
                ]
            return ast.Call(node.func, arguments, node.keywords)

        if called in ("min", "max", "np.minimum", "np.maximum") and len(known) > 1:
            joined = _all_joined(known)
            return calling(joined), joined
        is_whole = bool(known) and known[0].is_whole
        if called in (
            "abs",
            "np.abs",
            "int",
            "np.int64",
            "round",
            "math.floor",
            "math.ceil",
            "math.trunc",
        ):
            if is_whole and len(known) == 1:
                return calling(ENDLESS if infinite else INT), ENDLESS if infinite else INT
            keeps = called in ("abs", "np.abs") or len(known) > 1
            return calling(None), known[0] if keeps and known else INT
        if called in (
            "bool",
            "math.isinf",
            "math.isfinite",
            "math.isnan",
            "np.isinf",
            "np.isfinite",
            "np.isnan",
        ):
            return calling(None if called == "bool" else FLOAT), BOOL
        if called == "len":
            return calling(None), INT
        if called == "range":
            joined = _Value("list", parts=(("0", INT),))
            return calling(INT, finite=True), joined
        if called in ("float", "np.float64", "np.float32") or called.startswith("math."):
            return calling(FLOAT), FLOAT
        if not infinite:
            return calling(None), OTHER
        if called.startswith("np.") and not called.startswith(("np.int", "np.uint", "np.bool")):
            return calling(FLOAT), OTHER
        return calling(INT, finite=True), OTHER

    def of_helper(
        self, node: ast.Call, called: str, rewritten: Sequence[tuple[ast.expr, _Value]]
    ) -> tuple[ast.expr, _Value]:
        """Rewrite the call of a helper: its parameters are what all its calls give them."""
        names = [parameter.arg for parameter in self.helpers[called].args.args]
        known_parameters = self.known[called]
        for name, (_, value) in zip(names, rewritten, strict=False):
            known_parameters[name] = (
                _joined(known_parameters[name], value) if name in known_parameters else value
            )
        arguments = [
            self.fitted(argument, value, known_parameters[name])
            for name, (argument, value) in zip(names, rewritten, strict=False)
        ]
        return ast.Call(node.func, arguments, []), self.returned.get(called, UNSEEN)
