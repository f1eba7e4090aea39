"""The source of one function of a vertex program: found, checked, and made self-contained.

A program's functions are compiled separately from the file in which they are defined.  So their
source is read, and refused if some engine cannot run it.  Every outer name in it is replaced by its
value: a number, a table of numbers, a function of `math` or NumPy, or a helper, whose source is included.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import inspect
import math
import types
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NoReturn
from weakref import WeakKeyDictionary

import numpy as np

from cugraph_ws.arguments import shown
from cugraph_ws.errors import ProgramError
from cugraph_ws.program.declarations import no_message
from cugraph_ws.program.randomness import (
    DRAWING,
    FUNCTIONS,
    is_draw,
    misuse,
    with_draws,
    ws_edge_seed,
)
from cugraph_ws.program.remedies import (
    NO_STATEMENTS,
    of_builtin,
    of_field,
    of_method,
    of_name,
    of_other_module,
    of_outer_value,
)
from cugraph_ws.program.tables import CELL, Table, entry_of, table_of
from cugraph_ws.runtime.parsing import parse

__all__ = [
    "NO_MESSAGE",
    "FunctionSource",
    "class_names",
    "draws",
    "plain_function",
    "read_function",
]

BUILTINS = {
    "abs", "bool", "divmod", "float", "int", "len", "max", "min", "pow", "range", "round",
}  # fmt: skip
MODULES = {math: "math", np: "np"}
NUMBERS = (bool, int, float, np.generic)
DRAWN: dict[str, Any] = {
    function.__name__: function for function in (*FUNCTIONS.values(), ws_edge_seed)
}
NO_MESSAGE = "ws_no_message"  # `ws.no_message` in the text of `compute`
OF_GRAPHS = ("in_degree", "in_weight", "neighbour_count", "out_degree", "out_weight")
DECLARED_BY = {"edge": "ws.edge", "p": "ws.parameter"}  # by parameter of a function


class _Missing:
    """Represents a name that has no value."""


@dataclass
class FunctionSource:
    """One function's source, ready to be placed in another module.

    Attributes
    ----------
    text : str
        The function and the helpers that it calls, as source with no outer names except `math`,
        `np` and builtins.
    parameters : tuple of str
        Names of its parameters.
    attributes : dict
        For each parameter, the attributes that the function, or a helper, may read from it.
    location : str
        `file:line` of the definition.
    captured : tuple of Captured
        The outer names whose values are in the text, including those of helpers.
    definitions : tuple of (str, ast.FunctionDef)
        The helpers and the function as in the text, with the lines of the user's files, and these files;
        empty if the text is not the user's.
    """

    text: str
    parameters: tuple[str, ...]
    attributes: dict[str, set[str]] = field(default_factory=dict)
    location: str = ""
    captured: tuple[Captured, ...] = ()
    definitions: tuple[tuple[str, ast.FunctionDef], ...] = ()

    def has_changed(self) -> bool:
        """Return whether an outer name has another value than when the source was read."""
        return any(not capture.is_current() for capture in self.captured)


@dataclass(frozen=True)
class Captured:
    """The value of an outer name when a function's source was read.

    Attributes
    ----------
    function : callable
        The function that reads the name.
    name : str
        A global, or a variable of an enclosing function.
    attribute : str or None
        The attribute of it that is read: of a module or a class, or the defaults of a helper.
    value : Any
        The value at that time; of a table its numbers, since lists and arrays change.
    """

    function: types.FunctionType
    name: str
    attribute: str | None
    value: Any

    def is_current(self) -> bool:
        """Return whether the name still has the same value."""
        now = _outer(self.function, self.name)
        if self.attribute is not None:
            now = getattr(now, self.attribute, _Missing)
        if isinstance(self.value, Table):
            return _same_table(now, self.value)
        if now is self.value:
            return True
        both = isinstance(now, NUMBERS) and isinstance(self.value, NUMBERS)
        same = both and (now == self.value or (now != now and self.value != self.value))
        return bool(same and type(now) is type(self.value))


def read_function(
    function: Callable[..., Any],
    name: str,
    *,
    owner: str,
    attributes: dict[str, Collection[str]] | None = None,
    callers: tuple[Callable[..., Any], ...] = (),
    drawing: tuple[str, int] | None = None,
    rewrite: Callable[[ast.FunctionDef, Callable[..., NoReturn]], Collection[str]] | None = None,
) -> FunctionSource:
    """Read the source of `function`, check it, and make it self-contained.

    Parameters
    ----------
    function : callable
        A plain Python function.
    name : str
        Its name in the text.
    owner : str
        Name of the vertex program, for error messages.
    attributes : dict, optional
        By parameter name: the attribute names that the body may read from it.
    callers : tuple of callable, optional
        The functions from which it is called, to refuse recursion.
    drawing : tuple of str and int, optional
        For a function that may draw random numbers: the arguments of `with_draws`.
    rewrite : callable, optional
        Changes the function's definition, and returns the names that it then reads and that the text does
        not define; its other argument raises an error for a node.

    Returns
    -------
    FunctionSource
        The checked source.

    Raises
    ------
    ProgramError
        If the source cannot be found, or does something that cannot be compiled, or not repeated.
    """
    role = name.removeprefix("user_")
    node, first_line, filename = _parse(function, owner, role, is_helper=bool(callers))
    reader = _Reader(function, owner, filename, first_line, name)
    if drawing is not None:
        wrong = misuse(node, drawing[0])
        if wrong is not None:
            reader.fail(*wrong)
        with_draws(node, *drawing)
    if rewrite is not None:
        reader.given = frozenset(rewrite(node, reader.fail))
    if callers:  # whose calls have all arguments by position
        node.args.args += node.args.kwonlyargs
        node.args.kwonlyargs, node.args.kw_defaults = [], []
    parameters = tuple(argument.arg for argument in node.args.args)
    reader.callers = (*callers, function)
    reader.refuse_side_effects(node)
    used = reader.check_attributes(node, parameters, attributes or {})
    helpers: dict[Any, FunctionSource] = {}
    body = reader.resolve(node, helpers)
    reader.refuse_unsent(body)
    body.name = name
    text = "\n\n".join([*(helper.text for helper in helpers.values()), ast.unparse(body)])
    if "ws_cell(" in text and CELL not in text:
        text = f"{CELL}\n\n{text}"
    definitions = [part for helper in helpers.values() for part in helper.definitions]
    location = f"{filename}:{first_line}"
    return FunctionSource(
        text, parameters, used, location, tuple(reader.captured), (*definitions, (filename, body))
    )


def _parse(
    function: Callable[..., Any], owner: str, role: str = "function", *, is_helper: bool = False
) -> tuple[ast.FunctionDef, int, str]:
    name = getattr(function, "__name__", role)
    if hasattr(function, "__wrapped__"):
        raise ProgramError(
            f"{owner}.{name} is decorated, but only the inner function could be compiled; remove the "
            "decorator"
        )
    if not isinstance(function, types.FunctionType):
        raise ProgramError(
            f"{owner}.{role} is {shown(function)}, a {type(function).__name__}; write it as a plain function: "
            f"def {role}(…)"
        )
    try:
        lines, first_line = _lines(function)
    except (OSError, TypeError) as error:
        raise ProgramError(
            f"{owner}.{name}: its source cannot be found ({error}); define the program in a file or "
            "a notebook cell, not through exec() or an interactive prompt"
        ) from error
    filename = inspect.getsourcefile(function) or "<unknown>"
    try:
        # Not dedented: a comment or a docstring may be indented less than the function.
        indented = lines[0][:1].isspace()
        tree = parse("".join(["if True:\n" if indented else "\n", *lines]))
    except SyntaxError as error:
        raise ProgramError(
            f"{owner}.{name} ({filename}:{first_line}): is not a statement of its own; "
            "write it as a def, not as a lambda inside an expression"
        ) from error
    node = tree.body[0]
    if isinstance(node, ast.If):
        node = node.body[0]
    if is_helper and name == "<lambda>":
        node = _definition(function, node, first_line - 2) or node
    if isinstance(node, ast.AsyncFunctionDef):
        raise ProgramError(
            f"{owner}.{name} ({filename}:{first_line}): is async; write it as a plain def"
        )
    if not isinstance(node, ast.FunctionDef):
        raise ProgramError(
            f"{owner}.{role} ({filename}:{first_line}): write it as a def, not as a lambda"
        )
    ast.increment_lineno(node, first_line - 2)
    return node, first_line, filename


def _definition(
    function: types.FunctionType, statement: ast.stmt, before: int
) -> ast.FunctionDef | None:
    """Return a lambda of a statement as a def; None if the statement does not show which of its lambdas it is.

    `before` is the number of lines before those of `statement`.
    """
    lambdas = [node for node in ast.walk(statement) if isinstance(node, ast.Lambda)]
    if len(lambdas) > 1:  # that whose body has the positions of the code's instructions
        code = function.__code__.co_positions()
        places = {
            (line - before, first) for line, _, first, last in code if line and first and last
        }
        lambdas = [node for node in lambdas if (node.body.lineno, node.body.col_offset) in places]
    if len(lambdas) != 1:
        return None
    returned = ast.copy_location(ast.Return(lambdas[0].body), lambdas[0].body)
    arguments = lambdas[0].args
    definition = ast.FunctionDef(name="helper", args=arguments, body=[returned], decorator_list=[])
    return ast.copy_location(definition, lambdas[0])


def plain_function(
    definitions: Sequence[tuple[str, ast.FunctionDef]], **names: Any
) -> Callable[..., Any]:
    """Compile definitions as plain Python, with the user's file and lines; return the function of the last one.

    Parameters
    ----------
    definitions : sequence of (str, FunctionDef)
        Files and definitions, helpers first, as `FunctionSource.definitions`.
    **names
        What they may read besides each other, `math` and `np`.
    """
    space: dict[str, Any] = {"math": math, "np": np, **names}
    for file, definition in definitions:
        tree = ast.fix_missing_locations(ast.Module([definition], []))
        exec(compile(tree, file, "exec"), space)  # noqa: S102 - the reader here has checked the text
    plain: Callable[..., Any] = space[definitions[-1][1].name]
    return plain


def draws(function: Any, owner: str) -> bool:
    """Return whether a function of a program draws random numbers.

    Parameters
    ----------
    function : callable
    owner : str
        Name of the program, for errors.
    """
    names = getattr(getattr(function, "__code__", None), "co_names", ())
    if not set(FUNCTIONS) & set(names):  # nothing to parse
        return False
    return any(map(is_draw, ast.walk(_parse(function, owner)[0])))


_known: WeakKeyDictionary[Callable[..., Any], tuple[list[str], int]] = WeakKeyDictionary()


def _lines(function: Callable[..., Any]) -> tuple[list[str], int]:
    """Return a function's source as it was when first read, since the file may have changed."""
    if function not in _known:
        _known[function] = inspect.getsourcelines(function)
    return _known[function]


def class_names(cls: type) -> list[str]:
    """Return the names that a class body annotates or assigns, in the order of its source.

    Parameters
    ----------
    cls : type
        A class with plain functions, through which its source is found.

    Returns
    -------
    list of str
        Without repetitions; empty if the source cannot be found.
    """
    members = [getattr(member, "__func__", member) for member in vars(cls).values()]
    for function in (member for member in members if isinstance(member, types.FunctionType)):
        try:
            lines, line = inspect.findsource(function)
            nodes = ast.walk(parse("".join(lines)))
        except (OSError, SyntaxError):
            continue
        for node in nodes:
            if (
                isinstance(node, ast.ClassDef)
                and node.name == cls.__name__
                and node.lineno <= line + 1 <= (node.end_lineno or 0)
            ):
                return list(dict.fromkeys(_targets(node)))
    return []


def _targets(node: ast.ClassDef) -> Iterator[str]:
    """Yield the names that statements of a class body annotate or assign."""
    for statement in node.body:
        targets: list[ast.expr] = []
        if isinstance(statement, ast.AnnAssign):
            targets = [statement.target]
        elif isinstance(statement, ast.Assign):
            targets = statement.targets
        for part in (part for target in targets for part in ast.walk(target)):
            if isinstance(part, ast.Name):
                yield part.id


class _Reader:
    """Checks and rewrites the source of one function."""

    def __init__(
        self, function: Callable[..., Any], owner: str, filename: str, line: int, new_name: str
    ) -> None:
        self.function = function
        self.owner = owner
        self.filename = filename
        self.line = line
        self.new_name = new_name
        self.callers: tuple[Callable[..., Any], ...] = (function,)
        self.given: frozenset[str] = frozenset()  # names that are left as they are
        try:
            closure = inspect.getclosurevars(function)
        except ValueError:  # an empty cell
            self.fail(
                function.__code__,
                "uses a variable of the enclosing function that has no value yet; assign it first",
            )
        self.outer: dict[str, Any] = {**closure.globals, **closure.nonlocals}
        self.captured: list[Captured] = []

    def fail(self, node: object, what: str) -> NoReturn:
        line = getattr(node, "lineno", self.line)
        raise ProgramError(
            f"{self.owner}.{self.function.__name__}, line {line} of {self.filename}: {what}"
        )

    def refuse_side_effects(self, function: ast.FunctionDef) -> None:
        """Refuse statements that some engine cannot run, or that have side effects."""
        if function.args.vararg or function.args.kwarg or function.args.kwonlyargs:
            self.fail(function, "takes * or keyword-only parameters; name plain ones")
        if function.args.defaults and len(self.callers) == 1:
            self.fail(function, "has default values; declare a ws.parameter with a default instead")
        parameters = {argument.arg for argument in function.args.args}
        texts = {
            id(node.args[0])
            for node in ast.walk(function)
            if isinstance(node, ast.Call) and self.number_of_text(node) is not None
        }
        for node in ast.walk(function):
            if node is function:
                continue
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.fail(node, "defines a function inside; define it beside the program")
            if type(node) in NO_STATEMENTS:
                self.fail(node, NO_STATEMENTS[type(node)])
            if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(
                node.ctx, ast.Load
            ):
                self.fail(
                    node,
                    f"writes to `{ast.unparse(node)}`, a side effect; return the new value instead",
                )
            match node:
                case ast.Subscript(
                    value=ast.Name(id=name), slice=ast.Constant(value=str(read))
                ) if name in parameters and read.isidentifier():
                    self.fail(node, f"uses `{ast.unparse(node)}`; write `{name}.{read}`")
                case ast.Subscript(value=ast.Name(id=name)) if name not in parameters:
                    value = self.outer.get(name, 0)
                    if (
                        _literal(value) is None
                        and not callable(value)
                        and self.table(node.value) is None
                    ):
                        self.refuse_outer(node, name, value)
                case ast.Compare(comparators=[*_, ast.Constant(value=None)]):
                    self.fail(
                        node,
                        f"`{ast.unparse(node)}`: nothing is None in a program; a vertex without messages gathers "
                        "the identity of combine, such as 0 for sum",
                    )
                case ast.Expr(value=ast.Call(func=ast.Name(id="print"))):
                    self.fail(
                        node,
                        f"`{ast.unparse(node)}`: programs do not print; with engine='python' they stop at "
                        "breakpoints of pdb",
                    )
            if isinstance(node, ast.Constant) and not isinstance(node.value, (bool, int, float)):
                docstring = any(
                    isinstance(statement, ast.Expr) and statement.value is node
                    for statement in function.body
                )
                if node.value is not None and not docstring and id(node) not in texts:
                    self.fail(node, f"uses {node.value!r}; only numbers are allowed")
            if isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant):
                self.fail(
                    node, f"`{ast.unparse(node)}` only has a side effect; return a value instead"
                )

    def number_of_text(self, node: ast.Call) -> ast.expr | None:
        """Return the number that a call such as `float("inf")` is; None if it is another call."""
        match node:
            case ast.Call(
                func=ast.Name(id="float"), args=[ast.Constant(value=str(text))], keywords=[]
            ) if "float" not in self.outer:
                with suppress(ValueError):
                    return _literal(float(text))
        return None

    def check_attributes(
        self,
        function: ast.FunctionDef,
        parameters: tuple[str, ...],
        permitted: dict[str, Collection[str]],
    ) -> dict[str, set[str]]:
        """Check that every `parameter.attribute` is declared; return those read."""
        used: dict[str, set[str]] = {name: set() for name in parameters}
        for node in ast.walk(function):
            if not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)):
                continue
            parameter = node.value.id
            if parameter not in permitted or parameter not in used:
                continue
            if is_draw(node):
                continue  # `resolve` refuses it
            if node.attr not in permitted[parameter]:
                names = sorted(permitted[parameter])
                self.fail(
                    node,
                    f"`{parameter}.{node.attr}` is not declared; `{parameter}` has: "
                    f"{', '.join(names) or 'none'}{_remedy(parameter, node.attr, permitted)}",
                )
            used[parameter].add(node.attr)
        # A parameter that is passed on as a whole may be read in any way.
        bases = {
            id(attribute.value)
            for attribute in ast.walk(function)
            if isinstance(attribute, ast.Attribute)
        }
        for node in ast.walk(function):
            if isinstance(node, ast.Name) and node.id in used and id(node) not in bases:
                used[node.id].update(permitted.get(node.id, ()))
        return used

    def helper_name(
        self, node: ast.Name, helper: types.FunctionType, helpers: dict[Any, FunctionSource]
    ) -> str:
        """Include a helper's source, once; return its new name."""
        if helper in self.callers:
            self.fail(node, f"`{node.id}` calls itself; write it as a loop")
        if helper not in helpers:
            # Two helpers may have the same name, for example closures made by one function.
            name = f"{self.new_name}_{len(helpers)}_{helper.__name__.strip('<>')}"
            source = read_function(helper, name, owner=self.owner, callers=self.callers)
            self.captured += source.captured
            helpers[helper] = source
        return helpers[helper].definitions[-1][1].name

    def positional(self, node: ast.Call, called: ast.expr) -> None:
        """Write all arguments of a call of a helper by position, with its defaults."""
        assert isinstance(called, ast.Name)
        outer = self.outer.get(called.id)
        helper = getattr(outer, "py_func", outer)
        if not isinstance(helper, types.FunctionType):
            return
        self.capture(called.id, getattr(outer, "__defaults__", _Missing), "__defaults__")
        named = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
        try:
            given = inspect.signature(helper).bind(*node.args, **named)
        except TypeError as error:
            self.fail(node, f"`{ast.unparse(node)}`: {error}")
        given.apply_defaults()
        for name, value in given.arguments.items():
            if not isinstance(value, ast.AST):
                constant = _literal(value)
                if constant is None:
                    self.fail(
                        node,
                        f"`{ast.unparse(node)}`: the default {name}={value!r} is not a number; give one",
                    )
                given.arguments[name] = ast.copy_location(constant, node)
        node.args, node.keywords = list(given.arguments.values()), []

    def resolve(
        self, function: ast.FunctionDef, helpers: dict[Any, FunctionSource]
    ) -> ast.FunctionDef:
        """Replace every outer name by its value; collect helpers by their new name."""
        function.decorator_list = []
        function.returns = None
        function.args.defaults = []  # calls have them
        for argument in function.args.args:
            argument.annotation = None
        local = self.given | {argument.arg for argument in function.args.args}
        local |= {
            node.id
            for node in ast.walk(function)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        reader = self

        class Replace(ast.NodeTransformer):
            def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
                if node.value is None:
                    reader.fail(node, "declares a variable without a value")
                return self.visit(
                    ast.copy_location(ast.Assign(targets=[node.target], value=node.value), node)
                )

            def visit_Subscript(self, node: ast.Subscript) -> Any:
                read = reader.table_read(node, local)
                if read is None:
                    return self.generic_visit(node)
                table, *index = read
                entry = entry_of(table, *(self.visit(place) for place in index))
                return _located(entry, node)

            def visit_Call(self, node: ast.Call) -> Any:
                number = reader.number_of_text(node) or reader.length_of_table(node, local)
                if number is not None:
                    return ast.copy_location(number, node)
                called = node.func
                if (
                    isinstance(called, ast.Attribute)
                    and reader.module_attribute(called, local) is None
                ):
                    if is_draw(called):
                        reader.fail(
                            node,
                            f"draws `{ast.unparse(node)}`, which only {', '.join(DRAWING)} of a vertex program "
                            "can; draw there, and keep the number in the state or pass it on",
                        )
                    reader.fail(node, of_method(called, reader.outer))
                if isinstance(called, ast.Name) and called.id not in local:
                    reader.positional(node, called)
                return self.generic_visit(node)

            def visit_Attribute(self, node: ast.Attribute) -> Any:
                value = reader.module_attribute(node, local)
                if value is None:
                    return self.generic_visit(node)
                return ast.copy_location(value, node)

            def visit_Name(self, node: ast.Name) -> Any:
                if node.id in local:
                    return node
                return ast.copy_location(reader.outer_name(node, helpers), node)

        replaced = Replace().visit(function)
        assert isinstance(replaced, ast.FunctionDef)
        return ast.fix_missing_locations(replaced)

    def table(self, node: ast.expr, local: Collection[str] = ()) -> Table | None:
        """Return the table that an outer name, or an attribute of a module or a class, is; None if it is none."""
        name = node.value if isinstance(node, ast.Attribute) else node
        if isinstance(node, ast.Tuple) and all(map(_is_number, node.elts)):
            value = ast.literal_eval(node)
        elif not isinstance(name, ast.Name) or name.id in local or name.id not in self.outer:
            return None
        else:
            value = self.outer[name.id]
        if isinstance(node, ast.Attribute):
            if not isinstance(value, (types.ModuleType, type)):
                return None
            value = getattr(value, node.attr, None)
        try:
            table = table_of(value)
        except ValueError as error:
            self.fail(node, f"`{ast.unparse(node)}` {error}")
        if table is not None and isinstance(name, ast.Name):
            self.capture(name.id, table, node.attr if isinstance(node, ast.Attribute) else None)
        return table

    def table_read(
        self, node: ast.Subscript, local: Collection[str]
    ) -> tuple[Table, ast.expr, ast.expr] | None:
        """Return the table that a subscript reads, with row and column; None if it reads something else."""
        base, index = node.value, [node.slice]
        while isinstance(base, ast.Subscript):
            index.insert(0, base.slice)
            base = base.value
        table = self.table(base, local)
        if table is None or (isinstance(base, ast.Tuple) and _is_number(node.slice)):
            return None
        if isinstance(node.slice, ast.Tuple) and len(index) == 1:
            index = node.slice.elts
        if len(index) != table.dimensions or any(
            isinstance(at, (ast.Slice, ast.Tuple)) for at in index
        ):
            places = "[row][column]" if table.dimensions == 2 else "[i]"
            self.fail(
                node,
                f"uses `{ast.unparse(node)}`; `{ast.unparse(base)}` is a table, which is read as "
                f"`{ast.unparse(base)}{places}`",
            )
        row = index[0] if table.dimensions == 2 else ast.Constant(0)
        return table, row, index[-1]

    def length_of_table(self, node: ast.Call, local: Collection[str]) -> ast.expr | None:
        """Return the number that `len(table)` is; None if it is another call."""
        match node:
            case ast.Call(func=ast.Name(id="len"), args=[argument]) if "len" not in self.outer:
                table = self.table(argument, local)
                if table is not None:
                    return ast.Constant(table.rows if table.dimensions == 2 else table.columns)
        return None

    def capture(self, name: str, value: Any, attribute: str | None = None) -> None:
        """Record the value of an outer name."""
        assert isinstance(self.function, types.FunctionType)
        self.captured.append(Captured(self.function, name, attribute, value))

    def module_attribute(self, node: ast.Attribute, local: Collection[str]) -> ast.expr | None:
        """Resolve `module.attribute` or `class.attribute`; None if the base is neither."""
        if not isinstance(node.value, ast.Name) or node.value.id in local:
            return None
        module = self.outer.get(node.value.id)
        if not isinstance(module, (types.ModuleType, type)):
            return None
        if module not in MODULES:
            value = getattr(module, node.attr, None)
            self.capture(node.value.id, value, node.attr)
            constant = self.unsent(node) if value is no_message else _literal(value)
            if constant is None:
                self.refuse_table(node)
                self.fail(node, of_other_module(ast.unparse(node)))
            return constant
        if not hasattr(module, node.attr):
            self.fail(node, f"`{ast.unparse(node)}`: {MODULES[module]} has no `{node.attr}`")
        if module is np and node.attr in {"random", "load", "save", "empty", "array"}:
            self.fail(node, f"uses `{ast.unparse(node)}`; only arithmetic on numbers is allowed")
        return ast.Attribute(ast.Name(MODULES[module], ast.Load()), node.attr, ast.Load())

    def outer_name(self, node: ast.Name, helpers: dict[Any, FunctionSource]) -> ast.expr:
        """Resolve a bare outer name to a literal, a builtin, a module function or a helper."""
        if node.id in DRAWN:
            return ast.Name(self.helper_name(node, DRAWN[node.id], helpers), ast.Load())
        if node.id not in self.outer:
            if node.id in BUILTINS:
                return node
            if hasattr(builtins, node.id):
                self.fail(node, of_builtin(node.id, BUILTINS))
            self.fail(node, of_name(node.id, [*self.outer, *self.function.__code__.co_varnames]))
        value = self.outer[node.id]
        self.capture(node.id, value)
        constant = self.unsent(node) if value is no_message else _literal(value)
        if constant is not None:
            return constant
        value = getattr(value, "py_func", value)  # a function that is already compiled by Numba
        if isinstance(value, types.FunctionType):
            return ast.Name(self.helper_name(node, value, helpers), ast.Load())
        called = getattr(value, "__name__", "")
        for module, module_name in MODULES.items():
            if called and getattr(module, called, None) is value:
                return ast.Attribute(ast.Name(module_name, ast.Load()), called, ast.Load())
        return self.refuse_outer(node, node.id, value)

    def unsent(self, node: ast.expr) -> ast.expr:
        """Write `ws.no_message`, which only `compute` returns."""
        if self.new_name != "user_compute":
            self.fail(
                node,
                f"uses `{ast.unparse(node)}`, which only compute of a vertex program returns, itself; return it there",
            )
        return ast.Name(NO_MESSAGE, ast.Load())

    def refuse_unsent(self, function: ast.FunctionDef) -> None:
        """Refuse a `ws.no_message` that is not returned, and a function that returns nothing else."""
        returned = [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]
        ends = [node for node in returned if node is not None]
        for node in ends:
            if isinstance(node, ast.IfExp):
                ends += [node.body, node.orelse]
        unsent = [node for node in ends if isinstance(node, ast.Name) and node.id == NO_MESSAGE]
        for part in ast.walk(function):
            if isinstance(part, ast.Name) and part.id == NO_MESSAGE and part not in unsent:
                self.fail(part, "computes with `ws.no_message`; return it, or a message")
        if unsent and not any(
            node not in unsent for node in ends if not isinstance(node, ast.IfExp)
        ):
            self.fail(function, "returns ws.no_message only; return a message on some path")

    def refuse_outer(self, node: ast.expr, name: str, value: Any) -> NoReturn:
        """Refuse an outer name whose value no function can use."""
        self.refuse_table(node)
        self.fail(
            node,
            f"`{name}` is a {type(value).__name__}; only numbers, tables of numbers, functions and the modules "
            f"math and NumPy can be used{of_outer_value(value)}",
        )

    def refuse_table(self, node: ast.expr) -> None:
        """Refuse a table that is not read by index; nothing else."""
        table = self.table(node)
        if table is not None:
            name = ast.unparse(node)
            places = "[row][column]" if table.dimensions == 2 else "[i]"
            self.fail(
                node,
                f"uses all of `{name}`, a table of {len(table.entries)} numbers; read it as `{name}{places}`, in a "
                f"loop over range(len({name}))",
            )


def _same_table(value: Any, before: Table) -> bool:
    """Return whether an outer name's value is still the same table; NaN is the same as NaN."""
    try:
        return repr(table_of(value)) == repr(before)
    except ValueError:
        return False


def _located(entry: ast.expr, node: ast.expr) -> ast.expr:
    """Give the new parts of an expression the place of the one that it replaces."""
    for part in ast.walk(entry):
        if not hasattr(part, "lineno"):
            ast.copy_location(part, node)
    return entry


def _is_number(node: ast.expr) -> bool:
    """Return whether an expression is a number of the source, perhaps with a sign."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float))


def _remedy(parameter: str, name: str, permitted: Mapping[str, Collection[str]]) -> str:
    """Return what to write instead of an attribute of a function's parameter that is not declared."""
    if near := difflib.get_close_matches(name, permitted[parameter], 1):
        return f"; did you mean `{near[0]}`?"
    if holders := [holder for holder, names in permitted.items() if name in names]:
        return f"; did you mean `{holders[0]}.{name}`?"
    if parameter in DECLARED_BY:
        return f"; declare `{name} = {DECLARED_BY[parameter]}(ws.float64)`"
    return of_field(name) if name not in OF_GRAPHS else f"; declare `{name}: ws.{name}`"


def _literal(value: Any) -> ast.expr | None:
    """Write a number as source; None if it is not a number."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        name = "nan" if math.isnan(value) else "inf"
        constant: ast.expr = ast.Attribute(ast.Name("math", ast.Load()), name, ast.Load())
        return ast.UnaryOp(ast.USub(), constant) if value < 0 else constant
    for kind in (bool, int, float):  # for a member of an enumeration, only its number
        if isinstance(value, kind):
            return ast.Constant(kind(value))
    return None


def _outer(function: types.FunctionType, name: str) -> Any:
    """Return the current value of an outer name that a function reads."""
    free = function.__code__.co_freevars
    if name in free and function.__closure__ is not None:
        try:
            return function.__closure__[free.index(name)].cell_contents
        except ValueError:  # the enclosing function has deleted it
            return _Missing
    return function.__globals__.get(name, _Missing)
